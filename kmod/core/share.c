// SPDX-License-Identifier: GPL-2.0
/*
 * Memory that processes register under one name.
 *
 * Each has its own mapping and its own registration; the name (a cookie) only sees to it
 * that all of them mean the same memory.  There is no first one: whoever comes makes the
 * name, whoever is last takes it away.
 */
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/path.h>
#include <linux/rhashtable.h>
#include <linux/slab.h>
#include <net/net_namespace.h>

#include "core/dat.h"

static DEFINE_MUTEX(share_lock);
static struct rhashtable shares;	/* share_lock */

/* What a cookie is looked up by: containers don't share names.  No padding. */
struct share_key {
	struct dat_dev	*dev;
	struct net	*net;
	u8		cookie[DAT_LMR_COOKIE];
};

/* What memory is, whoever maps it where. */
struct share_id {
	struct path	path;		/* keeps the file system mounted */
	struct inode	*inode;
	pgoff_t		pgoff;
	u64		offset;		/* in the page */
	u64		length;
};

/**
 * struct dat_share - a cookie in use
 * @node: among all of them; share_lock
 * @users: LMRs; share_lock
 * @key: its name, and whose it is
 * @id: the memory; holds the path
 */
struct dat_share {
	struct rhash_head	node;
	unsigned int		users;
	struct share_key	key;
	struct share_id		id;
};

static const struct rhashtable_params share_params = {
	.key_len		= sizeof(struct share_key),
	.key_offset		= offsetof(struct dat_share, key),
	.head_offset		= offsetof(struct dat_share, node),
	.automatic_shrinking	= true,
};

/* In small pages, also of a huge one. */
static pgoff_t share_pgoff(const struct vm_area_struct *vma, u64 at)
{
	return vma->vm_pgoff + ((at - vma->vm_start) >> PAGE_SHIFT);
}

/* Devices show different memory through one inode. */
static bool share_good(const struct vm_area_struct *vma)
{
	return vma && vma->vm_file && vma->vm_flags & VM_SHARED &&
	       S_ISREG(file_inode(vma->vm_file)->i_mode);
}

/* True if [start, start + length) is one file, mapped shared and without a break. */
static bool share_identify_locked(struct mm_struct *mm, u64 start, u64 length,
				  struct share_id *id)
{
	struct vm_area_struct *vma;
	u64 at = start;

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

/* Use the name if it is of this memory, or give it @spare, whose key is set. */
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
 * dat_share_get() - name memory of the current process
 * @ia: among those who opened its device in its network namespace; outlives the name
 * @start: first byte
 * @length: bytes, not 0; start + length doesn't overflow
 * @cookie: DAT_LMR_COOKIE bytes
 *
 * Context: may sleep; takes mmap_lock.  Return: to be given back by dat_share_put(), or
 * an ERR_PTR: -EEXIST, see struct dat_lmr_create, -ENOMEM.
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
	BUILD_BUG_ON(sizeof(struct share_key) != 2 * sizeof(void *) + DAT_LMR_COOKIE);

	return rhashtable_init(&shares, &share_params);
}

void dat_share_exit(void)
{
	rhashtable_destroy(&shares);
}
