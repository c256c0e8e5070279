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
 * @fd: out; the caller's to close
 *
 * For poll(), select() and epoll: it is readable while events are queued, and hangs up
 * when the EVD is destroyed.  An event whose completion is UNSIGNALLED makes it readable
 * but wakes no thread.  Reading and writing fail.
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
 * @fd: out; the caller's to close
 *
 * Like that of an EVD, but it is readable while the CNO is triggered: dat_cno_wait()
 * with a timeout of 0 consumes the trigger and says which EVD it was.
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
 * dat_linux_evd_busy_poll - look at the device instead of being notified
 * @evd_handle: the EVD
 * @usec: for how long a wait does, at most 1,000,000 microseconds; 0: be notified, as at
 *	first
 *
 * A dat_evd_dequeue() that finds no event has the driver look at the device once, which is
 * a system call.  A dat_evd_wait() that finds none has it look until there is one, but for
 * no longer than @usec, nor its own timeout, nor when another thread wants the CPU; then it
 * sleeps.  The calling thread's CPU does the work of the device's interrupt, which is
 * sooner done.  It is for threads that poll all the time: while they do there is no
 * notification, and once they stop without a wait it takes some ticks of the kernel's clock
 * until there is.
 *
 * It is of no use, but does no harm, on an EVD with a CNO or a watched descriptor, and for
 * EPs with two EVDs of which one is not polled.
 *
 * Return: DAT_SUCCESS;
 * DAT_INVALID_HANDLE: no EVD (DAT_INVALID_HANDLE1);
 * DAT_INVALID_PARAMETER: @usec is too long (DAT_INVALID_ARG2).
 *
 * Threads: safe.  Not in DAT 1.2.
 */
DAT_RETURN dat_linux_evd_busy_poll(DAT_EVD_HANDLE evd_handle, DAT_UINT32 usec);

/**
 * dat_linux_ia_poller - have a thread look at what is posted
 * @ia_handle: the IA
 * @idle_usec: after so many microseconds in which nothing was posted the thread sleeps,
 *	until a post wakes it; 1 to 1,000,000, or 0: no thread
 * @cpu: the CPU that it runs on, one of those that the calling thread may use; -1: any
 *	of those
 *
 * While it is awake, posting makes no system call.  It uses a CPU for that.  It is a
 * thread of the process, limited and accounted as such, serves all EPs and SRQs of this IA
 * and ends with it; another call changes it.
 *
 * Return: DAT_SUCCESS;
 * DAT_INVALID_HANDLE: no IA of this provider (DAT_INVALID_HANDLE_IA);
 * DAT_INVALID_PARAMETER: @idle_usec is too long (DAT_INVALID_ARG2), or @cpu is none that
 * the caller may use (DAT_INVALID_ARG3);
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
