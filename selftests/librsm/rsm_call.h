/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) The dat authors */
/* Calls of the ioctls of /dev/rsm without the library. */
#ifndef RSM_CALL_H
#define RSM_CALL_H

#include <errno.h>
#include <stdint.h>
#include <sys/ioctl.h>

#include <rdma/dat_rsm.h>

/*
 * Returns 0, -errno, or the positive error that the call reports in its argument.  -EPROTO: the
 * return value of the ioctl contradicts the error in the argument.
 */
static inline int r_call(int fd, unsigned long cmd, void *arg)
{
	const struct {
		uint32_t size;
		uint32_t err;
	} *head = arg;

	if (!ioctl(fd, cmd, arg))
		return head->err ? -EPROTO : 0;
	if (errno != EREMOTEIO)
		return -errno;
	return head->err ? (int)head->err : -EPROTO;
}

#define CALL(fd, nr, arg) r_call(fd, DAT_IOC_RSM_##nr, arg)

#endif /* RSM_CALL_H */
