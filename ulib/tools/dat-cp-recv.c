// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * dat-cp, the receiving side: any number of clients, one SRQ, one event queue.
 *
 * Nothing that a client says is believed: names lose their directories, sizes and
 * slots are checked, and a file gets its name when its digest is right.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dat-cp.h"

#define SRQ_DEPTH	256
#define SENDS		(CP_SLOTS + 4)
#define MAX_CLIENTS	64

/*
 * struct client - a connection
 * @out: SENDS messages, used in turn; @out_busy under way
 * @slots: CP_SLOTS buffers that the client may write when it has a credit
 * @granted: bit per slot: the client may write it
 * @fd: temporary file, or -1 between files
 * @refused: the rest of this file is ignored
 * @heard_ns: when it last said something
 */
struct client {
	struct server		*server;
	DAT_EP_HANDLE		ep;
	struct tool_mem		out;
	unsigned int		out_next;
	unsigned int		out_busy;
	struct tool_mem		slots;
	uint32_t		granted;
	int			fd;
	int			refused;
	uint64_t		heard_ns;
	char			name[CP_NAME_MAX + 1];
	char			temp[CP_NAME_MAX + 1];
	uint64_t		size;
	uint64_t		received;
	EVP_MD_CTX		*sha;
	struct cp_progress	progress;
};

/*
 * struct server - the receiver
 * @in: SRQ_DEPTH messages
 * @client: those who are connected, in the first places
 * @clients: how many they are
 * @served: clients that have gone
 * @failed: a file did not arrive
 */
struct server {
	const struct cp_opt	*opt;
	struct tool		tool;
	DAT_SRQ_HANDLE		srq;
	struct tool_mem		in;
	int			dir;
	struct client		*client[MAX_CLIENTS];
	unsigned int		clients;
	unsigned int		served;
	int			failed;
};

static DAT_DTO_COOKIE cookie(uint64_t n)
{
	DAT_DTO_COOKIE c = { .as_64 = n };

	return c;
}

#define COOKIE_SEND	0x10000

static void post_recv(struct server *v, uint64_t i)
{
	DAT_LMR_TRIPLET seg = tool_seg(&v->in, i * sizeof(struct cp_msg),
				       sizeof(struct cp_msg));

	tool_check(dat_srq_post_recv(v->srq, 1, &seg, cookie(i)), "cannot post a receive");
}

/* A client that doesn't leave room for answers has itself to blame. */
static struct cp_msg *next_message(struct client *c)
{
	struct cp_msg *m = (struct cp_msg *)c->out.va + c->out_next;

	if (c->out_busy == SENDS)
		return NULL;
	memset(m, 0, sizeof(*m));
	return m;
}

static void send_message(struct client *c)
{
	DAT_LMR_TRIPLET seg = tool_seg(&c->out, c->out_next * sizeof(struct cp_msg),
				       sizeof(struct cp_msg));

	/* It fails if the client has just gone: the event of that is on its way. */
	if (dat_ep_post_send(c->ep, 1, &seg, cookie(COOKIE_SEND),
			     DAT_COMPLETION_DEFAULT_FLAG) != DAT_SUCCESS)
		return;
	c->out_next = (c->out_next + 1) % SENDS;
	c->out_busy++;
}

static void hang_up(struct client *c, const char *why)
{
	tool_warn("dropping a client: %s", why);
	c->server->failed = 1;
	dat_ep_disconnect(c->ep, DAT_CLOSE_ABRUPT_FLAG);
}

static void grant(struct client *c, uint32_t slot)
{
	struct cp_msg *m = next_message(c);

	if (!m) {
		hang_up(c, "it takes no answers");
		return;
	}
	m->type = htonl(CP_CREDIT);
	m->slot = htonl(slot);
	m->size = htobe64(CP_SLOT_SIZE);
	m->addr = htobe64((uintptr_t)c->slots.va + (uint64_t)slot * CP_SLOT_SIZE);
	m->rkey = htonl(c->slots.rmr_context);
	send_message(c);
	c->granted |= 1U << slot;
}

static void close_file(struct client *c)
{
	if (c->fd < 0)
		return;
	close(c->fd);
	c->fd = -1;
	if (c->temp[0])
		unlinkat(c->server->dir, c->temp, 0);
	c->temp[0] = 0;
	EVP_MD_CTX_free(c->sha);
	c->sha = NULL;
}

