// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/*
 * Writes the totals of the adapters in the text format of Prometheus, for the textfile collector of
 * node_exporter.  Objects of processes are left out, because each of them would be a time series
 * that soon ends.
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../common/file.h"
#include "../common/text.h"
#include "../common/tool.h"
#include "info.h"

static const char *const help[STATS] = {
	[STAT_REQUESTS]	= "Requests that the driver has taken from send queues.",
	[STAT_RECEIVES]	= "Receives that the driver has taken from receive queues.",
	[STAT_KICKS]	= "Visits of a queue by a kick or by a poller.",
	[STAT_COMPLETED] = "Requests and receives that have completed in any way.",
	[STAT_FAILED]	= "Requests and receives that have completed with an error, without flushes.",
	[STAT_FLUSHED]	= "Requests and receives that the end of a connection has flushed.",
	[STAT_MALFORMED] = "Entries that were malformed, or that the device refused to take.",
	[STAT_EVENTS]	= "Events that were queued.",
	[STAT_DROPPED]	= "Events that were lost because an event dispatcher was full.",
};

/*
 * Print a label value.  The format escapes three characters.  It wants UTF-8, and has no escape for
 * other control characters, so these and invalid bytes are replaced.
 */
static void put_value(FILE *f, const char *value)
{
	const unsigned char *s = (const unsigned char *)value;
	size_t len;

	for (; *s; s += len) {
		len = text_utf8_len(s);
		if (*s == '\n') {
			fputs("\\n", f);
		} else if (!len || *s < 0x20 || *s == 0x7f) {
			len = 1;
			fputc('_', f);
		} else if (*s == '"' || *s == '\\') {
			fprintf(f, "\\%c", *s);
		} else {
			fwrite(s, 1, len, f);
		}
	}
}

static void put_labels(FILE *f, const struct counts *row)
{
	fputs("{adapter=\"", f);
	put_value(f, row->adapter);
	fprintf(f, "\",port=\"%u\"}", row->id);
}

static void put_head(FILE *f, const char *name, const char *suffix, const char *text,
		     const char *type)
{
	fprintf(f, "# HELP dat_adapter_%s%s %s\n", name, suffix, text);
	fprintf(f, "# TYPE dat_adapter_%s%s %s\n", name, suffix, type);
}

static void put_all(FILE *f, const struct sample *s)
{
	const struct counts *row, *end = s->row + s->n;
	int i;

	put_head(f, "active", "", "1 if the port of the adapter is up, else 0.", "gauge");
	for (row = s->row; row < end; row++) {
		fputs("dat_adapter_active", f);
		put_labels(f, row);
		fprintf(f, " %d\n", row->active);
	}
	for (i = 0; i < STATS; i++) {
		put_head(f, stat_names[i], "_total", help[i], "counter");
		for (row = s->row; row < end; row++) {
			if (!(row->has & 1U << i))
				continue;
			fprintf(f, "dat_adapter_%s_total", stat_names[i]);
			put_labels(f, row);
			fprintf(f, " %" PRIu64 "\n", row->count[i]);
		}
	}
}

int prom_write(const struct sample *s, const char *file)
{
	char *text = NULL;
	size_t len = 0;
	FILE *f;
	int ret;

	if (!strcmp(file, "-")) {
		put_all(stdout, s);
		return 0;
	}
	f = open_memstream(&text, &len);
	if (!f)
		tool_die("no memory");
	put_all(f, s);
	if (fclose(f))
		tool_die("no memory");
	ret = file_write(file, text, len, 0);
	free(text);
	return ret;
}
