// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/* Translation of errno values to DAT_RETURN. */
#include <errno.h>

#include "err.h"

static const struct {
	int			err;
	DAT_RETURN_TYPE		type;
	DAT_RETURN_SUBTYPE	subtype;
} errnos[] = {
	{ ENOMEM,	DAT_INSUFFICIENT_RESOURCES,	DAT_RESOURCE_MEMORY },
	{ EINVAL,	DAT_INVALID_PARAMETER,		DAT_NO_SUBTYPE },
	{ EOPNOTSUPP,	DAT_MODEL_NOT_SUPPORTED,	DAT_NO_SUBTYPE },
	{ ENOENT,	DAT_INVALID_HANDLE,		DAT_NO_SUBTYPE },
	/* EFAULT: the consumer's memory is unmapped or not writable */
	{ EFAULT,	DAT_INVALID_PARAMETER,		DAT_NO_SUBTYPE },
	/* EPERM: a privileged qualifier, or a child process that uses its parent's handles */
	{ EPERM,	DAT_PRIVILEGES_VIOLATION,	DAT_NO_SUBTYPE },
	{ EACCES,	DAT_PRIVILEGES_VIOLATION,	DAT_NO_SUBTYPE },
	{ EXDEV,	DAT_PROTECTION_VIOLATION,	DAT_NO_SUBTYPE },
	{ EBUSY,	DAT_INVALID_STATE,		DAT_NO_SUBTYPE },
	{ EISCONN,	DAT_INVALID_STATE,		DAT_NO_SUBTYPE },
	{ EADDRINUSE,	DAT_CONN_QUAL_IN_USE,		DAT_NO_SUBTYPE },
	{ ENETUNREACH,	DAT_INVALID_ADDRESS,		DAT_INVALID_ADDRESS_UNREACHABLE },
	{ EAFNOSUPPORT,	DAT_INVALID_ADDRESS,		DAT_INVALID_ADDRESS_UNSUPPORTED },
	{ ENOSPC,	DAT_QUEUE_FULL,			DAT_NO_SUBTYPE },
	{ ETIMEDOUT,	DAT_TIMEOUT_EXPIRED,		DAT_NO_SUBTYPE },
	{ EINTR,	DAT_INTERRUPTED_CALL,		DAT_NO_SUBTYPE },
	{ ECANCELED,	DAT_INVALID_STATE,		DAT_INVALID_STATE_EVD_UNWAITABLE },
	{ ESHUTDOWN,	DAT_ABORT,			DAT_NO_SUBTYPE },
	/* EMFILE, ENFILE: too many open files, in the process or in the host */
	{ EMFILE,	DAT_INSUFFICIENT_RESOURCES,	DAT_RESOURCE_DEVICE },
	{ ENFILE,	DAT_INSUFFICIENT_RESOURCES,	DAT_RESOURCE_DEVICE },
	{ ENODEV,	DAT_INTERNAL_ERROR,		DAT_RESOURCE_DEVICE },
	/* EBADF: the program has closed the descriptor of the IA */
	{ EBADF,	DAT_INTERNAL_ERROR,		DAT_RESOURCE_DEVICE },
};

DAT_RETURN dat_err_from_errno(int err)
{
	unsigned int i;

	for (i = 0; i < sizeof(errnos) / sizeof(errnos[0]); i++)
		if (errnos[i].err == err)
			return DAT_ERR(errnos[i].type, errnos[i].subtype);
	/*
	 * If the driver returns ENOTTY, E2BIG, or an errno that dat_ioctl.h does not specify, there
	 * is a bug.
	 */
	return DAT_ERR(DAT_INTERNAL_ERROR, DAT_NO_SUBTYPE);
}
