/* SPDX-License-Identifier: ((GPL-2.0-only WITH Linux-syscall-note) OR BSD-2-Clause) */
/*
 * ioctls of /dev/rsm, the device of Remote Shared Memory.
 *
 * Rules for all of them
 * =====================
 *
 * Arguments and their sizes: as at the top of <rdma/dat_ioctl.h>.  An errno says that
 * there was no call: ENOTTY, E2BIG, EINVAL (size, a reserved field, a flag), EFAULT (the
 * argument itself).  Otherwise the ioctl returns 0 and @err says how the call went, as
 * an enum dat_rsm_err; results are valid if that is 0, or as a field's comment says.  A call
 * that fails has changed nothing, but DAT_IOC_RSM_IO, which says how far it has come.  If the
 * argument itself is taken away during the call, what was made is undone, but not what was
 * published, posted or consumed, nor are the file of an OPEN and the nodes as before.
 *
 * DAT_IOC_RSM_OPEN comes before all others but DAT_IOC_RSM_NODES, DAT_IOC_RSM_CTLR and
 * DAT_IOC_RSM_TOPOLOGY.  The file belongs to the address space that opened it; to others
 * every call fails with DAT_RSM_NOT_CREATOR.  When that address
 * space ends, by exit or by exec, so does everything made on the file, whoever else may
 * have it open.
 *
 * The file also answers three calls of <rdma/dat_ioctl.h>: DAT_IOC_ABI, to anybody; and, after
 * DAT_IOC_RSM_OPEN, DAT_IOC_POLLER_SET and DAT_IOC_POLLER_RUN, for the rings of all imports.
 * Their results are errnos as there; EINVAL also before DAT_IOC_RSM_OPEN, EPERM: another
 * address space.  Of a poller nothing but DAT_IOC_POLLER_SET, a signal, or the end of the
 * process is the end.
 *
 * A node is a network namespace.  Segment ids are those of a node, object ids those
 * of a file.
 *
 * Mapped memory
 * =============
 *
 * The status page array (struct dat_rsm_slot, read-only) has a slot for each object.  The
 * connection of an import was cut if the generation in its slot is no longer the one that
 * connecting gave; it never is that again.  One more slot, DAT_RSM_MEM_SLOT, is that of the
 * address space: its generation has changed by the time that a call returns after which memory
 * is mapped no more, or can be accessed no more, or is another one; it changes at other times,
 * too, but not with protection keys.  So what DAT_IOC_RSM_IO has transferred, and says to be
 * mapped, is memory for as long as it is what it was before that.
 *
 * The window of an import, where connecting gave one, is the segment itself, to be mapped
 * shared, whole or in part, any number of times.  After a cut it shows other memory, private
 * to the import: what is written to it is lost and nobody is told but by the generation.
 *
 * The ring of an import, of controllers that have no windows, is three regions, each mapped
 * as a whole.  Every one of them has one writer but the last:
 *
 *   submit   struct dat_rsm_submit, struct dat_rsm_entry[]    the process
 *   status   struct dat_rsm_status                            the kernel; read-only
 *   data     what is put, and what was got                    both, slot by slot
 *
 * The process copies what it puts into the data area and writes an entry that names it; where
 * the segment is and what opens it only the kernel knows.  The kernel reads an entry once
 * and checks the copy against the import.  Indices are free-running 32-bit counters, the slot
 * of an entry is "index & (entries - 1)".  Entries are carried out, and complete, in order.
 *
 *   process                                  kernel: looks
 *   -------                                  -------------
 *   write data, entry[tail]                  status.flags = 0
 *   submit.tail = tail + 1        (A)        n = submit.tail - head       (D)
 *   full barrier                  (B)        copy, check, post n entries
 *   if status.flags & NEED_KICK              if requests are under way, or the
 *     ioctl(DAT_IOC_RSM_KICK)                  poller is awake: leave
 *                                            status.flags = NEED_KICK
 *   use data of entries before               full barrier                 (E)
 *     status.done                 (F)        if submit.tail != head: again (D)
 *
 *                                            a request completes:
 *                                              status.done = its index + 1 (G)
 *                                              look
 *
 *   (A)/(D) release/acquire: the entry and its data are whole when the tail shows them.
 *   (B)/(E) store-barrier-load on both sides: either the process sees NEED_KICK and
 *       enters, or the kernel sees the new tail.  Never neither.
 *   (F)/(G) acquire/release: what was got is in the data area, and what was put has been
 *       read from there, when done shows it.
 *
 * Nobody has to enter while requests are under way, since their completion looks; nor while
 * a thread of the process is inside DAT_IOC_POLLER_RUN and awake.
 */
