// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/*
 * Completion queues.  A CQ has the EVDs of all operations that complete in it, one until the queues
 * of its endpoints need more.  Before them it has a queue, for completions that had to leave an
 * EVD: an error, which waits for fi_cq_readerr(), and the completions of closed endpoints.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "fdat.h"

#define FIRST_QUEUE	16	/* places of a queue; it grows as endpoints are closed */

/* ---- The queue before the EVDs; all functions need cq->lock ---- */

/* Make room for @more completions. */
static int queue_grow(struct fdat_cq *cq, size_t more)
{
	size_t size = cq->size ? cq->size : FIRST_QUEUE, i;
	struct fdat_comp *queue;

	if (cq->count + more <= cq->size)
		return 0;
	while (size < cq->count + more)
		size *= 2;
	queue = calloc(size, sizeof(*queue));
	if (!queue)
		return -FI_ENOMEM;
	for (i = 0; i < cq->count; i++)
		queue[i] = cq->queue[(cq->first + i) % cq->size];
	free(cq->queue);
	cq->queue = queue;
	cq->size = size;
	cq->first = 0;
	return 0;
}

static int queue_push(struct fdat_cq *cq, const struct fdat_comp *comp)
{
	if (queue_grow(cq, 1))
		return -FI_ENOMEM;
	cq->queue[(cq->first + cq->count++) % cq->size] = *comp;
	if (cq->count == 1 && cq->wait != FI_WAIT_NONE)
		fdat_ready_set(cq->ready);
	return 0;
}

static void queue_pop(struct fdat_cq *cq)
{
	cq->first = (cq->first + 1) % cq->size;
	cq->count--;
	if (!cq->count && cq->wait != FI_WAIT_NONE)
		fdat_ready_clear(cq->ready);
}

/* ---- Events ---- */

/*
 * Describe the completion of @op, and free its place.  Returns whether the program gets it: an
 * operation without a context has no completion, not even an error, because layers above look for
 * their own data behind the context.
 */
static int complete(struct fdat_op *op, int status, uint64_t length, struct fdat_comp *comp)
{
	int wanted = op->report || (op->srx && !op->srx->selective);

	memset(comp, 0, sizeof(*comp));
	comp->entry.op_context = op->context;
	comp->entry.flags = op->flags;
	if (status == DAT_DTO_SUCCESS) {
		comp->entry.len = length;
	} else {
		comp->err = fdat_status_error(status);
		comp->prov_errno = status;
		wanted = !op->inject;
	}
	if (op->inject && comp->err)
		fdat_info(CQ, "an injected operation has failed: %s\n", fdat_status_name(status));
	if (op->srx)
		fdat_srx_release(op);
	else
		fdat_ring_complete(op->ring, op);
	return wanted;
}

/* As complete(), of a receive that immediate data have completed. */
static int complete_immediate(const DAT_EVENT *event, struct fdat_comp *comp)
{
	DAT_LINUX_IMMED_EVENT_DATA data = dat_linux_immed_event_data(event);
	int wanted = complete(data.user_cookie.as_ptr, data.status, data.transfered_length, comp);

	comp->entry.data = data.immed_data;
	if (event->event_number == DAT_LINUX_RDMA_WRITE_IMMED_EVENT) {
		/* The peer's write asks for the completion, whatever the receive asks for. */
		comp->entry.flags = FI_RMA | FI_REMOTE_WRITE;
		wanted = 1;
	}
	comp->entry.flags |= FI_REMOTE_CQ_DATA;
	return wanted;
}

/* As complete(), of the operation of an event. */
static int complete_event(const DAT_EVENT *event, struct fdat_comp *comp)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *dto = &event->event_data.dto_completion_event_data;

	if (event->event_number != DAT_DTO_COMPLETION_EVENT)
		return complete_immediate(event, comp);
	return complete(dto->user_cookie.as_ptr, dto->status, dto->transfered_length, comp);
}

/* Take the next completion out of the EVDs, in turn.  Returns whether there was one. */
static int evds_next(struct fdat_cq *cq, struct fdat_comp *comp)
{
	struct fdat_evd *first = cq->evds, *evd;
	DAT_EVENT event;

	do {
		evd = cq->evds;
		cq->evds = evd->next;
		while (dat_evd_dequeue(evd->handle, &event) == DAT_SUCCESS)
			if (complete_event(&event, comp))
				return 1;
	} while (cq->evds != first);
	return 0;
}

/* Move the next completion to the queue if the queue is empty: then it has a place. */
static void pull_locked(struct fdat_cq *cq)
{
	struct fdat_comp comp;

	if (!cq->count && evds_next(cq, &comp))
		queue_push(cq, &comp);
}

