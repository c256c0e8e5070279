// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * SIGKILL of one end of a connection at random points: the other end gets an event, and no object
 * is left.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "dat_test.h"
#include "rdma_count.h"
#include "roce_peer.h"
#include "tracefs.h"

#define ROUNDS	30

struct side {
	struct t_file	f;
	uint32_t	pz;
	struct t_evd	evd;
	struct t_ep	ep;
	struct t_lmr	mem;
};

static int side_open(struct side *s)
{
	int ret;

	memset(s, 0, sizeof(*s));
	ret = t_open(&s->f);
	if (!ret)
		ret = t_pz(&s->f, &s->pz);
	if (!ret)
		ret = t_lmr(&s->f, s->pz, 1 << 20, T_PRIV_ALL, &s->mem);
	if (!ret)
		ret = t_evd(&s->f, DAT_STREAM_DTO | DAT_STREAM_CONNECTION | DAT_STREAM_CR, 256,
			    &s->evd);
	return ret ? ret : t_ep(&s->f, s->pz, &s->evd, 0, 1, &s->ep);
}

/* Nonzero after both ends have connected in this round; mapped in all processes. */
static volatile int *connected;

/*
 * Keep all queues busy until the connection ends.  Returns the event that ends the connection, or 0
 * on timeout.
 */
static int traffic(struct side *s)
{
	struct dat_eqe eqe;
	int i;

	*connected = 1;
	for (i = 0; i < T_QUEUE; i++)
		t_recv(&s->ep.rq, 0, (uintptr_t)s->mem.va, s->mem.lkey, 4096);
	for (i = 0; i < 4; i++)
		t_send(&s->ep, 1, (uintptr_t)s->mem.va, s->mem.lkey, 4096);
	for (;;) {
		if (!t_event(&s->evd, T_WAIT_MS, &eqe))
			return 0;
		if (eqe.type != DAT_EV_DTO)
			return (int)eqe.type;
		if (eqe.status != DAT_ST_SUCCESS)
			continue;
		if (eqe.flags & DAT_EQE_RECV)
			t_recv(&s->ep.rq, 0, (uintptr_t)s->mem.va, s->mem.lkey, 4096);
		else
			t_send(&s->ep, 1, (uintptr_t)s->mem.va, s->mem.lkey, 4096);
	}
}

/*
 * Returns exit status 0 if @event ends a connection in a way that the kill of the peer can cause,
 * else 10.
 */
static int good_end(int event)
{
	return event == DAT_EV_DISCONNECTED || event == DAT_EV_BROKEN ||
	       event == DAT_EV_NON_PEER_REJECTED || event == DAT_EV_ACCEPT_ERROR ? 0 : 10;
}

static int passive(void)
{
	struct dat_eqe eqe;
	struct side s;
	uint32_t psp;

	if (side_open(&s) || t_psp(&s.f, &s.evd, T_QUAL, &psp))
		return 2;
	if (!t_event(&s.evd, T_WAIT_MS, &eqe))
		return 0;	/* the peer was killed before it sent a request */
	if (t_accept(&s.f, eqe.len, &s.ep, NULL, 0))
		return 4;
	if (!t_event(&s.evd, T_WAIT_MS, &eqe))
		return 5;
	return eqe.type == DAT_EV_ESTABLISHED ? good_end(traffic(&s)) : good_end(eqe.type);
}

static int active(void)
{
	struct dat_eqe eqe;
	struct side s;
	int tries;

	if (side_open(&s))
		return 2;
	for (tries = 0; tries < 100; tries++) {
		if (t_connect(&s.f, &s.ep, T_QUAL, NULL, 0))
			return 3;
		if (!t_event(&s.evd, T_WAIT_MS, &eqe))
			return 4;
		if (eqe.type == DAT_EV_ESTABLISHED)
			return good_end(traffic(&s));
		/* The passive process has not created its listener yet. */
		if (eqe.type != DAT_EV_NON_PEER_REJECTED || t_reset(&s.f, &s.ep))
			return 6;
		usleep(20000);
	}
	return 0;		/* the passive process was killed before it listened */
}

static pid_t start(int (*fn)(void))
{
	pid_t pid = fork();

	if (!pid)
		_exit(fn());
	return pid;
}

FIXTURE(kill) {
	int unused;
};

FIXTURE_SETUP(kill)
{
	connected = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, (void *)connected);
}

