// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/* The streams that feed an EVD, and the rules for streams that share an EVD. */
#include "libdat.h"

/* Returns true if a stream of kind @kind conflicts with the streams that feed @evd. */
static int feed_conflict(const struct udat_evd *evd, enum udat_feed kind)
{
	const uint32_t *n = evd->feeds;

	switch (kind) {
	case UDAT_FEED_NOTIFY:
		return n[UDAT_FEED_SOLICITED] || n[UDAT_FEED_THRESHOLD] || n[UDAT_FEED_OTHER];
	case UDAT_FEED_SOLICITED:
		return n[UDAT_FEED_NOTIFY] || n[UDAT_FEED_THRESHOLD] || n[UDAT_FEED_OTHER];
	case UDAT_FEED_THRESHOLD:
	case UDAT_FEED_OTHER:
		return n[UDAT_FEED_NOTIFY] || n[UDAT_FEED_SOLICITED];
	default:
		return 0;
	}
}

/*
 * Add a stream to @evd.  @evd may be NULL.  Returns 0, or -1 if the stream conflicts with the
 * streams that feed @evd.  The caller holds ia->feed_lock.
 */
int udat_evd_feed(struct udat_evd *evd, enum udat_feed kind)
{
	int ret = 0;

	if (!evd)
		return 0;
	du_lock(&evd->lock);
	if (feed_conflict(evd, kind))
		ret = -1;
	else
		__atomic_fetch_add(&evd->feeds[kind], 1, __ATOMIC_RELAXED);
	du_unlock(&evd->lock);
	return ret;
}

/* Take ia->feed_lock and call udat_evd_feed().  For objects that feed only one EVD. */
int udat_evd_feed_alone(struct udat_evd *evd, enum udat_feed kind)
{
	int ret;

	pthread_mutex_lock(&evd->obj.ia->feed_lock);
	ret = udat_evd_feed(evd, kind);
	pthread_mutex_unlock(&evd->obj.ia->feed_lock);
	return ret;
}

void udat_evd_unfeed(struct udat_evd *evd, enum udat_feed kind)
{
	/* A close of the IA may free an EVD before the objects that feed the EVD. */
	if (!evd || !udat_evd(evd))
		return;
	du_lock(&evd->lock);
	__atomic_fetch_sub(&evd->feeds[kind], 1, __ATOMIC_RELAXED);
	du_unlock(&evd->lock);
}
