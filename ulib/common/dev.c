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

#include "cancel.h"
#include "dev.h"
#include "log.h"

static const struct device {
	const char *path, *module;
} devices[] = {
	[DU_DEV_DAT] = { "/dev/dat", "dat" },
	[DU_DEV_RSM] = { "/dev/rsm", "dat_rsm" },
};

int du_explain_files(int err)
{
	if (err == EMFILE)
		du_log(DU_LOG_ERROR, "the process has too many open files: close some, or raise the limit with 'ulimit -n'");
	else if (err == ENFILE)
		du_log(DU_LOG_ERROR, "this host has too many open files: raise the limit with 'sysctl fs.file-max=NUMBER' as root");
	return err == EMFILE || err == ENFILE;
}

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
	int fd, ret, state;

	state = du_cancel_off();
	fd = open(devices[dev].path, O_RDWR | O_CLOEXEC);
	ret = -errno;
	du_cancel_restore(state);
	if (fd < 0) {
		if (!du_explain_files(-ret) && !quiet)
			explain_open(&devices[dev], -ret);
		return ret;
	}
	ret = check_version(fd, quiet);
	if (ret) {
		du_close(fd);
		return ret;
	}
	return fd;
}

void du_file_init(struct du_file *f, int fd)
{
	struct dat_abi abi = { .size = sizeof(abi) };

	f->fd = fd;
	f->number = 0;
	f->features = 0;
	if (du_ioctl(fd, DAT_IOC_ABI, &abi))
		return;
	f->number = abi.file ? abi.file : DU_FILE_UNNUMBERED;
	f->features = (uint32_t)abi.features;
}

uint64_t du_fd_number(int fd)
{
	struct du_file f;

	du_file_init(&f, fd);
	return f.number;
}

void du_file_close(const struct du_file *f)
{
	if (du_file_valid(f))
		du_close(f->fd);
}

void du_close(int fd)
{
	int state = du_cancel_off();

	close(fd);
	du_cancel_restore(state);
}

static void explain_closed(int fd)
{
	static int reported;

	if (!__atomic_exchange_n(&reported, 1, __ATOMIC_RELAXED))
		du_log(DU_LOG_ERROR, "the program has closed descriptor %d, which the library uses: call closefrom() before the library opens its device, or leave that descriptor open",
		       fd);
}

int du_file_check(const struct du_file *f)
{
	if (du_file_valid(f))
		return 0;
	explain_closed(f->fd);
	return -EBADF;
}

int du_ioctl(int fd, unsigned long cmd, void *arg)
{
	return ioctl(fd, cmd, arg) < 0 ? -errno : 0;
}

int du_file_result(const struct du_file *f, int ret)
{
	/* The driver itself returns ENOTTY only for an ioctl that is newer than the driver. */
	return (ret == -EBADF || ret == -ENOTTY) && du_file_check(f) ? -EBADF : ret;
}

int du_file_ioctl(const struct du_file *f, unsigned long cmd, void *arg)
{
	return du_file_result(f, du_ioctl(f->fd, cmd, arg));
}

int du_file_wait(const struct du_file *f, unsigned long cmd, void *arg)
{
	int type, ret;

	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &type);
	ret = du_ioctl(f->fd, cmd, arg);
	pthread_setcanceltype(type, NULL);
	return du_file_result(f, ret);
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

void du_explain_queue_memory(void)
{
	struct rlimit lim;

	if (getrlimit(RLIMIT_MEMLOCK, &lim) || lim.rlim_cur == RLIM_INFINITY)
		return;
	du_log(DU_LOG_ERROR, "cannot make queues: out of memory, a limit of the adapter, or more than the limit of locked memory, %llu, and the parameter queue_memory of dat.ko allow; raise the limit with 'ulimit -l'",
	       (unsigned long long)lim.rlim_cur);
}

void du_explain_memlock(uint64_t length)
{
	struct rlimit lim;

	if (getrlimit(RLIMIT_MEMLOCK, &lim) || lim.rlim_cur == RLIM_INFINITY)
		return;
	du_log(DU_LOG_ERROR, "cannot register %llu bytes; the limit of locked memory is %llu: raise it with 'ulimit -l' or in /etc/security/limits.conf",
	       (unsigned long long)length, (unsigned long long)lim.rlim_cur);
}
