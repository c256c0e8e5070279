// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/*
 * epoll-loop: a server and its clients exchange lines of text.  A single thread waits for all
 * events in epoll_wait().  A client sends the lines from its standard input to the server, which
 * prints them.  The server sends the lines from its standard input to all clients.
 *
 *	standard input ──┐
 *	timerfd ─────────┤
 *	EVD: requests ───┼── epoll		dat_linux_evd_fd()
 *	CNO ─────────────┘			dat_linux_cno_fd()
 *	 └─ triggered by the EVDs of messages, of connections and of async events
 *
 * Events of two EVDs have no common order, so the program may see the end of a connection before
 * the last messages of that connection.  So the program counts the outstanding posts of each peer,
 * and frees a peer only if its count is 0.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "common.h"

#define TEXT		512	/* bytes of a message */
#define SLOTS		8	/* receive buffers, and also send buffers, per peer */
#define MAX_PEERS	32
#define REQUESTS	16

static const char usage[] =
	"usage: epoll-loop [OPTION]...       print what clients say, send input to all\n"
	"       epoll-loop [OPTION]... HOST  send input to the server, print what it says\n"
	"  -d, --device IA   adapter, such as rxe0 or lo0 (default: the first)\n"
	"  -p, --port N      connection qualifier (default: 5055)\n"
	"      --idle N      give up when nothing happens for N seconds\n"
	"  -h, --help        this text\n"
	"Standard input is a terminal or a pipe, and its end is the end of the program.\n"
	"Exit status: 0 done, 1 an error, 2 wrong usage.\n";

/*
 * struct slot - a buffer of a peer; the cookie of a post points to the slot
 * @peer: peer
 * @at: offset of the buffer in the memory of the peer
 * @outgoing: 1 for a send buffer, 0 for a receive buffer
 * @busy: flag: the buffer is posted
 */
struct slot {
	struct peer	*peer;
	size_t		at;
	unsigned int	outgoing;
	int		busy;
};

/*
 * struct peer - an endpoint and its buffers; the consumer context of the endpoint
 * @number: number of the peer, for output
 * @ep: endpoint
 * @mem: memory of the buffers
 * @slot: SLOTS receive buffers, then SLOTS send buffers
 * @outstanding: number of slots that are posted
 * @sending: number of posted slots that are sends
 * @up: flag: the peer is connected, and no disconnect was seen or requested
 * @gone: flag: the last event of the connection was taken
 */
struct peer {
	unsigned int	number;
	DAT_EP_HANDLE	ep;
	struct memory	mem;
	struct slot	slot[2 * SLOTS];
	unsigned int	outstanding;
	unsigned int	sending;
	int		up;
	int		gone;
};

struct loop {
	const struct options *opt;
	struct node	node;
	DAT_EVD_HANDLE	requests;
	DAT_EVD_HANDLE	messages;
	DAT_EVD_HANDLE	connections;
	DAT_CNO_HANDLE	cno;
	DAT_PSP_HANDLE	psp;
	struct peer	*peer[MAX_PEERS];
	unsigned int	peers, numbered;
	int		epoll, timer, cno_fd, requests_fd;
	int		reading;	/* flag: epoll watches standard input */
	int		ending;		/* flag: standard input has ended */
	int		failed;
};

/* ---- Peers ---- */

static void post_slot(struct slot *s, size_t len)
{
	struct peer *p = s->peer;
	DAT_LMR_TRIPLET seg = segment(&p->mem, s->at, len);
	DAT_DTO_COOKIE cookie = { .as_ptr = s };
	DAT_RETURN rc;

	if (s->outgoing)
		rc = dat_ep_post_send(p->ep, 1, &seg, cookie, DAT_COMPLETION_DEFAULT_FLAG);
	else
		rc = dat_ep_post_recv(p->ep, 1, &seg, cookie, DAT_COMPLETION_DEFAULT_FLAG);
	/*
	 * The peer may have disconnected, while the event of the disconnect is still queued.  Then
	 * drop the message.
	 */
	if (s->outgoing && DAT_GET_TYPE(rc) == DAT_INVALID_STATE)
		return;
	check(rc, "post");
	s->busy = 1;
	p->outstanding++;
	p->sending += s->outgoing;
}

