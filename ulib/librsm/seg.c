// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/* The common part of exports and imports: teardown, events, and descriptors for poll(). */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <time.h>
#include <unistd.h>

#include "librsm.h"

#define POLL_BUCKETS	64

static pthread_mutex_t poll_lock = PTHREAD_MUTEX_INITIALIZER;
static struct rsm_seg *poll_segs[POLL_BUCKETS];

void rsm_poll_lock(void)
{
	pthread_mutex_lock(&poll_lock);
}

void rsm_poll_unlock(void)
{
	pthread_mutex_unlock(&poll_lock);
}

void rsm_seg_init(struct rsm_seg *seg, struct rsm_ctx *ctx, struct rsm_ctlr *ctlr, uint32_t id)
{
	pthread_mutex_init(&seg->lock, NULL);
	seg->ctx = ctx;
	seg->ctlr = ctlr;
	seg->id = id;
	seg->poll.fd = -1;
}

struct rsm_seg *rsm_seg_of(void *handle)
{
	struct rsm_seg *seg = du_slot_of(handle, RSM_EXPORT);

	if (!seg)
		seg = du_slot_of(handle, RSM_IMPORT);
	return seg && !seg->ctx->foreign ? seg : NULL;
}

/*
 * Revoke the handle of @seg, unless the program still holds a reference to @seg->poll.  The
 * caller holds seg->lock.
 */
int rsm_seg_revoke(struct rsm_seg *seg, uint32_t type)
{
	if (seg->poll_refs)
		return RSMERR_POLLFD_IN_USE;
	return du_slot_revoke(&seg->slot, type) ? RSM_SUCCESS : RSMERR_BAD_SEG_HNDL;
}

/* Free the object behind @seg.  The caller has revoked the handle. */
int rsm_seg_end(struct rsm_seg *seg, uint32_t driver_type)
{
	struct dat_rsm_free arg = { .size = sizeof(arg), .type = driver_type, .id = seg->id };
	int ret = rsm_call(seg->ctx, DAT_IOC_RSM_FREE, &arg);

	pthread_mutex_destroy(&seg->lock);
	du_arena_free(seg);
	return ret;
}

/* Revoke the handle and free the object. */
int rsm_seg_free(struct rsm_seg *seg, uint32_t type, uint32_t driver_type)
{
	int ret;

	pthread_mutex_lock(&seg->lock);
	ret = rsm_seg_revoke(seg, type);
	pthread_mutex_unlock(&seg->lock);
	return ret ? ret : rsm_seg_end(seg, driver_type);
}

/* Descriptors for poll(). */

static struct rsm_seg **poll_head(int fd)
{
	return &poll_segs[(unsigned int)fd % POLL_BUCKETS];
}

/*
 * Returns the segment whose events @fd reports, or NULL.  The number tells the descriptor from a
 * file of the program, or from another segment's descriptor, if the program has closed a
 * descriptor.
 */
static struct rsm_seg *poll_find(int fd)
{
	uint64_t number = du_fd_number(fd);
	struct rsm_seg *seg;

	pthread_mutex_lock(&poll_lock);
	seg = fd < 0 ? NULL : *poll_head(fd);
	while (seg && (seg->poll.fd != fd || seg->poll.number != number))
		seg = seg->poll_next;
	if (seg && seg->ctx->foreign)
		seg = NULL;
	pthread_mutex_unlock(&poll_lock);
	return seg;
}

/* Create the descriptor of @seg.  The caller holds seg->lock. */
static int poll_open(struct rsm_seg *seg)
{
	struct dat_rsm_fd arg = { .size = sizeof(arg), .id = seg->id };
	int ret = rsm_call(seg->ctx, DAT_IOC_RSM_FD, &arg);

	if (ret)
		return ret;
	pthread_mutex_lock(&poll_lock);
	du_file_init(&seg->poll, arg.fd);
	seg->poll_next = *poll_head(arg.fd);
	*poll_head(arg.fd) = seg;
	pthread_mutex_unlock(&poll_lock);
	return RSM_SUCCESS;
}

/* Close the descriptor of @seg.  The caller holds seg->lock. */
static void poll_close(struct rsm_seg *seg)
{
	const struct du_file file = seg->poll;
	struct rsm_seg **at;

	pthread_mutex_lock(&poll_lock);
	/*
	 * Search by address: if the program has closed the descriptor, that of another segment may
	 * have the same number.
	 */
	for (at = poll_head(file.fd); *at != seg; at = &(*at)->poll_next)
		;
	*at = seg->poll_next;
	seg->poll.fd = -1;
	pthread_mutex_unlock(&poll_lock);
	du_file_close(&file);
}

