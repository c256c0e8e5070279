// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* RSM contexts, per-user quotas, and the creation, lookup and end of objects. */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/module.h>
#include <linux/sched/mm.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <net/net_namespace.h>

#include "lib/device.h"
#include "rsm/trace.h"

#define ID_LIMIT	XA_LIMIT(1, RSM_SLOTS)

DEFINE_SRCU(rsm_transfers);

unsigned int rsm_max_segments = 4095;
module_param_named(max_segments, rsm_max_segments, uint, 0644);
MODULE_PARM_DESC(max_segments, "Exports and imports of a node (4095)");

static unsigned int rsm_max_user = 25;
module_param_named(max_user, rsm_max_user, uint, 0644);
MODULE_PARM_DESC(max_user,
		 "Percent of a node's places and connections for one user; 0: no limit (25)");

unsigned int rsm_max_exported;
module_param_named(max_exported, rsm_max_exported, uint, 0644);
MODULE_PARM_DESC(max_exported, "Percent of memory that segments may take; 0: no limit (0)");

static struct dat_rsm_slot *obj_slot(const struct rsm_obj *obj)
{
	return (struct dat_rsm_slot *)obj->ctx->slots.va + obj->id - 1;
}

/* Increments the generation of the object's slot, so that readers of the slot see a change. */
static void obj_new_generation(struct rsm_obj *obj)
{
	obj->generation++;
	WRITE_ONCE(obj->slot->generation, obj->generation);
}

static struct rsm_user *user_get(struct rsm_node *node, kuid_t uid)
{
	struct rsm_user *user, *new = kzalloc(sizeof(*new), GFP_KERNEL_ACCOUNT);

	if (!new)
		return NULL;
	new->uid = uid;
	xa_lock(&node->users);
	user = __xa_cmpxchg(&node->users, __kuid_val(uid), NULL, new, GFP_KERNEL_ACCOUNT);
	if (!user)
		swap(user, new);
	if (xa_is_err(user))
		user = NULL;
	else
		user->refs++;
	xa_unlock(&node->users);
	kfree(new);
	return user;
}

static void user_put(struct rsm_node *node, struct rsm_user *user)
{
	bool last;

	xa_lock(&node->users);
	last = !--user->refs;
	if (last)
		__xa_erase(&node->users, __kuid_val(user->uid));
	xa_unlock(&node->users);
	if (last)
		kfree(user);
}

static void ctx_put_users(struct rsm_ctx *ctx)
{
	while (ctx->nr_users)
		user_put(ctx->node, ctx->users[--ctx->nr_users]);
}

/*
 * Gets references to the users that are charged for the objects of a context; see dat_payers().
 * Returns false if memory is short.
 */
static bool ctx_get_users(struct rsm_ctx *ctx)
{
	kuid_t uids[DAT_MAX_PAYERS];
	unsigned int n = dat_payers(current_cred(), uids), i;
	struct rsm_user *user;

	for (i = 0; i < n; i++) {
		user = user_get(ctx->node, uids[i]);
		if (!user) {
			ctx_put_users(ctx);
			return false;
		}
		ctx->users[ctx->nr_users++] = user;
	}
	return true;
}

static unsigned int user_share(unsigned int total)
{
	unsigned int percent = READ_ONCE(rsm_max_user);

	return !percent || percent >= 100 ? total : max_t(u64, (u64)total * percent / 100, 1);
}

bool rsm_users_have_room(const struct rsm_obj *obj, bool served, unsigned int total)
{
	unsigned int share = user_share(total), i;
	const struct rsm_ctx *ctx = obj->ctx;

	for (i = 0; i < ctx->nr_users && !obj->unlimited; i++)
		if (atomic_read(served ? &ctx->users[i]->served : &ctx->users[i]->objs) >= share)
			return false;
	return true;
}

void rsm_users_count(const struct rsm_obj *obj, bool served, int by)
{
	const struct rsm_ctx *ctx = obj->ctx;
	unsigned int i;

	for (i = 0; i < ctx->nr_users && !obj->unlimited; i++)
		atomic_add(by, served ? &ctx->users[i]->served : &ctx->users[i]->objs);
}

/*
 * Charges an object to the limits of the node and of the context's users.  Returns false if a limit
 * is reached.  The node id cannot change while an object is charged.
 */
static bool obj_count(const struct rsm_obj *obj)
{
	unsigned int limit = READ_ONCE(rsm_max_segments);
	struct rsm_node *node = obj->ctx->node;
	bool ok;

	mutex_lock(&node->lock);
	ok = atomic_read(&node->objs) < limit && rsm_users_have_room(obj, false, limit);
	if (ok) {
		atomic_inc(&node->objs);
		rsm_users_count(obj, false, 1);
	}
	mutex_unlock(&node->lock);
	return ok;
}

