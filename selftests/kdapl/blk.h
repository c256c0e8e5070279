/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) The dat authors */
/*
 * dat_blk.ko: block devices that a dat-blkd server provides over DAT.
 *
 *	echo add IA ADDRESS PORT >/dev/dat_blk		makes the next free /dev/datblkN
 *	echo remove datblk0 >/dev/dat_blk		fails if the device is open
 *	echo remove datblk0 force >/dev/dat_blk		removes it in any case
 *	cat /dev/dat_blk				lists the devices
 *
 * The life of a request
 * =====================
 *
 * A request has three steps: queue_rq posts the message, the send completes, and the reply of the
 * server arrives.  Each step decrements datblk_io.left, shown as (-1).  The step that makes @left 0
 * calls datblk_mem_ops.invalidate, which ends the server's access to the pages.
 *
 *	queue_rq                  server                 upcall
 *	--------                  ------                 ------
 *	BUSY
 *	map the pages
 *	post the message   ---->
 *	posted (-1)                      ---->           sent (-1)
 *	                                 ---->           reply: ANSWERED (-1)
 *	                                                 all three: invalidate
 *	                                                 done: clear BUSY, complete
 *
 * The context that clears BUSY completes the request.  Normally, the last step does so.  If the
 * connection is lost, datblk_lost_work() does so, after it has quiesced queue_rq and freed the EP.
 * So the server cannot access memory of a completed request.
 *
 * A lost connection is never restored: requests fail until the device is removed.
 */
#ifndef _BLK_H
#define _BLK_H

#include <linux/blk-mq.h>
#include <linux/completion.h>
#include <linux/kdat.h>
#include <linux/scatterlist.h>
#include <linux/workqueue.h>

#include "blk_proto.h"

#define DATBLK_NAME_SIZE	64

/* struct datblk_io.flags */
#define DATBLK_IO_BUSY		0
#define DATBLK_IO_ANSWERED	1

/* struct datblk.flags */
#define DATBLK_LIVE		0
#define DATBLK_DEAD		1

/**
 * struct datblk_rq - the driver's private data in a struct request
 * @since: jiffies of the first failure to get a resource for the request
 */
struct datblk_rq {
	unsigned long	since;
};

/**
 * struct datblk_io - state of one tag of the block layer
 * @dev: device that owns the tag
 * @rq: request, valid while BUSY
 * @flags: DATBLK_IO_*
 * @left: number of steps of the request that remain, from IO_STEPS down to 0
 * @tag: tag in messages: the index of this struct in the low 16 bits, its use count above
 * @op: operation in messages: DATBLK_READ, ...
 * @length: length of the request in bytes
 * @answer: status from the server's reply
 * @status: status for the block layer; owned by the context that has cleared BUSY
 * @addr: address of the pages, sent to the server
 * @rkey: RMR context of the pages, sent to the server
 * @bounce: this tag's part of datblk.bounce; NULL if the pages are registered in place
 * @bounce_addr: address of @bounce, sent to the server
 * @bounce_rkey: RMR context of @bounce, sent to the server
 * @bounce_context: LMR context of @bounce
 * @lmr: LMR that registers the pages in place
 * @sg: scatterlist of the pages, for a registration in place
 */
struct datblk_io {
	struct datblk	*dev;
	struct request	*rq;
	unsigned long	flags;
	atomic_t	left;
	u64		tag;
	u8		op;
	u32		length;
	blk_status_t	answer;
	blk_status_t	status;
	u64		addr;
	u32		rkey;
	void		*bounce;
	u64		bounce_addr;
	u32		bounce_rkey;
	DAT_LMR_CONTEXT	bounce_context;
	DAT_LMR_HANDLE	lmr;
	struct scatterlist *sg;
};

/**
 * struct datblk_mem_ops - a way to give the server access to the pages of a request
 * @name: name of the way, shown by reading /dev/dat_blk
 * @blocking: @map may sleep
 * @setup: called before connecting; closing the IA or @cleanup frees what @setup allocates
 * @cleanup: called after the IA is closed, and after a @setup that has failed
 * @limit: adds limits of this way to the limits of the disk's queue
 * @map: sets addr and rkey; called by queue_rq; BLK_STS_RESOURCE means that a retry may
 *	succeed
 * @invalidate: ends the server's access; leads to datblk_done(), called by @invalidate or by a
 *	later completion; Context: BH
 * @revoke: ends the server's access after the EP has been freed; may sleep
 * @finish: called in the block layer's completion context for each request that has succeeded
 */
struct datblk_mem_ops {
	const char	*name;
	bool		blocking;
	int		(*setup)(struct datblk *dev);
	void		(*cleanup)(struct datblk *dev);
	void		(*limit)(struct datblk *dev, struct queue_limits *lim);
	blk_status_t	(*map)(struct datblk_io *io);
	void		(*invalidate)(struct datblk_io *io);
	void		(*revoke)(struct datblk_io *io);
	void		(*finish)(struct datblk_io *io);
};

