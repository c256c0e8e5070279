/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) The dat authors */
/* Event dispatchers (EVDs), CNOs, and the lists of what threads poll for an EVD. */
#ifndef _DAT_EVD_H
#define _DAT_EVD_H

#include <linux/spinlock.h>
#include <linux/timer.h>
#include <linux/wait.h>

#include "core/dat.h"
#include "core/event/ring.h"
#include "core/event/round.h"
#include "core/face.h"

struct dat_conn;
struct dat_ep;
struct dat_gate;

#define DAT_MAX_EVD_QLEN	65536

/* Consumer notification object; its users are EVDs. */
struct dat_cno {
	struct dat_obj		obj;
	spinlock_t		lock;		/* lock of all members below */
	wait_queue_head_t	wq;		/* threads that sleep on the CNO or in poll() */
	u32			waiters;	/* threads that wait to consume a trigger */
	u32			generation;	/* number of triggers so far */
	bool			triggered;	/* a trigger is not consumed yet */
	/*
	 * @evd: user_data of the EVD that set @triggered.  @last: user_data of the EVD that
	 * triggered the CNO last.  Each is 0 if that EVD has left the CNO.
	 */
	u64			evd;
	u64			last;
	bool			dead;		/* the CNO is shut down */
};

/**
 * struct dat_busy - CQs that are polled by threads that wait for events of an EVD
 * @round: the CQs
 * @on: flag: a thread has polled the EVD since the last dat_busy_stop(); set under evd->lock,
 *	cleared under round.lock
 * @last: time at which a thread last polled the EVD, in jiffies
 * @timer: timer that removes idle CQs from @round, and all CQs once polling has ended
 */
struct dat_busy {
	struct dat_round	round;
	bool			on;
	unsigned long		last;
	struct timer_list	timer;
};

/**
 * struct dat_cq - completion queue of a transport, for connections that share an EVD
 * @lock: lock of the polls: whoever takes completions from the CQ holds it until the completions
 *	have been reported, so they are reported in order; protects all members below
 * @ops: operations of the transport; constant
 * @sink: operations of the face that receives the events; constant, except that over lo0 it is set
 *	when the lane opens, while a tasklet may read it without @lock
 * @evd: EVD whose polling threads poll the CQ; NULL if the CQ is for a single connection, or if no
 *	connection uses the CQ any more
 * @link: entry in evd->busy.round while threads poll the CQ, which is not armed then
 * @seen: flag: a poll has found completions, or the CQ has joined, since busy_timer() last ran
 *
 * The memory is freed an RCU grace period after the last connection has left its EP.
 */
struct dat_cq {
	spinlock_t			lock;	/* lock of the polls, see above */
	const struct dat_xport_ops	*ops;
	const struct dat_sink		*sink;
	struct dat_evd			*evd;
	struct dat_round_link		link;
	bool				seen;
};

/* State of a connection that notifies an EVD of solicited and failed receives only. */
struct dat_solicited_conn {
	struct dat_round_link	link;		/* entry in evd->solicited */
	bool			early;		/* notified before conn->live was set; ep->lock */
	struct timer_list	timer;		/* polls the receive CQ if the EP has an SRQ */
	unsigned long		delay;		/* jiffies from poll to poll of @timer */
};

/* Event dispatcher. */
struct dat_evd {
	struct dat_obj		obj;
	u32			streams;	/* enum dat_stream bits that the EVD accepts */
	const struct dat_sink	*sink;		/* operations of the consumer's face; constant */
	/*
	 * Operations by which a kernel consumer limits the connection requests in the EVD, or NULL;
	 * set before a listener uses the EVD.
	 */
	const struct dat_gate	*gate;
	/*
	 * The consumer takes events at several CPUs at the same time, so the connections share no
	 * CQ.  Counts for connections that are made afterwards; evd->lock.
	 */
	bool			spread;
	struct dat_busy		busy;		/* CQs that are polled; has its own lock */
	struct dat_round	solicited;	/* solicited connections; has its own lock */
	spinlock_t		lock;		/* lock of @ring to @overflowed */
	struct dat_evring	ring;
	wait_queue_head_t	wq;		/* the thread in dat_evd_wait() sleeps here */
	bool			waiting;	/* a thread is inside dat_evd_wait() */
	u32			threshold;	/* number of events that the thread waits for */
	wait_queue_head_t	poll;		/* waiters in poll() and epoll */
	/* CNO that an event triggers while @waiting is false; held with dat_obj_use(); or NULL. */
	struct dat_cno		*cno;
	bool			unwaitable;	/* dat_evd_wait() fails */
	bool			disabled;	/* events do not trigger @cno */
	bool			dead;		/* the EVD is shut down; also read without @lock */
	/*
	 * An event was lost, and no event has found room since.  The next overflow is reported only
	 * after an event has found room.
	 */
	bool			overflowed;
	struct dat_slice	next;		/* prepared ring, not in use yet; ia->resize_lock */
	u32			generation;	/* latest prepared generation; ia->resize_lock */
};

