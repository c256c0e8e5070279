/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) The dat authors */
/*
 * A random script of calls and posts over one adapter, which a model follows.
 *
 * Two processes, the sides 0 and 1, run the same script and the same model.  A side carries out
 * what concerns its own objects, waits for the events that the model expects at its EVDs, and
 * compares.  Side 0 also compares the memory of both sides with a shadow.  A side makes a call when
 * the other has done all steps before that concern it, so the effects of these are there.
 *
 * The model depends on the script alone.  What the kernel chooses, such as ids and keys, is in
 * struct facts, and no decision depends on it.
 */
#ifndef DIFFER_H
#define DIFFER_H

#include <stdbool.h>
#include <stdint.h>

#include "dat_test.h"

#define SIDES		2
#define EPS		4		/* endpoints of a side */
#define LMRS		10		/* places for LMRs of a side */
#define RMRS		4		/* places for RMRs of a side */
#define ZONES		2		/* the EPs are in zone 0 */
#define PSPS		2
#define BINDS		4096		/* bindings of an RMR whose keys are remembered */
#define DEPTH		16U		/* entries of the longest queue */
#define NO_LMR		(-1)
#define MAX_RECV_IOV	(easy ? 4U : DAT_MAX_SGE)
#define SRQ_IOV		(easy ? 4U : 16U)
#define PD_MAX		56		/* bytes of private data that every adapter carries */

/*
 * The memory of a side.  Requests take their data from SOURCE, messages and writes of peers go to
 * TARGET, and reads go to BACK.  So no request changes what a request behind it reads or writes.
 */
enum area { SOURCE, TARGET, BACK, AREAS };
#define AREA		(1U << 20)
#define MEMORY		(AREAS * AREA)

/* EVDs of a side: one of each EP, then these. */
enum { EVD_CR = EPS, EVD_ASYNC, EVDS };

/* Values of dat_eqe.owner. */
#define OWNER_EP(ep)	(1000U + 100 * (ep)->side + (ep)->nr)
#define OWNER_RMR(s, i)	(2000U + 100 * (s) + (i))
#define OWNER_SRQ(s)	(3000U + (s))
#define OWNER_PSP(s, i)	(4000U + 100 * (s) + (i))

/* Differences between adapters that are allowed; see allowed[] in event.c. */
enum allowed { SAME, REFUSED_END, DEAD_RECEIVE, LATE_REFUSAL, PADDING };

/* How an entry is malformed. */
enum flaw { WELL, BAD_OPCODE, BAD_FLAGS, BAD_COUNT, BAD_FIELD, FLAWS };

/*
 * struct seg - a segment of a request or receive
 * @at: offset in the memory of the side
 * @len: bytes
 * @lmr: place of the LMR whose key the segment has, or NO_LMR: @key is the key
 * @gen: generation of the LMR
 * @key: key that names no LMR
 */
struct seg {
	uint32_t	at, len;
	int		lmr;
	uint32_t	gen, key;
};

/* Kinds of struct remote: the key is of an LMR, of a binding of an RMR, or of nothing. */
enum { KEY_LMR, KEY_RMR, KEY_NONE };

/*
 * struct remote - memory of the peer that an RDMA request names
 * @nr: place of the LMR or RMR
 * @gen: generation of the LMR, or number of the binding
 */
struct remote {
	int		kind, nr;
	uint32_t	gen, at;
};

/*
 * struct wr - an entry of a queue
 * @op: enum dat_op; DAT_OP_INVALID: receive
 * @in_line: flag: the entry has the bytes of the segments, if the adapter has inline data
 * @len: bytes of all segments
 * @bad: status with which the driver refuses the entry; valid if @taken
 * @taken: the driver has taken the entry from the ring, and has checked it
 * @rmr: bind: place of the RMR
 * @bind: bind: number of the binding
 * @life: bind: @life of the RMR
 */
struct wr {
	uint8_t		op;
	uint16_t	flags;
	uint64_t	cookie;
	enum flaw	flaw;
	bool		in_line;
	int		nseg;
	struct seg	seg[DAT_MAX_SGE];
	uint32_t	len;
	uint8_t		bad;
	bool		taken;
	struct remote	to;
	int		rmr;
	uint32_t	bind, life;
};

