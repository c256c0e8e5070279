#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# siw.sh [PROGRAM]: run a test that differs on iWARP with soft iWARP in place of soft RoCE.  Run
# it in the virtual machine, where nothing else uses rxe0 on v0.  rsm_data cannot run here: the
# bytes that a short read finds behind the end of a page are sent by siw 6.1 from a wrong place.
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
	rdma link delete siw0
	rdma link add rxe0 type rxe netdev v0
	sleep 1
}
rdma link delete rxe0 || skip "rxe0 can't be taken away"
trap back EXIT
rdma link add siw0 type siw netdev v0 || skip "siw takes no v0"
sleep 1
# For RSM it is another adapter, with another number.
RSM_CTLR=$("$dir/../ulib/rsm-nodes" status | grep -o 'rdma[0-9]*' | head -n 1)
export RSM_CTLR
"$dir/${1:-order}"
