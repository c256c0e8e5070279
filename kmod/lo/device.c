// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* The adapter lo0: operations, limits, registration with the core. */
#include <linux/cgroup_rdma.h>
#include <linux/moduleparam.h>
#include <linux/sizes.h>

#include "core/dat.h"
#include "core/xport.h"
#include "lo/lo.h"

#define LO_NAME	"lo0"

static bool lo_wanted = true;
module_param_named(lo, lo_wanted, bool, 0444);
MODULE_PARM_DESC(lo, "Provide lo0, an adapter within the host (Y)");

static struct dat_dev *lo_dev;

/* The device ends with the module, which a caller keeps loaded. */
static bool lo_hold(struct dat_dev *dev)
{
	return true;
}

static void lo_drop(struct dat_dev *dev)
{
}

static void lo_name(const struct dat_dev *dev, char *name, size_t len)
{
	strscpy(name, LO_NAME, len);
}

static bool lo_port_visible(const struct dat_dev *dev, u32 port, struct net *net)
{
	return true;
}

static void lo_port_query(const struct dat_dev *dev, u32 port, struct dat_port *out)
{
	*out = (struct dat_port) { .msg_max = SZ_1G, .active = true };
}

static void lo_evd_init(struct dat_evd *evd)
{
}

static const struct dat_xport_ops lo_ops = {
	.obj_size	= {
		[DAT_OBJ_LMR]	= sizeof(struct lo_lmr),
		[DAT_OBJ_SRQ]	= sizeof(struct lo_srq),
	},
	.conn_size	= sizeof(struct lo_conn),
	.binding_size	= sizeof(struct lo_binding),
	.hold		= lo_hold,
	.drop		= lo_drop,
	.name		= lo_name,
	.port_visible	= lo_port_visible,
	.port_query	= lo_port_query,
	.addr		= lo_addr,
	.evd_init	= lo_evd_init,
	.pz_init	= lo_pz_init,
	.pz_exit	= lo_pz_exit,
	.mem_map	= lo_mem_map,
	.mem_unmap	= lo_mem_unmap,
	.mem_sync	= lo_mem_sync,
	.lmr_user	= lo_lmr_user,
	.lmr_kernel	= lo_lmr_kernel,
	.lmr_empty	= lo_lmr_empty,
	.lmr_map	= lo_lmr_map,
	.lmr_build	= lo_lmr_build,
	.lmr_exit	= lo_lmr_exit,
	.bind_init	= lo_bind_init,
	.bind_exit	= lo_bind_exit,
	.rmr_exit	= lo_rmr_exit,
	.srq_init	= lo_srq_init,
	.srq_exit	= lo_srq_exit,
	.srq_post	= lo_srq_post,
	.listen		= lo_listen,
	/* .unlisten: see lo_listen() */
	.request_lock	= lo_request_lock,
	.request_unlock	= lo_request_unlock,
	.request_own	= lo_request_own,
	.reject		= lo_reject,
	.abandon	= lo_abandon,
	.connect	= lo_connect,
	.accept		= lo_accept,
	.conn_init	= lo_conn_init,
	.implied_established = lo_implied_established,
	.conn_quiesce	= lo_conn_quiesce,
	.conn_unbind	= lo_conn_unbind,
	.conn_exit	= lo_conn_exit,
	.path		= lo_path,
	.allow_peer	= lo_allow_peer,
	.bind_start	= lo_bind_start,
	/* .send_waits: only with DAT_QUIRK_UNORDERED */
	.post_send	= lo_post_send,
	/* .mark: with DAT_QUIRK_FLUSH_ALL no request stays unsignalled */
	.post_recv	= lo_post_recv,
	.run		= lo_run,
	.look		= lo_look,
	/* .take_unsolicited: such receives are reported at once */
	.rearm		= lo_rearm,
};

/* No hardware limits the numbers of objects.  Some of these are the limits of common devices. */
static const struct dat_limits lo_limits = {
	.max_qp		= 262144,
	.max_pd		= 65536,
	.max_mr		= DAT_LMR_INDEX_MASK,
	.max_srq	= 65536,
	.max_mr_size	= 1ULL << 47,
	.max_dto	= DAT_MAX_DTO,
	.max_srq_dto	= DAT_MAX_DTO,
	.max_recvs	= LO_WINDOW,
	.send_sge	= DAT_MAX_SGE,
	.recv_sge	= DAT_MAX_SGE,
	.read_sge	= DAT_MAX_SGE,
	.srq_sge	= DAT_MAX_SGE,
	.max_inline	= DAT_MAX_INLINE,
	.read_in	= U8_MAX,
	.read_out	= U8_MAX,
	.fast_reg_pages	= SZ_1M,
	.pd_request	= DAT_MAX_PRIVATE_DATA,
	.pd_reply	= DAT_MAX_PRIVATE_DATA,
	.pd_reject	= DAT_MAX_PRIVATE_DATA,
	.caps		= DAT_IA_CAP_RELAXED,
	.max_seg	= U32_MAX,
	.virt_dma	= true,
	.local		= true,
};

#ifdef CONFIG_CGROUP_RDMA
static struct rdmacg_device lo_cg = { .name = LO_NAME };

static void cg_register(struct dat_dev *dev)
{
	dev->cg = &lo_cg;
	rdmacg_register_device(&lo_cg);
}

static void cg_unregister(void)
{
	rdmacg_unregister_device(&lo_cg);
}
#else
static void cg_register(struct dat_dev *dev)
{
}

static void cg_unregister(void)
{
}
#endif

static int dev_register(void)
{
	int ret;

	lo_dev = dat_dev_alloc(&lo_ops, 1);
	if (!lo_dev)
		return -ENOMEM;
	lo_dev->limits = lo_limits;
	lo_dev->quirks = DAT_QUIRK_FLUSH_ALL;
	lo_dev->usable = true;
	cg_register(lo_dev);
	ret = dat_dev_register(lo_dev);
	if (ret) {
		cg_unregister();
		dat_dev_put(lo_dev);
		lo_dev = NULL;
	}
	return ret;
}

int dat_lo_init(void)
{
	int ret;

	if (!lo_wanted)
		return 0;
	ret = lo_lanes_init();
	if (ret)
		return ret;
	ret = dev_register();
	if (ret)
		lo_lanes_exit();
	return ret;
}

void dat_lo_exit(void)
{
	if (!lo_dev)
		return;
	dat_dev_unregister(lo_dev);
	cg_unregister();
	lo_lanes_exit();
	lo_keys_exit();
}
