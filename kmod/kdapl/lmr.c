// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* LMRs of kernel consumers. */
#include <linux/slab.h>

#include "core/dat.h"
#include "core/mem/lmr.h"
#include "kdapl/kdapl.h"
#include "kdapl/region.h"

#define OPTIMIZE_ALL	(DAT_MEM_OPTIMIZE_IA | DAT_MEM_OPTIMIZE_MIN_EXPOSURE |	\
			 DAT_MEM_OPTIMIZE_EXACT_EXPOSURE)
#define EXPOSURE	(DAT_MEM_OPTIMIZE_MIN_EXPOSURE | DAT_MEM_OPTIMIZE_EXACT_EXPOSURE)

static DAT_RETURN klmr_make(struct dat_pz *pz, const struct kdat_region *r, struct dat_kmem *mem,
			    u64 start, struct dat_lmr **out)
{
	struct kdat_lmr *klmr = kzalloc(sizeof(*klmr), GFP_KERNEL);
	struct dat_lmr *lmr;

	if (!klmr) {
		dat_kmem_free(mem, pz->obj.ia->dev);
		return kdat_error(-ENOMEM);
	}
	mutex_init(&klmr->lock);
	klmr->mem_type = r->type;
	klmr->region = r->memory;
	klmr->length = r->length;
	lmr = dat_lmr_create_kmem(pz, mem, start, r->length, r->priv, (uintptr_t)klmr);
	if (IS_ERR(lmr)) {
		kfree(klmr);
		return kdat_mem_error(PTR_ERR(lmr));
	}
	*out = lmr;
	return DAT_SUCCESS;
}

static DAT_RETURN create_new(struct dat_pz *pz, struct kdat_region *r, struct dat_lmr **out)
{
	struct dat_kmem *mem;
	u64 start = 0;

	mem = kdat_region_mem(pz->obj.ia->dev, r, &start);
	return IS_ERR(mem) ? kdat_mem_error(PTR_ERR(mem)) : klmr_make(pz, r, mem, start, out);
}

static DAT_RETURN create_clone(struct dat_pz *pz, struct kdat_region *r, struct dat_lmr *of,
			       struct dat_lmr **out)
{
	struct dat_kmem *mem;

	/* A request may invalidate an LMR of dat_lmr_allocate() at any time. */
	if (of->fmr)
		return KDAT_ARG(3);
	/* Only the reserved LMR has no memory.  (It is published before ia->reserved is set.) */
	if (!of->mem)
		return KDAT_RESERVED_LMR;
	r->length = of->length;
	mem = dat_kmem_clone(of->mem);
	return IS_ERR(mem) ? kdat_mem_error(PTR_ERR(mem)) : klmr_make(pz, r, mem, of->start, out);
}

/* Registers the memory of another LMR.  dat_obj_use() prevents a free of that LMR meanwhile. */
static DAT_RETURN create_of_lmr(struct dat_pz *pz, struct kdat_region *r, struct dat_lmr **out)
{
	struct dat_lmr *of = kdat_get_in(pz->obj.ia, r->memory.for_lmr_handle,
					 DAT_HANDLE_TYPE_LMR);
	DAT_RETURN rc = KDAT_BAD(LMR);

	if (IS_ERR(of))
		return rc;
	if (!dat_obj_use(&of->obj)) {
		rc = create_clone(pz, r, of, out);
		dat_obj_unuse(&of->obj);
	}
	dat_obj_put(&of->obj);
	return rc;
}

static DAT_RETURN klmr_check(const struct kdat_region *r, DAT_VA_TYPE va_type,
			     DAT_MEM_OPTIMIZE_FLAGS mem_opt, const DAT_LMR_HANDLE *lmr)
{
	if (!kdat_mem_kind(r->type))
		return kdat_unknown_kind(r->type);
	if (r->type != DAT_MEM_TYPE_LMR && (!r->length || r->length > U32_MAX))
		return KDAT_ERR(DAT_LENGTH_ERROR, DAT_NO_SUBTYPE);
	if (r->priv & ~DAT_MEM_PRIV_ALL_FLAG)
		return KDAT_ARG(6);
	if (mem_opt & ~OPTIMIZE_ALL)
		return KDAT_ARG(8);
	return lmr ? kdat_va_type_check(va_type, KDAT_ARG(7)) : KDAT_ARG(9);
}

