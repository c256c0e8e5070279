// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* The provider for libfabric: messages, RMA, completions and waits. */
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "kselftest_harness.h"
#include "fi_test.h"

/* Places of the endpoints.  The queues of DAT are longer: their length is a power of two. */
#define TX	12
#define LONG	(2UL << 20)

static void __attribute__((constructor)) start(void)
{
	f_start();
}

FIXTURE(data) {
	struct f_pair p;
	struct f_end *client;
	struct f_end *server;
	void *desc;
};

FIXTURE_SETUP(data)
{
	self->p.opts = (struct f_opts){ .tx_size = TX, .rx_size = TX };
	ASSERT_EQ(0, f_open(&self->p));
	ASSERT_EQ(0, f_connect(&self->p));
	self->client = &self->p.client;
	self->server = &self->p.server;
	self->desc = fi_mr_desc(self->p.mr);
}

FIXTURE_TEARDOWN(data)
{
	f_close(&self->p);
}

/* Tests that open what they need: only a test with a fixture can have a time limit. */
FIXTURE(own) {
};

FIXTURE_SETUP(own)
{
}

FIXTURE_TEARDOWN(own)
{
}

#define CTX(n)	((void *)(uintptr_t)(0x1000 + (n)))

/* ---- Messages ---- */

TEST_F_TIMEOUT(data, a_message_completes_at_both_ends, F_TEST_S)
{
	struct fi_cq_tagged_entry entry;
	struct f_pair *p = &self->p;

	memset(p->mem, 'm', 3000);
	ASSERT_EQ(0, f_recv(p, self->server->ep, 8192, 4096, CTX(1)));
	ASSERT_EQ(0, f_send(p, self->client->ep, 0, 3000, CTX(2)));
	ASSERT_EQ(1, f_comp(self->client->cq, &entry));
	EXPECT_EQ(CTX(2), entry.op_context);
	EXPECT_EQ(FI_SEND | FI_MSG, entry.flags);
	ASSERT_EQ(1, f_comp(self->server->cq, &entry));
	EXPECT_EQ(CTX(1), entry.op_context);
	EXPECT_EQ(FI_RECV | FI_MSG, entry.flags);
	EXPECT_EQ(3000, entry.len);
	EXPECT_EQ(0, memcmp(p->mem, p->mem + 8192, 3000));
}

TEST_F_TIMEOUT(data, segments_and_messages_of_0_bytes, F_TEST_S)
{
	struct f_pair *p = &self->p;
	struct iovec from[] = { { p->mem, 10 }, { p->mem + 100, 20 } };
	struct iovec to[] = { { p->mem + 8192, 5 }, { p->mem + 9000, 25 } };
	void *desc[] = { self->desc, self->desc };
	struct fi_cq_tagged_entry entry;
	size_t n = 2;

	/* Over iWARP a read has one segment, so a request has one. */
	if (p->info->tx_attr->iov_limit == 1) {
		from[0].iov_len = 30;
		n = 1;
	}
	memset(p->mem, 'a', 200);
	ASSERT_EQ(0, fi_recvv(self->server->ep, to, desc, 2, 0, NULL));
	ASSERT_EQ(0, fi_recv(self->server->ep, NULL, 0, NULL, 0, NULL));
	ASSERT_EQ(0, fi_sendv(self->client->ep, from, desc, n, 0, NULL));
	ASSERT_EQ(0, fi_send(self->client->ep, NULL, 0, NULL, 0, NULL));
	ASSERT_EQ(1, f_comp(self->server->cq, &entry));
	EXPECT_EQ(30, entry.len);
	EXPECT_EQ(0, memcmp(p->mem + 9000, p->mem, 25));
	ASSERT_EQ(1, f_comp(self->server->cq, &entry));
	EXPECT_EQ(0, entry.len);
	EXPECT_EQ(-FI_EINVAL, fi_sendv(self->client->ep, from, desc, 100, 0, NULL));
}

TEST_F_TIMEOUT(data, memory_without_a_registration_is_refused, F_TEST_S)
{
	char own[64];

	EXPECT_EQ(-FI_EACCES, fi_send(self->client->ep, own, sizeof(own), NULL, 0, NULL));
	EXPECT_EQ(-FI_EINVAL, fi_send(self->client->ep, own, sizeof(own), self->desc, 0, NULL));
	EXPECT_EQ(-FI_EACCES, fi_recv(self->server->ep, own, sizeof(own), NULL, 0, NULL));
}

TEST_F_TIMEOUT(data, a_buffer_that_is_too_short_is_an_error_of_both, F_TEST_S)
{
	struct fi_cq_err_entry err;
	struct f_pair *p = &self->p;

	ASSERT_EQ(0, f_recv(p, self->server->ep, 0, 100, CTX(1)));
	ASSERT_EQ(0, f_send(p, self->client->ep, 4096, 200, CTX(2)));
	EXPECT_EQ(FI_ETRUNC, f_comp_error(self->server->cq, &err));
	EXPECT_EQ(CTX(1), err.op_context);
	EXPECT_EQ(FI_RECV | FI_MSG, err.flags);
	EXPECT_TRUE(strstr(fi_cq_strerror(self->server->cq, err.prov_errno, NULL, NULL, 0),
			   "longer") != NULL);
	EXPECT_NE(0, f_comp_error(self->client->cq, &err));
	EXPECT_EQ(CTX(2), err.op_context);
}

/* ---- Inject ---- */

TEST_F_TIMEOUT(data, an_injected_buffer_is_free_at_once, F_TEST_S)
{
	struct fi_cq_tagged_entry entry;
	struct f_pair *p = &self->p;
	char own[128];
	int i;

	for (i = 0; i < TX; i++)
		ASSERT_EQ(0, f_recv(p, self->server->ep, 4096 + 128 * i, 128, CTX(i)));
	for (i = 0; i < TX / 2; i++) {
		memset(own, 'A' + i, sizeof(own));
		ASSERT_EQ(0, fi_inject(self->client->ep, own, sizeof(own), 0));
		memset(own, '-', sizeof(own));
	}
	for (i = 0; i < TX / 2; i++) {
		ASSERT_EQ(1, f_comp(self->server->cq, &entry));
		EXPECT_EQ(CTX(i), entry.op_context);
		EXPECT_EQ('A' + i, p->mem[4096 + 128 * i]);
		EXPECT_EQ('A' + i, p->mem[4096 + 128 * i + 127]);
	}
	EXPECT_EQ(-FI_EAGAIN, fi_cq_read(self->client->cq, &entry, 1));
	EXPECT_EQ(-FI_EMSGSIZE, fi_inject(self->client->ep, p->mem, 129, 0));
}

TEST_F_TIMEOUT(data, a_message_with_inject_has_a_completion, F_TEST_S)
{
	char own[20] = "from the stack";
	struct iovec iov = { own, sizeof(own) };
	struct fi_msg msg = { .msg_iov = &iov, .iov_count = 1, .context = CTX(9) };
	struct fi_cq_tagged_entry entry;
	struct f_pair *p = &self->p;

	ASSERT_EQ(0, f_recv(p, self->server->ep, 0, 128, NULL));
	ASSERT_EQ(0, fi_sendmsg(self->client->ep, &msg, FI_INJECT));
	memset(own, 0, sizeof(own));
	ASSERT_EQ(1, f_comp(self->server->cq, NULL));
	EXPECT_EQ(0, strcmp(p->mem, "from the stack"));
	ASSERT_EQ(1, f_comp(self->client->cq, &entry));
	EXPECT_EQ(CTX(9), entry.op_context);
}

TEST_F_TIMEOUT(data, inject_as_a_default_frees_the_buffer_of_each_send, F_TEST_S)
{
	uint64_t flags = FI_TRANSMIT | FI_INJECT;
	struct f_pair *p = &self->p;
	char own[20] = "from the stack";

	ASSERT_EQ(0, fi_control(&self->client->ep->fid, FI_SETOPSFLAG, &flags));
	flags = FI_TRANSMIT;
	ASSERT_EQ(0, fi_control(&self->client->ep->fid, FI_GETOPSFLAG, &flags));
	EXPECT_EQ(FI_INJECT, flags);
	ASSERT_EQ(0, f_recv(p, self->server->ep, 0, 128, NULL));
	ASSERT_EQ(0, fi_send(self->client->ep, own, sizeof(own), NULL, 0, NULL));
	memset(own, 0, sizeof(own));
	ASSERT_EQ(1, f_comp(self->server->cq, NULL));
	EXPECT_EQ(0, strcmp(p->mem, "from the stack"));
	/* A read brings its data to the program's own memory. */
	ASSERT_EQ(1, f_comp(self->client->cq, NULL));
	ASSERT_EQ(0, fi_read(self->client->ep, p->mem + 4096, 15, self->desc, 0,
			     (uintptr_t)p->mem, fi_mr_key(p->mr), NULL));
	ASSERT_EQ(1, f_comp(self->client->cq, NULL));
	EXPECT_EQ(0, strcmp(p->mem + 4096, "from the stack"));
}

