// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/* Requests and completions: what is too rare or too long to be inline in the loops. */
#include "perf.h"
#include "request.h"

void perf_unexpected(struct perf *p, const DAT_EVENT *event)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *dto = &event->event_data.dto_completion_event_data;

	if (event->event_number != DAT_DTO_COMPLETION_EVENT)
		perf_fail(p, "the connection ended in the middle of the test: %s",
			  tool_event_name(event->event_number));
	perf_fail(p, "a request failed: %s", tool_dto_name(dto->status));
}

void perf_mark_received(struct perf *p, DAT_EP_HANDLE ep)
{
	p->marks++;
	perf_repost(p, ep);
}

/* Post a receive to replace a completed receive.  @ep is unused if there is an SRQ. */
void perf_repost(struct perf *p, DAT_EP_HANDLE ep)
{
	DAT_RETURN rc;

	if (p->srq)
		rc = dat_srq_post_recv(p->srq, 1, &p->recv_seg, tool_cookie(COOKIE_RECV));
	else
		rc = dat_ep_post_recv(ep, 1, &p->recv_seg, tool_cookie(COOKIE_RECV),
				      DAT_COMPLETION_DEFAULT_FLAG);
	if (__builtin_expect(rc != DAT_SUCCESS, 0))
		perf_check(p, rc, "cannot post a receive");
}

/*
 * Send a control message of @len bytes, which begins at the offset @at in the memory, over the
 * connection p->next.
 */
void perf_post_send_from(struct perf *p, size_t at, uint32_t len)
{
	DAT_LMR_TRIPLET seg = tool_seg(&p->mem, at, len);
	struct perf_conn *c = perf_turn(p);

	c->busy++;
	perf_check(p, dat_ep_post_send(c->ep, len ? 1 : 0, &seg,
				       tool_cookie(cookie_send(1, p->next)),
				       DAT_COMPLETION_DEFAULT_FLAG), "cannot post a send");
}

/* Take events until p->sent and p->received have reached @sent and @received. */
void perf_reap(struct perf *p, uint64_t sent, uint64_t received)
{
	DAT_EVENT event;

	while (p->sent < sent || p->received < received) {
		perf_await(p, &event);
		perf_count(p, &event);
	}
}
