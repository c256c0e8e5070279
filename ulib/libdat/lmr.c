// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/* Registered memory, and the table in which posts find an LMR by its context. */
#include <errno.h>
#include <string.h>
#include <stdlib.h>

#include "../common/log.h"
#include "foreign.h"
#include "libdat.h"

#define WRITE_PRIVILEGES	(DAT_MEM_PRIV_LOCAL_WRITE_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG)

/* Allocate the missing parts of the table.  The caller holds ia->lock. */
static struct udat_lmr **lmr_make_place(struct udat_ia *ia, uint32_t context)
{
	uint32_t index = context & UDAT_LMR_MASK;
	struct udat_lmr_chunk *chunk;

	if (!ia->lmrs) {
		void *table = calloc(UDAT_LMR_CHUNK, sizeof(*ia->lmrs));

		__atomic_store_n(&ia->lmrs, table, __ATOMIC_RELEASE);
		if (!table)
			return NULL;
	}
	if (!ia->lmrs[index / UDAT_LMR_CHUNK]) {
		chunk = calloc(1, sizeof(*chunk));
		__atomic_store_n(&ia->lmrs[index / UDAT_LMR_CHUNK], chunk, __ATOMIC_RELEASE);
	}
	return udat_lmr_place(ia, context);
}

void udat_lmr_table_free(struct udat_ia *ia)
{
	unsigned int i;

	for (i = 0; ia->lmrs && i < UDAT_LMR_CHUNK; i++)
		free(ia->lmrs[i]);
	free(ia->lmrs);
	ia->lmrs = NULL;
}

static int lmr_enter(struct udat_lmr *lmr)
{
	struct udat_ia *ia = lmr->obj.ia;
	struct udat_lmr **place;

	pthread_mutex_lock(&ia->lock);
	place = lmr_make_place(ia, lmr->context);
	if (place)
		__atomic_store_n(place, lmr, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&ia->lock);
	return place ? 0 : -ENOMEM;
}

static void lmr_remove(struct udat_lmr *lmr)
{
	struct udat_lmr **place = udat_lmr_place(lmr->obj.ia, lmr->context);

	/*
	 * The driver may have given the index to a new LMR, so clear the entry only if it still
	 * points to this LMR.
	 */
	if (place)
		__atomic_compare_exchange_n(place, &lmr, NULL, 0, __ATOMIC_ACQ_REL,
					    __ATOMIC_RELAXED);
}

/* Says which limit a registration exceeds. */
static void explain_limit(const struct udat_lmr *lmr)
{
	uint64_t max = lmr->obj.ia->info.max_lmr_size;

	if (lmr->length > max && lmr->priv & UDAT_LMR_REMOTE)
		du_log(DU_LOG_ERROR, "%llu bytes are to be registered for access by peers, and the adapter '%s' registers at most %llu: register the memory in parts, or leave out the remote privileges",
		       (unsigned long long)lmr->length, lmr->obj.ia->name, (unsigned long long)max);
	else
		du_explain_memlock(lmr->length);
}

static DAT_RETURN lmr_error(const struct udat_lmr *lmr, int err)
{
	switch (err) {
	case ENOMEM:
		explain_limit(lmr);
		return DAT_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY_REGION);
	case EFAULT:
		du_explain_fault(lmr->start, lmr->length, lmr->priv & WRITE_PRIVILEGES);
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	case EINVAL:
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	case ENOENT:
		return DAT_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ);
	case ENETUNREACH:
		udat_explain_address(lmr->obj.ia);
		return DAT_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_DEVICE);
	case EEXIST:
		/* EEXIST: the memory is not shared, or its cookie already names other memory. */
		return DAT_ERR(DAT_INVALID_STATE, DAT_NO_SUBTYPE);
	default:
		return dat_err_from_errno(err);
	}
}

/* A driver that does not know relaxed order registers the memory with strict order. */
static uint32_t known_privileges(const struct udat_lmr *lmr)
{
	if (lmr->obj.ia->info.caps & DAT_IA_CAP_RELAXED)
		return lmr->priv;
	return lmr->priv & DAT_MEM_PRIV_ALL_FLAG;
}

