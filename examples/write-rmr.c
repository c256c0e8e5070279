// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/*
 * write-rmr: a server lets its client write to a part of its buffer, the window, by RDMA.
 *
 *	server				client
 *			   ◀──	send HELLO: over iWARP the connecting side must send first
 *	bind the window
 *	send OFFER: key, address   ──▶
 *					RDMA write into the window
 *			   ◀──	send WRITTEN: seed of the bytes
 *	compare
 *	unbind the window
 *	send REVOKED		   ──▶
 *					the same write again: is refused,
 *					which ends the connection
 *	compare once more
 */
#include <endian.h>
#include <stdio.h>
#include <string.h>

#include "common.h"

#define BUFFER		65536
#define WINDOW_AT	5000	/* so that start and end are not at a page boundary */
#define WINDOW_LEN	20000
#define SEED		42
#define ANSWER_S	30	/* timeout of both sides for an event, in seconds */

static const char usage[] =
	"usage: write-rmr [OPTION]...       lend memory to one client, and compare\n"
	"       write-rmr [OPTION]... HOST  write into the memory of the server there\n"
	"  -d, --device IA   adapter, such as rxe0 or lo0 (default: the first)\n"
	"  -p, --port N      connection qualifier (default: 5055)\n"
	"  -h, --help        this text\n"
	"Exit status: 0 as it should be, 1 an error or wrong bytes, 2 wrong usage.\n";

/* The fields of a message are big endian, because the peer may have another byte order. */
enum message_type {
	HELLO	= 1,	/* has no contents */
	OFFER	= 2,	/* contains @key, @address and @length of the window */
	WRITTEN	= 3,	/* contains @seed, from which the bytes were made */
	REVOKED	= 4,	/* the key is no longer valid */
};

struct message {
	uint32_t	type;
	uint32_t	key;
	uint64_t	address;
	uint64_t	length;
	uint64_t	seed;
};

/* Cookies.  A cookie says to which post a completion belongs. */
enum {
	RECEIVE		= 0,	/* RECEIVE + 1 for the second receive */
	SEND		= 16,
	WRITE		= 17,
	LATE_WRITE	= 18,
	BIND		= 19,
	UNBIND		= 20,
};

/*
 * struct side - common state of server and client
 * @node: adapter
 * @evd: EVD of all events
 * @ep: endpoint
 * @rmr: window (server only)
 * @data: the server's buffer, which contains the window; or the source of the client's writes
 * @in: two messages to receive into
 * @out: two messages to send from; a message is not changed after its post
 * @offer: the server's OFFER (client only)
 * @sends: number of messages sent
 * @over: flag: the connection has ended
 * @good: flag: the expected write was seen (server); the late write has failed, or over iWARP was
 *	posted (client)
 */
struct side {
	struct node	node;
	DAT_EVD_HANDLE	evd;
	DAT_EP_HANDLE	ep;
	DAT_RMR_HANDLE	rmr;
	struct memory	data;
	struct memory	in;
	struct memory	out;
	struct message	offer;
	unsigned int	sends;
	int		over;
	int		good;
};

static char pattern(uint64_t seed, size_t i)
{
	return (char)(seed + i % 251);
}

static void post_receive(struct side *s, unsigned int i)
{
	DAT_LMR_TRIPLET seg = segment(&s->in, i * sizeof(struct message), sizeof(struct message));
	DAT_DTO_COOKIE cookie = { .as_64 = RECEIVE + i };

	check(dat_ep_post_recv(s->ep, 1, &seg, cookie, DAT_COMPLETION_DEFAULT_FLAG),
	      "post a receive");
}

