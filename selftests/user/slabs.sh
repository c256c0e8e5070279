#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Copyright (c) The dat authors
#
# Slabs do not grow from load to unload of the modules, with connections in between.
set -u
dir=$(dirname "$0")
export LD_LIBRARY_PATH=$dir/../ulib

echo "TAP version 13"
skip() {
	echo "1..0 # SKIP $*"
	exit 4
}
[ -n "${DAT_KO:-}" ] || skip "DAT_KO is not set, so dat.ko cannot be loaded again"
[ -w /sys/kernel/slab/kmalloc-64/shrink ] || skip "this kernel does not shrink its slabs"
echo "1..1"

# Count the objects in the slabs that the modules allocate from.  Shrinking a cache first empties
# KASAN's quarantine of it and the per-CPU lists.
slab_objects() {
	local cache total=0 n
	for cache in /sys/kernel/slab/kmalloc-*; do
		echo 1 >"$cache/shrink"
		read -r n _ <"$cache/objects" || return 1
		total=$((total + n))
	done
	echo "$total"
}

# Print the smallest of several counts: at any time, other processes have objects, and the kernel
# counts slabs that a CPU uses as full.  Dropping the caches ends the batches of kfree_rcu(), which
# take 5 s otherwise.
slab_least() {
	local i n least=
	for i in 1 2 3 4; do
		echo 2 >/proc/sys/vm/drop_caches
		sleep 1
		n=$(slab_objects) || return 1
		((i > 1 && least <= n)) || least=$n
	done
	echo "$least"
}

# shellcheck disable=SC2086 # words
load() { insmod "$DAT_KO" ${DAT_KO_ARGS-} && insmod "$DAT_RSM_KO" ${DAT_RSM_KO_ARGS-}; }

loaded() { [ -e "/sys/module/$1" ]; }

unload() {
	! loaded dat_rsm || rmmod dat_rsm || return 1
	! loaded dat || rmmod dat
}

# What the tests before have opened may be freed a second after their end.
unload_at_last() {
	local i
	for ((i = 0; i < 10; i++)); do
		! unload || return 0
		sleep 1
	done
	return 1
}

# Load the modules, make connections, and unload the modules, N times.
slab_rounds() { # N
	local i
	for ((i = 0; i < $1; i++)); do
		load && "$dir/connect" >/tmp/connect 2>&1
		unload || return 1
	done
}

# Each test opens the device and most connect, so a leak per open, object or connection exceeds the
# limit in every attempt.  The kernel itself varies by a slab or two in both directions, and mostly
# grows while its caches are young.
no_slab_growth() {
	local before after rounds=2 per_round i
	slab_rounds 1 || return 1 # allocates what is allocated only once
	per_round=$(grep -c '^ok ' /tmp/connect)
	before=$(slab_least)
	for i in 1 2 3; do
		slab_rounds $rounds || return 1
		after=$(slab_least)
		echo "# slab objects: $before before, $after after $rounds rounds of $per_round tests"
		((per_round > 0 && before > 0 && after > 0)) || return 1
		((after - before < rounds * per_round / 2)) && return
		before=$after
	done
	return 1
}

unload_at_last && no_slab_growth && status=ok || status="not ok"
load || status="not ok"
echo "$status 1 slabs.they do not grow from load to unload"
