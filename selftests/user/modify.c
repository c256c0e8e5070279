// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* EPs, SRQs and EVDs that are resized while other threads use them. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "dat_test.h"
#include "clock.h"

#ifndef RACE_S
#define RACE_S		4	/* shortest time of a race in seconds */
#endif
#define STREAMS		(DAT_STREAM_DTO | DAT_STREAM_CONNECTION)
#define DISCONNECTED	11	/* value of DAT_EP_STATE */

FIXTURE(modify) {
	struct t_pair p;
	struct t_link link;
	struct t_evd soft;
};

FIXTURE_VARIANT(modify) {
	uint32_t poller_us;
};

FIXTURE_VARIANT_ADD(modify, kicks) {
};

/*
 * The poller of this variant parks after an idle millisecond, so parking races with the other
 * threads.
 */
FIXTURE_VARIANT_ADD(modify, poller) {
	.poller_us = 1000,
};

FIXTURE_SETUP(modify)
{
	ASSERT_EQ(0, t_pair_open(&self->p));
	ASSERT_EQ(0, t_poller(&self->p.f, variant->poller_us));
	ASSERT_EQ(0, t_link_open(&self->p, &self->link));
	ASSERT_EQ(0, t_evd(&self->p.f, DAT_STREAM_SOFTWARE, 16, &self->soft));
}

FIXTURE_TEARDOWN(modify)
{
	EXPECT_EQ(0, t_link_works(&self->p, &self->link));
	t_pair_close(&self->p);
}

static struct dat_ep_modify modify_arg(const struct t_pair *p, uint32_t ep, const struct t_evd *evd,
				       uint32_t recv, uint32_t request)
{
	return (struct dat_ep_modify) {
		.size = sizeof(struct dat_ep_modify), .id = ep, .pz = p->pz,
		.recv_evd = evd->id, .request_evd = evd->id, .connect_evd = evd->id,
		.max_recv = recv, .max_request = request, .max_recv_iov = 4,
		.max_request_iov = 4, .read_in = 4, .read_out = 4,
	};
}

static void queue_move(struct t_queue *q, void *ring, uint32_t entries, uint32_t shift,
		       uint32_t *tail, struct dat_queue_status *status)
{
	q->ring = ring;
	q->entries = entries;
	q->shift = shift;
	q->shared_tail = tail;
	q->tail = *tail;
	q->status = status;
}

/* Map the new rings that EP_MODIFY has created, and use them from now on. */
static int ep_remap(struct t_file *f, struct t_ep *ep, const struct dat_ep_modify *arg)
{
	struct dat_submit *submit;
	struct dat_status *status;
	int ret;

	t_unmap(&ep->submit);
	ret = t_map_span(f, &arg->submit, PROT_READ | PROT_WRITE, &ep->submit);
	if (ret)
		return ret;
	submit = ep->submit.va;
	status = ep->status.va;
	queue_move(&ep->sq, (char *)submit + arg->sq_offset, arg->max_request, arg->sq_shift,
		   &submit->sq_tail, &status->sq);
	queue_move(&ep->rq, (char *)submit + arg->rq_offset, arg->max_recv, arg->rq_shift,
		   &submit->rq_tail, &status->rq);
	return 0;
}

static int srq_resize(struct t_file *f, struct t_srq *srq, uint32_t entries)
{
	struct dat_srq_resize arg = { .size = sizeof(arg), .id = srq->id, .max_recv = entries };
	struct dat_submit *submit;
	int ret = t_ioctl(f->fd, DAT_IOC_SRQ_RESIZE, &arg);

	if (ret)
		return ret;
	t_unmap(&srq->submit);
	ret = t_map_span(f, &arg.submit, PROT_READ | PROT_WRITE, &srq->submit);
	if (ret)
		return ret;
	submit = srq->submit.va;
	queue_move(&srq->rq, (char *)submit + arg.rq_offset, arg.max_recv, srq->rq.shift,
		   &submit->rq_tail, &((struct dat_status *)srq->status.va)->rq);
	return 0;
}

