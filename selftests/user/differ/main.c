// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * differ -a ADAPTER [-s SEED] [-n STEPS] [-q QUALIFIER] [-e] [-d FROM-TO]...
 *
 * Runs a random script and prints each step and each event.  The output of a seed is the same over
 * all adapters.  -e: an easy script, in which no message waits for its receive and nothing fails,
 * since iWARP has no RNR and does not tell why it refuses an access.  -d: leaves steps out.
 *
 * Exit status: 1 if an event, a status or a byte is not what the model expects.
 */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "differ.h"

#define SPINS		200
#define CHECK_ALL	256		/* steps between comparisons of all memory */
#define SILENCE_US	20000		/* time for events that nothing has expected */
#define MAX_DROPS	4096

struct shared *shared;
uint32_t me, step;
static uint32_t half;	/* where this step prints */
bool easy;
const char *adapter = "rxe0";
uint64_t qual = T_QUAL, features;
char *base[SIDES];

static uint64_t seed;
static pid_t other;		/* process of side 1, or of side 0 */
static struct {
	uint32_t from, to;
} drops[MAX_DROPS];
static int ndrops;

/* --- output -------------------------------------------------------------------- */

static void put(const char *fmt, va_list args)
{
	uint32_t *used = &shared->used[half][me];
	char *to = shared->out[half][me];

	*used += snprintf(to + *used, OUT_SIZE - *used, "%u %u ", step, me);
	*used += vsnprintf(to + *used, OUT_SIZE - *used, fmt, args);
	*used += snprintf(to + *used, OUT_SIZE - *used, "\n");
	if (*used >= OUT_SIZE)
		fail("a step prints too much");
}

/* Adds a line to the output of this side. */
void say(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	put(fmt, args);
	va_end(args);
}

/* Adds a line about the script, which both sides know. */
void describe(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	if (me == 0)
		put(fmt, args);
	va_end(args);
}

static void flush_lines(uint32_t from)
{
	uint32_t side;

	for (side = 0; side < SIDES; side++) {
		fwrite(shared->out[from][side], 1, shared->used[from][side], stdout);
		shared->used[from][side] = 0;
	}
}

/* Side 0 prints why a side has failed, behind the steps so far. */
static void __attribute__((noreturn)) end_failed(void)
{
	if (me == 0) {
		flush_lines(!half);
		flush_lines(half);
		printf("# step %u: %s\n", step, shared->why);
		fflush(stdout);
	}
	_exit(1);
}

/* Ends this process, and so the other one soon. */
void fail(const char *fmt, ...)
{
	va_list args;

	if (!__atomic_load_n(&shared->failed, __ATOMIC_SEQ_CST)) {
		va_start(args, fmt);
		vsnprintf(shared->why, sizeof(shared->why), fmt, args);
		va_end(args);
		__atomic_store_n(&shared->failed, 1, __ATOMIC_SEQ_CST);
	}
	end_failed();
}

void check(int ret, int want, const char *what)
{
	if (ret != want)
		fail("%s of side %u returns %d instead of %d", what, me, ret, want);
}

/* --- two processes ------------------------------------------------------------- */

static void futex(uint32_t *at, int op, uint32_t value)
{
	const struct timespec tick = { .tv_nsec = 100000000 };

	syscall(SYS_futex, at, op, value, &tick, NULL, 0);
}

static void check_other(void)
{
	if (__atomic_load_n(&shared->failed, __ATOMIC_SEQ_CST))
		end_failed();
	if (me == 0 ? waitpid(other, NULL, WNOHANG) != 0 : getppid() != other)
		fail("the other process has ended");
}

