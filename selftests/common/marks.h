/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) The dat authors */
/* Count the system calls that a traced process makes between two marks. */
#ifndef MARKS_H
#define MARKS_H

#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

/*
 * Arguments by which a tracer recognizes the getpriority() calls of mark(): the calls have no
 * effect, and no other code passes these values.
 */
#define MARK_START	0x5eed0001
#define MARK_END	0x5eed0002

static inline void mark(long which)
{
	syscall(SYS_getpriority, which, 0);
}

/* Members of struct user_regs_struct that have the number and the arguments of a system call. */
#ifdef __x86_64__
#define CALL_NR		orig_rax
#define CALL_ARG1	rdi
#define CALL_ARG2	rsi
#define CALL_ARG3	rdx
#else
#define CALL_NR		orig_eax
#define CALL_ARG1	ebx
#define CALL_ARG2	ecx
#define CALL_ARG3	edx
#endif

/* Return nonzero to count the system call that @pid is about to make. */
typedef int count_fn(pid_t pid, const struct user_regs_struct *regs);

/*
 * Count the system calls that @pid makes between the two marks, but only those for which @counts
 * returns nonzero.  Return their number, or -1 on error.
 */
static inline long count_some_between_marks(pid_t pid, count_fn *counts, int *exit_status)
{
	struct user_regs_struct regs;
	long count = -1, result = -1;
	int status, entry = 0;

	*exit_status = -1;
	if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status) ||
	    ptrace(PTRACE_SETOPTIONS, pid, NULL, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL))
		return -1;
	for (;;) {
		int sig = WIFSTOPPED(status) && !(WSTOPSIG(status) & 0x80) &&
			  WSTOPSIG(status) != SIGSTOP ? WSTOPSIG(status) : 0;

		if (ptrace(PTRACE_SYSCALL, pid, NULL, (void *)(long)sig) ||
		    waitpid(pid, &status, 0) != pid)
			return -1;
		if (WIFEXITED(status) || WIFSIGNALED(status))
			break;
		if (WSTOPSIG(status) != (SIGTRAP | 0x80))
			continue;
		entry = !entry;
		if (!entry || ptrace(PTRACE_GETREGS, pid, NULL, &regs))
			continue;
		if (regs.CALL_NR == SYS_getpriority && regs.CALL_ARG1 == MARK_START)
			count = 0;
		else if (regs.CALL_NR == SYS_getpriority && regs.CALL_ARG1 == MARK_END)
			result = count;
		else if (count >= 0 && counts(pid, &regs))
			count++;
	}
	*exit_status = status;
	return result;
}

static inline int count_all(pid_t pid, const struct user_regs_struct *regs)
{
	return 1;
}

/* Return the number of all system calls of @pid between the two marks, or -1 on error. */
static inline long count_between_marks(pid_t pid, int *exit_status)
{
	return count_some_between_marks(pid, count_all, exit_status);
}

#endif /* MARKS_H */
