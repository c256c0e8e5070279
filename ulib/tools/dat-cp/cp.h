/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Copyright (c) The dat authors */
/*
 * The protocol of dat-cp.
 *
 *   sender                                   receiver
 *   ------                                   --------
 *   OFFER name, mode                 ->
 *                                    <-      CREDIT slot, address, key   (one per slot)
 *   RDMA write into the slot
 *   CHUNK slot, bytes                ->      takes the data from the slot
 *                                    <-      CREDIT slot ...             (again)
 *   ...
 *   DONE size, sha256                ->
 *                                    <-      RESULT status, sha256, text
 *   next OFFER, or disconnect
 *
 * The sender posts the CHUNK message after the RDMA write, on the same connection.  So when the
 * CHUNK arrives, the data is in the slot.  All fields are big endian.
 *
 * The size is in DONE, because a sender knows it only at the end: files in /proc do not tell their
 * sizes, and other files can grow.
 */
#ifndef DAT_CP_H
#define DAT_CP_H

#include "../common/tool.h"

#define CP_PORT		18516
#define CP_MAGIC	0x44415463	/* "DATc" */
#define CP_VERSION	2
#define CP_NAME_MAX	255
#define CP_DIGEST	32

enum cp_type { CP_OFFER = 1, CP_CREDIT, CP_CHUNK, CP_DONE, CP_RESULT };

struct cp_hello {
	uint32_t	magic;
	uint32_t	version;
};

/*
 * struct cp_msg - a control message
 * @type: enum cp_type
 * @slot: CREDIT, CHUNK: number of a slot, which is a buffer of the receiver
 * @size: CREDIT: bytes of the slot; CHUNK: bytes of data in the slot; DONE: bytes of the file;
 *	RESULT: 0 for success
 * @addr: CREDIT: address of the slot
 * @rkey: CREDIT: remote key of the slot
 * @mode: OFFER: permission bits of the file
 * @digest: DONE, RESULT: SHA-256 of the file
 * @text: OFFER: name of the file; RESULT: reason of a failure; NUL-terminated
 */
struct cp_msg {
	uint32_t	type;
	uint32_t	slot;
	uint64_t	size;
	uint64_t	addr;
	uint32_t	rkey;
	uint32_t	mode;
	uint8_t		digest[CP_DIGEST];
	char		text[CP_NAME_MAX + 1];
};

/*
 * Each slot of the receiver is a registration, because some devices register no more than 1 MiB for
 * access by peers.  The sender has one of all slots: of 7 and not 8, because 8 slots would be 512
 * pages.  At the end of a registration of 512 pages, the rxe driver of Linux 6.1 reads beyond its
 * page table.
 */
#define CP_SLOTS	7
#define CP_SLOT_SIZE	(256U << 10)
#define CP_HELLO_MS	30000	/* server's timeout until a client has begun a file */
#define CP_IDLE_MS	300000	/* server's timeout for progress of a client after that */
#define CP_LAST_MS	30000	/* the same, after the client that ends a server with --once */
#define CP_LOOK_MS	1000	/* interval at which the server looks for progress */
#define CP_SILENCE_MS	120000	/* client's timeout for a message of the server */
#define CP_RESULT_MS	600000	/* client's timeout for RESULT, which follows a sync */

struct cp_opt {
	const char	*device;
	const char	*dir;
	unsigned int	port;
	int		once;
	int		quiet;
};

/*
 * progress.c.  A copy that takes longer than CP_PROGRESS_NS shows a bar on a terminal, every
 * CP_REDRAW_NS.
 */
#define CP_PROGRESS_NS	3000000000ULL
#define CP_REDRAW_NS	200000000ULL

struct cp_progress {
	const char	*name;
	uint64_t	size;
	uint64_t	done;
	uint64_t	start_ns;
	uint64_t	shown_ns;
	int		quiet;
};

void cp_progress_start(struct cp_progress *g, const char *name, uint64_t size, int quiet);
void cp_progress_add(struct cp_progress *g, uint64_t bytes);
void cp_progress_end(struct cp_progress *g);

/* text.c */

/* Why both sides refuse a name that cp_clean_name() changes: two such names could become one. */
#define CP_ODD_NAME	"the name has control characters, marks of direction or invalid UTF-8"

/*
 * Convert a name of a file to one that can be printed: without directories, and with '_' for bytes
 * that steer terminals.  @to is empty if @from is too long.
 */
void cp_clean_name(const char *from, char to[CP_NAME_MAX + 1]);
void cp_hex(const uint8_t digest[CP_DIGEST], char hex[2 * CP_DIGEST + 1]);

/* recv.c, send.c: these functions return the exit status of the program */
int cp_serve(const struct cp_opt *opt);
int cp_send_files(const struct cp_opt *opt, const char *host, const char *as,
		  char *const *files, int n);

#endif /* DAT_CP_H */
