// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* RSMAPI: exported segments. */
#include "rsm_test.h"
#include "proc.h"

#include <grp.h>
#include <pthread.h>
#include <sys/resource.h>

FIXTURE(export) {
	struct r_pair p;
};

FIXTURE_SETUP(export)
{
	ASSERT_EQ(RSM_SUCCESS, r_open(&self->p));
	ASSERT_EQ(RSM_SUCCESS, r_export(&self->p));
}

FIXTURE_TEARDOWN(export)
{
	r_close(&self->p);
}

/* RSM check: 9 */
TEST_F(export, create_checks_its_arguments)
{
	rsm_memseg_export_handle_t exp;
	char *ro = mmap(NULL, R_PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *hole = r_mem(3 * R_PAGE);
	void *c = self->p.ctlr;
	char *m = self->p.mem;

	munmap(hole + R_PAGE, R_PAGE);
	EXPECT_EQ(RSMERR_BAD_CTLR_HNDL, rsm_memseg_export_create(NULL, &exp, m, R_PAGE, 0));
	EXPECT_EQ(RSMERR_BAD_SEG_HNDL, rsm_memseg_export_create(c, NULL, m, R_PAGE, 0));
	EXPECT_EQ(RSMERR_BAD_ADDR, rsm_memseg_export_create(c, &exp, NULL, R_PAGE, 0));
	EXPECT_EQ(RSMERR_BAD_LENGTH, rsm_memseg_export_create(c, &exp, m, 0, 0));
	EXPECT_EQ(RSMERR_BAD_MEM_ALIGNMENT, rsm_memseg_export_create(c, &exp, m + 8, R_PAGE, 0));
	EXPECT_EQ(RSMERR_BAD_MEM_ALIGNMENT, rsm_memseg_export_create(c, &exp, m, R_PAGE + 1, 0));
	exp = m;
	EXPECT_EQ(RSMERR_PERM_DENIED, rsm_memseg_export_create(c, &exp, ro, R_PAGE, 0));
	EXPECT_EQ(NULL, exp);
	EXPECT_EQ(RSMERR_BAD_ADDR, rsm_memseg_export_create(c, &exp, hole + R_PAGE, R_PAGE, 0));
	EXPECT_EQ(RSMERR_BAD_ADDR, rsm_memseg_export_create(c, &exp, hole, 3 * R_PAGE, 0));
	EXPECT_EQ(RSMERR_BAD_ADDR,
		  rsm_memseg_export_create(c, &exp, (void *)-R_PAGE, R_PAGE, 0));
	EXPECT_EQ(NULL, exp);
	munmap(ro, R_PAGE);
	munmap(hole, R_PAGE);
	munmap(hole + 2 * R_PAGE, R_PAGE);
}

/* Map @bytes bytes of addresses, which take no memory.  Returns NULL after an error. */
static void *map_addresses(uint64_t bytes)
{
	void *va;

	if (bytes > SIZE_MAX)
		return NULL;
	va = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return va == MAP_FAILED ? NULL : va;
}

/* A segment of 1 TiB needs as much memory.  A longer one is refused, however much there is. */
TEST_F(export, a_segment_has_1_TiB_at_most)
{
	const uint64_t most = 1ULL << 40, memory = (uint64_t)sysconf(_SC_PHYS_PAGES) * R_PAGE;
	rsm_memseg_export_handle_t exp;
	rsm_localmemory_handle_t h;
	void *c = self->p.ctlr;
	char *va = map_addresses(most + R_PAGE);

	if (!va || memory >= most)
		SKIP(return, "no such addresses, or so much memory");
	EXPECT_EQ(RSMERR_BAD_LENGTH, rsm_memseg_export_create(c, &exp, va, most + R_PAGE, 0));
	EXPECT_EQ(RSMERR_INSUFFICIENT_MEM, rsm_memseg_export_create(c, &exp, va, most, 0));
	EXPECT_EQ(RSMERR_BAD_LENGTH, rsm_create_localmemory_handle(c, &h, va, most + 1));
	EXPECT_EQ(RSMERR_INSUFFICIENT_MEM, rsm_create_localmemory_handle(c, &h, va, most));
	munmap(va, most + R_PAGE);
}

/*
 * Without CAP_IPC_LOCK, export memory within RLIMIT_MEMLOCK, and then more memory beyond the limit.
 */
static int over_memlock(void *arg)
{
	struct rlimit lim = { .rlim_cur = 4 * R_PAGE, .rlim_max = 4 * R_PAGE };
	rsm_memseg_export_handle_t a, b;
	struct r_pair p;
	char *m = r_mem(R_SIZE);

	(void)arg;
	if (r_open(&p) || setrlimit(RLIMIT_MEMLOCK, &lim) || setresuid(1001, 1001, 1001))
		return 100;
	if (rsm_memseg_export_create(p.ctlr, &a, m, 3 * R_PAGE, 0))
		return 101;
	if (rsm_memseg_export_create(p.ctlr, &b, m + 4 * R_PAGE, 2 * R_PAGE, 0) !=
	    RSMERR_INSUFFICIENT_MEM || b)
		return 102;
	rsm_memseg_export_destroy(a);
	return rsm_memseg_export_create(p.ctlr, &b, m + 4 * R_PAGE, 4 * R_PAGE, 0);
}

/* RSM check: 10 */
TEST_F(export, memory_is_limited_and_given_back)
{
	long before = vm_pin_kb();
	rsm_memseg_export_handle_t exp;
	char *m = r_mem(R_SIZE);

	ASSERT_EQ(RSM_SUCCESS, rsm_memseg_export_create(self->p.ctlr, &exp, m, R_SIZE, 0));
	EXPECT_EQ(before + (long)(R_SIZE / 1024), vm_pin_kb());
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_export_destroy(exp));
	EXPECT_EQ(before, vm_pin_kb());
	munmap(m, R_SIZE);
	if (getuid())
		SKIP(return, "needs root to become somebody else");
	EXPECT_EQ(RSM_SUCCESS, r_child(over_memlock, NULL));
}

