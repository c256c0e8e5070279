// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* Calls with invalid handles or arguments must return the error codes of the specification. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "dat_api.h"
#include "ioctl_over.h"
#include <rdma/dat_ioctl.h>

#define PAGE	4096

FIXTURE(errors) {
	struct a_pair p;
	DAT_HANDLE freed;
};

FIXTURE_SETUP(errors)
{
	ASSERT_EQ(DAT_SUCCESS, a_open(&self->p));
	ASSERT_EQ(DAT_SUCCESS, dat_pz_create(self->p.ia, &self->freed));
	ASSERT_EQ(DAT_SUCCESS, dat_pz_free(self->freed));
}

FIXTURE_TEARDOWN(errors)
{
	a_close(&self->p);
}

#define IH(kind)	RC(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_##kind)
#define IP(n)		RC(DAT_INVALID_PARAMETER, DAT_INVALID_ARG##n)

/* Call every function with the invalid handle @h, once for each of its handle arguments. */
/*
 * Covers: dat_ia_query dat_ia_close dat_pz_create dat_evd_create dat_ep_create dat_srq_create
 * dat_psp_create dat_lmr_create INVALID_HANDLE|IA; dat_pz_free dat_pz_query dat_ep_create
 * dat_srq_create dat_lmr_create INVALID_HANDLE|PZ; dat_ep_create
 * INVALID_HANDLE|EVD_RECV|EVD_REQUEST|EVD_CONN; dat_evd_create INVALID_HANDLE|CNO;
 * dat_ep_create_with_srq dat_srq_free dat_srq_query dat_srq_post_recv INVALID_HANDLE|SRQ;
 * dat_ep_free dat_ep_query dat_ep_get_status dat_ep_reset dat_ep_disconnect dat_ep_connect
 * dat_ep_post_send dat_ep_post_recv dat_ep_post_rdma_read dat_ep_post_rdma_write
 * INVALID_HANDLE|EP; dat_evd_free dat_evd_query dat_evd_dequeue dat_evd_wait dat_evd_post_se
 * dat_evd_set_unwaitable dat_get_handle_type dat_set_consumer_context dat_get_consumer_context
 * INVALID_HANDLE|HANDLE1; dat_psp_create INVALID_HANDLE|EVD_CR; dat_psp_free dat_psp_query
 * INVALID_HANDLE|PSP; dat_cr_accept dat_cr_reject dat_cr_query INVALID_HANDLE|CR; dat_lmr_free
 * dat_lmr_query INVALID_HANDLE|LMR; SH 66, 69
 */