FIXTURE_TEARDOWN(kill)
{
}

/* Covers: SH 64 */
TEST_F_TIMEOUT(kill, the_survivor_hears_of_it_and_nothing_is_left, 900)
{
	unsigned int seed = (unsigned int)time(NULL);
	pid_t pid[2];
	int i, status, victim, tested = 0;

	TH_LOG("seed %u", seed);
	srand(seed);
	for (i = 0; i < ROUNDS; i++) {
		*connected = 0;
		pid[0] = start(passive);
		pid[1] = start(active);
		usleep(rand() % 600000);
		victim = rand() % 2;
		kill(pid[victim], SIGKILL);
		waitpid(pid[victim], &status, 0);
		/*
		 * Before a connection exists, the surviving process could wait forever: kill it as
		 * well.
		 */
		if (!*connected)
			kill(pid[!victim], SIGKILL);
		waitpid(pid[!victim], &status, 0);
		if (!*connected)
			continue;
		tested++;
		ASSERT_TRUE(WIFEXITED(status)) TH_LOG("round %d", i);
		ASSERT_EQ(0, WEXITSTATUS(status)) TH_LOG("round %d, victim %d", i, victim);
	}
	/* Usually most rounds reach an established connection. */
	EXPECT_LT(5, tested);
}

static void wait_connected(void)
{
	int i;

	for (i = 0; i < T_WAIT_MS && !*connected; i++)
		usleep(1000);
}

/* Returns 1 if a process ended by the kill, or before the kill by the kill of its peer. */
static int ended_by_kill(int status)
{
	return WIFSIGNALED(status) ? WTERMSIG(status) == SIGKILL : status == 0;
}

/* Nobody is left who could give anything up: the driver alone ends the connections. */
TEST_F_TIMEOUT(kill, both_at_once, 300)
{
	static const char *const kinds[] = { "qp", "cm_id", "cq", "mr", "pd" };
	int before[5], status[2], i, now, tested = 0;
	pid_t pid[2];

	for (i = 0; i < 5; i++)
		before[i] = rdma_count_settled(kinds[i]);
	for (i = 0; i < 10; i++) {
		*connected = 0;
		pid[0] = start(passive);
		pid[1] = start(active);
		/* Half of the kills hit a connection with traffic, the others a handshake. */
		if (i % 2)
			wait_connected();
		usleep(rand() % 200000);
		tested += *connected;
		kill(pid[0], SIGKILL);
		kill(pid[1], SIGKILL);
		waitpid(pid[0], &status[0], 0);
		waitpid(pid[1], &status[1], 0);
		ASSERT_TRUE(ended_by_kill(status[0])) TH_LOG("round %d: %#x", i, status[0]);
		ASSERT_TRUE(ended_by_kill(status[1])) TH_LOG("round %d: %#x", i, status[1]);
	}
	EXPECT_LE(5, tested);
	/* Connections of an earlier test may have ended meanwhile. */
	for (i = 0; i < 5; i++) {
		now = rdma_count_falls(kinds[i], before[i]);
		EXPECT_LE(0, now);
		EXPECT_GE(before[i], now) TH_LOG("%s", kinds[i]);
	}
}

/* Earlier tests killed processes that listened at T_QUAL: the qualifier must be free again. */
/* Covers: SH 62, 64 */
TEST_F(kill, the_qualifier_is_free_afterwards)
{
	struct side s;
	uint32_t psp;

	ASSERT_EQ(0, side_open(&s));
	EXPECT_EQ(0, t_psp(&s.f, &s.evd, T_QUAL, &psp));
	t_close(&s.f);
}

/*
 * A process that connects and passes its /dev/dat descriptor to the test.  After a byte on @go the
 * process gives up its address space: it exits or executes another program.
 */
struct leaver {
	pid_t	pid;
	int	go;
	int	fd;	/* descriptor of the process's /dev/dat file */
};

