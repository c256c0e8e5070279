// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/* Interface adapters: open, query, close. */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../common/log.h"
#include "foreign.h"
#include "libdat.h"
#include "provider.h"

#define NOT_FOUND(sub)	DAT_ERR(DAT_PROVIDER_NOT_FOUND, sub)

static DAT_RETURN open_error(int err, const char *name)
{
	switch (err) {
	case ENOENT:
		return NOT_FOUND(DAT_NAME_NOT_REGISTERED);
	case EOPNOTSUPP:
		du_log(DU_LOG_ERROR, "dat.ko cannot use the device of '%s': the lines of 'dmesg' with its name say why", name);
		return DAT_ERR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	default:
		return dat_err_from_errno(err);
	}
}

/* If the driver is missing or refuses this user, log that.  Returns whether the driver is there. */
static int explain_device(void)
{
	int fd = du_dev_open(DU_DEV_DAT, 0);

	if (fd < 0)
		return 0;
	du_close(fd);
	return 1;
}

/* Log the reason why no provider has the name @name. */
static void explain_missing(const char *name)
{
	char device[UDAT_ALIAS_SIZE];

	if (!explain_device())
		return;
	if (udat_conf_alias(name, device))
		name = device;
	if (strchr(name, '@'))
		du_log(DU_LOG_ERROR, "no RDMA adapter '%s', or no address of an interface is after the '@': 'rdma link show' and 'ip address' list what there is",
		       name);
	else
		du_log(DU_LOG_ERROR, "no RDMA adapter '%s': 'rdma link show' lists what there is", name);
}

/*
 * Number of queues for 65,536 EPs with two queues each, and 65,536 SRQs.  The dirty bits take 24
 * KiB.
 */
#define MAX_QUEUES	196608

static DAT_RETURN ia_bind(struct udat_ia *ia, const char *device)
{
	struct dat_ia_open arg = { .size = sizeof(arg) };
	int ret;

	if (strlen(device) >= sizeof(arg.name))
		return open_error(ENOENT, device);
	strcpy((char *)arg.name, device);
	arg.user_data = (uintptr_t)ia;
	arg.features = ia->file.features & (DAT_FEATURE_SILENT | DAT_FEATURE_REJECT);
	arg.max_queues = MAX_QUEUES;
	ret = du_file_ioctl(&ia->file, DAT_IOC_IA_OPEN, &arg);
	if (ret)
		return open_error(-ret, device);
	ret = du_map(ia->file.fd, arg.doorbell_offset, arg.doorbell_size, 1, &ia->doorbell);
	if (ret)
		return dat_err_from_errno(-ret);
	ia->info.size = sizeof(ia->info);
	ret = du_file_ioctl(&ia->file, DAT_IOC_IA_QUERY, &ia->info);
	return ret ? dat_err_from_errno(-ret) : DAT_SUCCESS;
}

/*
 * If the driver is not loaded, no adapter exists.  But errors that mean that resources are short
 * are reported as such.
 */
static DAT_RETURN device_error(int err)
{
	if (err == EMFILE || err == ENFILE || err == ENOMEM)
		return dat_err_from_errno(err);
	return NOT_FOUND(DAT_NAME_NOT_REGISTERED);
}

static DAT_RETURN ia_new(const char *name, const char *device, struct udat_ia **out)
{
	struct udat_ia *ia = du_arena_alloc();
	DAT_RETURN rc;
	int ret;

	if (!ia)
		return DAT_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	ia->obj.ia = ia;
	pthread_mutex_init(&ia->feed_lock, NULL);
	pthread_mutex_init(&ia->lock, NULL);
	pthread_mutex_init(&ia->poller_lock, NULL);
	udat_list_init(&ia->objs);
	udat_list_init(&ia->deferred);
	ia->name = strdup(name);
	if (!ia->name) {
		rc = DAT_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
		goto err_free;
	}
	ret = udat_ia_open_device(ia);
	if (ret) {
		rc = device_error(-ret);
		goto err_free;
	}
	rc = ia_bind(ia, device);
	if (rc != DAT_SUCCESS)
		goto err_close;
	*out = ia;
	return DAT_SUCCESS;

err_close:
	du_unmap(&ia->doorbell);
	udat_ia_close_device(ia);
err_free:
	pthread_mutex_destroy(&ia->poller_lock);
	pthread_mutex_destroy(&ia->lock);
	pthread_mutex_destroy(&ia->feed_lock);
	free(ia->name);
	du_arena_free(ia);
	return rc;
}

