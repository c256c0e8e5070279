// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * RoCE peer; see roce_peer.h.  The packet layouts are those of the InfiniBand specification, volume
 * 1.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "roce_peer.h"
#include "clock.h"

#define ROCE_PORT	4791
#define FIRST_QPN	0x1000
#define FIRST_PSN	0x1000
#define FIRST_COMM	0x51000000
#define FIRST_PORT	600
/* Maximum number of unanswered requests of a flood; fewer than the backlog of any listener. */
#define WINDOW		100
/* Size of the socket's receive buffer in bytes; holds thousands of answers. */
#define RCVBUF		(4 << 20)

#define OP_SEND_ONLY	0x04
#define OP_SEND_INVALIDATE	0x17
#define OP_UD_SEND	0x64
#define GSI_QPN		1
#define GSI_QKEY	0x80010000

#define CM_REQ		0x10
#define CM_REJ		0x12
#define CM_REP		0x13

struct bth {
	uint8_t		opcode;
	uint8_t		flags;
	uint16_t	pkey;
	uint32_t	qpn;
	uint32_t	psn;
};

struct deth {
	uint32_t	qkey;
	uint32_t	qpn;
};

struct mad {
	uint8_t		version, class, class_version, method;
	uint16_t	status, class_specific;
	uint64_t	tid;
	uint16_t	attr, rsvd;
	uint32_t	attr_mod;
	uint8_t		data[232];
};

struct order {
	enum { REQUEST, ANSWERS, TALK, INVALIDATE, FLOOD } what;
	uint32_t	n;
	uint32_t	ms;
	uint32_t	rkey;
	struct roce_ask	ask;
};

/* The state of the child process. */
struct roce {
	int			fd;
	struct in_addr		own, to;
	uint32_t		n;
	int			talks;		/* flag: talk() when a reply arrives */
	struct roce_answers	answers;
	struct {
		int		answered;
		uint32_t	qpn, psn;
	} conn[ROCE_MAX];
};

static uint32_t crc32_le(uint32_t crc, const void *data, size_t len)
{
	const uint8_t *p = data;
	int i;

	while (len--) {
		crc ^= *p++;
		for (i = 0; i < 8; i++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
	}
	return crc;
}

/*
 * Returns the invariant CRC (ICRC) of a packet.  The ICRC covers the IP and UDP headers, the BTH
 * and the data.  Each header field that may change on the way counts as all ones.
 */
static uint32_t icrc(const struct roce *r, const void *packet, size_t len)
{
	uint16_t ip[14] = {
		htons(0x45ff), htons(20 + 8 + len + 4), 0, htons(0x4000), htons(0xff11), 0xffff,
	};
	struct bth bth = *(const struct bth *)packet;
	uint32_t crc;

	memcpy(ip + 6, &r->own, 4);
	memcpy(ip + 8, &r->to, 4);
	ip[10] = htons(ROCE_PORT);
	ip[11] = htons(ROCE_PORT);
	ip[12] = htons(8 + len + 4);
	ip[13] = 0xffff;
	bth.qpn |= htonl(0xff000000);
	/*
	 * The ICRC starts with eight bytes 0xff in place of a local route header.  0xdebb20e3 is
	 * the CRC of these eight bytes.
	 */
	crc = crc32_le(0xdebb20e3, ip, sizeof(ip));
	crc = crc32_le(crc, &bth, sizeof(bth));
	return ~crc32_le(crc, (const char *)packet + sizeof(bth), len - sizeof(bth));
}

static int transmit(struct roce *r, uint8_t opcode, uint32_t qpn, uint32_t psn,
		    const void *data, size_t len)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(ROCE_PORT),
				  .sin_addr = r->to };
	uint8_t packet[512];
	struct bth bth = {
		.opcode = opcode, .flags = 0x40, .pkey = 0xffff, .qpn = htonl(qpn),
		.psn = htonl(psn | (opcode == OP_UD_SEND ? 0 : 1U << 31)),
	};
	uint32_t crc;

	memcpy(packet, &bth, sizeof(bth));
	memcpy(packet + sizeof(bth), data, len);
	len += sizeof(bth);
	crc = htole32(icrc(r, packet, len));
	memcpy(packet + len, &crc, 4);
	return sendto(r->fd, packet, len + 4, 0, (struct sockaddr *)&to, sizeof(to)) < 0 ?
	       -errno : 0;
}