/* Waits until the other side has come as far as this one. */
void meet(void)
{
	uint32_t *theirs = &shared->met[!me], mine_now, spins = 0, seen;

	mine_now = __atomic_add_fetch(&shared->met[me], 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&shared->asleep[!me], __ATOMIC_SEQ_CST))
		futex(&shared->met[me], FUTEX_WAKE, 1);
	while (seen = __atomic_load_n(theirs, __ATOMIC_SEQ_CST), (int32_t)(seen - mine_now) < 0) {
		if (spins++ < SPINS)
			continue;
		__atomic_store_n(&shared->asleep[me], 1, __ATOMIC_SEQ_CST);
		if (__atomic_load_n(theirs, __ATOMIC_SEQ_CST) == seen)
			futex(theirs, FUTEX_WAIT, seen);
		__atomic_store_n(&shared->asleep[me], 0, __ATOMIC_SEQ_CST);
		check_other();
	}
}

static void start_side_1(void)
{
	pid_t parent = getpid();

	memset(shared->met, 0, sizeof(shared->met));
	memset(shared->asleep, 0, sizeof(shared->asleep));
	fflush(stdout);
	other = fork();
	if (other)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	other = parent;
	me = 1;
}

/* The process of side 1 ends without closing anything, and another one begins. */
void replace_side_1(void)
{
	int how = rnd(2);

	if (me == 1 && how)
		_exit(0);
	while (me == 1)
		pause();
	if (!how)
		kill(other, SIGKILL);
	waitpid(other, NULL, 0);
	start_side_1();
	if (me == 1) {
		objects_forget();
		objects_open();
	}
}

/* --- the script ---------------------------------------------------------------- */

static void *map_shared(size_t size)
{
	void *va = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (va != MAP_FAILED)
		return va;
	perror("mmap");
	exit(2);
}

/* Waits for the other side, and compares what the last step has done.  @all: all memory. */
static void end_step(bool all)
{
	expect_silence();
	meet();
	if (me == 0)
		flush_lines(half);
	half = !half;
	if (!memory_touched() && !all)
		return;
	if (all) {
		usleep(SILENCE_US);
		expect_silence();
	}
	memory_check_touched();
	if (all)
		memory_check_all();
	meet();
}

static bool is_dropped(uint32_t n)
{
	int i;

	for (i = 0; i < ndrops; i++)
		if (n >= drops[i].from && n < drops[i].to)
			return true;
	return false;
}

static void run(uint32_t steps)
{
	bool did, all;

	model_start();
	objects_open();
	script_begin_side(0);
	script_begin_side(1);
	end_step(false);
	for (step = 0; step < steps; step++) {
		if (is_dropped(step))
			continue;
		rnd_begin(seed, step);
		did = script_step();
		all = step % CHECK_ALL == CHECK_ALL - 1;
		/* Both sides know that a step does nothing, so they need not meet. */
		if (did)
			collect_events();
		if (did || all)
			end_step(all);
	}
	end_step(true);
	if (me == 0)
		flush_lines(half);
	objects_close();
}

static void add_drop(const char *arg)
{
	if (ndrops == MAX_DROPS ||
	    sscanf(arg, "%u-%u", &drops[ndrops].from, &drops[ndrops].to) != 2) {
		fprintf(stderr, "differ: bad range %s\n", arg);
		exit(2);
	}
	ndrops++;
}

int main(int argc, char **argv)
{
	uint32_t steps = 10000;
	int c, status = 0;

	while ((c = getopt(argc, argv, "a:s:n:q:ed:")) != -1) {
		if (c == 'a')
			adapter = optarg;
		else if (c == 's')
			seed = strtoull(optarg, NULL, 0);
		else if (c == 'n')
			steps = strtoul(optarg, NULL, 0);
		else if (c == 'q')
			qual = strtoull(optarg, NULL, 0);
		else if (c == 'e')
			easy = true;
		else if (c == 'd')
			add_drop(optarg);
		else
			return 2;
	}
	/* Half of the scripts know that the end of a suppressed request may be reported late. */
	features = seed % 2 ? DAT_FEATURE_SILENT : 0;
	shared = map_shared(sizeof(*shared));
	base[0] = map_shared(MEMORY);
	base[1] = map_shared(MEMORY);
	memory_start();
	start_side_1();
	run(steps);
	if (me == 1)
		return 0;
	fflush(stdout);
	waitpid(other, &status, 0);
	return status ? 1 : 0;
}
