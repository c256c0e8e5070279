/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Copyright (c) The dat authors */
/*
 * Values that DAT leaves to vendors.  The bits below, for three fields of struct dat_provider_attr,
 * have the values that the provider of Solaris uses.
 */
#ifndef DAT_VENDOR_SPECIFIC_H
#define DAT_VENDOR_SPECIFIC_H

/* Bits of srq_watermarks_supported. */
#define DAT_SRQ_WATERMARKS_LOW		0x001
#define DAT_SRQ_WATERMARKS_SOFT_HIGH	0x010
#define DAT_SRQ_WATERMARKS_HARD_HIGH	0x100

/* Bits of srq_info_supported: counts that dat_srq_query() returns. */
#define DAT_SRQ_INFO_AVAILABLE		0x01
#define DAT_SRQ_INFO_OUTSTANDING	0x10

/* Bits of ep_recv_info_supported: counts that dat_ep_recv_query() returns. */
#define DAT_EP_RECV_INFO_ALLOCATED	0x01
#define DAT_EP_RECV_INFO_SPAN		0x10

#endif /* DAT_VENDOR_SPECIFIC_H */
