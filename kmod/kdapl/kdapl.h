/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) The dat authors */
/*
 * The kDAPL face, which serves kernel modules: handles, the private data that this face adds to
 * objects, and declarations that the files of this folder share.  The object layer in core/ does
 * the work on objects.
 *
 * A handle is a number:
 *
 *	bits 56 to 63	kind
 *	bits 32 to 55	index of the IA in kdat_ias
 *	bits 23 to 31	generation of the id
 *	bits  0 to 22	id of the object; in the handle of an IA, bits 0 to 31 are 0
 *
 * The handle of an object is also the object's user_data, so that an event can name an object by
 * the handle.  A handle is valid if the object with this IA index and id has the handle as
 * user_data.
 *
 * kdat_handle_cache contains EPs, EVDs and SRQs, because posts and dequeues look up these objects.
 * The cache has two direct-mapped tables for all IAs: one for EPs, one for EVDs and SRQs.  If two
 * objects have the same slot, the slot contains the object that was published last, and is empty
 * after that object was unpublished.  A lookup that misses the cache finds the IA by the index, and
 * then the object by the id.
 *
 * Two ways to an object
 * =====================
 *
 * A call that may sleep uses kdat_get() and kdat_done().  In between, the call holds ia->sem and
 * references to the object and to the IA, and the device of the IA is present.
 *
 * A call in BH context uses kdat_bh_begin() or rcu_read_lock(), then kdat_find(), then takes the
 * object's lock and checks whether the object was shut down (ep->dead, evd->dead, !srq->live).  If
 * the object was not shut down, the object and its parents stay valid while the lock is held.
 * After the unlock, the memory of the object stays allocated until kdat_bh_end() or
 * rcu_read_unlock(), but memory that the object points to may be freed.  The call takes no
 * reference, because dropping the last reference may sleep.
 *
 * The removal of a device shuts all objects down except EVDs.  The objects stay allocated, but most
 * calls on such an object fail.  The call that frees the object uses kdat_get_gone() and succeeds.
 * A few other calls that do not need the device also succeed, for example kdat_pz_query().
 *
 * kdat_ia_close() removes the IA from kdat_ias, then waits for ia->sem and for RCU readers.  After
 * that, only a call that has released ia->sem before uses the IA.  Such a call holds references.
 * kdat_evd_free() and kdat_cr_handoff() take ia->sem again, and check that the object is still in
 * ia->objs.  kdat_lmr_of_user() is counted in ia->pinning while it uses the IA.
 */
#ifndef _DAT_KDAT_H
#define _DAT_KDAT_H

#include <linux/irqflags.h>
#include <linux/preempt.h>

#include "compat.h"
#include "core/dat.h"
#include "core/ep/conn.h"
#include "core/ep/ep.h"
#include "core/ep/psp.h"
#include "core/ep/queue.h"
#include "core/ep/ring.h"
#include "core/ep/srq.h"
#include "core/event/evd.h"
#include "core/event/ring.h"
#include "core/face.h"
#include "core/mem/lmr.h"
#include "kdapl/internal.h"
#include "kdapl/upcall.h"

#define KDAT_ERR(type, subtype)	\
	((DAT_RETURN)(DAT_CLASS_ERROR | (u32)(type) | (u32)(subtype)))
#define KDAT_ARG(n)		KDAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG##n)
#define KDAT_BAD(what)		KDAT_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_##what)

/* Supported qualities of service other than best effort. */
#define KDAT_QOS_ALL	(DAT_QOS_HIGH_THROUGHPUT | DAT_QOS_LOW_LATENCY | DAT_QOS_ECONOMY | \
			 DAT_QOS_PREMIUM)

/*
 * Returns the most bytes of private data of a connect, an accept or a reject, for which DAT has one
 * limit.
 */
static inline DAT_COUNT kdat_pd_max(const struct dat_ia *ia)
{
	const struct dat_limits *limits = &ia->dev->limits;

	return min3(limits->pd_request, limits->pd_reply, limits->pd_reject);
}