#define BUDGET "/sys/module/dat_rsm/parameters/max_exported"

#define PLACES "/sys/module/dat_rsm/parameters/max_segments"

static int set_parameter(const char *path, const char *value)
{
	FILE *f = fopen(path, "w");

	if (!f)
		return -1;
	fputs(value, f);
	return fclose(f);
}

static int set_budget(const char *percent)
{
	return set_parameter(BUDGET, percent);
}

/* The driver checks the limit on segments first, before it opens an adapter or pins memory. */
TEST_F(export, without_a_place_for_it_memory_is_not_looked_at)
{
	rsm_memseg_export_handle_t exp;
	char *hole = r_mem(R_PAGE);

	munmap(hole, R_PAGE);
	if (getuid() || set_parameter(PLACES, "1"))
		SKIP(return, "needs root to limit the number of segments");
	EXPECT_EQ(RSMERR_INSUFFICIENT_RESOURCES,
		  rsm_memseg_export_create(self->p.ctlr, &exp, hole, R_PAGE, 0));
	EXPECT_EQ(0, set_parameter(PLACES, "4095"));
	EXPECT_EQ(RSMERR_BAD_ADDR, rsm_memseg_export_create(self->p.ctlr, &exp, hole, R_PAGE, 0));
}

/* RSM check: 10 */
TEST_F(export, the_budget_is_that_of_all_segments)
{
	rsmapi_controller_attr_t attr;
	rsm_memseg_export_handle_t a, b;
	size_t most, half;
	char *m;

	if (getuid() || set_budget("1"))
		SKIP(return, "needs root to set the budget");
	ASSERT_EQ(RSM_SUCCESS, rsm_get_controller_attr(self->p.ctlr, &attr));
	most = attr.attr_max_export_segment_size / R_PAGE * R_PAGE;
	half = most / R_PAGE / 2 * R_PAGE;
	m = r_mem(most);
	/* The segment of the fixture also counts, so the maximum size does not fit any more. */
	EXPECT_EQ(RSMERR_INSUFFICIENT_MEM,
		  rsm_memseg_export_create(self->p.ctlr, &a, m, most, 0));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_export_create(self->p.ctlr, &a, m, half, 0));
	EXPECT_EQ(RSMERR_INSUFFICIENT_MEM,
		  rsm_memseg_export_create(self->p.ctlr, &b, m, half, 0));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_export_destroy(a));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_export_create(self->p.ctlr, &b, m, half, 0));
	EXPECT_EQ(0, set_budget("0"));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_export_destroy(b));
	munmap(m, most);
}

