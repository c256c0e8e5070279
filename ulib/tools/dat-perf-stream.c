// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/*
 * Loop of the test whose system calls are counted: the server sends a stream, and the client
 * receives it.
 */
#include "dat-perf.h"
#include "dat-perf-request.h"

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
 * Send messages, but never more than there are posted receives at the client.  The server reads the
 * client's progress by RDMA, because credit messages would add system calls to the client.
 */
void perf_feed(struct perf *p)
{
	uint64_t fed;

	for (fed = 0; fed < p->opt.iters; fed++, perf_next_turn(p)) {
		while (fed % 16 == 0 && fed > read_progress(p) + p->opt.window)
			;
		perf_post(p, 1);
		perf_reap(p, p->sent + 1, 0);
	}
}
