// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/*
 * Dequeue and wait.  A dequeue usually only reads shared memory.  A wait calls the driver, in which
 * the thread sleeps, only if the ring contains too few events.
 */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "../common/spin.h"
#include "foreign.h"
#include "libdat.h"

/*
 * A wait polls the ring before it sleeps.  A short spin costs less than a sleep and a wake-up.  A
 * long spin pays off only if an event arrives during the spin.
 */
#define SPIN_LONG	256	/* number of polls of the ring */
#define SPIN_SHORT	4
#define SPIN_MISSES	4	/* number of failed long spins before spins become short */
#define SPIN_PROBE	64	/* number of failed spins before a long spin is tried again */

/*
 * The functions to_*() convert an event of the driver to an event of DAT, one per kind of stream.
 */

/* Convert the event of a receive with immediate data. */
static void __attribute__((noinline)) to_immed(const struct dat_eqe *eqe, DAT_EVENT *event)
{
	const DAT_LINUX_IMMED_EVENT_DATA data = {
		.ep_handle = (DAT_EP_HANDLE)(uintptr_t)eqe->owner,
		.user_cookie.as_64 = eqe->cookie, .status = DAT_DTO_SUCCESS,
		.transfered_length = eqe->len, .immed_data = eqe->imm,
	};

	event->event_number = eqe->flags & DAT_EQE_WRITE ? DAT_LINUX_RDMA_WRITE_IMMED_EVENT :
							   DAT_LINUX_RECV_IMMED_EVENT;
	memcpy(&event->event_data, &data, sizeof(data));
}

_Static_assert(sizeof(DAT_LINUX_IMMED_EVENT_DATA) <= sizeof(DAT_EVENT_DATA),
	       "the data fit into an event of DAT 1.2");

static void to_dto(const struct dat_eqe *eqe, DAT_EVENT *event)
{
	DAT_DTO_COMPLETION_EVENT_DATA *data = &event->event_data.dto_completion_event_data;
	struct udat_ep *ep = (struct udat_ep *)(uintptr_t)eqe->owner;

	data->ep_handle = ep;
	data->user_cookie.as_64 = eqe->cookie;
	data->status = (DAT_DTO_COMPLETION_STATUS)eqe->status;
	data->transfered_length = eqe->len;
	/* A buffer of an SRQ counts as outstanding until its completion is dequeued. */
	if (eqe->flags & DAT_EQE_SRQ)
		__atomic_fetch_add(&ep->srq->reaped, 1, __ATOMIC_RELAXED);
	if (__builtin_expect(eqe->flags & DAT_EQE_IMM, 0))
		to_immed(eqe, event);
}

static void to_cr(struct udat_evd *evd, const struct dat_eqe *eqe, DAT_EVENT *event)
{
	DAT_CR_ARRIVAL_EVENT_DATA *data = &event->event_data.cr_arrival_event_data;
	struct udat_ia *ia = evd->obj.ia;
	struct dat_cr_reject refuse = { .size = sizeof(refuse), .id = eqe->len };
	struct udat_cr *cr = udat_obj_new(ia);

	data->sp_handle.psp_handle = (DAT_PSP_HANDLE)(uintptr_t)eqe->owner;
	data->local_ia_address_ptr = (DAT_IA_ADDRESS_PTR)ia->info.addr;
	data->conn_qual = eqe->cookie;
	data->cr_handle = cr;
	if (!cr) {
		du_file_ioctl(&ia->file, DAT_IOC_CR_REJECT, &refuse);
		return;
	}
	cr->obj.id = eqe->len;
	udat_cr_arrived(cr, (void *)(uintptr_t)eqe->owner);
	data->local_ia_address_ptr = udat_cr_local(cr);
	udat_obj_publish(&cr->obj, UDAT_TYPE(CR));
}

static void to_bind(const struct dat_eqe *eqe, DAT_EVENT *event)
{
	DAT_RMR_BIND_COMPLETION_EVENT_DATA *data =
		&event->event_data.rmr_completion_event_data;

	data->rmr_handle = (DAT_RMR_HANDLE)(uintptr_t)eqe->owner;
	data->user_cookie.as_64 = eqe->cookie;
	data->status = (DAT_RMR_BIND_COMPLETION_STATUS)eqe->status;
}

