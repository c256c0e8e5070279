// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * /proc/self/fdinfo shows each object of the file with its id, state, indices and counters, and the
 * adapter with its totals.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "dat_test.h"
#include "rdma_count.h"
#include "tracefs.h"

/* Copy the fdinfo line of an object to @line, or "" if the object has no line. */
static void line_of(int fd, const char *type, uint32_t id, char line[512])
{
	char path[64], want[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	snprintf(want, sizeof(want), "%s:\tid=%u ", type, id);
	f = fopen(path, "r");
	while (f && fgets(line, 512, f)) {
		if (!strncmp(line, want, strlen(want))) {
			fclose(f);
			return;
		}
	}
	if (f)
		fclose(f);
	line[0] = 0;
}

TEST(every_object_has_a_line)
{
	struct dat_eqe eqe;
	struct t_ep asking;
	struct t_srq srq;
	struct t_pair p;
	char line[512];

	ASSERT_EQ(0, t_pair_open(&p));
	ASSERT_EQ(0, t_srq(&p.f, p.pz, 8, &srq));
	ASSERT_EQ(0, t_pair_connect(&p));
	ASSERT_EQ(0, t_recv(&p.ep[0].rq, 1, (uintptr_t)p.mem.va, p.mem.lkey, 64));

	line_of(p.f.fd, "pz", p.pz, line);
	EXPECT_NE(NULL, strstr(line, "users="));
	line_of(p.f.fd, "lmr", p.mem.id, line);
	EXPECT_NE(NULL, strstr(line, "length=1048576"));
	line_of(p.f.fd, "evd", p.evd[0].id, line);
	EXPECT_NE(NULL, strstr(line, "tail=1 "));
	EXPECT_NE(NULL, strstr(line, "polled=0 joined=0"));
	line_of(p.f.fd, "srq", srq.id, line);
	EXPECT_NE(NULL, strstr(line, "state=OPERATIONAL"));
	EXPECT_NE(NULL, strstr(line, " window=8 "));
	line_of(p.f.fd, "ep", p.ep[0].id, line);
	EXPECT_NE(NULL, strstr(line, "state=CONNECTED"));
	EXPECT_NE(NULL, strstr(line, "rq_head=1 rq_done=0"));
	line_of(p.f.fd, "psp", p.psp, line);
	EXPECT_NE(NULL, strstr(line, "conn_qual=4711"));
	/* Make a connection request that nobody answers. */
	ASSERT_EQ(0, t_ep(&p.f, p.pz, &p.evd[1], 0, 7, &asking));
	ASSERT_EQ(0, t_connect(&p.f, &asking, T_QUAL, NULL, 0));
	ASSERT_EQ(1, t_event(&p.cr, T_WAIT_MS, &eqe));
	line_of(p.f.fd, "cr", eqe.len, line);
	EXPECT_NE(0, line[0]);
	line_of(p.f.fd, "ep", asking.id, line);
	EXPECT_EQ(NULL, strstr(line, "state=CONNECTED"));
	t_pair_close(&p);
}

/* After a BAD_RESPONSE, the first question is which end has not asked. */
TEST(an_ep_tells_whether_it_has_immediate_data)
{
	struct dat_ep_create arg = {
		.size = sizeof(arg), .max_recv = 4, .max_request = 4, .max_recv_iov = 1,
		.max_request_iov = 1,
	};
	char line[512], want[32];
	struct t_ep ep;
	struct t_file f;

	ASSERT_EQ(0, t_open(&f));
	ASSERT_EQ(0, t_pz(&f, &arg.pz));
	do {
		ASSERT_EQ(0, t_any_ep(&f, &arg, &ep));
		line_of(f.fd, "ep", ep.id, line);
		snprintf(want, sizeof(want), " immediate=%u ", arg.flags);
		EXPECT_NE(NULL, strstr(line, want)) TH_LOG("%s", line);
		arg.flags ^= DAT_EP_FLAG_IMMEDIATE;
	} while (arg.flags && f.info.sqe_flags & DAT_SQE_IMM);
	t_close(&f);
}

/*
 * Read the numbers of the fdinfo line "@pool:" into @chunks, @bytes and @used.  Returns 1 if fdinfo
 * has the line, else 0.
 */
static int pool_of(int fd, const char *pool, unsigned int *chunks, unsigned long *bytes,
		   unsigned long *used)
{
	char path[64], want[64], line[512];
	int found = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	snprintf(want, sizeof(want), "%s:\tchunks=%%u bytes=%%lu used=%%lu", pool);
	f = fopen(path, "r");
	while (f && !found && fgets(line, sizeof(line), f))
		found = sscanf(line, want, chunks, bytes, used) == 3;
	if (f)
		fclose(f);
	return found;
}

/* Same objects and numbers as in the fdinfo example of Documentation/uapi.rst. */
TEST(shared_memory_has_two_lines)
{
	struct dat_evd_create evd = {
		.size = sizeof(evd), .streams = DAT_STREAM_DTO, .qlen = 16,
	};
	struct dat_ep_create ep = {
		.size = sizeof(ep), .max_recv = 4, .max_request = 4, .max_recv_iov = 1,
		.max_request_iov = 1,
	};
	unsigned long bytes, used;
	unsigned int chunks;
	struct t_file f;
	int i;

	ASSERT_EQ(0, t_open(&f));
	ASSERT_EQ(0, t_pz(&f, &ep.pz));
	ASSERT_TRUE(pool_of(f.fd, "submit", &chunks, &bytes, &used));
	EXPECT_EQ(0, chunks + bytes + used);
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, t_ioctl(f.fd, DAT_IOC_EVD_CREATE, &evd));
		ASSERT_EQ(0, t_ioctl(f.fd, DAT_IOC_EP_CREATE, &ep));
	}
	ASSERT_TRUE(pool_of(f.fd, "submit", &chunks, &bytes, &used));
	EXPECT_EQ(1, chunks);
	EXPECT_EQ(65536, bytes);
	EXPECT_EQ(1152, used);
	ASSERT_TRUE(pool_of(f.fd, "status", &chunks, &bytes, &used));
	EXPECT_EQ(1, chunks);
	EXPECT_EQ(65536, bytes);
	EXPECT_EQ(2048, used);
	ASSERT_EQ(0, t_free(&f, DAT_OBJ_EP, ep.id));
	ASSERT_TRUE(pool_of(f.fd, "status", &chunks, &bytes, &used));
	EXPECT_EQ(2048 - sizeof(struct dat_status), used);
	t_close(&f);
}

