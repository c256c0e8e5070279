// SPDX-License-Identifier: GPL-2.0
/* Requests: see blk.h. */
#include <linux/nospec.h>
#include <linux/sched/mm.h>

#include "blk.h"

/* The cookie tells what has completed.  That of a send has a tag, that of a receive a count. */
#define COOKIE_SEND	BIT_ULL(63)
#define COOKIE_SETTLE	BIT_ULL(62)
#define COOKIE_KIND	(COOKIE_SEND | COOKIE_SETTLE)

/* A tag holds the index of the io and its use count. */
#define TAG_INDEX(tag)	((u32)(tag) & 0xffff)
#define TAG_STEP	0x10000ULL

#define IO_STEPS	3	/* posted, sent, answered */

static const u8 wire_op[REQ_OP_LAST] = {
	[REQ_OP_READ]		= DATBLK_READ,
	[REQ_OP_WRITE]		= DATBLK_WRITE,
	[REQ_OP_FLUSH]		= DATBLK_FLUSH,
	[REQ_OP_DISCARD]	= DATBLK_DISCARD,
};

static const blk_status_t status_of[DATBLK_STATUS_MAX + 1] = {
	[DATBLK_OK]		= BLK_STS_OK,
	[DATBLK_EIO]		= BLK_STS_IOERR,
	[DATBLK_ENOSPC]		= BLK_STS_NOSPC,
	[DATBLK_EROFS]		= BLK_STS_IOERR,
	[DATBLK_EOPNOTSUPP]	= BLK_STS_NOTSUPP,
};

static bool io_has_data(const struct datblk_io *io)
{
	return io->op == DATBLK_READ || io->op == DATBLK_WRITE;
}

/* ---- The end of a request ---- */

/* Return true to one caller only. */
static bool io_claim(struct datblk_io *io)
{
	return test_and_clear_bit(DATBLK_IO_BUSY, &io->flags);
}

static void io_end(struct datblk_io *io, blk_status_t status)
{
	if (!io_claim(io))
		return;
	io->status = status;
	blk_mq_complete_request(io->rq);
}

static void io_step(struct datblk_io *io)
{
	if (!atomic_dec_and_test(&io->left))
		return;
	if (io_has_data(io))
		io->dev->mem->settle(io);
	else
		datblk_settled(io);
}

/**
 * datblk_settled() - the server has replied and cannot access the pages any more
 * @io: io, BUSY unless the connection was lost
 *
 * Context: BH.
 */
void datblk_settled(struct datblk_io *io)
{
	io_end(io, io->answer);
}

/* Return the cookie of the request whose completion leads to datblk_settled(). */
DAT_DTO_COOKIE datblk_settle_cookie(const struct datblk_io *io)
{
	return (DAT_DTO_COOKIE) { .as_64 = io->tag | COOKIE_SETTLE };
}

static void datblk_complete(struct request *rq)
{
	struct datblk *dev = rq->q->queuedata;
	struct datblk_io *io = &dev->ios[rq->tag];

	if (io->status == BLK_STS_OK && io_has_data(io))
		dev->mem->finish(io);
	blk_mq_end_request(rq, io->status);
}

/* ---- The beginning ---- */

static u8 wire_op_of(const struct request *rq)
{
	return wire_op[(__force u32)req_op(rq)];
}

static void io_begin(struct datblk_io *io, struct request *rq)
{
	u64 tag = io->tag + TAG_STEP;

	io->rq = rq;
	io->op = wire_op_of(rq);
	io->length = io->op == DATBLK_FLUSH ? 0 : blk_rq_bytes(rq);
	io->answer = BLK_STS_IOERR;
	io->addr = 0;
	io->rkey = 0;
	clear_bit(DATBLK_IO_ANSWERED, &io->flags);
	atomic_set(&io->left, IO_STEPS);
	WRITE_ONCE(io->tag, tag & ~COOKIE_KIND);
	/* Publish everything else before BUSY, for a reply that comes too early. */
	smp_mb__before_atomic();
	set_bit(DATBLK_IO_BUSY, &io->flags);
}

static bool io_is_fua(const struct datblk_io *io)
{
	return io->op == DATBLK_WRITE && io->rq->cmd_flags & REQ_FUA;
}

