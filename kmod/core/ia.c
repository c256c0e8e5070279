// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* Interface adapters: open, async events, shutdown and close. */
#include <linux/cgroup_rdma.h>
#include <linux/inet.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/userfaultfd_k.h>
#include <linux/wait_bit.h>
#include <net/net_namespace.h>

#include "compat.h"
#include "core/addr.h"
#include "core/dat.h"
#include "core/event/evd.h"
#include "core/face.h"
#include "core/mem/lmr.h"
#include "core/stats.h"
#include "core/xport.h"

static int ia_charge(struct dat_ia *ia)
{
#ifdef CONFIG_CGROUP_RDMA
	return rdmacg_try_charge(&ia->cg, ia->dev->cg,
				 RDMACG_RESOURCE_HCA_HANDLE);
#else
	return 0;
#endif
}

static void ia_uncharge(struct dat_ia *ia)
{
#ifdef CONFIG_CGROUP_RDMA
	struct rdma_cgroup *cg = xchg(&ia->cg, NULL);

	if (cg)
		rdmacg_uncharge(cg, ia->dev->cg,
				RDMACG_RESOURCE_HCA_HANDLE);
#endif
}

/*
 * Splits ia->name, which may end in "@" and an IPv4 or IPv6 address.  Sets ia->addr to the address,
 * and @device to the name without the address.  Fails with -ENOENT if the text after "@" is not an
 * address that an interface can have.
 */
static int ia_parse_name(struct dat_ia *ia, char device[DAT_NAME_SIZE])
{
	char *at;

	strscpy(device, ia->name, DAT_NAME_SIZE);
	at = strchr(device, '@');
	if (!at)
		return 0;
	*at++ = '\0';
	if (inet_pton_with_scope(ia->net, AF_UNSPEC, at, NULL, &ia->addr) ||
	    !dat_addr_is_unicast(&ia->addr))
		return -ENOENT;
	return 0;
}

/*
 * Opens a port as an IA.  @name: name of the adapter, or that name, "@" and the only address that
 * the IA uses.  The adapter need not have the address yet.  @user_data: value of dat_eqe.owner in
 * events about the IA itself.  May sleep.  Returns the IA with a reference.  Fails with an error of
 * dat_dev_find(), with -ENOENT if the text after "@" is no unicast address or the device is being
 * removed, or with -ENOMEM, also if a limit of the rdma cgroup is reached.
 */
struct dat_ia *dat_ia_open(const char *name, struct net *net, const struct dat_face *face,
			   u64 user_data)
{
	char device[DAT_NAME_SIZE];
	struct dat_port port;
	struct dat_ia *ia;
	int ret;

	ia = kzalloc(sizeof(*ia), GFP_KERNEL_ACCOUNT);
	if (!ia)
		return ERR_PTR(-ENOMEM);
	ia->net = net;
	strscpy(ia->name, name, sizeof(ia->name));
	ret = ia_parse_name(ia, device);
	if (ret)
		goto err_free;
	ia->dev = dat_dev_find(device, net, &ia->port, &port);
	if (IS_ERR(ia->dev)) {
		ret = PTR_ERR(ia->dev);
		goto err_free;
	}
	ia->stats = ia->dev->stats[ia->port - 1];
	ia->msg_max = port.msg_max;
	ia->mtu = port.mtu;
	ia->iwarp = port.iwarp;
	kref_init(&ia->ref);
	init_rwsem(&ia->sem);
	mutex_init(&ia->resize_lock);
	dat_pool_init(&ia->submit_pool, DAT_MAP_SUBMIT);
	dat_pool_init(&ia->status_pool, DAT_MAP_STATUS);
	INIT_LIST_HEAD(&ia->node);
	xa_init_flags(&ia->objs, XA_FLAGS_ALLOC1);
	dat_lmr_init_ia(ia);
	dat_watches_init(&ia->watches);
	ia->face = face;
	ia->user_data = user_data;
	get_net(net);

	/*
	 * Attach the IA to the device, so that dat_dev_unregister() finds the IA.  If the device is
	 * removed before the attach, the attach fails; if the device is removed after the attach,
	 * ia->dead is set.
	 */
	ret = -ENOENT;
	if (!dat_dev_attach(ia->dev, ia))
		goto err_put;
	down_read(&ia->sem);
	if (!READ_ONCE(ia->dead))
		ret = ia_charge(ia);
	up_read(&ia->sem);
	if (ret)
		goto err_detach;
	return ia;

err_detach:
	dat_dev_detach(ia);
err_put:
	dat_ia_put(ia);
	return ERR_PTR(ret == -EAGAIN ? -ENOMEM : ret);

err_free:
	kfree(ia);
	return ERR_PTR(ret);
}

