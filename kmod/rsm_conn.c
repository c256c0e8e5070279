// SPDX-License-Identifier: GPL-2.0
/*
 * Connections of RSM: an endpoint of kDAPL, the messages that kernels exchange on it, and
 * its end.  Both sides are the same but for what they do with what they are told.
 *
 * Each side has at most one TELL under way; what there is to tell meanwhile gathers.  So
 * of either there are at most a TELL and an ACK that have not been received, and receives
 * never run out.
 */
#include <linux/jiffies.h>
#include <linux/moduleparam.h>
#include <linux/slab.h>

#include "rsm_rdma.h"

#define MSG_SLOT	64	/* bytes between messages in conn->mem */
#define MSG_TELL	RSM_CONN_RECVS	/* slots behind those of receives */
#define MSG_ACK		(RSM_CONN_RECVS + 1)
#define MSG_DONE	(RSM_CONN_RECVS + 2)
#define MSG_SCATTER	(RSM_CONN_RECVS + 3)	/* elsewhere */
#define MSG_SCRATCH	(RSM_CONN_RECVS + 4)

#define SILENCE		(30 * HZ)	/* a TELL without an ACK for so long is the end */

static unsigned int rsm_heartbeat = 2;
module_param_named(rsm_heartbeat, rsm_heartbeat, uint, 0644);
MODULE_PARM_DESC(rsm_heartbeat, "Seconds between looks whether an RSM peer is alive (2)");

/*
 * The cookie of a request: whose it is, how many transfers of the connection were posted
 * before, and what its owner wants to be told.
 */
#define COOKIE_CHANNEL	56
#define COOKIE_BEFORE	32
#define COOKIE_MASK	GENMASK(COOKIE_CHANNEL - COOKIE_BEFORE - 1, 0)

static unsigned long beat_period(void)
{
	return clamp(READ_ONCE(rsm_heartbeat), 1U, 3600U) * HZ;
}

static struct rsm_msg *msg_slot(const struct rsm_conn *conn, unsigned int n)
{
	return conn->mem + n * MSG_SLOT;
}

static DAT_LMR_TRIPLET mem_triplet(const struct rsm_conn *conn, void *va, u32 n)
{
	return (DAT_LMR_TRIPLET) {
		.virtual_address = (uintptr_t)va, .segment_length = n,
		.lmr_context = conn->context,
	};
}

static DAT_LMR_TRIPLET msg_triplet(const struct rsm_conn *conn, unsigned int n)
{
	return mem_triplet(conn, msg_slot(conn, n), sizeof(struct rsm_msg));
}

/* A receive: that of a SCATTER is behind the other messages. */
static struct rsm_msg *recv_slot(const struct rsm_conn *conn, unsigned int n)
{
	if (conn->recv_size == sizeof(struct rsm_msg))
		return msg_slot(conn, n);
	return conn->mem + PAGE_SIZE + n * conn->recv_size;
}

static DAT_LMR_TRIPLET recv_triplet(const struct rsm_conn *conn, unsigned int n)
{
	return mem_triplet(conn, recv_slot(conn, n), conn->recv_size);
}

/* A SCATTER of an import, at the end of its memory. */
static struct rsm_msg *scatter_msg(const struct rsm_conn *conn)
{
	return conn->mem + conn->mem_size - RSM_SCATTER_SIZE;
}

void *rsm_conn_pieces(const struct rsm_conn *conn)
{
	return scatter_msg(conn) + 1;
}

/* Memory and its owner's count. */

static void conn_free(struct kref *ref)
{
	struct rsm_conn *conn = container_of(ref, struct rsm_conn, ref);

	if (conn->mem)
		free_pages_exact(conn->mem, conn->mem_size);
	mutex_destroy(&conn->end_lock);
	kfree_rcu(conn, rcu);
}

void rsm_conn_put(struct rsm_conn *conn)
{
	kref_put(&conn->ref, conn_free);
}

static struct rsm_conn *conn_find(struct rsm_ctlr *ctlr, u32 id)
{
	struct rsm_conn *conn;

	rcu_read_lock();
	conn = xa_load(&ctlr->conns, id);
	if (conn && !kref_get_unless_zero(&conn->ref))
		conn = NULL;
	rcu_read_unlock();
	return conn;
}

