#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Copyright (c) The dat authors
#
# Test dat-info: the list of adapters, the syntax of the JSON output, counters, and the problems that
# --check reports.
here=$(cd "$(dirname "$0")" && pwd)
bin=$here/../ulib
export LD_LIBRARY_PATH=$bin
# shellcheck source=selftests/common/wait.sh
. "$(dirname "$0")/wait.sh"
# shellcheck source=selftests/common/trace.sh
. "$(dirname "$0")/trace.sh"
info=$bin/dat-info
n=0

# result STATUS NAME: report a test, which has succeeded if STATUS is 0.
result() {
	n=$((n + 1))
	[ "$1" = 0 ] || trace_show
	trace_clear
	if [ "$1" = 0 ]; then echo "ok $n info.$2"; else echo "not ok $n info.$2"; fi
}

# expect NAME STATUS TEXT CMD...: succeed if CMD exits with STATUS and prints TEXT.
expect() {
	local name=$1 status=$2 text=$3 out rc
	shift 3
	out=$("$@" 2>&1)
	rc=$?
	printf '# %s\n' "${out//$'\n'/$'\n'# }"
	[ "$rc" = "$status" ] || echo "# exit status $rc, not $status"
	[ "$rc" = "$status" ] && [[ $out == *"$text"* ]]
	result $? "$name"
}

# is_json: succeed if the input is JSON.  awk replaces each string by \001 and each number or
# literal by \002, then repeatedly replaces the innermost object or array by \002.
is_json() {
	iconv -f UTF-8 -t UTF-8 | LC_ALL=C awk '
	{ t = t $0 "\n" }
	END {
		if (t ~ /[\001\002]/)
			exit 1
		h = "[0-9a-fA-F]"
		gsub("\"([^\"\\\\\001-\037]|\\\\[\"\\\\/bfnrt]|\\\\u" h h h h ")*\"", "\001", t)
		gsub(/-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?|true|false|null/, "\002", t)
		gsub(/[ \t\n]+/, "", t)
		while (gsub(/\{(\001:[\001\002](,\001:[\001\002])*)?\}|\[([\001\002](,[\001\002])*)?\]/, "\002", t))
			;
		exit t != "\002"
	}'
}

# json NAME OPTION...: succeed if dat-info --json OPTION... prints JSON.  As a check of is_json(),
# the same output with an additional bracket must be rejected.
json() {
	local name=$1 out
	shift
	out=$("$info" --json "$@" 2>/dev/null)
	printf '%s\n' "$out" | is_json && ! printf '%s]\n' "$out" | is_json
	result $? "$name"
}

# with_device COMMAND NAME: run a test that needs an RDMA device, such as one that gives it another name.
with_device() {
	if [ -e "/sys/class/infiniband/$dev" ]; then
		$1
		result $? "$2"
	else
		n=$((n + 1))
		echo "ok $n info.$2 # SKIP $dev is no RDMA device"
	fi
}

# usage NAME TEXT OPTION...: succeed if dat-info rejects the options with status 2 and with one line,
# which has TEXT and a hint.
usage() {
	local name=$1 text=$2 out rc
	shift 2
	out=$("$info" "$@" 2>&1)
	rc=$?
	printf '# %s\n' "$out"
	[ $rc = 2 ] && [[ $out == *"$text"*"; see dat-info --help" && $out != *$'\n'* ]]
	result $? "$name"
}

# total COUNTER: print a counter of the adapter.
total() { "$info" --prometheus - "$dev" | sed -n "s/^dat_adapter_$1_total{.*} //p"; }

# The check sends one message from the adapter to itself: one request and one receive.
check_is_counted() {
	local requests receives failed
	requests=$(total requests) receives=$(total receives) failed=$(total failed)
	"$info" --check >/dev/null
	echo "# requests $requests $(total requests), receives $receives $(total receives)"
	[ "$(total requests)" = $((requests + 1)) ] && [ "$(total receives)" = $((receives + 1)) ] &&
		[ "$(total failed)" = "$failed" ]
}

