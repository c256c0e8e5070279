// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * One open file with many endpoints: 65,536 that are not connected, with their queues, mappings and
 * lines in fdinfo, and 1,000 that are connected and share a long SRQ.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "dat_test.h"
#include "clock.h"
#include "proc.h"

#define EPS		65536
#define MAX_MAPPINGS	100	/* limit of this test; Linux allows 65,530 */

static int open_with_queues(uint32_t queues)
{
	struct dat_adapter adapter;
	struct dat_ia_open arg = { .size = sizeof(arg), .max_queues = queues };
	int fd = open("/dev/dat", O_RDWR | O_CLOEXEC);

	if (fd < 0 || t_adapter(fd, &adapter))
		return -1;
	memcpy(arg.name, adapter.name, sizeof(arg.name));
	return t_ioctl(fd, DAT_IOC_IA_OPEN, &arg) ? -1 : fd;
}

/*
 * Map @span unless *@last says that the previous call mapped the same offset.  Returns the number
 * of new mappings, or MAX_MAPPINGS on failure.
 */
static int map_span(int fd, const struct dat_span *span, int prot, uint64_t *last)
{
	if (span->offset == *last)
		return 0;
	*last = span->offset;
	return mmap(NULL, span->size, prot, MAP_SHARED, fd, (off_t)span->offset) == MAP_FAILED ?
	       MAX_MAPPINGS : 1;
}

static int lines_of(int fd, const char *type)
{
	char path[64], line[1024];
	int n = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f))
		n += !strncmp(line, type, strlen(type));
	if (f)
		fclose(f);
	return n;
}

static long available_kib(void)
{
	return proc_number("/proc/meminfo", "MemAvailable");
}

FIXTURE(many) {
	struct t_file f;
};

FIXTURE_SETUP(many)
{
	self->f.fd = open_with_queues(2 * EPS);
	ASSERT_LE(0, self->f.fd);
}

FIXTURE_TEARDOWN(many)
{
	close(self->f.fd);
}

TEST_F_TIMEOUT(many, a_file_has_65536_eps, 600)
{
	struct dat_ep_create arg = { .size = sizeof(arg), .max_recv = 1, .max_request = 1 };
	uint64_t submit = 0, status = 0;
	int mappings = 0, i;
	long kib, begun;

	ASSERT_EQ(0, t_pz(&self->f, &arg.pz));
	kib = available_kib();
	begun = now_ms();
	for (i = 0; i < EPS; i++) {
		ASSERT_EQ(0, t_ioctl(self->f.fd, DAT_IOC_EP_CREATE, &arg)) TH_LOG("EP %d", i);
		mappings += map_span(self->f.fd, &arg.submit, PROT_READ | PROT_WRITE, &submit);
		mappings += map_span(self->f.fd, &arg.status, PROT_READ, &status);
	}
	TH_LOG("%d mappings, %ld bytes for each EP, %ld ms", mappings,
	       (kib - available_kib()) * 1024 / EPS, now_ms() - begun);
	EXPECT_GE(MAX_MAPPINGS, mappings);
	begun = now_ms();
	EXPECT_EQ(EPS, lines_of(self->f.fd, "ep:\t"));
	TH_LOG("fdinfo: %ld ms", now_ms() - begun);
}

#define RINGS		200	/* EVDs whose rings fill some tens of chunks of shared memory */
#define RING		8192	/* events of such an EVD; a chunk has room for some rings */

static int make_ring(int fd, uint32_t qlen, uint32_t *id)
{
	struct dat_evd_create arg = {
		.size = sizeof(arg), .streams = DAT_STREAM_DTO, .qlen = qlen,
	};
	int ret = t_ioctl(fd, DAT_IOC_EVD_CREATE, &arg);

	*id = arg.id;
	return ret;
}

static long chunks(FIXTURE_DATA(many) *self)
{
	return fdinfo_number(self->f.fd, "status:", "chunks=");
}

