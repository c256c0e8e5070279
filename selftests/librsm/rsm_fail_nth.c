// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * Fail each allocation and each copy_from_user() or copy_to_user() of each RSM ioctl once.  The
 * ioctl must either fail with a matching error or succeed nevertheless, and must leave nothing
 * behind.
 */
#include "rsm_test.h"

#include "rsm_node.h"

/*
 * struct world - objects that the ioctls use
 * @fd: /dev/rsm, opened with DAT_IOC_RSM_OPEN
 * @other: /dev/rsm before DAT_IOC_RSM_OPEN, for call_OPEN()
 * @ctlr: controller that this program is built for
 * @node: node id of this machine
 * @mem: R_SIZE bytes, exported as @exp
 * @spare: R_SIZE bytes
 * @exp: id of the published segment
 * @segid: segment id of @exp
 * @imp: id of an import of @exp
 * @id: id of the object that the last call has created
 * @made: objects for call_FREE()
 * @made_fd: descriptor that call_FD() has created
 */
struct world {
	int		fd;
	int		other;
	uint32_t	ctlr;
	uint32_t	node;
	char		*mem;
	char		*spare;
	uint32_t	exp;
	uint32_t	segid;
	uint32_t	imp;
	uint32_t	id;
	struct dat_rsm_free made[3];
	int		made_fd;
};

/* CALL_ON(fd, NR, arg): call the ioctl DAT_IOC_RSM_NR.  Returns the result of r_call(). */
#define CALL_ON(on, nr, arg)	((arg).size = sizeof(arg), r_call(on, DAT_IOC_RSM_##nr, &(arg)))
#undef CALL
#define CALL(nr, arg)	CALL_ON(w->fd, nr, arg)

static int nothing(struct world *w)
{
	(void)w;
	return 0;
}

static int open_other(struct world *w)
{
	w->other = open("/dev/rsm", O_RDWR | O_CLOEXEC);
	return w->other < 0;
}

static int close_other(struct world *w)
{
	return close(w->other);
}

static int call_OPEN(struct world *w)
{
	struct dat_rsm_open arg = { 0 };

	return CALL_ON(w->other, OPEN, arg);
}

static int call_CTLR(struct world *w)
{
	struct dat_rsm_ctlr arg = { .ctlr = w->ctlr };

	return CALL(CTLR, arg);
}

static int free_id(struct world *w, uint32_t type, uint32_t id)
{
	struct dat_rsm_free arg = { .type = type, .id = id };

	return CALL(FREE, arg);
}

static int free_export(struct world *w)
{
	return free_id(w, DAT_RSM_TYPE_EXPORT, w->id);
}

static int free_import(struct world *w)
{
	return free_id(w, DAT_RSM_TYPE_IMPORT, w->id);
}

static int free_localmem(struct world *w)
{
	return free_id(w, DAT_RSM_TYPE_LOCALMEM, w->id);
}

static int call_EXPORT(struct world *w)
{
	struct dat_rsm_export arg = {
		.ctlr = w->ctlr, .flags = DAT_RSM_REBINDABLE, .addr = (uintptr_t)w->mem,
		.length = R_SIZE,
	};
	int ret = CALL(EXPORT, arg);

	w->id = arg.id;
	return ret;
}

/* The segment has an importer, which the driver must notify of the rebind. */
static int call_REBIND(struct world *w)
{
	struct dat_rsm_rebind arg = {
		.id = w->exp, .addr = (uintptr_t)w->spare, .length = R_SIZE,
	};

	return CALL(REBIND, arg);
}

static int rebind_back(struct world *w)
{
	struct dat_rsm_rebind arg = {
		.id = w->exp, .addr = (uintptr_t)w->mem, .length = R_SIZE,
	};

	return CALL(REBIND, arg);
}

static int publish(struct world *w, uint32_t id, uint32_t *segid)
{
	struct dat_rsm_access list = { .node = w->node, .perm = 0666 };
	struct dat_rsm_publish arg = { .id = id, .list = (uintptr_t)&list, .count = 1,
				       .entry_size = sizeof(list) };
	int ret = CALL(PUBLISH, arg);

	*segid = arg.segid;
	return ret;
}

static int call_PUBLISH(struct world *w)
{
	uint32_t segid;

	return publish(w, w->id, &segid);
}

static int make_published(struct world *w)
{
	int ret = call_EXPORT(w);

	return ret ? ret : call_PUBLISH(w);
}

static int call_REPUBLISH(struct world *w)
{
	struct dat_rsm_access list[] = { { .node = w->node, .perm = 0644 },
					 { .node = w->node, .perm = 0622 } };
	struct dat_rsm_publish arg = {
		.id = w->exp, .list = (uintptr_t)list, .count = r_rdma() ? 2 : 1,
		.entry_size = sizeof(list[0]),
	};

	return CALL(REPUBLISH, arg);
}

