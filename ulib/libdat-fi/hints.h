/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Copyright (c) The dat authors */
/* Attributes that the endpoints of all adapters have, and their comparison with hints. */
#ifndef FDAT_HINTS_H
#define FDAT_HINTS_H

#include "fdat.h"

#define FDAT_FABRIC		"dat"
/* lo0 and devices cannot connect to each other, so they are two fabrics. */
#define FDAT_FABRIC_LOCAL	"dat-local"
#define FDAT_PROTO_LOCAL	((1U << 31) | 0xda7)

#define FDAT_TX_CAPS		(FI_MSG | FI_RMA | FI_SEND | FI_READ | FI_WRITE)
#define FDAT_RX_CAPS		(FI_MSG | FI_RMA | FI_RECV | FI_REMOTE_READ | FI_REMOTE_WRITE)
#define FDAT_DOMAIN_CAPS	(FI_LOCAL_COMM | FI_REMOTE_COMM)
#define FDAT_TX_FLAGS		(FI_COMPLETION | FI_INJECT | FI_INJECT_COMPLETE | \
				 FI_TRANSMIT_COMPLETE)
#define FDAT_MR_MODE		(FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY)

/*
 * Names that libfabric 2 has deprecated, so that the use of one is a warning there: FI_MR_BASIC,
 * FI_LOCAL_MR and FI_ORDER_STRICT.
 */
#define FDAT_MR_BASIC		(1 << 0)
#define FDAT_LOCAL_MR		(1ULL << 55)
#define FDAT_COMP_ORDER		0x1ff

/*
 * A connection delivers messages and writes in the order of the posts, and the peer carries out
 * reads in this order.  A write or a send may overtake a read before it.  There are no atomics to
 * put in order, but ofi_rxm passes on what a program that uses its own asks for.
 */
#define FDAT_MSG_ORDER		(FI_ORDER_RAR | FI_ORDER_RAW | FI_ORDER_RAS | FI_ORDER_WAW | \
				 FI_ORDER_WAS | FI_ORDER_SAW | FI_ORDER_SAS | FI_ORDER_RMA_RAR | \
				 FI_ORDER_RMA_RAW | FI_ORDER_RMA_WAW | FI_ORDER_ATOMIC_RAR | \
				 FI_ORDER_ATOMIC_RAW | FI_ORDER_ATOMIC_WAW)

/**
 * fdat_info_new - describe an adapter
 * @ia: the adapter
 * @addr: its address
 *
 * Return: all that the adapter can do, or NULL if memory is short.
 */
struct fi_info *fdat_info_new(const struct fdat_ia *ia, const union fdat_addr *addr);

/**
 * fdat_hints_check - compare hints with what an adapter can do
 * @ia: the adapter
 * @info: all that it can do
 * @hints: what the program asks for
 * @version: version of the API
 *
 * Return: 0, or -FI_ENODATA after the reason was logged.
 */
int fdat_hints_check(const struct fdat_ia *ia, const struct fi_info *info,
		     const struct fi_info *hints, uint32_t version);

/**
 * fdat_hints_apply - reduce the description of an adapter to what the program asks for
 * @info: all that the adapter can do
 * @hints: hints that fdat_hints_check() has accepted
 * @version: version of the API
 */
void fdat_hints_apply(struct fi_info *info, const struct fi_info *hints, uint32_t version);

#endif /* FDAT_HINTS_H */
