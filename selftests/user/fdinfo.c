// SPDX-License-Identifier: GPL-2.0
/* /proc/self/fdinfo shows each object with its id, its state and its indices. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kselftest_harness.h"
#include "dat_test.h"

/* Copy the line of an object to @line, or "". */
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
	/* A request without an answer. */
	ASSERT_EQ(0, t_ep(&p.f, p.pz, &p.evd[1], 0, 7, &asking));
	ASSERT_EQ(0, t_connect(&p.f, &asking, T_QUAL, NULL, 0));
	ASSERT_EQ(1, t_event(&p.cr, T_WAIT_MS, &eqe));
	line_of(p.f.fd, "cr", eqe.len, line);
	EXPECT_NE(0, line[0]);
	line_of(p.f.fd, "ep", asking.id, line);
	EXPECT_EQ(NULL, strstr(line, "state=CONNECTED"));
	t_pair_close(&p);
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
