// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * Connections between libdat and kDAPL, whose consumer is the module dat_kpeer.ko.  Each side
 * connects to the other side, and each reads and writes memory of the other side.
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
#include "adapter.h"
#include "dat_api.h"
#include "api_conform.h"
#include "kpeer.h"
#include "verbs_request.h"

#define ANSWER		0		/* offset of the buffer for answers in p->mem */
#define ORDER		KPEER_MESSAGE	/* offset of the buffer for orders in p->mem */
#define DATA		65536		/* offset of memory for RDMA by the module */
#define SEED		0x5a
#define POLL_MS		50		/* polling interval */

/* A connection to the module. */
struct link {
	DAT_EP_HANDLE		ep;
	DAT_EVD_HANDLE		evd;
	struct kpeer_hello	hello;
};

/* Open dat_kpeer.ko, whose path is relative to this program in build/selftests/. */
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
	char args[100];

	if (fd < 0)
		return -errno;
	snprintf(args, sizeof(args), "device=%s", a_adapter());
	ret = syscall(SYS_finit_module, fd, args, 0) ? -errno : 0;
	close(fd);
	return ret;
}

static int module_unload(void)
{
	return syscall(SYS_delete_module, "dat_kpeer", 0) ? -errno : 0;
}

/*
 * Load the module.  If a test whose setup failed has left the module loaded, unload it first.
 * kselftest skips the teardown of such a test.
 */
static int module_begin(void)
{
	int ret = module_load();

	return ret == -EEXIST ? module_unload() ?: module_load() : ret;
}

static DAT_RETURN await_answer(struct a_pair *p, struct link *l)
{
	DAT_LMR_TRIPLET seg = a_seg(&p->mem, ANSWER, KPEER_MESSAGE);

	return dat_ep_post_recv(l->ep, 1, &seg, a_cookie(ANSWER), 0);
}

/*
 * Send the message at offset ORDER and wait for the answer at offset ANSWER.  Return the length of
 * the answer, or a negative value if a DTO failed.
 */
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

/* Send the order at offset ORDER.  Return the answer, or NULL if the module has failed to obey. */
static const struct kpeer_message *obeyed(struct a_pair *p, struct link *l)
{
	const struct kpeer_message *m = (const struct kpeer_message *)(p->mem.va + ORDER);
	const struct kpeer_message *answer = (const struct kpeer_message *)(p->mem.va + ANSWER);
	uint32_t op = m->op;

	if (talk(p, l, sizeof(*m)) < (int)sizeof(*answer) || answer->op != op || answer->status)
		return NULL;
	return answer;
}

static const struct kpeer_message *order(struct a_pair *p, struct link *l, uint32_t op,
					 uint32_t offset, uint32_t len)
{
	order_at(p, op, offset, len);
	return obeyed(p, l);
}

