// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * A provider for registry.c that registers itself from a constructor and has no
 * dat_provider_fini().
 */
#include <dat/udat.h>
#include <dat/dat_registry.h>

#include "provider.h"

static DAT_RETURN ia_open(const DAT_NAME_PTR name, DAT_COUNT qlen, DAT_EVD_HANDLE *async_evd,
			  DAT_IA_HANDLE *ia)
{
	(void)name;
	(void)qlen;
	(void)async_evd;
	(void)ia;
	return TEST_REFUSED;
}

__attribute__((constructor)) static void half_loaded(void)
{
	static const DAT_PROVIDER table = { .device_name = "half", .ia_open_func = ia_open };
	static const DAT_PROVIDER_INFO info = {
		.ia_name = "half", .dapl_version_major = 1, .dapl_version_minor = 2,
		.is_thread_safe = DAT_TRUE,
	};

	dat_registry_add_provider(&table, &info);
}
