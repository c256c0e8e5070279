// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * RSM controllers that are RDMA adapters: their names, attributes, and the nodes that they reach.
 * Needs an adapter, but no peer.
 */
#include "rsm_test.h"
#include "rsm_node.h"
#include "slow.h"

#define SECOND	"rsm_rxe1"	/* name of an adapter that the tests create */

/* Returns the number of the controller whose adapter is @device, or 0. */
static uint32_t ctlr_of(int fd, const char *device)
{
	struct dat_rsm_ctlr arg = { .size = sizeof(arg), .ctlr = 1 };

	for (; arg.ctlr < 64; arg.ctlr++)
		if (!CALL(fd, CTLR, &arg) && !strcmp((char *)arg.device, device))
			return arg.ctlr;
	return 0;
}

FIXTURE(adapters) {
	int		fd;
	int		dat;
	uint32_t	first;
};

FIXTURE_SETUP(adapters)
{
	struct dat_adapter a = { .size = sizeof(a) };

	self->fd = device_open();
	ASSERT_LE(0, self->fd);
	self->dat = open("/dev/dat", O_RDWR | O_CLOEXEC);
	ASSERT_LE(0, self->dat);
	if (ioctl(self->dat, DAT_IOC_ADAPTER, &a))
		SKIP(return, "there is no adapter");
	self->first = ctlr_of(self->fd, (char *)a.name);
	ASSERT_NE(0, self->first);
}

FIXTURE_TEARDOWN(adapters)
{
	close(self->dat);
	close(self->fd);
}

/*
 * Returns whether RSM uses the adapter.  It has a loopback of its own, so it uses lo0 only if the
 * parameter "local" says so, for tests.
 */
static int is_used(const char *adapter)
{
	char local[8] = "";
	FILE *f;

	if (strcmp(adapter, "lo0"))
		return 1;
	f = fopen("/sys/module/dat_rsm/parameters/local", "r");
	if (f) {
		fgets(local, sizeof(local), f);
		fclose(f);
	}
	return local[0] == 'Y';
}

TEST_F(adapters, each_adapter_is_a_controller)
{
	struct dat_adapter a = { .size = sizeof(a) };
	struct dat_rsm_ctlr arg = { .size = sizeof(arg) };
	char name[DAT_RSM_CTLR_NAME];

	while (!ioctl(self->dat, DAT_IOC_ADAPTER, &a)) {
		arg.ctlr = ctlr_of(self->fd, (char *)a.name);
		ASSERT_EQ(is_used((char *)a.name), arg.ctlr != 0);
		if (!arg.ctlr)
			continue;
		ASSERT_EQ(0, CALL(self->fd, CTLR, &arg));
		snprintf(name, sizeof(name), "rdma%u", arg.ctlr - 1);
		EXPECT_STREQ(name, arg.name);
	}
	arg.ctlr = DAT_RSM_LOOPBACK;
	ASSERT_EQ(0, CALL(self->fd, CTLR, &arg));
	EXPECT_STREQ("", (char *)arg.device);
	arg.ctlr = 64;
	EXPECT_EQ(DAT_RSM_CTLR_NOT_PRESENT, CALL(self->fd, CTLR, &arg));
	arg.ctlr = UINT32_MAX;
	EXPECT_EQ(DAT_RSM_CTLR_NOT_PRESENT, CALL(self->fd, CTLR, &arg));
}

/* RSM check: 5 */
TEST_F(adapters, attributes_of_an_adapter_are_true)
{
	rsmapi_controller_attr_t attr;
	rsmapi_controller_handle_t c;
	char name[32];

	snprintf(name, sizeof(name), "rdma%u", self->first - 1);
	ASSERT_EQ(RSM_SUCCESS, rsm_get_controller(name, &c));
	ASSERT_EQ(RSM_SUCCESS, rsm_get_controller_attr(c, &attr));
	EXPECT_EQ(0, attr.attr_direct_access_sizes);
	EXPECT_EQ(RSM_DAS8, attr.attr_atomic_sizes);
	EXPECT_EQ(R_PAGE, attr.attr_page_size * 1024);
	EXPECT_LT(R_PAGE, attr.attr_max_export_segment_size);
	EXPECT_LE(attr.attr_max_export_segment_size, attr.attr_tot_export_segment_size);
	EXPECT_LT(0, attr.attr_max_export_segments);
	EXPECT_LT(0, attr.attr_max_import_segments);
	EXPECT_EQ(0, attr.attr_max_import_map_size);
	EXPECT_EQ(0, attr.attr_tot_import_map_size);
	EXPECT_EQ(RSM_SUCCESS, rsm_release_controller(c));
}