/* It is of no use any more; whoever waits is to look. */
static void conn_down(struct rsm_conn *conn)
{
	spin_lock_bh(&conn->lock);
	conn->up = false;
	spin_unlock_bh(&conn->lock);
	wake_up_all(&conn->wq);
}

void rsm_conn_hang_up(struct rsm_conn *conn)
{
	conn_down(conn);
	/* The handle is a number: if the endpoint is gone nothing happens. */
	kdat_ep_disconnect(READ_ONCE(conn->ep), DAT_CLOSE_ABRUPT_FLAG);
}

/* Messages. */

static DAT_RETURN msg_send(struct rsm_conn *conn, unsigned int slot, const struct rsm_msg *msg,
			   DAT_COMPLETION_FLAGS flags)
{
	DAT_DTO_COOKIE cookie = { .as_64 = (u64)RSM_CHANNEL_MSG << COOKIE_CHANNEL | slot };
	DAT_LMR_TRIPLET seg = msg_triplet(conn, slot);

	lockdep_assert_held(&conn->lock);
	*msg_slot(conn, slot) = *msg;
	kdat_lmr_sync_rdma_read(conn->ia, &seg, 1);
	/* That it fails is told by the end of the connection. */
	return kdat_ep_post_send(conn->ep, 1, &seg, cookie, flags);
}

static void conn_answer(struct rsm_conn *conn, unsigned int slot, enum rsm_msg_type type)
{
	struct rsm_msg msg = { .magic = cpu_to_be32(RSM_MAGIC), .type = type };

	lockdep_assert_held(&conn->lock);
	if (!conn->up)
		return;
	if (!conn->acks)
		conn->progress = jiffies;
	if (!msg_send(conn, slot, &msg, DAT_COMPLETION_DEFAULT_FLAG))
		conn->acks++;
}

static void conn_ack(struct rsm_conn *conn)
{
	conn->ack_due = false;
	conn_answer(conn, MSG_ACK, RSM_MSG_ACK);
}

static bool conn_wants(const struct rsm_conn *conn)
{
	return conn->want_single || conn->want_events || conn->want_move || conn->want_beat;
}

/* Tell what there is to tell, unless the peer has not answered the last time yet. */
static void conn_push(struct rsm_conn *conn)
{
	struct rsm_msg msg = {
		.magic = cpu_to_be32(RSM_MAGIC), .type = RSM_MSG_TELL,
		.events = cpu_to_be32(conn->want_events),
	};

	lockdep_assert_held(&conn->lock);
	if (!conn->up || conn->telling || !conn_wants(conn))
		return;
	if (conn->want_single)
		msg.flags |= RSM_TELL_SINGLE;
	if (conn->want_move) {
		msg.flags |= RSM_TELL_REBIND;
		msg.rkey = cpu_to_be32(conn->rkey);
		msg.addr = cpu_to_be64(conn->addr);
	}
	conn->told_move = conn->want_move;
	conn->want_single = false;
	conn->want_events = 0;
	conn->want_move = false;
	conn->want_beat = false;
	conn->telling = true;
	conn->told_at = jiffies;
	msg_send(conn, MSG_TELL, &msg, DAT_COMPLETION_SUPPRESS_FLAG);
}

int rsm_conn_tell(struct rsm_conn *conn, bool single)
{
	int ret = 0;

	spin_lock_bh(&conn->lock);
	if (conn->lost)
		ret = -ENOTCONN;
	else if (!single && conn->want_events != U32_MAX)
		conn->want_events++;
	else if (!conn->want_events)
		conn->want_single = true;
	conn_push(conn);
	spin_unlock_bh(&conn->lock);
	return ret;
}

/* Nobody waits for the peer's word about the new key any more. */
static void conn_moved(struct rsm_conn *conn)
{
	lockdep_assert_held(&conn->lock);

	if (!conn->moving)
		return;
	conn->moving = false;
	conn->ops->moved(conn);
}

bool rsm_conn_move(struct rsm_conn *conn, u32 rkey, u64 addr)
{
	bool begun = false;

	spin_lock_bh(&conn->lock);
	conn->rkey = rkey;
	conn->addr = addr;
	if (!conn->lost) {
		conn->want_move = true;
		begun = !conn->moving;
		conn->moving = true;
		conn_push(conn);
	}
	spin_unlock_bh(&conn->lock);
	return begun;
}

bool rsm_conn_moving(struct rsm_conn *conn)
{
	return READ_ONCE(conn->moving);
}

