/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Copyright (c) The dat authors */
/*
 * Cancellation of threads by pthread_cancel().  The calls that wait in the driver are cancellation
 * points.  No other call is: a thread that ended in the middle of a call would leave locks held.
 */
#ifndef DU_CANCEL_H
#define DU_CANCEL_H

#include <pthread.h>

/* Begin a part that contains cancellation points of the C library.  Returns the former state. */
static inline int du_cancel_off(void)
{
	int state;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	return state;
}

static inline void du_cancel_restore(int state)
{
	pthread_setcancelstate(state, NULL);
}

/* Wait for the end of @thread.  Unlike pthread_join(), this is no cancellation point. */
static inline void du_join(pthread_t thread)
{
	int state = du_cancel_off();

	pthread_join(thread, NULL);
	du_cancel_restore(state);
}

#endif /* DU_CANCEL_H */
