// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "dat_test.h"
#include "clock.h"

int t_ioctl(int fd, unsigned long cmd, void *arg)
{
	return ioctl(fd, cmd, arg) < 0 ? -errno : 0;
}

int t_map(struct t_file *f, uint64_t offset, uint64_t size, int prot, struct t_map *m)
{
	m->size = size;
	m->base = mmap(NULL, size, prot, MAP_SHARED, f->fd, (off_t)offset);
	m->va = m->base == MAP_FAILED ? NULL : m->base;
	return m->va ? 0 : -errno;
}

/* Map the memory of an object.  Each call makes a new mapping, although objects could share one. */
int t_map_span(struct t_file *f, const struct dat_span *at, int prot, struct t_map *m)
{
	int ret = t_map(f, at->offset, at->size, prot, m);

	if (!ret)
		m->va = (char *)m->base + at->start;
	return ret;
}

void t_unmap(struct t_map *m)
{
	if (m->va)
		munmap(m->base, m->size);
	m->va = NULL;
}

/*
 * Stop this process for 200 ms.  A child sends SIGSTOP and SIGCONT, because a stopped process
 * cannot continue itself.  Return the pid of the child.
 */
pid_t t_stop_and_continue(void)
{
	pid_t parent = getpid(), pid = fork();

	if (pid)
		return pid;
	usleep(200000);
	kill(parent, SIGSTOP);
	usleep(200000);
	kill(parent, SIGCONT);
	_exit(0);
}

int t_adapter(int fd, struct dat_adapter *a)
{
	const char *name = getenv("DAT_ADAPTER");
	int ret;

	memset(a, 0, sizeof(*a));
	a->size = sizeof(*a);
	do {
		ret = t_ioctl(fd, DAT_IOC_ADAPTER, a);
	} while (!ret && name && strcmp(name, (char *)a->name));
	return ret;
}

int t_open(struct t_file *f)
{
	return t_open_at(f, NULL);
}

uint64_t t_features;

int t_open_at(struct t_file *f, const char *at)
{
	struct dat_ia_open open_arg = { .size = sizeof(open_arg) };
	struct dat_adapter adapter;
	int ret;

	memset(f, 0, sizeof(*f));
	f->fd = open("/dev/dat", O_RDWR | O_CLOEXEC);
	if (f->fd < 0)
		return -errno;
	ret = t_adapter(f->fd, &adapter);
	if (ret)
		return ret;
	snprintf((char *)open_arg.name, sizeof(open_arg.name), "%.32s%s%s", (char *)adapter.name,
		 at ? "@" : "", at ?: "");
	open_arg.features = t_features;
	ret = t_ioctl(f->fd, DAT_IOC_IA_OPEN, &open_arg);
	if (ret)
		return ret;
	f->max_queues = open_arg.max_queues;
	f->info.size = sizeof(f->info);
	ret = t_ioctl(f->fd, DAT_IOC_IA_QUERY, &f->info);
	if (ret)
		return ret;
	return t_map(f, open_arg.doorbell_offset, open_arg.doorbell_size,
		     PROT_READ | PROT_WRITE, &f->db);
}

static void *poller_thread(void *arg)
{
	struct dat_poller_run run = { .size = sizeof(run) };
	struct t_file *f = arg;

	while (t_ioctl(f->fd, DAT_IOC_POLLER_RUN, &run) == -EINTR)
		;
	return NULL;
}

/*
 * Wait for the end of the poller thread, which the caller has stopped.  A forked child inherits the
 * value of f->poller_of, but the thread exists only in the parent.
 */
static void poller_end(struct t_file *f)
{
	if (f->poller_of == getpid())
		pthread_join(f->poller, NULL);
	f->poller_of = 0;
}

int t_is_device(const struct t_file *f)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/class/infiniband/%.64s", (const char *)f->info.device);
	return !access(path, F_OK);
}

/*
 * Close the IA and the file.  As long as a mapping of the file exists, the kernel's open file and
 * the adapter stay in use.
 */
void t_close(struct t_file *f)
{
	struct dat_ia_close arg = { .size = sizeof(arg) };

	t_ioctl(f->fd, DAT_IOC_IA_CLOSE, &arg);
	poller_end(f);
	t_unmap(&f->db);
	close(f->fd);
}

int t_pz(struct t_file *f, uint32_t *pz)
{
	struct dat_pz_create arg = { .size = sizeof(arg) };
	int ret = t_ioctl(f->fd, DAT_IOC_PZ_CREATE, &arg);

	*pz = arg.id;
	return ret;
}

