// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/* The cluster key. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/keyctl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../common/file.h"
#include "nodes.h"

#define KEY_NAME	"rsm:cluster"
#define KEY_BYTES	32	/* bytes of a new key, and minimum of the driver */
#define KEY_BYTES_MAX	128

/* Make a random key as text: 64 hexadecimal digits and a newline. */
static void key_make(char *text)
{
	unsigned char key[KEY_BYTES];
	size_t i;

	if (getrandom(key, sizeof(key), 0) != (ssize_t)sizeof(key))
		die("getrandom: %s", strerror(errno));
	for (i = 0; i < sizeof(key); i++)
		sprintf(text + 2 * i, "%02x", key[i]);
	strcat(text, "\n");
	explicit_bzero(key, sizeof(key));
}

const char *keygen_wrong(const char *name)
{
	if (!strcmp(name, KEY_FILE) && mkdir(KEY_DIR, 0755) && errno != EEXIST)
		die("%s: %s", KEY_DIR, strerror(errno));
	return file_wrong(name);
}

void keygen(const char *name, int force)
{
	char text[2 * KEY_BYTES + 2] = "";
	int ret;

	key_make(text);
	ret = file_write(name, text, strlen(text), FILE_SECRET | (force ? 0 : FILE_NEW));
	explicit_bzero(text, sizeof(text));
	if (ret == -EEXIST)
		die("%s exists: nodes that have it won't know those that have another one; see --force",
		    name);
	if (ret)
		die("%s: %s", name, strerror(-ret));
}

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/*
 * Refuse a key file that other users can read or write, because a host with the key can pose as a
 * node of the cluster.  Refuse an owner other than root and the current user, because the owner can
 * change the key.
 */
static void key_file_check(const char *name, int fd)
{
	struct stat st;

	if (fstat(fd, &st))
		die("%s: %s", name, strerror(errno));
	if (st.st_uid && st.st_uid != geteuid())
		die("%s: it belongs to user %u, who may change it; see whose key it is, then 'chown 0 %s'",
		    name, st.st_uid, name);
	if (S_ISREG(st.st_mode) && st.st_mode & 077)
		die("%s: others than its owner can read or write it", name);
}

static size_t key_read(const char *name, unsigned char *key)
{
	char text[2 * KEY_BYTES_MAX + 2];
	size_t len, i;
	FILE *f = strcmp(name, "-") ? fopen(name, "re") : stdin;

	if (!f)
		die("%s: %s%s", name, strerror(errno),
		    errno == ENOENT ? "; 'rsm-nodes keygen' makes it, once for all nodes" : "");
	if (f != stdin)
		key_file_check(name, fileno(f));
	setbuf(f, NULL);
	len = fread(text, 1, sizeof(text), f);
	if (len && text[len - 1] == '\n')
		len--;
	if (len < 2 * KEY_BYTES || len > 2 * KEY_BYTES_MAX || len % 2)
		die("%s: no key of %d to %d bytes in hexadecimal digits", name, KEY_BYTES,
		    KEY_BYTES_MAX);
	for (i = 0; i < len; i++)
		if (digit(text[i]) < 0)
			die("%s: there is something else than hexadecimal digits in it", name);
	for (i = 0; i < len / 2; i++)
		key[i] = (unsigned char)(digit(text[2 * i]) << 4 | digit(text[2 * i + 1]));
	explicit_bzero(text, sizeof(text));
	if (f != stdin)
		fclose(f);
	return len / 2;
}

void key_set(int32_t serial)
{
	struct dat_rsm_nodes arg = {
		.size = sizeof(arg), .flags = DAT_RSM_NODES_KEY, .key = serial,
	};
	int fd = device();

	call(fd, &arg);
	close(fd);
}

void key_load(const char *name)
{
	unsigned char key[KEY_BYTES_MAX];
	size_t len = key_read(name, key);
	long serial;

	serial = syscall(SYS_add_key, "logon", KEY_NAME, key, len, KEY_SPEC_PROCESS_KEYRING);
	explicit_bzero(key, sizeof(key));
	if (serial < 0)
		die("the kernel takes no key: %s", strerror(errno));
	key_set((int32_t)serial);
}

