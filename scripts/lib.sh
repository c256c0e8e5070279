# SPDX-License-Identifier: GPL-2.0-only
# Copyright (c) The dat authors
# shellcheck shell=bash
# Functions shared by the scripts in this directory; to be sourced.

# Without symbolic links, as make names the folder that it works in.
DAT_TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
DAT_CACHE=${DAT_CACHE:-${XDG_CACHE_HOME:-${HOME:-~}/.cache}/dat}
export DAT_TOP DAT_CACHE

# depmod and modprobe are not on the path of an ordinary user.
PATH=$PATH:/usr/sbin:/sbin

say() { printf '%s\n' "$*" >&2; }

die() {
	say "${0##*/}: error: $*"
	exit 1
}

# The lock of a tree is file descriptor 200.  make takes low ones for its jobs, and passes them on.

# Print the processes that have the lock FILE open.
have_open() { # FILE
	local fd pid
	for fd in /proc/[0-9]*/fd/200; do
		pid=${fd#/proc/} pid=${pid%%/*}
		if [ "$fd" -ef "$1" ]; then echo "$pid"; fi
	done
}

tree_is_owned() { # LOCK
	local what='' pid='' since='' left
	IFS=$'\t' read -r what pid since <"$1" || :
	say "error: another run uses this tree, and the two would destroy each other's files:"
	say "  ${what:-unknown}, process ${pid:-unknown}, since ${since:-now}"
	if [ -n "$pid" ] && [ ! -e "/proc/$pid" ]; then
		exec 200>&-
		left=$(have_open "$1" | paste -sd' ')
		say "It has ended, but has left processes.  The tree is free when these end: $left"
		say "End them (kill $left), or work in a tree of its own: git worktree add FOLDER"
	else
		say "Wait for it, end it, or work in a tree of its own: git worktree add FOLDER"
	fi
}

# Open the lock.  A tree that cannot be written, but was built, can still be installed: a lock that can
# only be read serves as well.
open_lock() { # LOCK
	local why
	if why=$({ mkdir -p "${1%/*}" && : >>"$1"; } 2>&1); then
		exec 200>>"$1"
	elif [ -f "$1" ] && [ -r "$1" ]; then
		exec 200<"$1"
	else
		say "error: cannot write $1: ${why##*: }"
		return 1
	fi
}

# own_tree WHAT: keep other runs out of this tree while this process, or one that it starts, lives.  They
# would replace and remove each other's files in build/.  A process below the owner is part of its run.
own_tree() {
	local lock=$DAT_TOP/build/.lock
	[ "${DAT_OWNED:-}" != "$DAT_TOP" ] || return 0
	# Once more if somebody has removed the file meanwhile.
	until [ /proc/self/fd/200 -ef "$lock" ]; do
		open_lock "$lock" || return 1
		flock -n 200 || {
			tree_is_owned "$lock"
			return 1
		}
	done
	[ ! -w "$lock" ] || printf '%s\t%s\t%s\n' "$1" $$ "$(date +%H:%M:%S)" >"$lock"
	export DAT_OWNED=$DAT_TOP
}

# Print the progress of run_quietly, on a terminal in place of the progress before.
progress() { # [TEXT]
	if [ -t 2 ]; then
		printf '\r%s\033[K' "$*" >&2
	elif [ -n "$*" ]; then
		say "$*"
	fi
}

# run_quietly LOG WHAT CMD...: run CMD with its output in LOG.  Print progress for a command that
# takes more than 3 s, and the end of the log if it fails.
run_quietly() {
	local log=$1 what=$2 pid start=$SECONDS next=3
	shift 2
	"$@" >"$log" 2>&1 </dev/null &
	pid=$!
	# shellcheck disable=SC2064 # the current pid
	trap "kill $pid 2>/dev/null || :; trap - INT TERM; kill -INT \$\$" INT TERM
	while kill -0 "$pid" 2>/dev/null; do
		sleep 0.2
		if ((SECONDS - start >= next)); then
			progress "  ... $what: $((SECONDS - start)) s, $(wc -l <"$log") lines of log"
			next=$((next < 15 ? 15 : next + 15))
		fi
	done
	trap - INT TERM
	progress
	if ! wait "$pid"; then
		say "${0##*/}: $what failed; the end of $log:"
		tail -n 30 "$log" >&2
		return 1
	fi
}

count() { # LOG...: "N passed, N failed, N skipped"
	cat "$@" | tr -d '\r' | awk '
		/^ok .*# *SKIP/ { s++; next }
		/^ok / { p++ }
		/^not ok / { f++ }
		END { printf "%d passed, %d failed, %d skipped\n", p, f, s }'
}

# Print unusual results, each with its program, and what explains a failure: lines of its test before
# and after it.
unusual_results() { # LOG...
	cat "$@" | tr -d '\r' | awk '
		!/^#/ || /^# *(RUN|begin|end) / { explained = 0 }
		explained && explained-- { print }
		/^# *RUN / || !/^#/ && !/^not ok / { n = 0 }
		/^#/ && !/^# *RUN / { before[n++] = $0 }
		/^# begin / { program = $3 "/" }
		/^# end / { program = "" }
		/^ok .*# *SKIP/ { sub(/^ok [0-9]* */, "skipped: " program); print }
		/^not ok / { sub(/^not ok [0-9]* */, "FAILED: " program); print
			for (i = n > 20 ? n - 20 : 0; i < n; i++)
				print before[i]
			n = 0
			explained = 60
		}'
}

as_root() {
	if [ "$(id -u)" = 0 ]; then
		"$@"
	elif command -v sudo >/dev/null; then
		sudo "$@"
	else
		die "installing packages needs root: run as root or install sudo"
	fi
}

# apt_fetching COMMAND ARG...: run apt-get on the host's packages, with new lists.  A package may start a
# daemon, which must not own this tree (200).
apt_fetching() {
	as_root apt-get -q update &&
		as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y --no-install-recommends "$@" 200>&-
}

# Print the number of this release of Debian; nothing on another distribution.
debian_release() {
	[ -r /etc/os-release ] || return 0
	# shellcheck source=/dev/null
	(. /etc/os-release && if [ "${ID:-}" = debian ]; then echo "${VERSION_ID:-}"; fi)
}

# The kernel of this release of Debian: the stock kernel is that one, and the debug kernel is built
# from the same series.
case $(debian_release) in
12) DAT_SERIES=6.1 ;;
*) DAT_SERIES=6.12 ;;
esac

