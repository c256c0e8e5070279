// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * RSMAPI over an RDMA adapter: what loopback cannot test.  The peer of a connection is often the
 * test itself, which then acts as a remote kernel (see rsm_peer.h).  Some nodes of the node table
 * do not exist; their addresses are in the network of v0.  Needs the virtual machine's adapter rxe0
 * on v0.
 */
#include "rsm_test.h"

#include <endian.h>
#include <fcntl.h>
#include <grp.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/time.h>
#include <rdma/dat_rsm.h>

#include "rdma_count.h"
#include "rsm_node.h"
#include "rsm_peer.h"
#include "adapter.h"
#include "tracefs.h"

#define OWN		"10.9.0.1"	/* address of rxe0 */
#define NODE_DEAF	61		/* node at a local address where nobody listens */
#define NODE_GONE	62		/* node at an address that no machine has */
#define NODE_FAKE	63		/* node at a local address where tests listen */
#define NODE_NONE	64		/* node that is not in the node table */
#define DEAF		"10.9.0.61"
#define FAKE		"10.9.0.63"
#define N		RSM_MAX_SGIOREQS

static int command(const char *text)
{
	return system(text);
}

/* Add two local addresses, and fill in the node table: NODE_DEAF, NODE_GONE and NODE_FAKE. */
static int make_nodes(void)
{
	const struct dat_rsm_node nodes[] = {
		r_node_at(NODE_DEAF, DEAF), r_node_at(NODE_GONE, "10.9.0.62"),
		r_node_at(NODE_FAKE, FAKE),
	};

	return v0_add(DEAF) || v0_add(FAKE) ? -1 : r_nodes(nodes, 3, -1);
}

/* Wait until this machine has @n queue pairs.  Returns 0 on timeout. */
static int queue_pairs_are(int n)
{
	uint64_t end = r_now_ms() + R_WAIT_MS;

	while (rdma_count("qp") != n) {
		if (r_now_ms() > end)
			return 0;
		usleep(100000);
	}
	return 1;
}

FIXTURE(rdma) {
	struct r_pair	p;
	struct peer	peer;
};

FIXTURE_SETUP(rdma)
{
	if (!rxe_exists() || !v0_has(OWN))
		SKIP(return, "needs rxe0 on v0 at " OWN);
	ASSERT_EQ(0, peer_key_set());
	ASSERT_EQ(RSM_SUCCESS, r_open(&self->p));
	ASSERT_EQ(0, peer_open(&self->peer));
}

FIXTURE_TEARDOWN(rdma)
{
	peer_close(&self->peer);
	r_close(&self->p);
	r_nodes(NULL, 0, -1);
}

/* RSM check: 5 */
TEST_F(rdma, attributes_are_true_and_nothing_can_be_mapped)
{
	rsmapi_controller_attr_t attr;
	struct r_pair *p = &self->p;
	void *va, *again;

	ASSERT_EQ(RSM_SUCCESS, rsm_get_controller_attr(p->ctlr, &attr));
	EXPECT_EQ(0, attr.attr_direct_access_sizes);
	EXPECT_EQ(RSM_DAS8, attr.attr_atomic_sizes);
	EXPECT_EQ(R_PAGE, attr.attr_page_size * 1024);
	EXPECT_EQ(0, attr.attr_max_import_map_size);
	EXPECT_EQ(0, attr.attr_tot_import_map_size);
	EXPECT_LT(R_PAGE, attr.attr_max_export_segment_size);
	EXPECT_LE(attr.attr_max_export_segment_size, attr.attr_tot_export_segment_size);
	EXPECT_LT(0, attr.attr_max_export_segments);
	EXPECT_LT(0, attr.attr_max_import_segments);
	ASSERT_EQ(RSM_SUCCESS, r_export(p));
	ASSERT_EQ(RSM_SUCCESS, r_import(p, RSM_PERM_RDWR));
	EXPECT_EQ(RSMERR_MAP_FAILED, rsm_memseg_import_map(p->imp, &va, 0, 0600, 0, R_PAGE));
	EXPECT_EQ(RSMERR_BAD_LENGTH, rsm_memseg_import_map(p->imp, &va, 0, 0600, 0, 0));
	EXPECT_EQ(RSMERR_SEG_NOT_MAPPED, rsm_memseg_import_unmap(p->imp));
	EXPECT_EQ(RSM_SUCCESS, rsm_get_controller("RDMA0", &again));
	EXPECT_EQ(p->ctlr, again);
	EXPECT_EQ(RSM_SUCCESS, rsm_release_controller(again));
	EXPECT_EQ(RSMERR_CTLR_NOT_PRESENT, rsm_get_controller("rdma17", &again));
	EXPECT_EQ(RSMERR_CTLR_NOT_PRESENT, rsm_get_controller("rdma", &again));
}

struct listed {
	struct r_pair		*p;
	rsmapi_access_entry_t	list[3];
};

/* Connect as another user, who has no supplementary groups. */
static int connect_as_somebody(void *arg)
{
	struct r_pair *exporter = arg, p;

	if (r_open(&p) || setgroups(0, NULL) || setresgid(1002, 1002, 1002) ||
	    setresuid(1001, 1001, 1001))
		return 100;
	return rsm_memseg_import_connect(p.ctlr, p.node, exporter->id, 0600, &p.imp);
}

static int listed(struct r_pair *p, const struct listed *l, unsigned int n)
{
	int ret = rsm_memseg_export_republish(p->exp, (void *)l->list, n);

	return ret ? 101 : r_child(connect_as_somebody, p);
}

/* RSM check: 17 */
TEST_F(rdma, the_first_entry_for_a_node_counts)
{
	rsm_node_id_t us = self->p.node;
	const struct listed others = { .list = { { 5, 0666 }, { 6, 0666 } } };
	const struct listed last = { .list = { { 5, 0 }, { 6, 0 }, { us, 0666 } } };
	const struct listed nothing = { .list = { { us, 0 }, { us, 0666 } } };
	const struct listed first = { .list = { { us, 0666 }, { us, 0 } } };
	const struct listed digit = { .list = { { 5, 0666 }, { us, 0664 } } };

	ASSERT_EQ(RSM_SUCCESS, r_export(&self->p));
	EXPECT_EQ(RSMERR_SEG_NOT_PUBLISHED_TO_NODE, listed(&self->p, &others, 2));
	EXPECT_EQ(RSM_SUCCESS, listed(&self->p, &last, 3));
	EXPECT_EQ(RSMERR_PERM_DENIED, listed(&self->p, &nothing, 2));
	EXPECT_EQ(RSM_SUCCESS, listed(&self->p, &first, 2));
	EXPECT_EQ(RSMERR_PERM_DENIED, listed(&self->p, &digit, 2));
}

