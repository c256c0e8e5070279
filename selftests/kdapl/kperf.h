/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) The dat authors */
/*
 * dat_kperf: measures the cost of messages inside the kernel, over kDAPL and over plain verbs.
 *
 * kperf_main.c	debugfs file that takes the parameters of a test and returns the result
 * kperf_run.c	the tests, which use the two ends of a connection through struct kperf_side
 * kperf_dat.c	implementation of struct kperf_side on <linux/kdat.h>
 * kperf_verbs.c	implementation of struct kperf_side on ib_core and rdma_cm
 */
#ifndef _KPERF_H
#define _KPERF_H

#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/types.h>

#define KPERF_MAX_SIZE		65536	/* bytes of the largest message */
#define KPERF_MAX_COUNT		1000000	/* maximum number of messages or round trips */
#define KPERF_MAX_WINDOW	1024	/* maximum number of messages in flight */
/*
 * Sends beyond the window that a send queue must hold: the answer to a send may arrive before the
 * completion of the send.
 */
#define KPERF_SLACK		16
#define KPERF_WAIT		(20 * HZ)	/* timeout of connecting in jiffies */
#define KPERF_LIMIT		(120 * HZ)	/* timeout of a test in jiffies */

struct kperf_run;

/**
 * struct kperf_end - an end of the connection; during a test, only upcalls of the end write to it
 * @run: run that the end belongs to
 * @buf: send buffer, then receive buffer, KPERF_MAX_SIZE bytes each
 * @priv: private data of the interface
 * @posted: number of sends or writes posted
 * @sent: number of sends or writes completed
 * @received: number of messages received
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
 * @name: name of the test, as written to the debugfs file
 * @depth: returns the number of receives that each end needs for @window messages in flight
 * @write: true if the client RDMA-writes to memory of the server instead of sending
 * @bind: true if the client binds memory, and no message passes
 * @waits: number of ends that must report completion before the test is over
 * @start: starts the test at the client, in process context
 * @sent: called when a send or write has completed; Context: BH
 * @received: called when a message has arrived and its buffer is posted again; Context: BH
 * @report: appends the result to a line
 */
struct kperf_test {
	const char	*name;
	u32		(*depth)(u32 window);
	bool		write;
	bool		bind;
	int		waits;
	void		(*start)(struct kperf_run *run);
	void		(*sent)(struct kperf_end *end);
	void		(*received)(struct kperf_end *end);
	int		(*report)(struct kperf_run *run, char *out, size_t size);
};

/**
 * struct kperf_side - an interface that is measured: kDAPL or verbs
 * @name: name of the interface, as written to the debugfs file
 * @open: connects run->client with run->server, with run->depth receives posted at each; undoes
 *	everything on error
 * @close: closes the connection; once it has returned, no kperf_*() function is called any more
 * @post_recv: posts the receive buffer of an end; Context: BH
 * @post_send: sends run->size bytes from the send buffer; Context: BH
 * @post_write: RDMA-writes run->size bytes into the peer's receive buffer; Context: BH
 * @bind: gives peers access to run->size bytes of the receive buffer of an end by a new key, and
 *	invalidates the previous key; returns when the device has done that; Context: may sleep
 */
struct kperf_side {
	const char	*name;
	int		(*open)(struct kperf_run *run);
	void		(*close)(struct kperf_run *run);
	int		(*post_recv)(struct kperf_end *end);
	int		(*post_send)(struct kperf_end *end);
	int		(*post_write)(struct kperf_end *end);
	int		(*bind)(struct kperf_end *end);
};

/**
 * struct kperf_run - a run of a test
 * @side: interface that is measured
 * @test: test that runs
 * @size: bytes of a message
 * @count: number of messages, of round trips or of binds
 * @window: number of messages in flight
 * @depth: number of receives posted at each end
 * @client: end that connects and starts the test
 * @server: end that accepts
 * @priv: private data of the interface
 * @waits: number of ends that have not reported completion yet
 * @done: completed when the run is over, by success or failure
 * @failed: 1 if the run has failed; the context that sets it logs the reason
 * @begun: start of the run in ns
 * @ended: end of the run in ns
 * @last: time at which the last round trip ended, in ns
 * @trips: array of the duration of each round trip or bind in ns; filled by "lat" and "bind"
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
