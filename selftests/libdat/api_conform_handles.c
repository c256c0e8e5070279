// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* Every function must refuse an invalid handle and report which type of handle is invalid. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "kselftest_harness.h"
#include "api_conform.h"

FIXTURE(handles) {
	struct a_pair p;
};

FIXTURE_SETUP(handles)
{
	ASSERT_EQ(DAT_SUCCESS, a_open(&self->p));
}

FIXTURE_TEARDOWN(handles)
{
	a_close(&self->p);
}

/*
 * Define a function that passes the handle @h to a DAT function whose other arguments are valid.
 * The name begins with the type of handle that the DAT function expects.
 */
#define CALL(name, ...)							\
static DAT_RETURN name(struct a_pair *p, DAT_HANDLE h)			\
{									\
	DAT_LMR_TRIPLET seg = a_seg(&p->mem, 0, 64);			\
	DAT_OS_WAIT_PROXY_AGENT agent = DAT_OS_WAIT_PROXY_AGENT_NULL;	\
	DAT_CONN_QUAL qual = 0;						\
	DAT_EP_PARAM param = { .ep_attr = a_attr(p) };			\
	DAT_EP_ATTR attr = a_attr(p);					\
	DAT_CNO_PARAM cno;						\
	DAT_RSP_PARAM rsp;						\
	DAT_COUNT n;							\
	DAT_HANDLE out;							\
									\
	(void)seg, (void)agent, (void)qual, (void)param, (void)attr;	\
	(void)cno, (void)rsp, (void)n, (void)out;			\
	return __VA_ARGS__;						\
}

CALL(ia_cno_create, dat_cno_create(h, agent, &out))
CALL(ia_create_with_srq, dat_ep_create_with_srq(h, p->pz, NULL, NULL, NULL, NULL, &attr, &out))
CALL(ia_psp_any, dat_psp_create_any(h, &qual, p->cr, DAT_PSP_CONSUMER_FLAG, &out))
CALL(ia_rsp_create, dat_rsp_create(h, 4999, p->ep[0], p->cr, &out))
CALL(ia_sync_read, dat_lmr_sync_rdma_read(h, &seg, 1))
CALL(ia_sync_write, dat_lmr_sync_rdma_write(h, &seg, 1))
CALL(pz_create_with_srq,
     dat_ep_create_with_srq(p->ia, h, NULL, NULL, NULL, NULL, &attr, &out))
CALL(pz_query, dat_pz_query(h, DAT_PZ_FIELD_ALL, &(DAT_PZ_PARAM) { 0 }))
CALL(cno_query, dat_cno_query(h, DAT_CNO_FIELD_ALL, &cno))
CALL(cno_free, dat_cno_free(h))
CALL(cno_wait, dat_cno_wait(h, 0, &out))
CALL(cno_modify, dat_cno_modify_agent(h, agent))
CALL(evd_enable, dat_evd_enable(h))
CALL(evd_disable, dat_evd_disable(h))
CALL(evd_clear, dat_evd_clear_unwaitable(h))
CALL(evd_resize, dat_evd_resize(h, 8))
CALL(evd_modify_cno, dat_evd_modify_cno(h, DAT_HANDLE_NULL))
CALL(evd_psp_any, dat_psp_create_any(p->ia, &qual, h, DAT_PSP_CONSUMER_FLAG, &out))
CALL(evd_rsp_create, dat_rsp_create(p->ia, 4999, p->ep[0], h, &out))
CALL(ep_dup_connect, dat_ep_dup_connect(h, p->ep[0], 1, 0, NULL, DAT_QOS_BEST_EFFORT))
CALL(ep_dup_of, dat_ep_dup_connect(p->ep[1], h, 1, 0, NULL, DAT_QOS_BEST_EFFORT))
CALL(ep_modify, dat_ep_modify(h, DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS, &param))
CALL(ep_recv_query, dat_ep_recv_query(h, &n, &n))
CALL(ep_set_watermark,
     dat_ep_set_watermark(h, DAT_WATERMARK_INFINITE, DAT_WATERMARK_INFINITE))
CALL(srq_resize, dat_srq_resize(h, 4))
CALL(srq_set_lw, dat_srq_set_lw(h, 0))
CALL(cr_handoff, dat_cr_handoff(h, A_QUAL))
CALL(rsp_query, dat_rsp_query(h, DAT_RSP_FIELD_ALL, &rsp))
CALL(rsp_free, dat_rsp_free(h))

