// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/* Conversion of values to text. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <inttypes.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "../common/text.h"
#include "info.h"

/*
 * Clean the text, because users choose the names of processes and files, and a name must not be
 * able to control the terminal.
 */
void text_print(FILE *to, const char *fmt, ...)
{
	char text[4096];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	text_clean(text, 1);
	fputs(text, to);
}

const char *text_bytes(uint64_t n, char buf[32])
{
	static const char *const units[] = { "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	unsigned int i = 0;

	if (n < 1024)
		return NULL;
	for (n /= 1024; n >= 1024 && i < 5; i++)
		n /= 1024;
	snprintf(buf, 32, "%" PRIu64 " %s", n, units[i]);
	return buf;
}

void text_address(const void *sockaddr, char buf[INFO_ADDR_SIZE])
{
	const struct sockaddr_in6 *in6 = sockaddr;
	const struct sockaddr_in *in = sockaddr;
	char scope[IF_NAMESIZE];

	buf[0] = '\0';
	if (in->sin_family == AF_INET)
		inet_ntop(AF_INET, &in->sin_addr, buf, INFO_ADDR_SIZE);
	if (in->sin_family != AF_INET6)
		return;
	inet_ntop(AF_INET6, &in6->sin6_addr, buf, INFO_ADDR_SIZE);
	if (in6->sin6_scope_id && if_indextoname(in6->sin6_scope_id, scope))
		strncat(strncat(buf, "%", 2), scope, IF_NAMESIZE);
}

int text_read(char *buf, size_t size, const char *fmt, ...)
{
	char path[512];
	va_list ap;
	FILE *f;
	int ok;

	va_start(ap, fmt);
	vsnprintf(path, sizeof(path), fmt, ap);
	va_end(ap);
	buf[0] = '\0';
	f = fopen(path, "re");
	if (!f)
		return -1;
	ok = !!fgets(buf, (int)size, f);
	fclose(f);
	if (!ok)
		buf[0] = '\0';
	buf[strcspn(buf, "\n")] = '\0';
	return ok ? 0 : -1;
}
