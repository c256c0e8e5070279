// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* The connection of a device: DAT objects, connect and disconnect. */
#include <linux/dma-mapping.h>
#include <linux/inet.h>
#include <linux/nsproxy.h>
#include <linux/slab.h>
#include <net/net_namespace.h>

#include "blk.h"

#define ASYNC_QLEN		16
#define CONNECT_QLEN		4
#define CONNECT_TIMEOUT_US	(10 * USEC_PER_SEC)
/* Posts per request: send the message, register the memory, invalidate the registration. */
#define POSTS_PER_IO		3
#define MAX_READS		16

static const struct {
	DAT_RETURN_TYPE	type;
	int		error;
} errors[] = {
	{ DAT_SUCCESS,			0 },
	{ DAT_PROVIDER_NOT_FOUND,	-ENODEV },
	{ DAT_INSUFFICIENT_RESOURCES,	-ENOMEM },
	{ DAT_INVALID_ADDRESS,		-EHOSTUNREACH },
	{ DAT_MODEL_NOT_SUPPORTED,	-EOPNOTSUPP },
	{ DAT_INVALID_PARAMETER,	-EINVAL },
};

int datblk_errno(DAT_RETURN rc)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(errors); i++)
		if (DAT_GET_TYPE(rc) == errors[i].type)
			return errors[i].error;
	return -EIO;
}

/*
 * Mark the connection as lost and queue datblk_lost_work().  May be called in any context except
 * hard interrupt.  Only the first call has an effect.
 */
void datblk_fail(struct datblk *dev, const char *why)
{
	if (test_and_set_bit(DATBLK_DEAD, &dev->flags))
		return;
	pr_warn("datblk: %s port %u: %s\n", dev->address, dev->port, why);
	queue_work(datblk_wq, &dev->lost_work);
}

int datblk_register(struct datblk *dev, void *memory, size_t size, DAT_MEM_PRIV_FLAGS priv,
		    DAT_LMR_CONTEXT *lmr_context, DAT_RMR_CONTEXT *rmr_context,
		    DAT_VADDR *addr)
{
	DAT_REGION_DESCRIPTION region = { .for_va = memory };
	DAT_LMR_HANDLE lmr;
	DAT_RETURN rc;

	rc = dat_lmr_kcreate(dev->ia, DAT_MEM_TYPE_VIRTUAL, region, size, dev->pz, priv,
			     DAT_VA_TYPE_VA, DAT_MEM_OPTIMIZE_DONT_CARE, &lmr, lmr_context,
			     rmr_context, NULL, addr);
	return datblk_errno(rc);
}

/* Make data that the CPU has written visible to the adapter. */
void datblk_sync_out(struct datblk *dev, const void *at, size_t len, DAT_LMR_CONTEXT context)
{
	DAT_LMR_TRIPLET seg = {
		.virtual_address = (uintptr_t)at, .segment_length = len, .lmr_context = context,
	};

	if (dev->sync)
		dat_lmr_sync_rdma_read(dev->ia, &seg, 1);
}

/* Make data that the adapter has written visible to the CPU. */
void datblk_sync_in(struct datblk *dev, const void *at, size_t len, DAT_LMR_CONTEXT context)
{
	DAT_LMR_TRIPLET seg = {
		.virtual_address = (uintptr_t)at, .segment_length = len, .lmr_context = context,
	};

	if (dev->sync)
		dat_lmr_sync_rdma_write(dev->ia, &seg, 1);
}

/**
 * datblk_connected() - report that the attempt to connect has ended
 * @dev: device
 * @error: 0 or a negative errno; datblk_connect() returns the first error reported
 *
 * Context: process.
 */
void datblk_connected(struct datblk *dev, int error)
{
	cmpxchg(&dev->error, 0, error);
	complete_all(&dev->connected);
}

/* ---- Upcalls that may sleep ---- */

