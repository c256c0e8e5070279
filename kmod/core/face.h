/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) The dat authors */
/*
 * Interface between the core and a face.  A face is an API for consumers: the user face serves
 * processes, the kernel face serves kernel modules.  A face passes its struct dat_face to
 * dat_ia_open().  The objects of that IA use this structure to get handles, to take work requests
 * and to deliver events.
 */
#ifndef _DAT_FACE_H
#define _DAT_FACE_H

#include <linux/types.h>

struct dat_ep;
struct dat_evd;
struct dat_obj;
struct dat_queue_ops;

/**
 * struct dat_sink - operations by which a face receives events
 * @count: bring evd->ring.head up to date and return the number of events that the consumer has not
 *	taken; evd->lock held
 * @wake: wake the consumer; called after an event that asks for a notification, once after a run of
 *	such events, and by dat_evd_notify(); evd->lock held
 * @begin: begin a batch of completions; runs in softirq; optional, set together with @release
 * @release: end the batch and run the upcalls that @wake has queued; runs in softirq with no lock
 *	held
 */
struct dat_sink {
	u32	(*count)(struct dat_evd *evd);
	void	(*wake)(struct dat_evd *evd);
	void	(*begin)(void);
	void	(*release)(void);
};

/**
 * struct dat_face - one way to use the object layer: the user face or the kernel face
 * @sink: operations by which the face receives events
 * @sq: operations of the rings of send queues
 * @rq: operations of the rings of receive queues
 * @kernel: flag: the consumers are kernel modules, so no process maps the rings, and no user is
 *	charged for the device's queues except with DAT_EP_CHARGED
 * @handle: return the handle of an object whose obj->priv is set; the handle becomes
 *	obj->user_data; NULL if the face has no handles.  A face without @handle has no @publish,
 *	@unpublish and @release.
 * @publish: let lookups find the object by its handle; must not sleep; xa_lock(&ia->objs) held
 * @unpublish: keep lookups from finding the object by its handle
 * @release: free obj->priv of a published object that is being freed
 * @unreserve: end the reservation of an EP that the caller has removed from dat_cr.ep: call
 *	dat_obj_unuse(), and free an EP that the face has made; may sleep; ia->sem held, except in
 *	dat_cr_create(); optional for a face that never sets dat_cr.ep
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
	void	(*unreserve)(struct dat_ep *ep);
};

#endif /* _DAT_FACE_H */
