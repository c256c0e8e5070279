// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * RDMA drivers: the way in which each driver registers user memory, and the driver's quirks.  Only
 * this file makes decisions by the driver id of a device.
 */
#include <linux/moduleparam.h>
#include <linux/sizes.h>
#include <rdma/siw-abi.h>

#include "compat.h"
#include "core/xport.h"
#include "verbs/verbs.h"

/*
 * Number of pages that every driver can register by work request.  irdma announces more pages.  But
 * irdma then uses a page list of another form, which irdma's work request does not support.
 */
#define SAFE_REG_PAGES	512

struct verbs_driver {
	enum rdma_driver_id	id;
	enum verbs_reg		reg;
	unsigned long		quirks;		/* enum dat_quirk bits */
	/* Largest inline data of a kernel consumer's post; 0: ignores IB_SEND_INLINE, or unread. */
	u32			max_inline;
};

/* Drivers that register user memory in a faster way than unknown_driver, or that have quirks. */
static const struct verbs_driver drivers[] = {
	{ RDMA_DRIVER_RXE,	VERBS_REG_DIRECT,
				RXE_QUIRKS_BEFORE_6_12 | RXE_QUIRKS_BEFORE_6_3 |
				RXE_QUIRKS_AFTER_6_1 | RXE_QUIRKS_6_2_TO_6_11 |
				DAT_QUIRK_LONG_IS_QP_OP | DAT_QUIRK_REG_PAGES |
				DAT_QUIRK_OPEN_INVALIDATE | DAT_QUIRK_LATE_FENCE,
								DAT_MAX_INLINE },
	{ RDMA_DRIVER_SIW,	VERBS_REG_DIRECT,
				DAT_QUIRK_NO_LAST_WQE | DAT_QUIRK_UNORDERED |
				DAT_QUIRK_REJECT_IS_RESET | DAT_QUIRK_NO_SOLICITED |
				DAT_QUIRK_NO_INVALIDATE | DAT_QUIRK_NOTIFIES_IN_POST,
								SIW_MAX_INLINE },
	{ RDMA_DRIVER_MLX4,	VERBS_REG_DIRECT,	DAT_QUIRK_REG_PAGES },
	{ RDMA_DRIVER_MLX5,	VERBS_REG_DIRECT,
				DAT_QUIRK_REG_PAGES | DAT_QUIRK_RELAXED,
								DAT_MAX_INLINE },
	{ RDMA_DRIVER_CXGB4,	VERBS_REG_DIRECT,
				DAT_QUIRK_REG_PAGES | DAT_QUIRK_FLUSH_ALL |
				DAT_QUIRK_NOTIFIES_IN_POST | CXGB4_QUIRKS_BEFORE_6_12 },
	{ RDMA_DRIVER_BNXT_RE,	VERBS_REG_DIRECT,
				DAT_QUIRK_REG_PAGES | DAT_QUIRK_FLUSH_ALL |
				BNXT_RE_QUIRKS_BEFORE_7_3 },
	{ RDMA_DRIVER_OCRDMA,	VERBS_REG_DIRECT,
				DAT_QUIRK_REG_PAGES | DAT_QUIRK_FLUSH_ALL |
				DAT_QUIRK_OPEN_ACCESS },
	{ RDMA_DRIVER_VMW_PVRDMA, VERBS_REG_DIRECT,	DAT_QUIRK_FLUSH_ALL },
	{ RDMA_DRIVER_QEDR,	VERBS_REG_DIRECT,
				DAT_QUIRK_REG_PAGES | DAT_QUIRK_NO_LAST_WQE |
				DAT_QUIRK_FLUSH_ALL },
	{ RDMA_DRIVER_HFI1,	VERBS_REG_DIRECT,
				DAT_QUIRK_FLUSH_ALL | DAT_QUIRK_NO_INVALIDATE },
	{ RDMA_DRIVER_QIB,	VERBS_REG_DIRECT,
				DAT_QUIRK_FLUSH_ALL | DAT_QUIRK_NO_INVALIDATE },
	{ RDMA_DRIVER_ERDMA,	VERBS_REG_DIRECT,	DAT_QUIRK_FLUSH_ALL },
	{ RDMA_DRIVER_HNS,	VERBS_REG_UDATA,
				DAT_QUIRK_FLUSH_ALL | DAT_QUIRK_NO_INVALIDATE },
	{ RDMA_DRIVER_IRDMA,	VERBS_REG_REQUEST,
				DAT_QUIRK_REG_PAGES | DAT_QUIRK_NO_LAST_WQE |
				DAT_QUIRK_FLUSH_ALL | DAT_QUIRK_OPEN_ACCESS |
				DAT_QUIRK_RELAXED },
};

