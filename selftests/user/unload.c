// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* A module cannot be unloaded while it is in use; after the last use it can be reloaded. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "dat_test.h"

static int unload(const char *module)
{
	return syscall(SYS_delete_module, module, O_NONBLOCK) ? -errno : 0;
}

/* Load the module whose path is in the environment variable @path, its parameters in @args. */
static int load(const char *path, const char *args)
{
	int fd = open(getenv(path), O_RDONLY | O_CLOEXEC);
	const char *value = getenv(args);
	int ret = syscall(SYS_finit_module, fd, value ? value : "", 0) ? -errno : 0;

	close(fd);
	return ret;
}

/*
 * Retry the unload, because the kernel may drop the last reference to a file only after close() has
 * returned.
 */
static int unload_soon(const char *module)
{
	int i, ret = -EAGAIN;

	for (i = 0; i < 100 && ret == -EAGAIN; i++) {
		ret = unload(module);
		if (ret)
			usleep(50000);
	}
	return ret;
}

/* A SKIP() in the fixture does not skip the tests of the fixture, so each test calls this macro. */
#define NEED_MODULE() do {							\
	if (!getenv("DAT_KO"))							\
		SKIP(return, "DAT_KO does not say where dat.ko is");		\
} while (0)

FIXTURE(unload) {
	int unused;
};

/* dat_rsm.ko uses dat.ko, so unload dat_rsm.ko before the tests of dat.ko. */
FIXTURE_SETUP(unload)
{
	if (getenv("DAT_KO"))
		ASSERT_EQ(0, unload_soon("dat_rsm"));
}

FIXTURE_TEARDOWN(unload)
{
	if (!getenv("DAT_KO"))
		return;
	if (access("/dev/dat", F_OK))
		EXPECT_EQ(0, load("DAT_KO", "DAT_KO_ARGS"));
	if (access("/dev/rsm", F_OK))
		EXPECT_EQ(0, load("DAT_RSM_KO", "DAT_RSM_KO_ARGS"));
}

TEST_F_TIMEOUT(unload, an_open_file_keeps_the_module, 60)
{
	int fd;

	NEED_MODULE();
	fd = open("/dev/dat", O_RDWR | O_CLOEXEC);
	ASSERT_LE(0, fd);
	EXPECT_EQ(-EAGAIN, unload("dat"));
	close(fd);
	EXPECT_EQ(0, unload_soon("dat"));
}

TEST_F_TIMEOUT(unload, a_mapping_keeps_the_module, 60)
{
	struct t_file f;

	NEED_MODULE();
	ASSERT_EQ(0, t_open(&f));
	close(f.fd);
	EXPECT_EQ(-EAGAIN, unload("dat"));
	t_unmap(&f.db);
	EXPECT_EQ(0, unload_soon("dat"));
}

TEST_F_TIMEOUT(unload, a_connection_keeps_the_module_until_its_process_dies, 120)
{
	int status, ready[2];
	char c;
	pid_t pid;

	NEED_MODULE();
	ASSERT_EQ(0, pipe(ready));
	pid = fork();
	if (!pid) {
		struct t_pair p;

		c = t_pair_open(&p) || t_pair_connect(&p) ? 'n' : 'y';
		write(ready[1], &c, 1);
		pause();
		_exit(0);
	}
	ASSERT_EQ(1, read(ready[0], &c, 1));
	EXPECT_EQ('y', c);
	EXPECT_EQ(-EAGAIN, unload("dat"));
	kill(pid, SIGKILL);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, unload_soon("dat"));
}

TEST_F_TIMEOUT(unload, loaded_again_it_works, 300)
{
	struct t_pair p;
	int i;

	NEED_MODULE();
	for (i = 0; i < 5; i++) {
		ASSERT_EQ(0, unload_soon("dat")) TH_LOG("round %d", i);
		EXPECT_NE(0, access("/dev/dat", F_OK));
		ASSERT_EQ(0, load("DAT_KO", "DAT_KO_ARGS")) TH_LOG("round %d", i);
		ASSERT_EQ(0, t_pair_open(&p)) TH_LOG("round %d", i);
		ASSERT_EQ(0, t_pair_connect(&p)) TH_LOG("round %d", i);
		t_pair_close(&p);
		t_pair_unmap(&p);
	}
}

TEST_F_TIMEOUT(unload, dat_rsm_keeps_dat, 60)
{
	NEED_MODULE();
	ASSERT_EQ(0, load("DAT_RSM_KO", "DAT_RSM_KO_ARGS"));
	EXPECT_EQ(-EWOULDBLOCK, unload("dat"));
	EXPECT_EQ(0, unload_soon("dat_rsm"));
	EXPECT_NE(0, access("/dev/rsm", F_OK));
	EXPECT_EQ(0, unload_soon("dat"));
}

TEST_F_TIMEOUT(unload, an_open_file_keeps_dat_rsm, 60)
{
	int fd;

	NEED_MODULE();
	ASSERT_EQ(0, load("DAT_RSM_KO", "DAT_RSM_KO_ARGS"));
	fd = open("/dev/rsm", O_RDWR | O_CLOEXEC);
	ASSERT_LE(0, fd);
	EXPECT_EQ(-EAGAIN, unload("dat_rsm"));
	close(fd);
	EXPECT_EQ(0, unload_soon("dat_rsm"));
}

TEST_HARNESS_MAIN
