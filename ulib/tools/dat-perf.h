/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef DAT_PERF_H
#define DAT_PERF_H

#include "common.h"

#define MAX_SIZE	(4U << 20)
#define MAX_ITERS	10000000U
#define MAX_WINDOW	512U

enum perf_op { OP_SEND, OP_WRITE, OP_READ };
enum perf_test { TEST_LAT, TEST_BW, TEST_RECV };
enum { COOKIE_SEND = 1, COOKIE_RECV = 2 };

struct perf_opt {
	uint32_t	op;
	uint32_t	test;
	uint32_t	size;
	uint32_t	iters;
	uint32_t	window;
	uint32_t	event;
	unsigned int	port;
	int		json;
	const char	*device;
	const char	*host;
};

/*
 * struct perf - a run
 * @opt: from the command line, or from the client
 * @tool: adapter
 * @ep: endpoint
 * @mem: a slot to send from and one to receive into
 * @slot: bytes of each
 * @peer: the peer's memory
 * @sent, @received: completions so far
 * @ns: a sample per iteration
 * @total_ns: of a bandwidth test
 * @cr_evd: where the server's clients knock
 * @ended: the connection is over
 * @served: clients
 * @measure: replaces the client's test
 */
struct perf {
	struct perf_opt	opt;
	struct tool	tool;
	DAT_EP_HANDLE	ep;
	struct tool_mem	mem;
	size_t		slot;
	DAT_RMR_TRIPLET	peer;
	uint64_t	sent;
	uint64_t	received;
	uint64_t	*ns;
	uint64_t	total_ns;
	DAT_EVD_HANDLE	cr_evd;
	int		ended;
	unsigned int	served;
	void		(*measure)(struct perf *p);
};

void perf_post_recv(struct perf *p);
void perf_reap(struct perf *p, uint64_t sent, uint64_t received);
void perf_receive(struct perf *p, uint64_t n);
void perf_run_counted(struct perf *p, void (*measure)(struct perf *p));

/* dat-perf-count.c: returns the exit status */
int perf_count_syscalls(struct perf *p);

#endif /* DAT_PERF_H */
