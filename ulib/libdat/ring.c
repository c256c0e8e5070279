// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/* Replacement of the ring of an EVD, an EP or an SRQ, in the steps of enum dat_ring_step. */
#include "libdat.h"

static int ring_step(struct udat_ring_change *c, uint32_t step)
{
	*c->step = step;
	return du_file_ioctl(&c->ia->file, c->cmd, c->arg);
}

int udat_ring_prepare(struct udat_ring_change *c)
{
	int ret = ring_step(c, DAT_RING_PREPARE);

	if (ret)
		return ret;
	ret = udat_span_map(&c->ia->mappings, c->ia->file.fd, c->at, c->writable, &c->span);
	if (ret)
		ring_step(c, DAT_RING_CANCEL);
	return ret;
}

int udat_ring_commit(struct udat_ring_change *c)
{
	return ring_step(c, DAT_RING_COMMIT);
}

void udat_ring_cancel(struct udat_ring_change *c)
{
	udat_span_unmap(&c->ia->mappings, &c->span);
	ring_step(c, DAT_RING_CANCEL);
}

int udat_ring_replace(struct udat_ring_change *c)
{
	int ret = udat_ring_prepare(c);

	if (ret)
		return ret;
	ret = udat_ring_commit(c);
	if (ret)
		udat_ring_cancel(c);
	return ret;
}
