// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * dat_kpeer: a consumer of kDAPL whose peer is the program api_kernel.c.  kpeer.h describes the
 * protocol between the two.
 *
 * One EVD receives all events.  Its upcall runs in process context, one call at a time.  So no lock
 * is needed, and the event that ends a connection comes after all other events of the connection.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/kdat.h>
#include <linux/io.h>
#include <linux/kernel.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "kpeer.h"

#define EVENTS		1024
#define ASYNC_EVENTS	16
#define PAGES		(KPEER_MEMORY >> PAGE_SHIFT)
#define REQUESTS	64	/* queue length of an EP */
#define CONNECT_US	(10 * USEC_PER_SEC)

static char *device = "rxe0";
module_param(device, charp, 0444);
MODULE_PARM_DESC(device, "adapter (rxe0)");

/**
 * struct conn - a connection
 * @node: entry in the list conns
 * @ep: EP of the connection
 * @lmr: registration of this structure, which contains the message buffers
 * @context: LMR context of @lmr
 * @shared: true if the EP receives into buffers of the SRQ
 * @again: qualifier to connect @ep to when this connection ends, or 0
 * @request_pd: private data of the connection request that the module accepted
 * @in: last order
 * @in_bytes: @in with the data that follow it
 * @out: answer
 * @out_bytes: @out with the data that follow it
 */
