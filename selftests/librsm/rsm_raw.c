// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* ioctls of /dev/rsm without the library, with arguments that the library never passes. */
#include "rsm_test.h"
#include "proc.h"

#include <fcntl.h>
#include <linux/memfd.h>

#include "rsm_raw.h"

FIXTURE(raw) {
	int		fd;
	uint32_t	ctlr;
	uint32_t	node;
	char		*mem;
	uint32_t	exp;
	uint32_t	segid;
	uint32_t	imp;
	uint64_t	window;
	const struct dat_rsm_slot *slots;
	uint64_t	slots_offset;
	uint64_t	slots_size;
};

static int raw_export(int fd, uint32_t ctlr, char *mem, uint32_t *id)
{
	struct dat_rsm_export arg = {
		.size = sizeof(arg), .ctlr = ctlr, .addr = (uintptr_t)mem, .length = R_SIZE,
	};
	int ret = CALL(fd, EXPORT, &arg);

	*id = arg.id;
	return ret;
}

static int raw_publish(int fd, uint32_t id, uint32_t *segid)
{
	struct dat_rsm_publish arg = { .size = sizeof(arg), .id = id };
	int ret = CALL(fd, PUBLISH, &arg);

	*segid = arg.segid;
	return ret;
}

static int raw_io(int fd, uint32_t imp, struct dat_rsm_ioent *e, uint32_t n)
{
	struct dat_rsm_io arg = {
		.size = sizeof(arg), .id = imp, .count = n, .entries = (uintptr_t)e,
		.entry_size = sizeof(*e),
	};

	return CALL(fd, IO, &arg);
}

FIXTURE_SETUP(raw)
{
	struct dat_rsm_open open_arg = { .size = sizeof(open_arg) };
	struct dat_rsm_connect conn = { .size = sizeof(conn), .perm = 0600 };

	self->fd = open("/dev/rsm", O_RDWR | O_CLOEXEC);
	ASSERT_LE(0, self->fd);
	self->mem = r_mem(R_SIZE);
	ASSERT_EQ(0, CALL(self->fd, OPEN, &open_arg));
	self->slots_offset = open_arg.slots_offset;
	self->slots_size = open_arg.slots_size;
	self->slots = mmap(NULL, open_arg.slots_size, PROT_READ, MAP_SHARED, self->fd,
			   (off_t)open_arg.slots_offset);
	ASSERT_NE(MAP_FAILED, self->slots);
	self->ctlr = raw_ctlr(self->fd);
	ASSERT_EQ(0, raw_export(self->fd, self->ctlr, self->mem, &self->exp));
	ASSERT_EQ(0, raw_publish(self->fd, self->exp, &self->segid));
	conn.ctlr = self->ctlr;
	self->node = open_arg.node;
	conn.node = self->node;
	conn.segid = self->segid;
	ASSERT_EQ(0, CALL(self->fd, CONNECT, &conn));
	self->imp = conn.id;
	self->window = conn.map_offset;
	EXPECT_EQ(conn.generation, self->slots[conn.slot].generation);
	EXPECT_EQ(R_SIZE, conn.length);
	/* A segment exported on an adapter cannot be mapped. */
	EXPECT_EQ(r_rdma(), conn.map_offset == 0);
}

FIXTURE_TEARDOWN(raw)
{
	munmap(self->mem, R_SIZE);
	close(self->fd);
}

TEST_F(raw, a_file_is_opened_for_rsm_once)
{
	struct dat_rsm_open arg = { .size = sizeof(arg) };

	EXPECT_EQ(DAT_RSM_BAD_CTLR, CALL(self->fd, OPEN, &arg));
}

TEST_F(raw, an_open_describes_the_slots)
{
	struct dat_rsm_open arg = { .size = sizeof(arg), .features = ~0ULL };
	const struct dat_rsm_slot *slots;
	int fd = open("/dev/rsm", O_RDWR);
	uint32_t generation;

	ASSERT_EQ(0, CALL(fd, OPEN, &arg));
	EXPECT_EQ(0, arg.features);
	/* A file must have room for at least 1,024 objects. */
	EXPECT_LE(1024, arg.nr_slots);
	EXPECT_LE(arg.nr_slots, arg.mem_slot);
	ASSERT_GE(arg.slots_size, (arg.mem_slot + 1ULL) * sizeof(*slots));
	slots = mmap(NULL, arg.slots_size, PROT_READ, MAP_SHARED, fd, (off_t)arg.slots_offset);
	ASSERT_NE(MAP_FAILED, slots);
	generation = slots[arg.mem_slot].generation;
	munmap(r_mem(R_PAGE), R_PAGE);
	EXPECT_NE(generation, slots[arg.mem_slot].generation);
	munmap((void *)slots, arg.slots_size);
	close(fd);
}

TEST_F(raw, a_call_that_reports_an_error_fails)
{
	struct dat_rsm_post post = { .size = sizeof(post), .err = 99, .id = self->imp };

	EXPECT_EQ(0, ioctl(self->fd, DAT_IOC_RSM_POST, &post));
	EXPECT_EQ(0, post.err);
	post.id = ~0U;
	EXPECT_EQ(-1, ioctl(self->fd, DAT_IOC_RSM_POST, &post));
	EXPECT_EQ(EREMOTEIO, errno);
	EXPECT_EQ(DAT_RSM_BAD_SEG, post.err);
}

