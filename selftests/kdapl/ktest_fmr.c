// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* Tests of allocated LMRs, which get and lose their memory by requests on a queue. */
#include <linux/delay.h>
#include <linux/scatterlist.h>
#include <rdma/ib_verbs.h>

#include "ktest_rig.h"

#define FENCE	DAT_COMPLETION_LMR_INVALIDATE_FENCE_FLAG

/* Run @fn with pages and an LMR that can have @n of them. */
static void with_lmr(struct ktest *t, struct rig *r, DAT_COUNT n, DAT_LMR_SCOPE scope,
		     void (*fn)(struct ktest *t, struct rig *r, struct rig_pages *p,
				DAT_LMR_HANDLE lmr))
{
	struct rig_pages *p = rig_pages_make();
	DAT_LMR_HANDLE lmr;

	if (p && p->va && !dat_lmr_allocate(t->ia, r->pz, n, scope, &lmr))
		fn(t, r, p, lmr);
	else
		ktest_fail(t, __FILE__, __LINE__, "allocate", 0, 1);
	/* Before freeing the pages, free the objects that can access them. */
	dat_ep_free(r->a);
	dat_ep_free(r->b);
	rig_pages_free(p);
}

/* Bind an allocated LMR to memory through b's queue, use it and invalidate it, four times. */
static void cycle(struct ktest *t, struct rig *r, struct rig_pages *p, DAT_LMR_HANDLE lmr)
{
	DAT_REGION_DESCRIPTION region = { .for_physical = p->addr };
	struct rig_mem m = { .lmr = lmr, .va = p->va, .addr = p->addr[0], .length = RIG_SIZE };
	DAT_LMR_CONTEXT last = 0;
	DAT_LMR_PARAM param;
	int i;

	for (i = 0; i < 4; i++) {
		KT_OK(t, dat_lmr_query(lmr, DAT_LMR_FIELD_ALL, &param));
		KT_EQ(t, param.lmr_state.fmr_support, DAT_TRUE);
		KT_EQ(t, param.lmr_state.bound, DAT_FALSE);
		KT_OK(t, dat_lmr_fmr(lmr, DAT_MEM_TYPE_PHYSICAL, region, RIG_SIZE / PAGE_SIZE, ALL,
				     DAT_VA_TYPE_VA, r->b, kt_cookie(20), 0, &m.context, &m.rkey));
		KT_TRUE(t, m.context != last && m.rkey);
		last = m.context;
		KT_CODE(t, dat_lmr_fmr(lmr, DAT_MEM_TYPE_PHYSICAL, region, 1, ALL,
				       DAT_VA_TYPE_VA, r->b, kt_cookie(21), 0, NULL, NULL),
			DAT_INVALID_STATE, DAT_INVALID_STATE_LMR_IN_USE);
		KT_EQ(t, rig_status(r, 20), DAT_DTO_SUCCESS);
		KT_OK(t, dat_lmr_query(lmr, DAT_LMR_FIELD_ALL, &param));
		KT_EQ(t, param.lmr_state.bound, DAT_TRUE);
		KT_EQ(t, param.registered_address, p->addr[0]);
		KT_EQ(t, param.registered_size, RIG_SIZE);
		rig_traffic(t, r, &m);
		KT_OK(t, dat_lmr_invalidate(lmr, r->b, kt_cookie(22), i & 1 ? FENCE : 0));
		KT_CODE(t, dat_lmr_invalidate(lmr, r->b, kt_cookie(23), 0), DAT_INVALID_STATE,
			DAT_INVALID_STATE_LMR_FREE);
		KT_EQ(t, rig_status(r, 22), DAT_DTO_SUCCESS);
	}
	KT_EQ(t, rig_reads(r, m.addr, 8, m.rkey), DAT_DTO_ERR_REMOTE_ACCESS);
	KT_TRUE(t, rig_reconnect(t, r));
	KT_OK(t, dat_lmr_free(lmr));
}

static void fmr(struct ktest *t, struct rig *r)
{
	with_lmr(t, r, 8, DAT_LMR_SCOPE_PZ, cycle);
}

static void allocated_lmr_gets_and_loses_memory(struct ktest *t)
{
	with_rig(t, fmr);
}

