#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Copyright (c) The dat authors
#
# Programs of the tests on the mean device; see mean.c.  mean.txt lists what cannot hold there, with
# the causes.  Run this only in the virtual machine, where nothing else uses rxe0 and the modules.
#
# mean.sh [MEANNESS]...: only these.
set -u

dir=$(cd "$(dirname "$0")" && pwd)
export LD_LIBRARY_PATH=$dir/../ulib
mean=$dir/../kmod-$(uname -r)/ktest/dat_mean.ko
parameters=/sys/module/dat_mean/parameters

skip() {
	echo "TAP version 13"
	echo "1..0 # SKIP $*"
	exit 4
}

[ -n "${DAT_KO:-}" ] || skip "DAT_KO does not say where dat.ko is"
[ -e /sys/class/infiniband/rxe0 ] || skip "rxe0 does not exist"
[ -r "$mean" ] || skip "no $mean (make ktest)"

tmp=$(mktemp -d) || exit 1
only=" $* "
n=0 failed=0

# A file may be closed a moment after its process has ended.
unload() {
	local i
	for ((i = 0; i < 50; i++)); do
		rmmod dat_rsm dat dat_mean 2>/dev/null
		grep -qE '^dat(_rsm|_mean)? ' /proc/modules || return 0
		sleep 0.1
	done
	return 1
}

load() { insmod "$DAT_KO" && insmod "$DAT_RSM_KO"; }

# shellcheck disable=SC2317 # called by the trap
end() {
	rm -rf "$tmp"
	unload && load
}
trap end EXIT

# dat.ko reads the driver that the device claims when it is loaded.  rxe needs its own afterwards.
# Exports need a trusted network on some devices.
load_mean() { # PARAMETER...
	unload && insmod "$mean" "$@" && load && echo rxe >$parameters/driver &&
		"$dir/../ulib/rsm-nodes" trust-network on
}

# Turn each listed failure in the output of a program into a skip with its cause.  Print what is
# left that failed.
unexcused() { # MEANNESS PROGRAM
	awk -v what="$1 $2" '
		FNR == NR && /^[^#].* # / {
			at = index($0, " # ")
			cause[substr($0, 1, at - 1)] = substr($0, at + 3)
		}
		FNR == NR { next }
		/^(not )?ok / {
			test = $0
			sub(/^(not )?ok [0-9]* */, "", test)
			sub(/ *#.*/, "", test)
			name = what "/" test
			if (name in cause && /^not /)
				print "# not on this device: " test ": " cause[name] >"/dev/stderr"
			else if (/^not /)
				print "# " test " failed"
			else if (name in cause && cause[name] !~ /\(not always\)$/)
				print "# " test " passes, but is listed in mean.txt"
		}' "$dir/mean.txt" "$tmp/out"
}

# Run a program.  Its tests pass, or are listed.
passes() { # MEANNESS PROGRAM
	local rc bad
	timeout -k 5 120 "$dir/$2" >"$tmp/out" 2>&1 </dev/null
	rc=$?
	bad=$(unexcused "$1" "$2" 2>"$tmp/excused")
	cat "$tmp/excused"
	if ((rc > 1)) || [ -n "$bad" ] || ! grep -q '^\(not \)\?ok ' "$tmp/out"; then
		echo "# $2 has ended with status $rc"
		[ -z "$bad" ] || echo "$bad"
		grep -E '^# .*:[0-9]+:' "$tmp/out" | tail -n 20
		return 1
	fi
}

result() { # NAME: of the command before
	local rc=$? status=ok
	n=$((n + 1))
	((rc == 0)) || { status="not ok"; failed=1; }
	echo "$status $n mean.$1"
}

# The driver must not meet a meanness that it knows from the device's limits or driver.  The others
# must have had an effect, or the programs have shown nothing.
met() { # met | avoided
	local hits
	hits=$(<$parameters/hits)
	if { [ "$1" = met ] && ((hits == 0)); } || { [ "$1" = avoided ] && ((hits != 0)); }; then
		echo "# a meanness had an effect $hits times"
		return 1
	fi
}

on() { # MEANNESS met|avoided PARAMETERS PROGRAM...
	local what=$1 how=$2 parameters_of=$3 p
	shift 3
	[ "$only" = "  " ] || [[ $only = *" $what "* ]] || return 0
	# shellcheck disable=SC2086 # several words
	load_mean $parameters_of
	result "$what: the modules are loaded"
	for p in "$@"; do
		passes "$what" "$p"
		result "$what: $p"
	done
	met "$how"
	result "$what: it is $how"
}

# It is there if libfabric was there when the tests were built.
libfabric=()
[ ! -e "$dir/fi_data" ] || libfabric=(fi_data)

echo "TAP version 13"
# Completions are announced in hard interrupt with interrupts off, at once or late and for many.
on hardirq met notify_ms=0 api_srq
on late met notify_ms=4 api_deferred
# The driver can register no user memory, or little at once.  The pairs of most programs have more.
on by_request avoided "driver=irdma user_mr=2" flush "${libfabric[@]}"
on few_pages avoided "driver=irdma user_mr=2 fast_reg_pages=16" rsm_data_rdma
on page_sizes avoided "driver=mlx5 page_sizes=0x201000" api_rmr
# Short queues, and a depth that no limit tells.
on short avoided "max_sge=4 max_wr=64 max_cqe=256" api_srq
on depth met qp_depth=20 api_flush
# A receive queue of the device is shorter than the ring.
on short_cq avoided "max_wr=64 max_cqe=64" api_conform_solicited
# A queue pair cannot be moved to the error state.
on no_error met modify_fails=6 api_abrupt
echo "1..$n"
exit $failed
