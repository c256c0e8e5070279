// SPDX-License-Identifier: GPL-2.0
/* /proc/<pid>/fdinfo/<fd>: one line for the IA, its poller, and each object. */
#include <linux/sched.h>

#include "user/file.h"

static void fdinfo_show_one(struct seq_file *m, struct dat_obj *obj)
{
	const struct dat_obj_ops *ops = dat_obj_ops(obj);

	seq_printf(m, "%s:\tid=%u", ops->name, obj->id);
	ops->show(m, obj);
	seq_putc(m, '\n');
}

static void fdinfo_show_poller(struct seq_file *m, struct dat_file *file)
{
	struct dat_poller *p = &file->poller;

	mutex_lock(&p->lock);
	if (p->task)
		seq_printf(m, "poller:\tthread=%d idle_us=%u awake=%d\n",
			   task_pid_vnr(p->task), READ_ONCE(p->idle_us),
			   READ_ONCE(file->ia->watched));
	mutex_unlock(&p->lock);
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
	fdinfo_show_poller(m, file);
	for (id = 0; (obj = dat_ia_next(ia, &id)); id++) {
		fdinfo_show_one(m, obj);
		dat_obj_put(obj);
	}
}