static bool export_good(const struct datblk *dev, const struct datblk_export *e)
{
	u32 block_size = le32_to_cpu(e->block_size), max_bytes = le32_to_cpu(e->max_bytes);
	u64 size = le64_to_cpu(e->size);

	return le16_to_cpu(e->magic) == DATBLK_MAGIC &&
	       le16_to_cpu(e->version) == DATBLK_VERSION &&
	       le32_to_cpu(e->depth) >= 1 && le32_to_cpu(e->depth) <= dev->depth &&
	       max_bytes >= 4096 && max_bytes <= dev->max_bytes && max_bytes % 4096 == 0 &&
	       /* The block layer requires max_bytes to be at least PAGE_SIZE. */
	       max_bytes >= PAGE_SIZE &&
	       is_power_of_2(block_size) && block_size >= 512 && block_size <= 4096 &&
	       size && size <= LLONG_MAX && size % block_size == 0 && !e->reserved &&
	       !(le32_to_cpu(e->flags) & ~(DATBLK_EXPORT_READ_ONLY | DATBLK_EXPORT_DISCARD));
}

static int established(struct datblk *dev, const DAT_CONNECTION_EVENT_DATA *data)
{
	struct datblk_export e;

	if (data->private_data_size < (DAT_COUNT)sizeof(e))
		return -EPROTO;
	memcpy(&e, data->private_data, sizeof(e));
	if (!export_good(dev, &e))
		return -EPROTO;
	dev->depth = le32_to_cpu(e.depth);
	dev->max_bytes = le32_to_cpu(e.max_bytes);
	dev->block_size = le32_to_cpu(e.block_size);
	dev->size = le64_to_cpu(e.size);
	dev->export_flags = le32_to_cpu(e.flags);
	set_bit(DATBLK_LIVE, &dev->flags);
	return 0;
}

static int connect_error(DAT_EVENT_NUMBER number)
{
	switch (number) {
	case DAT_CONNECTION_EVENT_PEER_REJECTED:
	case DAT_CONNECTION_EVENT_NON_PEER_REJECTED:
		return -ECONNREFUSED;
	case DAT_CONNECTION_EVENT_TIMED_OUT:
		return -ETIMEDOUT;
	case DAT_CONNECTION_EVENT_UNREACHABLE:
		return -EHOSTUNREACH;
	default:
		return -ECONNRESET;
	}
}

static void connect_upcall(DAT_PVOID instance_data, const DAT_EVENT *event,
			   DAT_BOOLEAN more_events)
{
	struct datblk *dev = instance_data;

	if (event->event_number == DAT_CONNECTION_EVENT_ESTABLISHED)
		datblk_connected(dev, established(dev, &event->event_data.connect_event_data));
	else if (!test_bit(DATBLK_LIVE, &dev->flags))
		datblk_connected(dev, connect_error(event->event_number));
	else
		datblk_fail(dev, "the connection has ended");
}

static void async_upcall(DAT_PVOID instance_data, const DAT_EVENT *event,
			 DAT_BOOLEAN more_events)
{
	/* The port has an error.  If the port stays down, the connection breaks. */
	if (event->event_number == DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR)
		return;
	datblk_fail(instance_data, event->event_number == DAT_ASYNC_ERROR_IA_CATASTROPHIC ?
		    "the adapter is gone" : "the adapter has reported an error");
}

/* ---- Creating the objects ---- */

/*
 * Limit max_bytes to what one LMR can register.  A request that is not page-aligned needs one page
 * more than its length.
 */
static int limit_bytes(struct datblk *dev)
{
	DAT_VADDR alignment;
	DAT_VLEN most;
	DAT_RETURN rc;

	rc = dat_ia_memtype_hint(dev->ia, DAT_MEM_TYPE_PLATFORM, dev->max_bytes + PAGE_SIZE,
				 DAT_MEM_OPTIMIZE_DONT_CARE, &most, &alignment);
	if (rc != DAT_SUCCESS)
		return datblk_errno(rc);
	if (most < 2 * PAGE_SIZE)
		return -EOPNOTSUPP;
	dev->max_bytes = min_t(u64, dev->max_bytes, (most & PAGE_MASK) - PAGE_SIZE);
	return 0;
}

