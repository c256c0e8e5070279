// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* Workqueues and initialization of the core. */
#include <linux/module.h>

#include "core/dat.h"
#include "core/mem/lmr.h"
#include "lib/device.h"

/* Largest number of teardowns at the same time; before Linux 6.9, of each NUMA node or each CPU. */
#define CLOSES	64

struct workqueue_struct *dat_wq, *dat_close_wq;

unsigned int dat_ring_start;
module_param_named(ring_start, dat_ring_start, uint, 0644);
MODULE_PARM_DESC(ring_start, "First index of new rings; lets tests cross the wrap at 2^32 (0)");

int __init dat_core_init(void)
{
	int ret;

	/*
	 * Memory reclaim may wait for I/O of kernel consumers, and the work items of this module
	 * complete that I/O.  So each workqueue needs a rescuer, which WQ_MEM_RECLAIM provides.
	 * WQ_SYSFS lets an administrator choose the processors.
	 */
	dat_wq = alloc_workqueue("dat", WQ_UNBOUND | WQ_MEM_RECLAIM | WQ_SYSFS, 0);
	if (!dat_wq)
		return -ENOMEM;
	/*
	 * Work items of dat_close_wq wait for devices and for work items of dat_wq, so they need a
	 * workqueue of their own.  The limit CLOSES keeps the teardowns of a process with thousands
	 * of connections from taking all processors.  A teardown that waits for a peer, or for a
	 * time, queues its work item again with a delay instead of sleeping.
	 */
	dat_close_wq = alloc_workqueue("dat-close", WQ_UNBOUND | WQ_MEM_RECLAIM | WQ_SYSFS,
				       CLOSES);
	if (!dat_close_wq) {
		ret = -ENOMEM;
		goto err_destroy_wq;
	}
	ret = dat_mapping_init();
	if (ret)
		goto err_destroy_close;
	ret = dat_share_init();
	if (ret)
		goto err_mapping_exit;
	return 0;

err_mapping_exit:
	dat_mapping_exit();
err_destroy_close:
	destroy_workqueue(dat_close_wq);
err_destroy_wq:
	destroy_workqueue(dat_wq);
	return ret;
}

void dat_core_exit(void)
{
	dat_share_exit();
	dat_mapping_exit();
	destroy_workqueue(dat_close_wq);
	destroy_workqueue(dat_wq);
}
