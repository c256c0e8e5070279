// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* Connection requests to kernel consumers. */
#include "core/addr.h"
#include "core/dat.h"
#include "core/ep/conn.h"
#include "core/ep/ep.h"
#include "core/ep/psp.h"
#include "kdapl/kdapl.h"

/* Serializes the creation of EPs for requests; see cr->ep_made. */
static DEFINE_MUTEX(cr_make_lock);

/*
 * Ends the reservation of an EP that the caller has taken from cr->ep by xchg().  Gives the EP of
 * an RSP back to the consumer, or frees an EP that cr_make_ep() has made.  Context: may sleep;
 * ia->sem held, except in dat_cr_create(), whose caller keeps the IA from being closed.
 */
void kdat_cr_unreserve(struct dat_ep *ep)
{
	DAT_EP_STATE state;

	state = kdat_ep_reserve(ep, DAT_EP_STATE_PASSIVE_CONNECTION_PENDING,
				DAT_EP_STATE_UNCONNECTED);
	if (state != DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING) {
		dat_obj_unuse(&ep->obj);
		return;
	}
	kref_get(&ep->obj.ref);
	dat_obj_unuse(&ep->obj);
	/* dat_obj_free() fails only if the consumer frees the EP at the same time. */
	dat_obj_free(&ep->obj);
	dat_obj_put(&ep->obj);
}

/*
 * Ends the reservation of the EP if another thread is freeing the request, because the shutdown of
 * the request may have read cr->ep before the caller stored the EP there.
 *
 * The caller has stored cr->ep, and this function then calls dat_obj_dying().  The other thread
 * marks the request as dying, and then takes cr->ep in the shutdown.  So at least one of the two
 * threads sees what the other thread has written, and xchg() lets only one thread get the EP.
 */
static void cr_recheck(struct dat_cr *cr)
{
	struct dat_ep *ep;

	if (!dat_obj_dying(&cr->obj))
		return;
	ep = xchg(&cr->ep, NULL);
	if (ep)
		kdat_cr_unreserve(ep);
}

/*
 * Moves the reserved EP of an RSP to the request that arrived.  Either no thread can free the
 * request meanwhile, because no consumer has the handle yet, or the caller calls cr_recheck()
 * afterwards.  A shutdown by a removal of the device may miss the EP; the free of the request then
 * ends the reservation.  Context: any but hard interrupt.
 */
void kdat_cr_take_ep(struct dat_cr *cr)
{
	struct dat_obj *obj;
	struct dat_ep *ep;

	rcu_read_lock();
	obj = kdat_find((DAT_HANDLE)cr->obj.priv, DAT_HANDLE_TYPE_RSP);
	ep = obj ? kdat_sp_take(obj->priv) : NULL;
	if (ep) {
		kdat_ep_reserve(ep, DAT_EP_STATE_RESERVED,
				DAT_EP_STATE_PASSIVE_CONNECTION_PENDING);
		xchg(&cr->ep, ep);
	}
	rcu_read_unlock();
}

/*
 * Looks up a connection request by @get, which is kdat_get() or kdat_get_gone().  After a success
 * the caller must call kdat_done().  If the request is to an RSP and has no EP yet, moves the EP of
 * the RSP to the request.  kdat_event() may have failed to find the RSP, because an RSP listens
 * before its handle is published.
 */
static struct dat_cr *cr_get(DAT_HANDLE handle, void *(*get)(DAT_HANDLE, DAT_HANDLE_TYPE))
{
	struct dat_cr *cr = get(handle, DAT_HANDLE_TYPE_CR);

	if (IS_ERR(cr))
		return cr;
	kdat_cr_take_ep(cr);
	cr_recheck(cr);
	return cr;
}

/*
 * Makes the EP of a request to a service point with DAT_PSP_PROVIDER_FLAG, or to an RSP without an
 * EP.  kdat_cr_query() calls this function, so that a request costs no EP until the consumer
 * queries the request.  May sleep.
 */
