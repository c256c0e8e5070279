// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/*
 * echo-srq: a server that returns every message to its sender, and its client.
 *
 * The server may have many clients.  One shared receive queue (SRQ) receives the messages
 * of all clients, and one event dispatcher (EVD) collects all events.
 *
 * States of a buffer of the server:
 *
 *	in the SRQ --message--> received --send--> in flight --completion--> in the SRQ
 *
 * So a buffer is in only one queue at a time, and has at most one completion outstanding.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common.h"

#define MESSAGE		1024	/* bytes of a buffer */
#define WINDOW		8	/* max. messages of a client in flight */
#define ANSWERS		(4 * WINDOW)	/* max. sends in flight to a client */
#define BLOCK		8	/* number of buffers added at a time */
#define LOW		4	/* add buffers if fewer are available */
#define MAX_BLOCKS	256
#define REQUESTS	256	/* EVD entries for connection requests */
#define ANSWER_S	30	/* client's timeout for an event, in seconds */

static const char usage[] =
	"usage: echo-srq [OPTION]...               return what clients send\n"
	"       echo-srq [OPTION]... HOST [COUNT]  send COUNT messages (100), compare\n"
	"  -d, --device IA   adapter, such as rxe0 or lo0 (default: the first)\n"
	"  -p, --port N      connection qualifier (default: 5055)\n"
	"      --clients N   serve so many clients and exit (default: serve forever)\n"
	"  -h, --help        this text\n"
	"Exit status: 0 done, 1 an error or a wrong answer, 2 wrong usage.\n";

/* ---- The server ---- */

/* The cookie of a post is the number of its buffer, plus OUTGOING if the post is a send. */
#define OUTGOING	(1ULL << 32)

struct server {
	struct node	node;
	DAT_EVD_HANDLE	evd;
	DAT_SRQ_HANDLE	srq;
	DAT_PSP_HANDLE	psp;
	struct memory	block[MAX_BLOCKS];
	unsigned int	blocks;
	unsigned int	clients;	/* clients with an endpoint */
	unsigned int	served;		/* clients that have left */
	uint64_t	messages;
};

static DAT_LMR_TRIPLET buffer(const struct server *s, uint64_t n, size_t len)
{
	return segment(&s->block[n / BLOCK], n % BLOCK * MESSAGE, len);
}

static void give_buffer(struct server *s, uint64_t n)
{
	DAT_LMR_TRIPLET seg = buffer(s, n, MESSAGE);
	DAT_DTO_COOKIE cookie = { .as_64 = n };

	check(dat_srq_post_recv(s->srq, 1, &seg, cookie), "post a buffer");
}

/*
 * Make the EVD long enough.  If an EVD is full, further events are lost, and a lost completion
 * loses its buffer.  So the EVD has room for one completion per buffer, two events per connection,
 * and REQUESTS connection requests.
 */
static void make_room(struct server *s)
{
	DAT_COUNT need = (DAT_COUNT)(s->blocks * BLOCK + 2 * s->clients + REQUESTS);
	DAT_EVD_PARAM param;

	check(dat_evd_query(s->evd, DAT_EVD_FIELD_EVD_QLEN, &param), "query the EVD");
	if (param.evd_qlen < need)
		check(dat_evd_resize(s->evd, 2 * need), "resize the EVD");
}

static void add_buffers(struct server *s)
{
	unsigned int i, first = s->blocks * BLOCK;

	memory_make(&s->node, &s->block[s->blocks++], BLOCK * MESSAGE,
		    DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG);
	make_room(s);
	if (first)
		check(dat_srq_resize(s->srq, (DAT_COUNT)(first + BLOCK)), "resize the SRQ");
	for (i = first; i < first + BLOCK; i++)
		give_buffer(s, i);
	/*
	 * An async event will report that fewer than LOW buffers are available.  No second event
	 * follows until the next call of dat_srq_set_lw().
	 */
	if (s->blocks < MAX_BLOCKS)
		check(dat_srq_set_lw(s->srq, LOW), "set the low watermark");
	printf("%u buffers\n", first + BLOCK);
}

