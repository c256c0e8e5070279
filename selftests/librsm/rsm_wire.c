// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * An exporter gets packets that the rdma_cm of a remote host would never send.  The packets come
 * from the peer of roce_peer.h.  Needs root, and the virtual machine's adapter rxe0 on v0.
 */
#include "rsm_test.h"

#include <endian.h>

#include "klog.h"
#include "rdma_count.h"
#include "roce_peer.h"
#include "rsm_node.h"
#include "rsm_peer.h"

#define OWN		"10.9.0.1"	/* address of rxe0 */
#define ELSEWHERE	"10.9.0.62"	/* unused address in the same network */
#define NODE_KNOWN	62
#define NODE_UNKNOWN	61
#define REJ_INVALID_GID	12	/* reject reason of the InfiniBand specification */
#define PORT_KERNEL	1023
#define PORT_PROCESS	4000
#define STRANGERS	6000
#define FLOOD_MS	30000	/* time limit; a slow machine connects fewer peers */
#define REFUSALS	3000
#define REFUSALS_MS	5000	/* time limit; a slow machine refuses fewer */
#define REFUSALS_LEAST	200
#define LINES		20	/* of the log, for all of these */
#define LOG_MS		70000	/* longer than the interval of the log's limit */
#define CROWD		60	/* requests of one node, all at once */
#define AHEAD		40	/* requests that the exporter answers before those of a crowd */
#define CROWD_MS	5000	/* time for answers; a busy machine drops some of the requests */
#define NODE_PLACES	14	/* of importers of one node that have proven nothing */
#define BUSY_MS		1500	/* time for which an exporter has no place */
/*
 * Limit for calls that the peers must not delay: requests of peers that are under way are served
 * first, and each costs about as much as an import.
 */
#define PATIENCE_MS	5000
#define PATIENCE	100	/* times what the calls take without the peers, if longer */

FIXTURE(wire) {
	struct r_pair		p;
	struct roce_peer	peer;
	struct roce_ask		ask;
	struct peer_greeting	g;
};

FIXTURE_SETUP(wire)
{
	struct sockaddr_in own = { .sin_family = AF_INET };
	int ret;

	inet_pton(AF_INET, OWN, &own.sin_addr);
	/*
	 * The process of the peer inherits all open descriptors, so start the peer before opening
	 * /dev/rsm.
	 */
	ret = getuid() ? -EPERM : roce_start(&self->peer, &own);
	if (ret == -EPERM || ret == -ENODEV)
		SKIP(return, "needs root, and soft-RoCE on a veth pair");
	ASSERT_EQ(0, ret);
	ASSERT_EQ(0, peer_key_set());
	ASSERT_EQ(RSM_SUCCESS, r_open(&self->p));
	ASSERT_EQ(RSM_SUCCESS, r_export(&self->p));
	peer_greeting(&self->g, self->p.id);
	self->g.to = htobe32(self->p.node);
	self->g.node = htobe32(NODE_UNKNOWN);
	self->ask = (struct roce_ask) { .qual = PEER_PORT, .port = PORT_KERNEL };
}

FIXTURE_TEARDOWN(wire)
{
	r_close(&self->p);
	r_nodes(NULL, 0, -1);
	roce_end(&self->peer);
}

/* Send a greeting.  Returns 1 if an answer arrives. */
static int greet(FIXTURE_DATA(wire) *self, struct roce_answers *a)
{
	memcpy(self->ask.pd, &self->g, sizeof(self->g));
	return !roce_ask(&self->peer, &self->ask, 1) &&
	       !roce_answers(&self->peer, 1, R_WAIT_MS, a);
}

/*
 * Returns the RSM error in the private data of the last reject, or 0 if the private data are not an
 * answer of RSM.
 */
static uint32_t error_of(const struct roce_answers *a)
{
	struct peer_answer answer;

	memcpy(&answer, a->pd, sizeof(answer));
	return be32toh(answer.magic) == PEER_MAGIC ? be32toh(answer.err) : 0;
}

TEST_F(wire, a_request_that_claims_another_nodes_address_than_that_of_its_path_is_refused)
{
	struct dat_rsm_node node = r_node_at(NODE_KNOWN, ELSEWHERE);
	struct roce_answers a;

	ASSERT_EQ(0, r_nodes(&node, 1, -1));
	self->g.node = htobe32(NODE_KNOWN);
	inet_pton(AF_INET, ELSEWHERE, &self->ask.claims);
	ASSERT_TRUE(greet(self, &a));
	EXPECT_EQ(1, a.rejects);
	EXPECT_EQ(REJ_INVALID_GID, a.reason);
}