/* RSM check: 1 */
TEST_F(adapters, all_names_of_an_adapter_give_the_same_handle)
{
	static const char *const forms[] = { "rdma%u", "RDMA%u", "Rdma%u", "rdma00%u" };
	rsmapi_controller_handle_t loopback, first = NULL, c;
	char name[32];
	unsigned int i;

	ASSERT_EQ(RSM_SUCCESS, rsm_get_controller(NULL, &loopback));
	for (i = 0; i < 4; i++) {
		snprintf(name, sizeof(name), forms[i], self->first - 1);
		ASSERT_EQ(RSM_SUCCESS, rsm_get_controller(name, &c));
		if (!i)
			first = c;
		EXPECT_EQ(first, c);
	}
	EXPECT_NE(loopback, first);
	for (i = 0; i < 4; i++)
		EXPECT_EQ(RSM_SUCCESS, rsm_release_controller(first));
	EXPECT_EQ(RSMERR_BAD_CTLR_HNDL, rsm_release_controller(first));
	EXPECT_EQ(RSM_SUCCESS, rsm_release_controller(loopback));
}

/* RSM check: 2 */
TEST_F(adapters, names_of_no_adapter_are_refused)
{
	static char *const names[] = {
		"rdma", "rdma0x", "rdma-0", "rdma 0", "rdma63", "rdma4294967295", "rdma4294967296",
		"rdma18446744073709551616", "xrdma0",
	};
	rsmapi_controller_handle_t c;
	unsigned int i;

	for (i = 0; i < 9; i++)
		EXPECT_EQ(RSMERR_CTLR_NOT_PRESENT, rsm_get_controller(names[i], &c));
}

/* Read all links of the topology into a static array.  Returns their number, or -1. */
static int links_get(int fd, struct dat_rsm_link **links)
{
	static struct dat_rsm_link all[64 * 66];
	struct dat_rsm_topology arg = {
		.size = sizeof(arg), .count = 64 * 66, .list = (uintptr_t)all,
		.entry_size = sizeof(all[0]),
	};

	*links = all;
	return CALL(fd, TOPOLOGY, &arg) ? -1 : (int)arg.count;
}

TEST_F(adapters, a_controller_leads_to_the_own_node)
{
	struct dat_rsm_topology arg = { .size = sizeof(arg) };
	struct dat_rsm_link *links;
	int n, i, seen = 0;

	n = links_get(self->fd, &links);
	ASSERT_LE(2, n);
	ASSERT_EQ(0, CALL(self->fd, TOPOLOGY, &arg));
	EXPECT_EQ(n, arg.count);
	for (i = 0; i < n; i++) {
		if (!(links[i].flags & DAT_RSM_LINK_LOCAL))
			continue;
		ASSERT_LT(i + 1, n);
		EXPECT_EQ(arg.node, links[i].node);
		EXPECT_EQ(links[i].ctlr, links[i + 1].ctlr);
		EXPECT_EQ(links[i].node, links[i + 1].node);
		EXPECT_EQ(links[i].state, links[i + 1].state);
		EXPECT_EQ(links[i].hwaddr, links[i + 1].hwaddr);
		EXPECT_EQ(0, links[i + 1].flags);
		if (links[i].ctlr != self->first)
			continue;
		EXPECT_EQ(DAT_RSM_LINK_ACTIVE, links[i].state);
		EXPECT_NE(0, links[i].hwaddr);
		seen++;
	}
	EXPECT_EQ(1, seen);
}

TEST_F(adapters, a_list_that_does_not_fit_is_not_begun)
{
	struct dat_rsm_link link = { .ctlr = 77 };
	struct dat_rsm_topology arg = {
		.size = sizeof(arg), .count = 1, .list = (uintptr_t)&link,
		.entry_size = sizeof(link),
	};

	EXPECT_EQ(0, CALL(self->fd, TOPOLOGY, &arg));
	EXPECT_LE(2, arg.count);
	EXPECT_EQ(77, link.ctlr);
	arg.list = 8;
	EXPECT_EQ(DAT_RSM_BAD_ADDR, CALL(self->fd, TOPOLOGY, &arg));
}

