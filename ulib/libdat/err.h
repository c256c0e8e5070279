/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Making DAT_RETURNs. */
#ifndef LIBDAT_ERR_H
#define LIBDAT_ERR_H

#include <dat/dat_error.h>

/* An error of a type and a subtype; the constants lack the class. */
#define DAT_ERR(type, subtype) \
	((DAT_RETURN)(DAT_CLASS_ERROR | (DAT_RETURN)(type) | (DAT_RETURN)(subtype)))

/*
 * What an errno of a /dev/dat ioctl means to DAT, by the contract in dat_ioctl.h.
 * @err is positive.  Callers that know which argument or state it was say so
 * themselves and ask here about the rest.
 */
DAT_RETURN dat_err_from_errno(int err);

#endif /* LIBDAT_ERR_H */
