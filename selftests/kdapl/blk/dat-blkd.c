// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/*
 * dat-blkd: serve a file or a block device to dat_blk.ko.
 *
 * The main thread handles the events of all clients.  Another thread handles connection requests.
 * server.lock lets only one thread work at a time.  Each client has client.depth boxes and slots.
 * A box is a receive buffer for a request.  A slot carries out a request.  The server checks a
 * request in the slot's copy, which the untrusted client cannot change.
 *
 *	box: posted --request--> full --copied to a slot--> posted
 *
 *	slot: free --> READ: pread, RDMA write, send the reply ----------------+--> free
 *	         \----> WRITE: RDMA read --completion--> pwrite, send the reply -+
 *	          \---> FLUSH, DISCARD: do it, send the reply ------------------+
 *
 * A slot is free when the send of its reply has completed.  The client may receive the reply and
 * send the next request before that.  This request waits in its box until a slot is free.
 */
#define _GNU_SOURCE
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "common/tool.h"
#include "common/opt.h"
#include "dat-blkd.h"

#define MAX_CLIENTS	8
#define MAX_DEPTH	256
#define MAX_BYTES	(1024 * 1024)
/* limit for the memory of one client, so that a client cannot make the server pin more */
#define MAX_MEMORY	(32 * 1024 * 1024)
#define BLOCK_SIZE	512
#define MAX_FAULTS	64
/*
 * Length of the event queue: for each client, 1 event per box, 2 per slot, and 5 for the probe and
 * the connection.
 */
#define QLEN		(MAX_CLIENTS * (3 * MAX_DEPTH + 5))
/* length of the EVD for connection requests; a request that finds it full is refused */
#define DOOR_QLEN	16
/* Limit of bytes written before writeback starts, because a FLUSH waits for all writeback. */
#define MAX_DIRTY	(16 * 1024 * 1024)

static const char usage[] =
	"usage: dat-blkd [OPTION]... FILE\n"
	"Export FILE, a file or block device, to dat_blk.ko:\n"
	"  echo add rxe0 ADDRESS 5098 >/dev/dat_blk\n"
	"  -d, --device IA     adapter, such as rxe0 (default: the first)\n"
	"  -p, --port N        connection qualifier (default: 5098)\n"
	"  -r, --read-only     nobody may write\n"
	"      --probe N       look every N seconds if a silent client lives (30)\n"
	"      --fault NAME[,NAME]...\n"
	"                      for tests: do these wrong, for each client the next of them\n"
	"                      (list: what there is)\n"
	"      --after N       ... after N replies to it that are right\n"
	"  -h, --help          this text\n"
	"Exit status: 1 an error, 2 wrong usage; it does not end otherwise.\n";

struct options {
	char			*device;
	const char		*file;
	unsigned int		port;
	int			read_only;
	unsigned int		probe;
	const struct fault	*fault[MAX_FAULTS];
	unsigned int		faults;
	unsigned long		after;
};

/*
 * struct slot - state of a request while the server carries it out
 * @client: client that sent the request
 * @request: copy of the request; its fields have been checked
 * @index: index in client.slot
 * @reading: 1 while the RDMA read of a WRITE is in flight
 */
struct slot {
	struct client		*client;
	struct datblk_request	request;
	unsigned int		index;
	int			reading;
};

/*
 * struct client - a connection to a client
 * @server: server that the client is connected to
 * @ep: EP of the connection
 * @depth: maximum number of outstanding requests
 * @max_bytes: maximum data size of a request
 * @boxes: memory for @depth requests, each in a posted or a full box
 * @replies: memory for @depth replies, two messages long for each slot
 * @data: memory for data, @max_bytes for each slot
 * @slot: slots, of which the first @depth are used
 * @free: stack of free slots
 * @nfree: number of entries in @free
 * @full: ring of the indices of full boxes, which wait for a slot
 * @first: position of the oldest entry in @full
 * @nfull: number of entries in @full
 * @dropped: 1 after the server has disconnected the client; its completions are then ignored
 * @active: 1 if a completion has arrived since the last probe interval
 * @probing: 1 while a probe is in flight
 * @fault: fault to inject for this client, or NULL
 * @sent: number of replies so far; @fault starts after options.after of them
 */