#ifndef _UAPI_RDMA_DAT_RSM_H
#define _UAPI_RDMA_DAT_RSM_H

#include <rdma/dat_ioctl.h>

#define DAT_RSM_CTLR_NAME	64	/* of a controller, with its NUL */
#define DAT_RSM_LOOPBACK	0	/* the controller that is always there */
#define DAT_RSM_MAX_NODE	64	/* largest node id; entries of an access list */
#define DAT_RSM_MAX_IO		16	/* entries of one DAT_IOC_RSM_IO */
#define DAT_RSM_SLOTS		4096	/* objects of a file */
#define DAT_RSM_MEM_SLOT	DAT_RSM_SLOTS	/* the slot of the address space */

/* How a call went: the numbers of RSMERR_*. */
enum dat_rsm_err {
	DAT_RSM_OK			= 0,
	DAT_RSM_BAD_CTLR		= 3,
	DAT_RSM_CTLR_NOT_PRESENT	= 4,
	DAT_RSM_BAD_SEG			= 5,
	DAT_RSM_ALREADY_PUBLISHED	= 6,
	DAT_RSM_NOT_PUBLISHED		= 7,
	DAT_RSM_NOT_PUBLISHED_TO_NODE	= 8,
	DAT_RSM_NOT_CREATOR		= 12,
	DAT_RSM_BAD_SGIO		= 14,
	DAT_RSM_BAD_LOCALMEM		= 15,
	DAT_RSM_BAD_ADDR		= 16,
	DAT_RSM_BAD_ALIGNMENT		= 17,
	DAT_RSM_BAD_OFFSET		= 18,
	DAT_RSM_BAD_LENGTH		= 20,
	DAT_RSM_BAD_ACL			= 21,
	DAT_RSM_RESERVED_SEGID		= 23,
	DAT_RSM_SEGID_IN_USE		= 24,
	DAT_RSM_PERM_DENIED		= 27,
	DAT_RSM_LOCKS_NOT_SUPPORTED	= 28,
	DAT_RSM_REBIND_NOT_ALLOWED	= 30,
	DAT_RSM_NO_RESOURCES		= 31,
	DAT_RSM_NO_MEM			= 32,
	DAT_RSM_UNREACHABLE		= 39,
	DAT_RSM_CONN_ABORTED		= 40,
	DAT_RSM_INTERRUPTED		= 41,
	DAT_RSM_TIMEOUT			= 42,
	DAT_RSM_BAD_CONF		= 44,
};

/* Flags of what connecting has found. */
#define DAT_RSM_SWAPPED		0x1	/* the exporter's byte order is the other one */

/* Permissions that an import asks for. */
#define DAT_RSM_READ	0400
#define DAT_RSM_WRITE	0200

enum {
	DAT_NR_RSM_FIRST = 0x80,
	DAT_NR_RSM_OPEN = DAT_NR_RSM_FIRST,
	DAT_NR_RSM_CTLR,
	DAT_NR_RSM_EXPORT,
	DAT_NR_RSM_REBIND,
	DAT_NR_RSM_PUBLISH,
	DAT_NR_RSM_REPUBLISH,
	DAT_NR_RSM_UNPUBLISH,
	DAT_NR_RSM_CONNECT,
	DAT_NR_RSM_LOCALMEM,
	DAT_NR_RSM_FREE,
	DAT_NR_RSM_IO,
	DAT_NR_RSM_POST,
	DAT_NR_RSM_WAIT,
	DAT_NR_RSM_FD,
	DAT_NR_RSM_NODES,
	DAT_NR_RSM_TOPOLOGY,
	DAT_NR_RSM_RING,
	DAT_NR_RSM_KICK,
	DAT_NR_RSM_LAST
};

