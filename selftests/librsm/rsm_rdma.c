// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * RSMAPI over an RDMA adapter: what loopback cannot test, between kernels.  rsm_false_exporter and
 * rsm_false_importer have the tests whose peer is a program.
 */
#include "rsm_rdma.h"

#include <fcntl.h>
#include <grp.h>
#include <sys/resource.h>
#include <sys/time.h>

#define N		RSM_MAX_SGIOREQS

/* RSM check: 5 */
TEST_F(rdma, attributes_are_true_and_nothing_can_be_mapped)
{
	rsmapi_controller_attr_t attr;
	struct r_pair *p = &self->p;
	void *va, *again;

	ASSERT_EQ(RSM_SUCCESS, rsm_get_controller_attr(p->ctlr, &attr));
	EXPECT_EQ(0, attr.attr_direct_access_sizes);
	EXPECT_EQ(RSM_DAS8, attr.attr_atomic_sizes);
	EXPECT_EQ(R_PAGE, attr.attr_page_size * 1024);
	EXPECT_EQ(0, attr.attr_max_import_map_size);
	EXPECT_EQ(0, attr.attr_tot_import_map_size);
	EXPECT_LT(R_PAGE, attr.attr_max_export_segment_size);
	EXPECT_LE(attr.attr_max_export_segment_size, attr.attr_tot_export_segment_size);
	EXPECT_LT(0, attr.attr_max_export_segments);
	EXPECT_LT(0, attr.attr_max_import_segments);
	ASSERT_EQ(RSM_SUCCESS, r_export(p));
	ASSERT_EQ(RSM_SUCCESS, r_import(p, RSM_PERM_RDWR));
	EXPECT_EQ(RSMERR_MAP_FAILED, rsm_memseg_import_map(p->imp, &va, 0, 0600, 0, R_PAGE));
	EXPECT_EQ(RSMERR_BAD_LENGTH, rsm_memseg_import_map(p->imp, &va, 0, 0600, 0, 0));
	EXPECT_EQ(RSMERR_SEG_NOT_MAPPED, rsm_memseg_import_unmap(p->imp));
	EXPECT_EQ(RSM_SUCCESS, rsm_get_controller("RDMA0", &again));
	EXPECT_EQ(p->ctlr, again);
	EXPECT_EQ(RSM_SUCCESS, rsm_release_controller(again));
	EXPECT_EQ(RSMERR_CTLR_NOT_PRESENT, rsm_get_controller("rdma17", &again));
	EXPECT_EQ(RSMERR_CTLR_NOT_PRESENT, rsm_get_controller("rdma", &again));
}

struct listed {
	struct r_pair		*p;
	rsmapi_access_entry_t	list[3];
};

/* Connect as another user, who has no supplementary groups. */
static int connect_as_somebody(void *arg)
{
	struct r_pair *exporter = arg, p;

	if (r_open(&p) || setgroups(0, NULL) || setresgid(1002, 1002, 1002) ||
	    setresuid(1001, 1001, 1001))
		return 100;
	return rsm_memseg_import_connect(p.ctlr, p.node, exporter->id, 0600, &p.imp);
}

static int listed(struct r_pair *p, const struct listed *l, unsigned int n)
{
	int ret = rsm_memseg_export_republish(p->exp, (void *)l->list, n);

	return ret ? 101 : r_child(connect_as_somebody, p);
}

/* RSM check: 17 */
TEST_F(rdma, the_first_entry_for_a_node_counts)
{
	rsm_node_id_t us = self->p.node;
	const struct listed others = { .list = { { 5, 0666 }, { 6, 0666 } } };
	const struct listed last = { .list = { { 5, 0 }, { 6, 0 }, { us, 0666 } } };
	const struct listed nothing = { .list = { { us, 0 }, { us, 0666 } } };
	const struct listed first = { .list = { { us, 0666 }, { us, 0 } } };
	const struct listed digit = { .list = { { 5, 0666 }, { us, 0664 } } };

	ASSERT_EQ(RSM_SUCCESS, r_export(&self->p));
	EXPECT_EQ(RSMERR_SEG_NOT_PUBLISHED_TO_NODE, listed(&self->p, &others, 2));
	EXPECT_EQ(RSM_SUCCESS, listed(&self->p, &last, 3));
	EXPECT_EQ(RSMERR_PERM_DENIED, listed(&self->p, &nothing, 2));
	EXPECT_EQ(RSM_SUCCESS, listed(&self->p, &first, 2));
	EXPECT_EQ(RSMERR_PERM_DENIED, listed(&self->p, &digit, 2));
}

