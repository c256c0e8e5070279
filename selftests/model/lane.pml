/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) The dat authors */
/*
 * A lane of the transport lo: which thread carries out the requests of a sender, and which looks
 * again, as drawn in kmod/lo/lane.c, with the same letters.  README.rst maps the steps to
 * functions.
 *
 *   sender      posts MSGS requests to its ring, and kicks if the ring asks for a kick; or
 *               (-DKERNEL) each post runs the pump, and a tasklet carries out
 *   receiver    posts RECVS receives to its ring, and kicks if the ring asks for a kick; or
 *               (-DKERNEL) each post runs the pump; (-DPOLLS=n) polls n times, then sleeps
 *   tasklet, worker
 *
 * The ring of the sender is the matter of ring.pml and is simple here.  So is that of the receiver,
 * except that its pump asks for a kick only while a message waits.  (B), (D) and (E) of
 * <rdma/dat_ring.h> are written as (ring B), (ring D) and (ring E).  The device always has room.
 *
 * -DPARTS=n: slices of a message.  -DSRQ: two lanes use one SRQ, and a sender has each; no worker.
 * -DCLOSE: a teardown closes the lane (with SRQ: lane 1).  -DTIMER: polling ends at any time.
 * -DFED: all receives are there at the start.  -DNO_<X>: leave out step or barrier X.
 *
 * -DWEAK: the mark and the queues are in weak memory (mem.pml).  Two threads post RDMA operations,
 * which need no receives, and kick; there are no other threads.  With -DUNSTALL one thread posts
 * messages, and the other posts the receives.  The other variants have memory without delays,
 * because locks and work items order the rest.
 */
#ifndef MSGS
#define MSGS	2
#endif
#ifndef RECVS
#define RECVS	MSGS
#endif
#ifndef PARTS
#define PARTS	1
#endif
#ifdef SRQ
#define LANES	2
#else
#define LANES	1
#endif

/* Memory locations. */
#define WANT	0
#define TAIL	(WANT + LANES)
#define RTAIL	(TAIL + LANES)		/* tail of the queue of receives in the driver */
#define POSTED	(RTAIL + 1)		/* tail of the ring of the receiver */
#define NREL	(POSTED + 1)
#define ROUND	NREL
#define ASKS	(ROUND + 1)		/* NEED_KICK of that ring */
#define NLOC	(ASKS + 1)
#ifndef HIST
#define HIST	14
#endif

#ifdef WEAK
#define SENDER	0		/* + thread */
#define RECEIVER 1
#define NTHREAD	2
#else
#define SENDER	0		/* + lane */
#endif

#define READS(t, l)	((l) != ASKS || (t) == RECEIVER)

/* Locks. */
#define EPR	0
#define CQ	1
#define SRQL	2
#define LANE	3
#define EPS	(LANE + LANES)
#define NLOCK	(EPS + LANES)

/* STEP: steps that only one thread takes at a time, or that the order of others does not change. */
#ifdef WEAK
#include "mem.pml"
#define STEP
#else
#define STEP	atomic
byte cell[NLOC];
bool held[NLOCK];

#define store_relaxed(loc, value)	cell[loc] = value
#define store_release(loc, value)	cell[loc] = value
#define load_relaxed(loc, to)		to = cell[loc]
#define load_acquire(loc, to)		to = cell[loc]
#define exchange(loc, value, old)	cell[loc] = value
#define full_barrier()			skip
#define lock(which)			atomic { !held[which] -> held[which] = true }
#define unlock(which)			held[which] = false
#define leave()				skip
#endif

#define NONE	255
/* Slices that a kick or a tasklet carries out.  Without a worker, it carries out all. */
#if defined(WEAK) || defined(SRQ)
#define TURN	99
#else
#define TURN	1
#endif

