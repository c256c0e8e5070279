// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * Connections that end in the midst of traffic, round after round, between two processes.  Each
 * posted DTO must complete, and the end of the connection must be reported, whichever side ends it,
 * however it is ended, and however the other side waits.
 *
 * DAT_ROUNDS in the environment is the number of rounds of each test.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "dat_api.h"
#include "clock.h"

#define QUAL	(A_QUAL + 1)
#define DEPTH	16	/* receives that each side keeps posted */
#define PINGS	8	/* messages of a round that are answered */
#define BURST	8	/* sends of each side when the connection ends */
#define TEST_S	120

enum how {
	BY_WAIT,	/* dat_evd_wait() */
	BY_POLL,	/* dequeue, and poll() of the descriptor when the EVD is empty */
	BY_DEQUEUE,	/* dequeue only */
	HOWS,
};

/*
 * struct side - one process with its endpoint
 * @p: its objects; p.evd[0] has the DTOs, p.evd[1] the connection
 * @fd: descriptors of p.evd
 * @ep: endpoint of the round
 * @how: way in which the round waits for events
 * @posted: number of DTOs that have not completed
 * @sends: number of sends among them
 */
struct side {
	struct a_pair	p;
	int		fd[2];
	DAT_EP_HANDLE	ep;
	enum how	how;
	int		posted;
	int		sends;
};

static int rounds(void)
{
	const char *s = getenv("DAT_ROUNDS");

	return s ? atoi(s) : HOWS;
}

/* Wait for an event of p.evd[@which].  Return -1 if none arrives in time. */
static int next_event(struct side *s, int which, DAT_EVENT *event)
{
	struct pollfd pfd = { .fd = s->fd[which], .events = POLLIN };
	uint64_t end = now_us() + A_WAIT_US;

	if (s->how == BY_WAIT)
		return a_event(s->p.evd[which], A_WAIT_US, event) ? 0 : -1;
	while (dat_evd_dequeue(s->p.evd[which], event) != DAT_SUCCESS) {
		if (s->how == BY_POLL && poll(&pfd, 1, A_WAIT_US / 1000) != 1)
			return -1;
		if (now_us() > end)
			return -1;
		sched_yield();
	}
	return 0;
}

/* Wait for a connection event.  Return its number, or 0 if none arrives. */
static int conn_event(struct side *s)
{
	DAT_EVENT event;

	return next_event(s, 1, &event) ? 0 : (int)event.event_number;
}

/* Wait for a DTO.  Return its status, or -1 if none arrives; *@recv tells if it is a receive. */
static int dto_event(struct side *s, int *recv)
{
	DAT_EVENT event;

	if (next_event(s, 0, &event) || event.event_number != DAT_DTO_COMPLETION_EVENT)
		return -1;
	*recv = event.event_data.dto_completion_event_data.user_cookie.as_64;
	s->posted--;
	s->sends -= !*recv;
	return (int)event.event_data.dto_completion_event_data.status;
}

static DAT_RETURN post(struct side *s, int recv, int n)
{
	DAT_LMR_TRIPLET seg = a_seg(&s->p.mem, recv ? 0 : 4096, 64);
	DAT_RETURN rc = DAT_SUCCESS;

	for (; n && rc == DAT_SUCCESS; n--) {
		rc = recv ? dat_ep_post_recv(s->ep, 1, &seg, a_cookie(1), 0) :
			    dat_ep_post_send(s->ep, 1, &seg, a_cookie(0), 0);
		s->posted += rc == DAT_SUCCESS;
		s->sends += rc == DAT_SUCCESS && !recv;
	}
	return rc;
}

