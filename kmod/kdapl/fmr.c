// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* Fast memory regions (FMRs), which are LMRs whose memory is bound and invalidated by requests. */
#include <linux/slab.h>

#include "core/dat.h"
#include "core/ep/ep.h"
#include "core/ep/queue.h"
#include "core/mem/lmr.h"
#include "kdapl/kdapl.h"
#include "kdapl/region.h"

#define FMR_FLAGS	(DAT_COMPLETION_SUPPRESS_FLAG | DAT_COMPLETION_UNSIGNALLED_FLAG | \
			 DAT_COMPLETION_BARRIER_FENCE_FLAG)
#define INV_FLAGS	(FMR_FLAGS | DAT_COMPLETION_LMR_INVALIDATE_FENCE_FLAG)

static DAT_RETURN allocate(struct dat_pz *pz, u32 max_pages, DAT_LMR_HANDLE *out)
{
	struct kdat_lmr *klmr = kzalloc(sizeof(*klmr), GFP_KERNEL);
	struct dat_lmr *lmr;

	if (!klmr)
		return kdat_error(-ENOMEM);
	mutex_init(&klmr->lock);
	lmr = dat_lmr_create_fmr(pz, max_pages, (uintptr_t)klmr);
	if (IS_ERR(lmr)) {
		kfree(klmr);
		return kdat_mem_error(PTR_ERR(lmr));
	}
	*out = kdat_handle(&lmr->obj);
	dat_obj_put(&lmr->obj);
	return DAT_SUCCESS;
}

DAT_RETURN kdat_lmr_allocate(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle,
			     DAT_COUNT max_pages, DAT_LMR_SCOPE scope,
			     DAT_LMR_HANDLE *lmr_handle)
{
	struct kdat_ia *kia;
	struct dat_pz *pz;
	DAT_RETURN rc;

	if (max_pages <= 0)
		return KDAT_ARG(3);
	if (scope == DAT_LMR_SCOPE_EP)
		return KDAT_NOT_SUPPORTED;
	if (scope != DAT_LMR_SCOPE_PZ && scope != DAT_LMR_SCOPE_ANY)
		return KDAT_ARG(4);
	if (!lmr_handle)
		return KDAT_ARG(5);
	kia = kdat_ia_get(ia_handle);
	if (IS_ERR(kia))
		return kdat_lookup_error(PTR_ERR(kia), KDAT_BAD(IA));
	pz = kdat_get_in(kia->ia, pz_handle, DAT_HANDLE_TYPE_PZ);
	if (IS_ERR(pz)) {
		rc = KDAT_BAD(PZ);
	} else {
		rc = allocate(pz, max_pages, lmr_handle);
		dat_obj_put(&pz->obj);
	}
	kdat_ia_done(kia);
	return rc;
}
EXPORT_SYMBOL_DAT(kdat_lmr_allocate);

/* Checks that the LMR comes from dat_lmr_allocate(). */
static DAT_RETURN fmr_check(const struct dat_lmr *lmr)
{
	if (lmr == READ_ONCE(lmr->obj.ia->reserved))
		return KDAT_RESERVED_LMR;
	return lmr->fmr ? DAT_SUCCESS : KDAT_BAD(LMR);
}

static u64 sg_bytes(const struct scatterlist *sg, u32 n)
{
	u64 bytes = 0;
	u32 i;

	for (i = 0; i < n; i++)
		bytes += sg[i].length;
	return bytes;
}

