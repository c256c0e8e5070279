// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* Tests of immediate data, between EPs that have asked for them and from one that has not. */
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "ktest_rig.h"

#define NUMBER	0x12345678U
#define QUIET	DAT_COMPLETION_SUPPRESS_FLAG
#define NAMED	(DAT_EP_FIELD_EP_ATTR_NUM_PROVIDER_ATTR |	\
		 DAT_EP_FIELD_EP_ATTR_PROVIDER_SPECIFIC_ATTR)

/* Gives the named attribute of an unconnected EP this value. */
static DAT_RETURN ask(DAT_EP_HANDLE ep, const char *value)
{
	DAT_EP_PARAM *param = kzalloc(sizeof(*param), GFP_KERNEL);
	DAT_NAMED_ATTR named = { "immediate_data", value };
	DAT_RETURN rc = DAT_INSUFFICIENT_RESOURCES;

	if (!param)
		return rc;
	param->ep_attr.ep_provider_specific_count = 1;
	param->ep_attr.ep_provider_specific = &named;
	rc = dat_ep_modify(ep, NAMED, param);
	kfree(param);
	return rc;
}

/* Returns whether the EP has the attribute. */
static bool has_asked(DAT_EP_HANDLE ep)
{
	DAT_EP_PARAM *param = kzalloc(sizeof(*param), GFP_KERNEL);
	bool asked;

	asked = param && !dat_ep_query(ep, DAT_EP_FIELD_ALL, param) &&
		param->ep_attr.ep_provider_specific_count == 1 &&
		!strcmp(param->ep_attr.ep_provider_specific[0].name, "immediate_data") &&
		!strcmp(param->ep_attr.ep_provider_specific[0].value, "1");
	kfree(param);
	return asked;
}

/* Modifies the count of the named attributes alone, which must not lead beyond the present ones. */
static DAT_RETURN count_alone(DAT_EP_HANDLE ep, DAT_COUNT count)
{
	DAT_EP_PARAM *param = kzalloc(sizeof(*param), GFP_KERNEL);
	DAT_RETURN rc = DAT_INSUFFICIENT_RESOURCES;

	if (!param)
		return rc;
	param->ep_attr.ep_provider_specific_count = count;
	rc = dat_ep_modify(ep, DAT_EP_FIELD_EP_ATTR_NUM_PROVIDER_ATTR, param);
	kfree(param);
	return rc;
}

/* Ends the connection, so that the EPs can be modified. */
static bool disconnected(struct rig *r)
{
	DAT_EVENT event;

	dat_ep_disconnect(r->a, DAT_CLOSE_ABRUPT_FLAG);
	dat_ep_disconnect(r->b, DAT_CLOSE_ABRUPT_FLAG);
	if (!kt_next(r->conn, &event) || !kt_next(r->conn, &event))
		return false;
	while (dat_evd_dequeue(r->evd, &event) == DAT_SUCCESS)
		;
	return !dat_ep_reset(r->a) && !dat_ep_reset(r->b);
}

/* The next event is that of a receive with the cookie 1, which has brought @number. */
static void comes(struct ktest *t, struct rig *r, DAT_DTOS operation, u32 len, u32 number)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *dto;
	DAT_EVENT event;

	KT_EQ(t, kt_next(r->evd, &event), DAT_DTO_COMPLETION_EVENT);
	dto = &event.event_data.dto_completion_event_data;
	KT_EQ(t, dto->status, DAT_DTO_SUCCESS);
	KT_EQ(t, dto->user_cookie.as_64, 1);
	KT_EQ(t, dto->operation, operation);
	KT_EQ(t, dto->transfered_length, len);
	KT_EQ(t, dto->immed_data, number);
}

