// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/*
 * Checks of the ports of all RDMA devices, and of the adapter within the host.  If dat cannot use a
 * port, the check reports the reason.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../common/tool.h"
#include "info.h"

#define SYS	"/sys/class/infiniband"
#define UNKNOWN	"INTERFACE"	/* printed in advice if the interface is unknown */

/*
 * struct port - a port of an RDMA device
 * @device: name of the device
 * @number: number of the port, from 1
 * @asked: flag: the driver was queried; if not set, @adapter contains only the name
 * @adapter: adapter of the port, even if the adapter could not be opened
 */
struct port {
	char		device[64];
	unsigned int	number;
	int		asked;
	struct adapter	adapter;
};

/*
 * struct ports - all ports
 * @port: array of ports
 * @n: number of elements in @port
 * @working: number of ports that dat can use
 */
struct ports {
	struct port	*port;
	size_t		n;
	size_t		working;
};

static int is_working(const struct port *p)
{
	return p->asked && !p->adapter.err && p->adapter.active && p->adapter.addr[0];
}

/*
 * Look up the adapter of a port.  The name of the adapter is the device name of Linux, followed by
 * a colon and the port number.  Port 1 is named without a number.
 */
static void ask(struct port *p, struct adapter *list, int n)
{
	struct adapter *a = &p->adapter, *known;
	char name[DAT_NAME_SIZE + 16];

	snprintf(name, sizeof(name), p->number == 1 ? "%s" : "%s:%u", p->device, p->number);
	known = adapter_find(list, n, name);
	if (known) {
		*a = *known;
	} else {
		snprintf(a->name, sizeof(a->name), "%.*s", (int)sizeof(a->name) - 1, name);
		adapter_query(a);
	}
	p->asked = 1;
}

static void add_port(struct ports *all, const char *device, const char *number)
{
	struct port *p;

	all->port = reallocarray(all->port, all->n + 1, sizeof(*p));
	if (!all->port)
		tool_die("no memory");
	p = &all->port[all->n++];
	memset(p, 0, sizeof(*p));
	snprintf(p->device, sizeof(p->device), "%s", device);
	p->number = (unsigned int)strtoul(number, NULL, 10);
	snprintf(p->adapter.name, sizeof(p->adapter.name), "%s", device);
}

static void add_device(struct ports *all, const char *device)
{
	char path[PATH_MAX];
	struct dirent **d;
	int i, n;

	snprintf(path, sizeof(path), SYS "/%s/ports", device);
	n = scandir(path, &d, NULL, versionsort);
	for (i = 0; i < n; i++) {
		if (isdigit((unsigned char)d[i]->d_name[0]))
			add_port(all, device, d[i]->d_name);
		free(d[i]);
	}
	if (n >= 0)
		free(d);
}

static void find_ports(struct ports *all)
{
	struct dirent **d;
	int i, n = scandir(SYS, &d, NULL, versionsort);

	for (i = 0; i < n; i++) {
		if (d[i]->d_name[0] != '.')
			add_device(all, d[i]->d_name);
		free(d[i]);
	}
	if (n >= 0)
		free(d);
}

/* Returns the name of the network interface of a port, for use in advice. */
static const char *netdev(const struct port *p)
{
	static char name[64];

	if (text_read(name, sizeof(name), SYS "/%s/ports/%u/gid_attrs/ndevs/0", p->device,
		      p->number) &&
	    text_read(name, sizeof(name), SYS "/%s/parent", p->device))
		strcpy(name, UNKNOWN);
	return name;
}

static const char *driver(const struct port *p)
{
	static char target[PATH_MAX];
	char path[512];
	ssize_t n;

	snprintf(path, sizeof(path), SYS "/%s/device/driver", p->device);
	n = readlink(path, target, sizeof(target) - 1);
	target[n > 0 ? n : 0] = '\0';
	return n > 0 ? basename(target) : "its driver";
}

/* Report a problem of a port.  The check fails only if no port works. */
static void report(const struct ports *all, const struct port *p, const char *text,
		   const char *advice)
{
	if (all->working)
		check_report(CHECK_OK, "port", "%s port %u %s; another port works", p->device,
			     p->number, text);
	else
		check_report(CHECK_FAIL, "port", "%s port %u %s -> %s", p->device, p->number,
			     text, advice);
}

