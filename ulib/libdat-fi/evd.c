// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/* The EVDs of a CQ, and the room in them. */
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "fdat.h"

#define FIRST_QLEN	64	/* of an EVD; it grows as endpoints are enabled */

static int evd_watch(struct fdat_cq *cq, struct fdat_evd *evd)
{
	int ret;

	if (cq->wait == FI_WAIT_NONE)
		return 0;
	ret = fdat_error(dat_linux_evd_fd(evd->handle, &evd->fd));
	if (ret)
		return ret;
	ret = fdat_wait_add(cq->epoll, evd->fd);
	if (ret)
		close(evd->fd);
	return ret;
}

/* Add an EVD to the circle. */
static int evd_add(struct fdat_cq *cq)
{
	struct fdat_evd *evd = calloc(1, sizeof(*evd));
	int ret;

	if (!evd)
		return -FI_ENOMEM;
	evd->qlen = FIRST_QLEN;
	ret = fdat_error(dat_evd_create(cq->domain->ia->handle, evd->qlen, DAT_HANDLE_NULL,
					DAT_EVD_DTO_FLAG, &evd->handle));
	if (ret)
		goto err_free;
	ret = evd_watch(cq, evd);
	if (ret)
		goto err_evd;
	evd->next = cq->evds ? cq->evds->next : evd;
	if (cq->evds)
		cq->evds->next = evd;
	cq->evds = evd;
	return 0;

err_evd:
	dat_evd_free(evd->handle);
err_free:
	free(evd);
	return ret;
}

int fdat_evds_open(struct fdat_cq *cq)
{
	return evd_add(cq);
}

int fdat_evds_close(struct fdat_cq *cq)
{
	struct fdat_evd *evd;
	int ret;

	while ((evd = cq->evds)) {
		evd = evd->next;
		ret = fdat_error(dat_evd_free(evd->handle));
		if (ret)
			return ret;
		if (cq->wait != FI_WAIT_NONE)
			close(evd->fd);
		if (evd == cq->evds)
			cq->evds = NULL;
		else
			cq->evds->next = evd->next;
		free(evd);
	}
	return 0;
}

/* Make the EVD at least @need events long, and if possible twice as long as it was. */
static int evd_grow(const struct fdat_cq *cq, struct fdat_evd *evd, uint64_t need)
{
	int64_t limit = cq->domain->ia->attr.max_evd_qlen;
	int64_t want = 2 * (int64_t)evd->qlen;
	int ret;

	if (need <= (uint64_t)evd->qlen)
		return 0;
	if (want < (int64_t)need)
		want = (int64_t)need;
	if (want > limit)
		want = limit;
	ret = fdat_error(dat_evd_resize(evd->handle, (DAT_COUNT)want));
	if (!ret)
		evd->qlen = (DAT_COUNT)want;
	return ret;
}

/* Find an EVD that can have room for @count more events, or add one. */
static int evd_with_room(struct fdat_cq *cq, size_t count, struct fdat_evd **out)
{
	uint64_t limit = (uint64_t)cq->domain->ia->attr.max_evd_qlen;
	struct fdat_evd *evd = cq->evds;
	int ret;

	if (count > limit) {
		fdat_info(CQ, "a queue has %zu places, but an EVD has %" PRIu64 " at most\n",
			  count, limit);
		return -FI_EINVAL;
	}
	do {
		if (count <= limit - evd->reserved) {
			*out = evd;
			return 0;
		}
		evd = evd->next;
	} while (evd != cq->evds);
	ret = evd_add(cq);
	*out = cq->evds;
	return ret;
}

static int reserve_locked(struct fdat_cq *cq, size_t count, struct fdat_evd **evd)
{
	int ret = evd_with_room(cq, count, evd);

	if (!ret)
		ret = evd_grow(cq, *evd, (*evd)->reserved + count);
	if (ret)
		return ret;
	(*evd)->reserved += count;
	cq->reserved += count;
	return 0;
}

static void unreserve_locked(struct fdat_cq *cq, struct fdat_evd *evd, size_t count)
{
	evd->reserved -= count;
	cq->reserved -= count;
}

int fdat_cq_reserve(struct fdat_cq *cq, size_t count, struct fdat_evd **evd)
{
	int ret;

	pthread_mutex_lock(&cq->lock);
	ret = reserve_locked(cq, count, evd);
	pthread_mutex_unlock(&cq->lock);
	return ret;
}

void fdat_cq_unreserve(struct fdat_cq *cq, struct fdat_evd *evd, size_t count)
{
	pthread_mutex_lock(&cq->lock);
	unreserve_locked(cq, evd, count);
	pthread_mutex_unlock(&cq->lock);
}

/* ---- Shared receive contexts ---- */

/* Returns where the EVD has the SRX in its list, or the end of the list. */
static struct fdat_share **share_find(struct fdat_evd *evd, const struct fdat_srx *srx)
{
	struct fdat_share **at;

	for (at = &evd->shares; *at && (*at)->srx != srx; at = &(*at)->next)
		;
	return at;
}

/* Returns the EVD that has room for the SRX, or NULL. */
static struct fdat_evd *evd_of_srx(const struct fdat_cq *cq, const struct fdat_srx *srx)
{
	struct fdat_evd *evd = cq->evds;

	do {
		if (*share_find(evd, srx))
			return evd;
		evd = evd->next;
	} while (evd != cq->evds);
	return NULL;
}

static int share_locked(struct fdat_cq *cq, struct fdat_srx *srx, struct fdat_evd **evd)
{
	struct fdat_share *s;
	int ret;

	*evd = evd_of_srx(cq, srx);
	if (*evd) {
		(*share_find(*evd, srx))->refs++;
		return 0;
	}
	s = calloc(1, sizeof(*s));
	if (!s)
		return -FI_ENOMEM;
	ret = reserve_locked(cq, srx->size, evd);
	if (ret) {
		free(s);
		return ret;
	}
	s->srx = srx;
	s->refs = 1;
	s->next = (*evd)->shares;
	(*evd)->shares = s;
	return 0;
}

int fdat_cq_share(struct fdat_cq *cq, struct fdat_srx *srx, struct fdat_evd **evd)
{
	int ret;

	pthread_mutex_lock(&cq->lock);
	ret = share_locked(cq, srx, evd);
	pthread_mutex_unlock(&cq->lock);
	return ret;
}

void fdat_cq_unshare(struct fdat_cq *cq, struct fdat_evd *evd, struct fdat_srx *srx)
{
	struct fdat_share **at, *s;

	pthread_mutex_lock(&cq->lock);
	at = share_find(evd, srx);
	s = *at;
	if (!--s->refs) {
		*at = s->next;
		unreserve_locked(cq, evd, srx->size);
		free(s);
	}
	pthread_mutex_unlock(&cq->lock);
}
