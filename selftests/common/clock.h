/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) The dat authors */
/* The monotonic clock, in the unit that a test needs. */
#ifndef CLOCK_H
#define CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static inline uint64_t now_us(void)
{
	return now_ns() / 1000;
}

static inline uint64_t now_ms(void)
{
	return now_ns() / 1000000;
}

static inline double now_s(void)
{
	return (double)now_ns() * 1e-9;
}

#endif /* CLOCK_H */
