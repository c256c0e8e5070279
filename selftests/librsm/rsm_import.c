// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* RSMAPI: imported segments, and their mappings. */
#include "rsm_test.h"
#include "proc.h"

#include <fcntl.h>
#include <grp.h>
#include <sched.h>

#include "memcg.h"

FIXTURE(import) {
	struct r_pair p;
};

FIXTURE_SETUP(import)
{
	ASSERT_EQ(RSM_SUCCESS, r_pair(&self->p));
}

FIXTURE_TEARDOWN(import)
{
	r_close(&self->p);
}

/* RSM check: 26 */
TEST_F(import, connect_checks_its_arguments)
{
	struct r_pair *p = &self->p;
	void *imp = p;

	EXPECT_EQ(RSMERR_BAD_CTLR_HNDL,
		  rsm_memseg_import_connect(NULL, p->node, p->id, 0400, &imp));
	EXPECT_EQ(RSMERR_BAD_SEG_HNDL,
		  rsm_memseg_import_connect(p->ctlr, p->node, p->id, 0400, NULL));
	EXPECT_EQ(RSMERR_PERM_DENIED,
		  rsm_memseg_import_connect(p->ctlr, p->node, p->id, 0100, &imp));
	EXPECT_EQ(NULL, imp);
	EXPECT_EQ(RSMERR_PERM_DENIED,
		  rsm_memseg_import_connect(p->ctlr, p->node, p->id, 01600, &imp));
	EXPECT_EQ(RSMERR_SEG_NOT_PUBLISHED,
		  rsm_memseg_import_connect(p->ctlr, p->node, 0x7123456, 0400, &imp));
	EXPECT_EQ(RSMERR_SEG_NOT_PUBLISHED,
		  rsm_memseg_import_connect(p->ctlr, p->node, 0, 0400, &imp));
	/* Loopback reaches only its own node.  With an adapter, the node table has no such node. */
	EXPECT_EQ(r_rdma() ? RSMERR_REMOTE_NODE_UNREACHABLE : RSMERR_CTLR_NOT_PRESENT,
		  rsm_memseg_import_connect(p->ctlr, p->node + 1, p->id, 0400, &imp));
}

/* RSM check: 28 */
TEST_F(import, permissions_are_those_of_the_connection)
{
	struct r_pair *p = &self->p;
	rsm_memseg_import_handle_t ro, wo, none, imp;
	rsmapi_barrier_t b[4];
	char c = 'w';

	ASSERT_EQ(RSM_SUCCESS, r_also(p, 0400, &ro, &b[0]));
	ASSERT_EQ(RSM_SUCCESS, r_also(p, 0200, &wo, &b[1]));
	ASSERT_EQ(RSM_SUCCESS, r_also(p, 0, &none, &b[2]));
	EXPECT_EQ(RSMERR_PERM_DENIED, r_also(p, 01400, &imp, &b[3]));
	EXPECT_EQ(RSMERR_PERM_DENIED, rsm_memseg_import_put(ro, 0, &c, 1));
	EXPECT_EQ(0, p->mem[0]);
	EXPECT_EQ(RSMERR_PERM_DENIED, rsm_memseg_import_get(wo, 0, &c, 1));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_put(wo, 0, &c, 1));
	EXPECT_EQ('w', p->mem[0]);
	c = 0;
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_get(ro, 0, &c, 1));
	EXPECT_EQ('w', c);
	EXPECT_EQ(RSMERR_PERM_DENIED, rsm_memseg_import_put(none, 0, &c, 1));
	EXPECT_EQ(RSMERR_PERM_DENIED, rsm_memseg_import_get(none, 0, &c, 1));
	EXPECT_EQ(RSM_SUCCESS, rsm_intr_signal_post(none, 0));
	EXPECT_EQ(RSM_SUCCESS, rsm_intr_signal_wait(p->exp, R_WAIT_MS));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_disconnect(ro));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_disconnect(wo));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_disconnect(none));
}

struct somebody {
	rsm_memseg_id_t		id;
	rsm_permission_t	perm;
};

