// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * Consumer notification objects (CNOs).  A CNO wakes a thread when an event arrives in one of
 * several EVDs.
 */
#include <linux/poll.h>

#include "core/dat.h"
#include "core/event/evd.h"
#include "lib/device.h"

struct dat_cno *dat_cno_create(struct dat_ia *ia)
{
	struct dat_cno *cno = dat_obj_alloc(ia, DAT_OBJ_CNO, 0);
	int ret;

	if (IS_ERR(cno))
		return cno;
	spin_lock_init(&cno->lock);
	init_waitqueue_head(&cno->wq);
	ret = dat_obj_publish(&cno->obj);
	if (ret) {
		dat_obj_abort(&cno->obj);
		return ERR_PTR(ret);
	}
	return cno;
}

/*
 * Triggers a CNO after an event was queued.  @evd: user_data of the event's EVD, whose lock is
 * held.  cno->evd keeps the user_data of the EVD that triggered the CNO first, until a waiter
 * consumes the trigger.  Other EVDs may have events as well, so the consumer must check all EVDs.
 */
void dat_cno_trigger(struct dat_cno *cno, u64 evd)
{
	spin_lock_bh(&cno->lock);
	cno->generation++;
	if (!cno->triggered)
		cno->evd = evd;
	cno->last = evd;
	cno->triggered = true;
	/*
	 * Wake all waiters in dat_cno_watch() and poll(), and one thread in dat_cno_wait() to
	 * consume the trigger.
	 */
	wake_up_poll(&cno->wq, EPOLLIN | EPOLLRDNORM);
	spin_unlock_bh(&cno->lock);
}

/*
 * Forgets an EVD that leaves the CNO.  If the EVD has set the trigger, the trigger stays, with
 * user_data 0.  Context: any but hard interrupt.
 */
void dat_cno_forget(struct dat_cno *cno, u64 evd)
{
	spin_lock_bh(&cno->lock);
	if (cno->evd == evd)
		cno->evd = 0;
	if (cno->last == evd)
		cno->last = 0;
	spin_unlock_bh(&cno->lock);
}

/* Returns true if the CNO has a trigger that no waiter has consumed.  Sets *@generation. */
bool dat_cno_query(struct dat_cno *cno, u32 *generation)
{
	bool triggered;

	spin_lock_bh(&cno->lock);
	*generation = cno->generation;
	triggered = cno->triggered;
	spin_unlock_bh(&cno->lock);
	return triggered;
}

/*
 * struct cno_wait - parameters and result of a wait for a CNO
 * @watch: true: wait until the CNO's generation differs from @generation, and leave the trigger;
 *	false: wait for a trigger and consume it
 * @generation: number of triggers that the caller has seen; updated after a success
 * @evd: result: cno->last if @watch is true, else cno->evd
 */
struct cno_wait {
	bool	watch;
	u32	generation;
	u64	evd;
};

/* Returns 1 if the wait has succeeded, 0 if the caller must sleep again, or -ESHUTDOWN. */
static int cno_ready(struct dat_cno *cno, struct cno_wait *w)
{
	int ret = 0;

	spin_lock_bh(&cno->lock);
	if (cno->dead)
		ret = -ESHUTDOWN;
	else if (w->watch ? cno->generation != w->generation : cno->triggered)
		ret = 1;
	if (ret > 0) {
		w->evd = w->watch ? cno->last : cno->evd;
		w->generation = cno->generation;
		if (!w->watch)
			cno->triggered = false;
	}
	spin_unlock_bh(&cno->lock);
	return ret;
}

static void cno_count(struct dat_cno *cno, int n)
{
	spin_lock_bh(&cno->lock);
	cno->waiters += n;
	spin_unlock_bh(&cno->lock);
}