TEST(a_file_without_an_IA_has_none)
{
	struct t_file f;
	char line[512];

	ASSERT_EQ(0, t_open(&f));
	line_of(f.fd, "pz", 1, line);
	EXPECT_EQ(0, line[0]);
	t_close(&f);
}

/* Returns the number after " @key=" in an fdinfo line, or -1 if the line has no such field. */
static long long counter(const char *line, const char *key)
{
	char want[32];
	const char *p;

	snprintf(want, sizeof(want), " %s=", key);
	p = strstr(line, want);
	return p ? strtoll(p + strlen(want), NULL, 10) : -1;
}

/* Copy the first fdinfo line of an adapter to @line, or "".  Returns the number of adapters. */
static int adapter_line(int fd, char line[512])
{
	char path[64], text[512];
	int n = 0;
	FILE *f;

	line[0] = 0;
	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	f = fopen(path, "r");
	while (f && fgets(text, sizeof(text), f))
		if (!strncmp(text, "adapter:\tname=", 14) && !n++)
			strcpy(line, text);
	if (f)
		fclose(f);
	return n;
}

/* Returns the number of adapters that are RDMA devices: the one within the host is named lo0. */
static int devices(int fd)
{
	char line[512], path[64];
	int n = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f))
		n += !strncmp(line, "adapter:\tname=", 14) &&
		     strncmp(line, "adapter:\tname=lo0 ", 18);
	if (f)
		fclose(f);
	return n;
}

