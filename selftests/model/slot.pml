/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) The dat authors */
/*
 * The end of a key of the transport lo, against copies that use the memory: the drawing in
 * kmod/lo/copy.c, with the same letters.  README.rst maps the steps to functions.
 *
 *   copier     looks the key up, and copies ROUNDS times in a slice
 *   peer       ends the key, as a message of a peer can
 *   owner      ends the key, then uses the memory for something else
 *
 * Checked is that no copy writes to the memory once the owner uses it, and that the owner sees what
 * the copies have written.  -DCOPIERS=2: copies on two CPUs.  -DNO_<X>: leave out step or barrier
 * X.
 */
#ifndef COPIERS
#define COPIERS	1
#endif
#ifndef ROUNDS
#define ROUNDS	2
#endif

/* Memory locations: the key; the registration that each slot names; the memory of the process. */
#define KEY	0
#define NAME	1
#define NREL	(NAME + COPIERS)
#define PAGE	NREL
#define NLOC	(PAGE + 1)
#define HIST	(2 * ROUNDS + 6)

#define OWNER	COPIERS
#define PEER	(COPIERS + 1)
#define NTHREAD	(COPIERS + 2)
#define READS(t, l)	((l) == KEY || (t) >= COPIERS)

/* slot->lock */
#define SLOT	0
#define NLOCK	COPIERS

#include "mem.pml"

bool freed;			/* for assertions */

/* mr_covers() */
inline check()
{
	load_acquire(KEY, n)
}

proctype copier(byte me)
{
	byte n, i;

	lock(SLOT + me);
	do
	:: i < ROUNDS ->
		i++;
#ifdef NO_AGAIN
		check();
#endif
		store_release(NAME + me, 1);
#ifndef NO_A
		full_barrier();				/* (A) */
#endif
#ifndef NO_AGAIN
		check();
#endif
		if
		:: n -> store_relaxed(PAGE, 1); assert(!freed)
		:: else -> break
		fi;
#ifdef NO_C
		store_relaxed(NAME + me, 0)
#else
		store_release(NAME + me, 0)		/* (C) */
#endif
	:: else -> break
	od;
	store_release(NAME + me, 0);
	unlock(SLOT + me);
	leave()
}

/* lo_slots_wait() */
inline wait(cpu)
{
	load_acquire(NAME + cpu, n);
	if
	:: n -> n = 0; lock(SLOT + cpu); unlock(SLOT + cpu)
	:: else
	fi
}

/* lo_mr_kill() */
inline kill()
{
	byte killed;

	exchange(KEY, 0, killed);
#ifdef NO_WAIT
	if
	:: killed ->
#endif
#ifndef NO_B
	full_barrier();					/* (B) */
#endif
#ifndef NO_SWEEP
	wait(0);
#if COPIERS > 1
	wait(1);
#endif
#endif
#ifdef NO_WAIT
	:: else
	fi;
#endif
	killed = 0
}

proctype peer(byte me)
{
	byte n;

	kill();
	leave()
}

proctype owner(byte me)
{
	byte n;

	kill();
	freed = true;
	load_relaxed(PAGE, n);
	assert(n == VAL(PAGE, newest[PAGE]));
	leave()
}

init
{
	atomic {
		val[KEY * HIST] = 1;
		run copier(0);
#if COPIERS > 1
		run copier(1);
#endif
		run owner(OWNER);
		run peer(PEER)
	}
}
