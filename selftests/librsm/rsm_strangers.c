// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* What a process that uses RSM over loopback cannot do to unrelated processes. */
#include "rsm_test.h"
#include "proc.h"

#include <fcntl.h>
#include <sched.h>

#include "rsm_call.h"

#define PLACES		"/sys/module/dat_rsm/parameters/max_segments"
#define SEGID		0x612345U
#define MAX_MAPS	1024U	/* value of RSM_MAX_MAPS in the driver */
#define NOBODY		65534

static int rsm_file(void)
{
	struct dat_rsm_open o = { .size = sizeof(o) };
	int fd = open("/dev/rsm", O_RDWR | O_CLOEXEC);

	return fd >= 0 && !CALL(fd, OPEN, &o) ? fd : -1;
}

static int export(int fd, char *mem, size_t size, uint32_t *id)
{
	struct dat_rsm_export e = {
		.size = sizeof(e), .addr = (uintptr_t)mem, .length = size,
		.flags = DAT_RSM_REBINDABLE,
	};
	int ret = CALL(fd, EXPORT, &e);

	*id = e.id;
	return ret;
}

static int publish(int fd, uint32_t id, uint32_t segid)
{
	struct dat_rsm_publish p = { .size = sizeof(p), .id = id, .segid = segid };

	return CALL(fd, PUBLISH, &p);
}

static int unpublish(int fd, uint32_t id)
{
	struct dat_rsm_unpublish u = { .size = sizeof(u), .id = id };

	return CALL(fd, UNPUBLISH, &u);
}

static int connect_to(int fd, uint32_t segid, uint32_t perm, struct dat_rsm_connect *c)
{
	*c = (struct dat_rsm_connect) { .size = sizeof(*c), .segid = segid, .perm = perm };
	return CALL(fd, CONNECT, c);
}

static char *window(int fd, const struct dat_rsm_connect *c, size_t at, size_t size)
{
	char *va = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, (off_t)(c->map_offset + at));

	return va == MAP_FAILED ? NULL : va;
}

static int set_places(const char *n)
{
	FILE *f = fopen(PLACES, "w");

	if (!f)
		return -1;
	fputs(n, f);
	return fclose(f);
}

FIXTURE(strangers) {
	int		fd;
	char		*mem;
	uint32_t	exp;
};

FIXTURE_SETUP(strangers)
{
	self->fd = rsm_file();
	ASSERT_LE(0, self->fd);
	self->mem = r_mem(2 * R_SIZE);
	ASSERT_EQ(0, export(self->fd, self->mem, R_SIZE, &self->exp));
	ASSERT_EQ(0, publish(self->fd, self->exp, SEGID));
}

FIXTURE_TEARDOWN(strangers)
{
	close(self->fd);
	munmap(self->mem, 2 * R_SIZE);
	set_places("4095");
}

TEST_F(strangers, a_window_has_a_bounded_number_of_mappings)
{
	struct dat_rsm_connect c, other;
	char *three, *last = NULL, *before = NULL, *va;
	unsigned int n = 1;

	ASSERT_EQ(0, connect_to(self->fd, SEGID, DAT_RSM_READ, &c));
	three = window(self->fd, &c, 0, 3 * R_PAGE);
	ASSERT_NE(NULL, three);
	/*
	 * Map the same page each time, because the kernel would merge mappings of adjacent pages.
	 */
	while (n <= MAX_MAPS && (va = window(self->fd, &c, 0, R_PAGE))) {
		before = last;
		last = va;
		n++;
	}
	EXPECT_EQ(ENOMEM, errno);
	EXPECT_EQ(MAX_MAPS, n);
	/*
	 * The kernel splits the mapping before it unmaps the middle page.  The split would exceed
	 * the limit, so munmap() fails.
	 */
	EXPECT_EQ(-1, munmap(three + R_PAGE, R_PAGE));
	EXPECT_EQ(ENOMEM, errno);
	EXPECT_EQ(0, munmap(last, R_PAGE));
	EXPECT_EQ(0, munmap(before, R_PAGE));
	EXPECT_EQ(0, munmap(three + R_PAGE, R_PAGE));
	/* Another import has a limit of its own. */
	ASSERT_EQ(0, connect_to(self->fd, SEGID, DAT_RSM_READ, &other));
	EXPECT_NE(NULL, window(self->fd, &other, 0, R_PAGE));
}