static void put32(uint8_t *p, uint32_t v)
{
	v = htonl(v);
	memcpy(p, &v, 4);
}

static uint32_t get32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, 4);
	return ntohl(v);
}

static void put_gid(uint8_t *p, struct in_addr a)
{
	p[10] = 0xff;
	p[11] = 0xff;
	memcpy(p + 12, &a, 4);
}

static int send_req(struct roce *r, const struct roce_ask *ask, uint32_t i)
{
	const struct in_addr *claims = ask->claims.s_addr ? &ask->claims : &r->own;
	uint16_t port = ask->port ?: FIRST_PORT + i;
	struct {
		struct deth	deth;
		struct mad	mad;
	} m = {
		.deth = { htonl(GSI_QKEY), htonl(GSI_QPN) },
		.mad = { .version = 1, .class = 7, .class_version = 2, .method = 3,
			 .tid = htobe64(FIRST_COMM + i), .attr = htons(CM_REQ) },
	};
	uint8_t *d = m.mad.data, *cma = d + 140;

	put32(d, FIRST_COMM + i);
	put32(d + 8, 0);
	put32(d + 12, 0x01060000 | ask->qual);		/* service id: RDMA_PS_TCP and the port */
	put32(d + 16, 0x0200abcd);			/* CA GUID */
	put32(d + 20, FIRST_COMM + i);
	put32(d + 32, (FIRST_QPN + i) << 8 | 4);	/* responder resources */
	put32(d + 36, 4);				/* initiator depth */
	put32(d + 40, 31 << 3);				/* RC, longest response timeout */
	put32(d + 44, FIRST_PSN << 8 | 31 << 3 | 6);	/* soft-RoCE takes 7 as no limit */
	put32(d + 48, 0xffff0000 | 3 << 12 | 7 << 8 | 15 << 4);	/* P_Key, MTU 1024, retries */
	put32(d + 52, 0xffffffff);			/* LIDs */
	put_gid(d + 56, r->own);
	put_gid(d + 72, r->to);
	d[93] = 64;					/* hop limit */
	d[94] = 8;					/* subnet local */
	d[95] = 20 << 3;				/* ACK timeout */
	/*
	 * The private data begins with the header of rdma_cm: IP version 4, source port, addresses.
	 */
	cma[1] = 0x40;
	cma[2] = port >> 8;
	cma[3] = (uint8_t)port;
	memcpy(cma + 16, claims, 4);
	memcpy(cma + 32, &r->to, 4);
	memcpy(cma + 36, ask->pd, sizeof(ask->pd));
	return transmit(r, OP_UD_SEND, GSI_QPN, 0, &m, sizeof(m));
}

static int talk(struct roce *r, uint32_t i)
{
	uint8_t message[ROCE_PAYLOAD] = "early";

	if (i >= r->n || r->conn[i].answered <= 0)
		return -ENOTCONN;
	return transmit(r, OP_SEND_ONLY, r->conn[i].qpn, r->conn[i].psn++, message,
			sizeof(message));
}

static int invalidate(struct roce *r, uint32_t i, uint32_t rkey)
{
	uint8_t message[4 + ROCE_PAYLOAD] = "";

	if (i >= r->n || r->conn[i].answered <= 0)
		return -ENOTCONN;
	put32(message, rkey);
	return transmit(r, OP_SEND_INVALIDATE, r->conn[i].qpn, r->conn[i].psn++, message,
			sizeof(message));
}