/* The ring of each sender; ep->lock, and the index that the process writes. */
byte posted[LANES], head[LANES], inflight[LANES];
bool need_kick[LANES];
/* The queue of each sender, from its oldest request on; lane->lock. */
byte fhead[LANES], parts[LANES];
byte ftail[LANES];		/* copy of TAIL; ep->lock */
byte rhead;			/* queue of receives; lane->lock */
/* ep->lock of the receiver; the pump has taken @rtail receives from the ring. */
byte rtail;
bool hungry, armed;
bool closed[LANES];		/* lane->lock */
bool sched[LANES], work[LANES];	/* tasklet and work item */
/* The SRQ; srq->lock. */
byte bufs;
bool taken[LANES], waits[LANES];
byte first = NONE;		/* the lane that waits for longer, if any */
/* The receiver polls: evd->busy.on, which is read under the lock of the round. */
bool polling;
/* For assertions. */
byte delivered, copied, inside[LANES];
bool gone[LANES];

#define WINDOW	2

/* lane_schedule(): a tasklet for the requests of a kernel module, else a work item */
inline schedule(x)
{
#if defined(KERNEL) || defined(SRQ)
#ifdef NO_TASKLET
	skip
#else
	sched[x] = true
#endif
#else
	work[x] = true
#endif
}

/* lo_lane_posted() */
inline mark(x, runner)
{
#ifndef NO_MARK
#ifdef NO_A
	store_relaxed(WANT + x, 1);
#else
	store_release(WANT + x, 1);			/* (A) */
#endif
#endif
	if
	:: !runner -> schedule(x)
	:: else
	fi
}

/* lo_lane_wake() */
inline wake(x, runner)
{
#ifdef NO_A_WAKE
	store_release(WANT + x, 1);
#else
	exchange(WANT + x, 1, n);			/* (A) */
	n = 0;
#endif
	if
	:: !runner -> schedule(x)
	:: else
	fi
}

/* dat_queue_pump_sq(), lo_post_send(); ep->lock of the sender is held. */
inline pump(x, runner)
{
	do
	:: STEP {
		atomic {
			n = 0;
			do
			:: posted[x] != head[x] && inflight[x] < WINDOW ->
				head[x]++;
				inflight[x]++;
				ftail[x]++;
				n = 1
			:: else -> break
			od
		}
		if
		:: n ->
#ifdef NO_A
			/* The mark overtakes the request. */
			mark(x, runner);
			store_release(TAIL + x, ftail[x])
#else
			store_release(TAIL + x, ftail[x]);
			mark(x, runner)
#endif
		:: else
		fi }
		/* The threads that poll take requests from the ring. */
		atomic {
			load_relaxed(ROUND, n);
			if
			:: inflight[x] || n -> need_kick[x] = false; n = 0; break
			:: else -> need_kick[x] = true
			fi
		}
#ifdef NO_ARM_LOOK
		break
#else
		if
		:: posted[x] == head[x] -> break
		:: else
		fi
#endif
	od
}

/* lane_join(); the lane is locked. */
inline join()
{
#ifdef POLLS
	lock(CQ);
	load_relaxed(ROUND, n);
	if
	:: polling && !n -> store_relaxed(ROUND, 1)
	:: else
	fi;
	n = 0;
	unlock(CQ)
#else
	skip
#endif
}

/* The message has ended, and so has its receive. */
inline took(x)
{
#if !defined(WEAK) || defined(UNSTALL)
#ifdef SRQ
	taken[x] = false;
#else
	rhead++;
#endif
	delivered++;
	join()
#else
	skip
#endif
}

#ifdef SRQ
/* srq_give(); srq->lock is held. */
inline give()
{
	if
#ifndef NO_GIVE
	:: first != NONE ->
		waits[first] = false;
		taken[first] = true;
#ifndef NO_GIVE_WAKE
		if
		:: first == 0 -> wake(0, false)
		:: else -> wake(1, false)
		fi;
#endif
		first = (first == 0 && waits[1] -> 1 : (first == 1 && waits[0] -> 0 : NONE))
#endif
	:: else -> bufs++
	fi
}

/* lo_srq_take() */
inline find(x)
{
	lock(SRQL);
	atomic {
		if
		:: !taken[x] && !waits[x] ->
			if
			:: bufs -> bufs--; taken[x] = true
			:: else ->
				waits[x] = true;
				first = (first == NONE -> x : first)
			fi
		:: else
		fi;
		got = taken[x]
	}
	unlock(SRQL)
}
#elif defined(WEAK) && !defined(UNSTALL)
inline find(x)
{
	got = true
}
#else
/*
 * dat_queue_pump_rq(), lo_post_recv(); ep->lock of the receiver is held.  Sets @got if it takes a
 * receive from the ring.
 */
