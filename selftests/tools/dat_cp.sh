#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Copyright (c) The dat authors
#
# Test dat-cp with a peer that violates the protocol (cp/cp-peer.c), and with interrupted copies.
# With the argument "slow", test dat-cp with a disk of its own, and with a disk that writes
# DAT_CP_SLOW_RATE MB/s and a file of DAT_CP_SLOW_MB MiB.
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=selftests/common/host.sh
. "$here/host.sh"
# shellcheck source=selftests/common/wait.sh
. "$here/wait.sh"
# shellcheck source=selftests/common/trace.sh
. "$here/trace.sh"
bin=${DAT_BIN:-$here/../ulib}
peer=$here/cp/cp-peer
export LD_LIBRARY_PATH=$here/../ulib
find_host "$here/../ulib"
port=18600
slow_mb=${DAT_CP_SLOW_MB:-40}
slow_rate=${DAT_CP_SLOW_RATE:-1}
group=/sys/fs/cgroup/dat_cp
tmp=$(mktemp -d) || exit 1
n=0
server=

stop_server() {
	[ -z "$server" ] || { kill -9 "$server"; wait "$server"; } 2>/dev/null
	server=
}

cleanup() {
	stop_server
	! mountpoint -q "$tmp/slow" || umount "$tmp/slow"
	[ ! -e $group ] || rmdir $group
	rm -rf "$tmp"
}
trap cleanup EXIT