DAT_RETURN udat_lmr_register(struct udat_lmr *lmr, uint32_t flags)
{
	struct dat_lmr_create arg = {
		.size = sizeof(arg), .pz = lmr->pz->obj.id, .addr = lmr->start,
		.length = lmr->length, .priv = known_privileges(lmr), .flags = flags,
	};
	int ret;

	if (lmr->type == DAT_MEM_TYPE_SHARED_VIRTUAL) {
		arg.flags |= DAT_LMR_SHARED;
		memcpy(arg.cookie, lmr->region.for_shared_memory.shared_memory_id,
		       sizeof(arg.cookie));
	}
	ret = du_file_ioctl(&lmr->obj.ia->file, DAT_IOC_LMR_CREATE, &arg);
	if (ret == -ENOMEM && udat_lmr_cache_clear(lmr->obj.ia))
		ret = du_file_ioctl(&lmr->obj.ia->file, DAT_IOC_LMR_CREATE, &arg);
	if (ret)
		return lmr_error(lmr, -ret);
	lmr->obj.id = arg.id;
	lmr->context = arg.lmr_context;
	lmr->rmr_context = arg.rmr_context;
	if (lmr_enter(lmr)) {
		struct dat_free undo = {
			.size = sizeof(undo), .type = DAT_OBJ_LMR, .id = arg.id,
		};

		du_file_ioctl(&lmr->obj.ia->file, DAT_IOC_FREE, &undo);
		return DAT_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	}
	return DAT_SUCCESS;
}

/* Set the address and the length of the memory that the consumer describes. */
static DAT_RETURN lmr_locate(struct udat_lmr *lmr)
{
	struct udat_lmr *from;

	if (lmr->type == DAT_MEM_TYPE_VIRTUAL) {
		lmr->start = (uintptr_t)lmr->region.for_va;
		return DAT_SUCCESS;
	}
	if (lmr->type == DAT_MEM_TYPE_SHARED_VIRTUAL) {
		lmr->start = (uintptr_t)lmr->region.for_shared_memory.virtual_address;
		return lmr->region.for_shared_memory.shared_memory_id ? DAT_SUCCESS :
		       DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	}
	/*
	 * Register the memory again, because the new LMR may exist longer than the LMR in
	 * for_lmr_handle.
	 */
	from = udat_lmr(lmr->region.for_lmr_handle);
	if (!from || from->obj.ia != lmr->obj.ia)
		return DAT_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_LMR);
	lmr->start = from->start;
	lmr->length = from->length;
	return DAT_SUCCESS;
}

static DAT_RETURN lmr_check(const struct udat_ia *ia, DAT_MEM_TYPE type, DAT_VLEN length,
			    const struct udat_pz *pz, DAT_MEM_PRIV_FLAGS priv,
			    const DAT_LMR_HANDLE *lmr_handle)
{
	if (!ia)
		return DAT_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	if (!pz || pz->obj.ia != ia)
		return DAT_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ);
	if (type != DAT_MEM_TYPE_VIRTUAL && type != DAT_MEM_TYPE_LMR &&
	    type != DAT_MEM_TYPE_SHARED_VIRTUAL)
		return DAT_ERR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	if (!length && type != DAT_MEM_TYPE_LMR)
		return DAT_ERR(DAT_LENGTH_ERROR, DAT_NO_SUBTYPE);
	if (priv & ~UDAT_LMR_PRIVILEGES)
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG6);
	if (!lmr_handle)
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG7);
	return DAT_SUCCESS;
}

UDAT_EXPORT DAT_RETURN dat_lmr_create(DAT_IA_HANDLE ia_handle, DAT_MEM_TYPE mem_type,
				      DAT_REGION_DESCRIPTION region, DAT_VLEN length,
				      DAT_PZ_HANDLE pz_handle, DAT_MEM_PRIV_FLAGS priv,
				      DAT_LMR_HANDLE *lmr_handle, DAT_LMR_CONTEXT *lmr_context,
				      DAT_RMR_CONTEXT *rmr_context, DAT_VLEN *registered_size,
				      DAT_VADDR *registered_address)
{
	struct udat_ia *ia = udat_ia(ia_handle);
	struct udat_pz *pz = udat_pz(pz_handle);
	struct udat_lmr *lmr;
	DAT_RETURN rc;

	UDAT_FORWARD(ia_handle, lmr_create, mem_type, region, length, pz_handle, priv, lmr_handle,
		     lmr_context, rmr_context, registered_size, registered_address);
	rc = lmr_check(ia, mem_type, length, pz, priv, lmr_handle);
	if (rc != DAT_SUCCESS)
		return rc;
	lmr = udat_obj_new(ia);
	if (!lmr)
		return DAT_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	lmr->pz = pz;
	lmr->type = mem_type;
	lmr->region = region;
	lmr->length = length;
	lmr->priv = priv;
	rc = lmr_locate(lmr);
	if (rc == DAT_SUCCESS)
		rc = udat_lmr_register(lmr, 0);
	if (rc != DAT_SUCCESS) {
		udat_obj_drop(&lmr->obj);
		return rc;
	}
	udat_obj_publish(&lmr->obj, UDAT_TYPE(LMR));
	*lmr_handle = lmr;
	if (lmr_context)
		*lmr_context = lmr->context;
	if (rmr_context)
		*rmr_context = lmr->rmr_context;
	if (registered_size)
		*registered_size = lmr->length;
	if (registered_address)
		*registered_address = lmr->start;
	return DAT_SUCCESS;
}

