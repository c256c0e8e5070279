// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* Inline data in entries of a send queue. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "dat_test.h"

#define SMALL		10	/* max_inline of an EP whose entries have room for more */
#define LONG_CHAIN	40	/* more than the driver posts at once */
#define ENTRIES		64
#define OUT		4096	/* offset of the memory of writes */
#define DISCONNECTED	11	/* value of DAT_EP_STATE */

FIXTURE(inline) {
	struct t_pair p;
	struct t_link neighbour;
	struct t_evd evd[2];
	struct t_ep ep[2];
	uint32_t max;
	unsigned int count[16];
};

static struct dat_ep_create ep_arg(const struct t_pair *p, const struct t_evd *evd,
				   uint32_t max_inline)
{
	return (struct dat_ep_create) {
		.pz = p->pz, .recv_evd = evd->id, .request_evd = evd->id, .connect_evd = evd->id,
		.max_recv = ENTRIES, .max_request = ENTRIES, .max_recv_iov = 1,
		.max_request_iov = 4, .read_in = 4, .read_out = 4, .max_inline = max_inline,
	};
}

/* Makes ep[i].  Returns the number of bytes that the driver grants, or a negative errno. */
static int make_ep(FIXTURE_DATA(inline) *self, int i, uint32_t max_inline)
{
	struct dat_ep_create arg = ep_arg(&self->p, &self->evd[i], max_inline);
	int ret = t_any_ep(&self->p.f, &arg, &self->ep[i]);

	return ret ? ret : (int)arg.max_inline;
}

FIXTURE_SETUP(inline)
{
	struct t_pair *p = &self->p;
	int i;

	ASSERT_EQ(0, t_pair_open(p));
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, t_evd(&p->f, DAT_STREAM_DTO | DAT_STREAM_CONNECTION, 4 * ENTRIES,
				   &self->evd[i]));
	self->max = p->f.info.max_inline;
	ASSERT_LT(SMALL, self->max);
	ASSERT_EQ(0, make_ep(self, 0, 0));
	ASSERT_EQ(0, t_link_open(p, &self->neighbour));
}

/* Whatever a test does to its connection, that of @neighbour must still work. */
FIXTURE_TEARDOWN(inline)
{
	EXPECT_EQ(0, t_link_works(&self->p, &self->neighbour));
	t_pair_close(&self->p);
}

/* Makes the EP that sends, and connects it. */
static int connected(FIXTURE_DATA(inline) *self, uint32_t max_inline)
{
	int granted = make_ep(self, 1, max_inline);

	if (granted != (int)max_inline)
		return -EINVAL;
	return t_connect_eps(&self->p, self->ep, self->evd);
}

static char byte(unsigned int cookie, unsigned int at)
{
	return (char)(7 * cookie + at);
}

/* Fills in the next entry with @len bytes, without the tail. */
static struct dat_sqe *fill(FIXTURE_DATA(inline) *self, int op, unsigned int cookie, uint16_t len)
{
	struct dat_sqe *sqe = t_sqe(&self->ep[1].sq);
	char *data = (char *)(sqe + 1);
	unsigned int i;

	sqe->opcode = (uint8_t)op;
	sqe->cookie = cookie;
	sqe->inline_len = len;
	for (i = 0; i < len && i < DAT_MAX_INLINE; i++)
		data[i] = byte(cookie, i);
	if (op == DAT_OP_RDMA_WRITE) {
		sqe->raddr = (uintptr_t)self->p.mem.va + OUT + cookie * DAT_MAX_INLINE;
		sqe->rkey = self->p.mem.rkey;
	}
	return sqe;
}

static int has_data(const char *va, unsigned int cookie, unsigned int len)
{
	unsigned int i;

	for (i = 0; i < len; i++)
		if (va[i] != byte(cookie, i))
			return 0;
	return 1;
}

