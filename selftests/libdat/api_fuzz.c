// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * Random sequences of API calls.  Their handles are valid, of the wrong type, freed, or garbage.
 * No call may crash, hang or leak.  The test prints its seed.  To repeat a run, set DAT_FUZZ_SEED
 * to this seed; DAT_FUZZ_SECONDS sets the duration.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "dat_api.h"

#define POOL	96
#define MEM	(1 << 20)

static struct {
	DAT_HANDLE h[POOL];
	unsigned int next;
	char *mem;
	DAT_LMR_CONTEXT lmr[8];
	DAT_RMR_CONTEXT rmr[8];
	uint64_t seed;
	unsigned long calls, good;
} z;

static uint64_t rnd(void)
{
	z.seed ^= z.seed << 13;
	z.seed ^= z.seed >> 7;
	z.seed ^= z.seed << 17;
	return z.seed;
}

static unsigned int below(unsigned int n)
{
	return (unsigned int)(rnd() % n);
}

static DAT_HANDLE any(void)
{
	switch (below(40)) {
	case 0:
		return NULL;
	case 1:
		return (DAT_HANDLE)(uintptr_t)(1 + below(16));
	case 2:
		return z.mem + below(4096);
	case 3:
		return (char *)z.h[below(POOL)] + 8;
	default:
		return z.h[below(POOL)];
	}
}

/* Return a handle of type @want if one is found in a few tries, else any handle. */
static DAT_HANDLE of(DAT_HANDLE_TYPE want)
{
	DAT_HANDLE_TYPE type;
	DAT_HANDLE h = NULL;
	int i;

	for (i = 0; i < 60; i++) {
		h = z.h[below(POOL)];
		if (h && dat_get_handle_type(h, &type) == DAT_SUCCESS && type == want)
			return below(30) ? h : any();
	}
	return any();
}

static void keep(DAT_RETURN rc, DAT_HANDLE h)
{
	if (rc == DAT_SUCCESS)
		z.h[z.next++ % POOL] = h;
}

static int number(void)
{
	static const int some[] = { -2, -1, 0, 0, 1, 1, 1, 2, 3, 4, 8, 16, 64, 100, 4096, 1 << 20,
				    0x7fffffff };

	return some[below(sizeof(some) / sizeof(some[0]))];
}

static DAT_LMR_TRIPLET *segments(void)
{
	static DAT_LMR_TRIPLET seg[64];
	int i;

	if (!below(30))
		return NULL;
	for (i = 0; i < 64; i++) {
		seg[i].lmr_context = below(10) ? z.lmr[below(8)] : (DAT_LMR_CONTEXT)rnd();
		seg[i].virtual_address = (uintptr_t)z.mem + below(MEM);
		seg[i].segment_length = below(8) ? below(256) : (DAT_VLEN)number();
	}
	return seg;
}

static DAT_RMR_TRIPLET *remote(void)
{
	static DAT_RMR_TRIPLET seg;

	seg.rmr_context = below(10) ? z.rmr[below(8)] : (DAT_RMR_CONTEXT)rnd();
	seg.target_address = (uintptr_t)z.mem + below(MEM);
	seg.segment_length = below(1024);
	return below(30) ? &seg : NULL;
}

static DAT_COMPLETION_FLAGS flags(void)
{
	return below(3) ? DAT_COMPLETION_DEFAULT_FLAG : (DAT_COMPLETION_FLAGS)below(33);
}

/* Each do_*() function makes a call with arguments that it chooses at random. */

static DAT_RETURN do_ia_open(void)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia = NULL;
	DAT_RETURN rc;

	if (below(50))
		return DAT_SUCCESS;
	rc = a_ia(&ia, &async);
	keep(rc, ia);
	keep(rc, async);
	return rc;
}

static DAT_RETURN do_ia_close(void)
{
	if (below(200))
		return DAT_SUCCESS;
	return dat_ia_close(of(DAT_HANDLE_TYPE_IA), (DAT_CLOSE_FLAGS)below(3));
}

