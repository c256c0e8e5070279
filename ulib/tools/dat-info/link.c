// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/*
 * Link, speed, MTU and GIDs of the port of an adapter.
 *
 * Shows only what is known.  sysfs has a rate for soft RoCE and soft iWARP even if nothing knows
 * the speed, so for Ethernet the speed is that of the network interface.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <inttypes.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "info.h"

#define PORT	"/sys/class/infiniband/%s/ports/%u"
#define CONFIG	"/sys/kernel/config/rdma_cm/%s/ports/%u/default_roce_mode"
#define NONE	"0000:0000:0000:0000:0000:0000:0000:0000"

/*
 * struct gid - entry of the GID table of a port
 * @index: index in the table
 * @gid: GID as text
 * @type: "RoCE v2", "IB/RoCE v1", or empty
 * @interface: network interface of the GID, or empty
 * @of_address: flag: the GID is the address of the adapter
 */
struct gid {
	unsigned int	index;
	char		gid[64];
	char		type[32];
	char		interface[IF_NAMESIZE];
	int		of_address;
};

/*
 * struct link - properties of a port
 * @state: state in verbs, for example "ACTIVE"; empty: unknown
 * @physical: physical state, for example "LinkUp"; empty: unknown
 * @rate: speed as text; empty: unknown, or the port is down
 * @mbits: speed in Mb/s; 0: unknown, or the port is down
 * @width: number of lanes of an InfiniBand link; 0: unknown
 * @mtu: bytes of payload of a packet; 0: unknown, or the port is down
 * @gid: array of the GIDs that are set
 * @n: number of elements in @gid
 * @used: GID from which connections are made, or NULL if unknown
 */
struct link {
	char			state[32];
	char			physical[32];
	char			rate[64];
	unsigned long		mbits;
	unsigned int		width;
	unsigned int		mtu;
	struct gid		*gid;
	size_t			n;
	const struct gid	*used;
};

/* Read a state of sysfs, "4: ACTIVE", without its number. */
static void read_state(char *buf, size_t size, const struct dat_ia_query *q, const char *file)
{
	char text[64];
	char *name;

	text_read(text, sizeof(text), PORT "/%s", q->device, q->port, file);
	name = strstr(text, ": ");
	snprintf(buf, size, "%.*s", (int)size - 1, name ? name + 2 : text);
}

/* Returns the address of the adapter as a GID: IPv4 addresses are mapped to IPv6. */
static struct in6_addr address_gid(const struct dat_ia_query *q)
{
	const struct sockaddr_in6 *in6 = (const void *)q->addr;
	const struct sockaddr_in *in = (const void *)q->addr;
	struct in6_addr gid = IN6ADDR_ANY_INIT;

	if (q->addr_len && in->sin_family == AF_INET6)
		return in6->sin6_addr;
	if (q->addr_len && in->sin_family == AF_INET) {
		memset(&gid.s6_addr[10], 0xff, 2);
		memcpy(&gid.s6_addr[12], &in->sin_addr, 4);
	}
	return gid;
}

static void read_gids(struct link *l, const struct dat_ia_query *q)
{
	struct in6_addr own = address_gid(q), gid;
	struct gid *g;
	char text[64];
	unsigned int i;

	for (i = 0; !text_read(text, sizeof(text), PORT "/gids/%u", q->device, q->port, i); i++) {
		if (!strcmp(text, NONE))
			continue;
		g = reallocarray(l->gid, l->n + 1, sizeof(*g));
		if (!g)
			return;
		l->gid = g;
		g = &l->gid[l->n++];
		g->index = i;
		strcpy(g->gid, text);
		text_read(g->type, sizeof(g->type), PORT "/gid_attrs/types/%u", q->device, q->port,
			  i);
		text_read(g->interface, sizeof(g->interface), PORT "/gid_attrs/ndevs/%u",
			  q->device, q->port, i);
		g->of_address = inet_pton(AF_INET6, text, &gid) == 1 &&
				!memcmp(&gid, &own, sizeof(gid));
	}
}

/*
 * Find the GID from which rdma_cm connects.  If the adapter's address is in the table with more
 * than one type, rdma_cm prefers RoCE v2, unless the administrator has chosen another in configfs.
 */
static void find_used(struct link *l, const struct dat_ia_query *q)
{
	char type[32];
	size_t i;

	if (text_read(type, sizeof(type), CONFIG, q->device, q->port))
		strcpy(type, "RoCE v2");
	for (i = 0; i < l->n; i++)
		if (l->gid[i].of_address && (!l->used || !strcmp(l->gid[i].type, type)))
			l->used = &l->gid[i];
}