/* Import SEGID until the limit is reached.  Returns the number of imports; above 123: an error. */
static int imports_until_refused(void)
{
	struct dat_rsm_connect c;
	int fd = rsm_file(), n = 0;

	while (n < 126 && !connect_to(fd, SEGID, DAT_RSM_READ, &c))
		n++;
	/* The limit applies to all files of a user together. */
	if (!connect_to(rsm_file(), SEGID, DAT_RSM_READ, &c))
		return 125;
	return c.err == DAT_RSM_NO_RESOURCES ? n : 124;
}

/* The same as user @uid. */
static int imports_of(uid_t uid)
{
	return setgid(uid) || setuid(uid) ? 127 : imports_until_refused();
}

/* The same with the real user 0, but without capabilities. */
static int imports_of_bare_root(void *unused)
{
	return seteuid(NOBODY) ? 127 : imports_until_refused();
}

static int imports_of_child(void *arg)
{
	return imports_of((uid_t)(uintptr_t)arg);
}

struct hoard {
	int	ready[2];
	int	go[2];
	pid_t	pid;
};

static int hoard_start(struct hoard *h, uid_t uid)
{
	char n;

	if (pipe(h->ready) || pipe(h->go))
		return -1;
	h->pid = fork();
	if (!h->pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		n = (char)imports_of(uid);
		write(h->ready[1], &n, 1);
		read(h->go[0], &n, 1);
		_exit(0);
	}
	return read(h->ready[0], &n, 1) == 1 ? n : -1;
}

static void hoard_end(struct hoard *h)
{
	kill(h->pid, SIGKILL);
	waitpid(h->pid, NULL, 0);
}

/* Export SEGID again, so that every user may import it. */
static int export_to_all(FIXTURE_DATA(strangers) *self)
{
	int ret = unpublish(self->fd, self->exp);

	umask(0);
	close(self->fd);
	self->fd = rsm_file();
	ret = ret ? ret : export(self->fd, self->mem, R_SIZE, &self->exp);
	return ret ? ret : publish(self->fd, self->exp, SEGID);
}

TEST_F(strangers, a_user_leaves_places_to_others)
{
	struct dat_rsm_connect c;
	struct hoard h;
	int i;

	if (getuid() || chmod("/dev/rsm", 0666) || set_places("80"))
		SKIP(return, "needs root to become somebody else");
	ASSERT_EQ(0, export_to_all(self));
	/* With max_segments = 80 each user may hold a quarter, whatever other users hold. */
	EXPECT_EQ(20, hoard_start(&h, NOBODY));
	EXPECT_EQ(20, r_child(imports_of_child, (void *)(uintptr_t)(NOBODY - 1)));
	/*
	 * root may hold all places that are left.  Of the 80 places, the user's imports have 20,
	 * and the export of this process has one.
	 */
	for (i = 0; i < 40; i++)
		ASSERT_EQ(0, connect_to(self->fd, SEGID, DAT_RSM_READ, &c));
	hoard_end(&h);
	/* The end of the user's process has given its 20 places back. */
	EXPECT_EQ(20, r_child(imports_of_child, (void *)(uintptr_t)NOBODY));
}

TEST_F(strangers, the_privileged_take_no_places_from_others_of_their_uid)
{
	struct dat_rsm_connect c;
	int i;

	if (getuid() || chmod("/dev/rsm", 0666) || set_places("80"))
		SKIP(return, "needs root to become somebody else");
	ASSERT_EQ(0, export_to_all(self));
	for (i = 0; i < 20; i++)
		ASSERT_EQ(0, connect_to(self->fd, SEGID, DAT_RSM_READ, &c));
	EXPECT_EQ(20, r_child(imports_of_bare_root, NULL));
}

/*
 * Become NOBODY, and make a user namespace.  The parent maps its uids from @go on.  Returns the
 * number of imports of a second uid of the namespace while a first uid imports as much as it can.
 */
static int imports_of_second_uid(int ready, int go)
{
	struct hoard h;
	char c = 0;
	int n;

	if (setgid(NOBODY) || setuid(NOBODY) || unshare(CLONE_NEWUSER))
		return 127;
	write(ready, &c, 1);
	read(go, &c, 1);
	n = hoard_start(&h, 1);
	if (n != 20)
		return 126;
	n = r_child(imports_of_child, (void *)(uintptr_t)2);
	hoard_end(&h);
	return n;
}

