/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) The dat authors */
/*
 * Access to /dev/dat without libdat, for tests that make calls which libdat never makes.
 *
 * The t_*() functions return 0 or a negative errno, like the ioctls that they call.
 */
#ifndef DAT_TEST_H
#define DAT_TEST_H

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/types.h>

#include <rdma/dat_ioctl.h>

#define T_QUAL		4711	/* connection qualifier of the listeners in the tests */
#define T_WAIT_MS	20000	/* timeout for an event; the debug kernel is slow */
#define T_QUIET_MS	300	/* time to wait before a test concludes that no event comes */
#define T_QUEUE		16	/* default length of queues */

/*
 * First unused value of each enumeration in <rdma/dat_ioctl.h> and <rdma/dat_ring.h>, and masks of
 * all flags.  A newer kernel may know more values and flags.
 */
#define T_NR_LAST	(DAT_NR_LMR_STALE + 1)
#define T_OBJ_LAST	(DAT_OBJ_RMR + 1)
#define T_OP_LAST	(DAT_OP_RMR_BIND + 1)
#define T_STREAM_ALL	0x1f1
#define T_PRIV_ALL	0x33

/*
 * struct t_map - mapped memory of an object
 * @va: address of the object's memory; NULL if nothing is mapped
 * @base: start of the mapping that contains @va
 * @size: length of the mapping in bytes
 */
struct t_map {
	void	*va;
	void	*base;
	size_t	size;
};

struct t_file {
	int			fd;
	struct dat_ia_query	info;
	uint32_t		max_queues;
	struct t_map		db;
	pthread_t		poller;
	pid_t			poller_of;	/* process that created @poller; 0: no thread */
};

struct t_evd {
	struct t_file			*f;
	uint32_t			id;
	uint32_t			entries;
	uint32_t			head;
	uint32_t			shift;	/* log2 of the bytes per event */
	struct t_map			submit;
	struct t_map			status;
	struct t_map			ring;
};

struct t_queue {
	struct t_file			*f;
	uint32_t			bell;
	uint32_t			entries;
	uint32_t			shift;
	uint32_t			tail;
	uint32_t			*shared_tail;
	char				*ring;
	volatile struct dat_queue_status *status;
};

struct t_srq {
	uint32_t		id;
	struct t_map		submit;
	struct t_map		status;
	struct t_queue		rq;
};

struct t_ep {
	uint32_t		id;
	struct t_map		submit;
	struct t_map		status;
	struct t_queue		sq;
	struct t_queue		rq;
	volatile struct dat_status *st;
};

struct t_lmr {
	uint32_t		id;
	uint32_t		lkey;
	uint32_t		rkey;
	char			*va;
	size_t			size;
};

/* Two EPs of one process, an EVD for each EP, and memory that both EPs use. */
struct t_pair {
	struct t_file		f;
	uint32_t		pz;
	uint32_t		psp;
	struct t_evd		cr;
	struct t_evd		evd[2];
	struct t_ep		ep[2];
	struct t_lmr		mem;
};

/* A second connection, whose objects belong to the file of a struct t_pair. */
struct t_link {
	struct t_evd		evd[2];
	struct t_ep		ep[2];
};

int t_ioctl(int fd, unsigned long cmd, void *arg);
pid_t t_stop_and_continue(void);
/* Features with which t_open() and t_open_at() open an adapter; 0 at first. */
extern uint64_t t_features;

/*
 * Find the adapter of the tests: the one that DAT_ADAPTER in the environment names, or the first.
 * Returns -ENOENT if the driver does not list it.
 */
int t_adapter(int fd, struct dat_adapter *a);

int t_open(struct t_file *f);
/* Like t_open(), but @at is an address, and the name of the IA ends in "@" and @at. */
int t_open_at(struct t_file *f, const char *at);
/* Returns 1 if the adapter is an RDMA device, and 0 if it is that within the host. */
int t_is_device(const struct t_file *f);
void t_close(struct t_file *f);
int t_map(struct t_file *f, uint64_t offset, uint64_t size, int prot, struct t_map *m);
int t_map_span(struct t_file *f, const struct dat_span *at, int prot, struct t_map *m);
void t_unmap(struct t_map *m);

int t_pz(struct t_file *f, uint32_t *pz);
int t_free(struct t_file *f, uint32_t type, uint32_t id);
int t_lmr(struct t_file *f, uint32_t pz, size_t size, uint32_t priv, struct t_lmr *lmr);
int t_evd(struct t_file *f, uint32_t streams, uint32_t qlen, struct t_evd *evd);
int t_srq(struct t_file *f, uint32_t pz, uint32_t entries, struct t_srq *srq);
int t_any_srq(struct t_file *f, struct dat_srq_create *arg, struct t_srq *srq);
int t_ep(struct t_file *f, uint32_t pz, const struct t_evd *evd, uint32_t srq, uint32_t owner,
	 struct t_ep *ep);
