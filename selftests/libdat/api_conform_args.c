// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* Checks of arguments other than handles: NULL pointers for results, ranges, and flags. */
#define _GNU_SOURCE
#include <netinet/in.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "api_conform.h"

FIXTURE(args) {
	struct a_pair p;
	DAT_EVD_HANDLE soft;
	DAT_SRQ_HANDLE srq;
};

FIXTURE_SETUP(args)
{
	DAT_SRQ_ATTR attr = { .max_recv_dtos = 8, .max_recv_iov = 2 };
	struct a_pair *p = &self->p;

	ASSERT_EQ(DAT_SUCCESS, a_open(p));
	ASSERT_EQ(DAT_SUCCESS, dat_evd_create(p->ia, 8, NULL, DAT_EVD_SOFTWARE_FLAG, &self->soft));
	ASSERT_EQ(DAT_SUCCESS, dat_srq_create(p->ia, p->pz, &attr, &self->srq));
}

FIXTURE_TEARDOWN(args)
{
	a_close(&self->p);
}

/*
 * Covers: dat_pz_query dat_evd_query dat_ep_query dat_srq_query dat_psp_query dat_lmr_query
 * INVALID_PARAMETER|ARG3
 */
TEST_F(args, a_query_needs_somewhere_to_put_it)
{
	struct a_pair *p = &self->p;

	EXPECT_EQ(IP(3), dat_pz_query(p->pz, DAT_PZ_FIELD_ALL, NULL));
	EXPECT_EQ(IP(3), dat_evd_query(self->soft, DAT_EVD_FIELD_ALL, NULL));
	EXPECT_EQ(IP(3), dat_ep_query(p->ep[0], DAT_EP_FIELD_ALL, NULL));
	EXPECT_EQ(IP(3), dat_srq_query(self->srq, DAT_SRQ_FIELD_ALL, NULL));
	EXPECT_EQ(IP(3), dat_psp_query(p->psp, DAT_PSP_FIELD_ALL, NULL));
	EXPECT_EQ(IP(3), dat_lmr_query(p->mem.lmr, DAT_LMR_FIELD_ALL, NULL));
}

/*
 * Covers: dat_pz_query dat_evd_query dat_ep_query dat_srq_query dat_psp_query dat_lmr_query
 * INVALID_PARAMETER|ARG2
 */
TEST_F(args, a_query_has_no_unknown_fields)
{
	struct a_pair *p = &self->p;
	union {
		DAT_PZ_PARAM pz;
		DAT_EVD_PARAM evd;
		DAT_EP_PARAM ep;
		DAT_SRQ_PARAM srq;
		DAT_PSP_PARAM psp;
		DAT_LMR_PARAM lmr;
	} u;

	EXPECT_EQ(IP(2), dat_pz_query(p->pz, (DAT_PZ_PARAM_MASK)2, &u.pz));
	EXPECT_EQ(IP(2), dat_evd_query(self->soft, (DAT_EVD_PARAM_MASK)0x20, &u.evd));
	EXPECT_EQ(IP(2), dat_ep_query(p->ep[0], 0x800, &u.ep));
	EXPECT_EQ(IP(2), dat_ep_query(p->ep[0], 0x80000000ULL, &u.ep));
	EXPECT_EQ(IP(2), dat_ep_query(p->ep[0], 1ULL << 63, &u.ep));
	EXPECT_EQ(IP(2), dat_srq_query(self->srq, (DAT_SRQ_PARAM_MASK)0x100, &u.srq));
	EXPECT_EQ(IP(2), dat_psp_query(p->psp, (DAT_PSP_PARAM_MASK)0x10, &u.psp));
	EXPECT_EQ(IP(2), dat_lmr_query(p->mem.lmr, (DAT_LMR_PARAM_MASK)0x400, &u.lmr));
}

/* Covers: dat_rsp_query dat_cr_query INVALID_PARAMETER|ARG2|ARG3 */
TEST_F_TIMEOUT(args, queries_of_rsp_and_request, 60)
{
	struct a_pair *p = &self->p;
	DAT_RSP_PARAM rsp_param;
	DAT_CR_PARAM cr_param;
	DAT_RSP_HANDLE rsp;
	DAT_CR_HANDLE cr;

	ASSERT_EQ(DAT_SUCCESS, dat_rsp_create(p->ia, A_QUAL + 1, p->ep[0], p->cr, &rsp));
	EXPECT_EQ(IP(2), dat_rsp_query(rsp, (DAT_RSP_PARAM_MASK)0x10, &rsp_param));
	EXPECT_EQ(IP(3), dat_rsp_query(rsp, DAT_RSP_FIELD_ALL, NULL));
	ASSERT_EQ(DAT_SUCCESS, c_ask(p, p->ep[1]));
	cr = c_request(p);
	ASSERT_NE(NULL, cr);
	EXPECT_EQ(IP(2), dat_cr_query(cr, (DAT_CR_PARAM_MASK)0x20, &cr_param));
	EXPECT_EQ(IP(3), dat_cr_query(cr, DAT_CR_FIELD_ALL, NULL));
}

