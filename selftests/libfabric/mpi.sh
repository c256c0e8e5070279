#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Copyright (c) The dat authors
#
# Open MPI, unmodified, over the provider dat of libfabric: all collective operations, each with a
# known result; NetPIPE, which checks what arrives; and arrays of Python.  Shared memory is switched
# off, so that all bytes go through libfabric.  scripts/check-libfabric copies this as mpi_long.sh,
# which has more sizes and processes.
here=$(cd "$(dirname "$0")" && pwd)
largest=65536 runs=2 ranks=2
if [ "${0##*/}" = mpi_long.sh ]; then
	here=${here%/*}
	largest=4194304 runs=5 ranks="2 4"
fi
bin=$here/../ulib
export LD_LIBRARY_PATH=$bin FI_PROVIDER_PATH=$bin
# shellcheck source=selftests/libfabric/kallsyms.sh
. "$here/kallsyms.sh"
# shellcheck source=selftests/common/host.sh
. "$here/host.sh"
limit=280	# seconds for a program; only one that hangs reaches it

if [ ! -x "$here/mpi/mpi_coll" ] || ! command -v NPopenmpi >/dev/null ||
	[ ! -e /usr/lib/python3/dist-packages/mpi4py ]; then
	echo "1..0 # SKIP scripts/deps has not installed Open MPI and its programs"
	exit 4
fi
find_host "$bin"
export FI_DAT_ADAPTER=$adapter
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
n=0

# result NAME: report the exit status of the previous command.
result() {
	local rc=$? status=ok
	n=$((n + 1))
	if [ $rc != 0 ]; then
		status="not ok"
		tail -40 "$tmp/out" | sed 's/^/# /'
	fi
	echo "$status $n mpi.$1"
}

# Print how many requests the adapter has carried out.
requests() {
	exec 3</dev/dat
	sed -n "s/^adapter:\tname=$adapter .* requests=\([0-9]*\) .*/\1/p" /proc/self/fdinfo/3
	exec 3<&-
}

# More processes than processors: one that waits lets the others run.
mpi() { # PROCESSES PROGRAM ARG...
	timeout -k 5 "$limit" mpiexec.openmpi --allow-run-as-root --oversubscribe -n "$1" \
		--mca plm isolated --mca pml cm --mca mtl ofi --mca btl self \
		--mca mpi_yield_when_idle 1 --mca mtl_ofi_provider_include 'dat;ofi_rxm' "${@:2}" >"$tmp/out" 2>&1
}

# As mpi; succeed if at least LEAST messages of the program are requests of the adapter.
mpi_uses() { # LEAST PROCESSES PROGRAM ARG...
	local before
	before=$(requests)
	mpi "${@:2}" || return 1
	echo "$(($(requests) - before)) requests" >>"$tmp/out"
	[ "$(requests)" -ge $((before + $1)) ]
}

collectives() { mpi_uses 500 "$1" "$here/mpi/mpi_coll"; } # PROCESSES

# NetPIPE looks at each byte that arrives.  Its sizes are 2 or 3 times a power of two, and 1.  Its
# exit status is 0 also when a byte is wrong.
netpipe_checks() {
	mpi_uses 100 2 NPopenmpi -i -n "$runs" -u "$largest" -o "$tmp/np.out" &&
		! grep -q 'check failed' "$tmp/out" &&
		[ "$(grep -c 'Integrity check passed' "$tmp/out")" -ge 28 ] &&
		grep -q " $((largest * 3 / 4 + 1)) bytes .*Integrity check passed" "$tmp/out"
}

netpipe_measures() { # ARG...
	mpi_uses 100 2 NPopenmpi -n "$runs" -u "$largest" -o "$tmp/np.out" "$@" &&
		grep -qE " [0-9]{${#largest}} bytes .* Mbps in " "$tmp/out"
}

arrays() { # PROCESSES
	mpi_uses 100 "$1" /usr/bin/python3 "$here/mpi/mpi_arrays.py" &&
		grep -qx "mpi_arrays: $1 ranks have all their numbers" "$tmp/out"
}

echo "TAP version 13"
collectives 2
result "all collectives of 2 processes"
collectives 4
result "all collectives of 4 processes"
netpipe_checks
result "the bytes of NetPIPE are right up to $largest"
if [ "${0##*/}" = mpi_long.sh ]; then
	netpipe_measures
	result "NetPIPE with one message at a time"
	# Both send first, and the send of a message of more than 128 KiB ends only when the peer
	# receives it.
	netpipe_measures -2 -a
	result "NetPIPE with messages both ways"
	netpipe_measures -a
	result "NetPIPE with receives that are posted before"
fi
for count in $ranks; do
	arrays "$count"
	result "arrays of Python between $count processes"
done
echo "1..$n"
