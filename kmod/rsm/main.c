// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* dat_rsm.ko (Remote Shared Memory): module init and exit. */
#include <linux/module.h>

#include <dat/dat_version.h>

#include "rsm/rdma.h"

/*
 * Largest number of contexts that end at the same time because an address space has ended; before
 * Linux 6.9, on each NUMA node.  A limit is needed, because a process may have thousands of files.
 *
 * The end of a context waits for transfers, for peers, and for teardowns of connections in serve_wq
 * and in dat_close_wq, but not for the end of another context.  All contexts of a process have
 * about the same ctx->drain_deadline, at which the wait for peers ends.  Thus all contexts of a
 * process together wait for peers no longer than one context.  The limit does not delay the close
 * of a file, which ends the context itself.
 */
#define CTX_ENDS	16

struct workqueue_struct *rsm_wq, *rsm_end_wq;

static int __init rsm_init(void)
{
	int ret = -ENOMEM;

	rsm_end_wq = alloc_workqueue("dat-rsm-end", WQ_UNBOUND | WQ_MEM_RECLAIM, CTX_ENDS);
	if (!rsm_end_wq)
		return ret;
	/*
	 * A work item of rsm_wq never waits for a peer.  A work item may wait for conn->end_lock.
	 * Work items and upcalls hold that lock only for a short time.
	 */
	rsm_wq = alloc_workqueue("dat-rsm-conn", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!rsm_wq)
		goto err_end_wq;
	ret = rsm_serve_init();
	if (ret)
		goto err_wq;
	ret = rsm_topology_init();
	if (ret)
		goto err_serve;
	ret = rsm_node_init();
	if (ret)
		goto err_topology;
	ret = rsm_file_init();
	if (ret)
		goto err_node;
	return 0;

err_node:
	rsm_node_exit();
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
	rsm_node_exit();
	rsm_serve_exit();
	destroy_workqueue(rsm_end_wq);
	destroy_workqueue(rsm_wq);
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
