// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* Connect and disconnect calls for the endpoints of kernel consumers. */
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/log2.h>

#include "core/addr.h"
#include "core/dat.h"
#include "core/ep/conn.h"
#include "core/ep/ep.h"
#include "kdapl/kdapl.h"

/*
 * Arguments of a connect call.  bad_timeout, bad_size and bad_pd are the return codes for an
 * invalid argument.  The codes depend on the call, because the arguments of dat_ep_connect() have
 * other positions than those of the other two connect calls.
 */
struct connect_args {
	DAT_TIMEOUT	timeout;
	DAT_COUNT	pd_size;
	const void	*pd;
	DAT_QOS		qos;
	DAT_RETURN	bad_timeout;
	DAT_RETURN	bad_size;
	DAT_RETURN	bad_pd;
};

/*
 * Returns true for best effort or a single class.  No conversion for the core is needed, because
 * DAT_QOS has the values of enum dat_qos_class.
 */
static bool qos_known(DAT_QOS qos)
{
	return !qos || (is_power_of_2(qos) && !(qos & ~KDAT_QOS_ALL));
}

static DAT_RETURN connect_check(const struct connect_args *a)
{
	if (!a->timeout)
		return a->bad_timeout;
	if (a->pd_size < 0 || a->pd_size > DAT_MAX_PRIVATE_DATA)
		return a->bad_size;
	return a->pd_size && !a->pd ? a->bad_pd : DAT_SUCCESS;
}

/* Copies an address that a consumer has passed.  Fails if the address is not IPv4 or IPv6. */
DAT_RETURN kdat_addr(struct sockaddr_storage *to, const struct sockaddr *from)
{
	memset(to, 0, sizeof(*to));
	if (from->sa_family == AF_INET)
		memcpy(to, from, sizeof(struct sockaddr_in));
	else if (from->sa_family == AF_INET6)
		memcpy(to, from, sizeof(struct sockaddr_in6));
	else
		return KDAT_ERR(DAT_INVALID_ADDRESS, DAT_INVALID_ADDRESS_UNSUPPORTED);
	return DAT_SUCCESS;
}

/*
 * Returns the error for a call in the wrong EP state.  Does not read the state of an EP that was
 * shut down, because struct kdat_ep, which has the state, may already be freed.
 */
static DAT_RETURN ep_state_error(struct dat_ep *ep)
{
	DAT_RETURN rc;

	spin_lock_bh(&ep->lock);
	rc = ep->dead ? kdat_dead(&ep->obj, KDAT_BAD(EP)) :
			kdat_state_error(kdat_ep_state(ep));
	spin_unlock_bh(&ep->lock);
	return rc;
}

/*
 * Checks that the EP is unconnected, is not reserved and has a connect EVD.  Stores the target
 * address @dst.
 */
static DAT_RETURN connect_begin(struct dat_ep *ep, const struct sockaddr_storage *dst)
{
	DAT_RETURN rc = DAT_SUCCESS;
	DAT_EP_STATE state;

	spin_lock_bh(&ep->lock);
	state = kdat_ep_state(ep);
	if (state != DAT_EP_STATE_UNCONNECTED)
		rc = kdat_state_error(state);
	else if (!ep->connect_evd)
		rc = KDAT_BAD(EVD_CONN);
	else
		kdat_ep_of(ep)->target = *dst;
	spin_unlock_bh(&ep->lock);
	return rc;
}

static DAT_RETURN ep_connect(struct dat_ep *ep, const struct sockaddr_storage *dst,
			     const struct connect_args *a)
{
	u64 timeout_us = a->timeout == DAT_TIMEOUT_INFINITE ? DAT_WAIT_FOREVER : a->timeout;
	DAT_RETURN rc;
	int ret;

	if (a->pd_size > kdat_pd_max(ep->obj.ia))
		return a->bad_size;
	rc = connect_begin(ep, dst);
	if (rc != DAT_SUCCESS)
		return rc;
	ret = dat_ep_connect(ep, dst, timeout_us, a->qos, a->pd ?: "", a->pd_size);
	if (ret == -EISCONN)
		return ep_state_error(ep);
	return ret ? kdat_error(ret) : DAT_SUCCESS;
}

static DAT_RETURN connect_to(DAT_EP_HANDLE handle, const struct sockaddr_storage *dst,
			     const struct connect_args *a)
{
	struct dat_ep *ep = kdat_get(handle, DAT_HANDLE_TYPE_EP);
	DAT_RETURN rc;

	if (IS_ERR(ep))
		return kdat_lookup_error(PTR_ERR(ep), KDAT_BAD(EP));
	rc = ep_connect(ep, dst, a);
	kdat_done(&ep->obj);
	return rc;
}

