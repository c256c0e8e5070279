// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * Copies between the memory of two keys.
 *
 * A copy looks keys up under RCU, without a reference to the memory.  The slot of the CPU keeps the
 * memory meanwhile:
 *
 *	copy						end of a key (lo_mr_kill())
 *	----						---------------------------
 *	lock the slot of this CPU
 *	slot->mr[] = both registrations			mr->key = 0
 *	full barrier (A)				full barrier (B)
 *	both keys in effect?				for each CPU whose slot names mr:
 *	copy at most a slice					lock and unlock the slot
 *	slot->mr[] = the next ones, or NULL (C)		unpin the memory
 *	unlock the slot
 *
 * Either the copy sees that the key has ended, or the end of the key sees the registration in the
 * slot, and waits for the rest of the slice.  So it waits only for copies that use the memory, for
 * a slice at most, and never for a grace period.  (C) is a release: if the end of the key does not
 * find the registration in the slot any more, its acquire sees the copy complete.
 *
 * Only threads that end a key contend for the lock of a slot.  With PREEMPT_RT, where a thread with
 * softirqs disabled can be preempted, it keeps one copy on each CPU, and inherits priority.
 *
 * Order.  Many programs wait for the end of an RDMA write by polling the last bytes of the memory,
 * as devices in practice write in rising order.  memcpy() promises no order: it may write the last
 * bytes first, and the microcode of string instructions may write within the string in any order.
 * So lo_move() stores the end of a message with a loop of its own, which stores each naturally
 * aligned word of up to 8 bytes at once, in rising order, each with release semantics.  Only a word
 * that a segment, or a page of the source, ends within is stored in two steps.  A release
 * orders all earlier stores before it, on x86 also those of an earlier string instruction.  A write
 * barrier follows each piece that memcpy() has copied, so pieces become visible in rising order as
 * well.  A reader that sees a new word at the end therefore sees the whole message, given that it
 * reads the word with acquire semantics, or has an order of loads as x86 has.
 */
#include <linux/interrupt.h>
#include <linux/percpu.h>
#include <linux/uaccess.h>

#include "lo/lo.h"

/* Bytes at the end of a longer message that are stored in order. */
#define ORDERED_END	64

static DEFINE_PER_CPU_ALIGNED(struct lo_slot, lo_slots);

void lo_slots_init(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		spin_lock_init(&per_cpu_ptr(&lo_slots, cpu)->lock);
}

/* Begins copies of this CPU.  Softirqs are disabled. */
struct lo_slot *lo_slot_lock(void)
{
	struct lo_slot *slot = this_cpu_ptr(&lo_slots);

	spin_lock(&slot->lock);
	__release(&slot->lock);		/* sparse cannot follow the lock to lo_slot_unlock() */
	return slot;
}

void lo_slot_unlock(struct lo_slot *slot)
{
	smp_store_release(&slot->mr[0], NULL);			/* (C) */
	smp_store_release(&slot->mr[1], NULL);
	__acquire(&slot->lock);
	spin_unlock(&slot->lock);
}

static bool slot_names(const struct lo_slot *slot, const struct lo_mr *mr)
{
	/* Acquire: pairs with (C). */
	return smp_load_acquire(&slot->mr[0]) == mr || smp_load_acquire(&slot->mr[1]) == mr;
}

/*
 * Waits for the copies that use a registration whose key has ended.  The caller holds the lock of
 * no slot.
 */
void lo_slots_wait(const struct lo_mr *mr)
{
	struct lo_slot *slot;
	int cpu;

	smp_mb();						/* (B) */
	for_each_possible_cpu(cpu) {
		slot = per_cpu_ptr(&lo_slots, cpu);
		if (!slot_names(slot, mr))
			continue;
		spin_lock_bh(&slot->lock);
		spin_unlock_bh(&slot->lock);
	}
}

/* Returns true if the key of a segment is in effect and gives the access to all of the segment. */
static bool mr_covers(const struct lo_mr *mr, const struct lo_side *side, const struct ib_sge *sge)
{
	/* Acquire: pairs with the release in mr_publish(), which publishes the other members. */
	return mr && smp_load_acquire(&mr->key) == sge->lkey && mr->pz == side->pz &&
	       sge->length <= mr->length && sge->addr - mr->start <= mr->length - sge->length &&
	       (mr->priv & side->need) == side->need && (mr->write || !side->write);
}

/*
 * Returns true if the segments that hold the first @len bytes of a side give access now.  Reads no
 * memory of an LMR, so that no slot is needed.  Context: softirqs disabled.
 */
bool lo_side_check(const struct lo_side *side, u32 len)
{
	const struct ib_sge *sge = side->sge;

	for (;; sge++) {
		if (sge->lkey ? !mr_covers(lo_mr_find(sge->lkey), side, sge) : !side->kernel)
			return false;
		if (sge->length >= len)
			return true;
		len -= sge->length;
	}
}

/**
 * struct lo_pos - position in a side
 * @side: side
 * @sge: segment
 * @skip: number of bytes of @sge that precede the position
 * @mr: registration of @sge; NULL: not looked up, or the key is 0
 * @hint: index of the extent that lo_mem_at() has found last
 * @va: kernel address of the position
 * @room: number of contiguous bytes from @va to the end of @sge or of the extent; 0: not known
 */
struct lo_pos {
	const struct lo_side	*side;
	const struct ib_sge	*sge;
	u32			skip;
	const struct lo_mr	*mr;
	u32			hint;
	void			*va;
	u64			room;
};

