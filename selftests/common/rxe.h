/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The virtual machine's adapter rxe0, and the addresses of its interface v0.  Many tests ask for
 * them, so the answers need no other program: on a debug kernel its start takes half a second.
 */
#ifndef RXE_H
#define RXE_H

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static inline int rxe_exists(void)
{
	return !access("/sys/class/infiniband/rxe0/ports/1", F_OK);
}

/* Returns 1 if v0 has the IPv4 address @addr. */
static inline int v0_has(const char *addr)
{
	const struct sockaddr_in *sin;
	struct ifaddrs *all, *i;
	struct in_addr in;
	int found = 0;

	inet_pton(AF_INET, addr, &in);
	if (getifaddrs(&all))
		return 0;
	for (i = all; i; i = i->ifa_next) {
		sin = (const void *)i->ifa_addr;
		if (sin && sin->sin_family == AF_INET && !strcmp(i->ifa_name, "v0") &&
		    sin->sin_addr.s_addr == in.s_addr)
			found = 1;
	}
	freeifaddrs(all);
	return found;
}

/* Add the address @addr to v0, unless v0 has it.  rxe0 needs a moment to accept a new address. */
static inline int v0_add(const char *addr)
{
	char cmd[80];

	if (v0_has(addr))
		return 0;
	snprintf(cmd, sizeof(cmd), "ip addr add %s/24 dev v0 && sleep 0.5", addr);
	return system(cmd) ? -1 : 0;
}

#endif /* RXE_H */