/*
 * Description of all drivers that are not in drivers[].  The user memory function of such a driver
 * may read a udata that a kernel consumer does not have, or map other memory.  A registration by
 * work request is safe, because the work request is an interface for kernel consumers.  Whether
 * such a driver enforces the access flags of a QP is unknown, so assume that it does not.  Assume
 * also that writes become visible out of order, that a flush completes every request, that only the
 * destruction of an MR ends access, and that a post may call the handler of a CQ.
 */
static const struct verbs_driver unknown_driver = {
	.reg = VERBS_REG_REQUEST,
	.quirks = DAT_QUIRK_OPEN_ACCESS | DAT_QUIRK_RELAXED | DAT_QUIRK_FLUSH_ALL |
		  DAT_QUIRK_NO_INVALIDATE | DAT_QUIRK_NOTIFIES_IN_POST,
};

static int force_reg = -1;
module_param_named(registration, force_reg, int, 0644);
MODULE_PARM_DESC(registration, "For tests: 0 direct, 1 with udata, 2 by request (-1)");

static const struct verbs_driver *driver_of(const struct ib_device *ibdev)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(drivers); i++)
		if (ibdev->ops.driver_id == drivers[i].id)
			return &drivers[i];
	return &unknown_driver;
}

/*
 * Returns a mask of the page sizes that a registration by work request may use.  Most drivers use
 * the page size of the request.  The others always use PAGE_SIZE, so a request with another page
 * size would give a peer access to other memory.
 */
static u64 reg_page_sizes(const struct ib_device *ibdev, const struct verbs_driver *driver)
{
	if (driver->quirks & DAT_QUIRK_REG_PAGES)
		return ibdev->attrs.page_size_cap & ~(u64)(SZ_4K - 1);
	/* An unlisted driver may always use 4 KiB, which is safe only if PAGE_SIZE is 4 KiB. */
	if (driver == &unknown_driver && PAGE_SIZE != SZ_4K)
		return 0;
	return PAGE_SIZE;
}

/* Returns DAT_IA_CAP_* bits, which tell the keys through which writes may be out of order. */
static u32 relaxed_caps(const struct verbs_dev *vdev, const struct verbs_driver *driver)
{
	u32 caps = DAT_IA_CAP_RELAXED;

	if (!(driver->quirks & DAT_QUIRK_RELAXED))
		return caps;
	if (vdev->reg == VERBS_REG_REQUEST)
		caps |= DAT_IA_CAP_RELAXED_LMR;
	return caps | DAT_IA_CAP_RELAXED_RMR;
}

/* Sets the members of @vdev and @dev that depend on the driver, and lowers the limits of @dev. */
void verbs_driver_set(struct verbs_dev *vdev, struct dat_dev *dev)
{
	const struct verbs_driver *driver = driver_of(vdev->ibdev);
	struct dat_limits *limits = &dev->limits;
	int force = READ_ONCE(force_reg);

	vdev->reg = driver->reg;
	if (force >= VERBS_REG_DIRECT && force <= VERBS_REG_REQUEST)
		vdev->reg = force;
	vdev->page_sizes = reg_page_sizes(vdev->ibdev, driver);
	vdev->known = driver != &unknown_driver;
	dev->quirks = driver->quirks;
	limits->caps = relaxed_caps(vdev, driver);
	limits->max_inline = min_t(u32, driver->max_inline, DAT_MAX_INLINE);
	/*
	 * No driver changes the access flags of an iWARP connection: siw and erdma ignore the
	 * flags, irdma only adds flags, cxgb4 refuses, and qedr does not tell its firmware.
	 */
	if (rdma_protocol_iwarp(vdev->ibdev, rdma_start_port(vdev->ibdev)))
		dev->quirks |= DAT_QUIRK_OPEN_ACCESS;
	if (!vdev->page_sizes)
		limits->fast_reg_pages = 0;
	if (vdev->reg != VERBS_REG_REQUEST || !limits->fast_reg_pages)
		return;
	limits->fast_reg_pages = min_t(u32, limits->fast_reg_pages, SAFE_REG_PAGES);
	/*
	 * In the worst case, no two pages are contiguous, and the memory begins and ends inside a
	 * page.
	 */
	limits->max_mr_size = min(limits->max_mr_size,
				  (u64)(limits->fast_reg_pages - 1) << __ffs64(vdev->page_sizes));
}
