// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* Every ioctl with every length of its argument, and with arguments in unmapped memory. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "dat_test.h"

#define PAGE	4096
#define CMD(nr, name, needs)							\
	{ #nr, DAT_IOC_##nr, sizeof(struct name), sizeof(struct name), needs }

static const struct cmd {
	char		name[16];
	unsigned long	cmd;
	uint32_t	size;
	uint32_t	min;
	int		needs_ia;
} cmds[] = {
	{ "ABI", DAT_IOC_ABI, sizeof(struct dat_abi), offsetof(struct dat_abi, file), 0 },
	CMD(ADAPTER, dat_adapter, 0),
	CMD(IA_OPEN, dat_ia_open, 0),
	{ "IA_QUERY", DAT_IOC_IA_QUERY, sizeof(struct dat_ia_query),
	  offsetof(struct dat_ia_query, mtu), 1 },
	CMD(IA_ADDR, dat_ia_addr, 1),
	CMD(FREE, dat_free, 1),
	CMD(PZ_CREATE, dat_pz_create, 1),
	CMD(LMR_CREATE, dat_lmr_create, 1),
	CMD(LMR_STALE, dat_lmr_stale, 1),
	CMD(EVD_CREATE, dat_evd_create, 1),
	CMD(EVD_WAIT, dat_evd_wait, 1),
	CMD(EVD_POLL, dat_evd_poll, 1),
	CMD(EVD_POST, dat_evd_post, 1),
	CMD(EVD_SET, dat_evd_set, 1),
	CMD(SRQ_CREATE, dat_srq_create, 1),
	{ "EP_CREATE", DAT_IOC_EP_CREATE, sizeof(struct dat_ep_create),
	  offsetof(struct dat_ep_create, max_inline), 1 },
	CMD(EP_CONNECT, dat_ep_connect, 1),
	CMD(EP_DISCONNECT, dat_ep_disconnect, 1),
	CMD(EP_RESET, dat_ep_reset, 1),
	CMD(EP_QUERY, dat_ep_query, 1),
	CMD(PSP_CREATE, dat_psp_create, 1),
	{ "CR_QUERY", DAT_IOC_CR_QUERY, sizeof(struct dat_cr_query),
	  offsetof(struct dat_cr_query, local_len), 1 },
	CMD(CR_ACCEPT, dat_cr_accept, 1),
	{ "CR_REJECT", DAT_IOC_CR_REJECT, sizeof(struct dat_cr_reject),
	  offsetof(struct dat_cr_reject, pd_len), 1 },
	CMD(RMR_CREATE, dat_rmr_create, 1),
	CMD(RMR_BIND, dat_rmr_bind, 1),
	CMD(EVD_MODIFY_CNO, dat_evd_modify_cno, 1),
	CMD(EVD_RESIZE, dat_evd_resize, 1),
	CMD(CNO_CREATE, dat_cno_create, 1),
	CMD(CNO_QUERY, dat_cno_query, 1),
	CMD(CNO_WAIT, dat_cno_wait, 1),
	CMD(FD, dat_fd, 1),
	CMD(SRQ_RESIZE, dat_srq_resize, 1),
	CMD(SRQ_SET_LW, dat_srq_set_lw, 1),
	{ "EP_MODIFY", DAT_IOC_EP_MODIFY, sizeof(struct dat_ep_modify),
	  offsetof(struct dat_ep_modify, max_inline), 1 },
	CMD(CR_HANDOFF, dat_cr_handoff, 1),
	CMD(POLLER_SET, dat_poller_set, 1),
	CMD(POLLER_RUN, dat_poller_run, 1),
	CMD(IA_CLOSE, dat_ia_close, 1),
};

#define NCMDS (sizeof(cmds) / sizeof(cmds[0]))

FIXTURE(length) {
	struct t_file f;
	uint32_t pz;
	struct t_evd evd;
	char *buf;		/* two mapped pages, followed by an unmapped page */
	char *edge;
};

FIXTURE_SETUP(length)
{
	ASSERT_EQ(0, t_open(&self->f));
	ASSERT_EQ(0, t_pz(&self->f, &self->pz));
	ASSERT_EQ(0, t_evd(&self->f, DAT_STREAM_CR, 8, &self->evd));
	self->buf = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			 -1, 0);
	ASSERT_NE(MAP_FAILED, self->buf);
	self->edge = self->buf + 2 * PAGE;
	ASSERT_EQ(0, munmap(self->edge, PAGE));
}

