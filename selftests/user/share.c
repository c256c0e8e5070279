// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* Names of shared memory (DAT_LMR_SHARED), used by processes that do not trust each other. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "dat_test.h"
#include "proc.h"

#define NOBODY	65534
#define PAGE	4096
#define SIZE	(4 * PAGE)

/* Register [va, va + length) as shared memory with the name @cookie. */
static int name_memory(struct t_file *f, uint32_t pz, const void *va, uint64_t length,
		       const char *cookie, uint32_t *id)
{
	struct dat_lmr_create arg = {
		.size = sizeof(arg), .pz = pz, .addr = (uintptr_t)va, .length = length,
		.priv = DAT_PRIV_LOCAL_READ, .flags = DAT_LMR_SHARED,
	};
	int ret;

	memcpy(arg.cookie, cookie, strnlen(cookie, sizeof(arg.cookie)));
	ret = t_ioctl(f->fd, DAT_IOC_LMR_CREATE, &arg);
	if (id)
		*id = arg.id;
	return ret;
}

static void *map_fd(int fd, size_t size, off_t offset)
{
	return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, offset);
}

static int memory(size_t size)
{
	int fd = memfd_create("dat-share", 0);

	return ftruncate(fd, size) ? -1 : fd;
}

/*
 * Another process: registers the memory of @fd under a name, reports the result, and keeps the
 * registration until other_stop() or other_kill().
 */
struct other {
	pid_t	pid;
	int	go;
	int	ret;
};

static void other_main(int fd, size_t size, const char *cookie, uid_t uid, int say, int go)
{
	struct t_file f;
	uint32_t pz, id;
	int ret;
	char c;

	ret = t_open(&f);
	if (!ret)
		ret = t_pz(&f, &pz);
	if (!ret && uid)
		ret = setuid(uid);
	if (!ret)
		ret = name_memory(&f, pz, map_fd(fd, size, 0), size, cookie, &id);
	write(say, &ret, sizeof(ret));
	read(go, &c, 1);
	_exit(ret ? 0 : -t_free(&f, DAT_OBJ_LMR, id));
}

static int other_start(struct other *o, int fd, size_t size, const char *cookie, uid_t uid)
{
	int say[2], go[2];

	if (pipe(say) || pipe(go))
		return -errno;
	o->pid = fork();
	if (!o->pid) {
		close(go[1]);
		other_main(fd, size, cookie, uid, say[1], go[0]);
	}
	close(say[1]);
	close(go[0]);
	o->go = go[1];
	if (read(say[0], &o->ret, sizeof(o->ret)) != sizeof(o->ret))
		o->ret = -EPIPE;
	close(say[0]);
	return o->ret;
}

/* Let the other process free its memory and exit.  Returns its wait status. */
static int other_stop(struct other *o)
{
	int status;

	close(o->go);
	waitpid(o->pid, &status, 0);
	return status;
}

static void other_kill(struct other *o)
{
	kill(o->pid, SIGKILL);
	other_stop(o);
}

FIXTURE(share) {
	struct t_pair p;
	struct t_link link;
	long pin;
	int fd;
	char *va;
};

FIXTURE_SETUP(share)
{
	ASSERT_EQ(0, t_pair_open(&self->p));
	ASSERT_EQ(0, t_link_open(&self->p, &self->link));
	self->fd = memory(SIZE);
	ASSERT_LE(0, self->fd);
	self->va = map_fd(self->fd, SIZE, 0);
	ASSERT_NE(MAP_FAILED, self->va);
	self->pin = vm_pin_kb();
}

FIXTURE_TEARDOWN(share)
{
	EXPECT_EQ(0, t_link_works(&self->p, &self->link));
	t_pair_close(&self->p);
}

static int name_it(FIXTURE_DATA(share) *self, const void *va, uint64_t length,
		   const char *cookie, uint32_t *id)
{
	return name_memory(&self->p.f, self->p.pz, va, length, cookie, id);
}

TEST_F(share, a_name_in_use_is_EEXIST_for_other_memory)
{
	struct other o;
	int theirs = memory(SIZE);
	uint32_t id;

	ASSERT_EQ(0, name_it(self, self->va, SIZE, "mine", &id));
	EXPECT_EQ(-EEXIST, other_start(&o, theirs, SIZE, "mine", 0));
	other_stop(&o);
	/* The first registration keeps the name "mine", and a different name is still free. */
	EXPECT_EQ(0, other_start(&o, theirs, SIZE, "nine", 0));
	EXPECT_EQ(0, other_stop(&o));
	EXPECT_EQ(0, name_it(self, self->va, SIZE, "mine", NULL));
}

