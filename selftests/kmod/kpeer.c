// SPDX-License-Identifier: GPL-2.0
/*
 * dat_kpeer: a consumer of kDAPL whose peer is a program on libdat, api_kernel.c; kpeer.h
 * has what they say to each other.
 *
 * Everything arrives at one EVD, whose upcalls are made in process context then, one after
 * the other: so nothing needs a lock, and a connection's end comes after all else of it.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/kdat.h>
#include <linux/kernel.h>
#include <linux/list.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "kpeer.h"

#define EVENTS		1024
#define ASYNC_EVENTS	16
#define CONNECT_US	(10 * USEC_PER_SEC)

static char *device = "rxe0";
module_param(device, charp, 0444);
MODULE_PARM_DESC(device, "adapter (rxe0)");

/**
 * struct conn - a connection
 * @node: in conns
 * @ep: of it
 * @lmr: of the whole structure
 * @context: of @lmr
 * @in: order
 * @in_bytes: with what follows it
 * @out: answer
 * @out_bytes: with what follows it
 */
struct conn {
	struct list_head	node;
	DAT_EP_HANDLE		ep;
	DAT_LMR_HANDLE		lmr;
	DAT_LMR_CONTEXT		context;
	union {
		struct kpeer_message	in;
		u8			in_bytes[KPEER_MESSAGE];
	};
	union {
		struct kpeer_message	out;
		u8			out_bytes[KPEER_MESSAGE];
	};
};

static DAT_IA_HANDLE ia;
static DAT_PZ_HANDLE pz;
static DAT_EVD_HANDLE evd;
static DAT_LMR_CONTEXT memory_context;
static struct kpeer_hello hello;
static u8 *memory;
static LIST_HEAD(conns);

/* ---- Connections ---- */

static DAT_DTO_COOKIE to_cookie(struct conn *c)
{
	return (DAT_DTO_COOKIE) { .as_ptr = c };
}

static DAT_LMR_TRIPLET seg_of(const struct conn *c, const void *p, u32 len)
{
	return (DAT_LMR_TRIPLET) {
		.virtual_address = (uintptr_t)p, .segment_length = len,
		.lmr_context = c->context,
	};
}

static DAT_RETURN await_order(struct conn *c)
{
	DAT_LMR_TRIPLET seg = seg_of(c, c->in_bytes, KPEER_MESSAGE);

	return dat_ep_post_recv(c->ep, 1, &seg, to_cookie(c), DAT_COMPLETION_DEFAULT_FLAG);
}

/* Nothing of it is under way.  If that fails, as without the device, it goes with the IA. */
static void conn_free(struct conn *c)
{
	if (dat_ep_free(c->ep) || dat_lmr_free(c->lmr))
		return;
	list_del(&c->node);
	kfree(c);
}

static DAT_RETURN conn_init(struct conn *c)
{
	DAT_MEM_PRIV_FLAGS priv = DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG;
	DAT_REGION_DESCRIPTION region = { .for_va = c };
	DAT_RETURN rc;

	rc = dat_lmr_kcreate(ia, DAT_MEM_TYPE_VIRTUAL, region, sizeof(*c), pz, priv,
			     DAT_VA_TYPE_VA, DAT_MEM_OPTIMIZE_DONT_CARE, &c->lmr, &c->context,
			     NULL, NULL, NULL);
	if (rc)
		return rc;
	rc = dat_ep_create(ia, pz, evd, evd, evd, NULL, &c->ep);
	if (rc)
		goto err_lmr;
	rc = dat_set_consumer_context(c->ep, (DAT_CONTEXT) { .as_ptr = c }) ?: await_order(c);
	if (rc)
		goto err_ep;
	return DAT_SUCCESS;

err_ep:
	dat_ep_free(c->ep);
err_lmr:
	dat_lmr_free(c->lmr);
	return rc;
}

static struct conn *conn_make(void)
{
	struct conn *c = kzalloc(sizeof(*c), GFP_KERNEL);
	DAT_RETURN rc;

	if (!c)
		return NULL;
	rc = conn_init(c);
	if (rc) {
		pr_err("no connection: %#x\n", rc);
		kfree(c);
		return NULL;
	}
	list_add(&c->node, &conns);
	return c;
}