/* The places of injected operations are free again without a read of the CQ that gets nothing. */
TEST_F_TIMEOUT(data, injects_go_on_though_their_cq_is_not_read, F_TEST_S)
{
	struct fi_cq_tagged_entry entry;
	struct f_pair *p = &self->p;
	int sent = 0, got = 0, i;
	ssize_t ret;

	for (i = 0; i < TX; i++)
		ASSERT_EQ(0, f_recv(p, self->server->ep, 0, 128, NULL));
	while (got < 20 * TX) {
		ret = sent - got < TX ? fi_inject(self->client->ep, "x", 1, 0) : -FI_EAGAIN;
		if (ret == 0) {
			sent++;
			continue;
		}
		ASSERT_EQ(-FI_EAGAIN, ret);
		if (fi_cq_read(self->server->cq, &entry, 1) == 1) {
			got++;
			ASSERT_EQ(0, f_recv(p, self->server->ep, 0, 128, NULL));
		}
	}
	EXPECT_EQ(-FI_EAGAIN, fi_cq_read(self->client->cq, &entry, 1));
}

#define NEEDS_RNR(p) do {							\
	if ((p)->info->ep_attr->protocol == FI_PROTO_IWARP)			\
		SKIP(return, "over iWARP a message without a receive ends the connection"); \
} while (0)

/* ---- Full queues ---- */

TEST_F_TIMEOUT(data, a_full_queue_refuses_until_a_completion_is_read, F_TEST_S)
{
	struct pollfd poller = { .events = POLLIN };
	struct f_pair *p = &self->p;
	int i;

	for (i = 0; i < TX; i++)
		ASSERT_EQ(0, f_recv(p, self->server->ep, 64 * i, 64, CTX(i)));
	EXPECT_EQ(-FI_EAGAIN, f_recv(p, self->server->ep, 0, 64, NULL));
	for (i = 0; i < TX; i++)
		ASSERT_EQ(0, f_send(p, self->client->ep, 4096, 64, NULL));
	ASSERT_EQ(0, fi_control(&self->client->cq->fid, FI_GETWAIT, &poller.fd));
	ASSERT_EQ(1, poll(&poller, 1, F_WAIT_MS));
	/* The CQ keeps one completion for the program, whose place is free. */
	EXPECT_EQ(0, f_send(p, self->client->ep, 4096, 64, NULL));
	EXPECT_EQ(-FI_EAGAIN, f_send(p, self->client->ep, 4096, 64, NULL));
	EXPECT_EQ(-FI_EAGAIN, f_send(p, self->client->ep, 4096, 64, NULL));
	ASSERT_EQ(1, f_comp(self->client->cq, NULL));
	ASSERT_EQ(1, f_comp(self->client->cq, NULL));
	EXPECT_EQ(1, f_comp(self->server->cq, NULL));
	EXPECT_EQ(0, f_recv(p, self->server->ep, 0, 64, NULL));
	EXPECT_EQ(0, f_send(p, self->client->ep, 4096, 64, NULL));
}

TEST_F_TIMEOUT(data, requests_announced_with_more_are_sent_when_the_queue_is_full, F_TEST_S)
{
	struct f_pair *p = &self->p;
	struct iovec iov = { p->mem + 4096, 64 };
	struct fi_msg msg = { .msg_iov = &iov, .desc = &self->desc, .iov_count = 1 };
	int i;

	for (i = 0; i < TX; i++)
		ASSERT_EQ(0, f_recv(p, self->server->ep, 64 * i, 64, CTX(i)));
	for (i = 0; i < TX; i++)
		ASSERT_EQ(0, fi_sendmsg(self->client->ep, &msg, FI_MORE | FI_COMPLETION));
	for (i = 0; i < TX; i++)
		EXPECT_EQ(1, f_comp(self->server->cq, NULL));
}

/* ---- Close ---- */

TEST_F_TIMEOUT(data, a_close_delivers_a_flush_for_each_operation, F_TEST_S)
{
	struct pollfd poller = { .events = POLLIN };
	struct fi_cq_err_entry err;
	struct f_pair *p = &self->p;
	int i;

	for (i = 0; i < TX; i++)
		ASSERT_EQ(0, f_recv(p, self->server->ep, 64 * i, 64, CTX(i)));
	ASSERT_EQ(0, f_send(p, self->client->ep, 4096, 64, NULL));
	ASSERT_EQ(0, fi_control(&self->server->cq->fid, FI_GETWAIT, &poller.fd));
	ASSERT_EQ(1, poll(&poller, 1, F_WAIT_MS));
	f_end_close(self->server);
	/* The first one had a message, whose event is in the EVD. */
	EXPECT_EQ(1, f_comp(self->server->cq, NULL));
	for (i = 1; i < TX; i++) {
		ASSERT_EQ(FI_ECANCELED, f_comp_error(self->server->cq, &err));
		EXPECT_EQ(CTX(i), err.op_context);
	}
	EXPECT_EQ(-FI_EAGAIN, fi_cq_readerr(self->server->cq, &err, 0));
}

TEST_F_TIMEOUT(data, a_close_delivers_a_flush_for_each_request, F_TEST_S)
{
	struct fi_cq_err_entry err;
	struct f_pair *p = &self->p;
	int i;

	NEEDS_RNR(p);
	for (i = 0; i < TX; i++)
		ASSERT_EQ(0, f_send(p, self->client->ep, 4096, 64, CTX(i)));
	f_end_close(self->client);
	for (i = 0; i < TX; i++) {
		ASSERT_EQ(FI_ECANCELED, f_comp_error(self->client->cq, &err));
		EXPECT_EQ(CTX(i), err.op_context);
		EXPECT_EQ(FI_SEND | FI_MSG, err.flags);
	}
	EXPECT_EQ(-FI_EAGAIN, fi_cq_readerr(self->client->cq, &err, 0));
}

TEST_F_TIMEOUT(data, the_end_of_a_connection_flushes_and_injects_are_silent, F_TEST_S)
{
	struct fi_cq_err_entry err;
	struct fi_eq_cm_entry entry;
	struct f_pair *p = &self->p;
	int i;

	ASSERT_EQ(0, f_recv(p, self->client->ep, 0, 64, CTX(1)));
	f_end_close(self->server);
	ASSERT_EQ(FI_SHUTDOWN, f_event(self->client->eq, &entry, sizeof(entry), NULL));
	for (i = 0; i < 3; i++)
		ASSERT_EQ(0, fi_inject(self->client->ep, "x", 1, 0));
	ASSERT_EQ(0, f_send(p, self->client->ep, 0, 64, CTX(2)));
	EXPECT_EQ(FI_ECANCELED, f_comp_error(self->client->cq, &err));
	EXPECT_EQ(CTX(1), err.op_context);
	EXPECT_EQ(FI_ECANCELED, f_comp_error(self->client->cq, &err));
	EXPECT_EQ(CTX(2), err.op_context);
}

TEST_F_TIMEOUT(data, outstanding_operations_cannot_be_canceled, F_TEST_S)
{
	struct f_pair *p = &self->p;

	EXPECT_EQ(-FI_ENOENT, fi_cancel(&self->server->ep->fid, CTX(1)));
	ASSERT_EQ(0, f_recv(p, self->server->ep, 0, 64, CTX(1)));
	EXPECT_EQ(-FI_EOPNOTSUPP, fi_cancel(&self->server->ep->fid, CTX(1)));
	EXPECT_EQ(-FI_ENOENT, fi_cancel(&self->server->ep->fid, CTX(2)));
	ASSERT_EQ(0, f_send(p, self->client->ep, 4096, 64, NULL));
	ASSERT_EQ(1, f_comp(self->server->cq, NULL));
	EXPECT_EQ(-FI_ENOENT, fi_cancel(&self->server->ep->fid, CTX(1)));
}

