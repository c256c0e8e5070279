#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Copyright (c) The dat authors
#
# rsm-nodes: syntax of the file of nodes, messages, and exit status.  Runs in a network
# namespace, which has nodes of its own.
bin=$(cd "$(dirname "$0")/../ulib" && pwd)
export LD_LIBRARY_PATH=$bin
# shellcheck source=selftests/common/wait.sh
. "$(dirname "$0")/wait.sh"
# shellcheck source=selftests/common/trace.sh
. "$(dirname "$0")/trace.sh"
n=0

if [ "${1:-}" != inside ]; then
	echo "TAP version 13"
	# The mount namespace makes mounts end with the process.
	unshare -nm true 2>/dev/null && exec unshare -nm "$0" inside
	echo "1..0 # SKIP this machine makes no namespaces"
	exit 4
fi
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT

# result NAME: report the exit status of the previous command.
result() {
	local rc=$? status=ok
	n=$((n + 1))
	if [ $rc != 0 ]; then
		status="not ok"
		trace_show
		sed 's/^/# out: /' "$tmp/out"
		sed 's/^/# err: /' "$tmp/err"
	fi
	trace_clear
	echo "$status $n rsm_nodes.$1"
}

# The time limit of this script ends a program that hangs.
nodes() { "$bin/rsm-nodes" "$@" >"$tmp/out" 2>"$tmp/err"; }

# Compare the output without the comments about the key.
shown() { # TEXT
	local line text=
	nodes show || return 1
	while IFS= read -r line; do
		[[ $line == '#'* ]] || text+=${text:+$'\n'}$line
	done <"$tmp/out"
	[ "$text" = "$1" ]
}

says() { has "$tmp/err" "$1"; }
prints() { has "$tmp/out" "$1"; }

# refused LINE-NUMBER TEXT: the file is not loaded, and the message names the line.
refused() {
	local rc=0
	printf '%b' "$2" >"$tmp/file"
	nodes load "$tmp/file" || rc=$?
	[ $rc = 1 ] && says "^rsm-nodes: $tmp/file:$1: " && return
	echo "# '$2' ended with $rc"
	return 1
}

shown "local 0"
result "a namespace begins as node 0, without others"

before=$'local 3\nnode 1 rdma0 10.1.0.1\nnode 2 rdma1 fd00::2'
cat >"$tmp/file" <<-END
	# where they are
	local 3

	  node 1	rdma0 10.1.0.1	# the first
	node 2 RDMA1 fd00::2
END
nodes load "$tmp/file" && [ ! -s "$tmp/out" ] && [ ! -s "$tmp/err" ] && shown "$before"
result "a file is loaded, and is shown as it was"

nodes load - <<<"node 4 rdma0 10.1.0.4" && shown $'local 3\nnode 4 rdma0 10.1.0.4'
result "what was loaded before is gone, but the own id stays"

nodes show && cp "$tmp/out" "$tmp/shown" && nodes clear && shown "local 3" &&
	nodes load "$tmp/shown" && nodes show && cmp "$tmp/out" "$tmp/shown"
result "what is shown can be loaded"

printf '%s\n' "$before" >"$tmp/good"
nodes load "$tmp/good"
refused 1 'node 65 rdma0 10.1.0.1\n' && refused 1 'node -1 rdma0 10.1.0.1\n' &&
	refused 1 'node x rdma0 10.1.0.1\n' && refused 2 '\nlocal 65\n' &&
	refused 2 'local 1\nlocal 2\n' && refused 1 'node 1 rdma 10.1.0.1\n' &&
	refused 1 'node 1 loopback 10.1.0.1\n' && refused 1 'node 1 rdma0x 10.1.0.1\n' && refused 1 'node 1 rdma0x1 10.1.0.1\n' &&
	refused 1 'node 1 rdma0 10.1.0\n' && refused 1 'node 1 rdma0 host.example\n' &&
	refused 1 'node 1 rdma0\n' && refused 1 'node 1 rdma0 10.1.0.1 10.1.0.2\n' &&
	refused 1 'local\n' && refused 1 'nodes 1 rdma0 10.1.0.1' &&
	refused 1 'node 1 rdma0 10.1.0.1\0\n' && refused 2 '\nlocal 1\0 2\n' &&
	refused 3 'node 1 rdma0 10.1.0.1\n# again\nnode 1 rdma0 10.1.0.2\n' && shown "$before"
