#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Copyright (c) The dat authors
#
# The fabtests of libfabric, unmodified.  scripts/check-libfabric builds them, and copies this once
# for each group of tests, as GROUP.sh.
bin=$(cd "$(dirname "$0")" && pwd)
libs=$bin/../../ulib
# A program that may load all providers of the system needs seconds for that.
export LD_LIBRARY_PATH=$libs FI_PROVIDER_PATH=$libs FI_PROVIDER=dat,ofi_rxm
# shellcheck source=selftests/libfabric/kallsyms.sh
. "$bin/../kallsyms.sh"
# shellcheck source=selftests/common/host.sh
. "$bin/../host.sh"
# shellcheck source=selftests/common/wait.sh
. "$bin/../wait.sh"
group=$(basename "$0" .sh)
port=19100
oob=19099	# TCP port of programs that exchange addresses or synchronize by themselves
limit=250	# seconds for a program; only one that hangs reaches it

# GROUP PROGRAM ARGUMENTS.  Without -S, some programs use gigabytes.  A program that this version of
# libfabric does not have is left out.  In the groups rdm and rma, ofi_rxm is on top of dat.
tests=(
	"unit fi_dom_test -n 2"
	"unit fi_mr_test"
	"unit fi_cq_test -L 100"
	"unit fi_eq_test"
	"msg fi_msg"
	"msg fi_msg_epoll"
	"msg fi_cm_data"
	"msg fi_cq_data -e msg"
	"msg fi_inject_test -e msg -A inject -v"
	"msg fi_inject_test -e msg -N -A inject -v"
	"msg fi_inject_test -e msg -A inj_complete -v"
	"msg fi_bw -e msg -v -T 1 -S 4096"
	"msg fi_flood -e msg -v -T 1 -S 4096"
	"msg fi_msg_pingpong -I 5 -v -S 64"
	"msg fi_msg_pingpong -I 5 -v -S 1048576"
	"msg fi_msg_bw -I 5 -v -S 65536"
	"msg fi_rma_bw -e msg -o write -I 5 -S 65536"
	"msg fi_rma_bw -e msg -o read -I 5 -S 65536"
	"msg fi_rma_bw -e msg -o writedata -I 5 -S 65536"
	"rdm fi_av_test -n 1 -e rdm"
	"rdm fi_cntr_test"
	"rdm fi_rdm"
	"rdm fi_rdm_pingpong -I 5 -v -S 64"
	"rdm fi_rdm_tagged_pingpong -I 5 -v -S 64"
	"rdm fi_rdm_tagged_pingpong -I 5 -v -S 1048576"
	"rdm fi_rdm_tagged_bw -I 5 -v -S 65536"
	"rdm fi_rdm_tagged_peek"
	"rdm fi_rdm_cntr_pingpong -I 5 -S 64"
	"rdm fi_rdm_multi_client -C 10 -I 5"
	"rdm fi_multi_recv -e rdm -I 5 -S 1024"
	"rdm fi_cq_data -e rdm"
	"rdm fi_unexpected_msg -e rdm -I 10"
	"rma fi_inject_test -e rdm -A inject -v"
	"rma fi_bw -e rdm -v -T 1 -S 4096"
	"rma fi_flood -e rdm -v -T 1 -S 4096"
	"rma fi_rma_bw -e rdm -o write -I 5 -S 65536"
	"rma fi_rma_bw -e rdm -o read -I 5 -S 65536"
	"rma fi_rma_bw -e rdm -o writedata -I 5 -S 65536"
	"rma fi_rdm_atomic -I 5 -o all -S 1024"
)
provider=dat
[[ $group = unit || $group = msg ]] || provider='dat;ofi_rxm'

find_host "$libs"
tmp=$(mktemp -d) || exit 1
n=0
server=

cleanup() {
	[ -z "$server" ] || kill "$server" 2>/dev/null
	rm -rf "$tmp"
}
trap cleanup EXIT

# Wait up to 20 s until the server listens, for connections of dat or TCP.  The child of timeout is
# the program.
listens() {
	local - i pid hex
	set +x
	printf -v hex '%04X' $oob
	for ((i = 0; i < 200; i++)); do
		kill -0 "$server" 2>/dev/null || return 1
		pid=$(pgrep -P "$server")
		! grep -qs '^psp:' "/proc/${pid:-0}"/fdinfo/* || return 0
		! grep -qE "^ *[0-9]+: [0-9A-F]+:$hex [0-9A-F:]+ 0A " /proc/net/tcp{,6} || return 0
		pause 0.1
	done
	return 1
}

# Run a program that needs no peer.
one() { # PROGRAM ARG...
	timeout -k 5 "$limit" "$bin/$1" -p "$provider" -d "$adapter" "${@:2}" >"$tmp/client" 2>&1
}

# Run a server and its client.
two() { # PROGRAM ARG...
	local rc=0 common=(-p "$provider" -d "$adapter" "${@:2}")
	port=$((port + 1))
	timeout -k 5 "$limit" "$bin/$1" "${common[@]}" -B $port >"$tmp/server" 2>&1 &
	server=$!
	if listens; then
		timeout -k 5 "$limit" "$bin/$1" "${common[@]}" -P $port "$host" >"$tmp/client" 2>&1 || rc=$?
	else
		rc=1
	fi
	echo "client: $rc" >"$tmp/status"
	((rc == 0)) || kill "$server" 2>/dev/null
	wait "$server" || rc=1
	server=
	return $rc
}

run() { # PROGRAM ARG...
	case $1 in
	fi_av_test) one "$@" -g "$host" -s "$host" ;;
	fi_multi_recv | fi_unexpected_msg) two "$@" -E=$oob -s "$host" ;;
	fi_inject_test) two "$@" ;;
	*_test) one "$@" ;;
	*) two "$@" ;;
	esac
}

result() { # STATUS NAME
	local status=ok f
	n=$((n + 1))
	if [ "$1" != 0 ]; then
		status="not ok"
		for f in "$tmp"/*; do
			echo "# ${f##*/}:"
			tail -15 "$f" | awk '{ print "# " $0 }'	# also a last line without an end
		done
	fi
	rm -f "$tmp"/*
	echo "$status $n fabtests.$2"
}

echo "TAP version 13"
for t in "${tests[@]}"; do
	read -ra words <<<"$t"
	if [ "${words[0]}" = "$group" ] && [ -e "$bin/${words[1]}" ]; then
		run "${words[@]:1}"
		result $? "$provider ${t#* }"
	fi
done
echo "1..$n"
