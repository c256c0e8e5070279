// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * The node of a network namespace.  User space sets the node id, a table with the addresses of
 * other nodes, the cluster key, and whether the node trusts the network.
 */
#include <linux/capability.h>
#include <linux/in.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <net/ipv6.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>

#include "lib/device.h"
#include "rsm/rdma.h"

#define NODES_FLAGS	(DAT_RSM_NODES_TABLE | DAT_RSM_NODES_LOCAL | DAT_RSM_NODES_KEY | \
			 DAT_RSM_NODES_TRUST)
#define NODES_MAX	(RSM_MAX_CTLRS * (DAT_RSM_MAX_NODE + 1))

#define AUTO_FIRST	0x80000000U

static unsigned int rsm_node_id;
module_param_named(node_id, rsm_node_id, uint, 0444);
MODULE_PARM_DESC(node_id, "RSM node id of the first network namespace, 0 to 64 (0)");

static unsigned int rsm_net_id;

static int __net_init rsm_net_init(struct net *net)
{
	struct rsm_node *node = net_generic(net, rsm_net_id);

	mutex_init(&node->lock);
	xa_init_flags(&node->segs, XA_FLAGS_ALLOC);
	xa_init(&node->users);
	node->next_auto = AUTO_FIRST;
	node->id = net_eq(net, &init_net) ? rsm_node_id : 0;
	node->net = net;
	rsm_ctlrs_init(node);
	return 0;
}

static void __net_exit rsm_net_exit(struct net *net)
{
	struct rsm_node *node = net_generic(net, rsm_net_id);

	/* Each file has a reference to the namespace, so no file is open and no segment is left. */
	xa_destroy(&node->segs);
	xa_destroy(&node->users);
	rsm_ctlrs_exit(node);
}

static struct pernet_operations rsm_net_ops = {
	.init	= rsm_net_init,
	.exit	= rsm_net_exit,
	.id	= &rsm_net_id,
	.size	= sizeof(struct rsm_node),
};

struct rsm_node *rsm_node_of(struct net *net)
{
	return net_generic(net, rsm_net_id);
}

static void entry_addr(const struct dat_rsm_node *e, struct sockaddr_storage *out)
{
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)out;
	struct sockaddr_in *in = (struct sockaddr_in *)out;

	memset(out, 0, sizeof(*out));
	out->ss_family = e->family;
	if (e->family == AF_INET) {
		memcpy(&in->sin_addr, e->addr, sizeof(in->sin_addr));
	} else {
		memcpy(&in6->sin6_addr, e->addr, sizeof(in6->sin6_addr));
		in6->sin6_scope_id = e->scope;
	}
}

/* Returns true if two socket addresses have the same IP address; ignores ports and scope ids. */
static bool addr_same(const struct sockaddr *a, const struct sockaddr *b)
{
	if (a->sa_family != b->sa_family)
		return false;
	if (a->sa_family == AF_INET)
		return ((const struct sockaddr_in *)a)->sin_addr.s_addr ==
		       ((const struct sockaddr_in *)b)->sin_addr.s_addr;
	return a->sa_family == AF_INET6 &&
	       ipv6_addr_equal(&((const struct sockaddr_in6 *)a)->sin6_addr,
			       &((const struct sockaddr_in6 *)b)->sin6_addr);
}

/* Returns the table entry for node @id and controller @ctlr, or NULL.  RCU read lock is held. */
static const struct dat_rsm_node *table_find(const struct rsm_table *t, u32 id, u32 ctlr)
{
	u32 i;

	for (i = 0; t && i < t->count; i++)
		if (t->nodes[i].node == id && t->nodes[i].ctlr == ctlr)
			return &t->nodes[i];
	return NULL;
}

int rsm_node_addr(struct rsm_ctlr *ctlr, u32 id, struct sockaddr_storage *out)
{
	struct rsm_node *node = ctlr->node;
	const struct dat_rsm_node *e;

	if (id == READ_ONCE(node->id)) {
		*out = ctlr->addr;
		return 0;
	}
	rcu_read_lock();
	e = table_find(rcu_dereference(node->table), id, ctlr->number);
	if (e)
		entry_addr(e, out);
	rcu_read_unlock();
	return e ? 0 : -EHOSTUNREACH;
}

