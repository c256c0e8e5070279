/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What dat-blkd does wrong when it is told to, for tests of its clients. */
#ifndef DAT_BLKD_H
#define DAT_BLKD_H

#include <stddef.h>

#include "blk_proto.h"

/*
 * struct fault - a lie
 * @export: change what a client is told of the device, or NULL
 * @reply: change a reply, or NULL
 * @copies: of a reply; 0: none is sent
 * @length: of the message of a reply
 */
struct fault {
	const char	*name;
	void		(*export)(struct datblk_export *e);
	void		(*reply)(struct datblk_reply *r);
	unsigned int	copies;
	size_t		length;
};

/* Those that there are, up to one without a name. */
extern const struct fault faults[];
/* By name, or NULL. */
const struct fault *fault_find(const char *name);

#endif /* DAT_BLKD_H */