TEST_F(raw, a_file_that_is_not_of_rsm_has_no_objects)
{
	struct dat_rsm_wait arg = { .size = sizeof(arg), .id = 1 };
	int fd = open("/dev/rsm", O_RDWR);

	EXPECT_EQ(-EINVAL, CALL(fd, WAIT, &arg));
	EXPECT_EQ(MAP_FAILED, mmap(NULL, self->slots_size, PROT_READ, MAP_SHARED, fd,
				   (off_t)self->slots_offset));
	if (self->window)
		EXPECT_EQ(MAP_FAILED, mmap(NULL, R_PAGE, PROT_READ, MAP_SHARED, fd,
					   (off_t)self->window));
	close(fd);
}

/* Returns 1 if ioctl @nr is a query, which succeeds with an argument of zeros. */
static int asks_only(unsigned int nr)
{
	return nr == DAT_NR_RSM_CTLR || nr == DAT_NR_RSM_NODES || nr == DAT_NR_RSM_TOPOLOGY;
}

/* Bytes of struct dat_rsm_connect in version 1. */
#define CONNECT_V1	(offsetof(struct dat_rsm_connect, auth) + 4)

/* Every ioctl checks the size of its argument. */
TEST_F(raw, lengths_are_checked)
{
	static const uint32_t sizes[] = {
		[DAT_NR_RSM_OPEN] = sizeof(struct dat_rsm_open),
		[DAT_NR_RSM_CTLR] = sizeof(struct dat_rsm_ctlr),
		[DAT_NR_RSM_EXPORT] = sizeof(struct dat_rsm_export),
		[DAT_NR_RSM_REBIND] = sizeof(struct dat_rsm_rebind),
		[DAT_NR_RSM_PUBLISH] = sizeof(struct dat_rsm_publish),
		[DAT_NR_RSM_REPUBLISH] = sizeof(struct dat_rsm_publish),
		[DAT_NR_RSM_UNPUBLISH] = sizeof(struct dat_rsm_unpublish),
		[DAT_NR_RSM_CONNECT] = sizeof(struct dat_rsm_connect),
		[DAT_NR_RSM_LOCALMEM] = sizeof(struct dat_rsm_localmem),
		[DAT_NR_RSM_FREE] = sizeof(struct dat_rsm_free),
		[DAT_NR_RSM_IO] = sizeof(struct dat_rsm_io),
		[DAT_NR_RSM_POST] = sizeof(struct dat_rsm_post),
		[DAT_NR_RSM_WAIT] = sizeof(struct dat_rsm_wait),
		[DAT_NR_RSM_FD] = sizeof(struct dat_rsm_fd),
		[DAT_NR_RSM_NODES] = sizeof(struct dat_rsm_nodes),
		[DAT_NR_RSM_TOPOLOGY] = sizeof(struct dat_rsm_topology),
		[DAT_NR_RSM_RING] = sizeof(struct dat_rsm_ring),
		[DAT_NR_RSM_KICK] = sizeof(struct dat_rsm_kick),
	};
	uint32_t buf[2048];
	unsigned int i, nr;
	int ret;

	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		nr = _IO(DAT_RSM_IOC_MAGIC, i);
		memset(buf, 0, sizeof(buf));
		buf[0] = (i == DAT_NR_RSM_CONNECT ? CONNECT_V1 : sizes[i]) - 1;
		EXPECT_EQ(-1, ioctl(self->fd, nr, buf));
		EXPECT_EQ(EINVAL, errno);
		/* Beyond what a later kernel may know. */
		buf[0] = sizes[i] + 128;
		buf[sizes[i] / 4 + 31] = 1;
		EXPECT_EQ(-1, ioctl(self->fd, nr, buf));
		EXPECT_EQ(E2BIG, errno);
		buf[0] = (uint32_t)R_PAGE + 4;
		EXPECT_EQ(-1, ioctl(self->fd, nr, buf));
		EXPECT_EQ(E2BIG, errno);
		EXPECT_EQ(-1, ioctl(self->fd, nr, (void *)8));
		EXPECT_EQ(EFAULT, errno);
		/*
		 * The argument is all zeros except for the size.  No object has id 0, and the file
		 * is already open, so only queries succeed.  Skip FREE, because FREE of type 0
		 * fails with -EOPNOTSUPP.
		 */
		memset(buf, 0, sizeof(buf));
		buf[0] = sizes[i] + 8;
		if (i == DAT_NR_RSM_FREE)
			continue;
		ret = r_call(self->fd, nr, buf);
		EXPECT_LE(0, ret);
		EXPECT_EQ(asks_only(i), ret == 0);
	}
	EXPECT_EQ(-1, ioctl(self->fd, _IO(DAT_RSM_IOC_MAGIC, (DAT_NR_RSM_KICK + 1)), buf));
	EXPECT_EQ(ENOTTY, errno);
	EXPECT_EQ(-1, ioctl(self->fd, _IOW(DAT_RSM_IOC_MAGIC, DAT_NR_RSM_CTLR, int), buf));
	EXPECT_EQ(ENOTTY, errno);
}

