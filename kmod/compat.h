/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Differences between kernel versions, each with the version that ended it.  No other file
 * depends on LINUX_VERSION_CODE.
 */
#ifndef _DAT_COMPAT_H
#define _DAT_COMPAT_H

#include <linux/export.h>
#include <linux/mm.h>
#include <linux/timer.h>
#include <linux/version.h>
#include <rdma/ib_verbs.h>

#ifndef CONFIG_64BIT
#error "dat.ko is for 64-bit kernels: it was never run on others"
#endif

/* 6.3 made vm_flags read-only and gave it accessors. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)
static inline void dat_vm_flags_mod(struct vm_area_struct *vma,
				    unsigned long set, unsigned long clear)
{
	vma->vm_flags = (vma->vm_flags | set) & ~clear;
}
#else
static inline void dat_vm_flags_mod(struct vm_area_struct *vma,
				    unsigned long set, unsigned long clear)
{
	vm_flags_mod(vma, set, clear);
}
#endif

/* 6.2 added the new name, 6.15 removed the old one. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 2, 0)
static inline void dat_timer_delete_sync(struct timer_list *timer)
{
	del_timer_sync(timer);
}
#else
static inline void dat_timer_delete_sync(struct timer_list *timer)
{
	timer_delete_sync(timer);
}
#endif

/*
 * Until 6.12 rxe frees a CQ without killing its tasklet, which may then run on freed memory.  No
 * call can wait for the tasklet, so the free is delayed by a second, far longer than a softirq is
 * usually deferred.  rxe also does not raise IB_EVENT_QP_LAST_WQE_REACHED.
 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 12, 0)
#define RXE_QUIRKS_BEFORE_6_12	(DAT_QUIRK_CQ_GRACE | DAT_QUIRK_NO_LAST_WQE)
#else
#define RXE_QUIRKS_BEFORE_6_12	0
#endif

/* Until 6.3 rxe reads one entry beyond the end of a registration's page table. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)
#define RXE_QUIRKS_BEFORE_6_3	DAT_QUIRK_MR_SPARE
#else
#define RXE_QUIRKS_BEFORE_6_3	0
#endif

/* From 6.13 on the namespace is a string. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
#define DAT_NS(ns)	ns
#else
#define DAT_NS(ns)	#ns
#endif

#define EXPORT_SYMBOL_DAT(symbol)	EXPORT_SYMBOL_NS_GPL(symbol, DAT_NS(DAT))
#define EXPORT_SYMBOL_DAT_INTERNAL(symbol)	EXPORT_SYMBOL_NS_GPL(symbol, DAT_NS(DAT_INTERNAL))

/* Returns the flags of ib_umem_get(), which until 6.2 breaks COW also for read-only memory. */
static inline unsigned int dat_umem_gup_flags(bool write)
{
	if (write)
		return FOLL_WRITE;
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 2, 0)
	return FOLL_WRITE | FOLL_FORCE;
#else
	return 0;
#endif
}

#endif /* _DAT_COMPAT_H */
