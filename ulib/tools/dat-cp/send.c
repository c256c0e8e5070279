// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/* The sender of dat-cp.  It uses one connection, and sends one file after the other. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../common/text.h"
#include "cp.h"

/*
 * Cookies: a number below RECVS is the index of a receive.  The other values mark sends and writes.
 */
#define RECVS		(CP_SLOTS + 4)
#define SENDS		(CP_SLOTS + 4)
#define COOKIE_SEND	0x100
#define COOKIE_WRITE	0x200

/*
 * struct sender - the connection
 * @tool: adapter
 * @ep: endpoint
 * @data: CP_SLOTS buffers to write from, one per slot of the receiver
 * @out: SENDS messages to send from, used in turn
 * @in: RECVS messages to receive into
 * @peer: addresses and keys of the receiver's slots
 * @credits: numbers of the slots that may be written
 * @ncredits: number of elements used in @credits
 * @out_next: index of the next message in @out
 * @out_busy: number of messages in flight
 * @result: last RESULT message of the receiver
 * @have_result: flag: @result has arrived for the present file
 */
struct sender {
	struct tool		tool;
	DAT_EP_HANDLE		ep;
	struct tool_mem		data;
	struct tool_mem		out;
	struct tool_mem		in;
	DAT_RMR_TRIPLET		peer[CP_SLOTS];
	uint32_t		credits[CP_SLOTS];
	unsigned int		ncredits;
	unsigned int		out_next;
	unsigned int		out_busy;
	struct cp_msg		result;
	int			have_result;
};

/*
 * struct outgoing - a file being sent
 * @path: its name
 * @fd: its descriptor
 * @mode: its permission bits
 * @size: its size when it was opened, which need not be the number of bytes that can be read
 * @sent: bytes sent
 * @ended: flag: all of the file was read
 * @sha: SHA-256 of the bytes sent
 * @progress: progress, on a terminal
 */
struct outgoing {
	const char		*path;
	int			fd;
	mode_t			mode;
	uint64_t		size;
	uint64_t		sent;
	int			ended;
	EVP_MD_CTX		*sha;
	struct cp_progress	progress;
};

static void post_recv(struct sender *s, unsigned int i)
{
	DAT_LMR_TRIPLET seg = tool_seg(&s->in, i * sizeof(struct cp_msg),
				       sizeof(struct cp_msg));

	tool_check(dat_ep_post_recv(s->ep, 1, &seg, tool_cookie(i), DAT_COMPLETION_DEFAULT_FLAG),
		   "cannot post a receive");
}

static void got_credit(struct sender *s, const struct cp_msg *m)
{
	uint32_t slot = ntohl(m->slot);

	if (slot >= CP_SLOTS || s->ncredits == CP_SLOTS || be64toh(m->size) != CP_SLOT_SIZE)
		tool_die("the receiver granted a buffer that makes no sense");
	s->peer[slot] = (DAT_RMR_TRIPLET) {
		.rmr_context = ntohl(m->rkey), .target_address = be64toh(m->addr),
		.segment_length = CP_SLOT_SIZE,
	};
	s->credits[s->ncredits++] = slot;
}

static void got_message(struct sender *s, const struct cp_msg *m)
{
	switch (ntohl(m->type)) {
	case CP_CREDIT:
		got_credit(s, m);
		break;
	case CP_RESULT:
		s->result = *m;
		s->result.text[CP_NAME_MAX] = 0;
		text_clean(s->result.text, 0);
		s->have_result = 1;
		break;
	default:
		tool_die("the receiver sent a message of unknown type %u", ntohl(m->type));
	}
}

/* Wait for one event and handle it.  Exits if no event arrives within @limit_ms milliseconds. */
static void pump(struct sender *s, unsigned int limit_ms)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *dto;
	DAT_EVENT event;
	uint64_t what;

	if (!tool_event(&s->tool, 0, limit_ms, &event))
		tool_die("the receiver has been silent for %u s: giving up", limit_ms / 1000);
	if (event.event_number != DAT_DTO_COMPLETION_EVENT)
		tool_die("the connection ended before the file was through: %s",
			 tool_event_name(event.event_number));
	dto = &event.event_data.dto_completion_event_data;
	if (dto->status != DAT_DTO_SUCCESS)
		tool_die("the transfer failed: %s", tool_dto_name(dto->status));
	what = dto->user_cookie.as_64;
	if (what < RECVS) {
		if (dto->transfered_length != sizeof(struct cp_msg))
			tool_die("the receiver sent a message of a wrong length");
		got_message(s, (struct cp_msg *)s->in.va + what);
		post_recv(s, (unsigned int)what);
	} else {
		s->out_busy--;
	}
}

