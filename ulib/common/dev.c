// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <rdma/dat_ioctl.h>

#include "dev.h"
#include "log.h"

static const struct device {
	const char *path, *module;
} devices[] = {
	[DU_DEV_DAT] = { "/dev/dat", "dat" },
	[DU_DEV_RSM] = { "/dev/rsm", "dat_rsm" },
};

static void explain_open(const struct device *d, int err)
{
	switch (err) {
	case ENOENT:
	case ENXIO:
	case ENODEV:
		du_log(DU_LOG_ERROR, "%s is missing: load the driver with 'modprobe %s' as root",
		       d->path, d->module);
		break;
	case EACCES:
	case EPERM:
		du_log(DU_LOG_ERROR, "no permission to open %s: add the user to the group 'rdma' (usermod -aG rdma USER) and log in again",
		       d->path);
		break;
	default:
		du_log(DU_LOG_ERROR, "cannot open %s: %s", d->path, strerror(err));
	}
}

static int check_version(int fd, int quiet)
{
	struct dat_abi abi = { .size = sizeof(abi) };
	int ret = du_ioctl(fd, DAT_IOC_ABI, &abi);

	if (ret || abi.version == DAT_ABI_VERSION)
		return ret;
	if (!quiet)
		du_log(DU_LOG_ERROR, "the driver speaks version %u, this library %d: install both from the same release",
		       abi.version, DAT_ABI_VERSION);
	return -EPROTO;
}

int du_dev_open(enum du_dev dev, int quiet)
{
	int fd, ret;

	fd = open(devices[dev].path, O_RDWR | O_CLOEXEC);
	if (fd < 0) {
		ret = -errno;
		if (!quiet)
			explain_open(&devices[dev], -ret);
		return ret;
	}
	ret = check_version(fd, quiet);
	if (ret) {
		close(fd);
		return ret;
	}
	return fd;
}

int du_ioctl(int fd, unsigned long cmd, void *arg)
{
	return ioctl(fd, cmd, arg) < 0 ? -errno : 0;
}

int du_map(int fd, uint64_t offset, uint64_t size, int writable, struct du_map *map)
{
	int prot = writable ? PROT_READ | PROT_WRITE : PROT_READ;
	void *va = mmap(NULL, size, prot, MAP_SHARED, fd, (off_t)offset);

	/*
	 * mmap() fails with EAGAIN if mlockall() is in effect and the limit of locked memory is
	 * reached.
	 */
	if (va == MAP_FAILED)
		return errno == EAGAIN ? -ENOMEM : -errno;
	map->va = va;
	map->size = size;
	return 0;
}

void du_unmap(struct du_map *map)
{
	if (map->va)
		munmap(map->va, map->size);
	map->va = NULL;
}

void du_explain_memlock(uint64_t length)
{
	struct rlimit lim;

	if (getrlimit(RLIMIT_MEMLOCK, &lim) || lim.rlim_cur == RLIM_INFINITY)
		return;
	du_log(DU_LOG_ERROR, "cannot register %llu bytes; the limit of locked memory is %llu: raise it with 'ulimit -l' or in /etc/security/limits.conf",
	       (unsigned long long)length, (unsigned long long)lim.rlim_cur);
}
