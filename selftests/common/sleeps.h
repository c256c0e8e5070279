/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) The dat authors */
/* How often a thread has gone to sleep: a wake-up that it did not need adds one. */
#ifndef SLEEPS_H
#define SLEEPS_H

#include <stdio.h>
#include <sys/types.h>
#include <unistd.h>

/*
 * Wait up to @ms milliseconds until the thread @tid, which may still be 0, sleeps.  Returns how
 * many times the thread has gone to sleep so far, or -1.
 */
static inline long sleeps_of(const pid_t *tid, int ms)
{
	char path[64], line[128], state = 0;
	long n = -1;
	FILE *f;
	int i;

	for (i = 0; i < ms && state != 'S'; i++) {
		usleep(1000);
		snprintf(path, sizeof(path), "/proc/self/task/%d/status",
			 __atomic_load_n(tid, __ATOMIC_ACQUIRE));
		f = fopen(path, "r");
		while (f && fgets(line, sizeof(line), f))
			if (sscanf(line, "State: %c", &state) != 1)
				sscanf(line, "voluntary_ctxt_switches: %ld", &n);
		if (f)
			fclose(f);
	}
	return state == 'S' ? n : -1;
}

#endif /* SLEEPS_H */
