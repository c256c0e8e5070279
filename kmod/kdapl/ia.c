// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* Adapters that kernel consumers open: registry, open, query and close. */
#include <linux/module.h>
#include <linux/nsproxy.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <net/net_namespace.h>

#include "core/addr.h"
#include "core/dat.h"
#include "core/event/evd.h"
#include "core/mem/lmr.h"
#include "core/xport.h"
#include "kdapl/kdapl.h"

#define NOT_FOUND(subtype)	KDAT_ERR(DAT_PROVIDER_NOT_FOUND, subtype)

/* Returns the network namespace of the calling task, or init_net for an exiting task. */
static struct net *caller_net(void)
{
	return current->nsproxy ? current->nsproxy->net_ns : &init_net;
}

static DAT_RETURN open_check(const char *name, DAT_COUNT qlen, const DAT_EVD_HANDLE *async_evd,
			     const DAT_IA_HANDLE *ia)
{
	if (!name || strnlen(name, DAT_NAME_MAX_LENGTH) == DAT_NAME_MAX_LENGTH)
		return KDAT_ARG(1);
	if (!async_evd)
		return KDAT_ARG(3);
	if (*async_evd == DAT_HANDLE_NULL && qlen <= 0)
		return KDAT_ARG(2);
	if (*async_evd == DAT_HANDLE_NULL && qlen > DAT_MAX_EVD_QLEN)
		return KDAT_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEVD);
	return ia ? DAT_SUCCESS : KDAT_ARG(4);
}

static DAT_RETURN version_check(u32 major, u32 minor)
{
	if (major != DAT_VERSION_MAJOR)
		return NOT_FOUND(DAT_MAJOR_NOT_FOUND);
	return minor > DAT_VERSION_MINOR ? NOT_FOUND(DAT_MINOR_NOT_FOUND) : DAT_SUCCESS;
}

/*
 * Returns the error for an open that passes an async EVD.  An existing EVD belongs to another IA,
 * which is not supported.
 */
static DAT_RETURN foreign_evd(DAT_EVD_HANDLE handle)
{
	bool known;

	rcu_read_lock();
	known = kdat_find(handle, DAT_HANDLE_TYPE_EVD);
	rcu_read_unlock();
	return known ? KDAT_ERR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE) : KDAT_BAD(EVD_ASYNC);
}

static int ia_make_async(struct dat_ia *ia, DAT_COUNT qlen, DAT_EVD_HANDLE *async_evd)
{
	struct dat_evd *evd;
	int ret;

	if (*async_evd == DAT_EVD_ASYNC_EXISTS)
		return 0;
	evd = kdat_evd_make(ia, qlen, DAT_UPCALL_DISABLE, NULL, DAT_EVD_ASYNC_FLAG);
	ret = PTR_ERR_OR_ZERO(evd);
	if (!ret) {
		dat_ia_set_async_evd(ia, evd);
		*async_evd = kdat_handle(&evd->obj);
		dat_obj_put(&evd->obj);
	}
	return ret;
}

/*
 * Opens an adapter and publishes the handle.  @one_addr: true to use only the address that
 * dat_dev_addr() chooses now, even if the adapter gets other addresses later; the open then fails
 * with -ENETUNREACH if the adapter has no address.  May sleep.
 */
static int ia_open(struct kdat_ia *kia, struct net *net, const char *name, DAT_COUNT qlen,
		   DAT_EVD_HANDLE *async_evd, bool one_addr)
{
	struct dat_ia *ia;
	int ret;

	ret = kdat_ia_reserve(kia);
	if (ret)
		return ret;
	ia = dat_ia_open(name, net, &kdat_face, (uintptr_t)kia->handle);
	if (IS_ERR(ia)) {
		ret = PTR_ERR(ia);
		goto err_unreserve;
	}
	ia->reject_data = true;
	kia->ia = ia;
	ret = dat_ia_lock_live(ia);
	if (ret)
		goto err_close;
	ret = dat_dev_addr(ia, &kia->addr);
	if (one_addr)
		ia->addr = kia->addr;
	if (!one_addr || !ret)
		ret = ia_make_async(ia, qlen, async_evd);
	dat_ia_unlock(ia);
	if (ret)
		goto err_close;
	kdat_ia_publish(kia);
	return 0;

err_close:
	dat_ia_close(ia);
	dat_ia_put(ia);
err_unreserve:
	kdat_ia_unreserve(kia);
	return ret;
}

