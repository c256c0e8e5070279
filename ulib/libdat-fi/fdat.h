/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Copyright (c) The dat authors */
/*
 * A libfabric provider over libdat: the objects, their locks and the functions that files share.
 *
 *   libfabric              here              DAT
 *
 *   fid_fabric             fdat_fabric       none
 *    ├ fid_eq              fdat_eq           an EVD for the connections of each IA that it serves
 *    ├ fid_pep             fdat_pep          PSP and EVD of its requests, made by fi_listen()
 *    │  └ CONNREQ          fdat_connreq      CR
 *    └ fid_domain          fdat_domain       PZ, on an IA that the process shares
 *       ├ fid_mr           fdat_mr           LMR
 *       ├ fid_cq           fdat_cq           EVDs
 *       ├ fid_ep, shared   fdat_srx          SRQ
 *       └ fid_ep           fdat_ep           EP, made by fi_enable()
 *
 * All domains, endpoints and listeners of an adapter use one IA, because an accept needs an EP and
 * a CR of the same IA: see struct fdat_ia.
 *
 * Completions
 * ===========
 *
 * An event of DAT does not tell its operation, so the cookie is the address of a struct fdat_op.
 * The operations of an EP are in two rings, one for requests and one for receives, in the order of
 * the posts, which is the order of the completions.  So the completion of an operation also frees
 * the places of all operations before it, whose events were suppressed.  The operations of an SRQ
 * complete in any order and come from a list.
 *
 * A post takes a place in a ring, and a CQ reserves room in one of its EVDs for each place of the
 * rings that it serves; when no EVD has room for a ring, the CQ gets another EVD.  So an EVD never
 * overflows: a ring that is full refuses a post with -FI_EAGAIN.
 * The read of a completion frees places.  So does a post to a full ring, as long as the next events
 * have no completion: a program that only injects need not read its CQ.
 *
 * fi_close() of an endpoint moves all events of its CQs from the EVDs to the queue of the CQ, adds
 * a flushed completion for each operation that has none, and then frees the rings.  So no event
 * ever names a freed operation.
 *
 * Locks
 * =====
 *
 * From outer to inner:
 *
 *   eq->lock       sources and events of the EQ.  Held while an EP is freed, so that an event that
 *                  the EQ translates names a live EP
 *   ep->lock       posts and calls of connections to the EP, which DAT wants one by one; heads of
 *                  its rings
 *   cq->lock       EVDs, queue and reservations of the CQ; tails of the rings that it serves
 *   srx->lock      posts to the SRQ, and its list of operations
 *   fabric->lock   list of the connection requests
 *   the IA table's lock, in ia.c
 *
 * A poster reads the tail of its ring without cq->lock, so tails are atomic.  Counts of references
 * (refs) are atomic.  As libfabric requires, the program closes, binds and enables an object while
 * no other thread uses the object.
 */
#ifndef FDAT_H
#define FDAT_H

#include <pthread.h>
#include <stdint.h>
#include <sys/uio.h>

/* Threads may make calls on one IA at the same time. */
#define DAT_THREADSAFE	DAT_TRUE
#include <dat/udat.h>

#include <rdma/fabric.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_collective.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>
#include <rdma/providers/fi_log.h>
#include <rdma/providers/fi_prov.h>

#include "addr.h"
#include "evd.h"
#include "ring.h"
#include "wait.h"

#define FDAT_INJECT	128	/* inject_size: bytes of a bounce buffer */
#define FDAT_IOV	4	/* default of iov_limit */
#define FDAT_DEPTH	256	/* default length of the queues of an EP */
#define FDAT_SRX_DEPTH	1024	/* default length of an SRX */
#define FDAT_READS	16	/* RDMA reads in progress of an EP, if the adapter allows as many */
#define FDAT_MAX_IOV	32	/* limit of iov_limit */
#define FDAT_INLINE	"96"	/* bytes that DAT may copy into its queue */
#define FDAT_DATA	4	/* cq_data_size: bytes of immediate data */
#define FDAT_MR_CACHE	"mr_cache"	/* parameter: see struct fdat_domain */

