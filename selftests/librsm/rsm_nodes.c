// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* The driver's node table, and the id of the local node. */
#include "rsm_test.h"
#include "rsm_node.h"

#include <sched.h>

static int local_get(int fd)
{
	struct dat_rsm_nodes arg = { .size = sizeof(arg) };

	return CALL(fd, NODES, &arg) ? -1 : (int)arg.local;
}

/*
 * The tests run in a network namespace of their own, so the node table of the machine stays
 * unchanged.
 */
FIXTURE(nodes) {
	int			fd;
	struct dat_rsm_node	two[2];
};

FIXTURE_SETUP(nodes)
{
	if (getuid() || unshare(CLONE_NEWNET))
		SKIP(return, "needs root, for a network namespace");
	self->fd = device_open();
	ASSERT_LE(0, self->fd);
	self->two[0] = node_at(1, 1, "10.1.0.1");
	self->two[1] = node_at(2, 63, "fd00::2");
}

FIXTURE_TEARDOWN(nodes)
{
	close(self->fd);
}

TEST_F(nodes, a_namespace_begins_without_nodes)
{
	EXPECT_EQ(0, table_get(self->fd, NULL, 0));
	EXPECT_EQ(0, local_get(self->fd));
}

TEST_F(nodes, a_table_is_replaced_as_a_whole)
{
	struct dat_rsm_node got[2] = {};

	ASSERT_EQ(0, table_set(self->fd, self->two, 2));
	ASSERT_EQ(2, table_get(self->fd, got, 2));
	EXPECT_EQ(0, memcmp(self->two, got, sizeof(got)));
	ASSERT_EQ(0, table_set(self->fd, self->two + 1, 1));
	ASSERT_EQ(1, table_get(self->fd, got, 2));
	EXPECT_EQ(0, memcmp(self->two + 1, got, sizeof(got[0])));
	ASSERT_EQ(0, table_set(self->fd, NULL, 0));
	EXPECT_EQ(0, table_get(self->fd, got, 2));
}

TEST_F(nodes, who_has_too_little_room_is_told_how_much_it_takes)
{
	struct dat_rsm_node got[2] = {};

	ASSERT_EQ(0, table_set(self->fd, self->two, 2));
	EXPECT_EQ(2, table_get(self->fd, got, 1));
	EXPECT_EQ(1, got[0].node);
	EXPECT_EQ(0, got[1].node);
}

TEST_F(nodes, a_table_has_room_for_all_nodes_of_all_adapters)
{
	static struct dat_rsm_node all[63 * 65 + 1];
	uint32_t i;

	for (i = 0; i < 63 * 65; i++)
		all[i] = node_at(i % 65, 1 + i / 65, "10.1.0.1");
	EXPECT_EQ(0, table_set(self->fd, all, 63 * 65));
	EXPECT_EQ(63 * 65, table_get(self->fd, NULL, 0));
	all[i] = all[0];
	EXPECT_EQ(DAT_RSM_BAD_CONF, table_set(self->fd, all, 63 * 65 + 1));
	EXPECT_EQ(DAT_RSM_BAD_CONF, table_set(self->fd, all, UINT32_MAX));
}

TEST_F(nodes, a_bad_entry_leaves_the_table_as_it_was)
{
	struct dat_rsm_node bad[17], good = node_at(3, 3, "10.1.0.3");
	struct dat_rsm_node got[2] = {}, tried[2];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(bad); i++)
		bad[i] = good;
	bad[0].node = 65;
	bad[1].node = UINT32_MAX;
	bad[2].ctlr = 0;
	bad[3].ctlr = 64;
	bad[4].family = 0;
	bad[5].family = AF_UNIX;
	bad[6].scope = 1;
	bad[7].addr[4] = 1;
	bad[8] = node_at(3, 3, "0.0.0.0");
	bad[9] = node_at(3, 3, "224.0.0.1");
	bad[10] = node_at(3, 3, "255.255.255.255");
	bad[11] = node_at(3, 3, "::");
	bad[12] = node_at(3, 3, "ff02::1");
	bad[13] = node_at(3, 3, "::ffff:10.1.0.3");
	bad[14] = node_at(1, 1, "10.1.0.99");	/* duplicate of two[0] */
	bad[15] = node_at(3, 3, "127.0.0.1");
	bad[16] = node_at(3, 3, "::1");
	ASSERT_EQ(0, table_set(self->fd, self->two, 2));
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		tried[0] = self->two[0];
		tried[1] = bad[i];
		EXPECT_EQ(DAT_RSM_BAD_CONF, table_set(self->fd, tried, 2)) TH_LOG("entry %u", i);
	}
	ASSERT_EQ(2, table_get(self->fd, got, 2));
	EXPECT_EQ(0, memcmp(self->two, got, sizeof(got)));
}