static DAT_RETURN io_post(struct datblk_io *io)
{
	struct datblk_request *m = &io->dev->msgs.request[TAG_INDEX(io->tag)];
	DAT_DTO_COOKIE cookie = { .as_64 = io->tag | COOKIE_SEND };
	DAT_LMR_TRIPLET seg = {
		.virtual_address = (uintptr_t)m, .segment_length = sizeof(*m),
		.lmr_context = io->dev->msgs.context,
	};

	*m = (struct datblk_request) {
		.magic = cpu_to_le16(DATBLK_MAGIC), .version = DATBLK_VERSION, .op = io->op,
		.flags = cpu_to_le32(io_is_fua(io) ? DATBLK_FUA : 0),
		.tag = cpu_to_le64(io->tag), .length = cpu_to_le32(io->length),
		.rkey = cpu_to_le32(io->rkey), .addr = cpu_to_le64(io->addr),
	};
	if (io->op != DATBLK_FLUSH)
		m->offset = cpu_to_le64(blk_rq_pos(io->rq) << SECTOR_SHIFT);
	datblk_sync_out(io->dev, m, sizeof(*m), seg.lmr_context);
	return dat_ep_post_send(io->dev->ep, 1, &seg, cookie, DAT_COMPLETION_DEFAULT_FLAG);
}

/* Other requests free resources within the timeout; a longer shortage is an error. */
static blk_status_t io_later(struct datblk_io *io)
{
	struct datblk_rq *own = blk_mq_rq_to_pdu(io->rq);

	if (!(io->rq->rq_flags & RQF_DONTPREP)) {
		io->rq->rq_flags |= RQF_DONTPREP;
		own->since = jiffies;
	}
	return time_after(jiffies, own->since + io->dev->set.timeout) ?
		BLK_STS_IOERR : BLK_STS_RESOURCE;
}

/* If this fails, no other context has seen @io. */
static blk_status_t io_map(struct datblk_io *io)
{
	/* Memory reclaim may be waiting for this request. */
	unsigned int noio = memalloc_noio_save();
	blk_status_t status = io->dev->mem->map(io);

	memalloc_noio_restore(noio);
	if (status == BLK_STS_OK)
		return BLK_STS_OK;
	io_claim(io);
	return status == BLK_STS_RESOURCE ? io_later(io) : status;
}

static blk_status_t datblk_queue_rq(struct blk_mq_hw_ctx *hctx,
				    const struct blk_mq_queue_data *bd)
{
	struct datblk *dev = hctx->queue->queuedata;
	struct datblk_io *io = &dev->ios[bd->rq->tag];
	blk_status_t status = BLK_STS_OK;

	if (datblk_dead(dev))
		return BLK_STS_IOERR;
	if (!wire_op_of(bd->rq))
		return BLK_STS_NOTSUPP;
	blk_mq_start_request(bd->rq);
	io_begin(io, bd->rq);
	if (io_has_data(io))
		status = io_map(io);
	if (status != BLK_STS_OK)
		return status;
	/*
	 * The queues have room for all tags, so posting fails only if the connection does.  The
	 * pages may be mapped already; datblk_lost_work() unmaps them.
	 */
	if (io_post(io) != DAT_SUCCESS)
		datblk_fail(dev, "a request can't be posted");
	else
		io_step(io);
	return BLK_STS_OK;
}

/* A server that stays silent for the timeout counts as lost. */
static enum blk_eh_timer_return datblk_timed_out(struct request *rq)
{
	datblk_fail(rq->q->queuedata, "the server does not answer");
	return BLK_EH_RESET_TIMER;
}

const struct blk_mq_ops datblk_mq_ops = {
	.queue_rq	= datblk_queue_rq,
	.complete	= datblk_complete,
	.timeout	= datblk_timed_out,
};

/* ---- What comes from the server ---- */

/*
 * A server that guesses a tag can reply before it has the request, and the reply then counts for
 * the next use of the tag.  This is harmless: the server could give the same reply later, and no
 * request ends before it was posted and sent.
 */
static struct datblk_io *io_of(struct datblk *dev, u64 tag)
{
	u32 index = TAG_INDEX(tag);
	struct datblk_io *io;

	if (index >= dev->depth)
		return NULL;
	io = &dev->ios[array_index_nospec(index, dev->depth)];
	if (!test_bit_acquire(DATBLK_IO_BUSY, &io->flags) || READ_ONCE(io->tag) != tag)
		return NULL;
	return io;
}

