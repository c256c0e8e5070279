// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * Measures what two processes that wait for each other pay without DAT: a message goes through a
 * pipe to another process, and comes back through a second pipe.
 *
 * usage: bench_pipe [BYTES [COUNT]]
 *
 * Prints the median and the average of half a round trip in microseconds, as dat-perf does.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* Messages of at most PIPE_BUF bytes are written and read at once. */
static void pass(int fd, void *mem, size_t size, ssize_t (*op)(int, void *, size_t))
{
	if (op(fd, mem, size) == (ssize_t)size)
		return;
	perror("bench_pipe");
	exit(1);
}

static ssize_t put(int fd, void *mem, size_t size)
{
	return write(fd, mem, size);
}

static void answer(int in, int out, void *mem, size_t size, int n)
{
	int i;

	for (i = 0; i < n; i++) {
		pass(in, mem, size, read);
		pass(out, mem, size, put);
	}
	exit(0);
}

/* The first round trips, a tenth of the others, are not measured. */
static void ask(int in, int out, void *mem, size_t size, double *us, int warm, int n)
{
	double begun;
	int i;

	for (i = -warm; i < n; i++) {
		begun = now_ns();
		pass(out, mem, size, put);
		pass(in, mem, size, read);
		if (i >= 0)
			us[i] = (now_ns() - begun) / 2000;
	}
}

int main(int argc, char **argv)
{
	size_t size = argc > 1 ? strtoul(argv[1], NULL, 0) : 64;
	int n = argc > 2 ? atoi(argv[2]) : 1000, warm = n / 10, there[2], back[2], status, i;
	double *us = calloc(n > 0 ? n : 0, sizeof(*us)), sum = 0;
	char *mem = calloc(1, size);
	pid_t child;

	if (n < 1 || !size || size > 4096 || !us || !mem) {
		fprintf(stderr, "usage: bench_pipe [BYTES [COUNT]], at most 4096 bytes\n");
		return 2;
	}
	if (pipe(there) || pipe(back))
		return 1;
	child = fork();
	if (!child)
		answer(there[0], back[1], mem, size, warm + n);
	ask(back[0], there[1], mem, size, us, warm, n);
	if (child < 0 || waitpid(child, &status, 0) != child || status)
		return 1;
	for (i = 0; i < n; i++)
		sum += us[i];
	qsort(us, n, sizeof(*us), by_value);
	printf("%.3f %.3f\n", us[n / 2], sum / n);
	return 0;
}
