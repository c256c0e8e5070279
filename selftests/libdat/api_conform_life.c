// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* Objects from open to close: contexts, attributes, SRQs, and fork(). */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rsmapi.h>

#include "kselftest_harness.h"
#include "api_conform.h"
#include "proc.h"

FIXTURE(life) {
	struct a_pair p;
	DAT_CNO_HANDLE cno;
	DAT_SRQ_HANDLE srq;	/* 8 entries; ep[0] receives from this SRQ */
	DAT_RSP_HANDLE rsp;	/* reserves an EP that the fixture has made */
};

FIXTURE_SETUP(life)
{
	DAT_OS_WAIT_PROXY_AGENT agent = DAT_OS_WAIT_PROXY_AGENT_NULL;
	DAT_SRQ_ATTR srq = { .max_recv_dtos = 8, .max_recv_iov = 1 };
	struct a_pair *p = &self->p;
	DAT_EP_HANDLE ep;
	DAT_EP_ATTR attr;

	ASSERT_EQ(DAT_SUCCESS, a_open(p));
	attr = a_attr(p);
	ASSERT_EQ(DAT_SUCCESS, dat_cno_create(p->ia, agent, &self->cno));
	ASSERT_EQ(DAT_SUCCESS, dat_srq_create(p->ia, p->pz, &srq, &self->srq));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_free(p->ep[0]));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_create_with_srq(p->ia, p->pz, p->evd[0], p->evd[0], p->evd[0],
						      self->srq, &attr, &p->ep[0]));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_create(p->ia, p->pz, NULL, NULL, p->evd[0], &attr, &ep));
	ASSERT_EQ(DAT_SUCCESS, dat_rsp_create(p->ia, A_QUAL + 1, ep, p->cr, &self->rsp));
}

FIXTURE_TEARDOWN(life)
{
	a_close(&self->p);
}

static DAT_RETURN give(DAT_SRQ_HANDLE srq, uint64_t cookie)
{
	return dat_srq_post_recv(srq, 0, NULL, a_cookie(cookie));
}

static DAT_RETURN tell(DAT_EP_HANDLE ep)
{
	return dat_ep_post_send(ep, 0, NULL, a_cookie(99), DAT_COMPLETION_SUPPRESS_FLAG);
}

/* --- shared receive queues --------- */

/* Covers: dat_srq_query; SH 46, 46a */
TEST_F_TIMEOUT(life, messages_that_came_are_told_before_the_end_and_other_buffers_stay, 60)
{
	struct a_pair *p = &self->p;
	DAT_SRQ_PARAM param;
	uint64_t cookie;
	int i;

	for (i = 0; i < 5; i++)
		ASSERT_EQ(DAT_SUCCESS, give(self->srq, i));
	ASSERT_EQ(DAT_SUCCESS, c_connect(p));
	for (i = 0; i < 2; i++)
		ASSERT_EQ(DAT_SUCCESS, dat_ep_post_send(p->ep[1], 0, NULL, a_cookie(50 + i), 0));
	for (i = 0; i < 2; i++)
		ASSERT_EQ(DAT_DTO_SUCCESS, a_dto(p->evd[1], NULL, NULL));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_disconnect(p->ep[0], DAT_CLOSE_ABRUPT_FLAG));
	for (i = 0; i < 2; i++) {
		EXPECT_EQ(DAT_DTO_SUCCESS, a_dto(p->evd[0], &cookie, NULL));
		EXPECT_EQ(i, cookie);
	}
	EXPECT_EQ(DAT_CONNECTION_EVENT_DISCONNECTED, c_next(p->evd[0]));
	EXPECT_TRUE(c_quiet(p->evd[0]));
	ASSERT_EQ(DAT_SUCCESS, dat_srq_query(self->srq, DAT_SRQ_FIELD_ALL, &param));
	EXPECT_EQ(3, param.available_dto_count);
	EXPECT_EQ(3, param.outstanding_dto_count);
}

