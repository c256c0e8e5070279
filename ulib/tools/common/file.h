/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Copyright (c) The dat authors */
/* A file that gets its name when it is whole, so that a reader sees all of the new file or none. */
#ifndef TOOLS_FILE_H
#define TOOLS_FILE_H

#include <stddef.h>

/*
 * Returns the reason why no file can be written to @name, or NULL.  A device, a FIFO, a directory
 * or a symbolic link is refused, because the new file would replace it.
 */
const char *file_wrong(const char *name);

/* Flags of file_write(). */
#define FILE_NEW	1	/* fail with EEXIST if @name exists, instead of replacing it */
#define FILE_SECRET	2	/* mode 0600 whatever the umask, and synced to the disk */

/*
 * Write @len bytes of @text to a temporary file beside @name, and rename it.  Returns 0, or a
 * negative errno after removing the temporary file; a file that had the name is then unchanged.
 * The name of the temporary file does not end like @name, so collectors of *.prom ignore it.  The
 * mode is that of a new file, and no wider than that of a file that is replaced.
 */
int file_write(const char *name, const char *text, size_t len, int flags);

#endif /* TOOLS_FILE_H */