/* Fields of struct dat_rsm_nodes that have no meaning with the given flags. */
TEST_F(raw, what_has_no_meaning_is_to_be_0)
{
	static const struct {
		uint32_t		flags;
		struct dat_rsm_nodes	arg;
	} bad[] = {
		{ 0, { .key = 1 } },
		{ 0, { .state = DAT_RSM_NODE_TRUSTS } },
		{ DAT_RSM_NODES_TABLE, { .key = 1 } },
		{ DAT_RSM_NODES_TABLE, { .state = DAT_RSM_NODE_TRUSTS } },
		{ DAT_RSM_NODES_TABLE, { .local = 1 } },
		{ DAT_RSM_NODES_LOCAL, { .key = 1 } },
		{ DAT_RSM_NODES_LOCAL, { .state = DAT_RSM_NODE_TRUSTS } },
		{ DAT_RSM_NODES_LOCAL, { .list = 4096 } },
		{ DAT_RSM_NODES_LOCAL, { .count = 1 } },
		{ DAT_RSM_NODES_LOCAL, { .entry_size = 1 } },
		{ DAT_RSM_NODES_KEY, { .state = DAT_RSM_NODE_TRUSTS } },
		{ DAT_RSM_NODES_KEY, { .local = 1 } },
		{ DAT_RSM_NODES_KEY, { .list = 4096 } },
		{ DAT_RSM_NODES_KEY, { .count = 1 } },
		{ DAT_RSM_NODES_KEY, { .entry_size = 1 } },
		{ DAT_RSM_NODES_TRUST, { .key = 1 } },
		{ DAT_RSM_NODES_TRUST, { .local = 1 } },
		{ DAT_RSM_NODES_TRUST, { .list = 4096 } },
		{ DAT_RSM_NODES_TRUST, { .count = 1 } },
		{ DAT_RSM_NODES_TRUST, { .entry_size = 1 } },
	};
	struct dat_rsm_nodes arg;
	unsigned int i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		arg = bad[i].arg;
		arg.size = sizeof(arg);
		arg.flags = bad[i].flags;
		EXPECT_EQ(-EOPNOTSUPP, CALL(self->fd, NODES, &arg))
			TH_LOG("row %u, flags %#x", i, arg.flags);
	}
}

/*
 * EINVAL means a bad size.  EOPNOTSUPP tells a program which flags and values the kernel does not
 * know.
 */
TEST_F(raw, what_the_kernel_does_not_know_is_EOPNOTSUPP)
{
	struct dat_rsm_open o = { .size = sizeof(o), .flags = 1 };
	struct dat_rsm_export exp = { .size = sizeof(exp), .flags = 8 };
	struct dat_rsm_rebind reb = { .size = sizeof(reb), .id = self->exp, .rsvd = 1 };
	struct dat_rsm_publish pub = { .size = sizeof(pub), .id = self->exp, .segid = R_SEGID };
	struct dat_rsm_unpublish un = { .size = sizeof(un), .id = self->exp, .rsvd = 1 };
	struct dat_rsm_connect con = { .size = sizeof(con), .segid = self->segid, .flags = 1 };
	struct dat_rsm_post post = { .size = sizeof(post), .id = self->imp, .flags = 1 };
	struct dat_rsm_free f = { .size = sizeof(f), .type = 4, .id = self->imp };
	struct dat_rsm_wait w = { .size = sizeof(w), .id = self->imp, .rsvd = 1 };
	struct dat_rsm_ring ring = { .size = sizeof(ring), .id = self->imp, .rsvd = 1 };
	int fd = self->fd;

	EXPECT_EQ(-EOPNOTSUPP, CALL(fd, OPEN, &o));
	EXPECT_EQ(-EOPNOTSUPP, CALL(fd, EXPORT, &exp));
	EXPECT_EQ(-EOPNOTSUPP, CALL(fd, REBIND, &reb));
	EXPECT_EQ(-EOPNOTSUPP, CALL(fd, REPUBLISH, &pub));
	EXPECT_EQ(-EOPNOTSUPP, CALL(fd, UNPUBLISH, &un));
	EXPECT_EQ(-EOPNOTSUPP, CALL(fd, CONNECT, &con));
	EXPECT_EQ(-EOPNOTSUPP, CALL(fd, POST, &post));
	EXPECT_EQ(-EOPNOTSUPP, CALL(fd, FREE, &f));
	EXPECT_EQ(-EOPNOTSUPP, CALL(fd, WAIT, &w));
	EXPECT_EQ(-EOPNOTSUPP, CALL(fd, RING, &ring));
	con.flags = 0;
	con.perm = 01000;
	EXPECT_EQ(-EOPNOTSUPP, CALL(fd, CONNECT, &con));
	f.type = 0;
	EXPECT_EQ(-EOPNOTSUPP, CALL(fd, FREE, &f));
}

TEST_F(raw, segments_have_no_keys_of_their_own)
{
	struct dat_rsm_publish pub = { .size = sizeof(pub), .id = self->exp, .key = -1 };
	struct dat_rsm_connect con = { .size = sizeof(con), .segid = self->segid, .key = -1 };
	int i;

	for (i = 0; i < 2; i++) {
		EXPECT_EQ(-EOPNOTSUPP, CALL(self->fd, PUBLISH, &pub));
		EXPECT_EQ(-EOPNOTSUPP, CALL(self->fd, REPUBLISH, &pub));
		EXPECT_EQ(-EOPNOTSUPP, CALL(self->fd, CONNECT, &con));
		pub.key = 0;
		pub.auth = 1;
		con.key = 0;
		con.auth = 1;
	}
	pub.auth = 0;
	EXPECT_EQ(0, CALL(self->fd, REPUBLISH, &pub));
}

TEST_F(raw, transfers_that_the_kernel_does_not_know_are_EOPNOTSUPP)
{
	struct dat_rsm_io io = { .size = sizeof(io), .id = self->imp, .flags = 8 };

	EXPECT_EQ(-EOPNOTSUPP, CALL(self->fd, IO, &io));
	io.flags = 0;
	io.rsvd = 1;
	EXPECT_EQ(-EOPNOTSUPP, CALL(self->fd, IO, &io));
	io.rsvd = 0;
	io.op = 2;
	EXPECT_EQ(-EOPNOTSUPP, CALL(self->fd, IO, &io));
}

