/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) The dat authors */
/* Functions that the drivers of /dev/dat and /dev/rsm share. */
#ifndef _DAT_DEVICE_H
#define _DAT_DEVICE_H

#include <linux/cred.h>
#include <linux/fs.h>
#include <linux/kernel.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/random.h>
#include <linux/time_namespace.h>
#include <linux/uaccess.h>
#include <linux/uidgid.h>
#include <rdma/dat_ioctl.h>

#define DAT_ARG_LIMIT	4096	/* maximum bytes of an ioctl argument, or of an array entry */

/*
 * Allocates an anonymous inode, whose i_mapping becomes the mapping of one open file.  A zap or an
 * munmap() then does not contend with other open files for the lock of a common mapping.  May
 * sleep.  Returns the inode, which the caller releases with iput(), or an ERR_PTR.
 */
struct inode *dat_mapping_alloc(void);

int dat_mapping_init(void);
void dat_mapping_exit(void);

int dat_sleep(u64 deadline_ns);

/* Largest result of dat_payers(): the kernel nests user namespaces at most 33 deep. */
#define DAT_MAX_PAYERS	34

unsigned int dat_payers(const struct cred *cred, kuid_t uids[DAT_MAX_PAYERS]);

/* Returns a random number other than 0, by which DAT_IOC_ABI identifies an open file. */
static inline u64 dat_file_number(void)
{
	return get_random_u64() | 1;
}

/* ioctl.c */
long dat_ioctl_abi(u64 number, u64 features, void __user *ubuf);

/*
 * Checks the size that a process states for the entries of its array.  @min_size: size of an entry
 * in ABI version 1.  Fails with -EINVAL if @entry_size is less than @min_size, and with -E2BIG if
 * @entry_size is more than DAT_ARG_LIMIT.
 */
static inline int dat_check_entry_size(u32 entry_size, u32 min_size)
{
	if (entry_size < min_size)
		return -EINVAL;
	/* Limit the time of the copy, which checks or clears all excess bytes of an entry. */
	return entry_size > DAT_ARG_LIMIT ? -E2BIG : 0;
}

int dat_copy_entries_from(void *to, u32 size, u64 from, u32 entry_size, u32 count);
int dat_copy_entries_to(u64 to, u32 entry_size, const void *from, u32 size, u32 count);

/*
 * Copies an array from user memory.  The caller has limited @count, and has checked @entry_size
 * with dat_check_entry_size().  If @entry_size is less than @size, the function zeroes the rest of
 * each entry of @to.  May sleep.  Fails with -EFAULT, or with -E2BIG if a user entry has nonzero
 * bytes beyond @size, which belong to unknown fields.
 */
static inline int dat_copy_array_from(void *to, u32 size, u64 from, u32 entry_size, u32 count)
{
	if (likely(entry_size == size))
		return copy_from_user(to, u64_to_user_ptr(from), (size_t)count * size) ? -EFAULT :
											 0;
	return dat_copy_entries_from(to, size, from, entry_size, count);
}

/*
 * Copies an array to user memory.  The caller has checked @entry_size with dat_check_entry_size().
 * The function zeroes the bytes of a user entry beyond @size, and leaves out the bytes of a kernel
 * entry beyond @entry_size.  May sleep.  Fails with -EFAULT.
 */
static inline int dat_copy_array_to(u64 to, u32 entry_size, const void *from, u32 size, u32 count)
{
	if (likely(entry_size == size))
		return copy_to_user(u64_to_user_ptr(to), from, (size_t)count * size) ? -EFAULT : 0;
	return dat_copy_entries_to(to, entry_size, from, size, count);
}

/*
 * Converts a deadline on CLOCK_MONOTONIC from the caller's time namespace to the host's clock.
 * Returns 0 and DAT_WAIT_FOREVER unchanged.  Does not use timens_ktime_to_host(), which older
 * kernels do not export.
 */
static inline u64 dat_deadline_to_host(u64 deadline_ns)
{
	struct timespec64 offset = {};
	s64 host;

	if (!deadline_ns || deadline_ns == DAT_WAIT_FOREVER)
		return deadline_ns;
	timens_add_monotonic(&offset);
	if (check_sub_overflow((s64)min_t(u64, deadline_ns, KTIME_MAX), timespec64_to_ns(&offset),
			       &host))
		return KTIME_MAX;
	/* A time below 1 is before the host's boot.  Return 1, because 0 means not to sleep. */
	return max_t(s64, host, 1);
}

#endif /* _DAT_DEVICE_H */
