// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* Number and size of the mappings of a process that has 10,000 idle EPs. */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>

#include "kselftest_harness.h"
#include "dat_api.h"

#define EPS		10000
#define DTOS		16
#define MAX_MAPPINGS	100
#define MAX_BYTES	8192	/* maximum mapped memory per EP */

/*
 * struct mapped - the mappings of /dev/dat in /proc/self/maps
 * @mappings: number of mappings
 * @bytes: total size of the mappings in bytes
 */
struct mapped {
	int		mappings;
	unsigned long	bytes;
};

static struct mapped mapped(void)
{
	FILE *f = fopen("/proc/self/maps", "r");
	struct mapped m = {};
	unsigned long start, end;
	char line[600];

	while (f && fgets(line, sizeof(line), f)) {
		if (!strstr(line, "/dev/dat") || sscanf(line, "%lx-%lx", &start, &end) != 2)
			continue;
		m.mappings++;
		m.bytes += end - start;
	}
	if (f)
		fclose(f);
	return m;
}

FIXTURE(idle) {
	struct a_pair p;
};

FIXTURE_SETUP(idle)
{
	ASSERT_EQ(DAT_SUCCESS, a_open(&self->p));
}

FIXTURE_TEARDOWN(idle)
{
	a_close(&self->p);
}

TEST_F_TIMEOUT(idle, ten_thousand_eps_have_few_mappings, 600)
{
	static DAT_EP_HANDLE ep[EPS];
	struct mapped before, with, after;
	struct a_pair *p = &self->p;
	DAT_EP_ATTR attr = a_attr(p);
	int i;

	attr.max_recv_dtos = DTOS;
	attr.max_request_dtos = DTOS;
	before = mapped();
	for (i = 0; i < EPS; i++) {
		ASSERT_EQ(DAT_SUCCESS, dat_ep_create(p->ia, p->pz, p->evd[0], p->evd[0], p->evd[0],
						     &attr, &ep[i])) TH_LOG("%d", i);
	}
	with = mapped();
	TH_LOG("%d mappings, %lu bytes for each EP", with.mappings, with.bytes / EPS);
	EXPECT_GE(MAX_MAPPINGS, with.mappings);
	EXPECT_GE(MAX_BYTES, with.bytes / EPS);
	for (i = 0; i < EPS; i++)
		ASSERT_EQ(DAT_SUCCESS, dat_ep_free(ep[i]));
	/* A mapping is unmapped when the last EP with memory in this mapping is freed. */
	after = mapped();
	EXPECT_EQ(before.mappings, after.mappings);
	EXPECT_EQ(before.bytes, after.bytes);
}

TEST_HARNESS_MAIN
