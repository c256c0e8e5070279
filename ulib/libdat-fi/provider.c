// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/* The entry of the provider, which libfabric calls when it has loaded the library. */
#include "fdat.h"

static void fdat_cleanup(void)
{
}

struct fi_provider fdat_prov = {
	.version = FI_VERSION(DAT_LINUX_VERSION_MAJOR, DAT_LINUX_VERSION_MINOR),
	/* libfabric skips a provider for an older version of itself than the program asks for. */
	.fi_version = FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION),
	.name = "dat",
	.getinfo = fdat_getinfo,
	.fabric = fdat_fabric_open,
	.cleanup = fdat_cleanup,
};

FI_EXT_INI
{
	fi_param_define(&fdat_prov, "adapter", FI_PARAM_STRING,
			"Name of the only adapter that programs find (default: all adapters)");
	fi_param_define(&fdat_prov, FDAT_MR_CACHE, FI_PARAM_BOOL,
			"Keep registrations of memory for the next use (default: yes)");
	return &fdat_prov;
}