TEST_F(share, a_process_of_the_same_user_shares_the_name)
{
	struct other o;

	ASSERT_EQ(0, name_it(self, self->va, SIZE, "ours", NULL));
	EXPECT_EQ(0, other_start(&o, self->fd, SIZE, "ours", 0));
	EXPECT_EQ(0, other_stop(&o));
}

/*
 * Each user has its own names.  So another user can neither take a name that it guesses nor learn
 * that the name is in use.
 */
TEST_F(share, another_user_has_names_of_its_own)
{
	struct other o;
	int theirs = memory(SIZE);

	ASSERT_EQ(0, name_it(self, self->va, SIZE, "guess", NULL));
	EXPECT_EQ(0, other_start(&o, theirs, SIZE, "guess", NOBODY));
	EXPECT_EQ(0, name_it(self, self->va, SIZE, "guess", NULL));
	EXPECT_EQ(0, other_stop(&o));
}

/* Two registrations are of the same memory if file, offset and length are equal. */
TEST_F(share, other_parts_of_the_same_file_are_other_memory)
{
	char *page = map_fd(self->fd, PAGE, PAGE);
	char *again = map_fd(self->fd, SIZE, 0);

	ASSERT_EQ(0, name_it(self, self->va + PAGE, PAGE, "part", NULL));
	EXPECT_EQ(-EEXIST, name_it(self, self->va, PAGE, "part", NULL));
	EXPECT_EQ(-EEXIST, name_it(self, self->va + PAGE, PAGE - 1, "part", NULL));
	EXPECT_EQ(-EEXIST, name_it(self, self->va + PAGE, PAGE + 1, "part", NULL));
	EXPECT_EQ(-EEXIST, name_it(self, self->va + PAGE + 1, PAGE, "part", NULL));
	EXPECT_EQ(0, name_it(self, page, PAGE, "part", NULL));
	EXPECT_EQ(0, name_it(self, again + PAGE, PAGE, "part", NULL));
	/* The same memory can have a second name. */
	EXPECT_EQ(0, name_it(self, again + PAGE, PAGE, "port", NULL));
}

/* All 40 bytes of the name count; a zero byte does not end the name. */
TEST_F(share, a_name_is_all_of_its_bytes)
{
	struct dat_lmr_create arg = {
		.size = sizeof(arg), .pz = self->p.pz, .addr = (uintptr_t)self->va,
		.length = PAGE, .flags = DAT_LMR_SHARED,
	};
	int i;

	ASSERT_EQ(0, t_ioctl(self->p.f.fd, DAT_IOC_LMR_CREATE, &arg));
	for (i = 0; i < DAT_LMR_COOKIE; i++) {
		memset(arg.cookie, 0, sizeof(arg.cookie));
		arg.cookie[i] = 1;
		arg.addr = (uintptr_t)self->va + PAGE;
		EXPECT_EQ(0, t_ioctl(self->p.f.fd, DAT_IOC_LMR_CREATE, &arg)) TH_LOG("%d", i);
		arg.addr = (uintptr_t)self->va;
		EXPECT_EQ(-EEXIST, t_ioctl(self->p.f.fd, DAT_IOC_LMR_CREATE, &arg));
	}
}

