/* SPDX-License-Identifier: GPL-2.0 */
/*
 * dat_kperf: what messages cost inside of the kernel, over kDAPL and over plain verbs.
 *
 * kperf_main.c	takes orders and prints results
 * kperf_run.c	the tests; they know two ends of a connection and nothing of what is below
 * kperf_dat.c	a side: a consumer of <linux/kdat.h>
 * kperf_verbs.c	a side: a consumer of ib_core and rdma_cm
 */
#ifndef _KPERF_H
#define _KPERF_H

#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/types.h>

#define KPERF_MAX_SIZE		65536	/* bytes of a message */
#define KPERF_MAX_COUNT		1000000	/* messages, or round trips */
#define KPERF_MAX_WINDOW	1024	/* messages under way */
#define KPERF_WAIT		(20 * HZ)	/* for a connection */
#define KPERF_LIMIT		(120 * HZ)	/* for a test */

struct kperf_run;

/**
 * struct kperf_end - an end of the connection; but for constants of its upcalls
 * @run: that it belongs to
 * @buf: 2 * KPERF_MAX_SIZE bytes: what is sent, then where messages arrive
 * @priv: the side's
 * @posted: sends or writes
 * @sent: of those, over
 * @received: messages
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
 * struct kperf_test - what is done with a connection
 * @name: as orders name it
 * @depth: receives that each end has posted, for a window
 * @write: the client writes memory of the server
 * @waits: ends that say that they are through
 * @start: the client's first step, in process context
 * @sent: a send or write of an end is over; BH
 * @received: a message has arrived, its buffer is posted again; BH
 * @report: what comes out
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
 * struct kperf_side - what is measured
 * @name: as orders name it
 * @open: connect run->client with run->server, run->depth receives posted at each; clean
 *	up after an error
 * @close: end it; nobody calls kperf_*() afterwards
 * @post_recv: the whole buffer of an end; BH
 * @post_send: run->size bytes; BH
 * @post_write: run->size bytes into the peer's buffer; BH
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
 * @side: what is measured
 * @test: what is done
 * @size: bytes of a message
 * @count: messages, or round trips
 * @window: messages under way
 * @depth: receives posted at each end
 * @client: begins
 * @server: answers
 * @priv: the side's
 * @waits: what has to happen until @done
 * @done: it is over, well or not
 * @failed: not; the first to say so
 * @begun: ns
 * @ended: ns
 * @last: end of the last round trip, ns
 * @trips: time of each, ns; of who measures them
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
