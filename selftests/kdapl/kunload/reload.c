// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/*
 * reload FILE NAME PARAMETERS ROUNDS LEAST SECONDS: load the module NAME from FILE and unload it,
 * ROUNDS times.  When SECONDS are over, end after fewer rounds, but not fewer than LEAST.
 *
 * insmod and rmmod would take longer to start than to work.  Print the number of rounds, or fail if
 * the module could not be loaded or unloaded.
 */
#define _GNU_SOURCE
#include <err.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int load(const char *file, const char *parameters)
{
	int fd = open(file, O_RDONLY | O_CLOEXEC);
	int rc = fd < 0 ? -1 : (int)syscall(SYS_finit_module, fd, parameters, 0);

	if (rc)
		warn("loading %s", file);
	if (fd >= 0)
		close(fd);
	return rc;
}

/* Like rmmod, don't wait for users of the module. */
static int unload(const char *name)
{
	int rc = (int)syscall(SYS_delete_module, name, O_NONBLOCK);

	if (rc)
		warn("unloading %s", name);
	return rc;
}

static time_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec;
}

int main(int argc, char **argv)
{
	int done, rounds, least;
	time_t end;

	if (argc != 7)
		errx(2, "usage: reload FILE NAME PARAMETERS ROUNDS LEAST SECONDS");
	rounds = atoi(argv[4]);
	least = atoi(argv[5]);
	end = now() + atoi(argv[6]);
	for (done = 0; done < rounds && (done < least || now() < end); done++) {
		if (load(argv[1], argv[3]))
			return 1;
		/* Unload at another moment of the traffic each time. */
		usleep(done % 16 * 4000);
		if (unload(argv[2]))
			return 1;
	}
	printf("%d\n", done);
	return 0;
}
