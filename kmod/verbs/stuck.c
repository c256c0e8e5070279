// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * Queue pairs and MRs that the driver cannot destroy.
 *
 * If the firmware does not answer, some drivers (bnxt_re, erdma) fail to destroy a QP.  Then the QP
 * still exists, and ib_core keeps its structures.  The consumer does not wait for such a QP: the
 * connection ends as usual.  But what the QP uses is not freed: the CQs, the PD, the SRQ, and the
 * structure to which the handlers of the QP and of the CQs point.  A CQ keeps its EVD, and so the
 * memory of the IA and the network namespace.  Other connections of the CQ go on.
 *
 * The removal of the device tries once more, because the driver of a device that is gone, or that
 * recovers from the failure, can destroy the QP.  Until then the module cannot be unloaded.  If the
 * driver fails again, only the EVDs are released.
 *
 * The same holds for an MR: the device may still use the memory, so the pages stay pinned.
 */
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/wait_bit.h>
#include <rdma/ib_umem.h>
#include <rdma/ib_verbs.h>

#include "core/dat.h"
#include "core/ep/conn.h"
#include "lib/log.h"
#include "verbs/verbs.h"

/* Sets vc->stuck, because the driver has not destroyed vc->qp.  May sleep. */
void verbs_qp_stuck(struct verbs_conn *vc)
{
	WRITE_ONCE(vc->stuck, vc->qp);
	/* Wait for qp_event() calls that have not seen vc->stuck. */
	synchronize_rcu();
}

/* Keeps a connection with a stuck QP until the removal of the device.  Calls dat_conn_keep(). */
void verbs_stuck_keep(struct verbs_conn *vc)
{
	struct verbs_dev *vdev = to_verbs_dev(vc->conn.dev);

	/* The handlers of the QP and of the CQs are functions of this module. */
	__module_get(THIS_MODULE);
	spin_lock(&vdev->stuck_lock);
	list_add(&vc->stuck_entry, &vdev->stuck);
	spin_unlock(&vdev->stuck_lock);
	dat_conn_keep(&vc->conn);
}

/*
 * Destroys the QP of @vc, and what only that QP uses.  The zone and the SRQ have ended already, and
 * have left the PD and the SRQ of ib_core to the last QP.  Returns false if the QP is still stuck.
 */
static bool stuck_destroy(struct verbs_conn *vc)
{
	struct ib_srq *srq = vc->stuck->srq;
	struct ib_pd *pd = vc->stuck->pd;

	if (ib_destroy_qp(vc->stuck))
		return false;
	verbs_cqs_put(vc);
	if (srq && !atomic_read(&srq->usecnt))
		ib_destroy_srq(srq);
	if (!atomic_read(&pd->usecnt))
		ib_dealloc_pd(pd);
	return true;
}

/* Destroys the stuck QPs.  A QP that is stuck even now stays for ever, and so does the module. */
static void stuck_end_qps(struct verbs_dev *vdev)
{
	struct verbs_conn *vc, *next;
	struct dat_dev *dev;

	if (list_empty(&vdev->stuck))
		return;
	vc = list_first_entry(&vdev->stuck, struct verbs_conn, stuck_entry);
	dev = dat_dev_get(vc->conn.dev);
	list_for_each_entry_safe(vc, next, &vdev->stuck, stuck_entry) {
		if (!stuck_destroy(vc)) {
			dat_log("%s: the driver cannot destroy a queue pair of the removed device",
				dev_name(&vdev->ibdev->dev));
			verbs_cqs_abandon(vc);
			continue;
		}
		dat_conn_free(&vc->conn);
		dat_dev_put(dev);
		module_put(THIS_MODULE);
	}
	/* The CQs end a moment later. */
	wait_var_event(&dev->ending, !atomic_read(&dev->ending));
	dat_dev_put(dev);
}

/* An MR that the driver could not destroy. */
struct stuck_mr {
	struct list_head	entry;		/* in vdev->stuck_mrs */
	struct ib_mr		*mr;
	struct ib_umem		*umem;		/* pages of this MR and of later ones, or NULL */
};

/*
 * Destroys an MR.  If the driver cannot do that, keeps the MR and the pages *@umem until the device
 * is removed, and sets *@umem to NULL, so that the caller does not unpin the pages.  *@umem may be
 * NULL.  May sleep.
 */
void verbs_dereg_mr(const struct dat_dev *dev, struct ib_mr *mr, struct ib_umem **umem)
{
	struct verbs_dev *vdev = to_verbs_dev(dev);
	struct stuck_mr *s;

	if (!ib_dereg_mr(mr))
		return;
	dat_log("%s: the driver cannot end a registration, and the device may still use the memory",
		dev_name(&vdev->ibdev->dev));
	s = kzalloc(sizeof(*s), GFP_KERNEL);
	if (s) {
		s->mr = mr;
		s->umem = *umem;
		spin_lock(&vdev->stuck_lock);
		list_add(&s->entry, &vdev->stuck_mrs);
		spin_unlock(&vdev->stuck_lock);
	}
	/* Without @s, the MR and the pages are never released. */
	*umem = NULL;
}

/* Destroys the stuck MRs.  If an MR is stuck even now, no pages are unpinned. */
static void stuck_end_mrs(struct verbs_dev *vdev)
{
	struct stuck_mr *s, *next;
	bool lost = false;

	list_for_each_entry(s, &vdev->stuck_mrs, entry) {
		struct ib_pd *pd = s->mr->pd;

		if (ib_dereg_mr(s->mr))
			lost = true;
		else if (!atomic_read(&pd->usecnt))
			ib_dealloc_pd(pd);
	}
	if (lost) {
		dat_log("%s: the driver cannot end a registration of the removed device",
			dev_name(&vdev->ibdev->dev));
		return;
	}
	list_for_each_entry_safe(s, next, &vdev->stuck_mrs, entry) {
		ib_umem_release(s->umem);
		kfree(s);
	}
}

/* Destroys what is stuck, after dat_dev_unregister() of a device that is removed.  May sleep. */
void verbs_stuck_end(struct verbs_dev *vdev)
{
	stuck_end_qps(vdev);
	stuck_end_mrs(vdev);
}
