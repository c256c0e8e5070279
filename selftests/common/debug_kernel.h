/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) The dat authors */
/* The kernel on which tests at random run longest, because it checks most. */
#ifndef DEBUG_KERNEL_H
#define DEBUG_KERNEL_H

#include <unistd.h>

/* Returns whether the kernel is one of scripts/mkkernel's that checks memory and locks. */
static inline int debug_kernel(void)
{
	return !access("/sys/kernel/debug/kmemleak", F_OK);
}

#endif /* DEBUG_KERNEL_H */
