/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The objects of libdat, parents first.
 *
 *   udat_ia              an open /dev/dat bound to an adapter
 *    ├ udat_cno          what several event rings wake
 *    ├ udat_evd          event ring
 *    ├ udat_pz           protection zone
 *    ├ udat_lmr          registered memory, also in the IA's table by lmr_context
 *    ├ udat_rmr          key for a part of it
 *    ├ udat_srq          shared receive queue
 *    ├ udat_ep           endpoint
 *    ├ udat_psp          listener
 *    ├ udat_rsp          listener for one request, with an EP that waits for it
 *    └ udat_cr           connection request; made when its event is dequeued
 *
 * A handle is the address of an object, which is a slot of the arena: it stays
 * readable for ever, and its type tells whether it is alive.  What the driver knows
 * is not kept here a second time: state and indices are read from its pages.  Handles
 * of other providers are passed on to them before anything else: foreign.h, provider.h.
 *
 * A freed object whose events may still be queued is laid to rest in the IA's
 * graveyard until its EVDs have been read past them, so that an old event never
 * names a new object.
 *
 * Locks, outer to inner: cno->lock; ia->feed_lock; ia->lock; ep->sq.lock; ep->rq.lock or
 * srq->rq.lock; evd->lock, one at a time.  From those of queues on they spin, and nothing
 * else is taken inside them; the arena's is taken inside ia->lock.
 */
#ifndef LIBDAT_H
#define LIBDAT_H

#include <pthread.h>
#include <stdint.h>

#include <dat/udat.h>
#include <rdma/dat_ioctl.h>

#include "../common/arena.h"
#include "../common/dev.h"
#include "../common/lock.h"
#include "../common/poller.h"
#include "../common/ring.h"
#include "err.h"

#define UDAT_EXPORT	__attribute__((visibility("default")))
/* Qualities of service beside best effort. */
#define UDAT_QOS_ALL	(DAT_QOS_HIGH_THROUGHPUT | DAT_QOS_LOW_LATENCY | DAT_QOS_ECONOMY | \
			 DAT_QOS_PREMIUM)
#define UDAT_PD_MAX	56	/* what a connect can carry, see max_private_data_size */

/* Types of slots: 0 is free, so DAT_HANDLE_TYPE is shifted by one. */
#define UDAT_TYPE(name)	(DAT_HANDLE_TYPE_##name + 1)

#define UDAT_GRAVES	8	/* EVDs that may hold events of one object */

/*
 * struct udat_obj - what all objects but the IA begin with
 * @slot: type and free list
 * @ia: parent
 * @context: the consumer's, unlocked
 * @id: the driver's name for the object
 * @next, @prev: in ia->objs or the graveyard; ia->lock
 * @grave_evd, @grave_mark: EVDs that may hold its events, and, once it is freed, how far
 *	they must be read before the slot is used again; ia->lock
 * @grave_vague: there were more EVDs than that; ia->lock
 * @grave_named: an event names it, when we last looked; ia->lock
 */
struct udat_obj {
	struct du_slot		slot;
	struct udat_ia		*ia;
	DAT_CONTEXT		context;
	uint32_t		id;
	struct udat_obj		*next;
	struct udat_obj		*prev;
	struct udat_evd		*grave_evd[UDAT_GRAVES];
	uint32_t		grave_mark[UDAT_GRAVES];
	int			grave_vague;
	int			grave_named;
};

/* Two levels, so that posts look up without a lock while the table grows. */
#define UDAT_LMR_BITS	10
#define UDAT_LMR_MASK	((1U << (2 * UDAT_LMR_BITS)) - 1)

#define UDAT_LMR_CHUNK	(1U << UDAT_LMR_BITS)

struct udat_lmr_chunk {
	struct udat_lmr *lmr[UDAT_LMR_CHUNK];
};