/* Covers: dat_ia_query INVALID_PARAMETER|ARG3|ARG4|ARG5|ARG6 */
TEST_F(args, ia_query)
{
	DAT_IA_HANDLE ia = self->p.ia;
	DAT_PROVIDER_ATTR provider;
	DAT_IA_ATTR attr;

	EXPECT_EQ(IP(3), dat_ia_query(ia, NULL, DAT_IA_FIELD_ALL + 1, &attr, 0, NULL));
	EXPECT_EQ(IP(3), dat_ia_query(ia, NULL, 1ULL << 63, &attr, 0, NULL));
	EXPECT_EQ(IP(4), dat_ia_query(ia, NULL, DAT_IA_FIELD_ALL, NULL, 0, NULL));
	EXPECT_EQ(IP(5), dat_ia_query(ia, NULL, 0, NULL, DAT_PROVIDER_FIELD_ALL + 1, &provider));
	EXPECT_EQ(IP(6), dat_ia_query(ia, NULL, 0, NULL, DAT_PROVIDER_FIELD_ALL, NULL));
}

/* Covers: dat_ia_close INVALID_PARAMETER|ARG2 */
TEST_F(args, ia_close)
{
	EXPECT_EQ(IP(2), dat_ia_close(self->p.ia, (DAT_CLOSE_FLAGS)2));
	EXPECT_EQ(IP(2), dat_ia_close(self->p.ia, (DAT_CLOSE_FLAGS)-1));
	EXPECT_EQ(DAT_SUCCESS, dat_ia_query(self->p.ia, NULL, 0, NULL, 0, NULL));
}

/* Covers: dat_get_handle_type dat_get_consumer_context INVALID_PARAMETER|ARG2 */
TEST_F(args, handle_helpers)
{
	EXPECT_EQ(IP(2), dat_get_handle_type(self->p.ia, NULL));
	EXPECT_EQ(IP(2), dat_get_consumer_context(self->p.ia, NULL));
}

/* Covers: dat_pz_create INVALID_PARAMETER|ARG2; dat_lmr_create INVALID_PARAMETER|ARG7 */
TEST_F(args, nowhere_to_put_the_handle)
{
	DAT_REGION_DESCRIPTION region = { .for_va = self->p.mem.va };
	struct a_pair *p = &self->p;

	EXPECT_EQ(IP(2), dat_pz_create(p->ia, NULL));
	EXPECT_EQ(IP(7), dat_lmr_create(p->ia, DAT_MEM_TYPE_VIRTUAL, region, 64, p->pz,
					DAT_MEM_PRIV_ALL_FLAG, NULL, NULL, NULL, NULL, NULL));
}

/* Covers: dat_lmr_create INVALID_PARAMETER|ARG6; dat_lmr_query */
TEST_F(args, privileges_of_memory)
{
	DAT_MEM_PRIV_FLAGS relaxed = DAT_MEM_PRIV_ALL_FLAG | DAT_LINUX_MEM_PRIV_RELAXED_FLAG;
	DAT_REGION_DESCRIPTION region = { .for_va = self->p.mem.va };
	struct a_pair *p = &self->p;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_PARAM param;
	uint32_t bit;

	for (bit = 1; bit; bit <<= 1) {
		if (bit & relaxed)
			continue;
		EXPECT_EQ(IP(6), dat_lmr_create(p->ia, DAT_MEM_TYPE_VIRTUAL, region, 64, p->pz,
						(DAT_MEM_PRIV_FLAGS)bit, &lmr, NULL, NULL, NULL,
						NULL)) TH_LOG("bit %#x", bit);
	}
	ASSERT_EQ(DAT_SUCCESS, dat_lmr_create(p->ia, DAT_MEM_TYPE_VIRTUAL, region, 64, p->pz,
					      relaxed, &lmr, NULL, NULL, NULL, NULL));
	ASSERT_EQ(DAT_SUCCESS, dat_lmr_query(lmr, DAT_LMR_FIELD_ALL, &param));
	EXPECT_EQ(relaxed, param.mem_priv);
	EXPECT_EQ(DAT_SUCCESS, dat_lmr_free(lmr));
}

