/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The kDAPL face: handles, what is remembered of objects beyond the object layer, and
 * what its files share.  What happens to objects happens in the object layer.
 *
 * A handle is a number:
 *
 *	bits 56 to 63	kind
 *	bits 32 to 55	index of the IA in kdat_ias
 *	bits 23 to 31	generation of the id
 *	bits  0 to 22	id of the object; of an IA all bits from 0 to 31 are 0
 *
 * It is the user_data of its object, so events name their object by it.  It is good if the
 * object that is found by index and id has it as user_data.
 *
 * What is named by calls that move data is also in kdat_near, two tables for all IAs, one of
 * EPs and one of the rest, in which an object has one place; where two have the same the
 * younger has it.  Who is not found there is looked up as above.
 *
 * Two ways to an object
 * =====================
 *
 * Calls that may sleep: kdat_get(), ..., kdat_done(): a reference, and the IA locked live.
 *
 * Calls in BH context: kdat_bh_begin() or rcu_read_lock(), kdat_find(), the object's lock,
 * and a look whether it was shut down (ep->dead, evd->dead, !srq->live).  As long as that
 * lock is held and it was not, it is published, and neither it nor what it stands on goes.
 * Afterwards its memory stays until kdat_bh_end() or rcu_read_unlock(), but not what the
 * memory points to.  There are no references here because the last put may sleep.
 *
 * A device that goes shuts down all but the EVDs; the objects stay and can be freed, and
 * nothing else, for which there is kdat_get_gone().
 *
 * A close takes the IA out of kdat_ias, and waits for RCU and for ia->sem: then nobody is
 * in a call any more.
 */
#ifndef _DAT_KDAT_H
#define _DAT_KDAT_H

#include <linux/irqflags.h>
#include <linux/preempt.h>

#include "compat.h"
#include "core/dat.h"
#include "kdapl/internal.h"
#include "kdapl/upcall.h"

#define KDAT_ERR(type, subtype)	\
	((DAT_RETURN)(DAT_CLASS_ERROR | (u32)(type) | (u32)(subtype)))
#define KDAT_ARG(n)		KDAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG##n)
#define KDAT_BAD(what)		KDAT_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_##what)

/* Qualities of service beside best effort. */
#define KDAT_QOS_ALL	(DAT_QOS_HIGH_THROUGHPUT | DAT_QOS_LOW_LATENCY | DAT_QOS_ECONOMY | \
			 DAT_QOS_PREMIUM)

#define KDAT_PD_MAX		DAT_MAX_PD_REQUEST

/**
 * struct kdat_ia - an IA that a module has opened
 * @ia: reference held
 * @handle: of it
 * @context: the consumer's
 * @owner: module that has opened it; NULL if it is built in
 * @addr: of the port, as it was when it was opened; constant
 */
struct kdat_ia {
	struct dat_ia		*ia;
	DAT_HANDLE		handle;
	u64			context;
	struct module		*owner;
	struct sockaddr_storage	addr;
};

/**
 * struct kdat_evd - of an EVD
 * @flags: DAT_EVD_FLAGS
 * @upcall: what it calls
 */
struct kdat_evd {
	DAT_EVD_FLAGS		flags;
	struct dat_upcall	upcall;
};

/**
 * struct kdat_ep - of an EP; under ep->lock
 * @attr: as asked for, with the sizes of the rings
 * @stage: RESERVED or PASSIVE_CONNECTION_PENDING while the object is UNCONNECTED, or 0
 * @target: that it was connected to last, with the port; for dat_ep_dup_connect()
 * @local: for dat_ep_query()
 * @remote: for dat_ep_query()
 * @modify: one modification at a time; outer to ep->lock
 */
struct kdat_ep {
	DAT_EP_ATTR		attr;
	DAT_EP_STATE		stage;
	struct sockaddr_storage	target;
	struct sockaddr_storage	local;
	struct sockaddr_storage	remote;
	struct mutex		modify;		/* one at a time */
};

/**
 * struct kdat_lmr - of an LMR: what it was made of, for dat_lmr_query()
 * @lock: everything below
 * @mem_type: kind of memory
 * @region: the memory
 * @length: bytes
 */
struct kdat_lmr {
	struct mutex		lock;		/* of all that follows */
	DAT_MEM_TYPE		mem_type;
	DAT_REGION_DESCRIPTION	region;
	DAT_VLEN		length;
};

/**
 * struct kdat_sp - of a service point
 * @kind: PSP, RSP or CSP
 * @ep: RSP: use held; xchg()ed to NULL once the request came
 * @comm: CSP
 * @addr: CSP
 * @rcu: its requests are looked at under RCU
 */
