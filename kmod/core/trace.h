/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) The dat authors */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM dat

#if !defined(_DAT_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _DAT_TRACE_H

#include <linux/tracepoint.h>

#define dat_show_state(state)				\
	__print_symbolic(state,				\
		{ DAT_EP_UNCONNECTED,	"UNCONNECTED" },	\
		{ DAT_EP_ACTIVE_PENDING, "ACTIVE_PENDING" },	\
		{ DAT_EP_CONNECTED,	"CONNECTED" },		\
		{ DAT_EP_DISC_PENDING,	"DISCONNECT_PENDING" },	\
		{ DAT_EP_DISCONNECTED,	"DISCONNECTED" },	\
		{ DAT_EP_COMPL_PENDING,	"COMPLETION_PENDING" })

#define dat_show_op(op)					\
	__print_symbolic(op,				\
		{ DAT_OP_INVALID,	"RECV" },		\
		{ DAT_OP_SEND,		"SEND" },		\
		{ DAT_OP_RDMA_WRITE,	"RDMA_WRITE" },		\
		{ DAT_OP_RDMA_READ,	"RDMA_READ" },		\
		{ DAT_OP_RMR_BIND,	"RMR_BIND" })

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

#define dat_show_conn_state(state)				\
	__print_symbolic(state,					\
		{ DAT_CONN_CONNECTING,	"CONNECTING" },		\
		{ DAT_CONN_ABORTING,	"ABORTING" },		\
		{ DAT_CONN_ESTABLISHED,	"ESTABLISHED" },	\
		{ DAT_CONN_DRAINING,	"DRAINING" },		\
		{ DAT_CONN_HUNG_UP,	"HUNG_UP" },		\
		{ DAT_CONN_CLOSING,	"CLOSING" })

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
	TP_PROTO(const struct dat_obj *obj, u8 op, u64 cookie, u32 len, u32 num_sge),
	TP_ARGS(obj, op, cookie, len, num_sge),
	TP_STRUCT__entry(
		__field(u32, id)
		__field(u64, cookie)
		__field(u32, len)
		__field(u32, num_sge)
		__field(u8, op)
	),
	TP_fast_assign(
		__entry->id = obj->id;
		__entry->cookie = cookie;
		__entry->len = len;
		__entry->num_sge = num_sge;
		__entry->op = op;
	),
	TP_printk("obj=%u op=%s cookie=%#llx len=%u num_sge=%u", __entry->id,
		  dat_show_op(__entry->op), __entry->cookie, __entry->len,
		  __entry->num_sge)
);

TRACE_EVENT(dat_complete,
	TP_PROTO(const struct dat_ep *ep, bool recv, u64 cookie, u8 status, u32 len),
	TP_ARGS(ep, recv, cookie, status, len),
	TP_STRUCT__entry(
		__field(u32, id)
		__field(u64, cookie)
		__field(u32, len)
		__field(u8, status)
		__field(bool, recv)
	),
	TP_fast_assign(
		__entry->id = ep->obj.id;
		__entry->cookie = cookie;
		__entry->len = len;
		__entry->status = status;
		__entry->recv = recv;
	),
	TP_printk("ep=%u %s cookie=%#llx status=%u len=%u", __entry->id,
		  __entry->recv ? "recv" : "request", __entry->cookie, __entry->status,
		  __entry->len)
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
	TP_printk("evd=%u type=%#x status=%u tail=%u%s", __entry->id, __entry->type,
		  __entry->status, __entry->tail, __entry->queued ? "" : " DROPPED")
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
