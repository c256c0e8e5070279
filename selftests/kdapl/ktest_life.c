// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * A consumer whose upcalls are running when its module is unloaded or when its device is removed.
 *
 * The adapter is connected to itself.  Messages and RDMA writes are in flight, and post_more()
 * posts more on each tick.  An allocated LMR is bound to memory, an RMR is bound, and a service
 * point listens.  All memory belongs to the module.  If the module does not close its IA, dat.ko
 * closes the IA before this memory is freed.
 */
#include <linux/delay.h>
#include <linux/in6.h>
#include <linux/io.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "ktest.h"

#define ENDS		2	/* number of EPs, which form one connection */
#define RECVS		8	/* number of receives posted at each EP */
#define REQUESTS	16	/* maximum number of requests in flight, for all EPs together */
#define MESSAGE		64	/* bytes of a message or an RDMA write */
#define QLEN		256
#define ASYNC_QLEN	16
#define FLOWING		20	/* completed writes that show that traffic flows */

/**
 * struct busy - a consumer with constant traffic
 * @ia: open IA
 * @async: EVD for events of @ia
 * @soft: EVD for software events
 * @dto: EVD for the completions of all DTOs and binds
 * @conn: EVD for connection events and connection requests
 * @pz: protection zone of all objects
 * @lmr: registration of memory[]
 * @context: LMR context of @lmr
 * @phys: physical address of memory[], which peers use as its address
 * @fmr: allocated LMR, bound to memory[] by open_memory()
 * @key: RMR context of @fmr for RDMA writes, 0 before open_memory()
 * @rmr: RMR that open_memory() binds to @lmr
 * @psp: service point; the EPs with odd index accept its requests
 * @ep: EPs; those with even index connect
 * @accepted: number of requests accepted so far
 * @up: number of EPs that were connected
 * @down: number of EPs that were disconnected
 * @gone: number of events that report the removal of the device
 * @posted: number of operations posted; operations whose post failed do not count
 * @completed: number of operations completed
 * @writes: number of RDMA writes that completed with success
 * @calls: number of upcalls of all EVDs
 * @work: work item of post_more(), which queues itself again
 */
struct busy {
	DAT_IA_HANDLE	ia;
	DAT_EVD_HANDLE	async;
	DAT_EVD_HANDLE	soft;
	DAT_EVD_HANDLE	dto;
	DAT_EVD_HANDLE	conn;
	DAT_PZ_HANDLE	pz;
	DAT_LMR_HANDLE	lmr;
	DAT_LMR_CONTEXT	context;
	DAT_PADDR	phys;
	DAT_LMR_HANDLE	fmr;
	DAT_RMR_CONTEXT	key;
	DAT_RMR_HANDLE	rmr;
	DAT_PSP_HANDLE	psp;
	DAT_EP_HANDLE	ep[ENDS];
	unsigned int	accepted;
	atomic_t	up;
	atomic_t	down;
	atomic_t	gone;
	atomic_t	posted;
	atomic_t	completed;
	atomic_t	writes;
	atomic_t	calls;
	struct delayed_work work;
};

static struct busy busy;
static u8 memory[PAGE_SIZE] __aligned(PAGE_SIZE);

static bool reaches(const atomic_t *n, int want)
{
	unsigned long end = jiffies + 3 * KT_WAIT;

	while (atomic_read(n) < want) {
		if (time_after(jiffies, end))
			return false;
		usleep_range(1000, 2000);
	}
	return true;
}

/* ---- Posting ---- */

static DAT_RETURN post_one(struct busy *b, DAT_EP_HANDLE ep, DAT_DTOS op)
{
	DAT_LMR_TRIPLET seg = { (uintptr_t)memory, MESSAGE, b->context };
	DAT_RMR_TRIPLET to = {
		.virtual_address = b->phys, .segment_length = MESSAGE, .rmr_context = b->key,
	};

	if (op == DAT_DTO_RECEIVE)
		return dat_ep_post_recv(ep, 1, &seg, kt_cookie(op), 0);
	if (op == DAT_DTO_SEND)
		return dat_ep_post_send(ep, 1, &seg, kt_cookie(op), 0);
	return dat_ep_post_rdma_write(ep, 1, &seg, kt_cookie(op), &to, 0);
}