struct kdat_sp {
	DAT_HANDLE_TYPE		kind;
	struct dat_ep		*ep;
	DAT_COMM		comm;
	struct sockaddr_storage	addr;
	struct rcu_head		rcu;
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

/* The EP of an RSP, to the first who asks, or NULL. */
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

/* Of an object that may be NULL. */
#define KDAT_HANDLE(p) ({							\
	typeof(p) p_ = (p);							\
	p_ ? kdat_handle(&p_->obj) : DAT_HANDLE_NULL;				\
})

#define KDAT_ID_BITS		23
#define KDAT_INDEX_SHIFT	32
#define KDAT_KIND_SHIFT		56
/* Makes it an address that no memory has, should somebody take it for one. */
#define KDAT_KIND_BASE		0x40U

#define KDAT_NEAR_BITS		10

extern struct dat_obj __rcu *kdat_near[2][1 << KDAT_NEAR_BITS];

static inline u64 kdat_to_u64(DAT_HANDLE handle)
{
	return (uintptr_t)handle;
}

/* The kind that a handle says it is of. */
static inline DAT_HANDLE_TYPE kdat_kind(DAT_HANDLE handle)
{
	return (u32)(kdat_to_u64(handle) >> KDAT_KIND_SHIFT) ^ KDAT_KIND_BASE;
}

/* Objects made one after the other are neighbours; those of the next IA are elsewhere. */
static inline struct dat_obj __rcu **kdat_near_of(u64 handle, bool ep)
{
	u32 at = (u32)handle + (u32)(handle >> (KDAT_INDEX_SHIFT - 6));

	return &kdat_near[!ep][at & ((1 << KDAT_NEAR_BITS) - 1)];
}

/* What is "Context: process" can't be done here.  A spinlock that is held is not seen. */
static inline bool kdat_cant_sleep(void)
{
	return in_interrupt() || irqs_disabled();
}

/* Nor what is "Context: BH". */
static inline bool kdat_cant_lock(void)
{
	return in_hardirq() || irqs_disabled();
}

/*
 * Begin a call in BH context.  Softirqs that are disabled do what rcu_read_lock() does.
 * Return: for kdat_bh_end().
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

/* Softirqs are disabled already, and "Context: BH" can be done. */
static __always_inline bool kdat_in_bh(void)
{
	u32 count = preempt_count();

	return count & SOFTIRQ_MASK && !(count & HARDIRQ_MASK) && !irqs_disabled();
}

#define KDAT_CONTEXT	KDAT_ERR(DAT_INVALID_STATE, DAT_NO_SUBTYPE)

/* kdat_error.c */
DAT_RETURN kdat_error(int err);
DAT_RETURN kdat_lookup_error(int err, DAT_RETURN bad);
DAT_RETURN kdat_state_error(DAT_EP_STATE state);

/* An object that was shut down: by a free, or because its device went.  Under RCU. */
static inline DAT_RETURN kdat_dead(const struct dat_obj *obj, DAT_RETURN bad)
{
	return READ_ONCE(obj->ia->dead) ? kdat_error(-ENODEV) : bad;
}

/* kdat_handle.c */
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

/* kdat_event.c */
void kdat_event(struct dat_evd *evd, const struct dat_eqe *eqe, DAT_EVENT *event);

/**
 * kdat_find() - look an object of a kind up
 * @handle: anything
 * @kind: not DAT_HANDLE_TYPE_IA
 *
 * Context: under RCU, or with softirqs disabled.  Return: the object, see the top of this
 * file for what may be done to it, or NULL.
 */
static __always_inline struct dat_obj *kdat_find(DAT_HANDLE handle, DAT_HANDLE_TYPE kind)
{
	u64 h = kdat_to_u64(handle);
	struct dat_obj *obj;

	if (kdat_kind(handle) != kind)
		return NULL;
	obj = rcu_dereference_check(*kdat_near_of(h, kind == DAT_HANDLE_TYPE_EP),
				    rcu_read_lock_bh_held());
	if (likely(obj && obj->user_data == h))
		return obj;
	return kdat_find_any(handle);
}

/**
 * kdat_near_ep() - look an EP up where most are found
 * @handle: anything
 *
 * Context: as kdat_find().  Return: likewise; also of an EP it may be NULL.
 */
static __always_inline struct dat_ep *kdat_near_ep(DAT_EP_HANDLE handle)
{
	u64 h = kdat_to_u64(handle);
	struct dat_obj *obj;

	obj = rcu_dereference_check(*kdat_near_of(h, true), rcu_read_lock_bh_held());
	return likely(obj && obj->user_data == h) ? to_dat_ep(obj) : NULL;
}