/* RSM check: 10 */
TEST_F_TIMEOUT(export, slots_are_limited, 120)
{
	static rsm_memseg_export_handle_t exp[4096];
	int i, n, ret = RSM_SUCCESS;

	/* An adapter has a zone for each segment, and a zone may have a connection. */
	if (!getuid())
		ASSERT_EQ(0, set_parameter(PLACES, "200"));
	for (n = 0; !ret && n < 4096; n++)
		ret = rsm_memseg_export_create(self->p.ctlr, &exp[n], self->p.mem, R_PAGE, 0);
	EXPECT_EQ(RSMERR_INSUFFICIENT_RESOURCES, ret);
	for (i = 0; i < n - 1; i++)
		ASSERT_EQ(RSM_SUCCESS, rsm_memseg_export_destroy(exp[i]));
	ASSERT_EQ(RSM_SUCCESS,
		  rsm_memseg_export_create(self->p.ctlr, &exp[0], self->p.mem, R_PAGE, 0));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_export_destroy(exp[0]));
	if (!getuid())
		EXPECT_EQ(0, set_parameter(PLACES, "4095"));
}

static int publish_as(struct r_pair *p, rsm_memseg_id_t id)
{
	rsm_memseg_export_handle_t exp;
	int ret = rsm_memseg_export_create(p->ctlr, &exp, p->mem, R_PAGE, 0);

	if (ret)
		return -1;
	ret = rsm_memseg_export_publish(exp, &id, NULL, 0);
	rsm_memseg_export_destroy(exp);
	return ret;
}

/* RSM check: 11 */
TEST_F(export, ids_are_chosen_or_those_of_applications)
{
	static const rsm_memseg_id_t bad[] = { 1, 0x3fffff, 0x80000000, 0xffffffff };
	rsm_memseg_export_handle_t exp;
	rsm_memseg_id_t id = 0;
	int i;

	EXPECT_LE(0x80000000, self->p.id);
	ASSERT_EQ(RSM_SUCCESS,
		  rsm_memseg_export_create(self->p.ctlr, &exp, self->p.mem, R_PAGE, 0));
	EXPECT_EQ(RSMERR_BAD_SEGID, rsm_memseg_export_publish(exp, NULL, NULL, 0));
	ASSERT_EQ(RSM_SUCCESS, rsm_memseg_export_publish(exp, &id, NULL, 0));
	EXPECT_LE(0x80000000, id);
	EXPECT_NE(self->p.id, id);
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_export_destroy(exp));
	for (i = 0; i < 4; i++)
		EXPECT_EQ(RSMERR_RESERVED_SEGID, publish_as(&self->p, bad[i]));
	EXPECT_EQ(RSM_SUCCESS, publish_as(&self->p, 0x400000));
	EXPECT_EQ(RSM_SUCCESS, publish_as(&self->p, 0x7fffff));
	EXPECT_EQ(RSM_SUCCESS, publish_as(&self->p, 0x7fffffff));
}

/* RSM check: 12 */
TEST_F(export, an_id_is_of_one_segment_at_a_time)
{
	rsm_memseg_export_handle_t a;
	rsm_memseg_id_t id = R_SEGID;

	ASSERT_EQ(RSM_SUCCESS, rsm_memseg_export_create(self->p.ctlr, &a, self->p.mem, R_PAGE, 0));
	ASSERT_EQ(RSM_SUCCESS, rsm_memseg_export_publish(a, &id, NULL, 0));
	EXPECT_EQ(RSMERR_SEGID_IN_USE, publish_as(&self->p, R_SEGID));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_export_unpublish(a));
	EXPECT_EQ(RSM_SUCCESS, publish_as(&self->p, R_SEGID));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_export_destroy(a));
}

/* RSM check: 13 */
TEST_F(export, publish_and_unpublish_take_turns)
{
	rsm_memseg_id_t id = R_SEGID;
	void *exp = self->p.exp;

	EXPECT_EQ(RSMERR_SEG_ALREADY_PUBLISHED, rsm_memseg_export_publish(exp, &id, NULL, 0));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_export_unpublish(exp));
	EXPECT_EQ(RSMERR_SEG_NOT_PUBLISHED, rsm_memseg_export_unpublish(exp));
	EXPECT_EQ(RSMERR_SEG_NOT_PUBLISHED, rsm_memseg_export_republish(exp, NULL, 0));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_export_publish(exp, &id, NULL, 0));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_export_republish(exp, NULL, 0));
	EXPECT_EQ(RSMERR_BAD_SEG_HNDL, rsm_memseg_export_unpublish(NULL));
	EXPECT_EQ(RSMERR_BAD_SEG_HNDL, rsm_memseg_export_republish(NULL, NULL, 0));
	EXPECT_EQ(RSMERR_BAD_SEG_HNDL, rsm_memseg_export_publish(NULL, &id, NULL, 0));
	EXPECT_EQ(RSMERR_BAD_SEG_HNDL, rsm_memseg_export_destroy(NULL));
}