static void on_alarm(int sig)
{
	(void)sig;
}

static void alarm_in_ms(unsigned int ms)
{
	struct sigaction sa = { .sa_handler = on_alarm };
	struct itimerval t = { .it_value = { .tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000 } };

	sigaction(SIGALRM, &sa, NULL);
	setitimer(ITIMER_REAL, &t, NULL);
}

/* RSM check: 27 */
TEST_F(rdma, nodes_that_do_not_answer_are_unreachable)
{
	uint64_t start = r_now_ms();
	struct r_pair *p = &self->p;
	void *imp = p;

	ASSERT_EQ(0, make_nodes());
	EXPECT_EQ(RSMERR_REMOTE_NODE_UNREACHABLE,
		  rsm_memseg_import_connect(p->ctlr, NODE_NONE, R_SEGID, 0600, &imp));
	EXPECT_EQ(NULL, imp);
	EXPECT_EQ(RSMERR_REMOTE_NODE_UNREACHABLE,
		  rsm_memseg_import_connect(p->ctlr, NODE_DEAF, R_SEGID, 0600, &imp));
	EXPECT_EQ(RSMERR_REMOTE_NODE_UNREACHABLE,
		  rsm_memseg_import_connect(p->ctlr, NODE_GONE, R_SEGID, 0600, &imp));
	EXPECT_GT(60000, r_now_ms() - start);
}

/* RSM check: 27 */
TEST_F(rdma, a_signal_ends_waiting_for_a_silent_node)
{
	struct r_pair *p = &self->p;
	int before = rdma_count_settled("qp");
	void *imp;

	ASSERT_EQ(0, make_nodes());
	/* The peer listens, but does not answer the connection request. */
	ASSERT_EQ(0, peer_listen(&self->peer, FAKE));
	alarm_in_ms(1000);
	EXPECT_EQ(RSMERR_INTERRUPTED,
		  rsm_memseg_import_connect(p->ctlr, NODE_FAKE, R_SEGID, 0600, &imp));
	EXPECT_TRUE(queue_pairs_are(before));
	ASSERT_EQ(RSM_SUCCESS, r_export(p));
	EXPECT_EQ(RSM_SUCCESS, r_import(p, RSM_PERM_RDWR));
}

/* --- an exporter that is a program ------------------------------------------------ */

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

/* --- an importer that is a program ------------------------------------------------ */

/* Connect.  Returns the event that reports the result, or -1. */
static int greet(struct peer *peer, const void *pd, size_t len)
{
	if (peer_connect(peer, OWN, pd, len))
		return -1;
	return peer_event(peer, R_WAIT_MS);
}

/* Fill in a greeting from this node to this node that asks for @perm. */
static void own_greeting(struct peer_greeting *g, struct r_pair *p, uint32_t perm)
{
	peer_greeting(g, p->id);
	g->node = htobe32(p->node);
	g->to = g->node;
	g->perm = htobe32(perm);
}

/* Connect and go through the handshake.  Returns the error in the grant (0: granted), or -1. */
static int shake_hands(struct peer *peer, const struct peer_greeting *g)
{
	if (greet(peer, g, sizeof(*g)) != RDMA_CM_EVENT_ESTABLISHED)
		return -1;
	peer_proof(peer);
	return peer_prove(peer) ? -1 : peer_granted(peer);
}

/* Go through the handshake with @perm, and copy the grant to @a.  Returns 0 or -1. */
static int greet_with(struct peer *peer, struct r_pair *p, uint32_t perm, struct peer_grant *a)
{
	struct peer_greeting g;

	own_greeting(&g, p, perm);
	if (shake_hands(peer, &g))
		return -1;
	*a = peer->said.grant;
	return 0;
}

static int greet_well(struct peer *peer, struct r_pair *p, struct peer_grant *a)
{
	return greet_with(peer, p, 0600, a);
}

/* Returns 0 if the segment still works. */
static int still_works(struct r_pair *p)
{
	char c = 's', d = 0;
	int ret = r_import(p, RSM_PERM_RDWR);

	if (!ret)
		ret = rsm_memseg_import_put(p->imp, 0, &c, 1);
	if (!ret)
		ret = rsm_memseg_import_get(p->imp, 0, &d, 1);
	if (!ret)
		ret = rsm_memseg_import_disconnect(p->imp);
	p->imp = NULL;
	return ret ? ret : p->mem[0] != c || d != c;
}

/*
 * struct forgery - a greeting with a wrong field
 * @at: offset of the four bytes to replace
 * @by: new value of the four bytes
 * @len: length of the greeting in bytes
 * @err: expected error in the answer
 */
struct forgery {
	size_t		at;
	uint64_t	by;
	size_t		len;
	int		err;
};

#define AT(field) offsetof(struct peer_greeting, field)
#define WHOLE sizeof(struct peer_greeting)

/* RSM check: 68 */
TEST_F(rdma, forged_greetings_are_refused)
{
	static const struct forgery forgeries[] = {
		{ AT(magic), 1, WHOLE, RSMERR_REMOTE_NODE_UNREACHABLE },
		{ AT(version), 9 << 24, WHOLE, RSMERR_REMOTE_NODE_UNREACHABLE },
		{ AT(to), 7, WHOLE, RSMERR_REMOTE_NODE_UNREACHABLE },
		{ AT(segid), 0x7123456, WHOLE, RSMERR_SEG_NOT_PUBLISHED },
		{ AT(segid), 0, WHOLE, RSMERR_SEG_NOT_PUBLISHED },
		{ AT(perm), 0777, WHOLE, RSMERR_REMOTE_NODE_UNREACHABLE },
		/* The node table has another address for this node id. */
		{ AT(node), NODE_GONE, WHOLE, RSMERR_SEG_NOT_PUBLISHED_TO_NODE },
		{ AT(version), 0x02010002, WHOLE, RSMERR_REMOTE_NODE_UNREACHABLE },
		{ AT(version), 0x01010000, WHOLE, RSMERR_REMOTE_NODE_UNREACHABLE },
	};
	struct peer_answer *a = (void *)self->peer.pd;
	struct peer_greeting g;
	uint32_t by;
	unsigned int i;

	umask(0077);
	ASSERT_EQ(0, make_nodes());
	ASSERT_EQ(RSM_SUCCESS, r_export(&self->p));
	for (i = 0; i < sizeof(forgeries) / sizeof(forgeries[0]); i++) {
		peer_greeting(&g, self->p.id);
		g.node = htobe32(self->p.node);
		g.to = g.node;
		by = htobe32((uint32_t)forgeries[i].by);
		memcpy((char *)&g + forgeries[i].at, &by, sizeof(by));
		EXPECT_EQ(RDMA_CM_EVENT_REJECTED, greet(&self->peer, &g, forgeries[i].len))
			TH_LOG("greeting %u", i);
		EXPECT_EQ(PEER_MAGIC, be32toh(a->magic));
		EXPECT_EQ(forgeries[i].err, be32toh(a->err)) TH_LOG("greeting %u", i);
		peer_close(&self->peer);
		ASSERT_EQ(0, peer_open(&self->peer));
	}
	EXPECT_EQ(RSM_SUCCESS, still_works(&self->p));
}

