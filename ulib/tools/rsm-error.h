/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef RSM_ERROR_H
#define RSM_ERROR_H

/* Returns the name of the error in <rsmapi.h>. */
const char *rsm_error_name(int ret);

/* Returns the likely cause of the error, and what to do about it. */
const char *rsm_error_advice(int ret);

#endif /* RSM_ERROR_H */