TEST_F(adapters, links_are_as_far_apart_as_the_caller_says)
{
	struct {
		struct dat_rsm_link	link;
		uint64_t		more;
	} wide[64 * 2];
	struct dat_rsm_topology arg = {
		.size = sizeof(arg), .count = 64 * 2, .list = (uintptr_t)wide,
		.entry_size = sizeof(wide[0]),
	};
	struct dat_rsm_link *links;
	int n, i;

	n = links_get(self->fd, &links);
	memset(wide, 0xff, sizeof(wide));
	ASSERT_EQ(0, CALL(self->fd, TOPOLOGY, &arg));
	ASSERT_EQ(n, arg.count);
	for (i = 0; i < n; i++) {
		EXPECT_EQ(0, memcmp(&links[i], &wide[i].link, sizeof(links[i])));
		EXPECT_EQ(0, wide[i].more);
	}
	arg.entry_size = sizeof(*links) - 1;
	EXPECT_EQ(-EINVAL, CALL(self->fd, TOPOLOGY, &arg));
	arg.entry_size = (uint32_t)R_PAGE + 1;
	EXPECT_EQ(-E2BIG, CALL(self->fd, TOPOLOGY, &arg));
	arg.entry_size = sizeof(*links);
	arg.rsvd = 1;
	EXPECT_EQ(-EOPNOTSUPP, CALL(self->fd, TOPOLOGY, &arg));
}

/* RSM check: 7 */
TEST_F(adapters, the_topology_has_the_shape_of_rsmapi)
{
	rsm_connections_t *c = NULL;
	struct dat_rsm_link *links;
	rsm_topology_t *t;
	char name[32];
	unsigned int i;
	int n;

	snprintf(name, sizeof(name), "rdma%u", self->first - 1);
	n = links_get(self->fd, &links);
	ASSERT_EQ(RSM_SUCCESS, rsm_get_interconnect_topology(&t));
	for (i = 0; i < t->topology_hdr.local_cntlr_count; i++) {
		EXPECT_LT((char *)t, (char *)t->connections[i]);
		n -= 1 + t->connections[i]->hdr.remote_cntlr_count;
		if (!strcmp(t->connections[i]->hdr.cntlr_name, name))
			c = t->connections[i];
	}
	EXPECT_EQ(0, n);
	ASSERT_NE(NULL, c);
	ASSERT_LE(1, c->hdr.remote_cntlr_count);
	EXPECT_EQ(t->topology_hdr.local_nodeid, c->remote_cntlr[0].remote_nodeid);
	EXPECT_STREQ(name, c->remote_cntlr[0].remote_cntlrname);
	EXPECT_EQ(c->hdr.local_hwaddr, c->remote_cntlr[0].remote_hwaddr);
	EXPECT_EQ(RSM_CONNECTION_ACTIVE, c->remote_cntlr[0].connection_state);
	rsm_free_interconnect_topology(t);
}

/* Number and entries of the machine's node table, which table_restore() restores. */
static int table_saved;
static struct dat_rsm_node table_before[64 * 65];

static int table_replace(int fd, const struct dat_rsm_node *list, uint32_t count)
{
	table_saved = table_get(fd, table_before, 64 * 65);
	return table_saved < 0 ? -1 : table_set(fd, list, count);
}

static int table_restore(int fd)
{
	return table_set(fd, table_before, (uint32_t)table_saved);
}

/* RSM check: 7 */
TEST_F(adapters, nodes_that_do_not_answer_are_not_active)
{
	struct dat_rsm_node silent[40];
	struct dat_rsm_link *links;
	uint64_t begin;
	char text[32];
	int n, i, seen = 0;

	if (getuid())
		SKIP(return, "needs root, for nodes");
	for (i = 0; i < 40; i++) {
		snprintf(text, sizeof(text), "10.9.0.%u", 100 + i);
		silent[i] = node_at(20 + (uint32_t)i, self->first, text);
	}
	ASSERT_EQ(0, table_replace(self->fd, silent, 40));
	begin = now_ms();
	n = links_get(self->fd, &links);
	EXPECT_EQ(0, table_restore(self->fd));
	/*
	 * The driver asks the nodes concurrently.  Asking them in sequence would take over a
	 * minute.
	 */
	EXPECT_GT(R_WAIT_MS, now_ms() - begin);
	for (i = 0; i < n; i++) {
		if (links[i].node < 20 || links[i].node >= 60)
			continue;
		EXPECT_EQ(DAT_RSM_LINK_DOWN, links[i].state);
		EXPECT_EQ(0x0a090000 + 80 + links[i].node, links[i].hwaddr);
		seen++;
	}
	EXPECT_EQ(40, seen);
}