/* Count each operation before posting, because it may complete before the post returns. */
static DAT_RETURN post(struct busy *b, DAT_EP_HANDLE ep, DAT_DTOS op, unsigned int n)
{
	DAT_RETURN rc = DAT_SUCCESS;

	while (n-- && !rc) {
		atomic_inc(&b->posted);
		rc = post_one(b, ep, op);
		if (rc)
			atomic_dec(&b->posted);
	}
	return rc;
}

/* Upcall in softirq.  Post the receive buffer again after each message. */
static void dto_upcall(DAT_PVOID data, const DAT_EVENT *event, DAT_BOOLEAN more_events)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *dto = &event->event_data.dto_completion_event_data;
	struct busy *b = data;

	atomic_inc(&b->calls);
	if (event->event_number == DAT_DTO_COMPLETION_EVENT && dto->status == DAT_DTO_SUCCESS) {
		if (dto->operation == DAT_DTO_RDMA_WRITE)
			atomic_inc(&b->writes);
		if (dto->operation == DAT_DTO_RECEIVE)
			post(b, dto->ep_handle, DAT_DTO_RECEIVE, 1);
	}
	/* Count last, so that posted - completed is never less than the number in flight. */
	atomic_inc(&b->completed);
}

/*
 * Post a few operations, unless too many are in flight.  An unlimited number of upcalls would
 * starve all other work.
 */
static void post_more(struct work_struct *work)
{
	struct busy *b = container_of(to_delayed_work(work), struct busy, work);
	DAT_EVENT event = { .event_number = DAT_SOFTWARE_EVENT };
	unsigned int i;

	dat_evd_post_se(b->soft, &event);
	/* Over iWARP the end that accepts must not send before the other is connected. */
	for (i = 0; i < ENDS && atomic_read(&b->up) == ENDS; i++) {
		if (atomic_read(&b->posted) - atomic_read(&b->completed) >
		    REQUESTS + ENDS * RECVS)
			break;
		post(b, b->ep[i], DAT_DTO_SEND, 1);
		if (READ_ONCE(b->key))
			post(b, b->ep[0], DAT_DTO_RDMA_WRITE, 1);
	}
	schedule_delayed_work(&b->work, 1);
}

/* ---- Connections ---- */

/*
 * Bind the RMR and the LMR.  Called when all EPs are connected.  RDMA writes need the bind of the
 * LMR.  The EP executes them after the bind, because all go through the same queue.
 */
static DAT_RETURN open_memory(struct busy *b)
{
	DAT_LMR_TRIPLET seg = { (uintptr_t)memory, PAGE_SIZE, b->context };
	DAT_REGION_DESCRIPTION region = { .for_physical = &b->phys };
	DAT_RMR_CONTEXT unused, key = 0;
	DAT_RETURN rc;

	atomic_add(2, &b->posted);
	rc = dat_rmr_bind(b->rmr, b->lmr, &seg, DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA,
			  b->ep[0], kt_cookie(0), 0, &unused) ?:
	     dat_lmr_fmr(b->fmr, DAT_MEM_TYPE_PHYSICAL, region, 1, DAT_MEM_PRIV_ALL_FLAG,
			 DAT_VA_TYPE_VA, b->ep[0], kt_cookie(0), 0, NULL, &key);
	WRITE_ONCE(b->key, key);
	return rc;
}

static void conn_upcall(DAT_PVOID data, const DAT_EVENT *event, DAT_BOOLEAN more_events)
{
	struct busy *b = data;

	atomic_inc(&b->calls);
	if (event->event_number == DAT_CONNECTION_REQUEST_EVENT) {
		dat_cr_accept(event->event_data.cr_arrival_event_data.cr_handle,
			      b->ep[2 * b->accepted++ + 1], 0, NULL);
	} else if (event->event_number == DAT_CONNECTION_EVENT_ESTABLISHED) {
		if (atomic_inc_return(&b->up) == ENDS && open_memory(b))
			pr_info("# no memory that peers reach\n");
	} else {
		atomic_inc(&b->down);
	}
}

static void async_upcall(DAT_PVOID data, const DAT_EVENT *event, DAT_BOOLEAN more_events)
{
	struct busy *b = data;

	atomic_inc(&b->calls);
	if (event->event_number == DAT_ASYNC_ERROR_IA_CATASTROPHIC)
		atomic_inc(&b->gone);
}

