// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
#include <dirent.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "fi_test.h"

#define VERSION		FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION)

#ifdef __SANITIZE_ADDRESS__
#define PROVIDERS	"/../ulib-asan"
#else
#define PROVIDERS	"/../ulib"
#endif

/* libfabric looks for the provider of this tree. */
static void __attribute__((constructor)) find_provider(void)
{
	char path[PATH_MAX], *dir;
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);

	if (n < 0)
		return;
	path[n] = 0;
	dir = dirname(path);
	strncat(dir, PROVIDERS, sizeof(path) - strlen(dir) - 1);
	setenv("FI_PROVIDER_PATH", dir, 0);
	/* Others start threads and handle signals when libfabric loads them. */
	setenv("FI_PROVIDER", "dat", 0);
}

/*
 * Close the verbs devices that another provider of libfabric has opened: soft-RoCE is removed only
 * after that.
 */
static void close_verbs(void)
{
	char path[64], target[64];
	struct dirent *d;
	DIR *dir = opendir("/proc/self/fd");
	ssize_t n;

	while (dir && (d = readdir(dir))) {
		snprintf(path, sizeof(path), "/proc/self/fd/%.16s", d->d_name);
		n = readlink(path, target, sizeof(target) - 1);
		target[n > 0 ? n : 0] = 0;
		if (strstr(target, "infiniband"))
			close(atoi(d->d_name));
	}
	if (dir)
		closedir(dir);
}

void f_start(void)
{
	struct fi_info *info = NULL;

	find_provider();
	fi_getinfo(VERSION, NULL, NULL, FI_PROV_ATTR_ONLY, NULL, &info);
	fi_freeinfo(info);
	close_verbs();
}

struct fi_info *f_hints(void)
{
	const char *adapter = getenv("DAT_ADAPTER");
	struct fi_info *hints = fi_allocinfo();

	if (!hints)
		return NULL;
	hints->caps = FI_MSG | FI_RMA;
	hints->mode = ~0ULL;
	hints->ep_attr->type = FI_EP_MSG;
	hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED |
				      FI_MR_PROV_KEY;
	hints->domain_attr->name = adapter ? strdup(adapter) : NULL;
	hints->fabric_attr->prov_name = strdup("dat");
	return hints;
}

int f_info(struct f_pair *p)
{
	uint32_t version = p->opts.version ? p->opts.version : VERSION;
	struct fi_info *hints = f_hints();
	int ret;

	if (!hints)
		return -FI_ENOMEM;
	hints->tx_attr->size = p->opts.tx_size;
	hints->rx_attr->size = p->opts.rx_size;
	hints->tx_attr->iov_limit = p->opts.iov;
	hints->rx_attr->iov_limit = p->opts.iov;
	hints->addr_format = p->opts.format;
	if (p->opts.shared)
		hints->ep_attr->rx_ctx_cnt = FI_SHARED_CONTEXT;
	if (p->opts.no_data)
		hints->mode &= ~FI_RX_CQ_DATA;
	if (p->opts.mr_mode)
		hints->domain_attr->mr_mode = p->opts.mr_mode;
	ret = fi_getinfo(version, NULL, NULL, 0, hints, &p->info);
	fi_freeinfo(hints);
	return ret;
}

int f_end_queues(struct f_pair *p, struct f_end *end)
{
	struct fi_eq_attr eq = { .wait_obj = FI_WAIT_UNSPEC };
	struct fi_cq_attr cq = {
		.size = p->opts.cq_size, .format = FI_CQ_FORMAT_TAGGED,
		.wait_obj = p->opts.wait ? p->opts.wait : FI_WAIT_FD,
		.wait_cond = p->opts.cond,
	};
	int ret = fi_eq_open(p->fabric, &eq, &end->eq, NULL);

	return ret ? ret : fi_cq_open(p->domain, &cq, &end->cq, NULL);
}

int f_end_open(struct f_pair *p, struct f_end *end, struct fi_info *info)
{
	int ret = fi_endpoint(p->domain, info, &end->ep, end);

	if (!ret)
		ret = fi_ep_bind(end->ep, &end->eq->fid, 0);
	if (!ret)
		ret = fi_ep_bind(end->ep, &end->cq->fid,
				 FI_TRANSMIT | FI_RECV | p->opts.cq_flags);
	if (!ret && p->srx && info->handle)
		ret = fi_ep_bind(end->ep, &p->srx->fid, 0);
	return ret ? ret : fi_enable(end->ep);
}

int f_listen(struct f_pair *p)
{
	int ret = fi_passive_ep(p->fabric, p->info, &p->pep, p);

	if (!ret)
		ret = fi_pep_bind(p->pep, &p->server.eq->fid, 0);
	return ret ? ret : fi_listen(p->pep);
}