static DAT_RETURN ia_make(struct net *net, const char *name, DAT_COUNT qlen,
			  DAT_EVD_HANDLE *async_evd, bool one_addr, struct module *owner,
			  DAT_IA_HANDLE *out)
{
	struct kdat_ia *kia;
	int ret;

	kia = kzalloc(sizeof(*kia), GFP_KERNEL);
	if (!kia)
		return kdat_error(-ENOMEM);
	kia->owner = owner;
	ret = ia_open(kia, net, name, qlen, async_evd, one_addr);
	if (ret) {
		kfree(kia);
		return ret == -ENOENT ? NOT_FOUND(DAT_NAME_NOT_REGISTERED) :
					kdat_listen_error(ret, DAT_SUCCESS);
	}
	*out = kia->handle;
	return DAT_SUCCESS;
}

DAT_RETURN kdat_ia_openv(const DAT_NAME_PTR ia_name, DAT_COUNT async_evd_min_qlen,
			 DAT_EVD_HANDLE *async_evd_handle, DAT_IA_HANDLE *ia_handle,
			 DAT_UINT32 dat_major, DAT_UINT32 dat_minor,
			 DAT_BOOLEAN thread_safety, struct module *owner)
{
	DAT_EVD_HANDLE async_evd;
	DAT_RETURN rc;

	rc = open_check(ia_name, async_evd_min_qlen, async_evd_handle, ia_handle);
	if (rc == DAT_SUCCESS)
		rc = version_check(dat_major, dat_minor);
	if (rc != DAT_SUCCESS)
		return rc;
	if (kdat_cant_sleep())
		return KDAT_CONTEXT;
	might_sleep();
	async_evd = *async_evd_handle;
	if (async_evd != DAT_HANDLE_NULL && async_evd != DAT_EVD_ASYNC_EXISTS)
		return foreign_evd(async_evd);
	rc = ia_make(caller_net(), ia_name, async_evd_min_qlen, &async_evd, false, owner,
		     ia_handle);
	if (rc == DAT_SUCCESS)
		*async_evd_handle = async_evd;
	return rc;
}
EXPORT_SYMBOL_DAT(kdat_ia_openv);

/**
 * kdat_ia_open_net() - open an adapter in a given network namespace
 * @net: network namespace; the IA holds a reference to @net until the IA is closed
 * @name: IA name
 * @owner: module of the consumer; an IA that is still open when @owner is unloaded is closed
 * @ia: set to the handle of the IA, which has no async EVD
 *
 * The IA connects and listens only at the address that dat_dev_addr() chooses at the open, because
 * a peer may identify a node by its address.
 *
 * Context: may sleep.  Return: like kdat_ia_openv(); DAT_INSUFFICIENT_RESOURCES with
 * DAT_RESOURCE_DEVICE if the adapter has no address.
 */
DAT_RETURN kdat_ia_open_net(struct net *net, const char *name, struct module *owner,
			    DAT_IA_HANDLE *ia)
{
	DAT_EVD_HANDLE async_evd = DAT_EVD_ASYNC_EXISTS;

	return ia_make(net, name, 0, &async_evd, true, owner, ia);
}
EXPORT_SYMBOL_DAT_INTERNAL(kdat_ia_open_net);

/**
 * kdat_ia_good() - check whether an IA can be used for new connections and listeners
 * @ia: handle of the IA
 *
 * Context: may sleep.  Return: false if the IA was closed, if the device is gone, or if the adapter
 * has addresses but not the address that dat_dev_addr() chose at the open.
 */
bool kdat_ia_good(DAT_IA_HANDLE ia)
{
	const struct sockaddr_storage any = {};
	struct kdat_ia *kia = kdat_ia_get(ia);
	struct sockaddr_storage ss;
	bool good = true;
	u32 nr = 0;

	if (IS_ERR(kia))
		return false;
	while (dat_dev_next_addr(kia->ia, &any, &nr, &ss)) {
		good = dat_addr_same(&ss, &kia->addr);
		if (good)
			break;
	}
	kdat_ia_done(kia);
	return good;
}
EXPORT_SYMBOL_DAT_INTERNAL(kdat_ia_good);