static int succeeds(struct t_evd *evd, unsigned int cookie, uint32_t len)
{
	struct dat_eqe eqe;

	return t_event(evd, T_WAIT_MS, &eqe) && eqe.type == DAT_EV_DTO && !eqe.status &&
	       eqe.cookie == cookie && eqe.len == len;
}

/* Ends the connection, frees both EPs and their events, and connects new ones. */
static int start_again(FIXTURE_DATA(inline) *self)
{
	struct dat_eqe eqe;
	int i;

	for (i = 0; i < 2; i++) {
		t_disconnect(&self->p.f, &self->ep[i], 0);
		while (self->ep[i].st->state != DISCONNECTED)
			if (!t_event(&self->evd[i], T_WAIT_MS, &eqe))
				return -ETIMEDOUT;
		if (t_free(&self->p.f, DAT_OBJ_EP, self->ep[i].id))
			return -EBUSY;
		while (t_event(&self->evd[i], 0, &eqe))
			;
	}
	return make_ep(self, 0, 0) ?: connected(self, self->max);
}

TEST_F(inline, the_driver_grants_what_the_adapter_has)
{
	EXPECT_GE(DAT_MAX_INLINE, self->max);
	EXPECT_EQ(0, make_ep(self, 1, 0));
	EXPECT_EQ(1, make_ep(self, 1, 1));
	EXPECT_EQ(self->max, make_ep(self, 1, self->max));
	EXPECT_EQ(self->max, make_ep(self, 1, self->max + 1));
	EXPECT_EQ(self->max, make_ep(self, 1, ~0U));
}

TEST_F(inline, an_entry_is_as_long_as_the_ep_asks)
{
	struct dat_ep_create arg = ep_arg(&self->p, &self->evd[1], 0);

	arg.max_request_iov = 1;
	ASSERT_EQ(0, t_any_ep(&self->p.f, &arg, &self->ep[1]));
	EXPECT_EQ(6, arg.sq_shift);
	EXPECT_EQ(5, arg.rq_shift);
	arg = ep_arg(&self->p, &self->evd[1], 33);
	arg.max_request_iov = 1;
	ASSERT_EQ(0, t_any_ep(&self->p.f, &arg, &self->ep[1]));
	EXPECT_EQ(7, arg.sq_shift);
	EXPECT_EQ(5, arg.rq_shift);
}

TEST_F_TIMEOUT(inline, a_send_has_the_bytes_of_its_entry, 120)
{
	char *to = self->p.mem.va;
	unsigned int len;

	ASSERT_EQ(0, connected(self, self->max));
	for (len = 1; len <= self->max; len++) {
		memset(to, 0xee, self->max + 1);
		ASSERT_EQ(0, t_recv(&self->ep[0].rq, len, (uintptr_t)to, self->p.mem.lkey, 4096));
		fill(self, DAT_OP_SEND, len, (uint16_t)len);
		ASSERT_EQ(0, t_push(&self->ep[1].sq));
		ASSERT_TRUE(succeeds(&self->evd[1], len, len)) TH_LOG("%u bytes", len);
		ASSERT_TRUE(succeeds(&self->evd[0], len, len)) TH_LOG("%u bytes", len);
		EXPECT_TRUE(has_data(to, len, len)) TH_LOG("%u bytes", len);
		EXPECT_EQ((char)0xee, to[len]) TH_LOG("%u bytes", len);
	}
}

