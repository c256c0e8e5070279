#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Copyright (c) The dat authors
#
# dat_blk.ko and dat-blkd: a disk over DAT.
# shellcheck source=selftests/kdapl/blk/disk.sh
. "$(dirname "$0")/blk/disk.sh"

file_system() {
	file_system_on 16 &&
		fill "$tmp/mnt" && sums "$tmp/mnt" >"$tmp/before" && umount "$tmp/mnt"
}

# Use a new device and a new server, so that no data come from a cache.
files_survive_a_remount() {
	finish && serve && add && mount $disk "$tmp/mnt" && sums "$tmp/mnt" >"$tmp/after" &&
		umount "$tmp/mnt" && cmp "$tmp/before" "$tmp/after" >>"$tmp/log" &&
		e2fsck -fn $disk >>"$tmp/log" 2>&1 && finish
}

random_io_is_what_was_written() { # BOUNCE NAME-OF-THE-WAY
	parameter bounce "$1"
	fresh 32 || return 1
	has $control "$2 connected" || fail "not $2" || return 1
	timeout 120 "$here/blk/blk-verify" 3 4 $disk >>"$tmp/log" 2>&1
	local rc=$?
	parameter bounce N
	finish && return $rc
}

random_io_at_limits() { # DEPTH KIB TAGS
	local sys=/sys/block/datblk0
	parameter depth "$1"
	parameter max_kb "$2"
	fresh 32 || return 1
	[ "$(<$sys/queue/max_hw_sectors_kb) $(<$sys/mq/0/nr_tags)" = "$2 $3" ] ||
		fail "other limits" || return 1
	timeout 120 "$here/blk/blk-verify" 2 2 $disk >>"$tmp/log" 2>&1 || return 1
	defaults
	finish
}

size_is_that_of_the_file() {
	local rc=0
	fresh 17 || return 1
	[ "$(blockdev --getsize64 $disk)" = $((17 << 20)) ] || fail "another size" || rc=1
	# The last sector is accessible, and a sector after it is not.
	dd if=/dev/urandom of="$tmp/sector" bs=512 count=1 status=none
	dd if="$tmp/sector" of=$disk bs=512 seek=$(((17 << 11) - 1)) oflag=direct status=none || rc=1
	tail -c 512 "$tmp/image" | cmp - "$tmp/sector" || rc=1
	finish && return $rc
}

# Trace the system calls of the server, to check that a flush and FUA reach the file.
flush_reaches_the_file() {
	local rc=0
	fresh 16 || return 1
	strace -f -e trace=fdatasync,pwritev2 -o "$tmp/trace" -p "$server" 2>"$tmp/tracer" &
	local tracer=$!
	seen "$tmp/tracer" attached
	dd if=/dev/zero of=$disk bs=4k count=1 oflag=direct status=none 2>>"$tmp/log" || rc=1
	if has "$tmp/trace" 'fdatasync|RWF_DSYNC'; then fail "too much" || rc=1; fi
	dd if=/dev/zero of=$disk bs=4k count=1 oflag=direct,dsync status=none 2>>"$tmp/log" || rc=1
	has "$tmp/trace" 'RWF_DSYNC.* = 4096' || fail "no FUA" || rc=1
	dd if=/dev/zero of=$disk bs=4k count=1 oflag=direct conv=fsync status=none 2>>"$tmp/log" || rc=1
	has "$tmp/trace" 'fdatasync\(.*\) *= 0' || fail "no flush" || rc=1
	kill $tracer
	wait $tracer 2>/dev/null
	[ $rc = 0 ] || cat "$tmp/trace" >>"$tmp/log"
	finish && return $rc
}

discard_punches_a_hole() {
	local rc=0 before
	fresh 3 || return 1
	dd if=/dev/urandom of=$disk bs=1M count=3 oflag=direct status=none 2>>"$tmp/log" || rc=1
	cp "$tmp/image" "$tmp/want"
	dd if=/dev/zero of="$tmp/want" bs=1M seek=1 count=1 conv=notrunc status=none
	before=$(stat -c %b "$tmp/image")
	blkdiscard -o 1M -l 1M $disk 2>>"$tmp/log" || rc=1
	[ "$(stat -c %b "$tmp/image")" -le $((before - (1 << 10))) ] || fail "no hole" || rc=1
	cmp "$tmp/image" "$tmp/want" >>"$tmp/log" || rc=1
	rm "$tmp/want"
	finish && return $rc
}

read_only_export() {
	local rc=0
	fresh 16 --read-only || return 1
	[ "$(blockdev --getro $disk)" = 1 ] || fail "it can be written" || rc=1
	! dd if=/dev/zero of=$disk bs=4k count=1 oflag=direct 2>>"$tmp/log" || rc=1
	cmp -n $((1 << 17)) $disk /dev/zero >>"$tmp/log" 2>&1 || rc=1
	# A client that ignores the read-only flag must not write either.
	timeout 60 "$here/blk/blk-liar" -d "$adapter" -r "$host" $port >>"$tmp/log" 2>&1 || rc=1
	finish && return $rc
}

