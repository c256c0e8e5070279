# SPDX-License-Identifier: GPL-2.0-only
# Copyright (c) The dat authors
# shellcheck shell=bash
# shellcheck disable=SC2034 # the scripts that source this file use the variables
#
# What the tests of dat-perf have in common: a server, a client, and results; to be sourced.
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=selftests/common/host.sh
. "$here/host.sh"
# shellcheck source=selftests/common/wait.sh
. "$here/wait.sh"
# shellcheck source=selftests/common/trace.sh
. "$here/trace.sh"
bin=${DAT_BIN:-$here/../ulib}
export LD_LIBRARY_PATH=$here/../ulib
find_host "$here/../ulib"
peer=$here/perf/perf-peer
port=18700
tmp=$(mktemp -d) || exit 1
n=0
server=

stop_server() {
	[ -z "$server" ] || { kill -9 "$server"; wait "$server"; } 2>/dev/null
	server=
}
trap 'stop_server; rm -rf "$tmp"' EXIT

# result NAME: report the exit status of the previous command.
result() {
	local rc=$? status=ok f
	n=$((n + 1))
	if [ $rc != 0 ]; then
		status="not ok"
		trace_show
		for f in "$tmp"/*.log; do
			echo "# ${f##*/}:"
			tail -20 "$f" | sed 's/^/# /'
		done
	fi
	trace_clear
	stop_server
	for f in "$tmp"/*.log; do [ ! -e "$f" ] || : >"$f"; done
	echo "$status $n ${0##*/}.$1" | sed "s/\.sh\././"
}

# serve [COMMAND]...: start a dat-perf server, by COMMAND, which runs its arguments.
serve() {
	port=$((port + 1))
	"$@" "$bin/dat-perf" --keep --port $port >"$tmp/server.log" 2>&1 &
	server=$!
	seen "$tmp/server.log" 'waiting at port'
}

client() { # [OPTION]... HOST
	timeout 60 "$bin/dat-perf" --port $port --iters 100 --size 64 "$@" >"$tmp/client.log" 2>&1
}

# measure OPTION...: run a client against the server.  Its output goes to client.out.
measure() {
	timeout 300 "$bin/dat-perf" --port $port "$@" "$host" >"$tmp/client.out" 2>"$tmp/client.log"
}
