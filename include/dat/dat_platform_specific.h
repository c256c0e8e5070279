/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* DAT's types on Linux. */
#ifndef DAT_PLATFORM_SPECIFIC_H
#define DAT_PLATFORM_SPECIFIC_H

#include <stddef.h>
#include <stdint.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/types.h>

/* Direction of an argument, for declarations that have it before the type. */
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

/* C++ before C++11 hides it. */
#ifndef UINT64_C
#define UINT64_C(c)		c ## ULL
#endif

/* Bytes; a buffer with this alignment has that of every provider. */
#define DAT_OPTIMAL_ALIGNMENT	256

#endif /* DAT_PLATFORM_SPECIFIC_H */
