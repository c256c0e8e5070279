// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * Fail each allocation and each copy_from_user() or copy_to_user() of each operation once.  The
 * operation must either fail without side effects or succeed nevertheless.  Needs a kernel with
 * fault injection.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "dat_test.h"
#include "fault.h"
#include "memcg.h"

#define T_OTHER		(T_QUAL + 3)	/* qualifier of the second listener */
#define T_NOBODY	(T_QUAL + 1)
#define SHARED		65536	/* bytes of memory that can be shared by name */

/* Objects that the operations need, and results of the operation under test. */
struct world {
	struct t_pair	p;
	struct t_link	link;
	struct t_evd	soft;
	char		*shared;
	uint32_t	cno;
	uint32_t	srq;
	uint32_t	other;
	struct t_file	f;
	int		fd;
	uint32_t	id;
	uint32_t	lmr;
	uint32_t	cr;
	struct t_ep	in;
	struct t_ep	out;
	struct dat_free	made[8];
};

static int world_open(struct world *w)
{
	struct dat_cno_create cno = { .size = sizeof(cno) };
	struct dat_srq_create srq = { .size = sizeof(srq), .max_recv = 8, .max_iov = 1 };
	struct t_pair *p = &w->p;
	int ret;

	w->shared = mmap(NULL, SHARED, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	ret = t_pair_open(p);
	if (!ret)
		ret = t_link_open(p, &w->link);
	if (!ret)
		ret = t_evd(&p->f, DAT_STREAM_SOFTWARE, 64, &w->soft);
	if (!ret)
		ret = t_ioctl(p->f.fd, DAT_IOC_CNO_CREATE, &cno);
	srq.pz = p->pz;
	if (!ret)
		ret = t_ioctl(p->f.fd, DAT_IOC_SRQ_CREATE, &srq);
	w->cno = cno.id;
	w->srq = srq.id;
	return ret ? ret : t_psp(&p->f, &p->cr, T_OTHER, &w->other);
}

static int nothing(struct world *w)
{
	return 0;
}

/* CALL(file, NR, arg): call the ioctl DAT_IOC_NR after setting the size of its argument. */
#define CALL(f, nr, arg) ((arg).size = sizeof(arg), t_ioctl((f)->fd, DAT_IOC_##nr, &(arg)))

static int call_ABI(struct world *w)
{
	struct dat_abi arg = { 0 };

	return CALL(&w->p.f, ABI, arg);
}

static int call_ADAPTER(struct world *w)
{
	struct dat_adapter arg = { 0 };

	return CALL(&w->p.f, ADAPTER, arg);
}

static int open_file(struct world *w)
{
	w->fd = open("/dev/dat", O_RDWR);
	return w->fd < 0 ? -errno : 0;
}

static int call_IA_OPEN(struct world *w)
{
	struct dat_ia_open arg = { .size = sizeof(arg) };

	memcpy(arg.name, w->p.f.info.device, sizeof(w->p.f.info.device));
	return t_ioctl(w->fd, DAT_IOC_IA_OPEN, &arg);
}

static int close_file(struct world *w)
{
	return close(w->fd);
}

static int call_IA_QUERY(struct world *w)
{
	struct dat_ia_query arg = { 0 };

	return CALL(&w->p.f, IA_QUERY, arg);
}

static int call_IA_ADDR(struct world *w)
{
	struct dat_ia_addr arg = { 0 };

	return CALL(&w->p.f, IA_ADDR, arg);
}

/* Open an adapter and create an EP, so that IA_CLOSE has an object to destroy. */
static int open_ia(struct world *w)
{
	struct dat_ep_create ep = { .max_recv = 4, .max_request = 4 };
	int ret = t_open(&w->f);

	if (!ret)
		ret = t_pz(&w->f, &ep.pz);
	return ret ? ret : CALL(&w->f, EP_CREATE, ep);
}

static int call_IA_CLOSE(struct world *w)
{
	struct dat_ia_close arg = { 0 };

	return CALL(&w->f, IA_CLOSE, arg);
}

static int set_poller(struct world *w, uint32_t idle_us)
{
	struct dat_poller_set arg = { .idle_us = idle_us };

	return CALL(&w->p.f, POLLER_SET, arg);
}

static int call_POLLER_SET(struct world *w)
{
	return set_poller(w, 1000);
}

/* The poller is disabled, so POLLER_RUN returns at once. */
static int call_POLLER_RUN(struct world *w)
{
	struct dat_poller_run arg = {};

	return CALL(&w->p.f, POLLER_RUN, arg);
}

static int stop_poller(struct world *w)
{
	return set_poller(w, 0);
}

static int close_ia(struct world *w)
{
	t_close(&w->f);
	return 0;
}

static int free_made(struct world *w, uint32_t type)
{
	return t_free(&w->p.f, type, w->id);
}

#define FREE_MADE(type) \
static int free_##type(struct world *w) { return free_made(w, DAT_OBJ_##type); }

FREE_MADE(PZ)
FREE_MADE(LMR)
FREE_MADE(RMR)
FREE_MADE(EVD)
FREE_MADE(CNO)
FREE_MADE(SRQ)
FREE_MADE(EP)
FREE_MADE(PSP)

static int call_PZ_CREATE(struct world *w)
{
	return t_pz(&w->p.f, &w->id);
}

/* Make a shared registration: it has more steps that can fail than a private registration. */
static int call_LMR_CREATE(struct world *w)
{
	struct dat_lmr_create arg = {
		.pz = w->p.pz, .addr = (uintptr_t)w->shared, .length = SHARED,
		.priv = T_PRIV_ALL, .flags = DAT_LMR_SHARED | DAT_LMR_WATCHED,
		.cookie = "fail_nth",
	};
	int ret = CALL(&w->p.f, LMR_CREATE, arg);

	w->id = arg.id;
	return ret;
}

static int call_LMR_STALE(struct world *w)
{
	struct dat_lmr_stale arg = { 0 };

	return CALL(&w->p.f, LMR_STALE, arg);
}

static int call_RMR_CREATE(struct world *w)
{
	struct dat_rmr_create arg = { .pz = w->p.pz };
	int ret = CALL(&w->p.f, RMR_CREATE, arg);

	w->id = arg.id;
	return ret;
}

static int call_RMR_BIND(struct world *w)
{
	struct dat_rmr_bind arg = {
		.id = w->id, .lmr = w->p.mem.id, .priv = DAT_PRIV_REMOTE_READ,
		.addr = (uintptr_t)w->p.mem.va, .length = 65536,
	};

	return CALL(&w->p.f, RMR_BIND, arg);
}

static int call_EVD_CREATE(struct world *w)
{
	struct dat_evd_create arg = {
		.streams = DAT_STREAM_DTO | DAT_STREAM_CONNECTION, .qlen = 300,
	};
	int ret = CALL(&w->p.f, EVD_CREATE, arg);

	w->id = arg.id;
	return ret;
}

static int call_EVD_RESIZE(struct world *w)
{
	struct dat_evd_resize arg = { .id = w->id, .qlen = 1000 };

	return CALL(&w->p.f, EVD_RESIZE, arg);
}

static int call_EVD_POST(struct world *w)
{
	struct dat_evd_post arg = { .id = w->soft.id };

	return CALL(&w->p.f, EVD_POST, arg);
}

static int call_EVD_WAIT(struct world *w)
{
	return t_evd_wait(&w->soft, 1, 0);
}

static int call_EVD_POLL(struct world *w)
{
	struct dat_evd_poll arg = { .id = w->soft.id };

	return CALL(&w->p.f, EVD_POLL, arg);
}

static int call_EVD_LOOK(struct world *w)
{
	return t_word(&w->p.f, DAT_IOC_EVD_LOOK, w->soft.id);
}

static int call_EVD_SLEEP(struct world *w)
{
	return t_word(&w->p.f, DAT_IOC_EVD_SLEEP, w->soft.id);
}

static int drain_soft(struct world *w)
{
	struct dat_eqe eqe;

	while (t_event(&w->soft, 0, &eqe))
		;
	return 0;
}

static int call_EVD_SET(struct world *w)
{
	struct dat_evd_set arg = {
		.id = w->soft.id, .mask = DAT_EVD_DISABLED | DAT_EVD_UNWAITABLE,
	};

	return CALL(&w->p.f, EVD_SET, arg);
}

static int set_cno(struct world *w, uint32_t cno)
{
	struct dat_evd_modify_cno arg = { .id = w->soft.id, .cno = cno };

	return CALL(&w->p.f, EVD_MODIFY_CNO, arg);
}

static int call_EVD_MODIFY_CNO(struct world *w)
{
	return set_cno(w, w->cno);
}

static int clear_cno(struct world *w)
{
	return set_cno(w, 0);
}

static int call_CNO_CREATE(struct world *w)
{
	struct dat_cno_create arg = { 0 };
	int ret = CALL(&w->p.f, CNO_CREATE, arg);

	w->id = arg.id;
	return ret;
}

static int call_CNO_QUERY(struct world *w)
{
	struct dat_cno_query arg = { .id = w->cno };

	return CALL(&w->p.f, CNO_QUERY, arg);
}

static int trigger_cno(struct world *w)
{
	int ret = set_cno(w, w->cno);

	return ret ? ret : call_EVD_POST(w);
}

/* With DAT_CNO_WATCH the call consumes no event, so the call can be repeated. */
static int call_CNO_WAIT(struct world *w)
{
	struct dat_cno_wait arg = { .id = w->cno, .flags = DAT_CNO_WATCH };

	return CALL(&w->p.f, CNO_WAIT, arg);
}

static int untrigger_cno(struct world *w)
{
	drain_soft(w);
	return clear_cno(w);
}

static int call_FD(struct world *w)
{
	struct dat_fd arg = { .type = DAT_OBJ_CNO, .id = w->cno };
	int ret = CALL(&w->p.f, FD, arg);

	w->fd = arg.fd;
	return ret;
}

static int call_SRQ_CREATE(struct world *w)
{
	struct dat_srq_create arg = { .pz = w->p.pz, .max_recv = 64, .max_iov = 2 };
	int ret = CALL(&w->p.f, SRQ_CREATE, arg);

	w->id = arg.id;
	return ret;
}

static int call_SRQ_RESIZE(struct world *w)
{
	struct dat_srq_resize arg = { .id = w->id, .max_recv = 200 };

	return CALL(&w->p.f, SRQ_RESIZE, arg);
}

static int call_SRQ_SET_LW(struct world *w)
{
	struct dat_srq_set_lw arg = { .id = w->srq };

	return CALL(&w->p.f, SRQ_SET_LW, arg);
}

static int call_EP_CREATE(struct world *w)
{
	struct dat_ep_create arg = {
		.pz = w->p.pz, .max_recv = 64, .max_request = 64, .recv_evd = w->p.evd[0].id,
		.max_inline = 64,
	};
	int ret = CALL(&w->p.f, EP_CREATE, arg);

	w->id = arg.id;
	return ret;
}

static int call_EP_MODIFY(struct world *w)
{
	struct dat_ep_modify arg = {
		.id = w->id, .pz = w->p.pz, .max_recv = 200, .max_request = 300,
		.request_evd = w->p.evd[1].id, .max_inline = 32,
	};

	return CALL(&w->p.f, EP_MODIFY, arg);
}

static int make_out(struct world *w)
{
	return t_ep(&w->p.f, w->p.pz, &w->p.evd[1], 0, 5, &w->out);
}

static void unmap_ep(struct t_ep *ep)
{
	t_unmap(&ep->submit);
	t_unmap(&ep->status);
}

static int call_EP_CONNECT(struct world *w)
{
	return t_connect(&w->p.f, &w->out, T_NOBODY, NULL, 0);
}

static int drop_out(struct world *w)
{
	int ret = t_free(&w->p.f, DAT_OBJ_EP, w->out.id);

	unmap_ep(&w->out);
	return ret;
}

/* The connection attempt ends with an event, even if fault injection has hit the call. */
static int drop_refused(struct world *w)
{
	struct dat_eqe eqe;

	if (!t_event(&w->p.evd[1], T_WAIT_MS, &eqe))
		return -ETIMEDOUT;
	return drop_out(w);
}

static int make_refused(struct world *w)
{
	struct dat_eqe eqe;
	int ret = make_out(w);

	if (!ret)
		ret = call_EP_CONNECT(w);
	if (!ret && !t_event(&w->p.evd[1], T_WAIT_MS, &eqe))
		ret = -ETIMEDOUT;
	return ret;
}

static int call_EP_RESET(struct world *w)
{
	return t_reset(&w->p.f, &w->out);
}

static int call_EP_QUERY(struct world *w)
{
	struct dat_ep_query arg = { .id = w->p.ep[0].id };

	return CALL(&w->p.f, EP_QUERY, arg);
}

static int call_PSP_CREATE(struct world *w)
{
	return t_psp(&w->p.f, &w->p.cr, T_QUAL + 7, &w->id);
}

/* Create the EPs @out and @in.  @out sends a connection request to the listener. */
static int make_cr(struct world *w)
{
	struct dat_eqe eqe;
	int ret = make_out(w);

	if (!ret)
		ret = t_ep(&w->p.f, w->p.pz, &w->p.evd[0], 0, 6, &w->in);
	if (!ret)
		ret = t_connect(&w->p.f, &w->out, T_QUAL, NULL, 0);
	if (!ret && !t_event(&w->p.cr, T_WAIT_MS, &eqe))
		ret = -ETIMEDOUT;
	w->cr = eqe.len;
	return ret;
}

static void refuse_all(struct world *w)
{
	struct dat_eqe eqe;

	while (t_event(&w->p.cr, 0, &eqe))
		t_free(&w->p.f, DAT_OBJ_CR, eqe.len);
}

/*
 * The kernel notifies the peer when a request ends.  If fault injection makes the notification fail
 * for lack of memory, the peer repeats its request after some seconds.
 */
static int drop_cr(struct world *w)
{
	struct dat_eqe eqe;
	int ret, i;

	t_free(&w->p.f, DAT_OBJ_CR, w->cr);
	for (i = 0; i < T_WAIT_MS / 100; i++) {
		refuse_all(w);
		if (t_event(&w->p.evd[1], 100, &eqe))
			break;
	}
	ret = t_free(&w->p.f, DAT_OBJ_EP, w->in.id);
	unmap_ep(&w->in);
	if (!ret)
		ret = drop_out(w);
	while (t_event(&w->p.evd[0], 0, &eqe) || t_event(&w->p.evd[1], 0, &eqe))
		;
	return ret ? ret : i == T_WAIT_MS / 100 ? -ETIMEDOUT : 0;
}

static int call_CR_QUERY(struct world *w)
{
	struct dat_cr_query arg = { .id = w->cr };

	return CALL(&w->p.f, CR_QUERY, arg);
}

static int call_CR_ACCEPT(struct world *w)
{
	return t_accept(&w->p.f, w->cr, &w->in, NULL, 0);
}

static int call_CR_REJECT(struct world *w)
{
	struct dat_cr_reject arg = { .id = w->cr };

	return CALL(&w->p.f, CR_REJECT, arg);
}

static int call_CR_HANDOFF(struct world *w)
{
	struct dat_cr_handoff arg = { .id = w->cr, .conn_qual = T_OTHER };

	return CALL(&w->p.f, CR_HANDOFF, arg);
}

static int make_connected(struct world *w)
{
	struct dat_eqe eqe;
	int ret = make_cr(w);

	if (!ret)
		ret = call_CR_ACCEPT(w);
	if (!ret && !(t_event(&w->p.evd[0], T_WAIT_MS, &eqe) &&
		      t_event(&w->p.evd[1], T_WAIT_MS, &eqe)))
		ret = -ETIMEDOUT;
	return ret;
}

static int call_EP_DISCONNECT(struct world *w)
{
	return t_disconnect(&w->p.f, &w->out, 0);
}

/* Create one object of each type that a DAT_IOC_*_CREATE ioctl creates. */
static int make_all(struct world *w)
{
	static const struct {
		int		(*make)(struct world *w);
		uint32_t	type;
	} all[8] = {
		{ call_LMR_CREATE, DAT_OBJ_LMR }, { call_RMR_CREATE, DAT_OBJ_RMR },
		{ call_EVD_CREATE, DAT_OBJ_EVD }, { call_CNO_CREATE, DAT_OBJ_CNO },
		{ call_SRQ_CREATE, DAT_OBJ_SRQ }, { call_EP_CREATE, DAT_OBJ_EP },
		{ call_PSP_CREATE, DAT_OBJ_PSP }, { call_PZ_CREATE, DAT_OBJ_PZ },
	};
	int ret = 0, i;

	for (i = 0; i < 8 && !ret; i++) {
		ret = all[i].make(w);
		w->made[i] = (struct dat_free) { .type = all[i].type, .id = w->id };
	}
	return ret;
}

static int call_FREE(struct world *w)
{
	int ret = 0, i;

	for (i = 0; i < 8 && !ret; i++) {
		if (!w->made[i].id)
			continue;
		ret = CALL(&w->p.f, FREE, w->made[i]);
		if (!ret)
			w->made[i].id = 0;
	}
	return ret;
}

/* Post a receive, which reaches the device at once, and a send, which waits for the next kick. */
static int post_quietly(struct world *w)
{
	struct t_queue *q = &w->link.ep[1].sq;
	uint64_t addr = (uintptr_t)w->p.mem.va;
	struct dat_sqe *sqe = t_sqe(q);
	int ret = t_recv(&w->link.ep[0].rq, 0, addr, w->p.mem.lkey, 64);

	sqe->opcode = DAT_OP_SEND;
	sqe->num_sge = 1;
	*(struct dat_sge *)(sqe + 1) = (struct dat_sge) { addr, w->p.mem.lkey, 64 };
	__atomic_store_n(q->shared_tail, ++q->tail, __ATOMIC_RELEASE);
	t_ring(q->f, q->bell);
	return ret;
}

static int call_KICK(struct world *w)
{
	return t_kick(&w->p.f);
}

static int take_both(struct world *w)
{
	struct dat_eqe eqe;
	int i;

	for (i = 0; i < 2; i++)
		if (!t_event(&w->link.evd[i], T_WAIT_MS, &eqe) || eqe.status)
			return -EIO;
	return 0;
}

/*
 * In CR_ACCEPT, fail only the first six calls: two copies and four allocations of this driver.
 * Later calls belong to the creation of a QP.  If an allocation fails in the creation of a QP, rxe
 * of Linux 6.1 deletes timers that are not initialized.
 */
#define ACCEPT_NTH	6

/*
 * OP(ioctl, before, after, last, least)
 *
 * @before, @after: functions to call before and after the ioctl
 * @last: number of the last allocation or copy that the test makes fail
 * @least: least number of allocations and copies of the ioctl
 */
#define OPS(OP)									\
	OP(ABI, nothing, nothing, MAX_NTH, 1)					\
	OP(ADAPTER, nothing, nothing, MAX_NTH, 1)				\
	OP(IA_OPEN, open_file, close_file, MAX_NTH, 3)				\
	OP(IA_QUERY, nothing, nothing, MAX_NTH, 1)				\
	OP(IA_ADDR, nothing, nothing, MAX_NTH, 1)				\
	OP(IA_CLOSE, open_ia, close_ia, MAX_NTH, 1)				\
	OP(FREE, make_all, nothing, MAX_NTH, 8)					\
	OP(PZ_CREATE, nothing, free_PZ, MAX_NTH, 3)				\
	OP(LMR_CREATE, nothing, free_LMR, MAX_NTH, 5)				\
	OP(LMR_STALE, nothing, nothing, MAX_NTH, 3)				\
	OP(EVD_CREATE, nothing, free_EVD, MAX_NTH, 4)				\
	OP(EVD_WAIT, call_EVD_POST, drain_soft, MAX_NTH, 1)			\
	OP(EVD_POLL, call_EVD_POST, drain_soft, MAX_NTH, 1)			\
	OP(EVD_LOOK, call_EVD_POST, drain_soft, MAX_NTH, 0)			\
	OP(EVD_SLEEP, call_EVD_POST, drain_soft, MAX_NTH, 0)			\
	OP(EVD_POST, nothing, drain_soft, MAX_NTH, 1)				\
	OP(EVD_SET, nothing, nothing, MAX_NTH, 1)				\
	OP(SRQ_CREATE, nothing, free_SRQ, MAX_NTH, 4)				\
	OP(EP_CREATE, nothing, free_EP, MAX_NTH, 4)				\
	OP(EP_CONNECT, make_out, drop_refused, MAX_NTH, 4)			\
	OP(EP_DISCONNECT, make_connected, drop_cr, MAX_NTH, 1)			\
	OP(EP_RESET, make_refused, drop_out, MAX_NTH, 1)			\
	OP(EP_QUERY, nothing, nothing, MAX_NTH, 1)				\
	OP(PSP_CREATE, nothing, free_PSP, MAX_NTH, 4)				\
	OP(CR_QUERY, make_cr, drop_cr, MAX_NTH, 1)				\
	OP(CR_ACCEPT, make_cr, drop_cr, ACCEPT_NTH, ACCEPT_NTH)			\
	OP(CR_REJECT, make_cr, drop_cr, MAX_NTH, 1)				\
	OP(KICK, post_quietly, take_both, MAX_NTH, 0)				\
	OP(CNO_CREATE, nothing, free_CNO, MAX_NTH, 3)				\
	OP(CNO_QUERY, nothing, nothing, MAX_NTH, 1)				\
	OP(CNO_WAIT, trigger_cno, untrigger_cno, MAX_NTH, 1)			\
	OP(EVD_MODIFY_CNO, nothing, clear_cno, MAX_NTH, 1)			\
	OP(EVD_RESIZE, call_EVD_CREATE, free_EVD, MAX_NTH, 4)			\
	OP(FD, nothing, close_file, MAX_NTH, 3)					\
	OP(SRQ_RESIZE, call_SRQ_CREATE, free_SRQ, MAX_NTH, 4)			\
	OP(SRQ_SET_LW, nothing, nothing, MAX_NTH, 1)				\
	OP(EP_MODIFY, call_EP_CREATE, free_EP, MAX_NTH, 4)			\
	OP(CR_HANDOFF, make_cr, drop_cr, MAX_NTH, 3)				\
	OP(RMR_CREATE, nothing, free_RMR, MAX_NTH, 3)				\
	OP(RMR_BIND, call_RMR_CREATE, free_RMR, MAX_NTH, 4)		\
	OP(POLLER_SET, nothing, stop_poller, MAX_NTH, 1)				\
	OP(POLLER_RUN, nothing, nothing, MAX_NTH, 1)

#define OP_X(x)	.last = x
#define OPS_ALL	T_NR_LAST

static void world_close(struct world *w)
{
	t_pair_close(&w->p);
}

static int world_works(struct world *w)
{
	return t_link_works(&w->p, &w->link);
}

static int says_so(int ret)
{
	return ret == -ENOMEM || ret == -EFAULT;
}

#include "fault_ops.h"

/* The module must not know any ioctl that is missing in the header, and therefore in OPS. */
TEST(the_list_is_complete)
{
	int fd = open("/dev/dat", O_RDWR);
	uint32_t arg[1024] = { sizeof(arg) };
	unsigned int nr;

	ASSERT_LE(0, fd);
	for (nr = T_NR_LAST; nr < 256; nr++) {
		EXPECT_EQ(-ENOTTY, t_ioctl(fd, _IO(DAT_IOC_MAGIC, nr), arg)) TH_LOG("%u", nr);
	}
	close(fd);
}

FIXTURE(fail) {
	struct t_pair p;
};

FIXTURE_SETUP(fail)
{
	fault_setup();
	if (nth_fd >= 0)
		ASSERT_EQ(0, t_pair_open(&self->p));
}

FIXTURE_TEARDOWN(fail)
{
	if (nth_fd >= 0)
		t_pair_close(&self->p);
}

/*
 * For n = 1, 2, ...: open the device and then an adapter, and let the n-th allocation or copy of
 * these two calls fail.
 */
TEST_F_TIMEOUT(fail, open, 300)
{
	struct dat_ia_open arg = { .size = sizeof(arg) };
	unsigned int n;
	int fd, ret;

	NEED_FAULTS();
	memcpy(arg.name, self->p.f.info.device, sizeof(self->p.f.info.device));
	for (n = 1; n < MAX_NTH; n++) {
		ASSERT_EQ(0, arm(n));
		fd = open("/dev/dat", O_RDWR);
		ret = fd < 0 ? -errno : t_ioctl(fd, DAT_IOC_IA_OPEN, &arg);
		if (!fired())
			break;
		if (ret)
			ASSERT_TRUE(ret == -ENOMEM || ret == -EFAULT)
				TH_LOG("%d at call %u", ret, n);
		/* DAT_IOC_IA_OPEN succeeds when it is repeated on the same file after a failure. */
		if (fd >= 0 && ret)
			EXPECT_EQ(0, t_ioctl(fd, DAT_IOC_IA_OPEN, &arg)) TH_LOG("call %u", n);
		if (fd >= 0)
			close(fd);
	}
	ASSERT_GT(MAX_NTH, n);
	EXPECT_EQ(0, ret);
	close(fd);
}

/*
 * Fail each allocation of an EVD with a large ring once.  Returns 0 when the EVD has been created
 * and freed.
 */
static int fail_each_page(struct t_file *f)
{
	struct dat_evd_create arg = { .streams = DAT_STREAM_DTO, .qlen = 4096 };
	unsigned int n;
	int ret, hit;

	for (n = 1; n < MAX_NTH; n++) {
		if (arm(n))
			return -errno;
		ret = CALL(f, EVD_CREATE, arg);
		hit = fired();
		/* A call that does without the memory succeeds. */
		if (!ret)
			ret = t_free(f, DAT_OBJ_EVD, arg.id);
		else if (ret == -ENOMEM || ret == -EFAULT)
			ret = 0;
		if (!hit || ret)
			return ret;
	}
	return -E2BIG;
}

/* The ring has 32 pages, so the failures of one round would leave more than 500 of them. */
TEST_F_TIMEOUT(fail, the_pages_of_a_ring_are_freed, 300)
{
	long before, rounds = 3 * MEMCG_SLACK / (500 * 4096) + 1;

	NEED_FAULTS();
	if (memcg_make())
		SKIP(return, "no memory controller");
	ASSERT_EQ(0, memcg_enter());
	before = memcg_bytes();
	while (rounds--)
		ASSERT_EQ(0, fail_each_page(&self->p.f));
	EXPECT_GE(before + 2 * MEMCG_SLACK, memcg_bytes());
	memcg_leave();
	memcg_remove();
}

/*
 * A failed mmap() has no side effects.  A mapping that succeeds after failed attempts is complete.
 */
TEST_F_TIMEOUT(fail, mmap, 300)
{
	struct dat_evd_create arg = {
		.size = sizeof(arg), .streams = DAT_STREAM_DTO, .qlen = 1024,
	};
	struct t_map m;
	unsigned int n;
	int ret = 0;

	NEED_FAULTS();
	ASSERT_EQ(0, t_ioctl(self->p.f.fd, DAT_IOC_EVD_CREATE, &arg));
	for (n = 1; n < MAX_NTH; n++) {
		ASSERT_EQ(0, arm(n));
		ret = t_map_span(&self->p.f, &arg.status, PROT_READ, &m);
		if (!fired())
			break;
		if (!ret)
			t_unmap(&m);
		else
			ASSERT_EQ(-ENOMEM, ret) TH_LOG("call %u", n);
	}
	ASSERT_GT(MAX_NTH, n);
	ASSERT_EQ(0, ret);
	EXPECT_EQ(0, ((struct dat_evd_status *)m.va)->tail);
}

TEST_HARNESS_MAIN
