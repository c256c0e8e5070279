/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Copyright (c) The dat authors */
/*
 * The objects of libdat.  An indented object is a child of the IA.
 *
 *   udat_ia              an open /dev/dat bound to an adapter
 *    ├ udat_cno          wait object that several event rings trigger
 *    ├ udat_evd          event ring
 *    ├ udat_pz           protection zone
 *    ├ udat_lmr          registered memory, also in the IA's table by lmr_context
 *    ├ udat_rmr          remote key for a part of an LMR
 *    ├ udat_srq          shared receive queue
 *    ├ udat_ep           endpoint
 *    ├ udat_psp          listener
 *    ├ udat_rsp          listener for a single request, with a reserved EP for that request
 *    └ udat_cr           connection request; made when its event is dequeued
 *
 * A handle is the address of an object, which is a slot of the arena.  The slot stays readable for
 * ever, and its type says whether the object is alive.  The driver stores states and indices in
 * pages that it shares with the process, and the library keeps no copy of them.  A call with a
 * handle of another provider is passed on to that provider before any other check: see foreign.h
 * and provider.h.
 *
 * When an object is freed, queued events may still name the object.  The slot of the object is then
 * freed later, when the consumer has dequeued those events.  So an old event never names a new
 * object.
 *
 * In a forked child, all handles of the parent are invalid; see fork.c.
 *
 * Locks, outer to inner: cno->lock; ia->feed_lock; ia->lock; ep->sq.lock; ep->rq.lock or
 * srq->rq.lock; evd->lock; ia->mappings.lock.  A thread holds only one evd->lock at a time.  The
 * last four kinds are spinlocks.  The arena's lock is taken inside ia->lock.  No lock is taken
 * inside or outside the lock of ia->lmr_cache.
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
#include "span.h"

#define UDAT_EXPORT	__attribute__((visibility("default")))
/* Qualities of service that connect accepts, besides DAT_QOS_BEST_EFFORT. */
#define UDAT_QOS_ALL	(DAT_QOS_HIGH_THROUGHPUT | DAT_QOS_LOW_LATENCY | DAT_QOS_ECONOMY | \
			 DAT_QOS_PREMIUM)

/* Type of a slot: DAT_HANDLE_TYPE_* plus 1, because type 0 marks a free slot. */
#define UDAT_TYPE(name)	(DAT_HANDLE_TYPE_##name + 1)

struct udat_lmr_cache;

#define UDAT_DEFER_EVDS	8	/* length of udat_obj.defer_evd */

/*
 * struct udat_obj - common head of all objects
 * @slot: head of the slot: type, and link in the list of free slots
 * @ia: parent IA
 * @context: consumer context; no lock protects it
 * @id: number of the object in the driver
 * @next, @prev: neighbors in ia->objs or ia->deferred; protected by ia->lock.  @next of an IA is
 *	the next open IA of the process; see fork.c
 * @defer_evd: EVDs that may hold events of the object; protected by ia->lock
 * @defer_mark: event index for each EVD in @defer_evd: the slot of the freed object is reused only
 *	when the EVD's head has reached the index; protected by ia->lock
 * @defer_overflow: flag: @defer_evd was too short for all EVDs; protected by ia->lock
 * @defer_named: flag: the last search has found a queued event that names the object; protected by
 *	ia->lock
 */
struct udat_obj {
	struct du_slot		slot;
	struct udat_ia		*ia;
	DAT_CONTEXT		context;
	uint32_t		id;
	struct udat_obj		*next;
	struct udat_obj		*prev;
	struct udat_evd		*defer_evd[UDAT_DEFER_EVDS];
	uint32_t		defer_mark[UDAT_DEFER_EVDS];
	int			defer_overflow;
	int			defer_named;
};

/*
 * The table of LMRs has two levels, so that posts can look up LMRs without a lock while the table
 * grows.
 */
#define UDAT_LMR_BITS	10
#define UDAT_LMR_MASK	((1U << (2 * UDAT_LMR_BITS)) - 1)

#define UDAT_LMR_CHUNK	(1U << UDAT_LMR_BITS)

struct udat_lmr_chunk {
	struct udat_lmr *lmr[UDAT_LMR_CHUNK];
};