static void to_connection(const struct udat_evd *evd, const struct dat_eqe *eqe,
			  DAT_EVENT *event)
{
	DAT_CONNECTION_EVENT_DATA *data = &event->event_data.connect_event_data;
	struct udat_ep *ep = udat_ep((void *)(uintptr_t)eqe->owner);
	const struct dat_status *status;

	data->ep_handle = (DAT_EP_HANDLE)(uintptr_t)eqe->owner;
	data->private_data_size = 0;
	data->private_data = NULL;
	if (!ep || !eqe->len || eqe->len > sizeof(ep->pd))
		return;
	/*
	 * If the EP now uses another connect EVD, the event belongs to a connection that ended
	 * before the last reset of the EP.  The private data of that connection is gone, and the
	 * page that contained it may be unmapped.
	 */
	if (ep->connect_evd != evd)
		return;
	status = ep->status.va;
	memcpy(ep->pd, status->pd, eqe->len);
	data->private_data_size = (DAT_COUNT)eqe->len;
	data->private_data = ep->pd;
}

/*
 * Returns whether the driver reports that it has dropped a malformed buffer of an SRQ.  The buffers
 * behind it may stay in the ring until a kick.
 */
static int is_malformed_buffer(const struct dat_eqe *eqe)
{
	return eqe->type == DAT_EV_ASYNC_INTERNAL && eqe->cookie == DAT_OBJ_SRQ &&
	       eqe->status == DAT_SRQ_REASON_OTHER;
}

/* Returns whether evd_translate() looks up an object that the event names. */
static int evd_looks_up(const struct dat_eqe *eqe)
{
	return eqe->type == DAT_EV_CR || is_malformed_buffer(eqe);
}

/*
 * Do the first part of the work for an event that is not a DTO.  Called before the head advances.
 * @eqe is a copy of the event, because evd_translate() reads @eqe after the head has advanced.
 */
static void __attribute__((noinline)) evd_take_other(struct udat_evd *evd,
						     const struct dat_eqe *eqe,
						     DAT_EVENT *event)
{
	if (eqe->type == DAT_EV_RMR_BIND)
		to_bind(eqe, event);
	else if (eqe->type >= DAT_EV_ESTABLISHED && eqe->type <= DAT_EV_UNREACHABLE)
		to_connection(evd, eqe, event);
	/*
	 * Prevent the reuse of freed slots until evd_translate() has looked up the service point or
	 * the SRQ.
	 */
	if (evd_looks_up(eqe))
		__atomic_fetch_add(&evd->translating, 1, __ATOMIC_ACQ_REL);
}

/*
 * Take the next event.  The caller holds evd->lock.  This function accesses EPs only before the
 * head advances, because afterwards the slot of a freed EP may be reused.
 */
static inline void evd_take(struct udat_evd *evd, struct dat_eqe *eqe, DAT_EVENT *event)
{
	const struct dat_eqe *next = du_events_next(&evd->events);

	eqe->type = next->type;
	event->event_number = (DAT_EVENT_NUMBER)eqe->type;
	event->evd_handle = evd;
	if (__builtin_expect(eqe->type == DAT_EV_DTO, 1)) {
		to_dto(next, event);
	} else {
		*eqe = *next;
		evd_take_other(evd, eqe, event);
	}
	du_events_pop(&evd->events);
}

/*
 * Do the second part of the work for an event that is not a DTO.  This part may take locks, and
 * accesses no EP.
 */
static void __attribute__((noinline)) evd_translate(struct udat_evd *evd,
						    const struct dat_eqe *eqe,
						    DAT_EVENT *event)
{
	DAT_ASYNCH_ERROR_EVENT_DATA *async = &event->event_data.asynch_error_event_data;

	if (eqe->type == DAT_EV_CR) {
		to_cr(evd, eqe, event);
	} else if (eqe->type == DAT_EV_SOFTWARE) {
		event->event_data.software_event_data.pointer =
			(DAT_PVOID)(uintptr_t)eqe->cookie;
	} else if (eqe->type >= DAT_EV_ASYNC_OVERFLOW) {
		async->dat_handle = (DAT_HANDLE)(uintptr_t)eqe->owner;
		async->reason = eqe->status;
		if (is_malformed_buffer(eqe))
			udat_srq_kick(async->dat_handle);
	}
	if (evd_looks_up(eqe))
		__atomic_fetch_sub(&evd->translating, 1, __ATOMIC_ACQ_REL);
}

