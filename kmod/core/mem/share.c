// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * Shared memory that several processes register under the same name.  The name is a cookie that the
 * processes choose.
 *
 * Each process has its own mapping and its own registration of the memory.  The driver only ensures
 * that all processes which use a name register the same memory.  A name exists as long as at least
 * one LMR with the name is registered.
 */
#include <linux/cred.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/path.h>
#include <linux/rhashtable.h>
#include <linux/slab.h>
#include <net/net_namespace.h>

#include "core/dat.h"
#include "core/mem/lmr.h"

static DEFINE_MUTEX(share_lock);
static struct rhashtable shares;	/* protected by share_lock */

/*
 * Key by which a name is looked up.  Names are separate for each device, each network namespace and
 * each user.  So a user can neither take a name of another user nor find out whether another user
 * uses a name.  The key is hashed as bytes, so it must have no padding.
 */
struct share_key {
	struct dat_dev	*dev;
	struct net	*net;
	u64		uid;
	u8		cookie[DAT_LMR_COOKIE];
};

/* Identifies memory independently of the process and the address at which it is mapped. */
struct share_id {
	struct path	path;		/* the reference keeps the file system mounted */
	struct inode	*inode;
	pgoff_t		pgoff;
	u64		offset;		/* offset of the first byte in the page at pgoff */
	u64		length;
};

/* A name in use, and its memory. */
struct dat_share {
	struct rhash_head	node;		/* entry in shares; share_lock */
	unsigned int		users;		/* number of LMRs with this name; share_lock */
	struct share_key	key;
	struct share_id		id;		/* id.path has a reference */
};

static const struct rhashtable_params share_params = {
	.key_len		= sizeof(struct share_key),
	.key_offset		= offsetof(struct dat_share, key),
	.head_offset		= offsetof(struct dat_share, node),
	.automatic_shrinking	= true,
};

/* Returns the file offset, in pages, of the page that is mapped at @at. */
static pgoff_t share_pgoff(const struct vm_area_struct *vma, u64 at)
{
	return vma->vm_pgoff + ((at - vma->vm_start) >> PAGE_SHIFT);
}

/*
 * Returns true for a shared mapping of a regular file.  Refuses a mapping of a device, because a
 * device may map different memory for the same inode and offset.
 */
static bool share_good(const struct vm_area_struct *vma)
{
	return vma && vma->vm_file && vma->vm_flags & VM_SHARED &&
	       S_ISREG(file_inode(vma->vm_file)->i_mode);
}

/*
 * Returns true and sets *@id if the range is a shared mapping of one contiguous range of a regular
 * file.  mmap_lock is held.
 */
static bool share_identify_locked(struct mm_struct *mm, u64 start, u64 length,
				  struct share_id *id)
{
	struct vm_area_struct *vma;
	u64 at = start;

	lockdep_assert_held(&mm->mmap_lock);
	id->inode = NULL;
	while (at < start + length) {
		vma = vma_lookup(mm, at);
		if (!share_good(vma))
			return false;
		if (!id->inode) {
			id->path = vma->vm_file->f_path;
			id->inode = file_inode(vma->vm_file);
			id->pgoff = share_pgoff(vma, at);
		} else if (id->inode != file_inode(vma->vm_file) ||
			   share_pgoff(vma, at) !=
			   id->pgoff + ((at - (start & PAGE_MASK)) >> PAGE_SHIFT)) {
			return false;
		}
		at = vma->vm_end;
	}
	id->offset = start & ~PAGE_MASK;
	id->length = length;
	return true;
}

static int share_identify(u64 start, u64 length, struct share_id *id)
{
	struct mm_struct *mm = current->mm;
	int ret = -EEXIST;

	mmap_read_lock(mm);
	if (share_identify_locked(mm, start, length, id)) {
		path_get(&id->path);
		ret = 0;
	}
	mmap_read_unlock(mm);
	return ret;
}

static bool share_is(const struct dat_share *share, const struct share_id *id)
{
	return share->id.inode == id->inode && share->id.pgoff == id->pgoff &&
	       share->id.offset == id->offset && share->id.length == id->length;
}

/*
 * Adds an LMR to the users of the name in spare->key.  Inserts @spare if the name is not in use.
 * Fails with -EEXIST if the name refers to other memory than @id, or with -ENOMEM.
 */
static struct dat_share *share_use(const struct share_id *id, struct dat_share *spare)
{
	struct dat_share *share;
	int ret;

	lockdep_assert_held(&share_lock);
	share = rhashtable_lookup_fast(&shares, &spare->key, share_params);
	if (share && !share_is(share, id))
		return ERR_PTR(-EEXIST);
	if (!share) {
		ret = rhashtable_insert_fast(&shares, &spare->node, share_params);
		if (ret)
			return ERR_PTR(-ENOMEM);
		share = spare;
		share->id = *id;
		path_get(&id->path);
	}
	share->users++;
	return share;
}

/**
 * dat_share_get() - look up or create the name of shared memory of the current process
 * @ia: IA whose device and network namespace the name belongs to; must exist until dat_share_put()
 * @start: address of the first byte
 * @length: number of bytes, not 0; start + length does not overflow
 * @cookie: the name: DAT_LMR_COOKIE bytes; belongs to the caller's effective user
 *
 * Context: may sleep; takes mmap_lock.  Return: the name, or an ERR_PTR: -EEXIST if the memory is
 * no shared mapping of one regular file, or if the name refers to other memory; -ENOMEM.
 */
struct dat_share *dat_share_get(const struct dat_ia *ia, u64 start, u64 length,
				const u8 *cookie)
{
	struct dat_share *share, *spare;
	struct share_id id;
	int ret;

	spare = kzalloc(sizeof(*spare), GFP_KERNEL_ACCOUNT);
	if (!spare)
		return ERR_PTR(-ENOMEM);
	spare->key.dev = ia->dev;
	spare->key.net = ia->net;
	spare->key.uid = __kuid_val(current_euid());
	memcpy(spare->key.cookie, cookie, DAT_LMR_COOKIE);
	ret = share_identify(start, length, &id);
	if (ret) {
		kfree(spare);
		return ERR_PTR(ret);
	}
	mutex_lock(&share_lock);
	share = share_use(&id, spare);
	mutex_unlock(&share_lock);
	path_put(&id.path);
	if (share != spare)
		kfree(spare);
	return share;
}

/* Ends the use of a name by an LMR.  The last put frees the name.  Takes the mutex share_lock. */
void dat_share_put(struct dat_share *share)
{
	mutex_lock(&share_lock);
	if (--share->users)
		share = NULL;
	else
		rhashtable_remove_fast(&shares, &share->node, share_params);
	mutex_unlock(&share_lock);
	if (!share)
		return;
	path_put(&share->id.path);
	kfree(share);
}

int dat_share_init(void)
{
	BUILD_BUG_ON(sizeof(struct share_key) !=
		     2 * sizeof(void *) + sizeof(u64) + DAT_LMR_COOKIE);

	return rhashtable_init(&shares, &share_params);
}

void dat_share_exit(void)
{
	rhashtable_destroy(&shares);
}
