// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* dlclose() must not unload libdat and librsm, because their memory for handles must stay valid. */
#include <dlfcn.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kselftest_harness.h"

/*
 * Load @name in a new namespace and close it again.  Return 1 if it is still mapped, 0 if it is not
 * mapped, -1 on error.
 */
static int stays(const char *name, const char *symbol)
{
	void *lib = dlmopen(LM_ID_NEWLM, name, RTLD_NOW);
	unsigned char there;
	uintptr_t at;

	if (!lib)
		return -1;
	at = (uintptr_t)dlsym(lib, symbol);
	if (!at || dlclose(lib))
		return -1;
	return !mincore((void *)(at & ~((uintptr_t)getpagesize() - 1)), 1, &there);
}

TEST(libdat_stays_in_memory)
{
	EXPECT_EQ(1, stays("libdat.so.1", "dat_ia_openv"));
}

TEST(librsm_stays_in_memory)
{
	EXPECT_EQ(1, stays("librsm.so.2", "rsm_get_controller"));
}

TEST_HARNESS_MAIN