struct kdat_ia {
	struct dat_ia		*ia;		/* IA of the core, with a reference */
	DAT_HANDLE		handle;
	u64			context;	/* set by dat_set_consumer_context() */
	struct module		*owner;		/* consumer's module; NULL: built-in code */
	/* Address that dat_dev_addr() chose at the open; family 0: the adapter had no address. */
	struct sockaddr_storage	addr;
};

struct kdat_evd {
	DAT_EVD_FLAGS		flags;
	struct dat_upcall	upcall;
};

/**
 * struct kdat_ep - private data of an EP; ep->lock protects all members except @modify
 * @attr: attributes that the consumer requested, with the queue sizes of the allocated rings
 * @stage: kDAPL state while the core's state of the EP is UNCONNECTED: DAT_EP_STATE_RESERVED,
 *	PASSIVE_CONNECTION_PENDING, TENTATIVE_CONNECTION_PENDING or UNCONNECTED, which is 0
 * @target: address and port of the last connect, for dat_ep_dup_connect(); cleared by an accept
 * @local: copy of the local address that dat_ep_query() has returned
 * @remote: copy of the remote address that dat_ep_query() has returned
 * @modify: mutex that serialises dat_ep_modify() calls; taken before ep->lock
 */
struct kdat_ep {
	DAT_EP_ATTR		attr;
	DAT_EP_STATE		stage;
	struct sockaddr_storage	target;
	struct sockaddr_storage	local;
	struct sockaddr_storage	remote;
	struct mutex		modify;		/* serialises dat_ep_modify() */
};

/* The memory of an LMR as the consumer described it, for dat_lmr_query(). */
struct kdat_lmr {
	/* Protects all members below; also held by dat_lmr_fmr() while it binds the LMR. */
	struct mutex		lock;
	DAT_MEM_TYPE		mem_type;
	DAT_REGION_DESCRIPTION	region;
	DAT_VLEN		length;
};

struct kdat_sp {
	DAT_HANDLE_TYPE		kind;		/* PSP, RSP or CSP */
	struct dat_ep		*ep;		/* EP reserved by an RSP; see kdat_sp_take() */
	bool			makes_ep;	/* flag: kDAPL makes the EP of each request */
	DAT_COMM		comm;		/* kind of connection that a CSP accepts */
	struct sockaddr_storage	addr;		/* listening address of a CSP */
	struct rcu_head		rcu;		/* delays the free, for kdat_cr_take_ep() */
};

#define KDAT_PRIV(name, type)							\
static inline struct kdat_##name *kdat_##name##_of(const struct dat_##type *obj) \
{										\
	return obj->obj.priv;							\
}

KDAT_PRIV(evd, evd)
KDAT_PRIV(ep, ep)
KDAT_PRIV(lmr, lmr)
KDAT_PRIV(sp, psp)

/*
 * Takes the EP out of an RSP.  The first caller gets the EP and must call dat_obj_unuse() later.
 * All other callers get NULL.
 */
static inline struct dat_ep *kdat_sp_take(struct kdat_sp *sp)
{
	return xchg(&sp->ep, NULL);
}

static inline DAT_HANDLE kdat_handle(const struct dat_obj *obj)
{
	return (DAT_HANDLE)(uintptr_t)obj->user_data;
}

static inline DAT_HANDLE kdat_ia_handle(const struct dat_ia *ia)
{
	return (DAT_HANDLE)(uintptr_t)ia->user_data;
}

/* Returns the handle of an object, or DAT_HANDLE_NULL if the pointer @p is NULL. */
#define KDAT_HANDLE(p) ({							\
	typeof(p) p_ = (p);							\
	p_ ? kdat_handle(&p_->obj) : DAT_HANDLE_NULL;				\
})

#define KDAT_ID_BITS		DAT_ID_BITS
#define KDAT_INDEX_SHIFT	32
#define KDAT_KIND_SHIFT		56
/*
 * Bit 62 of every handle.  No address with bit 62 and without bit 63 is mapped, so a dereference of
 * a handle faults.
 */