/* Claims @lmr and sets the memory of @lmr to @r.  After an error, @lmr is not claimed. */
static DAT_RETURN fmr_bind(struct dat_lmr *lmr, const struct kdat_region *r)
{
	struct scatterlist *sg;
	u32 max;
	int n;

	sg = dat_fmr_claim(lmr, &max);
	if (sg == ERR_PTR(-EBUSY))
		return KDAT_ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_LMR_IN_USE);
	if (IS_ERR(sg))
		return kdat_mem_error(PTR_ERR(sg));
	n = r->length > U32_MAX ? -E2BIG :
	    kdat_mem_kind(r->type)->fill(&r->memory, r->length, sg, max);
	/* Some devices truncate a registration of more than U32_MAX bytes without an error. */
	if (n > 0 && sg_bytes(sg, n) > U32_MAX)
		n = -E2BIG;
	if (n > 0)
		n = dat_fmr_bind(lmr, n, page_to_phys(sg_page(sg)) + sg->offset,
				 sg_bytes(sg, n), r->priv);
	if (!n)
		return DAT_SUCCESS;
	dat_fmr_unclaim(lmr);
	return n == -E2BIG ? KDAT_ARG(4) : kdat_mem_error(n);
}

/* A request that binds or invalidates an LMR. */
struct fmr_request {
	struct dat_lmr		*lmr;
	DAT_LMR_HANDLE		handle;
	u32			allowed;	/* bits that @flags may have */
	DAT_RETURN		bad_flags;	/* error if @flags has other bits */
	u32			context;	/* lmr_context, result of a bind */
	u32			rkey;		/* rmr_context, result of a bind */
	u8			op;
	u32			flags;
	DAT_LMR_COOKIE		cookie;
};

static DAT_RETURN fmr_post(struct dat_ep *ep, struct fmr_request *f)
{
	u64 raddr = f->lmr->obj.id;

	lockdep_assert_held(&ep->lock);
	if (ep->obj.ia != f->lmr->obj.ia)
		return KDAT_BAD(EP);
	if (ep->pz != READ_ONCE(f->lmr->pz))
		return KDAT_ERR(DAT_PROTECTION_VIOLATION, DAT_NO_SUBTYPE);
	if (kdat_request_flags_bad(ep, f->flags, f->allowed))
		return f->bad_flags;
	if (f->flags & DAT_COMPLETION_LMR_INVALIDATE_FENCE_FLAG)
		raddr |= DAT_KOP_FENCE;
	kdat_fill_wr(ep, f->op, f->cookie.as_64, f->flags, raddr, 0);
	return kdat_post_wr(ep, 0);
}

/*
 * Posts a bind.  dat_fmr_queue() precedes the post, because the request may complete before the
 * post returns.  ep->lock is held.
 */
static DAT_RETURN kfmr_post(struct dat_ep *ep, void *arg)
{
	struct fmr_request *f = arg;
	DAT_RETURN rc;

	lockdep_assert_held(&ep->lock);
	dat_fmr_queue(f->lmr, ep);
	rc = fmr_post(ep, f);
	if (rc != DAT_SUCCESS)
		dat_fmr_unqueue(f->lmr);
	return rc;
}

static DAT_RETURN fmr(struct fmr_request *f, const struct kdat_region *region,
		      DAT_EP_HANDLE ep_handle)
{
	struct dat_lmr *lmr = f->lmr;
	struct kdat_lmr *klmr = kdat_lmr_of(lmr);
	DAT_RETURN rc;

	lockdep_assert_held(&klmr->lock);
	rc = fmr_bind(lmr, region);
	if (rc != DAT_SUCCESS)
		return rc;
	klmr->mem_type = region->type;
	klmr->region = region->memory;
	klmr->length = lmr->length;
	/* Read the keys first, because the request may complete at any time after the post. */
	f->context = lmr->context;
	f->rkey = lmr->rkey;
	rc = kdat_ep_call(ep_handle, kfmr_post, f);
	if (rc != DAT_SUCCESS)
		dat_fmr_unclaim(lmr);
	return rc;
}

static DAT_RETURN fmr_args(const struct kdat_region *r, DAT_VA_TYPE va_type)
{
	const struct kdat_mem_kind *kind = kdat_mem_kind(r->type);

	if (!kind)
		return kdat_unknown_kind(r->type);
	if (!kind->fill)
		return KDAT_NOT_SUPPORTED;
	if (!r->length)
		return KDAT_ARG(4);
	if (r->priv & ~DAT_MEM_PRIV_ALL_FLAG)
		return KDAT_ARG(5);
	return kdat_va_type_check(va_type, KDAT_ARG(6));
}

