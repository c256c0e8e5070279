#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Tests of kDAPL: they run when dat_ktest.ko is loaded, and report to the kernel's log.
set -u

module=$(dirname "${DAT_KO:-/nowhere/dat.ko}")/ktest/dat_ktest.ko
if [ ! -r "$module" ]; then
	echo "1..0 # SKIP no dat_ktest.ko beside dat.ko (make ktest)"
	exit 4
fi
read -r since _ </proc/uptime
insmod "$module" || { echo "not ok 1 insmod dat_ktest.ko"; exit 1; }
rmmod dat_ktest
# Since then, without the times.
log=$(dmesg | sed -n 's/^\[ *\([0-9.]*\)\] /\1 /p' |
	awk -v since="$since" '$1 >= since { sub(/^[^ ]* /, ""); print }' |
	grep -E '^(KTAP|1\.\.|ok|not ok|#)')
echo "$log"
! grep -q '^not ok' <<<"$log" && grep -q '^ok' <<<"$log"
