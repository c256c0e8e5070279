// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* dat_rsm.ko (Remote Shared Memory): module init and exit, and the node of a network namespace. */
#include <linux/module.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>

#include <dat/dat_version.h>

#include "rsm/rdma.h"

#define AUTO_FIRST	0x80000000U

static unsigned int rsm_node_id;
module_param_named(node_id, rsm_node_id, uint, 0444);
MODULE_PARM_DESC(node_id, "RSM node id of the first network namespace, 0 to 64 (0)");

/*
 * Number of contexts that end at the same time because an address space has ended.  A process may
 * have thousands of files.  An end waits for transfers, and for teardowns of connections in
 * serve_wq and in dat_close_wq; it waits for no other end.  It waits for peers until
 * ctx->drain_deadline, so ends that were queued together wait no longer than one of these.  A file
 * that is closed does not wait for the bound.
 */
#define CTX_ENDS	16

static unsigned int rsm_net_id;

struct workqueue_struct *rsm_wq, *rsm_end_wq;

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

	/* Each file holds the namespace, so all files are closed and no segment is left. */
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

static int __init rsm_init(void)
{
	int ret = -ENOMEM;

	if (rsm_node_id > DAT_RSM_MAX_NODE)
		return -EINVAL;
	rsm_end_wq = alloc_workqueue("dat-rsm-end", WQ_UNBOUND | WQ_MEM_RECLAIM, CTX_ENDS);
	if (!rsm_end_wq)
		return ret;
	/* Work items of rsm_wq wait neither for peers nor for other work items. */
	rsm_wq = alloc_workqueue("dat-rsm-conn", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!rsm_wq)
		goto err_end_wq;
	ret = rsm_serve_init();
	if (ret)
		goto err_wq;
	ret = rsm_topology_init();
	if (ret)
		goto err_serve;
	ret = register_pernet_subsys(&rsm_net_ops);
	if (ret)
		goto err_topology;
	ret = rsm_file_init();
	if (ret)
		goto err_pernet;
	return 0;

err_pernet:
	unregister_pernet_subsys(&rsm_net_ops);
err_topology:
	rsm_topology_exit();
err_serve:
	rsm_serve_exit();
err_wq:
	destroy_workqueue(rsm_wq);
err_end_wq:
	destroy_workqueue(rsm_end_wq);
	return ret;
}

static void __exit rsm_exit(void)
{
	rsm_file_exit();
	unregister_pernet_subsys(&rsm_net_ops);
	rsm_serve_exit();
	destroy_workqueue(rsm_end_wq);
	destroy_workqueue(rsm_wq);
	/* RCU callbacks of this module may still be queued. */
	rcu_barrier();
	rsm_topology_exit();
}

module_init(rsm_init);
module_exit(rsm_exit);

MODULE_DESCRIPTION("Remote Shared Memory over Direct Access Transport");
MODULE_AUTHOR("The dat authors");
MODULE_LICENSE("GPL");
MODULE_VERSION(DAT_LINUX_VERSION_STRING);
MODULE_INFO(import_ns, "DAT");
MODULE_INFO(import_ns, "DAT_INTERNAL");