static void on_alarm(int sig)
{
	(void)sig;
}

static void alarm_in_ms(unsigned int ms)
{
	struct sigaction sa = { .sa_handler = on_alarm };
	struct itimerval t = { .it_value = { .tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000 } };

	sigaction(SIGALRM, &sa, NULL);
	setitimer(ITIMER_REAL, &t, NULL);
}

/* RSM check: 27 */
TEST_F(rdma, nodes_that_do_not_answer_are_unreachable)
{
	uint64_t start = now_ms();
	struct r_pair *p = &self->p;
	void *imp = p;

	ASSERT_EQ(0, make_nodes());
	EXPECT_EQ(RSMERR_REMOTE_NODE_UNREACHABLE,
		  rsm_memseg_import_connect(p->ctlr, NODE_NONE, R_SEGID, 0600, &imp));
	EXPECT_EQ(NULL, imp);
	EXPECT_EQ(RSMERR_REMOTE_NODE_UNREACHABLE,
		  rsm_memseg_import_connect(p->ctlr, NODE_DEAF, R_SEGID, 0600, &imp));
	EXPECT_EQ(RSMERR_REMOTE_NODE_UNREACHABLE,
		  rsm_memseg_import_connect(p->ctlr, NODE_GONE, R_SEGID, 0600, &imp));
	EXPECT_GT(60000, now_ms() - start);
}

/* RSM check: 27 */
TEST_F(rdma, a_signal_ends_waiting_for_a_silent_node)
{
	struct r_pair *p = &self->p;
	int before = rdma_count_settled("qp");
	void *imp;

	ASSERT_EQ(0, make_nodes());
	/* The peer listens, but does not answer the connection request. */
	ASSERT_EQ(0, peer_listen(&self->peer, FAKE));
	alarm_in_ms(1000);
	EXPECT_EQ(RSMERR_INTERRUPTED,
		  rsm_memseg_import_connect(p->ctlr, NODE_FAKE, R_SEGID, 0600, &imp));
	EXPECT_TRUE(queue_pairs_are(before));
	ASSERT_EQ(RSM_SUCCESS, r_export(p));
	EXPECT_EQ(RSM_SUCCESS, r_import(p, RSM_PERM_RDWR));
}

#define IMPORTS	200	/* imports of import_crowd() */

/* Import the segment IMPORTS times, report success to @ready, and wait to be killed. */
static void import_crowd(struct r_pair *of, int ready)
{
	struct r_pair p;
	void *imp;
	int i;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (r_open(&p))
		_exit(1);
	for (i = 0; i < IMPORTS; i++)
		if (rsm_memseg_import_connect(p.ctlr, p.node, of->id, 0600, &imp))
			_exit(2);
	write(ready, "x", 1);
	pause();
	_exit(3);
}

struct closes {
	unsigned int	count;
	uint64_t	longest_ms;
};

/* Open and close /dev/rsm in a loop, and record the longest close. */
static void open_and_close(volatile struct closes *c)
{
	struct dat_rsm_open o;
	uint64_t start, ms;
	int fd;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		o = (struct dat_rsm_open) { .size = sizeof(o) };
		fd = open("/dev/rsm", O_RDWR | O_CLOEXEC);
		if (fd < 0 || CALL(fd, OPEN, &o))
			_exit(1);
		start = now_ms();
		close(fd);
		ms = now_ms() - start;
		if (ms > c->longest_ms)
			c->longest_ms = ms;
		c->count++;
	}
}

/*
 * A close of /dev/rsm waits for running MMU notifiers of all processes.  The exit of a process that
 * has many imports takes long.  Every close must take less than half as long as that exit.
 */