/* The networks of two controllers may have the same addresses, which belong to different hosts. */
TEST_F(wire, an_address_that_a_node_has_at_another_controller_is_not_its_own)
{
	struct dat_rsm_node nodes[] = {
		r_node_at(NODE_KNOWN, ELSEWHERE), r_node_at(NODE_KNOWN, ROCE_ADDR),
	};
	struct roce_answers a;

	nodes[1].ctlr = 2;
	ASSERT_EQ(0, r_nodes(nodes, 2, -1));
	self->g.node = htobe32(NODE_KNOWN);
	ASSERT_TRUE(greet(self, &a));
	EXPECT_EQ(1, a.rejects);
	EXPECT_EQ(RSMERR_SEG_NOT_PUBLISHED_TO_NODE, error_of(&a));
}

TEST_F(wire, a_node_that_is_in_no_table_is_heard_at_the_address_of_its_path)
{
	struct dat_rsm_node node = r_node_at(NODE_KNOWN, ELSEWHERE);
	struct roce_answers a;

	ASSERT_EQ(0, r_nodes(&node, 1, -1));
	inet_pton(AF_INET, ROCE_ADDR, &self->ask.claims);
	ASSERT_TRUE(greet(self, &a));
	EXPECT_EQ(1, a.replies);
}

TEST_F(wire, a_greeting_from_a_port_that_any_process_can_have_is_refused)
{
	struct roce_answers a;

	self->ask.port = PORT_PROCESS;
	ASSERT_TRUE(greet(self, &a));
	EXPECT_EQ(1, a.rejects);
	EXPECT_EQ(RSMERR_REMOTE_NODE_UNREACHABLE, error_of(&a));
}

TEST_F(wire, a_greeting_from_a_port_of_kernels_is_heard)
{
	struct roce_answers a;

	self->ask.port = PORT_KERNEL;
	ASSERT_TRUE(greet(self, &a));
	EXPECT_EQ(1, a.replies);
}

/*
 * The refusals do not hide a refusal for another reason, which has lines of its own.  If another
 * test has just used the lines of the first reason, repeat the flood until the log has a line.
 */
TEST_F_TIMEOUT(wire, refusals_without_end_leave_few_lines_in_the_log, 120)
{
	uint64_t end = now_ms() + LOG_MS;
	struct roce_answers a = { 0 };
	int klog = klog_open(), lines, ret;

	ASSERT_LE(0, klog);
	self->ask.port = PORT_PROCESS;
	memcpy(self->ask.pd, &self->g, sizeof(self->g));
	do {
		ret = roce_flood(&self->peer, &self->ask, REFUSALS, REFUSALS_MS, &a);
		ASSERT_TRUE(!ret || ret == -ETIMEDOUT);
		TH_LOG("%u refusals", a.rejects);
		ASSERT_LE(REFUSALS_LEAST, a.rejects);
		/* Also counts the lines that say how many lines were left out. */
		lines = klog_count(klog, "handshake");
	} while (!lines && now_ms() < end);
	EXPECT_LE(1, lines);
	EXPECT_GE(LINES, lines);
	self->ask.port = PORT_KERNEL;
	self->g.to = htobe32(NODE_UNKNOWN);
	ASSERT_TRUE(greet(self, &a));
	/* The line may come after the answer. */
	EXPECT_TRUE(klog_await(klog, "it asks for another node", R_WAIT_MS));
	close(klog);
}

/*
 * Connect up to STRANGERS peers.  Each peer sends a message that is no proof, never confirms its
 * connection, and does not answer the disconnect.
 */
static int strangers(FIXTURE_DATA(wire) *self)
{
	struct roce_answers a = { 0 };
	int ret;

	memcpy(self->ask.pd, &self->g, sizeof(self->g));
	ret = roce_flood(&self->peer, &self->ask, STRANGERS, FLOOD_MS, &a);
	if (ret && ret != -ETIMEDOUT)
		return ret;
	return a.replies ? 0 : -ECONNREFUSED;
}

/* Import twice, use the second import, and give it up. */
static void import_and_use(struct __test_metadata *_metadata, struct r_pair *p)
{
	rsmapi_barrier_t barrier;
	void *imp = NULL;

	ASSERT_EQ(RSM_SUCCESS, r_also(p, RSM_PERM_RDWR, &imp, &barrier));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_put(imp, 0, "x", 1));
	EXPECT_EQ('x', p->mem[0]);
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_disconnect(imp));
}

