// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include <rdma/dat_ioctl.h>

#include "cancel.h"
#include "dev.h"
#include "poller.h"

/* The thread uses no data of the library except its argument. */
static void *poller_thread(void *arg)
{
	const struct du_poller *p = arg;
	struct dat_poller_run run = { .size = sizeof(run) };

	/*
	 * All signals are blocked, but SIGSTOP followed by SIGCONT still interrupts the ioctl with
	 * EINTR.
	 */
	while (!du_file_check(p->file) &&
	       du_file_ioctl(p->file, DAT_IOC_POLLER_RUN, &run) == -EINTR)
		;
	return NULL;
}

/* Both devices know this ioctl and that of the thread, so the file is checked before. */
int du_poller_set(const struct du_file *f, uint32_t idle_us)
{
	struct dat_poller_set arg = { .size = sizeof(arg), .idle_us = idle_us };
	int ret = du_file_check(f);

	return ret ? ret : du_file_ioctl(f, DAT_IOC_POLLER_SET, &arg);
}

int du_poller_start(struct du_poller *p, const struct du_file *f)
{
	sigset_t all, old;
	int ret;

	p->file = f;
	/* Block all signals in the new thread, so that the program's own threads handle them. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	ret = pthread_create(&p->thread, NULL, poller_thread, p);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (ret)
		return -ret;
	pthread_setname_np(p->thread, "dat-poll");
	p->pid = getpid();
	return 0;
}

void du_poller_end(struct du_poller *p)
{
	if (p->pid == getpid())
		du_join(p->thread);
	p->pid = 0;
}