/* All requests of a chain have data of their own until the device has copied them. */
TEST_F_TIMEOUT(inline, the_requests_of_a_chain_keep_their_data_apart, 60)
{
	struct t_queue *sq = &self->ep[1].sq;
	char *to = self->p.mem.va + OUT;
	unsigned int i;

	ASSERT_EQ(0, connected(self, self->max));
	memset(to, 0, LONG_CHAIN * DAT_MAX_INLINE);
	for (i = 0; i < LONG_CHAIN; i++) {
		fill(self, DAT_OP_RDMA_WRITE, i, (uint16_t)(1 + i % self->max));
		sq->tail++;
	}
	__atomic_store_n(sq->shared_tail, sq->tail, __ATOMIC_RELEASE);
	ASSERT_EQ(0, t_word(sq->f, DAT_IOC_KICK, sq->bell + 1));
	for (i = 0; i < LONG_CHAIN; i++)
		ASSERT_TRUE(succeeds(&self->evd[1], i, 1 + i % self->max)) TH_LOG("write %u", i);
	for (i = 0; i < LONG_CHAIN; i++)
		EXPECT_TRUE(has_data(to + i * DAT_MAX_INLINE, i, 1 + i % self->max))
			TH_LOG("write %u", i);
}

/* The send waits for a receive.  The process writes to the entry meanwhile. */
TEST_F_TIMEOUT(inline, what_is_sent_is_what_the_entry_had_at_the_kick, 60)
{
	struct t_queue *sq = &self->ep[1].sq;
	char *to = self->p.mem.va;
	struct dat_sqe *sqe;

	ASSERT_EQ(0, connected(self, self->max));
	sqe = fill(self, DAT_OP_SEND, 1, (uint16_t)self->max);
	ASSERT_EQ(0, t_push(sq));
	ASSERT_EQ(1, sq->status->head);
	memset(sqe + 1, 0xee, self->max);
	ASSERT_EQ(0, t_recv(&self->ep[0].rq, 2, (uintptr_t)to, self->p.mem.lkey, 4096));
	ASSERT_TRUE(succeeds(&self->evd[0], 2, self->max));
	EXPECT_TRUE(has_data(to, 1, self->max));
}

/* Entries with data, with segments and without either, in turns. */
TEST_F_TIMEOUT(inline, other_entries_of_the_queue_work_as_ever, 60)
{
	char *from = self->p.mem.va, *to = from + OUT;
	struct dat_sge sge = { (uintptr_t)from, self->p.mem.lkey, 64 };
	struct dat_sqe *sqe;
	unsigned int i, len;

	ASSERT_EQ(0, connected(self, self->max));
	memset(from, 0x55, 64);
	for (i = 0; i < 9; i++) {
		len = i % 3 == 1 ? 64 : 0;
		memset(to + i * DAT_MAX_INLINE, 0, DAT_MAX_INLINE);
		sqe = fill(self, DAT_OP_RDMA_WRITE, i, i % 3 ? 0 : 5);
		sqe->num_sge = len ? 1 : 0;
		if (len)
			*(struct dat_sge *)(sqe + 1) = sge;
		ASSERT_EQ(0, t_push(&self->ep[1].sq));
		ASSERT_TRUE(succeeds(&self->evd[1], i, i % 3 ? len : 5)) TH_LOG("write %u", i);
		EXPECT_EQ(0, memcmp(to + i * DAT_MAX_INLINE, from, len));
		EXPECT_TRUE(i % 3 || has_data(to + i * DAT_MAX_INLINE, i, 5));
	}
}

TEST_F_TIMEOUT(inline, a_queue_has_it_after_a_reset_too, 60)
{
	ASSERT_EQ(0, connected(self, self->max));
	ASSERT_EQ(0, t_reconnect_eps(&self->p, self->ep, self->evd));
	fill(self, DAT_OP_RDMA_WRITE, 3, (uint16_t)self->max);
	ASSERT_EQ(0, t_push(&self->ep[1].sq));
	ASSERT_TRUE(succeeds(&self->evd[1], 3, self->max));
	EXPECT_TRUE(has_data(self->p.mem.va + OUT + 3 * DAT_MAX_INLINE, 3, self->max));
}

/* --- malformed entries ---------------------------------------------------------- */

