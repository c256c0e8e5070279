/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) The dat authors */
/*
 * Posting: the left and the right half of "Posting" in <rdma/dat_ring.h>, with the same letters, as
 * implemented by libdat and the driver.  README.rst maps the steps to functions.
 *
 *   producer    posts POSTS entries; two producers share the lock of the queue
 *   poller      takes dirty bits without being kicked, parks, and is unparked by a kick
 *   kicker      posts to another queue, whose dirty bit is in the same word, and kicks
 *   device      completes entries: SQ in order, one completion for one or more entries; RQ
 *               in order; SRQ in any order
 *   asker       has a marker posted if all requests in flight are silent
 *
 * Indices are numbers modulo 8 that begin just before the wrap.  An entry holds its index, so an
 * entry that is taken too early, taken twice, or overwritten has a wrong number.
 *
 * -DKIND=SQ|RQ|SRQ, -DENTRIES=n, -DPOSTS=n, -DPRODUCERS=n, -DKICKS=n: kind and sizes.  -DEARLY: the
 * EP is not connected at first.  -DSILENT: requests without an event may stay unsignalled.  -DASK:
 * there is also an asker.  -DPOLLER: there is a poller.  -DBIT_FIRST: the producer sets the dirty
 * bit before it looks at NEED_KICK, and a kick takes all dirty bits.  -DNO_<X>: leave out barrier
 * or step X.
 */
#define SQ	0
#define RQ	1
#define SRQ	2

#ifndef KIND
#define KIND	SQ
#endif
#ifndef ENTRIES
#define ENTRIES	2
#endif
#ifndef POSTS
#define POSTS	4
#endif
#ifndef PRODUCERS
#define PRODUCERS 1
#endif
#ifndef KICKS
#define KICKS	1
#endif
#define START	6		/* first index, just before the wrap */
#define ROUNDS	1		/* SRQ_ROUNDS, which is 4 in the driver */

/* Memory locations.  The entries come last. */
#define TAIL	0
#define FLAGS	1
#define DONE	2
#define NREL	3
#define DIRTY	3		/* bit 0: this queue; bit 1: the queue of the kicker */
#ifdef POLLER
#define WATCHED	4
#define KICK_AT	5
#else
#define KICK_AT	4
#endif
#define ENTRY	(KICK_AT + 1)
#define NLOC	(ENTRY + ENTRIES)
#define HIST	(2 * POSTS + 3 + 3 * (PRODUCERS - 1) + 3 * PARKS)

/* Thread numbers: kicker, device, poller, producers. */
#define KICKER	0
#define DEVICE	1
#ifdef POLLER
#define PRODUCER 3
#ifndef PARKS
#define PARKS	1		/* number of times that the poller parks */
#endif
#else
#define PRODUCER 2
#define PARKS	0
#endif
#define NTHREAD	(PRODUCER + PRODUCERS)

#ifdef POLLER
#define BY_PUMP(l)	((l) == TAIL || (l) == WATCHED || (l) > KICK_AT)
#else
#define BY_PUMP(l)	((l) == TAIL || (l) > KICK_AT)
#endif
#define READS(t, l)	(BY_PUMP(l) ? 1 : \
			 (l) == DIRTY ? (t) != DEVICE : (t) >= PRODUCER)

/* Locks: the lock of the queue in the driver, and its lock in libdat. */
#define QLOCK	0
#define PLOCK	1
#define NLOCK	2

#include "mem.pml"

#define MOD(n)		((n) & 7)
#define SLOT(n)		(ENTRY + ((n) & (ENTRIES - 1)))
#define REACHED(n, at)	(MOD((n) - (at)) < 4)

/* State of the driver, under QLOCK. */
byte head = START;
byte done = START;
bool armed;
byte taken;
byte at_device;		/* bit n: the device has entry n (modulo 8) */
#ifdef SILENT
byte signalled;		/* bit n: entry n (modulo 8) completes without a later one */
byte silent;		/* entries in flight after the last signalled one */
bool marked;		/* the marker is in flight */
byte mark_at;		/* first entry after the marker; those before it are silent */
#define COMPLETES	(at_device & signalled && !marked)	/* the marker comes first */
#else
#define COMPLETES	at_device
#endif

/* State of libdat, under PLOCK. */
byte tail = START;
byte posted;

bool other;		/* the dirty bit of the kicker's queue is set and not taken */

