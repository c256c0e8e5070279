// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * dat-perf - latency and bandwidth of DAT between two hosts
 *
 * The client chooses the test and tells the server in its private data.  Messages and
 * RDMA go between two buffers whose addresses the sides exchange in a first message.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <endian.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common.h"
#include "dat-perf.h"

#define DEFAULT_PORT	18515
#define HELLO_MAGIC	0x44415470	/* "DATp" */
#define HELLO_VERSION	1
#define CTRL_SIZE	64		/* at the end of the buffer */

static const char *const op_names[] = { "send", "write", "read" };
static const char *const test_names[] = { "lat", "bw", "recv" };

/* What the client tells the server; big endian. */
struct hello {
	uint32_t	magic;
	uint32_t	version;
	uint32_t	op;
	uint32_t	test;
	uint32_t	size;
	uint32_t	iters;
	uint32_t	window;
	uint32_t	event;
};

/* Where the peer's buffer is; big endian. */
struct where {
	uint64_t	addr;
	uint32_t	rkey;
	uint32_t	rsvd;
};

static DAT_DTO_COOKIE cookie(uint64_t n)
{
	DAT_DTO_COOKIE c = { .as_64 = n };

	return c;
}

static void expect_success(const DAT_EVENT *event)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *dto = &event->event_data.dto_completion_event_data;

	if (event->event_number != DAT_DTO_COMPLETION_EVENT)
		tool_die("the connection ended in the middle of the test: %s",
			 tool_event_name(event->event_number));
	if (dto->status != DAT_DTO_SUCCESS)
		tool_die("a request failed: %s", tool_dto_name(dto->status));
}

void perf_post_recv(struct perf *p)
{
	DAT_LMR_TRIPLET seg = tool_seg(&p->mem, 0, p->slot);

	/* All receives land in one place: who measures doesn't look. */
	seg.virtual_address += p->slot;
	tool_check(dat_ep_post_recv(p->ep, 1, &seg, cookie(COOKIE_RECV),
				    DAT_COMPLETION_DEFAULT_FLAG), "cannot post a receive");
}

static void post_send(struct perf *p, size_t len)
{
	DAT_LMR_TRIPLET seg = tool_seg(&p->mem, 0, len);

	tool_check(dat_ep_post_send(p->ep, 1, &seg, cookie(COOKIE_SEND),
				    DAT_COMPLETION_DEFAULT_FLAG), "cannot post a send");
}

static void post_rdma(struct perf *p)
{
	DAT_LMR_TRIPLET seg = tool_seg(&p->mem, p->opt.op == OP_READ ? p->slot : 0, p->opt.size);
	DAT_RMR_TRIPLET remote = p->peer;
	DAT_RETURN rc;

	if (p->opt.op == OP_WRITE) {
		remote.target_address += p->slot;
		rc = dat_ep_post_rdma_write(p->ep, 1, &seg, cookie(COOKIE_SEND), &remote,
					    DAT_COMPLETION_DEFAULT_FLAG);
	} else {
		rc = dat_ep_post_rdma_read(p->ep, 1, &seg, cookie(COOKIE_SEND), &remote,
					   DAT_COMPLETION_DEFAULT_FLAG);
	}
	tool_check(rc, "cannot post an RDMA request");
}

/* Take events until both counters have reached what is asked for. */
void perf_reap(struct perf *p, uint64_t sent, uint64_t received)
{
	DAT_EVENT event;

	while (p->sent < sent || p->received < received) {
		tool_event(&p->tool, !p->opt.event, 0, &event);
		expect_success(&event);
		if (event.event_data.dto_completion_event_data.user_cookie.as_64 == COOKIE_RECV)
			p->received++;
		else
			p->sent++;
	}
}