TEST_F(raw, objects_are_found_by_id_and_type)
{
	struct dat_rsm_free f = { .size = sizeof(f), .type = DAT_RSM_TYPE_EXPORT };
	struct dat_rsm_unpublish u = { .size = sizeof(u), .id = self->imp };
	struct dat_rsm_ioent e = { .length = 1, .width = 1, .addr = (uintptr_t)self->mem };

	f.id = self->imp;
	EXPECT_EQ(DAT_RSM_BAD_SEG, CALL(self->fd, FREE, &f));
	f.id = ~0U;
	EXPECT_EQ(DAT_RSM_BAD_SEG, CALL(self->fd, FREE, &f));
	f.type = DAT_RSM_TYPE_LOCALMEM;
	EXPECT_EQ(DAT_RSM_BAD_LOCALMEM, CALL(self->fd, FREE, &f));
	EXPECT_EQ(DAT_RSM_BAD_SEG, CALL(self->fd, UNPUBLISH, &u));
	EXPECT_EQ(DAT_RSM_BAD_SEG, raw_io(self->fd, self->exp, &e, 1));
	e.localmem = self->exp;
	EXPECT_EQ(DAT_RSM_BAD_LOCALMEM, raw_io(self->fd, self->imp, &e, 1));
}

/* RSM check: 68 */
TEST_F(raw, entries_are_checked_by_the_driver)
{
	struct dat_rsm_ioent good = { .length = 8, .width = 8, .addr = (uintptr_t)self->mem }, e;
	int fd = self->fd, imp = self->imp;

	EXPECT_EQ(DAT_RSM_OK, raw_io(fd, imp, &good, 1));
	EXPECT_EQ(DAT_RSM_BAD_SGIO, raw_io(fd, imp, &good, 0));
	EXPECT_EQ(DAT_RSM_BAD_SGIO, raw_io(fd, imp, &good, 17));
	EXPECT_EQ(DAT_RSM_BAD_SGIO, raw_io(fd, imp, &good, ~0U));
	EXPECT_EQ(DAT_RSM_BAD_ADDR, raw_io(fd, imp, (void *)8, 1));
	e = good;
	e.width = 0;
	EXPECT_EQ(DAT_RSM_BAD_SGIO, raw_io(fd, imp, &e, 1));
	e.width = 3;
	EXPECT_EQ(DAT_RSM_BAD_SGIO, raw_io(fd, imp, &e, 1));
	e.width = 16;
	EXPECT_EQ(DAT_RSM_BAD_SGIO, raw_io(fd, imp, &e, 1));
	e = good;
	e.offset = 4;
	EXPECT_EQ(DAT_RSM_BAD_ALIGNMENT, raw_io(fd, imp, &e, 1));
	e.offset = R_SIZE;
	EXPECT_EQ(DAT_RSM_BAD_LENGTH, raw_io(fd, imp, &e, 1));
	e.offset = ~0ULL - 7;
	EXPECT_EQ(DAT_RSM_BAD_OFFSET, raw_io(fd, imp, &e, 1));
	e.offset = 8;
	e.length = ~0ULL - 7;
	EXPECT_EQ(DAT_RSM_BAD_LENGTH, raw_io(fd, imp, &e, 1));
}

/* Entry of a later ABI version, which has an additional field. */
struct wide_ioent {
	struct dat_rsm_ioent	e;
	uint64_t		more;
};

TEST_F(raw, entries_of_a_later_version_are_carried_out)
{
	struct wide_ioent e[2] = {
		{ .e = { .length = 4, .width = 4, .addr = (uintptr_t)"abc" } },
		{ .e = { .length = 4, .width = 1, .addr = (uintptr_t)"def", .offset = 4 } },
	};
	struct dat_rsm_io io = {
		.size = sizeof(io), .id = self->imp, .count = 2, .entries = (uintptr_t)e,
		.entry_size = sizeof(e[0]),
	};

	e[1].more = 1;
	EXPECT_EQ(-E2BIG, CALL(self->fd, IO, &io));
	EXPECT_TRUE(r_all(self->mem, 0, R_SIZE));
	e[1].more = 0;
	EXPECT_EQ(0, CALL(self->fd, IO, &io));
	EXPECT_EQ(2, io.done);
	io.op = DAT_RSM_GET;
	e[0].e.addr = (uintptr_t)self->mem + R_PAGE;
	e[1].e.addr = (uintptr_t)self->mem + R_PAGE + 4;
	EXPECT_EQ(0, CALL(self->fd, IO, &io));
	EXPECT_EQ(0, memcmp(self->mem + R_PAGE, "abc\0def", 8));
}

TEST_F(raw, sizes_of_entries_are_checked)
{
	struct dat_rsm_ioent e = { .length = 4, .width = 4, .addr = (uintptr_t)"abc" };
	struct dat_rsm_access acl = { .perm = 0600 };
	struct dat_rsm_io io = {
		.size = sizeof(io), .id = self->imp, .count = 1, .entries = (uintptr_t)&e,
	};
	struct dat_rsm_publish pub = {
		.size = sizeof(pub), .id = self->exp, .count = 1, .list = (uintptr_t)&acl,
	};

	EXPECT_EQ(-EINVAL, CALL(self->fd, IO, &io));
	EXPECT_EQ(-EINVAL, CALL(self->fd, REPUBLISH, &pub));
	io.entry_size = sizeof(e) - 1;
	pub.entry_size = sizeof(acl) - 1;
	EXPECT_EQ(-EINVAL, CALL(self->fd, IO, &io));
	EXPECT_EQ(-EINVAL, CALL(self->fd, REPUBLISH, &pub));
	io.entry_size = (uint32_t)R_PAGE + 1;
	pub.entry_size = (uint32_t)R_PAGE + 1;
	EXPECT_EQ(-E2BIG, CALL(self->fd, IO, &io));
	EXPECT_EQ(-E2BIG, CALL(self->fd, REPUBLISH, &pub));
	EXPECT_TRUE(r_all(self->mem, 0, R_SIZE));
}

