// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/*
 * board-server: a board of text in memory that clients read by RDMA.  A client sends its name, and
 * the server answers where the board is.  Documentation/tutorial.rst explains the program.
 */
#include "board.h"

static DAT_IA_HANDLE ia;
static DAT_PZ_HANDLE pz;
static DAT_EVD_HANDLE requests;

static char board[BOARD_SIZE];
static char name[NAME_SIZE];
static struct place place;
static DAT_LMR_TRIPLET name_segment, place_segment;

static void open_adapter(char *adapter)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;

	must("open the adapter", dat_ia_open(adapter, 8, &async, &ia));
	must("make a zone", dat_pz_create(ia, &pz));
}

static void register_memory(void)
{
	DAT_MEM_PRIV_FLAGS local = DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG;
	DAT_RMR_CONTEXT key;

	name_segment = registered(ia, pz, name, sizeof(name), local, NULL);
	place_segment = registered(ia, pz, &place, sizeof(place), local, NULL);
	registered(ia, pz, board, sizeof(board), DAT_MEM_PRIV_REMOTE_READ_FLAG, &key);
	place.address = htobe64((uintptr_t)board);
	place.key = htobe32(key);
	place.length = htobe32(sizeof(board));
}

static void listen_for_clients(void)
{
	DAT_PSP_HANDLE listener;

	must("make an EVD", dat_evd_create(ia, 16, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &requests));
	must("listen", dat_psp_create(ia, BOARD_PORT, requests, DAT_PSP_CONSUMER_FLAG, &listener));
	printf("listening at port %d\n", BOARD_PORT);
	fflush(stdout);
}

/* Answer the client of a connected endpoint.  Returns at the first event that is not expected. */
static void answer(DAT_EP_HANDLE ep, DAT_EVD_HANDLE events)
{
	static unsigned int visitors;
	DAT_DTO_COOKIE cookie = { .as_64 = 0 };
	DAT_EVENT event;

	if (!happens(events, DAT_CONNECTION_EVENT_ESTABLISHED, &event) ||
	    !happens(events, DAT_DTO_COMPLETION_EVENT, &event))
		return;
	snprintf(board, sizeof(board), "Welcome, %.*s. You are visitor %u.",
		 (int)event.event_data.dto_completion_event_data.transfered_length, name,
		 ++visitors);
	must("send", dat_ep_post_send(ep, 1, &place_segment, cookie, DAT_COMPLETION_DEFAULT_FLAG));
	if (happens(events, DAT_DTO_COMPLETION_EVENT, &event) &&
	    happens(events, DAT_CONNECTION_EVENT_DISCONNECTED, &event))
		printf("%s\n", board);
	fflush(stdout);
}

/* Accept a client.  Events of each client have a queue of their own. */
static void serve(DAT_CR_HANDLE request)
{
	DAT_EVD_FLAGS streams = DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG;
	DAT_DTO_COOKIE cookie = { .as_64 = 0 };
	DAT_EVD_HANDLE events;
	DAT_EP_HANDLE ep;
	DAT_RETURN rc;

	must("make an EVD", dat_evd_create(ia, 16, DAT_HANDLE_NULL, streams, &events));
	must("make an EP", dat_ep_create(ia, pz, events, events, events, NULL, &ep));
	must("receive", dat_ep_post_recv(ep, 1, &name_segment, cookie,
					 DAT_COMPLETION_DEFAULT_FLAG));
	rc = dat_cr_accept(request, ep, 0, NULL);
	if (rc == DAT_SUCCESS) {
		answer(ep, events);
	} else {
		report("accept", rc);
		dat_cr_reject(request);
	}
	must("free the EP", dat_ep_free(ep));
	must("free the EVD", dat_evd_free(events));
}

int main(int argc, char **argv)
{
	DAT_EVENT event;

	if (argc != 2) {
		fprintf(stderr, "usage: board-server ADAPTER\n");
		return 2;
	}
	open_adapter(argv[1]);
	register_memory();
	listen_for_clients();
	while (happens(requests, DAT_CONNECTION_REQUEST_EVENT, &event))
		serve(event.event_data.cr_arrival_event_data.cr_handle);
	return 1;
}
