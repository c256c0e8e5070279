// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* The provider for libfabric keeps registrations, and notices when memory was unmapped. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "fi_test.h"
#include "ioctl_over.h"

#include <rdma/dat_ioctl.h>

#define PAGE	4096UL
#define LONG	(64 * PAGE)	/* longer than what ofi_rxm copies */
#define UNCACHED	(1ULL << 60)	/* flag with which ofi_rxm registers its own buffers */
#define RW	(PROT_READ | PROT_WRITE)

static unsigned int made, freed;	/* registrations */

static int changed_ioctl(int fd, unsigned long request, void *arg)
{
	int ret = real_ioctl(fd, request, arg);

	if (!ret && request == DAT_IOC_LMR_CREATE)
		__atomic_add_fetch(&made, 1, __ATOMIC_RELAXED);
	if (!ret && request == DAT_IOC_FREE && ((struct dat_free *)arg)->type == DAT_OBJ_LMR)
		__atomic_add_fetch(&freed, 1, __ATOMIC_RELAXED);
	return ret;
}

static char *anon(size_t size, int content)
{
	char *va = mmap(NULL, size, RW, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (va != MAP_FAILED)
		memset(va, content, size);
	return va;
}

static int remap(char *va, size_t size, int content)
{
	if (munmap(va, size) ||
	    mmap(va, size, RW, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != va)
		return -1;
	memset(va, content, size);
	return 0;
}

FIXTURE(cache) {
	struct f_pair p;
	char *va;
};

FIXTURE_VARIANT(cache) {
	const char *param;	/* FI_DAT_MR_CACHE */
	uint64_t flags;		/* of registrations */
	int keeps;
};

FIXTURE_VARIANT_ADD(cache, by_default) { .keeps = 1 };
FIXTURE_VARIANT_ADD(cache, on) { .param = "yes", .keeps = 1 };
FIXTURE_VARIANT_ADD(cache, off) { .param = "no" };
FIXTURE_VARIANT_ADD(cache, of_a_layer) { .flags = UNCACHED };

FIXTURE_SETUP(cache)
{
	if (variant->param)
		setenv("FI_DAT_MR_CACHE", variant->param, 1);
	ASSERT_EQ(0, f_open(&self->p));
	ASSERT_EQ(0, f_connect(&self->p));
	self->va = anon(4 * PAGE, 'a');
	ASSERT_NE(MAP_FAILED, self->va);
}

FIXTURE_TEARDOWN(cache)
{
	f_close(&self->p);
}

static int reg(struct f_pair *p, void *va, size_t size, uint64_t access, uint64_t flags,
	       struct fid_mr **mr)
{
	return fi_mr_reg(p->domain, va, size, access, 0, 0, flags, mr, NULL);
}

/* Returns the first byte that the peer gets of @va, or -1. */
static int sent(struct f_pair *p, struct fid_mr *mr, const char *va)
{
	memset(p->mem, 'x', 8);
	if (f_recv(p, p->server.ep, 0, 8, NULL) ||
	    fi_send(p->client.ep, va, 8, fi_mr_desc(mr), 0, NULL) ||
	    f_comp(p->client.cq, NULL) != 1 || f_comp(p->server.cq, NULL) != 1)
		return -1;
	return p->mem[0];
}

TEST_F(cache, registers_once_for_many_uses_and_again_after_an_unmap)
{
	unsigned int before = made, gone = freed;
	struct f_pair *p = &self->p;
	struct fid_mr *mr;
	int i;

	for (i = 0; i < 20; i++) {
		ASSERT_EQ(0, reg(p, self->va, 4 * PAGE, FI_SEND, variant->flags, &mr));
		EXPECT_EQ('a', sent(p, mr, self->va));
		ASSERT_EQ(0, fi_close(&mr->fid));
	}
	EXPECT_EQ(variant->keeps ? 1 : 20, made - before);
	EXPECT_EQ(variant->keeps ? 0 : 20, freed - gone);
	ASSERT_EQ(0, remap(self->va, 4 * PAGE, 'b'));
	for (i = 0; i < 20; i++) {
		ASSERT_EQ(0, reg(p, self->va, 4 * PAGE, FI_SEND, variant->flags, &mr));
		EXPECT_EQ('b', sent(p, mr, self->va));
		ASSERT_EQ(0, fi_close(&mr->fid));
	}
	EXPECT_EQ(variant->keeps ? 2 : 40, made - before);
	EXPECT_EQ(variant->keeps ? 1 : 40, freed - gone);
}

/* With a registration that is kept, the key of a closed region goes on to give access. */
TEST_F(cache, a_key_lives_as_long_as_its_registration)
{
	struct f_pair *p = &self->p;
	struct fi_cq_err_entry err;
	struct fid_mr *mr;
	uint64_t key;
	ssize_t ret;

	ASSERT_EQ(0, reg(p, self->va, PAGE, FI_REMOTE_READ, variant->flags, &mr));
	key = fi_mr_key(mr);
	ASSERT_EQ(0, fi_close(&mr->fid));
	ASSERT_EQ(0, fi_read(p->client.ep, p->mem, 8, fi_mr_desc(p->mr), 0, (uintptr_t)self->va,
			     key, NULL));
	ret = f_comp(p->client.cq, NULL);
	if (variant->keeps) {
		EXPECT_EQ(1, ret);
		EXPECT_EQ('a', p->mem[0]);
		return;
	}
	ASSERT_EQ(-FI_EAVAIL, ret);
	memset(&err, 0, sizeof(err));
	EXPECT_EQ(1, fi_cq_readerr(p->client.cq, &err, 0));
	EXPECT_NE(0, err.err);
}

/* Regions that share a registration are closed one by one. */
TEST_F(cache, regions_of_the_same_memory_are_independent)
{
	struct f_pair *p = &self->p;
	struct fid_mr *a, *b;

	ASSERT_EQ(0, reg(p, self->va, PAGE, FI_SEND, variant->flags, &a));
	ASSERT_EQ(0, reg(p, self->va, PAGE, FI_SEND, variant->flags, &b));
	EXPECT_EQ(-FI_EBUSY, fi_close(&p->domain->fid));
	ASSERT_EQ(0, fi_close(&a->fid));
	EXPECT_EQ('a', sent(p, b, self->va));
	ASSERT_EQ(0, fi_close(&b->fid));
}

/* ---- RDM endpoints of ofi_rxm, which registers the memory of each long message ---- */

struct rdm_end {
	struct fid_ep	*ep;
	struct fid_cq	*cq;
	struct fid_av	*av;
	fi_addr_t	peer;
};

FIXTURE(rdm) {
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct rdm_end end[2];
	char *from;
	char *to;
};

FIXTURE_VARIANT(rdm) {
	const char *param;
	int keeps;
};

FIXTURE_VARIANT_ADD(rdm, on) { .param = "1", .keeps = 1 };
FIXTURE_VARIANT_ADD(rdm, off) { .param = "0" };

static int rdm_open(struct fi_info *info, struct fid_domain *domain, struct rdm_end *end)
{
	struct fi_cq_attr cq = { .format = FI_CQ_FORMAT_TAGGED, .wait_obj = FI_WAIT_NONE };
	struct fi_av_attr av = { .type = FI_AV_TABLE, .count = 2 };
	int ret = fi_endpoint(domain, info, &end->ep, NULL);

	if (!ret)
		ret = fi_cq_open(domain, &cq, &end->cq, NULL);
	if (!ret)
		ret = fi_av_open(domain, &av, &end->av, NULL);
	if (!ret)
		ret = fi_ep_bind(end->ep, &end->cq->fid, FI_TRANSMIT | FI_RECV);
	if (!ret)
		ret = fi_ep_bind(end->ep, &end->av->fid, 0);
	return ret ? ret : fi_enable(end->ep);
}

static int rdm_knows(struct rdm_end *end, struct rdm_end *peer)
{
	char addr[128];
	size_t len = sizeof(addr);
	int ret = fi_getname(&peer->ep->fid, addr, &len);

	return ret ? ret : fi_av_insert(end->av, addr, 1, &end->peer, 0, NULL) != 1;
}

FIXTURE_SETUP(rdm)
{
	struct fi_info *hints = f_hints();
	int i;

	setenv("FI_PROVIDER", "dat,ofi_rxm", 1);
	setenv("FI_DAT_MR_CACHE", variant->param, 1);
	/* With all modes, a sender of ofi_rxm gets no completion of a long message. */
	hints->mode = 0;
	hints->caps = FI_MSG | FI_TAGGED;
	hints->ep_attr->type = FI_EP_RDM;
	hints->domain_attr->mr_mode = 0;
	free(hints->fabric_attr->prov_name);
	hints->fabric_attr->prov_name = strdup("dat;ofi_rxm");
	ASSERT_EQ(0, fi_getinfo(FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION), NULL, NULL, 0,
				hints, &self->info));
	fi_freeinfo(hints);
	ASSERT_EQ(0, fi_fabric(self->info->fabric_attr, &self->fabric, NULL));
	ASSERT_EQ(0, fi_domain(self->fabric, self->info, &self->domain, NULL));
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, rdm_open(self->info, self->domain, &self->end[i]));
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, rdm_knows(&self->end[i], &self->end[!i]));
	self->from = anon(LONG, 'a');
	self->to = anon(LONG, 'x');
}

