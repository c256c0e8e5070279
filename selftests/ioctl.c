// SPDX-License-Identifier: GPL-2.0
/* Each ioctl against each way of getting its argument wrong. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "dat_test.h"

union any {
	uint32_t			size;
	struct dat_abi			abi;
	struct dat_adapter		adapter;
	struct dat_ia_open		ia_open;
	struct dat_ia_query		ia_query;
	struct dat_ia_close		ia_close;
	struct dat_free			free;
	struct dat_pz_create		pz;
	struct dat_lmr_create		lmr;
	struct dat_evd_create		evd;
	struct dat_evd_wait		wait;
	struct dat_evd_post		post;
	struct dat_evd_set		set;
	struct dat_srq_create		srq;
	struct dat_ep_create		ep;
	struct dat_ep_connect		connect;
	struct dat_ep_disconnect	disconnect;
	struct dat_ep_reset		reset;
	struct dat_ep_query		ep_query;
	struct dat_psp_create		psp;
	struct dat_cr_query		cr_query;
	struct dat_cr_accept		accept;
	struct dat_cr_reject		reject;
};

#define CMD(nr, name, n)	{ #nr, DAT_IOC_##nr, sizeof(struct name), n }

static const struct cmd {
	const char	*name;
	unsigned long	cmd;
	uint32_t	size;
	int		needs_ia;
} cmds[] = {
	CMD(ABI, dat_abi, 0), CMD(ADAPTER, dat_adapter, 0), CMD(IA_OPEN, dat_ia_open, 0),
	CMD(IA_QUERY, dat_ia_query, 1), CMD(FREE, dat_free, 1),
	CMD(PZ_CREATE, dat_pz_create, 1), CMD(LMR_CREATE, dat_lmr_create, 1),
	CMD(EVD_CREATE, dat_evd_create, 1), CMD(EVD_WAIT, dat_evd_wait, 1),
	CMD(EVD_POST, dat_evd_post, 1), CMD(EVD_SET, dat_evd_set, 1),
	CMD(SRQ_CREATE, dat_srq_create, 1), CMD(EP_CREATE, dat_ep_create, 1),
	CMD(EP_CONNECT, dat_ep_connect, 1), CMD(EP_DISCONNECT, dat_ep_disconnect, 1),
	CMD(EP_RESET, dat_ep_reset, 1), CMD(EP_QUERY, dat_ep_query, 1),
	CMD(PSP_CREATE, dat_psp_create, 1), CMD(CR_QUERY, dat_cr_query, 1),
	CMD(CR_ACCEPT, dat_cr_accept, 1), CMD(CR_REJECT, dat_cr_reject, 1),
	CMD(IA_CLOSE, dat_ia_close, 1),
};

#define NCMDS (sizeof(cmds) / sizeof(cmds[0]))

FIXTURE(ioctl) {
	struct t_file f;
	uint32_t pz;
	struct t_evd evd;
	struct t_ep ep;
};

FIXTURE_SETUP(ioctl)
{
	ASSERT_EQ(0, t_open(&self->f));
	ASSERT_EQ(0, t_pz(&self->f, &self->pz));
	ASSERT_EQ(0, t_evd(&self->f, DAT_STREAM_ALL, 8, &self->evd));
	ASSERT_EQ(0, t_ep(&self->f, self->pz, &self->evd, 0, 1, &self->ep));
}

FIXTURE_TEARDOWN(ioctl)
{
	t_close(&self->f);
}

TEST_F(ioctl, size_below_version_1_is_EINVAL)
{
	union any arg;
	uint32_t size;
	size_t i;

	for (i = 0; i < NCMDS; i++) {
		for (size = 0; size < cmds[i].size; size += size < 8 ? 1 : 8) {
			/* What follows the last field of version 1 is padding. */
			if (size + 8 > cmds[i].size)
				continue;
			memset(&arg, 0, sizeof(arg));
			arg.size = size;
			EXPECT_EQ(-EINVAL, t_ioctl(self->f.fd, cmds[i].cmd, &arg))
				TH_LOG("%s with size %u", cmds[i].name, size);
		}
	}
}