static const struct kpeer_message *order_value(struct a_pair *p, struct link *l, uint32_t op,
					       uint64_t value)
{
	order_at(p, op, 0, 0)->value = value;
	return obeyed(p, l);
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

/*
 * Wait until this side, which has accepted, may send.  Over iWARP it must not do so before the
 * module is connected too, and nothing tells when that is.
 */
static int may_send(DAT_EVD_HANDLE evd)
{
	if (!established(evd, NULL))
		return 0;
	if (adapter_is_iwarp())
		usleep(300000);
	return 1;
}

static int ask(struct a_pair *p, struct link *l, DAT_CONN_QUAL qual, size_t len, const void *data)
{
	return !dat_ep_connect(l->ep, p->attr.ia_address_ptr, qual, A_WAIT_US, len,
			       (DAT_PVOID)data, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
}

static int connect_link(struct a_pair *p, struct link *l, DAT_CONN_QUAL qual)
{
	return ask(p, l, qual, 0, NULL) && established(l->evd, &l->hello);
}

static int connect_to_kernel(struct a_pair *p, struct link *l)
{
	l->ep = p->ep[0];
	l->evd = p->evd[0];
	return connect_link(p, l, KPEER_QUAL);
}

/* Make an unconnected EP with its own EVD. */
static int link_make(struct a_pair *p, struct link *l)
{
	DAT_EVD_FLAGS flags = DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG;
	DAT_EP_ATTR attr = a_attr(p);

	memset(l, 0, sizeof(*l));
	return !dat_evd_create(p->ia, 64, DAT_HANDLE_NULL, flags, &l->evd) &&
	       !dat_ep_create(p->ia, p->pz, l->evd, l->evd, l->evd, &attr, &l->ep);
}

/* Order the module, over @first, to connect to this process.  Accept the connection as @l. */
static int kernel_connects(struct a_pair *p, struct link *first, struct link *l)
{
	struct kpeer_message *m = order_at(p, KPEER_CONNECT, 0, 0);
	DAT_CR_HANDLE cr;
	DAT_CR_PARAM param;
	DAT_EVENT event;

	m->value = A_QUAL;
	if (!obeyed(p, first) || !a_event(p->cr, A_WAIT_US, &event))
		return 0;
	cr = event.event_data.cr_arrival_event_data.cr_handle;
	if (dat_cr_query(cr, DAT_CR_FIELD_ALL, &param) ||
	    param.private_data_size < (DAT_COUNT)sizeof(l->hello))
		return 0;
	memcpy(&l->hello, param.private_data, sizeof(l->hello));
	l->ep = p->ep[1];
	l->evd = p->evd[1];
	return !dat_cr_accept(cr, l->ep, 0, NULL) && may_send(l->evd);
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
	self->loaded = module_begin();
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
	EXPECT_EQ(0, module_unload());
}

/* SKIP() in the setup of a fixture does not skip the test, so each test skips itself. */
#define NEED_MODULE() do {							\
	if (self->loaded)							\
		SKIP(return, "no dat_kpeer.ko (make ktest)");			\
} while (0)

/* Parts of the module's memory: inside a page, whole pages, across pages, all of the memory. */
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

		fill(p->mem.va + DATA, i + 1, parts[i].len);
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

/* An access beyond the module's registered memory must fail and end the connection. */
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

/* Drop flushed completions and wait for the end of the connection.  Return 1 if it has ended. */
static int await_end(struct link *l)
{
	DAT_EVENT event;

	while (a_event(l->evd, A_WAIT_US, &event))
		if (event.event_number != DAT_DTO_COMPLETION_EVENT)
			return is_end(&event);
	return 0;
}

/* After an invalid order, the module must end this connection only. */
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
	/* Load the module again, so that the teardown can close the IA and unload the module. */
	ASSERT_EQ(0, module_load());
}

/* A process that lets the module write to its memory until the process is killed. */
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
	/* Free the PSP, because the child process listens at the same qualifier. */
	ASSERT_EQ(DAT_SUCCESS, dat_psp_free(p->psp));
	ASSERT_EQ(0, pipe(ready));
	pid = fork();
	if (!pid)
		victim(ready[1], variant->kernel_connects);
	close(ready[1]);
	for (i = 0; i < 3 && read(ready[0], &c, 1) == 1; i++)
		;
	ASSERT_EQ(0, kill(pid, SIGKILL));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	ASSERT_EQ(3, i);
	EXPECT_TRUE(WIFSIGNALED(status));
	close(ready[0]);
	EXPECT_NE(NULL, order(p, &self->link, KPEER_FILL, 0, 16));
	EXPECT_NE(NULL, order(p, &self->link, KPEER_WRITE, 0, 16));
}

/* ---- Other functions of kDAPL and libdat ---- */

FIXTURE(peer) {
	struct a_pair p;
	struct link first;	/* connected */
	struct link other;	/* not connected */
	int loaded;
};

