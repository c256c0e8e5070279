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

/*
 * Undoes obj_charge().  Called before the device is removed, because the device's cgroup pools are
 * freed with the device.
 */
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
 * Sets obj->user_data, the owner field of the object's events.  If the face has handles, the owner
 * field is the handle, and @user_data is a pointer to the face's private data of the object.
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
 * @user_data: owner field of the object's events.  For a face with handles, a pointer to the face's
 *	private data, which the object owns once it is published.
 * @gfp: flags for all allocations
 *
 * Context: depends on @gfp.  Return: the object, which the caller passes to dat_obj_publish() or
 * dat_obj_abort(); or ERR_PTR(-ENOMEM), also if a limit of the rdma cgroup is reached.
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

/* Calls dat_obj_alloc_gfp() and charges the memory to the caller's memory cgroup.  May sleep. */
void *dat_obj_alloc(struct dat_ia *ia, enum dat_obj_type type, u64 user_data)
{
	return dat_obj_alloc_gfp(ia, type, user_data, GFP_KERNEL_ACCOUNT);
}

/**
 * dat_obj_publish() - make an object visible to lookups by id and by handle
 * @obj: object that is completely built
 *
 * Once the object is published, another thread may free it, so this function takes a reference for
 * the caller.
 *
 * Return: 0, or -ENODEV if the IA is shut down.  After an error the caller must call
 * dat_obj_abort().
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

static void obj_destroy(struct kref *ref)
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

void dat_obj_put(struct dat_obj *obj)
{
	if (obj)
		kref_put(&obj->ref, obj_destroy);
}

/**
 * dat_obj_shutdown() - release all device resources that an object holds
 * @obj: any object
 *
 * Context: may sleep.
 */
void dat_obj_shutdown(struct dat_obj *obj)
{
	dat_obj_ops(obj)->shutdown(obj);
	obj_uncharge(obj);
}

/* Hides an object from lookups by handle and by id, and releases the id. */
void dat_obj_unpublish(struct dat_obj *obj)
{
	struct dat_ia *ia = obj->ia;

	/*
	 * Remove the handle first.  The order ensures that an object found by its handle can also
	 * be found by its id.
	 */
	if (ia->face->unpublish)
		ia->face->unpublish(obj);
	xa_erase(&ia->objs, obj->id);
}

/**
 * dat_obj_abort() - hide an object, shut the object down and drop its initial reference
 * @obj: object that was never published, or for which dat_obj_begin_free() has succeeded
 *
 * Context: may sleep.
 */
void dat_obj_abort(struct dat_obj *obj)
{
	dat_obj_unpublish(obj);
	dat_obj_shutdown(obj);
	dat_obj_put(obj);
}

/**
 * dat_obj_get() - look up an object by its id and type
 * @ia: interface adapter to which the object belongs
 * @type: enum dat_obj_type
 * @id: id of the object; may come from user space
 *
 * Return: the object with a reference, or ERR_PTR(-ENOENT).
 */
void *dat_obj_get(struct dat_ia *ia, enum dat_obj_type type, u32 id)
{
	struct dat_obj *obj;

	rcu_read_lock();
	obj = xa_load(&ia->objs, id);
	/*
	 * Do not take a reference to an object of another type: the release of that type might
	 * sleep if this reference became the last one.
	 */
	if (obj && (obj->type != type || !kref_get_unless_zero(&obj->ref)))
		obj = NULL;
	rcu_read_unlock();
	return obj ?: ERR_PTR(-ENOENT);
}

/**
 * dat_obj_use() - take a reference to an object, and a use, which keeps the owner from freeing the
 * object
 * @obj: object that another object depends on, for example an EVD of a new EP
 *
 * Return: 0, or -ENOENT if @obj is being freed.
 */
int dat_obj_use(struct dat_obj *obj)
{
	if (!atomic_inc_unless_negative(&obj->users))
		return -ENOENT;
	kref_get(&obj->ref);
	return 0;
}

void dat_obj_unuse(struct dat_obj *obj)
{
	atomic_dec(&obj->users);
	dat_obj_put(obj);
}

/**
 * dat_obj_unuse_atomic() - undo dat_obj_use() in a context that must not sleep
 * @obj: object in ia->objs
 *
 * Dropping the last reference may sleep, so this put must not drop the last one.  Therefore the put
 * comes before the end of the use: while the use lasts, dat_obj_free() fails, so ia->objs keeps its
 * reference.  dat_ia_close() drops that reference without regard to uses, but only after the
 * shutdown of all EPs, which ends these uses.
 *
 * Context: any.
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

/**
 * dat_obj_begin_free() - begin the free of an object: refuse new uses and check for existing ones
 * @obj: published object; after a success the caller must call dat_obj_abort()
 *
 * Return: 0; -EBUSY if the object has a use or a waiter; -ENOENT if another thread is freeing the
 * object; or an error of the type's may_free().
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

/**
 * dat_obj_free() - free an object on behalf of its owner
 * @obj: published object; the caller has a reference and keeps it
 *
 * Context: may sleep.  Return: 0, or an error of dat_obj_begin_free().
 */
int dat_obj_free(struct dat_obj *obj)
{
	int ret = dat_obj_begin_free(obj);

	if (!ret)
		dat_obj_abort(obj);
	return ret;
}