/* Log to the subsystem FI_LOG_@sub: why a call fails, for FI_LOG_LEVEL=info. */
#define fdat_info(sub, ...)	FI_INFO(&fdat_prov, FI_LOG_##sub, __VA_ARGS__)

#define fdat_of(ptr, type, member) \
	((type *)((char *)(ptr) - offsetof(type, member)))

extern struct fi_provider fdat_prov;

/**
 * struct fdat_ia - an open adapter, which all objects of the process share
 * @next: next open adapter
 * @refs: number of users; protected by the lock of the table
 * @handle: the IA
 * @attr: its limits; constant
 * @cm_size: bytes of private data that the transport carries; constant
 * @iwarp: whether the target of an RDMA read needs the privilege of a remote write; constant
 * @immediate: whether messages and writes can carry immediate data; constant
 * @local: whether the adapter joins the programs of this host only; constant
 * @v4: IPv4 address, or family 0; constant
 * @v6: IPv6 address, or family 0; constant
 * @name: name of the adapter
 */
struct fdat_ia {
	struct fdat_ia		*next;
	unsigned int		refs;
	DAT_IA_HANDLE		handle;
	DAT_IA_ATTR		attr;
	size_t			cm_size;
	int			iwarp;
	int			immediate;
	int			local;
	union fdat_addr		v4;
	union fdat_addr		v6;
	char			name[DAT_NAME_MAX_LENGTH];
};

/**
 * struct fdat_fabric - a fabric
 * @fabric: libfabric's part
 * @refs: number of objects in the fabric
 * @lock: protects @requests
 * @requests: connection requests whose handles the program may use
 */
struct fdat_fabric {
	struct fid_fabric	fabric;
	int			refs;
	pthread_mutex_t		lock;
	struct fdat_connreq	*requests;
};

/**
 * struct fdat_domain - a protection zone
 * @domain: libfabric's part
 * @fabric: parent
 * @ia: adapter
 * @pz: zone of all memory and endpoints of the domain
 * @mr_cache: whether registrations are kept after their use
 * @refs: number of objects in the domain
 */
struct fdat_domain {
	struct fid_domain	domain;
	struct fdat_fabric	*fabric;
	struct fdat_ia		*ia;
	DAT_PZ_HANDLE		pz;
	int			mr_cache;
	int			refs;
};

/**
 * struct fdat_mr - a memory region
 * @mr: libfabric's part
 * @domain: parent
 * @lmr: its registration, which other regions may share
 * @kept: whether @lmr is from dat_linux_lmr_get()
 */
struct fdat_mr {
	struct fid_mr		mr;
	struct fdat_domain	*domain;
	DAT_LMR_HANDLE		lmr;
	int			kept;
};

/**
 * struct fdat_comp - a completion
 * @entry: what the program reads: each format of a CQ is the beginning of this structure
 * @err: error of libfabric, or 0
 * @prov_errno: status of DAT
 */
struct fdat_comp {
	struct fi_cq_tagged_entry	entry;
	int				err;
	int				prov_errno;
};

/**
 * struct fdat_cq - a completion queue
 * @cq: libfabric's part
 * @domain: parent
 * @refs: number of bindings of endpoints
 * @lock: protects the fields below
 * @evds: the EVD that is read next; all operations complete in the EVDs of this circle
 * @reserved: number of events for which the EVDs have room
 * @queue: completions that were moved out of the EVDs; all are older than those in the EVDs
 * @size: number of places of @queue
 * @first: index of the oldest completion in @queue
 * @count: number of completions in @queue
 * @entry_size: bytes of an entry of the format; constant
 * @threshold: whether a wait takes a number of completions to wait for; constant
 * @wait: FI_WAIT_NONE or FI_WAIT_FD; constant
 * @epoll: descriptor that is readable while an EVD or @queue has an event; constant
 * @ready: eventfd in @epoll, which is readable while @queue has a completion; constant
 * @signal: eventfd that is readable while @woken is not 0; constant
 * @signals: number of calls of fi_cq_signal()
 * @waiters: number of threads that wait
 * @woken: number of waiters that have still to see the last signal.  A signal that found no waiter
 *	is for the next one.
 */
