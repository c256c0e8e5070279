// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* Tests of LMRs: registrations of all kinds of memory, and what they open to whom. */
#include <linux/delay.h>
#include <linux/kprobes.h>
#include <linux/mm.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <rdma/ib_verbs.h>

#include "ktest_rig.h"

static void linear(struct ktest *t, struct rig *r)
{
	u8 *va = kmalloc(RIG_SIZE + 256, GFP_KERNEL);
	struct rig_mem m = {};

	KT_TRUE(t, va);
	if (rig_reg_va(t, r, va + 123, RIG_SIZE, ALL, &m))
		ktest_fail(t, __FILE__, __LINE__, "kcreate", 0, 1);
	else
		rig_traffic(t, r, &m);
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
	u8 *va = vmalloc(RIG_SIZE + PAGE_SIZE);
	struct rig_mem m = {};

	KT_TRUE(t, va);
	if (rig_reg_va(t, r, va + 1000, RIG_SIZE, ALL, &m))
		ktest_fail(t, __FILE__, __LINE__, "kcreate", 0, 1);
	else
		rig_traffic(t, r, &m);
	dat_ep_disconnect(r->a, DAT_CLOSE_ABRUPT_FLAG);
	dat_lmr_free(m.lmr);
	vfree(va);
}

static void vmalloc_memory_is_reached(struct ktest *t)
{
	with_rig(t, mapped);
}

/* Register pages in the way that @type and @region describe, and transfer data. */
static void paged(struct ktest *t, struct rig *r, struct rig_pages *p, DAT_MEM_TYPE type,
		  DAT_REGION_DESCRIPTION region, u32 skip)
{
	struct rig_mem m = { .va = p->va + skip }, copy = m;
	DAT_REGION_DESCRIPTION same;
	DAT_LMR_PARAM param;

	KT_OK(t, rig_reg(t, r, type, region, RIG_SIZE, ALL, &m));
	KT_EQ(t, m.addr, p->addr[0] + skip);
	rig_traffic(t, r, &m);
	KT_OK(t, dat_lmr_query(m.lmr, DAT_LMR_FIELD_ALL, &param));
	KT_EQ(t, param.mem_type, type);
	KT_EQ(t, param.length, RIG_SIZE);
	KT_EQ(t, param.rmr_context, m.rkey);
	KT_EQ(t, param.lmr_state.bound, DAT_TRUE);
	KT_EQ(t, param.lmr_state.fmr_support, DAT_FALSE);
	/*
	 * Register the same memory again through its LMR.  The second LMR must outlive the first.
	 */
	same.for_lmr_handle = m.lmr;
	KT_OK(t, rig_reg(t, r, DAT_MEM_TYPE_LMR, same, 0, ALL, &copy));
	KT_TRUE(t, copy.rkey != m.rkey && copy.context != m.context);
	KT_OK(t, dat_lmr_free(m.lmr));
	rig_traffic(t, r, &copy);
	KT_OK(t, dat_lmr_free(copy.lmr));
}

static void physical(struct ktest *t, struct rig *r)
{
	struct rig_pages *p = rig_pages_make();

	if (p && p->va)
		paged(t, r, p, DAT_MEM_TYPE_PHYSICAL,
		      (DAT_REGION_DESCRIPTION) { .for_physical = p->addr }, 0);
	else
		ktest_fail(t, __FILE__, __LINE__, "pages", 0, 1);
	dat_ep_free(r->a);
	rig_pages_free(p);
}

static void physical_pages_are_reached(struct ktest *t)
{
	with_rig(t, physical);
}

static void var_pages(struct ktest *t, struct rig *r)
{
	struct rig_pages *p = rig_pages_make();

	if (p && p->va)
		paged(t, r, p, DAT_MEM_TYPE_PHYSICAL_VAR_PAGES, (DAT_REGION_DESCRIPTION) {
		      .for_array = { .page_size = PAGE_SIZE, .pages = p->addr } }, 0);
	else
		ktest_fail(t, __FILE__, __LINE__, "pages", 0, 1);
	dat_ep_free(r->a);
	rig_pages_free(p);
}