/* Create the network interface of the second adapter, unless the interface exists. */
static int second_interface(void)
{
	if (!system("ip link show rsm_v0 >/dev/null 2>&1"))
		return 0;
	return system("ip link add rsm_v0 type veth peer name rsm_v1") ||
	       system("ip addr add 10.77.0.1/24 dev rsm_v0") ||
	       system("ip link set rsm_v0 up && ip link set rsm_v1 up && sleep 1");
}

static int second_make(void)
{
	return second_interface() ||
	       system("rdma link add " SECOND " type rxe netdev rsm_v0 && sleep 1");
}

static int second_delete(void)
{
	return system("rdma link delete " SECOND);
}

static int second_unmake(void)
{
	return system("rdma link delete " SECOND " 2>/dev/null; ip link del rsm_v0 2>/dev/null");
}

TEST_F(adapters, a_number_belongs_to_a_name_for_ever)
{
	struct dat_rsm_ctlr arg = { .size = sizeof(arg) };
	rsmapi_controller_handle_t c, again;
	char name[32];

	if (getuid() || second_make()) {
		second_unmake();
		SKIP(return, "can't make another adapter");
	}
	arg.ctlr = ctlr_of(self->fd, SECOND);
	EXPECT_NE(0, arg.ctlr);
	EXPECT_NE(self->first, arg.ctlr);
	snprintf(name, sizeof(name), "rdma%u", arg.ctlr - 1);
	EXPECT_EQ(RSM_SUCCESS, rsm_get_controller(name, &c));
	EXPECT_EQ(0, second_delete());
	EXPECT_EQ(DAT_RSM_CTLR_NOT_PRESENT, CALL(self->fd, CTLR, &arg));
	EXPECT_EQ(RSMERR_CTLR_NOT_PRESENT, rsm_get_controller(name, &again));
	EXPECT_EQ(0, second_make());
	EXPECT_EQ(arg.ctlr, ctlr_of(self->fd, SECOND));
	EXPECT_EQ(RSM_SUCCESS, rsm_get_controller(name, &again));
	EXPECT_EQ(c, again);
	second_unmake();
}

TEST_F(adapters, two_adapters_of_a_machine_are_two_controllers)
{
	rsm_memseg_export_handle_t exp[2];
	rsm_memseg_import_handle_t imp;
	rsm_memseg_id_t id[2] = {};
	rsmapi_controller_handle_t c[2];
	rsm_node_id_t node;
	char name[32];
	void *mem = r_mem(R_SIZE);
	int i;

	if (getuid() || second_make()) {
		second_unmake();
		SKIP(return, "can't make another adapter");
	}
	EXPECT_EQ(RSM_SUCCESS, r_node(&node));
	for (i = 0; i < 2; i++) {
		snprintf(name, sizeof(name), "rdma%u",
			 (i ? ctlr_of(self->fd, SECOND) : self->first) - 1);
		EXPECT_EQ(RSM_SUCCESS, rsm_get_controller(name, &c[i]));
		/* Both adapters listen on the same port. */
		EXPECT_EQ(RSM_SUCCESS, rsm_memseg_export_create(c[i], &exp[i], mem, R_SIZE, 0));
		EXPECT_EQ(RSM_SUCCESS, rsm_memseg_export_publish(exp[i], &id[i], NULL, 0));
	}
	for (i = 0; i < 2; i++) {
		EXPECT_EQ(RSM_SUCCESS,
			  rsm_memseg_import_connect(c[i], node, id[i], RSM_PERM_RDWR, &imp));
		EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_disconnect(imp));
		/*
		 * A segment can only be imported through the adapter that the segment was exported
		 * on.
		 */
		EXPECT_EQ(RSMERR_SEG_NOT_PUBLISHED,
			  rsm_memseg_import_connect(c[!i], node, id[i], RSM_PERM_RDWR, &imp));
	}
	for (i = 0; i < 2; i++) {
		EXPECT_EQ(RSM_SUCCESS, rsm_memseg_export_destroy(exp[i]));
		EXPECT_EQ(RSM_SUCCESS, rsm_release_controller(c[i]));
	}
	second_unmake();
}

