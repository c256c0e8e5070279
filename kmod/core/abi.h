/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) The dat authors */
/*
 * Ends of the enumerations (last value + 1) and sets of the known flags in <rdma/dat_ioctl.h> and
 * <rdma/dat_ring.h>.  These values change as the ABI grows, so the headers for user space do not
 * contain them.
 */
#ifndef _DAT_ABI_H
#define _DAT_ABI_H

#include <rdma/dat_ioctl.h>

/*
 * Numbers of queues of an open file: the default, and the largest number that a process can
 * request.  The largest number suffices for both queues of 65,536 EPs and for 65,536 SRQs.
 */
#define DAT_QUEUES_DEFAULT	32768
#define DAT_QUEUES_LIMIT	196608
static_assert(DAT_QUEUES_LIMIT < DAT_KICK_REPORT);

#define DAT_FEATURES_ALL	(DAT_FEATURE_WORDS | DAT_FEATURE_SILENT | DAT_FEATURE_INLINE | \
				 DAT_FEATURE_REJECT | DAT_FEATURE_IMMEDIATE | DAT_FEATURE_WATCH)
#define DAT_NR_LAST		(DAT_NR_LMR_STALE + 1)
#define DAT_LMR_FLAGS_ALL	(DAT_LMR_SHARED | DAT_LMR_WATCHED)
#define DAT_OBJ_LAST		(DAT_OBJ_RMR + 1)
#define DAT_OP_LAST		(DAT_OP_RMR_BIND + 1)
/* Without DAT_SQE_IMM, which dat_wr.with_imm replaces. */
#define DAT_SQE_FLAGS_ALL	(DAT_SQE_SUPPRESS | DAT_SQE_SOLICITED | DAT_SQE_UNSIGNALLED | \
				 DAT_SQE_FENCE)
#define DAT_EP_FLAGS_ALL	(DAT_SQE_SUPPRESS | DAT_SQE_SOLICITED | DAT_SQE_UNSIGNALLED)
#define DAT_QOS_ALL		(DAT_QOS_CLASS_HIGH_THROUGHPUT | DAT_QOS_CLASS_LOW_LATENCY | \
				 DAT_QOS_CLASS_ECONOMY | DAT_QOS_CLASS_PREMIUM)
#define DAT_STREAM_ALL		(DAT_STREAM_SOFTWARE | DAT_STREAM_CR | DAT_STREAM_DTO | \
				 DAT_STREAM_CONNECTION | DAT_STREAM_RMR_BIND | DAT_STREAM_ASYNC)
#define DAT_PRIV_ALL		(DAT_PRIV_LOCAL_READ | DAT_PRIV_REMOTE_READ | \
				 DAT_PRIV_LOCAL_WRITE | DAT_PRIV_REMOTE_WRITE)

#endif /* _DAT_ABI_H */
