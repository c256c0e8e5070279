// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* Supported RDMA drivers and their quirks.  Only this file reads the driver id of a device. */
#include "compat.h"
#include "core/xport.h"
#include "verbs/verbs.h"

struct verbs_driver {
	enum rdma_driver_id	id;
	unsigned long		quirks;		/* enum dat_quirk bits */
};

/*
 * Drivers that correctly register user memory for a kernel protection domain.  Some other drivers
 * (irdma, mthca, hns) read a udata that does not exist, or map the wrong memory.  So a driver that
 * is not listed is not supported.
 */
static const struct verbs_driver drivers[] = {
	{ RDMA_DRIVER_RXE,	RXE_QUIRKS_BEFORE_6_12 | RXE_QUIRKS_BEFORE_6_3 |
				RXE_QUIRKS_AFTER_6_1 |
				DAT_QUIRK_LONG_IS_QP_OP | DAT_QUIRK_REG_PAGES |
				DAT_QUIRK_OPEN_INVALIDATE },
	{ RDMA_DRIVER_SIW,	DAT_QUIRK_NO_LAST_WQE | DAT_QUIRK_UNORDERED |
				DAT_QUIRK_REJECT_IS_RESET | DAT_QUIRK_NO_SOLICITED },
	{ RDMA_DRIVER_MLX4,	DAT_QUIRK_REG_PAGES },
	{ RDMA_DRIVER_MLX5,	DAT_QUIRK_REG_PAGES },
	{ RDMA_DRIVER_CXGB4,	DAT_QUIRK_REG_PAGES },
	{ RDMA_DRIVER_BNXT_RE,	DAT_QUIRK_REG_PAGES },
	{ RDMA_DRIVER_OCRDMA,	DAT_QUIRK_REG_PAGES },
	{ RDMA_DRIVER_VMW_PVRDMA },
	{ RDMA_DRIVER_QEDR,	DAT_QUIRK_REG_PAGES },
	{ RDMA_DRIVER_HFI1 },
	{ RDMA_DRIVER_QIB },
	{ RDMA_DRIVER_ERDMA },
};

static const struct verbs_driver *driver_of(const struct ib_device *ibdev)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(drivers); i++)
		if (ibdev->ops.driver_id == drivers[i].id)
			return &drivers[i];
	return NULL;
}

bool verbs_driver_good(const struct ib_device *ibdev)
{
	return driver_of(ibdev);
}

/* Returns the quirks of a driver.  The devices of an unsupported driver cannot be opened. */
unsigned long verbs_quirks(const struct ib_device *ibdev)
{
	const struct verbs_driver *driver = driver_of(ibdev);

	return driver ? driver->quirks : 0;
}
