/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) The dat authors */
/*
 * RSMAPI for tests.  The comment "RSM check: N" before a test names the conformance checks that the
 * test covers, by their numbers in rsm_checks.txt.
 *
 * Most programs are built twice: for loopback, and as NAME_rdma for the first adapter.  NAME_rdma
 * also exports and imports on the same machine, but all messages go through the adapter.  So
 * signals, the data of explicit puts and the notice of a cut arrive some time after the call.
 * R_SOON_MS, R_LATE_MS and r_drain() allow for this delay.  A test that runs only over loopback,
 * or only over an adapter, uses R_LOOPBACK_ONLY() or r_rdma().
 */
#ifndef RSM_TEST_H
#define RSM_TEST_H

#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rsmapi.h>

#include "kselftest_harness.h"
#include "clock.h"

#ifdef R_RDMA
/*
 * Over an adapter a test needs more time, because connections use a real protocol stack on an
 * emulated machine.
 */
#undef TEST_TIMEOUT_DEFAULT
#define TEST_TIMEOUT_DEFAULT 120
#endif

#define R_PAGE		((size_t)sysconf(_SC_PAGESIZE))
#define R_PAGES		8
#define R_SIZE		(R_PAGES * R_PAGE)
#define R_SEGID		0x600000
#define R_WAIT_MS	20000	/* timeout for expected events; the debug kernel is slow */
#define R_QUIET_MS	200	/* wait that shows that no event comes */
#define R_SOON_MS	(r_rdma() ? R_WAIT_MS : 0)	/* 0: loopback acts without delay */
#define R_LATE_MS	(r_rdma() ? R_QUIET_MS : 0)	/* no event may come within this time */

/* Controller that the program is built for. */
#ifdef R_RDMA
static inline int r_rdma(void) { return 1; }

/* Returns "rdma0", the first adapter, unless RSM_CTLR names another adapter. */
static inline char *r_ctlr(void)
{
	char *name = getenv("RSM_CTLR");

	return name ? name : "rdma0";
}
#else
static inline int r_rdma(void) { return 0; }
static inline char *r_ctlr(void) { return NULL; }
#endif

/*
 * First statement of a test that runs only over loopback.  scripts/rsm-conformance searches for
 * this macro.
 */
#define R_LOOPBACK_ONLY(why) do {						\
	if (r_rdma())								\
		SKIP(return, why);						\
} while (0)

/* Number of repetitions.  Over an adapter, repeat only @n / 10 times, because each takes longer. */
#define R_TIMES(n)	(r_rdma() ? (n) / 10 : (n))

/* A published segment of this process, and an import of the segment by the same process. */
struct r_pair {
	rsmapi_controller_handle_t	ctlr;
	rsm_node_id_t			node;
	char				*mem;
	rsm_memseg_export_handle_t	exp;
	rsm_memseg_id_t			id;
	rsm_memseg_import_handle_t	imp;
	rsmapi_barrier_t		barrier;
};

static inline void *r_mem(size_t size)
{
	void *va = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return va == MAP_FAILED ? NULL : va;
}

static inline int r_node(rsm_node_id_t *node)
{
	rsm_topology_t *t;
	int ret = rsm_get_interconnect_topology(&t);

	if (!ret)
		*node = t->topology_hdr.local_nodeid;
	if (!ret)
		rsm_free_interconnect_topology(t);
	return ret;
}

static inline int r_open(struct r_pair *p)
{
	int ret;

	memset(p, 0, sizeof(*p));
	ret = rsm_get_controller(r_ctlr(), &p->ctlr);
	return ret ? ret : r_node(&p->node);
}

static inline int r_export(struct r_pair *p)
{
	int ret;

	p->mem = r_mem(R_SIZE);
	ret = rsm_memseg_export_create(p->ctlr, &p->exp, p->mem, R_SIZE, RSM_ALLOW_REBIND);
	return ret ? ret : rsm_memseg_export_publish(p->exp, &p->id, NULL, 0);
}