/* RSM check: 14 */
TEST_F(export, access_lists_are_checked)
{
	rsmapi_access_entry_t l[65] = {};
	rsmapi_access_entry_t *volatile nowhere = (void *)8;
	void *exp = self->p.exp;
	int i;

	for (i = 0; i < 65; i++)
		l[i].ae_node = self->p.node;
	EXPECT_EQ(RSMERR_BAD_ACL, rsm_memseg_export_republish(exp, NULL, 1));
	EXPECT_EQ(RSMERR_BAD_ACL, rsm_memseg_export_republish(exp, l, 65));
	/*
	 * Loopback reaches only one node, so the access list of a segment can have only one entry.
	 */
	EXPECT_EQ(r_rdma() ? RSM_SUCCESS : RSMERR_BAD_ACL, rsm_memseg_export_republish(exp, l, 2));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_export_republish(exp, l, 1));
	l[0].ae_permission = 0667;
	EXPECT_EQ(RSMERR_BAD_ACL, rsm_memseg_export_republish(exp, l, 1));
	l[0].ae_permission = 01000;
	EXPECT_EQ(RSMERR_BAD_ACL, rsm_memseg_export_republish(exp, l, 1));
	l[0].ae_permission = 0666;
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_export_republish(exp, l, 1));
	l[0].ae_node = self->p.node + 1;
	EXPECT_EQ(r_rdma() ? RSM_SUCCESS : RSMERR_BAD_ACL, rsm_memseg_export_republish(exp, l, 1));
	l[0].ae_node = 65;
	EXPECT_EQ(RSMERR_BAD_ACL, rsm_memseg_export_republish(exp, l, 1));
	EXPECT_EQ(RSMERR_BAD_ADDR, rsm_memseg_export_republish(exp, nowhere, 1));
}

struct who {
	rsm_memseg_id_t		id;
	uid_t			uid;
	gid_t			gid;
};

/*
 * Returns the granted permissions: bit 0 for 0200, bit 1 for 0400, bit 2 for 0600.  Returns 64 on
 * any error other than RSMERR_PERM_DENIED.
 */
static int granted_to(void *arg)
{
	static const rsm_permission_t perm[] = { 0200, 0400, 0600 };
	const struct who *w = arg;
	struct r_pair p;
	int i, ret, bits = 0;

	if (r_open(&p) || setgroups(0, NULL) || setresgid(w->gid, w->gid, w->gid) ||
	    setresuid(w->uid, w->uid, w->uid))
		return 64;
	for (i = 0; i < 3; i++) {
		ret = rsm_memseg_import_connect(p.ctlr, p.node, w->id, perm[i], &p.imp);
		if (ret && ret != RSMERR_PERM_DENIED)
			return 64;
		if (!ret)
			bits |= 1 << i;
	}
	return bits;
}

struct guarded {
	int		use_umask;
	struct who	who[3];
	int		got[3];
};

/* Export a segment as uid 1001 and gid 1002, and test which permissions other users are granted. */
static int export_guarded(void *arg)
{
	struct guarded *g = arg;
	rsmapi_access_entry_t acl;
	struct r_pair p;
	int i;

	if (r_open(&p) || setresgid(1002, 1002, 0) || setresuid(1001, 1001, 0))
		return 100;
	umask(g->use_umask ? 0153 : 022);
	if (r_export(&p))
		return 101;
	umask(0777);
	acl = (rsmapi_access_entry_t) { .ae_node = p.node, .ae_permission = 0624 };
	if (!g->use_umask && rsm_memseg_export_republish(p.exp, &acl, 1))
		return 102;
	/* Become root again, so that the children can become other users. */
	if (setresuid(0, 0, 0) || setresgid(0, 0, 0))
		return 103;
	for (i = 0; i < 3; i++) {
		g->who[i].id = p.id;
		g->got[i] = r_child(granted_to, &g->who[i]);
	}
	/*
	 * The permissions are 0624.  The owner gets all (7), the group gets 0200 (bit 0), others
	 * get 0400 (bit 1).
	 */
	return g->got[0] != 7 || g->got[1] != 1 || g->got[2] != 2;
}

