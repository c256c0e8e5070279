// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * Lanes: the requests of one end of a connection, and how they are carried out.
 *
 * A post appends requests to the queue of the end, sets lane->want, and leaves the rest to a thread
 * that carries out, which is one of these:
 *
 *	lo_run()	the thread that has kicked, after its pump (ep->runner)
 *	lo_look()	a thread that polls an EVD of either end, if a CQ of the lane has joined
 *	lane_task()	a tasklet, for the requests of a kernel module
 *	lane_work()	a work item, for what the others leave
 *
 * No thread waits for the lock of a lane to carry out: if the trylock fails, the thread that holds
 * the lock looks at lane->want again after its unlock.  The letters mark barriers:
 *
 *	a thread that posts			a thread that carries out
 *	-------------------			-------------------------
 *	append the request
 *	lane->want = 1			(A)
 *	full barrier			(B)	exchange lane->want with 0	(C)
 *	trylock fails: return			look for requests, carry out a slice
 *						more left? exchange with 1	(D)
 *						unlock
 *						full barrier			(B)
 *						lane->want? then begin again
 *
 * (A) is a release, and (C) an acquire: a thread that clears the mark sees the request.  (C) and
 * (D) must be exchanges: a store of 0 need not see the mark that it overwrites, and a store of 1
 * would hide the release of another thread from (C).  (B): either the trylock finds the lock free,
 * or the mark is seen after the unlock.
 *
 * A lane is locked for a slice only, with softirqs disabled: LO_SLICE bytes or LO_BATCH requests.
 * lane->done keeps the position in a long message, so another thread can continue, even if the
 * thread that has begun is not scheduled any more.
 *
 * Waiting for a receive: the thread that finds none sets dat_conn.hungry under the ep->lock of the
 * receiver.  Then the pump asks the receiver's process for a kick, and looks again.  The pump that
 * takes the next receive from the ring marks the lane.
 *
 * A thread that is preempted in a slice, which PREEMPT_RT allows, delays this connection until it
 * runs again: a trylock does not pass its priority on.
 *
 * selftests/model/lane.pml is a model of the lanes.  It checks that no request is forgotten, and
 * that this needs each of the barriers.
 */
#include <linux/sched/signal.h>

#include "core/dat.h"
#include "core/ep/conn.h"
#include "core/ep/ep.h"
#include "core/ep/queue.h"
#include "core/event/evd.h"
#include "core/face.h"
#include "core/peer.h"
#include "core/xport.h"
#include "lo/lo.h"

#define PRIV_REMOTE	(DAT_PRIV_REMOTE_READ | DAT_PRIV_REMOTE_WRITE)

static struct workqueue_struct *lo_wq;
static const struct dat_sink lo_no_sink;

int lo_lanes_init(void)
{
	lo_slots_init();
	/*
	 * A lane may carry the requests by which memory is reclaimed.  The works copy for
	 * processes, outside of their cgroups, so they take at most a quarter of the CPUs.
	 */
	lo_wq = alloc_workqueue("dat-lo", WQ_UNBOUND | WQ_MEM_RECLAIM | WQ_SYSFS,
				max(num_possible_cpus() / 4, 1U));
	return lo_wq ? 0 : -ENOMEM;
}

/* No lane is left. */
void lo_lanes_exit(void)
{
	destroy_workqueue(lo_wq);
}

/*
 * Lets a thread carry requests out that no thread of the consumer will.  Only the requests of a
 * kernel module are carried out in a softirq: a softirq must not copy for a process.
 */
static void lane_schedule(struct lo_lane *l)
{
	if (l->kernel)
		tasklet_schedule(&l->task);
	else
		queue_work(lo_wq, &l->work);
}

/*
 * Marks a lane after a post of requests; ep->lock of the sender is held.  @runner: the caller's
 * thread looks at the mark later.
 */
void lo_lane_posted(struct lo_lane *l, bool runner)
{
	smp_store_release(&l->want, 1);				/* (A) */
	if (!runner)
		lane_schedule(l);
}

/*
 * Marks a lane that has waited for a receive.  @runner: see lo_lane_posted().  An exchange, because
 * a store might overwrite the mark of a post in between, and hide its release.  Context: any but
 * hard interrupt.
 */
void lo_lane_wake(struct lo_lane *l, bool runner)
{
	xchg(&l->want, 1);					/* (A) */
	if (!runner)
		lane_schedule(l);
}

/*
 * Carries out a slice, unless another thread does so.  @soft: the caller is a tasklet.  Context:
 * softirqs disabled; the lane may be closed.  Returns true if more is left, which the caller must
 * then do later.
 */
static bool lane_slice(struct lo_lane *l, bool soft)
{
	u32 n = 0;

	smp_mb();						/* (B) */
	if (!READ_ONCE(l->want) || !spin_trylock(&l->lock))
		return false;
	xchg(&l->want, 0);					/* (C) */
	if (!l->closed && lo_slice(l, soft, &n))
		xchg(&l->want, 1);				/* (D) */
	spin_unlock(&l->lock);
	smp_mb();						/* (B) */
	return READ_ONCE(l->want);
}

