// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/*
 * Event queues.  The events of an EQ come from EVDs, its sources: one for the connections of each
 * adapter, and one for the requests of each listener, so that requests of strangers take no room
 * from connections.  A read moves an event of an EVD to the queue of the EQ, and takes it from
 * there.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "fdat.h"

#define FIRST_QLEN	32	/* of the EVD for connections; it grows as endpoints are enabled */
#define EP_EVENTS	2	/* that a connection has: its beginning and its end */

/* ---- The queue; all functions need eq->lock ---- */

static void queue_push(struct fdat_eq *eq, struct fdat_event *e)
{
	e->next = NULL;
	if (eq->last) {
		eq->last->next = e;
	} else {
		eq->first = e;
		fdat_ready_set(eq->ready);
	}
	eq->last = e;
}

/* Take the oldest event out of the queue. */
static struct fdat_event *queue_pop(struct fdat_eq *eq)
{
	struct fdat_event *e = eq->first;

	eq->first = e->next;
	if (!eq->first) {
		eq->last = NULL;
		fdat_ready_clear(eq->ready);
	}
	return e;
}

/* An event that the program has not read: release what only the program could release. */
static void event_drop(struct fdat_event *e)
{
	struct fi_eq_cm_entry *entry = (struct fi_eq_cm_entry *)e->data;

	if (e->event == FI_CONNREQ && !e->err && !e->written) {
		fdat_connreq_free(fdat_of(entry->info->handle, struct fdat_connreq, fid));
		entry->info->handle = NULL;
		fi_freeinfo(entry->info);
	}
	free(e);
}

void fdat_eq_forget(struct fdat_eq *eq, fid_t fid)
{
	struct fdat_event *e = eq->first, *next;

	if (!e)
		return;
	eq->first = NULL;
	eq->last = NULL;
	fdat_ready_clear(eq->ready);
	for (; e; e = next) {
		next = e->next;
		if (e->fid == fid)
			event_drop(e);
		else
			queue_push(eq, e);
	}
}

/* ---- Sources; all functions need eq->lock ---- */

/* Move the next event of @s to the queue.  Returns whether there was one. */
static int source_next(struct fdat_eq *eq, struct fdat_source *s)
{
	struct fdat_event *e;
	DAT_EVENT event;

	while (dat_evd_dequeue(s->evd, &event) == DAT_SUCCESS) {
		e = fdat_cm_event(s, &event);
		if (e) {
			queue_push(eq, e);
			return 1;
		}
	}
	return 0;
}

/* Move a source behind the others. */
static void source_last(struct fdat_source **at)
{
	struct fdat_source *s = *at;

	*at = s->next;
	while (*at)
		at = &(*at)->next;
	s->next = NULL;
	*at = s;
}

/*
 * Move an event to the queue if the queue is empty.  The sources take turns, so that many requests
 * at a listener do not hold up the events of connections.
 */
static void pull(struct fdat_eq *eq)
{
	struct fdat_source **at;

	for (at = &eq->sources; *at && !eq->first; at = &(*at)->next) {
		if (source_next(eq, *at)) {
			source_last(at);
			return;
		}
	}
}

static int source_new(struct fdat_eq *eq, struct fdat_ia *ia, DAT_COUNT qlen, DAT_EVD_FLAGS flags,
		      struct fdat_source **out)
{
	struct fdat_source *s = calloc(1, sizeof(*s));
	int ret;

	if (!s)
		return -FI_ENOMEM;
	ret = fdat_error(dat_evd_create(ia->handle, qlen, DAT_HANDLE_NULL, flags, &s->evd));
	if (ret)
		goto err_free;
	ret = fdat_error(dat_linux_evd_fd(s->evd, &s->fd));
	if (ret)
		goto err_evd;
	ret = fdat_wait_add(eq->epoll, s->fd);
	if (ret)
		goto err_fd;
	s->qlen = qlen;
	s->ia = ia;
	fdat_ia_hold(ia);
	s->next = eq->sources;
	eq->sources = s;
	*out = s;
	return 0;

err_fd:
	close(s->fd);
err_evd:
	dat_evd_free(s->evd);
err_free:
	free(s);
	return ret;
}

void fdat_source_free(struct fdat_eq *eq, struct fdat_source *s)
{
	struct fdat_source **at;

	for (at = &eq->sources; *at != s; at = &(*at)->next)
		;
	*at = s->next;
	/* Another copy of the descriptor may be open in a child, so its close is not enough. */
	epoll_ctl(eq->epoll, EPOLL_CTL_DEL, s->fd, NULL);
	close(s->fd);
	dat_evd_free(s->evd);
	fdat_ia_put(s->ia);
	free(s);
}

