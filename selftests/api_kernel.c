// SPDX-License-Identifier: GPL-2.0
/*
 * The other end is a module, dat_kpeer.ko: kDAPL and libdat talk to each other, whoever of
 * them connects, and each writes and reads the other's memory.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "dat_api.h"
#include "kmod/kpeer.h"

#define ANSWER		0		/* where answers go, in our memory */
#define ORDER		KPEER_MESSAGE	/* where orders come from */
#define DATA		65536		/* where the module writes and reads */
#define SEED		0x5a

/* A connection with the module. */
struct link {
	DAT_EP_HANDLE		ep;
	DAT_EVD_HANDLE		evd;
	struct kpeer_hello	hello;
};

/* This is in build/selftests/. */
static int module_open(void)
{
	char self[PATH_MAX] = "", path[PATH_MAX + 128];
	struct utsname uts;

	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0 || uname(&uts))
		return -1;
	snprintf(path, sizeof(path), "%s/../kmod-%s/ktest/dat_kpeer.ko", dirname(self),
		 uts.release);
	return open(path, O_RDONLY | O_CLOEXEC);
}

static int module_load(void)
{
	int fd = module_open(), ret;

	if (fd < 0)
		return -errno;
	ret = syscall(SYS_finit_module, fd, "", 0) ? -errno : 0;
	close(fd);
	return ret;
}

static int module_unload(void)
{
	return syscall(SYS_delete_module, "dat_kpeer", 0) ? -errno : 0;
}

static DAT_RETURN await_answer(struct a_pair *p, struct link *l)
{
	DAT_LMR_TRIPLET seg = a_seg(&p->mem, ANSWER, KPEER_MESSAGE);

	return dat_ep_post_recv(l->ep, 1, &seg, a_cookie(ANSWER), 0);
}

/* The message at ORDER goes, its answer comes; its length, or negative: the status of a DTO. */
static int talk(struct a_pair *p, struct link *l, size_t len)
{
	DAT_LMR_TRIPLET seg = a_seg(&p->mem, ORDER, len);
	uint64_t cookie, got, answer = 0;
	int i, status;

	if (await_answer(p, l) || dat_ep_post_send(l->ep, 1, &seg, a_cookie(ORDER), 0))
		return -1;
	for (i = 0; i < 2; i++) {
		status = a_dto(l->evd, &cookie, &got);
		if (status)
			return status < 0 ? status : -status;
		if (cookie == ANSWER)
			answer = got;
	}
	return (int)answer;
}

static struct kpeer_message *order_at(struct a_pair *p, uint32_t op, uint32_t offset,
				      uint32_t len)
{
	struct kpeer_message *m = (struct kpeer_message *)(p->mem.va + ORDER);

	*m = (struct kpeer_message) {
		.op = op, .offset = offset, .len = len, .rkey = p->mem.rmr,
		.addr = (uintptr_t)p->mem.va + DATA, .value = SEED,
	};
	return m;
}

/* Have the module do something; the answer, or NULL. */
static const struct kpeer_message *order(struct a_pair *p, struct link *l, uint32_t op,
					 uint32_t offset, uint32_t len)
{
	const struct kpeer_message *answer = (const struct kpeer_message *)(p->mem.va + ANSWER);

	order_at(p, op, offset, len);
	if (talk(p, l, sizeof(*answer)) != sizeof(*answer) || answer->op != op)
		return NULL;
	return answer;
}

static int established(DAT_EVD_HANDLE evd, struct kpeer_hello *hello)
{
	DAT_CONNECTION_EVENT_DATA *data;
	DAT_EVENT event;

	if (!a_event(evd, A_WAIT_US, &event) ||
	    event.event_number != DAT_CONNECTION_EVENT_ESTABLISHED)
		return 0;
	data = &event.event_data.connect_event_data;
	if (hello && data->private_data_size < (DAT_COUNT)sizeof(*hello))
		return 0;
	if (hello)
		memcpy(hello, data->private_data, sizeof(*hello));
	return 1;
}

