/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) The dat authors */
/*
 * Tests of kDAPL in a module.  A test is a function in a table of struct ktest_case.  ktest_main.c
 * opens an IA for each test and runs the tests when the module is loaded.  A test reports failures
 * by KT_*().
 */
#ifndef _KTEST_H
#define _KTEST_H

#include <linux/completion.h>
#include <linux/kdat.h>
#include <linux/kernel.h>
#include <linux/ptrace.h>

/* Returns argument @n of the function at whose entry a kprobe has stopped. */
static inline unsigned long ktest_argument(struct pt_regs *regs, unsigned int n)
{
#ifdef CONFIG_S390
	/* s390 does not export what regs_get_kernel_argument() calls. */
	return regs->gprs[2 + n];
#else
	return regs_get_kernel_argument(regs, n);
#endif
}

/**
 * struct ktest - state of a running test
 * @name: name of the test
 * @ia: IA of the test; closed after the test unless the test has set it to DAT_HANDLE_NULL
 * @async: async EVD of @ia
 * @failed: true if a check has failed
 */
struct ktest {
	const char	*name;
	DAT_IA_HANDLE	ia;
	DAT_EVD_HANDLE	async;
	bool		failed;
};

/**
 * struct ktest_case - an entry in a table of tests, which ends with an empty entry
 * @name: behavior that the test checks
 * @run: function of the test
 */
struct ktest_case {
	const char	*name;
	void		(*run)(struct ktest *t);
};

#define KTEST(fn)	{ #fn, fn }

extern const struct ktest_case ktest_ia[], ktest_evd[], ktest_conn[], ktest_lmr[], ktest_fmr[];
extern const struct ktest_case ktest_rmr[], ktest_immed[];
extern const struct ktest_case ktest_early[], ktest_free[], ktest_gone[], ktest_points[];
extern char *ktest_device;

/* Returns whether the adapter is an RDMA device, not the one within the host. */
static inline bool ktest_on_device(void)
{
	return strcmp(ktest_device, "lo0");
}

extern bool ktest_ready;

void ktest_fail(struct ktest *t, const char *file, int line, const char *what, u64 got,
		u64 want);
int ktest_leave(void);
void ktest_left(bool close);
void ktest_goes_under_traffic(struct ktest *t);
void ktest_goes_beside_a_close(struct ktest *t);

/* Each macro returns from the test if the check fails.  The close of the IA then cleans up. */
#define KT_EQ(t, got, want) do {							\
	u64 got_ = (u64)(got), want_ = (u64)(want);					\
	if (got_ != want_) {								\
		ktest_fail(t, __FILE__, __LINE__, #got " == " #want, got_, want_);	\
		return;									\
	}										\
} while (0)
#define KT_TRUE(t, cond)	KT_EQ(t, !!(cond), true)
#define KT_OK(t, call)		KT_EQ(t, call, DAT_SUCCESS)
/* The whole code is compared: the subtype tells the consumer which argument or handle is wrong. */
#define KT_CODE(t, call, type, subtype)						\
	KT_EQ(t, call, DAT_CLASS_ERROR | (type) | (subtype))

#define KT_WAIT		(10 * HZ)

static inline DAT_DTO_COOKIE kt_cookie(u64 n)
{
	return (DAT_DTO_COOKIE) { .as_64 = n };
}

/**
 * struct kt_box - record of the calls of kt_box_upcall()
 * @lock: protects everything but @done
 * @done: completed once per upcall
 * @calls: number of upcalls
 * @events: copies of the first 64 events
 * @more: argument more_events of the first 64 upcalls
 * @atomic: true if an upcall ran in softirq
 */
struct kt_box {
	spinlock_t		lock;		/* protects all fields but @done */
	struct completion	done;
	unsigned int		calls;
	DAT_EVENT		events[64];
	bool			more[64];
	bool			atomic;
};

void kt_box_init(struct kt_box *box);
DAT_EVENT_NUMBER kt_next(DAT_EVD_HANDLE evd, DAT_EVENT *event);
void kt_box_upcall(DAT_PVOID instance_data, const DAT_EVENT *event, DAT_BOOLEAN more_events);
DAT_RETURN kt_box_evd(struct ktest *t, struct kt_box *box, DAT_COUNT qlen, DAT_EVD_FLAGS flags,
		      DAT_EVD_HANDLE *evd);
bool kt_box_wait(struct kt_box *box);

#endif /* _KTEST_H */
