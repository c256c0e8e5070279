// SPDX-License-Identifier: GPL-2.0
/*
 * Small puts that go together, as one message to the exporter's kernel, which carries them out.
 *
 * That is for adapters that are software: there processors of both sides work for each request
 * as much as for a message, whatever either carries.  Other adapters write by themselves.
 *
 * A piece of it is a put: its head, and its data, at a multiple of 8, so that words are
 * copied as such.
 */
#include <linux/align.h>
#include <linux/overflow.h>

#include "rsm_rdma.h"

#define PIECE_ALIGN	8
#define PIECES_SIZE	(RSM_SCATTER_SIZE - sizeof(struct rsm_msg))	/* at most */

static_assert(sizeof(struct rsm_piece) % PIECE_ALIGN == 0);
static_assert(sizeof(struct rsm_msg) % PIECE_ALIGN == 0);

bool rsm_scatter_add(struct rsm_scatter *s, u64 offset, const void *data, u32 n)
{
	struct rsm_piece *p = s->buf + s->len;

	if (n > PIECES_SIZE || s->len + sizeof(*p) + ALIGN(n, PIECE_ALIGN) > PIECES_SIZE)
		return false;
	*p = (struct rsm_piece) { .offset = cpu_to_be64(offset), .length = cpu_to_be32(n) };
	memcpy(p + 1, data, n);
	/* Memory of the kernel that was something else before. */
	memset((void *)(p + 1) + n, 0, ALIGN(n, PIECE_ALIGN) - n);
	s->len += sizeof(*p) + ALIGN(n, PIECE_ALIGN);
	return true;
}

/**
 * struct piece - as it was received
 * @offset: in the segment
 * @data: of it
 * @n: bytes
 * @size: with all that belongs to it
 */
struct piece {
	u64		offset;
	const void	*data;
	u32		n;
	u32		size;
};

/* The first of @len bytes of pieces.  False: it is malformed, or not in the segment. */
static bool piece_read(const struct rsm_export *exp, const void *pieces, u32 len,
		       struct piece *p)
{
	struct rsm_piece head;
	u64 end;

	if (len < sizeof(head))
		return false;
	memcpy(&head, pieces, sizeof(head));
	/* The compiler must not fetch it again: a peer's adapter might have written it. */
	barrier();
	p->offset = be64_to_cpu(head.offset);
	p->n = be32_to_cpu(head.length);
	p->data = pieces + sizeof(head);
	if (head.rsvd || p->n > len - sizeof(head))
		return false;
	p->size = sizeof(head) + ALIGN(p->n, PIECE_ALIGN);
	if (check_add_overflow(p->offset, (u64)p->n, &end) || end > exp->length)
		return false;
	return p->size <= len;
}

static void piece_write(const struct rsm_mem *mem, const struct piece *p)
{
	u32 done, n;
	void *va;

	for (done = 0; done < p->n; done += n) {
		n = rsm_mem_chunk(p->offset + done, p->n - done);
		va = rsm_mem_byte(mem, p->offset + done);
		memcpy(va, p->data + done, n);
		kunmap_local(va);
	}
	/* Pieces are complete in order, for whoever looks. */
	smp_wmb();
}

/* Who has not heard of a rebind goes on to use the memory of before, by whatever way. */
static struct rsm_mem *scatter_mem(const struct rsm_export *exp, u32 rkey)
{
	struct rsm_mem *mem = srcu_dereference(exp->mem, &rsm_transfers);
	struct rsm_mem *left = srcu_dereference(exp->left, &rsm_transfers);

	return mem->rkey != rkey && left && left->rkey == rkey ? left : mem;
}

bool rsm_scatter_run(struct rsm_export *exp, u32 rkey, const void *pieces, u32 len)
{
	struct rsm_mem *mem;
	struct piece p;
	u32 at;
	int idx;

	for (at = 0; at < len; at += p.size)
		if (!piece_read(exp, pieces + at, len - at, &p))
			return false;
	/* A rebind waits for those who see the pages of before. */
	idx = srcu_read_lock(&rsm_transfers);
	mem = scatter_mem(exp, rkey);
	for (at = 0; at < len && piece_read(exp, pieces + at, len - at, &p); at += p.size)
		piece_write(mem, &p);
	srcu_read_unlock(&rsm_transfers, idx);
	return true;
}