/*
 * Wait until all events that this program has seen are counted: the driver counts after it has
 * published an event, and a read of an EP's line takes the lock under which it does both.
 */
static void wait_for_counts(const struct t_pair *p)
{
	char line[512];

	line_of(p->f.fd, "ep", p->ep[0].id, line);
	line_of(p->f.fd, "ep", p->ep[1].id, line);
}

/* Send @n messages from ep[1] to ep[0], and take the events of both.  Returns 1 on success. */
static int transfer(struct t_pair *p, int n)
{
	struct dat_eqe eqe;
	int i, end, ok = 1;

	for (i = 0; i < n && ok; i++)
		ok = !t_recv(&p->ep[0].rq, i, (uintptr_t)p->mem.va, p->mem.lkey, 64);
	for (i = 0; i < n && ok; i++)
		ok = !t_send(&p->ep[1], i, (uintptr_t)p->mem.va + 64, p->mem.lkey, 64);
	for (end = 0; end < 2; end++)
		for (i = 0; i < n && ok; i++)
			ok = t_event(&p->evd[end], T_WAIT_MS, &eqe) == 1 && !eqe.status;
	return ok;
}

TEST(each_message_is_counted_once)
{
	char was[512], line[512];
	struct t_pair p;

	ASSERT_EQ(0, t_pair_open(&p));
	ASSERT_EQ(0, t_pair_connect(&p));
	wait_for_counts(&p);
	ASSERT_EQ(1, adapter_line(p.f.fd, was));
	ASSERT_TRUE(transfer(&p, 7));

	line_of(p.f.fd, "ep", p.ep[0].id, line);
	EXPECT_EQ(0, counter(line, "requests"));
	EXPECT_EQ(7, counter(line, "receives"));
	EXPECT_EQ(7, counter(line, "completed"));
	line_of(p.f.fd, "ep", p.ep[1].id, line);
	EXPECT_EQ(7, counter(line, "requests"));
	EXPECT_EQ(0, counter(line, "receives"));
	EXPECT_EQ(7, counter(line, "completed"));
	EXPECT_LE(1, counter(line, "kicks"));
	EXPECT_EQ(0, counter(line, "failed"));
	EXPECT_EQ(0, counter(line, "flushed"));
	EXPECT_EQ(0, counter(line, "malformed"));
	/* The event that reports the connection, and those of the messages. */
	line_of(p.f.fd, "evd", p.evd[1].id, line);
	EXPECT_EQ(8, counter(line, "events"));
	EXPECT_EQ(0, counter(line, "dropped"));

	ASSERT_EQ(1, adapter_line(p.f.fd, line));
	EXPECT_EQ(7, counter(line, "requests") - counter(was, "requests"));
	EXPECT_EQ(7, counter(line, "receives") - counter(was, "receives"));
	EXPECT_EQ(14, counter(line, "completed") - counter(was, "completed"));
	EXPECT_EQ(14, counter(line, "events") - counter(was, "events"));
	EXPECT_LE(1, counter(line, "kicks") - counter(was, "kicks"));
	EXPECT_EQ(counter(was, "failed"), counter(line, "failed"));
	EXPECT_EQ(counter(was, "dropped"), counter(line, "dropped"));
	/* The last one of the list in Documentation/uapi.rst. */
	EXPECT_EQ(0, strncmp(strrchr(line, ' '), " dropped=", 9)) TH_LOG("%s", line);
	t_pair_close(&p);
}

/* Returns the completion vector of the connection of an EP, or -1. */
static int vector_of(const struct t_pair *p, int ep)
{
	char line[512], *at;
	int vector;

	line_of(p->f.fd, "ep", p->ep[ep].id, line);
	at = strstr(line, " comp_vector=");
	return at && sscanf(at, " comp_vector=%d", &vector) == 1 ? vector : -1;
}

