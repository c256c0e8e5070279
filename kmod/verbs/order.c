// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * Order of completions on a device that completes requests out of order (DAT_QUIRK_UNORDERED, siw).
 *
 * To the core, a completion also completes all earlier requests, so completions must come in the
 * order of the posts.  siw completes a read when the answer arrives, but completes any other
 * request as soon as the request is sent.  So a request that follows a read, and is not a read
 * itself, waits in the queue until the earlier read has completed.
 *
 * IB_SEND_FENCE cannot replace this wait.  While a fence waits, siw does not answer reads of the
 * peer, so two peers that wait for each other's answers would deadlock.  siw also refuses a read
 * with a fence, so such a read waits for earlier reads.  Other reads wait only while read_out reads
 * are in flight, because two peers deadlock if each has more reads in flight than the other end
 * accepts.
 *
 * During a teardown, siw may flush a newly posted request while earlier requests in the SQ have not
 * completed.  So a request that was flushed or has failed does not prove that the earlier requests
 * have succeeded, and completion->unproven says so to the core.  An invalidation wrongly reported
 * as done would leave memory open to the peer.
 */
#include "core/ep/conn.h"
#include "core/ep/ep.h"
#include "core/ep/queue.h"
#include "verbs/verbs.h"

/*
 * Returns true if the request in ep->wr must wait for earlier RDMA reads.  The caller then posts no
 * request until all requests in flight have completed.  Counts a read that need not wait.  @n:
 * number of requests that precede ep->wr in the chain being built.  ep->lock is held.
 */
bool verbs_send_waits(struct dat_conn *conn, unsigned int n)
{
	struct verbs_conn *vc = to_verbs_conn(conn);
	const struct dat_wr *wr = &conn->ep->wr;

	lockdep_assert_held(&conn->ep->lock);
	if (!n && !conn->inflight)
		vc->reads = 0;
	if (wr->op != DAT_OP_RDMA_READ && wr->op != DAT_KOP_READ_TO_RMR)
		return vc->reads;
	if (vc->reads && (wr->flags & DAT_SQE_FENCE || vc->reads >= conn->ep->read_out))
		return true;
	vc->reads++;
	return false;
}

/* Signals every request of a chain, so that each one proves its own success. */
void verbs_order_sends(struct ib_send_wr *wr)
{
	for (; wr; wr = wr->next) {
		wr->send_flags |= IB_SEND_SIGNALED;
		/* A read with a fence has waited for earlier reads; see verbs_send_waits(). */
		if (wr->opcode == IB_WR_RDMA_READ)
			wr->send_flags &= ~IB_SEND_FENCE;
	}
}