/*
 * Runs in a child.  Send a valid greeting as an unprivileged user.  Returns 0 if the exporter
 * refuses the greeting.
 */
static int greet_as_somebody(void *arg)
{
	struct peer_greeting *g = arg;
	struct peer_answer *a;
	struct peer peer;

	if (setgroups(0, NULL) || setresgid(1002, 1002, 1002) || setresuid(1001, 1001, 1001) ||
	    peer_open(&peer))
		return 100;
	/* An unprivileged user cannot connect from a privileged port. */
	if (!peer_connect(&peer, OWN, g, sizeof(*g)))
		return 101;
	peer_close(&peer);
	if (peer_open(&peer))
		return 102;
	peer.process = 1;
	if (greet(&peer, g, sizeof(*g)) != RDMA_CM_EVENT_REJECTED)
		return 103;
	a = (void *)peer.pd;
	return (int)be32toh(a->err) == RSMERR_REMOTE_NODE_UNREACHABLE ? 0 : 104;
}

/* RSM check: 68 */
TEST_F(rdma, a_process_can_not_speak_for_its_kernel)
{
	struct r_pair *p = &self->p;
	struct peer_greeting g;

	ASSERT_EQ(0, command("chmod 0666 /dev/infiniband/*"));
	ASSERT_EQ(RSM_SUCCESS, r_export(p));
	own_greeting(&g, p, 0600);
	EXPECT_EQ(0, r_child(greet_as_somebody, &g));
	EXPECT_EQ(RDMA_CM_EVENT_ESTABLISHED, greet(&self->peer, &g, sizeof(g)));
	EXPECT_EQ(RSM_SUCCESS, still_works(p));
}

/* Go through the handshake as node @node.  Returns the error in the grant, or -1. */
static int greet_as(struct peer *peer, struct r_pair *p, rsm_node_id_t node)
{
	struct peer_greeting g;
	int err;

	own_greeting(&g, p, 0600);
	g.node = htobe32(node);
	err = shake_hands(peer, &g);
	peer_close(peer);
	return peer_open(peer) ? -1 : err;
}

/* RSM check: 17, 68 */
TEST_F(rdma, a_list_lets_in_nobody_who_is_in_no_table)
{
	rsmapi_access_entry_t list[] = { { self->p.node, 0666 }, { NODE_NONE, 0666 } };
	struct r_pair *p = &self->p;

	ASSERT_EQ(RSM_SUCCESS, r_export(p));
	EXPECT_EQ(RSM_SUCCESS, greet_as(&self->peer, p, NODE_NONE));
	ASSERT_EQ(RSM_SUCCESS, rsm_memseg_export_republish(p->exp, list, 2));
	EXPECT_EQ(RSMERR_SEG_NOT_PUBLISHED_TO_NODE, greet_as(&self->peer, p, NODE_NONE));
	EXPECT_EQ(RSM_SUCCESS, greet_as(&self->peer, p, p->node));
}

/* RSM check: 68 */
TEST_F(rdma, rubbish_instead_of_a_greeting_is_refused)
{
	unsigned int seed = 4711, i, k;
	char rubbish[56];

	ASSERT_EQ(RSM_SUCCESS, r_export(&self->p));
	for (i = 0; i < 20; i++) {
		for (k = 0; k < sizeof(rubbish); k++)
			rubbish[k] = (char)rand_r(&seed);
		EXPECT_EQ(RDMA_CM_EVENT_REJECTED, greet(&self->peer, rubbish, i * 3 % 57));
		peer_close(&self->peer);
		ASSERT_EQ(0, peer_open(&self->peer));
	}
	EXPECT_EQ(RSM_SUCCESS, still_works(&self->p));
}

/* RSM check: 68 */
TEST_F(rdma, a_key_opens_its_segment_and_no_other)
{
	struct r_pair *p = &self->p, q;
	struct peer_grant a, b;
	struct peer other;

	ASSERT_EQ(RSM_SUCCESS, r_open(&q));
	ASSERT_EQ(RSM_SUCCESS, r_export(p));
	ASSERT_EQ(RSM_SUCCESS, r_export(&q));
	ASSERT_EQ(0, peer_open(&other));
	ASSERT_EQ(0, greet_well(&self->peer, p, &a));
	ASSERT_EQ(0, greet_well(&other, &q, &b));
	EXPECT_EQ(R_SIZE, be64toh(a.length));
	EXPECT_EQ(0, be32toh(a.err));
	memset(self->peer.mem, 'x', R_PAGE);
	memset(p->mem, 0, R_SIZE);
	memset(q.mem, 0, R_SIZE);
	ASSERT_EQ(IBV_WC_SUCCESS,
		  peer_rdma(&self->peer, 1, be64toh(a.addr), be32toh(a.rkey), R_PAGE));
	EXPECT_NE(IBV_WC_SUCCESS,
		  peer_rdma(&self->peer, 1, be64toh(b.addr), be32toh(b.rkey), R_PAGE));
	EXPECT_TRUE(r_all(p->mem, 'x', R_PAGE));
	EXPECT_TRUE(r_all(q.mem, 0, R_SIZE));
	/* Memory after the end of the segment is not accessible. */
	memset(other.mem, 'y', R_PAGE);
	EXPECT_NE(IBV_WC_SUCCESS, peer_rdma(&other, 1, be64toh(b.addr) + R_SIZE - R_PAGE / 2,
					    be32toh(b.rkey), R_PAGE));
	EXPECT_TRUE(r_all(q.mem, 0, R_SIZE - R_PAGE / 2));
	peer_close(&other);
	EXPECT_EQ(RSM_SUCCESS, still_works(p));
	EXPECT_EQ(RSM_SUCCESS, still_works(&q));
	r_close(&q);
}

