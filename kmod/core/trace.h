/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) The dat authors */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM dat

#if !defined(_DAT_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _DAT_TRACE_H

#include <linux/tracepoint.h>

/*
 * Names of values.  TRACE_DEFINE_ENUM() puts the numbers into the format files, because perf and
 * trace-cmd, which decode a trace, do not know the enumerations.
 */
#define DAT_EP_STATE_NAMES	\
	EM(DAT_EP_UNCONNECTED, "UNCONNECTED") \
	EM(DAT_EP_ACTIVE_PENDING, "ACTIVE_PENDING") \
	EM(DAT_EP_CONNECTED, "CONNECTED") \
	EM(DAT_EP_DISC_PENDING, "DISCONNECT_PENDING") \
	EM(DAT_EP_DISCONNECTED, "DISCONNECTED") \
	EMe(DAT_EP_COMPL_PENDING, "COMPLETION_PENDING")

#define DAT_CONN_STATE_NAMES	\
	EM(DAT_CONN_CONNECTING, "CONNECTING") \
	EM(DAT_CONN_ABORTING, "ABORTING") \
	EM(DAT_CONN_ESTABLISHED, "ESTABLISHED") \
	EM(DAT_CONN_DRAINING, "DRAINING") \
	EM(DAT_CONN_HUNG_UP, "HUNG_UP") \
	EMe(DAT_CONN_CLOSING, "CLOSING")

#define DAT_OP_NAMES	\
	EM(DAT_OP_INVALID, "RECV") \
	EM(DAT_OP_SEND, "SEND") \
	EM(DAT_OP_RDMA_WRITE, "RDMA_WRITE") \
	EM(DAT_OP_RDMA_READ, "RDMA_READ") \
	EM(DAT_OP_RMR_BIND, "RMR_BIND") \
	EM(DAT_KOP_LMR_FMR, "LMR_FMR") \
	EM(DAT_KOP_LMR_INVALIDATE, "LMR_INVALIDATE") \
	EMe(DAT_KOP_READ_TO_RMR, "READ_TO_RMR")

#define DAT_STATUS_NAMES	\
	EM(DAT_ST_SUCCESS, "SUCCESS") \
	EM(DAT_ST_FLUSHED, "FLUSHED") \
	EM(DAT_ST_LOCAL_LENGTH, "LOCAL_LENGTH") \
	EM(DAT_ST_LOCAL_EP, "LOCAL_EP") \
	EM(DAT_ST_LOCAL_PROTECTION, "LOCAL_PROTECTION") \
	EM(DAT_ST_BAD_RESPONSE, "BAD_RESPONSE") \
	EM(DAT_ST_REMOTE_ACCESS, "REMOTE_ACCESS") \
	EM(DAT_ST_REMOTE_RESPONDER, "REMOTE_RESPONDER") \
	EM(DAT_ST_TRANSPORT, "TRANSPORT") \
	EM(DAT_ST_RECEIVER_NOT_READY, "RECEIVER_NOT_READY") \
	EM(DAT_ST_PARTIAL_PACKET, "PARTIAL_PACKET") \
	EMe(DAT_ST_RMR_FAILED, "RMR_FAILED")

#define DAT_EVENT_NAMES	\
	EM(DAT_EV_DTO, "DTO") \
	EM(DAT_EV_RMR_BIND, "RMR_BIND") \
	EM(DAT_EV_CR, "CR") \
	EM(DAT_EV_ESTABLISHED, "ESTABLISHED") \
	EM(DAT_EV_PEER_REJECTED, "PEER_REJECTED") \
	EM(DAT_EV_NON_PEER_REJECTED, "NON_PEER_REJECTED") \
	EM(DAT_EV_ACCEPT_ERROR, "ACCEPT_ERROR") \
	EM(DAT_EV_DISCONNECTED, "DISCONNECTED") \
	EM(DAT_EV_BROKEN, "BROKEN") \
	EM(DAT_EV_TIMED_OUT, "TIMED_OUT") \
	EM(DAT_EV_UNREACHABLE, "UNREACHABLE") \
	EM(DAT_EV_ASYNC_OVERFLOW, "ASYNC_OVERFLOW") \
	EM(DAT_EV_ASYNC_CATASTROPHIC, "ASYNC_CATASTROPHIC") \
	EM(DAT_EV_ASYNC_EP_BROKEN, "ASYNC_EP_BROKEN") \
	EM(DAT_EV_ASYNC_TIMED_OUT, "ASYNC_TIMED_OUT") \
	EM(DAT_EV_ASYNC_INTERNAL, "ASYNC_INTERNAL") \
	EMe(DAT_EV_SOFTWARE, "SOFTWARE")

#define DAT_EXTRA_NAMES	\
	EM(DAT_EXTRA_NONE, "NONE") \
	EM(DAT_EXTRA_KEY, "KEY") \
	EM(DAT_EXTRA_IMM, "IMM") \
	EMe(DAT_EXTRA_WRITE, "WRITE_IMM")

#undef EM
#undef EMe
#define EM(value, name)		TRACE_DEFINE_ENUM(value);
#define EMe(value, name)	TRACE_DEFINE_ENUM(value);

