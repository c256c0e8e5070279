/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Vendor extensions for user programs.  uDAPL 1.2 gives the file its name.
 */
#ifndef UDAT_VENDOR_SPECIFIC_H
#define UDAT_VENDOR_SPECIFIC_H

#include "dat_vendor_specific.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * dat_linux_evd_fd - get a file descriptor for an event dispatcher
 * @evd_handle: the EVD
 * @fd: out: descriptor, which the caller closes
 *
 * For poll(), select() and epoll: the descriptor is readable while events are queued, and
 * hangs up when the EVD is destroyed.  An event whose completion is UNSIGNALLED makes the
 * descriptor readable but wakes no thread.  Reading and writing fail.
 *
 * Return: DAT_SUCCESS;
 * DAT_INVALID_HANDLE: no EVD (DAT_INVALID_HANDLE1);
 * DAT_INVALID_PARAMETER: @fd is NULL (DAT_INVALID_ARG2);
 * DAT_INSUFFICIENT_RESOURCES: memory, file descriptors.
 *
 * Threads: safe.  Not in DAT 1.2.
 */
DAT_RETURN dat_linux_evd_fd(DAT_EVD_HANDLE evd_handle, int *fd);

/**
 * dat_linux_cno_fd - get a file descriptor for a consumer notification object
 * @cno_handle: the CNO
 * @fd: out: descriptor, which the caller closes
 *
 * Like the descriptor of an EVD, but readable while the CNO is triggered.  dat_cno_wait()
 * with a timeout of 0 consumes the trigger and returns the EVD.
 *
 * Return: DAT_SUCCESS;
 * DAT_INVALID_HANDLE: no CNO (DAT_INVALID_HANDLE_CNO);
 * DAT_INVALID_PARAMETER: @fd is NULL (DAT_INVALID_ARG2);
 * DAT_INSUFFICIENT_RESOURCES: memory, file descriptors.
 *
 * Threads: safe.  Not in DAT 1.2.
 */
DAT_RETURN dat_linux_cno_fd(DAT_CNO_HANDLE cno_handle, int *fd);

/**
 * dat_linux_evd_busy_poll - poll the device instead of waiting for its notification
 * @evd_handle: the EVD
 * @usec: longest time in microseconds that a wait polls, at most 1,000,000; 0, which is the
 *	default: no polling
 *
 * A dat_evd_dequeue() that finds no event makes the driver poll the device once, which is a
 * system call.  A dat_evd_wait() that finds none makes the driver poll until there is an
 * event.  The wait sleeps when @usec or its own timeout has passed, or when another thread
 * wants the CPU.  Polling takes completions on the CPU of the calling thread, without the
 * delay of an interrupt.  It is for threads that poll all the time: meanwhile the device
 * does not notify.  After the last poll, if no wait follows, notification starts again some
 * ticks of the kernel's clock later.
 *
 * Polling has no effect on an EVD with a CNO or a watched descriptor, and for EPs with two
 * EVDs of which one is not polled.
 *
 * Return: DAT_SUCCESS;
 * DAT_INVALID_HANDLE: no EVD (DAT_INVALID_HANDLE1);
 * DAT_INVALID_PARAMETER: @usec is too long (DAT_INVALID_ARG2).
 *
 * Threads: safe.  Not in DAT 1.2.
 */
DAT_RETURN dat_linux_evd_busy_poll(DAT_EVD_HANDLE evd_handle, DAT_UINT32 usec);

/**
 * dat_linux_ia_poller - have a thread poll for posted requests
 * @ia_handle: the IA
 * @idle_usec: microseconds without a post, 1 to 1,000,000, after which the thread sleeps
 *	until the next post; 0: no thread
 * @cpu: CPU for the thread, one of those that the calling thread may use; -1: any of those
 *
 * Posting makes no system call while the thread is awake, at the cost of a CPU.  The thread
 * belongs to the process, which is charged for it.  It serves all EPs and SRQs of this IA,
 * and ends with the IA.  A later call changes its parameters.
 *
 * Return: DAT_SUCCESS;
 * DAT_INVALID_HANDLE: no IA of this provider (DAT_INVALID_HANDLE_IA);
 * DAT_INVALID_PARAMETER: @idle_usec is too long (DAT_INVALID_ARG2), or the caller may not
 * use @cpu (DAT_INVALID_ARG3);
 * DAT_INSUFFICIENT_RESOURCES: memory, threads;
 * DAT_INTERNAL_ERROR: the RDMA device is gone.
 *
 * Threads: safe.  Not in DAT 1.2.
 */
DAT_RETURN dat_linux_ia_poller(DAT_IA_HANDLE ia_handle, DAT_UINT32 idle_usec, int cpu);

#ifdef __cplusplus
}
#endif

#endif /* UDAT_VENDOR_SPECIFIC_H */