/*
 * Returns the address that dat_dev_addr() chose at the open, or NULL if the adapter had no address.
 * The result is valid until the IA is closed.
 */
DAT_IA_ADDRESS_PTR kdat_ia_addr(struct kdat_ia *kia)
{
	return kia->addr.ss_family ? (struct sockaddr *)&kia->addr : NULL;
}

static void kia_fill_limits(const struct dat_ia *ia, DAT_IA_ATTR *attr)
{
	const struct dat_limits *limits = &ia->dev->limits;
	u32 iov = min(limits->send_sge, limits->recv_sge);

	attr->max_eps = limits->max_qp;
	attr->max_dto_per_ep = limits->max_dto;
	attr->max_rdma_read_per_ep_in = limits->read_in;
	attr->max_rdma_read_per_ep_out = limits->read_out;
	attr->max_evds = 1 << 22;
	attr->max_evd_qlen = DAT_MAX_EVD_QLEN;
	attr->max_iov_segments_per_dto = iov;
	attr->max_lmrs = limits->max_mr;
	attr->max_lmr_block_size = min_t(u64, limits->max_mr_size, U32_MAX);
	attr->max_lmr_virtual_address = ~(DAT_VADDR)0;
	attr->max_pzs = limits->max_pd;
	attr->max_message_size = ia->msg_max;
	attr->max_rdma_size = ia->msg_max;
	/* Each binding of an RMR needs one registration, so the limits are the same. */
	attr->max_rmrs = limits->max_mr;
	attr->max_rmr_target_address = ~(DAT_VADDR)0;
	attr->max_srqs = limits->max_srq;
	attr->max_ep_per_srq = limits->max_srq ? limits->max_qp : 0;
	attr->max_recv_per_srq = limits->max_srq_dto;
	attr->max_iov_segments_per_rdma_read = min(limits->read_sge, iov);
	attr->max_iov_segments_per_rdma_write = iov;
}

static void fill_ia_attr(struct kdat_ia *kia, DAT_IA_ATTR *attr)
{
	struct dat_ia *ia = kia->ia;
	const struct dat_limits *limits = &ia->dev->limits;
	char device[DAT_NAME_SIZE];

	memset(attr, 0, sizeof(*attr));
	strscpy(attr->adapter_name, ia->name, sizeof(attr->adapter_name));
	ia->dev->ops->name(ia->dev, device, sizeof(device));
	snprintf(attr->vendor_name, sizeof(attr->vendor_name), "%s %#x", device,
		 limits->vendor_id);
	attr->hardware_version_major = limits->hw_ver;
	/* limits->fw is "20.31.1014", for example, or an empty string. */
	if (sscanf(limits->fw, "%u.%u", &attr->firmware_version_major,
		   &attr->firmware_version_minor) < 1)
		attr->firmware_version_major = 0;
	attr->ia_address_ptr = kdat_ia_addr(kia);
	kia_fill_limits(ia, attr);
	attr->max_rdma_read_in = attr->max_rdma_read_per_ep_in;
	attr->max_rdma_read_out = attr->max_rdma_read_per_ep_out;
	attr->max_rdma_read_per_ep_in_guaranteed = DAT_TRUE;
	attr->max_rdma_read_per_ep_out_guaranteed = DAT_TRUE;
	attr->zb_supported = DAT_FALSE;
	attr->reserved_lmr_supported = DAT_TRUE;
}

static void fill_merging(DAT_PROVIDER_ATTR *attr)
{
	unsigned int i, j;

	/* All streams can be merged, because an EVD has one ring for all its streams. */
	for (i = 0; i < ARRAY_SIZE(attr->evd_stream_merging_supported); i++)
		for (j = 0; j < ARRAY_SIZE(attr->evd_stream_merging_supported[i]); j++)
			attr->evd_stream_merging_supported[i][j] = DAT_TRUE;
}

/*
 * Named attributes: the keys of kernel memory through which the bytes of a peer's write may become
 * visible out of order, then immediate data, which adapters over iWARP do not have.
 */
static DAT_NAMED_ATTR ordered[] = { { "relaxed_order", "none" }, { "immediate_data", "1" } };
static DAT_NAMED_ATTR relaxed[] = { { "relaxed_order", "lmr,rmr" }, { "immediate_data", "1" } };

