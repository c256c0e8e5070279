/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) The dat authors */
/*
 * Memory whose page faults hang until the test resolves them.  userfaultfd reports each fault to
 * the test.  So even on a slow machine, the test knows when a call of another thread has reached a
 * fault.
 */
#ifndef HANG_H
#define HANG_H

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

struct hang {
	int	fd;
	char	*va;
	size_t	size;
};

/* Map @size bytes that have no pages yet.  Return -1 if userfaultfd is not available. */
static inline int hang_open(struct hang *h, size_t size)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register reg = { .mode = UFFDIO_REGISTER_MODE_MISSING };

	h->size = size;
	h->va = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	h->fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
	reg.range.start = (unsigned long)h->va;
	reg.range.len = size;
	if (h->va == MAP_FAILED || h->fd < 0 || ioctl(h->fd, UFFDIO_API, &api) ||
	    ioctl(h->fd, UFFDIO_REGISTER, &reg))
		return -1;
	return 0;
}

/*
 * Wait for the next page fault and return its offset.  The fault hangs until hang_give().  Return
 * -1 if there is no fault within @ms.
 */
static inline long hang_fault(struct hang *h, int ms)
{
	struct pollfd p = { .fd = h->fd, .events = POLLIN };
	struct uffd_msg msg;

	if (poll(&p, 1, ms) != 1 || read(h->fd, &msg, sizeof(msg)) != sizeof(msg) ||
	    msg.event != UFFD_EVENT_PAGEFAULT)
		return -1;
	return (long)(msg.arg.pagefault.address - (unsigned long)h->va) & -4096L;
}

/* Map @n zero pages from @offset on.  This ends the faults that hang on these pages. */
static inline int hang_give(struct hang *h, size_t offset, size_t n)
{
	struct uffdio_zeropage zero = {
		.range = { .start = (unsigned long)h->va + offset, .len = n * 4096 },
	};

	return ioctl(h->fd, UFFDIO_ZEROPAGE, &zero);
}

/* Unmap a page, so that the next access to the page hangs again. */
static inline int hang_take(struct hang *h, size_t offset)
{
	return madvise(h->va + offset, 4096, MADV_DONTNEED);
}

static inline void hang_close(struct hang *h)
{
	close(h->fd);
	munmap(h->va, h->size);
}

#endif /* HANG_H */
