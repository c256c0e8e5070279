// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* Post to an EP while another thread frees it.  Each post that succeeds must have a completion. */
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/slab.h>

#include "ktest.h"

#define FREES	200
#define QLEN	256

/**
 * struct beside - an EP that one thread frees while another thread posts to it
 * @ep: disconnected EP, so that posts are flushed at once
 * @dto: EVD for the completions of the posts
 * @conn: EVD for connection events of @ep
 * @posts: number of posts that succeeded
 * @lost: number of posts that succeeded but have no completion
 */
struct beside {
	DAT_EP_HANDLE	ep;
	DAT_EVD_HANDLE	dto;
	DAT_EVD_HANDLE	conn;
	u32		posts;
	u32		lost;
};

static int post_to_it(void *data)
{
	DAT_DTO_COOKIE cookie = {};
	struct beside *b = data;
	DAT_EVENT event;

	while (!kthread_should_stop()) {
		cond_resched();
		if (dat_ep_post_send(READ_ONCE(b->ep), 0, NULL, cookie, 0))
			continue;
		if (dat_evd_dequeue(b->dto, &event))
			b->lost++;
		WRITE_ONCE(b->posts, b->posts + 1);
	}
	return 0;
}

static bool await_event(DAT_EVD_HANDLE evd)
{
	unsigned long end = jiffies + KT_WAIT;
	DAT_EVENT event;

	while (dat_evd_dequeue(evd, &event)) {
		if (time_after(jiffies, end))
			return false;
		usleep_range(100, 200);
	}
	return true;
}

/*
 * Bring an EP into the state DISCONNECTED: start to connect it to a qualifier where no service
 * point listens, and disconnect it.  Wait until the other thread has posted to the EP.  Then free
 * the EP.
 */
static bool free_one(struct ktest *t, struct beside *b, DAT_PZ_HANDLE pz,
		     DAT_IA_ADDRESS_PTR addr)
{
	DAT_EP_HANDLE ep;
	u32 before;
	unsigned long end;

	if (dat_ep_create(t->ia, pz, b->dto, b->dto, b->conn, NULL, &ep) ||
	    dat_ep_connect(ep, addr, 7479, 5000000, 0, NULL, DAT_QOS_BEST_EFFORT,
			   DAT_CONNECT_DEFAULT_FLAG) ||
	    dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG) ||
	    !await_event(b->conn))
		return false;
	before = READ_ONCE(b->posts);
	WRITE_ONCE(b->ep, ep);
	end = jiffies + KT_WAIT;
	while (READ_ONCE(b->posts) == before && time_before(jiffies, end))
		usleep_range(20, 100);
	return READ_ONCE(b->posts) != before && !dat_ep_free(ep);
}

static void free_many(struct ktest *t, struct beside *b)
{
	DAT_IA_ATTR *attr = kzalloc(sizeof(*attr), GFP_KERNEL);
	struct task_struct *poster;
	DAT_PZ_HANDLE pz;
	bool ok;
	int i;

	KT_TRUE(t, attr);
	ok = !dat_ia_query(t->ia, NULL, DAT_IA_FIELD_ALL, attr, 0, NULL) &&
	     attr->ia_address_ptr && !dat_pz_create(t->ia, &pz);
	poster = ok ? kthread_run(post_to_it, b, "ktest-beside") : ERR_PTR(-EIO);
	ok = !IS_ERR(poster);
	for (i = 0; i < FREES && ok; i++)
		ok = free_one(t, b, pz, attr->ia_address_ptr);
	if (!IS_ERR(poster))
		kthread_stop(poster);
	kfree(attr);
	KT_TRUE(t, ok);
	KT_EQ(t, b->lost, 0);
}

static void posts_beside_a_free_complete(struct ktest *t)
{
	struct beside b = {};

	KT_OK(t, dat_evd_kcreate(t->ia, QLEN, DAT_UPCALL_DISABLE, NULL, DAT_EVD_DTO_FLAG,
				 &b.dto));
	KT_OK(t, dat_evd_kcreate(t->ia, QLEN, DAT_UPCALL_DISABLE, NULL, DAT_EVD_CONNECTION_FLAG,
				 &b.conn));
	free_many(t, &b);
}

const struct ktest_case ktest_free[] = {
	KTEST(posts_beside_a_free_complete),
	{}
};