struct m_lmr {
	bool		live;
	uint32_t	gen, at, len, priv, zone;
	int		bindings;	/* in effect, which keep the LMR from being freed */
};

struct m_bind {
	uint32_t	nr;		/* 0: none */
	int		lmr;		/* NO_LMR: unbinds */
	uint32_t	gen, at, len, priv;
};

/*
 * struct m_rmr - an RMR
 * @nr: number of the last binding that was prepared, also by an RMR that had this place before
 * @life: number of RMRs that had this place
 * @last: number of the binding that was in effect before
 * @now: binding in effect
 * @ready: prepared bindings; an entry with nr 0 is free
 */
struct m_rmr {
	bool		live;
	uint32_t	zone, nr, life, last;
	struct m_bind	now, ready[4];
};

/* Values of dat_status.state. */
enum { UNCONNECTED = 0, PENDING = 6, CONNECTED = 9, DRAINING = 10, DISCONNECTED = 11 };

struct m_ep {
	uint32_t	side, nr;
	bool		live, srq, solicited, in_line;
	uint32_t	state, sq_len, rq_len, iov;
	struct m_ep	*peer;
	uint32_t	nsq, nrq;	/* entries that have not completed, oldest first */
	struct wr	sq[DEPTH], rq[DEPTH];
};

struct m_srq {
	uint32_t	n, low, len, lost;	/* buffers, watermark, length of the ring */
	struct wr	rq[DEPTH];
};

/* An event that must come.  @quiet: the event does not wake a thread that sleeps. */
struct expect {
	struct dat_eqe	e;
	enum allowed	may;
	bool		quiet;
};

struct expects {
	int		n;
	struct expect	e[4 * DEPTH];
};

struct model {
	struct m_ep	ep[SIDES][EPS];
	struct m_lmr	lmr[SIDES][LMRS];
	struct m_rmr	rmr[SIDES][RMRS];
	struct m_srq	srq[SIDES];
	struct expects	events[SIDES][EVDS];
	uint64_t	cookie;
};

extern struct model m;

/* Ids and keys that the kernel has given to the objects of a side. */
struct facts {
	struct {
		uint32_t id, lkey, rkey;
	} lmr[LMRS];
	uint32_t rmr[RMRS];
	struct {
		uint32_t key, ticket;
	} bind[RMRS][BINDS];
};

#define OUT_SIZE	(2U << 20)

/*
 * struct shared - memory that both processes share
 * @met: number of meetings that each side has come to
 * @done: number of steps that each side has done, if the last of them has concerned the side
 * @asleep: flag: the side sleeps until a number of the other side changes
 * @failed: flag: a side has failed, at step @at, because of @why
 * @used: bytes of each side in @out, which holds the lines since the last check of all memory
 */
struct shared {
	uint32_t	met[SIDES], done[SIDES], asleep[SIDES];
	uint32_t	failed, at;
	char		why[512];
	uint32_t	used[SIDES];
	char		out[SIDES][OUT_SIZE];
	struct facts	facts[SIDES];
};

extern struct shared *shared;
extern uint32_t me;		/* the side that this process is */
extern uint32_t step;		/* number of the step */
extern bool easy;		/* no message waits for its receive, and no request fails */
extern const char *adapter;
extern uint64_t qual;		/* first connection qualifier */
extern uint64_t features;	/* with which the adapter is opened */
extern char *base[SIDES];	/* memory of both sides */

/* main.c */
void say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void describe(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void fail(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));
void check(int ret, int want, const char *what);
void meet(void);
void concern(uint32_t side);
bool is_concerned(void);
bool acts(uint32_t side);
void replace_side_1(void);

/* random.c */
void rnd_begin(uint64_t seed, uint64_t n);
uint32_t rnd(uint32_t n);
bool chance(uint32_t per_1024);
uint32_t rnd_len(void);

/* memory.c */
void memory_start(void);
void memory_move(uint32_t from, const struct wr *a, uint32_t to, const struct wr *b);
void memory_write(uint32_t from, const struct wr *a, uint32_t to, uint32_t at);
void memory_read(uint32_t from, uint32_t at, uint32_t to, const struct wr *b);
void memory_undefined(uint32_t side, const struct wr *wr);
bool memory_touched(void);
void memory_check_touched(void);
void memory_check_all(void);