static int connect_to_kernel(struct a_pair *p, struct link *l)
{
	l->ep = p->ep[0];
	l->evd = p->evd[0];
	return !dat_ep_connect(l->ep, p->attr.ia_address_ptr, KPEER_QUAL, A_WAIT_US, 0, NULL,
			       DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG) &&
	       established(l->evd, &l->hello);
}

/* By order over @first the module connects to us. */
static int kernel_connects(struct a_pair *p, struct link *first, struct link *l)
{
	struct kpeer_message *m = order_at(p, KPEER_CONNECT, 0, 0);
	DAT_CR_HANDLE cr;
	DAT_CR_PARAM param;
	DAT_EVENT event;

	m->value = A_QUAL;
	if (talk(p, first, sizeof(*m)) != sizeof(*m) ||
	    ((struct kpeer_message *)(p->mem.va + ANSWER))->status ||
	    !a_event(p->cr, A_WAIT_US, &event))
		return 0;
	cr = event.event_data.cr_arrival_event_data.cr_handle;
	if (dat_cr_query(cr, DAT_CR_FIELD_ALL, &param) ||
	    param.private_data_size < (DAT_COUNT)sizeof(l->hello))
		return 0;
	memcpy(&l->hello, param.private_data, sizeof(l->hello));
	l->ep = p->ep[1];
	l->evd = p->evd[1];
	return !dat_cr_accept(cr, l->ep, 0, NULL) && established(l->evd, NULL);
}

static void fill(char *at, uint64_t seed, uint32_t len)
{
	uint32_t i;

	for (i = 0; i < len; i++)
		at[i] = (char)kpeer_byte(seed, i);
}

static int is_filled(const char *at, uint64_t seed, uint32_t len)
{
	uint32_t i;

	for (i = 0; i < len; i++)
		if (at[i] != (char)kpeer_byte(seed, i))
			return 0;
	return 1;
}

FIXTURE(kernel) {
	struct a_pair p;
	struct link first, link;
	int loaded;
};

FIXTURE_VARIANT(kernel) {
	int kernel_connects;
};

FIXTURE_VARIANT_ADD(kernel, accepts) {
	.kernel_connects = 0,
};

FIXTURE_VARIANT_ADD(kernel, connects) {
	.kernel_connects = 1,
};

FIXTURE_SETUP(kernel)
{
	self->loaded = module_load();
	if (self->loaded == -ENOENT)
		return;
	ASSERT_EQ(0, self->loaded);
	ASSERT_EQ(DAT_SUCCESS, a_open(&self->p));
	ASSERT_TRUE(connect_to_kernel(&self->p, &self->first));
	self->link = self->first;
	if (variant->kernel_connects)
		ASSERT_TRUE(kernel_connects(&self->p, &self->first, &self->link));
	ASSERT_EQ(KPEER_MEMORY, self->link.hello.len);
}

FIXTURE_TEARDOWN(kernel)
{
	if (self->loaded)
		return;
	a_close(&self->p);
	module_unload();
}

/* A fixture can't skip its tests; each has to. */
#define NEED_MODULE() do {							\
	if (self->loaded)							\
		SKIP(return, "no dat_kpeer.ko (make ktest)");			\
} while (0)

/* Parts of the module's memory: within a page, whole ones, across many, all. */
static const struct {
	uint32_t offset, len;
} parts[] = {
	{ 0, 1 }, { 5, 64 }, { 4095, 2 }, { 4096, 4096 }, { 100, 100000 }, { 0, KPEER_MEMORY },
};

#define NPARTS (sizeof(parts) / sizeof(parts[0]))

static DAT_RMR_TRIPLET kernel_part(const struct link *l, size_t i)
{
	DAT_RMR_TRIPLET seg = {
		.rmr_context = l->hello.rkey, .target_address = l->hello.addr + parts[i].offset,
		.segment_length = parts[i].len,
	};

	return seg;
}

TEST_F_TIMEOUT(kernel, messages_come_back_as_they_were, 120)
{
	static const size_t sizes[] = { sizeof(struct kpeer_message), 64, 1000, 1024, 1025,
					KPEER_MESSAGE };
	struct a_pair *p = &self->p;
	size_t i;

	NEED_MODULE();
	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		memset(p->mem.va + ANSWER, 0, KPEER_MESSAGE);
		fill(p->mem.va + ORDER, i, KPEER_MESSAGE);
		order_at(p, KPEER_ECHO, 0, 0);
		ASSERT_EQ((int)sizes[i], talk(p, &self->link, sizes[i]));
		EXPECT_EQ(0, memcmp(p->mem.va + ANSWER, p->mem.va + ORDER, sizes[i]));
	}
}