struct client {
	struct server	*server;
	DAT_EP_HANDLE	ep;
	unsigned int	depth;
	unsigned int	max_bytes;
	struct tool_mem	boxes;
	struct tool_mem	replies;
	struct tool_mem	data;
	struct slot	slot[MAX_DEPTH];
	struct slot	*free[MAX_DEPTH];
	unsigned int	nfree;
	unsigned int	full[MAX_DEPTH];
	unsigned int	first;
	unsigned int	nfull;
	int		dropped;
	int		active;
	int		probing;
	const struct fault *fault;
	unsigned long	sent;
};

/*
 * struct server - state of this process
 * @opt: command line options
 * @tool: open adapter, with the EVD of all clients
 * @lock: serializes the threads; protects all fields and all clients
 * @door: EVD for connection requests
 * @fd: file that the server exports
 * @size: size that clients see in bytes; the file may grow later
 * @dirty: number of bytes written since file_wrote() last started writeback
 * @unsafe: 1 after a writeback error: data of any client may be lost
 * @can_discard: 1 if the file supports punching holes
 * @more_rights: access rights that data memory needs in addition to the local rights
 * @client: connected clients
 * @clients: number of entries in @client
 * @seen: number of clients so far, to give each the next fault
 */
struct server {
	const struct options	*opt;
	struct tool		tool;
	pthread_mutex_t		lock;
	DAT_EVD_HANDLE		door;
	int			fd;
	uint64_t		size;
	size_t			dirty;
	int			unsafe;
	int			can_discard;
	DAT_MEM_PRIV_FLAGS	more_rights;
	struct client		*client[MAX_CLIENTS];
	unsigned int		clients;
	unsigned long		seen;
};

/*
 * Cookies: the cookie of a receive is the index of its box.  The cookie of a slot's DTO is the
 * address of the slot.  The cookie of a probe is PROBE_COOKIE.
 */
#define PROBE_COOKIE	MAX_DEPTH

static DAT_DTO_COOKIE box_cookie(unsigned int box)
{
	return (DAT_DTO_COOKIE) { .as_64 = box };
}

static DAT_DTO_COOKIE slot_cookie(struct slot *s)
{
	return (DAT_DTO_COOKIE) { .as_ptr = s };
}

static void hang_up(struct client *c, const char *why)
{
	tool_warn("dropping a client: %s", why);
	c->dropped = 1;
	dat_ep_disconnect(c->ep, DAT_CLOSE_ABRUPT_FLAG);
}

/*
 * Return 1 if the post succeeded.  A post on a closed connection fails with DAT_INVALID_STATE.
 * Ignore this error, because an event reports the close.
 */
static int posted(struct client *c, DAT_RETURN rc)
{
	if (rc == DAT_SUCCESS)
		return 1;
	if (DAT_GET_TYPE(rc) != DAT_INVALID_STATE)
		hang_up(c, tool_strerror(rc));
	return 0;
}

/* ---- The file ---- */

static int errno_status(int err)
{
	switch (err) {
	case ENOSPC:
	case EDQUOT:
		return DATBLK_ENOSPC;
	case EROFS:
		return DATBLK_EROFS;
	case EOPNOTSUPP:
		return DATBLK_EOPNOTSUPP;
	default:
		return DATBLK_EIO;
	}
}

static int file_read(int fd, char *to, size_t len, uint64_t offset)
{
	ssize_t n;

	while (len) {
		n = pread(fd, to, len, (off_t)offset);
		if (n < 0 && errno == EINTR)
			continue;
		/* If pread() returns 0 within the exported size, the file was truncated. */
		if (n <= 0)
			return DATBLK_EIO;
		to += n;
		offset += (uint64_t)n;
		len -= (size_t)n;
	}
	return DATBLK_OK;
}

/*
 * Handle a writeback error.  The kernel reports it once and does not say which data were lost.  So
 * from then on every FLUSH of every client fails.
 */
