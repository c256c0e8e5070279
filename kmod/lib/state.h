/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) The dat authors */
/*
 * Tables of state machines.  A table, of u8 or u16, has the allowed next states of each state, as a
 * bitmap.  Each machine has one function that changes its state: it asserts the lock of the state,
 * and calls dat_state_may().
 */
#ifndef _DAT_STATE_H
#define _DAT_STATE_H

#include <linux/bits.h>
#include <linux/bug.h>
#include <linux/types.h>

/*
 * Returns true if the table @next allows the change of state; if not, the caller must not change
 * it.  Callers choose @to by the state that they see under its lock, so only a bug in the module
 * can cause a change that the table forbids.  Warns of the bug.
 */
#define dat_state_may(next, from, to)	(!WARN_ON_ONCE(!((next)[from] & BIT(to))))

#endif /* _DAT_STATE_H */
