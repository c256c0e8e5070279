#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Copyright (c) The dat authors
#
# Check the models of the ring protocol, of busy polling and of the transport lo, and that they find
# the errors of models with a step left out.
#
#   run.sh [-j jobs] [-l] [-k dir]
#
# -l adds runs that take minutes and a few GB; -k keeps the files of each run.  Each run prints a
# line: "ok N model NAME: result" or "not ok N model NAME: result".  Exit status 1: a run is not
# ok.
#
# "holds": the protocol has no error.  "needs X": without X it has an error.  "spare X": even
# without X it has no error, because of something else that README.rst names.  If such a run ever
# finds an error, README.rst and the comments in <rdma/dat_ring.h> have to be corrected.
set -u

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
jobs=$(($(nproc) < 4 ? $(nproc) : 4))
long=
keep=
while getopts j:lk: opt; do
	case $opt in
	j) jobs=$OPTARG ;;
	l) long=1 ;;
	k) mkdir -p "$OPTARG" && keep=$(cd "$OPTARG" && pwd) ;;
	*) echo "usage: run.sh [-j jobs] [-l] [-k dir]" >&2; exit 2 ;;
	esac
done

if ! command -v spin >/dev/null || ! command -v "${CC:-gcc}" >/dev/null; then
	echo "ok 1 model # SKIP no spin (scripts/deps installs it), or no compiler"
	exit 0
fi

# Limits of each run: MB, seconds of CPU.  For small models the compile time dominates.
MEMORY=512 TIME=60 CFLAGS=(-O0)
[ -z "$long" ] || MEMORY=4096 TIME=1800 CFLAGS=(-O2 -DCOLLAPSE)

