// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* Open files of /dev/dat, and their doorbell regions. */
#include <linux/bitops.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "core/dat.h"
#include "core/ep/ep.h"
#include "core/ep/queue.h"
#include "core/ep/srq.h"
#include "core/mem/watch.h"
#include "core/trace.h"
#include "user/file.h"

#define BELL_RQ		1UL	/* tag of an EP's receive queue in file->bells */

/*
 * Largest number of files whose objects are destroyed at the same time because an address space has
 * ended.  A process may have thousands of files.  The limit keeps the teardowns from taking all
 * processors at once.  The limit does not delay the close of a file.  Linux before 6.9 applies the
 * limit to each NUMA node or to each CPU.
 */
#define FILE_ENDS	4

/* Interval in jiffies at which file_end_work() checks whether a connection is left. */
#define FILE_END_DELAY	(HZ / 20)

/*
 * The first step of an end keeps peers from writing to memory of the process, so it waits for
 * nothing, and not for the places of the steps that may take long.
 */
static struct workqueue_struct *file_begin_wq, *file_end_wq;

/*
 * Destroys the objects of a file.  A peer can delay the end of a connection.  So the work item does
 * not wait for connections, but is queued again with a delay, and other files are served meanwhile.
 */
static void file_end_work(struct work_struct *work)
{
	struct dat_file *file = container_of(to_delayed_work(work), struct dat_file, end_work);

	if (dat_ia_begin_close(file->ia))
		queue_delayed_work(file_end_wq, &file->end_work, FILE_END_DELAY);
	else
		dat_file_close_ia(file);
}

/* Begins the destruction of the objects of a file whose address space has ended. */
static void file_begin_work(struct work_struct *work)
{
	struct dat_file *file = container_of(work, struct dat_file, begin_work);

	dat_ia_begin_end(file->ia);
	queue_delayed_work(file_end_wq, &file->end_work, 0);
}

/*
 * Queues the destruction of the file's objects when the address space of the process ends.  Another
 * process may still hold the file open, but cannot use the file.  If the objects stayed, a peer
 * could go on writing to memory that no process has mapped.
 */
static void file_mm_released(struct mmu_notifier *mn, struct mm_struct *mm)
{
	struct dat_file *file = container_of(mn, struct dat_file, mn);

	queue_work(file_begin_wq, &file->begin_work);
}

static int file_mm_changes(struct mmu_notifier *mn, const struct mmu_notifier_range *range)
{
	dat_watches_begin_change(container_of(mn, struct dat_file, mn)->watches, range);
	return 0;
}

static void file_mm_changed(struct mmu_notifier *mn, const struct mmu_notifier_range *range)
{
	dat_watches_end_change(container_of(mn, struct dat_file, mn)->watches);
}

static const struct mmu_notifier_ops file_mn_ops = {
	.release		= file_mm_released,
	.invalidate_range_start	= file_mm_changes,
	.invalidate_range_end	= file_mm_changed,
};

static void file_open(struct dat_devfile *devfile)
{
	struct dat_file *file = to_dat_file(devfile);

	mutex_init(&file->lock);
	mutex_init(&file->kicking);
	xa_init_flags(&file->bells, XA_FLAGS_ALLOC);
	INIT_WORK(&file->begin_work, file_begin_work);
	INIT_DELAYED_WORK(&file->end_work, file_end_work);
	file->mn.ops = &file_mn_ops;
}

/* Destroys every object of the file's IA.  May be called more than once.  May sleep. */
void dat_file_close_ia(struct dat_file *file)
{
	dat_ia_wake(file->ia);
	/* dat_ia_shutdown() waits for calls that hold ia->sem, so no call adds bells afterwards. */
	dat_ia_shutdown(file->ia);
	/*
	 * Wake a parked poller, which then ends because the IA is dead.  Each kick locks the IA
	 * with dat_ia_lock_live(), so no kick reads file->bells any more.
	 */
	dat_poller_wake(&file->base.poller);
	xa_destroy(&file->bells);
	dat_ia_close(file->ia);
}

static void file_release(struct dat_devfile *devfile)
{
	struct dat_file *file = to_dat_file(devfile);

	if (!file->ia)
		return;
	/* mmu_notifier_unregister() queues file->begin_work if the address space has not ended. */
	mmu_notifier_unregister(&file->mn, devfile->mm);
	cancel_work_sync(&file->begin_work);
	cancel_delayed_work_sync(&file->end_work);
	dat_file_close_ia(file);
	dat_ia_put(file->ia);
	dat_region_free(&file->doorbell);
}

/**
 * dat_file_bind() - set the IA and the doorbell region of a file
 * @file: open file
 * @ia: open IA; on success, the file takes over the caller's reference
 * @doorbell: doorbell region; on success, the file takes the region over and *@doorbell is empty
 *
 * After a success, the objects of the IA are destroyed when the process's address space ends.
 *
 * Context: may sleep; takes mmap_lock.  Return: 0; -EBUSY if the file has an IA already; -ENOMEM if
 * memory is short; -ERESTARTNOINTR if a signal is pending.
 */