RSM_API int rsm_memseg_get_pollfd(void *memseg, struct pollfd *fd)
{
	struct rsm_seg *seg = rsm_seg_of(memseg);
	int ret = RSM_SUCCESS;

	if (!seg)
		return RSMERR_BAD_SEG_HNDL;
	if (!fd)
		return RSMERR_BAD_ADDR;
	pthread_mutex_lock(&seg->lock);
	if (!seg->poll_refs)
		ret = poll_open(seg);
	if (!ret) {
		seg->poll_refs++;
		fd->fd = seg->poll.fd;
		fd->events = POLLRDNORM;
		fd->revents = 0;
	}
	pthread_mutex_unlock(&seg->lock);
	return ret;
}

RSM_API int rsm_memseg_release_pollfd(void *memseg)
{
	struct rsm_seg *seg = rsm_seg_of(memseg);

	if (!seg)
		return RSMERR_BAD_SEG_HNDL;
	pthread_mutex_lock(&seg->lock);
	if (seg->poll_refs && !--seg->poll_refs)
		poll_close(seg);
	pthread_mutex_unlock(&seg->lock);
	return RSM_SUCCESS;
}

/* Events. */

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static uint64_t deadline_of(int timeout_ms)
{
	if (timeout_ms < 0)
		return DAT_RSM_FOREVER;
	return timeout_ms ? now_ns() + (uint64_t)timeout_ms * 1000000 : 0;
}

/* Returns the timeout for poll() in milliseconds, rounded up so that poll() does not end early. */
static int timeout_of(uint64_t deadline)
{
	uint64_t now;

	if (deadline == DAT_RSM_FOREVER)
		return -1;
	now = deadline ? now_ns() : 0;
	return now >= deadline ? 0 : (int)((deadline - now + 999999) / 1000000);
}

static int seg_wait(const struct rsm_seg *seg, uint64_t deadline)
{
	struct dat_rsm_wait arg = {
		.size = sizeof(arg), .id = seg->id, .deadline_ns = deadline,
	};

	return rsm_wait(seg->ctx, &arg);
}

RSM_API int rsm_intr_signal_post(void *memseg, uint_t flags)
{
	struct rsm_seg *seg = rsm_seg_of(memseg);
	struct rsm_import *imp = rsm_import_of(memseg);
	struct dat_rsm_post arg = { .size = sizeof(arg) };
	int ret;

	if (!seg)
		return RSMERR_BAD_SEG_HNDL;
	/* Complete all earlier puts, because the event wakes a peer that reads their data. */
	ret = imp ? rsm_ring_drain(imp, 0) : RSM_SUCCESS;
	if (ret)
		return ret;
	arg.id = seg->id;
	arg.flags = flags & RSM_SIGPOST_NO_ACCUMULATE;
	return rsm_call(seg->ctx, DAT_IOC_RSM_POST, &arg);
}

RSM_API int rsm_intr_signal_wait(void *memseg, int timeout)
{
	struct rsm_seg *seg = rsm_seg_of(memseg);

	return seg ? seg_wait(seg, deadline_of(timeout)) : RSMERR_BAD_SEG_HNDL;
}

static int poll_error(int err)
{
	switch (err) {
	case EAGAIN:
		return RSMERR_INSUFFICIENT_RESOURCES;
	case ENOMEM:
		return RSMERR_INSUFFICIENT_MEM;
	case EFAULT:
		return RSMERR_BAD_ADDR;
	case EINTR:
		return RSMERR_INTERRUPTED;
	default:
		return RSMERR_BAD_ARGS_ERRORS;
	}
}

/*
 * Take the event that poll() has reported.  Returns 0 if another thread has already taken the
 * event.
 */
static int take_event(struct pollfd *fd)
{
	struct rsm_seg *seg;
	int ret;

	if (!fd->revents)
		return 0;
	seg = poll_find(fd->fd);
	if (!seg)
		return 1;
	ret = seg_wait(seg, 0);
	if (ret == RSM_SUCCESS)
		fd->revents = POLLRDNORM;
	else if (ret == RSMERR_TIMEOUT)
		fd->revents = 0;
	/*
	 * After any other error, keep the revents that poll() has set: the segment was freed, or
	 * the connection was cut.
	 */
	return fd->revents != 0;
}

RSM_API int rsm_intr_signal_wait_pollfd(struct pollfd fds[], nfds_t nfds, int timeout,
					int *numfdsp)
{
	uint64_t deadline = deadline_of(timeout);
	int n, taken = 0;
	nfds_t i;

	if (!numfdsp || (!fds && nfds))
		return RSMERR_BAD_ADDR;
	*numfdsp = 0;
	while (!taken) {
		n = poll(fds, nfds, timeout_of(deadline));
		if (n < 0)
			return poll_error(errno);
		if (!n)
			return RSMERR_TIMEOUT;
		for (i = 0; i < nfds; i++)
			taken += take_event(&fds[i]);
	}
	*numfdsp = taken;
	return RSM_SUCCESS;
}
