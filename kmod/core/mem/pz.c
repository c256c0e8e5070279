// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* Protection zones. */
#include "core/dat.h"
#include "core/mem/lmr.h"

struct dat_pz *dat_pz_create(struct dat_ia *ia)
{
	struct dat_pz *pz = dat_obj_alloc(ia, DAT_OBJ_PZ, 0);
	int ret;

	if (IS_ERR(pz))
		return pz;
	spin_lock_init(&pz->rmr_lock);
	pz->windows = RB_ROOT;
	ret = ia->dev->ops->pz_init(pz);
	if (ret)
		goto err_abort;
	ret = dat_obj_publish(&pz->obj);
	if (ret)
		goto err_abort;
	return pz;

err_abort:
	dat_obj_abort(&pz->obj);
	return ERR_PTR(ret);
}

static void pz_shutdown(struct dat_obj *obj)
{
	obj->ia->dev->ops->pz_exit(to_dat_pz(obj));
}

static void pz_show(struct seq_file *m, struct dat_obj *obj)
{
	seq_printf(m, " users=%d", atomic_read(&obj->users));
}

const struct dat_obj_ops dat_pz_ops = {
	.name		= "pz",
	.size		= sizeof(struct dat_pz),
	.charge		= true,
	.shutdown	= pz_shutdown,
	.show		= pz_show,
};
