/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) The dat authors */
/*
 * The user face, which serves processes through open files of /dev/dat.  This folder looks up
 * objects by id, checks ioctl arguments, maps pages, finds the queue of a doorbell bit, and reads
 * the rings that processes write.  The object layer in core/ does the rest.
 */
#ifndef _DAT_FILE_H
#define _DAT_FILE_H

#include <linux/fs.h>
#include <linux/mmu_notifier.h>
#include <linux/mutex.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include "core/dat.h"
#include "core/face.h"
#include "core/mem/pool.h"
#include "lib/chardev.h"

/**
 * struct dat_file - open file of /dev/dat
 * @base: common part of the open files of all devices
 * @mn: MMU notifier that reports changes of the address space and its end
 * @watches: watched LMRs of @ia; set before @mn is registered
 * @begin_work: work that begins the end of the objects after the end of the address space, then
 *	queues @end_work
 * @end_work: work that destroys the objects
 * @lock: mutex that protects the setting of @ia and @doorbell, changes of @bells before the IA is
 *	shut down, and the growth of @words
 * @ia: IA of the file; NULL until dat_file_bind() sets @ia once with release semantics
 * @doorbell: region shared with the process, with one dirty bit per queue; set together with @ia
 * @bells: EPs and SRQs, indexed by bit number in @doorbell; tag 1 marks the receive queue of an EP
 * @words: number of words of @doorbell up to the last word with the bit of a queue; only grows
 * @kicking: mutex that is held over iWARP while a thread takes bits of @doorbell and processes the
 *	queues of these bits
 */
struct dat_file {
	struct dat_devfile	base;
	struct mmu_notifier	mn;
	struct dat_watches	*watches;
	struct work_struct	begin_work;
	struct delayed_work	end_work;
	struct mutex		lock;		/* protects ia, bells, words */
	struct dat_ia		*ia;
	struct dat_region	doorbell;
	struct xarray		bells;
	unsigned int		words;
	struct mutex		kicking;	/* held during a kick over iWARP */
};

static inline struct dat_file *to_dat_file(struct dat_devfile *file)
{
	return container_of(file, struct dat_file, base);
}

int dat_file_init(void);
void dat_file_exit(void);
int dat_file_bind(struct dat_file *file, struct dat_ia *ia, struct dat_region *doorbell);
void dat_file_close_ia(struct dat_file *file);
int dat_file_add_bells(struct dat_file *file, struct dat_obj *obj);
void dat_file_del_bells(struct dat_file *file, struct dat_obj *obj);
void dat_file_kick(struct dat_file *file);
int dat_file_ioctl_kick(struct dat_devfile *devfile, unsigned long arg);
void dat_file_kick_all(struct dat_file *file);
bool dat_file_rung(const struct dat_file *file);

static inline struct dat_ia *dat_file_ia(struct dat_file *file)
{
	return smp_load_acquire(&file->ia);	/* pairs with dat_file_bind() */
}

/* Returns the number of queues for which the doorbell region has a bit. */
static inline u32 dat_doorbell_bits(const struct dat_region *r)
{
	return min_t(u64, dat_mmap_size(r) * BITS_PER_BYTE, DAT_QUEUES_LIMIT);
}

/* ring.c */
extern const struct dat_face dat_user_face;

bool dat_doorbell_rung(const struct dat_region *r, unsigned int word);
u32 dat_doorbell_take(struct dat_region *r, unsigned int word);

/* poller.c */
extern const struct dat_poller_ops dat_file_poller_ops;

/* ioctl.c */
extern const struct dat_ioctl_op dat_user_ioctls[DAT_NR_LAST];

int dat_user_run(struct dat_ucmd *ucmd, const struct dat_ioctl_op *op);

static inline struct dat_ia *dat_ucmd_ia(const struct dat_ucmd *ucmd)
{
	return ucmd->bound;
}

