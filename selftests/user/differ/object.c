// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * The objects of this process, and the calls that the script makes.  A call for an object of the
 * other side does nothing here.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "differ.h"

#define STREAMS	(DAT_STREAM_DTO | DAT_STREAM_CONNECTION | DAT_STREAM_RMR_BIND | DAT_STREAM_SOFTWARE)
#define QLEN	128

static struct t_file f;
static uint32_t zones[ZONES], psps[PSPS];
static struct t_evd evds[EVDS];
static struct t_ep eps[EPS];
static struct t_srq srq;
static uint32_t max_inline[EPS];	/* what the adapter has granted */

static void call(unsigned long cmd, void *arg, int want, const char *what)
{
	check(t_ioctl(f.fd, cmd, arg), want, what);
}

/* Like t_open(), but opens the adapter that the command line names. */
static void file_open(void)
{
	struct dat_ia_open arg = { .size = sizeof(arg) };

	memset(&f, 0, sizeof(f));
	f.fd = open("/dev/dat", O_RDWR | O_CLOEXEC);
	if (f.fd < 0)
		fail("cannot open /dev/dat");
	snprintf((char *)arg.name, sizeof(arg.name), "%s", adapter);
	arg.features = features;
	call(DAT_IOC_IA_OPEN, &arg, 0, "IA_OPEN");
	f.max_queues = arg.max_queues;
	f.info.size = sizeof(f.info);
	call(DAT_IOC_IA_QUERY, &f.info, 0, "IA_QUERY");
	check(t_map(&f, arg.doorbell_offset, arg.doorbell_size, PROT_READ | PROT_WRITE, &f.db), 0,
	      "mmap of the doorbells");
}

void objects_open(void)
{
	struct dat_psp_create psp;
	struct dat_srq_create arg;
	uint32_t i;

	file_open();
	for (i = 0; i < ZONES; i++)
		check(t_pz(&f, &zones[i]), 0, "PZ_CREATE");
	for (i = 0; i < EPS; i++)
		check(t_evd(&f, STREAMS, QLEN, &evds[i]), 0, "EVD_CREATE");
	check(t_evd(&f, DAT_STREAM_CR, 16, &evds[EVD_CR]), 0, "EVD_CREATE");
	check(t_evd(&f, DAT_STREAM_ASYNC, 64, &evds[EVD_ASYNC]), 0, "EVD_CREATE");
	for (i = 0; i < PSPS; i++) {
		psp = (struct dat_psp_create) {
			.size = sizeof(psp), .evd = evds[EVD_CR].id,
			.conn_qual = qual + 2 * me + i, .user_data = OWNER_PSP(me, i),
		};
		call(DAT_IOC_PSP_CREATE, &psp, 0, "PSP_CREATE");
		psps[i] = psp.id;
	}
	arg = (struct dat_srq_create) {
		.size = sizeof(arg), .pz = zones[0], .max_recv = DEPTH, .max_iov = SRQ_IOV,
		.user_data = OWNER_SRQ(me),
	};
	check(t_any_srq(&f, &arg, &srq), 0, "SRQ_CREATE");
}

void objects_close(void)
{
	t_close(&f);
}

/* A child has inherited the descriptor, and no mapping. */
void objects_forget(void)
{
	close(f.fd);
}

struct t_evd *object_evd(int evd)
{
	return &evds[evd];
}

const struct t_ep *object_ep(uint32_t nr)
{
	return &eps[nr];
}

const struct t_srq *object_srq(void)
{
	return &srq;
}

static void obj_free(uint32_t type, uint32_t id, int want, const char *what)
{
	int ret, i;

	/* A binding may keep its LMR for a moment after the event of the bind that has ended it. */
	for (i = 0; i < 1000; i++) {
		ret = t_free(&f, type, id);
		if (ret != -EBUSY || want == -EBUSY)
			break;
		usleep(1000);
	}
	check(ret, want, what);
}