TEST_F_TIMEOUT(rdma, files_are_closed_while_a_process_with_many_imports_ends, 240)
{
	volatile struct closes *closes;
	struct r_pair *p = &self->p;
	pid_t crowd, other;
	uint64_t start, ms;
	int ready[2];
	char c;

	closes = mmap(NULL, R_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_EQ(RSM_SUCCESS, r_export(p));
	ASSERT_EQ(0, pipe(ready));
	crowd = fork();
	if (!crowd)
		import_crowd(p, ready[1]);
	close(ready[1]);
	ASSERT_EQ(1, read(ready[0], &c, 1));
	other = fork();
	if (!other)
		open_and_close(closes);
	while (closes->count < 2)
		usleep(1000);
	closes->longest_ms = 0;
	start = now_ms();
	kill(crowd, SIGKILL);
	EXPECT_EQ(crowd, waitpid(crowd, NULL, 0));
	ms = now_ms() - start;
	/*
	 * A close that waited for the exit may finish just after the exit: wait for two more
	 * closes.
	 */
	closes->count = 0;
	while (closes->count < 2)
		usleep(1000);
	TH_LOG("ended in %lu ms, longest close %lu ms", ms, closes->longest_ms);
	EXPECT_LT(2 * closes->longest_ms, ms);
	kill(other, SIGKILL);
	waitpid(other, NULL, 0);
	EXPECT_EQ(RSM_SUCCESS, still_works(p));
}

#define IMPORTERS	"/sys/module/dat_rsm/parameters/max_importers"

/* RSM check: 10 */
TEST_F(rdma, a_segment_has_no_more_importers_than_it_may)
{
	struct r_pair *p = &self->p;
	void *imp[3];
	int before;

	ASSERT_EQ(RSM_SUCCESS, r_export(p));
	before = rdma_count_settled("qp");
	ASSERT_EQ(0, system("echo 2 >" IMPORTERS));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_connect(p->ctlr, p->node, p->id, 0600, &imp[0]));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_connect(p->ctlr, p->node, p->id, 0600, &imp[1]));
	EXPECT_EQ(RSMERR_INSUFFICIENT_RESOURCES,
		  rsm_memseg_import_connect(p->ctlr, p->node, p->id, 0600, &imp[2]));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_disconnect(imp[0]));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_disconnect(imp[1]));
	EXPECT_TRUE(queue_pairs_are(before));
	ASSERT_EQ(0, system("echo 256 >" IMPORTERS));
	EXPECT_EQ(RSM_SUCCESS, still_works(p));
}

#define QUEUE_MEMORY	"/sys/module/dat/parameters/queue_memory"

static int import_without_locked_memory(void *exporter)
{
	struct rlimit none = { 0, 0 };

	return setrlimit(RLIMIT_MEMLOCK, &none) ? 101 : connect_as_somebody(exporter);
}

TEST_F(rdma, the_queues_of_an_import_are_charged_to_its_user)
{
	struct r_pair *p = &self->p;
	int refused, privileged;

	umask(0);
	ASSERT_EQ(RSM_SUCCESS, r_export(p));
	ASSERT_EQ(0, system("echo 0 >" QUEUE_MEMORY));
	refused = r_child(import_without_locked_memory, p);
	privileged = still_works(p);
	ASSERT_EQ(0, system("echo 64 >" QUEUE_MEMORY));
	EXPECT_EQ(RSMERR_INSUFFICIENT_MEM, refused);
	EXPECT_EQ(RSM_SUCCESS, privileged);
	EXPECT_EQ(RSM_SUCCESS, r_child(import_without_locked_memory, p));
}

#define USER_SHARE	"/sys/module/dat_rsm/parameters/max_user"
#define SHARE_OF_1	30	/* 1 percent of 3,072 connections */

/* Start a process of user @uid that exports a segment which every user may import. */
static int somebodys_segment(struct r_peer *owner, uid_t uid)
{
	int ret;

	umask(0);
	if (system("chmod 0666 /dev/rsm") || setresuid(uid, uid, 0))
		return -1;
	ret = r_peer_start(owner, NULL);
	return setresuid(0, 0, 0) ?: ret;
}