TEST_F_TIMEOUT(data, an_error_without_data_has_no_address_of_data, F_TEST_S)
{
	char own[8];
	struct fi_cq_err_entry err = { .err_data = own, .err_data_size = sizeof(own) };
	struct fid_cq *cq = self->server->cq;
	struct f_pair *p = &self->p;

	ASSERT_EQ(0, f_recv(p, self->server->ep, 0, 64, NULL));
	ASSERT_EQ(0, f_recv(p, self->server->ep, 0, 64, NULL));
	f_end_close(self->server);
	ASSERT_EQ(1, fi_cq_readerr(cq, &err, 0));
	/* The buffer is the program's. */
	EXPECT_EQ((void *)own, err.err_data);
	EXPECT_EQ(0, err.err_data_size);
	ASSERT_EQ(1, fi_cq_readerr(cq, &err, 0));
	EXPECT_EQ(NULL, err.err_data);
}

/* An adapter may register the memory in pieces, and a message may touch several. */
TEST_F_TIMEOUT(own, a_long_message_may_be_anywhere_in_long_memory, F_TEST_S)
{
	struct fi_cq_tagged_entry entry;
	struct f_pair p = { .opts = { .iov = 1 } };
	struct fid_mr *mr;
	size_t i, len;
	char *mem;

	ASSERT_EQ(0, f_open(&p));
	ASSERT_EQ(0, f_connect(&p));
	len = p.info->ep_attr->max_msg_size < LONG ? p.info->ep_attr->max_msg_size : LONG;
	mem = mmap(NULL, 4 * LONG, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, mem);
	ASSERT_EQ(0, fi_mr_reg(p.domain, mem, 4 * LONG, FI_SEND | FI_RECV, 0, 0, 0, &mr, NULL));
	for (i = 0; i < 4; i++) {
		char *from = mem + i * (len / 3 + 1), *to = mem + 4 * LONG - len - i * 4095;

		memset(from, (char)(i + 1), len);
		ASSERT_EQ(0, fi_recv(p.server.ep, to, len, fi_mr_desc(mr), 0, NULL));
		ASSERT_EQ(0, fi_send(p.client.ep, from, len, fi_mr_desc(mr), 0, NULL));
		ASSERT_EQ(1, f_comp(p.server.cq, &entry));
		EXPECT_EQ(len, entry.len);
		EXPECT_EQ(0, memcmp(from, to, len));
		ASSERT_EQ(1, f_comp(p.client.cq, &entry));
	}
	EXPECT_EQ(0, fi_close(&mr->fid));
	munmap(mem, 4 * LONG);
	f_close(&p);
}

#define MR_BASIC	(1 << 0)	/* FI_MR_BASIC, a name that libfabric 2 warns of */

TEST_F_TIMEOUT(own, a_program_of_version_1_4_is_served, F_TEST_S)
{
	struct f_pair p = { .opts = { .version = FI_VERSION(1, 4), .mr_mode = MR_BASIC } };
	struct fi_cq_err_entry err = { .err_data = &p, .err_data_size = 1 };

	ASSERT_EQ(0, f_open(&p));
	EXPECT_EQ(MR_BASIC, p.info->domain_attr->mr_mode);
	ASSERT_EQ(0, f_connect(&p));
	strcpy(p.mem, "written");
	ASSERT_EQ(0, fi_write(p.client.ep, p.mem, 8, fi_mr_desc(p.mr), 0,
			      (uintptr_t)p.mem + 4096, fi_mr_key(p.mr), NULL));
	EXPECT_EQ(1, f_comp(p.client.cq, NULL));
	EXPECT_EQ(0, strcmp(p.mem + 4096, "written"));
	ASSERT_EQ(0, f_recv(&p, p.server.ep, 0, 64, NULL));
	f_end_close(&p.server);
	/* It takes what is there for the address of data. */
	ASSERT_EQ(1, fi_cq_readerr(p.server.cq, &err, 0));
	EXPECT_EQ(NULL, err.err_data);
	f_close(&p);
}

/* ---- RMA ---- */

TEST_F_TIMEOUT(data, writes_and_reads_of_the_peers_memory, F_TEST_S)
{
	struct fi_cq_tagged_entry entry;
	struct f_pair *p = &self->p;
	uint64_t key = fi_mr_key(p->mr);
	uint64_t at = (uintptr_t)p->mem;

	memset(p->mem, 'w', 5000);
	ASSERT_EQ(0, fi_write(self->client->ep, p->mem, 5000, self->desc, 0, at + 8192, key,
			      CTX(1)));
	ASSERT_EQ(1, f_comp(self->client->cq, &entry));
	EXPECT_EQ(CTX(1), entry.op_context);
	EXPECT_EQ(FI_RMA | FI_WRITE, entry.flags);
	EXPECT_EQ(0, memcmp(p->mem, p->mem + 8192, 5000));
	ASSERT_EQ(0, fi_read(self->server->ep, p->mem + 16384, 5000, self->desc, 0, at, key,
			     CTX(2)));
	ASSERT_EQ(1, f_comp(self->server->cq, &entry));
	EXPECT_EQ(CTX(2), entry.op_context);
	EXPECT_EQ(FI_RMA | FI_READ, entry.flags);
	EXPECT_EQ(0, memcmp(p->mem, p->mem + 16384, 5000));
	ASSERT_EQ(0, fi_inject_write(self->client->ep, "injected", 9, 0, at + 30000, key));
	/* A read comes behind the write. */
	ASSERT_EQ(0, fi_read(self->client->ep, p->mem + 40000, 9, self->desc, 0, at + 30000, key,
			     NULL));
	ASSERT_EQ(1, f_comp(self->client->cq, &entry));
	EXPECT_EQ(FI_RMA | FI_READ, entry.flags);
	EXPECT_EQ(0, strcmp(p->mem + 40000, "injected"));
}

static struct fid_mr *region(struct f_pair *p, uint64_t access)
{
	struct fid_mr *mr = NULL;

	fi_mr_reg(p->domain, p->mem, F_MEM, access, 0, 0, 0, &mr, NULL);
	return mr;
}

/* Send 8 bytes of @from, and receive them in @to.  Returns 0 if both complete. */
static int moves(struct f_pair *p, struct fid_mr *from, struct fid_mr *to, const char *src,
		 char *dst)
{
	if (fi_recv(p->server.ep, dst, 8, fi_mr_desc(to), 0, NULL) ||
	    fi_send(p->client.ep, src, 8, fi_mr_desc(from), 0, NULL))
		return -1;
	return f_comp(p->client.cq, NULL) != 1 || f_comp(p->server.cq, NULL) != 1;
}

TEST_F_TIMEOUT(data, a_region_needs_only_the_access_of_its_use, F_TEST_S)
{
	struct f_pair *p = &self->p;
	struct fid_mr *from[] = {
		region(p, FI_SEND), region(p, FI_WRITE), region(p, FI_REMOTE_READ),
	};
	struct fid_mr *to[] = {
		region(p, FI_RECV), region(p, FI_REMOTE_WRITE), region(p, FI_READ),
	};
	char *src = p->mem, *dst = p->mem + 4096;
	int i;

	for (i = 0; i < 3; i++) {
		ASSERT_NE(NULL, from[i]);
		ASSERT_NE(NULL, to[i]);
	}
	memcpy(src, "abcd", 4);
	EXPECT_EQ(0, moves(p, from[0], to[0], src, dst));
	/* Memory that peers may write is written by receives, too, as with other providers. */
	EXPECT_EQ(0, moves(p, from[0], to[1], src + 1, dst + 8));
	ASSERT_EQ(0, fi_write(p->client.ep, src + 2, 8, fi_mr_desc(from[1]), 0,
			      (uintptr_t)dst + 16, fi_mr_key(to[1]), NULL));
	EXPECT_EQ(1, f_comp(p->client.cq, NULL));
	ASSERT_EQ(0, fi_read(p->client.ep, dst + 24, 8, fi_mr_desc(to[2]), 0,
			     (uintptr_t)src + 3, fi_mr_key(from[2]), NULL));
	EXPECT_EQ(1, f_comp(p->client.cq, NULL));
	for (i = 0; i < 4; i++)
		EXPECT_EQ('a' + i, dst[8 * i]);
	for (i = 0; i < 3; i++) {
		EXPECT_EQ(0, fi_close(&from[i]->fid));
		EXPECT_EQ(0, fi_close(&to[i]->fid));
	}
}

