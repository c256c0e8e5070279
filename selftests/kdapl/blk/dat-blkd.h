/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Copyright (c) The dat authors */
/* Faults that dat-blkd injects with --fault, for tests of its clients. */
#ifndef DAT_BLKD_H
#define DAT_BLKD_H

#include <stddef.h>

#include "blk_proto.h"

/*
 * struct fault - a fault in the messages of dat-blkd
 * @name: argument of --fault
 * @export: function that changes the export data, or NULL
 * @reply: function that changes a reply, or NULL
 * @copies: number of times each reply is sent; 0: not at all
 * @length: length of a reply message in bytes
 */
struct fault {
	const char	*name;
	void		(*export)(struct datblk_export *e);
	void		(*reply)(struct datblk_reply *r);
	unsigned int	copies;
	size_t		length;
};

/* All faults, terminated by an entry whose @name is NULL. */
extern const struct fault faults[];
/* Return the fault with this name, or NULL if no fault has it. */
const struct fault *fault_find(const char *name);

#endif /* DAT_BLKD_H */