static bool conn_settled(struct rsm_conn *conn)
{
	bool settled;

	spin_lock_bh(&conn->lock);
	settled = !conn->up || (!conn->telling && !conn_wants(conn));
	spin_unlock_bh(&conn->lock);
	return settled;
}

void rsm_conn_settle(struct rsm_conn *conn, unsigned long until)
{
	long left = until - jiffies;

	if (left > 0)
		wait_event_timeout(conn->wq, conn_settled(conn), left);
}

/* Nothing is under way that was posted before the peer has told. */
static bool conn_has_moved(const struct rsm_conn *conn)
{
	return (s32)(conn->completed - conn->moved) >= 0;
}

static void conn_told(struct rsm_conn *conn, const struct rsm_msg *msg)
{
	conn->ops->told(conn, msg->flags & RSM_TELL_SINGLE, be32_to_cpu(msg->events));
	spin_lock_bh(&conn->lock);
	conn->ack_due = true;
	conn->moved = conn->completed;
	if (msg->flags & RSM_TELL_REBIND) {
		conn->rkey = be32_to_cpu(msg->rkey);
		conn->addr = be64_to_cpu(msg->addr);
		/* The old key is in use until these have completed. */
		conn->moved = conn->posted;
	}
	if (conn_has_moved(conn))
		conn_ack(conn);
	spin_unlock_bh(&conn->lock);
}

static void conn_acked(struct rsm_conn *conn, const struct rsm_msg *msg)
{
	spin_lock_bh(&conn->lock);
	conn->telling = false;
	if (conn->told_move && !conn->want_move)
		conn_moved(conn);
	conn->told_move = false;
	conn_push(conn);
	spin_unlock_bh(&conn->lock);
	wake_up_all(&conn->wq);
}

static void conn_scattered(struct rsm_conn *conn, const struct rsm_msg *msg)
{
	spin_lock_bh(&conn->lock);
	conn_answer(conn, MSG_DONE, RSM_MSG_DONE);
	spin_unlock_bh(&conn->lock);
}

static void conn_done(struct rsm_conn *conn, const struct rsm_msg *msg)
{
	spin_lock_bh(&conn->lock);
	conn->scattering = false;
	spin_unlock_bh(&conn->lock);
	conn->done[RSM_CHANNEL_RING](conn, conn->scatter_seq, true);
}

/*
 * What the peer's kernel says: whether it may, with what behind the message, and what comes of
 * it.  A peer that asks on and on has had the answers; the transport may know it later.
 */

static bool ack_good(struct rsm_conn *conn, const struct rsm_msg *msg, u32 more)
{
	return conn->telling && !more;
}

static bool can_answer(const struct rsm_conn *conn)
{
	return READ_ONCE(conn->acks) < RSM_ACK_WRS;
}

static bool tell_good(struct rsm_conn *conn, const struct rsm_msg *msg, u32 more)
{
	if (more || conn->ack_due || !can_answer(conn))
		return false;
	return conn->ops->moves || !(msg->flags & RSM_TELL_REBIND);
}

static bool scatter_good(struct rsm_conn *conn, const struct rsm_msg *msg, u32 more)
{
	return conn->ops->scatter && conn->scatters && can_answer(conn) &&
	       conn->ops->scatter(conn, msg + 1, more);
}

static bool done_good(struct rsm_conn *conn, const struct rsm_msg *msg, u32 more)
{
	return conn->scattering && !more;
}

/* @fast: wherever it comes, rather than where one may sleep. */
static const struct {
	bool	(*good)(struct rsm_conn *conn, const struct rsm_msg *msg, u32 more);
	void	(*fn)(struct rsm_conn *conn, const struct rsm_msg *msg);
	bool	fast;
} conn_msgs[] = {
	[RSM_MSG_ACK]		= { ack_good, conn_acked, false },
	[RSM_MSG_TELL]		= { tell_good, conn_told, false },
	[RSM_MSG_SCATTER]	= { scatter_good, conn_scattered, true },
	[RSM_MSG_DONE]		= { done_good, conn_done, true },
};

static bool msg_known(const struct rsm_msg *msg, u32 len)
{
	return len >= sizeof(*msg) && msg->magic == cpu_to_be32(RSM_MAGIC) &&
	       msg->type < ARRAY_SIZE(conn_msgs) && conn_msgs[msg->type].good;
}

