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

/* Run @op with the 1st, 2nd, ... call failing until none does any more. */
#define FAIL_EACH(op, undo) do {						\
	unsigned int n;								\
	int ret;								\
										\
	for (n = 1; n < MAX_NTH; n++) {						\
		ASSERT_EQ(0, arm(n));						\
		ret = op;							\
		if (!fired())							\
			break;							\
		if (!ret) {							\
			undo;							\
			continue;						\
		}								\
		ASSERT_TRUE(ret == -ENOMEM || ret == -EFAULT)			\
			TH_LOG("%s: %d at call %u", #op, ret, n);		\
	}									\
	ASSERT_GT(MAX_NTH, n);							\
	ASSERT_EQ(0, ret) TH_LOG("%s", #op);					\
	undo;									\
} while (0)

TEST_F_TIMEOUT(fail, pz, 300)
{
	struct dat_pz_create arg = { .size = sizeof(arg) };

	NEED_FAULTS();
	FAIL_EACH(t_ioctl(self->p.f.fd, DAT_IOC_PZ_CREATE, &arg),
		  t_free(&self->p.f, DAT_OBJ_PZ, arg.id));
}

TEST_F_TIMEOUT(fail, lmr, 300)
{
	struct dat_lmr_create arg = {
		.size = sizeof(arg), .pz = self->p.pz, .addr = (uintptr_t)self->p.mem.va,
		.length = 65536, .priv = DAT_PRIV_ALL,
	};

	NEED_FAULTS();
	FAIL_EACH(t_ioctl(self->p.f.fd, DAT_IOC_LMR_CREATE, &arg),
		  t_free(&self->p.f, DAT_OBJ_LMR, arg.id));
}

TEST_F_TIMEOUT(fail, evd, 300)
{
	struct dat_evd_create arg;

	NEED_FAULTS();
	FAIL_EACH((arg = (struct dat_evd_create) { .size = sizeof(arg), .streams = 0x60,
						   .qlen = 300 },
		   t_ioctl(self->p.f.fd, DAT_IOC_EVD_CREATE, &arg)),
		  t_free(&self->p.f, DAT_OBJ_EVD, arg.id));
}

TEST_F_TIMEOUT(fail, srq, 300)
{
	struct dat_srq_create arg;

	NEED_FAULTS();
	FAIL_EACH((arg = (struct dat_srq_create) { .size = sizeof(arg), .pz = self->p.pz,
						   .max_recv = 64, .max_iov = 2 },
		   t_ioctl(self->p.f.fd, DAT_IOC_SRQ_CREATE, &arg)),
		  t_free(&self->p.f, DAT_OBJ_SRQ, arg.id));
}

TEST_F_TIMEOUT(fail, ep, 300)
{
	struct dat_ep_create arg;

	NEED_FAULTS();
	FAIL_EACH((arg = (struct dat_ep_create) { .size = sizeof(arg), .pz = self->p.pz,
						  .max_recv = 64, .max_request = 64,
						  .recv_evd = self->p.evd[0].id },
		   t_ioctl(self->p.f.fd, DAT_IOC_EP_CREATE, &arg)),
		  t_free(&self->p.f, DAT_OBJ_EP, arg.id));
}

TEST_F_TIMEOUT(fail, psp, 300)
{
	uint32_t psp;

	NEED_FAULTS();
	FAIL_EACH(t_psp(&self->p.f, &self->p.cr, T_QUAL + 7, &psp),
		  t_free(&self->p.f, DAT_OBJ_PSP, psp));
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
		if (ret) {
			ASSERT_EQ(0, ep.st->state) TH_LOG("%d at call %u", ret, n);
		} else {
			ASSERT_EQ(1, t_event(&p->evd[1], T_WAIT_MS, &eqe));
		}
		ASSERT_EQ(0, t_free(&p->f, DAT_OBJ_EP, ep.id));
		t_unmap(&ep.submit);
		t_unmap(&ep.status);
	}
	ASSERT_GT(MAX_NTH, n);
	EXPECT_EQ(0, ret);
}

/*
 * Of the calls of an accept only ours, two copies and four allocations: rxe 6.1 deletes timers that it has not
 * set up yet when one fails inside its creation of a queue pair.
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