/* RSM check: 68 */
TEST_F(rdma, who_may_only_read_writes_nothing_with_the_key)
{
	struct r_pair *p = &self->p;
	struct peer_grant a;

	ASSERT_EQ(RSM_SUCCESS, r_export(p));
	memset(p->mem, 'r', R_SIZE);
	ASSERT_EQ(0, greet_with(&self->peer, p, 0400, &a));
	EXPECT_EQ(IBV_WC_SUCCESS,
		  peer_rdma(&self->peer, 0, be64toh(a.addr), be32toh(a.rkey), R_PAGE));
	EXPECT_TRUE(r_all(self->peer.mem, 'r', R_PAGE));
	memset(self->peer.mem, 'w', R_PAGE);
	EXPECT_NE(IBV_WC_SUCCESS,
		  peer_rdma(&self->peer, 1, be64toh(a.addr), be32toh(a.rkey), R_PAGE));
	EXPECT_TRUE(r_all(p->mem, 'r', R_SIZE));
	EXPECT_EQ(RSM_SUCCESS, still_works(p));
}

#define IMPORTS	200	/* imports of import_crowd() */

/* Import the segment IMPORTS times, report success to @ready, and wait to be killed. */
static void import_crowd(struct r_pair *of, int ready)
{
	struct r_pair p;
	void *imp;
	int i;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (r_open(&p))
		_exit(1);
	for (i = 0; i < IMPORTS; i++)
		if (rsm_memseg_import_connect(p.ctlr, p.node, of->id, 0600, &imp))
			_exit(2);
	write(ready, "x", 1);
	pause();
	_exit(3);
}

struct closes {
	unsigned int	count;
	uint64_t	longest_ms;
};

/* Open and close /dev/rsm in a loop, and record the longest close. */
static void open_and_close(volatile struct closes *c)
{
	struct dat_rsm_open o;
	uint64_t start, ms;
	int fd;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		o = (struct dat_rsm_open) { .size = sizeof(o) };
		fd = open("/dev/rsm", O_RDWR | O_CLOEXEC);
		if (fd < 0 || CALL(fd, OPEN, &o))
			_exit(1);
		start = r_now_ms();
		close(fd);
		ms = r_now_ms() - start;
		if (ms > c->longest_ms)
			c->longest_ms = ms;
		c->count++;
	}
}

/*
 * A close of /dev/rsm waits for running MMU notifiers of all processes.  The exit of a process that
 * has many imports takes long.  Every close must take less than half as long as that exit.
 */
TEST_F_TIMEOUT(rdma, files_are_closed_while_a_process_with_many_imports_ends, 240)
{
	volatile struct closes *closes;
	struct r_pair *p = &self->p;
	pid_t crowd, other;
	uint64_t start, ms;
	int ready[2];
	char c;

	closes = mmap(NULL, R_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_EQ(RSM_SUCCESS, r_export(p));
	ASSERT_EQ(0, pipe(ready));
	crowd = fork();
	if (!crowd)
		import_crowd(p, ready[1]);
	close(ready[1]);
	ASSERT_EQ(1, read(ready[0], &c, 1));
	other = fork();
	if (!other)
		open_and_close(closes);
	while (closes->count < 2)
		usleep(1000);
	closes->longest_ms = 0;
	start = r_now_ms();
	kill(crowd, SIGKILL);
	EXPECT_EQ(crowd, waitpid(crowd, NULL, 0));
	ms = r_now_ms() - start;
	/*
	 * A close that waited for the exit may finish just after the exit: wait for two more
	 * closes.
	 */
	closes->count = 0;
	while (closes->count < 2)
		usleep(1000);
	TH_LOG("ended in %lu ms, longest close %lu ms", ms, closes->longest_ms);
	EXPECT_LT(2 * closes->longest_ms, ms);
	kill(other, SIGKILL);
	waitpid(other, NULL, 0);
	EXPECT_EQ(RSM_SUCCESS, still_works(p));
}

#define IMPORTERS	"/sys/module/dat_rsm/parameters/max_importers"

/* RSM check: 10 */
TEST_F(rdma, a_segment_has_no_more_importers_than_it_may)
{
	struct r_pair *p = &self->p;
	void *imp[3];
	int before;

	ASSERT_EQ(RSM_SUCCESS, r_export(p));
	before = rdma_count_settled("qp");
	ASSERT_EQ(0, command("echo 2 >" IMPORTERS));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_connect(p->ctlr, p->node, p->id, 0600, &imp[0]));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_connect(p->ctlr, p->node, p->id, 0600, &imp[1]));
	EXPECT_EQ(RSMERR_INSUFFICIENT_RESOURCES,
		  rsm_memseg_import_connect(p->ctlr, p->node, p->id, 0600, &imp[2]));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_disconnect(imp[0]));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_disconnect(imp[1]));
	EXPECT_TRUE(queue_pairs_are(before));
	ASSERT_EQ(0, command("echo 256 >" IMPORTERS));
	EXPECT_EQ(RSM_SUCCESS, still_works(p));
}

#define USER_SHARE	"/sys/module/dat_rsm/parameters/max_user"
#define SHARE_OF_1	30	/* 1 percent of 3,072 connections */

/* Start a process of user @uid that exports a segment which every user may import. */
static int somebodys_segment(struct r_peer *owner, uid_t uid)
{
	int ret;

	umask(0);
	if (command("chmod 0666 /dev/rsm") || setresuid(uid, uid, 0))
		return -1;
	ret = r_peer_start(owner, NULL);
	return setresuid(0, 0, 0) ?: ret;
}

TEST_F(rdma, the_segments_of_a_user_take_no_more_connections_than_its_share)
{
	static const uid_t uids[] = { 65534, 65533 };
	struct r_pair *p = &self->p;
	struct r_peer owners[2];
	void *imp[SHARE_OF_1], *more;
	int i, before = rdma_count_settled("qp");

	ASSERT_EQ(0, command("echo 1 >" USER_SHARE));
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, somebodys_segment(&owners[i], uids[i]));
	for (i = 0; i < SHARE_OF_1; i++)
		ASSERT_EQ(RSM_SUCCESS, rsm_memseg_import_connect(p->ctlr, p->node, owners[0].id,
								 0600, &imp[i]));
	EXPECT_EQ(RSMERR_INSUFFICIENT_RESOURCES,
		  rsm_memseg_import_connect(p->ctlr, p->node, owners[0].id, 0600, &more));
	/* Another user has its own share. */
	EXPECT_EQ(RSM_SUCCESS,
		  rsm_memseg_import_connect(p->ctlr, p->node, owners[1].id, 0600, &more));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_disconnect(more));
	for (i = 0; i < SHARE_OF_1; i++)
		EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_disconnect(imp[i]));
	EXPECT_TRUE(queue_pairs_are(before));
	/* The disconnects have given the connections back to the share. */
	EXPECT_EQ(RSM_SUCCESS,
		  rsm_memseg_import_connect(p->ctlr, p->node, owners[0].id, 0600, &more));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_disconnect(more));
	for (i = 0; i < 2; i++)
		r_peer_stop(&owners[i], SIGKILL);
	EXPECT_EQ(0, command("echo 25 >" USER_SHARE));
}