/* Open an IA with two EVDs and memory.  A listener delivers its requests to p.evd[1]. */
static DAT_RETURN side_open(struct side *s, int listens)
{
	DAT_EVD_FLAGS flags[2] = { DAT_EVD_DTO_FLAG, DAT_EVD_CONNECTION_FLAG | DAT_EVD_CR_FLAG };
	struct a_pair *p = &s->p;
	DAT_RETURN rc;
	int i;

	rc = a_ia(&p->ia, &p->async);
	if (rc == DAT_SUCCESS)
		rc = dat_ia_query(p->ia, NULL, DAT_IA_FIELD_ALL, &p->attr, 0, NULL);
	if (rc == DAT_SUCCESS)
		rc = dat_pz_create(p->ia, &p->pz);
	if (rc == DAT_SUCCESS)
		rc = a_mem(p, 8192, DAT_MEM_PRIV_ALL_FLAG, &p->mem);
	for (i = 0; i < 2 && rc == DAT_SUCCESS; i++) {
		rc = dat_evd_create(p->ia, 256, DAT_HANDLE_NULL, flags[i], &p->evd[i]);
		if (rc == DAT_SUCCESS)
			rc = dat_linux_evd_fd(p->evd[i], &s->fd[i]);
	}
	if (rc == DAT_SUCCESS && listens)
		rc = dat_psp_create(p->ia, QUAL, p->evd[1], DAT_PSP_CONSUMER_FLAG, &p->psp);
	return rc;
}

/* Make the endpoint of a round and post its receives. */
static DAT_RETURN side_begin(struct side *s, int round)
{
	DAT_EP_ATTR attr = a_attr(&s->p);
	DAT_RETURN rc;

	s->how = round % HOWS;
	s->posted = 0;
	s->sends = 0;
	rc = dat_ep_create(s->p.ia, s->p.pz, s->p.evd[0], s->p.evd[0], s->p.evd[1], &attr, &s->ep);
	return rc == DAT_SUCCESS ? post(s, 1, DEPTH) : rc;
}

/*
 * Answer, or with @first begin, PINGS messages.  On success the peer has all of them, so the end of
 * the connection cannot lose one.  Return 0, or the line of the failure.
 */
static int ping(struct side *s, int first)
{
	int n, recv, done;

	for (n = 0; n < PINGS; n++) {
		if (first && post(s, 0, 1))
			return __LINE__;
		/* The receive, and with it perhaps the completion of the send before it. */
		for (done = 0; !done; done = recv)
			if (dto_event(s, &recv))
				return __LINE__;
		if (post(s, 1, 1) || (!first && post(s, 0, 1)))
			return __LINE__;
	}
	/* The last is flushed if the peer has ended the connection, which then has received it. */
	while (s->sends)
		if (dto_event(s, &recv) < 0)
			return __LINE__;
	return 0;
}

enum end { ABRUPT, GRACEFUL, FREE, NOTHING };

/* End the connection, or let the peer end it.  Return 0, or the line of the failure. */
static int side_end(struct side *s, enum end end)
{
	int event, recv;

	/* The posts and the disconnect fail if the peer has already ended the connection. */
	post(s, 0, BURST);
	if (end == FREE)
		return dat_ep_free(s->ep) ? __LINE__ : 0;
	if (end != NOTHING)
		dat_ep_disconnect(s->ep, end == ABRUPT ? DAT_CLOSE_ABRUPT_FLAG :
							 DAT_CLOSE_GRACEFUL_FLAG);
	event = conn_event(s);
	if (event != DAT_CONNECTION_EVENT_DISCONNECTED && event != DAT_CONNECTION_EVENT_BROKEN)
		return __LINE__;
	while (s->posted)
		if (dto_event(s, &recv) < 0)
			return __LINE__;
	return dat_ep_free(s->ep) ? __LINE__ : 0;
}

/* Remove what a freed endpoint has left in the EVDs. */
static void side_discard(struct side *s)
{
	DAT_EVENT event;
	int i;

	for (i = 0; i < 2; i++)
		while (dat_evd_dequeue(s->p.evd[i], &event) == DAT_SUCCESS)
			;
}

/*
 * Run one round.  Return 0, or the line of the failure.
 *
 * The connecting side begins, so that a request of the next round cannot be among the events that
 * the accepting side discards.
 */
