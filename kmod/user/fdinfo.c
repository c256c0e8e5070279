// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * /proc/<pid>/fdinfo/<fd>: lines for the adapter, the IA, the IA's shared memory, the poller, and
 * each object.  A file without an IA has a line for each adapter that can be opened with the file.
 */
#include "core/dat.h"
#include "user/file.h"

void dat_show_fdinfo(struct seq_file *m, struct dat_devfile *devfile)
{
	struct dat_file *file = to_dat_file(devfile);
	struct dat_ia *ia = dat_file_ia(file);
	struct dat_obj *obj;
	unsigned long id;

	dat_dev_show(m, devfile->net, ia);
	if (!ia)
		return;
	seq_puts(m, "ia:\tname=");
	seq_escape(m, ia->name, DAT_SHOW_OCTAL);
	seq_printf(m, " port=%u dead=%d queues=%u\n", ia->port, READ_ONCE(ia->dead),
		   READ_ONCE(file->words) * 32);
	seq_puts(m, "submit:\t");
	dat_pool_show(m, &ia->submit_pool);
	seq_puts(m, "\nstatus:\t");
	dat_pool_show(m, &ia->status_pool);
	seq_putc(m, '\n');
	dat_poller_show(m, &devfile->poller, READ_ONCE(ia->watched));
	/* If the text does not fit, seq_file calls this function again with a larger buffer. */
	for (id = 0; !seq_has_overflowed(m) && (obj = dat_ia_next(ia, &id)); id++) {
		seq_printf(m, "%s:\tid=%u", dat_obj_ops(obj)->name, obj->id);
		dat_obj_ops(obj)->show(m, obj);
		seq_putc(m, '\n');
		dat_obj_put(obj);
		cond_resched();
	}
}