/*
 * Make the driver poll the device for @spin_us microseconds, or once if @spin_us is 0.  Returns
 * true if the driver has found events.
 */
static int evd_look(struct udat_evd *evd, uint32_t spin_us)
{
	const struct du_file *f = &evd->obj.ia->file;
	struct dat_evd_poll arg = {
		.size = sizeof(arg), .id = evd->obj.id, .spin_us = spin_us,
	};

	if (!spin_us && f->features & DAT_FEATURE_WORDS)
		return !du_file_ioctl(f, DAT_IOC_EVD_LOOK, du_word(arg.id));
	return !du_file_ioctl(f, DAT_IOC_EVD_POLL, &arg);
}

static uint32_t evd_busy_us(const struct udat_evd *evd)
{
	return __atomic_load_n(&evd->busy_us, __ATOMIC_RELAXED);
}

/*
 * Returns whether the device may hold unreported events.  With SOLICITED_WAIT, unsolicited receives
 * stay in the device until the driver polls it.
 */
static int evd_hides_events(const struct udat_evd *evd)
{
	return __atomic_load_n(&evd->feeds[UDAT_FEED_SOLICITED], __ATOMIC_RELAXED) != 0;
}

/*
 * Called when the ring is empty.  If the device may hold events, make the driver poll the device.
 * Returns whether the ring stays empty.
 */
static int evd_stays_empty(struct udat_evd *evd)
{
	return __builtin_expect(!evd_busy_us(evd) && !evd_hides_events(evd), 1) ||
	       !evd_look(evd, 0);
}

UDAT_EXPORT DAT_RETURN dat_linux_evd_busy_poll(DAT_EVD_HANDLE evd_handle, DAT_UINT32 usec)
{
	struct udat_evd *evd = udat_evd(evd_handle);

	if (!evd)
		return DAT_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
	if (usec > DAT_MAX_SPIN_US)
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	__atomic_store_n(&evd->busy_us, usec, __ATOMIC_RELAXED);
	return DAT_SUCCESS;
}

/*
 * Returns the code for an empty queue.  For an EVD of data transfers, the code is the bare type
 * DAT_QUEUE_EMPTY.  OFED's library returns this bare type, and some programs compare the whole
 * return code with it.  Programs that compare only the type work with either code.
 */
static DAT_RETURN queue_empty(const struct udat_evd *evd)
{
	return evd->flags & DAT_EVD_DTO_FLAG ? DAT_QUEUE_EMPTY :
					       DAT_ERR(DAT_QUEUE_EMPTY, DAT_NO_SUBTYPE);
}

UDAT_EXPORT DAT_RETURN dat_evd_dequeue(DAT_EVD_HANDLE evd_handle, DAT_EVENT *event)
{
	struct udat_evd *evd = udat_evd(evd_handle);
	DAT_RETURN rc = DAT_SUCCESS;
	struct dat_eqe eqe;

	UDAT_FORWARD(evd_handle, evd_dequeue, event);
	if (!evd)
		return DAT_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
	if (!event)
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	/* Check without the lock whether the queue is empty. */
	if (!du_events_count(&evd->events) &&
	    !__atomic_load_n(&evd->waiting, __ATOMIC_RELAXED) && evd_stays_empty(evd))
		return queue_empty(evd);
	du_lock(&evd->lock);
	if (evd->waiting)
		rc = DAT_ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_WAITER);
	else if (!evd->lock.single && !du_events_count(&evd->events))
		rc = queue_empty(evd);
	else
		evd_take(evd, &eqe, event);
	du_unlock(&evd->lock);
	if (rc == DAT_SUCCESS && eqe.type != DAT_EV_DTO)
		evd_translate(evd, &eqe, event);
	return rc;
}