void fdat_cq_pull(struct fdat_cq *cq)
{
	pthread_mutex_lock(&cq->lock);
	pull_locked(cq);
	pthread_mutex_unlock(&cq->lock);
}

int fdat_cq_flush_prepare(struct fdat_cq *cq)
{
	int ret;

	pthread_mutex_lock(&cq->lock);
	/* At most the reserved number of operations is outstanding or in the EVDs. */
	ret = queue_grow(cq, cq->reserved);
	pthread_mutex_unlock(&cq->lock);
	return ret;
}

/*
 * The operations in the ring have no event, because their EP is gone, or because their success was
 * suppressed.  The latter may be complete, so they are not reported.
 */
static int flush_ring(struct fdat_cq *cq, struct fdat_ring *ring)
{
	struct fdat_comp comp;
	struct fdat_op *op;
	int ret = 0;

	while (ring->tail != ring->head) {
		op = &ring->ops[ring->tail & ring->mask];
		if (complete(op, DAT_DTO_ERR_FLUSHED, 0, &comp) && op->report)
			ret |= queue_push(cq, &comp);
	}
	return ret;
}

int fdat_cq_flush(struct fdat_cq *cq, struct fdat_ring *ring)
{
	struct fdat_comp comp;
	int ret = 0;

	pthread_mutex_lock(&cq->lock);
	while (evds_next(cq, &comp))
		ret |= queue_push(cq, &comp);
	if (ring)
		ret |= flush_ring(cq, ring);
	pthread_mutex_unlock(&cq->lock);
	return ret;
}

/* ---- Reads ---- */

/*
 * Store up to @count completions.  An error ends the read: it stays in the queue, which is empty
 * when the EVDs are read.
 */
static ssize_t read_locked(struct fdat_cq *cq, uint8_t *buf, size_t count)
{
	struct fdat_comp comp;
	size_t n = 0;

	for (; n < count; n++, buf += cq->entry_size) {
		if (cq->count) {
			comp = cq->queue[cq->first];
			if (comp.err)
				break;
			queue_pop(cq);
		} else if (!evds_next(cq, &comp)) {
			break;
		} else if (comp.err) {
			queue_push(cq, &comp);
			break;
		}
		memcpy(buf, &comp.entry, cq->entry_size);
	}
	if (n)
		return (ssize_t)n;
	return cq->count && cq->queue[cq->first].err ? -FI_EAVAIL : -FI_EAGAIN;
}

static ssize_t cq_read(struct fid_cq *fid, void *buf, size_t count)
{
	struct fdat_cq *cq = fdat_of(fid, struct fdat_cq, cq);
	ssize_t ret;

	pthread_mutex_lock(&cq->lock);
	ret = read_locked(cq, buf, count);
	pthread_mutex_unlock(&cq->lock);
	return ret;
}

static ssize_t cq_readfrom(struct fid_cq *fid, void *buf, size_t count, fi_addr_t *from)
{
	ssize_t n = cq_read(fid, buf, count), i;

	for (i = 0; from && i < n; i++)
		from[i] = FI_ADDR_NOTAVAIL;
	return n;
}

static ssize_t cq_readerr(struct fid_cq *fid, struct fi_cq_err_entry *buf, uint64_t flags)
{
	struct fdat_cq *cq = fdat_of(fid, struct fdat_cq, cq);
	uint32_t version = cq->domain->fabric->fabric.api_version;
	const struct fdat_comp *comp;
	ssize_t ret = -FI_EAGAIN;

	pthread_mutex_lock(&cq->lock);
	pull_locked(cq);
	comp = cq->count ? &cq->queue[cq->first] : NULL;
	if (comp && comp->err) {
		buf->op_context = comp->entry.op_context;
		buf->flags = comp->entry.flags;
		buf->len = 0;
		buf->buf = NULL;
		buf->data = 0;
		buf->tag = 0;
		buf->olen = 0;
		buf->err = comp->err;
		buf->prov_errno = comp->prov_errno;
		/* The status is all that is known.  Such programs use the address that they get. */
		if (!buf->err_data_size || FI_VERSION_LT(version, FI_VERSION(1, 5)))
			buf->err_data = NULL;
		buf->err_data_size = 0;
		if (!(flags & FI_PEEK))
			queue_pop(cq);
		ret = 1;
	}
	pthread_mutex_unlock(&cq->lock);
	return ret;
}

/* ---- Waits ---- */

/* Begin to wait.  Returns the number of signals that this waiter has seen. */
static uint64_t waiter_enter(struct fdat_cq *cq)
{
	uint64_t seen;

	pthread_mutex_lock(&cq->lock);
	seen = cq->signals;
	if (!cq->waiters++ && cq->woken)
		seen--;
	pthread_mutex_unlock(&cq->lock);
	return seen;
}