static int file_unsafe(struct server *v, int err)
{
	tool_warn("%s: what was written may be lost: %s", v->opt->file, strerror(err));
	v->unsafe = 1;
	return errno_status(err);
}

static int file_flush(struct server *v)
{
	if (v->unsafe)
		return DATBLK_EIO;
	v->dirty = 0;
	return fdatasync(v->fd) ? file_unsafe(v, errno) : DATBLK_OK;
}

/*
 * After every MAX_DIRTY bytes, wait for the previous writeback, then start the next.  So a FLUSH
 * waits for at most 2 * MAX_DIRTY bytes and completes before the client times out.
 */
static void file_wrote(struct server *v, size_t len)
{
	v->dirty += len;
	if (v->dirty < MAX_DIRTY)
		return;
	v->dirty = 0;
	/* ESPIPE: @fd is not a regular file, block device or directory, and has no dirty pages. */
	if (sync_file_range(v->fd, 0, 0, SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE) &&
	    errno != ESPIPE)
		file_unsafe(v, errno);
}

static int file_write(int fd, const char *from, size_t len, uint64_t offset, int fua)
{
	struct iovec iov;
	ssize_t n;

	while (len) {
		iov = (struct iovec) { (void *)from, len };
		n = pwritev2(fd, &iov, 1, (off_t)offset, fua ? RWF_DSYNC : 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? errno_status(errno) : DATBLK_EIO;
		from += n;
		offset += (uint64_t)n;
		len -= (size_t)n;
	}
	return DATBLK_OK;
}

static int file_discard(int fd, uint64_t offset, uint64_t len)
{
	if (fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)offset,
		      (off_t)len))
		return errno_status(errno);
	return DATBLK_OK;
}

static void file_open(struct server *v)
{
	int flags = v->opt->read_only ? O_RDONLY : O_RDWR;
	struct stat st;
	off_t size;

	/* O_EXCL refuses a block device that is mounted. */
	if (!v->opt->read_only && !stat(v->opt->file, &st) && S_ISBLK(st.st_mode))
		flags |= O_EXCL;
	v->fd = open(v->opt->file, flags | O_CLOEXEC);
	if (v->fd < 0)
		tool_die("cannot open %s: %s", v->opt->file, strerror(errno));
	size = lseek(v->fd, 0, SEEK_END);
	if (size < BLOCK_SIZE)
		tool_die("%s has no block of %u bytes", v->opt->file, BLOCK_SIZE);
	v->size = (uint64_t)size / BLOCK_SIZE * BLOCK_SIZE;
	/* Probe for hole punching after the end of the file, where no data can be lost. */
	v->can_discard = !v->opt->read_only &&
			 file_discard(v->fd, (uint64_t)size, BLOCK_SIZE) == DATBLK_OK;
}

/* ---- Requests ---- */

static int box_post(struct client *c, unsigned int box)
{
	DAT_LMR_TRIPLET seg = tool_seg(&c->boxes, box * sizeof(struct datblk_request),
				       sizeof(struct datblk_request));

	return posted(c, dat_ep_post_recv(c->ep, 1, &seg, box_cookie(box),
					  DAT_COMPLETION_DEFAULT_FLAG));
}

static char *slot_data(const struct slot *s)
{
	return s->client->data.va + (size_t)s->index * s->client->max_bytes;
}

static int reply_send(struct slot *s, size_t len, int signalled)
{
	struct client *c = s->client;
	/* Each slot has memory for two replies, because a fault may send a longer message. */
	DAT_LMR_TRIPLET seg = tool_seg(&c->replies, s->index * 2 * sizeof(struct datblk_reply),
				       len);

	return posted(c, dat_ep_post_send(c->ep, 1, &seg, slot_cookie(s), signalled ?
					  DAT_COMPLETION_DEFAULT_FLAG :
					  DAT_COMPLETION_SUPPRESS_FLAG));
}

static const struct fault *fault_now(const struct client *c)
{
	return c->sent > c->server->opt->after ? c->fault : NULL;
}