static void leave(int socket, int go, int by_exec)
{
	char data = 0, space[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec iov = { &data, 1 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct dat_eqe eqe;
	struct cmsghdr *c;
	struct side s;

	if (side_open(&s) || t_connect(&s.f, &s.ep, T_QUAL, NULL, 0) ||
	    !t_event(&s.evd, T_WAIT_MS, &eqe) || eqe.type != DAT_EV_ESTABLISHED)
		_exit(1);
	msg.msg_control = space;
	msg.msg_controllen = sizeof(space);
	c = CMSG_FIRSTHDR(&msg);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &s.f.fd, sizeof(int));
	if (sendmsg(socket, &msg, 0) != 1 || read(go, &data, 1) != 1)
		_exit(2);
	/* Let the new program inherit the descriptor of the file. */
	fcntl(s.f.fd, F_SETFD, 0);
	if (by_exec)
		execlp("sleep", "sleep", "60", NULL);
	_exit(0);
}

static int leaver_start(struct leaver *l, int by_exec)
{
	char data, space[CMSG_SPACE(sizeof(int))];
	struct iovec iov = { &data, 1 };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = space, .msg_controllen = sizeof(space),
	};
	int sv[2], go[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sv) || pipe(go))
		return -errno;
	l->pid = fork();
	if (!l->pid)
		leave(sv[1], go[0], by_exec);
	close(sv[1]);
	close(go[0]);
	l->go = go[1];
	l->fd = -1;
	if (recvmsg(sv[0], &msg, 0) == 1 && CMSG_FIRSTHDR(&msg))
		memcpy(&l->fd, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(int));
	close(sv[0]);
	return l->fd < 0 ? -EPIPE : 0;
}

FIXTURE(file) {
	struct side s;
	struct leaver l;
};

FIXTURE_VARIANT(file) {
	int by_exec;
};

FIXTURE_VARIANT_ADD(file, of_a_process_that_exits) {
	.by_exec = 0,
};

FIXTURE_VARIANT_ADD(file, of_a_process_that_executes_a_program) {
	.by_exec = 1,
};

FIXTURE_SETUP(file)
{
	uint32_t psp;

	ASSERT_EQ(0, side_open(&self->s));
	ASSERT_EQ(0, t_psp(&self->s.f, &self->s.evd, T_QUAL, &psp));
}

FIXTURE_TEARDOWN(file)
{
	kill(self->l.pid, SIGKILL);
	waitpid(self->l.pid, NULL, 0);
	close(self->l.fd);
	t_close(&self->s.f);
}

static void *accept_one(void *arg)
{
	struct side *s = arg;
	struct dat_eqe eqe;

	if (t_event(&s->evd, T_WAIT_MS, &eqe) && eqe.type == DAT_EV_CR)
		t_accept(&s->f, eqe.len, &s->ep, NULL, 0);
	return NULL;
}

/*
 * The test and the new program keep the file open.  The objects of the file end nevertheless, with
 * the address space of the process.
 */
TEST_F_TIMEOUT(file, ends_with_the_address_space, 60)
{
	struct dat_eqe eqe = { 0 };
	pthread_t thread;

	ASSERT_EQ(0, pthread_create(&thread, NULL, accept_one, &self->s));
	ASSERT_EQ(0, leaver_start(&self->l, variant->by_exec));
	pthread_join(thread, NULL);
	ASSERT_EQ(1, t_event(&self->s.evd, T_WAIT_MS, &eqe));
	EXPECT_EQ(DAT_EV_ESTABLISHED, eqe.type);
	EXPECT_EQ(0, t_event(&self->s.evd, T_QUIET_MS, &eqe));
	ASSERT_EQ(1, write(self->l.go, "", 1));
	ASSERT_EQ(1, t_event(&self->s.evd, T_WAIT_MS, &eqe));
	EXPECT_EQ(DAT_EV_DISCONNECTED, eqe.type);
}

/* --- many files ------------------------------------------------------------------- */

#define FILES		6
#define ENDS_AT_ONCE	4	/* bound of the driver */

/* Open a file with a connection of the adapter to itself. */
static int open_connected(int i)
{
	struct dat_eqe eqe;
	struct t_ep other;
	struct side s;
	uint32_t psp;
	int ret, left;

	ret = side_open(&s);
	if (!ret)
		ret = t_ep(&s.f, s.pz, &s.evd, 0, 2, &other);
	if (!ret)
		ret = t_psp(&s.f, &s.evd, T_QUAL + i, &psp);
	if (!ret)
		ret = t_connect(&s.f, &s.ep, T_QUAL + i, NULL, 0);
	for (left = 3; !ret && left; left--) {
		if (!t_event(&s.evd, T_WAIT_MS, &eqe))
			ret = -ETIMEDOUT;
		else if (eqe.type == DAT_EV_CR)
			ret = t_accept(&s.f, eqe.len, &other, NULL, 0);
	}
	return ret;
}

