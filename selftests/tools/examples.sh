#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Copyright (c) The dat authors
#
# Run the programs of examples/ in two or more processes, and check their output and exit status.
bin=$(cd "$(dirname "$0")/../examples" && pwd)
# shellcheck source=selftests/common/host.sh
. "$(dirname "$0")/host.sh"
# shellcheck source=selftests/common/wait.sh
. "$(dirname "$0")/wait.sh"
# shellcheck source=selftests/common/trace.sh
. "$(dirname "$0")/trace.sh"
LD_LIBRARY_PATH=$(cd "$(dirname "$0")/../ulib" && pwd)
export LD_LIBRARY_PATH
find_host "$LD_LIBRARY_PATH"
tmp=$(mktemp -d) || exit 1
n=0
server=

cleanup() {
	exec 3>&-
	[ -z "$server" ] || kill "$server" 2>/dev/null
	rm -rf "$tmp"
}
trap cleanup EXIT

# result NAME FILE...: report the exit status of the previous command; show FILEs if it failed.
result() {
	local rc=$? name=$1 status=ok
	shift
	n=$((n + 1))
	if [ $rc != 0 ]; then
		status="not ok"
		trace_show
		for f in "$@"; do
			echo "# ${f##*/}:"
			sed 's/^/# /' "$f"
		done
	fi
	trace_clear
	echo "$status $n examples.$name"
}

# serve PROGRAM [OPTION]...: start PROGRAM in the background and set $server to its pid.  The input
# of PROGRAM is a pipe, which ends when this script closes descriptor 3.
serve() {
	[ -p "$tmp/input" ] || mkfifo "$tmp/input"
	exec 3<>"$tmp/input"
	: >"$tmp/server"
	timeout 80 "$bin/$1" "${@:2}" <"$tmp/input" >"$tmp/server" 2>&1 3>&- &
	server=$!
	seen "$tmp/server" 'listening at'
}

# served: wait for the exit of the server; succeed if the exit status is 0.
served() {
	local rc
	wait "$server"
	rc=$?
	server=
	[ $rc = 0 ] || echo "exit status $rc" >>"$tmp/server"
	return $rc
}

ask() { # PROGRAM FILE [ARG]...
	local rc
	timeout 60 "$bin/$1" "${@:3}" >"$tmp/$2" 2>&1 3>&-
	rc=$?
	[ $rc = 0 ] || echo "exit status $rc" >>"$tmp/$2"
	return $rc
}

# Five clients make the server allocate more than its initial buffers.
five_clients() {
	local i pids=() bad=0
	serve echo-srq --clients 5 || return 1
	for i in 1 2 3 4 5; do
		ask echo-srq client$i "$host" 300 3>&- &
		pids+=($!)
	done
	for i in "${pids[@]}"; do wait "$i" || bad=1; done
	((!bad)) && served && seen "$tmp/server" '^5 clients, 1500 messages$' &&
		seen "$tmp/server" '^16 buffers$' &&
		seen "$tmp/client5" '^300 messages came back as they were$'
}

# A server for each adapter: lo0 is the last of the list.  Both have the same port.
both_adapters() {
	local rc second other=lo0
	serve write-rmr || return 1
	seen "$tmp/server" "of $adapter\$" || return 1
	timeout 80 "$bin/write-rmr" -d "$other" >"$tmp/server2" 2>&1 3>&- &
	second=$!
	seen "$tmp/server2" "of $other\$" && ask write-rmr client1 "$host" &&
		ask write-rmr client2 -d "$other" localhost && served && wait "$second"
	rc=$?
	[ $rc = 0 ] || kill "$second" 2>/dev/null
	return $rc
}

# The first client is killed with messages in flight.  The server must serve the next client.
a_killed_client() {
	local victim
	serve echo-srq --clients 2 || return 1
	"$bin/echo-srq" "$host" 100000000 >"$tmp/client1" 2>&1 3>&- &
	victim=$!
	pause 1
	kill -9 "$victim"
	wait "$victim" 2>/dev/null
	ask echo-srq client2 "$host" 1000 && served && seen "$tmp/server" '^2 clients, '
}

nobody_listens() {
	! ask echo-srq client1 "$host" 1 && seen "$tmp/client1" 'echo-srq: nobody listens there' &&
		seen "$tmp/client1" '^exit status 1$'
}

window() {
	serve write-rmr || return 1
	ask write-rmr client1 "$host" && served &&
		seen "$tmp/client1" '^20000 bytes written, and refused after the unbind$' &&
		seen "$tmp/server" '^the client wrote 20000 bytes where it may$' &&
		seen "$tmp/server" '^nothing was written after the unbind$'
}

