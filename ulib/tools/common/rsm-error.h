/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Copyright (c) The dat authors */
#ifndef RSM_ERROR_H
#define RSM_ERROR_H

/* Returns the name of the error code @ret, as in <rsmapi.h>. */
const char *rsm_error_name(int ret);

/* Returns the likely cause of the error @ret, and advice for the user. */
const char *rsm_error_advice(int ret);

#endif /* RSM_ERROR_H */