bool rsm_node_is_at(struct rsm_ctlr *ctlr, u32 id, const struct sockaddr *addr, bool *known)
{
	struct rsm_node *node = ctlr->node;
	struct sockaddr_storage ss;
	const struct rsm_table *t;
	bool same = false;
	u32 i;

	*known = id == READ_ONCE(node->id);
	if (*known)
		return addr_same((struct sockaddr *)&ctlr->addr, addr);
	rcu_read_lock();
	t = rcu_dereference(node->table);
	/* The table may have one entry for the node per controller. */
	for (i = 0; t && i < t->count && !same; i++) {
		if (t->nodes[i].node != id)
			continue;
		*known = true;
		if (t->nodes[i].ctlr != ctlr->number)
			continue;
		entry_addr(&t->nodes[i], &ss);
		same = addr_same((struct sockaddr *)&ss, addr);
	}
	rcu_read_unlock();
	return same || !*known;
}

static bool addr_good(const struct dat_rsm_node *e)
{
	static const u8 zeros[sizeof(e->addr)];
	struct in6_addr in6;
	__be32 in;
	int type;

	if (e->family == AF_INET) {
		memcpy(&in, e->addr, sizeof(in));
		return in && !ipv4_is_multicast(in) && !ipv4_is_lbcast(in) &&
		       !ipv4_is_loopback(in) && !e->scope &&
		       !memcmp(e->addr + sizeof(in), zeros, sizeof(e->addr) - sizeof(in));
	}
	memcpy(&in6, e->addr, sizeof(in6));
	type = ipv6_addr_type(&in6);
	/* User space must pass an IPv4 address as AF_INET, not as an IPv4-mapped IPv6 address. */
	return e->family == AF_INET6 && type != IPV6_ADDR_ANY &&
	       !(type & (IPV6_ADDR_MULTICAST | IPV6_ADDR_MAPPED | IPV6_ADDR_LOOPBACK));
}

static bool entry_good(const struct rsm_table *t, u32 i)
{
	const struct dat_rsm_node *e = &t->nodes[i];

	return e->node <= DAT_RSM_MAX_NODE && e->ctlr != DAT_RSM_LOOPBACK &&
	       e->ctlr <= RSM_MAX_CTLRS && addr_good(e);
}

/* Returns true if each entry is valid and each node has at most one address per controller. */
static bool table_good(const struct rsm_table *t)
{
	DECLARE_BITMAP(seen, (RSM_MAX_CTLRS + 1) * (DAT_RSM_MAX_NODE + 1)) = {};
	u32 i;

	for (i = 0; i < t->count; i++)
		if (!entry_good(t, i) ||
		    __test_and_set_bit(t->nodes[i].ctlr * (DAT_RSM_MAX_NODE + 1) +
				       t->nodes[i].node, seen))
			return false;
	return true;
}

static struct rsm_table *table_alloc(u32 count)
{
	struct rsm_table *t;

	t = kvmalloc(struct_size(t, nodes, count), GFP_KERNEL_ACCOUNT);
	if (t)
		t->count = count;
	return t;
}

static int table_read(const struct dat_rsm_nodes *arg, struct rsm_table **out)
{
	struct rsm_table *t;
	int ret;

	if (arg->count > NODES_MAX)
		return -EKEYREJECTED;
	t = table_alloc(arg->count);
	if (!t)
		return -ENOMEM;
	ret = dat_copy_array_from(t->nodes, sizeof(*t->nodes), arg->list, arg->entry_size,
				  t->count);
	if (!ret && !table_good(t))
		ret = -EKEYREJECTED;
	if (ret)
		kvfree(t);
	else
		*out = t;
	return ret;
}

/*
 * Sets the node id.  A change fails with -EALREADY while the node has exports or imports, because
 * access lists and connections contain the node id.
 */
static int own_id_set(struct rsm_node *node, u32 id)
{
	int ret = 0;

	mutex_lock(&node->lock);
	if (id != node->id && atomic_read(&node->objs))
		ret = -EALREADY;
	else
		WRITE_ONCE(node->id, id);
	mutex_unlock(&node->lock);
	return ret;
}

/* Sets the node id, the table, or both, by arg->flags.  After an error, nothing has changed. */
static int nodes_set(struct rsm_node *node, const struct dat_rsm_nodes *arg)
{
	struct rsm_table *t = NULL;
	int ret = 0;

	if (!ns_capable(node->net->user_ns, CAP_NET_ADMIN))
		return -EACCES;
	if (arg->flags & DAT_RSM_NODES_LOCAL && arg->local > DAT_RSM_MAX_NODE)
		return -EKEYREJECTED;
	if (arg->flags & DAT_RSM_NODES_TABLE)
		ret = table_read(arg, &t);
	if (ret)
		return ret;
	mutex_lock(&node->ctlr_lock);
	if (arg->flags & DAT_RSM_NODES_LOCAL)
		ret = own_id_set(node, arg->local);
	if (!ret && t)
		t = rcu_replace_pointer(node->table, t, lockdep_is_held(&node->ctlr_lock));
	mutex_unlock(&node->ctlr_lock);
	if (t)
		kvfree_rcu(t, rcu);
	return ret;
}

