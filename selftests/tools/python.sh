#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Copyright (c) The dat authors
#
# Run the tests of python/dat, and its example as a server and a client.
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=selftests/common/host.sh
. "$here/host.sh"
# shellcheck source=selftests/common/wait.sh
. "$here/wait.sh"
# shellcheck source=selftests/common/trace.sh
. "$here/trace.sh"
export LD_LIBRARY_PATH=$here/../ulib
export PYTHONPATH=${DAT_PYTHON:-$here/../../python}
echo=$PYTHONPATH/examples/echo.py
find_host "$here/../ulib"
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT

echo "TAP version 13"
if ! command -v python3 >/dev/null; then
	echo "1..0 # SKIP there is no python3"
	exit 4
fi

# result NAME: report the exit status of the previous command.
result() {
	local rc=$? status=ok f
	n=$((n + 1))
	if [ $rc != 0 ]; then
		status="not ok"
		trace_show
		for f in "$tmp"/*; do sed "s|^|# ${f##*/}: |" "$f"; done
	fi
	trace_clear
	echo "$status $n python.$1"
}

echoes() {
	local server rc
	timeout 100 python3 "$echo" >"$tmp/server" 2>&1 &
	server=$!
	seen "$tmp/server" 'listening at' && timeout 60 python3 "$echo" "$host" 50 >"$tmp/client" 2>&1
	rc=$?
	wait $server && [ $rc = 0 ] && has "$tmp/client" '^50 messages came back as they were$' &&
		has "$tmp/server" '^50 messages$'
}

nobody_listens() {
	! python3 "$echo" --port 5056 "$host" >"$tmp/client" 2>&1 &&
		has "$tmp/client" '^echo.py: CONNECTION_EVENT_NON_PEER_REJECTED$'
}

python3 "$here/python_test.py" "$host" >"$tmp/tests" 2>&1
rc=$?
n=$(sed -n 's/^1\.\.//p' "$tmp/tests")
echo "1..$((n + 3))"
grep -v '^1\.\.' "$tmp/tests"
[ $rc = 0 ]
result "the process exits without an error"
echoes
result "echo.py: messages come back"
nobody_listens
result "echo.py: a client without a server says so"
