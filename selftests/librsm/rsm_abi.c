// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* rsmapi.h: layouts and values that existing programs have been compiled with. */
#include <rdma/dat_rsm.h>
#include <rsmapi.h>

#include "kselftest_harness.h"

#define SIZE(type, size) _Static_assert(sizeof(type) == (size), "size of " #type)
#define AT(type, field, offset) \
	_Static_assert(offsetof(type, field) == (offset), #type "." #field)
#define SAME(a, b) _Static_assert((a) == (b), #a)

SIZE(off_t, 8);
SIZE(offset_t, 8);
SIZE(uint_t, 4);
SIZE(ulong_t, 8);
SIZE(rsm_addr_t, 8);
SIZE(rsm_node_id_t, 4);
SIZE(rsm_memseg_id_t, 4);
SIZE(rsm_permission_t, 4);
SIZE(rsmapi_controller_handle_t, 8);
SIZE(rsm_memseg_export_handle_t, 8);
SIZE(rsm_memseg_import_handle_t, 8);
SIZE(rsm_localmemory_handle_t, 8);

SIZE(rsmapi_controller_attr_t, 64);
AT(rsmapi_controller_attr_t, attr_direct_access_sizes, 0);
AT(rsmapi_controller_attr_t, attr_atomic_sizes, 4);
AT(rsmapi_controller_attr_t, attr_page_size, 8);
AT(rsmapi_controller_attr_t, attr_max_export_segment_size, 16);
AT(rsmapi_controller_attr_t, attr_tot_export_segment_size, 24);
AT(rsmapi_controller_attr_t, attr_max_export_segments, 32);
AT(rsmapi_controller_attr_t, attr_max_import_map_size, 40);
AT(rsmapi_controller_attr_t, attr_tot_import_map_size, 48);
AT(rsmapi_controller_attr_t, attr_max_import_segments, 56);

SIZE(rsmapi_access_entry_t, 8);
AT(rsmapi_access_entry_t, ae_node, 0);
AT(rsmapi_access_entry_t, ae_permission, 4);

SIZE(rsmapi_barrier_t, 24);
AT(rsmapi_barrier_t, seg, 0);
AT(rsmapi_barrier_t, gnum, 8);
AT(rsmapi_barrier_t, privdata, 16);

SIZE(rsm_iovec_t, 40);
AT(rsm_iovec_t, io_type, 0);
AT(rsm_iovec_t, local.handle, 8);
AT(rsm_iovec_t, local.vaddr, 8);
AT(rsm_iovec_t, local_offset, 16);
AT(rsm_iovec_t, remote_offset, 24);
AT(rsm_iovec_t, transfer_length, 32);

SIZE(rsm_scat_gath_t, 48);
AT(rsm_scat_gath_t, local_nodeid, 0);
AT(rsm_scat_gath_t, io_request_count, 8);
AT(rsm_scat_gath_t, io_residual_count, 16);
AT(rsm_scat_gath_t, flags, 24);
AT(rsm_scat_gath_t, remote_handle, 32);
AT(rsm_scat_gath_t, iovec, 40);

SIZE(rsm_topology_hdr_t, 8);
AT(rsm_topology_hdr_t, local_nodeid, 0);
AT(rsm_topology_hdr_t, local_cntlr_count, 4);
SIZE(rsm_connections_hdr_t, 272);
AT(rsm_connections_hdr_t, cntlr_name, 0);
AT(rsm_connections_hdr_t, local_hwaddr, 256);
AT(rsm_connections_hdr_t, remote_cntlr_count, 264);
SIZE(rsm_remote_cntlr_t, 280);
AT(rsm_remote_cntlr_t, remote_nodeid, 0);
AT(rsm_remote_cntlr_t, remote_cntlrname, 4);
AT(rsm_remote_cntlr_t, remote_hwaddr, 264);
AT(rsm_remote_cntlr_t, connection_state, 272);
AT(rsm_connections_t, remote_cntlr, 272);
AT(rsm_topology_t, connections, 8);

SAME(MAXNAMELEN, 256);
SAME(RSM_VERSION, 5);
SAME(RSM_LIB_VERSION, 1);
SAME(RSM_MAP_NONE, 0);
SAME(RSM_MAP_FIXED, 1);
SAME(RSM_MAP_RESERVED, 2);
SAME(RSM_BARRIER_SEGMENT, 0x01);
SAME(RSM_BARRIER_NODE, 0x02);
SAME(RSM_BARRIER_SEGMENT_THREAD, 0x11);
SAME(RSM_BARRIER_NODE_THREAD, 0x12);
SAME(RSM_BAR_DEFAULT, RSM_BARRIER_NODE);
SAME(RSM_BARRIER_MODE_EXPLICIT, 0);
SAME(RSM_BARRIER_MODE_IMPLICIT, 1);
SAME(RSM_DAS8, 1);
SAME(RSM_DAS16, 2);
SAME(RSM_DAS32, 4);
SAME(RSM_DAS64, 8);
SAME(RSM_ALLOW_REBIND, 0x01);
SAME(RSM_CREATE_SEG_DONTWAIT, 0x02);
SAME(RSM_LOCK_OPS, 0x04);
SAME(RSM_HANDLE_TYPE, 1);
SAME(RSM_VA_TYPE, 2);
SAME(RSM_IMPLICIT_SIGPOST, 0x01);
SAME(RSM_SIGPOST_NO_ACCUMULATE, 0x02);
SAME(RSM_SIG_POST_NO_ACCUMULATE, 0x02);
SAME(RSM_PERM_NONE, 0);
SAME(RSM_PERM_READ, 0400);
SAME(RSM_PERM_WRITE, 0200);
SAME(RSM_PERM_RDWR, 0600);
SAME(RSM_MAX_SGIOREQS, 16);
SAME(RSM_CONNECTION_ACTIVE, 3);
SAME(RSM_MAX_NODE, 64);
SAME(RSM_MAX_CTRL, 32);
SAME(RSM_SUCCESS, 0);
/*
 * The error codes are numbered in sequence.  An inserted or missing code would change the codes
 * after it.
 */
SAME(RSMERR_BAD_ADDR, 16);
SAME(RSMERR_INSUFFICIENT_MEM, 32);
SAME(RSMERR_SEG_NOT_CONNECTED, 45);
SAME(RSMERR_INTERNAL_ERROR, 100);
SAME(RSMERR_BAD_ARGS_ERRORS, 117);
SAME(RSMERR_QUEUE_FULL, 134);

/*
 * When the kernel returns one of these values, the library returns the same value.  So the kernel
 * and the library must define equal values.
 */
SAME(DAT_RSM_BAD_CTLR, RSMERR_BAD_CTLR_HNDL);
SAME(DAT_RSM_CTLR_NOT_PRESENT, RSMERR_CTLR_NOT_PRESENT);
SAME(DAT_RSM_BAD_SEG, RSMERR_BAD_SEG_HNDL);
SAME(DAT_RSM_ALREADY_PUBLISHED, RSMERR_SEG_ALREADY_PUBLISHED);
SAME(DAT_RSM_NOT_PUBLISHED, RSMERR_SEG_NOT_PUBLISHED);
SAME(DAT_RSM_NOT_PUBLISHED_TO_NODE, RSMERR_SEG_NOT_PUBLISHED_TO_NODE);
SAME(DAT_RSM_NOT_CREATOR, RSMERR_NOT_CREATOR);
SAME(DAT_RSM_BAD_SGIO, RSMERR_BAD_SGIO);
SAME(DAT_RSM_BAD_LOCALMEM, RSMERR_BAD_LOCALMEM_HNDL);
SAME(DAT_RSM_BAD_ADDR, RSMERR_BAD_ADDR);
SAME(DAT_RSM_BAD_ALIGNMENT, RSMERR_BAD_MEM_ALIGNMENT);
SAME(DAT_RSM_BAD_OFFSET, RSMERR_BAD_OFFSET);
SAME(DAT_RSM_BAD_LENGTH, RSMERR_BAD_LENGTH);
SAME(DAT_RSM_BAD_ACL, RSMERR_BAD_ACL);
SAME(DAT_RSM_RESERVED_SEGID, RSMERR_RESERVED_SEGID);
SAME(DAT_RSM_SEGID_IN_USE, RSMERR_SEGID_IN_USE);
SAME(DAT_RSM_PERM_DENIED, RSMERR_PERM_DENIED);
SAME(DAT_RSM_LOCKS_NOT_SUPPORTED, RSMERR_LOCKS_NOT_SUPPORTED);
SAME(DAT_RSM_REBIND_NOT_ALLOWED, RSMERR_REBIND_NOT_ALLOWED);
SAME(DAT_RSM_NO_RESOURCES, RSMERR_INSUFFICIENT_RESOURCES);
SAME(DAT_RSM_NO_MEM, RSMERR_INSUFFICIENT_MEM);
SAME(DAT_RSM_UNREACHABLE, RSMERR_REMOTE_NODE_UNREACHABLE);
SAME(DAT_RSM_CONN_ABORTED, RSMERR_CONN_ABORTED);
SAME(DAT_RSM_INTERRUPTED, RSMERR_INTERRUPTED);
SAME(DAT_RSM_TIMEOUT, RSMERR_TIMEOUT);
SAME(DAT_RSM_REBINDABLE, RSM_ALLOW_REBIND);
SAME(DAT_RSM_DONT_WAIT, RSM_CREATE_SEG_DONTWAIT);
SAME(DAT_RSM_LOCK_OPS, RSM_LOCK_OPS);
SAME(DAT_RSM_SIGPOST, RSM_IMPLICIT_SIGPOST);
SAME(DAT_RSM_NO_ACCUMULATE, RSM_SIGPOST_NO_ACCUMULATE);
SAME(DAT_RSM_READ, RSM_PERM_READ);
SAME(DAT_RSM_WRITE, RSM_PERM_WRITE);
SAME(DAT_RSM_MAX_IO, RSM_MAX_SGIOREQS);
SAME(DAT_RSM_MAX_NODE, RSM_MAX_NODE);

/* Compile-time check that every function listed below has the type that programs expect. */
static const struct {
	int (*get_controller)(char *, rsmapi_controller_handle_t *);
	int (*export_create)(rsmapi_controller_handle_t, rsm_memseg_export_handle_t *, void *,
			     size_t, unsigned int);
	int (*rebind)(rsm_memseg_export_handle_t, void *, int64_t, size_t);
	int (*publish)(rsm_memseg_export_handle_t, uint32_t *, rsmapi_access_entry_t *,
		       unsigned int);
	int (*connect)(rsmapi_controller_handle_t, uint32_t, uint32_t, uint32_t,
		       rsm_memseg_import_handle_t *);
	int (*map)(rsm_memseg_import_handle_t, void **, rsm_attribute_t, uint32_t, off_t, size_t);
	int (*put8)(rsm_memseg_import_handle_t, off_t, uint8_t *, unsigned long);
	int (*get64)(rsm_memseg_import_handle_t, off_t, uint64_t *, unsigned long);
	int (*putv)(rsm_scat_gath_t *);
	int (*local)(rsmapi_controller_handle_t, rsm_localmemory_handle_t *, char *, size_t);
	int (*pollfd)(struct pollfd *, nfds_t, int, int *);
	void (*free_topology)(rsm_topology_t *);
} types __attribute__((unused)) = {
	rsm_get_controller, rsm_memseg_export_create, rsm_memseg_export_rebind,
	rsm_memseg_export_publish, rsm_memseg_import_connect, rsm_memseg_import_map,
	rsm_memseg_import_put8, rsm_memseg_import_get64, rsm_memseg_import_putv,
	rsm_create_localmemory_handle, rsm_intr_signal_wait_pollfd,
	rsm_free_interconnect_topology,
};

TEST(layouts_and_values_are_those_of_rsmapi)
{
	/* This test passes if the file compiles. */
	EXPECT_EQ(16, RSM_MAX_SGIOREQS);
}

TEST_HARNESS_MAIN