static DAT_RETURN kcreate(struct dat_ia *ia, DAT_PZ_HANDLE pz_handle, struct kdat_region *r,
			  struct dat_lmr **out)
{
	struct dat_pz *pz = kdat_get_in(ia, pz_handle, DAT_HANDLE_TYPE_PZ);
	DAT_RETURN rc;

	if (IS_ERR(pz))
		return KDAT_BAD(PZ);
	if (r->type == DAT_MEM_TYPE_LMR)
		rc = create_of_lmr(pz, r, out);
	else
		rc = create_new(pz, r, out);
	dat_obj_put(&pz->obj);
	return rc;
}

DAT_RETURN kdat_lmr_kcreate(DAT_IA_HANDLE ia_handle, DAT_MEM_TYPE mem_type,
			    DAT_REGION_DESCRIPTION region_description, DAT_VLEN length,
			    DAT_PZ_HANDLE pz_handle, DAT_MEM_PRIV_FLAGS privileges,
			    DAT_VA_TYPE va_type, DAT_MEM_OPTIMIZE_FLAGS mem_opt,
			    DAT_LMR_HANDLE *lmr_handle, DAT_LMR_CONTEXT *lmr_context,
			    DAT_RMR_CONTEXT *rmr_context, DAT_VLEN *registered_length,
			    DAT_VADDR *registered_address)
{
	struct kdat_region r = {
		.type = mem_type, .memory = region_description, .length = length,
		.priv = privileges,
	};
	struct kdat_ia *kia;
	struct dat_lmr *lmr;
	DAT_RETURN rc;

	rc = klmr_check(&r, va_type, mem_opt, lmr_handle);
	if (rc != DAT_SUCCESS)
		return rc;
	kia = kdat_ia_get(ia_handle);
	if (IS_ERR(kia))
		return kdat_lookup_error(PTR_ERR(kia), KDAT_BAD(IA));
	rc = kcreate(kia->ia, pz_handle, &r, &lmr);
	if (rc == DAT_SUCCESS) {
		*lmr_handle = kdat_handle(&lmr->obj);
		if (lmr_context)
			*lmr_context = lmr->context;
		if (rmr_context)
			*rmr_context = lmr->rkey;
		if (registered_length)
			*registered_length = lmr->length;
		if (registered_address)
			*registered_address = lmr->start;
		dat_obj_put(&lmr->obj);
	}
	kdat_ia_done(kia);
	return rc;
}
EXPORT_SYMBOL_DAT(kdat_lmr_kcreate);

DAT_RETURN kdat_ia_memtype_hint(DAT_IA_HANDLE ia_handle, DAT_MEM_TYPE mem_type,
				DAT_VLEN length, DAT_MEM_OPTIMIZE_FLAGS mem_opt,
				DAT_VLEN *preferred_length, DAT_VADDR *preferred_alignment)
{
	const struct dat_limits *limits;
	struct kdat_ia *kia;
	u64 most;

	if (!kdat_mem_kind(mem_type))
		return kdat_unknown_kind(mem_type);
	if (!length)
		return KDAT_ARG(3);
	if (mem_opt & ~OPTIMIZE_ALL)
		return KDAT_ARG(4);
	if (!preferred_length)
		return KDAT_ARG(5);
	if (!preferred_alignment)
		return KDAT_ARG(6);
	kia = kdat_ia_get(ia_handle);
	if (IS_ERR(kia))
		return kdat_lookup_error(PTR_ERR(kia), KDAT_BAD(IA));
	/* In the worst case, no two pages are contiguous, so each page takes an entry of the MR. */
	limits = &kia->ia->dev->limits;
	most = (u64)max(limits->fast_reg_pages, 1U) * PAGE_SIZE;
	most = min3(most, limits->max_mr_size, (u64)U32_MAX);
	kdat_ia_done(kia);
	/* A registration covers the exact bytes, so page alignment only saves entries. */
	*preferred_alignment = mem_opt & EXPOSURE ? 1 : PAGE_SIZE;
	*preferred_length = min(mem_opt & EXPOSURE ? length : PAGE_ALIGN(min(length, most)), most);
	return DAT_SUCCESS;
}
EXPORT_SYMBOL_DAT(kdat_ia_memtype_hint);

