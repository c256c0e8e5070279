# SPDX-License-Identifier: GPL-2.0-only
# Copyright (c) The dat authors
# shellcheck shell=bash
#
# Functions that wait, for the scripts.  They start no process: under emulation, that takes up to
# half a second.  They are not traced; see trace.sh.

# Nothing is ever written to this pipe.
exec {quiet}<> <(:)

pause() { # SECONDS
	local -
	set +x
	read -rt "$1" -u "$quiet" _
	return 0
}

# has FILE TEXT [COUNT]: succeed if FILE has COUNT lines (default 1) that match the extended regular
# expression TEXT.  FILE should be short.
has() {
	local - line lines=() left=${3:-1}
	set +x
	[ -r "$1" ] || return 1
	mapfile -t lines <"$1"
	for line in "${lines[@]}"; do
		[[ ! $line =~ $2 ]] || ((--left)) || return 0
	done
	return 1
}

# seen FILE TEXT [COUNT]: wait up to 20 s until FILE has these lines.
seen() {
	local - i
	set +x
	for ((i = 0; i < 200; i++)); do
		! has "$@" || return 0
		pause 0.1
	done
	return 1
}

# empty DIRECTORY
empty() {
	local - f
	set +x
	for f in "$1"/* "$1"/.[!.]* "$1"/..?*; do
		[ ! -e "$f" ] && [ ! -L "$f" ] || return 1
	done
	return 0
}