static void open_side(struct side *s, const struct options *opt)
{
	DAT_MEM_PRIV_FLAGS local = DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG;
	DAT_EP_ATTR attr;

	node_open(&s->node, opt->device);
	/*
	 * Without a remote privilege, the registration returns no key with which the peer could
	 * access the buffer.
	 */
	memory_make(&s->node, &s->data, BUFFER, local);
	memory_make(&s->node, &s->in, 2 * sizeof(struct message), local);
	memory_make(&s->node, &s->out, 2 * sizeof(struct message), local);
	check(dat_evd_create(s->node.ia, 64, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG |
			     DAT_EVD_RMR_BIND_FLAG | DAT_EVD_CONNECTION_FLAG | DAT_EVD_CR_FLAG,
			     &s->evd), "make an EVD");
	attr = ep_attr(&s->node, 2, 4);
	check(dat_ep_create(s->node.ia, s->node.pz, s->evd, s->evd, s->evd, &attr, &s->ep),
	      "make an endpoint");
	/* Post the receives before the endpoint connects, because the peer may send at once. */
	post_receive(s, 0);
	post_receive(s, 1);
}

static void close_side(struct side *s)
{
	check(dat_ep_free(s->ep), "free the endpoint");
	check(dat_evd_free(s->evd), "free the EVD");
	memory_free(&s->data);
	memory_free(&s->in);
	memory_free(&s->out);
	node_close(&s->node);
}

static void send_message(struct side *s, const struct message *m)
{
	size_t at = s->sends++ * sizeof(*m);
	DAT_LMR_TRIPLET seg = segment(&s->out, at, sizeof(*m));
	DAT_DTO_COOKIE cookie = { .as_64 = SEND };

	memcpy(s->out.va + at, m, sizeof(*m));
	check(dat_ep_post_send(s->ep, 1, &seg, cookie, DAT_COMPLETION_DEFAULT_FLAG), "send");
}

static const struct message *received(struct side *s, const DAT_DTO_COMPLETION_EVENT_DATA *dto)
{
	if (dto->transfered_length != sizeof(struct message))
		die("a message of the wrong length");
	return (const struct message *)s->in.va + (dto->user_cookie.as_64 - RECEIVE);
}

/* ---- The server ---- */

/*
 * Bind the window and send its key.  dat_rmr_bind() returns the key at once.  The key becomes valid
 * before the next request of this endpoint starts.  So the message with the key may be posted
 * directly after the bind.
 */
static void offer_window(struct side *s)
{
	DAT_LMR_TRIPLET seg = segment(&s->data, WINDOW_AT, WINDOW_LEN);
	DAT_RMR_COOKIE cookie = { .as_64 = BIND };
	struct message m = { .type = htobe32(OFFER) };
	DAT_RMR_CONTEXT key;

	check(dat_rmr_bind(s->rmr, &seg, DAT_MEM_PRIV_REMOTE_WRITE_FLAG, s->ep, cookie,
			   DAT_COMPLETION_DEFAULT_FLAG, &key), "bind the window");
	m.key = htobe32(key);
	m.address = htobe64(seg.virtual_address);
	m.length = htobe64(seg.segment_length);
	send_message(s, &m);
}

/*
 * Unbind the window, then send REVOKED.  The message is sent only after the unbind, so the key is
 * already invalid when the client receives the message.
 */
static void revoke_window(struct side *s)
{
	DAT_LMR_TRIPLET nothing = { .segment_length = 0 };
	DAT_RMR_COOKIE cookie = { .as_64 = UNBIND };
	struct message m = { .type = htobe32(REVOKED) };
	DAT_RMR_CONTEXT undefined;

	check(dat_rmr_bind(s->rmr, &nothing, DAT_MEM_PRIV_NONE_FLAG, s->ep, cookie,
			   DAT_COMPLETION_DEFAULT_FLAG, &undefined), "unbind the window");
	send_message(s, &m);
}

/*
 * Check that the window contains the client's bytes, and that the rest of the buffer is unchanged.
 */
static void compare(struct side *s, uint64_t seed)
{
	size_t i;

	for (i = 0; i < BUFFER; i++) {
		int inside = i >= WINDOW_AT && i < WINDOW_AT + WINDOW_LEN;

		if (s->data.va[i] != (inside ? pattern(seed, i - WINDOW_AT) : 0))
			die("byte %zu is wrong, which is %s the window", i,
			    inside ? "in" : "outside of");
	}
}