static void expect_bad(struct __test_metadata *_metadata, struct a_pair *p, DAT_HANDLE h)
{
	DAT_LMR_TRIPLET seg = a_seg(&p->mem, 0, 8);
	DAT_RMR_TRIPLET rseg = a_rseg(&p->mem, 0, 8);
	DAT_SRQ_ATTR srq_attr = { .max_recv_dtos = 4, .max_recv_iov = 1 };
	DAT_REGION_DESCRIPTION region = { .for_va = p->mem.va };
	DAT_EP_ATTR attr = a_attr(p);
	DAT_CONTEXT context = { .as_64 = 0 };
	DAT_HANDLE_TYPE type;
	DAT_HANDLE out;
	DAT_EVENT event;
	DAT_COUNT nmore;

	EXPECT_EQ(IH(IA), dat_ia_query(h, NULL, 0, NULL, 0, NULL));
	EXPECT_EQ(IH(IA), dat_ia_close(h, DAT_CLOSE_ABRUPT_FLAG));
	EXPECT_EQ(IH(IA), dat_pz_create(h, &out));
	EXPECT_EQ(IH(IA), dat_evd_create(h, 4, NULL, DAT_EVD_DTO_FLAG, &out));
	EXPECT_EQ(IH(IA), dat_ep_create(h, p->pz, NULL, NULL, NULL, &attr, &out));
	EXPECT_EQ(IH(IA), dat_srq_create(h, p->pz, &srq_attr, &out));
	EXPECT_EQ(IH(IA), dat_psp_create(h, 9, p->cr, 0, &out));
	EXPECT_EQ(IH(IA), dat_lmr_create(h, 0, region, 8, p->pz, 0, &out, NULL, NULL, NULL, NULL));
	EXPECT_EQ(IH(PZ), dat_pz_free(h));
	EXPECT_EQ(IH(PZ), dat_pz_query(h, DAT_PZ_FIELD_ALL, NULL));
	EXPECT_EQ(IH(PZ), dat_ep_create(p->ia, h, NULL, NULL, NULL, &attr, &out));
	EXPECT_EQ(IH(PZ), dat_srq_create(p->ia, h, &srq_attr, &out));
	EXPECT_EQ(IH(PZ), dat_lmr_create(p->ia, 0, region, 8, h, 0, &out, NULL, NULL, NULL, NULL));
	if (h) {
		EXPECT_EQ(IH(EVD_RECV), dat_ep_create(p->ia, p->pz, h, NULL, NULL, &attr, &out));
		EXPECT_EQ(IH(EVD_REQUEST), dat_ep_create(p->ia, p->pz, NULL, h, NULL, &attr, &out));
		EXPECT_EQ(IH(EVD_CONN), dat_ep_create(p->ia, p->pz, NULL, NULL, h, &attr, &out));
		EXPECT_EQ(IH(CNO), dat_evd_create(p->ia, 4, h, DAT_EVD_DTO_FLAG, &out));
	}
	EXPECT_EQ(IH(SRQ), dat_ep_create_with_srq(p->ia, p->pz, NULL, NULL, NULL, h, &attr, &out));
	EXPECT_EQ(IH(SRQ), dat_srq_free(h));
	EXPECT_EQ(IH(SRQ), dat_srq_query(h, 0, NULL));
	EXPECT_EQ(IH(SRQ), dat_srq_post_recv(h, 1, &seg, a_cookie(0)));
	EXPECT_EQ(IH(EP), dat_ep_free(h));
	EXPECT_EQ(IH(EP), dat_ep_query(h, 0, NULL));
	EXPECT_EQ(IH(EP), dat_ep_get_status(h, NULL, NULL, NULL));
	EXPECT_EQ(IH(EP), dat_ep_reset(h));
	EXPECT_EQ(IH(EP), dat_ep_disconnect(h, DAT_CLOSE_ABRUPT_FLAG));
	EXPECT_EQ(IH(EP), dat_ep_connect(h, p->attr.ia_address_ptr, 1, 1, 0, NULL, 0, 0));
	EXPECT_EQ(IH(EP), dat_ep_post_send(h, 1, &seg, a_cookie(0), 0));
	EXPECT_EQ(IH(EP), dat_ep_post_recv(h, 1, &seg, a_cookie(0), 0));
	EXPECT_EQ(IH(EP), dat_ep_post_rdma_read(h, 1, &seg, a_cookie(0), &rseg, 0));
	EXPECT_EQ(IH(EP), dat_ep_post_rdma_write(h, 1, &seg, a_cookie(0), &rseg, 0));
	EXPECT_EQ(RC(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1), dat_evd_free(h));
	EXPECT_EQ(RC(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1), dat_evd_query(h, 0, NULL));
	EXPECT_EQ(RC(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1), dat_evd_dequeue(h, &event));
	EXPECT_EQ(RC(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1),
		  dat_evd_wait(h, 0, 1, &event, &nmore));
	EXPECT_EQ(RC(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1), dat_evd_post_se(h, &event));
	EXPECT_EQ(RC(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1), dat_evd_set_unwaitable(h));
	EXPECT_EQ(IH(EVD_CR), dat_psp_create(p->ia, 9, h, 0, &out));
	EXPECT_EQ(IH(PSP), dat_psp_free(h));
	EXPECT_EQ(IH(PSP), dat_psp_query(h, 0, NULL));
	EXPECT_EQ(IH(CR), dat_cr_accept(h, p->ep[0], 0, NULL));
	EXPECT_EQ(IH(CR), dat_cr_reject(h));
	EXPECT_EQ(IH(CR), dat_cr_query(h, 0, NULL));
	EXPECT_EQ(IH(LMR), dat_lmr_free(h));
	EXPECT_EQ(IH(LMR), dat_lmr_query(h, 0, NULL));
	/* The next functions accept a handle of any type.  Skip them if @h is valid. */
	if (dat_get_handle_type(h, &type) != DAT_SUCCESS) {
		EXPECT_EQ(RC(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1),
			  dat_get_handle_type(h, &type));
		EXPECT_EQ(RC(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1),
			  dat_set_consumer_context(h, context));
		EXPECT_EQ(RC(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1),
			  dat_get_consumer_context(h, &context));
	}
}