/* Memory that other processes cannot map cannot have a name. */
TEST_F(share, memory_that_is_not_one_shared_file_is_EEXIST)
{
	int flags = MAP_PRIVATE | MAP_ANONYMOUS, rw = PROT_READ | PROT_WRITE;
	char *own = mmap(NULL, SIZE, rw, flags, -1, 0);
	char *copy = mmap(NULL, SIZE, rw, MAP_PRIVATE, self->fd, 0);
	char *two = mmap(NULL, 2 * SIZE, rw, flags, -1, 0);

	EXPECT_EQ(-EEXIST, name_it(self, own, SIZE, "bad", NULL));
	EXPECT_EQ(-EEXIST, name_it(self, copy, SIZE, "bad", NULL));
	/* The mapped pages of the driver belong to a device, not to a file. */
	EXPECT_EQ(-EEXIST, name_it(self, self->p.f.db.va, PAGE, "bad", NULL));
	EXPECT_EQ(-EEXIST, name_it(self, self->p.cr.status.va, PAGE, "bad", NULL));
	/*
	 * Refuse three ranges that are not one piece of the file: the file followed by other
	 * memory, the file mapped twice, and the file with a hole.
	 */
	mmap(two, SIZE, rw, MAP_SHARED | MAP_FIXED, self->fd, 0);
	EXPECT_EQ(-EEXIST, name_it(self, two, SIZE + 1, "bad", NULL));
	mmap(two + SIZE, SIZE, rw, MAP_SHARED | MAP_FIXED, self->fd, 0);
	EXPECT_EQ(-EEXIST, name_it(self, two, 2 * SIZE, "bad", NULL));
	munmap(two + PAGE, PAGE);
	EXPECT_EQ(-EEXIST, name_it(self, two, SIZE, "bad", NULL));
	/* The failed calls have neither used up the name nor pinned a page. */
	EXPECT_EQ(self->pin, vm_pin_kb());
	EXPECT_EQ(0, name_it(self, self->va, SIZE, "bad", NULL));
}

TEST_F(share, lengths_at_the_limits)
{
	uint64_t at = (uintptr_t)self->va;

	EXPECT_EQ(-EINVAL, name_it(self, self->va, 0, "len", NULL));
	EXPECT_EQ(-EINVAL, name_it(self, self->va, ~0ULL, "len", NULL));
	EXPECT_EQ(-EINVAL, name_it(self, self->va, -at, "len", NULL));
	/* The end is in the last page of the address space, where no memory is. */
	EXPECT_EQ(-EINVAL, name_it(self, self->va, ~at, "len", NULL));
	EXPECT_EQ(-EEXIST, name_it(self, NULL, 1, "len", NULL));
	EXPECT_EQ(-EEXIST, name_it(self, self->va, 1ULL << 62, "len", NULL));
	EXPECT_EQ(self->pin, vm_pin_kb());
	EXPECT_EQ(0, name_it(self, self->va + SIZE - 1, 1, "len", NULL));
	EXPECT_EQ(-EEXIST, name_it(self, self->va + SIZE - 2, 1, "len", NULL));
}

/* A file that is mapped in adjacent pieces, in order, counts as one memory. */
TEST_F(share, pieces_of_a_file_in_order_are_one_memory)
{
	struct other o;

	/* A different flag of one page splits the mapping into pieces. */
	ASSERT_EQ(0, madvise(self->va + PAGE, PAGE, MADV_DONTDUMP));
	ASSERT_EQ(0, name_it(self, self->va, SIZE, "pieces", NULL));
	EXPECT_EQ(0, other_start(&o, self->fd, SIZE, "pieces", 0));
	EXPECT_EQ(0, other_stop(&o));
}

TEST_F(share, a_name_lasts_until_its_last_user_frees)
{
	struct other o;
	int theirs = memory(SIZE);
	char *more = map_fd(theirs, SIZE, 0);
	uint32_t id;

	ASSERT_EQ(0, name_it(self, self->va, SIZE, "last", &id));
	ASSERT_EQ(0, other_start(&o, self->fd, SIZE, "last", 0));
	/* This process, which registered the name first, also frees its registration first. */
	ASSERT_EQ(0, t_free(&self->p.f, DAT_OBJ_LMR, id));
	EXPECT_EQ(-EEXIST, name_it(self, more, SIZE, "last", NULL));
	EXPECT_EQ(0, name_it(self, self->va, SIZE, "last", &id));
	ASSERT_EQ(0, t_free(&self->p.f, DAT_OBJ_LMR, id));
	EXPECT_EQ(0, other_stop(&o));
	EXPECT_EQ(0, name_it(self, more, SIZE, "last", NULL));
}

TEST_F(share, a_killed_process_leaves_no_name)
{
	struct other o;
	int theirs = memory(SIZE);
	char *more = map_fd(theirs, SIZE, 0);
	int i;

	for (i = 0; i < 5; i++) {
		uint32_t id;

		ASSERT_EQ(0, other_start(&o, self->fd, SIZE, "killed", 0));
		EXPECT_EQ(-EEXIST, name_it(self, more, SIZE, "killed", NULL));
		ASSERT_EQ(0, name_it(self, self->va, SIZE, "killed", &id));
		other_kill(&o);
		/* The registration of this process outlives the killed process. */
		EXPECT_EQ(-EEXIST, name_it(self, more, SIZE, "killed", NULL));
		ASSERT_EQ(0, t_free(&self->p.f, DAT_OBJ_LMR, id));
		EXPECT_EQ(0, name_it(self, more, SIZE, "killed", &id));
		ASSERT_EQ(0, t_free(&self->p.f, DAT_OBJ_LMR, id));
	}
}

