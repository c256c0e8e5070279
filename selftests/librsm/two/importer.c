// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * Program on the importing machine; see two.h.  The tests must run in this order, because the last
 * test ends the exporter.
 */
#include "rsm_test.h"

#include <pthread.h>

#include "rsm_node.h"
#include "two.h"

#define N		RSM_MAX_SGIOREQS
#define LOST_MS		60000	/* an unresponsive peer is cut within this time */
#define BACK_MS		60000	/* another exporter is started within this time */

/*
 * Import of the data segment (@p), import of the control segment (@control, @barrier), and number
 * of the last command (@seq).
 */
FIXTURE(two) {
	struct r_pair			p;
	rsm_memseg_import_handle_t	control;
	rsmapi_barrier_t		barrier;
	uint64_t			seq;
};

#define SELF struct _test_data_two *self

/* Connect to the segment @id, and retry until the exporter has published it or BACK_MS are over. */
static int connect_soon(struct r_pair *p, rsm_memseg_id_t id, void **imp)
{
	uint64_t end = now_ms() + BACK_MS;
	int ret;

	do {
		ret = rsm_memseg_import_connect(p->ctlr, TWO_EXPORTER, id, 0600, imp);
		if (ret != RSMERR_SEG_NOT_PUBLISHED && ret != RSMERR_REMOTE_NODE_UNREACHABLE)
			break;
		usleep(100000);
	} while (now_ms() < end);
	return ret;
}

static int two_open(SELF)
{
	struct r_pair *p = &self->p;
	int ret = connect_soon(p, TWO_CONTROL, &self->control);

	if (!ret)
		ret = rsm_memseg_import_init_barrier(self->control, RSM_BAR_DEFAULT,
						     &self->barrier);
	if (!ret)
		ret = rsm_memseg_import_get64(self->control, 0, &self->seq, 1);
	if (!ret)
		ret = rsm_memseg_import_connect(p->ctlr, TWO_EXPORTER, TWO_DATA, 0600, &p->imp);
	return ret ? ret : rsm_memseg_import_init_barrier(p->imp, RSM_BAR_DEFAULT, &p->barrier);
}

static void two_close(SELF)
{
	rsm_memseg_import_disconnect(self->p.imp);
	rsm_memseg_import_disconnect(self->control);
}

FIXTURE_SETUP(two)
{
	const struct dat_rsm_node other = r_node_at(TWO_EXPORTER, TWO_ADDR_1);

	memset(self, 0, sizeof(*self));
	ASSERT_EQ(0, r_nodes(&other, 1, TWO_IMPORTER));
	ASSERT_EQ(RSM_SUCCESS, rsm_get_controller(r_ctlr(), &self->p.ctlr));
	ASSERT_EQ(RSM_SUCCESS, two_open(self));
}

FIXTURE_TEARDOWN(two)
{
	two_close(self);
}

/* Send a command to the exporter, without waiting for its result. */
static int order(SELF, enum two_op op, uint64_t arg)
{
	uint64_t cmd[] = { ++self->seq, op, arg };
	int ret = rsm_memseg_import_put64(self->control, 0, cmd, 3);

	return ret ? ret : rsm_intr_signal_post(self->control, 0);
}

/* Wait until the last command is done.  Returns its result, or ~1 on timeout. */
static uint64_t done(SELF)
{
	uint64_t answer[2] = {}, end = now_ms() + 2 * R_WAIT_MS;

	while (!rsm_memseg_import_get64(self->control, offsetof(struct two_control, done), answer,
					2)) {
		if (answer[0] == self->seq)
			return answer[1];
		if (now_ms() > end)
			break;
		usleep(1000);
	}
	return ~1ULL;
}

static uint64_t tell(SELF, enum two_op op, uint64_t arg)
{
	return order(self, op, arg) ? ~1ULL : done(self);
}