FIXTURE_SETUP(peer)
{
	self->loaded = module_begin();
	if (self->loaded == -ENOENT)
		return;
	ASSERT_EQ(0, self->loaded);
	ASSERT_EQ(DAT_SUCCESS, a_open(&self->p));
	ASSERT_TRUE(connect_to_kernel(&self->p, &self->first));
	self->other.ep = self->p.ep[1];
	self->other.evd = self->p.evd[1];
}

FIXTURE_TEARDOWN(peer)
{
	if (self->loaded)
		return;
	a_close(&self->p);
	EXPECT_EQ(0, module_unload());
}

TEST_F_TIMEOUT(peer, it_hears_private_data, 120)
{
	static const char data[] = "private data of a process, for the kernel";
	struct a_pair *p = &self->p;

	NEED_MODULE();
	ASSERT_TRUE(ask(p, &self->other, KPEER_QUAL, sizeof(data), data));
	ASSERT_TRUE(established(self->other.evd, &self->other.hello));
	ASSERT_NE(NULL, order(p, &self->other, KPEER_PRIVATE, 0, 0));
	EXPECT_EQ(0, memcmp(data, p->mem.va + ANSWER + sizeof(struct kpeer_message), sizeof(data)));
}

/* Wait until the module reports that the event @number was the last to end a connection. */
static int it_ends_by(struct a_pair *p, struct link *l, DAT_EVENT_NUMBER number)
{
	const struct kpeer_message *answer;
	int i;

	for (i = 0; i < 100; i++) {
		answer = order(p, l, KPEER_ENDED, 0, 0);
		if (!answer || answer->value == number)
			return !!answer;
		usleep(POLL_MS * 1000);
	}
	return 0;
}

TEST_F_TIMEOUT(peer, it_rejects_and_is_rejected, 120)
{
	struct a_pair *p = &self->p;
	DAT_CR_HANDLE cr;

	NEED_MODULE();
	ASSERT_NE(NULL, order(p, &self->first, KPEER_REJECT, 0, 0));
	ASSERT_TRUE(ask(p, &self->other, KPEER_QUAL, 0, NULL));
	EXPECT_EQ(DAT_CONNECTION_EVENT_PEER_REJECTED, c_next(self->other.evd));
	ASSERT_NE(NULL, order_value(p, &self->first, KPEER_CONNECT, A_QUAL));
	cr = c_request(p);
	ASSERT_NE(DAT_HANDLE_NULL, cr);
	ASSERT_EQ(DAT_SUCCESS, dat_cr_reject(cr));
	EXPECT_TRUE(it_ends_by(p, &self->first, DAT_CONNECTION_EVENT_PEER_REJECTED));
	/*
	 * The order KPEER_REJECT applies to one request only: the module accepts the next request.
	 */
	ASSERT_EQ(DAT_SUCCESS, dat_ep_reset(self->other.ep));
	EXPECT_TRUE(connect_link(p, &self->other, KPEER_QUAL));
}

TEST_F_TIMEOUT(peer, requests_are_handed_to_a_process, 120)
{
	struct a_pair *p = &self->p;
	struct link third;
	DAT_CR_HANDLE cr;

	NEED_MODULE();
	ASSERT_TRUE(link_make(p, &third));
	ASSERT_NE(NULL, order_value(p, &self->first, KPEER_HANDOFF, A_QUAL));
	ASSERT_TRUE(ask(p, &self->other, KPEER_QUAL, 0, NULL));
	cr = c_request(p);
	ASSERT_NE(DAT_HANDLE_NULL, cr);
	ASSERT_EQ(DAT_SUCCESS, dat_cr_accept(cr, third.ep, 0, NULL));
	EXPECT_TRUE(established(third.evd, NULL));
	EXPECT_TRUE(established(self->other.evd, NULL));
}

