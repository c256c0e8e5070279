// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * The named attribute max_inline of an EP: libdat copies the data of small requests when the
 * program posts them.  It reads the memory of no program that has not asked for this.
 */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "dat_api.h"

/* After the API, in which DAT_LMR_COOKIE has another meaning. */
#include <rdma/dat_ioctl.h>

#define TO	65536	/* offset of the memory that receives */

static int is_old;	/* flag: the driver is to be one that does not know inline data */
static uint32_t asked;	/* max_inline in the last call that made or changed an EP */

static void note_asked(const void *arg, size_t at)
{
	uint32_t size;

	memcpy(&size, arg, sizeof(size));
	asked = 0;
	if (size >= at + sizeof(asked))
		memcpy(&asked, (const char *)arg + at, sizeof(asked));
}

/* Called by libdat instead of that of the C library. */
int ioctl(int fd, unsigned long cmd, ...)
{
	va_list list;
	void *arg;
	int ret;

	va_start(list, cmd);
	arg = va_arg(list, void *);
	va_end(list);
	if (cmd == DAT_IOC_EP_CREATE)
		note_asked(arg, offsetof(struct dat_ep_create, max_inline));
	if (cmd == DAT_IOC_EP_MODIFY)
		note_asked(arg, offsetof(struct dat_ep_modify, max_inline));
	ret = (int)syscall(SYS_ioctl, fd, cmd, arg);
	if (!ret && is_old && cmd == DAT_IOC_ABI)
		((struct dat_abi *)arg)->features &= ~DAT_FEATURE_INLINE;
	return ret;
}

FIXTURE(inline) {
	struct a_pair p;
};

FIXTURE_SETUP(inline)
{
	is_old = 0;
	ASSERT_EQ(DAT_SUCCESS, a_open(&self->p));
}

FIXTURE_TEARDOWN(inline)
{
	a_close(&self->p);
}

static DAT_RETURN make_named(struct a_pair *p, DAT_COUNT n, DAT_NAMED_ATTR *named,
			     DAT_EP_HANDLE *ep)
{
	DAT_EP_ATTR attr = a_attr(p);

	attr.ep_provider_specific_count = n;
	attr.ep_provider_specific = named;
	return dat_ep_create(p->ia, p->pz, p->evd[1], p->evd[1], p->evd[1], &attr, ep);
}

/* Makes ep[1] again, with this attribute. */
static DAT_RETURN make(struct a_pair *p, const char *value)
{
	DAT_NAMED_ATTR named = { "max_inline", value };

	dat_ep_free(p->ep[1]);
	return make_named(p, 1, &named, &p->ep[1]);
}

static DAT_RETURN connect_pair(struct a_pair *p)
{
	return a_connect(p, p->ep[1], p->ep[0], p->evd[1], p->evd[0]);
}

/* Returns the value of the attribute; 0 if there is none, -1 if there is something else. */
static int granted(DAT_EP_HANDLE ep)
{
	const DAT_EP_ATTR *attr;
	DAT_EP_PARAM param;

	if (dat_ep_query(ep, DAT_EP_FIELD_ALL, &param) != DAT_SUCCESS)
		return -1;
	attr = &param.ep_attr;
	if (!attr->ep_provider_specific_count)
		return 0;
	if (attr->ep_provider_specific_count != 1 ||
	    strcmp(attr->ep_provider_specific[0].name, "max_inline"))
		return -1;
	return atoi(attr->ep_provider_specific[0].value);
}

static void fill(char *va, size_t n, unsigned int seed)
{
	size_t i;

	for (i = 0; i < n; i++)
		va[i] = (char)(seed + i);
}