static void welcome(DAT_CR_HANDLE cr)
{
	struct conn *c = conn_make();
	DAT_RETURN rc;

	if (!c) {
		dat_cr_reject(cr, 0, NULL);
		return;
	}
	rc = dat_cr_accept(cr, c->ep, sizeof(hello), &hello);
	if (!rc)
		return;
	pr_err("no accept: %#x\n", rc);
	dat_cr_reject(cr, 0, NULL);
	conn_free(c);
}

/* ---- Orders ---- */

static DAT_RETURN answer(struct conn *c, u32 len)
{
	DAT_LMR_TRIPLET seg = seg_of(c, c->out_bytes, len);

	/* The next may come as soon as this is there. */
	return await_order(c) ?: dat_ep_post_send(c->ep, 1, &seg, to_cookie(c),
						  DAT_COMPLETION_DEFAULT_FLAG);
}

static DAT_RETURN answer_value(struct conn *c, DAT_RETURN status, u64 value)
{
	c->out = c->in;
	c->out.status = status;
	c->out.value = value;
	return answer(c, sizeof(c->out));
}

static DAT_RETURN echo(struct conn *c, u32 len)
{
	memcpy(c->out_bytes, c->in_bytes, len);
	return answer(c, len);
}

static DAT_RETURN fill(struct conn *c, u32 len)
{
	u32 i;

	for (i = 0; i < c->in.len; i++)
		memory[c->in.offset + i] = kpeer_byte(c->in.value, i);
	return answer_value(c, DAT_SUCCESS, 0);
}

static DAT_RETURN sum(struct conn *c, u32 len)
{
	return answer_value(c, DAT_SUCCESS, kpeer_sum(memory + c->in.offset, c->in.len));
}

static DAT_LMR_TRIPLET local_part(const struct conn *c)
{
	return (DAT_LMR_TRIPLET) {
		.virtual_address = (uintptr_t)memory + c->in.offset,
		.segment_length = c->in.len, .lmr_context = memory_context,
	};
}

static DAT_RMR_TRIPLET remote_part(const struct conn *c)
{
	return (DAT_RMR_TRIPLET) {
		.virtual_address = c->in.addr, .segment_length = c->in.len,
		.rmr_context = c->in.rkey,
	};
}

/* What is written is there before the answer. */
static DAT_RETURN write(struct conn *c, u32 len)
{
	DAT_LMR_TRIPLET from = local_part(c);
	DAT_RMR_TRIPLET to = remote_part(c);

	return dat_ep_post_rdma_write(c->ep, 1, &from, to_cookie(c), &to,
				      DAT_COMPLETION_SUPPRESS_FLAG) ?:
	       answer_value(c, DAT_SUCCESS, 0);
}

/* Its completion makes the answer. */
static DAT_RETURN read(struct conn *c, u32 len)
{
	DAT_RMR_TRIPLET from = remote_part(c);
	DAT_LMR_TRIPLET to = local_part(c);

	return dat_ep_post_rdma_read(c->ep, 1, &to, to_cookie(c), &from,
				     DAT_COMPLETION_DEFAULT_FLAG);
}