static DAT_RETURN do_ia_query(void)
{
	DAT_PROVIDER_ATTR provider;
	DAT_EVD_HANDLE async;
	DAT_IA_ATTR attr;

	return dat_ia_query(any(), &async, rnd(), &attr, rnd() & DAT_PROVIDER_FIELD_ALL, &provider);
}

static DAT_RETURN do_context(void)
{
	DAT_CONTEXT c = { .as_64 = rnd() };

	return below(2) ? dat_set_consumer_context(any(), c) : dat_get_consumer_context(any(), &c);
}

static DAT_RETURN do_pz(void)
{
	DAT_PZ_HANDLE pz = NULL;
	DAT_RETURN rc = dat_pz_create(of(DAT_HANDLE_TYPE_IA), &pz);

	keep(rc, pz);
	return rc;
}

static DAT_RETURN do_pz_free(void)
{
	return below(10) ? DAT_SUCCESS : dat_pz_free(any());
}

static DAT_RETURN do_lmr(void)
{
	DAT_REGION_DESCRIPTION region = { .for_va = z.mem + below(4) * 4096 };
	DAT_LMR_CONTEXT lmr = 0;
	DAT_RMR_CONTEXT rmr = 0;
	DAT_LMR_HANDLE h = NULL;
	int slot = below(8);
	DAT_MEM_TYPE type = below(8) ? DAT_MEM_TYPE_VIRTUAL : DAT_MEM_TYPE_LMR;
	DAT_RETURN rc;

	if (type == DAT_MEM_TYPE_LMR)
		region.for_lmr_handle = any();
	rc = dat_lmr_create(of(DAT_HANDLE_TYPE_IA), type, region, below(5) ? 65536 : (DAT_VLEN)number(),
			    of(DAT_HANDLE_TYPE_PZ), (DAT_MEM_PRIV_FLAGS)(below(4) ? 0x33 : below(64)),
			    &h, &lmr, &rmr, NULL, NULL);
	keep(rc, h);
	if (rc == DAT_SUCCESS) {
		z.lmr[slot] = lmr;
		z.rmr[slot] = rmr;
	}
	return rc;
}

static DAT_RETURN do_lmr_free(void)
{
	return below(3) ? DAT_SUCCESS : dat_lmr_free(of(DAT_HANDLE_TYPE_LMR));
}

static DAT_RETURN do_cno(void)
{
	DAT_OS_WAIT_PROXY_AGENT none = DAT_OS_WAIT_PROXY_AGENT_NULL;
	DAT_CNO_HANDLE cno = NULL;
	DAT_RETURN rc = dat_cno_create(of(DAT_HANDLE_TYPE_IA), none, &cno);

	keep(rc, cno);
	return rc;
}

static DAT_RETURN do_cno_wait(void)
{
	DAT_EVD_HANDLE evd;

	return dat_cno_wait(of(DAT_HANDLE_TYPE_CNO), below(500), &evd);
}

static DAT_RETURN do_cno_free(void)
{
	return dat_cno_free(of(DAT_HANDLE_TYPE_CNO));
}

static DAT_RETURN do_evd(void)
{
	DAT_EVD_FLAGS f = below(4) ? DAT_EVD_DEFAULT_FLAG | DAT_EVD_SOFTWARE_FLAG :
				     (DAT_EVD_FLAGS)(rnd() & 0x3ff);
	DAT_EVD_HANDLE evd = NULL;
	DAT_RETURN rc;

	rc = dat_evd_create(of(DAT_HANDLE_TYPE_IA), below(3) ? 256 : number(),
			    below(2) ? NULL : of(DAT_HANDLE_TYPE_CNO), f, &evd);
	keep(rc, evd);
	return rc;
}

static DAT_RETURN do_evd_free(void)
{
	return below(10) ? DAT_SUCCESS : dat_evd_free(of(DAT_HANDLE_TYPE_EVD));
}