inline pump_rq(runner)
{
	do
	:: STEP {
		load_acquire(POSTED, n);		/* (ring D) */
		if
		:: n != rtail ->
			rtail = n;
			store_release(RTAIL, rtail);
			got = true;
			if
#ifndef NO_UNSTALL
			:: hungry -> hungry = false; wake(0, runner)
#endif
			:: else
			fi
		:: else
		fi;
		n = 0;
		/* dat_queue_kick_after() */
		if
		:: hungry ->
			armed = true;
#ifndef NO_RECV_ARM
			store_relaxed(ASKS, 1)
#endif
		:: else ->
			if
			:: armed -> store_relaxed(ASKS, 0); armed = false
			:: else
			fi;
			break
		fi }
#ifdef NO_RECV_LOOK
		break
#else
		STEP {
#ifndef NO_RECV_E
			full_barrier();			/* (ring E) */
#endif
			load_acquire(POSTED, n);	/* (ring D) */
			if
			:: n == rtail -> n = 0; break
			:: else -> n = 0
			fi
		}
#endif
	od
}

/* batch_recv(), pull_recv() */
inline find(x)
{
	STEP {
		load_acquire(RTAIL, n);
		got = (n != rhead);
		n = 0
	}
	if
	:: got
	:: else ->
		lock(EPR);
		got = (rtail != rhead);
		pump_rq(true);
		if
		:: got
		:: else ->
#ifdef NO_HUNGRY_LOCK
			unlock(EPR);
			lock(EPR);
#endif
#ifndef NO_HUNGRY
			hungry = true;
#endif
			pump_rq(true)
		fi;
		unlock(EPR)
	fi
}
#endif

/* lo_slice(); the lane is locked.  One request at most. */
inline slice(x)
{
	STEP {
		more = false;
		inside[x]++;
		assert(inside[x] == 1);
		n = fhead[x];
		if
		:: !closed[x] -> load_acquire(TAIL + x, n)
		:: else
		fi;
		got = (n != fhead[x]);
		n = 0
	}
	if
	:: got -> find(x)
	:: else
	fi;
	STEP {
		assert(!got || !gone[x]);
		if
		:: got && parts[x] + 1 < PARTS ->
			copied++;
			assert(copied <= LANES * MSGS * PARTS);
#ifndef NO_POSITION
			parts[x]++;
#endif
			more = true;
			got = false
		:: got && parts[x] + 1 >= PARTS ->
			copied++;
			assert(copied <= LANES * MSGS * PARTS);
			parts[x] = 0;
			took(x);
			/*
			 * The slice looks for the next request before it reports this one, unless
			 * its limit is reached.
			 */
			if
			:: load_acquire(TAIL + x, n); more = (n != fhead[x] + 1)
#ifndef SRQ
			:: more = true
#endif
			fi;
			n = 0
		:: !got
		fi
	}
	if
	:: got ->
		lock(EPS + x);
		STEP { fhead[x]++; inflight[x]--; got = false }
		pump(x, true);
		unlock(EPS + x)
	:: else
	fi;
	inside[x]--
}

inline trylock_lane(x)
{
	atomic {
		ok = !held[LANE + x];
		if
		:: ok -> lock(LANE + x)
		:: else
		fi
	}
}

inline locked_slice(x)
{
#ifdef NO_CLEAR_FIRST
	slice(x);
	store_relaxed(WANT + x, 0);
#else
	STEP {
#ifdef NO_C
	store_relaxed(WANT + x, 0);
	full_barrier()
#else
	exchange(WANT + x, 0, n);			/* (C) */
	n = 0
#endif
	}
	slice(x);
#endif
	STEP {
		if
#ifdef NO_D
		:: more -> store_relaxed(WANT + x, 1)
#elif !defined(NO_MORE)
		:: more -> exchange(WANT + x, 1, n); n = 0	/* (D) */
#endif
		:: else
		fi;
		more = false;
		unlock(LANE + x)
	}
}

