// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* Public (PSP), reserved (RSP) and common (CSP) service points of kernel consumers. */
#include <linux/slab.h>
#include <net/ipv6.h>

#include "core/addr.h"
#include "core/dat.h"
#include "core/ep/ep.h"
#include "core/ep/psp.h"
#include "core/event/evd.h"
#include "kdapl/kdapl.h"

struct sp_args {
	struct kdat_sp	*sp;		/* private data; the caller frees @sp after an error */
	DAT_EVD_HANDLE	evd;		/* EVD for connection requests */
	const struct sockaddr_storage *addr; /* listening address; NULL: all of the IA */
	u64		qual;		/* connection qualifier; 0: choose a free qualifier */
	DAT_RETURN	in_use;		/* error if @qual is in use */
};

/*
 * Creates the listener, and sets *@handle and *@qual to the handle and the qualifier of the
 * listener.  The caller gets no reference to the listener.
 */
static DAT_RETURN sp_listen(struct dat_ia *ia, const struct sp_args *a, DAT_HANDLE *handle,
			    u64 *qual)
{
	struct dat_evd *evd = kdat_get_in(ia, a->evd, DAT_HANDLE_TYPE_EVD);
	struct dat_psp *psp;
	u32 flags = 0;

	if (a->sp->kind == DAT_HANDLE_TYPE_RSP)
		flags |= DAT_LISTEN_ONE_SHOT;
	if (a->sp->makes_ep)
		flags |= DAT_LISTEN_MAKES_EP;
	if (IS_ERR(evd))
		return KDAT_BAD(EVD_CR);
	psp = dat_psp_create(evd, a->addr, a->qual, flags, NULL, (uintptr_t)a->sp);
	dat_obj_put(&evd->obj);
	if (IS_ERR(psp))
		return kdat_listen_error(PTR_ERR(psp), a->in_use);
	*handle = kdat_handle(&psp->obj);
	*qual = psp->conn_qual;
	dat_obj_put(&psp->obj);
	return DAT_SUCCESS;
}

static struct kdat_sp *sp_alloc(DAT_HANDLE_TYPE kind)
{
	struct kdat_sp *sp = kzalloc(sizeof(*sp), GFP_KERNEL);

	if (sp)
		sp->kind = kind;
	return sp;
}

static DAT_RETURN psp_create(DAT_IA_HANDLE ia_handle, struct sp_args *a, DAT_PSP_FLAGS flags,
			     DAT_PSP_HANDLE *out, u64 *qual)
{
	struct kdat_ia *kia = kdat_ia_get(ia_handle);
	DAT_RETURN rc = kdat_error(-ENOMEM);

	if (IS_ERR(kia))
		return kdat_lookup_error(PTR_ERR(kia), KDAT_BAD(IA));
	a->sp = sp_alloc(DAT_HANDLE_TYPE_PSP);
	if (!a->sp)
		goto out_done;
	a->sp->makes_ep = flags == DAT_PSP_PROVIDER_FLAG;
	rc = sp_listen(kia->ia, a, out, qual);
	if (rc != DAT_SUCCESS)
		kfree(a->sp);
out_done:
	kdat_ia_done(kia);
	return rc;
}

static DAT_RETURN psp_check(DAT_PSP_FLAGS flags, const DAT_PSP_HANDLE *out)
{
	if (flags != DAT_PSP_CONSUMER_FLAG && flags != DAT_PSP_PROVIDER_FLAG)
		return KDAT_ARG(4);
	return out ? DAT_SUCCESS : KDAT_ARG(5);
}

DAT_RETURN kdat_psp_create(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL conn_qual,
			   DAT_EVD_HANDLE evd_handle, DAT_PSP_FLAGS psp_flags,
			   DAT_PSP_HANDLE *psp_handle)
{
	struct sp_args a = {
		.evd = evd_handle, .qual = conn_qual,
		.in_use = KDAT_ERR(DAT_CONN_QUAL_IN_USE, DAT_NO_SUBTYPE),
	};
	DAT_RETURN rc;
	u64 unused;

	if (!conn_qual)
		return KDAT_ARG(2);
	rc = psp_check(psp_flags, psp_handle);
	if (rc != DAT_SUCCESS)
		return rc;
	return psp_create(ia_handle, &a, psp_flags, psp_handle, &unused);
}
EXPORT_SYMBOL_DAT(kdat_psp_create);