DAT_OBJ_CAST(cno)
DAT_OBJ_CAST(evd)

/* evd.c */
struct dat_evd *dat_evd_create(struct dat_ia *ia, u32 streams, u32 qlen, u64 user_data);
bool dat_evd_deliver_bh(struct dat_evd *evd, const struct dat_eqe *eqe, bool notify);
bool dat_evd_deliver(struct dat_evd *evd, const struct dat_eqe *eqe, bool notify);
void dat_evd_notify(struct dat_evd *evd);
bool dat_evd_offer(struct dat_evd *evd, const struct dat_eqe *eqe);
bool dat_evd_offer_locked(struct dat_evd *evd, const struct dat_eqe *eqe);
int dat_evd_post(struct dat_evd *evd, u64 cookie);
u32 dat_evd_count(struct dat_evd *evd);
void dat_evd_wake_waiters(struct dat_evd *evd);

/*
 * Returns the number of free entries of the ring.  If the result is @want or more, the true number
 * may be higher, because this function has not read the consumer's index.  evd->lock is held.
 */
static __always_inline u32 dat_evd_room(struct dat_evd *evd, u32 want)
{
	const struct dat_evring *r = &evd->ring;
	u32 room = r->entries - (r->tail - r->head);

	lockdep_assert_held(&evd->lock);
	/*
	 * count() reads the consumer's index, which is slow: call count() only if r->head leaves
	 * less room than @want.
	 */
	return likely(room >= want) ? room : r->entries - evd->sink->count(evd);
}

int dat_evd_wait(struct dat_evd *evd, u32 threshold, u64 deadline_ns);
void dat_evd_set_unwaitable(struct dat_evd *evd, bool unwaitable);
void dat_evd_set_disabled(struct dat_evd *evd, bool disabled);
void dat_evd_kill(struct dat_evd *evd);
int dat_evd_set_cno(struct dat_evd *evd, struct dat_cno *cno);
int dat_evd_resize(struct dat_evd *evd, u32 qlen, struct dat_step *step);

/* busy.c */
void dat_busy_init(struct dat_busy *b);
bool dat_busy_join_polled(struct dat_cq *cq);
bool dat_busy_leave(struct dat_cq *cq);
void dat_busy_show(struct seq_file *m, struct dat_busy *b);
int dat_busy_poll(struct dat_evd *evd, u64 spin_ns);
void dat_busy_stop(struct dat_evd *evd);
void dat_busy_end(struct dat_evd *evd);

/*
 * Lets polling threads take the completions of a CQ that has notified and is not armed.  Inline,
 * because most EVDs are not polled, and the threads of kernel consumers never poll.  cq->lock is
 * held.  Returns false if the caller must arm the CQ.
 */
static inline bool dat_busy_join(struct dat_cq *cq)
{
	lockdep_assert_held(&cq->lock);
	return cq->link.round ||
	       (cq->evd && READ_ONCE(cq->evd->busy.on) && dat_busy_join_polled(cq));
}

/* solicited.c */
void dat_solicited_init_conn(struct dat_conn *conn);
void dat_solicited_exit_conn(struct dat_conn *conn);
void dat_solicited_join(struct dat_conn *conn);
void dat_solicited_leave(struct dat_conn *conn);
void dat_solicited_notify(struct dat_conn *conn);
bool dat_solicited_look_all(struct dat_evd *evd);

/*
 * Polls for unsolicited receives, which do not notify.  Inline, because most EVDs have no solicited
 * connections.  Context: like dat_solicited_look_all().  Returns true if a receive was found.
 */
static inline bool dat_solicited_look(struct dat_evd *evd)
{
	return unlikely(READ_ONCE(evd->solicited.count)) && dat_solicited_look_all(evd);
}

/* cno.c */
struct dat_cno *dat_cno_create(struct dat_ia *ia);
void dat_cno_trigger(struct dat_cno *cno, u64 evd);
void dat_cno_forget(struct dat_cno *cno, u64 evd);
bool dat_cno_query(struct dat_cno *cno, u32 *generation);
int dat_cno_wait(struct dat_cno *cno, u64 deadline_ns, u64 *evd);
int dat_cno_watch(struct dat_cno *cno, u32 *generation, u64 deadline_ns, u64 *evd);

#endif /* _DAT_EVD_H */
