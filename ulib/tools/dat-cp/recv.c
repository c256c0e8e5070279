// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/*
 * The receiver of dat-cp.  The main thread takes connection requests from an EVD that carries no
 * other events.  Each client has its own thread, EVD, protection zone and memory.  So a slow disk
 * or a hostile client does not delay other clients.
 *
 * The receiver does not trust clients.  It refuses names with directories, and checks sizes and
 * slots.  A file has no name until its digest has been verified, so a receiver that is killed
 * leaves no partial file behind.  A file system without O_TMPFILE needs a temporary name, which
 * remains after SIGKILL.
 *
 * An error of one client ends only this client, so its thread calls no function that exits on an
 * error.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../common/text.h"
#include "cp.h"

#define SENDS		(CP_SLOTS + 4)
#define RECVS		(CP_SLOTS + 4)
#define COOKIE_SEND	0x10000
#define MAX_CLIENTS	64
#define REQUESTS	256		/* max. pending requests; the driver refuses more */
#define SYNC_STEP	(8ULL << 20)	/* bytes between two waits for the disk */
#define TEMP_PREFIX	".dat-cp."	/* a client's file name must not begin with this */
#define TAKEN		"a file has arrived under that name since this client connected"

/*
 * struct arrival - identity of a file that has arrived
 * @major: major number of its device
 * @minor: minor number of its device
 * @ino: inode, which another file may get when this one is removed
 * @birth: time of its creation, or 0 if the file system keeps none
 */
struct arrival {
	uint32_t		major;
	uint32_t		minor;
	uint64_t		ino;
	struct statx_timestamp	birth;
};

/*
 * struct client - a connection, owned by its thread
 * @server: the receiver
 * @from: the server's adapter that the client has reached
 * @tool: @from, with this client's zone and EVD
 * @cr: connection request to accept
 * @ep: endpoint
 * @in: RECVS messages to receive into
 * @out: SENDS messages to send from, used in turn
 * @out_next: index of the next message in @out
 * @out_busy: number of messages in flight
 * @slots: buffers, each with a key of its own; the client may write to a slot if it has a credit
 *	for that slot
 * @chunk: copy of a slot, which the client cannot change
 * @granted: one bit per slot; set while the client has a credit for the slot
 * @over: flag: the connection has ended, or must be ended
 * @fd: file that has no final name yet, or -1
 * @refused: flag: the rest of this file is ignored
 * @name: final name of the file
 * @mode: permission bits of the file, as offered, without those of the umask
 * @temp: temporary name of the file, or empty; protected by server->lock
 * @received: bytes received
 * @synced: bytes whose writeback was started
 * @sha: SHA-256 of the bytes received
 * @began: flag: a file of the client was begun, not refused
 * @stored: flag: a file of the client has arrived
 * @failed: flag: a file of the client did not arrive
 * @ending: copy of server->ending
 * @looked_ns: time at which progress was last looked for
 * @idle_ns: time without progress
 * @since: index in server->arrived of the first file that arrived after the client connected;
 *	protected by server->lock
 */
struct client {
	struct server		*server;
	const struct tool	*from;
	struct tool		tool;
	DAT_CR_HANDLE		cr;
	DAT_EP_HANDLE		ep;
	struct tool_mem		in;
	struct tool_mem		out;
	unsigned int		out_next;
	unsigned int		out_busy;
	struct tool_mem		slots[CP_SLOTS];
	char			*chunk;
	uint32_t		granted;
	int			over;
	int			fd;
	int			refused;
	char			name[CP_NAME_MAX + 1];
	mode_t			mode;
	char			temp[sizeof(TEMP_PREFIX) + 32];
	uint64_t		received;
	uint64_t		synced;
	EVP_MD_CTX		*sha;
	int			began;
	int			stored;
	int			failed;
	int			ending;
	uint64_t		looked_ns;
	uint64_t		idle_ns;
	size_t			since;
};

/*
 * struct server - the receiver
 * @opt: options
 * @service: adapters
 * @dir: directory of the files
 * @umask: umask of the process
 * @signals: signals that end the server
 * @lock: lock that protects the fields below, and the temporary names in @dir
 * @client: array of connected clients
 * @clients: number of elements used in @client
 * @arrived: array of the files that have arrived since the oldest client connected, in their order
 * @narrived: number of elements used in @arrived
 * @room: number of elements allocated for @arrived
 * @ending: flag: the server takes no more clients, and ends when all have gone
 * @failed: flag: a file of a client that began one did not arrive
 */