TEST_F(ioctl, excess_that_is_not_zero_is_E2BIG)
{
	char buf[8192];
	size_t i;

	for (i = 0; i < NCMDS; i++) {
		memset(buf, 0, sizeof(buf));
		*(uint32_t *)buf = cmds[i].size + 64;
		buf[cmds[i].size + 63] = 1;
		EXPECT_EQ(-E2BIG, t_ioctl(self->f.fd, cmds[i].cmd, buf))
			TH_LOG("%s", cmds[i].name);
	}
}

TEST_F(ioctl, size_beyond_a_page_is_E2BIG)
{
	char *buf = calloc(1, 1 << 20);
	size_t i;

	for (i = 0; i < NCMDS; i++) {
		*(uint32_t *)buf = 1 << 20;
		EXPECT_EQ(-E2BIG, t_ioctl(self->f.fd, cmds[i].cmd, buf))
			TH_LOG("%s", cmds[i].name);
	}
	free(buf);
}

TEST_F(ioctl, excess_of_zeros_is_accepted)
{
	struct { struct dat_pz_create a; char more[100]; } pz = { .a.size = sizeof(pz) };
	struct { struct dat_ep_query a; char more[100]; } q = { .a.size = sizeof(q) };

	EXPECT_EQ(0, t_ioctl(self->f.fd, DAT_IOC_PZ_CREATE, &pz));
	EXPECT_NE(0, pz.a.id);
	q.a.id = self->ep.id;
	EXPECT_EQ(0, t_ioctl(self->f.fd, DAT_IOC_EP_QUERY, &q));
	/* The answer says how much the caller knows, and fills no more than that. */
	EXPECT_EQ(sizeof(q), q.a.size);
}

