// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/* A file that gets its name when it is whole, so that a reader sees all of the new file or none. */
#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dat-perf.h"

const char *perf_file_wrong(const char *name)
{
	char copy[PATH_MAX];
	struct stat st;

	if (strlen(name) >= sizeof(copy) - sizeof(".XXXXXX"))
		return "the name is too long";
	if (!lstat(name, &st) && !S_ISREG(st.st_mode))
		return "this is no regular file";
	if (!*name || name[strlen(name) - 1] == '/')
		return "this is no name of a file";
	strcpy(copy, name);
	return access(dirname(copy), W_OK | X_OK) ? strerror(errno) : NULL;
}

static int write_all(int fd, const char *text, size_t len)
{
	ssize_t n;

	for (; len; text += n, len -= (size_t)n) {
		n = write(fd, text, len);
		if (n < 0 && errno == EINTR)
			n = 0;
		if (n < 0)
			return 0;
	}
	return 1;
}

void perf_file_write(const char *name, const char *text, size_t len)
{
	char temporary[PATH_MAX];
	mode_t mask = umask(0);
	int fd, good, err;

	umask(mask);
	snprintf(temporary, sizeof(temporary), "%s.XXXXXX", name);
	fd = mkstemp(temporary);
	if (fd < 0)
		tool_die("cannot make '%s': %s", temporary, strerror(errno));
	good = write_all(fd, text, len) && !fchmod(fd, 0666 & ~mask);
	err = errno;
	if (close(fd) && good) {
		good = 0;
		err = errno;
	}
	if (good && rename(temporary, name)) {
		good = 0;
		err = errno;
	}
	if (!good) {
		unlink(temporary);
		tool_die("cannot write '%s': %s", name, strerror(err));
	}
}