static void fill_provider_attr(struct kdat_ia *kia, DAT_PROVIDER_ATTR *attr)
{
	struct dat_ia *ia = kia->ia;
	const struct dat_limits *limits = &ia->dev->limits;

	memset(attr, 0, sizeof(*attr));
	strscpy(attr->provider_name, ia->name, sizeof(attr->provider_name));
	attr->provider_version_major = 1;
	attr->dapl_version_major = DAT_VERSION_MAJOR;
	attr->dapl_version_minor = DAT_VERSION_MINOR;
	attr->lmr_mem_types_supported = kdat_mem_types();
	attr->iov_ownership_on_return = DAT_IOV_CONSUMER;
	attr->dat_qos_supported = KDAT_QOS_ALL;
	attr->completion_flags_supported = DAT_COMPLETION_SUPPRESS_FLAG |
					   DAT_COMPLETION_SOLICITED_WAIT_FLAG |
					   DAT_COMPLETION_UNSIGNALLED_FLAG |
					   DAT_COMPLETION_BARRIER_FENCE_FLAG |
					   DAT_COMPLETION_LMR_INVALIDATE_FENCE_FLAG;
	attr->is_thread_safe = DAT_TRUE;
	attr->max_private_data_size = kdat_pd_max(ia);
	attr->ep_creator = DAT_PSP_CREATES_EP_IFASKED;
	attr->upcall_policy = DAT_UPCALL_MANY;
	attr->optimal_buffer_alignment = DAT_OPTIMAL_ALIGNMENT;
	fill_merging(attr);
	attr->srq_supported = limits->max_srq ? DAT_TRUE : DAT_FALSE;
	attr->srq_watermarks_supported = 0x001;	/* the low watermark is supported */
	attr->srq_info_supported = 0x01;
	attr->ep_recv_info_supported = 0x11;	/* only EPs without an SRQ */
	/* The DMA mapping of the platform may need a sync.  An unneeded sync is cheap. */
	attr->lmr_sync_req = limits->virt_dma ? DAT_FALSE : DAT_TRUE;
	attr->rdma_write_for_rdma_read_req = ia->iwarp ? DAT_TRUE : DAT_FALSE;
	attr->rdma_read_lmr_rmr_context_exposure = ia->iwarp ? DAT_TRUE : DAT_FALSE;
	attr->rmr_scope_supported = DAT_RMR_SCOPE_PZ;
	attr->is_interrupt_safe = DAT_FALSE;
	attr->fmr_supported = limits->fast_reg_pages ? DAT_TRUE : DAT_FALSE;
	attr->lmr_for_fmr_scope_supported = DAT_LMR_SCOPE_PZ;
	attr->num_provider_specific_attr = ia->iwarp ? 1 : 2;
	attr->provider_specific_attr = limits->caps & DAT_IA_CAP_RELAXED_RMR ? relaxed : ordered;
}

DAT_RETURN kdat_ia_query(DAT_IA_HANDLE ia_handle, DAT_EVD_HANDLE *async_evd_handle,
			 DAT_IA_ATTR_MASK ia_attr_mask, DAT_IA_ATTR *ia_attr,
			 DAT_PROVIDER_ATTR_MASK provider_attr_mask,
			 DAT_PROVIDER_ATTR *provider_attr)
{
	struct dat_evd *async;
	struct kdat_ia *kia;

	if (ia_attr_mask & ~DAT_IA_FIELD_ALL)
		return KDAT_ARG(3);
	if (ia_attr_mask && !ia_attr)
		return KDAT_ARG(4);
	if (provider_attr_mask & ~DAT_PROVIDER_FIELD_ALL)
		return KDAT_ARG(5);
	if (provider_attr_mask && !provider_attr)
		return KDAT_ARG(6);
	kia = kdat_ia_get(ia_handle);
	if (IS_ERR(kia))
		return kdat_lookup_error(PTR_ERR(kia), KDAT_BAD(IA));
	async = READ_ONCE(kia->ia->async_evd);
	if (async_evd_handle)
		*async_evd_handle = async ? kdat_handle(&async->obj) : DAT_EVD_OUT_OF_SCOPE;
	if (ia_attr_mask)
		fill_ia_attr(kia, ia_attr);
	if (provider_attr_mask)
		fill_provider_attr(kia, provider_attr);
	kdat_ia_done(kia);
	return DAT_SUCCESS;
}
EXPORT_SYMBOL_DAT(kdat_ia_query);