static void reply(struct slot *s, int status)
{
	struct client *c = s->client;
	struct datblk_reply *r = (struct datblk_reply *)c->replies.va + 2 * s->index;
	const struct fault *f;
	unsigned int i;

	memset(r, 0, sizeof(*r));
	r->magic = htole16(DATBLK_MAGIC);
	r->version = DATBLK_VERSION;
	r->op = s->request.op;
	r->status = htole32((uint32_t)status);
	r->tag = s->request.tag;
	r->length = status == DATBLK_OK ? s->request.length : 0;
	c->sent++;
	f = fault_now(c);
	if (!f) {
		reply_send(s, sizeof(*r), 1);
		return;
	}
	if (f->reply)
		f->reply(r);
	for (i = 0; i < f->copies; i++)
		reply_send(s, f->length, i + 1 == f->copies);
}

static DAT_RMR_TRIPLET client_memory(const struct slot *s)
{
	return (DAT_RMR_TRIPLET) {
		.rmr_context = le32toh(s->request.rkey),
		.target_address = le64toh(s->request.addr),
		.segment_length = le32toh(s->request.length),
	};
}

static void do_read(struct slot *s)
{
	uint32_t len = le32toh(s->request.length);
	DAT_RMR_TRIPLET to = client_memory(s);
	struct client *c = s->client;
	DAT_LMR_TRIPLET from;
	int status;

	status = file_read(c->server->fd, slot_data(s), len, le64toh(s->request.offset));
	from = tool_seg(&c->data, (size_t)s->index * c->max_bytes, len);
	/* The EP executes DTOs in order, so the data arrive before the reply. */
	if (status == DATBLK_OK &&
	    !posted(c, dat_ep_post_rdma_write(c->ep, 1, &from, slot_cookie(s), &to,
					      DAT_COMPLETION_SUPPRESS_FLAG)))
		return;
	reply(s, status);
}

static void do_write(struct slot *s)
{
	DAT_RMR_TRIPLET from = client_memory(s);
	struct client *c = s->client;
	DAT_LMR_TRIPLET to;

	to = tool_seg(&c->data, (size_t)s->index * c->max_bytes, le32toh(s->request.length));
	s->reading = 1;
	posted(c, dat_ep_post_rdma_read(c->ep, 1, &to, slot_cookie(s), &from,
					DAT_COMPLETION_DEFAULT_FLAG));
}

/* Finish a WRITE, whose data have arrived by RDMA read. */
static void end_write(struct slot *s)
{
	int fua = le32toh(s->request.flags) & DATBLK_FUA;
	struct server *v = s->client->server;
	uint32_t len = le32toh(s->request.length);
	int status;

	s->reading = 0;
	status = file_write(v->fd, slot_data(s), len, le64toh(s->request.offset), fua);
	if (fua && status == DATBLK_EIO)
		v->unsafe = 1;
	if (!fua)
		file_wrote(v, len);
	reply(s, fua && v->unsafe ? DATBLK_EIO : status);
}

static void do_flush(struct slot *s)
{
	reply(s, file_flush(s->client->server));
}

static void do_discard(struct slot *s)
{
	struct server *v = s->client->server;

	reply(s, v->can_discard ? file_discard(v->fd, le64toh(s->request.offset),
					       le32toh(s->request.length)) :
				  DATBLK_EOPNOTSUPP);
}

static const struct op {
	void	(*run)(struct slot *s);
	int	has_range;
	int	has_data;
	int	writes;
} ops[] = {
	[DATBLK_READ]		= { .run = do_read, .has_range = 1, .has_data = 1 },
	[DATBLK_WRITE]		= { .run = do_write, .has_range = 1, .has_data = 1, .writes = 1 },
	[DATBLK_FLUSH]		= { .run = do_flush },
	[DATBLK_DISCARD]	= { .run = do_discard, .has_range = 1, .writes = 1 },
};

#define NOPS	(sizeof(ops) / sizeof(ops[0]))