/* Connect as another user, who has no supplementary groups. */
static int connects_as_somebody(void *arg)
{
	struct somebody *s = arg;
	void *ctlr, *imp;
	rsm_node_id_t node;

	if (rsm_get_controller(r_ctlr(), &ctlr) || r_node(&node) || setgroups(0, NULL) ||
	    setresgid(1002, 1002, 1002) || setresuid(1001, 1001, 1001))
		return 100;
	return rsm_memseg_import_connect(ctlr, node, s->id, s->perm, &imp);
}

/* RSM check: 28 */
TEST_F(import, who_may_do_nothing_may_not_signal_either)
{
	rsmapi_access_entry_t acl = { .ae_node = self->p.node, .ae_permission = 0660 };
	struct somebody s = { .id = self->p.id, .perm = RSM_PERM_NONE };

	if (getuid())
		SKIP(return, "needs root to become somebody else");
	ASSERT_EQ(RSM_SUCCESS, rsm_memseg_export_republish(self->p.exp, &acl, 1));
	EXPECT_EQ(RSMERR_PERM_DENIED, r_child(connects_as_somebody, &s));
	acl.ae_permission = 0662;
	ASSERT_EQ(RSM_SUCCESS, rsm_memseg_export_republish(self->p.exp, &acl, 1));
	EXPECT_EQ(RSM_SUCCESS, r_child(connects_as_somebody, &s));
}

/* RSM check: 29 */
TEST_F(import, republish_is_for_those_who_come_later)
{
	rsmapi_access_entry_t nobody = { .ae_node = self->p.node, .ae_permission = 0 };
	struct somebody s = { .id = self->p.id, .perm = 0400 };
	char c = 'x';

	ASSERT_EQ(RSM_SUCCESS, rsm_memseg_export_republish(self->p.exp, &nobody, 1));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_put(self->p.imp, 0, &c, 1));
	EXPECT_EQ('x', self->p.mem[0]);
	if (getuid())
		SKIP(return, "needs root to become somebody else");
	EXPECT_EQ(RSMERR_PERM_DENIED, r_child(connects_as_somebody, &s));
	nobody.ae_permission = 0444;
	ASSERT_EQ(RSM_SUCCESS, rsm_memseg_export_republish(self->p.exp, &nobody, 1));
	EXPECT_EQ(RSM_SUCCESS, r_child(connects_as_somebody, &s));
}

/*
 * Runs in a child.  Expects that the imports of the parent are invalid and that an import of the
 * child works.
 */
static int use_parents_import(void *arg)
{
	struct r_pair *parent = arg, p;
	struct pollfd fd;
	void *va;
	char c = 'c';

	if (rsm_memseg_import_put(parent->imp, 0, &c, 1) != RSMERR_BAD_SEG_HNDL ||
	    rsm_memseg_import_map(parent->imp, &va, RSM_MAP_NONE, 0600, 0, R_PAGE) !=
	    RSMERR_BAD_SEG_HNDL ||
	    rsm_intr_signal_post(parent->imp, 0) != RSMERR_BAD_SEG_HNDL ||
	    rsm_memseg_get_pollfd(parent->imp, &fd) != RSMERR_BAD_SEG_HNDL ||
	    rsm_memseg_import_open_barrier(&parent->barrier) != RSMERR_BAD_SEG_HNDL ||
	    rsm_memseg_import_disconnect(parent->imp) != RSMERR_BAD_SEG_HNDL)
		return 1;
	if (r_open(&p))
		return 2;
	p.id = parent->id;
	if (r_import(&p, RSM_PERM_RDWR) || rsm_memseg_import_put(p.imp, 0, &c, 1))
		return 3;
	return rsm_memseg_import_disconnect(p.imp);
}

/*
 * Runs in a child.  Touch the parent's window, which must fault.  The process is not dumpable, so
 * the fault leaves no core file.
 */
static int touch_parents_window(void *arg)
{
	prctl(PR_SET_DUMPABLE, 0);
	*(volatile char *)arg = 'x';
	return 0;
}

/* RSM check: 18 */
TEST_F(import, a_forked_child_has_no_imports)
{
	EXPECT_EQ(0, r_child(use_parents_import, &self->p));
	EXPECT_EQ('c', self->p.mem[0]);
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_put(self->p.imp, 0, "p", 1));
	EXPECT_EQ('p', self->p.mem[0]);
}

