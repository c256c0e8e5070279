// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* Handles: construction, and lookup of objects by handle.  kdapl.h describes the format. */
#include <linux/slab.h>

#include "core/dat.h"
#include "core/ep/ep.h"
#include "core/face.h"
#include "kdapl/kdapl.h"

#define ROUND_BITS	9
#define INDEX_BITS	24
#define ID_MASK		((1U << KDAT_ID_BITS) - 1)
#define ROUND_MASK	((1U << ROUND_BITS) - 1)
#define INDEX_MASK	((1U << INDEX_BITS) - 1)

static_assert(KDAT_ID_BITS + ROUND_BITS == KDAT_INDEX_SHIFT);
static_assert(KDAT_INDEX_SHIFT + INDEX_BITS == KDAT_KIND_SHIFT);

/*
 * All IAs that kernel consumers have opened, by index.  Indices are allocated cyclically, so that
 * the handle of a closed IA stays invalid for a long time.
 */
static DEFINE_XARRAY_ALLOC1(kdat_ias);
static u32 kdat_ias_next;

struct dat_obj __rcu *kdat_handle_cache[2][1 << KDAT_CACHE_BITS];

static u64 handle_make(DAT_HANDLE_TYPE kind, u32 index, u32 low)
{
	return (u64)(KDAT_KIND_BASE | kind) << KDAT_KIND_SHIFT |
	       (u64)index << KDAT_INDEX_SHIFT | low;
}

static u32 handle_index(u64 handle)
{
	return handle >> KDAT_INDEX_SHIFT & INDEX_MASK;
}

static const DAT_HANDLE_TYPE obj_kinds[DAT_OBJ_LAST] = {
	[DAT_OBJ_PZ]	= DAT_HANDLE_TYPE_PZ,
	[DAT_OBJ_LMR]	= DAT_HANDLE_TYPE_LMR,
	[DAT_OBJ_EVD]	= DAT_HANDLE_TYPE_EVD,
	[DAT_OBJ_SRQ]	= DAT_HANDLE_TYPE_SRQ,
	[DAT_OBJ_EP]	= DAT_HANDLE_TYPE_EP,
	[DAT_OBJ_CR]	= DAT_HANDLE_TYPE_CR,
	[DAT_OBJ_RMR]	= DAT_HANDLE_TYPE_RMR,
};

static u64 face_handle(const struct dat_obj *obj)
{
	DAT_HANDLE_TYPE kind = obj_kinds[obj->type];

	/* PSPs, RSPs and CSPs all have the type DAT_OBJ_PSP. */
	if (obj->type == DAT_OBJ_PSP)
		kind = ((const struct kdat_sp *)obj->priv)->kind;
	return handle_make(kind, handle_index(obj->ia->user_data),
			   (obj->round & ROUND_MASK) << KDAT_ID_BITS | obj->id);
}

static void face_free(struct dat_obj *obj)
{
	kfree(obj->priv);
}

static void sp_release(struct dat_obj *obj)
{
	struct kdat_sp *sp = obj->priv;
	struct dat_ep *ep = kdat_sp_take(sp);

	if (ep)
		dat_obj_unuse(&ep->obj);
	/* An RCU reader may have found the service point through a request, without a reference. */
	kfree_rcu(sp, rcu);
}

/* Frees nothing, because obj->priv of a connection request is the handle of the service point. */
static void cr_release(struct dat_obj *obj)
{
}

static void (*const face_releases[DAT_OBJ_LAST])(struct dat_obj *obj) = {
	[DAT_OBJ_PZ]	= face_free,
	[DAT_OBJ_LMR]	= face_free,
	[DAT_OBJ_EVD]	= face_free,
	[DAT_OBJ_SRQ]	= face_free,
	[DAT_OBJ_EP]	= face_free,
	[DAT_OBJ_RMR]	= face_free,
	[DAT_OBJ_PSP]	= sp_release,
	[DAT_OBJ_CR]	= cr_release,
};

static void face_release(struct dat_obj *obj)
{
	face_releases[obj->type](obj);
}

/* Returns true if the cache contains objects of this type, which posts and dequeues look up. */
static bool is_cached(const struct dat_obj *obj)
{
	return obj->type == DAT_OBJ_EP || obj->type == DAT_OBJ_EVD || obj->type == DAT_OBJ_SRQ;
}

