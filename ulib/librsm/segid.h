/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* rsm.segmentid: segment ids that the administrator has set aside for applications. */
#ifndef RSM_SEGID_H
#define RSM_SEGID_H

#include <stddef.h>
#include <stdint.h>

#define SEGID_FILE	"/etc/rsm/rsm.segmentid"

/*
 * Look @appid up in the text of an rsm.segmentid.  Returns 0, RSMERR_BAD_APPID, or RSMERR_BAD_CONF
 * if a line before the one sought is malformed; results only with 0.
 */
int segid_parse(const char *text, size_t len, const char *appid, uint32_t *base,
		uint32_t *length);

/* Like segid_parse(), for the file at @path; RSMERR_BAD_CONF if it can't be read. */
int segid_lookup(const char *path, const char *appid, uint32_t *base, uint32_t *length);

#endif /* RSM_SEGID_H */