/* Free the IA and all of its objects in the library.  The driver has already freed the objects. */
static void ia_destroy(struct udat_ia *ia)
{
	du_poller_end(&ia->poller);
	udat_cnos_end(ia);
	while (ia->objs.next != &ia->objs)
		udat_obj_forget(ia->objs.next);
	while (ia->deferred.next != &ia->deferred)
		udat_obj_forget(ia->deferred.next);
	udat_lmr_cache_free(ia);
	udat_lmr_table_free(ia);
	du_unmap(&ia->doorbell);
	udat_ia_close_device(ia);
	pthread_mutex_destroy(&ia->poller_lock);
	pthread_mutex_destroy(&ia->lock);
	pthread_mutex_destroy(&ia->feed_lock);
	free(ia->name);
	du_arena_free(ia);
}

/*
 * Find or make the async EVD of an IA.  An async EVD of another IA is refused, because each IA has
 * its own open file of /dev/dat, and can feed only EVDs of that file.
 */
static DAT_RETURN ia_async(struct udat_ia *ia, DAT_COUNT qlen, DAT_EVD_HANDLE *async_evd)
{
	DAT_RETURN rc;

	if (*async_evd == DAT_EVD_ASYNC_EXISTS)
		return DAT_SUCCESS;
	if (*async_evd != DAT_HANDLE_NULL) {
		struct udat_evd *evd = udat_evd(*async_evd);

		return evd && evd->flags & DAT_EVD_ASYNC_FLAG ?
		       DAT_ERR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE) :
		       DAT_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_ASYNC);
	}
	rc = udat_evd_make(ia, qlen, DAT_EVD_ASYNC_FLAG, &ia->async_evd);
	if (rc != DAT_SUCCESS)
		return rc;
	*async_evd = ia->async_evd;
	return DAT_SUCCESS;
}

static DAT_RETURN open_check(const DAT_NAME_PTR name, DAT_COUNT qlen,
			     const DAT_EVD_HANDLE *async_evd, const DAT_IA_HANDLE *ia)
{
	if (!name || strnlen(name, DAT_NAME_MAX_LENGTH) == DAT_NAME_MAX_LENGTH)
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1);
	if (!async_evd)
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	if (qlen <= 0 && *async_evd == DAT_HANDLE_NULL)
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (!ia)
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
	return DAT_SUCCESS;
}

/*
 * Open the adapter @name.  If no adapter has that name, open the adapter to which dat.conf maps it.
 */
static DAT_RETURN ia_find(const char *name, struct udat_ia **ia)
{
	char device[UDAT_ALIAS_SIZE];
	DAT_RETURN rc = ia_new(name, name, ia);

	if (DAT_GET_TYPE(rc) == DAT_PROVIDER_NOT_FOUND && udat_conf_alias(name, device))
		rc = ia_new(name, device, ia);
	return rc;
}

static DAT_RETURN ia_open(const char *name, DAT_COUNT qlen, DAT_EVD_HANDLE *async_evd,
			  DAT_IA_HANDLE *ia_handle, DAT_BOOLEAN thread_safety)
{
	struct udat_ia *ia;
	DAT_RETURN rc;

	rc = ia_find(name, &ia);
	if (rc != DAT_SUCCESS)
		return rc;
	ia->single = !thread_safety;
	rc = ia_async(ia, qlen, async_evd);
	if (rc != DAT_SUCCESS) {
		ia_destroy(ia);
		return rc;
	}
	udat_obj_publish(&ia->obj, UDAT_TYPE(IA));
	*ia_handle = ia;
	return DAT_SUCCESS;
}