/* Creates the reserved LMR.  Frees the LMR if another thread has set ia->reserved meanwhile. */
static int ia_reserve(struct dat_ia *ia)
{
	struct kdat_lmr *klmr = kzalloc(sizeof(*klmr), GFP_KERNEL);
	struct dat_lmr *lmr;

	if (!klmr)
		return -ENOMEM;
	mutex_init(&klmr->lock);
	klmr->mem_type = DAT_MEM_TYPE_BYPASS;
	klmr->length = U64_MAX;
	lmr = dat_lmr_create_reserved(ia, (uintptr_t)klmr);
	if (IS_ERR(lmr)) {
		kfree(klmr);
		return PTR_ERR(lmr);
	}
	/* ia->reserved needs no reference, because ia->objs has a reference until the close. */
	if (cmpxchg(&ia->reserved, NULL, lmr))
		dat_obj_free(&lmr->obj);
	dat_obj_put(&lmr->obj);
	return 0;
}

DAT_RETURN kdat_ia_reserved_lmr(DAT_IA_HANDLE ia_handle, DAT_LMR_HANDLE *lmr,
				DAT_LMR_CONTEXT *lmr_context)
{
	struct kdat_ia *kia;
	struct dat_lmr *reserved;
	int ret = 0;

	if (!lmr)
		return KDAT_ARG(2);
	if (!lmr_context)
		return KDAT_ARG(3);
	kia = kdat_ia_get(ia_handle);
	if (IS_ERR(kia))
		return kdat_lookup_error(PTR_ERR(kia), KDAT_BAD(IA));
	if (!READ_ONCE(kia->ia->reserved))
		ret = ia_reserve(kia->ia);
	if (!ret) {
		reserved = READ_ONCE(kia->ia->reserved);
		*lmr = kdat_handle(&reserved->obj);
		*lmr_context = reserved->context;
	}
	kdat_ia_done(kia);
	return ret ? kdat_error(ret) : DAT_SUCCESS;
}
EXPORT_SYMBOL_DAT(kdat_ia_reserved_lmr);

static void fill_memory(struct dat_lmr *lmr, DAT_LMR_PARAM *param)
{
	struct kdat_lmr *klmr = kdat_lmr_of(lmr);

	lockdep_assert_held(&klmr->lock);
	param->mem_type = klmr->mem_type;
	param->region_desc = klmr->region;
	param->length = klmr->length;
	param->mem_priv = lmr->priv;
	param->lmr_context = lmr->context;
	param->rmr_context = lmr->rkey;
	param->registered_size = lmr->length;
	param->registered_address = lmr->start;
}

static void fill_param(struct dat_lmr *lmr, DAT_LMR_PARAM *param)
{
	bool bound;

	memset(param, 0, sizeof(*param));
	param->ia_handle = kdat_ia_handle(lmr->obj.ia);
	param->pz_handle = KDAT_HANDLE(READ_ONCE(lmr->pz));
	param->va_type = DAT_VA_TYPE_VA;
	param->lmr_state.fmr_support = lmr->fmr ? DAT_TRUE : DAT_FALSE;
	/*
	 * An invalidation may unbind an LMR of dat_lmr_allocate() at any time.  lmr->lock orders
	 * this against the invalidation; the mutex that the caller holds does not.
	 */
	spin_lock_bh(&lmr->lock);
	bound = !lmr->fmr || lmr->mem;
	if (bound)
		fill_memory(lmr, param);
	spin_unlock_bh(&lmr->lock);
	param->lmr_state.bound = bound ? DAT_TRUE : DAT_FALSE;
}