/* Exchange buffer addresses; afterwards the receives of the test are posted. */
static void exchange(struct perf *p)
{
	struct where *mine = (struct where *)p->mem.va;
	struct where *theirs = (struct where *)(p->mem.va + p->slot);

	mine->addr = htobe64((uintptr_t)p->mem.va);
	mine->rkey = htobe32(p->mem.rmr_context);
	mine->rsvd = 0;
	post_send(p, sizeof(*mine));
	perf_reap(p, 1, 1);
	p->peer.rmr_context = be32toh(theirs->rkey);
	p->peer.target_address = be64toh(theirs->addr);
	p->peer.segment_length = p->opt.size;
	p->sent = 0;
	p->received = 0;
	memset(p->mem.va, 0, p->mem.size);
}

/* The last byte of a message that is written tells of its arrival. */
static void await_byte(struct perf *p, uint8_t value)
{
	volatile uint8_t *last = (uint8_t *)p->mem.va + p->slot + p->opt.size - 1;
	DAT_EVENT event;

	while (*last != value) {
		/* Nothing tells of it but the memory; yet the peer may die. */
		if (dat_evd_dequeue(p->tool.evd, &event) == DAT_SUCCESS) {
			expect_success(&event);
			p->sent++;
		}
	}
}

static void lat_send(struct perf *p, int client, uint64_t i)
{
	if (client)
		post_send(p, p->opt.size);
	perf_reap(p, client ? i : i - 1, i);
	perf_post_recv(p);
	if (!client) {
		post_send(p, p->opt.size);
		perf_reap(p, i, i);
	}
}

static void lat_write(struct perf *p, int client, uint64_t i)
{
	uint8_t value = (uint8_t)(i % 255 + 1);

	if (!client)
		await_byte(p, value);
	p->mem.va[p->opt.size - 1] = (char)value;
	post_rdma(p);
	if (client)
		await_byte(p, value);
	perf_reap(p, i, 0);
}

static void lat_read(struct perf *p, int client, uint64_t i)
{
	if (!client)
		return;
	post_rdma(p);
	perf_reap(p, i, 0);
}

static void (*const lat_ops[])(struct perf *p, int client, uint64_t i) = {
	lat_send, lat_write, lat_read,
};

static void run_lat(struct perf *p, int client)
{
	uint64_t warmup = p->opt.iters / 10 + 1, i, start;

	for (i = 1; i <= warmup; i++)
		lat_ops[p->opt.op](p, client, i);
	for (; i <= warmup + p->opt.iters; i++) {
		start = tool_now_ns();
		lat_ops[p->opt.op](p, client, i);
		p->ns[i - warmup - 1] = tool_now_ns() - start;
	}
}

static void bw_post(struct perf *p)
{
	if (p->opt.op == OP_SEND)
		post_send(p, p->opt.size);
	else
		post_rdma(p);
}

static void bw_send(struct perf *p)
{
	uint64_t posted = 0, start = tool_now_ns(), last = start, now;

	while (p->sent < p->opt.iters) {
		while (posted < p->opt.iters && posted - p->sent < p->opt.window) {
			bw_post(p);
			posted++;
		}
		perf_reap(p, p->sent + 1, 0);
		now = tool_now_ns();
		if (p->sent <= p->opt.iters)
			p->ns[p->sent - 1] = now - last;
		last = now;
	}
	p->total_ns = tool_now_ns() - start;
}

/*
 * Receive and offer again; also what the count of system calls is taken of.  The
 * number received is in memory, where a server that feeds us can read it.
 */
void perf_receive(struct perf *p, uint64_t n)
{
	volatile uint64_t *progress = (uint64_t *)p->mem.va;
	uint64_t end = p->received + n;

	while (p->received < end) {
		perf_reap(p, 0, p->received + 1);
		perf_post_recv(p);
		*progress = p->received;
	}
}

static uint64_t read_progress(struct perf *p)
{
	DAT_LMR_TRIPLET seg = tool_seg(&p->mem, p->slot, sizeof(uint64_t));
	DAT_RMR_TRIPLET remote = p->peer;

	remote.segment_length = sizeof(uint64_t);
	tool_check(dat_ep_post_rdma_read(p->ep, 1, &seg, cookie(COOKIE_SEND), &remote,
					 DAT_COMPLETION_DEFAULT_FLAG),
		   "cannot read the client's progress");
	perf_reap(p, p->sent + 1, 0);
	return *(uint64_t *)(p->mem.va + p->slot);
}

