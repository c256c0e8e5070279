// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * cp-peer - peer of dat-cp that violates the protocol; dat_cp.sh runs it
 *
 *	cp-peer HOST PORT torn N	offer N files, and change each while it is written
 *	cp-peer HOST PORT name NAME...	offer an empty file of each name; at a "-", report that, and
 *					wait for a line of standard input
 *	cp-peer HOST PORT insist NAME	offer a name that the server refuses, until the connection
 *					ends
 *	cp-peer HOST PORT reach		use memory that the server granted to another, or not at all
 *	cp-peer HOST PORT half NAME	send half of a file, report that, and wait to be killed
 *	cp-peer HOST PORT late NAME	send half of a file, report that, and send the rest after a
 *					line of standard input
 *	cp-peer HOST PORT garbage	send 8 bytes that are no message
 *	cp-peer HOST PORT flood N	request N connections that dat-cp refuses
 *	cp-peer - PORT serve		answer an offer with a text of terminal escape sequences
 *
 * cp-peer prints what happened, and dat_cp.sh checks that output.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <endian.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dat-cp/cp.h"
#include "common/opt.h"

#define RECVS		32
#define PATIENCE_MS	20000
#define COOKIE_SEND	100
#define COOKIE_RDMA	101

/*
 * struct link - connection to a dat-cp server or client
 * @tool: adapter and EVD of the connection
 * @ep: endpoint
 * @mem: memory for RECVS received messages, one message to send, and the data of one slot
 * @slots: buffers that the server has granted for RDMA writes
 * @granted: number of buffers granted so far
 * @result: last CP_RESULT message; valid if @have_result
 * @have_result: flag: a CP_RESULT message has arrived
 * @sending: number of sends that have not completed
 * @status: status of the last RDMA request, or -1
 */
struct link {
	struct tool		tool;
	DAT_EP_HANDLE		ep;
	struct tool_mem		mem;
	DAT_RMR_TRIPLET		slots[CP_SLOTS];
	unsigned int		granted;
	struct cp_msg		result;
	int			have_result;
	unsigned int		sending;
	int			status;
};

static struct tool_host host;
static unsigned int port;

static DAT_DTO_COOKIE cookie(uint64_t n)
{
	DAT_DTO_COOKIE c = { .as_64 = n };

	return c;
}

static struct cp_msg *out(struct link *l)
{
	return (struct cp_msg *)l->mem.va + RECVS;
}

static char *data(struct link *l)
{
	return l->mem.va + 65536;
}

static void post_recv(struct link *l, unsigned int i)
{
	DAT_LMR_TRIPLET seg = tool_seg(&l->mem, i * sizeof(struct cp_msg), sizeof(struct cp_msg));

	tool_check(dat_ep_post_recv(l->ep, 1, &seg, cookie(i), DAT_COMPLETION_DEFAULT_FLAG),
		   "post a receive");
}

static void link_open(struct link *l)
{
	unsigned int i;

	memset(l, 0, sizeof(*l));
	tool_open(&l->tool, NULL, 256);
	tool_alloc(&l->tool, &l->mem, 65536 + CP_SLOT_SIZE, TOOL_LOCAL);
	l->ep = tool_ep(&l->tool, NULL, RECVS, 64);
	for (i = 0; i < RECVS; i++)
		post_recv(l, i);
}

static void link_connect(struct link *l)
{
	struct cp_hello hello = { htonl(CP_MAGIC), htonl(CP_VERSION) };

	link_open(l);
	if (!tool_connect(&l->tool, l->ep, &host, port, &hello, sizeof(hello)))
		tool_die("the first address does not answer");
}

static void got_message(struct link *l, const struct cp_msg *m)
{
	uint32_t slot = ntohl(m->slot) % CP_SLOTS;

	if (ntohl(m->type) == CP_RESULT) {
		l->result = *m;
		l->have_result = 1;
		return;
	}
	l->slots[slot] = (DAT_RMR_TRIPLET) {
		.rmr_context = ntohl(m->rkey), .target_address = be64toh(m->addr),
		.segment_length = CP_SLOT_SIZE,
	};
	l->granted++;
}

/* Handle one event.  Return 0 if there is none within @ms. */
static int pump(struct link *l, unsigned int ms)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *dto;
	DAT_EVENT event;

	if (!tool_event(&l->tool, 0, ms, &event))
		return 0;
	if (event.event_number != DAT_DTO_COMPLETION_EVENT)
		tool_die("%s", tool_event_name(event.event_number));
	dto = &event.event_data.dto_completion_event_data;
	if (dto->user_cookie.as_64 == COOKIE_RDMA)
		l->status = (int)dto->status;
	if (dto->user_cookie.as_64 == COOKIE_SEND)
		l->sending--;
	if (dto->user_cookie.as_64 >= RECVS || dto->status != DAT_DTO_SUCCESS)
		return 1;
	got_message(l, (struct cp_msg *)l->mem.va + dto->user_cookie.as_64);
	post_recv(l, (unsigned int)dto->user_cookie.as_64);
	return 1;
}