/*
 * Open /dev/rsm, and connect through the adapter @ctlr to a segment that does not exist.  Returns
 * the error of the connect.
 */
static int connect_in_vain(uint32_t ctlr)
{
	struct dat_rsm_connect arg = { .size = sizeof(arg), .ctlr = ctlr, .segid = R_SEGID };
	struct dat_rsm_open file = { .size = sizeof(file) };
	int fd = device_open(), ret;

	ret = CALL(fd, OPEN, &file);
	if (!ret)
		ret = CALL(fd, CONNECT, &arg);
	close(fd);
	return ret;
}

/* Start a process that calls connect_in_vain() in a loop until it is killed. */
static pid_t connector(uint32_t ctlr, int slow)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (slow && slow_enter())
		_exit(1);
	while (connect_in_vain(ctlr) >= 0)
		;
	_exit(1);
}

/*
 * Kill the process while it is slowed down, so that the process cannot exit by itself before the
 * kill.  Then end the slowdown, so that the killed process exits at full speed.
 */
static int connector_end(pid_t pid)
{
	int status;

	kill(pid, SIGKILL);
	slow_over();
	return waitpid(pid, &status, 0) != pid || !WIFSIGNALED(status);
}

/* A process that opens and closes the adapter in a loop, slowed down. */
FIXTURE(slow) {
	int	fd;
	pid_t	pid;
};

FIXTURE_SETUP(slow)
{
	self->fd = device_open();
	if (getuid() || !ctlr_of(self->fd, "rxe0") || slow_open())
		SKIP(return, "needs rxe0, and a control group for processors");
	self->pid = connector(ctlr_of(self->fd, "rxe0"), 1);
	ASSERT_LT(0, self->pid);
}

FIXTURE_TEARDOWN(slow)
{
	if (self->pid)
		EXPECT_EQ(0, connector_end(self->pid));
	slow_close();
	close(self->fd);
}

TEST_F(slow, opening_and_closing_hold_up_nobody_who_wants_something_else)
{
	uint64_t end = now_ms() + 10000, begin, longest = 0;

	/*
	 * ctlr_of() searches all adapters.  The slow process may hold an adapter, but must not
	 * delay the search.
	 */
	while ((begin = now_ms()) < end) {
		ASSERT_EQ(0, ctlr_of(self->fd, "nobody"));
		if (now_ms() - begin > longest)
			longest = now_ms() - begin;
		usleep(20000);
	}
	EXPECT_GT(3000, longest);
}

/*
 * Returns the number of resident anonymous pages of a process, or -1.  Pages of files are not
 * counted: a child of fork() maps those of its program again as it goes.
 */
static long pages_of(pid_t pid)
{
	long size, resident, shared, pages = -1;
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/statm", pid);
	f = fopen(path, "r");
	if (!f)
		return -1;
	if (fscanf(f, "%ld %ld %ld", &size, &resident, &shared) == 3)
		pages = resident - shared;
	fclose(f);
	return pages;
}

#define LONG_PIN	(64UL << 20)

/*
 * Start a process that registers LONG_PIN bytes.  The process is slowed down, so the registration
 * takes minutes.
 */
static pid_t slow_exporter(uint32_t ctlr)
{
	struct dat_rsm_export arg = {
		.size = sizeof(arg), .ctlr = ctlr, .length = LONG_PIN,
	};
	struct dat_rsm_open file = { .size = sizeof(file) };
	pid_t pid = fork();
	int fd;

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	arg.addr = (uintptr_t)r_mem(LONG_PIN);
	/* Forbid huge pages, so that every small page causes a page fault. */
	madvise((void *)(uintptr_t)arg.addr, LONG_PIN, MADV_NOHUGEPAGE);
	fd = device_open();
	if (CALL(fd, OPEN, &file) || slow_enter())
		_exit(1);
	CALL(fd, EXPORT, &arg);
	_exit(0);
}