/* All files that make their objects in the same order have the same ids. */
TEST(connections_of_different_files_spread_over_the_completion_vectors)
{
	unsigned int count[64] = { 0 }, most = 0, used = 0;
	struct t_pair p[2];
	int i, vector;

	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, t_pair_open(&p[i]));
		ASSERT_EQ(0, t_pair_connect(&p[i]));
		ASSERT_EQ(0, t_free(&p[i].f, DAT_OBJ_PSP, p[i].psp));
	}
	for (i = 0; i < 4; i++) {
		vector = vector_of(&p[i / 2], i % 2);
		ASSERT_LE(0, vector);
		vector %= 64;
		used += !count[vector]++;
		if (count[vector] > most)
			most = count[vector];
	}
	if (sysconf(_SC_NPROCESSORS_CONF) < 2)
		SKIP(return, "one processor has one completion vector");
	EXPECT_LE(2, used);
	EXPECT_GE(2, most);
	for (i = 0; i < 2; i++)
		t_pair_close(&p[i]);
}

/* Open a file with two connected EPs of one EVD, so that it has one CQ.  Returns 0 or an error. */
static int open_with_one_cq(struct t_pair *p)
{
	uint32_t streams = DAT_STREAM_DTO | DAT_STREAM_CONNECTION;
	struct t_evd *evd = &p->evd[0];
	struct dat_eqe eqe;
	int ret, i;

	memset(p, 0, sizeof(*p));
	ret = t_open(&p->f) || t_pz(&p->f, &p->pz) || t_evd(&p->f, DAT_STREAM_CR, 8, &p->cr) ||
	      t_evd(&p->f, streams, 64, evd) || t_psp(&p->f, &p->cr, T_QUAL, &p->psp);
	for (i = 0; i < 2 && !ret; i++)
		ret = t_ep(&p->f, p->pz, evd, 0, i + 1, &p->ep[i]);
	ret = ret || t_connect(&p->f, &p->ep[1], T_QUAL, NULL, 0) ||
	      !t_event(&p->cr, T_WAIT_MS, &eqe) ||
	      t_accept(&p->f, eqe.len, &p->ep[0], NULL, 0);
	for (i = 0; i < 2 && !ret; i++)
		ret = !t_event(evd, T_WAIT_MS, &eqe) || eqe.type != DAT_EV_ESTABLISHED;
	return ret || t_free(&p->f, DAT_OBJ_PSP, p->psp);
}

#define FILES	6

/* A new CQ gets the vector that has the fewest CQs: that of the files that have been closed. */
TEST(a_completion_vector_is_free_again_when_its_connections_have_ended)
{
	int vector[FILES], last = 0, with_last = 0, cqs, i;
	struct t_pair p[FILES], next[2];

	for (i = 0; i < FILES; i++) {
		ASSERT_EQ(0, open_with_one_cq(&p[i]));
		vector[i] = vector_of(&p[i], 0);
		last = vector[i] > last ? vector[i] : last;
	}
	for (i = 0; i < FILES; i++)
		with_last += vector[i] == last;
	if (with_last != FILES / 2)
		SKIP(return, "there are not two completion vectors");
	cqs = rdma_count_settled("cq") - with_last;
	for (i = 0; i < FILES; i++)
		if (vector[i] == last)
			t_close(&p[i].f);
	ASSERT_EQ(cqs, rdma_count_falls("cq", cqs));
	/* The vector is given back a moment after the CQ has gone. */
	usleep(100000);
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, open_with_one_cq(&next[i]));
		EXPECT_EQ(last, vector_of(&next[i], 0));
		t_close(&next[i].f);
	}
	for (i = 0; i < FILES; i++)
		if (vector[i] != last)
			t_close(&p[i].f);
}

