/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Copyright (c) The dat authors */
/*
 * rsm-perf: declarations that the files share.
 *
 *   main.c	the exporter and the importer
 *   opt.c	options
 *   run.c	calls that are measured
 *   report.c	output
 *   progress.c	progress on a terminal
 *   fail.c	failures, with advice
 */
#ifndef RSM_PERF_H
#define RSM_PERF_H

#include <stdint.h>

#include <rsmapi.h>

#define MAX_SIZE	(64UL << 20)
#define MAX_ALL		(1UL << 20)	/* largest size of --all in bytes */
#define MAX_ITERS	10000000UL

enum perf_op { OP_PUT, OP_GET, OP_PUTV, OP_GETV, OP_MEMCPY, PERF_OPS };
enum perf_test { TEST_LAT, TEST_BW, PERF_TESTS };

extern const char *const perf_op_names[];
extern const char *const perf_test_names[];

/*
 * struct perf_opt - options
 * @op, @test: operation (enum perf_op) and kind of test (enum perf_test)
 * @size: bytes of a transfer, or of each entry of a vector
 * @entries: number of entries of a vector; 1 for other operations
 * @gap: bytes between two entries in the segment
 * @iters: number of calls
 * @interval_ms: interval of progress in milliseconds, or 0
 * @explicit: flag: use explicit mode, with one barrier around all calls
 * @handle: flag: vectors use a local memory handle
 * @write_only: flag: the import has no read permission
 * @all: flag: measure all sizes from 1 to MAX_ALL that are powers of two
 * @json: flag: print a JSON array
 * @controller: name of the controller
 * @serve: flag: export a segment and measure nothing
 * @remote: flag: import the segment @segment of the node @node, and export nothing
 * @node, @segment: see @remote
 */
struct perf_opt {
	int			op;
	int			test;
	unsigned long		size;
	unsigned long		entries;
	unsigned long		gap;
	unsigned long		iters;
	int			interval_ms;
	int			explicit;
	int			handle;
	int			write_only;
	int			all;
	int			json;
	char			*controller;
	int			serve;
	int			remote;
	rsm_node_id_t		node;
	rsm_memseg_id_t		segment;
};

/*
 * struct perf - a run
 * @opt: options; with --all, the size changes during the run
 * @ctlr: controller
 * @imp: import of the segment
 * @barrier: barrier of the import
 * @local: local memory handle of @buf
 * @buf: local memory of @length bytes
 * @to: target of memcpy()
 * @length: length of @buf in bytes
 * @v, @sg: vector for putv and getv
 * @at: time stamps in ticks: the start, then one after each call (latency test)
 * @done: number of calls made, for the thread that shows the progress
 * @start_ns: time before the first call
 * @end_ns: time after all calls and the barrier
 * @ns_per_tick: nanoseconds per tick, measured during the run
 */
struct perf {
	struct perf_opt			opt;
	rsmapi_controller_handle_t	ctlr;
	rsm_memseg_import_handle_t	imp;
	rsmapi_barrier_t		barrier;
	rsm_localmemory_handle_t	local;
	char				*buf;
	char				*to;
	size_t				length;
	rsm_iovec_t			v[RSM_MAX_SGIOREQS];
	rsm_scat_gath_t			sg;
	uint64_t			*at;
	unsigned long			done;
	uint64_t			start_ns;
	uint64_t			end_ns;
	double				ns_per_tick;
};

static inline int perf_vector(const struct perf_opt *o)
{
	return o->op == OP_PUTV || o->op == OP_GETV;
}

/* fail.c: both functions exit with status 1, but perf_check() returns if @ret is RSM_SUCCESS */
void perf_die(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));
void perf_check(int ret, const char *what);

/* opt.c */
void perf_options(int argc, char **argv, struct perf_opt *o);

/* run.c */
void perf_run(struct perf *p);

/* report.c */
void perf_header(const struct perf_opt *o);
void perf_report(struct perf *p, int more);

/*
 * progress.c: perf_progress_begin() starts to show the progress of the run, if standard
 * error is a terminal and the run takes long.  perf_progress_clear() makes room for other output.
 */
void perf_progress_begin(const struct perf *p);
void perf_progress_clear(void);
void perf_progress_end(void);

#endif /* RSM_PERF_H */