/* Return the request of a valid first reply, or NULL. */
static struct datblk_io *reply_io(struct datblk *dev, const struct datblk_reply *r)
{
	u32 status = le32_to_cpu(r->status);
	struct datblk_io *io;

	if (le16_to_cpu(r->magic) != DATBLK_MAGIC || r->version != DATBLK_VERSION ||
	    status > DATBLK_STATUS_MAX)
		return NULL;
	io = io_of(dev, le64_to_cpu(r->tag));
	if (!io || r->op != io->op || r->reserved ||
	    le32_to_cpu(r->length) != (status == DATBLK_OK ? io->length : 0) ||
	    test_and_set_bit(DATBLK_IO_ANSWERED, &io->flags))
		return NULL;
	io->answer = status_of[status];
	return io;
}

static void got_reply(struct datblk *dev, u32 index, u32 length)
{
	struct datblk_reply reply;
	struct datblk_io *io;

	datblk_sync_in(dev, &dev->msgs.reply[index], sizeof(reply), dev->msgs.context);
	/* The reply is copied first: the server could change it between check and use. */
	reply = dev->msgs.reply[index];
	io = length == sizeof(reply) ? reply_io(dev, &reply) : NULL;
	if (!io) {
		datblk_fail(dev, "the server has sent garbage");
		return;
	}
	/* Post the buffer first: the next request may be sent as soon as this one ends. */
	if (datblk_post_reply(dev, index) != DAT_SUCCESS) {
		datblk_fail(dev, "a receive can't be posted");
		return;
	}
	io_step(io);
}

static void got_completion(struct datblk *dev, u64 cookie)
{
	struct datblk_io *io = io_of(dev, cookie & ~COOKIE_KIND);

	/* The connection was lost meanwhile, so there is no request to settle. */
	if (!io)
		return;
	if (cookie & COOKIE_SEND)
		io_step(io);
	else
		datblk_settled(io);
}

/* Context: BH, one at a time. */
void datblk_dto_upcall(DAT_PVOID instance_data, const DAT_EVENT *event,
		       DAT_BOOLEAN more_events)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *dto = &event->event_data.dto_completion_event_data;
	struct datblk *dev = instance_data;
	u64 cookie = dto->user_cookie.as_64;

	/* The connection was never established: the connection event says why. */
	if (!test_bit(DATBLK_LIVE, &dev->flags))
		return;
	if (dto->status != DAT_DTO_SUCCESS)
		datblk_fail(dev, dto->status == DAT_DTO_ERR_FLUSHED ?
			    "the connection has ended" : "an operation has failed");
	else if (cookie & COOKIE_KIND)
		got_completion(dev, cookie);
	else if (!datblk_dead(dev))
		got_reply(dev, cookie, dto->transfered_length);
}

/**
 * datblk_lost_work() - end the requests of a lost connection
 * @work: lost_work of a device
 */
void datblk_lost_work(struct work_struct *work)
{
	struct datblk *dev = container_of(work, struct datblk, lost_work);
	struct gendisk *disk;
	unsigned int noio;
	u32 i;

	/* Pairs with datblk_disk_add(): everything that was set up before the disk is visible. */
	disk = smp_load_acquire(&dev->disk);
	/* Without a disk there are no requests; datblk_connect() may be waiting, though. */
	if (!disk) {
		datblk_connected(dev, -ECONNRESET);
		return;
	}
	/* Reclaim in here would wait for the queue that is stopped. */
	noio = memalloc_noio_save();
	blk_mq_quiesce_queue(disk->queue);
	/*
	 * Ignore the result: the device may be gone.  When this returns, no queue pair exists
	 * that the peer could use, and no request is in a queue.
	 */
	dat_ep_free(dev->ep);
	/* After this no upcall tries to end a registration. */
	dat_evd_modify_upcall(dev->dto_evd, DAT_UPCALL_TEARDOWN, NULL,
			      DAT_UPCALL_INVOC_ANY);
	for (i = 0; i < dev->depth; i++) {
		dev->mem->revoke(&dev->ios[i]);
		io_end(&dev->ios[i], BLK_STS_IOERR);
	}
	blk_mq_unquiesce_queue(disk->queue);
	memalloc_noio_restore(noio);
}
