// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * Life of an object: reserve an id, build the object, publish or abort it; look it up, use it, free
 * it.
 *
 * An object's id is reserved before the object is built, so that the object can be published
 * without allocating memory.  Until the object is published, ia->objs has a zero entry for the id,
 * so that no lookup finds an object that is not complete.
 */
#include <linux/cgroup_rdma.h>
#include <linux/nospec.h>
#include <linux/slab.h>

#include "core/dat.h"
#include "core/face.h"

static const struct dat_obj_ops *const dat_obj_table[DAT_OBJ_LAST] = {
	[DAT_OBJ_PZ]	= &dat_pz_ops,
	[DAT_OBJ_LMR]	= &dat_lmr_ops,
	[DAT_OBJ_EVD]	= &dat_evd_ops,
	[DAT_OBJ_SRQ]	= &dat_srq_ops,
	[DAT_OBJ_EP]	= &dat_ep_ops,
	[DAT_OBJ_PSP]	= &dat_psp_ops,
	[DAT_OBJ_CR]	= &dat_cr_ops,
	[DAT_OBJ_CNO]	= &dat_cno_ops,
	[DAT_OBJ_RMR]	= &dat_rmr_ops,
};

bool dat_obj_type_known(u32 type)
{
	return type < DAT_OBJ_LAST && dat_obj_table[array_index_nospec(type, DAT_OBJ_LAST)];
}

const struct dat_obj_ops *dat_obj_ops(const struct dat_obj *obj)
{
	return dat_obj_table[obj->type];
}

static int obj_charge(struct dat_obj *obj)
{
#ifdef CONFIG_CGROUP_RDMA
	if (dat_obj_ops(obj)->charge)
		return rdmacg_try_charge(&obj->cg, obj->ia->dev->cg,
					 RDMACG_RESOURCE_HCA_OBJECT);
#endif
	return 0;
}

/* Ends the charge.  Must run before the device is removed: a removal frees the cgroups' pools. */
static void obj_uncharge(struct dat_obj *obj)
{
#ifdef CONFIG_CGROUP_RDMA
	struct rdma_cgroup *cg = xchg(&obj->cg, NULL);

	if (cg)
		rdmacg_uncharge(cg, obj->ia->dev->cg,
				RDMACG_RESOURCE_HCA_OBJECT);
#endif
}

/*
 * Sets obj->user_data, the value of dat_eqe.owner in the object's events, to @user_data.  If the
 * face has handles, sets obj->user_data to the object's handle, and obj->priv to @user_data.
 */
static void obj_name(struct dat_obj *obj, u64 user_data)
{
	const struct dat_face *face = obj->ia->face;

	obj->user_data = user_data;
	if (!face->handle)
		return;
	obj->priv = (void *)(uintptr_t)user_data;
	obj->user_data = face->handle(obj);
}

/**
 * dat_obj_alloc_gfp() - allocate an object and reserve an id
 * @ia: interface adapter to which the object belongs
 * @type: enum dat_obj_type
 * @user_data: value of dat_eqe.owner in the object's events.  For a face with handles: pointer to
 *	the face's structure for the object, which the object owns after a successful
 *	dat_obj_publish(), or 0; for a CR, handle of the listener.
 * @gfp: flags for all allocations, except those of a charge to the rdma cgroup
 *
 * Return: the object, which the caller passes to dat_obj_publish() or dat_obj_abort(); or
 * ERR_PTR(-ENOMEM), also if a limit of the rdma cgroup is reached.
 */
void *dat_obj_alloc_gfp(struct dat_ia *ia, enum dat_obj_type type, u64 user_data, gfp_t gfp)
{
	struct dat_obj *obj;
	int ret;

	obj = kzalloc(max(dat_obj_table[type]->size, ia->dev->ops->obj_size[type]), gfp);
	if (!obj)
		return ERR_PTR(-ENOMEM);
	obj->type = type;
	obj->ia = ia;
	kref_init(&obj->ref);

	ret = obj_charge(obj);
	if (ret)
		goto err_free;
	ret = xa_alloc_cyclic(&ia->objs, &obj->id, XA_ZERO_ENTRY, DAT_ID_LIMIT,
			      &ia->next_id, gfp);
	if (ret < 0)
		goto err_uncharge;
	obj->round = ret ? atomic_inc_return(&ia->id_rounds) : atomic_read(&ia->id_rounds);
	obj_name(obj, user_data);
	kref_get(&ia->ref);
	return obj;

err_uncharge:
	obj_uncharge(obj);
err_free:
	kfree(obj);
	return ERR_PTR(ret == -EBUSY || ret == -EAGAIN ? -ENOMEM : ret);
}

/* Like dat_obj_alloc_gfp(), but charges the caller's memory cgroup.  May sleep. */
void *dat_obj_alloc(struct dat_ia *ia, enum dat_obj_type type, u64 user_data)
{
	return dat_obj_alloc_gfp(ia, type, user_data, GFP_KERNEL_ACCOUNT);
}

/*
 * Makes a completely built object visible to lookups by id and by handle.  Another thread may then
 * free the object, so this function takes a reference for the caller.  Does not sleep.  Fails with
 * -ENODEV if the IA is shut down; the caller must then call dat_obj_abort().
 */
