/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Copyright (c) The dat authors */
/*
 * Types and macros to call a provider, common to user and kernel DAT.  Providers and registries use
 * this header.  Programs call the functions of udat.h instead.
 *
 * A provider's handle points to an object.  The first word of the object is the address of
 * the provider's struct dat_provider (udat_redirection.h).
 */
#ifndef DAT_REDIRECTION_H
#define DAT_REDIRECTION_H

#include "udat.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct dat_provider	DAT_PROVIDER;

#ifndef DAT_HANDLE_TO_PROVIDER
#define DAT_HANDLE_TO_PROVIDER(handle)	(*(DAT_PROVIDER **)(handle))
#endif

/* Returns the provider's function for dat_<name>().  Evaluates @handle twice. */
#define DAT_CALL(handle, name)	(*DAT_HANDLE_TO_PROVIDER(handle)->name##_func)

#define DAT_IA_QUERY(ia, async_evd, ia_attr_mask, ia_attr, provider_attr_mask, \
		     provider_attr) \
	DAT_CALL(ia, ia_query)((ia), (async_evd), (ia_attr_mask), (ia_attr), \
			       (provider_attr_mask), (provider_attr))
#define DAT_SET_CONSUMER_CONTEXT(dat, context) \
	DAT_CALL(dat, set_consumer_context)((dat), (context))
#define DAT_GET_CONSUMER_CONTEXT(dat, context) \
	DAT_CALL(dat, get_consumer_context)((dat), (context))
#define DAT_GET_HANDLE_TYPE(dat, handle_type) \
	DAT_CALL(dat, get_handle_type)((dat), (handle_type))
#define DAT_CR_QUERY(cr, cr_param_mask, cr_param) \
	DAT_CALL(cr, cr_query)((cr), (cr_param_mask), (cr_param))
#define DAT_CR_ACCEPT(cr, ep, private_data_size, private_data) \
	DAT_CALL(cr, cr_accept)((cr), (ep), (private_data_size), (private_data))
#define DAT_CR_REJECT(cr) \
	DAT_CALL(cr, cr_reject)((cr))
#define DAT_CR_HANDOFF(cr, handoff) \
	DAT_CALL(cr, cr_handoff)((cr), (handoff))
#define DAT_EVD_QUERY(evd, evd_param_mask, evd_param) \
	DAT_CALL(evd, evd_query)((evd), (evd_param_mask), (evd_param))
#define DAT_EVD_RESIZE(evd, evd_min_qlen) \
	DAT_CALL(evd, evd_resize)((evd), (evd_min_qlen))
#define DAT_EVD_POST_SE(evd, event) \
	DAT_CALL(evd, evd_post_se)((evd), (event))
#define DAT_EVD_DEQUEUE(evd, event) \
	DAT_CALL(evd, evd_dequeue)((evd), (event))
#define DAT_EVD_FREE(evd) \
	DAT_CALL(evd, evd_free)((evd))
#define DAT_EP_CREATE(ia, pz, recv_evd, request_evd, connect_evd, ep_attributes, ep) \
	DAT_CALL(ia, ep_create)((ia), (pz), (recv_evd), (request_evd), (connect_evd), \
				(ep_attributes), (ep))
#define DAT_EP_QUERY(ep, ep_param_mask, ep_param) \
	DAT_CALL(ep, ep_query)((ep), (ep_param_mask), (ep_param))
#define DAT_EP_MODIFY(ep, ep_param_mask, ep_param) \
	DAT_CALL(ep, ep_modify)((ep), (ep_param_mask), (ep_param))
#define DAT_EP_CONNECT(ep, remote_ia_address, remote_conn_qual, timeout, \
		       private_data_size, private_data, quality_of_service, \
		       connect_flags) \
	DAT_CALL(ep, ep_connect)((ep), (remote_ia_address), (remote_conn_qual), \
				 (timeout), (private_data_size), (private_data), \
				 (quality_of_service), (connect_flags))
#define DAT_EP_DUP_CONNECT(ep, dup_ep, timeout, private_data_size, private_data, \
			   quality_of_service) \
	DAT_CALL(ep, ep_dup_connect)((ep), (dup_ep), (timeout), (private_data_size), \
				     (private_data), (quality_of_service))