static const struct {
	DAT_RETURN	(*call)(struct a_pair *p, DAT_HANDLE h);
	DAT_RETURN	want;
	const char	*name;
} calls[] = {
#define ENTRY(call, want)	{ call, want, #call }
	ENTRY(ia_cno_create, IH(IA)),
	ENTRY(ia_create_with_srq, IH(IA)),
	ENTRY(ia_psp_any, IH(IA)),
	ENTRY(ia_rsp_create, IH(IA)),
	ENTRY(ia_sync_read, IH(IA)),
	ENTRY(ia_sync_write, IH(IA)),
	ENTRY(pz_create_with_srq, IH(PZ)),
	ENTRY(pz_query, IH(PZ)),
	ENTRY(cno_query, IH(CNO)),
	ENTRY(cno_free, IH(CNO)),
	ENTRY(cno_wait, IH(CNO)),
	ENTRY(cno_modify, IH(CNO)),
	ENTRY(evd_enable, IH1),
	ENTRY(evd_disable, IH1),
	ENTRY(evd_clear, IH1),
	ENTRY(evd_resize, IH1),
	ENTRY(evd_modify_cno, IH1),
	ENTRY(evd_psp_any, IH(EVD_CR)),
	ENTRY(evd_rsp_create, IH(EVD_CR)),
	ENTRY(ep_dup_connect, IH(EP)),
	ENTRY(ep_dup_of, IH(EP)),
	ENTRY(ep_modify, IH(EP)),
	ENTRY(ep_recv_query, IH(EP)),
	ENTRY(ep_set_watermark, IH(EP)),
	ENTRY(srq_resize, IH(SRQ)),
	ENTRY(srq_set_lw, IH(SRQ)),
	ENTRY(cr_handoff, IH(CR)),
	ENTRY(rsp_query, IH(RSP)),
	ENTRY(rsp_free, IH(RSP)),
};

/*
 * Covers: dat_cno_create dat_ep_create_with_srq dat_psp_create_any dat_rsp_create
 * dat_lmr_sync_rdma_read dat_lmr_sync_rdma_write INVALID_HANDLE|IA; dat_ep_create_with_srq
 * dat_pz_query INVALID_HANDLE|PZ; dat_cno_query dat_cno_free dat_cno_wait
 * dat_cno_modify_agent INVALID_HANDLE|CNO; dat_evd_enable dat_evd_disable
 * dat_evd_clear_unwaitable dat_evd_resize dat_evd_modify_cno INVALID_HANDLE|HANDLE1;
 * dat_psp_create_any dat_rsp_create INVALID_HANDLE|EVD_CR; dat_ep_dup_connect dat_ep_modify
 * dat_ep_recv_query dat_ep_set_watermark INVALID_HANDLE|EP; dat_srq_resize dat_srq_set_lw
 * INVALID_HANDLE|SRQ; dat_cr_handoff INVALID_HANDLE|CR; dat_rsp_query dat_rsp_free
 * INVALID_HANDLE|RSP; SH 66, 69
 */
static void expect_refused(struct __test_metadata *_metadata, struct a_pair *p, DAT_HANDLE h)
{
	size_t i;

	for (i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		EXPECT_EQ(calls[i].want, calls[i].call(p, h))
			TH_LOG("%s of %p", calls[i].name, h);
	}
}

TEST_F(handles, null)
{
	expect_refused(_metadata, &self->p, DAT_HANDLE_NULL);
}

TEST_F(handles, not_aligned)
{
	int i;

	for (i = 1; i < 8; i++)
		expect_refused(_metadata, &self->p, (char *)self->p.ep[0] + i);
}

/* An address inside an object is not a valid handle. */
TEST_F(handles, inside_of_one)
{
	expect_refused(_metadata, &self->p, (char *)self->p.ep[0] + 8);
	expect_refused(_metadata, &self->p, (char *)self->p.ep[0] + 64);
}

TEST_F(handles, memory_of_the_program)
{
	void *heap = calloc(1, 4096);

	expect_refused(_metadata, &self->p, heap);
	free(heap);
}

TEST_F(handles, memory_that_is_not_there)
{
	expect_refused(_metadata, &self->p, (DAT_HANDLE)0x1000);
	expect_refused(_metadata, &self->p, (DAT_HANDLE)0xffff888000000000ULL);
}