/* Sends and writes with @flags, and then sends without a number. */
static void exchange(struct ktest *t, struct rig *r, struct rig_mem *m, u32 flags)
{
	DAT_LMR_TRIPLET seg = { r->box.addr, 100, r->box.context };
	DAT_RMR_TRIPLET to = { m->addr, 100, m->rkey };

	KT_OK(t, dat_ep_post_recv(r->b, 0, NULL, kt_cookie(1), 0));
	KT_OK(t, dat_linux_ep_post_send_immed(r->a, 0, NULL, kt_cookie(2), NUMBER, QUIET | flags));
	comes(t, r, DAT_LINUX_DTO_RECEIVE_IMMED, 0, NUMBER);
	rig_fill(r->box.va, 100, flags + 1);
	KT_OK(t, dat_ep_post_recv(r->b, 0, NULL, kt_cookie(1), 0));
	KT_OK(t, dat_linux_ep_post_rdma_write_immed(r->a, 1, &seg, kt_cookie(2), &to, 0,
						    QUIET | flags));
	comes(t, r, DAT_LINUX_DTO_RDMA_WRITE_IMMED, 100, 0);
	KT_TRUE(t, !memcmp(m->va, r->box.va, 100));
	/* The request after them has no number of theirs. */
	KT_OK(t, dat_ep_post_recv(r->b, 0, NULL, kt_cookie(1), 0));
	KT_OK(t, dat_ep_post_send(r->a, 0, NULL, kt_cookie(2), QUIET | flags));
	comes(t, r, DAT_DTO_RECEIVE, 0, 0);
}

/* An EP that has not asked refuses the number of one that has. */
static void refuse(struct ktest *t, struct rig *r)
{
	KT_TRUE(t, disconnected(r));
	KT_OK(t, ask(r->b, "0"));
	KT_TRUE(t, !has_asked(r->b));
	KT_TRUE(t, rig_connect(t, r));
	KT_OK(t, dat_ep_post_recv(r->b, 0, NULL, kt_cookie(1), 0));
	KT_OK(t, dat_linux_ep_post_send_immed(r->a, 0, NULL, kt_cookie(2), NUMBER, QUIET));
	KT_EQ(t, rig_status(r, 1), DAT_DTO_ERR_BAD_RESPONSE);
}

static void numbers(struct ktest *t, struct rig *r, struct rig_mem *m)
{
	DAT_RMR_TRIPLET to = { m->addr, 100, m->rkey };
	DAT_RETURN rc;

	KT_CODE(t, dat_linux_ep_post_send_immed(r->a, 0, NULL, kt_cookie(2), NUMBER, 0),
		DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	KT_CODE(t, dat_linux_ep_post_rdma_write_immed(r->a, 0, NULL, kt_cookie(2), &to, NUMBER, 0),
		DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	KT_TRUE(t, disconnected(r));
	KT_CODE(t, ask(r->a, "2"), DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	rc = ask(r->a, "1");
	if (rig_over_iwarp(t)) {
		KT_CODE(t, rc, DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
		return;
	}
	KT_OK(t, rc);
	KT_OK(t, ask(r->b, "1"));
	KT_TRUE(t, has_asked(r->a));
	KT_CODE(t, count_alone(r->a, 2), DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	KT_CODE(t, count_alone(r->a, 3), DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	KT_OK(t, count_alone(r->a, 1));
	KT_TRUE(t, has_asked(r->a));
	KT_TRUE(t, rig_connect(t, r));
	KT_CODE(t, dat_linux_ep_post_send_immed(r->a, 0, NULL, kt_cookie(2), NUMBER, 0x80),
		DAT_INVALID_PARAMETER, DAT_INVALID_ARG6);
	KT_CODE(t, dat_linux_ep_post_rdma_write_immed(r->a, 0, NULL, kt_cookie(2), &to, 1, 0x80),
		DAT_INVALID_PARAMETER, DAT_INVALID_ARG7);
	exchange(t, r, m, 0);
	exchange(t, r, m, DAT_COMPLETION_BARRIER_FENCE_FLAG);
	refuse(t, r);
}

static void with_target(struct ktest *t, struct rig *r)
{
	u8 *va = vmalloc(RIG_SIZE);
	struct rig_mem m = {};

	KT_TRUE(t, va);
	if (rig_reg_va(t, r, va, RIG_SIZE, ALL, &m))
		ktest_fail(t, __FILE__, __LINE__, "kcreate", 0, 1);
	else
		numbers(t, r, &m);
	/* Before freeing the memory, free the objects that can access it. */
	dat_ep_free(r->a);
	dat_ep_free(r->b);
	dat_lmr_free(m.lmr);
	vfree(va);
}

static void a_number_goes_with_a_send_or_a_write(struct ktest *t)
{
	with_rig(t, with_target);
}

const struct ktest_case ktest_immed[] = {
	KTEST(a_number_goes_with_a_send_or_a_write),
	{}
};
