/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) The dat authors */
/* Shared steps and checks of the tests of the API; dat_api.h has more. */
#ifndef API_CONFORM_H
#define API_CONFORM_H

#include <unistd.h>

#include "dat_api.h"

#define IH(kind)	RC(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_##kind)
#define IH1		RC(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1)
#define IP(n)		RC(DAT_INVALID_PARAMETER, DAT_INVALID_ARG##n)
#define IS(what)	RC(DAT_INVALID_STATE, DAT_INVALID_STATE_##what)

static inline DAT_EP_STATE c_state(DAT_EP_HANDLE ep)
{
	DAT_EP_STATE state = (DAT_EP_STATE)-1;

	dat_ep_get_status(ep, &state, NULL, NULL);
	return state;
}

/* Wait until @ep reaches @state, without dequeuing an event. */
static inline int c_reaches(DAT_EP_HANDLE ep, DAT_EP_STATE state)
{
	int ms;

	for (ms = 0; ms < A_WAIT_US / 1000; ms++) {
		if (c_state(ep) == state)
			return 1;
		usleep(1000);
	}
	return 0;
}

/* Wait until @ep has no outstanding request. */
static inline void c_until_idle(DAT_EP_HANDLE ep)
{
	DAT_BOOLEAN idle = DAT_FALSE;

	while (!idle && dat_ep_get_status(ep, NULL, NULL, &idle) == DAT_SUCCESS)
		;
}

/* Return the number of the next event, or 0 on timeout. */
static inline DAT_EVENT_NUMBER c_next(DAT_EVD_HANDLE evd)
{
	DAT_EVENT event;

	return a_event(evd, A_WAIT_US, &event) ? event.event_number : (DAT_EVENT_NUMBER)0;
}

/* Return 1 if no event arrives within A_QUIET_US, else 0. */
static inline int c_quiet(DAT_EVD_HANDLE evd)
{
	DAT_EVENT event;

	return !a_event(evd, A_QUIET_US, &event);
}

static inline DAT_RETURN c_ask(struct a_pair *p, DAT_EP_HANDLE ep)
{
	return dat_ep_connect(ep, p->attr.ia_address_ptr, A_QUAL, A_WAIT_US, 0, NULL,
			      DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
}

/* Return the handle of the next connection request, or NULL on timeout. */
static inline DAT_CR_HANDLE c_request(struct a_pair *p)
{
	DAT_EVENT event;

	if (!a_event(p->cr, A_WAIT_US, &event) ||
	    event.event_number != DAT_CONNECTION_REQUEST_EVENT)
		return NULL;
	return event.event_data.cr_arrival_event_data.cr_handle;
}

/* Connect p->ep[1] to p->ep[0]. */
static inline DAT_RETURN c_connect(struct a_pair *p)
{
	return a_connect(p, p->ep[1], p->ep[0], p->evd[1], p->evd[0]);
}

/*
 * Make an EP whose requests may be UNSIGNALLED, and an EVD that gets only the completions of these
 * requests.
 */
static inline DAT_RETURN c_unsignalled(struct a_pair *p, DAT_EP_HANDLE *ep, DAT_EVD_HANDLE *evd)
{
	DAT_EP_ATTR attr = a_attr(p);
	DAT_RETURN rc;

	attr.request_completion_flags = DAT_COMPLETION_UNSIGNALLED_FLAG;
	rc = dat_evd_create(p->ia, 64, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, evd);
	if (rc != DAT_SUCCESS)
		return rc;
	return dat_ep_create(p->ia, p->pz, p->evd[1], *evd, p->evd[1], &attr, ep);
}

static inline DAT_RETURN c_soft(DAT_EVD_HANDLE evd, uintptr_t n)
{
	DAT_EVENT event = { .event_number = DAT_SOFTWARE_EVENT };

	event.event_data.software_event_data.pointer = (void *)n;
	return dat_evd_post_se(evd, &event);
}

#endif /* API_CONFORM_H */