DAT_RETURN kdat_ep_connect(DAT_EP_HANDLE ep_handle, DAT_IA_ADDRESS_PTR remote_ia_address,
			   DAT_CONN_QUAL remote_conn_qual, DAT_TIMEOUT timeout,
			   DAT_COUNT private_data_size, const DAT_PVOID private_data,
			   DAT_QOS quality_of_service, DAT_CONNECT_FLAGS connect_flags)
{
	struct connect_args a = {
		timeout, private_data_size, private_data, quality_of_service,
		KDAT_ARG(4), KDAT_ARG(5), KDAT_ARG(6),
	};
	u32 multipath = DAT_CONNECT_MULTIPATH_FLAG | DAT_CONNECT_MULTIPATH_REQUIRED_FLAG;
	struct sockaddr_storage dst;
	DAT_RETURN rc;

	if (!remote_ia_address)
		return KDAT_ARG(2);
	if (!remote_conn_qual)
		return KDAT_ARG(3);
	rc = connect_check(&a);
	if (rc != DAT_SUCCESS)
		return rc;
	if (connect_flags & ~multipath)
		return KDAT_ARG(8);
	if (!qos_known(quality_of_service) || connect_flags)
		return KDAT_ERR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	rc = kdat_addr(&dst, remote_ia_address);
	if (rc != DAT_SUCCESS)
		return rc;
	dat_addr_set_port(&dst, dat_qual_port(remote_conn_qual));
	return connect_to(ep_handle, &dst, &a);
}
EXPORT_SYMBOL_DAT(kdat_ep_connect);

/*
 * Copies the target address of the EP @handle.  Fails unless that EP belongs to @ia, is connected,
 * and is the active side of its connection.  ia->sem is held.
 */
static DAT_RETURN dup_target(struct dat_ia *ia, DAT_EP_HANDLE handle,
			     struct sockaddr_storage *dst)
{
	struct dat_ep *dup = kdat_get_in(ia, handle, DAT_HANDLE_TYPE_EP);
	DAT_RETURN rc = DAT_SUCCESS;

	lockdep_assert_held(&ia->sem);
	if (IS_ERR(dup))
		return KDAT_BAD(EP);
	spin_lock_bh(&dup->lock);
	*dst = kdat_ep_of(dup)->target;
	if (dup->state != DAT_EP_CONNECTED || !dst->ss_family)
		rc = kdat_state_error(kdat_ep_state(dup));
	spin_unlock_bh(&dup->lock);
	dat_obj_put(&dup->obj);
	return rc;
}

DAT_RETURN kdat_ep_dup_connect(DAT_EP_HANDLE ep_handle, DAT_EP_HANDLE dup_ep_handle,
			       DAT_TIMEOUT timeout, DAT_COUNT private_data_size,
			       const DAT_PVOID private_data, DAT_QOS quality_of_service)
{
	struct connect_args a = {
		timeout, private_data_size, private_data, quality_of_service,
		KDAT_ARG(3), KDAT_ARG(4), KDAT_ARG(5),
	};
	struct sockaddr_storage dst;
	struct dat_ep *ep;
	DAT_RETURN rc;

	rc = connect_check(&a);
	if (rc != DAT_SUCCESS)
		return rc;
	if (!qos_known(quality_of_service))
		return KDAT_ERR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	ep = kdat_get(ep_handle, DAT_HANDLE_TYPE_EP);
	if (IS_ERR(ep))
		return kdat_lookup_error(PTR_ERR(ep), KDAT_BAD(EP));
	rc = dup_target(ep->obj.ia, dup_ep_handle, &dst);
	if (rc == DAT_SUCCESS)
		rc = ep_connect(ep, &dst, &a);
	kdat_done(&ep->obj);
	return rc;
}
EXPORT_SYMBOL_DAT(kdat_ep_dup_connect);

DAT_RETURN kdat_ep_common_connect(DAT_EP_HANDLE ep_handle,
				  DAT_IA_ADDRESS_PTR remote_ia_address, DAT_TIMEOUT timeout,
				  DAT_COUNT private_data_size, const DAT_PVOID private_data)
{
	struct connect_args a = {
		timeout, private_data_size, private_data, DAT_QOS_BEST_EFFORT,
		KDAT_ARG(3), KDAT_ARG(4), KDAT_ARG(5),
	};
	struct sockaddr_storage dst;
	DAT_RETURN rc;

	if (!remote_ia_address)
		return KDAT_ARG(2);
	rc = connect_check(&a);
	if (rc == DAT_SUCCESS)
		rc = kdat_addr(&dst, remote_ia_address);
	if (rc != DAT_SUCCESS)
		return rc;
	return dat_addr_port(&dst) ? connect_to(ep_handle, &dst, &a) : KDAT_ARG(2);
}
EXPORT_SYMBOL_DAT(kdat_ep_common_connect);

DAT_RETURN kdat_ep_disconnect(DAT_EP_HANDLE ep_handle, DAT_CLOSE_FLAGS disconnect_flags)
{
	bool graceful = disconnect_flags == DAT_CLOSE_GRACEFUL_FLAG;
	DAT_RETURN rc = DAT_SUCCESS;
	struct dat_obj *obj;
	struct dat_ep *ep;

	if (!graceful && disconnect_flags != DAT_CLOSE_ABRUPT_FLAG)
		return KDAT_ARG(2);
	if (kdat_cant_lock())
		return KDAT_CONTEXT;
	rcu_read_lock();
	obj = kdat_find(ep_handle, DAT_HANDLE_TYPE_EP);
	ep = obj ? to_dat_ep(obj) : NULL;
	if (!ep)
		rc = KDAT_BAD(EP);
	/* No reference is needed, because RCU and the connection keep the EP allocated. */
	else if (dat_ep_disconnect(ep, graceful))
		rc = ep_state_error(ep);
	rcu_read_unlock();
	return rc;
}
EXPORT_SYMBOL_DAT(kdat_ep_disconnect);