TEST_F(rdma, the_segments_of_a_user_take_no_more_connections_than_its_share)
{
	static const uid_t uids[] = { 65534, 65533 };
	struct r_pair *p = &self->p;
	struct r_peer owners[2];
	void *imp[SHARE_OF_1], *more;
	int i, before = rdma_count_settled("qp");

	ASSERT_EQ(0, system("echo 1 >" USER_SHARE));
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, somebodys_segment(&owners[i], uids[i]));
	for (i = 0; i < SHARE_OF_1; i++)
		ASSERT_EQ(RSM_SUCCESS, rsm_memseg_import_connect(p->ctlr, p->node, owners[0].id,
								 0600, &imp[i]));
	EXPECT_EQ(RSMERR_INSUFFICIENT_RESOURCES,
		  rsm_memseg_import_connect(p->ctlr, p->node, owners[0].id, 0600, &more));
	/* Another user has its own share. */
	EXPECT_EQ(RSM_SUCCESS,
		  rsm_memseg_import_connect(p->ctlr, p->node, owners[1].id, 0600, &more));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_disconnect(more));
	for (i = 0; i < SHARE_OF_1; i++)
		EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_disconnect(imp[i]));
	EXPECT_TRUE(queue_pairs_are(before));
	/* The disconnects have given the connections back to the share. */
	EXPECT_EQ(RSM_SUCCESS,
		  rsm_memseg_import_connect(p->ctlr, p->node, owners[0].id, 0600, &more));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_disconnect(more));
	for (i = 0; i < 2; i++)
		r_peer_stop(&owners[i], SIGKILL);
	EXPECT_EQ(0, system("echo 25 >" USER_SHARE));
}

/*
 * With iWARP, the exporter can write to the memory into which an import reads.  So each import
 * needs a protection domain of its own.
 */
TEST_F(rdma, each_import_has_a_zone_of_its_own)
{
	struct r_pair *p = &self->p;
	rsmapi_barrier_t barrier;
	int before, n = 0;
	char c = 'x';
	void *imp;

	ASSERT_EQ(RSM_SUCCESS, r_export(p));
	ASSERT_EQ(RSM_SUCCESS, r_import(p, RSM_PERM_RDWR));
	before = rdma_count_settled("pd");
	ASSERT_LT(0, before);
	ASSERT_EQ(RSM_SUCCESS, r_also(p, RSM_PERM_RDWR, &imp, &barrier));
	EXPECT_EQ(before + 1, rdma_count("pd"));
	/* The put creates the ring of the import, in the protection domain of the import. */
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_put(imp, 0, &c, 1));
	EXPECT_EQ(before + 1, rdma_count("pd"));
	EXPECT_EQ('x', p->mem[0]);
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_disconnect(imp));
	while (rdma_count("pd") != before && n++ < R_WAIT_MS / 100)
		usleep(100000);
	EXPECT_EQ(before, rdma_count("pd"));
}

/* --- ends ------------------------------------------------------------------------- */

/* RSM check: 24, 67 */
TEST_F(rdma, who_waits_hears_that_the_exporter_was_killed)
{
	struct r_pair *p = &self->p;
	int before = rdma_count_settled("qp");
	struct r_peer exporter;
	char c;

	ASSERT_EQ(0, r_peer_start(&exporter, NULL));
	p->id = exporter.id;
	ASSERT_EQ(RSM_SUCCESS, r_import(p, RSM_PERM_RDWR));
	kill(exporter.pid, SIGKILL);
	EXPECT_EQ(RSMERR_CONN_ABORTED, rsm_intr_signal_wait(p->imp, R_WAIT_MS));
	EXPECT_EQ(RSMERR_CONN_ABORTED, rsm_memseg_import_get(p->imp, 0, &c, 1));
	EXPECT_EQ(RSMERR_CONN_ABORTED, rsm_intr_signal_post(p->imp, 0));
	r_peer_stop(&exporter, 0);
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_disconnect(p->imp));
	EXPECT_TRUE(queue_pairs_are(before));
}

static int import_and_sleep(struct r_pair *exporter, int ready)
{
	struct r_pair p;

	if (r_open(&p))
		return 1;
	p.id = exporter->id;
	if (r_import(&p, RSM_PERM_RDWR) || rsm_memseg_import_put(p.imp, 0, "i", 1))
		return 2;
	write(ready, "r", 1);
	for (;;)
		pause();
}

