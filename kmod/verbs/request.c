// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * Connection requests.  A request is an rdma_cm id.  The context pointer of a new id is the PSP,
 * which rdma_cm copies from the listener's id.  verbs_request_own() sets the context pointer to the
 * CR that owns the request.
 */
#include <rdma/ib_addr.h>
#include <rdma/ib_cm.h>
#include <rdma/rdma_cm.h>

#include "core/addr.h"
#include "core/dat.h"
#include "core/ep/psp.h"
#include "core/xport.h"
#include "verbs/verbs.h"

/*
 * Private data of a reject that comes from this module.  iWARP has no reject reasons, so the
 * private data shows the peer that the reject is not from a consumer.
 */
static const char refusal_data[4] = "DATn";

/* Returns true if @pd, private data of a reject, is from the peer's dat module, not a consumer. */
bool verbs_is_refusal(const void *pd, u32 pd_len)
{
	return pd && pd_len >= sizeof(refusal_data) &&
	       !memcmp(pd, refusal_data, sizeof(refusal_data));
}

/*
 * Rejects a request that no consumer has rejected.  @reason: any reason except
 * IB_CM_REJ_CONSUMER_DEFINED.  The caller still owns @id.
 */
static void refuse(struct rdma_cm_id *id, u8 reason)
{
	rdma_reject(id, refusal_data, sizeof(refusal_data), reason);
}

/*
 * Returns true if a RoCE peer claims an address that is not the peer's own.  The claimed address
 * comes from the private data of the request.  rdma_cm sends the answer to the GID of the path,
 * which contains the peer's true address.
 */
static bool is_off_path(const struct rdma_cm_id *id)
{
	union ib_gid gid;

	if (!rdma_protocol_roce(id->device, id->port_num))
		return false;
	if (rdma_ip2gid((struct sockaddr *)&id->route.addr.dst_addr, &gid))
		return true;
	return memcmp(&gid, &id->route.path_rec->dgid, sizeof(gid));
}

/*
 * Returns the reject reason for an errno.  IB_CM_REJ_NO_RESOURCES tells the peer to try again
 * later.  IB_CM_REJ_INVALID_SERVICE_ID tells the peer that the listener takes no more requests.
 */
static u8 refusal_reason(int err)
{
	return err == -ENODEV || err == -EADDRNOTAVAIL ? IB_CM_REJ_INVALID_SERVICE_ID :
							 IB_CM_REJ_NO_RESOURCES;
}

/*
 * Handles an event of a listener's id.  If this function returns an error, rdma_cm destroys the id
 * of the request.
 */
int verbs_request_handler(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	const struct rdma_conn_param *param = &event->param.conn;
	struct dat_psp *psp = id->context;
	struct dat_request req;
	int ret;

	if (event->event != RDMA_CM_EVENT_CONNECT_REQUEST)
		return 0;
	/* On RoCE, a consumer must not see an address that the peer only claims to have. */
	if (is_off_path(id)) {
		refuse(id, IB_CM_REJ_INVALID_GID);
		return -EADDRNOTAVAIL;
	}
	req = (struct dat_request) {
		.handle		= id,
		.local		= id->route.addr.src_addr,
		.remote		= id->route.addr.dst_addr,
		.read_in	= param->responder_resources,
		.read_out	= param->initiator_depth,
		.qpn		= param->qp_num,
		.pd		= param->private_data,
		.pd_len		= param->private_data_len,
	};
	ret = dat_psp_request(psp, &req);
	/*
	 * Reject here, because rdma_cm would send a reject that looks like a consumer's, or no
	 * reject at all if the error is -ENOMEM.
	 */
	if (ret)
		refuse(id, refusal_reason(ret));
	return ret;
}

void verbs_request_lock(void *request)
{
	rdma_lock_handler(request);
}

void verbs_request_unlock(void *request)
{
	rdma_unlock_handler(request);
}

/*
 * Handles an event of an unanswered request.  All events mean that the request has ended, except
 * the change of the interface's hardware address, for example after a failover of a bond.
 */
static int request_handler(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	if (event->event != RDMA_CM_EVENT_ADDR_CHANGE)
		dat_cr_gone(id->context);
	return 0;
}

void verbs_request_own(void *request, struct dat_cr *cr)
{
	struct rdma_cm_id *id = request;

	id->context = cr;
	id->event_handler = request_handler;
}

void verbs_reject(void *request, const void *pd, u32 pd_len)
{
	rdma_reject(request, pd, pd_len, IB_CM_REJ_CONSUMER_DEFINED);
	rdma_destroy_id(request);
}

void verbs_abandon(void *request)
{
	refuse(request, IB_CM_REJ_INVALID_SERVICE_ID);
	rdma_destroy_id(request);
}
