// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/* Calls of the driver, and what ends the program when one fails. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../common/dev.h"
#include "nodes.h"

void die(const char *fmt, ...)
{
	va_list ap;

	fputs("rsm-nodes: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(1);
}

int device(void)
{
	int fd = du_dev_open(DU_DEV_RSM, 0);

	/* du_dev_open() has already reported the reason. */
	if (fd < 0)
		exit(1);
	return fd;
}

static const char *reason(const struct dat_rsm_nodes *arg)
{
	int trust = arg->flags & (DAT_RSM_NODES_KEY | DAT_RSM_NODES_TRUST);

	switch (arg->err) {
	case DAT_RSM_PERM_DENIED:
		return trust ? "not without CAP_SYS_ADMIN" : "not without CAP_NET_ADMIN";
	case DAT_RSM_BAD_CONF:
		if (trust)
			return "the driver can't use that key";
		return "an address that no node has, or a controller beyond rdma62";
	case DAT_RSM_ALREADY_PUBLISHED:
		return "the own id can't change while there are segments or imports";
	case DAT_RSM_NO_MEM:
		return "no memory";
	default:
		return "refused";
	}
}

void call(int fd, struct dat_rsm_nodes *arg)
{
	int ret = du_ioctl(fd, DAT_IOC_RSM_NODES, arg);

	if (ret == -EREMOTEIO)
		die("%s", reason(arg));
	if (ret == -ENOPKG)
		die("this kernel has no hmac(sha256), so it can use no key: boot one with CONFIG_CRYPTO_HMAC and CONFIG_CRYPTO_SHA256; in a safe network, 'rsm-nodes trust-network on' needs no key");
	if (ret)
		die("/dev/rsm: %s", ret == -ENOTTY ? "this dat_rsm.ko knows no nodes" :
						       strerror(-ret));
}