/*
 * struct udat_ia - interface adapter
 * @obj: common head; @obj.ia points to this object itself
 * @name: name that the consumer opened
 * @file: open /dev/dat; constant, except that a forked child sets the descriptor to -1
 * @single: flag: the consumer opened the IA without thread safety; constant
 * @agents: flag: the library has started a thread that calls CNO agents
 * @info: limits and identity of the adapter; constant
 * @doorbell: mapping of the doorbell region
 * @mappings: mappings that hold the rings of the objects; has a lock of its own
 * @async_evd: async EVD that dat_ia_open() has created, or NULL; constant
 * @feed_lock: lock that serializes the connecting of streams to EVDs
 * @lock: lock that protects the lists, the counters and the growth of @lmrs
 * @objs: list of live objects
 * @nobjs: number of objects in @objs
 * @waiters: number of threads inside dat_evd_wait() or dat_cno_wait(); atomic
 * @deferred: list of freed objects whose slots are still in use, oldest first
 * @ndeferred: number of objects in @deferred
 * @ndeferred_named: value of @ndeferred after the last search for events that name deferred objects
 * @lmrs: table of LMRs, indexed by the index part of lmr_context
 * @lmr_cache: LMRs of dat_linux_lmr_get(); NULL before its first call; see lmr_cache.c
 * @poller_lock: lock that protects @poller
 * @poller: poller thread, if the consumer has asked for a poller
 */
struct udat_ia {
	struct udat_obj		obj;
	char			*name;
	struct du_file		file;
	int			single;
	int			agents;
	struct dat_ia_query	info;
	struct du_map		doorbell;
	struct udat_mappings	mappings;
	struct udat_evd		*async_evd;
	pthread_mutex_t		feed_lock;
	pthread_mutex_t		lock;
	struct udat_obj		objs;
	unsigned int		nobjs;
	int			waiters;
	struct udat_obj		deferred;
	unsigned int		ndeferred;
	unsigned int		ndeferred_named;
	struct udat_lmr_chunk	**lmrs;
	struct udat_lmr_cache	*lmr_cache;
	pthread_mutex_t		poller_lock;
	struct du_poller	poller;
};

/*
 * Kinds of streams that feed an EVD.  The kind decides which streams may share the EVD.  The kind
 * of a DTO stream depends on the completion flags of its EP; all other streams are UDAT_FEED_OTHER.
 */
enum udat_feed {
	UDAT_FEED_DEFAULT,	/* no flags: may share an EVD with every kind */
	UDAT_FEED_NOTIFY,	/* UNSIGNALLED: each post may suppress its notification */
	UDAT_FEED_SOLICITED,	/* SOLICITED_WAIT: the sender requests notifications */
	UDAT_FEED_THRESHOLD,	/* EVD_THRESHOLD: the waiter sets a number of events */
	UDAT_FEED_OTHER,	/* connection events and connection requests */
	UDAT_FEED_KINDS
};

/*
 * struct udat_cno - consumer notification object
 * @obj: common head
 * @lock: lock that protects the fields below
 * @agent: agent that the next trigger calls; the trigger also detaches the agent
 * @armed: number of triggers before @agent was set; only later triggers call @agent
 * @thread: thread that calls the agents
 * @has_thread: flag: @thread was started
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
 * struct udat_spin - adaptive spinning before a wait sleeps
 * @looks: number of polls of the ring before a wait sleeps
 * @misses: number of consecutive waits whose polls found too few events
 */
struct udat_spin {
	uint32_t		looks;
	uint32_t		misses;
};

/*
 * struct udat_evd - event dispatcher
 * @obj: common head
 * @flags: streams that may feed the EVD; constant
 * @submit: mapped struct dat_evd_head
 * @status: mapped struct dat_evd_status
 * @ring: mapped events; a resize changes @ring under ia->lock
 * @lock: lock that protects the fields below
 * @events: event ring
 * @cno: CNO that events trigger, or NULL; changed under ia->lock and the EVD's lock;
 *	dat_evd_wait() reads @cno without a lock
 * @disabled: flag: events do not trigger @cno
 * @waiting: flag: a thread is in dat_evd_wait(), or frees the EVD; dat_evd_dequeue() reads the flag
 *	without the lock
 * @unwaitable: flag: dat_evd_wait() is refused
 * @translating: number of dequeued events whose service point or SRQ is being looked up; while not
 *	0, no deferred slot is freed; atomic
 * @feeds: number of streams of each kind that feed the EVD
 * @spin: state of the spinning before a sleep; owned by the waiter
 * @busy_us: time in microseconds for which the driver polls the device when the ring is empty;
 *	atomic
 */
