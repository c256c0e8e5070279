// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * Binds of RMRs in a send queue.  A bind waits until the requests before it have completed, and
 * until no other EP binds the same RMR.  The requests behind a bind wait until it has completed.
 *
 * The transport posts work requests that end the registration of the previous binding and make the
 * new registration.  Their completion puts the binding into effect.  If a registration must be
 * destroyed, which may sleep, or if there was nothing to post, bind_work() does that.
 */
#include "core/dat.h"
#include "core/ep/conn.h"
#include "core/ep/ep.h"
#include "core/ep/queue.h"
#include "core/mem/rmr.h"
#include "core/xport.h"

/*
 * Reports the bind.  After an error the connection ends, and the teardown abandons bind.taken: work
 * requests of the bind may still be in the queue of the device.  ep->lock is held.
 */
static void bind_finish(struct dat_conn *conn, u8 status)
{
	struct dat_ep *ep = conn->ep;
	struct dat_queue *q = &ep->sq;

	lockdep_assert_held(&ep->lock);
	conn->bind.set = false;
	if (status == DAT_ST_SUCCESS)
		conn->bind.taken = NULL;
	q->done++;
	dat_queue_publish(q);
	dat_report_bind(ep, &conn->bind, status);
	/* With iWARP, the end that the peer has begun may flush requests before it is reported. */
	if (status == DAT_ST_FLUSHED && ep->obj.ia->iwarp)
		dat_conn_hung_up(conn);
	else if (status != DAT_ST_SUCCESS)
		dat_conn_fail(conn, DAT_EV_BROKEN);
	dat_conn_progress(conn);
}

/*
 * Reports that the work requests for conn->bind have completed.  @status: DAT_ST_*.  A further call
 * for the same bind, for a work request that was flushed behind a failed one, has no effect.
 * Context: any but hard interrupt; ep->lock is held.
 */
void dat_conn_bind_done(struct dat_conn *conn, u8 status)
{
	struct dat_bind *bind = &conn->bind;

	lockdep_assert_held(&conn->ep->lock);
	/* If the connection is closing, its teardown completes the bind as flushed. */
	if (dat_conn_is_closing(conn) || !bind->set || !bind->started || bind->ended)
		return;
	/* If the RMR was freed meanwhile, bind_work() destroys the new registration. */
	if (status == DAT_ST_SUCCESS &&
	    (bind->taken->sleeps || dat_rmr_carry_out(bind->taken) != DAT_ST_SUCCESS)) {
		bind->ended = true;
		mod_delayed_work(dat_wq, &conn->bind_work, 0);
		return;
	}
	bind_finish(conn, status);
}

/*
 * Starts conn->bind, after all earlier requests have completed.  While another EP binds the RMR,
 * bind_work() tries again: that bind does not depend on a peer, so the wait is short.  ep->lock is
 * held.
 */
void dat_bind_start(struct dat_conn *conn)
{
	struct dat_bind *bind = &conn->bind;
	struct dat_ep *ep = conn->ep;
	struct dat_binding *b;
	struct dat_rmr *rmr;
	int ret;

	lockdep_assert_held(&ep->lock);
	/* A bind need not use the device, but must not take effect after a request that did not. */
	if (conn->flushed) {
		bind_finish(conn, DAT_ST_FLUSHED);
		return;
	}
	rmr = dat_obj_get(ep->obj.ia, DAT_OBJ_RMR, bind->rmr);
	b = ERR_CAST(rmr);
	if (!IS_ERR(rmr)) {
		b = dat_rmr_take(rmr, ep->pz, bind->ticket);
		dat_obj_put(&rmr->obj);
	}
	if (b == ERR_PTR(-EBUSY)) {
		queue_delayed_work(dat_wq, &conn->bind_work, 1);
		return;
	}
	bind->started = true;
	ret = PTR_ERR_OR_ZERO(b);
	if (!ret) {
		bind->taken = b;
		ret = conn->dev->ops->bind_start(conn, b);
	}
	if (ret < 0) {
		bind_finish(conn, DAT_ST_RMR_FAILED);
	} else if (!ret) {
		bind->ended = true;
		mod_delayed_work(dat_wq, &conn->bind_work, 0);
	}
}

/*
 * Starts a bind that had to wait for another EP, or puts the binding into effect and reports the
 * bind.  From the time when bind.ended is set until bind_finish(), only this work uses bind.taken,
 * unless the teardown has cancelled the work.
 */
static void bind_work(struct work_struct *work)
{
	struct dat_conn *conn = container_of(to_delayed_work(work), struct dat_conn, bind_work);
	struct dat_ep *ep = conn->ep;
	bool ended;
	u8 status;

	spin_lock_bh(&ep->lock);
	ended = conn->bind.set && conn->bind.ended;
	if (!ended)
		dat_conn_progress(conn);
	spin_unlock_bh(&ep->lock);
	if (!ended)
		return;
	dat_rmr_end_old(conn->bind.taken);
	status = dat_rmr_carry_out(conn->bind.taken);
	if (status != DAT_ST_SUCCESS) {
		dat_rmr_abandon(conn->bind.taken);
		conn->bind.taken = NULL;
	}
	spin_lock_bh(&ep->lock);
	bind_finish(conn, status);
	spin_unlock_bh(&ep->lock);
}

void dat_bind_init(struct dat_conn *conn)
{
	INIT_DELAYED_WORK(&conn->bind_work, bind_work);
}