/* Sends @n segments, and returns 0 if @len bytes arrive that are those from @want on. */
static int arrives(struct a_pair *p, DAT_COUNT n, DAT_LMR_TRIPLET *seg, const char *want,
		   size_t len)
{
	DAT_LMR_TRIPLET to = a_seg(&p->mem, TO, 8192);
	uint64_t got;

	memset(p->mem.va + TO, 0xee, 8192);
	if (dat_ep_post_recv(p->ep[0], 1, &to, a_cookie(1), 0) != DAT_SUCCESS ||
	    dat_ep_post_send(p->ep[1], n, seg, a_cookie(2), 0) != DAT_SUCCESS)
		return 1;
	if (a_dto(p->evd[1], NULL, NULL) != DAT_DTO_SUCCESS ||
	    a_dto(p->evd[0], NULL, &got) != DAT_DTO_SUCCESS || got != len)
		return 2;
	if (memcmp(p->mem.va + TO, want, len) || p->mem.va[TO + len] != (char)0xee)
		return 3;
	return 0;
}

/* --- the attribute --------------------------------------------------------------- */

TEST_F(inline, an_ep_has_none_by_itself)
{
	EXPECT_EQ(0, granted(self->p.ep[1]));
	EXPECT_EQ(0, asked);
}

TEST_F(inline, a_query_tells_what_the_driver_grants)
{
	int most;

	ASSERT_EQ(DAT_SUCCESS, make(&self->p, "0020"));
	EXPECT_EQ(20, granted(self->p.ep[1]));
	ASSERT_EQ(DAT_SUCCESS, make(&self->p, "97"));
	most = granted(self->p.ep[1]);
	EXPECT_LE(64, most);
	EXPECT_GE(DAT_MAX_INLINE, most);
	ASSERT_EQ(DAT_SUCCESS, make(&self->p, "99999999999999999999999"));
	EXPECT_EQ(most, granted(self->p.ep[1]));
	ASSERT_EQ(DAT_SUCCESS, make(&self->p, "0"));
	EXPECT_EQ(0, granted(self->p.ep[1]));
}

TEST_F(inline, other_names_and_values_are_refused)
{
	static DAT_NAMED_ATTR bad[] = {
		{ "max_inlines", "1" }, { "Max_inline", "1" }, { "", "1" }, { NULL, "1" },
		{ "max_inline", "" }, { "max_inline", NULL }, { "max_inline", "-1" },
		{ "max_inline", "+1" }, { "max_inline", " 1" }, { "max_inline", "1 " },
		{ "max_inline", "0x10" }, { "max_inline", "8k" },
	};
	DAT_NAMED_ATTR both[] = { { "max_inline", "8" }, { "other", "8" } };
	const DAT_RETURN wrong = RC(DAT_INVALID_PARAMETER, DAT_INVALID_ARG6);
	DAT_EP_HANDLE ep;
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		EXPECT_EQ(wrong, make_named(&self->p, 1, &bad[i], &ep)) TH_LOG("number %zu", i);
	EXPECT_EQ(wrong, make_named(&self->p, 2, both, &ep));
	EXPECT_EQ(wrong, make_named(&self->p, -1, both, &ep));
	EXPECT_EQ(wrong, make_named(&self->p, 1, NULL, &ep));
	EXPECT_EQ(DAT_SUCCESS, make_named(&self->p, 1, both, &ep));
	EXPECT_EQ(DAT_SUCCESS, make_named(&self->p, 0, NULL, &ep));
}

TEST_F(inline, an_ep_with_an_srq_has_it_too)
{
	DAT_SRQ_ATTR srq_attr = { .max_recv_dtos = 8, .max_recv_iov = 1,
				  .low_watermark = DAT_SRQ_LW_DEFAULT };
	DAT_NAMED_ATTR named = { "max_inline", "64" };
	struct a_pair *p = &self->p;
	DAT_EP_ATTR attr = a_attr(p);
	DAT_SRQ_HANDLE srq;
	DAT_EP_HANDLE ep;

	attr.max_recv_dtos = 0;
	attr.ep_provider_specific_count = 1;
	attr.ep_provider_specific = &named;
	ASSERT_EQ(DAT_SUCCESS, dat_srq_create(p->ia, p->pz, &srq_attr, &srq));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_create_with_srq(p->ia, p->pz, p->evd[1], p->evd[1],
						      p->evd[1], srq, &attr, &ep));
	EXPECT_EQ(64, granted(ep));
}