/* RSM check: 18 */
TEST_F(import, a_forked_child_has_no_mapping)
{
	struct r_pair *p = &self->p;
	int status;
	void *va;
	pid_t pid;

	R_LOOPBACK_ONLY("nothing can be mapped");
	ASSERT_EQ(RSM_SUCCESS,
		  rsm_memseg_import_map(p->imp, &va, RSM_MAP_NONE, 0600, R_PAGE, R_PAGE));
	pid = fork();
	if (!pid)
		_exit(touch_parents_window(va));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
	*(volatile char *)va = 'p';
	EXPECT_EQ('p', p->mem[R_PAGE]);
}

/*
 * Let a file of R_SIZE zeros take the place of the library's descriptor.  Returns the descriptor.
 */
static int replace_device(void)
{
	int fd = device_fd("/dev/rsm"), file = memfd_create("file", 0);

	if (fd < 0 || ftruncate(file, R_SIZE) || dup2(file, fd) != fd)
		return -1;
	close(file);
	return fd;
}

static int stays_open(void *arg)
{
	return fcntl(*(int *)arg, F_GETFD);
}

TEST_F(import, a_file_in_the_place_of_the_closed_device_belongs_to_the_program)
{
	struct r_pair *p = &self->p;
	void *va = self->p.mem;
	struct stat at;
	char c;
	int fd;

	fd = replace_device();
	ASSERT_LE(0, fd);
	EXPECT_EQ(RSMERR_MAP_FAILED, rsm_memseg_import_map(p->imp, &va, RSM_MAP_NONE, 0600, 0,
							   R_PAGE));
	/* There is no window, and the driver cannot be called. */
	EXPECT_EQ(RSMERR_CTLR_NOT_PRESENT, rsm_memseg_import_put(p->imp, 0, "x", 1));
	EXPECT_EQ(RSMERR_CTLR_NOT_PRESENT, rsm_memseg_import_get(p->imp, 0, &c, 1));
	EXPECT_EQ(RSMERR_CTLR_NOT_PRESENT, rsm_memseg_export_unpublish(p->exp));
	EXPECT_EQ(0, r_child(stays_open, &fd));
	EXPECT_EQ(0, fstat(fd, &at));
	EXPECT_EQ(R_SIZE, at.st_size);
}

/* RSM check: 30 */
TEST_F(import, disconnect_minds_mappings_and_descriptors)
{
	struct r_pair *p = &self->p;
	struct pollfd fd;
	void *va;
	char c;

	if (!r_rdma()) {
		ASSERT_EQ(RSM_SUCCESS,
			  rsm_memseg_import_map(p->imp, &va, RSM_MAP_NONE, 0600, 0, R_PAGE));
		EXPECT_EQ(RSMERR_SEG_STILL_MAPPED, rsm_memseg_import_disconnect(p->imp));
		ASSERT_EQ(RSM_SUCCESS, rsm_memseg_import_unmap(p->imp));
	}
	ASSERT_EQ(RSM_SUCCESS, rsm_memseg_get_pollfd(p->imp, &fd));
	EXPECT_EQ(RSMERR_POLLFD_IN_USE, rsm_memseg_import_disconnect(p->imp));
	ASSERT_EQ(RSM_SUCCESS, rsm_memseg_release_pollfd(p->imp));
	/*
	 * An import that is cut can be disconnected, even though the get has mapped the segment
	 * internally.
	 */
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_get(p->imp, 0, &c, 1));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_export_unpublish(p->exp));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_disconnect(p->imp));
	EXPECT_EQ(RSMERR_BAD_SEG_HNDL, rsm_memseg_import_disconnect(p->imp));
	EXPECT_EQ(RSMERR_BAD_SEG_HNDL, rsm_memseg_import_disconnect(NULL));
}

/* RSM check: 31 */
TEST_F(import, a_mapping_is_the_segment)
{
	char *whole, *part = r_mem(R_PAGE);
	struct r_pair *p = &self->p;
	void *fixed = part;

	R_LOOPBACK_ONLY("nothing can be mapped");
	ASSERT_EQ(RSM_SUCCESS, rsm_memseg_import_map(p->imp, (void **)&whole, RSM_MAP_NONE, 0600, 0,
						     R_SIZE));
	p->mem[R_SIZE - 1] = 'a';
	EXPECT_EQ('a', *(volatile char *)&whole[R_SIZE - 1]);
	whole[R_PAGE] = 'b';
	EXPECT_EQ('b', *(volatile char *)&p->mem[R_PAGE]);
	ASSERT_EQ(RSM_SUCCESS, rsm_memseg_import_unmap(p->imp));
	ASSERT_EQ(RSM_SUCCESS, rsm_memseg_import_map(p->imp, &fixed, RSM_MAP_FIXED, 0400, R_PAGE,
						     R_PAGE));
	EXPECT_EQ(part, fixed);
	EXPECT_EQ('b', *part);
}