# The server sends a line to two clients, and each client sends a line to the server.
conversation() {
	local one two rc
	serve epoll-loop --idle 60 || return 1
	mkfifo "$tmp/in1" "$tmp/in2"
	ask epoll-loop client1 --idle 60 "$host" <"$tmp/in1" 3>&- &
	one=$!
	ask epoll-loop client2 --idle 60 "$host" <"$tmp/in2" 3>&- &
	two=$!
	exec 5>"$tmp/in1" 6>"$tmp/in2"
	seen "$tmp/server" 'is here' 2 || return 1
	echo "to all" >&3
	echo "from one" >&5
	echo "from two" >&6
	seen "$tmp/client1" '^\[1\] to all$' && seen "$tmp/client2" '^\[1\] to all$' &&
		seen "$tmp/server" '^\[[12]\] from one$' && seen "$tmp/server" '^\[[12]\] from two$' ||
		return 1
	# The first client exits when its input ends, the second when the server disconnects.
	exec 5>&-
	wait "$one" && seen "$tmp/server" 'is gone' || return 1
	exec 3>&-
	served && wait "$two" && seen "$tmp/client2" 'is gone'
	rc=$?
	exec 6>&-
	return $rc
}

# The client gets more input than its buffers hold.  The server must get every line.
much_input() {
	local i
	serve epoll-loop --idle 60 || return 1
	seq 20000 | ask epoll-loop client1 --idle 60 "$host" || return 1
	# Too long for seen().
	for ((i = 0; i < 200; i++)); do
		! grep -q 'is gone' "$tmp/server" || break
		pause 0.1
	done
	((i < 200)) || return 1
	exec 3>&-
	served && sed 's/\[1\] //g' "$tmp/server" | grep -v -e ' at port ' -e '^is ' |
		cmp - <(seq 20000)
}

idle() {
	! ask epoll-loop client1 --idle 1 < <(pause 15) &&
		seen "$tmp/client1" 'nothing happened for 1 s'
}

# The programs of Documentation/tutorial.rst.
board() {
	local rc
	serve board-server "$adapter" || return 1
	ask board-client client1 "$adapter" "$host" Ada &&
		seen "$tmp/client1" '^Welcome, Ada. You are visitor 1.$' &&
		ask board-client client2 "$adapter" "$host" Grace &&
		seen "$tmp/client2" '^Welcome, Grace. You are visitor 2.$' &&
		seen "$tmp/server" '^Welcome, Grace. You are visitor 2.$'
	rc=$?
	kill "$server"
	wait "$server" 2>/dev/null
	server=
	# The receive is flushed first, and is not what has failed.
	! ask board-client client3 "$adapter" "$host" Mary && seen "$tmp/client3" '^event 0x4003 instead' &&
		return $rc
}

usage() {
	local p rc out
	for p in board-server board-client; do
		"$bin/$p" 2>"$tmp/client1"
		rc=$?
		[ $rc = 2 ] && seen "$tmp/client1" "^usage: $p " || return 1
	done
	for p in echo-srq write-rmr epoll-loop; do
		out=$("$bin/$p" --help)
		[[ $'\n'$out == *$'\n'"usage: $p "* ]] || return 1
		"$bin/$p" --nonsense 2>/dev/null
		rc=$?
		[ $rc = 2 ] || return 1
	done
}

echo "TAP version 13"
echo "1..10"
touch "$tmp"/{server,client{1,2,3,4,5}}
usage
result "--help helps, and wrong usage is told apart"
nobody_listens
result "echo-srq: a client without a server says so" "$tmp/client1"
five_clients
result "echo-srq: five clients at once get back what they sent" "$tmp"/server "$tmp"/client*
a_killed_client
result "echo-srq: a client that is killed does not hurt the next" "$tmp"/server "$tmp"/client[12]
window
result "write-rmr: the window opens and closes" "$tmp/server" "$tmp/client1"
if [ "$adapter" != lo0 ] && "$LD_LIBRARY_PATH/dat-info" --list | grep -qx lo0; then
	both_adapters
	result "write-rmr: a server for each adapter" "$tmp"/server{,2} "$tmp"/client[12]
else
	n=$((n + 1))
	echo "ok $n examples.write-rmr: a server for each adapter # SKIP no second adapter"
fi
conversation
result "epoll-loop: a server and two clients talk" "$tmp"/server "$tmp"/client[12]
much_input
result "epoll-loop: much input arrives as it was" "$tmp/client1"
idle
result "epoll-loop: the timer ends it when nothing happens" "$tmp/client1"
board
result "board: two clients of the tutorial read the board, a third finds no server" "$tmp"/server "$tmp"/client[123]