/*
 * Send no more than the client has receives for, which is what a protocol with credits
 * does.  Credits would cost the client system calls, so its progress is read instead.
 */
static void feed(struct perf *p)
{
	uint64_t fed;

	for (fed = 0; fed < p->opt.iters; fed++) {
		while (fed % 16 == 0 && fed > read_progress(p) + p->opt.window)
			;
		post_send(p, p->opt.size);
		perf_reap(p, p->sent + 1, 0);
	}
}

/* One-sided tests end with the client's disconnect. */
static void await_end(struct perf *p)
{
	DAT_EVENT event;

	do {
		tool_event(&p->tool, 0, 0, &event);
	} while (event.event_number == DAT_DTO_COMPLETION_EVENT);
	p->ended = 1;
}

static void run_server(struct perf *p)
{
	if (p->opt.test == TEST_LAT)
		run_lat(p, 0);
	else if (p->opt.test == TEST_RECV)
		feed(p);
	else if (p->opt.op == OP_SEND)
		perf_receive(p, p->opt.iters);
	await_end(p);
}

static void run_client(struct perf *p)
{
	if (p->opt.test == TEST_LAT)
		run_lat(p, 1);
	else if (p->opt.test == TEST_BW)
		bw_send(p);
	else
		perf_receive(p, p->opt.iters);
}

static void prepare(struct perf *p)
{
	uint32_t i, recvs = p->opt.window * 4;

	p->sent = 0;
	p->received = 0;
	p->ended = 0;
	p->slot = (p->opt.size + CTRL_SIZE + 63) & ~(size_t)63;
	tool_alloc(&p->tool, &p->mem, 2 * p->slot);
	p->ep = tool_ep(&p->tool, NULL, (DAT_COUNT)recvs, (DAT_COUNT)p->opt.window * 2);
	for (i = 0; i < recvs; i++)
		perf_post_recv(p);
	p->ns = calloc(p->opt.iters, sizeof(*p->ns));
	if (!p->ns)
		tool_die("no memory for %u samples", p->opt.iters);
}

static void finish(struct perf *p)
{
	if (!p->ended) {
		dat_ep_disconnect(p->ep, DAT_CLOSE_GRACEFUL_FLAG);
		await_end(p);
	}
	dat_ep_free(p->ep);
	tool_free(&p->mem);
	free(p->ns);
}

static void hello_pack(const struct perf_opt *o, struct hello *h)
{
	*h = (struct hello) {
		htonl(HELLO_MAGIC), htonl(HELLO_VERSION), htonl(o->op), htonl(o->test),
		htonl(o->size), htonl(o->iters), htonl(o->window), htonl(o->event),
	};
}

/* What comes from the net is checked like what comes from the command line. */
static int hello_unpack(const DAT_CR_PARAM *cr, struct perf_opt *o)
{
	struct hello h;

	if (cr->private_data_size < (DAT_COUNT)sizeof(h))
		return 0;
	memcpy(&h, cr->private_data, sizeof(h));
	o->op = ntohl(h.op);
	o->test = ntohl(h.test);
	o->size = ntohl(h.size);
	o->iters = ntohl(h.iters);
	o->window = ntohl(h.window);
	o->event = ntohl(h.event);
	return ntohl(h.magic) == HELLO_MAGIC && ntohl(h.version) == HELLO_VERSION &&
	       o->op <= OP_READ && o->test <= TEST_RECV && o->size && o->size <= MAX_SIZE &&
	       o->iters && o->iters <= MAX_ITERS && o->window && o->window <= MAX_WINDOW &&
	       o->event <= 1;
}