#define DAT_EP_DISCONNECT(ep, disconnect_flags) \
	DAT_CALL(ep, ep_disconnect)((ep), (disconnect_flags))
#define DAT_EP_POST_SEND(ep, num_segments, local_iov, user_cookie, completion_flags) \
	DAT_CALL(ep, ep_post_send)((ep), (num_segments), (local_iov), (user_cookie), \
				   (completion_flags))
#define DAT_EP_POST_RECV(ep, num_segments, local_iov, user_cookie, completion_flags) \
	DAT_CALL(ep, ep_post_recv)((ep), (num_segments), (local_iov), (user_cookie), \
				   (completion_flags))
#define DAT_EP_POST_RDMA_READ(ep, num_segments, local_iov, user_cookie, remote_buffer, \
			      completion_flags) \
	DAT_CALL(ep, ep_post_rdma_read)((ep), (num_segments), (local_iov), \
					(user_cookie), (remote_buffer), \
					(completion_flags))
#define DAT_EP_POST_RDMA_WRITE(ep, num_segments, local_iov, user_cookie, remote_buffer, \
			       completion_flags) \
	DAT_CALL(ep, ep_post_rdma_write)((ep), (num_segments), (local_iov), \
					 (user_cookie), (remote_buffer), \
					 (completion_flags))
#define DAT_EP_GET_STATUS(ep, ep_state, recv_idle, request_idle) \
	DAT_CALL(ep, ep_get_status)((ep), (ep_state), (recv_idle), (request_idle))
#define DAT_EP_FREE(ep) \
	DAT_CALL(ep, ep_free)((ep))
#define DAT_LMR_QUERY(lmr, lmr_param_mask, lmr_param) \
	DAT_CALL(lmr, lmr_query)((lmr), (lmr_param_mask), (lmr_param))
#define DAT_LMR_FREE(lmr) \
	DAT_CALL(lmr, lmr_free)((lmr))
#define DAT_RMR_CREATE(pz, rmr) \
	DAT_CALL(pz, rmr_create)((pz), (rmr))
#define DAT_RMR_QUERY(rmr, rmr_param_mask, rmr_param) \
	DAT_CALL(rmr, rmr_query)((rmr), (rmr_param_mask), (rmr_param))
#define DAT_RMR_BIND(rmr, lmr_triplet, mem_priv, ep, user_cookie, completion_flags, \
		     rmr_context) \
	DAT_CALL(rmr, rmr_bind)((rmr), (lmr_triplet), (mem_priv), (ep), (user_cookie), \
				(completion_flags), (rmr_context))
#define DAT_RMR_FREE(rmr) \
	DAT_CALL(rmr, rmr_free)((rmr))
#define DAT_PSP_CREATE(ia, conn_qual, evd, psp_flags, psp) \
	DAT_CALL(ia, psp_create)((ia), (conn_qual), (evd), (psp_flags), (psp))
#define DAT_PSP_QUERY(psp, psp_param_mask, psp_param) \
	DAT_CALL(psp, psp_query)((psp), (psp_param_mask), (psp_param))
#define DAT_PSP_FREE(psp) \
	DAT_CALL(psp, psp_free)((psp))
#define DAT_RSP_CREATE(ia, conn_qual, ep, evd, rsp) \
	DAT_CALL(ia, rsp_create)((ia), (conn_qual), (ep), (evd), (rsp))
#define DAT_RSP_QUERY(rsp, rsp_param_mask, rsp_param) \
	DAT_CALL(rsp, rsp_query)((rsp), (rsp_param_mask), (rsp_param))
#define DAT_RSP_FREE(rsp) \
	DAT_CALL(rsp, rsp_free)((rsp))
#define DAT_PZ_CREATE(ia, pz) \
	DAT_CALL(ia, pz_create)((ia), (pz))
#define DAT_PZ_QUERY(pz, pz_param_mask, pz_param) \
	DAT_CALL(pz, pz_query)((pz), (pz_param_mask), (pz_param))
#define DAT_PZ_FREE(pz) \
	DAT_CALL(pz, pz_free)((pz))