static void obj_uncount(const struct rsm_obj *obj)
{
	rsm_users_count(obj, false, -1);
	atomic_dec(&obj->ctx->node->objs);
}

/*
 * Initializes a zeroed object and reserves an id.  After success, the caller must call
 * rsm_obj_publish() or rsm_obj_abort().  Fails with -ENOSPC if a limit on objects is reached, with
 * -ENOMEM if memory is short.  Context: may sleep.
 */
int rsm_obj_setup(struct rsm_ctx *ctx, struct rsm_obj *obj, const struct rsm_obj_ops *ops)
{
	int ret;

	obj->ctx = ctx;
	obj->unlimited = has_capability_noaudit(current, CAP_SYS_RESOURCE);
	if (ops->charged && !obj_count(obj))
		return -ENOSPC;
	ret = xa_alloc_cyclic(&ctx->objs, &obj->id, XA_ZERO_ENTRY, ID_LIMIT, &ctx->next_id,
			      GFP_KERNEL_ACCOUNT);
	if (ret < 0)
		goto err_uncount;
	obj->ops = ops;
	kref_init(&obj->ref);
	obj->number = dat_file_number();
	spin_lock_init(&obj->lock);
	init_waitqueue_head(&obj->wq);
	obj->slot = obj_slot(obj);
	/* The generation in the slot can be trusted, because the process maps slots read-only. */
	obj->generation = obj->slot->generation;
	obj_new_generation(obj);
	WRITE_ONCE(obj->slot->pending, 0);
	return 0;

err_uncount:
	if (ops->charged)
		obj_uncount(obj);
	return ret == -EBUSY ? -ENOSPC : -ENOMEM;
}

/*
 * Makes the object visible to lookups; another thread may then end the object.  Stores a reference
 * to the object in ucmd->made.
 */
int rsm_obj_publish(struct dat_ucmd *ucmd, struct rsm_obj *obj)
{
	kref_get(&obj->ref);
	ucmd->made = obj;
	/* xa_store() allocates nothing, because rsm_obj_setup() has reserved the entry. */
	xa_store(&obj->ctx->objs, obj->id, obj, GFP_KERNEL_ACCOUNT);
	return 0;
}

static void obj_forget(struct rsm_obj *obj)
{
	struct rsm_ctx *ctx = obj->ctx;

	if (obj->ops->charged)
		obj_uncount(obj);
	/* After xa_erase(), a new object may own the id and the slot: @obj must not use them. */
	xa_erase(&ctx->objs, obj->id);
}

/* Undoes rsm_obj_setup().  The caller then frees the object. */
void rsm_obj_abort(struct rsm_obj *obj)
{
	obj_forget(obj);
}

static struct rsm_obj *obj_find(struct rsm_ctx *ctx, u32 id)
{
	struct rsm_obj *obj;

	rcu_read_lock();
	obj = id ? xa_load(&ctx->objs, id) : NULL;
	if (obj && !kref_get_unless_zero(&obj->ref))
		obj = NULL;
	rcu_read_unlock();
	return obj;
}

/* Returns the object with type @type and id @id, with a reference, or NULL.  @id is unchecked. */
struct rsm_obj *rsm_obj_get(struct rsm_ctx *ctx, enum dat_rsm_type type, u32 id)
{
	struct rsm_obj *obj = obj_find(ctx, id);

	if (obj && obj->ops->type != type) {
		rsm_obj_put(obj);
		obj = NULL;
	}
	return obj;
}

/* Returns the export or import with id @id, with a reference, or NULL.  @id is unchecked. */
struct rsm_obj *rsm_obj_get_events(struct rsm_ctx *ctx, u32 id)
{
	struct rsm_obj *obj = obj_find(ctx, id);

	if (obj && obj->ops->type == DAT_RSM_TYPE_LOCALMEM) {
		rsm_obj_put(obj);
		obj = NULL;
	}
	return obj;
}

static void obj_release(struct kref *ref)
{
	struct rsm_obj *obj = container_of(ref, struct rsm_obj, ref);

	if (obj->ops->release)
		obj->ops->release(obj);
	/* kfree_rcu() frees the whole object, because @obj is the first member of each type. */
	kfree_rcu(obj, rcu);
}

/*
 * Drops a reference.  The last put runs ops->release, which takes no lock of RSM, so the caller may
 * hold node->lock.  Context: may sleep.
 */
void rsm_obj_put(struct rsm_obj *obj)
{
	kref_put(&obj->ref, obj_release);
}

/*
 * Marks an import as cut, but does not drop the import.  Wakes the threads that wait for events or
 * for ring entries of the import.  Transfers that begin later see obj->cut and fail.  A caller that
 * then unpins pages must first wait for transfers in progress.  Context: any process context.
 */
