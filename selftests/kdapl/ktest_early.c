// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* Receives that complete before their connection is established must be reported in order. */
#include <linux/delay.h>
#include <linux/in6.h>
#include <linux/kprobes.h>
#include <linux/kthread.h>
#include <linux/slab.h>
#include <rdma/rdma_cm.h>

#include "ktest.h"

#define QUAL	7481
#define EARLY	300	/* more than 2 * DAT_SLICE: the replay takes several slices */

/**
 * struct early - two EPs: ep[0] connects and sends, ep[1] accepts and receives
 * @pz: protection zone of both EPs
 * @dto: EVD for DTO events of each EP
 * @conn: EVD for connection events of each EP
 * @cr: EVD for connection requests
 * @ep: the two EPs
 * @psp: service point that ep[0] connects to
 * @sent: number of sends that succeeded before ep[1] was established
 * @seen: number of receives that were reported before ep[1] was established
 * @got: number of receives that were reported in order
 */
struct early {
	DAT_PZ_HANDLE	pz;
	DAT_EVD_HANDLE	dto[2];
	DAT_EVD_HANDLE	conn[2];
	DAT_EVD_HANDLE	cr;
	DAT_EP_HANDLE	ep[2];
	DAT_PSP_HANDLE	psp;
	int		sent;
	int		seen;
	int		got;
};

/* The rdma_cm ids of the two ends.  Kprobes store them, because kDAPL does not expose them. */
static struct rdma_cm_id *connecting, *accepting;

static int note_connect(struct kprobe *probe, struct pt_regs *regs)
{
	connecting = (struct rdma_cm_id *)ktest_argument(regs, 0);
	return 0;
}

static int note_accept(struct kprobe *probe, struct pt_regs *regs)
{
	accepting = (struct rdma_cm_id *)ktest_argument(regs, 0);
	return 0;
}

static struct kprobe connect_probe = {
	.symbol_name = "rdma_connect_locked", .pre_handler = note_connect,
};

static struct kprobe accept_probe = {
	.symbol_name = "rdma_accept", .pre_handler = note_accept,
};

/**
 * struct holder - a thread that holds the handler lock of an rdma_cm id
 * @id: rdma_cm id
 * @held: completed when the lock is held
 * @release: completed to end the thread
 * @task: the thread
 */
struct holder {
	struct rdma_cm_id	*id;
	struct completion	held;
	struct completion	release;
	struct task_struct	*task;
};

static int hold(void *arg)
{
	struct holder *h = arg;

	rdma_lock_handler(h->id);
	complete(&h->held);
	wait_for_completion(&h->release);
	rdma_unlock_handler(h->id);
	while (!kthread_should_stop())
		usleep_range(50, 200);
	return 0;
}

static bool holder_start(struct holder *h, struct rdma_cm_id *id)
{
	h->id = id;
	init_completion(&h->held);
	init_completion(&h->release);
	h->task = kthread_run(hold, h, "ktest-hold");
	if (IS_ERR(h->task))
		return false;
	wait_for_completion(&h->held);
	return true;
}

static void holder_stop(struct holder *h)
{
	complete(&h->release);
	kthread_stop(h->task);
}

/* Return the number of successful completions that arrive in order, with cookies 0 to EARLY - 1. */
static int in_order(DAT_EVD_HANDLE evd)
{
	DAT_DTO_COMPLETION_EVENT_DATA *dto;
	DAT_EVENT event;
	int n;

	for (n = 0; n < EARLY && kt_next(evd, &event) == DAT_DTO_COMPLETION_EVENT; n++) {
		dto = &event.event_data.dto_completion_event_data;
		if (dto->status != DAT_DTO_SUCCESS || dto->user_cookie.as_64 != n)
			break;
	}
	return n;
}

static bool post_all(DAT_EP_HANDLE ep, bool recv)
{
	DAT_DTO_COOKIE cookie;
	DAT_RETURN rc = DAT_SUCCESS;
	int i;

	for (i = 0; i < EARLY && rc == DAT_SUCCESS; i++) {
		cookie.as_64 = i;
		rc = recv ? dat_ep_post_recv(ep, 0, NULL, cookie, 0) :
			    dat_ep_post_send(ep, 0, NULL, cookie, 0);
	}
	return rc == DAT_SUCCESS;
}