/* Covers: SH 34 */
TEST_F(handles, pseudo_handles)
{
	expect_refused(_metadata, &self->p, DAT_EVD_ASYNC_EXISTS);
	expect_refused(_metadata, &self->p, DAT_EVD_OUT_OF_SCOPE);
}

TEST_F(handles, of_a_type_that_nothing_takes)
{
	expect_refused(_metadata, &self->p, self->p.mem.lmr);
	expect_refused(_metadata, &self->p, self->p.psp);
}

/* A handle is invalid once its object has been freed.  Test one object of each type. */
TEST_F(handles, freed)
{
	DAT_SRQ_ATTR srq_attr = { .max_recv_dtos = 4, .max_recv_iov = 1 };
	DAT_OS_WAIT_PROXY_AGENT agent = DAT_OS_WAIT_PROXY_AGENT_NULL;
	struct a_pair *p = &self->p;
	DAT_HANDLE pz, cno, evd, ep, srq, rsp;

	ASSERT_EQ(DAT_SUCCESS, dat_pz_create(p->ia, &pz));
	ASSERT_EQ(DAT_SUCCESS, dat_cno_create(p->ia, agent, &cno));
	ASSERT_EQ(DAT_SUCCESS, dat_evd_create(p->ia, 4, cno, DAT_EVD_DEFAULT_FLAG, &evd));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_create(p->ia, pz, evd, evd, evd, NULL, &ep));
	ASSERT_EQ(DAT_SUCCESS, dat_srq_create(p->ia, pz, &srq_attr, &srq));
	ASSERT_EQ(DAT_SUCCESS, dat_rsp_create(p->ia, 4998, ep, p->cr, &rsp));
	ASSERT_EQ(DAT_SUCCESS, dat_rsp_free(rsp));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_free(ep));
	ASSERT_EQ(DAT_SUCCESS, dat_srq_free(srq));
	ASSERT_EQ(DAT_SUCCESS, dat_evd_free(evd));
	ASSERT_EQ(DAT_SUCCESS, dat_cno_free(cno));
	ASSERT_EQ(DAT_SUCCESS, dat_pz_free(pz));
	expect_refused(_metadata, p, pz);
	expect_refused(_metadata, p, cno);
	expect_refused(_metadata, p, evd);
	expect_refused(_metadata, p, ep);
	expect_refused(_metadata, p, srq);
	expect_refused(_metadata, p, rsp);
}

/* The handle of a connection request is invalid once the request has been answered. */
/* Covers: dat_cr_query dat_cr_accept dat_cr_reject dat_cr_handoff INVALID_HANDLE|CR; SH 13 */
TEST_F_TIMEOUT(handles, of_a_request_that_was_answered, 60)
{
	struct a_pair *p = &self->p;
	DAT_CR_PARAM param;
	DAT_CR_HANDLE cr;

	ASSERT_EQ(DAT_SUCCESS, c_ask(p, p->ep[1]));
	cr = c_request(p);
	ASSERT_NE(NULL, cr);
	ASSERT_EQ(DAT_SUCCESS, dat_cr_accept(cr, p->ep[0], 0, NULL));
	EXPECT_EQ(IH(CR), dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
	EXPECT_EQ(IH(CR), dat_cr_accept(cr, p->ep[0], 0, NULL));
	EXPECT_EQ(IH(CR), dat_cr_reject(cr));
	EXPECT_EQ(IH(CR), dat_cr_handoff(cr, A_QUAL));
}

/* After the close of an IA, the handles of the IA and of its objects are invalid. */
/* Covers: dat_ia_query dat_ia_close INVALID_HANDLE|IA; dat_ia_close; SH 65, 66 */
TEST_F(handles, of_a_closed_ia)
{
	DAT_EVD_HANDLE async, evd;
	DAT_IA_HANDLE ia;
	DAT_HANDLE pz;

	ASSERT_EQ(DAT_SUCCESS, a_ia(&ia, &async));
	ASSERT_EQ(DAT_SUCCESS, dat_pz_create(ia, &pz));
	ASSERT_EQ(DAT_SUCCESS, dat_evd_create(ia, 4, NULL, DAT_EVD_DTO_FLAG, &evd));
	ASSERT_EQ(DAT_SUCCESS, dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG));
	expect_refused(_metadata, &self->p, ia);
	expect_refused(_metadata, &self->p, pz);
	expect_refused(_metadata, &self->p, evd);
	expect_refused(_metadata, &self->p, async);
	EXPECT_EQ(IH(IA), dat_ia_query(ia, NULL, 0, NULL, 0, NULL));
	EXPECT_EQ(IH(IA), dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG));
}