static void report_down(const struct ports *all, const struct port *p)
{
	char text[128], advice[256], state[64];

	text_read(state, sizeof(state), SYS "/%s/ports/%u/state", p->device, p->number);
	snprintf(text, sizeof(text), "is not active (%s)", state);
	snprintf(advice, sizeof(advice), "as root: ip link set %s up; look at the cable and the switch",
		 netdev(p));
	report(all, p, text, advice);
}

static void report_address(const struct ports *all, const struct port *p)
{
	const char *name = netdev(p);
	char text[128], advice[256];

	if (strcmp(name, UNKNOWN) && !if_nametoindex(name)) {
		snprintf(text, sizeof(text), "can't be used: its interface %.64s is in another network namespace",
			 name);
		strcpy(advice, "run in that one: ip netns exec NAME ...");
	} else {
		strcpy(text, "has no IP address");
		snprintf(advice, sizeof(advice), "as root: ip addr add ADDRESS/LENGTH dev %s",
			 name);
	}
	report(all, p, text, advice);
}

static void report_unusable(const struct ports *all, const struct port *p)
{
	char text[512], advice[256];

	switch (p->adapter.err) {
	case EOPNOTSUPP:
		snprintf(text, sizeof(text), "can't be used: %.64s can't register user memory for dat",
			 driver(p));
		snprintf(advice, sizeof(advice), "use another device, or soft-RoCE on it: rdma link add rxe0 type rxe netdev %s",
			 netdev(p));
		break;
	case ENOENT:
		strcpy(text, "can't be used: it, or its interface, is in another network namespace");
		snprintf(advice, sizeof(advice), "run there, or as root: rdma dev set %.64s netns NAME",
			 p->device);
		break;
	default:
		snprintf(text, sizeof(text), "can't be opened: %s", strerror(p->adapter.err));
		strcpy(advice, "see what the kernel says (dmesg)");
	}
	report(all, p, text, advice);
}

static void check_port(const struct ports *all, const struct port *p)
{
	char state[64];

	if (!p->asked) {
		text_read(state, sizeof(state), SYS "/%s/ports/%u/state", p->device, p->number);
		if (strstr(state, "ACTIVE"))
			check_report(CHECK_OK, "port", "%s port %u is active", p->device, p->number);
		else
			report_down(all, p);
	} else if (p->adapter.err) {
		report_unusable(all, p);
	} else if (!p->adapter.active) {
		report_down(all, p);
	} else if (!p->adapter.addr[0]) {
		report_address(all, p);
	} else {
		check_report(CHECK_OK, "port", "%s port %u is active, address %s", p->device,
			     p->number, p->adapter.addr);
	}
}

/*
 * Check the adapter within the host.  Without a device it is no problem that there is none, since
 * programs of this host can be reached.  Returns the adapter, or NULL.
 */
static const struct adapter *check_local(struct adapter *list, int n, int devices)
{
	int i;

	for (i = 0; i < n && !adapter_is_local(&list[i]); i++)
		;
	if (i == n)
		return NULL;
	check_report(CHECK_OK, "port", "%s reaches the programs of this host%s", list[i].name,
		     devices ? "" : "; without an RDMA device, no other host can be reached");
	return &list[i];
}

void check_ports(int usable)
{
	struct ports all = { .n = 0 };
	struct adapter *list = NULL;
	int n = usable ? adapter_list(&list) : 0;
	const struct adapter *local;
	size_t i;

	find_ports(&all);
	for (i = 0; usable && i < all.n; i++) {
		ask(&all.port[i], list, n);
		all.working += (size_t)is_working(&all.port[i]);
	}
	local = check_local(list, n, all.n > 0);
	if (!all.n && !local)
		check_report(CHECK_FAIL, "port",
			     "there is no RDMA device -> load the driver of the card; for soft-RoCE, as root: modprobe rdma_rxe; rdma link add rxe0 type rxe netdev INTERFACE");
	for (i = 0; i < all.n; i++)
		check_port(&all, &all.port[i]);
	for (i = 0; i < all.n; i++)
		if (is_working(&all.port[i]))
			check_loop(&all.port[i].adapter);
	if (local)
		check_loop(local);
	free(list);
	free(all.port);
}
