// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/* The table of open adapters of the process. */
#include <stdlib.h>
#include <string.h>

#include "fdat.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct fdat_ia *open_ias;

static void before_fork(void)
{
	pthread_mutex_lock(&lock);
}

static void after_fork(void)
{
	pthread_mutex_unlock(&lock);
}

/* The adapters of the parent are of no use in the child, which opens its own. */
static void in_child(void)
{
	open_ias = NULL;
	pthread_mutex_unlock(&lock);
}

static void watch_forks(void)
{
	pthread_atfork(before_fork, after_fork, in_child);
}

/* Fill in the addresses of both families. */
static void ia_addresses(struct fdat_ia *ia)
{
	const struct sockaddr *own = ia->attr.ia_address_ptr;
	union fdat_addr a;

	if (!own || fdat_addr_copy(&a, own, sizeof(a)))
		return;
	fdat_addr_set_port(&a, 0);
	ia->local = fdat_addr_is_loopback(&a);
	if (a.sa.sa_family == AF_INET) {
		ia->v4 = a;
		fdat_addr_of_interface(&a, AF_INET6, &ia->v6);
	} else {
		ia->v6 = a;
		fdat_addr_of_interface(&a, AF_INET, &ia->v4);
	}
}

/*
 * Returns whether endpoints can have immediate data.  An attribute that the library, the driver or
 * the adapter does not support is refused before the place for the handle that is missing here.
 */
static int has_immediate(const struct fdat_ia *ia)
{
	DAT_NAMED_ATTR immediate = { .name = "immediate_data", .value = "1" };
	DAT_EP_ATTR attr = {
		.service_type = DAT_SERVICE_TYPE_RC, .ep_provider_specific_count = 1,
		.ep_provider_specific = &immediate,
	};
	DAT_PZ_HANDLE pz;
	DAT_RETURN rc;

	if (dat_pz_create(ia->handle, &pz) != DAT_SUCCESS)
		return 0;
	rc = dat_ep_create(ia->handle, pz, DAT_HANDLE_NULL, DAT_HANDLE_NULL, DAT_HANDLE_NULL,
			   &attr, NULL);
	dat_pz_free(pz);
	return DAT_GET_TYPE(rc) == DAT_INVALID_PARAMETER &&
	       DAT_GET_SUBTYPE(rc) == DAT_INVALID_ARG7;
}

static int ia_query(struct fdat_ia *ia)
{
	DAT_PROVIDER_ATTR provider;
	DAT_RETURN rc;

	rc = dat_ia_query(ia->handle, NULL, DAT_IA_FIELD_ALL, &ia->attr, DAT_PROVIDER_FIELD_ALL,
			  &provider);
	if (rc != DAT_SUCCESS)
		return fdat_error(rc);
	ia->cm_size = (size_t)provider.max_private_data_size;
	ia->iwarp = provider.rdma_write_for_rdma_read_req == DAT_TRUE;
	ia->immediate = has_immediate(ia);
	ia_addresses(ia);
	return 0;
}

static int ia_open(const char *name, struct fdat_ia **out)
{
	DAT_EVD_HANDLE async = DAT_EVD_ASYNC_EXISTS;
	struct fdat_ia *ia = calloc(1, sizeof(*ia));
	DAT_RETURN rc;
	int ret;

	if (!ia)
		return -FI_ENOMEM;
	strncpy(ia->name, name, sizeof(ia->name) - 1);
	rc = dat_ia_open(ia->name, 1, &async, &ia->handle);
	ret = fdat_error(rc);
	if (ret)
		goto err_free;
	ret = ia_query(ia);
	if (ret)
		goto err_close;
	ia->refs = 1;
	ia->next = open_ias;
	open_ias = ia;
	*out = ia;
	return 0;

err_close:
	dat_ia_close(ia->handle, DAT_CLOSE_ABRUPT_FLAG);
err_free:
	fdat_info(FABRIC, "cannot open the adapter %s: %s\n", name, fi_strerror(-ret));
	free(ia);
	return ret;
}

/* In a child the table does not have the adapters of its parent. */
static void table_remove(const struct fdat_ia *ia)
{
	struct fdat_ia **at;

	for (at = &open_ias; *at && *at != ia; at = &(*at)->next)
		;
	if (*at)
		*at = ia->next;
}

/* Returns whether the device was removed.  An adapter that has the name now is another one. */
static int ia_gone(const struct fdat_ia *ia)
{
	DAT_PZ_HANDLE pz;
	DAT_RETURN rc = dat_pz_create(ia->handle, &pz);

	if (rc == DAT_SUCCESS)
		dat_pz_free(pz);
	return DAT_GET_TYPE(rc) == DAT_INTERNAL_ERROR;
}

