/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Copyright (c) The dat authors */
/*
 * dat.conf: the file that says which library provides which IA.
 *
 * A line has eight fields, separated by blanks:
 *
 *	IA name, API version, thread safety, default or not, library, provider version,
 *	IA parameters, platform parameters
 *
 *	eth0 u1.2 threadsafe default libother.so.1 other.1.0 "eth0 1" ""
 *
 * A field may be quoted: "two words".  Within quotes, a backslash escapes the next character.  A
 * quoted string ends on the line where it began.  A '#' at the start of a field begins a comment.
 */
#ifndef LIBDAT_CONF_H
#define LIBDAT_CONF_H

#include <stddef.h>

#define CONF_NAME_MAX	255		/* max. length of an IA name, set by DAT */
#define CONF_LINE_MAX	4096		/* max. bytes of a line */
#define CONF_FILE_MAX	(1 << 20)	/* max. bytes of a file */
#define CONF_BAD_MAX	20		/* max. malformed lines reported one by one */

/*
 * struct conf_entry - a line of dat.conf; the strings are valid only while conf_entry_fn() runs
 * @ia_name: name of the IA; not empty, at most CONF_NAME_MAX bytes
 * @major, @minor: version of the API; @major is 1
 * @threadsafe: 1 if the library is safe for threads, otherwise 0
 * @library: library to dlopen(); not empty
 * @ia_params: argument for the provider
 * @file, @line: name of the file, and number of the line in the file
 */
struct conf_entry {
	const char	*ia_name;
	unsigned int	major;
	unsigned int	minor;
	int		threadsafe;
	const char	*library;
	const char	*ia_params;
	const char	*file;
	unsigned int	line;
};

typedef void conf_entry_fn(const struct conf_entry *entry, void *arg);

/*
 * Call @fn for each line of @text that has the keyword "default" and version 1 of the user API.  A
 * malformed line is reported under the file name @file and skipped.  Returns the number of
 * malformed lines.
 */
int conf_parse(const char *text, size_t len, const char *file, conf_entry_fn *fn, void *arg);

/*
 * Parse the file that the environment variable DAT_OVERRIDE names.  Without DAT_OVERRIDE, parse the
 * files in /etc.  Other versions of DAT also use /etc/dat.conf.
 */
void conf_load(conf_entry_fn *fn, void *arg);

/* Parse the files in the directory @etc.  DAT_OVERRIDE is ignored. */
void conf_load_etc(const char *etc, conf_entry_fn *fn, void *arg);

/*
 * Returns whether @library is libdat itself.  The IA parameters then name an adapter of the driver.
 */
int conf_is_libdat(const char *library);

#endif /* LIBDAT_CONF_H */
