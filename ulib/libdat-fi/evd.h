/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Copyright (c) The dat authors */
/*
 * The EVDs of a CQ.  A CQ has one, until the queues of its endpoints need more events than an EVD
 * can hold.  fdat.h includes this behind <dat/udat.h>.
 */
#ifndef FDAT_EVD_H
#define FDAT_EVD_H

#include <stddef.h>
#include <stdint.h>

struct fdat_cq;
struct fdat_srx;

/**
 * struct fdat_share - an SRX whose buffers may complete in an EVD
 * @next: next one of the EVD
 * @srx: the shared receive context
 * @refs: number of EPs that connect the two
 */
struct fdat_share {
	struct fdat_share	*next;
	struct fdat_srx		*srx;
	unsigned int		refs;
};

/**
 * struct fdat_evd - an EVD of a CQ; all fields are protected by the lock of the CQ
 * @next: next EVD of the CQ, in a circle
 * @handle: the EVD; constant
 * @fd: its descriptor, which is in the epoll set of the CQ; constant
 * @qlen: its length
 * @reserved: number of events for which it needs room
 * @shares: shared receive contexts among @reserved
 */
struct fdat_evd {
	struct fdat_evd		*next;
	DAT_EVD_HANDLE		handle;
	int			fd;
	DAT_COUNT		qlen;
	uint64_t		reserved;
	struct fdat_share	*shares;
};

/**
 * fdat_evds_open - make the first EVD of a CQ
 * @cq: the CQ, whose descriptors are open
 *
 * Return: 0 or a negative error of libfabric.
 */
int fdat_evds_open(struct fdat_cq *cq);
/* Free all EVDs of a CQ.  After an error the CQ has the others. */
int fdat_evds_close(struct fdat_cq *cq);

/**
 * fdat_cq_reserve - reserve room for events
 * @cq: the CQ
 * @count: number of events
 * @evd: out: EVD with this room
 *
 * Return: 0 or a negative error of libfabric.
 */
int fdat_cq_reserve(struct fdat_cq *cq, size_t count, struct fdat_evd **evd);
void fdat_cq_unreserve(struct fdat_cq *cq, struct fdat_evd *evd, size_t count);

/**
 * fdat_cq_share - reserve room for the buffers of a shared receive context
 * @cq: the CQ
 * @srx: the context, which may have EPs with this CQ already
 * @evd: out: EVD with this room
 *
 * Return: 0 or a negative error of libfabric.
 */
int fdat_cq_share(struct fdat_cq *cq, struct fdat_srx *srx, struct fdat_evd **evd);
void fdat_cq_unshare(struct fdat_cq *cq, struct fdat_evd *evd, struct fdat_srx *srx);

#endif /* FDAT_EVD_H */