/*
 * struct udat_ia - interface adapter
 * @obj: ia is itself
 * @name: as it was opened by
 * @fd: the device
 * @single: opened for a program without threads; constant
 * @agents: it has one all the same, of ours, which calls its agents
 * @info: limits and identity; constant
 * @doorbell: page
 * @async_evd: of this IA or NULL; constant
 * @own_async: made by open, freed by close
 * @feed_lock: streams begin to feed EVDs one object at a time
 * @lock: lists, counters and the LMR table's growth
 * @objs: all objects
 * @nobjs: of them
 * @graves: freed objects, oldest first
 * @ngraves: of them
 * @named_graves: of them, when we last looked for events that name them
 * @lmrs: by the index part of lmr_context
 * @waiters: threads inside dat_evd_wait(); atomic
 * @poller_lock: @poller
 * @poller: if the program wants one
 */
struct udat_ia {
	struct udat_obj		obj;
	char			*name;
	int			fd;
	int			single;
	int			agents;
	struct dat_ia_query	info;
	struct du_map		doorbell;
	struct udat_evd		*async_evd;
	int			own_async;
	pthread_mutex_t		feed_lock;
	pthread_mutex_t		lock;
	struct udat_obj		objs;
	unsigned int		nobjs;
	struct udat_obj		graves;
	unsigned int		ngraves;
	unsigned int		named_graves;
	struct udat_lmr_chunk	**lmrs;
	int			waiters;
	pthread_mutex_t		poller_lock;
	struct du_poller	poller;
};

/*
 * What a stream asks of the EVD that it feeds, which decides about its neighbours there:
 * DTOs by the completion flags of their EP, and everything else.
 */
enum udat_feed {
	UDAT_FEED_PLAIN,	/* no flags: gets along with all */
	UDAT_FEED_NOTIFY,	/* UNSIGNALLED: who posts decides what notifies */
	UDAT_FEED_SOLICITED,	/* SOLICITED_WAIT: who sends decides */
	UDAT_FEED_THRESHOLD,	/* EVD_THRESHOLD: who waits decides */
	UDAT_FEED_OTHER,	/* connections, requests */
	UDAT_FEED_KINDS
};

/*
 * struct udat_cno - consumer notification object
 * @obj: base
 * @lock: of what follows
 * @agent: called at the next trigger and then detached
 * @armed: triggers that the agent need not hear of
 * @thread: calls agents
 * @has_thread: it was started
 */
struct udat_cno {
	struct udat_obj		obj;
	pthread_mutex_t		lock;
	DAT_OS_WAIT_PROXY_AGENT	agent;
	uint32_t		armed;
	pthread_t		thread;
	int			has_thread;
};

/*
 * struct udat_spin - what waiting on an EVD was like
 * @looks: at the ring, before the driver is asked to sleep
 * @vain: waits in a row that looked in vain
 */
struct udat_spin {
	uint32_t		looks;
	uint32_t		vain;
};

/*
 * struct udat_evd - event dispatcher
 * @obj: base
 * @flags: streams; constant
 * @submit: page
 * @status: pages, of which after a resize only the first is left, always in the same
 *	place: who polls reads there without a lock
 * @ring: all pages of the status region after a resize
 * @lock: of what follows
 * @events: the ring
 * @cno: or NULL
 * @disabled: it isn't triggered
 * @waiting: a thread is in dat_evd_wait(); read without the lock by those who poll
 * @unwaitable: no thread may be
 * @translating: requests that were taken and whose service point is being looked up;
 *	atomic; meanwhile no grave opens
 * @feeds: how many streams of each kind feed it
 * @spin: whether looking pays before sleeping; the waiter's
 * @busy_us: how long an empty ring has the driver look at the device; atomic
 */
struct udat_evd {
	struct udat_obj		obj;
	DAT_EVD_FLAGS		flags;
	struct du_map		submit;
	struct du_map		status;
	struct du_map		ring;
	struct du_lock		lock;
	struct du_events	events;
	struct udat_cno		*cno;
	int			disabled;
	int			waiting;
	int			unwaitable;
	int			translating;
	uint32_t		feeds[UDAT_FEED_KINDS];
	struct udat_spin	spin;
	uint32_t		busy_us;
};

