// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* EVDs and upcalls, tested with software events. */
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/slab.h>

#include "ktest.h"

#define QLEN	32

static DAT_RETURN post(DAT_EVD_HANDLE evd, unsigned long value)
{
	DAT_EVENT event = {
		.event_number = DAT_SOFTWARE_EVENT,
		.event_data.software_event_data.pointer = (void *)value,
	};

	return dat_evd_post_se(evd, &event);
}

static unsigned long value_of(const DAT_EVENT *event)
{
	return (unsigned long)event->event_data.software_event_data.pointer;
}

static DAT_RETURN make(struct ktest *t, DAT_UPCALL_POLICY policy, DAT_UPCALL_FUNC fn, void *data,
		       DAT_EVD_FLAGS flags, DAT_EVD_HANDLE *evd)
{
	DAT_UPCALL_OBJECT upcall = { data, fn };

	return dat_evd_kcreate(t->ia, QLEN, policy, &upcall, flags, evd);
}

static void without_upcall_events_are_dequeued(struct ktest *t)
{
	DAT_EVD_HANDLE evd;
	DAT_EVENT event;

	KT_OK(t, dat_evd_kcreate(t->ia, QLEN, DAT_UPCALL_DISABLE, NULL, DAT_EVD_SOFTWARE_FLAG,
				 &evd));
	KT_CODE(t, dat_evd_dequeue(evd, &event), DAT_QUEUE_EMPTY, DAT_NO_SUBTYPE);
	KT_OK(t, post(evd, 1));
	KT_OK(t, post(evd, 2));
	KT_OK(t, dat_evd_dequeue(evd, &event));
	KT_EQ(t, event.event_number, DAT_SOFTWARE_EVENT);
	KT_TRUE(t, event.evd_handle == evd);
	KT_EQ(t, value_of(&event), 1);
	KT_OK(t, dat_evd_dequeue(evd, &event));
	KT_EQ(t, value_of(&event), 2);
	KT_CODE(t, dat_evd_dequeue(evd, &event), DAT_QUEUE_EMPTY, DAT_NO_SUBTYPE);
	KT_OK(t, dat_evd_free(evd));
	KT_CODE(t, dat_evd_free(evd), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
}

static void full_queue_refuses_software_events(struct ktest *t)
{
	DAT_EVD_HANDLE evd;
	DAT_EVENT event;
	int i;

	KT_OK(t, dat_evd_kcreate(t->ia, QLEN, DAT_UPCALL_DISABLE, NULL, DAT_EVD_SOFTWARE_FLAG,
				 &evd));
	for (i = 0; i < QLEN; i++)
		KT_OK(t, post(evd, i));
	KT_CODE(t, post(evd, i), DAT_QUEUE_FULL, DAT_NO_SUBTYPE);
	KT_OK(t, dat_evd_resize(evd, 2 * QLEN));
	KT_OK(t, post(evd, i));
	KT_CODE(t, dat_evd_resize(evd, 1), DAT_INVALID_STATE, DAT_NO_SUBTYPE);
	KT_CODE(t, dat_evd_resize(evd, 0), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	KT_CODE(t, dat_evd_resize(evd, 1 << 30), DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEVD);
	for (i = 0; i <= QLEN; i++) {
		KT_OK(t, dat_evd_dequeue(evd, &event));
		KT_EQ(t, value_of(&event), i);
	}
}

static void single_upcall_brings_events_in_order(struct ktest *t)
{
	struct kt_box *box = kmalloc(sizeof(*box), GFP_KERNEL);
	DAT_EVD_HANDLE evd = NULL;
	DAT_EVENT event;
	int i;

	KT_TRUE(t, box);
	kt_box_init(box);
	KT_OK(t, make(t, DAT_UPCALL_SINGLE_INSTANCE, kt_box_upcall, box,
		      DAT_EVD_SOFTWARE_FLAG | DAT_EVD_DTO_FLAG, &evd));
	/*
	 * dat_evd_post_se() must not call the upcall itself, so no upcall runs while BHs are off.
	 */
	local_bh_disable();
	for (i = 0; i < 8; i++)
		post(evd, i);
	i = box->calls;
	local_bh_enable();
	KT_EQ(t, i, 0);
	for (i = 0; i < 8; i++)
		KT_TRUE(t, kt_box_wait(box));
	KT_OK(t, dat_evd_free(evd));
	KT_EQ(t, box->calls, 8);
	for (i = 0; i < 8; i++) {
		KT_EQ(t, value_of(&box->events[i]), i);
		KT_EQ(t, box->more[i], i < 7);
		KT_TRUE(t, box->events[i].evd_handle == evd);
	}
	KT_TRUE(t, box->atomic);
	KT_CODE(t, dat_evd_dequeue(evd, &event), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
	kfree(box);
}

static void upcalls_of_connection_evds_may_sleep(struct ktest *t)
{
	struct kt_box *box = kmalloc(sizeof(*box), GFP_KERNEL);
	DAT_EVD_HANDLE evd;

	KT_TRUE(t, box);
	kt_box_init(box);
	KT_OK(t, make(t, DAT_UPCALL_SINGLE_INSTANCE, kt_box_upcall, box,
		      DAT_EVD_SOFTWARE_FLAG | DAT_EVD_CONNECTION_FLAG, &evd));
	KT_OK(t, post(evd, 7));
	KT_TRUE(t, kt_box_wait(box));
	KT_OK(t, dat_evd_free(evd));
	KT_EQ(t, box->calls, 1);
	KT_TRUE(t, !box->atomic);
	kfree(box);
}

static void notification_takes_nothing_and_comes_once(struct ktest *t)
{
	struct kt_box *box = kmalloc(sizeof(*box), GFP_KERNEL);
	DAT_EVD_HANDLE evd;
	DAT_EVENT event;

	KT_TRUE(t, box);
	kt_box_init(box);
	KT_OK(t, make(t, DAT_UPCALL_NORIFY, kt_box_upcall, box, DAT_EVD_SOFTWARE_FLAG, &evd));
	KT_OK(t, post(evd, 1));
	KT_TRUE(t, kt_box_wait(box));
	KT_OK(t, post(evd, 2));
	msleep(50);
	KT_EQ(t, box->calls, 1);
	KT_OK(t, dat_evd_dequeue(evd, &event));
	KT_OK(t, dat_evd_dequeue(evd, &event));
	KT_EQ(t, value_of(&event), 2);
	KT_CODE(t, dat_evd_dequeue(evd, &event), DAT_QUEUE_EMPTY, DAT_NO_SUBTYPE);
	KT_OK(t, post(evd, 3));
	KT_TRUE(t, kt_box_wait(box));
	KT_EQ(t, box->calls, 2);
	KT_OK(t, dat_evd_free(evd));
	kfree(box);
}

struct switching {
	struct kt_box		box;
	DAT_EVD_HANDLE		evd;
	DAT_UPCALL_POLICY	policy;
};

/* On an upcall without an event (DAT_UPCALL_NORIFY), switch to a policy that passes the event. */
static void switching_upcall(DAT_PVOID data, const DAT_EVENT *event, DAT_BOOLEAN more)
{
	struct switching *s = data;

	if (event != DAT_EVENT_NULL)
		kt_box_upcall(&s->box, event, more);
	else
		dat_evd_modify_upcall(s->evd, s->policy, DAT_UPCALL_SAME,
				      DAT_UPCALL_INVOC_ANY);
}

static void switch_to(struct ktest *t, struct switching *s, DAT_UPCALL_POLICY policy)
{
	kt_box_init(&s->box);
	s->policy = policy;
	KT_OK(t, make(t, DAT_UPCALL_NORIFY, switching_upcall, s, DAT_EVD_SOFTWARE_FLAG,
		      &s->evd));
	/* Queue both events before the upcall can run. */
	local_bh_disable();
	post(s->evd, 1);
	post(s->evd, 2);
	local_bh_enable();
	KT_TRUE(t, kt_box_wait(&s->box));
	KT_TRUE(t, kt_box_wait(&s->box));
	KT_OK(t, post(s->evd, 3));
	KT_TRUE(t, kt_box_wait(&s->box));
	KT_OK(t, dat_evd_free(s->evd));
	KT_EQ(t, s->box.calls, 3);
}

static void notification_may_ask_for_the_events(struct ktest *t)
{
	struct switching *s = kmalloc(sizeof(*s), GFP_KERNEL);

	KT_TRUE(t, s);
	switch_to(t, s, DAT_UPCALL_SINGLE_INSTANCE);
	if (!t->failed)
		switch_to(t, s, DAT_UPCALL_MANY);
	if (!t->failed)
		kfree(s);
}

static void modification_says_whether_queued_events_count(struct ktest *t)
{
	struct kt_box *box = kmalloc(sizeof(*box), GFP_KERNEL);
	DAT_UPCALL_OBJECT upcall = { box, kt_box_upcall };
	DAT_EVD_PARAM param;
	DAT_EVD_HANDLE evd;

	KT_TRUE(t, box);
	kt_box_init(box);
	KT_OK(t, dat_evd_kcreate(t->ia, QLEN, DAT_UPCALL_DISABLE, NULL, DAT_EVD_SOFTWARE_FLAG,
				 &evd));
	KT_OK(t, post(evd, 1));
	KT_CODE(t, dat_evd_modify_upcall(evd, DAT_UPCALL_SINGLE_INSTANCE, DAT_UPCALL_SAME,
					 DAT_UPCALL_INVOC_NEW), DAT_INVALID_PARAMETER,
		DAT_INVALID_ARG3);
	KT_OK(t, dat_evd_modify_upcall(evd, DAT_UPCALL_SINGLE_INSTANCE, &upcall,
				       DAT_UPCALL_INVOC_NEW));
	msleep(50);
	KT_EQ(t, box->calls, 0);
	KT_OK(t, dat_evd_modify_upcall(evd, DAT_UPCALL_MANY, DAT_UPCALL_SAME,
				       DAT_UPCALL_INVOC_ANY));
	KT_TRUE(t, kt_box_wait(box));
	KT_OK(t, dat_evd_query(evd, DAT_EVD_FIELD_ALL, &param));
	KT_EQ(t, param.upcall_policy, DAT_UPCALL_MANY);
	KT_TRUE(t, param.upcall.instance_data == box && param.ia_handle == t->ia);
	KT_OK(t, dat_evd_modify_upcall(evd, DAT_UPCALL_TEARDOWN, DAT_UPCALL_SAME,
				       DAT_UPCALL_INVOC_NEW));
	KT_OK(t, post(evd, 2));
	msleep(50);
	KT_EQ(t, box->calls, 1);
	KT_OK(t, dat_evd_free(evd));
	kfree(box);
}

/* Results of calls that a slow upcall makes. */
struct slow {
	struct completion	begun;
	DAT_EVD_HANDLE		evd;
	DAT_IA_HANDLE		ia;
	bool			ended;
	DAT_RETURN		teardown;
	DAT_RETURN		free;
	DAT_RETURN		close;
	struct completion	done;
	DAT_RETURN		freed;
};

static void slow_upcall(DAT_PVOID data, const DAT_EVENT *event, DAT_BOOLEAN more)
{
	struct slow *slow = data;

	complete(&slow->begun);
	slow->teardown = dat_evd_modify_upcall(slow->evd, DAT_UPCALL_TEARDOWN, DAT_UPCALL_SAME,
					       DAT_UPCALL_INVOC_NEW);
	slow->free = dat_evd_free(slow->evd);
	slow->close = dat_ia_close(slow->ia, DAT_CLOSE_ABRUPT_FLAG);
	msleep(200);
	WRITE_ONCE(slow->ended, true);
}

static void teardown_waits_but_not_for_itself(struct ktest *t)
{
	struct slow slow = { .ia = t->ia };

	init_completion(&slow.begun);
	KT_OK(t, make(t, DAT_UPCALL_SINGLE_INSTANCE, slow_upcall, &slow,
		      DAT_EVD_SOFTWARE_FLAG | DAT_EVD_CONNECTION_FLAG, &slow.evd));
	KT_OK(t, post(slow.evd, 1));
	KT_TRUE(t, wait_for_completion_timeout(&slow.begun, KT_WAIT));
	KT_OK(t, dat_evd_modify_upcall(slow.evd, DAT_UPCALL_TEARDOWN, DAT_UPCALL_SAME,
				       DAT_UPCALL_INVOC_NEW));
	KT_TRUE(t, READ_ONCE(slow.ended));
	KT_CODE(t, slow.teardown, DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_IN_USE);
	KT_CODE(t, slow.free, DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_IN_USE);
	KT_CODE(t, slow.close, DAT_INVALID_STATE, DAT_INVALID_STATE_IA_IN_USE);
	KT_OK(t, dat_evd_free(slow.evd));
}

/* Results of calls from an upcall in softirq, where these calls are not allowed. */
struct wrong {
	struct completion	done;
	DAT_EVD_HANDLE		evd;
	DAT_IA_HANDLE		ia;
	DAT_RETURN		free;
	DAT_RETURN		resize;
	DAT_RETURN		create;
	DAT_RETURN		close;
	DAT_RETURN		open;
};

static void wrong_upcall(DAT_PVOID data, const DAT_EVENT *event, DAT_BOOLEAN more)
{
	struct wrong *w = data;
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;

	w->free = dat_evd_free(w->evd);
	w->resize = dat_evd_resize(w->evd, 2 * QLEN);
	w->create = dat_pz_create(w->ia, &pz);
	w->close = dat_ia_close(w->ia, DAT_CLOSE_ABRUPT_FLAG);
	w->open = dat_ia_open(ktest_device, QLEN, &async, &ia);
	complete(&w->done);
}

static void upcalls_in_softirq_may_not_sleep(struct ktest *t)
{
	struct wrong *w = kzalloc(sizeof(*w), GFP_KERNEL);

	KT_TRUE(t, w);
	init_completion(&w->done);
	w->ia = t->ia;
	KT_OK(t, make(t, DAT_UPCALL_SINGLE_INSTANCE, wrong_upcall, w, DAT_EVD_SOFTWARE_FLAG,
		      &w->evd));
	KT_OK(t, post(w->evd, 1));
	KT_TRUE(t, wait_for_completion_timeout(&w->done, KT_WAIT));
	KT_CODE(t, w->free, DAT_INVALID_STATE, DAT_NO_SUBTYPE);
	KT_CODE(t, w->resize, DAT_INVALID_STATE, DAT_NO_SUBTYPE);
	KT_CODE(t, w->create, DAT_INVALID_STATE, DAT_NO_SUBTYPE);
	KT_CODE(t, w->close, DAT_INVALID_STATE, DAT_NO_SUBTYPE);
	KT_CODE(t, w->open, DAT_INVALID_STATE, DAT_NO_SUBTYPE);
	KT_OK(t, dat_evd_free(w->evd));
	kfree(w);
}

static void nothing_is_called_with_interrupts_disabled(struct ktest *t)
{
	DAT_RETURN put, get, made;
	DAT_EVD_HANDLE evd;
	DAT_PZ_HANDLE pz;
	DAT_EVENT event;

	KT_OK(t, dat_evd_kcreate(t->ia, QLEN, DAT_UPCALL_DISABLE, NULL, DAT_EVD_SOFTWARE_FLAG,
				 &evd));
	local_irq_disable();
	put = post(evd, 1);
	get = dat_evd_dequeue(evd, &event);
	made = dat_pz_create(t->ia, &pz);
	local_irq_enable();
	KT_CODE(t, put, DAT_INVALID_STATE, DAT_NO_SUBTYPE);
	KT_CODE(t, get, DAT_INVALID_STATE, DAT_NO_SUBTYPE);
	KT_CODE(t, made, DAT_INVALID_STATE, DAT_NO_SUBTYPE);
	KT_CODE(t, dat_evd_dequeue(evd, &event), DAT_QUEUE_EMPTY, DAT_NO_SUBTYPE);
}

static int free_slow(void *data)
{
	struct slow *slow = data;

	slow->freed = dat_evd_free(slow->evd);
	/* Exit in kernel code, so that the thread runs no module code after an unload. */
	kthread_complete_and_exit(&slow->done, 0);
}

/*
 * A close waits for a running upcall, even while another thread frees the upcall's EVD.  A close
 * from within this upcall fails.
 */
static void close_waits_for_an_upcall_beside_a_free(struct ktest *t)
{
	struct slow slow = { .ia = t->ia };
	struct task_struct *task;
	DAT_RETURN close;
	bool ended;

	init_completion(&slow.begun);
	init_completion(&slow.done);
	KT_OK(t, make(t, DAT_UPCALL_SINGLE_INSTANCE, slow_upcall, &slow,
		      DAT_EVD_SOFTWARE_FLAG | DAT_EVD_CONNECTION_FLAG, &slow.evd));
	KT_OK(t, post(slow.evd, 1));
	KT_TRUE(t, wait_for_completion_timeout(&slow.begun, KT_WAIT));
	task = kthread_run(free_slow, &slow, "ktest-free");
	KT_TRUE(t, !IS_ERR(task));
	msleep(50);
	close = dat_ia_close(t->ia, DAT_CLOSE_ABRUPT_FLAG);
	ended = READ_ONCE(slow.ended);
	wait_for_completion(&slow.done);
	if (close == DAT_SUCCESS)
		t->ia = DAT_HANDLE_NULL;
	KT_OK(t, close);
	KT_TRUE(t, ended);
	KT_OK(t, slow.freed);
	KT_CODE(t, slow.close, DAT_INVALID_STATE, DAT_INVALID_STATE_IA_IN_USE);
}

/* State of an upcall that re-enables itself and queues another event. */
struct stubborn {
	struct completion	begun;
	atomic_t		running;
	DAT_EVD_HANDLE		evd;
};

static void stubborn_upcall(DAT_PVOID data, const DAT_EVENT *event, DAT_BOOLEAN more)
{
	struct stubborn *s = data;

	atomic_inc(&s->running);
	complete(&s->begun);
	msleep(100);
	dat_evd_post_se(s->evd, event);
	dat_evd_modify_upcall(s->evd, DAT_UPCALL_SINGLE_INSTANCE, DAT_UPCALL_SAME,
			      DAT_UPCALL_INVOC_ANY);
	atomic_dec(&s->running);
}

static void teardown_is_not_put_off_by_modifications(struct ktest *t)
{
	struct stubborn *s = kzalloc(sizeof(*s), GFP_KERNEL);

	KT_TRUE(t, s);
	init_completion(&s->begun);
	KT_OK(t, make(t, DAT_UPCALL_SINGLE_INSTANCE, stubborn_upcall, s,
		      DAT_EVD_SOFTWARE_FLAG | DAT_EVD_CONNECTION_FLAG, &s->evd));
	KT_OK(t, post(s->evd, 1));
	KT_TRUE(t, wait_for_completion_timeout(&s->begun, KT_WAIT));
	KT_OK(t, dat_evd_modify_upcall(s->evd, DAT_UPCALL_TEARDOWN, DAT_UPCALL_SAME,
				       DAT_UPCALL_INVOC_NEW));
	/*
	 * The upcall called dat_evd_modify_upcall() after the TEARDOWN, so upcalls are enabled
	 * again.
	 */
	KT_TRUE(t, wait_for_completion_timeout(&s->begun, KT_WAIT));
	KT_OK(t, dat_evd_free(s->evd));
	KT_EQ(t, atomic_read(&s->running), 0);
	kfree(s);
}

/* Number of EVDs; larger than the number of slots in the handle cache. */
#define CROWD	1100

/*
 * Use each EVD.  A handle that another handle has displaced from the cache is found by the full
 * lookup.
 */
static void post_to_all(struct ktest *t, const DAT_EVD_HANDLE *evds)
{
	DAT_EVENT event;
	int i;

	for (i = 0; i < CROWD; i++)
		KT_OK(t, post(evds[i], i));
	for (i = 0; i < CROWD; i++) {
		KT_OK(t, dat_evd_dequeue(evds[i], &event));
		KT_EQ(t, value_of(&event), i);
		KT_TRUE(t, event.evd_handle == evds[i]);
	}
}

static void crowd(struct ktest *t, DAT_EVD_HANDLE *evds)
{
	DAT_EVENT event;
	int i;

	for (i = 0; i < CROWD; i++)
		KT_OK(t, dat_evd_kcreate(t->ia, 1, DAT_UPCALL_DISABLE, NULL,
					 DAT_EVD_SOFTWARE_FLAG, &evds[i]));
	post_to_all(t, evds);
	/* Free the younger EVDs, which leaves cache slots empty, then look up the older EVDs. */
	for (i = CROWD / 2; i < CROWD; i++) {
		KT_OK(t, dat_evd_free(evds[i]));
		KT_CODE(t, dat_evd_dequeue(evds[i], &event), DAT_INVALID_HANDLE,
			DAT_INVALID_HANDLE1);
	}
	for (i = 0; i < CROWD / 2; i++)
		KT_CODE(t, dat_evd_dequeue(evds[i], &event), DAT_QUEUE_EMPTY, DAT_NO_SUBTYPE);
}

static void handles_are_found_in_a_crowd(struct ktest *t)
{
	DAT_EVD_HANDLE *evds = kcalloc(CROWD, sizeof(*evds), GFP_KERNEL);

	KT_TRUE(t, evds);
	crowd(t, evds);
	kfree(evds);
}

static void handles_end_with_their_ia(struct ktest *t)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL, evd;
	DAT_IA_HANDLE ia;
	DAT_EVENT event;

	KT_OK(t, dat_ia_open(ktest_device, QLEN, &async, &ia));
	KT_OK(t, dat_evd_kcreate(ia, QLEN, DAT_UPCALL_DISABLE, NULL, DAT_EVD_SOFTWARE_FLAG,
				 &evd));
	KT_OK(t, post(evd, 1));
	KT_OK(t, dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG));
	KT_CODE(t, dat_evd_dequeue(evd, &event), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
	KT_CODE(t, post(evd, 1), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
}

#define HUB_EVDS	3

/**
 * struct hub - EVDs whose upcalls post events to each other
 * @evds: EVDs; the instance_data of their upcalls is this structure
 * @rounds: number of events that each EVD gets
 * @inside: number of upcalls that are running on this CPU
 * @nested: true if an upcall began while another upcall was running
 * @wrong: true if an EVD delivered events out of order
 * @next: value of the next expected event of each EVD
 * @done: completed when all events have been delivered
 */
struct hub {
	DAT_EVD_HANDLE		evds[HUB_EVDS];
	unsigned long		rounds;
	int			inside;
	bool			nested;
	bool			wrong;
	unsigned long		next[HUB_EVDS];
	struct completion	done;
};

/* Post one event to each EVD.  Called by upcalls of evds[0]. */
static void hub_spread(struct hub *h, unsigned long round)
{
	int i;

	for (i = HUB_EVDS - 1; i >= 0; i--)
		post(h->evds[i], round);
}

static void hub_upcall(DAT_PVOID data, const DAT_EVENT *event, DAT_BOOLEAN more)
{
	unsigned long value = value_of(event);
	struct hub *h = data;
	int i;

	h->nested |= h->inside++;
	for (i = 0; h->evds[i] != event->evd_handle; i++)
		;
	h->wrong |= value != h->next[i]++;
	if (!i && value + 1 < h->rounds)
		hub_spread(h, value + 1);
	h->inside--;
	if (h->next[0] + h->next[1] + h->next[2] == HUB_EVDS * h->rounds)
		complete(&h->done);
}

/* Let upcalls post events.  Later upcalls on the same CPU must deliver these events. */
static void hub_run(struct ktest *t, unsigned long rounds)
{
	struct hub *h = kzalloc(sizeof(*h), GFP_KERNEL);
	DAT_UPCALL_OBJECT upcall = { h, hub_upcall };
	int i;

	KT_TRUE(t, h);
	h->rounds = rounds;
	init_completion(&h->done);
	for (i = 0; i < HUB_EVDS; i++)
		KT_OK(t, dat_evd_kcreate(t->ia, rounds, DAT_UPCALL_SINGLE_INSTANCE, &upcall,
					 DAT_EVD_SOFTWARE_FLAG | DAT_EVD_DTO_FLAG, &h->evds[i]));
	local_bh_disable();
	hub_spread(h, 0);
	local_bh_enable();
	KT_TRUE(t, wait_for_completion_timeout(&h->done, KT_WAIT));
	for (i = 0; i < HUB_EVDS; i++)
		KT_OK(t, dat_evd_free(h->evds[i]));
	KT_TRUE(t, !h->nested);
	KT_TRUE(t, !h->wrong);
	kfree(h);
}

static void upcalls_do_not_nest(struct ktest *t)
{
	hub_run(t, 20);
}

/*
 * After UPCALL_CPU upcalls, a CPU runs other softirqs before it continues.  Run enough rounds that
 * upcalls of each EVD reach this limit.
 */
static void upcalls_go_on_when_the_time_of_the_processor_is_up(struct ktest *t)
{
	hub_run(t, 3 * 128 + 20);
}

static void bad_arguments_of_evds_are_refused(struct ktest *t)
{
	DAT_UPCALL_OBJECT none = DAT_UPCALL_NULL;
	DAT_EVD_HANDLE evd;

	KT_CODE(t, dat_evd_kcreate(t->ia, 0, DAT_UPCALL_DISABLE, NULL, DAT_EVD_DTO_FLAG, &evd),
		DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	KT_CODE(t, dat_evd_kcreate(t->ia, 1 << 30, DAT_UPCALL_DISABLE, NULL, DAT_EVD_DTO_FLAG,
				   &evd), DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEVD);
	KT_CODE(t, dat_evd_kcreate(t->ia, 8, DAT_UPCALL_TEARDOWN, NULL, DAT_EVD_DTO_FLAG, &evd),
		DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	KT_CODE(t, dat_evd_kcreate(t->ia, 8, DAT_UPCALL_MANY, &none, DAT_EVD_DTO_FLAG, &evd),
		DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
	KT_CODE(t, dat_evd_kcreate(t->ia, 8, DAT_UPCALL_DISABLE, NULL, 0x400, &evd),
		DAT_INVALID_PARAMETER, DAT_INVALID_ARG5);
	KT_CODE(t, dat_evd_kcreate(t->ia, 8, DAT_UPCALL_DISABLE, NULL, DAT_EVD_DTO_FLAG, NULL),
		DAT_INVALID_PARAMETER, DAT_INVALID_ARG6);
	KT_CODE(t, post(t->async, 1), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
	KT_CODE(t, dat_evd_free(t->async), DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_IN_USE);
}

const struct ktest_case ktest_evd[] = {
	KTEST(without_upcall_events_are_dequeued),
	KTEST(full_queue_refuses_software_events),
	KTEST(single_upcall_brings_events_in_order),
	KTEST(upcalls_of_connection_evds_may_sleep),
	KTEST(notification_takes_nothing_and_comes_once),
	KTEST(notification_may_ask_for_the_events),
	KTEST(modification_says_whether_queued_events_count),
	KTEST(teardown_waits_but_not_for_itself),
	KTEST(close_waits_for_an_upcall_beside_a_free),
	KTEST(teardown_is_not_put_off_by_modifications),
	KTEST(upcalls_in_softirq_may_not_sleep),
	KTEST(nothing_is_called_with_interrupts_disabled),
	KTEST(handles_are_found_in_a_crowd),
	KTEST(handles_end_with_their_ia),
	KTEST(upcalls_do_not_nest),
	KTEST(upcalls_go_on_when_the_time_of_the_processor_is_up),
	KTEST(bad_arguments_of_evds_are_refused),
	{}
};