TEST_F_TIMEOUT(data, a_read_fills_segments, F_TEST_S)
{
	struct f_pair *p = &self->p;
	struct iovec to[] = { { p->mem + 4096, 10 }, { p->mem + 8192, 20 } };
	size_t n = p->info->tx_attr->iov_limit > 1 ? 2 : 1;
	void *desc[] = { self->desc, self->desc };
	struct fi_cq_tagged_entry entry;
	int i;

	for (i = 0; i < 30; i++)
		p->mem[i] = (char)('a' + i);
	ASSERT_EQ(0, fi_readv(self->client->ep, to, desc, n, 0, (uintptr_t)p->mem,
			      fi_mr_key(p->mr), CTX(1)));
	ASSERT_EQ(1, f_comp(self->client->cq, &entry));
	EXPECT_EQ(CTX(1), entry.op_context);
	EXPECT_EQ(0, memcmp(p->mem, p->mem + 4096, 10));
	EXPECT_EQ(0, p->mem[4096 + 10]);
	if (n == 2)
		EXPECT_EQ(0, memcmp(p->mem + 10, p->mem + 8192, 20));
}

#define FENCED	65536	/* bytes of a read that takes longer than the start of a message */

/* The read and the message are given to the adapter together: the read cannot end before. */
TEST_F_TIMEOUT(data, a_fenced_message_has_the_data_of_the_read_before_it, F_TEST_S)
{
	struct f_pair *p = &self->p;
	char *here = p->mem + FENCED, *there = p->mem + 2 * FENCED;
	struct fi_rma_iov from = { (uintptr_t)p->mem, FENCED, fi_mr_key(p->mr) };
	struct iovec iov = { here, FENCED };
	struct fi_msg msg = { .msg_iov = &iov, .desc = &self->desc, .iov_count = 1 };
	struct fi_msg_rma read = {
		.msg_iov = &iov, .desc = &self->desc, .iov_count = 1,
		.rma_iov = &from, .rma_iov_count = 1,
	};
	int i;

	for (i = 0; i < TX; i++) {
		memset(p->mem, 'a' + i, FENCED);
		memset(here, 0, FENCED);
		ASSERT_EQ(0, f_recv(p, self->server->ep, 2 * FENCED, FENCED, NULL));
		ASSERT_EQ(0, fi_readmsg(self->client->ep, &read, FI_MORE | FI_COMPLETION));
		ASSERT_EQ(0, fi_sendmsg(self->client->ep, &msg, FI_FENCE | FI_COMPLETION));
		ASSERT_EQ(1, f_comp(self->server->cq, NULL));
		EXPECT_EQ(0, memcmp(p->mem, there, FENCED));
		ASSERT_EQ(1, f_comp(self->client->cq, NULL));
		ASSERT_EQ(1, f_comp(self->client->cq, NULL));
	}
}

TEST_F_TIMEOUT(data, a_wrong_key_breaks_the_connection, F_TEST_S)
{
	struct fi_cq_err_entry err;
	struct fi_eq_cm_entry entry;
	struct f_pair *p = &self->p;
	uint64_t at = (uintptr_t)p->mem;

	EXPECT_EQ(-FI_EINVAL, fi_write(self->client->ep, p->mem, 8, self->desc, 0, at,
				       1ULL << 32, NULL));
	ASSERT_EQ(0, fi_write(self->client->ep, p->mem, 8, self->desc, 0, at,
			      fi_mr_key(p->mr) ^ 0x40, CTX(3)));
	EXPECT_EQ(FI_EACCES, f_comp_error(self->client->cq, &err));
	EXPECT_EQ(CTX(3), err.op_context);
	EXPECT_EQ(FI_RMA | FI_WRITE, err.flags);
	EXPECT_EQ(FI_SHUTDOWN, f_event(self->client->eq, &entry, sizeof(entry), NULL));
}

/* A layer above would take the missing context for its own data. */
TEST_F_TIMEOUT(data, a_failed_inject_has_no_completion, F_TEST_S)
{
	struct fi_cq_tagged_entry comp;
	struct fi_eq_cm_entry entry;
	struct f_pair *p = &self->p;

	ASSERT_EQ(0, fi_inject_write(self->client->ep, "x", 1, (uintptr_t)p->mem,
				     (uintptr_t)p->mem, fi_mr_key(p->mr) ^ 0x40));
	ASSERT_EQ(FI_SHUTDOWN, f_event(self->client->eq, &entry, sizeof(entry), NULL));
	EXPECT_EQ(-FI_EAGAIN, fi_cq_read(self->client->cq, &comp, 1));
}

/* ---- Remote CQ data ---- */

#define NEEDS_DATA(p) do {							\
	if (!(p)->info->domain_attr->cq_data_size)				\
		SKIP(return, "the adapter has no immediate data");		\
} while (0)

/* The next completion of the server must be this one.  Returns 0, or the line that is wrong. */
static int check_data(struct f_end *server, void *context, uint64_t flags, size_t len,
		      uint64_t data)
{
	struct fi_cq_tagged_entry entry;

	if (f_comp(server->cq, &entry) != 1)
		return __LINE__;
	if (entry.op_context != context)
		return __LINE__;
	if (entry.flags != flags)
		return __LINE__;
	return entry.len == len && entry.data == data ? 0 : __LINE__;
}

TEST_F_TIMEOUT(data, messages_bring_data_to_the_cq, F_TEST_S)
{
	const uint64_t recv = FI_RECV | FI_MSG;
	struct f_pair *p = &self->p;
	struct iovec iov = { p->mem + 4096, 30 };
	struct fi_msg msg = {
		.msg_iov = &iov, .desc = &self->desc, .iov_count = 1, .data = 0xffffffff,
	};
	int i;

	NEEDS_DATA(p);
	for (i = 0; i < 5; i++)
		ASSERT_EQ(0, f_recv(p, self->server->ep, 64 * i, 64, CTX(i)));
	ASSERT_EQ(0, fi_senddata(self->client->ep, p->mem + 4096, 10, self->desc, 4711, 0, NULL));
	ASSERT_EQ(0, fi_injectdata(self->client->ep, "x", 1, 0, 0));
	ASSERT_EQ(0, f_send(p, self->client->ep, 4096, 20, NULL));
	ASSERT_EQ(0, fi_sendmsg(self->client->ep, &msg, FI_REMOTE_CQ_DATA));
	ASSERT_EQ(0, fi_sendmsg(self->client->ep, &msg, FI_INJECT));
	EXPECT_EQ(0, check_data(self->server, CTX(0), recv | FI_REMOTE_CQ_DATA, 10, 4711));
	EXPECT_EQ(0, check_data(self->server, CTX(1), recv | FI_REMOTE_CQ_DATA, 1, 0));
	EXPECT_EQ(0, check_data(self->server, CTX(2), recv, 20, 0));
	EXPECT_EQ(0, check_data(self->server, CTX(3), recv | FI_REMOTE_CQ_DATA, 30, 0xffffffff));
	EXPECT_EQ(0, check_data(self->server, CTX(4), recv, 30, 0));
	EXPECT_EQ('x', p->mem[64]);
}

TEST_F_TIMEOUT(data, a_write_with_data_takes_a_receive_and_not_its_memory, F_TEST_S)
{
	const uint64_t flags = FI_RMA | FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA;
	struct f_pair *p = &self->p;
	uint64_t key = fi_mr_key(p->mr), at = (uintptr_t)p->mem;
	struct iovec iov = { p->mem + 4096, 300 };
	struct fi_rma_iov to = { .addr = at + 50000, .len = 300, .key = key };
	struct fi_msg_rma msg = {
		.msg_iov = &iov, .desc = &self->desc, .iov_count = 1, .rma_iov = &to,
		.rma_iov_count = 1, .data = 3,
	};
	struct fid_ep *ep = self->client->ep;
	int i;

	NEEDS_DATA(p);
	memset(p->mem + 4096, 'w', 1000);
	for (i = 0; i < 3; i++)
		ASSERT_EQ(0, f_recv(p, self->server->ep, 64 * i, 64, CTX(i)));
	ASSERT_EQ(0, fi_writedata(ep, p->mem + 4096, 1000, self->desc, 1, 0, at + 30000, key,
				  NULL));
	ASSERT_EQ(0, fi_inject_writedata(ep, "injected", 9, 2, 0, at + 40000, key));
	ASSERT_EQ(0, fi_write(ep, p->mem + 4096, 10, self->desc, 0, at + 45000, key, NULL));
	ASSERT_EQ(0, fi_writemsg(ep, &msg, FI_REMOTE_CQ_DATA | FI_COMPLETION));
	EXPECT_EQ(0, check_data(self->server, CTX(0), flags, 1000, 1));
	EXPECT_EQ(0, memcmp(p->mem + 30000, p->mem + 4096, 1000));
	EXPECT_EQ(0, check_data(self->server, CTX(1), flags, 9, 2));
	EXPECT_EQ(0, strcmp(p->mem + 40000, "injected"));
	EXPECT_EQ(0, check_data(self->server, CTX(2), flags, 300, 3));
	EXPECT_EQ(0, memcmp(p->mem + 50000, p->mem + 4096, 300));
	for (i = 0; i < 3 * 64; i++)
		EXPECT_EQ(0, p->mem[i]);
}

