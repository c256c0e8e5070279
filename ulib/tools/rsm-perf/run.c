// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/* The calls that are measured. */
#define _GNU_SOURCE
#include <string.h>
#include <time.h>

#include "perf.h"

#ifndef __has_builtin
#define __has_builtin(name)	0
#endif

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/*
 * Returns a time stamp in ticks of the cycle counter, because a put may take less time than a read
 * of the clock.
 */
static inline uint64_t ticks(void)
{
#if __has_builtin(__builtin_ia32_rdtsc)
	return __builtin_ia32_rdtsc();
#else
	return now_ns();
#endif
}

static int op_put(struct perf *p)
{
	return rsm_memseg_import_put(p->imp, 0, p->buf, p->opt.size);
}

static int op_get(struct perf *p)
{
	return rsm_memseg_import_get(p->imp, 0, p->buf, p->opt.size);
}

static int op_putv(struct perf *p)
{
	return rsm_memseg_import_putv(&p->sg);
}

static int op_getv(struct perf *p)
{
	return rsm_memseg_import_getv(&p->sg);
}

static int op_memcpy(struct perf *p)
{
	memcpy(p->to, p->buf, p->opt.size);
	/* Keep the compiler from removing the copy. */
	__asm__ volatile("" : : "r"(p->to) : "memory");
	return RSM_SUCCESS;
}

static int (*const ops[])(struct perf *p) = {
	[OP_PUT] = op_put, [OP_GET] = op_get, [OP_PUTV] = op_putv, [OP_GETV] = op_getv,
	[OP_MEMCPY] = op_memcpy,
};

/*
 * Set up the vector.  The entries are adjacent in local memory, and have gaps between them in the
 * segment.
 */
static void vector_init(struct perf *p)
{
	unsigned long i;

	for (i = 0; i < p->opt.entries; i++) {
		p->v[i] = (rsm_iovec_t) {
			.io_type = p->opt.handle ? RSM_HANDLE_TYPE : RSM_VA_TYPE,
			.local_offset = i * p->opt.size, .remote_offset = i * (p->opt.size + p->opt.gap),
			.transfer_length = p->opt.size,
		};
		if (p->opt.handle)
			p->v[i].local.handle = p->local;
		else
			p->v[i].local.vaddr = p->buf;
	}
	p->sg = (rsm_scat_gath_t) {
		.io_request_count = p->opt.entries, .remote_handle = p->imp, .iovec = p->v,
	};
}

/* Tell the thread that shows the progress how many calls have been made. */
static inline void made(struct perf *p, unsigned long n)
{
	__atomic_store_n(&p->done, n, __ATOMIC_RELAXED);
}

static void run_lat(struct perf *p, unsigned long n)
{
	int (*op)(struct perf *p) = ops[p->opt.op];
	unsigned long i;
	int ret = 0;

	p->at[0] = ticks();
	for (i = 0; i < n && !ret; i++) {
		ret = op(p);
		p->at[i + 1] = ticks();
		made(p, i);
	}
	perf_check(ret, perf_op_names[p->opt.op]);
}

static void run_bw(struct perf *p, unsigned long n)
{
	int (*op)(struct perf *p) = ops[p->opt.op];
	unsigned long i;
	int ret = 0;

	for (i = 0; i < n && !ret; i++) {
		ret = op(p);
		made(p, i);
	}
	perf_check(ret, perf_op_names[p->opt.op]);
}

static void run(struct perf *p, unsigned long n)
{
	if (p->opt.explicit)
		perf_check(rsm_memseg_import_open_barrier(&p->barrier), "open_barrier");
	if (p->opt.test == TEST_LAT)
		run_lat(p, n);
	else
		run_bw(p, n);
	if (p->opt.explicit)
		perf_check(rsm_memseg_import_close_barrier(&p->barrier), "close_barrier");
}

/*
 * Run the test.  First make a tenth of the calls without measuring them, because the first calls
 * map the segment and fault its pages in.
 */
void perf_run(struct perf *p)
{
	uint64_t start;

	vector_init(p);
	run(p, p->opt.iters / 10 + 1);
	p->start_ns = now_ns();
	start = ticks();
	run(p, p->opt.iters);
	p->ns_per_tick = (double)(ticks() - start);
	p->end_ns = now_ns();
	p->ns_per_tick = (double)(p->end_ns - p->start_ns) / p->ns_per_tick;
}