/* Open a file with a connection to the peer, which never confirms it. */
static int open_silent(struct roce_peer *peer, int i)
{
	struct roce_answers a;
	struct dat_eqe eqe;
	struct side s;
	uint32_t psp;
	int ret;

	ret = side_open(&s);
	if (!ret)
		ret = t_psp(&s.f, &s.evd, T_QUAL + i, &psp);
	if (!ret)
		ret = t_recv(&s.ep.rq, 0, (uintptr_t)s.mem.va, s.mem.lkey, 4096);
	if (!ret)
		ret = roce_request(peer, T_QUAL + i, 1);
	if (!ret)
		ret = t_event(&s.evd, T_WAIT_MS, &eqe) ? 0 : -ETIMEDOUT;
	if (!ret)
		ret = t_accept(&s.f, eqe.len, &s.ep, NULL, 0);
	if (!ret)
		ret = roce_answers(peer, i + 1, T_WAIT_MS, &a);
	if (!ret)
		ret = roce_talk(peer, i);
	if (!ret && (!t_event(&s.evd, T_WAIT_MS, &eqe) || eqe.type != DAT_EV_ESTABLISHED))
		ret = -ECONNREFUSED;
	return ret;
}

/*
 * A process opens files, and exits while a child of its own keeps them open.  The child ends when
 * @stay is closed.  With @peer the connections are silent.
 */
static void leave_files(int stay, struct roce_peer *peer)
{
	char c;
	int i;

	for (i = 0; i < FILES; i++)
		if (peer ? open_silent(peer, i) : open_connected(i))
			_exit(1);
	if (!fork()) {
		read(stay, &c, 1);
		_exit(0);
	}
	if (trace_on("workqueue/workqueue_activate_work", "0") ||
	    trace_on("workqueue/workqueue_execute_start", "0") ||
	    trace_on("workqueue/workqueue_execute_end", "0") ||
	    trace_on("dat/dat_ep_state", "0"))
		_exit(2);
	_exit(0);
}

/* Stores the work item that a recorded event of a workqueue names.  Returns 1 if there is one. */
static int work_of(const char *line, char work[20])
{
	return sscanf(strstr(line, "work struct ") ?: "", "work struct %19[0-9a-fx]", work) == 1;
}

static int work_index(char works[FILES][20], int n, const char *work)
{
	int i;

	for (i = 0; i < n && strcmp(works[i], work); i++)
		;
	return i;
}

/* Stores the work items of the function @fn, one for each file, and returns their number. */
static int end_works(const char *fn, char works[FILES][20])
{
	FILE *f = fopen(TRACE_DIR "/trace", "r");
	char line[512], work[20];
	int n = 0;

	while (f && n < FILES && fgets(line, sizeof(line), f))
		if (strstr(line, fn) && work_of(line, work) &&
		    work_index(works, n, work) == n)
			strcpy(works[n++], work);
	if (f)
		fclose(f);
	return n;
}

/*
 * Returns the largest number of work items of @fn that had a place at the same time.  Sets *@done
 * to the number of times that one has left its place.
 */
static int ends_at_once(const char *fn, int *done)
{
	FILE *f = fopen(TRACE_DIR "/trace", "r");
	char works[FILES][20], line[512], work[20];
	int n = end_works(fn, works), now = 0, most = 0;

	*done = 0;
	while (f && fgets(line, sizeof(line), f)) {
		if (!work_of(line, work) || work_index(works, n, work) == n)
			continue;
		if (strstr(line, "workqueue_activate_work")) {
			now++;
		} else if (strstr(line, "workqueue_execute_end")) {
			now--;
			++*done;
		}
		if (now > most)
			most = now;
	}
	if (f)
		fclose(f);
	return most;
}

FIXTURE(files) {
	int stay;
	struct roce_peer peer;
};

FIXTURE_SETUP(files)
{
	self->stay = -1;
	if (trace_start())
		SKIP(return, "no tracefs");
}

FIXTURE_TEARDOWN(files)
{
	trace_end();
	close(self->stay);
	roce_end(&self->peer);
}

/* Let a process with FILES files end, as leave_files() does.  Returns its exit status. */
static int end_files(FIXTURE_DATA(files) *self, struct roce_peer *peer)
{
	int stay[2], status;
	pid_t pid;

	if (pipe(stay))
		return -1;
	self->stay = stay[1];
	pid = fork();
	if (!pid) {
		close(stay[1]);
		leave_files(stay[0], peer);
	}
	close(stay[0]);
	return waitpid(pid, &status, 0) == pid ? status : -1;
}

