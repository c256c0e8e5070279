// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * RSM on adapters that cannot deny a peer access to memory.  Nobody may have access before the
 * proof, so such an adapter exports only in a trusted network.  And RSM on an adapter that cannot
 * send a connection request.
 */
#include "rsm_test.h"

#include <endian.h>
#include <rdma/dat_rsm.h>

#include "rsm_node.h"
#include "rsm_peer.h"
#include "klog.h"
#include "mean.h"

#define OWN	"10.9.0.1"	/* address of rxe0 */
#define WHY	"cannot deny"
#define OTHER	63		/* a node that is not this one */

FIXTURE(rsm_quirks) {
	int klog;
};

FIXTURE_SETUP(rsm_quirks)
{
	self->klog = klog_open();
}

FIXTURE_TEARDOWN(rsm_quirks)
{
	close(self->klog);
}

/* A SKIP() in the fixture does not skip the tests of the fixture, so each test calls this macro. */
#define MEAN(params) do {							\
	if (mean_missing())							\
		SKIP(return, mean_missing());					\
	ASSERT_EQ(0, mean_load(params));					\
	ASSERT_EQ(0, peer_key_set());						\
} while (0)

static int trust(int on)
{
	struct dat_rsm_nodes arg = {
		.size = sizeof(arg), .flags = DAT_RSM_NODES_TRUST,
		.state = on ? DAT_RSM_NODE_TRUSTS : 0,
	};
	int fd = device_open(), ret = CALL(fd, NODES, &arg);

	close(fd);
	return ret;
}

/* Returns the state that the topology tells of the link to OTHER, or -1. */
static int state_of_other(void)
{
	static struct dat_rsm_link links[64];
	struct dat_rsm_topology arg = {
		.size = sizeof(arg), .count = 64, .list = (uintptr_t)links,
		.entry_size = sizeof(links[0]),
	};
	int fd = device_open(), ret = CALL(fd, TOPOLOGY, &arg);
	uint32_t i;

	close(fd);
	for (i = 0; !ret && i < arg.count; i++)
		if (links[i].node == OTHER)
			return (int)links[i].state;
	return -1;
}

/*
 * The functions below run in a child process, because the library keeps the device open.  Each
 * returns 0, the error of a call, or a number that tells where it failed.
 */

/* Export, and import the segment. */
static int shares(void *arg)
{
	struct r_pair p;
	int ret = r_pair(&p);

	(void)arg;
	if (ret)
		return ret;
	if (rsm_memseg_import_put(p.imp, 0, "t", 1) || p.mem[0] != 't')
		return 100;
	r_close(&p);
	return 0;
}

/* Export in a trusted network, and import when it is not trusted any more. */
static int stops_sharing(void *arg)
{
	struct r_pair p;
	void *imp;
	int ret;

	(void)arg;
	if (trust(1) || r_pair(&p) || trust(0))
		return 100;
	ret = rsm_memseg_import_connect(p.ctlr, p.node, p.id, RSM_PERM_RDWR, &imp);
	r_close(&p);
	return ret;
}

/* Import from a loopback export, which needs no adapter. */
static int loops_back(void *arg)
{
	rsmapi_controller_handle_t ctlr;
	rsm_memseg_export_handle_t exp;

	(void)arg;
	return rsm_get_controller(NULL, &ctlr) ?:
	       rsm_memseg_export_create(ctlr, &exp, r_mem(R_SIZE), R_SIZE, 0) ?:
	       rsm_memseg_export_destroy(exp);
}

/* Export as much as the adapter registers at once, and then a page more. */
static int exports_too_much(void *arg)
{
	rsmapi_controller_attr_t attr;
	rsm_memseg_export_handle_t exp;
	struct r_pair p;
	size_t most;
	void *mem;
	int ret;

	(void)arg;
	if (r_pair(&p) || rsm_get_controller_attr(p.ctlr, &attr))
		return 100;
	most = attr.attr_max_export_segment_size;
	mem = r_mem(most + R_PAGE);
	if (rsm_memseg_export_create(p.ctlr, &exp, mem, most, 0) ||
	    rsm_memseg_export_destroy(exp))
		return 101;
	ret = rsm_memseg_export_create(p.ctlr, &exp, mem, most + R_PAGE, 0);
	r_close(&p);
	return ret;
}

#define REFUSED	50

/*
 * Write to the segment as a peer that has proven nothing, with the right key.  Returns 0 if the
 * write has succeeded and the memory has changed, REFUSED if neither has happened.
 */