#define PIN_WAIT_MS	60000	/* on a busy host the slowed process gets little of a CPU */

/* A process has fewer pages more before it registers memory, and gets about ten pages a second. */
#define PIN_PAGES	64

static int pin_begins(pid_t pid)
{
	long before = pages_of(pid);
	uint64_t end = now_ms() + PIN_WAIT_MS;

	while (pages_of(pid) < before + PIN_PAGES) {
		if (now_ms() > end)
			return 0;
		usleep(20000);
	}
	return 1;
}

TEST_F_TIMEOUT(adapters, removal_waits_for_who_pins_and_nobody_else_does, 300)
{
	struct r_pair p = {};
	pid_t pinner, remover;
	int status = 0;
	uint64_t begin;
	char name[32];

	if (getuid() || slow_open() || second_make()) {
		second_unmake();
		SKIP(return, "needs another adapter, and a control group for processors");
	}
	snprintf(name, sizeof(name), "rdma%u", ctlr_of(self->fd, SECOND) - 1);
	ASSERT_EQ(RSM_SUCCESS, rsm_get_controller(name, &p.ctlr));
	ASSERT_EQ(RSM_SUCCESS, r_node(&p.node));
	ASSERT_EQ(RSM_SUCCESS, r_export(&p));
	ASSERT_EQ(RSM_SUCCESS, r_import(&p, RSM_PERM_RDWR));
	pinner = slow_exporter(ctlr_of(self->fd, SECOND));
	EXPECT_TRUE(pin_begins(pinner));
	remover = fork();
	if (!remover)
		_exit(!!second_delete());
	usleep(R_QUIET_MS * 1000);
	begin = now_ms();
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_disconnect(p.imp));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_export_destroy(p.exp));
	EXPECT_GT(5000, now_ms() - begin);
	EXPECT_EQ(0, waitpid(remover, &status, WNOHANG)) TH_LOG("status %#x", status);
	EXPECT_EQ(0, connector_end(pinner));
	EXPECT_EQ(remover, waitpid(remover, NULL, 0));
	EXPECT_EQ(RSM_SUCCESS, rsm_release_controller(p.ctlr));
	second_unmake();
	slow_close();
}

/*
 * Eight processes open and close the adapter concurrently.  A process may find the adapter closed,
 * open, opening or closing.
 */
TEST_F_TIMEOUT(adapters, a_crowd_opens_and_closes_one_in_turn, 120)
{
	pid_t pid[8];
	int i, n, status;

	for (i = 0; i < 8; i++) {
		pid[i] = fork();
		if (pid[i])
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (n = 0; n < 10; n++)
			if (connect_in_vain(self->first) != DAT_RSM_NOT_PUBLISHED)
				_exit(1);
		_exit(0);
	}
	for (i = 0; i < 8; i++) {
		ASSERT_EQ(pid[i], waitpid(pid[i], &status, 0));
		EXPECT_EQ(0, status);
	}
}

/* RSM check: 14 */
TEST_F(adapters, segments_of_adapters_have_lists_of_many_nodes)
{
	rsmapi_access_entry_t list[65];
	rsm_memseg_export_handle_t exp;
	rsmapi_controller_handle_t c;
	rsm_memseg_id_t id = 0;
	void *mem = r_mem(R_SIZE);
	char name[32];
	unsigned int i;

	for (i = 0; i < 65; i++)
		list[i] = (rsmapi_access_entry_t){ .ae_node = i, .ae_permission = 0600 };
	snprintf(name, sizeof(name), "rdma%u", self->first - 1);
	ASSERT_EQ(RSM_SUCCESS, rsm_get_controller(name, &c));
	ASSERT_EQ(RSM_SUCCESS, rsm_memseg_export_create(c, &exp, mem, R_SIZE, 0));
	EXPECT_EQ(RSMERR_BAD_ACL, rsm_memseg_export_publish(exp, &id, list, 65));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_export_publish(exp, &id, list, 64));
	list[1].ae_node = 65;
	EXPECT_EQ(RSMERR_BAD_ACL, rsm_memseg_export_republish(exp, list, 2));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_export_republish(exp, list, 1));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_export_destroy(exp));
	EXPECT_EQ(RSM_SUCCESS, rsm_release_controller(c));
}

TEST_HARNESS_MAIN