#define DAT_PSP_CREATE_ANY(ia, conn_qual, evd, psp_flags, psp) \
	DAT_CALL(ia, psp_create_any)((ia), (conn_qual), (evd), (psp_flags), (psp))
#define DAT_EP_RESET(ep) \
	DAT_CALL(ep, ep_reset)((ep))
#define DAT_LMR_SYNC_RDMA_READ(ia, local_segments, num_segments) \
	DAT_CALL(ia, lmr_sync_rdma_read)((ia), (local_segments), (num_segments))
#define DAT_LMR_SYNC_RDMA_WRITE(ia, local_segments, num_segments) \
	DAT_CALL(ia, lmr_sync_rdma_write)((ia), (local_segments), (num_segments))
#define DAT_EP_CREATE_WITH_SRQ(ia, pz, recv_evd, request_evd, connect_evd, srq, \
			       ep_attributes, ep) \
	DAT_CALL(ia, ep_create_with_srq)((ia), (pz), (recv_evd), (request_evd), \
					 (connect_evd), (srq), (ep_attributes), (ep))
#define DAT_EP_RECV_QUERY(ep, nbufs_allocated, bufs_alloc_span) \
	DAT_CALL(ep, ep_recv_query)((ep), (nbufs_allocated), (bufs_alloc_span))
#define DAT_EP_SET_WATERMARK(ep, soft_high_watermark, hard_high_watermark) \
	DAT_CALL(ep, ep_set_watermark)((ep), (soft_high_watermark), \
				       (hard_high_watermark))
#define DAT_SRQ_CREATE(ia, pz, srq_attr, srq) \
	DAT_CALL(ia, srq_create)((ia), (pz), (srq_attr), (srq))
#define DAT_SRQ_FREE(srq) \
	DAT_CALL(srq, srq_free)((srq))
#define DAT_SRQ_POST_RECV(srq, num_segments, local_iov, user_cookie) \
	DAT_CALL(srq, srq_post_recv)((srq), (num_segments), (local_iov), (user_cookie))
#define DAT_SRQ_QUERY(srq, srq_param_mask, srq_param) \
	DAT_CALL(srq, srq_query)((srq), (srq_param_mask), (srq_param))
#define DAT_SRQ_RESIZE(srq, srq_max_recv_dto) \
	DAT_CALL(srq, srq_resize)((srq), (srq_max_recv_dto))
#define DAT_SRQ_SET_LW(srq, low_watermark) \
	DAT_CALL(srq, srq_set_lw)((srq), (low_watermark))

/*
 * Types of the provider's functions.  The headers included by udat.h describe the functions.
 * DAT_IA_OPEN_FUNC has no version argument, because the registry checks the version before the
 * call.
 */
typedef DAT_RETURN (*DAT_IA_OPEN_FUNC)(const DAT_NAME_PTR ia_name,
				       DAT_COUNT async_evd_min_qlen,
				       DAT_EVD_HANDLE *async_evd_handle,
				       DAT_IA_HANDLE *ia_handle);
typedef DAT_RETURN (*DAT_IA_QUERY_FUNC)(DAT_IA_HANDLE ia_handle,
					DAT_EVD_HANDLE *async_evd_handle,
					DAT_IA_ATTR_MASK ia_attr_mask,
					DAT_IA_ATTR *ia_attr,
					DAT_PROVIDER_ATTR_MASK provider_attr_mask,
					DAT_PROVIDER_ATTR *provider_attr);
typedef DAT_RETURN (*DAT_IA_CLOSE_FUNC)(DAT_IA_HANDLE ia_handle,
					DAT_CLOSE_FLAGS ia_flags);
typedef DAT_RETURN (*DAT_SET_CONSUMER_CONTEXT_FUNC)(DAT_HANDLE dat_handle, DAT_CONTEXT context);
typedef DAT_RETURN (*DAT_GET_CONSUMER_CONTEXT_FUNC)(DAT_HANDLE dat_handle, DAT_CONTEXT *context);
typedef DAT_RETURN (*DAT_GET_HANDLE_TYPE_FUNC)(DAT_HANDLE dat_handle,
					       DAT_HANDLE_TYPE *handle_type);
