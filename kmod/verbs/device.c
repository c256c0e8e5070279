// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* Verbs devices: registration with the core, removal, operations and limits. */
#include <linux/log2.h>
#include <linux/sizes.h>
#include <linux/slab.h>

#include "core/dat.h"
#include "core/ep/queue.h"
#include "core/xport.h"
#include "lib/log.h"
#include "verbs/verbs.h"

static bool verbs_hold(struct dat_dev *dev)
{
	return ib_device_try_get(verbs_device(dev));
}

static void verbs_drop(struct dat_dev *dev)
{
	ib_device_put(verbs_device(dev));
}

static void verbs_name(const struct dat_dev *dev, char *name, size_t len)
{
	strscpy(name, dev_name(&verbs_device(dev)->dev), len);
}

static void verbs_port_query(const struct dat_dev *dev, u32 port, struct dat_port *out)
{
	struct ib_port_attr attr;

	*out = (struct dat_port) {
		.msg_max = SZ_1G,
		.iwarp = rdma_protocol_iwarp(verbs_device(dev), port),
	};
	if (ib_query_port(verbs_device(dev), port, &attr))
		return;
	out->active = attr.state == IB_PORT_ACTIVE;
	/* The MTU of verbs has no meaning for iWARP, because TCP segments the data. */
	if (out->active && !out->iwarp)
		out->mtu = max(ib_mtu_enum_to_int(attr.active_mtu), 0);
	if (attr.max_msg_sz)
		out->msg_max = min_t(u32, attr.max_msg_sz, SZ_1G);
}

static const struct dat_xport_ops verbs_ops = {
	.obj_size	= {
		[DAT_OBJ_PZ]	= sizeof(struct verbs_pz),
		[DAT_OBJ_LMR]	= sizeof(struct verbs_lmr),
		[DAT_OBJ_EVD]	= sizeof(struct verbs_evd),
		[DAT_OBJ_SRQ]	= sizeof(struct verbs_srq),
		[DAT_OBJ_RMR]	= sizeof(struct verbs_rmr),
	},
	.conn_size	= sizeof(struct verbs_conn),
	.binding_size	= sizeof(struct verbs_binding),
	.hold		= verbs_hold,
	.drop		= verbs_drop,
	.name		= verbs_name,
	.port_visible	= verbs_port_visible,
	.port_query	= verbs_port_query,
	.addr		= verbs_addr,
	.evd_init	= verbs_evd_init,
	.pz_init	= verbs_pz_init,
	.pz_exit	= verbs_pz_exit,
	.mem_map	= verbs_mem_map,
	.mem_unmap	= verbs_mem_unmap,
	.mem_sync	= verbs_mem_sync,
	.lmr_user	= verbs_lmr_user,
	.lmr_kernel	= verbs_lmr_kernel,
	.lmr_empty	= verbs_lmr_empty,
	.lmr_map	= verbs_lmr_map,
	.lmr_build	= verbs_lmr_build,
	.lmr_exit	= verbs_lmr_exit,
	.bind_init	= verbs_bind_init,
	.bind_exit	= verbs_bind_exit,
	.rmr_exit	= verbs_rmr_exit,
	.srq_init	= verbs_srq_init,
	.srq_exit	= verbs_srq_exit,
	.srq_post	= verbs_srq_post,
	.listen		= verbs_listen,
	.unlisten	= verbs_unlisten,
	.request_lock	= verbs_request_lock,
	.request_unlock	= verbs_request_unlock,
	.request_own	= verbs_request_own,
	.reject		= verbs_reject,
	.abandon	= verbs_abandon,
	.connect	= verbs_connect,
	.accept		= verbs_accept,
	.conn_init	= verbs_conn_init,
	.implied_established = verbs_implied_established,
	.conn_quiesce	= verbs_conn_quiesce,
	.conn_unbind	= verbs_conn_unbind,
	.conn_exit	= verbs_conn_exit,
	.path		= verbs_path,
	.allow_peer	= verbs_allow_peer,
	.bind_start	= verbs_bind_start,
	.send_waits	= verbs_send_waits,
	.post_send	= verbs_post_send,
	.mark		= verbs_mark,
	.post_recv	= verbs_post_recv,
	.run		= verbs_run,
	.look		= verbs_look,
	.take_unsolicited = verbs_recv_take,
	.rearm		= verbs_rearm,
};

