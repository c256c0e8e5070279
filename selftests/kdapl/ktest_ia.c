// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* Tests of IAs, handles and protection zones. */
#include <linux/slab.h>
#include <linux/string.h>

#include "ktest.h"

/* Names and values of the kDAPL that was published with DAT 2.0. */
static_assert(DAT_TIMEOUT_EXPIRED == 0x000f0000);
static_assert(DAT_PROVIDER_FIELD_LMR_FOR_FMR_SCOPE == 0x010000000ULL);
static_assert(sizeof(DAT_SOCK_ADDR) == sizeof(struct sockaddr));
static_assert(sizeof(DAT_SOCK_ADDR6) == sizeof(struct sockaddr_in6));

static void ia_query_fills_the_attributes(struct ktest *t)
{
	DAT_PROVIDER_ATTR *pa = kzalloc(sizeof(*pa), GFP_KERNEL);
	DAT_IA_ATTR *ia = kzalloc(sizeof(*ia), GFP_KERNEL);
	DAT_EVD_HANDLE async = NULL;
	DAT_RETURN rc = DAT_INTERNAL_ERROR;
	bool good = false;

	if (pa && ia) {
		rc = dat_ia_query(t->ia, &async, DAT_IA_FIELD_ALL, ia, DAT_PROVIDER_FIELD_ALL,
				  pa);
		good = !strcmp(ia->adapter_name, ktest_device) && ia->max_eps > 0 &&
		       ia->ia_address_ptr && pa->is_thread_safe == DAT_TRUE &&
		       pa->upcall_policy == DAT_UPCALL_MANY &&
		       pa->ep_creator == DAT_PSP_CREATES_EP_IFASKED &&
		       pa->num_provider_specific_attr ==
		       (pa->rdma_write_for_rdma_read_req ? 1 : 2) &&
		       !strcmp(pa->provider_specific_attr[0].name, "relaxed_order") &&
		       !strcmp(pa->provider_specific_attr[0].value, "none") &&
		       !strcmp(pa->provider_specific_attr[1].name, "immediate_data") &&
		       !strcmp(pa->provider_specific_attr[1].value, "1");
	}
	kfree(ia);
	kfree(pa);
	KT_OK(t, rc);
	KT_TRUE(t, good);
	KT_TRUE(t, async == t->async);
}

static void unknown_adapter_is_not_found(struct ktest *t)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;

	KT_CODE(t, dat_ia_open("nobody", 8, &async, &ia), DAT_PROVIDER_NOT_FOUND,
		DAT_NAME_NOT_REGISTERED);
	KT_CODE(t, dat_ia_openv(ktest_device, 8, &async, &ia, 9, 0, DAT_FALSE),
		DAT_PROVIDER_NOT_FOUND, DAT_MAJOR_NOT_FOUND);
	KT_CODE(t, dat_ia_open(NULL, 8, &async, &ia), DAT_INVALID_PARAMETER, DAT_INVALID_ARG1);
}

static void registry_lists_the_adapter(struct ktest *t)
{
	DAT_PROVIDER_INFO *info = kzalloc(sizeof(*info), GFP_KERNEL);
	DAT_COUNT n = 0;
	DAT_RETURN rc;
	bool found;

	KT_TRUE(t, info);
	rc = dat_registry_list_providers(1, &n, &info);
	found = !strcmp(info->ia_name, ktest_device);
	kfree(info);
	KT_OK(t, rc);
	KT_TRUE(t, n >= 1 && found);
}

