// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/*
 * Memory regions: LMRs, whose context is the descriptor, and whose key for the peer is the key.
 *
 * Layers such as ofi_rxm register the program's memory for each long message, so libdat keeps the
 * registrations.
 */
#include <stdlib.h>

#include "fdat.h"

/* Flags that libfabric leaves to its parts: ofi_rxm asks for a registration that is not kept. */
#define PRIVATE_FLAGS	(0xfULL << 60)

#define ACCESS	(FI_SEND | FI_RECV | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE)

static DAT_MEM_PRIV_FLAGS privileges(const struct fdat_ia *ia, uint64_t access)
{
	unsigned int priv = DAT_MEM_PRIV_LOCAL_READ_FLAG;

	if (access & (FI_RECV | FI_READ))
		priv |= DAT_MEM_PRIV_LOCAL_WRITE_FLAG;
	if (access & FI_REMOTE_READ)
		priv |= DAT_MEM_PRIV_REMOTE_READ_FLAG;
	/* A remote write is a local write, too. */
	if (access & FI_REMOTE_WRITE)
		priv |= DAT_MEM_PRIV_REMOTE_WRITE_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG;
	if (access & FI_READ && ia->iwarp)
		priv |= DAT_MEM_PRIV_REMOTE_WRITE_FLAG;
	return (DAT_MEM_PRIV_FLAGS)priv;
}

static int mr_close(struct fid *fid)
{
	struct fdat_mr *mr = fdat_of(fid, struct fdat_mr, mr.fid);
	int ret = fdat_error(mr->kept ? dat_linux_lmr_put(mr->lmr) : dat_lmr_free(mr->lmr));

	if (ret)
		return ret == -FI_EOPBADSTATE ? -FI_EBUSY : ret;
	fdat_unref(&mr->domain->refs);
	free(mr);
	return 0;
}

static struct fi_ops mr_fid_ops = {
	.size = sizeof(mr_fid_ops),
	.close = mr_close,
	.bind = fdat_no_bind,
	.control = fdat_no_control,
	FDAT_NO_FID_OPS,
};

static int mr_create(struct fdat_mr *mr, const struct iovec *iov, uint64_t access)
{
	DAT_REGION_DESCRIPTION region = { .for_va = iov->iov_base };
	struct fdat_domain *d = mr->domain;
	DAT_LMR_CONTEXT context;
	DAT_RMR_CONTEXT key;
	DAT_RETURN rc;

	if (mr->kept)
		rc = dat_linux_lmr_get(d->ia->handle, d->pz, iov->iov_base, iov->iov_len,
				       privileges(d->ia, access), &mr->lmr, &context, &key);
	else
		rc = dat_lmr_create(d->ia->handle, DAT_MEM_TYPE_VIRTUAL, region, iov->iov_len,
				    d->pz, privileges(d->ia, access), &mr->lmr, &context, &key,
				    NULL, NULL);
	/* A length of 0 is not a message that is too long. */
	if (rc != DAT_SUCCESS)
		return DAT_GET_TYPE(rc) == DAT_LENGTH_ERROR ? -FI_EINVAL : fdat_error(rc);
	mr->mr.mem_desc = (void *)(uintptr_t)context;
	mr->mr.key = key;
	return 0;
}

static int mr_regattr(struct fid *fid, const struct fi_mr_attr *attr, uint64_t flags,
		      struct fid_mr **out)
{
	struct fdat_domain *d = fdat_of(fid, struct fdat_domain, domain.fid);
	struct fdat_mr *mr;
	int ret;

	if (fid->fclass != FI_CLASS_DOMAIN || attr->access & ~ACCESS)
		return -FI_EINVAL;
	if (flags & ~PRIVATE_FLAGS)
		return -FI_EBADFLAGS;
	if (attr->iface != FI_HMEM_SYSTEM)
		return -FI_EOPNOTSUPP;
	if (attr->iov_count != 1)
		return -FI_EINVAL;
	mr = calloc(1, sizeof(*mr));
	if (!mr)
		return -FI_ENOMEM;
	mr->domain = d;
	mr->kept = d->mr_cache && !(flags & PRIVATE_FLAGS);
	ret = mr_create(mr, attr->mr_iov, attr->access);
	if (ret) {
		free(mr);
		return ret;
	}
	mr->mr.fid.fclass = FI_CLASS_MR;
	mr->mr.fid.context = attr->context;
	mr->mr.fid.ops = &mr_fid_ops;
	fdat_ref(&d->refs);
	*out = &mr->mr;
	return 0;
}

static int mr_regv(struct fid *fid, const struct iovec *iov, size_t count, uint64_t access,
		   uint64_t offset, uint64_t requested_key, uint64_t flags, struct fid_mr **mr,
		   void *context)
{
	struct fi_mr_attr attr = {
		.mr_iov = iov, .iov_count = count, .access = access, .offset = offset,
		.requested_key = requested_key, .context = context,
	};

	return mr_regattr(fid, &attr, flags, mr);
}

static int mr_reg(struct fid *fid, const void *buf, size_t len, uint64_t access, uint64_t offset,
		  uint64_t requested_key, uint64_t flags, struct fid_mr **mr, void *context)
{
	struct iovec iov = { .iov_base = (void *)(uintptr_t)buf, .iov_len = len };

	return mr_regv(fid, &iov, 1, access, offset, requested_key, flags, mr, context);
}

struct fi_ops_mr fdat_mr_ops = {
	.size = sizeof(fdat_mr_ops),
	.reg = mr_reg,
	.regv = mr_regv,
	.regattr = mr_regattr,
};