FIXTURE_TEARDOWN(length)
{
	t_close(&self->f);
}

/* Call @cmd with an argument of @size bytes.  Only the size field is not 0. */
static int call(FIXTURE_DATA(length) *self, const struct cmd *cmd, uint32_t size)
{
	memset(self->buf, 0, 2 * PAGE);
	memcpy(self->buf, &size, sizeof(size));
	return t_ioctl(self->f.fd, cmd->cmd, self->buf);
}

TEST_F(length, any_size_below_that_of_version_1_is_EINVAL)
{
	uint32_t size;
	size_t i;

	for (i = 0; i < NCMDS; i++) {
		for (size = 0; size < cmds[i].min; size++) {
			EXPECT_EQ(-EINVAL, call(self, &cmds[i], size))
				TH_LOG("%s with size %u", cmds[i].name, size);
		}
	}
}

TEST_F(length, excess_of_zeros_changes_nothing)
{
	size_t i;
	int want;

	for (i = 0; i < NCMDS; i++) {
		if (cmds[i].cmd == DAT_IOC_IA_CLOSE)
			continue;
		want = call(self, &cmds[i], cmds[i].size);
		EXPECT_EQ(want, call(self, &cmds[i], cmds[i].size + 1))
			TH_LOG("%s and a byte", cmds[i].name);
		EXPECT_EQ(want, call(self, &cmds[i], PAGE)) TH_LOG("%s in a page", cmds[i].name);
	}
	EXPECT_EQ(0, call(self, &cmds[NCMDS - 1], PAGE));
	EXPECT_EQ(-ENODEV, call(self, &cmds[NCMDS - 1], PAGE));
}

TEST_F(length, excess_that_is_not_zero_is_E2BIG)
{
	uint32_t size, at;
	size_t i;

	for (i = 0; i < NCMDS; i++) {
		size = cmds[i].size + 64;
		for (at = cmds[i].size; at < size; at++) {
			memset(self->buf, 0, PAGE);
			memcpy(self->buf, &size, sizeof(size));
			self->buf[at] = 1;
			EXPECT_EQ(-E2BIG, t_ioctl(self->f.fd, cmds[i].cmd, self->buf))
				TH_LOG("%s at %u", cmds[i].name, at);
		}
	}
}

static unsigned int count_objects(int fd)
{
	char path[64], line[512];
	unsigned int n = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f))
		n += !!strstr(line, "\tid=");
	if (f)
		fclose(f);
	return n;
}

/*
 * Pass arguments that are longer than the structure.  Apart from the size field, only the last byte
 * is not zero.
 */
TEST_F_TIMEOUT(length, no_size_up_to_4096_hides_a_byte_that_is_not_zero, 300)
{
	unsigned int before = count_objects(self->f.fd);
	uint32_t size;
	size_t i;

	memset(self->buf, 0, PAGE);
	for (i = 0; i < NCMDS; i++)
		for (size = cmds[i].size + 1; size <= PAGE; size++) {
			memcpy(self->buf, &size, sizeof(size));
			self->buf[size - 1] = 1;
			EXPECT_EQ(-E2BIG, t_ioctl(self->f.fd, cmds[i].cmd, self->buf))
				TH_LOG("%s with size %u", cmds[i].name, size);
			self->buf[size - 1] = 0;
		}
	EXPECT_EQ(before, count_objects(self->f.fd));
}

TEST_F_TIMEOUT(length, no_size_of_zeros_up_to_4096_changes_an_error, 300)
{
	uint32_t size;
	size_t i;
	int want;

	for (i = 0; i < NCMDS; i++) {
		want = call(self, &cmds[i], cmds[i].size);
		if (!want)
			continue;
		for (size = cmds[i].size + 1; size <= PAGE; size++) {
			memcpy(self->buf, &size, sizeof(size));
			EXPECT_EQ(want, t_ioctl(self->f.fd, cmds[i].cmd, self->buf))
				TH_LOG("%s with size %u", cmds[i].name, size);
		}
	}
}