/* Carries out a slice in process context; see lane_slice(). */
static bool lane_slice_bh(struct lo_lane *l)
{
	bool more;

	local_bh_disable();
	more = lane_slice(l, false);
	local_bh_enable();
	return more;
}

/* Carries out a slice in process context, and leaves the rest to a work item. */
void lo_lane_carry(struct lo_lane *l)
{
	if (lane_slice_bh(l))
		queue_work(lo_wq, &l->work);
}

/*
 * Goes on with a lane that has more after a slice, in a thread of the consumer that needs it.  At
 * least LO_TURN slices, and until the requests before @end have completed, if @ep is not NULL.
 * Other threads may go on posting, so later requests are left to the work item.  May sleep.
 */
static void lane_continue(struct lo_lane *l, const struct dat_ep *ep, u32 end)
{
	bool more = true;
	u32 i;

	for (i = 1; more && !fatal_signal_pending(current); i++) {
		if (i >= LO_TURN && (!ep || (s32)(end - READ_ONCE(ep->sq.done)) <= 0))
			break;
		cond_resched();
		more = lane_slice_bh(l);
	}
	if (more)
		queue_work(lo_wq, &l->work);
}

/*
 * Returns the index after the newest request in the ring, if the EP still has the connection @conn,
 * which is only compared.
 */
static u32 posted_end(struct dat_ep *ep, const struct dat_conn *conn)
{
	u32 end;

	spin_lock_bh(&ep->lock);
	end = ep->sq.done;
	if (ep->conn == conn)
		end = ep->sq.head + ep->sq.ops->pending(&ep->sq);
	spin_unlock_bh(&ep->lock);
	return end;
}

/*
 * Carries out what the pump has posted.  The thread that has kicked pays for all requests that are
 * in the ring, and for some slices of the peer's requests that had waited for its receives.
 */
void lo_run(struct dat_ep *ep)
{
	bool more, more_in = false;
	struct lo_link *link = NULL;
	struct dat_conn *conn;
	struct lo_lane *own, *in;

	rcu_read_lock();
	conn = READ_ONCE(ep->conn);
	if (conn)
		link = smp_load_acquire(&to_lo_conn(conn)->link);	/* see link_join() */
	if (!link) {
		rcu_read_unlock();
		return;
	}
	own = lo_lane_out(to_lo_conn(conn));
	in = lo_lane_in(to_lo_conn(conn));
	if (READ_ONCE(in->want))
		more_in = lane_slice_bh(in);
	more = lane_slice_bh(own);
	/* Without a reference, the connection has ended. */
	if ((!more && !more_in) || !kref_get_unless_zero(&link->ref)) {
		rcu_read_unlock();
		return;
	}
	rcu_read_unlock();
	if (more)
		lane_continue(own, ep, posted_end(ep, conn));
	if (more_in)
		lane_continue(in, NULL, 0);
	lo_link_put(link);
}

/* Takes requests from the ring of the sender.  The lane is locked and not closed. */
static void lane_pull(struct lo_lane *l)
{
	struct dat_conn *conn = &l->from->conn;
	struct dat_ep *ep = conn->ep;

	lockdep_assert_held(&l->lock);
	spin_lock(&ep->lock);
	ep->runner = true;
	if (conn->live && dat_ep_posting(ep->state))
		dat_queue_pump_sq(conn, false);
	ep->runner = false;
	spin_unlock(&ep->lock);
}

/* Lets busy_timer() keep a CQ that has had completions. */
static void cq_seen(struct dat_cq *cq)
{
	if (READ_ONCE(cq->seen))
		return;
	spin_lock(&cq->lock);
	cq->seen = true;
	spin_unlock(&cq->lock);
}

static struct lo_lane *lane_of(struct dat_cq *cq)
{
	return container_of(cq, struct lo_cq, cq)->lane;
}

/*
 * Returns true if the ring of the sender has requests.  The lane is locked and not closed, so the
 * EP keeps its ring.  The result may be outdated without ep->lock; the next look finds the rest.
 */
static bool ring_has_more(const struct lo_lane *l)
{
	const struct dat_queue *q = &l->from->conn.ep->sq;

	/* Other threads may pump. */
	return data_race(q->ops->pending(q));
}

/* Returns true if threads that poll look at the lane, or lo_rearm() is going to be called. */
static bool lane_polled(const struct lo_lane *l)
{
	return READ_ONCE(l->recv_cq.cq.link.round) || READ_ONCE(l->request_cq.cq.link.round);
}

/*
 * Pulls requests and carries out a slice.  What is left waits for the next poll; once the threads
 * do not poll any more, the CQ leaves, and lo_rearm() is called.
 */
void lo_look(struct dat_cq *cq)
{
	struct lo_lane *l = lane_of(cq);
	u32 n = 0;

	local_bh_disable();
	if (!spin_trylock(&l->lock))
		goto out;
	/* Most polls find nothing. */
	if (!l->closed && (ring_has_more(l) || READ_ONCE(l->want))) {
		lane_pull(l);
		xchg(&l->want, 0);				/* (C) */
		if (lo_slice(l, false, &n))
			xchg(&l->want, 1);			/* (D) */
	}
	spin_unlock(&l->lock);
	smp_mb();						/* (B) */
	if (unlikely(READ_ONCE(l->want) && !lane_polled(l)))
		lane_schedule(l);
	/* The slice was for both. */
	if (n) {
		cq_seen(&l->recv_cq.cq);
		cq_seen(&l->request_cq.cq);
	}
out:
	local_bh_enable();
}

