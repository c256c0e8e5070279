/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Copyright (c) The dat authors */
/* The file rsm.segmentid: segment ids that the administrator has reserved for applications. */
#ifndef RSM_SEGID_H
#define RSM_SEGID_H

#include <stddef.h>
#include <stdint.h>

#define SEGID_FILE	"/etc/rsm/rsm.segmentid"

/*
 * Find the line of the application @appid in @text, the content of rsm.segmentid.  Returns 0 and
 * sets *@base and *@length; or RSMERR_BAD_APPID if there is no such line; or RSMERR_BAD_CONF if a
 * malformed line comes first.
 */
int segid_parse(const char *text, size_t len, const char *appid, uint32_t *base,
		uint32_t *length);

/*
 * Read the file @path and pass its content to segid_parse().  Returns the result of segid_parse(),
 * or RSMERR_BAD_CONF if the file cannot be read.
 */
int segid_lookup(const char *path, const char *appid, uint32_t *base, uint32_t *length);

#endif /* RSM_SEGID_H */