void object_lmr_create(uint32_t side, int nr)
{
	const struct m_lmr *l = &m.lmr[side][nr];
	struct dat_lmr_create arg = {
		.size = sizeof(arg), .length = l->len, .priv = l->priv,
		.addr = (uintptr_t)base[side] + l->at,
	};

	if (!acts(side))
		return;
	arg.pz = zones[l->zone];
	call(DAT_IOC_LMR_CREATE, &arg, 0, "LMR_CREATE");
	shared->facts[side].lmr[nr].id = arg.id;
	shared->facts[side].lmr[nr].lkey = arg.lmr_context;
	shared->facts[side].lmr[nr].rkey = arg.rmr_context;
}

void object_lmr_free(uint32_t side, int nr, int want)
{
	if (acts(side))
		obj_free(DAT_OBJ_LMR, shared->facts[side].lmr[nr].id, want, "free of an LMR");
}

void object_rmr_create(uint32_t side, int nr)
{
	struct dat_rmr_create arg = { .size = sizeof(arg), .user_data = OWNER_RMR(side, nr) };

	if (!acts(side))
		return;
	arg.pz = zones[m.rmr[side][nr].zone];
	call(DAT_IOC_RMR_CREATE, &arg, 0, "RMR_CREATE");
	shared->facts[side].rmr[nr] = arg.id;
}

void object_rmr_free(uint32_t side, int nr)
{
	if (acts(side))
		obj_free(DAT_OBJ_RMR, shared->facts[side].rmr[nr], 0, "free of an RMR");
}

/* Prepares the binding @b. */
void object_bind(uint32_t side, int rmr, const struct m_bind *b, int want)
{
	struct dat_rmr_bind arg = {
		.size = sizeof(arg), .id = shared->facts[side].rmr[rmr], .priv = b->priv,
	};

	if (!acts(side))
		return;
	if (b->lmr != NO_LMR) {
		arg.lmr = shared->facts[side].lmr[b->lmr].id;
		arg.addr = (uintptr_t)base[side] + b->at;
		arg.length = b->len;
	}
	call(DAT_IOC_RMR_BIND, &arg, want, "RMR_BIND");
	if (want)
		return;
	shared->facts[side].bind[rmr][b->nr % BINDS].key = arg.rmr_context;
	shared->facts[side].bind[rmr][b->nr % BINDS].ticket = arg.ticket;
}

/* --- endpoints ----------------------------------------------------------------- */

void object_ep_create(struct m_ep *ep)
{
	struct dat_ep_create arg = {
		.max_recv = ep->srq ? 0 : ep->rq_len, .max_request = ep->sq_len,
		.max_recv_iov = MAX_RECV_IOV, .max_request_iov = ep->iov,
		.read_in = 4, .read_out = 4, .user_data = OWNER_EP(ep),
		.recv_flags = ep->solicited ? DAT_SQE_SOLICITED : 0,
		.max_inline = ep->in_line ? DAT_MAX_INLINE : 0,
	};

	if (!acts(ep->side))
		return;
	arg.pz = zones[0];
	arg.recv_evd = evds[ep->nr].id;
	arg.request_evd = evds[ep->nr].id;
	arg.connect_evd = evds[ep->nr].id;
	arg.srq = ep->srq ? srq.id : 0;
	check(t_any_ep(&f, &arg, &eps[ep->nr]), 0, "EP_CREATE");
	max_inline[ep->nr] = arg.max_inline;
}

void object_ep_free(struct m_ep *ep)
{
	struct t_ep *t = &eps[ep->nr];

	if (!acts(ep->side))
		return;
	check(t_free(&f, DAT_OBJ_EP, t->id), 0, "free of an EP");
	t_unmap(&t->submit);
	t_unmap(&t->status);
}

static void queue_moved(struct t_queue *q, uint32_t entries, uint32_t shift, void *ring,
			uint32_t *tail)
{
	q->entries = entries;
	q->shift = shift;
	q->ring = ring;
	q->shared_tail = tail;
}

