// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* The log messages of the provider for libfabric. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "fi_test.h"

#define VERSION		FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION)

FIXTURE(log) {
	char text[65536];	/* log of the last call */
};

/* libfabric reads the level once, in its first call. */
FIXTURE_SETUP(log)
{
	setenv("FI_LOG_LEVEL", "info", 1);
	setenv("FI_LOG_PROV", "dat", 1);
}

FIXTURE_TEARDOWN(log)
{
}

/* Returns the result for @hints, which it frees, and stores the log of the call. */
static int ask_logged(struct fi_info *hints, const char *node, char *text, size_t size)
{
	int old = dup(STDERR_FILENO), ret;
	FILE *file = tmpfile();
	struct fi_info *info = NULL;
	size_t n;

	dup2(fileno(file), STDERR_FILENO);
	ret = fi_getinfo(VERSION, node, NULL, node ? FI_NUMERICHOST : 0, hints, &info);
	dup2(old, STDERR_FILENO);
	close(old);
	fi_freeinfo(info);
	fi_freeinfo(hints);
	rewind(file);
	n = fread(text, 1, size - 1, file);
	text[n] = 0;
	fclose(file);
	return ret;
}

#define MISSES(change, reason) do {							\
	struct fi_info *h = f_hints();							\
											\
	change;										\
	EXPECT_EQ(-FI_ENODATA, ask_logged(h, NULL, self->text, sizeof(self->text)));	\
	EXPECT_NE(NULL, strstr(self->text, reason));					\
} while (0)

TEST_F_TIMEOUT(log, tells_why_hints_cannot_be_met, F_TEST_S)
{
	EXPECT_EQ(0, ask_logged(f_hints(), NULL, self->text, sizeof(self->text)));
	MISSES(h->caps |= FI_TAGGED, ": caps asks for");
	MISSES(h->ep_attr->type = FI_EP_DGRAM, "ep_attr->type asks for");
	MISSES(h->ep_attr->tx_ctx_cnt = 2, "ep_attr->tx_ctx_cnt asks for 2, but the limit is 1");
	MISSES(h->domain_attr->mr_mode = FI_MR_LOCAL, "domain_attr->mr_mode is");
	MISSES(h->domain_attr->mr_key_size = 2, "mr_key_size is 2, but a key has 4 bytes");
	MISSES(h->mode = 0; h->domain_attr->cq_data_size = 4, "domain_attr->cq_data_size");
	MISSES(h->tx_attr->op_flags = FI_DELIVERY_COMPLETE, "tx_attr->op_flags asks for");
	MISSES(h->rx_attr->size = 1 << 30, "rx_attr->size asks for 1073741824");
	MISSES(h->addr_format = FI_SOCKADDR_IB, "addr_format asks for");
	MISSES(h->fabric_attr->name = strdup("ethernet"), "fabric_attr->name asks for ethernet");
	MISSES(free(h->domain_attr->name); h->domain_attr->name = strdup("nothing0"),
	       "domain_attr->name asks for nothing0");
}

TEST_F_TIMEOUT(log, does_not_complain_of_an_address_of_ipv6, F_TEST_S)
{
	/* No adapter within the host has it. */
	ask_logged(f_hints(), "2001:db8::1", self->text, sizeof(self->text));
	EXPECT_EQ(NULL, strstr(self->text, "cannot resolve"));
}

TEST_HARNESS_MAIN
