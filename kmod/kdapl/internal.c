// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* Functions that dat.ko exports to dat_rsm.ko and that are not part of kDAPL; see internal.h. */
#include <linux/string.h>

#include "core/dat.h"
#include "core/event/evd.h"
#include "core/mem/lmr.h"
#include "core/xport.h"
#include "kdapl/kdapl.h"

static_assert(KDAT_MAX_EVD_QLEN == DAT_MAX_EVD_QLEN);

int kdat_adapter_next(struct net *net, u64 *cursor, char *name, bool *local)
{
	struct dat_dev_entry entry;
	int ret = dat_dev_next(net, cursor, &entry, NULL);

	if (ret)
		return ret;
	strscpy(name, entry.name, DAT_NAME_SIZE);
	*local = entry.local;
	return 0;
}
EXPORT_SYMBOL_DAT_INTERNAL(kdat_adapter_next);

bool kdat_adapter_present(struct net *net, const char *name)
{
	u32 port;
	struct dat_dev *dev = dat_dev_find(name, net, &port, NULL);

	if (IS_ERR(dev))
		return false;
	dat_dev_put(dev);
	return true;
}
EXPORT_SYMBOL_DAT_INTERNAL(kdat_adapter_present);

int kdat_adapter_find(struct net *net, const char *name, struct kdat_adapter *out)
{
	struct dat_limits limits;
	struct dat_port port;
	int ret = dat_dev_query(name, net, &limits, &port);

	if (ret)
		return ret;
	if (out->name != name)
		strscpy(out->name, name, sizeof(out->name));
	out->max_mr_size = limits.max_mr_size;
	out->max_mr = limits.max_mr;
	out->max_qp = limits.max_qp;
	out->active = port.active;
	return 0;
}
EXPORT_SYMBOL_DAT_INTERNAL(kdat_adapter_find);

/**
 * kdat_ia_traits() - query the properties of an open adapter
 * @ia: handle of the IA
 * @out: properties of the adapter
 *
 * Context: may sleep.  Return: DAT_SUCCESS, DAT_INVALID_HANDLE, or another error of kdat_ia_get().
 */
DAT_RETURN kdat_ia_traits(DAT_IA_HANDLE ia, struct kdat_ia_traits *out)
{
	struct kdat_ia *kia = kdat_ia_get(ia);
	const struct dat_limits *limits;

	if (IS_ERR(kia))
		return kdat_lookup_error(PTR_ERR(kia), KDAT_BAD(IA));
	limits = &kia->ia->dev->limits;
	out->addr = kia->addr;
	out->reads = min(limits->read_in, limits->read_out);
	out->iwarp = kia->ia->iwarp;
	out->open_access = kia->ia->dev->quirks & DAT_QUIRK_OPEN_ACCESS;
	kdat_ia_done(kia);
	return DAT_SUCCESS;
}
EXPORT_SYMBOL_DAT_INTERNAL(kdat_ia_traits);

DAT_RETURN kdat_evd_set_gate(DAT_EVD_HANDLE evd_handle, const struct dat_gate *gate)
{
	struct dat_evd *evd = kdat_get(evd_handle, DAT_HANDLE_TYPE_EVD);

	if (IS_ERR(evd))
		return kdat_lookup_error(PTR_ERR(evd), KDAT_BAD(EVD_CR));
	evd->gate = gate;
	kdat_done(&evd->obj);
	return DAT_SUCCESS;
}
EXPORT_SYMBOL_DAT_INTERNAL(kdat_evd_set_gate);

static int internal_lmr_make(struct dat_pz *pz, u64 addr, u64 length, u32 priv,
			     DAT_LMR_HANDLE *handle, u32 *rkey)
{
	const struct dat_lmr_user user = {};
	struct dat_lmr *lmr = dat_lmr_create(pz, addr, length, priv, &user);

	if (IS_ERR(lmr))
		return PTR_ERR(lmr);
	*handle = kdat_handle(&lmr->obj);
	*rkey = lmr->rkey;
	dat_obj_put(&lmr->obj);
	return 0;
}

int kdat_lmr_of_user(DAT_PZ_HANDLE pz_handle, u64 addr, u64 length, DAT_MEM_PRIV_FLAGS priv,
		     DAT_LMR_HANDLE *lmr, u32 *rkey)
{
	struct dat_pz *pz = kdat_get(pz_handle, DAT_HANDLE_TYPE_PZ);
	struct dat_ia *ia;
	bool too_long;
	int ret;

	if (IS_ERR(pz))
		return -ENODEV;
	ia = pz->obj.ia;
	too_long = length > ia->dev->limits.max_mr_size;
	/* Release ia->sem during the page faults, which the process can delay without limit. */
	dat_ia_unlock(ia);
	ret = too_long ? -EMSGSIZE : dat_ia_pin_begin(ia, addr, length, priv);
	if (!ret) {
		ret = internal_lmr_make(pz, addr, length, priv, lmr, rkey);
		dat_ia_pin_end(ia);
	}
	/* Drop the references to the zone and to the IA that kdat_get() took. */
	dat_obj_put(&pz->obj);
	dat_ia_put(ia);
	return ret;
}
EXPORT_SYMBOL_DAT_INTERNAL(kdat_lmr_of_user);