static struct peer *new_peer(struct loop *l)
{
	struct peer *p = calloc(1, sizeof(*p));
	DAT_EP_ATTR attr = ep_attr(&l->node, SLOTS, SLOTS);
	DAT_CONTEXT context = { .as_ptr = p };
	int i;

	if (!p)
		die("no memory");
	p->number = ++l->numbered;
	memory_make(&l->node, &p->mem, 2 * SLOTS * TEXT,
		    DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG);
	check(dat_ep_create(l->node.ia, l->node.pz, l->messages, l->messages, l->connections,
			    &attr, &p->ep), "make an endpoint");
	check(dat_set_consumer_context(p->ep, context), "set a context");
	for (i = 0; i < 2 * SLOTS; i++) {
		p->slot[i].peer = p;
		p->slot[i].at = (size_t)i * TEXT;
		p->slot[i].outgoing = i >= SLOTS;
	}
	/* Post receives before the endpoint connects, because the peer may send at once. */
	for (i = 0; i < SLOTS; i++)
		post_slot(&p->slot[i], TEXT);
	l->peer[l->peers++] = p;
	return p;
}

static void free_peer(struct loop *l, struct peer *p)
{
	unsigned int i;

	for (i = 0; l->peer[i] != p; i++)
		;
	l->peer[i] = l->peer[--l->peers];
	check(dat_ep_free(p->ep), "free an endpoint");
	memory_free(&p->mem);
	free(p);
}

static struct slot *free_slot(struct peer *p)
{
	int i;

	for (i = SLOTS; i < 2 * SLOTS; i++)
		if (!p->slot[i].busy)
			return &p->slot[i];
	return NULL;
}

/* ---- Events of DAT ---- */

static void got_request(struct loop *l, DAT_CR_HANDLE cr)
{
	struct peer *p;
	DAT_RETURN rc;

	if (l->peers == MAX_PEERS || l->ending) {
		check(dat_cr_reject(cr), "reject a client");
		return;
	}
	p = new_peer(l);
	rc = dat_cr_accept(cr, p->ep, 0, NULL);
	if (rc == DAT_SUCCESS)
		return;
	complain("cannot accept a client: %s", rc_name(rc));
	check(dat_cr_reject(cr), "reject a client");
	free_peer(l, p);
}

static void got_connection_event(struct loop *l, const DAT_EVENT *event)
{
	DAT_EP_HANDLE ep = event->event_data.connect_event_data.ep_handle;
	DAT_CONTEXT context;
	struct peer *p;

	check(dat_get_consumer_context(ep, &context), "get a context");
	p = context.as_ptr;
	if (event->event_number == DAT_CONNECTION_EVENT_ESTABLISHED) {
		p->up = 1;
		printf("[%u] is here\n", p->number);
		return;
	}
	/* Every other connection event is the last event of its endpoint. */
	if (event->event_number != DAT_CONNECTION_EVENT_DISCONNECTED) {
		complain("[%u]: %s", p->number, event_name(event->event_number));
		l->failed |= !!l->opt->host;
	}
	p->up = 0;
	p->gone = 1;
}

static void got_completion(const DAT_DTO_COMPLETION_EVENT_DATA *dto)
{
	struct slot *s = dto->user_cookie.as_ptr;
	struct peer *p = s->peer;

	s->busy = 0;
	p->outstanding--;
	p->sending -= s->outgoing;
	if (dto->status == DAT_DTO_ERR_FLUSHED)
		return;
	if (dto->status != DAT_DTO_SUCCESS) {
		complain("[%u]: %s", p->number, status_name(dto->status));
		return;
	}
	if (s->outgoing)
		return;
	printf("[%u] %.*s", p->number, (int)dto->transfered_length, p->mem.va + s->at);
	/*
	 * Post the buffer again.  If the connection has ended, the receive is flushed, and this
	 * function handles its completion too.
	 */
	post_slot(s, TEXT);
}