/* Returns 1 if the exporter disconnects the peer. */
static int thrown_out(struct peer *peer)
{
	int ev = peer_event(peer, R_WAIT_MS);

	return ev == RDMA_CM_EVENT_DISCONNECTED || ev == RDMA_CM_EVENT_TIMEWAIT_EXIT;
}

#define WHOLE_MSG	sizeof(struct peer_msg)

/* RSM check: 68 */
TEST_F(rdma, an_importer_that_talks_nonsense_is_thrown_out)
{
	static const struct {
		struct peer_msg	m;
		size_t		len;
	} nonsense[] = {
		{ { .magic = 1 }, WHOLE_MSG }, { { .magic = 1, .type = PEER_TELL }, WHOLE_MSG },
		{ { .type = 0 }, WHOLE_MSG }, { { .type = PEER_PROOF }, WHOLE_MSG },
		{ { .type = PEER_ACK }, WHOLE_MSG }, { { .type = PEER_ACK }, WHOLE_MSG + 8 },
		{ { .type = PEER_OLD_PUTS }, WHOLE_MSG }, { { .type = PEER_OLD_DONE }, WHOLE_MSG },
		{ { .type = PEER_TELL }, WHOLE_MSG - 1 }, { { .type = PEER_TELL }, 0 },
		{ { .type = PEER_TELL }, WHOLE_MSG + 1 }, { { .type = PEER_TELL }, PEER_MSG },
		{ { .type = PEER_TELL, .flags = PEER_REBIND }, WHOLE_MSG },
	};
	struct r_pair *p = &self->p;
	char text[PEER_MSG] = {};
	struct peer_grant a;
	struct peer_msg m;
	unsigned int i;

	ASSERT_EQ(RSM_SUCCESS, r_export(p));
	ASSERT_EQ(RSM_SUCCESS, r_import(p, RSM_PERM_RDWR));
	for (i = 0; i < sizeof(nonsense) / sizeof(nonsense[0]); i++) {
		ASSERT_EQ(0, greet_well(&self->peer, p, &a));
		m = nonsense[i].m;
		m.magic = htobe32(m.magic ? m.magic : PEER_MAGIC);
		memcpy(text, &m, sizeof(m));
		ASSERT_EQ(0, peer_say(&self->peer, text, nonsense[i].len));
		EXPECT_TRUE(thrown_out(&self->peer)) TH_LOG("message %u", i);
		peer_close(&self->peer);
		ASSERT_EQ(0, peer_open(&self->peer));
	}
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_put(p->imp, 0, "x", 1));
	EXPECT_EQ('x', p->mem[0]);
}

struct rebind {
	struct r_pair	*p;
	char		*mem;
	int		ret;
};

static void *rebind_thread(void *arg)
{
	struct rebind *r = arg;

	r->ret = rsm_memseg_export_rebind(r->p->exp, r->mem, 0, R_SIZE);
	return NULL;
}

/* RSM check: 21 */
TEST_F(rdma, an_importer_reaches_the_old_memory_until_it_answers_the_rebind)
{
	struct peer_msg ack = { .magic = htobe32(PEER_MAGIC), .type = PEER_ACK };
	struct rebind r = { .p = &self->p, .mem = r_mem(R_SIZE), .ret = -1 };
	struct peer *peer = &self->peer;
	char *old, buf[PEER_MSG];
	struct peer_grant a;
	struct peer_msg tell;
	pthread_t t;

	ASSERT_EQ(RSM_SUCCESS, r_export(&self->p));
	old = self->p.mem;
	ASSERT_EQ(0, greet_well(peer, &self->p, &a));
	ASSERT_EQ(0, pthread_create(&t, NULL, rebind_thread, &r));
	ASSERT_EQ(sizeof(tell), peer_receive(peer, buf, R_WAIT_MS));
	memcpy(&tell, buf, sizeof(tell));
	ASSERT_EQ(PEER_REBIND, tell.flags);
	peer->mem[0] = 'o';
	EXPECT_EQ(IBV_WC_SUCCESS, peer_rdma(peer, 1, be64toh(a.addr), be32toh(a.rkey), 1));
	EXPECT_EQ('o', old[0]);
	EXPECT_EQ(0, r.mem[0]);
	peer->mem[0] = 'n';
	EXPECT_EQ(IBV_WC_SUCCESS, peer_rdma(peer, 1, be64toh(tell.addr), be32toh(tell.rkey), 1));
	EXPECT_EQ('o', old[0]);
	EXPECT_EQ('n', r.mem[0]);
	ASSERT_EQ(0, peer_send(peer, &ack, sizeof(ack)));
	pthread_join(t, NULL);
	EXPECT_EQ(RSM_SUCCESS, r.ret);
	peer->mem[0] = 'x';
	EXPECT_NE(IBV_WC_SUCCESS, peer_rdma(peer, 1, be64toh(a.addr), be32toh(a.rkey), 1));
	EXPECT_EQ('o', old[0]);
	EXPECT_EQ('n', r.mem[0]);
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_export_destroy(self->p.exp));
}

/* RSM check: 62 */
TEST_F(rdma, a_peer_can_count_as_far_as_it_likes)
{
	struct peer_msg m = {
		.magic = htobe32(PEER_MAGIC), .type = PEER_TELL, .flags = PEER_SINGLE,
		.events = htobe32(0xffffffff),
	}, ack;
	struct r_pair *p = &self->p;
	struct peer_grant a;
	int i;

	ASSERT_EQ(RSM_SUCCESS, r_export(p));
	ASSERT_EQ(0, greet_well(&self->peer, p, &a));
	for (i = 0; i < 3; i++) {
		ASSERT_EQ(0, peer_send(&self->peer, &m, sizeof(m)));
		do {
			ASSERT_EQ(sizeof(ack), peer_receive(&self->peer, &ack, R_WAIT_MS));
		} while (ack.type != PEER_ACK);
	}
	for (i = 0; i < 10; i++)
		EXPECT_EQ(RSM_SUCCESS, rsm_intr_signal_wait(p->exp, 0));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_export_destroy(p->exp));
	EXPECT_TRUE(thrown_out(&self->peer));
}

/*
 * Each receive buffer of the exporter still holds an old message of the peer.  A write with
 * immediate data must not make the exporter process the old message again.
 */