static bool conn_receive(struct rsm_conn *conn, u32 slot)
{
	DAT_DTO_COOKIE cookie = { .as_64 = (u64)RSM_CHANNEL_RECV << COOKIE_CHANNEL | slot };
	DAT_LMR_TRIPLET seg = recv_triplet(conn, slot);

	return !kdat_ep_post_recv(conn->ep, 1, &seg, cookie, DAT_COMPLETION_DEFAULT_FLAG);
}

/* The connection has not ended.  False: it is of no use any more. */
static bool conn_take(struct rsm_conn *conn, const struct rsm_received *r)
{
	struct rsm_msg *at = recv_slot(conn, r->slot), msg;
	bool posted;

	if (!msg_known(at, r->len) ||
	    !conn_msgs[at->type].good(conn, at, r->len - sizeof(*at)))
		return false;
	/*
	 * Before the answer, after which the next may come.  With a receive less the peer would
	 * one day wait for ever; what it has said so far counts.
	 */
	msg = *at;
	posted = conn_receive(conn, r->slot);
	conn_msgs[msg.type].fn(conn, &msg);
	return posted;
}

static bool conn_next(struct rsm_conn *conn, struct rsm_received *r)
{
	bool any;

	spin_lock_bh(&conn->lock);
	/* What comes before we know of the connection waits for that. */
	any = conn->been_up && conn->inbox_head != conn->inbox_tail;
	if (any)
		*r = conn->inbox[conn->inbox_head++ % RSM_CONN_RECVS];
	spin_unlock_bh(&conn->lock);
	return any;
}

/* Under end_lock: @conn->owner is there. */
static void conn_inbox(struct work_struct *work)
{
	struct rsm_conn *conn = container_of(work, struct rsm_conn, inbox_work);
	struct rsm_received r;

	mutex_lock(&conn->end_lock);
	while (!conn->ended && conn_next(conn, &r))
		if (!r.len || !conn_take(conn, &r))
			rsm_conn_hang_up(conn);
	mutex_unlock(&conn->end_lock);
}

static void conn_put_off(struct rsm_conn *conn, const struct rsm_received *r)
{
	spin_lock(&conn->lock);
	conn->inbox[conn->inbox_tail++ % RSM_CONN_RECVS] = *r;
	spin_unlock(&conn->lock);
	queue_work(dat_wq, &conn->inbox_work);
}

/* In softirq.  A slot is in the inbox once at most, and there is one for each. */
static void conn_received(struct rsm_conn *conn, const DAT_DTO_COMPLETION_EVENT_DATA *dto)
{
	struct rsm_received r = { (u32)dto->user_cookie.as_64, dto->transfered_length };
	DAT_LMR_TRIPLET seg = recv_triplet(conn, r.slot);
	const struct rsm_msg *msg = recv_slot(conn, r.slot);

	if (dto->status != DAT_DTO_SUCCESS)
		return;
	kdat_lmr_sync_rdma_write(conn->ia, &seg, 1);
	WRITE_ONCE(conn->heard, jiffies);
	if (READ_ONCE(conn->been_up) && msg_known(msg, r.len) && conn_msgs[msg->type].fast) {
		if (conn_take(conn, &r))
			return;
		r.len = 0;
	}
	conn_put_off(conn, &r);
}

/* Heartbeat: an idle queue pair notices nothing. */

/* Under the lock: who ends the connection has said so before he cancels it. */
static void conn_next_beat(struct rsm_conn *conn)
{
	lockdep_assert_held(&conn->lock);
	if (!conn->lost)
		queue_delayed_work(dat_wq, &conn->beat, beat_period());
}

/* Something is under way, and has been for so long that nobody can be there. */
static bool conn_stuck(const struct rsm_conn *conn)
{
	if (conn->telling && time_after(jiffies, conn->told_at + SILENCE))
		return true;
	if (conn->scattering && time_after(jiffies, conn->scattered_at + SILENCE))
		return true;
	return (conn->posted != conn->completed || conn->acks) &&
	       time_after(jiffies, conn->progress + SILENCE);
}

