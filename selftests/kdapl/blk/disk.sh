# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# Copyright (c) The dat authors
#
# Functions for the server, the disk and the results, shared by blk.sh and blk_faults.sh.
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=selftests/common/wait.sh
. "$here/wait.sh"
# shellcheck source=selftests/common/trace.sh
. "$here/trace.sh"
LD_LIBRARY_PATH=$here/../ulib
export LD_LIBRARY_PATH
module=${DAT_BLK_KO:-$here/../kmod-$(uname -r)/ktest/dat_blk.ko}
control=/dev/dat_blk disk=/dev/datblk0 port=5098
# Default depth of a disk.  Keep it small, because each tag takes time to set up under emulation.
depth=16
began=$SECONDS
hung=/proc/sys/kernel/hung_task_timeout_secs hung_before=
since=0
n=0
failed=0
server=

skip() {
	echo "1..0 # SKIP $*"
	exit 4
}

echo "TAP version 13"
[ -r "$module" ] || skip "no dat_blk.ko for this kernel (make ktest; it wants CONFIG_BLOCK)"
# shellcheck source=selftests/common/host.sh
. "$here/host.sh"
find_host "$LD_LIBRARY_PATH"
tmp=$(mktemp -d) || exit 1
mkdir "$tmp/mnt"

# Clean up after a test that has failed.
tidy() {
	local name rest
	stop_server
	! mountpoint -q "$tmp/mnt" || umount "$tmp/mnt" || umount -l "$tmp/mnt"
	if mountpoint -q "$tmp/cg"; then
		xargs -r kill -9 <"$tmp/cg/dat-blk/cgroup.procs"
		sleep 1
		rmdir "$tmp/cg/dat-blk"
		umount "$tmp/cg"
	fi
	while read -r name rest; do
		order 60 remove "$name" force
	done < <(cat $control 2>/dev/null)
	[ ! -e $control ] || defaults
	: >"$tmp/log"
}

cleanup() {
	tidy
	[ ! -e $control ] || rmmod dat_blk
	[ -z "$hung_before" ] || echo "$hung_before" >$hung
	rm -rf "$tmp"
}
trap cleanup EXIT