TEST_F_TIMEOUT(inline, a_modification_changes_it_or_leaves_it, 60)
{
	DAT_EP_PARAM_MASK both = DAT_EP_FIELD_EP_ATTR_NUM_PROVIDER_ATTR |
				 DAT_EP_FIELD_EP_ATTR_PROVIDER_SPECIFIC_ATTR;
	DAT_NAMED_ATTR named = { "max_inline", "33" }, bad = { "other", "33" };
	struct a_pair *p = &self->p;
	DAT_LMR_TRIPLET seg = a_seg(&p->mem, 0, 33);
	DAT_EP_PARAM param;

	ASSERT_EQ(DAT_SUCCESS, make(p, "64"));
	param.ep_attr.max_request_iov = 1;
	ASSERT_EQ(DAT_SUCCESS,
		  dat_ep_modify(p->ep[1], DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_IOV, &param));
	EXPECT_EQ(64, granted(p->ep[1]));
	param.ep_attr.ep_provider_specific_count = 0;
	ASSERT_EQ(DAT_SUCCESS,
		  dat_ep_modify(p->ep[1], DAT_EP_FIELD_EP_ATTR_NUM_PROVIDER_ATTR, &param));
	EXPECT_EQ(0, granted(p->ep[1]));
	param.ep_attr.ep_provider_specific_count = 1;
	param.ep_attr.ep_provider_specific = &bad;
	EXPECT_EQ(RC(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3),
		  dat_ep_modify(p->ep[1], both, &param));
	param.ep_attr.ep_provider_specific = &named;
	ASSERT_EQ(DAT_SUCCESS, dat_ep_modify(p->ep[1], both, &param));
	EXPECT_EQ(33, granted(p->ep[1]));
	ASSERT_EQ(DAT_SUCCESS, connect_pair(p));
	fill(p->mem.va, 33, 5);
	EXPECT_EQ(0, arrives(p, 1, &seg, p->mem.va, 33));
	EXPECT_EQ(RC(DAT_INVALID_STATE, DAT_INVALID_STATE_EP_CONNECTED),
		  dat_ep_modify(p->ep[1], both, &param));
}

/* The attribute is one of the EP, not of the connection, and not of the target. */
TEST_F_TIMEOUT(inline, a_queried_attribute_can_be_changed_in_place, 60)
{
	DAT_EP_PARAM_MASK mask = DAT_EP_FIELD_EP_ATTR_NUM_PROVIDER_ATTR |
				 DAT_EP_FIELD_EP_ATTR_PROVIDER_SPECIFIC_ATTR;
	struct a_pair *p = &self->p;
	DAT_EP_PARAM param;

	ASSERT_EQ(DAT_SUCCESS, make(p, "64"));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_query(p->ep[1], DAT_EP_FIELD_ALL, &param));
	ASSERT_EQ(1, param.ep_attr.ep_provider_specific_count);
	param.ep_attr.ep_provider_specific[0].value = "32";
	ASSERT_EQ(DAT_SUCCESS, dat_ep_modify(p->ep[1], mask, &param));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_query(p->ep[1], DAT_EP_FIELD_ALL, &param));
	ASSERT_EQ(1, param.ep_attr.ep_provider_specific_count);
	EXPECT_EQ(0, strcmp("32", param.ep_attr.ep_provider_specific[0].value));
}

TEST_F_TIMEOUT(inline, a_duplicate_of_the_connection_has_its_own, 60)
{
	DAT_NAMED_ATTR named = { "max_inline", "8" };
	struct a_pair *p = &self->p;
	DAT_EP_HANDLE dup;
	DAT_EVENT event;

	ASSERT_EQ(DAT_SUCCESS, make(p, "64"));
	ASSERT_EQ(DAT_SUCCESS, connect_pair(p));
	ASSERT_EQ(DAT_SUCCESS, make_named(p, 1, &named, &dup));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_dup_connect(dup, p->ep[1], A_WAIT_US, 0, NULL,
						  DAT_QOS_BEST_EFFORT));
	ASSERT_TRUE(a_event(p->cr, A_WAIT_US, &event));
	EXPECT_EQ(8, granted(dup));
	EXPECT_EQ(64, granted(p->ep[1]));
}

/* --- data ------------------------------------------------------------------------- */

