/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) The dat authors */
/* Private declarations of the verbs transport. */
#ifndef _DAT_VERBS_H
#define _DAT_VERBS_H

#include <linux/hash.h>
#include <linux/interrupt.h>
#include <linux/irq_poll.h>
#include <rdma/ib_verbs.h>

#include "core/dat.h"
#include "core/ep/conn.h"
#include "core/ep/psp.h"
#include "core/ep/queue.h"
#include "core/ep/srq.h"
#include "core/event/evd.h"
#include "core/locked.h"
#include "core/mem/lmr.h"
#include "core/mem/rmr.h"
#include "core/xport.h"

/* Private data, also with a fabric that could carry more: a peer may run another implementation. */
#define VERBS_PD_REQUEST	56	/* an IB CM REQ minus rdma_cm's header */
#define VERBS_PD_REPLY		196
#define VERBS_PD_REJECT		144	/* an IB CM REJ minus what dat_cr_reject() adds */
#define VERBS_CQ_BUDGET	64	/* most completions taken from a CQ in one hold of cq->lock */

struct ib_umem;
struct rdma_cm_event;
struct rdma_cm_id;
struct verbs_regqp;

/* A protection zone.  Lock order: ia->sem, @reg_lock, handler locks of rdma_cm ids. */
struct verbs_pz {
	struct dat_pz		pz;
	struct ib_pd		*pd;		/* NULL after shutdown */
	struct mutex		reg_lock;	/* protects @reg */
	struct verbs_regqp	*reg;		/* registers memory; NULL until it is needed */
};

/*
 * An LMR of the verbs transport.  If memory that is registered by work request is too long for one
 * MR, the LMR has one MR for each chunk of lmr.chunks.
 */
struct verbs_lmr {
	struct dat_lmr		lmr;
	/* NULL after shutdown, if the memory needs no MR, or if the chunks have MRs. */
	struct ib_mr		*mr;
	int			access;		/* IB_ACCESS_* bits of the next REG_MR; FMRs only */
	struct ib_umem		*umem;		/* user pages if VERBS_REG_REQUEST, else NULL */
	struct ib_mr		**chunk_mr;	/* array of the chunks' MRs, or NULL */
	u32			nchunks;	/* number of MRs in @chunk_mr */
};

/* Number of keys that an MR can have: the low byte of a key can be chosen. */
#define VERBS_MR_KEYS	256
/* Size in pages of the largest MR that an RMR keeps: a page list of DAT_LOCKED_RMR bytes. */
#define VERBS_MR_KEPT	(DAT_LOCKED_RMR / sizeof(u64))

/* An MR of a binding. */
struct verbs_mr {
	struct ib_mr		*mr;		/* or NULL */
	u32			pages;		/* most pages; 0: not registered by work request */
	u32			keys;		/* number of keys that @mr has had */
};

/* An RMR of the verbs transport. */
struct verbs_rmr {
	struct dat_rmr		rmr;
	struct verbs_mr		spare;		/* MR without memory; protected by rmr.lock */
};

/* A binding of the verbs transport. */
struct verbs_binding {
	struct dat_binding	b;
	struct verbs_mr		m;		/* no MR if verbs_bind_init() has failed */
	struct ib_umem		*umem;		/* user pages pinned for a work request, or NULL */
	int			access;		/* IB_ACCESS_* bits of @m */
};

/* An EVD of the verbs transport. */
struct verbs_evd {
	struct dat_evd		evd;
	struct mutex		making;		/* held while a CQ is made */
	spinlock_t		lock;		/* protects @cqs, and members of the CQs */
	struct verbs_cq		*cqs;		/* list of the EVD's CQs; the newest is the first */
};

/* An SRQ whose window is reserved in a CQ. */
struct verbs_cq_srq {
	struct list_head	entry;		/* in vcq->srqs */
	const struct dat_srq	*srq;		/* NULL: see use_release() */
	u32			window;		/* number of entries that are reserved */
	u32			users;		/* number of connections of @srq that use the CQ */
	bool			stuck;		/* a queue pair with @srq is stuck in the CQ */
};

