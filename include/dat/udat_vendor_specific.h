/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Copyright (c) The dat authors */
/*
 * Vendor extensions for user programs.  uDAPL 1.2 prescribes the name of this file.
 */
#ifndef UDAT_VENDOR_SPECIFIC_H
#define UDAT_VENDOR_SPECIFIC_H

#include "dat_vendor_specific.h"
#include "dat_version.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Privilege of dat_lmr_create(): the bytes of a message, of an RDMA read or of a peer's write may
 * become visible in the memory in any order, until the message, the completion, or a later message
 * has arrived.  That allows the adapter to use relaxed ordering of PCI Express, which increases the
 * bandwidth on some machines.  A program that polls the memory must not use this privilege.
 * Adapters and drivers that have no relaxed order ignore the privilege.  Not in DAT 1.2.
 */
#define DAT_LINUX_MEM_PRIV_RELAXED_FLAG	((DAT_MEM_PRIV_FLAGS)0x200)

/*
 * Completion flag of dat_ep_post_send(), dat_ep_post_rdma_write() and dat_ep_post_rdma_read(): the
 * program is about to post another request to the endpoint.  The request may stay in the queue
 * until a request without this flag is posted, until the queue is full, or until the program calls
 * dat_ep_disconnect().  If the program posts several requests in a row, and all but the last have
 * this flag, they usually take one system call, and the adapter gets chains of up to 16 requests.
 * If the last post fails, the others stay in the queue, so the program must post another request.
 * Not in DAT 1.2.
 */
#define DAT_LINUX_COMPLETION_MORE_FLAG	((DAT_COMPLETION_FLAGS)0x100)

/**
 * dat_linux_evd_fd - get a file descriptor for an event dispatcher
 * @evd_handle: the EVD
 * @fd: out: descriptor, which the caller closes
 *
 * The descriptor is for poll(), select() and epoll.  The descriptor is readable while events are
 * queued, and reports POLLHUP after the EVD was destroyed.  An event whose completion is
 * UNSIGNALLED makes the descriptor readable but wakes no thread.  read() and write() fail.
 *
 * Return: DAT_SUCCESS;
 * DAT_INVALID_HANDLE: @evd_handle is no EVD (DAT_INVALID_HANDLE1);
 * DAT_INVALID_PARAMETER: @fd is NULL (DAT_INVALID_ARG2);
 * DAT_INSUFFICIENT_RESOURCES: no memory, or too many open files.
 *
 * Threads: safe.  Not in DAT 1.2.
 */
DAT_RETURN dat_linux_evd_fd(DAT_EVD_HANDLE evd_handle, int *fd);

/**
 * dat_linux_cno_fd - get a file descriptor for a consumer notification object
 * @cno_handle: the CNO
 * @fd: out: descriptor, which the caller closes
 *
 * The descriptor is like that of dat_linux_evd_fd(), but is readable while the CNO is triggered.
 * dat_cno_wait() with a timeout of 0 consumes the trigger and returns the EVD.
 *
 * Return: DAT_SUCCESS;
 * DAT_INVALID_HANDLE: @cno_handle is no CNO (DAT_INVALID_HANDLE_CNO);
 * DAT_INVALID_PARAMETER: @fd is NULL (DAT_INVALID_ARG2);
 * DAT_INSUFFICIENT_RESOURCES: no memory, or too many open files.
 *
 * Threads: safe.  Not in DAT 1.2.
 */
DAT_RETURN dat_linux_cno_fd(DAT_CNO_HANDLE cno_handle, int *fd);

/*
 * Event numbers of receives with immediate data: 32 bits that a send, or an RDMA write, carries
 * beside its bytes.  Only an endpoint with the named attribute "immediate_data" gets such events.
 * They replace DAT_DTO_COMPLETION_EVENT in its receive EVD, but a receive that fails has
 * DAT_DTO_COMPLETION_EVENT.  Not in DAT 1.2.
 */
#define DAT_LINUX_RECV_IMMED_EVENT		((DAT_EVENT_NUMBER)0x00002)
#define DAT_LINUX_RDMA_WRITE_IMMED_EVENT	((DAT_EVENT_NUMBER)0x00003)

