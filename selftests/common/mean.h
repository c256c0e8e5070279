/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) The dat authors */
/*
 * The mean device: dat_mean.ko makes rxe0 behave as some hardware does; see selftests/verbs/mean.c
 * for its parameters.  Only root in the virtual machine can use it.
 */
#ifndef MEAN_H
#define MEAN_H

#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "adapter.h"

/* Returns NULL, or the reason why the mean device cannot be used here. */
static inline const char *mean_missing(void)
{
	if (!getenv("DAT_KO") || !getenv("DAT_RSM_KO"))
		return "DAT_KO and DAT_RSM_KO do not say where the modules are";
	if (geteuid())
		return "loading modules needs root";
	return rxe_exists() ? NULL : "rxe0 does not exist";
}

/* Unmaps the memory of this process that belongs to the modules, because it keeps them loaded. */
static inline void mean_unmap(void)
{
	unsigned long from, to;
	FILE *f = fopen("/proc/self/maps", "r");
	char line[512];

	while (f && fgets(line, sizeof(line), f))
		if ((strstr(line, "/dev/dat") || strstr(line, "/dev/rsm")) &&
		    sscanf(line, "%lx-%lx", &from, &to) == 2)
			munmap((void *)from, to - from);
	if (f)
		fclose(f);
}

/* Retries, because the last reference to a file may be dropped after close() has returned. */
static inline int mean_unload_all(void)
{
	static const char loaded[] = "grep -qE '^dat(_rsm|_mean)? ' /proc/modules";
	int i;

	mean_unmap();
	for (i = 0; i < 50 && !system(loaded); i++)
		system("rmmod dat_rsm dat dat_mean 2>/dev/null || sleep 0.1");
	return system(loaded) ? 0 : -1;
}

static inline int mean_load_dat(void)
{
	return system("insmod $DAT_KO $DAT_KO_ARGS && "
		      "insmod $DAT_RSM_KO $DAT_RSM_KO_ARGS") ? -1 : 0;
}

/* Writes a parameter of dat_mean.ko while it is loaded. */
static inline int mean_set(const char *param, const char *value)
{
	char path[80];
	FILE *f;
	int ret;

	snprintf(path, sizeof(path), "/sys/module/dat_mean/parameters/%s", param);
	f = fopen(path, "w");
	if (!f)
		return -1;
	ret = fputs(value, f) < 0;
	ret |= fclose(f);
	return ret ? -1 : 0;
}

/* Returns the value of a number that dat_mean.ko shows while it is loaded, or -1. */
static inline int mean_get(const char *param)
{
	char path[80];
	int n = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/sys/module/dat_mean/parameters/%s", param);
	f = fopen(path, "r");
	if (!f)
		return -1;
	if (fscanf(f, "%d", &n) != 1)
		n = -1;
	fclose(f);
	return n;
}

/* Returns the number of times that a meanness had an effect since mean_load(), or -1. */
static inline int mean_hits(void)
{
	return mean_get("hits");
}

/* Loads the modules of dat without the mean device, from every state.  See mean_load(). */
static inline int mean_unload(void)
{
	return mean_unload_all() || mean_load_dat() ? -1 : 0;
}

/*
 * Makes the device mean: loads dat_mean.ko with @params, which are separated by blanks, and then
 * the modules of dat.  This process has closed its files of them.  Parameters of dat.ko and the
 * cluster key of RSM are lost.  With "driver=", dat.ko believes that the device has that driver.
 */
static inline int mean_load(const char *params)
{
	char exe[512] = "", cmd[1024];
	struct utsname un;

	if (readlink("/proc/self/exe", exe, sizeof(exe) - 1) < 0 || uname(&un))
		return -1;
	snprintf(cmd, sizeof(cmd), "insmod %s/../kmod-%s/ktest/dat_mean.ko %s", dirname(exe),
		 un.release, params);
	if (mean_unload_all() || system(cmd) || mean_load_dat())
		return -1;
	/* dat.ko has read the driver, and rxe receives nothing while the device claims another. */
	return mean_set("driver", "rxe");
}

/*
 * The last test of a program, which the program defines last.  The tests before it need not unload
 * the mean device, because mean_load() does.
 */
#define MEAN_END								\
FIXTURE(mean_device) {								\
	int unused;								\
};										\
FIXTURE_SETUP(mean_device) { }							\
FIXTURE_TEARDOWN(mean_device) { }						\
TEST_F_TIMEOUT(mean_device, is_gone, 60)					\
{										\
	if (mean_missing())							\
		SKIP(return, mean_missing());					\
	EXPECT_EQ(0, mean_unload());						\
}

#endif /* MEAN_H */
