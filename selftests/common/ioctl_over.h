/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) The dat authors */
/* For one file of a program: the libraries call its changed_ioctl() in place of ioctl(). */
#ifndef IOCTL_OVER_H
#define IOCTL_OVER_H

#include <stdarg.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static int changed_ioctl(int fd, unsigned long request, void *arg);

int ioctl(int fd, unsigned long request, ...)
{
	va_list ap;
	void *arg;

	va_start(ap, request);
	arg = va_arg(ap, void *);
	va_end(ap);
	return changed_ioctl(fd, request, arg);
}

static inline int real_ioctl(int fd, unsigned long request, void *arg)
{
	return (int)syscall(SYS_ioctl, fd, request, arg);
}

#endif /* IOCTL_OVER_H */
