// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/*
 * The open IAs of the process: their descriptors, and what a forked child inherits.
 *
 * A forked child has none of the pages that the driver shares with its parent.  The child therefore
 * begins with an empty arena: every handle that it has inherited is invalid, so no call touches
 * these pages.  Only the fork pays for this.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>

#include "libdat.h"
#include "provider.h"

static pthread_mutex_t ias_lock = PTHREAD_MUTEX_INITIALIZER;
static struct udat_obj *ias;	/* linked by @next */
static int watch_error;	/* no IA can be opened then */

/*
 * Take all global locks that the child will need.  Otherwise another thread might hold one of them
 * during the fork, and the child could never take that lock.  The lock of the loader comes first,
 * because a provider that is being loaded may call this library.
 */
static void fork_prepare(void)
{
	udat_loader_lock();
	pthread_mutex_lock(&ias_lock);
	udat_opened_lock();
	udat_registry_lock();
	du_arena_lock();
}

static void unlock(void)
{
	du_arena_unlock();
	udat_registry_unlock();
	udat_opened_unlock();
	pthread_mutex_unlock(&ias_lock);
}

static void fork_parent(void)
{
	unlock();
	udat_loader_unlock();
}

static void fork_child(void)
{
	struct udat_obj *obj;

	for (obj = ias; obj; obj = obj->next) {
		struct udat_ia *ia = obj->ia;

		du_file_close(&ia->file);
		ia->file.fd = -1;
	}
	ias = NULL;
	du_arena_abandon();
	unlock();
	udat_loader_renew();
}

/* A constructor, because calls that open no IA take these locks, too. */
static void __attribute__((constructor)) watch_forks(void)
{
	watch_error = -pthread_atfork(fork_prepare, fork_parent, fork_child);
}

/* Returns whether an open IA keeps the descriptor @fd.  The caller holds ias_lock. */
static int fd_is_kept(int fd)
{
	const struct udat_obj *obj;

	for (obj = ias; obj; obj = obj->next)
		if (obj->ia->file.fd == fd)
			return 1;
	return 0;
}

/*
 * Move the open file @fd to a descriptor that no IA keeps.  The kernel chooses a kept descriptor
 * only if the program has closed it.  Calls for the IA that keeps the descriptor would then act on
 * this open file.
 */
static int fd_move(int fd)
{
	int next;

	while (fd >= 0 && fd_is_kept(fd)) {
		next = fcntl(fd, F_DUPFD_CLOEXEC, fd + 1);
		if (next < 0)
			next = -errno;
		du_close(fd);
		fd = next;
	}
	return fd;
}

int udat_ia_open_device(struct udat_ia *ia)
{
	int fd;

	if (watch_error)
		return watch_error;
	pthread_mutex_lock(&ias_lock);
	fd = fd_move(du_dev_open(DU_DEV_DAT, 1));
	if (fd >= 0) {
		du_file_init(&ia->file, fd);
		ia->obj.next = ias;
		ias = &ia->obj;
	}
	pthread_mutex_unlock(&ias_lock);
	return fd < 0 ? fd : 0;
}

void udat_ia_close_device(struct udat_ia *ia)
{
	struct udat_obj **at = &ias;

	pthread_mutex_lock(&ias_lock);
	while (*at != &ia->obj)
		at = &(*at)->next;
	*at = ia->obj.next;
	du_file_close(&ia->file);
	pthread_mutex_unlock(&ias_lock);
}