/**
 * struct dat_rsm_slot - what the status page array tells of an object
 * @generation: of the connection; changes when an import is cut
 * @pending: events that nobody has consumed
 */
struct dat_rsm_slot {
	__u32 generation;
	__u32 pending;
};

/**
 * struct dat_rsm_open - make a file one of RSM
 * @size: of this structure
 * @err: out: NO_MEM; BAD_CTLR: it is one already
 * @node: out: id of this node
 * @rsvd: 0
 * @slots_offset: out: of the status page array, for mmap()
 * @slots_size: out: bytes of it
 */
struct dat_rsm_open {
	__u32 size;
	__u32 err;
	__u32 node;
	__u32 rsvd;
	__u64 slots_offset;
	__u64 slots_size;
};

#define DAT_IOC_RSM_OPEN	DAT_IOC(RSM_OPEN)

/**
 * struct dat_rsm_ctlr - what a controller can do
 * @size: of this structure
 * @err: out: CTLR_NOT_PRESENT
 * @ctlr: DAT_RSM_LOOPBACK, or 1, 2, ... for the adapters; an adapter that comes again has the
 *	number that it had
 * @name: out: NUL-terminated: "loopback", or "rdma0" of number 1
 * @direct_sizes: out: bit n: a mapping can be accessed 2^n bytes at a time
 * @atomic_sizes: out: bit n: aligned transfers of 2^n bytes are not torn
 * @page_sizes: out: bit n: pages of 2^n KiB
 * @max_exports: out: segments of this node
 * @max_imports: out: imports of this node
 * @max_export_size: out: bytes of a segment; 0 here and below: there is no limit
 * @tot_export_size: out: bytes of all segments
 * @max_map_size: out: bytes of a window; with @direct_sizes 0 there are no windows
 * @tot_map_size: out: bytes of all windows
 * @device: out: name of the adapter, see struct dat_adapter; empty: there is none.  Not in
 *	version 1
 */
struct dat_rsm_ctlr {
	__u32 size;
	__u32 err;
	__u32 ctlr;
	char  name[DAT_RSM_CTLR_NAME];
	__u32 direct_sizes;
	__u32 atomic_sizes;
	__u32 page_sizes;
	__u32 max_exports;
	__u32 max_imports;
	__u64 max_export_size;
	__u64 tot_export_size;
	__u64 max_map_size;
	__u64 tot_map_size;
	__u8  device[DAT_NAME_SIZE];
};

#define DAT_IOC_RSM_CTLR	DAT_IOC(RSM_CTLR)

/* Flags of struct dat_rsm_export. */
#define DAT_RSM_REBINDABLE	0x1
#define DAT_RSM_DONT_WAIT	0x2
#define DAT_RSM_LOCK_OPS	0x4	/* such a segment can't be published */

/**
 * struct dat_rsm_export - make a segment of memory of the caller
 * @size: of this structure
 * @err: out: CTLR_NOT_PRESENT; BAD_CONF an adapter, and this node has no cluster key (see struct
 *	dat_rsm_nodes); BAD_ADDR not mapped; BAD_LENGTH 0 or over 1 TiB; BAD_ALIGNMENT
 *	@addr or @length no multiple of a page; PERM_DENIED the memory can't be written;
 *	NO_MEM also RLIMIT_MEMLOCK or over the node's budget; NO_RESOURCES too many segments
 * @ctlr: controller
 * @flags: DAT_RSM_REBINDABLE, ...
 * @addr: first byte
 * @length: bytes
 * @id: out: of the object
 * @slot: out: index in the status page array
 *
 * The umask of the caller makes the permissions of those who are in no access list.
 */