int fdat_eq_connections(struct fdat_eq *eq, struct fdat_ia *ia, struct fdat_source **out)
{
	struct fdat_source *s;
	int ret;

	for (s = eq->sources; s && (s->ia != ia || s->pep); s = s->next)
		;
	if (!s) {
		ret = source_new(eq, ia, FIRST_QLEN, DAT_EVD_CONNECTION_FLAG, &s);
		if (ret)
			return ret;
	}
	if (s->reserved + EP_EVENTS > s->qlen) {
		ret = fdat_error(dat_evd_resize(s->evd, 2 * s->qlen));
		if (ret)
			return ret;
		s->qlen *= 2;
	}
	s->reserved += EP_EVENTS;
	*out = s;
	return 0;
}

void fdat_eq_unreserve(struct fdat_eq *eq, struct fdat_source *s)
{
	/* Events of the EP that is gone take room until they are dequeued. */
	while (source_next(eq, s))
		;
	s->reserved -= EP_EVENTS;
}

int fdat_eq_listen(struct fdat_eq *eq, struct fdat_pep *pep, struct fdat_source **source)
{
	int ret = source_new(eq, pep->ia, pep->backlog, DAT_EVD_CR_FLAG, source);

	if (!ret)
		(*source)->pep = pep;
	return ret;
}

/* ---- Reads ---- */

static ssize_t read_locked(struct fdat_eq *eq, uint32_t *event, void *buf, size_t len,
			   uint64_t flags)
{
	struct fdat_event *e;
	size_t n;

	pull(eq);
	e = eq->first;
	if (!e)
		return -FI_EAGAIN;
	if (e->err)
		return -FI_EAVAIL;
	if (len < e->least)
		return -FI_ETOOSMALL;
	n = len < e->size ? len : e->size;
	*event = e->event;
	memcpy(buf, e->data, n);
	if (!(flags & FI_PEEK))
		free(queue_pop(eq));
	return (ssize_t)n;
}

static ssize_t eq_read(struct fid_eq *fid, uint32_t *event, void *buf, size_t len, uint64_t flags)
{
	struct fdat_eq *eq = fdat_of(fid, struct fdat_eq, eq);
	ssize_t ret;

	pthread_mutex_lock(&eq->lock);
	ret = read_locked(eq, event, buf, len, flags);
	pthread_mutex_unlock(&eq->lock);
	return ret;
}

/*
 * Copy the data of an error to the buffer of the program.  A program that gives none, or is older
 * than such buffers, gets the address of the data.
 */
static void give_data(const struct fdat_eq *eq, struct fdat_event *e, struct fi_eq_err_entry *buf)
{
	uint32_t version = eq->fabric->fabric.api_version;

	if (!buf->err_data_size || FI_VERSION_LT(version, FI_VERSION(1, 5))) {
		buf->err_data = e->data;
		buf->err_data_size = e->size;
		return;
	}
	if (buf->err_data_size > e->size)
		buf->err_data_size = e->size;
	memcpy(buf->err_data, e->data, buf->err_data_size);
}

static ssize_t eq_readerr(struct fid_eq *fid, struct fi_eq_err_entry *buf, uint64_t flags)
{
	struct fdat_eq *eq = fdat_of(fid, struct fdat_eq, eq);
	struct fdat_event *e;
	ssize_t ret = -FI_EAGAIN;

	pthread_mutex_lock(&eq->lock);
	pull(eq);
	e = eq->first;
	if (e && e->err) {
		buf->fid = e->fid;
		buf->context = e->fid->context;
		buf->data = 0;
		buf->err = e->err;
		buf->prov_errno = e->prov_errno;
		give_data(eq, e, buf);
		if (!(flags & FI_PEEK)) {
			free(eq->told);
			eq->told = queue_pop(eq);
		}
		ret = sizeof(*buf);
	}
	pthread_mutex_unlock(&eq->lock);
	return ret;
}

static ssize_t eq_write(struct fid_eq *fid, uint32_t event, const void *buf, size_t len,
			uint64_t flags)
{
	struct fdat_eq *eq = fdat_of(fid, struct fdat_eq, eq);
	struct fdat_event *e;

	if (flags || (len && !buf))
		return -FI_EINVAL;
	e = calloc(1, sizeof(*e) + len);
	if (!e)
		return -FI_ENOMEM;
	e->event = event;
	e->size = len;
	e->least = len;
	if (len)
		memcpy(e->data, buf, len);
	/* The program owns all that an event of its own names, also a connection request. */
	e->written = 1;
	pthread_mutex_lock(&eq->lock);
	queue_push(eq, e);
	pthread_mutex_unlock(&eq->lock);
	return (ssize_t)len;
}

