#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# examples/kernel/kdat_echo.c serves examples/echo-srq, a program.
set -u

bin=$(cd "$(dirname "$0")/../examples" && pwd)
LD_LIBRARY_PATH=$(cd "$(dirname "$0")/../ulib" && pwd)
export LD_LIBRARY_PATH
# This is in build/selftests/.
module=$(dirname "$0")/../kmod-$(uname -r)/ktest/kdat_echo.ko
if [ ! -r "$module" ]; then
	echo "1..0 # SKIP no $module (make ktest)"
	exit 4
fi
host=$(ip -4 -o addr show dev v0 2>/dev/null | awk '{ sub("/.*", "", $4); print $4; exit }')
host=${host:-127.0.0.1}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
n=0 failed=0

result() { # NAME: of the command before
	local rc=$? status=ok
	n=$((n + 1))
	if ((rc != 0)); then
		status="not ok" failed=1
		sed 's/^/# /' "$tmp"/*
	fi
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

killed() {
	local victim
	"$bin/echo-srq" "$host" 100000000 >"$tmp/victim" 2>&1 &
	victim=$!
	sleep 1
	kill -9 $victim
	wait $victim 2>/dev/null
	ask next 300
}

# What is under way ends with an error, and soon.
unloaded() {
	local client
	timeout 60 "$bin/echo-srq" "$host" 100000000 >"$tmp/client" 2>&1 &
	client=$!
	sleep 1
	rmmod kdat_echo || return 1
	wait $client
	[ $? = 1 ]
}

echo "TAP version 13"
echo "1..6"
insmod "$module"
result "the module listens"
ask client 1000
result "a client gets back what it sent"
several
result "so do five at once"
killed
result "one that is killed does not hurt the next"
unloaded
result "it goes while it serves"
! insmod "$module" device=nobody 2>/dev/null
result "without its adapter it does not come"
exit $failed
