/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef RSM_ERROR_H
#define RSM_ERROR_H

/* As <rsmapi.h> calls it. */
const char *rsm_error_name(int ret);

/* What it is likely to mean, and what to do about it. */
const char *rsm_error_advice(int ret);

#endif /* RSM_ERROR_H */