static DAT_RETURN cr_make_ep(struct dat_cr *cr)
{
	struct dat_ep *ep;
	int ret = 0;

	/* smp_load_acquire() pairs with the smp_store_release() below. */
	if (!cr->makes_ep || smp_load_acquire(&cr->ep_made))
		return DAT_SUCCESS;
	mutex_lock(&cr_make_lock);
	if (!cr->ep_made) {
		ep = kdat_ep_tentative(cr->obj.ia);
		if (IS_ERR(ep)) {
			ret = PTR_ERR(ep);
		} else {
			xchg(&cr->ep, ep);
			/* A thread that sees the flag without the lock must also see the EP. */
			smp_store_release(&cr->ep_made, true);
		}
	}
	mutex_unlock(&cr_make_lock);
	cr_recheck(cr);
	return ret ? kdat_error(ret) : DAT_SUCCESS;
}

/*
 * Returns the handle of the EP that is reserved for the request, or DAT_HANDLE_NULL.  The caller
 * does not own the EP, because only a thread that takes cr->ep by xchg() owns the EP.
 */
static DAT_EP_HANDLE cr_ep(const struct dat_cr *cr)
{
	DAT_EP_HANDLE handle;
	struct dat_ep *ep;

	rcu_read_lock();
	ep = READ_ONCE(cr->ep);
	handle = KDAT_HANDLE(ep);
	rcu_read_unlock();
	return handle;
}

DAT_RETURN kdat_cr_query(DAT_CR_HANDLE cr_handle, DAT_CR_PARAM_MASK cr_param_mask,
			 DAT_CR_PARAM *cr_param)
{
	struct dat_cr *cr;
	DAT_RETURN rc;

	if (cr_param_mask & ~DAT_CR_FIELD_ALL)
		return KDAT_ARG(2);
	if (!cr_param)
		return KDAT_ARG(3);
	cr = cr_get(cr_handle, kdat_get);
	if (IS_ERR(cr))
		return kdat_lookup_error(PTR_ERR(cr), KDAT_BAD(CR));
	rc = cr_make_ep(cr);
	if (rc != DAT_SUCCESS)
		goto out_done;
	cr_param->remote_ia_address_ptr = (struct sockaddr *)&cr->remote;
	cr_param->remote_port_qual = dat_addr_port(&cr->remote);
	cr_param->private_data_size = cr->pd_len;
	cr_param->private_data = cr->pd_len ? cr->pd : NULL;
	cr_param->local_ep_handle = cr_ep(cr);
out_done:
	kdat_done(&cr->obj);
	return rc;
}
EXPORT_SYMBOL_DAT(kdat_cr_query);

int kdat_cr_place(DAT_CR_HANDLE cr_handle)
{
	struct dat_cr *cr = cr_get(cr_handle, kdat_get_gone);
	int place;

	if (IS_ERR(cr))
		return -1;
	place = cr->place;
	kdat_done(&cr->obj);
	return place;
}
EXPORT_SYMBOL_DAT_INTERNAL(kdat_cr_place);

/*
 * Frees a request, even if the device is gone.  Does nothing if a concurrent kdat_ia_close() has
 * already removed the request.
 */
static void cr_end(struct dat_cr *cr)
{
	struct dat_ia *ia = cr->obj.ia;

	dat_ia_lock(ia);
	if (xa_load(&ia->objs, cr->obj.id) == &cr->obj)
		dat_obj_free(&cr->obj);
	dat_ia_unlock(ia);
}

/*
 * Frees the request with the id @id, and the transport rejects the peer's request.  The event of
 * the request was never dequeued, so no consumer has the handle.  Does nothing if there is no such
 * request.  Context: may sleep; ia->sem held.
 */
void kdat_cr_drop(struct dat_ia *ia, u32 id)
{
	struct dat_cr *cr = dat_obj_get(ia, DAT_OBJ_CR, id);

	lockdep_assert_held(&ia->sem);
	if (IS_ERR(cr))
		return;
	dat_obj_free(&cr->obj);
	dat_obj_put(&cr->obj);
}

