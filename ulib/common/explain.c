// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/* The reason why the kernel could not pin memory, from the list of the process's mappings. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdio.h>

#include "cancel.h"
#include "dev.h"
#include "log.h"

/*
 * struct mapping - a line of /proc/self/maps
 * @start, @end: addresses of the first byte and of the byte after the last
 * @perm: for example "r--s": read, write, execute, shared or private
 */
struct mapping {
	uint64_t	start;
	uint64_t	end;
	char		perm[5];
};

/* Returns why a mapping cannot be pinned, for writing if @write is set; or NULL. */
static const char *mapping_fault(const struct mapping *m, int write)
{
	int writable = m->perm[1] == 'w', shared = m->perm[3] == 's';

	if (write && !writable)
		return "is mapped for reading only, and a write privilege needs PROT_WRITE";
	if (shared && !writable)
		return "is a shared mapping for reading only, which this kernel cannot pin: map it with PROT_READ | PROT_WRITE, or a copy with MAP_PRIVATE";
	if (shared && write)
		return "is a shared mapping of a file that ends before it, or whose file system lets no device write (since Linux 6.5 all but tmpfs and hugetlbfs): use memfd_create(), or a copy with MAP_PRIVATE";
	return NULL;
}

static void explain(uint64_t start, uint64_t length, uint64_t at, const char *why)
{
	du_log(DU_LOG_ERROR, "cannot register %" PRIu64 " bytes at %#" PRIx64 ": the memory at %#" PRIx64 " %s",
	       length, start, at, why);
}

void du_explain_fault(uint64_t start, uint64_t length, int write)
{
	uint64_t at = start, end = start + length;
	const char *why = NULL;
	struct mapping m;
	int state = du_cancel_off();
	FILE *f;

	f = fopen("/proc/self/maps", "re");
	if (!f)
		goto out;
	while (at < end && !why &&
	       fscanf(f, "%" SCNx64 "-%" SCNx64 " %4s%*[^\n]", &m.start, &m.end, m.perm) == 3) {
		if (m.end <= at)
			continue;
		if (m.start > at)
			break;
		why = mapping_fault(&m, write);
		if (!why)
			at = m.end;
	}
	fclose(f);
	if (why)
		explain(start, length, at, why);
	else if (at < end)
		explain(start, length, at, "is not mapped");
out:
	du_cancel_restore(state);
}
