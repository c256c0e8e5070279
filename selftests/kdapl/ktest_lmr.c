// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * Tests of memory: registrations of all kinds, allocated LMRs, RMRs.  Data go from one EP of this
 * module to another EP, over the loopback of the adapter.
 */
#include <linux/delay.h>
#include <linux/in6.h>
#include <linux/kprobes.h>
#include <linux/mm.h>
#include <linux/random.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <rdma/ib_verbs.h>

#include "ktest.h"

#define QUAL		7473
#define QLEN		64
#define SIZE		(5 * PAGE_SIZE)
#define ALL		DAT_MEM_PRIV_ALL_FLAG
#define LOCAL		(DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG)
#define FENCE		DAT_COMPLETION_LMR_INVALIDATE_FENCE_FLAG

/**
 * struct mem - memory with an LMR
 * @va: kernel virtual address, if the memory is virtually contiguous
 * @lmr: LMR that registers the memory
 * @context: LMR context of @lmr
 * @rkey: RMR context of @lmr
 * @addr: address of the first byte, as segments must contain it
 * @length: length in bytes
 */
struct mem {
	u8		*va;
	DAT_LMR_HANDLE	lmr;
	DAT_LMR_CONTEXT	context;
	DAT_RMR_CONTEXT	rkey;
	DAT_VADDR	addr;
	DAT_VLEN	length;
};

/**
 * struct rig - two connected EPs
 * @pz: protection zone of both EPs
 * @evd: EVD for DTO and bind events of both EPs
 * @conn: EVD for connection events of both EPs
 * @cr: EVD for connection requests
 * @a: EP that connects
 * @b: EP that accepts
 * @box: memory of SIZE bytes that @a reads into and writes from
 */
struct rig {
	DAT_PZ_HANDLE	pz;
	DAT_EVD_HANDLE	evd;
	DAT_EVD_HANDLE	conn;
	DAT_EVD_HANDLE	cr;
	DAT_EP_HANDLE	a;
	DAT_EP_HANDLE	b;
	struct mem	box;
};

static DAT_RETURN evd_make(struct ktest *t, DAT_EVD_FLAGS flags, DAT_EVD_HANDLE *evd)
{
	return dat_evd_kcreate(t->ia, QLEN, DAT_UPCALL_DISABLE, NULL, flags, evd);
}

/* Wait for the next event.  Return its number, or 0 on timeout. */
static DAT_EVENT_NUMBER next(DAT_EVD_HANDLE evd, DAT_EVENT *event)
{
	unsigned long end = jiffies + KT_WAIT;

	do {
		if (dat_evd_dequeue(evd, event) == DAT_SUCCESS)
			return event->event_number;
		usleep_range(50, 200);
	} while (time_before(jiffies, end));
	return 0;
}

/* Return the status of the next DTO or bind event, or -1 if its cookie is not @cookie. */
static int status_of(struct rig *r, u64 cookie)
{
	DAT_RMR_BIND_COMPLETION_EVENT_DATA *bind;
	DAT_DTO_COMPLETION_EVENT_DATA *dto;
	DAT_EVENT event;

	switch (next(r->evd, &event)) {
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

static DAT_CONTEXT cookie(u64 n)
{
	return (DAT_CONTEXT) { .as_64 = n };
}

static bool rig_connect(struct ktest *t, struct rig *r)
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
	     next(r->cr, &event) == DAT_CONNECTION_REQUEST_EVENT &&
	     !dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, r->b, 0, NULL) &&
	     next(r->conn, &event) == DAT_CONNECTION_EVENT_ESTABLISHED &&
	     next(r->conn, &event) == DAT_CONNECTION_EVENT_ESTABLISHED;
	dat_psp_free(psp);
	return ok;
}

static bool rig_make(struct ktest *t, struct rig *r)
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
static bool rig_reconnect(struct ktest *t, struct rig *r)
{
	DAT_EVENT event;

	dat_ep_disconnect(r->a, DAT_CLOSE_ABRUPT_FLAG);
	dat_ep_disconnect(r->b, DAT_CLOSE_ABRUPT_FLAG);
	if (!next(r->conn, &event) || !next(r->conn, &event))
		return false;
	swallow(r->evd);
	return !dat_ep_reset(r->a) && !dat_ep_reset(r->b) && rig_connect(t, r);
}

static DAT_RETURN reg(struct ktest *t, struct rig *r, DAT_MEM_TYPE type,
		      DAT_REGION_DESCRIPTION region, u64 length, u32 priv, struct mem *m)
{
	return dat_lmr_kcreate(t->ia, type, region, length, r->pz, priv, DAT_VA_TYPE_VA,
			       DAT_MEM_OPTIMIZE_DONT_CARE, &m->lmr, &m->context, &m->rkey,
			       &m->length, &m->addr);
}

static DAT_RETURN reg_va(struct ktest *t, struct rig *r, void *va, u64 length, u32 priv,
			 struct mem *m)
{
	DAT_REGION_DESCRIPTION region = { .for_va = va };

	m->va = va;
	return reg(t, r, DAT_MEM_TYPE_VIRTUAL, region, length, priv, m);
}

static void fill(u8 *va, size_t length, u8 seed)
{
	size_t i;

	for (i = 0; i < length; i++)
		va[i] = i * 7 + i / 256 + seed;
}

static DAT_RETURN rdma(struct rig *r, bool read, const struct mem *local, u64 at, u64 length,
		       u64 remote, DAT_RMR_CONTEXT key, u64 n)
{
	DAT_LMR_TRIPLET seg = {
		.virtual_address = local->addr + at, .segment_length = length,
		.lmr_context = local->context,
	};
	DAT_RMR_TRIPLET rmr = {
		.virtual_address = remote, .segment_length = length, .rmr_context = key,
	};

	return read ? dat_ep_post_rdma_read(r->a, 1, &seg, cookie(n), &rmr, 0) :
		      dat_ep_post_rdma_write(r->a, 1, &seg, cookie(n), &rmr, 0);
}

/* RDMA-read @length bytes at @addr of b's memory.  Return the status of the read. */
static int reads(struct rig *r, u64 addr, u64 length, DAT_RMR_CONTEXT key)
{
	return rdma(r, true, &r->box, 0, length, addr, key, 77) ? -2 : status_of(r, 77);
}

static int writes(struct rig *r, u64 addr, u64 length, DAT_RMR_CONTEXT key)
{
	return rdma(r, false, &r->box, 0, length, addr, key, 78) ? -2 : status_of(r, 78);
}

/* Run @fn with a connected struct rig. */
static void with_rig(struct ktest *t, void (*fn)(struct ktest *t, struct rig *r))
{
	struct rig *r = kzalloc(sizeof(*r), GFP_KERNEL);
	void *va = alloc_pages_exact(SIZE, GFP_KERNEL);

	if (!r || !va || !rig_make(t, r) || !rig_connect(t, r) ||
	    reg_va(t, r, va, SIZE, LOCAL, &r->box))
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
		free_pages_exact(va, SIZE);
	kfree(r);
}

static bool over_iwarp(struct ktest *t)
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
static bool arrives(struct ktest *t, const void *to, const void *from, size_t len)
{
	int ms, limit = over_iwarp(t) ? 5000 : 0;

	for (ms = 0; ms < limit && memcmp(to, from, len); ms += 20)
		msleep(20);
	return !memcmp(to, from, len);
}

/*
 * Transfer data between r->box and @m by RDMA read, RDMA write, and sends in both directions.  @m
 * has SIZE bytes and all privileges.
 */
static void traffic(struct ktest *t, struct rig *r, struct mem *m)
{
	DAT_LMR_TRIPLET from = {
		.virtual_address = r->box.addr, .segment_length = SIZE,
		.lmr_context = r->box.context,
	}, to = {
		.virtual_address = m->addr, .segment_length = SIZE, .lmr_context = m->context,
	};
	int first, second;

	KT_EQ(t, m->length, SIZE);
	fill(m->va, SIZE, 1);
	KT_EQ(t, reads(r, m->addr, SIZE, m->rkey), DAT_DTO_SUCCESS);
	KT_TRUE(t, !memcmp(r->box.va, m->va, SIZE));
	fill(r->box.va, SIZE, 2);
	KT_EQ(t, writes(r, m->addr, SIZE, m->rkey), DAT_DTO_SUCCESS);
	KT_TRUE(t, arrives(t, m->va, r->box.va, SIZE));
	fill(r->box.va, SIZE, 3);
	KT_OK(t, dat_ep_post_recv(r->b, 1, &to, cookie(1), 0));
	KT_OK(t, dat_ep_post_send(r->a, 1, &from, cookie(1), 0));
	first = status_of(r, 1);
	second = status_of(r, 1);
	KT_EQ(t, first, DAT_DTO_SUCCESS);
	KT_EQ(t, second, DAT_DTO_SUCCESS);
	KT_TRUE(t, !memcmp(r->box.va, m->va, SIZE));
	fill(m->va, SIZE, 4);
	KT_OK(t, dat_ep_post_recv(r->a, 1, &from, cookie(1), 0));
	KT_OK(t, dat_ep_post_send(r->b, 1, &to, cookie(1), 0));
	first = status_of(r, 1);
	second = status_of(r, 1);
	KT_EQ(t, first, DAT_DTO_SUCCESS);
	KT_EQ(t, second, DAT_DTO_SUCCESS);
	KT_TRUE(t, !memcmp(r->box.va, m->va, SIZE));
}