static void start_server(struct server *s, const struct options *opt)
{
	DAT_SRQ_ATTR attr = {
		.max_recv_dtos = BLOCK, .max_recv_iov = 1, .low_watermark = DAT_SRQ_LW_DEFAULT,
	};

	node_open(&s->node, opt->device);
	check(dat_evd_create(s->node.ia, BLOCK + REQUESTS, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG |
			     DAT_EVD_CONNECTION_FLAG | DAT_EVD_CR_FLAG, &s->evd), "make an EVD");
	check(dat_srq_create(s->node.ia, s->node.pz, &attr, &s->srq), "make an SRQ");
	add_buffers(s);
	check(dat_psp_create(s->node.ia, opt->port, s->evd, DAT_PSP_CONSUMER_FLAG, &s->psp),
	      "listen");
	printf("listening at port %u of %s\n", opt->port, s->node.name);
}

static void got_request(struct server *s, DAT_CR_HANDLE cr)
{
	/*
	 * A client sends its next message as soon as it receives an answer.  At that time the
	 * server may not have seen the completion of the answer's send.  So the endpoint needs room
	 * for more than WINDOW requests.
	 */
	DAT_EP_ATTR attr = ep_attr(&s->node, 0, ANSWERS);
	DAT_EP_HANDLE ep = DAT_HANDLE_NULL;
	DAT_RETURN rc;

	rc = dat_ep_create_with_srq(s->node.ia, s->node.pz, s->evd, s->evd, s->evd, s->srq,
				    &attr, &ep);
	if (rc == DAT_SUCCESS) {
		s->clients++;
		make_room(s);
		rc = dat_cr_accept(cr, ep, 0, NULL);
		if (rc == DAT_SUCCESS)
			return;
		s->clients--;
		check(dat_ep_free(ep), "free an endpoint");
	}
	/*
	 * Resources are short, or the client has disconnected.  Reject this client, and keep
	 * serving the others.
	 */
	complain("cannot accept a client: %s", rc_name(rc));
	check(dat_cr_reject(cr), "reject a client");
}

static void return_message(struct server *s, const DAT_DTO_COMPLETION_EVENT_DATA *in)
{
	uint64_t n = in->user_cookie.as_64;
	DAT_LMR_TRIPLET seg = buffer(s, n, in->transfered_length);
	DAT_DTO_COOKIE cookie = { .as_64 = n | OUTGOING };
	DAT_RETURN rc;

	s->messages++;
	rc = dat_ep_post_send(in->ep_handle, 1, &seg, cookie, DAT_COMPLETION_DEFAULT_FLAG);
	if (rc == DAT_SUCCESS)
		return;
	give_buffer(s, n);
	/* The client is disconnecting.  The event of the disconnect follows. */
	if (DAT_GET_TYPE(rc) == DAT_INVALID_STATE)
		return;
	/*
	 * The client does not receive its answers, so ANSWERS sends are in flight: drop the client.
	 */
	complain("dropping a client: %s", rc_name(rc));
	check(dat_ep_disconnect(in->ep_handle, DAT_CLOSE_ABRUPT_FLAG), "disconnect");
}

static void got_completion(struct server *s, const DAT_DTO_COMPLETION_EVENT_DATA *dto)
{
	uint64_t n = dto->user_cookie.as_64;

	/*
	 * Only report the failure.  A failed operation also breaks the connection, and the event of
	 * the broken connection follows.
	 */
	if (dto->status != DAT_DTO_SUCCESS && dto->status != DAT_DTO_ERR_FLUSHED)
		complain("a client: %s", status_name(dto->status));
	if (n & OUTGOING || dto->status != DAT_DTO_SUCCESS)
		give_buffer(s, n & ~OUTGOING);
	else
		return_message(s, dto);
}