static void wait_for_grants(struct link *l, unsigned int n)
{
	while (l->granted < n && !l->have_result)
		if (!pump(l, PATIENCE_MS))
			tool_die("the server grants nothing");
}

static void wait_for_result(struct link *l)
{
	while (!l->have_result)
		if (!pump(l, PATIENCE_MS))
			tool_die("the server has no result");
}

static void say(struct link *l, enum cp_type type, uint32_t slot, uint64_t size)
{
	DAT_LMR_TRIPLET seg = tool_seg(&l->mem, (char *)out(l) - l->mem.va, sizeof(struct cp_msg));

	out(l)->type = htonl(type);
	out(l)->slot = htonl(slot);
	out(l)->size = htobe64(size);
	tool_check(dat_ep_post_send(l->ep, 1, &seg, cookie(COOKIE_SEND),
				    DAT_COMPLETION_DEFAULT_FLAG), "send");
	l->sending++;
	/* The next say() reuses the message. */
	while (l->sending)
		if (!pump(l, PATIENCE_MS))
			tool_die("a message does not leave");
}

static void offer(struct link *l, const char *name)
{
	memset(out(l), 0, sizeof(struct cp_msg));
	snprintf(out(l)->text, sizeof(out(l)->text), "%s", name);
	out(l)->mode = htonl(0644);
	l->have_result = 0;
	say(l, CP_OFFER, 0, 0);
}

static void post_write(struct link *l, uint32_t slot, size_t from, size_t len)
{
	DAT_LMR_TRIPLET seg = tool_seg(&l->mem, data(l) - l->mem.va + from, len);
	DAT_RMR_TRIPLET to = l->slots[slot];

	to.target_address += from;
	to.segment_length = len;
	tool_check(dat_ep_post_rdma_write(l->ep, 1, &seg, cookie(COOKIE_RDMA), &to,
					  DAT_COMPLETION_DEFAULT_FLAG), "write");
}

static void digest(struct link *l, size_t len)
{
	EVP_Digest(data(l), len, out(l)->digest, NULL, EVP_sha256(), NULL);
}

/*
 * Offer @n files of one slot.  Announce each slot to the server as complete, and up to 15 ms later
 * overwrite the end of the slot.
 */
static void torn(struct link *l, unsigned int n)
{
	unsigned int i, before;
	char name[32];

	for (i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "torn%u", i);
		before = l->granted;
		offer(l, name);
		wait_for_grants(l, i ? before : CP_SLOTS);
		memset(data(l), 'a', CP_SLOT_SIZE);
		before = l->granted;
		post_write(l, 0, 0, CP_SLOT_SIZE);
		say(l, CP_CHUNK, 0, CP_SLOT_SIZE);
		usleep(i % 16 * 1000);
		memset(data(l) + CP_SLOT_SIZE - 64, 'b', 64);
		post_write(l, 0, CP_SLOT_SIZE - 64, 64);
		wait_for_grants(l, before + 1);
		digest(l, CP_SLOT_SIZE);
		say(l, CP_DONE, 0, CP_SLOT_SIZE);
		wait_for_result(l);
	}
	printf("%u files offered\n", n);
}

static void name(struct link *l, const char *as)
{
	offer(l, as);
	if (!l->have_result) {
		digest(l, 0);
		say(l, CP_DONE, 0, 0);
	}
	wait_for_result(l);
	printf("%s %s\n", l->result.size ? "refused" : "accepted", l->result.text);
}

static void wait_for_line(void)
{
	printf("waits\n");
	fflush(stdout);
	getchar();
}

static void insist(struct link *l, const char *as)
{
	for (;;) {
		offer(l, as);
		wait_for_result(l);
		usleep(100000);
	}
}

/* Wait for the completion of an RDMA request, and print its status. */
static void rdma_result(struct link *l, const char *what)
{
	while (l->status < 0)
		if (!pump(l, PATIENCE_MS))
			tool_die("%s: no completion", what);
	printf("%s: %s\n", what, tool_dto_name((DAT_DTO_COMPLETION_STATUS)l->status));
}

static void reach(struct link *victim)
{
	static struct link other;
	DAT_LMR_TRIPLET seg;

	offer(victim, "victim");
	wait_for_grants(victim, CP_SLOTS);
	link_connect(&other);
	other.slots[0] = victim->slots[0];
	other.status = -1;
	post_write(&other, 0, 0, 64);
	rdma_result(&other, "a write to another client's slot");
	victim->status = -1;
	seg = tool_seg(&victim->mem, data(victim) - victim->mem.va, 64);
	victim->slots[0].segment_length = 64;
	tool_check(dat_ep_post_rdma_read(victim->ep, 1, &seg, cookie(COOKIE_RDMA),
					 &victim->slots[0], DAT_COMPLETION_DEFAULT_FLAG), "read");
	rdma_result(victim, "a read from a slot");
}