static int cno_wait(struct dat_cno *cno, struct cno_wait *w, u64 deadline_ns)
{
	DEFINE_WAIT(wait);
	int ret;

	cno_count(cno, w->watch ? 0 : 1);
	do {
		if (w->watch)
			prepare_to_wait(&cno->wq, &wait, TASK_INTERRUPTIBLE);
		else
			prepare_to_wait_exclusive(&cno->wq, &wait, TASK_INTERRUPTIBLE);
		ret = cno_ready(cno, w);
		if (!ret)
			ret = dat_sleep(deadline_ns);
	} while (!ret);
	finish_wait(&cno->wq, &wait);
	cno_count(cno, w->watch ? 0 : -1);
	/*
	 * This thread may have got the exclusive wake-up for a trigger that it does not consume,
	 * because a signal or the deadline has ended its wait.  So wake another waiter.
	 */
	if (ret < 0 && !w->watch)
		wake_up(&cno->wq);
	return ret > 0 ? 0 : ret;
}

/*
 * Sleeps until the CNO is triggered, and consumes the trigger.  Sets *@evd to the user_data of the
 * EVD that set the trigger, or to 0 if that EVD has left the CNO.  Fails with -ETIMEDOUT, with
 * -ERESTARTNOHAND after a signal, or with -ESHUTDOWN if the CNO is shut down.
 */
int dat_cno_wait(struct dat_cno *cno, u64 deadline_ns, u64 *evd)
{
	struct cno_wait w = {};
	int ret = cno_wait(cno, &w, deadline_ns);

	*evd = w.evd;
	return ret;
}

/*
 * Sleeps until the number of the CNO's triggers differs from *@generation, and consumes no trigger.
 * After a success, updates *@generation, and sets *@evd to the user_data of the EVD that triggered
 * the CNO last, or to 0 if that EVD has left the CNO.  Fails like dat_cno_wait().
 */
int dat_cno_watch(struct dat_cno *cno, u32 *generation, u64 deadline_ns, u64 *evd)
{
	struct cno_wait w = { .watch = true, .generation = *generation };
	int ret = cno_wait(cno, &w, deadline_ns);

	*evd = w.evd;
	*generation = w.generation;
	return ret;
}

static int cno_may_free(struct dat_obj *obj)
{
	struct dat_cno *cno = to_dat_cno(obj);
	int ret;

	spin_lock_bh(&cno->lock);
	ret = cno->waiters ? -EBUSY : 0;
	spin_unlock_bh(&cno->lock);
	return ret;
}

static void cno_shutdown(struct dat_obj *obj)
{
	struct dat_cno *cno = to_dat_cno(obj);

	spin_lock_bh(&cno->lock);
	cno->dead = true;
	wake_up_all(&cno->wq);
	spin_unlock_bh(&cno->lock);
}

static __poll_t cno_poll(struct dat_obj *obj, struct file *file,
			 struct poll_table_struct *wait)
{
	struct dat_cno *cno = to_dat_cno(obj);
	__poll_t mask = 0;

	poll_wait(file, &cno->wq, wait);
	spin_lock_bh(&cno->lock);
	if (cno->triggered)
		mask |= EPOLLIN | EPOLLRDNORM;
	if (cno->dead)
		mask |= EPOLLHUP;
	spin_unlock_bh(&cno->lock);
	return mask;
}

static void cno_show(struct seq_file *m, struct dat_obj *obj)
{
	struct dat_cno *cno = to_dat_cno(obj);

	spin_lock_bh(&cno->lock);
	seq_printf(m, " generation=%u triggered=%d waiters=%u users=%d", cno->generation,
		   cno->triggered, cno->waiters, atomic_read(&obj->users));
	spin_unlock_bh(&cno->lock);
}

const struct dat_obj_ops dat_cno_ops = {
	.name		= "cno",
	.size		= sizeof(struct dat_cno),
	.may_free	= cno_may_free,
	.shutdown	= cno_shutdown,
	.poll		= cno_poll,
	.show		= cno_show,
};