struct dat_rsm_export {
	__u32 size;
	__u32 err;
	__u32 ctlr;
	__u32 flags;
	__u64 addr;
	__u64 length;
	__u32 id;
	__u32 slot;
};

#define DAT_IOC_RSM_EXPORT	DAT_IOC(RSM_EXPORT)

/**
 * struct dat_rsm_rebind - give a segment other memory; importers don't notice
 * @size: of this structure
 * @err: out: BAD_SEG; REBIND_NOT_ALLOWED; BAD_LENGTH not that of the segment; BAD_ADDR not
 *	mapped or not at a page; PERM_DENIED and NO_MEM like DAT_IOC_RSM_EXPORT
 * @id: of the export
 * @rsvd: 0
 * @addr: first byte
 * @length: bytes
 */
struct dat_rsm_rebind {
	__u32 size;
	__u32 err;
	__u32 id;
	__u32 rsvd;
	__u64 addr;
	__u64 length;
};

#define DAT_IOC_RSM_REBIND	DAT_IOC(RSM_REBIND)

/**
 * struct dat_rsm_access - who may import
 * @node: on which node
 * @perm: octal digits for the exporter's user, its group, and others: 4 read, 2 write
 */
struct dat_rsm_access {
	__u32 node;
	__u32 perm;
};

/**
 * struct dat_rsm_publish - let others import a segment; also DAT_IOC_RSM_REPUBLISH
 * @size: of this structure
 * @err: out: BAD_SEG; BAD_ACL; BAD_ADDR @list; ALREADY_PUBLISHED (REPUBLISH: NOT_PUBLISHED);
 *	RESERVED_SEGID; SEGID_IN_USE; LOCKS_NOT_SUPPORTED; NO_MEM; NO_RESOURCES no
 *	automatic id is left
 * @id: of the export
 * @segid: id to be published under, 0: choose one; out: that id.  REPUBLISH: 0
 * @list: address of struct dat_rsm_access
 * @count: entries of @list; 0: everybody, by the umask
 * @rsvd: 0
 *
 * The first entry for a node counts.  To republish concerns those who connect later.
 */
struct dat_rsm_publish {
	__u32 size;
	__u32 err;
	__u32 id;
	__u32 segid;
	__u64 list;
	__u32 count;
	__u32 rsvd;
};

#define DAT_IOC_RSM_PUBLISH	DAT_IOC(RSM_PUBLISH)
#define DAT_IOC_RSM_REPUBLISH	DAT_IOC(RSM_REPUBLISH)

/**
 * struct dat_rsm_unpublish - withdraw a segment and cut all its imports
 * @size: of this structure
 * @err: out: BAD_SEG, NOT_PUBLISHED
 * @id: of the export
 * @rsvd: 0
 *
 * When this returns nobody reads or writes the segment any more.
 */
struct dat_rsm_unpublish {
	__u32 size;
	__u32 err;
	__u32 id;
	__u32 rsvd;
};

#define DAT_IOC_RSM_UNPUBLISH	DAT_IOC(RSM_UNPUBLISH)

/**
 * struct dat_rsm_connect - import a segment
 * @size: of this structure
 * @err: out: CTLR_NOT_PRESENT also: not the way to @node; NOT_PUBLISHED; NOT_PUBLISHED_TO_NODE;
 *	PERM_DENIED; UNREACHABLE; INTERRUPTED; NO_MEM; NO_RESOURCES too many imports; BAD_CONF an
 *	adapter, and this node has no cluster key, or the other one has not the same
 * @ctlr: controller
 * @node: of the segment
 * @segid: of the segment
 * @perm: DAT_RSM_READ, DAT_RSM_WRITE; 0: for events alone, if the caller has either right
 * @id: out: of the object
 * @slot: out: index in the status page array
 * @generation: out: of the connection
 * @flags: 0; out: DAT_RSM_SWAPPED
 * @length: out: bytes of the segment
 * @map_offset: out: of the window, for mmap(); 0: there is none.  It can't be mapped without
 *	DAT_RSM_READ, since no machine can keep a mapping from being read (EOPNOTSUPP),
 *	nor for writing without DAT_RSM_WRITE (EACCES), nor after a cut (ENODEV), nor more than
 *	1,024 times (ENOMEM), where a mapping that is split counts as two
 */
