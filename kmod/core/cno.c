// SPDX-License-Identifier: GPL-2.0
/* Consumer notification objects: one thing to wait for, for many event dispatchers. */
#include <linux/poll.h>
#include <linux/sched/signal.h>

#include "core/dat.h"

/**
 * dat_cno_create() - make a consumer notification object
 * @ia: parent
 *
 * Context: may sleep.  Return: the CNO with a reference, or an ERR_PTR.
 */
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

/**
 * dat_cno_trigger() - an event that notifies was queued
 * @cno: of the EVD
 * @evd: its user_data
 *
 * While nobody consumes it the first EVD is remembered; the consumer has to look at all
 * of them in any case.
 *
 * Context: any but hard interrupt; under the EVD's lock.
 */
void dat_cno_trigger(struct dat_cno *cno, u64 evd)
{
	spin_lock_bh(&cno->lock);
	cno->generation++;
	if (!cno->triggered)
		cno->evd = evd;
	cno->last = evd;
	cno->triggered = true;
	/* All that watch, and one that consumes. */
	wake_up_poll(&cno->wq, EPOLLIN | EPOLLRDNORM);
	spin_unlock_bh(&cno->lock);
}

/* The EVD is freed: the trigger stays, without a name. */
void dat_cno_forget(struct dat_cno *cno, u64 evd)
{
	spin_lock_bh(&cno->lock);
	if (cno->evd == evd)
		cno->evd = 0;
	if (cno->last == evd)
		cno->last = 0;
	spin_unlock_bh(&cno->lock);
}

/* True if it is triggered. */
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
 * struct cno_wait - what a thread waits for
 * @watch: a trigger after @generation, which is not consumed; else the next one
 * @evd: result
 */
struct cno_wait {
	bool	watch;
	u32	generation;
	u64	evd;
};

/* 1: go; 0: sleep on; negative: go with this error. */
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
	/* A wake-up that was meant for us but came with a signal is another waiter's. */
	if (ret < 0 && !w->watch)
		wake_up(&cno->wq);
	return ret > 0 ? 0 : ret;
}

/**
 * dat_cno_wait() - sleep until the CNO is triggered, and consume that
 * @cno: where
 * @deadline_ns: CLOCK_MONOTONIC, or DAT_WAIT_FOREVER
 * @evd: result: user_data of an EVD that triggered it, or 0
 *
 * Context: may sleep.  Return: 0, -ETIMEDOUT, -ERESTARTNOHAND, -ESHUTDOWN.
 */
int dat_cno_wait(struct dat_cno *cno, u64 deadline_ns, u64 *evd)
{
	struct cno_wait w = {};
	int ret = cno_wait(cno, &w, deadline_ns);

	*evd = w.evd;
	return ret;
}

/**
 * dat_cno_watch() - sleep until the CNO has been triggered once more
 * @cno: where
 * @generation: what the caller has seen; updated
 * @deadline_ns: CLOCK_MONOTONIC, or DAT_WAIT_FOREVER
 * @evd: result: user_data of an EVD that triggered it, or 0
 *
 * Context: may sleep.  Return: 0, -ETIMEDOUT, -ERESTARTNOHAND, -ESHUTDOWN.
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

static void cno_release(struct dat_obj *obj)
{
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
	.release	= cno_release,
	.poll		= cno_poll,
	.show		= cno_show,
};