/* RSM check: 52 */
TEST_F(rdma, an_importer_that_is_killed_leaves_nothing)
{
	struct r_pair *p = &self->p;
	int i, ready[2], before;
	pid_t pid[4];
	char c;

	ASSERT_EQ(RSM_SUCCESS, r_export(p));
	before = rdma_count_settled("qp");
	ASSERT_EQ(0, pipe(ready));
	for (i = 0; i < 4; i++) {
		pid[i] = fork();
		if (!pid[i])
			_exit(import_and_sleep(p, ready[1]));
	}
	for (i = 0; i < 4; i++)
		ASSERT_EQ(1, read(ready[0], &c, 1));
	EXPECT_LE(before + 8, rdma_count("qp"));
	for (i = 0; i < 4; i++)
		kill(pid[i], SIGKILL);
	for (i = 0; i < 4; i++)
		waitpid(pid[i], NULL, 0);
	EXPECT_TRUE(queue_pairs_are(before));
	EXPECT_EQ(RSM_SUCCESS, rsm_intr_signal_post(p->exp, 0));
	EXPECT_EQ(RSM_SUCCESS, still_works(p));
}

#define LONG_ENTRY	(1UL << 20)
/*
 * Avoid a multiple of 256 pages, because rxe of Linux 6.1 would then read one entry beyond its page
 * table.
 */
#define LONG_LIST	(N * LONG_ENTRY + R_PAGE)

/*
 * Returns the index of the first entry that was not carried out completely, or N.  Entry k is
 * filled with the byte k + 1.
 */
static int first_not_put(const char *mem)
{
	int k;

	for (k = 0; k < N; k++)
		if (!r_all(mem + (size_t)k * LONG_ENTRY, (char)(k + 1), LONG_ENTRY))
			break;
	return k;
}

/* RSM check: 53 */
TEST_F(rdma, a_signal_ends_a_vector_that_takes_long)
{
	char *mem = r_mem(LONG_LIST), *buf = r_mem(LONG_LIST), c = 'c';
	char *then = r_mem(LONG_LIST);
	rsm_scat_gath_t sg = { .io_request_count = N };
	struct r_pair *p = &self->p;
	int k, ret = 0, ms, done;
	rsm_iovec_t v[N];

	ASSERT_EQ(RSM_SUCCESS,
		  rsm_memseg_export_create(p->ctlr, &p->exp, mem, LONG_LIST, 0));
	ASSERT_EQ(RSM_SUCCESS, rsm_memseg_export_publish(p->exp, &p->id, NULL, 0));
	ASSERT_EQ(RSM_SUCCESS, r_import(p, RSM_PERM_RDWR));
	for (k = 0; k < N; k++) {
		memset(buf + (size_t)k * LONG_ENTRY, k + 1, LONG_ENTRY);
		v[k] = (rsm_iovec_t) {
			.io_type = RSM_VA_TYPE, .local.vaddr = buf,
			.local_offset = (size_t)k * LONG_ENTRY,
			.remote_offset = (size_t)k * LONG_ENTRY, .transfer_length = LONG_ENTRY,
		};
	}
	sg.remote_handle = p->imp;
	sg.iovec = v;
	/* Run the vector once without a signal, so that the driver already knows the memory. */
	ASSERT_EQ(RSM_SUCCESS, rsm_memseg_import_putv(&sg));
	for (ms = 5; ms < 500 && !ret; ms += 5) {
		memset(mem, 0, N * LONG_ENTRY);
		alarm_in_ms((unsigned int)ms);
		ret = rsm_memseg_import_putv(&sg);
		/* The vector may have finished before the signal, so cancel the timer. */
		alarm_in_ms(0);
	}
	EXPECT_EQ(RSMERR_INTERRUPTED, ret) TH_LOG("%d ms", ms);
	EXPECT_LT(0, sg.io_residual_count);
	done = N - (int)sg.io_residual_count;
	EXPECT_LE(done, first_not_put(mem));
	/* No byte may arrive after the interrupted call has returned. */
	memcpy(then, mem, N * LONG_ENTRY);
	usleep(R_LATE_MS * 1000);
	EXPECT_EQ(0, memcmp(then, mem, N * LONG_ENTRY));
	/* The import must still work or be cut; it must not hang. */
	ret = rsm_memseg_import_put(p->imp, 0, &c, 1);
	EXPECT_TRUE(ret == RSM_SUCCESS || ret == RSMERR_CONN_ABORTED) TH_LOG("%d", ret);
	if (!ret)
		EXPECT_EQ('c', mem[0]);
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_disconnect(p->imp));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_export_destroy(p->exp));
	munmap(then, LONG_LIST);
	munmap(buf, LONG_LIST);
	munmap(mem, LONG_LIST);
}