TEST_F(raw, access_lists_of_a_later_version_have_effect)
{
	struct {
		struct dat_rsm_access	a;
		uint32_t		more;
	} acl = { .a = { .node = self->node, .perm = 0400 }, .more = 1 };
	struct dat_rsm_publish pub = {
		.size = sizeof(pub), .id = self->exp, .count = 1, .list = (uintptr_t)&acl,
		.entry_size = sizeof(acl),
	};
	struct dat_rsm_connect c = {
		.size = sizeof(c), .ctlr = self->ctlr, .node = self->node, .segid = self->segid,
	};

	EXPECT_EQ(-E2BIG, CALL(self->fd, REPUBLISH, &pub));
	c.perm = DAT_RSM_WRITE;
	EXPECT_EQ(0, CALL(self->fd, CONNECT, &c));
	acl.more = 0;
	EXPECT_EQ(0, CALL(self->fd, REPUBLISH, &pub));
	acl.a.node++;
	EXPECT_EQ(r_rdma() ? 0 : DAT_RSM_BAD_ACL, CALL(self->fd, REPUBLISH, &pub));
	if (r_rdma())
		EXPECT_EQ(DAT_RSM_NOT_PUBLISHED_TO_NODE, CALL(self->fd, CONNECT, &c));
}

/* RSM check: 18 */
TEST_F(raw, another_process_is_not_the_creator)
{
	struct dat_rsm_ioent e = { .length = 8, .width = 8, .addr = (uintptr_t)self->mem };
	struct dat_rsm_ctlr c = { .size = sizeof(c) };
	int status;

	if (!fork())
		_exit(raw_io(self->fd, self->imp, &e, 1) != DAT_RSM_NOT_CREATOR ||
		      CALL(self->fd, CTLR, &c) != DAT_RSM_NOT_CREATOR ||
		      (self->window && mmap(NULL, R_PAGE, PROT_READ, MAP_SHARED, self->fd,
					    (off_t)self->window) != MAP_FAILED));
	wait(&status);
	EXPECT_EQ(0, status);
}

static void *window(struct _test_data_raw *self, uint64_t at, size_t size, int prot, int flags)
{
	return mmap(NULL, size, prot, flags, self->fd, (off_t)(self->window + at));
}

/* RSM check: 32 */
TEST_F(raw, windows_end_where_the_segment_ends)
{
	const int rw = PROT_READ | PROT_WRITE;
	char *va;

	R_LOOPBACK_ONLY("there are no windows");
	EXPECT_EQ(MAP_FAILED, window(self, 0, R_SIZE + R_PAGE, rw, MAP_SHARED));
	EXPECT_EQ(MAP_FAILED, window(self, R_SIZE, R_PAGE, rw, MAP_SHARED));
	EXPECT_EQ(MAP_FAILED, window(self, 1ULL << 39, R_PAGE, rw, MAP_SHARED));
	EXPECT_EQ(MAP_FAILED, window(self, 1ULL << 40, R_PAGE, rw, MAP_SHARED));
	EXPECT_EQ(MAP_FAILED, window(self, 0, R_PAGE, rw, MAP_PRIVATE));
	EXPECT_EQ(MAP_FAILED, window(self, 0, R_PAGE, rw | PROT_EXEC, MAP_SHARED));
	va = window(self, R_SIZE - R_PAGE, R_PAGE, rw, MAP_SHARED);
	ASSERT_NE(MAP_FAILED, va);
	va[R_PAGE - 1] = 'x';
	EXPECT_EQ('x', self->mem[R_SIZE - 1]);
	EXPECT_EQ(MAP_FAILED, mremap(va, R_PAGE, 2 * R_PAGE, MREMAP_MAYMOVE));
	EXPECT_EQ(-1, mprotect(va, R_PAGE, rw | PROT_EXEC));
	/* MADV_DOFORK must fail, because a child must not inherit the mapping. */
	EXPECT_EQ(-1, madvise(va, R_PAGE, MADV_DOFORK));
	munmap(va, R_PAGE);
}

TEST_F(raw, a_window_is_mapped_through_the_file_that_imported)
{
	struct dat_rsm_open open_arg = { .size = sizeof(open_arg) };
	int fd = open("/dev/rsm", O_RDWR | O_CLOEXEC);

	R_LOOPBACK_ONLY("there are no windows");
	ASSERT_EQ(0, CALL(fd, OPEN, &open_arg));
	EXPECT_EQ(MAP_FAILED, mmap(NULL, R_PAGE, PROT_READ, MAP_SHARED, fd, (off_t)self->window));
	EXPECT_EQ(ENOENT, errno);
	close(fd);
}

static int raw_free(int fd, uint32_t id)
{
	struct dat_rsm_free f = { .size = sizeof(f), .type = DAT_RSM_TYPE_IMPORT, .id = id };

	return CALL(fd, FREE, &f);
}

#define WINDOWS_BEGIN	(1ULL << 42)
#define WINDOWS_END	(1ULL << 43)

TEST_F(raw, windows_are_side_by_side_where_32_bits_reach)
{
	struct dat_rsm_connect c = { .size = sizeof(c), .segid = self->segid, .perm = 0600 };
	uint64_t at[64];
	char *va;
	int i, k;

	R_LOOPBACK_ONLY("there are no windows");
	for (i = 0; i < 64; i++) {
		ASSERT_EQ(0, CALL(self->fd, CONNECT, &c));
		at[i] = c.map_offset;
		EXPECT_LE(WINDOWS_BEGIN, at[i]);
		EXPECT_GE(WINDOWS_END - R_SIZE, at[i]);
		for (k = 0; k < i; k++)
			EXPECT_LE(R_SIZE, at[k] < at[i] ? at[i] - at[k] : at[k] - at[i]);
		/* Free every second import. */
		if (i % 2)
			ASSERT_EQ(0, raw_free(self->fd, c.id));
	}
	for (i = 0; i < 64; i++) {
		self->window = at[i];
		va = window(self, R_SIZE - R_PAGE, R_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED);
		EXPECT_EQ(i % 2, va == MAP_FAILED);
		if (va == MAP_FAILED)
			continue;
		va[i] = 'x';
		EXPECT_EQ('x', self->mem[R_SIZE - R_PAGE + (size_t)i]);
		munmap(va, R_PAGE);
	}
}