/* A name belongs to the file, whatever happens to the mapping and the path of the file. */
TEST_F(share, a_name_keeps_its_file)
{
	char path[] = "/dev/shm/dat-share-XXXXXX";
	int fd = mkstemp(path), next;
	char *va, *more;

	if (fd < 0)
		SKIP(return, "no /dev/shm");
	ASSERT_EQ(0, ftruncate(fd, SIZE));
	va = map_fd(fd, SIZE, 0);
	ASSERT_EQ(0, name_it(self, va, SIZE, "file", NULL));
	unlink(path);
	munmap(va, SIZE);
	va = map_fd(fd, SIZE, 0);
	EXPECT_EQ(0, name_it(self, va, SIZE, "file", NULL));
	munmap(va, SIZE);
	close(fd);
	/* Create a new file with the old path; it may get the old inode number. */
	next = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
	ASSERT_LE(0, next);
	unlink(path);
	ASSERT_EQ(0, ftruncate(next, SIZE));
	more = map_fd(next, SIZE, 0);
	EXPECT_EQ(-EEXIST, name_it(self, more, SIZE, "file", NULL));
}

TEST_F(share, a_file_system_can_be_unmounted_afterwards)
{
	char dir[] = "/tmp/dat-share-XXXXXX", path[PATH_MAX];
	uint32_t id;
	char *va;
	int fd;

	ASSERT_NE(NULL, mkdtemp(dir));
	if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("none", dir, "tmpfs", 0, NULL))
		SKIP(return, "may not mount");
	snprintf(path, sizeof(path), "%s/file", dir);
	fd = open(path, O_RDWR | O_CREAT, 0600);
	ASSERT_EQ(0, ftruncate(fd, SIZE));
	va = map_fd(fd, SIZE, 0);
	ASSERT_EQ(0, name_it(self, va, SIZE, "mount", &id));
	munmap(va, SIZE);
	close(fd);
	EXPECT_EQ(-1, umount(dir));
	EXPECT_EQ(EBUSY, errno);
	ASSERT_EQ(0, t_free(&self->p.f, DAT_OBJ_LMR, id));
	EXPECT_EQ(0, umount(dir));
	rmdir(dir);
}

/* RLIMIT_MEMLOCK limits the number of names.  Failed registrations are not charged. */
TEST_F(share, a_flood_of_names_ends_at_the_limit_and_is_given_back)
{
	struct rlimit lim = { 1 << 20, 1 << 20 };
	uint32_t id[300], n, i;
	char name[16];
	int ret = 0;

	ASSERT_EQ(0, setrlimit(RLIMIT_MEMLOCK, &lim));
	/* The fixture has already pinned more than this limit. */
	ASSERT_EQ(0, seteuid(NOBODY));
	EXPECT_EQ(-ENOMEM, name_it(self, self->va, PAGE, "flood", NULL));
	ASSERT_EQ(0, seteuid(0));
	lim.rlim_cur = 1 << 21;
	lim.rlim_max = 1 << 21;
	ASSERT_EQ(0, setrlimit(RLIMIT_MEMLOCK, &lim));
	ASSERT_EQ(0, seteuid(NOBODY));
	for (n = 0; n < 300; n++) {
		snprintf(name, sizeof(name), "flood%u", n);
		ret = name_it(self, self->va, PAGE, name, &id[n]);
		if (ret)
			break;
		/* A name clash is detected before the pages are charged. */
		snprintf(name, sizeof(name), "flood%u", n / 2);
		ASSERT_EQ(-EEXIST, name_it(self, self->va + 1, PAGE, name, NULL));
	}
	EXPECT_EQ(-ENOMEM, ret);
	EXPECT_EQ(256, n);
	/* A registration that failed with -ENOMEM has not used up its name. */
	EXPECT_EQ(0, t_free(&self->p.f, DAT_OBJ_LMR, id[--n]));
	EXPECT_EQ(0, name_it(self, self->va + PAGE, PAGE, "flood256", &id[n++]));
	for (i = 0; i < n; i++)
		EXPECT_EQ(0, t_free(&self->p.f, DAT_OBJ_LMR, id[i]));
	EXPECT_EQ(self->pin, vm_pin_kb());
	ASSERT_EQ(0, seteuid(0));
}

