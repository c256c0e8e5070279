#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Copyright (c) The dat authors
#
# What scripts/demo shows in the virtual machine, with a small file and few messages.
here=$(cd "$(dirname "$0")" && pwd)
demo=$here/../../scripts/demo-guest

skip() {
	echo "1..0 # SKIP $*"
	exit 4
}

[ -n "${DAT_VM:-}" ] || skip "not in the virtual machine"
[ -x "$demo" ] || skip "no $demo"
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
n=0 failed=0

result() { # NAME: of the command before
	local rc=$? status=ok
	n=$((n + 1))
	if [ $rc != 0 ]; then
		status="not ok" failed=1
		sed 's/^/# /' "$tmp/out" "$tmp/err"
	fi
	echo "$status $n demo.$1"
}

# The kinds of lines, in the order in which they come.
kinds() { sed -E 's/^--- .* ---$/adapter/; s/^[A-Z].*:$/what/; s/^  \$ dat-(cp|perf) .*/command/; s/^  => .*/result/' "$tmp/out" | paste -sd' '; }

head -c 1500000 /dev/urandom >"$tmp/file"
"$demo" "$tmp/file" 100 >"$tmp/out" 2>"$tmp/err"
result "ends well"
steps=" adapter" all=
for ((i = 0; i < 3; i++)); do steps+="  what command result"; done
adapters=$(sed -nE 's/^--- ([^:]*):.*/\1/p' "$tmp/out")
shown=$(wc -w <<<"$adapters")
for ((i = 0; i < shown; i++)); do all+="${all:+ }$steps"; done
[ "$(kinds)" = "${all:-nothing}" ]
result "each step is what happens, the command and its result, and nothing else is printed"
has() { [ "$(grep -cE "$1" "$tmp/out")" = "$shown" ]; }
has '^  => it arrived in [0-9.]+ s \([0-9.]+ MB/s\), with the same SHA-256$' &&
	has '^  => one way takes [0-9.]+ us' &&
	has '^  => 0 system calls \([1-9][0-9]* for [1-9][0-9]* messages'
result "the results have figures"
listed=$(LD_LIBRARY_PATH=$here/../ulib "$here/../ulib/dat-info" | awk '$2 == "active" { print $1 }' | tac)
[ "$adapters" = "$listed" ]
result "it begins with lo0 and shows all adapters"
[ ! -s "$tmp/err" ]
result "nothing is printed to standard error"
! "$demo" "$tmp/nothing" 100 >"$tmp/out" 2>"$tmp/err" && ! grep -q '=>' "$tmp/out" && [ -s "$tmp/err" ]
result "a step that fails ends it with the reason"
echo "1..$n"
exit $failed