result "a bad line is named, and nothing is changed"

! nodes load - <<<"node 1 rdma63 10.1.0.1" && says "beyond rdma62" &&
	! nodes load - <<<"node 1 rdma0 224.0.0.1" && [ -s "$tmp/err" ] && shown "$before"
result "what the driver does not want is told"

! nodes load "$tmp/none" && says "$tmp/none: No such file"
result "a file that is not there is told"

nodes load - <<<"local 5" && shown "local 5"
result "a file without nodes leaves none"

nodes status && [ "$(<"$tmp/out")" = "local 5" ] && says "loopback is the only"
result "without adapters there are no links"

key=$tmp/cluster.key
nodes keygen "$key" && [ "$(stat -c %a "$key")" = 600 ] && has "$key" '^[0-9a-f]{64}$'
result "keygen makes a key that only its owner can read"

cp "$key" "$tmp/key.before"
! nodes keygen "$key" && says --force && cmp "$key" "$tmp/key.before" &&
	nodes keygen --force "$key" && ! cmp -s "$key" "$tmp/key.before" &&
	[ "$(stat -c %a "$key")" = 600 ]
result "keygen replaces a key only by force"

# keygen_refuses FILE: with and without --force, FILE is refused with status 2 and stays what it is.
keygen_refuses() {
	local before force rc
	before=$(stat -c '%F %i' "$1")
	for force in '' --force; do
		rc=0
		nodes keygen ${force:+"$force"} "$1" || rc=$?
		[ $rc = 2 ] && says "keygen cannot write '$1': this is no .*; see rsm-nodes --help" &&
			[ "$(stat -c '%F %i' "$1")" = "$before" ] || return 1
	done
}

mkfifo "$tmp/fifo"
ln -s cluster.key "$tmp/link"
keygen_refuses "$tmp/fifo" && keygen_refuses "$tmp/link" && keygen_refuses /dev/null &&
	keygen_refuses "$tmp/"
result "keygen replaces nothing but a regular file"

# no_room FILE [--force]: writing the key fails with a message and leaves no file behind.
no_room() {
	local rc=0
	nodes keygen ${2:+"$2"} "$full/$1" || rc=$?
	[ $rc = 1 ] && says "^rsm-nodes: $full/$1: No space" &&
		[ "$(ls -A "$full")" = old ] && cmp "$full/old" "$tmp/key.before"
}

# A file system of one page, which the first key fills.
full=$tmp/full
mkdir "$full" && mount -t tmpfs -o size=4k none "$full" && cp "$tmp/key.before" "$full/old" &&
	no_room new && no_room new --force && no_room old --force && umount "$full" &&
	nodes keygen "$full/new" && [ "$(ls -A "$full")" = new ] &&
	nodes keygen --force "$full/new" && [ "$(ls -A "$full")" = new ]
result "keygen leaves nothing else behind, even if there is no room"

nodes show && prints '^# no cluster key' && nodes key "$key" && nodes show &&
	prints '^# cluster key set' && nodes load "$tmp/out" && nodes key --forget &&
	nodes show && prints '^# no cluster key' && nodes key - <"$key"
result "a key is loaded and forgotten, and show tells"

chmod 640 "$key"
! nodes key "$key" && says "others than its owner" && chmod 600 "$key" &&
	! nodes key - <<<"0123" && ! nodes key - <<<"$(tr 0-9a-f g <"$key")" &&
	! nodes key "$tmp/none" && says "rsm-nodes keygen"
result "what is no key, or is not secret, is refused"