struct udat_pz {
	struct udat_obj	obj;
};

/*
 * struct udat_lmr - registered memory; constant
 */
struct udat_lmr {
	struct udat_obj		obj;
	struct udat_pz		*pz;
	DAT_MEM_TYPE		type;
	DAT_REGION_DESCRIPTION	region;
	uint64_t		start;
	uint64_t		length;
	DAT_MEM_PRIV_FLAGS	priv;
	uint32_t		context;
	uint32_t		rmr_context;
};

/*
 * struct udat_rmr - remote memory region
 * @obj: base
 * @pz: constant
 * @segment, @priv, @context: of the last bind
 */
struct udat_rmr {
	struct udat_obj		obj;
	struct udat_pz		*pz;
	DAT_LMR_TRIPLET		segment;
	DAT_MEM_PRIV_FLAGS	priv;
	DAT_RMR_CONTEXT		context;
};

/*
 * struct udat_srq - shared receive queue
 * @obj: base
 * @pz: constant
 * @attr: as given by the driver; with @submit and @status changed under the lock of @rq
 * @submit, @status: pages
 * @rq: the buffers
 * @reaped: completions dequeued; a buffer is outstanding until then; atomic
 */
struct udat_srq {
	struct udat_obj		obj;
	struct udat_pz		*pz;
	DAT_SRQ_ATTR		attr;
	struct du_map		submit;
	struct du_map		status;
	struct du_queue		rq;
	uint32_t		reaped;
};

/*
 * struct udat_ep - endpoint
 * @obj: base; @obj.id is 0 until an EP that we made for a request has a zone
 * @pz, @recv_evd, @request_evd, @connect_evd: NULL if none
 * @srq: constant; NULL if none
 * @attr: as given by the driver
 * @stage: state that the driver knows nothing of: RESERVED, PASSIVE_CONNECTION_PENDING,
 *	TENTATIVE_CONNECTION_PENDING, or 0
 * @submit: pages; what is above changes with dat_ep_modify()
 * @status: page; always in the same place, where it is read without a lock
 * @sq, @rq: queues; @rq is unused with an SRQ
 * @pd: private data of the peer, copied when its event is dequeued
 * @local, @remote: for dat_ep_query()
 * @target, @target_qual: of the last connect, for dat_ep_dup_connect()
 */
struct udat_ep {
	struct udat_obj		obj;
	struct udat_pz		*pz;
	struct udat_evd		*recv_evd;
	struct udat_evd		*request_evd;
	struct udat_evd		*connect_evd;
	struct udat_srq		*srq;
	DAT_EP_ATTR		attr;
	DAT_EP_STATE		stage;
	struct du_map		submit;
	struct du_map		status;
	struct du_queue		sq;
	struct du_queue		rq;
	uint8_t			pd[DAT_MAX_PRIVATE_DATA];
	uint8_t			local[32];
	uint8_t			remote[32];
	uint8_t			target[32];
	DAT_CONN_QUAL		target_qual;
};

struct udat_psp {
	struct udat_obj	obj;
	struct udat_evd	*evd;
	DAT_CONN_QUAL	conn_qual;
	DAT_PSP_FLAGS	flags;
};

/*
 * struct udat_rsp - reserved service point
 * @obj: base; @obj.id is the driver's listener, 0 once the request came; ia->lock
 * @evd: constant
 * @ep: RESERVED; NULL: one is made for the request, or it came; ia->lock
 * @spent: the request came, or nobody waits for it any more; ia->lock
 * @conn_qual: constant
 */
struct udat_rsp {
	struct udat_obj	obj;
	struct udat_evd	*evd;
	struct udat_ep	*ep;
	int		spent;
	DAT_CONN_QUAL	conn_qual;
};