#define HUGE		(2UL << 20)
#define LARGE		(640 * HUGE)	/* only 3,276 such windows fit into 4 TiB */

static void huge_pages(const char *count)
{
	int fd = open("/proc/sys/vm/nr_hugepages", O_WRONLY);

	if (fd >= 0)
		write(fd, count, strlen(count));
	close(fd);
}

/*
 * Map one huge page at consecutive addresses until LARGE bytes are mapped.  Returns NULL on
 * failure.
 */
static char *map_large(void)
{
	int fd = memfd_create("large", MFD_CLOEXEC | MFD_HUGETLB | MFD_HUGE_2MB);
	char *va = mmap(NULL, LARGE + HUGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	size_t at;

	va = (char *)(((uintptr_t)va + HUGE - 1) & ~(HUGE - 1));
	huge_pages("1");
	if (fd < 0 || ftruncate(fd, HUGE))
		return NULL;
	for (at = 0; at < LARGE; at += HUGE)
		if (mmap(va + at, HUGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) ==
		    MAP_FAILED)
			return NULL;
	close(fd);
	return va;
}

/* Import until an import gets no window.  Returns the number of imports that got a window. */
static int import_all(int fd, struct dat_rsm_connect *c)
{
	int n;

	for (n = 0; n < 4000; n++)
		if (CALL(fd, CONNECT, c) || !c->map_offset)
			break;
	return n;
}

TEST_F_TIMEOUT(raw, windows_of_a_file_have_4_TiB_at_most, 120)
{
	struct dat_rsm_export exp = { .size = sizeof(exp), .length = LARGE };
	struct dat_rsm_connect c = { .size = sizeof(c), .perm = 0600 };
	struct dat_rsm_ioent e = { .length = 8, .width = 8 };
	char *mem, *va;
	uint64_t word;
	uint32_t last;

	R_LOOPBACK_ONLY("there are no windows");
	mem = map_large();
	if (!mem || sysconf(_SC_PHYS_PAGES) * (long)R_PAGE < (long)LARGE)
		SKIP(return, "needs a huge page, and as much memory as the segment seems to have");
	exp.addr = (uintptr_t)mem;
	ASSERT_EQ(0, CALL(self->fd, EXPORT, &exp));
	ASSERT_EQ(0, raw_publish(self->fd, exp.id, &c.segid));
	EXPECT_EQ((WINDOWS_END - WINDOWS_BEGIN) / LARGE, import_all(self->fd, &c));
	/* An import without a window still allows transfers by ioctl. */
	last = c.id;
	word = 1;
	e.addr = (uintptr_t)&word;
	EXPECT_EQ(0, raw_io(self->fd, last, &e, 1));
	EXPECT_EQ(1, mem[0]);
	EXPECT_EQ(0, raw_free(self->fd, last - 1));
	ASSERT_EQ(0, CALL(self->fd, CONNECT, &c));
	ASSERT_NE(0, c.map_offset);
	/* The kernel does not reuse an offset while a window is mapped at this offset. */
	self->window = c.map_offset;
	va = window(self, 0, R_PAGE, PROT_READ, MAP_SHARED);
	ASSERT_NE(MAP_FAILED, va);
	EXPECT_EQ(1, va[0]);
	EXPECT_EQ(0, raw_free(self->fd, c.id));
	ASSERT_EQ(0, CALL(self->fd, CONNECT, &c));
	EXPECT_EQ(0, c.map_offset);
	munmap(va, R_PAGE);
	ASSERT_EQ(0, CALL(self->fd, CONNECT, &c));
	EXPECT_EQ(self->window, c.map_offset);
	close(self->fd);
	munmap(mem, LARGE);
	huge_pages("0");
}

TEST_F(raw, a_window_is_mapped_until_its_import_is_freed)
{
	struct dat_rsm_free f = {
		.size = sizeof(f), .type = DAT_RSM_TYPE_IMPORT, .id = self->imp,
	};

	R_LOOPBACK_ONLY("there are no windows");
	ASSERT_EQ(0, CALL(self->fd, FREE, &f));
	EXPECT_EQ(MAP_FAILED, window(self, 0, R_PAGE, PROT_READ, MAP_SHARED));
	EXPECT_EQ(ENOENT, errno);
}

/* RSM check: 28 */
TEST_F(raw, a_window_has_the_rights_of_its_import)
{
	struct dat_rsm_connect c = { .size = sizeof(c), .segid = self->segid, .perm = 0400 };
	char *va;

	R_LOOPBACK_ONLY("there are no windows");
	ASSERT_EQ(0, CALL(self->fd, CONNECT, &c));
	self->window = c.map_offset;
	EXPECT_EQ(MAP_FAILED, window(self, 0, R_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED));
	EXPECT_EQ(EACCES, errno);
	va = window(self, 0, R_PAGE, PROT_READ, MAP_SHARED);
	ASSERT_NE(MAP_FAILED, va);
	EXPECT_EQ(-1, mprotect(va, R_PAGE, PROT_READ | PROT_WRITE));
	munmap(va, R_PAGE);
	c.perm = 0200;
	ASSERT_EQ(0, CALL(self->fd, CONNECT, &c));
	self->window = c.map_offset;
	EXPECT_EQ(MAP_FAILED, window(self, 0, R_PAGE, PROT_WRITE, MAP_SHARED));
	EXPECT_EQ(EOPNOTSUPP, errno);
}

/* RSM check: 34 */
TEST_F(raw, a_window_in_pieces_survives_its_import)
{
	struct dat_rsm_free f = {
		.size = sizeof(f), .type = DAT_RSM_TYPE_IMPORT, .id = self->imp,
	};
	volatile char *va;

	R_LOOPBACK_ONLY("there are no windows");
	va = window(self, 0, R_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED);
	ASSERT_NE(MAP_FAILED, va);
	va[0] = 'a';
	munmap((void *)(va + R_PAGE), R_PAGE);
	ASSERT_EQ(0, CALL(self->fd, FREE, &f));
	va[0] = 'x';
	va[2 * R_PAGE] = 'x';
	EXPECT_EQ('a', self->mem[0]);
	EXPECT_EQ(0, self->mem[2 * R_PAGE]);
	EXPECT_EQ(MAP_FAILED, window(self, 0, R_PAGE, PROT_READ, MAP_SHARED));
	munmap((void *)va, R_SIZE);
}

TEST_F(raw, the_status_pages_are_for_reading)
{
	EXPECT_EQ(MAP_FAILED, mmap(NULL, self->slots_size, PROT_READ | PROT_WRITE, MAP_SHARED,
				   self->fd, (off_t)self->slots_offset));
	EXPECT_EQ(-1, mprotect((void *)self->slots, self->slots_size, PROT_READ | PROT_WRITE));
}

/*
 * Wait until *@at differs from @old.  Over loopback the change is immediate, so there is no wait.
 * Returns 1 if *@at has changed.
 */
static int soon(const volatile uint32_t *at, uint32_t old)
{
	uint64_t end = now_ms() + R_SOON_MS;

	while (*at == old && now_ms() < end)
		usleep(1000);
	return *at != old;
}

TEST_F(raw, slots_count_events_and_tell_of_a_cut)
{
	struct dat_rsm_post post = { .size = sizeof(post), .id = self->imp };
	struct dat_rsm_unpublish u = { .size = sizeof(u), .id = self->exp };
	uint32_t generation = self->slots[self->imp - 1].generation;

	ASSERT_EQ(0, CALL(self->fd, POST, &post));
	ASSERT_EQ(0, CALL(self->fd, POST, &post));
	EXPECT_TRUE(soon(&self->slots[self->exp - 1].pending, 0));
	EXPECT_TRUE(soon(&self->slots[self->exp - 1].pending, 1));
	EXPECT_EQ(2, self->slots[self->exp - 1].pending);
	ASSERT_EQ(0, CALL(self->fd, UNPUBLISH, &u));
	EXPECT_TRUE(soon(&self->slots[self->imp - 1].generation, generation));
}

TEST_F(raw, fdinfo_has_a_line_for_each_object)
{
	char path[64], line[256];
	int exports = 0, imports = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", self->fd);
	f = fopen(path, "r");
	ASSERT_NE(NULL, f);
	while (fgets(line, sizeof(line), f)) {
		exports += !strncmp(line, "rsm-export:", 11);
		imports += !strncmp(line, "rsm-import:", 11);
	}
	fclose(f);
	EXPECT_EQ(1, exports);
	EXPECT_EQ(1, imports);
}

#define OBJECTS R_TIMES(200)

/* Create many segments, imports and local memories. */
static int raw_many(int fd, char *mem)
{
	struct dat_rsm_open o = { .size = sizeof(o) };
	struct dat_rsm_connect c = { .size = sizeof(c), .perm = 0600 };
	struct dat_rsm_localmem l = {
		.size = sizeof(l), .addr = (uintptr_t)mem, .length = R_PAGE,
	};
	uint32_t id;
	int i;

	if (CALL(fd, OPEN, &o))
		return -1;
	c.node = o.node;
	c.ctlr = raw_ctlr(fd);
	l.ctlr = c.ctlr;
	for (i = 0; i < OBJECTS; i++)
		if (raw_export(fd, c.ctlr, mem, &id) || raw_publish(fd, id, &c.segid) ||
		    CALL(fd, CONNECT, &c) || CALL(fd, LOCALMEM, &l))
			return -1;
	return 0;
}

/* The address space of this process ends while a child closes the inherited file. */
static int end_twice(int done)
{
	int fd = open("/dev/rsm", O_RDWR), go[2];
	char c;

	if (fd < 0 || raw_many(fd, r_mem(R_SIZE)) || pipe(go))
		return 1;
	if (!fork()) {
		read(go[0], &c, 1);
		close(fd);
		write(done, "d", 1);
		_exit(0);
	}
	close(fd);
	/* Let the child close the file while this process exits. */
	write(go[1], "g", 1);
	return 0;
}

/* RSM check: 24 */
TEST(a_file_is_closed_while_its_address_space_ends)
{
	int i, done[2];
	char c;

	ASSERT_EQ(0, pipe(done));
	for (i = 0; i < 10; i++) {
		pid_t pid = fork();
		int status;

		if (!pid)
			_exit(end_twice(done[1]));
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		ASSERT_EQ(0, status);
		ASSERT_EQ(1, read(done[0], &c, 1));
	}
}

static uint32_t seed = 4711;

static uint64_t noise(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 17;
	seed ^= seed << 5;
	/* Mostly return small values, which are plausible arguments. */
	switch (seed % 8) {
	case 0:
		return (uint64_t)seed << 32 | seed;
	case 1:
		return seed;
	case 2:
		return ~0ULL - seed % 16;
	default:
		return seed >> 8 & (seed % 2 ? 7 : 0xff);
	}
}

/* Returns the size of the argument of ioctl @nr, or 0 if this program does not know @nr. */
static uint32_t arg_size(int nr)
{
	static const uint32_t sizes[] = {
		sizeof(struct dat_rsm_open), sizeof(struct dat_rsm_ctlr),
		sizeof(struct dat_rsm_export), sizeof(struct dat_rsm_rebind),
		sizeof(struct dat_rsm_publish), sizeof(struct dat_rsm_publish),
		sizeof(struct dat_rsm_unpublish), sizeof(struct dat_rsm_connect),
		sizeof(struct dat_rsm_localmem), sizeof(struct dat_rsm_free),
		sizeof(struct dat_rsm_io), sizeof(struct dat_rsm_post),
		sizeof(struct dat_rsm_wait), sizeof(struct dat_rsm_fd),
		sizeof(struct dat_rsm_nodes), sizeof(struct dat_rsm_topology),
		sizeof(struct dat_rsm_ring), sizeof(struct dat_rsm_kick),
	};

	return nr < (int)(sizeof(sizes) / sizeof(sizes[0])) ? sizes[nr] : 0;
}

/*
 * Fill in an argument of EXPORT or LOCALMEM with random values.  The values are valid in some calls
 * and invalid in others.
 */
static void noisy_memory(uint64_t *arg, int nr, uint32_t ctlr, char *mem)
{
	uint64_t addr = (uintptr_t)mem + noise() % R_PAGES * R_PAGE;
	uint64_t len = noise() % 4 * R_PAGE;

	if (nr == DAT_NR_RSM_EXPORT)
		*(struct dat_rsm_export *)arg = (struct dat_rsm_export) {
			.size = sizeof(struct dat_rsm_export), .ctlr = ctlr,
			.flags = (uint32_t)noise() % 8, .addr = addr, .length = len,
		};
	else
		*(struct dat_rsm_localmem *)arg = (struct dat_rsm_localmem) {
			.size = sizeof(struct dat_rsm_localmem), .ctlr = ctlr,
			.addr = addr, .length = len,
		};
}

/* Returns the number of objects that a successful ioctl @nr adds. */
static int made_by(int nr)
{
	if (nr == DAT_NR_RSM_FREE)
		return -1;
	return nr == DAT_NR_RSM_EXPORT || nr == DAT_NR_RSM_CONNECT || nr == DAT_NR_RSM_LOCALMEM;
}

/* Returns the number of objects of the file in fdinfo, or -1. */
static int objects(int fd)
{
	char path[64], line[256];
	FILE *f;
	int n = 0;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f))
		n += !strncmp(line, "rsm-", 4);
	if (f)
		fclose(f);
	return f ? n : -1;
}