struct server {
	const struct cp_opt	*opt;
	struct tool_service	service;
	int			dir;
	mode_t			umask;
	sigset_t		signals;
	pthread_mutex_t		lock;
	struct client		*client[MAX_CLIENTS];
	unsigned int		clients;
	struct arrival		*arrived;
	size_t			narrived;
	size_t			room;
	int			ending;
	int			failed;
};

static void hang_up(struct client *c, const char *why)
{
	if (!c->over)
		tool_warn("dropping a client: %s", why);
	c->over = 1;
}

/* --- messages ------------------------------------------------------------------------- */

static DAT_RETURN post_recv(struct client *c, uint64_t i)
{
	DAT_LMR_TRIPLET seg = tool_seg(&c->in, i * sizeof(struct cp_msg),
				       sizeof(struct cp_msg));

	return dat_ep_post_recv(c->ep, 1, &seg, tool_cookie(i), DAT_COMPLETION_DEFAULT_FLAG);
}

/*
 * Returns the next message to fill.  If all messages are in flight, the client does not receive
 * answers: drop the client and return NULL.
 */
static struct cp_msg *next_message(struct client *c)
{
	struct cp_msg *m = (struct cp_msg *)c->out.va + c->out_next;

	if (c->out_busy == SENDS) {
		hang_up(c, "it takes no answers");
		return NULL;
	}
	memset(m, 0, sizeof(*m));
	return m;
}

static void send_message(struct client *c)
{
	DAT_LMR_TRIPLET seg = tool_seg(&c->out, c->out_next * sizeof(struct cp_msg),
				       sizeof(struct cp_msg));

	/*
	 * The post fails if the peer has just disconnected.  Ignore the error, because the event of
	 * the disconnect follows.
	 */
	if (dat_ep_post_send(c->ep, 1, &seg, tool_cookie(COOKIE_SEND),
			     DAT_COMPLETION_DEFAULT_FLAG) != DAT_SUCCESS)
		return;
	c->out_next = (c->out_next + 1) % SENDS;
	c->out_busy++;
}

static void grant(struct client *c, uint32_t slot)
{
	struct cp_msg *m = next_message(c);

	if (!m)
		return;
	m->type = htonl(CP_CREDIT);
	m->slot = htonl(slot);
	m->size = htobe64(CP_SLOT_SIZE);
	m->addr = htobe64((uintptr_t)c->slots[slot].va);
	m->rkey = htonl(c->slots[slot].rmr_context);
	send_message(c);
	c->granted |= 1U << slot;
}

/* --- the file ------------------------------------------------------------------------- */

/* Choose a random temporary name, so that no other process can create the file first. */
static int random_name(struct client *c)
{
	uint64_t n[2];

	if (getrandom(n, sizeof(n), 0) != sizeof(n))
		return -1;
	snprintf(c->temp, sizeof(c->temp), TEMP_PREFIX "%016llx%016llx",
		 (unsigned long long)n[0], (unsigned long long)n[1]);
	return 0;
}