static void conn_beat(struct work_struct *work)
{
	struct rsm_conn *conn = container_of(to_delayed_work(work), struct rsm_conn, beat);
	bool stuck;

	spin_lock_bh(&conn->lock);
	stuck = conn_stuck(conn);
	if (time_after_eq(jiffies, READ_ONCE(conn->heard) + beat_period())) {
		conn->want_beat = true;
		conn_push(conn);
	}
	conn_next_beat(conn);
	spin_unlock_bh(&conn->lock);
	if (stuck)
		rsm_conn_hang_up(conn);
}

/* Transfers. */

static DAT_DTO_COOKIE request_cookie(const struct rsm_conn *conn, const struct rsm_request *req)
{
	return (DAT_DTO_COOKIE) {
		.as_64 = (u64)req->channel << COOKIE_CHANNEL |
			 (u64)(conn->posted & COOKIE_MASK) << COOKIE_BEFORE | req->seq,
	};
}

static DAT_RETURN request_post(struct rsm_conn *conn, struct rsm_request *req)
{
	DAT_RMR_TRIPLET remote = {
		.virtual_address = conn->addr + req->offset,
		.segment_length = req->local.segment_length, .rmr_context = conn->rkey,
	};
	DAT_DTO_COOKIE cookie = request_cookie(conn, req);

	if (!req->put)
		return kdat_ep_post_rdma_read(conn->ep, 1, &req->local, cookie, &remote,
					      DAT_COMPLETION_DEFAULT_FLAG);
	kdat_lmr_sync_rdma_read(conn->ia, &req->local, 1);
	return kdat_ep_post_rdma_write(conn->ep, 1, &req->local, cookie, &remote,
				       req->silent ? DAT_COMPLETION_SUPPRESS_FLAG :
						     DAT_COMPLETION_DEFAULT_FLAG);
}

static int post_error(DAT_RETURN rc)
{
	if (!rc)
		return 0;
	return DAT_GET_TYPE(rc) == DAT_INVALID_STATE ? -ENOTCONN : -EIO;
}

static int request_post_locked(struct rsm_conn *conn, struct rsm_request *req)
{
	int ret;

	lockdep_assert_held(&conn->lock);
	if (!conn->up)
		return -ENOTCONN;
	ret = post_error(request_post(conn, req));
	if (ret)
		return ret;
	if (conn->posted++ == conn->completed)
		conn->progress = jiffies;
	return 0;
}

int rsm_conn_rdma(struct rsm_conn *conn, struct rsm_request *req)
{
	int ret;

	spin_lock_bh(&conn->lock);
	ret = request_post_locked(conn, req);
	spin_unlock_bh(&conn->lock);
	return ret;
}

static DAT_RETURN scatter_post(struct rsm_conn *conn, u32 len)
{
	DAT_DTO_COOKIE cookie = { .as_64 = (u64)RSM_CHANNEL_MSG << COOKIE_CHANNEL | MSG_SCATTER };
	DAT_LMR_TRIPLET seg = mem_triplet(conn, scatter_msg(conn), sizeof(struct rsm_msg) + len);

	*scatter_msg(conn) = (struct rsm_msg) {
		.magic = cpu_to_be32(RSM_MAGIC), .type = RSM_MSG_SCATTER,
	};
	kdat_lmr_sync_rdma_read(conn->ia, &seg, 1);
	return kdat_ep_post_send(conn->ep, 1, &seg, cookie, DAT_COMPLETION_SUPPRESS_FLAG);
}

int rsm_conn_scatter(struct rsm_conn *conn, u32 len, u32 seq)
{
	int ret = -ENOTCONN;

	spin_lock_bh(&conn->lock);
	if (conn->up)
		ret = post_error(scatter_post(conn, len));
	if (!ret) {
		conn->scattering = true;
		conn->scattered_at = jiffies;
		conn->scatter_seq = seq;
	}
	spin_unlock_bh(&conn->lock);
	return ret;
}

/* One byte of the segment, read: whoever looks sees what was written before. */
int rsm_conn_flush(struct rsm_conn *conn, enum rsm_channel channel, u32 seq)
{
	struct rsm_request req = {
		.local = msg_triplet(conn, MSG_SCRATCH + channel), .channel = channel, .seq = seq,
	};

	req.local.segment_length = 1;
	return rsm_conn_rdma(conn, &req);
}

/* Of a message: its transport is done with it.  Of TELLs only failures are told. */
static void conn_said(struct rsm_conn *conn, unsigned int slot)
{
	spin_lock(&conn->lock);
	conn->progress = jiffies;
	if (slot == MSG_ACK || slot == MSG_DONE)
		conn->acks--;
	spin_unlock(&conn->lock);
}

