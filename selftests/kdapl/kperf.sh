#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Copyright (c) The dat authors
#
# dat_kperf.ko: kDAPL and verbs run all tests, and invalid orders fail.
set -u

# This script runs from build/selftests/.
module=$(dirname "$0")/../kmod-$(uname -r)/ktest/dat_kperf.ko
if [ ! -r "$module" ]; then
	echo "1..0 # SKIP no $module (make ktest)"
	exit 4
fi
dev=rxe0
[ -e /sys/class/infiniband/rxe0 ] || dev=siw0
dev=${DAT_ADAPTER:-$dev}
# Verbs need a device; kDAPL has an adapter within the host, too.
sides=(dat verbs)
netdev=$(cat "/sys/class/infiniband/$dev/ports/1/gid_attrs/ndevs/0" 2>/dev/null)
if [ "$dev" = lo0 ]; then
	sides=(dat)
	host=127.0.0.1
else
	host=$(ip -4 -o addr show dev "$netdev" 2>/dev/null |
		awk '{ sub("/.*", "", $4); print $4; exit }')
fi
if [ -z "$host" ]; then
	echo "1..0 # SKIP no adapter with an address"
	exit 4
fi
run=/sys/kernel/debug/dat_kperf/run
n=0 failed=0
# shellcheck source=selftests/common/trace.sh
. "$(dirname "$0")/trace.sh"
# Later tests need the adapter, so add it again in any case.
trap '[ "$dev" = lo0 ] || rdma link show "$dev/1" >/dev/null 2>&1 || plug_in' EXIT

result() { # NAME: of the command before
	local rc=$? status=ok
	n=$((n + 1))
	((rc == 0)) || { status="not ok" failed=1; trace_show; }
	trace_clear
	echo "$status $n kperf.$1"
}

# device_test NAME COMMAND...: run a test that needs a device.
device_test() {
	if [ "$dev" = lo0 ]; then
		n=$((n + 1))
		echo "ok $n kperf.$1 # SKIP $dev is no RDMA device"
		return
	fi
	"${@:2}"
	result "$1"
}

# side_test SIDE NAME TEST SIZE COUNT WINDOW: run an order.
side_test() {
	if [ "$1" = verbs ]; then
		device_test "$1: $2" order "$1" "${@:3}"
		return
	fi
	order "$1" "${@:3}"
	result "$1: $2"
}

# order SIDE TEST SIZE COUNT WINDOW
order() {
	echo "$*" 2>/dev/null >$run && grep -q "^side=$1 test=$2 size=$3 .*avg_ns=[1-9]" $run
}

wrong() {
	local o
	for o in "" "dat" "dat lat 64 10" "tcp lat 64 10 1" "dat read 64 10 1" \
		"dat lat 65537 10 1" "dat lat 64 0 1" "dat lat 64 10 0" "dat lat 64 10 1025" \
		"dat lat 64 1000001 1" "dat lat -1 10 1" "dat lat 64 4294967297 1" \
		"dat lat 64 10 1 1" "dat lat 64 10 x" "$(printf '%300s' x)"; do
		! echo "$o" 2>/dev/null >$run || return 1
	done
}

# Kill the process that wrote the order: this must end the connection of the test.
killed() {
	local side
	for side in "${sides[@]}"; do
		{ (exec timeout -s KILL 1 bash -c "echo $side lat 64 1000000 1 >$run"); } 2>/dev/null
		[ $? = 137 ] || return 1
		order "$side" lat 64 20 1 || return 1
	done
}

# Load the module with a device and an address that do not exist.
nobody() {
	local side start=$SECONDS
	insmod "$module" device=nobody address=192.0.2.99 || return 1
	for side in dat verbs; do
		! echo "$side lat 64 10 1" 2>/dev/null >$run || return 1
	done
	rmmod dat_kperf && ((SECONDS - start < 10))
}

# shellcheck disable=SC2317 # unplugged calls it
plug_in() { rdma link add "$dev" type "${dev%0}" netdev "$netdev" && sleep 1; }

# Remove the device during a test, which must fail long before its timeout.  Then add the device
# again.
# shellcheck disable=SC2317 # device_test calls it
unplugged() {
	local side pid start
	for side in dat verbs; do
		echo "$side lat 64 1000000 1" 2>/dev/null >"$run" &
		pid=$!
		sleep 1
		kill -0 "$pid" && start=$SECONDS && rdma link delete "$dev" || return 1
		! wait "$pid" && ((SECONDS - start < 60)) || return 1
		plug_in && order "$side" lat 64 20 1 || return 1
	done
}

# While an order runs, the module cannot be unloaded, and other orders wait.
two_at_once() {
	local long pids=() i bad=0
	bash -c "echo dat lat 64 1000000 1 >$run" 2>/dev/null &
	long=$!
	sleep 0.5
	for i in 1 2 3; do
		echo "dat send 64 300 16" >$run &
		pids+=($!)
	done
	sleep 0.5
	! rmmod dat_kperf 2>/dev/null || bad=1
	# All orders are still running or waiting.
	for i in $long "${pids[@]}"; do kill -0 "$i" || bad=1; done
	{ kill -KILL $long; wait $long; } 2>/dev/null
	for i in "${pids[@]}"; do wait "$i" || bad=1; done
	return $bad
}

echo "TAP version 13"
echo "1..18"
insmod "$module" device="$dev" address="$host" || { echo "not ok 1 insmod dat_kperf.ko"; exit 1; }
for side in dat verbs; do
	side_test $side "ping-pong" lat 64 200 1
	side_test $side "a stream of sends" send 64 500 16
	side_test $side "long messages" send 65536 20 4
	side_test $side "as many under way as may be" send 64 3000 1024
	side_test $side "a stream of writes" write 4096 200 16
	side_test $side "binds" bind 4096 200 1
done
wrong
result "wrong orders are refused"
two_at_once
result "orders of several processes wait for each other"
killed
result "who is killed leaves nothing behind"
device_test "a test ends when its device is gone" unplugged
rmmod dat_kperf
result "the module goes"
nobody
result "without a device an order fails, and soon"
exit $failed