/* RSM check: 32 */
TEST_F(import, map_checks_its_arguments)
{
	void *imp = self->p.imp, *ro, *va = NULL;

	R_LOOPBACK_ONLY("nothing can be mapped");
	ASSERT_EQ(RSM_SUCCESS, rsm_memseg_import_connect(self->p.ctlr, self->p.node, self->p.id,
							 0400, &ro));
	EXPECT_EQ(RSMERR_BAD_SEG_HNDL, rsm_memseg_import_map(NULL, &va, 0, 0600, 0, R_PAGE));
	EXPECT_EQ(RSMERR_BAD_ADDR, rsm_memseg_import_map(imp, NULL, 0, 0600, 0, R_PAGE));
	EXPECT_EQ(RSMERR_BAD_PERMS, rsm_memseg_import_map(imp, &va, 0, 07000, 0, R_PAGE));
	EXPECT_EQ(RSMERR_BAD_PERMS, rsm_memseg_import_map(ro, &va, 0, 0600, 0, R_PAGE));
	EXPECT_EQ(RSMERR_BAD_LENGTH, rsm_memseg_import_map(imp, &va, 0, 0600, 0, 0));
	EXPECT_EQ(RSMERR_BAD_LENGTH, rsm_memseg_import_map(imp, &va, 0, 0600, 0, R_SIZE + 1));
	EXPECT_EQ(RSMERR_BAD_LENGTH, rsm_memseg_import_map(imp, &va, 0, 0600, R_SIZE, R_PAGE));
	EXPECT_EQ(RSMERR_BAD_MEM_ALIGNMENT, rsm_memseg_import_map(imp, &va, 0, 0600, 1, R_PAGE));
	va = (void *)0x10001;
	EXPECT_EQ(RSMERR_BAD_MEM_ALIGNMENT,
		  rsm_memseg_import_map(imp, &va, RSM_MAP_FIXED, 0600, 0, R_PAGE));
	EXPECT_EQ(RSMERR_BAD_OFFSET, rsm_memseg_import_map(imp, &va, 0, 0600, -4096, R_PAGE));
	ASSERT_EQ(RSM_SUCCESS, rsm_memseg_import_map(imp, &va, 0, 0600, 0, R_PAGE));
	EXPECT_EQ(RSMERR_SEG_ALREADY_MAPPED, rsm_memseg_import_map(imp, &va, 0, 0600, 0, R_PAGE));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_disconnect(ro));
}

/* RSM check: 28 */
TEST_F(import, write_only_can_not_be_mapped)
{
	void *wo, *va;

	ASSERT_EQ(RSM_SUCCESS, rsm_memseg_import_connect(self->p.ctlr, self->p.node, self->p.id,
							 0200, &wo));
	EXPECT_EQ(RSMERR_MAP_FAILED, rsm_memseg_import_map(wo, &va, 0, 0200, 0, R_PAGE));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_disconnect(wo));
}

/* RSM check: 33 */
TEST_F(import, unmap_and_map_again)
{
	void *va;
	int i;

	R_LOOPBACK_ONLY("nothing can be mapped");
	EXPECT_EQ(RSMERR_SEG_NOT_MAPPED, rsm_memseg_import_unmap(self->p.imp));
	EXPECT_EQ(RSMERR_BAD_SEG_HNDL, rsm_memseg_import_unmap(NULL));
	for (i = 0; i < 3; i++) {
		ASSERT_EQ(RSM_SUCCESS,
			  rsm_memseg_import_map(self->p.imp, &va, 0, 0600, 0, R_SIZE));
		*(volatile char *)va = (char)i;
		EXPECT_EQ(i, self->p.mem[0]);
		EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_unmap(self->p.imp));
	}
}