/* lane_carry(); sets @left if it has carried out @slices slices and more is left. */
inline carry(x, slices)
{
	left = false;
	do
	:: STEP {
#ifdef NO_B_POST
		if
		:: count -> full_barrier()
		:: else
		fi;
#elif defined(NO_B_UNLOCK)
		if
		:: !count -> full_barrier()
		:: else
		fi;
#else
		full_barrier();				/* (B) */
#endif
		load_relaxed(WANT + x, n);
		ok = false;
		if
		:: n && count == slices -> left = true
		:: n && count != slices -> trylock_lane(x)
		:: else
		fi;
		n = 0 }
		if
		:: ok -> ok = false; count++; locked_slice(x)
		:: else -> break
		fi
#ifdef NO_RECHECK
		; break
#endif
	od;
	count = 0
}

/* lo_run(): a slice, then the rest, or a work item does the rest. */
inline run_lane(x)
{
#ifndef NO_RUN
	carry(x, TURN);
	if
#ifndef NO_RUN_WORK
	:: left -> work[x] = true
#endif
	:: else
	fi;
	left = false
#else
	skip
#endif
}

proctype sender(byte me; byte x)
{
	byte n, count;
	bool more, got, ok, left;

	do
#ifdef KERNEL
	:: posted[x] < MSGS ->
		lock(EPS + x);
		posted[x]++;
		pump(x, false);
		unlock(EPS + x)
#else
	:: atomic { posted[x] < MSGS ->
		posted[x]++;
		if
#ifdef UNSTALL
		:: true
#else
		:: need_kick[x]
		:: else -> goto next
#endif
		fi }
		lock(EPS + x);
		pump(x, true);
		unlock(EPS + x);
		run_lane(x);
next:		skip
#endif
	:: else -> break
	od;
#ifdef WEAK
	leave();
	/* Both threads have ended, so nothing more is carried out. */
	fhead[x] == MSGS
#endif
}

/* The receiver posts receive number @i. */
#ifdef SRQ
/* lo_srq_post() */
inline post_recv()
{
	lock(SRQL);
	give();
	unlock(SRQL)
}
#elif defined(KERNEL)
inline post_recv()
{
	lock(EPR);
	store_release(POSTED, i);
#ifdef NO_UNSTALL_RUN
	pump_rq(true);
#else
	pump_rq(false);
#endif
	got = false;
	unlock(EPR)
}
#elif !defined(WEAK) || defined(UNSTALL)
/* A process: du_queue_push(); dat_queue_kick(), lo_run() */
inline post_recv()
{
	STEP {
		store_release(POSTED, i);
#ifndef NO_RECV_B
		full_barrier();				/* (ring B) */
#endif
		load_relaxed(ASKS, n)
	}
	if
	:: n ->
		n = 0;
		lock(EPR);
		pump_rq(true);
		got = false;
		unlock(EPR);
#ifndef NO_RUN_IN
		run_lane(0)
#endif
	:: else
	fi
}
#endif

#ifdef UNSTALL
proctype receiver_kicks(byte me)
{
	byte n, count, i;
	bool more, got, ok, left;

	do
	:: i < RECVS -> i++; post_recv()
	:: else -> break
	od;
	leave();
	fhead[0] == MSGS
}
#endif

#ifndef WEAK
#ifdef POLLS
/* lo_look() */
inline look(x)
{
	load_relaxed(ROUND, n);
	if
	:: n ->
		n = 0;
		trylock_lane(x);
		if
		:: ok ->
			if
			:: !closed[x] && (posted[x] != head[x] || cell[WANT + x]) ->
				lock(EPS + x);
				pump(x, true);
				unlock(EPS + x);
				locked_slice(x)
			:: else -> unlock(LANE + x)
			fi;
			full_barrier();			/* (B) */
			load_relaxed(WANT + x, n);
			if
			:: n -> load_relaxed(ROUND, n);
				if
#ifndef NO_LOOK_WAKE
				:: !n -> schedule(x)
#endif
				:: else
				fi
			:: else
			fi;
			n = 0
		:: else
		fi;
		ok = false
	:: else
	fi
}
#endif