static int evd_resize(struct t_evd *evd, uint32_t qlen)
{
	struct dat_evd_resize arg = { .size = sizeof(arg), .id = evd->id, .qlen = qlen };
	int ret = t_ioctl(evd->f->fd, DAT_IOC_EVD_RESIZE, &arg);

	if (ret)
		return ret;
	t_unmap(&evd->ring);
	evd->entries = arg.qlen;
	return t_map_span(evd->f, &arg.ring, PROT_READ, &evd->ring);
}

/* Call the ioctl @nr with an argument in read-only memory: the kernel cannot write results. */
static int call_sealed(struct t_file *f, unsigned long nr, const void *arg, size_t size)
{
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			  0);
	int ret;

	memcpy(page, arg, size);
	mprotect(page, 4096, PROT_READ);
	ret = t_ioctl(f->fd, nr, page);
	munmap(page, 4096);
	return ret;
}

#define SEALED(f, nr, arg) call_sealed(f, DAT_IOC_##nr, &(arg), sizeof(arg))

/* Post a receive to @rq unless @rq is NULL, and send a message from @from to ep[0]. */
static int message(struct t_pair *p, struct t_queue *rq, struct t_ep *from)
{
	uint64_t addr = (uintptr_t)p->mem.va;
	struct dat_eqe eqe;
	int ret, i;

	ret = rq ? t_recv(rq, 0, addr, p->mem.lkey, 64) : 0;
	if (!ret)
		ret = t_send(from, 1, addr, p->mem.lkey, 64);
	for (i = 0; i < 2 && !ret; i++)
		if (!t_event(&p->evd[i], T_WAIT_MS, &eqe) || eqe.type != DAT_EV_DTO ||
		    eqe.status)
			ret = -EIO;
	return ret;
}

/*
 * If the kernel cannot copy the results to the caller, the caller does not know where the new rings
 * are.  EP_MODIFY must then keep the old rings.
 */
TEST_F(modify, an_EP_whose_answer_cannot_be_given_is_as_it_was)
{
	struct t_pair *p = &self->p;
	struct dat_ep_modify arg = modify_arg(p, p->ep[0].id, &p->evd[1], 500, 500);

	EXPECT_EQ(-EFAULT, SEALED(&p->f, EP_MODIFY, arg));
	ASSERT_EQ(0, t_pair_connect(p));
	EXPECT_EQ(0, message(p, &p->ep[0].rq, &p->ep[1]));
}

TEST_F(modify, an_SRQ_whose_answer_cannot_be_given_is_as_it_was)
{
	struct t_pair *p = &self->p;
	struct dat_srq_resize arg = { .size = sizeof(arg), .max_recv = 500 };
	struct t_srq srq;
	struct t_ep in;

	ASSERT_EQ(0, t_srq(&p->f, p->pz, 16, &srq));
	ASSERT_EQ(0, t_ep(&p->f, p->pz, &p->evd[0], srq.id, 3, &in));
	arg.id = srq.id;
	EXPECT_EQ(-EFAULT, SEALED(&p->f, SRQ_RESIZE, arg));
	p->ep[0] = in;
	ASSERT_EQ(0, t_pair_connect(p));
	EXPECT_EQ(0, message(p, &srq.rq, &p->ep[1]));
}

TEST_F(modify, an_EVD_whose_answer_cannot_be_given_is_as_it_was)
{
	struct dat_evd_resize arg = { .size = sizeof(arg), .id = self->soft.id, .qlen = 500 };
	struct dat_eqe eqe;

	ASSERT_EQ(0, t_post_soft(&self->soft, 1));
	EXPECT_EQ(-EFAULT, SEALED(&self->p.f, EVD_RESIZE, arg));
	ASSERT_EQ(0, t_post_soft(&self->soft, 2));
	ASSERT_EQ(1, t_event(&self->soft, 0, &eqe));
	EXPECT_EQ(1, eqe.cookie);
	ASSERT_EQ(1, t_event(&self->soft, 0, &eqe));
	EXPECT_EQ(2, eqe.cookie);
}