/* RSM check: 34 */
TEST_F(import, a_mapping_outlives_its_segment_as_trash)
{
	struct r_pair *p = &self->p;
	volatile char *at;
	void *va, *again;

	R_LOOPBACK_ONLY("nothing can be mapped");
	ASSERT_EQ(RSM_SUCCESS, rsm_memseg_import_map(p->imp, &va, 0, 0600, 0, R_SIZE));
	at = va;
	at[0] = 'a';
	ASSERT_EQ(RSM_SUCCESS, rsm_memseg_import_open_barrier(&p->barrier));
	at[1] = 'b';
	ASSERT_EQ(RSM_SUCCESS, rsm_memseg_export_unpublish(p->exp));
	at[0] = 'x';
	at[R_SIZE - 1] = 'x';
	EXPECT_EQ('x', at[0]);
	EXPECT_EQ('a', p->mem[0]);
	EXPECT_EQ('b', p->mem[1]);
	EXPECT_EQ(0, p->mem[R_SIZE - 1]);
	EXPECT_EQ(RSMERR_CONN_ABORTED, rsm_memseg_import_close_barrier(&p->barrier));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_unmap(p->imp));
	EXPECT_EQ(RSMERR_CONN_ABORTED, rsm_memseg_import_map(p->imp, &again, 0, 0600, 0, R_PAGE));
}

/* RSM check: 34 */
TEST_F(import, trash_is_not_shared)
{
	struct r_pair *p = &self->p;
	void *other, *a, *b;

	R_LOOPBACK_ONLY("nothing can be mapped");
	ASSERT_EQ(RSM_SUCCESS,
		  rsm_memseg_import_connect(p->ctlr, p->node, p->id, 0600, &other));
	ASSERT_EQ(RSM_SUCCESS, rsm_memseg_import_map(p->imp, &a, 0, 0600, 0, R_PAGE));
	ASSERT_EQ(RSM_SUCCESS, rsm_memseg_import_map(other, &b, 0, 0600, 0, R_PAGE));
	ASSERT_EQ(RSM_SUCCESS, rsm_memseg_export_unpublish(p->exp));
	*(volatile char *)a = 'a';
	EXPECT_EQ(0, *(volatile char *)b);
	rsm_memseg_import_unmap(other);
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_disconnect(other));
}

/* Each import that has been mapped has a page of its own. */
TEST_F_TIMEOUT(import, the_pages_of_windows_are_freed, 120)
{
	struct r_pair *p = &self->p;
	long before;
	void *imp, *va;
	int i;

	R_LOOPBACK_ONLY("nothing can be mapped");
	if (memcg_make())
		SKIP(return, "no memory controller");
	ASSERT_EQ(0, memcg_enter());
	before = memcg_bytes();
	for (i = 0; i < 3 * MEMCG_SLACK / 4096; i++) {
		ASSERT_EQ(RSM_SUCCESS,
			  rsm_memseg_import_connect(p->ctlr, p->node, p->id, 0600, &imp));
		ASSERT_EQ(RSM_SUCCESS, rsm_memseg_import_map(imp, &va, 0, 0600, 0, R_PAGE));
		ASSERT_EQ(RSM_SUCCESS, rsm_memseg_import_unmap(imp));
		ASSERT_EQ(RSM_SUCCESS, rsm_memseg_import_disconnect(imp));
	}
	EXPECT_GE(before + 2 * MEMCG_SLACK, memcg_bytes());
	memcg_leave();
	memcg_remove();
}

/* RSM check: 35 */
TEST_F(import, transfers_stay_in_the_window_but_vectors_need_not)
{
	char c = 'v';
	rsm_iovec_t v = {
		.io_type = RSM_VA_TYPE, .local.vaddr = &c, .remote_offset = 0, .transfer_length = 1,
	};
	rsm_scat_gath_t sg = {
		.io_request_count = 1, .remote_handle = self->p.imp, .iovec = &v,
	};
	void *imp = self->p.imp, *va;

	R_LOOPBACK_ONLY("nothing can be mapped");
	ASSERT_EQ(RSM_SUCCESS, rsm_memseg_import_map(imp, &va, 0, 0600, R_PAGE, R_PAGE));
	EXPECT_EQ(RSMERR_BAD_OFFSET, rsm_memseg_import_put(imp, 0, &c, 1));
	EXPECT_EQ(RSMERR_BAD_OFFSET, rsm_memseg_import_get(imp, 2 * R_PAGE, &c, 1));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_put(imp, R_PAGE, &c, 1));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_put(imp, 2 * R_PAGE - 1, &c, 1));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_putv(&sg));
	EXPECT_EQ('v', self->p.mem[0]);
}

