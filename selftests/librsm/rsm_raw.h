/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) The dat authors */
/* The controller of tests that call /dev/rsm without the library. */
#ifndef RSM_RAW_H
#define RSM_RAW_H

#include "rsm_test.h"

#include "rsm_call.h"

/* Returns the number of the controller that this program is built for. */
static inline uint32_t raw_ctlr(int fd)
{
	struct dat_rsm_ctlr arg = { .size = sizeof(arg) };

	if (!r_rdma())
		return DAT_RSM_LOOPBACK;
	for (arg.ctlr = 1; !CALL(fd, CTLR, &arg); arg.ctlr++)
		if (!strcmp(arg.name, r_ctlr()))
			break;
	return arg.ctlr;
}

#endif /* RSM_RAW_H */
