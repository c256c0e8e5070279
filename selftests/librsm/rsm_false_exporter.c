// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* Tests of imports whose exporter is a program, which breaks the protocol; see rsm_rdma.h. */
#include "rsm_rdma.h"

/*
 * struct fake - exporter in a thread, from which another thread imports
 * @peer: exporter's end of the connection
 * @corrupt: function that changes the answer, or NULL
 * @len: length of the answer in bytes
 * @reject: reject the request with the answer, instead of accepting
 * @stop: stop after the answer
 * @ret: 0, or the number of the step that failed
 */
struct fake {
	struct peer	*peer;
	void		(*corrupt)(struct peer_answer *a);
	size_t		len;
	int		reject;
	int		stop;
	int		ret;
};

static int fake_answer(struct fake *f)
{
	struct peer_answer a;

	if (peer_event(f->peer, R_WAIT_MS) != RDMA_CM_EVENT_CONNECT_REQUEST)
		return 1;
	peer_answer(&a, f->peer);
	if (f->corrupt)
		f->corrupt(&a);
	if (f->reject)
		return peer_reject(f->peer, &a, f->len) ? 2 : 0;
	if (peer_accept(f->peer, &a, f->len))
		return 3;
	if (peer_event(f->peer, R_WAIT_MS) != RDMA_CM_EVENT_ESTABLISHED)
		return 4;
	if (f->stop)
		return 0;
	return peer_proven(f->peer) ? 5 : peer_grant(f->peer) ? 6 : 0;
}

static void *fake_thread(void *arg)
{
	struct fake *f = arg;

	f->ret = fake_answer(f);
	return NULL;
}

/*
 * Import from the exporter @f, which runs in another thread.  Returns the result of the import.
 * @f->ret is the result of the exporter.
 */
static int fake_import(struct fake *f, struct r_pair *p)
{
	pthread_t t;
	int ret;

	if (!f->len)
		f->len = sizeof(struct peer_answer);
	if (make_nodes() || peer_listen(f->peer, FAKE))
		return -1;
	if (pthread_create(&t, NULL, fake_thread, f))
		return -1;
	ret = rsm_memseg_import_connect(p->ctlr, NODE_FAKE, R_SEGID, 0600, &p->imp);
	pthread_join(t, NULL);
	return ret ? ret : rsm_memseg_import_init_barrier(p->imp, RSM_BAR_DEFAULT, &p->barrier);
}

static void big_endian(struct peer_answer *a)
{
	a->endian = PEER_BIG;
}

/* RSM check: 41 */
TEST_F(rdma, numbers_are_swapped_for_a_peer_of_the_other_byte_order)
{
	struct fake f = { .peer = &self->peer, .corrupt = big_endian };
	uint64_t x64[3] = { 1, 2, 0x0102030405060708 }, y64;
	struct peer_greeting *g = (void *)self->peer.pd;
	uint32_t x32 = 0x01020304, y32;
	uint16_t x16 = 0x0102, y16;
	struct r_pair *p = &self->p;
	char *mem = self->peer.mem;
	uint8_t x8 = 0x12, y8;

	ASSERT_EQ(RSM_SUCCESS, fake_import(&f, p));
	ASSERT_EQ(0, f.ret);
	EXPECT_EQ(PEER_LITTLE, g->endian);
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_put64(p->imp, 64, x64, 3));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_put32(p->imp, 8, &x32, 1));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_put16(p->imp, 16, &x16, 1));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_put8(p->imp, 24, &x8, 1));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_put(p->imp, 32, &x32, 4));
	EXPECT_EQ(2, be64toh(*(uint64_t *)(mem + 72)));
	EXPECT_EQ(0, memcmp(mem + 80, "\1\2\3\4\5\6\7\10", 8));
	EXPECT_EQ(0, memcmp(mem + 8, "\1\2\3\4", 4));
	EXPECT_EQ(0, memcmp(mem + 16, "\1\2", 2));
	EXPECT_EQ(0x12, mem[24]);
	/* rsm_memseg_import_put() transfers bytes, which are not swapped. */
	EXPECT_EQ(0, memcmp(mem + 32, &x32, 4));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_get64(p->imp, 80, &y64, 1));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_get32(p->imp, 8, &y32, 1));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_get16(p->imp, 16, &y16, 1));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_get8(p->imp, 24, &y8, 1));
	EXPECT_EQ(x64[2], y64);
	EXPECT_EQ(x32, y32);
	EXPECT_EQ(x16, y16);
	EXPECT_EQ(x8, y8);
	/* The swap has not changed the source. */
	EXPECT_EQ(0x0102030405060708, x64[2]);
}

