/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) The dat authors */
/* Numbers that look random, and are the same in each run. */
#ifndef NOISE_H
#define NOISE_H

#include <stdint.h>

static inline uint64_t noise(void)
{
	static uint64_t state = 7;

	state = state * 6364136223846793005 + 1442695040888963407;
	return state >> 24;
}

#endif /* NOISE_H */