/* Calls @fn for each EVD of an IA.  Returns true if any of the calls returned true. */
static bool ia_any_evd(struct dat_ia *ia, bool (*fn)(struct dat_evd *evd))
{
	struct dat_obj *obj;
	unsigned long id;
	bool any = false;

	for (id = 0; (obj = dat_ia_next(ia, &id)); id++) {
		if (obj->type == DAT_OBJ_EVD)
			any |= fn(to_dat_evd(obj));
		dat_obj_put(obj);
	}
	return any;
}

static bool end_upcalls(struct dat_evd *evd)
{
	dat_evd_kill(evd);
	kdat_upcall_end(evd);
	return false;
}

/* Returns true if the IA has objects other than the async EVD and the reserved LMR. */
static bool ia_in_use(struct dat_ia *ia)
{
	struct dat_lmr *reserved = READ_ONCE(ia->reserved);
	struct dat_evd *async = READ_ONCE(ia->async_evd);
	struct dat_obj *obj;
	unsigned long id;
	bool used = false;

	for (id = 0; !used && (obj = dat_ia_next(ia, &id)); id++) {
		used = !(async && obj == &async->obj) && !(reserved && obj == &reserved->obj);
		dat_obj_put(obj);
	}
	return used;
}

/*
 * Checks whether the IA can be closed.  An IA cannot be closed inside an upcall of one of the IA's
 * EVDs, and not gracefully while the IA is in use.  This function does not use kdat_ia_get(), which
 * fails if the device is gone.
 */
static DAT_RETURN close_check(DAT_IA_HANDLE handle, DAT_CLOSE_FLAGS flags)
{
	struct dat_ia *ia = NULL;
	struct kdat_ia *kia;
	DAT_RETURN rc = DAT_SUCCESS;

	rcu_read_lock();
	kia = kdat_ia_find(handle);
	if (kia) {
		ia = kia->ia;
		kref_get(&ia->ref);
	}
	rcu_read_unlock();
	if (!ia)
		return KDAT_BAD(IA);
	if (ia_any_evd(ia, kdat_upcall_is_mine))
		rc = KDAT_ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_IA_IN_USE);
	else if (flags == DAT_CLOSE_GRACEFUL_FLAG && ia_in_use(ia))
		rc = KDAT_ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_IA_IN_USE);
	dat_ia_put(ia);
	return rc;
}

DAT_RETURN kdat_ia_close(DAT_IA_HANDLE ia_handle, DAT_CLOSE_FLAGS ia_flags)
{
	struct kdat_ia *kia;
	DAT_RETURN rc;

	if (kdat_cant_sleep())
		return KDAT_CONTEXT;
	might_sleep();
	if (ia_flags != DAT_CLOSE_ABRUPT_FLAG && ia_flags != DAT_CLOSE_GRACEFUL_FLAG)
		return KDAT_ARG(2);
	rc = close_check(ia_handle, ia_flags);
	if (rc != DAT_SUCCESS)
		return rc;
	kia = kdat_ia_take(ia_handle);
	if (!kia)
		return KDAT_BAD(IA);
	ia_any_evd(kia->ia, end_upcalls);
	dat_ia_close(kia->ia);
	dat_ia_put(kia->ia);
	kfree(kia);
	return DAT_SUCCESS;
}
EXPORT_SYMBOL_DAT(kdat_ia_close);

static void fill_info(DAT_PROVIDER_INFO *info, const char *name)
{
	memset(info, 0, sizeof(*info));
	strscpy(info->ia_name, name, sizeof(info->ia_name));
	info->dapl_version_major = DAT_VERSION_MAJOR;
	info->dapl_version_minor = DAT_VERSION_MINOR;
	info->is_thread_safe = DAT_TRUE;
}