struct fdat_cq {
	struct fid_cq		cq;
	struct fdat_domain	*domain;
	int			refs;
	pthread_mutex_t		lock;
	struct fdat_evd		*evds;
	uint64_t		reserved;
	struct fdat_comp	*queue;
	size_t			size;
	size_t			first;
	size_t			count;
	size_t			entry_size;
	int			threshold;
	enum fi_wait_obj	wait;
	int			epoll;
	int			ready;
	int			signal;
	uint64_t		signals;
	unsigned int		waiters;
	unsigned int		woken;
};

/**
 * struct fdat_source - an EVD that feeds an EQ
 * @next: next source of the EQ
 * @ia: adapter, with a reference
 * @evd: the EVD
 * @fd: its descriptor, which is in the epoll set of the EQ
 * @qlen: length of @evd
 * @reserved: number of events for which @evd needs room
 * @pep: listener whose requests arrive here; NULL if the source is for connections
 */
struct fdat_source {
	struct fdat_source	*next;
	struct fdat_ia		*ia;
	DAT_EVD_HANDLE		evd;
	int			fd;
	DAT_COUNT		qlen;
	DAT_COUNT		reserved;
	struct fdat_pep		*pep;
};

/**
 * struct fdat_event - an event of an EQ
 * @next: next event
 * @event: kind, such as FI_CONNREQ; unused for an error
 * @fid: object of the event
 * @err: error of libfabric; 0: no error
 * @prov_errno: number of the event of DAT
 * @written: whether fi_eq_write() made the event
 * @size: bytes of @data
 * @least: bytes that a reader's buffer must have
 * @data: what the program reads: struct fi_eq_entry, or fi_eq_cm_entry with private data; of an
 *	error, private data
 */
struct fdat_event {
	struct fdat_event	*next;
	uint32_t		event;
	fid_t			fid;
	int			err;
	int			prov_errno;
	int			written;
	size_t			size;
	size_t			least;
	_Alignas(8) uint8_t	data[];
};

/**
 * struct fdat_eq - an event queue
 * @eq: libfabric's part
 * @fabric: parent
 * @refs: number of bound EPs and PEPs
 * @wait: FI_WAIT_NONE or FI_WAIT_FD; constant
 * @epoll: descriptor that is readable while a source or the queue has an event; constant
 * @ready: eventfd in @epoll, which is readable while the queue has an event; constant
 * @lock: protects the fields below
 * @sources: EVDs
 * @first: oldest event in the queue
 * @last: newest event in the queue
 * @told: the last error that the program has read, because it may look at its data; or NULL
 */
struct fdat_eq {
	struct fid_eq		eq;
	struct fdat_fabric	*fabric;
	int			refs;
	enum fi_wait_obj	wait;
	int			epoll;
	int			ready;
	pthread_mutex_t		lock;
	struct fdat_source	*sources;
	struct fdat_event	*first;
	struct fdat_event	*last;
	struct fdat_event	*told;
};

/**
 * struct fdat_pep - a passive endpoint
 * @pep: libfabric's part
 * @fabric: parent
 * @info: attributes of the endpoints that it makes
 * @ia: adapter
 * @eq: event queue, or NULL
 * @source: EVD of the requests, from fi_listen() on
 * @psp: listener
 * @backlog: number of requests that may wait
 * @addr: address and port
 */
struct fdat_pep {
	struct fid_pep		pep;
	struct fdat_fabric	*fabric;
	struct fi_info		*info;
	struct fdat_ia		*ia;
	struct fdat_eq		*eq;
	struct fdat_source	*source;
	DAT_PSP_HANDLE		psp;
	int			backlog;
	union fdat_addr		addr;
};

/**
 * struct fdat_connreq - a connection request
 * @fid: handle in the fi_info of FI_CONNREQ
 * @fabric: fabric of the listener
 * @next: next request of the fabric
 * @at: pointer to this request: @next of another one, or the head of the list
 * @ia: adapter, with a reference
 * @cr: the request, until it is accepted or rejected
 * @ep: endpoint that was opened with the request, or NULL
 *
 * The handle belongs to the program until the request is accepted: also when the endpoint is closed
 * before that, the program may reject the request.  It may accept a request whose listener is
 * closed, so the close of the fabric rejects the requests that have no answer.
 */
