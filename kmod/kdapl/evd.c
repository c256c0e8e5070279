// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* Event dispatchers of kernel consumers. */
#include <linux/slab.h>

#include "core/dat.h"
#include "core/event/evd.h"
#include "core/event/ring.h"
#include "kdapl/kdapl.h"

#define EVD_FLAGS_ALL	(DAT_EVD_DEFAULT_FLAG | DAT_EVD_SOFTWARE_FLAG)
/* Streams with which all upcalls of an EVD run in process context and may sleep. */
#define EVD_PROCESS	(DAT_EVD_CR_FLAG | DAT_EVD_CONNECTION_FLAG | DAT_EVD_ASYNC_FLAG)

#define BAD_EVD		KDAT_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1)
#define EVD_EMPTY	KDAT_ERR(DAT_QUEUE_EMPTY, DAT_NO_SUBTYPE)
#define EVD_IN_USE	KDAT_ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_IN_USE)

/*
 * Creates an EVD.  @upcall may be NULL.  The caller gets a reference.  Context: may sleep; ia->sem
 * is held and the device is present.
 */
struct dat_evd *kdat_evd_make(struct dat_ia *ia, u32 qlen, DAT_UPCALL_POLICY policy,
			      const DAT_UPCALL_OBJECT *upcall, DAT_EVD_FLAGS flags)
{
	struct kdat_evd *kevd = kzalloc(sizeof(*kevd), GFP_KERNEL);
	struct dat_evd *evd;

	lockdep_assert_held(&ia->sem);
	if (!kevd)
		return ERR_PTR(-ENOMEM);
	kevd->flags = flags;
	kevd->upcall.policy = policy;
	if (upcall)
		kevd->upcall.object = *upcall;
	kdat_upcall_setup(&kevd->upcall, flags & EVD_PROCESS);
	evd = dat_evd_create(ia, flags, qlen, (uintptr_t)kevd);
	if (IS_ERR(evd)) {
		kfree(kevd);
		return evd;
	}
	/* No lock is needed, because no event can reach the EVD yet. */
	kevd->upcall.evd = evd;
	evd->spread = policy == DAT_UPCALL_MANY;
	return evd;
}

static bool policy_known(DAT_UPCALL_POLICY policy)
{
	return policy == DAT_UPCALL_DISABLE || policy == DAT_UPCALL_SINGLE_INSTANCE ||
	       policy == DAT_UPCALL_NORIFY || policy == DAT_UPCALL_MANY;
}

static DAT_RETURN kevd_check(DAT_COUNT qlen, DAT_UPCALL_POLICY policy,
			     const DAT_UPCALL_OBJECT *upcall, DAT_EVD_FLAGS flags,
			     const DAT_EVD_HANDLE *out)
{
	if (qlen <= 0)
		return KDAT_ARG(2);
	if (qlen > DAT_MAX_EVD_QLEN)
		return KDAT_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEVD);
	if (!policy_known(policy))
		return KDAT_ARG(3);
	if (policy != DAT_UPCALL_DISABLE && (!upcall || !upcall->upcall_func))
		return KDAT_ARG(4);
	if (!flags || flags & ~EVD_FLAGS_ALL)
		return KDAT_ARG(5);
	return out ? DAT_SUCCESS : KDAT_ARG(6);
}

DAT_RETURN kdat_evd_kcreate(DAT_IA_HANDLE ia_handle, DAT_COUNT evd_min_qlen,
			    DAT_UPCALL_POLICY upcall_policy, const DAT_UPCALL_OBJECT *upcall,
			    DAT_EVD_FLAGS evd_flags, DAT_EVD_HANDLE *evd_handle)
{
	struct kdat_ia *kia;
	struct dat_evd *evd;
	DAT_RETURN rc;

	rc = kevd_check(evd_min_qlen, upcall_policy, upcall, evd_flags, evd_handle);
	if (rc != DAT_SUCCESS)
		return rc;
	kia = kdat_ia_get(ia_handle);
	if (IS_ERR(kia))
		return kdat_lookup_error(PTR_ERR(kia), KDAT_BAD(IA));
	evd = kdat_evd_make(kia->ia, evd_min_qlen, upcall_policy, upcall, evd_flags);
	if (IS_ERR(evd)) {
		rc = kdat_error(PTR_ERR(evd));
	} else {
		*evd_handle = kdat_handle(&evd->obj);
		if (evd_flags & DAT_EVD_ASYNC_FLAG)
			dat_ia_set_async_evd(kia->ia, evd);
		dat_obj_put(&evd->obj);
	}
	kdat_ia_done(kia);
	return rc;
}
EXPORT_SYMBOL_DAT(kdat_evd_kcreate);

/*
 * Calls @fn, which must not sleep, with evd->lock held, and returns the result of @fn.  Fails with
 * BAD_EVD if there is no such EVD or the EVD was shut down, or with KDAT_CONTEXT in a context that
 * cannot take evd->lock.
 */
