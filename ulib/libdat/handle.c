// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/* Functions for all types of handles: lists, deferred free, and calls that take any handle. */
#include <errno.h>

#include "foreign.h"
#include "libdat.h"

#define DEFERRED_MANY	4096	/* if more slots are deferred, all queued events are searched */

void udat_list_init(struct udat_obj *head)
{
	head->next = head;
	head->prev = head;
}

static void list_add(struct udat_obj *obj, struct udat_obj *head)
{
	obj->next = head;
	obj->prev = head->prev;
	head->prev->next = obj;
	head->prev = obj;
}

static void list_del(struct udat_obj *obj)
{
	obj->next->prev = obj->prev;
	obj->prev->next = obj->next;
	obj->next = NULL;
}

static int deferred_passed(const struct udat_obj *obj)
{
	int i;

	if (obj->defer_overflow)
		return 0;
	for (i = 0; i < UDAT_DEFER_EVDS; i++) {
		struct udat_evd *evd = obj->defer_evd[i];
		uint32_t head;

		if (!evd || !udat_evd(evd))
			continue;
		/*
		 * Pairs with evd_take(), which increments @translating before it advances the head.
		 */
		head = __atomic_load_n(&evd->events.head, __ATOMIC_ACQUIRE);
		if ((int32_t)(head - obj->defer_mark[i]) < 0)
			return 0;
		if (__atomic_load_n(&evd->translating, __ATOMIC_ACQUIRE))
			return 0;
	}
	return 1;
}

static void deferred_free(struct udat_ia *ia, struct udat_obj *obj)
{
	list_del(obj);
	ia->ndeferred--;
	du_arena_free(obj);
}

/*
 * Free slots in the order of deferral, oldest first, and stop at the first slot that an event may
 * name.  An EP's slot is thus freed before the slot of its SRQ, which events of the EP use too.
 */
static void deferred_sweep(struct udat_ia *ia)
{
	while (ia->deferred.next != &ia->deferred && deferred_passed(ia->deferred.next))
		deferred_free(ia, ia->deferred.next);
}

/*
 * Mark all objects that are named by queued events of @evd.  Returns 0, or -1 if a dequeued event,
 * which may name an object, is still being translated.
 */
static int evd_mark_named(struct udat_evd *evd)
{
	const struct du_events *e = &evd->events;
	uint32_t i, left;
	int ret;

	du_lock(&evd->lock);
	left = du_events_count(e);
	for (i = 0; i < left; i++) {
		const struct dat_eqe *eqe = du_events_at(e, e->head + i);
		struct udat_obj *obj = du_slot_if((void *)(uintptr_t)eqe->owner);

		if (!obj)
			continue;
		obj->defer_named = 1;
		if (eqe->type == DAT_EV_DTO && eqe->flags & DAT_EQE_SRQ)
			((struct udat_ep *)obj)->srq->obj.defer_named = 1;
	}
	ret = __atomic_load_n(&evd->translating, __ATOMIC_ACQUIRE) ? -1 : 0;
	du_unlock(&evd->lock);
	return ret;
}

static int deferred_mark_named(struct udat_ia *ia)
{
	struct udat_obj *obj;
	int ret = 0;

	for (obj = ia->deferred.next; obj != &ia->deferred; obj = obj->next)
		obj->defer_named = 0;
	for (obj = ia->objs.next; obj != &ia->objs && !ret; obj = obj->next)
		if (udat_evd(obj))
			ret = evd_mark_named(udat_evd(obj));
	return ret;
}

/*
 * If the consumer never reads an EVD, that EVD keeps all deferred slots.  When there are many
 * deferred slots, free those that no queued event names.  The next search follows when the number
 * of deferred slots has doubled.
 */
static void deferred_search(struct udat_ia *ia)
{
	struct udat_obj *obj, *next;

	if (ia->ndeferred <= DEFERRED_MANY || ia->ndeferred / 2 <= ia->ndeferred_named)
		return;
	if (deferred_mark_named(ia))
		return;
	for (obj = ia->deferred.next; obj != &ia->deferred; obj = next) {
		next = obj->next;
		if (!obj->defer_named)
			deferred_free(ia, obj);
	}
	ia->ndeferred_named = ia->ndeferred;
}