int dat_file_bind(struct dat_file *file, struct dat_ia *ia, struct dat_region *doorbell)
{
	int ret = -EBUSY;

	mutex_lock(&file->lock);
	if (file->ia)
		goto out;
	file->watches = &ia->watches;
	ret = mmu_notifier_register(&file->mn, file->base.mm);
	/* -EINTR means a pending signal.  The signal may have no handler, so restart the call. */
	if (ret == -EINTR)
		ret = -ERESTARTNOINTR;
	if (ret)
		goto out;
	swap(file->doorbell, *doorbell);
	smp_store_release(&file->ia, ia);	/* pairs with dat_file_ia() */
out:
	mutex_unlock(&file->lock);
	return ret;
}

static int file_add_bell(struct dat_file *file, struct dat_queue *q, unsigned long tag)
{
	struct xa_limit bits = XA_LIMIT(0, dat_doorbell_bits(&file->doorbell) - 1);
	unsigned int word;
	u32 bell;
	int ret;

	lockdep_assert_held(&file->lock);
	ret = xa_alloc(&file->bells, &bell, xa_tag_pointer(q->obj, tag), bits,
		       GFP_KERNEL_ACCOUNT);
	if (ret)
		return ret == -EBUSY ? -ENOSPC : ret;
	q->bell = bell;
	word = bell / 32 + 1;
	if (word > file->words)
		WRITE_ONCE(file->words, word);
	return 0;
}

static int file_add_ep_bells(struct dat_file *file, struct dat_ep *ep)
{
	int ret = file_add_bell(file, &ep->sq, 0);

	if (ret)
		return ret;
	ret = file_add_bell(file, &ep->rq, BELL_RQ);
	if (ret) {
		xa_erase(&file->bells, ep->sq.bell);
		ep->sq.bell = DAT_NO_BELL;
	}
	return ret;
}

/*
 * Allocates bits of the doorbell region for the queues of a published EP or SRQ.  May sleep.  Fails
 * with -ENOENT if another thread is freeing the object, with -ENOSPC if no bit is free, or with
 * -ENOMEM.
 */
int dat_file_add_bells(struct dat_file *file, struct dat_obj *obj)
{
	int ret;

	mutex_lock(&file->lock);
	if (dat_obj_dying(obj))
		ret = -ENOENT;
	else if (obj->type == DAT_OBJ_SRQ)
		ret = file_add_bell(file, &to_dat_srq(obj)->q, 0);
	else
		ret = file_add_ep_bells(file, to_dat_ep(obj));
	mutex_unlock(&file->lock);
	return ret;
}

static void file_del_bell(struct dat_file *file, struct dat_queue *q)
{
	lockdep_assert_held(&file->lock);

	if (q->bell != DAT_NO_BELL)
		xa_erase(&file->bells, q->bell);
	/* WRITE_ONCE(), because the call that creates the object may still read q->bell. */
	WRITE_ONCE(q->bell, DAT_NO_BELL);
}

/*
 * Releases the doorbell bits of an object that was freed.  dat_file_add_bells() rejects such an
 * object, so it gets no bits later.  Does nothing for an object without queues.  The caller must
 * hold a reference to @obj, because file->bells holds no reference.
 */
void dat_file_del_bells(struct dat_file *file, struct dat_obj *obj)
{
	mutex_lock(&file->lock);
	if (obj->type == DAT_OBJ_SRQ) {
		file_del_bell(file, &to_dat_srq(obj)->q);
	} else if (obj->type == DAT_OBJ_EP) {
		file_del_bell(file, &to_dat_ep(obj)->sq);
		file_del_bell(file, &to_dat_ep(obj)->rq);
	}
	mutex_unlock(&file->lock);
}

/*
 * Processes a queue.  @report: also find out which requests have completed.  With @report, fails
 * with -EOPNOTSUPP, and does nothing, if the queue is no send queue.
 */
static int file_kick_one(struct dat_file *file, u32 bell, bool report)
{
	struct dat_obj *obj;
	void *entry;
	int ret = 0;

	rcu_read_lock();
	entry = xa_load(&file->bells, bell);
	obj = entry ? xa_untag_pointer(entry) : NULL;
	if (obj && !kref_get_unless_zero(&obj->ref))
		obj = NULL;
	rcu_read_unlock();
	if (!obj)
		return 0;

	if (report && (obj->type == DAT_OBJ_SRQ || xa_pointer_tag(entry) == BELL_RQ)) {
		ret = -EOPNOTSUPP;
		goto out_put;
	}
	trace_dat_kick(obj, bell);
	if (obj->type == DAT_OBJ_SRQ)
		dat_srq_kick(to_dat_srq(obj));
	else if (xa_pointer_tag(entry) == BELL_RQ)
		dat_queue_kick(to_dat_ep(obj), &to_dat_ep(obj)->rq);
	else
		dat_queue_kick(to_dat_ep(obj), &to_dat_ep(obj)->sq);
	if (report)
		dat_queue_report(to_dat_ep(obj));
out_put:
	dat_obj_put(obj);
	return ret;
}

