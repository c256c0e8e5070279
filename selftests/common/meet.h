/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) The dat authors */
/* Connections to addresses that a test names, and the commands that make such addresses. */
#ifndef MEET_H
#define MEET_H

#include <netdb.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "dat_test.h"

#define ESTABLISHED	0	/* result of meet() after a success */

/* Run an "ip" command.  Return 0 or -1. */
__attribute__((format(printf, 1, 2)))
static int ip(const char *format, ...)
{
	char cmd[200] = "ip ";
	va_list args;

	va_start(args, format);
	vsnprintf(cmd + 3, sizeof(cmd) - 3, format, args);
	va_end(args);
	return system(cmd) ? -1 : 0;
}

static int parse(const char *text, struct sockaddr_storage *ss)
{
	struct addrinfo hints = { .ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_STREAM }, *ai;

	memset(ss, 0, sizeof(*ss));
	if (getaddrinfo(text, NULL, &hints, &ai))
		return 0;
	memcpy(ss, ai->ai_addr, ai->ai_addrlen);
	freeaddrinfo(ai);
	return ss->ss_family == AF_INET ? sizeof(struct sockaddr_in) :
					  sizeof(struct sockaddr_in6);
}

static void print(const void *addr, char text[64])
{
	const struct sockaddr *sa = addr;

	strcpy(text, "none");
	getnameinfo(sa, sa->sa_family == AF_INET ? sizeof(struct sockaddr_in) :
						   sizeof(struct sockaddr_in6),
		    text, 64, NULL, 0, NI_NUMERICHOST);
}

/* End both EPs, whatever their state is, so that they can be used again. */
static void part(struct t_pair *p)
{
	struct dat_eqe eqe;
	int i;

	for (i = 0; i < 2; i++)
		t_disconnect(&p->f, &p->ep[i], 1);
	for (i = 0; i < 2; i++) {
		while (t_reset(&p->f, &p->ep[i]) == -EISCONN)
			t_event(&p->evd[i], 100, &eqe);
		while (t_event(&p->evd[i], 0, &eqe))
			;
	}
}

static int accept_and_part(struct t_pair *p, uint32_t cr, char from[64])
{
	struct dat_ep_query q = { .size = sizeof(q), .id = p->ep[1].id };
	struct dat_eqe eqe[2];
	int ret, i;

	ret = t_accept(&p->f, cr, &p->ep[0], NULL, 0);
	if (ret)
		return ret;
	for (i = 0; i < 2; i++)
		if (!t_event(&p->evd[i], T_WAIT_MS, &eqe[i]))
			return -ETIMEDOUT;
	if (eqe[0].type != DAT_EV_ESTABLISHED || eqe[1].type != DAT_EV_ESTABLISHED)
		return (int)eqe[1].type;
	ret = t_ioctl(p->f.fd, DAT_IOC_EP_QUERY, &q);
	print(q.local, from);
	part(p);
	return ret;
}

/*
 * Connect to the listener of @p at the address @to, and disconnect.  Set @from to the address from
 * which the connection came.  Return ESTABLISHED, the type of the event that ended the attempt, or
 * a negative errno.
 */
static int meet(struct t_pair *p, const char *to, char from[64])
{
	struct dat_ep_connect arg = {
		.size = sizeof(arg), .id = p->ep[1].id, .conn_qual = T_QUAL,
		.timeout_us = DAT_WAIT_FOREVER,
	};
	struct sockaddr_storage ss;
	struct dat_eqe eqe;
	int ret, i;

	arg.addr_len = parse(to, &ss);
	memcpy(arg.addr, &ss, arg.addr_len);
	ret = t_ioctl(p->f.fd, DAT_IOC_EP_CONNECT, &arg);
	if (ret)
		return ret;
	for (i = 0; i < T_WAIT_MS / 20; i++) {
		if (t_event(&p->cr, 10, &eqe))
			return accept_and_part(p, eqe.len, from);
		if (t_event(&p->evd[1], 10, &eqe)) {
			part(p);
			return (int)eqe.type;
		}
	}
	return -ETIMEDOUT;
}

#endif /* MEET_H */