static void no_magic(struct peer_answer *a)
{
	a->magic = htobe32(4711);
}

static void new_version(struct peer_answer *a)
{
	a->version = 9;
}

static void an_error(struct peer_answer *a)
{
	a->err = htobe32(RSMERR_PERM_DENIED);
}

static void odd_error(struct peer_answer *a)
{
	a->err = htobe32(RSMERR_CONN_ABORTED + 3);
}

/* RSM check: 27, 68 */
TEST_F(rdma, who_answers_something_else_is_no_node)
{
	struct fake fakes[] = {
		{ .corrupt = no_magic, .stop = 1 }, { .corrupt = new_version, .stop = 1 },
		{ .len = 4, .stop = 1 }, { .corrupt = an_error, .stop = 1 },
		{ .corrupt = no_magic, .reject = 1 }, { .corrupt = odd_error, .reject = 1 },
		{ .len = 1, .reject = 1 },
	};
	struct r_pair *p = &self->p;
	unsigned int i;

	for (i = 0; i < sizeof(fakes) / sizeof(fakes[0]); i++) {
		fakes[i].peer = &self->peer;
		EXPECT_EQ(RSMERR_REMOTE_NODE_UNREACHABLE, fake_import(&fakes[i], p))
			TH_LOG("answer %u", i);
		peer_close(&self->peer);
		ASSERT_EQ(0, peer_open(&self->peer));
	}
	/*
	 * The private data of a well-formed reject have an RSM error.  The import returns this
	 * error.
	 */
	fakes[0] = (struct fake) { .peer = &self->peer, .corrupt = an_error, .reject = 1 };
	EXPECT_EQ(RSMERR_PERM_DENIED, fake_import(&fakes[0], p));
}

/* RSM check: 68 */
TEST_F(rdma, an_exporter_that_talks_nonsense_is_cut)
{
	static const struct peer_msg nonsense[] = {
		{ .magic = 1 },
		{ .magic = 1, .type = PEER_TELL },
		{ .type = PEER_ACK },
		{ .type = PEER_OLD_PUTS },
		{ .type = PEER_OLD_DONE },
		{ .type = PEER_GRANT },
		{ .type = PEER_TELL, .flags = PEER_REBIND },
	};
	struct r_pair *p = &self->p;
	struct peer_msg m;
	struct fake f;
	unsigned int i;
	char c = 'x';

	for (i = 0; i < sizeof(nonsense) / sizeof(nonsense[0]); i++) {
		f = (struct fake) { .peer = &self->peer };
		ASSERT_EQ(RSM_SUCCESS, fake_import(&f, p));
		ASSERT_EQ(0, f.ret);
		EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_put(p->imp, 0, &c, 1));
		EXPECT_EQ('x', self->peer.mem[0]);
		m = nonsense[i];
		m.magic = htobe32(m.magic ? m.magic : PEER_MAGIC);
		/*
		 * The last message is a well-formed rebind, but its key belongs to no memory.  The
		 * next put cuts the import.
		 */
		if (!nonsense[i].flags) {
			ASSERT_EQ(0, peer_say(&self->peer, &m, sizeof(m)));
		} else {
			ASSERT_EQ(0, peer_send(&self->peer, &m, sizeof(m)));
			ASSERT_EQ(sizeof(m), peer_receive(&self->peer, &m, R_WAIT_MS));
			EXPECT_NE(RSM_SUCCESS, rsm_memseg_import_put(p->imp, 0, &c, 1));
		}
		EXPECT_EQ(RSMERR_CONN_ABORTED, rsm_intr_signal_wait(p->imp, R_WAIT_MS))
			TH_LOG("message %u", i);
		EXPECT_EQ(RSMERR_CONN_ABORTED, rsm_memseg_import_get(p->imp, 0, &c, 1));
		EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_disconnect(p->imp));
		peer_close(&self->peer);
		ASSERT_EQ(0, peer_open(&self->peer));
	}
}