/*
 * Returns the time when @timeout expires, in nanoseconds of CLOCK_MONOTONIC.  @timeout is in
 * microseconds.
 */
uint64_t udat_deadline(DAT_TIMEOUT timeout)
{
	struct timespec now;

	if (timeout == DAT_TIMEOUT_INFINITE)
		return DAT_WAIT_FOREVER;
	if (!timeout)
		return 0;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + now.tv_nsec + (uint64_t)timeout * 1000;
}

static DAT_RETURN wait_error(int err)
{
	switch (err) {
	case ETIMEDOUT:
		return DAT_ERR(DAT_TIMEOUT_EXPIRED, DAT_NO_SUBTYPE);
	case EINTR:
		return DAT_ERR(DAT_INTERRUPTED_CALL, DAT_NO_SUBTYPE);
	case ECANCELED:
		return DAT_ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_UNWAITABLE);
	case EBUSY:
		return DAT_ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_WAITER);
	case EINVAL:
		/* A concurrent resize has made the ring smaller than the threshold. */
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	default:
		/* The IA was closed, the EVD was freed, or the device was removed. */
		return DAT_ERR(DAT_ABORT, DAT_NO_SUBTYPE);
	}
}

static void spin_learn(struct udat_spin *s, int found)
{
	if (found) {
		s->looks = SPIN_LONG;
		s->misses = 0;
	} else if (++s->misses % SPIN_PROBE == 0) {
		s->looks = SPIN_LONG;
	} else if (s->misses >= SPIN_MISSES) {
		s->looks = SPIN_SHORT;
	}
}

static int evd_spin(struct udat_evd *evd, uint32_t threshold)
{
	int found = 0;
	uint32_t i;

	for (i = 0; i < evd->spin.looks && !found; i++) {
		du_spin_pause();
		found = du_events_count(&evd->events) >= threshold;
	}
	spin_learn(&evd->spin, found);
	return found;
}

/*
 * Called before a wait sleeps.  If the ring is empty and busy polling is on, make the driver poll
 * the device.  Returns true if the driver was made to poll, and has found events.
 */
static int evd_look_before(struct udat_evd *evd, DAT_TIMEOUT timeout)
{
	uint32_t us = evd_busy_us(evd);

	if (__builtin_expect(!us, 1) || du_events_count(&evd->events))
		return 0;
	return evd_look(evd, us < timeout ? us : timeout);
}

/*
 * If @eqe is not NULL, take an event.  Then end the wait.  Returns the number of events that are
 * left in the ring.
 */
static DAT_COUNT evd_leave(struct udat_evd *evd, struct dat_eqe *eqe, DAT_EVENT *event)
{
	DAT_COUNT left;

	du_lock(&evd->lock);
	if (eqe)
		evd_take(evd, eqe, event);
	left = (DAT_COUNT)du_events_count(&evd->events);
	__atomic_store_n(&evd->waiting, 0, __ATOMIC_RELAXED);
	du_unlock(&evd->lock);
	return left;
}

/* Run when the waiting thread is cancelled.  The wait has taken no event. */
static void wait_cancelled(void *arg)
{
	struct udat_evd *evd = arg;

	evd_leave(evd, NULL, NULL);
	__atomic_fetch_sub(&evd->obj.ia->waiters, 1, __ATOMIC_ACQ_REL);
}

/* Sleep until the ring holds @threshold events.  Returns 0 or a negative errno. */
static int evd_sleep(struct udat_evd *evd, uint32_t threshold, uint64_t deadline_ns)
{
	const struct du_file *f = &evd->obj.ia->file;
	struct dat_evd_wait arg = {
		.size = sizeof(arg), .id = evd->obj.id, .threshold = threshold,
		.deadline_ns = deadline_ns,
	};
	int word = threshold == 1 && deadline_ns == DAT_WAIT_FOREVER &&
		   f->features & DAT_FEATURE_WORDS;
	int ret;

	pthread_cleanup_push(wait_cancelled, evd);
	do {
		ret = word ? du_file_wait(f, DAT_IOC_EVD_SLEEP, du_word(arg.id)) :
			     du_file_wait(f, DAT_IOC_EVD_WAIT, &arg);
	} while (!ret && du_events_count(&evd->events) < threshold);
	pthread_cleanup_pop(0);
	return ret;
}

