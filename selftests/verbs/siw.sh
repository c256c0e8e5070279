#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Copyright (c) The dat authors
#
# siw.sh [PROGRAM]: run a test that behaves differently on iWARP.  The script replaces the soft RoCE
# adapter rxe0 by the soft iWARP adapter siw0 and restores rxe0 at the end.  Run the script only in
# the virtual machine, where nothing else uses rxe0.  rsm_data cannot run with this script: if a
# short RDMA read crosses the end of a page, siw of Linux 6.1 sends the bytes after the end of the
# page from a wrong address.
dir=$(cd "$(dirname "$0")" && pwd)
export LD_LIBRARY_PATH=$dir/../ulib

skip() {
	echo "TAP version 13"
	echo "1..0 # SKIP $*"
	exit 4
}

[ -n "${DAT_VM:-}" ] || skip "not in the virtual machine"
rdma link show rxe0/1 >/dev/null 2>&1 || skip "no rxe0 here that could be replaced"
modprobe siw 2>/dev/null || [ -d /sys/module/siw ] || skip "this kernel has no siw"

# shellcheck disable=SC2317 # called by the trap
back() {
	"$dir/../ulib/rsm-nodes" trust-network off
	rdma link delete siw0
	rdma link add rxe0 type rxe netdev v0
	sleep 1
}
rdma link delete rxe0 || skip "rxe0 can't be taken away"
trap back EXIT
rdma link add siw0 type siw netdev v0 || skip "siw takes no v0"
sleep 1
# siw cannot deny a peer access, so RSM exports on siw0 only in a trusted network.
"$dir/../ulib/rsm-nodes" trust-network on
# RSM gives siw0 a controller number of its own, so look up the name of the controller.
RSM_CTLR=$("$dir/../ulib/rsm-nodes" status | grep -o 'rdma[0-9]*' | head -n 1)
export RSM_CTLR
DAT_ADAPTER=siw0 "$dir/${1:-order}"