static void file_kick_rung(struct dat_file *file)
{
	unsigned int words = READ_ONCE(file->words);
	unsigned int i;
	u32 bits;

	for (i = 0; i < words; i++) {
		for (bits = dat_doorbell_take(&file->doorbell, i); bits; bits &= bits - 1) {
			file_kick_one(file, i * 32 + __ffs(bits), false);
			/* A kick may have processed a full ring, which takes long. */
			cond_resched_tasks_rcu_qs();
		}
	}
}

/*
 * Processes every queue whose doorbell bit is set.  Clears and ignores a bit that belongs to no
 * queue.  Over iWARP a receive must be at the device when the post returns, so this function also
 * waits for a thread that has taken the bit.  May sleep.
 */
void dat_file_kick(struct dat_file *file)
{
	if (!file->ia->iwarp) {
		file_kick_rung(file);
		return;
	}
	mutex_lock(&file->kicking);
	file_kick_rung(file);
	mutex_unlock(&file->kicking);
}

/*
 * Performs DAT_IOC_KICK.  @arg: number of a queue plus 1, and DAT_KICK_REPORT; or 0: every queue
 * whose doorbell bit is set.  A number that no queue has is ignored, as a doorbell bit of no queue
 * is.  May sleep.
 */
int dat_file_ioctl_kick(struct dat_devfile *devfile, unsigned long arg)
{
	struct dat_file *file = to_dat_file(devfile);
	unsigned long bell = arg & (DAT_KICK_REPORT - 1);
	struct dat_ia *ia = dat_file_ia(file);
	int ret;

	if (arg > (bell | DAT_KICK_REPORT) || (arg && !bell))
		return -EOPNOTSUPP;
	if (!ia)
		return -EINVAL;
	/* A kick may report events.  The lock keeps a close from freeing the EVDs. */
	ret = dat_ia_lock_live(ia);
	if (ret)
		return ret;
	dat_poller_unpark(&devfile->poller);
	if (bell)
		ret = file_kick_one(file, bell - 1, arg & DAT_KICK_REPORT);
	else
		dat_file_kick(file);
	dat_ia_unlock(ia);
	return ret;
}

/* Processes every queue, whether or not the doorbell bit of the queue is set.  May sleep. */
void dat_file_kick_all(struct dat_file *file)
{
	unsigned long bell;
	void *entry;

	xa_for_each(&file->bells, bell, entry) {
		file_kick_one(file, bell, false);
		cond_resched_tasks_rcu_qs();
	}
}

/* Returns true if a doorbell bit is set that no kick has taken yet.  Context: any. */
bool dat_file_rung(const struct dat_file *file)
{
	unsigned int words = READ_ONCE(file->words);
	unsigned int i;

	for (i = 0; i < words; i++)
		if (dat_doorbell_rung(&file->doorbell, i))
			return true;
	return false;
}

static void *file_bound(struct dat_devfile *devfile)
{
	return dat_file_ia(to_dat_file(devfile));
}

static const struct dat_chardev_ops file_dev_ops = {
	.magic		= DAT_IOC_MAGIC,
	.ioctls		= dat_user_ioctls,
	.nr_ioctls	= DAT_NR_LAST,
	.features	= DAT_FEATURES_ALL,
	.file_size	= sizeof(struct dat_file),
	.poller		= &dat_file_poller_ops,
	.open		= file_open,
	.release	= file_release,
	.bound		= file_bound,
	.run		= dat_user_run,
	.mmap		= dat_mmap,
	.show		= dat_show_fdinfo,
};

DAT_DEFINE_CHARDEV_FOPS(file_fops);

static struct dat_chardev file_dev = DAT_CHARDEV_INIT("dat", &file_dev_ops, &file_fops);

/* dat_devfile_open() allocates a struct dat_file and uses its address as a struct dat_devfile. */
static_assert(offsetof(struct dat_file, base) == 0);

int dat_file_init(void)
{
	int ret;

	file_begin_wq = alloc_workqueue("dat-end-begin", WQ_UNBOUND | WQ_MEM_RECLAIM, FILE_ENDS);
	if (!file_begin_wq)
		return -ENOMEM;
	ret = -ENOMEM;
	file_end_wq = alloc_workqueue("dat-end", WQ_UNBOUND | WQ_MEM_RECLAIM, FILE_ENDS);
	if (!file_end_wq)
		goto err_destroy_begin;
	ret = misc_register(&file_dev.misc);
	if (ret)
		goto err_destroy_end;
	return 0;

err_destroy_end:
	destroy_workqueue(file_end_wq);
err_destroy_begin:
	destroy_workqueue(file_begin_wq);
	return ret;
}

void dat_file_exit(void)
{
	misc_deregister(&file_dev.misc);
	destroy_workqueue(file_begin_wq);
	destroy_workqueue(file_end_wq);
}