DAT_RETURN kdat_lmr_fmr(DAT_LMR_HANDLE lmr_handle, DAT_MEM_TYPE mem_type,
			DAT_REGION_DESCRIPTION region_description, DAT_VLEN num_pages,
			DAT_MEM_PRIV_FLAGS privileges, DAT_VA_TYPE va_type,
			DAT_EP_HANDLE ep_handle, DAT_LMR_COOKIE user_cookie,
			DAT_COMPLETION_FLAGS completion_flags, DAT_LMR_CONTEXT *lmr_context,
			DAT_RMR_CONTEXT *rmr_context)
{
	struct fmr_request f = {
		.allowed = FMR_FLAGS, .bad_flags = KDAT_ARG(9),
		.op = DAT_KOP_LMR_FMR, .flags = completion_flags, .cookie = user_cookie,
	};
	struct kdat_region region = {
		.type = mem_type, .memory = region_description, .length = num_pages,
		.priv = privileges,
	};
	struct dat_lmr *lmr;
	DAT_RETURN rc;

	rc = fmr_args(&region, va_type);
	if (rc != DAT_SUCCESS)
		return rc;
	lmr = kdat_get(lmr_handle, DAT_HANDLE_TYPE_LMR);
	if (IS_ERR(lmr))
		return kdat_lookup_error(PTR_ERR(lmr), KDAT_BAD(LMR));
	rc = fmr_check(lmr);
	if (rc == DAT_SUCCESS) {
		f.lmr = lmr;
		mutex_lock(&kdat_lmr_of(lmr)->lock);
		rc = fmr(&f, &region, ep_handle);
		mutex_unlock(&kdat_lmr_of(lmr)->lock);
	}
	kdat_done(&lmr->obj);
	if (rc == DAT_SUCCESS && lmr_context)
		*lmr_context = f.context;
	if (rc == DAT_SUCCESS && rmr_context)
		*rmr_context = f.rkey;
	return rc;
}
EXPORT_SYMBOL_DAT(kdat_lmr_fmr);

/* Posts an invalidation.  The caller is under RCU and holds ep->lock. */
static DAT_RETURN invalidate(struct dat_ep *ep, void *arg)
{
	struct fmr_request *f = arg;
	struct dat_obj *obj = kdat_find(f->handle, DAT_HANDLE_TYPE_LMR);
	struct dat_lmr *lmr;
	DAT_RETURN rc;
	int ret;

	lockdep_assert_held(&ep->lock);
	if (!obj || obj->ia != ep->obj.ia)
		return KDAT_BAD(LMR);
	lmr = to_dat_lmr(obj);
	rc = fmr_check(lmr);
	if (rc != DAT_SUCCESS)
		return rc;
	ret = dat_fmr_leave(lmr, ep);
	if (ret == -EINVAL)
		return KDAT_ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_LMR_FREE);
	if (ret == -EBUSY)
		return KDAT_ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_LMR_IN_USE);
	if (ret)
		return KDAT_BAD(LMR);
	f->lmr = lmr;
	rc = fmr_post(ep, f);
	if (rc != DAT_SUCCESS)
		dat_fmr_end(lmr, DAT_KOP_LMR_INVALIDATE, false, DAT_ST_FLUSHED);
	return rc;
}

DAT_RETURN kdat_lmr_invalidate(DAT_LMR_HANDLE lmr_handle, DAT_EP_HANDLE ep_handle,
			       DAT_LMR_COOKIE user_cookie,
			       DAT_COMPLETION_FLAGS completion_flags)
{
	struct fmr_request f = {
		.handle = lmr_handle, .allowed = INV_FLAGS, .bad_flags = KDAT_ARG(4),
		.op = DAT_KOP_LMR_INVALIDATE, .flags = completion_flags, .cookie = user_cookie,
	};

	return kdat_ep_call(ep_handle, invalidate, &f);
}
EXPORT_SYMBOL_DAT(kdat_lmr_invalidate);