DAT_RETURN kdat_registry_list_providers(DAT_COUNT max_to_return, DAT_COUNT *number_entries,
					DAT_PROVIDER_INFO **provider_list)
{
	struct dat_dev_entry entry;
	DAT_COUNT n;
	u64 cursor = 0;

	if (kdat_cant_sleep())
		return KDAT_CONTEXT;
	might_sleep();
	if (max_to_return < 0)
		return KDAT_ARG(1);
	if (!number_entries)
		return KDAT_ARG(2);
	if (max_to_return && !provider_list)
		return KDAT_ARG(3);
	for (n = 0; !dat_dev_next(caller_net(), &cursor, &entry, NULL); n++)
		if (n < max_to_return && provider_list[n])
			fill_info(provider_list[n], entry.name);
	*number_entries = n;
	return DAT_SUCCESS;
}
EXPORT_SYMBOL_DAT(kdat_registry_list_providers);

/* Returns true if the calling task could open an adapter by the name in @info. */
static bool name_taken(const DAT_PROVIDER_INFO *info)
{
	struct dat_dev *dev;
	u32 port;

	if (strnlen(info->ia_name, sizeof(info->ia_name)) == sizeof(info->ia_name))
		return false;
	dev = dat_dev_find(info->ia_name, caller_net(), &port, NULL);
	if (!IS_ERR(dev))
		dat_dev_put(dev);
	return !IS_ERR(dev);
}

DAT_RETURN kdat_registry_add_provider(const DAT_PROVIDER *provider,
				      const DAT_PROVIDER_INFO *provider_info)
{
	if (!provider)
		return KDAT_ARG(1);
	if (!provider_info)
		return KDAT_ARG(2);
	if (kdat_cant_sleep())
		return KDAT_CONTEXT;
	might_sleep();
	if (name_taken(provider_info))
		return KDAT_ERR(DAT_PROVIDER_ALREADY_REGISTERED, DAT_NO_SUBTYPE);
	return KDAT_ERR(DAT_NOT_IMPLEMENTED, DAT_NO_SUBTYPE);
}
EXPORT_SYMBOL_DAT(kdat_registry_add_provider);

DAT_RETURN kdat_registry_remove_provider(const DAT_PROVIDER *provider,
					 const DAT_PROVIDER_INFO *provider_info)
{
	if (!provider)
		return KDAT_ARG(1);
	if (!provider_info)
		return KDAT_ARG(2);
	if (kdat_cant_sleep())
		return KDAT_CONTEXT;
	might_sleep();
	if (name_taken(provider_info))
		return KDAT_ERR(DAT_PROVIDER_IN_USE, DAT_NO_SUBTYPE);
	return NOT_FOUND(DAT_NAME_NOT_REGISTERED);
}
EXPORT_SYMBOL_DAT(kdat_registry_remove_provider);

DAT_RETURN kdat_registry_providers_related(const DAT_NAME_PTR name1, const DAT_NAME_PTR name2,
					   DAT_HA_RELATIONSHIP *answer)
{
	if (!name1)
		return KDAT_ARG(1);
	if (!name2)
		return KDAT_ARG(2);
	if (!answer)
		return KDAT_ARG(3);
	return KDAT_ERR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
}
EXPORT_SYMBOL_DAT(kdat_registry_providers_related);

/* Closes the IAs that an unloaded module has left open, because upcalls would run freed code. */
static int module_event(struct notifier_block *nb, unsigned long state, void *data)
{
	struct module *mod = data;
	DAT_IA_HANDLE handle;
	DAT_RETURN rc;

	if (state != MODULE_STATE_GOING)
		return NOTIFY_DONE;
	while ((handle = kdat_ia_of_module(mod)) != DAT_HANDLE_NULL) {
		pr_warn("dat: module %s has left an IA open\n", mod->name);
		rc = kdat_ia_close(handle, DAT_CLOSE_ABRUPT_FLAG);
		/*
		 * KDAT_BAD(IA) means that another thread is closing this IA.  Go on, because the
		 * module may have other IAs open.
		 */
		if (rc != DAT_SUCCESS && rc != KDAT_BAD(IA))
			break;
	}
	return NOTIFY_OK;
}

static struct notifier_block module_nb = { .notifier_call = module_event };

int kdat_init(void)
{
	int ret = kdat_upcall_init();

	if (ret)
		return ret;
	ret = register_module_notifier(&module_nb);
	if (ret)
		kdat_upcall_exit();
	return ret;
}

/* Ends the kDAPL face.  No IA is open, because a consumer module holds a reference to dat.ko. */
void kdat_exit(void)
{
	unregister_module_notifier(&module_nb);
	kdat_upcall_exit();
}