TEST_F_TIMEOUT(peer, requests_are_handed_to_the_kernel, 120)
{
	struct a_pair *p = &self->p;
	DAT_CR_HANDLE cr;

	NEED_MODULE();
	ASSERT_TRUE(ask(p, &self->other, A_QUAL, 0, NULL));
	cr = c_request(p);
	ASSERT_NE(DAT_HANDLE_NULL, cr);
	ASSERT_EQ(DAT_SUCCESS, dat_cr_handoff(cr, KPEER_QUAL));
	ASSERT_TRUE(established(self->other.evd, &self->other.hello));
	EXPECT_NE(NULL, order(p, &self->other, KPEER_SUM, 0, 16));
}

#define RESERVED	(KPEER_QUAL + 100)

TEST_F_TIMEOUT(peer, what_it_has_reserved_is_good_for_one, 120)
{
	struct a_pair *p = &self->p;
	struct link third;

	NEED_MODULE();
	ASSERT_TRUE(link_make(p, &third));
	ASSERT_NE(NULL, order_value(p, &self->first, KPEER_RESERVE, RESERVED));
	ASSERT_TRUE(connect_link(p, &self->other, RESERVED));
	EXPECT_NE(NULL, order(p, &self->other, KPEER_SUM, 0, 16));
	ASSERT_TRUE(ask(p, &third, RESERVED, 0, NULL));
	EXPECT_EQ(DAT_CONNECTION_EVENT_NON_PEER_REJECTED, c_next(third.evd));
}

TEST_F_TIMEOUT(peer, it_connects_to_what_a_process_has_reserved, 120)
{
	struct a_pair *p = &self->p;
	DAT_RSP_HANDLE rsp;
	DAT_CR_HANDLE cr;

	NEED_MODULE();
	ASSERT_EQ(DAT_SUCCESS, dat_rsp_create(p->ia, RESERVED, self->other.ep, p->cr, &rsp));
	ASSERT_NE(NULL, order_value(p, &self->first, KPEER_CONNECT, RESERVED));
	cr = c_request(p);
	ASSERT_NE(DAT_HANDLE_NULL, cr);
	ASSERT_EQ(DAT_SUCCESS, dat_cr_accept(cr, DAT_HANDLE_NULL, 0, NULL));
	ASSERT_TRUE(may_send(self->other.evd));
	EXPECT_NE(NULL, order(p, &self->other, KPEER_SUM, 0, 16));
	EXPECT_EQ(DAT_SUCCESS, dat_rsp_free(rsp));
}

/* RDMA-read @len bytes at @addr of the module's memory.  Return the status. */
static int fetch(struct a_pair *p, struct link *l, uint32_t key, uint64_t addr, uint32_t len)
{
	DAT_LMR_TRIPLET to = a_seg(&p->mem, DATA, len);
	DAT_RMR_TRIPLET from = {
		.rmr_context = key, .target_address = addr, .segment_length = len,
	};

	memset(p->mem.va + DATA, 0, len);
	if (dat_ep_post_rdma_read(l->ep, 1, &to, a_cookie(7), &from, 0))
		return -1;
	return a_dto(l->evd, NULL, NULL);
}

#define PART	8192	/* length of a part of the module's memory, in whole pages */

TEST_F_TIMEOUT(peer, memory_that_comes_and_goes_is_reached_meanwhile, 120)
{
	const struct kpeer_message *answer;
	struct a_pair *p = &self->p;
	struct link *l = &self->first;
	uint32_t key = 0;
	uint64_t addr = 0;
	int i;

	NEED_MODULE();
	for (i = 0; i < 5; i++) {
		ASSERT_NE(NULL, order(p, l, KPEER_FILL, i * PART, PART));
		answer = order(p, l, KPEER_FMR, i * PART, PART);
		ASSERT_NE(NULL, answer);
		EXPECT_NE(key, answer->rkey);
		key = answer->rkey;
		addr = answer->addr;
		ASSERT_EQ(DAT_DTO_SUCCESS, fetch(p, l, key, addr, PART));
		EXPECT_TRUE(is_filled(p->mem.va + DATA, SEED, PART));
		ASSERT_NE(NULL, order(p, l, KPEER_INVALIDATE, 0, 0));
	}
	EXPECT_EQ(DAT_DTO_ERR_REMOTE_ACCESS, fetch(p, l, key, addr, 8));
	EXPECT_TRUE(await_end(l));
}