static void ia_release(struct kref *ref)
{
	struct dat_ia *ia = container_of(ref, struct dat_ia, ref);

	xa_destroy(&ia->objs);
	dat_watches_exit(&ia->watches);
	dat_pool_exit(&ia->submit_pool);
	dat_pool_exit(&ia->status_pool);
	dat_lmr_release_ia(ia);
	put_net(ia->net);
	dat_dev_put(ia->dev);
	kfree(ia);
}

/* Drops a reference.  The last put may sleep; the other puts may run in any context. */
void dat_ia_put(struct dat_ia *ia)
{
	kref_put(&ia->ref, ia_release);
}

/* Waits for a running shutdown, and keeps the IA from being shut down until dat_ia_unlock(). */
void dat_ia_lock(struct dat_ia *ia)
{
	down_read(&ia->sem);
}

/*
 * Keeps the IA from being shut down, and its device from being removed, until dat_ia_unlock().  May
 * sleep.  Fails with -ENODEV if the IA was closed or its device is removed.
 */
int dat_ia_lock_live(struct dat_ia *ia)
{
	down_read(&ia->sem);
	if (!READ_ONCE(ia->dead))
		return 0;
	up_read(&ia->sem);
	return -ENODEV;
}

void dat_ia_unlock(struct dat_ia *ia)
{
	up_read(&ia->sem);
}

/*
 * Waits until no call holds ia->sem.  The caller ensures that no new call finds the IA.  Sets
 * ia->closing, so that a call that sleeps with ia->sem held returns early.  Context: may sleep;
 * ia->sem not held.
 */
void dat_ia_drain(struct dat_ia *ia)
{
	WRITE_ONCE(ia->closing, true);
	down_write(&ia->sem);
	up_write(&ia->sem);
}

void dat_ia_set_watched(struct dat_ia *ia, bool watched)
{
	WRITE_ONCE(ia->watched, watched);
}

/* Bytes of anonymous memory that a registration may fault in by itself. */
#define PIN_AT_ONCE	SZ_64M

/*
 * Returns true if the faults of a range may take long: the range is long, or something other than
 * the kernel's memory management may serve a fault, such as a file system or userfaultfd.
 */
static bool faults_may_last(u64 start, u64 length)
{
	struct mm_struct *mm = current->mm;
	struct vm_area_struct *vma;
	bool ret = false;

	if (length > PIN_AT_ONCE || mmap_read_lock_killable(mm))
		return true;
	for (vma = find_vma(mm, start); vma && vma->vm_start < start + length && !ret;
	     vma = find_vma(mm, vma->vm_end))
		ret = !vma_is_anonymous(vma) || userfaultfd_armed(vma);
	mmap_read_unlock(mm);
	return ret;
}

/*
 * Faults in the pages of a registration, as the registration will do.  Ignores errors, because the
 * registration will find the same errors.  Does not fault in pages that exceed the limit of pinned
 * memory, because the registration will refuse them.
 */
static void fault_in(u64 start, u64 length, bool write)
{
	unsigned int gup = dat_umem_gup_flags(write);
	u64 left = (PAGE_ALIGN(start + length) - (start & PAGE_MASK)) >> PAGE_SHIFT;
	u64 limit = rlimit(RLIMIT_MEMLOCK) >> PAGE_SHIFT;
	unsigned long at = start & PAGE_MASK;
	struct page **pages;
	int n;

	if (!length || !faults_may_last(start, length))
		return;
	if (left + atomic64_read(&current->mm->pinned_vm) > limit && !capable(CAP_IPC_LOCK))
		return;
	pages = (struct page **)__get_free_page(GFP_KERNEL);
	if (!pages)
		return;
	while (left && !fatal_signal_pending(current)) {
		n = pin_user_pages_fast(at, min_t(u64, left, PAGE_SIZE / sizeof(*pages)), gup,
					pages);
		if (n <= 0)
			break;
		unpin_user_pages(pages, n);
		at += (unsigned long)n << PAGE_SHIFT;
		left -= n;
		cond_resched();
	}
	free_page((unsigned long)pages);
}