struct dat_rsm_connect {
	__u32 size;
	__u32 err;
	__u32 ctlr;
	__u32 node;
	__u32 segid;
	__u32 perm;
	__u32 id;
	__u32 slot;
	__u32 generation;
	__u32 flags;
	__u64 length;
	__u64 map_offset;
};

#define DAT_IOC_RSM_CONNECT	DAT_IOC(RSM_CONNECT)

/**
 * struct dat_rsm_localmem - lock memory of the caller for transfers
 * @size: of this structure
 * @err: out: CTLR_NOT_PRESENT; BAD_ADDR not mapped or not at a page; BAD_LENGTH 0 or over
 *	1 TiB; NO_MEM; NO_RESOURCES
 * @ctlr: controller
 * @id: out: of the object
 * @addr: first byte
 * @length: bytes; all of the last page is locked
 *
 * Memory that can't be written may be the source of puts alone.
 */
struct dat_rsm_localmem {
	__u32 size;
	__u32 err;
	__u32 ctlr;
	__u32 id;
	__u64 addr;
	__u64 length;
};

#define DAT_IOC_RSM_LOCALMEM	DAT_IOC(RSM_LOCALMEM)

enum dat_rsm_type {
	DAT_RSM_TYPE_EXPORT	= 1,
	DAT_RSM_TYPE_IMPORT	= 2,
	DAT_RSM_TYPE_LOCALMEM	= 3,
};

/**
 * struct dat_rsm_free - end of an object
 * @size: of this structure
 * @err: out: BAD_SEG, of local memory BAD_LOCALMEM
 * @type: enum dat_rsm_type
 * @id: of the object
 *
 * An export that is published is unpublished first.  When this returns, nobody reads or
 * writes the memory any more.
 */
struct dat_rsm_free {
	__u32 size;
	__u32 err;
	__u32 type;
	__u32 id;
};

#define DAT_IOC_RSM_FREE	DAT_IOC(RSM_FREE)

enum dat_rsm_op {
	DAT_RSM_PUT	= 0,
	DAT_RSM_GET	= 1,
};

/**
 * struct dat_rsm_ioent - one of the transfers of DAT_IOC_RSM_IO
 * @addr: in the caller's memory; with @localmem: offset in that
 * @offset: in the segment
 * @length: bytes; 0 is done at once
 * @localmem: id of local memory, or 0
 * @width: 1, 2, 4 or 8: of the elements, none of which is torn if it is aligned, as far as
 *	the adapter writes aligned words as such; @offset and @length are multiples of it
 */
struct dat_rsm_ioent {
	__u64 addr;
	__u64 offset;
	__u64 length;
	__u32 localmem;
	__u32 width;
};

/* Flags of struct dat_rsm_io; the second also of struct dat_rsm_post. */
#define DAT_RSM_SIGPOST		0x1	/* signal the exporter when all is done */
#define DAT_RSM_NO_ACCUMULATE	0x2	/* unless an event is pending there */
#define DAT_RSM_INTERRUPTIBLE	0x4	/* by any signal, where transfers take long */