/**
 * struct dat_linux_immed_event_data - data of these two events
 * @ep_handle: endpoint of the receive
 * @user_cookie: cookie of the receive
 * @status: DAT_DTO_SUCCESS
 * @transfered_length: bytes of the message in the memory of the receive; for
 *	DAT_LINUX_RDMA_WRITE_IMMED_EVENT bytes of the write, which are not in the memory of the
 *	receive
 * @immed_data: immediate data
 *
 * The first three members are in the same places as in DAT_DTO_COMPLETION_EVENT_DATA.
 */
typedef struct dat_linux_immed_event_data {
	DAT_EP_HANDLE			ep_handle;
	DAT_DTO_COOKIE			user_cookie;
	DAT_DTO_COMPLETION_STATUS	status;
	DAT_UINT32			transfered_length;
	DAT_UINT32			immed_data;
} DAT_LINUX_IMMED_EVENT_DATA;

/* Returns the data of an event that has one of these two numbers. */
static __inline__ DAT_LINUX_IMMED_EVENT_DATA dat_linux_immed_event_data(const DAT_EVENT *event)
{
	DAT_LINUX_IMMED_EVENT_DATA data;

	__builtin_memcpy(&data, &event->event_data, sizeof(data));
	return data;
}

/**
 * dat_linux_ep_post_send_immed - send a message with immediate data
 * @ep_handle: as for dat_ep_post_send(); with the named attribute "immediate_data"
 * @num_segments: as for dat_ep_post_send()
 * @local_iov: as for dat_ep_post_send()
 * @user_cookie: as for dat_ep_post_send()
 * @immed_data: number that the peer gets in its own byte order; a peer that uses verbs gets it in
 *	network byte order
 * @completion_flags: as for dat_ep_post_send()
 *
 * The peer's event is DAT_LINUX_RECV_IMMED_EVENT.  If the peer's endpoint does not have the
 * attribute, its receive fails and the connection breaks.
 *
 * Return: as dat_ep_post_send(), but
 * DAT_INVALID_PARAMETER: invalid flags are argument 6 (DAT_INVALID_ARG6);
 * DAT_MODEL_NOT_SUPPORTED: the endpoint does not have the attribute.
 *
 * Threads: as dat_ep_post_send().  Not in DAT 1.2.
 */
DAT_RETURN dat_linux_ep_post_send_immed(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
					DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
					DAT_UINT32 immed_data,
					DAT_COMPLETION_FLAGS completion_flags);

/**
 * dat_linux_ep_post_rdma_write_immed - write memory of the peer, and complete a receive there
 * @ep_handle: as for dat_ep_post_rdma_write(); with the named attribute "immediate_data"
 * @num_segments: as for dat_ep_post_rdma_write()
 * @local_iov: as for dat_ep_post_rdma_write()
 * @user_cookie: as for dat_ep_post_rdma_write()
 * @remote_buffer: as for dat_ep_post_rdma_write()
 * @immed_data: as for dat_linux_ep_post_send_immed()
 * @completion_flags: as for dat_ep_post_send(), also DAT_COMPLETION_SOLICITED_WAIT_FLAG
 *
 * The write consumes a receive of the peer and leaves the memory of the receive unchanged.  The
 * peer's event is DAT_LINUX_RDMA_WRITE_IMMED_EVENT, after the bytes have been written.  If the
 * peer's endpoint does not have the attribute, its receive fails and the connection breaks.
 *
 * Return: as dat_ep_post_rdma_write(), but
 * DAT_INVALID_PARAMETER: invalid flags are argument 7 (DAT_INVALID_ARG7);
 * DAT_MODEL_NOT_SUPPORTED: the endpoint does not have the attribute.
 *
 * Threads: as dat_ep_post_rdma_write().  Not in DAT 1.2.
 */
DAT_RETURN dat_linux_ep_post_rdma_write_immed(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
					      DAT_LMR_TRIPLET *local_iov,
					      DAT_DTO_COOKIE user_cookie,
					      const DAT_RMR_TRIPLET *remote_buffer,
					      DAT_UINT32 immed_data,
					      DAT_COMPLETION_FLAGS completion_flags);

