/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) The dat authors */
/*
 * The ring of an RSM import: the drawing in <rdma/dat_rsm.h>, with the same letters, as implemented
 * by librsm and the driver.  README.rst maps the steps to functions.
 *
 *   producer    posts POSTS entries, and reads the results of earlier gets
 *   kicker      kicks although the ring does not ask for a kick, like a thread that waits
 *   device      completes entries in order, and checks the ring
 *   poller      watches sometimes, checks the ring sometimes, and parks at any time
 *
 * Indices are numbers modulo 8 that begin just before the wrap.  An entry and the result of a get
 * hold the index, so an entry or result that is used too early or overwritten has a wrong number.
 *
 * -DENTRIES=n, -DPOSTS=n: sizes.  -DROOM=n: number of requests that may be in flight.  -DWATCH:
 * there is a poller.  -DNO_<X>: leave out barrier or step X.
 */
#ifndef ENTRIES
#define ENTRIES	2
#endif
#ifndef POSTS
#define POSTS	4
#endif
#ifndef ROOM
#define ROOM	2
#endif
#define START	6		/* first index, just before the wrap */

/* Memory locations. */
#define TAIL	0
#define DONE	1
#define NREL	2
#define FLAGS	2
#define ENTRY	3
#define GOT	(ENTRY + ENTRIES)
#define NLOC	(GOT + ENTRIES)
/* Maximum number of stores to a location.  The poller also stores to FLAGS. */
#ifdef WATCH
#define HIST	(2 * POSTS + 10)
#else
#define HIST	(2 * POSTS + 4)
#endif

#define PRODUCER 0
#define DEVICE	1
#define KICKER	2
#define POLLER	3
#ifdef WATCH
#define NTHREAD	4
#else
#define NTHREAD	3
#endif

/* All threads but the producer check the ring, for which they read TAIL and the entries. */
#define READS(t, l)	((l) == TAIL || ((l) >= ENTRY && (l) < GOT) || (t) == PRODUCER)

/* ring->lock */
#define RLOCK	0
#define NLOCK	1

#include "mem.pml"

#define MOD(n)		((n) & 7)
#define SLOT(n)		((n) & (ENTRIES - 1))

/* State of the driver, under RLOCK. */
byte head = START;
byte done = START;
bool armed;

/* ctx->watched: written by the poller only; other threads read it under RLOCK. */
bool watched;

/* State of the producer. */
byte tail = START;
byte posted;

#define BUSY	MOD(head - done)

#ifdef NO_D
#define load_tail()	load_relaxed(TAIL, n)
#else
#define load_tail()	load_acquire(TAIL, n)		/* (D) */
#endif

inline check(index)
{
	load_relaxed(ENTRY + SLOT(index), e);
	assert(e == index);
	e = 0
}

/* ring_post(), ring_fetch() */
inline take()
{
	do
	:: BUSY < ROOM ->
		load_tail();
		assert(MOD(n - head) <= ENTRIES);
		if
		:: n != head -> check(head); head = MOD(head + 1)
		:: else -> break
		fi
	:: else -> break
	od;
	n = 0
}

inline disarm()
{
	if
	:: armed -> store_relaxed(FLAGS, 0); armed = false
	:: else
	fi
}

/* ring_pump(); called with RLOCK held, and releases it. */
inline look()
{
	atomic { disarm(); take() }
	do
	:: head != done || watched -> break
	:: else ->
		/* ring_arm() */
		armed = true;
#ifndef NO_ARM
		store_relaxed(FLAGS, 1);
#endif
#ifndef NO_E
		full_barrier();				/* (E) */
#endif
#ifdef NO_LOOK
		break
#else
		atomic {
			load_tail();
			if
			:: n == head -> n = 0; break
			:: else -> n = 0; disarm(); take()
			fi
		}
#endif
	od;
	unlock(RLOCK)
}

/* rsm_ring_kick() */
inline ioctl_kick()
{
	lock(RLOCK);
	if
	:: head != done -> unlock(RLOCK)
	:: else -> look()
	fi
}

#ifdef NO_ROOM
#define FREE(seen)	true
#else
#define FREE(seen)	(MOD(tail - (seen)) < ENTRIES)
#endif

/* ring_fits(), ring_push(), ring_show() */
inline post()
{
	atomic {
#ifdef NO_F
		PICK(DONE, FREE);
		d_step { m_thread = me; m_loc = DONE; c_code { mem_load(0); } }
#else
		PICK(DONE, FREE);				/* (F) */
		d_step { m_thread = me; m_loc = DONE; c_code { mem_load(1); } }
#endif
	}
	atomic {
		if
		:: posted >= ENTRIES ->
			load_relaxed(GOT + SLOT(tail), e);
			assert(e == MOD(tail - ENTRIES));
			e = 0
		:: else
		fi;
		store_relaxed(ENTRY + SLOT(tail), tail);
		tail = MOD(tail + 1);
		posted++;
#ifdef NO_A
		store_relaxed(TAIL, tail)
#else
		store_release(TAIL, tail)		/* (A) */
#endif
	}
#ifndef NO_B
	full_barrier();					/* (B) */
#endif
	load_relaxed(FLAGS, f);
	if
	:: f -> f = 0; ioctl_kick()
	:: else
	fi
}

proctype producer(byte me)
{
	byte n, e, f;

	do
	:: posted < POSTS -> post()
	:: else -> break
	od;
	leave();
	/* Wait until all entries have been completed. */
	MOD(done - START) == MOD(POSTS)
}

proctype kicker(byte me)
{
	byte n, e;

	ioctl_kick();
	leave()
}

/* ring_completed() */
proctype device(byte me)
{
	byte n, e;

end:	do
	:: atomic { head != done && !held[RLOCK] ->
		lock(RLOCK);
#ifndef NO_G
		/* The device has read the data of a put, or has written the data of a get. */
		check(done);
		store_relaxed(GOT + SLOT(done), done);
#endif
		done = MOD(done + 1) }
#ifdef NO_G
		store_relaxed(DONE, done);
		check(MOD(done - 1));
		store_relaxed(GOT + SLOT(done - 1), MOD(done - 1));
#else
		store_release(DONE, done);		/* (G) */
#endif
#ifdef NO_COMPLETED
		unlock(RLOCK)
#else
		look()
#endif
	od
}

#ifdef WATCH
/* poller_watch(), poller_park() */
proctype poller(byte me)
{
	byte n, e, rounds;

	do
	:: rounds < 2 ->
		rounds++;
		watched = true;
		do
		/* rsm_ring_poll(), at any time.  The load of TAIL may return an old value. */
		:: true -> lock(RLOCK); look()
		:: true -> break
		od;
		watched = false;
#ifndef NO_LAST
		/* rsm_ring_pump() */
		lock(RLOCK);
		look()
#endif
	:: true -> break
	od;
	leave()
}
#endif

init
{
	byte l;

	atomic {
		val[TAIL * HIST] = START;
		val[DONE * HIST] = START;
		/* At the start, no poller watches. */
		val[FLAGS * HIST] = 1;
		armed = true;
		run producer(PRODUCER);
		run device(DEVICE);
		run kicker(KICKER);
#ifdef WATCH
		run poller(POLLER)
#endif
	}
}
