/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Copyright (c) The dat authors */
/*
 * A block device over DAT: the protocol of dat_blk.ko and dat-blkd.
 *
 * All numbers are little endian.  Structures have no holes.  Reserved fields are 0.  Every
 * structure begins with DATBLK_MAGIC and DATBLK_VERSION.  A side that receives another magic,
 * another version, or anything that this file forbids ends the connection.
 *
 *	client                                  server
 *	------                                  ------
 *	dat_ep_connect(), datblk_hello  ------->
 *	                                <-------  dat_cr_accept(), datblk_export
 *
 *	send datblk_request             ------->
 *	  READ                          <-------  RDMA write into the client's memory
 *	  WRITE                         <------>  RDMA read from the client's memory
 *	                                <-------  send datblk_reply
 *
 * Some transports pad the private data of each side with zeros.
 *
 * The client has at most export.depth requests outstanding, each with at most export.max_bytes of
 * data.  The client posts a receive for the reply before it sends a request.  The server posts a
 * receive for the next request before it replies.  The server may carry out requests and reply to
 * them in any order.  The server may access the client's memory (addr, rkey, length) until it has
 * sent the reply.  The data of a READ are in place when the reply arrives.
 *
 * A reply means:
 *
 *	WRITE, DISCARD    later requests see the change; a crash of the server's machine may
 *	                  undo the change
 *	FLUSH             every request that was replied to before the client sent the FLUSH is
 *	                  on stable storage
 *	WRITE with FUA    this write is on stable storage
 *
 * The data of a discarded range are undefined until they are written again.
 */
#ifndef _DATBLK_PROTO_H
#define _DATBLK_PROTO_H

#include <linux/types.h>

#define DATBLK_MAGIC	0x6b62	/* "bk" in memory */
#define DATBLK_VERSION	1

#define DATBLK_PORT	5098	/* default port */

/* ---- Connecting ---- */

/**
 * struct datblk_hello - private data of the client
 * @magic: DATBLK_MAGIC
 * @version: DATBLK_VERSION
 * @depth: number of outstanding requests that the client asks for, at least 1
 * @max_bytes: data size of a request that the client asks for, in bytes
 * @reserved: 0
 */
struct datblk_hello {
	__le16	magic;
	__le16	version;
	__le32	depth;
	__le32	max_bytes;
	__le32	reserved;
};

#define DATBLK_EXPORT_READ_ONLY	0x1	/* writes and discards fail with DATBLK_EROFS */
#define DATBLK_EXPORT_DISCARD	0x2	/* DATBLK_DISCARD is supported */

/**
 * struct datblk_export - private data of the server
 * @magic: DATBLK_MAGIC
 * @version: DATBLK_VERSION
 * @depth: maximum number of outstanding requests, from 1 to hello.depth
 * @max_bytes: maximum data size of a READ or WRITE, from 4096 to hello.max_bytes, a multiple
 *	of 4096
 * @block_size: unit of offsets and lengths in bytes: a power of two from 512 to 4096
 * @size: size of the device in bytes, a multiple of @block_size, not 0
 * @flags: DATBLK_EXPORT_*
 * @reserved: 0
 */
struct datblk_export {
	__le16	magic;
	__le16	version;
	__le32	depth;
	__le32	max_bytes;
	__le32	block_size;
	__le64	size;
	__le32	flags;
	__le32	reserved;
};

/* ---- Requests ---- */

#define DATBLK_READ	1
#define DATBLK_WRITE	2
#define DATBLK_FLUSH	3	/* offset and length are 0 */
#define DATBLK_DISCARD	4	/* max_bytes does not limit the length */

#define DATBLK_FUA	0x1	/* for a WRITE: reply when the data are on stable storage */

/**
 * struct datblk_request - a request of the client
 * @magic: DATBLK_MAGIC
 * @version: DATBLK_VERSION
 * @op: DATBLK_READ, ...
 * @flags: DATBLK_FUA or 0
 * @tag: value that the reply repeats; unique among outstanding requests
 * @offset: offset of the first byte on the device
 * @length: length in bytes; 0 for a FLUSH only
 * @rkey: for READ and WRITE: RMR context of the client's memory, @length bytes at @addr
 * @addr: for READ and WRITE: address of the client's memory
 */
struct datblk_request {
	__le16	magic;
	__u8	version;
	__u8	op;
	__le32	flags;
	__le64	tag;
	__le64	offset;
	__le32	length;
	__le32	rkey;
	__le64	addr;
};

#define DATBLK_OK		0
#define DATBLK_EIO		1
#define DATBLK_ENOSPC		2
#define DATBLK_EROFS		3
#define DATBLK_EOPNOTSUPP	4
#define DATBLK_STATUS_MAX	4

/**
 * struct datblk_reply - a reply of the server
 * @magic: DATBLK_MAGIC
 * @version: DATBLK_VERSION
 * @op: operation of the request
 * @status: DATBLK_OK, or the reason why the request was not completely carried out
 * @tag: tag of the request
 * @length: length of the request if @status is DATBLK_OK, else 0
 * @reserved: 0
 */
struct datblk_reply {
	__le16	magic;
	__u8	version;
	__u8	op;
	__le32	status;
	__le64	tag;
	__le32	length;
	__le32	reserved;
};

#endif /* _DATBLK_PROTO_H */