/* Covers: dat_evd_create INVALID_PARAMETER|ARG2|ARG4|ARG5 INSUFFICIENT_RESOURCES|TEVD */
TEST_F(args, evd_create)
{
	DAT_IA_HANDLE ia = self->p.ia;
	DAT_EVD_HANDLE evd;

	EXPECT_EQ(IP(2), dat_evd_create(ia, 0, NULL, DAT_EVD_DTO_FLAG, &evd));
	EXPECT_EQ(IP(2), dat_evd_create(ia, -1, NULL, DAT_EVD_DTO_FLAG, &evd));
	EXPECT_EQ(RC(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEVD),
		  dat_evd_create(ia, 0x7fffffff, NULL, DAT_EVD_DTO_FLAG, &evd));
	EXPECT_EQ(RC(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEVD),
		  dat_evd_create(ia, self->p.attr.max_evd_qlen + 1, NULL, DAT_EVD_DTO_FLAG, &evd));
	EXPECT_EQ(IP(4), dat_evd_create(ia, 8, NULL, (DAT_EVD_FLAGS)0, &evd));
	EXPECT_EQ(IP(4), dat_evd_create(ia, 8, NULL, (DAT_EVD_FLAGS)0x200, &evd));
	EXPECT_EQ(IP(4), dat_evd_create(ia, 8, NULL, (DAT_EVD_FLAGS)0x21 | 2, &evd));
	EXPECT_EQ(IP(5), dat_evd_create(ia, 8, NULL, DAT_EVD_DTO_FLAG, NULL));
}

/* Covers: dat_evd_wait INVALID_PARAMETER|ARG3|ARG4|ARG5; dat_evd_dequeue INVALID_PARAMETER|ARG2 */
TEST_F(args, taking_events)
{
	DAT_EVENT event;
	DAT_COUNT n;

	ASSERT_EQ(DAT_SUCCESS, c_soft(self->soft, 1));
	EXPECT_EQ(IP(3), dat_evd_wait(self->soft, 0, 0, &event, &n));
	EXPECT_EQ(IP(3), dat_evd_wait(self->soft, 0, -1, &event, &n));
	EXPECT_EQ(IP(4), dat_evd_wait(self->soft, 0, 1, NULL, &n));
	EXPECT_EQ(IP(5), dat_evd_wait(self->soft, 0, 1, &event, NULL));
	EXPECT_EQ(IP(2), dat_evd_dequeue(self->soft, NULL));
	/* The failed calls have not dequeued the event. */
	EXPECT_EQ(DAT_SUCCESS, dat_evd_dequeue(self->soft, &event));
}

/* Covers: dat_evd_post_se INVALID_PARAMETER|ARG1|ARG2; SH 31 */
TEST_F(args, post_se)
{
	DAT_EVENT event = { .event_number = DAT_DTO_COMPLETION_EVENT };

	EXPECT_EQ(IP(2), dat_evd_post_se(self->soft, NULL));
	EXPECT_EQ(IP(2), dat_evd_post_se(self->soft, &event));
	event.event_number = DAT_SOFTWARE_EVENT;
	EXPECT_EQ(IP(1), dat_evd_post_se(self->p.evd[0], &event));
	EXPECT_EQ(RC(DAT_QUEUE_EMPTY, 0), dat_evd_dequeue(self->soft, &event));
}

/* Covers: dat_srq_create INVALID_PARAMETER|ARG3|ARG4; SH 48 */
TEST_F(args, srq_create)
{
	struct a_pair *p = &self->p;
	DAT_SRQ_HANDLE srq;

#define SRQ(dtos, iov, lw) \
	dat_srq_create(p->ia, p->pz, &(DAT_SRQ_ATTR) { dtos, iov, lw }, &srq)
	EXPECT_EQ(IP(3), dat_srq_create(p->ia, p->pz, NULL, &srq));
	EXPECT_EQ(IP(3), SRQ(0, 1, 0));
	EXPECT_EQ(IP(3), SRQ(-1, 1, 0));
	EXPECT_EQ(IP(3), SRQ(p->attr.max_recv_per_srq + 1, 1, 0));
	EXPECT_EQ(IP(3), SRQ(8, 0, 0));
	EXPECT_EQ(IP(3), SRQ(8, p->attr.max_iov_segments_per_dto + 1, 0));
	EXPECT_EQ(IP(3), SRQ(8, 1, 1));
	EXPECT_EQ(IP(4), dat_srq_create(p->ia, p->pz, &(DAT_SRQ_ATTR) { 8, 1, 0 }, NULL));
}