struct load {
	struct r_pair	*p;
	int		ret;
};

static void *put_until_cut(void *arg)
{
	static char buf[65536];
	rsm_iovec_t v = { .io_type = RSM_VA_TYPE, .local.vaddr = buf, .transfer_length = R_SIZE };
	struct load *l = arg;
	rsm_scat_gath_t sg = {
		.io_request_count = 1, .remote_handle = l->p->imp, .iovec = &v,
	};

	while (!l->ret)
		l->ret = rsm_memseg_import_putv(&sg);
	return NULL;
}

/* RSM check: 7 */
TEST_F(rdma, the_topology_tells_who_answers)
{
	const rsm_node_id_t nodes[] = { self->p.node, NODE_DEAF, NODE_GONE, NODE_NONE };
	int states[4];

	ASSERT_EQ(0, make_nodes());
	ASSERT_EQ(0, link_states(nodes, states, 4));
	EXPECT_EQ(RSM_CONNECTION_ACTIVE, states[0]);
	/*
	 * A kernel listens only while RSM is in use on its machine.  So a host that rejects the
	 * request also counts as active.
	 */
	EXPECT_EQ(RSM_CONNECTION_ACTIVE, states[1]);
	EXPECT_NE(RSM_CONNECTION_ACTIVE, states[2]);
	EXPECT_EQ(0, states[3]);
}

/* RSM check: 7 */
TEST_F(rdma, an_adapter_goes_and_comes_back)
{
	struct r_pair *p = &self->p, q;
	struct load l = { .p = p };
	rsmapi_controller_attr_t attr;
	pthread_t t;
	char c = 0;

	ASSERT_EQ(RSM_SUCCESS, r_export(p));
	ASSERT_EQ(RSM_SUCCESS, r_import(p, RSM_PERM_RDWR));
	ASSERT_EQ(0, pthread_create(&t, NULL, put_until_cut, &l));
	usleep(100000);
	peer_close(&self->peer);
	ASSERT_EQ(0, adapter_plug("rxe", 0));
	pthread_join(t, NULL);
	EXPECT_EQ(RSMERR_CONN_ABORTED, l.ret);
	EXPECT_EQ(RSMERR_CONN_ABORTED, rsm_memseg_import_get(p->imp, 0, &c, 1));
	EXPECT_EQ(RSMERR_CONN_ABORTED, rsm_intr_signal_wait(p->imp, R_WAIT_MS));
	EXPECT_EQ(RSMERR_CTLR_NOT_PRESENT,
		  rsm_memseg_import_connect(p->ctlr, p->node, p->id, 0600, &q.imp));
	EXPECT_EQ(RSMERR_CTLR_NOT_PRESENT,
		  rsm_memseg_export_create(p->ctlr, &q.exp, p->mem, R_SIZE, 0));
	/* Objects on the removed adapter can be freed, but not used. */
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_disconnect(p->imp));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_export_unpublish(p->exp));
	EXPECT_NE(RSM_CONNECTION_ACTIVE, link_state(p->node));

	ASSERT_EQ(0, adapter_plug("rxe", 1));
	ASSERT_EQ(0, peer_open(&self->peer));
	ASSERT_EQ(0, r_nodes(NULL, 0, -1));
	EXPECT_EQ(RSM_SUCCESS, rsm_get_controller_attr(p->ctlr, &attr));
	ASSERT_EQ(RSM_SUCCESS, r_pair(&q));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_put(q.imp, 0, "b", 1));
	EXPECT_EQ('b', q.mem[0]);
	EXPECT_EQ(RSM_CONNECTION_ACTIVE, link_state(p->node));
	r_close(&q);
}

TEST_HARNESS_MAIN