UDAT_EXPORT DAT_RETURN dat_lmr_query(DAT_LMR_HANDLE lmr_handle, DAT_LMR_PARAM_MASK mask,
				     DAT_LMR_PARAM *param)
{
	struct udat_lmr *lmr = udat_lmr(lmr_handle);

	UDAT_FORWARD(lmr_handle, lmr_query, mask, param);
	if (!lmr)
		return DAT_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_LMR);
	if (mask & ~DAT_LMR_FIELD_ALL)
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (!param)
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	param->ia_handle = lmr->obj.ia;
	param->mem_type = lmr->type;
	param->region_desc = lmr->region;
	param->length = lmr->length;
	param->pz_handle = lmr->pz;
	param->mem_priv = lmr->priv;
	param->lmr_context = lmr->context;
	param->rmr_context = lmr->rmr_context;
	param->registered_size = lmr->length;
	param->registered_address = lmr->start;
	return DAT_SUCCESS;
}

DAT_RETURN udat_lmr_free(struct udat_lmr *lmr)
{
	DAT_RETURN rc = udat_obj_free(&lmr->obj, UDAT_TYPE(LMR), DAT_OBJ_LMR,
				      DAT_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_LMR),
				      DAT_ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_LMR_IN_USE));

	if (rc != DAT_SUCCESS)
		return rc;
	lmr_remove(lmr);
	udat_obj_drop(&lmr->obj);
	return DAT_SUCCESS;
}

UDAT_EXPORT DAT_RETURN dat_lmr_free(DAT_LMR_HANDLE lmr_handle)
{
	struct udat_lmr *lmr = udat_lmr(lmr_handle);

	UDAT_FORWARD(lmr_handle, lmr_free);
	if (!lmr)
		return DAT_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_LMR);
	if (lmr->counted)
		return DAT_ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_LMR_IN_USE);
	return udat_lmr_free(lmr);
}

/*
 * Check the arguments and do nothing else, because RDMA memory is coherent on all machines on which
 * Linux supports RDMA.
 */
static DAT_RETURN lmr_sync(DAT_IA_HANDLE ia_handle, const DAT_LMR_TRIPLET *segments,
			   DAT_VLEN num_segments)
{
	struct udat_ia *ia = udat_ia(ia_handle);
	DAT_VLEN i;

	if (!ia)
		return DAT_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	if (num_segments && !segments)
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	for (i = 0; i < num_segments; i++)
		if (segments[i].segment_length && udat_check_range(ia, &segments[i]))
			return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	return DAT_SUCCESS;
}

UDAT_EXPORT DAT_RETURN dat_lmr_sync_rdma_read(DAT_IA_HANDLE ia_handle,
					      const DAT_LMR_TRIPLET *local_segments,
					      DAT_VLEN num_segments)
{
	UDAT_FORWARD(ia_handle, lmr_sync_rdma_read, local_segments, num_segments);
	return lmr_sync(ia_handle, local_segments, num_segments);
}

UDAT_EXPORT DAT_RETURN dat_lmr_sync_rdma_write(DAT_IA_HANDLE ia_handle,
					       const DAT_LMR_TRIPLET *local_segments,
					       DAT_VLEN num_segments)
{
	UDAT_FORWARD(ia_handle, lmr_sync_rdma_write, local_segments, num_segments);
	return lmr_sync(ia_handle, local_segments, num_segments);
}