/*
 * Wait until the next message is free, and return it for the caller to fill.  Sends complete in
 * order, so the messages are used in turn.
 */
static struct cp_msg *next_message(struct sender *s)
{
	struct cp_msg *m;

	while (s->out_busy == SENDS)
		pump(s, CP_SILENCE_MS);
	m = (struct cp_msg *)s->out.va + s->out_next;
	memset(m, 0, sizeof(*m));
	return m;
}

static void send_message(struct sender *s)
{
	DAT_LMR_TRIPLET seg = tool_seg(&s->out, s->out_next * sizeof(struct cp_msg),
				       sizeof(struct cp_msg));

	tool_check(dat_ep_post_send(s->ep, 1, &seg, tool_cookie(COOKIE_SEND),
				    DAT_COMPLETION_DEFAULT_FLAG), "cannot send");
	s->out_next = (s->out_next + 1) % SENDS;
	s->out_busy++;
}

/*
 * The end of a file is where read() says so, and not at its size: a file in /proc has none, and one
 * in /sys has more than can be read.  A file that was truncated meanwhile is not the file that it
 * was at any time.
 */
static void reached_end(struct outgoing *o)
{
	struct stat st;

	if (fstat(o->fd, &st))
		tool_die("cannot read %s: %s", o->path, strerror(errno));
	if ((uint64_t)st.st_size < o->size)
		tool_die("%s became shorter while it was read", o->path);
	o->ended = 1;
}

/* Fill @to, or read up to the end of the file.  Returns the number of bytes. */
static size_t read_chunk(struct outgoing *o, char *to)
{
	size_t len = 0;
	ssize_t n;

	while (len < CP_SLOT_SIZE && !o->ended) {
		n = read(o->fd, to + len, CP_SLOT_SIZE - len);
		if (n < 0)
			tool_die("cannot read %s: %s", o->path, strerror(errno));
		len += (size_t)n;
		if (!n)
			reached_end(o);
	}
	return len;
}

/*
 * Send the next chunk of the file, if there is one.  A credit for a slot means that the receiver
 * has read the slot.  The RDMA write to the slot has then completed, so the local buffer with the
 * same number is free.
 */
static void send_chunk(struct sender *s, struct outgoing *o)
{
	uint32_t slot = s->credits[s->ncredits - 1];
	size_t offset = (size_t)slot * CP_SLOT_SIZE;
	size_t len = read_chunk(o, s->data.va + offset);
	DAT_LMR_TRIPLET seg;
	struct cp_msg *m;

	if (!len)
		return;
	s->ncredits--;
	EVP_DigestUpdate(o->sha, s->data.va + offset, len);
	m = next_message(s);
	seg = tool_seg(&s->data, offset, len);
	tool_check(dat_ep_post_rdma_write(s->ep, 1, &seg, tool_cookie(COOKIE_WRITE), &s->peer[slot],
					  DAT_COMPLETION_SUPPRESS_FLAG), "cannot write");
	m->type = htonl(CP_CHUNK);
	m->slot = htonl(slot);
	m->size = htobe64(len);
	send_message(s);
	o->sent += len;
	cp_progress_add(&o->progress, len);
}

static void offer(struct sender *s, struct outgoing *o, const char *as)
{
	const char *slash = strrchr(o->path, '/');
	const char *name = as ? as : slash ? slash + 1 : o->path;
	struct cp_msg *m;

	if (strlen(name) > CP_NAME_MAX)
		tool_die("the name of %s is longer than %d bytes", o->path, CP_NAME_MAX);
	m = next_message(s);
	m->type = htonl(CP_OFFER);
	m->mode = htonl(o->mode);
	strcpy(m->text, name);
	send_message(s);
	cp_progress_start(&o->progress, name, o->size, o->progress.quiet);
}