static void pos_init(struct lo_pos *p, const struct lo_side *side, u32 skip)
{
	const struct ib_sge *sge = side->sge;

	while (skip >= sge->length) {
		skip -= sge->length;
		sge++;
	}
	*p = (struct lo_pos) { .side = side, .sge = sge, .skip = skip };
}

static void pos_advance(struct lo_pos *p, u32 n)
{
	p->skip += n;
	p->va += n;
	p->room -= n;
	if (p->skip < p->sge->length)
		return;
	p->sge++;
	p->skip = 0;
	p->mr = NULL;
	p->hint = 0;
}

/* Looks up the registration of the segment, and names it in the slot instead of the previous. */
static void pos_name(struct lo_pos *p, const struct lo_mr **name)
{
	p->mr = p->sge->lkey ? lo_mr_find(p->sge->lkey) : NULL;
	smp_store_release(name, p->mr);				/* (C) */
}

/* Returns true if the named registration gives access to the segment. */
static bool pos_check(const struct lo_pos *p)
{
	return p->sge->lkey ? mr_covers(p->mr, p->side, p->sge) : p->side->kernel;
}

/* Finds the bytes at the position.  Its registration is named and checked. */
static void pos_locate(struct lo_pos *p)
{
	u64 rest = p->sge->length - p->skip, addr = p->sge->addr + p->skip;

	if (p->mr)
		p->va = lo_mem_at(p->mr->mem, p->mr->offset + (addr - p->mr->start), &p->hint,
				  &p->room);
	else
		p->va = (void *)(uintptr_t)addr;
	p->room = p->mr ? min(p->room, rest) : rest;
}

/*
 * Makes both positions known.  Each side whose segment is new is named in the slot first.  Returns
 * the side that gives no access, if any.
 */
static enum lo_copied pair_locate(struct lo_slot *slot, struct lo_pos *from, struct lo_pos *to)
{
	bool new_from = !from->room && !from->mr, new_to = !to->room && !to->mr;

	if (new_from)
		pos_name(from, &slot->mr[0]);
	if (new_to)
		pos_name(to, &slot->mr[1]);
	if (new_from || new_to)
		smp_mb();					/* (A) */
	if (new_from && !pos_check(from))
		return LO_BAD_FROM;
	if (new_to && !pos_check(to))
		return LO_BAD_TO;
	if (!from->room)
		pos_locate(from);
	if (!to->room)
		pos_locate(to);
	return LO_COPIED;
}

/* Stores bytes in rising order, each aligned word at once; see the top of this file. */
static void move_in_order(void *to, const void *from, size_t n)
{
#define MOVE(type)							\
	do {								\
		type word;						\
									\
		/* The consumer of the source may write meanwhile. */	\
		data_race(__builtin_memcpy(&word, from, sizeof(word)));	\
		/* Release: orders this word after those before. */	\
		smp_store_release((type *)to, word);			\
		to += sizeof(type);					\
		from += sizeof(type);					\
		n -= sizeof(type);					\
	} while (0)

	if (n >= 1 && (uintptr_t)to & 1)
		MOVE(u8);
	if (n >= 2 && (uintptr_t)to & 2)
		MOVE(u16);
	if (n >= 4 && (uintptr_t)to & 4)
		MOVE(u32);
	while (n >= 8)
		MOVE(u64);
	if (n >= 4)
		MOVE(u32);
	if (n >= 2)
		MOVE(u16);
	if (n >= 1)
		MOVE(u8);
#undef MOVE
}

/*
 * Copies @n contiguous bytes, which end the message if @end.  Returns false if the memory has an
 * uncorrectable error, which copy_mc_to_kernel() survives where the architecture can.  An error in
 * the bytes that are stored in order is not survived.
 */
static bool lo_move(void *to, const void *from, size_t n, bool end)
{
	size_t last = n, first;

	if (n > LO_ORDERED)
		last = end ? ORDERED_END + ((uintptr_t)(to + n) & 7) : 0;
	first = n - last;
	smp_wmb();	/* pieces become visible in rising order */
	/* The consumers of both sides may access their memory meanwhile. */
	if (first && data_race(copy_mc_to_kernel(to, from, first)))
		return false;
	move_in_order(to + first, from + first, last);
	return true;
}

/**
 * lo_copy() - copy a part of a message
 * @slot: slot that the caller has locked
 * @from: source
 * @to: destination
 * @skip: number of bytes of the message that are copied already
 * @len: number of bytes to copy, not 0; both sides have that many.  Set to the number of bytes that
 *	were copied, which may be a few less, so that the next part begins at an aligned word.
 * @end: flag: the message ends with these bytes
 *
 * Checks each key before its segment is accessed.  If each side has one segment, that is before
 * the first byte is copied; else the caller calls lo_side_check() before.
 *
 * Context: softirqs disabled.  Return: LO_COPIED, or the side that gives no access.
 */
enum lo_copied lo_copy(struct lo_slot *slot, const struct lo_side *from, const struct lo_side *to,
		       u32 skip, u32 *len, bool end)
{
	struct lo_pos f, t;
	enum lo_copied ret;
	u32 left = *len, n;

	pos_init(&f, from, skip);
	pos_init(&t, to, skip);
	while (left) {
		if (!f.room || !t.room) {
			ret = pair_locate(slot, &f, &t);
			if (ret != LO_COPIED)
				return ret;
		}
		n = min3(f.room, t.room, (u64)left);
		if (n == left && !end && n > 8)
			n -= (uintptr_t)(t.va + n) & 7;
		if (!lo_move(t.va, f.va, n, end && n == left))
			return LO_BAD_FROM;
		left -= n;
		if (!end && left < 8 && left)
			break;
		pos_advance(&f, n);
		pos_advance(&t, n);
	}
	*len -= left;
	return LO_COPIED;
}