static int call_UNPUBLISH(struct world *w)
{
	struct dat_rsm_unpublish arg = { .id = w->id };

	return CALL(UNPUBLISH, arg);
}

static int call_CONNECT(struct world *w)
{
	struct dat_rsm_connect arg = {
		.ctlr = w->ctlr, .node = w->node, .segid = w->segid, .perm = 0600,
	};
	int ret = CALL(CONNECT, arg);

	w->id = arg.id;
	return ret;
}

static int call_LOCALMEM(struct world *w)
{
	struct dat_rsm_localmem arg = {
		.ctlr = w->ctlr, .addr = (uintptr_t)w->spare, .length = R_SIZE,
	};
	int ret = CALL(LOCALMEM, arg);

	w->id = arg.id;
	return ret;
}

static int make_all(struct world *w)
{
	int ret = call_LOCALMEM(w);

	w->made[0] = (struct dat_rsm_free) { .type = DAT_RSM_TYPE_LOCALMEM, .id = w->id };
	if (!ret)
		ret = call_CONNECT(w);
	w->made[1] = (struct dat_rsm_free) { .type = DAT_RSM_TYPE_IMPORT, .id = w->id };
	if (!ret)
		ret = make_published(w);
	w->made[2] = (struct dat_rsm_free) { .type = DAT_RSM_TYPE_EXPORT, .id = w->id };
	return ret;
}

static int call_FREE(struct world *w)
{
	int ret = 0, i;

	for (i = 0; i < 3 && !ret; i++) {
		if (!w->made[i].id)
			continue;
		ret = CALL(FREE, w->made[i]);
		/* The object may have been freed although copying out the result failed. */
		if (ret == DAT_RSM_BAD_SEG || ret == DAT_RSM_BAD_LOCALMEM)
			ret = 0;
		if (!ret)
			w->made[i].id = 0;
	}
	return ret;
}

/* Put and get with two entries: one in user memory, one in a local memory. */
static int call_IO(struct world *w)
{
	struct dat_rsm_ioent e[2] = {
		{ .addr = (uintptr_t)w->spare, .length = 3 * R_PAGE, .width = 8 },
		{ .localmem = w->id, .offset = 8, .length = R_PAGE, .width = 1 },
	};
	struct dat_rsm_io arg = { .id = w->imp, .count = 2, .entries = (uintptr_t)e,
				  .entry_size = sizeof(e[0]) };
	int ret = CALL(IO, arg);

	arg.op = DAT_RSM_GET;
	return ret ? ret : CALL(IO, arg);
}

static int call_POST(struct world *w)
{
	struct dat_rsm_post arg = { .id = w->imp };

	return CALL(POST, arg);
}

static int call_WAIT(struct world *w)
{
	struct dat_rsm_wait arg = { .id = w->exp, .deadline_ns = DAT_RSM_FOREVER };

	return CALL(WAIT, arg);
}

static int consume(struct world *w)
{
	struct dat_rsm_wait arg = { .id = w->exp };

	usleep(R_LATE_MS * 1000);
	while (!CALL(WAIT, arg))
		;
	return 0;
}

/*
 * WAIT may be called twice, and each call consumes one event.  So post two events: without an
 * event, WAIT would wait forever.
 */
static int post_twice(struct world *w)
{
	int ret = call_POST(w);

	return ret ? ret : call_POST(w);
}

static int call_FD(struct world *w)
{
	struct dat_rsm_fd arg = { .id = w->imp };
	int ret = CALL(FD, arg);

	w->made_fd = arg.fd;
	return ret;
}

static int close_fd(struct world *w)
{
	return close(w->made_fd);
}

static int call_NODES(struct world *w)
{
	struct dat_rsm_node node = r_node_at(63, "10.9.0.63"), back;
	struct dat_rsm_nodes arg = {
		.flags = DAT_RSM_NODES_TABLE, .list = (uintptr_t)&node, .count = 1,
		.entry_size = sizeof(node),
	};
	int ret = CALL(NODES, arg);

	arg.flags = 0;
	arg.list = (uintptr_t)&back;
	return ret ? ret : CALL(NODES, arg);
}

static int forget_nodes(struct world *w)
{
	(void)w;
	return r_nodes(NULL, 0, -1);
}

static int call_TOPOLOGY(struct world *w)
{
	struct dat_rsm_link links[8];
	struct dat_rsm_topology arg = { .count = 8, .list = (uintptr_t)links,
					.entry_size = sizeof(links[0]) };

	return CALL(TOPOLOGY, arg);
}