/* Entry of a later ABI version, which has an additional field. */
struct wide_node {
	struct dat_rsm_node	e;
	uint64_t		more;
};

TEST_F(nodes, entries_of_a_later_version_are_kept_and_returned)
{
	struct wide_node wide[3] = { { .e = self->two[0] }, { .e = self->two[1] } };
	struct dat_rsm_nodes arg = {
		.size = sizeof(arg), .flags = DAT_RSM_NODES_TABLE, .list = (uintptr_t)wide,
		.count = 2, .entry_size = sizeof(wide[0]),
	};

	wide[1].more = 1;
	EXPECT_EQ(-E2BIG, CALL(self->fd, NODES, &arg));
	EXPECT_EQ(0, table_get(self->fd, NULL, 0));
	wide[1].more = 0;
	EXPECT_EQ(0, CALL(self->fd, NODES, &arg));
	memset(wide, 0xff, sizeof(wide));
	arg.flags = 0;
	arg.count = 3;
	EXPECT_EQ(0, CALL(self->fd, NODES, &arg));
	EXPECT_EQ(2, arg.count);
	EXPECT_EQ(0, memcmp(&wide[0].e, &self->two[0], sizeof(self->two[0])));
	EXPECT_EQ(0, memcmp(&wide[1].e, &self->two[1], sizeof(self->two[1])));
	/*
	 * In the entries that it returns, the kernel clears fields that it does not know.  Entries
	 * after the end of the table stay unchanged.
	 */
	EXPECT_EQ(0, wide[0].more);
	EXPECT_EQ(0, wide[1].more);
	EXPECT_EQ(~0ULL, wide[2].more);
}

TEST_F(nodes, sizes_of_entries_are_checked)
{
	struct dat_rsm_nodes arg = {
		.size = sizeof(arg), .list = (uintptr_t)self->two, .count = 2,
	};
	unsigned int i;

	for (i = 0; i < 2; i++) {
		arg.flags = i ? DAT_RSM_NODES_TABLE : 0;
		arg.entry_size = 0;
		EXPECT_EQ(-EINVAL, CALL(self->fd, NODES, &arg));
		arg.entry_size = sizeof(self->two[0]) - 1;
		EXPECT_EQ(-EINVAL, CALL(self->fd, NODES, &arg));
		arg.entry_size = (uint32_t)R_PAGE + 1;
		EXPECT_EQ(-E2BIG, CALL(self->fd, NODES, &arg));
	}
	EXPECT_EQ(0, table_get(self->fd, NULL, 0));
}

TEST_F(nodes, a_call_that_is_none_leaves_the_table_as_it_was)
{
	struct dat_rsm_nodes arg = { .size = sizeof(arg), .flags = 0x10 };

	ASSERT_EQ(0, table_set(self->fd, self->two, 2));
	EXPECT_EQ(-EOPNOTSUPP, CALL(self->fd, NODES, &arg));
	EXPECT_EQ(DAT_RSM_BAD_ADDR, table_set(self->fd, (void *)8, 1));
	EXPECT_EQ(-1, table_get(self->fd, (void *)8, 1));
	EXPECT_EQ(2, table_get(self->fd, NULL, 0));
}

TEST_F(nodes, who_is_no_administrator_may_look)
{
	struct dat_rsm_node got[2];

	ASSERT_EQ(0, table_set(self->fd, self->two, 2));
	ASSERT_EQ(0, setresuid(65534, 65534, 65534));
	EXPECT_EQ(DAT_RSM_PERM_DENIED, table_set(self->fd, NULL, 0));
	EXPECT_EQ(DAT_RSM_PERM_DENIED, local_set(self->fd, 1));
	EXPECT_EQ(2, table_get(self->fd, got, 2));
	EXPECT_EQ(0, local_get(self->fd));
}

TEST_F(nodes, administrators_of_other_namespaces_are_none_here)
{
	int own;

	/* After unshare(), this process has privileges only in its new namespaces. */
	if (unshare(CLONE_NEWUSER | CLONE_NEWNET))
		SKIP(return, "this machine makes no user namespaces");
	EXPECT_EQ(DAT_RSM_PERM_DENIED, table_set(self->fd, self->two, 2));
	own = device_open();
	ASSERT_LE(0, own);
	EXPECT_EQ(0, table_set(own, self->two, 2));
	EXPECT_EQ(2, table_get(own, NULL, 0));
	EXPECT_EQ(0, table_get(self->fd, NULL, 0));
}