void rsm_obj_cut(struct rsm_obj *obj)
{
	spin_lock(&obj->lock);
	if (!obj->cut)
		trace_rsm_cut(obj);
	if (!obj->cut && obj->slot)
		obj_new_generation(obj);
	/* A reader that sees obj->cut also sees the new generation. */
	smp_store_release(&obj->cut, true);
	spin_unlock(&obj->lock);
	wake_up_all(&obj->wq);
}

static void obj_stop_events(struct rsm_obj *obj)
{
	spin_lock(&obj->lock);
	WRITE_ONCE(obj->stopped, true);
	obj->slot = NULL;
	spin_unlock(&obj->lock);
	wake_up_all(&obj->wq);
}

/* Stops an object; see the top of rsm.h.  Returns true if the caller must wait for transfers. */
static bool obj_stop(struct rsm_obj *obj)
{
	bool busy = obj->ops->stop ? obj->ops->stop(obj) : true;

	trace_rsm_end(obj);
	obj_stop_events(obj);
	obj_forget(obj);
	if (obj->ops->type != DAT_RSM_TYPE_IMPORT)
		return busy;
	/*
	 * Pairs with the barrier of rsm_io(), between taking a reference and reading obj->cut.  So
	 * the reference count includes every transfer that has not seen obj->cut.
	 */
	smp_mb();
	return busy && kref_read(&obj->ref) > 1;
}

/*
 * Drops a stopped object, and puts the context's reference.  The caller has waited for transfers if
 * obj_stop() has returned true.  May sleep.
 */
static void obj_drop(struct rsm_obj *obj)
{
	if (obj->ops->wait)
		obj->ops->wait(obj);
	obj->ops->drop(obj);
	rsm_obj_put(obj);
}

static void obj_end(struct rsm_obj *obj)
{
	if (obj_stop(obj))
		rsm_transfers_wait();
	obj_drop(obj);
}

/*
 * Frees an object.  @id: unchecked.  Returns -EBADF if the context has no object of this type and
 * id, or if another thread frees the object.  Context: may sleep.
 */
int rsm_obj_end(struct rsm_ctx *ctx, enum dat_rsm_type type, u32 id)
{
	struct rsm_obj *obj;

	xa_lock(&ctx->objs);
	obj = id ? xa_load(&ctx->objs, id) : NULL;
	if (obj && obj->ops->type == type)
		/*
		 * Keep the entry reserved until the object is stopped, so that no new object gets
		 * the id and the slot.
		 */
		__xa_cmpxchg(&ctx->objs, id, obj, XA_ZERO_ENTRY, GFP_ATOMIC);
	else
		obj = NULL;
	xa_unlock(&ctx->objs);
	if (!obj)
		return -EBADF;
	obj_end(obj);
	return 0;
}

/* Ends @obj, unless another thread already does.  The caller keeps the reference.  May sleep. */
void rsm_obj_undo(struct rsm_obj *obj)
{
	if (xa_cmpxchg(&obj->ctx->objs, obj->id, obj, XA_ZERO_ENTRY, GFP_KERNEL) == obj)
		obj_end(obj);
}

/*
 * Stops an object and appends the object to ctx->ending, for ctx_end_work() to drop.  Returns the
 * result of obj_stop().
 */
static bool ctx_stop_obj(struct rsm_obj *obj, struct callback_head ***tail)
{
	bool busy = obj_stop(obj);

	/* Use obj->rcu as list entry, because only kfree_rcu(), after the last put, needs it. */
	obj->rcu.next = NULL;
	**tail = &obj->rcu;
	*tail = &obj->rcu.next;
	return busy;
}

/*
 * Stops all objects of a context when the address space or the file of the context ends.  No thread
 * is inside a call of the context, but importers of other contexts and of other nodes may still
 * access the segments.
 *
 * The address space and the file may end at the same time, because another process may close the
 * file last.  Only the first call of this function then stops the objects, and
 * mmu_notifier_unregister() waits until both calls have returned.
 *
 * The caller is in an SRCU read-side section that all MMU notifiers of the kernel share.  So this
 * function only stops the objects, and leaves everything that waits to the work item end_work.
 */
static void ctx_stop(struct rsm_ctx *ctx)
{
	struct callback_head **tail = &ctx->ending;
	struct rsm_obj *obj;
	unsigned long id;

	if (test_and_set_bit(0, &ctx->ended))
		return;
	ctx->drain_deadline = jiffies + HZ;
	/* Stop imports first, so that a stopped export has no imports of the same context. */
	xa_for_each(&ctx->objs, id, obj)
		if (obj->ops->type == DAT_RSM_TYPE_IMPORT)
			ctx_stop_obj(obj, &tail);
	xa_for_each(&ctx->objs, id, obj)
		ctx->busy |= ctx_stop_obj(obj, &tail);
	queue_work(rsm_end_wq, &ctx->end_work);
}

