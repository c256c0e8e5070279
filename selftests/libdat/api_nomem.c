// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * Let each mmap() and pthread_create() of libdat fail once.  The DAT call must return an error,
 * must change nothing, and must leave nothing behind.
 */
#define _GNU_SOURCE
/* With _FILE_OFFSET_BITS set, mmap() could be another name of mmap64().  This file defines both. */
#undef _FILE_OFFSET_BITS
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "dat_api.h"

#define MAX_NTH		20
/*
 * Ring lengths that do not fit into an existing mapping of libdat, so that libdat must call mmap().
 */
#define LONG		4096
#define LONGER		8192
#define MADE_QUAL	(A_QUAL + 1)

/* Number of calls until a call of mmap() or pthread_create() fails; 0: no call fails. */
static int mmap_nth, thread_nth;

/* If set, mmap() fails if it is called to reserve address space (PROT_NONE). */
static int no_addresses;

/*
 * libdat calls mmap64(), mmap() and pthread_create() of this program, not those of the C library.
 */
void *mmap64(void *addr, size_t len, int prot, int flags, int fd, off64_t offset)
{
	if ((mmap_nth && !--mmap_nth) || (no_addresses && prot == PROT_NONE)) {
		errno = ENOMEM;
		return MAP_FAILED;
	}
#ifdef SYS_mmap2
	return (void *)syscall(SYS_mmap2, addr, len, prot, flags, fd, (long)(offset >> 12));
#else
	return (void *)syscall(SYS_mmap, addr, len, prot, flags, fd, offset);
#endif
}

/* libdat calls this function, not mmap64(), if its off_t has the size of a machine word. */
void *mmap(void *addr, size_t len, int prot, int flags, int fd, off_t offset)
{
	return mmap64(addr, len, prot, flags, fd, offset);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*fn)(void *), void *arg)
{
	int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

	if (thread_nth && !--thread_nth)
		return EAGAIN;
	real = (__typeof__(real))dlsym(RTLD_NEXT, "pthread_create");
	return real(thread, attr, fn, arg);
}

#ifdef __SANITIZE_ADDRESS__
/* AddressSanitizer maps memory of its own at any time, and takes much address space. */
#define WITH_ASAN	1
#else
#define WITH_ASAN	0
#endif

/* Do not count the lines of the heap, because there may be more of them when the heap grows. */
static int count_lines(const char *path)
{
	FILE *f = fopen(path, "r");
	char line[600];
	int lines = 0;

	while (f && fgets(line, sizeof(line), f))
		lines += !strstr(line, "[heap]");
	if (f)
		fclose(f);
	return lines;
}

struct held {
	int mappings;
	int files;
	int objects;	/* number of lines that describe objects in fdinfo */
};

static struct held held(void)
{
	struct held h = {
		.mappings = WITH_ASAN ? 0 : count_lines("/proc/self/maps"),
	};
	DIR *dir = opendir("/proc/self/fd");
	char path[300], target[64];
	struct dirent *e;

	while (dir && (e = readdir(dir))) {
		ssize_t n = readlinkat(dirfd(dir), e->d_name, target, sizeof(target) - 1);

		if (n < 0)
			continue;
		h.files++;
		target[n] = 0;
		snprintf(path, sizeof(path), "/proc/self/fdinfo/%s", e->d_name);
		if (!strcmp(target, "/dev/dat"))
			h.objects += count_lines(path);
	}
	closedir(dir);
	return h;
}

typedef DAT_RETURN (*call_fn)(void *ctx);
typedef void (*check_fn)(struct __test_metadata *_metadata, void *ctx);

/*
 * Let the @n-th mmap() of @call fail.  Check that @call returns an error and leaves nothing behind.
 * Return 0 if @call makes fewer than @n calls of mmap(), else 1.
 */