static int open_file(struct client *c)
{
	struct server *v = c->server;

	/* Nobody else may read the data before the file has its mode. */
	c->fd = openat(v->dir, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
	if (c->fd >= 0)
		return 0;
	pthread_mutex_lock(&v->lock);
	if (!random_name(c))
		c->fd = openat(v->dir, c->temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (c->fd < 0)
		c->temp[0] = 0;
	pthread_mutex_unlock(&v->lock);
	return c->fd < 0 ? -1 : 0;
}

static void close_file(struct client *c)
{
	struct server *v = c->server;

	if (c->fd >= 0)
		close(c->fd);
	c->fd = -1;
	pthread_mutex_lock(&v->lock);
	if (c->temp[0])
		unlinkat(v->dir, c->temp, 0);
	c->temp[0] = 0;
	pthread_mutex_unlock(&v->lock);
	EVP_MD_CTX_free(c->sha);
	c->sha = NULL;
}

/* Refuse the present file with a RESULT message.  The client then stops sending the file. */
static void refuse(struct client *c, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static void refuse(struct client *c, const char *fmt, ...)
{
	struct cp_msg *m = next_message(c);
	va_list ap;

	close_file(c);
	c->refused = 1;
	c->failed = 1;
	if (!m)
		return;
	m->type = htonl(CP_RESULT);
	m->size = htobe64(1);
	va_start(ap, fmt);
	vsnprintf(m->text, sizeof(m->text), fmt, ap);
	va_end(ap);
	tool_warn("%s: %s", c->name, m->text);
	send_message(c);
}

/*
 * Returns the reason why @from is no valid name, or NULL.  @to gets a name that can be printed:
 * @from itself, if it is valid.
 */
static const char *check_name(const char *from, char to[CP_NAME_MAX + 1])
{
	const char *why = NULL;

	cp_clean_name(from, to);
	if (!to[0] || strchr(from, '/') || !strcmp(to, ".") || !strcmp(to, "..") ||
	    !strncmp(to, TEMP_PREFIX, strlen(TEMP_PREFIX)))
		why = "that is no name for a file";
	else if (strcmp(from, to))
		why = CP_ODD_NAME;
	if (!to[0])
		strcpy(to, "(no name)");
	return why;
}

/* Get the status of the file @name in @dir.  Returns 0, or -1 with errno. */
static int file_status(int dir, const char *name, int flags, struct statx *st)
{
	memset(st, 0, sizeof(*st));
	return statx(dir, name, flags, STATX_BASIC_STATS | STATX_BTIME, st);
}

/* Returns whether @st is the file @a. */
static int is_arrival(const struct arrival *a, const struct statx *st)
{
	return a->major == st->stx_dev_major && a->minor == st->stx_dev_minor &&
	       a->ino == st->stx_ino && a->birth.tv_sec == st->stx_btime.tv_sec &&
	       a->birth.tv_nsec == st->stx_btime.tv_nsec;
}

/*
 * Returns whether @st is a file that has arrived since the client connected.  Such a file is not
 * replaced: it is of the same run, or of another client at the same time, and that client has a
 * RESULT which says that its file is there.  The caller holds server->lock.
 */
static int has_arrived(const struct client *c, const struct statx *st)
{
	const struct server *v = c->server;
	size_t i;

	for (i = c->since; i < v->narrived; i++)
		if (is_arrival(&v->arrived[i], st))
			return 1;
	return 0;
}

/* Returns whether the file would replace one that has arrived since the client connected. */
static int is_taken(struct client *c)
{
	struct server *v = c->server;
	struct statx st;
	int taken;

	pthread_mutex_lock(&v->lock);
	taken = !file_status(v->dir, c->name, AT_SYMLINK_NOFOLLOW, &st) && has_arrived(c, &st);
	pthread_mutex_unlock(&v->lock);
	return taken;
}

static void got_offer(struct client *c, const struct cp_msg *m)
{
	const char *why;
	uint32_t slot;

	if (c->fd >= 0) {
		hang_up(c, "it offered a file in the middle of another");
		return;
	}
	c->refused = 0;
	c->received = 0;
	c->synced = 0;
	c->mode = ntohl(m->mode) & 0777 & ~c->server->umask;
	why = check_name(m->text, c->name);
	if (!why && is_taken(c))
		why = TAKEN;
	if (why) {
		refuse(c, "%s", why);
		return;
	}
	c->sha = EVP_MD_CTX_new();
	if (!c->sha || !EVP_DigestInit_ex(c->sha, EVP_sha256(), NULL)) {
		refuse(c, "no SHA-256 in libcrypto");
		return;
	}
	if (open_file(c)) {
		refuse(c, "cannot create a file in %s: %s", c->server->opt->dir,
		       strerror(errno));
		return;
	}
	c->began = 1;
	for (slot = 0; slot < CP_SLOTS; slot++)
		if (!(c->granted & 1U << slot))
			grant(c, slot);
}

/*
 * Start the writeback of received data, and wait until the writeback is at most two steps behind.
 * The fsync() at the end is then short for a file of any size.
 */
static int sync_step(struct client *c)
{
	const unsigned int wait = SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE |
				  SYNC_FILE_RANGE_WAIT_AFTER;
	off_t from = (off_t)c->synced;

	if (c->received - c->synced < SYNC_STEP)
		return 0;
	c->synced += SYNC_STEP;
	if (sync_file_range(c->fd, from, SYNC_STEP, SYNC_FILE_RANGE_WRITE))
		return -1;
	return from ? sync_file_range(c->fd, from - (off_t)SYNC_STEP, SYNC_STEP, wait) : 0;
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

	if (slot >= CP_SLOTS || !(c->granted & 1U << slot) || len > CP_SLOT_SIZE) {
		hang_up(c, "it used a buffer without a credit");
		return;
	}
	c->granted &= ~(1U << slot);
	if (c->fd < 0) {
		/*
		 * After a refusal, ignore chunks that the client sent before the refusal arrived.
		 */
		if (!c->refused)
			hang_up(c, "it sent data of no file");
		return;
	}
	/* The client can still write to the slot, so hash and store a private copy. */
	memcpy(c->chunk, c->slots[slot].va, len);
	EVP_DigestUpdate(c->sha, c->chunk, len);
	c->received += len;
	if (write_full(c->fd, c->chunk, len) || sync_step(c)) {
		refuse(c, "cannot write: %s", strerror(errno));
		return;
	}
	if (len)
		c->idle_ns = 0;
	grant(c, slot);
}

/*
 * Give the file its mode, which is no wider than that of the client's file and that of @old, the
 * file that it replaces; @old may be NULL.  Returns NULL, or the reason why it is refused: a file
 * system without modes, such as vfat, may open the file to others.
 */
static const char *set_mode(struct client *c, const struct statx *old, struct statx *st)
{
	if (old)
		c->mode &= old->stx_mode;
	/* After an error the mode is that of open_file(), or that of the file system. */
	(void)fchmod(c->fd, c->mode);
	if (file_status(c->fd, "", AT_EMPTY_PATH, st))
		return strerror(errno);
	return st->stx_mode & 066 & ~c->mode ? "the file system would open it to other users" : NULL;
}

/*
 * Make room for one more arrival.  Returns 0 if there is no memory.  The caller holds server->lock.
 */
static int room_for_arrival(struct server *v)
{
	struct arrival *bigger;

	if (v->narrived < v->room)
		return 1;
	bigger = realloc(v->arrived, (2 * v->room + 16) * sizeof(*bigger));
	if (!bigger)
		return 0;
	v->arrived = bigger;
	v->room = 2 * v->room + 16;
	return 1;
}

static void record_arrival(struct server *v, const struct statx *st)
{
	v->arrived[v->narrived++] = (struct arrival) {
		st->stx_dev_major, st->stx_dev_minor, st->stx_ino, st->stx_btime
	};
}

/* Forget the arrivals that no client asks for.  The caller holds server->lock. */
static void forget_arrivals(struct server *v)
{
	size_t old = v->narrived;
	unsigned int i;

	for (i = 0; i < v->clients; i++)
		if (v->client[i]->since < old)
			old = v->client[i]->since;
	if (!old)
		return;
	v->narrived -= old;
	memmove(v->arrived, v->arrived + old, v->narrived * sizeof(*v->arrived));
	for (i = 0; i < v->clients; i++)
		v->client[i]->since -= old;
}

/* Give the file its final name.  The caller holds server->lock. */
static int name_file(struct client *c)
{
	int dir = c->server->dir;
	char path[32];

	if (!c->temp[0]) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", c->fd);
		if (!linkat(AT_FDCWD, path, dir, c->name, AT_SYMLINK_FOLLOW))
			return 0;
		/*
		 * The name already exists.  linkat() cannot replace a file, so link a temporary
		 * name and rename it.
		 */
		if (errno != EEXIST || random_name(c))
			return -1;
		if (linkat(AT_FDCWD, path, dir, c->temp, AT_SYMLINK_FOLLOW)) {
			c->temp[0] = 0;
			return -1;
		}
	}
	if (renameat(dir, c->temp, dir, c->name))
		return -1;
	c->temp[0] = 0;
	return 0;
}

/*
 * Give the file its mode and its final name.  Returns NULL, or the reason why it is refused.  The
 * caller holds server->lock.
 */
static const char *place_file(struct client *c)
{
	struct server *v = c->server;
	struct statx old, st;
	int exists = !file_status(v->dir, c->name, AT_SYMLINK_NOFOLLOW, &old);
	const char *why;

	if (exists && has_arrived(c, &old))
		return TAKEN;
	why = set_mode(c, exists && S_ISREG(old.stx_mode) ? &old : NULL, &st);
	if (why)
		return why;
	if (!room_for_arrival(v))
		return strerror(ENOMEM);
	if (name_file(c))
		return strerror(errno);
	record_arrival(v, &st);
	return NULL;
}

/* Sync the file and give it its final name.  Returns NULL, or the reason why it is refused. */
static const char *keep_file(struct client *c)
{
	const char *why;

	if (fsync(c->fd))
		return strerror(errno);
	pthread_mutex_lock(&c->server->lock);
	why = place_file(c);
	pthread_mutex_unlock(&c->server->lock);
	return why;
}

static void got_done(struct client *c, const struct cp_msg *m)
{
	char hex[2 * CP_DIGEST + 1];
	uint8_t digest[CP_DIGEST];
	struct cp_msg *answer;
	const char *why;

	if (c->fd < 0)
		return;
	EVP_DigestFinal_ex(c->sha, digest, NULL);
	if (c->received != be64toh(m->size)) {
		refuse(c, "%llu bytes came, not %llu", (unsigned long long)c->received,
		       (unsigned long long)be64toh(m->size));
		return;
	}
	if (memcmp(digest, m->digest, sizeof(digest))) {
		refuse(c, "the SHA-256 differs: the data changed on its way");
		return;
	}
	why = keep_file(c);
	if (why) {
		refuse(c, "cannot keep the file: %s", why);
		return;
	}
	c->stored = 1;
	c->idle_ns = 0;
	close_file(c);
	cp_hex(digest, hex);
	printf("sha256 %s  %s\n", hex, c->name);
	fflush(stdout);
	answer = next_message(c);
	if (!answer)
		return;
	answer->type = htonl(CP_RESULT);
	memcpy(answer->digest, digest, sizeof(digest));
	send_message(c);
}

/* --- the end --------------------------------------------------------------------------- */

/*
 * Remove all temporary files.  The caller holds the lock, so no thread creates a temporary name
 * now.
 */
static void remove_temps(struct server *v)
{
	unsigned int i;

	for (i = 0; i < v->clients; i++)
		if (v->client[i]->temp[0])
			unlinkat(v->dir, v->client[i]->temp, 0);
}

/* End the process, if it is about to end and has no more clients.  The caller holds the lock. */
static void end_if_idle(struct server *v)
{
	if (v->ending && !v->clients)
		exit(v->failed);
}

/* --- clients -------------------------------------------------------------------------- */

static void got_message(struct client *c, struct cp_msg *m, uint64_t len)
{
	if (len != sizeof(*m)) {
		hang_up(c, "it sent a message of a wrong length");
		return;
	}
	m->text[CP_NAME_MAX] = 0;
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

static void client_close(struct client *c)
{
	unsigned int i;

	close_file(c);
	if (c->ep)
		dat_ep_free(c->ep);
	tool_free(&c->in);
	tool_free(&c->out);
	for (i = 0; i < CP_SLOTS; i++)
		tool_free(&c->slots[i]);
	if (c->tool.evd)
		tool_unshare(&c->tool);
	free(c->chunk);
}

static void client_free(struct client *c)
{
	client_close(c);
	free(c);
}

/* Allocate all resources before the accept.  If an allocation fails, the client is refused. */
static DAT_RETURN client_prepare(struct client *c)
{
	DAT_RETURN rc;
	uint64_t i;

	c->chunk = malloc(CP_SLOT_SIZE);
	if (!c->chunk)
		return DAT_CLASS_ERROR | DAT_INSUFFICIENT_RESOURCES | DAT_RESOURCE_MEMORY;
	rc = tool_try_share(c->from, &c->tool, 2 * (SENDS + RECVS) + 8);
	if (rc != DAT_SUCCESS) {
		c->tool.evd = DAT_HANDLE_NULL;
		return rc;
	}
	rc = tool_try_alloc(&c->tool, &c->in, RECVS * sizeof(struct cp_msg), TOOL_LOCAL);
	if (rc == DAT_SUCCESS)
		rc = tool_try_alloc(&c->tool, &c->out, SENDS * sizeof(struct cp_msg), TOOL_LOCAL);
	for (i = 0; rc == DAT_SUCCESS && i < CP_SLOTS; i++)
		rc = tool_try_alloc(&c->tool, &c->slots[i], CP_SLOT_SIZE,
				    DAT_MEM_PRIV_LOCAL_WRITE_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG);
	if (rc == DAT_SUCCESS)
		rc = tool_try_ep(&c->tool, NULL, RECVS, SENDS, &c->ep);
	for (i = 0; rc == DAT_SUCCESS && i < RECVS; i++)
		rc = post_recv(c, i);
	return rc;
}

static void got_completion(struct client *c, const DAT_DTO_COMPLETION_EVENT_DATA *dto)
{
	uint64_t what = dto->user_cookie.as_64;

	if (what == COOKIE_SEND) {
		c->out_busy--;
		return;
	}
	if (dto->status != DAT_DTO_SUCCESS)
		return;
	got_message(c, (struct cp_msg *)c->in.va + what, dto->transfered_length);
	if (!c->over && post_recv(c, what) != DAT_SUCCESS)
		hang_up(c, "no receive can be posted");
}

static void got_event(struct client *c, const DAT_EVENT *event)
{
	if (event->event_number == DAT_DTO_COMPLETION_EVENT)
		got_completion(c, &event->event_data.dto_completion_event_data);
	else if (event->event_number != DAT_CONNECTION_EVENT_ESTABLISHED)
		c->over = 1;
}

/* Take the client, which is closed, out of the array.  The caller holds server->lock. */
static void client_remove(struct client *c)
{
	struct server *v = c->server;
	unsigned int i;

	for (i = 0; v->client[i] != c; i++)
		;
	v->client[i] = v->client[--v->clients];
	forget_arrivals(v);
	v->failed |= c->began && c->failed;
	if (v->opt->once && c->stored)
		__atomic_store_n(&v->ending, 1, __ATOMIC_RELAXED);
}

/*
 * Free the client.  With --once, the server takes no more clients after the first one of which a
 * file has arrived.  It ends when those that are connected then have gone.
 */
static void client_end(struct client *c)
{
	struct server *v = c->server;

	if (c->fd >= 0) {
		tool_warn("%s: the client went away after %llu bytes", c->name,
			  (unsigned long long)c->received);
		c->failed = 1;
	}
	client_close(c);
	pthread_mutex_lock(&v->lock);
	client_remove(c);
	end_if_idle(v);
	pthread_mutex_unlock(&v->lock);
	free(c);
}

/* Returns for how many milliseconds the client may make no progress now. */
static uint64_t patience(const struct client *c)
{
	if (!c->began)
		return CP_HELLO_MS;
	return c->ending ? CP_LAST_MS : CP_IDLE_MS;
}

/*
 * Count the time since the last look as one without progress.  Time for which the server was
 * stopped, or waited for its disk, does not count.
 */
static void count_idle(struct client *c)
{
	int ending = __atomic_load_n(&c->server->ending, __ATOMIC_RELAXED);
	uint64_t now = tool_now_ns(), passed = now - c->looked_ns;

	c->looked_ns = now;
	c->idle_ns += passed < CP_LOOK_MS * 1000000ULL ? passed : CP_LOOK_MS * 1000000ULL;
	/* The shorter limit counts from the time at which it begins to apply. */
	if (ending != c->ending)
		c->idle_ns = 0;
	c->ending = ending;
}

/*
 * Take the next event of the client.  Returns NULL, or the reason why there is none.  A client
 * whose messages bring neither data nor a file makes no progress.
 */
static const char *next_event(struct client *c, DAT_EVENT *event)
{
	DAT_RETURN rc;

	do {
		count_idle(c);
		if (c->idle_ns / 1000000 >= patience(c))
			return "it makes no progress";
		rc = tool_try_event(c->tool.evd, CP_LOOK_MS, event);
	} while (DAT_GET_TYPE(rc) == DAT_TIMEOUT_EXPIRED);
	return rc == DAT_SUCCESS ? NULL : tool_strerror(rc);
}

static void *client_thread(void *arg)
{
	struct client *c = arg;
	DAT_RETURN rc = dat_cr_accept(c->cr, c->ep, 0, NULL);
	DAT_EVENT event;
	const char *why;

	c->looked_ns = tool_now_ns();
	if (rc != DAT_SUCCESS) {
		hang_up(c, tool_strerror(rc));
		dat_cr_reject(c->cr);
	}
	while (!c->over) {
		why = next_event(c, &event);
		if (why)
			hang_up(c, why);
		else
			got_event(c, &event);
	}
	client_end(c);
	return NULL;
}

/* --- the server ----------------------------------------------------------------------- */

/*
 * Wait for a signal that ends the server, remove temporary files, and let the signal kill the
 * process.  All other threads block these signals.
 */
static void *signal_thread(void *arg)
{
	struct server *v = arg;
	int sig;

	if (sigwait(&v->signals, &sig))
		return NULL;
	pthread_mutex_lock(&v->lock);
	remove_temps(v);
	pthread_sigmask(SIG_UNBLOCK, &v->signals, NULL);
	raise(sig);
	return NULL;
}

static int start_thread(void *(*run)(void *arg), void *arg)
{
	pthread_t thread;
	int err = pthread_create(&thread, NULL, run, arg);

	if (!err)
		pthread_detach(thread);
	return err;
}

/*
 * Block the signals that end the server.  A signal that was ignored at the start, for example by
 * nohup(1), stays ignored.
 */
static void catch_signals(struct server *v)
{
	static const int signals[] = { SIGHUP, SIGINT, SIGTERM };
	struct sigaction old;
	size_t i;

	sigemptyset(&v->signals);
	for (i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		if (!sigaction(signals[i], NULL, &old) && old.sa_handler != SIG_IGN)
			sigaddset(&v->signals, signals[i]);
	pthread_sigmask(SIG_BLOCK, &v->signals, NULL);
	if (start_thread(signal_thread, v))
		tool_die("cannot start a thread");
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

/* Add @c to the array of clients.  Returns the reason why the client is refused, or NULL. */
static const char *client_add(struct server *v, struct client *c)
{
	const char *why = NULL;

	pthread_mutex_lock(&v->lock);
	c->since = v->narrived;
	if (v->ending)
		why = "the server takes no more clients";
	else if (v->clients == MAX_CLIENTS)
		why = "there are too many";
	else
		v->client[v->clients++] = c;
	pthread_mutex_unlock(&v->lock);
	return why;
}

static void client_refuse(DAT_CR_HANDLE cr, const char *why)
{
	tool_warn("refusing a client: %s", why);
	dat_cr_reject(cr);
}

/* Start a thread for a new client.  If resources are short, refuse only this client. */
static void got_request(struct server *v, const struct tool *from, DAT_CR_HANDLE cr)
{
	const char *why;
	struct client *c;
	DAT_RETURN rc;

	if (!hello_good(cr)) {
		tool_warn("refusing a client: it isn't dat-cp of this version");
		dat_cr_reject(cr);
		return;
	}
	c = calloc(1, sizeof(*c));
	if (!c) {
		client_refuse(cr, "no memory");
		return;
	}
	c->server = v;
	c->from = from;
	c->fd = -1;
	c->cr = cr;
	rc = client_prepare(c);
	if (rc != DAT_SUCCESS) {
		client_refuse(cr, tool_strerror(rc));
		client_free(c);
		return;
	}
	why = client_add(v, c);
	if (why) {
		client_refuse(cr, why);
		client_free(c);
	} else if (start_thread(client_thread, c)) {
		client_refuse(cr, "no thread");
		client_end(c);
	}
}

static void server_open(struct server *v)
{
	v->umask = umask(0);
	umask(v->umask);
	v->dir = open(v->opt->dir, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	if (v->dir < 0)
		tool_die("cannot open the directory %s: %s", v->opt->dir, strerror(errno));
	/* Each client has an EVD of its own. */
	tool_serve(&v->service, v->opt->device, v->opt->port, 1, REQUESTS);
	fprintf(stderr, "dat-cp: %s, waiting at port %u, files go to %s\n", v->service.names,
		v->opt->port, v->opt->dir);
}

int cp_serve(const struct cp_opt *opt)
{
	static struct server v = { .lock = PTHREAD_MUTEX_INITIALIZER };
	DAT_EVENT event;
	int i;

	v.opt = opt;
	tool_serve_signals();
	catch_signals(&v);
	server_open(&v);
	for (;;) {
		i = tool_request(&v.service, 0, &event);
		if (event.event_number == DAT_CONNECTION_REQUEST_EVENT)
			got_request(&v, &v.service.tool[i],
				    event.event_data.cr_arrival_event_data.cr_handle);
	}
}
