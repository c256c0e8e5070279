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

int adapter_is_local(const struct adapter *a)
{
	return !a->err && a->query.flags & DAT_IA_FLAG_LOCAL;
}

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
	/* The loopback address of a local adapter works even if no interface has it. */
	if (!adapter_is_local(a) && !is_local(a->addr))
		a->addr[0] = '\0';
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

/*
 * struct addrs - the IP addresses at which an adapter can be reached
 * @text: addresses, allocated
 * @n: number of @text
 */
struct addrs {
	char		(*text)[INFO_ADDR_SIZE];
	unsigned int	n;
};

static void addrs_add(struct addrs *list, const char *addr)
{
	unsigned int i;
	void *bigger;

	for (i = 0; i < list->n; i++)
		if (!strcmp(list->text[i], addr))
			return;
	bigger = reallocarray(list->text, list->n + 1, sizeof(*list->text));
	if (!bigger)
		tool_die("no memory");
	list->text = bigger;
	strcpy(list->text[list->n++], addr);
}

/*
 * Find the addresses of an adapter, the one that represents it first.  An older driver has no
 * DAT_IOC_IA_ADDR.  The caller frees @list->text.
 */
static void addrs_find(const struct adapter *a, struct addrs *list)
{
	struct dat_ia_addr arg = { .size = sizeof(arg) };
	int fd = du_dev_open(DU_DEV_DAT, 1);
	struct adapter same = *a;
	char text[INFO_ADDR_SIZE];

	memset(list, 0, sizeof(*list));
	if (a->addr[0])
		addrs_add(list, a->addr);
	if (fd < 0)
		return;
	if (!query(fd, &same)) {
		while (!du_ioctl(fd, DAT_IOC_IA_ADDR, &arg)) {
			text_address(arg.addr, text);
			addrs_add(list, text);
		}
	}
	close(fd);
}

static const char *transport(const struct dat_ia_query *q)
{
	char layer[32];

	if (q->flags & DAT_IA_FLAG_LOCAL)
		return "local";
	if (q->flags & DAT_IA_FLAG_IWARP)
		return "iWARP";
	text_read(layer, sizeof(layer), "/sys/class/infiniband/%s/ports/%u/link_layer",
		  q->device, q->port);
	return strcmp(layer, "Ethernet") ? "InfiniBand" : "RoCE";
}

void adapter_text(const struct adapter *a)
{
	const struct dat_ia_query *q = &a->query;
	struct addrs list;
	unsigned int i;

	printf("  state     %s\n", adapter_state(a));
	if (a->err)
		return;
	addrs_find(a, &list);
	printf("  address   %s\n", list.n ? list.text[0] : "none");
	for (i = 1; i < list.n; i++)
		printf("            %s\n", list.text[i]);
	free(list.text);
	if (adapter_is_local(a)) {
		printf("  device    none: it reaches the programs of this host alone\n");
		return;
	}
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
	struct addrs list;
	unsigned int i;

	json_str("state", adapter_state(a));
	if (a->err)
		return;
	json_bool("active", a->active);
	json_str("address", a->addr);
	addrs_find(a, &list);
	json_open("addresses", '[');
	for (i = 0; i < list.n; i++)
		json_str(NULL, list.text[i]);
	json_close(']');
	free(list.text);
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