int dat_obj_publish(struct dat_obj *obj)
{
	struct dat_ia *ia = obj->ia;
	int ret = -ENODEV;

	xa_lock(&ia->objs);
	if (!READ_ONCE(ia->dead)) {
		kref_get(&obj->ref);
		obj->published = true;
		/* The store cannot fail, because the id is reserved. */
		__xa_store(&ia->objs, obj->id, obj, GFP_ATOMIC);
		if (ia->face->publish)
			ia->face->publish(obj);
		ret = 0;
	}
	xa_unlock(&ia->objs);
	return ret;
}

void dat_obj_release(struct kref *ref)
{
	struct dat_obj *obj = container_of(ref, struct dat_obj, ref);
	struct dat_ia *ia = obj->ia;

	if (dat_obj_ops(obj)->release)
		dat_obj_ops(obj)->release(obj);
	if (ia->face->release && obj->published)
		ia->face->release(obj);
	kfree_rcu(obj, rcu);
	dat_ia_put(ia);
}

/* Releases all device resources that an object holds.  May sleep. */
void dat_obj_shutdown(struct dat_obj *obj)
{
	dat_obj_ops(obj)->shutdown(obj);
	obj_uncharge(obj);
}

/* Keeps lookups from finding the object.  Does not drop the reference of ia->objs. */
void dat_obj_unpublish(struct dat_obj *obj)
{
	struct dat_ia *ia = obj->ia;

	/*
	 * Remove the handle first, so that an object found by its handle can also be found by its
	 * id.
	 */
	if (ia->face->unpublish)
		ia->face->unpublish(obj);
	xa_erase(&ia->objs, obj->id);
}

/*
 * Unpublishes and shuts down an object that was never published, or whose free dat_obj_begin_free()
 * has begun.  Drops the reference with which the object was allocated.  May sleep.
 */
void dat_obj_abort(struct dat_obj *obj)
{
	dat_obj_unpublish(obj);
	dat_obj_shutdown(obj);
	dat_obj_put(obj);
}

/*
 * Looks up an object by its id, which may come from user space.  Does not sleep.  Returns the
 * object with a reference, or ERR_PTR(-ENOENT).
 */
void *dat_obj_get(struct dat_ia *ia, enum dat_obj_type type, u32 id)
{
	struct dat_obj *obj;

	rcu_read_lock();
	obj = xa_load(&ia->objs, id);
	/*
	 * Take no reference to an object of another type: the release of that type might sleep if
	 * this reference became the last one.
	 */
	if (obj && (obj->type != type || !kref_get_unless_zero(&obj->ref)))
		obj = NULL;
	rcu_read_unlock();
	return obj ?: ERR_PTR(-ENOENT);
}

/*
 * Takes a reference and a use of an object on which another object or a call depends.  The use
 * keeps the owner from freeing @obj.  Does not sleep.  Fails with -ENOENT if @obj is being freed.
 */
int dat_obj_use(struct dat_obj *obj)
{
	if (!atomic_inc_unless_negative(&obj->users))
		return -ENOENT;
	kref_get(&obj->ref);
	return 0;
}

/*
 * Undoes dat_obj_use().  May sleep, because the put may drop the last reference.  The use ends
 * before the put, because the put may free the object.
 */
void dat_obj_unuse(struct dat_obj *obj)
{
	atomic_dec(&obj->users);
	dat_obj_put(obj);
}

/*
 * Undoes dat_obj_use() in any context.  A put of the last reference may sleep, so this put must not
 * be the last.  Therefore the put comes before the end of the use: while the use lasts,
 * dat_obj_free() fails, and ia->objs keeps its reference.  dat_ia_close() drops that reference
 * without regard to uses, but only after the shutdown of all EPs, which ends the uses by entries of
 * EP queues.
 */
void dat_obj_unuse_atomic(struct dat_obj *obj)
{
	dat_obj_put(obj);
	/*
	 * Order the put before the end of the use: a thread that sees the use ended, and so may
	 * free the object, must also see the put.
	 */
	smp_mb__before_atomic();
	atomic_dec(&obj->users);
}

/*
 * Begins the free of an object, so that dat_obj_use() fails.  After a success the caller must call
 * dat_obj_abort().  Does not sleep.  Fails with -EBUSY if the object has a use, with -ENOENT if
 * another thread is freeing the object, or with an error of the type's may_free(), which is -EBUSY
 * for the async EVD, and for an EVD or CNO with a thread in dat_evd_wait() or dat_cno_wait().
 */
int dat_obj_begin_free(struct dat_obj *obj)
{
	const struct dat_obj_ops *ops = dat_obj_ops(obj);
	int users, ret;

	users = atomic_cmpxchg(&obj->users, 0, -1);
	if (users)
		return users < 0 ? -ENOENT : -EBUSY;
	ret = ops->may_free ? ops->may_free(obj) : 0;
	if (ret)
		atomic_set(&obj->users, 0);
	return ret;
}

/* Frees @obj.  The caller keeps its reference.  May sleep.  Fails like dat_obj_begin_free(). */
int dat_obj_free(struct dat_obj *obj)
{
	int ret = dat_obj_begin_free(obj);

	if (!ret)
		dat_obj_abort(obj);
	return ret;
}