TEST_F_TIMEOUT(inline, sends_of_all_small_sizes_arrive, 120)
{
	struct a_pair *p = &self->p;
	DAT_LMR_TRIPLET seg;
	size_t len;

	ASSERT_EQ(DAT_SUCCESS, make(p, "96"));
	ASSERT_EQ(DAT_SUCCESS, connect_pair(p));
	for (len = 0; len <= DAT_MAX_INLINE + 8; len++) {
		fill(p->mem.va, len, (unsigned int)len);
		seg = a_seg(&p->mem, 0, len);
		ASSERT_EQ(0, arrives(p, 1, &seg, p->mem.va, len)) TH_LOG("%zu bytes", len);
	}
}

TEST_F_TIMEOUT(inline, segments_are_gathered, 60)
{
	struct a_pair *p = &self->p;
	DAT_LMR_TRIPLET seg[4] = {
		a_seg(&p->mem, 100, 10), a_seg(&p->mem, 7, 0), a_seg(&p->mem, 0, 20),
		a_seg(&p->mem, 50, 30),
	};
	char want[60];

	/* The other fields of an empty segment are not looked at. */
	seg[1].lmr_context = 0xbadbad;
	seg[1].virtual_address = 1;
	fill(p->mem.va, 200, 3);
	memcpy(want, p->mem.va + 100, 10);
	memcpy(want + 10, p->mem.va, 20);
	memcpy(want + 30, p->mem.va + 50, 30);
	ASSERT_EQ(DAT_SUCCESS, make(p, "60"));
	ASSERT_EQ(DAT_SUCCESS, connect_pair(p));
	EXPECT_EQ(0, arrives(p, 4, seg, want, 60));
}

TEST_F_TIMEOUT(inline, writes_have_their_data_and_reads_none, 60)
{
	struct a_pair *p = &self->p;
	DAT_LMR_TRIPLET seg = a_seg(&p->mem, 0, 64);
	DAT_RMR_TRIPLET peer = a_rseg(&p->mem, TO, 64);

	ASSERT_EQ(DAT_SUCCESS, make(p, "64"));
	ASSERT_EQ(DAT_SUCCESS, connect_pair(p));
	fill(p->mem.va, 64, 9);
	memset(p->mem.va + TO, 0, 64);
	ASSERT_EQ(DAT_SUCCESS, dat_ep_post_rdma_write(p->ep[1], 1, &seg, a_cookie(1), &peer, 0));
	ASSERT_EQ(DAT_DTO_SUCCESS, a_dto(p->evd[1], NULL, NULL));
	EXPECT_EQ(0, memcmp(p->mem.va, p->mem.va + TO, 64));
	fill(p->mem.va + TO, 64, 77);
	ASSERT_EQ(DAT_SUCCESS, dat_ep_post_rdma_read(p->ep[1], 1, &seg, a_cookie(1), &peer, 0));
	ASSERT_EQ(DAT_DTO_SUCCESS, a_dto(p->evd[1], NULL, NULL));
	EXPECT_EQ(0, memcmp(p->mem.va, p->mem.va + TO, 64));
}

/* A request with BARRIER_FENCE takes the data when the reads before it have brought them. */
TEST_F_TIMEOUT(inline, a_fenced_write_has_what_the_read_before_it_brings, 60)
{
	const DAT_COMPLETION_FLAGS more = DAT_LINUX_COMPLETION_MORE_FLAG;
	struct a_pair *p = &self->p;
	DAT_LMR_TRIPLET seg = a_seg(&p->mem, 0, 64);
	DAT_RMR_TRIPLET from = a_rseg(&p->mem, TO, 64), to = a_rseg(&p->mem, TO + 64, 64);

	ASSERT_EQ(DAT_SUCCESS, make(p, "64"));
	ASSERT_EQ(DAT_SUCCESS, connect_pair(p));
	memset(p->mem.va, 0, 64);
	fill(p->mem.va + TO, 64, 9);
	ASSERT_EQ(DAT_SUCCESS, dat_ep_post_rdma_read(p->ep[1], 1, &seg, a_cookie(1), &from, more));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_post_rdma_write(p->ep[1], 1, &seg, a_cookie(2), &to,
						      DAT_COMPLETION_BARRIER_FENCE_FLAG));
	ASSERT_EQ(DAT_DTO_SUCCESS, a_dto(p->evd[1], NULL, NULL));
	ASSERT_EQ(DAT_DTO_SUCCESS, a_dto(p->evd[1], NULL, NULL));
	EXPECT_EQ(0, memcmp(p->mem.va + TO, p->mem.va + TO + 64, 64));
}