/**
 * dat_linux_cr_reject - refuse a connection request, and tell the peer why
 * @cr_handle: the request; invalid after success
 * @private_data_size: bytes of @private_data, at most max_private_data_size
 * @private_data: private data for the peer; NULL if there is none
 *
 * The call does what dat_cr_reject() does.  In addition, the peer's event
 * DAT_CONNECTION_EVENT_PEER_REJECTED has the private data.
 *
 * Return: DAT_SUCCESS;
 * DAT_INVALID_HANDLE: @cr_handle is no CR (DAT_INVALID_HANDLE_CR);
 * DAT_INVALID_PARAMETER: @private_data_size is negative or too large (DAT_INVALID_ARG2), or it is
 * not 0 and @private_data is NULL (DAT_INVALID_ARG3);
 * DAT_MODEL_NOT_SUPPORTED: the driver is older than this call, and @private_data_size is not 0.
 *
 * Threads: one per object.  Not in DAT 1.2.
 */
DAT_RETURN dat_linux_cr_reject(DAT_CR_HANDLE cr_handle, DAT_COUNT private_data_size,
			       const DAT_PVOID private_data);

/**
 * dat_linux_lmr_get - register memory, or use a registration that was kept
 * @ia_handle: the IA
 * @pz_handle: protection zone of the LMR
 * @address: address of the first byte
 * @length: bytes, at least 1
 * @privileges: as for dat_lmr_create()
 * @lmr_handle: out: the LMR
 * @lmr_context: out: as for dat_lmr_create(); may be NULL
 * @rmr_context: out: as for dat_lmr_create(); may be NULL
 *
 * If the IA has an LMR of this call with the same zone and privileges, and with this memory, the
 * call returns that LMR, and registers nothing.  Without remote privileges, the LMR may contain
 * other memory as well.  An LMR is never returned again once an address of its memory has got
 * another page: by munmap(), mmap() over it, mremap(), madvise(), or a truncation of the file.  So
 * a program may unmap memory at any time, and need not tell the library.
 *
 * Each get needs a dat_linux_lmr_put().  dat_lmr_free() does not free the LMR.
 *
 * Return: DAT_SUCCESS;
 * DAT_INVALID_HANDLE: @ia_handle is no IA of this provider (DAT_INVALID_HANDLE_IA), or @pz_handle
 * is no PZ of the IA (DAT_INVALID_HANDLE_PZ);
 * DAT_LENGTH_ERROR: @length is 0;
 * DAT_INVALID_PARAMETER: the memory is not mapped, or is read-only although @privileges allow
 * writes (DAT_INVALID_ARG3), @privileges has unknown bits (DAT_INVALID_ARG5), or @lmr_handle is
 * NULL (DAT_INVALID_ARG6);
 * DAT_INSUFFICIENT_RESOURCES: no memory, or the limit of locked memory is exceeded although all
 * LMRs that are not used were freed;
 * DAT_INTERNAL_ERROR: the RDMA device is gone.
 *
 * Threads: safe.  Not in DAT 1.2.
 */
DAT_RETURN dat_linux_lmr_get(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle, DAT_PVOID address,
			     DAT_VLEN length, DAT_MEM_PRIV_FLAGS privileges,
			     DAT_LMR_HANDLE *lmr_handle, DAT_LMR_CONTEXT *lmr_context,
			     DAT_RMR_CONTEXT *rmr_context);

/**
 * dat_linux_lmr_put - end the use of an LMR of dat_linux_lmr_get()
 * @lmr_handle: the LMR; all transfers that use it have completed
 *
 * After the last put the library keeps the LMR for a later get, with its pages pinned and its
 * contexts valid.  The LMR is freed when the limits of dat_linux_ia_lmr_cache() are exceeded, when
 * locked memory is short, when a call finds that its memory has changed, or when its zone is freed.
 *
 * Return: DAT_SUCCESS;
 * DAT_INVALID_HANDLE: @lmr_handle is no LMR of dat_linux_lmr_get(), or each get has had its put
 * (DAT_INVALID_HANDLE_LMR).
 *
 * Threads: safe.  Not in DAT 1.2.
 */
