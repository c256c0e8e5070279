// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* Arrays that ioctl arguments point to. */
#include <linux/module.h>
#include <linux/sched.h>

#include "compat.h"
#include "lib/device.h"

/* Slow path of dat_copy_array_from(), for an entry size that differs from the kernel's size. */
int dat_copy_entries_from(void *to, u32 size, u64 from, u32 entry_size, u32 count)
{
	int ret = 0;
	u32 i;

	for (i = 0; i < count && !ret; i++) {
		ret = copy_struct_from_user(to + (size_t)i * size, size,
					    u64_to_user_ptr(from + (u64)i * entry_size),
					    entry_size);
		cond_resched();
	}
	return ret;
}
EXPORT_SYMBOL_DAT_INTERNAL(dat_copy_entries_from);

/* Slow path of dat_copy_array_to(), for an entry size that differs from the kernel's size. */
int dat_copy_entries_to(u64 to, u32 entry_size, const void *from, u32 size, u32 count)
{
	u32 known = min(size, entry_size), i;
	void __user *at;

	for (i = 0; i < count; i++) {
		at = u64_to_user_ptr(to + (u64)i * entry_size);
		if (copy_to_user(at, from + (size_t)i * size, known) ||
		    clear_user(at + known, entry_size - known))
			return -EFAULT;
		cond_resched();
	}
	return 0;
}
EXPORT_SYMBOL_DAT_INTERNAL(dat_copy_entries_to);