#define SMALL_PUTS	8

/* Put the bytes 'a', 'b', ... with one vector.  The bytes are 100 bytes apart in the segment. */
static int put_with_gaps(struct r_pair *p)
{
	rsm_iovec_t v[SMALL_PUTS];
	rsm_scat_gath_t sg = {
		.io_request_count = SMALL_PUTS, .remote_handle = p->imp, .iovec = v,
	};
	static char buf[SMALL_PUTS];
	int i;

	for (i = 0; i < SMALL_PUTS; i++) {
		buf[i] = (char)('a' + i);
		v[i] = (rsm_iovec_t) {
			.io_type = RSM_VA_TYPE, .local.vaddr = buf, .local_offset = (size_t)i,
			.remote_offset = (size_t)i * 100, .transfer_length = 1,
		};
	}
	return rsm_memseg_import_putv(&sg);
}

static int has_gaps(const char *mem)
{
	int i;

	for (i = 0; i < SMALL_PUTS; i++)
		if (mem[i * 100] != 'a' + i || !r_all(mem + i * 100 + 1, 0, 99))
			return 0;
	return 1;
}

static void reserved(struct peer_answer *a)
{
	a->rsvd = htobe16(PEER_OLD_FLAG);
}

/* RSM check: 45 */
TEST_F(rdma, the_reserved_field_of_an_answer_changes_nothing)
{
	struct fake f = { .peer = &self->peer, .corrupt = reserved };
	int i;

	ASSERT_EQ(RSM_SUCCESS, fake_import(&f, &self->p));
	ASSERT_EQ(0, f.ret);
	for (i = 0; i < 3; i++) {
		memset(self->peer.mem, 0, R_PAGE);
		EXPECT_EQ(RSM_SUCCESS, put_with_gaps(&self->p));
		EXPECT_TRUE(has_gaps(self->peer.mem));
	}
}

/* RSM check: 21, 68 */
TEST_F(rdma, events_and_a_rebind_come_from_whoever_exports)
{
	struct fake f = { .peer = &self->peer };
	struct r_pair *p = &self->p;
	struct peer_msg m = {
		.magic = htobe32(PEER_MAGIC), .type = PEER_TELL, .events = htobe32(2),
		.flags = PEER_REBIND,
	};
	char c = 'x';

	ASSERT_EQ(RSM_SUCCESS, fake_import(&f, p));
	ASSERT_EQ(0, f.ret);
	m.rkey = htobe32(self->peer.mr->rkey);
	m.addr = htobe64((uintptr_t)self->peer.mem + 4096);
	ASSERT_EQ(0, peer_send(&self->peer, &m, sizeof(m)));
	ASSERT_EQ(sizeof(m), peer_receive(&self->peer, &m, R_WAIT_MS));
	EXPECT_EQ(PEER_ACK, m.type);
	EXPECT_EQ(RSM_SUCCESS, rsm_intr_signal_wait(p->imp, R_WAIT_MS));
	EXPECT_EQ(RSM_SUCCESS, rsm_intr_signal_wait(p->imp, R_WAIT_MS));
	EXPECT_EQ(RSMERR_TIMEOUT, rsm_intr_signal_wait(p->imp, 0));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_put(p->imp, 0, &c, 1));
	EXPECT_EQ('x', self->peer.mem[4096]);
	EXPECT_EQ(0, self->peer.mem[0]);
	/* The importer posts an event to the exporter. */
	EXPECT_EQ(RSM_SUCCESS, rsm_intr_signal_post(p->imp, 0));
	ASSERT_EQ(sizeof(m), peer_receive(&self->peer, &m, R_WAIT_MS));
	EXPECT_EQ(PEER_TELL, m.type);
	EXPECT_EQ(1, be32toh(m.events));
}

