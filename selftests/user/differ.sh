#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Copyright (c) The dat authors
#
# differ.sh [ADAPTER]...: random scripts give the same events and the same memory over all adapters,
# and what the model of selftests/user/differ/ expects.  Without ADAPTERs: over all of this machine.
#
# DIFFER_SEEDS, DIFFER_FIRST, DIFFER_STEPS: number of scripts, seed of the first, steps of each.
# A script that fails is shortened by halving for DIFFER_SHORTEN seconds, and the options of differ
# that repeat the failure are printed.  A script that has not begun after DIFFER_TIME seconds is
# skipped.
bin=$(cd "$(dirname "$0")" && pwd)
export LD_LIBRARY_PATH=$bin/../ulib
steps=10000
# A debug kernel takes four times as long.
[ ! -e /sys/kernel/debug/kmemleak ] || steps=1000
seeds=${DIFFER_SEEDS:-20} first=${DIFFER_FIRST:-1} steps=${DIFFER_STEPS:-$steps}
patience=${DIFFER_SHORTEN:-120} limit=${DIFFER_TIME:-420}
# So many scripts run at the same time, because a connection that ends waits most of the time.
jobs=6

tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
adapters=("$@")
((${#adapters[@]})) || mapfile -t adapters < <("$bin/../ulib/dat-info" --list)
if ((${#adapters[@]} == 0)); then
	echo "1..0 # SKIP this machine has no adapter"
	exit 4
fi
options=()
# iWARP cannot do all that the scripts do.
! grep -qs RNIC /sys/class/infiniband/*/node_type || options=(-e)

# run_pair NAME QUALIFIER SEED STEPS [OPTION]...: run a script over all adapters.  The outputs are
# files NAME.0, NAME.1, ...  Fail if one fails, or if they differ.
run_pair() {
	local name=$tmp/$1 qual=$2 seed=$3 n=$4 i
	shift 4
	for i in "${!adapters[@]}"; do
		"$bin/differ/differ" -a "${adapters[i]}" -q "$qual" -s "$seed" -n "$n" \
			"${options[@]}" "$@" >"$name.$i" 2>&1 || return 1
		((i == 0)) || cmp -s "$name.0" "$name.$i" || return 1
	done
}

# Print why run_pair has failed.
explain() { # NAME
	local i
	for i in "${!adapters[@]}"; do
		[ -e "$tmp/$1.$i" ] || continue
		echo "# ${adapters[i]}: $(tail -n 3 "$tmp/$1.$i" | sed 's/^# //; 2,$s/^/#   /')"
		((i == 0)) || diff "$tmp/$1.0" "$tmp/$1.$i" | head -n 6 | sed 's/^/# /'
	done
}

# Leave out steps as long as the script fails: halves, then quarters, and so on.
shorten() { # SEED
	local part=$steps from drops=() end=$((SECONDS + patience)) n=$steps at
	at=$(sed -n 's/^# step \([0-9]*\):.*/\1/p' "$tmp/$1".* | sort -n | head -n 1)
	[ -z "$at" ] || n=$((at + 1))
	for ((part = (n + 1) / 2; part >= 1 && SECONDS < end; part /= 2)); do
		for ((from = 0; from < n && SECONDS < end; from += part)); do
			run_pair short 4900 "$1" "$n" "${drops[@]}" -d "$from-$((from + part))" ||
				drops+=(-d "$from-$((from + part))")
		done
	done
	run_pair short 4900 "$1" "$n" "${drops[@]}" || explain short
	echo "# repeat it: differ -a ADAPTER -s $1 -n $n ${options[*]} ${drops[*]}"
}

# One of the jobs: every so many seeds.
job() { # NUMBER
	local s rc
	for ((s = first + $1; s < first + seeds; s += jobs)); do
		rm -f "$tmp/$s".*
		rc=0
		if ((SECONDS > limit)); then
			rc=late
		else
			run_pair "$s" $((4711 + 20 * $1)) "$s" "$steps" || rc=1
		fi
		[ "$rc" = 1 ] || rm -f "$tmp/$s".*
		echo "$rc" >"$tmp/new.$1" && mv "$tmp/new.$1" "$tmp/result.$s"
	done
}

echo "TAP version 13"
echo "1..$seeds"
for ((j = 0; j < jobs; j++)); do job "$j" & done
for ((s = first; s < first + seeds; s++)); do
	while [ ! -e "$tmp/result.$s" ] && [ -n "$(jobs -rp)" ]; do sleep 1; done
	name="differ.$steps steps of seed $s over ${adapters[*]}"
	case $(cat "$tmp/result.$s" 2>/dev/null) in
	0)
		echo "ok $((s - first + 1)) $name"
		continue ;;
	late)
		echo "ok $((s - first + 1)) $name # SKIP the machine is too slow"
		continue ;;
	esac
	explain "$s"
	((patience <= 0)) || shorten "$s"
	# The first failure is explained at length.
	patience=0
	echo "not ok $((s - first + 1)) $name"
done