TEST_F(errors, null)
{
	expect_bad(_metadata, &self->p, NULL);
}

/* Covers: SH 34 */
TEST_F(errors, pseudo_handles)
{
	expect_bad(_metadata, &self->p, DAT_EVD_ASYNC_EXISTS);
	expect_bad(_metadata, &self->p, DAT_EVD_OUT_OF_SCOPE);
}

TEST_F(errors, garbage)
{
	expect_bad(_metadata, &self->p, (DAT_HANDLE)0xdeadbeefdeadbeefULL);
}

TEST_F(errors, an_address_of_ours)
{
	expect_bad(_metadata, &self->p, &self->p);
}

TEST_F(errors, misaligned)
{
	expect_bad(_metadata, &self->p, (char *)self->p.ep[0] + 8);
}

TEST_F(errors, freed)
{
	expect_bad(_metadata, &self->p, self->freed);
}

/*
 * Covers: dat_get_handle_type; dat_pz_free INVALID_HANDLE|PZ; dat_ep_free INVALID_HANDLE|EP;
 * dat_lmr_free INVALID_HANDLE|LMR; dat_ep_create INVALID_HANDLE|EVD_RECV; SH 31, 66
 */
TEST_F(errors, types_are_told_apart)
{
	DAT_HANDLE_TYPE type;

	ASSERT_EQ(DAT_SUCCESS, dat_get_handle_type(self->p.ep[0], &type));
	EXPECT_EQ(DAT_HANDLE_TYPE_EP, type);
	ASSERT_EQ(DAT_SUCCESS, dat_get_handle_type(self->p.ia, &type));
	EXPECT_EQ(DAT_HANDLE_TYPE_IA, type);
	EXPECT_EQ(IH(PZ), dat_pz_free(self->p.ep[0]));
	EXPECT_EQ(IH(EP), dat_ep_free(self->p.pz));
	EXPECT_EQ(IH(LMR), dat_lmr_free(self->p.psp));
	EXPECT_EQ(IH(EVD_RECV), dat_ep_create(self->p.ia, self->p.pz, self->p.cr, NULL, NULL, NULL,
					      &self->freed));
}

/* Covers: dat_ep_create INVALID_HANDLE|PZ|EVD_RECV; SH 66 */
TEST_F(errors, objects_of_another_ia_are_strangers)
{
	DAT_EVD_HANDLE async;
	DAT_IA_HANDLE other;
	DAT_PZ_HANDLE pz;
	DAT_EP_HANDLE ep;

	ASSERT_EQ(DAT_SUCCESS, a_ia(&other, &async));
	ASSERT_EQ(DAT_SUCCESS, dat_pz_create(other, &pz));
	EXPECT_EQ(IH(PZ), dat_ep_create(self->p.ia, pz, NULL, NULL, NULL, NULL, &ep));
	EXPECT_EQ(IH(EVD_RECV), dat_ep_create(other, pz, self->p.evd[0], NULL, NULL, NULL, &ep));
	EXPECT_EQ(DAT_SUCCESS, dat_ia_close(other, DAT_CLOSE_ABRUPT_FLAG));
}