/* Upcall of conn->evd, in softirq, one at a time; rsm_conn_end() waits for it. */
static void conn_completed(void *arg, const DAT_EVENT *event, DAT_BOOLEAN more)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *dto = &event->event_data.dto_completion_event_data;
	u64 cookie = dto->user_cookie.as_64;
	unsigned int channel = cookie >> COOKIE_CHANNEL;
	bool ok = dto->status == DAT_DTO_SUCCESS;
	struct rsm_conn *conn = arg;

	if (channel == RSM_CHANNEL_RECV) {
		conn_received(conn, dto);
		return;
	}
	if (channel == RSM_CHANNEL_MSG) {
		conn_said(conn, (u32)cookie);
		return;
	}
	spin_lock(&conn->lock);
	/* And with it the silent ones before it. */
	conn->completed += ((cookie >> COOKIE_BEFORE) - conn->completed + 1) & COOKIE_MASK;
	conn->progress = jiffies;
	if (!ok)
		conn->up = false;
	if (conn->ack_due && conn_has_moved(conn))
		conn_ack(conn);
	spin_unlock(&conn->lock);
	conn->done[channel](conn, (u32)cookie, ok);
}

/* Beginning. */

static DAT_RETURN conn_make_evd(struct rsm_conn *conn)
{
	DAT_UPCALL_OBJECT upcall = { conn, conn_completed };

	return kdat_evd_kcreate(conn->ia, RSM_CONN_WRS + RSM_CONN_RECVS, DAT_UPCALL_SINGLE_INSTANCE,
				&upcall, DAT_EVD_DTO_FLAG, &conn->evd);
}

static void conn_init(struct rsm_conn *conn)
{
	kref_init(&conn->ref);
	INIT_LIST_HEAD(&conn->entry);
	mutex_init(&conn->end_lock);
	spin_lock_init(&conn->lock);
	init_waitqueue_head(&conn->wq);
	INIT_DELAYED_WORK(&conn->beat, conn_beat);
	INIT_WORK(&conn->inbox_work, conn_inbox);
	conn->heard = jiffies;
}

int rsm_conn_make(struct rsm_ctlr *ctlr, const struct rsm_conn_ops *ops, void *owner,
		  u32 stage, struct rsm_conn **out)
{
	struct rsm_conn *conn = kzalloc(sizeof(*conn), GFP_KERNEL_ACCOUNT);
	u32 last = ops->moves ? RSM_MAX_CONNS : RSM_MAX_SERVED;
	DAT_RETURN rc;
	int ret;

	if (!conn)
		return DAT_RSM_NO_MEM;
	conn_init(conn);
	conn->ctlr = ctlr;
	conn->ia = ctlr->ia;
	conn->ops = ops;
	conn->owner = owner;
	conn->recv_size = sizeof(struct rsm_msg);
	conn->mem_size = PAGE_SIZE + PAGE_ALIGN(stage);
	conn->mem = alloc_pages_exact(conn->mem_size,
				      GFP_KERNEL_ACCOUNT | __GFP_ZERO | __GFP_NOWARN);
	if (!conn->mem) {
		ret = DAT_RSM_NO_MEM;
		goto err_put;
	}
	rc = conn_make_evd(conn);
	if (rc) {
		ret = rsm_dat_error(rc);
		goto err_put;
	}
	ret = xa_alloc_cyclic(&ctlr->conns, &conn->id, conn, XA_LIMIT(1, last),
			      &ctlr->next_conn, GFP_KERNEL_ACCOUNT);
	if (ret < 0) {
		ret = ret == -EBUSY ? DAT_RSM_NO_RESOURCES : DAT_RSM_NO_MEM;
		goto err_evd;
	}
	*out = conn;
	return DAT_RSM_OK;

err_evd:
	kdat_evd_free(conn->evd);
err_put:
	rsm_conn_put(conn);
	return ret;
}

int rsm_conn_register(struct rsm_ctlr *ctlr, DAT_PZ_HANDLE pz, void *va, u32 size,
		      DAT_LMR_HANDLE *lmr, DAT_LMR_CONTEXT *context)
{
	DAT_MEM_PRIV_FLAGS priv = DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG |
				  ctlr->read_priv;
	DAT_REGION_DESCRIPTION region = { .for_va = va };
	DAT_RETURN rc;

	rc = kdat_lmr_kcreate(ctlr->ia, DAT_MEM_TYPE_VIRTUAL, region, size, pz, priv,
			      DAT_VA_TYPE_VA, DAT_MEM_OPTIMIZE_DONT_CARE, lmr, context, NULL,
			      NULL, NULL);
	return rc ? rsm_dat_error(rc) : DAT_RSM_OK;
}

