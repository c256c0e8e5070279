// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * Bindings of RMRs.  A binding is a second key for a part of the memory of an LMR, which keeps the
 * memory pinned.  A request in the lane ends the key of the previous binding and puts the new key
 * into effect.
 */
#include <linux/mm.h>
#include <linux/slab.h>

#include "core/dat.h"
#include "core/ep/conn.h"
#include "core/mem/lmr.h"
#include "core/mem/rmr.h"
#include "lo/lo.h"

/*
 * Returns true if the address of kernel memory, and that by which peers know it, are at different
 * offsets of a page.  No device could bind such memory.
 */
static bool is_shifted(const struct dat_binding *b, const struct lo_mem *mem, u64 offset)
{
	u32 hint = 0;
	u64 n;

	return !mem->mm && ((uintptr_t)lo_mem_at(mem, offset, &hint, &n) ^ b->addr) & ~PAGE_MASK;
}

/* A binding of process memory has no use of the LMR yet, so the LMR may be freed meanwhile. */
static int bind_mem(struct dat_binding *b, struct lo_mem *mem, u64 offset)
{
	struct lo_mr *mr;
	int ret;

	if (is_shifted(b, mem, offset))
		return -EINVAL;
	mr = lo_mr_alloc();
	if (IS_ERR(mr))
		return PTR_ERR(mr);
	to_lo_binding(b)->mr = mr;
	mr->window = true;
	ret = lo_mr_set(mr, b->pz, mem, offset, b->addr, b->length, b->priv);
	if (ret)
		return ret;
	b->by_request = true;
	b->lkey = mr->next;
	b->rkey = mr->next;
	return 0;
}

int lo_bind_init(struct dat_binding *b)
{
	struct lo_mem *mem;
	u64 offset;
	int ret;

	mem = lo_lmr_mem(b->lmr, &offset);
	if (!mem)
		return -ENOENT;
	ret = bind_mem(b, mem, offset + (b->addr - b->lmr->start));
	lo_mem_put(mem);
	return ret;
}

void lo_bind_exit(struct dat_binding *b)
{
	lo_mr_free(to_lo_binding(b)->mr);
}

/* lo_bind_exit() keeps no registration. */
void lo_rmr_exit(struct dat_rmr *rmr)
{
}

/*
 * Appends the bind to the requests.  The lane reports it: to report it here would call this
 * function again for the next bind in the ring, and so on.
 */
int lo_bind_start(struct dat_conn *conn, struct dat_binding *b)
{
	lockdep_assert_held(&conn->ep->lock);
	b->live = b->lmr;
	lo_post_bind(conn, b->ends, b->rkey);
	return 1;
}
