// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* Part of a module whose code reports to dat_cover.ko; COVER_MODULE is its number. */
#include <linux/kernel.h>

#include "dat_cover.h"

void __sanitizer_cov_trace_pc(void);

/* The compiler calls it at each branch. */
notrace void __sanitizer_cov_trace_pc(void)
{
	dat_cover_hit(COVER_MODULE, _RET_IP_ - (unsigned long)__sanitizer_cov_trace_pc);
}