static void half(struct link *l, const char *as)
{
	offer(l, as);
	wait_for_grants(l, CP_SLOTS);
	memset(data(l), 'h', CP_SLOT_SIZE);
	post_write(l, 0, 0, CP_SLOT_SIZE);
	say(l, CP_CHUNK, 0, CP_SLOT_SIZE);
	wait_for_grants(l, CP_SLOTS + 1);
	printf("half\n");
	fflush(stdout);
}

static void stall(struct link *l, const char *as)
{
	half(l, as);
	pause();
}

/* The second half of the file consists of no bytes. */
static void late(struct link *l, const char *as)
{
	half(l, as);
	getchar();
	digest(l, CP_SLOT_SIZE);
	say(l, CP_DONE, 0, CP_SLOT_SIZE);
	wait_for_result(l);
	printf("%s %s\n", l->result.size ? "refused" : "accepted", l->result.text);
}

static void send_8_bytes(struct link *l)
{
	DAT_LMR_TRIPLET seg = tool_seg(&l->mem, 0, 8);

	tool_check(dat_ep_post_send(l->ep, 1, &seg, cookie(COOKIE_SEND),
				    DAT_COMPLETION_DEFAULT_FLAG), "send");
	l->sending++;
}

/* The server drops the connection. */
static void garbage(struct link *l)
{
	DAT_EVENT event;

	send_8_bytes(l);
	do {
		if (!tool_event(&l->tool, 0, PATIENCE_MS, &event))
			tool_die("the server keeps the connection");
	} while (event.event_number == DAT_DTO_COMPLETION_EVENT);
	printf("%s\n", tool_event_name(event.event_number));
}

static void flood(unsigned int n)
{
	struct tool tool;
	DAT_EP_HANDLE ep;
	DAT_EVENT event;
	unsigned int i;

	tool_open(&tool, NULL, 4096);
	for (i = 0; i < n; i++) {
		ep = tool_ep(&tool, NULL, 1, 1);
		tool_start_connect(ep, &host, port, "stranger", 8);
	}
	for (i = 0; i < n && tool_event(&tool, 0, PATIENCE_MS, &event); i++)
		;
	printf("%u of %u requests answered\n", i, n);
}

/*
 * Act as a server whose answer to an offer contains escape sequences in 7 and 8 bits, and a Unicode
 * character that reverses the direction of text.
 */
static void serve(void)
{
	static const char evil[] = "no\033]0;title\007 \302\2332J \233\063\061m \342\200\256 end";
	static struct link l;
	DAT_PSP_HANDLE psp;
	DAT_EVENT event;

	link_open(&l);
	tool_check(dat_psp_create(l.tool.ia, port, l.tool.evd, DAT_PSP_CONSUMER_FLAG, &psp),
		   "listen");
	printf("listening\n");
	fflush(stdout);
	tool_event(&l.tool, 0, 0, &event);
	tool_check(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, l.ep, 0, NULL),
		   "accept");
	tool_event(&l.tool, 0, PATIENCE_MS, &event);
	memset(out(&l), 0, sizeof(struct cp_msg));
	memcpy(out(&l)->text, evil, sizeof(evil));
	say(&l, CP_RESULT, 0, 1);
	tool_event(&l.tool, 0, PATIENCE_MS, &event);
}

int main(int argc, char **argv)
{
	static struct link l;
	const char *arg = argc > 4 ? argv[4] : "";
	int i;

	tool_prog = "cp-peer";
	if (argc < 4)
		tool_usage("see its source");
	port = (unsigned int)opt_number(tool_prog, "PORT", argv[2], 1, 65535);
	if (!strcmp(argv[3], "serve")) {
		serve();
		return 0;
	}
	tool_host_find(&host, argv[1]);
	if (!strcmp(argv[3], "flood")) {
		flood((unsigned int)opt_number(tool_prog, "N", arg, 1, 4096));
		return 0;
	}
	link_connect(&l);
	if (!strcmp(argv[3], "torn"))
		torn(&l, (unsigned int)opt_number(tool_prog, "N", arg, 1, 1000));
	else if (!strcmp(argv[3], "name"))
		for (i = 4; i < argc; i++)
			strcmp(argv[i], "-") ? name(&l, argv[i]) : wait_for_line();
	else if (!strcmp(argv[3], "insist"))
		insist(&l, arg);
	else if (!strcmp(argv[3], "reach"))
		reach(&l);
	else if (!strcmp(argv[3], "half"))
		stall(&l, arg);
	else if (!strcmp(argv[3], "late"))
		late(&l, arg);
	else if (!strcmp(argv[3], "garbage"))
		garbage(&l);
	else
		tool_usage("no such mode: %s", argv[3]);
	return 0;
}
