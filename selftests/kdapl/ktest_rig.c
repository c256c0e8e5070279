// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* Two connected EPs and their memory, for tests of memory. */
#include <linux/delay.h>
#include <linux/in6.h>
#include <linux/mm.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "ktest_rig.h"

#define QUAL		7473
#define QLEN		64

static DAT_RETURN evd_make(struct ktest *t, DAT_EVD_FLAGS flags, DAT_EVD_HANDLE *evd)
{
	return dat_evd_kcreate(t->ia, QLEN, DAT_UPCALL_DISABLE, NULL, flags, evd);
}

/* Return the status of the next DTO or bind event, or -1 if its cookie is not @cookie. */
int rig_status(struct rig *r, u64 cookie)
{
	DAT_RMR_BIND_COMPLETION_EVENT_DATA *bind;
	DAT_DTO_COMPLETION_EVENT_DATA *dto;
	DAT_EVENT event;

	switch (kt_next(r->evd, &event)) {
	case DAT_DTO_COMPLETION_EVENT:
		dto = &event.event_data.dto_completion_event_data;
		return dto->user_cookie.as_64 == cookie ? (int)dto->status : -1;
	case DAT_RMR_BIND_COMPLETION_EVENT:
		bind = &event.event_data.rmr_completion_event_data;
		return bind->user_cookie.as_64 == cookie ? (int)bind->status : -1;
	default:
		return -1;
	}
}

bool rig_connect(struct ktest *t, struct rig *r)
{
	struct sockaddr_storage addr;
	DAT_PSP_HANDLE psp;
	DAT_IA_ATTR *attr;
	DAT_EVENT event;
	bool ok;

	attr = kzalloc(sizeof(*attr), GFP_KERNEL);
	if (!attr)
		return false;
	ok = !dat_ia_query(t->ia, NULL, DAT_IA_FIELD_ALL, attr, 0, NULL) && attr->ia_address_ptr;
	if (ok)
		memcpy(&addr, attr->ia_address_ptr, sizeof(struct sockaddr_in6));
	kfree(attr);
	ok = ok && !dat_psp_create(t->ia, QUAL, r->cr, DAT_PSP_CONSUMER_FLAG, &psp);
	if (!ok)
		return false;
	ok = !dat_ep_connect(r->a, (struct sockaddr *)&addr, QUAL, 5000000, 0, NULL,
			     DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG) &&
	     kt_next(r->cr, &event) == DAT_CONNECTION_REQUEST_EVENT &&
	     !dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, r->b, 0, NULL) &&
	     kt_next(r->conn, &event) == DAT_CONNECTION_EVENT_ESTABLISHED &&
	     kt_next(r->conn, &event) == DAT_CONNECTION_EVENT_ESTABLISHED;
	dat_psp_free(psp);
	return ok;
}

bool rig_make(struct ktest *t, struct rig *r)
{
	memset(r, 0, sizeof(*r));
	return !dat_pz_create(t->ia, &r->pz) &&
	       !evd_make(t, DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG, &r->evd) &&
	       !evd_make(t, DAT_EVD_CONNECTION_FLAG, &r->conn) &&
	       !evd_make(t, DAT_EVD_CR_FLAG, &r->cr) &&
	       !dat_ep_create(t->ia, r->pz, r->evd, r->evd, r->conn, NULL, &r->a) &&
	       !dat_ep_create(t->ia, r->pz, r->evd, r->evd, r->conn, NULL, &r->b);
}

static void swallow(DAT_EVD_HANDLE evd)
{
	DAT_EVENT event;

	while (dat_evd_dequeue(evd, &event) == DAT_SUCCESS)
		;
}

/* Connect both EPs again after an error has ended the connection. */
bool rig_reconnect(struct ktest *t, struct rig *r)
{
	DAT_EVENT event;

	dat_ep_disconnect(r->a, DAT_CLOSE_ABRUPT_FLAG);
	dat_ep_disconnect(r->b, DAT_CLOSE_ABRUPT_FLAG);
	if (!kt_next(r->conn, &event) || !kt_next(r->conn, &event))
		return false;
	swallow(r->evd);
	return !dat_ep_reset(r->a) && !dat_ep_reset(r->b) && rig_connect(t, r);
}