static ssize_t eq_sread(struct fid_eq *fid, uint32_t *event, void *buf, size_t len, int timeout,
			uint64_t flags)
{
	struct fdat_eq *eq = fdat_of(fid, struct fdat_eq, eq);
	struct pollfd p = { .fd = eq->epoll, .events = POLLIN };
	struct timespec end;
	ssize_t ret;
	int n, left;

	if (eq->wait == FI_WAIT_NONE)
		return -FI_ENOSYS;
	fdat_deadline(timeout, &end);
	while (1) {
		ret = eq_read(fid, event, buf, len, flags);
		if (ret != -FI_EAGAIN)
			return ret;
		left = fdat_time_left(timeout, &end);
		n = poll(&p, 1, left);
		if (n < 0 && errno != EINTR)
			return -errno;
		/* Other threads may read each event first, until the time is over. */
		if (n <= 0 || !left)
			return -FI_EAGAIN;
	}
}

static const char *eq_strerror(struct fid_eq *fid, int prov_errno, const void *err_data, char *buf,
			       size_t len)
{
	const char *name = fdat_event_name(prov_errno);

	(void)fid;
	(void)err_data;
	if (buf && len)
		snprintf(buf, len, "%s", name);
	return name;
}

int fdat_eq_trywait(struct fdat_eq *eq)
{
	int ret;

	if (eq->wait == FI_WAIT_NONE)
		return -FI_EINVAL;
	pthread_mutex_lock(&eq->lock);
	pull(eq);
	ret = eq->first ? -FI_EAGAIN : 0;
	pthread_mutex_unlock(&eq->lock);
	return ret;
}

/* ---- Objects ---- */

static int eq_close(struct fid *fid)
{
	struct fdat_eq *eq = fdat_of(fid, struct fdat_eq, eq.fid);
	struct fdat_event *e;

	if (fdat_refs(&eq->refs))
		return -FI_EBUSY;
	while (eq->sources)
		fdat_source_free(eq, eq->sources);
	while ((e = eq->first)) {
		eq->first = e->next;
		event_drop(e);
	}
	free(eq->told);
	close(eq->ready);
	close(eq->epoll);
	pthread_mutex_destroy(&eq->lock);
	fdat_unref(&eq->fabric->refs);
	free(eq);
	return 0;
}

static int eq_control(struct fid *fid, int command, void *arg)
{
	struct fdat_eq *eq = fdat_of(fid, struct fdat_eq, eq.fid);

	switch (command) {
	case FI_GETWAIT:
		if (eq->wait == FI_WAIT_NONE)
			return -FI_ENODATA;
		*(int *)arg = eq->epoll;
		return 0;
	case FI_GETWAITOBJ:
		*(enum fi_wait_obj *)arg = eq->wait;
		return 0;
	default:
		return -FI_ENOSYS;
	}
}

static struct fi_ops eq_fid_ops = {
	.size = sizeof(eq_fid_ops),
	.close = eq_close,
	.bind = fdat_no_bind,
	.control = eq_control,
	FDAT_NO_FID_OPS,
};

static struct fi_ops_eq eq_ops = {
	.size = sizeof(eq_ops),
	.read = eq_read,
	.readerr = eq_readerr,
	.write = eq_write,
	.sread = eq_sread,
	.strerror = eq_strerror,
};

int fdat_eq_open(struct fid_fabric *fabric, struct fi_eq_attr *attr, struct fid_eq **out,
		 void *context)
{
	enum fi_wait_obj wait = attr ? attr->wait_obj : FI_WAIT_NONE;
	struct fdat_eq *eq;
	int ret;

	if (wait != FI_WAIT_NONE && wait != FI_WAIT_UNSPEC && wait != FI_WAIT_FD) {
		fdat_info(EQ, "the wait object %d is not supported\n", wait);
		return -FI_ENOSYS;
	}
	eq = calloc(1, sizeof(*eq));
	if (!eq)
		return -FI_ENOMEM;
	ret = fdat_wait_open(&eq->epoll, &eq->ready);
	if (ret) {
		free(eq);
		return ret;
	}
	eq->wait = wait == FI_WAIT_NONE ? FI_WAIT_NONE : FI_WAIT_FD;
	pthread_mutex_init(&eq->lock, NULL);
	eq->fabric = fdat_of(fabric, struct fdat_fabric, fabric);
	fdat_ref(&eq->fabric->refs);
	eq->eq.fid.fclass = FI_CLASS_EQ;
	eq->eq.fid.context = context;
	eq->eq.fid.ops = &eq_fid_ops;
	eq->eq.ops = &eq_ops;
	*out = &eq->eq;
	return 0;
}
