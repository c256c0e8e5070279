// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* Shared receive queues of kernel consumers. */
#include "core/dat.h"
#include "core/ep/ring.h"
#include "core/ep/srq.h"
#include "core/mem/lmr.h"
#include "kdapl/kdapl.h"

static DAT_RETURN srq_check(const struct dat_ia *ia, const DAT_SRQ_ATTR *attr)
{
	/* A negative size is converted to a u32 that exceeds every limit. */
	int ret = dat_srq_fits(ia, attr->max_recv_dtos, attr->max_recv_iov);

	if (ret == -EOPNOTSUPP)
		return KDAT_ERR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	return ret || attr->low_watermark != DAT_SRQ_LW_DEFAULT ? KDAT_ARG(3) : DAT_SUCCESS;
}

static DAT_RETURN srq_make(struct dat_pz *pz, const DAT_SRQ_ATTR *attr, DAT_SRQ_HANDLE *out)
{
	struct dat_srq *srq;
	DAT_RETURN rc;

	rc = srq_check(pz->obj.ia, attr);
	if (rc != DAT_SUCCESS)
		return rc;
	srq = dat_srq_create(pz, attr->max_recv_dtos, attr->max_recv_iov, 0);
	if (srq == ERR_PTR(-ENOMEM))
		return KDAT_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_SRQ);
	if (IS_ERR(srq))
		return kdat_error(PTR_ERR(srq));
	*out = kdat_handle(&srq->obj);
	dat_obj_put(&srq->obj);
	return DAT_SUCCESS;
}

DAT_RETURN kdat_srq_create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle,
			   DAT_SRQ_ATTR *srq_attr, DAT_SRQ_HANDLE *srq_handle)
{
	struct kdat_ia *kia;
	struct dat_pz *pz;
	DAT_RETURN rc;

	if (!srq_attr)
		return KDAT_ARG(3);
	if (!srq_handle)
		return KDAT_ARG(4);
	kia = kdat_ia_get(ia_handle);
	if (IS_ERR(kia))
		return kdat_lookup_error(PTR_ERR(kia), KDAT_BAD(IA));
	pz = kdat_get_in(kia->ia, pz_handle, DAT_HANDLE_TYPE_PZ);
	if (IS_ERR(pz)) {
		rc = KDAT_BAD(PZ);
	} else {
		rc = srq_make(pz, srq_attr, srq_handle);
		dat_obj_put(&pz->obj);
	}
	kdat_ia_done(kia);
	return rc;
}
EXPORT_SYMBOL_DAT(kdat_srq_create);

DAT_RETURN kdat_srq_free(DAT_SRQ_HANDLE srq_handle)
{
	return kdat_free(srq_handle, DAT_HANDLE_TYPE_SRQ, KDAT_BAD(SRQ),
			 KDAT_ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_SRQ_IN_USE));
}
EXPORT_SYMBOL_DAT(kdat_srq_free);

static void srq_query(const struct dat_srq *srq, DAT_SRQ_PARAM *param)
{
	param->ia_handle = kdat_ia_handle(srq->obj.ia);
	param->srq_state = DAT_SRQ_STATE_OPERATIONAL;
	param->pz_handle = KDAT_HANDLE(srq->pz);
	param->max_recv_dtos = kdat_srq_length(srq);
	param->max_recv_iov = srq->max_iov;
	param->low_watermark = srq->low_watermark;
	param->available_dto_count = dat_ring_posted(&srq->q);
	param->outstanding_dto_count = DAT_VALUE_UNKNOWN;
}

DAT_RETURN kdat_srq_query(DAT_SRQ_HANDLE srq_handle, DAT_SRQ_PARAM_MASK srq_param_mask,
			  DAT_SRQ_PARAM *srq_param)
{
	DAT_RETURN rc = KDAT_BAD(SRQ);
	struct dat_srq *srq;
	struct dat_obj *obj;

	if (srq_param_mask & ~DAT_SRQ_FIELD_ALL)
		return KDAT_ARG(2);
	if (!srq_param)
		return KDAT_ARG(3);
	if (kdat_cant_lock())
		return KDAT_CONTEXT;
	rcu_read_lock();
	obj = kdat_find(srq_handle, DAT_HANDLE_TYPE_SRQ);
	if (obj) {
		srq = to_dat_srq(obj);
		spin_lock_bh(&srq->lock);
		rc = kdat_dead(obj, rc);
		if (srq->live) {
			srq_query(srq, srq_param);
			rc = DAT_SUCCESS;
		}
		spin_unlock_bh(&srq->lock);
	}
	rcu_read_unlock();
	return rc;
}
EXPORT_SYMBOL_DAT(kdat_srq_query);

static DAT_RETURN srq_resize(struct dat_srq *srq, DAT_COUNT max_recv)
{
	struct dat_step step = { .what = DAT_RING_AT_ONCE };
	u32 low;
	int ret;

	if (max_recv <= 0 || max_recv > srq->obj.ia->dev->limits.max_srq_dto)
		return KDAT_ARG(2);
	spin_lock_bh(&srq->lock);
	low = srq->low_watermark;
	spin_unlock_bh(&srq->lock);
	if (low > (u32)max_recv)
		return KDAT_ERR(DAT_INVALID_STATE, DAT_NO_SUBTYPE);
	ret = dat_srq_resize(srq, max_recv, &step);
	return ret ? kdat_resize_error(ret) : DAT_SUCCESS;
}

DAT_RETURN kdat_srq_resize(DAT_SRQ_HANDLE srq_handle, DAT_COUNT srq_max_recv_dto)
{
	struct dat_srq *srq = kdat_get(srq_handle, DAT_HANDLE_TYPE_SRQ);
	DAT_RETURN rc;

	if (IS_ERR(srq))
		return kdat_lookup_error(PTR_ERR(srq), KDAT_BAD(SRQ));
	rc = srq_resize(srq, srq_max_recv_dto);
	kdat_done(&srq->obj);
	return rc;
}
EXPORT_SYMBOL_DAT(kdat_srq_resize);

DAT_RETURN kdat_srq_set_lw(DAT_SRQ_HANDLE srq_handle, DAT_COUNT low_watermark)
{
	DAT_RETURN rc = KDAT_BAD(SRQ);
	struct dat_srq *srq;
	struct dat_obj *obj;
	bool low = false;

	if (kdat_cant_lock())
		return KDAT_CONTEXT;
	rcu_read_lock();
	obj = kdat_find(srq_handle, DAT_HANDLE_TYPE_SRQ);
	if (!obj)
		goto out;
	srq = to_dat_srq(obj);
	spin_lock_bh(&srq->lock);
	rc = kdat_dead(obj, rc);
	if (srq->live)
		rc = low_watermark < 0 || low_watermark > kdat_srq_length(srq) ?
		     KDAT_ARG(2) : DAT_SUCCESS;
	if (rc == DAT_SUCCESS)
		low = dat_srq_set_lw_locked(srq, low_watermark);
	spin_unlock_bh(&srq->lock);
	if (low)
		dat_srq_report_low(srq);
out:
	rcu_read_unlock();
	return rc;
}
EXPORT_SYMBOL_DAT(kdat_srq_set_lw);