/* RSM check: 16 */
TEST(digits_are_for_owner_group_and_others)
{
	struct guarded g = { .who = { { 0, 1001, 5 }, { 0, 1003, 1002 }, { 0, 1004, 1005 } } };

	if (getuid())
		SKIP(return, "needs root to become somebody else");
	EXPECT_EQ(0, r_child(export_guarded, &g));
}

/* RSM check: 15 */
TEST(without_a_list_the_umask_at_create_decides)
{
	struct guarded g = {
		.use_umask = 1, .who = { { 0, 1001, 5 }, { 0, 1003, 1002 }, { 0, 1004, 1005 } },
	};

	if (getuid())
		SKIP(return, "needs root to become somebody else");
	/* The umask 0153 leaves 0777 & ~0153 = 0624. */
	EXPECT_EQ(0, r_child(export_guarded, &g));
}

static int use_parents(void *arg)
{
	struct r_pair *p = arg;
	rsm_memseg_id_t id = R_SEGID;
	char *m = r_mem(R_SIZE);

	if (rsm_memseg_export_publish(p->exp, &id, NULL, 0) != RSMERR_NOT_CREATOR)
		return 1;
	if (rsm_memseg_export_unpublish(p->exp) != RSMERR_NOT_CREATOR)
		return 2;
	if (rsm_memseg_export_republish(p->exp, NULL, 0) != RSMERR_NOT_CREATOR)
		return 3;
	if (rsm_memseg_export_rebind(p->exp, m, 0, R_SIZE) != RSMERR_NOT_CREATOR)
		return 4;
	return 0;
}

/* RSM check: 18 */
TEST_F(export, a_forked_child_is_not_the_creator)
{
	EXPECT_EQ(0, r_child(use_parents, &self->p));
	/* The segment survives the exit of the child. */
	EXPECT_EQ(RSM_SUCCESS, r_import(&self->p, RSM_PERM_RDWR));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_put(self->p.imp, 0, "x", 1));
	EXPECT_EQ('x', self->p.mem[0]);
}

/* RSM check: 19 */
TEST_F(export, rebind_checks_its_arguments)
{
	rsm_memseg_export_handle_t fixed;
	char *m = r_mem(R_SIZE);

	ASSERT_EQ(RSM_SUCCESS,
		  rsm_memseg_export_create(self->p.ctlr, &fixed, self->p.mem, R_PAGE, 0));
	EXPECT_EQ(RSMERR_REBIND_NOT_ALLOWED, rsm_memseg_export_rebind(fixed, m, 0, R_PAGE));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_export_destroy(fixed));
	EXPECT_EQ(RSMERR_BAD_LENGTH, rsm_memseg_export_rebind(self->p.exp, m, 0, R_PAGE));
	EXPECT_EQ(RSMERR_BAD_ADDR, rsm_memseg_export_rebind(self->p.exp, NULL, 0, R_SIZE));
	EXPECT_EQ(RSMERR_BAD_ADDR, rsm_memseg_export_rebind(self->p.exp, m + 8, 0, R_SIZE));
	EXPECT_EQ(RSMERR_BAD_SEG_HNDL, rsm_memseg_export_rebind(NULL, m, 0, R_SIZE));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_export_rebind(self->p.exp, self->p.mem, 0, R_SIZE));
	munmap(m, R_SIZE);
	EXPECT_EQ(RSMERR_BAD_ADDR, rsm_memseg_export_rebind(self->p.exp, m, 0, R_SIZE));
}

/* RSM check: 20 */
TEST_F(export, importers_do_not_notice_a_rebind)
{
	char *m = r_mem(R_SIZE), buf[8];

	ASSERT_EQ(RSM_SUCCESS, r_import(&self->p, RSM_PERM_RDWR));
	memset(self->p.mem, 'o', R_SIZE);
	memset(m, 'n', R_SIZE);
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_get(self->p.imp, 0, buf, 8));
	EXPECT_TRUE(r_all(buf, 'o', 8));
	ASSERT_EQ(RSM_SUCCESS, rsm_memseg_export_rebind(self->p.exp, m, 0, R_SIZE));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_get(self->p.imp, 0, buf, 8));
	EXPECT_TRUE(r_all(buf, 'n', 8));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_put(self->p.imp, 1, "p", 1));
	EXPECT_EQ('p', m[1]);
	EXPECT_TRUE(r_all(self->p.mem, 'o', R_SIZE));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_export_rebind(self->p.exp, self->p.mem, 0, R_SIZE));
	munmap(m, R_SIZE);
}

