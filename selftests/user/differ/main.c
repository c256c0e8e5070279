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
#define CHECK_ALL	512		/* steps between comparisons of all memory */
#define SILENCE_US	10000		/* time for events that nothing has expected */
#define MAX_DROPS	4096
#define MAX_LINE	1024

struct shared *shared;
uint32_t me, step;
bool easy;
const char *adapter = "rxe0";
uint64_t qual = T_QUAL, features;
char *base[SIDES];

static uint64_t seed;
static pid_t other;		/* process of side 1, or of side 0 */
/*
 * Number of steps up to the last one that has concerned a side, and the same at the begin of this
 * step.
 */
static uint32_t concerned[SIDES], before[SIDES];
static struct {
	uint32_t from, to;
} drops[MAX_DROPS];
static int ndrops;

/* --- output -------------------------------------------------------------------- */

static void put(const char *fmt, va_list args)
{
	char *to = shared->out[me];
	uint32_t n = shared->used[me];

	if (n + MAX_LINE > OUT_SIZE)
		fail("the steps print too much");
	n += snprintf(to + n, MAX_LINE / 2, "%u %u ", step, me);
	n += vsnprintf(to + n, MAX_LINE / 2, fmt, args);
	to[n++] = '\n';
	/* Side 0 may print at any time because this side has failed. */
	__atomic_store_n(&shared->used[me], n, __ATOMIC_RELEASE);
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

/* Prints the lines of both sides in the order of the steps. */
static void flush_lines(void)
{
	uint32_t at[SIDES] = {}, side, n;
	const char *line;

	while (at[0] < shared->used[0] || at[1] < shared->used[1]) {
		side = at[0] == shared->used[0];
		if (!side && at[1] < shared->used[1])
			side = strtoul(shared->out[1] + at[1], NULL, 10) <
			       strtoul(shared->out[0] + at[0], NULL, 10);
		line = shared->out[side] + at[side];
		n = strchr(line, '\n') + 1 - line;
		fwrite(line, 1, n, stdout);
		at[side] += n;
	}
	shared->used[0] = 0;
	shared->used[1] = 0;
}

/* Side 0 prints why a side has failed, behind the steps so far. */
static void __attribute__((noreturn)) end_failed(void)
{
	if (me == 0) {
		flush_lines();
		printf("# step %u: %s\n", shared->at, shared->why);
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
		shared->at = step;
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

/* Fails if the other side has failed, or has ended before the number @at has become @least. */
static void check_other(const uint32_t *at, uint32_t least)
{
	bool ended = me == 0 ? waitpid(other, NULL, WNOHANG) != 0 : getppid() != other;

	if (__atomic_load_n(&shared->failed, __ATOMIC_SEQ_CST))
		end_failed();
	if (ended && (int32_t)(__atomic_load_n(at, __ATOMIC_SEQ_CST) - least) < 0)
		fail("the other process has ended");
}

/* Sets a number that the other side may wait for. */
static void publish(uint32_t *at, uint32_t value)
{
	__atomic_store_n(at, value, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&shared->asleep[!me], __ATOMIC_SEQ_CST))
		futex(at, FUTEX_WAKE, 1);
}

/* Waits until a number of the other side is @least or more. */
static void await(uint32_t *at, uint32_t least)
{
	uint32_t spins = 0, seen;

	while (seen = __atomic_load_n(at, __ATOMIC_SEQ_CST), (int32_t)(seen - least) < 0) {
		if (spins++ < SPINS)
			continue;
		__atomic_store_n(&shared->asleep[me], 1, __ATOMIC_SEQ_CST);
		if (__atomic_load_n(at, __ATOMIC_SEQ_CST) == seen)
			futex(at, FUTEX_WAIT, seen);
		__atomic_store_n(&shared->asleep[me], 0, __ATOMIC_SEQ_CST);
		check_other(at, least);
	}
}

/* Waits until the other side has come as far as this one. */
void meet(void)
{
	publish(&shared->met[me], shared->met[me] + 1);
	await(&shared->met[!me], shared->met[me]);
}

/* The step does something at @side, or has an effect that this side checks. */
void concern(uint32_t side)
{
	concerned[side] = step + 1;
}

bool is_concerned(void)
{
	return concerned[me] > step;
}

/*
 * Returns whether this process is @side, which then makes a call.  The other side has done the
 * steps before that concern it, so all their effects are there.
 */
bool acts(uint32_t side)
{
	concern(side);
	if (side != me)
		return false;
	await(&shared->done[!me], before[!me]);
	return true;
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

	meet();
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

/* Side 0 compares what the step has written. */
static void check_memory(void)
{
	if (me == 0)
		await(&shared->done[1], concerned[1]);
	memory_check_touched();
}

/*
 * Collects the events of a step.  The other side goes on without this one, until it makes a call
 * and this step has concerned this side.
 */
static void end_step(void)
{
	collect_events();
	if (is_concerned())
		expect_silence();
	if (memory_touched())
		check_memory();
	if (is_concerned())
		publish(&shared->done[me], step + 1);
}

/* Compares all memory, and looks for events that no step has expected. */
static void check_all(void)
{
	meet();
	usleep(SILENCE_US);
	expect_silence();
	memory_check_all();
	if (me == 0)
		flush_lines();
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
	model_start();
	objects_open();
	script_begin_side(0);
	script_begin_side(1);
	meet();
	memset(concerned, 0, sizeof(concerned));
	for (step = 0; step < steps; step++) {
		if (is_dropped(step))
			continue;
		memcpy(before, concerned, sizeof(before));
		rnd_begin(seed, step);
		script_step();
		end_step();
		if (step % CHECK_ALL == CHECK_ALL - 1)
			check_all();
	}
	check_all();
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