#define NOBODY	65534

/* Export as another user, tell the segment id, and stay until the pipe is closed. */
static pid_t nobody_exports(rsm_memseg_id_t *id, int *hold)
{
	int told[2], held[2];
	struct r_pair p;
	pid_t pid;
	char c;

	if (pipe(told) || pipe(held))
		return -1;
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(held[1]);
		umask(0);
		if (setgid(NOBODY) || setuid(NOBODY) || r_open(&p) || r_export(&p))
			_exit(1);
		write(told[1], &p.id, sizeof(p.id));
		read(held[0], &c, 1);
		_exit(0);
	}
	close(told[1]);
	close(held[0]);
	*hold = held[1];
	return read(told[0], id, sizeof(*id)) == sizeof(*id) ? pid : -1;
}

TEST_F(import, an_importer_is_told_who_exports)
{
	uid_t owner = ~0U;

	EXPECT_EQ(RSM_SUCCESS, rsm_linux_import_owner(self->p.imp, &owner));
	EXPECT_EQ(geteuid(), owner);
	EXPECT_EQ(RSMERR_BAD_ADDR, rsm_linux_import_owner(self->p.imp, NULL));
	EXPECT_EQ(RSMERR_BAD_SEG_HNDL, rsm_linux_import_owner(NULL, &owner));
	EXPECT_EQ(RSMERR_BAD_SEG_HNDL, rsm_linux_import_owner(self->p.exp, &owner));
}

TEST_F(import, an_importer_may_demand_who_exports)
{
	struct r_pair *p = &self->p;
	rsm_memseg_id_t id;
	void *imp = p;
	uid_t owner;
	pid_t pid;
	int hold = -1;

	if (getuid() || chmod("/dev/rsm", 0666))
		SKIP(return, "needs root to become somebody else");
	pid = nobody_exports(&id, &hold);
	ASSERT_LT(0, pid);
	EXPECT_EQ(RSMERR_PERM_DENIED,
		  rsm_linux_import_connect_from(p->ctlr, p->node, id, 0, 0600, &imp));
	EXPECT_EQ(NULL, imp);
	EXPECT_EQ(RSM_SUCCESS,
		  rsm_linux_import_connect_from(p->ctlr, p->node, id, NOBODY, 0600, &imp));
	EXPECT_EQ(RSM_SUCCESS, rsm_linux_import_owner(imp, &owner));
	EXPECT_EQ(NOBODY, owner);
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_disconnect(imp));
	close(hold);
	waitpid(pid, NULL, 0);
}

struct namespaced {
	rsm_memseg_id_t id;
	int demands;	/* flag: demand that the exporter is NOBODY */
};

/* Import in a user namespace that has only user 0, and ask for the owner.  Returns the error. */
static int import_namespaced(void *arg)
{
	const struct namespaced *n = arg;
	struct r_pair p;
	uid_t owner;
	void *imp;

	if (unshare(CLONE_NEWUSER) || write_text("/proc/self/uid_map", "0 0 1") || r_open(&p))
		return 100;
	if (n->demands)
		return rsm_linux_import_connect_from(p.ctlr, p.node, n->id, NOBODY, 0600, &imp);
	return rsm_memseg_import_connect(p.ctlr, p.node, n->id, 0600, &imp) ?:
	       rsm_linux_import_owner(imp, &owner);
}

/* NOBODY is also the id by which a namespace shows all users that it does not have. */
TEST_F(import, an_owner_without_an_id_in_the_importers_namespace_is_unknown)
{
	struct namespaced n = { 0 };
	pid_t pid;
	int hold = -1;

	if (getuid() || chmod("/dev/rsm", 0666))
		SKIP(return, "needs root to become somebody else");
	pid = nobody_exports(&n.id, &hold);
	ASSERT_LT(0, pid);
	EXPECT_EQ(RSMERR_BAD_CONF, r_child(import_namespaced, &n));
	n.demands = 1;
	EXPECT_EQ(RSMERR_BAD_CONF, r_child(import_namespaced, &n));
	close(hold);
	waitpid(pid, NULL, 0);
}

TEST_HARNESS_MAIN