/* Gives an EP the lengths of queues that the model has, in one step. */
void object_ep_modify(struct m_ep *ep, int want)
{
	struct t_ep *t = &eps[ep->nr];
	struct dat_ep_modify arg = {
		.size = sizeof(arg), .id = t->id, .pz = zones[0],
		.recv_evd = evds[ep->nr].id, .request_evd = evds[ep->nr].id,
		.connect_evd = evds[ep->nr].id, .max_recv = ep->srq ? 0 : ep->rq_len,
		.max_request = ep->sq_len, .max_recv_iov = MAX_RECV_IOV,
		.max_request_iov = ep->iov, .read_in = 4, .read_out = 4,
		.recv_flags = ep->solicited ? DAT_SQE_SOLICITED : 0,
		.max_inline = max_inline[ep->nr],
	};
	struct dat_submit *submit;

	if (!acts(ep->side))
		return;
	call(DAT_IOC_EP_MODIFY, &arg, want, "EP_MODIFY");
	if (want)
		return;
	t_unmap(&t->submit);
	check(t_map_span(&f, &arg.submit, PROT_READ | PROT_WRITE, &t->submit), 0, "mmap of an EP");
	submit = t->submit.va;
	queue_moved(&t->sq, arg.max_request, arg.sq_shift, (char *)submit + arg.sq_offset,
		    &submit->sq_tail);
	queue_moved(&t->rq, arg.max_recv, arg.rq_shift, (char *)submit + arg.rq_offset,
		    &submit->rq_tail);
}

/* --- posts --------------------------------------------------------------------- */

static uint32_t segment_key(uint32_t side, const struct seg *s)
{
	return s->lmr == NO_LMR ? s->key : shared->facts[side].lmr[s->lmr].lkey;
}

static void put_segments(uint32_t side, void *to, const struct wr *wr)
{
	struct dat_sge *sge = to;
	int i;

	for (i = 0; i < wr->nseg; i++)
		sge[i] = (struct dat_sge) {
			.addr = (uintptr_t)base[side] + wr->seg[i].at,
			.lmr = segment_key(side, &wr->seg[i]), .len = wr->seg[i].len,
		};
}

/* Copies the bytes of the segments into the entry, if the endpoint has room for them. */
static bool put_inline(const struct m_ep *ep, struct dat_sqe *sqe, const struct wr *wr)
{
	char *to = (char *)(sqe + 1);
	int i;

	if (!wr->in_line || !wr->len || wr->len > max_inline[ep->nr])
		return false;
	sqe->inline_len = wr->len;
	sqe->num_sge = 0;
	for (i = 0; i < wr->nseg; i++) {
		memcpy(to, base[ep->side] + wr->seg[i].at, wr->seg[i].len);
		to += wr->seg[i].len;
	}
	return true;
}

static uint32_t remote_key(uint32_t side, const struct remote *to)
{
	const struct facts *facts = &shared->facts[side];

	if (to->kind == KEY_RMR)
		return facts->bind[to->nr][to->gen % BINDS].key;
	/* A device may use the low byte of a key as a generation. */
	return facts->lmr[to->nr].rkey ^ (to->kind == KEY_NONE ? 0xa5 : 0);
}

static void put_sqe(struct m_ep *ep, const struct wr *wr)
{
	const struct facts *facts = &shared->facts[ep->side];
	struct dat_sqe *sqe = t_sqe(&eps[ep->nr].sq);

	sqe->opcode = wr->flaw == BAD_OPCODE ? 77 : wr->op;
	sqe->num_sge = wr->flaw == BAD_COUNT ? 255 : wr->nseg;
	sqe->flags = wr->flags | (wr->flaw == BAD_FLAGS ? 0x100 : 0);
	sqe->imm = wr->flaw == BAD_FIELD;
	sqe->cookie = wr->cookie;
	if (wr->op == DAT_OP_RMR_BIND) {
		sqe->raddr = facts->rmr[wr->rmr];
		sqe->rkey = wr->bind ? facts->bind[wr->rmr][wr->bind % BINDS].ticket : 0;
	} else if (wr->op != DAT_OP_SEND) {
		sqe->raddr = (uintptr_t)base[ep->peer->side] + wr->to.at;
		sqe->rkey = remote_key(ep->peer->side, &wr->to);
	}
	if (!put_inline(ep, sqe, wr))
		put_segments(ep->side, sqe + 1, wr);
}