/* The entry that fill() has begun completes with an error, and ends the connection. */
#define EXPECT_MALFORMED() do {								\
	ASSERT_EQ(0, t_push(&self->ep[1].sq));						\
	EXPECT_EQ(DAT_EV_BROKEN, t_end(&self->evd[1], self->count));			\
	EXPECT_EQ(1, self->count[DAT_ST_LOCAL_EP]);					\
	EXPECT_EQ(1, self->ep[1].sq.status->bad);					\
} while (0)

TEST_F_TIMEOUT(inline, data_in_an_ep_that_has_none, 60)
{
	ASSERT_EQ(0, connected(self, 0));
	fill(self, DAT_OP_SEND, 1, 1);
	EXPECT_MALFORMED();
}

/* The entry has room for the data, because it has room for four segments. */
TEST_F_TIMEOUT(inline, more_data_than_the_ep_asked_for, 60)
{
	ASSERT_EQ(0, connected(self, SMALL));
	fill(self, DAT_OP_SEND, 1, SMALL + 1);
	EXPECT_MALFORMED();
}

TEST_F_TIMEOUT(inline, more_data_than_an_entry_holds, 300)
{
	/* The low eight bits of 0x100 and of 0x108 are a length that the entry may have. */
	static const uint16_t len[] = { DAT_MAX_INLINE + 1, 128, 0x7fff, 0xffff, 0x100, 0x108 };
	unsigned int i;

	ASSERT_EQ(0, connected(self, self->max));
	for (i = 0; i < sizeof(len) / sizeof(len[0]); i++) {
		fill(self, DAT_OP_SEND, 1, len[i]);
		EXPECT_MALFORMED();
		ASSERT_EQ(0, start_again(self));
	}
}

TEST_F_TIMEOUT(inline, data_and_segments, 60)
{
	ASSERT_EQ(0, connected(self, self->max));
	fill(self, DAT_OP_SEND, 1, 16)->num_sge = 1;
	EXPECT_MALFORMED();
}

TEST_F_TIMEOUT(inline, data_of_a_read, 60)
{
	struct dat_sqe *sqe;

	ASSERT_EQ(0, connected(self, self->max));
	sqe = fill(self, DAT_OP_RDMA_READ, 1, 16);
	sqe->raddr = (uintptr_t)self->p.mem.va;
	sqe->rkey = self->p.mem.rkey;
	EXPECT_MALFORMED();
}

TEST_F_TIMEOUT(inline, data_of_a_bind, 60)
{
	ASSERT_EQ(0, connected(self, self->max));
	fill(self, DAT_OP_RMR_BIND, 1, 16);
	ASSERT_EQ(0, t_push(&self->ep[1].sq));
	EXPECT_EQ(DAT_EV_BROKEN, t_end(&self->evd[1], self->count));
	EXPECT_EQ(1, self->ep[1].sq.status->bad);
}

TEST_F_TIMEOUT(inline, data_of_a_send_that_names_a_key, 60)
{
	ASSERT_EQ(0, connected(self, self->max));
	fill(self, DAT_OP_SEND, 1, 16)->rkey = 1;
	EXPECT_MALFORMED();
}

/* --- changes of the EP ---------------------------------------------------------- */

static struct dat_ep_modify modify_arg(FIXTURE_DATA(inline) *self, uint32_t max_inline)
{
	const struct dat_ep_create c = ep_arg(&self->p, &self->evd[1], max_inline);

	return (struct dat_ep_modify) {
		.size = sizeof(struct dat_ep_modify), .id = self->ep[1].id, .pz = c.pz,
		.recv_evd = c.recv_evd, .request_evd = c.request_evd,
		.connect_evd = c.connect_evd, .max_recv = c.max_recv,
		.max_request = c.max_request, .max_recv_iov = c.max_recv_iov,
		.max_request_iov = c.max_request_iov, .read_in = c.read_in,
		.read_out = c.read_out, .max_inline = c.max_inline,
	};
}

