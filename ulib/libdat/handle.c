// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What all handles have in common: lists, graves, and the calls that take any. */
#include <errno.h>

#include "foreign.h"
#include "libdat.h"

#define GRAVES_MANY	4096	/* so many are worth a look at every event that is queued */

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

static int grave_passed(const struct udat_obj *obj)
{
	int i;

	if (obj->grave_vague)
		return 0;
	for (i = 0; i < UDAT_GRAVES; i++) {
		struct udat_evd *evd = obj->grave_evd[i];
		uint32_t head;

		if (!evd || !udat_evd(evd))
			continue;
		/* Who takes a request says so before it takes it: look the other way round. */
		head = __atomic_load_n(&evd->events.head, __ATOMIC_ACQUIRE);
		if ((int32_t)(head - obj->grave_mark[i]) < 0)
			return 0;
		if (__atomic_load_n(&evd->translating, __ATOMIC_ACQUIRE))
			return 0;
	}
	return 1;
}

static void grave_open(struct udat_ia *ia, struct udat_obj *obj)
{
	list_del(obj);
	ia->ngraves--;
	du_arena_free(obj);
}

/* In order: events that name an EP count on its SRQ too, which is buried after it. */
static void graves_sweep(struct udat_ia *ia)
{
	while (ia->graves.next != &ia->graves && grave_passed(ia->graves.next))
		grave_open(ia, ia->graves.next);
}

/* Mark what events in @evd name.  -1: somebody is about to look at what one has named. */
static int evd_mark_named(struct udat_evd *evd)
{
	const struct du_events *e = &evd->events;
	uint32_t i, left;
	int ret;

	du_lock(&evd->lock);
	left = du_events_count(e);
	for (i = 0; i < left; i++) {
		const struct dat_eqe *eqe = &e->ring[(e->head + i) & e->mask];
		struct udat_obj *obj = du_slot_if((void *)(uintptr_t)eqe->owner);

		if (!obj)
			continue;
		obj->grave_named = 1;
		if (eqe->type == DAT_EV_DTO && eqe->flags & DAT_EQE_SRQ)
			((struct udat_ep *)obj)->srq->obj.grave_named = 1;
	}
	ret = __atomic_load_n(&evd->translating, __ATOMIC_ACQUIRE) ? -1 : 0;
	du_unlock(&evd->lock);
	return ret;
}

static int graves_mark_named(struct udat_ia *ia)
{
	struct udat_obj *obj;
	int ret = 0;

	for (obj = ia->graves.next; obj != &ia->graves; obj = obj->next)
		obj->grave_named = 0;
	for (obj = ia->objs.next; obj != &ia->objs && !ret; obj = obj->next)
		if (udat_evd(obj))
			ret = evd_mark_named(udat_evd(obj));
	return ret;
}

/*
 * An EVD that nobody reads keeps all graves closed.  When there are many, open those that
 * no event names: what is left is no more than there are events, and when twice as many
 * have come we look again.
 */
static void graves_search(struct udat_ia *ia)
{
	struct udat_obj *obj, *next;

	if (ia->ngraves <= GRAVES_MANY || ia->ngraves / 2 <= ia->named_graves)
		return;
	if (graves_mark_named(ia))
		return;
	for (obj = ia->graves.next; obj != &ia->graves; obj = next) {
		next = obj->next;
		if (!obj->grave_named)
			grave_open(ia, obj);
	}
	ia->named_graves = ia->ngraves;
}

/* A slot that belongs to the IA; not valid yet.  NULL: no memory. */
void *udat_obj_new(struct udat_ia *ia)
{
	struct udat_obj *obj = du_arena_alloc();

	if (!obj)
		return NULL;
	obj->ia = ia;
	pthread_mutex_lock(&ia->lock);
	graves_sweep(ia);
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

/* No event names it. */
void udat_obj_drop(struct udat_obj *obj)
{
	struct udat_ia *ia = obj->ia;

	pthread_mutex_lock(&ia->lock);
	obj_unlist(obj);
	pthread_mutex_unlock(&ia->lock);
	du_arena_free(obj);
}

static void grave_add(struct udat_obj *obj, struct udat_evd *evd)
{
	int i;

	for (i = 0; i < UDAT_GRAVES && obj->grave_evd[i]; i++)
		if (obj->grave_evd[i] == evd)
			return;
	if (i < UDAT_GRAVES)
		obj->grave_evd[i] = evd;
	else
		obj->grave_vague = 1;
}

/* Events of the object go elsewhere from now on; some may still be in @evd. */
void udat_obj_mourn(struct udat_obj *obj, struct udat_evd *evd)
{
	if (!evd)
		return;
	pthread_mutex_lock(&obj->ia->lock);
	grave_add(obj, evd);
	pthread_mutex_unlock(&obj->ia->lock);
}

/*
 * Events in @evds, in those it was taken away from, and in the async EVD may name it.
 * The driver queues no more of them.
 */
void udat_obj_bury(struct udat_obj *obj, struct udat_evd *const *evds, int n)
{
	struct udat_ia *ia = obj->ia;
	int i;

	pthread_mutex_lock(&ia->lock);
	for (i = 0; i < n; i++)
		if (evds[i])
			grave_add(obj, evds[i]);
	if (ia->async_evd)
		grave_add(obj, ia->async_evd);
	for (i = 0; i < UDAT_GRAVES; i++) {
		struct udat_evd *evd = udat_evd(obj->grave_evd[i]);

		/* One that was freed has no pages any more, and its events are lost. */
		if (!evd || evd->obj.ia != ia)
			obj->grave_evd[i] = NULL;
		else
			obj->grave_mark[i] = __atomic_load_n(&evd->events.status->tail,
							     __ATOMIC_ACQUIRE);
	}
	obj_unlist(obj);
	list_add(obj, &ia->graves);
	ia->ngraves++;
	graves_sweep(ia);
	graves_search(ia);
	pthread_mutex_unlock(&ia->lock);
}

/*
 * Let the driver free the object.  The handle is dead before, so that no other call
 * begins with it, and comes back to life if the driver refuses.
 */
DAT_RETURN udat_obj_free(struct udat_obj *obj, uint32_t type, uint32_t kind,
			 DAT_RETURN bad_handle, DAT_RETURN busy)
{
	struct dat_free arg = { .size = sizeof(arg), .type = kind, .id = obj->id };
	int ret;

	if (!du_slot_revoke(&obj->slot, type))
		return bad_handle;
	ret = du_ioctl(obj->ia->fd, DAT_IOC_FREE, &arg);
	/* The device is gone, and with it the object. */
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

/* Before the first thread that calls agents: from now on there are two of us. */
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

/* From IA close: agents may use other objects until their threads have ended. */
void udat_cnos_end(struct udat_ia *ia)
{
	struct udat_obj *obj;

	while ((obj = first_cno(ia))) {
		__atomic_store_n(&obj->slot.type, 0, __ATOMIC_RELEASE);
		udat_cno_end((struct udat_cno *)obj);
		udat_obj_drop(obj);
	}
}

/* Take a slot of any type, from IA close: its memory is unmapped, its handle dead. */
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