/**
 * struct dat_rsm_io - transfers between a segment and memory, in order
 * @size: of this structure
 * @err: out: BAD_SEG; BAD_SGIO @count; CONN_ABORTED; PERM_DENIED; BAD_LOCALMEM; BAD_OFFSET,
 *	BAD_LENGTH beyond the segment or the local memory; BAD_ADDR also: can't be written;
 *	BAD_ALIGNMENT; INTERRUPTED the process is being killed, or DAT_RSM_INTERRUPTIBLE
 * @id: of the import
 * @op: enum dat_rsm_op
 * @flags: DAT_RSM_SIGPOST, ...
 * @count: of entries, 1 to DAT_RSM_MAX_IO
 * @entries: address of struct dat_rsm_ioent
 * @done: out, also after an error: entries that were carried out.  Of the one behind them
 *	anything may have been
 * @mapped: out: all that entries name is ordinary memory, that can be accessed as @op needs, and
 *	local memory is still mapped where it was locked; 0 also: that was not found out, or it
 *	is more than the data area of a ring
 *
 * Of a controller whose imports have rings, this is for what doesn't fit those: vectors of
 * memory that may be none.
 */
struct dat_rsm_io {
	__u32 size;
	__u32 err;
	__u32 id;
	__u32 op;
	__u32 flags;
	__u32 count;
	__u64 entries;
	__u32 done;
	__u32 mapped;
};

#define DAT_IOC_RSM_IO		DAT_IOC(RSM_IO)

/**
 * struct dat_rsm_post - an event for the other side: the exporter, or every importer
 * @size: of this structure
 * @err: out: BAD_SEG, CONN_ABORTED
 * @id: of an import or an export
 * @flags: 0 or DAT_RSM_NO_ACCUMULATE
 */
struct dat_rsm_post {
	__u32 size;
	__u32 err;
	__u32 id;
	__u32 flags;
};

#define DAT_IOC_RSM_POST	DAT_IOC(RSM_POST)

#define DAT_RSM_FOREVER		(~0ULL)

/**
 * struct dat_rsm_wait - consume one event
 * @size: of this structure
 * @err: out: BAD_SEG; TIMEOUT; INTERRUPTED; CONN_ABORTED an import was cut, and
 *	all events are consumed
 * @id: of an import or an export
 * @rsvd: 0
 * @deadline_ns: CLOCK_MONOTONIC; DAT_RSM_FOREVER: none; in the past: don't wait
 */
struct dat_rsm_wait {
	__u32 size;
	__u32 err;
	__u32 id;
	__u32 rsvd;
	__u64 deadline_ns;
};

#define DAT_IOC_RSM_WAIT	DAT_IOC(RSM_WAIT)

/**
 * struct dat_rsm_fd - a descriptor that is readable while events are pending
 * @size: of this structure
 * @err: out: BAD_SEG; NO_RESOURCES too many open files; NO_MEM
 * @id: of an import or an export
 * @fd: out: closed on exec
 *
 * Hangs up when the object is freed or the import cut.  Only DAT_IOC_RSM_WAIT consumes.
 */
struct dat_rsm_fd {
	__u32 size;
	__u32 err;
	__u32 id;
	__s32 fd;
};

#define DAT_IOC_RSM_FD		DAT_IOC(RSM_FD)

/**
 * struct dat_rsm_node - where a node is
 * @node: its id, 0 to DAT_RSM_MAX_NODE
 * @ctlr: number, from 1, of the controller that leads there, whether there is one now or not
 * @family: AF_INET or AF_INET6
 * @scope: IPv6: of a link-local address, index of the interface; else 0
 * @addr: of the adapter that node listens at, network order; IPv4: the first 4 bytes, then 0
 */
struct dat_rsm_node {
	__u32 node;
	__u32 ctlr;
	__u32 family;
	__u32 scope;
	__u8  addr[16];
};

/* Flags of struct dat_rsm_nodes. */
#define DAT_RSM_NODES_TABLE	0x1
#define DAT_RSM_NODES_LOCAL	0x2
#define DAT_RSM_NODES_KEY	0x4
#define DAT_RSM_NODES_TRUST	0x8

/* State of a node, in struct dat_rsm_nodes. */
#define DAT_RSM_NODE_KEYED	0x1	/* it has a cluster key */
#define DAT_RSM_NODE_TRUSTS	0x2	/* it neither gives nor wants a proof */