static DAT_RETURN accept_error(struct dat_ep *ep, int err)
{
	DAT_EP_STATE state;

	if (err != -EISCONN)
		return kdat_lookup_error(err, KDAT_BAD(CR));
	spin_lock_bh(&ep->lock);
	state = kdat_ep_state(ep);
	spin_unlock_bh(&ep->lock);
	return kdat_state_error(state);
}

static DAT_RETURN accept_check_ep(struct dat_ep *ep, DAT_EP_STATE want)
{
	DAT_RETURN rc = DAT_SUCCESS;

	spin_lock_bh(&ep->lock);
	if (!ep->pz || !ep->connect_evd)
		rc = KDAT_BAD(EP);
	else if (kdat_ep_state(ep) != want)
		rc = kdat_state_error(kdat_ep_state(ep));
	else
		/* The accepting side has no target address that kdat_ep_dup_connect() could use. */
		memset(&kdat_ep_of(ep)->target, 0, sizeof(kdat_ep_of(ep)->target));
	spin_unlock_bh(&ep->lock);
	return rc;
}

/*
 * Accepts a request with @ep, and frees the request after a success.  @stage: required state of
 * @ep, which is UNCONNECTED for an EP that the consumer passes, PASSIVE_CONNECTION_PENDING for the
 * reserved EP of an RSP, and TENTATIVE_CONNECTION_PENDING for the EP that cr_make_ep() has made.
 */
static DAT_RETURN cr_accept(struct dat_cr *cr, struct dat_ep *ep, DAT_EP_STATE stage,
			    const void *pd, u32 pd_len)
{
	DAT_RETURN rc = accept_check_ep(ep, stage);
	int ret;

	if (rc != DAT_SUCCESS)
		return rc;
	/* Reset the stage first, because another thread may use the EP after the accept. */
	kdat_ep_reserve(ep, stage, DAT_EP_STATE_UNCONNECTED);
	ret = dat_ep_accept(ep, cr, pd, pd_len);
	if (ret) {
		kdat_ep_reserve(ep, DAT_EP_STATE_UNCONNECTED, stage);
		return accept_error(ep, ret);
	}
	dat_obj_free(&cr->obj);
	return DAT_SUCCESS;
}

static DAT_RETURN accept_reserved(struct dat_cr *cr, struct dat_ep *ep, const void *pd,
				  u32 pd_len)
{
	DAT_EP_STATE stage = cr->makes_ep ? DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING :
					    DAT_EP_STATE_PASSIVE_CONNECTION_PENDING;
	DAT_RETURN rc;

	rc = cr_accept(cr, ep, stage, pd, pd_len);
	if (rc == DAT_SUCCESS) {
		dat_obj_unuse(&ep->obj);
		return rc;
	}
	xchg(&cr->ep, ep);
	cr_recheck(cr);
	return rc;
}

static DAT_RETURN accept_given(struct dat_cr *cr, DAT_EP_HANDLE handle, const void *pd,
			       u32 pd_len)
{
	struct dat_ep *ep = kdat_get_in(cr->obj.ia, handle, DAT_HANDLE_TYPE_EP);
	DAT_RETURN rc;

	if (IS_ERR(ep))
		return KDAT_BAD(EP);
	rc = cr_accept(cr, ep, DAT_EP_STATE_UNCONNECTED, pd, pd_len);
	dat_obj_put(&ep->obj);
	return rc;
}

DAT_RETURN kdat_cr_accept(DAT_CR_HANDLE cr_handle, DAT_EP_HANDLE ep_handle,
			  DAT_COUNT private_data_size, const DAT_PVOID private_data)
{
	const void *pd = private_data ?: "";
	struct dat_ep *ep = NULL;
	struct dat_cr *cr;
	DAT_RETURN rc;

	if (private_data_size < 0 || private_data_size > DAT_MAX_PRIVATE_DATA)
		return KDAT_ARG(3);
	if (private_data_size && !private_data)
		return KDAT_ARG(4);
	cr = cr_get(cr_handle, kdat_get);
	if (IS_ERR(cr))
		return kdat_lookup_error(PTR_ERR(cr), KDAT_BAD(CR));
	if (private_data_size > kdat_pd_max(cr->obj.ia)) {
		kdat_done(&cr->obj);
		return KDAT_ARG(3);
	}
	if (ep_handle == DAT_HANDLE_NULL)
		ep = xchg(&cr->ep, NULL);
	if (ep)
		rc = accept_reserved(cr, ep, pd, private_data_size);
	else if (cr->makes_ep || READ_ONCE(cr->ep))
		rc = KDAT_BAD(EP);
	else
		rc = accept_given(cr, ep_handle, pd, private_data_size);
	kdat_done(&cr->obj);
	return rc;
}
EXPORT_SYMBOL_DAT(kdat_cr_accept);