/* Return the reason why the request in a slot is invalid, or NULL. */
static const char *request_bad(const struct slot *s)
{
	uint64_t offset = le64toh(s->request.offset), size = s->client->server->size;
	uint32_t len = le32toh(s->request.length);
	const struct op *op;

	if (le16toh(s->request.magic) != DATBLK_MAGIC || s->request.version != DATBLK_VERSION)
		return "its request is of another protocol";
	if (s->request.op >= NOPS || !ops[s->request.op].run)
		return "its request is of an unknown kind";
	op = &ops[s->request.op];
	if (le32toh(s->request.flags) & ~(s->request.op == DATBLK_WRITE ? DATBLK_FUA : 0U))
		return "its request has unknown flags";
	if (op->has_range ? !len : len || offset)
		return "its request has a wrong length";
	if (offset % BLOCK_SIZE || len % BLOCK_SIZE || offset > size || len > size - offset)
		return "its request is outside of the device";
	if (op->has_data && len > s->client->max_bytes)
		return "its request is too long";
	return NULL;
}

static void slot_start(struct slot *s)
{
	const char *bad = request_bad(s);
	const struct op *op;

	if (bad) {
		hang_up(s->client, bad);
		return;
	}
	op = &ops[s->request.op];
	if (op->writes && s->client->server->opt->read_only)
		reply(s, DATBLK_EROFS);
	else
		op->run(s);
}

/*
 * Copy the request from a full box to a free slot, post the box again, and start the request.  The
 * box must be posted before the start, because the client may send its next request as soon as it
 * gets the reply.
 */
static void box_empty(struct client *c, unsigned int box)
{
	struct slot *s = c->free[--c->nfree];

	memcpy(&s->request, (struct datblk_request *)c->boxes.va + box, sizeof(s->request));
	if (box_post(c, box))
		slot_start(s);
}

static void got_request(struct client *c, unsigned int box, uint64_t len)
{
	if (len != sizeof(struct datblk_request)) {
		hang_up(c, "its request has a wrong length");
		return;
	}
	if (c->nfree) {
		box_empty(c, box);
		return;
	}
	c->full[(c->first + c->nfull++) % c->depth] = box;
}

static void slot_done(struct slot *s)
{
	struct client *c = s->client;
	unsigned int box;

	if (s->reading) {
		end_write(s);
		return;
	}
	c->free[c->nfree++] = s;
	if (!c->nfull)
		return;
	box = c->full[c->first];
	c->first = (c->first + 1) % c->depth;
	c->nfull--;
	box_empty(c, box);
}

/* ---- Clients ---- */

/*
 * Allocate the memory of a client.  All rights are local, so that the client cannot access memory
 * of this process.  Only data memory needs more rights, if the adapter sets
 * rdma_write_for_rdma_read_req.
 */
static DAT_RETURN client_memory_alloc(struct client *c)
{
	const DAT_MEM_PRIV_FLAGS local = DAT_MEM_PRIV_LOCAL_READ_FLAG |
					 DAT_MEM_PRIV_LOCAL_WRITE_FLAG;
	const size_t data = (size_t)c->depth * c->max_bytes;
	struct tool *t = &c->server->tool;
	DAT_RETURN rc;

	rc = tool_try_alloc(t, &c->boxes, c->depth * sizeof(struct datblk_request), local);
	if (rc == DAT_SUCCESS)
		rc = tool_try_alloc(t, &c->replies,
				    c->depth * 2 * sizeof(struct datblk_reply), local);
	/*
	 * Add a page that is never used.  Until Linux 6.3, rxe reads one entry beyond the last page
	 * of an LMR.  If the length of the LMR is a whole number of MiB, the page table is full and
	 * has no such entry.
	 */
	if (rc == DAT_SUCCESS)
		rc = tool_try_alloc(t, &c->data, data + 4096, local | c->server->more_rights);
	return rc;
}

static void client_add(struct server *v, struct client *c)
{
	v->client[v->clients++] = c;
}

static void client_del(struct server *v, const struct client *c)
{
	unsigned int i;

	for (i = 0; v->client[i] != c; i++)
		;
	v->client[i] = v->client[--v->clients];
}

