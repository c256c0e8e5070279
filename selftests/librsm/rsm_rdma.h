/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) The dat authors */
/*
 * RSMAPI over an RDMA adapter.  A test has a segment of this node, and a peer by which it can act
 * as a remote kernel (see rsm_peer.h).  Some nodes of the node table do not exist; their addresses
 * are in the network of v0.  Needs the virtual machine's adapter rxe0 on v0.
 */
#ifndef RSM_RDMA_H
#define RSM_RDMA_H

#include "rsm_test.h"

#include <endian.h>
#include <pthread.h>
#include <rdma/dat_rsm.h>

#include "rdma_count.h"
#include "rsm_node.h"
#include "rsm_peer.h"
#include "adapter.h"

#define OWN		"10.9.0.1"	/* address of rxe0 */
#define NODE_DEAF	61		/* node at a local address where nobody listens */
#define NODE_GONE	62		/* node at an address that no machine has */
#define NODE_FAKE	63		/* node at a local address where tests listen */
#define NODE_NONE	64		/* node that is not in the node table */
#define DEAF		"10.9.0.61"
#define FAKE		"10.9.0.63"

/* Add two local addresses, and fill in the node table: NODE_DEAF, NODE_GONE and NODE_FAKE. */
static inline int make_nodes(void)
{
	const struct dat_rsm_node nodes[] = {
		r_node_at(NODE_DEAF, DEAF), r_node_at(NODE_GONE, "10.9.0.62"),
		r_node_at(NODE_FAKE, FAKE),
	};

	return v0_add(DEAF) || v0_add(FAKE) ? -1 : r_nodes(nodes, 3, -1);
}

/* Wait until this machine has @n queue pairs.  Returns 0 on timeout. */
static inline int queue_pairs_are(int n)
{
	uint64_t end = now_ms() + R_WAIT_MS;

	while (rdma_count("qp") != n) {
		if (now_ms() > end)
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

/* Returns 0 if the segment still works. */
static inline int still_works(struct r_pair *p)
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

/* Returns the state in @c, the connections of a controller, to @node, or 0 if there is none. */
static inline int state_in(const rsm_connections_t *c, rsm_node_id_t node)
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
static inline int link_states(const rsm_node_id_t *nodes, int *states, unsigned int n)
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
static inline int link_state(rsm_node_id_t node)
{
	int state;

	return link_states(&node, &state, 1) ? -1 : state;
}

#endif /* RSM_RDMA_H */
