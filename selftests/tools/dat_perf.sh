#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Copyright (c) The dat authors
#
# dat-perf measures what its options say, reports it, and refuses options that make no sense.
# shellcheck disable=SC2119 # serve may be called without a command
# shellcheck source=selftests/tools/dat_perf_lib.sh
. "$(dirname "$0")/dat_perf_lib.sh"

# serve_one: start a dat-perf server for one client.
serve_one() {
	port=$((port + 1))
	"$bin/dat-perf" --port $port >"$tmp/server.log" 2>&1 &
	server=$!
	seen "$tmp/server.log" 'waiting at port'
}

# refused TEXT OPTION...: succeed if a client refuses these options with status 2 and one line that
# contains TEXT and where to read more.
refused() {
	local text=$1 rc lines
	shift
	timeout 60 "$bin/dat-perf" "$@" >"$tmp/refused.out" 2>"$tmp/refused.log"
	rc=$?
	mapfile -t lines <"$tmp/refused.log"
	[ $rc = 2 ] && [ ! -s "$tmp/refused.out" ] && [ ${#lines[@]} = 1 ] &&
		has "$tmp/refused.log" "$text" &&
		has "$tmp/refused.log" '; see dat-perf --help$' && return
	echo "dat-perf $*: status $rc, wanted: $text" >>"$tmp/refused.log"
	return 1
}

# column N: print the column of the rows of client.out.
column() { awk -v n="$1" '$1 ~ /^[0-9]+$/ { printf "%s%s", sep, $n; sep = " " }' "$tmp/client.out"; }

sizes_in_the_given_order() {
	serve || return 1
	measure --iters 4 --size 64,1M,4k,64 && [ "$(column 1)" = "64 1048576 4096 64" ] || return 1
	# Numbers are decimal, or hexadecimal after 0x, and never octal.
	measure --iters 0x14 --size 010 && [ "$(column 1) $(column 2)" = "10 20" ] || return 1
	for op in send write read; do
		measure --iters 20 --op $op --test bw --eps 2 --size 1,65536 &&
			[ "$(column 1)" = "1 65536" ] || return 1
	done
}

# The server without --keep serves one client, so the client has one set of connections.
all_sizes_of_one_client() {
	local rc all i
	serve_one || return 1
	measure --iters 2 --op write --all-sizes || return 1
	wait "$server"
	rc=$?
	server=
	all=$(for ((i = 0; i <= 20; i++)); do echo $((1 << i)); done | xargs)
	[ $rc = 0 ] && [ "$(column 1)" = "$all" ]
}

wrong_sizes() {
	local list
	for list in 0 -1 '' 5M 4097K "64," ,64 64,,65 64x 64x65 64KM 64,0 "$(seq -s , 65)"; do
		refused '--size wants' --size "$list" "$host" || return 1
	done
	refused '--all-sizes has all sizes' --all-sizes --size 64 "$host" &&
		refused '--test syscalls takes one size' --test syscalls --size 64,65 "$host"
}

# a_while SECONDS OPTION...: measure, and succeed if that took the time, and no minute more.
a_while() {
	local begin=${EPOCHREALTIME/[.,]/} us
	measure "${@:2}" || return 1
	us=$((${EPOCHREALTIME/[.,]/} - begin))
	echo "took $us us" >>"$tmp/client.log"
	((us >= $1 * 1000000 && us < ($1 + 60) * 1000000))
}

a_duration() {
	local op
	serve || return 1
	for op in send write read; do
		a_while 1 --duration 1 --op $op && [[ $(column 2) =~ ^[1-9] ]] &&
			a_while 1 -D 1 --op $op --test bw --size 512 --eps 3 --cq-mod 16 &&
			[[ $(column 2) =~ ^[1-9] ]] || return 1
	done
	a_while 4 -D 2 --event --size 64,4096 && [ "$(column 1)" = "64 4096" ] &&
		a_while 1 -D 1 --event --test bw --srq
}

# Both sides send as many messages, or for the same time.
both_directions() {
	local op
	serve || return 1
	for op in send write read; do
		measure --bidirectional --test bw --op $op --iters 40 --size 64,16384 --eps 2 \
			--cq-mod 8 &&
			[ "$(column 1) $(column 2)" = "64 16384 40 40" ] &&
			has "$tmp/client.out" 'both directions together' &&
			a_while 1 -b -t bw -o $op -D 1 && [[ $(column 2) =~ ^[1-9] ]] || return 1
	done
	measure --bidirectional --test bw --event --srq --iters 200 --window 512 --size 1
}

# Requests that are posted together are as many as those that are not.
together() {
	serve || return 1
	measure --more --test bw --size 64 --iters 200 --window 16 --cq-mod 16 &&
		measure --more --test bw --op write --bidirectional --event --iters 33 --window 8 &&
		[ "$(column 2)" = 33 ] &&
		refused '--more is for --test bw' --more "$host" &&
		refused '--more is for --test bw' --more --test bw --eps 2 "$host" &&
		refused '--more is for --test bw' --more --test bw --duration 1 "$host"
}

# buckets: print the sum of the buckets of client.out, if each begins where the previous one ends.
buckets() {
	awk '
	/#from/ { inside = 1; next }
	inside { if (n++ && $1 != to) exit; to = $2; sum += $3; if ($2 <= $1) exit }
	END { print sum + 0 }' "$tmp/client.out"
}

# Sizes that go into the queue, and sizes that do not.
small_messages_inline() {
	local op
	serve || return 1
	for op in send write read; do
		measure --inline --op $op --iters 40 --size 1,96,97,4K &&
			[ "$(column 1)" = "1 96 97 4096" ] && has "$tmp/client.out" ', inline$' &&
			measure -I -t bw -b -o $op -n 200 -s 64 -Q 8 --eps 2 || return 1
	done
}

a_histogram() {
	serve || return 1
	measure --iters 300 --histogram && [ "$(buckets)" = 300 ] &&
		measure --duration 1 -H --op read && [ "$(buckets)" = "$(column 2 | cut -d' ' -f1)" ] &&
		refused '--histogram is for --test lat' --histogram --test bw "$host"
}

# with PROGRAM TEST NAME: run a test that needs a program, and report its result.
with() {
	if command -v "$1" >/dev/null; then
		"$2"
		result "$3"
	else
		n=$((n + 1))
		echo "ok $n dat_perf.$3 # SKIP there is no $1"
	fi
}

# json FILTER: print the value of the jq filter for client.out.
json() { jq -r "$1" "$tmp/client.out"; }

test_info_of_perftest='["CQ_Moderation","Connection_type","Data_ex_method","Device","Number_of_qps",
	"TX_depth","Using_SRQ","rdma_cm_QPs","test"]'
# The rates are rounded, so the rest may be a little less than 0, which jq would round to -0.
rest_of_the_sum='(.client.MsgRate + .server.MsgRate - .MsgRate) * 1e4 | round + 0'

json_as_perftest() {
	serve || return 1
	measure --json --iters 50 --size 64,4K --histogram &&
		[ "$(json 'map(.results.MsgSize) | join(" ")')" = "64 4096" ] &&
		[ "$(json '[.[].results.histogram | map(.count) | add] | join(" ")')" = "50 50" ] &&
		[ "$(json '.[0].results | keys_unsorted | join(" ")')" = "MsgSize n_iterations t_min t_max \
t_typical t_avg t_stdev percentile_99 percentile_99.9 histogram" ] &&
		[ "$(json '.[0].test_info | .test, .host, .kernel, .server')" = "Send_Latency_Test
$(uname -n)
$(uname -r)
$host" ] && [ "dat-perf $(json '.[0].test_info.version')" = "$("$bin/dat-perf" --version)" ] || return 1
	measure --json --iters 50 --test bw --op write --bidirectional --eps 2 --window 32 --cq-mod 4 &&
		[ "$(json ".[0].test_info | $test_info_of_perftest - keys | length")" = 0 ] &&
		[ "$(json '.[0].test_info | .test, .TX_depth, .CQ_Moderation, .Number_of_qps')" = \
			"RDMA_Write_Bidirectional_BW_Test
32
4
2" ] && [ "$(json '.[0].results | .client.n_iterations, .server.n_iterations')" = "50
50" ] && [ "$(json ".[0].results | $rest_of_the_sum")" = 0 ]
}

# row: print the first row of client.out with single blanks.
row() { awk '$1 ~ /^[0-9]+$/ { $1 = $1; print; exit }' "$tmp/client.out"; }

# What is printed is what the JSON of the same run has.  With --bidirectional, the rates are the sums of
# those of both directions.
figures_are_right() {
	local file=$tmp/figures.json got
	serve || return 1
	measure -t bw -b --iters 300 --size 4096 --eps 2 --json-file "$file" || return 1
	mapfile -t got < <(jq '.[0].results | .MsgSize, .n_iterations, .BW_peak, .BW_average, .MsgRate' "$file")
	[ "$(row)" = "$(printf '%d %d %.2f %.2f %.6f' "${got[@]}")" ] || return 1
	[ "$(jq '.[0].results | (.client.BW_average + .server.BW_average - .BW_average) * 10 | round + 0' "$file")" = 0 ] &&
		[ "$(jq '.[0].results | .client.BW_average < .BW_average and .server.BW_average < .BW_average' "$file")" = true ] &&
		[ "$(jq '.[0].results | (.MsgRate * 4096 / 1.048576 - .BW_average) * 10 | round + 0' "$file")" = 0 ] ||
		return 1
	measure --iters 100 --json-file "$file" || return 1
	mapfile -t got < <(jq '.[0].results | .MsgSize, .n_iterations, .t_min, .t_max, .t_typical, .t_avg,
		.t_stdev, .percentile_99, ."percentile_99.9"' "$file")
	# Both are rounded, the row to fewer digits.
	awk -v row="$(row)" -v json="${got[*]}" 'BEGIN {
		n = split(row, r); m = split(json, j)
		for (i = 1; i <= n; i++) if (r[i] - j[i] > 0.0061 || j[i] - r[i] > 0.0061) exit 1
		exit !(n == 9 && m == 9 && r[1] == 64 && r[2] == 100 && r[3] <= r[5] && r[5] <= r[8] &&
			r[8] <= r[9] && r[9] <= r[4] && r[3] <= r[6] && r[6] <= r[4])
	}' || return 1
	measure --test syscalls --iters 100 --json-file "$file" || return 1
	mapfile -t got < <(jq '.[0].results | .syscalls, .n_iterations' "$file")
	has "$tmp/client.out" "^ syscalls: ${got[0]} in ${got[1]} post_recv" && [ "${got[1]}" = 89 ]
}

# The file is there when it is whole, and an older one stays if the measurement fails.
a_json_file() {
	local file=$tmp/new/results.json
	mkdir "$tmp/new" && serve || return 1
	measure --iters 20 --size 1,2 --json-file "$file" && [ "$(column 1)" = "1 2" ] &&
		[ "$(jq -r 'map(.results.MsgSize) | join(" ")' "$file")" = "1 2" ] &&
		[ "$(stat -c %a "$file")" = 644 ] || return 1
	cp "$file" "$tmp/before"
	measure --iters 20 --json --json-file "$file" --test syscalls && cmp "$tmp/client.out" "$file" &&
		[ "$(jq -r '.[0].test_info.test' "$file")" = syscalls ] || return 1
	chmod 600 "$file"
	measure --iters 20 --json-file "$file" && [ "$(stat -c %a "$file")" = 600 ] || return 1
	cp "$tmp/before" "$file"
	stop_server
	! measure --iters 20 --json --json-file "$file" && cmp "$tmp/before" "$file" &&
		[ ! -s "$tmp/client.out" ] && [ "$(ls "$tmp/new")" = results.json ]
}

wrong_json_files() {
	local name link=$tmp/link
	: >"$tmp/plain"
	ln -s "$tmp/plain" "$link"
	for name in '' "$tmp/none/file" "$tmp" "$tmp/" /dev/null "$link" "$(printf 'a%.0s' {1..5000})"; do
		refused '--json-file cannot write' --json-file "$name" "$host" || return 1
	done
}

# Progress goes to standard error, and only if that is a terminal or with --progress.
progress() {
	serve || return 1
	measure --progress --interval 1 --json --size 1,64 -D 3 &&
		has "$tmp/client.log" '^dat-perf: 1 bytes, size 1 of 2: [0-9]+ % after [1-3] s$' &&
		has "$tmp/client.log" '^dat-perf: 64 bytes, size 2 of 2: [0-9]+ %' &&
		! has "$tmp/client.out" after && ! has "$tmp/client.log" 'after 0 s$' || return 1
	measure --interval 1 -D 2 --test bw && [ ! -s "$tmp/client.log" ]
}

# If the machine is so slow that this takes 3 s, there may be progress.
no_progress_before_3_s() {
	local begin
	serve || return 1
	begin=${EPOCHREALTIME/[.,]/}
	measure --progress --iters 20 || return 1
	((${EPOCHREALTIME/[.,]/} - begin >= 3000000)) || [ ! -s "$tmp/client.log" ]
}

progress_on_a_terminal() {
	serve || return 1
	script -qec "timeout 60 '$bin/dat-perf' --port $port -D 5 $host >'$tmp/client.out'" \
		"$tmp/script.log" >/dev/null </dev/null
	grep -q $'\rdat-perf: 64 bytes: [0-9]* % after [1-9][0-9]* s *\r' "$tmp/script.log" &&
		! has "$tmp/client.out" after && [[ $(column 2) =~ ^[1-9] ]]
}

wrong_durations() {
	local value
	for value in 0 -1 x 1.5 86401 ''; do
		refused '--duration wants a number from 1 to 86400' --duration "$value" "$host" || return 1
	done
	refused '--interval wants a number from 1 to 86400' --interval 0 "$host" || return 1
	refused '--iters and --duration exclude each other' -D 1 -n 5 "$host" &&
		refused 'for no --duration' --test syscalls --duration 1 "$host"
}

# All that the client tells the server, or that only the client prints, is not for a server.
options_of_a_client() {
	local option
	for option in --op=send --test=lat --size=64 --all-sizes --bidirectional --iters=1 --duration=1 \
		--eps=2 --idle=1 --srq --window=2 --cq-mod=1 --event --poller=1 --busy-poll=1 --more --inline \
		--histogram --json --json-file="$tmp/json" --progress --interval=1; do
		refused "^dat-perf: ${option%%=*} is for a client: HOST is missing;" --keep "$option" \
			--port 1 || return 1
	done
	refused '--progress is for a client' --progress --json-file /nix/file
}

wrong_options() {
	local option value
	for value in -1 '' 1x 0x ' 1' 4294967297; do
		refused "--iters wants a number from 1 to 10000000, not '$value'" -n "$value" "$host" ||
			return 1
	done
	for option in eps idle window cq-mod poller busy-poll port; do
		refused "--$option wants a number from .*, not '1000001'" --$option 1000001 "$host" ||
			return 1
	done
	refused "--iters wants .*, not '[+]1'" -n +1 "$host" &&
		refused 'there is no option --frobnicate' --frobnicate "$host" &&
		refused '--p is ambiguous' --p 1 "$host" &&
		refused '--srq takes no argument' --srq=1 "$host" &&
		refused 'there is no option -Z' --json -Zr "$host" &&
		refused '--iters wants an argument' --iters &&
		refused '--iters wants an argument' -n &&
		refused "'b' follows the host 'a'" a b &&
		refused "--op does not know 'jump'" --op jump "$host" &&
		refused "--test does not know 'recv'" --test recv "$host" &&
		refused '--keep is for the server' --keep "$host" &&
		refused '--cq-mod is for --test bw' --cq-mod 2 "$host" &&
		refused '--cq-mod must not exceed --window' --test bw --window 2 --cq-mod 3 "$host" &&
		refused '--bidirectional is for --test bw' --bidirectional "$host" &&
		refused '--srq is for --op send' --srq --op write "$host"
}

echo "TAP version 13"
echo "1..18"
! "$bin/dat-perf" --version >/dev/full 2>"$tmp/full.log" && ! "$bin/dat-info" --version >/dev/full 2>&1
result output_that_cannot_be_written_is_an_error
sizes_in_the_given_order
result sizes_are_measured_in_the_given_order
all_sizes_of_one_client
result all_sizes_take_one_set_of_connections
wrong_sizes
result wrong_sizes_are_refused
wrong_options
result a_wrong_option_takes_one_line_and_a_hint
options_of_a_client
result options_of_a_client_are_refused_without_host
a_duration
result a_test_of_a_duration_takes_this_time
wrong_durations
result wrong_durations_are_refused
both_directions
result both_sides_send_at_the_same_time
together
result messages_are_posted_together
small_messages_inline
result small_messages_are_copied_by_the_post
a_histogram
result a_histogram_has_all_messages
with jq json_as_perftest the_json_has_the_keys_of_perftest
with jq figures_are_right what_is_printed_is_what_the_json_has
with jq a_json_file a_json_file_appears_when_it_is_whole
wrong_json_files
result a_json_file_that_cannot_be_written_is_refused
progress && stop_server && no_progress_before_3_s
result progress_is_shown_after_3_s_or_the_interval_on_standard_error
with script progress_on_a_terminal progress_is_shown_on_a_terminal