/* Say no, once per file; the client stops sending. */
static void refuse(struct client *c, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static void refuse(struct client *c, const char *fmt, ...)
{
	struct cp_msg *m = next_message(c);
	va_list ap;

	close_file(c);
	c->refused = 1;
	c->server->failed = 1;
	if (!m) {
		hang_up(c, "it takes no answers");
		return;
	}
	m->type = htonl(CP_RESULT);
	m->size = htobe64(1);
	va_start(ap, fmt);
	vsnprintf(m->text, sizeof(m->text), fmt, ap);
	va_end(ap);
	tool_warn("%s: %s", c->name, m->text);
	send_message(c);
}

/* What is left of a name without its directories; 0 if that is nothing. */
static int clean_name(const char *from, char to[CP_NAME_MAX + 1])
{
	const char *slash = strrchr(from, '/');
	const char *base = slash ? slash + 1 : from;
	size_t i;

	snprintf(to, CP_NAME_MAX + 1, "%s", base);
	for (i = 0; to[i]; i++)
		if ((unsigned char)to[i] < 0x20 || to[i] == 0x7f)
			to[i] = '_';
	return to[0] && strcmp(to, ".") && strcmp(to, "..");
}

static void got_offer(struct client *c, const struct cp_msg *m)
{
	uint32_t slot;

	if (c->fd >= 0) {
		hang_up(c, "it offered a file in the middle of another");
		return;
	}
	c->refused = 0;
	c->received = 0;
	c->size = be64toh(m->size);
	if (!clean_name(m->text, c->name)) {
		strcpy(c->name, "(no name)");
		refuse(c, "that is no name for a file");
		return;
	}
	snprintf(c->temp, sizeof(c->temp), ".dat-cp.%d.%p", (int)getpid(), (void *)c);
	c->fd = openat(c->server->dir, c->temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	c->sha = EVP_MD_CTX_new();
	if (c->fd < 0 || !c->sha || !EVP_DigestInit_ex(c->sha, EVP_sha256(), NULL)) {
		refuse(c, "cannot create a file in %s: %s", c->server->opt->dir,
		       strerror(errno));
		return;
	}
	cp_progress_start(&c->progress, c->name, c->size, 1);
	for (slot = 0; slot < CP_SLOTS; slot++)
		if (!(c->granted & 1U << slot))
			grant(c, slot);
}

static int write_full(int fd, const char *from, size_t len)
{
	ssize_t n;

	while (len) {
		n = write(fd, from, len);
		if (n < 0)
			return -1;
		from += n;
		len -= (size_t)n;
	}
	return 0;
}

static void got_chunk(struct client *c, const struct cp_msg *m)
{
	uint32_t slot = ntohl(m->slot);
	uint64_t len = be64toh(m->size);
	const char *data = c->slots.va + (size_t)slot * CP_SLOT_SIZE;

	if (slot >= CP_SLOTS || !(c->granted & 1U << slot) || len > CP_SLOT_SIZE) {
		hang_up(c, "it used a buffer without a credit");
		return;
	}
	c->granted &= ~(1U << slot);
	if (c->fd < 0) {
		/* On its way while the file was refused. */
		if (!c->refused)
			hang_up(c, "it sent data of no file");
		return;
	}
	if (len > c->size - c->received) {
		refuse(c, "more data than was offered");
		return;
	}
	/* One pass over the data, so that what is hashed is what is written. */
	if (write_full(c->fd, data, len)) {
		refuse(c, "cannot write: %s", strerror(errno));
		return;
	}
	EVP_DigestUpdate(c->sha, data, len);
	c->received += len;
	grant(c, slot);
}

/* Give the file its name.  0, or the errno. */
static int keep_file(struct client *c)
{
	if (fsync(c->fd) || renameat(c->server->dir, c->temp, c->server->dir, c->name))
		return errno;
	c->temp[0] = 0;
	return 0;
}

static void got_done(struct client *c, const struct cp_msg *m)
{
	char hex[2 * CP_DIGEST + 1];
	uint8_t digest[CP_DIGEST];
	struct cp_msg *answer;
	int err;

	if (c->fd < 0)
		return;
	EVP_DigestFinal_ex(c->sha, digest, NULL);
	if (c->received != c->size) {
		refuse(c, "only %llu of %llu bytes came", (unsigned long long)c->received,
		       (unsigned long long)c->size);
		return;
	}
	if (memcmp(digest, m->digest, sizeof(digest))) {
		refuse(c, "the SHA-256 differs: the data changed on its way");
		return;
	}
	err = keep_file(c);
	if (err) {
		refuse(c, "cannot keep the file: %s", strerror(err));
		return;
	}
	close_file(c);
	cp_hex(digest, hex);
	printf("sha256 %s  %s\n", hex, c->name);
	fflush(stdout);
	answer = next_message(c);
	if (!answer) {
		hang_up(c, "it takes no answers");
		return;
	}
	answer->type = htonl(CP_RESULT);
	memcpy(answer->digest, digest, sizeof(digest));
	send_message(c);
}

static void got_message(struct client *c, struct cp_msg *m, uint64_t len)
{
	if (len != sizeof(*m)) {
		hang_up(c, "it sent a message of a wrong length");
		return;
	}
	m->text[CP_NAME_MAX] = 0;
	c->heard_ns = tool_now_ns();
	switch (ntohl(m->type)) {
	case CP_OFFER:
		got_offer(c, m);
		break;
	case CP_CHUNK:
		got_chunk(c, m);
		break;
	case CP_DONE:
		got_done(c, m);
		break;
	default:
		hang_up(c, "it sent a message of unknown type");
	}
}

static void client_destroy(struct client *c)
{
	if (c->ep)
		dat_ep_free(c->ep);
	tool_free(&c->out);
	tool_free(&c->slots);
	free(c);
}

/* Its connection is over. */
static void client_free(struct client *c)
{
	struct server *v = c->server;
	unsigned int i;

	if (c->fd >= 0) {
		tool_warn("%s: the client went away after %llu of %llu bytes", c->name,
			  (unsigned long long)c->received, (unsigned long long)c->size);
		v->failed = 1;
	}
	close_file(c);
	for (i = 0; v->client[i] != c; i++)
		;
	v->client[i] = v->client[--v->clients];
	v->served++;
	client_destroy(c);
}

static DAT_RETURN client_accept(struct client *c, DAT_CR_HANDLE cr)
{
	DAT_CONTEXT context = { .as_ptr = c };
	struct server *v = c->server;
	DAT_RETURN rc;

	rc = tool_try_alloc(&v->tool, &c->out, SENDS * sizeof(struct cp_msg));
	if (rc == DAT_SUCCESS)
		rc = tool_try_alloc(&v->tool, &c->slots, CP_SLOTS * CP_SLOT_SIZE);
	if (rc == DAT_SUCCESS)
		rc = tool_try_ep(&v->tool, v->srq, 0, SENDS, &c->ep);
	if (rc != DAT_SUCCESS)
		return rc;
	dat_set_consumer_context(c->ep, context);
	return dat_cr_accept(cr, c->ep, 0, NULL);
}

static void client_refuse(struct server *v, DAT_CR_HANDLE cr, const char *why)
{
	tool_warn("cannot accept a client: %s", why);
	dat_cr_reject(cr);
	v->failed = 1;
	v->served++;
}

/* Without the means for one more client the others go on. */
static void client_new(struct server *v, DAT_CR_HANDLE cr)
{
	struct client *c = calloc(1, sizeof(*c));
	DAT_RETURN rc;

	if (!c) {
		client_refuse(v, cr, "no memory");
		return;
	}
	c->server = v;
	c->fd = -1;
	c->heard_ns = tool_now_ns();
	rc = client_accept(c, cr);
	if (rc == DAT_SUCCESS) {
		v->client[v->clients++] = c;
		return;
	}
	client_refuse(v, cr, tool_strerror(rc));
	client_destroy(c);
}

/*
 * A dead host's connection would stand for ever.  To be called when nothing waits to be
 * read: until then a client that seems to be silent may have spoken.
 */
static void drop_silent(struct server *v)
{
	uint64_t now = tool_now_ns();
	unsigned int i;

	for (i = 0; i < v->clients; i++) {
		if (now - v->client[i]->heard_ns < CP_IDLE_MS * 1000000ULL)
			continue;
		v->client[i]->heard_ns = now;
		hang_up(v->client[i], "it is silent");
	}
}

static int hello_good(DAT_CR_HANDLE cr)
{
	struct cp_hello hello;
	DAT_CR_PARAM param;

	if (dat_cr_query(cr, DAT_CR_FIELD_ALL, &param) != DAT_SUCCESS ||
	    param.private_data_size < (DAT_COUNT)sizeof(hello))
		return 0;
	memcpy(&hello, param.private_data, sizeof(hello));
	return ntohl(hello.magic) == CP_MAGIC && ntohl(hello.version) == CP_VERSION;
}

static void got_request(struct server *v, const DAT_EVENT *event)
{
	DAT_CR_HANDLE cr = event->event_data.cr_arrival_event_data.cr_handle;

	if (v->clients == MAX_CLIENTS || !hello_good(cr)) {
		tool_warn("refusing a client: %s", v->clients == MAX_CLIENTS ?
			  "there are too many" : "it isn't dat-cp of this version");
		dat_cr_reject(cr);
		return;
	}
	client_new(v, cr);
}

static struct client *client_of(DAT_EP_HANDLE ep)
{
	DAT_CONTEXT context;

	return dat_get_consumer_context(ep, &context) == DAT_SUCCESS ? context.as_ptr : NULL;
}

static void got_completion(struct server *v, const DAT_DTO_COMPLETION_EVENT_DATA *dto)
{
	struct client *c = client_of(dto->ep_handle);
	uint64_t what = dto->user_cookie.as_64;

	if (what >= SRQ_DEPTH) {
		if (c)
			c->out_busy--;
		return;
	}
	if (c && dto->status == DAT_DTO_SUCCESS)
		got_message(c, (struct cp_msg *)v->in.va + what, dto->transfered_length);
	post_recv(v, what);
}

static void got_event(struct server *v, const DAT_EVENT *event)
{
	struct client *c;

	if (event->event_number == DAT_CONNECTION_REQUEST_EVENT) {
		got_request(v, event);
		return;
	}
	if (event->event_number == DAT_DTO_COMPLETION_EVENT) {
		got_completion(v, &event->event_data.dto_completion_event_data);
		return;
	}
	c = client_of(event->event_data.connect_event_data.ep_handle);
	if (c && event->event_number != DAT_CONNECTION_EVENT_ESTABLISHED)
		client_free(c);
}

static void server_open(struct server *v)
{
	DAT_SRQ_ATTR attr = { .max_recv_dtos = SRQ_DEPTH, .max_recv_iov = 1 };
	DAT_PSP_HANDLE psp;
	uint64_t i;

	v->dir = open(v->opt->dir, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	if (v->dir < 0)
		tool_die("cannot open the directory %s: %s", v->opt->dir, strerror(errno));
	tool_open(&v->tool, v->opt->device, 4096);
	tool_alloc(&v->tool, &v->in, SRQ_DEPTH * sizeof(struct cp_msg));
	tool_check(dat_srq_create(v->tool.ia, v->tool.pz, &attr, &v->srq),
		   "cannot make a shared receive queue");
	for (i = 0; i < SRQ_DEPTH; i++)
		post_recv(v, i);
	tool_check(dat_psp_create(v->tool.ia, v->opt->port, v->tool.evd, DAT_PSP_CONSUMER_FLAG,
				  &psp), "cannot listen");
	fprintf(stderr, "dat-cp: %s, waiting at port %u, files go to %s\n", v->tool.name,
		v->opt->port, v->opt->dir);
}

int cp_serve(const struct cp_opt *opt)
{
	struct server v = { .opt = opt };
	DAT_EVENT event;

	server_open(&v);
	while (!opt->once || !v.served) {
		if (dat_evd_dequeue(v.tool.evd, &event) == DAT_SUCCESS) {
			got_event(&v, &event);
			continue;
		}
		drop_silent(&v);
		if (tool_event(&v.tool, 0, CP_IDLE_MS / 8, &event))
			got_event(&v, &event);
	}
	tool_close(&v.tool);
	return v.failed;
}
