# SPDX-License-Identifier: GPL-2.0-only
# Copyright (c) The dat authors
# shellcheck shell=bash
# shellcheck disable=SC2034 # the scripts that source this file use the variables
#
# The address that the scripts connect to, which is one of this machine; to be sourced.

# find_host TOOLS: set $adapter and $host to the adapter of the tests and its address: the one that
# DAT_ADAPTER names, or the first active adapter of dat-info.  All programs that the script starts use
# it.  End the script if there is none.
find_host() {
	local list
	list=$("$1/dat-info" 2>&1)
	read -r adapter host < <(awk -v name="${DAT_ADAPTER:-}" '
		$2 == "active" && (name == "" || $1 == name) { print $1, $3; exit }' <<<"$list")
	if [ -n "$host" ]; then
		export DAT_ADAPTER=$adapter
		return 0
	fi
	printf '# %s\n' "${list//$'\n'/$'\n'# }"
	echo "Bail out! There is no active adapter with an address; see dat-info --check"
	exit 1
}
