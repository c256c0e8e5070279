/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Copyright (c) The dat authors */
/* Types that DAT leaves to the platform, as defined for Linux. */
#ifndef DAT_PLATFORM_SPECIFIC_H
#define DAT_PLATFORM_SPECIFIC_H

#include <stddef.h>
#include <stdint.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/types.h>

/* Markers for the direction of an argument, which some declarations have before the type. */
#ifndef IN
#define IN
#endif
#ifndef OUT
#define OUT
#endif
#ifndef INOUT
#define INOUT
#endif

typedef uint32_t		DAT_UINT32;
typedef uint64_t		DAT_UINT64;
typedef unsigned long long	DAT_UVERYLONG;

typedef void			*DAT_PVOID;
typedef int			DAT_COUNT;	/* signed: -1 and -2 have a meaning */
typedef DAT_UINT64		DAT_PADDR;

typedef struct sockaddr		DAT_SOCK_ADDR;
typedef struct sockaddr_in6	DAT_SOCK_ADDR6;

#define DAT_AF_INET		AF_INET
#define DAT_AF_INET6		AF_INET6

/* Before C++11, <stdint.h> defines UINT64_C only for C programs. */
#ifndef UINT64_C
#define UINT64_C(c)		c ## ULL
#endif

/* Alignment of buffers, in bytes, that suits every provider. */
#define DAT_OPTIMAL_ALIGNMENT	256

#endif /* DAT_PLATFORM_SPECIFIC_H */
