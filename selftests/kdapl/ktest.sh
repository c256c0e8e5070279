#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Copyright (c) The dat authors
#
# Tests of kDAPL, which run when dat_ktest.ko is loaded and report to the kernel's log.
set -u

# shellcheck source=selftests/kdapl/ktest_lib.sh
. "$(dirname "$0")/ktest_lib.sh"
removals=${KTEST_REMOVALS:-3}
netdev=$(cat "/sys/class/infiniband/$dev/ports/1/gid_attrs/ndevs/0" 2>/dev/null)

# Remove the device while objects of the device exist, and add it again.
# shellcheck disable=SC2317 # without_device calls it
removed() { # TEST
	local pid i ready=N ok=0
	mark "removed $1"
	insmod "$module" device="$dev" gone="$1" &
	pid=$!
	for ((i = 0; i < 300; i++)); do
		read -r ready 2>/dev/null </sys/module/dat_ktest/parameters/ready
		[ "$ready" != Y ] || break
		kill -0 "$pid" 2>/dev/null || break
		sleep 0.2
	done
	rdma link delete "$dev"
	wait "$pid" || ok=1
	rmmod dat_ktest || ok=1
	rdma link add "$dev" type "${dev%0}" netdev "$netdev" || ok=1
	return "$ok"
}

# shellcheck disable=SC2317 # without_device calls it
removed_often() {
	local i
	for ((i = 0; i < removals; i++)); do
		removed "$1" || return 1
	done
}

mark tests
insmod "$module" device="$dev" || { echo "not ok 1 insmod dat_ktest.ko"; exit 1; }
rmmod dat_ktest
log=$(since_mark | grep -E '^(KTAP|1\.\.|ok|not ok|#)')
n=$(grep -cE '^(not )?ok' <<<"$log")
echo "${log/1..$n/1..$((n + 3))}"
! grep -q '^not ok' <<<"$log" && grep -q '^ok' <<<"$log" || failed=1

# without_device COMMAND NAME: run a test in which the device goes.  The adapter within the host stays.
without_device() {
	if [ ! -e "/sys/class/infiniband/$dev" ]; then
		n=$((n + 1))
		echo "ok $n $2 # SKIP $dev is no device that could be removed"
		return
	fi
	$1
	result "$2"
}

without_device "removed 1" "objects are freed when their device is gone"
without_device "removed_often 2" "a device goes under traffic: all of it completes, and is freed"
without_device "removed_often 3" "a device goes beside a close, under traffic"
exit $failed
