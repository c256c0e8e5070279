// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/* Progress of a copy, on a terminal. */
#include <stdio.h>
#include <unistd.h>

#include "cp.h"

static void progress_show(struct cp_progress *g, const char *end)
{
	double seconds = (double)(tool_now_ns() - g->start_ns) * 1e-9;
	/* More than the size is read of a file that grows, or that does not tell its size. */
	int percent = g->done < g->size ? (int)(g->done * 100 / g->size) : 100;
	char bar[31];
	int i;

	for (i = 0; i < 30; i++)
		bar[i] = i < percent * 30 / 100 ? '#' : '.';
	bar[30] = 0;
	fprintf(stderr, "\r%s [%s] %3d%% %8.1f MB %7.1f MB/s%s", g->name, bar, percent,
		(double)g->done / 1e6, seconds > 0 ? (double)g->done / 1e6 / seconds : 0, end);
	fflush(stderr);
	g->shown_ns = tool_now_ns();
}

void cp_progress_start(struct cp_progress *g, const char *name, uint64_t size, int quiet)
{
	*g = (struct cp_progress) {
		.name = name, .size = size, .start_ns = tool_now_ns(),
		.quiet = quiet || !isatty(STDERR_FILENO),
	};
	g->shown_ns = g->start_ns;
}

void cp_progress_add(struct cp_progress *g, uint64_t bytes)
{
	uint64_t now = tool_now_ns();

	g->done += bytes;
	if (g->quiet || now - g->start_ns < CP_PROGRESS_NS || now - g->shown_ns < CP_REDRAW_NS)
		return;
	progress_show(g, "");
}

/* End the line of the bar, if there is one. */
void cp_progress_end(struct cp_progress *g)
{
	if (g->shown_ns != g->start_ns)
		progress_show(g, "\n");
}
