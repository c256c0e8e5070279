/* SPDX-License-Identifier: GPL-2.0 */
/* Functions that /dev/dat and /dev/rsm share for their open files. */
#ifndef _DAT_DEVICE_H
#define _DAT_DEVICE_H

#include <linux/fs.h>
#include <linux/kernel.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/time_namespace.h>
#include <linux/uaccess.h>
#include <rdma/dat_ioctl.h>

#define DAT_ARG_LIMIT	4096	/* bytes of an argument, whatever the page size */

/**
 * dat_mapping_alloc() - allocate an inode whose mapping is for one open file
 *
 * The mapping has the VMAs of that file alone, so a zap or an munmap does not wait for those of
 * other files.
 *
 * Context: may sleep.  Return: an anonymous inode, to be released by iput(); or an ERR_PTR.
 */
struct inode *dat_mapping_alloc(void);

/**
 * dat_ioctl_abi() - answer DAT_IOC_ABI
 * @ubuf: struct dat_abi in user memory
 *
 * Context: may sleep.  Return: 0, or an errno as at the top of <rdma/dat_ioctl.h>.
 */
long dat_ioctl_abi(void __user *ubuf);

/**
 * dat_copy_arg() - copy the argument of an ioctl from user memory
 * @arg: result; begins with a u32, the size that the caller passed
 * @size: size of @arg; bytes that the caller did not pass are zeroed
 * @min_size: size of the argument in version 1, which every caller passes
 * @ubuf: argument in user memory
 *
 * Context: may sleep.  Return: 0; -EFAULT; -EINVAL if the caller passed less than @min_size;
 * -E2BIG if it set fields that the driver does not know, or passed more than 4,096 bytes.
 */
static inline int dat_copy_arg(void *arg, u32 size, u32 min_size, void __user *ubuf)
{
	u32 known;
	int ret;

	if (get_user(known, (u32 __user *)ubuf))
		return -EFAULT;
	if (known < min_size)
		return -EINVAL;
	/* No argument is that large, and the check for zeros must not take long. */
	if (known > DAT_ARG_LIMIT)
		return -E2BIG;
	ret = copy_struct_from_user(arg, size, ubuf, known);
	if (ret)
		return ret;
	/* Use the first read of the size: the process may have changed it before the second one. */
	*(u32 *)arg = known;
	return 0;
}

/**
 * dat_check_entry_size() - check the size that a caller states for the entries of an array
 * @entry_size: size of an entry, as compiled into the caller
 * @min_size: size of an entry in version 1, which every caller passes
 *
 * Return: 0; -EINVAL if @entry_size is less than @min_size; -E2BIG if it is more than 4,096 bytes.
 */
static inline int dat_check_entry_size(u32 entry_size, u32 min_size)
{
	if (entry_size < min_size)
		return -EINVAL;
	/* No entry is that large, and the check for zeros must not take long. */
	return entry_size > DAT_ARG_LIMIT ? -E2BIG : 0;
}

int dat_copy_entries_from(void *to, u32 size, u64 from, u32 entry_size, u32 count);
int dat_copy_entries_to(u64 to, u32 entry_size, const void *from, u32 size, u32 count);

/**
 * dat_copy_array_from() - copy an array from user memory
 * @to: result
 * @size: size of an entry of @to; bytes that the caller did not pass are zeroed
 * @from: address of the array in user memory
 * @entry_size: size of an entry of @from, after dat_check_entry_size()
 * @count: number of entries, which the caller limits
 *
 * Context: may sleep.  Return: 0; -EFAULT; -E2BIG if an entry has fields set that the driver does
 * not know.
 */
static inline int dat_copy_array_from(void *to, u32 size, u64 from, u32 entry_size, u32 count)
{
	if (likely(entry_size == size))
		return copy_from_user(to, u64_to_user_ptr(from), (size_t)count * size) ? -EFAULT :
											 0;
	return dat_copy_entries_from(to, size, from, entry_size, count);
}

/**
 * dat_copy_array_to() - copy an array to user memory
 * @to: address of the result in user memory
 * @entry_size: size of an entry of @to, after dat_check_entry_size(); bytes that the driver does
 *	not know are zeroed
 * @from: array
 * @size: size of an entry of @from; bytes that the caller does not know are left out
 * @count: number of entries
 *
 * Context: may sleep.  Return: 0; -EFAULT.
 */
static inline int dat_copy_array_to(u64 to, u32 entry_size, const void *from, u32 size, u32 count)
{
	if (likely(entry_size == size))
		return copy_to_user(u64_to_user_ptr(to), from, (size_t)count * size) ? -EFAULT : 0;
	return dat_copy_entries_to(to, entry_size, from, size, count);
}

/**
 * dat_deadline_to_host() - convert a deadline of the calling process to the host's clock
 * @deadline_ns: CLOCK_MONOTONIC of the caller's time namespace; 0; or DAT_WAIT_FOREVER
 *
 * Not by timens_ktime_to_host(), which older kernels do not export to modules.
 *
 * Return: the deadline as CLOCK_MONOTONIC of the host; 0 and DAT_WAIT_FOREVER are unchanged.
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
	/* A deadline before the host's boot has passed; 0 would mean not to sleep at all. */
	return max_t(s64, host, 1);
}

#endif /* _DAT_DEVICE_H */