struct udat_evd {
	struct udat_obj		obj;
	DAT_EVD_FLAGS		flags;
	struct udat_span	submit;
	struct udat_span	status;
	struct udat_span	ring;
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
 * struct udat_lmr - registered memory; all fields up to @counted are constant
 * @counted: flag: the LMR is from dat_linux_lmr_get(); the fields below are for such LMRs and are
 *	protected by the lock of the cache, see lmr_cache.c
 * @uses: number of calls of dat_linux_lmr_get() without a dat_linux_lmr_put()
 * @indexed: flag: a get can find the LMR
 * @older, @newer: neighbors in the list of unused LMRs; @newer: also the next LMR to be freed
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
	int			counted;
	unsigned int		uses;
	int			indexed;
	struct udat_lmr		*older;
	struct udat_lmr		*newer;
};

/*
 * struct udat_rmr - remote memory region
 * @obj: common head
 * @pz: protection zone; constant
 * @segment, @priv, @context: result of the last bind
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
 * @obj: common head
 * @pz: protection zone; constant
 * @attr: attributes that the driver granted; changed under @rq.lock
 * @submit: mapped struct dat_submit and RQEs; changed under @rq.lock
 * @status: mapped struct dat_status
 * @rq: queue of posted buffers
 * @reaped: number of buffers that are no longer outstanding, because their completions were
 *	dequeued, or were in an EVD that was freed; atomic
 */
struct udat_srq {
	struct udat_obj		obj;
	struct udat_pz		*pz;
	DAT_SRQ_ATTR		attr;
	struct udat_span	submit;
	struct udat_span	status;
	struct du_queue		rq;
	uint32_t		reaped;
};

/*
 * struct udat_ep_want - named attributes of an EP
 * @max_inline: requests with data up to this number of bytes are posted with inline data
 * @immediate: flag: the EP sends and receives immediate data
 */
struct udat_ep_want {
	uint32_t		max_inline;
	uint32_t		immediate;
};

/*
 * struct udat_ep - endpoint
 * @obj: common head; @obj.id is 0 while an EP that the library made for a request has no zone
 * @pz: protection zone, or NULL
 * @recv_evd, @request_evd, @connect_evd: EVDs of the EP, or NULL
 * @srq: shared receive queue, or NULL; constant
 * @attr: attributes that the driver granted, without named attributes
 * @want: what the named attributes ask for, and the driver grants; changes only while the EP is
 *	unconnected
 * @stage: state that only the library knows: RESERVED, PASSIVE_CONNECTION_PENDING or
 *	TENTATIVE_CONNECTION_PENDING; 0 if the driver's state is valid
 * @submit: mapped struct dat_submit, SQEs and RQEs; dat_ep_modify() changes @submit and all fields
 *	above except @obj and @srq
 * @status: mapped struct dat_status
 * @sq, @rq: send queue and receive queue; @rq is unused if the EP has an SRQ
 * @pd: private data of the peer, copied when the connection event is dequeued
 * @local, @remote, @named, @number: addresses, and the named attributes and the value of the first,
 *	to which dat_ep_query() returns pointers
 * @target, @target_len, @target_qual: target of the last connect, for dat_ep_dup_connect()
 */
