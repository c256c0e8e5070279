/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Copyright (c) The dat authors */
/*
 * RSMAPI: Remote Shared Memory.
 *
 * A program exports a part of its memory as a segment and publishes the segment under a number.
 * Programs on the same node and on other nodes import the segment.  They then read and write the
 * segment without help from the exporter.  The manual pages describe the functions; start with
 * rsm(7).
 *
 * Every function returns RSM_SUCCESS or one of the RSMERR_ numbers.  The functions do not report
 * errors by errno.  If off_t has 32 bits by default, build with _FILE_OFFSET_BITS=64.
 */
#ifndef _RSMAPI_H
#define _RSMAPI_H

#include <poll.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <dat/dat_version.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Types that RSMAPI needs.  Other systems define them in <sys/types.h> and <sys/param.h>. */
#ifndef __caddr_t_defined
typedef char *caddr_t;
#define __caddr_t_defined
#endif
#ifndef MAXNAMELEN
#define MAXNAMELEN	256
#endif
typedef unsigned int	uint_t;
typedef unsigned long	ulong_t;
typedef int64_t		offset_t;

typedef uint64_t	rsm_addr_t;
typedef uint32_t	rsm_node_id_t;
typedef uint32_t	rsm_memseg_id_t;
typedef uint32_t	rsm_permission_t;
typedef uint16_t	rsm_gnum_t;

/* Handles. */
typedef void	*rsmapi_controller_handle_t;
typedef void	*rsm_memseg_export_handle_t;
typedef void	*rsm_memseg_import_handle_t;
typedef void	*rsm_localmemory_handle_t;

#define RSM_VERSION		5
#define RSM_LIB_VERSION		1

/*
 * RSM_MAX_NODE: largest node id.  MAX_NODES: largest number of entries of an access list.
 * RSM_MAX_CTRL: maximum number of controllers of a node.
 */
#define RSM_MAX_NODE		64
#define MAX_NODES		RSM_MAX_NODE
#define RSM_MAX_CTRL		32

/* Permissions for rsm_memseg_import_connect() and rsm_memseg_import_map(). */
#define RSM_PERM_NONE		0
#define RSM_PERM_READ		0400
#define RSM_PERM_WRITE		0200
#define RSM_PERM_RDWR		(RSM_PERM_READ | RSM_PERM_WRITE)

/* Flags of rsm_memseg_export_create(). */
#define RSM_ALLOW_REBIND	0x01
#define RSM_CREATE_SEG_DONTWAIT	0x02
#define RSM_LOCK_OPS		0x04

/* rsm_iovec_t.io_type */
#define RSM_HANDLE_TYPE		0x01
#define RSM_VA_TYPE		0x02

/* Flags in rsm_scat_gath_t.flags.  RSM_SIGPOST_NO_ACCUMULATE is also for rsm_intr_signal_post(). */
#define RSM_IMPLICIT_SIGPOST		0x01
#define RSM_SIGPOST_NO_ACCUMULATE	0x02
#define RSM_SIG_POST_NO_ACCUMULATE	RSM_SIGPOST_NO_ACCUMULATE

#define RSM_MAX_SGIOREQS	16	/* of one putv or getv */
/* Value of connection_state in rsm_remote_cntlr_t. */
#define RSM_CONNECTION_ACTIVE	3

typedef enum {
	RSM_MAP_NONE		= 0x0,
	RSM_MAP_FIXED		= 0x1,
	RSM_MAP_RESERVED	= 0x2
} rsm_attribute_t;

typedef enum {
	RSM_BARRIER_SEGMENT		= 0x01,
	RSM_BARRIER_NODE		= 0x02,
	RSM_BARRIER_SEGMENT_THREAD	= 0x11,
	RSM_BARRIER_NODE_THREAD		= 0x12
} rsm_barrier_type_t;

#define RSM_BAR_DEFAULT		RSM_BARRIER_NODE

typedef enum {
	RSM_BARRIER_MODE_EXPLICIT	= 0,
	RSM_BARRIER_MODE_IMPLICIT	= 1
} rsm_barrier_mode_t;

/* Bits of attr_direct_access_sizes and attr_atomic_sizes: bit n is for accesses of 2^n bytes. */
typedef enum {
	RSM_DAS8	= 1,
	RSM_DAS16	= 2,
	RSM_DAS32	= 4,
	RSM_DAS64	= 8
} rsm_access_size_t;

/*
 * Attributes of a controller.  In attr_page_size, bit n is for pages of 2^n KiB.  For sizes and
 * numbers of segments, 0 means no limit.
 */
