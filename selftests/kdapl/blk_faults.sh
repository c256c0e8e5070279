#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Copyright (c) The dat authors
#
# Faults of a disk over DAT: the server is killed, hangs or sends invalid replies, the client sends
# invalid requests, and the disk or adapter is removed.
# shellcheck source=selftests/kdapl/blk/disk.sh
. "$(dirname "$0")/blk/disk.sh"

verifier=

# A mounted file system with files, and I/O in flight.
disk_in_use() {
	file_system_on 16 && fill "$tmp/mnt" && truncate -s 6M "$tmp/mnt/io" &&
		verify_begin "$tmp/mnt/io"
}

verify_begin() { # FILE
	"$here/blk/blk-verify" 120 4 "$1" >>"$tmp/log" 2>&1 &
	verifier=$!
	pause 1
	since=$SECONDS
}

# --- The server is killed ------------------------------------------------------

killed_io_fails() { # SIGNAL
	disk_in_use || return 1
	kill "-$1" "$server"
	wait "$verifier"
	lost_within 15 $?
}

killed_new_io_fails() {
	fails_within 5 dd if=/dev/zero of=$disk bs=4k count=1 oflag=direct &&
		fails_within 5 dd if=$disk of=/dev/null bs=4k count=1 iflag=direct &&
		fails_within 5 blkdiscard -l 4096 $disk
}

killed_unmounts() {
	within 15 cp "$tmp/server" "$tmp/mnt/late" && within 15 sync && within 15 umount "$tmp/mnt" && ! mountpoint -q "$tmp/mnt"
}

killed_unloads() {
	stop_server
	within 15 rmmod dat_blk && [ ! -e $disk ] && [ ! -d /sys/module/dat_blk ]
}

comes_back() {
	load && serve && add && mount $disk "$tmp/mnt" && umount "$tmp/mnt" && finish
}

# Kill the server while memory reclaim writes to the disk.  Use the disk without a file system,
# because a file system that has shut down blocks its writers.  The limit is memory.high: at
# memory.max, the kernel kills a writer whose pages are not written fast enough.
killed_under_pressure() {
	local group=$tmp/cg/dat-blk writer i
	mkdir -p "$tmp/cg" && mount -t cgroup2 none "$tmp/cg" 2>>"$tmp/log" &&
		echo +memory >"$tmp/cg/cgroup.subtree_control" && mkdir -p "$group" &&
		echo 16M >"$group/memory.high" && fresh 32 || return 1
	bash -c "echo \$\$ >$group/cgroup.procs
		while dd if=/dev/zero of=$disk bs=256k count=120 conv=notrunc,fsync; do :; done
		: >$tmp/ended" >>"$tmp/log" 2>&1 &
	writer=$!
	pause 3
	kill -9 "$server"
	for ((i = 0; i < 150; i++)); do
		[ ! -e "$tmp/ended" ] || break
		pause 0.1
	done
	[ -e "$tmp/ended" ] || fail "it still writes" || return 1
	wait $writer
	has "$group/memory.events" 'high [1-9]' || fail "there was memory" || return 1
	[ "$(state)" = lost ] && stop_server && remove && rmdir "$group" && umount "$tmp/cg"
}

# --- The server lies -----------------------------------------------------------

# The client must neither accept an invalid reply nor wait for another reply.
garbage_reply() { # FAULT
	local rc=0 why='has sent garbage'
	case $1 in
	silent)
		why='does not answer'
		parameter timeout 2
		;;
	message-long) why='an operation has failed' ;;
	esac
	echo "$mark: $1 $bounce" >/dev/kmsg
	: >"$tmp/image" && truncate -s 16M "$tmp/image" && add || return 1
	timeout 40 "$here/blk/blk-verify" 30 4 $disk >>"$tmp/log" 2>&1
	rc=$?
	parameter timeout 30
	[ $rc = 3 ] || fail "$1: I/O ended with $rc" || return 1
	log_since "$mark: $1 $bounce" | grep -q "$why" || fail "$1: not as it should be" || return 1
	remove
}

# Run a server that injects a fault for each client, in the order of the arguments.
serve_faults() { # FAULT...
	local IFS=,
	serve --after 8 --fault "$*"
}

