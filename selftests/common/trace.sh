# SPDX-License-Identifier: GPL-2.0-only
# Copyright (c) The dat authors
# shellcheck shell=bash
#
# A test of several conditions says which one failed, what it wanted and what it got: bash writes each
# command with its values, such as "[ 49 = 50 ]", to a file without a name, and trace_show prints the
# last ones.  To be sourced; functions that only wait turn the trace off for themselves.

trace_name=$(mktemp) || exit 1
exec {trace_fd}>>"$trace_name"
rm "$trace_name"
trace_file=/proc/$$/fd/$trace_fd

# Print what was executed last, up to the command that reported a failure.
trace_show() {
	local - i lines=()
	set +x
	mapfile -t lines <"$trace_file"
	for ((i = ${#lines[@]} < 20 ? 0 : ${#lines[@]} - 20; i < ${#lines[@]}; i++)); do
		printf '# %.500s\n' "${lines[i]}"
	done
}

# Forget what was executed for the test that has ended.
trace_clear() {
	local -
	set +x
	: >"$trace_file"
}

PS4='+$LINENO '
BASH_XTRACEFD=$trace_fd
set -x