extern const DAT_DTOS kdat_dto_ops[DAT_KOP_LAST];

/* What a DTO event says of a success. */
static __always_inline void kdat_event_success(const struct dat_eqe *eqe,
					       DAT_DTO_COMPLETION_EVENT_DATA *dto)
{
	dto->ep_handle = (DAT_HANDLE)(uintptr_t)eqe->owner;
	dto->user_cookie.as_64 = eqe->cookie;
	dto->transfered_length = eqe->data;
	dto->operation = kdat_dto_ops[eqe->flags >> DAT_EQE_KOP_SHIFT];
}

/* All of what a DTO event says.  That other transports say more was cleared before. */
static __always_inline void kdat_event_dto(const struct dat_eqe *eqe,
					   DAT_DTO_COMPLETION_EVENT_DATA *dto)
{
	u32 op = eqe->flags >> DAT_EQE_KOP_SHIFT, status = eqe->status;

	/* No transport has a part in these. */
	if (unlikely(op >= DAT_OP_LAST) && op != DAT_KOP_READ_TO_RMR &&
	    status != DAT_ST_SUCCESS && status != DAT_ST_FLUSHED)
		status = DAT_DTO_ERR_LOCAL_MM_ERROR;
	dto->status = status;
	kdat_event_success(eqe, dto);
	if (unlikely(eqe->data >> DAT_EQE_RKEY_SHIFT)) {
		dto->transfered_length = (u32)eqe->data;
		dto->operation = DAT_DTO_RECEIVE_WITH_INVALIDATE;
		dto->rmr_context = eqe->data >> DAT_EQE_RKEY_SHIFT;
	}
}

/* kdat_ia.c */
int kdat_init(void);
void kdat_exit(void);
DAT_IA_ADDRESS_PTR kdat_ia_addr(struct kdat_ia *kia);

/* kdat_evd.c */
struct dat_evd *kdat_evd_make(struct dat_ia *ia, u32 qlen, DAT_UPCALL_POLICY policy,
			      const DAT_UPCALL_OBJECT *upcall, DAT_EVD_FLAGS flags);
void kdat_evd_kill(struct dat_evd *evd);

/**
 * kdat_ep_call() - do something to an EP, locked and not shut down
 * @handle: anything
 * @fn: what; does not sleep
 * @arg: for it
 *
 * Context: any.  Return: what @fn says, DAT_INVALID_HANDLE, or DAT_INVALID_STATE in a context
 * where the lock can't be taken.
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

/* kdat_lmr.c */
DAT_MEM_TYPE kdat_mem_types(void);

/* kdat_ep.c */
DAT_EP_STATE kdat_ep_state(const struct dat_ep *ep);
DAT_EP_STATE kdat_ep_reserve(struct dat_ep *ep, DAT_EP_STATE from, DAT_EP_STATE to);

/* kdat_cm.c */
DAT_RETURN kdat_addr(struct sockaddr_storage *to, const struct sockaddr *from);
bool kdat_comm_good(const DAT_COMM *comm);

/* kdat_cr.c */
void kdat_cr_take_ep(struct dat_cr *cr);
void kdat_cr_drop(struct dat_ia *ia, u32 id);

/* kdat_post.c */
/**
 * struct kdat_request - what a request says; see kdat_post_locked()
 * @op: enum dat_op or enum dat_kop
 * @flags: DAT_COMPLETION_FLAGS, checked; those beyond DAT_SQE_FLAGS_ALL are lost
 * @num: local segments, at most attr.max_request_iov
 * @iov: them, checked
 * @remote: the peer's memory, for who makes @rkey and @raddr of it
 * @cookie: the consumer's
 * @rkey: as in struct dat_sqe
 * @raddr: as in struct dat_sqe
 * @length: bytes to transfer; segments are cut to it
 */
struct kdat_request {
	u8			op;
	u32			flags;
	DAT_COUNT		num;
	const DAT_LMR_TRIPLET	*iov;
	const DAT_RMR_TRIPLET	*remote;
	DAT_CONTEXT		cookie;
	u32			rkey;
	u64			raddr;
	u64			length;
};

DAT_RETURN kdat_post_locked(struct dat_ep *ep, const struct kdat_request *r);
DAT_RETURN kdat_check_iov(struct dat_pz *pz, DAT_COUNT n, const DAT_LMR_TRIPLET *iov,
			  bool write, u64 *total);
bool kdat_request_flags_bad(const struct dat_ep *ep, u32 flags, u32 allowed);

#endif /* _DAT_KDAT_H */