static DAT_RETURN do_evd_set(void)
{
	DAT_EVD_HANDLE evd = of(DAT_HANDLE_TYPE_EVD);

	switch (below(6)) {
	case 0:
		return dat_evd_enable(evd);
	case 1:
		return dat_evd_disable(evd);
	case 2:
		return dat_evd_set_unwaitable(evd);
	case 3:
		return dat_evd_clear_unwaitable(evd);
	case 4:
		return dat_evd_modify_cno(evd, below(2) ? NULL : of(DAT_HANDLE_TYPE_CNO));
	default:
		return dat_evd_resize(evd, number());
	}
}

static DAT_RETURN do_post_se(void)
{
	DAT_EVENT event = { .event_number = below(5) ? DAT_SOFTWARE_EVENT : DAT_DTO_COMPLETION_EVENT };

	return dat_evd_post_se(of(DAT_HANDLE_TYPE_EVD), &event);
}

/* Take an event.  Keep the handle of a connection request, so that do_request() may answer it. */
static DAT_RETURN do_event(void)
{
	DAT_EVD_HANDLE evd = of(DAT_HANDLE_TYPE_EVD);
	DAT_COUNT more;
	DAT_EVENT event;
	DAT_RETURN rc;

	rc = below(4) ? dat_evd_dequeue(evd, &event) :
			dat_evd_wait(evd, below(500), below(8) ? 1 : number(), &event, &more);
	if (rc == DAT_SUCCESS && event.event_number == DAT_CONNECTION_REQUEST_EVENT)
		keep(rc, event.event_data.cr_arrival_event_data.cr_handle);
	return rc;
}

static DAT_RETURN do_srq(void)
{
	DAT_SRQ_ATTR attr = { below(3) ? 16 : number(), below(3) ? 1 : number(), 0 };
	DAT_SRQ_HANDLE srq = NULL;
	DAT_RETURN rc = dat_srq_create(of(DAT_HANDLE_TYPE_IA), of(DAT_HANDLE_TYPE_PZ), &attr, &srq);

	keep(rc, srq);
	return rc;
}

static DAT_RETURN do_srq_set(void)
{
	DAT_SRQ_HANDLE srq = of(DAT_HANDLE_TYPE_SRQ);
	DAT_SRQ_PARAM param;

	switch (below(8)) {
	case 0:
		return dat_srq_free(srq);
	case 1:
		return dat_srq_resize(srq, number());
	case 2:
		return dat_srq_set_lw(srq, number());
	case 3:
		return dat_srq_query(srq, (DAT_SRQ_PARAM_MASK)below(300), &param);
	default:
		return dat_srq_post_recv(srq, below(4), segments(), a_cookie(rnd()));
	}
}

static DAT_RETURN do_ep(void)
{
	DAT_EVD_HANDLE evd[3] = { of(DAT_HANDLE_TYPE_EVD), of(DAT_HANDLE_TYPE_EVD),
				  of(DAT_HANDLE_TYPE_EVD) };
	DAT_EP_ATTR attr = {
		.max_message_size = 4096, .max_rdma_size = 4096, .max_recv_dtos = 16,
		.max_request_dtos = 16, .max_recv_iov = 4, .max_request_iov = 4,
		.max_rdma_read_in = 4, .max_rdma_read_out = 4, .srq_soft_hw = DAT_HW_DEFAULT,
	};
	DAT_EP_HANDLE ep = NULL;
	DAT_RETURN rc;

	if (!below(8))
		attr.max_recv_dtos = number();
	if (!below(8))
		attr.request_completion_flags = flags();
	if (below(3))
		rc = dat_ep_create(of(DAT_HANDLE_TYPE_IA), of(DAT_HANDLE_TYPE_PZ), evd[0], evd[1],
				   evd[2], below(8) ? &attr : NULL, &ep);
	else
		rc = dat_ep_create_with_srq(of(DAT_HANDLE_TYPE_IA), of(DAT_HANDLE_TYPE_PZ), evd[0],
					    evd[1], evd[2], of(DAT_HANDLE_TYPE_SRQ), &attr, &ep);
	keep(rc, ep);
	return rc;
}