/**
 * struct verbs_cq - completion queue of the device
 * @cq: the core's part, with the lock of the polls
 * @ib: CQ of ib_core
 * @vdev: device
 * @vevd: EVD whose connections share the CQ, with a reference; NULL if the CQ is for a single
 *	connection, or once @abandoned is set
 * @next: next CQ of @vevd
 * @users: number of connections that hold the CQ
 * @entries: number of completions for which the CQ was made
 * @reserved: number of completions that its connections may have in the CQ; at most @entries
 * @srqs: list of struct verbs_cq_srq
 * @vector: completion vector
 * @locked: charge
 * @failed: flag: the CQ has failed and delivers no more completions; never cleared; read without a
 *	lock
 * @iop: irq_poll instance that polls the CQ when the notification handler cannot
 * @recv_task: tasklet that handles notifications, if @solicited was ever set
 * @error_work: work that handles an error event, because the driver may report the event in hard
 *	interrupt
 * @grace_work: delayed work that queues @exit_work; used with DAT_QUIRK_CQ_GRACE
 * @exit_work: work that destroys the CQ
 *
 * @vevd->lock protects @next, @users, @reserved and @srqs.  @cq.lock protects:
 *
 * @abandoned: flag: a queue pair of a removed device is stuck in the CQ; never cleared
 * @solicited: connection, if this is the receive CQ of a solicited connection; else NULL
 * @wc: completions taken from @ib
 * @done: buffer for completions that are passed to the core
 * @bits: binary logarithm of the number of lists in @qps, at least 1; constant
 * @qps: hash table of struct verbs_cq_use by the address of the queue pair
 */
struct verbs_cq {
	struct dat_cq		cq;
	struct ib_cq		*ib;
	struct verbs_dev	*vdev;
	struct verbs_evd	*vevd;
	struct verbs_cq		*next;
	u32			users;
	u32			entries;
	u32			reserved;
	struct list_head	srqs;
	u32			vector;
	struct dat_locked	locked;
	bool			failed;
	struct irq_poll		iop;
	struct tasklet_struct	recv_task;
	struct work_struct	error_work;
	struct delayed_work	grace_work;
	struct rcu_work		exit_work;
	bool			abandoned;
	struct verbs_conn	*solicited;
	struct ib_wc		wc[DAT_BATCH];
	struct dat_completion	done[DAT_BATCH];
	u32			bits;
	struct hlist_head	qps[];
};

/**
 * struct verbs_cq_use - use of a CQ by a connection
 * @vcq: CQ, or NULL
 * @vc: connection; constant
 * @entries: number of completions that are reserved
 * @srq: SRQ of the connection if its receives complete in the CQ, else NULL
 * @qp: queue pair; key of the entry in vcq->qps
 * @node: entry in vcq->qps; polls report the completions of the connections that are there
 */
struct verbs_cq_use {
	struct verbs_cq		*vcq;
	struct verbs_conn	*vc;
	u32			entries;
	const struct dat_srq	*srq;
	const struct ib_qp	*qp;
	struct hlist_node	node;
};

struct verbs_srq {
	struct dat_srq		srq_obj;
	struct ib_srq		*srq;		/* NULL after shutdown; posts hold srq_obj.lock */
};

static inline struct verbs_pz *to_verbs_pz(struct dat_pz *pz)
{
	return container_of(pz, struct verbs_pz, pz);
}

static inline struct verbs_lmr *to_verbs_lmr(struct dat_lmr *lmr)
{
	return container_of(lmr, struct verbs_lmr, lmr);
}

static inline struct verbs_binding *to_verbs_binding(struct dat_binding *b)
{
	return container_of(b, struct verbs_binding, b);
}

static inline struct verbs_rmr *to_verbs_rmr(struct dat_rmr *rmr)
{
	return container_of(rmr, struct verbs_rmr, rmr);
}

static inline struct verbs_evd *to_verbs_evd(struct dat_evd *evd)
{
	return container_of(evd, struct verbs_evd, evd);
}

static inline struct verbs_cq *to_verbs_cq(struct dat_cq *cq)
{
	return container_of(cq, struct verbs_cq, cq);
}

static inline struct verbs_srq *to_verbs_srq(struct dat_srq *srq)
{
	return container_of(srq, struct verbs_srq, srq_obj);
}

