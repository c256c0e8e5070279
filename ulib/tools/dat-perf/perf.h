/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Copyright (c) The dat authors */
/*
 * dat-perf: declarations that the files share.
 *
 *   main.c	the client and the server
 *   opt.c	options
 *   size.c	sizes of messages
 *   queue.c	lengths of queues
 *   hello.c	greetings: private data of connection requests
 *   conn.c	memory, queues and connections: setup and teardown
 *   round.c	control messages before and after the test of a size
 *   run.c	roles
 *   lat.c	loop of the latency tests
 *   bw.c	loop of the bandwidth tests
 *   stream.c	loop of the test whose system calls are counted
 *   request.h	one request or completion: what the loops consist of
 *   request.c	slow paths of requests and completions
 *   ticker.c	thread that ends a timed test, and shows progress
 *   watch.c	thread of the server that gives up a silent client
 *   hist.c	histogram of latencies
 *   rate.c	average and best rate of a bandwidth test
 *   report.c	output for people
 *   json.c	output for programs
 *   count.c	count of system calls
 *   fail.c	failures of a run
 */
#ifndef DAT_PERF_H
#define DAT_PERF_H

#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>

#include "../common/tool.h"

#define PERF_PORT	18515
#define MAX_SIZE	(4U << 20)
#define MAX_SIZES	64U
#define MAX_ITERS	10000000U
#define MAX_DURATION	86400U		/* seconds */
#define MAX_WINDOW	512U
#define MAX_EPS		1024U
#define MAX_IDLE	1024U
#define MAX_POLLER	1000000U	/* limit of --poller and --busy-poll, in microseconds */

enum perf_op { OP_SEND, OP_WRITE, OP_READ };
enum perf_test { TEST_LAT, TEST_BW, TEST_RECV };

extern const char *const perf_op_names[];
extern const char *const perf_test_names[];

/*
 * struct perf_opt - options that say what is measured, and that the client sends to the server
 * @op, @test: operation (enum perf_op) and kind of test (enum perf_test)
 * @size: bytes of the largest message
 * @iters: number of messages of each size, or 0 if the client ends the test after a time
 * @window: number of requests in flight on each connection
 * @cq_mod: one of @cq_mod requests is signalled
 * @eps: number of connections that carry messages
 * @idle: number of connections that carry no messages
 * @srq: flag: the server receives through an SRQ
 * @bidir: flag: the server sends at the same time as the client
 * @event: flag: wait for events instead of polling
 * @poller: idle time in microseconds after which the driver's poller sleeps; 0 for no poller
 * @busy: time in microseconds that the driver polls the device if the EVD is empty; 0 for no
 *	polling
 * @inline_data: flag: both sides post small messages with inline data
 * @duration: seconds of a timed test, or 0 (server only; the client has it in struct perf_args)
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
	uint32_t	bidir;
	uint32_t	event;
	uint32_t	poller;
	uint32_t	busy;
	uint32_t	inline_data;
	uint32_t	duration;
};

/*
 * struct perf_sizes - sizes of messages, in the order in which they are measured
 * @n: number of sizes
 * @at: array of sizes in bytes
 */
struct perf_sizes {
	uint32_t	n;
	uint32_t	at[MAX_SIZES];
};