/* Limits the length of a queue to what a CQ can hold, because all requests may complete at once. */
static u32 queue_limit(const struct ib_device_attr *attrs, int max_wr)
{
	return clamp(min(max_wr, attrs->max_cqe), 0, DAT_MAX_DTO);
}

static u32 sge_limit(int max_sge)
{
	return clamp_t(int, max_sge, 0, DAT_MAX_SGE);
}

static void fill_limits(const struct ib_device *ibdev, struct dat_limits *l)
{
	const struct ib_device_attr *attrs = &ibdev->attrs;

	l->max_qp = attrs->max_qp;
	l->max_pd = attrs->max_pd;
	l->max_mr = attrs->max_mr;
	l->max_srq = attrs->max_srq;
	l->max_mr_size = attrs->max_mr_size;
	l->max_dto = queue_limit(attrs, attrs->max_qp_wr);
	l->max_srq_dto = queue_limit(attrs, attrs->max_srq_wr);
	/* The CQ of an EP has room for these receives and for the smallest SQ; see sq_size(). */
	l->max_recvs = clamp(attrs->max_cqe - DAT_MIN_SQ, 0, DAT_MAX_DTO);
	l->send_sge = sge_limit(attrs->max_send_sge);
	l->recv_sge = sge_limit(attrs->max_recv_sge);
	l->read_sge = sge_limit(attrs->max_sge_rd);
	l->srq_sge = sge_limit(attrs->max_srq_sge);
	l->read_in = clamp_t(int, attrs->max_qp_rd_atom, 0, U8_MAX);
	l->read_out = clamp_t(int, attrs->max_qp_init_rd_atom, 0, U8_MAX);
	l->pd_request = VERBS_PD_REQUEST;
	l->pd_reply = VERBS_PD_REPLY;
	l->pd_reject = VERBS_PD_REJECT;
	if (attrs->device_cap_flags & IB_DEVICE_MEM_MGT_EXTENSIONS)
		l->fast_reg_pages = attrs->max_fast_reg_page_list_len;
	l->vendor_id = attrs->vendor_id;
	l->vendor_part_id = attrs->vendor_part_id;
	l->hw_ver = attrs->hw_ver;
	l->max_seg = ib_dma_max_seg_size((struct ib_device *)ibdev);
	l->virt_dma = ib_uses_virt_dma((struct ib_device *)ibdev);
}

/*
 * Handles an asynchronous event of a device.  ib_core calls this function in a work item, which
 * serves all devices of the host.
 *
 * IB_EVENT_PORT_ACTIVE is not reported, because DAT has no event for the end of an error.
 */
static void device_event(struct ib_event_handler *handler, struct ib_event *event)
{
	struct verbs_dev *vdev = container_of(handler, struct verbs_dev, events);

	switch (event->event) {
	case IB_EVENT_GID_CHANGE:
		verbs_addrs_changed(vdev, event->element.port_num);
		break;
	case IB_EVENT_DEVICE_FATAL:
		dat_log("%s: the device has failed", dev_name(&event->device->dev));
		dat_dev_async(vdev->dev, 0, DAT_EV_ASYNC_CATASTROPHIC, DAT_IA_REASON_CATASTROPHIC);
		break;
	case IB_EVENT_PORT_ERR:
		dat_dev_async(vdev->dev, event->element.port_num, DAT_EV_ASYNC_INTERNAL,
			      DAT_IA_REASON_OTHER);
		break;
	default:
		break;
	}
}

static int client_add(struct ib_device *ibdev);

static void client_remove(struct ib_device *ibdev, void *client_data)
{
	struct dat_dev *dev = client_data;
	struct verbs_dev *vdev = dev->priv;

	ib_unregister_event_handler(&vdev->events);
	dat_dev_get(dev);
	dat_dev_unregister(dev);
	verbs_stuck_end(vdev);
	dat_dev_put(dev);
}

