#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Copyright (c) The dat authors
#
# An adapter is visible only in the network namespace of its interface.
bin=$(cd "$(dirname "$0")/../ulib" && pwd)
export LD_LIBRARY_PATH=$bin

echo "TAP version 13"
if ! ip netns add dat-test 2>/dev/null; then
	echo "1..0 # SKIP this machine makes no network namespaces"
	exit 4
fi
trap 'ip netns del dat-test' EXIT
echo "1..4"

result() { # N NAME: report the exit status of the previous command
	if [ $? = 0 ]; then echo "ok $1 $2"; else echo "not ok $1 $2"; fi
}

adapter=$("$bin/dat-info" | awk 'NR == 2 { print $1 }')
[ -n "$adapter" ]
result 1 "netns.the adapter is listed at home"
! ip netns exec dat-test "$bin/dat-info" 2>/dev/null | grep -q "^$adapter "
result 2 "netns.it is not listed in another namespace"
! ip netns exec dat-test "$bin/dat-info" "$adapter" >/dev/null 2>&1
result 3 "netns.nor can it be opened there"
! ip netns exec dat-test "$bin/dat-info" --prometheus - 2>/dev/null | grep -q '^[^#]'
result 4 "netns.nor are its counters shown there"