TEST_F_TIMEOUT(kernel, what_is_written_to_its_memory_it_sees, 120)
{
	const struct kpeer_message *answer;
	struct a_pair *p = &self->p;
	size_t i;

	NEED_MODULE();
	for (i = 0; i < NPARTS; i++) {
		DAT_LMR_TRIPLET from = a_seg(&p->mem, DATA, parts[i].len);
		DAT_RMR_TRIPLET to = kernel_part(&self->link, i);

		fill(p->mem.va + DATA, i, parts[i].len);
		ASSERT_EQ(DAT_SUCCESS, dat_ep_post_rdma_write(self->link.ep, 1, &from, a_cookie(i),
							      &to, 0));
		ASSERT_EQ(DAT_DTO_SUCCESS, a_dto(self->link.evd, NULL, NULL));
		answer = order(p, &self->link, KPEER_SUM, parts[i].offset, parts[i].len);
		ASSERT_NE(NULL, answer);
		EXPECT_EQ(kpeer_sum((__u8 *)p->mem.va + DATA, parts[i].len), answer->value);
	}
}

TEST_F_TIMEOUT(kernel, what_it_has_in_its_memory_can_be_read, 120)
{
	struct a_pair *p = &self->p;
	uint64_t len;
	size_t i;

	NEED_MODULE();
	for (i = 0; i < NPARTS; i++) {
		DAT_LMR_TRIPLET to = a_seg(&p->mem, DATA, parts[i].len);
		DAT_RMR_TRIPLET from = kernel_part(&self->link, i);

		ASSERT_NE(NULL, order(p, &self->link, KPEER_FILL, parts[i].offset, parts[i].len));
		memset(p->mem.va + DATA, 0, parts[i].len);
		ASSERT_EQ(DAT_SUCCESS, dat_ep_post_rdma_read(self->link.ep, 1, &to, a_cookie(i),
							     &from, 0));
		ASSERT_EQ(DAT_DTO_SUCCESS, a_dto(self->link.evd, NULL, &len));
		EXPECT_EQ(parts[i].len, len);
		EXPECT_TRUE(is_filled(p->mem.va + DATA, SEED, parts[i].len));
	}
}

TEST_F_TIMEOUT(kernel, it_writes_to_memory_of_a_process, 120)
{
	struct a_pair *p = &self->p;
	size_t i;

	NEED_MODULE();
	for (i = 0; i < NPARTS; i++) {
		ASSERT_NE(NULL, order(p, &self->link, KPEER_FILL, parts[i].offset, parts[i].len));
		memset(p->mem.va + DATA, 0, parts[i].len + 1);
		ASSERT_NE(NULL, order(p, &self->link, KPEER_WRITE, parts[i].offset, parts[i].len));
		EXPECT_TRUE(is_filled(p->mem.va + DATA, SEED, parts[i].len));
		EXPECT_EQ(0, p->mem.va[DATA + parts[i].len]);
	}
}

TEST_F_TIMEOUT(kernel, it_reads_memory_of_a_process, 120)
{
	const struct kpeer_message *answer;
	struct a_pair *p = &self->p;
	size_t i;

	NEED_MODULE();
	for (i = 0; i < NPARTS; i++) {
		fill(p->mem.va + DATA, i + 1, parts[i].len);
		ASSERT_NE(NULL, order(p, &self->link, KPEER_READ, parts[i].offset, parts[i].len));
		answer = order(p, &self->link, KPEER_SUM, parts[i].offset, parts[i].len);
		ASSERT_NE(NULL, answer);
		EXPECT_EQ(kpeer_sum((__u8 *)p->mem.va + DATA, parts[i].len), answer->value);
	}
}

