// SPDX-License-Identifier: GPL-2.0
/* The module: what it needs before the first device and after the last. */
#include <linux/module.h>

#include "core/dat.h"
#include "user/file.h"
#include "kdapl/kdapl.h"

struct workqueue_struct *dat_wq, *dat_close_wq;

unsigned int dat_ring_start;
module_param_named(ring_start, dat_ring_start, uint, 0644);
MODULE_PARM_DESC(ring_start, "First index of new rings; lets tests cross the wrap at 2^32 (0)");

static int __init dat_init(void)
{
	int ret;

	/* Kernel consumers write memory back: the end of their requests must not need any. */
	dat_wq = alloc_workqueue("dat", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!dat_wq)
		return -ENOMEM;
	/* Its works wait for peers, devices and works of dat_wq. */
	dat_close_wq = alloc_workqueue("dat-close", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
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
	ret = dat_verbs_init();
	if (ret)
		goto err_share_exit;
	ret = kdat_init();
	if (ret)
		goto err_verbs_exit;
	ret = dat_file_init();
	if (ret)
		goto err_kdat_exit;
	return 0;

err_kdat_exit:
	kdat_exit();
err_verbs_exit:
	dat_verbs_exit();
err_share_exit:
	dat_share_exit();
err_mapping_exit:
	dat_mapping_exit();
err_destroy_close:
	destroy_workqueue(dat_close_wq);
err_destroy_wq:
	destroy_workqueue(dat_wq);
	return ret;
}

static void __exit dat_exit(void)
{
	dat_file_exit();
	kdat_exit();
	dat_verbs_exit();
	dat_share_exit();
	dat_mapping_exit();
	destroy_workqueue(dat_close_wq);
	destroy_workqueue(dat_wq);
}

module_init(dat_init);
module_exit(dat_exit);

MODULE_DESCRIPTION("Direct Access Transport");
MODULE_LICENSE("GPL");