static void drain(struct loop *l, DAT_EVD_HANDLE evd)
{
	DAT_EVENT event;
	DAT_RETURN rc;

	while ((rc = dat_evd_dequeue(evd, &event)) == DAT_SUCCESS) {
		if (event.event_number == DAT_CONNECTION_REQUEST_EVENT)
			got_request(l, event.event_data.cr_arrival_event_data.cr_handle);
		else if (event.event_number == DAT_DTO_COMPLETION_EVENT)
			got_completion(&event.event_data.dto_completion_event_data);
		else if (evd == l->connections)
			got_connection_event(l, &event);
		else
			die("async event %#x", (unsigned int)event.event_number);
	}
	if (DAT_GET_TYPE(rc) != DAT_QUEUE_EMPTY)
		check(rc, "dequeue");
}

/*
 * Reset the trigger of the CNO, then empty all EVDs.  In this order, an event that arrives later
 * triggers the CNO again.  Empty all EVDs, because dat_cno_wait() names only one of them.
 */
static void got_trigger(struct loop *l)
{
	DAT_EVD_HANDLE hint;
	DAT_RETURN rc = dat_cno_wait(l->cno, 0, &hint);

	if (rc != DAT_SUCCESS && DAT_GET_TYPE(rc) != DAT_QUEUE_EMPTY)
		check(rc, "wait for the CNO");
	drain(l, l->connections);
	drain(l, l->messages);
	drain(l, l->node.async);
}

/* ---- The loop ---- */

static void watch(struct loop *l, int fd, int op, uint32_t events)
{
	struct epoll_event ev = { .events = events, .data.fd = fd };

	if (!epoll_ctl(l->epoll, op, fd, &ev))
		return;
	if (errno == EPERM && fd == STDIN_FILENO)
		die("standard input must be a terminal or a pipe");
	die("epoll_ctl: %s", strerror(errno));
}

static void set_timer(struct loop *l)
{
	struct itimerspec limit = { .it_value.tv_sec = l->opt->number };

	if (timerfd_settime(l->timer, 0, &limit, NULL))
		die("timerfd_settime: %s", strerror(errno));
}

/*
 * Watch standard input only while every peer has a free send buffer.  Otherwise the input stays in
 * the pipe, and the program that writes to the pipe has to wait.
 */
static void read_when_there_is_room(struct loop *l)
{
	int room = !l->ending && (!l->opt->host || l->peer[0]->up);
	unsigned int i;

	for (i = 0; i < l->peers; i++)
		room = room && (!l->peer[i]->up || free_slot(l->peer[i]));
	/*
	 * Remove standard input from epoll, because epoll reports a closed pipe even if no events
	 * are requested.
	 */
	if (room != l->reading)
		watch(l, STDIN_FILENO, room ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, EPOLLIN);
	l->reading = room;
}