static bool early_make(struct ktest *t, struct early *e)
{
	DAT_EP_ATTR attr = { .max_recv_dtos = EARLY, .max_request_dtos = EARLY };
	int i;

	if (dat_pz_create(t->ia, &e->pz) ||
	    dat_evd_kcreate(t->ia, 8, DAT_UPCALL_DISABLE, NULL, DAT_EVD_CR_FLAG, &e->cr))
		return false;
	for (i = 0; i < 2; i++)
		if (dat_evd_kcreate(t->ia, 2 * EARLY, DAT_UPCALL_DISABLE, NULL, DAT_EVD_DTO_FLAG,
				    &e->dto[i]) ||
		    dat_evd_kcreate(t->ia, 8, DAT_UPCALL_DISABLE, NULL, DAT_EVD_CONNECTION_FLAG,
				    &e->conn[i]) ||
		    dat_ep_create(t->ia, e->pz, e->dto[i], e->dto[i], e->conn[i], &attr,
				  &e->ep[i]))
			return false;
	return post_all(e->ep[1], true);
}

static bool early_ask(struct ktest *t, struct early *e, DAT_CR_HANDLE *cr)
{
	DAT_IA_ATTR *attr = kzalloc(sizeof(*attr), GFP_KERNEL);
	DAT_EVENT event;
	bool ok;

	ok = attr && !dat_ia_query(t->ia, NULL, DAT_IA_FIELD_ALL, attr, 0, NULL) &&
	     attr->ia_address_ptr &&
	     !dat_psp_create(t->ia, QUAL, e->cr, DAT_PSP_CONSUMER_FLAG, &e->psp) &&
	     !dat_ep_connect(e->ep[0], attr->ia_address_ptr, QUAL, 5000000, 0, NULL,
			     DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG) &&
	     kt_next(e->cr, &event) == DAT_CONNECTION_REQUEST_EVENT;
	kfree(attr);
	if (ok)
		*cr = event.event_data.cr_arrival_event_data.cr_handle;
	return ok;
}

/*
 * Accept the request so that ep[1] gets messages before its connection is established.  First hold
 * the handler lock of the connecting id: ep[0] does not get established and sends nothing.  Then
 * accept, and lock the handler of the accepting id: ep[1] does not get established.  Then release
 * the first lock, so that ep[0] is established and can send.  A separate thread holds the first
 * lock, because lockdep complains about two locks of one class in a thread.
 */
static bool early_accept(struct early *e, DAT_CR_HANDLE cr)
{
	struct holder first;
	DAT_RETURN rc;

	if (!connecting || !holder_start(&first, connecting))
		return false;
	rc = dat_cr_accept(cr, e->ep[1], 0, NULL);
	if (accepting)
		rdma_lock_handler(accepting);
	holder_stop(&first);
	return rc == DAT_SUCCESS && accepting;
}

static bool early_run(struct ktest *t, struct early *e)
{
	DAT_CR_HANDLE cr;
	DAT_EVENT event;

	connecting = NULL;
	accepting = NULL;
	if (!early_make(t, e) || !early_ask(t, e, &cr))
		return false;
	if (early_accept(e, cr)) {
		if (kt_next(e->conn[0], &event) == DAT_CONNECTION_EVENT_ESTABLISHED &&
		    post_all(e->ep[0], false))
			e->sent = in_order(e->dto[0]);
		while (dat_evd_dequeue(e->dto[1], &event) == DAT_SUCCESS)
			e->seen++;
	}
	if (accepting)
		rdma_unlock_handler(accepting);
	if (kt_next(e->conn[1], &event) != DAT_CONNECTION_EVENT_ESTABLISHED)
		return false;
	e->got = in_order(e->dto[1]);
	return true;
}

static void all_early_receives_are_reported_in_order(struct ktest *t)
{
	struct kprobe *probes[] = { &connect_probe, &accept_probe };
	int ret = register_kprobes(probes, ARRAY_SIZE(probes));
	struct early e = {};
	bool ok;

	if (ret == -EOPNOTSUPP) {
		pr_info("# %s: skipped: a kernel without kprobes\n", t->name);
		return;
	}
	KT_EQ(t, ret, 0);
	ok = early_run(t, &e);
	unregister_kprobes(probes, ARRAY_SIZE(probes));
	KT_TRUE(t, ok);
	KT_EQ(t, e.sent, EARLY);
	KT_EQ(t, e.seen, 0);
	KT_EQ(t, e.got, EARLY);
}

const struct ktest_case ktest_early[] = {
	KTEST(all_early_receives_are_reported_in_order),
	{}
};