# result NAME: report the exit status of the previous command, with the log if it failed.
result() {
	local rc=$? status=ok script=${0##*/}
	n=$((n + 1))
	echo "# $((SECONDS - began)) s"
	began=$SECONDS
	if [ $rc != 0 ]; then
		# shellcheck disable=SC2034 # the script that sources this exits with it
		failed=1
		status="not ok"
		echo "# status $rc"
		trace_show
		cat "$tmp/log" "$tmp/server" 2>/dev/null | sed 's/^/# /'
		[ ! -e $control ] || sed 's/^/# /' $control
		dmesg | tail -n 12 | sed 's/^/# dmesg: /'
		tidy
	fi
	trace_clear
	: >"$tmp/log"
	echo "$status $n ${script%.sh}.$1"
}

fail() {
	echo "$*" >>"$tmp/log"
	return 1
}

# --- the server ----------------------------------------------------------------

serve() { # [OPTION]...
	: >"$tmp/server"
	"$here/blk/dat-blkd" -d "$adapter" -p $port "$@" "$tmp/image" >"$tmp/server" 2>&1 &
	server=$!
	seen "$tmp/server" '^listening' || fail "the server does not listen"
}

stop_server() { # [SIGNAL]
	[ -n "$server" ] || return 0
	{
		kill "-${1:-9}" "$server"
		kill -CONT "$server"
		wait "$server"
	} 2>/dev/null
	server=
}

image() { # MEGABYTES: all zero
	rm -f "$tmp/image"
	truncate -s "$1M" "$tmp/image"
}

# --- the disk --------------------------------------------------------------------

# The order may hang, so a process of its own writes it.  The pipe from this process ends with it.
order() { # SECONDS WORD...
	local writer ended rc
	exec {ended}< <(echo "${*:2}" 2>>"$tmp/log" >$control)
	writer=$!
	read -rt "$1" -u "$ended" _
	rc=$?
	exec {ended}<&-
	((rc <= 128)) || { kill $writer && fail "no end of: ${*:2}"; }
	wait $writer
}

add() { order 30 add "$adapter" "$host" $port; }
load() { [ -e $control ] || insmod "$module" depth=$depth; }
remove() { order 60 remove datblk0; }
state() {
	local name state
	while read -r name _ _ _ _ state _; do
		[ "$name" != datblk0 ] || echo "$state"
	done <$control
}

parameter() { echo "$2" >"/sys/module/dat_blk/parameters/$1"; }

defaults() {
	parameter bounce N
	parameter timeout 30
	parameter depth $depth
	parameter max_kb 128
}

# within SECONDS COMMAND...: the command ends in time, with any status.
within() {
	local limit=$1 t=$SECONDS
	shift
	timeout -k 1 "$((limit + 30))" "$@" >>"$tmp/log" 2>&1
	[ $((SECONDS - t)) -le "$limit" ] || fail "$1 took $((SECONDS - t)) s"
}

# works_within SECONDS COMMAND...: the command succeeds in time.
works_within() {
	local limit=$1
	shift
	timeout -k 1 "$limit" "$@" >>"$tmp/log" 2>&1 || fail "status $?: $*"
}

# fails_within SECONDS COMMAND...: the command fails in time.
fails_within() {
	local limit=$1 t=$SECONDS
	shift
	! timeout -k 1 "$((limit + 30))" "$@" >>"$tmp/log" 2>&1 || fail "it works: $*" || return 1
	[ $((SECONDS - t)) -le "$limit" ] || fail "$1 took $((SECONDS - t)) s"
}

fresh() { # MEGABYTES [OPTION]...
	image "$1"
	serve "${@:2}" && add
}

# MEGABYTES should be small: under emulation a MiB takes up to a second.
file_system_on() { # MEGABYTES
	fresh "$1" && mkfs.ext4 -q -J size=1 -N 256 $disk >>"$tmp/log" 2>&1 &&
		mount $disk "$tmp/mnt"
}

finish() {
	remove
	local rc=$?
	stop_server TERM
	return $rc
}

# lost_within SECONDS STATUS: check that the disk is lost and that I/O errors have ended blk-verify
# at most SECONDS after the time $since.  STATUS is the exit status of blk-verify.
lost_within() {
	[ "$2" = 3 ] || fail "I/O ended with $2" || return 1
	[ $((SECONDS - since)) -le "$1" ] || fail "errors after $((SECONDS - since)) s" || return 1
	[ "$(state)" = lost ] || fail "it is not lost"
}

# Print the kernel's log since TEXT, which the test has written to the log.
log_since() { # TEXT
	dmesg >"$tmp/dmesg"
	grep -q "$1" "$tmp/dmesg" || fail "the kernel's log is too short" || return 1
	sed -n "/$1/,\$p" "$tmp/dmesg"
}

# Check that the log has no message that reports a bug of the kernel.
log_is_clean() {
	log_since "$mark" >"$tmp/since" && ! grep -E \
		'blocked for more than|WARNING:|BUG:|possible (recursive|circular)|cut here|Oops|general protection|UBSAN|ODEBUG|DMA-API' \
		"$tmp/since" >>"$tmp/log"
}

# Random text, for files of at most 225 * 1009 bytes.
random_text=

fill() { # DIRECTORY: files of many sizes
	local i size LC_ALL=C
	[ -n "$random_text" ] || random_text=$(head -c 200000 /dev/urandom | base64 -w 0)
	for ((i = 0; i < 16; i++)); do
		size=$((i * i * 1009))
		printf '%s' "${random_text:RANDOM % 32768:size}" >"$1/f$i" || return 1
	done
}

sums() { (cd "$1" && sha256sum f*); }

mark="dat-blk-test $$ $RANDOM"
echo "$mark" >/dev/kmsg
# The hung task detector fires after 40 s; all limits here are shorter.
[ ! -w $hung ] || { hung_before=$(cat $hung) && echo 40 >$hung; }
load || { echo "Bail out! insmod $module"; exit 1; }
: >"$tmp/log"