# what  model  name  options
plan() {
	cat <<-END
	holds ring  sq		-DKIND=SQ -DPOSTS=4 -DKICKS=0
	holds ring  sq-kicks	-DKIND=SQ -DPOSTS=3
	holds ring  sq-threads	-DKIND=SQ -DPOSTS=2 -DPRODUCERS=2 -DKICKS=0
	holds ring  rq		-DKIND=RQ -DPOSTS=3 -DKICKS=0
	holds ring  rq-kicks	-DKIND=RQ -DPOSTS=2
	holds ring  rq-4	-DKIND=RQ -DPOSTS=3 -DKICKS=0 -DENTRIES=4 -DFEW
	holds ring  srq		-DKIND=SRQ -DPOSTS=3 -DKICKS=0
	holds ring  srq-kicks	-DKIND=SRQ -DPOSTS=2
	holds ring  sq-early	-DKIND=SQ -DPOSTS=2 -DEARLY
	holds ring  rq-early	-DKIND=RQ -DPOSTS=2 -DKICKS=0 -DEARLY
	holds ring  more	-DKIND=SQ -DPOSTS=4 -DKICKS=0 -DMORE
	needs ring  more-full	-DPOSTS=4 -DKICKS=0 -DMORE -DNO_FULL
	holds ring  silent	-DKIND=SQ -DPOSTS=3 -DKICKS=0 -DSILENT
	holds ring  silent-4	-DKIND=SQ -DPOSTS=4 -DKICKS=0 -DSILENT -DENTRIES=4
	holds ring  silent-p	-DKIND=SQ -DPOSTS=1 -DPOLLER -DKICKS=0 -DSILENT
	needs ring  silent-kick	-DPOSTS=3 -DKICKS=0 -DSILENT -DNO_SILENT_KICK
	needs ring  silent-room	-DPOSTS=4 -DKICKS=0 -DSILENT -DNO_LIMIT
	holds ring  mark	-DKIND=SQ -DPOSTS=3 -DKICKS=0 -DSILENT -DASK -DENTRIES=4
	needs ring  mark-pump	-DPOSTS=3 -DKICKS=0 -DSILENT -DASK -DENTRIES=4 -DNO_MARK_PUMP
	holds ring  poller	-DKIND=SQ -DPOSTS=1 -DPOLLER -DKICKS=0
	needs ring  A		-DPOSTS=3 -DNO_A
	needs ring  B		-DPOSTS=3 -DNO_B
	holds ring  bit-first	-DKIND=SQ -DPOSTS=3 -DBIT_FIRST
	holds ring  bit-first-p	-DKIND=SQ -DPOSTS=1 -DPOLLER -DKICKS=0 -DBIT_FIRST
	needs ring  B-C-always	-DPOSTS=4 -DBIT_FIRST -DNO_B -DALWAYS_C
	spare ring  C		-DPOSTS=2 -DBIT_FIRST -DNO_C
	needs ring  D		-DPOSTS=3 -DNO_D
	needs ring  E		-DPOSTS=3 -DNO_E
	needs ring  F-atomic	-DPOSTS=3 -DBIT_FIRST -DNO_F
	spare ring  F-barrier	-DPOSTS=2 -DBIT_FIRST -DNO_F_BARRIER
	spare ring  flag-order	-DPOSTS=2 -DNO_ORDER
	needs ring  E-F-barrier	-DPOSTS=3 -DBIT_FIRST -DNO_E -DNO_F_BARRIER
	needs ring  bit		-DPOSTS=3 -DBIT_FIRST -DNO_BIT
	needs ring  atomic-or	-DPOSTS=3 -DNO_OR
	needs ring  arm		-DPOSTS=3 -DNO_ARM
	needs ring  look-again	-DPOSTS=3 -DNO_LOOK
	needs ring  disarm	-DPOSTS=3 -DNO_DISARM
	needs ring  re-pump	-DPOSTS=3 -DNO_REPUMP
	needs ring  room	-DPOSTS=4 -DNO_ROOM
	needs ring  kick-at-1	-DKIND=RQ -DPOSTS=3 -DNO_LAST
	needs ring  last-take	-DKIND=SRQ -DPOSTS=3 -DNO_TAKE
	needs ring  done-order	-DKIND=SRQ -DPOSTS=4 -DKICKS=0 -DFEW -DNO_DONE
	needs ring  poller-B	-DPOSTS=1 -DPOLLER -DKICKS=0 -DNO_B
	spare ring  poller-C	-DPOSTS=1 -DPOLLER -DKICKS=0 -DBIT_FIRST -DNO_C
	needs ring  poller-bit	-DPOSTS=1 -DPOLLER -DKICKS=0 -DNO_BIT
	needs ring  poller-F	-DPOSTS=1 -DPOLLER -DKICKS=0 -DNO_F_BARRIER
	needs ring  park-pumps	-DPOSTS=1 -DPOLLER -DKICKS=0 -DNO_PARK_PUMP
	needs ring  park-order	-DPOSTS=1 -DPOLLER -DKICKS=0 -DNO_PARK_ORDER
	holds event drawing	-DEVENTS=5
	holds event driver	-DEVENTS=5 -DLOCKED
	holds event poll	-DEVENTS=5 -DWATCH=POLL
	holds event epoll	-DEVENTS=5 -DWATCH=EPOLL
	holds event epoll-edge	-DEVENTS=5 -DWATCH=EDGE
	holds event cno		-DEVENTS=5 -DWATCH=CNO
	holds event slots	-DEVENTS=4 -DSLOTS
	spare event G		-DEVENTS=4 -DNO_G
	needs event H		-DEVENTS=4 -DNO_H
	needs event I		-DEVENTS=4 -DNO_I
	needs event J		-DEVENTS=4 -DNO_J
	needs event K		-DEVENTS=4 -DNO_K
	needs event L		-DEVENTS=4 -DNO_L
	needs event look	-DEVENTS=4 -DNO_LOOK
	needs event look-woken	-DEVENTS=4 -DNO_LOOP
	needs event full	-DEVENTS=4 -DNO_FULL
	needs event report-once	-DEVENTS=4 -DNO_ONCE
	needs event offer-clears -DEVENTS=5 -DNO_CLEAR
	needs event done-first	-DEVENTS=4 -DSLOTS -DNO_DONE
	needs event poll-wake	-DEVENTS=4 -DWATCH=POLL -DNO_WATCH_WAKE
	needs event poll-order	-DEVENTS=4 -DWATCH=POLL -DNO_WATCH_ORDER
	needs event epoll-order	-DEVENTS=4 -DWATCH=EPOLL -DNO_WATCH_ORDER
	needs event cno-trigger	-DEVENTS=4 -DWATCH=CNO -DNO_WATCH_WAKE
	needs event cno-order	-DEVENTS=4 -DWATCH=CNO -DNO_WATCH_ORDER
	holds busy  go		-DCPUS=2
	holds busy  go-kick	-DKICK
	holds busy  go-stop	-DOTHER -DPOLLS=1
	holds busy  wait	-DWAIT -DNO_TIMER -DKICK -DCPUS=2
	holds busy  wait-others	-DWAIT -DNO_TIMER -DSECOND
	holds busy  close	-DCLOSE -DNO_TIMER -DKICK
	needs busy  timer	-DNO_TIMER
	needs busy  timer-join	-DNO_ARM
	needs busy  timer-again	-DNO_REARM
	needs busy  timer-stop	-DNO_ON -DOTHER
	needs busy  schedule	-DNO_SCHEDULE
	needs busy  complete	-DNO_COMPLETE -DKICK
	needs busy  missed	-DNO_MISSED
	needs busy  stop	-DNO_STOP -DWAIT -DNO_TIMER
	needs busy  stop-order	-DNO_ORDER -DWAIT -DNO_TIMER -DSECOND
	needs busy  stop-lock	-DNO_STOP_LOCK -DWAIT -DNO_TIMER
	needs busy  begin-check	-DNO_CHECK -DWAIT -DNO_TIMER -DSECOND
	needs busy  close-take	-DNO_TAKE -DCLOSE -DNO_TIMER
	holds rsm   ring	-DPOSTS=4
	holds rsm   ring-1	-DPOSTS=4 -DROOM=1
	holds rsm   ring-4	-DPOSTS=4 -DENTRIES=4
	holds rsm   poller	-DPOSTS=2 -DWATCH
	needs rsm   A		-DNO_A
	needs rsm   B		-DNO_B
	needs rsm   D		-DNO_D
	needs rsm   E		-DNO_E
	needs rsm   F		-DNO_F
	needs rsm   G		-DNO_G
	needs rsm   room	-DNO_ROOM
	needs rsm   arm		-DNO_ARM
	needs rsm   look-again	-DNO_LOOK
	needs rsm   completed	-DNO_COMPLETED
	needs rsm   poller-B	-DPOSTS=3 -DWATCH -DNO_B
	needs rsm   poller-E	-DPOSTS=3 -DWATCH -DNO_E
	needs rsm   last-look	-DPOSTS=3 -DWATCH -DNO_LAST
	holds lane  kick
	holds lane  kick-few	-DMSGS=3 -DRECVS=2 -DFED
	holds lane  kernel	-DKERNEL
	holds lane  parts	-DPARTS=2
	holds lane  close	-DCLOSE -DMSGS=1
	holds lane  close-2	-DCLOSE -DFED
	holds lane  polls	-DPOLLS=1
	holds lane  timer	-DPOLLS=1 -DTIMER -DFED
	holds lane  srq		-DSRQ -DMSGS=1
	holds lane  srq-parts	-DSRQ -DMSGS=1 -DPARTS=2
	holds lane  srq-close	-DSRQ -DMSGS=1 -DCLOSE -DRECVS=1
	holds lane  weak	-DWEAK
	holds lane  unstall-weak -DWEAK -DUNSTALL
	needs lane  A-wake	-DWEAK -DUNSTALL -DNO_A_WAKE
	needs lane  run-in	-DWEAK -DUNSTALL -DNO_RUN_IN
	needs lane  A		-DWEAK -DNO_A
	needs lane  B		-DWEAK -DNO_B_POST
	needs lane  B-unlock	-DWEAK -DNO_B_UNLOCK
	needs lane  C		-DWEAK -DNO_C
	needs lane  D		-DWEAK -DNO_D
	needs lane  mark	-DNO_MARK
	needs lane  tasklet	-DKERNEL -DNO_TASKLET
	needs lane  task-work	-DKERNEL -DNO_TASK_WORK
	needs lane  run		-DNO_RUN
	needs lane  run-work	-DPARTS=2 -DNO_RUN_WORK
	needs lane  arm-look	-DNO_ARM_LOOK
	needs lane  clear-first	-DNO_CLEAR_FIRST
	needs lane  recheck	-DNO_RECHECK
	needs lane  more	-DMSGS=3 -DNO_MORE
	needs lane  parts-more	-DPARTS=2 -DNO_MORE
	needs lane  position	-DPARTS=2 -DNO_POSITION
	needs lane  hungry	-DNO_HUNGRY
	needs lane  hungry-lock	-DKERNEL -DNO_HUNGRY_LOCK
	needs lane  unstall	-DNO_UNSTALL
	needs lane  unstall-run	-DKERNEL -DNO_UNSTALL_RUN
	needs lane  recv-arm	-DNO_RECV_ARM
	needs lane  recv-look	-DWEAK -DUNSTALL -DNO_RECV_LOOK
	needs lane  recv-B	-DWEAK -DUNSTALL -DNO_RECV_B
	needs lane  recv-E	-DWEAK -DUNSTALL -DNO_RECV_E
	needs lane  leave-order	-DPOLLS=1 -DFED -DNO_LEAVE_ORDER
	needs lane  leave-work	-DPOLLS=1 -DFED -DNO_LEAVE_WORK
	needs lane  work-pump	-DPOLLS=1 -DFED -DNO_WORK_PUMP
	needs lane  look-wake	-DPOLLS=1 -DFED -DTIMER -DNO_LOOK_WAKE
	needs lane  close-lock	-DCLOSE -DMSGS=1 -DNO_CLOSE_LOCK
	needs lane  srq-give	-DSRQ -DMSGS=1 -DNO_GIVE
	needs lane  srq-wake	-DSRQ -DMSGS=1 -DNO_GIVE_WAKE
	needs lane  srq-back	-DSRQ -DMSGS=1 -DCLOSE -DRECVS=1 -DNO_GIVE_BACK
	holds slot  keys
	needs slot  A		-DNO_A
	needs slot  B		-DNO_B
	needs slot  C		-DNO_C
	needs slot  again	-DNO_AGAIN
	needs slot  wait	-DNO_WAIT
	needs slot  sweep	-DNO_SWEEP
	END
	[ -n "$long" ] || return 0
	cat <<-END
	holds ring  long-sq	-DKIND=SQ -DPOSTS=4
	holds ring  long-rq	-DKIND=RQ -DPOSTS=3
	holds ring  long-rq-i	-DKIND=RQ -DPOSTS=4 -DKICKS=0
	holds ring  long-rq-4	-DKIND=RQ -DPOSTS=3 -DKICKS=0 -DENTRIES=4
	holds ring  long-srq	-DKIND=SRQ -DPOSTS=3
	holds ring  long-srq-i	-DKIND=SRQ -DPOSTS=4 -DKICKS=0
	holds ring  long-sq-e	-DKIND=SQ -DPOSTS=3 -DEARLY
	holds ring  long-rq-e	-DKIND=RQ -DPOSTS=2 -DEARLY
	holds ring  long-silent	-DKIND=SQ -DPOSTS=4 -DSILENT -DASK -DENTRIES=4
	holds ring  long-sil-t	-DKIND=SQ -DPOSTS=2 -DPRODUCERS=2 -DKICKS=0 -DSILENT
	holds ring  long-sil-p	-DKIND=SQ -DPOSTS=2 -DPOLLER -DKICKS=0 -DSILENT
	needs ring  long-sil-pk	-DKIND=SQ -DPOSTS=2 -DPOLLER -DKICKS=0 -DSILENT -DNO_SILENT_KICK
	holds ring  long-sil-b	-DKIND=SQ -DPOSTS=3 -DKICKS=0 -DSILENT -DBIT_FIRST
	holds ring  long-poll	-DKIND=SQ -DPOSTS=2 -DPOLLER -DKICKS=0
	holds ring  long-poll-r	-DKIND=RQ -DPOSTS=1 -DPOLLER -DKICKS=0
	holds ring  long-poll-k	-DKIND=SQ -DPOSTS=1 -DPOLLER
	holds ring  long-poll-p	-DKIND=SQ -DPOSTS=1 -DPOLLER -DKICKS=0 -DPARKS=2
	holds ring  long-poll-e	-DKIND=RQ -DPOSTS=1 -DPOLLER -DKICKS=0 -DEARLY
	holds ring  long-poll-s	-DKIND=SRQ -DPOSTS=1 -DPOLLER -DKICKS=0
	spare ring  long-poll-C	-DKIND=RQ -DPOSTS=1 -DPOLLER -DKICKS=0 -DBIT_FIRST -DNO_C
	holds ring  long-2	-DKIND=SQ -DPOSTS=2 -DPRODUCERS=2
	holds ring  long-fine	-DKIND=SQ -DPOSTS=3 -DFINE
	spare ring  long-C	-DKIND=SQ -DPOSTS=4 -DBIT_FIRST -DNO_C
	spare ring  long-C-srq	-DKIND=SRQ -DPOSTS=3 -DBIT_FIRST -DNO_C
	spare ring  long-C-fine	-DKIND=SQ -DPOSTS=3 -DBIT_FIRST -DNO_C -DFINE
	spare ring  long-F	-DKIND=SRQ -DPOSTS=3 -DBIT_FIRST -DNO_F_BARRIER
	spare ring  long-F-fine	-DKIND=SQ -DPOSTS=3 -DBIT_FIRST -DNO_F_BARRIER -DFINE
	spare ring  long-order	-DKIND=RQ -DPOSTS=3 -DNO_ORDER
	holds event long-poll	-DEVENTS=6 -DFINE -DWATCH=POLL
	holds event long-edge	-DEVENTS=6 -DFINE -DWATCH=EDGE
	holds event long-fine	-DEVENTS=5 -DFINE
	holds event long-locked	-DEVENTS=5 -DFINE -DLOCKED
	spare event long-G	-DEVENTS=5 -DFINE -DNO_G
	holds busy  long-go	-DMADE=3 -DCPUS=2 -DKICK
	holds busy  long-stop	-DOTHER
	holds busy  long-wait	-DWAIT -DSECOND -DOTHER -DNO_TIMER -DMADE=3
	holds lane  long-kick	-DMSGS=3
	holds lane  long-close	-DCLOSE
	holds lane  long-polls	-DPOLLS=2
	holds lane  long-timer	-DPOLLS=1 -DTIMER
	holds lane  long-srq	-DSRQ
	holds lane  long-weak	-DWEAK -DMSGS=3
	holds slot  long-keys	-DCOPIERS=2 -DROUNDS=1
	END
}