/* If a function takes two objects of different IAs, the handle of the second object is invalid. */
FIXTURE(stranger) {
	struct a_pair p;
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;
	DAT_CNO_HANDLE cno;
	DAT_EVD_HANDLE evd;
	DAT_EP_HANDLE ep;
	DAT_SRQ_HANDLE srq;
};

FIXTURE_SETUP(stranger)
{
	DAT_SRQ_ATTR srq_attr = { .max_recv_dtos = 4, .max_recv_iov = 1 };
	DAT_OS_WAIT_PROXY_AGENT agent = DAT_OS_WAIT_PROXY_AGENT_NULL;
	DAT_EVD_HANDLE async;

	ASSERT_EQ(DAT_SUCCESS, a_open(&self->p));
	ASSERT_EQ(DAT_SUCCESS, a_ia(&self->ia, &async));
	ASSERT_EQ(DAT_SUCCESS, dat_pz_create(self->ia, &self->pz));
	ASSERT_EQ(DAT_SUCCESS, dat_cno_create(self->ia, agent, &self->cno));
	ASSERT_EQ(DAT_SUCCESS, dat_evd_create(self->ia, 4, NULL, DAT_EVD_DEFAULT_FLAG, &self->evd));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_create(self->ia, self->pz, self->evd, self->evd, self->evd,
					     NULL, &self->ep));
	ASSERT_EQ(DAT_SUCCESS, dat_srq_create(self->ia, self->pz, &srq_attr, &self->srq));
}

FIXTURE_TEARDOWN(stranger)
{
	dat_ia_close(self->ia, DAT_CLOSE_ABRUPT_FLAG);
	a_close(&self->p);
}

/*
 * Covers: dat_ep_create dat_ep_create_with_srq INVALID_HANDLE|EVD_RECV|EVD_REQUEST|EVD_CONN;
 * dat_ep_create dat_ep_create_with_srq dat_srq_create INVALID_HANDLE|PZ;
 * dat_ep_create_with_srq INVALID_HANDLE|SRQ; SH 66
 */
TEST_F(stranger, is_nothing_to_make_an_ep_of)
{
	DAT_SRQ_ATTR srq_attr = { .max_recv_dtos = 4, .max_recv_iov = 1 };
	DAT_HANDLE e = self->p.evd[0], x = self->evd, out;
	DAT_IA_HANDLE ia = self->p.ia;
	DAT_PZ_HANDLE pz = self->p.pz;
	DAT_EP_ATTR attr = a_attr(&self->p);
	DAT_SRQ_HANDLE srq;

	EXPECT_EQ(IH(PZ), dat_ep_create(ia, self->pz, e, e, e, NULL, &out));
	EXPECT_EQ(IH(EVD_RECV), dat_ep_create(ia, pz, x, e, e, NULL, &out));
	EXPECT_EQ(IH(EVD_REQUEST), dat_ep_create(ia, pz, e, x, e, NULL, &out));
	EXPECT_EQ(IH(EVD_CONN), dat_ep_create(ia, pz, e, e, x, NULL, &out));
	EXPECT_EQ(IH(PZ), dat_srq_create(ia, self->pz, &srq_attr, &out));
	ASSERT_EQ(DAT_SUCCESS, dat_srq_create(ia, pz, &srq_attr, &srq));
	EXPECT_EQ(IH(PZ), dat_ep_create_with_srq(ia, self->pz, e, e, e, srq, &attr, &out));
	EXPECT_EQ(IH(EVD_RECV), dat_ep_create_with_srq(ia, pz, x, e, e, srq, &attr, &out));
	EXPECT_EQ(IH(EVD_REQUEST), dat_ep_create_with_srq(ia, pz, e, x, e, srq, &attr, &out));
	EXPECT_EQ(IH(EVD_CONN), dat_ep_create_with_srq(ia, pz, e, e, x, srq, &attr, &out));
	EXPECT_EQ(IH(SRQ), dat_ep_create_with_srq(ia, pz, e, e, e, self->srq, &attr, &out));
}