typedef struct {
	uint_t	attr_direct_access_sizes;
	uint_t	attr_atomic_sizes;
	size_t	attr_page_size;
	size_t	attr_max_export_segment_size;
	size_t	attr_tot_export_segment_size;
	ulong_t	attr_max_export_segments;
	size_t	attr_max_import_map_size;
	size_t	attr_tot_import_map_size;
	ulong_t	attr_max_import_segments;
} rsmapi_controller_attr_t;

/*
 * Entry of an access list.  ae_permission has three octal digits: for the exporter's user, for the
 * exporter's group, and for others.  In a digit, 4 means read and 2 means write.
 */
typedef struct {
	rsm_node_id_t		ae_node;
	rsm_permission_t	ae_permission;
} rsmapi_access_entry_t;

/* A barrier.  The caller provides the memory; rsm_memseg_import_init_barrier() fills it in. */
typedef struct {
	void		*seg;
	uint16_t	gnum;
	void		*privdata;
} rsmapi_barrier_t;

typedef struct {
	int	io_type;
	union {
		rsm_localmemory_handle_t	handle;
		caddr_t				vaddr;
	} local;
	size_t	local_offset;
	size_t	remote_offset;
	size_t	transfer_length;
} rsm_iovec_t;

typedef struct {
	rsm_node_id_t			local_nodeid;
	ulong_t				io_request_count;
	ulong_t				io_residual_count;
	uint_t				flags;
	rsm_memseg_import_handle_t	remote_handle;
	rsm_iovec_t			*iovec;
} rsm_scat_gath_t;

typedef struct {
	rsm_node_id_t	local_nodeid;
	uint_t		local_cntlr_count;
} rsm_topology_hdr_t;

typedef struct {
	char		cntlr_name[MAXNAMELEN];
	rsm_addr_t	local_hwaddr;
	int		remote_cntlr_count;
} rsm_connections_hdr_t;

typedef struct {
	rsm_node_id_t	remote_nodeid;
	char		remote_cntlrname[MAXNAMELEN];
	rsm_addr_t	remote_hwaddr;
	uint_t		connection_state;
} rsm_remote_cntlr_t;

/* The array remote_cntlr has hdr.remote_cntlr_count entries. */
typedef struct {
	rsm_connections_hdr_t	hdr;
	rsm_remote_cntlr_t	remote_cntlr[1];
} rsm_connections_t;

/* The array connections has topology_hdr.local_cntlr_count entries. */
typedef struct {
	rsm_topology_hdr_t	topology_hdr;
	rsm_connections_t	*connections[1];
} rsm_topology_t;

#define RSM_SUCCESS				0
#define RSMERR_BAD_LIBRARY_VERSION		1
#define RSMERR_BAD_TOPOLOGY_PTR			2
#define RSMERR_BAD_CTLR_HNDL			3
#define RSMERR_CTLR_NOT_PRESENT			4
#define RSMERR_BAD_SEG_HNDL			5
#define RSMERR_SEG_ALREADY_PUBLISHED		6
#define RSMERR_SEG_NOT_PUBLISHED		7
#define RSMERR_SEG_NOT_PUBLISHED_TO_NODE	8
#define RSMERR_SEG_ALREADY_MAPPED		9
#define RSMERR_SEG_STILL_MAPPED			10
#define RSMERR_SEG_NOT_MAPPED			11
#define RSMERR_NOT_CREATOR			12
#define RSMERR_BAD_BARRIER_PTR			13
#define RSMERR_BAD_SGIO				14
#define RSMERR_BAD_LOCALMEM_HNDL		15
#define RSMERR_BAD_ADDR				16
#define RSMERR_BAD_MEM_ALIGNMENT		17
#define RSMERR_BAD_OFFSET			18
#define RSMERR_MISALIGNED_OFFSET		19
#define RSMERR_BAD_LENGTH			20
#define RSMERR_BAD_ACL				21
#define RSMERR_BAD_SEGID			22
#define RSMERR_RESERVED_SEGID			23
#define RSMERR_SEGID_IN_USE			24
#define RSMERR_BAD_MODE				25
#define RSMERR_BAD_PERMS			26
#define RSMERR_PERM_DENIED			27
#define RSMERR_LOCKS_NOT_SUPPORTED		28
#define RSMERR_LOCKS_NOT_ENABLED		29
#define RSMERR_REBIND_NOT_ALLOWED		30
#define RSMERR_INSUFFICIENT_RESOURCES		31
#define RSMERR_INSUFFICIENT_MEM			32
#define RSMERR_MAP_FAILED			33
#define RSMERR_POLLFD_IN_USE			34
#define RSMERR_BARRIER_UNINITIALIZED		35
#define RSMERR_BARRIER_OPEN_FAILED		36
#define RSMERR_BARRIER_NOT_OPENED		37
#define RSMERR_BARRIER_FAILURE			38
#define RSMERR_REMOTE_NODE_UNREACHABLE		39
#define RSMERR_CONN_ABORTED			40
#define RSMERR_INTERRUPTED			41
#define RSMERR_TIMEOUT				42
#define RSMERR_BAD_APPID			43
#define RSMERR_BAD_CONF				44
#define RSMERR_SEG_NOT_CONNECTED		45