/* Returns the state of the connection to the exporter's node, 0 if there is none, or -1. */
static int link_state(void)
{
	rsm_topology_t *t;
	rsm_connections_t *c;
	unsigned int i;
	int k, state = 0;

	if (rsm_get_interconnect_topology(&t))
		return -1;
	for (i = 0; i < t->topology_hdr.local_cntlr_count; i++) {
		c = t->connections[i];
		for (k = 0; k < c->hdr.remote_cntlr_count; k++)
			if (c->remote_cntlr[k].remote_nodeid == TWO_EXPORTER)
				state = (int)c->remote_cntlr[k].connection_state;
	}
	rsm_free_interconnect_topology(t);
	return state;
}

/* RSM check: 7 */
TEST_F(two, the_peer_is_in_the_topology)
{
	rsm_node_id_t us;

	ASSERT_EQ(RSM_SUCCESS, r_node(&us));
	EXPECT_EQ(TWO_IMPORTER, us);
	EXPECT_EQ(RSM_CONNECTION_ACTIVE, link_state());
}

/* RSM check: 17, 27 */
TEST_F(two, lists_tell_nodes_apart)
{
	void *imp;

	EXPECT_EQ(RSMERR_SEG_NOT_PUBLISHED_TO_NODE,
		  rsm_memseg_import_connect(self->p.ctlr, TWO_EXPORTER, TWO_PRIVATE, 0600, &imp));
	EXPECT_EQ(RSMERR_SEG_NOT_PUBLISHED,
		  rsm_memseg_import_connect(self->p.ctlr, TWO_EXPORTER, 0x7123456, 0600, &imp));
	/* The local node has not published the segments of the exporter. */
	EXPECT_EQ(RSMERR_SEG_NOT_PUBLISHED,
		  rsm_memseg_import_connect(self->p.ctlr, TWO_IMPORTER, TWO_DATA, 0600, &imp));
}

/* RSM check: 36, 40 */
TEST_F(two, transfers_of_all_sizes_arrive)
{
	static const size_t sizes[] = {
		1, 63, 64, 65, 4095, 4096, 4097, 65536, TWO_SIZE - 1, TWO_SIZE,
	};
	char *out = r_mem(TWO_SIZE), *in = r_mem(TWO_SIZE);
	uint64_t sum = 0, x = 0x0102030405060708, y;
	void *imp = self->p.imp;
	unsigned int i;
	size_t k;

	for (k = 0; k < TWO_SIZE; k++)
		out[k] = (char)(k * 13 + k / 256);
	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		ASSERT_EQ(0, tell(self, TWO_FILL, 0));
		for (sum = 0, k = 0; k < sizes[i]; k++)
			sum += (unsigned char)out[k];
		ASSERT_EQ(RSM_SUCCESS, rsm_memseg_import_put(imp, 0, out, sizes[i]));
		EXPECT_EQ(sum, tell(self, TWO_SUM, 0));
		memset(in, 0, TWO_SIZE);
		ASSERT_EQ(RSM_SUCCESS, rsm_memseg_import_get(imp, 0, in, sizes[i]));
		EXPECT_EQ(0, memcmp(out, in, sizes[i]));
	}
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_put64(imp, TWO_SIZE - 8, &x, 1));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_get64(imp, TWO_SIZE - 8, &y, 1));
	EXPECT_EQ(x, y);
}

static void vector(rsm_scat_gath_t *sg, rsm_iovec_t *v, void *imp, char *buf, size_t len)
{
	size_t k;

	for (k = 0; k < N; k++)
		v[k] = (rsm_iovec_t) {
			.io_type = RSM_VA_TYPE, .local.vaddr = buf, .local_offset = k * len,
			.remote_offset = k * len, .transfer_length = len,
		};
	*sg = (rsm_scat_gath_t) { .io_request_count = N, .remote_handle = imp, .iovec = v };
}

