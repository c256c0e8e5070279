#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Copyright (c) The dat authors
#
# Programs of libfabric, unmodified, over the provider dat: fi_info and fi_pingpong, with MSG
# endpoints and with RDM endpoints of ofi_rxm.  DAT_FI_RUNS: connections that the last test makes.
here=$(cd "$(dirname "$0")" && pwd)
bin=$here/../ulib
# A program that may load all providers of the system needs seconds for that.
export LD_LIBRARY_PATH=$bin FI_PROVIDER_PATH=$bin FI_PROVIDER=dat,ofi_rxm
# shellcheck source=selftests/libfabric/kallsyms.sh
. "$here/kallsyms.sh"
# shellcheck source=selftests/common/host.sh
. "$here/host.sh"
# shellcheck source=selftests/common/wait.sh
. "$here/wait.sh"
# shellcheck source=selftests/common/trace.sh
. "$here/trace.sh"
runs=${DAT_FI_RUNS:-3}
port=18900
limit=250	# seconds for a program; only one that hangs reaches it
sizes=all
# With all sizes, a debug kernel takes longer.
[ ! -e /sys/kernel/debug/kmemleak ] || sizes="64 1048576"

if [ ! -e "$bin/libdat-fi.so" ] || ! command -v fi_pingpong >/dev/null; then
	echo "1..0 # SKIP libfabric-dev and libfabric-bin are not installed"
	exit 4
fi
find_host "$bin"
tmp=$(mktemp -d) || exit 1
n=0
server=

stop_server() {
	[ -z "$server" ] || { kill "$server" && wait "$server"; } 2>/dev/null
	server=
}

cleanup() {
	stop_server
	rm -rf "$tmp"
}
trap cleanup EXIT

# result NAME: report the exit status of the previous command.
result() {
	local rc=$? status=ok f
	n=$((n + 1))
	stop_server
	if [ $rc != 0 ]; then
		status="not ok"
		trace_show
		for f in "$tmp"/*; do
			echo "# ${f##*/}:"
			tail -30 "$f" | sed 's/^/# /'
		done
	fi
	trace_clear
	rm -f "$tmp"/*
	echo "$status $n libfabric.$1"
}

# Start a server of fi_pingpong with the arguments; they must suit the client, too.
serve() {
	port=$((port + 1))
	timeout -k 5 "$limit" fi_pingpong -d "$adapter" -B $port "$@" >"$tmp/server" 2>&1 &
	server=$!
	listens
}

# Wait up to 20 s until the server listens.  A connection would be taken for the client.
listens() {
	local - i hex
	set +x
	printf -v hex '%04X' $port
	for ((i = 0; i < 200; i++)); do
		! grep -qE "^ *[0-9]+: [0-9A-F]+:$hex [0-9A-F:]+ 0A " /proc/net/tcp{,6} ||
			return 0
		pause 0.1
	done
	return 1
}

# Succeed if the server ends with success.
served() {
	local rc
	wait "$server"
	rc=$?
	server=
	[ $rc = 0 ]
}

ask() { # ARG...
	timeout -k 5 "$limit" fi_pingpong -d "$adapter" -P $port "$@" "$host" >>"$tmp/client" 2>&1
}

pingpong() { # ARG...
	serve "$@" && ask "$@" && served
}

# Print how many requests the adapter has carried out.
requests() {
	exec 3</dev/dat
	sed -n "s/^adapter:\tname=$adapter .* requests=\([0-9]*\) .*/\1/p" /proc/self/fdinfo/3
	exec 3<&-
}

# Succeed if a table of the client has a line for SIZE.
has_size() { has "$tmp/client" "^$1 "; }

info_lists() { # PROVIDER TYPE
	fi_info -p "$1" -d "$adapter" >"$tmp/info" 2>&1 && has "$tmp/info" "^provider: $1\$" &&
		has "$tmp/info" "^    domain: $adapter\$" && has "$tmp/info" "^    type: $2\$"
}

