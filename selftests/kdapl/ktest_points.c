// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* Tests of service points, of queries, and of the registry. */
#include <linux/in.h>
#include <linux/slab.h>
#include <linux/socket.h>
#include <linux/string.h>

#include "ktest.h"

#define QUAL	7472
#define QLEN	16

/**
 * struct points - an EP that connects, and EVDs for two service points
 * @conn: record of connection events of @ep
 * @first: record of requests at the first service point
 * @second: record of requests at the second service point
 * @pz: protection zone of @ep
 * @conn_evd: EVD whose upcall fills @conn
 * @first_evd: EVD whose upcall fills @first
 * @second_evd: EVD whose upcall fills @second
 * @ep: EP that connects
 * @addr: address of the adapter
 */
struct points {
	struct kt_box		conn;
	struct kt_box		first;
	struct kt_box		second;
	DAT_PZ_HANDLE		pz;
	DAT_EVD_HANDLE		conn_evd;
	DAT_EVD_HANDLE		first_evd;
	DAT_EVD_HANDLE		second_evd;
	DAT_EP_HANDLE		ep;
	struct sockaddr_storage	addr;
};

static DAT_RETURN points_make(struct ktest *t, struct points *p)
{
	DAT_IA_ATTR *attr = kzalloc(sizeof(*attr), GFP_KERNEL);
	DAT_RETURN rc;

	if (!attr)
		return DAT_INSUFFICIENT_RESOURCES;
	rc = dat_ia_query(t->ia, NULL, DAT_IA_FIELD_ALL, attr, 0, NULL);
	if (rc == DAT_SUCCESS)
		memcpy(&p->addr, attr->ia_address_ptr, sizeof(struct sockaddr_in));
	kfree(attr);
	rc = rc ?: dat_pz_create(t->ia, &p->pz);
	rc = rc ?: kt_box_evd(t, &p->conn, QLEN, DAT_EVD_CONNECTION_FLAG, &p->conn_evd);
	rc = rc ?: kt_box_evd(t, &p->first, QLEN, DAT_EVD_CR_FLAG, &p->first_evd);
	rc = rc ?: kt_box_evd(t, &p->second, QLEN, DAT_EVD_CR_FLAG, &p->second_evd);
	return rc ?: dat_ep_create(t->ia, p->pz, DAT_HANDLE_NULL, DAT_HANDLE_NULL, p->conn_evd,
				   NULL, &p->ep);
}

/*
 * Run @fn with a struct points.  Close the IA before freeing the structure, because upcalls write
 * to it.
 */
static void with_points(struct ktest *t, void (*fn)(struct ktest *t, struct points *p))
{
	struct points *p = kzalloc(sizeof(*p), GFP_KERNEL);

	KT_TRUE(t, p);
	if (points_make(t, p))
		t->failed = true;
	else
		fn(t, p);
	dat_ia_close(t->ia, DAT_CLOSE_ABRUPT_FLAG);
	t->ia = DAT_HANDLE_NULL;
	kfree(p);
}

