/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) The dat authors */
/* Tests of the API of libdat: helpers that open an IA with two EPs in one process. */
#ifndef DAT_API_H
#define DAT_API_H

#include <stdint.h>

/* Some tests call libdat from several threads. */
#define DAT_THREADSAFE DAT_TRUE
#include <dat/udat.h>

#define A_QUAL		4811
#define A_WAIT_US	20000000	/* timeout for an event that must arrive */
#define A_QUIET_US	300000		/* time after which a test assumes that no event comes */
#define A_MEM		(4 << 20)

struct a_mem {
	char		*va;
	size_t		size;
	DAT_LMR_HANDLE	lmr;
	DAT_LMR_CONTEXT	ctx;
	DAT_RMR_CONTEXT	rmr;
};

struct a_pair {
	DAT_IA_HANDLE	ia;
	DAT_EVD_HANDLE	async;
	DAT_IA_ATTR	attr;
	DAT_PZ_HANDLE	pz;
	DAT_EVD_HANDLE	cr;
	DAT_EVD_HANDLE	evd[2];
	DAT_EP_HANDLE	ep[2];
	DAT_PSP_HANDLE	psp;
	struct a_mem	mem;
};

/* The functions of type DAT_RETURN return DAT_SUCCESS or the first error. */
/* Returns the adapter of the tests: the one that DAT_ADAPTER names, or the first. */
char *a_adapter(void);
DAT_RETURN a_ia(DAT_IA_HANDLE *ia, DAT_EVD_HANDLE *async);
/* Maps and registers @size bytes, or as many of them as the adapter registers at once. */
DAT_RETURN a_mem(struct a_pair *p, size_t size, DAT_MEM_PRIV_FLAGS priv, struct a_mem *m);
DAT_EP_ATTR a_attr(const struct a_pair *p);
DAT_RETURN a_open(struct a_pair *p);
DAT_RETURN a_connect(struct a_pair *p, DAT_EP_HANDLE active, DAT_EP_HANDLE passive,
		     DAT_EVD_HANDLE active_evd, DAT_EVD_HANDLE passive_evd);
void a_close(struct a_pair *p);

/*
 * Return 1 with the next event, or 0 if no event arrives within @us microseconds, or if a wait of
 * A_WAIT_US or more was not woken.
 */
int a_event(DAT_EVD_HANDLE evd, unsigned int us, DAT_EVENT *event);
/*
 * Return the status of the next DTO event, or -1 on timeout.  If the next event is not a DTO event,
 * return its negated event number.
 */
int a_dto(DAT_EVD_HANDLE evd, uint64_t *cookie, uint64_t *len);

DAT_LMR_TRIPLET a_seg(const struct a_mem *m, size_t offset, size_t len);
DAT_RMR_TRIPLET a_rseg(const struct a_mem *m, size_t offset, size_t len);
DAT_DTO_COOKIE a_cookie(uint64_t n);

/* Collect the messages of the library, then return the text.  Both are called once in a process. */
void a_log_begin(void);
const char *a_log_end(void);

#define TYPE(rc)	DAT_GET_TYPE(rc)
#define SUBTYPE(rc)	DAT_GET_SUBTYPE(rc)
/* The complete return code of a function that fails with this type and subtype. */
#define RC(type, subtype)	(DAT_CLASS_ERROR | (DAT_RETURN)(type) | (DAT_RETURN)(subtype))

#endif /* DAT_API_H */