TEST_F_TIMEOUT(peer, its_pages_are_reached_until_they_are_freed, 120)
{
	const struct kpeer_message *answer;
	struct a_pair *p = &self->p;
	struct link *l = &self->first;
	uint64_t addr;
	uint32_t key;

	NEED_MODULE();
	ASSERT_NE(NULL, order(p, l, KPEER_FILL, PART, PART));
	answer = order(p, l, KPEER_PAGES, PART, PART);
	ASSERT_NE(NULL, answer);
	key = answer->rkey;
	addr = answer->addr;
	EXPECT_NE(l->hello.rkey, key);
	ASSERT_EQ(DAT_DTO_SUCCESS, fetch(p, l, key, addr, PART));
	EXPECT_TRUE(is_filled(p->mem.va + DATA, SEED, PART));
	ASSERT_NE(NULL, order(p, l, KPEER_FREE, 0, 0));
	EXPECT_EQ(DAT_DTO_ERR_REMOTE_ACCESS, fetch(p, l, key, addr, 8));
	EXPECT_TRUE(await_end(l));
}

TEST_F_TIMEOUT(peer, its_connection_is_made_once_more, 120)
{
	struct a_pair *p = &self->p;
	struct link third;
	DAT_CR_HANDLE cr;

	NEED_MODULE();
	ASSERT_TRUE(link_make(p, &third));
	ASSERT_TRUE(kernel_connects(p, &self->first, &self->other));
	ASSERT_NE(NULL, order(p, &self->other, KPEER_DUP, 0, 0));
	cr = c_request(p);
	ASSERT_NE(DAT_HANDLE_NULL, cr);
	ASSERT_EQ(DAT_SUCCESS, dat_cr_accept(cr, third.ep, 0, NULL));
	ASSERT_TRUE(may_send(third.evd));
	EXPECT_NE(NULL, order(p, &third, KPEER_SUM, 0, 16));
	/*
	 * The module accepted this connection, so it has no destination that KPEER_DUP could
	 * connect to.
	 */
	EXPECT_EQ(NULL, order(p, &self->first, KPEER_DUP, 0, 0));
}

TEST_F_TIMEOUT(peer, its_window_opens_what_it_is_bound_to, 120)
{
	const struct kpeer_message *answer;
	struct a_pair *p = &self->p;
	struct link *l = &self->first;
	uint64_t addr;
	uint32_t key;

	NEED_MODULE();
	ASSERT_NE(NULL, order(p, l, KPEER_FILL, 1000, 500));
	order_at(p, KPEER_BIND, 1000, 500)->value = DAT_MEM_PRIV_REMOTE_READ_FLAG;
	answer = obeyed(p, l);
	ASSERT_NE(NULL, answer);
	key = answer->rkey;
	addr = answer->addr;
	EXPECT_NE(l->hello.rkey, key);
	ASSERT_EQ(DAT_DTO_SUCCESS, fetch(p, l, key, addr, 500));
	EXPECT_TRUE(is_filled(p->mem.va + DATA, SEED, 500));
	/* Byte 500 after the start of the RMR is not accessible. */
	EXPECT_EQ(DAT_DTO_ERR_REMOTE_ACCESS, fetch(p, l, key, addr + 1, 500));
}