static void handle_mad(struct roce *r, const struct mad *mad)
{
	uint32_t i = get32(mad->data + 4) - FIRST_COMM;
	uint16_t attr = ntohs(mad->attr);

	if (i >= r->n || r->conn[i].answered)
		return;
	if (attr == CM_REP) {
		r->conn[i].answered = 1;
		r->conn[i].qpn = get32(mad->data + 12) >> 8;
		/* A reply contains the PSN with which the receiver of the reply must start. */
		r->conn[i].psn = get32(mad->data + 20) >> 8;
		r->answers.replies++;
		if (r->talks)
			talk(r, i);
	} else if (attr == CM_REJ) {
		r->conn[i].answered = -1;
		r->answers.rejects++;
		r->answers.reason = get32(mad->data + 8) & 0xffff;
		r->answers.busy += r->answers.reason == ROCE_NO_RESOURCES;
		memcpy(r->answers.pd, mad->data + 84, sizeof(r->answers.pd));
	}
}

static uint32_t answered(const struct roce *r)
{
	return r->answers.replies + r->answers.rejects;
}

/* Receive packets until @n requests have an answer, or until now_ms() reaches @end. */
static int listen_for(struct roce *r, uint32_t n, long end)
{
	struct pollfd pfd = { .fd = r->fd, .events = POLLIN };
	uint8_t packet[2048];
	struct mad mad;
	ssize_t len;
	long left;

	while (answered(r) < n) {
		left = end - now_ms();
		if (left <= 0 || poll(&pfd, 1, left) <= 0)
			return -ETIMEDOUT;
		len = recv(r->fd, packet, sizeof(packet), 0);
		if (len < 20 + (ssize_t)sizeof(mad) || packet[0] != OP_UD_SEND)
			continue;
		memcpy(&mad, packet + 20, sizeof(mad));
		handle_mad(r, &mad);
	}
	return 0;
}

static int request(struct roce *r, const struct roce_ask *ask, uint32_t n)
{
	int ret = 0;

	if (n > ROCE_MAX - r->n)
		return -EINVAL;
	while (n-- && !ret)
		ret = send_req(r, ask, r->n++);
	return ret;
}

static int flood(struct roce *r, const struct roce_ask *ask, uint32_t n, long end)
{
	int ret = 0;

	r->talks = 1;
	while (n-- && !ret) {
		ret = request(r, ask, 1);
		if (!ret && r->n - answered(r) >= WINDOW)
			ret = listen_for(r, answered(r) + 1, end);
	}
	if (!ret)
		ret = listen_for(r, r->n, end);
	r->talks = 0;
	return ret;
}

static int obey(struct roce *r, const struct order *o)
{
	switch (o->what) {
	case REQUEST:
		return request(r, &o->ask, o->n);
	case ANSWERS:
		return listen_for(r, o->n, now_ms() + o->ms);
	case TALK:
		return talk(r, o->n);
	case INVALIDATE:
		return invalidate(r, o->n, o->rkey);
	case FLOOD:
		return flood(r, &o->ask, o->n, now_ms() + o->ms);
	}
	return -EINVAL;
}

/* Give the interface roce-peer the address ROCE_ADDR with 24 bits of prefix, and set it up. */
static int child_interface(struct roce *r)
{
	struct ifreq addr = { .ifr_name = "roce-peer" }, mask = addr, up = addr;
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), ret = 0;

	*(struct sockaddr_in *)&addr.ifr_addr = (struct sockaddr_in) {
		.sin_family = AF_INET, .sin_addr = r->own,
	};
	*(struct sockaddr_in *)&mask.ifr_netmask = (struct sockaddr_in) {
		.sin_family = AF_INET, .sin_addr.s_addr = htobe32(0xffffff00),
	};
	up.ifr_flags = IFF_UP;
	if (ioctl(fd, SIOCSIFADDR, &addr) || ioctl(fd, SIOCSIFNETMASK, &mask) ||
	    ioctl(fd, SIOCSIFFLAGS, &up))
		ret = -errno;
	close(fd);
	return ret;
}

static int child_socket(struct roce *r)
{
	struct sockaddr_in own = { .sin_family = AF_INET, .sin_port = htons(ROCE_PORT),
				   .sin_addr = r->own };
	int pmtu = IP_PMTUDISC_DO, rcvbuf = RCVBUF;

	r->fd = socket(AF_INET, SOCK_DGRAM, 0);
	if (r->fd < 0 || setsockopt(r->fd, IPPROTO_IP, IP_MTU_DISCOVER, &pmtu, sizeof(pmtu)) ||
	    setsockopt(r->fd, SOL_SOCKET, SO_RCVBUFFORCE, &rcvbuf, sizeof(rcvbuf)) ||
	    bind(r->fd, (struct sockaddr *)&own, sizeof(own)))
		return -errno;
	return 0;
}