/*
 * Allocate an object of @ia.  The handle of the object is not valid yet.  Returns NULL if memory is
 * short.
 */
void *udat_obj_new(struct udat_ia *ia)
{
	struct udat_obj *obj = du_arena_alloc();

	if (!obj)
		return NULL;
	obj->ia = ia;
	pthread_mutex_lock(&ia->lock);
	deferred_sweep(ia);
	list_add(obj, &ia->objs);
	ia->nobjs++;
	pthread_mutex_unlock(&ia->lock);
	return obj;
}

void udat_obj_publish(struct udat_obj *obj, uint32_t type)
{
	du_slot_publish(&obj->slot, type);
}

static void obj_unlist(struct udat_obj *obj)
{
	list_del(obj);
	obj->ia->nobjs--;
}

/* Free an object that no queued event names. */
void udat_obj_drop(struct udat_obj *obj)
{
	struct udat_ia *ia = obj->ia;

	pthread_mutex_lock(&ia->lock);
	obj_unlist(obj);
	pthread_mutex_unlock(&ia->lock);
	du_arena_free(obj);
}

static void defer_add(struct udat_obj *obj, struct udat_evd *evd)
{
	int i;

	for (i = 0; i < UDAT_DEFER_EVDS && obj->defer_evd[i]; i++)
		if (obj->defer_evd[i] == evd)
			return;
	if (i < UDAT_DEFER_EVDS)
		obj->defer_evd[i] = evd;
	else
		obj->defer_overflow = 1;
}

/*
 * Note that the object no longer uses @evd.  Events of the object may still be queued in @evd, so
 * the slot of the object is not freed before those events are dequeued.
 */
void udat_obj_defer_on(struct udat_obj *obj, struct udat_evd *evd)
{
	if (!evd)
		return;
	pthread_mutex_lock(&obj->ia->lock);
	defer_add(obj, evd);
	pthread_mutex_unlock(&obj->ia->lock);
}

/*
 * Free the slot as soon as no queued event can name the object.  Events that name the object may be
 * in @evds, in EVDs that the object used before, and in the async EVD.  The driver queues no
 * further events of the object.
 */
void udat_obj_free_deferred(struct udat_obj *obj, struct udat_evd *const *evds, int n)
{
	struct udat_ia *ia = obj->ia;
	int i;

	pthread_mutex_lock(&ia->lock);
	for (i = 0; i < n; i++)
		if (evds[i])
			defer_add(obj, evds[i]);
	if (ia->async_evd)
		defer_add(obj, ia->async_evd);
	for (i = 0; i < UDAT_DEFER_EVDS; i++) {
		struct udat_evd *evd = udat_evd(obj->defer_evd[i]);

		/* A freed EVD has no pages, and its queued events are lost. */
		if (!evd || evd->obj.ia != ia)
			obj->defer_evd[i] = NULL;
		else
			obj->defer_mark[i] = __atomic_load_n(&evd->events.status->tail,
							     __ATOMIC_ACQUIRE);
	}
	obj_unlist(obj);
	list_add(obj, &ia->deferred);
	ia->ndeferred++;
	deferred_sweep(ia);
	deferred_search(ia);
	pthread_mutex_unlock(&ia->lock);
}

/*
 * Make the driver free the object.  The handle is revoked first, so that no other call can begin to
 * use the object.  If the driver refuses, the handle becomes valid again.
 */
DAT_RETURN udat_obj_free(struct udat_obj *obj, uint32_t type, uint32_t kind,
			 DAT_RETURN bad_handle, DAT_RETURN busy)
{
	struct dat_free arg = { .size = sizeof(arg), .type = kind, .id = obj->id };
	int ret;

	if (!du_slot_revoke(&obj->slot, type))
		return bad_handle;
	ret = du_file_ioctl(&obj->ia->file, DAT_IOC_FREE, &arg);
	/* ENODEV, ENOENT: the device was removed, and the driver has already freed the object. */
	if (!ret || ret == -ENODEV || ret == -ENOENT)
		return DAT_SUCCESS;
	du_slot_publish(&obj->slot, type);
	return ret == -EBUSY || ret == -EISCONN ? busy : dat_err_from_errno(-ret);
}

