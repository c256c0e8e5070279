/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Copyright (c) The dat authors */
/*
 * One request or one completion.  The measured loops consist of these functions, so the functions
 * are inline.
 */
#ifndef DAT_PERF_REQUEST_H
#define DAT_PERF_REQUEST_H

#include "perf.h"

/* Returns the connection that sends next. */
static inline struct perf_conn *perf_turn(struct perf *p)
{
	return &p->conn[p->next];
}

static inline void perf_next_turn(struct perf *p)
{
	if (++p->next == p->opt.eps)
		p->next = 0;
}

/*
 * Post a request.  If @report is set, the request is signalled.  Its completion then also reports
 * all requests that were posted on the connection after the previous signalled request.  @more is
 * DAT_LINUX_COMPLETION_MORE_FLAG or 0.
 */
static inline void perf_post_more(struct perf *p, int report, DAT_COMPLETION_FLAGS more)
{
	struct perf_conn *c = perf_turn(p);
	DAT_COMPLETION_FLAGS flags = more | (report ? DAT_COMPLETION_DEFAULT_FLAG :
						      DAT_COMPLETION_SUPPRESS_FLAG);
	DAT_DTO_COOKIE id = tool_cookie(cookie_send(++c->silent, p->next));
	DAT_RETURN rc;

	if (p->opt.op == OP_SEND)
		rc = dat_ep_post_send(c->ep, 1, &p->send_seg, id, flags);
	else if (p->opt.op == OP_WRITE)
		rc = dat_ep_post_rdma_write(c->ep, 1, &p->send_seg, id, &p->remote, flags);
	else
		rc = dat_ep_post_rdma_read(c->ep, 1, &p->send_seg, id, &p->remote, flags);
	if (__builtin_expect(rc != DAT_SUCCESS, 0))
		perf_check(p, rc, "cannot post a request");
	c->busy++;
	if (report)
		c->silent = 0;
}

static inline void perf_post(struct perf *p, int report)
{
	perf_post_more(p, report, DAT_COMPLETION_DEFAULT_FLAG);
}

/*
 * Count a completion.  Posts a receive in place of a completed one, except in latency tests: their
 * loop does so after it has answered.
 */
static inline void perf_count(struct perf *p, const DAT_EVENT *event)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *dto = &event->event_data.dto_completion_event_data;
	uint64_t id = dto->user_cookie.as_64;

	if (__builtin_expect(event->event_number != DAT_DTO_COMPLETION_EVENT ||
			     dto->status != DAT_DTO_SUCCESS, 0))
		perf_unexpected(p, event);
	if (id != COOKIE_RECV) {
		p->sent += id >> 32;
		p->conn[(uint32_t)id >> 1].busy -= id >> 32;
	} else if (__builtin_expect(!dto->transfered_length, 0)) {
		perf_mark_received(p, dto->ep_handle);
	} else {
		p->received++;
		p->length = dto->transfered_length;
		if (p->opt.test != TEST_LAT)
			perf_repost(p, dto->ep_handle);
	}
}

/* Wait for the next event as the options say. */
static inline void perf_await(struct perf *p, DAT_EVENT *event)
{
	if (p->opt.event) {
		tool_event(&p->tool, 0, 0, event);
		return;
	}
	while (dat_evd_dequeue(p->tool.evd, event) != DAT_SUCCESS)
		;
}

/* Take all queued events.  If there are none, wait for an event. */
static inline void perf_reap_batch(struct perf *p)
{
	DAT_EVENT event;

	perf_await(p, &event);
	do {
		perf_count(p, &event);
	} while (dat_evd_dequeue(p->tool.evd, &event) == DAT_SUCCESS);
}

#endif /* DAT_PERF_REQUEST_H */
