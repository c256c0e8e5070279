// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
#include <endian.h>
#include <string.h>

#include "dat-blkd.h"

static void no_magic(struct datblk_export *e)
{
	e->magic = 0;
}

static void other_version(struct datblk_export *e)
{
	e->version = htole16(DATBLK_VERSION + 1);
}

static void too_deep(struct datblk_export *e)
{
	e->depth = htole32(1U << 31);
}

static void too_long(struct datblk_export *e)
{
	e->max_bytes = htole32(1U << 30);
}

static void odd_blocks(struct datblk_export *e)
{
	e->block_size = htole32(513);
}

static void negative_size(struct datblk_export *e)
{
	e->size = htole64(~511ULL);
}

static void empty(struct datblk_export *e)
{
	e->size = 0;
}

static void wrong_magic(struct datblk_reply *r)
{
	r->magic = htole16(0xdead);
}

static void wrong_version(struct datblk_reply *r)
{
	r->version = DATBLK_VERSION + 1;
}

static void wrong_op(struct datblk_reply *r)
{
	r->op ^= 3;
}

static void wrong_status(struct datblk_reply *r)
{
	r->status = htole32(0x80000000);
}

static void wrong_index(struct datblk_reply *r)
{
	r->tag |= htole64(0xffff);
}

static void stale_tag(struct datblk_reply *r)
{
	r->tag = htole64(le64toh(r->tag) - 0x10000);
}

static void shorter(struct datblk_reply *r)
{
	r->length = htole32(le32toh(r->length) - 1);
}

static void longer(struct datblk_reply *r)
{
	r->length = htole32(0xffffffff);
}

static void noise(struct datblk_reply *r)
{
	memset(r, 0xa5, sizeof(*r));
}

#define EXPORT(text, fn)	{ .name = text, .export = fn, .copies = 1, \
				  .length = sizeof(struct datblk_reply) }
#define REPLY(text, fn)		{ .name = text, .reply = fn, .copies = 1, \
				  .length = sizeof(struct datblk_reply) }

const struct fault faults[] = {
	EXPORT("export-magic", no_magic),
	EXPORT("export-version", other_version),
	EXPORT("export-depth", too_deep),
	EXPORT("export-max-bytes", too_long),
	EXPORT("export-block-size", odd_blocks),
	EXPORT("export-size", negative_size),
	EXPORT("export-empty", empty),
	REPLY("magic", wrong_magic),
	REPLY("version", wrong_version),
	REPLY("op", wrong_op),
	REPLY("status", wrong_status),
	REPLY("tag-index", wrong_index),
	REPLY("tag-stale", stale_tag),
	REPLY("length-short", shorter),
	REPLY("length-long", longer),
	REPLY("noise", noise),
	{ .name = "message-short", .copies = 1, .length = sizeof(struct datblk_reply) - 1 },
	{ .name = "message-empty", .copies = 1, .length = 0 },
	{ .name = "message-long", .copies = 1, .length = sizeof(struct datblk_reply) + 8 },
	{ .name = "twice", .copies = 2, .length = sizeof(struct datblk_reply) },
	{ .name = "silent", .copies = 0, .length = sizeof(struct datblk_reply) },
	{ .name = NULL },
};

const struct fault *fault_find(const char *name)
{
	const struct fault *f;

	for (f = faults; f->name && strcmp(f->name, name); f++)
		;
	return f->name ? f : NULL;
}
