/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) The dat authors */
/*
 * Completions: the lower half of the drawing in <rdma/dat_ring.h>, with the same letters, as
 * implemented by the driver and libdat.  README.rst maps the steps to functions.
 *
 *   driver    queues EVENTS events; an event may notify or not; if the ring is full, an event
 *             may be refused instead of lost
 *   consumer  waits for one or more events, or watches a descriptor; consumes some; repeats
 *
 * Indices are numbers modulo 8 that begin just before the wrap.  An event holds its index.
 *
 * The drawing needs no lock between driver and consumer.  With -DLOCKED the model is that of the
 * driver, which takes evd->lock where the drawing has (I) and (J).  -DENTRIES=n, -DEVENTS=n: sizes.
 * -DWATCH=POLL: the consumer waits and calls poll() in turn.  -DWATCH=EPOLL, EDGE or CNO: the
 * consumer uses only epoll (level- or edge-triggered) or a CNO.  -DSLOTS: model status.done too.
 * -DNO_<X>: leave out barrier or step X.
 */
#define POLL	1
#define EPOLL	2
#define EDGE	3
#define CNO	4

#ifndef WATCH
#define WATCH	0
#endif
#if WATCH
#define LOCKED
#endif
#ifndef ENTRIES
#define ENTRIES	2
#endif
#ifndef EVENTS
#define EVENTS	5
#endif
#define START	6		/* first index, just before the wrap */

/* Memory locations.  The events come last. */
#define TAIL	0
#define HEAD	1
#ifdef SLOTS
#define DONE	2
#define NREL	3
#else
#define NREL	2
#endif
#define WAITER	NREL		/* threshold of the waiter, or 0 without a waiter */
#define EVENT	(WAITER + 1)
#define NLOC	(EVENT + ENTRIES)
#define HIST	(2 * EVENTS + 3)

/* Threads. */
#define DRIVER	0
#define CONSUMER 1
#define NTHREAD	2
#define READS(t, l) ((l) == HEAD || (l) == WAITER ? (t) == DRIVER : (t) == CONSUMER)

/* Locks: evd->lock; and the lock of evd->poll, of the epoll file that polls it, or cno->lock. */
#define ELOCK	0
#define PLOCK	1
#define NLOCK	2

#include "mem.pml"

#ifdef FINE
#define BLOCK
#else
#define BLOCK	atomic
#endif

#ifdef LOCKED
#define evd_lock()	lock(ELOCK)
#define evd_unlock()	unlock(ELOCK)
#define barrier_I()	skip
#define barrier_J()	skip
#else
#define evd_lock()	skip
#define evd_unlock()	skip
#ifdef NO_I
#define barrier_I()	skip
#else
#define barrier_I()	full_barrier()
#endif
#ifdef NO_J
#define barrier_J()	skip
#else
#define barrier_J()	full_barrier()
#endif
#endif

#ifdef NO_H
#define show_tail(v)	store_relaxed(TAIL, v)
#else
#define show_tail(v)	store_release(TAIL, v)		/* (H) */
#endif
#ifdef NO_K
#define load_tail(v)	load_relaxed(TAIL, v)
#else
#define load_tail(v)	load_acquire(TAIL, v)		/* (K) */
#endif
#ifdef NO_G
#define load_head(v)	load_relaxed(HEAD, v)
#else
#define load_head(v)	load_acquire(HEAD, v)		/* (G) */
#endif

#define MOD(n)		((n) & 7)
#define SLOT(n)		(EVENT + ((n) & (ENTRIES - 1)))

/* Private to the driver. */
byte tail = START;
bool overflowed;
/* Private to the consumer. */
byte head = START;
/* The consumer was woken and may run. */
bool woken;
/*
 * watching: the consumer has a callback on evd->poll.  ready: this callback was called, so the
 * consumer may run; or the EVD is on epoll's ready list; or the CNO is triggered.
 */
bool watching, ready;
/* The true state, used by assertions only. */
bool over;			/* no more events will be queued */
byte queued, consumed;
byte notified;			/* value of "queued" after the last event that notifies */
bool told;			/* an overflow was reported, and no event has found room since */
#ifdef SLOTS
byte done;
byte done_at[ENTRIES];		/* "done" for the completion that the event reports */
#endif

/* ring_publish(); called for the completion that the event reports. */
inline publish()
{
#ifdef SLOTS
	done++;
	store_release(DONE, done)
#else
	skip
#endif
}