/* Reduce the device's limits to those of the adapter. */
static int read_limits(struct datblk *dev)
{
	struct {
		DAT_IA_ATTR		ia;
		DAT_PROVIDER_ATTR	provider;
	} *attr = kzalloc(sizeof(*attr), GFP_KERNEL);
	DAT_RETURN rc;

	if (!attr)
		return -ENOMEM;
	rc = dat_ia_query(dev->ia, NULL, DAT_IA_FIELD_ALL, &attr->ia,
			  DAT_PROVIDER_FIELD_ALL, &attr->provider);
	dev->sync = attr->provider.lmr_sync_req == DAT_TRUE;
	dev->reads = min(attr->ia.max_rdma_read_per_ep_in, MAX_READS);
	dev->depth = min_t(u32, dev->depth, attr->ia.max_dto_per_ep / POSTS_PER_IO);
	dev->depth = min_t(u32, dev->depth, attr->ia.max_evd_qlen / (POSTS_PER_IO + 1));
	kfree(attr);
	if (rc != DAT_SUCCESS)
		return datblk_errno(rc);
	/*
	 * The server reads the data of a WRITE by RDMA read, so the adapter must support RDMA
	 * reads.
	 */
	return dev->depth && dev->reads ? limit_bytes(dev) : -EOPNOTSUPP;
}

static DAT_RETURN make_evds(struct datblk *dev)
{
	DAT_UPCALL_OBJECT async = { dev, async_upcall };
	DAT_UPCALL_OBJECT connect = { dev, connect_upcall };
	DAT_UPCALL_OBJECT dto = { dev, datblk_dto_upcall };
	DAT_RETURN rc;

	rc = dat_evd_modify_upcall(dev->async_evd, DAT_UPCALL_SINGLE_INSTANCE, &async,
				   DAT_UPCALL_INVOC_ANY);
	if (rc != DAT_SUCCESS)
		return rc;
	rc = dat_evd_kcreate(dev->ia, CONNECT_QLEN, DAT_UPCALL_SINGLE_INSTANCE, &connect,
			     DAT_EVD_CONNECTION_FLAG, &dev->connect_evd);
	if (rc != DAT_SUCCESS)
		return rc;
	/* Leave room for the completion of every post and of every receive. */
	return dat_evd_kcreate(dev->ia, (POSTS_PER_IO + 1) * dev->depth,
			       DAT_UPCALL_SINGLE_INSTANCE, &dto, DAT_EVD_DTO_FLAG,
			       &dev->dto_evd);
}

static int make_msgs(struct datblk *dev)
{
	struct datblk_msgs *m = &dev->msgs;
	/*
	 * Keep replies out of cache lines that the CPU writes, because the adapter writes replies.
	 */
	size_t requests = ALIGN(dev->depth * sizeof(*m->request), dma_get_cache_alignment());
	size_t size = requests + dev->depth * sizeof(*m->reply);

	m->memory = kzalloc(size, GFP_KERNEL);
	if (!m->memory)
		return -ENOMEM;
	m->request = m->memory;
	m->reply = m->memory + requests;
	return datblk_register(dev, m->memory, size, DAT_MEM_PRIV_LOCAL_READ_FLAG |
			       DAT_MEM_PRIV_LOCAL_WRITE_FLAG, &m->context, NULL, NULL);
}

static DAT_RETURN make_ep(struct datblk *dev)
{
	DAT_EP_ATTR attr = {
		.service_type = DAT_SERVICE_TYPE_RC, .max_recv_dtos = dev->depth,
		.max_request_dtos = POSTS_PER_IO * dev->depth, .max_recv_iov = 1,
		.max_request_iov = 1, .max_rdma_read_in = dev->reads,
		.max_rdma_read_out = 1, .srq_soft_hw = DAT_HW_DEFAULT,
	};

	return dat_ep_create(dev->ia, dev->pz, dev->dto_evd, dev->dto_evd, dev->connect_evd,
			     &attr, &dev->ep);
}

