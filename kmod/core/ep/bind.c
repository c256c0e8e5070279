// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * Binds of RMRs in a send queue.  A bind waits until the requests before it have completed.  The
 * transport then registers the memory, and bind_work() puts the binding into effect.
 */
#include "core/dat.h"
#include "core/ep/conn.h"
#include "core/ep/ep.h"
#include "core/ep/queue.h"
#include "core/mem/rmr.h"
#include "core/xport.h"

/*
 * Reports that the registration for conn->bind has completed.  @failed: the device has refused the
 * registration.  ep->lock is held.
 */
void dat_conn_bind_done(struct dat_conn *conn, bool failed)
{
	lockdep_assert_held(&conn->ep->lock);

	/* If the connection is closing, its teardown completes the bind as flushed. */
	if (dat_conn_is_closing(conn))
		return;
	conn->bind.failed = failed;
	queue_work(dat_wq, &conn->bind_work);
}

/*
 * Starts the registration for conn->bind, after all earlier requests have completed.  bind_work()
 * does the rest.  ep->lock is held.
 */
void dat_bind_start(struct dat_conn *conn)
{
	struct dat_bind *bind = &conn->bind;
	struct dat_ep *ep = conn->ep;
	struct dat_rmr *rmr;
	int ret = 0;

	lockdep_assert_held(&ep->lock);
	bind->started = true;
	rmr = dat_obj_get(ep->obj.ia, DAT_OBJ_RMR, bind->rmr);
	if (!IS_ERR(rmr)) {
		bind->taken = dat_rmr_take(rmr, ep->pz, bind->ticket);
		dat_obj_put(&rmr->obj);
	}
	if (bind->taken)
		ret = conn->dev->ops->bind_start(conn, bind->taken);
	if (ret > 0)
		return;
	bind->failed = ret < 0;
	queue_work(dat_wq, &conn->bind_work);
}

static u8 bind_carry_out(struct dat_conn *conn)
{
	struct dat_bind *bind = &conn->bind;
	struct dat_ep *ep = conn->ep;
	struct dat_rmr *rmr = ERR_PTR(-ENOENT);
	u8 status = DAT_ST_RMR_FAILED;

	if (bind->taken && !bind->failed)
		rmr = dat_obj_get(ep->obj.ia, DAT_OBJ_RMR, bind->rmr);
	if (IS_ERR(rmr)) {
		dat_binding_free(bind->taken);
	} else {
		status = dat_rmr_carry_out(rmr, bind->taken);
		dat_obj_put(&rmr->obj);
	}
	bind->taken = NULL;
	return status;
}

/*
 * Puts the binding into effect and reports the bind.  No lock is needed to read conn->bind: once
 * this work item is queued, only this work item changes conn->bind, unless the teardown has
 * cancelled it.
 */
static void bind_work(struct work_struct *work)
{
	struct dat_conn *conn = container_of(work, struct dat_conn, bind_work);
	struct dat_ep *ep = conn->ep;
	struct dat_queue *q = &ep->sq;
	u8 status;

	status = bind_carry_out(conn);
	spin_lock_bh(&ep->lock);
	conn->bind.set = false;
	q->done++;
	dat_queue_publish(q);
	dat_report_bind(ep, &conn->bind, status);
	if (status != DAT_ST_SUCCESS)
		dat_conn_fail(conn, DAT_EV_BROKEN);
	dat_conn_progress(conn);
	spin_unlock_bh(&ep->lock);
}

void dat_bind_init(struct dat_conn *conn)
{
	INIT_WORK(&conn->bind_work, bind_work);
}
