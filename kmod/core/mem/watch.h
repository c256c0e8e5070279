/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) The dat authors */
/* Watched LMRs: the driver notices when addresses of their memory get other pages. */
#ifndef _DAT_WATCH_H
#define _DAT_WATCH_H

#include <linux/list.h>
#include <linux/rbtree.h>
#include <linux/spinlock.h>

#include "core/mem/pool.h"

struct dat_ia;
struct dat_lmr;
struct mmu_notifier_range;

/**
 * struct dat_watches - watched LMRs of an IA
 * @lock: lock of all members but @slice, and of each struct dat_watch; taken under locks of the mm,
 *	so nothing is allocated under it
 * @fresh: interval tree of the LMRs whose memory has not changed
 * @stale: list of the stale LMRs that dat_watches_take() has not returned yet
 * @changing: number of changes of the address space in progress
 * @generation: number of times that LMRs became stale
 * @word: copy of @generation that the process maps; NULL before dat_watches_map()
 * @slice: memory of @word; ia->resize_lock
 */
struct dat_watches {
	spinlock_t		lock;		/* lock of @fresh to @word */
	struct rb_root_cached	fresh;
	struct list_head	stale;
	unsigned int		changing;
	u32			generation;
	u32			*word;
	struct dat_slice	slice;
};

void dat_watches_init(struct dat_watches *w);
void dat_watches_exit(struct dat_watches *w);
void dat_watches_begin_change(struct dat_watches *w, const struct mmu_notifier_range *range);
void dat_watches_end_change(struct dat_watches *w);
int dat_watches_map(struct dat_ia *ia);
u32 dat_watches_take(struct dat_watches *w, u32 *ids, u32 max);

int dat_watch_begin(struct dat_lmr *lmr);
void dat_watch_end(struct dat_lmr *lmr);

#endif /* _DAT_WATCH_H */
