/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Values that DAT leaves to vendors.  Those of the three bit sets in
 * struct dat_provider_attr are the ones that Solaris's provider uses.
 */
#ifndef DAT_VENDOR_SPECIFIC_H
#define DAT_VENDOR_SPECIFIC_H

/* srq_watermarks_supported */
#define DAT_SRQ_WATERMARKS_LOW		0x001
#define DAT_SRQ_WATERMARKS_SOFT_HIGH	0x010
#define DAT_SRQ_WATERMARKS_HARD_HIGH	0x100

/* srq_info_supported: counts that dat_srq_query() knows */
#define DAT_SRQ_INFO_AVAILABLE		0x01
#define DAT_SRQ_INFO_OUTSTANDING	0x10

/* ep_recv_info_supported: counts that dat_ep_recv_query() knows */
#define DAT_EP_RECV_INFO_ALLOCATED	0x01
#define DAT_EP_RECV_INFO_SPAN		0x10

#endif /* DAT_VENDOR_SPECIFIC_H */