/* RSM check: 68 */
TEST_F(rdma, a_write_with_immediate_is_no_message)
{
	struct peer_msg m = {
		.magic = htobe32(PEER_MAGIC), .type = PEER_TELL, .flags = PEER_SINGLE,
		.events = htobe32(1),
	}, ack;
	struct r_pair *p = &self->p;
	struct peer_grant a;
	int i;

	ASSERT_EQ(RSM_SUCCESS, r_export(p));
	ASSERT_EQ(0, greet_well(&self->peer, p, &a));
	for (i = 0; i < 2 * PEER_RECVS; i++) {
		ASSERT_EQ(0, peer_send(&self->peer, &m, sizeof(m)));
		do {
			ASSERT_EQ(sizeof(ack), peer_receive(&self->peer, &ack, R_WAIT_MS));
		} while (ack.type != PEER_ACK);
	}
	ASSERT_EQ(0, peer_write_imm(&self->peer, be64toh(a.addr), be32toh(a.rkey), sizeof(m)));
	EXPECT_TRUE(thrown_out(&self->peer));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_export_destroy(p->exp));
}

/* RSM check: 68 */
TEST_F(rdma, a_write_with_immediate_longer_than_a_message_is_none)
{
	struct r_pair *p = &self->p;
	struct peer_grant a;

	ASSERT_EQ(RSM_SUCCESS, r_export(p));
	ASSERT_EQ(0, greet_well(&self->peer, p, &a));
	ASSERT_EQ(0, peer_write_imm(&self->peer, be64toh(a.addr), be32toh(a.rkey), R_SIZE));
	EXPECT_TRUE(thrown_out(&self->peer));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_export_destroy(p->exp));
}

#define REQUESTS	200	/* more requests than may wait for an answer */
#define SOON_MS	5000	/* a signal that waits behind crowd() takes longer */

/* Send REQUESTS connection requests, and only then wait for the answers. */
static int crowd(struct r_pair *p)
{
	static struct peer peers[REQUESTS];
	struct peer_greeting g;
	int i;

	peer_greeting(&g, p->id);
	g.node = htobe32(NODE_GONE);
	g.to = htobe32(p->node);
	for (i = 0; i < REQUESTS; i++)
		if (peer_open(&peers[i]) || peer_connect(&peers[i], OWN, &g, sizeof(g)))
			return 1;
	for (i = 0; i < REQUESTS; i++)
		if (peer_event(&peers[i], R_WAIT_MS) != RDMA_CM_EVENT_REJECTED)
			return 2;
	return 0;
}

/* RSM check: 62, 68 */
TEST_F(rdma, a_crowd_that_asks_holds_up_nobody_who_is_connected)
{
	struct r_pair *p = &self->p;
	int status, rounds = 0;
	pid_t pid;

	/*
	 * The node table has another address for NODE_GONE, so the requests of crowd() are refused.
	 */
	ASSERT_EQ(0, make_nodes());
	ASSERT_EQ(RSM_SUCCESS, r_export(p));
	ASSERT_EQ(RSM_SUCCESS, r_import(p, RSM_PERM_RDWR));
	pid = fork();
	if (!pid)
		_exit(crowd(p));
	do {
		ASSERT_EQ(RSM_SUCCESS, rsm_intr_signal_post(p->imp, 0));
		ASSERT_EQ(RSM_SUCCESS, rsm_intr_signal_wait(p->exp, SOON_MS));
		rounds++;
	} while (!waitpid(pid, &status, WNOHANG));
	EXPECT_EQ(0, status) TH_LOG("after %d rounds", rounds);
	EXPECT_EQ(RSM_SUCCESS, still_works(p));
}

/* RSM check: 27, 68 */
TEST_F(rdma, a_peer_that_stops_half_way_holds_up_nobody)
{
	int before = rdma_count_settled("qp");
	struct r_pair *p = &self->p;
	struct peer_greeting g;
	uint64_t start;

	ASSERT_EQ(RSM_SUCCESS, r_export(p));
	peer_greeting(&g, p->id);
	g.node = htobe32(p->node);
	g.to = g.node;
	/* The peer does not process the answer, so the peer never confirms the connection. */
	ASSERT_EQ(0, peer_connect(&self->peer, OWN, &g, sizeof(g)));
	usleep(R_QUIET_MS * 1000);
	EXPECT_EQ(RSM_SUCCESS, still_works(p));
	EXPECT_EQ(RSM_SUCCESS, rsm_intr_signal_post(p->exp, 0));
	start = r_now_ms();
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_export_rebind(p->exp, r_mem(R_SIZE), 0, R_SIZE));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_export_unpublish(p->exp));
	EXPECT_GT(R_WAIT_MS, r_now_ms() - start);
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_export_destroy(p->exp));
	peer_close(&self->peer);
	EXPECT_TRUE(queue_pairs_are(before));
}

/* RSM check: 21 */
TEST_F(rdma, who_does_not_answer_a_rebind_is_thrown_out)
{
	char *m = r_mem(R_SIZE), c = 0;
	struct r_pair *p = &self->p;
	struct peer_grant a;
	uint64_t start;

	ASSERT_EQ(RSM_SUCCESS, r_export(p));
	ASSERT_EQ(RSM_SUCCESS, r_import(p, RSM_PERM_RDWR));
	ASSERT_EQ(0, greet_well(&self->peer, p, &a));
	start = r_now_ms();
	ASSERT_EQ(RSM_SUCCESS, rsm_memseg_export_rebind(p->exp, m, 0, R_SIZE));
	EXPECT_GT(2 * R_WAIT_MS, r_now_ms() - start);
	EXPECT_TRUE(thrown_out(&self->peer));
	/* The peer's key is invalid now.  A write may get no completion, so do not wait long. */
	self->peer.patience_ms = 1000;
	memset(p->mem, 'm', R_SIZE);
	EXPECT_NE(IBV_WC_SUCCESS,
		  peer_rdma(&self->peer, 1, be64toh(a.addr), be32toh(a.rkey), R_PAGE));
	EXPECT_TRUE(r_all(p->mem, 'm', R_SIZE));
	/* The import of this process is not affected. */
	m[0] = 'n';
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_get(p->imp, 0, &c, 1));
	EXPECT_EQ('n', c);
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_export_destroy(p->exp));
}

/*
 * The ends of connections share a bounded number of places.  An end that waits for the peer must
 * look again and again, and take no place meanwhile.
 */
