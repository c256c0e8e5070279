/* SPDX-License-Identifier: GPL-2.0 */
/*
 * dat_blk.ko: block devices that a dat-blkd serves over DAT.
 *
 *	echo add IA ADDRESS PORT >/dev/dat_blk		makes /dev/datblk0, or the next
 *	echo remove datblk0 >/dev/dat_blk		fails if the device is open
 *	echo remove datblk0 force >/dev/dat_blk		removes it in any case
 *	cat /dev/dat_blk				lists the devices
 *
 * The life of a request
 * =====================
 *
 *	queue_rq                  server                 upcall
 *	--------                  ------                 ------
 *	BUSY
 *	map the pages
 *	post the message   ---->
 *	posted (-1)                      ---->           sent (-1)
 *	                                 ---->           reply: ANSWERED (-1)
 *	                                                 all three: settle
 *	                                                 settled: clear BUSY, complete
 *
 * The context that clears BUSY completes the request: normally the last of these steps, or
 * datblk_lost_work() if the connection is lost.  datblk_lost_work() first quiesces queue_rq and
 * destroys the connection with its queue pair, so that the peer cannot reach memory that has
 * been given back.
 *
 * A lost connection stays lost: requests fail until the device is removed.
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
 * struct datblk_rq - the driver's part of a request of the block layer
 * @since: jiffies of the first failure to get a resource for the request
 */
struct datblk_rq {
	unsigned long	since;
};

/**
 * struct datblk_io - state of a block layer tag
 * @dev: device
 * @rq: request, valid while BUSY
 * @flags: DATBLK_IO_*
 * @left: steps until the request is settled
 * @tag: tag on the wire: use count of this tag, and its index
 * @op: DATBLK_READ, ...
 * @length: bytes
 * @answer: status that the server replied
 * @status: status for the block layer; owned by the context that has cleared BUSY
 * @addr: address of the pages, for the peer
 * @rkey: key of the pages, for the peer
 * @bounce: this tag's part of the bounce memory
 * @bounce_addr: address of @bounce, for the peer
 * @bounce_rkey: key of @bounce, for the peer
 * @bounce_context: LMR context of @bounce
 * @lmr: LMR that registers the pages
 * @sg: pages
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
 * struct datblk_mem_ops - a way to give the peer access to the pages of a request
 * @name: name in messages
 * @blocking: @map may sleep
 * @setup: called before connecting; what it makes ends with the IA or in @cleanup
 * @cleanup: called after the IA is closed, and after a @setup that has failed
 * @limit: set the limits that the block layer has to respect
 * @map: set addr and rkey; called by queue_rq; BLK_STS_RESOURCE: try again later
 * @settle: end the access; calls datblk_settled() now or from a later completion; BH
 * @revoke: end the access after the connection is gone; may sleep
 * @finish: called for a request that has succeeded, in the block layer's completion context
 */
struct datblk_mem_ops {
	const char	*name;
	bool		blocking;
	int		(*setup)(struct datblk *dev);
	void		(*cleanup)(struct datblk *dev);
	void		(*limit)(struct datblk *dev, struct queue_limits *lim);
	blk_status_t	(*map)(struct datblk_io *io);
	void		(*settle)(struct datblk_io *io);
	void		(*revoke)(struct datblk_io *io);
	void		(*finish)(struct datblk_io *io);
};

/**
 * struct datblk_msgs - memory for messages, one of each kind per tag
 * @request: sent for the tag of this index
 * @reply: posted as receives
 */
struct datblk_msgs {
	struct datblk_request	*request;
	struct datblk_reply	*reply;
	void			*memory;
	DAT_LMR_CONTEXT		context;
};

/**
 * struct datblk - a device
 * @node: entry in the list of devices
 * @index: number in the device's name
 * @ia_name: adapter, from the command
 * @address: server, from the command
 * @port: port of the server, from the command
 * @flags: DATBLK_LIVE: the connection was established; DATBLK_DEAD: it is lost or being closed
 * @ia: adapter; closing it closes all other DAT objects
 * @async_evd: upcalls may sleep
 * @connect_evd: upcalls may sleep
 * @dto_evd: upcalls in BH, one at a time
 * @pz: zone of all objects
 * @ep: endpoint, connected once
 * @connected: completed when the attempt to connect has ended; @error has its result
 * @error: 0, or why there is no connection
 * @sync: registered memory has to be synchronized
 * @reads: RDMA reads that the server may have in flight
 * @depth: tags; at most what the adapter supports and the server allows
 * @max_bytes: largest request; at most what the adapter supports and the server allows
 * @block_size: bytes
 * @size: bytes
 * @export_flags: DATBLK_EXPORT_*
 * @msgs: messages
 * @mem: operations that give pages to the peer
 * @bounce: bounce memory of all tags
 * @sg: pages of all tags
 * @ios: state of each tag
 * @lost_work: work queued by the context that sets DEAD
 * @set: tag set
 * @disk: disk of the block layer, NULL before it is made
 * @added: the disk is in use, and its last user frees this structure
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
void datblk_settled(struct datblk_io *io);
DAT_DTO_COOKIE datblk_settle_cookie(const struct datblk_io *io);

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
