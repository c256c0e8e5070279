/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) The dat authors */
/*
 * Tables of state machines.  A table is an array of u8 or u16 with one entry for each state.  An
 * entry is a bitmap of the states that may follow that state.  Each machine has one function that
 * changes the state.  That function asserts the lock of the state and calls dat_state_may().
 */
#ifndef _DAT_STATE_H
#define _DAT_STATE_H

#include <linux/bits.h>
#include <linux/bug.h>
#include <linux/types.h>

/*
 * Returns true if the table @next allows the change from @from to @to.  Otherwise warns and returns
 * false; the caller must then keep the old state.  Callers choose @to under the lock of the state,
 * so only a bug in the module can ask for a change that the table forbids.
 */
#define dat_state_may(next, from, to)	(!WARN_ON_ONCE(!((next)[from] & BIT(to))))

#endif /* _DAT_STATE_H */
