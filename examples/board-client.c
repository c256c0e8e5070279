// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/*
 * board-client: reads the board of board-server by RDMA.  Documentation/tutorial.rst explains the
 * program.
 */
#include <netdb.h>

#include "board.h"

#define TEN_SECONDS	(10 * 1000 * 1000)	/* in microseconds */

static DAT_IA_HANDLE ia;
static DAT_PZ_HANDLE pz;
static DAT_EVD_HANDLE events;
static DAT_EP_HANDLE ep;

static char name[NAME_SIZE];
static struct place place;
static char board[BOARD_SIZE];
static DAT_LMR_TRIPLET name_segment, place_segment, board_segment;

static void open_adapter(char *adapter)
{
	DAT_EVD_FLAGS streams = DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG;
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;

	must("open the adapter", dat_ia_open(adapter, 8, &async, &ia));
	must("make a zone", dat_pz_create(ia, &pz));
	must("make an EVD", dat_evd_create(ia, 16, DAT_HANDLE_NULL, streams, &events));
	must("make an EP", dat_ep_create(ia, pz, events, events, events, NULL, &ep));
}

static void register_memory(void)
{
	DAT_MEM_PRIV_FLAGS local = DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG;

	name_segment = registered(ia, pz, name, sizeof(name), local, NULL);
	place_segment = registered(ia, pz, &place, sizeof(place), local, NULL);
	/* Over iWARP, the peer's device writes the data that an RDMA read brings. */
	board_segment = registered(ia, pz, board, sizeof(board),
				   local | DAT_MEM_PRIV_REMOTE_WRITE_FLAG, NULL);
}

static void expect(DAT_EVENT_NUMBER number)
{
	DAT_EVENT event;

	if (happens(events, number, &event))
		return;
	fprintf(stderr, "the server did not answer\n");
	exit(1);
}

static void connect_to(const char *host)
{
	DAT_DTO_COOKIE cookie = { .as_64 = 0 };
	struct addrinfo *address;

	if (getaddrinfo(host, NULL, NULL, &address)) {
		fprintf(stderr, "%s has no address\n", host);
		exit(1);
	}
	/* The answer may arrive right after the question, so its buffer is posted first. */
	must("receive", dat_ep_post_recv(ep, 1, &place_segment, cookie,
					 DAT_COMPLETION_DEFAULT_FLAG));
	must("connect", dat_ep_connect(ep, address->ai_addr, BOARD_PORT, TEN_SECONDS, 0, NULL,
				       DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	freeaddrinfo(address);
	expect(DAT_CONNECTION_EVENT_ESTABLISHED);
}

static void ask(const char *who)
{
	DAT_DTO_COOKIE cookie = { .as_64 = 0 };

	snprintf(name, sizeof(name), "%s", who);
	name_segment.segment_length = strlen(name);
	must("send", dat_ep_post_send(ep, 1, &name_segment, cookie, DAT_COMPLETION_DEFAULT_FLAG));
	/* Two completions, in any order: the question was sent, and the answer was received. */
	expect(DAT_DTO_COMPLETION_EVENT);
	expect(DAT_DTO_COMPLETION_EVENT);
}

static void read_board(void)
{
	DAT_RMR_TRIPLET from = {
		.rmr_context = be32toh(place.key),
		.target_address = be64toh(place.address),
		.segment_length = be32toh(place.length),
	};
	DAT_DTO_COOKIE cookie = { .as_64 = 0 };

	must("read", dat_ep_post_rdma_read(ep, 1, &board_segment, cookie, &from,
					   DAT_COMPLETION_DEFAULT_FLAG));
	expect(DAT_DTO_COMPLETION_EVENT);
	printf("%.*s\n", BOARD_SIZE, board);
}

int main(int argc, char **argv)
{
	if (argc != 4) {
		fprintf(stderr, "usage: board-client ADAPTER HOST NAME\n");
		return 2;
	}
	open_adapter(argv[1]);
	register_memory();
	connect_to(argv[2]);
	ask(argv[3]);
	read_board();
	must("disconnect", dat_ep_disconnect(ep, DAT_CLOSE_GRACEFUL_FLAG));
	expect(DAT_CONNECTION_EVENT_DISCONNECTED);
	must("close the adapter", dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG));
	return 0;
}
