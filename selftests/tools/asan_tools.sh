#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Copyright (c) The dat authors
#
# Run the tools, built with AddressSanitizer.  They report accesses of freed memory, and at their end
# memory that they have not freed.
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=selftests/common/host.sh
. "$here/host.sh"
# shellcheck source=selftests/common/wait.sh
. "$here/wait.sh"
bin=$here/../ulib-asan
export LD_LIBRARY_PATH=$bin ASAN_OPTIONS=exitcode=99
find_host "$bin"
port=18700
tmp=$(mktemp -d) || exit 1
n=0
server=

cleanup() {
	[ -z "$server" ] || kill -9 "$server" 2>/dev/null
	rm -rf "$tmp"
}
trap cleanup EXIT

# result NAME: report the exit status of the previous command.
result() {
	local rc=$? status=ok f
	n=$((n + 1))
	if [ $rc != 0 ]; then
		status="not ok"
		for f in "$tmp"/*.log; do
			echo "# ${f##*/}:"
			head -60 "$f" | sed 's/^/# /'
		done
	fi
	rm -f "$tmp"/*.log
	echo "$status $n asan_tools.$1"
}

# run STATUS TOOL [ARGUMENT]...: succeed if the tool exits with a status that matches STATUS, such
# as 0 or 0|1.
run() {
	local want=$1 tool=$2 rc=0
	shift 2
	timeout 120 "$bin/$tool" "$@" >"$tmp/$tool.out.log" 2>"$tmp/$tool.log" </dev/null || rc=$?
	[[ $rc =~ ^($want)$ ]] || echo "# '$tool $*' ended with $rc, not $want"
	[[ $rc =~ ^($want)$ ]]
}

# serve TOOL READY [ARGUMENT]...: start a server, and wait until it has printed READY.
serve() {
	local tool=$1 ready=$2
	shift 2
	"$bin/$tool" "$@" >"$tmp/server.log" 2>&1 </dev/null &
	server=$!
	seen "$tmp/server.log" "$ready"
}

# served: succeed if the server ends with status 0.
served() {
	local rc=0
	wait "$server" || rc=$?
	server=
	[ $rc = 0 ] || echo "# the server ended with $rc"
	[ $rc = 0 ]
}

echo "TAP version 13"
run 0 dat-info && run 0 dat-info --json && run "0|1" dat-info --check && run 0 dat-info --stats
result dat_info

run 1 dat-info no_such_adapter && run 2 dat-info --no-such-option
result dat_info_errors

serve dat-perf 'waiting at port' --port $port &&
	run 0 dat-perf --port $port --iters 50 --size 64 "$host" && served
result dat_perf

# The server ends by exit() in a thread, and frees nothing, so only the client is checked for leaks.
mkdir "$tmp/in" && head -c 100000 /dev/urandom >"$tmp/file" &&
	ASAN_OPTIONS=detect_leaks=0 serve dat-cp 'waiting at port' --serve "$tmp/in" --once \
		--port $((port + 1)) &&
	run 0 dat-cp -q --port $((port + 1)) "$tmp/file" "$host:" && served &&
	cmp "$tmp/file" "$tmp/in/file"
result dat_cp

run 0 rsm-perf
result rsm_perf

run 0 rsm-nodes status && run 1 rsm-nodes load /nonexistent
result rsm_nodes
echo "1..$n"