/* Returns the speed of a network interface in Mb/s, or 0 if its driver does not tell. */
static unsigned long interface_speed(const char *name)
{
	struct ethtool_cmd cmd = { .cmd = ETHTOOL_GSET };
	struct ifreq req = { .ifr_data = (char *)&cmd };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	unsigned int speed = 0;

	if (fd < 0)
		return 0;
	snprintf(req.ifr_name, sizeof(req.ifr_name), "%s", name);
	if (!ioctl(fd, SIOCETHTOOL, &req))
		speed = ethtool_cmd_speed(&cmd);
	close(fd);
	return speed == (unsigned int)SPEED_UNKNOWN ? 0 : speed;
}

static void ethernet_speed(struct link *l, const struct dat_ia_query *q)
{
	char name[IF_NAMESIZE];

	if (l->used)
		strcpy(name, l->used->interface);
	else if (text_read(name, sizeof(name), PORT "/gid_attrs/ndevs/0", q->device, q->port))
		return;
	l->mbits = interface_speed(name);
	if (l->mbits)
		snprintf(l->rate, sizeof(l->rate), "%g Gb/s", (double)l->mbits / 1000);
}

/* Read the speed of an InfiniBand port: "100 Gb/sec (4X EDR)". */
static void infiniband_speed(struct link *l, const struct dat_ia_query *q)
{
	double gbits;

	text_read(l->rate, sizeof(l->rate), PORT "/rate", q->device, q->port);
	if (sscanf(l->rate, "%lf Gb/sec (%uX", &gbits, &l->width) >= 1)
		l->mbits = (unsigned long)(gbits * 1000);
}

static void link_get(struct link *l, const struct adapter *a)
{
	const struct dat_ia_query *q = &a->query;
	char layer[32];

	memset(l, 0, sizeof(*l));
	read_state(l->state, sizeof(l->state), q, "state");
	read_state(l->physical, sizeof(l->physical), q, "phys_state");
	text_read(layer, sizeof(layer), PORT "/link_layer", q->device, q->port);
	/* The GIDs of iWARP are MAC addresses, which no connection uses. */
	if (!(q->flags & DAT_IA_FLAG_IWARP)) {
		read_gids(l, q);
		find_used(l, q);
	}
	if (!a->active)
		return;
	l->mtu = q->mtu;
	if (!strcmp(layer, "InfiniBand"))
		infiniband_speed(l, q);
	else
		ethernet_speed(l, q);
}

void link_text(const struct adapter *a)
{
	const struct gid *g;
	struct link l;

	link_get(&l, a);
	text_print(stdout, "  link      %s%s%s\n", l.state[0] ? l.state : "unknown",
		   l.physical[0] ? ", " : "", l.physical);
	text_print(stdout, "  speed     %s\n", l.rate[0] ? l.rate : "unknown");
	if (l.mtu)
		printf("  mtu       %u bytes\n", l.mtu);
	for (g = l.gid; g < l.gid + l.n; g++)
		text_print(stdout, "  gid %-5u %s%s%s%s%s%s\n", g->index, g->gid,
			   g->type[0] ? ", " : "", g->type, g->interface[0] ? ", " : "",
			   g->interface, g == l.used ? ", in use" : "");
	free(l.gid);
}

static void str_or_null(const char *key, const char *value)
{
	if (value[0])
		json_str(key, value);
	else
		json_null(key);
}

static void num_or_null(const char *key, uint64_t value)
{
	if (value)
		json_num(key, value);
	else
		json_null(key);
}

void link_json(const struct adapter *a)
{
	const struct gid *g;
	struct link l;

	link_get(&l, a);
	str_or_null("link_state", l.state);
	str_or_null("physical_state", l.physical);
	num_or_null("speed_mbits", l.mbits);
	num_or_null("width", l.width);
	num_or_null("mtu", l.mtu);
	json_open("gids", '[');
	for (g = l.gid; g < l.gid + l.n; g++) {
		json_open(NULL, '{');
		json_num("index", g->index);
		json_str("gid", g->gid);
		str_or_null("type", g->type);
		str_or_null("interface", g->interface);
		json_bool("in_use", g == l.used);
		json_close('}');
	}
	json_close(']');
	free(l.gid);
}