#define KDAT_KIND_BASE		0x40U

#define KDAT_CACHE_BITS		10

extern struct dat_obj __rcu *kdat_handle_cache[2][1 << KDAT_CACHE_BITS];

static inline u64 kdat_to_u64(DAT_HANDLE handle)
{
	return (uintptr_t)handle;
}

/* Returns the kind that an unchecked handle contains. */
static inline DAT_HANDLE_TYPE kdat_kind(DAT_HANDLE handle)
{
	return (u32)(kdat_to_u64(handle) >> KDAT_KIND_SHIFT) ^ KDAT_KIND_BASE;
}

/*
 * Returns the cache slot of a handle.  Consecutive ids of an IA have adjacent slots, and the slots
 * of the next IA begin 64 slots further.
 */
static inline struct dat_obj __rcu **kdat_cache_slot(u64 handle, bool ep)
{
	u32 at = (u32)handle + (u32)(handle >> (KDAT_INDEX_SHIFT - 6));

	return &kdat_handle_cache[!ep][at & ((1 << KDAT_CACHE_BITS) - 1)];
}

/*
 * Returns true if the caller cannot sleep.  A call with "Context: process" must then fail.  The
 * check does not detect disabled preemption alone, for example because of a spinlock that was taken
 * without disabling softirqs or interrupts.
 */
static inline bool kdat_cant_sleep(void)
{
	return in_interrupt() || irqs_disabled();
}

/* Returns true if the caller cannot take spinlocks.  A call with "Context: BH" must then fail. */
static inline bool kdat_cant_lock(void)
{
	return in_hardirq() || irqs_disabled();
}

/*
 * Disables softirqs for a call in BH context.  That also begins an RCU read-side critical section.
 * Returns the argument for kdat_bh_end().
 */
static __always_inline bool kdat_bh_begin(void)
{
	bool enabled = !in_softirq();

	if (enabled)
		local_bh_disable();
	return enabled;
}

static __always_inline void kdat_bh_end(bool enabled)
{
	if (enabled)
		local_bh_enable();
}

#define KDAT_CONTEXT	KDAT_ERR(DAT_INVALID_STATE, DAT_NO_SUBTYPE)

/* error.c */
DAT_RETURN kdat_error(int err);
DAT_RETURN kdat_resize_error(int err);
DAT_RETURN kdat_mem_error(int err);
DAT_RETURN kdat_segment_error(int err, bool write);
DAT_RETURN kdat_listen_error(int err, DAT_RETURN in_use);
DAT_RETURN kdat_lookup_error(int err, DAT_RETURN bad);
DAT_RETURN kdat_state_error(DAT_EP_STATE state);

/*
 * Returns the return code for an object that was shut down.  If the whole IA is shut down, returns
 * kdat_error(-ENODEV); otherwise returns @bad.  A removal shuts down the EPs before ia->dead is
 * set.  The caller is in an RCU read-side section.
 */
static inline DAT_RETURN kdat_dead(const struct dat_obj *obj, DAT_RETURN bad)
{
	return READ_ONCE(obj->ia->closing) ? kdat_error(-ENODEV) : bad;
}

/* handle.c */
int kdat_ia_reserve(struct kdat_ia *kia);
void kdat_ia_publish(struct kdat_ia *kia);
void kdat_ia_unreserve(struct kdat_ia *kia);
struct kdat_ia *kdat_ia_find(DAT_HANDLE handle);
struct kdat_ia *kdat_ia_take(DAT_HANDLE handle);
DAT_HANDLE kdat_ia_of_module(const struct module *owner);
struct dat_obj *kdat_find_any(DAT_HANDLE handle);
struct kdat_ia *kdat_ia_get(DAT_HANDLE handle);
void kdat_ia_release(struct dat_ia *ia);
void kdat_ia_done(struct kdat_ia *kia);
void *kdat_get_in(struct dat_ia *ia, DAT_HANDLE handle, DAT_HANDLE_TYPE kind);
void *kdat_get(DAT_HANDLE handle, DAT_HANDLE_TYPE kind);
void *kdat_get_gone(DAT_HANDLE handle, DAT_HANDLE_TYPE kind);
void kdat_done(struct dat_obj *obj);
DAT_RETURN kdat_free(DAT_HANDLE handle, DAT_HANDLE_TYPE kind, DAT_RETURN bad,
		     DAT_RETURN busy);