/**
 * struct verbs_conn - connection of the verbs transport
 * @conn: connection of the core
 * @id: rdma_cm id, owned by the connection; the context pointer of the id is @conn
 * @qp: queue pair; owned by @id; NULL after its destruction; the pointer is cleared under ep->lock
 * @requests: CQ for requests, and for receives if @recvs has no CQ
 * @recvs: CQ for receives, if it is another one
 * @error_work: work that handles an error event of @qp, because the driver may report the event in
 *	hard interrupt
 * @step: index of the current step of the teardown
 * @step_began: time in jiffies when the current step of the teardown began
 * @cm_event_seen: flag: rdma_cm has reported an event of @id; never cleared; read without a lock
 * @established: flag: rdma_cm has reported ESTABLISHED, so @qp can receive; never cleared; read
 *	without a lock
 * @routed: flag: rdma_cm has resolved the route to the peer; protected by the handler lock of @id
 * @prepared: flag: the active side has made @qp and posted the receives; protected by the handler
 *	lock of @id
 * @last_wqe: flag: @qp is in error and takes no more receives from the SRQ; never cleared; read
 *	without a lock
 * @peer_qpn: queue pair number of the peer; 0 with iWARP; set before ESTABLISHED
 * @peer_let: flag: verbs_allow_peer() has succeeded; constant once the connection is closing
 * @refused: flag: the device has refused a request of the peer; never cleared; read without a lock
 * @reads: number of RDMA reads posted since the queue last had no request in flight; used only by
 *	order.c; protected by ep->lock
 * @in_error: flag: the teardown has moved @qp to the error state; used only by the teardown
 * @sq_drained: flag: all requests of @qp have completed, or the device has refused the drain's
 *	marker; protected by ep->lock
 * @draining: flag: the teardown waits for the drain's marker; protected by ep->lock
 * @drain_cqe: CQE of the drain's marker
 * @mark_cqe: CQE of the marker of verbs_mark()
 * @bind_cqe: CQE of the work requests for the binding of conn.bind
 * @stuck: QP that the driver could not destroy, or NULL
 * @stuck_entry: entry in the device's list of such connections
 */
struct verbs_conn {
	struct dat_conn		conn;
	struct rdma_cm_id	*id;
	struct ib_qp		*qp;
	struct verbs_cq_use	requests;
	struct verbs_cq_use	recvs;
	struct work_struct	error_work;
	u32			step;
	unsigned long		step_began;
	bool			cm_event_seen;
	bool			established;
	bool			routed;
	bool			prepared;
	bool			last_wqe;
	u32			peer_qpn;
	bool			peer_let;
	bool			refused;
	u32			reads;
	bool			in_error;
	bool			sq_drained;
	bool			draining;
	struct ib_cqe		drain_cqe;
	struct ib_cqe		mark_cqe;
	struct ib_cqe		bind_cqe;
	struct ib_qp		*stuck;
	struct list_head	stuck_entry;
};

static inline struct verbs_conn *to_verbs_conn(struct dat_conn *conn)
{
	return container_of(conn, struct verbs_conn, conn);
}

/* Ways to register memory of a process. */
enum verbs_reg {
	VERBS_REG_DIRECT,	/* ib_reg_user_mr() */
	VERBS_REG_UDATA,	/* the driver's reg_user_mr(), with an empty udata */
	VERBS_REG_REQUEST,	/* a work request on a connection of the zone; see regqp.c */
};

/* A device of the verbs transport.  The member priv of struct dat_dev points to this structure. */
struct verbs_dev {
	struct ib_device	*ibdev;
	struct dat_dev		*dev;		/* core's structure for the device */
	struct ib_event_handler	events;		/* asynchronous events of @ibdev */
	enum verbs_reg		reg;		/* way to register memory of a process */
	u64			page_sizes;	/* mask of the page sizes that REG_MR may use */
	bool			known;		/* flag: quirks.c lists the driver */
	struct list_head	watches;	/* watches of the addresses; see listen.c */
	spinlock_t		stuck_lock;	/* protects @stuck and @stuck_mrs */
	struct list_head	stuck;		/* connections whose QP was not destroyed */
	struct list_head	stuck_mrs;	/* MRs that were not destroyed; see stuck.c */
	u32			nvectors;	/* number of completion vectors, at least 1 */
	atomic_t		vector_users[];	/* number of CQs, for each vector */
};

