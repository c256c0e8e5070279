// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* The poller of an open file of /dev/dat, which polls the doorbell region. */
#include "core/dat.h"
#include "user/file.h"

static struct dat_file *file_of(const struct dat_poller *p)
{
	return container_of(p, struct dat_file, base.poller);
}

static bool file_look(struct dat_poller *p)
{
	struct dat_file *file = file_of(p);

	if (!dat_file_rung(file))
		return false;
	if (dat_ia_lock_live(file->ia))
		return false;
	dat_file_kick(file);
	dat_ia_unlock(file->ia);
	return true;
}

/*
 * Starts or stops watching.  A poller that stops kicks every queue, because a kick makes the queue
 * ask for kicks again.  If the IA is shut down, no queue needs a kick, because the shutdown ends
 * all connections, and DAT_IOC_KICK fails.
 */
static void file_watch(struct dat_poller *p, bool on)
{
	struct dat_file *file = file_of(p);

	dat_ia_set_watched(file->ia, on);
	if (on || dat_ia_lock_live(file->ia))
		return;
	dat_file_kick_all(file);
	dat_ia_unlock(file->ia);
}

static bool file_gone(const struct dat_poller *p)
{
	return READ_ONCE(file_of(p)->ia->dead);
}

const struct dat_poller_ops dat_file_poller_ops = {
	.look	= file_look,
	.watch	= file_watch,
	.gone	= file_gone,
};