UDAT_EXPORT DAT_RETURN dat_ia_openv(const DAT_NAME_PTR ia_name, DAT_COUNT async_evd_min_qlen,
				    DAT_EVD_HANDLE *async_evd_handle,
				    DAT_IA_HANDLE *ia_handle, DAT_UINT32 dat_major,
				    DAT_UINT32 dat_minor, DAT_BOOLEAN thread_safety)
{
	DAT_RETURN rc;

	rc = open_check(ia_name, async_evd_min_qlen, async_evd_handle, ia_handle);
	if (rc != DAT_SUCCESS)
		return rc;
	if (dat_major != DAT_VERSION_MAJOR)
		rc = NOT_FOUND(DAT_MAJOR_NOT_FOUND);
	else if (dat_minor > DAT_VERSION_MINOR)
		rc = NOT_FOUND(DAT_MINOR_NOT_FOUND);
	else
		rc = ia_open(ia_name, async_evd_min_qlen, async_evd_handle, ia_handle,
			     thread_safety);
	if (DAT_GET_TYPE(rc) != DAT_PROVIDER_NOT_FOUND)
		return rc;
	if (udat_provider_known(ia_name)) {
		rc = udat_provider_open(ia_name, async_evd_min_qlen, async_evd_handle, ia_handle,
					dat_major, dat_minor, thread_safety);
		/* A line of dat.conf may be left from another provider. */
		if (DAT_GET_TYPE(rc) == DAT_PROVIDER_NOT_FOUND)
			explain_device();
		return rc;
	}
	if (DAT_GET_SUBTYPE(rc) == DAT_NAME_NOT_REGISTERED)
		explain_missing(ia_name);
	return rc;
}

/* A device reports its firmware version as a string like "20.31.1014", or as an empty string. */
static void fill_firmware(DAT_IA_ATTR *attr, const struct dat_ia_query *info)
{
	unsigned int major = 0, minor = 0;

	if (sscanf((const char *)info->fw, "%u.%u", &major, &minor) < 1)
		major = 0;
	attr->firmware_version_major = major;
	attr->firmware_version_minor = minor;
}

static DAT_COUNT to_count(uint32_t n)
{
	return n > 0x7fffffff ? 0x7fffffff : (DAT_COUNT)n;
}

static void fill_ia_attr(struct udat_ia *ia, DAT_IA_ATTR *attr)
{
	const struct dat_ia_query *info = &ia->info;

	memset(attr, 0, sizeof(*attr));
	strcpy(attr->adapter_name, ia->name);
	snprintf(attr->vendor_name, sizeof(attr->vendor_name), "%s %#x", info->device,
		 info->vendor_id);
	attr->hardware_version_major = info->hw_ver;
	fill_firmware(attr, info);
	attr->ia_address_ptr = info->addr_len ? (DAT_IA_ADDRESS_PTR)info->addr : NULL;
	attr->max_eps = to_count(info->max_eps);
	attr->max_dto_per_ep = to_count(info->max_dto_per_ep);
	attr->max_rdma_read_per_ep_in = to_count(info->max_rdma_read_in);
	attr->max_rdma_read_per_ep_out = to_count(info->max_rdma_read_out);
	attr->max_evds = 1 << 22;
	attr->max_evd_qlen = to_count(info->max_evd_qlen);
	attr->max_iov_segments_per_dto = to_count(info->max_iov);
	attr->max_lmrs = to_count(info->max_lmrs);
	attr->max_lmr_block_size = info->max_lmr_size;
	attr->max_lmr_virtual_address = ~(DAT_VADDR)0;
	attr->max_pzs = to_count(info->max_pzs);
	attr->max_message_size = info->max_message_size;
	attr->max_rdma_size = info->max_message_size;
	/* Each bound RMR uses up one memory registration. */
	attr->max_rmrs = to_count(info->max_lmrs);
	attr->max_rmr_target_address = ~(DAT_VADDR)0;
	attr->max_srqs = to_count(info->max_srqs);
	attr->max_ep_per_srq = info->max_srqs ? to_count(info->max_eps) : 0;
	attr->max_recv_per_srq = to_count(info->max_recv_per_srq);
	attr->max_iov_segments_per_rdma_read = to_count(info->max_iov_read);
	attr->max_iov_segments_per_rdma_write = to_count(info->max_iov);
	attr->max_rdma_read_per_ep_in_guaranteed = DAT_TRUE;
	attr->max_rdma_read_per_ep_out_guaranteed = DAT_TRUE;
	attr->max_rdma_read_in = attr->max_rdma_read_per_ep_in;
	attr->max_rdma_read_out = attr->max_rdma_read_per_ep_out;
}