/*
 * struct udat_cr - connection request
 * @obj: base
 * @ep: that an RSP or we have for it, or NULL
 * @ep_is_ours: we made @ep: a reject destroys it
 * @queried: the rest is filled in; ia->lock
 */
struct udat_cr {
	struct udat_obj	obj;
	struct udat_ep	*ep;
	int		ep_is_ours;
	int		queried;
	uint8_t		remote[32];
	uint32_t	remote_port;
	uint32_t	pd_len;
	uint8_t		pd[DAT_MAX_PRIVATE_DATA];
};

#define UDAT_FITS(name)	_Static_assert(sizeof(struct udat_##name) <= DU_SLOT_SIZE, #name)
UDAT_FITS(ia);
UDAT_FITS(evd);
UDAT_FITS(lmr);
UDAT_FITS(srq);
UDAT_FITS(ep);
UDAT_FITS(cr);
UDAT_FITS(cno);

/* The object behind a handle, or NULL: as C has no generics, one per type. */
#define UDAT_FIND(name, TYPE)						\
static inline struct udat_##name *udat_##name(const void *handle)	\
{									\
	return du_slot_of(handle, UDAT_TYPE(TYPE));			\
}
UDAT_FIND(ia, IA)
UDAT_FIND(evd, EVD)
UDAT_FIND(pz, PZ)
UDAT_FIND(lmr, LMR)
UDAT_FIND(srq, SRQ)
UDAT_FIND(ep, EP)
UDAT_FIND(psp, PSP)
UDAT_FIND(cr, CR)
UDAT_FIND(cno, CNO)
UDAT_FIND(rsp, RSP)
UDAT_FIND(rmr, RMR)

/* Whether objects of the IA may do without their locks. */
static inline int udat_unlocked(const struct udat_ia *ia)
{
	return ia->single && !ia->agents;
}

/* handle.c */
void udat_list_init(struct udat_obj *head);
void *udat_obj_new(struct udat_ia *ia);
void udat_obj_publish(struct udat_obj *obj, uint32_t type);
void udat_obj_drop(struct udat_obj *obj);
void udat_obj_mourn(struct udat_obj *obj, struct udat_evd *evd);
void udat_obj_bury(struct udat_obj *obj, struct udat_evd *const *evds, int n);
DAT_RETURN udat_obj_free(struct udat_obj *obj, uint32_t type, uint32_t kind,
			 DAT_RETURN bad_handle, DAT_RETURN busy);
void udat_obj_forget(struct udat_obj *obj);

/* evd.c */
DAT_RETURN udat_evd_make(struct udat_ia *ia, DAT_COUNT qlen, DAT_EVD_FLAGS flags,
			 struct udat_evd **evd);
void udat_evd_unmap(struct udat_evd *evd);

/* evd_wait.c */
uint64_t udat_deadline(DAT_TIMEOUT timeout);

/* evd_feed.c */
int udat_evd_feed(struct udat_evd *evd, enum udat_feed kind);
int udat_evd_feed_alone(struct udat_evd *evd, enum udat_feed kind);
void udat_evd_unfeed(struct udat_evd *evd, enum udat_feed kind);

/* cno.c */
void udat_cno_end(struct udat_cno *cno);
void udat_cnos_end(struct udat_ia *ia);
void udat_locks_on(struct udat_ia *ia);

/* Where the LMR of a context is, if it is; NULL: there never was one near it. */
static inline struct udat_lmr **udat_lmr_place(const struct udat_ia *ia, uint32_t context)
{
	uint32_t index = context & UDAT_LMR_MASK;
	struct udat_lmr_chunk **table = __atomic_load_n(&ia->lmrs, __ATOMIC_ACQUIRE);
	struct udat_lmr_chunk *chunk;

	if (!table)
		return NULL;
	chunk = __atomic_load_n(&table[index / UDAT_LMR_CHUNK], __ATOMIC_ACQUIRE);
	return chunk ? &chunk->lmr[index % UDAT_LMR_CHUNK] : NULL;
}