TEST_F_TIMEOUT(own, endpoints_without_the_mode_refuse_data, F_TEST_S)
{
	struct f_pair p = { .opts.no_data = 1 };
	struct iovec iov;
	struct fi_msg msg = { .msg_iov = &iov, .iov_count = 1 };
	void *desc;

	ASSERT_EQ(0, f_open(&p));
	ASSERT_EQ(0, f_connect(&p));
	iov = (struct iovec){ p.mem, 1 };
	desc = fi_mr_desc(p.mr);
	msg.desc = &desc;
	EXPECT_EQ(-FI_EOPNOTSUPP, fi_senddata(p.client.ep, p.mem, 1, desc, 7, 0, NULL));
	EXPECT_EQ(-FI_EOPNOTSUPP, fi_injectdata(p.client.ep, p.mem, 1, 7, 0));
	EXPECT_EQ(-FI_EOPNOTSUPP, fi_sendmsg(p.client.ep, &msg, FI_REMOTE_CQ_DATA));
	EXPECT_EQ(-FI_EOPNOTSUPP, fi_writedata(p.client.ep, p.mem, 1, desc, 7, 0,
					       (uintptr_t)p.mem, fi_mr_key(p.mr), NULL));
	EXPECT_EQ(-FI_EOPNOTSUPP, fi_inject_writedata(p.client.ep, p.mem, 1, 7, 0,
						      (uintptr_t)p.mem, fi_mr_key(p.mr)));
	f_close(&p);
}

/* ---- One direction ---- */

/* Open an endpoint of @p that only sends or only receives. */
static int one_way(struct f_pair *p, struct f_end *end, uint64_t cap, uint64_t direction)
{
	struct fi_info *info = fi_dupinfo(p->info);
	int ret;

	info->caps = FI_MSG | cap;
	ret = fi_endpoint(p->domain, info, &end->ep, NULL);
	fi_freeinfo(info);
	if (!ret)
		ret = fi_ep_bind(end->ep, &end->eq->fid, 0);
	if (!ret)
		ret = fi_ep_bind(end->ep, &end->cq->fid, direction);
	return ret ? ret : fi_enable(end->ep);
}

TEST_F_TIMEOUT(own, an_endpoint_may_have_one_direction, F_TEST_S)
{
	struct f_pair p = { .info = NULL };
	struct fi_eq_cm_entry entry;
	struct sockaddr_storage addr;
	size_t len = sizeof(addr);
	struct fi_cq_err_entry err;

	ASSERT_EQ(0, f_open(&p));
	ASSERT_EQ(0, one_way(&p, &p.client, FI_RECV, FI_RECV));
	EXPECT_EQ(-FI_EOPNOTSUPP, f_send(&p, p.client.ep, 0, 64, NULL));
	EXPECT_EQ(-FI_EOPNOTSUPP, fi_inject(p.client.ep, "x", 1, 0));
	EXPECT_EQ(0, f_recv(&p, p.client.ep, 0, 64, NULL));
	f_end_close(&p.client);
	EXPECT_EQ(FI_ECANCELED, f_comp_error(p.client.cq, &err));
	ASSERT_EQ(0, one_way(&p, &p.client, FI_SEND, FI_TRANSMIT));
	EXPECT_EQ(-FI_EOPNOTSUPP, f_recv(&p, p.client.ep, 0, 64, NULL));
	ASSERT_EQ(0, f_listen(&p));
	ASSERT_EQ(0, fi_getname(&p.pep->fid, &addr, &len));
	ASSERT_EQ(0, fi_connect(p.client.ep, &addr, NULL, 0));
	ASSERT_EQ(0, f_accept(&p));
	ASSERT_EQ(0, f_recv(&p, p.server.ep, 4096, 64, NULL));
	ASSERT_EQ(FI_CONNECTED, f_event(p.client.eq, &entry, sizeof(entry), NULL));
	ASSERT_EQ(0, f_send(&p, p.client.ep, 0, 64, NULL));
	EXPECT_EQ(1, f_comp(p.client.cq, NULL));
	EXPECT_EQ(1, f_comp(p.server.cq, NULL));
	f_close(&p);
}

/* ---- Waits ---- */

TEST_F_TIMEOUT(data, the_descriptor_of_a_cq_is_readable_when_trywait_says_wait, F_TEST_S)
{
	struct fid_cq *cq = self->server->cq;
	struct fid *fids[] = { &cq->fid };
	struct pollfd poller = { .events = POLLIN };
	struct fi_cq_tagged_entry entry;
	struct f_pair *p = &self->p;

	ASSERT_EQ(0, fi_control(&cq->fid, FI_GETWAIT, &poller.fd));
	EXPECT_EQ(0, fi_trywait(p->fabric, fids, 1));
	EXPECT_EQ(0, poll(&poller, 1, F_QUIET_MS));
	ASSERT_EQ(0, f_recv(p, self->server->ep, 0, 64, NULL));
	ASSERT_EQ(0, f_send(p, self->client->ep, 4096, 64, NULL));
	ASSERT_EQ(1, poll(&poller, 1, F_WAIT_MS));
	EXPECT_EQ(-FI_EAGAIN, fi_trywait(p->fabric, fids, 1));
	EXPECT_EQ(1, fi_cq_read(cq, &entry, 1));
	EXPECT_EQ(0, fi_trywait(p->fabric, fids, 1));
	EXPECT_EQ(0, poll(&poller, 1, 0));
}

static void *wait_in_read(void *cq)
{
	struct fi_cq_tagged_entry entry;

	return (void *)(intptr_t)fi_cq_sread(cq, &entry, 1, NULL, F_WAIT_MS);
}

static void *wait_in_poll(void *cq)
{
	struct pollfd poller = { .events = POLLIN };

	fi_control(&((struct fid_cq *)cq)->fid, FI_GETWAIT, &poller.fd);
	return (void *)(intptr_t)poll(&poller, 1, F_WAIT_MS);
}

TEST_F_TIMEOUT(data, a_close_wakes_the_threads_that_wait_for_its_cq, F_TEST_S)
{
	pthread_t in_read, in_poll;
	struct f_pair *p = &self->p;
	void *ret;

	ASSERT_EQ(0, f_recv(p, self->server->ep, 0, 64, NULL));
	ASSERT_EQ(0, pthread_create(&in_read, NULL, wait_in_read, self->server->cq));
	ASSERT_EQ(0, pthread_create(&in_poll, NULL, wait_in_poll, self->server->cq));
	poll(NULL, 0, F_QUIET_MS);
	f_end_close(self->server);
	pthread_join(in_read, &ret);
	EXPECT_EQ(-FI_EAVAIL, (intptr_t)ret);
	pthread_join(in_poll, &ret);
	EXPECT_EQ(1, (intptr_t)ret);
}

TEST_F_TIMEOUT(data, trywait_and_the_descriptor_tell_of_an_error_that_was_not_read, F_TEST_S)
{
	struct pollfd poller = { .events = POLLIN };
	struct fid_cq *cq = self->server->cq;
	struct fid *fids[] = { &cq->fid };
	struct fi_cq_tagged_entry entry;
	struct fi_cq_err_entry err;
	struct f_pair *p = &self->p;

	ASSERT_EQ(0, f_recv(p, self->server->ep, 0, 64, NULL));
	f_end_close(self->server);
	EXPECT_EQ(-FI_EAGAIN, fi_trywait(p->fabric, fids, 1));
	EXPECT_EQ(-FI_EAVAIL, fi_cq_read(cq, &entry, 1));
	EXPECT_EQ(-FI_EAGAIN, fi_trywait(p->fabric, fids, 1));
	ASSERT_EQ(0, fi_control(&cq->fid, FI_GETWAIT, &poller.fd));
	EXPECT_EQ(1, poll(&poller, 1, 0));
	EXPECT_EQ(1, fi_cq_readerr(cq, &err, 0));
	EXPECT_EQ(0, fi_trywait(p->fabric, fids, 1));
	EXPECT_EQ(0, poll(&poller, 1, 0));
}