static void linear(struct ktest *t, struct rig *r)
{
	u8 *va = kmalloc(SIZE + 256, GFP_KERNEL);
	struct mem m = {};

	KT_TRUE(t, va);
	if (reg_va(t, r, va + 123, SIZE, ALL, &m))
		ktest_fail(t, __FILE__, __LINE__, "kcreate", 0, 1);
	else
		traffic(t, r, &m);
	if (!t->failed && m.addr != (uintptr_t)va + 123)
		ktest_fail(t, __FILE__, __LINE__, "address", m.addr, (uintptr_t)va + 123);
	dat_ep_disconnect(r->a, DAT_CLOSE_ABRUPT_FLAG);
	dat_lmr_free(m.lmr);
	kfree(va);
}

static void linear_memory_is_reached(struct ktest *t)
{
	with_rig(t, linear);
}

static void mapped(struct ktest *t, struct rig *r)
{
	u8 *va = vmalloc(SIZE + PAGE_SIZE);
	struct mem m = {};

	KT_TRUE(t, va);
	if (reg_va(t, r, va + 1000, SIZE, ALL, &m))
		ktest_fail(t, __FILE__, __LINE__, "kcreate", 0, 1);
	else
		traffic(t, r, &m);
	dat_ep_disconnect(r->a, DAT_CLOSE_ABRUPT_FLAG);
	dat_lmr_free(m.lmr);
	vfree(va);
}

static void vmalloc_memory_is_reached(struct ktest *t)
{
	with_rig(t, mapped);
}

/* Six pages that are not contiguous, as struct page, as physical addresses and as a scatterlist. */
struct pages {
	struct page		*page[6];
	DAT_PADDR		addr[6];
	struct scatterlist	sg[6];
	u8			*va;
};