static int conclude(struct sender *s, struct outgoing *o)
{
	uint8_t digest[CP_DIGEST];
	char hex[2 * CP_DIGEST + 1];
	struct cp_msg *m = next_message(s);

	EVP_DigestFinal_ex(o->sha, digest, NULL);
	m->type = htonl(CP_DONE);
	m->size = htobe64(o->sent);
	memcpy(m->digest, digest, sizeof(digest));
	send_message(s);
	while (!s->have_result)
		pump(s, CP_RESULT_MS);
	cp_progress_end(&o->progress);
	if (be64toh(s->result.size)) {
		tool_warn("%s: the receiver says: %s", o->path, s->result.text);
		return 1;
	}
	if (memcmp(s->result.digest, digest, sizeof(digest))) {
		tool_warn("%s: the receiver's SHA-256 differs", o->path);
		return 1;
	}
	cp_hex(digest, hex);
	printf("sha256 %s  %s\n", hex, o->progress.name);
	fflush(stdout);
	return 0;
}

/*
 * Send a file.  Returns 0 if the file has arrived.  The receiver may refuse the file at any time if
 * it cannot store the file.
 */
static int send_file(struct sender *s, struct outgoing *o, const char *as)
{
	s->have_result = 0;
	offer(s, o, as);
	while (!o->ended && !s->have_result) {
		while (!s->ncredits && !s->have_result)
			pump(s, CP_SILENCE_MS);
		if (s->ncredits)
			send_chunk(s, o);
	}
	if (s->have_result) {
		cp_progress_end(&o->progress);
		tool_warn("%s: the receiver says: %s", o->path, s->result.text);
		return 1;
	}
	return conclude(s, o);
}

static int open_file(struct outgoing *o, const char *path, int quiet)
{
	struct stat st;

	*o = (struct outgoing) { .path = path, .progress.quiet = quiet };
	/* Use O_NONBLOCK, because open() of a FIFO would otherwise wait for a writer. */
	o->fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (o->fd < 0 || fstat(o->fd, &st)) {
		tool_warn("cannot open %s: %s", path, strerror(errno));
		if (o->fd >= 0)
			close(o->fd);
		return -1;
	}
	if (!S_ISREG(st.st_mode)) {
		tool_warn("%s is not a regular file", path);
		close(o->fd);
		return -1;
	}
	o->size = (uint64_t)st.st_size;
	o->mode = st.st_mode & 0777;
	o->sha = EVP_MD_CTX_new();
	if (!o->sha || !EVP_DigestInit_ex(o->sha, EVP_sha256(), NULL))
		tool_die("no SHA-256 in libcrypto");
	return 0;
}

static void connect_to(struct sender *s, const struct cp_opt *opt, const char *host)
{
	struct cp_hello hello = { htonl(CP_MAGIC), htonl(CP_VERSION) };
	struct tool_host server;
	unsigned int i;

	tool_host_find(&server, host);
	if (tool_open_for(&s->tool, opt->device, &server, 256) && !opt->quiet)
		fprintf(stderr, "dat-cp: %s, since %s is this host\n", s->tool.name, host);
	tool_alloc(&s->tool, &s->data, CP_SLOTS * CP_SLOT_SIZE, TOOL_LOCAL);
	tool_alloc(&s->tool, &s->out, SENDS * sizeof(struct cp_msg), TOOL_LOCAL);
	tool_alloc(&s->tool, &s->in, RECVS * sizeof(struct cp_msg), TOOL_LOCAL);
	s->ep = tool_ep(&s->tool, NULL, RECVS, SENDS + CP_SLOTS);
	do {
		for (i = 0; i < RECVS; i++)
			post_recv(s, i);
	} while (!tool_connect(&s->tool, s->ep, &server, opt->port, &hello, sizeof(hello)));
	tool_host_free(&server);
}

int cp_send_files(const struct cp_opt *opt, const char *host, const char *as,
		  char *const *files, int n)
{
	struct sender s = { 0 };
	struct outgoing o;
	int i, failed = 0;

	connect_to(&s, opt, host);
	for (i = 0; i < n && !failed; i++) {
		if (open_file(&o, files[i], opt->quiet)) {
			failed = 1;
			break;
		}
		failed = send_file(&s, &o, as);
		EVP_MD_CTX_free(o.sha);
		close(o.fd);
	}
	tool_close(&s.tool);
	return failed;
}