typedef DAT_RETURN (*DAT_CR_QUERY_FUNC)(DAT_CR_HANDLE cr_handle,
					DAT_CR_PARAM_MASK cr_param_mask,
					DAT_CR_PARAM *cr_param);
typedef DAT_RETURN (*DAT_CR_ACCEPT_FUNC)(DAT_CR_HANDLE cr_handle, DAT_EP_HANDLE ep_handle,
					 DAT_COUNT private_data_size,
					 const DAT_PVOID private_data);
typedef DAT_RETURN (*DAT_CR_REJECT_FUNC)(DAT_CR_HANDLE cr_handle);
typedef DAT_RETURN (*DAT_CR_HANDOFF_FUNC)(DAT_CR_HANDLE cr_handle, DAT_CONN_QUAL handoff);
typedef DAT_RETURN (*DAT_EVD_QUERY_FUNC)(DAT_EVD_HANDLE evd_handle,
					 DAT_EVD_PARAM_MASK evd_param_mask,
					 DAT_EVD_PARAM *evd_param);
typedef DAT_RETURN (*DAT_EVD_RESIZE_FUNC)(DAT_EVD_HANDLE evd_handle,
					  DAT_COUNT evd_min_qlen);
typedef DAT_RETURN (*DAT_EVD_POST_SE_FUNC)(DAT_EVD_HANDLE evd_handle,
					   const DAT_EVENT *event);
typedef DAT_RETURN (*DAT_EVD_DEQUEUE_FUNC)(DAT_EVD_HANDLE evd_handle, DAT_EVENT *event);
typedef DAT_RETURN (*DAT_EVD_FREE_FUNC)(DAT_EVD_HANDLE evd_handle);
typedef DAT_RETURN (*DAT_EP_CREATE_FUNC)(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle,
					 DAT_EVD_HANDLE recv_evd_handle,
					 DAT_EVD_HANDLE request_evd_handle,
					 DAT_EVD_HANDLE connect_evd_handle,
					 const DAT_EP_ATTR *ep_attributes,
					 DAT_EP_HANDLE *ep_handle);
typedef DAT_RETURN (*DAT_EP_QUERY_FUNC)(DAT_EP_HANDLE ep_handle,
					DAT_EP_PARAM_MASK ep_param_mask,
					DAT_EP_PARAM *ep_param);
typedef DAT_RETURN (*DAT_EP_MODIFY_FUNC)(DAT_EP_HANDLE ep_handle,
					 DAT_EP_PARAM_MASK ep_param_mask,
					 const DAT_EP_PARAM *ep_param);
typedef DAT_RETURN (*DAT_EP_CONNECT_FUNC)(DAT_EP_HANDLE ep_handle,
					  DAT_IA_ADDRESS_PTR remote_ia_address,
					  DAT_CONN_QUAL remote_conn_qual,
					  DAT_TIMEOUT timeout,
					  DAT_COUNT private_data_size,
					  const DAT_PVOID private_data,
					  DAT_QOS quality_of_service,
					  DAT_CONNECT_FLAGS connect_flags);
typedef DAT_RETURN (*DAT_EP_DUP_CONNECT_FUNC)(DAT_EP_HANDLE ep_handle,
					      DAT_EP_HANDLE dup_ep_handle,
					      DAT_TIMEOUT timeout,
					      DAT_COUNT private_data_size,
					      const DAT_PVOID private_data,
					      DAT_QOS quality_of_service);
typedef DAT_RETURN (*DAT_EP_DISCONNECT_FUNC)(DAT_EP_HANDLE ep_handle,
					     DAT_CLOSE_FLAGS disconnect_flags);
typedef DAT_RETURN (*DAT_EP_POST_SEND_FUNC)(DAT_EP_HANDLE ep_handle,
					    DAT_COUNT num_segments,
					    DAT_LMR_TRIPLET *local_iov,
					    DAT_DTO_COOKIE user_cookie,
					    DAT_COMPLETION_FLAGS completion_flags);
