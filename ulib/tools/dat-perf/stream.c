// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/*
 * Loop of the test whose system calls are counted: the server sends a stream, and the client
 * receives it.
 */
#include "perf.h"
#include "request.h"

/*
 * Receive and repost.  The system calls of this loop are counted.  The loop stores the number of
 * received messages in memory, where the server reads the number by RDMA.
 */
void perf_receive(struct perf *p, uint64_t n)
{
	volatile uint64_t *progress = (uint64_t *)p->mem.va;
	DAT_EVENT event;

	p->due += n;
	while (p->received < p->due) {
		perf_await(p, &event);
		do {
			perf_count(p, &event);
		} while (p->received < p->due &&
			 dat_evd_dequeue(p->tool.evd, &event) == DAT_SUCCESS);
		*progress = p->received;
	}
}

static uint64_t read_progress(struct perf *p)
{
	DAT_LMR_TRIPLET seg = tool_seg(&p->mem, p->slot, sizeof(uint64_t));
	DAT_RMR_TRIPLET remote = p->peer;

	remote.segment_length = sizeof(uint64_t);
	p->conn[0].busy++;
	perf_check(p, dat_ep_post_rdma_read(p->conn[0].ep, 1, &seg, tool_cookie(cookie_send(1, 0)),
					    &remote, DAT_COMPLETION_DEFAULT_FLAG),
		   "cannot read the client's progress");
	perf_reap(p, p->sent + 1, 0);
	return *(uint64_t *)(p->mem.va + p->slot);
}

/*
 * Wait until the client has a posted receive for message @fed.  The client's progress comes from
 * its memory, so it can be wrong.  The reads look like signs of the client to its watch, so look at
 * the time here.
 */
static void await_room(struct perf *p, uint64_t fed)
{
	uint64_t progress, last = 0, end = 0;

	for (;; last = progress) {
		progress = read_progress(p);
		if (progress > fed)
			perf_fail(p, "the client says that it received %llu of %llu messages",
				  (unsigned long long)progress, (unsigned long long)fed);
		if (fed - progress <= p->opt.window)
			return;
		if (!end || progress != last)
			end = tool_now_ns() + PERF_SILENCE * 1000000000ULL;
		else if (tool_now_ns() > end)
			perf_fail(p, "the client has received nothing for %u s", PERF_SILENCE);
	}
}

/*
 * Send messages, but never more than there are posted receives at the client.  The server reads the
 * client's progress by RDMA, because credit messages would add system calls to the client.
 */
void perf_feed(struct perf *p)
{
	uint64_t fed;

	for (fed = 0; fed < p->opt.iters; fed++, perf_next_turn(p)) {
		if (fed % 16 == 0)
			await_room(p, fed);
		perf_post(p, 1);
		perf_reap(p, p->sent + 1, 0);
	}
}