/* RSM check: 20 */
TEST_F(export, a_mapping_shows_what_a_rebind_has_bound)
{
	char *m;
	void *window;

	R_LOOPBACK_ONLY("nothing can be mapped");
	m = r_mem(R_SIZE);
	ASSERT_EQ(RSM_SUCCESS, r_import(&self->p, RSM_PERM_RDWR));
	ASSERT_EQ(RSM_SUCCESS, rsm_memseg_import_map(self->p.imp, &window, RSM_MAP_NONE,
						     RSM_PERM_RDWR, 0, R_SIZE));
	memset(self->p.mem, 'o', R_SIZE);
	memset(m, 'n', R_SIZE);
	EXPECT_EQ('o', *(volatile char *)window);
	ASSERT_EQ(RSM_SUCCESS, rsm_memseg_export_rebind(self->p.exp, m, 0, R_SIZE));
	EXPECT_EQ('n', *(volatile char *)window);
	*(volatile char *)window = 'w';
	EXPECT_EQ('w', m[0]);
	EXPECT_TRUE(r_all(self->p.mem, 'o', R_SIZE));
	rsm_memseg_import_unmap(self->p.imp);
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_export_rebind(self->p.exp, self->p.mem, 0, R_SIZE));
	munmap(m, R_SIZE);
}

struct load {
	struct r_pair	*p;
	int		stop;
	int		failed;
	unsigned long	rounds;
};

/* Transfer data in a loop: a single put, a single get, and a vector. */
static void *load(void *arg)
{
	static char buf[4096];
	struct load *l = arg;
	rsm_iovec_t v = { .io_type = RSM_VA_TYPE, .local.vaddr = buf, .transfer_length = 4096 };
	rsm_scat_gath_t sg = {
		.io_request_count = 1, .remote_handle = l->p->imp, .iovec = &v,
	};

	while (!__atomic_load_n(&l->stop, __ATOMIC_RELAXED) && !l->failed) {
		l->failed = rsm_memseg_import_put(l->p->imp, 0, buf, sizeof(buf));
		if (!l->failed)
			l->failed = rsm_memseg_import_get(l->p->imp, 0, buf, sizeof(buf));
		if (!l->failed)
			l->failed = rsm_memseg_import_putv(&sg);
		__atomic_add_fetch(&l->rounds, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

/* RSM check: 21 */
TEST_F(export, rebind_under_load)
{
	struct load l = { .p = &self->p };
	char *m = r_mem(R_SIZE);
	pthread_t t;
	int i;

	ASSERT_EQ(RSM_SUCCESS, r_import(&self->p, RSM_PERM_RDWR));
	ASSERT_EQ(0, pthread_create(&t, NULL, load, &l));
	for (i = 0; i < 50 || __atomic_load_n(&l.rounds, __ATOMIC_RELAXED) < 10; i++) {
		ASSERT_EQ(RSM_SUCCESS, __atomic_load_n(&l.failed, __ATOMIC_RELAXED));
		ASSERT_EQ(RSM_SUCCESS, rsm_memseg_export_rebind(self->p.exp, m, 0, R_SIZE));
		ASSERT_EQ(RSM_SUCCESS,
			  rsm_memseg_export_rebind(self->p.exp, self->p.mem, 0, R_SIZE));
	}
	__atomic_store_n(&l.stop, 1, __ATOMIC_RELAXED);
	pthread_join(t, NULL);
	EXPECT_EQ(RSM_SUCCESS, l.failed);
	EXPECT_LT(0, l.rounds);
	munmap(m, R_SIZE);
}

/* RSM check: 22 */
TEST_F(export, destroy_cuts_imports_and_minds_descriptors)
{
	struct pollfd fd;
	char c;

	ASSERT_EQ(RSM_SUCCESS, r_import(&self->p, RSM_PERM_RDWR));
	ASSERT_EQ(RSM_SUCCESS, rsm_memseg_get_pollfd(self->p.exp, &fd));
	EXPECT_EQ(RSMERR_POLLFD_IN_USE, rsm_memseg_export_destroy(self->p.exp));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_get(self->p.imp, 0, &c, 1));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_release_pollfd(self->p.exp));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_export_destroy(self->p.exp));
	EXPECT_EQ(RSMERR_CONN_ABORTED, rsm_memseg_import_get(self->p.imp, 0, &c, 1));
	EXPECT_EQ(RSMERR_BAD_SEG_HNDL, rsm_memseg_export_destroy(self->p.exp));
}