static void server_message(struct side *s, const struct message *m)
{
	if (be32toh(m->type) == HELLO && !s->sends) {
		offer_window(s);
		return;
	}
	if (be32toh(m->type) != WRITTEN || s->sends != 1)
		die("the client sent something else");
	compare(s, be64toh(m->seed));
	printf("the client wrote %d bytes where it may\n", WINDOW_LEN);
	s->good = 1;
	revoke_window(s);
}

static void got_bind(struct side *s, const DAT_RMR_BIND_COMPLETION_EVENT_DATA *bind)
{
	if (bind->status != DAT_RMR_BIND_SUCCESS && bind->status != DAT_DTO_ERR_FLUSHED)
		die("%s", status_name(bind->status));
	/*
	 * The window is unbound, so the peer can no longer access the memory.  Clear the window:
	 * serve() then detects any later write.
	 */
	if (bind->user_cookie.as_64 == UNBIND && bind->status == DAT_RMR_BIND_SUCCESS)
		memset(s->data.va + WINDOW_AT, 0, WINDOW_LEN);
}

/* Accept the first request with the only endpoint, and stop listening. */
static void got_request(struct side *s, DAT_PSP_HANDLE *psp, DAT_CR_HANDLE cr)
{
	if (*psp == DAT_HANDLE_NULL) {
		check(dat_cr_reject(cr), "reject a client");
		return;
	}
	check(dat_cr_accept(cr, s->ep, 0, NULL), "accept the client");
	check(dat_psp_free(*psp), "stop listening");
	*psp = DAT_HANDLE_NULL;
}

static void server_completion(struct side *s, const DAT_DTO_COMPLETION_EVENT_DATA *dto)
{
	/*
	 * The connection ended before this operation was executed.  The event of that end follows.
	 */
	if (dto->status == DAT_DTO_ERR_FLUSHED)
		return;
	if (dto->status != DAT_DTO_SUCCESS && !s->good)
		die("%s", status_name(dto->status));
	if (dto->status == DAT_DTO_SUCCESS && dto->user_cookie.as_64 < SEND)
		server_message(s, received(s, dto));
}

static void server_event(struct side *s, DAT_PSP_HANDLE *psp, const DAT_EVENT *event)
{
	switch (event->event_number) {
	case DAT_CONNECTION_REQUEST_EVENT:
		got_request(s, psp, event->event_data.cr_arrival_event_data.cr_handle);
		break;
	case DAT_CONNECTION_EVENT_ESTABLISHED:
		break;
	case DAT_RMR_BIND_COMPLETION_EVENT:
		got_bind(s, &event->event_data.rmr_completion_event_data);
		break;
	case DAT_DTO_COMPLETION_EVENT:
		server_completion(s, &event->event_data.dto_completion_event_data);
		break;
	case DAT_CONNECTION_EVENT_DISCONNECTED:
	case DAT_CONNECTION_EVENT_BROKEN:
		s->over = 1;
		break;
	default:
		die("%s", event_name(event->event_number));
	}
}

static int serve(const struct options *opt)
{
	struct side s = { .over = 0 };
	DAT_PSP_HANDLE psp;
	DAT_EVENT event;
	size_t i;

	open_side(&s, opt);
	check(dat_rmr_create(s.node.pz, &s.rmr), "make a window");
	check(dat_psp_create(s.node.ia, opt->port, s.evd, DAT_PSP_CONSUMER_FLAG, &psp), "listen");
	printf("listening at port %u of %s\n", opt->port, s.node.name);
	while (!s.over) {
		next_event(s.evd, psp == DAT_HANDLE_NULL ? ANSWER_S : 0, &event);
		server_event(&s, &psp, &event);
	}
	if (!s.good)
		die("the client left without writing");
	for (i = 0; i < BUFFER; i++)
		if (s.data.va[i])
			die("byte %zu was written with a dead key", i);
	printf("nothing was written after the unbind\n");
	check(dat_rmr_free(s.rmr), "free the window");
	close_side(&s);
	return 0;
}

/* ---- The client ---- */