int fdat_ia_get(const char *name, struct fdat_ia **out)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct fdat_ia *ia;
	int ret = 0;

	pthread_once(&once, watch_forks);
	pthread_mutex_lock(&lock);
	for (ia = open_ias; ia && strcmp(ia->name, name); ia = ia->next)
		;
	/* Its users keep it. */
	if (ia && ia_gone(ia)) {
		table_remove(ia);
		ia = NULL;
	}
	if (ia) {
		ia->refs++;
		*out = ia;
	} else {
		ret = ia_open(name, out);
	}
	pthread_mutex_unlock(&lock);
	return ret;
}

void fdat_ia_hold(struct fdat_ia *ia)
{
	pthread_mutex_lock(&lock);
	ia->refs++;
	pthread_mutex_unlock(&lock);
}

void fdat_ia_put(struct fdat_ia *ia)
{
	if (!ia)
		return;
	pthread_mutex_lock(&lock);
	if (!--ia->refs) {
		table_remove(ia);
		dat_ia_close(ia->handle, DAT_CLOSE_ABRUPT_FLAG);
		free(ia);
	}
	pthread_mutex_unlock(&lock);
}

const union fdat_addr *fdat_ia_address(const struct fdat_ia *ia, int family)
{
	if (family != AF_INET6 && ia->v4.sa.sa_family)
		return &ia->v4;
	if (family != AF_INET && ia->v6.sa.sa_family)
		return &ia->v6;
	return NULL;
}

/*
 * Returns whether the adapter registers long memory in pieces, if peers have no access to it.  A
 * segment then counts once for each piece that it touches.
 */
static int in_pieces(const struct fdat_ia *ia)
{
	return ia->attr.max_lmr_block_size < ia->attr.max_message_size;
}

/*
 * A layer such as ofi_rxm registers a whole message for access by its peer.  So a message is no
 * longer than the longest registration for peers.
 */
size_t fdat_message_max(const struct fdat_ia *ia)
{
	return in_pieces(ia) ? ia->attr.max_lmr_block_size : ia->attr.max_message_size;
}

/*
 * A piece is longer than half of the longest message.  So @n segments contain @n + 1 ends of pieces
 * at most.
 */
DAT_COUNT fdat_parts(const struct fdat_ia *ia, size_t n)
{
	return (DAT_COUNT)(in_pieces(ia) ? 2 * n + 1 : n);
}

static size_t iov_max(size_t n, DAT_COUNT limit)
{
	return n < (size_t)limit ? n : (size_t)limit;
}

size_t fdat_rx_iov_max(const struct fdat_ia *ia)
{
	DAT_COUNT limit = ia->attr.max_iov_segments_per_dto;

	return iov_max(FDAT_MAX_IOV, in_pieces(ia) ? (limit - 1) / 2 : limit);
}

size_t fdat_tx_iov_max(const struct fdat_ia *ia)
{
	size_t n = fdat_rx_iov_max(ia);

	n = iov_max(n, ia->attr.max_iov_segments_per_rdma_read);
	return iov_max(n, ia->attr.max_iov_segments_per_rdma_write);
}

/* Fill in @list, which has @n entries.  Returns the number of adapters of the host. */
static DAT_COUNT ia_list(DAT_PROVIDER_INFO *list, DAT_PROVIDER_INFO **at, DAT_COUNT n)
{
	DAT_COUNT i, all = 0;

	for (i = 0; i < n; i++)
		at[i] = &list[i];
	dat_registry_list_providers(n, &all, at);
	return all;
}

int fdat_ia_names(DAT_PROVIDER_INFO **names, size_t *n)
{
	DAT_PROVIDER_INFO *list, **at;
	DAT_COUNT room = ia_list(NULL, NULL, 0), all, i;

	*n = 0;
	list = calloc((size_t)room + 1, sizeof(*list));
	at = calloc((size_t)room + 1, sizeof(*at));
	if (!list || !at) {
		free(list);
		free(at);
		return -FI_ENOMEM;
	}
	/* An adapter that is added meanwhile has no room: the next call lists it. */
	all = room ? ia_list(list, at, room) : 0;
	free(at);
	for (i = 0; i < all && i < room; i++)
		if (list[i].is_thread_safe)
			list[(*n)++] = list[i];
	*names = list;
	return 0;
}