extern const struct dat_face kdat_face;

/* ring.c */
extern const struct dat_sink kdat_sink;
extern const struct dat_queue_ops kdat_sq_ops, kdat_rq_ops;

/* event.c */
void kdat_event(struct dat_evd *evd, const struct dat_eqe *eqe, DAT_EVENT *event);

/*
 * Looks up an object of any kind except IA.  The caller gets no reference; the top of this file
 * says how the caller may use the object.  Context: under rcu_read_lock(), or softirqs disabled.
 */
static __always_inline struct dat_obj *kdat_find(DAT_HANDLE handle, DAT_HANDLE_TYPE kind)
{
	u64 h = kdat_to_u64(handle);
	struct dat_obj *obj;

	if (kdat_kind(handle) != kind)
		return NULL;
	obj = rcu_dereference_check(*kdat_cache_slot(h, kind == DAT_HANDLE_TYPE_EP),
				    rcu_read_lock_bh_held());
	if (likely(obj && obj->user_data == h))
		return obj;
	return kdat_find_any(handle);
}

extern const DAT_DTOS kdat_dto_ops[DAT_KOP_LAST];

/* Converts the event of a completed DTO.  Sets all members of *@dto. */
static __always_inline void kdat_event_dto(const struct dat_eqe *eqe,
					   DAT_DTO_COMPLETION_EVENT_DATA *dto)
{
	u32 op = eqe->op, status = eqe->status;

	/*
	 * Report a local error for a failed FMR bind or invalidation, whatever the status of the
	 * transport, because the cause is always on this host.
	 */
	if (unlikely(op >= DAT_OP_LAST) && op != DAT_KOP_READ_TO_RMR &&
	    status != DAT_ST_SUCCESS && status != DAT_ST_FLUSHED)
		status = DAT_DTO_ERR_LOCAL_MM_ERROR;
	dto->status = status;
	dto->ep_handle = (DAT_HANDLE)(uintptr_t)eqe->owner;
	dto->user_cookie.as_64 = eqe->cookie;
	dto->transfered_length = eqe->len;
	dto->operation = kdat_dto_ops[op];
	/*
	 * eqe->imm is the immediate data of a received message, the key that it has invalidated, or
	 * 0.
	 */
	dto->rmr_context = eqe->imm;
	if (unlikely(eqe->flags & DAT_EQE_IMM))
		dto->operation = eqe->flags & DAT_EQE_WRITE ? DAT_LINUX_DTO_RDMA_WRITE_IMMED :
							      DAT_LINUX_DTO_RECEIVE_IMMED;
	else if (unlikely(eqe->imm))
		dto->operation = DAT_DTO_RECEIVE_WITH_INVALIDATE;
}

/* ring.c */
bool kdat_evring_pop(struct dat_evring *r, struct dat_eqe *eqe);

/*
 * Returns the number of queued events.  No process maps the ring, so the indices can be trusted.
 * evd->lock is held.
 */
static inline u32 kdat_evring_count(const struct dat_evring *r)
{
	return r->tail - r->head;
}

void *kdat_ring_pd(const struct dat_epring *r, u32 len);

/* ia.c */
int kdat_init(void);
void kdat_exit(void);
DAT_IA_ADDRESS_PTR kdat_ia_addr(struct kdat_ia *kia);

/* evd.c */
struct dat_evd *kdat_evd_make(struct dat_ia *ia, u32 qlen, DAT_UPCALL_POLICY policy,
			      const DAT_UPCALL_OBJECT *upcall, DAT_EVD_FLAGS flags);

