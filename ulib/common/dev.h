/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* An open /dev/dat or /dev/rsm: ioctls, mappings, and messages about their errors. */
#ifndef DU_DEV_H
#define DU_DEV_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

_Static_assert(sizeof(off_t) == 8, "offsets of mappings hold an object's number above bit 32");

/* A mapping of shared pages. */
struct du_map {
	void	*va;	/* NULL: not mapped */
	size_t	size;
};

enum du_dev { DU_DEV_DAT, DU_DEV_RSM };

/*
 * Open a device.  Returns the descriptor or a negative errno; @quiet leaves the
 * explanation out.
 */
int du_dev_open(enum du_dev dev, int quiet);

/* Returns 0 or a negative errno.  Never restarts the call: a signal must end a wait. */
int du_ioctl(int fd, unsigned long cmd, void *arg);

/* Returns 0 or a negative errno. */
int du_map(int fd, uint64_t offset, uint64_t size, int writable, struct du_map *map);
void du_unmap(struct du_map *map);

/* Log what to do about RLIMIT_MEMLOCK after @length bytes could not be registered. */
void du_explain_memlock(uint64_t length);

#endif /* DU_DEV_H */