static void put_rqe(uint32_t side, struct t_queue *q, const struct wr *wr)
{
	struct dat_rqe *rqe = t_rqe(q);

	rqe->cookie = wr->cookie;
	rqe->num_sge = wr->flaw == BAD_COUNT ? 255 : wr->nseg;
	rqe->flags = wr->flags | (wr->flaw == BAD_FLAGS ? 0x100 : 0);
	rqe->rsvd = wr->flaw == BAD_FIELD;
	put_segments(side, rqe + 1, wr);
}

/* @kick: kick even if the driver does not ask for it. */
static void push(struct t_queue *q, bool kick)
{
	check(t_push(q), 0, "KICK");
	if (kick)
		check(t_word(&f, DAT_IOC_KICK, q->bell + 1), 0, "KICK");
}

/* Posts a request or a receive of an EP; before model_posted(), which may end the connection. */
void object_post(struct m_ep *ep, const struct wr *wr, bool kick)
{
	struct t_ep *t = &eps[ep->nr];

	if (!acts(ep->side))
		return;
	if (wr->op == DAT_OP_INVALID)
		put_rqe(ep->side, &t->rq, wr);
	else
		put_sqe(ep, wr);
	push(wr->op == DAT_OP_INVALID ? &t->rq : &t->sq, kick);
}

void object_srq_post(uint32_t side, const struct wr *wr, bool kick)
{
	if (!acts(side))
		return;
	put_rqe(side, &srq.rq, wr);
	push(&srq.rq, kick);
}

/* Lets the driver take all entries that it can take. */
void object_kick_all(uint32_t side)
{
	if (!acts(side))
		return;
	t_ring_all(&f, 64);
	check(t_kick(&f), 0, "KICK");
}

/* --- SRQs and EVDs ------------------------------------------------------------- */

void object_srq_low(uint32_t side)
{
	struct dat_srq_set_lw arg = {
		.size = sizeof(arg), .id = srq.id, .low_watermark = m.srq[side].low,
	};

	if (acts(side))
		call(DAT_IOC_SRQ_SET_LW, &arg, 0, "SRQ_SET_LW");
}

void object_srq_resize(uint32_t side, uint32_t len, int want)
{
	struct dat_srq_resize arg = { .size = sizeof(arg), .id = srq.id, .max_recv = len };
	struct dat_submit *submit;

	if (!acts(side))
		return;
	call(DAT_IOC_SRQ_RESIZE, &arg, want, "SRQ_RESIZE");
	if (want)
		return;
	t_unmap(&srq.submit);
	check(t_map_span(&f, &arg.submit, PROT_READ | PROT_WRITE, &srq.submit), 0,
	      "mmap of an SRQ");
	submit = srq.submit.va;
	queue_moved(&srq.rq, arg.max_recv, srq.rq.shift, (char *)submit + arg.rq_offset,
		    &submit->rq_tail);
}

static void evd_step(struct dat_evd_resize *arg, uint32_t what)
{
	arg->step = what;
	call(DAT_IOC_EVD_RESIZE, arg, 0, "EVD_RESIZE");
}

/* Resizes an EVD: @way 0 at once, 1 in two steps, 2 in two steps after a CANCEL. */
void object_evd_resize(struct m_ep *ep, uint32_t len, uint32_t way)
{
	struct t_evd *evd = &evds[ep->nr];
	struct dat_evd_resize arg = { .size = sizeof(arg), .id = evd->id, .qlen = len };

	if (!acts(ep->side))
		return;
	evd_step(&arg, way ? DAT_RING_PREPARE : DAT_RING_AT_ONCE);
	if (way == 2) {
		evd_step(&arg, DAT_RING_CANCEL);
		arg.generation = 0;
		evd_step(&arg, DAT_RING_PREPARE);
	}
	t_unmap(&evd->ring);
	check(t_map_span(&f, &arg.ring, PROT_READ, &evd->ring), 0, "mmap of an EVD");
	if (way)
		evd_step(&arg, DAT_RING_COMMIT);
	evd->entries = arg.qlen;
}

void object_soft(struct m_ep *ep, uint64_t cookie)
{
	if (acts(ep->side))
		check(t_post_soft(&evds[ep->nr], cookie), 0, "EVD_POST");
}