/* model.c */
void model_start(void);
void model_side(uint32_t side);
struct wr *model_add(struct m_ep *ep, bool recv);
void model_posted(struct m_ep *ep, bool recv);
void model_srq_posted(uint32_t side);
void model_srq_low(uint32_t side);
void model_end(struct m_ep *ep, uint32_t type, enum allowed may);
void model_end_both(struct m_ep *ep, uint32_t type);
void model_hung_up(struct m_ep *ep);
void model_forget(struct m_ep *ep);
void model_run(struct m_ep *ep);
struct m_ep *model_srq_waiter(uint32_t side);
uint8_t model_verdict(uint32_t side, uint32_t zone, const struct wr *wr);
bool model_binding_gone(uint32_t side, int rmr);
void expect_event(uint32_t side, int evd, const struct dat_eqe *e, enum allowed may, bool quiet);
void expect_conn(struct m_ep *ep, uint32_t type, enum allowed may);

/* object.c */
void objects_open(void);
void objects_close(void);
void objects_forget(void);
struct t_evd *object_evd(int evd);
const struct t_ep *object_ep(uint32_t nr);
const struct t_srq *object_srq(void);
void object_lmr_create(uint32_t side, int nr);
void object_lmr_free(uint32_t side, int nr, int want);
void object_rmr_create(uint32_t side, int nr);
void object_rmr_free(uint32_t side, int nr);
void object_bind(uint32_t side, int rmr, const struct m_bind *b, int want);
void object_ep_create(struct m_ep *ep);
void object_ep_free(struct m_ep *ep);
void object_ep_modify(struct m_ep *ep, int want);
void object_post(struct m_ep *ep, const struct wr *wr, bool kick);
void object_srq_post(uint32_t side, const struct wr *wr, bool kick);
void object_kick_all(uint32_t side);
void object_srq_low(uint32_t side);
void object_srq_resize(uint32_t side, uint32_t len, int want);
void object_evd_resize(struct m_ep *ep, uint32_t len, uint32_t way);
void object_soft(struct m_ep *ep, uint64_t cookie);
void object_busy(uint32_t side);
void object_poller(uint32_t side, uint32_t idle_us);
void object_report(uint32_t nr);
void object_connect(struct m_ep *ep, uint64_t to, uint32_t pd);
uint32_t object_cr(uint32_t side, uint32_t pd);
void object_accept(struct m_ep *ep, uint32_t cr, uint32_t pd, int want);
void object_reject(uint32_t side, uint32_t cr, bool by_free);
void object_handoff(uint32_t side, uint32_t cr, uint64_t to, int want);
void object_disconnect(struct m_ep *ep, bool graceful);
void object_reset(struct m_ep *ep);
void object_check_pd(struct m_ep *ep, uint32_t pd);

/* event.c */
void collect_events(void);
void expect_silence(void);
uint32_t last_cr(void);

/* wr.c */
void wr_segments(uint32_t side, struct wr *wr, enum area where, uint32_t len, uint32_t max);
bool wr_make_invalid(uint32_t side, struct wr *wr);
bool wr_remote(uint32_t side, struct wr *wr, uint32_t *len);
bool wr_remote_wrong(uint32_t side, struct wr *wr);
struct wr *wr_new(struct m_ep *ep, uint8_t op);
void wr_post(struct m_ep *ep, struct wr *wr, bool kick);
int64_t wr_capacity(const struct m_ep *ep);
bool lmr_is_posted(uint32_t side, int nr);

/* script.c */
void script_begin_side(uint32_t side);
void script_step(void);
struct m_ep *pick_ep(bool (*fits)(const struct m_ep *ep));
bool may_request(const struct m_ep *ep);

/* conn.c */
bool is_disconnected(const struct m_ep *ep);
bool step_connect(void);
bool step_disconnect(void);
bool step_reset(void);
bool step_renew(void);
bool step_modify(void);
bool step_kill(void);

/* fault.c */
bool step_fault(void);

#endif /* DIFFER_H */
