// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* Requests of the block layer, from queue_rq to completion.  blk.h has an overview. */
#include <linux/nospec.h>
#include <linux/sched/mm.h>

#include "blk.h"

/*
 * Cookies: a send has its tag and COOKIE_SEND.  The DTO that ends the server's access has its tag
 * and COOKIE_INVALIDATE.  A receive has the index of its reply buffer and no kind bit.
 */
#define COOKIE_SEND		BIT_ULL(63)
#define COOKIE_INVALIDATE	BIT_ULL(62)
#define COOKIE_KIND		(COOKIE_SEND | COOKIE_INVALIDATE)

/* A tag holds the index of the datblk_io in the low 16 bits and its use count above. */
#define TAG_INDEX(tag)	((u32)(tag) & 0xffff)
#define TAG_STEP	0x10000ULL

#define IO_STEPS	3	/* steps: posted, sent, answered */

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

/* Clear BUSY.  Return true to only one caller, which then completes the request. */
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
		io->dev->mem->invalidate(io);
	else
		datblk_done(io);
}

/**
 * datblk_done() - complete a request: the server has replied and can no longer access the pages
 * @io: io of the request; BUSY unless datblk_lost_work() has already completed the request
 *
 * Context: BH.
 */
void datblk_done(struct datblk_io *io)
{
	io_end(io, io->answer);
}

/*
 * Return the cookie for the DTO that ends the server's access.  The completion of this DTO leads to
 * datblk_done().
 */
DAT_DTO_COOKIE datblk_invalidate_cookie(const struct datblk_io *io)
{
	return (DAT_DTO_COOKIE) { .as_64 = io->tag | COOKIE_INVALIDATE };
}

static void datblk_complete(struct request *rq)
{
	struct datblk *dev = rq->q->queuedata;
	struct datblk_io *io = &dev->ios[rq->tag];

	if (io->status == BLK_STS_OK && io_has_data(io))
		dev->mem->finish(io);
	blk_mq_end_request(rq, io->status);
}

/* ---- The beginning of a request ---- */

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
	/* Publish all other fields before BUSY, because io_of() may run for a premature reply. */
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

/*
 * Let the block layer retry a request that lacks resources, because other requests free them.  A
 * shortage that is longer than the request timeout is an error.
 */
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

/* Make the pages accessible to the server.  If this fails, no other context has seen @io. */
static blk_status_t io_map(struct datblk_io *io)
{
	/* Do not let allocations wait for I/O: memory reclaim may wait for this request. */
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
	 * The EP's queue has room for all tags, so a post fails only if the connection is lost.
	 * Then datblk_lost_work() ends the access to pages that are mapped already.
	 */
	if (io_post(io) != DAT_SUCCESS)
		datblk_fail(dev, "a request can't be posted");
	else
		io_step(io);
	return BLK_STS_OK;
}

/* A server that has not replied to a request within the timeout counts as lost. */
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

/* ---- Messages from the server ---- */

/*
 * Return the request that has @tag, or NULL.  A server that guesses a tag can reply before it has
 * received the request.  Such a reply counts for the request that uses the tag next.  This is
 * harmless: the server could send the same reply later, and a request completes only after its own
 * post and send.
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

/* Return the request that @r answers, or NULL if @r is invalid or not the first reply. */
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
	/* Check and use a copy, because the server could change the original after the check. */
	reply = dev->msgs.reply[index];
	io = length == sizeof(reply) ? reply_io(dev, &reply) : NULL;
	if (!io) {
		datblk_fail(dev, "the server has sent garbage");
		return;
	}
	/*
	 * Post the receive before the request completes: the block layer may then send the next
	 * request at once.
	 */
	if (datblk_post_reply(dev, index) != DAT_SUCCESS) {
		datblk_fail(dev, "a receive can't be posted");
		return;
	}
	io_step(io);
}

static void got_completion(struct datblk *dev, u64 cookie)
{
	struct datblk_io *io = io_of(dev, cookie & ~COOKIE_KIND);

	/* The connection was lost: datblk_lost_work() has already completed the request. */
	if (!io)
		return;
	if (cookie & COOKIE_SEND)
		io_step(io);
	else
		datblk_done(io);
}

/* Handle one completion.  Context: BH; one call at a time. */
void datblk_dto_upcall(DAT_PVOID instance_data, const DAT_EVENT *event,
		       DAT_BOOLEAN more_events)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *dto = &event->event_data.dto_completion_event_data;
	struct datblk *dev = instance_data;
	u64 cookie = dto->user_cookie.as_64;

	/*
	 * Ignore completions of a connection that was never established: connect_upcall() reports
	 * the reason.
	 */
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
 * datblk_lost_work() - complete all requests of a lost connection with an error
 * @work: lost_work of a struct datblk
 */
void datblk_lost_work(struct work_struct *work)
{
	struct datblk *dev = container_of(work, struct datblk, lost_work);
	struct gendisk *disk;
	unsigned int noio;
	u32 i;

	/*
	 * Pairs with the store in datblk_disk_add(): all that was set up before the disk is
	 * visible.
	 */
	disk = smp_load_acquire(&dev->disk);
	/* Without a disk no requests exist, but datblk_connect() may be waiting: wake it. */
	if (!disk) {
		datblk_connected(dev, -ECONNRESET);
		return;
	}
	/* Do not let allocations wait for I/O: memory reclaim would wait for the quiesced queue. */
	noio = memalloc_noio_save();
	blk_mq_quiesce_queue(disk->queue);
	/*
	 * Ignore the result: the adapter may be gone.  When this returns, the server has no queue
	 * pair to access memory through, and no DTO is in flight.
	 */
	dat_ep_free(dev->ep);
	/* When this returns, no dto_evd upcall runs that could call @invalidate. */
	dat_evd_modify_upcall(dev->dto_evd, DAT_UPCALL_TEARDOWN, NULL,
			      DAT_UPCALL_INVOC_ANY);
	for (i = 0; i < dev->depth; i++) {
		dev->mem->revoke(&dev->ios[i]);
		io_end(&dev->ios[i], BLK_STS_IOERR);
	}
	blk_mq_unquiesce_queue(disk->queue);
	memalloc_noio_restore(noio);
}