/*
 * Most of a machine must be left to others when a process with many files ends.  The exit queues
 * all ends at once.
 */
TEST_F_TIMEOUT(files, few_end_at_the_same_time, 120)
{
	int before = rdma_count_settled("pd"), most, done;

	ASSERT_EQ(0, end_files(self, NULL));
	EXPECT_GE(before, rdma_count_falls("pd", before));
	most = ends_at_once("function file_begin_work", &done);
	TH_LOG("%d first steps, at most %d at once", done, most);
	EXPECT_LE(FILES, done);
	EXPECT_LE(1, most);
	EXPECT_GE(ENDS_AT_ONCE, most);
	/* Each file has a step that finds no connection left, and perhaps one before that. */
	most = ends_at_once("function file_end_work", &done);
	TH_LOG("%d other steps, at most %d at once", done, most);
	EXPECT_LE(FILES, done);
	EXPECT_LE(1, most);
	EXPECT_GE(ENDS_AT_ONCE, most);
}

static int start_peer(struct roce_peer *peer)
{
	struct t_file f;
	int ret = t_open(&f);

	if (ret)
		return ret;
	ret = roce_start(peer, f.info.addr);
	t_close(&f);
	return ret;
}

/*
 * Returns the number of steps of ends that were over when the first connection ended.  Sets *@gone
 * to the number of connections that have ended.
 */
static int steps_before_connections(int *gone)
{
	FILE *f = fopen(TRACE_DIR "/trace", "r");
	char line[512];
	int steps = 0;

	*gone = 0;
	while (f && fgets(line, sizeof(line), f)) {
		if (strstr(line, "-> DISCONNECTED"))
			++*gone;
		else if (!*gone && strstr(line, "execute_end") && strstr(line, "file_end_work"))
			steps++;
	}
	if (f)
		fclose(f);
	return steps;
}

/*
 * A peer that confirms nothing makes the end of its connection take a second.  If a file waited for
 * that in its place, a process with many files would delay the ends of other processes' files.
 */
TEST_F_TIMEOUT(files, that_wait_for_peers_leave_their_places, 120)
{
	int ret = start_peer(&self->peer), steps, gone, i;

	if (ret == -ENODEV)
		SKIP(return, "no soft-RoCE on a veth pair");
	ASSERT_EQ(0, ret);
	ASSERT_EQ(0, end_files(self, &self->peer));
	for (i = 0; i < T_WAIT_MS / 100; i++) {
		steps = steps_before_connections(&gone);
		if (gone == FILES)
			break;
		usleep(100000);
	}
	EXPECT_EQ(FILES, gone);
	EXPECT_LE(FILES, steps);
}

/* --- teardowns that wait ------------------------------------------------------------ */

#define CLOSES		12	/* connections, each with two teardowns */
#define WORKERS		64

/* A thread of a workqueue that has run a teardown. */
struct worker {
	int	pid;
	int	in;		/* flag: runs a teardown, which has not slept yet */
	char	timer[32];	/* timer that this teardown has set last */
};

static int pid_of(const char *line)
{
	const char *at = strstr(line, " [");

	while (at && at > line && at[-1] != '-')
		at--;
	return at ? atoi(at) : 0;
}

/* Returns the entry of the thread, a free entry if it has none, or NULL if there is no free one. */
static struct worker *worker_of(struct worker *w, int pid)
{
	int i;

	for (i = 0; i < WORKERS; i++, w++)
		if (!w->pid || w->pid == pid)
			return w;
	return NULL;
}

/* Returns whether the timer of an event wakes the thread that has set it. */
static int sleeps(const char *line)
{
	return strstr(line, "function=process_timeout") || strstr(line, "function=hrtimer_wakeup");
}

/* Returns how many teardowns have slept until the timer of the @line expired. */
static int expired(struct worker *w, const char *line)
{
	int i, n = 0;

	for (i = 0; i < WORKERS; i++, w++) {
		if (w->in && w->timer[0] && strstr(line, w->timer)) {
			w->in = 0;
			n++;
		}
	}
	return n;
}

/*
 * Returns how many work items of the recorded teardowns have slept until a timer expired.  Sets
 * *@begun to the number of these work items.
 */
