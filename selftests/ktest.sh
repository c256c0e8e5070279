#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Tests of kDAPL: they run when dat_ktest.ko is loaded, and report to the kernel's log.
set -u

# This is in build/selftests/.
module=$(dirname "$0")/../kmod-$(uname -r)/ktest/dat_ktest.ko
if [ ! -r "$module" ]; then
	echo "1..0 # SKIP no $module (make ktest)"
	exit 4
fi
read -r since _ </proc/uptime
insmod "$module" || { echo "not ok 1 insmod dat_ktest.ko"; exit 1; }
rmmod dat_ktest

# A consumer that goes while its upcalls run: they end, and what it left is closed.
rounds=20
for ((i = 0; i < rounds; i++)); do
	insmod "$module" leave=1 || break
	rmmod dat_ktest || break
done
# The device goes while there are objects of it.
dev=rxe0
netdev=$(cat /sys/class/infiniband/$dev/ports/1/gid_attrs/ndevs/0)
insmod "$module" gone=1 &
for ((i = 0; i < 100; i++)); do
	dmesg | grep -q 'the device may go now' && break
	sleep 0.1
done
rdma link delete $dev
gone=ok
wait $! || gone='not ok'
rmmod dat_ktest || gone='not ok'
rdma link add $dev type rxe netdev "$netdev" || gone='not ok'
# Since then, without the times.
log=$(dmesg | sed -n 's/^\[ *\([0-9.]*\)\] /\1 /p' |
	awk -v since="$since" '$1 >= since { sub(/^[^ ]* /, ""); print }' |
	grep -E '^(KTAP|1\.\.|ok|not ok|#|dat: module dat_ktest has left)')
left=$(grep -c 'has left an IA open' <<<"$log")
last=$(grep -cE '^(not )?ok' <<<"$log")
log=$(grep -v 'has left an IA open' <<<"$log" | sed "s/^1\.\.$last\$/1..$((last + 2))/")
if [ "$left" = "$rounds" ]; then
	log+=$'\n'"ok $((last + 1)) what a module leaves open is closed"
else
	log+=$'\n'"not ok $((last + 1)) what a module leaves open is closed ($left of $rounds)"
fi
log+=$'\n'"$gone $((last + 2)) objects are freed when their device is gone"
echo "$log"
! grep -q '^not ok' <<<"$log" && grep -q '^ok' <<<"$log"
