// SPDX-License-Identifier: GPL-2.0
/* What drivers do otherwise than the specifications say; nothing else looks at a driver's id. */
#include "compat.h"
#include "verbs/verbs.h"

/**
 * struct verbs_driver - a driver that is known
 * @id: of the driver
 * @quirks: enum dat_quirk
 */
struct verbs_driver {
	enum rdma_driver_id	id;
	unsigned long		quirks;
};

/*
 * Drivers that register user memory for a kernel protection domain correctly.  Others (irdma,
 * mthca, hns) read a udata that isn't there or map the wrong memory, so a driver has to be known
 * to be good.
 */
static const struct verbs_driver drivers[] = {
	{ RDMA_DRIVER_RXE,	RXE_QUIRKS_BEFORE_6_12 | RXE_QUIRKS_BEFORE_6_3 |
				DAT_QUIRK_LONG_IS_QP_OP | DAT_QUIRK_REG_PAGES },
	{ RDMA_DRIVER_SIW,	DAT_QUIRK_NO_LAST_WQE | DAT_QUIRK_UNORDERED |
				DAT_QUIRK_REJECT_IS_RESET },
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

/* Of a driver that is not known nothing is opened, so its quirks don't matter. */
unsigned long verbs_quirks(const struct ib_device *ibdev)
{
	const struct verbs_driver *driver = driver_of(ibdev);

	return driver ? driver->quirks : 0;
}
