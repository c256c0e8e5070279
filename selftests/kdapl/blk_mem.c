// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* Two ways to give the server access to the pages of a request. */
#include <linux/bvec.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "blk.h"
#include "blk_compat.h"

/*
 * ---- Bounce memory: registered once; the driver copies data between it and the pages ----
 *
 * The server may access bounce memory at any time.  A write at the wrong time is harmless: it
 * changes only data of a READ, which the server provides anyway.
 */

/* Register each part by itself: a single LMR would have more pages than adapters support. */
static int bounce_setup_io(struct datblk *dev, struct datblk_io *io)
{
	return datblk_register(dev, io->bounce, dev->max_bytes, DAT_MEM_PRIV_LOCAL_WRITE_FLAG |
			       DAT_MEM_PRIV_REMOTE_READ_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG,
			       &io->bounce_context, &io->bounce_rkey, &io->bounce_addr);
}

static int bounce_setup(struct datblk *dev)
{
	int err = 0;
	u32 i;

	dev->bounce = vzalloc((size_t)dev->depth * dev->max_bytes);
	if (!dev->bounce)
		return -ENOMEM;
	for (i = 0; !err && i < dev->depth; i++) {
		dev->ios[i].bounce = dev->bounce + (size_t)i * dev->max_bytes;
		err = bounce_setup_io(dev, &dev->ios[i]);
	}
	return err;
}

static void bounce_cleanup(struct datblk *dev)
{
	vfree(dev->bounce);
	dev->bounce = NULL;
}

static void bounce_limit(struct datblk *dev, struct queue_limits *lim)
{
	lim->max_segments = USHRT_MAX;
}

static blk_status_t bounce_map(struct datblk_io *io)
{
	struct req_iterator iter;
	void *to = io->bounce;
	struct bio_vec bv;

	io->addr = io->bounce_addr;
	io->rkey = io->bounce_rkey;
	if (io->op != DATBLK_WRITE)
		return BLK_STS_OK;
	rq_for_each_segment(bv, io->rq, iter) {
		memcpy_from_bvec(to, &bv);
		to += bv.bv_len;
	}
	datblk_sync_out(io->dev, io->bounce, io->length, io->bounce_context);
	return BLK_STS_OK;
}

static void bounce_revoke(struct datblk_io *io)
{
}

static void bounce_finish(struct datblk_io *io)
{
	const void *from = io->bounce;
	struct req_iterator iter;
	struct bio_vec bv;

	if (io->op != DATBLK_READ)
		return;
	datblk_sync_in(io->dev, from, io->length, io->bounce_context);
	rq_for_each_segment(bv, io->rq, iter) {
		memcpy_to_bvec(&bv, from);
		from += bv.bv_len;
	}
}

static const struct datblk_mem_ops bounce_ops = {
	.name		= "bounce",
	.setup		= bounce_setup,
	.cleanup	= bounce_cleanup,
	.limit		= bounce_limit,
	.map		= bounce_map,
	.invalidate	= datblk_done,
	.revoke		= bounce_revoke,
	.finish		= bounce_finish,
};

/* ---- In place: each request registers its own pages ---- */

/* A request may use only a part of its first and of its last page, so it may need one page more. */
static u32 max_pages(const struct datblk *dev)
{
	return DIV_ROUND_UP(dev->max_bytes, PAGE_SIZE) + 1;
}

static int place_setup(struct datblk *dev)
{
	u32 pages = max_pages(dev), i;
	DAT_RETURN rc = DAT_SUCCESS;

	dev->sg = kvcalloc((size_t)dev->depth * pages, sizeof(*dev->sg), GFP_KERNEL);
	if (!dev->sg)
		return -ENOMEM;
	for (i = 0; rc == DAT_SUCCESS && i < dev->depth; i++) {
		dev->ios[i].sg = dev->sg + (size_t)i * pages;
		rc = dat_lmr_allocate(dev->ia, dev->pz, pages, DAT_LMR_SCOPE_PZ,
				      &dev->ios[i].lmr);
	}
	return datblk_errno(rc);
}

static void place_cleanup(struct datblk *dev)
{
	kvfree(dev->sg);
	dev->sg = NULL;
}

static void place_limit(struct datblk *dev, struct queue_limits *lim)
{
	lim->max_segments = max_pages(dev);
	/*
	 * Each segment but the first must begin at a page boundary, because an LMR cannot have
	 * gaps.
	 */
	lim->virt_boundary_mask = PAGE_SIZE - 1;
}

/* A shortage of resources in the DMA layer or the driver may pass.  Any other error is final. */
static blk_status_t place_error(DAT_RETURN rc)
{
	return DAT_GET_TYPE(rc) == DAT_INSUFFICIENT_RESOURCES ? BLK_STS_RESOURCE : BLK_STS_IOERR;
}

static blk_status_t place_map(struct datblk_io *io)
{
	DAT_MEM_PRIV_FLAGS priv = io->op == DATBLK_READ ?
		DAT_MEM_PRIV_LOCAL_WRITE_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG :
		DAT_MEM_PRIV_REMOTE_READ_FLAG;
	DAT_PLATFORM_MEMORY mem = { .sg = io->sg };
	DAT_REGION_DESCRIPTION region = { .for_platform = &mem };
	u32 pages = max_pages(io->dev);
	DAT_RETURN rc;

	sg_init_table(io->sg, pages);
	mem.nents = datblk_map_sg(io->rq, io->sg);
	io->addr = sg_phys(io->sg);
	/*
	 * Suppress the completion of a successful registration.  A failed registration ends the
	 * connection.
	 */
	rc = dat_lmr_fmr(io->lmr, DAT_MEM_TYPE_PLATFORM, region, pages, priv, DAT_VA_TYPE_VA,
			 io->dev->ep, datblk_invalidate_cookie(io), DAT_COMPLETION_SUPPRESS_FLAG,
			 NULL, &io->rkey);
	return rc == DAT_SUCCESS ? BLK_STS_OK : place_error(rc);
}

/* End the server's access.  The request completes when the invalidation has completed. */
static void place_invalidate(struct datblk_io *io)
{
	DAT_RETURN rc;

	rc = dat_lmr_invalidate(io->lmr, io->dev->ep, datblk_invalidate_cookie(io),
				DAT_COMPLETION_DEFAULT_FLAG);
	if (rc != DAT_SUCCESS)
		datblk_fail(io->dev, "a registration can't be ended");
}

/*
 * After the EP has been freed, an invalidation cannot be posted, but freeing the LMR has the same
 * effect.
 */
static void place_revoke(struct datblk_io *io)
{
	dat_lmr_free(io->lmr);
}

static void place_finish(struct datblk_io *io)
{
}

static const struct datblk_mem_ops place_ops = {
	.name		= "in-place",
	.blocking	= true,
	.setup		= place_setup,
	.cleanup	= place_cleanup,
	.limit		= place_limit,
	.map		= place_map,
	.invalidate	= place_invalidate,
	.revoke		= place_revoke,
	.finish		= place_finish,
};

/* ---- Choice of the way ---- */

/**
 * datblk_mem_setup() - choose a way to give access to pages and prepare it
 * @dev: device with IA, PZ and ios, not connected
 *
 * Context: process.
 * Return: 0 or a negative errno.
 */
int datblk_mem_setup(struct datblk *dev)
{
	dev->mem = datblk_bounce ? &bounce_ops : &place_ops;
	return dev->mem->setup(dev);
}
