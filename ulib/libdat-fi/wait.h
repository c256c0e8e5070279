/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Copyright (c) The dat authors */
/* Waits: descriptors and timeouts. */
#ifndef FDAT_WAIT_H
#define FDAT_WAIT_H

#include <time.h>

/**
 * fdat_wait_open - make the descriptor that a program waits for
 * @epoll: out: epoll set, which has @ready
 * @ready: out: eventfd for events that are in a queue of the provider
 *
 * Return: 0 or a negative error of libfabric.
 */
int fdat_wait_open(int *epoll, int *ready);
/* Add a descriptor to the epoll set.  Returns 0 or a negative error. */
int fdat_wait_add(int epoll, int fd);
/* The queue is no longer empty, or is empty again. */
void fdat_ready_set(int ready);
void fdat_ready_clear(int ready);

/* Set @end to the time that is @timeout milliseconds ahead; negative: for ever. */
void fdat_deadline(int timeout, struct timespec *end);
/* Returns the milliseconds until @end as poll() takes them: -1 for ever. */
int fdat_time_left(int timeout, const struct timespec *end);

#endif /* FDAT_WAIT_H */