static void soft_upcall(DAT_PVOID data, const DAT_EVENT *event, DAT_BOOLEAN more_events)
{
	struct busy *b = data;

	atomic_inc(&b->calls);
}

/* ---- The consumer ---- */

static DAT_RETURN make_evds(struct busy *b)
{
	DAT_UPCALL_OBJECT async = { b, async_upcall };
	DAT_UPCALL_OBJECT soft = { b, soft_upcall };
	DAT_UPCALL_OBJECT conn = { b, conn_upcall };
	DAT_UPCALL_OBJECT dto = { b, dto_upcall };

	return dat_evd_modify_upcall(b->async, DAT_UPCALL_SINGLE_INSTANCE, &async,
				     DAT_UPCALL_INVOC_ANY) ?:
	       dat_evd_kcreate(b->ia, QLEN, DAT_UPCALL_MANY, &soft, DAT_EVD_SOFTWARE_FLAG,
			       &b->soft) ?:
	       dat_evd_kcreate(b->ia, QLEN, DAT_UPCALL_MANY, &dto,
			       DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG, &b->dto) ?:
	       dat_evd_kcreate(b->ia, QLEN, DAT_UPCALL_SINGLE_INSTANCE, &conn,
			       DAT_EVD_CONNECTION_FLAG | DAT_EVD_CR_FLAG, &b->conn);
}

static DAT_RETURN make_memory(struct busy *b)
{
	DAT_REGION_DESCRIPTION region = { .for_va = memory };

	return dat_lmr_kcreate(b->ia, DAT_MEM_TYPE_VIRTUAL, region, PAGE_SIZE, b->pz,
			       DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, DAT_MEM_OPTIMIZE_DONT_CARE,
			       &b->lmr, &b->context, NULL, NULL, NULL) ?:
	       dat_lmr_allocate(b->ia, b->pz, 1, DAT_LMR_SCOPE_PZ, &b->fmr) ?:
	       dat_rmr_create(b->pz, &b->rmr);
}

static DAT_RETURN make_ends(struct busy *b)
{
	DAT_RETURN rc = DAT_SUCCESS;
	unsigned int i;

	for (i = 0; i < ENDS && !rc; i++)
		rc = dat_ep_create(b->ia, b->pz, b->dto, b->dto, b->conn, NULL, &b->ep[i]) ?:
		     post(b, b->ep[i], DAT_DTO_RECEIVE, RECVS);
	return rc;
}

static DAT_RETURN connect_ends(struct busy *b)
{
	DAT_IA_ATTR *attr = kzalloc(sizeof(*attr), GFP_KERNEL);
	DAT_CONN_QUAL qual;
	DAT_RETURN rc;
	unsigned int i;

	if (!attr)
		return DAT_INSUFFICIENT_RESOURCES;
	rc = dat_ia_query(b->ia, NULL, DAT_IA_FIELD_ALL, attr, 0, NULL) ?:
	     dat_psp_create_any(b->ia, &qual, b->conn, DAT_PSP_CONSUMER_FLAG, &b->psp);
	for (i = 0; i < ENDS && !rc; i += 2)
		rc = dat_ep_connect(b->ep[i], attr->ia_address_ptr, qual, 10000000, 0, NULL,
				    DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
	kfree(attr);
	return rc;
}

/*
 * Start traffic.  Upcalls use @b and memory[] until busy_end() has been called and the IA has been
 * closed.
 */
static DAT_RETURN busy_start(struct busy *b, DAT_IA_HANDLE ia, DAT_EVD_HANDLE async)
{
	DAT_RETURN rc;

	memset(b, 0, sizeof(*b));
	INIT_DELAYED_WORK(&b->work, post_more);
	b->ia = ia;
	b->async = async;
	b->phys = page_to_phys(vmalloc_to_page(memory));
	rc = dat_pz_create(ia, &b->pz) ?: make_evds(b) ?: make_memory(b) ?: make_ends(b) ?:
	     connect_ends(b);
	schedule_delayed_work(&b->work, 0);
	if (!rc && !reaches(&b->writes, FLOWING))
		rc = DAT_INTERNAL_ERROR;
	return rc;
}

/* Stop posting.  Operations in flight may complete later. */
static void busy_end(struct busy *b)
{
	cancel_delayed_work_sync(&b->work);
}

/**
 * ktest_leave() - start traffic that will be in flight when the module is unloaded
 *
 * Return: 0 or -EIO.
 */
int ktest_leave(void)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;
	DAT_RETURN rc;

	rc = dat_ia_open(ktest_device, ASYNC_QLEN, &async, &ia);
	if (rc)
		return -EIO;
	rc = busy_start(&busy, ia, async);
	if (!rc)
		return 0;
	pr_info("# not begun: %#x\n", rc);
	busy_end(&busy);
	dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG);
	return -EIO;
}

