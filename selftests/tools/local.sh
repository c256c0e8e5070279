#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Copyright (c) The dat authors
#
# Which adapter the tools choose: lo0 for this host, and a device for others.
here=$(cd "$(dirname "$0")" && pwd)
bin=$here/../ulib
export LD_LIBRARY_PATH=$bin
# shellcheck source=selftests/common/wait.sh
. "$here/wait.sh"
# shellcheck source=selftests/common/trace.sh
. "$here/trace.sh"
# The choice is that of the tools.
unset DAT_ADAPTER
port=18700
n=0
server=

echo "TAP version 13"
list=$("$bin/dat-info" 2>/dev/null)
lo=$(awk '/ within this host / { print $1 }' <<<"$list")
if [ -z "$lo" ]; then
	echo "1..0 # SKIP the driver has no adapter within the host"
	exit 4
fi
read -r device host < <(awk -v lo="$lo" '$2 == "active" && $1 != lo { print $1, $3; exit }' <<<"$list")
tmp=$(mktemp -d) || exit 1

stop_server() {
	[ -z "$server" ] || { kill "$server"; wait "$server"; } 2>/dev/null
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
		for f in "$tmp"/*.log; do sed "s|^|# ${f##*/}: |" "$f"; done
	fi
	trace_clear
	echo "$status $n local.$1"
}

# with_device COMMAND NAME: run a test that needs a device.
with_device() {
	if [ -n "$device" ]; then
		$1
		result "$2"
	else
		n=$((n + 1))
		echo "ok $n local.$2 # SKIP there is no RDMA device"
	fi
}

# serve TOOL [OPTION]...: start a server.
serve() {
	stop_server
	port=$((port + 1))
	: >"$tmp/server.log"
	"$bin/$1" --port $port "${@:2}" >"$tmp/served.log" 2>"$tmp/server.log" &
	server=$!
	seen "$tmp/server.log" 'waiting at port'
}

# measure ADAPTER HOST [OPTION]...: the client says that it uses the adapter, and the server answers.
measure() {
	timeout 60 "$bin/dat-perf" --port $port --iters 20 "${@:3}" "$2" >"$tmp/client.log" 2>&1 &&
		has "$tmp/client.log" "^ dat-perf: $1, send lat"
}

# copy TEXT HOST [OPTION]...: a file arrives, and the client says TEXT.
copy() {
	rm -rf "$tmp/in/f"
	timeout 60 "$bin/dat-cp" --port $port "${@:3}" "$tmp/f" "$2:" >"$tmp/client.log" 2>&1 &&
		cmp "$tmp/f" "$tmp/in/f" && has "$tmp/client.log" "^$1"
}

this_host() {
	local name
	serve dat-perf --keep || return 1
	for name in localhost 127.0.0.1 127.0.0.2 ::1 $host; do
		measure "$lo" "$name" || return 1
	done
}

both_are_served() {
	serve dat-perf --keep && has "$tmp/server.log" "^dat-perf: $device and $lo, waiting" &&
		measure "$device" "$host" --device "$device" && measure "$lo" "$host" &&
		measure "$device" "$host" --device "$device" --eps 4 && measure "$lo" localhost --eps 4
}

the_order_counts() {
	serve dat-perf --keep --device "$lo" && has "$tmp/server.log" "^dat-perf: $lo, waiting" &&
		measure "$lo" localhost --device "$lo" &&
		! measure "$device" "$host" --device "$device" && has "$tmp/client.log" 'nobody listens there'
}

the_environment_counts() {
	export DAT_ADAPTER=$device
	serve dat-perf --keep && has "$tmp/server.log" "^dat-perf: $device, waiting" &&
		measure "$device" "$host" && ! measure "$device" 127.0.0.1 &&
		has "$tmp/client.log" "127.0.0.1 is a loopback address, which '$device' does not serve"
	local rc=$?
	unset DAT_ADAPTER
	return $rc
}

# Clients of both adapters at the same time.
files_to_both() {
	local one
	serve dat-cp --serve "$tmp/in" && has "$tmp/server.log" "^dat-cp: $device and $lo, waiting" &&
		copy "dat-cp: $lo, since localhost is this host" localhost &&
		copy "sha256 " "$host" --device "$device" && copy "dat-cp: $lo, since" "$host" || return 1
	timeout 60 "$bin/dat-cp" -q --port $port --device "$device" "$tmp/g" "$host:" >"$tmp/other.log" 2>&1 &
	one=$!
	copy "sha256 " localhost -q && wait $one && cmp "$tmp/g" "$tmp/in/g"
}

files() {
	serve dat-cp --serve "$tmp/in" --once && copy "dat-cp: $lo, since 127.0.0.1 is this host" 127.0.0.1 &&
		wait $server
}

is_last() { [ "$(awk '$NF == "driver" { name = $1 } END { print name }' <<<"$list")" = "$lo" ]; }

the_check_is_content() {
	"$bin/dat-info" --check >"$tmp/client.log" 2>&1 && has "$tmp/client.log" "^ok +port +$lo reaches" &&
		has "$tmp/client.log" "^ok +loopback +$lo: a message to itself arrived"
}

mkdir "$tmp/in"
head -c 300000 /dev/urandom >"$tmp/f"
head -c 3000000 /dev/urandom >"$tmp/g"
touch "$tmp"/{server,served,client,other}.log

echo "1..7"
is_last && the_check_is_content
result "dat-info lists it last, and checks it"
this_host
result "a client of this host uses it"
files
result "dat-cp says that it uses it"
with_device both_are_served "a server serves this host and others"
with_device files_to_both "so does dat-cp, at the same time"
with_device the_order_counts "an adapter that is named is the only one"
with_device the_environment_counts "so is one in the environment"