DAT_RETURN rig_reg(struct ktest *t, struct rig *r, DAT_MEM_TYPE type,
		   DAT_REGION_DESCRIPTION region, u64 length, u32 priv, struct rig_mem *m)
{
	return dat_lmr_kcreate(t->ia, type, region, length, r->pz, priv, DAT_VA_TYPE_VA,
			       DAT_MEM_OPTIMIZE_DONT_CARE, &m->lmr, &m->context, &m->rkey,
			       &m->length, &m->addr);
}

DAT_RETURN rig_reg_va(struct ktest *t, struct rig *r, void *va, u64 length, u32 priv,
		      struct rig_mem *m)
{
	DAT_REGION_DESCRIPTION region = { .for_va = va };

	m->va = va;
	return rig_reg(t, r, DAT_MEM_TYPE_VIRTUAL, region, length, priv, m);
}

void rig_fill(u8 *va, size_t length, u8 seed)
{
	size_t i;

	for (i = 0; i < length; i++)
		va[i] = i * 7 + i / 256 + seed;
}

static DAT_RETURN rdma(struct rig *r, bool read, const struct rig_mem *local, u64 at, u64 length,
		       u64 remote, DAT_RMR_CONTEXT key, u64 n)
{
	DAT_LMR_TRIPLET seg = {
		.virtual_address = local->addr + at, .segment_length = length,
		.lmr_context = local->context,
	};
	DAT_RMR_TRIPLET rmr = {
		.virtual_address = remote, .segment_length = length, .rmr_context = key,
	};

	return read ? dat_ep_post_rdma_read(r->a, 1, &seg, kt_cookie(n), &rmr, 0) :
		      dat_ep_post_rdma_write(r->a, 1, &seg, kt_cookie(n), &rmr, 0);
}

/* RDMA-read @length bytes at @addr of b's memory.  Return the status of the read. */
int rig_reads(struct rig *r, u64 addr, u64 length, DAT_RMR_CONTEXT key)
{
	return rdma(r, true, &r->box, 0, length, addr, key, 77) ? -2 : rig_status(r, 77);
}

int rig_writes(struct rig *r, u64 addr, u64 length, DAT_RMR_CONTEXT key)
{
	return rdma(r, false, &r->box, 0, length, addr, key, 78) ? -2 : rig_status(r, 78);
}

/* Run @fn with a connected struct rig. */
void with_rig(struct ktest *t, void (*fn)(struct ktest *t, struct rig *r))
{
	struct rig *r = kzalloc(sizeof(*r), GFP_KERNEL);
	void *va = alloc_pages_exact(RIG_SIZE, GFP_KERNEL);

	if (!r || !va || !rig_make(t, r) || !rig_connect(t, r) ||
	    rig_reg_va(t, r, va, RIG_SIZE, LOCAL, &r->box))
		ktest_fail(t, __FILE__, __LINE__, "rig", 0, 1);
	else
		fn(t, r);
	/* Before freeing the memory, free the objects that can access it. */
	if (r) {
		dat_ep_free(r->a);
		dat_ep_free(r->b);
		dat_lmr_free(r->box.lmr);
	}
	if (va)
		free_pages_exact(va, RIG_SIZE);
	kfree(r);
}

bool rig_over_iwarp(struct ktest *t)
{
	DAT_PROVIDER_ATTR *attr = kzalloc(sizeof(*attr), GFP_KERNEL);
	bool iwarp;

	iwarp = attr && !dat_ia_query(t->ia, NULL, 0, NULL, DAT_PROVIDER_FIELD_ALL, attr) &&
		attr->rdma_write_for_rdma_read_req;
	kfree(attr);
	return iwarp;
}