FIXTURE_TEARDOWN(rdm)
{
	int i;

	for (i = 0; i < 2; i++) {
		fi_close(&self->end[i].ep->fid);
		fi_close(&self->end[i].cq->fid);
		fi_close(&self->end[i].av->fid);
	}
	EXPECT_EQ(0, fi_close(&self->domain->fid));
	EXPECT_EQ(0, fi_close(&self->fabric->fid));
	fi_freeinfo(self->info);
}

/* Returns whether both ends get a completion in time. */
static int both_complete(struct rdm_end *end)
{
	struct fi_cq_tagged_entry entry;
	time_t limit = time(NULL) + F_WAIT_MS / 1000;
	int i, done[2] = { 0 };

	while (!(done[0] && done[1]) && time(NULL) < limit)
		for (i = 0; i < 2; i++)
			done[i] += fi_cq_read(end[i].cq, &entry, 1) == 1;
	return done[0] == 1 && done[1] == 1;
}

/* The first send connects, and asks to be called again. */
static int rdm_message(struct rdm_end *end, char *from, char *to)
{
	time_t limit = time(NULL) + F_WAIT_MS / 1000;
	struct fi_cq_tagged_entry entry;
	ssize_t ret;

	memset(to, 'x', LONG);
	ret = fi_trecv(end[1].ep, to, LONG, NULL, FI_ADDR_UNSPEC, 1, 0, NULL);
	if (ret)
		return (int)ret;
	do {
		ret = fi_tsend(end[0].ep, from, LONG, NULL, end[0].peer, 1, NULL);
		if (ret == -FI_EAGAIN) {
			fi_cq_read(end[0].cq, &entry, 0);
			fi_cq_read(end[1].cq, &entry, 0);
		}
	} while (ret == -FI_EAGAIN && time(NULL) < limit);
	if (ret)
		return (int)ret;
	return both_complete(end) ? memcmp(from, to, LONG) : -FI_ETIMEDOUT;
}

TEST_F_TIMEOUT(rdm, long_messages_need_one_registration_at_each_end, 120)
{
	unsigned int before;
	int i;

	ASSERT_EQ(0, rdm_message(self->end, self->from, self->to));
	before = made;
	for (i = 0; i < 10; i++)
		ASSERT_EQ(0, rdm_message(self->end, self->from, self->to));
	EXPECT_EQ(variant->keeps ? 0 : 20, made - before);
	/* Both buffers are other memory now. */
	ASSERT_EQ(0, remap(self->from, LONG, 'b'));
	ASSERT_EQ(0, remap(self->to, LONG, 'y'));
	for (i = 0; i < 10; i++)
		ASSERT_EQ(0, rdm_message(self->end, self->from, self->to));
	EXPECT_EQ(variant->keeps ? 2 : 40, made - before);
}

TEST_HARNESS_MAIN
