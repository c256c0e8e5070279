// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* Conversion of events of the object layer to DAT events, with one function per event stream. */
#include "core/dat.h"
#include "core/ep/ep.h"
#include "core/ep/psp.h"
#include "core/ep/queue.h"
#include "core/event/evd.h"
#include "kdapl/kdapl.h"

/* In an event number, the bits from STREAM_SHIFT upwards contain the event stream. */
#define STREAM_SHIFT	12

/* DTO kind for each opcode of enum dat_op and enum dat_kop. */
const DAT_DTOS kdat_dto_ops[DAT_KOP_LAST] = {
	/* The event of a receive has the opcode DAT_OP_INVALID. */
	[DAT_OP_INVALID]		= DAT_DTO_RECEIVE,
	[DAT_OP_SEND]			= DAT_DTO_SEND,
	[DAT_OP_RDMA_WRITE]		= DAT_DTO_RDMA_WRITE,
	[DAT_OP_RDMA_READ]		= DAT_DTO_RDMA_READ,
	[DAT_OP_RMR_BIND]		= DAT_DTO_BIND_MW,
	[DAT_KOP_LMR_FMR]		= DAT_DTO_LMR_FMR,
	[DAT_KOP_LMR_INVALIDATE]	= DAT_DTO_LMR_INVALIDATE,
	[DAT_KOP_READ_TO_RMR]		= DAT_DTO_RDMA_READ,
};

static DAT_HANDLE owner_of(const struct dat_eqe *eqe)
{
	return (DAT_HANDLE)(uintptr_t)eqe->owner;
}

static void to_dto(struct dat_evd *evd, const struct dat_eqe *eqe, DAT_EVENT_DATA *data)
{
	kdat_event_dto(eqe, &data->dto_completion_event_data);
}

static void to_bind(struct dat_evd *evd, const struct dat_eqe *eqe, DAT_EVENT_DATA *data)
{
	DAT_RMR_BIND_COMPLETION_EVENT_DATA *bind = &data->rmr_completion_event_data;

	bind->rmr_handle = owner_of(eqe);
	bind->user_cookie.as_64 = eqe->cookie;
	bind->status = eqe->status;
}

static void to_cr(struct dat_evd *evd, const struct dat_eqe *eqe, DAT_EVENT_DATA *data)
{
	DAT_CR_ARRIVAL_EVENT_DATA *arrival = &data->cr_arrival_event_data;
	struct dat_ia *ia = evd->obj.ia;
	struct kdat_ia *kia;
	struct dat_obj *obj;
	struct dat_cr *cr;

	arrival->sp_handle.psp_handle = owner_of(eqe);
	arrival->conn_qual = eqe->cookie;
	rcu_read_lock();
	kia = kdat_ia_find((DAT_HANDLE)(uintptr_t)ia->user_data);
	if (kia)
		arrival->local_ia_address_ptr = kdat_ia_addr(kia);
	/*
	 * The request is gone only if a consumer has guessed its handle and has freed the request.
	 * A removal of the device leaves the request until the consumer frees it.
	 */
	obj = xa_load(&ia->objs, eqe->len);
	if (obj && obj->type == DAT_OBJ_CR) {
		cr = to_dat_cr(obj);
		kdat_cr_take_ep(cr);
		arrival->cr_handle = kdat_handle(obj);
		arrival->local_ia_address_ptr = (struct sockaddr *)&cr->local;
	}
	rcu_read_unlock();
}

static void to_connection(struct dat_evd *evd, const struct dat_eqe *eqe,
			  DAT_EVENT_DATA *data)
{
	DAT_CONNECTION_EVENT_DATA *conn = &data->connect_event_data;
	struct dat_obj *obj;
	struct dat_ep *ep;

	conn->ep_handle = owner_of(eqe);
	if (!eqe->len)
		return;
	rcu_read_lock();
	obj = kdat_find(conn->ep_handle, DAT_HANDLE_TYPE_EP);
	if (obj) {
		ep = to_dat_ep(obj);
		spin_lock_bh(&ep->lock);
		if (!ep->dead)
			conn->private_data = kdat_ring_pd(&ep->ring, eqe->len);
		if (conn->private_data)
			conn->private_data_size = eqe->len;
		spin_unlock_bh(&ep->lock);
	}
	rcu_read_unlock();
}

static void to_async(struct dat_evd *evd, const struct dat_eqe *eqe, DAT_EVENT_DATA *data)
{
	data->asynch_error_event_data.dat_handle = owner_of(eqe);
	data->asynch_error_event_data.reason = eqe->status;
}

static void to_software(struct dat_evd *evd, const struct dat_eqe *eqe, DAT_EVENT_DATA *data)
{
	data->software_event_data.pointer = (DAT_PVOID)(uintptr_t)eqe->cookie;
}

static void (*const translators[])(struct dat_evd *evd, const struct dat_eqe *eqe,
				   DAT_EVENT_DATA *data) = {
	[DAT_EV_DTO >> STREAM_SHIFT]			= to_dto,
	[DAT_EV_RMR_BIND >> STREAM_SHIFT]		= to_bind,
	[DAT_EV_CR >> STREAM_SHIFT]			= to_cr,
	[DAT_EV_ESTABLISHED >> STREAM_SHIFT]		= to_connection,
	[DAT_EV_ASYNC_OVERFLOW >> STREAM_SHIFT]		= to_async,
	[DAT_EV_SOFTWARE >> STREAM_SHIFT]		= to_software,
};

/* Converts an event that was dequeued.  Context: any but hard interrupt; no lock held. */
void kdat_event(struct dat_evd *evd, const struct dat_eqe *eqe, DAT_EVENT *event)
{
	memset(event, 0, sizeof(*event));
	event->event_number = eqe->type;
	event->evd_handle = kdat_handle(&evd->obj);
	translators[eqe->type >> STREAM_SHIFT](evd, eqe, &event->event_data);
}
