// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/* Shared receive queues. */
#include <errno.h>

#include "foreign.h"
#include "libdat.h"

void udat_srq_unmap(struct udat_srq *srq)
{
	struct udat_mappings *m = &srq->obj.ia->mappings;

	udat_span_unmap(m, &srq->status);
	udat_span_unmap(m, &srq->submit);
}

/*
 * Make the driver take the buffers that are in the ring.  @srq_handle may name no SRQ, or one that
 * another thread frees.  So this function accesses none of the SRQ's pages, and a kick of a queue
 * that does not exist has no effect.
 */
void udat_srq_kick(DAT_HANDLE srq_handle)
{
	struct udat_srq *srq = udat_srq(srq_handle);

	if (srq)
		du_queue_kick(&srq->rq);
}

/* Use the ring in @submit.  The ring has @entries RQEs and begins at @offset. */
static void srq_use_ring(struct udat_srq *srq, struct udat_span submit, uint32_t offset,
			 uint32_t entries)
{
	struct dat_submit *head = submit.va;

	srq->submit = submit;
	du_queue_move(&srq->rq, (char *)head + offset, entries,
		      srq->obj.ia->info.max_recv_per_srq, &head->rq_tail);
	srq->attr.max_recv_dtos = (DAT_COUNT)srq->rq.limit;
}

static DAT_RETURN srq_map(struct udat_srq *srq, const struct dat_srq_create *arg)
{
	struct udat_ia *ia = srq->obj.ia;
	const struct dat_status *status;
	struct udat_span submit;
	int ret;

	ret = udat_span_map(&ia->mappings, ia->file.fd, &arg->status, 0, &srq->status);
	if (!ret)
		ret = udat_span_map(&ia->mappings, ia->file.fd, &arg->submit, 1, &submit);
	if (ret)
		return dat_err_from_errno(-ret);
	status = srq->status.va;
	du_queue_init(&srq->rq, &ia->file, ia->doorbell.va, arg->queue, arg->rq_shift, &status->rq,
		      udat_unlocked(ia));
	srq_use_ring(srq, submit, arg->rq_offset, arg->max_recv);
	srq->reaped = srq->rq.tail;
	return DAT_SUCCESS;
}

static DAT_RETURN srq_make(struct udat_srq *srq, const DAT_SRQ_ATTR *attr)
{
	struct dat_srq_create arg = {
		.size = sizeof(arg), .pz = srq->pz->obj.id, .max_recv = attr->max_recv_dtos,
		.max_iov = attr->max_recv_iov, .user_data = (uintptr_t)srq,
	};
	DAT_RETURN rc;
	int ret;

	ret = du_file_ioctl(&srq->obj.ia->file, DAT_IOC_SRQ_CREATE, &arg);
	if (ret == -ENOMEM) {
		du_explain_queue_memory();
		return DAT_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_SRQ);
	}
	if (ret)
		return dat_err_from_errno(-ret);
	srq->obj.id = arg.id;
	srq->attr.max_recv_iov = attr->max_recv_iov;
	rc = srq_map(srq, &arg);
	if (rc != DAT_SUCCESS) {
		du_slot_publish(&srq->obj.slot, UDAT_TYPE(SRQ));
		udat_obj_free(&srq->obj, UDAT_TYPE(SRQ), DAT_OBJ_SRQ, rc, rc);
		udat_srq_unmap(srq);
	}
	return rc;
}

static DAT_RETURN srq_check(const struct udat_ia *ia, const struct udat_pz *pz,
			    const DAT_SRQ_ATTR *attr, const DAT_SRQ_HANDLE *out)
{
	if (!ia)
		return DAT_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	if (!pz || pz->obj.ia != ia)
		return DAT_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ);
	if (!ia->info.max_srqs)
		return DAT_ERR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	if (!attr || attr->max_recv_dtos <= 0 || attr->max_recv_iov <= 0 ||
	    (uint32_t)attr->max_recv_dtos > ia->info.max_recv_per_srq ||
	    (uint32_t)attr->max_recv_iov > ia->info.max_iov ||
	    attr->low_watermark != DAT_SRQ_LW_DEFAULT)
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	if (!out)
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
	return DAT_SUCCESS;
}

