// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* The tracepoints report the steps of a message in order, with the ids of the objects. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "dat_test.h"
#include "tracefs.h"

#define COOKIE	0xfeedfacecafeULL

FIXTURE(trace) {
	struct t_pair p;
	char log[1 << 20];
};

FIXTURE_SETUP(trace)
{
	ASSERT_EQ(0, t_pair_open(&self->p));
	ASSERT_EQ(0, trace_start());
	ASSERT_EQ(0, trace_put("events/dat/enable", "1"));
}

FIXTURE_TEARDOWN(trace)
{
	trace_end();
	t_pair_close(&self->p);
}

static void read_text(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY);
	size_t n = 0;
	ssize_t r;

	while (n < size - 1 && (r = read(fd, text + n, size - 1 - n)) > 0)
		n += r;
	text[n] = 0;
	close(fd);
}

static void collect(char *log, size_t size)
{
	read_text(TRACE_DIR "/trace", log, size);
}

/* Returns the end of the first line that contains @text, or NULL. */
static const char *after(const char *log, const char *text)
{
	log = log ? strstr(log, text) : NULL;
	return log ? strchr(log, '\n') : NULL;
}

TEST_F(trace, states_of_a_connection)
{
	unsigned int count[16];
	char text[4][96];
	const char *at;
	int i;

	ASSERT_EQ(0, t_pair_connect(&self->p));
	ASSERT_EQ(0, t_disconnect(&self->p.f, &self->p.ep[1], 0));
	ASSERT_EQ(DAT_EV_DISCONNECTED, t_end(&self->p.evd[1], count));
	collect(self->log, sizeof(self->log));

	snprintf(text[0], sizeof(text[0]), "dat_ep_state: ep=%u UNCONNECTED -> ACTIVE_PENDING",
		 self->p.ep[1].id);
	snprintf(text[1], sizeof(text[1]), "dat_ep_state: ep=%u ACTIVE_PENDING -> CONNECTED",
		 self->p.ep[1].id);
	snprintf(text[2], sizeof(text[2]), "dat_ep_state: ep=%u CONNECTED -> DISCONNECT_PENDING",
		 self->p.ep[1].id);
	snprintf(text[3], sizeof(text[3]), "dat_ep_state: ep=%u DISCONNECT_PENDING -> DISCONNECTED",
		 self->p.ep[1].id);
	for (at = self->log, i = 0; i < 4; i++) {
		at = after(at, text[i]);
		ASSERT_NE(NULL, at)
			TH_LOG("not there, or too early: %s\n%s", text[i], self->log);
	}
}

/* --- the table of conn_set_state() ---------------------------------------------------- */

static int conn_went(char *log, uint32_t ep, const char *states)
{
	char line[96], from[32], to[32];
	const char *at = log;
	int n;

	for (; sscanf(states, "%31s -> %31s%n", from, to, &n) == 2; states += n - strlen(to)) {
		snprintf(line, sizeof(line), "dat_conn_state: ep=%u %s -> %s", ep, from, to);
		at = after(at, line);
		if (!at) {
			fprintf(stderr, "# not there, or too early: %s\n%s", line, log);
			return 0;
		}
	}
	return 1;
}

TEST_F(trace, of_two_ends_one_closes_and_the_other_is_hung_up)
{
	unsigned int count[16];

	ASSERT_EQ(0, t_pair_connect(&self->p));
	ASSERT_EQ(0, t_disconnect(&self->p.f, &self->p.ep[1], 0));
	ASSERT_EQ(DAT_EV_DISCONNECTED, t_end(&self->p.evd[1], count));
	ASSERT_EQ(DAT_EV_DISCONNECTED, t_end(&self->p.evd[0], count));
	collect(self->log, sizeof(self->log));
	EXPECT_TRUE(conn_went(self->log, self->p.ep[1].id, "CONNECTING -> ESTABLISHED -> CLOSING"));
	EXPECT_TRUE(conn_went(self->log, self->p.ep[0].id, "CONNECTING -> ESTABLISHED -> HUNG_UP"));
}