TEST_F(modify, a_CNO_whose_answer_cannot_be_given_stays_triggered)
{
	struct dat_cno_create cno = { .size = sizeof(cno) };
	struct dat_evd_modify_cno attach = { .size = sizeof(attach), .id = self->soft.id };
	struct dat_cno_wait wait = { .size = sizeof(wait) };
	struct t_file *f = &self->p.f;

	ASSERT_EQ(0, t_ioctl(f->fd, DAT_IOC_CNO_CREATE, &cno));
	attach.cno = cno.id;
	wait.id = cno.id;
	ASSERT_EQ(0, t_ioctl(f->fd, DAT_IOC_EVD_MODIFY_CNO, &attach));
	ASSERT_EQ(0, t_post_soft(&self->soft, 1));
	EXPECT_EQ(-EFAULT, SEALED(f, CNO_WAIT, wait));
	EXPECT_EQ(0, t_ioctl(f->fd, DAT_IOC_CNO_WAIT, &wait));
	EXPECT_EQ(-ETIMEDOUT, t_ioctl(f->fd, DAT_IOC_CNO_WAIT, &wait));
}

/*
 * The failed calls must not leave bindings prepared.  An RMR holds at most 64 prepared bindings, so
 * leftovers would make a later call fail.
 */
TEST_F(modify, an_RMR_whose_answer_cannot_be_given_has_nothing_prepared)
{
	struct t_pair *p = &self->p;
	struct dat_rmr_create rmr = { .size = sizeof(rmr), .pz = p->pz };
	struct dat_rmr_bind arg = {
		.size = sizeof(arg), .lmr = p->mem.id, .priv = DAT_PRIV_REMOTE_READ,
		.addr = (uintptr_t)p->mem.va, .length = 4096,
	};
	int i;

	ASSERT_EQ(0, t_ioctl(p->f.fd, DAT_IOC_RMR_CREATE, &rmr));
	arg.id = rmr.id;
	for (i = 0; i < 100; i++)
		EXPECT_EQ(-EFAULT, SEALED(&p->f, RMR_BIND, arg));
	EXPECT_EQ(0, t_ioctl(p->f.fd, DAT_IOC_RMR_BIND, &arg));
}

static volatile int stop;

/* Thread that rings every doorbell and kicks, until @stop. */
static void *kicker(void *arg)
{
	struct t_file *f = arg;

	while (!stop) {
		t_ring_all(f, 128);
		t_kick(f);
	}
	return NULL;
}

struct job {
	struct t_pair	*p;
	struct t_evd	evd;
	volatile uint32_t id;
	uint32_t	type;
	int		scribble;
	unsigned int	done;
	unsigned int	refused;
	int		bad;
};

static void job_result(struct job *j, int ret)
{
	if (!ret)
		j->done++;
	else if (ret == -EISCONN || ret == -ENOENT || ret == -EBUSY || ret == -ENOSPC)
		j->refused++;
	else
		j->bad = ret;
}

static int change_one(struct job *j)
{
	uint32_t n = 1 + rand() % 64;

	if (j->type == DAT_OBJ_EP) {
		struct dat_ep_modify arg = modify_arg(j->p, j->id, rand() & 1 ? &j->evd :
						      &j->p->evd[0], n, 1 + rand() % 64);

		/* Keep connection events at evd[0], because the tests take them from evd[0]. */
		arg.connect_evd = j->p->evd[0].id;
		return t_ioctl(j->p->f.fd, DAT_IOC_EP_MODIFY, &arg);
	}
	if (j->type == DAT_OBJ_SRQ) {
		struct dat_srq_resize arg = {
			.size = sizeof(arg), .id = j->id, .max_recv = n,
		};

		return t_ioctl(j->p->f.fd, DAT_IOC_SRQ_RESIZE, &arg);
	}
	struct dat_evd_resize arg = { .size = sizeof(arg), .id = j->id, .qlen = n };

	return t_ioctl(j->p->f.fd, DAT_IOC_EVD_RESIZE, &arg);
}

