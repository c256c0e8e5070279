// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* Every argument field that takes an id, with every kind of invalid id. */
#define _GNU_SOURCE
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "dat_test.h"
#include "ioctl_test.h"

IOCTL_FIXTURE(ids)

static void expect_enoent_of_objects(struct __test_metadata *_metadata,
				     FIXTURE_DATA(ids) *self, uint32_t bad)
{
	uint32_t type;

	for (type = DAT_OBJ_PZ; type < DAT_OBJ_IA; type++)
		EXPECT_ERR(ENOENT, FREE, (struct dat_free) { .type = type, .id = bad });
	EXPECT_ERR(ENOENT, LMR_CREATE, (struct dat_lmr_create) {
		   .pz = bad, .addr = 4096, .length = 1 });
	EXPECT_ERR(ENOENT, EVD_WAIT, (struct dat_evd_wait) { .id = bad, .threshold = 1 });
	EXPECT_ERR(ENOENT, EVD_POLL, (struct dat_evd_poll) { .id = bad });
	EXPECT_EQ(-ENOENT, t_word(&self->f, DAT_IOC_EVD_LOOK, bad));
	EXPECT_EQ(-ENOENT, t_word(&self->f, DAT_IOC_EVD_SLEEP, bad));
	EXPECT_ERR(ENOENT, EVD_POST, (struct dat_evd_post) { .id = bad });
	EXPECT_ERR(ENOENT, EVD_SET, (struct dat_evd_set) { .id = bad });
	EXPECT_ERR(ENOENT, SRQ_CREATE, (struct dat_srq_create) {
		   .pz = bad, .max_recv = 1, .max_iov = 1 });
	EXPECT_ERR(ENOENT, EP_CREATE, (struct dat_ep_create) { .pz = bad });
	/* In the id fields below, 0 is valid and means "no object". */
	if (!bad)
		return;
	EXPECT_ERR(ENOENT, EP_CREATE, (struct dat_ep_create) { .pz = self->pz, .recv_evd = bad });
	EXPECT_ERR(ENOENT, EP_CREATE, (struct dat_ep_create) {
		   .pz = self->pz, .request_evd = bad });
	EXPECT_ERR(ENOENT, EP_CREATE, (struct dat_ep_create) {
		   .pz = self->pz, .connect_evd = bad });
	EXPECT_ERR(ENOENT, EP_CREATE, (struct dat_ep_create) {
		   .pz = self->pz, .recv_evd = self->evd.id, .srq = bad });
}

static void expect_enoent_of_connections(struct __test_metadata *_metadata,
					 FIXTURE_DATA(ids) *self, uint32_t bad)
{
	struct dat_ep_connect connect = {
		.id = bad, .conn_qual = T_QUAL, .timeout_us = 1000,
	};

	memcpy(connect.addr, self->f.info.addr, sizeof(connect.addr));
	connect.addr_len = self->f.info.addr_len;
	EXPECT_ERR(ENOENT, EP_CONNECT, connect);
	EXPECT_ERR(ENOENT, EP_DISCONNECT, (struct dat_ep_disconnect) { .id = bad });
	EXPECT_ERR(ENOENT, EP_RESET, (struct dat_ep_reset) { .id = bad });
	EXPECT_ERR(ENOENT, EP_QUERY, (struct dat_ep_query) { .id = bad });
	EXPECT_ERR(ENOENT, PSP_CREATE, (struct dat_psp_create) {
		   .evd = bad, .conn_qual = T_QUAL });
	EXPECT_ERR(ENOENT, CR_QUERY, (struct dat_cr_query) { .id = bad });
	EXPECT_ERR(ENOENT, CR_ACCEPT, (struct dat_cr_accept) { .id = bad, .ep = self->ep.id });
	EXPECT_ERR(ENOENT, CR_REJECT, (struct dat_cr_reject) { .id = bad });
}

static void expect_enoent(struct __test_metadata *_metadata, FIXTURE_DATA(ids) *self,
			  uint32_t bad)
{
	expect_enoent_of_objects(_metadata, self, bad);
	expect_enoent_of_connections(_metadata, self, bad);
}

TEST_F(ids, that_never_were_are_ENOENT)
{
	expect_enoent(_metadata, self, 0);
	expect_enoent(_metadata, self, 100000);
	expect_enoent(_metadata, self, 0x80000000U);
	expect_enoent(_metadata, self, ~0U);
}

