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

/* Returns 0 or a negative errno.  For a descriptor that the caller has just opened. */
int du_ioctl(int fd, unsigned long cmd, void *arg);

/*
 * Returns the number of the open file behind @fd, or 0 if @fd is not a file of the driver.  Each
 * device of a driver that is older than these numbers has DU_FILE_UNNUMBERED.
 */
#define DU_FILE_UNNUMBERED	UINT64_MAX

uint64_t du_fd_number(int fd);

/**
 * struct du_file - an open file of the driver that a library keeps
 * @fd: descriptor
 * @features: bits 0 to 31 of DAT_FEATURE_* that the driver has
 * @number: number by which the driver names the open file
 *
 * A program may close a descriptor that the library keeps, for example by closefrom().  A file of
 * the program, or of the other library, can then get the same descriptor.  Most ioctls fail with
 * ENOTTY on such a file.  Before the library closes or maps a descriptor, or makes an ioctl that
 * both devices know, it compares the number.  Device and inode are no proof, because all open files
 * of a device share them, and so do all descriptors for events.
 */
struct du_file {
	int		fd;
	uint32_t	features;
	uint64_t	number;
};

void du_file_init(struct du_file *f, int fd);

/* Returns whether the descriptor still refers to the open file. */
static inline int du_file_valid(const struct du_file *f)
{
	return du_fd_number(f->fd) == f->number;
}

/*
 * Returns 0 if the descriptor still refers to the open file.  Otherwise logs the remedy, once in a
 * process, and returns -EBADF.
 */
int du_file_check(const struct du_file *f);

/* Close the descriptor if it still refers to the open file. */
void du_file_close(const struct du_file *f);

/*
 * Returns 0 or a negative errno.  -EBADF: the program has closed the descriptor, which may now be a
 * file of the program.  The call is not restarted after EINTR, because a signal must end
 * a wait.
 */
int du_file_ioctl(const struct du_file *f, unsigned long cmd, void *arg);

/* Returns the argument of an ioctl that takes a number. */
static inline void *du_word(uint32_t number)
{
	return (void *)(uintptr_t)number;
}

/*
 * Find out whether an ioctl that returned @ret failed because the program has closed the
 * descriptor.  Returns -EBADF then, which is logged, otherwise @ret.
 */
int du_file_result(const struct du_file *f, int ret);

/*
 * Like du_file_ioctl(), for an ioctl that waits.  The call is a cancellation point.  The thread may
 * end at any instruction of the call, so the caller holds no lock and has pushed a cleanup handler.
 */
int du_file_wait(const struct du_file *f, unsigned long cmd, void *arg);

/* Close a temporary descriptor.  Unlike close(), this is no cancellation point. */
void du_close(int fd);

/* Map @size bytes of the device at @offset.  Returns 0 or a negative errno. */
int du_map(int fd, uint64_t offset, uint64_t size, int writable, struct du_map *map);
void du_unmap(struct du_map *map);

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