/* A user may have many subordinate uids, as the user of a container has. */
TEST_F(strangers, all_uids_of_a_user_namespace_have_the_share_of_its_creator)
{
	int ready[2], go[2], status;
	char path[64], c = 0;
	pid_t pid;

	if (getuid() || chmod("/dev/rsm", 0666) || set_places("80"))
		SKIP(return, "needs root to become somebody else");
	ASSERT_EQ(0, export_to_all(self));
	ASSERT_EQ(0, pipe(ready) || pipe(go));
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		_exit(imports_of_second_uid(ready[1], go[0]));
	}
	close(ready[1]);
	if (read(ready[0], &c, 1) != 1)
		SKIP(return, "users may not make user namespaces");
	snprintf(path, sizeof(path), "/proc/%d/uid_map", pid);
	ASSERT_EQ(0, write_text(path, "0 100000 10"));
	snprintf(path, sizeof(path), "/proc/%d/gid_map", pid);
	ASSERT_EQ(0, write_text(path, "0 100000 10"));
	ASSERT_EQ(1, write(go[1], &c, 1));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	ASSERT_TRUE(WIFEXITED(status));
	EXPECT_EQ(0, WEXITSTATUS(status));
}

#define CROWD_IMPORTS	32
#define CROWD_MAPS	1000	/* mappings of each import */
#define CROWD_MS	20000	/* time limit; a slow kernel makes fewer imports */
#define CROWD		2	/* processes: each can have only 65,530 mappings */

/*
 * Import SEGID up to CROWD_IMPORTS times, and map each import CROWD_MAPS times.  Report the number
 * of imports to @ready, and wait to be killed.
 */
static void crowd(int ready)
{
	uint64_t begin = now_ms();
	struct dat_rsm_connect c;
	volatile char sum = 0;
	int i, k, fd = rsm_file();
	char *va, n;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (i = 0; i < CROWD_IMPORTS && now_ms() - begin < CROWD_MS; i++) {
		if (connect_to(fd, SEGID, DAT_RSM_READ, &c))
			_exit(1);
		for (k = 0; k < CROWD_MAPS; k++) {
			va = window(fd, &c, 0, R_PAGE);
			if (!va)
				_exit(2);
			sum += *va;
		}
	}
	n = i;
	write(ready, &n, 1);
	/*
	 * Close the pipe, so that its reader does not wait for this process if another process
	 * fails.
	 */
	close(ready);
	pause();
	_exit(3);
}

struct count {
	unsigned int	rounds;
	int		stop;
};

/* Publish and unpublish a segment in a loop, and count the rounds. */
static void publisher(volatile struct count *count)
{
	int fd = rsm_file();
	uint32_t id;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (export(fd, r_mem(R_PAGE), R_PAGE, &id))
		_exit(1);
	while (!count->stop) {
		if (publish(fd, id, SEGID + 1) || unpublish(fd, id))
			_exit(2);
		count->rounds++;
	}
	_exit(0);
}

#define MOVES	10
#define MOVES_MS	5000	/* after this time, no further rebind begins */

/*
 * While a rebind zaps the 1,000 mappings of one import, publisher() must complete more than this
 * number of rounds on average.  Usually it completes 300 rounds.  If a zap held the node's lock,
 * publisher() could run only between the zaps of two imports, and would complete about 6 rounds.
 */
#define MEANWHILE	8

/*
 * A rebind zaps up to 64,000 mappings, one import after the other.  A rebind must not hold the
 * node's lock meanwhile, because publisher() needs that lock.
 */
