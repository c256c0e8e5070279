// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * Charges of device queues to users.
 *
 * A driver allocates the memory of QPs, CQs and SRQs without __GFP_ACCOUNT, so no memory cgroup is
 * charged.  The core estimates this memory from the lengths of the queues and charges the users
 * that dat_payers() finds for the caller.  A caller with CAP_IPC_LOCK has no limit.  The queues of
 * such a caller are not counted, so they do not reduce what other processes of the same users may
 * have.
 *
 * The counters are separate from two counters of the kernel:
 * - user_struct.locked_vm counts the buffers of io_uring and AF_XDP.  Such buffers of one container
 *   must not reduce the queues of another: without user namespaces, both have the same users.
 * - mm->pinned_vm counts registered memory.  Queues must not reduce the memory that RLIMIT_MEMLOCK
 *   lets a process register.
 */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/xarray.h>

#include "compat.h"
#include "core/dat.h"
#include "core/locked.h"
#include "lib/device.h"

/* Charge of a user for queues.  The structure exists while @pages is not 0. */
struct locked_user {
	kuid_t		uid;
	unsigned long	pages;	/* protected by the lock of locked_users */
};

/* All struct locked_user, by uid. */
static DEFINE_XARRAY(locked_users);

static unsigned int queue_memory = 64;
module_param(queue_memory, uint, 0644);
MODULE_PARM_DESC(queue_memory,
		 "MiB of device queues that a user may have beyond any lower RLIMIT_MEMLOCK (64)");

/*
 * Estimates the bytes of memory of a queue.  Devices keep one entry free, and round both the number
 * of entries and the size of an entry up to powers of two.  @entries: at most 2^31 - 1; @size:
 * bytes of an entry without segments; @iov: segments of an entry.
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

static void user_uncharge_locked(struct locked_user *user, unsigned long pages)
{
	lockdep_assert_held(&locked_users.xa_lock);

	user->pages -= pages;
	if (user->pages)
		return;
	__xa_erase(&locked_users, __kuid_val(user->uid));
	kfree(user);
}

static int user_charge(kuid_t uid, unsigned long pages, unsigned long limit)
{
	struct locked_user *user, *new = kzalloc(sizeof(*new), GFP_KERNEL_ACCOUNT);
	int ret;

	if (!new)
		return -ENOMEM;
	new->uid = uid;
	xa_lock(&locked_users);
	user = __xa_cmpxchg(&locked_users, __kuid_val(uid), NULL, new, GFP_KERNEL_ACCOUNT);
	if (!user)
		swap(user, new);
	ret = xa_err(user);
	if (!ret) {
		user->pages += pages;
		if (user->pages > limit) {
			user_uncharge_locked(user, pages);
			ret = -ENOMEM;
		}
	}
	xa_unlock(&locked_users);
	kfree(new);
	return ret;
}

static void users_uncharge(const kuid_t *uids, unsigned int n, unsigned long pages)
{
	unsigned int i;

	xa_lock(&locked_users);
	for (i = 0; i < n; i++)
		user_uncharge_locked(xa_load(&locked_users, __kuid_val(uids[i])), pages);
	xa_unlock(&locked_users);
}

static int users_charge(const kuid_t *uids, unsigned int n, unsigned long pages,
			unsigned long limit)
{
	unsigned int i;
	int ret;

	for (i = 0; i < n; i++) {
		ret = user_charge(uids[i], pages, limit);
		if (ret) {
			users_uncharge(uids, i, pages);
			return ret;
		}
	}
	return 0;
}

/* Charges the users of the current process, up to @limit pages each; see dat_locked_charge(). */
static int locked_charge(struct dat_locked *l, u64 bytes, unsigned long limit)
{
	unsigned long pages = DIV_ROUND_UP_ULL(bytes, PAGE_SIZE);
	kuid_t uids[DAT_MAX_PAYERS];
	unsigned int n;
	int ret;

	/* Each connect and accept checks this, so a security module must not log each refusal. */
	if (has_capability_noaudit(current, CAP_IPC_LOCK))
		return 0;
	n = dat_payers(current_real_cred(), uids);
	ret = users_charge(uids, n, pages, limit);
	if (ret)
		return ret;
	l->cred = get_cred(current_real_cred());
	l->pages = pages;
	return 0;
}

/*
 * Charges queues to the users that dat_payers() finds for the current process, unless the process
 * has CAP_IPC_LOCK.  Uses the objective credentials, because RSM connects an import with
 * credentials of the kernel.  May sleep.  Fails with -ENOMEM, also if the queues of a user would
 * exceed both RLIMIT_MEMLOCK and the parameter queue_memory.
 */
int dat_locked_charge(struct dat_locked *l, u64 bytes)
{
	return locked_charge(l, bytes, locked_limit());
}

/*
 * Like dat_locked_charge(), for queues that are longer than they must be.  Leaves half of the limit
 * to the queues that users need.
 */
int dat_locked_charge_optional(struct dat_locked *l, u64 bytes)
{
	return locked_charge(l, bytes, locked_limit() / 2);
}

/*
 * Undoes a charge.  @l may have no charge, and has no charge on return.  Context:
 * process, because the lock of locked_users does not disable softirqs.
 */
void dat_locked_uncharge(struct dat_locked *l)
{
	kuid_t uids[DAT_MAX_PAYERS];

	if (!l->cred)
		return;
	users_uncharge(uids, dat_payers(l->cred, uids), l->pages);
	put_cred(l->cred);
	l->cred = NULL;
}