TEST_F(nodes, the_own_id_is_everywhere_the_same)
{
	struct dat_rsm_open arg = { .size = sizeof(arg) };
	rsm_topology_t *t;

	ASSERT_EQ(0, local_set(self->fd, 64));
	EXPECT_EQ(64, local_get(self->fd));
	ASSERT_EQ(0, CALL(self->fd, OPEN, &arg));
	EXPECT_EQ(64, arg.node);
	ASSERT_EQ(RSM_SUCCESS, rsm_get_interconnect_topology(&t));
	EXPECT_EQ(64, t->topology_hdr.local_nodeid);
	EXPECT_EQ(0, t->topology_hdr.local_cntlr_count);
	rsm_free_interconnect_topology(t);
	/* The library already has the device open, but must not cache the old node id. */
	ASSERT_EQ(0, local_set(self->fd, 7));
	ASSERT_EQ(RSM_SUCCESS, rsm_get_interconnect_topology(&t));
	EXPECT_EQ(7, t->topology_hdr.local_nodeid);
	rsm_free_interconnect_topology(t);
	EXPECT_EQ(DAT_RSM_BAD_CONF, local_set(self->fd, 65));
	EXPECT_EQ(7, local_get(self->fd));
}

TEST_F(nodes, the_own_id_and_the_table_change_together_or_not_at_all)
{
	struct dat_rsm_node bad = node_at(65, 1, "10.1.0.1");
	struct dat_rsm_nodes arg = {
		.size = sizeof(arg), .flags = DAT_RSM_NODES_TABLE | DAT_RSM_NODES_LOCAL,
		.local = 3, .list = (uintptr_t)&bad, .count = 1, .entry_size = sizeof(bad),
	};

	EXPECT_EQ(DAT_RSM_BAD_CONF, CALL(self->fd, NODES, &arg));
	EXPECT_EQ(0, local_get(self->fd));
	arg.list = (uintptr_t)self->two;
	arg.local = 65;
	EXPECT_EQ(DAT_RSM_BAD_CONF, CALL(self->fd, NODES, &arg));
	EXPECT_EQ(0, table_get(self->fd, NULL, 0));
	arg.local = 3;
	EXPECT_EQ(0, CALL(self->fd, NODES, &arg));
	EXPECT_EQ(3, local_get(self->fd));
	EXPECT_EQ(1, table_get(self->fd, NULL, 0));
}

TEST_F(nodes, the_own_id_stays_while_somebody_relies_on_it)
{
	struct dat_rsm_nodes arg = {
		.size = sizeof(arg), .flags = DAT_RSM_NODES_TABLE | DAT_RSM_NODES_LOCAL,
		.local = 3, .list = (uintptr_t)self->two, .count = 2,
		.entry_size = sizeof(self->two[0]),
	};
	struct r_pair p;

	ASSERT_EQ(0, local_set(self->fd, 2));
	ASSERT_EQ(RSM_SUCCESS, r_pair(&p));
	EXPECT_EQ(2, p.node);
	EXPECT_EQ(DAT_RSM_ALREADY_PUBLISHED, CALL(self->fd, NODES, &arg));
	EXPECT_EQ(2, local_get(self->fd));
	EXPECT_EQ(0, table_get(self->fd, NULL, 0));
	/* Setting the current node id changes nothing, so the call succeeds. */
	arg.local = 2;
	EXPECT_EQ(0, CALL(self->fd, NODES, &arg));
	r_close(&p);
	EXPECT_EQ(0, local_set(self->fd, 3));
}

TEST_F(nodes, where_there_is_no_adapter_there_are_no_links)
{
	struct dat_rsm_topology arg = { .size = sizeof(arg) };
	struct dat_rsm_ctlr ctlr = { .size = sizeof(ctlr), .ctlr = 1 };

	ASSERT_EQ(0, table_set(self->fd, self->two, 2));
	EXPECT_EQ(0, CALL(self->fd, TOPOLOGY, &arg));
	EXPECT_EQ(0, arg.count);
	EXPECT_EQ(DAT_RSM_CTLR_NOT_PRESENT, CALL(self->fd, CTLR, &ctlr));
}

TEST_HARNESS_MAIN