/* The library of version 1 changes an EP without a word about inline data. */
TEST_F_TIMEOUT(inline, a_change_sets_it_anew, 60)
{
	struct dat_ep_modify arg;

	ASSERT_EQ(self->max, make_ep(self, 1, self->max));
	arg = modify_arg(self, SMALL);
	ASSERT_EQ(0, t_ioctl(self->p.f.fd, DAT_IOC_EP_MODIFY, &arg));
	EXPECT_EQ(SMALL, arg.max_inline);
	arg = modify_arg(self, ~0U);
	ASSERT_EQ(0, t_ioctl(self->p.f.fd, DAT_IOC_EP_MODIFY, &arg));
	EXPECT_EQ(self->max, arg.max_inline);
	arg = modify_arg(self, 0);
	arg.size = offsetof(struct dat_ep_modify, max_inline);
	ASSERT_EQ(0, t_ioctl(self->p.f.fd, DAT_IOC_EP_MODIFY, &arg));
	ASSERT_EQ(0, t_map_span(&self->p.f, &arg.submit, PROT_READ | PROT_WRITE,
				&self->ep[1].submit));
	self->ep[1].sq.ring = (char *)self->ep[1].submit.va + arg.sq_offset;
	self->ep[1].sq.shift = arg.sq_shift;
	self->ep[1].sq.shared_tail = &((struct dat_submit *)self->ep[1].submit.va)->sq_tail;
	ASSERT_EQ(0, t_connect_eps(&self->p, self->ep, self->evd));
	fill(self, DAT_OP_SEND, 1, 1);
	EXPECT_MALFORMED();
}

TEST_F(inline, a_ring_that_was_prepared_for_other_data_is_not_used)
{
	struct dat_ep_modify arg;
	uint32_t generation;

	ASSERT_EQ(self->max, make_ep(self, 1, self->max));
	arg = modify_arg(self, SMALL);
	arg.step = DAT_RING_PREPARE;
	ASSERT_EQ(0, t_ioctl(self->p.f.fd, DAT_IOC_EP_MODIFY, &arg));
	generation = arg.generation;
	arg = modify_arg(self, SMALL + 1);
	arg.step = DAT_RING_COMMIT;
	arg.generation = generation;
	EXPECT_EQ(-EINVAL, t_ioctl(self->p.f.fd, DAT_IOC_EP_MODIFY, &arg));
	arg.max_inline = SMALL;
	EXPECT_EQ(0, t_ioctl(self->p.f.fd, DAT_IOC_EP_MODIFY, &arg));
}

/* --- races ---------------------------------------------------------------------- */

static int stop;

/* Change the length and the data of all entries. */
static void *scribble(void *arg)
{
	struct t_queue *sq = arg;
	unsigned int i, n = 0;

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		for (i = 0; i < sq->entries; i++, n++) {
			struct dat_sqe *sqe = (void *)(sq->ring + ((size_t)i << sq->shift));

			__atomic_store_n(&sqe->inline_len, (uint16_t)(n % 7 ? n % 97 : n),
					 __ATOMIC_RELAXED);
			__atomic_store_n((uint32_t *)(sqe + 1), n, __ATOMIC_RELAXED);
		}
	}
	return NULL;
}

TEST_F_TIMEOUT(inline, scribbling_while_kicking, 240)
{
	struct t_queue *sq = &self->ep[1].sq;
	pthread_t thread;
	int round, i;

	ASSERT_EQ(0, connected(self, self->max));
	for (round = 0; round < 10; round++) {
		stop = 0;
		ASSERT_EQ(0, pthread_create(&thread, NULL, scribble, sq));
		for (i = 0; i < 32; i++) {
			fill(self, DAT_OP_RDMA_WRITE, 1, 8);
			t_push(sq);
		}
		__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
		pthread_join(thread, NULL);
		ASSERT_EQ(0, start_again(self));
	}
}

TEST_HARNESS_MAIN
