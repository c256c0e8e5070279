// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * Measures what a message of libfabric costs.  Two endpoints of one process send to each other by
 * turns, so that neither waits for a processor: fi_pingpong, whose two processes poll, needs one
 * for each.  This shows what the library, the provider and the kernel do for a message.
 *
 * usage: bench_fi PROVIDER msg|rdm DOMAIN ADDRESS BYTES COUNT
 *
 * DOMAIN and ADDRESS: name of the adapter, and its address; "-" takes the first one.  msg:
 * endpoints with a connection, and messages; rdm: endpoints without one, and tagged messages.  Prints
 * the average time of a message in microseconds.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_tagged.h>

#include "clock.h"

#define VERSION	FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION)
#define ACCESS	(FI_SEND | FI_RECV)
#define TAG	0x1234

struct bench {
	struct fi_info		*info;
	struct fid_fabric	*fabric;
	struct fid_domain	*domain;
	struct fid_eq		*eq;
	struct fid_cq		*cq;
	struct fid_av		*av;
	struct fid_ep		*ep[2];
	fi_addr_t		addr[2];
	struct fid_mr		*mr;
	char			*mem;	/* of both endpoints: what one sends and what it receives */
	size_t			size;
	int			tagged;
};

static void check(const char *what, long ret)
{
	if (ret >= 0)
		return;
	fprintf(stderr, "bench_fi: %s: %s\n", what, fi_strerror((int)-ret));
	exit(1);
}

static void get_info(struct bench *b, const char *provider, const char *domain,
		     const char *address)
{
	struct fi_info *hints = fi_allocinfo();

	if (!hints)
		check("fi_allocinfo", -FI_ENOMEM);
	hints->caps = b->tagged ? FI_MSG | FI_TAGGED : FI_MSG;
	hints->mode = FI_CONTEXT | FI_RX_CQ_DATA;
	hints->ep_attr->type = b->tagged ? FI_EP_RDM : FI_EP_MSG;
	hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED |
				      FI_MR_PROV_KEY;
	hints->fabric_attr->prov_name = strdup(provider);
	if (strcmp(domain, "-"))
		hints->domain_attr->name = strdup(domain);
	if (strcmp(address, "-"))
		check("fi_getinfo", fi_getinfo(VERSION, address, NULL, FI_SOURCE, hints, &b->info));
	else
		check("fi_getinfo", fi_getinfo(VERSION, NULL, NULL, 0, hints, &b->info));
	fi_freeinfo(hints);
}

static void open_queues(struct bench *b)
{
	struct fi_eq_attr eq = { .wait_obj = FI_WAIT_UNSPEC };
	struct fi_cq_attr cq = { .format = FI_CQ_FORMAT_MSG, .size = 1024 };
	struct fi_av_attr av = { .type = FI_AV_TABLE, .count = 2 };

	check("fi_fabric", fi_fabric(b->info->fabric_attr, &b->fabric, NULL));
	check("fi_domain", fi_domain(b->fabric, b->info, &b->domain, NULL));
	check("fi_cq_open", fi_cq_open(b->domain, &cq, &b->cq, NULL));
	if (b->tagged)
		check("fi_av_open", fi_av_open(b->domain, &av, &b->av, NULL));
	else
		check("fi_eq_open", fi_eq_open(b->fabric, &eq, &b->eq, NULL));
	b->mem = calloc(4, b->size);
	if (!b->mem)
		check("calloc", -FI_ENOMEM);
	/* A provider may need no registration, and have none. */
	if (b->info->domain_attr->mr_mode & FI_MR_LOCAL)
		check("fi_mr_reg", fi_mr_reg(b->domain, b->mem, 4 * b->size, ACCESS, 0, 0, 0,
					     &b->mr, NULL));
}

static void open_ep(struct bench *b, int i, struct fi_info *info)
{
	struct fid *names = b->tagged ? &b->av->fid : &b->eq->fid;

	check("fi_endpoint", fi_endpoint(b->domain, info, &b->ep[i], NULL));
	check("fi_ep_bind", fi_ep_bind(b->ep[i], names, 0));
	check("fi_ep_bind", fi_ep_bind(b->ep[i], &b->cq->fid, FI_TRANSMIT | FI_RECV));
	check("fi_enable", fi_enable(b->ep[i]));
}

static void await_event(struct bench *b, uint32_t want, struct fi_eq_cm_entry *entry)
{
	uint32_t event = 0;

	check("fi_eq_sread", fi_eq_sread(b->eq, &event, entry, sizeof(*entry), 10000, 0));
	if (event != want)
		check("fi_eq_sread", -FI_ECONNABORTED);
}

/* Open the endpoint that connects.  The provider verbs asks for the peer's address here. */
static void open_ep_to(struct bench *b, int i, const void *name, size_t len)
{
	struct fi_info *info = fi_dupinfo(b->info);

	if (!info)
		check("fi_dupinfo", -FI_ENOMEM);
	free(info->dest_addr);
	info->dest_addr = malloc(len);
	if (!info->dest_addr)
		check("malloc", -FI_ENOMEM);
	memcpy(info->dest_addr, name, len);
	info->dest_addrlen = len;
	open_ep(b, i, info);
	fi_freeinfo(info);
}