static int fails_at(struct __test_metadata *_metadata, int n, call_fn call, void *ctx,
		    DAT_RETURN *rc)
{
	struct held before = held(), after;
	int fired;

	mmap_nth = n;
	*rc = call(ctx);
	fired = !mmap_nth;
	mmap_nth = 0;
	if (!fired)
		return 0;
	after = held();
	EXPECT_EQ(DAT_INSUFFICIENT_RESOURCES, TYPE(*rc)) TH_LOG("mmap %d: %#x", n, *rc);
	EXPECT_EQ(before.mappings, after.mappings) TH_LOG("mmap %d", n);
	EXPECT_EQ(before.files, after.files) TH_LOG("mmap %d", n);
	EXPECT_EQ(before.objects, after.objects) TH_LOG("mmap %d", n);
	return 1;
}

/*
 * Call @call again and again, with its first, second, ... mmap() failing, until it succeeds.  Check
 * that @call makes @want calls of mmap().
 */
static void fail_each(struct __test_metadata *_metadata, int want, call_fn call,
		      check_fn check, void *ctx)
{
	DAT_RETURN rc = DAT_SUCCESS;
	int n;

	for (n = 1; n < MAX_NTH; n++) {
		if (!fails_at(_metadata, n, call, ctx, &rc))
			break;
		if (check)
			check(_metadata, ctx);
	}
	EXPECT_EQ(want, n - 1);
	ASSERT_EQ(DAT_SUCCESS, rc);
}

/* --- opening an IA --- */

static DAT_RETURN open_ia(void *ctx)
{
	DAT_EVD_HANDLE async;

	return a_ia(ctx, &async);
}

/*
 * Let libdat fail to reserve address space for handles.  The reservation is the first mapping that
 * libdat makes.  libdat never unmaps it.
 */
