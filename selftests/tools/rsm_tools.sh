#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Copyright (c) The dat authors
#
# Test the output and the exit status of rsm-perf and of the examples rsm-scatter and rsm-hello.
bin=$(cd "$(dirname "$0")/../ulib" && pwd)
examples=$(cd "$(dirname "$0")/../examples" && pwd)
export LD_LIBRARY_PATH=$bin
# shellcheck source=selftests/common/wait.sh
. "$(dirname "$0")/wait.sh"
# shellcheck source=selftests/common/trace.sh
. "$(dirname "$0")/trace.sh"
tmp=$(mktemp -d) || exit 1
n=0
server=

cleanup() {
	exec 3>&-
	[ -z "$server" ] || kill "$server" 2>/dev/null
	rm -rf "$tmp"
}
trap cleanup EXIT

# result NAME: report the exit status of the previous command.
result() {
	local rc=$? status=ok
	n=$((n + 1))
	if [ $rc != 0 ]; then
		status="not ok"
		trace_show
		for f in "$tmp"/{out,err,server}; do
			if [ -e "$f" ]; then sed "s/^/# ${f##*/}: /" "$f"; fi
		done
	fi
	trace_clear
	echo "$status $n rsm_tools.$1"
}

# on_adapter FUNCTION NAME: run FUNCTION with the argument rdma0 as test NAME, if the controller
# rdma0 is active.
on_adapter() {
	if timeout 100 "$bin/rsm-nodes" status 2>/dev/null | grep -q '^rdma0 .* active$'; then
		"$1" rdma0
		result "$2"
	else
		n=$((n + 1))
		echo "ok $n rsm_tools.$2 # SKIP there is no rdma0, or it does not answer"
	fi
}

# The time limit of this script ends a program that hangs.
perf() { "$bin/rsm-perf" "$@" >"$tmp/out" 2>"$tmp/err" </dev/null; }
scatter() { "$examples/rsm-scatter" "$@" >"$tmp/out" 2>"$tmp/err" </dev/null; }

# status N COMMAND...: succeed if COMMAND exits with status N.
status() {
	local want=$1 rc=0
	shift
	"$@" || rc=$?
	[ $rc = "$want" ] || echo "# '$*' ended with $rc, not $want"
	[ $rc = "$want" ]
}

says() { has "$tmp/err" "$1"; }

# serve COMMAND...: run COMMAND in the background until this script closes descriptor 3.  Set
# $segment to the first line that COMMAND prints.
serve() {
	local i
	[ -p "$tmp/input" ] || mkfifo "$tmp/input"
	exec 3<>"$tmp/input"
	: >"$tmp/server"
	timeout 100 "$@" <"$tmp/input" >"$tmp/server" 2>&1 3>&- &
	server=$!
	for ((i = 0; i < 200; i++)); do
		read -r segment <"$tmp/server" && [ -n "$segment" ] && return 0
		pause 0.1
	done
	return 1
}

served() {
	local rc
	exec 3>&-
	wait "$server"
	rc=$?
	server=
	return $rc
}

