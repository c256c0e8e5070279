// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * Watched LMRs.  An LMR becomes stale when an address of its memory gets another page, or none: by
 * munmap(), mmap() over it, mremap(), madvise(), or a truncation of the file.  The LMR goes on to
 * give access to the pages that it has pinned.
 *
 * The user face reports each change of the address space before the first page table entry changes
 * and after the last one.  The memory of an LMR is watched before its pages are pinned.  So a
 * change that begins later finds the LMR, and a change that has ended before is seen by the
 * pinning.  An LMR that is created during a change, wherever in the address space, is stale from
 * the beginning.
 *
 * The process learns of it by a word that counts these events, and that it can read without a
 * system call.  The word is incremented before the call returns that changes the address space.
 */
#include <linux/interval_tree.h>
#include <linux/mmu_notifier.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "core/dat.h"
#include "core/mem/lmr.h"
#include "core/mem/watch.h"

/* Most LMRs that become stale without a release of the lock. */
#define WATCH_BATCH	64

/**
 * struct dat_watch - state of a watched LMR
 * @node: node in watches->fresh; the rb_node is empty once the LMR is stale
 * @entry: entry in watches->stale; empty if the LMR is not stale, or was returned
 * @id: id of the LMR
 */
struct dat_watch {
	struct interval_tree_node	node;
	struct list_head		entry;
	u32				id;
};

void dat_watches_init(struct dat_watches *w)
{
	spin_lock_init(&w->lock);
	w->fresh = RB_ROOT_CACHED;
	INIT_LIST_HEAD(&w->stale);
}

/* Frees the word.  No LMR is left, and no change is reported any more.  May sleep. */
void dat_watches_exit(struct dat_watches *w)
{
	dat_slice_free(&w->slice);
}

static void watch_make_stale(struct dat_watches *w, struct dat_watch *watch)
{
	lockdep_assert_held(&w->lock);
	interval_tree_remove(&watch->node, &w->fresh);
	RB_CLEAR_NODE(&watch->node.rb);
	list_add_tail(&watch->entry, &w->stale);
}

/* Increments the generation, after LMRs were added to w->stale. */
static void watches_count(struct dat_watches *w)
{
	lockdep_assert_held(&w->lock);
	w->generation++;
	if (w->word)
		WRITE_ONCE(*w->word, w->generation);
}

/* Makes LMRs with memory in a range stale.  Returns true if there may be more. */
static bool watches_make_stale(struct dat_watches *w, unsigned long first, unsigned long last)
{
	struct interval_tree_node *node;
	unsigned int n = 0;

	spin_lock(&w->lock);
	while (n < WATCH_BATCH && (node = interval_tree_iter_first(&w->fresh, first, last))) {
		watch_make_stale(w, container_of(node, struct dat_watch, node));
		n++;
	}
	if (n)
		watches_count(w);
	spin_unlock(&w->lock);
	return n == WATCH_BATCH;
}

/* Returns false if the addresses keep their pages: then only permissions or marks change. */
static bool change_replaces(const struct mmu_notifier_range *range)
{
	switch (range->event) {
	case MMU_NOTIFY_PROTECTION_VMA:
	case MMU_NOTIFY_PROTECTION_PAGE:
	case MMU_NOTIFY_SOFT_DIRTY:
		return false;
	default:
		return true;
	}
}

/*
 * Page table entries of the process are about to change.  Context: locks of the mm are held; does
 * not sleep if the range is not blockable.
 */
void dat_watches_begin_change(struct dat_watches *w, const struct mmu_notifier_range *range)
{
	spin_lock(&w->lock);
	w->changing++;
	spin_unlock(&w->lock);
	if (!change_replaces(range))
		return;
	while (watches_make_stale(w, range->start, range->end - 1))
		if (mmu_notifier_range_blockable(range))
			cond_resched();
}

/* A change that dat_watches_begin_change() has reported has ended.  Context: as there. */
void dat_watches_end_change(struct dat_watches *w)
{
	spin_lock(&w->lock);
	w->changing--;
	spin_unlock(&w->lock);
}

/*
 * Allocates the word, unless the IA has it.  Context: ia->resize_lock held; may sleep.  Fails with
 * -ENOMEM.
 */
int dat_watches_map(struct dat_ia *ia)
{
	struct dat_watches *w = &ia->watches;
	int ret;

	lockdep_assert_held(&ia->resize_lock);
	if (w->slice.chunk)
		return 0;
	ret = dat_slice_alloc(&ia->status_pool, sizeof(*w->word), &w->slice);
	if (ret)
		return ret;
	spin_lock(&w->lock);
	w->word = w->slice.va;
	WRITE_ONCE(*w->word, w->generation);
	spin_unlock(&w->lock);
	return 0;
}

/*
 * Stores the ids of up to @max stale LMRs, oldest first.  Each LMR is returned once.  Returns the
 * number of ids.
 */
u32 dat_watches_take(struct dat_watches *w, u32 *ids, u32 max)
{
	struct dat_watch *watch;
	u32 n = 0;

	spin_lock(&w->lock);
	while (n < max && !list_empty(&w->stale)) {
		watch = list_first_entry(&w->stale, struct dat_watch, entry);
		list_del_init(&watch->entry);
		ids[n++] = watch->id;
	}
	spin_unlock(&w->lock);
	return n;
}

/*
 * Watches the memory of an LMR whose pages are not pinned yet.  Context: process; may sleep.  Fails
 * with -ENOMEM.
 */
int dat_watch_begin(struct dat_lmr *lmr)
{
	struct dat_watches *w = &lmr->obj.ia->watches;
	struct dat_watch *watch = kzalloc(sizeof(*watch), GFP_KERNEL_ACCOUNT);

	if (!watch)
		return -ENOMEM;
	watch->id = lmr->obj.id;
	INIT_LIST_HEAD(&watch->entry);
	watch->node.start = lmr->start;
	watch->node.last = lmr->start + lmr->length - 1;
	lmr->watch = watch;
	spin_lock(&w->lock);
	interval_tree_insert(&watch->node, &w->fresh);
	/* The change may be one of this range: the pinning might still find the old pages. */
	if (w->changing) {
		watch_make_stale(w, watch);
		watches_count(w);
	}
	spin_unlock(&w->lock);
	return 0;
}

/* Ends the watch of an LMR, which may have none.  On return, no change uses it.  Idempotent. */
void dat_watch_end(struct dat_lmr *lmr)
{
	struct dat_watches *w = &lmr->obj.ia->watches;
	struct dat_watch *watch = lmr->watch;

	if (!watch)
		return;
	lmr->watch = NULL;
	spin_lock(&w->lock);
	if (!RB_EMPTY_NODE(&watch->node.rb))
		interval_tree_remove(&watch->node, &w->fresh);
	list_del(&watch->entry);
	spin_unlock(&w->lock);
	kfree(watch);
}