struct fdat_connreq {
	struct fid		fid;
	struct fdat_fabric	*fabric;
	struct fdat_connreq	*next;
	struct fdat_connreq	**at;
	struct fdat_ia		*ia;
	DAT_CR_HANDLE		cr;
	struct fdat_ep		*ep;
};

/**
 * struct fdat_srx - a shared receive context
 * @ep: libfabric's part
 * @domain: parent
 * @refs: number of bound EPs
 * @srq: the SRQ
 * @size: its length
 * @iov_limit: segments of a buffer
 * @op_flags: flags of receives that give none themselves
 * @lock: protects the fields below
 * @selective: whether a receive has a completion only if it asks for one; constant from the
 *	fi_enable() of the first EP on, and negative before
 * @ops: places for all operations
 * @free: those that are not in use
 */
struct fdat_srx {
	struct fid_ep		ep;
	struct fdat_domain	*domain;
	int			refs;
	DAT_SRQ_HANDLE		srq;
	size_t			size;
	size_t			iov_limit;
	uint64_t		op_flags;
	pthread_mutex_t		lock;
	int			selective;
	struct fdat_op		*ops;
	struct fdat_op		*free;
};

/**
 * struct fdat_ep - an endpoint
 * @ep: libfabric's part
 * @domain: parent
 * @info: attributes and addresses
 * @eq: event queue, or NULL
 * @source: source of @eq for connections, from fi_enable() on
 * @tx_cq: CQ of requests, or NULL
 * @rx_cq: CQ of receives, or NULL
 * @tx_evd: EVD of @tx_cq that has room for the requests, from fi_enable() on
 * @rx_evd: EVD of @rx_cq that has room for the receives, from fi_enable() on
 * @srx: shared receive context, or NULL
 * @connreq: request that the EP is for, or NULL
 * @immediate: whether requests may carry immediate data, and the peer's may; constant
 * @tx_selective: a request has a completion only if it asks for one
 * @rx_selective: a receive has a completion only if it asks for one
 * @tx_flags: flags of requests that give none themselves
 * @rx_flags: flags of receives that give none themselves
 * @handle: the EP of DAT, from fi_enable() on
 * @lock: protects the posts and calls of connections
 * @tx: ring of requests
 * @rx: ring of receives; not used with @srx
 * @bounce: memory for the data of injected operations, FDAT_INJECT bytes for each place of @tx
 * @bounce_lmr: its registration
 * @bounce_ctx: its context
 */
struct fdat_ep {
	struct fid_ep		ep;
	struct fdat_domain	*domain;
	struct fi_info		*info;
	struct fdat_eq		*eq;
	struct fdat_source	*source;
	struct fdat_cq		*tx_cq;
	struct fdat_cq		*rx_cq;
	struct fdat_evd		*tx_evd;
	struct fdat_evd		*rx_evd;
	struct fdat_srx		*srx;
	struct fdat_connreq	*connreq;
	int			immediate;
	int			tx_selective;
	int			rx_selective;
	uint64_t		tx_flags;
	uint64_t		rx_flags;
	DAT_EP_HANDLE		handle;
	pthread_mutex_t		lock;
	struct fdat_ring	tx;
	struct fdat_ring	rx;
	uint8_t			*bounce;
	DAT_LMR_HANDLE		bounce_lmr;
	DAT_LMR_CONTEXT		bounce_ctx;
};

/* ---- err.c ---- */

/**
 * fdat_error - translate a return code
 * @rc: return code of libdat
 *
 * Return: 0 or a negative error of libfabric.
 */
int fdat_error(DAT_RETURN rc);

/**
 * fdat_post_error - translate the return code of a post
 * @rc: return code of libdat
 *
 * Return: as fdat_error(), but -FI_EAGAIN if the queue has no room.
 */
int fdat_post_error(DAT_RETURN rc);

/**
 * fdat_status_error - translate the status of a completion
 * @status: status of DAT, other than DAT_DTO_SUCCESS
 *
 * Return: a positive error of libfabric.
 */
int fdat_status_error(int status);

/**
 * fdat_status_name - describe the status of a completion
 * @status: status of DAT
 */
const char *fdat_status_name(int status);

/**
 * fdat_event_name - describe an event of a connection
 * @number: number of the event
 */
const char *fdat_event_name(int number);