/* Covers: dat_ep_reset; dat_ep_query; SH 10, 46, 51 */
TEST_F_TIMEOUT(life, a_reset_ep_still_has_its_srq, 60)
{
	struct a_pair *p = &self->p;
	DAT_EP_PARAM param;
	uint64_t cookie;
	int i;

	ASSERT_EQ(DAT_SUCCESS, give(self->srq, 7));
	ASSERT_EQ(DAT_SUCCESS, c_connect(p));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_disconnect(p->ep[1], DAT_CLOSE_ABRUPT_FLAG));
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(DAT_CONNECTION_EVENT_DISCONNECTED, c_next(p->evd[i]));
		ASSERT_EQ(DAT_SUCCESS, dat_ep_reset(p->ep[i]));
	}
	ASSERT_EQ(DAT_SUCCESS, dat_ep_query(p->ep[0], DAT_EP_FIELD_ALL, &param));
	EXPECT_EQ(self->srq, param.srq_handle);
	EXPECT_EQ(IS(SRQ_IN_USE), dat_srq_free(self->srq));
	ASSERT_EQ(DAT_SUCCESS, c_connect(p));
	ASSERT_EQ(DAT_SUCCESS, tell(p->ep[1]));
	EXPECT_EQ(DAT_DTO_SUCCESS, a_dto(p->evd[0], &cookie, NULL));
	EXPECT_EQ(7, cookie);
}

/* Covers: dat_ep_free; dat_srq_free INVALID_STATE|SRQ_IN_USE; dat_srq_free; SH 46, 53 */
TEST_F(life, an_srq_goes_when_its_last_ep_has_gone)
{
	EXPECT_EQ(IS(SRQ_IN_USE), dat_srq_free(self->srq));
	ASSERT_EQ(DAT_SUCCESS, give(self->srq, 1));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_free(self->p.ep[0]));
	/* Receives posted to the SRQ do not prevent dat_srq_free(). */
	EXPECT_EQ(DAT_SUCCESS, dat_srq_free(self->srq));
}

/* Covers: dat_srq_resize INVALID_STATE; dat_srq_set_lw; SH 47, 48 */
TEST_F(life, an_srq_is_not_shorter_than_its_low_watermark)
{
	ASSERT_EQ(DAT_SUCCESS, dat_srq_set_lw(self->srq, 6));
	EXPECT_EQ(DAT_INVALID_STATE, TYPE(dat_srq_resize(self->srq, 4)));
	EXPECT_EQ(DAT_SUCCESS, dat_srq_resize(self->srq, 6));
}

/* Covers: SH 47, 52 */
TEST_F_TIMEOUT(life, a_buffer_is_counted_until_its_message_is_dequeued, 60)
{
	struct a_pair *p = &self->p;
	DAT_EVENT event;
	DAT_RETURN rc;
	int i;

	for (i = 0; i < 8; i++)
		ASSERT_EQ(DAT_SUCCESS, give(self->srq, 10 + i));
	ASSERT_EQ(DAT_SUCCESS, c_connect(p));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_post_send(p->ep[1], 0, NULL, a_cookie(1), 0));
	ASSERT_EQ(DAT_DTO_SUCCESS, a_dto(p->evd[1], NULL, NULL));
	usleep(A_QUIET_US);
	rc = give(self->srq, 20);
	EXPECT_EQ(RC(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_SRQ), rc);
	ASSERT_EQ(1, a_event(p->evd[0], A_WAIT_US, &event));
	EXPECT_EQ(p->ep[0], event.event_data.dto_completion_event_data.ep_handle);
	EXPECT_EQ(10, event.event_data.dto_completion_event_data.user_cookie.as_64);
	EXPECT_EQ(DAT_SUCCESS, give(self->srq, 20));
}

/* --- all types of objects --------- */

/* A handle and its type.  kinds_of() lists handles of every type except connection requests. */
struct kind {
	DAT_HANDLE	handle;
	DAT_HANDLE_TYPE	type;
};

static int kinds_of(FIXTURE_DATA(life) *self, struct kind *k)
{
	struct a_pair *p = &self->p;
	int n = 0;

	k[n++] = (struct kind) { p->ia, DAT_HANDLE_TYPE_IA };
	k[n++] = (struct kind) { p->async, DAT_HANDLE_TYPE_EVD };
	k[n++] = (struct kind) { p->pz, DAT_HANDLE_TYPE_PZ };
	k[n++] = (struct kind) { p->evd[0], DAT_HANDLE_TYPE_EVD };
	k[n++] = (struct kind) { p->ep[0], DAT_HANDLE_TYPE_EP };
	k[n++] = (struct kind) { p->psp, DAT_HANDLE_TYPE_PSP };
	k[n++] = (struct kind) { p->mem.lmr, DAT_HANDLE_TYPE_LMR };
	k[n++] = (struct kind) { self->cno, DAT_HANDLE_TYPE_CNO };
	k[n++] = (struct kind) { self->srq, DAT_HANDLE_TYPE_SRQ };
	k[n++] = (struct kind) { self->rsp, DAT_HANDLE_TYPE_RSP };
	return n;
}