/* Thread that resizes the object of the job in a loop, until @stop. */
static void *changer(void *arg)
{
	struct job *j = arg;

	while (!stop)
		job_result(j, change_one(j));
	return NULL;
}

/*
 * Write garbage to the entries and advance the tails, so that the driver may process garbage
 * entries.
 */
static void scribble(struct t_map *m)
{
	volatile uint32_t *w = m->va;
	size_t i;

	for (i = sizeof(struct dat_submit) / 4; i < m->size / 4; i++)
		w[i] = rand();
	w[offsetof(struct dat_submit, sq_tail) / 4] += rand() % 2;
	w[offsetof(struct dat_submit, rq_tail) / 4] += rand() % 2;
}

static void map_one(struct job *j, int kind, uint64_t size)
{
	uint64_t at = ((uint64_t)j->id << 8 | kind) * 4096;
	struct t_map m;

	if (j->scribble && !t_map(&j->p->f, at, size, PROT_READ | PROT_WRITE, &m)) {
		scribble(&m);
		t_unmap(&m);
	} else if (!t_map(&j->p->f, at, size, PROT_READ, &m)) {
		*(volatile char *)m.va;
		t_unmap(&m);
	}
}

/* Thread that maps and unmaps each region of the object with several sizes, until @stop. */
static void *mapper(void *arg)
{
	struct job *j = arg;
	uint64_t size;
	int kind;

	while (!stop)
		for (kind = 0; kind < 4; kind++)
			for (size = 4096; size <= 4 * 4096; size += 4096)
				map_one(j, kind, size);
	return NULL;
}

static void start(struct __test_metadata *_metadata, pthread_t *t, void *(*fn)(void *), void *arg)
{
	ASSERT_EQ(0, pthread_create(t, NULL, fn, arg));
}

static void join(pthread_t *t, int n)
{
	stop = 1;
	while (n--)
		pthread_join(t[n], NULL);
}

/*
 * Disconnect and reset both EPs.  If ep[0] cannot be reset because of a broken queue, replace ep[0]
 * by a new EP.  Then discard all events and connection requests.
 */
static void drop_connection(struct __test_metadata *_metadata, struct t_pair *p)
{
	struct dat_ep_query q = { .size = sizeof(q), .id = p->ep[0].id };
	struct dat_eqe eqe;
	int i;

	t_disconnect(&p->f, &p->ep[0], 0);
	t_disconnect(&p->f, &p->ep[1], 0);
	for (i = 0; i < 2000 && p->ep[1].st->state != DISCONNECTED; i++)
		usleep(10000);
	ASSERT_EQ(0, t_reset(&p->f, &p->ep[1]));
	for (i = 0; i < 2000 && q.state != DISCONNECTED && (!i || q.state); i++) {
		ASSERT_EQ(0, t_ioctl(p->f.fd, DAT_IOC_EP_QUERY, &q));
		usleep(1000);
	}
	if (t_reset(&p->f, &p->ep[0])) {
		ASSERT_EQ(0, t_free(&p->f, DAT_OBJ_EP, p->ep[0].id));
		t_unmap(&p->ep[0].submit);
		t_unmap(&p->ep[0].status);
		ASSERT_EQ(0, t_ep(&p->f, p->pz, &p->evd[0], 0, 1, &p->ep[0]));
	}
	for (i = 0; i < 2; i++)
		while (t_event(&p->evd[i], 0, &eqe))
			;
	while (t_event(&p->cr, 0, &eqe))
		t_free(&p->f, DAT_OBJ_CR, eqe.len);
}

/*
 * Two threads modify ep[0] while the test accepts a connection on ep[0], disconnects and resets it.
 * EP_MODIFY must succeed or return one of the errors that job_result() expects.
 */