/* cmd.c */
u32 dat_cmd_addr(u8 to[DAT_ADDR_SIZE], const struct sockaddr_storage *ss);
int dat_cmd_step(u32 what, u32 generation, struct dat_step *step);
int dat_cmd_finish_ia(struct dat_ucmd *ucmd, int ret);
int dat_cmd_finish_obj(struct dat_ucmd *ucmd, int ret);
int dat_cmd_adapter(struct dat_ucmd *ucmd);
int dat_cmd_ia_open(struct dat_ucmd *ucmd);
int dat_cmd_ia_query(struct dat_ucmd *ucmd);
int dat_cmd_ia_addr(struct dat_ucmd *ucmd);
int dat_cmd_ia_close(struct dat_ucmd *ucmd);
int dat_cmd_free(struct dat_ucmd *ucmd);
int dat_cmd_pz_create(struct dat_ucmd *ucmd);
int dat_cmd_lmr_create(struct dat_ucmd *ucmd);
int dat_cmd_lmr_stale(struct dat_ucmd *ucmd);
int dat_cmd_rmr_create(struct dat_ucmd *ucmd);
int dat_cmd_rmr_bind(struct dat_ucmd *ucmd);
int dat_cmd_srq_create(struct dat_ucmd *ucmd);
int dat_cmd_srq_resize(struct dat_ucmd *ucmd);
int dat_cmd_srq_set_lw(struct dat_ucmd *ucmd);

/* evd.c */
int dat_cmd_finish_evd(struct dat_ucmd *ucmd, int ret);
int dat_cmd_finish_fd(struct dat_ucmd *ucmd, int ret);
int dat_cmd_evd_create(struct dat_ucmd *ucmd);
int dat_cmd_evd_wait(struct dat_ucmd *ucmd);
int dat_cmd_evd_poll(struct dat_ucmd *ucmd);
int dat_ioctl_evd_look(struct dat_devfile *devfile, unsigned long arg);
int dat_ioctl_evd_sleep(struct dat_devfile *devfile, unsigned long arg);
int dat_cmd_evd_post(struct dat_ucmd *ucmd);
int dat_cmd_evd_set(struct dat_ucmd *ucmd);
int dat_cmd_evd_modify_cno(struct dat_ucmd *ucmd);
int dat_cmd_evd_resize(struct dat_ucmd *ucmd);
int dat_cmd_cno_create(struct dat_ucmd *ucmd);
int dat_cmd_cno_query(struct dat_ucmd *ucmd);
int dat_cmd_cno_wait(struct dat_ucmd *ucmd);
int dat_cmd_fd(struct dat_ucmd *ucmd);

/* ep.c */
int dat_cmd_ep_create(struct dat_ucmd *ucmd);
int dat_cmd_ep_modify(struct dat_ucmd *ucmd);
int dat_cmd_ep_connect(struct dat_ucmd *ucmd);
int dat_cmd_ep_disconnect(struct dat_ucmd *ucmd);
int dat_cmd_ep_reset(struct dat_ucmd *ucmd);
int dat_cmd_ep_query(struct dat_ucmd *ucmd);
int dat_cmd_psp_create(struct dat_ucmd *ucmd);
int dat_cmd_cr_query(struct dat_ucmd *ucmd);
int dat_cmd_cr_accept(struct dat_ucmd *ucmd);
int dat_cmd_cr_reject(struct dat_ucmd *ucmd);
int dat_cmd_cr_handoff(struct dat_ucmd *ucmd);

/* mmap.c */
struct dat_span dat_mmap_span(struct dat_ia *ia, const struct dat_slice *slice);
int dat_mmap(struct dat_devfile *devfile, struct vm_area_struct *vma);

/* fd.c */
struct file *dat_fd_file(struct dat_obj *obj);

/* fdinfo.c */
void dat_show_fdinfo(struct seq_file *m, struct dat_devfile *devfile);

#endif /* _DAT_FILE_H */
