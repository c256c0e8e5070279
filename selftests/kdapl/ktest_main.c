// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* The module.  Loading it runs all tests and prints the results as KTAP. */
#include <linux/delay.h>
#include <linux/module.h>
#include <linux/preempt.h>
#include <linux/spinlock.h>

#include "ktest.h"

#define ASYNC_QLEN	16

char *ktest_device = "rxe0";
module_param_named(device, ktest_device, charp, 0444);
MODULE_PARM_DESC(device, "IA to test with (rxe0)");

static int leave;
module_param(leave, int, 0444);
MODULE_PARM_DESC(leave,
		 "Test nothing, but be busy when the module goes: 1: leave it to dat.ko, 2: end it");

static int gone;
module_param(gone, int, 0444);
MODULE_PARM_DESC(gone, "Only one of the tests that want the device to be removed (from 1)");

bool ktest_ready;
module_param_named(ready, ktest_ready, bool, 0444);
MODULE_PARM_DESC(ready, "To be read: such a test waits for that now");

static const struct ktest_case *const suites[] = {
	ktest_ia, ktest_evd, ktest_conn, ktest_early, ktest_lmr, ktest_fmr, ktest_rmr,
	ktest_immed, ktest_free, ktest_points,
};

void ktest_fail(struct ktest *t, const char *file, int line, const char *what, u64 got,
		u64 want)
{
	pr_info("# %s: %s:%d: %s: %#llx, not %#llx\n", t->name, kbasename(file), line, what,
		got, want);
	t->failed = true;
}

/* Wait for the next event.  Return its number, or 0 on timeout. */
DAT_EVENT_NUMBER kt_next(DAT_EVD_HANDLE evd, DAT_EVENT *event)
{
	unsigned long end = jiffies + KT_WAIT;

	do {
		if (dat_evd_dequeue(evd, event) == DAT_SUCCESS)
			return event->event_number;
		usleep_range(50, 200);
	} while (time_before(jiffies, end));
	return 0;
}

void kt_box_init(struct kt_box *box)
{
	memset(box, 0, sizeof(*box));
	spin_lock_init(&box->lock);
	init_completion(&box->done);
}

void kt_box_upcall(DAT_PVOID instance_data, const DAT_EVENT *event, DAT_BOOLEAN more_events)
{
	struct kt_box *box = instance_data;
	unsigned int at;

	spin_lock_bh(&box->lock);
	at = box->calls++;
	if (at < ARRAY_SIZE(box->events)) {
		if (event)
			box->events[at] = *event;
		box->more[at] = more_events == DAT_TRUE;
	}
	spin_unlock_bh(&box->lock);
	if (in_serving_softirq())
		box->atomic = true;
	complete(&box->done);
}

/* Make an EVD whose upcalls are recorded in @box. */
DAT_RETURN kt_box_evd(struct ktest *t, struct kt_box *box, DAT_COUNT qlen, DAT_EVD_FLAGS flags,
		      DAT_EVD_HANDLE *evd)
{
	DAT_UPCALL_OBJECT upcall = { box, kt_box_upcall };

	kt_box_init(box);
	return dat_evd_kcreate(t->ia, qlen, DAT_UPCALL_SINGLE_INSTANCE, &upcall, flags, evd);
}

/* Wait for one more upcall.  Return false on timeout. */
bool kt_box_wait(struct kt_box *box)
{
	return wait_for_completion_timeout(&box->done, KT_WAIT);
}

static bool run(const struct ktest_case *c)
{
	struct ktest t = { .name = c->name };
	DAT_RETURN rc;

	rc = dat_ia_open(ktest_device, ASYNC_QLEN, &t.async, &t.ia);
	if (rc != DAT_SUCCESS) {
		ktest_fail(&t, __FILE__, __LINE__, "dat_ia_open()", rc, DAT_SUCCESS);
		return false;
	}
	c->run(&t);
	if (t.ia == DAT_HANDLE_NULL)
		return !t.failed;
	rc = dat_ia_close(t.ia, DAT_CLOSE_ABRUPT_FLAG);
	if (rc != DAT_SUCCESS)
		ktest_fail(&t, __FILE__, __LINE__, "dat_ia_close()", rc, DAT_SUCCESS);
	return !t.failed;
}

static unsigned int count(void)
{
	const struct ktest_case *c;
	unsigned int i, n = 0;

	for (i = 0; i < ARRAY_SIZE(suites); i++)
		for (c = suites[i]; c->name; c++)
			n++;
	return n;
}

/* Run test @number (from 1) of ktest_gone, whose tests need the device to be removed. */
static int run_gone(int number)
{
	const struct ktest_case *c = ktest_gone;

	while (c->name && --number)
		c++;
	return c->name && run(c) ? 0 : -EIO;
}

static int __init ktest_init(void)
{
	const struct ktest_case *c;
	unsigned int i, n = 0;

	if (leave)
		return ktest_leave();
	if (gone)
		return run_gone(gone);

	pr_info("KTAP version 1\n");
	pr_info("1..%u\n", count());
	for (i = 0; i < ARRAY_SIZE(suites); i++)
		for (c = suites[i]; c->name; c++)
			pr_info("%s %u %s\n", run(c) ? "ok" : "not ok", ++n, c->name);
	return 0;
}

static void __exit ktest_exit(void)
{
	if (leave)
		ktest_left(leave == 2);
}

module_init(ktest_init);
module_exit(ktest_exit);

MODULE_DESCRIPTION("Tests of kDAPL");
MODULE_LICENSE("GPL");
MODULE_INFO(import_ns, "DAT");