static void serve_one(struct perf *p)
{
	DAT_CR_HANDLE cr;
	DAT_CR_PARAM param;
	DAT_EVENT event;

	tool_event_on(p->cr_evd, 0, 0, &event);
	cr = event.event_data.cr_arrival_event_data.cr_handle;
	tool_check(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param), "cannot query a request");
	if (!hello_unpack(&param, &p->opt)) {
		tool_warn("refusing a client that isn't dat-perf of this version");
		dat_cr_reject(cr);
		return;
	}
	prepare(p);
	tool_check(dat_cr_accept(cr, p->ep, 0, NULL), "cannot accept");
	do {
		tool_event(&p->tool, 0, 0, &event);
	} while (event.event_number == DAT_DTO_COMPLETION_EVENT);
	p->ended = event.event_number != DAT_CONNECTION_EVENT_ESTABLISHED;
	if (!p->ended) {
		exchange(p);
		run_server(p);
	}
	finish(p);
	p->served++;
}

static void server(struct perf *p, int keep)
{
	DAT_PSP_HANDLE psp;

	tool_open(&p->tool, p->opt.device, 16 * MAX_WINDOW);
	tool_check(dat_evd_create(p->tool.ia, 8, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &p->cr_evd),
		   "cannot make an event queue");
	tool_check(dat_psp_create(p->tool.ia, p->opt.port, p->cr_evd, DAT_PSP_CONSUMER_FLAG,
				  &psp), "cannot listen");
	fprintf(stderr, "dat-perf: %s, waiting at port %u\n", p->tool.name, p->opt.port);
	while (keep || !p->served)
		serve_one(p);
	tool_close(&p->tool);
}