static struct pages *pages_make(void)
{
	struct pages *p = kzalloc(sizeof(*p), GFP_KERNEL);
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

static void pages_free(struct pages *p)
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

/* Register pages in the way that @type and @region describe, and transfer data. */
static void paged(struct ktest *t, struct rig *r, struct pages *p, DAT_MEM_TYPE type,
		  DAT_REGION_DESCRIPTION region, u32 skip)
{
	struct mem m = { .va = p->va + skip }, copy = m;
	DAT_REGION_DESCRIPTION same;
	DAT_LMR_PARAM param;

	KT_OK(t, reg(t, r, type, region, SIZE, ALL, &m));
	KT_EQ(t, m.addr, p->addr[0] + skip);
	traffic(t, r, &m);
	KT_OK(t, dat_lmr_query(m.lmr, DAT_LMR_FIELD_ALL, &param));
	KT_EQ(t, param.mem_type, type);
	KT_EQ(t, param.length, SIZE);
	KT_EQ(t, param.rmr_context, m.rkey);
	KT_EQ(t, param.lmr_state.bound, DAT_TRUE);
	KT_EQ(t, param.lmr_state.fmr_support, DAT_FALSE);
	/*
	 * Register the same memory again through its LMR.  The second LMR must outlive the first.
	 */
	same.for_lmr_handle = m.lmr;
	KT_OK(t, reg(t, r, DAT_MEM_TYPE_LMR, same, 0, ALL, &copy));
	KT_TRUE(t, copy.rkey != m.rkey && copy.context != m.context);
	KT_OK(t, dat_lmr_free(m.lmr));
	traffic(t, r, &copy);
	KT_OK(t, dat_lmr_free(copy.lmr));
}

static void physical(struct ktest *t, struct rig *r)
{
	struct pages *p = pages_make();

	if (p && p->va)
		paged(t, r, p, DAT_MEM_TYPE_PHYSICAL,
		      (DAT_REGION_DESCRIPTION) { .for_physical = p->addr }, 0);
	else
		ktest_fail(t, __FILE__, __LINE__, "pages", 0, 1);
	dat_ep_free(r->a);
	pages_free(p);
}

static void physical_pages_are_reached(struct ktest *t)
{
	with_rig(t, physical);
}

static void var_pages(struct ktest *t, struct rig *r)
{
	struct pages *p = pages_make();

	if (p && p->va)
		paged(t, r, p, DAT_MEM_TYPE_PHYSICAL_VAR_PAGES, (DAT_REGION_DESCRIPTION) {
		      .for_array = { .page_size = PAGE_SIZE, .pages = p->addr } }, 0);
	else
		ktest_fail(t, __FILE__, __LINE__, "pages", 0, 1);
	dat_ep_free(r->a);
	pages_free(p);
}

static void pages_of_a_size_are_reached(struct ktest *t)
{
	with_rig(t, var_pages);
}

static void platform(struct ktest *t, struct rig *r)
{
	struct pages *p = pages_make();
	DAT_PLATFORM_MEMORY mem = { .nents = 6, .offset = 300 };

	if (p && p->va) {
		mem.sg = p->sg;
		paged(t, r, p, DAT_MEM_TYPE_PLATFORM,
		      (DAT_REGION_DESCRIPTION) { .for_platform = &mem }, 300);
	} else {
		ktest_fail(t, __FILE__, __LINE__, "pages", 0, 1);
	}
	dat_ep_free(r->a);
	pages_free(p);
}

static void scatterlists_are_reached(struct ktest *t)
{
	with_rig(t, platform);
}

/* The DMA addresses of a software device such as rxe are kernel virtual addresses. */
static void dma_traffic(struct ktest *t, struct rig *r, struct pages *p)
{
	DAT_PLATFORM_MEMORY mem = { .sg = p->sg, .nents = 6, .offset = 100 };
	DAT_REGION_DESCRIPTION region = { .for_platform = &mem };
	struct mem m = { .va = p->va + 100 };
	int i;

	for (i = 0; i < 6; i++) {
		sg_dma_address(&p->sg[i]) = (uintptr_t)page_address(p->page[i]);
		sg_dma_len(&p->sg[i]) = PAGE_SIZE;
	}
	KT_OK(t, reg(t, r, DAT_MEM_TYPE_BYPASS, region, SIZE, ALL, &m));
	KT_EQ(t, m.addr, (uintptr_t)page_address(p->page[0]) + 100);
	traffic(t, r, &m);
	KT_OK(t, dat_lmr_free(m.lmr));
	KT_CODE(t, reg(t, r, DAT_MEM_TYPE_BYPASS, region, 6 * PAGE_SIZE, ALL, &m),
		DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
}

static void bypass(struct ktest *t, struct rig *r)
{
	struct pages *p = pages_make();

	if (p && p->va)
		dma_traffic(t, r, p);
	else
		ktest_fail(t, __FILE__, __LINE__, "pages", 0, 1);
	dat_ep_free(r->a);
	pages_free(p);
}

static void dma_addresses_are_reached(struct ktest *t)
{
	with_rig(t, bypass);
}

/*
 * Bytes in a registered range can be accessed with the privileges of the registration.  Bytes
 * outside of the range cannot be accessed.
 */
static void exact(struct ktest *t, struct rig *r, struct mem *whole)
{
	static const struct {
		u64 at, length;
	} out[] = { { (u64)-1, 1 }, { 5000, 1 }, { 4999, 2 }, { (u64)-1, 5002 } };
	struct mem m = {}, ro = {};
	int i;

	KT_OK(t, reg_va(t, r, whole->va + 123, 5000, ALL, &m));
	KT_EQ(t, reads(r, m.addr, 1, m.rkey), DAT_DTO_SUCCESS);
	KT_EQ(t, reads(r, m.addr + 4999, 1, m.rkey), DAT_DTO_SUCCESS);
	KT_EQ(t, writes(r, m.addr, 5000, m.rkey), DAT_DTO_SUCCESS);
	for (i = 0; i < ARRAY_SIZE(out); i++) {
		KT_EQ(t, reads(r, m.addr + out[i].at, out[i].length, m.rkey),
		      DAT_DTO_ERR_REMOTE_ACCESS);
		KT_TRUE(t, rig_reconnect(t, r));
	}
	KT_OK(t, reg_va(t, r, whole->va, 64, DAT_MEM_PRIV_REMOTE_READ_FLAG, &ro));
	KT_EQ(t, reads(r, ro.addr, 64, ro.rkey), DAT_DTO_SUCCESS);
	KT_EQ(t, writes(r, ro.addr, 64, ro.rkey), DAT_DTO_ERR_REMOTE_ACCESS);
	KT_TRUE(t, rig_reconnect(t, r));
	/* Once the LMR has been freed, its key is invalid. */
	KT_OK(t, dat_lmr_free(m.lmr));
	KT_EQ(t, reads(r, m.addr, 1, m.rkey), DAT_DTO_ERR_REMOTE_ACCESS);
}

static void exactness(struct ktest *t, struct rig *r)
{
	struct mem whole = { .va = vmalloc(SIZE) };

	if (whole.va)
		exact(t, r, &whole);
	dat_ep_free(r->a);
	vfree(whole.va);
}

static void keys_open_these_bytes_only(struct ktest *t)
{
	with_rig(t, exactness);
}

/*
 * The accepting thread creates the QP of the connection.  A kretprobe stores this QP in @accepted,
 * so that the test can raise a device event for the QP.
 */
static struct task_struct *accepting;
static struct ib_qp *accepted;

static int note_qp(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct ib_qp *qp = (struct ib_qp *)regs_return_value(regs);

	if (current == accepting && !IS_ERR_OR_NULL(qp))
		accepted = qp;
	return 0;
}

static struct kretprobe qp_probe = {
	.kp.symbol_name = "ib_create_qp_kernel", .handler = note_qp,
};

static void raise_access_error(struct ib_qp *qp)
{
	struct ib_event event = {
		.device = qp->device, .element.qp = qp, .event = IB_EVENT_QP_ACCESS_ERR,
	};

	qp->event_handler(&event, qp->qp_context);
}

/*
 * b's device may report the access error to b before a gets the response.  Even so, a's read must
 * fail with the access error.  On a busy machine, b's connection may end first, so the test passes
 * if the read fails with this error in one of 10 rounds.
 */
static void refuse_late(struct ktest *t, struct rig *r)
{
	int i, status = -1;

	accepting = current;
	for (i = 0; i < 10 && status != DAT_DTO_ERR_REMOTE_ACCESS; i++) {
		KT_TRUE(t, rig_reconnect(t, r) && accepted);
		raise_access_error(accepted);
		msleep(20);
		status = reads(r, r->box.addr, 8, 0xdead00);
	}
	KT_EQ(t, status, DAT_DTO_ERR_REMOTE_ACCESS);
}

static void access_errors_reach_the_peer_before_the_end(struct ktest *t)
{
	int ret = register_kretprobe(&qp_probe);

	if (ret == -EOPNOTSUPP) {
		pr_info("# %s: skipped: a kernel without kretprobes\n", t->name);
		return;
	}
	KT_EQ(t, ret, 0);
	with_rig(t, refuse_late);
	unregister_kretprobe(&qp_probe);
}

static void local_checks(struct ktest *t, struct rig *r)
{
	DAT_LMR_TRIPLET seg = { .segment_length = 64 };
	struct mem m = {}, other = {};
	DAT_PZ_HANDLE pz = r->pz;

	/* Without a remote privilege an LMR has no key.  Without LOCAL_WRITE it cannot receive. */
	KT_OK(t, reg_va(t, r, r->box.va, 64, DAT_MEM_PRIV_LOCAL_READ_FLAG, &m));
	KT_EQ(t, m.rkey, 0);
	seg.virtual_address = m.addr;
	seg.lmr_context = m.context;
	KT_CODE(t, dat_ep_post_recv(r->a, 1, &seg, cookie(1), 0), DAT_PRIVILEGES_VIOLATION,
		DAT_PRIVILEGES_WRITE);
	seg.virtual_address++;
	KT_EQ(t, dat_ep_post_send(r->a, 1, &seg, cookie(1), 0),
	      DAT_CLASS_ERROR | DAT_INVALID_PARAMETER | DAT_INVALID_ARG3);
	KT_OK(t, dat_pz_create(t->ia, &r->pz));
	KT_OK(t, reg_va(t, r, r->box.va, 64, LOCAL, &other));
	seg.virtual_address = other.addr;
	seg.lmr_context = other.context;
	KT_EQ(t, dat_ep_post_send(r->a, 1, &seg, cookie(1), 0),
	      DAT_CLASS_ERROR | DAT_PROTECTION_VIOLATION | DAT_PROTECTION_READ);
	KT_EQ(t, dat_ep_post_recv(r->a, 1, &seg, cookie(1), 0),
	      DAT_CLASS_ERROR | DAT_PROTECTION_VIOLATION | DAT_PROTECTION_WRITE);
	KT_CODE(t, dat_pz_free(r->pz), DAT_INVALID_STATE, DAT_INVALID_STATE_PZ_IN_USE);
	KT_OK(t, dat_lmr_free(other.lmr));
	KT_OK(t, dat_pz_free(r->pz));
	r->pz = pz;
	KT_CODE(t, dat_lmr_free(other.lmr), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_LMR);
	KT_CODE(t, dat_ep_post_send(r->a, 1, &seg, cookie(1), 0), DAT_PRIVILEGES_VIOLATION,
		DAT_PRIVILEGES_READ);
	KT_OK(t, dat_lmr_free(m.lmr));
}

static void segments_are_checked(struct ktest *t)
{
	with_rig(t, local_checks);
}

#define REGIONS	70

/* Each of many LMRs is valid by itself: no LMR gives access to the memory of the next LMR. */
static void regions(struct ktest *t, struct rig *r, struct mem *m)
{
	DAT_LMR_TRIPLET segs[2] = { { .segment_length = 64 }, { .segment_length = 64 } };
	int i;

	for (i = 0; i < REGIONS; i++)
		KT_OK(t, reg_va(t, r, r->box.va + 64 * i, 64, LOCAL, &m[i]));
	for (i = 0; i < REGIONS; i += 2)
		KT_OK(t, dat_lmr_free(m[i].lmr));
	for (i = 0; i < REGIONS; i++) {
		segs[0].virtual_address = m[i].addr;
		segs[0].lmr_context = m[i].context;
		KT_EQ(t, dat_ep_post_recv(r->b, 1, segs, cookie(i), 0),
		      i % 2 ? DAT_SUCCESS : DAT_CLASS_ERROR | DAT_PRIVILEGES_VIOLATION |
					      DAT_PRIVILEGES_WRITE);
	}
	/* A bad second segment must be detected as well. */
	segs[1] = segs[0];
	segs[1].virtual_address += 64;
	KT_CODE(t, dat_ep_post_send(r->a, 2, segs, cookie(1000), 0), DAT_INVALID_PARAMETER,
		DAT_INVALID_ARG3);
	segs[1].virtual_address = 0;
	KT_CODE(t, dat_ep_post_send(r->a, 2, segs, cookie(1000), 0), DAT_INVALID_PARAMETER,
		DAT_INVALID_ARG3);
	segs[1].segment_length = 0;
	KT_OK(t, dat_ep_post_send(r->a, 2, segs, cookie(1), 0));
	i = status_of(r, 1);
	KT_EQ(t, i, DAT_DTO_SUCCESS);
}

static void many_regions(struct ktest *t, struct rig *r)
{
	struct mem *m = kcalloc(REGIONS, sizeof(*m), GFP_KERNEL);

	KT_TRUE(t, m);
	regions(t, r, m);
	kfree(m);
}

static void regions_are_found_among_many(struct ktest *t)
{
	with_rig(t, many_regions);
}

static void bad_regions(struct ktest *t, struct rig *r)
{
	DAT_REGION_DESCRIPTION va = { .for_va = r->box.va }, bad = {};
	DAT_PADDR addr[2] = { 1, 1ULL << 60 };
	DAT_PLATFORM_MEMORY mem = {};
	struct scatterlist sg[2];
	struct mem m = {};

	KT_CODE(t, reg(t, r, DAT_MEM_TYPE_VIRTUAL, va, 0, ALL, &m), DAT_LENGTH_ERROR,
		DAT_NO_SUBTYPE);
	KT_CODE(t, reg(t, r, DAT_MEM_TYPE_VIRTUAL, va, 1ULL << 40, ALL, &m), DAT_LENGTH_ERROR,
		DAT_NO_SUBTYPE);
	KT_CODE(t, reg(t, r, 0x3, va, 8, ALL, &m), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	KT_CODE(t, reg(t, r, DAT_MEM_TYPE_IA, va, 8, ALL, &m), DAT_MODEL_NOT_SUPPORTED,
		DAT_NO_SUBTYPE);
	KT_CODE(t, reg(t, r, DAT_MEM_TYPE_VIRTUAL, va, 8, 0x100, &m), DAT_INVALID_PARAMETER,
		DAT_INVALID_ARG6);
	KT_CODE(t, reg(t, r, DAT_MEM_TYPE_VIRTUAL, bad, 8, ALL, &m), DAT_INVALID_PARAMETER,
		DAT_INVALID_ARG3);
	/* Test a user address, an unmapped address, and a range that exceeds the address space. */
	bad.for_va = (void *)0x400000;
	KT_CODE(t, reg(t, r, DAT_MEM_TYPE_VIRTUAL, bad, 8, ALL, &m), DAT_INVALID_PARAMETER,
		DAT_INVALID_ARG3);
	bad.for_va = (void *)(VMALLOC_END - PAGE_SIZE);
	KT_CODE(t, reg(t, r, DAT_MEM_TYPE_VIRTUAL, bad, 8, ALL, &m), DAT_INVALID_PARAMETER,
		DAT_INVALID_ARG3);
	bad.for_va = (void *)-8L;
	KT_CODE(t, reg(t, r, DAT_MEM_TYPE_VIRTUAL, bad, 64, ALL, &m), DAT_INVALID_PARAMETER,
		DAT_INVALID_ARG3);
	bad.for_physical = addr;
	KT_CODE(t, reg(t, r, DAT_MEM_TYPE_PHYSICAL, bad, 8, ALL, &m), DAT_INVALID_PARAMETER,
		DAT_INVALID_ARG3);
	addr[0] = addr[1];
	KT_CODE(t, reg(t, r, DAT_MEM_TYPE_PHYSICAL, bad, 8, ALL, &m), DAT_INVALID_PARAMETER,
		DAT_INVALID_ARG3);
	bad.for_array = (DAT_PHYSICAL_VAR_PAGES) { .page_size = 512, .pages = addr };
	KT_CODE(t, reg(t, r, DAT_MEM_TYPE_PHYSICAL_VAR_PAGES, bad, 8, ALL, &m),
		DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	/* Test no scatterlist, an empty one, one with a gap, and one shorter than the region. */
	bad.for_platform = NULL;
	KT_CODE(t, reg(t, r, DAT_MEM_TYPE_PLATFORM, bad, 8, ALL, &m), DAT_INVALID_PARAMETER,
		DAT_INVALID_ARG3);
	KT_CODE(t, reg(t, r, DAT_MEM_TYPE_BYPASS, bad, 8, ALL, &m), DAT_INVALID_PARAMETER,
		DAT_INVALID_ARG3);
	mem = (DAT_PLATFORM_MEMORY) { .sg = NULL, .nents = 2 };
	bad.for_platform = &mem;
	KT_CODE(t, reg(t, r, DAT_MEM_TYPE_PLATFORM, bad, 8, ALL, &m), DAT_INVALID_PARAMETER,
		DAT_INVALID_ARG3);
	KT_CODE(t, reg(t, r, DAT_MEM_TYPE_BYPASS, bad, 8, ALL, &m), DAT_INVALID_PARAMETER,
		DAT_INVALID_ARG3);
	sg_init_table(sg, 2);
	mem = (DAT_PLATFORM_MEMORY) { .sg = sg, .nents = 0 };
	KT_CODE(t, reg(t, r, DAT_MEM_TYPE_PLATFORM, bad, 8, ALL, &m), DAT_INVALID_PARAMETER,
		DAT_INVALID_ARG3);
	KT_CODE(t, reg(t, r, DAT_MEM_TYPE_BYPASS, bad, 8, ALL, &m), DAT_INVALID_PARAMETER,
		DAT_INVALID_ARG3);
	sg_set_buf(&sg[0], r->box.va, 100);
	sg_set_buf(&sg[1], r->box.va + PAGE_SIZE, 100);
	mem = (DAT_PLATFORM_MEMORY) { .sg = sg, .nents = 2 };
	bad.for_platform = &mem;
	KT_CODE(t, reg(t, r, DAT_MEM_TYPE_PLATFORM, bad, 200, ALL, &m), DAT_INVALID_PARAMETER,
		DAT_INVALID_ARG3);
	mem.nents = 1;
	KT_CODE(t, reg(t, r, DAT_MEM_TYPE_PLATFORM, bad, 101, ALL, &m), DAT_INVALID_PARAMETER,
		DAT_INVALID_ARG3);
	KT_OK(t, reg(t, r, DAT_MEM_TYPE_PLATFORM, bad, 100, ALL, &m));
	KT_OK(t, dat_lmr_free(m.lmr));
	bad.for_lmr_handle = r->pz;
	KT_CODE(t, reg(t, r, DAT_MEM_TYPE_LMR, bad, 0, ALL, &m), DAT_INVALID_HANDLE,
		DAT_INVALID_HANDLE_LMR);
}

static void bad_memory_is_refused(struct ktest *t)
{
	with_rig(t, bad_regions);
}

static void reserved(struct ktest *t, struct rig *r)
{
	DAT_REGION_DESCRIPTION region;
	DAT_LMR_HANDLE lmr, again;
	DAT_LMR_CONTEXT context;
	DAT_LMR_PARAM param;
	DAT_RMR_HANDLE rmr;
	DAT_LMR_TRIPLET seg;
	struct mem m = {};
	DAT_RMR_CONTEXT key;

	KT_OK(t, dat_ia_reserved_lmr(t->ia, &lmr, &context));
	KT_OK(t, dat_ia_reserved_lmr(t->ia, &again, &context));
	KT_TRUE(t, lmr == again);
	/* On a software device the DMA address of kernel memory is its virtual address. */
	seg = (DAT_LMR_TRIPLET) {
		.virtual_address = (uintptr_t)r->box.va, .segment_length = 64,
		.lmr_context = context,
	};
	KT_OK(t, reg_va(t, r, r->box.va + PAGE_SIZE, 64, ALL, &m));
	fill(r->box.va, 64, 9);
	memset(m.va, 0, 64);
	KT_OK(t, dat_ep_post_rdma_write(r->a, 1, &seg, cookie(5), &(DAT_RMR_TRIPLET) {
					.virtual_address = m.addr, .segment_length = 64,
					.rmr_context = m.rkey }, 0));
	KT_EQ(t, status_of(r, 5), DAT_DTO_SUCCESS);
	KT_TRUE(t, arrives(t, m.va, r->box.va, 64));
	KT_OK(t, dat_lmr_free(m.lmr));
	KT_CODE(t, dat_lmr_free(lmr), DAT_RESERVED_LMR, DAT_NO_SUBTYPE);
	KT_CODE(t, dat_lmr_invalidate(lmr, r->a, cookie(1), 0), DAT_RESERVED_LMR, DAT_NO_SUBTYPE);
	region.for_lmr_handle = lmr;
	KT_CODE(t, reg(t, r, DAT_MEM_TYPE_LMR, region, 0, ALL, &m), DAT_RESERVED_LMR,
		DAT_NO_SUBTYPE);
	KT_OK(t, dat_rmr_create(r->pz, &rmr));
	KT_CODE(t, dat_rmr_bind(rmr, lmr, &seg, ALL, DAT_VA_TYPE_VA, r->b, cookie(1), 0, &key),
		DAT_RESERVED_LMR, DAT_NO_SUBTYPE);
	KT_OK(t, dat_rmr_free(rmr));
	KT_OK(t, dat_lmr_query(lmr, DAT_LMR_FIELD_ALL, &param));
	KT_EQ(t, param.lmr_context, context);
	KT_EQ(t, param.rmr_context, 0);
}

static void reserved_lmr_takes_dma_addresses(struct ktest *t)
{
	with_rig(t, reserved);
}

static void reserved_lmr_does_not_keep_the_ia_open(struct ktest *t)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_LMR_CONTEXT context;
	DAT_LMR_HANDLE lmr;
	DAT_IA_HANDLE ia;

	KT_OK(t, dat_ia_open(ktest_device, 8, &async, &ia));
	KT_OK(t, dat_ia_reserved_lmr(ia, &lmr, &context));
	KT_OK(t, dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
	KT_CODE(t, dat_lmr_free(lmr), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_LMR);
}

static void hints_and_sync(struct ktest *t, struct rig *r)
{
	DAT_LMR_TRIPLET seg[2] = {
		{ r->box.addr, 64, r->box.context },
		{ r->box.addr + SIZE - 64, 64, r->box.context },
	};
	DAT_VLEN length = 0;
	DAT_VADDR align = 0;

	KT_OK(t, dat_ia_memtype_hint(t->ia, DAT_MEM_TYPE_PHYSICAL, 5000, 0, &length, &align));
	KT_EQ(t, length, 2 * PAGE_SIZE);
	KT_EQ(t, align, PAGE_SIZE);
	KT_OK(t, dat_ia_memtype_hint(t->ia, DAT_MEM_TYPE_VIRTUAL, 5000,
				     DAT_MEM_OPTIMIZE_EXACT_EXPOSURE, &length, &align));
	KT_EQ(t, length, 5000);
	KT_OK(t, dat_ia_memtype_hint(t->ia, DAT_MEM_TYPE_VIRTUAL, ~0ULL, 0, &length, &align));
	KT_TRUE(t, length && length < ~0ULL);
	KT_CODE(t, dat_ia_memtype_hint(t->ia, DAT_MEM_TYPE_IA, 1, 0, &length, &align),
		DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	KT_CODE(t, dat_ia_memtype_hint(t->ia, 0x3, 1, 0, &length, &align), DAT_INVALID_PARAMETER,
		DAT_INVALID_ARG2);
	KT_OK(t, dat_lmr_sync_rdma_read(t->ia, seg, 2));
	KT_OK(t, dat_lmr_sync_rdma_write(t->ia, seg, 2));
	seg[1].virtual_address++;
	KT_CODE(t, dat_lmr_sync_rdma_read(t->ia, seg, 2), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	KT_CODE(t, dat_lmr_sync_rdma_read(t->ia, NULL, 1), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	KT_CODE(t, dat_lmr_sync_rdma_read(r->pz, seg, 1), DAT_INVALID_HANDLE,
		DAT_INVALID_HANDLE_IA);
}

static void hints_are_given_and_memory_is_synced(struct ktest *t)
{
	with_rig(t, hints_and_sync);
}

/* Bind an allocated LMR to memory through b's queue, use it and invalidate it, four times. */
static void cycle(struct ktest *t, struct rig *r, struct pages *p, DAT_LMR_HANDLE lmr)
{
	DAT_REGION_DESCRIPTION region = { .for_physical = p->addr };
	struct mem m = { .lmr = lmr, .va = p->va, .addr = p->addr[0], .length = SIZE };
	DAT_LMR_CONTEXT last = 0;
	DAT_LMR_PARAM param;
	int i;

	for (i = 0; i < 4; i++) {
		KT_OK(t, dat_lmr_query(lmr, DAT_LMR_FIELD_ALL, &param));
		KT_EQ(t, param.lmr_state.fmr_support, DAT_TRUE);
		KT_EQ(t, param.lmr_state.bound, DAT_FALSE);
		KT_OK(t, dat_lmr_fmr(lmr, DAT_MEM_TYPE_PHYSICAL, region, SIZE / PAGE_SIZE, ALL,
				     DAT_VA_TYPE_VA, r->b, cookie(20), 0, &m.context, &m.rkey));
		KT_TRUE(t, m.context != last && m.rkey);
		last = m.context;
		KT_CODE(t, dat_lmr_fmr(lmr, DAT_MEM_TYPE_PHYSICAL, region, 1, ALL,
				       DAT_VA_TYPE_VA, r->b, cookie(21), 0, NULL, NULL),
			DAT_INVALID_STATE, DAT_INVALID_STATE_LMR_IN_USE);
		KT_EQ(t, status_of(r, 20), DAT_DTO_SUCCESS);
		KT_OK(t, dat_lmr_query(lmr, DAT_LMR_FIELD_ALL, &param));
		KT_EQ(t, param.lmr_state.bound, DAT_TRUE);
		KT_EQ(t, param.registered_address, p->addr[0]);
		KT_EQ(t, param.registered_size, SIZE);
		traffic(t, r, &m);
		KT_OK(t, dat_lmr_invalidate(lmr, r->b, cookie(22), i & 1 ? FENCE : 0));
		KT_CODE(t, dat_lmr_invalidate(lmr, r->b, cookie(23), 0), DAT_INVALID_STATE,
			DAT_INVALID_STATE_LMR_FREE);
		KT_EQ(t, status_of(r, 22), DAT_DTO_SUCCESS);
	}
	KT_EQ(t, reads(r, m.addr, 8, m.rkey), DAT_DTO_ERR_REMOTE_ACCESS);
	KT_TRUE(t, rig_reconnect(t, r));
	KT_OK(t, dat_lmr_free(lmr));
}

static void fmr(struct ktest *t, struct rig *r)
{
	struct pages *p = pages_make();
	DAT_LMR_HANDLE lmr;

	if (p && p->va && !dat_lmr_allocate(t->ia, r->pz, 8, DAT_LMR_SCOPE_PZ, &lmr))
		cycle(t, r, p, lmr);
	else
		ktest_fail(t, __FILE__, __LINE__, "allocate", 0, 1);
	dat_ep_free(r->a);
	dat_ep_free(r->b);
	pages_free(p);
}

static void allocated_lmr_gets_and_loses_memory(struct ktest *t)
{
	with_rig(t, fmr);
}

/*
 * Post a bind, a send and an invalidation to b's queue without waiting.  Each request must see the
 * effect of the request before it.
 */
static void chain(struct ktest *t, struct rig *r, struct pages *p, DAT_LMR_HANDLE lmr)
{
	DAT_PLATFORM_MEMORY mem = { .sg = p->sg, .nents = 6, .offset = 100 };
	DAT_REGION_DESCRIPTION region = { .for_platform = &mem };
	DAT_LMR_TRIPLET seg = { .segment_length = 8000 }, into;
	int i, n = 0;
	u64 first = 0;
	DAT_EVENT e;

	into = (DAT_LMR_TRIPLET) { r->box.addr, 8000, r->box.context };
	fill(p->va, 6 * PAGE_SIZE, 11);
	KT_OK(t, dat_ep_post_recv(r->a, 1, &into, cookie(1), 0));
	KT_OK(t, dat_lmr_fmr(lmr, DAT_MEM_TYPE_PLATFORM, region, 6, LOCAL, DAT_VA_TYPE_VA, r->b,
			     cookie(2), DAT_COMPLETION_SUPPRESS_FLAG, &seg.lmr_context, NULL));
	seg.virtual_address = p->addr[0] + 100;
	KT_OK(t, dat_ep_post_send(r->b, 1, &seg, cookie(3), 0));
	KT_OK(t, dat_lmr_invalidate(lmr, r->b, cookie(4), FENCE));
	KT_OK(t, dat_ep_post_send(r->b, 0, NULL, cookie(5), 0));
	for (i = 0; i < 3; i++) {
		KT_EQ(t, next(r->evd, &e), DAT_DTO_COMPLETION_EVENT);
		KT_EQ(t, e.event_data.dto_completion_event_data.status, DAT_DTO_SUCCESS);
		n = e.event_data.dto_completion_event_data.user_cookie.as_64;
		if (n == 1)
			continue;
		/*
		 * Requests of one queue complete in order.  The suppressed bind (cookie 2) has no
		 * event.
		 */
		KT_TRUE(t, n > first && n != 2);
		first = n;
		if (n == 4)
			KT_EQ(t, e.event_data.dto_completion_event_data.operation,
			      DAT_DTO_LMR_INVALIDATE);
	}
	KT_TRUE(t, !memcmp(r->box.va, p->va + 100, 8000));
}

static void in_order(struct ktest *t, struct rig *r)
{
	struct pages *p = pages_make();
	DAT_LMR_HANDLE lmr;

	if (p && p->va && !dat_lmr_allocate(t->ia, r->pz, 8, DAT_LMR_SCOPE_ANY, &lmr))
		chain(t, r, p, lmr);
	else
		ktest_fail(t, __FILE__, __LINE__, "allocate", 0, 1);
	dat_ep_free(r->a);
	dat_ep_free(r->b);
	pages_free(p);
}

static void requests_on_memory_keep_their_order(struct ktest *t)
{
	with_rig(t, in_order);
}

static void bad_fmr(struct ktest *t, struct rig *r, struct pages *p, DAT_LMR_HANDLE lmr)
{
	DAT_REGION_DESCRIPTION region = { .for_physical = p->addr }, none = {};
	struct mem m = {};

	KT_CODE(t, dat_lmr_allocate(t->ia, r->pz, 0, DAT_LMR_SCOPE_PZ, &m.lmr),
		DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	KT_CODE(t, dat_lmr_allocate(t->ia, r->pz, 1 << 30, DAT_LMR_SCOPE_PZ, &m.lmr),
		DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY_REGION);
	KT_CODE(t, dat_lmr_allocate(t->ia, r->pz, 1, DAT_LMR_SCOPE_EP, &m.lmr),
		DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
#define FMR(lmr, type, region, n, priv, ep, flags)					\
	dat_lmr_fmr(lmr, type, region, n, priv, DAT_VA_TYPE_VA, ep, cookie(1), flags,	\
		    &m.context, &m.rkey)
	KT_CODE(t, FMR(r->box.lmr, DAT_MEM_TYPE_PHYSICAL, region, 1, ALL, r->b, 0),
		DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_LMR);
	KT_CODE(t, FMR(lmr, DAT_MEM_TYPE_VIRTUAL, region, 1, ALL, r->b, 0), DAT_MODEL_NOT_SUPPORTED,
		DAT_NO_SUBTYPE);
	KT_CODE(t, FMR(lmr, DAT_MEM_TYPE_PHYSICAL, none, 1, ALL, r->b, 0), DAT_INVALID_PARAMETER,
		DAT_INVALID_ARG3);
	KT_CODE(t, FMR(lmr, DAT_MEM_TYPE_PHYSICAL, region, 0, ALL, r->b, 0), DAT_INVALID_PARAMETER,
		DAT_INVALID_ARG4);
	KT_CODE(t, FMR(lmr, DAT_MEM_TYPE_PHYSICAL, region, 5, ALL, r->b, 0), DAT_INVALID_PARAMETER,
		DAT_INVALID_ARG4);
	KT_CODE(t, FMR(lmr, DAT_MEM_TYPE_PHYSICAL, region, 1, 0x100, r->b, 0),
		DAT_INVALID_PARAMETER, DAT_INVALID_ARG5);
	KT_CODE(t, FMR(lmr, DAT_MEM_TYPE_PHYSICAL, region, 1, ALL, r->pz, 0), DAT_INVALID_HANDLE,
		DAT_INVALID_HANDLE_EP);
	KT_CODE(t, FMR(lmr, DAT_MEM_TYPE_PHYSICAL, region, 1, ALL, r->b, FENCE),
		DAT_INVALID_PARAMETER, DAT_INVALID_ARG9);
#undef FMR
	KT_CODE(t, dat_lmr_invalidate(lmr, r->b, cookie(1), 0), DAT_INVALID_STATE,
		DAT_INVALID_STATE_LMR_FREE);
	KT_CODE(t, dat_lmr_invalidate(r->box.lmr, r->b, cookie(1), 0), DAT_INVALID_HANDLE,
		DAT_INVALID_HANDLE_LMR);
	/* The failed calls have not changed the LMR. */
	KT_OK(t, dat_lmr_fmr(lmr, DAT_MEM_TYPE_PHYSICAL, region, 4, ALL, DAT_VA_TYPE_VA, r->b,
			     cookie(2), 0, &m.context, &m.rkey));
	KT_EQ(t, status_of(r, 2), DAT_DTO_SUCCESS);
	region.for_lmr_handle = lmr;
	KT_CODE(t, reg(t, r, DAT_MEM_TYPE_LMR, region, 0, ALL, &m), DAT_INVALID_PARAMETER,
		DAT_INVALID_ARG3);
	KT_OK(t, dat_lmr_free(lmr));
}

static void refusals(struct ktest *t, struct rig *r)
{
	struct pages *p = pages_make();
	DAT_LMR_HANDLE lmr;

	if (p && p->va && !dat_lmr_allocate(t->ia, r->pz, 4, DAT_LMR_SCOPE_PZ, &lmr))
		bad_fmr(t, r, p, lmr);
	else
		ktest_fail(t, __FILE__, __LINE__, "allocate", 0, 1);
	dat_ep_free(r->a);
	dat_ep_free(r->b);
	pages_free(p);
}

static void bad_requests_on_memory_are_refused(struct ktest *t)
{
	with_rig(t, refusals);
}

/* Post binds and invalidations to an EP whose connection has ended, so that they are flushed. */
static void flushed(struct ktest *t, struct rig *r, struct pages *p, DAT_LMR_HANDLE lmr)
{
	DAT_REGION_DESCRIPTION region = { .for_physical = p->addr };
	struct mem m = { .va = p->va, .addr = p->addr[0], .length = SIZE };
	DAT_EVENT event;
	int i;

	KT_OK(t, dat_ep_disconnect(r->b, DAT_CLOSE_ABRUPT_FLAG));
	KT_TRUE(t, next(r->conn, &event) && next(r->conn, &event));
	KT_OK(t, dat_lmr_fmr(lmr, DAT_MEM_TYPE_PHYSICAL, region, 5, ALL, DAT_VA_TYPE_VA, r->b,
			     cookie(1), 0, &m.context, &m.rkey));
	KT_EQ(t, status_of(r, 1), DAT_DTO_ERR_FLUSHED);
	KT_CODE(t, dat_lmr_invalidate(lmr, r->b, cookie(2), 0), DAT_INVALID_STATE,
		DAT_INVALID_STATE_LMR_FREE);
	KT_TRUE(t, !dat_ep_reset(r->a) && !dat_ep_reset(r->b) && rig_connect(t, r));
	KT_OK(t, dat_lmr_fmr(lmr, DAT_MEM_TYPE_PHYSICAL, region, 5, ALL, DAT_VA_TYPE_VA, r->b,
			     cookie(3), 0, &m.context, &m.rkey));
	KT_EQ(t, status_of(r, 3), DAT_DTO_SUCCESS);
	traffic(t, r, &m);
	/* A flushed invalidation leaves the LMR bound. */
	KT_OK(t, dat_ep_disconnect(r->b, DAT_CLOSE_ABRUPT_FLAG));
	KT_TRUE(t, next(r->conn, &event) && next(r->conn, &event));
	KT_OK(t, dat_lmr_invalidate(lmr, r->b, cookie(4), 0));
	KT_EQ(t, status_of(r, 4), DAT_DTO_ERR_FLUSHED);
	KT_TRUE(t, !dat_ep_reset(r->a) && !dat_ep_reset(r->b) && rig_connect(t, r));
	traffic(t, r, &m);
	/*
	 * An invalidation races with a disconnect.  Whichever comes first, dat_lmr_free() must
	 * succeed in the end.
	 */
	KT_OK(t, dat_lmr_invalidate(lmr, r->b, cookie(5), 0));
	KT_OK(t, dat_ep_disconnect(r->b, DAT_CLOSE_ABRUPT_FLAG));
	KT_TRUE(t, next(r->conn, &event) && next(r->conn, &event));
	for (i = 0; i < 100 && dat_lmr_free(lmr); i++)
		msleep(20);
	KT_TRUE(t, i < 100);
}

static void flushes(struct ktest *t, struct rig *r)
{
	struct pages *p = pages_make();
	DAT_LMR_HANDLE lmr;

	if (p && p->va && !dat_lmr_allocate(t->ia, r->pz, 8, DAT_LMR_SCOPE_PZ, &lmr))
		flushed(t, r, p, lmr);
	else
		ktest_fail(t, __FILE__, __LINE__, "allocate", 0, 1);
	dat_ep_free(r->a);
	dat_ep_free(r->b);
	pages_free(p);
}

static void flushed_requests_on_memory_leave_it_usable(struct ktest *t)
{
	with_rig(t, flushes);
}

/*
 * Post a send, for which the peer has no receive, and an invalidation.  Both have reached the
 * device when a disconnect flushes them.  The device may have executed the invalidation.  So dat.ko
 * releases the memory, as it does after a successful invalidation.
 */
static void flushed_late(struct ktest *t, struct rig *r, struct pages *p, DAT_LMR_HANDLE lmr)
{
	DAT_REGION_DESCRIPTION region = { .for_physical = p->addr };
	struct mem m = { .va = p->va, .addr = p->addr[0], .length = SIZE };
	DAT_RETURN rc = DAT_INTERNAL_ERROR;
	u32 old;
	int i;

	KT_OK(t, dat_lmr_fmr(lmr, DAT_MEM_TYPE_PHYSICAL, region, SIZE / PAGE_SIZE, ALL,
			     DAT_VA_TYPE_VA, r->b, cookie(1), 0, &m.context, &m.rkey));
	KT_EQ(t, status_of(r, 1), DAT_DTO_SUCCESS);
	traffic(t, r, &m);
	old = m.rkey;
	KT_OK(t, dat_ep_post_send(r->b, 0, NULL, cookie(2), 0));
	KT_OK(t, dat_lmr_invalidate(lmr, r->b, cookie(3), 0));
	KT_OK(t, dat_ep_disconnect(r->b, DAT_CLOSE_ABRUPT_FLAG));
	KT_EQ(t, status_of(r, 2), DAT_DTO_ERR_FLUSHED);
	KT_EQ(t, status_of(r, 3), DAT_DTO_ERR_FLUSHED);
	KT_TRUE(t, rig_reconnect(t, r));
	for (i = 0; i < 100 && rc; i++) {
		rc = dat_lmr_fmr(lmr, DAT_MEM_TYPE_PHYSICAL, region, SIZE / PAGE_SIZE, ALL,
				 DAT_VA_TYPE_VA, r->b, cookie(4), 0, &m.context, &m.rkey);
		if (rc)
			msleep(20);
	}
	KT_OK(t, rc);
	KT_EQ(t, status_of(r, 4), DAT_DTO_SUCCESS);
	traffic(t, r, &m);
	KT_TRUE(t, m.rkey != old);
	KT_EQ(t, reads(r, m.addr, 8, old), DAT_DTO_ERR_REMOTE_ACCESS);
	KT_TRUE(t, rig_reconnect(t, r));
	KT_OK(t, dat_lmr_free(lmr));
}

static void flushes_late(struct ktest *t, struct rig *r)
{
	struct pages *p = pages_make();
	DAT_LMR_HANDLE lmr;

	if (p && p->va && !dat_lmr_allocate(t->ia, r->pz, 8, DAT_LMR_SCOPE_PZ, &lmr))
		flushed_late(t, r, p, lmr);
	else
		ktest_fail(t, __FILE__, __LINE__, "allocate", 0, 1);
	dat_ep_free(r->a);
	dat_ep_free(r->b);
	pages_free(p);
}

static void an_invalidation_flushed_at_the_device_releases_its_memory(struct ktest *t)
{
	with_rig(t, flushes_late);
}

/* Return how many of the next @n DTO events report success. */
static int successes(struct rig *r, int n)
{
	DAT_EVENT e;
	int good = 0;

	while (n--)
		good += next(r->evd, &e) == DAT_DTO_COMPLETION_EVENT &&
			e.event_data.dto_completion_event_data.status == DAT_DTO_SUCCESS;
	return good;
}

/*
 * An invalidation must not overtake the bind of its LMR.  The test stalls b's queue: a send, for
 * which the peer has no receive, blocks a fenced invalidation, which blocks a bind.  Until the bind
 * completes, dat_lmr_invalidate() through a's queue must fail.
 */
static void overtake(struct ktest *t, struct rig *r, struct pages *p, DAT_LMR_HANDLE *lmr)
{
	DAT_REGION_DESCRIPTION region = { .for_physical = p->addr };
	struct mem m = { .va = p->va, .addr = p->addr[0], .length = SIZE };

	KT_OK(t, dat_lmr_fmr(lmr[0], DAT_MEM_TYPE_PHYSICAL, region, 1, LOCAL, DAT_VA_TYPE_VA,
			     r->b, cookie(1), 0, NULL, NULL));
	KT_EQ(t, status_of(r, 1), DAT_DTO_SUCCESS);
	KT_OK(t, dat_ep_post_send(r->b, 0, NULL, cookie(2), 0));
	KT_OK(t, dat_lmr_invalidate(lmr[0], r->b, cookie(3), FENCE));
	KT_OK(t, dat_lmr_fmr(lmr[1], DAT_MEM_TYPE_PHYSICAL, region, SIZE / PAGE_SIZE, ALL,
			     DAT_VA_TYPE_VA, r->b, cookie(4), 0, &m.context, &m.rkey));
	KT_CODE(t, dat_lmr_invalidate(lmr[1], r->a, cookie(5), 0), DAT_INVALID_STATE,
		DAT_INVALID_STATE_LMR_IN_USE);
	KT_OK(t, dat_ep_post_recv(r->a, 0, NULL, cookie(6), 0));
	KT_EQ(t, successes(r, 4), 4);
	traffic(t, r, &m);
	/* The bind has completed, so any EP of the protection zone may invalidate the LMR. */
	KT_OK(t, dat_lmr_invalidate(lmr[1], r->a, cookie(7), 0));
	KT_EQ(t, status_of(r, 7), DAT_DTO_SUCCESS);
	KT_EQ(t, reads(r, m.addr, 8, m.rkey), DAT_DTO_ERR_REMOTE_ACCESS);
	KT_TRUE(t, rig_reconnect(t, r));
	KT_OK(t, dat_lmr_free(lmr[0]));
	KT_OK(t, dat_lmr_free(lmr[1]));
}

static void two_queues(struct ktest *t, struct rig *r)
{
	struct pages *p = pages_make();
	DAT_LMR_HANDLE lmr[2];

	if (p && p->va && !dat_lmr_allocate(t->ia, r->pz, 8, DAT_LMR_SCOPE_PZ, &lmr[0]) &&
	    !dat_lmr_allocate(t->ia, r->pz, 8, DAT_LMR_SCOPE_PZ, &lmr[1]))
		overtake(t, r, p, lmr);
	else
		ktest_fail(t, __FILE__, __LINE__, "allocate", 0, 1);
	dat_ep_free(r->a);
	dat_ep_free(r->b);
	pages_free(p);
}

static void invalidation_does_not_overtake_its_bind(struct ktest *t)
{
	with_rig(t, two_queues);
}

static void windows(struct ktest *t, struct rig *r, struct mem *m)
{
	DAT_LMR_TRIPLET seg = { m->addr + 100, 5000, m->context }, none = {};
	DAT_RMR_CONTEXT key = 0, old;
	DAT_RMR_PARAM param;
	DAT_RMR_HANDLE rmr;

#define BIND(lmr, seg, ep, n) \
	dat_rmr_bind(rmr, lmr, seg, ALL, DAT_VA_TYPE_VA, ep, cookie(n), 0, &key)
	KT_OK(t, dat_rmr_create(r->pz, &rmr));
	KT_CODE(t, dat_rmr_create_for_ep(r->pz, &rmr), DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	KT_OK(t, BIND(m->lmr, &seg, r->b, 1));
	KT_EQ(t, status_of(r, 1), DAT_RMR_BIND_SUCCESS);
	fill(m->va, SIZE, 5);
	KT_EQ(t, reads(r, m->addr + 100, 5000, key), DAT_DTO_SUCCESS);
	KT_TRUE(t, !memcmp(r->box.va, m->va + 100, 5000));
	KT_OK(t, dat_rmr_query(rmr, DAT_RMR_FIELD_ALL, &param));
	KT_EQ(t, param.rmr_context, key);
	KT_EQ(t, param.lmr_triplet.virtual_address, seg.virtual_address);
	KT_EQ(t, param.lmr_triplet.segment_length, 5000);
	KT_CODE(t, dat_lmr_free(m->lmr), DAT_INVALID_STATE, DAT_INVALID_STATE_LMR_IN_USE);
	/* Bind the RMR to another part.  This invalidates the old key. */
	old = key;
	seg.virtual_address = m->addr;
	seg.segment_length = 50;
	KT_OK(t, BIND(m->lmr, &seg, r->b, 2));
	KT_EQ(t, status_of(r, 2), DAT_RMR_BIND_SUCCESS);
	KT_EQ(t, reads(r, m->addr, 50, key), DAT_DTO_SUCCESS);
	KT_EQ(t, reads(r, m->addr + 100, 50, old), DAT_DTO_ERR_REMOTE_ACCESS);
	KT_TRUE(t, rig_reconnect(t, r));
	KT_EQ(t, reads(r, m->addr, 51, key), DAT_DTO_ERR_REMOTE_ACCESS);
	KT_TRUE(t, rig_reconnect(t, r));
	/* Unbind the RMR. */
	old = key;
	KT_OK(t, BIND(DAT_HANDLE_NULL, &none, r->b, 3));
	KT_EQ(t, status_of(r, 3), DAT_RMR_BIND_SUCCESS);
	KT_EQ(t, reads(r, m->addr, 50, old), DAT_DTO_ERR_REMOTE_ACCESS);
	KT_TRUE(t, rig_reconnect(t, r));
	seg.segment_length = SIZE + 1;
	KT_CODE(t, BIND(m->lmr, &seg, r->b, 4), DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	seg.segment_length = 50;
	KT_CODE(t, BIND(m->lmr, NULL, r->b, 4), DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	KT_CODE(t, BIND(r->pz, &seg, r->b, 4), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_LMR);
	KT_CODE(t, BIND(m->lmr, &seg, r->pz, 4), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	KT_OK(t, BIND(m->lmr, &seg, r->b, 5));
	KT_EQ(t, status_of(r, 5), DAT_RMR_BIND_SUCCESS);
	KT_OK(t, dat_rmr_free(rmr));
	KT_CODE(t, BIND(m->lmr, &seg, r->b, 6), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_RMR);
	KT_EQ(t, reads(r, m->addr, 50, key), DAT_DTO_ERR_REMOTE_ACCESS);
	KT_OK(t, dat_lmr_free(m->lmr));
#undef BIND
}

static void rmrs(struct ktest *t, struct rig *r)
{
	u8 *va = vmalloc(SIZE);
	struct mem m = {};

	KT_TRUE(t, va);
	if (reg_va(t, r, va, SIZE, LOCAL, &m))
		ktest_fail(t, __FILE__, __LINE__, "kcreate", 0, 1);
	else
		windows(t, r, &m);
	dat_ep_free(r->a);
	dat_ep_free(r->b);
	vfree(va);
}

static void windows_open_what_they_are_bound_to(struct ktest *t)
{
	with_rig(t, rmrs);
}

static DAT_RETURN bind_all(struct rig *r, DAT_RMR_HANDLE rmr, const struct mem *m, u64 n,
			   DAT_RMR_CONTEXT *key)
{
	DAT_LMR_TRIPLET seg = { m->addr, m->length, m->context };

	return dat_rmr_bind(rmr, m->lmr, &seg, ALL, DAT_VA_TYPE_VA, r->b, cookie(n), 0, key);
}

/* Send a message from a to b that invalidates @key at b. */
static DAT_RETURN send_end(struct rig *r, DAT_RMR_CONTEXT key, u64 n)
{
	return dat_ep_post_recv(r->b, 0, NULL, cookie(n), 0) ?:
	       dat_ep_post_send_with_invalidate(r->a, 0, NULL, cookie(n + 1),
						DAT_COMPLETION_SUPPRESS_FLAG, DAT_TRUE, key);
}

static void peer_closes(struct ktest *t, struct rig *r, struct mem *m)
{
	DAT_DTO_COMPLETION_EVENT_DATA *dto;
	DAT_RMR_CONTEXT key = 0, old;
	DAT_RMR_PARAM param;
	DAT_RMR_HANDLE rmr;
	DAT_EVENT event;

	KT_OK(t, dat_rmr_create(r->pz, &rmr));
	KT_OK(t, bind_all(r, rmr, m, 1, &key));
	KT_EQ(t, status_of(r, 1), DAT_RMR_BIND_SUCCESS);
	KT_EQ(t, reads(r, m->addr, 50, key), DAT_DTO_SUCCESS);
	KT_OK(t, send_end(r, key, 11));
	KT_EQ(t, next(r->evd, &event), DAT_DTO_COMPLETION_EVENT);
	dto = &event.event_data.dto_completion_event_data;
	KT_EQ(t, dto->status, DAT_DTO_SUCCESS);
	KT_EQ(t, dto->user_cookie.as_64, 11);
	KT_EQ(t, dto->operation, DAT_DTO_RECEIVE_WITH_INVALIDATE);
	KT_EQ(t, dto->rmr_context, key);
	KT_EQ(t, dto->transfered_length, 0);
	KT_OK(t, dat_rmr_query(rmr, DAT_RMR_FIELD_ALL, &param));
	KT_EQ(t, param.lmr_triplet.segment_length, 0);
	old = key;
	KT_OK(t, bind_all(r, rmr, m, 2, &key));
	KT_EQ(t, status_of(r, 2), DAT_RMR_BIND_SUCCESS);
	KT_EQ(t, reads(r, m->addr, 50, key), DAT_DTO_SUCCESS);
	KT_EQ(t, reads(r, m->addr, 50, old), DAT_DTO_ERR_REMOTE_ACCESS);
	KT_TRUE(t, rig_reconnect(t, r));
	KT_OK(t, send_end(r, key, 21));
	KT_EQ(t, status_of(r, 21), DAT_DTO_SUCCESS);
	/* The invalidated RMR does not prevent dat_lmr_free(). */
	KT_OK(t, dat_lmr_free(m->lmr));
	KT_OK(t, dat_rmr_free(rmr));
}

static void window_closes(struct ktest *t, struct rig *r)
{
	u8 *va = vmalloc(SIZE);
	struct mem m = {};

	KT_TRUE(t, va);
	if (reg_va(t, r, va, SIZE, LOCAL, &m))
		ktest_fail(t, __FILE__, __LINE__, "kcreate", 0, 1);
	else
		peer_closes(t, r, &m);
	dat_ep_free(r->a);
	dat_ep_free(r->b);
	vfree(va);
}

static void peers_close_windows_and_the_receive_says_so(struct ktest *t)
{
	with_rig(t, window_closes);
}

static void peer_ends(struct ktest *t, struct rig *r, struct mem *m)
{
	KT_OK(t, send_end(r, m->rkey, 1));
	KT_EQ(t, status_of(r, 1), DAT_DTO_ERR_BAD_RESPONSE);
	KT_TRUE(t, rig_reconnect(t, r));
	/* The key in the message does not exist, so the device rejects the message. */
	KT_OK(t, send_end(r, m->rkey ^ 0x7700, 3));
	KT_TRUE(t, status_of(r, 3) != DAT_DTO_SUCCESS);
}

static void region_ends(struct ktest *t, struct rig *r)
{
	u8 *va = vmalloc(SIZE);
	struct mem m = {};

	KT_TRUE(t, va);
	if (reg_va(t, r, va, SIZE, ALL, &m))
		ktest_fail(t, __FILE__, __LINE__, "kcreate", 0, 1);
	else
		peer_ends(t, r, &m);
	dat_ep_free(r->a);
	dat_ep_free(r->b);
	vfree(va);
}

static void a_peer_that_ends_a_region_breaks_its_connection(struct ktest *t)
{
	with_rig(t, region_ends);
}

static void read_window(struct ktest *t, struct rig *r, struct mem *m, struct mem *from)
{
	DAT_RMR_TRIPLET to = {}, remote = { from->addr, 5000, from->rkey };
	DAT_RMR_CONTEXT key = 0;
	DAT_RMR_HANDLE rmr;
	DAT_EVENT event;

	KT_OK(t, dat_rmr_create(r->pz, &rmr));
	KT_OK(t, bind_all(r, rmr, m, 1, &key));
	KT_EQ(t, status_of(r, 1), DAT_RMR_BIND_SUCCESS);
	fill(from->va, SIZE, 3);
	memset(m->va, 0, SIZE);
	to.virtual_address = m->addr + 100;
	to.segment_length = 5000;
	to.rmr_context = key;
	KT_OK(t, dat_ep_post_rdma_read_to_rmr(r->a, &to, cookie(2), &remote, 0));
	KT_EQ(t, next(r->evd, &event), DAT_DTO_COMPLETION_EVENT);
	KT_EQ(t, event.event_data.dto_completion_event_data.status, DAT_DTO_SUCCESS);
	KT_EQ(t, event.event_data.dto_completion_event_data.operation, DAT_DTO_RDMA_READ);
	KT_TRUE(t, !memcmp(m->va + 100, from->va, 5000) && !m->va[99] && !m->va[5100]);
	to.segment_length = 4999;
	KT_CODE(t, dat_ep_post_rdma_read_to_rmr(r->a, &to, cookie(3), &remote, 0), DAT_LENGTH_ERROR,
		DAT_NO_SUBTYPE);
	KT_CODE(t, dat_ep_post_rdma_read_to_rmr(r->a, NULL, cookie(3), &remote, 0),
		DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	KT_CODE(t, dat_ep_post_rdma_read_to_rmr(r->a, &to, cookie(3), NULL, 0),
		DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
	to.segment_length = SIZE;
	remote.segment_length = SIZE;
	KT_OK(t, dat_ep_post_rdma_read_to_rmr(r->a, &to, cookie(4), &remote, 0));
	KT_EQ(t, status_of(r, 4), DAT_DTO_ERR_LOCAL_PROTECTION);
	KT_TRUE(t, rig_reconnect(t, r));
	to.virtual_address = m->addr;
	to.rmr_context = m->context;
	KT_OK(t, dat_ep_post_rdma_read_to_rmr(r->a, &to, cookie(5), &remote, 0));
	KT_EQ(t, status_of(r, 5), DAT_DTO_ERR_LOCAL_PROTECTION);
	KT_OK(t, dat_rmr_free(rmr));
}

static void window_reads(struct ktest *t, struct rig *r)
{
	u8 *va = vmalloc(SIZE), *other = vmalloc(SIZE);
	struct mem m = {}, from = {};

	if (!va || !other || reg_va(t, r, va, SIZE, LOCAL, &m) ||
	    reg_va(t, r, other, SIZE, ALL, &from))
		ktest_fail(t, __FILE__, __LINE__, "kcreate", 0, 1);
	else
		read_window(t, r, &m, &from);
	dat_ep_free(r->a);
	dat_ep_free(r->b);
	vfree(other);
	vfree(va);
}

static void reads_fill_windows(struct ktest *t)
{
	with_rig(t, window_reads);
}

/* Register contiguous memory that is too large for one LMR of small pages. */
static void large(struct ktest *t, struct rig *r)
{
	size_t size = 4 << 20;
	u8 *va = alloc_pages_exact(size, GFP_KERNEL | __GFP_NOWARN);
	struct mem m = {};
	DAT_RETURN rc;
	int status = -1;

	if (!va)
		return;
	fill(va, size, 6);
	rc = reg_va(t, r, va, size, ALL, &m);
	if (!rc)
		status = reads(r, m.addr + size - SIZE, SIZE, m.rkey);
	if (!rc && memcmp(r->box.va, va + size - SIZE, SIZE))
		status = -3;
	dat_ep_free(r->a);
	dat_lmr_free(m.lmr);
	free_pages_exact(va, size);
	KT_OK(t, rc);
	KT_EQ(t, status, DAT_DTO_SUCCESS);
}

static void large_memory_gets_large_pages(struct ktest *t)
{
	with_rig(t, large);
}

/* Close the IA while a receive and an RMR use an LMR, and while another LMR is only allocated. */
static void close_takes_memory_along(struct ktest *t)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_LMR_TRIPLET seg;
	DAT_RMR_CONTEXT key;
	DAT_RMR_HANDLE rmr;
	struct mem m = {};
	struct rig *r = kzalloc(sizeof(*r), GFP_KERNEL);
	void *va = vmalloc(SIZE);
	DAT_LMR_HANDLE lmr;
	bool ok;

	ok = r && va && rig_make(t, r) && rig_connect(t, r) && !reg_va(t, r, va, SIZE, ALL, &m) &&
	     !dat_lmr_allocate(t->ia, r->pz, 8, DAT_LMR_SCOPE_PZ, &lmr) &&
	     !dat_rmr_create(r->pz, &rmr);
	seg = (DAT_LMR_TRIPLET) { m.addr, SIZE, m.context };
	ok = ok && !dat_rmr_bind(rmr, m.lmr, &seg, ALL, DAT_VA_TYPE_VA, r->b, cookie(1), 0, &key) &&
	     !dat_ep_post_recv(r->b, 1, &seg, cookie(2), 0);
	dat_ia_close(t->ia, DAT_CLOSE_ABRUPT_FLAG);
	vfree(va);
	kfree(r);
	KT_OK(t, dat_ia_open(ktest_device, 8, &async, &t->ia));
	KT_TRUE(t, ok);
	KT_CODE(t, dat_lmr_free(m.lmr), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_LMR);
}

const struct ktest_case ktest_lmr[] = {
	KTEST(linear_memory_is_reached),
	KTEST(vmalloc_memory_is_reached),
	KTEST(physical_pages_are_reached),
	KTEST(pages_of_a_size_are_reached),
	KTEST(scatterlists_are_reached),
	KTEST(dma_addresses_are_reached),
	KTEST(keys_open_these_bytes_only),
	KTEST(access_errors_reach_the_peer_before_the_end),
	KTEST(segments_are_checked),
	KTEST(regions_are_found_among_many),
	KTEST(bad_memory_is_refused),
	KTEST(reserved_lmr_takes_dma_addresses),
	KTEST(reserved_lmr_does_not_keep_the_ia_open),
	KTEST(hints_are_given_and_memory_is_synced),
	KTEST(allocated_lmr_gets_and_loses_memory),
	KTEST(requests_on_memory_keep_their_order),
	KTEST(bad_requests_on_memory_are_refused),
	KTEST(flushed_requests_on_memory_leave_it_usable),
	KTEST(an_invalidation_flushed_at_the_device_releases_its_memory),
	KTEST(invalidation_does_not_overtake_its_bind),
	KTEST(windows_open_what_they_are_bound_to),
	KTEST(peers_close_windows_and_the_receive_says_so),
	KTEST(a_peer_that_ends_a_region_breaks_its_connection),
	KTEST(reads_fill_windows),
	KTEST(large_memory_gets_large_pages),
	KTEST(close_takes_memory_along),
	{}
};
