// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * Module entry points.  dat_init() starts the layers in the order core, verbs, lo, kdapl, user;
 * dat_exit() shuts them down in the reverse order.
 */
#include <linux/module.h>

#include <dat/dat_version.h>

#include "core/dat.h"
#include "verbs/verbs.h"
#include "lo/lo.h"
#include "user/file.h"
#include "kdapl/kdapl.h"

static int __init dat_init(void)
{
	int ret;

	ret = dat_core_init();
	if (ret)
		return ret;
	ret = dat_verbs_init();
	if (ret)
		goto err_core_exit;
	ret = dat_lo_init();
	if (ret)
		goto err_verbs_exit;
	ret = kdat_init();
	if (ret)
		goto err_lo_exit;
	ret = dat_file_init();
	if (ret)
		goto err_kdat_exit;
	/* dat-info --check looks for this line. */
	pr_info("dat: loaded, version " DAT_LINUX_VERSION_STRING "\n");
	return 0;

err_kdat_exit:
	kdat_exit();
err_lo_exit:
	dat_lo_exit();
err_verbs_exit:
	dat_verbs_exit();
err_core_exit:
	dat_core_exit();
	return ret;
}

static void __exit dat_exit(void)
{
	dat_file_exit();
	kdat_exit();
	dat_lo_exit();
	dat_verbs_exit();
	dat_core_exit();
}

module_init(dat_init);
module_exit(dat_exit);

MODULE_DESCRIPTION("Direct Access Transport");
MODULE_AUTHOR("The dat authors");
MODULE_LICENSE("GPL");
MODULE_VERSION(DAT_LINUX_VERSION_STRING);