TEST_F(ids, that_are_freed_are_ENOENT)
{
	uint32_t pz;

	ASSERT_EQ(0, t_pz(&self->f, &pz));
	ASSERT_EQ(0, t_free(&self->f, DAT_OBJ_PZ, pz));
	expect_enoent(_metadata, self, pz);
}

/* The invalid id is that of an LMR, so the test skips DAT_OBJ_LMR. */
TEST_F(ids, of_another_type_are_ENOENT)
{
	struct t_lmr lmr;
	uint32_t type;

	ASSERT_EQ(0, t_lmr(&self->f, self->pz, 4096, 0, &lmr));
	for (type = DAT_OBJ_PZ; type < DAT_OBJ_IA; type++)
		if (type != DAT_OBJ_LMR)
			EXPECT_ERR(ENOENT, FREE, (struct dat_free) { .type = type, .id = lmr.id });
	EXPECT_ERR(ENOENT, LMR_CREATE, (struct dat_lmr_create) {
		   .pz = self->evd.id, .addr = 4096, .length = 1 });
	EXPECT_ERR(ENOENT, EVD_WAIT, (struct dat_evd_wait) { .id = lmr.id, .threshold = 1 });
	EXPECT_ERR(ENOENT, EVD_POLL, (struct dat_evd_poll) { .id = lmr.id });
	EXPECT_ERR(ENOENT, EVD_POST, (struct dat_evd_post) { .id = lmr.id });
	EXPECT_ERR(ENOENT, EVD_SET, (struct dat_evd_set) { .id = lmr.id });
	EXPECT_ERR(ENOENT, EP_CREATE, (struct dat_ep_create) { .pz = lmr.id });
	EXPECT_ERR(ENOENT, EP_CREATE, (struct dat_ep_create) {
		   .pz = self->pz, .recv_evd = lmr.id });
	EXPECT_ERR(ENOENT, EP_CREATE, (struct dat_ep_create) {
		   .pz = self->pz, .recv_evd = self->evd.id, .srq = lmr.id });
	expect_enoent_of_connections(_metadata, self, lmr.id);
	EXPECT_EQ(0, t_free(&self->f, DAT_OBJ_LMR, lmr.id));
}

TEST_F(ids, of_another_file_are_ENOENT)
{
	struct t_file other;
	uint32_t pz;
	int i;

	ASSERT_EQ(0, t_open(&other));
	/* Make the id of @other larger than all ids of the first file. */
	for (i = 0; i < 50; i++)
		ASSERT_EQ(0, t_pz(&other, &pz));
	expect_enoent(_metadata, self, pz);
	t_close(&other);
}

TEST_F(ids, in_use_by_children_are_EBUSY)
{
	EXPECT_EQ(-EBUSY, t_free(&self->f, DAT_OBJ_PZ, self->pz));
	EXPECT_EQ(-EBUSY, t_free(&self->f, DAT_OBJ_EVD, self->evd.id));
	EXPECT_EQ(0, t_free(&self->f, DAT_OBJ_EP, self->ep.id));
	EXPECT_EQ(0, t_free(&self->f, DAT_OBJ_PZ, self->pz));
	/* self->evd is the EVD for async events, which can only be freed together with the IA. */
	EXPECT_EQ(-EBUSY, t_free(&self->f, DAT_OBJ_EVD, self->evd.id));
}

TEST_F(ids, of_two_zones_do_not_mix)
{
	struct t_srq srq;
	uint32_t other;

	ASSERT_EQ(0, t_pz(&self->f, &other));
	ASSERT_EQ(0, t_srq(&self->f, other, 4, &srq));
	EXPECT_ERR(EXDEV, EP_CREATE, (struct dat_ep_create) { .pz = self->pz, .srq = srq.id });
}

/* An EVD must have the stream that the call needs. */
TEST_F(ids, of_evds_for_other_streams_are_EINVAL)
{
	struct t_evd dto, conn;

	ASSERT_EQ(0, t_evd(&self->f, DAT_STREAM_DTO, 4, &dto));
	ASSERT_EQ(0, t_evd(&self->f, DAT_STREAM_CONNECTION, 4, &conn));
	EXPECT_ERR(EINVAL, EP_CREATE, (struct dat_ep_create) {
		   .pz = self->pz, .connect_evd = dto.id });
	EXPECT_ERR(EINVAL, EP_CREATE, (struct dat_ep_create) {
		   .pz = self->pz, .recv_evd = conn.id });
	EXPECT_ERR(EINVAL, EP_CREATE, (struct dat_ep_create) {
		   .pz = self->pz, .request_evd = conn.id });
	EXPECT_ERR(EINVAL, PSP_CREATE, (struct dat_psp_create) {
		   .evd = dto.id, .conn_qual = T_QUAL });
	EXPECT_ERR(EINVAL, EVD_POST, (struct dat_evd_post) { .id = dto.id });
}

