// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* Tests of exports whose importer is a program, which breaks the protocol; see rsm_rdma.h. */
#include "rsm_rdma.h"

#include <grp.h>

#include "tracefs.h"

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

	ASSERT_EQ(0, system("chmod 0666 /dev/infiniband/*"));
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
		EXPECT_TRUE(peer_thrown_out(&self->peer, R_WAIT_MS)) TH_LOG("message %u", i);
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

/* Send a message and wait for its ACK.  Return 1 if the ACK comes. */
static int acknowledged(struct peer *peer, const struct peer_msg *m)
{
	struct peer_msg ack;

	if (peer_send(peer, m, sizeof(*m)))
		return 0;
	do {
		if (peer_receive(peer, &ack, R_WAIT_MS) != sizeof(ack))
			return 0;
	} while (ack.type != PEER_ACK);
	return 1;
}

/* RSM check: 62 */
TEST_F(rdma, a_peer_can_count_as_far_as_it_likes)
{
	struct peer_msg m = {
		.magic = htobe32(PEER_MAGIC), .type = PEER_TELL, .flags = PEER_SINGLE,
		.events = htobe32(0xffffffff),
	};
	struct r_pair *p = &self->p;
	struct peer_grant a;
	int i;

	ASSERT_EQ(RSM_SUCCESS, r_export(p));
	ASSERT_EQ(0, greet_well(&self->peer, p, &a));
	for (i = 0; i < 3; i++)
		ASSERT_TRUE(acknowledged(&self->peer, &m));
	for (i = 0; i < 10; i++)
		EXPECT_EQ(RSM_SUCCESS, rsm_intr_signal_wait(p->exp, 0));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_export_destroy(p->exp));
	EXPECT_TRUE(peer_thrown_out(&self->peer, R_WAIT_MS));
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
	};
	struct r_pair *p = &self->p;
	struct peer_grant a;
	int i;

	ASSERT_EQ(RSM_SUCCESS, r_export(p));
	ASSERT_EQ(0, greet_well(&self->peer, p, &a));
	for (i = 0; i < 2 * PEER_RECVS; i++)
		ASSERT_TRUE(acknowledged(&self->peer, &m));
	ASSERT_EQ(0, peer_write_imm(&self->peer, be64toh(a.addr), be32toh(a.rkey), sizeof(m)));
	EXPECT_TRUE(peer_thrown_out(&self->peer, R_WAIT_MS));
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
	EXPECT_TRUE(peer_thrown_out(&self->peer, R_WAIT_MS));
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
	start = now_ms();
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_export_rebind(p->exp, r_mem(R_SIZE), 0, R_SIZE));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_export_unpublish(p->exp));
	EXPECT_GT(R_WAIT_MS, now_ms() - start);
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
	start = now_ms();
	ASSERT_EQ(RSM_SUCCESS, rsm_memseg_export_rebind(p->exp, m, 0, R_SIZE));
	EXPECT_GT(2 * R_WAIT_MS, now_ms() - start);
	EXPECT_TRUE(peer_thrown_out(&self->peer, R_WAIT_MS));
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

TEST_HARNESS_MAIN
