// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/* Domains: a protection zone on the adapter that the process shares. */
#include <stdlib.h>

#include "fdat.h"

static int domain_close(struct fid *fid)
{
	struct fdat_domain *d = fdat_of(fid, struct fdat_domain, domain.fid);
	int ret;

	if (fdat_refs(&d->refs))
		return -FI_EBUSY;
	ret = fdat_error(dat_pz_free(d->pz));
	if (ret)
		return ret == -FI_EOPBADSTATE ? -FI_EBUSY : ret;
	fdat_ia_put(d->ia);
	fdat_unref(&d->fabric->refs);
	free(d);
	return 0;
}

static struct fi_ops domain_fid_ops = {
	.size = sizeof(domain_fid_ops),
	.close = domain_close,
	.bind = fdat_no_bind,
	.control = fdat_no_control,
	FDAT_NO_FID_OPS,
};

static struct fi_ops_domain domain_ops = {
	.size = sizeof(domain_ops),
	.av_open = fdat_no_av_open,
	.cq_open = fdat_cq_open,
	.endpoint = fdat_ep_open,
	.scalable_ep = fdat_no_scalable_ep,
	.cntr_open = fdat_no_cntr_open,
	.poll_open = fdat_no_poll_open,
	.stx_ctx = fdat_no_stx_ctx,
	.srx_ctx = fdat_srx_open,
	.query_atomic = fdat_no_query_atomic,
	.query_collective = fdat_no_query_collective,
	.endpoint2 = fdat_no_endpoint2,
};

int fdat_domain_open(struct fid_fabric *fabric, struct fi_info *info, struct fid_domain **domain,
		     void *context)
{
	struct fdat_domain *d;
	int ret;

	if (!info->domain_attr || !info->domain_attr->name)
		return -FI_EINVAL;
	d = calloc(1, sizeof(*d));
	if (!d)
		return -FI_ENOMEM;
	ret = fdat_ia_get(info->domain_attr->name, &d->ia);
	if (ret)
		goto err_free;
	ret = fdat_error(dat_pz_create(d->ia->handle, &d->pz));
	if (ret)
		goto err_ia;
	d->mr_cache = 1;
	fi_param_get_bool(&fdat_prov, FDAT_MR_CACHE, &d->mr_cache);
	d->fabric = fdat_of(fabric, struct fdat_fabric, fabric);
	fdat_ref(&d->fabric->refs);
	d->domain.fid.fclass = FI_CLASS_DOMAIN;
	d->domain.fid.context = context;
	d->domain.fid.ops = &domain_fid_ops;
	d->domain.ops = &domain_ops;
	d->domain.mr = &fdat_mr_ops;
	*domain = &d->domain;
	return 0;

err_ia:
	fdat_ia_put(d->ia);
err_free:
	free(d);
	return ret;
}
