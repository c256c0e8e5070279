#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Copyright (c) The dat authors
#
# dat-perf and its peer: a server goes on after a client that was killed, is silent or violates the
# protocol; a client tries all addresses of a host name, and reports what a server did wrong.
# shellcheck disable=SC2119 # serve may be called without a command
# shellcheck source=selftests/tools/dat_perf_lib.sh
. "$(dirname "$0")/dat_perf_lib.sh"

# connected PID: wait up to 20 s until process PID has a connection.
connected() {
	local i f
	for ((i = 0; i < 200; i++)); do
		for f in /proc/"$1"/fdinfo/*; do
			! has "$f" ' state=CONNECTED ' || return 0
		done
		pause 0.1
	done
	return 1
}

# killed_in OPTION...: kill a client with these options during its test.  The server must serve the
# next client.
killed_in() {
	local p
	serve || return 1
	"$bin/dat-perf" --port $port --iters 10000000 "$@" "$host" >"$tmp/killed.log" 2>&1 &
	p=$!
	connected $p && pause 1 && kill -0 $p || return 1
	kill -9 $p
	wait $p 2>/dev/null
	seen "$tmp/server.log" 'giving up a client' && client "$host" && kill -0 "$server"
}

too_little_memory() {
	local mode
	mode=$(stat -c %a /dev/dat)
	chmod 666 /dev/dat
	serve setpriv --reuid=65534 --regid=65534 --clear-groups prlimit --memlock=524288
	chmod "$mode" /dev/dat
	! client --size 4194304 "$host" && seen "$tmp/server.log" 'cannot register' &&
		client "$host" && kill -0 "$server"
}

stopped_and_continued() {
	local p
	serve || return 1
	client --event --iters 2000 "$host" &
	p=$!
	for _ in 1 2 3 4 5; do
		pause 0.4
		kill -STOP "$server"
		pause 0.3
		kill -CONT "$server"
	done
	wait $p && kill -0 "$server"
}

# The first address of the name is an IPv6 address at which the adapter cannot be reached.
the_next_address() {
	local hosts first
	hosts=$(</etc/hosts)
	ip -6 addr add 2001:db8::1/128 dev lo || return 1
	printf '2001:db8::1 dat-two\n%s dat-two\n' "$host" >>/etc/hosts
	first=$(getent ahosts dat-two | awk '{ print $1; exit }')
	echo "first address: $first" >"$tmp/names.log"
	echo 1 >/proc/sys/net/ipv6/conf/v0/disable_ipv6
	serve && client dat-two
	local rc=$?
	echo 0 >/proc/sys/net/ipv6/conf/v0/disable_ipv6
	ip -6 addr del 2001:db8::1/128 dev lo
	printf '%s\n' "$hosts" >/etc/hosts
	[ $rc = 0 ] && [ "$first" = 2001:db8::1 ]
}

# Nobody has the first address of the name, which a client learns only from a connection event.
the_address_after_a_dead_one() {
	local hosts rc
	hosts=$(</etc/hosts)
	ip -6 addr add fd00:77::1/64 dev v0 || return 1
	printf 'fd00:77::99 dat-three\n%s dat-three\n' "$host" >>/etc/hosts
	serve && [ "$(getent ahosts dat-three | awk '{ print $1; exit }')" = fd00:77::99 ] && client dat-three
	rc=$?
	ip -6 addr del fd00:77::1/64 dev v0
	printf '%s\n' "$hosts" >/etc/hosts
	return $rc
}

# perf/perf-peer.c violates the protocol, and the server goes on.
wrong_clients() {
	serve || return 1
	timeout 100 "$peer" "$host" $port greeting >"$tmp/peer.log" 2>&1
	has "$tmp/peer.log" '^20 of 20 wrong greetings refused$' &&
		has "$tmp/peer.log" '^good greeting: established$' &&
		seen "$tmp/server.log" 'giving up a client' || return 1
	timeout 60 "$peer" "$host" $port header 65 16 >"$tmp/peer.log" 2>&1
	seen "$tmp/server.log" 'the client asks for 65 bytes after it said 64' || return 1
	timeout 60 "$peer" "$host" $port header 64 15 >"$tmp/peer.log" 2>&1
	seen "$tmp/server.log" 'the peer sent 15 bytes in place of a header' && client "$host"
}

# A client says what it knows of a refusal: that a program refused, or that none took the request.
refusals() {
	serve || return 1
	echo data >"$tmp/f"
	! timeout 60 "$bin/dat-cp" --port $port "$tmp/f" "$host:" >"$tmp/client.log" 2>&1 &&
		has "$tmp/client.log" 'rejected by the peer: a server is there and refused, which carries no reason' &&
		has "$tmp/server.log" "refusing a client that isn't dat-perf" || return 1
	stop_server
	! client "$host" && has "$tmp/client.log" 'rejected: nobody listens there, or its queue is full'
}

# Half a client does not hold the server, whatever other requests arrive.
half_a_client() {
	serve || return 1
	timeout 100 "$peer" "$host" $port hold 40 >"$tmp/peer.log" 2>&1
	has "$tmp/peer.log" '^the connection ended$' &&
		has "$tmp/server.log" 'a client went away after 1 of 2 connections' && client "$host"
}

# Nor does one that takes its time for each connection.
slow_client() {
	serve || return 1
	timeout 100 "$peer" "$host" $port slow 4 2500 >"$tmp/peer.log" 2>&1
	seen "$tmp/server.log" 'a client (went away after [1-3] of 4 connections|does not complete its connection)' && client "$host"
}

# An output without a reader is no reason for the server to end.
nobody_reads() {
	mkfifo "$tmp/closed"
	exec 4<>"$tmp/closed"
	port=$((port + 1))
	"$bin/dat-perf" --keep --port $port >/dev/null 2>"$tmp/closed" 4>&- &
	server=$!
	has_line 'waiting at port' <&4 && exec 4>&- || return 1
	timeout 60 "$peer" "$host" $port header 65 16 >"$tmp/peer.log" 2>&1
	has "$tmp/peer.log" '^after the header: ' && client "$host" && kill -0 "$server"
}

# has_line TEXT: wait up to 20 s for a line of the input with TEXT.
has_line() {
	local line
	while read -rt 20 line; do
		[[ $line != *"$1"* ]] || return 0
	done
	return 1
}

# The silence of a client that has only to go on ends after 10 s, that in a test of writes after the
# time that the test may take.  Each client has a server, which serves another client afterwards.
silent_clients() {
	local rc=0 i servers=() peers=() first=$((port + 1)) texts
	local modes=("silent greeting" "silent send" "silent write" "progress 0"
		"progress 18446744073709551615")
	texts=('a client has been silent for 10 s' 'a client has been silent for 10 s'
		'a client has been silent for 20 s' 'the client has received nothing for 10 s'
		'says that it received 18446744073709551615 of 0 messages')
	for i in "${!modes[@]}"; do
		port=$((first + i))
		"$bin/dat-perf" --keep --port $port >"$tmp/server$i.log" 2>&1 &
		servers+=($!)
		# shellcheck disable=SC2086
		seen "$tmp/server$i.log" 'waiting at port' &&
			{ timeout 100 "$peer" "$host" $port ${modes[i]} >"$tmp/peer$i.log" 2>&1 & } &&
			peers+=($!)
	done
	for i in "${peers[@]}"; do wait "$i"; done
	for i in "${!modes[@]}"; do
		port=$((first + i))
		if ! has "$tmp/server$i.log" "${texts[i]}" || ! has "$tmp/peer$i.log" 'disconnected|broken' ||
			! client "$host"; then
			echo "${modes[i]}" >>"$tmp/silent.log"
			rc=1
		fi
	done
	kill -9 "${servers[@]}"
	wait "${servers[@]}" 2>/dev/null
	return $rc
}

# wrong_server HOW TEXT: the client reports what the server did.
wrong_server() {
	port=$((port + 1))
	: >"$tmp/peer.log"
	timeout 60 "$peer" - $port serve "$1" >"$tmp/peer.log" 2>&1 &
	seen "$tmp/peer.log" listening &&
		! measure --bidirectional --test bw --iters 1 --size 64 &&
		has "$tmp/client.log" "$2" && wait $!
}

wrong_servers() {
	wrong_server size 'the server is ready for 65 bytes, not 64' &&
		wrong_server result 'the server sent a result that makes no sense' &&
		wrong_server short 'the server sent 8 bytes in place of a result'
}

# The peer sends a mark on the first connection, then a message on the second, and later the result.
a_late_message() {
	port=$((port + 1))
	timeout 60 "$peer" - $port serve late >"$tmp/peer.log" 2>&1 &
	seen "$tmp/peer.log" listening &&
		measure --bidirectional --test bw --iters 2 --eps 2 --size 64 --json &&
		has "$tmp/client.out" '"server":\{"n_iterations":7,' && wait $!
}

echo "TAP version 13"
echo "1..15"
killed_in --op send --test lat
result a_client_that_is_killed_in_a_ping_pong_does_not_end_the_server
killed_in --op send --test bw
result a_client_that_is_killed_while_it_sends_does_not_end_the_server
killed_in --op write --test lat
result a_client_that_is_killed_while_it_writes_does_not_end_the_server
too_little_memory
result a_client_that_asks_for_more_than_can_be_registered_does_not_end_the_server
stopped_and_continued
result a_server_that_is_stopped_and_continued_goes_on
the_next_address
result the_next_address_of_a_name_is_tried
the_address_after_a_dead_one
result the_next_address_is_tried_after_a_late_failure
wrong_clients
result a_client_that_violates_the_protocol_is_dropped
refusals
result a_client_says_what_it_knows_of_a_refusal
half_a_client
result half_a_client_does_not_hold_the_server
slow_client
result a_slow_client_does_not_hold_the_server
nobody_reads
result an_output_without_a_reader_does_not_end_the_server
silent_clients
result a_client_that_is_silent_is_given_up
wrong_servers
result a_server_that_violates_the_protocol_is_reported
a_late_message
result the_result_of_the_server_comes_after_all_of_its_messages