/*
 * Calls @fn, which must not sleep, with ep->lock held, and returns the result of @fn.  Context:
 * any.  Fails with DAT_INVALID_STATE in a context that cannot take ep->lock, with
 * DAT_INVALID_HANDLE if there is no such EP or the EP was shut down, or with the error for -ENODEV
 * if the device is gone.
 */
static __always_inline DAT_RETURN kdat_ep_call(DAT_EP_HANDLE handle,
					       DAT_RETURN (*fn)(struct dat_ep *ep, void *arg),
					       void *arg)
{
	DAT_RETURN rc = KDAT_BAD(EP);
	struct dat_obj *obj;
	struct dat_ep *ep;
	bool bh;

	if (kdat_cant_lock())
		return KDAT_CONTEXT;
	bh = kdat_bh_begin();
	obj = kdat_find(handle, DAT_HANDLE_TYPE_EP);
	if (obj) {
		ep = to_dat_ep(obj);
		spin_lock(&ep->lock);
		rc = unlikely(ep->dead) ? kdat_dead(obj, rc) : fn(ep, arg);
		spin_unlock(&ep->lock);
	}
	kdat_bh_end(bh);
	return rc;
}

/*
 * Returns the length of the SRQ that queries report.  The ring may be longer than the limit of the
 * adapter, because the length of a ring is a power of two, so the result is at most that limit.
 */
static inline u32 kdat_srq_length(const struct dat_srq *srq)
{
	return min(READ_ONCE(srq->q.entries), srq->obj.ia->dev->limits.max_srq_dto);
}

/* region.c */
DAT_MEM_TYPE kdat_mem_types(void);

/* attr.c */
void kdat_attr_default(const struct dat_ia *ia, DAT_EP_ATTR *attr);
struct dat_ep_attr kdat_attr_convert(const DAT_EP_ATTR *attr, bool srq);
DAT_RETURN kdat_attr_check(const struct dat_ia *ia, const DAT_EP_ATTR *attr, DAT_RETURN bad);
void kdat_attr_complete(const struct dat_ia *ia, DAT_EP_ATTR *attr);
bool kdat_comm_good(const DAT_COMM *comm);
void kdat_attr_take(DAT_EP_ATTR *to, const DAT_EP_ATTR *from, DAT_EP_PARAM_MASK mask);

/* ep.c */
DAT_EP_STATE kdat_ep_state(const struct dat_ep *ep);
DAT_EP_STATE kdat_ep_reserve(struct dat_ep *ep, DAT_EP_STATE from, DAT_EP_STATE to);
struct dat_ep *kdat_ep_tentative(struct dat_ia *ia);

/* cm.c */
DAT_RETURN kdat_addr(struct sockaddr_storage *to, const struct sockaddr *from);

/* cr.c */
void kdat_cr_take_ep(struct dat_cr *cr);
void kdat_cr_unreserve(struct dat_ep *ep);
void kdat_cr_drop(struct dat_ia *ia, u32 id);

/* post.c */
/* Fills in ep->wr, except the segments.  @flags: DAT_COMPLETION_* bits.  ep->lock is held. */
static __always_inline void kdat_fill_wr(struct dat_ep *ep, u8 op, u64 cookie, u32 flags,
					 u64 raddr, u32 rkey)
{
	struct dat_wr *wr = &ep->wr;

	lockdep_assert_held(&ep->lock);
	wr->op = op;
	wr->flags = dat_flags_with_op(op, flags & DAT_SQE_FLAGS_ALL);
	wr->num_sge = 0;
	wr->with_imm = false;
	wr->rkey = rkey;
	wr->cookie = cookie;
	wr->raddr = raddr;
}

DAT_RETURN kdat_post_wr(struct dat_ep *ep, u64 limit);
bool kdat_request_flags_bad(const struct dat_ep *ep, u32 flags, u32 allowed);

#endif /* _DAT_KDAT_H */
