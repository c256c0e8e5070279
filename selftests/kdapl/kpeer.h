/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The protocol of dat_kpeer.ko and the program api_kernel.c at the other end.
 *
 * The module listens at KPEER_QUAL, and at KPEER_SHARED, whose connections receive into the
 * buffers of an SRQ.  The private data of its accept or connect request is a struct kpeer_hello:
 * memory of the kernel that the program may read and write.  The program sends orders, and the
 * module returns each as an answer, one at a time per connection.  Numbers are in host byte
 * order: both run on one machine.
 */
#ifndef _KPEER_H
#define _KPEER_H

#include <linux/types.h>

#define KPEER_QUAL	7472
#define KPEER_SHARED	7473
#define KPEER_BUFFERS	4		/* buffers of the SRQ */
#define KPEER_HEARD	64		/* bytes of private data that the module remembers */
#define KPEER_MEMORY	(256 << 10)	/* bytes of the module's memory */
#define KPEER_MESSAGE	4096		/* largest message */

/**
 * struct kpeer_hello - private data of the module
 * @addr: address of its memory
 * @rkey: key of its memory
 * @len: length of its memory
 */
struct kpeer_hello {
	__u64	addr;
	__u32	rkey;
	__u32	len;
};

enum kpeer_op {
	KPEER_ECHO,	/* the message comes back whole */
	KPEER_FILL,	/* fill a part of the module's memory by kpeer_byte() */
	KPEER_SUM,	/* @value of the answer: kpeer_sum() of a part */
	KPEER_WRITE,	/* write the part to the other end's memory */
	KPEER_READ,	/* read the part from the other end's memory */
	KPEER_CONNECT,	/* open another connection to qualifier @value */
	KPEER_PRIVATE,	/* append KPEER_HEARD bytes of this connection's request to the answer */
	KPEER_REJECT,	/* reject the next request */
	KPEER_HANDOFF,	/* pass the next request on to qualifier @value */
	KPEER_RESERVE,	/* reserve qualifier @value for one connection */
	KPEER_AGAIN,	/* connect this EP to qualifier @value when its connection ends */
	KPEER_LEAVE,	/* disconnect after the answer */
	KPEER_ENDED,	/* @value of the answer: the last event that ended a connection */
	KPEER_FMR,	/* register the part by dat_lmr_fmr(); @rkey of the answer */
	KPEER_INVALIDATE, /* invalidate the key of KPEER_FMR */
	KPEER_BIND,	/* bind a window to the part; @value: privileges, @addr: its address */
	KPEER_PAGES,	/* register the part page by page, one registration at a time */
	KPEER_FREE,	/* free the registration of KPEER_PAGES */
	KPEER_DUP,	/* open another connection to the same peer, by dat_ep_dup_connect() */
	KPEER_SOLICIT,	/* send @value messages before the answer, which alone is solicited */
	KPEER_OPS
};

/**
 * struct kpeer_message - an order or an answer; an ECHO may have more data behind it
 * @op: enum kpeer_op
 * @status: status of the answer: 0, or a DAT_RETURN
 * @offset: offset of the part
 * @len: length of the part
 * @rkey: key of the other end's memory
 * @unused: 0
 * @addr: address in the other end's memory
 * @value: depends on @op
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
