// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * Remote memory regions of kernel consumers.  A bind call prepares a binding and posts a request.
 */
#include <linux/slab.h>

#include "core/dat.h"
#include "core/ep/ep.h"
#include "core/mem/lmr.h"
#include "core/mem/rmr.h"
#include "kdapl/kdapl.h"

#define BIND_FLAGS	(DAT_COMPLETION_SUPPRESS_FLAG | DAT_COMPLETION_UNSIGNALLED_FLAG | \
			 DAT_COMPLETION_BARRIER_FENCE_FLAG)

DAT_RETURN kdat_rmr_create(DAT_PZ_HANDLE pz_handle, DAT_RMR_HANDLE *rmr_handle)
{
	struct dat_pz *pz;
	struct dat_rmr *rmr;
	int ret;

	if (!rmr_handle)
		return KDAT_ARG(2);
	pz = kdat_get(pz_handle, DAT_HANDLE_TYPE_PZ);
	if (IS_ERR(pz))
		return kdat_lookup_error(PTR_ERR(pz), KDAT_BAD(PZ));
	/* kDAPL has no private data for an RMR, so user_data is 0. */
	rmr = dat_rmr_create(pz, 0);
	ret = PTR_ERR_OR_ZERO(rmr);
	if (!ret) {
		*rmr_handle = kdat_handle(&rmr->obj);
		dat_obj_put(&rmr->obj);
	}
	kdat_done(&pz->obj);
	return ret ? kdat_error(ret) : DAT_SUCCESS;
}
EXPORT_SYMBOL_DAT(kdat_rmr_create);

DAT_RETURN kdat_rmr_create_for_ep(DAT_PZ_HANDLE pz_handle, DAT_RMR_HANDLE *rmr_handle)
{
	struct dat_pz *pz;

	if (!rmr_handle)
		return KDAT_ARG(2);
	pz = kdat_get(pz_handle, DAT_HANDLE_TYPE_PZ);
	if (IS_ERR(pz))
		return kdat_lookup_error(PTR_ERR(pz), KDAT_BAD(PZ));
	kdat_done(&pz->obj);
	return KDAT_ERR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
}
EXPORT_SYMBOL_DAT(kdat_rmr_create_for_ep);

/*
 * Checks the flags and the zone before the binding is prepared.  dat_ep_modify() may change the
 * zone of the EP later, so dat_rmr_take() checks the zone again.
 */
static DAT_RETURN bind_check(struct dat_ep *ep, const struct dat_rmr *rmr, u32 flags)
{
	DAT_RETURN rc = DAT_SUCCESS;

	spin_lock_bh(&ep->lock);
	if (kdat_request_flags_bad(ep, flags, BIND_FLAGS))
		rc = KDAT_ARG(8);
	else if (ep->pz != rmr->pz)
		rc = KDAT_ERR(DAT_PROTECTION_VIOLATION, DAT_NO_SUBTYPE);
	spin_unlock_bh(&ep->lock);
	return rc;
}

static DAT_RETURN krmr_post(struct dat_ep *ep, struct dat_rmr *rmr, u32 ticket,
			    DAT_RMR_COOKIE cookie, u32 flags)
{
	DAT_RETURN rc = KDAT_BAD(EP);

	spin_lock_bh(&ep->lock);
	if (!ep->dead) {
		kdat_fill_wr(ep, DAT_OP_RMR_BIND, cookie.as_64, flags, rmr->obj.id, ticket);
		rc = kdat_post_wr(ep, 0);
	}
	spin_unlock_bh(&ep->lock);
	if (rc != DAT_SUCCESS)
		dat_rmr_forget(rmr, ticket);
	return rc;
}

/* Handles and request arguments of a bind call.  A call that unbinds does not use @lmr. */
struct bind_handles {
	DAT_LMR_HANDLE	lmr;
	DAT_EP_HANDLE	ep;
	DAT_RMR_COOKIE	cookie;
	u32		flags;
};

static DAT_RETURN krmr_bind(struct dat_rmr *rmr, const struct bind_handles *h,
			    struct dat_rmr_bind *arg)
{
	struct dat_ia *ia = rmr->obj.ia;
	struct dat_lmr *lmr = NULL;
	struct dat_ep *ep;
	DAT_RETURN rc;
	int ret;