TEST(kicks_are_counted)
{
	long long kicks;
	struct t_pair p;
	char line[512];
	int i;

	ASSERT_EQ(0, t_pair_open(&p));
	line_of(p.f.fd, "ep", p.ep[0].id, line);
	kicks = counter(line, "kicks");
	for (i = 0; i < 5; i++) {
		t_ring(&p.f, p.ep[0].sq.bell);
		ASSERT_EQ(0, t_kick(&p.f));
	}
	line_of(p.f.fd, "ep", p.ep[0].id, line);
	EXPECT_EQ(5, counter(line, "kicks") - kicks);
	t_pair_close(&p);
}

/* A malformed request fails, which ends the connection and flushes the posted receive. */
TEST(failed_and_flushed_requests_are_counted)
{
	char was[512], line[512];
	unsigned int ends[16];
	struct dat_sqe *sqe;
	struct t_pair p;

	ASSERT_EQ(0, t_pair_open(&p));
	ASSERT_EQ(0, t_pair_connect(&p));
	wait_for_counts(&p);
	ASSERT_EQ(1, adapter_line(p.f.fd, was));
	ASSERT_EQ(0, t_recv(&p.ep[1].rq, 1, (uintptr_t)p.mem.va, p.mem.lkey, 64));
	sqe = t_sqe(&p.ep[1].sq);
	sqe->opcode = 99;
	ASSERT_EQ(0, t_push(&p.ep[1].sq));
	ASSERT_NE(0, t_end(&p.evd[1], ends));

	line_of(p.f.fd, "ep", p.ep[1].id, line);
	EXPECT_EQ(1, counter(line, "requests"));
	EXPECT_EQ(1, counter(line, "receives"));
	EXPECT_EQ(2, counter(line, "completed"));
	EXPECT_EQ(1, counter(line, "failed"));
	EXPECT_EQ(1, counter(line, "flushed"));
	EXPECT_EQ(1, counter(line, "malformed"));
	ASSERT_EQ(1, adapter_line(p.f.fd, line));
	EXPECT_EQ(1, counter(line, "failed") - counter(was, "failed"));
	EXPECT_EQ(1, counter(line, "flushed") - counter(was, "flushed"));
	EXPECT_EQ(1, counter(line, "malformed") - counter(was, "malformed"));
	t_pair_close(&p);
}

/* An EVD of two events gets the event of the connection and those of three messages. */
TEST(lost_events_are_counted)
{
	char was[512], line[512];
	struct dat_eqe eqe;
	struct t_evd evd;
	struct t_ep ep[2];
	struct t_pair p;
	int i;

	ASSERT_EQ(0, t_pair_open(&p));
	ASSERT_EQ(0, t_evd(&p.f, DAT_STREAM_DTO | DAT_STREAM_CONNECTION, 2, &evd));
	ASSERT_EQ(0, t_ep(&p.f, p.pz, &p.evd[0], 0, 7, &ep[0]));
	ASSERT_EQ(0, t_ep(&p.f, p.pz, &evd, 0, 8, &ep[1]));
	ASSERT_EQ(0, t_connect(&p.f, &ep[1], T_QUAL, NULL, 0));
	ASSERT_EQ(1, t_event(&p.cr, T_WAIT_MS, &eqe));
	ASSERT_EQ(0, t_accept(&p.f, eqe.len, &ep[0], NULL, 0));
	ASSERT_EQ(1, t_event(&p.evd[0], T_WAIT_MS, &eqe));
	ASSERT_EQ(0, t_evd_wait(&evd, 1, T_WAIT_MS));
	ASSERT_EQ(1, adapter_line(p.f.fd, was));
	for (i = 0; i < 3; i++)
		ASSERT_EQ(0, t_recv(&ep[0].rq, i, (uintptr_t)p.mem.va, p.mem.lkey, 64));
	for (i = 0; i < 3; i++)
		ASSERT_EQ(0, t_send(&ep[1], i, (uintptr_t)p.mem.va, p.mem.lkey, 64));
	for (i = 0; i < 3; i++)
		ASSERT_EQ(1, t_event(&p.evd[0], T_WAIT_MS, &eqe));
	/* The sender's completions may come after the receiver's. */
	for (i = 0; i < T_WAIT_MS / 100; i++) {
		line_of(p.f.fd, "evd", evd.id, line);
		if (counter(line, "events") + counter(line, "dropped") == 4)
			break;
		usleep(100000);
	}
	EXPECT_EQ(2, counter(line, "events"));
	EXPECT_EQ(2, counter(line, "dropped"));
	ASSERT_EQ(1, adapter_line(p.f.fd, line));
	EXPECT_EQ(2, counter(line, "dropped") - counter(was, "dropped"));
	t_pair_close(&p);
}