/*
 * Copies the table of other nodes' addresses, which may be empty, to *@out.  The caller frees *@out
 * by kvfree().  Context: may sleep.
 */
int rsm_table_copy(struct rsm_node *node, struct rsm_table **out)
{
	struct rsm_table *copy = NULL;
	const struct rsm_table *t;
	u32 count = 0, room;

	/*
	 * Allocate outside the RCU read-side section, because the allocation may sleep.  If the
	 * table has grown since the allocation, try again with the new size.
	 */
	do {
		room = count;
		kvfree(copy);
		copy = table_alloc(room);
		if (!copy)
			return -ENOMEM;
		rcu_read_lock();
		t = rcu_dereference(node->table);
		count = t ? t->count : 0;
		if (t && count <= room)
			memcpy(copy->nodes, t->nodes, array_size(count, sizeof(*t->nodes)));
		rcu_read_unlock();
	} while (count > room);
	copy->count = count;
	*out = copy;
	return 0;
}

/*
 * Sets the cluster key or the trust in the network.  Only the administrator of the host may do so,
 * even in a network namespace that another user owns.
 */
static int trust_set(struct rsm_node *node, const struct dat_rsm_nodes *arg)
{
	if (hweight32(arg->flags) != 1 || arg->state & ~DAT_RSM_NODE_TRUSTS)
		return -EOPNOTSUPP;
	if (!capable(CAP_SYS_ADMIN))
		return -EACCES;
	if (arg->flags & DAT_RSM_NODES_KEY)
		return rsm_auth_set_key(node, arg->key);
	WRITE_ONCE(node->trusts, arg->state & DAT_RSM_NODE_TRUSTS);
	return 0;
}

static int nodes_get(struct rsm_node *node, struct dat_rsm_nodes *arg)
{
	struct rsm_table *t;
	int ret;

	ret = rsm_table_copy(node, &t);
	if (ret)
		return ret;
	/* Copy without a lock, because an access to the process's memory can take long. */
	ret = dat_copy_array_to(arg->list, arg->entry_size, t->nodes, sizeof(*t->nodes),
				min(arg->count, t->count));
	arg->count = t->count;
	arg->local = READ_ONCE(node->id);
	arg->state = (READ_ONCE(node->key) ? DAT_RSM_NODE_KEYED : 0) |
		     (READ_ONCE(node->trusts) ? DAT_RSM_NODE_TRUSTS : 0);
	kvfree(t);
	return ret;
}

/*
 * Returns false if @arg has an unknown flag, or if a field is not 0 although the flag of the field
 * is not set.  So a later version can give a meaning to such values.  Without flags, which means a
 * read, arg->local and the fields of the list may have any value.
 */
static bool nodes_good(const struct dat_rsm_nodes *arg)
{
	bool reads = !arg->flags;

	return !(arg->flags & ~NODES_FLAGS) &&
	       (!arg->key || arg->flags & DAT_RSM_NODES_KEY) &&
	       (!arg->state || arg->flags & DAT_RSM_NODES_TRUST) &&
	       (!arg->local || reads || arg->flags & DAT_RSM_NODES_LOCAL) &&
	       ((!arg->list && !arg->count && !arg->entry_size) || reads ||
		arg->flags & DAT_RSM_NODES_TABLE);
}

int rsm_nodes(struct dat_ucmd *ucmd)
{
	struct rsm_node *node = rsm_ucmd_node(ucmd);
	struct dat_rsm_nodes *arg = ucmd->arg;
	int ret;

	if (!nodes_good(arg))
		return -EOPNOTSUPP;
	ret = arg->count ? dat_check_entry_size(arg->entry_size, sizeof(struct dat_rsm_node)) : 0;
	if (ret)
		return ret;
	if (arg->flags & (DAT_RSM_NODES_KEY | DAT_RSM_NODES_TRUST))
		return trust_set(node, arg);
	return arg->flags ? nodes_set(node, arg) : nodes_get(node, arg);
}

int rsm_node_init(void)
{
	if (rsm_node_id > DAT_RSM_MAX_NODE)
		return -EINVAL;
	return register_pernet_subsys(&rsm_net_ops);
}

void rsm_node_exit(void)
{
	unregister_pernet_subsys(&rsm_net_ops);
}
