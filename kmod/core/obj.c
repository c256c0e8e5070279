// SPDX-License-Identifier: GPL-2.0
/*
 * Objects: reserve an id, build, publish or abort; look up, use, free.
 *
 * An id is reserved before its object is built, so that publishing cannot fail for lack
 * of memory.  Until the object is published, the id has a zero entry, so that no lookup
 * finds a half-built object.
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

/* Uncharge while the device exists: its cgroup pools are freed with it. */
static void obj_uncharge(struct dat_obj *obj)
{
#ifdef CONFIG_CGROUP_RDMA
	struct rdma_cgroup *cg = xchg(&obj->cg, NULL);

	if (cg)
		rdmacg_uncharge(cg, obj->ia->dev->cg,
				RDMACG_RESOURCE_HCA_OBJECT);
#endif
}

/* For a face with handles, @user_data is a pointer to its private data, not an owner value. */
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
 * dat_obj_alloc_gfp() - reserve an id and allocate an object for it
 * @ia: parent
 * @type: enum dat_obj_type
 * @user_data: owner value of the object's events; for a face with handles, a pointer to its
 *	private data, which the object owns once it is published
 * @gfp: flags of the allocations
 *
 * Context: as @gfp says.  Return: the object, to be published or aborted, or an
 * ERR_PTR: -ENOMEM, -EAGAIN (rdma cgroup limit).
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

/* dat_obj_alloc_gfp(), charged to the caller's memory cgroup.  Context: may sleep. */
void *dat_obj_alloc(struct dat_ia *ia, enum dat_obj_type type, u64 user_data)
{
	return dat_obj_alloc_gfp(ia, type, user_data, GFP_KERNEL_ACCOUNT);
}

/**
 * dat_obj_publish() - make an object visible to lookups
 * @obj: object, completely built
 *
 * Another thread may free the object from now on, so the caller gets a reference of its own.
 *
 * Return: 0, or -ENODEV if the IA began to shut down.  After an error the caller must call
 * dat_obj_abort(), which releases what the object holds.
 */
int dat_obj_publish(struct dat_obj *obj)
{
	struct dat_ia *ia = obj->ia;
	int ret = -ENODEV;

	xa_lock(&ia->objs);
	if (!READ_ONCE(ia->dead)) {
		kref_get(&obj->ref);
		obj->published = true;
		/* Can't fail: the id is reserved. */
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
 * dat_obj_shutdown() - release everything that an object holds of the device
 * @obj: any object
 *
 * Context: may sleep.
 */
void dat_obj_shutdown(struct dat_obj *obj)
{
	dat_obj_ops(obj)->shutdown(obj);
	obj_uncharge(obj);
}

/* Hides an object from lookups and frees its id. */
void dat_obj_unpublish(struct dat_obj *obj)
{
	struct dat_ia *ia = obj->ia;

	/*
	 * Remove the handle first: an object that is found by its handle is also found by its id.
	 */
	if (ia->face->unpublish)
		ia->face->unpublish(obj);
	xa_erase(&ia->objs, obj->id);
}

/**
 * dat_obj_abort() - hide an object, shut it down and drop its own reference
 * @obj: never published, or with a free begun by dat_obj_begin_free()
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
 * dat_obj_get() - look an object up by id
 * @ia: parent
 * @type: enum dat_obj_type
 * @id: id, untrusted
 *
 * Return: the object with a reference, or ERR_PTR(-ENOENT).
 */
void *dat_obj_get(struct dat_ia *ia, enum dat_obj_type type, u32 id)
{
	struct dat_obj *obj;

	rcu_read_lock();
	obj = xa_load(&ia->objs, id);
	/* Get no object of another type: if its put were the last, it would sleep. */
	if (obj && (obj->type != type || !kref_get_unless_zero(&obj->ref)))
		obj = NULL;
	rcu_read_unlock();
	return obj ?: ERR_PTR(-ENOENT);
}

/**
 * dat_obj_use() - keep an object from being freed, and take a reference
 * @obj: parent of the object that the caller builds
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
 * dat_obj_unuse_atomic() - dat_obj_unuse() where the last put, which may sleep, is forbidden
 * @obj: object in its IA's table
 *
 * Puts first: while the use lasts, dat_obj_free() does not take the table's reference, so this put
 * is not the last one.  dat_ia_close() takes it without regard to uses, but only after the shutdown
 * of all EPs, which ends their uses.
 *
 * Context: any.
 */
void dat_obj_unuse_atomic(struct dat_obj *obj)
{
	dat_obj_put(obj);
	/* A free that sees the use end must see the put, too. */
	smp_mb__before_atomic();
	atomic_dec(&obj->users);
}

/**
 * dat_obj_begin_free() - keep an object from getting new users
 * @obj: published object; on success the caller must call dat_obj_abort()
 *
 * Return: 0, -EBUSY if the object has users or a waiter, -EISCONN if its state forbids the free,
 * -ENOENT if another free won.
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
 * @obj: published object; the caller keeps its reference
 *
 * Context: may sleep.  Return: as dat_obj_begin_free().
 */
int dat_obj_free(struct dat_obj *obj)
{
	int ret = dat_obj_begin_free(obj);

	if (!ret)
		dat_obj_abort(obj);
	return ret;
}