static void lock_on(struct udat_obj *obj)
{
	if (obj->slot.type == UDAT_TYPE(EVD)) {
		((struct udat_evd *)obj)->lock.single = 0;
	} else if (obj->slot.type == UDAT_TYPE(SRQ)) {
		((struct udat_srq *)obj)->rq.lock.single = 0;
	} else if (obj->slot.type == UDAT_TYPE(EP)) {
		((struct udat_ep *)obj)->sq.lock.single = 0;
		((struct udat_ep *)obj)->rq.lock.single = 0;
	}
}

/*
 * Turn on locking before the library starts the first thread that calls agents.  Until then an IA
 * without thread safety uses no locks.
 */
void udat_locks_on(struct udat_ia *ia)
{
	struct udat_obj *obj;

	pthread_mutex_lock(&ia->lock);
	ia->agents = 1;
	for (obj = ia->objs.next; obj != &ia->objs; obj = obj->next)
		lock_on(obj);
	pthread_mutex_unlock(&ia->lock);
}

static struct udat_obj *first_cno(struct udat_ia *ia)
{
	struct udat_obj *obj, *found = NULL;

	pthread_mutex_lock(&ia->lock);
	for (obj = ia->objs.next; obj != &ia->objs && !found; obj = obj->next)
		if (obj->slot.type == UDAT_TYPE(CNO))
			found = obj;
	pthread_mutex_unlock(&ia->lock);
	return found;
}

/*
 * End the threads of all CNOs.  dat_ia_close() calls this before it frees other objects, because
 * agents may use those objects until their threads end.
 */
void udat_cnos_end(struct udat_ia *ia)
{
	struct udat_obj *obj;

	while ((obj = first_cno(ia))) {
		__atomic_store_n(&obj->slot.type, 0, __ATOMIC_RELEASE);
		udat_cno_end((struct udat_cno *)obj);
		udat_obj_drop(obj);
	}
}

/*
 * Free an object of any type during dat_ia_close(): revoke the handle, unmap the pages, free the
 * slot.
 */
void udat_obj_forget(struct udat_obj *obj)
{
	uint32_t type = __atomic_exchange_n(&obj->slot.type, 0, __ATOMIC_ACQ_REL);

	if (type == UDAT_TYPE(EVD))
		udat_evd_unmap((struct udat_evd *)obj);
	else if (type == UDAT_TYPE(EP))
		udat_ep_unmap((struct udat_ep *)obj);
	else if (type == UDAT_TYPE(SRQ))
		udat_srq_unmap((struct udat_srq *)obj);
	list_del(obj);
	du_arena_free(obj);
}

static struct udat_obj *any_handle(DAT_HANDLE handle)
{
	struct du_slot *slot = du_slot_if(handle);

	if (!slot || !__atomic_load_n(&slot->type, __ATOMIC_ACQUIRE))
		return NULL;
	return (struct udat_obj *)slot;
}

UDAT_EXPORT DAT_RETURN dat_get_handle_type(DAT_HANDLE handle, DAT_HANDLE_TYPE *type)
{
	struct du_slot *slot = du_slot_if(handle);
	uint32_t is = slot ? __atomic_load_n(&slot->type, __ATOMIC_ACQUIRE) : 0;

	UDAT_FORWARD(handle, get_handle_type, type);
	if (!is)
		return DAT_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
	if (!type)
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	*type = (DAT_HANDLE_TYPE)(is - 1);
	return DAT_SUCCESS;
}

UDAT_EXPORT DAT_RETURN dat_set_consumer_context(DAT_HANDLE handle, DAT_CONTEXT context)
{
	struct udat_obj *obj = any_handle(handle);

	UDAT_FORWARD(handle, set_consumer_context, context);
	if (!obj)
		return DAT_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
	obj->context = context;
	return DAT_SUCCESS;
}

UDAT_EXPORT DAT_RETURN dat_get_consumer_context(DAT_HANDLE handle, DAT_CONTEXT *context)
{
	struct udat_obj *obj = any_handle(handle);

	UDAT_FORWARD(handle, get_consumer_context, context);
	if (!obj)
		return DAT_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
	if (!context)
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	*context = obj->context;
	return DAT_SUCCESS;
}