static void *signal_later(void *cq)
{
	poll(NULL, 0, F_QUIET_MS);
	return (void *)(intptr_t)fi_cq_signal(cq);
}

TEST_F_TIMEOUT(data, a_wait_ends_at_its_timeout_and_at_a_signal, F_TEST_S)
{
	struct fi_cq_tagged_entry entry;
	pthread_t thread;
	int64_t begin;
	void *ret;
	int i;

	EXPECT_EQ(-FI_EAGAIN, fi_cq_sread(self->client->cq, &entry, 1, NULL, 20));
	/* Each of many short waits lasts no less than its time. */
	begin = f_now_ms();
	for (i = 0; i < 50; i++)
		EXPECT_EQ(-FI_EAGAIN, fi_cq_sread(self->client->cq, &entry, 1, NULL, 1));
	EXPECT_LE(50, f_now_ms() - begin);
	ASSERT_EQ(0, pthread_create(&thread, NULL, signal_later, self->client->cq));
	EXPECT_EQ(-FI_EAGAIN, fi_cq_sread(self->client->cq, &entry, 1, NULL, -1));
	pthread_join(thread, &ret);
	EXPECT_EQ(NULL, ret);
}

#define WAITERS	3

static int64_t ms_since(const struct timespec *begin)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (now.tv_sec - begin->tv_sec) * 1000 + (now.tv_nsec - begin->tv_nsec) / 1000000;
}

/* A waiter that was woken waits again: it must not take the signal of another one. */
static void *wait_twice(void *cq)
{
	struct fi_cq_tagged_entry entry;
	ssize_t ret = fi_cq_sread(cq, &entry, 1, NULL, F_WAIT_MS);

	fi_cq_sread(cq, &entry, 1, NULL, F_QUIET_MS);
	return (void *)(intptr_t)ret;
}

TEST_F_TIMEOUT(data, a_signal_ends_one_wait_of_each_thread, F_TEST_S)
{
	struct fi_cq_tagged_entry entry;
	pthread_t threads[WAITERS];
	struct timespec begin;
	void *ret;
	int i;

	for (i = 0; i < WAITERS; i++)
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, wait_twice, self->client->cq));
	poll(NULL, 0, F_QUIET_MS);
	clock_gettime(CLOCK_MONOTONIC, &begin);
	EXPECT_EQ(0, fi_cq_signal(self->client->cq));
	for (i = 0; i < WAITERS; i++) {
		pthread_join(threads[i], &ret);
		EXPECT_EQ(-FI_EAGAIN, (intptr_t)ret);
	}
	EXPECT_LE(F_QUIET_MS, ms_since(&begin));
	EXPECT_GT(F_WAIT_MS / 2, ms_since(&begin));
	/* A signal that nobody waits for is for the next wait. */
	EXPECT_EQ(0, fi_cq_signal(self->client->cq));
	EXPECT_EQ(-FI_EAGAIN, fi_cq_sread(self->client->cq, &entry, 1, NULL, -1));
	clock_gettime(CLOCK_MONOTONIC, &begin);
	EXPECT_EQ(-FI_EAGAIN, fi_cq_sread(self->client->cq, &entry, 1, NULL, F_QUIET_MS));
	EXPECT_LE(F_QUIET_MS, ms_since(&begin));
}

TEST_F_TIMEOUT(own, a_wait_may_be_for_several_completions, F_TEST_S)
{
	struct f_pair p = { .opts.cond = FI_CQ_COND_THRESHOLD };
	struct pollfd poller = { .events = POLLIN };
	struct fi_cq_tagged_entry entries[5];
	void *two = (void *)2;
	int64_t begin;
	int i;

	ASSERT_EQ(0, f_open(&p));
	ASSERT_EQ(0, f_connect(&p));
	for (i = 0; i < 3; i++)
		ASSERT_EQ(0, f_recv(&p, p.server.ep, 0, 64, CTX(i)));
	ASSERT_EQ(0, fi_inject(p.client.ep, "x", 1, 0));
	ASSERT_EQ(0, fi_control(&p.server.cq->fid, FI_GETWAIT, &poller.fd));
	ASSERT_EQ(1, poll(&poller, 1, F_WAIT_MS));
	begin = f_now_ms();
	EXPECT_EQ(1, fi_cq_sread(p.server.cq, entries, 5, two, F_QUIET_MS));
	EXPECT_LE(F_QUIET_MS, f_now_ms() - begin);
	EXPECT_EQ(CTX(0), entries[0].op_context);
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, fi_inject(p.client.ep, "x", 1, 0));
	EXPECT_EQ(2, fi_cq_sread(p.server.cq, entries, 5, two, F_WAIT_MS));
	EXPECT_EQ(CTX(1), entries[0].op_context);
	EXPECT_EQ(CTX(2), entries[1].op_context);
	f_close(&p);
}

/* ---- Selective completion ---- */

FIXTURE(selective) {
	struct f_pair p;
};

FIXTURE_SETUP(selective)
{
	self->p.opts = (struct f_opts){
		.tx_size = TX, .rx_size = TX, .cq_flags = FI_SELECTIVE_COMPLETION,
	};
	ASSERT_EQ(0, f_open(&self->p));
	ASSERT_EQ(0, f_connect(&self->p));
}

FIXTURE_TEARDOWN(selective)
{
	f_close(&self->p);
}

TEST_F_TIMEOUT(selective, only_flagged_operations_have_completions, F_TEST_S)
{
	struct f_pair *p = &self->p;
	void *desc = fi_mr_desc(p->mr);
	struct iovec to = { p->mem, 64 }, from = { p->mem + 4096, 64 };
	struct fi_msg in = { .msg_iov = &to, .desc = &desc, .iov_count = 1, .context = CTX(1) };
	struct fi_msg out = { .msg_iov = &from, .desc = &desc, .iov_count = 1, .context = CTX(2) };
	struct fi_cq_tagged_entry entry;
	int i;

	for (i = 0; i < 10 * TX; i++) {
		ASSERT_EQ(0, f_recv(p, p->server.ep, 0, 64, NULL));
		ASSERT_EQ(0, fi_recvmsg(p->server.ep, &in, FI_COMPLETION));
		ASSERT_EQ(0, f_send(p, p->client.ep, 4096, 64, NULL));
		ASSERT_EQ(0, fi_sendmsg(p->client.ep, &out, FI_COMPLETION));
		ASSERT_EQ(1, f_comp(p->client.cq, &entry));
		EXPECT_EQ(CTX(2), entry.op_context);
		ASSERT_EQ(1, f_comp(p->server.cq, &entry));
		EXPECT_EQ(CTX(1), entry.op_context);
	}
	EXPECT_EQ(-FI_EAGAIN, fi_cq_read(p->client.cq, &entry, 1));
	EXPECT_EQ(-FI_EAGAIN, fi_cq_read(p->server.cq, &entry, 1));
}

TEST_F_TIMEOUT(selective, a_close_delivers_a_flush_for_flagged_operations, F_TEST_S)
{
	struct f_pair *p = &self->p;
	void *desc = fi_mr_desc(p->mr);
	struct iovec iov = { p->mem, 64 };
	struct fi_msg in = { .msg_iov = &iov, .desc = &desc, .iov_count = 1, .context = CTX(1) };
	struct fi_msg out = { .msg_iov = &iov, .desc = &desc, .iov_count = 1, .context = CTX(2) };
	struct fi_cq_err_entry err;

	NEEDS_RNR(p);
	ASSERT_EQ(0, fi_recvmsg(p->client.ep, &in, FI_COMPLETION));
	ASSERT_EQ(0, f_send(p, p->client.ep, 0, 64, CTX(3)));
	ASSERT_EQ(0, fi_sendmsg(p->client.ep, &out, FI_COMPLETION));
	ASSERT_EQ(0, f_send(p, p->client.ep, 0, 64, CTX(4)));
	f_end_close(&p->client);
	EXPECT_EQ(FI_ECANCELED, f_comp_error(p->client.cq, &err));
	EXPECT_EQ(CTX(2), err.op_context);
	EXPECT_EQ(FI_ECANCELED, f_comp_error(p->client.cq, &err));
	EXPECT_EQ(CTX(1), err.op_context);
	EXPECT_EQ(-FI_EAGAIN, fi_cq_readerr(p->client.cq, &err, 0));
}

