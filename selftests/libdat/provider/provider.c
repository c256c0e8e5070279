// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * An independent provider, for registry.c.  It implements opening and closing an IA, consumer
 * contexts, EVDs, and EPs that send.  A send completes when the next event is dequeued.  All other
 * functions return an error that contains their index in DAT_PROVIDER.
 *
 * dat.conf passes the IA parameters, which are words separated by blanks:
 *
 *	fd=N		write a line to this file descriptor for each call by the registry
 *	silent		do not register the provider
 *	forget		do not remove the registration in dat_provider_fini()
 *	refuse		fail every dat_ia_open()
 *	bare		make handles whose first member is not the provider's table
 *	slow		take 300 ms for dat_provider_init()
 *	reenter		call dat_ia_openv() and list the providers in dat_provider_init()
 */
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <dat/udat.h>
#include <dat/dat_registry.h>

#include "provider.h"

#define EXPORT		__attribute__((visibility("default")))
#define MAX_INSTANCES	4
#define MAX_EVENTS	16

/* State of one dat_provider_init() call. */
struct instance {
	DAT_PROVIDER			table;
	const DAT_PROVIDER_INFO		*info;
	int				fd;
	char				params[256];
};

/* An IA, EVD or EP.  libdat finds the provider's table through the first member of each object. */
struct object {
	const DAT_PROVIDER	*table;
	struct object		*ia;
	DAT_CONTEXT		context;
	int			children;
	struct object		*evd;
	DAT_EVENT		events[MAX_EVENTS];
	unsigned int		head;
	unsigned int		tail;
};

static struct instance instances[MAX_INSTANCES];

static int has_word(const struct instance *in, const char *word)
{
	return strstr(in->params, word) != NULL;
}

static struct object *object_new(const DAT_PROVIDER *table, struct object *ia)
{
	struct object *o = calloc(1, sizeof(*o));

	o->table = table;
	o->ia = ia;
	if (ia)
		ia->children++;
	return o;
}

static DAT_RETURN object_free(DAT_HANDLE handle)
{
	struct object *o = handle;

	o->ia->children--;
	free(o);
	return DAT_SUCCESS;
}

/* ---- Functions of the table ---- */

static DAT_RETURN ia_open(const DAT_NAME_PTR name, DAT_COUNT qlen, DAT_EVD_HANDLE *async_evd,
			  DAT_IA_HANDLE *ia)
{
	struct instance *in = NULL;
	int i;

	(void)qlen;
	for (i = 0; i < MAX_INSTANCES; i++)
		if (instances[i].info && !strcmp(instances[i].info->ia_name, name))
			in = &instances[i];
	if (!in || has_word(in, "refuse"))
		return TEST_REFUSED;
	dprintf(in->fd, "open %s\n", name);
	*ia = object_new(has_word(in, "bare") ? NULL : &in->table, NULL);
	*async_evd = DAT_EVD_ASYNC_EXISTS;
	return DAT_SUCCESS;
}

static DAT_RETURN ia_close(DAT_IA_HANDLE handle, DAT_CLOSE_FLAGS flags)
{
	struct object *ia = handle;

	if (flags == DAT_CLOSE_GRACEFUL_FLAG && ia->children)
		return DAT_CLASS_ERROR | DAT_INVALID_STATE | DAT_INVALID_STATE_IA_IN_USE;
	free(ia);
	return DAT_SUCCESS;
}

static DAT_RETURN set_context(DAT_HANDLE handle, DAT_CONTEXT context)
{
	((struct object *)handle)->context = context;
	return DAT_SUCCESS;
}

static DAT_RETURN get_context(DAT_HANDLE handle, DAT_CONTEXT *context)
{
	*context = ((struct object *)handle)->context;
	return DAT_SUCCESS;
}

static DAT_RETURN evd_create(DAT_IA_HANDLE handle, DAT_COUNT qlen, DAT_CNO_HANDLE cno,
			     DAT_EVD_FLAGS flags, DAT_EVD_HANDLE *evd)
{
	struct object *ia = handle;

	if (qlen > MAX_EVENTS || cno || flags != DAT_EVD_DTO_FLAG)
		return TEST_REFUSED;
	*evd = object_new(ia->table, ia);
	return DAT_SUCCESS;
}

static DAT_RETURN evd_dequeue(DAT_EVD_HANDLE handle, DAT_EVENT *event)
{
	struct object *evd = handle;

	if (evd->head == evd->tail)
		return DAT_CLASS_ERROR | DAT_QUEUE_EMPTY;
	*event = evd->events[evd->head++ % MAX_EVENTS];
	return DAT_SUCCESS;
}

