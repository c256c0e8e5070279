/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Interface between the core and a face.  A face passes its struct dat_face to dat_ia_open().  The
 * objects of that IA use it to get names, take work requests and deliver events.
 */
#ifndef _DAT_FACE_H
#define _DAT_FACE_H

#include <linux/types.h>

struct dat_evd;
struct dat_obj;
struct dat_queue_ops;

/**
 * struct dat_sink - operations by which a face receives events
 * @count: update evd->ring.head and return the number of events not yet taken; evd->lock held
 * @wake: wake the consumer; called once for a run of stored events if any of the events notifies;
 *	evd->lock held
 * @begin: begin a batch of completions; softirq; optional, together with @release
 * @release: end the batch and run the upcalls that @wake has queued; softirq, no lock held
 * @reject_data: flag: the consumer gets the private data of a rejection
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
 * @sink: operations that receive events
 * @sq: operations of send queues
 * @rq: operations of receive queues
 * @kernel: flag: the consumers are kernel modules, so no process maps the rings or is charged
 * @handle: return the handle of an object, which becomes its user_data; obj->priv is set; NULL:
 *	objects keep the user_data that they were made with, and the next three are NULL as well
 * @publish: make the handle of an object known; does not sleep
 * @unpublish: make the handle unknown
 * @release: free obj->priv of a published object that is being freed
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
