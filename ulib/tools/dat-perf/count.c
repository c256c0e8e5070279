// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/*
 * Counts the system calls of a program that receives messages in a steady state.  The client runs
 * as a child process, and ptrace() stops the child at every system call.  The child makes two
 * special system calls: one before and one after the system calls that are to be counted.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "perf.h"

/*
 * Arguments of mark().  mark() calls getpgid() with a process id that does not exist.  No other
 * code makes such calls.
 */
#define MARK_BEGIN	0x7fdabe61
#define MARK_END	0x7fdae4d0

static void mark(long id)
{
	syscall(SYS_getpgid, id);
}

static void measured(struct perf *p)
{
	uint64_t warmup = p->opt.iters / 10 + 1;

	perf_receive(p, warmup);
	mark(MARK_BEGIN);
	perf_receive(p, p->opt.iters - warmup);
	mark(MARK_END);
}

static void child(struct perf *p)
{
	const char *why;

	ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	raise(SIGSTOP);
	p->client = 1;
	tool_host_find(&p->host, p->args.host);
	tool_open_for(&p->tool, p->args.device, &p->host, 64);
	why = perf_too_much(p);
	if (why)
		tool_usage("%s", why);
	perf_prepare(p);
	perf_connect(p);
	perf_round_begin(p, p->args.sizes.at[0]);
	measured(p);
	perf_round_end(p);
	perf_no_more_rounds(p);
	perf_end(p);
	tool_close(&p->tool);
	exit(0);
}

struct count {
	int		inside;		/* flag: the child is between MARK_BEGIN and MARK_END */
	int		seen_end;
	uint64_t	syscalls;
};

/*
 * If the child enters a system call, count the call or note the mark.  Also called, without effect,
 * when the child returns from a system call.
 */
static void count_entry(pid_t pid, struct count *c)
{
	struct __ptrace_syscall_info info;

	memset(&info, 0, sizeof(info));
	if (ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof(info), &info) < 0)
		tool_die("ptrace cannot tell of system calls: %s", strerror(errno));
	if (info.op != PTRACE_SYSCALL_INFO_ENTRY)
		return;
	if (info.entry.nr == SYS_getpgid && info.entry.args[0] == MARK_BEGIN) {
		c->inside = 1;
	} else if (info.entry.nr == SYS_getpgid && info.entry.args[0] == MARK_END) {
		c->inside = 0;
		c->seen_end = 1;
	} else if (c->inside) {
		c->syscalls++;
	}
}

/* Count the system calls of the child until it ends.  Returns the wait status of the child. */
static int trace(pid_t pid, struct count *c)
{
	int status, sig = 0;

	if (waitpid(pid, &status, 0) < 0 || !WIFSTOPPED(status))
		tool_die("cannot trace the client");
	ptrace(PTRACE_SETOPTIONS, pid, NULL, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL);
	for (;;) {
		ptrace(PTRACE_SYSCALL, pid, NULL, (void *)(long)sig);
		if (waitpid(pid, &status, 0) < 0 || WIFEXITED(status) || WIFSIGNALED(status))
			return status;
		sig = 0;
		if (WSTOPSIG(status) == (SIGTRAP | 0x80))
			count_entry(pid, c);
		else
			sig = WSTOPSIG(status);
	}
}

int perf_count_syscalls(struct perf *p)
{
	uint64_t counted = p->opt.iters - (p->opt.iters / 10 + 1);
	struct count c = { 0 };
	int status;
	pid_t pid;

	if (!counted)
		tool_die("--iters is too small to count anything");
	pid = fork();
	if (pid < 0)
		tool_die("cannot fork: %s", strerror(errno));
	if (!pid)
		child(p);
	status = trace(pid, &c);
	/* Status 2 means wrong usage, which the child has already reported. */
	if (WIFEXITED(status) && WEXITSTATUS(status) == 2)
		return 2;
	if (!WIFEXITED(status) || WEXITSTATUS(status) || !c.seen_end)
		tool_die("the counted run failed");
	perf_json_begin(p);
	perf_json_syscalls(p, counted, c.syscalls);
	perf_json_end(p);
	if (!p->args.json)
		printf(" syscalls: %llu in %llu post_recv + dequeue, %s\n",
		       (unsigned long long)c.syscalls, (unsigned long long)counted,
		       p->opt.event ? "waiting for events" : "polling");
	return 0;
}