/*
 * Covers: dat_pz_free INVALID_STATE|PZ_IN_USE; dat_evd_free INVALID_STATE|EVD_IN_USE;
 * dat_ia_close INVALID_STATE|IA_IN_USE; dat_pz_query; SH 65
 */
TEST_F(errors, what_is_in_use_stays)
{
	EXPECT_EQ(RC(DAT_INVALID_STATE, DAT_INVALID_STATE_PZ_IN_USE), dat_pz_free(self->p.pz));
	EXPECT_EQ(RC(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_IN_USE),
		  dat_evd_free(self->p.evd[0]));
	EXPECT_EQ(RC(DAT_INVALID_STATE, DAT_INVALID_STATE_IA_IN_USE),
		  dat_ia_close(self->p.ia, DAT_CLOSE_GRACEFUL_FLAG));
	EXPECT_EQ(DAT_SUCCESS, dat_pz_query(self->p.pz, DAT_PZ_FIELD_ALL, &(DAT_PZ_PARAM) { 0 }));
}

/*
 * Covers: dat_ep_post_recv INVALID_PARAMETER|ARG2|ARG3|ARG5 PRIVILEGES_VIOLATION
 * PROTECTION_VIOLATION; SH 37
 */
TEST_F(errors, segments_are_checked_when_posted)
{
	struct a_pair *p = &self->p;
	DAT_LMR_TRIPLET seg = a_seg(&p->mem, 0, 64), seg5[5];
	struct a_mem other = { 0 }, ro;
	DAT_PZ_HANDLE pz = p->pz;

	ASSERT_EQ(DAT_SUCCESS, a_mem(p, 4096, DAT_MEM_PRIV_LOCAL_READ_FLAG, &ro));
	ASSERT_EQ(DAT_SUCCESS, dat_pz_create(p->ia, &p->pz));
	ASSERT_EQ(DAT_SUCCESS, a_mem(p, 4096, DAT_MEM_PRIV_ALL_FLAG, &other));
	p->pz = pz;
#define RECV(n, iov, flags) \
	dat_ep_post_recv(p->ep[0], n, iov, a_cookie(0), (DAT_COMPLETION_FLAGS)(flags))
	seg.segment_length = p->mem.size + 1;
	EXPECT_EQ(IP(3), RECV(1, &seg, 0));
	seg = a_seg(&p->mem, p->mem.size - 63, 64);
	EXPECT_EQ(IP(3), RECV(1, &seg, 0));
	seg.virtual_address = ~0ULL;
	EXPECT_EQ(IP(3), RECV(1, &seg, 0));
	EXPECT_EQ(IP(3), RECV(1, NULL, 0));
	seg = a_seg(&p->mem, 0, 64);
	seg.lmr_context ^= 0x80000000;
	EXPECT_EQ(RC(DAT_PRIVILEGES_VIOLATION, DAT_PRIVILEGES_WRITE), RECV(1, &seg, 0));
	seg = a_seg(&ro, 0, 64);
	EXPECT_EQ(RC(DAT_PRIVILEGES_VIOLATION, DAT_PRIVILEGES_WRITE), RECV(1, &seg, 0));
	seg = a_seg(&other, 0, 64);
	EXPECT_EQ(RC(DAT_PROTECTION_VIOLATION, DAT_PROTECTION_WRITE), RECV(1, &seg, 0));
	memset(seg5, 0, sizeof(seg5));
	EXPECT_EQ(IP(2), RECV(5, seg5, 0));
	EXPECT_EQ(IP(2), RECV(-1, seg5, 0));
	seg = a_seg(&p->mem, 0, 64);
	EXPECT_EQ(IP(5), RECV(1, &seg, DAT_COMPLETION_SUPPRESS_FLAG));
	EXPECT_EQ(IP(5), RECV(1, &seg, 0x40));
	/* The LMR context of a freed LMR is invalid. */
	ASSERT_EQ(DAT_SUCCESS, dat_lmr_free(ro.lmr));
	seg = a_seg(&ro, 0, 64);
	EXPECT_EQ(DAT_PRIVILEGES_VIOLATION, TYPE(RECV(1, &seg, 0)));
}