garbage_replies() { # BOUNCE FAULT...
	local f bounce=$1
	parameter bounce "$1"
	image 16
	serve_faults "${@:2}" || return 1
	for f in "${@:2}"; do
		garbage_reply "$f" || return 1
	done
	parameter bounce N
	stop_server TERM
}

garbage_export() {
	: >"$tmp/log"
	if add || ! has "$tmp/log" '[Pp]rotocol error' || [ -s $control ]; then
		fail "$1: not as it should be"
	fi
}

garbage_exports() { # FAULT...
	local f
	image 16
	serve_faults "$@" || return 1
	for f in "$@"; do
		garbage_export "$f" || return 1
	done
	stop_server TERM
}

# --- The client lies -----------------------------------------------------------

garbage_clients() {
	image 16
	serve || return 1
	timeout 300 "$here/blk/blk-liar" -d "$adapter" "$host" $port >>"$tmp/log" 2>&1 &&
		kill -0 "$server" || return 1
	add && works_within 20 dd if=$disk of=/dev/null bs=64k count=16 iflag=direct && finish
}

# --- The disk or its adapter is removed ------------------------------------------

forced_removal() {
	local rc
	fresh 16 && verify_begin $disk && order 60 remove datblk0 force || return 1
	wait "$verifier"
	rc=$?
	[ $rc = 3 ] || fail "I/O ended with $rc" || return 1
	[ ! -e $disk ] && [ ! -s $control ] || return 1
	stop_server TERM
}

removal_while_mounted() {
	local rc
	disk_in_use || return 1
	! remove || fail "it was removed" || return 1
	order 60 remove datblk0 force || return 1
	wait "$verifier"
	rc=$?
	[ $rc = 3 ] || fail "I/O ended with $rc" || return 1
	[ ! -e $disk ] && [ ! -s $control ] || return 1
	! rmmod dat_blk 2>>"$tmp/log" || fail "the module is not in use" || return 1
	within 15 umount "$tmp/mnt" && ! mountpoint -q "$tmp/mnt" && stop_server TERM
}

# The RDMA device is removed while I/O is in flight.
adapter_goes() {
	local rc i
	fresh 16 && verify_begin $disk && rdma link delete "$adapter" || return 1
	wait "$verifier"
	rc=$?
	rdma link add "$adapter" type "${adapter%0}" netdev v0 && pause 1
	lost_within 15 $rc || return 1
	for ((i = 0; i < 20; i++)); do
		! kill -0 "$server" 2>/dev/null || pause 0.5
	done
	has "$tmp/server" 'the adapter is gone' || fail "the server does not notice" || return 1
	server=
	remove
}

echo "1..16"
forced_removal
result "forced removal with I/O under way"
removal_while_mounted
result "forced removal while mounted: the file system can be unmounted"
killed_io_fails KILL
result "the server is killed: I/O under way fails within 15 s"
killed_new_io_fails
result "the server is killed: new I/O fails at once"
killed_unmounts
result "the server is killed: the file system can be unmounted"
killed_unloads
result "the server is killed: the module can be unloaded"
comes_back
result "the disk is back with another server and another load of the module"
parameter timeout 3
killed_io_fails STOP
result "the server is silent: I/O fails after the timeout"
killed_unmounts && stop_server && remove && parameter timeout 30
result "the server is silent: everything can be taken down"
killed_under_pressure
result "the server is killed while memory waits for it: errors, and everything can be taken down"
mapfile -t faults < <("$here/blk/dat-blkd" --fault list)
exports=() replies=()
for fault in "${faults[@]}"; do
	if [[ $fault == export-* ]]; then exports+=("$fault"); else replies+=("$fault"); fi
done
garbage_exports "${exports[@]}"
result "a server whose export is garbage is not connected to"
# The same code detects all faults.  On a slow debug kernel, test only faults with different
# consequences.
[ ! -e /sys/kernel/debug/kmemleak ] || replies=(noise tag-stale message-long twice silent)
garbage_replies N "${replies[@]}"
result "garbage from the server ends the connection (in place)"
garbage_replies Y length-long twice silent
result "garbage from the server ends the connection (bounce)"
garbage_clients
result "garbage from a client ends its connection, and no other"
adapter_goes
result "the adapter goes: errors, and everything can be taken down"
rmmod dat_blk && log_is_clean
result "the module can be unloaded, no task was hung and no warning logged"
exit $failed
