// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "file.h"

const char *file_wrong(const char *name)
{
	char copy[PATH_MAX];
	struct stat st;

	if (strlen(name) >= sizeof(copy) - sizeof(".XXXXXX"))
		return "the name is too long";
	if (!*name || name[strlen(name) - 1] == '/')
		return "this is no name of a file";
	if (!lstat(name, &st) && !S_ISREG(st.st_mode))
		return "this is no regular file";
	strcpy(copy, name);
	return access(dirname(copy), W_OK | X_OK) ? strerror(errno) : NULL;
}

static int write_all(int fd, const char *text, size_t len)
{
	ssize_t n;

	for (; len; text += n, len -= (size_t)n) {
		n = write(fd, text, len);
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n < 0)
			n = 0;
	}
	return 0;
}

/* Returns the mode of the new file.  It is no wider than that of a file that it replaces. */
static mode_t new_mode(const char *name, int flags)
{
	mode_t mask = umask(0), mode = flags & FILE_SECRET ? 0600 : 0666 & ~mask;
	struct stat st;

	umask(mask);
	return !lstat(name, &st) && S_ISREG(st.st_mode) ? mode & st.st_mode : mode;
}

/* Fill the temporary file, and close it also after an error.  Returns 0 or a negative errno. */
static int fill(int fd, const char *text, size_t len, mode_t mode, int flags)
{
	int ret = write_all(fd, text, len);

	if (!ret && fchmod(fd, mode))
		ret = -errno;
	if (!ret && flags & FILE_SECRET && fsync(fd))
		ret = -errno;
	if (close(fd) && !ret)
		ret = -errno;
	return ret;
}

int file_write(const char *name, const char *text, size_t len, int flags)
{
	char temporary[PATH_MAX];
	int fd, ret;

	if ((size_t)snprintf(temporary, sizeof(temporary), "%s.XXXXXX", name) >= sizeof(temporary))
		return -ENAMETOOLONG;
	fd = mkostemp(temporary, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	ret = fill(fd, text, len, new_mode(name, flags), flags);
	/* link() fails if the name exists; rename() would replace the file. */
	if (!ret && (flags & FILE_NEW ? link(temporary, name) : rename(temporary, name)))
		ret = -errno;
	if (ret || flags & FILE_NEW)
		unlink(temporary);
	return ret;
}