/* Report that every pair of stream kinds may share an EVD. */
static void fill_merging(DAT_PROVIDER_ATTR *attr)
{
	DAT_BOOLEAN *merge = (DAT_BOOLEAN *)attr->evd_stream_merging_supported;
	int i;

	for (i = 0; i < 36; i++)
		merge[i] = DAT_TRUE;
}

#define NAMED(keys)	{ { "relaxed_order", keys }, { "immediate_data", "1" } }

/*
 * Set the named attributes: the keys through which the bytes of a peer's write may become visible
 * out of order, then immediate data, if the adapter has them.  A driver that does not know the
 * first is older than the second.
 */
static void fill_named(const struct dat_ia_query *info, DAT_PROVIDER_ATTR *attr)
{
	static DAT_NAMED_ATTR none[] = NAMED("none");
	static DAT_NAMED_ATTR rmr[] = NAMED("rmr");
	static DAT_NAMED_ATTR both[] = NAMED("lmr,rmr");

	if (!(info->caps & DAT_IA_CAP_RELAXED))
		return;
	attr->num_provider_specific_attr = info->sqe_flags & DAT_SQE_IMM ? 2 : 1;
	attr->provider_specific_attr = none;
	if (info->caps & DAT_IA_CAP_RELAXED_RMR)
		attr->provider_specific_attr = rmr;
	if (info->caps & DAT_IA_CAP_RELAXED_LMR)
		attr->provider_specific_attr = both;
}

static void fill_provider_attr(struct udat_ia *ia, DAT_PROVIDER_ATTR *attr)
{
	memset(attr, 0, sizeof(*attr));
	strcpy(attr->provider_name, ia->name);
	attr->provider_version_major = 1;
	attr->dapl_version_major = DAT_VERSION_MAJOR;
	attr->dapl_version_minor = DAT_VERSION_MINOR;
	/* DAT_MEM_TYPE_VIRTUAL has the value 0, so it needs no bit in this mask. */
	attr->lmr_mem_types_supported = (DAT_MEM_TYPE)(DAT_MEM_TYPE_LMR |
						       DAT_MEM_TYPE_SHARED_VIRTUAL);
	attr->iov_ownership_on_return = DAT_IOV_CONSUMER;
	attr->dat_qos_supported = (DAT_QOS)UDAT_QOS_ALL;
	attr->completion_flags_supported = DAT_COMPLETION_SUPPRESS_FLAG |
					   DAT_COMPLETION_SOLICITED_WAIT_FLAG |
					   DAT_COMPLETION_UNSIGNALLED_FLAG |
					   DAT_COMPLETION_BARRIER_FENCE_FLAG;
	attr->is_thread_safe = ia->single ? DAT_FALSE : DAT_TRUE;
	attr->max_private_data_size = udat_pd_max(ia);
	attr->supports_multipath = DAT_FALSE;
	attr->ep_creator = DAT_PSP_CREATES_EP_IFASKED;
	attr->pz_support = DAT_PZ_UNIQUE;
	attr->optimal_buffer_alignment = DAT_OPTIMAL_ALIGNMENT;
	fill_merging(attr);
	attr->srq_supported = ia->info.max_srqs ? DAT_TRUE : DAT_FALSE;
	attr->srq_watermarks_supported = 0x001;	/* low watermark only */
	attr->srq_info_supported = 0x11;	/* counts of available and outstanding buffers */
	attr->ep_recv_info_supported = 0x11;	/* buffers and span, only if the EP has no SRQ */
	attr->rdma_write_for_rdma_read_req =
		ia->info.flags & DAT_IA_FLAG_IWARP ? DAT_TRUE : DAT_FALSE;
	fill_named(&ia->info, attr);
}