#ifdef POLLS
/* dat_busy_leave(), lo_rearm() */
inline leave_round()
{
	lock(CQ);
	load_relaxed(ROUND, n);
	if
	:: n ->
#ifdef NO_LEAVE_ORDER
		work[0] = true;
		store_relaxed(ROUND, 0)
#else
		store_relaxed(ROUND, 0);
#ifndef NO_LEAVE_WORK
		work[0] = true
#endif
#endif
	:: else
	fi;
	n = 0;
	unlock(CQ)
}

/* busy_timer(): makes the lane leave at any time. */
proctype timer()
{
	byte n;

	leave_round()
}
#endif

#define LEAST(a, b)	((a) < (b) -> (a) : (b))

proctype receiver(byte me)
{
	byte n, count, i, polls;
	bool more, got, ok, left;

#ifdef FED
	i = RECVS;
#endif
#ifdef POLLS
	polling = true;
#endif
	do
	:: i < RECVS -> i++; post_recv()
#ifdef POLLS
	:: polls < POLLS -> polls++; look(0)
#endif
	:: i == RECVS -> break
	od;
#ifdef POLLS
	/* dat_busy_stop(): this end is about to sleep. */
	polling = false;
	leave_round();
#endif
	leave();
#ifndef CLOSE
	delivered == LEAST(MSGS * LANES, RECVS)
#elif defined(SRQ)
	/* Only the receives that lane 1 has used are missing for lane 0. */
	fhead[0] == MSGS || fhead[0] + fhead[1] == RECVS
#endif
}

proctype tasklet(byte me; byte x)
{
	byte n, count;
	bool more, got, ok, left;

end:	do
	:: sched[x] ->
		sched[x] = false;
		carry(x, TURN);
		if
#ifndef NO_TASK_WORK
		:: left -> work[x] = true
#endif
		:: else
		fi;
		left = false
	od
}

inline do_work(x)
{
	work[x] = false;
	lock(LANE + x);
#ifndef NO_WORK_PUMP
	if
	:: !closed[x] ->
		lock(EPS + x);
		pump(x, true);
		unlock(EPS + x)
	:: else
	fi;
#endif
	unlock(LANE + x);
	carry(x, 1);
	if
	:: left -> work[x] = true
	:: else
	fi;
	left = false
}

proctype worker(byte me)
{
	byte n, count;
	bool more, got, ok, left;

end:	do
	:: work[0] -> do_work(0)
	od
}

#ifdef CLOSE
#define LAST	(LANES - 1)
/* lo_lane_close(), lo_srq_leave() */
proctype closer(byte me)
{
	byte n;

#ifdef NO_CLOSE_LOCK
	closed[LAST] = true;
#else
	lock(LANE + LAST);
	closed[LAST] = true;
#ifdef SRQ
	lock(SRQL);
	waits[LAST] = false;
	if
	:: first == LAST -> first = (waits[0] -> 0 : NONE)
	:: else
	fi;
	if
#ifndef NO_GIVE_BACK
	:: taken[LAST] -> taken[LAST] = false; give()
#endif
	:: else
	fi;
	unlock(SRQL);
#endif
	unlock(LANE + LAST);
#endif
	gone[LAST] = true;
	leave()
}
#endif
#endif

init
{
	atomic {
		need_kick[0] = true;
#ifdef FED
		cell[POSTED] = RECVS;
#endif
#ifdef WEAK
		run sender(SENDER, 0);
#ifdef UNSTALL
		run receiver_kicks(RECEIVER);
#else
		run sender(SENDER + 1, 0);
#endif
#else
		run receiver(0);
		run sender(SENDER, 0);
		run tasklet(0, 0);
#ifndef SRQ
		run worker(0);
#else
		need_kick[1] = true;
		run sender(SENDER + 1, 1);
		run tasklet(0, 1);
#endif
#ifdef CLOSE
		run closer(0);
#endif
#ifdef TIMER
		run timer()
#endif
#endif
	}
}