UDAT_EXPORT DAT_RETURN dat_srq_create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle,
				      DAT_SRQ_ATTR *attr, DAT_SRQ_HANDLE *srq_handle)
{
	struct udat_ia *ia = udat_ia(ia_handle);
	struct udat_pz *pz = udat_pz(pz_handle);
	struct udat_srq *srq;
	DAT_RETURN rc;

	UDAT_FORWARD(ia_handle, srq_create, pz_handle, attr, srq_handle);
	rc = srq_check(ia, pz, attr, srq_handle);
	if (rc != DAT_SUCCESS)
		return rc;
	srq = udat_obj_new(ia);
	if (!srq)
		return DAT_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	srq->pz = pz;
	rc = srq_make(srq, attr);
	if (rc != DAT_SUCCESS) {
		udat_obj_drop(&srq->obj);
		return rc;
	}
	udat_obj_publish(&srq->obj, UDAT_TYPE(SRQ));
	*srq_handle = srq;
	return DAT_SUCCESS;
}

UDAT_EXPORT DAT_RETURN dat_srq_free(DAT_SRQ_HANDLE srq_handle)
{
	struct udat_srq *srq = udat_srq(srq_handle);
	DAT_RETURN bad = DAT_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_SRQ);
	DAT_RETURN rc;

	UDAT_FORWARD(srq_handle, srq_free);
	if (!srq)
		return bad;
	rc = udat_obj_free(&srq->obj, UDAT_TYPE(SRQ), DAT_OBJ_SRQ, bad,
			   DAT_ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_SRQ_IN_USE));
	if (rc != DAT_SUCCESS)
		return rc;
	udat_srq_unmap(srq);
	/*
	 * Queued events of the SRQ's EPs still use the SRQ.  Slots are freed in the order of
	 * deferral, so the slots of those EPs are freed before the slot of the SRQ.
	 */
	udat_obj_free_deferred(&srq->obj, NULL, 0);
	return DAT_SUCCESS;
}

static DAT_COUNT srq_outstanding(const struct udat_srq *srq)
{
	const struct dat_status *status = srq->status.va;

	return (DAT_COUNT)(srq->rq.tail - __atomic_load_n(&srq->reaped, __ATOMIC_RELAXED) -
			   __atomic_load_n(&status->lost, __ATOMIC_RELAXED));
}

UDAT_EXPORT DAT_RETURN dat_srq_query(DAT_SRQ_HANDLE srq_handle, DAT_SRQ_PARAM_MASK mask,
				     DAT_SRQ_PARAM *param)
{
	struct udat_srq *srq = udat_srq(srq_handle);
	const struct dat_status *status;

	UDAT_FORWARD(srq_handle, srq_query, mask, param);
	if (!srq)
		return DAT_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_SRQ);
	if (mask & ~DAT_SRQ_FIELD_ALL)
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (!param)
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	status = srq->status.va;
	param->ia_handle = srq->obj.ia;
	param->srq_state = (DAT_SRQ_STATE)__atomic_load_n(&status->state, __ATOMIC_ACQUIRE);
	param->pz_handle = srq->pz;
	param->max_recv_dtos = srq->attr.max_recv_dtos;
	param->max_recv_iov = srq->attr.max_recv_iov;
	param->low_watermark = srq->attr.low_watermark;
	param->available_dto_count = (DAT_COUNT)du_queue_busy(&srq->rq);
	param->outstanding_dto_count = srq_outstanding(srq);
	return DAT_SUCCESS;
}

static void srq_write(struct udat_srq *srq, DAT_COUNT n, const DAT_LMR_TRIPLET *iov,
		      uint64_t cookie)
{
	struct dat_rqe *rqe = du_queue_entry(&srq->rq);

	*rqe = (struct dat_rqe) { .cookie = cookie, .num_sge = (uint8_t)n };
	udat_copy_iov((struct dat_sge *)(rqe + 1), n, iov);
}