TEST_F_TIMEOUT(selective, a_write_with_data_always_has_a_completion, F_TEST_S)
{
	const uint64_t flags = FI_RMA | FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA;
	struct f_pair *p = &self->p;
	void *desc = fi_mr_desc(p->mr);

	NEEDS_DATA(p);
	ASSERT_EQ(0, f_recv(p, p->server.ep, 0, 64, CTX(1)));
	ASSERT_EQ(0, f_recv(p, p->server.ep, 0, 64, CTX(2)));
	ASSERT_EQ(0, fi_senddata(p->client.ep, p->mem, 8, desc, 1, 0, NULL));
	ASSERT_EQ(0, fi_writedata(p->client.ep, p->mem, 8, desc, 2, 0, (uintptr_t)p->mem + 4096,
				  fi_mr_key(p->mr), NULL));
	EXPECT_EQ(0, check_data(&p->server, CTX(2), flags, 8, 2));
}

/* ---- Shared receive contexts ---- */

#define BUFFERS	32

FIXTURE(shared) {
	struct f_pair p;
};

FIXTURE_SETUP(shared)
{
	self->p.opts = (struct f_opts){ .rx_size = BUFFERS, .tx_size = TX, .shared = 1 };
	ASSERT_EQ(0, f_open(&self->p));
	ASSERT_EQ(0, f_connect(&self->p));
}

FIXTURE_TEARDOWN(shared)
{
	f_close(&self->p);
}

TEST_F_TIMEOUT(shared, two_endpoints_receive_from_one_context, F_TEST_S)
{
	struct fi_cq_tagged_entry entry;
	struct f_pair *p = &self->p;
	struct f_end first, first_server;
	int i;

	for (i = 0; i < BUFFERS; i++)
		ASSERT_EQ(0, f_recv(p, p->srx, 64 * i, 64, CTX(i)));
	EXPECT_EQ(-FI_EAGAIN, f_recv(p, p->srx, 0, 64, NULL));
	EXPECT_EQ(-FI_ENOSYS, fi_cancel(&p->srx->fid, CTX(0)));
	EXPECT_EQ(-FI_EOPNOTSUPP, f_recv(p, p->server.ep, 0, 64, NULL));
	/* Another pair of endpoints with the same queues. */
	first = p->client;
	first_server = p->server;
	fi_close(&p->pep->fid);
	ASSERT_EQ(0, f_connect(p));
	for (i = 0; i < TX / 2; i++) {
		ASSERT_EQ(0, f_send(p, first.ep, 8192, 40, NULL));
		ASSERT_EQ(0, f_send(p, p->client.ep, 8192, 50, NULL));
	}
	for (i = 0; i < TX; i++) {
		ASSERT_EQ(1, f_comp(p->server.cq, &entry));
		EXPECT_EQ(FI_RECV | FI_MSG, entry.flags);
		EXPECT_TRUE(entry.len == 40 || entry.len == 50);
		ASSERT_EQ(0, f_recv(p, p->srx, 0, 64, NULL));
	}
	EXPECT_EQ(-FI_EBUSY, fi_close(&p->srx->fid));
	fi_close(&first.ep->fid);
	fi_close(&first_server.ep->fid);
	ASSERT_EQ(0, f_send(p, p->client.ep, 8192, 60, NULL));
	ASSERT_EQ(1, f_comp(p->server.cq, &entry));
	EXPECT_EQ(60, entry.len);
}

TEST_F_TIMEOUT(shared, data_arrive_at_a_context, F_TEST_S)
{
	uint64_t flags = FI_RMA | FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA;
	struct f_pair *p = &self->p;
	void *desc = fi_mr_desc(p->mr);

	NEEDS_DATA(p);
	ASSERT_EQ(0, f_recv(p, p->srx, 0, 64, CTX(1)));
	ASSERT_EQ(0, f_recv(p, p->srx, 64, 64, CTX(2)));
	ASSERT_EQ(0, fi_writedata(p->client.ep, p->mem, 8, desc, 5, 0, (uintptr_t)p->mem + 4096,
				  fi_mr_key(p->mr), NULL));
	ASSERT_EQ(0, fi_senddata(p->client.ep, p->mem, 10, desc, 6, 0, NULL));
	EXPECT_EQ(0, check_data(&p->server, CTX(1), flags, 8, 5));
	EXPECT_EQ(0, check_data(&p->server, CTX(2), FI_RECV | FI_MSG | FI_REMOTE_CQ_DATA, 10, 6));
}

TEST_F_TIMEOUT(shared, endpoints_of_a_context_may_have_different_cqs, F_TEST_S)
{
	struct f_end first, first_server, second = { .eq = NULL };
	struct fi_cq_tagged_entry entry;
	struct f_pair *p = &self->p;
	int i;

	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, f_recv(p, p->srx, 64 * i, 64, CTX(i)));
	first = p->client;
	first_server = p->server;
	fi_close(&p->pep->fid);
	p->pep = NULL;
	ASSERT_EQ(0, f_end_queues(p, &second));
	p->server = second;
	ASSERT_EQ(0, f_connect(p));
	ASSERT_EQ(0, f_send(p, first.ep, 8192, 40, NULL));
	ASSERT_EQ(1, f_comp(first_server.cq, &entry));
	EXPECT_EQ(40, entry.len);
	ASSERT_EQ(0, f_send(p, p->client.ep, 8192, 50, NULL));
	ASSERT_EQ(1, f_comp(p->server.cq, &entry));
	EXPECT_EQ(50, entry.len);
	EXPECT_EQ(-FI_EAGAIN, fi_cq_read(first_server.cq, &entry, 1));
	fi_close(&first.ep->fid);
	fi_close(&first_server.ep->fid);
	EXPECT_EQ(0, fi_close(&first_server.cq->fid));
	EXPECT_EQ(0, fi_close(&first_server.eq->fid));
}

TEST_F_TIMEOUT(shared, messages_outlive_the_endpoint_that_received_them, F_TEST_S)
{
	struct pollfd poller = { .events = POLLIN };
	struct fi_cq_tagged_entry entry;
	struct f_pair *p = &self->p;
	int i;

	for (i = 0; i < BUFFERS; i++)
		ASSERT_EQ(0, f_recv(p, p->srx, 64 * i, 64, CTX(i)));
	for (i = 0; i < 5; i++)
		ASSERT_EQ(0, f_send(p, p->client.ep, 8192, 50 + i, NULL));
	for (i = 0; i < 4; i++)
		ASSERT_EQ(1, f_comp(p->server.cq, &entry));
	ASSERT_EQ(0, fi_control(&p->server.cq->fid, FI_GETWAIT, &poller.fd));
	ASSERT_EQ(1, poll(&poller, 1, F_WAIT_MS));
	f_end_close(&p->server);
	ASSERT_EQ(1, f_comp(p->server.cq, &entry));
	EXPECT_EQ(54, entry.len);
	EXPECT_EQ(-FI_EAGAIN, fi_cq_read(p->server.cq, &entry, 1));
	for (i = 0; i < 5; i++)
		ASSERT_EQ(0, f_recv(p, p->srx, 0, 64, NULL));
	EXPECT_EQ(-FI_EAGAIN, f_recv(p, p->srx, 0, 64, NULL));
}

TEST_F_TIMEOUT(own, the_completions_of_a_context_may_be_selective, F_TEST_S)
{
	struct f_pair p = {
		.opts = {
			.rx_size = BUFFERS, .tx_size = TX, .shared = 1,
			.cq_flags = FI_SELECTIVE_COMPLETION,
		},
	};
	struct iovec iov;
	struct fi_msg msg = { .msg_iov = &iov, .iov_count = 1, .context = CTX(1) };
	struct fi_cq_tagged_entry entry;
	struct fid_ep *other;
	void *desc;
	int i;

	ASSERT_EQ(0, f_open(&p));
	ASSERT_EQ(0, f_connect(&p));
	iov = (struct iovec){ p.mem, 64 };
	desc = fi_mr_desc(p.mr);
	msg.desc = &desc;
	for (i = 0; i < BUFFERS; i++) {
		ASSERT_EQ(0, f_recv(&p, p.srx, 0, 64, CTX(2)));
		ASSERT_EQ(0, fi_recvmsg(p.srx, &msg, FI_COMPLETION));
		ASSERT_EQ(0, f_send(&p, p.client.ep, 0, 32, CTX(2)));
		ASSERT_EQ(0, fi_sendmsg(p.client.ep, &msg, FI_COMPLETION));
		ASSERT_EQ(1, f_comp(p.client.cq, NULL));
		ASSERT_EQ(1, f_comp(p.server.cq, &entry));
		EXPECT_EQ(CTX(1), entry.op_context);
		EXPECT_EQ(64, entry.len);
	}
	EXPECT_EQ(-FI_EAGAIN, fi_cq_read(p.server.cq, &entry, 1));
	ASSERT_EQ(0, fi_endpoint(p.domain, p.info, &other, NULL));
	ASSERT_EQ(0, fi_ep_bind(other, &p.server.eq->fid, 0));
	ASSERT_EQ(0, fi_ep_bind(other, &p.server.cq->fid, FI_TRANSMIT | FI_RECV));
	ASSERT_EQ(0, fi_ep_bind(other, &p.srx->fid, 0));
	EXPECT_EQ(-FI_EINVAL, fi_enable(other));
	EXPECT_EQ(0, fi_close(&other->fid));
	f_close(&p);
}