/**
 * dat_ia_pin_begin() - begin a registration of user memory: fault in its pages, keep the device
 * @ia: interface adapter; the caller has a reference and does not hold ia->sem
 * @start: address of the first byte in the current process
 * @length: bytes; 0: no memory
 * @priv: DAT_PRIV_* bits of the registration
 *
 * A process can make a page fault last arbitrarily long: a FUSE server or another thread of the
 * process (userfaultfd) may serve the fault.  So this function faults in the pages without a lock,
 * before ia->pinning counts the registration.  A close or a removal of the device does not wait for
 * these faults, and a fatal signal ends the faults.
 *
 * The registration then finds the pages present.  If the process has unmapped the pages meanwhile,
 * the registration itself takes the faults, and a shutdown waits for these faults.  So it does for
 * a moderate amount of anonymous memory, whose faults end soon.
 *
 * Context: sleeps.  Return: 0: the caller must call dat_ia_pin_end() after the registration;
 * -ENODEV if the IA is being closed or its device is being removed; or -EINTR after a fatal signal,
 * because the registration looks for no signal before it has pinned all pages that are present.
 */
int dat_ia_pin_begin(struct dat_ia *ia, u64 start, u64 length, u32 priv)
{
	fault_in(start, length, priv & (DAT_PRIV_LOCAL_WRITE | DAT_PRIV_REMOTE_WRITE));
	if (fatal_signal_pending(current))
		return -EINTR;
	atomic_inc(&ia->pinning);
	/*
	 * Pairs with the barrier in ia_stop(): either the shutdown sees the count, or this thread
	 * sees ia->closing.
	 */
	smp_mb__after_atomic();
	if (!READ_ONCE(ia->closing))
		return 0;
	dat_ia_pin_end(ia);
	return -ENODEV;
}

void dat_ia_pin_end(struct dat_ia *ia)
{
	if (atomic_dec_and_test(&ia->pinning))
		wake_up_var(&ia->pinning);
}

/*
 * Makes a published EVD the async EVD of a locked IA, unless the IA has one.  Another thread may
 * free @evd at the same time.  Both threads take evd->lock: either the free sees that @evd is the
 * async EVD and fails, or this function sees the free and does nothing.
 */
void dat_ia_set_async_evd(struct dat_ia *ia, struct dat_evd *evd)
{
	lockdep_assert_held(&ia->sem);

	spin_lock_bh(&evd->lock);
	if (!dat_obj_dying(&evd->obj) && !cmpxchg(&ia->async_evd, NULL, evd))
		kref_get(&evd->obj.ref);
	spin_unlock_bh(&evd->lock);
}

/*
 * Queues an event to the async EVD, if any.  @kind and @owner: type and user_data of the object
 * that the event concerns; @reason: code that DAT defines for @type, or 0.  Context: any but hard
 * interrupt; no evd->lock held.
 */
void dat_ia_async(struct dat_ia *ia, u32 type, enum dat_obj_type kind, u64 owner,
		  u16 reason)
{
	struct dat_evd *evd = READ_ONCE(ia->async_evd);
	struct dat_eqe eqe = {
		.type = type, .status = reason, .owner = owner, .cookie = kind,
	};

	if (evd)
		dat_evd_deliver(evd, &eqe, true);
}

/*
 * Queues an event about the IA itself to its async EVD, which ia->sem keeps from being freed.
 * Drops the event if another thread holds ia->sem for writing: that thread closes the IA, and the
 * callers, which serve other processes too, must not wait.  Context: process.
 */
void dat_ia_report(struct dat_ia *ia, u32 type, u16 reason)
{
	if (!down_read_trylock(&ia->sem))
		return;
	dat_ia_async(ia, type, DAT_OBJ_IA, ia->user_data, reason);
	up_read(&ia->sem);
}

/*
 * Finds the object with the lowest id that is at least *@id, and sets *@id to the id of that
 * object.  Returns the object with a reference, or NULL.  Does not sleep.
 */
struct dat_obj *dat_ia_next(struct dat_ia *ia, unsigned long *id)
{
	struct dat_obj *obj;

	rcu_read_lock();
	obj = xa_find(&ia->objs, id, ULONG_MAX, XA_PRESENT);
	while (obj && !kref_get_unless_zero(&obj->ref))
		obj = xa_find_after(&ia->objs, id, ULONG_MAX, XA_PRESENT);
	rcu_read_unlock();
	return obj;
}

/* Calls @fn for each object of a type, without a lock: objects may be freed meanwhile. */
static void ia_for_each(struct dat_ia *ia, enum dat_obj_type type,
			void (*fn)(struct dat_obj *obj))
{
	struct dat_obj *obj;
	unsigned long id;

	for (id = 0; (obj = dat_ia_next(ia, &id)); id++) {
		if (obj->type == type)
			fn(obj);
		dat_obj_put(obj);
	}
}

static void ia_begin_shutdown(struct dat_obj *obj)
{
	dat_obj_ops(obj)->begin_shutdown(obj);
}

/*
 * Begins the teardown of all connections, and waits for nothing.  The caller calls
 * dat_ia_shutdown() afterwards, which also ends connections that other threads make meanwhile.
 */
