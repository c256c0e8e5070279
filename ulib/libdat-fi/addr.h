/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Copyright (c) The dat authors */
/* Addresses of IPv4 and IPv6. */
#ifndef FDAT_ADDR_H
#define FDAT_ADDR_H

#include <netinet/in.h>
#include <stdint.h>

union fdat_addr {
	struct sockaddr		sa;
	struct sockaddr_in	in;
	struct sockaddr_in6	in6;
};

/* Returns the bytes of the address, or 0 if its family is neither IPv4 nor IPv6. */
size_t fdat_addr_len(const struct sockaddr *sa);
/* Returns the port, in host byte order. */
uint16_t fdat_addr_port(const union fdat_addr *a);
void fdat_addr_set_port(union fdat_addr *a, uint16_t port);
/* Returns whether the address names no host, such as 0.0.0.0. */
int fdat_addr_is_any(const union fdat_addr *a);
int fdat_addr_is_loopback(const union fdat_addr *a);
/* Returns whether both are one host; the ports may differ. */
int fdat_addr_same_host(const union fdat_addr *a, const union fdat_addr *b);
/* Returns whether the address is one of this host. */
int fdat_addr_is_local(const union fdat_addr *a);
/* Returns whether both are addresses of one network interface of this host. */
int fdat_addr_same_interface(const union fdat_addr *a, const union fdat_addr *b);
uint32_t fdat_addr_format(const union fdat_addr *a);

/**
 * fdat_addr_copy - read an address of the program
 * @a: out
 * @from: the address
 * @len: its bytes
 *
 * Return: 0, or -FI_EINVAL if it is neither an IPv4 nor an IPv6 address, or too short.
 */
int fdat_addr_copy(union fdat_addr *a, const void *from, size_t len);

/**
 * fdat_addr_resolve - look up the name of a host and the name of a service
 * @node: host, or NULL
 * @service: service, or NULL
 * @flags: FI_SOURCE if the address is to listen at, and FI_NUMERICHOST
 * @family: family of the address; AF_UNSPEC prefers IPv4
 * @a: out
 *
 * Return: 0 or -FI_ENODATA.
 */
int fdat_addr_resolve(const char *node, const char *service, uint64_t flags, int family,
		      union fdat_addr *a);

/**
 * fdat_addr_give - return an address to the program, as fi_getname() does
 * @a: the address
 * @to: memory of the program
 * @len: in: bytes of @to; out: bytes of the address
 *
 * Return: 0, or -FI_ETOOSMALL with as many bytes as there is room for.
 */
int fdat_addr_give(const union fdat_addr *a, void *to, size_t *len);

/**
 * fdat_addr_of_interface - find the other address of a network interface
 * @a: an address of the interface
 * @family: family of the wanted address
 * @found: out: the address, with family 0 if there is none
 *
 * A global address is preferred to a link-local one.
 */
void fdat_addr_of_interface(const union fdat_addr *a, int family, union fdat_addr *found);

#endif /* FDAT_ADDR_H */
