# SPDX-License-Identifier: GPL-2.0-only
# Copyright (c) The dat authors
# shellcheck shell=bash
#
# Start the script that sources this file again, in a mount namespace in which the kernel shows no
# symbols.  Each program reads them twice while libfabric starts, and in an emulated machine that
# takes longer than the test of the program.
if [ -z "${DAT_NO_KALLSYMS:-}" ] && unshare -m true 2>/dev/null; then
	# shellcheck disable=SC2016 # sh is to expand it
	DAT_NO_KALLSYMS=1 exec unshare -m sh -c 'mount --bind /dev/null /proc/kallsyms; exec "$@"' sh "$BASH" "$0" "$@"
fi