static int side_round(struct side *s, int listens, int round, enum end end)
{
	DAT_EVENT event;
	int line;

	if (side_begin(s, round))
		return __LINE__;
	if (!listens && dat_ep_connect(s->ep, s->p.attr.ia_address_ptr, QUAL, A_WAIT_US, 0, NULL,
				       DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG))
		return __LINE__;
	if (listens && (next_event(s, 1, &event) ||
			event.event_number != DAT_CONNECTION_REQUEST_EVENT ||
			dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, s->ep, 0,
				      NULL)))
		return __LINE__;
	if (conn_event(s) != DAT_CONNECTION_EVENT_ESTABLISHED)
		return __LINE__;
	line = ping(s, !listens);
	if (!line)
		line = side_end(s, end);
	side_discard(s);
	return line;
}

/*
 * Run @n rounds and say where they fail.  The listening side writes a byte to @to when it is ready
 * for a round; the other side waits for that byte.
 */
static int run_side(int listens, int n, enum end end, int from, int to)
{
	struct side s = {};
	int round, line = 0;
	char c = 0;

	if (side_open(&s, listens))
		line = __LINE__;
	for (round = 0; round < n && !line; round++) {
		if (listens && write(to, &c, 1) != 1)
			return __LINE__;
		if (!listens && read(from, &c, 1) != 1)
			return __LINE__;
		line = side_round(&s, listens, round, end);
	}
	if (line)
		fprintf(stderr, "# the %s side fails in round %d at line %d, %d DTOs open\n",
			listens ? "passive" : "active", round, line, s.posted);
	dat_ia_close(s.p.ia, DAT_CLOSE_ABRUPT_FLAG);
	return line;
}

FIXTURE(abrupt) {
	int	to_active[2];
	int	status;
};

FIXTURE_SETUP(abrupt)
{
	ASSERT_EQ(0, pipe(self->to_active));
}

FIXTURE_TEARDOWN(abrupt)
{
}

/* Run the rounds in two processes.  Return the line of a failure of the active side, or 0. */
static int run(FIXTURE_DATA(abrupt) *self, enum end active, enum end passive)
{
	pid_t pid = fork();
	int line, n = rounds();

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(self->to_active[0]);
		_exit(!!run_side(1, n, passive, -1, self->to_active[1]));
	}
	close(self->to_active[1]);
	line = run_side(0, n, active, self->to_active[0], -1);
	waitpid(pid, &self->status, 0);
	return line;
}

TEST_F_TIMEOUT(abrupt, by_the_active_side, TEST_S)
{
	EXPECT_EQ(0, run(self, ABRUPT, NOTHING));
	EXPECT_EQ(0, self->status);
}

TEST_F_TIMEOUT(abrupt, by_the_passive_side, TEST_S)
{
	EXPECT_EQ(0, run(self, NOTHING, ABRUPT));
	EXPECT_EQ(0, self->status);
}

TEST_F_TIMEOUT(abrupt, by_both_sides_at_once, TEST_S)
{
	EXPECT_EQ(0, run(self, ABRUPT, ABRUPT));
	EXPECT_EQ(0, self->status);
}

TEST_F_TIMEOUT(abrupt, by_a_free_of_the_active_endpoint, TEST_S)
{
	EXPECT_EQ(0, run(self, FREE, NOTHING));
	EXPECT_EQ(0, self->status);
}

TEST_F_TIMEOUT(abrupt, by_a_free_of_the_passive_endpoint, TEST_S)
{
	EXPECT_EQ(0, run(self, NOTHING, FREE));
	EXPECT_EQ(0, self->status);
}

TEST_F_TIMEOUT(abrupt, by_frees_of_both_endpoints, TEST_S)
{
	EXPECT_EQ(0, run(self, FREE, FREE));
	EXPECT_EQ(0, self->status);
}

TEST_F_TIMEOUT(abrupt, by_a_graceful_end_beside_an_abrupt_end, TEST_S)
{
	EXPECT_EQ(0, run(self, GRACEFUL, ABRUPT));
	EXPECT_EQ(0, self->status);
}

TEST_F_TIMEOUT(abrupt, by_a_graceful_end_of_both_sides, TEST_S)
{
	EXPECT_EQ(0, run(self, GRACEFUL, GRACEFUL));
	EXPECT_EQ(0, self->status);
}

TEST_HARNESS_MAIN