# Print the newest installed headers of that series, such as 6.1.0-56-amd64.
vm_headers_release() {
	local d best
	best=$(for d in "/usr/src/linux-headers-$DAT_SERIES."*-amd64; do
		if [ -e "$d/Module.symvers" ]; then echo "${d#/usr/src/linux-headers-}"; fi
	done | sort -V | tail -n 1)
	[ -n "$best" ] || return 1
	echo "$best"
}

# Kernel messages that report a bug.  Injected allocation failures and crashes of user programs
# are left out: tests cause them on purpose.
SPLATS=(
	'BUG: ' 'kernel BUG at ' 'WARNING: ' 'Oops' 'Kernel panic'
	'general protection fault[,:]' 'Unable to handle kernel' 'double fault'
	'stack-protector' 'KASAN:' 'UBSAN:' 'KFENCE:' 'ODEBUG:' 'refcount_t'
	'DEBUG_LOCKS_WARN' 'possible .* detected' 'possible irq lock inversion'
	'suspicious RCU' 'trying to register non-static key' 'turning off the locking'
	'sleeping function called' 'scheduling while atomic'
	'INFO: task .* blocked' 'rcu.* detected .*stall' 'rcu.*self-detected stall'
	'kmemleak: [0-9]+ new suspected' 'unregister_netdevice: waiting'
	'list_(add|del)( |.*)corruption' 'Bad page' 'Bad rss-counter' 'nobody cared'
	'Object(s)? remaining' 'leaked' 'Freepointer corrupt' 'hard LOCKUP'
)
# Boot messages about the emulated CPU that contain "WARNING".
ALLOWED=('(Spectre|RETBleed|MDS|MMIO|Register File|TAA).*WARNING')

# Print the lines of a kernel's log that report a bug, with their numbers.
splats() {
	local IFS='|'
	tr -d '\r' | grep -anE "${SPLATS[*]}" | grep -avE "${ALLOWED[*]}"
}