/* RSM check: 47, 50 */
TEST_F(two, vectors_signal_when_all_of_them_is_there)
{
	char *buf = r_mem(TWO_SIZE);
	rsm_scat_gath_t sg;
	rsm_iovec_t v[N];

	vector(&sg, v, self->p.imp, buf, TWO_SIZE / N);
	sg.flags = RSM_IMPLICIT_SIGPOST;
	ASSERT_EQ(0, tell(self, TWO_FILL, 0));
	tell(self, TWO_EVENTS, 0);
	memset(buf, 2, TWO_SIZE);
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_putv(&sg));
	EXPECT_EQ(0, sg.io_residual_count);
	EXPECT_EQ(1, tell(self, TWO_EVENTS, 0));
	EXPECT_EQ(2 * TWO_SIZE, tell(self, TWO_SUM, 0));
	ASSERT_EQ(0, tell(self, TWO_FILL, 'g'));
	sg.flags = 0;
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_getv(&sg));
	EXPECT_TRUE(r_all(buf, 'g', TWO_SIZE));
	v[9].remote_offset = TWO_SIZE + 1;
	sg.flags = RSM_IMPLICIT_SIGPOST;
	memset(buf, 1, TWO_SIZE);
	EXPECT_EQ(RSMERR_BAD_OFFSET, rsm_memseg_import_putv(&sg));
	EXPECT_EQ(N - 9, sg.io_residual_count);
	EXPECT_EQ(0, tell(self, TWO_EVENTS, 0));
	EXPECT_EQ(9 * TWO_SIZE / N + (N - 9) * TWO_SIZE / N * 'g', tell(self, TWO_SUM, 0));
}

/* RSM check: 62, 64 */
TEST_F(two, signals_are_counted_on_both_sides)
{
	void *other;
	int i;

	tell(self, TWO_EVENTS, 0);
	for (i = 0; i < 50; i++)
		ASSERT_EQ(RSM_SUCCESS, rsm_intr_signal_post(self->p.imp, 0));
	EXPECT_EQ(50, tell(self, TWO_EVENTS, 0));
	ASSERT_EQ(RSM_SUCCESS, rsm_memseg_import_connect(self->p.ctlr, TWO_EXPORTER, TWO_DATA,
							 RSM_PERM_NONE, &other));
	EXPECT_EQ(0, tell(self, TWO_POST, 50));
	for (i = 0; i < 50; i++) {
		EXPECT_EQ(RSM_SUCCESS, rsm_intr_signal_wait(self->p.imp, R_WAIT_MS));
		EXPECT_EQ(RSM_SUCCESS, rsm_intr_signal_wait(other, R_WAIT_MS));
	}
	EXPECT_EQ(RSMERR_TIMEOUT, rsm_intr_signal_wait(self->p.imp, R_QUIET_MS));
	EXPECT_EQ(RSMERR_TIMEOUT, rsm_intr_signal_wait(other, R_QUIET_MS));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_disconnect(other));
}

/* RSM check: 59 */
TEST_F_TIMEOUT(two, who_sees_the_flag_sees_the_data, 300)
{
	struct r_pair *p = &self->p;
	uint64_t i, early, last = 1000;

	ASSERT_EQ(0, tell(self, TWO_FILL, 0));
	/* This call returns when the exporter has begun to watch. */
	ASSERT_EQ(TWO_WATCHING, tell(self, TWO_WATCH, last));
	rsm_memseg_import_set_mode(p->imp, RSM_BARRIER_MODE_EXPLICIT);
	for (i = 1; i <= last; i++) {
		ASSERT_EQ(RSM_SUCCESS, rsm_memseg_import_open_barrier(&p->barrier));
		ASSERT_EQ(RSM_SUCCESS,
			  rsm_memseg_import_put64(p->imp, (off_t)(TWO_SLOTS + i % TWO_NR_SLOTS * 8),
						  &i, 1));
		ASSERT_EQ(RSM_SUCCESS, rsm_memseg_import_order_barrier(&p->barrier));
		ASSERT_EQ(RSM_SUCCESS, rsm_memseg_import_put64(p->imp, TWO_FLAG, &i, 1));
		ASSERT_EQ(RSM_SUCCESS, rsm_memseg_import_close_barrier(&p->barrier));
	}
	while ((early = done(self)) == TWO_WATCHING)
		usleep(1000);
	EXPECT_EQ(0, early);
}