static struct ib_client verbs_client = {
	.name	= "dat",
	.add	= client_add,
	.remove	= client_remove,
};

/* Returns true if the driver can create a reliable queue pair for the kernel.  May sleep. */
static bool device_makes_qps(struct ib_device *ibdev)
{
	struct ib_qp_init_attr init = {
		.cap		= { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1,
				    .max_recv_sge = 1 },
		.sq_sig_type	= IB_SIGNAL_REQ_WR,
		.qp_type	= IB_QPT_RC,
	};
	struct ib_pd *pd = ib_alloc_pd(ibdev, 0);
	struct ib_cq *cq;
	struct ib_qp *qp;

	if (IS_ERR(pd))
		return false;
	cq = ib_alloc_cq(ibdev, NULL, 2, 0, IB_POLL_DIRECT);
	if (IS_ERR(cq)) {
		ib_dealloc_pd(pd);
		return false;
	}
	init.send_cq = cq;
	init.recv_cq = cq;
	qp = ib_create_qp(pd, &init);
	/* A QP that cannot be destroyed still uses the CQ and the PD. */
	if (!IS_ERR(qp) && ib_destroy_qp(qp))
		return false;
	ib_free_cq(cq);
	ib_dealloc_pd(pd);
	return !IS_ERR(qp);
}

/* Returns the reason why this module cannot use the device, or NULL if the device is usable. */
static const char *refusal(const struct verbs_dev *vdev, const struct dat_limits *limits)
{
	if (vdev->reg == VERBS_REG_REQUEST && !limits->fast_reg_pages)
		return "its driver cannot register memory for the kernel";
	if (!vdev->known && !device_makes_qps(vdev->ibdev))
		return "its driver makes no reliable queue pairs for the kernel";
	return NULL;
}

static int client_add(struct ib_device *ibdev)
{
	char fw[IB_FW_VERSION_NAME_MAX] = {};
	u32 nvectors = max(ibdev->num_comp_vectors, 1);
	struct verbs_dev *vdev;
	struct dat_dev *dev;
	const char *why;
	int ret;

	vdev = kzalloc(struct_size(vdev, vector_users, nvectors), GFP_KERNEL);
	if (!vdev)
		return -ENOMEM;
	dev = dat_dev_alloc(&verbs_ops, rdma_end_port(ibdev));
	if (!dev) {
		kfree(vdev);
		return -ENOMEM;
	}
	vdev->ibdev = ibdev;
	vdev->dev = dev;
	vdev->nvectors = nvectors;
	spin_lock_init(&vdev->stuck_lock);
	INIT_LIST_HEAD(&vdev->watches);
	INIT_LIST_HEAD(&vdev->stuck);
	INIT_LIST_HEAD(&vdev->stuck_mrs);
	dev->priv = vdev;
#ifdef CONFIG_CGROUP_RDMA
	dev->cg = &ibdev->cg_device;
#endif
	fill_limits(ibdev, &dev->limits);
	verbs_driver_set(vdev, dev);
	why = refusal(vdev, &dev->limits);
	dev->usable = !why;
	if (why)
		dat_log("%s: the device is refused: %s", dev_name(&ibdev->dev), why);
	ib_get_device_fw_str(ibdev, fw);
	strscpy(dev->limits.fw, fw, sizeof(dev->limits.fw));
	ib_set_client_data(ibdev, &verbs_client, dev);
	INIT_IB_EVENT_HANDLER(&vdev->events, ibdev, device_event);
	ib_register_event_handler(&vdev->events);
	ret = dat_dev_register(dev);
	if (ret) {
		ib_unregister_event_handler(&vdev->events);
		dat_dev_put(dev);
	}
	return ret;
}

int dat_verbs_init(void)
{
	int ret = ib_register_client(&verbs_client);

	if (ret)
		return ret;
	ret = verbs_listen_init();
	if (ret)
		ib_unregister_client(&verbs_client);
	return ret;
}

void dat_verbs_exit(void)
{
	verbs_listen_exit();
	ib_unregister_client(&verbs_client);
}