static struct dat_obj __rcu **cache_slot(const struct dat_obj *obj)
{
	return kdat_cache_slot(obj->user_data, obj->type == DAT_OBJ_EP);
}

static void face_publish(struct dat_obj *obj)
{
	lockdep_assert_held(&obj->ia->objs.xa_lock);

	if (is_cached(obj))
		rcu_assign_pointer(*cache_slot(obj), obj);
}

static void cache_forget(struct dat_obj __rcu **place, struct dat_obj *obj)
{
	/* Use cmpxchg(), because the slot may contain another object by now, which must stay. */
	unrcu_pointer(cmpxchg(place, RCU_INITIALIZER(obj), NULL));
}

static void face_unpublish(struct dat_obj *obj)
{
	if (is_cached(obj))
		cache_forget(cache_slot(obj), obj);
}

/*
 * Removes the objects of a closing IA from the cache.  The caller ensures that no other thread
 * publishes EPs, EVDs or SRQs of the IA.
 */
static void cache_forget_ia(const struct dat_ia *ia)
{
	struct dat_obj __rcu **place = kdat_handle_cache[0];
	struct dat_obj __rcu **end = place + sizeof(kdat_handle_cache) / sizeof(*place);
	struct dat_obj *obj;

	rcu_read_lock();
	for (; place != end; place++) {
		obj = rcu_dereference(*place);
		if (obj && obj->ia == ia)
			cache_forget(place, obj);
	}
	rcu_read_unlock();
}

const struct dat_face kdat_face = {
	.sink		= &kdat_sink,
	.sq		= &kdat_sq_ops,
	.rq		= &kdat_rq_ops,
	.kernel		= true,
	.handle		= face_handle,
	.publish	= face_publish,
	.unpublish	= face_unpublish,
	.release	= face_release,
	.unreserve	= kdat_cr_unreserve,
};

/* Reserves the handle of @kia.  The caller must call kdat_ia_publish() or kdat_ia_unreserve(). */
int kdat_ia_reserve(struct kdat_ia *kia)
{
	u32 index;
	int ret;

	ret = xa_alloc_cyclic(&kdat_ias, &index, XA_ZERO_ENTRY, XA_LIMIT(1, INDEX_MASK),
			      &kdat_ias_next, GFP_KERNEL);
	if (ret < 0)
		return -ENOMEM;
	kia->handle = (DAT_HANDLE)(uintptr_t)handle_make(DAT_HANDLE_TYPE_IA, index, 0);
	return 0;
}

void kdat_ia_publish(struct kdat_ia *kia)
{
	/* xa_store() cannot fail, because kdat_ia_reserve() has reserved the index. */
	xa_store(&kdat_ias, handle_index(kdat_to_u64(kia->handle)), kia, GFP_KERNEL);
}

void kdat_ia_unreserve(struct kdat_ia *kia)
{
	xa_erase(&kdat_ias, handle_index(kdat_to_u64(kia->handle)));
}

/*
 * Looks up an IA by its unchecked handle.  Context: under rcu_read_lock(), or softirqs disabled.
 */
struct kdat_ia *kdat_ia_find(DAT_HANDLE handle)
{
	struct kdat_ia *kia = xa_load(&kdat_ias, handle_index(kdat_to_u64(handle)));

	return kia && kia->handle == handle ? kia : NULL;
}

/*
 * Hides an IA and the objects of the IA from lookups, and waits for running calls.  After a
 * success, the caller owns the IA, and no call uses the IA or the objects, except a call that has
 * released ia->sem; see the top of kdapl.h.  Returns NULL if there is no such IA, for example
 * because another thread has taken the IA.  Context: may sleep; the caller does not hold ia->sem.
 */
struct kdat_ia *kdat_ia_take(DAT_HANDLE handle)
{
	u32 index = handle_index(kdat_to_u64(handle));
	struct kdat_ia *kia;

