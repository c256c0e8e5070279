// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/*
 * Entries of tables for what the provider does not have.  The inline functions of libfabric call
 * most entries without a test, so no entry may be NULL.
 */
#include "fdat.h"

/* The functions have the parameters of the tables and use none of them. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

int fdat_no_bind(struct fid *fid, struct fid *bfid, uint64_t flags)
{
	return -FI_ENOSYS;
}

int fdat_no_control(struct fid *fid, int command, void *arg)
{
	return -FI_ENOSYS;
}

int fdat_no_ops_open(struct fid *fid, const char *name, uint64_t flags, void **ops, void *context)
{
	return -FI_ENOSYS;
}

int fdat_no_tostr(const struct fid *fid, char *buf, size_t len)
{
	return -FI_ENOSYS;
}

int fdat_no_ops_set(struct fid *fid, const char *name, uint64_t flags, void *ops, void *context)
{
	return -FI_ENOSYS;
}

/* ---- Endpoints ---- */

int fdat_no_tx_ctx(struct fid_ep *sep, int index, struct fi_tx_attr *attr, struct fid_ep **tx_ep,
		   void *context)
{
	return -FI_ENOSYS;
}

int fdat_no_rx_ctx(struct fid_ep *sep, int index, struct fi_rx_attr *attr, struct fid_ep **rx_ep,
		   void *context)
{
	return -FI_ENOSYS;
}

ssize_t fdat_no_size_left(struct fid_ep *ep)
{
	return -FI_ENOSYS;
}

int fdat_no_setopt(fid_t fid, int level, int name, const void *val, size_t len)
{
	return -FI_ENOPROTOOPT;
}

int fdat_no_getopt(fid_t fid, int level, int name, void *val, size_t *len)
{
	return -FI_ENOPROTOOPT;
}

ssize_t fdat_no_cancel(fid_t fid, void *context)
{
	return -FI_ENOSYS;
}

/* ---- Fabric and domain ---- */

int fdat_no_wait_open(struct fid_fabric *fabric, struct fi_wait_attr *attr, struct fid_wait **set)
{
	return -FI_ENOSYS;
}

int fdat_no_domain2(struct fid_fabric *fabric, struct fi_info *info, struct fid_domain **domain,
		    uint64_t flags, void *context)
{
	return -FI_ENOSYS;
}

int fdat_no_av_open(struct fid_domain *domain, struct fi_av_attr *attr, struct fid_av **av,
		    void *context)
{
	return -FI_ENOSYS;
}

int fdat_no_scalable_ep(struct fid_domain *domain, struct fi_info *info, struct fid_ep **sep,
			void *context)
{
	return -FI_ENOSYS;
}

int fdat_no_cntr_open(struct fid_domain *domain, struct fi_cntr_attr *attr,
		      struct fid_cntr **cntr, void *context)
{
	return -FI_ENOSYS;
}

int fdat_no_poll_open(struct fid_domain *domain, struct fi_poll_attr *attr,
		      struct fid_poll **set)
{
	return -FI_ENOSYS;
}

int fdat_no_stx_ctx(struct fid_domain *domain, struct fi_tx_attr *attr, struct fid_stx **stx,
		    void *context)
{
	return -FI_ENOSYS;
}

int fdat_no_query_atomic(struct fid_domain *domain, enum fi_datatype type, enum fi_op op,
			 struct fi_atomic_attr *attr, uint64_t flags)
{
	return -FI_EOPNOTSUPP;
}

int fdat_no_query_collective(struct fid_domain *domain, enum fi_collective_op op,
			     struct fi_collective_attr *attr, uint64_t flags)
{
	return -FI_EOPNOTSUPP;
}

int fdat_no_endpoint2(struct fid_domain *domain, struct fi_info *info, struct fid_ep **ep,
		      uint64_t flags, void *context)
{
	return -FI_ENOSYS;
}

/* ---- Connections ---- */

int fdat_no_connect(struct fid_ep *ep, const void *addr, const void *param, size_t len)
{
	return -FI_ENOSYS;
}

int fdat_no_getpeer(struct fid_ep *ep, void *addr, size_t *len)
{
	return -FI_ENOSYS;
}

int fdat_no_listen(struct fid_pep *pep)
{
	return -FI_ENOSYS;
}