static inline struct verbs_dev *to_verbs_dev(const struct dat_dev *dev)
{
	return dev->priv;
}

static inline struct ib_device *verbs_device(const struct dat_dev *dev)
{
	return to_verbs_dev(dev)->ibdev;
}

/* addr.c */

/* Addresses of an adapter in a network namespace, sorted, each once. */
struct verbs_addrs {
	struct sockaddr_storage	*list;
	u32			n;
};

static inline int verbs_addr_cmp(const struct sockaddr_storage *a,
				 const struct sockaddr_storage *b)
{
	return memcmp(a, b, sizeof(*a));
}

bool verbs_port_visible(const struct dat_dev *dev, u32 port, struct net *net);
bool verbs_addr(const struct dat_dev *dev, u32 port, struct net *net,
		const struct sockaddr_storage *only, u32 *nr, struct sockaddr_storage *ss);
int verbs_addrs_read(const struct dat_dev *dev, u32 port, struct net *net, struct verbs_addrs *a);
bool verbs_addrs_same(const struct verbs_addrs *a, const struct verbs_addrs *b);
void verbs_addrs_free(struct verbs_addrs *a);
bool verbs_addr_usable(struct net *net, const struct sockaddr_storage *ss);
int verbs_source(const struct dat_ia *ia, const struct sockaddr_storage *dst,
		 struct sockaddr_storage *src);

/* mr.c */
int verbs_pz_init(struct dat_pz *pz);
void verbs_pz_exit(struct dat_pz *pz);
int verbs_mem_map(struct dat_dev *dev, struct dat_kmem *mem, u32 priv);
void verbs_mem_unmap(struct dat_dev *dev, struct dat_kmem *mem);
void verbs_mem_sync(struct dat_dev *dev, struct dat_kmem *mem, u64 offset, u64 length,
		    bool for_cpu);
struct ib_mr *verbs_alloc_mr(const struct dat_pz *pz, u32 pages);
struct ib_mr *verbs_mr_of_part(struct dat_pz *pz, struct dat_kmem *mem, u64 offset, u64 length,
			       u64 iova, struct verbs_mr *spare);
struct ib_mr *verbs_mr_of_umem(struct dat_pz *pz, const struct ib_umem *umem,
			       struct verbs_mr *spare);
struct ib_mr *verbs_reg_user(struct dat_pz *pz, u64 addr, u64 length, int access, u32 priv);
int verbs_lmr_user(struct dat_lmr *lmr);
int verbs_lmr_kernel(struct dat_lmr *lmr);
void verbs_lmr_exit(struct dat_lmr *lmr);
int verbs_lmr_empty(struct dat_lmr *lmr, u32 max_pages);
int verbs_lmr_map(struct dat_lmr *lmr, struct dat_kmem *mem, u32 max_pages, u64 start, u32 priv,
		  struct dat_keys *keys);
void verbs_lmr_build(struct dat_lmr *lmr, u8 op, union dat_send_wr *out);

/* bind.c */
int verbs_bind_init(struct dat_binding *b);
void verbs_bind_exit(struct dat_binding *b);
void verbs_rmr_exit(struct dat_rmr *rmr);
int verbs_bind_start(struct dat_conn *conn, struct dat_binding *b);

/* srq.c */
int verbs_srq_init(struct dat_srq *srq, u32 max_recv, u32 max_iov);
void verbs_srq_exit(struct dat_srq *srq);
int verbs_srq_post(struct dat_srq *srq, const struct ib_recv_wr *wr);

/* regqp.c */
int verbs_pz_register(struct dat_pz *pz, struct ib_mr *mr, int access);
void verbs_regqp_free(struct verbs_regqp *r);

/* listen.c */
int verbs_listen(struct dat_psp *psp, u16 port);
void verbs_unlisten(struct dat_psp *psp);
void verbs_addrs_changed(struct verbs_dev *vdev, u32 port);
int verbs_listen_init(void);
void verbs_listen_exit(void);