/* Run one size, and leave the connection for a count of system calls if asked to. */
static void client_once(struct perf *p)
{
	struct hello hello;

	prepare(p);
	hello_pack(&p->opt, &hello);
	tool_connect(&p->tool, p->ep, p->opt.host, p->opt.port, &hello, sizeof(hello));
	exchange(p);
	if (p->measure)
		p->measure(p);
	else
		run_client(p);
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

struct stats {
	double min, max, typical, avg, stdev, p99, p999;
};

/* In microseconds; a ping-pong counts one way. */
static void lat_stats(struct perf *p, struct stats *s)
{
	double scale = p->opt.op == OP_READ ? 1e-3 : 0.5e-3, sum = 0, dev = 0;
	uint32_t n = p->opt.iters, i;

	qsort(p->ns, n, sizeof(*p->ns), by_value);
	for (i = 0; i < n; i++)
		sum += (double)p->ns[i];
	s->avg = sum / n;
	for (i = 0; i < n; i++)
		dev += ((double)p->ns[i] - s->avg) * ((double)p->ns[i] - s->avg);
	s->avg *= scale;
	s->stdev = sqrt(dev / n) * scale;
	s->min = (double)p->ns[0] * scale;
	s->max = (double)p->ns[n - 1] * scale;
	s->typical = (double)p->ns[n / 2] * scale;
	s->p99 = (double)p->ns[(uint64_t)n * 99 / 100] * scale;
	s->p999 = (double)p->ns[(uint64_t)n * 999 / 1000] * scale;
}

static void json_head(const struct perf *p)
{
	printf("{\"op\":\"%s\",\"test\":\"%s\",\"device\":\"%s\",\"event\":%s,\"bytes\":%u,"
	       "\"iterations\":%u", op_names[p->opt.op], test_names[p->opt.test], p->tool.name,
	       p->opt.event ? "true" : "false", p->opt.size, p->opt.iters);
}

static void report_lat(struct perf *p)
{
	struct stats s;

	lat_stats(p, &s);
	if (p->opt.json) {
		json_head(p);
		printf(",\"t_min\":%.3f,\"t_max\":%.3f,\"t_typical\":%.3f,\"t_avg\":%.3f,"
		       "\"t_stdev\":%.3f,\"t_99\":%.3f,\"t_99_9\":%.3f}", s.min, s.max,
		       s.typical, s.avg, s.stdev, s.p99, s.p999);
		return;
	}
	printf(" %-10u %-12u %-13.2f %-13.2f %-18.2f %-13.2f %-13.2f %-18.2f %.2f\n",
	       p->opt.size, p->opt.iters, s.min, s.max, s.typical, s.avg, s.stdev, s.p99,
	       s.p999);
}

/* The peak is the best rate between two completions, as perftest has it; MB is 2^20. */
static void report_bw(struct perf *p)
{
	double mb = (double)p->opt.size / 1048576.0, seconds = (double)p->total_ns * 1e-9;
	double avg = mb * p->opt.iters / seconds, rate = p->opt.iters / seconds / 1e6, peak;
	uint64_t window_ns = 0, best = UINT64_MAX;
	uint32_t n = p->opt.iters, w = p->opt.window < n ? p->opt.window : n, i;

	for (i = 0; i < n; i++) {
		window_ns += p->ns[i];
		if (i >= w)
			window_ns -= p->ns[i - w];
		if (i + 1 >= w && window_ns && window_ns < best)
			best = window_ns;
	}
	peak = mb * w / ((double)best * 1e-9);
	if (p->opt.json) {
		json_head(p);
		printf(",\"bw_peak\":%.2f,\"bw_average\":%.2f,\"msg_rate\":%.6f}", peak, avg,
		       rate);
		return;
	}
	printf(" %-10u %-12u %-18.2f %-18.2f %.6f\n", p->opt.size, n, peak, avg, rate);
}

static void header(const struct perf_opt *o)
{
	if (o->json) {
		printf("[");
		return;
	}
	printf(" dat-perf: %s %s, %s\n", op_names[o->op], test_names[o->test],
	       o->event ? "waiting for events" : "polling");
	if (o->test == TEST_LAT)
		printf(" #bytes     #iterations  t_min[usec]   t_max[usec]   t_typical[usec]"
		       "    t_avg[usec]   t_stdev[usec] 99%%[usec]          99.9%%[usec]\n");
	else
		printf(" #bytes     #iterations  BW peak[MB/sec]    BW average[MB/sec] MsgRate[Mpps]\n");
}

static void client_size(struct perf *p, int first)
{
	client_once(p);
	if (p->opt.json && !first)
		printf(",");
	if (p->opt.test == TEST_LAT)
		report_lat(p);
	else if (p->opt.test == TEST_BW)
		report_bw(p);
	fflush(stdout);
	finish(p);
}

static void client(struct perf *p, int all)
{
	uint32_t size, first = 1;

	tool_open(&p->tool, p->opt.device, 16 * MAX_WINDOW);
	header(&p->opt);
	if (!all)
		client_size(p, 1);
	for (size = 1; all && size <= 1U << 20; size <<= 1, first = 0) {
		p->opt.size = size;
		client_size(p, (int)first);
	}
	if (p->opt.json)
		printf("]\n");
	tool_close(&p->tool);
}

/* Connect, receive as many as warm everything up, and hand over to the counter. */
void perf_run_counted(struct perf *p, void (*measure)(struct perf *p))
{
	p->measure = measure;
	p->opt.test = TEST_RECV;
	p->opt.op = OP_SEND;
	tool_open(&p->tool, p->opt.device, 16 * MAX_WINDOW);
	client_once(p);
	finish(p);
	tool_close(&p->tool);
}

static const char usage_text[] =
"usage: dat-perf [--keep] [OPTION]...        serve one client, or all with --keep\n"
"       dat-perf [OPTION]... HOST            measure against the server at HOST\n"
"\n"
"  -o, --op OP         send, write or read (send)\n"
"  -t, --test TEST     lat: ping-pong; bw: as fast as the window allows;\n"
"                      syscalls: count the system calls of receiving (lat)\n"
"  -s, --size BYTES    of a message, 1 to %u (64 for lat, 65536 for bw)\n"
"  -a, --all           all sizes from 1 to 1048576 in powers of two; the server\n"
"                      needs --keep\n"
"  -n, --iters N       messages, 1 to %u (1000)\n"
"  -w, --window N      messages under way in bw, 1 to %u (64)\n"
"  -e, --event         wait for events instead of polling\n"
"  -d, --device IA     adapter, see 'rdma link show' (the first one)\n"
"  -p, --port N        connection qualifier of the server (%u)\n"
"  -j, --json          results as a JSON array\n"
"  -k, --keep          go on after the first client\n"
"  -h, --help          this text\n"
"      --version       the version\n"
"\n"
"Latencies are one way (half the ping-pong), except of reads.  MB are 2^20 bytes.\n";

static void usage(FILE *to)
{
	fprintf(to, usage_text, MAX_SIZE, MAX_ITERS, MAX_WINDOW, DEFAULT_PORT);
}

static unsigned int find_name(const char *name, const char *const *names, unsigned int n,
			      const char *option)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		if (!strcmp(name, names[i]))
			return i;
	tool_die("%s does not know '%s'; see dat-perf --help", option, name);
}

