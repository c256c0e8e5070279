# SPDX-License-Identifier: GPL-2.0-only
# Copyright (c) The dat authors
# shellcheck shell=bash
# shellcheck disable=SC2034 # the scripts that source this file use the variables
#
# The address that the scripts connect to, which is one of this machine; to be sourced.

# find_host TOOLS: set $adapter and $host to the first active adapter of dat-info and its address.  End
# the script if there is none: a loopback address is not one of DAT.
find_host() {
	local list
	list=$("$1/dat-info" 2>&1)
	read -r adapter host < <(awk '$2 == "active" { print $1, $3; exit }' <<<"$list")
	[ -z "$host" ] || return 0
	printf '# %s\n' "${list//$'\n'/$'\n'# }"
	echo "Bail out! There is no active adapter with an address; see dat-info --check"
	exit 1
}
