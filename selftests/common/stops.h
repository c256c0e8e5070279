/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) The dat authors */
/*
 * Stops of the test's process, which interrupt a wait again and again.
 *
 * A wait with a deadline ends between two of the stops.  A wait that begins its time anew after
 * each stop lasts until the stops end.  So the number of stops tells both apart, on a busy machine
 * too.
 */
#ifndef STOPS_H
#define STOPS_H

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define STOPS_MAX	200
#define STOPS_WAIT_MS	500	/* a good length of the wait: much less than all stops take */

struct stops {
	pid_t	pid;
	volatile struct {
		int	n;	/* number of stops so far */
		int	end;	/* flag: the process is to stop no more */
	} *shared;
};

/*
 * Stop and continue this process up to STOPS_MAX times.  A child sends the signals, because a
 * stopped process cannot continue itself.  Returns 0, or -1 if there is no child.
 */
static inline int stops_begin(struct stops *s)
{
	pid_t parent = getpid();

	s->shared = mmap(NULL, sizeof(*s->shared), PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (s->shared == MAP_FAILED)
		return -1;
	s->pid = fork();
	if (s->pid)
		return s->pid < 0 ? -1 : 0;
	while (s->shared->n < STOPS_MAX && !s->shared->end && getppid() == parent) {
		usleep(20000);
		kill(parent, SIGSTOP);
		usleep(20000);
		kill(parent, SIGCONT);
		s->shared->n++;
	}
	_exit(0);
}

/* Returns the number of stops before the call.  When it returns, no stop will follow. */
static inline int stops_end(struct stops *s)
{
	int n = s->shared->n;

	s->shared->end = 1;
	waitpid(s->pid, NULL, 0);
	munmap((void *)s->shared, sizeof(*s->shared));
	return n;
}

#endif /* STOPS_H */