/* request.c */
int verbs_request_handler(struct rdma_cm_id *id, struct rdma_cm_event *event);
bool verbs_is_refusal(const void *pd, u32 pd_len);
void verbs_request_lock(void *request);
void verbs_request_unlock(void *request);
void verbs_request_own(void *request, struct dat_cr *cr);
void verbs_reject(void *request, const void *pd, u32 pd_len);
void verbs_abandon(void *request);

/* device.c */
int dat_verbs_init(void);
void dat_verbs_exit(void);

/* cm.c */
void verbs_implied_established(struct dat_conn *conn);
int verbs_connect(struct dat_conn *conn, const struct sockaddr_storage *dst, u32 qos);
int verbs_accept(struct dat_conn *conn, struct dat_cr *cr, void *request);

/* qp.c */
int verbs_make_qp(struct dat_conn *conn);
void verbs_conn_init(struct dat_conn *conn);
unsigned long verbs_conn_quiesce(struct dat_conn *conn);
void verbs_conn_unbind(struct dat_conn *conn);
void verbs_conn_exit(struct dat_conn *conn);
void verbs_path(struct dat_conn *conn, struct dat_path *path);
int verbs_allow_peer(struct dat_conn *conn, bool write);
int verbs_post_send(struct dat_conn *conn, struct ib_send_wr *wr, const struct ib_send_wr **bad);
int verbs_mark(struct dat_conn *conn);
int verbs_post_recv(struct dat_conn *conn, const struct ib_recv_wr *wr,
		    const struct ib_recv_wr **bad);

/* cq.c */
void verbs_evd_init(struct dat_evd *evd);
void verbs_cqs_init(struct verbs_conn *vc);
int verbs_cqs_get(struct verbs_conn *vc, u32 sq, u32 recvs);
void verbs_cqs_attach(struct verbs_conn *vc);
void verbs_cqs_detach(struct verbs_conn *vc, bool stuck);
void verbs_cqs_put(struct verbs_conn *vc);
void verbs_cqs_abandon(struct verbs_conn *vc);

static inline struct hlist_head *verbs_cq_list(struct verbs_cq *vcq, const struct ib_qp *qp)
{
	return &vcq->qps[hash_ptr(qp, vcq->bits)];
}

/* Finds the use of a CQ by the connection of @qp.  cq->lock is held.  Does not read *@qp. */
static inline struct verbs_cq_use *verbs_cq_find(struct verbs_cq *vcq, const struct ib_qp *qp)
{
	struct verbs_cq_use *use;

	lockdep_assert_held(&vcq->cq.lock);
	hlist_for_each_entry(use, verbs_cq_list(vcq, qp), node)
		if (use->qp == qp)
			return use;
	return NULL;
}

static inline bool verbs_cq_failed(const struct verbs_conn *vc)
{
	return READ_ONCE(vc->requests.vcq->failed) ||
	       (vc->recvs.vcq && READ_ONCE(vc->recvs.vcq->failed));
}

/* poll.c */
bool verbs_poll(struct verbs_cq *vcq, u32 budget, u32 *taken);
void verbs_notified(struct ib_cq *ib, void *context);
int verbs_irq_poll(struct irq_poll *iop, int budget);
void verbs_look(struct dat_cq *cq);
void verbs_run(struct dat_ep *ep);
void verbs_rearm(struct dat_cq *cq);
void verbs_empty_cq(struct verbs_cq *vcq);

/* order.c */
bool verbs_send_waits(struct dat_conn *conn, unsigned int n);
void verbs_order_sends(struct ib_send_wr *wr);

/* solicited.c */
void verbs_recv_notified(struct ib_cq *ib, void *context);
void verbs_recv_arm(struct verbs_cq *vcq);
void verbs_recv_init(struct verbs_cq *vcq, struct verbs_conn *vc);
int verbs_recv_take(struct dat_conn *conn);
void verbs_recv_notify_all(struct verbs_conn *vc);

/* stuck.c */
void verbs_qp_stuck(struct verbs_conn *vc);
void verbs_stuck_keep(struct verbs_conn *vc);
void verbs_dereg_mr(const struct dat_dev *dev, struct ib_mr *mr, struct ib_umem **umem);
void verbs_stuck_end(struct verbs_dev *vdev);

/* quirks.c */
void verbs_driver_set(struct verbs_dev *vdev, struct dat_dev *dev);

#endif /* _DAT_VERBS_H */