/* Handles that are garbage, freed, or of the wrong type must be refused. */
static void bad_handles_are_invalid(struct ktest *t)
{
	static const u64 garbage[] = {
		0, 1, 2, 0xdeadbeef, ~0ULL, 0xffff888000000000ULL, 0x4100000000000001ULL,
	};
	DAT_HANDLE_TYPE type;
	DAT_EP_STATE state;
	DAT_PZ_HANDLE pz;
	DAT_EVENT event;
	int i;

	for (i = 0; i < ARRAY_SIZE(garbage); i++) {
		DAT_HANDLE h = (DAT_HANDLE)(uintptr_t)garbage[i];

		KT_CODE(t, dat_pz_free(h), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ);
		KT_CODE(t, dat_evd_dequeue(h, &event), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
		KT_CODE(t, dat_ep_get_status(h, &state, NULL, NULL), DAT_INVALID_HANDLE,
			DAT_INVALID_HANDLE_EP);
		KT_CODE(t, dat_ia_close(h, DAT_CLOSE_ABRUPT_FLAG), DAT_INVALID_HANDLE,
			DAT_INVALID_HANDLE_IA);
		KT_CODE(t, dat_get_handle_type(h, &type), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
	}
	KT_OK(t, dat_pz_create(t->ia, &pz));
	KT_CODE(t, dat_evd_free(pz), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
	KT_CODE(t, dat_pz_create(pz, &pz), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	KT_CODE(t, dat_pz_free(t->async), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ);
	KT_OK(t, dat_get_handle_type(pz, &type));
	KT_EQ(t, type, DAT_HANDLE_TYPE_PZ);
	KT_OK(t, dat_pz_free(pz));
	KT_CODE(t, dat_pz_free(pz), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ);
	KT_OK(t, dat_get_handle_type(t->ia, &type));
	KT_EQ(t, type, DAT_HANDLE_TYPE_IA);
}

static void context_comes_back(struct ktest *t)
{
	DAT_CONTEXT in = { .as_64 = 0x123456789abcdefULL }, out = {};

	KT_OK(t, dat_get_consumer_context(t->ia, &out));
	KT_EQ(t, out.as_64, 0);
	KT_OK(t, dat_set_consumer_context(t->async, in));
	KT_OK(t, dat_get_consumer_context(t->async, &out));
	KT_EQ(t, out.as_64, in.as_64);
}

static void graceful_close_wants_an_empty_ia(struct ktest *t)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;

	KT_OK(t, dat_ia_open(ktest_device, 8, &async, &ia));
	KT_OK(t, dat_pz_create(ia, &pz));
	KT_CODE(t, dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG), DAT_INVALID_STATE,
		DAT_INVALID_STATE_IA_IN_USE);
	KT_OK(t, dat_pz_free(pz));
	KT_OK(t, dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
	KT_CODE(t, dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG), DAT_INVALID_HANDLE,
		DAT_INVALID_HANDLE_IA);
	KT_CODE(t, dat_pz_create(ia, &pz), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
}

static void errors_have_names(struct ktest *t)
{
	const char *major, *minor;

	KT_OK(t, dat_strerror(DAT_CLASS_ERROR | DAT_INVALID_HANDLE | DAT_INVALID_HANDLE_EP,
			      &major, &minor));
	KT_TRUE(t, !strcmp(major, "DAT_INVALID_HANDLE"));
	KT_TRUE(t, !strcmp(minor, "DAT_INVALID_HANDLE_EP"));
	KT_OK(t, dat_strerror(DAT_CLASS_ERROR | DAT_TIMEOUT_EXPIRED, &major, &minor));
	KT_TRUE(t, !strcmp(major, "DAT_TIMEOUT_EXPIRED") && !*minor);
	KT_CODE(t, dat_strerror(0x3ffe0000, &major, &minor), DAT_INVALID_PARAMETER,
		DAT_INVALID_ARG1);
}

const struct ktest_case ktest_ia[] = {
	KTEST(ia_query_fills_the_attributes),
	KTEST(unknown_adapter_is_not_found),
	KTEST(registry_lists_the_adapter),
	KTEST(bad_handles_are_invalid),
	KTEST(context_comes_back),
	KTEST(graceful_close_wants_an_empty_ia),
	KTEST(errors_have_names),
	{}
};