nobody_there() {
	stop_server
	! add && has "$tmp/log" '[Rr]efused' && ! order 30 add nobody "$host" $port &&
		has "$tmp/log" '[Nn]o such device' && ! order 5 add && ! order 5 remove &&
		! order 5 "remove datblk0" && ! order 5 nonsense && [ ! -s $control ]
}

# Remove the device by force: requests in flight fail, and the module can be unloaded at once.
a_round() { # BOUNCE
	local verifier rc
	load && parameter bounce "$1" && add || return 1
	"$here/blk/blk-verify" 60 4 $disk >>"$tmp/log" 2>&1 &
	verifier=$!
	pause "0.$((RANDOM % 9))"
	order 30 remove datblk0 force || return 1
	wait $verifier
	rc=$?
	# The device may have been removed before blk-verify could start.
	[ $rc = 3 ] || [ $rc = 2 ] || fail "I/O ended with $rc" || return 1
	rmmod dat_blk 2>>"$tmp/log" || fail "it can't be unloaded"
}

rounds() {
	local i rc=0
	serve || return 1
	for ((i = 0; i < ${DAT_BLK_ROUNDS:-3} && rc == 0; i++)); do
		: >"$tmp/image" && truncate -s 16M "$tmp/image"
		a_round $((i & 1)) || rc=1
	done
	stop_server TERM
	load && return $rc
}

# Soft iWARP does not count its packets, but TCP does.  Within the host there are no packets, and the
# driver counts the requests.
sent_packets() {
	local port=/sys/class/infiniband/$adapter/ports/1
	if [ -e "$port/hw_counters/sent_pkts" ]; then
		cat "$port/hw_counters/sent_pkts"
	elif [ -e "$port" ]; then
		awk '/^Tcp: [0-9]/ { print $12 }' /proc/net/snmp
	else
		"$LD_LIBRARY_PATH/dat-info" --prometheus - "$adapter" |
			sed -n 's/^dat_adapter_requests_total{.*} //p'
	fi
}

# The probe of an idle client must complete and must not end the connection.
idle_client_is_looked_at() {
	local before
	fresh 16 --probe 1 || return 1
	pause 0.5
	before=$(sent_packets)
	pause 2.5
	[ "$(sent_packets)" -gt "$before" ] || fail "it is not looked at" || return 1
	dd if=$disk of=/dev/null bs=64k count=4 iflag=direct status=none 2>>"$tmp/log" &&
		[ "$(state)" = connected ] && finish
}

several_at_once() {
	local i rc=0 io=()
	image 8
	serve || return 1
	for i in 0 1; do add || return 1; done
	has $control connected 2 && ! has $control connected 3 || return 1
	for i in 0 1; do
		dd if=/dev/datblk$i of=/dev/null bs=64k count=16 iflag=direct status=none 2>>"$tmp/log" &
		io+=($!)
	done
	for i in "${io[@]}"; do wait "$i" || rc=1; done
	# A new device takes the name that has become free.
	order 30 remove datblk0 && [ ! -e $disk ] && add && [ -e $disk ] || rc=1
	for i in 1 0; do order 30 remove datblk$i || rc=1; done
	stop_server TERM
	return $rc
}

busy_disk_stays() {
	local rc=0
	fresh 16 || return 1
	exec 7<$disk
	! remove || rc=1
	! rmmod dat_blk 2>>"$tmp/log" || rc=1
	exec 7<&-
	finish && return $rc
}

unload_removes_disks() {
	fresh 16 && head -c 256K /dev/urandom >"$tmp/data" &&
		dd if="$tmp/data" of=$disk bs=64k oflag=direct status=none 2>>"$tmp/log" &&
		rmmod dat_blk && [ ! -e $disk ]
}

load_again() {
	load && add && cmp -n $((1 << 18)) "$tmp/data" $disk >>"$tmp/log" && finish
}

echo "1..17"
nobody_there
result "bad orders and absent servers are errors"
size_is_that_of_the_file
result "the disk has the size of the file"
file_system
result "ext4: mkfs, mount, files, unmount"
files_survive_a_remount
result "ext4: files are the same after a remount, and fsck is content"
random_io_is_what_was_written N in-place
result "random I/O in place reads what was written"
random_io_is_what_was_written Y bounce
result "random I/O by bounce memory reads what was written"
random_io_at_limits 1 4 1 && random_io_at_limits 8 1024 8
result "random I/O in one request of a page, and in many of a MiB"
flush_reaches_the_file
result "flush and FUA reach the file, and nothing else does"
discard_punches_a_hole
result "a discard punches a hole, and only there"
read_only_export
result "a read-only export can't be written"
several_at_once
result "several disks at once"
idle_client_is_looked_at
result "the server looks if silent clients are there, and they are"
busy_disk_stays
result "a disk that is open is not removed, nor the module"
unload_removes_disks
result "unloading the module removes disks"
load_again
result "the module can be loaded again, and the data are there"
image 16
rounds
result "rounds of load, I/O, forced removal and unload at once"
rmmod dat_blk && log_is_clean
result "the module can be unloaded, no task was hung and no warning logged"
exit $failed
