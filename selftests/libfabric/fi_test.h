/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) The dat authors */
/* Tests of the provider for libfabric: helpers that connect two endpoints in one process. */
#ifndef FI_TEST_H
#define FI_TEST_H

#include <stdint.h>
#include <string.h>

#include <rdma/fabric.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_collective.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>

#define F_TEST_S	120	/* time limit of a test */
#define F_WAIT_MS	20000	/* timeout for an event that must arrive */
#define F_QUIET_MS	300	/* time after which a test assumes that no event comes */
#define F_MEM		(1 << 20)
#define F_ACCESS	(FI_SEND | FI_RECV | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE)

/* One end: its endpoint with an EQ and a CQ of its own. */
struct f_end {
	struct fid_eq	*eq;
	struct fid_cq	*cq;
	struct fid_ep	*ep;
};

/* Options of f_open(); 0 stands for the default. */
struct f_opts {
	uint64_t	cq_flags;	/* for fi_ep_bind() besides the direction */
	size_t		tx_size;
	size_t		rx_size;
	size_t		cq_size;
	size_t		iov;		/* segments of a request and of a receive */
	enum fi_wait_obj wait;
	int		shared;		/* the server receives from @srx */
	int		no_data;	/* the program knows no remote CQ data */
	uint32_t	format;		/* of addresses */
	uint32_t	version;	/* of the API */
	int		mr_mode;	/* modes of the program for memory regions */
	enum fi_cq_wait_cond cond;	/* of the CQs */
};

struct f_pair {
	struct f_opts		opts;
	struct fi_info		*info;
	struct fid_fabric	*fabric;
	struct fid_domain	*domain;
	struct fid_pep		*pep;
	struct fid_ep		*srx;
	struct fid_mr		*mr;
	char			*mem;
	struct f_end		client;
	struct f_end		server;
};

/*
 * Let libfabric start, before the tests fork: it reads all symbols of the kernel twice, which takes an
 * emulated machine seconds.
 */
void f_start(void);
/* Returns the hints of the tests: MSG and RMA, over the adapter that DAT_ADAPTER names. */
struct fi_info *f_hints(void);

/* The functions return 0 or a negative error of libfabric. */
int f_info(struct f_pair *p);
int f_open(struct f_pair *p);
int f_end_open(struct f_pair *p, struct f_end *end, struct fi_info *info);
int f_end_queues(struct f_pair *p, struct f_end *end);
int f_listen(struct f_pair *p);
/* Accept the request that is the next event of the server. */
int f_accept(struct f_pair *p);
int f_connect(struct f_pair *p);
void f_end_close(struct f_end *end);
void f_close(struct f_pair *p);

/* Returns the next event, with its data in @entry, or a negative error. */
int f_event(struct fid_eq *eq, struct fi_eq_cm_entry *entry, size_t len, ssize_t *got);
/* Returns the next completion: 1, or a negative error. */
ssize_t f_comp(struct fid_cq *cq, struct fi_cq_tagged_entry *entry);
/* Returns the error of the next completion, which must be one, or 0. */
int f_comp_error(struct fid_cq *cq, struct fi_cq_err_entry *entry);

/* Returns the time in milliseconds, of a clock that only runs forward. */
int64_t f_now_ms(void);

/* Post with the memory of the pair, at @offset. */
ssize_t f_send(struct f_pair *p, struct fid_ep *ep, size_t offset, size_t len, void *context);
ssize_t f_recv(struct f_pair *p, struct fid_ep *ep, size_t offset, size_t len, void *context);

#endif /* FI_TEST_H */
