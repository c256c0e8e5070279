/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) The dat authors */
/*
 * How a connection's CQ is polled: after a notification of the device, by threads that poll the
 * EVDs of the CQ, or by a timer that finds that no thread polls any more.  README.rst maps the
 * steps to functions.
 *
 *   device    completes MADE requests, and notifies if the CQ is armed
 *   user      polls its EVDs some times; then stops, or (-DWAIT) sleeps on the last EVD
 *   timers    one per EVD; the clock may find at any time that the last poll was long ago
 *
 * All decisions are made under a lock, so this model has no weak memory.
 *
 * -DEVDS=2: requests and receives have an EVD each.  -DWAIT: see above.  -DCPUS=n: CPUs that run
 * softirqs.  -DKICK: a thread posts.  -DSECOND: a second thread polls too.  -DOTHER: another thread
 * stops the polling and does not sleep.  -DCLOSE: the connection is closed.  -DNO_TIMER: no timer
 * expires, so no step may depend on a timer.  -DNO_<X>: leave out step X.
 */
#ifndef EVDS
#define EVDS	1
#endif
#ifndef MADE
#define MADE	2
#endif
#ifndef POLLS
#define POLLS	2
#endif
#ifndef CPUS
#define CPUS	1
#endif
#define LAST	(EVDS - 1)

/* Number of requests completed, of CQEs in the CQ, and of CQEs taken from the CQ. */
byte made, cq, taken;
bool armed = true, notify;
/* IRQ_POLL_F_SCHED; true while a softirq polls. */
bool sched, polling;
/* State of the connection, under ep->lock. */
bool ep_lock, closing, seen;
bool in[EVDS];			/* in evd->busy.round; also under its lock */
/* evd->busy */
bool on[EVDS], recent[EVDS], pending[EVDS];
/* A thread sleeps on the last EVD, or watches the last EVD; both under evd->lock. */
bool waiting, watching;
bool told;			/* the thread relies on notifications */

#define polled(e)	(on[e] && recent[e])
#define lock_ep()	atomic { !ep_lock -> ep_lock = true }
#define unlock_ep()	ep_lock = false
#if EVDS == 2
#define joined()	(in[0] || in[1])
#else
#define joined()	in[0]
#endif

/* irq_poll_sched(); has no effect if the poll is already scheduled. */
#define schedule()	sched = true

/* cq_take(); takes all CQEs, or one budget of CQEs. */
inline cq_take(n, part)
{
	atomic {
		if
		:: cq > 1 -> n = 1; part = true
		:: n = cq; part = false
		fi;
		cq = cq - n;
		taken = taken + n
	}
}

/* cq_rearm(); @more: CQEs have been added in the meantime. */
inline cq_rearm(more)
{
	atomic {
		armed = true;
#ifdef NO_MISSED
		more = false
#else
		more = cq > 0
#endif
	}
}

/* link_join(), under the lock of evd->busy.round */
inline link_join(e, ok)
{
#ifdef NO_STOP_LOCK
	ok = polled(e);
	if
	:: ok ->
		atomic {
#else
	atomic {
		ok = polled(e);
		if
		:: ok ->
#endif
			assert(!(told && e == LAST));
			in[e] = true;
#if !defined(NO_TIMER) && !defined(NO_ARM)
			pending[e] = true
#endif
#ifdef NO_STOP_LOCK
		}
	:: else
	fi
#else
		:: else
		fi
	}
#endif
}

/* dat_busy_leave(); schedules a poll. */
inline leave()
{
	atomic {
		if
		:: joined() ->
			in[0] = false;
#if EVDS == 2
			in[1] = false;
#endif
#ifndef NO_SCHEDULE
			schedule()
#endif
		:: else
		fi
	}
}

/* dat_busy_join() */
inline join(ok)
{
	if
	:: joined() -> ok = true
	:: !joined() && closing -> ok = false
	:: else ->
		link_join(0, ok);
#if EVDS == 2 && !defined(NO_BOTH)
		if
		:: ok ->
			link_join(1, ok);
			if
			:: !ok -> in[0] = false
			:: else
			fi
		:: else
		fi;
#endif
		seen = true
	fi
}

active proctype device()
{
	do
	:: made < MADE ->
		atomic {
			made++;
			cq++;
			if
			:: armed -> armed = false; notify = true
			:: else
			fi
		}
	:: else -> break
	od
}

/* cq_notified(), cq_try() */
active proctype notified()
{
	byte n;
	bool part, ok, more;

end:	do
	:: notify ->
		notify = false;
		more = false;
		atomic {
			if
			:: ep_lock -> schedule(); goto end
			:: else -> ep_lock = true
			fi
		}
		cq_take(n, part);
		ok = false;
		if
		:: n && !part -> join(ok)
		:: else
		fi;
		unlock_ep();
		if
		:: part -> more = true
		:: !part && !ok -> cq_rearm(more)
		:: else
		fi;
		if
		:: more -> schedule()
		:: else
		fi;
		n = 0
	od
}