/**
 * struct dat_rsm_nodes - who this node is and where others are; without flags: tell
 * @size: of this structure
 * @err: out: BAD_ADDR @list; NO_MEM.  With flags also: PERM_DENIED no CAP_NET_ADMIN in the user
 *	namespace of the network namespace, or for DAT_RSM_NODES_KEY and DAT_RSM_NODES_TRUST no
 *	CAP_SYS_ADMIN in the first user namespace; BAD_CONF an entry, their number or @local is
 *	wrong, one controller leads twice to a node, or @key is no good key;
 *	ALREADY_PUBLISHED there are exports or imports, and @local is another id than before
 * @flags: DAT_RSM_NODES_TABLE: @list is all that is known from now on; DAT_RSM_NODES_LOCAL:
 *	@local is the id of this node from now on.  With both, both are done or none.
 *	DAT_RSM_NODES_KEY, alone: @key is the cluster key from now on.  DAT_RSM_NODES_TRUST,
 *	alone: DAT_RSM_NODE_TRUSTS of @state counts from now on
 * @local: id; out, without flags
 * @list: address of struct dat_rsm_node.  Without flags: out, as many as there is room for
 * @count: of entries of @list; out, without flags: of those that there are
 * @rsvd: 0
 * @key: serial number of a key of the type "logon" that the caller may search, named "rsm:cluster",
 *	with a payload of 32 bytes or more; 0: forget the key that there is.  0 without
 *	DAT_RSM_NODES_KEY.  Not in version 1
 * @state: DAT_RSM_NODE_*; out, without flags.  In: 0 without DAT_RSM_NODES_TRUST, that is,
 *	also without flags.  Not in version 1
 *
 * -EINVAL: other flags or combinations, or anything that is to be 0 and is not.
 *
 * The driver holds a reference on the key.  A key that is revoked or expires is as good as none.
 * Connections that there are don't end when a node goes from the table.  An entry of the own
 * node is of no use, and does no harm: it is at its adapters' own addresses.
 */
struct dat_rsm_nodes {
	__u32 size;
	__u32 err;
	__u32 flags;
	__u32 local;
	__u64 list;
	__u32 count;
	__u32 rsvd;
	__s32 key;
	__u32 state;
};

#define DAT_IOC_RSM_NODES	DAT_IOC(RSM_NODES)

#define DAT_RSM_LINK_LOCAL	0x1	/* not a link, but the controller itself */

enum dat_rsm_link_state {
	DAT_RSM_LINK_DOWN	= 1,
	DAT_RSM_LINK_ACTIVE	= 3,	/* it has just answered; see below */
};

/**
 * struct dat_rsm_link - a node to which a controller leads
 * @ctlr: number of the controller
 * @node: of this node, or of the other
 * @flags: DAT_RSM_LINK_LOCAL
 * @state: enum dat_rsm_link_state.  ACTIVE: the host answers, be it that RSM refuses us, or that
 *	nobody listens there.  Whether one may import CONNECT says: BAD_CONF without a common key
 * @hwaddr: a number made of the network address of the adapter at its end: IPv4: the address,
 *	host order; IPv6: its lower half, likewise; 0: unknown
 */
struct dat_rsm_link {
	__u32 ctlr;
	__u32 node;
	__u32 flags;
	__u32 state;
	__u64 hwaddr;
};

/**
 * struct dat_rsm_topology - which controllers there are, and where they lead
 * @size: of this structure
 * @err: out: BAD_ADDR @list; NO_MEM; INTERRUPTED the process is being killed
 * @node: out: id of this node
 * @count: entries of @list; out: of those that there are
 * @list: address of struct dat_rsm_link: out, if there is room for all: each adapter with
 *	DAT_RSM_LINK_LOCAL, behind it the own node, and then the others of the table
 *
 * Unless @count is 0 all nodes are asked whether they are alive, 512 at once.  As many take up
 * to two seconds if one is not, and up to four if one accepts the request and says no more.
 */
