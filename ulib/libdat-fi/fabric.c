// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/* Fabrics: the parents of domains, event queues and passive endpoints. */
#include <stdlib.h>
#include <string.h>

#include "fdat.h"
#include "hints.h"

void fdat_ref(int *refs)
{
	__atomic_fetch_add(refs, 1, __ATOMIC_RELAXED);
}

void fdat_unref(int *refs)
{
	__atomic_fetch_sub(refs, 1, __ATOMIC_RELEASE);
}

int fdat_refs(const int *refs)
{
	return __atomic_load_n(refs, __ATOMIC_ACQUIRE);
}

static int fabric_close(struct fid *fid)
{
	struct fdat_fabric *f = fdat_of(fid, struct fdat_fabric, fabric.fid);

	if (fdat_refs(&f->refs))
		return -FI_EBUSY;
	while (f->requests)
		fdat_connreq_free(f->requests);
	pthread_mutex_destroy(&f->lock);
	free(f);
	return 0;
}

static int fabric_trywait(struct fid_fabric *fabric, struct fid **fids, int count)
{
	int i, ret;

	(void)fabric;
	for (i = 0; i < count; i++) {
		switch (fids[i]->fclass) {
		case FI_CLASS_CQ:
			ret = fdat_cq_trywait(fdat_of(fids[i], struct fdat_cq, cq.fid));
			break;
		case FI_CLASS_EQ:
			ret = fdat_eq_trywait(fdat_of(fids[i], struct fdat_eq, eq.fid));
			break;
		default:
			ret = -FI_EINVAL;
		}
		if (ret)
			return ret;
	}
	return 0;
}

static struct fi_ops fabric_fid_ops = {
	.size = sizeof(fabric_fid_ops),
	.close = fabric_close,
	.bind = fdat_no_bind,
	.control = fdat_no_control,
	FDAT_NO_FID_OPS,
};

static struct fi_ops_fabric fabric_ops = {
	.size = sizeof(fabric_ops),
	.domain = fdat_domain_open,
	.passive_ep = fdat_pep_open,
	.eq_open = fdat_eq_open,
	.wait_open = fdat_no_wait_open,
	.trywait = fabric_trywait,
	.domain2 = fdat_no_domain2,
};

int fdat_fabric_open(struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context)
{
	struct fdat_fabric *f;

	if (attr->name && strcmp(attr->name, FDAT_FABRIC) && strcmp(attr->name, FDAT_FABRIC_LOCAL))
		return -FI_ENODATA;
	f = calloc(1, sizeof(*f));
	if (!f)
		return -FI_ENOMEM;
	pthread_mutex_init(&f->lock, NULL);
	f->fabric.fid.fclass = FI_CLASS_FABRIC;
	f->fabric.fid.context = context;
	f->fabric.fid.ops = &fabric_fid_ops;
	f->fabric.ops = &fabric_ops;
	f->fabric.api_version = attr->api_version;
	*fabric = &f->fabric;
	return 0;
}