/* irq_poll_complete() */
#define complete()	atomic { polling = false; sched = false }

/* cq_irq_poll() */
active [CPUS] proctype irq_poll()
{
	byte n;
	bool part, ok, more;

end:	do
	:: atomic { sched && !polling -> polling = true }
		lock_ep();
		cq_take(n, part);
		ok = false;
		if
		:: n && !part -> join(ok)
		:: else
		fi;
#ifndef NO_COMPLETE
		if
		:: ok -> complete()
		:: else
		fi;
#endif
		unlock_ep();
		if
		:: part -> polling = false
#ifdef NO_COMPLETE
		:: !part && ok -> complete()
#endif
		:: !part && !ok ->
			complete();
			cq_rearm(more);
			if
			:: more -> schedule()
			:: else
			fi
		:: else
		fi;
		n = 0;
		more = false
	od
}

/* busy_expire() */
inline expire(all)
{
	lock_ep();
	if
	:: !all && seen -> seen = false
	:: else -> leave()
	fi;
	unlock_ep()
}

/* busy_sweep(), for all links of the EVD. */
inline sweep_all(e)
{
	do
	:: polled(e) || !in[e] -> break
	:: else -> expire(true)
	od
}

/* dat_busy_stop() */
inline stop(e)
{
	if
	:: on[e] || in[e] ->
		on[e] = false;
		sweep_all(e)
	:: else
	fi
}

/* busy_timer() */
inline timer(e)
{
	pending[e] = false;
	if
	:: polled(e) ->
		if
		:: in[e] -> expire(false)
		:: else
		fi
	:: else -> sweep_all(e)
	fi;
	atomic {
		if
#ifdef NO_ON
		:: in[e] && on[e] -> pending[e] = true
#elif !defined(NO_REARM)
		:: in[e] -> pending[e] = true
#endif
		:: else
		fi
	}
}

active [EVDS] proctype timers()
{
	byte e = _pid % EVDS;

end:	do
	:: pending[e] -> timer(e)
	od
}

#ifndef NO_TIMER
active proctype clock()
{
end:	do
	:: recent[0] -> recent[0] = false
#if EVDS == 2
	:: recent[1] -> recent[1] = false
#endif
	od
}
#endif

/* busy_begin(); checks under evd->lock whether a thread waits. */
inline begin(e, useful)
{
	recent[e] = true;
	if
	:: on[e] -> useful = true
	:: else ->
		atomic {
#ifdef NO_CHECK
			useful = true;
#else
			useful = !(e == LAST && (waiting || watching));
#endif
			on[e] = on[e] || useful
		}
	fi
}

/* One call of dat_busy_poll(), with busy_look() and busy_take(). */
inline poll(e)
{
	begin(e, useful);
	if
	:: useful && in[e] ->
		atomic {
			if
			:: !ep_lock -> ep_lock = true; useful = true
			:: else -> useful = false
			fi
		}
		if
		:: useful ->
			if
			:: joined() ->
				cq_take(n, part);
				seen = seen || n
			:: else
			fi;
			unlock_ep()
		:: else
		fi
	:: else
	fi;
	n = 0;
	part = false
}

active proctype user()
{
	byte i, n;
	bool useful, part;

	do
	:: i < POLLS ->
		i++;
		poll(0);
#if EVDS == 2
		poll(1)
#endif
	:: break
	od;
#ifdef WAIT
#ifdef NO_ORDER
	stop(LAST);
	waiting = true;
#else
	waiting = true;			/* evd_become_waiter() */
#ifndef NO_STOP
	stop(LAST);
#endif
#endif
	/* From this step on, the thread relies on notifications of the device alone. */
	told = true;
	assert(!in[LAST]);
#endif
	taken == MADE
}

#ifdef SECOND
active proctype second()
{
	byte n;
	bool useful, part;

	poll(LAST)
}
#endif

#ifdef KICK
/* dat_queue_kick(), dat_busy_posted() */
active proctype kick()
{
	byte n;
	bool part, look;

	lock_ep();
	look = joined();
	unlock_ep();
	if
	:: look ->
		if
		:: atomic { !ep_lock -> ep_lock = true }
			if
			:: joined() -> cq_take(n, part); seen = seen || n
			:: else
			fi;
			unlock_ep()
		:: ep_lock
		fi
	:: else
	fi
}
#endif

#ifdef OTHER
/*
 * evd_poll() of a thread that does not sleep, or dat_evd_set_unwaitable(), which does not set
 * "watching".
 */
active proctype other()
{
	if
	:: watching = true
	:: true
	fi;
	skip;				/* evd->lock */
	stop(LAST);
	watching = false
}
#endif

#ifdef CLOSE
/* dat_conn_close() */
active proctype closer()
{
	lock_ep();
	closing = true;
#ifndef NO_LEAVE
	leave();
#endif
	unlock_ep()
}
#endif