/* Covers: dat_get_handle_type; SH 66 */
TEST_F(life, every_handle_tells_its_type)
{
	DAT_HANDLE_TYPE type;
	struct kind k[10];
	int i, n = kinds_of(self, k);

	for (i = 0; i < n; i++) {
		ASSERT_EQ(DAT_SUCCESS, dat_get_handle_type(k[i].handle, &type));
		EXPECT_EQ(k[i].type, type);
	}
}

/* Covers: dat_set_consumer_context; dat_get_consumer_context; SH 67 */
TEST_F(life, every_handle_has_a_context_of_its_own)
{
	DAT_CONTEXT c = { .as_64 = 1 };
	struct kind k[10];
	int i, n = kinds_of(self, k);

	for (i = 0; i < n; i++) {
		ASSERT_EQ(DAT_SUCCESS, dat_get_consumer_context(k[i].handle, &c));
		EXPECT_EQ(NULL, c.as_ptr);
		c.as_64 = 0xffffffff00000000ULL + i;
		ASSERT_EQ(DAT_SUCCESS, dat_set_consumer_context(k[i].handle, c));
	}
	for (i = 0; i < n; i++) {
		ASSERT_EQ(DAT_SUCCESS, dat_get_consumer_context(k[i].handle, &c));
		EXPECT_EQ(0xffffffff00000000ULL + i, c.as_64);
	}
}

/* Covers: dat_set_consumer_context; dat_get_consumer_context; SH 67 */
TEST_F(life, a_new_context_replaces_the_old_one)
{
	DAT_CONTEXT one = { .as_64 = 1 }, none = { .as_ptr = NULL }, c;

	ASSERT_EQ(DAT_SUCCESS, dat_set_consumer_context(self->p.pz, one));
	ASSERT_EQ(DAT_SUCCESS, dat_set_consumer_context(self->p.pz, none));
	ASSERT_EQ(DAT_SUCCESS, dat_get_consumer_context(self->p.pz, &c));
	EXPECT_EQ(NULL, c.as_ptr);
}

/*
 * A connection request has no context at first.  Nor has the EP that a PSP with the provider flag
 * makes for the request, even if the PSP has a context.
 */
/* Covers: dat_get_handle_type; dat_get_consumer_context; SH 12, 67 */
TEST_F_TIMEOUT(life, a_request_begins_without_a_context, 60)
{
	DAT_CONTEXT mine = { .as_64 = 5 }, c = mine;
	struct a_pair *p = &self->p;
	DAT_HANDLE_TYPE type;
	DAT_PSP_HANDLE psp;
	DAT_CR_PARAM param;
	DAT_CR_HANDLE cr;

	ASSERT_EQ(DAT_SUCCESS, dat_psp_create(p->ia, A_QUAL + 2, p->cr, DAT_PSP_PROVIDER_FLAG,
					      &psp));
	ASSERT_EQ(DAT_SUCCESS, dat_set_consumer_context(psp, mine));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_connect(p->ep[1], p->attr.ia_address_ptr, A_QUAL + 2,
					      A_WAIT_US, 0, NULL, DAT_QOS_BEST_EFFORT, 0));
	cr = c_request(p);
	ASSERT_NE(NULL, cr);
	ASSERT_EQ(DAT_SUCCESS, dat_get_handle_type(cr, &type));
	EXPECT_EQ(DAT_HANDLE_TYPE_CR, type);
	ASSERT_EQ(DAT_SUCCESS, dat_get_consumer_context(cr, &c));
	EXPECT_EQ(NULL, c.as_ptr);
	ASSERT_EQ(DAT_SUCCESS, dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
	c = mine;
	ASSERT_EQ(DAT_SUCCESS, dat_get_consumer_context(param.local_ep_handle, &c));
	EXPECT_EQ(NULL, c.as_ptr);
}

/* Covers: dat_pz_query; dat_rsp_query; dat_psp_query; dat_cno_query; dat_evd_query */
TEST_F(life, every_object_knows_its_ia)
{
	struct a_pair *p = &self->p;
	DAT_PZ_PARAM pz;
	DAT_RSP_PARAM rsp;
	DAT_PSP_PARAM psp;
	DAT_CNO_PARAM cno;
	DAT_EVD_PARAM evd;

	ASSERT_EQ(DAT_SUCCESS, dat_pz_query(p->pz, DAT_PZ_FIELD_ALL, &pz));
	EXPECT_EQ(p->ia, pz.ia_handle);
	ASSERT_EQ(DAT_SUCCESS, dat_rsp_query(self->rsp, DAT_RSP_FIELD_ALL, &rsp));
	EXPECT_EQ(p->ia, rsp.ia_handle);
	ASSERT_EQ(DAT_SUCCESS, dat_psp_query(p->psp, DAT_PSP_FIELD_ALL, &psp));
	EXPECT_EQ(p->ia, psp.ia_handle);
	ASSERT_EQ(DAT_SUCCESS, dat_cno_query(self->cno, DAT_CNO_FIELD_ALL, &cno));
	EXPECT_EQ(p->ia, cno.ia_handle);
	ASSERT_EQ(DAT_SUCCESS, dat_evd_query(p->evd[0], DAT_EVD_FIELD_ALL, &evd));
	EXPECT_EQ(p->ia, evd.ia_handle);
}

