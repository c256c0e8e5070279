/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Copyright (c) The dat authors */
/*
 * dat-perf: declarations that the files share.
 *
 *   dat-perf.c		the client and the server
 *   dat-perf-opt.c	options
 *   dat-perf-size.c	lengths of queues
 *   dat-perf-conn.c	memory, queues and connections: setup and teardown
 *   dat-perf-run.c	loops that are measured
 *   dat-perf-report.c	output
 *   dat-perf-count.c	count of system calls
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
#define MAX_POLLER	1000000U	/* limit of --poller and --busy-poll, in microseconds */

enum perf_op { OP_SEND, OP_WRITE, OP_READ };
enum perf_test { TEST_LAT, TEST_BW, TEST_RECV };

extern const char *const perf_op_names[];
extern const char *const perf_test_names[];

/*
 * struct perf_opt - options that say what is measured
 * @op, @test: operation (enum perf_op) and kind of test (enum perf_test)
 * @size: bytes of a message
 * @iters: number of messages
 * @window: number of requests in flight on each connection
 * @cq_mod: one of @cq_mod requests is signalled
 * @eps: number of connections that carry messages
 * @idle: number of connections that carry no messages
 * @srq: flag: the server receives through an SRQ
 * @event: flag: wait for events instead of polling
 * @poller: idle time in microseconds after which the driver's poller sleeps; 0 for no poller
 * @busy: time in microseconds that the driver polls the device if the EVD is empty; 0 for no
 *	polling
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

/* Options that say how the measurement is run and reported. */
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
 * Values of cookies.  The cookie of a receive is COOKIE_RECV.  The cookie of a request contains the
 * number of requests that its completion reports, and the number of the connection.
 */
#define COOKIE_RECV	1ULL

static inline uint64_t cookie_send(uint32_t n, uint32_t conn)
{
	return (uint64_t)n << 32 | (uint64_t)conn << 1;
}

/*
 * struct perf_conn - a connection
 * @ep: endpoint
 * @busy: number of requests whose completion has not been reaped
 * @silent: number of requests since the last signalled request
 */
struct perf_conn {
	DAT_EP_HANDLE	ep;
	uint32_t	busy;
	uint32_t	silent;
};

/*
 * struct perf_request - a connection request of a client
 * @cr: request, to be accepted or rejected
 * @opt, @session, @index: contents of the request's private data, the hello
 */
struct perf_request {
	DAT_CR_HANDLE	cr;
	struct perf_opt	opt;
	uint32_t	session;
	uint32_t	index;
};

/*
 * struct perf - a run
 * @opt: options from the command line; the server uses the client's options instead
 * @args: options from the command line
 * @client: flag: this process is the client
 * @tool: adapter
 * @cr_evd: EVD of connection requests (server only)
 * @session: number of the run, chosen by the client
 * @held: connection request of the next client, kept for the next run
 * @conn: array of connections: @opt.eps that carry messages, then @opt.idle that carry none
 * @srq: shared receive queue, or NULL
 * @recvs: number of receives of each connection, or of the SRQ
 * @up: number of established connections
 * @next: index of the connection that sends next
 * @mem: memory with two slots: the first to send from, the second to receive into
 * @slot: size of a slot of @mem in bytes
 * @recv_seg, @send_seg, @remote: segments that all receives and requests use
 * @peer: memory of the peer
 * @sent, @received: number of completed requests and receives
 * @due: number of messages that this process has to receive in the test
 * @at: time stamps in ticks: the start, then one per sample
 * @done: number of completions at each time stamp (bandwidth test)
 * @stamps: number of time stamps after the start
 * @ns_per_tick: nanoseconds per tick, measured during the run
 * @served: number of clients served
 * @next_client: jump target at which a server with --keep continues after it has dropped a client
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

/* dat-perf-queue.c */
#define PERF_LAT_RECVS	16	/* receives per connection; one message is in flight */

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
 * dat-perf-conn.c.  perf_fail() never returns.  perf_fail() ends the program, except for a server
 * with --keep: such a server drops the client and waits for the next one, so that a client cannot
 * end the server.
 */
void perf_fail(struct perf *p, const char *fmt, ...) __attribute__((format(printf, 2, 3), noreturn));
/* If @rc is not DAT_SUCCESS, call perf_fail() with the names of the return code. */
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

/* dat-perf-count.c: returns the exit status of the program */
int perf_count_syscalls(struct perf *p);

#endif /* DAT_PERF_H */