static __always_inline DAT_RETURN evd_call(DAT_EVD_HANDLE handle,
					   DAT_RETURN (*fn)(struct dat_evd *evd, void *arg),
					   void *arg)
{
	DAT_RETURN rc = BAD_EVD;
	struct dat_evd *evd;
	struct dat_obj *obj;
	bool bh;

	if (kdat_cant_lock())
		return KDAT_CONTEXT;
	bh = kdat_bh_begin();
	obj = kdat_find(handle, DAT_HANDLE_TYPE_EVD);
	if (obj) {
		evd = to_dat_evd(obj);
		spin_lock(&evd->lock);
		if (!evd->dead)
			rc = fn(evd, arg);
		spin_unlock(&evd->lock);
	}
	kdat_bh_end(bh);
	return rc;
}

static DAT_RETURN evd_teardown(DAT_EVD_HANDLE handle)
{
	struct dat_evd *evd;
	struct dat_ia *ia;

	/*
	 * kdat_get_gone() fails in BH context.  So a caller inside an upcall in softirq gets an
	 * error, instead of waiting for that upcall forever.
	 */
	evd = kdat_get_gone(handle, DAT_HANDLE_TYPE_EVD);
	if (IS_ERR(evd))
		return kdat_lookup_error(PTR_ERR(evd), BAD_EVD);
	ia = evd->obj.ia;
	/* Release ia->sem before the wait, because a running upcall may wait for ia->sem. */
	kdat_ia_release(ia);
	if (kdat_upcall_is_mine(evd)) {
		dat_obj_put(&evd->obj);
		return KDAT_ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_IN_USE);
	}
	kdat_upcall_end(evd);
	dat_obj_put(&evd->obj);
	return DAT_SUCCESS;
}

struct evd_modification {
	DAT_UPCALL_POLICY	policy;
	const DAT_UPCALL_OBJECT	*upcall;
	DAT_UPCALL_FLAG		flag;
};

static DAT_RETURN evd_modify(struct dat_evd *evd, void *arg)
{
	const struct evd_modification *m = arg;

	return kdat_upcall_modify(evd, m->policy, m->upcall, m->flag == DAT_UPCALL_INVOC_ANY) ?
	       DAT_SUCCESS : KDAT_ARG(3);
}

DAT_RETURN kdat_evd_modify_upcall(DAT_EVD_HANDLE evd_handle, DAT_UPCALL_POLICY upcall_policy,
				  const DAT_UPCALL_OBJECT *upcall, DAT_UPCALL_FLAG flag)
{
	struct evd_modification m = { upcall_policy, upcall, flag };

	if (upcall_policy != DAT_UPCALL_TEARDOWN && !policy_known(upcall_policy))
		return KDAT_ARG(2);
	if (flag != DAT_UPCALL_INVOC_NEW && flag != DAT_UPCALL_INVOC_ANY)
		return KDAT_ARG(4);
	if (upcall_policy == DAT_UPCALL_TEARDOWN)
		return evd_teardown(evd_handle);
	return evd_call(evd_handle, evd_modify, &m);
}
EXPORT_SYMBOL_DAT(kdat_evd_modify_upcall);

static DAT_RETURN evd_query(struct dat_evd *evd, void *arg)
{
	const struct kdat_evd *kevd = kdat_evd_of(evd);
	DAT_EVD_PARAM *param = arg;

	param->ia_handle = kdat_ia_handle(evd->obj.ia);
	param->evd_qlen = READ_ONCE(evd->ring.entries);
	param->upcall_policy = kevd->upcall.policy;
	param->upcall = kevd->upcall.object;
	param->evd_flags = kevd->flags;
	return DAT_SUCCESS;
}

DAT_RETURN kdat_evd_query(DAT_EVD_HANDLE evd_handle, DAT_EVD_PARAM_MASK evd_param_mask,
			  DAT_EVD_PARAM *evd_param)
{
	if (evd_param_mask & ~DAT_EVD_FIELD_ALL)
		return KDAT_ARG(2);
	return evd_param ? evd_call(evd_handle, evd_query, evd_param) : KDAT_ARG(3);
}
EXPORT_SYMBOL_DAT(kdat_evd_query);

DAT_RETURN kdat_evd_resize(DAT_EVD_HANDLE evd_handle, DAT_COUNT evd_min_qlen)
{
	struct dat_step step = { .what = DAT_RING_AT_ONCE };
	struct dat_evd *evd;
	int ret;

	if (evd_min_qlen <= 0)
		return KDAT_ARG(2);
	if (evd_min_qlen > DAT_MAX_EVD_QLEN)
		return KDAT_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEVD);
	evd = kdat_get_gone(evd_handle, DAT_HANDLE_TYPE_EVD);
	if (IS_ERR(evd))
		return kdat_lookup_error(PTR_ERR(evd), BAD_EVD);
	ret = dat_obj_dying(&evd->obj) ? -ENOENT : dat_evd_resize(evd, evd_min_qlen, &step);
	kdat_done(&evd->obj);
	if (ret == -ENOENT)
		return BAD_EVD;
	return ret ? kdat_resize_error(ret) : DAT_SUCCESS;
}
EXPORT_SYMBOL_DAT(kdat_evd_resize);

