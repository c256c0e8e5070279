/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) The dat authors */
/*
 * How a CQ is polled: after a notification of the device, by threads that poll the EVD of the CQ,
 * by the teardown of a connection, or by a timer that finds that no thread polls any more.
 * README.rst maps the steps to functions.
 *
 *   device    completes MADE requests, and notifies if the CQ is armed
 *   user      polls the EVD some times; then stops, or (-DWAIT) sleeps
 *   timer     the clock may find at any time that the last poll was long ago
 *
 * All decisions are made under a lock, so this model has no weak memory.
 *
 * -DWAIT: see above.  -DCPUS=n: CPUs that run softirqs.  -DKICK: a thread posts, and polls wait for
 * its ep->lock; if the device notifies inside the post, the handler only schedules a poll.
 * -DSECOND: a second thread polls too.  -DOTHER: another
 * thread stops the polling and does not sleep.  -DCLOSE: a connection is closed, and its teardown
 * waits for the completions.  -DNO_TIMER: no timer expires, so no step may depend on a timer.
 * -DNO_<X>: leave out step X.
 */
#ifndef MADE
#define MADE	2
#endif
#ifndef POLLS
#define POLLS	2
#endif
#ifndef CPUS
#define CPUS	1
#endif

/* Number of requests completed, of CQEs in the CQ, and of completions reported. */
byte made, cq, taken;
bool armed = true, notify;
/* IRQ_POLL_F_SCHED; true while a softirq polls. */
bool sched, polling;
/* Under cq->lock. */
bool cq_lock, seen;
bool in;			/* in evd->busy.round; also under its lock */
/* A thread that posts has ep->lock of the connection. */
bool ep_lock;
/* evd->busy */
bool on, recent, pending;
/* A thread sleeps on the EVD, or watches it; both under evd->lock. */
bool waiting, watching;
bool told;			/* the thread relies on notifications */

#define polled()	(on && recent)
#define lock_cq()	atomic { !cq_lock -> cq_lock = true }
#define unlock_cq()	cq_lock = false

/* irq_poll_sched(); has no effect if the poll is already scheduled. */
#define schedule()	sched = true

/* verbs_poll(); takes all CQEs, or one budget of CQEs, and waits for ep->lock to report them. */
inline cq_take(n, part)
{
	atomic {
		if
		:: cq > 1 -> n = 1; part = true
		:: n = cq; part = false
		fi;
		cq = cq - n
	}
	atomic { !ep_lock || !n -> taken = taken + n }
}

/* poll_rearm(); @more: CQEs have been added in the meantime. */
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

/* dat_busy_leave(); schedules a poll. */
inline leave()
{
	atomic {
		if
		:: in ->
			in = false;
#ifndef NO_SCHEDULE
			schedule()
#endif
		:: else
		fi
	}
}

