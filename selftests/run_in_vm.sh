#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Copyright (c) The dat authors
#
# run_in_vm.sh [--first-failure] [--after COMMAND] DIR LIMIT CLAIMS PROGRAM...: in the guest, run the
# programs one after the other, each for at most LIMIT seconds, and then check that nothing was left
# behind.  Machines that share the directory CLAIMS share the programs: the machine that creates a
# program's file in CLAIMS runs the program.
# --first-failure: a test that fails ends its program and the run.
# --after: call COMMAND with the name of each program that has ended; if it fails, the rest does not run.
set -u

first_failure='' after=''
while [[ $1 = --* ]]; do
	case $1 in
	--first-failure) first_failure=1 ;;
	--after)
		after=$2
		shift ;;
	esac
	shift
done
dir=$1 limit=$2 claims=$3
shift 3
export LD_LIBRARY_PATH=$dir/../ulib

# The adapter of the tests.  Beside a device there is lo0, which tools prefer within a host.
if [ -z "${DAT_ADAPTER:-}" ]; then
	DAT_ADAPTER=lo0
	for device in rxe0 siw0; do
		[ ! -e /sys/class/infiniband/$device ] || DAT_ADAPTER=$device
	done
fi
export DAT_ADAPTER

# Some tests run a program as another user, who cannot reach a tree below /root.  The guest's files are
# copies, so this changes nothing on the host.
at=$dir
while [ -n "$at" ]; do
	chmod o+x "$at"
	at=${at%/*}
done

has_kmemleak() { [ -w /sys/kernel/debug/kmemleak ]; }

# Print the objects of the RDMA devices.  The number of a device is left out: it changes each time
# the device is added.  The GSI pair of a port always exists.
resources() { rdma resource show | sed 's/^[0-9]*: //'; }
has_device() { [ -n "$(ls -A /sys/class/infiniband 2>/dev/null)" ]; }
# Reading stat_refresh makes the CPUs add their own counts to the total.
pinned() {
	cat /proc/sys/vm/stat_refresh >/dev/null 2>&1
	awk '/^nr_foll_pin_acquired/ { a = $2 } /^nr_foll_pin_released/ { r = $2 } END { print a - r }' /proc/vmstat
}

tap() { # STATUS-OF-TEST NAME
	if [ "$1" = 0 ]; then echo "ok 1 $2"; else echo "not ok 1 $2"; fi
}

# Retry: a connection's CQ may be freed a second after its end.
same_resources() {
	local i
	[ -n "$before" ] || ! has_device || return 1
	for ((i = 0; i < 10; i++)); do
		[ "$(resources)" = "$before" ] && return 0
		sleep 1
	done
	echo "# before: $before"
	echo "# now: $(resources)"
	return 1
}

# DAT_KO_ARGS and DAT_RSM_KO_ARGS: parameters of the modules.
# shellcheck disable=SC2086 # words
load() { insmod "$DAT_KO" ${DAT_KO_ARGS-} && insmod "$DAT_RSM_KO" ${DAT_RSM_KO_ARGS-}; }

unload() {
	! lsmod | grep -q '^dat_rsm ' || rmmod dat_rsm || return 1
	! lsmod | grep -q '^dat ' || rmmod dat
}

# Print what kmemleak has found, without the endpoints that siw itself leaks: those of connections
# that end while siw accepts them.
unreferenced() {
	awk 'BEGIN { RS = "unreferenced object"; ORS = "" }
	     NR > 1 && !/siw_cm_work_handler/ { print RS $0 }' /sys/kernel/debug/kmemleak
}

leaks() {
	same_resources
	tap $? "leaks.no RDMA object is left"
	[ "$(pinned)" = "$pinned_before" ]
	tap $? "leaks.no page is left pinned"
	unload
	tap $? "leaks.the modules can be removed"
	same_resources && [ "$(pinned)" = "$pinned_before" ]
	tap $? "leaks.nothing is left after it"
	if has_kmemleak; then
		echo scan >/sys/kernel/debug/kmemleak
		sleep 6 # objects younger than 5 s are not reported
		echo scan >/sys/kernel/debug/kmemleak
		unreferenced >/tmp/kmemleak
		sed 's/^/# /' /tmp/kmemleak
		[ ! -s /tmp/kmemleak ] && ! dmesg | grep -q 'kmemleak.*disabled'
		tap $? "leaks.kmemleak finds nothing"
	fi
	load
	tap $? "leaks.the modules can be loaded again"
}

# End the running program: its processes, and the group of a script's other processes.
end_program() {
	pkill -KILL -f "^(/bin/bash )?$dir/"
	pkill -TERM -x timeout
}

# Add the names of skipped tests, which the kselftest harness prints only when the tests begin, and
# the times of tests that take seconds.  Write the number of results and the plan to $counts.
# With --first-failure, kill the program at a failure.
annotate() { # PROGRAM
	local line test='' began=$SECONDS results=0 plan=''
	while IFS= read -r line || [ -n "$line" ]; do
		if [[ $line =~ ^(not )?ok\  ]]; then
			results=$((results + 1))
		elif [[ $line == 1..* ]]; then
			plan+=${plan:+ and }${line#1..}
		fi
		if [[ $line =~ ^#\ \ RUN\ +([^ ]+) ]]; then
			test=${BASH_REMATCH[1]}
			began=$SECONDS
		elif [[ $line =~ ^(not )?ok\  ]] && ((SECONDS - began > 1)); then
			# Shell scripts name their tests only in the result.
			echo "# ${test:-${line#*ok }} took $((SECONDS - began)) s"
			began=$SECONDS
		fi
		if [[ $line =~ ^(ok\ [0-9]+\ +)#\ *SKIP(.*) ]]; then
			[ -n "$test" ] || echo "not ok 0 $1: a skip without a name"
			line="${BASH_REMATCH[1]}$test # SKIP${BASH_REMATCH[2]}"
			test=''
		fi
		printf '%s\n' "$line"
		[ -z "$first_failure" ] || [[ $line != "not ok "* ]] || end_program
	done
	printf '%s\n' "$results" "$plan" >"$counts"
}

mountpoint -q /sys/kernel/debug || mount -t debugfs none /sys/kernel/debug 2>/dev/null
if has_kmemleak; then
	# Forget what was leaked before the tests.
	echo scan >/sys/kernel/debug/kmemleak
	echo clear >/sys/kernel/debug/kmemleak
fi
before=$(resources)
pinned_before=$(pinned)

# Do what scripts/vm-init does once the modules are loaded: some programs load them again, which loses
# the key and the group of the device nodes.
set_up_modules() {
	local key=/tmp/cluster.key tool=$dir/../ulib/rsm-nodes node
	[ -e "$key" ] || "$tool" keygen "$key"
	"$tool" key "$key"
	# Soft iWARP cannot deny a peer access, so RSM exports on it only in a trusted network.
	[ "$DAT_ADAPTER" != siw0 ] || "$tool" trust-network on
	for node in /dev/dat /dev/rsm; do
		# A node of root's group is a new one.
		if [ -G "$node" ]; then
			chgrp rdma "$node"
			chmod 660 "$node"
		fi
	done
}

# A program that was killed may leave processes that keep its output open, so the loop below would
# wait for them.  Say where they hang, and kill them.
end_leftovers() { # PROGRAM
	echo "# $1 has ended, these processes have not:"
	pgrep -f "^$dir/" | while read -r pid; do
		echo "# $(ps -o pid=,stat=,args= -p "$pid"): $(tr '\n' ' ' <"/proc/$pid/stack")"
	done
	# The group of selftests/common/slow.h lets its processes exit at a thousandth of the speed.
	[ ! -e /tmp/dat_slow/dat_slow ] || echo max >/tmp/dat_slow/dat_slow/cpu.max
	pkill -KILL -f "^$dir/"
	echo "not ok 0 $1: it left processes behind"
}

# Redirection with noclobber makes the file only if it does not exist, without another process.
claim() { # PROGRAM
	local won=0
	set -o noclobber
	{ : >"$claims/${1//\//.}"; } 2>/dev/null || won=1
	set +o noclobber
	return $won
}

counts=/tmp/counts
# Nothing is ever written to this pipe, so a read with a time limit waits without another process:
# under emulation the start of a process takes up to half a second.
exec 9<> <(:)
for p in "$@"; do
	claim "$p" || continue
	set_up_modules >/dev/null 2>&1
	echo "# begin $p"
	start=$SECONDS
	(
		trap exit TERM
		read -rt $((limit + 30)) -u 9 _
		trap '' TERM
		end_leftovers "$p"
	) &
	watcher=$!
	timeout -k 5 "$limit" "$dir/$p" </dev/null 2>&1 9<&- | annotate "$p"
	rc=${PIPESTATUS[0]}
	# Its report, if any, comes before the end of the program.
	kill "$watcher" 2>/dev/null
	wait "$watcher"
	{ read -r results && read -r plan; } <$counts
	if [ "$rc" = 124 ] || [ "$rc" = 137 ]; then
		echo "not ok 0 $p: not done within $limit s"
	elif [ "$rc" != 0 ] && [ "$rc" != 1 ] && [ "$rc" != 4 ]; then
		echo "not ok 0 $p: exit status $rc"
	elif [ "$rc" = 4 ] && [[ $plan == "0 # SKIP "* ]]; then
		echo "ok 0 $p ${plan#0 }"
	elif [ "$plan" != "$results" ]; then
		echo "not ok 0 $p: $results results, ${plan:-no} planned"
	fi
	echo "# end $p $rc, $((SECONDS - start)) s"
	[ -z "$after" ] || "$after" "$p" || break
	[ -z "$first_failure" ] || [ "$rc" = 0 ] || [ "$rc" = 4 ] || break
done
echo "# begin leaks"
start=$SECONDS
leaks
echo "# end leaks 0, $((SECONDS - start)) s"