static void waiter_leave(struct fdat_cq *cq, uint64_t seen)
{
	pthread_mutex_lock(&cq->lock);
	cq->waiters--;
	if (seen != cq->signals && !--cq->woken)
		fdat_ready_clear(cq->signal);
	pthread_mutex_unlock(&cq->lock);
}

static int is_signalled(struct fdat_cq *cq, uint64_t seen)
{
	int signalled;

	pthread_mutex_lock(&cq->lock);
	signalled = seen != cq->signals;
	pthread_mutex_unlock(&cq->lock);
	return signalled;
}

static int cq_signal(struct fid_cq *fid)
{
	struct fdat_cq *cq = fdat_of(fid, struct fdat_cq, cq);

	if (cq->wait == FI_WAIT_NONE)
		return -FI_ENOSYS;
	pthread_mutex_lock(&cq->lock);
	if (!cq->woken)
		fdat_ready_set(cq->signal);
	cq->signals++;
	cq->woken = cq->waiters ? cq->waiters : 1;
	pthread_mutex_unlock(&cq->lock);
	return 0;
}

/*
 * Wait for an event.  Returns 0, or -FI_EAGAIN after @ms, a signal of the system or fi_cq_signal().
 */
static int cq_wait(struct fdat_cq *cq, uint64_t seen, int ms)
{
	struct pollfd p[] = {
		{ .fd = cq->epoll, .events = POLLIN },
		{ .fd = cq->signal, .events = POLLIN },
	};
	int ret;

	ret = poll(p, 2, ms);
	if (ret < 0)
		return errno == EINTR ? -FI_EAGAIN : -errno;
	/* The descriptor may be readable for waiters that were there before. */
	if (p[1].revents && is_signalled(cq, seen))
		return -FI_EAGAIN;
	/* Other threads may read each event first, until the time is over. */
	return ret && ms ? 0 : -FI_EAGAIN;
}

static ssize_t cq_sread(struct fid_cq *fid, void *buf, size_t count, const void *cond, int timeout)
{
	struct fdat_cq *cq = fdat_of(fid, struct fdat_cq, cq);
	size_t need = cq->threshold && cond ? (uintptr_t)cond : 1, done = 0;
	struct timespec end;
	uint64_t seen = 0;
	int waits = 0;
	ssize_t ret;

	if (cq->wait == FI_WAIT_NONE)
		return -FI_ENOSYS;
	fdat_deadline(timeout, &end);
	if (need > count)
		need = count;
	while (1) {
		ret = cq_read(fid, (uint8_t *)buf + done * cq->entry_size, count - done);
		if (ret > 0)
			done += (size_t)ret;
		if (done >= need || (ret < 0 && ret != -FI_EAGAIN))
			break;
		if (!waits++)
			seen = waiter_enter(cq);
		ret = cq_wait(cq, seen, fdat_time_left(timeout, &end));
		if (ret)
			break;
	}
	if (waits)
		waiter_leave(cq, seen);
	return done ? (ssize_t)done : ret;
}

static ssize_t cq_sreadfrom(struct fid_cq *fid, void *buf, size_t count, fi_addr_t *from,
			    const void *cond, int timeout)
{
	ssize_t n = cq_sread(fid, buf, count, cond, timeout), i;

	for (i = 0; from && i < n; i++)
		from[i] = FI_ADDR_NOTAVAIL;
	return n;
}

static const char *cq_strerror(struct fid_cq *fid, int prov_errno, const void *err_data, char *buf,
			       size_t len)
{
	const char *name = fdat_status_name(prov_errno);

	(void)fid;
	(void)err_data;
	if (buf && len)
		snprintf(buf, len, "%s", name);
	return name;
}

int fdat_cq_trywait(struct fdat_cq *cq)
{
	int ret;

	if (cq->wait == FI_WAIT_NONE)
		return -FI_EINVAL;
	pthread_mutex_lock(&cq->lock);
	/* An event without a completion would keep the descriptor readable. */
	pull_locked(cq);
	ret = cq->count ? -FI_EAGAIN : 0;
	pthread_mutex_unlock(&cq->lock);
	return ret;
}

/* ---- Descriptors ---- */

static int descriptors_open(struct fdat_cq *cq)
{
	int ret;

	if (cq->wait == FI_WAIT_NONE)
		return 0;
	ret = fdat_wait_open(&cq->epoll, &cq->ready);
	if (ret)
		return ret;
	cq->signal = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (cq->signal >= 0)
		return 0;
	ret = -errno;
	close(cq->epoll);
	close(cq->ready);
	return ret;
}

