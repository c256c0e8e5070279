// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * Compares libdat with verbs in the same process: the cost of posts and polls.  The two take turns,
 * and the result is the median of all rounds.  A result is a line
 *
 *   # bench: NAME UNIT DAT VERBS RATIO
 *
 * where RATIO is above 1 if libdat is better.  If DAT_BENCH_CALLS is set in the environment, only
 * the cost of calls is measured.
 */
#define _GNU_SOURCE
#include <infiniband/verbs.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>
#include <x86intrin.h>

#include "kselftest_harness.h"
#include "dat_api.h"
#include "clock.h"
#include "ioctl_over.h"
#include "marks.h"

#define MSG		64
#define WINDOW		64
#define RECVS		256
#define MAX_ROUNDS	400
#define EMPTY		32	/* polls of an empty queue per round */
#define DRAIN_US	500	/* time after which completions are visible */

static double ns_per_tick;

static void calibrate(void)
{
	double ns = now_ns();
	uint64_t ticks = __rdtsc();

	usleep(100000);
	ns_per_tick = (now_ns() - ns) / (double)(__rdtsc() - ticks);
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double median(double *t, int n)
{
	qsort(t, n, sizeof(*t), by_value);
	return n ? t[n / 2] : 0;
}

/* Print a result.  For each result, a smaller value is better. */
static void figure(const char *name, const char *unit, double dat, double peer)
{
	printf("# bench: %s %s %.1f %.1f %.3f\n", name, unit, dat, peer,
	       dat == peer ? 1.0 : peer / dat);
	fflush(stdout);
}

/* --- libdat and verbs ------------------------------------------------------------------ */

/*
 * struct side - libdat or verbs: two connected EPs or QPs, where one sends to the other
 * @post_recv, @post_send: post @n receives or sends; return 0 on success
 * @poll_recv, @poll_send: take up to @n completions, one per call of the library; return their
 *	number, or a negative value if a completion reports an error
 */
struct side {
	int (*post_recv)(struct side *s, int n);
	int (*post_send)(struct side *s, int n);
	int (*poll_recv)(struct side *s, int n);
	int (*poll_send)(struct side *s, int n);
};

struct dat_side {
	struct side	side;
	struct a_pair	p;
	DAT_LMR_TRIPLET	out, in;
};

static int d_post_recv(struct side *s, int n)
{
	struct dat_side *d = (struct dat_side *)s;
	DAT_RETURN rc = DAT_SUCCESS;
	int i;

	for (i = 0; i < n; i++)
		rc |= dat_ep_post_recv(d->p.ep[1], 1, &d->in, a_cookie(i),
				       DAT_COMPLETION_DEFAULT_FLAG);
	return rc != DAT_SUCCESS;
}

static int d_post_send(struct side *s, int n)
{
	struct dat_side *d = (struct dat_side *)s;
	DAT_RETURN rc = DAT_SUCCESS;
	int i;

	for (i = 0; i < n; i++)
		rc |= dat_ep_post_send(d->p.ep[0], 1, &d->out, a_cookie(i),
				       DAT_COMPLETION_DEFAULT_FLAG);
	return rc != DAT_SUCCESS;
}

static int d_poll(DAT_EVD_HANDLE evd, int n)
{
	DAT_EVENT event;
	int i, bad = 0;

	for (i = 0; i < n; i++) {
		if (dat_evd_dequeue(evd, &event) != DAT_SUCCESS)
			break;
		bad |= event.event_number != DAT_DTO_COMPLETION_EVENT ||
		       event.event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS;
	}
	return bad ? -1 : i;
}

static int d_poll_recv(struct side *s, int n)
{
	return d_poll(((struct dat_side *)s)->p.evd[1], n);
}

static int d_poll_send(struct side *s, int n)
{
	return d_poll(((struct dat_side *)s)->p.evd[0], n);
}

static DAT_RETURN d_ia(struct a_pair *p, DAT_BOOLEAN threads)
{
	p->async = DAT_HANDLE_NULL;
	return dat_ia_openv(a_adapter(), 8, &p->async, &p->ia, DAT_VERSION_MAJOR,
			    DAT_VERSION_MINOR, threads);
}

static DAT_EP_ATTR d_attr(struct a_pair *p)
{
	DAT_EP_ATTR attr = a_attr(p);

	attr.max_recv_dtos = RECVS;
	attr.max_request_dtos = WINDOW;
	attr.max_recv_iov = 1;
	attr.max_request_iov = 1;
	return attr;
}

static DAT_RETURN d_open(struct a_pair *p, DAT_BOOLEAN threads)
{
	DAT_EVD_FLAGS flags = DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG;
	DAT_RETURN rc = d_ia(p, threads);
	DAT_EP_ATTR attr;
	int i;

	if (rc == DAT_SUCCESS)
		rc = dat_ia_query(p->ia, NULL, DAT_IA_FIELD_ALL, &p->attr, 0, NULL);
	if (rc == DAT_SUCCESS)
		rc = dat_pz_create(p->ia, &p->pz);
	if (rc == DAT_SUCCESS)
		rc = a_mem(p, 4096, DAT_MEM_PRIV_ALL_FLAG, &p->mem);
	if (rc == DAT_SUCCESS)
		rc = dat_evd_create(p->ia, 8, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &p->cr);
	attr = d_attr(p);
	for (i = 0; i < 2 && rc == DAT_SUCCESS; i++) {
		rc = dat_evd_create(p->ia, RECVS + 16, DAT_HANDLE_NULL, flags, &p->evd[i]);
		if (rc == DAT_SUCCESS)
			rc = dat_ep_create(p->ia, p->pz, p->evd[i], p->evd[i], p->evd[i], &attr,
					   &p->ep[i]);
	}
	return rc;
}

/* Connect two EPs.  Return NULL on failure. */
static struct side *d_side(DAT_BOOLEAN threads)
{
	struct dat_side *d = calloc(1, sizeof(*d));
	struct a_pair *p = &d->p;

	d->side = (struct side) { d_post_recv, d_post_send, d_poll_recv, d_poll_send };
	if (d_open(p, threads) ||
	    dat_psp_create(p->ia, A_QUAL, p->cr, DAT_PSP_CONSUMER_FLAG, &p->psp) ||
	    a_connect(p, p->ep[0], p->ep[1], p->evd[0], p->evd[1]) || dat_psp_free(p->psp))
		return NULL;
	d->out = a_seg(&p->mem, 0, MSG);
	d->in = a_seg(&p->mem, MSG, MSG);
	return &d->side;
}

struct verbs_side {
	struct side		side;
	struct ibv_context	*ctx;
	struct ibv_pd		*pd;
	struct ibv_mr		*mr;
	struct ibv_cq		*cq[2];
	struct ibv_qp		*qp[2];
	struct ibv_sge		out, in;
	char			mem[2 * MSG];
};

static int v_post_recv(struct side *s, int n)
{
	struct verbs_side *v = (struct verbs_side *)s;
	struct ibv_recv_wr wr = { .sg_list = &v->in, .num_sge = 1 }, *bad;
	int i, ret = 0;

	for (i = 0; i < n; i++) {
		wr.wr_id = i;
		ret |= ibv_post_recv(v->qp[1], &wr, &bad);
	}
	return ret;
}

static int v_post_send(struct side *s, int n)
{
	struct verbs_side *v = (struct verbs_side *)s;
	struct ibv_send_wr wr = {
		.sg_list = &v->out, .num_sge = 1, .opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
	}, *bad;
	int i, ret = 0;

	for (i = 0; i < n; i++) {
		wr.wr_id = i;
		ret |= ibv_post_send(v->qp[0], &wr, &bad);
	}
	return ret;
}

static int v_poll(struct ibv_cq *cq, int n)
{
	struct ibv_wc wc;
	int i, bad = 0;

	for (i = 0; i < n; i++) {
		if (ibv_poll_cq(cq, 1, &wc) != 1)
			break;
		bad |= wc.status != IBV_WC_SUCCESS;
	}
	return bad ? -1 : i;
}

static int v_poll_recv(struct side *s, int n)
{
	return v_poll(((struct verbs_side *)s)->cq[1], n);
}

static int v_poll_send(struct side *s, int n)
{
	return v_poll(((struct verbs_side *)s)->cq[0], n);
}

/* Store the first GID that is an IPv4 address in @gid.  Return the index of the GID, or -1. */
static int v_gid(struct ibv_context *ctx, union ibv_gid *gid)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	int i;

	for (i = 0; i < 16; i++)
		if (!ibv_query_gid(ctx, 1, i, gid) && !memcmp(gid, mapped, sizeof(mapped)))
			return i;
	return -1;
}

