// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/* Mappings of /dev/dat.  Many objects share one mapping. */
#include <errno.h>
#include <stdlib.h>

#include "../common/dev.h"
#include "span.h"

/*
 * struct udat_mapping - a mapping of /dev/dat
 * @next: next mapping of the IA
 * @offset: offset in the file
 * @map: address and size
 * @spans: number of spans in this mapping
 */
struct udat_mapping {
	struct udat_mapping	*next;
	uint64_t		offset;
	struct du_map		map;
	unsigned int		spans;
};

/*
 * Find the mapping at @offset.  The offset identifies a mapping, because the driver reuses an
 * offset only after it has used millions of other offsets.
 */
static struct udat_mapping *mapping_find(struct udat_mappings *m, uint64_t offset)
{
	struct udat_mapping *i;

	for (i = m->first; i; i = i->next)
		if (i->offset == offset)
			return i;
	return NULL;
}

static int mapping_new(struct udat_mappings *m, int fd, const struct dat_span *at, int writable,
		       struct udat_mapping **out)
{
	struct udat_mapping *new = calloc(1, sizeof(*new));
	int ret;

	if (!new)
		return -ENOMEM;
	ret = du_map(fd, at->offset, at->size, writable, &new->map);
	if (ret) {
		free(new);
		return ret;
	}
	new->offset = at->offset;
	new->next = m->first;
	m->first = new;
	*out = new;
	return 0;
}

int udat_span_map(struct udat_mappings *m, int fd, const struct dat_span *at, int writable,
		  struct udat_span *span)
{
	struct udat_mapping *mapping;
	int ret = 0;

	du_lock(&m->lock);
	mapping = mapping_find(m, at->offset);
	if (!mapping)
		ret = mapping_new(m, fd, at, writable, &mapping);
	if (!ret) {
		mapping->spans++;
		span->mapping = mapping;
		span->va = (char *)mapping->map.va + at->start;
	}
	du_unlock(&m->lock);
	return ret;
}

void udat_span_unmap(struct udat_mappings *m, struct udat_span *span)
{
	struct udat_mapping *mapping = span->mapping, **link = &m->first;

	if (!span->va)
		return;
	du_lock(&m->lock);
	if (!--mapping->spans) {
		while (*link != mapping)
			link = &(*link)->next;
		*link = mapping->next;
		du_unmap(&mapping->map);
		free(mapping);
	}
	du_unlock(&m->lock);
	span->va = NULL;
}