	ep = kdat_get_in(ia, h->ep, DAT_HANDLE_TYPE_EP);
	if (IS_ERR(ep))
		return KDAT_BAD(EP);
	if (arg->length)
		lmr = kdat_get_in(ia, h->lmr, DAT_HANDLE_TYPE_LMR);
	rc = KDAT_BAD(LMR);
	if (IS_ERR(lmr))
		goto out_put_ep;
	rc = KDAT_ERR(DAT_RESERVED_LMR, DAT_NO_SUBTYPE);
	if (lmr && lmr == READ_ONCE(ia->reserved))
		goto out_put_lmr;
	rc = bind_check(ep, rmr, h->flags);
	if (rc != DAT_SUCCESS)
		goto out_put_lmr;
	ret = dat_rmr_bind(rmr, lmr, arg);
	rc = ret ? kdat_mem_error(ret) : krmr_post(ep, rmr, arg->ticket, h->cookie, h->flags);
out_put_lmr:
	dat_obj_put(lmr ? &lmr->obj : NULL);
out_put_ep:
	dat_obj_put(&ep->obj);
	return rc;
}

static DAT_RETURN bind_args(const DAT_LMR_TRIPLET *mem, u32 priv, DAT_VA_TYPE va_type,
			    const DAT_RMR_CONTEXT *out)
{
	if (!mem)
		return KDAT_ARG(3);
	if (priv & ~DAT_MEM_PRIV_ALL_FLAG)
		return KDAT_ARG(4);
	if (va_type == DAT_VA_TYPE_ZB)
		return KDAT_ERR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	if (va_type != DAT_VA_TYPE_VA)
		return KDAT_ARG(5);
	return out ? DAT_SUCCESS : KDAT_ARG(9);
}

DAT_RETURN kdat_rmr_bind(DAT_RMR_HANDLE rmr_handle, DAT_LMR_HANDLE lmr_handle,
			 const DAT_LMR_TRIPLET *lmr_triplet, DAT_MEM_PRIV_FLAGS mem_priv,
			 DAT_VA_TYPE va_type, DAT_EP_HANDLE ep_handle,
			 DAT_RMR_COOKIE user_cookie, DAT_COMPLETION_FLAGS completion_flags,
			 DAT_RMR_CONTEXT *rmr_context)
{
	struct bind_handles h = {
		.lmr = lmr_handle, .ep = ep_handle, .cookie = user_cookie,
		.flags = completion_flags,
	};
	struct dat_rmr_bind arg = {};
	struct dat_rmr *rmr;
	DAT_RETURN rc;

	rc = bind_args(lmr_triplet, mem_priv, va_type, rmr_context);
	if (rc != DAT_SUCCESS)
		return rc;
	arg.priv = mem_priv & (DAT_PRIV_REMOTE_READ | DAT_PRIV_REMOTE_WRITE);
	arg.addr = lmr_triplet->virtual_address;
	arg.length = lmr_triplet->segment_length;
	rmr = kdat_get(rmr_handle, DAT_HANDLE_TYPE_RMR);
	if (IS_ERR(rmr))
		return kdat_lookup_error(PTR_ERR(rmr), KDAT_BAD(RMR));
	rc = krmr_bind(rmr, &h, &arg);
	kdat_done(&rmr->obj);
	if (rc == DAT_SUCCESS)
		*rmr_context = arg.rmr_context;
	return rc;
}
EXPORT_SYMBOL_DAT(kdat_rmr_bind);

DAT_RETURN kdat_rmr_query(DAT_RMR_HANDLE rmr_handle, DAT_RMR_PARAM_MASK rmr_param_mask,
			  DAT_RMR_PARAM *rmr_param)
{
	struct dat_rmr_state state;
	struct dat_rmr *rmr;

	if (rmr_param_mask & ~DAT_RMR_FIELD_ALL)
		return KDAT_ARG(2);
	if (!rmr_param)
		return KDAT_ARG(3);
	rmr = kdat_get(rmr_handle, DAT_HANDLE_TYPE_RMR);
	if (IS_ERR(rmr))
		return kdat_lookup_error(PTR_ERR(rmr), KDAT_BAD(RMR));
	dat_rmr_query(rmr, &state);
	*rmr_param = (DAT_RMR_PARAM) {
		.ia_handle = kdat_ia_handle(rmr->obj.ia),
		.pz_handle = KDAT_HANDLE(rmr->pz),
		.lmr_triplet = {
			.virtual_address = state.addr, .segment_length = state.length,
			.lmr_context = state.context,
		},
		.mem_priv = state.priv,
		.rmr_context = state.rkey,
		.rmr_scope = DAT_RMR_SCOPE_PZ,
		.va_type = DAT_VA_TYPE_VA,
	};
	kdat_done(&rmr->obj);
	return DAT_SUCCESS;
}
EXPORT_SYMBOL_DAT(kdat_rmr_query);

DAT_RETURN kdat_rmr_free(DAT_RMR_HANDLE rmr_handle)
{
	/* An RMR is in use only during a concurrent call on the RMR. */
	return kdat_free(rmr_handle, DAT_HANDLE_TYPE_RMR, KDAT_BAD(RMR),
			 KDAT_ERR(DAT_INVALID_STATE, DAT_NO_SUBTYPE));
}
EXPORT_SYMBOL_DAT(kdat_rmr_free);