/* Options that say how the measurement is run and reported. */
struct perf_args {
	const char		*device;
	const char		*host;
	unsigned int		port;
	struct perf_sizes	sizes;
	unsigned int		duration;	/* of the test of a size in seconds, or 0 */
	int			all;
	int			json;
	const char		*json_file;
	int			keep;
	int			syscalls;
	int			more;		/* flag: requests in a row are posted together */
	int			histogram;
	int			progress;	/* flag: show it even if it goes to no terminal */
	unsigned int		interval;	/* of progress in seconds, or 0 */
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
 * @opt, @session, @index: contents of the greeting, the request's private data
 */
struct perf_request {
	DAT_CR_HANDLE	cr;
	int		adapter;
	struct perf_opt	opt;
	uint32_t	session;
	uint32_t	index;
};

#define PERF_RATE_SLOTS	1024	/* more than MAX_WINDOW; a power of two */

/*
 * struct perf_rate - average and best rate of a bandwidth test
 * @window: number of messages in the shortest period that counts for the best rate
 * @stamps: number of time stamps after the start
 * @from: index of the time stamp at which the current period begins
 * @at: ring of the latest time stamps in ticks
 * @done: ring of the numbers of completions at these time stamps
 * @begin: start in ticks
 * @best_n, @best_ticks: messages and ticks of the best period; 0 if no period was long enough
 */
struct perf_rate {
	uint32_t	window;
	uint64_t	stamps;
	uint64_t	from;
	uint64_t	at[PERF_RATE_SLOTS];
	uint64_t	done[PERF_RATE_SLOTS];
	uint64_t	begin;
	uint64_t	best_n;
	uint64_t	best_ticks;
};

/* The messages of a test, the time that they took, and the same for the best period. */
struct perf_result {
	uint64_t	messages;
	uint64_t	ns;
	uint64_t	best_messages;
	uint64_t	best_ns;
};

#define PERF_HIST_BITS	7
#define PERF_HIST_LINES	((65 - PERF_HIST_BITS) << PERF_HIST_BITS)

/*
 * struct perf_hist - histogram of latencies
 * @n: number of latencies
 * @min, @max: shortest and longest latency in ticks
 * @sum, @squares: sums of the latencies in ticks, and of their squares
 * @line: numbers of latencies; the lines of latencies between two powers of two have the same
 *	width, and there are 2^PERF_HIST_BITS of them
 */
struct perf_hist {
	uint64_t	n;
	uint64_t	min;
	uint64_t	max;
	double		sum;
	double		squares;
	uint64_t	line[PERF_HIST_LINES];
};

enum perf_stage { STAGE_CONNECT, STAGE_WARM_UP, STAGE_TEST };

/*
 * struct perf_ticker - thread that ends a timed test, and shows progress
 * @thread: the thread, if @running
 * @lock: protects @stop
 * @wake: signalled when @stop is set
 * @stage: what the main thread does
 * @first: time at which the first stage began, in ns
 * @begin: time at which the stage began
 * @end: time at which the stage ends, or 0
 * @base: number of completed requests at @begin
 * @over: flag: the time is over; read without @lock
 * @tty: flag: progress goes to a terminal
 * @shown: flag: the terminal shows progress
 */
struct perf_ticker {
	pthread_t	thread;
	pthread_mutex_t	lock;
	pthread_cond_t	wake;
	int		running;
	int		stop;
	enum perf_stage	stage;
	uint64_t	first;
	uint64_t	begin;
	uint64_t	end;
	uint64_t	base;
	int		over;
	int		tty;
	int		shown;
};

/*
 * struct perf_watch - thread of the server that gives up a silent client
 * @thread: the thread, if @running
 * @lock: protects @limit, @quiet and @stop
 * @wake: signalled when @stop is set
 * @limit: seconds without a sign of the client after which the thread gives it up
 * @quiet: seconds without a sign of the client
 */
struct perf_watch {
	pthread_t	thread;
	pthread_mutex_t	lock;
	pthread_cond_t	wake;
	int		running;
	int		stop;
	unsigned int	limit;
	unsigned int	quiet;
};

/*
 * struct perf - a run
 * @opt: options from the command line; the server uses the client's options instead
 * @args: options from the command line
 * @client: flag: this process is the client
 * @host: addresses of the server (client only)
 * @service: adapters that the server listens on (server only)
 * @tool: adapter of the connections: of a server, one of @service
 * @session: number of the run, chosen by the client
 * @held: connection request of the next client, kept for the next run
 * @conn: array of connections: @opt.eps that carry messages, then @opt.idle that carry none
 * @srq: shared receive queue, or NULL
 * @recvs: number of receives of each connection, or of the SRQ
 * @up: number of established connections
 * @next: index of the connection that sends next
 * @mem: memory with two slots: the first to send from, the second to receive into
 * @slot: size of a slot of @mem in bytes
 * @size: bytes of a message in the current round
 * @round: number of the current round, from 1 (client only)
 * @recv_seg, @send_seg, @remote: segments that all receives and requests use
 * @peer: memory of the peer
 * @sent, @received: number of completed requests and receives in the round
 * @marks: number of marks received in the round; a mark is a message of no bytes
 * @length: bytes of the last message that was received and is no mark
 * @due: number of messages that this process has to receive in TEST_RECV
 * @at: time stamps of a latency test in ticks: the start, then one per message (client only); NULL
 *	in a timed test
 * @stamps: number of time stamps after the start
 * @hist: latencies of a timed test, or of --histogram
 * @ticker: thread that ends a timed test, and shows progress (client only)
 * @watch: thread that gives up a silent client (server only)
 * @rate: rate of a bandwidth test
 * @peer_result: result of the server's direction (client, if @opt.bidir)
 * @ns_per_tick: nanoseconds per tick, measured during the round
 * @json, @json_text, @json_len: stream that collects the JSON text, the text, and its length
 * @json_n: number of objects in it
 * @served: number of clients served
 * @next_client: jump target at which a server with --keep continues after it has dropped a client
 */
struct perf {
	struct perf_opt		opt;
	struct perf_args	args;
	int			client;
	struct tool_host	host;
	struct tool_service	service;
	struct tool		tool;
	uint32_t		session;
	struct perf_request	held;
	struct perf_conn	*conn;
	DAT_SRQ_HANDLE		srq;
	uint32_t		recvs;
	uint32_t		up;
	uint32_t		next;
	struct tool_mem		mem;
	size_t			slot;
	uint32_t		size;
	uint32_t		round;
	DAT_LMR_TRIPLET		recv_seg;
	DAT_LMR_TRIPLET		send_seg;
	DAT_RMR_TRIPLET		remote;
	DAT_RMR_TRIPLET		peer;
	uint64_t		sent;
	uint64_t		received;
	uint64_t		marks;
	uint64_t		length;
	uint64_t		due;
	uint64_t		*at;
	uint64_t		stamps;
	struct perf_hist	hist;
	struct perf_ticker	ticker;
	struct perf_watch	watch;
	struct perf_rate	rate;
	struct perf_result	peer_result;
	double			ns_per_tick;
	FILE			*json;
	char			*json_text;
	size_t			json_len;
	unsigned int		json_n;
	unsigned int		served;
	jmp_buf			next_client;
};

/* opt.c */
void perf_options(int argc, char **argv, struct perf *p);
const char *perf_opt_wrong(const struct perf_opt *o);

/*
 * size.c.  perf_sizes_parse() reads a list such as "64,4K,1M".  Returns 0 if the text is
 * no such list.
 */
int perf_sizes_parse(const char *text, struct perf_sizes *s);
void perf_sizes_all(struct perf_sizes *s);
uint32_t perf_sizes_largest(const struct perf_sizes *s);

/* queue.c */
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
 * hello.c.  A greeting is the private data of a connection request; it tells the test.
 * perf_greeting_unpack() returns whether it is valid according to the rules for the command line.
 */
#define PERF_GREETING_SIZE	48	/* bytes; a request can carry 56 */
void perf_greeting_pack(const struct perf *p, uint32_t index, uint8_t greeting[PERF_GREETING_SIZE]);
int perf_greeting_unpack(const DAT_CR_PARAM *cr, struct perf_request *r);

/*
 * fail.c.  perf_fail() never returns.  It ends the program, except for a server with --keep: such a
 * server drops the client and waits for the next one, so that a client cannot end the server.
 */
void perf_fail(struct perf *p, const char *fmt, ...) __attribute__((format(printf, 2, 3), noreturn));
/* If @rc is not DAT_SUCCESS, call perf_fail() with the names of the return code. */
void perf_check(struct perf *p, DAT_RETURN rc, const char *what);

/* conn.c */
#define PERF_CTRL_SIZE	64	/* bytes at the end of a slot for control messages */
void perf_drop(struct perf *p);
void perf_prepare(struct perf *p);
void perf_connect(struct perf *p);
int perf_accept(struct perf *p);
void perf_end(struct perf *p);

/*
 * round.c.  perf_round_begin() starts the round of @size at the client.
 * perf_round_accept() starts the next round at the server; returns 0 if the client has no more
 * sizes.
 */
void perf_round_begin(struct perf *p, uint32_t size);
int perf_round_accept(struct perf *p);
void perf_round_end(struct perf *p);
void perf_no_more_rounds(struct perf *p);

/* request.c, beside the inline functions of request.h */
void perf_unexpected(struct perf *p, const DAT_EVENT *event) __attribute__((noreturn, cold));
void perf_mark_received(struct perf *p, DAT_EP_HANDLE ep) __attribute__((cold));
void perf_repost(struct perf *p, DAT_EP_HANDLE ep);
void perf_post_send_from(struct perf *p, size_t at, uint32_t len);
void perf_reap(struct perf *p, uint64_t sent, uint64_t received);

/* run.c */
void perf_run(struct perf *p);

/* lat.c, bw.c, stream.c */
void perf_run_lat(struct perf *p);
void perf_run_bw(struct perf *p);
void perf_receive(struct perf *p, uint64_t n);
void perf_feed(struct perf *p);

/*
 * ticker.c.  perf_ticker_start() starts a stage, and in STAGE_TEST the time of a timed
 * test.  The time of other tests is never over.
 */
void perf_ticker_start(struct perf *p, enum perf_stage stage);
void perf_ticker_stop(struct perf *p);

/*
 * watch.c.  perf_watch() starts the thread, or says that another phase begins: at the end
 * of @limit seconds without a sign of the client, the thread disconnects all connections, and the
 * main thread gets the events of that.  Does nothing at the client.
 */
#define PERF_SILENCE	10	/* limit if the client has nothing to do but to go on */
#define PERF_PAUSE	120	/* limit between two sizes: the client sorts and prints */
void perf_watch(struct perf *p, unsigned int limit);
unsigned int perf_watch_round(const struct perf *p);
void perf_watch_stop(struct perf *p);

/* Returns whether the client's part is over, at the server.  The first mark began the test. */
static inline int perf_client_is_done(const struct perf *p)
{
	return p->marks > 1;
}

static inline int perf_time_is_over(const struct perf *p)
{
	return __atomic_load_n(&p->ticker.over, __ATOMIC_RELAXED);
}

/* hist.c.  The unit of @s is @scale ticks. */
struct stats;
void perf_hist_clear(struct perf_hist *h);
void perf_hist_add(struct perf_hist *h, uint64_t ticks);
void perf_hist_stats(const struct perf_hist *h, double scale, struct stats *s);

/*
 * struct perf_bucket - number of latencies in a range, for people
 * @from, @to: range in the unit of the scale; @to is the end, which is not in the range
 * @n: number of latencies
 */
struct perf_bucket {
	double		from;
	double		to;
	uint64_t	n;
};

#define PERF_BUCKETS	256

/* Fill the buckets that have latencies, and those between them.  Returns their number. */
uint32_t perf_hist_buckets(const struct perf_hist *h, double scale,
			   struct perf_bucket b[PERF_BUCKETS]);

/*
 * rate.c.  perf_rate_add() says that @done messages have completed at @now.
 * perf_rate_result() needs at least one such call.
 */
void perf_rate_begin(struct perf_rate *r, uint64_t now, uint32_t window);
void perf_rate_add(struct perf_rate *r, uint64_t now, uint64_t done);
void perf_rate_result(const struct perf_rate *r, double ns_per_tick, struct perf_result *result);

/* report.c */
void perf_header(const struct perf *p);
void perf_report(struct perf *p);

/*
 * json.c.  The functions do nothing without --json and --json-file.  @buckets may be NULL.
 * perf_json_end() prints and writes what the others have collected.
 */
struct perf_rates {
	double		mb;	/* bytes of a message in MB of 2^20 */
	double		peak;	/* messages per second, as the following */
	double		average;
	double		client;
	double		server;	/* 0, or @average is the sum of both directions */
};

void perf_json_begin(struct perf *p);
void perf_json_lat(struct perf *p, const struct stats *s, const struct perf_bucket *buckets,
		   uint32_t nbuckets);
void perf_json_bw(struct perf *p, const struct perf_rates *r, uint64_t messages);
void perf_json_syscalls(struct perf *p, uint64_t messages, uint64_t syscalls);
void perf_json_end(struct perf *p);

/* count.c: returns the exit status of the program */
int perf_count_syscalls(struct perf *p);

#endif /* DAT_PERF_H */
