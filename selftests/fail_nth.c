// SPDX-License-Identifier: GPL-2.0
/*
 * Each allocation of each operation fails once: the operation fails cleanly or succeeds
 * all the same, and leaves nothing behind.  Needs a kernel with fault injection.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "dat_test.h"

#define MAX_NTH	400

static int nth_fd = -1;

static int arm(unsigned int n)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", n);
	return pwrite(nth_fd, text, strlen(text), 0) < 0 ? -errno : 0;
}

/* Was the n-th call reached?  The file says how many are still to come. */
static int fired(void)
{
	char text[16] = "";

	pread(nth_fd, text, sizeof(text) - 1, 0);
	arm(0);
	return atoi(text) == 0;
}

static void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);

	if (fd >= 0) {
		write(fd, text, strlen(text));
		close(fd);
	}
}

FIXTURE(fail) {
	struct t_pair p;
};

FIXTURE_SETUP(fail)
{
	nth_fd = open("/proc/self/fail-nth", O_RDWR);
	if (nth_fd < 0 || arm(0)) {
		nth_fd = -1;
		return;
	}
	write_file("/sys/kernel/debug/failslab/ignore-gfp-wait", "N");
	write_file("/sys/kernel/debug/failslab/verbose", "0");
	write_file("/sys/kernel/debug/fail_page_alloc/ignore-gfp-wait", "N");
	write_file("/sys/kernel/debug/fail_page_alloc/ignore-gfp-highmem", "N");
	write_file("/sys/kernel/debug/fail_page_alloc/min-order", "0");
	write_file("/sys/kernel/debug/fail_page_alloc/verbose", "0");
	ASSERT_EQ(0, t_pair_open(&self->p));
}

FIXTURE_TEARDOWN(fail)
{
	if (nth_fd >= 0)
		t_pair_close(&self->p);
}

/* A fixture can't skip its tests; each has to. */
#define NEED_FAULTS() do {							\
	if (nth_fd < 0)								\
		SKIP(return, "the kernel has no fault injection");		\
} while (0)

typedef int (*create_fn)(struct t_pair *p, uint32_t *id);

/* Create with the 1st, 2nd, ... call failing until none does any more. */
static void fail_each(struct __test_metadata *_metadata, struct t_pair *p, create_fn create,
		      uint32_t type)
{
	unsigned int n;
	uint32_t id;
	int ret = 0;

	for (n = 1; n < MAX_NTH; n++) {
		ASSERT_EQ(0, arm(n));
		ret = create(p, &id);
		if (!fired())
			break;
		/* It may do without what it did not get. */
		if (!ret) {
			ASSERT_EQ(0, t_free(&p->f, type, id)) TH_LOG("call %u", n);
			continue;
		}
		ASSERT_TRUE(ret == -ENOMEM || ret == -EFAULT) TH_LOG("%d at call %u", ret, n);
	}
	ASSERT_GT(MAX_NTH, n);
	ASSERT_EQ(0, ret);
	EXPECT_EQ(0, t_free(&p->f, type, id));
	/* Its copy of the argument, at least, could fail. */
	EXPECT_LT(1, n);
	TH_LOG("%u calls", n - 1);
}

static int create_pz(struct t_pair *p, uint32_t *id)
{
	return t_pz(&p->f, id);
}

static int create_lmr(struct t_pair *p, uint32_t *id)
{
	struct dat_lmr_create arg = {
		.size = sizeof(arg), .pz = p->pz, .addr = (uintptr_t)p->mem.va,
		.length = 65536, .priv = DAT_PRIV_ALL,
	};
	int ret = t_ioctl(p->f.fd, DAT_IOC_LMR_CREATE, &arg);

	*id = arg.id;
	return ret;
}

static int create_evd(struct t_pair *p, uint32_t *id)
{
	struct dat_evd_create arg = {
		.size = sizeof(arg), .streams = DAT_STREAM_DTO | DAT_STREAM_CONNECTION,
		.qlen = 300,
	};
	int ret = t_ioctl(p->f.fd, DAT_IOC_EVD_CREATE, &arg);

	*id = arg.id;
	return ret;
}

static int create_srq(struct t_pair *p, uint32_t *id)
{
	struct dat_srq_create arg = {
		.size = sizeof(arg), .pz = p->pz, .max_recv = 64, .max_iov = 2,
	};
	int ret = t_ioctl(p->f.fd, DAT_IOC_SRQ_CREATE, &arg);

	*id = arg.id;
	return ret;
}

static int create_ep(struct t_pair *p, uint32_t *id)
{
	struct dat_ep_create arg = {
		.size = sizeof(arg), .pz = p->pz, .max_recv = 64, .max_request = 64,
		.recv_evd = p->evd[0].id,
	};
	int ret = t_ioctl(p->f.fd, DAT_IOC_EP_CREATE, &arg);

	*id = arg.id;
	return ret;
}

static int create_psp(struct t_pair *p, uint32_t *id)
{
	return t_psp(&p->f, &p->cr, T_QUAL + 7, id);
}