int t_free(struct t_file *f, uint32_t type, uint32_t id)
{
	struct dat_free arg = { .size = sizeof(arg), .type = type, .id = id };

	return t_ioctl(f->fd, DAT_IOC_FREE, &arg);
}

int t_lmr(struct t_file *f, uint32_t pz, size_t size, uint32_t priv, struct t_lmr *lmr)
{
	struct dat_lmr_create arg = {
		.size = sizeof(arg), .pz = pz, .length = size, .priv = priv,
	};
	int ret;

	lmr->size = size;
	lmr->va = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (lmr->va == MAP_FAILED)
		return -ENOMEM;
	arg.addr = (uintptr_t)lmr->va;
	ret = t_ioctl(f->fd, DAT_IOC_LMR_CREATE, &arg);
	lmr->id = arg.id;
	lmr->lkey = arg.lmr_context;
	lmr->rkey = arg.rmr_context;
	return ret;
}

int t_evd(struct t_file *f, uint32_t streams, uint32_t qlen, struct t_evd *evd)
{
	struct dat_evd_create arg = { .size = sizeof(arg), .streams = streams, .qlen = qlen };
	int ret = t_ioctl(f->fd, DAT_IOC_EVD_CREATE, &arg);

	memset(evd, 0, sizeof(*evd));
	if (ret)
		return ret;
	evd->f = f;
	evd->id = arg.id;
	evd->entries = arg.qlen;
	evd->shift = arg.eqe_shift;
	ret = t_map_span(f, &arg.submit, PROT_READ | PROT_WRITE, &evd->submit);
	if (!ret)
		ret = t_map_span(f, &arg.status, PROT_READ, &evd->status);
	if (!ret)
		ret = t_map_span(f, &arg.ring, PROT_READ, &evd->ring);
	if (!ret)
		evd->head = ((struct dat_evd_status *)evd->status.va)->tail;
	return ret;
}

static void queue_init(struct t_queue *q, struct t_file *f, uint32_t bell, void *ring,
		       uint32_t entries, uint32_t shift, uint32_t *tail,
		       struct dat_queue_status *status)
{
	*q = (struct t_queue) {
		.f = f, .bell = bell, .entries = entries, .shift = shift, .tail = *tail,
		.shared_tail = tail, .ring = ring, .status = status,
	};
}

int t_srq(struct t_file *f, uint32_t pz, uint32_t entries, struct t_srq *srq)
{
	struct dat_srq_create arg = { .pz = pz, .max_recv = entries, .max_iov = 2 };

	return t_any_srq(f, &arg, srq);
}

int t_any_srq(struct t_file *f, struct dat_srq_create *arg, struct t_srq *srq)
{
	struct dat_submit *submit;
	struct dat_status *status;
	int ret;

	arg->size = sizeof(*arg);
	ret = t_ioctl(f->fd, DAT_IOC_SRQ_CREATE, arg);
	if (ret)
		return ret;
	srq->id = arg->id;
	ret = t_map_span(f, &arg->submit, PROT_READ | PROT_WRITE, &srq->submit);
	if (!ret)
		ret = t_map_span(f, &arg->status, PROT_READ, &srq->status);
	if (ret)
		return ret;
	submit = srq->submit.va;
	status = srq->status.va;
	queue_init(&srq->rq, f, arg->queue, (char *)submit + arg->rq_offset, arg->max_recv,
		   arg->rq_shift, &submit->rq_tail, &status->rq);
	return 0;
}

int t_ep(struct t_file *f, uint32_t pz, const struct t_evd *evd, uint32_t srq, uint32_t owner,
	 struct t_ep *ep)
{
	return t_long_ep(f, pz, evd, srq, owner, T_QUEUE, ep);
}

int t_long_ep(struct t_file *f, uint32_t pz, const struct t_evd *evd, uint32_t srq,
	      uint32_t owner, uint32_t entries, struct t_ep *ep)
{
	struct dat_ep_create arg = {
		.size = sizeof(arg), .pz = pz, .recv_evd = evd->id, .request_evd = evd->id,
		.connect_evd = evd->id, .srq = srq, .max_recv = srq ? 0 : entries,
		.max_request = entries, .max_recv_iov = 4, .max_request_iov = 4,
		.read_in = 4, .read_out = 4, .user_data = owner,
	};

	return t_any_ep(f, &arg, ep);
}