static const struct option long_options[] = {
	{ "op",		required_argument,	NULL, 'o' },
	{ "test",	required_argument,	NULL, 't' },
	{ "size",	required_argument,	NULL, 's' },
	{ "all",	no_argument,		NULL, 'a' },
	{ "iters",	required_argument,	NULL, 'n' },
	{ "window",	required_argument,	NULL, 'w' },
	{ "event",	no_argument,		NULL, 'e' },
	{ "device",	required_argument,	NULL, 'd' },
	{ "port",	required_argument,	NULL, 'p' },
	{ "json",	no_argument,		NULL, 'j' },
	{ "keep",	no_argument,		NULL, 'k' },
	{ "help",	no_argument,		NULL, 'h' },
	{ "version",	no_argument,		NULL, 'V' },
	{ NULL,		0,			NULL, 0 },
};

struct args {
	int	all;
	int	keep;
	int	syscalls;
};

static void parse_test(struct perf_opt *o, struct args *a)
{
	a->syscalls = !strcmp(optarg, "syscalls");
	if (!a->syscalls)
		o->test = find_name(optarg, test_names, 2, "--test");
}

static void parse_one(int c, struct perf_opt *o, struct args *a)
{
	switch (c) {
	case 'o':
		o->op = find_name(optarg, op_names, 3, "--op");
		break;
	case 't':
		parse_test(o, a);
		break;
	case 's':
		o->size = tool_number(optarg, "--size", 1, MAX_SIZE);
		break;
	case 'n':
		o->iters = tool_number(optarg, "--iters", 1, MAX_ITERS);
		break;
	case 'w':
		o->window = tool_number(optarg, "--window", 1, MAX_WINDOW);
		break;
	case 'd':
		o->device = optarg;
		break;
	case 'p':
		o->port = tool_number(optarg, "--port", 1, 65535);
		break;
	case 'a':
		a->all = 1;
		break;
	case 'k':
		a->keep = 1;
		break;
	case 'e':
		o->event = 1;
		break;
	case 'j':
		o->json = 1;
		break;
	case 'h':
		usage(stdout);
		exit(0);
	case 'V':
		printf("dat-perf 1.2.0\n");
		exit(0);
	default:
		usage(stderr);
		exit(2);
	}
}

int main(int argc, char **argv)
{
	struct perf p = { .opt = { .iters = 1000, .window = 64, .port = DEFAULT_PORT } };
	struct args args = { 0 };
	int c;

	tool_prog = "dat-perf";
	while ((c = getopt_long(argc, argv, "o:t:s:an:w:ed:p:jkh", long_options, NULL)) != -1)
		parse_one(c, &p.opt, &args);
	if (argc - optind > 1) {
		usage(stderr);
		return 2;
	}
	if (!p.opt.size)
		p.opt.size = p.opt.test == TEST_BW ? 65536 : 64;
	p.opt.host = argv[optind];
	if (args.syscalls && p.opt.host)
		return perf_count_syscalls(&p);
	if (p.opt.host)
		client(&p, args.all);
	else
		server(&p, args.keep);
	return 0;
}
