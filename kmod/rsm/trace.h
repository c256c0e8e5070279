/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) The dat authors */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM dat_rsm

#if !defined(_DAT_RSM_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _DAT_RSM_TRACE_H

#include <linux/in6.h>
#include <linux/tracepoint.h>

#include "rsm/rdma.h"

/*
 * Names of values; see core/trace.h.  The value of an error is an errno.  The name of the error is
 * that of the code in rsm/error.c.  An errno without a code has a name of its own here.  An errno
 * is a macro, so the format files contain the number without TRACE_DEFINE_ENUM().
 */
#define RSM_ERR_NAMES	\
	EM(0, "OK") \
	EM(ENXIO, "BAD_CTLR") \
	EM(ENODEV, "CTLR_NOT_PRESENT") \
	EM(EBADF, "BAD_SEG") \
	EM(EALREADY, "ALREADY_PUBLISHED") \
	EM(ENOENT, "NOT_PUBLISHED") \
	EM(ENONET, "NOT_PUBLISHED_TO_NODE") \
	EM(EPERM, "NOT_CREATOR") \
	EM(EBADR, "BAD_SGIO") \
	EM(ESTALE, "BAD_LOCALMEM") \
	EM(EFAULT, "BAD_ADDR") \
	EM(EDOM, "BAD_ALIGNMENT") \
	EM(ERANGE, "BAD_OFFSET") \
	EM(EMSGSIZE, "BAD_LENGTH") \
	EM(EBADE, "BAD_ACL") \
	EM(EADDRNOTAVAIL, "RESERVED_SEGID") \
	EM(EADDRINUSE, "SEGID_IN_USE") \
	EM(EACCES, "PERM_DENIED") \
	EM(ENOLCK, "LOCKS_NOT_SUPPORTED") \
	EM(EROFS, "REBIND_NOT_ALLOWED") \
	EM(ENOSPC, "NO_RESOURCES") \
	EM(ENOMEM, "NO_MEM") \
	EM(EHOSTUNREACH, "UNREACHABLE") \
	EM(ECONNABORTED, "CONN_ABORTED") \
	EM(EINTR, "INTERRUPTED") \
	EM(ETIMEDOUT, "TIMEOUT") \
	EM(EKEYREJECTED, "BAD_CONF") \
	EM(EBUSY, "BUSY") \
	EM(EBADMSG, "BAD_ENTRY") \
	EM(EOVERFLOW, "BAD_TAIL") \
	EM(ENOTCONN, "NOT_CONNECTED") \
	EM(EINVAL, "EINVAL") \
	EM(E2BIG, "E2BIG") \
	EM(EOPNOTSUPP, "EOPNOTSUPP") \
	EM(ERESTARTNOHAND, "ERESTARTNOHAND") \
	EMe(EIO, "TRANSFER_FAILED")

#define RSM_CONN_STATE_NAMES	\
	EM(RSM_CONN_CONNECTING, "CONNECTING") \
	EM(RSM_CONN_LINKED, "LINKED") \
	EM(RSM_CONN_UP, "UP") \
	EM(RSM_CONN_DOWN, "DOWN") \
	EM(RSM_CONN_LOST, "LOST") \
	EMe(RSM_CONN_ENDED, "ENDED")

/* Names of enum rsm_why, for the trace and for the kernel's log. */
#define RSM_WHY_NAMES	\
	EM(RSM_WHY_DONE, "done") \
	EM(RSM_WHY_REFUSED, "refused") \
	EM(RSM_WHY_BUSY, "no place") \
	EM(RSM_WHY_LEFT, "the peer has left") \
	EM(RSM_WHY_ENDED, "this node has given up") \
	EM(RSM_WHY_UNREACHABLE, "no answer") \
	EM(RSM_WHY_NO_ADDRESS, "its node has no address here") \
	EM(RSM_WHY_NOT_READY, "this node has no valid cluster key") \
	EM(RSM_WHY_GREETING, "it is no RSM kernel of this version") \
	EM(RSM_WHY_NODE, "it asks for another node") \
	EM(RSM_WHY_ADDRESS, "its node has another address") \
	EM(RSM_WHY_TRUST, "only one of the two nodes trusts the network") \
	EM(RSM_WHY_NO_KEY, "this node has no valid cluster key") \
	EM(RSM_WHY_OPEN_ACCESS, "this adapter cannot deny it access before its proof") \
	EM(RSM_WHY_KEY, "the cluster keys differ") \
	EM(RSM_WHY_CONF, "it refuses this node's cluster key or trust") \
	EM(RSM_WHY_SILENT, "it is silent") \
	EMe(RSM_WHY_MESSAGE, "its message is invalid")

#define RSM_EXPORT_NAMES	\
	EM(RSM_EXPORT_CREATE, "CREATE") \
	EM(RSM_EXPORT_PUBLISH, "PUBLISH") \
	EM(RSM_EXPORT_REPUBLISH, "REPUBLISH") \
	EM(RSM_EXPORT_REBIND, "REBIND") \
	EMe(RSM_EXPORT_REVOKE, "REVOKE")

#define RSM_TYPE_NAMES	\
	EM(DAT_RSM_TYPE_EXPORT, "export") \
	EM(DAT_RSM_TYPE_IMPORT, "import") \
	EMe(DAT_RSM_TYPE_LOCALMEM, "localmem")

#undef EM
#undef EMe
#define EM(value, name)		TRACE_DEFINE_ENUM(value);
#define EMe(value, name)	TRACE_DEFINE_ENUM(value);

