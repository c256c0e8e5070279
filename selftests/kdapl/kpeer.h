/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) The dat authors */
/*
 * The protocol between the module dat_kpeer.ko and the program api_kernel.c.
 *
 * The module listens at KPEER_QUAL and at KPEER_SHARED.  Connections to KPEER_SHARED receive into
 * the buffers of an SRQ.  When the module accepts or requests a connection, its private data are a
 * struct kpeer_hello, which describes kernel memory that the program may read and write.  The
 * program sends one order at a time on each connection, and the module answers each order.  Numbers
 * are in host byte order, because the module and the program run on the same machine.
 */
#ifndef _KPEER_H
#define _KPEER_H

#include <linux/types.h>

#define KPEER_QUAL	7472
#define KPEER_SHARED	7473
#define KPEER_BUFFERS	4		/* number of buffers of the SRQ */
#define KPEER_PD_SIZE	64		/* bytes of private data kept per connection */
#define KPEER_MEMORY	(256 << 10)	/* size of the module's memory in bytes */
#define KPEER_MESSAGE	4096		/* size of the largest message in bytes */

/**
 * struct kpeer_hello - private data of the module
 * @addr: address of the module's memory
 * @rkey: RMR context of the module's memory
 * @len: size of the module's memory in bytes
 */
struct kpeer_hello {
	__u64	addr;
	__u32	rkey;
	__u32	len;
};

/* Operations.  "The part" is @len bytes at @offset of the module's memory. */
enum kpeer_op {
	KPEER_ECHO,	/* send the whole message back */
	KPEER_FILL,	/* fill the part of the module's memory with kpeer_byte() */
	KPEER_SUM,	/* @value of the answer: kpeer_sum() of the part */
	KPEER_WRITE,	/* RDMA-write the part to the program's memory */
	KPEER_READ,	/* RDMA-read the part from the program's memory */
	KPEER_CONNECT,	/* connect another EP to qualifier @value */
	KPEER_PRIVATE,	/* answer with the private data of this connection's request */
	KPEER_REJECT,	/* reject the next connection request */
	KPEER_HANDOFF,	/* hand the next connection request to qualifier @value */
	KPEER_RESERVE,	/* create an RSP for one connection to qualifier @value */
	KPEER_AGAIN,	/* when this connection ends, connect its EP to qualifier @value */
	KPEER_LEAVE,	/* disconnect after the answer */
	KPEER_ENDED,	/* @value of the answer: last event that ended a connection */
	KPEER_FMR,	/* register the part by dat_lmr_fmr(); return @rkey */
	KPEER_INVALIDATE, /* invalidate the registration of KPEER_FMR */
	KPEER_BIND,	/* bind an RMR to the part with privileges @value; return @addr, @rkey */
	KPEER_PAGES,	/* register the part as physical pages, if KPEER_PAGES has no LMR yet */
	KPEER_FREE,	/* free the LMR of KPEER_PAGES */
	KPEER_DUP,	/* connect another EP to the same peer by dat_ep_dup_connect() */
	KPEER_SOLICIT,	/* send @value messages, then a solicited answer */
	KPEER_OPS
};

/**
 * struct kpeer_message - an order or an answer; in an ECHO, more data may follow
 * @op: enum kpeer_op
 * @status: in an answer, DAT_RETURN of the order; in an order, 0
 * @offset: offset of the part in the module's memory
 * @len: length of the part in bytes
 * @rkey: in an order, RMR context of the program's memory; in an answer, RMR context of the part
 * @unused: 0
 * @addr: in an order, address in the program's memory; in an answer, address of the part
 * @value: argument or result; enum kpeer_op says which
 */
struct kpeer_message {
	__u32	op;
	__u32	status;
	__u32	offset;
	__u32	len;
	__u32	rkey;
	__u32	unused;
	__u64	addr;
	__u64	value;
};

static inline __u8 kpeer_byte(__u64 seed, __u32 i)
{
	return (__u8)(seed + i * 7 + i / 251);
}

static inline __u64 kpeer_sum(const __u8 *p, __u32 len)
{
	__u64 sum = len;

	while (len--)
		sum = sum * 1099511628211ULL + *p++;
	return sum;
}

#endif /* _KPEER_H */