struct load {
	void		*imp;
	int		stop;
	int		ret;
	unsigned long	rounds;
	unsigned int	residual;
};

static void *load(void *arg)
{
	static char buf[TWO_SIZE];
	struct load *l = arg;
	rsm_scat_gath_t sg;
	rsm_iovec_t v[N];

	vector(&sg, v, l->imp, buf, TWO_SIZE / N);
	while (!l->ret && !__atomic_load_n(&l->stop, __ATOMIC_ACQUIRE)) {
		l->ret = rsm_memseg_import_putv(&sg);
		l->residual = sg.io_residual_count;
		__atomic_add_fetch(&l->rounds, 1, __ATOMIC_RELEASE);
	}
	return NULL;
}

/* Start the thread load(), and wait until its first vector is complete. */
static int load_start(struct load *l, pthread_t *t)
{
	uint64_t end = now_ms() + R_WAIT_MS;

	if (pthread_create(t, NULL, load, l))
		return -1;
	while (!__atomic_load_n(&l->rounds, __ATOMIC_ACQUIRE) && now_ms() < end)
		usleep(1000);
	return 0;
}

/* RSM check: 20, 21 */
TEST_F(two, rebinds_are_not_noticed_under_load)
{
	struct load l = { .imp = self->p.imp };
	char buf[64];
	pthread_t t;
	int i;

	ASSERT_EQ(0, load_start(&l, &t));
	for (i = 0; i < 20; i++)
		ASSERT_EQ(RSM_SUCCESS, tell(self, TWO_REBIND, 'a' + i));
	__atomic_store_n(&l.stop, 1, __ATOMIC_RELEASE);
	pthread_join(t, NULL);
	EXPECT_EQ(RSM_SUCCESS, l.ret);
	EXPECT_EQ(RSM_SUCCESS, tell(self, TWO_REBIND, 'z'));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_get(self->p.imp, 0, buf, sizeof(buf)));
	EXPECT_TRUE(r_all(buf, 'z', sizeof(buf)));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_put(self->p.imp, 0, "y", 1));
	EXPECT_EQ(TWO_SIZE * 'z' - 1, tell(self, TWO_SUM, 0));
}

/* RSM check: 22, 67 */
TEST_F(two, unpublish_cuts)
{
	char c;

	ASSERT_EQ(RSM_SUCCESS, tell(self, TWO_UNPUBLISH, 0));
	EXPECT_EQ(RSMERR_CONN_ABORTED, rsm_memseg_import_get(self->p.imp, 0, &c, 1));
	EXPECT_EQ(RSMERR_CONN_ABORTED, rsm_intr_signal_post(self->p.imp, 0));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_disconnect(self->p.imp));
	EXPECT_EQ(RSMERR_SEG_NOT_PUBLISHED,
		  rsm_memseg_import_connect(self->p.ctlr, TWO_EXPORTER, TWO_DATA, 0600,
					    &self->p.imp));
	ASSERT_EQ(RSM_SUCCESS, tell(self, TWO_PUBLISH, 0));
	EXPECT_EQ(RSM_SUCCESS,
		  rsm_memseg_import_connect(self->p.ctlr, TWO_EXPORTER, TWO_DATA, 0600,
					    &self->p.imp));
}