/* Errors of RSM drivers.  Of these errors, programs get only RSMERR_BAD_ARGS_ERRORS. */
#define RSMERR_INTERNAL_ERROR			100
#define RSMERR_BAD_DRIVER_VERSION		101
#define RSMERR_UNSUPPORTED_VERSION		102
#define RSMERR_DRIVER_NAME_IN_USE		103
#define RSMERR_DRIVER_NOT_REGISTERED		104
#define RSMERR_DRIVER_THREAD_RUNNING		105
#define RSMERR_NEED_THREAD_INIT			106
#define RSMERR_THREAD_NOT_INITED		107
#define RSMERR_CTLRS_REGISTERED			108
#define RSMERR_CTLR_NOT_REGISTERED		109
#define RSMERR_CTLR_ALREADY_REGISTERED		110
#define RSMERR_CTLR_IN_USE			111
#define RSMERR_NAME_TOO_LONG			112
#define RSMERR_SEG_PUBLISHED			113
#define RSMERR_SEG_NOT_PUBLISHED_TO_RSM_ADDR	114
#define RSMERR_SEG_IN_USE			115
#define RSMERR_BAD_SENDQ_HNDL			116
#define RSMERR_BAD_ARGS_ERRORS			117
#define RSMERR_BAD_MSTYPE			118
#define RSMERR_NO_BACKING_MEM			119
#define RSMERR_NOT_MEM				120
#define RSMERR_MEM_ALREADY_BOUND		121
#define RSMERR_MEM_NOT_BOUND			122
#define RSMERR_HANDLER_NOT_REGISTERED		123
#define RSMERR_NO_HANDLER			124
#define RSMERR_UNBIND_REBIND_NOT_ALLOWED	125
#define RSMERR_CALLBACKS_NOT_SUPPORTED		126
#define RSMERR_UNSUPPORTED_OPERATION		127
#define RSMERR_RSM_ADDR_UNREACHABLE		128
#define RSMERR_UNKNOWN_RSM_ADDR			129
#define RSMERR_BAD_BARRIER_HNDL			130
#define RSMERR_COMM_ERR_MAYBE_DELIVERED		131
#define RSMERR_COMM_ERR_NOT_DELIVERED		132
#define RSMERR_QUEUE_FENCE_UP			133
#define RSMERR_QUEUE_FULL			134

/* Controllers and topology. */
int rsm_get_controller(char *name, rsmapi_controller_handle_t *controller);
int rsm_get_controller_attr(rsmapi_controller_handle_t chdl, rsmapi_controller_attr_t *attr);
int rsm_release_controller(rsmapi_controller_handle_t chdl);
int rsm_get_interconnect_topology(rsm_topology_t **topology_data);
void rsm_free_interconnect_topology(rsm_topology_t *topology_data);
int rsm_get_segmentid_range(const char *appid, rsm_memseg_id_t *baseid, uint32_t *length);

/* Exporting. */
int rsm_memseg_export_create(rsmapi_controller_handle_t controller,
			     rsm_memseg_export_handle_t *memseg, void *vaddr, size_t length,
			     uint_t flags);
int rsm_memseg_export_destroy(rsm_memseg_export_handle_t memseg);
int rsm_memseg_export_rebind(rsm_memseg_export_handle_t memseg, void *vaddr, offset_t off,
			     size_t length);
int rsm_memseg_export_publish(rsm_memseg_export_handle_t memseg, rsm_memseg_id_t *segment_id,
			      rsmapi_access_entry_t access_list[], uint_t access_list_length);
int rsm_memseg_export_unpublish(rsm_memseg_export_handle_t memseg);
int rsm_memseg_export_republish(rsm_memseg_export_handle_t memseg,
				rsmapi_access_entry_t access_list[], uint_t access_list_length);