typedef DAT_RETURN (*DAT_EP_POST_RECV_FUNC)(DAT_EP_HANDLE ep_handle,
					    DAT_COUNT num_segments,
					    DAT_LMR_TRIPLET *local_iov,
					    DAT_DTO_COOKIE user_cookie,
					    DAT_COMPLETION_FLAGS completion_flags);
typedef DAT_RETURN (*DAT_EP_POST_RDMA_READ_FUNC)(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
						 DAT_LMR_TRIPLET *local_iov,
						 DAT_DTO_COOKIE user_cookie,
						 const DAT_RMR_TRIPLET *remote_buffer,
						 DAT_COMPLETION_FLAGS completion_flags);
typedef DAT_RETURN (*DAT_EP_POST_RDMA_WRITE_FUNC)(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
						  DAT_LMR_TRIPLET *local_iov,
						  DAT_DTO_COOKIE user_cookie,
						  const DAT_RMR_TRIPLET *remote_buffer,
						  DAT_COMPLETION_FLAGS completion_flags);
typedef DAT_RETURN (*DAT_EP_GET_STATUS_FUNC)(DAT_EP_HANDLE ep_handle,
					     DAT_EP_STATE *ep_state,
					     DAT_BOOLEAN *recv_idle,
					     DAT_BOOLEAN *request_idle);
typedef DAT_RETURN (*DAT_EP_FREE_FUNC)(DAT_EP_HANDLE ep_handle);
typedef DAT_RETURN (*DAT_LMR_QUERY_FUNC)(DAT_LMR_HANDLE lmr_handle,
					 DAT_LMR_PARAM_MASK lmr_param_mask,
					 DAT_LMR_PARAM *lmr_param);
typedef DAT_RETURN (*DAT_LMR_FREE_FUNC)(DAT_LMR_HANDLE lmr_handle);
typedef DAT_RETURN (*DAT_RMR_CREATE_FUNC)(DAT_PZ_HANDLE pz_handle,
					  DAT_RMR_HANDLE *rmr_handle);
typedef DAT_RETURN (*DAT_RMR_QUERY_FUNC)(DAT_RMR_HANDLE rmr_handle,
					 DAT_RMR_PARAM_MASK rmr_param_mask,
					 DAT_RMR_PARAM *rmr_param);
typedef DAT_RETURN (*DAT_RMR_BIND_FUNC)(DAT_RMR_HANDLE rmr_handle,
					const DAT_LMR_TRIPLET *lmr_triplet,
					DAT_MEM_PRIV_FLAGS mem_priv,
					DAT_EP_HANDLE ep_handle,
					DAT_RMR_COOKIE user_cookie,
					DAT_COMPLETION_FLAGS completion_flags,
					DAT_RMR_CONTEXT *rmr_context);
typedef DAT_RETURN (*DAT_RMR_FREE_FUNC)(DAT_RMR_HANDLE rmr_handle);
typedef DAT_RETURN (*DAT_PSP_CREATE_FUNC)(DAT_IA_HANDLE ia_handle,
					  DAT_CONN_QUAL conn_qual,
					  DAT_EVD_HANDLE evd_handle,
					  DAT_PSP_FLAGS psp_flags,
					  DAT_PSP_HANDLE *psp_handle);
typedef DAT_RETURN (*DAT_PSP_QUERY_FUNC)(DAT_PSP_HANDLE psp_handle,
					 DAT_PSP_PARAM_MASK psp_param_mask,
					 DAT_PSP_PARAM *psp_param);
typedef DAT_RETURN (*DAT_PSP_FREE_FUNC)(DAT_PSP_HANDLE psp_handle);
typedef DAT_RETURN (*DAT_RSP_CREATE_FUNC)(DAT_IA_HANDLE ia_handle,
					  DAT_CONN_QUAL conn_qual,
					  DAT_EP_HANDLE ep_handle,
					  DAT_EVD_HANDLE evd_handle,
					  DAT_RSP_HANDLE *rsp_handle);
typedef DAT_RETURN (*DAT_RSP_QUERY_FUNC)(DAT_RSP_HANDLE rsp_handle,
					 DAT_RSP_PARAM_MASK rsp_param_mask,
					 DAT_RSP_PARAM *rsp_param);