	xa_lock(&kdat_ias);
	kia = xa_load(&kdat_ias, index);
	if (kia && kia->handle == handle)
		__xa_erase(&kdat_ias, index);
	else
		kia = NULL;
	xa_unlock(&kdat_ias);
	if (!kia)
		return NULL;
	/* A call that takes ia->sem after the drain does not find the IA. */
	dat_ia_drain(kia->ia);
	/* No call can publish EPs, EVDs or SRQs of the IA any more, so the cache gets none. */
	cache_forget_ia(kia->ia);
	synchronize_rcu();
	return kia;
}

/* Returns the handle of any IA that the module @owner has open, or DAT_HANDLE_NULL. */
DAT_HANDLE kdat_ia_of_module(const struct module *owner)
{
	DAT_HANDLE handle = DAT_HANDLE_NULL;
	struct kdat_ia *kia;
	unsigned long index;

	rcu_read_lock();
	xa_for_each(&kdat_ias, index, kia) {
		if (kia->owner == owner)
			handle = kia->handle;
	}
	rcu_read_unlock();
	return handle;
}

/*
 * Looks up an object of any type except an IA, without the cache.  The caller gets no reference.
 * Context: under rcu_read_lock(), or softirqs disabled.
 */
struct dat_obj *kdat_find_any(DAT_HANDLE handle)
{
	u64 h = kdat_to_u64(handle);
	struct kdat_ia *kia = xa_load(&kdat_ias, handle_index(h));
	struct dat_obj *obj;

	if (!kia)
		return NULL;
	obj = xa_load(&kia->ia->objs, h & ID_MASK);
	return obj && obj->user_data == h ? obj : NULL;
}

static bool ia_is_known(DAT_HANDLE handle)
{
	bool known;

	rcu_read_lock();
	known = kdat_ia_find(handle);
	rcu_read_unlock();
	return known;
}

/*
 * Releases ia->sem and drops the reference of a call.  The unlock needs the reference, because a
 * kdat_ia_close() that waits for ia->sem may finish while the unlock still accesses ia->sem.
 */
void kdat_ia_release(struct dat_ia *ia)
{
	dat_ia_unlock(ia);
	dat_ia_put(ia);
}

static struct kdat_ia *ia_get(DAT_HANDLE handle, bool also_gone)
{
	struct dat_ia *ia = NULL;
	struct kdat_ia *kia;
	int ret = 0;

	/* Catch a consumer that wrongly makes a sleeping call from an upcall in BH context. */
	if (kdat_cant_sleep())
		return ERR_PTR(-EDEADLK);
	might_sleep();
	rcu_read_lock();
	kia = kdat_ia_find(handle);
	if (kia) {
		ia = kia->ia;
		kref_get(&ia->ref);
	}
	rcu_read_unlock();
	if (!ia)
		return ERR_PTR(-ENOENT);
	dat_ia_lock(ia);
	/* Look the IA up again, because kdat_ia_close() hides the IA before it takes ia->sem. */
	if (!ia_is_known(handle))
		ret = -ENOENT;
	else if (!also_gone && READ_ONCE(ia->dead))
		ret = -ENODEV;
	if (!ret)
		return kia;
	kdat_ia_release(ia);
	return ERR_PTR(ret);
}

/*
 * Begins a call on an IA, which kdat_ia_done() ends.  In between, the caller holds a reference to
 * the IA, and ia->sem.  May sleep.  Fails with -ENOENT if there is no such IA, with -ENODEV if the
 * device is gone, with -EDEADLK if the caller cannot sleep.
 */
struct kdat_ia *kdat_ia_get(DAT_HANDLE handle)
{
	return ia_get(handle, false);
}

void kdat_ia_done(struct kdat_ia *kia)
{
	kdat_ia_release(kia->ia);
}

/*
 * Returns the object @handle of @ia with a reference, or ERR_PTR(-ENOENT).  @kind: any kind except
 * IA.  Context: ia->sem held.
 */
void *kdat_get_in(struct dat_ia *ia, DAT_HANDLE handle, DAT_HANDLE_TYPE kind)
{
	struct dat_obj *obj;

	lockdep_assert_held(&ia->sem);
	rcu_read_lock();
	obj = kdat_find(handle, kind);
	if (obj && (obj->ia != ia || !kref_get_unless_zero(&obj->ref)))
		obj = NULL;
	rcu_read_unlock();
	return obj ?: ERR_PTR(-ENOENT);
}