TEST_F_TIMEOUT(modify, an_EP_while_it_is_accepted_kicked_posted_to_and_reset, 300)
{
	struct t_pair *p = &self->p;
	struct job j = { .p = p, .id = p->ep[0].id, .type = DAT_OBJ_EP, .scribble = 1 };
	unsigned int accepted = 0, refused = 0, broken = 0;
	double end = now_s() + RACE_S;
	struct dat_eqe eqe;
	pthread_t t[4];
	int ret;

	ASSERT_EQ(0, t_evd(&p->f, DAT_STREAM_DTO, 256, &j.evd));
	stop = 0;
	start(_metadata, &t[0], changer, &j);
	start(_metadata, &t[1], changer, &j);
	start(_metadata, &t[2], kicker, &p->f);
	start(_metadata, &t[3], mapper, &j);
	while (now_s() < end || !accepted || !j.done) {
		ASSERT_EQ(0, t_connect(&p->f, &p->ep[1], T_QUAL, NULL, 0));
		ASSERT_EQ(1, t_event(&p->cr, T_WAIT_MS, &eqe));
		ret = t_accept(&p->f, eqe.len, &p->ep[0], NULL, 0);
		/* -EISCONN: EP_MODIFY changed the EP after the accept had checked it. */
		ASSERT_TRUE(!ret || ret == -EISCONN) TH_LOG("%d", ret);
		ret ? refused++ : accepted++;
		if (ret)
			ASSERT_EQ(0, t_free(&p->f, DAT_OBJ_CR, eqe.len));
		ASSERT_EQ(1, t_event(&p->evd[1], T_WAIT_MS, &eqe));
		drop_connection(_metadata, p);
		broken += j.id != p->ep[0].id;
		j.id = p->ep[0].id;
	}
	join(t, 4);
	TH_LOG("%u modified, %u not; %u accepted, %u not; %u broken", j.done, j.refused,
	       accepted, refused, broken);
	EXPECT_EQ(0, j.bad);
	EXPECT_LT(0, j.done);
	EXPECT_LT(0, accepted);
	ASSERT_EQ(0, t_free(&p->f, DAT_OBJ_EP, j.id));
	EXPECT_EQ(0, t_free(&p->f, DAT_OBJ_EVD, j.evd.id));
}

/* No thread writes garbage to the rings in this test, so ep[0] must work after the race. */
TEST_F_TIMEOUT(modify, an_EP_while_it_connects_and_it_works_in_the_end, 300)
{
	struct t_pair *p = &self->p;
	struct job j = { .p = p, .id = p->ep[0].id, .type = DAT_OBJ_EP, .evd = p->evd[0] };
	struct dat_ep_modify arg = modify_arg(p, p->ep[0].id, &p->evd[0], 9, 9);
	unsigned int connected = 0, refused = 0;
	double end = now_s() + RACE_S;
	struct dat_eqe eqe;
	pthread_t t[2];
	int ret;

	stop = 0;
	start(_metadata, &t[0], changer, &j);
	start(_metadata, &t[1], kicker, &p->f);
	while (now_s() < end || !connected) {
		/* No listener exists at this qualifier, so the connection is rejected. */
		ret = t_connect(&p->f, &p->ep[0], T_QUAL + 1, NULL, 0);
		ASSERT_TRUE(!ret || ret == -EISCONN) TH_LOG("%d", ret);
		ret ? refused++ : connected++;
		if (ret)
			continue;
		ASSERT_EQ(1, t_event(&p->evd[0], T_WAIT_MS, &eqe));
		EXPECT_EQ(DAT_EV_NON_PEER_REJECTED, eqe.type);
		ASSERT_EQ(0, t_reset(&p->f, &p->ep[0]));
	}
	join(t, 2);
	TH_LOG("%u modified, %u not; %u connected, %u not", j.done, j.refused, connected,
	       refused);
	EXPECT_EQ(0, j.bad);
	EXPECT_LT(0, connected);
	ASSERT_EQ(0, t_ioctl(p->f.fd, DAT_IOC_EP_MODIFY, &arg));
	ASSERT_EQ(0, ep_remap(&p->f, &p->ep[0], &arg));
	ASSERT_EQ(0, t_pair_connect(p));
	EXPECT_EQ(0, message(p, &p->ep[0].rq, &p->ep[1]));
}

