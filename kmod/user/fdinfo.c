// SPDX-License-Identifier: GPL-2.0
/* /proc/<pid>/fdinfo/<fd>: one line for the IA, its poller, and each object. */
#include "core/dat.h"
#include "user/file.h"

static void fdinfo_show_one(struct seq_file *m, struct dat_obj *obj)
{
	const struct dat_obj_ops *ops = dat_obj_ops(obj);

	seq_printf(m, "%s:\tid=%u", ops->name, obj->id);
	ops->show(m, obj);
	seq_putc(m, '\n');
}

void dat_show_fdinfo(struct seq_file *m, struct file *filp)
{
	struct dat_file *file = filp->private_data;
	struct dat_ia *ia = dat_file_ia(file);
	struct dat_obj *obj;
	unsigned long id;

	if (!ia)
		return;
	seq_printf(m, "ia:\tname=%s port=%u dead=%d queues=%u\n", ia->name, ia->port,
		   READ_ONCE(ia->dead), READ_ONCE(file->words) * 64);
	dat_poller_show(m, &file->poller, READ_ONCE(ia->watched));
	for (id = 0; (obj = dat_ia_next(ia, &id)); id++) {
		fdinfo_show_one(m, obj);
		dat_obj_put(obj);
	}
}
