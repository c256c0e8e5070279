// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/*
 * Output for programs.  Each size has an object of the form of perftest's report, with "test_info"
 * and "results".  What perftest has too has the same key and unit there.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include <dat/dat_version.h>

#include "../common/file.h"
#include "../common/stats.h"
#include "../common/text.h"
#include "perf.h"

/* perftest's names of the operations */
static const char *const verbs[] = { "Send", "RDMA_Write", "RDMA_Read" };

void perf_json_begin(struct perf *p)
{
	if (!p->args.json && !p->args.json_file)
		return;
	p->json = open_memstream(&p->json_text, &p->json_len);
	if (!p->json)
		tool_die("no memory for the results");
	putc('[', p->json);
}

static void string(FILE *to, const char *key, const char *value)
{
	fprintf(to, ",\"%s\":", key);
	text_json_to(to, value);
}

static void number(FILE *to, const char *key, uint64_t value)
{
	fprintf(to, ",\"%s\":%llu", key, (unsigned long long)value);
}

static void flag(FILE *to, const char *key, int value)
{
	fprintf(to, ",\"%s\":%s", key, value ? "true" : "false");
}

static void test_name(FILE *to, const struct perf_opt *o)
{
	fputs("\"test\":", to);
	if (o->test == TEST_RECV)
		fputs("\"syscalls\"", to);
	else
		fprintf(to, "\"%s_%s%s_Test\"", verbs[o->op], o->bidir ? "Bidirectional_" : "",
			o->test == TEST_LAT ? "Latency" : "BW");
}

static void begin_object(struct perf *p, uint64_t messages)
{
	const struct perf_opt *o = &p->opt;
	FILE *to = p->json;
	struct utsname host;

	uname(&host);
	fputs(p->json_n++ ? ",\n{\"test_info\":{" : "{\"test_info\":{", to);
	test_name(to, o);
	/* The child opens the adapter when system calls are counted. */
	if (*p->tool.name)
		string(to, "Device", p->tool.name);
	number(to, "Number_of_qps", o->eps);
	string(to, "Connection_type", "RC");
	string(to, "Using_SRQ", o->srq ? "ON" : "OFF");
	if (o->test == TEST_BW) {
		number(to, "TX_depth", o->window);
		number(to, "CQ_Moderation", o->cq_mod);
	}
	string(to, "rdma_cm_QPs", "ON");
	string(to, "Data_ex_method", "rdma_cm");
	/* Keys that perftest does not have */
	string(to, "host", host.nodename);
	string(to, "server", p->args.host);
	string(to, "kernel", host.release);
	string(to, "version", DAT_LINUX_VERSION_STRING);
	flag(to, "event", (int)o->event);
	number(to, "idle", o->idle);
	number(to, "poller", o->poller);
	number(to, "busy_poll", o->busy);
	flag(to, "inline", (int)o->inline_data);
	number(to, "duration", p->args.duration);
	fprintf(to, "},\"results\":{\"MsgSize\":%u", p->size);
	number(to, "n_iterations", messages);
}

static void end_object(struct perf *p)
{
	fputs("}}", p->json);
}

void perf_json_lat(struct perf *p, const struct stats *s, const struct perf_bucket *buckets,
		   uint32_t nbuckets)
{
	uint32_t i;

	if (!p->json)
		return;
	begin_object(p, p->stamps);
	fprintf(p->json, ",\"t_min\":%.3f,\"t_max\":%.3f,\"t_typical\":%.3f,\"t_avg\":%.3f,"
		"\"t_stdev\":%.3f,\"percentile_99\":%.3f,\"percentile_99.9\":%.3f", s->min, s->max,
		s->typical, s->avg, s->stdev, s->p99, s->p999);
	for (i = 0; i < nbuckets; i++)
		fprintf(p->json, "%s{\"from\":%.6g,\"to\":%.6g,\"count\":%llu}",
			i ? "," : ",\"histogram\":[", buckets[i].from, buckets[i].to,
			(unsigned long long)buckets[i].n);
	if (nbuckets)
		putc(']', p->json);
	end_object(p);
}

static void print_direction(FILE *to, const char *key, double mb, double rate, uint64_t messages)
{
	fprintf(to, ",\"%s\":{\"n_iterations\":%llu,\"BW_average\":%.2f,\"MsgRate\":%.6f}", key,
		(unsigned long long)messages, rate * mb, rate / 1e6);
}

void perf_json_bw(struct perf *p, const struct perf_rates *r, uint64_t messages)
{
	if (!p->json)
		return;
	begin_object(p, messages);
	fprintf(p->json, ",\"BW_peak\":%.2f,\"BW_average\":%.2f,\"MsgRate\":%.6f", r->peak * r->mb,
		r->average * r->mb, r->average / 1e6);
	if (p->opt.bidir) {
		print_direction(p->json, "client", r->mb, r->client, messages);
		print_direction(p->json, "server", r->mb, r->server, p->peer_result.messages);
	}
	end_object(p);
}

void perf_json_syscalls(struct perf *p, uint64_t messages, uint64_t syscalls)
{
	if (!p->json)
		return;
	p->size = p->opt.size;
	begin_object(p, messages);
	number(p->json, "syscalls", syscalls);
	end_object(p);
}

static void write_file(const struct perf *p)
{
	int ret = file_write(p->args.json_file, p->json_text, p->json_len, 0);

	if (ret)
		tool_die("cannot write '%s': %s", p->args.json_file, strerror(-ret));
}

void perf_json_end(struct perf *p)
{
	if (!p->json)
		return;
	fputs("]\n", p->json);
	if (fclose(p->json))
		tool_die("no memory for the results");
	p->json = NULL;
	if (p->args.json)
		fwrite(p->json_text, 1, p->json_len, stdout);
	if (p->args.json_file)
		write_file(p);
	free(p->json_text);
	p->json_text = NULL;
}