# Set "found" to the error that was found, or "bad" to why the run is invalid.
judge() {
	local out=$1

	if ! grep -q 'errors: ' "$out"; then
		bad="did not run"
	elif grep -qE 'depth too small|out of memory|reached -DMEMLIM|newest\[.*\]<' "$out"; then
		bad="bounds too small"
	elif ! grep -q 'errors: 0' "$out"; then
		found=$(sed -nE 's/^pan:1: (.*) \(at depth.*/\1/p' "$out" | tr -s ' ')
		found=${found:-error}
	fi
}

run_one() {
	local dir=$1 n=$2 what=$3 model=$4 name=$5 bad="" found="" states verdict=ok
	shift 5

	mkdir -p "$dir"
	cp "$here"/*.pml "$dir"
	cd "$dir" || return
	spin "$@" -a "$model.pml" >spin.out 2>&1 &&
		"${CC:-gcc}" "${CFLAGS[@]}" -w -DSAFETY -DNOFAIR -DMEMLIM="$MEMORY" -o pan pan.c \
			>cc.out 2>&1 &&
		(ulimit -v $((MEMORY * 1024 + 65536)) -t "$TIME" && ./pan -m100000 -w21) >pan.out 2>&1
	touch pan.out
	judge pan.out
	states=$(sed -nE 's/^ *([0-9.e+]+) states, stored.*/\1/p' pan.out)
	case $what in
	needs)	[ -n "$found" ] || verdict="not ok" ;;
	*)	[ -z "$found" ] || verdict="not ok" ;;
	esac
	[ -z "$bad" ] || verdict="not ok"
	echo "$verdict $n model $model: $what $name: ${bad:-${found:-no error}}" \
		"(${states:-0} states)" >line.new
	mv line.new line
}

# Print the lines of finished runs, in order.
show() {
	while [ -e "$work/$shown/line" ]; do
		cat "$work/$shown/line"
		shown=$((shown + 1))
	done
}

work=${keep:-$(mktemp -d "${TMPDIR:-/tmp}/dat-model.XXXXXX")} || exit 1
[ -n "$keep" ] || trap 'rm -rf "$work"' EXIT
rm -f "$work"/*/line
n=0
shown=1
while read -r what model name opts; do
	n=$((n + 1))
	while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do
		wait -n
		show
	done
	# shellcheck disable=SC2086 # options are words
	( run_one "$work/$n" "$n" "$what" "$model" "$name" $opts ) &
done < <(plan)
wait
show
if ((shown <= n)); then
	echo "not ok $shown model: no result"
	exit 1
fi
! grep -q '^not ok' "$work"/*/line
