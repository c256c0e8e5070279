// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* /proc/self/fdinfo shows each object of the file with its id, state and indices. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kselftest_harness.h"
#include "dat_test.h"

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

TEST_HARNESS_MAIN