DAT_EP_STATE_NAMES
DAT_CONN_STATE_NAMES
DAT_OP_NAMES
DAT_STATUS_NAMES
DAT_EVENT_NAMES
DAT_EXTRA_NAMES

#undef EM
#undef EMe
#define EM(value, name)		{ value, name },
#define EMe(value, name)	{ value, name }

#define dat_show_state(state)		__print_symbolic(state, DAT_EP_STATE_NAMES)
#define dat_show_conn_state(state)	__print_symbolic(state, DAT_CONN_STATE_NAMES)
#define dat_show_op(op)			__print_symbolic(op, DAT_OP_NAMES)
#define dat_show_status(status)		__print_symbolic(status, DAT_STATUS_NAMES)
#define dat_show_event(type)		__print_symbolic(type, DAT_EVENT_NAMES)
#define dat_show_extra(kind)		__print_symbolic(kind, DAT_EXTRA_NAMES)

TRACE_EVENT(dat_ep_state,
	TP_PROTO(const struct dat_ep *ep, u32 new),
	TP_ARGS(ep, new),
	TP_STRUCT__entry(
		__field(u32, id)
		__field(u32, old)
		__field(u32, new)
	),
	TP_fast_assign(
		__entry->id = ep->obj.id;
		__entry->old = ep->state;
		__entry->new = new;
	),
	TP_printk("ep=%u %s -> %s", __entry->id, dat_show_state(__entry->old),
		  dat_show_state(__entry->new))
);

TRACE_EVENT(dat_conn_state,
	TP_PROTO(const struct dat_conn *conn, u32 new),
	TP_ARGS(conn, new),
	TP_STRUCT__entry(
		__field(u32, id)
		__field(u32, old)
		__field(u32, new)
	),
	TP_fast_assign(
		__entry->id = conn->ep->obj.id;
		__entry->old = conn->state;
		__entry->new = new;
	),
	TP_printk("ep=%u %s -> %s", __entry->id, dat_show_conn_state(__entry->old),
		  dat_show_conn_state(__entry->new))
);

TRACE_EVENT(dat_post,
	TP_PROTO(const struct dat_obj *obj, u8 op, u64 cookie, u32 len, u32 num_sge, bool imm),
	TP_ARGS(obj, op, cookie, len, num_sge, imm),
	TP_STRUCT__entry(
		__field(u32, id)
		__field(u64, cookie)
		__field(u32, len)
		__field(u32, num_sge)
		__field(u8, op)
		__field(bool, imm)
	),
	TP_fast_assign(
		__entry->id = obj->id;
		__entry->cookie = cookie;
		__entry->len = len;
		__entry->num_sge = num_sge;
		__entry->op = op;
		__entry->imm = imm;
	),
	TP_printk("obj=%u op=%s cookie=%#llx len=%u num_sge=%u imm=%d", __entry->id,
		  dat_show_op(__entry->op), __entry->cookie, __entry->len,
		  __entry->num_sge, __entry->imm)
);

TRACE_EVENT(dat_complete,
	TP_PROTO(const struct dat_ep *ep, bool recv, u64 cookie, u8 status, u32 len, u8 extra),
	TP_ARGS(ep, recv, cookie, status, len, extra),
	TP_STRUCT__entry(
		__field(u32, id)
		__field(u64, cookie)
		__field(u32, len)
		__field(u8, status)
		__field(u8, extra)
		__field(bool, recv)
	),
	TP_fast_assign(
		__entry->id = ep->obj.id;
		__entry->cookie = cookie;
		__entry->len = len;
		__entry->status = status;
		__entry->recv = recv;
		__entry->extra = extra;
	),
	TP_printk("ep=%u %s cookie=%#llx status=%s len=%u extra=%s", __entry->id,
		  __entry->recv ? "recv" : "request", __entry->cookie,
		  dat_show_status(__entry->status), __entry->len,
		  dat_show_extra(__entry->extra))
);

TRACE_EVENT(dat_event,
	TP_PROTO(const struct dat_evd *evd, const struct dat_eqe *eqe, u32 tail, bool queued),
	TP_ARGS(evd, eqe, tail, queued),
	TP_STRUCT__entry(
		__field(u32, id)
		__field(u32, type)
		__field(u32, status)
		__field(u32, tail)
		__field(bool, queued)
	),
	TP_fast_assign(
		__entry->id = evd->obj.id;
		__entry->type = eqe->type;
		__entry->status = eqe->status;
		__entry->tail = tail;
		__entry->queued = queued;
	),
	TP_printk("evd=%u type=%s status=%u tail=%u%s", __entry->id,
		  dat_show_event(__entry->type), __entry->status, __entry->tail,
		  __entry->queued ? "" : " DROPPED")
);

TRACE_EVENT(dat_kick,
	TP_PROTO(const struct dat_obj *obj, u32 bell),
	TP_ARGS(obj, bell),
	TP_STRUCT__entry(
		__field(u32, id)
		__field(u32, bell)
	),
	TP_fast_assign(
		__entry->id = obj->id;
		__entry->bell = bell;
	),
	TP_printk("obj=%u bell=%u", __entry->id, __entry->bell)
);

#endif /* _DAT_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
