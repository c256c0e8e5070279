/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Copyright (c) The dat authors */
/*
 * Memory that the driver shares with the process.  The memory of many objects lies in one mapping.
 * So the library maps this memory once, and counts the objects (spans) in the mapping.
 */
#ifndef LIBDAT_SPAN_H
#define LIBDAT_SPAN_H

#include <rdma/dat_ioctl.h>

#include "../common/lock.h"

struct udat_mapping;

/*
 * struct udat_mappings - the shared mappings of an IA
 * @lock: lock that protects the mappings; no other lock is taken inside
 * @first: list of the mappings
 */
struct udat_mappings {
	struct du_lock		lock;
	struct udat_mapping	*first;
};

/*
 * struct udat_span - mapped memory of an object
 * @va: address; NULL if not mapped
 * @mapping: mapping that contains the memory
 */
struct udat_span {
	void			*va;
	struct udat_mapping	*mapping;
};

/*
 * Map the memory of the open /dev/dat @fd that @at describes; an ioctl has just returned @at.
 * Returns 0 or a negative errno.
 */
int udat_span_map(struct udat_mappings *m, int fd, const struct dat_span *at, int writable,
		  struct udat_span *span);

/* Unmap the memory of an object.  Does nothing if @span is not mapped. */
void udat_span_unmap(struct udat_mappings *m, struct udat_span *span);

#endif /* LIBDAT_SPAN_H */
