#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Copyright (c) The dat authors
#
# Load and unload a consumer of kDAPL repeatedly, each time with traffic in flight.
set -u

# shellcheck source=selftests/kdapl/ktest_lib.sh
. "$(dirname "$0")/ktest_lib.sh"
# Number of rounds for each of the two ways to unload.  On a slow machine, the time limit ends the
# test after fewer rounds.
rounds=25
[ ! -e /sys/kernel/debug/kmemleak ] || rounds=100
rounds=${KUNLOAD_ROUNDS:-$rounds}
least=10
reload=$(dirname "$0")/kunload/reload
seconds=${KUNLOAD_SECONDS:-240}
done=0

# Unload while upcalls run, messages are in flight, and peers write to memory of the module.
goes() { # HOW
	mark "goes $1"
	done=$("$reload" "$module" dat_ktest "device=$dev leave=$1" "$rounds" $least "$seconds") || return 1
	echo "# $done rounds"
	! since_mark | grep -q 'upcalls after the close'
}

left_open() {
	goes 1 && [ "$(since_mark | grep -c 'dat: module dat_ktest has left an IA open')" = "$done" ]
}

closed() {
	goes 2 && ! since_mark | grep -q 'has left an IA open'
}

echo "TAP version 13"
echo "1..2"
left_open
result "kunload.what a module leaves open is closed, while upcalls run"
closed
result "kunload.a module closes what its upcalls are using"
exit $failed