/* Objects that others use cannot be freed. */
void object_busy(uint32_t side)
{
	if (!acts(side))
		return;
	obj_free(DAT_OBJ_PZ, zones[0], -EBUSY, "free of a zone in use");
	obj_free(DAT_OBJ_EVD, evds[EVD_CR].id, -EBUSY, "free of an EVD in use");
	obj_free(DAT_OBJ_LMR, zones[0], -ENOENT, "free of a zone as an LMR");
}

/* Starts a thread that polls the doorbells and parks after @idle_us, or ends it if that is 0. */
void object_poller(uint32_t side, uint32_t idle_us)
{
	if (acts(side))
		check(t_poller(&f, idle_us), 0, "POLLER_SET");
}

/* Asks which requests of an endpoint have completed, see DAT_FEATURE_SILENT. */
void object_report(uint32_t nr)
{
	if (features)
		check(t_word(&f, DAT_IOC_KICK, (eps[nr].sq.bell + 1) | DAT_KICK_REPORT), 0,
		      "KICK");
}

/* --- connections --------------------------------------------------------------- */

static void fill_pd(uint8_t *pd, uint32_t len)
{
	uint32_t i;

	for (i = 0; i < len; i++)
		pd[i] = 1 + (len * 7 + i) % 250;
}

/* Connects @ep to the qualifier @to with @pd bytes of private data. */
void object_connect(struct m_ep *ep, uint64_t to, uint32_t pd)
{
	uint8_t data[PD_MAX];

	if (!acts(ep->side))
		return;
	fill_pd(data, pd);
	check(t_connect(&f, &eps[ep->nr], to, data, pd), 0, "EP_CONNECT");
}

/* Returns the request of the last event, after a look at its private data. */
uint32_t object_cr(uint32_t side, uint32_t pd)
{
	struct dat_cr_query arg = { .size = sizeof(arg) };
	uint8_t data[PD_MAX];

	if (!acts(side))
		return 0;
	arg.id = last_cr();
	call(DAT_IOC_CR_QUERY, &arg, 0, "CR_QUERY");
	fill_pd(data, pd);
	if (arg.pd_len < pd || memcmp(arg.pd, data, pd))
		fail("a request has other private data");
	return arg.id;
}

void object_accept(struct m_ep *ep, uint32_t cr, uint32_t pd, int want)
{
	uint8_t data[PD_MAX];

	if (!acts(ep->side))
		return;
	fill_pd(data, pd);
	check(t_accept(&f, cr, &eps[ep->nr], data, pd), want, "CR_ACCEPT");
}

void object_reject(uint32_t side, uint32_t cr, bool by_free)
{
	struct dat_cr_reject arg = { .size = sizeof(arg), .id = cr };

	if (acts(side) && by_free)
		obj_free(DAT_OBJ_CR, cr, 0, "free of a CR");
	else if (acts(side))
		call(DAT_IOC_CR_REJECT, &arg, 0, "CR_REJECT");
}

void object_handoff(uint32_t side, uint32_t cr, uint64_t to, int want)
{
	struct dat_cr_handoff arg = { .size = sizeof(arg), .id = cr, .conn_qual = to };

	if (acts(side))
		call(DAT_IOC_CR_HANDOFF, &arg, want, "CR_HANDOFF");
}

void object_disconnect(struct m_ep *ep, bool graceful)
{
	if (acts(ep->side))
		check(t_disconnect(&f, &eps[ep->nr], graceful ? DAT_DISCONNECT_GRACEFUL : 0), 0,
		      "EP_DISCONNECT");
}

void object_reset(struct m_ep *ep)
{
	if (acts(ep->side))
		check(t_reset(&f, &eps[ep->nr]), 0, "EP_RESET");
}

/* The peer's accept had @pd bytes of private data. */
void object_check_pd(struct m_ep *ep, uint32_t pd)
{
	const struct dat_status *st = eps[ep->nr].status.va;
	uint8_t data[PD_MAX];

	if (!acts(ep->side))
		return;
	fill_pd(data, pd);
	if (st->pd_len < pd || memcmp(st->pd, data, pd))
		fail("an answer has other private data");
}
