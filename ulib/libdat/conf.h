/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * dat.conf: which library provides which IA.
 *
 * A line has eight fields, separated by blanks:
 *
 *	IA name, API version, thread safety, default or not, library, provider version,
 *	IA parameters, platform parameters
 *
 *	eth0 u1.2 threadsafe default libother.so.1 other.1.0 "eth0 1" ""
 *
 * A field may be quoted: "two words".  Within quotes, a backslash escapes the next character.  A
 * '#' where a field would begin starts a comment.  A quoted string ends on the line where it began.
 */
#ifndef LIBDAT_CONF_H
#define LIBDAT_CONF_H

#include <stddef.h>

#define CONF_NAME_MAX	255		/* bytes of an IA name, as DAT has it */
#define CONF_LINE_MAX	4096		/* bytes of a line */
#define CONF_FILE_MAX	(1 << 20)	/* bytes of a file */
#define CONF_BAD_MAX	20		/* malformed lines of a file that are reported one by one */

/*
 * struct conf_entry - a line; strings are valid during the call
 * @ia_name: not empty, at most CONF_NAME_MAX bytes
 * @major, @minor: version of the API; @major is 1
 * @threadsafe: 0 or 1
 * @library: library to dlopen(); not empty
 * @ia_params: argument for the provider
 * @file, @line: file and number of the line
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
 * Call @fn for the lines of @text that are default and for version 1 of the user API.  Malformed
 * lines are reported with the name @file, and skipped.  Returns the number of these.
 */
int conf_parse(const char *text, size_t len, const char *file, conf_entry_fn *fn, void *arg);

/*
 * Parse the file that DAT_OVERRIDE names, or else those in /etc, of which dat.conf is shared with
 * other versions of DAT.
 */
void conf_load(conf_entry_fn *fn, void *arg);

/* Parse the files below @etc, without regard to DAT_OVERRIDE. */
void conf_load_etc(const char *etc, conf_entry_fn *fn, void *arg);

/* Returns whether the library is this one: then the IA parameters name an adapter of the driver. */
int conf_is_libdat(const char *library);

#endif /* LIBDAT_CONF_H */