/* ---- A CQ that is larger than an EVD ---- */

#define MANY	4096	/* places of each queue */
#define EVD	65536	/* events of the longest EVD */
#define BOTH	(EVD / (2 * MANY) + 1)	/* endpoints whose queues need more than an EVD */

TEST_F_TIMEOUT(own, no_event_is_lost_when_all_queues_of_a_CQ_are_full, F_TEST_S)
{
	struct f_pair p = { .opts = { .tx_size = MANY, .rx_size = MANY, .cq_size = 262144 } };
	struct fi_cq_err_entry err;
	struct f_end ends[BOTH];
	int flushed = 0, i, n;

	ASSERT_EQ(0, f_open(&p));
	for (i = 0; i < BOTH; i++) {
		ends[i] = p.client;
		ASSERT_EQ(0, f_end_open(&p, &ends[i], p.info));
		for (n = 0; n < MANY; n++)
			ASSERT_EQ(0, f_recv(&p, ends[i].ep, 0, 64, NULL));
		EXPECT_EQ(-FI_EAGAIN, f_recv(&p, ends[i].ep, 0, 64, NULL));
	}
	for (i = 0; i < BOTH; i++)
		fi_close(&ends[i].ep->fid);
	while (fi_cq_readerr(p.client.cq, &err, 0) == 1)
		flushed += err.err == FI_ECANCELED;
	EXPECT_EQ(BOTH * MANY, flushed);
	f_close(&p);
}

#define POSTED	1000	/* receives of an endpoint */

/*
 * The events of all receives wait in two EVDs, which have grown from 64.  Those of an endpoint are
 * in the order of its receives, and the endpoints end at the same time.
 */
TEST_F_TIMEOUT(own, no_event_is_lost_when_many_connections_end, F_TEST_S)
{
	struct f_pair p = { .opts = { .tx_size = MANY, .rx_size = MANY, .cq_size = 262144 } };
	struct f_end clients[BOTH], servers[BOTH];
	struct pollfd poller = { .events = POLLIN };
	struct fi_cq_tagged_entry comp;
	uintptr_t next[BOTH] = { 0 };
	struct fi_cq_err_entry err;
	struct fi_eq_cm_entry entry;
	int wrong = 0, i, n;

	ASSERT_EQ(0, f_open(&p));
	for (i = 0; i < BOTH; i++) {
		ASSERT_EQ(0, f_connect(&p));
		clients[i] = p.client;
		servers[i] = p.server;
		fi_close(&p.pep->fid);
		p.pep = NULL;
		for (n = 0; n < POSTED; n++)
			ASSERT_EQ(0, f_recv(&p, servers[i].ep, 0, 64, CTX(i * POSTED + n)));
	}
	/* The descriptor tells of the last EVD, too. */
	ASSERT_EQ(0, fi_control(&p.server.cq->fid, FI_GETWAIT, &poller.fd));
	EXPECT_EQ(0, poll(&poller, 1, 0));
	ASSERT_EQ(0, f_send(&p, clients[BOTH - 1].ep, 4096, 64, NULL));
	EXPECT_EQ(1, poll(&poller, 1, F_WAIT_MS));
	ASSERT_EQ(1, f_comp(p.server.cq, &comp));
	EXPECT_EQ(CTX((BOTH - 1) * POSTED), comp.op_context);
	next[BOTH - 1] = 1;
	for (i = 0; i < BOTH; i++)
		fi_close(&clients[i].ep->fid);
	for (i = 0; i < BOTH; i++)
		EXPECT_EQ(FI_SHUTDOWN, f_event(p.server.eq, &entry, sizeof(entry), NULL));
	for (n = 1; n < BOTH * POSTED; n++) {
		ASSERT_EQ(FI_ECANCELED, f_comp_error(p.server.cq, &err));
		i = (int)(((uintptr_t)err.op_context - (uintptr_t)CTX(0)) / POSTED);
		ASSERT_GT(BOTH, i);
		wrong += err.op_context != CTX(i * POSTED + next[i]);
		next[i]++;
	}
	EXPECT_EQ(0, wrong);
	for (i = 0; i < BOTH; i++) {
		EXPECT_EQ(POSTED, next[i]);
		fi_close(&servers[i].ep->fid);
	}
	p.client.ep = NULL;
	p.server.ep = NULL;
	EXPECT_EQ(-FI_EAGAIN, fi_cq_readerr(p.server.cq, &err, 0));
	f_close(&p);
}

/* ---- Threads ---- */

#define SENDERS	3
#define EACH	300

struct sender {
	struct f_pair	*p;
	int		sent;
};

static void *send_some(void *arg)
{
	struct sender *s = arg;
	ssize_t ret;

	while (s->sent < EACH) {
		ret = f_send(s->p, s->p->client.ep, 4096, 64, CTX(s->sent));
		if (ret == -FI_EAGAIN)
			sched_yield();
		else if (ret)
			break;
		else
			s->sent++;
	}
	return NULL;
}

/*
 * struct reader - a thread that reads a CQ
 * @cq: the CQ
 * @p: the pair, for a receiver, which posts a receive for each completion; or NULL
 * @got: number of completions that all readers of @cq have read
 */
struct reader {
	struct fid_cq	*cq;
	struct f_pair	*p;
	int		*got;
};

static int got_all(const int *got)
{
	return __atomic_load_n(got, __ATOMIC_RELAXED) >= SENDERS * EACH;
}

/* Waits have no time limit, so a wake-up that is lost is not made good. */
static void *read_some(void *arg)
{
	struct reader *r = arg;
	struct fi_cq_tagged_entry entry;
	ssize_t ret;

	while (!got_all(r->got)) {
		ret = fi_cq_sread(r->cq, &entry, 1, NULL, -1);
		if (ret == 1) {
			if (r->p)
				f_recv(r->p, r->p->server.ep, 0, 64, NULL);
			__atomic_fetch_add(r->got, 1, __ATOMIC_RELAXED);
		} else if (ret != -FI_EAGAIN) {
			break;
		}
	}
	return NULL;
}

/* Wait until all completions are read, and then end the waits of the other readers. */
static void join_readers(struct fid_cq *cq, pthread_t *threads, int n, const int *got)
{
	int i, ms;

	for (ms = 0; ms < F_WAIT_MS && !got_all(got); ms++)
		poll(NULL, 0, 1);
	for (i = 0; i < n && got_all(got); i++)
		while (pthread_tryjoin_np(threads[i], NULL)) {
			fi_cq_signal(cq);
			poll(NULL, 0, 1);
		}
}

TEST_F_TIMEOUT(data, threads_share_an_endpoint_and_a_cq, F_TEST_S)
{
	struct sender senders[SENDERS];
	pthread_t threads[SENDERS], readers[4];
	int sent = 0, got = 0, i;
	struct reader of[] = {
		{ self->client->cq, NULL, &sent },
		{ self->client->cq, NULL, &sent },
		{ self->server->cq, &self->p, &got },
		{ self->server->cq, &self->p, &got },
	};

	for (i = 0; i < TX; i++)
		ASSERT_EQ(0, f_recv(&self->p, self->server->ep, 0, 64, NULL));
	for (i = 0; i < 4; i++)
		ASSERT_EQ(0, pthread_create(&readers[i], NULL, read_some, &of[i]));
	for (i = 0; i < SENDERS; i++) {
		senders[i] = (struct sender){ .p = &self->p };
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, send_some, &senders[i]));
	}
	join_readers(self->client->cq, readers, 2, &sent);
	join_readers(self->server->cq, readers + 2, 2, &got);
	ASSERT_EQ(SENDERS * EACH, sent);
	ASSERT_EQ(SENDERS * EACH, got);
	for (i = 0; i < SENDERS; i++) {
		pthread_join(threads[i], NULL);
		EXPECT_EQ(EACH, senders[i].sent);
	}
}

TEST_HARNESS_MAIN