/*
 * Post a bind, a send and an invalidation to b's queue without waiting.  Each request must see the
 * effect of the request before it.
 */
static void chain(struct ktest *t, struct rig *r, struct rig_pages *p, DAT_LMR_HANDLE lmr)
{
	DAT_PLATFORM_MEMORY mem = { .sg = p->sg, .nents = 6, .offset = 100 };
	DAT_REGION_DESCRIPTION region = { .for_platform = &mem };
	DAT_LMR_TRIPLET seg = { .segment_length = 8000 }, into;
	int i, n = 0;
	u64 first = 0;
	DAT_EVENT e;

	into = (DAT_LMR_TRIPLET) { r->box.addr, 8000, r->box.context };
	rig_fill(p->va, 6 * PAGE_SIZE, 11);
	KT_OK(t, dat_ep_post_recv(r->a, 1, &into, kt_cookie(1), 0));
	KT_OK(t, dat_lmr_fmr(lmr, DAT_MEM_TYPE_PLATFORM, region, 6, LOCAL, DAT_VA_TYPE_VA, r->b,
			     kt_cookie(2), DAT_COMPLETION_SUPPRESS_FLAG, &seg.lmr_context, NULL));
	seg.virtual_address = p->addr[0] + 100;
	KT_OK(t, dat_ep_post_send(r->b, 1, &seg, kt_cookie(3), 0));
	KT_OK(t, dat_lmr_invalidate(lmr, r->b, kt_cookie(4), FENCE));
	KT_OK(t, dat_ep_post_send(r->b, 0, NULL, kt_cookie(5), 0));
	for (i = 0; i < 3; i++) {
		KT_EQ(t, kt_next(r->evd, &e), DAT_DTO_COMPLETION_EVENT);
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
	with_lmr(t, r, 8, DAT_LMR_SCOPE_ANY, chain);
}

static void requests_on_memory_keep_their_order(struct ktest *t)
{
	with_rig(t, in_order);
}

static void bad_fmr(struct ktest *t, struct rig *r, struct rig_pages *p, DAT_LMR_HANDLE lmr)
{
	DAT_REGION_DESCRIPTION region = { .for_physical = p->addr }, none = {};
	struct rig_mem m = {};

	KT_CODE(t, dat_lmr_allocate(t->ia, r->pz, 0, DAT_LMR_SCOPE_PZ, &m.lmr),
		DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	KT_CODE(t, dat_lmr_allocate(t->ia, r->pz, 1 << 30, DAT_LMR_SCOPE_PZ, &m.lmr),
		DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY_REGION);
	KT_CODE(t, dat_lmr_allocate(t->ia, r->pz, 1, DAT_LMR_SCOPE_EP, &m.lmr),
		DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
#define FMR(lmr, type, region, n, priv, ep, flags)					\
	dat_lmr_fmr(lmr, type, region, n, priv, DAT_VA_TYPE_VA, ep, kt_cookie(1), flags,	\
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
	KT_CODE(t, dat_lmr_invalidate(lmr, r->b, kt_cookie(1), 0), DAT_INVALID_STATE,
		DAT_INVALID_STATE_LMR_FREE);
	KT_CODE(t, dat_lmr_invalidate(r->box.lmr, r->b, kt_cookie(1), 0), DAT_INVALID_HANDLE,
		DAT_INVALID_HANDLE_LMR);
	/* The failed calls have not changed the LMR. */
	KT_OK(t, dat_lmr_fmr(lmr, DAT_MEM_TYPE_PHYSICAL, region, 4, ALL, DAT_VA_TYPE_VA, r->b,
			     kt_cookie(2), 0, &m.context, &m.rkey));
	KT_EQ(t, rig_status(r, 2), DAT_DTO_SUCCESS);
	region.for_lmr_handle = lmr;
	KT_CODE(t, rig_reg(t, r, DAT_MEM_TYPE_LMR, region, 0, ALL, &m), DAT_INVALID_PARAMETER,
		DAT_INVALID_ARG3);
	KT_OK(t, dat_lmr_free(lmr));
}

static void refusals(struct ktest *t, struct rig *r)
{
	with_lmr(t, r, 4, DAT_LMR_SCOPE_PZ, bad_fmr);
}

static void bad_requests_on_memory_are_refused(struct ktest *t)
{
	with_rig(t, refusals);
}

/* Memory with a hole is refused, even if pages of 1 KiB would have no hole. */
static void hole(struct ktest *t, struct rig *r, struct rig_pages *p, DAT_LMR_HANDLE lmr)
{
	DAT_PLATFORM_MEMORY mem = { .sg = p->sg, .nents = 2 };
	DAT_REGION_DESCRIPTION region = { .for_platform = &mem };
	struct rig_mem m = {};

	sg_init_table(p->sg, 2);
	sg_set_page(&p->sg[0], p->page[0], 1024, 0);
	sg_set_page(&p->sg[1], p->page[1], 1024, 1024);
	KT_CODE(t, dat_lmr_fmr(lmr, DAT_MEM_TYPE_PLATFORM, region, 2, ALL, DAT_VA_TYPE_VA, r->b,
			       kt_cookie(1), 0, &m.context, &m.rkey),
		DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	/* The failed call has not changed the LMR, and the pages themselves have no hole. */
	sg_set_page(&p->sg[0], p->page[0], PAGE_SIZE, 0);
	sg_set_page(&p->sg[1], p->page[1], PAGE_SIZE, 0);
	KT_OK(t, dat_lmr_fmr(lmr, DAT_MEM_TYPE_PLATFORM, region, 2, ALL, DAT_VA_TYPE_VA, r->b,
			     kt_cookie(2), 0, &m.context, &m.rkey));
	KT_EQ(t, rig_status(r, 2), DAT_DTO_SUCCESS);
	KT_OK(t, dat_lmr_free(lmr));
}

static void holes(struct ktest *t, struct rig *r)
{
	with_lmr(t, r, 4, DAT_LMR_SCOPE_PZ, hole);
}

static void memory_with_a_hole_is_refused(struct ktest *t)
{
	with_rig(t, holes);
}

/* The limit of dat.ko, or that of the device, if it is lower. */
static u32 most_pages(void)
{
	struct ib_device *ibdev = ib_device_get_by_name(ktest_device, RDMA_DRIVER_UNKNOWN);
	u32 most = 1024;

	if (!ibdev)
		return most;
	most = min(most, ibdev->attrs.max_fast_reg_page_list_len);
	ib_device_put(ibdev);
	return most;
}

static void largest(struct ktest *t, struct rig *r)
{
	u32 most = most_pages();
	DAT_LMR_HANDLE lmr;

	KT_OK(t, dat_lmr_allocate(t->ia, r->pz, most, DAT_LMR_SCOPE_PZ, &lmr));
	KT_OK(t, dat_lmr_free(lmr));
	KT_CODE(t, dat_lmr_allocate(t->ia, r->pz, most + 1, DAT_LMR_SCOPE_PZ, &lmr),
		DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY_REGION);
}

static void an_lmr_has_as_many_pages_as_the_device_allows(struct ktest *t)
{
	with_rig(t, largest);
}

/* Post binds and invalidations to an EP whose connection has ended, so that they are flushed. */
static void flushed(struct ktest *t, struct rig *r, struct rig_pages *p, DAT_LMR_HANDLE lmr)
{
	DAT_REGION_DESCRIPTION region = { .for_physical = p->addr };
	struct rig_mem m = { .va = p->va, .addr = p->addr[0], .length = RIG_SIZE };
	DAT_EVENT event;
	int i;

	KT_OK(t, dat_ep_disconnect(r->b, DAT_CLOSE_ABRUPT_FLAG));
	KT_TRUE(t, kt_next(r->conn, &event) && kt_next(r->conn, &event));
	KT_OK(t, dat_lmr_fmr(lmr, DAT_MEM_TYPE_PHYSICAL, region, 5, ALL, DAT_VA_TYPE_VA, r->b,
			     kt_cookie(1), 0, &m.context, &m.rkey));
	KT_EQ(t, rig_status(r, 1), DAT_DTO_ERR_FLUSHED);
	KT_CODE(t, dat_lmr_invalidate(lmr, r->b, kt_cookie(2), 0), DAT_INVALID_STATE,
		DAT_INVALID_STATE_LMR_FREE);
	KT_TRUE(t, !dat_ep_reset(r->a) && !dat_ep_reset(r->b) && rig_connect(t, r));
	KT_OK(t, dat_lmr_fmr(lmr, DAT_MEM_TYPE_PHYSICAL, region, 5, ALL, DAT_VA_TYPE_VA, r->b,
			     kt_cookie(3), 0, &m.context, &m.rkey));
	KT_EQ(t, rig_status(r, 3), DAT_DTO_SUCCESS);
	rig_traffic(t, r, &m);
	/* A flushed invalidation leaves the LMR bound. */
	KT_OK(t, dat_ep_disconnect(r->b, DAT_CLOSE_ABRUPT_FLAG));
	KT_TRUE(t, kt_next(r->conn, &event) && kt_next(r->conn, &event));
	KT_OK(t, dat_lmr_invalidate(lmr, r->b, kt_cookie(4), 0));
	KT_EQ(t, rig_status(r, 4), DAT_DTO_ERR_FLUSHED);
	KT_TRUE(t, !dat_ep_reset(r->a) && !dat_ep_reset(r->b) && rig_connect(t, r));
	rig_traffic(t, r, &m);
	/*
	 * An invalidation races with a disconnect.  Whichever comes first, dat_lmr_free() must
	 * succeed in the end.
	 */
	KT_OK(t, dat_lmr_invalidate(lmr, r->b, kt_cookie(5), 0));
	KT_OK(t, dat_ep_disconnect(r->b, DAT_CLOSE_ABRUPT_FLAG));
	KT_TRUE(t, kt_next(r->conn, &event) && kt_next(r->conn, &event));
	for (i = 0; i < 100 && dat_lmr_free(lmr); i++)
		msleep(20);
	KT_TRUE(t, i < 100);
}

static void flushes(struct ktest *t, struct rig *r)
{
	with_lmr(t, r, 8, DAT_LMR_SCOPE_PZ, flushed);
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
static void flushed_late(struct ktest *t, struct rig *r, struct rig_pages *p, DAT_LMR_HANDLE lmr)
{
	DAT_REGION_DESCRIPTION region = { .for_physical = p->addr };
	struct rig_mem m = { .va = p->va, .addr = p->addr[0], .length = RIG_SIZE };
	DAT_RETURN rc = DAT_INTERNAL_ERROR;
	u32 old;
	int i;

	KT_OK(t, dat_lmr_fmr(lmr, DAT_MEM_TYPE_PHYSICAL, region, RIG_SIZE / PAGE_SIZE, ALL,
			     DAT_VA_TYPE_VA, r->b, kt_cookie(1), 0, &m.context, &m.rkey));
	KT_EQ(t, rig_status(r, 1), DAT_DTO_SUCCESS);
	rig_traffic(t, r, &m);
	old = m.rkey;
	KT_OK(t, dat_ep_post_send(r->b, 0, NULL, kt_cookie(2), 0));
	KT_OK(t, dat_lmr_invalidate(lmr, r->b, kt_cookie(3), 0));
	KT_OK(t, dat_ep_disconnect(r->b, DAT_CLOSE_ABRUPT_FLAG));
	KT_EQ(t, rig_status(r, 2), DAT_DTO_ERR_FLUSHED);
	KT_EQ(t, rig_status(r, 3), DAT_DTO_ERR_FLUSHED);
	KT_TRUE(t, rig_reconnect(t, r));
	for (i = 0; i < 100 && rc; i++) {
		rc = dat_lmr_fmr(lmr, DAT_MEM_TYPE_PHYSICAL, region, RIG_SIZE / PAGE_SIZE, ALL,
				 DAT_VA_TYPE_VA, r->b, kt_cookie(4), 0, &m.context, &m.rkey);
		if (rc)
			msleep(20);
	}
	KT_OK(t, rc);
	KT_EQ(t, rig_status(r, 4), DAT_DTO_SUCCESS);
	rig_traffic(t, r, &m);
	KT_TRUE(t, m.rkey != old);
	KT_EQ(t, rig_reads(r, m.addr, 8, old), DAT_DTO_ERR_REMOTE_ACCESS);
	KT_TRUE(t, rig_reconnect(t, r));
	KT_OK(t, dat_lmr_free(lmr));
}

static void flushes_late(struct ktest *t, struct rig *r)
{
	with_lmr(t, r, 8, DAT_LMR_SCOPE_PZ, flushed_late);
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
		good += kt_next(r->evd, &e) == DAT_DTO_COMPLETION_EVENT &&
			e.event_data.dto_completion_event_data.status == DAT_DTO_SUCCESS;
	return good;
}

/*
 * An invalidation must not overtake the bind of its LMR.  The test stalls b's queue: a send, for
 * which the peer has no receive, blocks a fenced invalidation, which blocks a bind.  Until the bind
 * completes, dat_lmr_invalidate() through a's queue must fail.
 */
static void overtake(struct ktest *t, struct rig *r, struct rig_pages *p, DAT_LMR_HANDLE *lmr)
{
	DAT_REGION_DESCRIPTION region = { .for_physical = p->addr };
	struct rig_mem m = { .va = p->va, .addr = p->addr[0], .length = RIG_SIZE };

	KT_OK(t, dat_lmr_fmr(lmr[0], DAT_MEM_TYPE_PHYSICAL, region, 1, LOCAL, DAT_VA_TYPE_VA,
			     r->b, kt_cookie(1), 0, NULL, NULL));
	KT_EQ(t, rig_status(r, 1), DAT_DTO_SUCCESS);
	KT_OK(t, dat_ep_post_send(r->b, 0, NULL, kt_cookie(2), 0));
	KT_OK(t, dat_lmr_invalidate(lmr[0], r->b, kt_cookie(3), FENCE));
	KT_OK(t, dat_lmr_fmr(lmr[1], DAT_MEM_TYPE_PHYSICAL, region, RIG_SIZE / PAGE_SIZE, ALL,
			     DAT_VA_TYPE_VA, r->b, kt_cookie(4), 0, &m.context, &m.rkey));
	KT_CODE(t, dat_lmr_invalidate(lmr[1], r->a, kt_cookie(5), 0), DAT_INVALID_STATE,
		DAT_INVALID_STATE_LMR_IN_USE);
	KT_OK(t, dat_ep_post_recv(r->a, 0, NULL, kt_cookie(6), 0));
	KT_EQ(t, successes(r, 4), 4);
	rig_traffic(t, r, &m);
	/* The bind has completed, so any EP of the protection zone may invalidate the LMR. */
	KT_OK(t, dat_lmr_invalidate(lmr[1], r->a, kt_cookie(7), 0));
	KT_EQ(t, rig_status(r, 7), DAT_DTO_SUCCESS);
	KT_EQ(t, rig_reads(r, m.addr, 8, m.rkey), DAT_DTO_ERR_REMOTE_ACCESS);
	KT_TRUE(t, rig_reconnect(t, r));
	KT_OK(t, dat_lmr_free(lmr[0]));
	KT_OK(t, dat_lmr_free(lmr[1]));
}

static void two_queues(struct ktest *t, struct rig *r)
{
	struct rig_pages *p = rig_pages_make();
	DAT_LMR_HANDLE lmr[2];

	if (p && p->va && !dat_lmr_allocate(t->ia, r->pz, 8, DAT_LMR_SCOPE_PZ, &lmr[0]) &&
	    !dat_lmr_allocate(t->ia, r->pz, 8, DAT_LMR_SCOPE_PZ, &lmr[1]))
		overtake(t, r, p, lmr);
	else
		ktest_fail(t, __FILE__, __LINE__, "allocate", 0, 1);
	dat_ep_free(r->a);
	dat_ep_free(r->b);
	rig_pages_free(p);
}

static void invalidation_does_not_overtake_its_bind(struct ktest *t)
{
	with_rig(t, two_queues);
}

const struct ktest_case ktest_fmr[] = {
	KTEST(allocated_lmr_gets_and_loses_memory),
	KTEST(requests_on_memory_keep_their_order),
	KTEST(bad_requests_on_memory_are_refused),
	KTEST(memory_with_a_hole_is_refused),
	KTEST(an_lmr_has_as_many_pages_as_the_device_allows),
	KTEST(flushed_requests_on_memory_leave_it_usable),
	KTEST(an_invalidation_flushed_at_the_device_releases_its_memory),
	KTEST(invalidation_does_not_overtake_its_bind),
	{}
};
