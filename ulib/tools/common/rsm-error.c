// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/* Descriptions of the errors of RSMAPI, because the API itself has none. */
#define _GNU_SOURCE
#include <unistd.h>

#include <rsmapi.h>

#include "rsm-error.h"

#define DEVICE	"/dev/rsm"

static const char *const names[] = {
	[RSMERR_BAD_LIBRARY_VERSION] = "RSMERR_BAD_LIBRARY_VERSION",
	[RSMERR_BAD_TOPOLOGY_PTR] = "RSMERR_BAD_TOPOLOGY_PTR",
	[RSMERR_BAD_CTLR_HNDL] = "RSMERR_BAD_CTLR_HNDL",
	[RSMERR_CTLR_NOT_PRESENT] = "RSMERR_CTLR_NOT_PRESENT",
	[RSMERR_BAD_SEG_HNDL] = "RSMERR_BAD_SEG_HNDL",
	[RSMERR_SEG_ALREADY_PUBLISHED] = "RSMERR_SEG_ALREADY_PUBLISHED",
	[RSMERR_SEG_NOT_PUBLISHED] = "RSMERR_SEG_NOT_PUBLISHED",
	[RSMERR_SEG_NOT_PUBLISHED_TO_NODE] = "RSMERR_SEG_NOT_PUBLISHED_TO_NODE",
	[RSMERR_SEG_ALREADY_MAPPED] = "RSMERR_SEG_ALREADY_MAPPED",
	[RSMERR_SEG_STILL_MAPPED] = "RSMERR_SEG_STILL_MAPPED",
	[RSMERR_SEG_NOT_MAPPED] = "RSMERR_SEG_NOT_MAPPED",
	[RSMERR_NOT_CREATOR] = "RSMERR_NOT_CREATOR",
	[RSMERR_BAD_BARRIER_PTR] = "RSMERR_BAD_BARRIER_PTR",
	[RSMERR_BAD_SGIO] = "RSMERR_BAD_SGIO",
	[RSMERR_BAD_LOCALMEM_HNDL] = "RSMERR_BAD_LOCALMEM_HNDL",
	[RSMERR_BAD_ADDR] = "RSMERR_BAD_ADDR",
	[RSMERR_BAD_MEM_ALIGNMENT] = "RSMERR_BAD_MEM_ALIGNMENT",
	[RSMERR_BAD_OFFSET] = "RSMERR_BAD_OFFSET",
	[RSMERR_MISALIGNED_OFFSET] = "RSMERR_MISALIGNED_OFFSET",
	[RSMERR_BAD_LENGTH] = "RSMERR_BAD_LENGTH",
	[RSMERR_BAD_ACL] = "RSMERR_BAD_ACL",
	[RSMERR_BAD_SEGID] = "RSMERR_BAD_SEGID",
	[RSMERR_RESERVED_SEGID] = "RSMERR_RESERVED_SEGID",
	[RSMERR_SEGID_IN_USE] = "RSMERR_SEGID_IN_USE",
	[RSMERR_BAD_MODE] = "RSMERR_BAD_MODE",
	[RSMERR_BAD_PERMS] = "RSMERR_BAD_PERMS",
	[RSMERR_PERM_DENIED] = "RSMERR_PERM_DENIED",
	[RSMERR_LOCKS_NOT_SUPPORTED] = "RSMERR_LOCKS_NOT_SUPPORTED",
	[RSMERR_LOCKS_NOT_ENABLED] = "RSMERR_LOCKS_NOT_ENABLED",
	[RSMERR_REBIND_NOT_ALLOWED] = "RSMERR_REBIND_NOT_ALLOWED",
	[RSMERR_INSUFFICIENT_RESOURCES] = "RSMERR_INSUFFICIENT_RESOURCES",
	[RSMERR_INSUFFICIENT_MEM] = "RSMERR_INSUFFICIENT_MEM",
	[RSMERR_MAP_FAILED] = "RSMERR_MAP_FAILED",
	[RSMERR_POLLFD_IN_USE] = "RSMERR_POLLFD_IN_USE",
	[RSMERR_BARRIER_UNINITIALIZED] = "RSMERR_BARRIER_UNINITIALIZED",
	[RSMERR_BARRIER_OPEN_FAILED] = "RSMERR_BARRIER_OPEN_FAILED",
	[RSMERR_BARRIER_NOT_OPENED] = "RSMERR_BARRIER_NOT_OPENED",
	[RSMERR_BARRIER_FAILURE] = "RSMERR_BARRIER_FAILURE",
	[RSMERR_REMOTE_NODE_UNREACHABLE] = "RSMERR_REMOTE_NODE_UNREACHABLE",
	[RSMERR_CONN_ABORTED] = "RSMERR_CONN_ABORTED",
	[RSMERR_INTERRUPTED] = "RSMERR_INTERRUPTED",
	[RSMERR_TIMEOUT] = "RSMERR_TIMEOUT",
	[RSMERR_BAD_APPID] = "RSMERR_BAD_APPID",
	[RSMERR_BAD_CONF] = "RSMERR_BAD_CONF",
	[RSMERR_SEG_NOT_CONNECTED] = "RSMERR_SEG_NOT_CONNECTED",
};

#define NAMES	((int)(sizeof(names) / sizeof(names[0])))

const char *rsm_error_name(int ret)
{
	return ret > 0 && ret < NAMES && names[ret] ? names[ret] : "an unknown RSMERR";
}

/*
 * Returns the reason why there is no controller.  If the device is missing, no controller exists.
 */
static const char *no_controller(void)
{
	if (access(DEVICE, F_OK))
		return DEVICE " is missing: load the driver with 'modprobe dat_rsm' as root";
	if (access(DEVICE, R_OK | W_OK))
		return "no permission to open " DEVICE ": add the user to the group 'rdma'";
	return "no such controller (they are called loopback, rdma0, rdma1, ...), or it does not lead to that node: see 'rsm-nodes status'";
}

const char *rsm_error_advice(int ret)
{
	switch (ret) {
	case RSMERR_BAD_LIBRARY_VERSION:
		return "library and driver are of different releases";
	case RSMERR_CTLR_NOT_PRESENT:
		return no_controller();
	case RSMERR_SEG_NOT_PUBLISHED:
		return "nobody exports that there, on a controller of the same interconnect";
	case RSMERR_SEG_NOT_PUBLISHED_TO_NODE:
		return "the exporter's access list does not have this node: see 'rsm-nodes show' for its id";
	case RSMERR_PERM_DENIED:
		return "the exporter does not allow that to you: its access list says so, or its umask";
	case RSMERR_INSUFFICIENT_MEM:
		return "not enough memory, or too little may be locked: see ulimit -l";
	case RSMERR_INSUFFICIENT_RESOURCES:
		return "a limit is reached: see Limits in rsm(7)";
	case RSMERR_REMOTE_NODE_UNREACHABLE:
		return "that node does not answer, or has no line in rsm.nodes(5): see 'rsm-nodes status'";
	case RSMERR_CONN_ABORTED:
		return "the exporter has gone";
	case RSMERR_BAD_CONF:
		return "no cluster key, or the other node has another one: see 'rsm-nodes key' in rsm-nodes(8)";
	default:
		return "see rsm(7)";
	}
}