/*
 * Covers: dat_ep_post_rdma_read LENGTH_ERROR; dat_ep_post_rdma_write LENGTH_ERROR
 * INVALID_PARAMETER|ARG5; SH 36
 */
TEST_F(errors, rdma_lengths_must_fit)
{
	struct a_pair *p = &self->p;
	DAT_LMR_TRIPLET seg = a_seg(&p->mem, 0, 64);
	DAT_RMR_TRIPLET rseg = a_rseg(&p->mem, 0, 65);

	EXPECT_EQ(RC(DAT_LENGTH_ERROR, 0),
		  dat_ep_post_rdma_read(p->ep[0], 1, &seg, a_cookie(0), &rseg, 0));
	rseg.segment_length = 63;
	EXPECT_EQ(RC(DAT_LENGTH_ERROR, 0),
		  dat_ep_post_rdma_write(p->ep[0], 1, &seg, a_cookie(0), &rseg, 0));
	EXPECT_EQ(IP(5), dat_ep_post_rdma_write(p->ep[0], 1, &seg, a_cookie(0), NULL, 0));
}

/* Check which flags each request allows.  UNSIGNALLED requires the attribute of the EP. */
/*
 * Covers: dat_ep_post_send INVALID_PARAMETER|ARG5; dat_ep_post_rdma_write INVALID_PARAMETER|ARG6;
 * dat_ep_post_rdma_read INVALID_PARAMETER|ARG6; SH 17, 18
 */
TEST_F_TIMEOUT(errors, completion_flags_are_checked, 60)
{
	struct a_pair *p = &self->p;
	DAT_LMR_TRIPLET seg = a_seg(&p->mem, 0, 64);
	DAT_RMR_TRIPLET rseg = a_rseg(&p->mem, 4096, 64);
	DAT_EP_HANDLE out = p->ep[1];

	ASSERT_EQ(DAT_SUCCESS, a_connect(p, out, p->ep[0], p->evd[1], p->evd[0]));
	EXPECT_EQ(IP(5), dat_ep_post_send(out, 1, &seg, a_cookie(0),
					  DAT_COMPLETION_UNSIGNALLED_FLAG));
	EXPECT_EQ(IP(5), dat_ep_post_send(out, 1, &seg, a_cookie(0), (DAT_COMPLETION_FLAGS)0x40));
	EXPECT_EQ(IP(6), dat_ep_post_rdma_write(out, 1, &seg, a_cookie(0), &rseg,
						DAT_COMPLETION_UNSIGNALLED_FLAG));
	EXPECT_EQ(IP(6), dat_ep_post_rdma_write(out, 1, &seg, a_cookie(0), &rseg,
						DAT_COMPLETION_SOLICITED_WAIT_FLAG));
	EXPECT_EQ(IP(6), dat_ep_post_rdma_read(out, 1, &seg, a_cookie(0), &rseg,
					       DAT_COMPLETION_SOLICITED_WAIT_FLAG));
}

/*
 * Covers: dat_ia_openv dat_ia_open INVALID_PARAMETER|ARG1|ARG2|ARG3|ARG4
 * PROVIDER_NOT_FOUND|NAME_NOT_REGISTERED;
 * dat_ia_openv PROVIDER_NOT_FOUND|MAJOR_NOT_FOUND|MINOR_NOT_FOUND
 */