static void *obj_get(DAT_HANDLE handle, DAT_HANDLE_TYPE kind, bool also_gone)
{
	u32 index = handle_index(kdat_to_u64(handle));
	struct kdat_ia *kia;
	void *obj;

	if (kdat_kind(handle) != kind)
		return ERR_PTR(-ENOENT);
	kia = ia_get((DAT_HANDLE)(uintptr_t)handle_make(DAT_HANDLE_TYPE_IA, index, 0), also_gone);
	if (IS_ERR(kia))
		return kia;
	obj = kdat_get_in(kia->ia, handle, kind);
	if (IS_ERR(obj))
		kdat_ia_done(kia);
	return obj;
}

/*
 * Begins a call on an object, which kdat_done() ends.  In between, the caller holds references to
 * the object and to the IA, and ia->sem.  @kind: any kind except IA.  May sleep.  Fails like
 * kdat_ia_get(), with -ENOENT also if there is no such object.
 */
void *kdat_get(DAT_HANDLE handle, DAT_HANDLE_TYPE kind)
{
	return obj_get(handle, kind, false);
}

/*
 * Begins a call like kdat_get(), even if the device is gone.  The removal of a device shuts the
 * objects down, but the consumer still has to free the objects.
 */
void *kdat_get_gone(DAT_HANDLE handle, DAT_HANDLE_TYPE kind)
{
	return obj_get(handle, kind, true);
}

void kdat_done(struct dat_obj *obj)
{
	struct dat_ia *ia = obj->ia;

	dat_obj_put(obj);
	kdat_ia_release(ia);
}

/*
 * Frees an object.  @bad: return code for a bad handle.  @busy: return code for an object in use.
 * May sleep.
 */
DAT_RETURN kdat_free(DAT_HANDLE handle, DAT_HANDLE_TYPE kind, DAT_RETURN bad,
		     DAT_RETURN busy)
{
	struct dat_obj *obj = kdat_get_gone(handle, kind);
	int ret;

	if (IS_ERR(obj))
		return kdat_lookup_error(PTR_ERR(obj), bad);
	ret = dat_obj_free(obj);
	kdat_done(obj);
	if (ret == -EBUSY)
		return busy;
	return ret ? kdat_lookup_error(ret, bad) : DAT_SUCCESS;
}

DAT_RETURN kdat_set_consumer_context(DAT_HANDLE dat_handle, DAT_CONTEXT context)
{
	DAT_RETURN rc = DAT_SUCCESS;
	struct dat_obj *obj;
	struct kdat_ia *kia;

	rcu_read_lock();
	kia = kdat_ia_find(dat_handle);
	obj = kia ? NULL : kdat_find_any(dat_handle);
	if (kia)
		WRITE_ONCE(kia->context, context.as_64);
	else if (obj)
		WRITE_ONCE(obj->context, context.as_64);
	else
		rc = KDAT_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
	rcu_read_unlock();
	return rc;
}
EXPORT_SYMBOL_DAT(kdat_set_consumer_context);

DAT_RETURN kdat_get_consumer_context(DAT_HANDLE dat_handle, DAT_CONTEXT *context)
{
	DAT_RETURN rc = DAT_SUCCESS;
	struct dat_obj *obj;
	struct kdat_ia *kia;

	if (!context)
		return KDAT_ARG(2);
	rcu_read_lock();
	kia = kdat_ia_find(dat_handle);
	obj = kia ? NULL : kdat_find_any(dat_handle);
	if (kia)
		context->as_64 = READ_ONCE(kia->context);
	else if (obj)
		context->as_64 = READ_ONCE(obj->context);
	else
		rc = KDAT_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
	rcu_read_unlock();
	return rc;
}
EXPORT_SYMBOL_DAT(kdat_get_consumer_context);

DAT_RETURN kdat_get_handle_type(DAT_HANDLE dat_handle, DAT_HANDLE_TYPE *handle_type)
{
	bool known;

	if (!handle_type)
		return KDAT_ARG(2);
	rcu_read_lock();
	known = kdat_ia_find(dat_handle) || kdat_find_any(dat_handle);
	rcu_read_unlock();
	if (!known)
		return KDAT_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
	*handle_type = kdat_kind(dat_handle);
	return DAT_SUCCESS;
}
EXPORT_SYMBOL_DAT(kdat_get_handle_type);