struct conn {
	struct list_head	node;
	DAT_EP_HANDLE		ep;
	DAT_LMR_HANDLE		lmr;
	DAT_LMR_CONTEXT		context;
	bool			shared;
	DAT_CONN_QUAL		again;
	u8			request_pd[KPEER_PD_SIZE];
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

static DAT_SRQ_HANDLE srq;
static DAT_LMR_CONTEXT buffers_context;
static u8 (*buffers)[KPEER_MESSAGE];

static DAT_LMR_HANDLE memory_lmr, fmr, pages_lmr;
static DAT_RMR_HANDLE rmr;
static DAT_RSP_HANDLE rsp;		/* service point of @reserved, or DAT_HANDLE_NULL */
static struct conn *reserved;
static DAT_RETURN (*on_request)(DAT_CR_HANDLE cr);	/* replaces accept() once */
static DAT_CONN_QUAL handoff_to;
static DAT_EVENT_NUMBER ended_by;

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

/* Post buffer @n to the SRQ.  The cookie is the index of the buffer. */
static DAT_RETURN give_buffer(u64 n)
{
	DAT_LMR_TRIPLET seg = { (uintptr_t)buffers[n], KPEER_MESSAGE, buffers_context };

	return dat_srq_post_recv(srq, 1, &seg, (DAT_DTO_COOKIE) { .as_64 = n });
}

static DAT_RETURN await_order(struct conn *c)
{
	DAT_LMR_TRIPLET seg = seg_of(c, c->in_bytes, KPEER_MESSAGE);

	if (c->shared)
		return DAT_SUCCESS;
	return dat_ep_post_recv(c->ep, 1, &seg, to_cookie(c), DAT_COMPLETION_DEFAULT_FLAG);
}

/*
 * Free a connection without DTOs in flight.  If a free fails, the connection stays in conns until
 * end() closes the IA.
 */
static void conn_free(struct conn *c)
{
	if (dat_ep_free(c->ep) || dat_lmr_free(c->lmr))
		return;
	list_del(&c->node);
	kfree(c);
}

static DAT_RETURN make_ep(struct conn *c)
{
	DAT_EP_ATTR attr = { .max_request_dtos = REQUESTS, .srq_soft_hw = DAT_HW_DEFAULT };

	if (c->shared)
		return dat_ep_create_with_srq(ia, pz, evd, evd, evd, srq, &attr, &c->ep);
	return dat_ep_create(ia, pz, evd, evd, evd, NULL, &c->ep);
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
	rc = make_ep(c);
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

static struct conn *conn_make(bool shared)
{
	struct conn *c = kzalloc(sizeof(*c), GFP_KERNEL);
	DAT_RETURN rc;

	if (!c)
		return NULL;
	c->shared = shared;
	rc = conn_init(c);
	if (rc) {
		pr_err("no connection: %#x\n", rc);
		kfree(c);
		return NULL;
	}
	list_add(&c->node, &conns);
	return c;
}

static DAT_RETURN reject(DAT_CR_HANDLE cr)
{
	return dat_cr_reject(cr, 0, NULL);
}

static DAT_RETURN handoff(DAT_CR_HANDLE cr)
{
	return dat_cr_handoff(cr, handoff_to);
}

static void save_private_data(struct conn *c, DAT_CR_HANDLE cr)
{
	DAT_CR_PARAM param;

	if (!dat_cr_query(cr, DAT_CR_FIELD_ALL, &param) && param.private_data)
		memcpy(c->request_pd, param.private_data,
		       min_t(u32, param.private_data_size, KPEER_PD_SIZE));
}

/* Accept the request on @reserved and free the RSP, which serves one connection only. */
static DAT_RETURN accept_reserved(DAT_CR_HANDLE cr)
{
	DAT_RETURN rc;

	save_private_data(reserved, cr);
	rc = dat_cr_accept(cr, DAT_HANDLE_NULL, sizeof(hello), &hello) ?: dat_rsp_free(rsp);
	rsp = DAT_HANDLE_NULL;
	return rc;
}

static DAT_RETURN accept(DAT_CR_HANDLE cr, bool shared)
{
	struct conn *c = conn_make(shared);
	DAT_RETURN rc;

	if (!c)
		return DAT_INSUFFICIENT_RESOURCES;
	save_private_data(c, cr);
	rc = dat_cr_accept(cr, c->ep, sizeof(hello), &hello);
	if (rc)
		conn_free(c);
	return rc;
}

static void welcome(const DAT_CR_ARRIVAL_EVENT_DATA *arrival)
{
	DAT_RETURN (*instead)(DAT_CR_HANDLE cr) = on_request;
	DAT_CR_HANDLE cr = arrival->cr_handle;
	DAT_RETURN rc;

	if (rsp && arrival->sp_handle.rsp_handle == rsp)
		instead = accept_reserved;
	else
		on_request = NULL;
	rc = instead ? instead(cr) : accept(cr, arrival->conn_qual == KPEER_SHARED);
	if (!rc)
		return;
	pr_err("no accept: %#x\n", rc);
	dat_cr_reject(cr, 0, NULL);
}

/* ---- Orders ---- */

static DAT_RETURN send(struct conn *c, u32 len, DAT_COMPLETION_FLAGS flags)
{
	DAT_LMR_TRIPLET seg = seg_of(c, c->out_bytes, len);

	return dat_lmr_sync_rdma_read(ia, &seg, 1) ?:
	       dat_ep_post_send(c->ep, 1, &seg, to_cookie(c), flags);
}

static DAT_RETURN answer(struct conn *c, u32 len)
{
	/*
	 * Post the receive first, because the peer may send the next order when it gets the answer.
	 */
	return await_order(c) ?: send(c, len, DAT_COMPLETION_DEFAULT_FLAG);
}

/* Prepare an answer that has no value. */
static void answer_begin(struct conn *c, DAT_RETURN status)
{
	c->out = c->in;
	c->out.status = status;
	c->out.value = 0;
}

static DAT_RETURN answer_value(struct conn *c, DAT_RETURN status, u64 value)
{
	answer_begin(c, status);
	c->out.value = value;
	return answer(c, sizeof(c->out));
}

static DAT_RETURN echo(struct conn *c, u32 len)
{
	memcpy(c->out_bytes, c->in_bytes, len);
	return answer(c, len);
}

static DAT_LMR_TRIPLET local_part(const struct conn *c)
{
	return (DAT_LMR_TRIPLET) {
		.virtual_address = (uintptr_t)memory + c->in.offset,
		.segment_length = c->in.len, .lmr_context = memory_context,
	};
}

static DAT_RETURN fill(struct conn *c, u32 len)
{
	DAT_LMR_TRIPLET part = local_part(c);
	u32 i;

	for (i = 0; i < c->in.len; i++)
		memory[c->in.offset + i] = kpeer_byte(c->in.value, i);
	return dat_lmr_sync_rdma_read(ia, &part, 1) ?: answer_value(c, DAT_SUCCESS, 0);
}

static DAT_RETURN sum(struct conn *c, u32 len)
{
	DAT_LMR_TRIPLET part = local_part(c);

	return dat_lmr_sync_rdma_write(ia, &part, 1) ?:
	       answer_value(c, DAT_SUCCESS, kpeer_sum(memory + c->in.offset, c->in.len));
}

static DAT_RMR_TRIPLET remote_part(const struct conn *c)
{
	return (DAT_RMR_TRIPLET) {
		.virtual_address = c->in.addr, .segment_length = c->in.len,
		.rmr_context = c->in.rkey,
	};
}

/*
 * RDMA-write the part to the peer, then answer.  The EP executes the two DTOs in order, so the data
 * are in place when the answer arrives.
 */
static DAT_RETURN write(struct conn *c, u32 len)
{
	DAT_LMR_TRIPLET from = local_part(c);
	DAT_RMR_TRIPLET to = remote_part(c);

	return dat_ep_post_rdma_write(c->ep, 1, &from, to_cookie(c), &to,
				      DAT_COMPLETION_SUPPRESS_FLAG) ?:
	       answer_value(c, DAT_SUCCESS, 0);
}

/* RDMA-read the part from the peer.  completed() sends the answer when the read has completed. */
static DAT_RETURN read(struct conn *c, u32 len)
{
	DAT_RMR_TRIPLET from = remote_part(c);
	DAT_LMR_TRIPLET to = local_part(c);

	return dat_ep_post_rdma_read(c->ep, 1, &to, to_cookie(c), &from,
				     DAT_COMPLETION_DEFAULT_FLAG);
}

/* Connect to a program that listens on the adapter of this module. */
static DAT_RETURN call(struct conn *c, DAT_CONN_QUAL qual)
{
	DAT_IA_ATTR *attr = kzalloc(sizeof(*attr), GFP_KERNEL);
	DAT_RETURN rc;

	if (!attr)
		return DAT_INSUFFICIENT_RESOURCES;
	rc = dat_ia_query(ia, NULL, DAT_IA_FIELD_IA_ADDRESS_PTR, attr, 0, NULL) ?:
	     dat_ep_connect(c->ep, attr->ia_address_ptr, qual, CONNECT_US, sizeof(hello), &hello,
			    DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
	kfree(attr);
	return rc;
}

static DAT_RETURN make_another(DAT_CONN_QUAL qual)
{
	struct conn *c = conn_make(false);
	DAT_RETURN rc;

	if (!c)
		return DAT_INSUFFICIENT_RESOURCES;
	rc = call(c, qual);
	if (rc)
		conn_free(c);
	return rc;
}

static DAT_RETURN connect(struct conn *c, u32 len)
{
	return answer_value(c, make_another(c->in.value), 0);
}

static DAT_RETURN make_same(struct conn *as)
{
	struct conn *c = conn_make(false);
	DAT_RETURN rc;

	if (!c)
		return DAT_INSUFFICIENT_RESOURCES;
	rc = dat_ep_dup_connect(c->ep, as->ep, CONNECT_US, sizeof(hello), &hello,
				DAT_QOS_BEST_EFFORT);
	if (rc)
		conn_free(c);
	return rc;
}

static DAT_RETURN dup(struct conn *c, u32 len)
{
	return answer_value(c, make_same(c), 0);
}

static DAT_RETURN send_private_data(struct conn *c, u32 len)
{
	answer_begin(c, DAT_SUCCESS);
	memcpy(c->out_bytes + sizeof(c->out), c->request_pd, KPEER_PD_SIZE);
	return answer(c, sizeof(c->out) + KPEER_PD_SIZE);
}

static DAT_RETURN reject_next(struct conn *c, u32 len)
{
	on_request = reject;
	return answer_value(c, DAT_SUCCESS, 0);
}

static DAT_RETURN handoff_next(struct conn *c, u32 len)
{
	handoff_to = c->in.value;
	on_request = handoff;
	return answer_value(c, DAT_SUCCESS, 0);
}

static DAT_RETURN make_reserved(DAT_CONN_QUAL qual)
{
	DAT_RETURN rc;

	if (rsp)
		return DAT_INVALID_STATE;
	reserved = conn_make(false);
	if (!reserved)
		return DAT_INSUFFICIENT_RESOURCES;
	rc = dat_rsp_create(ia, qual, reserved->ep, evd, &rsp);
	if (rc)
		conn_free(reserved);
	return rc;
}

static DAT_RETURN reserve(struct conn *c, u32 len)
{
	return answer_value(c, make_reserved(c->in.value), 0);
}

static DAT_RETURN come_again(struct conn *c, u32 len)
{
	c->again = c->in.value;
	return answer_value(c, DAT_SUCCESS, 0);
}

/* Disconnect after the answer: a graceful disconnect first delivers the DTOs in flight. */
static DAT_RETURN leave(struct conn *c, u32 len)
{
	return answer_value(c, DAT_SUCCESS, 0) ?:
	       dat_ep_disconnect(c->ep, DAT_CLOSE_GRACEFUL_FLAG);
}

static DAT_RETURN say_ended(struct conn *c, u32 len)
{
	return answer_value(c, DAT_SUCCESS, ended_by);
}

/* Store the physical addresses of the part's pages.  Return the number of pages. */
static u32 pages_of_part(const struct conn *c, DAT_PADDR *pages)
{
	u32 i, first = c->in.offset >> PAGE_SHIFT, n = DIV_ROUND_UP(c->in.len, PAGE_SIZE);

	n = min_t(u32, n, PAGES - first);
	for (i = 0; i < n; i++)
		pages[i] = page_to_phys(vmalloc_to_page(memory + (first + i) * PAGE_SIZE));
	return n;
}

static DAT_RETURN answer_key(struct conn *c, DAT_RETURN rc, u32 key, u64 addr)
{
	answer_begin(c, rc);
	c->out.rkey = key;
	c->out.addr = addr;
	return answer(c, sizeof(c->out));
}

/*
 * Register the part.  The EP executes the registration before the send of the answer, so the key is
 * valid when the answer arrives.
 */
static DAT_RETURN fast_register(struct conn *c, u32 len)
{
	DAT_PADDR pages[PAGES] = { };
	DAT_REGION_DESCRIPTION region = { .for_physical = pages };
	u32 n = pages_of_part(c, pages);
	DAT_RMR_CONTEXT key = 0;
	DAT_RETURN rc;

	rc = dat_lmr_fmr(fmr, DAT_MEM_TYPE_PHYSICAL, region, n, DAT_MEM_PRIV_ALL_FLAG,
			 DAT_VA_TYPE_VA, c->ep, to_cookie(c), DAT_COMPLETION_SUPPRESS_FLAG, NULL,
			 &key);
	return answer_key(c, rc, key, pages[0]);
}

static DAT_RETURN register_pages(struct conn *c, u32 len)
{
	DAT_PADDR pages[PAGES] = { };
	DAT_REGION_DESCRIPTION region = { .for_physical = pages };
	u64 bytes = (u64)pages_of_part(c, pages) * PAGE_SIZE;
	DAT_RMR_CONTEXT key = 0;
	DAT_VADDR addr = 0;
	DAT_RETURN rc;

	if (pages_lmr)
		return answer_value(c, DAT_INVALID_STATE, 0);
	rc = dat_lmr_kcreate(ia, DAT_MEM_TYPE_PHYSICAL, region, bytes, pz, DAT_MEM_PRIV_ALL_FLAG,
			     DAT_VA_TYPE_VA, DAT_MEM_OPTIMIZE_DONT_CARE, &pages_lmr, NULL, &key,
			     NULL, &addr);
	if (rc)
		pages_lmr = NULL;
	return answer_key(c, rc, key, addr);
}

static DAT_RETURN free_pages_lmr(struct conn *c, u32 len)
{
	DAT_RETURN rc = dat_lmr_free(pages_lmr);

	if (!rc)
		pages_lmr = NULL;
	return answer_value(c, rc, 0);
}

static DAT_RETURN invalidate(struct conn *c, u32 len)
{
	return answer_value(c, dat_lmr_invalidate(fmr, c->ep, to_cookie(c),
						  DAT_COMPLETION_SUPPRESS_FLAG), 0);
}

static DAT_RETURN bind(struct conn *c, u32 len)
{
	DAT_LMR_TRIPLET part = local_part(c);
	DAT_RMR_CONTEXT key = 0;
	DAT_RETURN rc;

	rc = dat_rmr_bind(rmr, memory_lmr, &part, c->in.value, DAT_VA_TYPE_VA, c->ep,
			  to_cookie(c), DAT_COMPLETION_SUPPRESS_FLAG, &key);
	return answer_key(c, rc, key, part.virtual_address);
}

static DAT_RETURN solicit(struct conn *c, u32 len)
{
	DAT_RETURN rc = await_order(c);
	u64 i, n = min_t(u64, c->in.value, REQUESTS / 2);

	answer_begin(c, DAT_SUCCESS);
	for (i = 0; i < n && !rc; i++)
		rc = send(c, sizeof(c->out), DAT_COMPLETION_SUPPRESS_FLAG);
	return rc ?: send(c, sizeof(c->out), DAT_COMPLETION_SOLICITED_WAIT_FLAG);
}

static DAT_RETURN (*const ops[KPEER_OPS])(struct conn *c, u32 len) = {
	[KPEER_ECHO]	= echo,
	[KPEER_FILL]	= fill,
	[KPEER_SUM]	= sum,
	[KPEER_WRITE]	= write,
	[KPEER_READ]	= read,
	[KPEER_CONNECT]	= connect,
	[KPEER_PRIVATE]	= send_private_data,
	[KPEER_REJECT]	= reject_next,
	[KPEER_HANDOFF]	= handoff_next,
	[KPEER_RESERVE]	= reserve,
	[KPEER_AGAIN]	= come_again,
	[KPEER_LEAVE]	= leave,
	[KPEER_ENDED]	= say_ended,
	[KPEER_FMR]	= fast_register,
	[KPEER_INVALIDATE] = invalidate,
	[KPEER_BIND]	= bind,
	[KPEER_PAGES]	= register_pages,
	[KPEER_FREE]	= free_pages_lmr,
	[KPEER_DUP]	= dup,
	[KPEER_SOLICIT]	= solicit,
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

static struct conn *conn_of(DAT_EP_HANDLE ep)
{
	DAT_CONTEXT context;

	return dat_get_consumer_context(ep, &context) ? NULL : context.as_ptr;
}

/*
 * Copy the message from an SRQ buffer to the EP's conn and post the buffer again.  Return the conn,
 * or NULL if the receive failed.
 */
static struct conn *take_shared(const DAT_DTO_COMPLETION_EVENT_DATA *dto)
{
	u64 n = dto->user_cookie.as_64;
	DAT_LMR_TRIPLET seg = { (uintptr_t)buffers[n], KPEER_MESSAGE, buffers_context };
	struct conn *c = conn_of(dto->ep_handle);

	if (c && dto->status == DAT_DTO_SUCCESS && !dat_lmr_sync_rdma_write(ia, &seg, 1))
		memcpy(c->in_bytes, buffers[n], dto->transfered_length);
	else
		c = NULL;
	give_buffer(n);
	return c;
}

static struct conn *take_own(const DAT_DTO_COMPLETION_EVENT_DATA *dto)
{
	struct conn *c = dto->user_cookie.as_ptr;
	DAT_LMR_TRIPLET seg = seg_of(c, c->in_bytes, KPEER_MESSAGE);

	return dat_lmr_sync_rdma_write(ia, &seg, 1) ? NULL : c;
}

static void completed(const DAT_DTO_COMPLETION_EVENT_DATA *dto)
{
	bool shared = dto->operation == DAT_DTO_RECEIVE && dto->user_cookie.as_64 < KPEER_BUFFERS;
	DAT_RETURN rc = DAT_SUCCESS;
	struct conn *c = NULL;

	if (shared)
		c = take_shared(dto);
	/* Ignore a failed DTO: the event that ends the connection follows. */
	else if (dto->status == DAT_DTO_SUCCESS)
		c = take_own(dto);
	if (!c)
		return;
	if (dto->operation == DAT_DTO_RECEIVE)
		rc = obey(c, dto->transfered_length);
	else if (dto->operation == DAT_DTO_RDMA_READ)
		rc = answer_value(c, DAT_SUCCESS, 0);
	if (rc)
		dat_ep_disconnect(c->ep, DAT_CLOSE_ABRUPT_FLAG);
}

static DAT_RETURN connect_again(struct conn *c)
{
	DAT_CONN_QUAL qual = c->again;

	c->again = 0;
	return dat_ep_reset(c->ep) ?: await_order(c) ?: call(c, qual);
}

static void ended(const DAT_EVENT *event)
{
	struct conn *c = conn_of(event->event_data.connect_event_data.ep_handle);

	ended_by = event->event_number;
	if (c && (!c->again || connect_again(c)))
		conn_free(c);
}

static void upcall(DAT_PVOID data, const DAT_EVENT *event, DAT_BOOLEAN more_events)
{
	might_sleep();
	switch (event->event_number) {
	case DAT_CONNECTION_REQUEST_EVENT:
		welcome(&event->event_data.cr_arrival_event_data);
		break;
	case DAT_DTO_COMPLETION_EVENT:
		completed(&event->event_data.dto_completion_event_data);
		break;
	case DAT_CONNECTION_EVENT_ESTABLISHED:
	/* A bind reports its completion only if it failed.  The failure ends the connection. */
	case DAT_RMR_BIND_COMPLETION_EVENT:
		break;
	default:
		ended(event);
	}
}

/* ---- The module ---- */

static DAT_RETURN make_memory(void)
{
	DAT_REGION_DESCRIPTION region = { .for_va = memory };
	DAT_VADDR addr = 0;
	DAT_RETURN rc;

	/* Use vmalloc(), so that the registration covers pages that are not contiguous. */
	rc = dat_lmr_kcreate(ia, DAT_MEM_TYPE_VIRTUAL, region, KPEER_MEMORY, pz,
			     DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, DAT_MEM_OPTIMIZE_DONT_CARE,
			     &memory_lmr, &memory_context, &hello.rkey, NULL, &addr);
	hello.addr = addr;
	hello.len = KPEER_MEMORY;
	return rc ?: dat_lmr_allocate(ia, pz, PAGES, DAT_LMR_SCOPE_PZ, &fmr) ?:
		     dat_rmr_create(pz, &rmr);
}

static DAT_RETURN make_shared(void)
{
	DAT_MEM_PRIV_FLAGS priv = DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG;
	DAT_SRQ_ATTR attr = { KPEER_BUFFERS, 1, DAT_SRQ_LW_DEFAULT };
	DAT_REGION_DESCRIPTION region = { .for_va = buffers };
	DAT_LMR_HANDLE lmr;
	DAT_RETURN rc;
	u64 n;

	rc = dat_srq_create(ia, pz, &attr, &srq) ?:
	     dat_lmr_kcreate(ia, DAT_MEM_TYPE_VIRTUAL, region, KPEER_BUFFERS * KPEER_MESSAGE, pz,
			     priv, DAT_VA_TYPE_VA, DAT_MEM_OPTIMIZE_DONT_CARE, &lmr,
			     &buffers_context, NULL, NULL, NULL);
	for (n = 0; n < KPEER_BUFFERS && !rc; n++)
		rc = give_buffer(n);
	return rc;
}

static DAT_RETURN make(void)
{
	DAT_EVD_FLAGS flags = DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG |
			      DAT_EVD_CONNECTION_FLAG | DAT_EVD_CR_FLAG;
	DAT_UPCALL_OBJECT object = { NULL, upcall };
	DAT_PSP_HANDLE psp;

	return dat_pz_create(ia, &pz) ?:
	       dat_evd_kcreate(ia, EVENTS, DAT_UPCALL_SINGLE_INSTANCE, &object, flags, &evd) ?:
	       make_memory() ?: make_shared() ?:
	       dat_psp_create(ia, KPEER_QUAL, evd, DAT_PSP_CONSUMER_FLAG, &psp) ?:
	       dat_psp_create(ia, KPEER_SHARED, evd, DAT_PSP_CONSUMER_FLAG, &psp);
}

/* Undo make(), even if only a part of it succeeded. */
static void end(void)
{
	struct conn *c, *next;

	dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG);
	list_for_each_entry_safe(c, next, &conns, node)
		kfree(c);
	kfree(buffers);
	vfree(memory);
}

static int __init kpeer_init(void)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_RETURN rc;

	memory = vzalloc(KPEER_MEMORY);
	buffers = kcalloc(KPEER_BUFFERS, sizeof(*buffers), GFP_KERNEL);
	rc = memory && buffers ? DAT_SUCCESS : DAT_INSUFFICIENT_RESOURCES;
	if (!rc)
		rc = dat_ia_open(device, ASYNC_EVENTS, &async, &ia);
	if (!rc)
		rc = make();
	if (!rc)
		return 0;
	pr_err("%s: %#x\n", device, rc);
	/* If dat_ia_open() failed, @ia is an invalid handle, and closing it does nothing. */
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
MODULE_INFO(import_ns, "DAT");