RSM_CONN_STATE_NAMES
RSM_WHY_NAMES
RSM_EXPORT_NAMES
RSM_TYPE_NAMES

#undef EM
#undef EMe
#define EM(value, name)		{ value, name },
#define EMe(value, name)	{ value, name }

#define rsm_show_err(err)	__print_symbolic(err, RSM_ERR_NAMES)
#define rsm_show_state(state)	__print_symbolic(state, RSM_CONN_STATE_NAMES)
#define rsm_show_why(why)	__print_symbolic(why, RSM_WHY_NAMES)
#define rsm_show_export(op)	__print_symbolic(op, RSM_EXPORT_NAMES)
#define rsm_show_type(type)	__print_symbolic(type, RSM_TYPE_NAMES)

TRACE_EVENT(rsm_conn_state,
	TP_PROTO(const struct rsm_conn *conn, u32 new),
	TP_ARGS(conn, new),
	TP_STRUCT__entry(
		__field(u32, ctlr)
		__field(u32, id)
		__field(u32, old)
		__field(u32, new)
		__field(bool, importer)
	),
	TP_fast_assign(
		__entry->ctlr = conn->ctlr->number;
		__entry->id = conn->id;
		__entry->old = conn->state;
		__entry->new = new;
		__entry->importer = conn->ops->importer;
	),
	TP_printk("ctlr=%u conn=%u %s %s -> %s", __entry->ctlr, __entry->id,
		  __entry->importer ? "importer" : "exporter", rsm_show_state(__entry->old),
		  rsm_show_state(__entry->new))
);

TRACE_EVENT(rsm_handshake,
	TP_PROTO(const struct rsm_peer *peer, u32 why, int err),
	TP_ARGS(peer, why, err),
	TP_STRUCT__entry(
		__field(u32, node)
		__field(u32, segid)
		__field(u32, why)
		__field(u32, err)
		__field(bool, exports)
		__array(unsigned char, addr, sizeof(struct sockaddr_in6))
	),
	TP_fast_assign(
		__entry->node = peer->node;
		__entry->segid = peer->segid;
		__entry->why = why;
		__entry->err = -err;
		__entry->exports = peer->exports;
		memcpy(__entry->addr, &peer->addr, sizeof(struct sockaddr_in6));
		/* Print an unknown address as 0.0.0.0. */
		if (!peer->addr.ss_family)
			((struct sockaddr *)__entry->addr)->sa_family = AF_INET;
	),
	TP_printk("%s=%pISc node=%u segid=%#x err=%s: %s",
		  __entry->exports ? "exporter" : "importer", __entry->addr, __entry->node,
		  __entry->segid, rsm_show_err(__entry->err), rsm_show_why(__entry->why))
);

TRACE_EVENT(rsm_export,
	TP_PROTO(const struct rsm_export *exp, u32 op, u32 segid, int err),
	TP_ARGS(exp, op, segid, err),
	TP_STRUCT__entry(
		__field(u64, length)
		__field(u32, id)
		__field(u32, op)
		__field(u32, segid)
		__field(u32, err)
	),
	TP_fast_assign(
		__entry->length = exp->length;
		__entry->id = exp->obj.id;
		__entry->op = op;
		__entry->segid = segid;
		__entry->err = -err;
	),
	TP_printk("export=%u %s segid=%#x length=%llu err=%s", __entry->id,
		  rsm_show_export(__entry->op), __entry->segid, __entry->length,
		  rsm_show_err(__entry->err))
);

TRACE_EVENT(rsm_import,
	TP_PROTO(u32 id, const struct dat_rsm_connect *arg, int err),
	TP_ARGS(id, arg, err),
	TP_STRUCT__entry(
		__field(u32, id)
		__field(u32, ctlr)
		__field(u32, node)
		__field(u32, segid)
		__field(u32, perm)
		__field(u32, err)
	),
	TP_fast_assign(
		__entry->id = id;
		__entry->ctlr = arg->ctlr;
		__entry->node = arg->node;
		__entry->segid = arg->segid;
		__entry->perm = arg->perm;
		__entry->err = -err;
	),
	TP_printk("import=%u ctlr=%u node=%u segid=%#x perm=%#o err=%s", __entry->id,
		  __entry->ctlr, __entry->node, __entry->segid, __entry->perm,
		  rsm_show_err(__entry->err))
);

TRACE_EVENT(rsm_cut,
	TP_PROTO(const struct rsm_obj *obj),
	TP_ARGS(obj),
	TP_STRUCT__entry(
		__field(u32, id)
	),
	TP_fast_assign(
		__entry->id = obj->id;
	),
	TP_printk("import=%u", __entry->id)
);

TRACE_EVENT(rsm_end,
	TP_PROTO(const struct rsm_obj *obj),
	TP_ARGS(obj),
	TP_STRUCT__entry(
		__field(u32, type)
		__field(u32, id)
	),
	TP_fast_assign(
		__entry->type = obj->ops->type;
		__entry->id = obj->id;
	),
	TP_printk("%s=%u", rsm_show_type(__entry->type), __entry->id)
);

TRACE_EVENT(rsm_ring,
	TP_PROTO(u32 import, bool dead, int err),
	TP_ARGS(import, dead, err),
	TP_STRUCT__entry(
		__field(u32, import)
		__field(u32, err)
		__field(bool, dead)
	),
	TP_fast_assign(
		__entry->import = import;
		__entry->err = -err;
		__entry->dead = dead;
	),
	TP_printk("import=%u %s err=%s", __entry->import, __entry->dead ? "DEAD" : "MAKE",
		  rsm_show_err(__entry->err))
);

#endif /* _DAT_RSM_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
