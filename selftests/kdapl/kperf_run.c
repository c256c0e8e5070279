// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * The tests.  A test makes progress in the upcalls of its two ends; the upcalls of one end run one
 * at a time.  The process that writes to the debugfs file only waits for the end of the run.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/printk.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/string.h>

#include "kperf.h"

/**
 * kperf_failed() - end a run with an error
 * @run: run that has failed
 * @what: operation that failed
 * @code: error code of the operation
 *
 * A call after the end of the run is ignored, because closing the connection causes errors.
 *
 * Context: any.
 */
void kperf_failed(struct kperf_run *run, const char *what, int code)
{
	if (completion_done(&run->done) || atomic_cmpxchg(&run->failed, 0, 1))
		return;
	pr_warn("%s %s: %s: %d (%#x)\n", run->side->name, run->test->name, what, code, code);
	complete_all(&run->done);
}

static void through(struct kperf_run *run)
{
	if (!atomic_dec_and_test(&run->waits))
		return;
	run->ended = ktime_get_ns();
	complete_all(&run->done);
}

/**
 * kperf_sent() - report that a send or write has completed
 * @end: end that posted the send or write
 *
 * Context: BH; one call at a time for an end.
 */
void kperf_sent(struct kperf_end *end)
{
	end->sent++;
	end->run->test->sent(end);
}

/**
 * kperf_received() - report that a message has arrived
 * @end: end that received it
 *
 * Context: BH; one call at a time for an end.
 */
void kperf_received(struct kperf_end *end)
{
	struct kperf_run *run = end->run;
	int ret = run->side->post_recv(end);

	if (ret) {
		kperf_failed(run, "post a receive", ret);
		return;
	}
	end->received++;
	run->test->received(end);
}

static void send(struct kperf_end *end)
{
	struct kperf_run *run = end->run;
	int ret;

	ret = run->test->write ? run->side->post_write(end) : run->side->post_send(end);
	if (ret)
		kperf_failed(run, "post", ret);
}

/* ---- Ping-pong ---- */

static u32 lat_depth(u32 window)
{
	return 2;
}

static void lat_start(struct kperf_run *run)
{
	run->last = run->begun;
	send(&run->client);
}

static void lat_sent(struct kperf_end *end)
{
}

static void lat_received(struct kperf_end *end)
{
	struct kperf_run *run = end->run;
	u64 now;

	if (kperf_is_client(end)) {
		now = ktime_get_ns();
		run->trips[end->received - 1] = min_t(u64, now - run->last, U32_MAX);
		run->last = now;
		if (end->received == run->count) {
			through(run);
			return;
		}
	}
	send(end);
}

static int compare(const void *a, const void *b)
{
	u32 x = *(const u32 *)a, y = *(const u32 *)b;

	return x < y ? -1 : x > y;
}

/* Report the median and the average of the times, each divided by @parts. */
static int report_times(struct kperf_run *run, u32 parts, char *out, size_t size)
{
	sort(run->trips, run->count, sizeof(run->trips[0]), compare, NULL);
	return scnprintf(out, size, " median_ns=%u avg_ns=%llu",
			 run->trips[run->count / 2] / parts,
			 div_u64(run->ended - run->begun, parts * run->count));
}

/* A one-way time is half the time of a round trip. */
static int lat_report(struct kperf_run *run, char *out, size_t size)
{
	return report_times(run, 2, out, size);
}

/* ---- Streams ---- */

/*
 * The number of receives must exceed the number of messages in flight: the sender may get a
 * completion and send again before the receiver has posted the buffer again.
 */
static u32 send_depth(u32 window)
{
	return 4 * window;
}

static void stream_start(struct kperf_run *run)
{
	u32 n = min(run->window, run->count), i;

	run->client.posted = n;
	for (i = 0; i < n; i++)
		send(&run->client);
}

static void stream_sent(struct kperf_end *end)
{
	struct kperf_run *run = end->run;

	if (end->posted < run->count) {
		end->posted++;
		send(end);
	} else if (end->sent == run->count) {
		through(run);
	}
}

static void stream_received(struct kperf_end *end)
{
	if (end->received == end->run->count)
		through(end->run);
}

