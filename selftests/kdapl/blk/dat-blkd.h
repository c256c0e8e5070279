/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Faults that dat-blkd injects on request, for tests of its clients. */
#ifndef DAT_BLKD_H
#define DAT_BLKD_H

#include <stddef.h>

#include "blk_proto.h"

/*
 * struct fault - a fault in what dat-blkd sends
 * @name: name of the fault
 * @export: change the export data, or NULL
 * @reply: change a reply, or NULL
 * @copies: number of copies of a reply; 0: no reply
 * @length: length of a reply's message
 */
struct fault {
	const char	*name;
	void		(*export)(struct datblk_export *e);
	void		(*reply)(struct datblk_reply *r);
	unsigned int	copies;
	size_t		length;
};

/* All faults; the last entry has no name. */
extern const struct fault faults[];
/* Find a fault by name; NULL if there is none. */
const struct fault *fault_find(const char *name);

#endif /* DAT_BLKD_H */