inline overflow()
{
	if
	:: !overflowed -> assert(!told); told = true
	:: else
	fi;
#ifndef NO_ONCE
	overflowed = true;
#endif
	assert(told)
}

/* dat_evd_deliver() up to evd_wake(); or dat_evd_offer(), whose event may be refused. */
inline push()
{
	if
	:: true
	:: offer = true
	fi;
	load_head(h);
	assert(MOD(tail - h) <= ENTRIES);
	if
#ifndef NO_FULL
	:: MOD(tail - h) == ENTRIES && offer -> notify = false	/* refused */
	:: MOD(tail - h) == ENTRIES && !offer -> overflow(); notify = false
	:: MOD(tail - h) < ENTRIES ->
#else
	:: true ->
#endif
		store_relaxed(SLOT(tail), tail);
#ifdef SLOTS
		done_at[tail & (ENTRIES - 1)] = n;
#endif
		tail = MOD(tail + 1);
		queued++;
#ifdef NO_CLEAR
		if
		:: !offer -> overflowed = false
		:: else
		fi;
#else
		overflowed = false;
#endif
		told = false;
		if
		:: notify = true; notified = queued
		:: !offer -> notify = false
		fi;
		show_tail(tail)
	fi;
	offer = false
}

/* wake_up_poll(), which calls the callback of poll() or epoll; or dat_cno_trigger(). */
inline wake_watcher()
{
	lock(PLOCK);
	if
#if WATCH == CNO
	:: true -> ready = true; woken = true
#else
	:: watching -> ready = true
	:: else
#endif
	fi;
	unlock(PLOCK)
}

/* evd_wake() */
inline wake()
{
	load_relaxed(WAITER, w);
	if
	:: w ->
		load_head(h);
		if
		:: MOD(tail - h) >= w -> woken = true
		:: else
		fi
	:: else
	fi;
#if WATCH && !defined(NO_WATCH_WAKE)
	wake_watcher();
#endif
	w = 0;
	h = 0
}

proctype driver(byte me)
{
	byte h, w, n;
	bool notify, offer;

	do
	:: n < EVENTS ->
		BLOCK {
			n++;
#ifndef NO_DONE
			publish();
#endif
			evd_lock();
			push()
		}
		barrier_I();				/* (I) */
		BLOCK {
			if
			:: notify -> wake()
			:: else
			fi;
			notify = false;
			h = 0;
			evd_unlock();
#ifdef NO_DONE
			publish()
#endif
		}
	:: else -> break
	od;
	BLOCK {
		over = true;
		leave()
	}
}

/*
 * DAT_IOC_EVD_WAIT: dat_evd_wait(), which checks with evd_ready().  At the end, "enough" is true
 * unless the timeout has expired.
 */
inline ioctl_wait()
{
	BLOCK {
		evd_lock();
		store_relaxed(WAITER, threshold);
		evd_unlock()
	}
	do
	:: true ->
		woken = false;
		barrier_J();				/* (J) */
#ifndef NO_LOOK
		BLOCK {
			evd_lock();
			load_relaxed(TAIL, t);
			enough = (MOD(t - head) >= threshold);
			evd_unlock()
		}
		if
		:: enough -> break
		:: else
		fi;
#endif
		/* The timeout may expire only if fewer events than the threshold have notified. */
		if
#ifdef NO_LOOP
		:: woken -> enough = true; break
#else
		:: woken
#endif
		:: over && !woken && notified < consumed + threshold -> break
		fi
	od;
	BLOCK {
		evd_lock();
		store_relaxed(WAITER, 0);
		evd_unlock();
		woken = false
	}
}

#if WATCH
/* poll_wait(); adds a callback to evd->poll. */
inline poll_wait()
{
	BLOCK {
		lock(PLOCK);
		watching = true;
		unlock(PLOCK)
	}
}

inline look()
{
	BLOCK {
		evd_lock();
		load_relaxed(TAIL, t);
		enough = (t != head);
		t = 0;
		evd_unlock()
	}
}

/* evd_poll(), called when the consumer has no callback on evd->poll yet. */
inline first_poll()
{
#ifdef NO_WATCH_ORDER
	look();
	poll_wait()
#else
	poll_wait();
	look()
#endif
}

/* The consumer must not stop waiting while a notifying event is queued. */
#define TIME_IS_UP	(over && !ready && notified <= consumed)