/* One flood serves for all calls, since it takes up to FLOOD_MS. */
TEST_F_TIMEOUT(wire, strangers_who_connect_speak_and_never_finish_hold_up_nobody, 300)
{
	uint64_t begin, patience;

	ASSERT_EQ(RSM_SUCCESS, r_import(&self->p, RSM_PERM_RDWR));
	begin = now_ms();
	import_and_use(_metadata, &self->p);
	patience = PATIENCE * (now_ms() - begin);
	if (patience < PATIENCE_MS)
		patience = PATIENCE_MS;
	ASSERT_EQ(0, strangers(self));
	begin = now_ms();
	import_and_use(_metadata, &self->p);
	/* Cuts the first import. */
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_export_unpublish(self->p.exp));
	EXPECT_GE(patience, now_ms() - begin);
	TH_LOG("%u ms, limit %u ms", (unsigned int)(now_ms() - begin), (unsigned int)patience);
}

/* Ask @n times as a node of the table, and wait for no answer. */
static int ask_as_node(FIXTURE_DATA(wire) *self, unsigned int n)
{
	struct dat_rsm_node node = r_node_at(NODE_KNOWN, ROCE_ADDR);

	self->g.node = htobe32(NODE_KNOWN);
	memcpy(self->ask.pd, &self->g, sizeof(self->g));
	return r_nodes(&node, 1, -1) || roce_ask(&self->peer, &self->ask, n);
}

TEST_F_TIMEOUT(wire, the_requests_of_one_node_leave_places_to_the_others, 120)
{
	struct roce_answers a;

	ASSERT_EQ(0, ask_as_node(self, CROWD));
	EXPECT_EQ(RSM_SUCCESS, r_import(&self->p, RSM_PERM_RDWR));
	roce_answers(&self->peer, CROWD, CROWD_MS, &a);
	EXPECT_LT(0, a.rejects);
	EXPECT_EQ(ROCE_NO_RESOURCES, a.reason);
}

/*
 * An unprivileged process can send requests from the address of its node, but not from a port of
 * kernels.  The exporter accepts the requests ahead, so those of the process wait in their places.
 */
TEST_F_TIMEOUT(wire, a_process_takes_no_places_of_its_nodes_kernel, 120)
{
	struct dat_rsm_node node = r_node_at(NODE_KNOWN, ROCE_ADDR);
	struct roce_answers a;

	ASSERT_EQ(0, r_nodes(&node, 1, -1));
	memcpy(self->ask.pd, &self->g, sizeof(self->g));
	ASSERT_EQ(0, roce_ask(&self->peer, &self->ask, AHEAD));
	self->g.node = htobe32(NODE_KNOWN);
	memcpy(self->ask.pd, &self->g, sizeof(self->g));
	self->ask.port = PORT_PROCESS;
	ASSERT_EQ(0, roce_ask(&self->peer, &self->ask, CROWD));
	self->ask.port = PORT_KERNEL;
	ASSERT_EQ(0, roce_ask(&self->peer, &self->ask, 1));
	roce_answers(&self->peer, AHEAD + CROWD + 1, CROWD_MS, &a);
	TH_LOG("%u replies, %u rejects", a.replies, a.rejects);
	EXPECT_LT(0, a.replies);
	EXPECT_LT(0, a.rejects);
	EXPECT_EQ(0, a.busy);
}

TEST_F_TIMEOUT(wire, a_node_without_proof_has_few_queue_pairs_at_its_address, 120)
{
	int before = rdma_count_settled("qp");
	struct roce_answers a;

	ASSERT_EQ(0, ask_as_node(self, CROWD));
	roce_answers(&self->peer, CROWD, CROWD_MS, &a);
	EXPECT_LT(0, a.replies);
	EXPECT_GE(before + NODE_PLACES, rdma_count("qp"));
}

static int set_param(const char *name, unsigned int value)
{
	char path[64];
	FILE *f;
	int ret;

	snprintf(path, sizeof(path), "/sys/module/dat/parameters/%s", name);
	f = fopen(path, "w");
	ret = !f || fprintf(f, "%u", value) < 0;
	return f && fclose(f) ? -1 : -ret;
}

/* The exporter has one place, which a silent peer holds until its time to confirm has passed. */
TEST_F_TIMEOUT(wire, an_importer_asks_again_while_the_exporter_has_no_place, 60)
{
	struct roce_answers a;
	int ret;

	ASSERT_EQ(0, set_param("accept_timeout", BUSY_MS));
	ASSERT_EQ(0, set_param("backlog", 1));
	ret = greet(self, &a) ? r_import(&self->p, RSM_PERM_RDWR) : -1;
	set_param("backlog", 1024);
	set_param("accept_timeout", 10000);
	EXPECT_EQ(1, a.replies);
	EXPECT_EQ(RSM_SUCCESS, ret);
}

TEST_HARNESS_MAIN