UDAT_EXPORT DAT_RETURN dat_srq_post_recv(DAT_SRQ_HANDLE srq_handle, DAT_COUNT num_segments,
					 DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie)
{
	struct udat_srq *srq = udat_srq(srq_handle);
	DAT_RETURN rc;
	uint64_t total;

	UDAT_FORWARD(srq_handle, srq_post_recv, num_segments, local_iov, user_cookie);
	if (!srq)
		return DAT_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_SRQ);
	if (num_segments < 0 || num_segments > srq->attr.max_recv_iov)
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	rc = udat_check_iov(srq->obj.ia, srq->pz, num_segments, local_iov,
			    DAT_MEM_PRIV_LOCAL_WRITE_FLAG, &total);
	if (rc != DAT_SUCCESS)
		return rc;
	du_lock(&srq->rq.lock);
	if (srq_outstanding(srq) >= srq->attr.max_recv_dtos || du_queue_full(&srq->rq)) {
		rc = DAT_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_SRQ);
	} else {
		srq_write(srq, num_segments, local_iov, user_cookie.as_64);
		if (du_queue_push(&srq->rq, 0))
			rc = udat_kick_error(srq->obj.ia);
	}
	du_unlock(&srq->rq.lock);
	return rc;
}

/*
 * Replace the ring.  The caller holds the lock of the queue, so that no thread posts to the old
 * ring.
 */
static int srq_resize_locked(struct udat_srq *srq, DAT_COUNT max_recv_dtos)
{
	struct dat_srq_resize arg = {
		.size = sizeof(arg), .id = srq->obj.id, .max_recv = max_recv_dtos,
	};
	struct udat_ring_change c = {
		.ia = srq->obj.ia, .cmd = DAT_IOC_SRQ_RESIZE, .arg = &arg, .step = &arg.step,
		.at = &arg.submit, .writable = 1,
	};
	int ret;

	if (srq_outstanding(srq) > max_recv_dtos || srq->attr.low_watermark > max_recv_dtos)
		return -ENOSPC;
	ret = udat_ring_replace(&c);
	if (ret)
		return ret;
	udat_span_unmap(&srq->obj.ia->mappings, &srq->submit);
	srq_use_ring(srq, c.span, arg.rq_offset, arg.max_recv);
	return 0;
}

UDAT_EXPORT DAT_RETURN dat_srq_resize(DAT_SRQ_HANDLE srq_handle, DAT_COUNT max_recv_dtos)
{
	struct udat_srq *srq = udat_srq(srq_handle);
	int ret;

	UDAT_FORWARD(srq_handle, srq_resize, max_recv_dtos);
	if (!srq)
		return DAT_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_SRQ);
	if (max_recv_dtos <= 0 ||
	    (uint32_t)max_recv_dtos > srq->obj.ia->info.max_recv_per_srq)
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	du_lock(&srq->rq.lock);
	ret = srq_resize_locked(srq, max_recv_dtos);
	du_unlock(&srq->rq.lock);
	if (ret == -ENOSPC || ret == -EISCONN)
		return DAT_ERR(DAT_INVALID_STATE, DAT_NO_SUBTYPE);
	return ret == -ENOMEM ? DAT_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_SRQ) :
	       ret ? dat_err_from_errno(-ret) : DAT_SUCCESS;
}

UDAT_EXPORT DAT_RETURN dat_srq_set_lw(DAT_SRQ_HANDLE srq_handle, DAT_COUNT low_watermark)
{
	struct udat_srq *srq = udat_srq(srq_handle);
	struct dat_srq_set_lw arg = { .size = sizeof(arg) };
	int ret;

	UDAT_FORWARD(srq_handle, srq_set_lw, low_watermark);
	if (!srq)
		return DAT_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_SRQ);
	if (low_watermark < 0 || low_watermark > srq->attr.max_recv_dtos)
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	arg.id = srq->obj.id;
	arg.low_watermark = (uint32_t)low_watermark;
	ret = du_file_ioctl(&srq->obj.ia->file, DAT_IOC_SRQ_SET_LW, &arg);
	if (ret)
		return dat_err_from_errno(-ret);
	srq->attr.low_watermark = low_watermark;
	return DAT_SUCCESS;
}