/* Wait until the ring holds @threshold events.  The caller is the only waiter. */
static DAT_RETURN evd_wait_for(struct udat_evd *evd, DAT_TIMEOUT timeout, uint32_t threshold)
{
	uint64_t deadline_ns;
	int ret;

	if (du_events_count(&evd->events) >= threshold)
		return DAT_SUCCESS;
	if (!timeout)
		return evd_hides_events(evd) && evd_look(evd, 0) ? DAT_SUCCESS :
		       DAT_ERR(DAT_TIMEOUT_EXPIRED, DAT_NO_SUBTYPE);
	deadline_ns = udat_deadline(timeout);
	if (evd_look_before(evd, timeout) && du_events_count(&evd->events) >= threshold)
		return DAT_SUCCESS;
	/*
	 * Do not spin if the EVD has a CNO, because events trigger the CNO until the driver knows
	 * that a thread waits.
	 */
	if (!__atomic_load_n(&evd->cno, __ATOMIC_RELAXED) && evd_spin(evd, threshold))
		return DAT_SUCCESS;
	ret = evd_sleep(evd, threshold, deadline_ns);
	return ret ? wait_error(-ret) : DAT_SUCCESS;
}

static DAT_RETURN evd_enter(struct udat_evd *evd, DAT_COUNT threshold)
{
	DAT_RETURN rc = DAT_SUCCESS;

	du_lock(&evd->lock);
	if (evd->waiting)
		rc = DAT_ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_WAITER);
	else if (evd->unwaitable)
		rc = DAT_ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_UNWAITABLE);
	else if (threshold > 1 && (evd->feeds[UDAT_FEED_NOTIFY] ||
				   evd->feeds[UDAT_FEED_SOLICITED]))
		rc = DAT_ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_CONFIG_NOTIFY);
	else
		__atomic_store_n(&evd->waiting, 1, __ATOMIC_RELAXED);
	du_unlock(&evd->lock);
	return rc;
}

static DAT_RETURN wait_check(const struct udat_evd *evd, DAT_COUNT threshold,
			     const DAT_EVENT *event, const DAT_COUNT *nmore)
{
	if (threshold <= 0 || (uint32_t)threshold > evd->events.mask + 1)
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	if (!event)
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
	if (!nmore)
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5);
	return DAT_SUCCESS;
}

UDAT_EXPORT DAT_RETURN dat_evd_wait(DAT_EVD_HANDLE evd_handle, DAT_TIMEOUT timeout,
				    DAT_COUNT threshold, DAT_EVENT *event, DAT_COUNT *nmore)
{
	struct udat_evd *evd = udat_evd(evd_handle);
	struct udat_ia *ia;
	struct dat_eqe eqe;
	DAT_RETURN rc;

	UDAT_FORWARD(evd_handle, evd_wait, timeout, threshold, event, nmore);
	if (!evd)
		return DAT_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
	rc = wait_check(evd, threshold, event, nmore);
	if (rc != DAT_SUCCESS)
		return rc;
	ia = evd->obj.ia;
	__atomic_fetch_add(&ia->waiters, 1, __ATOMIC_SEQ_CST);
	/*
	 * dat_ia_close() revokes the handles before it reads @waiters.  So if the close has not
	 * counted this thread as a waiter, the following lookup finds that the handles are invalid.
	 */
	rc = udat_ia(ia) && udat_evd(evd) ? evd_enter(evd, threshold) :
					    DAT_ERR(DAT_ABORT, DAT_NO_SUBTYPE);
	if (rc != DAT_SUCCESS)
		goto out;
	rc = evd_wait_for(evd, timeout, (uint32_t)threshold);
	*nmore = evd_leave(evd, rc == DAT_SUCCESS ? &eqe : NULL, event);
	if (rc == DAT_SUCCESS && eqe.type != DAT_EV_DTO)
		evd_translate(evd, &eqe, event);
out:
	__atomic_fetch_sub(&ia->waiters, 1, __ATOMIC_ACQ_REL);
	return rc;
}