TEST_F(ioctl, unreadable_argument_is_EFAULT)
{
	char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *edge = page + 4096;
	size_t i;

	ASSERT_EQ(0, munmap(edge, 4096));
	for (i = 0; i < NCMDS; i++) {
		EXPECT_EQ(-EFAULT, t_ioctl(self->f.fd, cmds[i].cmd, NULL))
			TH_LOG("%s at NULL", cmds[i].name);
		EXPECT_EQ(-EFAULT, t_ioctl(self->f.fd, cmds[i].cmd, edge))
			TH_LOG("%s at nothing", cmds[i].name);
		*(uint32_t *)(edge - 4) = cmds[i].size;
		EXPECT_EQ(-EFAULT, t_ioctl(self->f.fd, cmds[i].cmd, edge - 4))
			TH_LOG("%s across the edge", cmds[i].name);
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
		n += strstr(line, "\tid=") != NULL;
	if (f)
		fclose(f);
	return n;
}

TEST_F(ioctl, unwritable_argument_is_EFAULT_and_makes_nothing)
{
	union any *arg = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned int before = count_objects(self->f.fd);
	char *mem = aligned_alloc(4096, 4096);

	memset(arg, 0, sizeof(*arg));
	arg->size = sizeof(arg->pz);
	ASSERT_EQ(0, mprotect(arg, 4096, PROT_READ));
	EXPECT_EQ(-EFAULT, t_ioctl(self->f.fd, DAT_IOC_PZ_CREATE, arg));
	ASSERT_EQ(0, mprotect(arg, 4096, PROT_READ | PROT_WRITE));
	arg->evd = (struct dat_evd_create) { .size = sizeof(arg->evd), .streams = 0x20, .qlen = 4 };
	ASSERT_EQ(0, mprotect(arg, 4096, PROT_READ));
	EXPECT_EQ(-EFAULT, t_ioctl(self->f.fd, DAT_IOC_EVD_CREATE, arg));
	ASSERT_EQ(0, mprotect(arg, 4096, PROT_READ | PROT_WRITE));
	arg->lmr = (struct dat_lmr_create) {
		.size = sizeof(arg->lmr), .pz = self->pz, .addr = (uintptr_t)mem, .length = 4096,
	};
	ASSERT_EQ(0, mprotect(arg, 4096, PROT_READ));
	EXPECT_EQ(-EFAULT, t_ioctl(self->f.fd, DAT_IOC_LMR_CREATE, arg));
	EXPECT_EQ(before, count_objects(self->f.fd));
}

TEST_F(ioctl, unknown_numbers_are_ENOTTY)
{
	char buf[256] = { 0 };

	EXPECT_EQ(-ENOTTY, t_ioctl(self->f.fd, _IO(DAT_IOC_MAGIC, DAT_NR_LAST), buf));
	EXPECT_EQ(-ENOTTY, t_ioctl(self->f.fd, _IO(DAT_IOC_MAGIC, 0xff), buf));
	EXPECT_EQ(-ENOTTY, t_ioctl(self->f.fd, _IO(0xDB, DAT_NR_ABI), buf));
	EXPECT_EQ(-ENOTTY, t_ioctl(self->f.fd, _IOR(DAT_IOC_MAGIC, DAT_NR_ABI, int), buf));
}

TEST_F(ioctl, kick_takes_no_argument)
{
	EXPECT_EQ(-EINVAL, t_ioctl(self->f.fd, DAT_IOC_KICK, (void *)8));
	EXPECT_EQ(0, t_kick(&self->f));
}

TEST(calls_before_IA_OPEN_are_EINVAL)
{
	int fd = open("/dev/dat", O_RDWR);
	union any arg;
	size_t i;

	ASSERT_LE(0, fd);
	for (i = 0; i < NCMDS; i++) {
		if (!cmds[i].needs_ia)
			continue;
		memset(&arg, 0, sizeof(arg));
		arg.size = cmds[i].size;
		EXPECT_EQ(-EINVAL, t_ioctl(fd, cmds[i].cmd, &arg)) TH_LOG("%s", cmds[i].name);
	}
	EXPECT_EQ(-EINVAL, t_ioctl(fd, DAT_IOC_KICK, NULL));
	close(fd);
}

TEST_F(ioctl, second_IA_OPEN_is_EINVAL)
{
	struct dat_ia_open arg = { .size = sizeof(arg) };

	strcpy((char *)arg.name, (char *)self->f.info.device);
	EXPECT_EQ(-EINVAL, t_ioctl(self->f.fd, DAT_IOC_IA_OPEN, &arg));
}

TEST(unknown_adapters_are_ENOENT_and_endless_names_EINVAL)
{
	struct dat_ia_open arg = { .size = sizeof(arg), .name = "nosuch0" };
	struct dat_adapter adapter = { .size = sizeof(adapter), .index = 1000 };
	int fd = open("/dev/dat", O_RDWR);

	ASSERT_LE(0, fd);
	EXPECT_EQ(-ENOENT, t_ioctl(fd, DAT_IOC_IA_OPEN, &arg));
	EXPECT_EQ(-ENOENT, t_ioctl(fd, DAT_IOC_ADAPTER, &adapter));
	memset(arg.name, 'x', sizeof(arg.name));
	EXPECT_EQ(-EINVAL, t_ioctl(fd, DAT_IOC_IA_OPEN, &arg));
	close(fd);
}

#define EXPECT_ERR(err, CMD, ...) do {						\
	typeof(__VA_ARGS__) _arg = __VA_ARGS__;					\
	_arg.size = sizeof(_arg);						\
	EXPECT_EQ(-(err), t_ioctl(self->f.fd, DAT_IOC_##CMD, &_arg))		\
		TH_LOG("%s", #__VA_ARGS__);					\
} while (0)

TEST_F(ioctl, reserved_fields_and_unknown_flags_are_EINVAL)
{
	uint32_t evd = self->evd.id, ep = self->ep.id, pz = self->pz;

	EXPECT_ERR(EINVAL, FREE, (struct dat_free) { .type = DAT_OBJ_EP, .id = ep, .rsvd = 1 });
	EXPECT_ERR(EINVAL, FREE, (struct dat_free) { .type = DAT_OBJ_NONE, .id = ep });
	EXPECT_ERR(EINVAL, FREE, (struct dat_free) { .type = DAT_OBJ_IA, .id = ep });
	EXPECT_ERR(EINVAL, FREE, (struct dat_free) { .type = DAT_OBJ_LAST, .id = ep });
	EXPECT_ERR(EINVAL, FREE, (struct dat_free) { .type = ~0U, .id = ep });
	EXPECT_ERR(EINVAL, IA_CLOSE, (struct dat_ia_close) { .rsvd = 1 });
	EXPECT_ERR(EINVAL, LMR_CREATE, (struct dat_lmr_create) {
		   .pz = pz, .addr = 4096, .length = 1, .priv = 0x40 });
	EXPECT_ERR(EINVAL, EVD_CREATE, (struct dat_evd_create) { .streams = 0x2, .qlen = 1 });
	EXPECT_ERR(EINVAL, EVD_CREATE, (struct dat_evd_create) { .streams = 0, .qlen = 1 });
	EXPECT_ERR(EINVAL, EVD_WAIT, (struct dat_evd_wait) { .id = evd, .threshold = 1, .rsvd = 1 });
	EXPECT_ERR(EINVAL, EVD_SET, (struct dat_evd_set) { .id = evd, .flags = 2, .mask = 2 });
	EXPECT_ERR(EINVAL, EVD_SET, (struct dat_evd_set) { .id = evd, .mask = ~0U });
	EXPECT_ERR(EINVAL, EP_CREATE, (struct dat_ep_create) { .pz = pz, .rsvd = 1 });
	EXPECT_ERR(EINVAL, EP_CREATE, (struct dat_ep_create) { .pz = pz, .recv_flags = 0x80 });
	EXPECT_ERR(EINVAL, EP_CREATE, (struct dat_ep_create) { .pz = pz, .request_flags = 0x80 });
	EXPECT_ERR(EINVAL, EP_DISCONNECT, (struct dat_ep_disconnect) { .id = ep, .flags = 2 });
	EXPECT_ERR(EINVAL, EP_DISCONNECT, (struct dat_ep_disconnect) { .id = ep, .rsvd = 1 });
	EXPECT_ERR(EINVAL, PSP_CREATE, (struct dat_psp_create) { .evd = evd, .rsvd = 1 });
}

TEST_F(ioctl, counts_out_of_range_are_EINVAL)
{
	uint32_t evd = self->evd.id, pz = self->pz;

	EXPECT_ERR(EINVAL, EVD_CREATE, (struct dat_evd_create) { .streams = 0x20, .qlen = 0 });
	EXPECT_ERR(EINVAL, EVD_CREATE, (struct dat_evd_create) { .streams = 0x20, .qlen = ~0U });
	EXPECT_ERR(EINVAL, EVD_WAIT, (struct dat_evd_wait) { .id = evd, .threshold = 0 });
	EXPECT_ERR(EINVAL, EVD_WAIT, (struct dat_evd_wait) { .id = evd, .threshold = 9 });
	EXPECT_ERR(EINVAL, LMR_CREATE, (struct dat_lmr_create) { .pz = pz, .addr = 4096 });
	EXPECT_ERR(EINVAL, LMR_CREATE, (struct dat_lmr_create) {
		   .pz = pz, .addr = ~0ULL - 10, .length = 4096 });
	EXPECT_ERR(EINVAL, SRQ_CREATE, (struct dat_srq_create) { .pz = pz, .max_iov = 1 });
	EXPECT_ERR(EINVAL, SRQ_CREATE, (struct dat_srq_create) { .pz = pz, .max_recv = 1 });
	EXPECT_ERR(EINVAL, SRQ_CREATE, (struct dat_srq_create) {
		   .pz = pz, .max_recv = ~0U, .max_iov = 1 });
	EXPECT_ERR(EINVAL, SRQ_CREATE, (struct dat_srq_create) {
		   .pz = pz, .max_recv = 1, .max_iov = DAT_MAX_SGE + 1 });
	EXPECT_ERR(EINVAL, EP_CREATE, (struct dat_ep_create) { .pz = pz, .max_recv = ~0U });
	EXPECT_ERR(EINVAL, EP_CREATE, (struct dat_ep_create) { .pz = pz, .max_request = ~0U });
	EXPECT_ERR(EINVAL, EP_CREATE, (struct dat_ep_create) { .pz = pz, .max_recv_iov = 31 });
	EXPECT_ERR(EINVAL, EP_CREATE, (struct dat_ep_create) { .pz = pz, .max_request_iov = 31 });
	EXPECT_ERR(EINVAL, EP_CREATE, (struct dat_ep_create) { .pz = pz, .read_in = 256 });
	EXPECT_ERR(EINVAL, EP_CREATE, (struct dat_ep_create) { .pz = pz, .read_out = 256 });
	EXPECT_ERR(EINVAL, PSP_CREATE, (struct dat_psp_create) { .evd = evd, .conn_qual = 65536 });
}

TEST_F(ioctl, connect_checks_its_argument)
{
	struct dat_ep_connect good = {
		.id = self->ep.id, .conn_qual = T_QUAL, .timeout_us = 1000,
	}, arg;

	memcpy(good.addr, self->f.info.addr, sizeof(good.addr));
	arg = good, arg.conn_qual = 0;
	EXPECT_ERR(EINVAL, EP_CONNECT, arg);
	arg = good, arg.conn_qual = 65536;
	EXPECT_ERR(EINVAL, EP_CONNECT, arg);
	arg = good, arg.timeout_us = 0;
	EXPECT_ERR(EINVAL, EP_CONNECT, arg);
	arg = good, arg.pd_len = 57;
	EXPECT_ERR(EINVAL, EP_CONNECT, arg);
	arg = good, arg.rsvd = 1;
	EXPECT_ERR(EINVAL, EP_CONNECT, arg);
	arg = good, memset(arg.addr, 0xff, 2);
	EXPECT_ERR(EAFNOSUPPORT, EP_CONNECT, arg);
}

/* Each place of an id, with each kind of id that is not right there. */
static void expect_enoent(struct __test_metadata *_metadata, FIXTURE_DATA(ioctl) *self,
			  uint32_t bad)
{
	uint32_t evd = self->evd.id, pz = self->pz;

	EXPECT_ERR(ENOENT, FREE, (struct dat_free) { .type = DAT_OBJ_PSP, .id = bad });
	EXPECT_ERR(ENOENT, LMR_CREATE, (struct dat_lmr_create) {
		   .pz = bad, .addr = 4096, .length = 1 });
	EXPECT_ERR(ENOENT, EVD_WAIT, (struct dat_evd_wait) { .id = bad, .threshold = 1 });
	EXPECT_ERR(ENOENT, EVD_POST, (struct dat_evd_post) { .id = bad });
	EXPECT_ERR(ENOENT, EVD_SET, (struct dat_evd_set) { .id = bad });
	EXPECT_ERR(ENOENT, SRQ_CREATE, (struct dat_srq_create) {
		   .pz = bad, .max_recv = 1, .max_iov = 1 });
	EXPECT_ERR(ENOENT, EP_CREATE, (struct dat_ep_create) { .pz = bad });
	if (bad) {
		EXPECT_ERR(ENOENT, EP_CREATE, (struct dat_ep_create) { .pz = pz, .recv_evd = bad });
		EXPECT_ERR(ENOENT, EP_CREATE, (struct dat_ep_create) { .pz = pz, .request_evd = bad });
		EXPECT_ERR(ENOENT, EP_CREATE, (struct dat_ep_create) { .pz = pz, .connect_evd = bad });
		EXPECT_ERR(ENOENT, EP_CREATE, (struct dat_ep_create) {
			   .pz = pz, .recv_evd = evd, .srq = bad });
	}
	EXPECT_ERR(ENOENT, EP_DISCONNECT, (struct dat_ep_disconnect) { .id = bad });
	EXPECT_ERR(ENOENT, EP_RESET, (struct dat_ep_reset) { .id = bad });
	EXPECT_ERR(ENOENT, EP_QUERY, (struct dat_ep_query) { .id = bad });
	EXPECT_ERR(ENOENT, PSP_CREATE, (struct dat_psp_create) { .evd = bad, .conn_qual = T_QUAL });
	EXPECT_ERR(ENOENT, CR_QUERY, (struct dat_cr_query) { .id = bad });
	EXPECT_ERR(ENOENT, CR_ACCEPT, (struct dat_cr_accept) { .id = bad, .ep = self->ep.id });
	EXPECT_ERR(ENOENT, CR_REJECT, (struct dat_cr_reject) { .id = bad });
}

TEST_F(ioctl, ids_that_never_were_are_ENOENT)
{
	expect_enoent(_metadata, self, 0);
	expect_enoent(_metadata, self, 100000);
	expect_enoent(_metadata, self, ~0U);
}

TEST_F(ioctl, freed_ids_are_ENOENT)
{
	uint32_t pz;

	ASSERT_EQ(0, t_pz(&self->f, &pz));
	ASSERT_EQ(0, t_free(&self->f, DAT_OBJ_PZ, pz));
	expect_enoent(_metadata, self, pz);
	EXPECT_EQ(-ENOENT, t_free(&self->f, DAT_OBJ_PZ, pz));
}

TEST_F(ioctl, ids_of_another_type_are_ENOENT)
{
	struct t_lmr lmr;

	ASSERT_EQ(0, t_lmr(&self->f, self->pz, 4096, 0, &lmr));
	expect_enoent(_metadata, self, lmr.id);
}

TEST_F(ioctl, ids_of_another_file_are_ENOENT)
{
	struct t_file other;
	uint32_t pz;
	int i;

	ASSERT_EQ(0, t_open(&other));
	/* Far from the ids that this file has itself. */
	for (i = 0; i < 50; i++)
		ASSERT_EQ(0, t_pz(&other, &pz));
	expect_enoent(_metadata, self, pz);
	t_close(&other);
}

TEST_F(ioctl, parents_in_use_are_EBUSY)
{
	EXPECT_EQ(-EBUSY, t_free(&self->f, DAT_OBJ_PZ, self->pz));
	EXPECT_EQ(-EBUSY, t_free(&self->f, DAT_OBJ_EVD, self->evd.id));
	EXPECT_EQ(0, t_free(&self->f, DAT_OBJ_EP, self->ep.id));
	EXPECT_EQ(0, t_free(&self->f, DAT_OBJ_PZ, self->pz));
	/* The async EVD goes with the IA. */
	EXPECT_EQ(-EBUSY, t_free(&self->f, DAT_OBJ_EVD, self->evd.id));
}

TEST_F(ioctl, zones_must_match)
{
	struct t_srq srq;
	uint32_t other;

	ASSERT_EQ(0, t_pz(&self->f, &other));
	ASSERT_EQ(0, t_srq(&self->f, other, 4, &srq));
	EXPECT_ERR(EXDEV, EP_CREATE, (struct dat_ep_create) { .pz = self->pz, .srq = srq.id });
}

TEST_F(ioctl, streams_must_match)
{
	struct t_evd dto;

	ASSERT_EQ(0, t_evd(&self->f, DAT_STREAM_DTO, 4, &dto));
	EXPECT_ERR(EINVAL, EP_CREATE, (struct dat_ep_create) {
		   .pz = self->pz, .connect_evd = dto.id });
	EXPECT_ERR(EINVAL, PSP_CREATE, (struct dat_psp_create) {
		   .evd = dto.id, .conn_qual = T_QUAL });
	EXPECT_ERR(EINVAL, EVD_POST, (struct dat_evd_post) { .id = dto.id });
}

TEST_F(ioctl, a_child_gets_EPERM)
{
	int status;
	pid_t pid = fork();

	ASSERT_LE(0, pid);
	if (!pid) {
		uint32_t pz;

		_exit(t_pz(&self->f, &pz) == -EPERM && t_kick(&self->f) == -EPERM ? 0 : 1);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
}

TEST_F(ioctl, after_IA_CLOSE_everything_is_ENODEV)
{
	struct dat_ia_close close_arg = { .size = sizeof(close_arg) };
	uint32_t pz;

	ASSERT_EQ(0, t_ioctl(self->f.fd, DAT_IOC_IA_CLOSE, &close_arg));
	EXPECT_EQ(-ENODEV, t_pz(&self->f, &pz));
	EXPECT_EQ(-ENODEV, t_kick(&self->f));
	EXPECT_EQ(-ENODEV, t_evd_wait(&self->evd, 1, 0));
	EXPECT_EQ(-ENODEV, t_ioctl(self->f.fd, DAT_IOC_IA_CLOSE, &close_arg));
	/* What is mapped stays readable. */
	EXPECT_EQ(0, self->ep.st->state);
}

TEST_HARNESS_MAIN
