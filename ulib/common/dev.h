/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Copyright (c) The dat authors */
/* Functions for an open /dev/dat or /dev/rsm: ioctls, mappings, and messages about errors. */
#ifndef DU_DEV_H
#define DU_DEV_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

_Static_assert(sizeof(off_t) == 8, "offsets of mappings hold an object's number above bit 32");

/* A mapping of pages that the process shares with the driver. */
struct du_map {
	void	*va;	/* address; NULL if nothing is mapped */
	size_t	size;
};

enum du_dev { DU_DEV_DAT, DU_DEV_RSM };

/*
 * Open a device.  Returns the descriptor or a negative errno.  If @quiet is 0, an error is also
 * logged.
 */
int du_dev_open(enum du_dev dev, int quiet);

/*
 * Returns 0 or a negative errno.  The call is not restarted after EINTR, because a signal must end
 * a wait.
 */
int du_ioctl(int fd, unsigned long cmd, void *arg);

/* Map @size bytes of the device at @offset.  Returns 0 or a negative errno. */
int du_map(int fd, uint64_t offset, uint64_t size, int writable, struct du_map *map);
void du_unmap(struct du_map *map);

/* Log how to raise RLIMIT_MEMLOCK.  Called when @length bytes could not be registered. */
void du_explain_memlock(uint64_t length);

#endif /* DU_DEV_H */