DAT_RETURN dat_linux_lmr_put(DAT_LMR_HANDLE lmr_handle);

/**
 * dat_linux_ia_lmr_cache - limit the registrations that are kept
 * @ia_handle: the IA
 * @max_bytes: bytes of the pages of all LMRs that are kept and not used; the default is an eighth
 *	of the memory of the host
 * @max_count: number of these LMRs; the default is 1,024
 *
 * LMRs beyond the limits are freed, the one whose last use is longest ago first.  With a limit of
 * 0, or with a driver that is older than this call, dat_linux_lmr_put() frees each LMR that is not
 * used any more.
 *
 * Return: DAT_SUCCESS;
 * DAT_INVALID_HANDLE: @ia_handle is no IA of this provider (DAT_INVALID_HANDLE_IA);
 * DAT_INVALID_PARAMETER: @max_count is negative (DAT_INVALID_ARG3);
 * DAT_INSUFFICIENT_RESOURCES: no memory;
 * DAT_INTERNAL_ERROR: the RDMA device is gone.
 *
 * Threads: safe.  Not in DAT 1.2.
 */
DAT_RETURN dat_linux_ia_lmr_cache(DAT_IA_HANDLE ia_handle, DAT_VLEN max_bytes,
				  DAT_COUNT max_count);

/**
 * dat_linux_evd_busy_poll - poll the device instead of waiting for an interrupt
 * @evd_handle: the EVD
 * @usec: longest time in microseconds for which dat_evd_wait() polls, at most 1,000,000; 0, the
 *	default, disables polling
 *
 * If no event is queued, dat_evd_dequeue() makes a system call that polls the device once, and
 * dat_evd_wait() polls the device until an event arrives.  dat_evd_wait() stops polling and sleeps
 * when @usec has passed, or when another thread needs the CPU.  A poll takes completions on the CPU
 * of the calling thread, without the delay of an interrupt.
 *
 * While a thread polls an EVD, the device sends no interrupts for the EVD.  So polling is for
 * threads that poll continuously.  If no wait follows the last poll, interrupts are enabled again a
 * few kernel ticks later.
 *
 * Polling has no effect if the EVD has a CNO or a file descriptor that a thread watches.
 *
 * Return: DAT_SUCCESS;
 * DAT_INVALID_HANDLE: @evd_handle is no EVD (DAT_INVALID_HANDLE1);
 * DAT_INVALID_PARAMETER: @usec is too long (DAT_INVALID_ARG2).
 *
 * Threads: safe.  Not in DAT 1.2.
 */
DAT_RETURN dat_linux_evd_busy_poll(DAT_EVD_HANDLE evd_handle, DAT_UINT32 usec);

/**
 * dat_linux_ia_poller - start a thread that polls for posted requests
 * @ia_handle: the IA
 * @idle_usec: microseconds without a post, 1 to 1,000,000, after which the thread sleeps
 *	until the next post; 0: end the thread
 * @cpu: CPU for the thread, which the calling thread may use; -1: any CPU that the calling thread
 *	may use
 *
 * While the thread is awake, a post makes no system call, except for receives over iWARP.  The
 * thread uses a CPU, and the CPU time is charged to the process.  The thread serves all EPs and
 * SRQs of the IA, and ends when the IA is closed.  A later call changes the parameters of the
 * thread.
 *
 * Return: DAT_SUCCESS;
 * DAT_INVALID_HANDLE: @ia_handle is no IA of this provider (DAT_INVALID_HANDLE_IA);
 * DAT_INVALID_PARAMETER: @idle_usec is too long (DAT_INVALID_ARG2), or the caller may not
 * use @cpu (DAT_INVALID_ARG3);
 * DAT_INSUFFICIENT_RESOURCES: no memory, or too many threads;
 * DAT_INTERNAL_ERROR: the RDMA device is gone.
 *
 * Threads: safe.  Not in DAT 1.2.
 */
DAT_RETURN dat_linux_ia_poller(DAT_IA_HANDLE ia_handle, DAT_UINT32 idle_usec, int cpu);

#ifdef __cplusplus
}
#endif

#endif /* UDAT_VENDOR_SPECIFIC_H */