static void client_free(struct client *c)
{
	if (c->ep)
		dat_ep_free(c->ep);
	tool_free(&c->boxes);
	tool_free(&c->replies);
	tool_free(&c->data);
	free(c);
}

static DAT_RETURN client_prepare(struct client *c)
{
	struct tool *t = &c->server->tool;
	DAT_CONTEXT context = { .as_ptr = c };
	unsigned int i;
	DAT_RETURN rc;

	rc = client_memory_alloc(c);
	if (rc == DAT_SUCCESS)
		rc = tool_try_ep(t, NULL, (DAT_COUNT)c->depth, (DAT_COUNT)(2 * c->depth + 1),
				 &c->ep);
	if (rc != DAT_SUCCESS)
		return rc;
	dat_set_consumer_context(c->ep, context);
	for (i = 0; i < c->depth; i++) {
		c->slot[i].client = c;
		c->slot[i].index = i;
		c->free[c->nfree++] = &c->slot[i];
		box_post(c, i);
	}
	return DAT_SUCCESS;
}

static DAT_RETURN client_accept(struct client *c, DAT_CR_HANDLE cr)
{
	struct server *v = c->server;
	struct datblk_export e = {
		.magic = htole16(DATBLK_MAGIC), .version = htole16(DATBLK_VERSION),
		.depth = htole32(c->depth), .max_bytes = htole32(c->max_bytes),
		.block_size = htole32(BLOCK_SIZE), .size = htole64(v->size),
		.flags = htole32((v->opt->read_only ? DATBLK_EXPORT_READ_ONLY : 0U) |
				 (v->can_discard ? DATBLK_EXPORT_DISCARD : 0U)),
	};
	DAT_RETURN rc;

	if (c->fault && c->fault->export)
		c->fault->export(&e);
	rc = client_prepare(c);
	if (rc != DAT_SUCCESS)
		return rc;
	return dat_cr_accept(cr, c->ep, sizeof(e), &e);
}

static int hello_read(DAT_CR_HANDLE cr, struct datblk_hello *hello)
{
	DAT_CR_PARAM param;

	if (dat_cr_query(cr, DAT_CR_FIELD_ALL, &param) != DAT_SUCCESS ||
	    param.private_data_size < (DAT_COUNT)sizeof(*hello))
		return 0;
	memcpy(hello, param.private_data, sizeof(*hello));
	return le16toh(hello->magic) == DATBLK_MAGIC &&
	       le16toh(hello->version) == DATBLK_VERSION && le32toh(hello->depth) >= 1 &&
	       le32toh(hello->max_bytes) >= 4096 && !hello->reserved;
}

static unsigned int at_most(uint32_t n, unsigned int max)
{
	return n < max ? n : max;
}

/* Return a client that is not connected yet, or NULL with the reason in @why. */
static struct client *client_new(struct server *v, DAT_CR_HANDLE cr, const char **why)
{
	struct datblk_hello hello;
	struct client *c;

	*why = "it speaks another protocol";
	if (!hello_read(cr, &hello))
		return NULL;
	*why = "there are too many";
	if (v->clients == MAX_CLIENTS)
		return NULL;
	*why = "no memory";
	c = calloc(1, sizeof(*c));
	if (!c)
		return NULL;
	c->server = v;
	if (v->opt->faults)
		c->fault = v->opt->fault[v->seen++ % v->opt->faults];
	c->max_bytes = at_most(le32toh(hello.max_bytes), MAX_BYTES) & ~4095U;
	c->depth = at_most(le32toh(hello.depth), at_most(MAX_DEPTH, MAX_MEMORY / c->max_bytes));
	return c;
}

static void got_connection_request(struct server *v, DAT_CR_HANDLE cr)
{
	const char *why;
	struct client *c = client_new(v, cr, &why);
	DAT_RETURN rc;

	if (c) {
		rc = client_accept(c, cr);
		if (rc == DAT_SUCCESS) {
			client_add(v, c);
			return;
		}
		why = tool_strerror(rc);
		client_free(c);
	}
	tool_warn("refusing a client: %s", why);
	dat_cr_reject(cr);
}

