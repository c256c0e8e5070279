// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* Takes completions from a CQ, and converts them to struct dat_completion. */
#include "core/dat.h"
#include "core/ep/conn.h"
#include "core/ep/queue.h"
#include "core/xport.h"
#include "verbs/verbs.h"

static const u8 wc_status[] = {
	[IB_WC_SUCCESS]			= DAT_ST_SUCCESS,
	[IB_WC_LOC_LEN_ERR]		= DAT_ST_LOCAL_LENGTH,
	[IB_WC_LOC_QP_OP_ERR]		= DAT_ST_LOCAL_EP,
	[IB_WC_LOC_EEC_OP_ERR]		= DAT_ST_TRANSPORT,
	[IB_WC_LOC_PROT_ERR]		= DAT_ST_LOCAL_PROTECTION,
	[IB_WC_WR_FLUSH_ERR]		= DAT_ST_FLUSHED,
	[IB_WC_MW_BIND_ERR]		= DAT_ST_RMR_FAILED,
	[IB_WC_BAD_RESP_ERR]		= DAT_ST_BAD_RESPONSE,
	[IB_WC_LOC_ACCESS_ERR]		= DAT_ST_LOCAL_PROTECTION,
	[IB_WC_REM_INV_REQ_ERR]		= DAT_ST_REMOTE_RESPONDER,
	[IB_WC_REM_ACCESS_ERR]		= DAT_ST_REMOTE_ACCESS,
	[IB_WC_REM_OP_ERR]		= DAT_ST_REMOTE_RESPONDER,
	[IB_WC_RETRY_EXC_ERR]		= DAT_ST_TRANSPORT,
	[IB_WC_RNR_RETRY_EXC_ERR]	= DAT_ST_RECEIVER_NOT_READY,
	[IB_WC_LOC_RDD_VIOL_ERR]	= DAT_ST_LOCAL_PROTECTION,
	[IB_WC_REM_INV_RD_REQ_ERR]	= DAT_ST_REMOTE_RESPONDER,
	[IB_WC_REM_ABORT_ERR]		= DAT_ST_REMOTE_RESPONDER,
	[IB_WC_INV_EECN_ERR]		= DAT_ST_TRANSPORT,
	[IB_WC_INV_EEC_STATE_ERR]	= DAT_ST_TRANSPORT,
	[IB_WC_FATAL_ERR]		= DAT_ST_TRANSPORT,
	[IB_WC_RESP_TIMEOUT_ERR]	= DAT_ST_RECEIVER_NOT_READY,
	[IB_WC_GENERAL_ERR]		= DAT_ST_TRANSPORT,
};

static u8 wc_to_status(const struct ib_wc *wc, const struct dat_dev *dev, bool recv)
{
	/* The segments were checked before the post: the message is longer than the receive. */
	if (recv && wc->status == IB_WC_LOC_QP_OP_ERR && dev->quirks & DAT_QUIRK_LONG_IS_QP_OP)
		return DAT_ST_LOCAL_LENGTH;
	if ((unsigned int)wc->status >= ARRAY_SIZE(wc_status))
		return DAT_ST_TRANSPORT;
	return wc_status[wc->status];
}

/*
 * Returns true if a successful receive holds a message that fits into @posted bytes.  Opcode and
 * length come from the peer, so check both.  An RDMA write with immediate data is no message: it
 * consumes a receive but puts no data into its segments.  A send that invalidates a key is a
 * message, because the invalidation can only revoke access.
 */
static __always_inline bool is_message(const struct ib_wc *wc, u32 posted)
{
	return wc->opcode == IB_WC_RECV && !(wc->wc_flags & IB_WC_WITH_IMM) &&
	       wc->byte_len <= posted;
}

/* Converts a receive with IB_WC_SUCCESS.  Without a message that fits, its status is an error. */
static __always_inline void recv_to_completion(const struct ib_wc *wc, u32 posted,
					       struct dat_completion *c)
{
	c->status = DAT_ST_SUCCESS;
	c->len = wc->byte_len;
	if (unlikely(!is_message(wc, posted)))
		c->status = wc->byte_len > posted ? DAT_ST_LOCAL_LENGTH : DAT_ST_BAD_RESPONSE;
	if (unlikely(wc->wc_flags & IB_WC_WITH_INVALIDATE))
		c->rkey = wc->ex.invalidate_rkey;
}

static noinline void failure_to_completion(struct verbs_conn *vc, const struct ib_wc *wc,
					   struct dat_completion *c)
{
	bool recv = c->slot->recv;

	c->status = wc_to_status(wc, vc->conn.dev, recv);
	c->unproven = vc->conn.unordered;
	/* The device refuses the peer's message; the teardown lets it send the NAK. */
	if (recv && wc->status != IB_WC_WR_FLUSH_ERR)
		WRITE_ONCE(vc->refused, true);
}

static __always_inline void to_completion(struct verbs_conn *vc, const struct ib_wc *wc,
					  struct dat_completion *c)
{
	struct dat_slot *slot = container_of(wc->wr_cqe, struct dat_slot, cqe);

	c->slot = slot;
	c->rkey = 0;
	c->unproven = false;
	if (unlikely(wc->status != IB_WC_SUCCESS))
		failure_to_completion(vc, wc, c);
	else if (slot->recv)
		recv_to_completion(wc, slot->len, c);
	else
		c->status = DAT_ST_SUCCESS;
}

/*
 * A bind or a drain sets done() in the CQE of its work request.  A NULL done() means that the CQE
 * belongs to a struct dat_slot.
 */
static void wc_complete(struct verbs_conn *vc, struct ib_cq *cq, int n)
{
	struct ib_wc *wc = vc->wc, *end = wc + n;
	struct dat_completion *c = vc->done;
	struct dat_conn *conn = &vc->conn;
	u32 k = 0;

	for (; wc != end; wc++) {
		if (likely(!wc->wr_cqe->done)) {
			to_completion(vc, wc, &c[k++]);
			continue;
		}
		dat_complete(conn, c, k);
		k = 0;
		wc->wr_cqe->done(cq, wc);
	}
	dat_complete(conn, c, k);
}

/*
 * Takes at most @budget completions and reports them.  Context: ep->lock held, softirqs disabled.
 * If the number taken is @budget, the CQ may hold more.
 */
int verbs_poll(struct verbs_conn *vc, struct ib_cq *cq, int budget)
{
	int done = 0, n;

	lockdep_assert_held(&vc->conn.ep->lock);
	do {
		n = ib_poll_cq(cq, min(budget - done, DAT_BATCH), vc->wc);
		if (n <= 0)
			break;
		wc_complete(vc, cq, n);
		done += n;
	} while (n == DAT_BATCH && done < budget);
	if (done)
		dat_conn_completed(&vc->conn);
	return done;
}
