#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Copyright (c) The dat authors
#
# Open MPI, unmodified, over the provider dat of libfabric: all collective operations, each with a
# known result.  Shared memory is switched off, so that all bytes go through libfabric.
here=$(cd "$(dirname "$0")" && pwd)
bin=$here/../ulib
export LD_LIBRARY_PATH=$bin FI_PROVIDER_PATH=$bin
# shellcheck source=selftests/common/host.sh
. "$here/host.sh"
limit=240	# seconds for a program; only one that hangs reaches it

if [ ! -x "$here/mpi/mpi_coll" ] || ! command -v mpiexec.openmpi >/dev/null; then
	echo "1..0 # SKIP openmpi-bin and libopenmpi-dev are not installed"
	exit 4
fi
find_host "$bin"
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

mpi() { # PROCESSES PROGRAM ARG...
	timeout "$limit" mpiexec.openmpi --allow-run-as-root --oversubscribe -n "$1" \
		--mca plm isolated --mca pml cm --mca mtl ofi --mca btl self \
		--mca mtl_ofi_provider_include 'dat;ofi_rxm' "${@:2}" >"$tmp/out" 2>&1
}

# Succeed if the messages of the operations are requests of the adapter.
collectives() { # PROCESSES
	local before
	before=$(requests)
	mpi "$1" "$here/mpi/mpi_coll" || return 1
	echo "$(($(requests) - before)) requests" >>"$tmp/out"
	[ "$(requests)" -ge $((before + 500)) ]
}

echo "TAP version 13"
collectives 2
result "all collectives of 2 processes"
collectives 4
result "all collectives of 4 processes"
echo "1..$n"