static int mem_open(struct f_pair *p)
{
	p->mem = mmap(NULL, F_MEM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p->mem == MAP_FAILED)
		return -FI_ENOMEM;
	return fi_mr_reg(p->domain, p->mem, F_MEM, F_ACCESS, 0, 0, 0, &p->mr, NULL);
}

int f_open(struct f_pair *p)
{
	int ret = f_info(p);

	if (!ret)
		ret = fi_fabric(p->info->fabric_attr, &p->fabric, NULL);
	if (!ret)
		ret = fi_domain(p->fabric, p->info, &p->domain, NULL);
	if (!ret)
		ret = mem_open(p);
	if (!ret && p->opts.shared)
		ret = fi_srx_context(p->domain, p->info->rx_attr, &p->srx, p);
	if (!ret)
		ret = f_end_queues(p, &p->client);
	return ret ? ret : f_end_queues(p, &p->server);
}

int f_accept(struct f_pair *p)
{
	struct fi_eq_cm_entry entry;
	int ret;

	if (f_event(p->server.eq, &entry, sizeof(entry), NULL) != FI_CONNREQ)
		return -FI_ENOMSG;
	ret = f_end_open(p, &p->server, entry.info);
	fi_freeinfo(entry.info);
	return ret ? ret : fi_accept(p->server.ep, NULL, 0);
}

int f_connect(struct f_pair *p)
{
	struct fi_eq_cm_entry entry;
	struct sockaddr_storage addr;
	size_t len = sizeof(addr);
	int ret = f_listen(p);

	if (!ret)
		ret = fi_getname(&p->pep->fid, &addr, &len);
	if (!ret)
		ret = f_end_open(p, &p->client, p->info);
	if (!ret)
		ret = fi_connect(p->client.ep, &addr, NULL, 0);
	if (!ret)
		ret = f_accept(p);
	if (ret)
		return ret;
	if (f_event(p->client.eq, &entry, sizeof(entry), NULL) != FI_CONNECTED ||
	    f_event(p->server.eq, &entry, sizeof(entry), NULL) != FI_CONNECTED)
		return -FI_ENOMSG;
	return 0;
}

static void close_fid(struct fid *fid)
{
	if (fid)
		fi_close(fid);
}

void f_end_close(struct f_end *end)
{
	close_fid(end->ep ? &end->ep->fid : NULL);
	end->ep = NULL;
}

static void queues_close(struct f_end *end)
{
	close_fid(end->cq ? &end->cq->fid : NULL);
	close_fid(end->eq ? &end->eq->fid : NULL);
}

void f_close(struct f_pair *p)
{
	f_end_close(&p->client);
	f_end_close(&p->server);
	close_fid(p->pep ? &p->pep->fid : NULL);
	close_fid(p->srx ? &p->srx->fid : NULL);
	queues_close(&p->client);
	queues_close(&p->server);
	close_fid(p->mr ? &p->mr->fid : NULL);
	close_fid(p->domain ? &p->domain->fid : NULL);
	close_fid(p->fabric ? &p->fabric->fid : NULL);
	fi_freeinfo(p->info);
	munmap(p->mem, F_MEM);
}

int f_event(struct fid_eq *eq, struct fi_eq_cm_entry *entry, size_t len, ssize_t *got)
{
	uint32_t event = 0;
	ssize_t n = fi_eq_sread(eq, &event, entry, len, F_WAIT_MS, 0);

	if (got)
		*got = n;
	return n < 0 ? (int)n : (int)event;
}

ssize_t f_comp(struct fid_cq *cq, struct fi_cq_tagged_entry *entry)
{
	struct fi_cq_tagged_entry unused;

	return fi_cq_sread(cq, entry ? entry : &unused, 1, NULL, F_WAIT_MS);
}

int f_comp_error(struct fid_cq *cq, struct fi_cq_err_entry *entry)
{
	memset(entry, 0, sizeof(*entry));
	if (f_comp(cq, NULL) != -FI_EAVAIL || fi_cq_readerr(cq, entry, 0) != 1)
		return 0;
	return entry->err;
}

int64_t f_now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * INT64_C(1000) + t.tv_nsec / 1000000;
}

ssize_t f_send(struct f_pair *p, struct fid_ep *ep, size_t offset, size_t len, void *context)
{
	return fi_send(ep, p->mem + offset, len, fi_mr_desc(p->mr), 0, context);
}

ssize_t f_recv(struct f_pair *p, struct fid_ep *ep, size_t offset, size_t len, void *context)
{
	return fi_recv(ep, p->mem + offset, len, fi_mr_desc(p->mr), 0, context);
}