int fdat_no_accept(struct fid_ep *ep, const void *param, size_t len)
{
	return -FI_ENOSYS;
}

int fdat_no_reject(struct fid_pep *pep, fid_t handle, const void *param, size_t len)
{
	return -FI_ENOSYS;
}

int fdat_no_shutdown(struct fid_ep *ep, uint64_t flags)
{
	return -FI_ENOSYS;
}

int fdat_no_setname(fid_t fid, void *addr, size_t len)
{
	return -FI_ENOSYS;
}

int fdat_no_getname(fid_t fid, void *addr, size_t *len)
{
	return -FI_ENOSYS;
}

int fdat_no_join(struct fid_ep *ep, const void *addr, uint64_t flags, struct fid_mc **mc,
		 void *context)
{
	return -FI_ENOSYS;
}

struct fi_ops_cm fdat_no_cm_ops = {
	.size = sizeof(fdat_no_cm_ops),
	.setname = fdat_no_setname,
	.getname = fdat_no_getname,
	.getpeer = fdat_no_getpeer,
	.connect = fdat_no_connect,
	.listen = fdat_no_listen,
	.accept = fdat_no_accept,
	.reject = fdat_no_reject,
	.shutdown = fdat_no_shutdown,
	.join = fdat_no_join,
};

/* ---- Requests of a shared receive context ---- */

ssize_t fdat_no_send(struct fid_ep *ep, const void *buf, size_t len, void *desc, fi_addr_t to,
		     void *context)
{
	return -FI_ENOSYS;
}

ssize_t fdat_no_sendv(struct fid_ep *ep, const struct iovec *iov, void **desc, size_t count,
		      fi_addr_t to, void *context)
{
	return -FI_ENOSYS;
}

ssize_t fdat_no_sendmsg(struct fid_ep *ep, const struct fi_msg *msg, uint64_t flags)
{
	return -FI_ENOSYS;
}

ssize_t fdat_no_inject(struct fid_ep *ep, const void *buf, size_t len, fi_addr_t to)
{
	return -FI_ENOSYS;
}

ssize_t fdat_no_senddata(struct fid_ep *ep, const void *buf, size_t len, void *desc, uint64_t data,
			 fi_addr_t to, void *context)
{
	return -FI_ENOSYS;
}

ssize_t fdat_no_injectdata(struct fid_ep *ep, const void *buf, size_t len, uint64_t data,
			   fi_addr_t to)
{
	return -FI_ENOSYS;
}

static ssize_t no_read(struct fid_ep *ep, void *buf, size_t len, void *desc, fi_addr_t from,
		       uint64_t addr, uint64_t key, void *context)
{
	return -FI_ENOSYS;
}

static ssize_t no_rmav(struct fid_ep *ep, const struct iovec *iov, void **desc, size_t count,
		       fi_addr_t peer, uint64_t addr, uint64_t key, void *context)
{
	return -FI_ENOSYS;
}

static ssize_t no_rmamsg(struct fid_ep *ep, const struct fi_msg_rma *msg, uint64_t flags)
{
	return -FI_ENOSYS;
}

static ssize_t no_write(struct fid_ep *ep, const void *buf, size_t len, void *desc, fi_addr_t to,
			uint64_t addr, uint64_t key, void *context)
{
	return -FI_ENOSYS;
}

static ssize_t no_inject_write(struct fid_ep *ep, const void *buf, size_t len, fi_addr_t to,
			       uint64_t addr, uint64_t key)
{
	return -FI_ENOSYS;
}

static ssize_t no_writedata(struct fid_ep *ep, const void *buf, size_t len, void *desc,
			    uint64_t data, fi_addr_t to, uint64_t addr, uint64_t key, void *context)
{
	return -FI_ENOSYS;
}

static ssize_t no_inject_writedata(struct fid_ep *ep, const void *buf, size_t len, uint64_t data,
				   fi_addr_t to, uint64_t addr, uint64_t key)
{
	return -FI_ENOSYS;
}

struct fi_ops_rma fdat_no_rma_ops = {
	.size = sizeof(fdat_no_rma_ops),
	.read = no_read,
	.readv = no_rmav,
	.readmsg = no_rmamsg,
	.write = no_write,
	.writev = no_rmav,
	.writemsg = no_rmamsg,
	.inject = no_inject_write,
	.writedata = no_writedata,
	.injectdata = no_inject_writedata,
};

