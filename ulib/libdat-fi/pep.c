// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/* Passive endpoints: listeners. */
#include <stdlib.h>
#include <string.h>

#include "fdat.h"

#define BACKLOG	128	/* default number of requests that may wait */

/* Stop to listen, and reject the requests that the program has not read. */
static void pep_stop(struct fdat_pep *pep)
{
	struct fdat_source *source = pep->source;
	DAT_EVENT event;

	if (!source)
		return;
	pthread_mutex_lock(&pep->eq->lock);
	dat_psp_free(pep->psp);
	while (dat_evd_dequeue(source->evd, &event) == DAT_SUCCESS)
		dat_cr_reject(event.event_data.cr_arrival_event_data.cr_handle);
	fdat_eq_forget(pep->eq, &pep->pep.fid);
	fdat_source_free(pep->eq, source);
	pthread_mutex_unlock(&pep->eq->lock);
}

static int pep_close(struct fid *fid)
{
	struct fdat_pep *pep = fdat_of(fid, struct fdat_pep, pep.fid);

	pep_stop(pep);
	if (pep->eq)
		fdat_unref(&pep->eq->refs);
	fdat_ia_put(pep->ia);
	fdat_unref(&pep->fabric->refs);
	fi_freeinfo(pep->info);
	free(pep);
	return 0;
}

static int pep_bind(struct fid *fid, struct fid *bfid, uint64_t flags)
{
	struct fdat_pep *pep = fdat_of(fid, struct fdat_pep, pep.fid);

	if (flags)
		return -FI_EBADFLAGS;
	if (bfid->fclass != FI_CLASS_EQ || pep->eq)
		return -FI_EINVAL;
	pep->eq = fdat_of(bfid, struct fdat_eq, eq.fid);
	fdat_ref(&pep->eq->refs);
	return 0;
}

static int pep_control(struct fid *fid, int command, void *arg)
{
	struct fdat_pep *pep = fdat_of(fid, struct fdat_pep, pep.fid);
	const int *backlog = arg;

	if (command != FI_BACKLOG)
		return -FI_ENOSYS;
	if (!backlog || *backlog < 0)
		return -FI_EINVAL;
	if (pep->source)
		return -FI_EOPBADSTATE;
	/* As with listen(2), a backlog of 0 and one beyond the limit are no errors. */
	pep->backlog = *backlog ? *backlog : 1;
	if (pep->backlog > pep->ia->attr.max_evd_qlen)
		pep->backlog = pep->ia->attr.max_evd_qlen;
	return 0;
}

static int pep_getopt(fid_t fid, int level, int name, void *val, size_t *len)
{
	struct fdat_pep *pep = fdat_of(fid, struct fdat_pep, pep.fid);

	return fdat_cm_getopt(pep->ia, level, name, val, len);
}

static int pep_setname(fid_t fid, void *addr, size_t len)
{
	struct fdat_pep *pep = fdat_of(fid, struct fdat_pep, pep.fid);

	if (pep->source)
		return -FI_EOPBADSTATE;
	return fdat_addr_copy(&pep->addr, addr, len);
}

static int pep_getname(fid_t fid, void *addr, size_t *len)
{
	struct fdat_pep *pep = fdat_of(fid, struct fdat_pep, pep.fid);

	return fdat_addr_give(&pep->addr, addr, len);
}

static DAT_RETURN psp_create(struct fdat_pep *pep)
{
	DAT_CONN_QUAL qual = fdat_addr_port(&pep->addr);
	DAT_RETURN rc;

	if (qual)
		return dat_psp_create(pep->ia->handle, qual, pep->source->evd,
				      DAT_PSP_CONSUMER_FLAG, &pep->psp);
	rc = dat_psp_create_any(pep->ia->handle, &qual, pep->source->evd, DAT_PSP_CONSUMER_FLAG,
				&pep->psp);
	if (rc == DAT_SUCCESS)
		fdat_addr_set_port(&pep->addr, (uint16_t)qual);
	return rc;
}