#ifdef POLLER
bool parked;
#endif
#ifdef EARLY
bool up;		/* connected */
#endif

#define BUSY	MOD(head - done)
#ifdef SILENT
#define WILL_COMPLETE	(BUSY > silent || marked)
#else
#define WILL_COMPLETE	(BUSY != 0)
#endif

/*
 * A step of a thread consists of loads and locks, then at most one operation that must see the
 * newest store (full barrier or exchange), then stores and unlocks.  Such a step may be atomic:
 * other threads could not do more between its accesses than before or after the step, because loads
 * may return old stores anyway.  -DFINE makes each access a step.
 */
#if defined(NO_DONE) || defined(FINE)
#define BLOCK
#else
#define BLOCK	atomic
#endif

/* ---- the pump, under QLOCK: kmod/core/ep/queue.c, kmod/core/ep/srq.c ---- */

#ifdef NO_D
#define load_tail()	load_relaxed(TAIL, n)
#else
#define load_tail()	load_acquire(TAIL, n)		/* (D) */
#endif

/* An entry must hold its index: it must be complete, in order, taken once, and not overwritten. */
inline check(index)
{
	load_relaxed(SLOT(index), e);
	assert(e == index);
	e = 0
}

/* sq_fetch(), rq_fetch(); takes one entry.  @got: an entry was there. */
inline fetch()
{
	load_tail();
	got = (n != head);
	assert(MOD(n - head) <= ENTRIES);
	if
	:: got ->
#ifndef NO_DONE
		check(head);
#endif
		head = MOD(head + 1);
		taken++
	:: else
	fi
}

/* ib_post_send(), ib_post_recv(), ib_post_srq_recv() */
inline give()
{
	assert(!(at_device & (1 << MOD(head - 1))));
	at_device = at_device | (1 << MOD(head - 1))
}

/*
 * sq_moderate(): the driver may leave a request unsignalled if no event is owed for it.  Fewer than
 * window / 4 requests stay silent, so a full queue has one that is signalled.
 */
inline moderate()
{
#ifdef SILENT
	if
	:: signalled = signalled | (1 << MOD(head - 1)); silent = 0
#ifdef NO_LIMIT
	:: signalled = signalled & ~(1 << MOD(head - 1)); silent++
#else
	:: silent + 1 < ENTRIES ->
		signalled = signalled & ~(1 << MOD(head - 1)); silent++
#endif
	fi
#else
	skip
#endif
}

/* ring_publish().  Do not store an unchanged value, which would only add states. */
inline publish()
{
	if
	:: VAL(DONE, newest[DONE]) != done ->
#ifdef NO_DONE
		store_relaxed(DONE, done)
#else
		store_release(DONE, done)
#endif
	:: else
	fi
}

/* sq_chain(); or pump_rq() with rq_next(). */
inline ep_take()
{
	got = true;
	do
	:: got && BUSY < ENTRIES ->
		fetch();
		if
		:: got -> give(); moderate()
		:: else
		fi
	:: else -> break
	od
}

/* srq_take().  A bad buffer is given back at once, without an event. */
inline srq_take()
{
	got = true;
	do
	:: got && round < ENTRIES && BUSY < ENTRIES ->
		round++;
		fetch();
		if
		:: got -> give()
		:: got -> done = MOD(done + 1)
		:: else -> round--
		fi
	:: else -> break
	od;
	publish();
#ifdef NO_DONE
	/*
	 * A relaxed store may execute before the loads of the entries, so check the entries after
	 * it.
	 */
	do
	:: round -> check(MOD(head - round)); round--
	:: else -> break
	od;
#endif
	round = 0
}

inline take()
{
#if KIND == SRQ
	srq_take()
#else
	ep_take()
#endif
}

/* queue_watched() */
#ifdef POLLER
#define WATCHING	, w
#define load_watched()	load_relaxed(WATCHED, w)
#define clear_watched()	w = 0
#else
#define load_watched()	skip
#define clear_watched()	skip
#define w		false
#define WATCHING
#endif

/*
 * dat_queue_kick_after(), for queues of any depth.  lane.pml has the receives of the transport lo,
 * which asks for other kicks.  @after is 1 if the device has no entry that will complete.
 * Otherwise, an SQ needs no kick (0); an RQ or SRQ may need a kick after some entries, or none.
 * While the poller watches, no kick is needed, but over iWARP an RQ or SRQ needs one (1) while the
 * device has room.  -DFEW: @after is 2 if there is room for these entries and one more, else 0.
 */
