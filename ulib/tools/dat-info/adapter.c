// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/* Adapters of the driver: the list, and the driver's data about each adapter. */
#include <errno.h>
#include <ifaddrs.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../common/dev.h"
#include "../common/tool.h"
#include "info.h"

/*
 * Returns whether @addr is an address of this host.  A RoCE port without an IP address has an
 * address that is derived from the MAC, and that reaches no peer.
 */
static int is_local(const char *addr)
{
	char text[INFO_ADDR_SIZE];
	struct ifaddrs *list, *i;
	int found = 0;

	if (getifaddrs(&list))
		return 1;
	for (i = list; i && !found; i = i->ifa_next) {
		if (!i->ifa_addr)
			continue;
		text_address(i->ifa_addr, text);
		found = !strcmp(text, addr);
	}
	freeifaddrs(list);
	return found;
}

static void add_addr(struct adapter *a, const char *addr)
{
	unsigned int i;
	void *bigger;

	for (i = 0; i < a->naddrs; i++)
		if (!strcmp(a->addrs[i], addr))
			return;
	bigger = reallocarray(a->addrs, a->naddrs + 1, sizeof(*a->addrs));
	if (!bigger)
		tool_die("no memory");
	a->addrs = bigger;
	strcpy(a->addrs[a->naddrs++], addr);
}

/* Find all addresses.  An older driver has only the one of DAT_IOC_IA_QUERY. */
static void find_addrs(int fd, struct adapter *a)
{
	struct dat_ia_addr arg = { .size = sizeof(arg) };
	char text[INFO_ADDR_SIZE];

	a->naddrs = 0;
	if (a->addr[0])
		add_addr(a, a->addr);
	while (!du_ioctl(fd, DAT_IOC_IA_ADDR, &arg)) {
		text_address(arg.addr, text);
		add_addr(a, text);
	}
}

static int query(int fd, struct adapter *a)
{
	struct dat_ia_open open = { .size = sizeof(open) };
	int ret;

	memcpy(open.name, a->name, sizeof(open.name));
	ret = du_ioctl(fd, DAT_IOC_IA_OPEN, &open);
	if (ret)
		return ret;
	a->query.size = sizeof(a->query);
	return du_ioctl(fd, DAT_IOC_IA_QUERY, &a->query);
}

void adapter_query(struct adapter *a)
{
	int fd = du_dev_open(DU_DEV_DAT, 1);

	a->addr[0] = '\0';
	if (fd < 0) {
		a->err = -fd;
		return;
	}
	a->err = -query(fd, a);
	if (!a->err && a->query.addr_len)
		text_address(a->query.addr, a->addr);
	if (!is_local(a->addr))
		a->addr[0] = '\0';
	if (!a->err)
		find_addrs(fd, a);
	close(fd);
}

int adapter_names(struct adapter **list)
{
	struct dat_adapter arg = { .size = sizeof(arg) };
	struct adapter *bigger;
	int fd = du_dev_open(DU_DEV_DAT, 1);
	int n;

	*list = NULL;
	if (fd < 0)
		return fd;
	for (n = 0; !du_ioctl(fd, DAT_IOC_ADAPTER, &arg); n++) {
		bigger = reallocarray(*list, (size_t)n + 1, sizeof(**list));
		if (!bigger)
			tool_die("no memory");
		*list = bigger;
		memset(&bigger[n], 0, sizeof(*bigger));
		memcpy(bigger[n].name, arg.name, sizeof(arg.name));
		bigger[n].active = arg.active != 0;
	}
	close(fd);
	return n;
}

int adapter_list(struct adapter **list)
{
	int n = adapter_names(list), i;

	for (i = 0; i < n; i++)
		adapter_query(&(*list)[i]);
	return n;
}

int adapter_is(const char *adapter, const char *name)
{
	size_t len = strlen(adapter);

	return !strncmp(name, adapter, len) && (!name[len] || !strcmp(name + len, ":1"));
}

struct adapter *adapter_find(struct adapter *list, int n, const char *name)
{
	int i;

	for (i = 0; i < n; i++)
		if (adapter_is(list[i].name, name))
			return &list[i];
	return NULL;
}

const char *adapter_state(const struct adapter *a)
{
	if (a->err)
		return strerror(a->err);
	if (!a->active)
		return "down";
	return a->addr[0] ? "active" : "no-address";
}

static const char *transport(const struct dat_ia_query *q)
{
	char layer[32];

	if (q->flags & DAT_IA_FLAG_IWARP)
		return "iWARP";
	text_read(layer, sizeof(layer), "/sys/class/infiniband/%s/ports/%u/link_layer",
		  q->device, q->port);
	return strcmp(layer, "Ethernet") ? "InfiniBand" : "RoCE";
}

void adapter_text(const struct adapter *a)
{
	const struct dat_ia_query *q = &a->query;
	unsigned int i;

	printf("  state     %s\n", adapter_state(a));
	if (a->err)
		return;
	printf("  address   %s\n", a->addr[0] ? a->addr : "none");
	for (i = 0; i < a->naddrs; i++)
		if (strcmp(a->addrs[i], a->addr))
			printf("            %s\n", a->addrs[i]);
	text_print(stdout, "  device    %s port %u\n", q->device, q->port);
	printf("  vendor    %#x, part %#x, hardware %#x\n", q->vendor_id, q->vendor_part_id,
	       q->hw_ver);
	text_print(stdout, "  firmware  %s\n", q->fw[0] ? (const char *)q->fw : "unknown");
	printf("  transport %s\n", transport(q));
	link_text(a);
}

void adapter_json(const struct adapter *a)
{
	const struct dat_ia_query *q = &a->query;
	unsigned int i;

	json_str("state", adapter_state(a));
	if (a->err)
		return;
	json_bool("active", a->active);
	json_str("address", a->addr);
	json_open("addresses", '[');
	for (i = 0; i < a->naddrs; i++)
		json_str(NULL, a->addrs[i]);
	json_close(']');
	json_str("device", (const char *)q->device);
	json_num("port", q->port);
	json_num("vendor_id", q->vendor_id);
	json_num("vendor_part_id", q->vendor_part_id);
	json_num("hardware_version", q->hw_ver);
	json_str("firmware", (const char *)q->fw);
	json_str("transport", transport(q));
	link_json(a);
	json_num("max_eps", q->max_eps);
	json_num("max_message_size", q->max_message_size);
	json_num("max_lmrs", q->max_lmrs);
	if (q->max_lmr_size == UINT64_MAX)
		json_null("max_lmr_size");
	else
		json_num("max_lmr_size", q->max_lmr_size);
}