/* RSM check: 24, 52 */
TEST_F(two, an_exporter_that_is_killed_during_putv_is_an_abort)
{
	struct load l = { .imp = self->p.imp };
	uint64_t start;
	pthread_t t;

	ASSERT_EQ(0, load_start(&l, &t));
	start = now_ms();
	ASSERT_EQ(RSM_SUCCESS, order(self, TWO_KILL, 0));
	pthread_join(t, NULL);
	EXPECT_EQ(RSMERR_CONN_ABORTED, l.ret);
	EXPECT_LT(0, l.residual);
	EXPECT_GT(R_WAIT_MS, now_ms() - start);
	EXPECT_EQ(RSMERR_CONN_ABORTED, rsm_intr_signal_wait(self->control, R_WAIT_MS));
	/* The test connects to the new exporter, which is started after the kill. */
	two_close(self);
	ASSERT_EQ(RSM_SUCCESS, two_open(self));
	EXPECT_EQ(0, tell(self, TWO_FILL, 1));
}

/*
 * The peer was lost at the time @start.  Returns 1 if the idle import @imp is cut within LOST_MS.
 */
static int cut_in_time(void *imp, uint64_t start)
{
	int ret = rsm_intr_signal_wait(imp, LOST_MS);

	fprintf(stderr, "# cut after %llu ms\n", (unsigned long long)(now_ms() - start));
	return ret == RSMERR_CONN_ABORTED;
}

/*
 * LOSE gives a wrong MAC address to all packets to the exporter, so that they get lost.  FIND
 * restores the address.  The test does not take eth0 down: after a failed transmission, queue pair
 * 1 of soft RoCE never receives again.
 */
#define NEIGH	TWO_ADDR_1 " dev eth0"
#define LOSE	"ip neigh replace " NEIGH " lladdr 52:54:00:00:09:99 nud permanent"
#define FIND	"ip neigh del " NEIGH

/* RSM check: 7, 67 */
TEST_F_TIMEOUT(two, a_peer_that_is_lost_is_noticed_by_who_does_nothing, 300)
{
	uint64_t start = now_ms();

	ASSERT_EQ(0, system(LOSE));
	EXPECT_TRUE(cut_in_time(self->p.imp, start));
	EXPECT_NE(RSM_CONNECTION_ACTIVE, link_state());
	EXPECT_EQ(RSMERR_CONN_ABORTED, rsm_memseg_import_put(self->p.imp, 0, "x", 1));
	ASSERT_EQ(0, system(FIND));
	two_close(self);
	ASSERT_EQ(RSM_SUCCESS, two_open(self));
	EXPECT_EQ(RSM_CONNECTION_ACTIVE, link_state());
	EXPECT_EQ(0, tell(self, TWO_FILL, 1));
}

/* RSM check: 27, 52, 60, 67 */
TEST_F_TIMEOUT(two, a_machine_that_is_gone_is_noticed, 300)
{
	struct r_pair *p = &self->p;
	uint64_t start;
	void *idle;

	ASSERT_EQ(RSM_SUCCESS,
		  rsm_memseg_import_connect(p->ctlr, TWO_EXPORTER, TWO_DATA, 0600, &idle));
	start = now_ms();
	ASSERT_EQ(RSM_SUCCESS, order(self, TWO_POWER_OFF, 0));
	usleep(R_QUIET_MS * 1000);
	rsm_memseg_import_set_mode(p->imp, RSM_BARRIER_MODE_EXPLICIT);
	ASSERT_EQ(RSM_SUCCESS, rsm_memseg_import_open_barrier(&p->barrier));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_put(p->imp, 0, "x", 1));
	EXPECT_EQ(RSMERR_CONN_ABORTED, rsm_memseg_import_close_barrier(&p->barrier));
	EXPECT_TRUE(cut_in_time(idle, start));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_disconnect(idle));
	EXPECT_NE(RSM_CONNECTION_ACTIVE, link_state());
	EXPECT_EQ(RSMERR_REMOTE_NODE_UNREACHABLE,
		  rsm_memseg_import_connect(p->ctlr, TWO_EXPORTER, TWO_DATA, 0600, &idle));
}

TEST_HARNESS_MAIN