DAT_RETURN kdat_psp_create_any(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL *conn_qual,
			       DAT_EVD_HANDLE evd_handle, DAT_PSP_FLAGS psp_flags,
			       DAT_PSP_HANDLE *psp_handle)
{
	struct sp_args a = {
		.evd = evd_handle,
		.in_use = KDAT_ERR(DAT_CONN_QUAL_UNAVAILABLE, DAT_NO_SUBTYPE),
	};
	DAT_RETURN rc;
	u64 qual;

	if (!conn_qual)
		return KDAT_ARG(2);
	rc = psp_check(psp_flags, psp_handle);
	if (rc != DAT_SUCCESS)
		return rc;
	rc = psp_create(ia_handle, &a, psp_flags, psp_handle, &qual);
	if (rc == DAT_SUCCESS)
		*conn_qual = qual;
	return rc;
}
EXPORT_SYMBOL_DAT(kdat_psp_create_any);

/* Returns the handle of the service point's EVD, or DAT_HANDLE_NULL after a shutdown. */
static DAT_EVD_HANDLE sp_evd(struct dat_psp *psp)
{
	DAT_EVD_HANDLE handle;

	mutex_lock(&psp->lock);
	handle = KDAT_HANDLE(psp->evd);
	mutex_unlock(&psp->lock);
	return handle;
}

DAT_RETURN kdat_psp_query(DAT_PSP_HANDLE psp_handle, DAT_PSP_PARAM_MASK psp_param_mask,
			  DAT_PSP_PARAM *psp_param)
{
	struct dat_psp *psp;

	if (psp_param_mask & ~DAT_PSP_FIELD_ALL)
		return KDAT_ARG(2);
	if (!psp_param)
		return KDAT_ARG(3);
	psp = kdat_get(psp_handle, DAT_HANDLE_TYPE_PSP);
	if (IS_ERR(psp))
		return kdat_lookup_error(PTR_ERR(psp), KDAT_BAD(PSP));
	psp_param->ia_handle = kdat_ia_handle(psp->obj.ia);
	psp_param->conn_qual = psp->conn_qual;
	psp_param->evd_handle = sp_evd(psp);
	psp_param->psp_flags = kdat_sp_of(psp)->makes_ep ? DAT_PSP_PROVIDER_FLAG :
							   DAT_PSP_CONSUMER_FLAG;
	kdat_done(&psp->obj);
	return DAT_SUCCESS;
}
EXPORT_SYMBOL_DAT(kdat_psp_query);

DAT_RETURN kdat_psp_free(DAT_PSP_HANDLE psp_handle)
{
	return kdat_free(psp_handle, DAT_HANDLE_TYPE_PSP, KDAT_BAD(PSP), KDAT_BAD(PSP));
}
EXPORT_SYMBOL_DAT(kdat_psp_free);

/* Releases the EP of an RSP, if the RSP has an EP that no connection request has taken. */
static void rsp_unreserve(struct kdat_sp *sp)
{
	struct dat_ep *ep = kdat_sp_take(sp);

	if (!ep)
		return;
	kdat_ep_reserve(ep, DAT_EP_STATE_RESERVED, DAT_EP_STATE_UNCONNECTED);
	dat_obj_unuse(&ep->obj);
}

static DAT_RETURN rsp_reserve(struct kdat_sp *sp, struct dat_ep *ep)
{
	DAT_EP_STATE state;

	/*
	 * The EP of a request must get no further use, or kdat_cr_unreserve() could not free the
	 * EP.  Such an EP cannot be reserved, so reserve @ep before dat_obj_use().
	 */
	state = kdat_ep_reserve(ep, DAT_EP_STATE_UNCONNECTED, DAT_EP_STATE_RESERVED);
	if (state != DAT_EP_STATE_UNCONNECTED)
		return kdat_state_error(state);
	if (dat_obj_use(&ep->obj))
		return KDAT_BAD(EP);
	sp->ep = ep;
	return DAT_SUCCESS;
}

/* Creates an RSP.  @ep: EP for the request, or NULL if kDAPL makes the EP for the request. */
static DAT_RETURN rsp_create(struct dat_ia *ia, struct dat_ep *ep, struct sp_args *a,
			     DAT_RSP_HANDLE *out)
{
	DAT_RETURN rc = DAT_SUCCESS;
	u64 unused;

	a->sp = sp_alloc(DAT_HANDLE_TYPE_RSP);
	if (!a->sp)
		return kdat_error(-ENOMEM);
	a->sp->makes_ep = !ep;
	if (ep)
		rc = rsp_reserve(a->sp, ep);
	if (rc == DAT_SUCCESS)
		rc = sp_listen(ia, a, out, &unused);
	if (rc != DAT_SUCCESS) {
		rsp_unreserve(a->sp);
		kfree(a->sp);
	}
	return rc;
}