static int pep_listen(struct fid_pep *fid)
{
	struct fdat_pep *pep = fdat_of(fid, struct fdat_pep, pep);
	int ret;

	if (!pep->eq)
		return -FI_ENOEQ;
	if (pep->source)
		return -FI_EOPBADSTATE;
	/* A request may arrive at once: a reader waits until the listener is complete. */
	pthread_mutex_lock(&pep->eq->lock);
	ret = fdat_eq_listen(pep->eq, pep, &pep->source);
	if (!ret) {
		ret = fdat_error(psp_create(pep));
		if (ret) {
			fdat_source_free(pep->eq, pep->source);
			pep->source = NULL;
		}
	}
	pthread_mutex_unlock(&pep->eq->lock);
	return ret;
}

static int pep_reject(struct fid_pep *fid, fid_t handle, const void *param, size_t len)
{
	(void)fid;
	if (!handle || handle->fclass != FI_CLASS_CONNREQ || (len && !param))
		return -FI_EINVAL;
	fdat_connreq_reject(fdat_of(handle, struct fdat_connreq, fid), param, len);
	return 0;
}

static struct fi_ops pep_fid_ops = {
	.size = sizeof(pep_fid_ops),
	.close = pep_close,
	.bind = pep_bind,
	.control = pep_control,
	FDAT_NO_FID_OPS,
};

static struct fi_ops_ep pep_ops = {
	.size = sizeof(pep_ops),
	.cancel = fdat_no_cancel,
	.getopt = pep_getopt,
	.setopt = fdat_no_setopt,
	.tx_ctx = fdat_no_tx_ctx,
	.rx_ctx = fdat_no_rx_ctx,
	.rx_size_left = fdat_no_size_left,
	.tx_size_left = fdat_no_size_left,
};

static struct fi_ops_cm pep_cm_ops = {
	.size = sizeof(pep_cm_ops),
	.setname = pep_setname,
	.getname = pep_getname,
	.getpeer = fdat_no_getpeer,
	.connect = fdat_no_connect,
	.listen = pep_listen,
	.accept = fdat_no_accept,
	.reject = pep_reject,
	.shutdown = fdat_no_shutdown,
	.join = fdat_no_join,
};

/* Take the address that the program asks for, or one of the adapter. */
static int pep_address(struct fdat_pep *pep)
{
	const union fdat_addr *own = fdat_ia_address(pep->ia, AF_UNSPEC);

	if (pep->info->src_addr)
		return fdat_addr_copy(&pep->addr, pep->info->src_addr, pep->info->src_addrlen);
	if (!own)
		return -FI_EADDRNOTAVAIL;
	pep->addr = *own;
	return 0;
}

static int pep_init(struct fdat_pep *pep, const struct fi_info *info)
{
	int ret;

	pep->info = fi_dupinfo(info);
	if (!pep->info)
		return -FI_ENOMEM;
	ret = fdat_ia_get(info->domain_attr->name, &pep->ia);
	if (ret)
		goto err_info;
	ret = pep_address(pep);
	if (ret)
		goto err_ia;
	return 0;

err_ia:
	fdat_ia_put(pep->ia);
err_info:
	fi_freeinfo(pep->info);
	return ret;
}

int fdat_pep_open(struct fid_fabric *fabric, struct fi_info *info, struct fid_pep **out,
		  void *context)
{
	struct fdat_pep *pep;
	int ret;

	if (!info || !info->domain_attr || !info->domain_attr->name)
		return -FI_EINVAL;
	pep = calloc(1, sizeof(*pep));
	if (!pep)
		return -FI_ENOMEM;
	ret = pep_init(pep, info);
	if (ret) {
		free(pep);
		return ret;
	}
	pep->backlog = BACKLOG;
	pep->fabric = fdat_of(fabric, struct fdat_fabric, fabric);
	fdat_ref(&pep->fabric->refs);
	pep->pep.fid.fclass = FI_CLASS_PEP;
	pep->pep.fid.context = context;
	pep->pep.fid.ops = &pep_fid_ops;
	pep->pep.ops = &pep_ops;
	pep->pep.cm = &pep_cm_ops;
	*out = &pep->pep;
	return 0;
}