static int call_RING(struct world *w)
{
	struct dat_rsm_ring arg = { .id = w->id };
	int ret = CALL(RING, arg);

	/* An import over loopback has no ring. */
	return !r_rdma() && ret == DAT_RSM_BAD_CTLR ? 0 : ret;
}

static int make_ring(struct world *w)
{
	int ret = call_CONNECT(w);

	return ret ? ret : call_RING(w);
}

/* deadline_ns is 0, so KICK does not wait. */
static int call_KICK(struct world *w)
{
	struct dat_rsm_kick arg = { .id = w->id, .index = ~0U };
	int ret = CALL(KICK, arg);

	return !r_rdma() && ret == DAT_RSM_BAD_CTLR ? 0 : ret;
}

/*
 * OP(ioctl, before, after, again, least)
 *
 * @before, @after: functions to call before and after the ioctl
 * @again: error that the repeated ioctl may return if the first call did its work, but could not
 *	copy the result to the caller
 * @least: least number of allocations and copies of the ioctl
 */
#define OPS(OP)									\
	OP(OPEN, open_other, close_other, DAT_RSM_BAD_CTLR, 3)			\
	OP(CTLR, nothing, nothing, DAT_RSM_OK, 1)				\
	OP(EXPORT, nothing, free_export, DAT_RSM_OK, 4)				\
	OP(REBIND, nothing, rebind_back, DAT_RSM_OK, 2)				\
	OP(PUBLISH, call_EXPORT, free_export, DAT_RSM_ALREADY_PUBLISHED, 3)	\
	OP(REPUBLISH, nothing, nothing, DAT_RSM_OK, 2)				\
	OP(UNPUBLISH, make_published, free_export, DAT_RSM_NOT_PUBLISHED, 1)	\
	OP(CONNECT, nothing, free_import, DAT_RSM_OK, 3)			\
	OP(LOCALMEM, nothing, free_localmem, DAT_RSM_OK, 3)			\
	OP(FREE, make_all, nothing, DAT_RSM_OK, 3)				\
	OP(IO, call_LOCALMEM, free_localmem, DAT_RSM_OK, 4)			\
	OP(POST, nothing, consume, DAT_RSM_OK, 1)				\
	OP(WAIT, post_twice, consume, DAT_RSM_OK, 1)				\
	OP(FD, nothing, close_fd, DAT_RSM_OK, 3)				\
	OP(NODES, nothing, forget_nodes, DAT_RSM_OK, 4)				\
	OP(TOPOLOGY, nothing, nothing, DAT_RSM_OK, 2)				\
	OP(RING, call_CONNECT, free_import, DAT_RSM_OK, 1)			\
	OP(KICK, make_ring, free_import, DAT_RSM_OK, 1)

#define OP_X(x)	.last = MAX_NTH, .again = x
#define OPS_ALL	(DAT_NR_RSM_KICK + 1)

static uint32_t find_ctlr(struct world *w)
{
	struct dat_rsm_ctlr arg = { 0 };

	if (!r_rdma())
		return DAT_RSM_LOOPBACK;
	for (arg.ctlr = 1; !CALL(CTLR, arg); arg.ctlr++)
		if (!strcmp(arg.name, r_ctlr()))
			break;
	return arg.ctlr;
}

static int world_open(struct world *w)
{
	struct dat_rsm_open open_arg = { 0 };
	int ret;

	w->fd = open("/dev/rsm", O_RDWR | O_CLOEXEC);
	ret = CALL(OPEN, open_arg);
	w->node = open_arg.node;
	w->ctlr = find_ctlr(w);
	w->mem = r_mem(R_SIZE);
	w->spare = r_mem(R_SIZE);
	if (!ret)
		ret = call_EXPORT(w);
	w->exp = w->id;
	if (!ret)
		ret = publish(w, w->exp, &w->segid);
	if (!ret)
		ret = call_CONNECT(w);
	w->imp = w->id;
	return ret;
}

static void world_close(struct world *w)
{
	close(w->fd);
}

/* Returns 0 if the import still works. */
static int world_works(struct world *w)
{
	int ret = call_LOCALMEM(w);

	return ret ? ret : call_IO(w);
}

/*
 * Returns 1 for an error that may be caused by missing memory or a failed copy.  Failures within an
 * adapter or rdma_cm are reported by less specific errors.
 */
static int says_so(int ret)
{
	if (r_rdma() && (ret == DAT_RSM_NO_RESOURCES || ret == DAT_RSM_UNREACHABLE))
		return 1;
	return ret == -ENOMEM || ret == -EFAULT || ret == DAT_RSM_NO_MEM || ret == DAT_RSM_BAD_ADDR;
}

#include "fault_ops.h"

TEST_HARNESS_MAIN