static DAT_RETURN evd_post(struct dat_evd *evd, void *arg)
{
	if (!(evd->streams & DAT_STREAM_SOFTWARE))
		return BAD_EVD;
	return dat_evd_offer_locked(evd, arg) ? DAT_SUCCESS :
						KDAT_ERR(DAT_QUEUE_FULL, DAT_NO_SUBTYPE);
}

DAT_RETURN kdat_evd_post_se(DAT_EVD_HANDLE evd_handle, const DAT_EVENT *event)
{
	struct dat_eqe eqe = { .type = DAT_EV_SOFTWARE };

	if (!event || event->event_number != DAT_SOFTWARE_EVENT)
		return KDAT_ARG(2);
	eqe.cookie = (uintptr_t)event->event_data.software_event_data.pointer;
	return evd_call(evd_handle, evd_post, &eqe);
}
EXPORT_SYMBOL_DAT(kdat_evd_post_se);

struct evd_taken {
	struct dat_evd	*evd;
	struct dat_eqe	eqe;
};

static DAT_RETURN evd_dequeue(struct dat_evd *evd, void *arg)
{
	struct evd_taken *taken = arg;

	taken->evd = evd;
	if (kdat_evring_pop(&evd->ring, &taken->eqe))
		return DAT_SUCCESS;
	kdat_upcall_drained(evd);
	return EVD_EMPTY;
}

DAT_RETURN kdat_evd_dequeue(DAT_EVD_HANDLE evd_handle, DAT_EVENT *event)
{
	struct evd_taken taken;
	DAT_RETURN rc;

	if (!event)
		return KDAT_ARG(2);
	/* Under RCU, the EVD stays allocated for kdat_event(), even if another thread frees it. */
	rcu_read_lock();
	rc = evd_call(evd_handle, evd_dequeue, &taken);
	if (rc == EVD_EMPTY && dat_solicited_look(taken.evd))
		rc = evd_call(evd_handle, evd_dequeue, &taken);
	if (rc == DAT_SUCCESS)
		kdat_event(taken.evd, &taken.eqe, event);
	rcu_read_unlock();
	return rc;
}
EXPORT_SYMBOL_DAT(kdat_evd_dequeue);

/*
 * Frees the connection requests whose events are still queued.  No consumer can get the handles of
 * these requests any more, and a graceful close of the IA fails while a request exists.  Context:
 * may sleep; ia->sem held.
 */
static void evd_drop_requests(struct dat_evd *evd)
{
	struct dat_ia *ia = evd->obj.ia;
	struct dat_eqe eqe;
	bool got;

	lockdep_assert_held(&ia->sem);
	do {
		spin_lock_bh(&evd->lock);
		got = kdat_evring_pop(&evd->ring, &eqe);
		spin_unlock_bh(&evd->lock);
		if (got && eqe.type == DAT_EV_CR)
			kdat_cr_drop(ia, eqe.len);
	} while (got);
}

/*
 * Ends the upcalls of an EVD that no call can use any more, and then removes the EVD from ia->objs.
 *
 * kdat_ia_close() waits for the upcalls of the EVDs in ia->objs, and fails if the caller runs
 * inside such an upcall.  So the EVD stays in ia->objs until the upcalls of the EVD have ended.
 * Context: may sleep; ia->sem must not be held.
 */
static void evd_end(struct dat_evd *evd)
{
	struct dat_ia *ia = evd->obj.ia;

	kdat_upcall_end(evd);
	dat_ia_lock(ia);
	evd_drop_requests(evd);
	/* A concurrent kdat_ia_close() may already have removed the EVD. */
	if (xa_load(&ia->objs, evd->obj.id) == &evd->obj)
		dat_obj_abort(&evd->obj);
	dat_ia_unlock(ia);
}

DAT_RETURN kdat_evd_free(DAT_EVD_HANDLE evd_handle)
{
	struct dat_evd *evd = kdat_get_gone(evd_handle, DAT_HANDLE_TYPE_EVD);
	struct dat_ia *ia;
	int ret;

	if (IS_ERR(evd))
		return kdat_lookup_error(PTR_ERR(evd), BAD_EVD);
	ia = evd->obj.ia;
	ret = kdat_upcall_is_mine(evd) ? -EBUSY : dat_obj_begin_free(&evd->obj);
	if (!ret)
		dat_evd_kill(evd);
	/* Release ia->sem before evd_end(), because a running upcall may wait for ia->sem. */
	kdat_ia_release(ia);
	if (!ret)
		evd_end(evd);
	dat_obj_put(&evd->obj);
	if (ret == -EBUSY)
		return EVD_IN_USE;
	return ret ? kdat_lookup_error(ret, BAD_EVD) : DAT_SUCCESS;
}
EXPORT_SYMBOL_DAT(kdat_evd_free);