# Two lines of --watch, each a JSON document; the second has rates.  The signal is no error.
watch_prints_lines() {
	local rc line lines watch
	: >"$conf"
	"$info" --stats --watch 1 --json >"$conf" &
	watch=$!
	seen "$conf" '"rates"' 2
	kill -TERM $watch
	wait $watch
	rc=$?
	mapfile -t lines <"$conf"
	printf '# %s\n' "${lines[@]:0:2}"
	[ $rc = 0 ] && [ ${#lines[@]} -ge 2 ] || return
	for line in "${lines[@]}"; do is_json <<<"$line" || return; done
	[[ ${lines[0]} == *'"rates": null'* && ${lines[1]} == *'"rates": {"requests": '* ]]
}

# is_prometheus: succeed if each line of the input is a comment or a sample, if HELP and TYPE come
# before the samples of their metric, and if no sample occurs twice.
is_prometheus() {
	awk '
	/^# HELP [a-z_]+ ./ { help = $3; next }
	/^# TYPE [a-z_]+ (counter|gauge)$/ { type = $3; next }
	{
		name = $0
		sub(/\{.*/, "", name)
		if (name != help || name != type || seen[$0]++)
			bad = 1
		if (!/^[a-z_]+\{[a-z]+="([^"\\]|\\["\\n])*"(,[a-z]+="([^"\\]|\\["\\n])*")*\} [0-9]+$/)
			bad = 1
		n++
	}
	END { exit bad || !n }'
}

# The file has the mode of any new file, unless the old one had less, and no other file is left.
prometheus_writes_a_file() {
	local dir rc
	dir=$(mktemp -d) || return 1
	echo old >"$dir/dat.prom"
	(umask 022 && "$info" --prometheus "$dir/dat.prom") && is_prometheus <"$dir/dat.prom" &&
		[ "$(ls -A "$dir")" = dat.prom ] && [ "$(stat -c %a "$dir/dat.prom")" = 644 ] &&
		chmod 600 "$dir/dat.prom" && "$info" --prometheus "$dir/dat.prom" &&
		[ "$(stat -c %a "$dir/dat.prom")" = 600 ]
	rc=$?
	sed 's/^/# /' "$dir/dat.prom"
	rm -r "$dir"
	return $rc
}

# Under a limit of the size of files, as on a full disk, the old file stays, and nothing is left beside it.
prometheus_hits_a_limit() {
	local dir rc=0
	dir=$(mktemp -d) || return 1
	echo old >"$dir/dat.prom"
	prlimit --fsize=100: "$info" --prometheus "$dir/dat.prom" 2>"$conf" || rc=$?
	[ $rc = 1 ] && has "$conf" "cannot write '$dir/dat.prom': File too large" &&
		[ "$(ls -A "$dir") $(<"$dir/dat.prom")" = "dat.prom old" ]
	rc=$?
	rm -r "$dir"
	return $rc
}

# Nothing but a file is replaced: not a device, a FIFO, a symbolic link or a directory.
prometheus_refuses_what_is_no_file() {
	local dir name rc=0 before
	dir=$(mktemp -d) || return 1
	echo old >"$dir/plain"
	ln -s plain "$dir/link"
	mkfifo "$dir/fifo"
	mknod "$dir/null" c 1 3
	mkdir "$dir/dir"
	before=$(ls -Al "$dir")
	for name in link fifo null dir dir/; do
		"$info" --prometheus "$dir/$name" 2>"$conf"
		[ $? = 2 ] && grep -q "cannot write '$dir/$name': .*; see dat-info --help$" "$conf" || rc=1
		sed 's/^/# /' "$conf"
	done
	[ "$(ls -Al "$dir")" = "$before" ] || rc=1
	rm -r "$dir"
	return $rc
}

# lacks FILE TEXT: wait up to 20 s until FILE is there and has no line that matches TEXT.
lacks() {
	local i
	for ((i = 0; i < 200; i++)); do
		[ ! -r "$1" ] || has "$1" "$2" || return 0
		pause 0.1
	done
	return 1
}

# What --watch needs goes away and comes back: the adapter, the driver's device, the directory.  Each
# is reported once, though it is away for two outputs, and the file has no samples of an adapter that
# is not there.
prometheus_goes_on() {
	local dir file watch status
	dir=$(mktemp -d) || return 1
	file=$dir/in/dat.prom
	mkdir "$dir/in"
	"$info" --prometheus "$file" --watch 1 "$dev" 2>"$dir/err" &
	watch=$!
	has_samples "$file" &&
		rdma dev set "$dev" name away0 && no_samples "$file" &&
		rdma dev set away0 name "$dev" && has_samples "$file" &&
		mv /dev/dat /dev/dat.away && no_samples "$file" &&
		mv /dev/dat.away /dev/dat && has_samples "$file" &&
		mv "$dir/in" "$dir/out" && pause 2.5 && mv "$dir/out" "$dir/in" && rm "$file" &&
		has_samples "$file"
	status=$?
	[ ! -e /dev/dat.away ] || mv /dev/dat.away /dev/dat
	[ ! -e /sys/class/infiniband/away0 ] || rdma dev set away0 name "$dev"
	kill $watch && wait $watch || status=1
	sed 's/^/# /' "$dir/err"
	has "$dir/err" "^dat-info: there is no RDMA adapter '$dev'" &&
		has "$dir/err" "^dat-info: the driver can't be asked: No such file" &&
		has "$dir/err" "^dat-info: cannot write '$file': No such file" &&
		! has "$dir/err" . 4 || status=1
	rm -r "$dir"
	return $status
}

has_samples() { seen "$1" "^dat_adapter_active.*$dev"; }

# The file of the next second has no samples either.
no_samples() { lacks "$1" '^dat_' && rm "$1" && seen "$1" '^# TYPE' && lacks "$1" '^dat_'; }

# Without --watch, the file of an adapter that is not there has no samples either.
prometheus_empties_a_file() {
	local rc
	echo dat_adapter_active >"$conf"
	"$info" --prometheus "$conf" nix
	rc=$?
	[ $rc = 1 ] && has "$conf" '^# TYPE' && ! has "$conf" '^dat_'
}

# The program is stopped for several seconds: it does not make up for the outputs that it missed.
watch_is_stopped() {
	local watch rc
	: >"$conf"
	"$info" --stats --json --watch 1 >"$conf" &
	watch=$!
	seen "$conf" '"seconds": [0-9]' && kill -STOP $watch && pause 5 && kill -CONT $watch &&
		seen "$conf" '"seconds": [0-9]' 4
	rc=$?
	kill $watch
	wait $watch 2>/dev/null
	grep -o '"seconds": [^,]*' "$conf" | sed 's/^/# /'
	[ $rc = 0 ] && ! has "$conf" '"seconds": 0\.[0-3]' 2
}

# A device may have any name: this one has a quote, a backslash, an escape and an invalid byte.
prometheus_escapes() {
	local out name=$'a"b\\c\e\377'
	rdma dev set "$dev" name "$name" || return
	out=$("$info" --prometheus -)
	rdma dev set "$name" name "$dev"
	printf '# %s\n' "${out//$'\n'/$'\n'# }"
	is_prometheus <<<"$out" && [[ $out == *'{adapter="a\"b\\c__",port="1"}'* ]]
}

# The driver escapes a name with a blank, a tab and a backslash in fdinfo, and dat-info finds its counters.
blanks_in_a_name() {
	local out text name=$'a b\t\\040c' escaped='name=a\040b\011\134040c port=1 requests='
	rdma dev set "$dev" name "$name" || return
	out=$("$info" --stats --json "$name")
	exec {fd}</dev/dat
	text=$(cat /proc/$$/fdinfo/$fd)
	exec {fd}<&-
	rdma dev set "$name" name "$dev"
	printf '# %s\n' "${out//$'\n'/$'\n'# }" "${text//$'\n'/$'\n'# }"
	[[ $out == *'"name": "a b\u0009\\040c"'* && $out == *'"active": true'* && $text == *"$escaped"* ]]
}

# The endpoint of a client has posted requests, and the client is named.
client_is_counted() {
	local out i addr client
	addr=$("$info" | awk -v dev="$dev" '$1 == dev { print $3 }')
	serve "$conf" || return
	"$bin/dat-perf" --iters 1000000 --device "$dev" "$addr" >/dev/null 2>&1 &
	client=$!
	for ((i = 0; i < 50; i++)); do
		out=$("$info" --stats "$dev")
		[[ $out =~ $dev\ +$client\ +dat-perf\ +ep\ [0-9]+\ +CONNECTED\ +[1-9] ]] && break
		pause 0.1
	done
	kill $client $server
	wait $client $server 2>/dev/null
	printf '# %s\n' "${out//$'\n'/$'\n'# }"
	((i < 50))
}

# serve FILE: start a dat-perf server, which writes to FILE, in the background.
serve() {
	: >"$1"
	"$bin/dat-perf" --keep --device "$dev" >/dev/null 2>"$1" &
	server=$!
	seen "$1" 'waiting at port'
}

# The device gets another name while a process has it open: the objects have the new name.
renamed_adapter_has_its_objects() {
	local out old users name=renamed0
	serve "$conf" && rdma dev set "$dev" name $name || return
	out=$("$info" --stats $name)
	old=$("$info" --stats "$dev" 2>&1)
	users=$("$info" $name)
	rdma dev set $name name "$dev"
	kill $server
	wait $server 2>/dev/null
	printf '# %s\n' "${out//$'\n'/$'\n'# }" "${old//$'\n'/$'\n'# }" "${users//$'\n'/$'\n'# }"
	[[ $out =~ $name\ +$server\ +dat-perf\ +evd && $users == *" $server dat-perf:"*" 1 psp"* ]] &&
		[[ $old != *dat-perf* ]]
}

# The state is that of sysfs.  An Ethernet port has the speed of its interface, or none if that has
# none.  A RoCE port has one GID in use, which belongs to the interface.
link_is_shown() {
	local port=/sys/class/infiniband/$dev/ports/1 out state interface mbits speed=unknown
	out=$("$info" "$dev" | grep -E '^  (transport|link|speed|mtu|gid)')
	printf '# %s\n' "${out//$'\n'/$'\n'# }"
	state=$(<"$port/state")
	[[ $out == *"  link      ${state#*: }"* ]] || return
	[ "$(<"$port/link_layer")" = Ethernet ] || return 0
	interface=$(<"$port/gid_attrs/ndevs/0")
	mbits=$(cat "/sys/class/net/$interface/speed" 2>/dev/null)
	[[ $mbits != [1-9]* ]] || speed=$(awk "BEGIN { printf \"%g Gb/s\", $mbits / 1000 }")
	[[ $out == *"  speed     $speed"* ]] || return
	[[ $out == *RoCE* ]] || return 0
	[ "$(grep -c ", $interface, in use$" <<<"$out")" = 1 ] && [[ $out == *"  mtu       "[1-9]* ]]
}

# The adapter within the host, if it is not the one of the tests, is between the two.
names_are_lines() {
	local out
	out=$(with_conf "$info" -l)
	[ "$dev" = lo0 ] || out=${out/$'\nlo0\n'/$'\n'}
	printf '# %s\n' "${out//$'\n'/$'\n'# }"
	[ "$out" = "$dev"$'\nmy0' ]
}

# The trace has the ioctl that lists adapters (number 1 of magic 0xda), and neither the one that opens
# an adapter (2) nor the one that queries it (3).
names_open_no_adapter() {
	strace -e trace=ioctl -o "$conf" "$info" -l || return
	sed 's/^/# /' "$conf"
	has "$conf" '0xda, 0x1,' && ! has "$conf" '0xda, 0x[23],'
}

as_nobody() { setpriv --reuid=65534 --regid=65534 --clear-groups -- "$@"; }

# Run as nobody, because the limit does not apply to privileged users.
little_memory() { (ulimit -l 64 && as_nobody "$info" --check); }

with_conf() { DAT_OVERRIDE=$conf "$@"; }

server_is_listed() {
	local out i
	local out
	serve "$conf" || return
	out=$("$info" "$dev")
	kill $server
	wait $server 2>/dev/null
	printf '# %s\n' "${out//$'\n'/$'\n'# }"
	[[ $out == *" $server dat-perf:"*" 1 psp"* ]]
}

# on_kernel RELEASE: what --check says of the kernel if it has this release.
on_kernel() {
	RELEASE=$1 LD_PRELOAD=$here/info/uname.so "$info" --check | grep '^[a-z]* *kernel '
}

# The status of each release.  The driver is loaded, so a kernel that is too new for the tests is none
# of the problems.
kernels_are_judged() {
	local release
	for release in 2.6.32 5.10.0-1 6.0.19; do
		[[ $(on_kernel $release) == "fail  kernel    $release is older than 6.1, "*" -> boot a later kernel" ]] ||
			return 1
	done
	for release in 6.1.0-18-amd64 6.12.3 7.0 10.0 custom; do
		[[ $(on_kernel $release) == "ok    kernel    $release"* ]] || return 1
	done
}

# Without the driver, only the kernel of the tests is as good.
kernels_without_the_driver() {
	[[ $(on_kernel 6.0.19) == fail* && $(on_kernel 6.1.7) == ok* && $(on_kernel 6.2) == warn* ]] &&
		[[ $(on_kernel 10.0) == warn* ]]
}

# driver_line: what --check says of the driver.
driver_line() { "$info" --check | grep '^[a-z]* *driver '; }

# installed: what --check says if modules are installed for other kernels or this one, unsigned or built
# for another kernel, where only signed ones are taken.  Mounts in a namespace of its own make that so.
# A kernel takes a module of another one if it has versions of its symbols.
# shellcheck disable=SC2317 # unshare runs it
installed() {
	local rel lib=/lib/modules own
	rel=$(uname -r)
	own=$lib/$rel/updates
	mount -t tmpfs none $lib && mkdir -p $lib/7.7.7-other "$own" || return 1
	driver_line
	echo 'updates/dkms/dat.ko.xz: kernel/ib_core.ko' >$lib/7.7.7-other/modules.dep
	driver_line
	printf '%s\n' 'updates/ib_core.ko:' 'updates/dat.ko: updates/ib_core.ko' >"$lib/$rel/modules.dep"
	cp "$DAT_KO" "$own/dat.ko"
	driver_line
	printf '%s\n' 'kernel/x/ib_core.ko.xz:' 'updates/dat.ko: kernel/x/ib_core.ko.xz' >"$lib/$rel/modules.dep"
	driver_line
	mount -t tmpfs none /sys/module && mkdir -p /sys/module/module/parameters || return 1
	echo Y >/sys/module/module/parameters/sig_enforce
	driver_line
	echo '~Module signature appended~' >>"$own/dat.ko"
	driver_line
	umount /sys/module
	mount -t tmpfs none /sys/kernel && mkdir /sys/kernel/security || return 1
	echo 'none [integrity] confidentiality' >/sys/kernel/security/lockdown
	driver_line
	echo '[none] integrity confidentiality' >/sys/kernel/security/lockdown
	driver_line
	sed -i "s/vermagic=$rel /vermagic=9.9.9 /" "$own/dat.ko"
	driver_line
	sed -i "s/ modversions / /" "$own/dat.ko"
	driver_line
}

# What is found out without the kernel's log.
reasons_are_told() {
	local rel out want i other="built for kernel 9.9.9"
	rel=$(uname -r)
	! grep -q ' modversions ' "$DAT_KO" || other="dat.ko is not loaded -> as root: modprobe dat"
	export -f installed driver_line
	export info DAT_KO
	mapfile -t out < <(unshare -m bash -c installed 2>&1)
	printf '# %s\n' "${out[@]}"
	want=("nor installed for kernel $rel -> as root: make modules_install"
		"installed for kernel 7.7.7-other, and $rel runs -> boot 7.7.7-other, or install it for $rel"
		"ib_core is updates/ib_core.ko, of another RDMA stack"
		"dat.ko is not loaded -> as root: modprobe dat"
		"has no signature, and .*(module.sig_enforce) -> sign it"
		"dat.ko is not loaded, and .*(module.sig_enforce) -> as root: modprobe dat; if the key is rejected"
		"dat.ko is not loaded, and .*(lockdown, as with Secure Boot)"
		"dat.ko is not loaded -> as root: modprobe dat" "$other"
		"built for kernel 9.9.9, and $rel runs -> build and install it for $rel")
	[ ${#out[@]} = ${#want[@]} ] || return 1
	for i in "${!want[@]}"; do grep -q -- "${want[i]}" <<<"${out[i]}" || return 1; done
}

# refused_with SED-COMMAND TEXT: the kernel refuses a module that was changed, and --check tells why.
refused_with() {
	local line
	sed "$1" "$DAT_KO" >"$conf"
	! insmod "$conf" 2>/dev/null && line=$(driver_line) && echo "# $line" && grep -q "$2" <<<"$line"
}

# reinstalled: what --check says of a module that is refused after it was installed, and what after it
# was installed anew, when the clocks of the log and the file cannot disagree about the order.
# shellcheck disable=SC2317 # unshare runs it
reinstalled() {
	local lib
	lib=/lib/modules/$(uname -r)
	mount -t tmpfs none /lib/modules && mkdir -p "$lib/updates" && cp "$DAT_KO" "$lib/updates/dat.ko" &&
		echo 'updates/dat.ko:' >"$lib/modules.dep" || return 1
	echo 'dat: disagrees about version of symbol ib_register_client' >/dev/kmsg
	driver_line
	sleep 4
	cp "$DAT_KO" "$lib/updates/dat.ko"
	driver_line
}

older_refusals_do_not_count() {
	local out
	export -f reinstalled driver_line
	export info DAT_KO
	mapfile -t out < <(unshare -m bash -c reinstalled 2>&1)
	printf '# %s\n' "${out[@]}"
	[ ${#out[@]} = 2 ] && [[ ${out[0]} == *'did not take dat.ko'* ]] &&
		[[ ${out[1]} == *'dat.ko is not loaded -> as root: modprobe dat' ]]
}

# The kernel's log has what is not in the module's file.
refusals_are_told() {
	refused_with 's/__ib_alloc_pd/__ib_alloc_pX/g' \
		"did not take dat.ko: 'dat: Unknown symbol __ib_alloc_pX (err -2)' -> load it with modprobe dat" &&
		refused_with 's/ mod_unload / mod_unloaX /' \
			"'dat: version magic '.*mod_unloaX .*' should be .* -> build and install dat.ko for" ||
		return 1
	echo 'dat: disagrees about version of symbol ib_register_client' >/dev/kmsg
	driver_line | grep -q "version of symbol ib_register_client' -> dat.ko was built for other modules"
}

# The kernel takes the driver after it has refused one, and the driver is removed.
a_load_ends_a_refusal() {
	local line
	echo 'dat: disagrees about version of symbol ib_register_client' >/dev/kmsg
	insmod "$DAT_KO" && rmmod dat && line=$(driver_line) && echo "# $line" &&
		[[ $line == *'dat.ko is not loaded'* ]]
}

# Every line of --check must start with ok, warn or fail.  A line with warn or fail must contain a
# remedy after "->".
well_worded() {
	with_conf "$info" --check | awk '
		!/^(ok|warn|fail) / { bad = 1 }
		/^(warn|fail)/ && !/ -> ./ { bad = 1 }
		/^(warn|fail)/ { some = 1 }
		END { exit bad || !some }'
}

echo "TAP version 13"
echo "1..47"

dev=${DAT_ADAPTER:-$(find /sys/class/infiniband -mindepth 1 -printf '%f\n' | sort | head -n 1)}
conf=$(mktemp) || exit 1
read -r mode group < <(stat -c '%a %g' /dev/dat)
restore() {
	# shellcheck disable=SC2086 # words
	[ -e /dev/dat ] || insmod "$DAT_KO" ${DAT_KO_ARGS-}
	# shellcheck disable=SC2086 # words
	[ -e /dev/rsm ] || insmod "$DAT_RSM_KO" ${DAT_RSM_KO_ARGS-}
	chgrp "$group" /dev/rsm
	chmod "$mode" /dev/rsm
	chgrp "$group" /dev/dat
	chmod "$mode" /dev/dat
	rm -f "$conf"
}
trap restore EXIT
# Set the group and the mode as the udev rule does.
chgrp rdma /dev/dat
chmod 660 /dev/dat

expect "an adapter is listed" 0 "$(printf '%-4s  active' "$dev")" "$info"
expect "an adapter's limits are shown" 0 "max_message_size" "$info" "$dev"
expect "an unknown adapter fails" 1 "no RDMA adapter 'nix'" "$info" nix
with_device link_is_shown "the link of the port is shown"
usage "an unknown option" "there is no option --nix" --nix
usage "an option without its argument" "--watch wants an argument" --stats --watch
usage "a time that is no number" "--watch wants a number from 1 to 86400, not 'soon'" --stats --watch soon
usage "options that exclude each other" "exclude each other" --stats --check
usage "two adapters" "'two'" one two
server_is_listed
result $? "a process is shown with its objects"
client_is_counted
result $? "the objects of a process are counted"
with_device renamed_adapter_has_its_objects "the objects of a renamed adapter have its new name"
check_is_counted
result $? "each message is counted in the totals"
watch_prints_lines
result $? "--watch prints rates until it is interrupted"
watch_is_stopped
result $? "--watch does not make up for a stop"
prometheus_writes_a_file
result $? "--prometheus replaces a file"
prometheus_hits_a_limit
result $? "--prometheus leaves the old file if it cannot write all of the new one"
with_device prometheus_escapes "--prometheus escapes names"
with_device blanks_in_a_name "names with blanks are escaped in fdinfo"
usage "a file that cannot be written" "cannot write '/nix/dat.prom'" --prometheus /nix/dat.prom
prometheus_refuses_what_is_no_file
result $? "--prometheus replaces only a regular file"
with_device prometheus_goes_on "--prometheus --watch goes on without an adapter, the driver or the directory"
prometheus_empties_a_file
result $? "--prometheus leaves no samples of an adapter that is not there"
expect "counters of an unknown adapter" 1 "no RDMA adapter 'nix'" "$info" --stats nix
json "the counters as JSON" --stats
json "the list as JSON"
json "everything as JSON" --all
json "an adapter as JSON" "$dev"
json "an unknown adapter as JSON" nix
json "the check as JSON" --check
expect "the check finds nothing wrong" 0 "a message to itself arrived" "$info" --check

printf '%s\n' "my0 u1.2 threadsafe default libdat.so.1 dat.1.2 \"$dev\" \"\"" >"$conf"
names_are_lines
result $? "--list prints only names"
if command -v strace >/dev/null; then
	names_open_no_adapter
	result $? "--list opens no adapter"
else
	n=$((n + 1))
	echo "ok $n info.--list opens no adapter # SKIP there is no strace"
fi

printf '%s\n' "my0 u1.2 threadsafe default libdat.so.1 dat.1.2 \"$dev\" \"\"" \
	'short u1.2 threadsafe' \
	'other u1.2 threadsafe default libnix.so.1 nix.1.0 "" ""' \
	$'"q\\"\\\\\e[1m\377\303\251\355\240\200" u1.2 threadsafe default libnix.so.1 nix.1.0 "" ""' >"$conf"
expect "a name comes with its file and line" 0 "$conf:1" with_conf "$info"
expect "a malformed line is reported" 1 "$conf:2: fewer than 8 fields" with_conf "$info" --check
expect "a missing library is reported" 1 "$conf:3: libnix.so.1" with_conf "$info" --check
DAT_OVERRIDE=$conf json "JSON with any name"
well_worded
result $? "each problem has advice"
kernels_are_judged
result $? "each kernel is judged by its release"

chmod 600 /dev/dat
expect "no permission names the group" 1 "group 'rdma'" as_nobody "$info" --check
chmod 666 /dev/dat
expect "little locked memory names the limit" 1 "warn  memlock   ulimit -l" little_memory

if [ -z "$DAT_KO" ]; then
	for name in "no driver names modprobe" "without the driver, a newer kernel is doubted" \
		"what keeps the driver from loading is told" "what the kernel said of the driver is told" \
		"what the kernel said before it took the driver is not told" \
		"what the kernel said of an older driver is not told"; do
		n=$((n + 1))
		echo "ok $n info.$name # SKIP DAT_KO does not say where dat.ko is, so it is not taken away"
	done
	exit 0
fi
for _ in {1..50}; do
	rmmod dat_rsm 2>/dev/null
	rmmod dat 2>/dev/null && break
	pause 0.1
done
expect "no driver names modprobe" 1 "modprobe dat" "$info" --check
kernels_without_the_driver
result $? "without the driver, a newer kernel is doubted"
reasons_are_told
result $? "what keeps the driver from loading is told"
refusals_are_told
result $? "what the kernel said of the driver is told"
a_load_ends_a_refusal
result $? "what the kernel said before it took the driver is not told"
older_refusals_do_not_count
result $? "what the kernel said of an older driver is not told"