int t_long_ep(struct t_file *f, uint32_t pz, const struct t_evd *evd, uint32_t srq,
	      uint32_t owner, uint32_t entries, struct t_ep *ep);
int t_any_ep(struct t_file *f, struct dat_ep_create *arg, struct t_ep *ep);
int t_psp(struct t_file *f, const struct t_evd *evd, uint64_t qual, uint32_t *psp);
int t_connect(struct t_file *f, const struct t_ep *ep, uint64_t qual, const void *pd,
	      uint32_t pd_len);
int t_accept(struct t_file *f, uint32_t cr, const struct t_ep *ep, const void *pd,
	     uint32_t pd_len);
int t_disconnect(struct t_file *f, const struct t_ep *ep, uint32_t flags);
int t_reset(struct t_file *f, const struct t_ep *ep);
int t_kick(struct t_file *f);
int t_word(struct t_file *f, unsigned long cmd, unsigned long word);
void t_ring(struct t_file *f, uint32_t bell);
void t_ring_all(struct t_file *f, uint32_t bells);
int t_poller(struct t_file *f, uint32_t idle_us);

/*
 * t_event() stores an event in @eqe and returns 1.  If no event comes within @ms, t_event() returns
 * 0.
 */
int t_event(struct t_evd *evd, unsigned int ms, struct dat_eqe *eqe);
/* Takes the next event.  Returns its status, or a negative errno if it is none of a transfer. */
int t_status(struct t_evd *evd);
/* Post a software event. */
int t_post_soft(struct t_evd *evd, uint64_t cookie);
/* Fails with -ETIME if a wait of T_WAIT_MS or more was not woken, but found events at its end. */
int t_evd_wait(struct t_evd *evd, uint32_t threshold, unsigned int ms);

/*
 * t_sqe() and t_rqe() return the next free entry of a queue, zeroed; the caller fills in the entry.
 * t_push() publishes the entry, and kicks if the kernel asks for kicks.
 */
struct dat_sqe *t_sqe(struct t_queue *q);
struct dat_rqe *t_rqe(struct t_queue *q);
int t_push(struct t_queue *q);
int t_send(struct t_ep *ep, uint64_t cookie, uint64_t addr, uint32_t lkey, uint32_t len);
int t_rdma(struct t_ep *ep, int op, uint64_t cookie, uint64_t addr, uint32_t lkey,
	   uint32_t len, uint64_t raddr, uint32_t rkey);
int t_recv(struct t_queue *q, uint64_t cookie, uint64_t addr, uint32_t lkey, uint32_t len);

/* t_pair_open() creates all objects of a pair.  t_pair_connect() connects ep[1] to ep[0]. */
int t_pair_open(struct t_pair *p);
int t_pair_open_at(struct t_pair *p, const char *at);
int t_pair_connect(struct t_pair *p);
int t_connect_eps(struct t_pair *p, struct t_ep *ep, struct t_evd *evd);
/* Disconnects and resets both EPs, discards their events, and connects them again. */
int t_reconnect_eps(struct t_pair *p, struct t_ep *ep, struct t_evd *evd);
void t_pair_close(struct t_pair *p);
void t_pair_unmap(struct t_pair *p);

/*
 * t_link_open() opens a second connection.  t_link_works() returns 0 if that connection carries a
 * message.
 */
int t_link_open(struct t_pair *p, struct t_link *l);
int t_link_works(struct t_pair *p, struct t_link *l);
void t_link_close(struct t_pair *p, struct t_link *l);

/*
 * Wait for the event that ends a connection, and return the type of the event, or 0 on timeout.
 * @count[s] is set to the number of DTO events with status s that came before this event.
 */
int t_end(struct t_evd *evd, unsigned int count[16]);

/*
 * A child process in a network namespace of its own.  The namespace has a macvlan interface on the
 * interface of the RDMA device.  If the adapter is that within the host, the namespace has no
 * interface but its own loopback, which is down.
 */
struct t_container {
	pid_t	pid;
	int	say[2];
	int	go[2];
};

/*
 * Fork a process that opens the device, calls @fn, and waits for t_container_end().  Return the
 * result of @fn, or -ENODEV if this machine has no network namespaces or no macvlan.
 */
int t_container_start(struct t_container *c, const struct t_file *f,
		      int (*fn)(struct t_file *f, void *arg), void *arg);
void t_container_end(struct t_container *c);

/* t_set_param() sets a parameter of dat.ko.  t_set_ring_start() sets the parameter ring_start. */
int t_set_param(const char *name, uint32_t value);
int t_set_ring_start(uint32_t start);

#endif /* DAT_TEST_H */