TEST(totals_of_the_adapter_outlive_its_objects)
{
	char was[512], line[512];
	struct t_pair p;
	int fd;

	fd = open("/dev/dat", O_RDWR | O_CLOEXEC);
	ASSERT_LE(0, fd);
	ASSERT_LE(1, adapter_line(fd, was));
	ASSERT_EQ(0, t_pair_open(&p));
	ASSERT_EQ(0, t_pair_connect(&p));
	ASSERT_TRUE(transfer(&p, 3));
	t_pair_close(&p);
	adapter_line(fd, line);
	EXPECT_EQ(3, counter(line, "requests") - counter(was, "requests"));
	EXPECT_EQ(3, counter(line, "receives") - counter(was, "receives"));
	close(fd);
}

/* Returns the number of devices that a process in a network namespace of its own sees, or -1. */
static int devices_elsewhere(void)
{
	pid_t pid = fork();
	int status, fd;

	if (!pid) {
		if (unshare(CLONE_NEWNET))
			_exit(255);
		fd = open("/dev/dat", O_RDWR | O_CLOEXEC);
		_exit(fd < 0 ? 255 : devices(fd));
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0 || WEXITSTATUS(status) == 255)
		return -1;
	return WEXITSTATUS(status);
}

TEST(another_network_namespace_sees_no_device)
{
	int n = devices_elsewhere();

	if (n < 0)
		SKIP(return, "this machine makes no network namespaces");
	EXPECT_EQ(0, n);
}

#define PROBE	"dat_fdinfo/query"

/* Returns the number of queries of a port that the probe has recorded. */
static int queries(void)
{
	char log[4096];

	return trace_read(log, sizeof(log), "ib_query_port");
}

/*
 * A query of a port may wait for its firmware, and any process may read fdinfo.  A probe records
 * the queries by this process; DAT_IOC_ADAPTER, which makes one, shows that it does.  An assertion
 * that ends the test would leave the probe behind.
 */
TEST(a_read_queries_no_port)
{
	struct dat_adapter adapter = { .size = sizeof(adapter) };
	struct t_file f;
	char line[512];
	int i, n, fd;

	if (trace_start() || access(TRACE_PROBES, W_OK))
		SKIP(return, "needs root, tracefs and kprobes");
	snprintf(line, sizeof(line), "common_pid == %d", getpid());
	EXPECT_EQ(0, trace_probe("p:" PROBE " ib_query_port\n"));
	EXPECT_EQ(0, trace_on(PROBE, line));
	EXPECT_EQ(0, t_open(&f));
	if (!t_is_device(&f)) {
		t_close(&f);
		trace_end();
		trace_probe("-:" PROBE "\n");
		SKIP(return, "the adapter has no port");
	}
	fd = open("/dev/dat", O_RDWR | O_CLOEXEC);
	n = queries();
	EXPECT_EQ(0, t_ioctl(fd, DAT_IOC_ADAPTER, &adapter));
	EXPECT_LT(n, queries());
	n = queries();
	for (i = 0; i < 10; i++) {
		EXPECT_EQ(1, adapter_line(f.fd, line));
		EXPECT_LE(1, adapter_line(fd, line));
	}
	EXPECT_EQ(n, queries());
	close(fd);
	t_close(&f);
	trace_end();
	trace_probe("-:" PROBE "\n");
}

TEST_HARNESS_MAIN
