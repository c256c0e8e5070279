#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Copyright (c) The dat authors
#
# The part of scripts/mutants that runs in the guest; TREE is the built copy of the sources:
#
# guest.sh record TREE RUN PROGRAM...: run the programs with modules and libraries that report which
# code runs.  Writes RUN/PROGRAM.hits and .tar.
# guest.sh test TREE RUN MUTANT...: run the programs in RUN/MUTANT/programs against each mutant until
# a test fails, each for at most the seconds in RUN/MUTANT/limit.  Writes RUN/MUTANT/log, and
# RUN/MUTANT/verdict when it is known.  Ends when a mutant leaves the machine unclean, and after an
# hour; the caller boots another machine for the rest.
set -u

mode=$1 tree=$2 run=$3
shift 3
# shellcheck source=scripts/lib.sh
. "$tree/scripts/lib.sh"
build=$tree/build
tests=$build/selftests
export DAT_KO=/run/dat/dat.ko DAT_RSM_KO=/run/dat/dat_rsm.ko

load() { # DIR
	cp "$1"/dat.ko "$1"/dat_rsm.ko /run/dat/
	insmod $DAT_KO && insmod $DAT_RSM_KO || return 1
	chgrp rdma /dev/dat /dev/rsm
	chmod 660 /dev/dat /dev/rsm
}

unload() {
	! lsmod | grep -q '^dat_rsm ' || rmmod dat_rsm || return 1
	! lsmod | grep -q '^dat ' || rmmod dat
}

# --- recording -------------------------------------------------------------------

# Called after each program.
# shellcheck disable=SC2317 # by run_in_vm.sh
save() { # PROGRAM
	cat /sys/kernel/debug/dat_cover >"$run/$1.hits.new"
	tar -C "$GCOV_PREFIX" -cf "$run/$1.tar" .
	mv "$run/$1.hits.new" "$run/$1.hits"
	rm -rf "${GCOV_PREFIX:?}"/*
	echo >/sys/kernel/debug/dat_cover
}

record() { # PROGRAM...
	local work
	work=$(mktemp -d) || return 1
	mount --bind "$build/cover/ulib" "$build/ulib"
	insmod "$build/cover/kmod/dat_cover.ko" && load "$build/cover/kmod" || return 1
	export GCOV_PREFIX=/tmp/gcov run
	mkdir -m 1777 $GCOV_PREFIX
	export -f save
	"$tree/selftests/run_in_vm.sh" --first-failure --after save "$tests" "$(cat "$run/limit")" "$work" "$@"
}

# --- testing ---------------------------------------------------------------------

# Put files of a mutant over those of the tree.
cover() { # DIR
	local f
	[ -d "$1/build" ] || return 0
	find "$1/build" -type f -printf '%P\n' | while read -r f; do mount --bind "$1/build/$f" "$build/$f"; done
}

uncover() { # DIR
	local f
	[ -d "$1/build" ] || return 0
	find "$1/build" -type f -printf '%P\n' | while read -r f; do umount -l "$build/$f"; done
}

# Print the first failure of a log, with its program.
first_failure() { # LOG
	awk '/^# begin / { p = $3 } /^not ok/ { sub(/^not ok [0-9]* */, ""); print p ": " $0; exit }' "$1"
}

verdict() { # DIR
	local failure splat
	splat=$(dmesg | splats | head -n 1)
	failure=$(first_failure "$1/log")
	if [ -n "$splat" ]; then
		echo "killed the kernel: $splat"
	elif [ -n "$failure" ]; then
		echo "killed $failure"
	else
		echo survived
	fi
}

# After these failures something is left behind for the next mutant.
is_clean() { # DIR
	! awk '
		/^# begin / { p = $3 }
		/^not ok/ && (p == "load" || p == "leaks" || / left processes / || / not done within /) { bad = 1 }
		END { exit !bad }' "$1/log" && no_splat
}

# Called after each program; the next does not run if it fails.
no_splat() { [ -z "$(dmesg | splats)" ]; }
export -f no_splat splats

one() { # MUTANT
	local dir=$run/$1 work programs shown stop=(--first-failure)
	work=$(mktemp -d) || exit 1
	[ "$1" != control ] || stop=()
	: >"$dir/begun"
	mapfile -t programs <"$dir/programs"
	dmesg -C
	cover "$dir"
	echo "# begin load" >"$dir/log"
	if load "$build/stripped"; then
		# Not a pipe to tee: a process that hangs keeps it open.
		tail -n 0 -f "$dir/log" & shown=$!
		"$tree/selftests/run_in_vm.sh" --after no_splat "${stop[@]}" "$tests" "$(cat "$dir/limit")" \
			"$work" "${programs[@]}" >>"$dir/log" 2>&1
		kill $shown
	else
		echo "not ok 1 the modules can be loaded" >>"$dir/log"
	fi
	# A process that hangs in the driver keeps rmmod from ending.
	if ! grep -q '^not ok.* left processes ' "$dir/log"; then
		echo "# begin load" >>"$dir/log"
		unload 2>>"$dir/log" || echo "not ok 1 the modules can be removed" >>"$dir/log"
	fi
	verdict "$dir" >"$dir/verdict.new"
	mv "$dir/verdict.new" "$dir/verdict"
	echo "# $1: $(cat "$dir/verdict")"
	uncover "$dir"
}

case $mode in
record) record "$@" ;;
test)
	for m in "$@"; do
		((SECONDS < 3600)) || break
		one "$m"
		is_clean "$run/$m" || break
	done ;;
esac
exit 0
