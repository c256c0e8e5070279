/* SPDX-License-Identifier: GPL-2.0 */
/* The verbs transport, for its own files. */
#ifndef _DAT_VERBS_H
#define _DAT_VERBS_H

#include "core/dat.h"

/* addr.c */
bool verbs_port_visible(const struct dat_dev *dev, u32 port, struct net *net);
void verbs_addr(const struct dat_dev *dev, u32 port, const struct net *net,
		sa_family_t family, struct sockaddr_storage *ss);

/* wc.c */
void verbs_complete(struct dat_conn *conn, struct ib_cq *cq, int n);

/* quirks.c */
bool verbs_driver_good(const struct ib_device *ibdev);
unsigned long verbs_quirks(const struct ib_device *ibdev);

#endif /* _DAT_VERBS_H */