static void descriptors_close(struct fdat_cq *cq)
{
	if (cq->wait == FI_WAIT_NONE)
		return;
	close(cq->signal);
	close(cq->epoll);
	close(cq->ready);
}

/* ---- Objects ---- */

static int cq_close(struct fid *fid)
{
	struct fdat_cq *cq = fdat_of(fid, struct fdat_cq, cq.fid);
	int ret;

	if (fdat_refs(&cq->refs))
		return -FI_EBUSY;
	ret = fdat_evds_close(cq);
	if (ret)
		return ret == -FI_EOPBADSTATE ? -FI_EBUSY : ret;
	descriptors_close(cq);
	pthread_mutex_destroy(&cq->lock);
	fdat_unref(&cq->domain->refs);
	free(cq->queue);
	free(cq);
	return 0;
}

static int cq_control(struct fid *fid, int command, void *arg)
{
	struct fdat_cq *cq = fdat_of(fid, struct fdat_cq, cq.fid);

	switch (command) {
	case FI_GETWAIT:
		if (cq->wait == FI_WAIT_NONE)
			return -FI_ENODATA;
		*(int *)arg = cq->epoll;
		return 0;
	case FI_GETWAITOBJ:
		*(enum fi_wait_obj *)arg = cq->wait;
		return 0;
	default:
		return -FI_ENOSYS;
	}
}

static struct fi_ops cq_fid_ops = {
	.size = sizeof(cq_fid_ops),
	.close = cq_close,
	.bind = fdat_no_bind,
	.control = cq_control,
	FDAT_NO_FID_OPS,
};

static struct fi_ops_cq cq_ops = {
	.size = sizeof(cq_ops),
	.read = cq_read,
	.readfrom = cq_readfrom,
	.readerr = cq_readerr,
	.sread = cq_sread,
	.sreadfrom = cq_sreadfrom,
	.signal = cq_signal,
	.strerror = cq_strerror,
};

/* Returns the bytes of an entry, or 0 if the format is unknown. */
static size_t format_size(enum fi_cq_format format)
{
	switch (format) {
	case FI_CQ_FORMAT_UNSPEC:
	case FI_CQ_FORMAT_CONTEXT:
		return sizeof(struct fi_cq_entry);
	case FI_CQ_FORMAT_MSG:
		return sizeof(struct fi_cq_msg_entry);
	case FI_CQ_FORMAT_DATA:
		return sizeof(struct fi_cq_data_entry);
	case FI_CQ_FORMAT_TAGGED:
		return sizeof(struct fi_cq_tagged_entry);
	default:
		return 0;
	}
}

static int cq_check(const struct fi_cq_attr *attr)
{
	if (!format_size(attr->format) || attr->flags & ~FI_AFFINITY)
		return -FI_EINVAL;
	switch (attr->wait_obj) {
	case FI_WAIT_NONE:
	case FI_WAIT_UNSPEC:
	case FI_WAIT_FD:
		return 0;
	default:
		fdat_info(CQ, "the wait object %d is not supported\n", attr->wait_obj);
		return -FI_ENOSYS;
	}
}

static int cq_create(struct fdat_cq *cq)
{
	int ret = queue_grow(cq, 1);

	if (ret)
		return ret;
	ret = descriptors_open(cq);
	if (ret)
		goto err_queue;
	ret = fdat_evds_open(cq);
	if (ret)
		goto err_descriptors;
	return 0;

err_descriptors:
	descriptors_close(cq);
err_queue:
	free(cq->queue);
	return ret;
}

int fdat_cq_open(struct fid_domain *domain, struct fi_cq_attr *attr, struct fid_cq **out,
		 void *context)
{
	struct fdat_domain *d = fdat_of(domain, struct fdat_domain, domain);
	struct fi_cq_attr none = { .size = 0 };
	struct fdat_cq *cq;
	int ret;

	if (!attr)
		attr = &none;
	ret = cq_check(attr);
	if (ret)
		return ret;
	cq = calloc(1, sizeof(*cq));
	if (!cq)
		return -FI_ENOMEM;
	cq->domain = d;
	cq->wait = attr->wait_obj == FI_WAIT_NONE ? FI_WAIT_NONE : FI_WAIT_FD;
	cq->threshold = attr->wait_cond == FI_CQ_COND_THRESHOLD;
	cq->entry_size = format_size(attr->format);
	ret = cq_create(cq);
	if (ret) {
		free(cq);
		return ret;
	}
	pthread_mutex_init(&cq->lock, NULL);
	cq->cq.fid.fclass = FI_CLASS_CQ;
	cq->cq.fid.context = context;
	cq->cq.fid.ops = &cq_fid_ops;
	cq->cq.ops = &cq_ops;
	fdat_ref(&d->refs);
	*out = &cq->cq;
	return 0;
}