static int stranger_writes(void *arg)
{
	struct peer_greeting g;
	struct peer friend, peer;
	struct r_pair p;
	int ret, changed;

	(void)arg;
	if (r_open(&p) || r_export(&p) || peer_open(&friend) || peer_open(&peer))
		return 100;
	peer_greeting(&g, p.id);
	g.node = htobe32(p.node);
	g.to = g.node;
	if (peer_connect(&friend, OWN, &g, sizeof(g)) ||
	    peer_event(&friend, R_WAIT_MS) != RDMA_CM_EVENT_ESTABLISHED)
		return 101;
	peer_proof(&friend);
	if (peer_prove(&friend) || peer_granted(&friend))
		return 102;
	if (peer_connect(&peer, OWN, &g, sizeof(g)) ||
	    peer_event(&peer, R_WAIT_MS) != RDMA_CM_EVENT_ESTABLISHED)
		return 103;
	memset(peer.mem, 'x', R_PAGE);
	ret = peer_rdma(&peer, 1, be64toh(friend.said.grant.addr),
			be32toh(friend.said.grant.rkey), R_PAGE);
	changed = r_all(p.mem, 'x', R_PAGE);
	if ((ret == 0) != changed)
		return 104;
	return changed ? 0 : REFUSED;
}

/* --- tests ------------------------------------------------------------------------- */

/*
 * The device claims to be an mlx5, which enforces access flags, so dat.ko allows the export.  The
 * stranger's write succeeds, because the device ignores the flags.  If dat.ko knows that a device
 * ignores the flags, dat.ko refuses the export for this reason.
 */
TEST_F_TIMEOUT(rsm_quirks, on_a_device_that_ignores_access_flags_a_stranger_writes, 120)
{
	MEAN("driver=mlx5 access=1");
	EXPECT_EQ(0, r_child(stranger_writes, NULL));
	EXPECT_LT(0, mean_hits());
}

/* Control: a device that heeds the flags refuses the same write. */
TEST_F_TIMEOUT(rsm_quirks, on_a_device_that_heeds_access_flags_a_stranger_does_not, 120)
{
	MEAN("driver=mlx5");
	EXPECT_EQ(REFUSED, r_child(stranger_writes, NULL));
	EXPECT_EQ(0, mean_hits());
}

/* Control of those below: such an adapter needs no trust. */
TEST_F_TIMEOUT(rsm_quirks, an_adapter_that_can_deny_access_exports, 120)
{
	MEAN("driver=mlx5");
	EXPECT_EQ(0, r_child(shares, NULL));
	EXPECT_EQ(0, klog_count(self->klog, WHY));
}

TEST_F_TIMEOUT(rsm_quirks, an_adapter_that_cannot_deny_access_exports_in_a_trusted_network, 180)
{
	MEAN("driver=irdma user_mr=2 access=1");
	EXPECT_EQ(RSMERR_BAD_CONF, r_child(shares, NULL));
	EXPECT_EQ(1, klog_count(self->klog, WHY));
	EXPECT_EQ(0, r_child(loops_back, NULL));
	ASSERT_EQ(0, trust(1));
	EXPECT_EQ(0, r_child(shares, NULL));
	/* There the access of a peer is never changed, so a driver may refuse to change it. */
	ASSERT_EQ(0, mean_set("access", "2") || mean_set("hits", "0"));
	EXPECT_EQ(0, r_child(shares, NULL));
	EXPECT_EQ(0, mean_hits());
	EXPECT_EQ(0, klog_count(self->klog, WHY));
	/* When the trust ends, nobody imports what is exported. */
	EXPECT_EQ(RSMERR_BAD_CONF, r_child(stops_sharing, NULL));
	EXPECT_EQ(1, klog_count(self->klog, WHY));
}

TEST_F_TIMEOUT(rsm_quirks, one_of_an_unknown_driver_exports_nothing, 120)
{
	MEAN("driver=unknown access=1");
	EXPECT_EQ(RSMERR_BAD_CONF, r_child(shares, NULL));
	EXPECT_EQ(1, klog_count(self->klog, WHY));
}

TEST_F_TIMEOUT(rsm_quirks, a_segment_is_no_longer_than_the_adapter_registers, 120)
{
	MEAN("driver=irdma user_mr=2 fast_reg_pages=65 page_sizes=4096 access=1");
	ASSERT_EQ(0, trust(1));
	EXPECT_EQ(RSMERR_BAD_LENGTH, r_child(exports_too_much, NULL));
	ASSERT_EQ(0, trust(0));
}

/* A connect that fails on this host says nothing about the other host. */
TEST_F_TIMEOUT(rsm_quirks, only_a_node_that_answers_is_active, 120)
{
	const struct dat_rsm_node other = r_node_at(OTHER, OWN);

	MEAN("");
	ASSERT_EQ(0, r_nodes(&other, 1, -1));
	ASSERT_EQ(0, mean_set("no_ah", "1"));
	EXPECT_EQ(DAT_RSM_LINK_DOWN, state_of_other());
	EXPECT_LT(0, mean_hits());
	ASSERT_EQ(0, mean_set("no_ah", "0"));
	ASSERT_EQ(0, r_nodes(NULL, 0, -1));
}

MEAN_END

TEST_HARNESS_MAIN