/* poll(); "ready" models "triggered" in struct poll_wqueues. */
inline sys_poll()
{
	first_poll();
	do
	:: enough -> break
	:: !enough && ready -> ready = false; full_barrier(); look()
	:: !enough && TIME_IS_UP -> break
	od;
	BLOCK {
		lock(PLOCK);
		watching = false;
		ready = false;
		unlock(PLOCK)
	}
}

inline put_on_list()
{
	BLOCK {
		lock(PLOCK);
		ready = true;
		unlock(PLOCK)
	}
}

/* EPOLL_CTL_ADD */
inline epoll_add()
{
	first_poll();
	if
	:: enough -> put_on_list()
	:: else
	fi;
	enough = false
}

/* epoll_wait(); a level-triggered file stays on the ready list while events are queued. */
inline epoll_wait()
{
	do
	:: ready ->
		BLOCK {
			lock(PLOCK);
			ready = false;
			unlock(PLOCK)
		}
		look();
		if
		:: enough -> break
		:: else
		fi
	:: TIME_IS_UP -> break
	od;
#if WATCH == EPOLL
	if
	:: enough -> put_on_list()
	:: else
	fi
#endif
}

inline take_trigger()
{
	BLOCK {
		lock(PLOCK);
		enough = ready;
		ready = false;
		unlock(PLOCK)
	}
}

/* dat_cno_wait(), which checks with cno_ready(). */
inline cno_wait()
{
	do
	:: true ->
#ifdef NO_WATCH_ORDER
		take_trigger();
		woken = false;
#else
		woken = false;
		take_trigger();
#endif
		if
		:: enough -> break
		:: else
		fi;
		if
		:: woken
		:: !woken && over && notified <= consumed -> break
		fi
	od;
	woken = false
}

inline watch()
{
#if WATCH == POLL
	sys_poll()
#elif WATCH == CNO
	cno_wait()
#else
	epoll_wait()
#endif
}
#endif

/* du_events_next(), du_events_pop() */
inline pop()
{
#ifdef NO_L
	/* Without (L), the load of the event may execute after the store of the head. */
	store_relaxed(HEAD, MOD(head + 1));
	load_relaxed(SLOT(head), e);
#else
	load_relaxed(SLOT(head), e);
	store_release(HEAD, MOD(head + 1));		/* (L) */
#endif
	assert(e == head);				/* complete, in order, intact */
#ifdef SLOTS
	/* A thread that has seen the event must see a status.done that is at least as new. */
	assert(VAL(DONE, VIEW(DONE)) >= done_at[head & (ENTRIES - 1)]);
#endif
	head = MOD(head + 1);
	consumed++;
	e = 0
}

#ifdef NO_L
#define POP
#else
#define POP	BLOCK
#endif

#if WATCH == EDGE || WATCH == CNO
#define ENOUGH_TAKEN	false			/* only new events wake */
#else
#define ENOUGH_TAKEN	true
#endif

/* dat_evd_wait() of libdat, or the loop of a program that watches; then dat_evd_dequeue(). */
proctype consumer(byte me)
{
	byte t, e, threshold;
	bool enough;

#if WATCH == EPOLL || WATCH == EDGE
	epoll_add();
#endif
	do
	:: true ->
		/* Choose a threshold at random; 0 means to watch instead of wait. */
		BLOCK {
			if
#if WATCH == 0 || WATCH == POLL
			:: threshold = 1
			:: threshold = ENTRIES
#endif
#if WATCH
			:: threshold = 0
#endif
			fi;
			if
			:: threshold ->
				load_tail(t);
				enough = (MOD(t - head) >= threshold)
			:: else
			fi
		}
		if
		:: threshold && !enough -> ioctl_wait()
#if WATCH
		:: !threshold ->
			watch();
#if WATCH != CNO
			threshold = 1
#endif
#endif
		:: else
		fi;
		if
		/* A trigger may be older than the events that were consumed last. */
		:: enough -> load_tail(t); assert(MOD(t - head) >= threshold)
		:: else -> break			/* the timeout has expired */
		fi;
		enough = false;
		/* Take some of the events. */
		do
		:: POP {
			load_tail(t);
			if
			:: t != head -> assert(MOD(t - head) <= ENTRIES); pop()
			:: t == head -> break
			fi }
		:: ENOUGH_TAKEN -> break
		od;
		t = 0
	od;
	leave()
}

init
{
	atomic {
		VAL(TAIL, 0) = START;
		VAL(HEAD, 0) = START;
		run driver(DRIVER);
		run consumer(CONSUMER);
	}
}
