// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* Shared receive queues: creation, destruction and posts with the verbs of the device. */
#include <rdma/ib_verbs.h>

#include "core/ep/srq.h"
#include "verbs/verbs.h"

/* Handles an asynchronous event of the SRQ.  The driver may call this in hard interrupt. */
static void srq_event(struct ib_event *event, void *context)
{
	if (event->event == IB_EVENT_SRQ_ERR)
		dat_srq_broken(context);
}

int verbs_srq_init(struct dat_srq *srq, u32 max_recv, u32 max_iov)
{
	struct ib_srq_init_attr init = {
		.event_handler	= srq_event,
		.srq_context	= srq,
		.attr.max_wr	= max_recv,
		.attr.max_sge	= max_iov,
		.srq_type	= IB_SRQT_BASIC,
	};
	struct ib_srq *ibsrq = ib_create_srq(to_verbs_pz(srq->pz)->pd, &init);

	if (IS_ERR(ibsrq))
		return PTR_ERR(ibsrq);
	to_verbs_srq(srq)->srq = ibsrq;
	return 0;
}

void verbs_srq_exit(struct dat_srq *srq)
{
	struct verbs_srq *vsrq = to_verbs_srq(srq);

	if (!vsrq->srq)
		return;
	/* An SRQ that is in use has a QP that the driver could not destroy; see stuck.c. */
	if (atomic_read(&vsrq->srq->usecnt))
		WRITE_ONCE(vsrq->srq->event_handler, NULL);
	else
		ib_destroy_srq(vsrq->srq);
	vsrq->srq = NULL;
}

int verbs_srq_post(struct dat_srq *srq, const struct ib_recv_wr *wr)
{
	lockdep_assert_held(&srq->lock);

	return ib_post_srq_recv(to_verbs_srq(srq)->srq, wr, NULL);
}
