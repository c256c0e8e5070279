/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) The dat authors */
/* Differences between kernel versions in struct ib_device_ops. */
#ifndef _MEAN_COMPAT_H
#define _MEAN_COMPAT_H

#include <linux/version.h>
#include <rdma/ib_verbs.h>

/* Linux 6.11 replaced the udata of create_cq() by the attributes of the system call. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 11, 0)
#define mean_cq_caller	ib_udata
#else
#define mean_cq_caller	uverbs_attr_bundle
#endif

/* Linux 6.17 added a DMA handle to the arguments of reg_user_mr(). */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 17, 0)
#define MEAN_DMAH_PARAM
#define MEAN_DMAH
#else
#define MEAN_DMAH_PARAM	struct ib_dmah *dmah,
#define MEAN_DMAH	dmah,
#endif

#endif /* _MEAN_COMPAT_H */
