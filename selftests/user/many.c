// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* One open file with 65,536 endpoints: their queues, mappings and lines in fdinfo. */
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

#define EPS		65536
#define MAX_MAPPINGS	100	/* limit of this test; Linux allows 65,530 */

static int open_with_queues(uint32_t queues)
{
	struct dat_adapter adapter = { .size = sizeof(adapter) };
	struct dat_ia_open arg = { .size = sizeof(arg), .max_queues = queues };
	int fd = open("/dev/dat", O_RDWR | O_CLOEXEC);

	if (fd < 0 || t_ioctl(fd, DAT_IOC_ADAPTER, &adapter))
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
	FILE *f = fopen("/proc/meminfo", "r");
	char line[128];
	long kib = 0;

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "MemAvailable: %ld", &kib) == 1)
			break;
	if (f)
		fclose(f);
	return kib;
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

TEST_HARNESS_MAIN
