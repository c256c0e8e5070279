// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/* The poller of an IA, and the CPUs on which the poller may run. */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <string.h>

#include "libdat.h"

/* Size of a CPU set.  No machine with Linux has more CPUs. */
#define POLLER_CPUS	8192

static size_t set_size(void)
{
	return CPU_ALLOC_SIZE(POLLER_CPUS);
}

/*
 * Get the CPUs for the poller: @cpu, or the CPUs of the calling thread if @cpu is -1.  Returns 0 or
 * a negative errno.
 */
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
	int ret = du_poller_set(&ia->file, idle_us);

	if (ret)
		return ret;
	if (!idle_us) {
		du_poller_end(&ia->poller);
		return 0;
	}
	if (!ia->poller.pid) {
		ret = du_poller_start(&ia->poller, &ia->file);
		if (ret) {
			du_poller_set(&ia->file, 0);
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
	pthread_mutex_lock(&ia->poller_lock);
	ret = poller_change(ia, idle_usec, (cpu_set_t *)cpus);
	pthread_mutex_unlock(&ia->poller_lock);
	/* EAGAIN: RLIMIT_NPROC or the pids controller has refused another thread. */
	if (ret == -EAGAIN)
		ret = -ENOMEM;
	/* EINVAL: the CPU went offline after the check in poller_cpus(). */
	if (ret == -EINVAL)
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	return ret ? dat_err_from_errno(-ret) : DAT_SUCCESS;
}
