#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Copyright (c) The dat authors
#
# Run the commands of Documentation/tracing.rst, all at once beside whole transfers of dat-perf, and look
# for what they print.
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=selftests/common/host.sh
. "$here/host.sh"
# shellcheck source=selftests/common/wait.sh
. "$here/wait.sh"
bin=$here/../ulib
page=$here/tracing.rst
export LD_LIBRARY_PATH=$bin
find_host "$bin"
port=18760
n=0
server=
pids=() rc=()
tmp=$(mktemp -d) || exit 1

cleanup() {
	[ -z "$server" ] || kill "$server"
	((${#pids[@]} == 0)) || kill "${pids[@]}" 2>/dev/null
	wait
	rm -rf "$tmp"
}
trap cleanup EXIT

skip() {
	echo "1..0 # SKIP $1"
	exit 4
}

# scripts/deps installs it for the tests in the virtual machine.
no_bpftrace() {
	[ -z "${DAT_VM:-}" ] || { echo "# bpftrace is missing: scripts/deps"; exit 1; }
	skip "bpftrace is missing: apt-get install bpftrace"
}

# Print the commands of the page, each followed by a NUL.  A command is in a block that is indented
# by four blanks, and ends with a quote.
commands() {
	local line command=
	while IFS= read -r line; do
		if [[ -n $command || $line == "    bpftrace -e '"* ]]; then
			command+=${line#    }$'\n'
			[[ $line != *\' || $line == *-e\ \' ]] || { printf '%s\0' "$command"; command=; }
		fi
	done <"$page"
}

# The commands of the page call this in place of the program.  It replaces the shell, so that a signal
# to the job reaches it, and it prints a line each second, so that one sees when it runs.
bpftrace() { # -e PROGRAM
	exec timeout 500 "$program" "$1" "$2 interval:s:1 { printf(\"running\\n\"); }"
}

# runs I N: wait until command I has run for N more seconds.  It first compiles its program, which takes
# long under emulation.
runs() {
	local n i
	n=$(grep -c '^running$' "$tmp/out.$1")
	for ((i = 0; i < 20; i++)); do
		kill -0 "${pids[$1]}" 2>/dev/null || return 1
		! seen "$tmp/out.$1" '^running$' $((n + $2)) || return 0
	done
	return 1
}

# Connect, send and disconnect twice.
traffic() {
	local i
	for i in 1 2; do
		echo "transfer $i" >"$tmp/client"
		timeout 100 "$bin/dat-perf" --port $port --event --iters 100 "$host" >/dev/null \
			2>>"$tmp/client" || return 1
	done
}

# Run the commands of the page before, during and after the traffic, and end them like Ctrl-C.  Keeps
# the status of each in $rc.
run_all() {
	local i
	for i in "${!listed[@]}"; do
		: >"$tmp/out.$i"
		eval "${listed[i]}" >"$tmp/out.$i" 2>"$tmp/err.$i" &
		pids[i]=$!
		rc[i]=0
	done
	for i in "${!listed[@]}"; do runs "$i" 2 || rc[i]=1; done
	traffic || rc=("${rc[@]/*/1}")
	for i in "${!listed[@]}"; do runs "$i" 2 || rc[i]=1; done
	for i in "${!listed[@]}"; do
		kill -INT "${pids[i]}"
		wait "${pids[i]}" || rc[i]=1
	done
}

# prints NAME NUMBER TEXT...: the command of that number has ended well, and each TEXT is in a line that
# it has printed.
prints() {
	local name=$1 i=$2 status=ok text f
	shift 2
	n=$((n + 1))
	[ "${rc[i]:-1}" = 0 ] || status="not ok"
	for text; do
		has "$tmp/out.$i" "$text" || { status="not ok"; echo "# nothing matches '$text'"; }
	done
	if [ "$status" != ok ]; then
		for f in "out.$i" "err.$i" client; do sed "s/^/# $f: /" "$tmp/$f" | head -40; done
	fi
	echo "$status $n bpftrace.$name"
}

echo "TAP version 13"
program=$(type -P bpftrace) || no_bpftrace
[ -d /sys/kernel/tracing/events ] || mount -t tracefs none /sys/kernel/tracing 2>/dev/null
[ -d /sys/kernel/tracing/events ] || skip "this kernel has no tracepoints"
[ -d /sys/module/dat ] || skip "dat is not loaded"
timeout 200 "$program" -e 'BEGIN { exit(); }' >"$tmp/out" 2>&1 ||
	skip "this kernel does not let bpftrace run: $(grep -m 1 . "$tmp/out")"
"$bin/dat-perf" --keep --port $port >/dev/null 2>"$tmp/server" &
server=$!
mapfile -d '' -t listed < <(commands)
echo "1..6"

status=ok
[ ${#listed[@]} = 5 ] || status="not ok"
n=$((n + 1))
echo "$status $n bpftrace.the page has five commands"
run_all
prints "times of requests" 0 '^@usecs\[[0-9]+\]:' '^\[.*\) +[0-9]+ \|'
prints "kicks of processes" 1 '^[0-9:]+$' '^@kicks\[dat-perf, [0-9]+\]: [0-9]+$'
prints "states of connections" 2 '^[0-9:]+ ep [0-9]+: 0 -> 2$' ' 2 -> [345]$'
prints "errors by code" 3 '^@errors\[recv, 1\]: [0-9]+$'
prints "lengths of messages" 4 '^@bytes\[0\]:' '^@bytes\[1\]:' '^\[64, 128\) +[0-9]+ \|'
