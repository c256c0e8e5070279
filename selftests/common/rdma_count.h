/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) The dat authors */
/* The numbers of objects of all RDMA devices, which the command "rdma resource show" prints. */
#ifndef RDMA_COUNT_H
#define RDMA_COUNT_H

#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Returns the sum of the counts of @what in @len bytes of attributes, or -1 if there is none. */
static inline int rdma_sum(const char *at, int len, const char *what)
{
	int sum = -1, named = 0, n;
	struct nlattr a;
	uint64_t count;

	for (; len >= NLA_HDRLEN; at += NLA_ALIGN(a.nla_len), len -= NLA_ALIGN(a.nla_len)) {
		memcpy(&a, at, sizeof(a));
		if (a.nla_len < NLA_HDRLEN || NLA_ALIGN(a.nla_len) > len)
			break;
		n = -1;
		switch (a.nla_type & NLA_TYPE_MASK) {
		case RDMA_NLDEV_ATTR_RES_SUMMARY:
		case RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY:
			n = rdma_sum(at + NLA_HDRLEN, a.nla_len - NLA_HDRLEN, what);
			break;
		case RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_NAME:
			named = !strcmp(at + NLA_HDRLEN, what);
			break;
		case RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_CURR:
			memcpy(&count, at + NLA_HDRLEN, sizeof(count));
			if (named)
				n = (int)count;
		}
		if (n >= 0)
			sum = n + (sum < 0 ? 0 : sum);
	}
	return sum;
}

/* Add up the counts of @what in the answers on the socket @fd, one message per device. */
static inline int rdma_read_counts(int fd, const char *what)
{
	static char buf[1 << 16];
	int sum = -1, devices = 0, n;
	struct nlmsghdr *h;
	ssize_t len;

	while ((len = recv(fd, buf, sizeof(buf), 0)) > 0) {
		for (h = (void *)buf; NLMSG_OK(h, len); h = NLMSG_NEXT(h, len)) {
			if (h->nlmsg_type == NLMSG_DONE)
				return devices ? sum : 0;
			if (h->nlmsg_type == NLMSG_ERROR)
				return -1;
			devices++;
			n = rdma_sum(NLMSG_DATA(h), NLMSG_PAYLOAD(h, 0), what);
			if (n >= 0)
				sum = n + (sum < 0 ? 0 : sum);
		}
	}
	return -1;
}

/*
 * Returns the number of objects of the kind @what, such as "qp", of all RDMA devices: 0 if there is
 * no device, or -1 if no object of that kind is known.
 */
static inline int rdma_count(const char *what)
{
	struct nlmsghdr ask = {
		.nlmsg_len = sizeof(ask), .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP,
		.nlmsg_type = RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_RES_GET),
	};
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_RDMA), n = -1;

	if (send(fd, &ask, sizeof(ask), 0) == sizeof(ask))
		n = rdma_read_counts(fd, what);
	close(fd);
	return n;
}

/*
 * Returns the count of @what once it is stable for a while: the objects of an earlier test end
 * asynchronously.  With some drivers a CQ ends a second after its last connection.
 */
static inline int rdma_count_settled(const char *what)
{
	int enough = strcmp(what, "cq") ? 5 : 15, i, now, n = -1, same = 0;

	for (i = 0; i < 200 && same < enough; i++) {
		now = rdma_count(what);
		/* Two failures to count are no equal numbers. */
		same = now >= 0 && now == n ? same + 1 : 0;
		n = now;
		usleep(100000);
	}
	return n;
}

/*
 * Wait until the count of @what has fallen to @before, because connections end asynchronously.
 * Returns the count.
 */
static inline int rdma_count_falls(const char *what, int before)
{
	int i;

	for (i = 0; i < 200 && rdma_count(what) > before; i++)
		usleep(100000);
	return rdma_count(what);
}

#endif /* RDMA_COUNT_H */