/* Frees a request that was rejected, and ends its lookup. */
static DAT_RETURN cr_rejected(struct dat_cr *cr)
{
	int ret = dat_obj_free(&cr->obj);

	kdat_done(&cr->obj);
	return ret ? kdat_lookup_error(ret, KDAT_BAD(CR)) : DAT_SUCCESS;
}

/**
 * kdat_cr_refuse() - reject a request with unchanged private data, and free the request
 * @cr_handle: handle, unchecked
 * @pd: private data for the reject
 * @pd_len: length of @pd, at most 148
 *
 * Exported to dat_rsm.ko only, whose nodes exchange their own format.
 *
 * Context: may sleep.  Return: DAT_SUCCESS; DAT_INVALID_HANDLE if there is no such request; or
 * another error of kdat_get_gone().
 */
DAT_RETURN kdat_cr_refuse(DAT_CR_HANDLE cr_handle, const void *pd, u32 pd_len)
{
	struct dat_cr *cr = cr_get(cr_handle, kdat_get_gone);

	if (IS_ERR(cr))
		return kdat_lookup_error(PTR_ERR(cr), KDAT_BAD(CR));
	dat_cr_refuse(cr, pd, pd_len);
	return cr_rejected(cr);
}
EXPORT_SYMBOL_DAT_INTERNAL(kdat_cr_refuse);

DAT_RETURN kdat_cr_reject(DAT_CR_HANDLE cr_handle, DAT_COUNT private_data_size,
			  const DAT_PVOID private_data)
{
	struct dat_cr *cr;

	if (private_data_size < 0)
		return KDAT_ARG(2);
	if (private_data_size && !private_data)
		return KDAT_ARG(3);
	cr = cr_get(cr_handle, kdat_get_gone);
	if (IS_ERR(cr))
		return kdat_lookup_error(PTR_ERR(cr), KDAT_BAD(CR));
	if (private_data_size > kdat_pd_max(cr->obj.ia)) {
		kdat_done(&cr->obj);
		return KDAT_ARG(2);
	}
	dat_cr_reject(cr, private_data, private_data_size);
	return cr_rejected(cr);
}
EXPORT_SYMBOL_DAT(kdat_cr_reject);

/*
 * Hands a request off to the service point with the qualifier @handoff.  Releases ia->sem of the
 * request's IA first, because dat_cr_handoff() takes ia->sem of the service point's IA.
 */
DAT_RETURN kdat_cr_handoff(DAT_CR_HANDLE cr_handle, DAT_CONN_QUAL handoff)
{
	struct dat_cr *cr;
	struct dat_ia *ia;
	int ret;

	if (!handoff)
		return KDAT_ARG(2);
	cr = cr_get(cr_handle, kdat_get);
	if (IS_ERR(cr))
		return kdat_lookup_error(PTR_ERR(cr), KDAT_BAD(CR));
	ia = cr->obj.ia;
	kdat_ia_release(ia);
	ret = dat_cr_handoff(cr, handoff);
	if (!ret)
		cr_end(cr);
	dat_obj_put(&cr->obj);
	if (ret == -EADDRNOTAVAIL)
		return KDAT_ARG(2);
	return ret ? kdat_lookup_error(ret, KDAT_BAD(CR)) : DAT_SUCCESS;
}
EXPORT_SYMBOL_DAT(kdat_cr_handoff);
