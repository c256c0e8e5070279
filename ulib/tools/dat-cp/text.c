// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/* Names of files and digests as text. */
#include <stdio.h>
#include <string.h>

#include "../common/text.h"
#include "cp.h"

void cp_clean_name(const char *from, char to[CP_NAME_MAX + 1])
{
	const char *slash = strrchr(from, '/');

	from = slash ? slash + 1 : from;
	to[0] = 0;
	if (strlen(from) <= CP_NAME_MAX)
		strcpy(to, from);
	text_clean(to, 0);
}

void cp_hex(const uint8_t digest[CP_DIGEST], char hex[2 * CP_DIGEST + 1])
{
	int i;

	for (i = 0; i < CP_DIGEST; i++)
		sprintf(hex + 2 * i, "%02x", digest[i]);
}
