#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Copyright (c) The dat authors
#
# After a common mistake of a new user, the error message must say what to do.
bin=$(cd "$(dirname "$0")/../ulib" && pwd)
export LD_LIBRARY_PATH=$bin
# shellcheck source=selftests/common/wait.sh
. "$(dirname "$0")/wait.sh"
n=0

# expect NAME TEXT CMD...: succeed if CMD fails and prints TEXT.
expect() {
	local name=$1 text=$2 out status="not ok"
	shift 2
	n=$((n + 1))
	if out=$("$@" 2>&1); then
		echo "# succeeded"
	elif [[ $out == *"$text"* ]]; then
		status=ok
	fi
	printf '# %s\n' "${out//$'\n'/$'\n'# }"
	echo "$status $n messages.$name"
}

as_nobody() { setpriv --reuid=65534 --regid=65534 --clear-groups -- "$@"; }

little_memory() {
	# Run as nobody, because the limit does not apply to privileged users.
	(ulimit -l 64 && as_nobody timeout 20 "$bin/dat-perf" --op write --size 1048576 127.0.0.1)
}

echo "TAP version 13"
echo "1..4"

mode=$(stat -c %a /dev/dat)
restore() {
	# shellcheck disable=SC2086 # words
	[ -e /dev/dat ] || insmod "$DAT_KO" ${DAT_KO_ARGS-}
	# shellcheck disable=SC2086 # words
	[ -e /dev/rsm ] || insmod "$DAT_RSM_KO" ${DAT_RSM_KO_ARGS-}
	chmod 660 /dev/rsm
	chmod "$mode" /dev/dat
}
trap restore EXIT
chmod 600 /dev/dat
expect "no permission names the group" "group 'rdma'" \
	as_nobody timeout 20 "$bin/dat-perf" 127.0.0.1
chmod 666 /dev/dat
expect "too little locked memory names the limit" "ulimit -l" little_memory

if [ -z "$DAT_KO" ]; then
	echo "ok 3 messages.no RSM driver names modprobe # SKIP DAT_KO does not say where dat.ko is, so it is not taken away"
	echo "ok 4 messages.no driver names modprobe # SKIP DAT_KO does not say where dat.ko is, so it is not taken away"
	exit 0
fi
rmmod_soon() { # MODULE
	local i
	for ((i = 0; i < 50; i++)); do
		rmmod "$1" 2>/dev/null && break
		pause 0.1
	done
}

rmmod_soon dat_rsm
expect "no RSM driver names modprobe" "modprobe dat_rsm" "$bin/rsm-nodes" show
rmmod_soon dat
expect "no driver names modprobe" "modprobe dat" "$bin/dat-perf" 127.0.0.1