static void ctx_end_work(struct work_struct *work)
{
	struct rsm_ctx *ctx = container_of(work, struct rsm_ctx, end_work);
	struct callback_head *head, *next;
	struct rsm_obj *obj;

	if (ctx->busy)
		rsm_transfers_wait();
	for (head = ctx->ending; head; head = next) {
		next = head->next;
		obj = container_of(head, struct rsm_obj, rcu);
		obj_drop(obj);
	}
}

static void ctx_mm_released(struct mmu_notifier *mn, struct mm_struct *mm)
{
	ctx_stop(container_of(mn, struct rsm_ctx, mn));
}

/*
 * Increments the generation of slot RSM_MEM_SLOT, so that librsm checks again which memory of the
 * process is mapped.  Context: any.
 */
static void ctx_mem_changes(struct mmu_notifier *mn)
{
	struct rsm_ctx *ctx = container_of(mn, struct rsm_ctx, mn);
	struct dat_rsm_slot *slots = ctx->slots.va;

	atomic_inc((atomic_t *)&slots[RSM_MEM_SLOT].generation);
}

static int ctx_mem_changing(struct mmu_notifier *mn, const struct mmu_notifier_range *range)
{
	ctx_mem_changes(mn);
	return 0;
}

/*
 * Increments the generation again at the end of an invalidation, because entry_mapped() may have
 * found the old mapping after the start of the invalidation.
 */
static void ctx_mem_changed(struct mmu_notifier *mn, const struct mmu_notifier_range *range)
{
	ctx_mem_changes(mn);
}

static const struct mmu_notifier_ops ctx_mn_ops = {
	.release		= ctx_mm_released,
	.invalidate_range_start	= ctx_mem_changing,
	.invalidate_range_end	= ctx_mem_changed,
};

/*
 * Creates the context of a file.  Returns -ENOMEM, or -ERESTARTNOINTR if any signal is pending,
 * even a signal without a handler.  Context: may sleep; takes mmap_lock.
 */
int rsm_ctx_open(struct rsm_file *file, struct rsm_ctx **out)
{
	struct rsm_ctx *ctx;
	int ret;

	ctx = kzalloc(sizeof(*ctx), GFP_KERNEL_ACCOUNT);
	if (!ctx)
		return -ENOMEM;
	ctx->mm = file->base.mm;
	ctx->node = rsm_node_of(file->base.net);
	ctx->mapping = file->base.inode->i_mapping;
	INIT_WORK(&ctx->end_work, ctx_end_work);
	mutex_init(&ctx->windows_lock);
	ctx->windows = RB_ROOT_CACHED;
	mutex_init(&ctx->rings_lock);
	INIT_LIST_HEAD(&ctx->rings);
	xa_init_flags(&ctx->objs, XA_FLAGS_ALLOC);
	ret = -ENOMEM;
	if (!ctx_get_users(ctx))
		goto err_free;
	ret = dat_region_alloc(&ctx->slots, (RSM_MEM_SLOT + 1) * sizeof(struct dat_rsm_slot),
			       false);
	if (ret)
		goto err_put_users;
	ctx->mn.ops = &ctx_mn_ops;
	ret = mmu_notifier_register(&ctx->mn, ctx->mm);
	if (ret)
		goto err_free_slots;
	*out = ctx;
	return 0;

err_free_slots:
	dat_region_free(&ctx->slots);
err_put_users:
	ctx_put_users(ctx);
err_free:
	kfree(ctx);
	return ret == -EINTR ? -ERESTARTNOINTR : -ENOMEM;
}

/* Ends and frees the context of a file that is being released.  Context: may sleep. */
void rsm_ctx_close(struct rsm_ctx *ctx)
{
	/* mmu_notifier_unregister() calls ctx_stop() unless the address space has already ended. */
	mmu_notifier_unregister(&ctx->mn, ctx->mm);
	/*
	 * If end_work has not started, call ctx_end_work() here, because work items that were
	 * queued earlier could delay end_work for a long time.
	 */
	if (cancel_work_sync(&ctx->end_work))
		ctx_end_work(&ctx->end_work);
	ctx_put_users(ctx);
	xa_destroy(&ctx->objs);
	dat_region_free(&ctx->slots);
	kfree(ctx);
}

/* Writes a line for the node, and a line for each object of a context, to fdinfo. */
void rsm_ctx_show(struct seq_file *m, struct rsm_ctx *ctx)
{
	struct rsm_obj *obj;
	unsigned long id;

	seq_printf(m, "rsm:\tnode=%u\n", ctx->node->id);
	rcu_read_lock();
	xa_for_each(&ctx->objs, id, obj)
		obj->ops->show(m, obj);
	rcu_read_unlock();
}