static void connect_both(struct bench *b)
{
	struct fi_eq_cm_entry entry;
	struct fid_pep *pep;
	char name[256];
	size_t len = sizeof(name);

	check("fi_passive_ep", fi_passive_ep(b->fabric, b->info, &pep, NULL));
	check("fi_pep_bind", fi_pep_bind(pep, &b->eq->fid, 0));
	check("fi_listen", fi_listen(pep));
	check("fi_getname", fi_getname(&pep->fid, name, &len));
	open_ep_to(b, 0, name, len);
	check("fi_connect", fi_connect(b->ep[0], name, NULL, 0));
	await_event(b, FI_CONNREQ, &entry);
	open_ep(b, 1, entry.info);
	fi_freeinfo(entry.info);
	check("fi_accept", fi_accept(b->ep[1], NULL, 0));
	await_event(b, FI_CONNECTED, &entry);
	await_event(b, FI_CONNECTED, &entry);
}

static void name_both(struct bench *b)
{
	char name[256];
	size_t len;
	int i;

	for (i = 0; i < 2; i++) {
		open_ep(b, i, b->info);
		len = sizeof(name);
		check("fi_getname", fi_getname(&b->ep[i]->fid, name, &len));
		if (fi_av_insert(b->av, name, 1, &b->addr[i], 0, NULL) != 1)
			check("fi_av_insert", -FI_EINVAL);
	}
}

/* Take the completions that are there.  Returns their flags. */
static uint64_t progress(struct bench *b)
{
	struct fi_cq_msg_entry entry;
	struct fi_cq_err_entry err = { .err = 0 };
	ssize_t ret = fi_cq_read(b->cq, &entry, 1);

	if (ret == 1)
		return entry.flags;
	if (ret == -FI_EAVAIL) {
		fi_cq_readerr(b->cq, &err, 0);
		check("a message", -err.err);
	}
	if (ret != -FI_EAGAIN)
		check("fi_cq_read", ret);
	return 0;
}

static ssize_t post_recv(struct bench *b, int i)
{
	static struct fi_context context[2];
	char *mem = b->mem + (2 * i + 1) * b->size;
	void *desc = b->mr ? fi_mr_desc(b->mr) : NULL;

	if (b->tagged)
		return fi_trecv(b->ep[i], mem, b->size, desc, FI_ADDR_UNSPEC, TAG, 0, &context[i]);
	return fi_recv(b->ep[i], mem, b->size, desc, FI_ADDR_UNSPEC, &context[i]);
}

static ssize_t post_send(struct bench *b, int i)
{
	static struct fi_context context[2];
	char *mem = b->mem + 2 * i * b->size;
	void *desc = b->mr ? fi_mr_desc(b->mr) : NULL;

	if (b->tagged)
		return fi_tsend(b->ep[i], mem, b->size, desc, b->addr[!i], TAG, &context[i]);
	return fi_send(b->ep[i], mem, b->size, desc, b->addr[!i], &context[i]);
}

/* Repeat a post for which there is no place yet, as while ofi_rxm connects. */
static void post(struct bench *b, int i, ssize_t (*how)(struct bench *, int))
{
	ssize_t ret;

	while ((ret = how(b, i)) == -FI_EAGAIN)
		progress(b);
	check("a post", ret);
}

/* Send a message from endpoint @i to the other one, and wait for both completions. */
static void pass(struct bench *b, int i)
{
	uint64_t left = FI_SEND | FI_RECV;

	post(b, !i, post_recv);
	post(b, i, post_send);
	while (left)
		left &= ~progress(b);
}

/* The first messages, a tenth of the others and at least 2, are not measured. */
static double measure(struct bench *b, int count)
{
	int warm = count / 10 + 2, i;
	double begun = 0;

	for (i = -warm; i < count; i++) {
		if (!i)
			begun = now_us();
		pass(b, i & 1);
	}
	return (now_us() - begun) / count;
}

int main(int argc, char **argv)
{
	struct bench b = { .size = argc > 5 ? strtoul(argv[5], NULL, 0) : 0 };
	int count = argc > 6 ? atoi(argv[6]) : 0;

	if (!b.size || count < 1 || (strcmp(argv[2], "msg") && strcmp(argv[2], "rdm"))) {
		fprintf(stderr, "usage: bench_fi PROVIDER msg|rdm DOMAIN ADDRESS BYTES COUNT\n");
		return 2;
	}
	b.tagged = !strcmp(argv[2], "rdm");
	get_info(&b, argv[1], argv[3], argv[4]);
	open_queues(&b);
	if (b.tagged)
		name_both(&b);
	else
		connect_both(&b);
	printf("%.3f\n", measure(&b, count));
	return 0;
}