inline kick_after()
{
	load_watched();
	if
	:: w -> after = 0
	:: w && KIND != SQ && BUSY < ENTRIES -> after = 1
#ifdef NO_LAST
	:: !w && BUSY == 0 -> after = 2
#elif defined(NO_SILENT_KICK)
	:: !w && BUSY == 0 -> after = 1
#else
	:: !w && !WILL_COMPLETE -> after = 1
#endif
#ifdef FEW
	:: !w && BUSY && !(KIND != SQ && BUSY + 1 < ENTRIES) -> after = 0
#elif defined(NO_SILENT_KICK)
	:: !w && BUSY -> after = 0
#else
	:: !w && WILL_COMPLETE -> after = 0
#endif
#ifndef FEW
	:: !w && KIND != SQ && BUSY && BUSY < ENTRIES -> after = 1
#endif
	:: !w && KIND != SQ && BUSY && BUSY + 1 < ENTRIES -> after = 2
	fi;
	clear_watched()
}

/* ring_arm(), before (E) */
inline arm()
{
	armed = true;
#ifndef NO_ARM
	store_relaxed(KICK_AT, MOD(head + after));
#ifdef NO_ORDER
	store_relaxed(FLAGS, 1)
#else
	store_release(FLAGS, 1)
#endif
#endif
}

inline disarm()
{
#ifndef NO_DISARM
	if
	:: armed -> store_relaxed(FLAGS, 0); armed = false
	:: else
	fi
#else
	skip
#endif
}

/* ring_arm(), after (E).  @got: the "after" entries have been posted in the meantime. */
inline look_again()
{
#ifdef NO_LOOK
	got = false
#else
	load_tail();
	got = (MOD(n - head) >= after)
#endif
}

inline pump_end()
{
#if KIND != SRQ
	publish();
#endif
	n = 0; after = 0; rounds = 0; got = false; mine = false;
	unlock(QLOCK)
}

/*
 * dat_queue_pump_sq(), dat_queue_pump_rq(), srq_pump().  Takes QLOCK unless @mine is true.
 * Releases QLOCK.
 */
inline pump()
{
	do
	:: BLOCK {
		if
		:: mine -> skip
		:: else -> lock(QLOCK); mine = true
		fi;
		if
		:: after -> look_again()
		:: else -> got = true
		fi;
		if
#if KIND == SRQ
		/* The ring was armed before the last check and remains armed. */
		:: rounds == ROUNDS + 1 ->
#ifndef NO_TAKE
			take();
#endif
			pump_end();
			break
		:: rounds == ROUNDS && got -> after = 1; arm(); rounds++
		:: rounds < ROUNDS && got ->
			rounds++;
#else
		:: got ->
#endif
			take();
			kick_after();
			if
			:: after -> arm()
			:: else -> disarm(); pump_end(); break
			fi
		:: else -> pump_end(); break
		fi }
#ifndef NO_E
		full_barrier();				/* (E) */
#else
		skip
#endif
	od
}

#define TAKEN(d)	if :: d & 2 -> other = false :: else fi

/* file_kick_one(), which calls dat_queue_kick() or dat_srq_kick() */
inline kick_one()
{
#ifdef EARLY
	BLOCK {
		lock(QLOCK);
		if
		:: up -> mine = true
		:: else -> unlock(QLOCK)
		fi
	}
	if
	:: mine -> pump()
	:: else
	fi
#else
	pump()
#endif
}

/* dat_file_kick(), dat_doorbell_take() */
inline kick()
{
	BLOCK {
		load_relaxed(DIRTY, d);
		if
		:: d ->
#ifdef NO_F_BARRIER
			atomic { exchange_relaxed(DIRTY, 0, d); TAKEN(d) }
#elif !defined(NO_F)
			full_barrier();			/* (F) */
			atomic { exchange_relaxed(DIRTY, 0, d); TAKEN(d) };
			full_barrier()
#endif
		:: else
		fi
	}
#ifdef NO_F
	/* Not atomic: a load and a store. */
	if
	:: d ->
		full_barrier();
		BLOCK {
			load_relaxed(DIRTY, d);
			TAKEN(d)
		}
		store_relaxed(DIRTY, 0);
		full_barrier()
	:: else
	fi;
#endif
	if
	:: d & 1 -> d = 0; kick_one()
	:: else -> d = 0
	fi
}

