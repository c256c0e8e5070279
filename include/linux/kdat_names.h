/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) The dat authors */
/* DAT's names for the functions of <linux/kdat.h>.  <linux/kdat.h> includes this header. */
#ifndef _LINUX_KDAT_NAMES_H
#define _LINUX_KDAT_NAMES_H

/* An IA that a module opens by these macros belongs to the module. */
#define dat_ia_openv(name, qlen, async, ia, major, minor, safe)			\
	kdat_ia_openv(name, qlen, async, ia, major, minor, safe, THIS_MODULE)
#define dat_ia_open(name, qlen, async, ia)					\
	dat_ia_openv(name, qlen, async, ia, DAT_VERSION_MAJOR, DAT_VERSION_MINOR, DAT_FALSE)

#define dat_ia_query				kdat_ia_query
#define dat_ia_close				kdat_ia_close
#define dat_ia_memtype_hint			kdat_ia_memtype_hint
#define dat_ia_reserved_lmr			kdat_ia_reserved_lmr
#define dat_registry_list_providers		kdat_registry_list_providers
#define dat_registry_add_provider		kdat_registry_add_provider
#define dat_registry_remove_provider		kdat_registry_remove_provider
#define dat_registry_providers_related		kdat_registry_providers_related
#define dat_set_consumer_context		kdat_set_consumer_context
#define dat_get_consumer_context		kdat_get_consumer_context
#define dat_get_handle_type			kdat_get_handle_type
#define dat_strerror				kdat_strerror
#define dat_evd_kcreate				kdat_evd_kcreate
#define dat_evd_modify_upcall			kdat_evd_modify_upcall
#define dat_evd_query				kdat_evd_query
#define dat_evd_resize				kdat_evd_resize
#define dat_evd_post_se				kdat_evd_post_se
#define dat_evd_dequeue				kdat_evd_dequeue
#define dat_evd_free				kdat_evd_free
#define dat_pz_create				kdat_pz_create
#define dat_pz_query				kdat_pz_query
#define dat_pz_free				kdat_pz_free
#define dat_lmr_kcreate				kdat_lmr_kcreate
#define dat_lmr_allocate			kdat_lmr_allocate
#define dat_lmr_fmr				kdat_lmr_fmr
#define dat_lmr_invalidate			kdat_lmr_invalidate
#define dat_lmr_query				kdat_lmr_query
#define dat_lmr_free				kdat_lmr_free
#define dat_lmr_sync_rdma_read			kdat_lmr_sync_rdma_read
#define dat_lmr_sync_rdma_write			kdat_lmr_sync_rdma_write
#define dat_rmr_create				kdat_rmr_create
#define dat_rmr_create_for_ep			kdat_rmr_create_for_ep
#define dat_rmr_bind				kdat_rmr_bind
#define dat_rmr_query				kdat_rmr_query
#define dat_rmr_free				kdat_rmr_free
#define dat_ep_create				kdat_ep_create
#define dat_ep_create_with_srq			kdat_ep_create_with_srq
#define dat_ep_query				kdat_ep_query
#define dat_ep_modify				kdat_ep_modify
#define dat_ep_get_status			kdat_ep_get_status
#define dat_ep_connect				kdat_ep_connect
#define dat_ep_dup_connect			kdat_ep_dup_connect
#define dat_ep_common_connect			kdat_ep_common_connect
#define dat_ep_disconnect			kdat_ep_disconnect
#define dat_ep_reset				kdat_ep_reset
#define dat_ep_free				kdat_ep_free
#define dat_ep_post_send			kdat_ep_post_send
#define dat_ep_post_send_with_invalidate	kdat_ep_post_send_with_invalidate
#define dat_ep_post_recv			kdat_ep_post_recv
#define dat_ep_post_rdma_read			kdat_ep_post_rdma_read
#define dat_ep_post_rdma_read_to_rmr		kdat_ep_post_rdma_read_to_rmr
#define dat_ep_post_rdma_write			kdat_ep_post_rdma_write
#define dat_linux_ep_post_send_immed		kdat_linux_ep_post_send_immed
#define dat_linux_ep_post_rdma_write_immed	kdat_linux_ep_post_rdma_write_immed
#define dat_ep_recv_query			kdat_ep_recv_query
#define dat_ep_set_watermark			kdat_ep_set_watermark
#define dat_srq_create				kdat_srq_create
#define dat_srq_free				kdat_srq_free
#define dat_srq_post_recv			kdat_srq_post_recv
#define dat_srq_query				kdat_srq_query
#define dat_srq_resize				kdat_srq_resize
#define dat_srq_set_lw				kdat_srq_set_lw
#define dat_psp_create				kdat_psp_create
#define dat_psp_create_any			kdat_psp_create_any
#define dat_psp_query				kdat_psp_query
#define dat_psp_free				kdat_psp_free
#define dat_rsp_create				kdat_rsp_create
#define dat_rsp_query				kdat_rsp_query
#define dat_rsp_free				kdat_rsp_free
#define dat_csp_create				kdat_csp_create
#define dat_csp_query				kdat_csp_query
#define dat_csp_free				kdat_csp_free
#define dat_cr_query				kdat_cr_query
#define dat_cr_accept				kdat_cr_accept
#define dat_cr_reject				kdat_cr_reject
#define dat_cr_handoff				kdat_cr_handoff

#endif /* _LINUX_KDAT_NAMES_H */