static DAT_RETURN psp(struct a_pair *p, DAT_CONN_QUAL qual, int flags, DAT_PSP_HANDLE *out)
{
	return dat_psp_create(p->ia, qual, p->cr, (DAT_PSP_FLAGS)flags, out);
}

/* Covers: dat_psp_create INVALID_PARAMETER|ARG2|ARG4|ARG5; SH 62 */
TEST_F(args, psp_create)
{
	struct a_pair *p = &self->p;
	DAT_PSP_HANDLE out;

	EXPECT_EQ(IP(2), psp(p, 0, 0, &out));
	EXPECT_EQ(IP(4), psp(p, A_QUAL + 1, 2, &out));
	EXPECT_EQ(IP(5), psp(p, A_QUAL + 1, 0, NULL));
	EXPECT_EQ(DAT_SUCCESS, psp(p, 65535, 0, &out));
}

/* Covers: dat_psp_create_any INVALID_PARAMETER|ARG2|ARG4|ARG5 */
TEST_F(args, psp_create_any)
{
	struct a_pair *p = &self->p;
	DAT_CONN_QUAL qual = 77;
	DAT_PSP_HANDLE psp;

	EXPECT_EQ(IP(2), dat_psp_create_any(p->ia, NULL, p->cr, DAT_PSP_CONSUMER_FLAG, &psp));
	EXPECT_EQ(IP(4), dat_psp_create_any(p->ia, &qual, p->cr, (DAT_PSP_FLAGS)2, &psp));
	EXPECT_EQ(IP(5), dat_psp_create_any(p->ia, &qual, p->cr, DAT_PSP_CONSUMER_FLAG, NULL));
	EXPECT_EQ(77, qual);
}

/* Covers: dat_psp_create dat_rsp_create PRIVILEGES_VIOLATION; SH 62 */
TEST_F(args, privileged_qualifiers_need_the_privilege)
{
	struct a_pair *p = &self->p;
	DAT_PSP_HANDLE out;
	DAT_RSP_HANDLE rsp;

	ASSERT_EQ(0, seteuid(65534));
	EXPECT_EQ(DAT_PRIVILEGES_VIOLATION,
		  TYPE(dat_rsp_create(p->ia, 1023, p->ep[0], p->cr, &rsp)));
	EXPECT_EQ(DAT_PRIVILEGES_VIOLATION, TYPE(psp(&self->p, 1023, 0, &out)));
	EXPECT_EQ(DAT_SUCCESS, psp(&self->p, 1024, 0, &out));
	ASSERT_EQ(0, seteuid(0));
	EXPECT_EQ(DAT_SUCCESS, psp(&self->p, 1023, 0, &out));
}

/* Covers: dat_lmr_create INSUFFICIENT_RESOURCES|MEMORY_REGION */
TEST_F(args, more_memory_than_may_be_pinned)
{
	struct rlimit none = { 0, 0 };
	struct a_mem m;

	ASSERT_EQ(0, setrlimit(RLIMIT_MEMLOCK, &none));
	ASSERT_EQ(0, seteuid(65534));
	EXPECT_EQ(RC(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY_REGION),
		  a_mem(&self->p, 1 << 20, DAT_MEM_PRIV_ALL_FLAG, &m));
	ASSERT_EQ(0, seteuid(0));
}

TEST_F(args, more_open_files_than_a_process_may_have)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	struct rlimit before, none;
	DAT_IA_HANDLE ia;
	int fd;

	ASSERT_EQ(0, getrlimit(RLIMIT_NOFILE, &before));
	none = before;
	none.rlim_cur = 0;
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &none));
	EXPECT_EQ(RC(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_DEVICE),
		  dat_ia_open(self->p.attr.adapter_name, 8, &async, &ia));
	EXPECT_EQ(RC(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_DEVICE),
		  dat_linux_evd_fd(self->p.evd[0], &fd));
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &before));
}