TEST_F_TIMEOUT(strangers, others_publish_while_many_windows_are_zapped, 240)
{
	struct dat_rsm_rebind b = { .size = sizeof(b), .id = self->exp, .length = R_SIZE };
	volatile struct count *count;
	pid_t pid[CROWD], other;
	uint64_t begin = now_ms(), mapped, ms;
	uint32_t start, during, imports = 0;
	int i, ready[2];
	char c;

	count = mmap(NULL, R_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_EQ(0, pipe(ready));
	for (i = 0; i < CROWD; i++) {
		pid[i] = fork();
		if (!pid[i])
			crowd(ready[1]);
	}
	/*
	 * Only the processes in crowd() keep the pipe's write end open.  If all of them fail,
	 * read() returns 0.
	 */
	close(ready[1]);
	other = fork();
	if (!other)
		publisher(count);
	for (i = 0; i < CROWD; i++) {
		ASSERT_EQ(1, read(ready[0], &c, 1));
		imports += c;
	}
	while (!count->rounds)
		usleep(1000);
	mapped = now_ms() - begin;
	start = count->rounds;
	ms = now_ms();
	for (i = 0; i < MOVES && (!i || now_ms() - ms < MOVES_MS); i++) {
		b.addr = (uintptr_t)self->mem + (i & 1 ? 0 : R_SIZE);
		ASSERT_EQ(0, CALL(self->fd, REBIND, &b));
	}
	ms = now_ms() - ms;
	during = count->rounds - start;
	TH_LOG("%u imports mapped in %lu ms; %u rounds in %lu ms of %d rebinds", imports, mapped,
	       during, ms, i);
	EXPECT_LT(MEANWHILE * imports * i, during);
	count->stop = 1;
	EXPECT_EQ(other, waitpid(other, &i, 0));
	EXPECT_EQ(0, i);
	for (i = 0; i < CROWD; i++) {
		kill(pid[i], SIGKILL);
		waitpid(pid[i], NULL, 0);
	}
}

#define IDLE_SEGID	(SEGID + 2)
#define IDLE_MS		60000
#define PROOFS		5

/*
 * Rebind a segment in a loop while its window is mapped MAX_MAPS times.  *@rounds counts the
 * rebinds.  Any other process of the same CPU interrupts the loop, also in the middle of a zap.
 */
static void idle_rebinder(volatile unsigned int *rounds)
{
	struct dat_rsm_rebind b = { .size = sizeof(b), .length = R_SIZE };
	char *mem = r_mem(2 * R_SIZE);
	struct dat_rsm_connect c;
	unsigned int i;
	uint32_t id;
	int fd = rsm_file();

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (export(fd, mem, R_SIZE, &id) || publish(fd, id, IDLE_SEGID) ||
	    connect_to(fd, IDLE_SEGID, DAT_RSM_READ, &c))
		_exit(1);
	for (i = 0; i < MAX_MAPS; i++)
		if (!window(fd, &c, 0, R_PAGE))
			_exit(2);
	if (sched_setscheduler(0, SCHED_IDLE, &(struct sched_param) {}))
		_exit(3);
	b.id = id;
	for (;;) {
		b.addr = (uintptr_t)mem + (*rounds & 1 ? 0 : R_SIZE);
		if (CALL(fd, REBIND, &b))
			_exit(4);
		++*rounds;
	}
}

/* Returns 1 if the process is inside a zap, at a point where it holds the lock of the mapping. */
static int in_zap(pid_t pid)
{
	char path[32], stack[2048] = "";
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stack", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = read(fd, stack, sizeof(stack) - 1);
	close(fd);
	/* Linux 7.2 calls the function __zap_vma_range(). */
	return n > 0 && (strstr(stack, "zap_page_range") || strstr(stack, "unmap_page_range") ||
			 strstr(stack, "zap_vma_range"));
}

/*
 * Map a page of the window of @c while process @pid is in a zap.  Returns 1 if the same zap was
 * still running after the mapping, 0 if that cannot be told, or -1 on failure.
 */
static int mapped_during_zap(int fd, const struct dat_rsm_connect *c, pid_t pid,
			     volatile unsigned int *rounds)
{
	unsigned int before = *rounds;
	char *va;

	if (!in_zap(pid))
		return 0;
	va = window(fd, c, 0, R_PAGE);
	if (!va || munmap(va, R_PAGE))
		return -1;
	return in_zap(pid) && *rounds == before;
}

/*
 * A zap holds the lock of the file's mapping, and mapping a window needs that lock.  Each open file
 * has a mapping of its own.  So this process can map its window while it interrupts idle_rebinder()
 * on the same CPU in the middle of a zap.
 */
TEST_F_TIMEOUT(strangers, a_window_is_mapped_in_the_middle_of_anothers_zap, 120)
{
	uint64_t begin = now_ms();
	volatile unsigned int *rounds;
	struct dat_rsm_connect c;
	int ret, proofs = 0, zaps = 0;
	cpu_set_t here;
	pid_t pid;

	if (getuid())
		SKIP(return, "needs root");
	CPU_ZERO(&here);
	CPU_SET(sched_getcpu(), &here);
	ASSERT_EQ(0, sched_setaffinity(0, sizeof(here), &here));
	rounds = mmap(NULL, R_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_EQ(0, connect_to(self->fd, SEGID, DAT_RSM_READ, &c));
	pid = fork();
	if (!pid)
		idle_rebinder(rounds);
	while (proofs < PROOFS && now_ms() - begin < IDLE_MS && !waitpid(pid, &ret, WNOHANG)) {
		ret = mapped_during_zap(self->fd, &c, pid, rounds);
		ASSERT_LE(0, ret);
		zaps += in_zap(pid);
		proofs += ret;
		usleep(1000);
	}
	EXPECT_EQ(PROOFS, proofs) TH_LOG("%d looks at zaps, %u rebinds", zaps, *rounds);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

TEST_HARNESS_MAIN