int t_any_ep(struct t_file *f, struct dat_ep_create *arg, struct t_ep *ep)
{
	struct dat_submit *submit;
	struct dat_status *status;
	int ret;

	arg->size = sizeof(*arg);
	ret = t_ioctl(f->fd, DAT_IOC_EP_CREATE, arg);
	if (ret)
		return ret;
	ep->id = arg->id;
	ret = t_map_span(f, &arg->submit, PROT_READ | PROT_WRITE, &ep->submit);
	if (!ret)
		ret = t_map_span(f, &arg->status, PROT_READ, &ep->status);
	if (ret)
		return ret;
	submit = ep->submit.va;
	status = ep->status.va;
	ep->st = status;
	queue_init(&ep->sq, f, arg->sq_queue, (char *)submit + arg->sq_offset, arg->max_request,
		   arg->sq_shift, &submit->sq_tail, &status->sq);
	queue_init(&ep->rq, f, arg->rq_queue, (char *)submit + arg->rq_offset, arg->max_recv,
		   arg->rq_shift, &submit->rq_tail, &status->rq);
	return 0;
}

int t_psp(struct t_file *f, const struct t_evd *evd, uint64_t qual, uint32_t *psp)
{
	struct dat_psp_create arg = { .size = sizeof(arg), .evd = evd->id, .conn_qual = qual };
	int ret = t_ioctl(f->fd, DAT_IOC_PSP_CREATE, &arg);

	*psp = arg.id;
	return ret;
}

int t_connect(struct t_file *f, const struct t_ep *ep, uint64_t qual, const void *pd,
	      uint32_t pd_len)
{
	struct dat_ep_connect arg = {
		.size = sizeof(arg), .id = ep->id, .conn_qual = qual,
		.timeout_us = T_WAIT_MS * 1000, .pd_len = pd_len,
	};

	memcpy(arg.addr, f->info.addr, sizeof(arg.addr));
	arg.addr_len = f->info.addr_len;
	if (pd_len)
		memcpy(arg.pd, pd, pd_len);
	return t_ioctl(f->fd, DAT_IOC_EP_CONNECT, &arg);
}

int t_accept(struct t_file *f, uint32_t cr, const struct t_ep *ep, const void *pd,
	     uint32_t pd_len)
{
	struct dat_cr_accept arg = {
		.size = sizeof(arg), .id = cr, .ep = ep->id, .pd_len = pd_len,
	};

	if (pd_len)
		memcpy(arg.pd, pd, pd_len);
	return t_ioctl(f->fd, DAT_IOC_CR_ACCEPT, &arg);
}

int t_disconnect(struct t_file *f, const struct t_ep *ep, uint32_t flags)
{
	struct dat_ep_disconnect arg = { .size = sizeof(arg), .id = ep->id, .flags = flags };

	return t_ioctl(f->fd, DAT_IOC_EP_DISCONNECT, &arg);
}

int t_reset(struct t_file *f, const struct t_ep *ep)
{
	struct dat_ep_reset arg = { .size = sizeof(arg), .id = ep->id };

	return t_ioctl(f->fd, DAT_IOC_EP_RESET, &arg);
}

/* Start a thread that polls the doorbells until the IA is closed.  @idle_us 0 ends the thread. */
int t_poller(struct t_file *f, uint32_t idle_us)
{
	struct dat_poller_set arg = { .size = sizeof(arg), .idle_us = idle_us };
	int ret = t_ioctl(f->fd, DAT_IOC_POLLER_SET, &arg);

	if (!idle_us)
		poller_end(f);
	if (ret || !idle_us || f->poller_of)
		return ret;
	ret = pthread_create(&f->poller, NULL, poller_thread, f);
	if (!ret)
		f->poller_of = getpid();
	return -ret;
}

int t_kick(struct t_file *f)
{
	return t_ioctl(f->fd, DAT_IOC_KICK, NULL);
}

/* An ioctl whose argument is a number. */
int t_word(struct t_file *f, unsigned long cmd, unsigned long word)
{
	return t_ioctl(f->fd, cmd, (void *)word);
}

static uint64_t deadline(unsigned int ms)
{
	return now_ns() + (uint64_t)ms * 1000000;
}

int t_post_soft(struct t_evd *evd, uint64_t cookie)
{
	struct dat_evd_post arg = { .size = sizeof(arg), .id = evd->id, .cookie = cookie };

	return t_ioctl(evd->f->fd, DAT_IOC_EVD_POST, &arg);
}