static struct client *client_of(DAT_EP_HANDLE ep)
{
	DAT_CONTEXT context;

	return dat_get_consumer_context(ep, &context) == DAT_SUCCESS ? context.as_ptr : NULL;
}

static void got_completion(const DAT_DTO_COMPLETION_EVENT_DATA *dto)
{
	struct client *c = client_of(dto->ep_handle);

	if (!c || c->dropped || dto->status == DAT_DTO_ERR_FLUSHED)
		return;
	c->active = 1;
	/* The error has ended the connection.  The event that reports the end follows. */
	if (dto->status != DAT_DTO_SUCCESS)
		tool_warn("a client: %s", tool_dto_name(dto->status));
	else if (dto->user_cookie.as_64 == PROBE_COOKIE)
		c->probing = 0;
	else if (dto->user_cookie.as_64 < MAX_DEPTH)
		got_request(c, (unsigned int)dto->user_cookie.as_64, dto->transfered_length);
	else
		slot_done(dto->user_cookie.as_ptr);
}

static void got_event(struct server *v, const DAT_EVENT *event)
{
	struct client *c;

	switch (event->event_number) {
	case DAT_DTO_COMPLETION_EVENT:
		got_completion(&event->event_data.dto_completion_event_data);
		break;
	case DAT_CONNECTION_EVENT_ESTABLISHED:
		printf("a client\n");
		break;
	default:
		/* This is the last event of a connection. */
		c = client_of(event->event_data.connect_event_data.ep_handle);
		if (!c)
			break;
		printf("a client has gone\n");
		client_del(v, c);
		client_free(c);
	}
}

/* ---- Clients that disappear without a disconnect ---- */

/*
 * Probe the connection with an RDMA write of 0 bytes, which needs no memory of the client.  The
 * connection breaks if no adapter acknowledges the write.  A client with outstanding requests needs
 * no probe, because the RDMA writes and replies for these detect a lost peer as well.
 */
static void client_probe(struct client *c)
{
	DAT_DTO_COOKIE cookie = { .as_64 = PROBE_COOKIE };
	DAT_RMR_TRIPLET nowhere = { 0 };

	if (c->active || c->probing || c->dropped || c->nfree < c->depth) {
		c->active = 0;
		return;
	}
	c->probing = dat_ep_post_rdma_write(c->ep, 0, NULL, cookie, &nowhere,
					    DAT_COMPLETION_DEFAULT_FLAG) == DAT_SUCCESS;
}

/*
 * Thread that probes idle clients, to drop those whose machines have crashed.  Without probes, such
 * clients would count against MAX_CLIENTS forever.
 */
static void *watch_clients(void *arg)
{
	struct server *v = arg;
	unsigned int i;

	for (;;) {
		sleep(v->opt->probe);
		pthread_mutex_lock(&v->lock);
		for (i = 0; i < v->clients; i++)
			client_probe(v->client[i]);
		pthread_mutex_unlock(&v->lock);
	}
	return NULL;
}

/* ---- Options ---- */

static void list_faults(void)
{
	const struct fault *f;

	for (f = faults; f->name; f++)
		puts(f->name);
	exit(0);
}

static void fault_option(struct options *opt, char *names)
{
	const struct fault *f;
	char *name;

	if (!strcmp(names, "list"))
		list_faults();
	while ((name = strsep(&names, ","))) {
		f = fault_find(name);
		if (!f || opt->faults == MAX_FAULTS)
			tool_usage("there is no fault '%s', or there are too many", name);
		opt->fault[opt->faults++] = f;
	}
}

