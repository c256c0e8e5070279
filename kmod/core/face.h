/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the object layer knows of a face.  A face passes its struct dat_face to dat_ia_open();
 * the objects of that IA name themselves, take work requests and deliver events through it.
 */
#ifndef _DAT_FACE_H
#define _DAT_FACE_H

#include <linux/types.h>

struct dat_evd;
struct dat_obj;
struct dat_queue_ops;

/**
 * struct dat_sink - where the events of a face go
 * @count: number of events that the consumer has not taken; brings evd->ring.head up to date;
 *	evd->lock held
 * @wake: events that notify were stored; once for a run of events; evd->lock held
 * @begin: a batch of completions begins; softirq; optional, together with @release
 * @release: the batch has ended: run what @wake has queued; softirq, no lock held
 * @reject_data: the private data of a rejection belongs to the consumer
 */
struct dat_sink {
	u32	(*count)(struct dat_evd *evd);
	void	(*wake)(struct dat_evd *evd);
	void	(*begin)(void);
	void	(*release)(void);
	bool	reject_data;
};

/**
 * struct dat_face - one way to use the object layer: the user face or the kernel face
 * @sink: where events go
 * @sq: source of requests
 * @rq: source of receives
 * @kernel: the consumers are kernel modules: no process maps the rings, and none is charged
 * @handle: name of an object, which becomes its user_data; obj->priv is set; NULL: objects
 *	keep the user_data that they were made with, and the next three are NULL as well
 * @publish: the object can be found from now on; does not sleep
 * @unpublish: the object can be found no longer
 * @release: a published object is about to be freed: free obj->priv
 */
struct dat_face {
	const struct dat_sink		*sink;
	const struct dat_queue_ops	*sq;
	const struct dat_queue_ops	*rq;
	bool				kernel;
	u64	(*handle)(const struct dat_obj *obj);
	void	(*publish)(struct dat_obj *obj);
	void	(*unpublish)(struct dat_obj *obj);
	void	(*release)(struct dat_obj *obj);
};

#endif /* _DAT_FACE_H */