/* dat_busy_join(); under the lock of evd->busy.round */
inline join(ok)
{
	if
	:: in -> ok = true
	:: else ->
#ifdef NO_STOP_LOCK
		ok = polled();
		if
		:: ok ->
			atomic {
#else
		atomic {
			ok = polled();
			if
			:: ok ->
#endif
				assert(!told);
				in = true;
#if !defined(NO_TIMER) && !defined(NO_ARM)
				pending = true;
#endif
				seen = true
#ifdef NO_STOP_LOCK
			}
		:: else
		fi
#else
			:: else
			fi
		}
#endif
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

/* verbs_notified(), poll_try().  A handler that must not poll only schedules a poll. */
active proctype notified()
{
	byte n;
	bool part, ok, more;

end:	do
	:: notify ->
		notify = false;
		atomic {
			if
			:: schedule(); goto end
			:: cq_lock -> schedule(); goto end
			:: !cq_lock -> cq_lock = true
			fi
		}
		more = false;
		cq_take(n, part);
		ok = false;
		if
		:: n && !part -> join(ok)
		:: else
		fi;
		unlock_cq();
		if
		:: part -> more = true
		:: !part && !ok -> cq_rearm(more)
		:: else
		fi;
		if
		:: more -> schedule()
		:: else
		fi;
		n = 0;
		part = false
	od
}

/* irq_poll_complete() */
#define complete()	atomic { polling = false; sched = false }

/* verbs_irq_poll() */
active [CPUS] proctype irq_poll()
{
	byte n;
	bool part, ok, more;

end:	do
	:: atomic { sched && !polling -> polling = true }
		lock_cq();
		cq_take(n, part);
		ok = false;
		if
		:: n && !part -> join(ok)
		:: else
		fi;
#ifndef NO_COMPLETE
		if
		:: !part -> complete()
		:: else
		fi;
#endif
		unlock_cq();
#ifdef NO_COMPLETE
		if
		:: !part -> complete()
		:: else
		fi;
#endif
		if
		:: part -> polling = false
		:: !part && !ok ->
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
	lock_cq();
	if
	:: !all && seen -> seen = false
	:: else -> leave()
	fi;
	unlock_cq()
}

/* busy_sweep(), for all links of the EVD. */
inline sweep_all()
{
	do
	:: polled() || !in -> break
	:: else -> expire(true)
	od
}

/* dat_busy_stop() */
inline stop()
{
	if
	:: on || in ->
		on = false;
		sweep_all()
	:: else
	fi
}

/* busy_timer() */
active proctype timer()
{
end:	do
	:: pending ->
		pending = false;
		if
		:: polled() ->
			if
			:: in -> expire(false)
			:: else
			fi
		:: else -> sweep_all()
		fi;
		atomic {
			if
#ifdef NO_ON
			:: in && on -> pending = true
#elif !defined(NO_REARM)
			:: in -> pending = true
#endif
			:: else
			fi
		}
	od
}

#ifndef NO_TIMER
active proctype clock()
{
end:	do
	:: recent -> recent = false
	od
}
#endif

/* busy_begin(); checks under evd->lock whether a thread waits. */
inline begin(useful)
{
	recent = true;
	if
	:: on -> useful = true
	:: else ->
		atomic {
#ifdef NO_CHECK
			useful = true;
#else
			useful = !(waiting || watching);
#endif
			on = on || useful
		}
	fi
}

/* verbs_look() */
inline look(got)
{
	atomic {
		got = !cq_lock;
		cq_lock = true
	}
	if
	:: got ->
		if
		:: in ->
			cq_take(n, part);
			seen = seen || n
		:: else
		fi;
		unlock_cq()
	:: else
	fi;
	n = 0;
	part = false
}

/* One call of dat_busy_poll(), with busy_look(). */
inline poll()
{
	begin(useful);
	if
	:: useful && in -> look(useful)
	:: else
	fi
}

active proctype user()
{
	byte i, n;
	bool useful, part;

	do
	:: i < POLLS ->
		i++;
		poll()
	:: break
	od;
#ifdef WAIT
#ifdef NO_ORDER
	stop();
	waiting = true;
#else
	waiting = true;			/* evd_become_waiter() */
#ifndef NO_STOP
	stop();
#endif
#endif
	/* From this step on, the thread relies on notifications of the device alone. */
	told = true;
	assert(!in);
#endif
	taken == MADE
}

#ifdef SECOND
active proctype second()
{
	byte n;
	bool useful, part;

	poll()
}
#endif

#ifdef KICK
/* dat_queue_kick(), verbs_run() */
active proctype kick()
{
	byte n;
	bool part, joined;

	atomic { !ep_lock -> ep_lock = true }
	joined = in;
	ep_lock = false;
	if
	:: joined -> look(joined)
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
	stop();
	watching = false
}
#endif

#ifdef CLOSE
/* await_drain(), which is called again and again, with verbs_empty_cq(). */
active proctype closer()
{
	byte n;
	bool part;

	do
#ifndef NO_TAKE
	:: cq ->
		lock_cq();
		cq_take(n, part);
		unlock_cq()
#endif
	:: taken == MADE -> break
	od
}
#endif