static int stream_report(struct kperf_run *run, char *out, size_t size)
{
	u64 ns = max(run->ended - run->begun, 1ULL);

	return scnprintf(out, size, " rate=%llu avg_ns=%llu",
			 div64_u64((u64)run->count * NSEC_PER_SEC, ns), div_u64(ns, run->count));
}

static u32 write_depth(u32 window)
{
	return 0;
}

/* ---- Binds ---- */

static void bind_start(struct kperf_run *run)
{
	u64 now;
	u32 i;
	int ret;

	run->last = run->begun;
	for (i = 0; i < run->count && !fatal_signal_pending(current); i++) {
		ret = run->side->bind(&run->client);
		if (ret) {
			kperf_failed(run, "bind", ret);
			return;
		}
		now = ktime_get_ns();
		run->trips[i] = min_t(u64, now - run->last, U32_MAX);
		run->last = now;
	}
	if (i == run->count)
		through(run);
}

static int bind_report(struct kperf_run *run, char *out, size_t size)
{
	return report_times(run, 1, out, size);
}

static const struct kperf_test tests[] = {
	{
		.name = "lat", .depth = lat_depth, .waits = 1, .start = lat_start,
		.sent = lat_sent, .received = lat_received, .report = lat_report,
	}, {
		.name = "send", .depth = send_depth, .waits = 2, .start = stream_start,
		.sent = stream_sent, .received = stream_received, .report = stream_report,
	}, {
		.name = "write", .depth = write_depth, .waits = 1, .start = stream_start,
		.write = true,
		.sent = stream_sent, .received = stream_received, .report = stream_report,
	}, {
		.name = "bind", .depth = write_depth, .waits = 1, .start = bind_start,
		.bind = true,
		.sent = lat_sent, .received = lat_sent, .report = bind_report,
	},
};

const struct kperf_test *kperf_test_find(const char *name)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(tests); i++)
		if (!strcmp(tests[i].name, name))
			return &tests[i];
	return NULL;
}

/* ---- A run ---- */

static int run_connected(struct kperf_run *run, char *out, size_t size)
{
	long left;
	int n;

	run->begun = ktime_get_ns();
	run->test->start(run);
	left = wait_for_completion_killable_timeout(&run->done, KPERF_LIMIT);
	if (left <= 0) {
		left = left ?: -ETIMEDOUT;
		/* Set run->failed, so that the flush errors of the close are not logged. */
		kperf_failed(run, "not done", left);
		return left;
	}
	if (atomic_read(&run->failed))
		return -EIO;
	n = scnprintf(out, size, "side=%s test=%s size=%u count=%u window=%u", run->side->name,
		      run->test->name, run->size, run->count, run->window);
	n += run->test->report(run, out + n, size - n);
	scnprintf(out + n, size - n, "\n");
	return 0;
}

static void end_free(struct kperf_end *end)
{
	kfree(end->buf);
}

static int end_init(struct kperf_end *end, struct kperf_run *run)
{
	end->run = run;
	end->buf = kzalloc(2 * KPERF_MAX_SIZE, GFP_KERNEL);
	return end->buf ? 0 : -ENOMEM;
}

/**
 * kperf_run() - run a test
 * @run: parameters of the test in @side, @test, @size, @count and @window; other fields zero
 * @out: buffer for the result, a line of text
 * @size: size of @out in bytes
 *
 * Context: may sleep.
 * Return: 0; -ERESTARTSYS if the caller is being killed; -ETIMEDOUT; -EIO if an end has failed and
 * logged the reason; -ENOMEM; or an errno from opening the connection.
 */
int kperf_run(struct kperf_run *run, char *out, size_t size)
{
	int ret = -ENOMEM;

	init_completion(&run->done);
	atomic_set(&run->waits, run->test->waits);
	run->depth = run->test->depth(run->window);
	run->trips = kvcalloc(run->count, sizeof(run->trips[0]), GFP_KERNEL);
	if (end_init(&run->client, run) || end_init(&run->server, run) || !run->trips)
		goto out;
	ret = run->side->open(run);
	if (ret)
		goto out;
	ret = run_connected(run, out, size);
	run->side->close(run);
out:
	kvfree(run->trips);
	end_free(&run->server);
	end_free(&run->client);
	return ret;
}