static DAT_RETURN conn_make_ep(struct rsm_conn *conn, DAT_PZ_HANDLE pz, u32 traits)
{
	struct rsm_ctlr *ctlr = conn->ctlr;
	DAT_EP_ATTR attr = {
		.service_type = DAT_SERVICE_TYPE_RC, .qos = DAT_QOS_BEST_EFFORT,
		.max_recv_dtos = RSM_CONN_RECVS, .max_request_dtos = RSM_CONN_WRS,
		.max_recv_iov = 1, .max_request_iov = 1,
		.max_rdma_read_in = ctlr->reads, .max_rdma_read_out = ctlr->reads,
	};
	DAT_EP_HANDLE ep;
	unsigned int i;
	DAT_RETURN rc;

	rc = kdat_ep_create(ctlr->ia, pz, conn->evd, conn->evd, ctlr->evd, &attr, &ep);
	if (rc)
		return rc;
	WRITE_ONCE(conn->ep, ep);
	kdat_ep_set_traits(ep, traits);
	kdat_set_consumer_context(ep, (DAT_CONTEXT) { .as_64 = conn->id });
	for (i = 0; i < RSM_CONN_RECVS; i++)
		if (!conn_receive(conn, i))
			return DAT_INSUFFICIENT_RESOURCES;
	return DAT_SUCCESS;
}

/* What fails is undone by rsm_conn_end(). */
int rsm_conn_make_ep(struct rsm_conn *conn, DAT_PZ_HANDLE pz, u32 traits)
{
	DAT_RETURN rc;
	int ret;

	ret = rsm_conn_register(conn->ctlr, pz, conn->mem, conn->mem_size, &conn->lmr,
				&conn->context);
	if (ret)
		return ret;
	rc = conn_make_ep(conn, pz, traits);
	return rc ? rsm_dat_error(rc) : DAT_RSM_OK;
}

/* Established, with end_lock held. */
static void conn_up(struct rsm_conn *conn, const struct rsm_answer *answer)
{
	spin_lock_bh(&conn->lock);
	conn->up = !conn->lost;
	conn->been_up = conn->up;
	if (answer) {
		conn->rkey = be32_to_cpu(answer->rkey);
		conn->addr = be64_to_cpu(answer->addr);
		conn->length = be64_to_cpu(answer->length);
		conn->swapped = answer->endian != RSM_ENDIAN;
		conn->scatters = conn->ctlr->software &&
				 be16_to_cpu(answer->flags) & RSM_ANSWER_SCATTERS;
	}
	conn_push(conn);
	conn_next_beat(conn);
	spin_unlock_bh(&conn->lock);
	queue_work(dat_wq, &conn->inbox_work);
	wake_up_all(&conn->wq);
}

static bool answer_good(const struct rsm_answer *a, DAT_COUNT len)
{
	return a && len >= (DAT_COUNT)sizeof(*a) && a->magic == cpu_to_be32(RSM_MAGIC) &&
	       a->version == RSM_VERSION;
}

static void conn_lost(struct rsm_conn *conn, int err)
{
	bool first;

	lockdep_assert_held(&conn->end_lock);
	spin_lock_bh(&conn->lock);
	first = !conn->lost;
	conn->lost = true;
	conn->up = false;
	if (first)
		conn->err = err;
	conn_moved(conn);
	spin_unlock_bh(&conn->lock);
	if (first)
		conn->ops->lost(conn);
	wake_up_all(&conn->wq);
}

static void conn_established(struct rsm_conn *conn, const DAT_CONNECTION_EVENT_DATA *data)
{
	const struct rsm_answer *answer = data->private_data;

	if (!conn->ops->moves)
		conn_up(conn, NULL);
	else if (answer_good(answer, data->private_data_size) && !answer->err)
		conn_up(conn, answer);
	else
		/* Somebody else listens at that port. */
		conn_lost(conn, DAT_RSM_UNREACHABLE);
}