struct dat_rsm_topology {
	__u32 size;
	__u32 err;
	__u32 node;
	__u32 count;
	__u64 list;
};

#define DAT_IOC_RSM_TOPOLOGY	DAT_IOC(RSM_TOPOLOGY)

/* Rings of imports; see the top of this file. */

enum dat_rsm_ring_op {
	DAT_RSM_RING_PUT	= 1,	/* an entry of zeros is malformed */
	DAT_RSM_RING_GET	= 2,
	DAT_RSM_RING_FLUSH	= 3,	/* done when all puts before it are in the segment */
};

/**
 * struct dat_rsm_entry - a transfer
 * @offset: in the segment; FLUSH: 0
 * @length: bytes, 1 to the ring's @chunk; FLUSH: 0
 * @data: in the data area, in one of its chunks from end to end; FLUSH: 0
 * @op: enum dat_rsm_ring_op
 * @rsvd: 0
 *
 * One that is malformed, that the import has no right to, or that goes beyond the segment,
 * cuts the import; so does a tail beyond the ring.  A library has no use for such.
 */
struct dat_rsm_entry {
	__u64 offset;
	__u32 length;
	__u32 data;
	__u32 op;
	__u32 rsvd[3];
};

/**
 * struct dat_rsm_submit - what the process writes
 * @tail: entries posted; at first what the kernel has written there
 * @rsvd: keeps the entries, which follow, on cache lines of their own
 */
struct dat_rsm_submit {
	__u32 tail;
	__u32 rsvd[31];
};

#define DAT_RSM_NEED_KICK	0x1

/**
 * struct dat_rsm_status - what the kernel writes
 * @done: entries complete: all before this index, and none behind an error
 * @flags: DAT_RSM_NEED_KICK: nobody will look at the next entry
 * @bad: entries that have cut the import, the one behind the last that was taken
 * @rsvd: 0
 */
struct dat_rsm_status {
	__u32 done;
	__u32 flags;
	__u32 bad;
	__u32 rsvd;
};

/**
 * struct dat_rsm_ring - have the ring of an import made, or learn again where it is
 * @size: of this structure
 * @err: out: BAD_SEG; BAD_CTLR imports of its controller have none; CONN_ABORTED; NO_MEM;
 *	NO_RESOURCES
 * @id: of the import
 * @rsvd: 0
 * @entries: out: a power of two
 * @chunk: out: a power of two; transfers don't cross its multiples in the data area
 * @submit_offset: out: for mmap()
 * @submit_size: out: bytes
 * @status_offset: out: for mmap(); can't be mapped for writing
 * @status_size: out: bytes
 * @data_offset: out: for mmap()
 * @data_size: out: bytes
 *
 * Pages that are mapped stay when the import ends; nobody looks at them any more.
 */
struct dat_rsm_ring {
	__u32 size;
	__u32 err;
	__u32 id;
	__u32 rsvd;
	__u32 entries;
	__u32 chunk;
	__u64 submit_offset;
	__u64 submit_size;
	__u64 status_offset;
	__u64 status_size;
	__u64 data_offset;
	__u64 data_size;
};

#define DAT_IOC_RSM_RING	DAT_IOC(RSM_RING)

/**
 * struct dat_rsm_kick - look at a ring, and wait for an entry of it
 * @size: of this structure
 * @err: out: BAD_SEG; BAD_CTLR there is no ring; CONN_ABORTED; TIMEOUT; INTERRUPTED
 * @id: of the import
 * @index: wait until done is behind it, as (int)(done - index) > 0 says
 * @deadline_ns: CLOCK_MONOTONIC; DAT_RSM_FOREVER: none; in the past: don't wait
 */
struct dat_rsm_kick {
	__u32 size;
	__u32 err;
	__u32 id;
	__u32 index;
	__u64 deadline_ns;
};

#define DAT_IOC_RSM_KICK	DAT_IOC(RSM_KICK)

#endif /* _UAPI_RDMA_DAT_RSM_H */