/* ---- ia.c ---- */

/**
 * fdat_ia_get - open an adapter, or take another reference
 * @name: name of the adapter
 * @ia: out
 *
 * Return: 0 or a negative error of libfabric.
 */
int fdat_ia_get(const char *name, struct fdat_ia **ia);
void fdat_ia_hold(struct fdat_ia *ia);
void fdat_ia_put(struct fdat_ia *ia);

/**
 * fdat_ia_address - address of an adapter
 * @ia: the adapter
 * @family: AF_INET, AF_INET6, or AF_UNSPEC for any
 *
 * Return: the address, or NULL if the adapter has none of the family.
 */
const union fdat_addr *fdat_ia_address(const struct fdat_ia *ia, int family);

/* Returns the length of the longest message. */
size_t fdat_message_max(const struct fdat_ia *ia);

/* Returns how many segments the adapter may need for @n segments of a program. */
DAT_COUNT fdat_parts(const struct fdat_ia *ia, size_t n);

/* Returns how many segments a receive, or any kind of request, may have. */
size_t fdat_rx_iov_max(const struct fdat_ia *ia);
size_t fdat_tx_iov_max(const struct fdat_ia *ia);

/**
 * fdat_ia_names - list the adapters of the host
 * @names: out: array, which the caller frees
 * @n: out: its length
 *
 * Return: 0, or a negative error of libfabric.  Without the driver the list is empty.
 */
int fdat_ia_names(DAT_PROVIDER_INFO **names, size_t *n);

/* ---- info.c, fabric.c, domain.c, mr.c ---- */

int fdat_getinfo(uint32_t version, const char *node, const char *service, uint64_t flags,
		 const struct fi_info *hints, struct fi_info **info);
int fdat_fabric_open(struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context);
int fdat_domain_open(struct fid_fabric *fabric, struct fi_info *info, struct fid_domain **domain,
		     void *context);
extern struct fi_ops_mr fdat_mr_ops;

/* Take or drop a reference. */
void fdat_ref(int *refs);
void fdat_unref(int *refs);
int fdat_refs(const int *refs);

/* ---- cq.c ---- */

int fdat_cq_open(struct fid_domain *domain, struct fi_cq_attr *attr, struct fid_cq **cq,
		 void *context);

/**
 * fdat_cq_flush_prepare - make room for the completions that a close may add
 * @cq: the CQ
 *
 * Return: 0 or -FI_ENOMEM.  After success, fdat_cq_flush() cannot fail, unless another endpoint was
 * closed meanwhile.
 */
int fdat_cq_flush_prepare(struct fdat_cq *cq);

/**
 * fdat_cq_flush - complete all operations of a ring whose EP is gone
 * @cq: CQ of the ring
 * @ring: the ring; NULL only takes the events of an EP with an SRX out of the EVDs
 *
 * Return: 0 or -FI_ENOMEM, if completions were lost.
 */
int fdat_cq_flush(struct fdat_cq *cq, struct fdat_ring *ring);

/*
 * Free the places of events without a completion, up to the first event that has one.  The caller
 * holds no lock, or ep->lock.
 */
void fdat_cq_pull(struct fdat_cq *cq);

/* Returns 0 if the program may wait for the descriptor of the CQ, or -FI_EAGAIN. */
int fdat_cq_trywait(struct fdat_cq *cq);

/* ---- eq.c ---- */

int fdat_eq_open(struct fid_fabric *fabric, struct fi_eq_attr *attr, struct fid_eq **eq,
		 void *context);

/**
 * fdat_eq_connections - get the source for the connections of an adapter
 * @eq: the EQ; the caller holds its lock
 * @ia: the adapter
 * @source: out: the source, with room for the events of one more EP
 *
 * Return: 0 or a negative error of libfabric.
 */
int fdat_eq_connections(struct fdat_eq *eq, struct fdat_ia *ia, struct fdat_source **source);
/* Give back what fdat_eq_connections() has reserved for an EP that is gone. */
void fdat_eq_unreserve(struct fdat_eq *eq, struct fdat_source *source);

/**
 * fdat_eq_listen - make a source for the requests of a listener
 * @eq: the EQ; the caller holds its lock
 * @pep: the listener
 * @source: out
 *
 * Return: 0 or a negative error of libfabric.
 */