TEST_F(errors, opening_checks_its_arguments)
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
	char longer[300];
	DAT_IA_HANDLE ia;

	memset(longer, 'x', sizeof(longer));
	longer[299] = 0;
	EXPECT_EQ(IP(1), dat_ia_open(NULL, 8, &evd, &ia));
	EXPECT_EQ(IP(1), dat_ia_open(longer, 8, &evd, &ia));
	EXPECT_EQ(IP(2), dat_ia_open("x", 0, &evd, &ia));
	EXPECT_EQ(IP(3), dat_ia_open("x", 8, NULL, &ia));
	EXPECT_EQ(IP(4), dat_ia_open("x", 8, &evd, NULL));
	EXPECT_EQ(RC(DAT_PROVIDER_NOT_FOUND, DAT_MAJOR_NOT_FOUND),
		  dat_ia_openv("x", 8, &evd, &ia, 2, 0, DAT_TRUE));
	EXPECT_EQ(RC(DAT_PROVIDER_NOT_FOUND, DAT_MINOR_NOT_FOUND),
		  dat_ia_openv("x", 8, &evd, &ia, 1, 3, DAT_TRUE));
	EXPECT_EQ(RC(DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED),
		  dat_ia_open("nosuch0", 8, &evd, &ia));
}

/* Covers: dat_lmr_create INVALID_PARAMETER|ARG3|ARG6 LENGTH_ERROR MODEL_NOT_SUPPORTED */
TEST_F(errors, memory_that_cannot_be_registered)
{
	struct a_pair *p = &self->p;
	DAT_REGION_DESCRIPTION region = { .for_va = (void *)4096 };
	DAT_LMR_HANDLE lmr;

#define LMR(type, len, priv) \
	dat_lmr_create(p->ia, (DAT_MEM_TYPE)(type), region, len, p->pz, \
		       (DAT_MEM_PRIV_FLAGS)(priv), &lmr, NULL, NULL, NULL, NULL)
	EXPECT_EQ(IP(3), LMR(DAT_MEM_TYPE_VIRTUAL, 8192, 0x33));
	region.for_va = p->mem.va;
	EXPECT_EQ(RC(DAT_LENGTH_ERROR, 0), LMR(DAT_MEM_TYPE_VIRTUAL, 0, 0x33));
	EXPECT_EQ(IP(6), LMR(DAT_MEM_TYPE_VIRTUAL, 4096, 0x44));
	EXPECT_EQ(RC(DAT_MODEL_NOT_SUPPORTED, 0), LMR(99, 4096, 0x33));
}

/* Register the two pages at @va. */
static DAT_RETURN register_pages(struct a_pair *p, void *va, DAT_MEM_PRIV_FLAGS priv,
				 DAT_LMR_HANDLE *lmr)
{
	DAT_REGION_DESCRIPTION region = { .for_va = va };

	return dat_lmr_create(p->ia, DAT_MEM_TYPE_VIRTUAL, region, 2 * PAGE, p->pz, priv, lmr, NULL,
			      NULL, NULL, NULL);
}

/* Registers memory that must be refused.  Returns the message of the library. */
static const char *refusal(struct __test_metadata *_metadata, struct a_pair *p, void *va,
			   DAT_MEM_PRIV_FLAGS priv)
{
	DAT_LMR_HANDLE lmr;
	DAT_RETURN rc;

	a_log_begin();
	rc = register_pages(p, va, priv, &lmr);
	EXPECT_EQ(IP(3), rc);
	return a_log_end();
}

#define EXPECT_SAYS(text, part)							\
	EXPECT_NE(NULL, strstr(text, part)) TH_LOG("the message: '%s'", text)

TEST_F(errors, a_hole_in_memory_is_named)
{
	char *va = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char at[64];
	const char *text;

	munmap(va + PAGE, PAGE);
	snprintf(at, sizeof(at), "the memory at %p is not mapped", va + PAGE);
	text = refusal(_metadata, &self->p, va, DAT_MEM_PRIV_ALL_FLAG);
	EXPECT_SAYS(text, at);
}

static void *shared_file(int prot)
{
	int fd = memfd_create("shared", 0);

	if (ftruncate(fd, 2 * PAGE))
		return MAP_FAILED;
	return mmap(NULL, 2 * PAGE, prot, MAP_SHARED, fd, 0);
}