/* DAT_IOC_KICK with the argument 0 */
inline ioctl_kick()
{
#ifdef POLLER
	parked = false;
#endif
	kick()
}

/* DAT_IOC_KICK with the number of this queue */
inline ioctl_kick_queue()
{
#ifdef POLLER
	parked = false;
#endif
	kick_one()
}

/* ---- threads ---- */

#ifdef NO_ROOM
#define ROOM(seen)	true
#else
#define ROOM(seen)	(MOD(tail - (seen)) < ENTRIES)
#endif

/* Sets the dirty bit if it is clear.  On return, @d says whether the bit was set already. */
inline set_bit()
{
	BLOCK {
		load_relaxed(DIRTY, d);
		d = d & 1;
#ifdef NO_BIT
		d = 1
#elif !defined(NO_OR)
		if
		:: !d -> exchange_relaxed(DIRTY, VAL(DIRTY, newest[DIRTY]) | 1, d); d = 0
		:: else
		fi
#endif
	}
#ifdef NO_OR
	/* Not atomic: a load and a store. */
	if
	:: !d -> load_relaxed(DIRTY, f); store_relaxed(DIRTY, f | 1); f = 0
	:: else
	fi
#endif
}

/* du_queue_needs_kick(); sets @f if a kick is needed. */
inline needs_kick()
{
	BLOCK {
		d = 0;
#ifdef NO_ORDER
		load_relaxed(FLAGS, f);
#else
		load_acquire(FLAGS, f);
#endif
		if
		:: f ->
			load_relaxed(KICK_AT, n);
			f = REACHED(tail, n);
			n = 0;
			/*
			 * If the pump has left requests at the device, a post must not require a
			 * kick.
			 */
			assert(!f || KIND != SQ || held[QLOCK] || !(COMPLETES) ||
			       VIEW(FLAGS) != newest[FLAGS])
		:: else
		fi
	}
}

/*
 * The flag @more of du_queue_push(): clears @f, so that a post which another one follows makes no
 * kick, unless the queue is full.
 */
inline leave_out_kick()
{
	if
	:: f && posted < POSTS ->
		load_acquire(DONE, n);
		if
#ifdef NO_FULL
		:: f = 0
#else
		:: MOD(tail - n) < ENTRIES -> f = 0
#endif
		:: true
		fi;
		n = 0
	:: else
	fi
}

/* du_queue_full(), du_queue_entry(), du_queue_push() */
inline post()
{
	BLOCK {
		LOAD_ACQUIRE_WHEN(DONE, ROOM);
		store_relaxed(SLOT(tail), tail);
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
#ifdef BIT_FIRST
	set_bit();
#ifndef NO_C
	if
#ifdef ALWAYS_C
	:: true -> full_barrier()
#else
	:: !d -> full_barrier()				/* (C) */
	:: else
#endif
	fi;
#endif
	needs_kick();
	if
	:: f -> f = 0; ioctl_kick()
	:: else
	fi
#else
	needs_kick();
#ifdef MORE
	leave_out_kick();
#endif
	if
	:: f -> f = 0; ioctl_kick_queue()
	:: else -> set_bit(); d = 0
	fi
#endif
}

proctype producer(byte me)
{
	byte n, e, d, f, after, round, rounds WATCHING;
	bool got, mine;

	do
	:: BLOCK {
#if PRODUCERS > 1
		lock(PLOCK);
#endif
		if
		:: posted == POSTS -> break
		:: else
		fi }
		post();
#if PRODUCERS > 1
		unlock(PLOCK)
#endif
	od;
	BLOCK {
#if PRODUCERS > 1
		unlock(PLOCK);
#endif
		leave()
	}
}

proctype kicker(byte me)
{
	byte n, e, d, after, round, rounds, kicks WATCHING;
	bool got, mine;

	do
	:: kicks < KICKS ->
		kicks++;
		atomic {
			exchange_relaxed(DIRTY, VAL(DIRTY, newest[DIRTY]) | 2, d);
			other = true;
			d = 0
		}
		ioctl_kick();
		assert(!other)
	:: true -> break
	od;
	leave()
}

/*
 * complete_request(), dat_complete_recv(), dat_srq_refill().  The device completes every entry.
 * The pump must ensure that the ring is checked again.  If an entry is lost, the device or a
 * producer waits forever, which is an invalid end state.
 */
proctype device(byte me)
{
	byte n, e, after, round, rounds WATCHING;
	bool got, mine;

#ifdef EARLY
	BLOCK { lock(QLOCK); up = true; mine = true }
	pump();
#endif
	do
	:: BLOCK {
		(COMPLETES) && !held[QLOCK] ->
		lock(QLOCK);
#if KIND == SRQ
		do
		:: at_device >> (n + 1) -> n++
		:: at_device & (1 << n) -> break
		od;
#else
		n = done;
#endif
		assert(at_device & (1 << n));
		at_device = at_device & ~(1 << n);
		n = 0;
		done = MOD(done + 1);
#if KIND == SQ
		/* One completion may cover several entries, and covers those that are silent. */
		do
		:: (COMPLETES) ->
			at_device = at_device & ~(1 << done);
			done = MOD(done + 1)
#ifdef SILENT
		:: signalled & (1 << MOD(done - 1)) -> break
#else
		:: true -> break
#endif
		od;
#endif
#if KIND == SRQ
		/* For an SRQ, pump() publishes. */
		unlock(QLOCK) }
#else
		mine = true;
		publish() }
#endif
#ifndef NO_REPUMP
		pump()
#elif KIND != SRQ
		pump_end()
#endif
#ifdef SILENT
	/* dat_queue_mark_done(): all requests before the marker have completed. */
	:: BLOCK {
		marked && !held[QLOCK] ->
		lock(QLOCK);
		assert(done != mark_at);
		do
		:: done != mark_at ->
			at_device = at_device & ~(1 << done);
			done = MOD(done + 1)
		:: else -> break
		od;
		marked = false;
		if
		:: silent > BUSY -> silent = BUSY
		:: else
		fi;
		mine = true;
		publish() }
#ifndef NO_MARK_PUMP
		pump()
#else
		pump_end()
#endif
	:: !(COMPLETES) && !marked && taken == POSTS -> break
#else
	:: !(COMPLETES) && taken == POSTS -> break
#endif
	od;
	leave()
}

