/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What dat_kpeer.ko and api_kernel.c, the program at the other end, have agreed upon.
 *
 * The module listens at KPEER_QUAL, and at KPEER_SHARED, whose connections receive into the
 * buffers of an SRQ.  Whoever accepts or connects gets a struct kpeer_hello as private data
 * from it: memory of the kernel that he may write and read.  Messages are orders to the
 * module, and come back as answers, one at a time for each connection.  Numbers are in host
 * byte order: both are on one machine.
 */
#ifndef _KPEER_H
#define _KPEER_H

#include <linux/types.h>

#define KPEER_QUAL	7472
#define KPEER_SHARED	7473
#define KPEER_BUFFERS	4		/* of the SRQ */
#define KPEER_HEARD	64		/* bytes of private data that the module remembers */
#define KPEER_MEMORY	(256 << 10)	/* bytes of the module's memory */
#define KPEER_MESSAGE	4096		/* bytes of a message, at most */

/**
 * struct kpeer_hello - private data of the module
 * @addr: where its memory begins
 * @rkey: key to it
 * @len: bytes of it
 */
struct kpeer_hello {
	__u64	addr;
	__u32	rkey;
	__u32	len;
};

enum kpeer_op {
	KPEER_ECHO,	/* the message comes back whole */
	KPEER_FILL,	/* a part of the module's memory is filled by kpeer_byte() */
	KPEER_SUM,	/* @value of the answer: kpeer_sum() of a part */
	KPEER_WRITE,	/* the part is written to the other end's memory */
	KPEER_READ,	/* the part is read from there */
	KPEER_CONNECT,	/* the module makes another connection, to qualifier @value */
	KPEER_PRIVATE,	/* behind the answer: KPEER_HEARD bytes of this connection's request */
	KPEER_REJECT,	/* the next request is rejected */
	KPEER_HANDOFF,	/* the next request is passed on to qualifier @value */
	KPEER_RESERVE,	/* qualifier @value is good for one connection */
	KPEER_AGAIN,	/* when this connection ends its EP connects to qualifier @value */
	KPEER_LEAVE,	/* the module disconnects, behind the answer */
	KPEER_ENDED,	/* @value of the answer: the event that ended a connection last */
	KPEER_FMR,	/* the part gets a key of its own, @rkey of the answer, by dat_lmr_fmr() */
	KPEER_INVALIDATE, /* and loses it */
	KPEER_BIND,	/* the same by a window, for privileges @value; its address is @addr */
	KPEER_PAGES,	/* as FMR, by registering the part's pages one by one; once at a time */
	KPEER_FREE,	/* and loses it */
	KPEER_DUP,	/* another connection to where the module has made this one to */
	KPEER_SOLICIT,	/* @value messages come before the answer, which alone is solicited */
	KPEER_OPS
};

/**
 * struct kpeer_message - an order or an answer; an ECHO may go on behind it
 * @op: enum kpeer_op
 * @status: of the answer: 0, or what the module did not like
 * @offset: of the part
 * @len: of the part
 * @rkey: of the other end's memory
 * @unused: 0
 * @addr: of it
 * @value: depends
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