/* Covers: dat_pz_create; dat_pz_free; dat_cno_create; dat_cno_free; dat_evd_create; dat_evd_free */
TEST_F(life, what_was_made_can_be_freed)
{
	DAT_OS_WAIT_PROXY_AGENT agent = DAT_OS_WAIT_PROXY_AGENT_NULL;
	DAT_IA_HANDLE ia = self->p.ia;
	DAT_HANDLE pz, cno, evd;

	ASSERT_EQ(DAT_SUCCESS, dat_pz_create(ia, &pz));
	ASSERT_EQ(DAT_SUCCESS, dat_cno_create(ia, agent, &cno));
	ASSERT_EQ(DAT_SUCCESS, dat_evd_create(ia, 4, cno, DAT_EVD_DTO_FLAG, &evd));
	EXPECT_EQ(DAT_SUCCESS, dat_evd_free(evd));
	EXPECT_EQ(DAT_SUCCESS, dat_cno_free(cno));
	EXPECT_EQ(DAT_SUCCESS, dat_pz_free(pz));
}

/* --- attributes --------- */

/* Covers: dat_ia_query; SH 72 */
TEST_F(life, asking_for_nothing_is_legal)
{
	EXPECT_EQ(DAT_SUCCESS, dat_ia_query(self->p.ia, NULL, DAT_IA_FIELD_NONE, NULL,
					    DAT_PROVIDER_FIELD_NONE, NULL));
}

/* Covers: dat_ia_query; dat_ia_open; dat_registry_list_providers; SH 72 */
TEST_F(life, the_attributes_are_those_of_the_registry)
{
	DAT_PROVIDER_INFO info[8], *list[8];
	DAT_PROVIDER_ATTR provider;
	DAT_COUNT n = 0, i, at;
	DAT_IA_ATTR attr;

	for (i = 0; i < 8; i++)
		list[i] = &info[i];
	dat_registry_list_providers(8, &n, list);
	ASSERT_LE(1, n);
	ASSERT_EQ(DAT_SUCCESS, dat_ia_query(self->p.ia, NULL, DAT_IA_FIELD_ALL, &attr,
					    DAT_PROVIDER_FIELD_ALL, &provider));
	EXPECT_STREQ(a_adapter(), attr.adapter_name);
	for (at = 0; at < n && strcmp(info[at].ia_name, attr.adapter_name); at++)
		;
	ASSERT_LT(at, n);
	EXPECT_EQ(info[at].dapl_version_major, provider.dapl_version_major);
	EXPECT_EQ(info[at].dapl_version_minor, provider.dapl_version_minor);
	EXPECT_EQ(info[at].is_thread_safe, provider.is_thread_safe);
}

/* Covers: dat_ia_query; SH 70, 72 */
TEST_F(life, the_attributes_make_sense)
{
	DAT_PROVIDER_ATTR a;

	ASSERT_EQ(DAT_SUCCESS, dat_ia_query(self->p.ia, NULL, 0, NULL, DAT_PROVIDER_FIELD_ALL, &a));
	ASSERT_LT(0, a.optimal_buffer_alignment);
	EXPECT_EQ(0, DAT_OPTIMAL_ALIGNMENT % a.optimal_buffer_alignment);
	EXPECT_LT(0, a.max_private_data_size);
	/* Only an adapter over iWARP has no immediate data. */
	ASSERT_EQ(a.rdma_write_for_rdma_read_req ? 1 : 2, a.num_provider_specific_attr);
	EXPECT_STREQ("relaxed_order", a.provider_specific_attr[0].name);
	EXPECT_STREQ("none", a.provider_specific_attr[0].value);
	if (a.num_provider_specific_attr == 2) {
		EXPECT_STREQ("immediate_data", a.provider_specific_attr[1].name);
		EXPECT_STREQ("1", a.provider_specific_attr[1].value);
	}
	EXPECT_NE(DAT_PSP_CREATES_EP_ALWAYS, a.ep_creator);
	EXPECT_EQ(DAT_FALSE, a.supports_multipath);
	EXPECT_LT(0, self->p.attr.max_eps);
	EXPECT_LT(0, self->p.attr.max_lmrs);
	EXPECT_LT(0, self->p.attr.max_pzs);
	EXPECT_LT(0, self->p.attr.max_evds);
	EXPECT_NE(NULL, self->p.attr.ia_address_ptr);
}

