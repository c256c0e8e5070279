// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * Charges of device queues to the locked memory of a user.
 *
 * A driver allocates the memory of QPs, CQs and SRQs without __GFP_ACCOUNT, so no memory cgroup is
 * charged.  The core estimates this memory from the lengths of the queues and charges the user that
 * asked for them, as AF_XDP and io_uring do.  The charge is separate from that of registered memory
 * (mm->pinned_vm), so a process can still register as much as RLIMIT_MEMLOCK allows.
 */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/sched/signal.h>
#include <linux/sched/user.h>

#include "core/dat.h"
#include "core/face.h"
#include "core/locked.h"

static unsigned int queue_memory = 64;
module_param(queue_memory, uint, 0644);
MODULE_PARM_DESC(queue_memory,
		 "MiB of device queues that a user may have beyond any lower RLIMIT_MEMLOCK (64)");

/**
 * dat_locked_bytes() - estimate the memory that a device needs for a queue
 * @entries: number of entries, at most 2^31 - 1
 * @size: bytes of an entry without segments
 * @iov: largest number of segments of an entry
 *
 * Devices round both factors up to powers of two, and keep one entry free.
 *
 * Return: number of bytes.
 */
u64 dat_locked_bytes(u32 entries, u32 size, u32 iov)
{
	size_t entry = size + iov * sizeof(struct dat_sge);

	return (u64)roundup_pow_of_two(entries + 1) * roundup_pow_of_two(entry);
}

static unsigned long locked_limit(void)
{
	unsigned long pages = (unsigned long)READ_ONCE(queue_memory) << (20 - PAGE_SHIFT);

	return max(rlimit(RLIMIT_MEMLOCK) >> PAGE_SHIFT, pages);
}

/**
 * dat_locked_charge() - charge queues to the locked memory of the current user
 * @l: empty charge
 * @ia: adapter of the queues; if a kernel module has opened it, nothing is charged
 * @bytes: estimate of the memory
 *
 * Context: thread of the consumer that asks for the queues.  Return: 0, or -ENOMEM if the user's
 * locked memory would exceed both RLIMIT_MEMLOCK and the parameter queue_memory, and the caller
 * lacks CAP_IPC_LOCK.
 */
int dat_locked_charge(struct dat_locked *l, const struct dat_ia *ia, u64 bytes)
{
	unsigned long pages = DIV_ROUND_UP_ULL(bytes, PAGE_SIZE);
	struct user_struct *user = current_user();

	if (ia->face->kernel)
		return 0;
	if (atomic_long_add_return(pages, &user->locked_vm) > locked_limit() &&
	    !capable(CAP_IPC_LOCK)) {
		atomic_long_sub(pages, &user->locked_vm);
		return -ENOMEM;
	}
	l->user = get_uid(user);
	l->pages = pages;
	return 0;
}

/**
 * dat_locked_uncharge() - undo dat_locked_charge()
 * @l: charge; may be empty, and is empty afterwards
 *
 * Context: any but hard interrupt.
 */
void dat_locked_uncharge(struct dat_locked *l)
{
	if (!l->user)
		return;
	atomic_long_sub(l->pages, &l->user->locked_vm);
	free_uid(l->user);
	l->user = NULL;
}
