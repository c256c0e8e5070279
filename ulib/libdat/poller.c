// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The poller of an IA: a thread that spends its life in one ioctl, where it looks at what
 * is posted.  It never touches anything of the library.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "libdat.h"

/* More than Linux can have on any machine. */
#define POLLER_CPUS	8192

static void *poller_thread(void *arg)
{
	struct udat_ia *ia = arg;
	struct dat_poller_run run = { .size = sizeof(run) };

	/* It has no handlers, but a stop and a continue interrupt it, too. */
	while (du_ioctl(ia->fd, DAT_IOC_POLLER_RUN, &run) == -EINTR)
		;
	return NULL;
}

static int poller_set(struct udat_ia *ia, uint32_t idle_us)
{
	struct dat_poller_set arg = { .size = sizeof(arg), .idle_us = idle_us };

	return du_ioctl(ia->fd, DAT_IOC_POLLER_SET, &arg);
}

/* Signals are for the threads of the program. */
static int poller_start(struct udat_ia *ia)
{
	struct udat_poller *p = &ia->poller;
	sigset_t all, old;
	int ret;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	ret = pthread_create(&p->thread, NULL, poller_thread, ia);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (ret)
		return -ret;
	pthread_setname_np(p->thread, "dat-poll");
	p->pid = getpid();
	return 0;
}

/* The driver has told it to go.  A child has our memory, but no such thread. */
void udat_poller_end(struct udat_ia *ia)
{
	struct udat_poller *p = &ia->poller;

	if (p->pid == getpid())
		pthread_join(p->thread, NULL);
	p->pid = 0;
}

static size_t set_size(void)
{
	return CPU_ALLOC_SIZE(POLLER_CPUS);
}

/* The CPUs of the thread: @cpu, or those of the caller.  0, or -EINVAL. */
static int poller_cpus(int cpu, cpu_set_t *set)
{
	memset(set, 0, set_size());
	if (sched_getaffinity(0, set_size(), set))
		return -errno;
	if (cpu == -1)
		return 0;
	if (cpu < 0 || cpu >= POLLER_CPUS || !CPU_ISSET_S(cpu, set_size(), set))
		return -EINVAL;
	memset(set, 0, set_size());
	CPU_SET_S(cpu, set_size(), set);
	return 0;
}

static int poller_change(struct udat_ia *ia, uint32_t idle_us, const cpu_set_t *cpus)
{
	int ret = poller_set(ia, idle_us);

	if (ret)
		return ret;
	if (!idle_us) {
		udat_poller_end(ia);
		return 0;
	}
	if (!ia->poller.pid) {
		ret = poller_start(ia);
		if (ret) {
			poller_set(ia, 0);
			return ret;
		}
	}
	return -pthread_setaffinity_np(ia->poller.thread, set_size(), cpus);
}

UDAT_EXPORT DAT_RETURN dat_linux_ia_poller(DAT_IA_HANDLE ia_handle, DAT_UINT32 idle_usec,
					   int cpu)
{
	unsigned long cpus[POLLER_CPUS / (8 * sizeof(unsigned long))];
	struct udat_ia *ia = udat_ia(ia_handle);
	int ret;

	if (!ia)
		return DAT_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	if (idle_usec > DAT_MAX_POLLER_IDLE_US)
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (poller_cpus(cpu, (cpu_set_t *)cpus))
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	pthread_mutex_lock(&ia->poller.lock);
	ret = poller_change(ia, idle_usec, (cpu_set_t *)cpus);
	pthread_mutex_unlock(&ia->poller.lock);
	/* RLIMIT_NPROC, or the pids controller. */
	if (ret == -EAGAIN)
		ret = -ENOMEM;
	/* The CPU is gone since we looked. */
	if (ret == -EINVAL)
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	return ret ? dat_err_from_errno(-ret) : DAT_SUCCESS;
}