/*
 * An object that is freed during its modification must drop its references on the PZ and the EVD.
 */
TEST_F_TIMEOUT(modify, objects_that_are_being_freed, 300)
{
	static const uint32_t types[] = { DAT_OBJ_EP, DAT_OBJ_SRQ, DAT_OBJ_EVD };
	struct t_pair *p = &self->p;
	double end = now_s() + RACE_S;
	unsigned int rounds = 0, done = 0;
	int ret;

	while (now_s() < end) {
		struct job j = { .p = p, .type = types[rounds % 3] };
		struct t_srq srq;
		pthread_t t[3];
		uint32_t pz = p->pz;
		struct t_ep ep;

		ASSERT_EQ(0, t_evd(&p->f, STREAMS, 64, &j.evd));
		ASSERT_EQ(0, t_pz(&p->f, &p->pz));
		ASSERT_EQ(0, t_srq(&p->f, p->pz, 16, &srq));
		ASSERT_EQ(0, t_ep(&p->f, p->pz, &j.evd, 0, 4, &ep));
		j.id = j.type == DAT_OBJ_EP ? ep.id : j.type == DAT_OBJ_SRQ ? srq.id : j.evd.id;
		stop = 0;
		start(_metadata, &t[0], changer, &j);
		start(_metadata, &t[1], mapper, &j);
		start(_metadata, &t[2], kicker, &p->f);
		usleep(rand() % 5000);
		EXPECT_EQ(0, t_free(&p->f, DAT_OBJ_EP, ep.id));
		EXPECT_EQ(0, t_free(&p->f, DAT_OBJ_SRQ, srq.id));
		/*
		 * A modification that is still running may hold a reference to the EVD for a
		 * moment.
		 */
		while ((ret = t_free(&p->f, DAT_OBJ_EVD, j.evd.id)) == -EBUSY && !stop)
			;
		EXPECT_EQ(0, ret);
		join(t, 3);
		EXPECT_EQ(0, j.bad);
		EXPECT_EQ(0, t_free(&p->f, DAT_OBJ_PZ, p->pz));
		p->pz = pz;
		t_unmap(&ep.submit);
		t_unmap(&ep.status);
		t_unmap(&srq.submit);
		t_unmap(&srq.status);
		t_unmap(&j.evd.submit);
		t_unmap(&j.evd.status);
		rounds++;
		done += j.done;
	}
	TH_LOG("%u rounds, %u changes", rounds, done);
}

struct supplier {
	struct t_pair	*p;
	struct t_srq	*srq;
	unsigned int	resized;
	unsigned int	full;
	int		bad;
};

/*
 * Thread that resizes the SRQ to random sizes.  After each resize the thread posts a random number
 * of receives, at most until the SRQ is full.
 */
static void *supplier(void *arg)
{
	struct supplier *s = arg;
	struct t_queue *q = &s->srq->rq;
	int ret;

	while (!stop && !s->bad) {
		ret = srq_resize(&s->p->f, s->srq, 1 << rand() % 7);
		if (!ret)
			s->resized++;
		else if (ret == -ENOSPC)
			s->full++;
		else
			s->bad = ret;
		while (!s->bad && q->tail - q->status->done < q->entries && rand() % 8)
			s->bad = t_recv(q, 0, (uintptr_t)s->p->mem.va, s->p->mem.lkey, 64);
	}
	return NULL;
}

static void *low_watermark(void *arg)
{
	struct supplier *s = arg;
	struct dat_srq_set_lw lw = { .size = sizeof(lw), .id = s->srq->id };

	while (!stop) {
		lw.low_watermark = rand() % 64;
		t_ioctl(s->p->f.fd, DAT_IOC_SRQ_SET_LW, &lw);
	}
	return NULL;
}