/* Lets the work item pull once more, which arms the ring of the sender for kicks. */
void lo_rearm(struct dat_cq *cq)
{
	queue_work(lo_wq, &lane_of(cq)->work);
}

static void lane_task(struct tasklet_struct *t)
{
	struct lo_lane *l = from_tasklet(l, t, task);
	/* lo_lane_open() may set the sink meanwhile, so the batch ends where it has begun. */
	const struct dat_sink *sink = READ_ONCE(l->recv_cq.cq.sink);
	bool more;

	if (sink->begin)
		sink->begin();
	more = lane_slice(l, true);
	if (sink->release)
		sink->release();
	if (more)
		queue_work(lo_wq, &l->work);
}

/* Pulls, and carries out a slice.  Queues itself behind the works of other lanes for the next. */
static void lane_work(struct work_struct *work)
{
	struct lo_lane *l = container_of(work, struct lo_lane, work);

	spin_lock_bh(&l->lock);
	if (!l->closed)
		lane_pull(l);
	spin_unlock_bh(&l->lock);
	lo_lane_carry(l);
}

static void lcq_init(struct lo_cq *lcq, struct lo_lane *l)
{
	spin_lock_init(&lcq->cq.lock);
	lcq->cq.sink = &lo_no_sink;
	lcq->lane = l;
}

/* Initializes a lane, which is closed until lo_lane_open(). */
void lo_lane_init(struct lo_lane *l, struct lo_link *link)
{
	l->link = link;
	l->closed = true;
	l->taken = LO_NONE;
	spin_lock_init(&l->lock);
	lcq_init(&l->recv_cq, l);
	lcq_init(&l->request_cq, l);
	INIT_LIST_HEAD(&l->stalled);
	tasklet_setup(&l->task, lane_task);
	INIT_WORK(&l->work, lane_work);
}

static void cq_open(struct lo_cq *lcq, const struct dat_conn *conn, const struct dat_sink *sink,
		    struct dat_evd *evd)
{
	spin_lock(&lcq->cq.lock);
	lcq->cq.ops = conn->dev->ops;
	WRITE_ONCE(lcq->cq.sink, sink);
	lcq->cq.evd = evd;
	spin_unlock(&lcq->cq.lock);
}

/* From now on no thread that polls finds the lane by this CQ, except those that have found it. */
static void cq_close(struct lo_cq *lcq)
{
	spin_lock(&lcq->cq.lock);
	dat_busy_leave(&lcq->cq);
	lcq->cq.evd = NULL;
	spin_unlock(&lcq->cq.lock);
}

/* Returns the rights that the peer of an end has in its memory. */
static u32 peer_rights(const struct dat_conn *conn)
{
	return conn->passive && conn->ep->traits & DAT_EP_PEER_WAITS ? 0 : PRIV_REMOTE;
}

/*
 * Opens a lane, whose ends are both established, and marks it, because requests may have been
 * posted already.  The caller then calls lo_lane_carry().
 */
void lo_lane_open(struct lo_lane *l, struct lo_conn *from, struct lo_conn *to)
{
	/* A tasklet makes the upcalls of both ends.  Only the sink of kernel consumers has any. */
	const struct dat_sink *sink = from->conn.sink->begin ? from->conn.sink : to->conn.sink;

	spin_lock_bh(&l->lock);
	l->from = from;
	l->to = to;
	l->rights = peer_rights(&to->conn);
	cq_open(&l->recv_cq, &to->conn, sink, to->conn.ep->recv_evd);
	cq_open(&l->request_cq, &from->conn, sink, from->conn.ep->request_evd);
	l->closed = false;
	lo_lane_wake(l, true);
	spin_unlock_bh(&l->lock);
}

/*
 * Closes a lane, if it is open.  Once this returns, no thread uses the queues of its ends.  Waits
 * for a slice at most.
 */
void lo_lane_close(struct lo_lane *l)
{
	spin_lock_bh(&l->lock);
	if (l->closed)
		goto out;
	l->closed = true;
	if (l->to->conn.ep->srq)
		lo_srq_leave(l);
	cq_close(&l->recv_cq);
	cq_close(&l->request_cq);
out:
	spin_unlock_bh(&l->lock);
}

/* Stops the tasklet and the work item of a lane that no thread can find any more.  May sleep. */
void lo_lane_stop(struct lo_lane *l)
{
	tasklet_kill(&l->task);
	cancel_work_sync(&l->work);
}

int lo_allow_peer(struct dat_conn *conn, bool write)
{
	WRITE_ONCE(lo_lane_in(to_lo_conn(conn))->rights,
		   DAT_PRIV_REMOTE_READ | (write ? DAT_PRIV_REMOTE_WRITE : 0));
	return 0;
}