/* ---- Tagged messages ---- */

static ssize_t no_trecv(struct fid_ep *ep, void *buf, size_t len, void *desc, fi_addr_t from,
			uint64_t tag, uint64_t ignore, void *context)
{
	return -FI_ENOSYS;
}

static ssize_t no_trecvv(struct fid_ep *ep, const struct iovec *iov, void **desc, size_t count,
			 fi_addr_t from, uint64_t tag, uint64_t ignore, void *context)
{
	return -FI_ENOSYS;
}

static ssize_t no_tmsg(struct fid_ep *ep, const struct fi_msg_tagged *msg, uint64_t flags)
{
	return -FI_ENOSYS;
}

static ssize_t no_tsend(struct fid_ep *ep, const void *buf, size_t len, void *desc, fi_addr_t to,
			uint64_t tag, void *context)
{
	return -FI_ENOSYS;
}

static ssize_t no_tsendv(struct fid_ep *ep, const struct iovec *iov, void **desc, size_t count,
			 fi_addr_t to, uint64_t tag, void *context)
{
	return -FI_ENOSYS;
}

static ssize_t no_tinject(struct fid_ep *ep, const void *buf, size_t len, fi_addr_t to,
			  uint64_t tag)
{
	return -FI_ENOSYS;
}

static ssize_t no_tsenddata(struct fid_ep *ep, const void *buf, size_t len, void *desc,
			    uint64_t data, fi_addr_t to, uint64_t tag, void *context)
{
	return -FI_ENOSYS;
}

static ssize_t no_tinjectdata(struct fid_ep *ep, const void *buf, size_t len, uint64_t data,
			      fi_addr_t to, uint64_t tag)
{
	return -FI_ENOSYS;
}

struct fi_ops_tagged fdat_no_tagged_ops = {
	.size = sizeof(fdat_no_tagged_ops),
	.recv = no_trecv,
	.recvv = no_trecvv,
	.recvmsg = no_tmsg,
	.send = no_tsend,
	.sendv = no_tsendv,
	.sendmsg = no_tmsg,
	.inject = no_tinject,
	.senddata = no_tsenddata,
	.injectdata = no_tinjectdata,
};

/* ---- Atomics ---- */

static ssize_t no_atomic(struct fid_ep *ep, const void *buf, size_t count, void *desc,
			 fi_addr_t to, uint64_t addr, uint64_t key, enum fi_datatype type,
			 enum fi_op op, void *context)
{
	return -FI_EOPNOTSUPP;
}

static ssize_t no_atomicv(struct fid_ep *ep, const struct fi_ioc *iov, void **desc, size_t count,
			  fi_addr_t to, uint64_t addr, uint64_t key, enum fi_datatype type,
			  enum fi_op op, void *context)
{
	return -FI_EOPNOTSUPP;
}

static ssize_t no_atomicmsg(struct fid_ep *ep, const struct fi_msg_atomic *msg, uint64_t flags)
{
	return -FI_EOPNOTSUPP;
}

static ssize_t no_inject_atomic(struct fid_ep *ep, const void *buf, size_t count, fi_addr_t to,
				uint64_t addr, uint64_t key, enum fi_datatype type, enum fi_op op)
{
	return -FI_EOPNOTSUPP;
}

static ssize_t no_fetch(struct fid_ep *ep, const void *buf, size_t count, void *desc, void *result,
			void *result_desc, fi_addr_t to, uint64_t addr, uint64_t key,
			enum fi_datatype type, enum fi_op op, void *context)
{
	return -FI_EOPNOTSUPP;
}

static ssize_t no_fetchv(struct fid_ep *ep, const struct fi_ioc *iov, void **desc, size_t count,
			 struct fi_ioc *result, void **result_desc, size_t result_count,
			 fi_addr_t to, uint64_t addr, uint64_t key, enum fi_datatype type,
			 enum fi_op op, void *context)
{
	return -FI_EOPNOTSUPP;
}

static ssize_t no_fetchmsg(struct fid_ep *ep, const struct fi_msg_atomic *msg,
			   struct fi_ioc *result, void **result_desc, size_t result_count,
			   uint64_t flags)
{
	return -FI_EOPNOTSUPP;
}

