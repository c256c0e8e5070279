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
 * Open a device.  Returns the descriptor or a negative errno.  An error is also logged; if @quiet
 * is set, only -EMFILE and -ENFILE are.
 */
int du_dev_open(enum du_dev dev, int quiet);

/*
 * A program may close a descriptor that the library keeps, for example by closefrom().  A file of
 * the program can then get the same descriptor.  Most ioctls of the library fail with ENOTTY on
 * such a file.  Before the library closes or maps a descriptor that it has kept, it compares the
 * number by which the driver names the open file.  Device and inode are no proof, because all open
 * files of a device share them, and so do all descriptors for events.
 *
 * Returns the number of the open file behind @fd, or 0 if @fd is not a file of the driver.  Each
 * device of a driver that is older than these numbers has DU_FILE_UNNUMBERED.
 */
#define DU_FILE_UNNUMBERED	UINT64_MAX

uint64_t du_fd_number(int fd);

/* Returns whether @fd refers to the open file that the driver has named @number. */
static inline int du_fd_valid(int fd, uint64_t number)
{
	return du_fd_number(fd) == number;
}

/* Close @fd if it refers to the open file that the driver has named @number. */
void du_fd_close(int fd, uint64_t number);

/*
 * Returns 0 or a negative errno.  -EBADF: the program has closed the descriptor, which may now be a
 * file of the program.  The call is not restarted after EINTR, because a signal must end
 * a wait.
 */
int du_ioctl(int fd, unsigned long cmd, void *arg);

/*
 * Like du_ioctl(), for an ioctl that waits.  The call is a cancellation point.  The thread may end
 * at any instruction of the call, so the caller holds no lock and has pushed a cleanup handler.
 */
int du_wait(int fd, unsigned long cmd, void *arg);

/* Close a temporary descriptor.  Unlike close(), this is no cancellation point. */
void du_close(int fd);

/* Map @size bytes of the device at @offset.  Returns 0 or a negative errno. */
int du_map(int fd, uint64_t offset, uint64_t size, int writable, struct du_map *map);
void du_unmap(struct du_map *map);

/* Log that the program has closed a descriptor of the library.  Only the first call logs. */
void du_explain_closed(int fd);

/* Log the remedy if @err is EMFILE or ENFILE.  Returns whether it is. */
int du_explain_files(int err);

/* Log how to raise RLIMIT_MEMLOCK.  Called when @length bytes could not be registered. */
void du_explain_memlock(uint64_t length);

/* Log how to raise the limit of the memory of queues.  Called when a queue could not be made. */
void du_explain_queue_memory(void);

/*
 * Log why the kernel could not pin @length bytes at @start, for writing if @write is set.  Called
 * after EFAULT.  Logs nothing if the mappings show no reason.
 */
void du_explain_fault(uint64_t start, uint64_t length, int write);

#endif /* DU_DEV_H */
