// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * kdat_echo: a kernel module that returns every message to its sender, like echo-srq.
 *
 * States of a buffer, which has at most one completion outstanding:
 *
 *	in the SRQ --message--> received --send--> in flight --completion--> in the SRQ
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/kdat.h>
#include <linux/slab.h>

#define MESSAGE		1024	/* bytes of a buffer */
#define BUFFERS		64
#define CONN_EVENTS	256	/* queued connection requests and events */
#define ASYNC_EVENTS	16

static char *device = "rxe0";
module_param(device, charp, 0444);
MODULE_PARM_DESC(device, "adapter (rxe0)");

static ushort port = 5055;
module_param(port, ushort, 0444);
MODULE_PARM_DESC(port, "connection qualifier (5055)");

static DAT_IA_HANDLE ia;
static DAT_PZ_HANDLE pz;
static DAT_EVD_HANDLE dto_evd, conn_evd;
static DAT_SRQ_HANDLE srq;
static DAT_LMR_CONTEXT lmr_context;
static char *memory;

static DAT_LMR_TRIPLET buffer(u64 n, u32 len)
{
	return (DAT_LMR_TRIPLET) { (uintptr_t)memory + n * MESSAGE, len, lmr_context };
}

static DAT_RETURN give_buffer(u64 n)
{
	DAT_LMR_TRIPLET seg = buffer(n, MESSAGE);

	return dat_srq_post_recv(srq, 1, &seg, (DAT_DTO_COOKIE) { .as_64 = n });
}

/* Handles the completions.  Runs in softirq context. */
static void dto_upcall(DAT_PVOID data, const DAT_EVENT *event, DAT_BOOLEAN more_events)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *dto = &event->event_data.dto_completion_event_data;
	u64 n = dto->user_cookie.as_64;
	DAT_LMR_TRIPLET seg;

	if (dto->operation == DAT_DTO_RECEIVE && dto->status == DAT_DTO_SUCCESS) {
		seg = buffer(n, dto->transfered_length);
		if (dat_ep_post_send(dto->ep_handle, 1, &seg, dto->user_cookie,
				     DAT_COMPLETION_DEFAULT_FLAG) == DAT_SUCCESS)
			return;
	}
	/* The message was sent, or the connection has ended: post the buffer again. */
	give_buffer(n);
}

static void welcome(const DAT_CR_ARRIVAL_EVENT_DATA *cr)
{
	DAT_EP_ATTR attr = {
		.service_type = DAT_SERVICE_TYPE_RC,
		.qos = DAT_QOS_BEST_EFFORT,
		.max_request_dtos = BUFFERS,
	};
	DAT_EP_HANDLE ep;

	if (dat_ep_create_with_srq(ia, pz, dto_evd, dto_evd, conn_evd, srq, &attr,
				   &ep) == DAT_SUCCESS) {
		if (dat_cr_accept(cr->cr_handle, ep, 0, NULL) == DAT_SUCCESS)
			return;
		dat_ep_free(ep);
	}
	/* Reject the request, which still exists after a failed accept. */
	dat_cr_reject(cr->cr_handle, 0, NULL);
}

/*
 * Handles connection requests and connection events.  For these streams, upcalls run in process
 * context, so this function may sleep.
 */
static void conn_upcall(DAT_PVOID data, const DAT_EVENT *event, DAT_BOOLEAN more_events)
{
	if (event->event_number == DAT_CONNECTION_REQUEST_EVENT)
		welcome(&event->event_data.cr_arrival_event_data);
	else if (event->event_number != DAT_CONNECTION_EVENT_ESTABLISHED)
		/* The connection has ended, and all of its requests have completed. */
		dat_ep_free(event->event_data.connect_event_data.ep_handle);
}

static void async_upcall(DAT_PVOID data, const DAT_EVENT *event, DAT_BOOLEAN more_events)
{
	pr_warn("%s: async event %#x\n", device, event->event_number);
}

static DAT_RETURN make_evds(DAT_EVD_HANDLE async)
{
	DAT_UPCALL_OBJECT on_async = { NULL, async_upcall };
	DAT_UPCALL_OBJECT on_conn = { NULL, conn_upcall };
	DAT_UPCALL_OBJECT on_dto = { NULL, dto_upcall };

	return dat_evd_modify_upcall(async, DAT_UPCALL_SINGLE_INSTANCE, &on_async,
				     DAT_UPCALL_INVOC_ANY) ?:
	       dat_evd_kcreate(ia, BUFFERS, DAT_UPCALL_SINGLE_INSTANCE, &on_dto,
			       DAT_EVD_DTO_FLAG, &dto_evd) ?:
	       dat_evd_kcreate(ia, CONN_EVENTS, DAT_UPCALL_SINGLE_INSTANCE, &on_conn,
			       DAT_EVD_CONNECTION_FLAG | DAT_EVD_CR_FLAG, &conn_evd);
}

static DAT_RETURN make_buffers(void)
{
	DAT_MEM_PRIV_FLAGS priv = DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG;
	DAT_SRQ_ATTR attr = { BUFFERS, 1, DAT_SRQ_LW_DEFAULT };
	DAT_REGION_DESCRIPTION region = { .for_va = memory };
	DAT_LMR_HANDLE lmr;
	DAT_RETURN rc;
	u64 n;

	rc = dat_srq_create(ia, pz, &attr, &srq) ?:
	     dat_lmr_kcreate(ia, DAT_MEM_TYPE_VIRTUAL, region, BUFFERS * MESSAGE, pz, priv,
			     DAT_VA_TYPE_VA, DAT_MEM_OPTIMIZE_DONT_CARE, &lmr, &lmr_context,
			     NULL, NULL, NULL);
	for (n = 0; n < BUFFERS && !rc; n++)
		rc = give_buffer(n);
	return rc;
}

static int __init echo_init(void)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_PSP_HANDLE psp;
	DAT_RETURN rc;

	memory = kmalloc(BUFFERS * MESSAGE, GFP_KERNEL);
	if (!memory)
		return -ENOMEM;
	rc = dat_ia_open(device, ASYNC_EVENTS, &async, &ia);
	if (rc != DAT_SUCCESS)
		goto err_free;
	/* Create the listener last: requests may arrive before dat_psp_create() returns. */
	rc = dat_pz_create(ia, &pz) ?: make_evds(async) ?: make_buffers() ?:
	     dat_psp_create(ia, port, conn_evd, DAT_PSP_CONSUMER_FLAG, &psp);
	if (rc == DAT_SUCCESS)
		return 0;
	dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG);
err_free:
	pr_err("%s: %#x\n", device, rc);
	kfree(memory);
	return -EIO;
}

static void __exit echo_exit(void)
{
	/*
	 * The close destroys all objects.  After the close, no upcall runs, and no device writes to
	 * the memory.
	 */
	dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG);
	kfree(memory);
}

module_init(echo_init);
module_exit(echo_exit);

MODULE_DESCRIPTION("Returns messages over kDAPL");
MODULE_LICENSE("GPL");
MODULE_INFO(import_ns, "DAT");