static int slept(int *begun)
{
	static struct worker workers[WORKERS];
	FILE *f = fopen(TRACE_DIR "/trace", "r");
	const char *timer;
	struct worker *w;
	char line[512];
	int n = 0;

	*begun = 0;
	memset(workers, 0, sizeof(workers));
	while (f && fgets(line, sizeof(line), f)) {
		w = worker_of(workers, pid_of(line));
		timer = strstr(line, "timer=");
		if (strstr(line, "expire_entry")) {
			n += expired(workers, line);
		} else if (w && strstr(line, "function conn_close_work")) {
			w->pid = pid_of(line);
			w->in = !!strstr(line, "execute_start");
			w->timer[0] = 0;
			*begun += w->in;
		} else if (w && w->pid && timer && sleeps(line)) {
			snprintf(w->timer, sizeof(w->timer), "%.*s", (int)strcspn(timer, " "),
				 timer);
		}
	}
	if (f)
		fclose(f);
	return n;
}

FIXTURE(teardown) {
	struct t_pair p;
	struct t_srq srq;
	struct t_evd evd[2];
	struct t_ep ep[CLOSES][2];
};

FIXTURE_SETUP(teardown)
{
	struct t_pair *p = &self->p;
	int i, k;

	ASSERT_EQ(0, t_pair_open(p));
	ASSERT_EQ(0, t_srq(&p->f, p->pz, T_QUEUE, &self->srq));
	for (k = 0; k < 2; k++)
		ASSERT_EQ(0, t_evd(&p->f, DAT_STREAM_DTO | DAT_STREAM_CONNECTION, 1024,
				   &self->evd[k]));
	for (i = 0; i < CLOSES; i++) {
		for (k = 0; k < 2; k++)
			ASSERT_EQ(0, t_ep(&p->f, p->pz, &self->evd[k],
					  i % 3 == 1 && !k ? self->srq.id : 0, i, &self->ep[i][k]));
		ASSERT_EQ(0, t_connect_eps(p, self->ep[i], self->evd));
	}
	if (trace_start())
		SKIP(return, "no tracefs");
}

FIXTURE_TEARDOWN(teardown)
{
	trace_end();
	t_pair_close(&self->p);
}

/* Close connection @i: with a full receive queue, with an SRQ, or by a message that is too long. */
static int close_busy(FIXTURE_DATA(teardown) *self, int i)
{
	uint64_t addr = (uintptr_t)self->p.mem.va;
	uint32_t lkey = self->p.mem.lkey;
	int ret = 0, n;

	if (i % 3 == 1)
		return t_disconnect(&self->p.f, &self->ep[i][0], 0);
	for (n = 0; n < T_QUEUE && !ret; n++)
		ret = t_recv(&self->ep[i][0].rq, n, addr, lkey, 64);
	if (ret)
		return ret;
	return i % 3 ? t_send(&self->ep[i][1], 0, addr, lkey, 4096) :
		       t_disconnect(&self->p.f, &self->ep[i][0], 0);
}

/*
 * The teardowns of all processes share a bounded number of places.  If a teardown slept for a time
 * in such a place, thousands of connections would delay those of others by many seconds.
 */
TEST_F_TIMEOUT(teardown, that_waits_does_not_sleep_in_its_place, 60)
{
	static const char *const events[] = {
		"workqueue/workqueue_execute_start", "workqueue/workqueue_execute_end",
		"timer/timer_start", "timer/timer_expire_entry",
		"timer/hrtimer_start", "timer/hrtimer_expire_entry",
	};
	unsigned int count[16], i;
	int begun, n;

	for (i = 0; i < sizeof(events) / sizeof(events[0]); i++)
		ASSERT_EQ(0, trace_on(events[i], "0"));
	for (i = 0; i < CLOSES; i++)
		ASSERT_EQ(0, close_busy(self, i));
	for (i = 0; i < 2 * CLOSES; i++)
		ASSERT_NE(0, t_end(&self->evd[i % 2], count));
	trace_put("tracing_on", "0");
	n = slept(&begun);
	trace_put("tracing_on", "1");
	EXPECT_LE(2 * CLOSES, begun);
	/* irq_poll sleeps if a softirq still polls the CQ at the end, which is rare. */
	EXPECT_GE(CLOSES / 2, n);
}

TEST_HARNESS_MAIN