/* The LMR of a context, or NULL.  No lock: the slot of a freed LMR stays readable. */
static inline struct udat_lmr *udat_lmr_find(const struct udat_ia *ia, uint32_t context)
{
	struct udat_lmr **place = udat_lmr_place(ia, context);
	struct udat_lmr *lmr = place ? __atomic_load_n(place, __ATOMIC_ACQUIRE) : NULL;

	return lmr && lmr->context == context ? lmr : NULL;
}

/* lmr.c */
void udat_lmr_table_free(struct udat_ia *ia);

/* The driver's name for an object that may be NULL. */
#define UDAT_ID(p)	((p) ? (p)->obj.id : 0)

/*
 * struct udat_ep_ring - the driver's rings of an EP, mapped
 */
struct udat_ep_ring {
	struct du_map	submit;
	struct du_map	status;
	uint32_t	sq_offset;
	uint32_t	sq_shift;
	uint32_t	rq_offset;
	uint32_t	rq_shift;
	uint32_t	max_request;
	uint32_t	max_recv;
};

/*
 * struct udat_ring_change - a ring that is being replaced
 * @cmd: ioctl that carries out the steps
 * @arg: argument of @cmd; the offsets in it are written by PREPARE
 * @step: field of @arg that names the step
 * @map: maps the pages that @arg names after PREPARE, both or none
 * @pages: the new pages; valid once the ring is replaced
 */
struct udat_ring_change {
	unsigned long	cmd;
	void		*arg;
	uint32_t	*step;
	int		(*map)(int fd, const void *arg, struct du_map pages[2]);
	struct du_map	pages[2];
};

/*
 * Have the driver prepare the new ring, map it, and commit; after a failure the old ring is
 * still in use.  The caller holds off posts; events may be taken from the old ring meanwhile.
 * Returns 0 or a negative errno.
 */
int udat_ring_replace(int fd, struct udat_ring_change *change);

/* ep.c, srq.c */
DAT_RETURN udat_ep_make(struct udat_ep *ep);
void udat_ep_use_ring(struct udat_ep *ep, struct udat_ep *next, struct udat_ep_ring *r);
DAT_RETURN udat_ep_check_evds(const struct udat_ia *ia, const struct udat_ep *ep);
uint32_t udat_ep_recv_flags(const DAT_EP_ATTR *attr);
int udat_ep_attr_bad(const struct udat_ia *ia, const DAT_EP_ATTR *attr);
void udat_ep_attr_complete(const struct udat_ia *ia, DAT_EP_ATTR *attr);
int udat_ep_attr_unsupported(const DAT_EP_ATTR *attr);
int udat_ep_feed(const struct udat_ep *ep);
void udat_ep_unfeed(const struct udat_ep *ep);
DAT_COUNT udat_ep_recvs(const struct udat_ep *ep);
void udat_ep_unmap(struct udat_ep *ep);
void udat_srq_unmap(struct udat_srq *srq);
DAT_EP_STATE udat_ep_state(const struct udat_ep *ep);
struct udat_ep *udat_ep_tentative(struct udat_ia *ia);
void udat_ep_discard(struct udat_ep *ep);

/* cr.c, psp.c, rsp.c */
DAT_RETURN udat_listen_error(int err, int any);
struct udat_ep *udat_rsp_spend(struct udat_rsp *rsp);
void udat_cr_arrived(struct udat_cr *cr, void *sp);
DAT_RETURN udat_state_error(DAT_EP_STATE state);

/* post.c */
DAT_RETURN udat_check_iov(struct udat_ia *ia, struct udat_pz *pz, DAT_COUNT n,
			  const DAT_LMR_TRIPLET *iov, DAT_MEM_PRIV_FLAGS need,
			  uint64_t *total);
int udat_check_range(struct udat_ia *ia, const DAT_LMR_TRIPLET *seg);
void udat_copy_iov(struct dat_sge *sge, DAT_COUNT n, const DAT_LMR_TRIPLET *iov);

#endif /* LIBDAT_H */