static void got_event(struct server *s, const DAT_EVENT *event)
{
	switch (event->event_number) {
	case DAT_CONNECTION_REQUEST_EVENT:
		got_request(s, event->event_data.cr_arrival_event_data.cr_handle);
		break;
	case DAT_DTO_COMPLETION_EVENT:
		got_completion(s, &event->event_data.dto_completion_event_data);
		break;
	case DAT_CONNECTION_EVENT_ESTABLISHED:
		break;
	case DAT_CONNECTION_EVENT_DISCONNECTED:
	case DAT_CONNECTION_EVENT_BROKEN:
	case DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR:
		/*
		 * This is the last event of a connection.  The completions of all its buffers came
		 * before this event.
		 */
		check(dat_ep_free(event->event_data.connect_event_data.ep_handle),
		      "free an endpoint");
		s->clients--;
		s->served++;
		break;
	default:
		die("%s", event_name(event->event_number));
	}
}

/*
 * Handle async events, which concern no single operation.  Polling the async EVD makes no system
 * call.
 */
static void got_async(struct server *s)
{
	DAT_ASYNCH_ERROR_EVENT_DATA *data;
	DAT_EVENT event;
	DAT_RETURN rc;

	while ((rc = dat_evd_dequeue(s->node.async, &event)) == DAT_SUCCESS) {
		data = &event.event_data.asynch_error_event_data;
		if (data->dat_handle != s->srq || data->reason != DAT_SRQ_LOW_WATERMARK_EVENT)
			die("async event %#x, reason %d", (unsigned int)event.event_number,
			    data->reason);
		add_buffers(s);
	}
	if (DAT_GET_TYPE(rc) != DAT_QUEUE_EMPTY)
		check(rc, "dequeue an async event");
}

static void stop_server(struct server *s)
{
	check(dat_psp_free(s->psp), "stop listening");
	check(dat_srq_free(s->srq), "free the SRQ");
	while (s->blocks)
		memory_free(&s->block[--s->blocks]);
	check(dat_evd_free(s->evd), "free the EVD");
	node_close(&s->node);
}

static int serve(const struct options *opt)
{
	struct server s = { .blocks = 0 };
	DAT_EVENT event;

	start_server(&s, opt);
	while (!opt->number || s.served < opt->number || s.clients) {
		next_event(s.evd, 0, &event);
		got_event(&s, &event);
		got_async(&s);
	}
	stop_server(&s);
	printf("%u clients, %llu messages\n", s.served, (unsigned long long)s.messages);
	return 0;
}

/* ---- The client ---- */

/*
 * struct client - the client
 * @node: adapter
 * @evd: EVD of all events
 * @ep: endpoint
 * @in: WINDOW buffers, which are always posted as receives
 * @out: WINDOW buffers to send from, used in turn
 * @sent: number of messages sent
 * @done: number of sends that have completed
 * @got: number of answers received
 */
struct client {
	struct node	node;
	DAT_EVD_HANDLE	evd;
	DAT_EP_HANDLE	ep;
	struct memory	in;
	struct memory	out;
	unsigned int	sent, done, got;
};

/*
 * Make message number @n, which has its own length and content.  Returns the length, which may be
 * 0.
 */
static size_t fill(char *to, unsigned int n)
{
	size_t len = n * 37 % (MESSAGE + 1), i;

	for (i = 0; i < len; i++)
		to[i] = (char)(n + i * 7);
	return len;
}

static void post_receive(struct client *c, uint64_t slot)
{
	DAT_LMR_TRIPLET seg = segment(&c->in, slot * MESSAGE, MESSAGE);
	DAT_DTO_COOKIE cookie = { .as_64 = slot };

	check(dat_ep_post_recv(c->ep, 1, &seg, cookie, DAT_COMPLETION_DEFAULT_FLAG),
	      "post a receive");
}

static void send_next(struct client *c)
{
	size_t at = c->sent % WINDOW * MESSAGE;
	DAT_LMR_TRIPLET seg = segment(&c->out, at, fill(c->out.va + at, c->sent));
	DAT_DTO_COOKIE cookie = { .as_64 = OUTGOING };

	check(dat_ep_post_send(c->ep, 1, &seg, cookie, DAT_COMPLETION_DEFAULT_FLAG), "send");
	c->sent++;
}

/*
 * Check an answer.  Answers arrive in the order of the messages, because the send queue and the
 * receive queue keep their order.
 */