DAT_RETURN kdat_lmr_query(DAT_LMR_HANDLE lmr_handle, DAT_LMR_PARAM_MASK lmr_param_mask,
			  DAT_LMR_PARAM *lmr_param)
{
	struct dat_lmr *lmr;

	if (lmr_param_mask & ~DAT_LMR_FIELD_ALL)
		return KDAT_ARG(2);
	if (!lmr_param)
		return KDAT_ARG(3);
	lmr = kdat_get(lmr_handle, DAT_HANDLE_TYPE_LMR);
	if (IS_ERR(lmr))
		return kdat_lookup_error(PTR_ERR(lmr), KDAT_BAD(LMR));
	mutex_lock(&kdat_lmr_of(lmr)->lock);
	fill_param(lmr, lmr_param);
	mutex_unlock(&kdat_lmr_of(lmr)->lock);
	kdat_done(&lmr->obj);
	return DAT_SUCCESS;
}
EXPORT_SYMBOL_DAT(kdat_lmr_query);

DAT_RETURN kdat_lmr_free(DAT_LMR_HANDLE lmr_handle)
{
	struct dat_lmr *lmr = kdat_get_gone(lmr_handle, DAT_HANDLE_TYPE_LMR);
	bool reserved;

	if (IS_ERR(lmr))
		return kdat_lookup_error(PTR_ERR(lmr), KDAT_BAD(LMR));
	reserved = lmr == READ_ONCE(lmr->obj.ia->reserved);
	kdat_done(&lmr->obj);
	if (reserved)
		return KDAT_RESERVED_LMR;
	return kdat_free(lmr_handle, DAT_HANDLE_TYPE_LMR, KDAT_BAD(LMR),
			 KDAT_ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_LMR_IN_USE));
}
EXPORT_SYMBOL_DAT(kdat_lmr_free);

static DAT_RETURN lmr_sync(struct dat_ia *ia, const DAT_LMR_TRIPLET *seg, u64 n, bool for_cpu)
{
	struct dat_sge sge;
	u64 i;

	for (i = 0; i < n; i++) {
		if (!seg[i].segment_length)
			continue;
		sge = (struct dat_sge) {
			.addr = seg[i].virtual_address, .lmr = seg[i].lmr_context,
			.len = seg[i].segment_length,
		};
		if (dat_lmr_sync(ia, &sge, for_cpu))
			return KDAT_ARG(2);
	}
	return DAT_SUCCESS;
}

/*
 * Syncs segments under RCU, without a reference to the IA, because kdat_ia_close() waits for RCU
 * readers before it shuts the IA down.  A removal of the device does not wait for RCU readers, but
 * takes lmr->lock before the memory is unmapped.
 */
static DAT_RETURN ia_sync(DAT_IA_HANDLE ia_handle, const DAT_LMR_TRIPLET *seg, u64 n,
			  bool for_cpu)
{
	struct kdat_ia *kia;
	DAT_RETURN rc;

	if (n && !seg)
		return KDAT_ARG(2);
	if (kdat_cant_lock())
		return KDAT_CONTEXT;
	rcu_read_lock();
	kia = kdat_ia_find(ia_handle);
	rc = kia ? lmr_sync(kia->ia, seg, n, for_cpu) : KDAT_BAD(IA);
	rcu_read_unlock();
	return rc;
}

DAT_RETURN kdat_lmr_sync_rdma_read(DAT_IA_HANDLE ia_handle,
				   const DAT_LMR_TRIPLET *local_segments,
				   DAT_VLEN num_segments)
{
	return ia_sync(ia_handle, local_segments, num_segments, false);
}
EXPORT_SYMBOL_DAT(kdat_lmr_sync_rdma_read);

DAT_RETURN kdat_lmr_sync_rdma_write(DAT_IA_HANDLE ia_handle,
				    const DAT_LMR_TRIPLET *local_segments,
				    DAT_VLEN num_segments)
{
	return ia_sync(ia_handle, local_segments, num_segments, true);
}
EXPORT_SYMBOL_DAT(kdat_lmr_sync_rdma_write);