/* RSM check: 68 */
TEST_F_TIMEOUT(raw, noise_does_no_harm, 120)
{
	struct dat_rsm_ioent e[DAT_RSM_MAX_IO];
	int i, k, nr, made = 2, most = 0;
	uint64_t arg[32];

	for (i = 0; i < R_TIMES(100000); i++) {
		for (k = 0; k < 32; k++)
			arg[k] = noise();
		for (k = 0; k < (int)(sizeof(e) / 8); k++)
			((uint64_t *)e)[k] = k % 4 ? noise() : (uintptr_t)self->mem;
		nr = (int)(noise() % (DAT_NR_RSM_KICK + 1));
		((uint32_t *)arg)[0] = noise() % 4 ? 8 * (uint32_t)(noise() % 20) :
						     (uint32_t)noise();
		if (i % 4 && arg_size(nr))
			((uint32_t *)arg)[0] = arg_size(nr);
		if (nr == DAT_NR_RSM_FREE && i % 16)
			continue;
		if (nr == DAT_NR_RSM_WAIT || nr == DAT_NR_RSM_KICK)
			arg[2] = 0;
		/*
		 * TOPOLOGY with room for links asks all nodes, which takes long, so pass a count of
		 * 0.
		 */
		if (nr == DAT_NR_RSM_TOPOLOGY)
			((struct dat_rsm_topology *)arg)->count = 0;
		if (nr == DAT_NR_RSM_IO && i % 2) {
			*(struct dat_rsm_io *)arg = (struct dat_rsm_io) {
				.size = sizeof(struct dat_rsm_io), .id = self->imp,
				.op = (uint32_t)noise() % 2, .count = (uint32_t)noise() % 18,
				.entries = (uintptr_t)e, .entry_size = sizeof(e[0]),
			};
		}
		if (nr == DAT_NR_RSM_EXPORT || nr == DAT_NR_RSM_LOCALMEM)
			arg[2] = i % 2 ? (uintptr_t)self->mem : arg[2];
		if ((nr == DAT_NR_RSM_EXPORT || nr == DAT_NR_RSM_LOCALMEM) && i % 4 == 1)
			noisy_memory(arg, nr, self->ctlr, self->mem);
		if (r_call(self->fd, _IO(DAT_RSM_IOC_MAGIC, (unsigned int)nr), arg))
			continue;
		if (nr == DAT_NR_RSM_FD)
			close(((struct dat_rsm_fd *)arg)->fd);
		made += made_by(nr);
		most = made > most ? made : most;
	}
	TH_LOG("up to %d objects", most);
	EXPECT_LT(10, most);
	EXPECT_EQ(made, objects(self->fd));
	EXPECT_LT(0, vm_pin_kb());
	munmap((void *)self->slots, self->slots_size);
	close(self->fd);
	self->fd = -1;
	EXPECT_EQ(0, vm_pin_kb());
}

TEST_HARNESS_MAIN