/**
 * ktest_left() - end posting when the module is unloaded
 * @close: true to close the IA, as an exit function should; false to leave the close to dat.ko
 */
void ktest_left(bool close)
{
	int calls;

	if (!close) {
		busy_end(&busy);
		return;
	}
	dat_ia_close(busy.ia, DAT_CLOSE_ABRUPT_FLAG);
	calls = atomic_read(&busy.calls);
	msleep(20);
	busy_end(&busy);
	if (calls != atomic_read(&busy.calls))
		pr_info("# upcalls after the close\n");
}

/* ---- Removal of the device ---- */

static void until_gone(struct ktest *t)
{
	KT_OK(t, busy_start(&busy, t->ia, t->async));
	WRITE_ONCE(ktest_ready, true);
	KT_TRUE(t, reaches(&busy.gone, 1));
}

/*
 * Check that all operations have completed, all connections have ended, and all objects can be
 * freed.
 */
static void frees_after_traffic(struct ktest *t, struct busy *b)
{
	unsigned int i;

	KT_TRUE(t, reaches(&b->down, ENDS));
	busy_end(b);
	KT_TRUE(t, reaches(&b->completed, atomic_read(&b->posted)));
	/* No operation is posted any more, so the two counters must be equal. */
	KT_EQ(t, atomic_read(&b->completed), atomic_read(&b->posted));
	KT_EQ(t, atomic_read(&b->down), ENDS);
	for (i = 0; i < ENDS; i++) {
		KT_CODE(t, post_one(b, b->ep[i], DAT_DTO_SEND), DAT_INTERNAL_ERROR,
			DAT_RESOURCE_DEVICE);
		KT_OK(t, dat_ep_free(b->ep[i]));
	}
	KT_OK(t, dat_psp_free(b->psp));
	KT_OK(t, dat_rmr_free(b->rmr));
	KT_OK(t, dat_lmr_free(b->fmr));
	KT_OK(t, dat_lmr_free(b->lmr));
	KT_OK(t, dat_evd_free(b->dto));
	KT_OK(t, dat_evd_free(b->conn));
	KT_OK(t, dat_evd_free(b->soft));
	KT_OK(t, dat_pz_free(b->pz));
	KT_OK(t, dat_ia_close(t->ia, DAT_CLOSE_GRACEFUL_FLAG));
	t->ia = DAT_HANDLE_NULL;
}

/* Test in ktest_gone[]: free all objects after the device has been removed under traffic. */
void ktest_goes_under_traffic(struct ktest *t)
{
	until_gone(t);
	if (!t->failed)
		frees_after_traffic(t, &busy);
	busy_end(&busy);
	/*
	 * Close the IA before returning: this test runs in the module's init, so the module may be
	 * unloaded next.
	 */
	if (t->ia != DAT_HANDLE_NULL)
		dat_ia_close(t->ia, DAT_CLOSE_ABRUPT_FLAG);
	t->ia = DAT_HANDLE_NULL;
}

/*
 * Test in ktest_gone[]: close the IA during the removal.  The event of the removal comes first, so
 * all objects still exist when the close begins.
 */
void ktest_goes_beside_a_close(struct ktest *t)
{
	DAT_RETURN rc;
	int calls;

	until_gone(t);
	rc = dat_ia_close(t->ia, DAT_CLOSE_ABRUPT_FLAG);
	t->ia = DAT_HANDLE_NULL;
	calls = atomic_read(&busy.calls);
	msleep(100);
	busy_end(&busy);
	KT_OK(t, rc);
	KT_EQ(t, atomic_read(&busy.calls), calls);
}