TEST_F(rdma, a_peer_that_acknowledges_nothing_takes_no_place_of_connections_that_end)
{
	struct r_pair *p = &self->p;
	static char log[1 << 16];
	struct peer_grant a;

	ASSERT_EQ(RSM_SUCCESS, r_export(p));
	ASSERT_EQ(0, greet_well(&self->peer, p, &a));
	if (trace_start())
		SKIP(return, "no tracefs");
	EXPECT_EQ(0, trace_on("workqueue/workqueue_execute_start", "0"));
	/* The peer gets this event, and sends no ACK. */
	EXPECT_EQ(RSM_SUCCESS, rsm_intr_signal_post(p->exp, 0));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_export_unpublish(p->exp));
	EXPECT_LE(2, trace_read(log, sizeof(log), "function serve_end_work"));
	trace_end();
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_export_destroy(p->exp));
}

/*
 * With iWARP, the exporter can write to the memory into which an import reads.  So each import
 * needs a protection domain of its own.
 */
TEST_F(rdma, each_import_has_a_zone_of_its_own)
{
	struct r_pair *p = &self->p;
	rsmapi_barrier_t barrier;
	int before, n = 0;
	char c = 'x';
	void *imp;

	ASSERT_EQ(RSM_SUCCESS, r_export(p));
	ASSERT_EQ(RSM_SUCCESS, r_import(p, RSM_PERM_RDWR));
	before = rdma_count_settled("pd");
	ASSERT_LT(0, before);
	ASSERT_EQ(RSM_SUCCESS, r_also(p, RSM_PERM_RDWR, &imp, &barrier));
	EXPECT_EQ(before + 1, rdma_count("pd"));
	/* The put creates the ring of the import, in the protection domain of the import. */
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_put(imp, 0, &c, 1));
	EXPECT_EQ(before + 1, rdma_count("pd"));
	EXPECT_EQ('x', p->mem[0]);
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_disconnect(imp));
	while (rdma_count("pd") != before && n++ < R_WAIT_MS / 100)
		usleep(100000);
	EXPECT_EQ(before, rdma_count("pd"));
}

/* --- ends ------------------------------------------------------------------------- */

/* RSM check: 24, 67 */
TEST_F(rdma, who_waits_hears_that_the_exporter_was_killed)
{
	struct r_pair *p = &self->p;
	int before = rdma_count_settled("qp");
	struct r_peer exporter;
	char c;

	ASSERT_EQ(0, r_peer_start(&exporter, NULL));
	p->id = exporter.id;
	ASSERT_EQ(RSM_SUCCESS, r_import(p, RSM_PERM_RDWR));
	kill(exporter.pid, SIGKILL);
	EXPECT_EQ(RSMERR_CONN_ABORTED, rsm_intr_signal_wait(p->imp, R_WAIT_MS));
	EXPECT_EQ(RSMERR_CONN_ABORTED, rsm_memseg_import_get(p->imp, 0, &c, 1));
	EXPECT_EQ(RSMERR_CONN_ABORTED, rsm_intr_signal_post(p->imp, 0));
	r_peer_stop(&exporter, 0);
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_disconnect(p->imp));
	EXPECT_TRUE(queue_pairs_are(before));
}

static int import_and_sleep(struct r_pair *exporter, int ready)
{
	struct r_pair p;

	if (r_open(&p))
		return 1;
	p.id = exporter->id;
	if (r_import(&p, RSM_PERM_RDWR) || rsm_memseg_import_put(p.imp, 0, "i", 1))
		return 2;
	write(ready, "r", 1);
	for (;;)
		pause();
}

/* RSM check: 52 */
TEST_F(rdma, an_importer_that_is_killed_leaves_nothing)
{
	struct r_pair *p = &self->p;
	int i, ready[2], before;
	pid_t pid[4];
	char c;

	ASSERT_EQ(RSM_SUCCESS, r_export(p));
	before = rdma_count_settled("qp");
	ASSERT_EQ(0, pipe(ready));
	for (i = 0; i < 4; i++) {
		pid[i] = fork();
		if (!pid[i])
			_exit(import_and_sleep(p, ready[1]));
	}
	for (i = 0; i < 4; i++)
		ASSERT_EQ(1, read(ready[0], &c, 1));
	EXPECT_LE(before + 8, rdma_count("qp"));
	for (i = 0; i < 4; i++)
		kill(pid[i], SIGKILL);
	for (i = 0; i < 4; i++)
		waitpid(pid[i], NULL, 0);
	EXPECT_TRUE(queue_pairs_are(before));
	EXPECT_EQ(RSM_SUCCESS, rsm_intr_signal_post(p->exp, 0));
	EXPECT_EQ(RSM_SUCCESS, still_works(p));
}

#define LONG_ENTRY	(1UL << 20)
/*
 * Avoid a multiple of 256 pages, because rxe of Linux 6.1 would then read one entry beyond its page
 * table.
 */
#define LONG_LIST	(N * LONG_ENTRY + R_PAGE)

/*
 * Returns the index of the first entry that was not carried out completely, or N.  Entry k is
 * filled with the byte k + 1.
 */
static int first_not_put(const char *mem)
{
	int k;

	for (k = 0; k < N; k++)
		if (!r_all(mem + (size_t)k * LONG_ENTRY, (char)(k + 1), LONG_ENTRY))
			break;
	return k;
}

