#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Copyright (c) The dat authors
#
# Steady receiving makes no system call: dat-perf counts them with ptrace.
bin=$(cd "$(dirname "$0")/../ulib" && pwd)
export LD_LIBRARY_PATH=$bin
# shellcheck source=selftests/common/host.sh
. "$(dirname "$0")/host.sh"
find_host "$bin"

echo "TAP version 13"
echo "1..2"
"$bin/dat-perf" --keep 2>/dev/null &
trap 'kill $! 2>/dev/null' EXIT
sleep 1
polled=$("$bin/dat-perf" --test syscalls --iters 11113 "$host") || polled=" syscalls: failed"
if [[ $polled == " syscalls: 0 in 10001 "* ]]; then
	echo "ok 1 syscalls.polling makes none in 10,000"
else
	echo "# $polled"
	echo "not ok 1 syscalls.polling makes none in 10,000"
fi
waited=$("$bin/dat-perf" --test syscalls --iters 500 --event "$host") || waited=" syscalls: failed"
if [[ $waited =~ ^\ syscalls:\ [1-9] ]]; then
	echo "ok 2 syscalls.waiting makes some, so they are counted"
else
	echo "# $waited"
	echo "not ok 2 syscalls.waiting makes some, so they are counted"
fi
