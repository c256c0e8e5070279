/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) The dat authors */
/* Return codes of the test provider. */
#ifndef TEST_PROVIDER_H
#define TEST_PROVIDER_H

#define TEST_REFUSED	((DAT_RETURN)(DAT_CLASS_ERROR | DAT_INVALID_PARAMETER | 0x7777))

/* Result of an unimplemented function: its index in DAT_PROVIDER, where device_name has index 0. */
#define TEST_STUB(slot) \
	((DAT_RETURN)(DAT_CLASS_ERROR | DAT_NOT_IMPLEMENTED | \
		      offsetof(struct dat_provider, slot##_func) / sizeof(void *)))

/* The unimplemented functions of the test provider. */
#define TEST_STUBS(X) \
	X(ia_query) X(get_handle_type) X(cno_create) X(cno_modify_agent) X(cno_query) \
	X(cno_free) X(cno_wait) X(cr_query) X(cr_accept) X(cr_reject) X(cr_handoff) \
	X(evd_query) X(evd_modify_cno) X(evd_enable) X(evd_disable) X(evd_wait) \
	X(evd_resize) X(evd_post_se) X(ep_query) X(ep_modify) X(ep_connect) \
	X(ep_dup_connect) X(ep_disconnect) X(ep_post_recv) X(ep_post_rdma_read) \
	X(ep_post_rdma_write) X(ep_get_status) X(lmr_create) X(lmr_query) X(lmr_free) \
	X(rmr_create) X(rmr_query) X(rmr_bind) X(rmr_free) X(psp_create) X(psp_query) \
	X(psp_free) X(rsp_create) X(rsp_query) X(rsp_free) X(pz_create) X(pz_query) \
	X(pz_free) X(psp_create_any) X(ep_reset) X(evd_set_unwaitable) \
	X(evd_clear_unwaitable) X(lmr_sync_rdma_read) X(lmr_sync_rdma_write) \
	X(ep_create_with_srq) X(ep_recv_query) X(ep_set_watermark) X(srq_create) \
	X(srq_free) X(srq_post_recv) X(srq_query) X(srq_resize) X(srq_set_lw)

#endif /* TEST_PROVIDER_H */