struct udat_ep {
	struct udat_obj		obj;
	struct udat_pz		*pz;
	struct udat_evd		*recv_evd;
	struct udat_evd		*request_evd;
	struct udat_evd		*connect_evd;
	struct udat_srq		*srq;
	DAT_EP_ATTR		attr;
	struct udat_ep_want	want;
	DAT_EP_STATE		stage;
	struct udat_span	submit;
	struct udat_span	status;
	struct du_queue		sq;
	struct du_queue		rq;
	uint8_t			pd[DAT_MAX_PRIVATE_DATA];
	uint8_t			local[DAT_ADDR_SIZE];
	uint8_t			remote[DAT_ADDR_SIZE];
	DAT_NAMED_ATTR		named[2];
	char			number[12];
	uint8_t			target[DAT_ADDR_SIZE];
	uint32_t		target_len;
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
 * @obj: common head; @obj.id is the number of the driver's listener, 0 once the request has come;
 *	protected by ia->lock
 * @evd: EVD for the event of the request; constant
 * @ep: reserved EP; NULL if the library makes an EP for the request, or once the request has come;
 *	protected by ia->lock
 * @spent: flag: the request has come, or the RSP is being freed; protected by ia->lock
 * @conn_qual: connection qualifier; constant
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
 * @obj: common head
 * @ep: EP from an RSP or made by the library, or NULL
 * @ep_is_ours: flag: the library made @ep, so a reject destroys @ep
 * @queried: flag: the fields below are valid; protected by ia->lock
 * @remote, @remote_port: address and port of the peer
 * @pd_len, @pd: length and bytes of the peer's private data
 */
struct udat_cr {
	struct udat_obj	obj;
	struct udat_ep	*ep;
	int		ep_is_ours;
	int		queried;
	uint8_t		remote[DAT_ADDR_SIZE];
	uint32_t	remote_port;
	uint8_t		local[DAT_ADDR_SIZE];
	uint32_t	local_len;
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

/*
 * udat_ia(), udat_evd() and so on return the object of a handle, or NULL if the handle has another
 * type.
 */
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

/*
 * Returns whether the objects of the IA need no locks: the consumer opened the IA without thread
 * safety, and the library has started no thread that calls agents.
 */
static inline int udat_unlocked(const struct udat_ia *ia)
{
	return ia->single && !ia->agents;
}

/* fork.c */

/* Open /dev/dat for @ia, and list @ia as open.  Returns 0 or a negative errno. */
int udat_ia_open_device(struct udat_ia *ia);
/* Undo udat_ia_open_device().  A file of the program that has the same descriptor stays open. */
void udat_ia_close_device(struct udat_ia *ia);

/* handle.c */
void udat_list_init(struct udat_obj *head);
void *udat_obj_new(struct udat_ia *ia);
void udat_obj_publish(struct udat_obj *obj, uint32_t type);
void udat_obj_drop(struct udat_obj *obj);
void udat_obj_defer_on(struct udat_obj *obj, struct udat_evd *evd);
void udat_obj_free_deferred(struct udat_obj *obj, struct udat_evd *const *evds, int n);
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

/*
 * Returns the most bytes of private data of a connect or an accept: DAT has one limit for both.  No
 * driver allows fewer bytes for a reject.
 */
static inline DAT_COUNT udat_pd_max(const struct udat_ia *ia)
{
	const struct dat_ia_query *info = &ia->info;

	return (DAT_COUNT)(info->max_pd_request < info->max_pd_reply ? info->max_pd_request :
								       info->max_pd_reply);
}

/* Returns the table entry of @context, or NULL if the table has no chunk for @context. */
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

/*
 * Returns the LMR of @context, or NULL.  No lock is needed, because the slot of a freed LMR stays
 * readable.
 */
static inline struct udat_lmr *udat_lmr_find(const struct udat_ia *ia, uint32_t context)
{
	struct udat_lmr **place = udat_lmr_place(ia, context);
	struct udat_lmr *lmr = place ? __atomic_load_n(place, __ATOMIC_ACQUIRE) : NULL;

	return lmr && lmr->context == context ? lmr : NULL;
}

#define UDAT_LMR_REMOTE		(DAT_MEM_PRIV_REMOTE_READ_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG)
#define UDAT_LMR_PRIVILEGES	(DAT_MEM_PRIV_ALL_FLAG | DAT_LINUX_MEM_PRIV_RELAXED_FLAG)

/* lmr.c */
void udat_lmr_table_free(struct udat_ia *ia);
/* Register the memory of a new LMR, with flags DAT_LMR_* for the driver. */
DAT_RETURN udat_lmr_register(struct udat_lmr *lmr, uint32_t flags);
DAT_RETURN udat_lmr_free(struct udat_lmr *lmr);

/* lmr_cache.c */
/* Free all LMRs that are kept but not used.  Returns their number. */
unsigned int udat_lmr_cache_clear(struct udat_ia *ia);
/* Free those of a protection zone. */
void udat_lmr_cache_leave(struct udat_pz *pz);
/* Free the cache itself.  The driver has freed its LMRs. */
void udat_lmr_cache_free(struct udat_ia *ia);

/* The driver's number of the object @p; 0 if @p is NULL. */
#define UDAT_ID(p)	((p) ? (p)->obj.id : 0)

/* struct udat_ep_ring - rings of an EP: the mapped memory, and where each queue lies in it */
struct udat_ep_ring {
	struct udat_span	submit;
	uint32_t		sq_offset;
	uint32_t		sq_shift;
	uint32_t		rq_offset;
	uint32_t		rq_shift;
	uint32_t		max_request;
	uint32_t		max_recv;
};

/*
 * struct udat_ring_change - arguments for the replacement of a ring
 * @ia: IA of the object
 * @cmd: ioctl that carries out the steps
 * @arg: argument of @cmd
 * @step: pointer to the field of @arg that names the step
 * @at: pointer to the field of @arg in which PREPARE returns the place of the new ring
 * @writable: flag: the process writes to the ring
 * @span: new ring, mapped by udat_ring_prepare()
 */
struct udat_ring_change {
	struct udat_ia		*ia;
	unsigned long		cmd;
	void			*arg;
	uint32_t		*step;
	const struct dat_span	*at;
	int			writable;
	struct udat_span	span;
};

/*
 * Replace a ring.  udat_ring_prepare() makes the driver prepare the new ring, and maps it.  Then
 * udat_ring_commit() switches to the new ring, or udat_ring_cancel() drops it.  The old ring is in
 * use until the commit.  Prepare and commit return 0 or a negative errno.
 */
int udat_ring_prepare(struct udat_ring_change *change);
int udat_ring_commit(struct udat_ring_change *change);
void udat_ring_cancel(struct udat_ring_change *change);

/*
 * Prepare and commit a new ring.  The caller prevents posts meanwhile.  Returns 0 or a negative
 * errno.
 */
int udat_ring_replace(struct udat_ring_change *change);

/* ep.c, srq.c */
DAT_RETURN udat_ep_make(struct udat_ep *ep);
void udat_ep_use_ring(struct udat_ep *ep, struct udat_ep *next, struct udat_ep_ring *r);
DAT_RETURN udat_ep_check_evds(const struct udat_ia *ia, const struct udat_ep *ep);
uint32_t udat_ep_recv_flags(const DAT_EP_ATTR *attr);
struct udat_ep_want udat_ep_attr_want(const struct udat_ia *ia, const DAT_EP_ATTR *attr);
void udat_ep_name_attr(struct udat_ep *ep, DAT_EP_ATTR *attr);
int udat_ep_attr_bad(const struct udat_ia *ia, const DAT_EP_ATTR *attr);
void udat_ep_attr_complete(const struct udat_ia *ia, DAT_EP_ATTR *attr);
int udat_ep_attr_unsupported(const struct udat_ia *ia, const DAT_EP_ATTR *attr);
int udat_ep_feed(const struct udat_ep *ep);
void udat_ep_unfeed(const struct udat_ep *ep);
DAT_COUNT udat_ep_recvs(const struct udat_ep *ep);
void udat_ep_unmap(struct udat_ep *ep);
void udat_srq_unmap(struct udat_srq *srq);
void udat_srq_kick(DAT_HANDLE srq_handle);
DAT_EP_STATE udat_ep_state(const struct udat_ep *ep);
struct udat_ep *udat_ep_tentative(struct udat_ia *ia);
void udat_ep_discard(struct udat_ep *ep);

/* cr.c, psp.c, rsp.c */
/* Log that a call needs an IP address of the adapter. */
void udat_explain_address(const struct udat_ia *ia);
DAT_RETURN udat_listen_error(const struct udat_ia *ia, int err, int any);
struct udat_ep *udat_rsp_spend(struct udat_rsp *rsp);
void udat_cr_arrived(struct udat_cr *cr, void *sp);
DAT_IA_ADDRESS_PTR udat_cr_local(struct udat_cr *cr);
DAT_RETURN udat_state_error(DAT_EP_STATE state);

/* post.c */
DAT_RETURN udat_check_iov(struct udat_ia *ia, struct udat_pz *pz, DAT_COUNT n,
			  const DAT_LMR_TRIPLET *iov, DAT_MEM_PRIV_FLAGS need,
			  uint64_t *total);
int udat_check_range(struct udat_ia *ia, const DAT_LMR_TRIPLET *seg);
void udat_copy_iov(struct dat_sge *sge, DAT_COUNT n, const DAT_LMR_TRIPLET *iov);
/* Returns the error of du_queue_push(), whose errno is still set. */
DAT_RETURN udat_kick_error(const struct udat_ia *ia);

#endif /* LIBDAT_H */
