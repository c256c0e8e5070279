/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) The dat authors */
#ifndef DAT_COVER_H
#define DAT_COVER_H

#define DAT_COVER_MODULES	2		/* dat.ko and dat_rsm.ko */
#define DAT_COVER_SIZE		(2L << 20)	/* twice what the code of a module has in bytes */

/*
 * dat_cover_hit() - note that a place of a module has run
 * @module: 0 for dat.ko, 1 for dat_rsm.ko
 * @offset: bytes from __sanitizer_cov_trace_pc() of the module to the place
 *
 * Context: any.
 */
void dat_cover_hit(unsigned int module, long offset);

#endif /* DAT_COVER_H */
