/* SPDX-License-Identifier: GPL-2.0 */
/*
 * dat_blk.ko: block devices that a dat-blkd serves over DAT.
 *
 *	echo add IA ADDRESS PORT >/dev/dat_blk		makes /dev/datblk0, or the next
 *	echo remove datblk0 >/dev/dat_blk		unless somebody has it open
 *	echo remove datblk0 force >/dev/dat_blk		in any case
 *	cat /dev/dat_blk				lists them
 *
 * A request, and who may end it
 * =============================
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
 * Who clears BUSY completes the request: that is the last of these steps, or, if the
 * connection is lost, datblk_lost_work().  That one first sees to it that queue_rq runs
 * nowhere and that the connection is gone, with the queue pair: memory is given back when
 * the peer can't reach it any more.
 *
 * A connection that is lost stays lost: requests fail until the device is removed.
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
 * @since: jiffies, when there was first not enough of something for it
 */
struct datblk_rq {
	unsigned long	since;
};

/**
 * struct datblk_io - what a tag of the block layer is used for
 * @dev: device
 * @rq: request, valid while BUSY
 * @flags: DATBLK_IO_*
 * @left: steps until it is settled
 * @tag: on the wire: number of uses of this one, and its index
 * @op: DATBLK_READ, ...
 * @length: bytes
 * @answer: of the server
 * @status: for the block layer; its owner's who has cleared BUSY
 * @addr: of the pages, for the peer
 * @rkey: likewise
 * @bounce: its part of the bounce memory
 * @bounce_addr: of it, for the peer
 * @bounce_rkey: of it
 * @bounce_context: of it
 * @lmr: for its pages
 * @sg: its pages
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
 * struct datblk_mem_ops - how the peer gets at the pages of a request
 * @name: for people
 * @blocking: @map may sleep
 * @setup: before connecting; what it makes goes with the IA, or by @cleanup
 * @cleanup: after the IA is closed; also after a @setup that has failed
 * @limit: what the block layer has to respect
 * @map: set addr and rkey; BLK_STS_RESOURCE: it may work later; queue_rq's context
 * @settle: take it back: datblk_settled() is called by it, or follows; BH
 * @revoke: likewise, when there is no connection any more; may sleep
 * @finish: the request was good; the block layer's completion context
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
 * struct datblk_msgs - memory for messages; of every kind one per tag
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
 * @node: in the list of all
 * @index: number of its name
 * @ia_name: as asked for
 * @address: as asked for
 * @port: as asked for
 * @flags: DATBLK_LIVE: there was a connection; DATBLK_DEAD: it is lost, or not wanted
 * @ia: everything of DAT is closed with it
 * @async_evd: upcalls may sleep
 * @connect_evd: upcalls may sleep
 * @dto_evd: upcalls in BH, one at a time
 * @pz: of everything
 * @ep: connected once
 * @connected: the attempt has ended; @error tells how
 * @error: 0, or why there is no connection
 * @sync: memory that stays registered has to be synchronized
 * @reads: RDMA reads of the server at a time
 * @depth: tags; what the adapter can and the server allows
 * @max_bytes: of a request; likewise
 * @block_size: bytes
 * @size: bytes
 * @export_flags: DATBLK_EXPORT_*
 * @msgs: messages
 * @mem: how pages are given to the peer
 * @bounce: memory of all tags
 * @sg: pages of all tags
 * @ios: one per tag
 * @lost_work: queued by who sets DEAD
 * @set: tags
 * @disk: of the block layer, NULL before it is made
 * @added: it can be used, and its last user frees this
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