# Bytes, in octal, that are no hexadecimal digits.  Each is the ASCII neighbour of a digit, or
# differs from a digit in one bit: 021 is '1' with one bit cleared.
read -r digits <"$key"
: >"$tmp/key.bad"
chmod 600 "$tmp/key.bad"
for c in 001 021 057 072 100 107 140 147; do
	printf '%b%s\n' "\\0$c" "${digits:1}" >"$tmp/key.bad"
	if nodes key "$tmp/key.bad" || ! says "something else than hexadecimal"; then
		break
	fi
	c=
done
[ -z "$c" ] && tr a-f A-F <"$key" >"$tmp/key.upper" && nodes key - <"$tmp/key.upper"
result "a byte that is no digit is refused"

cp "$key" "$tmp/key.other" && chown 65534 "$tmp/key.other" &&
	! nodes key "$tmp/key.other" && says "belongs to user 65534.*chown" &&
	chown 0 "$tmp/key.other" && nodes key "$tmp/key.other"
result "a key of another owner is refused"

nodes trust-network on && nodes show && prints '^# trust-network on' &&
	nodes trust-network off && nodes show && prints '^# cluster key set'
result "trust in the network is shown"

setpriv --reuid 65534 --regid 65534 --clear-groups true 2>/dev/null &&
	chmod 666 /dev/rsm && ! timeout 60 setpriv --reuid 65534 --regid 65534 --clear-groups \
	"$bin/rsm-nodes" trust-network on >"$tmp/out" 2>"$tmp/err" &&
	says CAP_SYS_ADMIN
result "trust takes an administrator"

nodes trust-network on && nodes key "$key" && nodes load - <<-'END' &&
	local 7
	node 1 rdma0 10.1.0.1
	node 2 rdma1 fe80::2%lo
	END
	nodes show --json && [ "$(<"$tmp/out")" = '{"local":7,"cluster_key":true,"trust_network":true,"nodes":[{"node":1,"controller":"rdma0","address":"10.1.0.1"},{"node":2,"controller":"rdma1","address":"fe80::2%lo"}]}' ] &&
	nodes clear && nodes trust-network off && nodes -j show &&
	[ "$(<"$tmp/out")" = '{"local":7,"cluster_key":true,"trust_network":false,"nodes":[]}' ] &&
	nodes key --forget && nodes show --json &&
	[ "$(<"$tmp/out")" = '{"local":7,"cluster_key":false,"trust_network":false,"nodes":[]}' ]
result "show prints JSON"

nodes status --json && [ "$(<"$tmp/out")" = '{"local":7,"controllers":[]}' ] && [ ! -s "$tmp/err" ]
result "status prints JSON"

# wrong TEXT ARGUMENT...: the message is one line with TEXT and a hint, and nothing is done.
wrong() {
	local text=$1 rc=0 lines
	shift
	nodes "$@" || rc=$?
	mapfile -t lines <"$tmp/err"
	[ $rc = 2 ] && [ ! -s "$tmp/out" ] && [ ${#lines[@]} = 1 ] &&
		[[ ${lines[0]} == "rsm-nodes: "*"$text"*"; see rsm-nodes --help" ]] && return
	echo "# '$*' ended with $rc"
	return 1
}

wrong "a command is missing" && wrong "no command 'frobnicate'" frobnicate &&
	wrong "no use for 'more'" show more && wrong "no option --nonsense" show --nonsense &&
	wrong "no option -x" -jx show && wrong "ambiguous" --for key &&
	wrong "takes no argument" show --json=yes && wrong "is for show and status" load --json &&
	wrong "is for keygen" --force show && wrong "is for key" keygen --forget &&
	wrong "takes no FILE" key --forget "$key" && wrong "on or off" trust-network &&
	wrong "on or off" trust-network maybe && shown "local 7"
result "wrong usage ends with 2 and a hint, and nothing is done"

nodes --help && prints "^usage: rsm-nodes show" && nodes --version &&
	prints "^rsm-nodes [0-9]+\.[0-9]+\.[0-9]+$" && ! "$bin/rsm-nodes" --version >/dev/full 2>"$tmp/err" &&
	says "cannot write"
result "help and version are printed"

echo "1..$n"