/* To a program that listens at this adapter. */
static DAT_RETURN make_another(DAT_CONN_QUAL qual)
{
	DAT_IA_ATTR *attr = kzalloc(sizeof(*attr), GFP_KERNEL);
	struct conn *c = attr ? conn_make() : NULL;
	DAT_RETURN rc = DAT_INSUFFICIENT_RESOURCES;

	if (!c)
		goto out;
	rc = dat_ia_query(ia, NULL, DAT_IA_FIELD_IA_ADDRESS_PTR, attr, 0, NULL) ?:
	     dat_ep_connect(c->ep, attr->ia_address_ptr, qual, CONNECT_US, sizeof(hello), &hello,
			    DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
	if (rc)
		conn_free(c);
out:
	kfree(attr);
	return rc;
}

static DAT_RETURN connect(struct conn *c, u32 len)
{
	return answer_value(c, make_another(c->in.value), 0);
}

static DAT_RETURN (*const ops[KPEER_OPS])(struct conn *c, u32 len) = {
	[KPEER_ECHO]	= echo,
	[KPEER_FILL]	= fill,
	[KPEER_SUM]	= sum,
	[KPEER_WRITE]	= write,
	[KPEER_READ]	= read,
	[KPEER_CONNECT]	= connect,
};

static bool order_good(const struct kpeer_message *m, u32 len)
{
	return len >= sizeof(*m) && m->op < KPEER_OPS && m->offset <= KPEER_MEMORY &&
	       m->len <= KPEER_MEMORY - m->offset;
}

static DAT_RETURN obey(struct conn *c, u64 len)
{
	if (!order_good(&c->in, len))
		return DAT_INVALID_PARAMETER;
	return ops[c->in.op](c, len);
}

/* ---- Upcalls ---- */

static void completed(const DAT_DTO_COMPLETION_EVENT_DATA *dto)
{
	struct conn *c = dto->user_cookie.as_ptr;
	DAT_RETURN rc = DAT_SUCCESS;

	/* The end of the connection comes behind it. */
	if (dto->status != DAT_DTO_SUCCESS)
		return;
	if (dto->operation == DAT_DTO_RECEIVE)
		rc = obey(c, dto->transfered_length);
	else if (dto->operation == DAT_DTO_RDMA_READ)
		rc = answer_value(c, DAT_SUCCESS, 0);
	if (rc)
		dat_ep_disconnect(c->ep, DAT_CLOSE_ABRUPT_FLAG);
}

static void ended(DAT_EP_HANDLE ep)
{
	DAT_CONTEXT context;

	if (!dat_get_consumer_context(ep, &context))
		conn_free(context.as_ptr);
}

static void upcall(DAT_PVOID data, const DAT_EVENT *event, DAT_BOOLEAN more_events)
{
	might_sleep();
	switch (event->event_number) {
	case DAT_CONNECTION_REQUEST_EVENT:
		welcome(event->event_data.cr_arrival_event_data.cr_handle);
		break;
	case DAT_DTO_COMPLETION_EVENT:
		completed(&event->event_data.dto_completion_event_data);
		break;
	case DAT_CONNECTION_EVENT_ESTABLISHED:
		break;
	default:
		ended(event->event_data.connect_event_data.ep_handle);
	}
}

/* ---- The module ---- */

static DAT_RETURN make_memory(void)
{
	DAT_REGION_DESCRIPTION region = { .for_va = memory };
	DAT_LMR_HANDLE lmr;
	DAT_VADDR addr;
	DAT_RETURN rc;

	/* In pieces, and for peers: by the device's registration. */
	rc = dat_lmr_kcreate(ia, DAT_MEM_TYPE_VIRTUAL, region, KPEER_MEMORY, pz,
			     DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, DAT_MEM_OPTIMIZE_DONT_CARE,
			     &lmr, &memory_context, &hello.rkey, NULL, &addr);
	hello.addr = addr;
	hello.len = KPEER_MEMORY;
	return rc;
}

static DAT_RETURN make(void)
{
	DAT_EVD_FLAGS flags = DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG | DAT_EVD_CR_FLAG;
	DAT_UPCALL_OBJECT object = { NULL, upcall };
	DAT_PSP_HANDLE psp;

	return dat_pz_create(ia, &pz) ?:
	       dat_evd_kcreate(ia, EVENTS, DAT_UPCALL_SINGLE_INSTANCE, &object, flags, &evd) ?:
	       make_memory() ?:
	       dat_psp_create(ia, KPEER_QUAL, evd, DAT_PSP_CONSUMER_FLAG, &psp);
}

static void end(void)
{
	struct conn *c, *next;

	dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG);
	list_for_each_entry_safe(c, next, &conns, node)
		kfree(c);
	vfree(memory);
}

static int __init kpeer_init(void)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_RETURN rc;

	memory = vzalloc(KPEER_MEMORY);
	if (!memory)
		return -ENOMEM;
	rc = dat_ia_open(device, ASYNC_EVENTS, &async, &ia);
	if (rc) {
		vfree(memory);
		pr_err("%s: %#x\n", device, rc);
		return -ENODEV;
	}
	rc = make();
	if (!rc)
		return 0;
	pr_err("%s: %#x\n", device, rc);
	end();
	return -EIO;
}

static void __exit kpeer_exit(void)
{
	end();
}

module_init(kpeer_init);
module_exit(kpeer_exit);

MODULE_DESCRIPTION("A peer in the kernel for programs that test libdat");
MODULE_LICENSE("GPL");
MODULE_IMPORT_NS(DAT);
