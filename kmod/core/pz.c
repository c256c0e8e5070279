// SPDX-License-Identifier: GPL-2.0
/* Protection zones. */
#include "core/dat.h"

struct dat_pz *dat_pz_create(struct dat_ia *ia)
{
	struct dat_pz *pz = dat_obj_alloc(ia, DAT_OBJ_PZ, 0);
	struct ib_pd *pd;
	int ret;

	if (IS_ERR(pz))
		return pz;
	mutex_init(&pz->reg_lock);
	spin_lock_init(&pz->rmr_lock);
	pz->windows = RB_ROOT;
	pd = ib_alloc_pd(ia->dev->ibdev, 0);
	if (IS_ERR(pd)) {
		ret = PTR_ERR(pd);
		goto err_abort;
	}
	pz->pd = pd;
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
	struct dat_pz *pz = to_dat_pz(obj);

	dat_regqp_free(pz->reg);
	pz->reg = NULL;
	if (pz->pd)
		ib_dealloc_pd(pz->pd);
	pz->pd = NULL;
}

static void pz_release(struct dat_obj *obj)
{
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
	.release	= pz_release,
	.show		= pz_show,
};