static void compare(struct client *c, const DAT_DTO_COMPLETION_EVENT_DATA *dto)
{
	char *got = c->in.va + dto->user_cookie.as_64 * MESSAGE;
	char want[MESSAGE];
	size_t len = fill(want, c->got);

	if (dto->transfered_length != len || memcmp(got, want, len))
		die("message %u came back changed", c->got);
	c->got++;
	post_receive(c, dto->user_cookie.as_64);
}

static void client_completion(struct client *c, const DAT_DTO_COMPLETION_EVENT_DATA *dto)
{
	/*
	 * The operation was flushed because the connection has ended.  The event of that end
	 * follows.
	 */
	if (dto->status == DAT_DTO_ERR_FLUSHED)
		return;
	if (dto->status != DAT_DTO_SUCCESS)
		die("%s", status_name(dto->status));
	if (dto->user_cookie.as_64 & OUTGOING)
		c->done++;
	else
		compare(c, dto);
}

/*
 * Wait for a connection event.  Skip completions, because posted receives are flushed before the
 * event if the connection fails or ends.
 */
static void want_event(struct client *c, DAT_EVENT_NUMBER number)
{
	DAT_EVENT event;

	do {
		next_event(c->evd, ANSWER_S, &event);
	} while (event.event_number == DAT_DTO_COMPLETION_EVENT);
	if (event.event_number != number)
		die("%s", event_name(event.event_number));
}

static void start_client(struct client *c, const struct options *opt)
{
	DAT_MEM_PRIV_FLAGS priv = DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG;
	DAT_EP_ATTR attr;
	uint64_t i;

	node_open(&c->node, opt->device);
	memory_make(&c->node, &c->in, WINDOW * MESSAGE, priv);
	memory_make(&c->node, &c->out, WINDOW * MESSAGE, priv);
	check(dat_evd_create(c->node.ia, 2 * WINDOW + 2, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG |
			     DAT_EVD_CONNECTION_FLAG, &c->evd), "make an EVD");
	attr = ep_attr(&c->node, WINDOW, WINDOW);
	check(dat_ep_create(c->node.ia, c->node.pz, c->evd, c->evd, c->evd, &attr, &c->ep),
	      "make an endpoint");
	for (i = 0; i < WINDOW; i++)
		post_receive(c, i);
	start_connect(c->ep, opt->host, opt->port);
	want_event(c, DAT_CONNECTION_EVENT_ESTABLISHED);
}

static void stop_client(struct client *c)
{
	check(dat_ep_disconnect(c->ep, DAT_CLOSE_GRACEFUL_FLAG), "disconnect");
	want_event(c, DAT_CONNECTION_EVENT_DISCONNECTED);
	check(dat_ep_free(c->ep), "free the endpoint");
	check(dat_evd_free(c->evd), "free the EVD");
	memory_free(&c->in);
	memory_free(&c->out);
	node_close(&c->node);
}

static int ask(const struct options *opt)
{
	unsigned int count = opt->count ? opt->count : 100;
	struct client c = { .sent = 0 };
	DAT_EVENT event;

	start_client(&c, opt);
	while (c.got < count || c.done < count) {
		/*
		 * Send a message only if a buffer is free and both queues have room.  A message
		 * occupies them until its answer has arrived and its send has completed.  The
		 * answer may arrive before the completion of the send.
		 */
		while (c.sent < count && c.sent - c.got < WINDOW && c.sent - c.done < WINDOW)
			send_next(&c);
		next_event(c.evd, ANSWER_S, &event);
		if (event.event_number != DAT_DTO_COMPLETION_EVENT)
			die("%s", event_name(event.event_number));
		client_completion(&c, &event.event_data.dto_completion_event_data);
	}
	stop_client(&c);
	printf("%u messages came back as they were\n", count);
	return 0;
}

int main(int argc, char **argv)
{
	struct options opt;

	setlinebuf(stdout);
	parse_options(argc, argv, usage, "clients", &opt);
	return opt.host ? ask(&opt) : serve(&opt);
}