TEST(ia_open_without_memory_for_handles)
{
	struct held before = held(), after;
	DAT_IA_HANDLE ia;

	no_addresses = 1;
	EXPECT_EQ(DAT_INSUFFICIENT_RESOURCES, TYPE(open_ia(&ia)));
	no_addresses = 0;
	after = held();
	EXPECT_EQ(before.mappings, after.mappings);
	EXPECT_EQ(before.files, after.files);
	ASSERT_EQ(DAT_SUCCESS, open_ia(&ia));
	EXPECT_EQ(DAT_SUCCESS, dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
}

TEST(ia_open)
{
	struct held before, after;
	DAT_IA_HANDLE ia;

	ASSERT_EQ(DAT_SUCCESS, open_ia(&ia));
	ASSERT_EQ(DAT_SUCCESS, dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
	before = held();
	/* dat_ia_open() maps three times: the doorbell, and two parts of the async EVD. */
	fail_each(_metadata, 3, open_ia, NULL, &ia);
	EXPECT_EQ(DAT_SUCCESS, dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
	after = held();
	EXPECT_EQ(before.mappings, after.mappings);
	EXPECT_EQ(before.files, after.files);
}

FIXTURE(nomem) {
	struct a_pair p;
	DAT_EVD_HANDLE evd;
	DAT_SRQ_HANDLE srq;
	DAT_EP_HANDLE ep;
	uint64_t posted;
	uint64_t seen;
};

FIXTURE_SETUP(nomem)
{
	ASSERT_EQ(DAT_SUCCESS, a_open(&self->p));
}

FIXTURE_TEARDOWN(nomem)
{
	a_close(&self->p);
}

/* --- creating objects --- */

static DAT_RETURN create_evd(void *ctx)
{
	FIXTURE_DATA(nomem) *self = ctx;

	return dat_evd_create(self->p.ia, LONG, DAT_HANDLE_NULL,
			      DAT_EVD_SOFTWARE_FLAG | DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG,
			      &self->evd);
}

static DAT_RETURN create_srq(void *ctx)
{
	DAT_SRQ_ATTR attr = { .max_recv_dtos = LONG, .max_recv_iov = 1 };
	FIXTURE_DATA(nomem) *self = ctx;

	return dat_srq_create(self->p.ia, self->p.pz, &attr, &self->srq);
}

static DAT_RETURN create_ep(void *ctx)
{
	FIXTURE_DATA(nomem) *self = ctx;
	DAT_EP_ATTR attr = a_attr(&self->p);

	attr.max_request_dtos = LONG;
	return dat_ep_create(self->p.ia, self->p.pz, self->evd, self->evd, self->evd, &attr,
			     &self->ep);
}

/* Covers: dat_evd_create INSUFFICIENT_RESOURCES|MEMORY */
TEST_F(nomem, evd_create)
{
	fail_each(_metadata, 1, create_evd, NULL, self);
	EXPECT_EQ(DAT_SUCCESS, dat_evd_free(self->evd));
}

/* Covers: dat_srq_create INSUFFICIENT_RESOURCES */
TEST_F(nomem, srq_create)
{
	fail_each(_metadata, 1, create_srq, NULL, self);
	EXPECT_EQ(DAT_SUCCESS, dat_srq_free(self->srq));
}

/* Covers: dat_ep_create INSUFFICIENT_RESOURCES */
TEST_F(nomem, ep_create)
{
	ASSERT_EQ(DAT_SUCCESS, create_evd(self));
	fail_each(_metadata, 1, create_ep, NULL, self);
	EXPECT_EQ(DAT_SUCCESS, dat_ep_free(self->ep));
	EXPECT_EQ(DAT_SUCCESS, dat_evd_free(self->evd));
}

/* --- resizing objects --- */

static DAT_RETURN grow_evd(void *ctx)
{
	FIXTURE_DATA(nomem) *self = ctx;

	return dat_evd_resize(self->evd, LONGER);
}

static DAT_RETURN post_event(FIXTURE_DATA(nomem) *self)
{
	DAT_EVENT event = { .event_number = DAT_SOFTWARE_EVENT };
	DAT_RETURN rc;

	event.event_data.software_event_data.pointer = (void *)(uintptr_t)self->posted;
	rc = dat_evd_post_se(self->evd, &event);
	self->posted += rc == DAT_SUCCESS;
	return rc;
}

static void expect_event(struct __test_metadata *_metadata, FIXTURE_DATA(nomem) *self)
{
	DAT_EVENT event;

	ASSERT_EQ(1, a_event(self->evd, A_WAIT_US, &event));
	EXPECT_EQ((void *)(uintptr_t)self->seen++,
		  event.event_data.software_event_data.pointer);
}

/* Fill the queue, then dequeue half of the events. */
static void evd_works(struct __test_metadata *_metadata, FIXTURE_DATA(nomem) *self,
		      DAT_COUNT qlen)
{
	DAT_EVD_PARAM param;
	int i;

	ASSERT_EQ(DAT_SUCCESS, dat_evd_query(self->evd, DAT_EVD_FIELD_ALL, &param));
	EXPECT_EQ(qlen, param.evd_qlen);
	while (self->posted - self->seen < (uint64_t)qlen)
		ASSERT_EQ(DAT_SUCCESS, post_event(self));
	EXPECT_EQ(DAT_QUEUE_FULL, TYPE(post_event(self)));
	for (i = 0; i < qlen / 2; i++)
		expect_event(_metadata, self);
}

static void evd_is_short(struct __test_metadata *_metadata, void *ctx)
{
	evd_works(_metadata, ctx, LONG);
}

/* Covers: dat_evd_resize INSUFFICIENT_RESOURCES|TEVD; SH 33 */
TEST_F_TIMEOUT(nomem, evd_resize, 60)
{
	ASSERT_EQ(DAT_SUCCESS, create_evd(self));
	evd_is_short(_metadata, self);
	fail_each(_metadata, 1, grow_evd, evd_is_short, self);
	evd_works(_metadata, self, LONGER);
}

static DAT_RETURN grow_srq(void *ctx)
{
	FIXTURE_DATA(nomem) *self = ctx;

	return dat_srq_resize(self->srq, LONGER);
}

static DAT_RETURN connect_srq(FIXTURE_DATA(nomem) *self)
{
	struct a_pair *p = &self->p;
	DAT_EP_ATTR attr = a_attr(p);
	DAT_RETURN rc = create_srq(self);

	attr.max_recv_dtos = 0;
	if (rc == DAT_SUCCESS)
		rc = dat_ep_create_with_srq(p->ia, p->pz, p->evd[0], p->evd[0], p->evd[0],
					    self->srq, &attr, &self->ep);
	return rc == DAT_SUCCESS ?
	       a_connect(p, p->ep[1], self->ep, p->evd[1], p->evd[0]) : rc;
}

/* Fill the queue, then let messages use some of the buffers, in the order of the posts. */
static void srq_works(struct __test_metadata *_metadata, FIXTURE_DATA(nomem) *self,
		      DAT_COUNT entries)
{
	struct a_pair *p = &self->p;
	DAT_LMR_TRIPLET in = a_seg(&p->mem, 0, 64), out = a_seg(&p->mem, 65536, 64);
	DAT_SRQ_PARAM param;
	uint64_t cookie;
	int i;

	ASSERT_EQ(DAT_SUCCESS, dat_srq_query(self->srq, DAT_SRQ_FIELD_ALL, &param));
	EXPECT_EQ(entries, param.max_recv_dtos);
	EXPECT_EQ(self->posted - self->seen, param.outstanding_dto_count);
	for (; self->posted - self->seen < (uint64_t)entries; self->posted++)
		ASSERT_EQ(DAT_SUCCESS, dat_srq_post_recv(self->srq, 1, &in,
							 a_cookie(self->posted)));
	EXPECT_EQ(RC(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_SRQ),
		  dat_srq_post_recv(self->srq, 1, &in, a_cookie(0)));
	for (i = 0; i < 16; i++) {
		memset(p->mem.va, 0, 64);
		memset(p->mem.va + 65536, i + 1, 64);
		ASSERT_EQ(DAT_SUCCESS, dat_ep_post_send(p->ep[1], 1, &out, a_cookie(0), 0));
		ASSERT_EQ(DAT_DTO_SUCCESS, a_dto(p->evd[0], &cookie, NULL));
		ASSERT_EQ(DAT_DTO_SUCCESS, a_dto(p->evd[1], NULL, NULL));
		EXPECT_EQ(self->seen++, cookie);
		EXPECT_EQ(0, memcmp(p->mem.va, p->mem.va + 65536, 64));
	}
}

static void srq_is_short(struct __test_metadata *_metadata, void *ctx)
{
	srq_works(_metadata, ctx, LONG);
}

/* Covers: dat_srq_resize INSUFFICIENT_RESOURCES|SRQ; SH 47 */
TEST_F_TIMEOUT(nomem, srq_resize, 60)
{
	ASSERT_EQ(DAT_SUCCESS, connect_srq(self));
	srq_is_short(_metadata, self);
	fail_each(_metadata, 1, grow_srq, srq_is_short, self);
	srq_works(_metadata, self, LONGER);
}

/* --- modifying EPs --- */

static DAT_RETURN modify_ep(void *ctx)
{
	FIXTURE_DATA(nomem) *self = ctx;
	DAT_EP_PARAM param = {
		.recv_evd_handle = self->evd, .request_evd_handle = self->evd,
		.connect_evd_handle = self->evd,
		.ep_attr = { .max_recv_dtos = LONG, .max_request_dtos = 100, .max_recv_iov = 2 },
	};

	return dat_ep_modify(self->ep, DAT_EP_FIELD_RECV_EVD_HANDLE |
			     DAT_EP_FIELD_REQUEST_EVD_HANDLE | DAT_EP_FIELD_CONNECT_EVD_HANDLE |
			     DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS |
			     DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS |
			     DAT_EP_FIELD_EP_ATTR_MAX_RECV_IOV, &param);
}

static DAT_RETURN post_recv(FIXTURE_DATA(nomem) *self)
{
	DAT_LMR_TRIPLET seg = a_seg(&self->p.mem, 0, 64);

	return dat_ep_post_recv(self->ep, 1, &seg, a_cookie(self->posted++), 0);
}

static void expect_ep(struct __test_metadata *_metadata, FIXTURE_DATA(nomem) *self,
		      DAT_EVD_HANDLE evd, DAT_COUNT recvs, DAT_COUNT requests)
{
	DAT_EP_PARAM param;

	ASSERT_EQ(DAT_SUCCESS, dat_ep_query(self->ep, DAT_EP_FIELD_ALL, &param));
	EXPECT_EQ(recvs, param.ep_attr.max_recv_dtos);
	EXPECT_EQ(requests, param.ep_attr.max_request_dtos);
	EXPECT_EQ(evd, param.recv_evd_handle);
	EXPECT_EQ(evd, param.request_evd_handle);
	EXPECT_EQ(evd, param.connect_evd_handle);
}

/* Check that the EP is unmodified, holds no reference to the new EVD, and accepts receives. */
static void ep_is_old(struct __test_metadata *_metadata, void *ctx)
{
	FIXTURE_DATA(nomem) *self = ctx;

	expect_ep(_metadata, self, self->p.evd[0], 32, 32);
	ASSERT_EQ(DAT_SUCCESS, dat_evd_free(self->evd));
	ASSERT_EQ(DAT_SUCCESS, create_evd(self));
	ASSERT_EQ(DAT_SUCCESS, post_recv(self));
}

/* Check that all posted receives complete in order, and that the EP can send. */
static void ep_works(struct __test_metadata *_metadata, FIXTURE_DATA(nomem) *self,
		     DAT_EVD_HANDLE evd)
{
	struct a_pair *p = &self->p;
	DAT_LMR_TRIPLET out = a_seg(&p->mem, 65536, 64);
	uint64_t cookie;

	memset(p->mem.va + 65536, 0x5a, 64);
	while (self->seen < self->posted) {
		memset(p->mem.va, 0, 64);
		ASSERT_EQ(DAT_SUCCESS, dat_ep_post_send(p->ep[1], 1, &out, a_cookie(0), 0));
		ASSERT_EQ(DAT_DTO_SUCCESS, a_dto(evd, &cookie, NULL));
		ASSERT_EQ(DAT_DTO_SUCCESS, a_dto(p->evd[1], NULL, NULL));
		EXPECT_EQ(self->seen++, cookie);
		EXPECT_EQ(0, memcmp(p->mem.va, p->mem.va + 65536, 64));
	}
	ASSERT_EQ(DAT_SUCCESS, dat_ep_post_recv(p->ep[1], 0, NULL, a_cookie(1), 0));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_post_send(self->ep, 0, NULL, a_cookie(2), 0));
	ASSERT_EQ(DAT_DTO_SUCCESS, a_dto(evd, &cookie, NULL));
	EXPECT_EQ(2, cookie);
	ASSERT_EQ(DAT_DTO_SUCCESS, a_dto(p->evd[1], NULL, NULL));
}

/* Covers: dat_ep_modify INSUFFICIENT_RESOURCES; SH 45 */
TEST_F_TIMEOUT(nomem, ep_modify, 60)
{
	struct a_pair *p = &self->p;

	self->ep = p->ep[0];
	ASSERT_EQ(DAT_SUCCESS, create_evd(self));
	ASSERT_EQ(DAT_SUCCESS, post_recv(self));
	fail_each(_metadata, 1, modify_ep, ep_is_old, self);
	expect_ep(_metadata, self, self->evd, LONG, 128);
	EXPECT_EQ(DAT_SUCCESS, dat_evd_free(p->evd[0]));
	ASSERT_EQ(DAT_SUCCESS, post_recv(self));
	ASSERT_EQ(DAT_SUCCESS, a_connect(p, p->ep[1], self->ep, p->evd[1], self->evd));
	ep_works(_metadata, self, self->evd);
}

/* If a modification fails, the EP must still work, even if no later modification succeeds. */
TEST_F_TIMEOUT(nomem, ep_that_was_not_modified, 60)
{
	struct a_pair *p = &self->p;
	DAT_RETURN rc;

	self->ep = p->ep[0];
	ASSERT_EQ(DAT_SUCCESS, create_evd(self));
	ASSERT_EQ(DAT_SUCCESS, post_recv(self));
	ASSERT_EQ(1, fails_at(_metadata, 1, modify_ep, self, &rc));
	ep_is_old(_metadata, self);
	ASSERT_EQ(DAT_SUCCESS, a_connect(p, p->ep[1], self->ep, p->evd[1], p->evd[0]));
	ep_works(_metadata, self, p->evd[0]);
}

/* Configure an EP that libdat has made for a connection request. */

static DAT_RETURN give_zone(void *ctx)
{
	FIXTURE_DATA(nomem) *self = ctx;
	DAT_EP_PARAM param = {
		.pz_handle = self->p.pz, .recv_evd_handle = self->evd,
		.request_evd_handle = self->evd, .connect_evd_handle = self->evd,
		.ep_attr = { .max_recv_dtos = LONG, .max_request_dtos = 8 },
	};

	return dat_ep_modify(self->ep, DAT_EP_FIELD_PZ_HANDLE | DAT_EP_FIELD_RECV_EVD_HANDLE |
			     DAT_EP_FIELD_REQUEST_EVD_HANDLE | DAT_EP_FIELD_CONNECT_EVD_HANDLE |
			     DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS |
			     DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS, &param);
}

static void ep_has_nothing(struct __test_metadata *_metadata, void *ctx)
{
	FIXTURE_DATA(nomem) *self = ctx;
	DAT_EP_PARAM param;

	expect_ep(_metadata, self, DAT_HANDLE_NULL, 64, 64);
	ASSERT_EQ(DAT_SUCCESS, dat_ep_query(self->ep, DAT_EP_FIELD_ALL, &param));
	EXPECT_EQ(DAT_HANDLE_NULL, param.pz_handle);
	EXPECT_EQ(DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING, param.ep_state);
	ASSERT_EQ(DAT_SUCCESS, dat_evd_free(self->evd));
	ASSERT_EQ(DAT_SUCCESS, create_evd(self));
}

/* Covers: dat_ep_modify; SH 11 */
TEST_F_TIMEOUT(nomem, made_ep_gets_its_zone, 60)
{
	struct a_pair *p = &self->p;
	DAT_PSP_HANDLE psp;
	DAT_CR_PARAM info;
	DAT_EVENT event;
	DAT_CR_HANDLE cr;

	ASSERT_EQ(DAT_SUCCESS, create_evd(self));
	ASSERT_EQ(DAT_SUCCESS, dat_psp_create(p->ia, MADE_QUAL, p->cr, DAT_PSP_PROVIDER_FLAG,
					      &psp));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_connect(p->ep[1], p->attr.ia_address_ptr, MADE_QUAL,
					      A_WAIT_US, 0, NULL, DAT_QOS_BEST_EFFORT,
					      DAT_CONNECT_DEFAULT_FLAG));
	ASSERT_EQ(1, a_event(p->cr, A_WAIT_US, &event));
	cr = event.event_data.cr_arrival_event_data.cr_handle;
	ASSERT_EQ(DAT_SUCCESS, dat_cr_query(cr, DAT_CR_FIELD_ALL, &info));
	self->ep = info.local_ep_handle;
	ep_has_nothing(_metadata, self);
	fail_each(_metadata, 1, give_zone, ep_has_nothing, self);
	expect_ep(_metadata, self, self->evd, LONG, 8);
	ASSERT_EQ(DAT_SUCCESS, post_recv(self));
	ASSERT_EQ(DAT_SUCCESS, dat_cr_accept(cr, DAT_HANDLE_NULL, 0, NULL));
	ASSERT_EQ(1, a_event(p->evd[1], A_WAIT_US, &event));
	EXPECT_EQ(DAT_CONNECTION_EVENT_ESTABLISHED, event.event_number);
	ASSERT_EQ(1, a_event(self->evd, A_WAIT_US, &event));
	EXPECT_EQ(DAT_CONNECTION_EVENT_ESTABLISHED, event.event_number);
	ep_works(_metadata, self, self->evd);
}

/* --- agents of CNOs --- */

static void count_call(DAT_PVOID instance, DAT_EVD_HANDLE evd)
{
	__atomic_fetch_add((int *)instance, 1, __ATOMIC_RELAXED);
}

static void expect_agent(struct __test_metadata *_metadata, DAT_CNO_HANDLE cno, void *instance)
{
	DAT_CNO_PARAM param;

	ASSERT_EQ(DAT_SUCCESS, dat_cno_query(cno, DAT_CNO_FIELD_ALL, &param));
	EXPECT_EQ(instance ? count_call : NULL, param.agent.proxy_agent_func);
	EXPECT_EQ(instance, param.agent.instance_data);
}

/* Covers: dat_cno_create INSUFFICIENT_RESOURCES|MEMORY */
TEST_F(nomem, thread_of_a_new_cno)
{
	int calls = 0;
	DAT_OS_WAIT_PROXY_AGENT agent = {
		.instance_data = &calls, .proxy_agent_func = count_call,
	};
	DAT_CNO_HANDLE cno = DAT_HANDLE_NULL;
	struct held before = held(), after;

	thread_nth = 1;
	EXPECT_EQ(RC(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY),
		  dat_cno_create(self->p.ia, agent, &cno));
	EXPECT_EQ(0, thread_nth);
	EXPECT_EQ(DAT_HANDLE_NULL, cno);
	after = held();
	EXPECT_EQ(before.objects, after.objects);
	EXPECT_EQ(before.mappings, after.mappings);
	ASSERT_EQ(DAT_SUCCESS, dat_cno_create(self->p.ia, agent, &cno));
	expect_agent(_metadata, cno, &calls);
	EXPECT_EQ(DAT_SUCCESS, dat_cno_free(cno));
}

/* Covers: dat_cno_modify_agent INSUFFICIENT_RESOURCES|MEMORY; SH 27 */
TEST_F_TIMEOUT(nomem, thread_of_a_first_agent, 60)
{
	int calls = 0, i;
	DAT_OS_WAIT_PROXY_AGENT none = {}, agent = {
		.instance_data = &calls, .proxy_agent_func = count_call,
	};
	DAT_EVD_HANDLE evd;
	DAT_CNO_HANDLE cno;

	ASSERT_EQ(DAT_SUCCESS, dat_cno_create(self->p.ia, none, &cno));
	ASSERT_EQ(DAT_SUCCESS, create_evd(self));
	ASSERT_EQ(DAT_SUCCESS, dat_evd_modify_cno(self->evd, cno));
	thread_nth = 1;
	EXPECT_EQ(RC(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY),
		  dat_cno_modify_agent(cno, agent));
	EXPECT_EQ(0, thread_nth);
	expect_agent(_metadata, cno, NULL);
	/* The event triggers the CNO, but no agent runs. */
	ASSERT_EQ(DAT_SUCCESS, post_event(self));
	EXPECT_EQ(DAT_SUCCESS, dat_cno_wait(cno, A_WAIT_US, &evd));
	EXPECT_EQ(self->evd, evd);
	EXPECT_EQ(0, calls);

	ASSERT_EQ(DAT_SUCCESS, dat_cno_modify_agent(cno, agent));
	expect_agent(_metadata, cno, &calls);
	ASSERT_EQ(DAT_SUCCESS, post_event(self));
	for (i = 0; i < 1000 && !__atomic_load_n(&calls, __ATOMIC_RELAXED); i++)
		usleep(A_WAIT_US / 1000);
	EXPECT_EQ(1, calls);
	expect_agent(_metadata, cno, NULL);
}

/* libdat normally reserves 4 GB of address space for handles.  With less, it must still work. */
/* Covers: dat_ia_open */
TEST(little_address_space)
{
	struct rlimit limit = { 1 << 30, 1 << 30 };
	struct a_pair p;

	if (WITH_ASAN)
		SKIP(return, "AddressSanitizer takes more address space");
	ASSERT_EQ(0, setrlimit(RLIMIT_AS, &limit));
	ASSERT_EQ(DAT_SUCCESS, a_open(&p));
	a_close(&p);
}

TEST_HARNESS_MAIN