DAT_RETURN kdat_rsp_create(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL conn_qual,
			   DAT_EP_HANDLE ep_handle, DAT_EVD_HANDLE evd_handle,
			   DAT_RSP_HANDLE *rsp_handle)
{
	struct sp_args a = {
		.evd = evd_handle, .qual = conn_qual,
		.in_use = KDAT_ERR(DAT_CONN_QUAL_IN_USE, DAT_NO_SUBTYPE),
	};
	struct dat_ep *ep = NULL;
	struct kdat_ia *kia;
	DAT_RETURN rc;

	if (!conn_qual)
		return KDAT_ARG(2);
	if (!rsp_handle)
		return KDAT_ARG(5);
	kia = kdat_ia_get(ia_handle);
	if (IS_ERR(kia))
		return kdat_lookup_error(PTR_ERR(kia), KDAT_BAD(IA));
	if (ep_handle != DAT_HANDLE_NULL)
		ep = kdat_get_in(kia->ia, ep_handle, DAT_HANDLE_TYPE_EP);
	if (IS_ERR(ep)) {
		rc = KDAT_BAD(EP);
	} else {
		rc = rsp_create(kia->ia, ep, &a, rsp_handle);
		if (ep)
			dat_obj_put(&ep->obj);
	}
	kdat_ia_done(kia);
	return rc;
}
EXPORT_SYMBOL_DAT(kdat_rsp_create);

/*
 * Returns the handle of the EP of an RSP, or DAT_HANDLE_NULL.  A request may take the EP at any
 * time.
 */
static DAT_EP_HANDLE rsp_ep(const struct kdat_sp *sp)
{
	struct dat_ep *ep;
	DAT_EP_HANDLE handle;

	rcu_read_lock();
	ep = READ_ONCE(sp->ep);
	handle = KDAT_HANDLE(ep);
	rcu_read_unlock();
	return handle;
}

DAT_RETURN kdat_rsp_query(DAT_RSP_HANDLE rsp_handle, DAT_RSP_PARAM_MASK rsp_param_mask,
			  DAT_RSP_PARAM *rsp_param)
{
	struct dat_psp *psp;

	if (rsp_param_mask & ~DAT_RSP_FIELD_ALL)
		return KDAT_ARG(2);
	if (!rsp_param)
		return KDAT_ARG(3);
	psp = kdat_get(rsp_handle, DAT_HANDLE_TYPE_RSP);
	if (IS_ERR(psp))
		return kdat_lookup_error(PTR_ERR(psp), KDAT_BAD(RSP));
	rsp_param->ia_handle = kdat_ia_handle(psp->obj.ia);
	rsp_param->conn_qual = psp->conn_qual;
	rsp_param->evd_handle = sp_evd(psp);
	rsp_param->ep_handle = rsp_ep(kdat_sp_of(psp));
	kdat_done(&psp->obj);
	return DAT_SUCCESS;
}
EXPORT_SYMBOL_DAT(kdat_rsp_query);

DAT_RETURN kdat_rsp_free(DAT_RSP_HANDLE rsp_handle)
{
	struct dat_psp *psp = kdat_get_gone(rsp_handle, DAT_HANDLE_TYPE_RSP);
	int ret;

	if (IS_ERR(psp))
		return kdat_lookup_error(PTR_ERR(psp), KDAT_BAD(RSP));
	ret = dat_obj_free(&psp->obj);
	if (!ret)
		rsp_unreserve(kdat_sp_of(psp));
	kdat_done(&psp->obj);
	return ret ? kdat_lookup_error(ret, KDAT_BAD(RSP)) : DAT_SUCCESS;
}
EXPORT_SYMBOL_DAT(kdat_rsp_free);

static bool addr_is_any(const struct sockaddr_storage *ss)
{
	if (ss->ss_family == AF_INET)
		return !((const struct sockaddr_in *)ss)->sin_addr.s_addr;
	return ipv6_addr_any(&((const struct sockaddr_in6 *)ss)->sin6_addr);
}