static DAT_RETURN ask(struct points *p, DAT_CONN_QUAL qual)
{
	return dat_ep_connect(p->ep, (struct sockaddr *)&p->addr, qual, 5000000, 3, "hi",
			      DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
}

static DAT_CR_HANDLE request(const struct kt_box *box)
{
	return box->events[0].event_data.cr_arrival_event_data.cr_handle;
}

static void psp_says(struct ktest *t, struct points *p)
{
	DAT_PSP_PARAM param = {};
	DAT_PSP_HANDLE psp;

	KT_OK(t, dat_psp_create(t->ia, QUAL, p->first_evd, DAT_PSP_CONSUMER_FLAG, &psp));
	KT_OK(t, dat_psp_query(psp, DAT_PSP_FIELD_ALL, &param));
	KT_TRUE(t, param.ia_handle == t->ia);
	KT_EQ(t, param.conn_qual, QUAL);
	KT_TRUE(t, param.evd_handle == p->first_evd);
	KT_EQ(t, param.psp_flags, DAT_PSP_CONSUMER_FLAG);
	KT_CODE(t, dat_psp_query(psp, ~DAT_PSP_FIELD_ALL, &param), DAT_INVALID_PARAMETER,
		DAT_INVALID_ARG2);
	KT_CODE(t, dat_psp_query(psp, DAT_PSP_FIELD_ALL, NULL), DAT_INVALID_PARAMETER,
		DAT_INVALID_ARG3);
	KT_OK(t, dat_psp_free(psp));
	KT_CODE(t, dat_psp_query(psp, DAT_PSP_FIELD_ALL, &param), DAT_INVALID_HANDLE,
		DAT_INVALID_HANDLE_PSP);
}

static void psp_query_says_what_was_asked_for(struct ktest *t)
{
	with_points(t, psp_says);
}

static void rsp_says(struct ktest *t, struct points *p)
{
	DAT_RSP_PARAM param = {};
	DAT_RSP_HANDLE rsp;

	KT_OK(t, dat_rsp_create(t->ia, QUAL, p->ep, p->first_evd, &rsp));
	KT_OK(t, dat_rsp_query(rsp, DAT_RSP_FIELD_ALL, &param));
	KT_TRUE(t, param.ia_handle == t->ia);
	KT_EQ(t, param.conn_qual, QUAL);
	KT_TRUE(t, param.evd_handle == p->first_evd);
	KT_TRUE(t, param.ep_handle == p->ep);
	KT_CODE(t, dat_rsp_query(rsp, ~DAT_RSP_FIELD_ALL, &param), DAT_INVALID_PARAMETER,
		DAT_INVALID_ARG2);
	KT_CODE(t, dat_rsp_query(rsp, DAT_RSP_FIELD_ALL, NULL), DAT_INVALID_PARAMETER,
		DAT_INVALID_ARG3);
	KT_OK(t, dat_rsp_free(rsp));
	KT_CODE(t, dat_rsp_query(rsp, DAT_RSP_FIELD_ALL, &param), DAT_INVALID_HANDLE,
		DAT_INVALID_HANDLE_RSP);
}

static void rsp_query_says_what_was_asked_for(struct ktest *t)
{
	with_points(t, rsp_says);
}

static void pz_query_names_its_ia(struct ktest *t)
{
	DAT_PZ_PARAM param = {};
	DAT_PZ_HANDLE pz;

	KT_OK(t, dat_pz_create(t->ia, &pz));
	KT_OK(t, dat_pz_query(pz, DAT_PZ_FIELD_ALL, &param));
	KT_TRUE(t, param.ia_handle == t->ia);
	KT_CODE(t, dat_pz_query(pz, ~DAT_PZ_FIELD_ALL, &param), DAT_INVALID_PARAMETER,
		DAT_INVALID_ARG2);
	KT_CODE(t, dat_pz_query(pz, DAT_PZ_FIELD_ALL, NULL), DAT_INVALID_PARAMETER,
		DAT_INVALID_ARG3);
	KT_OK(t, dat_pz_free(pz));
	KT_CODE(t, dat_pz_query(pz, DAT_PZ_FIELD_ALL, &param), DAT_INVALID_HANDLE,
		DAT_INVALID_HANDLE_PZ);
}

static void listens_anywhere(struct ktest *t, struct points *p)
{
	DAT_CONN_QUAL qual = 0;
	DAT_PSP_HANDLE psp;

	KT_OK(t, dat_psp_create_any(t->ia, &qual, p->first_evd, DAT_PSP_CONSUMER_FLAG, &psp));
	KT_TRUE(t, qual >= 1024);
	KT_OK(t, ask(p, qual));
	KT_TRUE(t, kt_box_wait(&p->first));
	KT_EQ(t, p->first.events[0].event_data.cr_arrival_event_data.conn_qual, qual);
	KT_OK(t, dat_cr_reject(request(&p->first), 0, NULL));
	KT_TRUE(t, kt_box_wait(&p->conn));
}

static void requests_reach_a_qualifier_that_was_chosen_for_the_psp(struct ktest *t)
{
	with_points(t, listens_anywhere);
}

static void hands_off(struct ktest *t, struct points *p)
{
	DAT_PSP_HANDLE first, second;
	DAT_CR_PARAM param;

	KT_OK(t, dat_psp_create(t->ia, QUAL, p->first_evd, DAT_PSP_CONSUMER_FLAG, &first));
	KT_OK(t, dat_psp_create(t->ia, QUAL + 1, p->second_evd, DAT_PSP_CONSUMER_FLAG, &second));
	KT_OK(t, ask(p, QUAL));
	KT_TRUE(t, kt_box_wait(&p->first));
	KT_CODE(t, dat_cr_handoff(request(&p->first), QUAL + 2), DAT_INVALID_PARAMETER,
		DAT_INVALID_ARG2);
	KT_OK(t, dat_cr_handoff(request(&p->first), QUAL + 1));
	KT_TRUE(t, kt_box_wait(&p->second));
	KT_CODE(t, dat_cr_query(request(&p->first), DAT_CR_FIELD_ALL, &param), DAT_INVALID_HANDLE,
		DAT_INVALID_HANDLE_CR);
	KT_OK(t, dat_cr_query(request(&p->second), DAT_CR_FIELD_ALL, &param));
	KT_TRUE(t, param.private_data && !strcmp(param.private_data, "hi"));
	KT_OK(t, dat_cr_reject(request(&p->second), 0, NULL));
	KT_TRUE(t, kt_box_wait(&p->conn));
}

static void requests_are_handed_to_another_service_point(struct ktest *t)
{
	with_points(t, hands_off);
}

static void only_infinite_watermarks_are_taken(struct ktest *t, struct points *p)
{
	KT_OK(t, dat_ep_set_watermark(p->ep, DAT_WATERMARK_INFINITE, DAT_WATERMARK_INFINITE));
	KT_CODE(t, dat_ep_set_watermark(p->ep, -2, DAT_WATERMARK_INFINITE), DAT_INVALID_PARAMETER,
		DAT_INVALID_ARG2);
	KT_CODE(t, dat_ep_set_watermark(p->ep, DAT_WATERMARK_INFINITE, -2), DAT_INVALID_PARAMETER,
		DAT_INVALID_ARG3);
	KT_CODE(t, dat_ep_set_watermark(p->ep, 1, DAT_WATERMARK_INFINITE), DAT_MODEL_NOT_SUPPORTED,
		DAT_NO_SUBTYPE);
	KT_CODE(t, dat_ep_set_watermark(DAT_HANDLE_NULL, 1, 1), DAT_INVALID_HANDLE,
		DAT_INVALID_HANDLE_EP);
}

static void watermarks_are_infinite(struct ktest *t)
{
	with_points(t, only_infinite_watermarks_are_taken);
}

/* The provider is a fake: the registry stores its address but never dereferences it. */
static void modules_can_not_register_providers(struct ktest *t)
{
	DAT_PROVIDER_INFO *info = kzalloc(sizeof(*info), GFP_KERNEL);
	const DAT_PROVIDER *provider = (const DAT_PROVIDER *)t;
	DAT_RETURN add_new, remove_new, add_used, remove_used;

	KT_TRUE(t, info);
	strscpy(info->ia_name, "nobody", sizeof(info->ia_name));
	add_new = dat_registry_add_provider(provider, info);
	remove_new = dat_registry_remove_provider(provider, info);
	strscpy(info->ia_name, ktest_device, sizeof(info->ia_name));
	add_used = dat_registry_add_provider(provider, info);
	remove_used = dat_registry_remove_provider(provider, info);
	kfree(info);
	KT_CODE(t, add_new, DAT_NOT_IMPLEMENTED, DAT_NO_SUBTYPE);
	KT_CODE(t, remove_new, DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED);
	KT_CODE(t, add_used, DAT_PROVIDER_ALREADY_REGISTERED, DAT_NO_SUBTYPE);
	KT_CODE(t, remove_used, DAT_PROVIDER_IN_USE, DAT_NO_SUBTYPE);
	KT_CODE(t, dat_registry_add_provider(NULL, NULL), DAT_INVALID_PARAMETER, DAT_INVALID_ARG1);
	KT_CODE(t, dat_registry_remove_provider(provider, NULL), DAT_INVALID_PARAMETER,
		DAT_INVALID_ARG2);
}

static void relations_of_providers_are_unknown(struct ktest *t)
{
	DAT_HA_RELATIONSHIP answer;

	KT_CODE(t, dat_registry_providers_related(ktest_device, ktest_device, &answer),
		DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	KT_CODE(t, dat_registry_providers_related(ktest_device, ktest_device, NULL),
		DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
}

/* The state of @ep, or -1 if there is no such EP. */
static int state_of(DAT_EP_HANDLE ep)
{
	DAT_EP_STATE state;

	return dat_ep_get_status(ep, &state, NULL, NULL) ? -1 : (int)state;
}

/* Wait for the request at the first service point, and return the EP of the request. */
static DAT_EP_HANDLE made_ep(struct points *p)
{
	DAT_CR_PARAM param;

	if (!kt_box_wait(&p->first) || dat_cr_query(request(&p->first), DAT_CR_FIELD_ALL, &param))
		return DAT_HANDLE_NULL;
	return param.local_ep_handle;
}

static void refuses_what_needs_a_zone(struct ktest *t, struct points *p, DAT_EP_HANDLE ep)
{
	DAT_LMR_TRIPLET seg = { .virtual_address = 1, .segment_length = 8, .lmr_context = 1 };
	DAT_EP_PARAM param = { .pz_handle = DAT_HANDLE_NULL, .connect_evd_handle = p->conn_evd };
	DAT_DTO_COOKIE cookie = {};

	KT_CODE(t, dat_ep_post_recv(ep, 1, &seg, cookie, 0), DAT_PROTECTION_VIOLATION,
		DAT_PROTECTION_WRITE);
	KT_CODE(t, dat_ep_post_send(ep, 1, &seg, cookie, 0), DAT_PROTECTION_VIOLATION,
		DAT_PROTECTION_READ);
	KT_CODE(t, dat_ep_post_send(ep, 0, NULL, cookie, 0), DAT_INVALID_STATE,
		DAT_INVALID_STATE_EP_TENTCONNPENDING);
	KT_CODE(t, dat_ep_modify(ep, DAT_EP_FIELD_PZ_HANDLE, &param), DAT_INVALID_HANDLE,
		DAT_INVALID_HANDLE_PZ);
	KT_OK(t, dat_ep_modify(ep, DAT_EP_FIELD_CONNECT_EVD_HANDLE, &param));
	KT_CODE(t, dat_cr_accept(request(&p->first), DAT_HANDLE_NULL, 0, NULL), DAT_INVALID_HANDLE,
		DAT_INVALID_HANDLE_EP);
}

static void is_the_requests(struct ktest *t, struct points *p, DAT_EP_HANDLE ep)
{
	struct sockaddr_storage addr = p->addr;
	DAT_RSP_HANDLE rsp;
	DAT_CR_PARAM cr;

	((struct sockaddr_in *)&addr)->sin_port = htons(QUAL);
	KT_EQ(t, state_of(ep), DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING);
	KT_OK(t, dat_cr_query(request(&p->first), DAT_CR_FIELD_ALL, &cr));
	KT_TRUE(t, cr.local_ep_handle == ep);
	KT_CODE(t, dat_ep_free(ep), DAT_INVALID_STATE, DAT_INVALID_STATE_EP_TENTCONNPENDING);
	KT_CODE(t, dat_ep_reset(ep), DAT_INVALID_STATE, DAT_INVALID_STATE_EP_TENTCONNPENDING);
	KT_CODE(t, dat_ep_common_connect(ep, (struct sockaddr *)&addr, 1000000, 0, NULL),
		DAT_INVALID_STATE, DAT_INVALID_STATE_EP_TENTCONNPENDING);
	KT_CODE(t, dat_rsp_create(t->ia, QUAL + 1, ep, p->second_evd, &rsp), DAT_INVALID_STATE,
		DAT_INVALID_STATE_EP_TENTCONNPENDING);
	KT_CODE(t, dat_cr_accept(request(&p->first), p->ep, 0, NULL), DAT_INVALID_HANDLE,
		DAT_INVALID_HANDLE_EP);
}

static void accepts_with(struct ktest *t, struct points *p, DAT_EP_HANDLE ep)
{
	DAT_EP_PARAM param = { .pz_handle = p->pz, .connect_evd_handle = p->conn_evd };
	DAT_EP_PARAM now;

	KT_OK(t, dat_ep_query(ep, DAT_EP_FIELD_ALL, &now));
	KT_TRUE(t, !now.pz_handle && !now.recv_evd_handle && !now.request_evd_handle);
	KT_TRUE(t, now.ep_attr.max_recv_dtos > 0 && now.ep_attr.max_request_dtos > 0);
	KT_OK(t, dat_ep_modify(ep, DAT_EP_FIELD_PZ_HANDLE | DAT_EP_FIELD_CONNECT_EVD_HANDLE,
			       &param));
	KT_OK(t, dat_cr_accept(request(&p->first), DAT_HANDLE_NULL, 0, NULL));
	KT_TRUE(t, kt_box_wait(&p->conn) && kt_box_wait(&p->conn));
	KT_EQ(t, p->conn.events[0].event_number, DAT_CONNECTION_EVENT_ESTABLISHED);
	KT_EQ(t, p->conn.events[1].event_number, DAT_CONNECTION_EVENT_ESTABLISHED);
	KT_EQ(t, state_of(ep), DAT_EP_STATE_CONNECTED);
	KT_OK(t, dat_ep_free(ep));
}

static void psp_makes(struct ktest *t, struct points *p)
{
	DAT_PSP_PARAM param = {};
	DAT_PSP_HANDLE psp;
	DAT_EP_HANDLE ep;

	KT_OK(t, dat_psp_create(t->ia, QUAL, p->first_evd, DAT_PSP_PROVIDER_FLAG, &psp));
	KT_OK(t, dat_psp_query(psp, DAT_PSP_FIELD_ALL, &param));
	KT_EQ(t, param.psp_flags, DAT_PSP_PROVIDER_FLAG);
	KT_OK(t, ask(p, QUAL));
	ep = made_ep(p);
	KT_TRUE(t, ep);
	is_the_requests(t, p, ep);
	if (!t->failed)
		refuses_what_needs_a_zone(t, p, ep);
	if (!t->failed)
		accepts_with(t, p, ep);
}

static void psp_makes_the_endpoint_of_a_request(struct ktest *t)
{
	with_points(t, psp_makes);
}

static void rsp_makes(struct ktest *t, struct points *p)
{
	DAT_RSP_PARAM param = {};
	DAT_RSP_HANDLE rsp;
	DAT_EP_HANDLE ep;

	KT_OK(t, dat_rsp_create(t->ia, QUAL, DAT_HANDLE_NULL, p->first_evd, &rsp));
	KT_OK(t, dat_rsp_query(rsp, DAT_RSP_FIELD_ALL, &param));
	KT_TRUE(t, !param.ep_handle);
	KT_OK(t, ask(p, QUAL));
	ep = made_ep(p);
	KT_TRUE(t, ep);
	is_the_requests(t, p, ep);
	if (!t->failed)
		accepts_with(t, p, ep);
}

static void rsp_without_an_endpoint_makes_one(struct ktest *t)
{
	with_points(t, rsp_makes);
}

/* The service point is freed before the request is queried: the request still has an EP. */
static void goes_with_a_reject(struct ktest *t, struct points *p)
{
	DAT_PSP_HANDLE psp;
	DAT_EP_HANDLE ep;

	KT_OK(t, dat_psp_create(t->ia, QUAL, p->first_evd, DAT_PSP_PROVIDER_FLAG, &psp));
	KT_OK(t, ask(p, QUAL));
	KT_TRUE(t, kt_box_wait(&p->first));
	complete(&p->first.done);
	KT_OK(t, dat_psp_free(psp));
	ep = made_ep(p);
	KT_EQ(t, state_of(ep), DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING);
	KT_OK(t, dat_cr_reject(request(&p->first), 0, NULL));
	KT_EQ(t, state_of(ep), -1);
	KT_TRUE(t, kt_box_wait(&p->conn));
	KT_EQ(t, p->conn.events[0].event_number, DAT_CONNECTION_EVENT_PEER_REJECTED);
}

static void made_endpoint_goes_with_a_reject(struct ktest *t)
{
	with_points(t, goes_with_a_reject);
}

static void goes_with_a_handoff(struct ktest *t, struct points *p)
{
	DAT_PSP_HANDLE first, second;
	DAT_CR_PARAM param;
	DAT_EP_HANDLE ep;

	KT_OK(t, dat_psp_create(t->ia, QUAL, p->first_evd, DAT_PSP_PROVIDER_FLAG, &first));
	KT_OK(t, dat_psp_create(t->ia, QUAL + 1, p->second_evd, DAT_PSP_CONSUMER_FLAG, &second));
	KT_OK(t, ask(p, QUAL));
	ep = made_ep(p);
	KT_EQ(t, state_of(ep), DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING);
	KT_OK(t, dat_cr_handoff(request(&p->first), QUAL + 1));
	KT_EQ(t, state_of(ep), -1);
	KT_TRUE(t, kt_box_wait(&p->second));
	KT_OK(t, dat_cr_query(request(&p->second), DAT_CR_FIELD_ALL, &param));
	KT_TRUE(t, !param.local_ep_handle);
	KT_OK(t, dat_cr_reject(request(&p->second), 0, NULL));
	KT_TRUE(t, kt_box_wait(&p->conn));
}

static void made_endpoint_goes_with_a_handoff(struct ktest *t)
{
	with_points(t, goes_with_a_handoff);
}

/* The close of the IA ends the request and its EP. */
static void stays_until_the_close(struct ktest *t, struct points *p)
{
	DAT_PSP_HANDLE psp;

	KT_OK(t, dat_psp_create(t->ia, QUAL, p->first_evd, DAT_PSP_PROVIDER_FLAG, &psp));
	KT_OK(t, ask(p, QUAL));
	KT_EQ(t, state_of(made_ep(p)), DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING);
}

static void made_endpoint_goes_with_its_ia(struct ktest *t)
{
	with_points(t, stays_until_the_close);
}

const struct ktest_case ktest_points[] = {
	KTEST(psp_query_says_what_was_asked_for),
	KTEST(rsp_query_says_what_was_asked_for),
	KTEST(pz_query_names_its_ia),
	KTEST(requests_reach_a_qualifier_that_was_chosen_for_the_psp),
	KTEST(requests_are_handed_to_another_service_point),
	KTEST(psp_makes_the_endpoint_of_a_request),
	KTEST(rsp_without_an_endpoint_makes_one),
	KTEST(made_endpoint_goes_with_a_reject),
	KTEST(made_endpoint_goes_with_a_handoff),
	KTEST(made_endpoint_goes_with_its_ia),
	KTEST(watermarks_are_infinite),
	KTEST(modules_can_not_register_providers),
	KTEST(relations_of_providers_are_unknown),
	{}
};
