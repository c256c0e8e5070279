/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Memory of objects that the driver shares.  One mapping holds the memory of many objects, so the
 * library maps it once and counts the spans that lie in it.
 */
#ifndef LIBDAT_SPAN_H
#define LIBDAT_SPAN_H

#include <rdma/dat_ioctl.h>

#include "../common/lock.h"

struct udat_mapping;

/*
 * struct udat_mappings - the shared mappings of an IA
 * @lock: protects the mappings; no other lock is taken inside it
 * @fd: open /dev/dat
 * @first: list of the mappings
 */
struct udat_mappings {
	struct du_lock		lock;
	int			fd;
	struct udat_mapping	*first;
};

/*
 * struct udat_span - mapped memory of an object
 * @va: address; NULL: not mapped
 * @mapping: mapping that it lies in
 */
struct udat_span {
	void			*va;
	struct udat_mapping	*mapping;
};

/* Map the memory that the driver has returned as @at.  Returns 0 or a negative errno. */
int udat_span_map(struct udat_mappings *m, const struct dat_span *at, int writable,
		  struct udat_span *span);

/* Do nothing if @span is not mapped. */
void udat_span_unmap(struct udat_mappings *m, struct udat_span *span);

#endif /* LIBDAT_SPAN_H */
