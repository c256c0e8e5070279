/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Copyright (c) The dat authors */
/* The pause between two polls in a busy-wait loop. */
#ifndef DU_SPIN_H
#define DU_SPIN_H

#ifndef __has_builtin
#define __has_builtin(name)	0
#endif

static inline void du_spin_pause(void)
{
#if __has_builtin(__builtin_ia32_pause)
	__builtin_ia32_pause();
#endif
}

#endif /* DU_SPIN_H */