/* Register the memory of the descriptor *@arg under the name "contained". */
static int name_contained(struct t_file *f, void *arg)
{
	uint32_t pz;
	int ret = t_pz(f, &pz);

	return ret ? ret : name_memory(f, pz, map_fd(*(int *)arg, SIZE, 0), SIZE, "contained",
				       NULL);
}

/*
 * Each network namespace has its own names, so a process in another container cannot find out which
 * names are in use.
 */
TEST_F_TIMEOUT(share, another_network_namespace_has_names_of_its_own, 60)
{
	int theirs = memory(SIZE), ret;
	struct t_container c;

	ASSERT_EQ(0, name_it(self, self->va, SIZE, "contained", NULL));
	ret = t_container_start(&c, &self->p.f, name_contained, &theirs);
	if (ret == -ENODEV)
		SKIP(return, "no network namespaces, or no macvlan");
	EXPECT_EQ(0, ret);
	EXPECT_EQ(0, name_it(self, self->va, SIZE, "contained", NULL));
	t_container_end(&c);
}

/*
 * holders[0] and holders[1]: number of processes that now have the name for memory 0 or 1.
 * holders[2] and holders[3]: how often a process has had the name for that memory.
 */
static volatile int *holders;

/*
 * Register one of two memories under a shared name, check that the other memory does not have the
 * name, and free the registration; repeat until killed.  Exits with 1 if both memories had the name
 * at once.
 */
static void contend(const int fd[2], int which)
{
	struct t_file f;
	uint32_t pz, id;
	char *va[2];
	int i, n, ret;

	srand(getpid());
	for (i = 0; i < 2; i++)
		va[i] = map_fd(fd[i], SIZE, 0);
	if (t_open(&f) || t_pz(&f, &pz))
		_exit(2);
	for (n = 0; ; n++) {
		i = (which + n / 16) & 1;
		ret = name_memory(&f, pz, va[i], SIZE, "contended", &id);
		if (ret == -EEXIST)
			continue;
		if (ret)
			_exit(3);
		__atomic_add_fetch(&holders[i], 1, __ATOMIC_SEQ_CST);
		if (__atomic_load_n(&holders[!i], __ATOMIC_SEQ_CST))
			_exit(1);
		__atomic_add_fetch(&holders[2 + i], 1, __ATOMIC_SEQ_CST);
		if (rand() & 1)
			usleep(rand() % 200);
		__atomic_sub_fetch(&holders[i], 1, __ATOMIC_SEQ_CST);
		if (t_free(&f, DAT_OBJ_LMR, id))
			_exit(4);
		/*
		 * Sleep longer on average than a process holds the name, so that the name is free
		 * at times.
		 */
		usleep(rand() % 2000);
	}
}

TEST_F_TIMEOUT(share, two_memories_never_have_one_name_at_once, 120)
{
	int fd[2] = { self->fd, memory(SIZE) }, status, i;
	pid_t pid[4];

	holders = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	for (i = 0; i < 4; i++) {
		pid[i] = fork();
		if (!pid[i])
			contend(fd, i & 1);
	}
	sleep(4);
	/*
	 * Check all processes before the first kill.  A process that is killed while it has the
	 * name leaves the count in @holders too high, which makes other processes exit with 1.
	 */
	for (i = 0; i < 4; i++) {
		EXPECT_EQ(0, waitpid(pid[i], &status, WNOHANG)) TH_LOG("%d", status >> 8);
	}
	for (i = 0; i < 4; i++)
		kill(pid[i], SIGKILL);
	for (i = 0; i < 4; i++)
		waitpid(pid[i], &status, 0);
	TH_LOG("%d and %d times", holders[2], holders[3]);
	EXPECT_LT(0, holders[2]);
	EXPECT_LT(0, holders[3]);
	/* A process that is killed at any point leaves no name behind. */
	EXPECT_EQ(0, name_it(self, self->va, SIZE, "contended", NULL));
}

TEST_HARNESS_MAIN