static DAT_RETURN ep_create(DAT_IA_HANDLE handle, DAT_PZ_HANDLE pz, DAT_EVD_HANDLE recv_evd,
			    DAT_EVD_HANDLE request_evd, DAT_EVD_HANDLE connect_evd,
			    const DAT_EP_ATTR *attr, DAT_EP_HANDLE *ep)
{
	struct object *ia = handle, *o;

	if (pz || recv_evd || connect_evd || attr)
		return TEST_REFUSED;
	o = object_new(ia->table, ia);
	o->evd = request_evd;
	*ep = o;
	return DAT_SUCCESS;
}

static DAT_RETURN ep_post_send(DAT_EP_HANDLE handle, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
			       DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
	struct object *ep = handle, *evd = ep->evd;
	DAT_EVENT *event = &evd->events[evd->tail % MAX_EVENTS];
	DAT_DTO_COMPLETION_EVENT_DATA *dto = &event->event_data.dto_completion_event_data;
	DAT_COUNT i;

	if (flags != DAT_COMPLETION_DEFAULT_FLAG || evd->tail - evd->head == MAX_EVENTS)
		return DAT_CLASS_ERROR | DAT_QUEUE_FULL;
	*event = (DAT_EVENT){ .event_number = DAT_DTO_COMPLETION_EVENT, .evd_handle = evd };
	dto->ep_handle = ep;
	dto->user_cookie = cookie;
	for (i = 0; i < n; i++)
		dto->transfered_length += iov[i].segment_length;
	evd->tail++;
	return DAT_SUCCESS;
}

/* Define a function for each unimplemented member of DAT_PROVIDER.  It ignores its arguments. */
#define STUB(slot)								\
	static DAT_RETURN stub_##slot(void)					\
	{									\
		return TEST_STUB(slot);						\
	}
TEST_STUBS(STUB)

#define FILL(slot)								\
	.slot##_func = (__typeof__(((DAT_PROVIDER *)0)->slot##_func))		\
		       (void (*)(void))stub_##slot,

static const DAT_PROVIDER template = {
	TEST_STUBS(FILL)
	.ia_open_func = ia_open,
	.ia_close_func = ia_close,
	.set_consumer_context_func = set_context,
	.get_consumer_context_func = get_context,
	.evd_create_func = evd_create,
	.evd_dequeue_func = evd_dequeue,
	.evd_free_func = object_free,
	.ep_create_func = ep_create,
	.ep_post_send_func = ep_post_send,
	.ep_free_func = object_free,
};

/* ---- Called by the registry ---- */

static void reenter(const struct instance *in, const DAT_PROVIDER_INFO *info)
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;
	DAT_COUNT n = -1;
	DAT_RETURN open, list;

	open = dat_ia_openv((DAT_NAME_PTR)info->ia_name, 8, &evd, &ia, info->dapl_version_major,
			    info->dapl_version_minor, info->is_thread_safe);
	list = dat_registry_list_providers(0, &n, NULL);
	dprintf(in->fd, "reenter %x %x %s\n", open, list, n > 0 ? "some" : "none");
}

EXPORT void dat_provider_init(const DAT_PROVIDER_INFO *info, const char *params)
{
	struct instance *in = instances;
	const char *fd = strstr(params, "fd=");

	while (in->info)
		in++;
	in->table = template;
	in->table.device_name = info->ia_name;
	in->info = info;
	in->fd = fd ? atoi(fd + 3) : open("/dev/null", O_WRONLY | O_CLOEXEC);
	snprintf(in->params, sizeof(in->params), "%s", params);
	dprintf(in->fd, "init %s [%s]\n", info->ia_name, params);
	if (has_word(in, "slow"))
		usleep(300000);
	if (has_word(in, "reenter"))
		reenter(in, info);
	if (!has_word(in, "silent"))
		dat_registry_add_provider(&in->table, info);
}

EXPORT void dat_provider_fini(const DAT_PROVIDER_INFO *info)
{
	struct instance *in = instances;

	while (in->info != info)
		in++;
	dprintf(in->fd, "fini %s\n", info->ia_name);
	if (!has_word(in, "forget"))
		dat_registry_remove_provider(&in->table, info);
	if (!has_word(in, "fd="))
		close(in->fd);
	in->info = NULL;
}
