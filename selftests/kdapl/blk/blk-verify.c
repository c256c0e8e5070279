// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/*
 * blk-verify SECONDS THREADS DEVICE: write to a device at random and verify what is read back.
 *
 * DEVICE, a block device or a file, must contain only zeros.  Each thread uses a part of its own.
 * A sector that was written contains a pattern made of its number and its write count.
 *
 * Exit status: 0 all data were right; 1 a read returned wrong data; 2 the test could not run; 3 an
 * I/O error ended the test, and stdout says when.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SECTOR		512
#define MAX_SECTORS	1024	/* maximum length of a read() or write() */
#define MAX_THREADS	32

struct worker {
	pthread_t	thread;
	int		fd;
	uint64_t	first;		/* number of the thread's first sector */
	uint64_t	sectors;
	uint32_t	*written;	/* write count of each sector */
	unsigned int	seed;
	double		until;
	uint64_t	bytes;
	int		result;
};

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void fill(uint64_t *to, uint64_t sector, uint32_t times)
{
	uint64_t word = sector << 24 ^ times;
	unsigned int i;

	if (!times) {
		memset(to, 0, SECTOR);
		return;
	}
	for (i = 0; i < SECTOR / 8; i++, word = word * 6364136223846793005ULL + 1)
		to[i] = word;
}

/* Write @n sectors.  Return 0 or an errno. */
static int do_write(struct worker *w, char *buf, uint64_t at, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		fill((uint64_t *)(buf + i * SECTOR), w->first + at + i, w->written[at + i] + 1);
	if (pwrite(w->fd, buf, n * SECTOR, (off_t)((w->first + at) * SECTOR)) != n * SECTOR)
		return errno ? errno : EIO;
	for (i = 0; i < n; i++)
		w->written[at + i]++;
	return 0;
}

static int do_read(struct worker *w, char *buf, uint64_t at, unsigned int n)
{
	uint64_t want[SECTOR / 8];
	unsigned int i;

	if (pread(w->fd, buf, n * SECTOR, (off_t)((w->first + at) * SECTOR)) != n * SECTOR)
		return errno ? errno : EIO;
	for (i = 0; i < n; i++) {
		fill(want, w->first + at + i, w->written[at + i]);
		if (memcmp(want, buf + i * SECTOR, SECTOR)) {
			printf("sector %llu is not what was written\n",
			       (unsigned long long)(w->first + at + i));
			w->result = 1;
		}
	}
	return 0;
}

static void *work(void *arg)
{
	struct worker *w = arg;
	unsigned int n;
	uint64_t at;
	void *buf;
	int err = 0;

	if (posix_memalign(&buf, 4096, MAX_SECTORS * SECTOR + 4096)) {
		w->result = 2;
		return NULL;
	}
	while (!err && !w->result && now() < w->until) {
		/*
		 * Most operations are short, some are as long as possible, and most are not aligned
		 * to a page.
		 */
		n = 1 + rand_r(&w->seed) % (rand_r(&w->seed) % 4 ? 16 : MAX_SECTORS);
		at = (uint64_t)rand_r(&w->seed) % (w->sectors - n);
		err = (rand_r(&w->seed) % 2 ? do_write : do_read)
			(w, (char *)buf + rand_r(&w->seed) % 8 * SECTOR, at, n);
		w->bytes += n * SECTOR;
	}
	if (err) {
		printf("%s at %.1f s before the end\n", strerror(err), w->until - now());
		w->result = 3;
	}
	free(buf);
	return NULL;
}

static int run(struct worker *w, unsigned int n)
{
	uint64_t bytes = 0;
	unsigned int i;
	int result = 0;

	for (i = 0; i < n; i++)
		if (pthread_create(&w[i].thread, NULL, work, &w[i]))
			return 2;
	for (i = 0; i < n; i++) {
		pthread_join(w[i].thread, NULL);
		bytes += w[i].bytes;
		/* Wrong data take precedence over any other result. */
		if (result != 1 && w[i].result)
			result = w[i].result;
	}
	printf("%llu KiB\n", (unsigned long long)bytes / 1024);
	return result;
}

int main(int argc, char **argv)
{
	static struct worker w[MAX_THREADS];
	unsigned int i, n;
	double until;
	off_t size;
	int fd;

	if (argc != 4)
		return 2;
	n = (unsigned int)atoi(argv[2]);
	fd = open(argv[3], O_RDWR | O_DIRECT);
	size = fd < 0 ? -1 : lseek(fd, 0, SEEK_END);
	if (n < 1 || n > MAX_THREADS || size / n < 2 * MAX_SECTORS * SECTOR) {
		perror(argv[3]);
		return 2;
	}
	until = now() + atof(argv[1]);
	for (i = 0; i < n; i++) {
		w[i] = (struct worker) {
			.fd = fd, .sectors = (uint64_t)size / SECTOR / n, .seed = i,
			.until = until,
		};
		w[i].first = i * w[i].sectors;
		w[i].written = calloc(w[i].sectors, sizeof(*w[i].written));
		if (!w[i].written)
			return 2;
	}
	return run(w, n);
}