static int v_to_init(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };

	return ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
					IBV_QP_ACCESS_FLAGS);
}

static int v_to_rts(struct ibv_qp *qp, uint32_t peer, const union ibv_gid *gid, int index)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024, .dest_qp_num = peer,
		.max_dest_rd_atomic = 1, .min_rnr_timer = 12, .timeout = 14, .retry_cnt = 7,
		.rnr_retry = 7, .max_rd_atomic = 1,
		.ah_attr = { .is_global = 1, .port_num = 1,
			     .grh = { .dgid = *gid, .sgid_index = index, .hop_limit = 64 } },
	};

	if (ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
				     IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
				     IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER))
		return -1;
	attr.qp_state = IBV_QPS_RTS;
	return ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
					IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
					IBV_QP_MAX_QP_RD_ATOMIC);
}

static int v_qps(struct verbs_side *v)
{
	struct ibv_qp_init_attr attr = {
		.cap = { .max_send_wr = WINDOW, .max_recv_wr = RECVS, .max_send_sge = 1,
			 .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
	};
	union ibv_gid gid;
	int i, index = v_gid(v->ctx, &gid);

	for (i = 0; i < 2; i++) {
		v->cq[i] = ibv_create_cq(v->ctx, RECVS + 16, NULL, NULL, 0);
		attr.send_cq = v->cq[i];
		attr.recv_cq = v->cq[i];
		v->qp[i] = v->cq[i] ? ibv_create_qp(v->pd, &attr) : NULL;
		if (!v->qp[i] || v_to_init(v->qp[i]))
			return -1;
	}
	return index < 0 || v_to_rts(v->qp[0], v->qp[1]->qp_num, &gid, index) ||
	       v_to_rts(v->qp[1], v->qp[0]->qp_num, &gid, index);
}

/* Connect two QPs.  Return NULL on failure. */
static struct side *v_side(void)
{
	struct verbs_side *v = calloc(1, sizeof(*v));
	struct ibv_device **list = ibv_get_device_list(NULL);

	v->side = (struct side) { v_post_recv, v_post_send, v_poll_recv, v_poll_send };
	v->ctx = list && list[0] ? ibv_open_device(list[0]) : NULL;
	v->pd = v->ctx ? ibv_alloc_pd(v->ctx) : NULL;
	v->mr = v->pd ? ibv_reg_mr(v->pd, v->mem, sizeof(v->mem), IBV_ACCESS_LOCAL_WRITE) : NULL;
	if (!v->mr || v_qps(v))
		return NULL;
	v->out = (struct ibv_sge) { (uintptr_t)v->mem, MSG, v->mr->lkey };
	v->in = (struct ibv_sge) { (uintptr_t)v->mem + MSG, MSG, v->mr->lkey };
	return &v->side;
}

/* --- cost of a call -------------------------------------------------------------------- */

/* Average TSC ticks per call in one round. */
struct round {
	double post_recv, post_send, dequeue, empty;
};

static double ticks_of(int (*call)(struct side *s, int n), struct side *s, int n, int *ret)
{
	uint64_t begun = __rdtsc();

	*ret = call(s, n);
	return (double)(__rdtsc() - begun);
}

static int reap_sends(struct side *s, int n)
{
	int got;

	while (n) {
		got = s->poll_send(s, n);
		if (got < 0)
			return -1;
		n -= got;
	}
	return 0;
}

static int poll_empty(struct side *s, int n)
{
	int i, found = 0;

	for (i = 0; i < n; i++)
		found |= s->poll_recv(s, 1);
	return found;
}

/*
 * Send @n messages and measure the calls.  Return 0, 1 if a message arrived too late for the
 * measurement, or -1 on error.
 */
static int one_round(struct side *s, int n, struct round *r)
{
	int ret, late = 0, got;

	r->post_recv = ticks_of(s->post_recv, s, n, &ret) / n;
	if (ret)
		return -1;
	r->post_send = ticks_of(s->post_send, s, n, &ret) / n;
	if (ret || reap_sends(s, n))
		return -1;
	usleep(DRAIN_US);
	r->dequeue = ticks_of(s->poll_recv, s, n, &got) / n;
	while (got >= 0 && got < n) {
		late = 1;
		ret = s->poll_recv(s, n - got);
		got = ret < 0 ? ret : got + ret;
	}
	r->empty = ticks_of(poll_empty, s, EMPTY, &ret) / EMPTY;
	return got < 0 || ret ? -1 : late;
}

FIXTURE(calls) {
	struct side *dat, *verbs;
	double d[4][MAX_ROUNDS], v[4][MAX_ROUNDS];
	double overhead;
};

FIXTURE_VARIANT(calls) {
	int depth;
	DAT_BOOLEAN threads;
};

#define DEPTH(n)	\
	FIXTURE_VARIANT_ADD(calls, depth_##n) { .depth = n, .threads = DAT_FALSE }
#define THREADS(n)	\
	FIXTURE_VARIANT_ADD(calls, depth_##n##_threads) { .depth = n, .threads = DAT_TRUE }
DEPTH(1);
DEPTH(2);
DEPTH(4);
DEPTH(8);
DEPTH(16);
DEPTH(32);
DEPTH(64);
THREADS(1);
THREADS(8);
THREADS(64);

FIXTURE_SETUP(calls)
{
	uint64_t begun;
	int i;

	calibrate();
	for (i = 0; i < MAX_ROUNDS; i++) {
		begun = __rdtsc();
		self->d[0][i] = (double)(__rdtsc() - begun);
	}
	self->overhead = median(self->d[0], MAX_ROUNDS);
	self->dat = d_side(variant->threads);
	ASSERT_NE(NULL, self->dat);
	self->verbs = v_side();
	ASSERT_NE(NULL, self->verbs);
}

FIXTURE_TEARDOWN(calls)
{
	dat_ia_close(((struct dat_side *)self->dat)->p.ia, DAT_CLOSE_ABRUPT_FLAG);
}

/* Post receives, but leave room in the queue for the receives of one round. */
static int fill(struct side *s)
{
	return s->post_recv(s, RECVS - WINDOW);
}

static int measure(FIXTURE_DATA(calls) *self, int depth, int rounds)
{
	struct round d, v;
	int i, k = 0, a, b;

	if (fill(self->dat) || fill(self->verbs))
		return -1;
	for (i = 0; i < rounds; i++) {
		a = one_round(self->dat, depth, &d);
		b = one_round(self->verbs, depth, &v);
		if (a < 0 || b < 0)
			return -1;
		/* Ignore the first rounds, in which the caches are cold. */
		if (a || b || i < rounds / 10)
			continue;
		self->d[0][k] = d.post_recv - self->overhead / depth;
		self->v[0][k] = v.post_recv - self->overhead / depth;
		self->d[1][k] = d.post_send - self->overhead / depth;
		self->v[1][k] = v.post_send - self->overhead / depth;
		self->d[2][k] = d.dequeue - self->overhead / depth;
		self->v[2][k] = v.dequeue - self->overhead / depth;
		self->d[3][k] = d.empty - self->overhead / EMPTY;
		self->v[3][k] = v.empty - self->overhead / EMPTY;
		k++;
	}
	return k;
}

static int rounds_of(int depth)
{
	return depth > 16 ? 120 : MAX_ROUNDS / 2;
}

static void report(FIXTURE_DATA(calls) *self, int which, int n, const char *what,
		   const FIXTURE_VARIANT(calls) *variant)
{
	char name[64];

	snprintf(name, sizeof(name), "%s%s/%d", what, variant->threads ? "_threads" : "",
		 variant->depth);
	figure(name, "ns", median(self->d[which], n) * ns_per_tick,
	       median(self->v[which], n) * ns_per_tick);
}

#define CALL_TEST(name, which)							\
TEST_F_TIMEOUT(calls, name, 120)						\
{										\
	int n = measure(self, variant->depth, rounds_of(variant->depth));	\
										\
	ASSERT_LT(10, n);							\
	report(self, which, n, #name, variant);					\
}
CALL_TEST(post_recv, 0)
CALL_TEST(post_send, 1)
CALL_TEST(dequeue, 2)
CALL_TEST(dequeue_empty, 3)

/* --- system calls -------------------------------------------------------------------------- */

#define OPS		10000
/*
 * struct flow - a stream of messages in one direction
 * @s: libdat or verbs
 * @received: number of messages received; the sender is at most WINDOW ahead
 */
struct flow {
	struct side		*s;
	volatile unsigned int	received;
};

static int receive(struct flow *f, int n)
{
	int got;

	while (n) {
		got = f->s->poll_recv(f->s, n < WINDOW ? n : WINDOW);
		if (got < 0 || f->s->post_recv(f->s, got))
			return -1;
		f->received += got;
		n -= got;
	}
	return 0;
}

/* Send @n messages, with as many in flight as WINDOW and the receiver allow. */
static int send_all(struct flow *f, unsigned int n, unsigned int base)
{
	unsigned int posted = 0, done = 0, room;
	int got;

	while (done < n) {
		room = WINDOW - (posted - done);
		if (posted + room > n)
			room = n - posted;
		if (posted + room > f->received - base + WINDOW)
			room = f->received - base + WINDOW - posted;
		if (f->s->post_send(f->s, room))
			return -1;
		posted += room;
		got = f->s->poll_send(f->s, WINDOW);
		if (got < 0)
			return -1;
		done += got;
	}
	return 0;
}

static void *other_receives(void *arg)
{
	return (void *)(long)receive(arg, OPS + WINDOW);
}

static void *other_sends(void *arg)
{
	return (void *)(long)send_all(arg, OPS + WINDOW, 0);
}

/*
 * Count the system calls of a sender in ioctl() and write(), which the libraries call.  A tracer
 * would slow the sender down so much that each send would complete before the next is posted.
 */
static __thread int counting;
static long counted;

static int changed_ioctl(int fd, unsigned long request, void *arg)
{
	counted += counting;
	return real_ioctl(fd, request, arg);
}

ssize_t write(int fd, const void *buf, size_t n)
{
	counted += counting;
	return syscall(SYS_write, fd, buf, n);
}

/*
 * Count the system calls of the sender.  A second thread receives.  Return a negative value on
 * failure.
 */
static long count_sending(int dat)
{
	struct flow f = { .s = dat ? d_side(DAT_TRUE) : v_side() };
	pthread_t other;
	void *ret;
	int bad;

	if (!f.s || f.s->post_recv(f.s, RECVS) || pthread_create(&other, NULL, other_receives, &f))
		return -1;
	bad = send_all(&f, WINDOW, 0);
	while (f.received < WINDOW)
		sched_yield();
	counted = 0;
	counting = 1;
	bad |= send_all(&f, OPS, WINDOW);
	counting = 0;
	if (bad)
		return -2;
	pthread_join(other, &ret);
	return ret ? -3 : counted;
}

/*
 * The traced process.  It receives: first some messages as a warm-up, then OPS messages between two
 * marks.  A second thread, which is not traced, sends.
 */
static int receiver(int dat)
{
	struct flow f = { .s = dat ? d_side(DAT_TRUE) : v_side() };
	pthread_t other;
	void *ret;

	if (!f.s || f.s->post_recv(f.s, RECVS) ||
	    pthread_create(&other, NULL, other_sends, &f))
		return 2;
	if (receive(&f, WINDOW))
		return 3;
	mark(MARK_START);
	if (receive(&f, OPS))
		return 4;
	mark(MARK_END);
	pthread_join(other, &ret);
	return ret != NULL;
}

static long count_receiving(int dat, int *exit_status)
{
	pid_t pid = fork();

	if (!pid) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		raise(SIGSTOP);
		_exit(receiver(dat));
	}
	return count_between_marks(pid, exit_status);
}

FIXTURE(syscalls) {
};

FIXTURE_SETUP(syscalls)
{
	if (getenv("DAT_BENCH_CALLS"))
		SKIP(return, "only the calls were asked for");
}

FIXTURE_TEARDOWN(syscalls)
{
}

TEST_F_TIMEOUT(syscalls, receiving_10000, 120)
{
	int d_status, v_status;
	long d = count_receiving(1, &d_status), v = count_receiving(0, &v_status);

	ASSERT_EQ(0, d_status);
	ASSERT_EQ(0, v_status);
	ASSERT_LE(0, d);
	ASSERT_LE(0, v);
	figure("syscalls_recv", "per_10000", d, v);
}

TEST_F_TIMEOUT(syscalls, sending_10000, 120)
{
	long d = count_sending(1), v = count_sending(0);

	ASSERT_LE(0, d);
	ASSERT_LE(0, v);
	figure("syscalls_send", "per_10000", d, v);
}

/* --- many endpoints -------------------------------------------------------------------------- */

#define EPS	1024

/* Send WINDOW messages.  Return the TSC ticks per message. */
static double message(struct side *s)
{
	uint64_t begun = __rdtsc();
	int left = WINDOW, got;

	if (s->post_recv(s, WINDOW) || s->post_send(s, WINDOW) || reap_sends(s, WINDOW))
		return -1;
	while (left) {
		got = s->poll_recv(s, left);
		if (got < 0)
			return -1;
		left -= got;
	}
	return (double)(__rdtsc() - begun) / WINDOW;
}

FIXTURE(eps) {
};

FIXTURE_SETUP(eps)
{
	if (getenv("DAT_BENCH_CALLS"))
		SKIP(return, "only the calls were asked for");
}

FIXTURE_TEARDOWN(eps)
{
}

TEST_F_TIMEOUT(eps, a_message_with_1024_open_against_one, 120)
{
	static double many[MAX_ROUNDS], one[MAX_ROUNDS];
	struct dat_side *d, *e;
	DAT_EP_ATTR attr;
	DAT_EP_HANDLE ep;
	int i;

	calibrate();
	d = (struct dat_side *)d_side(DAT_FALSE);
	ASSERT_NE(NULL, d);
	e = (struct dat_side *)d_side(DAT_FALSE);
	ASSERT_NE(NULL, e);
	attr = d_attr(&d->p);
	for (i = 2; i < EPS; i++)
		ASSERT_EQ(DAT_SUCCESS, dat_ep_create(d->p.ia, d->p.pz, d->p.evd[0], d->p.evd[0],
						     d->p.evd[0], &attr, &ep));
	ASSERT_EQ(0, fill(&d->side));
	ASSERT_EQ(0, fill(&e->side));
	for (i = 0; i < MAX_ROUNDS / 2; i++) {
		many[i] = message(&d->side);
		one[i] = message(&e->side);
		ASSERT_LT(0, many[i]);
		ASSERT_LT(0, one[i]);
	}
	figure("message_1024_eps", "ns", median(many, i) * ns_per_tick,
	       median(one, i) * ns_per_tick);
	dat_ia_close(d->p.ia, DAT_CLOSE_ABRUPT_FLAG);
	dat_ia_close(e->p.ia, DAT_CLOSE_ABRUPT_FLAG);
}

TEST_HARNESS_MAIN