static ssize_t no_compare(struct fid_ep *ep, const void *buf, size_t count, void *desc,
			  const void *compare, void *compare_desc, void *result, void *result_desc,
			  fi_addr_t to, uint64_t addr, uint64_t key, enum fi_datatype type,
			  enum fi_op op, void *context)
{
	return -FI_EOPNOTSUPP;
}

static ssize_t no_comparev(struct fid_ep *ep, const struct fi_ioc *iov, void **desc, size_t count,
			   const struct fi_ioc *compare, void **compare_desc,
			   size_t compare_count, struct fi_ioc *result, void **result_desc,
			   size_t result_count, fi_addr_t to, uint64_t addr, uint64_t key,
			   enum fi_datatype type, enum fi_op op, void *context)
{
	return -FI_EOPNOTSUPP;
}

static ssize_t no_comparemsg(struct fid_ep *ep, const struct fi_msg_atomic *msg,
			     const struct fi_ioc *compare, void **compare_desc,
			     size_t compare_count, struct fi_ioc *result, void **result_desc,
			     size_t result_count, uint64_t flags)
{
	return -FI_EOPNOTSUPP;
}

static int no_valid(struct fid_ep *ep, enum fi_datatype type, enum fi_op op, size_t *count)
{
	return -FI_EOPNOTSUPP;
}

struct fi_ops_atomic fdat_no_atomic_ops = {
	.size = sizeof(fdat_no_atomic_ops),
	.write = no_atomic,
	.writev = no_atomicv,
	.writemsg = no_atomicmsg,
	.inject = no_inject_atomic,
	.readwrite = no_fetch,
	.readwritev = no_fetchv,
	.readwritemsg = no_fetchmsg,
	.compwrite = no_compare,
	.compwritev = no_comparev,
	.compwritemsg = no_comparemsg,
	.writevalid = no_valid,
	.readwritevalid = no_valid,
	.compwritevalid = no_valid,
};

/* ---- Collectives ---- */

static ssize_t no_barrier(struct fid_ep *ep, fi_addr_t coll, void *context)
{
	return -FI_ENOSYS;
}

static ssize_t no_barrier2(struct fid_ep *ep, fi_addr_t coll, uint64_t flags, void *context)
{
	return -FI_ENOSYS;
}

static ssize_t no_broadcast(struct fid_ep *ep, void *buf, size_t count, void *desc, fi_addr_t coll,
			    fi_addr_t root, enum fi_datatype type, uint64_t flags, void *context)
{
	return -FI_ENOSYS;
}

static ssize_t no_to_all(struct fid_ep *ep, const void *buf, size_t count, void *desc,
			 void *result, void *result_desc, fi_addr_t coll, enum fi_datatype type,
			 uint64_t flags, void *context)
{
	return -FI_ENOSYS;
}

static ssize_t no_reduce_all(struct fid_ep *ep, const void *buf, size_t count, void *desc,
			     void *result, void *result_desc, fi_addr_t coll,
			     enum fi_datatype type, enum fi_op op, uint64_t flags, void *context)
{
	return -FI_ENOSYS;
}

static ssize_t no_reduce(struct fid_ep *ep, const void *buf, size_t count, void *desc,
			 void *result, void *result_desc, fi_addr_t coll, fi_addr_t root,
			 enum fi_datatype type, enum fi_op op, uint64_t flags, void *context)
{
	return -FI_ENOSYS;
}

static ssize_t no_scatter(struct fid_ep *ep, const void *buf, size_t count, void *desc,
			  void *result, void *result_desc, fi_addr_t coll, fi_addr_t root,
			  enum fi_datatype type, uint64_t flags, void *context)
{
	return -FI_ENOSYS;
}

static ssize_t no_msg(struct fid_ep *ep, const struct fi_msg_collective *msg,
		      struct fi_ioc *result, void **result_desc, size_t result_count,
		      uint64_t flags)
{
	return -FI_ENOSYS;
}

struct fi_ops_collective fdat_no_collective_ops = {
	.size = sizeof(fdat_no_collective_ops),
	.barrier = no_barrier,
	.broadcast = no_broadcast,
	.alltoall = no_to_all,
	.allreduce = no_reduce_all,
	.allgather = no_to_all,
	.reduce_scatter = no_reduce_all,
	.reduce = no_reduce,
	.scatter = no_scatter,
	.gather = no_scatter,
	.msg = no_msg,
	.barrier2 = no_barrier2,
};