TEST_F_TIMEOUT(peer, a_window_of_a_process_opens_what_it_is_bound_to, 120)
{
	struct a_pair *p = &self->p;
	struct link *l = &self->first;
	DAT_LMR_TRIPLET seg = a_seg(&p->mem, DATA, 500);
	struct kpeer_message *m;
	DAT_RMR_CONTEXT key;
	DAT_RMR_HANDLE rmr;

	NEED_MODULE();
	ASSERT_EQ(DAT_SUCCESS, dat_rmr_create(p->pz, &rmr));
	ASSERT_EQ(DAT_SUCCESS, dat_rmr_bind(rmr, &seg, DAT_MEM_PRIV_REMOTE_WRITE_FLAG, l->ep,
					    a_cookie(1), DAT_COMPLETION_SUPPRESS_FLAG, &key));
	ASSERT_NE(NULL, order(p, l, KPEER_FILL, 0, 500));
	memset(p->mem.va + DATA, 0, 1000);
	order_at(p, KPEER_WRITE, 0, 500)->rkey = key;
	ASSERT_NE(NULL, obeyed(p, l));
	EXPECT_TRUE(is_filled(p->mem.va + DATA, SEED, 500));
	m = order_at(p, KPEER_WRITE, 0, 500);
	m->rkey = key;
	m->addr++;
	EXPECT_EQ(NULL, obeyed(p, l));
	EXPECT_TRUE(await_end(l));
	EXPECT_EQ(0, p->mem.va[DATA + 500]);
}

TEST_F_TIMEOUT(peer, when_it_leaves_its_answer_comes_before, 120)
{
	struct a_pair *p = &self->p;

	NEED_MODULE();
	EXPECT_NE(NULL, order(p, &self->first, KPEER_LEAVE, 0, 0));
	EXPECT_EQ(DAT_CONNECTION_EVENT_DISCONNECTED, c_next(self->first.evd));
}

TEST_F_TIMEOUT(peer, its_endpoint_is_reset_and_connects, 120)
{
	struct a_pair *p = &self->p;
	DAT_CR_HANDLE cr;
	int i;

	NEED_MODULE();
	for (i = 0; i < 3; i++) {
		struct link *from = i & 1 ? &self->other : &self->first;
		struct link *to = i & 1 ? &self->first : &self->other;

		ASSERT_NE(NULL, order_value(p, from, KPEER_AGAIN, A_QUAL));
		ASSERT_EQ(DAT_SUCCESS, dat_ep_disconnect(from->ep, DAT_CLOSE_GRACEFUL_FLAG));
		ASSERT_EQ(DAT_CONNECTION_EVENT_DISCONNECTED, c_next(from->evd));
		ASSERT_EQ(DAT_SUCCESS, dat_ep_reset(from->ep));
		cr = c_request(p);
		ASSERT_NE(DAT_HANDLE_NULL, cr);
		ASSERT_EQ(DAT_SUCCESS, dat_cr_accept(cr, to->ep, 0, NULL));
		ASSERT_TRUE(may_send(to->evd));
		EXPECT_NE(NULL, order(p, to, KPEER_SUM, 0, 16));
	}
}

/*
 * Make an EP whose receives complete to an EVD of their own and notify for solicited messages only.
 */
static int solicited_link(struct a_pair *p, struct link *l, struct link *sends)
{
	DAT_EP_ATTR attr = a_attr(p);

	attr.recv_completion_flags = DAT_COMPLETION_SOLICITED_WAIT_FLAG;
	sends->evd = p->evd[1];
	return !dat_evd_create(p->ia, 64, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &l->evd) &&
	       !dat_ep_create(p->ia, p->pz, l->evd, sends->evd, sends->evd, &attr, &l->ep);
}

/*
 * Two connections share the module's SRQ.  They carry more messages than the SRQ has buffers.  Then
 * one of them disconnects, and the other must still work.
 */