#ifdef ASK
/* dat_queue_mark(), at any time */
proctype asker()
{
	do
	:: atomic { !held[QLOCK] && BUSY && !WILL_COMPLETE -> marked = true; mark_at = head }
	:: taken == POSTS -> break
	od
}
#endif

#ifdef POLLER
/* poller_watch(); ends after a time without dirty bits, or never (@stay). */
inline poller_watch()
{
	BLOCK {
		store_relaxed(WATCHED, 1);
		if
		:: stay = true
		:: stay = false
		fi
	}
end_watching:
	do
	/* The poller sees the newest value after some time. */
	:: VAL(DIRTY, newest[DIRTY]) -> kick()
	:: BLOCK {
		!stay;
		load_relaxed(DIRTY, d);
		if
		:: d -> d = 0
		:: else -> break
		fi }
	od
}

/* poller_park() and poller_leave(); then the poller sleeps until a kick. */
inline poller_park()
{
#ifdef NO_PARK_ORDER
	kick_one();				/* dat_file_kick_all() */
	BLOCK { parked = true; store_relaxed(WATCHED, 0) }
#else
	BLOCK { parked = true; store_relaxed(WATCHED, 0) }
#ifndef NO_PARK_PUMP
	kick_one();				/* dat_file_kick_all() */
#endif
#endif
end_parked:
	!parked
}

proctype poller(byte me)
{
	byte n, e, d, after, round, rounds, parks WATCHING;
	bool got, mine, stay;

	do
	:: parks < PARKS -> parks++; poller_watch(); poller_park()
	:: parks == PARKS -> break
	od;
	leave()
}
#endif

/* At the start, the queue is empty.  Unless EARLY, the pump has run once. */
init
{
	atomic {
		VAL(TAIL, 0) = START;
		VAL(DONE, 0) = START;
		VAL(KICK_AT, 0) = MOD(START + 1);
#ifdef POLLER
		/* The dirty bit may be left over from an entry that a completion has taken. */
		if
		:: VAL(DIRTY, 0) = 1
		:: skip
		fi;
#endif
#if !defined(NO_ARM) && !defined(EARLY)
		VAL(FLAGS, 0) = 1;
		armed = true;
#endif
		run kicker(KICKER);
		run device(DEVICE);
#ifdef ASK
		run asker();
#endif
#ifdef POLLER
		run poller(DEVICE + 1);
#endif
		run producer(PRODUCER);
#if PRODUCERS > 1
		run producer(PRODUCER + 1);
#endif
	}
}
