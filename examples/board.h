/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Copyright (c) The dat authors */
/* Definitions for board-server and board-client.  Documentation/tutorial.rst explains them. */
#ifndef BOARD_H
#define BOARD_H

#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dat/udat.h>

#define BOARD_PORT	7000
#define BOARD_SIZE	256	/* bytes of the board */
#define NAME_SIZE	32	/* bytes of a client's name */

/* Answer of the server: where the board is.  Big endian. */
struct place {
	uint64_t	address;
	uint32_t	key;
	uint32_t	length;
};

static inline void report(const char *what, DAT_RETURN rc)
{
	const char *type = "?", *subtype = "";

	dat_strerror(rc, &type, &subtype);
	fprintf(stderr, "%s: %s %s\n", what, type, subtype);
}

/* End the program if a call has failed. */
static inline void must(const char *what, DAT_RETURN rc)
{
	if (rc == DAT_SUCCESS)
		return;
	report(what, rc);
	exit(1);
}

static inline int is_flushed(const DAT_EVENT *event)
{
	return event->event_number == DAT_DTO_COMPLETION_EVENT &&
	       event->event_data.dto_completion_event_data.status == DAT_DTO_ERR_FLUSHED;
}

/* Wait for the next event of @evd.  Returns whether it is a success of the kind @number. */
static inline int happens(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER number, DAT_EVENT *event)
{
	DAT_COUNT more;

	/* After operations that were flushed, an event tells why the connection has ended. */
	do {
		must("wait", dat_evd_wait(evd, DAT_TIMEOUT_INFINITE, 1, event, &more));
	} while (is_flushed(event));
	if (event->event_number != number) {
		fprintf(stderr, "event %#x instead of %#x\n", event->event_number, number);
		return 0;
	}
	return number != DAT_DTO_COMPLETION_EVENT ||
	       event->event_data.dto_completion_event_data.status == DAT_DTO_SUCCESS;
}

/* Register @size bytes at @va.  @key, if not NULL, is for peers. */
static inline DAT_LMR_TRIPLET registered(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, void *va, size_t size,
					 DAT_MEM_PRIV_FLAGS rights, DAT_RMR_CONTEXT *key)
{
	DAT_REGION_DESCRIPTION region = { .for_va = va };
	DAT_LMR_TRIPLET segment = {
		.virtual_address = (uintptr_t)va,
		.segment_length = size,
	};
	DAT_LMR_HANDLE lmr;

	must("register memory", dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, region, size, pz, rights,
					       &lmr, &segment.lmr_context, key, NULL, NULL));
	return segment;
}

#endif /* BOARD_H */
