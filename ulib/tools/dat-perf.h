/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * dat-perf: what the files share.
 *
 *   dat-perf.c		the client and the server
 *   dat-perf-opt.c	options
 *   dat-perf-size.c	how long queues are
 *   dat-perf-conn.c	memory, queues and connections, from the first to the last
 *   dat-perf-run.c	what is measured
 *   dat-perf-report.c	what is printed
 *   dat-perf-count.c	system calls
 */
#ifndef DAT_PERF_H
#define DAT_PERF_H

#include <setjmp.h>

#include "common.h"

#define PERF_PORT	18515
#define MAX_SIZE	(4U << 20)
#define MAX_ITERS	10000000U
#define MAX_WINDOW	512U
#define MAX_EPS		1024U
#define MAX_IDLE	1024U
#define MAX_POLLER	1000000U	/* dat_linux_ia_poller(3), dat_linux_evd_busy_poll(3) */

enum perf_op { OP_SEND, OP_WRITE, OP_READ };
enum perf_test { TEST_LAT, TEST_BW, TEST_RECV };

extern const char *const perf_op_names[];
extern const char *const perf_test_names[];

/*
 * struct perf_opt - what is measured
 * @op, @test: enum perf_op, enum perf_test
 * @size: bytes of a message
 * @iters: messages
 * @window: requests under way on each connection
 * @cq_mod: one request in so many reports its completion
 * @eps: connections that are used
 * @idle: and that are not
 * @srq: the server receives through an SRQ
 * @event: wait instead of polling
 * @poller: microseconds that the driver's poller looks before it sleeps; 0: none
 * @busy: microseconds that an empty queue has the driver look at the device; 0: not at all
 */
struct perf_opt {
	uint32_t	op;
	uint32_t	test;
	uint32_t	size;
	uint32_t	iters;
	uint32_t	window;
	uint32_t	cq_mod;
	uint32_t	eps;
	uint32_t	idle;
	uint32_t	srq;
	uint32_t	event;
	uint32_t	poller;
	uint32_t	busy;
};

/* What the command line says besides. */
struct perf_args {
	const char	*device;
	const char	*host;
	unsigned int	port;
	int		json;
	int		all;
	int		keep;
	int		syscalls;
};

/*
 * Cookies: of receives 1; of requests how many are complete when it is, and the number of
 * their connection.
 */
#define COOKIE_RECV	1ULL

static inline uint64_t cookie_send(uint32_t n, uint32_t conn)
{
	return (uint64_t)n << 32 | (uint64_t)conn << 1;
}

/*
 * struct perf_conn - a connection
 * @ep: endpoint
 * @busy: requests under way, as far as we know
 * @silent: requests since the last one that reports
 */
struct perf_conn {
	DAT_EP_HANDLE	ep;
	uint32_t	busy;
	uint32_t	silent;
};

/*
 * struct perf_request - a client knocks
 * @cr: to accept or reject
 * @opt, @session, @index: what it says
 */
struct perf_request {
	DAT_CR_HANDLE	cr;
	struct perf_opt	opt;
	uint32_t	session;
	uint32_t	index;
};

/*
 * struct perf - a run
 * @opt: from the command line, or from the client
 * @args: from the command line
 * @client: which side we are
 * @tool: adapter
 * @cr_evd: where the server's clients knock
 * @session: tells one client from another
 * @held: the next client
 * @conn: of @opt.eps that are used, and @opt.idle that are not
 * @srq: or NULL
 * @recvs: receives of each connection, or of the SRQ
 * @up: connections that are established
 * @next: connection whose turn it is
 * @mem: a slot to send from and one to receive into
 * @slot: bytes of each
 * @recv_seg, @send_seg, @remote: what all requests have in common
 * @peer: the peer's memory
 * @sent, @received: completions so far
 * @due: messages of the test that come to us, as far as it has come
 * @at: clock ticks: of the start, and of what follows
 * @done: completions at that time (bandwidth)
 * @stamps: of them
 * @ns_per_tick: measured during the run
 * @served: clients
 * @next_client: where a server that keeps on serving continues without this client
 */
struct perf {
	struct perf_opt		opt;
	struct perf_args	args;
	int			client;
	struct tool		tool;
	DAT_EVD_HANDLE		cr_evd;
	uint32_t		session;
	struct perf_request	held;
	struct perf_conn	*conn;
	DAT_SRQ_HANDLE		srq;
	uint32_t		recvs;
	uint32_t		up;
	uint32_t		next;
	struct tool_mem		mem;
	size_t			slot;
	DAT_LMR_TRIPLET		recv_seg;
	DAT_LMR_TRIPLET		send_seg;
	DAT_RMR_TRIPLET		remote;
	DAT_RMR_TRIPLET		peer;
	uint64_t		sent;
	uint64_t		received;
	uint64_t		due;
	uint64_t		*at;
	uint32_t		*done;
	uint32_t		stamps;
	double			ns_per_tick;
	unsigned int		served;
	jmp_buf			next_client;
};

/* dat-perf-opt.c */
void perf_options(int argc, char **argv, struct perf *p);
const char *perf_opt_wrong(const struct perf_opt *o);

/* dat-perf-size.c */
#define PERF_LAT_RECVS	16	/* on each connection, where one message is under way */

static inline uint32_t perf_conns(const struct perf_opt *o)
{
	return o->eps + o->idle;
}

static inline uint32_t perf_at_most(uint64_t n, uint64_t limit)
{
	return (uint32_t)(n < limit ? n : limit);
}

const char *perf_too_much(const struct perf *p);
uint32_t perf_recvs(const struct perf *p);
uint32_t perf_evd_entries(const struct perf *p);

/*
 * dat-perf-conn.c.  perf_fail() ends the program, except that a server with --keep gives up
 * the client and never returns to the caller: what a client does, or asks for, ends no server.
 */
void perf_fail(struct perf *p, const char *fmt, ...) __attribute__((format(printf, 2, 3), noreturn));
/* Fails with the names of the code unless it is DAT_SUCCESS. */
void perf_check(struct perf *p, DAT_RETURN rc, const char *what);
void perf_drop(struct perf *p);
void perf_prepare(struct perf *p);
void perf_connect(struct perf *p);
int perf_accept(struct perf *p);
void perf_end(struct perf *p);

/* dat-perf-run.c */
void perf_repost(struct perf *p, DAT_EP_HANDLE ep);
void perf_post_send(struct perf *p, uint32_t len);
void perf_post_send_from(struct perf *p, size_t at, uint32_t len);
void perf_count(struct perf *p, const DAT_EVENT *event);
void perf_reap(struct perf *p, uint64_t sent, uint64_t received);
void perf_receive(struct perf *p, uint64_t n);
int perf_server_is_busy(const struct perf_opt *o);
void perf_run(struct perf *p);

/* dat-perf-report.c */
void perf_header(const struct perf *p);
void perf_report(struct perf *p);

/* dat-perf-count.c: returns the exit status */
int perf_count_syscalls(struct perf *p);

#endif /* DAT_PERF_H */
