/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Copyright (c) The dat authors */
/*
 * Entries of tables for what the provider does not have: they return -FI_ENOSYS, or the error that
 * the manual pages of libfabric demand.  Included by fdat.h.
 */
#ifndef FDAT_NONE_H
#define FDAT_NONE_H

int fdat_no_bind(struct fid *fid, struct fid *bfid, uint64_t flags);
int fdat_no_control(struct fid *fid, int command, void *arg);
int fdat_no_ops_open(struct fid *fid, const char *name, uint64_t flags, void **ops, void *context);
int fdat_no_tostr(const struct fid *fid, char *buf, size_t len);
int fdat_no_ops_set(struct fid *fid, const char *name, uint64_t flags, void *ops, void *context);

/* The entries of struct fi_ops after control, which no object has. */
#define FDAT_NO_FID_OPS \
	.ops_open = fdat_no_ops_open, .tostr = fdat_no_tostr, .ops_set = fdat_no_ops_set

int fdat_no_tx_ctx(struct fid_ep *sep, int index, struct fi_tx_attr *attr, struct fid_ep **tx_ep,
		   void *context);
int fdat_no_rx_ctx(struct fid_ep *sep, int index, struct fi_rx_attr *attr, struct fid_ep **rx_ep,
		   void *context);
ssize_t fdat_no_size_left(struct fid_ep *ep);
int fdat_no_setopt(fid_t fid, int level, int name, const void *val, size_t len);
int fdat_no_getopt(fid_t fid, int level, int name, void *val, size_t *len);
ssize_t fdat_no_cancel(fid_t fid, void *context);

int fdat_no_wait_open(struct fid_fabric *fabric, struct fi_wait_attr *attr, struct fid_wait **set);
int fdat_no_domain2(struct fid_fabric *fabric, struct fi_info *info, struct fid_domain **domain,
		    uint64_t flags, void *context);
int fdat_no_connect(struct fid_ep *ep, const void *addr, const void *param, size_t len);
int fdat_no_getpeer(struct fid_ep *ep, void *addr, size_t *len);
int fdat_no_listen(struct fid_pep *pep);
int fdat_no_accept(struct fid_ep *ep, const void *param, size_t len);
int fdat_no_reject(struct fid_pep *pep, fid_t handle, const void *param, size_t len);
int fdat_no_shutdown(struct fid_ep *ep, uint64_t flags);
int fdat_no_setname(fid_t fid, void *addr, size_t len);
int fdat_no_getname(fid_t fid, void *addr, size_t *len);
int fdat_no_join(struct fid_ep *ep, const void *addr, uint64_t flags, struct fid_mc **mc,
		 void *context);
ssize_t fdat_no_send(struct fid_ep *ep, const void *buf, size_t len, void *desc, fi_addr_t to,
		     void *context);
ssize_t fdat_no_sendv(struct fid_ep *ep, const struct iovec *iov, void **desc, size_t count,
		      fi_addr_t to, void *context);
ssize_t fdat_no_sendmsg(struct fid_ep *ep, const struct fi_msg *msg, uint64_t flags);
ssize_t fdat_no_inject(struct fid_ep *ep, const void *buf, size_t len, fi_addr_t to);
ssize_t fdat_no_senddata(struct fid_ep *ep, const void *buf, size_t len, void *desc, uint64_t data,
			 fi_addr_t to, void *context);
ssize_t fdat_no_injectdata(struct fid_ep *ep, const void *buf, size_t len, uint64_t data,
			   fi_addr_t to);

int fdat_no_av_open(struct fid_domain *domain, struct fi_av_attr *attr, struct fid_av **av,
		    void *context);
int fdat_no_scalable_ep(struct fid_domain *domain, struct fi_info *info, struct fid_ep **sep,
			void *context);
int fdat_no_cntr_open(struct fid_domain *domain, struct fi_cntr_attr *attr,
		      struct fid_cntr **cntr, void *context);
int fdat_no_poll_open(struct fid_domain *domain, struct fi_poll_attr *attr,
		      struct fid_poll **set);
int fdat_no_stx_ctx(struct fid_domain *domain, struct fi_tx_attr *attr, struct fid_stx **stx,
		    void *context);
int fdat_no_query_atomic(struct fid_domain *domain, enum fi_datatype type, enum fi_op op,
			 struct fi_atomic_attr *attr, uint64_t flags);
int fdat_no_query_collective(struct fid_domain *domain, enum fi_collective_op op,
			     struct fi_collective_attr *attr, uint64_t flags);
int fdat_no_endpoint2(struct fid_domain *domain, struct fi_info *info, struct fid_ep **ep,
		      uint64_t flags, void *context);

extern struct fi_ops_cm fdat_no_cm_ops;
extern struct fi_ops_rma fdat_no_rma_ops;
extern struct fi_ops_tagged fdat_no_tagged_ops;
extern struct fi_ops_atomic fdat_no_atomic_ops;
extern struct fi_ops_collective fdat_no_collective_ops;

#endif /* FDAT_NONE_H */