/* Covers: dat_ia_query; SH 72 */
TEST_F(life, windows_are_counted_only_where_there_are_some)
{
	struct a_pair *p = &self->p;

	EXPECT_EQ(!p->attr.max_rmrs, !p->attr.max_rmr_target_address);
}

/* --- close --------- */

/* Covers: dat_ia_close INVALID_STATE|IA_IN_USE; SH 65 */
TEST_F_TIMEOUT(life, a_graceful_close_of_what_is_used_changes_nothing, 60)
{
	struct a_pair *p = &self->p;
	struct kind k[10];
	DAT_HANDLE_TYPE type;
	int i, n = kinds_of(self, k);

	ASSERT_EQ(DAT_SUCCESS, c_connect(p));
	EXPECT_EQ(IS(IA_IN_USE), dat_ia_close(p->ia, DAT_CLOSE_GRACEFUL_FLAG));
	for (i = 0; i < n; i++)
		EXPECT_EQ(DAT_SUCCESS, dat_get_handle_type(k[i].handle, &type));
	ASSERT_EQ(DAT_SUCCESS, give(self->srq, 1));
	ASSERT_EQ(DAT_SUCCESS, tell(p->ep[1]));
	EXPECT_EQ(DAT_DTO_SUCCESS, a_dto(p->evd[0], NULL, NULL));
}

/*
 * A graceful close fails while the IA has an object, except the async EVD that the open has made.
 */