TEST_F_TIMEOUT(peer, its_shared_receives_go_round, 120)
{
	struct a_pair *p = &self->p;
	struct link third;
	int i;

	NEED_MODULE();
	ASSERT_TRUE(link_make(p, &third));
	ASSERT_TRUE(connect_link(p, &self->other, KPEER_SHARED));
	ASSERT_TRUE(connect_link(p, &third, KPEER_SHARED));
	for (i = 0; i < 3 * KPEER_BUFFERS; i++) {
		fill(p->mem.va + ORDER, i, 1000);
		order_at(p, KPEER_ECHO, 0, 0);
		ASSERT_EQ(1000, talk(p, i & 1 ? &third : &self->other, 1000));
		EXPECT_EQ(0, memcmp(p->mem.va + ANSWER, p->mem.va + ORDER, 1000));
	}
	ASSERT_EQ(DAT_SUCCESS, dat_ep_disconnect(third.ep, DAT_CLOSE_ABRUPT_FLAG));
	for (i = 0; i < 2 * KPEER_BUFFERS; i++)
		ASSERT_NE(NULL, order(p, &self->other, KPEER_SUM, 0, 16));
}

/*
 * The module sends unsolicited messages and a solicited message.  The receiver notifies for
 * solicited messages only.
 */
TEST_F_TIMEOUT(peer, its_solicited_messages_arrive, 120)
{
	enum { PLAIN = 5 };
	struct a_pair *p = &self->p;
	struct link l, sends;
	DAT_LMR_TRIPLET seg;
	uint64_t len;
	int i;

	NEED_MODULE();
	ASSERT_TRUE(solicited_link(p, &l, &sends));
	ASSERT_TRUE(ask(p, &l, KPEER_QUAL, 0, NULL));
	ASSERT_TRUE(established(sends.evd, NULL));
	seg = a_seg(&p->mem, ANSWER, KPEER_MESSAGE);
	for (i = 0; i <= PLAIN; i++)
		ASSERT_EQ(DAT_SUCCESS, dat_ep_post_recv(l.ep, 1, &seg, a_cookie(ANSWER), 0));
	order_at(p, KPEER_SOLICIT, 0, 0)->value = PLAIN;
	seg = a_seg(&p->mem, ORDER, sizeof(struct kpeer_message));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_post_send(l.ep, 1, &seg, a_cookie(ORDER),
						DAT_COMPLETION_SOLICITED_WAIT_FLAG));
	for (i = 0; i <= PLAIN; i++) {
		ASSERT_EQ(DAT_DTO_SUCCESS, a_dto(l.evd, NULL, &len));
		EXPECT_EQ(sizeof(struct kpeer_message), len);
	}
	EXPECT_EQ(DAT_DTO_SUCCESS, a_dto(sends.evd, NULL, NULL));
}

/*
 * Start a peer on verbs, which connects to the module and posts a request that breaks the
 * connection.  Return 1 if the module reports BROKEN.
 */
static int breaks(FIXTURE_DATA(peer) *self, const struct v_request *req)
{
	struct sockaddr_in *sin = (struct sockaddr_in *)self->p.attr.ia_address_ptr;
	char host[INET_ADDRSTRLEN];
	pid_t peer;
	int ret;

	inet_ntop(AF_INET, &sin->sin_addr, host, sizeof(host));
	peer = fork();
	if (!peer)
		_exit(v_peer(host, KPEER_QUAL, req));
	ret = it_ends_by(&self->p, &self->first, DAT_CONNECTION_EVENT_BROKEN);
	kill(peer, SIGKILL);
	waitpid(peer, NULL, 0);
	return ret;
}

/*
 * A write with immediate data completes a receive of the module.  The module must not take this for
 * a message, whether the write is shorter or longer than its receives of 4096 bytes.
 */
TEST_F_TIMEOUT(peer, a_write_with_immediate_is_no_message_to_the_module, 120)
{
	const struct v_request req = { IBV_WR_RDMA_WRITE_WITH_IMM, 64, 0 };

	NEED_MODULE();
	EXPECT_TRUE(breaks(self, &req));
}

TEST_F_TIMEOUT(peer, a_write_with_immediate_longer_than_the_receive_breaks_the_connection, 120)
{
	const struct v_request req = { IBV_WR_RDMA_WRITE_WITH_IMM, V_REQUEST_MAX, 0 };

	NEED_MODULE();
	EXPECT_TRUE(breaks(self, &req));
}

TEST_HARNESS_MAIN