/* The driver finds free memory without a search of all chunks, so it must know where that is. */
TEST_F_TIMEOUT(many, memory_of_freed_rings_is_used_again, 120)
{
	int fd = self->f.fd, i;
	uint32_t id[RINGS], big;
	long full, left;

	for (i = 0; i < RINGS; i++)
		ASSERT_EQ(0, make_ring(fd, RING, &id[i]));
	full = chunks(self);
	ASSERT_LT(20, full);
	/* Every second: the chunks have room, but not in a row.  Some had one ring only. */
	for (i = 0; i < RINGS; i += 2)
		ASSERT_EQ(0, t_free(&self->f, DAT_OBJ_EVD, id[i]));
	left = chunks(self);
	EXPECT_LE(full - 2, left);
	ASSERT_EQ(0, make_ring(fd, 4 * RING, &big));
	EXPECT_EQ(left + 1, chunks(self));
	for (i = 0; i < RINGS; i += 2)
		ASSERT_EQ(0, make_ring(fd, RING, &id[i]));
	/* Some of the small parts of EVDs may lie where a ring was. */
	EXPECT_GE(full + 2, chunks(self));
	for (i = 0; i < RINGS; i++)
		ASSERT_EQ(0, t_free(&self->f, DAT_OBJ_EVD, id[i]));
	ASSERT_EQ(0, t_free(&self->f, DAT_OBJ_EVD, big));
	EXPECT_EQ(0, chunks(self));
}

#define CONNS		1000
#define BATCH		8	/* connections that are made at the same time */
#define BUFFERS		16384
#define CONN_KIB	1024	/* limit of this test for both ends of a connection */
#define STREAMS		(DAT_STREAM_DTO | DAT_STREAM_CONNECTION)

/* Each connection has an end with the SRQ, whose events are in evd[0], and an end without. */
FIXTURE(shared) {
	struct t_pair p;
	struct t_evd evd[2];
	struct t_srq srq;
	struct t_ep in[CONNS];
	struct t_ep out[CONNS];
};

FIXTURE_SETUP(shared)
{
	struct t_pair *p = &self->p;
	int i;

	ASSERT_EQ(0, t_pair_open(p));
	ASSERT_EQ(0, t_srq(&p->f, p->pz, BUFFERS, &self->srq));
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, t_evd(&p->f, STREAMS, 4 * CONNS, &self->evd[i]));
}

FIXTURE_TEARDOWN(shared)
{
	t_pair_close(&self->p);
}

/* Make the connections @first to @first + BATCH - 1.  Returns the number that are established. */
static int connect_batch(FIXTURE_DATA(shared) *self, int first)
{
	struct t_file *f = &self->p.f;
	struct dat_eqe eqe;
	int i, ends = 0;

	for (i = first; i < first + BATCH; i++)
		if (t_ep(f, self->p.pz, &self->evd[0], self->srq.id, i, &self->in[i]) ||
		    t_long_ep(f, self->p.pz, &self->evd[1], 0, i, 1, &self->out[i]) ||
		    t_connect(f, &self->out[i], T_QUAL, NULL, 0))
			return -1;
	for (i = first; i < first + BATCH; i++)
		if (!t_event(&self->p.cr, T_WAIT_MS, &eqe) ||
		    t_accept(f, (uint32_t)eqe.len, &self->in[i], NULL, 0))
			return -1;
	for (i = 0; i < 2 * BATCH; i++)
		if (t_event(&self->evd[i & 1], T_WAIT_MS, &eqe))
			ends += eqe.type == DAT_EV_ESTABLISHED;
	return ends / 2;
}

TEST_F_TIMEOUT(shared, an_srq_of_16384_buffers_serves_1000_connections, 600)
{
	long kib = available_kib(), begun = now_ms();
	struct dat_eqe eqe;
	char seen[CONNS] = { 0 };
	int i;

	for (i = 0; i < BUFFERS; i++) {
		t_rqe(&self->srq.rq)->num_sge = 0;
		ASSERT_EQ(0, t_push(&self->srq.rq));
	}
	for (i = 0; i < CONNS; i += BATCH) {
		ASSERT_EQ(BATCH, connect_batch(self, i)) TH_LOG("connection %d", i);
		ASSERT_GE((i + BATCH) * CONN_KIB, kib - available_kib())
			TH_LOG("%d connections", i + BATCH);
	}
	TH_LOG("%ld KiB for each connection, %ld ms", (kib - available_kib()) / CONNS,
	       now_ms() - begun);
	for (i = 0; i < CONNS; i++)
		ASSERT_EQ(0, t_send(&self->out[i], i, 0, 0, 0));
	for (i = 0; i < CONNS; i++) {
		ASSERT_EQ(1, t_event(&self->evd[0], T_WAIT_MS, &eqe));
		ASSERT_EQ(DAT_ST_SUCCESS, eqe.status);
		ASSERT_EQ(DAT_EQE_RECV | DAT_EQE_SRQ, eqe.flags);
		ASSERT_GT(CONNS, eqe.owner);
		EXPECT_EQ(0, seen[eqe.owner]++);
	}
}

TEST_HARNESS_MAIN