static DAT_RETURN do_ep_set(void)
{
	DAT_EP_HANDLE ep = of(DAT_HANDLE_TYPE_EP);
	DAT_EP_PARAM param;
	DAT_COUNT n, span;
	DAT_EP_STATE state;
	DAT_BOOLEAN idle;

	switch (below(16)) {
	case 0:
		return dat_ep_free(ep);
	case 1:
		return dat_ep_reset(ep);
	case 2:
	case 3:
		return dat_ep_disconnect(ep, (DAT_CLOSE_FLAGS)below(3));
	case 4:
		return dat_ep_query(ep, rnd(), &param);
	case 5:
		return dat_ep_recv_query(ep, &n, &span);
	case 6:
		return dat_ep_set_watermark(ep, number(), number());
	case 7:
		memset(&param, 0, sizeof(param));
		param.pz_handle = of(DAT_HANDLE_TYPE_PZ);
		param.recv_evd_handle = of(DAT_HANDLE_TYPE_EVD);
		param.request_evd_handle = of(DAT_HANDLE_TYPE_EVD);
		param.connect_evd_handle = of(DAT_HANDLE_TYPE_EVD);
		param.ep_attr.max_recv_dtos = number();
		param.ep_attr.max_request_dtos = number();
		return dat_ep_modify(ep, rnd() & 0xc03c0, &param);
	default:
		return dat_ep_get_status(ep, &state, &idle, &idle);
	}
}

static DAT_RETURN do_post(void)
{
	DAT_EP_HANDLE ep = of(DAT_HANDLE_TYPE_EP);
	int n = below(10) ? (int)below(4) : number();

	/* segments() provides 64 segments. */
	n = n > 64 ? 64 : n;
	switch (below(4)) {
	case 0:
		return dat_ep_post_send(ep, n, segments(), a_cookie(rnd()), flags());
	case 1:
		return dat_ep_post_rdma_write(ep, n, segments(), a_cookie(rnd()), remote(), flags());
	case 2:
		return dat_ep_post_rdma_read(ep, n, segments(), a_cookie(rnd()), remote(), flags());
	default:
		return dat_ep_post_recv(ep, n, segments(), a_cookie(rnd()), flags());
	}
}