# result NAME: report the exit status of the previous command.
result() {
	local rc=$? status=ok f left
	n=$((n + 1))
	if [ $rc != 0 ]; then
		status="not ok"
		trace_show
		for f in "$tmp"/*.log; do
			echo "# ${f##*/}:"
			cat -v "$f" | tail -20 | sed 's/^/# /'
		done
		# A client that waits would take the line for a client of the next test.
		mapfile -t left < <(jobs -p)
		((${#left[@]} == 0)) || kill "${left[@]}" 2>/dev/null
	fi
	trace_clear
	stop_server
	for f in "$tmp"/*.log; do [ ! -e "$f" ] || : >"$f"; done
	echo "$status $n dat_cp.$1"
}

# serve [OPTION]...: start a dat-cp server for the empty directory $dir.  The server has the default
# actions of all signals.
serve() {
	port=$((port + 1))
	dir=${dir_of_disk:-$tmp/in}
	[ -d "$dir" ] || mkdir "$dir"
	: >"$tmp/server.err.log"
	empty "$dir" || rm -rf "${dir:?}"/{*,.[!.]*}
	env --default-signal "$bin/dat-cp" --serve "$dir" --port $port "$@" \
		>"${out:-$tmp/server.out.log}" 2>"$tmp/server.err.log" &
	server=$!
	seen "$tmp/server.err.log" 'waiting at port'
}

send() { # FILE...
	timeout "${limit:-100}" "$bin/dat-cp" -q --port $port "$@" "$host:" >"$tmp/send.log" 2>&1
}

# to TARGET FILE...: as send, to TARGET instead of the host.
to() {
	timeout 100 "$bin/dat-cp" -q --port $port "${@:2}" "$1" >"$tmp/send.log" 2>&1
}

# half_of_f: in the background, send half of a file.
half_of_f() {
	: >"$tmp/peer.log"
	"$peer" "$host" $port half f >"$tmp/peer.log" 2>&1 &
}

stranger() { timeout 100 "$peer" "$host" $port "$@" >"$tmp/peer.log" 2>&1; }

# becomes_empty DIRECTORY: wait up to 20 s until DIRECTORY is empty.
becomes_empty() {
	local i
	for ((i = 0; i < 200; i++)); do
		! empty "$1" || return 0
		pause 0.1
	done
	ls -lA "$1" >"$tmp/left.log"
	return 1
}

# harmless FILE: succeed if FILE has no control characters but newline, in 7 bits, 8 bits or UTF-8,
# and no character that reverses the direction of text.
harmless() {
	! LC_ALL=C grep -qP '[\x01-\x09\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|(?<![\xc2-\xf4])(?<![\xc2-\xf4][\x80-\xbf])(?<![\xf0-\xf4][\x80-\xbf]{2})[\x80-\x9f]|\xe2\x80\xae' "$1"
}

what_is_hashed_is_on_the_disk() {
	local hash name
	serve && stranger torn 64 && seen "$tmp/peer.log" '64 files offered' || return 1
	while read -r _ hash name; do
		echo "$hash  $dir/$name"
	done <"$tmp/server.out.log" >"$tmp/sums"
	# All files may have been refused.
	[ ! -s "$tmp/sums" ] || sha256sum --check --strict --quiet "$tmp/sums" >>"$tmp/peer.log" 2>&1
}

names_of_unfinished_files() {
	serve && stranger name .dat-cp.1.0x1 && seen "$tmp/peer.log" '^refused that is no name' &&
		empty "$dir"
}

# held TEXT ARGUMENT...: begin the client $copy, up to a line with TEXT.  It goes on after a line to
# descriptor 3.
held() {
	[ -p "$tmp/go" ] || mkfifo "$tmp/go"
	exec 3<>"$tmp/go"
	: >"$tmp/peer.log"
	timeout 100 "$peer" "$host" $port "${@:2}" <"$tmp/go" >"$tmp/peer.log" 2>&1 3>&- &
	copy=$!
	seen "$tmp/peer.log" "$1"
}

# late_copy NAME: begin the copy $copy of a file.  Its second half follows a line to descriptor 3.
late_copy() { held half late "$1"; }

# clients N: wait up to 20 s until the server has N clients, each with a thread beside those of the server.
clients() {
	local - i threads
	set +x
	for ((i = 0; i < 200; i++)); do
		threads=("/proc/$server/task"/*)
		((${#threads[@]} != $1 + 2)) || return 0
		pause 0.1
	done
	return 1
}

odd='the name has control characters, marks of direction or invalid UTF-8'

# Two paths that end alike, and two names that differ in a byte that terminals would not show.
names_that_become_one() {
	local copy
	mkdir -p "$tmp/a" "$tmp/b"
	echo 1 >"$tmp/a/same"
	echo 2 >"$tmp/b/same"
	echo 3 >"$tmp/x"$'\001'
	echo 4 >"$tmp/x"$'\002'
	serve || return 1
	wrong "two files would get the name 'same'" "$tmp/a/same" "$tmp/f" "$tmp/b/same" "$host:" &&
		wrong "$odd: 'x_'" "$tmp/x"$'\001' "$host:" &&
		wrong "$odd: 'x_'" "$tmp/a/same" "$tmp/x"$'\002' "$host:" &&
		wrong "$odd: 'x__'" "$tmp/a/same" "$host:x"$'\302\233' &&
		wrong "without '/', not '/etc/f'" "$tmp/a/same" "$host:/etc/f" && empty "$dir" || return 1
	# An odd name does not matter if the file gets another one.
	to "$host:x" "$tmp/x"$'\001' && cmp "$tmp/x"$'\001' "$dir/x" && rm "$dir/x" || return 1
	# The server does not trust a client to look.
	stranger name y$'\001' y z y && has "$tmp/peer.log" '^accepted' 2 &&
		has "$tmp/peer.log" "^refused $odd" &&
		has "$tmp/peer.log" '^refused a file has arrived under that name' || return 1
	stranger name a/y && has "$tmp/peer.log" '^refused that is no name' || return 1
	# One run after the other replaces the file; two at the same time do not.
	stranger name z && has "$tmp/peer.log" '^accepted' && late_copy same && send "$tmp/b/same" &&
		echo >&3 && wait "$copy" &&
		has "$tmp/peer.log" '^refused cannot keep the file: a file has arrived under that name' &&
		cmp "$tmp/b/same" "$dir/same"
}

# What arrived before a client connected may be replaced, also when an older client has gone.
arrivals_since_a_client_connected() {
	local copy oldest
	echo 1 >"$tmp/x"
	echo 1 >"$tmp/y"
	echo 1 >"$tmp/z"
	serve && held waits name - || return 1
	oldest=$copy
	send "$tmp/x" && clients 1 && held waits name - z y x && send "$tmp/z" && clients 2 || return 1
	{ kill "$oldest"; wait "$oldest"; } 2>/dev/null
	clients 1 && send "$tmp/y" && echo >&3 && wait "$copy" &&
		has "$tmp/peer.log" '^refused a file has arrived under that name' 2 &&
		has "$tmp/peer.log" '^accepted' && [ ! -s "$dir/x" ]
}

# modes MODE...: print the modes of files of these modes after a copy.
modes() {
	local mode
	for mode; do
		echo data >"$tmp/f"
		chmod "$mode" "$tmp/f"
		send "$tmp/f" || return 1
		stat -c %a "$dir/f"
		rm "$dir/f"
	done | xargs
}

# mode_of_unfinished: print the modes of the files that the server has open in its directory.
mode_of_unfinished() {
	find "/proc/$server/fd" -lname "$dir/*" -exec stat -Lc %a {} +
}

a_mode_is_never_widened() {
	local p
	serve && [ "$(modes 600 644 4755 400)" = "600 644 755 400" ] || return 1
	# The narrower one of the file and of what it replaces.
	chmod 640 "$tmp/f" && send "$tmp/f" && chmod 600 "$dir/f" && chmod 644 "$tmp/f" &&
		send "$tmp/f" && [ "$(stat -c %a "$dir/f")" = 600 ] || return 1
	half_of_f
	p=$!
	seen "$tmp/peer.log" half && [ "$(mode_of_unfinished)" = 600 ]
	local rc=$?
	kill -9 $p
	wait $p 2>/dev/null
	stop_server
	umask 077
	serve && [ $rc = 0 ] && [ "$(modes 644)" = 600 ]
	rc=$?
	umask 022
	return $rc
}

# Such a file says that it has no bytes, or 4096.
files_without_a_true_size() {
	serve && send /proc/version /sys/class/net/lo/mtu && [ -s "$dir/version" ] &&
		cmp /proc/version "$dir/version" && cmp /sys/class/net/lo/mtu "$dir/mtu"
}

# opened: wait up to 20 s until the server has opened a file in its directory.
opened() {
	local i
	for ((i = 0; i < 400; i++)); do
		[ -z "$(find "/proc/$server/fd" -lname "$dir/*" 2>/dev/null)" ] || return 0
		pause 0.05
	done
	return 1
}

# position: put the position of the copy in its file into $at; 0 if the file is not open.
position() {
	local - fd key value
	set +x
	at=0
	for fd in "/proc/$copy/fd"/*; do
		[ "$fd" -ef "$tmp/f" ] || continue
		while read -r key value; do
			[ "$key" != pos: ] || at=$value
		done <"/proc/$copy/fdinfo/${fd##*/}"
	done
} 2>/dev/null

# stop_copy: stop the client $copy.  Fails if it has ended.
stop_copy() {
	local - stat
	set +x
	kill -STOP "$copy" || return 1
	while read -r stat <"/proc/$copy/stat" && [[ $stat != *') '[ZX]' '* ]]; do
		[[ $stat != *') T '* ]] || return 0
		pause 0.01
	done
	return 1
} 2>/dev/null

# stopped_copy: begin the copy $copy of a file that is so long, and stop the client before it has read
# the end.
stopped_copy() {
	local mb at
	for ((mb = 8; mb <= 512; mb *= 4)); do
		serve || return 1
		rm -f "$tmp/f"
		truncate -s "${mb}M" "$tmp/f"
		"$bin/dat-cp" -q --port $port "$tmp/f" "$host:" >"$tmp/send.log" 2>&1 &
		copy=$!
		for ((at = 0; at == 0; )); do
			copying || break
			position
		done
		stop_copy && position && ((0 < at && at < mb << 20)) && return 0
		kill -CONT "$copy" 2>/dev/null
		wait "$copy" || return 1
		stop_server
	done
	return 1
}

a_file_that_grows_or_shrinks() {
	local copy
	stopped_copy && echo more >>"$tmp/f" && kill -CONT "$copy" && wait "$copy" &&
		cmp "$tmp/f" "$dir/f" || return 1
	stop_server
	stopped_copy && truncate -s 1M "$tmp/f" && kill -CONT "$copy" && ! wait "$copy" &&
		seen "$tmp/send.log" 'f became shorter while it was read' && becomes_empty "$dir"
}

# The name is what follows the first colon, or that after the brackets.
names_with_colons() {
	local target
	echo data >"$tmp/f:g"
	rm -f "$tmp/f"
	echo data >"$tmp/f"
	serve && send "$tmp/f:g" && to "$host:a:b" "$tmp/f" && to "[$host]:c:d" "$tmp/f" &&
		[ "$(cd "$dir" && echo *)" = "a:b c:d f:g" ] || return 1
	for target in '[fd00::9]x' '[fd00::9'; do
		wrong "there is no ']:' in '$target'" "$tmp/f" "$target" || return 1
	done
	wrong "not './f:g'" "$tmp/f" ./f:g && wrong "Write [fd00::9]:" "$tmp/f" fd00::9 || return 1
	# No adapter leads to this address, which needs no name server.
	for target in '[fd00::9]:p' fd00::9: fd00::9:disk.img ::fd00:9: ::fd00:9:disk.img; do
		! to "$target" "$tmp/f" && ! has "$tmp/send.log" 'no address for|see dat-cp' || return 1
	done
	! to '[no.such.host]:x' "$tmp/f" && has "$tmp/send.log" "no address for 'no.such.host'"
}

# refuses TEXT: a file of 2 MB is refused with TEXT, and so the server goes on.
refuses() {
	rm -f "$tmp/f"
	truncate -s 2M "$tmp/f"
	! send "$tmp/f" && seen "$tmp/send.log" "$1" && empty "$dir"
}

takes_a_file() {
	echo data >"$tmp/f"
	send "$tmp/f" && cmp "$tmp/f" "$dir/f" && rm "$dir/f"
}

# limited LIMIT N NORMAL TEXT: under a limit of prlimit, a file is refused with TEXT; the next one is not.
limited() {
	prlimit --pid "$server" "--$1=$2:" && refuses "$4" && prlimit --pid "$server" "--$1=$3:" &&
		takes_a_file
}

a_server_that_lacks_something() {
	local used
	serve && limited fsize 1000000 unlimited 'cannot write: File too large' || return 1
	for ((used = 0; ; used++)); do [ -L "/proc/$server/fd/$used" ] || break; done
	limited nofile $used 1024 'cannot create a file in .*: Too many open files' || return 1
	used=$(awk '/^VmSize/ { print $2 }' "/proc/$server/status")
	limited as $((used << 10)) unlimited 'rejected by the peer' &&
		has "$tmp/server.err.log" 'refusing a client: ' || return 1
	stop_server
	mkdir -p "$tmp/small" && mount -t tmpfs -o size=1m none "$tmp/small" &&
		dir_of_disk=$tmp/small/in serve && refuses 'No space left' && takes_a_file
	local rc=$?
	stop_server
	umount "$tmp/small"
	return $rc
}

# Nobody reads what the server prints.
an_output_without_a_reader() {
	mkfifo "$tmp/closed"
	exec 4<>"$tmp/closed"
	out=$tmp/closed serve 4>&- || return 1
	exec 4>&-
	takes_a_file && takes_a_file && kill -0 "$server"
}

half_a_file_has_no_name() {
	local rc
	serve || return 1
	half_of_f
	local p=$!
	seen "$tmp/peer.log" half && empty "$dir"
	rc=$?
	kill -9 $p
	wait $p 2>/dev/null
	return $rc
}

memory_is_for_its_purpose() {
	serve && stranger reach &&
		seen "$tmp/peer.log" "^a write to another client's slot: remote access error" &&
		seen "$tmp/peer.log" '^a read from a slot: remote access error'
}

a_name_that_steers_terminals() {
	serve && stranger name $'x\302\2332J\033[31m\233\342\200\256y' &&
		seen "$tmp/peer.log" "^refused $odd" && has "$tmp/server.err.log" "$odd" &&
		harmless "$tmp/server.err.log" && empty "$dir"
}

a_result_that_steers_terminals() {
	port=$((port + 1))
	"$peer" - $port serve >"$tmp/peer.log" 2>&1 &
	server=$!
	seen "$tmp/peer.log" listening || return 1
	echo data >"$tmp/f"
	send "$tmp/f"
	seen "$tmp/send.log" 'the receiver says: no' && harmless "$tmp/send.log"
}

# begin_copy MB: serve, and begin the copy $copy of a file of that size.
begin_copy() {
	serve || return 1
	truncate -s "${1}M" "$tmp/f"
	send "$tmp/f" &
	copy=$!
}

copying() { kill -0 "$copy" 2>/dev/null; }

# long_copy SECONDS: begin the copy $copy of a file so long that it is still under way after SECONDS.
long_copy() {
	local mb
	for ((mb = 4; mb <= 1024; mb *= 2)); do
		begin_copy $mb || return 1
		pause "$1"
		! copying || return 0
		wait "$copy" || return 1
		stop_server
	done
	return 1
}

# While the server is stopped, 600 connection requests arrive.  A copy in progress must succeed.
a_flood_of_requests() {
	local copy rc p
	long_copy 0.7 || return 1
	kill -STOP "$server"
	stranger flood 600 &
	p=$!
	pause 5
	kill -CONT "$server"
	wait "$copy"
	rc=$?
	wait $p
	return $rc
}

# Stop the server five times during one copy.  A copy that ends earlier must succeed too, but then a
# longer one follows.
stopped_and_continued() {
	local copy mb stops
	for ((mb = 4; mb <= 1024; mb *= 2)); do
		begin_copy $mb || return 1
		for ((stops = 0; stops < 5; stops++)); do
			pause 0.5
			copying || break
			kill -STOP "$server"
			pause 0.3
			kill -CONT "$server"
		done
		wait "$copy" && cmp "$tmp/f" "$dir/f" && kill -0 "$server" || return 1
		((stops < 5)) || return 0
		stop_server
	done
	return 1
}

# interrupted SIGNAL WHO: send SIGNAL to WHO, server or client, in the middle of a copy.  The
# directory of the server must become empty.
interrupted() {
	local who=$2 p rc=0
	serve || return 1
	half_of_f
	p=$!
	seen "$tmp/peer.log" half || rc=1
	if [ "$who" = server ]; then
		kill "-$1" "$server"
		wait "$server" 2>/dev/null
		server=
	else
		kill "-$1" $p
	fi
	becomes_empty "$dir" || rc=1
	kill -9 $p 2>/dev/null
	wait $p 2>/dev/null
	return $rc
}

interrupts() {
	local s w
	for s in INT TERM KILL; do
		for w in server client; do
			interrupted $s $w || { echo "$s of the $w" >>"$tmp/left.log"; return 1; }
			stop_server
		done
	done
}

# ended: wait up to 100 s until the server has ended.  Its status is in $rc.
ended() {
	timeout 100 tail --pid="$server" -s 0.1 -f /dev/null || return 1
	wait "$server"
	rc=$?
	server=
}

# once_beside_half SIGNAL [ARGUMENT]...: a client has sent half of a file when the server ends because of
# another one.  The client gets SIGNAL.  Its file did not arrive.  The ARGUMENTs are for one more client.
once_beside_half() {
	local p rc
	serve --once || return 1
	(($# == 1)) || {
		timeout 100 "$peer" "$host" $port "${@:2}" >"$tmp/other.log" 2>&1 &
		clients 1 || return 1
	}
	half_of_f
	p=$!
	seen "$tmp/peer.log" half && echo data >"$tmp/f" && send "$tmp/f" && kill -0 "$server" &&
		kill "-$1" $p && ended || return 1
	{ kill -9 $p; wait $p; } 2>/dev/null
	[ "$rc" = 1 ] && [ "$(ls -A "$dir")" = f ]
}

# Neither a client that sends no message, nor one whose file has arrived, ends the server in the middle
# of a copy of another client.
once_lets_copies_end() {
	local copy rc
	serve --once && late_copy late || return 1
	timeout 100 "$peer" "$host" $port garbage >"$tmp/garbage.log" 2>&1 && has "$tmp/garbage.log" . &&
		seen "$tmp/server.err.log" 'wrong length' && kill -0 "$server" &&
		echo data >"$tmp/f" && send "$tmp/f" && pause 1 && kill -0 "$server" && echo >&3 &&
		wait "$copy" && has "$tmp/peer.log" '^accepted' && ended || return 1
	[ "$rc" = 0 ] && [ "$(cd "$dir" && echo *)" = "f late" ]
}

# Between two files, too.  Clients that connect later are refused.
once_lets_runs_end() {
	local copy rc
	serve --once && held waits name a - b && echo data >"$tmp/f" && send "$tmp/f" && clients 1 &&
		kill -0 "$server" || return 1
	! timeout 100 "$peer" "$host" $port name c >"$tmp/late.log" 2>&1 &&
		seen "$tmp/server.err.log" 'the server takes no more clients' &&
		echo >&3 && wait "$copy" && has "$tmp/peer.log" '^accepted' 2 && ended || return 1
	[ "$rc" = 0 ] && [ "$(cd "$dir" && echo *)" = "a b f" ]
}

# The status of the server is that of the files, and a stranger has none, even if it offers one.
once_without_others() {
	local rc
	serve --once && timeout 100 "$peer" "$host" $port garbage >"$tmp/garbage.log" 2>&1 &&
		stranger name a/b && has "$tmp/peer.log" '^refused' && clients 0 &&
		echo data >"$tmp/f" && send "$tmp/f" && ended || return 1
	[ "$rc" = 0 ] && [ "$(ls -A "$dir")" = f ]
}

replaces_a_file() {
	serve || return 1
	echo old >"$dir/f"
	echo new >"$tmp/f"
	send "$tmp/f" && [ "$(<"$dir/f")" = new ] && [ "$(ls -A "$dir")" = f ] &&
		[ "$(<"$tmp/send.log")" = "sha256 $(sha256sum <"$tmp/f" | cut -c 1-64)  f" ] &&
		cmp "$tmp/send.log" "$tmp/server.out.log"
}

# make_disk MB: mount an ext4 of MB MiB at $tmp/slow, with 64 inodes that keep a time of birth.
make_disk() {
	mkdir -p "$tmp/slow" || return 1
	truncate -s "$1M" "$tmp/disk"
	mkfs.ext4 -q -F -O ^has_journal -N 64 -I 256 "$tmp/disk" >"$tmp/disk.log" 2>&1 || return 1
	mount -o loop "$tmp/disk" "$tmp/slow"
}

# A file has arrived and is removed, and a file of this host gets its inode.  A client may replace it.
a_removed_file_does_not_protect_its_inode() {
	local copy ino i dir_of_disk=$tmp/slow/in
	serve && late_copy late && echo data >"$tmp/f" && send "$tmp/f" && ino=$(stat -c %i "$dir/f") &&
		rm "$dir/f" || return 1
	for ((i = 0; i < 64; i++)); do
		: >"$dir/$i"
		[ "$(stat -c %i "$dir/$i")" != "$ino" ] || break
	done
	mv "$dir/$i" "$dir/late" && echo >&3 && wait "$copy" && has "$tmp/peer.log" '^accepted'
}

# slow_down: processes in the control group $group write $slow_rate MB/s to the disk.
slow_down() {
	mountpoint -q /sys/fs/cgroup || mount -t cgroup2 cgroup2 /sys/fs/cgroup
	echo '+io +memory' >/sys/fs/cgroup/cgroup.subtree_control && mkdir $group || return 1
	echo "$(mountpoint -d "$tmp/slow") wbps=$((slow_rate * 1000000))" >$group/io.max
}

a_slow_disk() {
	local limit=$((slow_mb * 2 / slow_rate + slow_mb / 2 + 200))
	local dir_of_disk=$tmp/slow/in start=$SECONDS
	slow_down && serve && echo "$server" >$group/cgroup.procs || return 1
	truncate -s "${slow_mb}M" "$tmp/f"
	send "$tmp/f" || return 1
	echo "# $slow_mb MiB at $slow_rate MB/s took $((SECONDS - start)) s"
	cmp "$tmp/f" "$dir/f"
}

a_fifo_is_refused() {
	serve || return 1
	mkfifo "$tmp/fifo"
	limit=10 send "$tmp/fifo"
	seen "$tmp/send.log" 'fifo is not a regular file'
}

# wrong TEXT ARGUMENT...: the message is one line with TEXT and a hint.
wrong() {
	local text=$1 rc=0 lines
	shift
	timeout 20 "$bin/dat-cp" "$@" >"$tmp/send.log" 2>"$tmp/wrong.log" || rc=$?
	mapfile -t lines <"$tmp/wrong.log"
	[ $rc = 2 ] && [ ! -s "$tmp/send.log" ] && [ ${#lines[@]} = 1 ] &&
		[[ ${lines[0]} == "dat-cp: "*"$text"*"; see dat-cp --help" ]] && return
	echo "# '$*' ended with $rc"
	return 1
}

wrong_usage() {
	wrong "a FILE and HOST: are missing" && wrong "a FILE or HOST: is missing" f &&
		wrong "not 'host'" f host && wrong "not 2 files" f g host:x &&
		wrong "no use for 'f'" --serve "$tmp" f && wrong "is for --serve" --once f host: &&
		wrong "from 1 to 65535, not '0'" --port 0 f host: && wrong "no option -Z" -Z &&
		wrong "no option --nonsense" --nonsense && wrong "--device wants an argument" f host: -d
}

on_a_terminal() {
	script -qfec "timeout 200 $bin/dat-cp --port $port $tmp/f $host:" "$tmp/tty.log" >/dev/null 2>&1 \
		</dev/null
}

in_a_file() {
	timeout 200 "$bin/dat-cp" --port "$port" "$tmp/f" "$host:" >"$tmp/send.log" 2>"$tmp/tty.log"
}

# stalled FUNCTION: copy a file by FUNCTION, and stop the server for 3.5 s while it has the file open.
# The file is long enough that the copy has not ended by then.
stalled() {
	local client rc
	serve || return 1
	truncate -s 64M "$tmp/f"
	"$1" &
	client=$!
	opened && kill -STOP "$server" && [ ! -e "$dir/f" ] && pause 3.5
	rc=$?
	kill -CONT "$server"
	wait $client && [ $rc = 0 ]
}

a_long_copy_has_a_bar() { stalled on_a_terminal && has "$tmp/tty.log" '% .* MB/s'; }

no_bar_in_a_file() { stalled in_a_file && [ ! -s "$tmp/tty.log" ] && has "$tmp/send.log" '^sha256 '; }

# If the machine is so slow that this takes 3 s, there may be a bar.
a_short_copy_has_no_bar() {
	local began=${EPOCHREALTIME/[.,]/}
	serve && truncate -s 1M "$tmp/f" && on_a_terminal || return 1
	((${EPOCHREALTIME/[.,]/} - began >= 3000000)) || ! has "$tmp/tty.log" 'MB/s'
}

echo "TAP version 13"
if [ "$1" = slow ]; then
	modprobe -a loop ext4 2>/dev/null || {
		echo "1..0 # SKIP this kernel has no loop device or no ext4"
		exit 4
	}
	echo "1..3"
	once_beside_half STOP insist .dat-cp.x && has "$tmp/server.err.log" 'dropping a client: it makes no progress' 2
	result once_gives_up_clients_that_make_no_progress
	make_disk $((slow_mb + 64)) && a_removed_file_does_not_protect_its_inode
	result a_removed_file_does_not_protect_its_inode
	a_slow_disk
	result a_slow_disk_delays_a_copy_and_does_not_fail_it
	exit
fi
echo "1..26"
what_is_hashed_is_on_the_disk
result what_is_hashed_is_what_is_on_the_disk
names_of_unfinished_files
result a_client_cannot_name_an_unfinished_file
half_a_file_has_no_name
result an_unfinished_file_has_no_name
memory_is_for_its_purpose
result a_client_reaches_only_its_own_slots_and_only_to_write
a_name_that_steers_terminals
result the_name_of_a_file_does_not_steer_the_terminal
a_result_that_steers_terminals
result the_text_of_a_result_does_not_steer_the_terminal
a_flood_of_requests
result a_flood_of_requests_does_not_disturb_a_copy
stopped_and_continued
result a_server_that_is_stopped_and_continued_goes_on
replaces_a_file
result a_file_takes_the_place_of_another
interrupts
result an_interrupted_copy_leaves_nothing_behind
once_lets_copies_end
result once_ends_no_copy_of_another_client
once_lets_runs_end
result once_lets_the_runs_of_connected_clients_end
once_without_others
result once_ends_after_the_first_client_whose_file_arrived
once_beside_half KILL
result once_leaves_nothing_of_other_clients_behind
a_fifo_is_refused
result a_fifo_is_refused_at_once
names_that_become_one
result names_that_become_one_are_refused
arrivals_since_a_client_connected
result what_arrived_before_a_client_connected_may_be_replaced
a_mode_is_never_widened
result a_mode_is_never_widened
files_without_a_true_size
result a_file_is_read_to_its_end_whatever_its_size_says
a_file_that_grows_or_shrinks
result a_file_that_grows_is_copied_and_one_that_shrinks_is_refused
names_with_colons
result names_and_addresses_can_have_colons
a_server_that_lacks_something
result a_server_that_lacks_something_refuses_one_file_and_goes_on
an_output_without_a_reader
result an_output_without_a_reader_does_not_end_the_server
[ "$("$bin/dat-cp" --version 2>&1 >/dev/full)" ] && ! "$bin/dat-cp" --version >/dev/full 2>&1
result output_that_cannot_be_written_is_an_error
wrong_usage
result wrong_usage_is_told_in_one_line_with_a_hint
a_long_copy_has_a_bar && stop_server && no_bar_in_a_file && stop_server && a_short_copy_has_no_bar
result a_copy_over_3_s_has_a_bar_on_a_terminal_only