/* RSM check: 23 */
TEST_F(export, locks_are_not_supported)
{
	rsm_memseg_export_handle_t exp;
	rsm_memseg_id_t id = 0;

	ASSERT_EQ(RSM_SUCCESS, rsm_memseg_export_create(self->p.ctlr, &exp, self->p.mem, R_PAGE,
							RSM_LOCK_OPS));
	EXPECT_EQ(RSMERR_LOCKS_NOT_SUPPORTED, rsm_memseg_export_publish(exp, &id, NULL, 0));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_export_destroy(exp));
}

/* RSM check: 24 */
TEST(a_killed_exporter_leaves_nothing)
{
	struct r_peer peer;
	struct r_pair p;
	char c;

	ASSERT_EQ(RSM_SUCCESS, r_open(&p));
	ASSERT_EQ(0, r_peer_start(&peer, NULL));
	p.id = peer.id;
	ASSERT_EQ(RSM_SUCCESS, r_import(&p, RSM_PERM_RDWR));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_get(p.imp, 0, &c, 1));
	EXPECT_EQ('e', c);
	r_peer_stop(&peer, SIGKILL);
	EXPECT_EQ(RSMERR_CONN_ABORTED, rsm_memseg_import_get(p.imp, 0, &c, 1));
	EXPECT_EQ(RSMERR_SEG_NOT_PUBLISHED,
		  rsm_memseg_import_connect(p.ctlr, p.node, peer.id, 0, &p.exp));
	r_close(&p);
}

/* Start a child that inherits all descriptors and lives on for five seconds. */
static void leave_a_child(struct r_pair *p)
{
	(void)p;
	if (!fork()) {
		sleep(5);
		_exit(0);
	}
}

/*
 * Get a byte in a loop until the import is cut or R_SOON_MS have passed.  Over RDMA the notice of
 * the cut arrives with a delay.  Returns the last result.
 */
static int get_until_cut(struct r_pair *p)
{
	uint64_t end = now_ms() + R_SOON_MS;
	int ret;
	char c;

	do {
		ret = rsm_memseg_import_get(p->imp, 0, &c, 1);
	} while (ret == RSM_SUCCESS && now_ms() < end);
	return ret;
}

/* RSM check: 24 */
TEST(a_child_does_not_keep_the_segment_of_its_parent)
{
	struct r_peer peer;
	struct r_pair p;
	char c;

	ASSERT_EQ(RSM_SUCCESS, r_open(&p));
	ASSERT_EQ(0, r_peer_start(&peer, leave_a_child));
	p.id = peer.id;
	ASSERT_EQ(RSM_SUCCESS, r_import(&p, RSM_PERM_RDWR));
	ASSERT_EQ(0, r_peer_go(&peer));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_get(p.imp, 0, &c, 1));
	r_peer_stop(&peer, SIGKILL);
	EXPECT_EQ(RSMERR_CONN_ABORTED, get_until_cut(&p));
	r_close(&p);
}

static void exec_sleep(struct r_pair *p)
{
	(void)p;
	execl("/bin/sleep", "sleep", "20", (char *)NULL);
}

/* RSM check: 25 */
TEST(exec_ends_a_segment)
{
	struct r_peer peer;
	struct r_pair p;
	int i, ret = 0;
	char c = 'g';

	ASSERT_EQ(RSM_SUCCESS, r_open(&p));
	ASSERT_EQ(0, r_peer_start(&peer, exec_sleep));
	p.id = peer.id;
	ASSERT_EQ(RSM_SUCCESS, r_import(&p, RSM_PERM_RDWR));
	ASSERT_EQ(1, write(peer.to, &c, 1));
	for (i = 0; i < R_WAIT_MS && ret != RSMERR_CONN_ABORTED; i++) {
		ret = rsm_memseg_import_get(p.imp, 0, &c, 1);
		usleep(1000);
	}
	EXPECT_EQ(RSMERR_CONN_ABORTED, ret);
	EXPECT_EQ(0, kill(peer.pid, 0));
	r_peer_stop(&peer, SIGKILL);
	r_close(&p);
}

TEST_HARNESS_MAIN