static void pages_of_a_size_are_reached(struct ktest *t)
{
	with_rig(t, var_pages);
}

static void platform(struct ktest *t, struct rig *r)
{
	struct rig_pages *p = rig_pages_make();
	DAT_PLATFORM_MEMORY mem = { .nents = 6, .offset = 300 };

	if (p && p->va) {
		mem.sg = p->sg;
		paged(t, r, p, DAT_MEM_TYPE_PLATFORM,
		      (DAT_REGION_DESCRIPTION) { .for_platform = &mem }, 300);
	} else {
		ktest_fail(t, __FILE__, __LINE__, "pages", 0, 1);
	}
	dat_ep_free(r->a);
	rig_pages_free(p);
}

static void scatterlists_are_reached(struct ktest *t)
{
	with_rig(t, platform);
}

/* The DMA addresses of a software device such as rxe are kernel virtual addresses. */
static void dma_traffic(struct ktest *t, struct rig *r, struct rig_pages *p)
{
	DAT_PLATFORM_MEMORY mem = { .sg = p->sg, .nents = 6, .offset = 100 };
	DAT_REGION_DESCRIPTION region = { .for_platform = &mem };
	struct rig_mem m = { .va = p->va + 100 };
	int i;

	for (i = 0; i < 6; i++) {
		sg_dma_address(&p->sg[i]) = (uintptr_t)page_address(p->page[i]);
		sg_dma_len(&p->sg[i]) = PAGE_SIZE;
	}
	KT_OK(t, rig_reg(t, r, DAT_MEM_TYPE_BYPASS, region, RIG_SIZE, ALL, &m));
	KT_EQ(t, m.addr, (uintptr_t)page_address(p->page[0]) + 100);
	rig_traffic(t, r, &m);
	KT_OK(t, dat_lmr_free(m.lmr));
	KT_CODE(t, rig_reg(t, r, DAT_MEM_TYPE_BYPASS, region, 6 * PAGE_SIZE, ALL, &m),
		DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	/* Pages of 1 KiB would have no hole. */
	mem.offset = 0;
	sg_dma_len(&p->sg[0]) = 1024;
	sg_dma_address(&p->sg[1]) += 1024;
	KT_CODE(t, rig_reg(t, r, DAT_MEM_TYPE_BYPASS, region, 2048, ALL, &m),
		DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
}

static void bypass(struct ktest *t, struct rig *r)
{
	struct rig_pages *p = rig_pages_make();

	if (p && p->va)
		dma_traffic(t, r, p);
	else
		ktest_fail(t, __FILE__, __LINE__, "pages", 0, 1);
	dat_ep_free(r->a);
	rig_pages_free(p);
}

static void dma_addresses_are_reached(struct ktest *t)
{
	with_rig(t, bypass);
}

/*
 * Bytes in a registered range can be accessed with the privileges of the registration.  Bytes
 * outside of the range cannot be accessed.
 */
static void exact(struct ktest *t, struct rig *r, struct rig_mem *whole)
{
	static const struct {
		u64 at, length;
	} out[] = { { (u64)-1, 1 }, { 5000, 1 }, { 4999, 2 }, { (u64)-1, 5002 } };
	struct rig_mem m = {}, ro = {};
	int i;

	KT_OK(t, rig_reg_va(t, r, whole->va + 123, 5000, ALL, &m));
	KT_EQ(t, rig_reads(r, m.addr, 1, m.rkey), DAT_DTO_SUCCESS);
	KT_EQ(t, rig_reads(r, m.addr + 4999, 1, m.rkey), DAT_DTO_SUCCESS);
	KT_EQ(t, rig_writes(r, m.addr, 5000, m.rkey), DAT_DTO_SUCCESS);
	for (i = 0; i < ARRAY_SIZE(out); i++) {
		KT_EQ(t, rig_reads(r, m.addr + out[i].at, out[i].length, m.rkey),
		      DAT_DTO_ERR_REMOTE_ACCESS);
		KT_TRUE(t, rig_reconnect(t, r));
	}
	KT_OK(t, rig_reg_va(t, r, whole->va, 64, DAT_MEM_PRIV_REMOTE_READ_FLAG, &ro));
	KT_EQ(t, rig_reads(r, ro.addr, 64, ro.rkey), DAT_DTO_SUCCESS);
	KT_EQ(t, rig_writes(r, ro.addr, 64, ro.rkey), DAT_DTO_ERR_REMOTE_ACCESS);
	KT_TRUE(t, rig_reconnect(t, r));
	/* Once the LMR has been freed, its key is invalid. */
	KT_OK(t, dat_lmr_free(m.lmr));
	KT_EQ(t, rig_reads(r, m.addr, 1, m.rkey), DAT_DTO_ERR_REMOTE_ACCESS);
}

static void exactness(struct ktest *t, struct rig *r)
{
	struct rig_mem whole = { .va = vmalloc(RIG_SIZE) };

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
		status = rig_reads(r, r->box.addr, 8, 0xdead00);
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
	struct rig_mem m = {}, other = {};
	DAT_PZ_HANDLE pz = r->pz;

	/* Without a remote privilege an LMR has no key.  Without LOCAL_WRITE it cannot receive. */
	KT_OK(t, rig_reg_va(t, r, r->box.va, 64, DAT_MEM_PRIV_LOCAL_READ_FLAG, &m));
	KT_EQ(t, m.rkey, 0);
	seg.virtual_address = m.addr;
	seg.lmr_context = m.context;
	KT_CODE(t, dat_ep_post_recv(r->a, 1, &seg, kt_cookie(1), 0), DAT_PRIVILEGES_VIOLATION,
		DAT_PRIVILEGES_WRITE);
	seg.virtual_address++;
	KT_EQ(t, dat_ep_post_send(r->a, 1, &seg, kt_cookie(1), 0),
	      DAT_CLASS_ERROR | DAT_INVALID_PARAMETER | DAT_INVALID_ARG3);
	KT_OK(t, dat_pz_create(t->ia, &r->pz));
	KT_OK(t, rig_reg_va(t, r, r->box.va, 64, LOCAL, &other));
	seg.virtual_address = other.addr;
	seg.lmr_context = other.context;
	KT_EQ(t, dat_ep_post_send(r->a, 1, &seg, kt_cookie(1), 0),
	      DAT_CLASS_ERROR | DAT_PROTECTION_VIOLATION | DAT_PROTECTION_READ);
	KT_EQ(t, dat_ep_post_recv(r->a, 1, &seg, kt_cookie(1), 0),
	      DAT_CLASS_ERROR | DAT_PROTECTION_VIOLATION | DAT_PROTECTION_WRITE);
	KT_CODE(t, dat_pz_free(r->pz), DAT_INVALID_STATE, DAT_INVALID_STATE_PZ_IN_USE);
	KT_OK(t, dat_lmr_free(other.lmr));
	KT_OK(t, dat_pz_free(r->pz));
	r->pz = pz;
	KT_CODE(t, dat_lmr_free(other.lmr), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_LMR);
	KT_CODE(t, dat_ep_post_send(r->a, 1, &seg, kt_cookie(1), 0), DAT_PRIVILEGES_VIOLATION,
		DAT_PRIVILEGES_READ);
	KT_OK(t, dat_lmr_free(m.lmr));
}

static void segments_are_checked(struct ktest *t)
{
	with_rig(t, local_checks);
}

#define REGIONS	70

/* Each of many LMRs is valid by itself: no LMR gives access to the memory of the next LMR. */
static void regions(struct ktest *t, struct rig *r, struct rig_mem *m)
{
	DAT_LMR_TRIPLET segs[2] = { { .segment_length = 64 }, { .segment_length = 64 } };
	int i;

	for (i = 0; i < REGIONS; i++)
		KT_OK(t, rig_reg_va(t, r, r->box.va + 64 * i, 64, LOCAL, &m[i]));
	for (i = 0; i < REGIONS; i += 2)
		KT_OK(t, dat_lmr_free(m[i].lmr));
	for (i = 0; i < REGIONS; i++) {
		segs[0].virtual_address = m[i].addr;
		segs[0].lmr_context = m[i].context;
		KT_EQ(t, dat_ep_post_recv(r->b, 1, segs, kt_cookie(i), 0),
		      i % 2 ? DAT_SUCCESS : DAT_CLASS_ERROR | DAT_PRIVILEGES_VIOLATION |
					      DAT_PRIVILEGES_WRITE);
	}
	/* A bad second segment must be detected as well. */
	segs[1] = segs[0];
	segs[1].virtual_address += 64;
	KT_CODE(t, dat_ep_post_send(r->a, 2, segs, kt_cookie(1000), 0), DAT_INVALID_PARAMETER,
		DAT_INVALID_ARG3);
	segs[1].virtual_address = 0;
	KT_CODE(t, dat_ep_post_send(r->a, 2, segs, kt_cookie(1000), 0), DAT_INVALID_PARAMETER,
		DAT_INVALID_ARG3);
	segs[1].segment_length = 0;
	KT_OK(t, dat_ep_post_send(r->a, 2, segs, kt_cookie(1), 0));
	i = rig_status(r, 1);
	KT_EQ(t, i, DAT_DTO_SUCCESS);
}

static void many_regions(struct ktest *t, struct rig *r)
{
	struct rig_mem *m = kcalloc(REGIONS, sizeof(*m), GFP_KERNEL);

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
	struct rig_mem m = {};

	KT_CODE(t, rig_reg(t, r, DAT_MEM_TYPE_VIRTUAL, va, 0, ALL, &m), DAT_LENGTH_ERROR,
		DAT_NO_SUBTYPE);
	KT_CODE(t, rig_reg(t, r, DAT_MEM_TYPE_VIRTUAL, va, 1ULL << 40, ALL, &m), DAT_LENGTH_ERROR,
		DAT_NO_SUBTYPE);
	KT_CODE(t, rig_reg(t, r, 0x3, va, 8, ALL, &m), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	KT_CODE(t, rig_reg(t, r, DAT_MEM_TYPE_IA, va, 8, ALL, &m), DAT_MODEL_NOT_SUPPORTED,
		DAT_NO_SUBTYPE);
	KT_CODE(t, rig_reg(t, r, DAT_MEM_TYPE_VIRTUAL, va, 8, 0x100, &m), DAT_INVALID_PARAMETER,
		DAT_INVALID_ARG6);
	KT_CODE(t, rig_reg(t, r, DAT_MEM_TYPE_VIRTUAL, bad, 8, ALL, &m), DAT_INVALID_PARAMETER,
		DAT_INVALID_ARG3);
	/* Test a user address, an unmapped address, and a range that exceeds the address space. */
	bad.for_va = (void *)0x400000;
	KT_CODE(t, rig_reg(t, r, DAT_MEM_TYPE_VIRTUAL, bad, 8, ALL, &m), DAT_INVALID_PARAMETER,
		DAT_INVALID_ARG3);
	bad.for_va = (void *)(VMALLOC_END - PAGE_SIZE);
	KT_CODE(t, rig_reg(t, r, DAT_MEM_TYPE_VIRTUAL, bad, 8, ALL, &m), DAT_INVALID_PARAMETER,
		DAT_INVALID_ARG3);
	bad.for_va = (void *)-8L;
	KT_CODE(t, rig_reg(t, r, DAT_MEM_TYPE_VIRTUAL, bad, 64, ALL, &m), DAT_INVALID_PARAMETER,
		DAT_INVALID_ARG3);
	bad.for_physical = addr;
	KT_CODE(t, rig_reg(t, r, DAT_MEM_TYPE_PHYSICAL, bad, 8, ALL, &m), DAT_INVALID_PARAMETER,
		DAT_INVALID_ARG3);
	addr[0] = addr[1];
	KT_CODE(t, rig_reg(t, r, DAT_MEM_TYPE_PHYSICAL, bad, 8, ALL, &m), DAT_INVALID_PARAMETER,
		DAT_INVALID_ARG3);
	bad.for_array = (DAT_PHYSICAL_VAR_PAGES) { .page_size = 512, .pages = addr };
	KT_CODE(t, rig_reg(t, r, DAT_MEM_TYPE_PHYSICAL_VAR_PAGES, bad, 8, ALL, &m),
		DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	/* Test no scatterlist, an empty one, one with a gap, and one shorter than the region. */
	bad.for_platform = NULL;
	KT_CODE(t, rig_reg(t, r, DAT_MEM_TYPE_PLATFORM, bad, 8, ALL, &m), DAT_INVALID_PARAMETER,
		DAT_INVALID_ARG3);
	KT_CODE(t, rig_reg(t, r, DAT_MEM_TYPE_BYPASS, bad, 8, ALL, &m), DAT_INVALID_PARAMETER,
		DAT_INVALID_ARG3);
	mem = (DAT_PLATFORM_MEMORY) { .sg = NULL, .nents = 2 };
	bad.for_platform = &mem;
	KT_CODE(t, rig_reg(t, r, DAT_MEM_TYPE_PLATFORM, bad, 8, ALL, &m), DAT_INVALID_PARAMETER,
		DAT_INVALID_ARG3);
	KT_CODE(t, rig_reg(t, r, DAT_MEM_TYPE_BYPASS, bad, 8, ALL, &m), DAT_INVALID_PARAMETER,
		DAT_INVALID_ARG3);
	sg_init_table(sg, 2);
	mem = (DAT_PLATFORM_MEMORY) { .sg = sg, .nents = 0 };
	KT_CODE(t, rig_reg(t, r, DAT_MEM_TYPE_PLATFORM, bad, 8, ALL, &m), DAT_INVALID_PARAMETER,
		DAT_INVALID_ARG3);
	KT_CODE(t, rig_reg(t, r, DAT_MEM_TYPE_BYPASS, bad, 8, ALL, &m), DAT_INVALID_PARAMETER,
		DAT_INVALID_ARG3);
	sg_set_buf(&sg[0], r->box.va, 100);
	sg_set_buf(&sg[1], r->box.va + PAGE_SIZE, 100);
	mem = (DAT_PLATFORM_MEMORY) { .sg = sg, .nents = 2 };
	bad.for_platform = &mem;
	KT_CODE(t, rig_reg(t, r, DAT_MEM_TYPE_PLATFORM, bad, 200, ALL, &m), DAT_INVALID_PARAMETER,
		DAT_INVALID_ARG3);
	mem.nents = 1;
	KT_CODE(t, rig_reg(t, r, DAT_MEM_TYPE_PLATFORM, bad, 101, ALL, &m), DAT_INVALID_PARAMETER,
		DAT_INVALID_ARG3);
	KT_OK(t, rig_reg(t, r, DAT_MEM_TYPE_PLATFORM, bad, 100, ALL, &m));
	KT_OK(t, dat_lmr_free(m.lmr));
	bad.for_lmr_handle = r->pz;
	KT_CODE(t, rig_reg(t, r, DAT_MEM_TYPE_LMR, bad, 0, ALL, &m), DAT_INVALID_HANDLE,
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
	struct rig_mem m = {};
	DAT_RMR_CONTEXT key;

	KT_OK(t, dat_ia_reserved_lmr(t->ia, &lmr, &context));
	KT_OK(t, dat_ia_reserved_lmr(t->ia, &again, &context));
	KT_TRUE(t, lmr == again);
	/* On a software device the DMA address of kernel memory is its virtual address. */
	seg = (DAT_LMR_TRIPLET) {
		.virtual_address = (uintptr_t)r->box.va, .segment_length = 64,
		.lmr_context = context,
	};
	KT_OK(t, rig_reg_va(t, r, r->box.va + PAGE_SIZE, 64, ALL, &m));
	rig_fill(r->box.va, 64, 9);
	memset(m.va, 0, 64);
	KT_OK(t, dat_ep_post_rdma_write(r->a, 1, &seg, kt_cookie(5), &(DAT_RMR_TRIPLET) {
					.virtual_address = m.addr, .segment_length = 64,
					.rmr_context = m.rkey }, 0));
	KT_EQ(t, rig_status(r, 5), DAT_DTO_SUCCESS);
	KT_TRUE(t, rig_arrives(t, m.va, r->box.va, 64));
	KT_OK(t, dat_lmr_free(m.lmr));
	KT_CODE(t, dat_lmr_free(lmr), DAT_RESERVED_LMR, DAT_NO_SUBTYPE);
	KT_CODE(t, dat_lmr_invalidate(lmr, r->a, kt_cookie(1), 0), DAT_RESERVED_LMR,
		DAT_NO_SUBTYPE);
	region.for_lmr_handle = lmr;
	KT_CODE(t, rig_reg(t, r, DAT_MEM_TYPE_LMR, region, 0, ALL, &m), DAT_RESERVED_LMR,
		DAT_NO_SUBTYPE);
	KT_OK(t, dat_rmr_create(r->pz, &rmr));
	KT_CODE(t, dat_rmr_bind(rmr, lmr, &seg, ALL, DAT_VA_TYPE_VA, r->b, kt_cookie(1), 0, &key),
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
		{ r->box.addr + RIG_SIZE - 64, 64, r->box.context },
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

/* Register contiguous memory that is too large for one LMR of small pages. */
static void large(struct ktest *t, struct rig *r)
{
	size_t size = 4 << 20;
	u8 *va = alloc_pages_exact(size, GFP_KERNEL | __GFP_NOWARN);
	struct rig_mem m = {};
	DAT_RETURN rc;
	int status = -1;

	if (!va)
		return;
	rig_fill(va, size, 6);
	rc = rig_reg_va(t, r, va, size, ALL, &m);
	if (!rc)
		status = rig_reads(r, m.addr + size - RIG_SIZE, RIG_SIZE, m.rkey);
	if (!rc && memcmp(r->box.va, va + size - RIG_SIZE, RIG_SIZE))
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
	struct rig_mem m = {};
	struct rig *r = kzalloc(sizeof(*r), GFP_KERNEL);
	void *va = vmalloc(RIG_SIZE);
	DAT_LMR_HANDLE lmr;
	bool ok;

	ok = r && va && rig_make(t, r) && rig_connect(t, r) &&
	     !rig_reg_va(t, r, va, RIG_SIZE, ALL, &m) &&
	     !dat_lmr_allocate(t->ia, r->pz, 8, DAT_LMR_SCOPE_PZ, &lmr) &&
	     !dat_rmr_create(r->pz, &rmr);
	seg = (DAT_LMR_TRIPLET) { m.addr, RIG_SIZE, m.context };
	ok = ok && !dat_rmr_bind(rmr, m.lmr, &seg, ALL, DAT_VA_TYPE_VA, r->b, kt_cookie(1), 0,
				 &key) &&
	     !dat_ep_post_recv(r->b, 1, &seg, kt_cookie(2), 0);
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
	KTEST(large_memory_gets_large_pages),
	KTEST(close_takes_memory_along),
	{}
};