static void child_main(struct roce_peer *p, struct in_addr to)
{
	static struct roce r;
	struct order o;
	int ret;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	r.to = to;
	inet_pton(AF_INET, ROCE_ADDR, &r.own);
	ret = unshare(CLONE_NEWNET) ? -errno : 0;
	write(p->report[1], &ret, sizeof(ret));
	while (read(p->order[0], &o, sizeof(o)) == sizeof(o)) {
		ret = 0;
		if (!r.fd)
			ret = child_interface(&r) ?: child_socket(&r);
		if (!ret)
			ret = obey(&r, &o);
		write(p->report[1], &ret, sizeof(ret));
		write(p->report[1], &r.answers, sizeof(r.answers));
	}
	_exit(0);
}

static int command(struct roce_peer *p, const struct order *o, struct roce_answers *a)
{
	struct roce_answers unused;
	int ret;

	if (write(p->order[1], o, sizeof(*o)) != sizeof(*o) ||
	    read(p->report[0], &ret, sizeof(ret)) != sizeof(ret) ||
	    read(p->report[0], a ?: &unused, sizeof(*a)) != sizeof(*a))
		return -EPIPE;
	return ret;
}

int roce_start(struct roce_peer *p, const void *addr)
{
	const struct sockaddr_in *sin = addr;
	char cmd[160];
	int ret;

	p->pid = 0;
	if (sin->sin_family != AF_INET || access("/sys/class/net/v1", F_OK) ||
	    access("/sys/class/infiniband/rxe0", F_OK))
		return -ENODEV;
	if (pipe(p->order) || pipe(p->report))
		return -errno;
	p->pid = fork();
	if (!p->pid)
		child_main(p, sin->sin_addr);
	if (read(p->report[0], &ret, sizeof(ret)) != sizeof(ret))
		ret = -EPIPE;
	/* The kernel loads the module macvlan itself. */
	snprintf(cmd, sizeof(cmd), "exec ip link add roce-peer link v1 netns %d type macvlan mode "
		 "bridge", p->pid);
	if (!ret && system(cmd))
		ret = -ENODEV;
	if (ret)
		roce_end(p);
	return ret;
}

void roce_end(struct roce_peer *p)
{
	int i;

	if (!p->pid)
		return;
	kill(p->pid, SIGKILL);
	waitpid(p->pid, NULL, 0);
	p->pid = 0;
	for (i = 0; i < 2; i++) {
		close(p->order[i]);
		close(p->report[i]);
	}
}

int roce_ask(struct roce_peer *p, const struct roce_ask *ask, uint32_t n)
{
	struct order o = { .what = REQUEST, .n = n, .ask = *ask };

	return command(p, &o, NULL);
}

int roce_request(struct roce_peer *p, uint16_t qual, uint32_t n)
{
	struct roce_ask ask = { .qual = qual };

	return roce_ask(p, &ask, n);
}

int roce_answers(struct roce_peer *p, uint32_t n, unsigned int ms, struct roce_answers *a)
{
	struct order o = { .what = ANSWERS, .n = n, .ms = ms };

	return command(p, &o, a);
}

int roce_talk(struct roce_peer *p, uint32_t i)
{
	struct order o = { .what = TALK, .n = i };

	return command(p, &o, NULL);
}

int roce_invalidate(struct roce_peer *p, uint32_t i, uint32_t rkey)
{
	struct order o = { .what = INVALIDATE, .n = i, .rkey = rkey };

	return command(p, &o, NULL);
}

int roce_flood(struct roce_peer *p, const struct roce_ask *ask, uint32_t n, unsigned int ms,
	       struct roce_answers *a)
{
	struct order o = { .what = FLOOD, .n = n, .ms = ms, .ask = *ask };

	return command(p, &o, a);
}
