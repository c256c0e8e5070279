/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) The dat authors */
/*
 * Wrappers for interfaces, and quirks of drivers, that differ between kernel versions.  The comment
 * of each names the versions.  No other file in kmod/ tests LINUX_VERSION_CODE.
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

/* Linux 6.3 made vma->vm_flags read-only and added vm_flags_mod() to change the flags. */
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

/* Linux 6.2 renamed del_timer_sync() to timer_delete_sync(), and 6.15 removed the old name. */
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
 * rxe of Linux 6.1 frees a CQ without killing the tasklet of the CQ, so the tasklet may access
 * freed memory.  No function can wait for the tasklet.  DAT_QUIRK_CQ_GRACE therefore delays the
 * free by a second, which is far longer than a softirq is usually deferred.  rxe of 6.1 also does
 * not raise IB_EVENT_QP_LAST_WQE_REACHED.  rxe of 6.12 has neither fault.  Versions in between were
 * not examined for both faults, so all versions before 6.12 get both quirks.
 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 12, 0)
#define RXE_QUIRKS_BEFORE_6_12	(DAT_QUIRK_CQ_GRACE | DAT_QUIRK_NO_LAST_WQE)
#else
#define RXE_QUIRKS_BEFORE_6_12	0
#endif

/*
 * If a QP enters the error state while a request completes, rxe goes back to an earlier step of the
 * request.  rxe of Linux 6.1 then sees the error state.  rxe of 6.6 and 6.12 executes the request
 * again.  Other versions were not examined, so all since 6.2 get DAT_QUIRK_REPLAYS.
 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 2, 0)
#define RXE_QUIRKS_AFTER_6_1	0
#else
#define RXE_QUIRKS_AFTER_6_1	DAT_QUIRK_REPLAYS
#endif

/*
 * rxe of Linux 6.1 calls the handler of a CQ in a tasklet, and rxe of 6.12 calls it with interrupts
 * off.  Versions in between were not examined, and may call it inside a post.
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 2, 0) && LINUX_VERSION_CODE < KERNEL_VERSION(6, 12, 0)
#define RXE_QUIRKS_6_2_TO_6_11	DAT_QUIRK_NOTIFIES_IN_POST
#else
#define RXE_QUIRKS_6_2_TO_6_11	0
#endif

/* Before Linux 6.3, rxe reads one entry beyond the end of a registration's page table. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)
#define RXE_QUIRKS_BEFORE_6_3	DAT_QUIRK_MR_SPARE
#else
#define RXE_QUIRKS_BEFORE_6_3	0
#endif

/* Before Linux 7.3, bnxt_re allows remote reads and writes on each QP, despite the access flags. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(7, 3, 0)
#define BNXT_RE_QUIRKS_BEFORE_7_3	DAT_QUIRK_OPEN_ACCESS
#else
#define BNXT_RE_QUIRKS_BEFORE_7_3	0
#endif

/*
 * cxgb4 of Linux 6.1 does not raise IB_EVENT_QP_LAST_WQE_REACHED, and cxgb4 of 6.12 does.  Other
 * versions were not examined.
 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 12, 0)
#define CXGB4_QUIRKS_BEFORE_6_12	DAT_QUIRK_NO_LAST_WQE
#else
#define CXGB4_QUIRKS_BEFORE_6_12	0
#endif

/* Since Linux 6.13, EXPORT_SYMBOL_NS_GPL() takes the namespace as a string. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
#define DAT_NS(ns)	ns
#else
#define DAT_NS(ns)	#ns
#endif

#define EXPORT_SYMBOL_DAT(symbol)	EXPORT_SYMBOL_NS_GPL(symbol, DAT_NS(DAT))
#define EXPORT_SYMBOL_DAT_INTERNAL(symbol)	EXPORT_SYMBOL_NS_GPL(symbol, DAT_NS(DAT_INTERNAL))

/* Linux 7.2 renamed ib_umem_get() to ib_umem_get_va(). */
#if LINUX_VERSION_CODE < KERNEL_VERSION(7, 2, 0)
#define ib_umem_get_va	ib_umem_get
#endif

/*
 * Registers memory of the current process by the driver's reg_user_mr().  The driver expects the
 * udata of a call from user space, so an empty udata is passed.  Linux 6.17 added a DMA handle to
 * the arguments.  The registration does not appear in "rdma resource show mr".
 */
static inline struct ib_mr *dat_reg_user_mr_udata(struct ib_pd *pd, u64 addr, u64 length,
						  int access)
{
	struct ib_udata udata = {};
	struct ib_mr *mr;

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 17, 0)
	mr = pd->device->ops.reg_user_mr(pd, addr, length, addr, access, &udata);
#else
	mr = pd->device->ops.reg_user_mr(pd, addr, length, addr, access, NULL, &udata);
#endif
	if (IS_ERR(mr))
		return mr;
	mr->device = pd->device;
	mr->type = IB_MR_TYPE_USER;
	mr->pd = pd;
	mr->iova = addr;
	mr->length = length;
	atomic_inc(&pd->usecnt);
	return mr;
}

/*
 * Since Linux 6.18, the struct pages of a folio are always adjacent, and nth_page() is gone.  A
 * distribution may have removed nth_page() earlier, so the macro itself is tested.
 */
#ifndef nth_page
#define nth_page(page, n)	((page) + (n))
#endif

/*
 * Returns true for an address in the vmalloc area or in a module.  Linux 6.12 exports
 * is_vmalloc_or_module_addr() to modules, and Linux 6.1 does not.  MODULES_VADDR and MODULES_END
 * replace the function where modules are outside the vmalloc area.  On s390 and riscv, both use
 * symbols that are not exported, so the module needs Linux 6.12 there.
 */
static inline bool dat_is_vmalloc_or_module(unsigned long va)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 12, 0)
#ifdef MODULES_VADDR
	if (va >= MODULES_VADDR && va < MODULES_END)
		return true;
#endif
	return is_vmalloc_addr((void *)va);
#else
	return is_vmalloc_or_module_addr((void *)va);
#endif
}

/*
 * Returns the FOLL_* flags with which ib_umem_get_va() pins pages, before Linux 6.2 without
 * FOLL_LONGTERM: there a fault with that flag holds mmap_lock and cannot be interrupted.  Before
 * Linux 6.2, ib_umem_get() sets FOLL_WRITE and FOLL_FORCE even for read-only memory, to break
 * copy-on-write.
 */
static inline unsigned int dat_umem_gup_flags(bool write)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 2, 0)
	return write ? FOLL_WRITE : FOLL_WRITE | FOLL_FORCE;
#else
	return write ? FOLL_WRITE | FOLL_LONGTERM : FOLL_LONGTERM;
#endif
}

#endif /* _DAT_COMPAT_H */