TEST_F(ids, ended_requests_are_ENOENT)
{
	struct dat_cr_query query = { .size = sizeof(query) };
	struct dat_eqe eqe;
	struct t_pair p;

	ASSERT_EQ(0, t_pair_open(&p));
	ASSERT_EQ(0, t_connect(&p.f, &p.ep[1], T_QUAL, NULL, 0));
	ASSERT_EQ(1, t_event(&p.cr, T_WAIT_MS, &eqe));
	query.id = eqe.len;
	EXPECT_EQ(0, t_ioctl(p.f.fd, DAT_IOC_CR_QUERY, &query));
	ASSERT_EQ(0, t_accept(&p.f, query.id, &p.ep[0], NULL, 0));
	EXPECT_EQ(-ENOENT, t_accept(&p.f, query.id, &p.ep[0], NULL, 0));
	EXPECT_EQ(-ENOENT, t_ioctl(p.f.fd, DAT_IOC_CR_QUERY, &query));
	EXPECT_EQ(-ENOENT, t_free(&p.f, DAT_OBJ_CR, query.id));
	t_pair_close(&p);
}

TEST_F(ids, are_nothing_to_a_child)
{
	int status;
	pid_t pid = fork();

	ASSERT_LE(0, pid);
	if (!pid) {
		uint32_t pz;

		_exit(t_pz(&self->f, &pz) == -EPERM && t_kick(&self->f) == -EPERM &&
		      t_free(&self->f, DAT_OBJ_EP, self->ep.id) == -EPERM ? 0 : 1);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	/* The exit of the child has closed only the child's own descriptor. */
	EXPECT_EQ(0, t_free(&self->f, DAT_OBJ_EP, self->ep.id));
}

/* Returns the number of the open file, or 0 after an error. */
static uint64_t number(int fd)
{
	struct dat_abi abi = { .size = sizeof(abi) };

	return t_ioctl(fd, DAT_IOC_ABI, &abi) ? 0 : abi.file;
}

TEST_F(ids, each_open_file_has_a_number_that_a_child_sees_too)
{
	uint64_t mine = number(self->f.fd);
	struct t_file other;
	int status, copy;
	pid_t pid;

	ASSERT_EQ(0, t_open(&other));
	EXPECT_NE(0, mine);
	EXPECT_NE(mine, number(other.fd));
	copy = dup(self->f.fd);
	EXPECT_EQ(mine, number(copy));
	close(copy);
	pid = fork();
	if (!pid)
		_exit(number(self->f.fd) != mine);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	t_close(&other);
}

TEST_F(ids, are_all_ENODEV_after_IA_CLOSE)
{
	struct dat_ia_close close_arg = { .size = sizeof(close_arg) };
	struct dat_evd_poll poll_arg = { .size = sizeof(poll_arg), .id = self->evd.id };
	uint32_t pz;

	ASSERT_EQ(0, t_ioctl(self->f.fd, DAT_IOC_IA_CLOSE, &close_arg));
	EXPECT_EQ(-ENODEV, t_pz(&self->f, &pz));
	EXPECT_EQ(-ENODEV, t_kick(&self->f));
	EXPECT_EQ(-ENODEV, t_evd_wait(&self->evd, 1, 0));
	EXPECT_EQ(-ENODEV, t_ioctl(self->f.fd, DAT_IOC_EVD_POLL, &poll_arg));
	EXPECT_EQ(-ENODEV, t_word(&self->f, DAT_IOC_EVD_LOOK, self->evd.id));
	EXPECT_EQ(-ENODEV, t_word(&self->f, DAT_IOC_EVD_SLEEP, self->evd.id));
	EXPECT_EQ(-ENODEV, t_free(&self->f, DAT_OBJ_EP, self->ep.id));
	EXPECT_EQ(-ENODEV, t_ioctl(self->f.fd, DAT_IOC_IA_CLOSE, &close_arg));
	/* The mapped pages stay readable after the close. */
	EXPECT_EQ(0, self->ep.st->state);
}

TEST_HARNESS_MAIN