/* Covers: dat_ia_close INVALID_STATE|IA_IN_USE; dat_ia_close; SH 65 */
TEST(a_graceful_close_waits_for_each_kind_of_object)
{
	DAT_OS_WAIT_PROXY_AGENT agent = DAT_OS_WAIT_PROXY_AGENT_NULL;
	DAT_EVD_HANDLE async;
	DAT_IA_HANDLE ia;
	DAT_HANDLE h;

	ASSERT_EQ(DAT_SUCCESS, a_ia(&ia, &async));
	ASSERT_EQ(DAT_SUCCESS, dat_pz_create(ia, &h));
	EXPECT_EQ(IS(IA_IN_USE), dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
	ASSERT_EQ(DAT_SUCCESS, dat_pz_free(h));
	ASSERT_EQ(DAT_SUCCESS, dat_cno_create(ia, agent, &h));
	EXPECT_EQ(IS(IA_IN_USE), dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
	ASSERT_EQ(DAT_SUCCESS, dat_cno_free(h));
	ASSERT_EQ(DAT_SUCCESS, dat_evd_create(ia, 4, NULL, DAT_EVD_DTO_FLAG, &h));
	EXPECT_EQ(IS(IA_IN_USE), dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
	ASSERT_EQ(DAT_SUCCESS, dat_evd_free(h));
	EXPECT_EQ(DAT_SUCCESS, dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
}

/* Abruptly close an IA that has a connection, a service point, and an unanswered request. */
/* Covers: dat_ia_close; SH 63, 65 */
TEST_F_TIMEOUT(life, an_abrupt_close_ends_everything, 60)
{
	struct a_pair *p = &self->p, peer;
	struct kind k[10];
	DAT_HANDLE_TYPE type;
	int i, n = kinds_of(self, k);
	DAT_CR_HANDLE cr;

	/* The peer is another IA of this process. */
	ASSERT_EQ(DAT_SUCCESS, dat_psp_free(p->psp));
	ASSERT_EQ(DAT_SUCCESS, a_open(&peer));
	ASSERT_EQ(DAT_SUCCESS, c_ask(p, p->ep[1]));
	cr = c_request(&peer);
	ASSERT_NE(NULL, cr);
	ASSERT_EQ(DAT_SUCCESS, dat_cr_accept(cr, peer.ep[0], 0, NULL));
	ASSERT_EQ(DAT_CONNECTION_EVENT_ESTABLISHED, c_next(peer.evd[0]));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_connect(peer.ep[1], p->attr.ia_address_ptr, A_QUAL + 1,
					      A_WAIT_US, 0, NULL, DAT_QOS_BEST_EFFORT, 0));
	usleep(A_QUIET_US);
	ASSERT_EQ(DAT_SUCCESS, dat_ia_close(p->ia, DAT_CLOSE_ABRUPT_FLAG));
	for (i = 0; i < n; i++)
		if (k[i].type != DAT_HANDLE_TYPE_PSP) /* a new PSP may reuse the handle */
			EXPECT_EQ(IH1, dat_get_handle_type(k[i].handle, &type));
	EXPECT_EQ(DAT_CONNECTION_EVENT_DISCONNECTED, c_next(peer.evd[0]));
	EXPECT_EQ(DAT_CONNECTION_EVENT_NON_PEER_REJECTED, c_next(peer.evd[1]));
	a_close(&peer);
	ASSERT_EQ(DAT_SUCCESS, a_open(p));
}

/* --- fork() --------- */

static int status_of(pid_t pid)
{
	int status = -1;

	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Return 1 if a message from ep[1] arrives at ep[0], else 0. */
static int works(FIXTURE_DATA(life) *self)
{
	return give(self->srq, 1) == DAT_SUCCESS && tell(self->p.ep[1]) == DAT_SUCCESS &&
	       a_dto(self->p.evd[0], NULL, NULL) == DAT_DTO_SUCCESS;
}

/* Covers: SH 73 */
TEST_F_TIMEOUT(life, a_child_that_ends_takes_nothing_along, 60)
{
	pid_t pid;

	ASSERT_EQ(DAT_SUCCESS, c_connect(&self->p));
	pid = fork();
	if (!pid)
		exit(0); /* exit() runs all exit handlers */
	EXPECT_EQ(0, status_of(pid));
	EXPECT_TRUE(works(self));
}

/* Covers: dat_ia_close; SH 73 */
TEST_F_TIMEOUT(life, a_child_that_closes_takes_nothing_along, 60)
{
	pid_t pid;

	ASSERT_EQ(DAT_SUCCESS, c_connect(&self->p));
	pid = fork();
	if (!pid) {
		dat_ia_close(self->p.ia, DAT_CLOSE_ABRUPT_FLAG);
		_exit(0);
	}
	EXPECT_EQ(0, status_of(pid));
	EXPECT_EQ(DAT_EP_STATE_CONNECTED, c_state(self->p.ep[0]));
	EXPECT_TRUE(works(self));
}

/* Covers: dat_ia_open; SH 73 */
TEST_F_TIMEOUT(life, a_child_can_open_for_itself, 60)
{
	DAT_EVD_HANDLE async;
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;
	pid_t pid;

	pid = fork();
	if (!pid) {
		if (a_ia(&ia, &async) || dat_pz_create(ia, &pz) || dat_pz_free(pz))
			_exit(1);
		_exit(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG) == DAT_SUCCESS ? 0 : 2);
	}
	EXPECT_EQ(0, status_of(pid));
}

/* Call every function that would read or write pages that the child has not inherited. */
static int child_uses_handles(FIXTURE_DATA(life) *self)
{
	DAT_EP_HANDLE ep = self->p.ep[1];
	DAT_EVD_HANDLE evd = self->p.evd[0];
	DAT_LMR_TRIPLET seg = a_seg(&self->p.mem, 0, 1);
	DAT_RETURN rc[] = {
		dat_evd_wait(evd, 1000, 1, &(DAT_EVENT) {}, &(DAT_COUNT) { 0 }),
		dat_evd_dequeue(evd, &(DAT_EVENT) {}),
		dat_evd_query(evd, DAT_EVD_FIELD_ALL, &(DAT_EVD_PARAM) {}),
		dat_evd_resize(evd, 2048),
		dat_evd_post_se(evd, &(DAT_EVENT) { .event_number = DAT_SOFTWARE_EVENT }),
		dat_cno_wait(self->cno, 1000, &(DAT_EVD_HANDLE) { 0 }),
		dat_ep_post_send(ep, 1, &seg, a_cookie(1), DAT_COMPLETION_DEFAULT_FLAG),
		dat_ep_post_recv(ep, 1, &seg, a_cookie(1), DAT_COMPLETION_DEFAULT_FLAG),
		dat_ep_get_status(ep, &(DAT_EP_STATE) { 0 }, NULL, NULL),
		dat_ep_query(ep, DAT_EP_FIELD_ALL, &(DAT_EP_PARAM) {}),
		dat_ep_recv_query(ep, &(DAT_COUNT) { 0 }, NULL),
		dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG),
		dat_srq_post_recv(self->srq, 1, &seg, a_cookie(1)),
		dat_srq_query(self->srq, DAT_SRQ_FIELD_ALL, &(DAT_SRQ_PARAM) {}),
		dat_srq_resize(self->srq, 16),
		dat_lmr_free(self->p.mem.lmr),
		dat_ep_free(ep),
		dat_evd_free(evd),
		dat_ia_query(self->p.ia, NULL, DAT_IA_FIELD_ALL, &(DAT_IA_ATTR) {}, 0, NULL),
		dat_ia_close(self->p.ia, DAT_CLOSE_ABRUPT_FLAG),
	};
	unsigned int i;

	for (i = 0; i < sizeof(rc) / sizeof(rc[0]); i++)
		if (TYPE(rc[i]) != DAT_INVALID_HANDLE)
			return (int)i + 1;
	return 0;
}

/* Covers: SH 73 */
TEST_F_TIMEOUT(life, a_child_has_no_valid_handle, 60)
{
	pid_t pid;

	ASSERT_EQ(DAT_SUCCESS, c_connect(&self->p));
	pid = fork();
	if (!pid)
		_exit(child_uses_handles(self));
	EXPECT_EQ(0, status_of(pid));
	EXPECT_TRUE(works(self));
}

/* --- descriptors that the program has closed --------- */

/* Covers: SH 73 */
TEST_F_TIMEOUT(life, a_file_in_the_place_of_the_closed_device_stays_open, 60)
{
	int fd = device_fd("/dev/dat");
	DAT_PZ_HANDLE pz;
	struct stat at;

	ASSERT_LE(0, fd);
	close(fd);
	ASSERT_EQ(fd, memfd_create("file", 0));
	EXPECT_EQ(RC(DAT_INTERNAL_ERROR, DAT_RESOURCE_DEVICE), dat_pz_create(self->p.ia, &pz));
	EXPECT_EQ(DAT_SUCCESS, dat_ia_close(self->p.ia, DAT_CLOSE_ABRUPT_FLAG));
	ASSERT_EQ(0, fstat(fd, &at));
	EXPECT_TRUE(S_ISREG(at.st_mode));
	/* The driver has let go of everything: the adapter and its port can be used again. */
	EXPECT_EQ(DAT_SUCCESS, a_open(&self->p));
	close(fd);
}

/* Covers: SH 73 */
TEST_F_TIMEOUT(life, an_adapter_in_the_place_of_a_closed_one_is_not_affected, 60)
{
	DAT_EVD_HANDLE async;
	DAT_IA_HANDLE other;
	DAT_PZ_HANDLE pz;
	int fd = device_fd("/dev/dat");

	ASSERT_LE(0, fd);
	close(fd);
	ASSERT_EQ(DAT_SUCCESS, a_ia(&other, &async));
	/* A call for the first adapter must not reach the second one. */
	EXPECT_EQ(RC(DAT_INTERNAL_ERROR, DAT_RESOURCE_DEVICE), dat_pz_create(self->p.ia, &pz));
	EXPECT_EQ(DAT_SUCCESS, dat_ia_close(self->p.ia, DAT_CLOSE_ABRUPT_FLAG));
	EXPECT_EQ(DAT_SUCCESS, dat_pz_create(other, &pz));
	EXPECT_EQ(DAT_SUCCESS, dat_ia_close(other, DAT_CLOSE_ABRUPT_FLAG));
	EXPECT_EQ(-1, device_fd("/dev/dat"));
	EXPECT_EQ(DAT_SUCCESS, a_open(&self->p));
}

/* The other library gets the descriptor.  Both devices know some of the same calls. */
TEST_F_TIMEOUT(life, rsm_in_the_place_of_the_closed_device_is_not_affected, 60)
{
	const DAT_RETURN closed = RC(DAT_INTERNAL_ERROR, DAT_RESOURCE_DEVICE);
	int fd = device_fd("/dev/dat");
	rsmapi_controller_handle_t ctlr;
	DAT_PZ_HANDLE pz;
	DAT_RETURN rc;

	ASSERT_LE(0, fd);
	ASSERT_EQ(DAT_SUCCESS, c_connect(&self->p));
	close(fd);
	ASSERT_EQ(RSM_SUCCESS, rsm_get_controller("loopback", &ctlr));
	ASSERT_EQ(fd, device_fd("/dev/rsm"));
	a_log_begin();
	rc = dat_linux_ia_poller(self->p.ia, 1000000, -1);
	EXPECT_NE(NULL, strstr(a_log_end(), "the program has closed descriptor"));
	EXPECT_EQ(closed, rc);
	EXPECT_EQ(closed, dat_pz_create(self->p.ia, &pz));
	EXPECT_EQ(closed, tell(self->p.ep[0]));
	EXPECT_EQ(DAT_SUCCESS, dat_ia_close(self->p.ia, DAT_CLOSE_ABRUPT_FLAG));
	EXPECT_EQ(fd, device_fd("/dev/rsm"));
	EXPECT_EQ(RSM_SUCCESS, rsm_release_controller(ctlr));
	EXPECT_EQ(DAT_SUCCESS, a_open(&self->p));
}

/* A post that asks the driver for nothing but to look says so, too. */
TEST_F_TIMEOUT(life, a_post_tells_that_the_device_is_closed, 60)
{
	int fd = device_fd("/dev/dat");
	DAT_RETURN rc;

	ASSERT_LE(0, fd);
	ASSERT_EQ(DAT_SUCCESS, c_connect(&self->p));
	a_log_begin();
	close(fd);
	rc = tell(self->p.ep[0]);
	EXPECT_NE(NULL, strstr(a_log_end(), "the program has closed descriptor"));
	EXPECT_EQ(RC(DAT_INTERNAL_ERROR, DAT_RESOURCE_DEVICE), rc);
	EXPECT_EQ(DAT_SUCCESS, dat_ia_close(self->p.ia, DAT_CLOSE_ABRUPT_FLAG));
	EXPECT_EQ(DAT_SUCCESS, a_open(&self->p));
}

TEST_F_TIMEOUT(life, an_adapter_in_the_place_of_closed_rsm_is_not_affected, 60)
{
	static char page[4096] __attribute__((aligned(4096)));
	rsm_memseg_export_handle_t seg;
	rsmapi_controller_handle_t ctlr;
	DAT_EVD_HANDLE async;
	DAT_IA_HANDLE other;
	DAT_PZ_HANDLE pz;
	struct stat at, dev;
	int fd, ret;

	ASSERT_EQ(RSM_SUCCESS, rsm_get_controller("loopback", &ctlr));
	fd = device_fd("/dev/rsm");
	ASSERT_LE(0, fd);
	close(fd);
	ASSERT_EQ(DAT_SUCCESS, a_ia(&other, &async));
	ASSERT_EQ(0, fstat(fd, &at));
	ASSERT_EQ(0, stat("/dev/dat", &dev));
	ASSERT_EQ(dev.st_rdev, at.st_rdev);
	a_log_begin();
	ret = rsm_memseg_export_create(ctlr, &seg, page, sizeof(page), RSM_ALLOW_REBIND);
	EXPECT_NE(NULL, strstr(a_log_end(), "the program has closed descriptor"));
	EXPECT_EQ(RSMERR_CTLR_NOT_PRESENT, ret);
	EXPECT_EQ(DAT_SUCCESS, dat_pz_create(other, &pz));
	EXPECT_EQ(DAT_SUCCESS, dat_ia_close(other, DAT_CLOSE_ABRUPT_FLAG));
}

/*
 * A thread that waits in the driver keeps the open file, and no call can wake it.  The close says
 * so instead of waiting for ever.
 */
TEST_F_TIMEOUT(life, a_close_does_not_wait_for_a_thread_that_it_cannot_wake, 60)
{
	int fd = device_fd("/dev/dat"), copy;

	ASSERT_EQ(DAT_SUCCESS, dat_linux_ia_poller(self->p.ia, 1000000, -1));
	ASSERT_LE(0, fd);
	copy = dup(fd);
	close(fd);
	EXPECT_EQ(RC(DAT_INTERNAL_ERROR, DAT_RESOURCE_DEVICE),
		  dat_ia_close(self->p.ia, DAT_CLOSE_ABRUPT_FLAG));
	ASSERT_EQ(fd, dup2(copy, fd));
	close(copy);
	EXPECT_EQ(DAT_SUCCESS, dat_ia_close(self->p.ia, DAT_CLOSE_ABRUPT_FLAG));
	EXPECT_EQ(-1, device_fd("/dev/dat"));
	EXPECT_EQ(DAT_SUCCESS, a_open(&self->p));
}

/* Covers: SH 73 */
TEST_F(life, no_program_inherits_the_device)
{
	char path[300], target[64];
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *e;
	ssize_t n;
	int found = 0;

	while ((e = readdir(dir))) {
		snprintf(path, sizeof(path), "/proc/self/fd/%s", e->d_name);
		n = readlink(path, target, sizeof(target) - 1);
		if (n < 0)
			continue;
		target[n] = '\0';
		if (strcmp(target, "/dev/dat"))
			continue;
		found++;
		EXPECT_EQ(FD_CLOEXEC, fcntl(atoi(e->d_name), F_GETFD));
	}
	closedir(dir);
	EXPECT_LT(0, found);
}

TEST_HARNESS_MAIN