TEST_F(length, a_size_beyond_a_page_is_E2BIG)
{
	size_t i;

	for (i = 0; i < NCMDS; i++) {
		EXPECT_EQ(-E2BIG, call(self, &cmds[i], PAGE + 1)) TH_LOG("%s", cmds[i].name);
		EXPECT_EQ(-E2BIG, call(self, &cmds[i], ~0U)) TH_LOG("%s", cmds[i].name);
	}
}

TEST_F(length, an_answer_is_no_longer_than_asked_for)
{
	struct { struct dat_ia_query a; char canary[64]; } q;
	char want[64];

	memset(want, 0x5a, sizeof(want));
	memset(&q, 0, sizeof(q));
	memset(q.canary, 0x5a, sizeof(q.canary));
	q.a.size = sizeof(q.a);
	ASSERT_EQ(0, t_ioctl(self->f.fd, DAT_IOC_IA_QUERY, &q));
	EXPECT_EQ(sizeof(q.a), q.a.size);
	EXPECT_EQ(0, memcmp(want, q.canary, sizeof(want)));
}

/* A program with the headers of version 1 passes a structure without the last two fields. */
TEST_F(length, an_answer_to_an_old_program_is_no_longer_than_it_was)
{
	struct dat_ia_query q = { .size = offsetof(struct dat_ia_query, mtu), .max_pd_reject = 5 };

	q.mtu = 77;
	ASSERT_EQ(0, t_ioctl(self->f.fd, DAT_IOC_IA_QUERY, &q));
	EXPECT_EQ(offsetof(struct dat_ia_query, mtu), q.size);
	EXPECT_EQ(1, q.num_comp_vectors);
	EXPECT_EQ(77, q.mtu);
	EXPECT_EQ(5, q.max_pd_reject);
}

/* The MTU is that of the port's verbs attributes, which is 0 if it has no meaning. */
TEST_F(length, a_query_in_full_length_has_the_MTU)
{
	const struct dat_ia_query *q = &self->f.info;

	if (q->flags & (DAT_IA_FLAG_IWARP | DAT_IA_FLAG_LOCAL)) {
		EXPECT_EQ(0, q->mtu);
	} else {
		EXPECT_LE(256, q->mtu);
		EXPECT_GE(4096, q->mtu);
	}
}

TEST_F(length, an_argument_that_ends_with_its_page_is_read)
{
	size_t i;

	for (i = 0; i < NCMDS; i++) {
		char *at = self->edge - cmds[i].size;

		memset(at, 0, cmds[i].size);
		memcpy(at, &cmds[i].size, sizeof(cmds[i].size));
		EXPECT_NE(-EFAULT, t_ioctl(self->f.fd, cmds[i].cmd, at)) TH_LOG("%s", cmds[i].name);
	}
}

TEST_F(length, an_unreadable_argument_is_EFAULT)
{
	size_t i;

	for (i = 0; i < NCMDS; i++) {
		char *at = self->edge - cmds[i].size + 1;

		EXPECT_EQ(-EFAULT, t_ioctl(self->f.fd, cmds[i].cmd, NULL))
			TH_LOG("%s at NULL", cmds[i].name);
		EXPECT_EQ(-EFAULT, t_ioctl(self->f.fd, cmds[i].cmd, self->edge))
			TH_LOG("%s at nothing", cmds[i].name);
		EXPECT_EQ(-EFAULT, t_ioctl(self->f.fd, cmds[i].cmd, (void *)-PAGE))
			TH_LOG("%s in the kernel", cmds[i].name);
		memcpy(at, &cmds[i].size, sizeof(cmds[i].size));
		EXPECT_EQ(-EFAULT, t_ioctl(self->f.fd, cmds[i].cmd, at))
			TH_LOG("%s a byte across the edge", cmds[i].name);
	}
}

/*
 * EXPECT_NOTHING_MADE(): the argument is readable but not writable.  The call must fail with
 * -EFAULT and must not create an object.
 */