static int over_iwarp(struct side *s)
{
	DAT_PROVIDER_ATTR attr;

	check(dat_ia_query(s->node.ia, NULL, 0, NULL, DAT_PROVIDER_FIELD_ALL, &attr),
	      "query the adapter");
	return attr.rdma_write_for_rdma_read_req;
}

static void write_window(struct side *s, uint64_t n, DAT_COMPLETION_FLAGS flags)
{
	DAT_RMR_TRIPLET to = {
		.rmr_context = be32toh(s->offer.key),
		.target_address = be64toh(s->offer.address),
		.segment_length = be64toh(s->offer.length),
	};
	DAT_LMR_TRIPLET from = segment(&s->data, 0, to.segment_length);
	DAT_DTO_COOKIE cookie = { .as_64 = n };

	check(dat_ep_post_rdma_write(s->ep, 1, &from, cookie, &to, flags), "write");
}

static void client_message(struct side *s, const struct message *m)
{
	struct message answer = { .type = htobe32(WRITTEN), .seed = htobe64(SEED) };
	size_t i;

	if (be32toh(m->type) == OFFER && be64toh(m->length) <= s->data.size) {
		s->offer = *m;
		for (i = 0; i < s->data.size; i++)
			s->data.va[i] = pattern(SEED, i);
		/*
		 * Suppress the completion of the write.  The message arrives after the written
		 * data.  When the send of the message has completed, the write has completed too.
		 * If the write fails, its completion is reported anyway.
		 */
		write_window(s, WRITE, DAT_COMPLETION_SUPPRESS_FLAG);
		send_message(s, &answer);
	} else if (be32toh(m->type) == REVOKED && s->offer.type) {
		write_window(s, LATE_WRITE, DAT_COMPLETION_DEFAULT_FLAG);
		s->good = over_iwarp(s);
	} else {
		die("the server sent something else");
	}
}

/*
 * Over iWARP the completion of a refused write may report success, or another error.  There only
 * the end of the connection tells that the write was refused.
 */
static void late_write_completed(struct side *s, DAT_DTO_COMPLETION_STATUS status)
{
	if (over_iwarp(s))
		return;
	if (status == DAT_DTO_SUCCESS)
		die("the dead key still opens the window");
	if (status != DAT_DTO_ERR_REMOTE_ACCESS)
		die("%s", status_name(status));
	s->good = 1;
}

static void client_completion(struct side *s, const DAT_DTO_COMPLETION_EVENT_DATA *dto)
{
	uint64_t cookie = dto->user_cookie.as_64;

	if (dto->status == DAT_DTO_ERR_FLUSHED)
		return;
	if (cookie == LATE_WRITE)
		late_write_completed(s, dto->status);
	else if (dto->status != DAT_DTO_SUCCESS)
		die("%s", status_name(dto->status));
	else if (cookie < SEND)
		client_message(s, received(s, dto));
}

static int ask(const struct options *opt)
{
	struct message hello = { .type = htobe32(HELLO) };
	struct side s = { .over = 0 };
	DAT_EVENT event;

	open_side(&s, opt);
	start_connect(s.ep, opt->host, opt->port);
	while (!s.over) {
		next_event(s.evd, ANSWER_S, &event);
		if (event.event_number == DAT_DTO_COMPLETION_EVENT)
			client_completion(&s, &event.event_data.dto_completion_event_data);
		else if (event.event_number == DAT_CONNECTION_EVENT_ESTABLISHED)
			send_message(&s, &hello);
		else
			s.over = 1;
	}
	/*
	 * The last event is the end of the connection, or the reason why no connection was
	 * established.
	 */
	if (!s.good)
		die("%s", event_name(event.event_number));
	printf("%llu bytes written, and refused after the unbind\n",
	       (unsigned long long)be64toh(s.offer.length));
	close_side(&s);
	return 0;
}

int main(int argc, char **argv)
{
	struct options opt;

	setlinebuf(stdout);
	parse_options(argc, argv, usage, NULL, &opt);
	return opt.host ? ask(&opt) : serve(&opt);
}
