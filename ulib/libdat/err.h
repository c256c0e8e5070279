/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How DAT_RETURNs are made. */
#ifndef LIBDAT_ERR_H
#define LIBDAT_ERR_H

#include <dat/dat_error.h>

/* An error of a type and a subtype; the constants lack the class. */
#define DAT_ERR(type, subtype) \
	((DAT_RETURN)(DAT_CLASS_ERROR | (DAT_RETURN)(type) | (DAT_RETURN)(subtype)))

/*
 * The DAT_RETURN of an errno of a /dev/dat ioctl, by the contract in dat_ioctl.h.  @err is
 * positive.  Callers that know which argument or state is at fault do not call this.
 */
DAT_RETURN dat_err_from_errno(int err);

#endif /* LIBDAT_ERR_H */