/* RSM check: 53 */
TEST_F(rdma, a_signal_ends_a_vector_that_takes_long)
{
	char *mem = r_mem(LONG_LIST), *buf = r_mem(LONG_LIST), c = 'c';
	char *then = r_mem(LONG_LIST);
	rsm_scat_gath_t sg = { .io_request_count = N };
	struct r_pair *p = &self->p;
	int k, ret = 0, ms, done;
	rsm_iovec_t v[N];

	ASSERT_EQ(RSM_SUCCESS,
		  rsm_memseg_export_create(p->ctlr, &p->exp, mem, LONG_LIST, 0));
	ASSERT_EQ(RSM_SUCCESS, rsm_memseg_export_publish(p->exp, &p->id, NULL, 0));
	ASSERT_EQ(RSM_SUCCESS, r_import(p, RSM_PERM_RDWR));
	for (k = 0; k < N; k++) {
		memset(buf + (size_t)k * LONG_ENTRY, k + 1, LONG_ENTRY);
		v[k] = (rsm_iovec_t) {
			.io_type = RSM_VA_TYPE, .local.vaddr = buf,
			.local_offset = (size_t)k * LONG_ENTRY,
			.remote_offset = (size_t)k * LONG_ENTRY, .transfer_length = LONG_ENTRY,
		};
	}
	sg.remote_handle = p->imp;
	sg.iovec = v;
	/* Run the vector once without a signal, so that the driver already knows the memory. */
	ASSERT_EQ(RSM_SUCCESS, rsm_memseg_import_putv(&sg));
	for (ms = 5; ms < 500 && !ret; ms += 5) {
		memset(mem, 0, N * LONG_ENTRY);
		alarm_in_ms((unsigned int)ms);
		ret = rsm_memseg_import_putv(&sg);
		/* The vector may have finished before the signal, so cancel the timer. */
		alarm_in_ms(0);
	}
	EXPECT_EQ(RSMERR_INTERRUPTED, ret) TH_LOG("%d ms", ms);
	EXPECT_LT(0, sg.io_residual_count);
	done = N - (int)sg.io_residual_count;
	EXPECT_LE(done, first_not_put(mem));
	/* No byte may arrive after the interrupted call has returned. */
	memcpy(then, mem, N * LONG_ENTRY);
	usleep(R_LATE_MS * 1000);
	EXPECT_EQ(0, memcmp(then, mem, N * LONG_ENTRY));
	/* The import must still work or be cut; it must not hang. */
	ret = rsm_memseg_import_put(p->imp, 0, &c, 1);
	EXPECT_TRUE(ret == RSM_SUCCESS || ret == RSMERR_CONN_ABORTED) TH_LOG("%d", ret);
	if (!ret)
		EXPECT_EQ('c', mem[0]);
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_disconnect(p->imp));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_export_destroy(p->exp));
	munmap(then, LONG_LIST);
	munmap(buf, LONG_LIST);
	munmap(mem, LONG_LIST);
}

struct load {
	struct r_pair	*p;
	int		ret;
};

static void *put_until_cut(void *arg)
{
	static char buf[65536];
	rsm_iovec_t v = { .io_type = RSM_VA_TYPE, .local.vaddr = buf, .transfer_length = R_SIZE };
	struct load *l = arg;
	rsm_scat_gath_t sg = {
		.io_request_count = 1, .remote_handle = l->p->imp, .iovec = &v,
	};

	while (!l->ret)
		l->ret = rsm_memseg_import_putv(&sg);
	return NULL;
}

/* Returns the state in @c, the connections of a controller, to @node, or 0 if there is none. */
static int state_in(const rsm_connections_t *c, rsm_node_id_t node)
{
	int k, state = 0;

	for (k = 0; k < c->hdr.remote_cntlr_count; k++)
		if (c->remote_cntlr[k].remote_nodeid == node)
			state = (int)c->remote_cntlr[k].connection_state;
	return state;
}

/*
 * Fill in the states of the connections of the tested adapter to @nodes: 0 if there is no
 * connection.  One topology has them all, and takes seconds if a node does not answer.  Returns 0
 * or -1.
 */
static int link_states(const rsm_node_id_t *nodes, int *states, unsigned int n)
{
	rsm_topology_t *t;
	unsigned int i, k;

	memset(states, 0, n * sizeof(*states));
	if (rsm_get_interconnect_topology(&t))
		return -1;
	for (i = 0; i < t->topology_hdr.local_cntlr_count; i++)
		if (!strcmp(t->connections[i]->hdr.cntlr_name, r_ctlr()))
			for (k = 0; k < n; k++)
				states[k] = state_in(t->connections[i], nodes[k]);
	rsm_free_interconnect_topology(t);
	return 0;
}

/*
 * Returns the state of the connection of the tested adapter to @node, 0 if there is no connection,
 * or -1.
 */
static int link_state(rsm_node_id_t node)
{
	int state;

	return link_states(&node, &state, 1) ? -1 : state;
}

/* RSM check: 7 */
TEST_F(rdma, the_topology_tells_who_answers)
{
	const rsm_node_id_t nodes[] = { self->p.node, NODE_DEAF, NODE_GONE, NODE_NONE };
	int states[4];

	ASSERT_EQ(0, make_nodes());
	ASSERT_EQ(0, link_states(nodes, states, 4));
	EXPECT_EQ(RSM_CONNECTION_ACTIVE, states[0]);
	/*
	 * A kernel listens only while RSM is in use on its machine.  So a host that rejects the
	 * request also counts as active.
	 */
	EXPECT_EQ(RSM_CONNECTION_ACTIVE, states[1]);
	EXPECT_NE(RSM_CONNECTION_ACTIVE, states[2]);
	EXPECT_EQ(0, states[3]);
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

/* RSM check: 7 */
TEST_F(rdma, an_adapter_goes_and_comes_back)
{
	struct r_pair *p = &self->p, q;
	struct load l = { .p = p };
	rsmapi_controller_attr_t attr;
	pthread_t t;
	char c = 0;

	ASSERT_EQ(RSM_SUCCESS, r_export(p));
	ASSERT_EQ(RSM_SUCCESS, r_import(p, RSM_PERM_RDWR));
	ASSERT_EQ(0, pthread_create(&t, NULL, put_until_cut, &l));
	usleep(100000);
	peer_close(&self->peer);
	ASSERT_EQ(0, adapter_plug("rxe", 0));
	pthread_join(t, NULL);
	EXPECT_EQ(RSMERR_CONN_ABORTED, l.ret);
	EXPECT_EQ(RSMERR_CONN_ABORTED, rsm_memseg_import_get(p->imp, 0, &c, 1));
	EXPECT_EQ(RSMERR_CONN_ABORTED, rsm_intr_signal_wait(p->imp, R_WAIT_MS));
	EXPECT_EQ(RSMERR_CTLR_NOT_PRESENT,
		  rsm_memseg_import_connect(p->ctlr, p->node, p->id, 0600, &q.imp));
	EXPECT_EQ(RSMERR_CTLR_NOT_PRESENT,
		  rsm_memseg_export_create(p->ctlr, &q.exp, p->mem, R_SIZE, 0));
	/* Objects on the removed adapter can be freed, but not used. */
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_disconnect(p->imp));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_export_unpublish(p->exp));
	EXPECT_NE(RSM_CONNECTION_ACTIVE, link_state(p->node));

	ASSERT_EQ(0, adapter_plug("rxe", 1));
	ASSERT_EQ(0, peer_open(&self->peer));
	ASSERT_EQ(0, r_nodes(NULL, 0, -1));
	EXPECT_EQ(RSM_SUCCESS, rsm_get_controller_attr(p->ctlr, &attr));
	ASSERT_EQ(RSM_SUCCESS, r_pair(&q));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_put(q.imp, 0, "b", 1));
	EXPECT_EQ('b', q.mem[0]);
	EXPECT_EQ(RSM_CONNECTION_ACTIVE, link_state(p->node));
	r_close(&q);
}

TEST_HARNESS_MAIN