TEST_F(errors, a_mapping_for_reading_gets_no_write_privilege)
{
	const char *text = refusal(_metadata, &self->p, shared_file(PROT_READ),
				   DAT_MEM_PRIV_LOCAL_WRITE_FLAG);

	EXPECT_SAYS(text, "is mapped without PROT_WRITE");
}

/* The first page is shared and for writing, which is a reason only on some file systems. */
TEST_F(errors, a_hole_behind_shared_memory_is_named)
{
	char *va = shared_file(PROT_READ | PROT_WRITE);
	char at[64];
	const char *text;

	munmap(va + PAGE, PAGE);
	snprintf(at, sizeof(at), "the memory at %p is not mapped", va + PAGE);
	text = refusal(_metadata, &self->p, va, DAT_MEM_PRIV_ALL_FLAG);
	EXPECT_SAYS(text, at);
}

TEST_F(errors, a_page_for_reading_behind_shared_memory_is_named)
{
	char *va = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	char at[64];
	const char *text;

	mprotect(va + PAGE, PAGE, PROT_READ);
	snprintf(at, sizeof(at), "the memory at %p is mapped without PROT_WRITE", va + PAGE);
	text = refusal(_metadata, &self->p, va, DAT_MEM_PRIV_ALL_FLAG);
	EXPECT_SAYS(text, at);
}

static int linux_is_before(int major, int minor)
{
	struct utsname uts;
	int a = 0, b = 0;

	uname(&uts);
	sscanf(uts.release, "%d.%d", &a, &b);
	return a < major || (a == major && b < minor);
}

/* Covers: dat_lmr_create INVALID_PARAMETER|ARG3 */
TEST_F(errors, a_shared_mapping_for_reading_is_not_pinned_by_old_kernels)
{
	void *va = shared_file(PROT_READ);
	DAT_LMR_HANDLE lmr;
	const char *text;

	if (linux_is_before(6, 2)) {
		text = refusal(_metadata, &self->p, va, DAT_MEM_PRIV_LOCAL_READ_FLAG);
		EXPECT_SAYS(text, "is a shared mapping for reading only");
		return;
	}
	ASSERT_EQ(DAT_SUCCESS, register_pages(&self->p, va, DAT_MEM_PRIV_LOCAL_READ_FLAG, &lmr));
	EXPECT_EQ(DAT_SUCCESS, dat_lmr_free(lmr));
}

TEST_F(errors, a_shared_mapping_for_writing_is_registered)
{
	void *va = shared_file(PROT_READ | PROT_WRITE);
	DAT_LMR_HANDLE lmr;

	ASSERT_EQ(DAT_SUCCESS, register_pages(&self->p, va, DAT_MEM_PRIV_ALL_FLAG, &lmr));
	EXPECT_EQ(DAT_SUCCESS, dat_lmr_free(lmr));
}

/* Flag of the current thread: the driver has no memory for its connects. */
static __thread int no_memory;
/* Flag: the driver is older than the numbers of open files, and than relaxed order. */
static int old_driver;

static int changed_ioctl(int fd, unsigned long request, void *arg)
{
	int ret;

	if (no_memory && request == DAT_IOC_EP_CONNECT) {
		errno = ENOMEM;
		return -1;
	}
	if (old_driver && request == DAT_IOC_LMR_CREATE &&
	    ((struct dat_lmr_create *)arg)->priv & DAT_PRIV_RELAXED) {
		errno = EOPNOTSUPP;
		return -1;
	}
	ret = real_ioctl(fd, request, arg);
	if (!ret && old_driver && request == DAT_IOC_ABI)
		((struct dat_abi *)arg)->file = 0;
	if (!ret && old_driver && request == DAT_IOC_IA_QUERY)
		((struct dat_ia_query *)arg)->caps = 0;
	return ret;
}

/*
 * struct failing - calls that fail, in a thread with a pending cancel
 * @p: objects
 * @va: memory that cannot be registered
 * @lmr: result of dat_lmr_create()
 * @connect: result of dat_ep_connect()
 */