TEST_F(trace, a_graceful_disconnect_drains)
{
	unsigned int count[16];

	ASSERT_EQ(0, t_pair_connect(&self->p));
	ASSERT_EQ(0, t_disconnect(&self->p.f, &self->p.ep[1], 1));
	ASSERT_EQ(DAT_EV_DISCONNECTED, t_end(&self->p.evd[1], count));
	collect(self->log, sizeof(self->log));
	EXPECT_TRUE(conn_went(self->log, self->p.ep[1].id,
			      "CONNECTING -> ESTABLISHED -> DRAINING -> CLOSING"));
}

TEST_F(trace, what_drains_may_be_hung_up)
{
	unsigned int count[16];

	ASSERT_EQ(0, t_pair_connect(&self->p));
	/* The peer posts no receive, so the send stays in flight until the peer disconnects. */
	ASSERT_EQ(0, t_send(&self->p.ep[1], COOKIE, (uintptr_t)self->p.mem.va, self->p.mem.lkey,
			    48));
	ASSERT_EQ(0, t_disconnect(&self->p.f, &self->p.ep[1], 1));
	ASSERT_EQ(0, t_disconnect(&self->p.f, &self->p.ep[0], 0));
	ASSERT_EQ(DAT_EV_DISCONNECTED, t_end(&self->p.evd[0], count));
	ASSERT_NE(0, t_end(&self->p.evd[1], count));
	collect(self->log, sizeof(self->log));
	EXPECT_TRUE(conn_went(self->log, self->p.ep[1].id,
			      "CONNECTING -> ESTABLISHED -> DRAINING -> HUNG_UP"));
}

TEST_F(trace, what_nobody_accepts_aborts)
{
	unsigned int count[16];

	/* No listener exists at this qualifier. */
	ASSERT_EQ(0, t_connect(&self->p.f, &self->p.ep[1], T_QUAL + 77, NULL, 0));
	ASSERT_NE(0, t_end(&self->p.evd[1], count));
	collect(self->log, sizeof(self->log));
	EXPECT_TRUE(conn_went(self->log, self->p.ep[1].id, "CONNECTING -> ABORTING"));
}

TEST_F(trace, a_send_from_kick_to_event)
{
	char text[4][96];
	struct dat_eqe eqe;
	const char *at;
	int i;

	ASSERT_EQ(0, t_pair_connect(&self->p));
	/*
	 * Wait until the queue asks for kicks.  Until then, the thread that establishes the
	 * connection would post the request itself, without a kick.
	 */
	while (!(self->p.ep[1].sq.status->flags & DAT_QUEUE_NEED_KICK))
		usleep(1000);
	ASSERT_EQ(0, t_recv(&self->p.ep[0].rq, 1, (uintptr_t)self->p.mem.va, self->p.mem.lkey, 64));
	ASSERT_EQ(0, t_send(&self->p.ep[1], COOKIE, (uintptr_t)self->p.mem.va, self->p.mem.lkey,
			    48));
	ASSERT_EQ(1, t_event(&self->p.evd[1], T_WAIT_MS, &eqe));
	/* The kernel queues the event before it writes the line to the trace. */
	usleep(100000);
	collect(self->log, sizeof(self->log));

	snprintf(text[0], sizeof(text[0]), "dat_kick: obj=%u bell=%u", self->p.ep[1].id,
		 self->p.ep[1].sq.bell);
	snprintf(text[1], sizeof(text[1]), "dat_post: obj=%u op=SEND cookie=%#llx len=48 num_sge=1",
		 self->p.ep[1].id, COOKIE);
	snprintf(text[2], sizeof(text[2]),
		 "dat_complete: ep=%u request cookie=%#llx status=SUCCESS len=48",
		 self->p.ep[1].id, COOKIE);
	snprintf(text[3], sizeof(text[3]), "dat_event: evd=%u type=DTO ", self->p.evd[1].id);
	for (at = self->log, i = 0; i < 4; i++) {
		at = after(at, text[i]);
		ASSERT_NE(NULL, at)
			TH_LOG("not there, or too early: %s\n%s", text[i], self->log);
	}
}