/* RSM check: 60 */
TEST_F(rdma, a_key_that_is_worth_nothing_is_noticed_at_the_close)
{
	struct fake f = { .peer = &self->peer };
	struct r_pair *p = &self->p;

	ASSERT_EQ(RSM_SUCCESS, fake_import(&f, p));
	ASSERT_EQ(0, f.ret);
	ASSERT_EQ(0, ibv_dereg_mr(self->peer.mr));
	self->peer.mr = NULL;
	rsm_memseg_import_set_mode(p->imp, RSM_BARRIER_MODE_EXPLICIT);
	ASSERT_EQ(RSM_SUCCESS, rsm_memseg_import_open_barrier(&p->barrier));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_put(p->imp, 0, "x", 1));
	EXPECT_EQ(RSMERR_CONN_ABORTED, rsm_memseg_import_close_barrier(&p->barrier));
	rsm_memseg_import_set_mode(p->imp, RSM_BARRIER_MODE_IMPLICIT);
	EXPECT_EQ(RSMERR_CONN_ABORTED, rsm_memseg_import_put(p->imp, 0, "x", 1));
}

static void other_trust(struct peer_answer *a)
{
	a->err = htobe32(RSMERR_BAD_CONF);
}

static void not_to_us(struct peer_answer *a)
{
	a->err = htobe32(RSMERR_SEG_NOT_PUBLISHED_TO_NODE);
}

static void too_busy(struct peer_answer *a)
{
	a->err = htobe32(RSMERR_INSUFFICIENT_RESOURCES);
}

static void other_node(struct peer_answer *a)
{
	a->err = htobe32(RSMERR_REMOTE_NODE_UNREACHABLE);
}

/*
 * Returns the state of the connection to NODE_FAKE, which answers like @f, or -1.  The node table
 * has no other node, for whose answer the topology would wait.
 */
static int fake_state(struct fake *f)
{
	const struct dat_rsm_node node = r_node_at(NODE_FAKE, FAKE);
	pthread_t t;
	int state;

	f->len = sizeof(struct peer_answer);
	if (v0_add(FAKE) || r_nodes(&node, 1, -1) || peer_open(f->peer))
		return -1;
	if (peer_listen(f->peer, FAKE) || pthread_create(&t, NULL, fake_thread, f))
		return -1;
	state = link_state(NODE_FAKE);
	pthread_join(t, NULL);
	peer_close(f->peer);
	return f->ret ? -1 : state;
}

/* RSM check: 7 */
TEST_F(rdma, a_node_that_refuses_us_is_there)
{
	struct fake f[] = {
		{ .corrupt = other_trust, .reject = 1 }, { .corrupt = not_to_us, .reject = 1 },
		{ .corrupt = too_busy, .reject = 1 }, { .stop = 1 },
		/* This error says that another node has the address of NODE_FAKE. */
		{ .corrupt = other_node, .reject = 1 },
	};
	unsigned int i;

	peer_close(&self->peer);
	for (i = 0; i < 5; i++) {
		f[i].peer = &self->peer;
		EXPECT_EQ(i < 4, fake_state(&f[i]) == RSM_CONNECTION_ACTIVE) TH_LOG("%u", i);
		EXPECT_EQ(0, f[i].ret);
	}
	ASSERT_EQ(0, peer_open(&self->peer));
}

TEST_HARNESS_MAIN
