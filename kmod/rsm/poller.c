// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* The poller of an open file of /dev/rsm, which polls the rings of all imports of the file. */
#include <linux/sched.h>

#include "rsm/ring.h"

static struct rsm_ctx *ctx_of(const struct dat_poller *p)
{
	return container_of(p, struct rsm_file, base.poller)->ctx;
}

static bool rings_poll(struct dat_poller *p)
{
	struct rsm_ctx *ctx = ctx_of(p);
	struct rsm_ring *ring;
	bool found = false;

	mutex_lock(&ctx->rings_lock);
	list_for_each_entry(ring, &ctx->rings, node) {
		found |= rsm_ring_poll(ring);
		cond_resched();
	}
	mutex_unlock(&ctx->rings_lock);
	return found;
}

static void rings_watch(struct dat_poller *p, bool on)
{
	struct rsm_ctx *ctx = ctx_of(p);
	struct rsm_ring *ring;

	WRITE_ONCE(ctx->watched, on);
	if (on)
		return;
	mutex_lock(&ctx->rings_lock);
	list_for_each_entry(ring, &ctx->rings, node) {
		rsm_ring_pump(ring);
		cond_resched();
	}
	mutex_unlock(&ctx->rings_lock);
}

static bool rings_gone(const struct dat_poller *p)
{
	return test_bit(0, &ctx_of(p)->ended);
}

const struct dat_poller_ops rsm_poller_ops = {
	.look	= rings_poll,
	.watch	= rings_watch,
	.gone	= rings_gone,
};