int t_evd_wait(struct t_evd *evd, uint32_t threshold, unsigned int ms)
{
	struct dat_evd_wait arg = {
		.size = sizeof(arg), .id = evd->id, .threshold = threshold,
		.deadline_ns = ms ? deadline(ms) : 0,
	};
	int ret = t_ioctl(evd->f->fd, DAT_IOC_EVD_WAIT, &arg);

	/* A wait whose wake-up was lost finds its events when its time is up. */
	if (!ret && ms >= T_WAIT_MS && deadline(0) >= arg.deadline_ns)
		ret = -ETIME;
	return ret;
}

int t_event(struct t_evd *evd, unsigned int ms, struct dat_eqe *eqe)
{
	struct dat_evd_status *status = evd->status.va;
	struct dat_evd_head *submit = evd->submit.va;
	char *ring = evd->ring.va;

	if (__atomic_load_n(&status->tail, __ATOMIC_ACQUIRE) == evd->head &&
	    t_evd_wait(evd, 1, ms))
		return 0;
	*eqe = *(struct dat_eqe *)(ring + ((size_t)(evd->head & (evd->entries - 1)) << evd->shift));
	__atomic_store_n(&submit->head, ++evd->head, __ATOMIC_RELEASE);
	return 1;
}

int t_status(struct t_evd *evd)
{
	struct dat_eqe eqe;

	if (!t_event(evd, T_WAIT_MS, &eqe))
		return -ETIMEDOUT;
	return eqe.type == DAT_EV_DTO ? (int)eqe.status : -EIO;
}

static void *entry(struct t_queue *q)
{
	void *e = q->ring + ((size_t)(q->tail & (q->entries - 1)) << q->shift);

	memset(e, 0, 1UL << q->shift);
	return e;
}

struct dat_sqe *t_sqe(struct t_queue *q)
{
	return entry(q);
}

struct dat_rqe *t_rqe(struct t_queue *q)
{
	return entry(q);
}

/* Set the doorbell bit @bell of a queue. */
void t_ring(struct t_file *f, uint32_t bell)
{
	uint32_t *dirty = f->db.va;

	__atomic_fetch_or(&dirty[bell / 32], 1U << (bell % 32), __ATOMIC_SEQ_CST);
}

/* Set the doorbell bits 0 to @bells - 1, rounded up to whole words. */
void t_ring_all(struct t_file *f, uint32_t bells)
{
	uint32_t *dirty = f->db.va, i;

	for (i = 0; i < bells; i += 32)
		__atomic_store_n(&dirty[i / 32], ~0U, __ATOMIC_SEQ_CST);
}

int t_push(struct t_queue *q)
{
	__atomic_store_n(q->shared_tail, ++q->tail, __ATOMIC_RELEASE);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	t_ring(q->f, q->bell);
	if (!(q->status->flags & DAT_QUEUE_NEED_KICK) ||
	    (int32_t)(q->tail - q->status->kick_at) < 0)
		return 0;
	return t_kick(q->f);
}

int t_rdma(struct t_ep *ep, int op, uint64_t cookie, uint64_t addr, uint32_t lkey,
	   uint32_t len, uint64_t raddr, uint32_t rkey)
{
	struct dat_sqe *sqe = t_sqe(&ep->sq);

	sqe->opcode = op;
	sqe->cookie = cookie;
	sqe->raddr = raddr;
	sqe->rkey = rkey;
	sqe->num_sge = 1;
	*(struct dat_sge *)(sqe + 1) = (struct dat_sge) { addr, lkey, len };
	return t_push(&ep->sq);
}

int t_send(struct t_ep *ep, uint64_t cookie, uint64_t addr, uint32_t lkey, uint32_t len)
{
	return t_rdma(ep, DAT_OP_SEND, cookie, addr, lkey, len, 0, 0);
}

int t_recv(struct t_queue *q, uint64_t cookie, uint64_t addr, uint32_t lkey, uint32_t len)
{
	struct dat_rqe *rqe = t_rqe(q);

	rqe->cookie = cookie;
	rqe->num_sge = 1;
	*(struct dat_sge *)(rqe + 1) = (struct dat_sge) { addr, lkey, len };
	return t_push(q);
}

int t_set_param(const char *name, uint32_t value)
{
	char path[80];
	FILE *f;

	snprintf(path, sizeof(path), "/sys/module/dat/parameters/%s", name);
	f = fopen(path, "w");
	if (!f)
		return -errno;
	fprintf(f, "%u\n", value);
	return fclose(f) ? -errno : 0;
}

int t_set_ring_start(uint32_t start)
{
	return t_set_param("ring_start", start);
}