int fdat_eq_listen(struct fdat_eq *eq, struct fdat_pep *pep, struct fdat_source **source);
void fdat_source_free(struct fdat_eq *eq, struct fdat_source *source);

/* Remove all events of @fid from the queue; the caller holds the lock. */
void fdat_eq_forget(struct fdat_eq *eq, fid_t fid);

/* Returns 0 if the program may wait for the descriptor of the EQ, or -FI_EAGAIN. */
int fdat_eq_trywait(struct fdat_eq *eq);

/* ---- cm.c and pep.c ---- */

/**
 * fdat_cm_event - translate an event of an EVD of an EQ
 * @source: source of the event; the caller holds the lock of the EQ
 * @event: the event
 *
 * Return: the event for the queue; NULL if the program is not to see it, or if memory is short.
 */
struct fdat_event *fdat_cm_event(struct fdat_source *source, const DAT_EVENT *event);

/* Returns the bytes of private data that a program may pass. */
size_t fdat_cm_size(const struct fdat_ia *ia);
/* fi_getopt() of active and passive endpoints: the only option is FI_OPT_CM_DATA_SIZE. */
int fdat_cm_getopt(const struct fdat_ia *ia, int level, int name, void *val, size_t *len);

/* Free a request; it is rejected unless it was accepted. */
void fdat_connreq_free(struct fdat_connreq *req);
/* Reject a request, with data of the program of which as much is sent as fits, and free it. */
void fdat_connreq_reject(struct fdat_connreq *req, const void *param, size_t len);
/* The endpoint of a request is closed: a request that was not accepted is rejected. */
void fdat_connreq_leave(struct fdat_connreq *req);

int fdat_pep_open(struct fid_fabric *fabric, struct fi_info *info, struct fid_pep **pep,
		  void *context);
extern struct fi_ops_cm fdat_cm_ops;

/* ---- ep.c and srx.c ---- */

int fdat_ep_open(struct fid_domain *domain, struct fi_info *info, struct fid_ep **ep,
		 void *context);
int fdat_srx_open(struct fid_domain *domain, struct fi_rx_attr *attr, struct fid_ep **srx,
		  void *context);
/* Put back an operation of an SRX that has completed. */
void fdat_srx_release(struct fdat_op *op);

/**
 * fdat_srx_selective - make known whether an EP of an SRX has FI_SELECTIVE_COMPLETION
 * @srx: the shared receive context
 * @selective: whether the EP has the flag
 *
 * An operation does not tell which EP will receive it, so all EPs have the flag, or none of them.
 *
 * Return: 0, or -FI_EINVAL if other EPs of the SRX differ.
 */
int fdat_srx_selective(struct fdat_srx *srx, int selective);

/* ---- msg.c and rma.c ---- */

extern struct fi_ops_msg fdat_msg_ops;
extern struct fi_ops_rma fdat_rma_ops;

/* Store @count segments of the program in @to; returns their bytes. */
uint64_t fdat_segments(DAT_LMR_TRIPLET *to, const struct iovec *iov, void **desc, size_t count);

/**
 * struct fdat_request - a request that is about to be posted
 * @iov: segments
 * @desc: descriptors of the segments, or NULL
 * @count: number of segments
 * @remote: memory of the peer, or NULL for a send
 * @context: context of the program
 * @data: immediate data, if @op_flags has FI_REMOTE_CQ_DATA
 * @op_flags: flags of the operation
 * @flags: flags of its completion
 */
struct fdat_request {
	const struct iovec		*iov;
	void				**desc;
	size_t				count;
	const struct fi_rma_iov		*remote;
	void				*context;
	uint64_t			data;
	uint64_t			op_flags;
	uint64_t			flags;
};

/* An operation that fi_inject() and its kin post: its data are copied, and it has no completion. */
#define FDAT_NO_CONTEXT		(1ULL << 60)

/**
 * fdat_post - post a request
 * @ep: the endpoint
 * @r: the request
 *
 * Return: 0 or a negative error of libfabric.
 */
ssize_t fdat_post(struct fdat_ep *ep, const struct fdat_request *r);

#include "none.h"

#endif /* FDAT_H */