void dat_ia_abort_conns(struct dat_ia *ia)
{
	ia_for_each(ia, DAT_OBJ_EP, ia_begin_shutdown);
}

/*
 * Begins the end of an IA that no process can use any more: ends all connections, and allows no new
 * ones.  Waits for nothing.  The caller closes the IA afterwards.
 */
void dat_ia_begin_end(struct dat_ia *ia)
{
	/*
	 * dat_ep_claim() reads this under ep->lock: either it sees this, or its connection ends
	 * here.
	 */
	WRITE_ONCE(ia->closing, true);
	dat_ia_abort_conns(ia);
}

/*
 * Waits until no call holds ia->sem and no registration is in progress.  After that, no call can
 * use the device and no connection can begin.  Begins the teardown of all connections, and shuts
 * down all listeners and requests.  Returns with ia->sem held for writing.
 */
static void ia_stop(struct dat_ia *ia)
{
	WRITE_ONCE(ia->closing, true);
	/* Pairs with the barrier in dat_ia_pin_begin(). */
	smp_mb();
	wait_var_event(&ia->pinning, !atomic_read(&ia->pinning));
	down_write(&ia->sem);
	xa_lock(&ia->objs);
	WRITE_ONCE(ia->dead, true);
	xa_unlock(&ia->objs);

	dat_ia_abort_conns(ia);
	ia_for_each(ia, DAT_OBJ_PSP, dat_obj_shutdown);
	ia_for_each(ia, DAT_OBJ_CR, dat_obj_shutdown);
}

/*
 * Order in which the objects that ia_stop() has left are shut down.  The shutdown of an EP waits
 * for its connections.  Parents follow their children.  EVDs and CNOs hold no device resources.
 */
static const enum dat_obj_type ia_shutdown_order[] = {
	DAT_OBJ_EP, DAT_OBJ_SRQ, DAT_OBJ_RMR, DAT_OBJ_LMR, DAT_OBJ_PZ,
};

/*
 * Releases all device resources that an IA and its objects hold.  Idempotent: a close of the IA, an
 * exit of the process and a removal of the device each call this function.  Context: ia->sem not
 * held; may sleep until queue pairs are drained and registrations in progress have finished.
 */
void dat_ia_shutdown(struct dat_ia *ia)
{
	unsigned int i;

	ia_stop(ia);
	for (i = 0; i < ARRAY_SIZE(ia_shutdown_order); i++)
		ia_for_each(ia, ia_shutdown_order[i], dat_obj_shutdown);
	ia_uncharge(ia);
	up_write(&ia->sem);
}

/*
 * Wakes all waiters of an IA that is being closed.  After this, an EVD or CNO that existed before
 * the call accepts no new waiter.  A close calls this function before the shutdown, so that no
 * waiter returns with an event that the shutdown causes.  May sleep.
 */
void dat_ia_wake(struct dat_ia *ia)
{
	ia_for_each(ia, DAT_OBJ_EVD, dat_obj_shutdown);
	ia_for_each(ia, DAT_OBJ_CNO, dat_obj_shutdown);
}

/*
 * Does what a close can do without waiting for a peer: wakes all waiters, shuts down all listeners
 * and requests, and begins the teardown of all connections.  Does none of this if the IA is dead.
 * Returns true while a connection is left; the caller then calls this function again later.  After
 * a result of false, dat_ia_close() does not wait for a peer.  Context: ia->sem not held; may
 * sleep.
 */
bool dat_ia_begin_close(struct dat_ia *ia)
{
	if (!READ_ONCE(ia->dead)) {
		dat_ia_wake(ia);
		ia_stop(ia);
		up_write(&ia->sem);
	}
	return atomic_read(&ia->nconns);
}

/*
 * Wakes all waiters, shuts the IA down and drops all objects of the IA.  The caller keeps its
 * reference.  Idempotent.  Context: ia->sem not held; may sleep.
 */
void dat_ia_close(struct dat_ia *ia)
{
	struct dat_evd *async;
	struct dat_obj *obj;
	unsigned long id;

	dat_ia_wake(ia);
	dat_ia_shutdown(ia);
	/* Detach after the shutdown: dat_dev_unregister() waits only for attached IAs. */
	dat_dev_detach(ia);

	down_write(&ia->sem);
	/* EVDs and CNOs may have been published after the first dat_ia_wake(). */
	dat_ia_wake(ia);
	async = xchg(&ia->async_evd, NULL);
	xa_for_each(&ia->objs, id, obj) {
		dat_obj_unpublish(obj);
		dat_obj_put(obj);
	}
	up_write(&ia->sem);
	if (async)
		dat_obj_put(&async->obj);
}