TEST_F_TIMEOUT(fail, pz, 300)
{
	NEED_FAULTS();
	fail_each(_metadata, &self->p, create_pz, DAT_OBJ_PZ);
}

TEST_F_TIMEOUT(fail, lmr, 300)
{
	NEED_FAULTS();
	fail_each(_metadata, &self->p, create_lmr, DAT_OBJ_LMR);
}

TEST_F_TIMEOUT(fail, evd, 300)
{
	NEED_FAULTS();
	fail_each(_metadata, &self->p, create_evd, DAT_OBJ_EVD);
}

TEST_F_TIMEOUT(fail, srq, 300)
{
	NEED_FAULTS();
	fail_each(_metadata, &self->p, create_srq, DAT_OBJ_SRQ);
}

TEST_F_TIMEOUT(fail, ep, 300)
{
	NEED_FAULTS();
	fail_each(_metadata, &self->p, create_ep, DAT_OBJ_EP);
}

TEST_F_TIMEOUT(fail, psp, 300)
{
	NEED_FAULTS();
	fail_each(_metadata, &self->p, create_psp, DAT_OBJ_PSP);
}

/* Opening the device, and the adapter: each on a file of its own. */
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
		/* One that failed can be tried again. */
		if (fd >= 0 && ret)
			EXPECT_EQ(0, t_ioctl(fd, DAT_IOC_IA_OPEN, &arg)) TH_LOG("call %u", n);
		if (fd >= 0)
			close(fd);
	}
	ASSERT_GT(MAX_NTH, n);
	EXPECT_EQ(0, ret);
	close(fd);
}

/* What is mapped after a failure is mapped whole. */
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
		ret = t_map(&self->p.f, arg.status_offset, arg.status_size, PROT_READ, &m);
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

/* A new EP each time: the attempt may have got anywhere. */
TEST_F_TIMEOUT(fail, connect, 600)
{
	struct t_pair *p = &self->p;
	struct dat_eqe eqe;
	unsigned int n;
	struct t_ep ep;
	int ret;

	NEED_FAULTS();
	for (n = 1; n < MAX_NTH; n++) {
		ASSERT_EQ(0, t_ep(&p->f, p->pz, &p->evd[1], 0, 5, &ep));
		ASSERT_EQ(0, arm(n));
		ret = t_connect(&p->f, &ep, T_QUAL + 1, NULL, 0);
		if (!fired())
			break;
		/* Either it says so, or an event does. */
		ASSERT_TRUE(ret ? !ep.st->state : t_event(&p->evd[1], T_WAIT_MS, &eqe))
			TH_LOG("%d at call %u", ret, n);
		ASSERT_EQ(0, t_free(&p->f, DAT_OBJ_EP, ep.id));
		t_unmap(&ep.submit);
		t_unmap(&ep.status);
	}
	ASSERT_GT(MAX_NTH, n);
	EXPECT_EQ(0, ret);
}

/*
 * Of the calls of an accept only ours, two copies and four allocations: rxe 6.1 deletes
 * timers that it has not set up yet when one fails inside its creation of a queue pair.
 */
#define ACCEPT_NTH	6

TEST_F_TIMEOUT(fail, accept, 900)
{
	struct t_pair *p = &self->p;
	struct dat_eqe eqe;
	unsigned int n;
	int ret;

	NEED_FAULTS();
	for (n = 1; n <= ACCEPT_NTH; n++) {
		struct t_ep in, out;
		uint32_t cr;

		ASSERT_EQ(0, t_ep(&p->f, p->pz, &p->evd[0], 0, 5, &in));
		ASSERT_EQ(0, t_ep(&p->f, p->pz, &p->evd[1], 0, 6, &out));
		ASSERT_EQ(0, t_connect(&p->f, &out, T_QUAL, NULL, 0));
		ASSERT_EQ(1, t_event(&p->cr, T_WAIT_MS, &eqe));
		cr = eqe.data;
		ASSERT_EQ(0, arm(n));
		ret = t_accept(&p->f, cr, &in, NULL, 0);
		ASSERT_TRUE(fired());
		/* After a failure both are as good as before. */
		if (ret) {
			ASSERT_TRUE(ret == -ENOMEM || ret == -EFAULT);
			ASSERT_EQ(0, t_accept(&p->f, cr, &in, NULL, 0))
				TH_LOG("%d at call %u", ret, n);
		}
		ASSERT_EQ(1, t_event(&p->evd[0], T_WAIT_MS, &eqe));
		ASSERT_EQ(0, t_free(&p->f, DAT_OBJ_EP, in.id));
		ASSERT_EQ(0, t_free(&p->f, DAT_OBJ_EP, out.id));
		while (t_event(&p->evd[1], 0, &eqe) || t_event(&p->evd[0], 0, &eqe))
			;
		t_unmap(&in.submit);
		t_unmap(&in.status);
		t_unmap(&out.submit);
		t_unmap(&out.status);
	}
}

TEST_HARNESS_MAIN