static void parse(int argc, char **argv, struct options *opt)
{
	static const struct option longs[] = {
		{ "after", required_argument, NULL, 'a' },
		{ "device", required_argument, NULL, 'd' },
		{ "fault", required_argument, NULL, 'f' },
		{ "help", no_argument, NULL, 'h' },
		{ "port", required_argument, NULL, 'p' },
		{ "probe", required_argument, NULL, 's' },
		{ "read-only", no_argument, NULL, 'r' },
		{ NULL, 0, NULL, 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "d:hp:r", longs, NULL)) >= 0) {
		if (c == 'a') {
			opt->after = opt_number(tool_prog, "--after", optarg, 0, 1UL << 40);
		} else if (c == 'd') {
			opt->device = optarg;
		} else if (c == 'f') {
			fault_option(opt, optarg);
		} else if (c == 'p') {
			opt->port = (unsigned int)opt_number(tool_prog, "--port", optarg, 1, 65535);
		} else if (c == 'r') {
			opt->read_only = 1;
		} else if (c == 's') {
			opt->probe = (unsigned int)opt_number(tool_prog, "--probe", optarg, 1,
							      86400);
		} else {
			fputs(usage, c == 'h' ? stdout : stderr);
			exit(c == 'h' ? 0 : 2);
		}
	}
	if (optind + 1 != argc)
		tool_usage("one file is wanted");
	opt->file = argv[optind];
}

/* ---- Events ---- */

/*
 * Wait for an event.  DAT_INTERRUPTED_CALL means that a signal or a tracer has interrupted the
 * wait: wait again.
 */
static void next_event(DAT_EVD_HANDLE evd, DAT_EVENT *event)
{
	DAT_COUNT nmore;
	DAT_RETURN rc;

	do {
		rc = dat_evd_wait(evd, DAT_TIMEOUT_INFINITE, 1, event, &nmore);
	} while (DAT_GET_TYPE(rc) == DAT_INTERRUPTED_CALL);
	tool_check(rc, "cannot wait for events");
}

/*
 * Thread that ends the process when the adapter is gone.  Any other asynchronous error ends a
 * single connection, so ignore it.
 */
static void *watch_adapter(void *arg)
{
	struct server *v = arg;
	DAT_EVENT event;

	do {
		next_event(v->tool.async, &event);
	} while (event.event_number != DAT_ASYNC_ERROR_IA_CATASTROPHIC);
	tool_die("the adapter is gone");
}

/* Thread that handles connection requests. */
static void *watch_door(void *arg)
{
	struct server *v = arg;
	DAT_EVENT event;

	for (;;) {
		next_event(v->door, &event);
		pthread_mutex_lock(&v->lock);
		got_connection_request(v, event.event_data.cr_arrival_event_data.cr_handle);
		pthread_mutex_unlock(&v->lock);
	}
	return NULL;
}

static void start(void *(*fn)(void *), struct server *v)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, fn, v))
		tool_die("cannot start a thread");
}

static void server_open(struct server *v)
{
	DAT_PROVIDER_ATTR attr;

	tool_open(&v->tool, v->opt->device, QLEN);
	tool_check(dat_ia_query(v->tool.ia, NULL, 0, NULL, DAT_PROVIDER_FIELD_ALL, &attr),
		   "cannot query the adapter");
	if (attr.rdma_write_for_rdma_read_req)
		v->more_rights = DAT_MEM_PRIV_REMOTE_WRITE_FLAG;
	tool_check(dat_evd_create(v->tool.ia, DOOR_QLEN, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG,
				  &v->door), "cannot make an event queue");
	start(watch_adapter, v);
	start(watch_clients, v);
	start(watch_door, v);
}

int main(int argc, char **argv)
{
	struct options opt = { .port = DATBLK_PORT, .probe = 30 };
	struct server v = { .opt = &opt, .lock = PTHREAD_MUTEX_INITIALIZER };
	DAT_PSP_HANDLE psp;
	DAT_EVENT event;

	tool_prog = "dat-blkd";
	setlinebuf(stdout);
	parse(argc, argv, &opt);
	file_open(&v);
	server_open(&v);
	tool_check(dat_psp_create(v.tool.ia, opt.port, v.door, DAT_PSP_CONSUMER_FLAG, &psp),
		   "cannot listen");
	printf("listening at port %u: %llu bytes\n", opt.port, (unsigned long long)v.size);
	for (;;) {
		next_event(v.tool.evd, &event);
		pthread_mutex_lock(&v.lock);
		got_event(&v, &event);
		pthread_mutex_unlock(&v.lock);
	}
}