static inline int r_import(struct r_pair *p, rsm_permission_t perm)
{
	int ret = rsm_memseg_import_connect(p->ctlr, p->node, p->id, perm, &p->imp);

	return ret ? ret : rsm_memseg_import_init_barrier(p->imp, RSM_BAR_DEFAULT, &p->barrier);
}

/* Create another import, with a barrier for implicit transfers. */
static inline int r_also(struct r_pair *p, rsm_permission_t perm, void **imp,
			 rsmapi_barrier_t *barrier)
{
	int ret = rsm_memseg_import_connect(p->ctlr, p->node, p->id, perm, imp);

	return ret ? ret : rsm_memseg_import_init_barrier(*imp, RSM_BAR_DEFAULT, barrier);
}

static inline int r_pair(struct r_pair *p)
{
	int ret = r_open(p);

	if (!ret)
		ret = r_export(p);
	return ret ? ret : r_import(p, RSM_PERM_RDWR);
}

static inline void r_close(struct r_pair *p)
{
	rsm_memseg_import_unmap(p->imp);
	rsm_memseg_release_pollfd(p->imp);
	rsm_memseg_import_disconnect(p->imp);
	rsm_memseg_release_pollfd(p->exp);
	rsm_memseg_export_destroy(p->exp);
	rsm_release_controller(p->ctlr);
	if (p->mem)
		munmap(p->mem, R_SIZE);
}

/* Returns 1 if @size bytes at @at are all @c. */
static inline int r_all(const char *at, char c, size_t size)
{
	while (size--)
		if (*at++ != c)
			return 0;
	return 1;
}

/*
 * Run @fn in a child process.  Returns the result of @fn, which must be below 128, or -1 if the
 * child failed.
 */
static inline int r_child(int (*fn)(void *arg), void *arg)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		_exit(fn(arg));
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status);
}

/*
 * A process that exports a segment, and sends the segment id through a pipe.  Each call of
 * r_peer_go() makes the process run its function once.  The process exits when r_peer_stop() closes
 * the pipe.
 */
struct r_peer {
	pid_t			pid;
	int			to;
	int			from;
	rsm_memseg_id_t		id;
};

static inline int r_peer_start(struct r_peer *peer, void (*then)(struct r_pair *p))
{
	int to[2], from[2];
	struct r_pair p;
	char c;

	if (pipe(to) || pipe(from))
		return -1;
	peer->pid = fork();
	if (!peer->pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(to[1]);
		if (r_open(&p) || r_export(&p))
			_exit(1);
		memset(p.mem, 'e', R_SIZE);
		write(from[1], &p.id, sizeof(p.id));
		while (read(to[0], &c, 1) == 1 && c != 'q') {
			if (then)
				then(&p);
			write(from[1], &c, 1);
		}
		_exit(0);
	}
	close(to[0]);
	close(from[1]);
	peer->to = to[1];
	peer->from = from[0];
	return read(peer->from, &peer->id, sizeof(peer->id)) == sizeof(peer->id) ? 0 : -1;
}

/* Let the process run its function, and wait until the function has returned. */
static inline int r_peer_go(struct r_peer *peer)
{
	char c = 'g';

	return write(peer->to, &c, 1) == 1 && read(peer->from, &c, 1) == 1 ? 0 : -1;
}

static inline void r_peer_stop(struct r_peer *peer, int sig)
{
	if (sig)
		kill(peer->pid, sig);
	close(peer->to);
	waitpid(peer->pid, NULL, 0);
	close(peer->from);
}

/*
 * Wait until everything that the import of @p has sent has arrived.  A disconnect waits for that,
 * so connect the import again.
 */
static inline int r_drain(struct r_pair *p)
{
	int ret;

	if (!r_rdma())
		return 0;
	ret = rsm_memseg_import_disconnect(p->imp);
	p->imp = NULL;
	return ret ? ret : r_import(p, RSM_PERM_RDWR);
}

#endif /* RSM_TEST_H */