struct failing {
	struct a_pair	*p;
	void		*va;
	DAT_RETURN	lmr;
	DAT_RETURN	connect;
};

static void *register_bad_memory(void *arg)
{
	struct failing *f = arg;
	DAT_LMR_HANDLE lmr;

	pthread_cancel(pthread_self());
	f->lmr = register_pages(f->p, f->va, DAT_MEM_PRIV_ALL_FLAG, &lmr);
	pthread_testcancel();
	return NULL;
}

static void *connect_without_memory(void *arg)
{
	struct failing *f = arg;

	no_memory = 1;
	pthread_cancel(pthread_self());
	f->connect = dat_ep_connect(f->p->ep[0], f->p->attr.ia_address_ptr, A_QUAL, A_WAIT_US, 0,
				    NULL, DAT_QOS_BEST_EFFORT, 0);
	pthread_testcancel();
	return NULL;
}

TEST_F(errors, a_call_that_fails_is_no_cancellation_point)
{
	struct failing f = { .p = &self->p, .va = shared_file(PROT_READ) };
	pthread_t thread;

	a_log_begin();
	ASSERT_EQ(0, pthread_create(&thread, NULL, register_bad_memory, &f));
	pthread_join(thread, NULL);
	ASSERT_EQ(0, pthread_create(&thread, NULL, connect_without_memory, &f));
	pthread_join(thread, NULL);
	a_log_end();
	EXPECT_EQ(IP(3), f.lmr);
	EXPECT_EQ(RC(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY), f.connect);
}

/* A pipe of the program gets the number of the IA's descriptor, which the program has closed. */
TEST_F(errors, the_close_leaves_a_file_of_the_program_alone_with_an_old_driver)
{
	DAT_EVD_HANDLE async;
	DAT_IA_HANDLE ia;
	int pipes[2], fd;

	ASSERT_EQ(0, pipe(pipes));
	fd = dup(pipes[0]);
	close(fd);
	old_driver = 1;
	ASSERT_EQ(DAT_SUCCESS, a_ia(&ia, &async));
	ASSERT_EQ(fd, dup2(pipes[0], fd));
	EXPECT_EQ(DAT_SUCCESS, dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG));
	EXPECT_EQ(0, fcntl(fd, F_GETFD));
	close(fd);
	/* The descriptor of an IA is closed if it is still open. */
	ASSERT_EQ(DAT_SUCCESS, a_ia(&ia, &async));
	EXPECT_EQ(DAT_SUCCESS, dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG));
	EXPECT_EQ(-1, fcntl(fd, F_GETFD));
	old_driver = 0;
	close(pipes[0]);
	close(pipes[1]);
}

/* Covers: dat_lmr_create; dat_ia_query */
TEST_F(errors, memory_has_strict_order_with_an_old_driver)
{
	DAT_REGION_DESCRIPTION region = { .for_va = self->p.mem.va };
	DAT_PROVIDER_ATTR attr;
	DAT_EVD_HANDLE async;
	DAT_LMR_HANDLE lmr;
	DAT_PZ_HANDLE pz;
	DAT_IA_HANDLE ia;

	old_driver = 1;
	ASSERT_EQ(DAT_SUCCESS, a_ia(&ia, &async));
	ASSERT_EQ(DAT_SUCCESS, dat_pz_create(ia, &pz));
	EXPECT_EQ(DAT_SUCCESS, dat_ia_query(ia, NULL, 0, NULL, DAT_PROVIDER_FIELD_ALL, &attr));
	EXPECT_EQ(0, attr.num_provider_specific_attr);
	EXPECT_EQ(DAT_SUCCESS, dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, region, 64, pz,
					      DAT_LINUX_MEM_PRIV_RELAXED_FLAG, &lmr, NULL, NULL,
					      NULL, NULL));
	EXPECT_EQ(DAT_SUCCESS, dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG));
	old_driver = 0;
}

TEST_HARNESS_MAIN
