/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Copyright (c) The dat authors */
/* Functions and macros that make a DAT_RETURN. */
#ifndef LIBDAT_ERR_H
#define LIBDAT_ERR_H

#include <dat/dat_error.h>

/* Makes a DAT_RETURN of class ERROR.  The constants @type and @subtype do not include the class. */
#define DAT_ERR(type, subtype) \
	((DAT_RETURN)(DAT_CLASS_ERROR | (DAT_RETURN)(type) | (DAT_RETURN)(subtype)))

/*
 * Returns the DAT_RETURN for the errno @err of a /dev/dat ioctl, as dat_ioctl.h specifies.  @err is
 * positive.  A caller that knows which argument or state is wrong returns a more exact DAT_RETURN
 * instead.
 */
DAT_RETURN dat_err_from_errno(int err);

#endif /* LIBDAT_ERR_H */
