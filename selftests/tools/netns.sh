#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Copyright (c) The dat authors
#
# A device is visible only in the network namespace of its interface.  The adapter within the host is
# in each namespace, and reaches the programs of that one.
here=$(cd "$(dirname "$0")" && pwd)
bin=$here/../ulib
export LD_LIBRARY_PATH=$bin
# shellcheck source=selftests/common/wait.sh
. "$here/wait.sh"

echo "TAP version 13"
if ! ip netns add dat-test 2>/dev/null; then
	echo "1..0 # SKIP this machine makes no network namespaces"
	exit 4
fi
log=$(mktemp) || exit 1
trap 'ip netns del dat-test; rm -f "$log"' EXIT
echo "1..6"
list=$("$bin/dat-info")
adapter=$(awk 'NR > 1 && !/ within this host / { print $1; exit }' <<<"$list")
lo=$(awk '/ within this host / { print $1 }' <<<"$list")

# result N NAME [ADAPTER]: report the exit status of the previous command, or a skip if ADAPTER is empty.
result() {
	local rc=$?
	if [ $# = 3 ] && [ -z "$3" ]; then
		echo "ok $1 $2 # SKIP there is no such adapter"
	elif [ $rc = 0 ]; then
		echo "ok $1 $2"
	else
		echo "not ok $1 $2"
	fi
}

elsewhere() { ip netns exec dat-test "$@"; }

# The loopback interface of the namespace is down.
not_reached() {
	local server rc
	"$bin/dat-perf" --keep --device "$lo" 2>"$log" &
	server=$!
	seen "$log" 'waiting at port' && "$bin/dat-perf" --iters 10 127.0.0.1 --device "$lo" >/dev/null &&
		! elsewhere "$bin/dat-perf" --iters 10 127.0.0.1 --device "$lo" >/dev/null 2>>"$log" &&
		has "$log" 'nobody listens there'
	rc=$?
	kill $server
	wait $server 2>/dev/null
	[ $rc = 0 ] || sed 's/^/# /' "$log"
	return $rc
}

[ -n "$adapter" ]
result 1 "netns.the adapter is listed at home" "$adapter"
! elsewhere "$bin/dat-info" 2>/dev/null | grep -q "^$adapter "
result 2 "netns.it is not listed in another namespace" "$adapter"
! elsewhere "$bin/dat-info" "$adapter" >/dev/null 2>&1
result 3 "netns.nor can it be opened there" "$adapter"
! elsewhere "$bin/dat-info" --prometheus - 2>/dev/null | grep '^[^#]' | grep -qv "adapter=\"$lo\""
result 4 "netns.nor are its counters shown there" "$adapter"
elsewhere "$bin/dat-info" 2>/dev/null | grep -q "^$lo  *active "
result 5 "netns.the adapter within the host is in each namespace" "$lo"
not_reached
result 6 "netns.it reaches no other namespace" "$lo"
