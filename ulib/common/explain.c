// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/* The reason why the kernel could not pin memory, from the list of the process's mappings. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cancel.h"
#include "dev.h"
#include "log.h"

/*
 * struct mapping - a line of /proc/self/maps
 * @start, @end: addresses of the first byte and of the byte after the last
 * @perm: for example "r--s": read, write, execute, shared or private
 * @file: the first characters of the file's path, or an empty string
 */
struct mapping {
	uint64_t	start;
	uint64_t	end;
	char		perm[5];
	char		file[16];
};

/*
 * struct reason - why a range cannot be pinned
 * @at: address of the memory that cannot
 * @why: text, or NULL
 */
struct reason {
	uint64_t	at;
	const char	*why;
};

/* Returns why a mapping cannot be pinned, for writing if @write is set; or NULL. */
static const char *mapping_fault(const struct mapping *m, int write)
{
	if (write && m->perm[1] != 'w')
		return "is mapped without PROT_WRITE, which a write privilege needs";
	return NULL;
}

/*
 * Returns why some kernels or file systems do not let a mapping be pinned; or NULL.  /dev/zero is
 * shared memory without a file.
 */
static const char *mapping_doubt(const struct mapping *m, int write)
{
	int writable = m->perm[1] == 'w', shared = m->perm[3] == 's';

	if (m->perm[0] != 'r' && !writable)
		return "is mapped without PROT_READ";
	if (shared && !writable)
		return "is a shared mapping for reading only, which this kernel cannot pin: map it with PROT_READ | PROT_WRITE, or a copy with MAP_PRIVATE";
	if (shared && write && strncmp(m->file, "/dev/zero", 9))
		return "is a shared mapping of a file that ends before it, or whose file system lets no device write (since Linux 6.5 all but tmpfs and hugetlbfs): use memfd_create(), or a copy with MAP_PRIVATE";
	return NULL;
}

static int mapping_next(FILE *f, struct mapping *m)
{
	char line[256];
	int n;

	if (!fgets(line, sizeof(line), f))
		return 0;
	m->file[0] = 0;
	n = sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %*s %*s %*s %15s", &m->start, &m->end,
		   m->perm, m->file);
	/* A long path has a rest, which the next call must not read. */
	while (!strchr(line, '\n') && fgets(line, sizeof(line), f))
		;
	return n >= 3;
}

/*
 * Look for a reason from @start to @end.  A hole or a missing permission is one for certain, so it
 * counts more than a doubt about memory before it.
 */
static struct reason range_reason(FILE *f, uint64_t start, uint64_t end, int write)
{
	struct reason doubt = { .at = start }, fault = { .at = start };
	struct mapping m;

	while (fault.at < end && mapping_next(f, &m)) {
		if (m.end <= fault.at)
			continue;
		if (m.start > fault.at)
			break;
		fault.why = mapping_fault(&m, write);
		if (fault.why)
			return fault;
		if (!doubt.why) {
			doubt.at = fault.at;
			doubt.why = mapping_doubt(&m, write);
		}
		fault.at = m.end;
	}
	if (fault.at >= end)
		return doubt;
	fault.why = "is not mapped";
	return fault;
}

void du_explain_fault(uint64_t start, uint64_t length, int write)
{
	struct reason r = { .why = NULL };
	int state = du_cancel_off();
	FILE *f;

	f = fopen("/proc/self/maps", "re");
	if (f) {
		r = range_reason(f, start, start + length, write);
		fclose(f);
	}
	du_cancel_restore(state);
	if (r.why)
		du_log(DU_LOG_ERROR, "cannot register %" PRIu64 " bytes at %#" PRIx64 ": the memory at %#" PRIx64 " %s",
		       length, start, r.at, r.why);
}