#define EXPECT_NOTHING_MADE(CMD, ...) do {					\
	typeof(__VA_ARGS__) _arg = __VA_ARGS__;					\
	unsigned int _before = count_objects(self->f.fd);			\
										\
	_arg.size = sizeof(_arg);						\
	memcpy(self->buf, &_arg, sizeof(_arg));					\
	EXPECT_EQ(0, t_ioctl(self->f.fd, DAT_IOC_##CMD, &_arg))			\
		TH_LOG("%s is wrong as such", #CMD);				\
	EXPECT_EQ(0, t_free(&self->f, DAT_OBJ_##CMD, _arg.id));			\
	ASSERT_EQ(0, mprotect(self->buf, PAGE, PROT_READ));			\
	EXPECT_EQ(-EFAULT, t_ioctl(self->f.fd, DAT_IOC_##CMD, self->buf));	\
	ASSERT_EQ(0, mprotect(self->buf, PAGE, PROT_READ | PROT_WRITE));	\
	EXPECT_EQ(_before, count_objects(self->f.fd)) TH_LOG("%s", #CMD);	\
} while (0)

#define DAT_OBJ_PZ_CREATE	DAT_OBJ_PZ
#define DAT_OBJ_LMR_CREATE	DAT_OBJ_LMR
#define DAT_OBJ_EVD_CREATE	DAT_OBJ_EVD
#define DAT_OBJ_SRQ_CREATE	DAT_OBJ_SRQ
#define DAT_OBJ_EP_CREATE	DAT_OBJ_EP
#define DAT_OBJ_PSP_CREATE	DAT_OBJ_PSP

TEST_F(length, an_unwritable_argument_is_EFAULT_and_makes_nothing)
{
	uint32_t pz = self->pz;

	EXPECT_NOTHING_MADE(PZ_CREATE, (struct dat_pz_create) { 0 });
	EXPECT_NOTHING_MADE(LMR_CREATE, (struct dat_lmr_create) {
		.pz = pz, .addr = (uintptr_t)self->buf + PAGE, .length = 64 });
	EXPECT_NOTHING_MADE(EVD_CREATE, (struct dat_evd_create) {
		.streams = DAT_STREAM_DTO, .qlen = 4 });
	EXPECT_NOTHING_MADE(SRQ_CREATE, (struct dat_srq_create) {
		.pz = pz, .max_recv = 4, .max_iov = 1 });
	EXPECT_NOTHING_MADE(EP_CREATE, (struct dat_ep_create) {
		.pz = pz, .max_recv = 4, .max_request = 4 });
	EXPECT_NOTHING_MADE(PSP_CREATE, (struct dat_psp_create) {
		.evd = self->evd.id, .conn_qual = T_QUAL });
	/* The failed calls hold no reference on their parents, so both can be freed. */
	EXPECT_EQ(0, t_free(&self->f, DAT_OBJ_EVD, self->evd.id));
	EXPECT_EQ(0, t_free(&self->f, DAT_OBJ_PZ, pz));
}

/*
 * The first EVD for async events belongs to the IA and cannot be freed alone.  If its creation
 * fails, the IA must have no async EVD.
 */
TEST_F(length, an_async_evd_that_nobody_heard_of_is_not_there)
{
	struct dat_evd_create arg = {
		.size = sizeof(arg), .streams = DAT_STREAM_ASYNC, .qlen = 4,
	};
	unsigned int before = count_objects(self->f.fd);

	memcpy(self->buf, &arg, sizeof(arg));
	ASSERT_EQ(0, mprotect(self->buf, PAGE, PROT_READ));
	EXPECT_EQ(-EFAULT, t_ioctl(self->f.fd, DAT_IOC_EVD_CREATE, self->buf));
	EXPECT_EQ(before, count_objects(self->f.fd));
}

/* IA_OPEN fails if the kernel cannot write the result.  The caller can then open again. */
TEST(an_IA_OPEN_whose_answer_is_lost_did_not_happen)
{
	struct dat_adapter adapter;
	struct dat_ia_open arg = { .size = sizeof(arg) };
	struct dat_ia_open *ro = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
				      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int fd = open("/dev/dat", O_RDWR);

	ASSERT_EQ(0, t_adapter(fd, &adapter));
	memcpy(arg.name, adapter.name, sizeof(arg.name));
	*ro = arg;
	ASSERT_EQ(0, mprotect(ro, PAGE, PROT_READ));
	EXPECT_EQ(-EFAULT, t_ioctl(fd, DAT_IOC_IA_OPEN, ro));
	EXPECT_EQ(0, t_ioctl(fd, DAT_IOC_IA_OPEN, &arg));
	close(fd);
}

static volatile int stop;

static void *change_size(void *arg)
{
	volatile uint32_t *size = arg;

	while (!stop) {
		*size = PAGE;
		*size = sizeof(struct dat_pz_create);
	}
	return NULL;
}

/*
 * Another thread changes the size field while the bytes after the structure are not 0.  The driver
 * must read the size only once and use that value for all decisions.
 */
TEST_F_TIMEOUT(length, a_size_that_changes_during_the_call, 120)
{
	pthread_t thread;
	int i, ret;

	memset(self->buf, 0x77, PAGE);
	ASSERT_EQ(0, pthread_create(&thread, NULL, change_size, self->buf));
	for (i = 0; i < 3000; i++) {
		ret = t_ioctl(self->f.fd, DAT_IOC_PZ_CREATE, self->buf);
		if (!ret)
			ret = t_free(&self->f, DAT_OBJ_PZ,
				     ((struct dat_pz_create *)self->buf)->id);
		ASSERT_TRUE(ret == 0 || ret == -E2BIG) TH_LOG("%d", ret);
	}
	stop = 1;
	pthread_join(thread, NULL);
}

TEST_F(length, unknown_numbers_are_ENOTTY)
{
	EXPECT_EQ(-ENOTTY, t_ioctl(self->f.fd, _IO(DAT_IOC_MAGIC, T_NR_LAST), self->buf));
	EXPECT_EQ(-ENOTTY, t_ioctl(self->f.fd, _IO(DAT_IOC_MAGIC, 0xff), self->buf));
	EXPECT_EQ(-ENOTTY, t_ioctl(self->f.fd, _IO(0xDB, DAT_NR_ABI), self->buf));
	EXPECT_EQ(-ENOTTY, t_ioctl(self->f.fd, _IOR(DAT_IOC_MAGIC, DAT_NR_ABI, int), self->buf));
}

/* Bits of the argument of a kick above the number of a queue are reserved. */
TEST_F(length, a_kick_takes_the_number_of_a_queue)
{
	unsigned int n;

	for (n = 0; n < 8 * sizeof(long); n++) {
		EXPECT_EQ(n < 18 ? 0 : -EOPNOTSUPP, t_word(&self->f, DAT_IOC_KICK, 1UL << n))
			TH_LOG("bit %u", n);
	}
	EXPECT_EQ(0, t_kick(&self->f));
}

/* A 32-bit process cannot pass more than the id. */
TEST_F(length, a_look_and_a_sleep_take_an_id_and_no_other_bit)
{
	unsigned int n;

	for (n = 32; n < 8 * sizeof(long); n++) {
		EXPECT_EQ(-EOPNOTSUPP, t_word(&self->f, DAT_IOC_EVD_LOOK, 1UL << n));
		EXPECT_EQ(-EOPNOTSUPP, t_word(&self->f, DAT_IOC_EVD_SLEEP, 1UL << n));
	}
}

TEST(calls_before_IA_OPEN_are_EINVAL)
{
	int fd = open("/dev/dat", O_RDWR);
	char buf[1024];
	size_t i;

	ASSERT_LE(0, fd);
	for (i = 0; i < NCMDS; i++) {
		if (!cmds[i].needs_ia)
			continue;
		memset(buf, 0, sizeof(buf));
		memcpy(buf, &cmds[i].size, sizeof(cmds[i].size));
		EXPECT_EQ(-EINVAL, t_ioctl(fd, cmds[i].cmd, buf)) TH_LOG("%s", cmds[i].name);
	}
	EXPECT_EQ(-EINVAL, t_ioctl(fd, DAT_IOC_KICK, NULL));
	EXPECT_EQ(-EINVAL, t_ioctl(fd, DAT_IOC_EVD_LOOK, NULL));
	EXPECT_EQ(-EINVAL, t_ioctl(fd, DAT_IOC_EVD_SLEEP, NULL));
	close(fd);
}

TEST_HARNESS_MAIN