/* Checks that @addr, which is not the wildcard address, is an address that the IA uses. */
static DAT_RETURN csp_check_addr(struct dat_ia *ia, const struct sockaddr_storage *addr)
{
	struct sockaddr_storage ours;
	u32 nr = 0;

	if ((!ia->addr.ss_family || dat_addr_same(addr, &ia->addr)) &&
	    dat_dev_next_addr(ia, addr, &nr, &ours))
		return DAT_SUCCESS;
	return KDAT_ERR(DAT_INVALID_ADDRESS, DAT_INVALID_ADDRESS_UNREACHABLE);
}

static DAT_RETURN csp_make(struct dat_ia *ia, const DAT_COMM *comm,
			   const struct sockaddr_storage *addr, DAT_EVD_HANDLE evd,
			   DAT_CSP_HANDLE *out)
{
	struct sp_args a = {
		.evd = evd, .qual = dat_addr_port(addr),
		.in_use = KDAT_ERR(DAT_PORT_IN_USE, DAT_NO_SUBTYPE),
	};
	DAT_RETURN rc;
	u64 qual;

	if (!addr_is_any(addr)) {
		rc = csp_check_addr(ia, addr);
		if (rc != DAT_SUCCESS)
			return rc;
		a.addr = addr;
	}
	a.sp = sp_alloc(DAT_HANDLE_TYPE_CSP);
	if (!a.sp)
		return kdat_error(-ENOMEM);
	a.sp->comm = *comm;
	a.sp->addr = *addr;
	rc = sp_listen(ia, &a, out, &qual);
	if (rc != DAT_SUCCESS)
		kfree(a.sp);
	return rc;
}

DAT_RETURN kdat_csp_create(DAT_IA_HANDLE ia_handle, DAT_COMM *comm,
			   DAT_IA_ADDRESS_PTR ia_address, DAT_EVD_HANDLE evd_handle,
			   DAT_CSP_HANDLE *csp_handle)
{
	struct sockaddr_storage addr;
	struct kdat_ia *kia;
	DAT_RETURN rc;

	if (!comm)
		return KDAT_ARG(2);
	if (!ia_address)
		return KDAT_ARG(3);
	if (!csp_handle)
		return KDAT_ARG(5);
	if (!kdat_comm_good(comm) || comm->domain != ia_address->sa_family)
		return KDAT_ERR(DAT_COMM_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	rc = kdat_addr(&addr, ia_address);
	if (rc != DAT_SUCCESS)
		return rc;
	kia = kdat_ia_get(ia_handle);
	if (IS_ERR(kia))
		return kdat_lookup_error(PTR_ERR(kia), KDAT_BAD(IA));
	rc = csp_make(kia->ia, comm, &addr, evd_handle, csp_handle);
	kdat_ia_done(kia);
	return rc;
}
EXPORT_SYMBOL_DAT(kdat_csp_create);

DAT_RETURN kdat_csp_query(DAT_CSP_HANDLE csp_handle, DAT_CSP_PARAM_MASK csp_param_mask,
			  DAT_CSP_PARAM *csp_param)
{
	struct dat_psp *psp;
	struct kdat_sp *sp;

	if (csp_param_mask & ~DAT_CSP_FIELD_ALL)
		return KDAT_ARG(2);
	if (!csp_param)
		return KDAT_ARG(3);
	psp = kdat_get(csp_handle, DAT_HANDLE_TYPE_CSP);
	if (IS_ERR(psp))
		return kdat_lookup_error(PTR_ERR(psp), KDAT_BAD(CSP));
	sp = kdat_sp_of(psp);
	/* No lock is needed, because concurrent queries store the same port number. */
	dat_addr_set_port(&sp->addr, psp->port);
	csp_param->ia_handle = kdat_ia_handle(psp->obj.ia);
	csp_param->comm = &sp->comm;
	csp_param->address_ptr = (struct sockaddr *)&sp->addr;
	csp_param->evd_handle = sp_evd(psp);
	kdat_done(&psp->obj);
	return DAT_SUCCESS;
}
EXPORT_SYMBOL_DAT(kdat_csp_query);

DAT_RETURN kdat_csp_free(DAT_CSP_HANDLE csp_handle)
{
	return kdat_free(csp_handle, DAT_HANDLE_TYPE_CSP, KDAT_BAD(CSP), KDAT_BAD(CSP));
}
EXPORT_SYMBOL_DAT(kdat_csp_free);