/* Every message takes exactly one buffer of the SRQ and causes exactly one receive event. */
TEST_F_TIMEOUT(modify, an_SRQ_while_messages_arrive, 300)
{
	struct t_pair *p = &self->p;
	struct supplier s = { .p = p };
	struct job j = { .p = p };
	double end = now_s() + RACE_S;
	unsigned int n = 0, first;
	struct t_srq srq;
	struct t_ep in;
	pthread_t t[4];

	ASSERT_EQ(0, t_srq(&p->f, p->pz, 16, &srq));
	ASSERT_EQ(0, t_ep(&p->f, p->pz, &p->evd[0], srq.id, 3, &in));
	p->ep[0] = in;
	ASSERT_EQ(0, t_pair_connect(p));
	s.srq = &srq;
	j.id = srq.id;
	first = srq.rq.tail;
	stop = 0;
	start(_metadata, &t[0], supplier, &s);
	start(_metadata, &t[1], kicker, &p->f);
	start(_metadata, &t[2], mapper, &j);
	start(_metadata, &t[3], low_watermark, &s);
	while (now_s() < end || !s.resized) {
		ASSERT_EQ(0, message(p, NULL, &p->ep[1])) TH_LOG("message %u", n);
		n++;
	}
	join(t, 4);
	EXPECT_EQ(0, s.bad);
	EXPECT_LT(0, s.resized);
	TH_LOG("%u messages, %u sizes, %u times too much in it", n, s.resized, s.full);
	EXPECT_EQ(n, srq.rq.status->done - first);
	EXPECT_EQ(0, srq.rq.status->bad);
}

struct poster {
	struct t_evd	*evd;
	unsigned int	n;
	int		bad;
};

/* Thread that posts software events with the cookies 0, 1, 2, ..., each exactly once. */
static void *numbers(void *arg)
{
	struct poster *s = arg;
	int ret;

	while (!stop) {
		ret = t_post_soft(s->evd, s->n);
		if (!ret)
			s->n++;
		else if (ret != -ENOSPC)
			s->bad = ret;
	}
	return NULL;
}

/*
 * Thread that waits on the EVD.  If the threshold exceeds the EVD's current size, the wait fails
 * with -EINVAL.
 */
static void *waiter(void *arg)
{
	struct poster *s = arg;
	int ret;

	while (!stop) {
		ret = t_evd_wait(s->evd, 1 + rand() % 64, 1);
		if (ret && ret != -ETIMEDOUT && ret != -EINVAL && ret != -EBUSY)
			s->bad = ret;
	}
	return NULL;
}

/* No event is lost, duplicated or reordered, whatever sizes the ring has. */
TEST_F_TIMEOUT(modify, an_EVD_while_events_arrive, 300)
{
	struct poster s = { .evd = &self->soft };
	struct job j = { .p = &self->p, .id = self->soft.id };
	unsigned int want = 0, resized = 0, refused = 0;
	double end = now_s() + RACE_S;
	struct dat_eqe eqe;
	pthread_t t[3];
	int ret;

	stop = 0;
	start(_metadata, &t[0], numbers, &s);
	start(_metadata, &t[1], waiter, &s);
	start(_metadata, &t[2], mapper, &j);
	while (now_s() < end || !resized) {
		ret = evd_resize(&self->soft, 1 << rand() % 7);
		ASSERT_TRUE(!ret || ret == -ENOSPC || ret == -EBUSY) TH_LOG("%d", ret);
		ret ? refused++ : resized++;
		while (rand() % 16 && t_event(&self->soft, 0, &eqe)) {
			ASSERT_EQ(want, eqe.cookie);
			want++;
		}
	}
	join(t, 3);
	while (t_event(&self->soft, 0, &eqe)) {
		ASSERT_EQ(want, eqe.cookie);
		want++;
	}
	EXPECT_EQ(s.n, want);
	EXPECT_EQ(0, s.bad);
	EXPECT_LT(0, resized);
	TH_LOG("%u events, %u sizes, %u times too much in it", want, resized, refused);
}

TEST_HARNESS_MAIN
