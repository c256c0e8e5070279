// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/* Check of an adapter: connect the adapter to itself, and send a message over the connection. */
#include <string.h>

#include "../common/tool.h"
#include "info.h"

#define LOOP_SECONDS	10
#define LOOP_SIZE	4096	/* bytes of registered memory, half for each side */
#define LOOP_MESSAGE	1000	/* bytes of the message; less than most path MTUs */
#define CONNECT_US	(5 * 1000 * 1000)

/*
 * struct loop - both sides of the connection
 * @tool: adapter
 * @mem: memory; the first half to send from, the second half to receive into
 * @ep: endpoints; the first connects, the second accepts
 * @psp: service point
 * @qual: connection qualifier of @psp
 */
struct loop {
	struct tool	tool;
	struct tool_mem	mem;
	DAT_EP_HANDLE	ep[2];
	DAT_PSP_HANDLE	psp;
	DAT_CONN_QUAL	qual;
};

static void post(struct loop *l, int side)
{
	DAT_LMR_TRIPLET seg = tool_seg(&l->mem, side ? LOOP_SIZE / 2 : 0, LOOP_MESSAGE);
	DAT_DTO_COOKIE cookie = tool_cookie((uint64_t)side);

	if (side)
		tool_check(dat_ep_post_recv(l->ep[1], 1, &seg, cookie,
					    DAT_COMPLETION_DEFAULT_FLAG), "cannot post a receive");
	else
		tool_check(dat_ep_post_send(l->ep[0], 1, &seg, cookie,
					    DAT_COMPLETION_DEFAULT_FLAG), "cannot post a send");
}

static void loop_open(struct loop *l, const char *name)
{
	size_t i;

	tool_open(&l->tool, name, 16);
	tool_alloc(&l->tool, &l->mem, LOOP_SIZE, TOOL_LOCAL);
	for (i = 0; i < LOOP_MESSAGE; i++)
		l->mem.va[i] = (char)(i * 7 + 1);
	l->ep[0] = tool_ep(&l->tool, NULL, 1, 1);
	l->ep[1] = tool_ep(&l->tool, NULL, 1, 1);
	tool_check(dat_psp_create_any(l->tool.ia, &l->qual, l->tool.evd, DAT_PSP_CONSUMER_FLAG,
				      &l->psp), "cannot listen");
}

static void loop_connect(struct loop *l)
{
	int established = 0;
	DAT_EVENT event;

	tool_check(dat_ep_connect(l->ep[0], l->tool.attr.ia_address_ptr, l->qual, CONNECT_US, 0,
				  NULL, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG),
		   "cannot connect");
	while (established < 2) {
		tool_event(&l->tool, 0, 0, &event);
		if (event.event_number == DAT_CONNECTION_REQUEST_EVENT)
			tool_check(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle,
						 l->ep[1], 0, NULL), "cannot accept");
		else if (event.event_number == DAT_CONNECTION_EVENT_ESTABLISHED)
			established++;
		else
			tool_die("cannot connect: %s", tool_event_name(event.event_number));
	}
}

static void loop_send(struct loop *l)
{
	DAT_DTO_COMPLETION_EVENT_DATA *dto;
	DAT_EVENT event;
	int done;

	post(l, 0);
	for (done = 0; done < 2; done++) {
		tool_event(&l->tool, 0, 0, &event);
		dto = &event.event_data.dto_completion_event_data;
		if (event.event_number != DAT_DTO_COMPLETION_EVENT)
			tool_die("the connection ended: %s", tool_event_name(event.event_number));
		if (dto->status != DAT_DTO_SUCCESS)
			tool_die("the message did not get through: %s", tool_dto_name(dto->status));
	}
	if (memcmp(l->mem.va, l->mem.va + LOOP_SIZE / 2, LOOP_MESSAGE))
		tool_die("the message arrived changed");
}

/*
 * Connect, and send a message.  Runs in a child process, because the child exits with a message at
 * the first failure.
 */
static int loop(const void *name)
{
	struct loop l;

	tool_prog = name;
	loop_open(&l, name);
	post(&l, 1);
	loop_connect(&l);
	loop_send(&l);
	tool_close(&l.tool);
	return 0;
}

void check_loop(const struct adapter *a)
{
	char output[1024];
	int ret = child_run(loop, a->name, LOOP_SECONDS, output, sizeof(output));
	const char *also = adapter_is_local(a) ? "" :
			   ", and whether a firewall drops UDP port 4791";

	if (!ret)
		check_report(CHECK_OK, "loopback", "%s: a message to itself arrived", a->name);
	else
		check_report(CHECK_FAIL, "loopback",
			     "no message to itself: %s -> see what the kernel says (dmesg)%s",
			     output, also);
}