typedef DAT_RETURN (*DAT_RSP_FREE_FUNC)(DAT_RSP_HANDLE rsp_handle);
typedef DAT_RETURN (*DAT_PZ_CREATE_FUNC)(DAT_IA_HANDLE ia_handle,
					 DAT_PZ_HANDLE *pz_handle);
typedef DAT_RETURN (*DAT_PZ_QUERY_FUNC)(DAT_PZ_HANDLE pz_handle,
					DAT_PZ_PARAM_MASK pz_param_mask,
					DAT_PZ_PARAM *pz_param);
typedef DAT_RETURN (*DAT_PZ_FREE_FUNC)(DAT_PZ_HANDLE pz_handle);
typedef DAT_RETURN (*DAT_PSP_CREATE_ANY_FUNC)(DAT_IA_HANDLE ia_handle,
					      DAT_CONN_QUAL *conn_qual,
					      DAT_EVD_HANDLE evd_handle,
					      DAT_PSP_FLAGS psp_flags,
					      DAT_PSP_HANDLE *psp_handle);
typedef DAT_RETURN (*DAT_EP_RESET_FUNC)(DAT_EP_HANDLE ep_handle);
typedef DAT_RETURN (*DAT_LMR_SYNC_RDMA_READ_FUNC)(DAT_IA_HANDLE ia_handle,
						  const DAT_LMR_TRIPLET *local_segments,
						  DAT_VLEN num_segments);
typedef DAT_RETURN (*DAT_LMR_SYNC_RDMA_WRITE_FUNC)(DAT_IA_HANDLE ia_handle,
						   const DAT_LMR_TRIPLET *local_segments,
						   DAT_VLEN num_segments);
typedef DAT_RETURN (*DAT_EP_CREATE_WITH_SRQ_FUNC)(DAT_IA_HANDLE ia_handle,
						  DAT_PZ_HANDLE pz_handle,
						  DAT_EVD_HANDLE recv_evd_handle,
						  DAT_EVD_HANDLE request_evd_handle,
						  DAT_EVD_HANDLE connect_evd_handle,
						  DAT_SRQ_HANDLE srq_handle,
						  const DAT_EP_ATTR *ep_attributes,
						  DAT_EP_HANDLE *ep_handle);
typedef DAT_RETURN (*DAT_EP_RECV_QUERY_FUNC)(DAT_EP_HANDLE ep_handle,
					     DAT_COUNT *nbufs_allocated,
					     DAT_COUNT *bufs_alloc_span);
typedef DAT_RETURN (*DAT_EP_SET_WATERMARK_FUNC)(DAT_EP_HANDLE ep_handle,
						DAT_COUNT soft_high_watermark,
						DAT_COUNT hard_high_watermark);
typedef DAT_RETURN (*DAT_SRQ_CREATE_FUNC)(DAT_IA_HANDLE ia_handle,
					  DAT_PZ_HANDLE pz_handle, DAT_SRQ_ATTR *srq_attr,
					  DAT_SRQ_HANDLE *srq_handle);
typedef DAT_RETURN (*DAT_SRQ_FREE_FUNC)(DAT_SRQ_HANDLE srq_handle);
typedef DAT_RETURN (*DAT_SRQ_POST_RECV_FUNC)(DAT_SRQ_HANDLE srq_handle,
					     DAT_COUNT num_segments,
					     DAT_LMR_TRIPLET *local_iov,
					     DAT_DTO_COOKIE user_cookie);
typedef DAT_RETURN (*DAT_SRQ_QUERY_FUNC)(DAT_SRQ_HANDLE srq_handle,
					 DAT_SRQ_PARAM_MASK srq_param_mask,
					 DAT_SRQ_PARAM *srq_param);
typedef DAT_RETURN (*DAT_SRQ_RESIZE_FUNC)(DAT_SRQ_HANDLE srq_handle,
					  DAT_COUNT srq_max_recv_dto);
typedef DAT_RETURN (*DAT_SRQ_SET_LW_FUNC)(DAT_SRQ_HANDLE srq_handle,
					  DAT_COUNT low_watermark);

#ifdef __cplusplus
}
#endif

#endif /* DAT_REDIRECTION_H */
