# SPDX-License-Identifier: GPL-2.0-only
# Copyright (c) The dat authors
# shellcheck shell=bash
#
# Functions of ktest.sh and kunload.sh, which run the tests of dat_ktest.ko.  The tests report to
# the kernel's log.

# This script runs from build/selftests/.
module=$(dirname "$0")/../kmod-$(uname -r)/ktest/dat_ktest.ko
if [ ! -r "$module" ]; then
	echo "1..0 # SKIP no $module (make ktest)"
	exit 4
fi
n=0 failed=0 marks=0
# The adapter that DAT_ADAPTER names, or that of the virtual machine, never one of the host.
dev=rxe0
[ -e /sys/class/infiniband/rxe0 ] || dev=siw0
# shellcheck disable=SC2034 # used by the including scripts
dev=${DAT_ADAPTER:-$dev}

# Write a mark to the kernel's log.  since_mark prints the log after the mark, without the times.
mark() {
	marks=$((marks + 1))
	mark="${0##*/} $$ $marks: $1"
	echo "$mark" >/dev/kmsg
}

since_mark() {
	dmesg | sed 's/^\[ *[0-9.]*\] //' | awk -v mark="$mark" 'seen { print } $0 == mark { seen = 1 }'
}

result() { # NAME: of the command before
	local rc=$? status=ok
	n=$((n + 1))
	if ((rc != 0)); then
		# shellcheck disable=SC2034 # exit status of the including script
		status="not ok" failed=1
		since_mark | grep '^#' | tail -n 20
	fi
	echo "$status $n $1"
}