# Print the adapters that a program finds.
adapters() { fi_info -p dat 2>/dev/null | sed -n 's/^    domain: //p' | sort -u; }

one_adapter_is_chosen() {
	[ "$(FI_DAT_ADAPTER=$adapter adapters)" = "$adapter" ] &&
		[ -z "$(FI_DAT_ADAPTER=nothing0 adapters)" ] &&
		fi_info -g FI_DAT >"$tmp/info" 2>&1 && has "$tmp/info" FI_DAT_ADAPTER
}

the_reason_is_logged() {
	! FI_LOG_LEVEL=info fi_info -p dat -t FI_EP_MSG -c FI_ATOMIC >"$tmp/info" 2>&1 &&
		has "$tmp/info" "$adapter: caps asks for 0x10, of which 0x10 is not supported"
}

# A mount namespace of its own, in which the driver is not there.
no_driver_no_noise() {
	# shellcheck disable=SC2016 # sh is to expand it
	! unshare -m sh -c 'mount --bind /dev/null /dev/dat && fi_info -p dat' >"$tmp/info" 2>&1 &&
		[ "$(grep -vc '^fi_getinfo: ' "$tmp/info")" = 0 ]
}

# Succeed if messages of all sizes go both ways, and the adapter carries them.
all_sizes() { # ARG...
	local before size
	before=$(requests)
	for size in $sizes; do
		pingpong "$@" -I 5 -S "$size" -c || return 1
	done
	has_size 64 && has_size 1m && [ "$(requests)" -ge $((before + 20)) ]
}

# The first message of 1 MiB pins it, after a rendezvous.
rdm_all_sizes() { all_sizes -p 'dat;ofi_rxm' -e rdm -m "$1"; } # MODE

# Print the counters of the endpoints of a process.
endpoints() { grep -h '^ep:' /proc/"$1"/fdinfo/* 2>/dev/null; }

# Look at the server, which is the child of timeout, while it runs.  Then end both.
fdinfo_counts() {
	local - client pid i rc found=
	set +x
	serve -p dat -e msg -I 1000000000 -S 64 || return 1
	ask -p dat -e msg -I 1000000000 -S 64 &
	client=$!
	pid=$(pgrep -P "$server")
	for ((i = 0; i < 400 && !found; i++)); do
		endpoints "$pid" >"$tmp/fdinfo"
		! has "$tmp/fdinfo" 'state=CONNECTED .* requests=[0-9]{3,} ' || found=1
		pause 0.05
	done
	kill "$server"
	served
	wait $client
	rc=$?
	# The client has noticed that the server is gone.
	[ $rc != 0 ] && [ $rc != 124 ] && [ -n "$found" ]
}

repeated() {
	local i
	for ((i = 0; i < runs; i++)); do
		pingpong -p dat -e msg -I 10 -S 1024 || {
			echo "run $i of $runs failed" >"$tmp/run"
			return 1
		}
	done
}

echo "TAP version 13"
info_lists dat FI_EP_MSG
result "fi_info lists the adapter as MSG"
info_lists 'dat;ofi_rxm' FI_EP_RDM
result "fi_info lists the adapter as RDM of ofi_rxm"
one_adapter_is_chosen
result "FI_DAT_ADAPTER chooses an adapter"
the_reason_is_logged
result "the reason why hints can't be met is logged"
no_driver_no_noise
result "without the driver there is no adapter and no message"
all_sizes -p dat -e msg
result "fi_pingpong with messages of all sizes"
rdm_all_sizes msg
result "fi_pingpong with RDM messages of all sizes"
rdm_all_sizes tagged
result "fi_pingpong with tagged messages of all sizes"
FI_OFI_RXM_USE_SRX=1 rdm_all_sizes tagged
result "fi_pingpong with a shared receive context"
fdinfo_counts
result "fdinfo counts the messages of fi_pingpong"
repeated
result "each of many connections ends"
echo "1..$n"
