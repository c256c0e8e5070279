// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * Errors.  The functions of this module return 0 or a negative errno.  Only this file converts an
 * errno to enum dat_rsm_err, which processes and peers see, and back.
 */
#include <linux/kernel.h>

#include "rsm/rdma.h"

/*
 * Each errno and each code is here once.  @wire: flag: if an exporter sends the error, the
 * importing process gets the same error.  If an exporter sends an error without the flag, the
 * importing process gets DAT_RSM_UNREACHABLE.
 */
static const struct {
	int			err;
	enum dat_rsm_err	code;
	bool			wire;
} errors[] = {
	{ ENXIO,		DAT_RSM_BAD_CTLR },
	{ ENODEV,		DAT_RSM_CTLR_NOT_PRESENT },
	{ EBADF,		DAT_RSM_BAD_SEG },
	{ EALREADY,		DAT_RSM_ALREADY_PUBLISHED },
	{ ENOENT,		DAT_RSM_NOT_PUBLISHED,		.wire = true },
	{ ENONET,		DAT_RSM_NOT_PUBLISHED_TO_NODE,	.wire = true },
	{ EPERM,		DAT_RSM_NOT_CREATOR },
	{ EBADR,		DAT_RSM_BAD_SGIO },
	{ ESTALE,		DAT_RSM_BAD_LOCALMEM },
	{ EFAULT,		DAT_RSM_BAD_ADDR },
	{ EDOM,			DAT_RSM_BAD_ALIGNMENT },
	{ ERANGE,		DAT_RSM_BAD_OFFSET },
	{ EMSGSIZE,		DAT_RSM_BAD_LENGTH },
	{ EBADE,		DAT_RSM_BAD_ACL },
	{ EADDRNOTAVAIL,	DAT_RSM_RESERVED_SEGID },
	{ EADDRINUSE,		DAT_RSM_SEGID_IN_USE },
	{ EACCES,		DAT_RSM_PERM_DENIED,		.wire = true },
	{ ENOLCK,		DAT_RSM_LOCKS_NOT_SUPPORTED },
	{ EROFS,		DAT_RSM_REBIND_NOT_ALLOWED },
	{ ENOSPC,		DAT_RSM_NO_RESOURCES,		.wire = true },
	{ ENOMEM,		DAT_RSM_NO_MEM,			.wire = true },
	{ EHOSTUNREACH,		DAT_RSM_UNREACHABLE },
	{ ECONNABORTED,		DAT_RSM_CONN_ABORTED },
	{ EINTR,		DAT_RSM_INTERRUPTED },
	{ ETIMEDOUT,		DAT_RSM_TIMEOUT },
	{ EKEYREJECTED,		DAT_RSM_BAD_CONF,		.wire = true },
};

enum dat_rsm_err rsm_error(int err)
{
	unsigned int i;

	/* Every ioctl calls this function, so do not search after a success. */
	for (i = 0; err && i < ARRAY_SIZE(errors); i++)
		if (errors[i].err == -err)
			return errors[i].code;
	return DAT_RSM_OK;
}

__be32 rsm_error_to_wire(int err)
{
	enum dat_rsm_err code = rsm_error(err);

	/* A peer takes 0 for success, so an errno without a code must not become 0. */
	return cpu_to_be32(err && !code ? DAT_RSM_NO_RESOURCES : code);
}

int rsm_error_of_wire(__be32 code)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(errors); i++)
		if (errors[i].wire && errors[i].code == be32_to_cpu(code))
			return -errors[i].err;
	return -EHOSTUNREACH;
}

int rsm_dat_error(DAT_RETURN rc)
{
	switch (DAT_GET_TYPE(rc)) {
	case DAT_PROVIDER_NOT_FOUND:
	case DAT_MODEL_NOT_SUPPORTED:
	case DAT_INTERNAL_ERROR:
		return -ENODEV;
	case DAT_INSUFFICIENT_RESOURCES:
		if (DAT_GET_SUBTYPE(rc) == DAT_RESOURCE_MEMORY)
			return -ENOMEM;
		/* The adapter has no address.  A removed adapter causes DAT_INTERNAL_ERROR. */
		if (DAT_GET_SUBTYPE(rc) == DAT_RESOURCE_DEVICE)
			return -ENODEV;
		break;
	}
	return -ENOSPC;
}