static DAT_RETURN do_connect(void)
{
	static DAT_IA_ATTR attr;
	DAT_CONN_QUAL qual = A_QUAL + below(4);

	if (!attr.ia_address_ptr) {
		static uint8_t addr[32];

		if (dat_ia_query(of(DAT_HANDLE_TYPE_IA), NULL, DAT_IA_FIELD_ALL, &attr, 0, NULL))
			return DAT_SUCCESS;
		/* Copy the address, because the IA that owns it may be closed. */
		memcpy(addr, attr.ia_address_ptr, 16);
		attr.ia_address_ptr = (DAT_IA_ADDRESS_PTR)addr;
	}
	if (!below(6))
		return dat_ep_dup_connect(of(DAT_HANDLE_TYPE_EP), of(DAT_HANDLE_TYPE_EP),
					  1 + below(100000), 0, NULL, DAT_QOS_BEST_EFFORT);
	return dat_ep_connect(of(DAT_HANDLE_TYPE_EP), attr.ia_address_ptr, qual,
			      below(5) ? A_WAIT_US : below(1000), below(70), z.mem,
			      DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
}

static DAT_RETURN do_listen(void)
{
	DAT_CONN_QUAL qual = A_QUAL + below(4);
	DAT_HANDLE sp = NULL;
	DAT_RETURN rc;

	if (below(3))
		rc = dat_psp_create(of(DAT_HANDLE_TYPE_IA), qual, of(DAT_HANDLE_TYPE_EVD),
				    (DAT_PSP_FLAGS)below(3), &sp);
	else
		rc = dat_rsp_create(of(DAT_HANDLE_TYPE_IA), qual,
				    below(4) ? of(DAT_HANDLE_TYPE_EP) : NULL,
				    of(DAT_HANDLE_TYPE_EVD), &sp);
	keep(rc, sp);
	return rc;
}

static DAT_RETURN do_unlisten(void)
{
	if (below(8))
		return DAT_SUCCESS;
	return below(2) ? dat_psp_free(of(DAT_HANDLE_TYPE_PSP)) :
			  dat_rsp_free(of(DAT_HANDLE_TYPE_RSP));
}

static DAT_RETURN do_request(void)
{
	DAT_CR_HANDLE cr = of(DAT_HANDLE_TYPE_CR);
	DAT_CR_PARAM param;

	switch (below(8)) {
	case 0:
		return dat_cr_reject(cr);
	case 1:
		return dat_cr_handoff(cr, A_QUAL + below(4));
	case 2:
		return dat_cr_query(cr, (DAT_CR_PARAM_MASK)below(40), &param);
	default:
		return dat_cr_accept(cr, below(4) ? of(DAT_HANDLE_TYPE_EP) : NULL, below(70), z.mem);
	}
}

static DAT_RETURN (*const calls[])(void) = {
	do_ia_open, do_ia_close, do_ia_query, do_context, do_pz, do_pz_free, do_lmr, do_lmr_free,
	do_cno, do_cno_wait, do_cno_free, do_evd, do_evd_free, do_evd_set, do_post_se, do_event,
	do_event, do_event, do_event, do_srq, do_srq_set, do_ep, do_ep, do_ep_set, do_post,
	do_post, do_post, do_post, do_connect, do_connect, do_listen, do_unlisten, do_request,
	do_request,
};

static void start(void)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia = NULL;
	DAT_RETURN rc = a_ia(&ia, &async);
	int i;

	keep(rc, ia);
	for (i = 0; i < 4; i++) {
		do_pz();
		do_evd();
		do_evd();
		do_lmr();
		do_ep();
	}
}

static void end(void)
{
	DAT_HANDLE_TYPE type;
	int i;

	for (i = 0; i < POOL; i++)
		if (z.h[i] && dat_get_handle_type(z.h[i], &type) == DAT_SUCCESS &&
		    type == DAT_HANDLE_TYPE_IA)
			dat_ia_close(z.h[i], DAT_CLOSE_ABRUPT_FLAG);
}

static unsigned long env(const char *name, unsigned long otherwise)
{
	const char *text = getenv(name);

	return text ? strtoul(text, NULL, 0) : otherwise;
}

FIXTURE(fuzz) {
	unsigned long seconds;
};

FIXTURE_SETUP(fuzz)
{
	self->seconds = env("DAT_FUZZ_SECONDS", 30);
	z.seed = env("DAT_FUZZ_SEED", (unsigned long)time(NULL) * 2654435761UL) | 1;
	z.mem = mmap(NULL, MEM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, z.mem);
}

FIXTURE_TEARDOWN(fuzz)
{
}

TEST_F_TIMEOUT(fuzz, random_calls_do_no_harm, 600)
{
	time_t stop = time(NULL) + (time_t)self->seconds;

	printf("# seed %#lx\n", (unsigned long)z.seed);
	fflush(stdout);
	while (time(NULL) < stop) {
		int i;

		start();
		for (i = 0; i < 3000 && time(NULL) < stop; i++) {
			z.calls++;
			z.good += calls[below(sizeof(calls) / sizeof(calls[0]))]() == DAT_SUCCESS;
		}
		end();
		memset(z.h, 0, sizeof(z.h));
	}
	printf("# %lu calls, %lu of them good\n", z.calls, z.good);
	fflush(stdout);
	/* The test is useful only if enough calls succeed. */
	EXPECT_LT(z.calls / 10, z.good);
}

TEST_HARNESS_MAIN