static void got_input(struct loop *l)
{
	char text[TEXT];
	ssize_t len = read(STDIN_FILENO, text, sizeof(text));
	struct slot *s;
	unsigned int i;

	if (len < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (len < 0)
		die("standard input: %s", strerror(errno));
	l->ending = !len;
	for (i = 0; len && i < l->peers; i++) {
		if (!l->peer[i]->up)
			continue;
		s = free_slot(l->peer[i]);
		memcpy(l->peer[i]->mem.va + s->at, text, (size_t)len);
		post_slot(s, (size_t)len);
	}
}

/* After the end of the input, disconnect the peers.  Free the peers whose connection has ended. */
static void reap(struct loop *l)
{
	unsigned int i;

	for (i = l->peers; i-- > 0; ) {
		struct peer *p = l->peer[i];

		if (l->ending && p->up && !p->sending) {
			check(dat_ep_disconnect(p->ep, DAT_CLOSE_GRACEFUL_FLAG), "disconnect");
			p->up = 0;
		}
		/*
		 * Free a peer only if no post is outstanding.  The completions of its last messages
		 * may still be queued, because the EVD of messages is drained after the EVD of
		 * connections.
		 */
		if (p->gone && !p->outstanding) {
			printf("[%u] is gone\n", p->number);
			free_peer(l, p);
		}
	}
}

static void run(struct loop *l)
{
	struct epoll_event ev[8];
	int i, n;

	set_timer(l);
	for (;;) {
		reap(l);
		if (!l->peers && (l->ending || l->opt->host))
			return;
		read_when_there_is_room(l);
		n = epoll_wait(l->epoll, ev, 8, -1);
		if (n < 0 && errno != EINTR)
			die("epoll_wait: %s", strerror(errno));
		set_timer(l);
		for (i = 0; i < n; i++) {
			if (ev[i].data.fd == l->timer)
				die("nothing happened for %u s", l->opt->number);
			else if (ev[i].data.fd == l->cno_fd)
				got_trigger(l);
			else if (ev[i].data.fd == l->requests_fd)
				drain(l, l->requests);
			else
				got_input(l);
		}
	}
}

static void open_dat(struct loop *l)
{
	DAT_IA_HANDLE *ia = &l->node.ia;

	node_open(&l->node, l->opt->device);
	check(dat_cno_create(*ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &l->cno), "make a CNO");
	/* Each EVD has room for all events that may be queued at a time. */
	check(dat_evd_create(*ia, REQUESTS, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &l->requests),
	      "make an EVD");
	check(dat_evd_create(*ia, 2 * MAX_PEERS, l->cno, DAT_EVD_CONNECTION_FLAG,
			     &l->connections), "make an EVD");
	check(dat_evd_create(*ia, 2 * SLOTS * MAX_PEERS, l->cno, DAT_EVD_DTO_FLAG,
			     &l->messages), "make an EVD");
	/* dat_ia_open() has created the async EVD without a CNO, so attach it to the CNO here. */
	check(dat_evd_modify_cno(l->node.async, l->cno), "attach the async EVD");
	check(dat_linux_cno_fd(l->cno, &l->cno_fd), "get the descriptor of the CNO");
	check(dat_linux_evd_fd(l->requests, &l->requests_fd), "get the descriptor of an EVD");
}

static void close_dat(struct loop *l)
{
	close(l->cno_fd);
	close(l->requests_fd);
	if (l->psp != DAT_HANDLE_NULL)
		check(dat_psp_free(l->psp), "stop listening");
	check(dat_evd_modify_cno(l->node.async, DAT_HANDLE_NULL), "detach the async EVD");
	check(dat_evd_free(l->requests), "free an EVD");
	check(dat_evd_free(l->connections), "free an EVD");
	check(dat_evd_free(l->messages), "free an EVD");
	check(dat_cno_free(l->cno), "free the CNO");
	node_close(&l->node);
}

int main(int argc, char **argv)
{
	struct options opt;
	struct loop l = { .opt = &opt, .psp = DAT_HANDLE_NULL };
	struct peer *server;

	setlinebuf(stdout);
	parse_options(argc, argv, usage, "idle", &opt);
	open_dat(&l);
	l.epoll = epoll_create1(EPOLL_CLOEXEC);
	l.timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (l.epoll < 0 || l.timer < 0)
		die("epoll or timerfd: %s", strerror(errno));
	watch(&l, l.timer, EPOLL_CTL_ADD, EPOLLIN);
	watch(&l, l.cno_fd, EPOLL_CTL_ADD, EPOLLIN);
	watch(&l, l.requests_fd, EPOLL_CTL_ADD, EPOLLIN);
	if (opt.host) {
		server = new_peer(&l);
		start_connect(server->ep, opt.host, opt.port);
	} else {
		check(dat_psp_create(l.node.ia, opt.port, l.requests, DAT_PSP_CONSUMER_FLAG,
				     &l.psp), "listen");
		printf("listening at port %u of %s\n", opt.port, l.node.name);
	}
	run(&l);
	close_dat(&l);
	close(l.epoll);
	close(l.timer);
	return l.failed;
}
