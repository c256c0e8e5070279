// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Replacing the ring of an EVD, an EP or an SRQ, in the steps of enum dat_ring_step. */
#include "libdat.h"

int udat_ring_replace(int fd, struct udat_ring_change *c)
{
	int ret;

	*c->step = DAT_RING_PREPARE;
	ret = du_ioctl(fd, c->cmd, c->arg);
	if (ret)
		return ret;
	ret = c->map(fd, c->arg, c->pages);
	if (ret)
		goto err_cancel;
	*c->step = DAT_RING_COMMIT;
	ret = du_ioctl(fd, c->cmd, c->arg);
	if (ret)
		goto err_unmap;
	return 0;

err_unmap:
	du_unmap(&c->pages[1]);
	du_unmap(&c->pages[0]);
err_cancel:
	*c->step = DAT_RING_CANCEL;
	du_ioctl(fd, c->cmd, c->arg);
	return ret;
}