UDAT_EXPORT DAT_RETURN dat_ia_query(DAT_IA_HANDLE ia_handle, DAT_EVD_HANDLE *async_evd_handle,
				    DAT_IA_ATTR_MASK ia_attr_mask, DAT_IA_ATTR *ia_attr,
				    DAT_PROVIDER_ATTR_MASK provider_attr_mask,
				    DAT_PROVIDER_ATTR *provider_attr)
{
	struct udat_ia *ia = udat_ia(ia_handle);

	UDAT_FORWARD(ia_handle, ia_query, async_evd_handle, ia_attr_mask, ia_attr,
		     provider_attr_mask, provider_attr);
	if (!ia)
		return DAT_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	if (ia_attr_mask & ~(DAT_IA_ATTR_MASK)DAT_IA_FIELD_ALL)
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	if (ia_attr_mask && !ia_attr)
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
	if (provider_attr_mask & ~(DAT_PROVIDER_ATTR_MASK)DAT_PROVIDER_FIELD_ALL)
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5);
	if (provider_attr_mask && !provider_attr)
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG6);

	if (async_evd_handle)
		*async_evd_handle = ia->async_evd ? (DAT_EVD_HANDLE)ia->async_evd :
						    DAT_EVD_OUT_OF_SCOPE;
	if (ia_attr_mask)
		fill_ia_attr(ia, ia_attr);
	if (provider_attr_mask)
		fill_provider_attr(ia, provider_attr);
	return DAT_SUCCESS;
}

static int ia_in_use(struct udat_ia *ia)
{
	int busy;

	udat_lmr_cache_clear(ia);
	pthread_mutex_lock(&ia->lock);
	busy = ia->nobjs > (ia->async_evd ? 1U : 0U);
	pthread_mutex_unlock(&ia->lock);
	return busy;
}

/*
 * Returns whether a thread may be in the driver that no call can wake, because the program has
 * closed the descriptor.  Such a thread keeps the open file and uses the IA.
 */
static int ia_stuck(struct udat_ia *ia)
{
	int stuck;

	pthread_mutex_lock(&ia->poller_lock);
	stuck = ia->poller.pid || ia->agents;
	pthread_mutex_unlock(&ia->poller_lock);
	return stuck || __atomic_load_n(&ia->waiters, __ATOMIC_ACQUIRE);
}

UDAT_EXPORT DAT_RETURN dat_ia_close(DAT_IA_HANDLE ia_handle, DAT_CLOSE_FLAGS flags)
{
	struct dat_ia_close arg = { .size = sizeof(arg) };
	const DAT_PROVIDER *foreign = udat_foreign(ia_handle);
	struct udat_ia *ia = udat_ia(ia_handle);
	int valid;

	if (foreign)
		return udat_provider_close(foreign, ia_handle, flags);
	if (!ia)
		return DAT_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	if (flags != DAT_CLOSE_ABRUPT_FLAG && flags != DAT_CLOSE_GRACEFUL_FLAG)
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (flags == DAT_CLOSE_GRACEFUL_FLAG && ia_in_use(ia))
		return DAT_ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_IA_IN_USE);
	valid = du_file_valid(&ia->file);
	if (!valid && ia_stuck(ia)) {
		du_file_check(&ia->file);
		return DAT_ERR(DAT_INTERNAL_ERROR, DAT_RESOURCE_DEVICE);
	}
	if (!du_slot_revoke(&ia->obj.slot, UDAT_TYPE(IA)))
		return DAT_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);

	/*
	 * DAT_IOC_IA_CLOSE wakes all waiting threads.  Unmap the pages only when all of them have
	 * returned.  If the program has closed the descriptor, the open file ends with the last
	 * mapping.
	 */
	if (valid)
		du_file_ioctl(&ia->file, DAT_IOC_IA_CLOSE, &arg);
	while (__atomic_load_n(&ia->waiters, __ATOMIC_ACQUIRE))
		sched_yield();
	ia_destroy(ia);
	return DAT_SUCCESS;
}