operations() {
	local op flags lines
	for op in put get putv getv "putv -l" "getv --local" "put -x" "putv -x -l" "put -W" memcpy; do
		read -ra flags <<<"$op"
		perf -n 10 -o "${flags[@]}" || return 1
		mapfile lines <"$tmp/out"
		[ ${#lines[@]} = 3 ] || return 1
		perf -n 10 -t bw -s 5000 -o "${flags[@]}" || return 1
		# The measured time may be 0, because some clocks advance in milliseconds.
		mapfile -t lines <"$tmp/out"
		[[ ${lines[-1]} =~ ^\ 5000\ +[0-9]+\ +10\ +[0-9.]+\ +[0-9.]+$ ]] || return 1
	done
}

json() {
	perf -j -n 10 -o putv -e 3 -l &&
		has "$tmp/out" '^\[\{"op":"putv","test":"lat","controller":"loopback","explicit":false,"local":true,"write_only":false,"bytes":64,"entries":3,"iterations":10,"t_min":[0-9.]+,"t_max":[0-9.]+,"t_typical":[0-9.]+,"t_avg":[0-9.]+,"t_stdev":[0-9.]+,"t_99":[0-9.]+,"t_99_9":[0-9.]+\}\]$' &&
		perf --json -n 10 -t bw -a &&
		[ "$(grep -cE '^\[?\{"op":"put","test":"bw",.*"bw_average":[0-9.]+,"call_rate":[0-9.]+\}[],]$' "$tmp/out")" = 21 ] &&
		[ "$(head -c 2 "$tmp/out")$(tail -c 3 "$tmp/out")" = '[{}]' ]
}

latency_is_sorted() {
	perf -n 1000 && awk 'END { exit !($4 <= $6 && $6 <= $9 && $9 <= $10 && $10 <= $5) }' "$tmp/out"
}

wrong_usage() {
	local args words lines
	for args in "-o nonsense" "-t nonsense" "-s 0" "-s 67108865" "-s x" "-n 0" "-n -1" "-e 0 -o putv" \
		"-e 17 -o putv" "-e 4" "-l" "-a -s 8" "-o get -W" "-o memcpy -x" "-i 1" "-i 1:" "-i 1:x" \
		"-i 65:1" "-i 0:0" "-k -i 0:1" "--interval 0" "--nonsense" "extra"; do
		read -ra words <<<"$args"
		status 2 perf "${words[@]}" || return 1
		mapfile -t lines <"$tmp/err"
		[ ${#lines[@]} = 1 ] && [[ ${lines[0]} == "rsm-perf: "*"; see rsm-perf --help" ]] &&
			[ ! -s "$tmp/out" ] || return 1
	done
	status 0 perf --help && has "$tmp/out" '^usage: rsm-perf ' &&
		status 0 perf --version && has "$tmp/out" '^rsm-perf [0-9]'
}

# This much takes minutes, so stop it when it has shown what it does.
progress() {
	local measure="$bin/rsm-perf -o memcpy -s 67108864 -n 1000000" pid rc
	timeout 60 script -qfec "exec $measure" "$tmp/server" >/dev/null 2>&1 &
	pid=$!
	seen "$tmp/server" 'memcpy of 67108864 bytes: +[0-9]+ %'
	rc=$?
	kill $pid
	wait $pid 2>/dev/null
	[ $rc = 0 ] || return 1
	# shellcheck disable=SC2086 # words
	timeout 3 $measure --interval 1 >"$tmp/out" 2>"$tmp/err"
	[ ! -s "$tmp/err" ]
}

# The figures of a row belong together: bytes per second, calls per second, bytes of a call.
figures_agree() {
	perf -n 2000 -t bw -s 5000 -o putv -e 3 && awk 'END {
		mb = $5 * 1e6 * 3 * 5000 / 1048576
		exit !($3 == 2000 && $5 > 0 && $4 - mb < 0.02 * (1 + $4) && mb - $4 < 0.02 * (1 + $4))
	}' "$tmp/out"
}

other_processes() {
	serve "$bin/rsm-perf" --serve -s 4096 -e 4 || return 1
	perf -i "$segment" -n 10 -o putv -s 4096 -e 4 && perf -i "$segment" -n 10 -o get -s 16384 || return 1
	status 1 perf -i "$segment" -n 10 -s 16385 && says 'the segment is smaller' || return 1
	served && status 1 perf -i "$segment" -n 10 && says 'nobody exports that there' &&
		status 1 perf -c nonsense0 -n 10 && says 'no such controller' &&
		says 'RSMERR_CTLR_NOT_PRESENT \(4\)'
}

files() { # CONTROLLER
	local one two
	rm -f "$tmp"/got.*
	head -c 100000 "$bin/rsm-perf" >"$tmp/a"
	head -c 4097 "$bin/librsm.so.2" >"$tmp/b"
	serve "$examples/rsm-scatter" --export -c "$1" -p 64 "$tmp/got" || return 1
	scatter -i "$segment" -c "$1" -p 64 -w 0 "$tmp/a" &
	one=$!
	"$examples/rsm-scatter" -i "$segment" -c "$1" -p 64 -w 1 "$tmp/b" >"$tmp/second" 2>&1 &
	two=$!
	wait $one && wait $two && served && cmp "$tmp/a" "$tmp/got.0" && cmp "$tmp/b" "$tmp/got.1" &&
		has "$tmp/second" '4097 bytes put in [0-9.]+ s and got back in [0-9.]+ s, equal, in 2 vectors'
}

status_json() { # CONTROLLER
	"$bin/rsm-nodes" status --json >"$tmp/out" 2>"$tmp/err" &&
		has "$tmp/out" "^\{\"local\":0,\"controllers\":\[\{\"name\":\"$1\",\"nodes\":\[\{\"node\":0,\"state\":\"active\"\}.*\]\}\]\}\$"
}

# The first rsm-hello prints the arguments that the second rsm-hello needs to connect.
hello() { # CONTROLLER
	serve "$examples/rsm-hello" "$1" || return 1
	# shellcheck disable=SC2086 # NODE ID
	"$examples/rsm-hello" "$1" $segment "a text for $1" 2>"$tmp/err" && served &&
		[ "$(tail -n 1 "$tmp/server")" = "a text for $1" ] &&
		status 1 "$examples/rsm-hello" "$1" ${segment% *} 0x7123456 x 2>"$tmp/err" &&
		says '^connect: RSMERR number 7, see rsm\(7\)$'
}

scatter_usage() {
	local args words
	for args in "" "file" "-e" "-e -p 3 x" "-e -n 0 x" "-i 1 x" "-i 0:1 -w 2 x" "-i 0:0 x" "-e x y"; do
		read -ra words <<<"$args"
		status 2 scatter "${words[@]}" || return 1
	done
	status 0 scatter --help && status 1 scatter -i 0:0x7123456 "$bin/librsm.so.2" &&
		says 'no such segment is published' &&
		status 1 scatter -e -s 1 "$tmp/got" && says 'may choose are 0x400000' &&
		status 1 scatter -i 0:1 -p 2 "$bin/librsm.so.2" && says 'too long for the slots'
}

echo "TAP version 13"
echo "1..13"
operations
result "every operation is measured in every way"
json
result "JSON has a member for everything"
latency_is_sorted
result "the times of a latency test are in order"
figures_agree
result "the figures of a bandwidth test agree"
wrong_usage
result "wrong usage is told, and help helps"
progress
result "a long measurement shows its progress on a terminal only"
other_processes
result "one exports and another measures"
files loopback
result "rsm-scatter: two files arrive as they were"
on_adapter files "rsm-scatter: and so they do over an adapter"
hello loopback
result "rsm-hello: a text arrives"
on_adapter hello "rsm-hello: and so it does over an adapter"
on_adapter status_json "rsm-nodes: the status of an adapter is JSON"
scatter_usage
result "rsm-scatter: wrong usage and errors are told"