/*
 * Covers: dat_evd_create dat_evd_modify_cno INVALID_HANDLE|CNO; dat_psp_create
 * dat_psp_create_any dat_rsp_create INVALID_HANDLE|EVD_CR; dat_rsp_create dat_ep_dup_connect
 * INVALID_HANDLE|EP; dat_lmr_create INVALID_HANDLE|PZ|LMR; SH 66
 */
TEST_F(stranger, is_nothing_to_listen_at_or_wait_for)
{
	DAT_REGION_DESCRIPTION region = { .for_va = self->p.mem.va };
	struct a_pair *p = &self->p;
	DAT_CONN_QUAL qual;
	DAT_HANDLE out;

	EXPECT_EQ(IH(CNO), dat_evd_create(p->ia, 4, self->cno, DAT_EVD_DTO_FLAG, &out));
	EXPECT_EQ(IH(CNO), dat_evd_modify_cno(p->evd[0], self->cno));
	EXPECT_EQ(IH(EVD_CR), dat_psp_create(p->ia, 4997, self->evd, DAT_PSP_CONSUMER_FLAG, &out));
	EXPECT_EQ(IH(EVD_CR), dat_psp_create_any(p->ia, &qual, self->evd, DAT_PSP_CONSUMER_FLAG,
						 &out));
	EXPECT_EQ(IH(EVD_CR), dat_rsp_create(p->ia, 4997, p->ep[0], self->evd, &out));
	EXPECT_EQ(IH(EP), dat_rsp_create(p->ia, 4997, self->ep, p->cr, &out));
	EXPECT_EQ(IH(EP), dat_ep_dup_connect(p->ep[1], self->ep, 1, 0, NULL, DAT_QOS_BEST_EFFORT));
	EXPECT_EQ(IH(PZ), dat_lmr_create(p->ia, DAT_MEM_TYPE_VIRTUAL, region, 64, self->pz,
					 DAT_MEM_PRIV_NONE_FLAG, &out, NULL, NULL, NULL, NULL));
	region.for_lmr_handle = p->mem.lmr;
	EXPECT_EQ(IH(LMR), dat_lmr_create(self->ia, DAT_MEM_TYPE_LMR, region, 0, self->pz,
					  DAT_MEM_PRIV_NONE_FLAG, &out, NULL, NULL, NULL, NULL));
}

/* Covers: dat_cr_accept INVALID_HANDLE|EP; SH 13, 66 */
TEST_F_TIMEOUT(stranger, accepts_no_request_of_ours, 60)
{
	DAT_CR_HANDLE cr;

	ASSERT_EQ(DAT_SUCCESS, c_ask(&self->p, self->p.ep[1]));
	cr = c_request(&self->p);
	ASSERT_NE(NULL, cr);
	EXPECT_EQ(IH(EP), dat_cr_accept(cr, self->ep, 0, NULL));
	EXPECT_EQ(DAT_SUCCESS, dat_cr_accept(cr, self->p.ep[0], 0, NULL));
}

/*
 * Covers: dat_ep_modify INVALID_HANDLE|PZ|EVD_RECV|EVD_REQUEST|EVD_CONN; SH 66
 */
TEST_F(stranger, is_nothing_to_give_to_an_ep)
{
	DAT_EP_PARAM param = {
		.pz_handle = self->pz, .recv_evd_handle = self->evd,
		.request_evd_handle = self->evd, .connect_evd_handle = self->evd,
	};
	DAT_EP_HANDLE ep = self->p.ep[0];

	EXPECT_EQ(IH(PZ), dat_ep_modify(ep, DAT_EP_FIELD_PZ_HANDLE, &param));
	EXPECT_EQ(IH(EVD_RECV), dat_ep_modify(ep, DAT_EP_FIELD_RECV_EVD_HANDLE, &param));
	EXPECT_EQ(IH(EVD_REQUEST), dat_ep_modify(ep, DAT_EP_FIELD_REQUEST_EVD_HANDLE, &param));
	EXPECT_EQ(IH(EVD_CONN), dat_ep_modify(ep, DAT_EP_FIELD_CONNECT_EVD_HANDLE, &param));
}

TEST_HARNESS_MAIN
