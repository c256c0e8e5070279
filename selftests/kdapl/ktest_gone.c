// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * Use of objects after their device has been removed.  ktest.sh removes the device when the module
 * parameter "ready" is set.
 */
#include <linux/delay.h>
#include <linux/slab.h>

#include "ktest.h"

#define QLEN	32

/**
 * struct gone - objects of an IA whose device gets removed
 * @async: record of events of the IA
 * @soft: record of software events
 * @evd: EVD whose upcall fills @soft
 * @conn: EVD for connection events of @ep
 * @pz: protection zone of @ep
 * @ep: EP that is never connected
 */
struct gone {
	struct kt_box	async;
	struct kt_box	soft;
	DAT_EVD_HANDLE	evd;
	DAT_EVD_HANDLE	conn;
	DAT_PZ_HANDLE	pz;
	DAT_EP_HANDLE	ep;
};

static DAT_RETURN gone_make(struct ktest *t, struct gone *g)
{
	DAT_UPCALL_OBJECT soft = { &g->soft, kt_box_upcall };
	DAT_UPCALL_OBJECT async = { &g->async, kt_box_upcall };

	kt_box_init(&g->soft);
	kt_box_init(&g->async);
	return dat_evd_modify_upcall(t->async, DAT_UPCALL_SINGLE_INSTANCE, &async,
				     DAT_UPCALL_INVOC_ANY) ?:
	       dat_evd_kcreate(t->ia, QLEN, DAT_UPCALL_SINGLE_INSTANCE, &soft,
			       DAT_EVD_SOFTWARE_FLAG | DAT_EVD_DTO_FLAG, &g->evd) ?:
	       dat_evd_kcreate(t->ia, QLEN, DAT_UPCALL_DISABLE, NULL, DAT_EVD_CONNECTION_FLAG,
			       &g->conn) ?:
	       dat_pz_create(t->ia, &g->pz) ?:
	       dat_ep_create(t->ia, g->pz, g->evd, g->evd, g->conn, NULL, &g->ep);
}

/* Wait until calls fail, which happens a little after the event of the removal. */
static DAT_RETURN until_gone(struct ktest *t)
{
	DAT_PZ_HANDLE pz;
	DAT_RETURN rc;
	int i;

	for (i = 0; i < 100; i++) {
		rc = dat_pz_create(t->ia, &pz);
		if (rc)
			return rc;
		dat_pz_free(pz);
		msleep(50);
	}
	return DAT_SUCCESS;
}

static void check(struct ktest *t, struct gone *g)
{
	DAT_EVENT event = { .event_number = DAT_SOFTWARE_EVENT };
	DAT_DTO_COOKIE cookie = {};
	DAT_EP_STATE state;

	KT_OK(t, gone_make(t, g));
	WRITE_ONCE(ktest_ready, true);
	KT_TRUE(t, kt_box_wait(&g->async));
	KT_EQ(t, g->async.events[0].event_number, DAT_ASYNC_ERROR_IA_CATASTROPHIC);
	KT_CODE(t, until_gone(t), DAT_INTERNAL_ERROR, DAT_RESOURCE_DEVICE);
	KT_CODE(t, dat_ep_post_recv(g->ep, 0, NULL, cookie, 0), DAT_INTERNAL_ERROR,
		DAT_RESOURCE_DEVICE);
	KT_CODE(t, dat_ep_get_status(g->ep, &state, NULL, NULL), DAT_INTERNAL_ERROR,
		DAT_RESOURCE_DEVICE);
	KT_CODE(t, dat_ep_reset(g->ep), DAT_INTERNAL_ERROR, DAT_RESOURCE_DEVICE);
	KT_OK(t, dat_evd_post_se(g->evd, &event));
	KT_TRUE(t, kt_box_wait(&g->soft));
	KT_OK(t, dat_evd_modify_upcall(g->evd, DAT_UPCALL_TEARDOWN, DAT_UPCALL_SAME,
				       DAT_UPCALL_INVOC_NEW));
	KT_OK(t, dat_ep_free(g->ep));
	KT_CODE(t, dat_ep_free(g->ep), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	KT_OK(t, dat_evd_free(g->evd));
	KT_OK(t, dat_evd_free(g->conn));
	KT_CODE(t, dat_ia_close(t->ia, DAT_CLOSE_GRACEFUL_FLAG), DAT_INVALID_STATE,
		DAT_INVALID_STATE_IA_IN_USE);
	KT_OK(t, dat_pz_free(g->pz));
	KT_OK(t, dat_ia_close(t->ia, DAT_CLOSE_GRACEFUL_FLAG));
	t->ia = DAT_HANDLE_NULL;
}

static void frees_need_no_device(struct ktest *t)
{
	struct gone *g = kzalloc(sizeof(*g), GFP_KERNEL);

	KT_TRUE(t, g);
	check(t, g);
	/* Close the IA before freeing @g, because upcalls write to @g. */
	if (t->ia != DAT_HANDLE_NULL)
		dat_ia_close(t->ia, DAT_CLOSE_ABRUPT_FLAG);
	t->ia = DAT_HANDLE_NULL;
	kfree(g);
}

const struct ktest_case ktest_gone[] = {
	KTEST(frees_need_no_device),
	KTEST(ktest_goes_under_traffic),
	KTEST(ktest_goes_beside_a_close),
	{}
};