/* Importing. */
int rsm_memseg_import_connect(rsmapi_controller_handle_t controller, rsm_node_id_t node_id,
			      rsm_memseg_id_t segment_id, rsm_permission_t perm,
			      rsm_memseg_import_handle_t *im_memseg);
int rsm_memseg_import_disconnect(rsm_memseg_import_handle_t im_memseg);

/* Extensions of this project: the user who exported the segment. */
int rsm_linux_import_owner(rsm_memseg_import_handle_t im_memseg, uid_t *owner);
int rsm_linux_import_connect_from(rsmapi_controller_handle_t controller, rsm_node_id_t node_id,
				  rsm_memseg_id_t segment_id, uid_t owner, rsm_permission_t perm,
				  rsm_memseg_import_handle_t *im_memseg);
int rsm_memseg_import_map(rsm_memseg_import_handle_t im_memseg, void **address,
			  rsm_attribute_t attr, rsm_permission_t perm, off_t offset,
			  size_t length);
int rsm_memseg_import_unmap(rsm_memseg_import_handle_t im_memseg);

/* Reading and writing. */
int rsm_memseg_import_get8(rsm_memseg_import_handle_t im_memseg, off_t offset, uint8_t *datap,
			   ulong_t rep_cnt);
int rsm_memseg_import_get16(rsm_memseg_import_handle_t im_memseg, off_t offset, uint16_t *datap,
			    ulong_t rep_cnt);
int rsm_memseg_import_get32(rsm_memseg_import_handle_t im_memseg, off_t offset, uint32_t *datap,
			    ulong_t rep_cnt);
int rsm_memseg_import_get64(rsm_memseg_import_handle_t im_memseg, off_t offset, uint64_t *datap,
			    ulong_t rep_cnt);
int rsm_memseg_import_get(rsm_memseg_import_handle_t im_memseg, off_t offset, void *dst_addr,
			  size_t length);
int rsm_memseg_import_put8(rsm_memseg_import_handle_t im_memseg, off_t offset, uint8_t *datap,
			   ulong_t rep_cnt);
int rsm_memseg_import_put16(rsm_memseg_import_handle_t im_memseg, off_t offset, uint16_t *datap,
			    ulong_t rep_cnt);
int rsm_memseg_import_put32(rsm_memseg_import_handle_t im_memseg, off_t offset, uint32_t *datap,
			    ulong_t rep_cnt);
int rsm_memseg_import_put64(rsm_memseg_import_handle_t im_memseg, off_t offset, uint64_t *datap,
			    ulong_t rep_cnt);
int rsm_memseg_import_put(rsm_memseg_import_handle_t im_memseg, off_t offset, void *src_addr,
			  size_t length);
int rsm_memseg_import_getv(rsm_scat_gath_t *sg_io);
int rsm_memseg_import_putv(rsm_scat_gath_t *sg_io);
int rsm_create_localmemory_handle(rsmapi_controller_handle_t handle,
				  rsm_localmemory_handle_t *l_handle, caddr_t local_vaddr,
				  size_t length);
int rsm_free_localmemory_handle(rsmapi_controller_handle_t handle,
				rsm_localmemory_handle_t l_handle);

/* Barriers. */
int rsm_memseg_import_init_barrier(rsm_memseg_import_handle_t im_memseg, rsm_barrier_type_t type,
				   rsmapi_barrier_t *barrier);
int rsm_memseg_import_open_barrier(rsmapi_barrier_t *barrier);
int rsm_memseg_import_order_barrier(rsmapi_barrier_t *barrier);
int rsm_memseg_import_close_barrier(rsmapi_barrier_t *barrier);
int rsm_memseg_import_destroy_barrier(rsmapi_barrier_t *barrier);
int rsm_memseg_import_set_mode(rsm_memseg_import_handle_t memseg, rsm_barrier_mode_t mode);
int rsm_memseg_import_get_mode(rsm_memseg_import_handle_t memseg, rsm_barrier_mode_t *mode);

/* Events. */
int rsm_intr_signal_post(void *memseg, uint_t flags);
int rsm_intr_signal_wait(void *memseg, int timeout);
int rsm_intr_signal_wait_pollfd(struct pollfd fds[], nfds_t nfds, int timeout, int *numfdsp);
int rsm_memseg_get_pollfd(void *memseg, struct pollfd *fd);
int rsm_memseg_release_pollfd(void *memseg);

#ifdef __cplusplus
}
#endif

#endif /* _RSMAPI_H */
