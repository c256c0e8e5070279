#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Copyright (c) The dat authors
#
# The module examples/kernel/kdat_echo.c serves the program examples/echo-srq.
set -u

bin=$(cd "$(dirname "$0")/../examples" && pwd)
LD_LIBRARY_PATH=$(cd "$(dirname "$0")/../ulib" && pwd)
export LD_LIBRARY_PATH
# This script runs from build/selftests/.
module=$(dirname "$0")/../kmod-$(uname -r)/ktest/kdat_echo.ko
if [ ! -r "$module" ]; then
	echo "1..0 # SKIP no $module (make ktest)"
	exit 4
fi
# shellcheck source=selftests/common/host.sh
. "$(dirname "$0")/host.sh"
find_host "$LD_LIBRARY_PATH"
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
n=0 failed=0
# shellcheck source=selftests/common/trace.sh
. "$(dirname "$0")/trace.sh"

result() { # NAME: of the command before
	local rc=$? status=ok
	n=$((n + 1))
	if ((rc != 0)); then
		status="not ok" failed=1
		trace_show
		sed 's/^/# /' "$tmp"/*
	fi
	trace_clear
	echo "$status $n kexample.$1"
}

ask() { # FILE MESSAGES: echo-srq compares what comes back with what it sent
	timeout 60 "$bin/echo-srq" "$host" "$2" >"$tmp/$1" 2>&1
}

several() {
	local i pids=() bad=0
	for i in 1 2 3 4 5; do
		ask "client$i" 300 &
		pids+=($!)
	done
	for i in "${pids[@]}"; do wait "$i" || bad=1; done
	return $bad
}

# Together the clients have more messages in flight than the module has buffers.
killed() {
	local round i victims
	for ((round = 0; round < 4; round++)); do
		victims=()
		for i in 1 2 3 4 5; do
			"$bin/echo-srq" "$host" 100000000 >"$tmp/victim$i" 2>&1 &
			victims+=($!)
		done
		sleep 1
		kill -9 "${victims[@]}" || return 1
		for i in "${victims[@]}"; do
			wait "$i" 2>/dev/null
			[ $? = 137 ] || return 1
		done
	done
	ask next 300
}

# Unload the module: messages in flight must soon fail.
unloaded() {
	local client start
	timeout 60 "$bin/echo-srq" "$host" 100000000 >"$tmp/client" 2>&1 &
	client=$!
	sleep 1
	kill -0 $client && start=$SECONDS && rmmod kdat_echo || return 1
	wait $client
	[ $? = 1 ] && ((SECONDS - start < 30))
}

# The module must not be loaded yet, because insmod would fail for that reason.
nobody() {
	[ ! -e /sys/module/kdat_echo ] && ! insmod "$module" device=nobody 2>"$tmp/nobody" &&
		[ ! -e /sys/module/kdat_echo ]
}

echo "TAP version 13"
echo "1..6"
insmod "$module" device="$adapter"
result "the module listens"
ask client 1000
result "a client gets back what it sent"
several
result "so do five at once"
killed
result "those that are killed do not hurt the next"
unloaded
result "it goes while it serves"
nobody
result "without its adapter it does not come"
exit $failed