/**
 * struct datblk_msgs - memory for messages
 * @request: array of one request message per tag, sent by io_post()
 * @reply: array of one receive buffer per tag
 * @memory: allocation that holds both arrays
 * @context: LMR context of @memory
 */
struct datblk_msgs {
	struct datblk_request	*request;
	struct datblk_reply	*reply;
	void			*memory;
	DAT_LMR_CONTEXT		context;
};

/**
 * struct datblk - a block device and its connection to a server
 * @node: entry in the list of devices in blk_main.c
 * @index: number in the device's name
 * @ia_name: name of the adapter, from the add command
 * @address: address of the server, from the add command
 * @port: port of the server, from the add command
 * @flags: DATBLK_LIVE: the connection was established; DATBLK_DEAD: it is lost or being
 *	closed
 * @ia: open IA; closing it closes all other DAT objects of the device
 * @async_evd: EVD for errors of the adapter; its upcall may sleep
 * @connect_evd: EVD for connection events; its upcall may sleep
 * @dto_evd: EVD for completions; its upcall runs in BH context, one call at a time
 * @pz: protection zone of all LMRs and of the EP
 * @ep: EP, connected once
 * @connected: completed when the attempt to connect has ended, with the result in @error
 * @error: 0, or a negative errno that says why the attempt to connect failed
 * @sync: true if the adapter requires dat_lmr_sync_rdma_read() and dat_lmr_sync_rdma_write()
 * @reads: number of RDMA reads that the server may have in flight
 * @depth: number of tags; at most what the adapter supports and the server allows
 * @max_bytes: size of the largest request; at most what the adapter and the server allow
 * @block_size: size of a block in bytes
 * @size: size of the device in bytes
 * @export_flags: DATBLK_EXPORT_* from the server
 * @msgs: memory for messages
 * @mem: the way to give the server access to pages
 * @bounce: bounce memory of all tags, or NULL
 * @sg: scatterlists of all tags, or NULL
 * @ios: array of the state of each tag
 * @lost_work: work item that ends all requests; queued by the context that sets DATBLK_DEAD
 * @set: tag set of the block layer
 * @disk: disk of the block layer, NULL until datblk_disk_add() has allocated it
 * @added: true once device_add_disk() has succeeded; the last user of the disk then frees
 *	this structure
 */
struct datblk {
	struct list_head	node;
	int			index;
	char			ia_name[DATBLK_NAME_SIZE];
	char			address[DATBLK_NAME_SIZE];
	u16			port;
	unsigned long		flags;

	DAT_IA_HANDLE		ia;
	DAT_EVD_HANDLE		async_evd;
	DAT_EVD_HANDLE		connect_evd;
	DAT_EVD_HANDLE		dto_evd;
	DAT_PZ_HANDLE		pz;
	DAT_EP_HANDLE		ep;
	struct completion	connected;
	int			error;

	bool			sync;
	u32			reads;
	u32			depth;
	u32			max_bytes;
	u32			block_size;
	u64			size;
	u32			export_flags;

	struct datblk_msgs	msgs;
	const struct datblk_mem_ops *mem;
	void			*bounce;
	struct scatterlist	*sg;
	struct datblk_io	*ios;
	struct work_struct	lost_work;
	struct blk_mq_tag_set	set;
	struct gendisk		*disk;
	bool			added;
};

static inline bool datblk_dead(const struct datblk *dev)
{
	return test_bit(DATBLK_DEAD, &dev->flags);
}

/* blk_conn.c */
int datblk_connect(struct datblk *dev);
void datblk_disconnect(struct datblk *dev);
int datblk_errno(DAT_RETURN rc);
void datblk_connected(struct datblk *dev, int error);
int datblk_register(struct datblk *dev, void *memory, size_t size, DAT_MEM_PRIV_FLAGS priv,
		    DAT_LMR_CONTEXT *lmr_context, DAT_RMR_CONTEXT *rmr_context,
		    DAT_VADDR *addr);
void datblk_sync_out(struct datblk *dev, const void *at, size_t len, DAT_LMR_CONTEXT context);
void datblk_sync_in(struct datblk *dev, const void *at, size_t len, DAT_LMR_CONTEXT context);
DAT_RETURN datblk_post_reply(struct datblk *dev, u32 index);
void datblk_fail(struct datblk *dev, const char *why);

/* blk_io.c */
extern const struct blk_mq_ops datblk_mq_ops;
void datblk_dto_upcall(DAT_PVOID instance_data, const DAT_EVENT *event,
		       DAT_BOOLEAN more_events);
void datblk_lost_work(struct work_struct *work);
void datblk_done(struct datblk_io *io);
DAT_DTO_COOKIE datblk_invalidate_cookie(const struct datblk_io *io);

/* blk_mem.c */
int datblk_mem_setup(struct datblk *dev);

/* blk_disk.c */
int datblk_disk_add(struct datblk *dev);
void datblk_disk_remove(struct datblk *dev);
void datblk_free(struct datblk *dev);

extern unsigned int datblk_depth, datblk_max_kb, datblk_timeout;
extern bool datblk_bounce;
extern struct workqueue_struct *datblk_wq;

#endif /* _BLK_H */