/* Makes both EPs anew with these flags, and connects them. */
static int reconnect_with(struct t_pair *p, uint32_t receiver, uint32_t sender)
{
	struct dat_ep_create arg = {
		.size = sizeof(arg), .pz = p->pz, .max_recv = T_QUEUE, .max_request = T_QUEUE,
		.max_recv_iov = 1, .max_request_iov = 1, .flags = receiver,
	};
	int i, ret = 0;

	for (i = 0; i < 2 && !ret; i++) {
		arg.recv_evd = p->evd[i].id;
		arg.request_evd = p->evd[i].id;
		arg.connect_evd = p->evd[i].id;
		ret = t_any_ep(&p->f, &arg, &p->ep[i]);
		arg.flags = sender;
	}
	return ret ? ret : t_pair_connect(p);
}

/*
 * The trace tells why a receive is used up that no send has asked for, or why it has failed.  Over
 * lo0 a refused message brings nothing.
 */
TEST_F_TIMEOUT(trace, immediate_data_of_a_write_show_at_both_ends, 60)
{
	static const struct {
		uint32_t asked;
		const char *end;
	} cases[] = {
		{ DAT_EP_FLAG_IMMEDIATE, "SUCCESS len=0 extra=WRITE_IMM\n" },
		{ 0, "BAD_RESPONSE len=0 extra=" },
	};
	struct t_pair *p = &self->p;
	struct dat_sqe *sqe;
	char text[2][96];
	struct dat_eqe eqe;
	unsigned int i, j;
	const char *at;

	if (!(p->f.info.sqe_flags & DAT_SQE_IMM))
		SKIP(return, "the adapter has no immediate data");
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, reconnect_with(p, cases[i].asked, DAT_EP_FLAG_IMMEDIATE));
		ASSERT_EQ(0, t_recv(&p->ep[0].rq, i + 1, (uintptr_t)p->mem.va, p->mem.lkey, 64));
		sqe = t_sqe(&p->ep[1].sq);
		sqe->opcode = DAT_OP_RDMA_WRITE;
		sqe->flags = DAT_SQE_IMM;
		sqe->cookie = COOKIE;
		ASSERT_EQ(0, t_push(&p->ep[1].sq));
		ASSERT_EQ(1, t_event(&p->evd[0], T_WAIT_MS, &eqe));
		ASSERT_EQ(1, t_event(&p->evd[1], T_WAIT_MS, &eqe));
		usleep(100000);
		collect(self->log, sizeof(self->log));
		snprintf(text[0], sizeof(text[0]),
			 "dat_post: obj=%u op=RDMA_WRITE cookie=%#llx len=0 num_sge=0 imm=1\n",
			 p->ep[1].id, COOKIE);
		snprintf(text[1], sizeof(text[1]), "dat_complete: ep=%u recv cookie=%#x status=%s",
			 p->ep[0].id, i + 1, cases[i].end);
		for (at = self->log, j = 0; j < 2; j++) {
			at = after(at, text[j]);
			ASSERT_NE(NULL, at) TH_LOG("not there: %s\n%s", text[j], self->log);
		}
	}
}

/*
 * perf and trace-cmd know no enumeration: the formats from which they decode a trace must have the
 * numbers.
 */
TEST_F(trace, formats_have_numbers_for_all_names)
{
	int events;

	EXPECT_EQ(0, trace_unnumbered("dat", "DAT_", &events));
	EXPECT_LE(6, events);
}

TEST_F(trace, formats_of_rsm_have_numbers_for_all_names)
{
	int events;

	if (access("/sys/module/dat_rsm", F_OK))
		SKIP(return, "dat_rsm is not loaded");
	EXPECT_EQ(0, trace_unnumbered("dat_rsm", "RSM_", &events));
	EXPECT_LE(7, events);
}

TEST_HARNESS_MAIN
