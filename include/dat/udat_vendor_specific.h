/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Where uDAPL 1.2 has vendors put what they add for user programs.
 */
#ifndef UDAT_VENDOR_SPECIFIC_H
#define UDAT_VENDOR_SPECIFIC_H

#include "dat_vendor_specific.h"

#endif /* UDAT_VENDOR_SPECIFIC_H */