TEST_F_TIMEOUT(inline, a_reset_leaves_it, 60)
{
	struct a_pair *p = &self->p;
	DAT_LMR_TRIPLET seg = a_seg(&p->mem, 0, 64);
	DAT_EVENT event;
	int i;

	ASSERT_EQ(DAT_SUCCESS, make(p, "64"));
	ASSERT_EQ(DAT_SUCCESS, connect_pair(p));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_disconnect(p->ep[1], DAT_CLOSE_ABRUPT_FLAG));
	for (i = 0; i < 2; i++) {
		ASSERT_TRUE(a_event(p->evd[i], A_WAIT_US, &event));
		ASSERT_EQ(DAT_SUCCESS, dat_ep_reset(p->ep[i]));
	}
	EXPECT_EQ(64, granted(p->ep[1]));
	ASSERT_EQ(DAT_SUCCESS, connect_pair(p));
	fill(p->mem.va, 64, 21);
	EXPECT_EQ(0, arrives(p, 1, &seg, p->mem.va, 64));
}

/* --- memory ----------------------------------------------------------------------- */

/* Registers a page and fills it, then maps another one in its place. */
static DAT_RETURN replaced(struct a_pair *p, struct a_mem *m, int prot)
{
	DAT_RETURN rc = a_mem(p, 4096, DAT_MEM_PRIV_ALL_FLAG, m);

	if (rc != DAT_SUCCESS)
		return rc;
	fill(m->va, 64, 1);
	if (mmap(m->va, 4096, prot, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
		return DAT_INTERNAL_ERROR;
	if (prot & PROT_WRITE)
		fill(m->va, 64, 100);
	return DAT_SUCCESS;
}

/* A registration is one of pages.  The program may do with the addresses what it likes. */
TEST_F_TIMEOUT(inline, without_it_a_program_may_unmap_what_it_sends, 60)
{
	struct a_pair *p = &self->p;
	DAT_LMR_TRIPLET seg;
	struct a_mem m;
	char want[64];

	fill(want, 64, 1);
	ASSERT_EQ(DAT_SUCCESS, connect_pair(p));
	ASSERT_EQ(DAT_SUCCESS, replaced(p, &m, PROT_NONE));
	seg = a_seg(&m, 0, 64);
	EXPECT_EQ(0, arrives(p, 1, &seg, want, 64));
	ASSERT_EQ(0, munmap(m.va, 4096));
	EXPECT_EQ(0, arrives(p, 1, &seg, want, 64));
}

/* Larger requests of the same EP come from the registered pages. */
TEST_F_TIMEOUT(inline, with_it_the_bytes_are_those_that_the_program_sees, 60)
{
	struct a_pair *p = &self->p;
	DAT_LMR_TRIPLET seg;
	char want[64], old[64];
	struct a_mem m;

	fill(want, 64, 100);
	fill(old, 64, 1);
	ASSERT_EQ(DAT_SUCCESS, make(p, "63"));
	ASSERT_EQ(DAT_SUCCESS, connect_pair(p));
	ASSERT_EQ(DAT_SUCCESS, replaced(p, &m, PROT_READ | PROT_WRITE));
	seg = a_seg(&m, 0, 63);
	EXPECT_EQ(0, arrives(p, 1, &seg, want, 63));
	seg = a_seg(&m, 0, 64);
	EXPECT_EQ(0, arrives(p, 1, &seg, old, 64));
}

/* A post makes the same checks with inline data and without. */
TEST_F_TIMEOUT(inline, memory_that_is_not_registered_is_refused_as_ever, 60)
{
	struct a_pair *p = &self->p;
	struct a_pair other = *p;
	DAT_LMR_TRIPLET seg, freed;
	struct a_mem m, n;
	DAT_EP_HANDLE ep;
	int with;

	ASSERT_EQ(DAT_SUCCESS, dat_pz_create(p->ia, &other.pz));
	ASSERT_EQ(DAT_SUCCESS, a_mem(&other, 4096, DAT_MEM_PRIV_ALL_FLAG, &m));
	ASSERT_EQ(DAT_SUCCESS, a_mem(p, 4096, DAT_MEM_PRIV_ALL_FLAG, &n));
	freed = a_seg(&n, 0, 8);
	ASSERT_EQ(DAT_SUCCESS, dat_lmr_free(n.lmr));
	for (with = 0; with < 2; with++) {
		ASSERT_EQ(DAT_SUCCESS, make(p, with ? "64" : "0"));
		ASSERT_EQ(DAT_SUCCESS, connect_pair(p));
		ep = p->ep[1];
		EXPECT_EQ(RC(DAT_PRIVILEGES_VIOLATION, DAT_PRIVILEGES_READ),
			  dat_ep_post_send(ep, 1, &freed, a_cookie(1), 0));
		seg = a_seg(&m, 0, 8);
		EXPECT_EQ(RC(DAT_PROTECTION_VIOLATION, DAT_PROTECTION_READ),
			  dat_ep_post_send(ep, 1, &seg, a_cookie(1), 0));
		seg = a_seg(&p->mem, p->mem.size - 7, 8);
		EXPECT_EQ(RC(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3),
			  dat_ep_post_send(ep, 1, &seg, a_cookie(1), 0));
		seg = a_seg(&p->mem, 0, 8);
		seg.virtual_address = 16;
		EXPECT_EQ(RC(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3),
			  dat_ep_post_send(ep, 1, &seg, a_cookie(1), 0));
		seg = a_seg(&p->mem, 0, 8);
		fill(p->mem.va, 8, 40);
		EXPECT_EQ(0, arrives(p, 1, &seg, p->mem.va, 8));
		ASSERT_EQ(DAT_SUCCESS, dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG));
		ASSERT_EQ(-DAT_CONNECTION_EVENT_DISCONNECTED, a_dto(p->evd[0], NULL, NULL));
		ASSERT_EQ(-DAT_CONNECTION_EVENT_DISCONNECTED, a_dto(p->evd[1], NULL, NULL));
		ASSERT_EQ(DAT_SUCCESS, dat_ep_reset(p->ep[0]));
	}
}

/* --- an older driver -------------------------------------------------------------- */

/* It would refuse a structure that is longer and not zero. */
TEST_F_TIMEOUT(inline, a_driver_without_it_is_not_asked, 60)
{
	DAT_NAMED_ATTR named = { "max_inline", "64" };
	struct a_pair *p = &self->p;
	DAT_EP_PARAM param;
	DAT_LMR_TRIPLET seg;
	struct a_mem m;
	char old[64];

	a_close(p);
	is_old = 1;
	ASSERT_EQ(DAT_SUCCESS, a_open(p));
	ASSERT_EQ(DAT_SUCCESS, make(p, "64"));
	EXPECT_EQ(0, asked);
	EXPECT_EQ(0, granted(p->ep[1]));
	param.ep_attr.ep_provider_specific_count = 1;
	param.ep_attr.ep_provider_specific = &named;
	ASSERT_EQ(DAT_SUCCESS,
		  dat_ep_modify(p->ep[1], DAT_EP_FIELD_EP_ATTR_NUM_PROVIDER_ATTR |
				DAT_EP_FIELD_EP_ATTR_PROVIDER_SPECIFIC_ATTR, &param));
	EXPECT_EQ(0, asked);
	fill(old, 64, 1);
	ASSERT_EQ(DAT_SUCCESS, connect_pair(p));
	ASSERT_EQ(DAT_SUCCESS, replaced(p, &m, PROT_READ | PROT_WRITE));
	seg = a_seg(&m, 0, 64);
	EXPECT_EQ(0, arrives(p, 1, &seg, old, 64));
}

TEST_HARNESS_MAIN