/*
 * Returns true if @to has the @len bytes of @from.  Over iWARP a write completes before its data is
 * in the peer's memory, so waits for the data.
 */
bool rig_arrives(struct ktest *t, const void *to, const void *from, size_t len)
{
	int ms, limit = rig_over_iwarp(t) ? 5000 : 0;

	for (ms = 0; ms < limit && memcmp(to, from, len); ms += 20)
		msleep(20);
	return !memcmp(to, from, len);
}

/*
 * Transfer data between r->box and @m by RDMA read, RDMA write, and sends in both directions.  @m
 * has RIG_SIZE bytes and all privileges.
 */
void rig_traffic(struct ktest *t, struct rig *r, struct rig_mem *m)
{
	DAT_LMR_TRIPLET from = {
		.virtual_address = r->box.addr, .segment_length = RIG_SIZE,
		.lmr_context = r->box.context,
	}, to = {
		.virtual_address = m->addr, .segment_length = RIG_SIZE, .lmr_context = m->context,
	};
	int first, second;

	KT_EQ(t, m->length, RIG_SIZE);
	rig_fill(m->va, RIG_SIZE, 1);
	KT_EQ(t, rig_reads(r, m->addr, RIG_SIZE, m->rkey), DAT_DTO_SUCCESS);
	KT_TRUE(t, !memcmp(r->box.va, m->va, RIG_SIZE));
	rig_fill(r->box.va, RIG_SIZE, 2);
	KT_EQ(t, rig_writes(r, m->addr, RIG_SIZE, m->rkey), DAT_DTO_SUCCESS);
	KT_TRUE(t, rig_arrives(t, m->va, r->box.va, RIG_SIZE));
	rig_fill(r->box.va, RIG_SIZE, 3);
	KT_OK(t, dat_ep_post_recv(r->b, 1, &to, kt_cookie(1), 0));
	KT_OK(t, dat_ep_post_send(r->a, 1, &from, kt_cookie(1), 0));
	first = rig_status(r, 1);
	second = rig_status(r, 1);
	KT_EQ(t, first, DAT_DTO_SUCCESS);
	KT_EQ(t, second, DAT_DTO_SUCCESS);
	KT_TRUE(t, !memcmp(r->box.va, m->va, RIG_SIZE));
	rig_fill(m->va, RIG_SIZE, 4);
	KT_OK(t, dat_ep_post_recv(r->a, 1, &from, kt_cookie(1), 0));
	KT_OK(t, dat_ep_post_send(r->b, 1, &to, kt_cookie(1), 0));
	first = rig_status(r, 1);
	second = rig_status(r, 1);
	KT_EQ(t, first, DAT_DTO_SUCCESS);
	KT_EQ(t, second, DAT_DTO_SUCCESS);
	KT_TRUE(t, !memcmp(r->box.va, m->va, RIG_SIZE));
}

struct rig_pages *rig_pages_make(void)
{
	struct rig_pages *p = kzalloc(sizeof(*p), GFP_KERNEL);
	struct page *gap[6] = {};
	int i;

	if (!p)
		return NULL;
	sg_init_table(p->sg, 6);
	for (i = 0; i < 6; i++) {
		p->page[i] = alloc_page(GFP_KERNEL);
		gap[i] = alloc_page(GFP_KERNEL);
		if (!p->page[i])
			break;
		p->addr[i] = page_to_phys(p->page[i]);
		sg_set_page(&p->sg[i], p->page[i], PAGE_SIZE, 0);
	}
	if (i == 6)
		p->va = vmap(p->page, 6, VM_MAP, PAGE_KERNEL);
	for (i = 0; i < 6; i++)
		if (gap[i])
			__free_page(gap[i]);
	return p;
}

void rig_pages_free(struct rig_pages *p)
{
	int i;

	if (!p)
		return;
	vunmap(p->va);
	for (i = 0; i < 6; i++)
		if (p->page[i])
			__free_page(p->page[i]);
	kfree(p);
}