/* Beyond what it has registered nothing is reached, and the connection is over. */
TEST_F_TIMEOUT(kernel, beyond_its_memory_nothing_is_reached, 120)
{
	struct a_pair *p = &self->p;
	DAT_LMR_TRIPLET to = a_seg(&p->mem, DATA, 64);
	DAT_RMR_TRIPLET from = kernel_part(&self->link, 0);

	NEED_MODULE();
	from.target_address = self->link.hello.addr + KPEER_MEMORY - 32;
	from.segment_length = 64;
	ASSERT_EQ(DAT_SUCCESS, dat_ep_post_rdma_read(self->link.ep, 1, &to, a_cookie(0), &from, 0));
	EXPECT_EQ(DAT_DTO_ERR_REMOTE_ACCESS, a_dto(self->link.evd, NULL, NULL));
}

static int is_end(const DAT_EVENT *event)
{
	return event->event_number == DAT_CONNECTION_EVENT_DISCONNECTED ||
	       event->event_number == DAT_CONNECTION_EVENT_BROKEN;
}

/* The end of the connection, after flushed completions. */
static int await_end(struct link *l)
{
	DAT_EVENT event;

	while (a_event(l->evd, A_WAIT_US, &event))
		if (event.event_number != DAT_DTO_COMPLETION_EVENT)
			return is_end(&event);
	return 0;
}

/* An order that makes no sense is no message that could break more than its connection. */
TEST_F_TIMEOUT(kernel, a_bad_order_ends_the_connection_alone, 120)
{
	struct a_pair *p = &self->p;
	DAT_LMR_TRIPLET seg = a_seg(&p->mem, ORDER, sizeof(struct kpeer_message));
	struct link other = {};

	NEED_MODULE();
	order_at(p, KPEER_FILL, 1, KPEER_MEMORY);
	ASSERT_EQ(DAT_SUCCESS, dat_ep_post_send(self->link.ep, 1, &seg, a_cookie(0), 0));
	EXPECT_TRUE(await_end(&self->link));
	if (!variant->kernel_connects) {
		ASSERT_EQ(DAT_SUCCESS, dat_ep_reset(p->ep[0]));
		ASSERT_TRUE(connect_to_kernel(p, &other));
	} else {
		other = self->first;
	}
	EXPECT_NE(NULL, order(p, &other, KPEER_SUM, 0, 16));
}

TEST_F_TIMEOUT(kernel, its_module_goes_while_it_is_connected, 120)
{
	NEED_MODULE();
	ASSERT_EQ(DAT_SUCCESS, await_answer(&self->p, &self->link));
	ASSERT_EQ(0, module_unload());
	EXPECT_TRUE(await_end(&self->link));
	/* It was good at it: what is left can be closed, and a new one listens. */
	ASSERT_EQ(0, module_load());
}

/* A process of its own, whose memory the module writes to until it is killed. */
static void victim(int ready, int kernel_connects_to_it)
{
	struct link first = {}, link;
	struct a_pair p;

	if (a_open(&p) || !connect_to_kernel(&p, &first))
		_exit(1);
	link = first;
	if (kernel_connects_to_it && !kernel_connects(&p, &first, &link))
		_exit(2);
	while (order(&p, &link, KPEER_WRITE, 0, KPEER_MEMORY))
		write(ready, "y", 1);
	_exit(3);
}

TEST_F_TIMEOUT(kernel, a_process_is_killed_while_it_writes, 120)
{
	struct a_pair *p = &self->p;
	int ready[2], status, i;
	pid_t pid;
	char c;

	NEED_MODULE();
	/* Its qualifier is ours, too. */
	ASSERT_EQ(DAT_SUCCESS, dat_psp_free(p->psp));
	ASSERT_EQ(0, pipe(ready));
	pid = fork();
	if (!pid)
		victim(ready[1], variant->kernel_connects);
	close(ready[1]);
	for (i = 0; i < 3; i++)
		ASSERT_EQ(1, read(ready[0], &c, 1));
	ASSERT_EQ(0, kill(pid, SIGKILL));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_TRUE(WIFSIGNALED(status));
	close(ready[0]);
	EXPECT_NE(NULL, order(p, &self->link, KPEER_FILL, 0, 16));
	EXPECT_NE(NULL, order(p, &self->link, KPEER_WRITE, 0, 16));
}

TEST_HARNESS_MAIN