/* Covers: dat_cr_accept INVALID_PARAMETER|ARG3|ARG4 INVALID_STATE; SH 13, 56 */
TEST_F_TIMEOUT(args, a_refused_accept_costs_nothing, 60)
{
	struct a_pair *p = &self->p;
	char pd[300] = "";
	DAT_CR_HANDLE cr;

	ASSERT_EQ(DAT_SUCCESS, c_ask(p, p->ep[1]));
	cr = c_request(p);
	ASSERT_NE(NULL, cr);
	EXPECT_EQ(IP(3), dat_cr_accept(cr, p->ep[0], -1, pd));
	EXPECT_EQ(IP(3), dat_cr_accept(cr, p->ep[0], sizeof(pd), pd));
	EXPECT_EQ(IP(4), dat_cr_accept(cr, p->ep[0], 1, NULL));
	EXPECT_EQ(IH(EP), dat_cr_accept(cr, DAT_HANDLE_NULL, 0, NULL));
	EXPECT_EQ(IS(EP_ACTCONNPENDING), dat_cr_accept(cr, p->ep[1], 0, NULL));
	EXPECT_EQ(DAT_EP_STATE_UNCONNECTED, c_state(p->ep[0]));
	EXPECT_EQ(DAT_SUCCESS, dat_cr_accept(cr, p->ep[0], 0, NULL));
	EXPECT_EQ(DAT_CONNECTION_EVENT_ESTABLISHED, c_next(p->evd[0]));
}

/*
 * Covers: dat_ep_connect INVALID_PARAMETER|ARG8 INVALID_ADDRESS|UNSUPPORTED
 * MODEL_NOT_SUPPORTED; SH 70
 */
TEST_F(args, connecting_in_an_unknown_way)
{
	struct sockaddr nowhere = { .sa_family = AF_UNSPEC };
	struct a_pair *p = &self->p;

#define TO(addr, flags) \
	dat_ep_connect(p->ep[1], (DAT_IA_ADDRESS_PTR)(addr), A_QUAL, A_WAIT_US, 0, NULL, \
		       DAT_QOS_BEST_EFFORT, (DAT_CONNECT_FLAGS)(flags))
	EXPECT_EQ(IP(8), TO(p->attr.ia_address_ptr, 2));
	EXPECT_EQ(RC(DAT_MODEL_NOT_SUPPORTED, 0), TO(p->attr.ia_address_ptr, 1));
	EXPECT_EQ(RC(DAT_INVALID_ADDRESS, DAT_INVALID_ADDRESS_UNSUPPORTED), TO(&nowhere, 0));
	EXPECT_EQ(DAT_EP_STATE_UNCONNECTED, c_state(p->ep[1]));
}

/* Covers: dat_rsp_create INVALID_STATE; SH 11 */
TEST_F(args, an_rsp_needs_an_ep_that_is_free)
{
	struct a_pair *p = &self->p;
	DAT_RSP_HANDLE first, second;

	ASSERT_EQ(DAT_SUCCESS, dat_rsp_create(p->ia, A_QUAL + 1, p->ep[0], p->cr, &first));
	EXPECT_EQ(IS(EP_RESERVED), dat_rsp_create(p->ia, A_QUAL + 2, p->ep[0], p->cr, &second));
	EXPECT_EQ(DAT_EP_STATE_RESERVED, c_state(p->ep[0]));
	ASSERT_EQ(DAT_SUCCESS, dat_rsp_free(first));
	EXPECT_EQ(DAT_SUCCESS, dat_rsp_create(p->ia, A_QUAL + 2, p->ep[0], p->cr, &second));
}

/* Covers: dat_ia_openv dat_ia_open INVALID_HANDLE|EVD_ASYNC; SH 34 */
TEST_F(args, an_async_evd_must_be_one)
{
	struct a_pair *p = &self->p;
	DAT_IA_HANDLE ia = DAT_HANDLE_NULL;
	DAT_EVD_HANDLE evd;
	DAT_IA_ATTR attr;

	ASSERT_EQ(DAT_SUCCESS, dat_ia_query(p->ia, NULL, DAT_IA_FIELD_ALL, &attr, 0, NULL));
	evd = p->pz;
	EXPECT_EQ(IH(EVD_ASYNC), dat_ia_open(attr.adapter_name, 8, &evd, &ia));
	evd = p->cr; /* an EVD, but one for connection requests */
	EXPECT_EQ(IH(EVD_ASYNC), dat_ia_open(attr.adapter_name, 8, &evd, &ia));
	EXPECT_EQ(p->cr, evd);
	EXPECT_EQ(DAT_HANDLE_NULL, ia);
}

TEST_HARNESS_MAIN