static void conn_rejected(struct rsm_conn *conn, const DAT_CONNECTION_EVENT_DATA *data)
{
	const struct rsm_answer *answer = data->private_data;
	u32 err = DAT_RSM_UNREACHABLE;

	if (answer_good(answer, data->private_data_size))
		err = be32_to_cpu(answer->err);
	/* What an exporter may say; see rsm_serve.c. */
	if (err != DAT_RSM_NOT_PUBLISHED && err != DAT_RSM_NOT_PUBLISHED_TO_NODE &&
	    err != DAT_RSM_PERM_DENIED && err != DAT_RSM_NO_RESOURCES && err != DAT_RSM_NO_MEM)
		err = DAT_RSM_UNREACHABLE;
	conn_lost(conn, err);
}

static void conn_refused(struct rsm_conn *conn, const DAT_CONNECTION_EVENT_DATA *data)
{
	conn->refused = true;
	conn_lost(conn, DAT_RSM_UNREACHABLE);
}

static void conn_unreachable(struct rsm_conn *conn, const DAT_CONNECTION_EVENT_DATA *data)
{
	conn_lost(conn, DAT_RSM_UNREACHABLE);
}

static void conn_ended(struct rsm_conn *conn, const DAT_CONNECTION_EVENT_DATA *data)
{
	conn_lost(conn, DAT_RSM_CONN_ABORTED);
}

static const struct {
	DAT_EVENT_NUMBER	event;
	void			(*fn)(struct rsm_conn *conn,
				      const DAT_CONNECTION_EVENT_DATA *data);
} conn_events[] = {
	{ DAT_CONNECTION_EVENT_ESTABLISHED,		conn_established },
	{ DAT_CONNECTION_EVENT_PEER_REJECTED,		conn_rejected },
	{ DAT_CONNECTION_EVENT_NON_PEER_REJECTED,	conn_refused },
	{ DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR,	conn_ended },
	{ DAT_CONNECTION_EVENT_DISCONNECTED,		conn_ended },
	{ DAT_CONNECTION_EVENT_BROKEN,			conn_ended },
	{ DAT_CONNECTION_EVENT_TIMED_OUT,		conn_unreachable },
	{ DAT_CONNECTION_EVENT_UNREACHABLE,		conn_unreachable },
};

static void conn_connection(struct rsm_conn *conn, const DAT_EVENT *event)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(conn_events); i++)
		if (conn_events[i].event == event->event_number)
			conn_events[i].fn(conn, &event->event_data.connect_event_data);
}

/* While the connection has not ended its owner, and what the event points to, are there. */
void rsm_conn_upcall(void *arg, const DAT_EVENT *event, DAT_BOOLEAN more)
{
	DAT_EP_HANDLE ep = event->event_data.connect_event_data.ep_handle;
	struct rsm_conn *conn;
	DAT_CONTEXT context;

	if (kdat_get_consumer_context(ep, &context))
		return;
	conn = conn_find(arg, context.as_64);
	if (!conn)
		return;
	mutex_lock(&conn->end_lock);
	if (!conn->ended)
		conn_connection(conn, event);
	mutex_unlock(&conn->end_lock);
	rsm_conn_put(conn);
}

/* The end. */

static void conn_free_ep(struct rsm_conn *conn)
{
	if (conn->ep) {
		kdat_ep_disconnect(conn->ep, DAT_CLOSE_ABRUPT_FLAG);
		kdat_ep_free(conn->ep);
	}
	if (conn->lmr)
		kdat_lmr_free(conn->lmr);
	/* Waits for upcalls. */
	kdat_evd_free(conn->evd);
}

void rsm_conn_end(struct rsm_conn *conn)
{
	spin_lock_bh(&conn->lock);
	conn->lost = true;
	conn->up = false;
	spin_unlock_bh(&conn->lock);
	wake_up_all(&conn->wq);
	cancel_delayed_work_sync(&conn->beat);
	/* Who is told something meanwhile is done then. */
	mutex_lock(&conn->end_lock);
	conn->ended = true;
	mutex_unlock(&conn->end_lock);
	xa_erase(&conn->ctlr->conns, conn->id);
	conn_free_ep(conn);
	cancel_work_sync(&conn->inbox_work);
	/* Now the peer can't use the old key. */
	spin_lock_bh(&conn->lock);
	conn_moved(conn);
	spin_unlock_bh(&conn->lock);
}
