/* SPDX-License-Identifier: GPL-2.0 */
/*
 * dat_kperf: the cost of messages inside the kernel, over kDAPL and over plain verbs.
 *
 * kperf_main.c	takes orders and prints results
 * kperf_run.c	the tests; they use two ends of a connection through struct kperf_side
 * kperf_dat.c	a side: a consumer of <linux/kdat.h>
 * kperf_verbs.c	a side: a consumer of ib_core and rdma_cm
 */
#ifndef _KPERF_H
#define _KPERF_H

#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/types.h>

#define KPERF_MAX_SIZE		65536	/* largest message */
#define KPERF_MAX_COUNT		1000000	/* messages, or round trips */
#define KPERF_MAX_WINDOW	1024	/* most messages in flight */
#define KPERF_WAIT		(20 * HZ)	/* timeout of connecting */
#define KPERF_LIMIT		(120 * HZ)	/* timeout of a test */

struct kperf_run;

/**
 * struct kperf_end - an end of the connection; written by its upcalls only, but for constants
 * @run: run that the end belongs to
 * @buf: 2 * KPERF_MAX_SIZE bytes: send buffer, then receive buffer
 * @priv: private data of the side
 * @posted: sends or writes posted
 * @sent: sends or writes completed
 * @received: messages received
 */
struct kperf_end {
	struct kperf_run	*run;
	void			*buf;
	void			*priv;
	u32			posted;
	u32			sent;
	u32			received;
};

/**
 * struct kperf_test - a test
 * @name: name in orders
 * @depth: number of receives that each end has posted, for a window
 * @write: the client writes memory of the server
 * @waits: number of ends that report completion
 * @start: the client's first step, in process context
 * @sent: called when a send or write has completed; BH
 * @received: called when a message has arrived and its buffer is posted again; BH
 * @report: format the result
 */
struct kperf_test {
	const char	*name;
	u32		(*depth)(u32 window);
	bool		write;
	int		waits;
	void		(*start)(struct kperf_run *run);
	void		(*sent)(struct kperf_end *end);
	void		(*received)(struct kperf_end *end);
	int		(*report)(struct kperf_run *run, char *out, size_t size);
};

/**
 * struct kperf_side - an interface that is measured
 * @name: name in orders
 * @open: connect run->client with run->server, with run->depth receives posted at each; undoes
 *	everything on error
 * @close: close the connection; makes no calls of kperf_*() after it returns
 * @post_recv: post the whole receive buffer of an end; BH
 * @post_send: send run->size bytes; BH
 * @post_write: write run->size bytes into the peer's buffer; BH
 */
struct kperf_side {
	const char	*name;
	int		(*open)(struct kperf_run *run);
	void		(*close)(struct kperf_run *run);
	int		(*post_recv)(struct kperf_end *end);
	int		(*post_send)(struct kperf_end *end);
	int		(*post_write)(struct kperf_end *end);
};

/**
 * struct kperf_run - a run of a test
 * @side: interface that is measured
 * @test: test
 * @size: bytes of a message
 * @count: messages, or round trips
 * @window: messages in flight
 * @depth: receives posted at each end
 * @client: end that starts
 * @server: end that answers
 * @priv: private data of the side
 * @waits: number of ends that have not completed
 * @done: completed when the run is over, successful or not
 * @failed: the run has failed; the first to set it logs the reason
 * @begun: start of the run, ns
 * @ended: end of the run, ns
 * @last: end of the last round trip, ns
 * @trips: time of each round trip, ns; used by tests that measure it
 */
struct kperf_run {
	const struct kperf_side	*side;
	const struct kperf_test	*test;
	u32			size;
	u32			count;
	u32			window;
	u32			depth;
	struct kperf_end	client;
	struct kperf_end	server;
	void			*priv;
	atomic_t		waits;
	struct completion	done;
	atomic_t		failed;
	u64			begun;
	u64			ended;
	u64			last;
	u32			*trips;
};

extern const struct kperf_side kperf_dat, kperf_verbs;
extern char *kperf_device, *kperf_address;

/* kperf_run.c */
const struct kperf_test *kperf_test_find(const char *name);
int kperf_run(struct kperf_run *run, char *out, size_t size);
void kperf_sent(struct kperf_end *end);
void kperf_received(struct kperf_end *end);
void kperf_failed(struct kperf_run *run, const char *what, int code);

static inline bool kperf_is_client(const struct kperf_end *end)
{
	return end == &end->run->client;
}

#endif /* _KPERF_H */