DAT_RETURN datblk_post_reply(struct datblk *dev, u32 index)
{
	DAT_LMR_TRIPLET seg = {
		.virtual_address = (uintptr_t)&dev->msgs.reply[index],
		.segment_length = sizeof(struct datblk_reply),
		.lmr_context = dev->msgs.context,
	};
	DAT_DTO_COOKIE cookie = { .as_64 = index };

	return dat_ep_post_recv(dev->ep, 1, &seg, cookie, DAT_COMPLETION_DEFAULT_FLAG);
}

static int make_all(struct datblk *dev)
{
	int err;
	u32 i;

	err = read_limits(dev);
	if (!err)
		err = datblk_errno(make_evds(dev));
	if (!err)
		err = datblk_errno(dat_pz_create(dev->ia, &dev->pz));
	if (!err)
		err = make_msgs(dev);
	if (!err)
		err = datblk_mem_setup(dev);
	if (!err)
		err = datblk_errno(make_ep(dev));
	for (i = 0; !err && i < dev->depth; i++)
		err = datblk_errno(datblk_post_reply(dev, i));
	return err;
}

static int handshake(struct datblk *dev)
{
	struct datblk_hello hello = {
		.magic = cpu_to_le16(DATBLK_MAGIC), .version = cpu_to_le16(DATBLK_VERSION),
		.depth = cpu_to_le32(dev->depth), .max_bytes = cpu_to_le32(dev->max_bytes),
	};
	struct net *net = current->nsproxy->net_ns;
	struct sockaddr_storage ss;
	DAT_IA_ADDRESS_PTR to = (struct sockaddr *)&ss;
	DAT_RETURN rc;

	if (inet_pton_with_scope(net, AF_UNSPEC, dev->address, NULL, &ss))
		return -EINVAL;
	rc = dat_ep_connect(dev->ep, to, dev->port, CONNECT_TIMEOUT_US,
			    sizeof(hello), &hello, DAT_QOS_BEST_EFFORT,
			    DAT_CONNECT_DEFAULT_FLAG);
	if (rc != DAT_SUCCESS)
		return datblk_errno(rc);
	/*
	 * An attempt to connect always ends with an event.  If a fatal signal ends the wait first,
	 * the caller closes the IA.
	 */
	if (wait_for_completion_killable(&dev->connected))
		return -EINTR;
	return READ_ONCE(dev->error);
}

/**
 * datblk_connect() - connect to the server
 * @dev: device with the server's address; the call may reduce depth and max_bytes
 *
 * Context: process, in the network namespace that has the adapter.
 * Return: 0, or a negative errno; on error, all objects have been closed.
 */
int datblk_connect(struct datblk *dev)
{
	DAT_RETURN rc;
	int err;

	rc = dat_ia_open(dev->ia_name, ASYNC_QLEN, &dev->async_evd, &dev->ia);
	if (rc != DAT_SUCCESS)
		return datblk_errno(rc);
	err = make_all(dev) ?: handshake(dev);
	if (err)
		datblk_disconnect(dev);
	return err;
}

/**
 * datblk_disconnect() - close the IA and free the memory of messages and requests
 * @dev: device without requests in flight
 *
 * Context: process.  When this returns, no upcall is running, nor is datblk_lost_work().
 */
void datblk_disconnect(struct datblk *dev)
{
	/*
	 * Set DEAD first, so that datblk_fail() ignores errors that the close causes.  An earlier
	 * error may have queued lost_work already.
	 */
	set_bit(DATBLK_DEAD, &dev->flags);
	dat_ia_close(dev->ia, DAT_CLOSE_ABRUPT_FLAG);
	cancel_work_sync(&dev->lost_work);
	if (dev->mem)
		dev->mem->cleanup(dev);
	kfree(dev->msgs.memory);
	dev->msgs.memory = NULL;
}
