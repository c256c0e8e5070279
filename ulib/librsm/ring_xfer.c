// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Transfers that go through the ring of an import.
 *
 * A transfer consists of parts: memory of the caller, and an offset in the segment.  It is carried
 * out in pieces, one entry of the ring each: as much of a part as fits into a chunk of the data
 * area, or several parts that adjoin in the segment.
 *
 * An access to the caller's memory may fault, take long, or raise a signal whose handler never
 * returns.  So no lock is held at the first access: a small transfer is copied through the stack,
 * and the memory of a larger one is touched first.  A program that unmaps memory in the middle of
 * a transfer may still block other threads' transfers.
 */
#include <string.h>

#include "ring.h"

#define GET_PIECES	16	/* pieces of a get in flight */
#define GET_CHUNKS	3	/* chunks of their data; a data area has four or eight */
#define SHOW_BYTES	16384	/* bytes of a put that are published before more are copied */
#define SMALL		256	/* bytes of the largest transfer through the stack */
#define PAGE_LEAST	4096

/*
 * struct stream - a transfer in progress
 * @imp: import; it has a ring
 * @x: transfer that says how data is copied; NULL: as bytes
 * @part: parts, none of which is empty
 * @count: number of @part
 * @index: for puts: index of the entry that holds the end of each copied part; or NULL
 * @copied: number of parts that are copied completely
 * @interruptible: a signal may end the transfer while some pieces have not begun
 * @vouched: the memory of all parts is known to be valid at @generation
 * @generation: generation of the address space
 * @i: part in which the next piece begins
 * @at: offset of the next piece in that part
 * @unshown: number of bytes in entries that are not published
 */
struct stream {
	struct rsm_import	*imp;
	const struct rsm_xfer	*x;
	const struct rsm_part	*part;
	uint32_t		count;
	uint32_t		*index;
	uint32_t		copied;
	int			interruptible;
	int			vouched;
	uint32_t		generation;
	uint32_t		i;
	uint64_t		at;
	uint32_t		unshown;
};

/*
 * struct piece - a piece of a transfer
 * @offset: offset in the segment
 * @n: bytes
 * @i: part in which the piece begins
 * @at: offset of the piece in that part
 * @end: part in which the next piece begins
 * @end_at: offset of the next piece in that part
 */
struct piece {
	uint64_t	offset;
	uint32_t	n;
	uint32_t	i;
	uint64_t	at;
	uint32_t	end;
	uint64_t	end_at;
};

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Compute the next piece without advancing the stream. */
static void piece_next(const struct stream *s, struct piece *p)
{
	uint32_t n, chunk = s->imp->ring->chunk;

	*p = (struct piece) {
		.offset = s->part[s->i].offset + s->at, .i = s->i, .at = s->at,
		.end = s->i, .end_at = s->at,
	};
	do {
		n = (uint32_t)least(s->part[p->end].n - p->end_at, chunk - p->n);
		p->n += n;
		p->end_at += n;
		if (p->end_at < s->part[p->end].n)
			break;
		p->end++;
		p->end_at = 0;
	} while (p->end < s->count && p->n < chunk &&
		 s->part[p->end].offset == p->offset + p->n);
}

/* The address space has changed: the memory may be invalid now. */
static int stream_stale(const struct stream *s)
{
	return s->vouched && rsm_mem_generation(s->imp->seg.ctx) != s->generation;
}

static void stream_advance(struct stream *s, const struct piece *p)
{
	s->i = p->end;
	s->at = p->end_at;
}

static void copy(const struct stream *s, void *to, const void *from, uint32_t n)
{
	if (s->x)
		rsm_copy(to, from, n, s->x);
	else
		memcpy(to, from, n);
}

/* Copy between the caller's memory and the data area at @data. */
static void piece_copy(const struct stream *s, const struct piece *p, char *data, int put)
{
	uint64_t at = p->at;
	uint32_t i, n, left;
	char *mem;

	for (i = p->i, left = p->n; left; i++, at = 0) {
		mem = s->part[i].data + at;
		n = (uint32_t)least(s->part[i].n - at, left);
		copy(s, put ? data : mem, put ? mem : data, n);
		data += n;
		left -= n;
	}
}

/* Touch memory that is about to be read; it may not be writable. */
static void touch_to_read(const char *from, uint64_t n)
{
	uint64_t i;

	for (i = 0; i < n; i += PAGE_LEAST)
		(void)*(const volatile char *)(from + i);
	(void)*(const volatile char *)(from + n - 1);
}

/* Touch memory that is about to be written, without changing it or losing a concurrent write. */
static void touch_to_write(char *to, uint64_t n)
{
	uint64_t i;

	for (i = 0; i < n; i += PAGE_LEAST)
		__atomic_fetch_or(to + i, 0, __ATOMIC_RELAXED);
	__atomic_fetch_or(to + n - 1, 0, __ATOMIC_RELAXED);
}

static void piece_touch(const struct stream *s, const struct piece *p)
{
	uint64_t at = p->at, n;
	uint32_t i, left;

	for (i = p->i, left = p->n; left; i++, at = 0) {
		n = least(s->part[i].n - at, left);
		touch_to_read(s->part[i].data + at, n);
		left -= (uint32_t)n;
	}
}

/* Puts. */

/* Under the lock.  @flush: if not NULL, a FLUSH follows the piece; out: its index. */
static int put_locked(struct stream *s, const struct piece *p, uint32_t *flush)
{
	struct rsm_ring *r = s->imp->ring;
	int ret = rsm_ring_reserve(s->imp, p->n, s->interruptible);
	uint32_t at, index, i;

	/* The next FLUSH reports a put that fails, by failing as well. */
	r->dirty = 1;
	if (ret)
		return ret;
	at = rsm_ring_place(r, p->n);
	piece_copy(s, p, rsm_ring_data(r, at), 1);
	index = rsm_ring_push(r, DAT_RSM_RING_PUT, p->offset, at, p->n);
	for (i = p->i; s->index && i < p->end; i++)
		s->index[i] = index;
	s->copied = p->end;
	if (flush)
		ret = rsm_ring_push_flush(s->imp, 0);
	if (flush && !ret)
		*flush = r->flush;
	return ret;
}

/* Large pieces are published at once: they are in flight while the next is copied. */
static int put_piece(struct stream *s, const struct piece *p, uint32_t *flush)
{
	struct rsm_ring *r = s->imp->ring;
	int ret, show;

	pthread_mutex_lock(&r->lock);
	ret = put_locked(s, p, flush);
	s->unshown += p->n;
	show = ret || p->end == s->count || s->unshown >= SHOW_BYTES;
	if (show) {
		rsm_ring_show(r);
		s->unshown = 0;
	}
	pthread_mutex_unlock(&r->lock);
	/* With a FLUSH, the wait for it kicks. */
	if (show && (ret || !flush) && rsm_ring_needs_kick(r))
		rsm_ring_kick(s->imp);
	return ret;
}

/* @flush: if not NULL, a FLUSH follows the last piece; out: its index. */
static int put_stream(struct stream *s, uint32_t *flush)
{
	int ret = RSM_SUCCESS;
	struct piece p;

	while (!ret && s->i < s->count) {
		if (stream_stale(s))
			return RSM_BY_DRIVER;
		piece_next(s, &p);
		piece_touch(s, &p);
		ret = put_piece(s, &p, p.end == s->count ? flush : NULL);
		stream_advance(s, &p);
	}
	return ret;
}

static int put(const struct rsm_xfer *x, uint64_t size)
{
	struct rsm_part part = { .data = x->data, .offset = (uint64_t)x->offset, .n = size };
	struct stream s = { .imp = x->imp, .x = x, .part = &part, .count = 1 };
	int ret, implicit = rsm_import_implicit(x->imp);
	uint64_t buf[SMALL / sizeof(uint64_t)];
	uint32_t flush = 0;

	if (size <= SMALL) {
		rsm_copy(buf, x->data, size, x);
		part.data = (char *)buf;
		s.x = NULL;
	}
	ret = put_stream(&s, implicit ? &flush : NULL);
	/* Explicit mode: the barrier reports errors. */
	return ret || !implicit ? ret : rsm_ring_wait(x->imp, flush, flush, 0);
}

/* Gets. */

/*
 * struct got - pieces of a get in flight, in order
 * @piece: the pieces
 * @index: index of the entry of each piece
 * @at: position of the data of each piece, as a count of bytes allocated
 * @first: number of pieces that are retired
 * @next: number of pieces that are posted
 * @bytes: bytes of all pieces in flight
 */
struct got {
	struct piece	piece[GET_PIECES];
	uint32_t	index[GET_PIECES];
	uint32_t	at[GET_PIECES];
	uint32_t	first;
	uint32_t	next;
	uint32_t	bytes;
};

static void get_push(struct stream *s, struct got *g, const struct piece *p)
{
	struct rsm_ring *r = s->imp->ring;
	uint32_t i = g->next++ % GET_PIECES, at = rsm_ring_place(r, p->n);

	g->piece[i] = *p;
	g->at[i] = at;
	g->index[i] = rsm_ring_push(r, DAT_RSM_RING_GET, p->offset, at, p->n);
	g->bytes += p->n;
	stream_advance(s, p);
}

/* Post as many pieces as there is room for, at least one.  Under the lock. */
static int get_post(struct stream *s, struct got *g)
{
	struct rsm_ring *r = s->imp->ring;
	int ret = RSM_SUCCESS;
	struct piece p;

	while (s->i < s->count && g->next - g->first < GET_PIECES) {
		piece_next(s, &p);
		/* With pieces in flight, retire these to make room instead of waiting. */
		if (g->next == g->first)
			ret = rsm_ring_reserve(s->imp, p.n, s->interruptible);
		else if (g->bytes + p.n > GET_CHUNKS * r->chunk || !rsm_ring_fits(r, p.n))
			break;
		if (ret)
			break;
		get_push(s, g, &p);
	}
	rsm_ring_show(r);
	return ret;
}

/* Wait for the oldest piece, and copy its data unless an error has come first. */
static int get_retire(struct stream *s, struct got *g, int ret)
{
	uint32_t i = g->first++ % GET_PIECES, index = g->index[i];
	struct rsm_ring *r = s->imp->ring;

	if (!ret)
		ret = rsm_ring_wait(s->imp, index, index, s->interruptible);
	if (!ret && stream_stale(s))
		ret = RSM_BY_DRIVER;
	if (!ret) {
		piece_copy(s, &g->piece[i], rsm_ring_data(r, g->at[i]), 0);
		s->copied = g->piece[i].end;
	}
	g->bytes -= g->piece[i].n;
	rsm_ring_release(r, index);
	return ret;
}

static int get_stream(struct stream *s)
{
	struct rsm_ring *r = s->imp->ring;
	int ret = RSM_SUCCESS;
	struct got g;

	g.first = 0;
	g.next = 0;
	g.bytes = 0;
	while (!ret && (s->i < s->count || g.first != g.next)) {
		pthread_mutex_lock(&r->lock);
		ret = get_post(s, &g);
		pthread_mutex_unlock(&r->lock);
		if (!ret)
			ret = get_retire(s, &g, ret);
	}
	while (g.first != g.next)
		ret = get_retire(s, &g, ret);
	return ret;
}

static int get(const struct rsm_xfer *x, uint64_t size)
{
	struct rsm_part part = { .data = x->data, .offset = (uint64_t)x->offset, .n = size };
	struct stream s = { .imp = x->imp, .x = x, .part = &part, .count = 1 };
	uint64_t buf[SMALL / sizeof(uint64_t)];
	int ret;

	if (size > SMALL) {
		touch_to_write(x->data, size);
		return get_stream(&s);
	}
	part.data = (char *)buf;
	s.x = NULL;
	ret = get_stream(&s);
	if (!ret)
		rsm_copy(x->data, buf, size, x);
	return ret;
}

int rsm_ring_xfer(const struct rsm_xfer *x)
{
	uint64_t size = x->count * x->width;

	return x->put ? put(x, size) : get(x, size);
}

/* Vectors. */

/* Number of parts that are known to be in the segment.  Only a FLUSH confirms the last one. */
static uint32_t put_done(const struct stream *s, int flushed)
{
	uint32_t i;

	for (i = 0; i < s->copied; i++)
		if (!rsm_ring_done(s->imp->ring, s->index[i]))
			break;
	return i && i == s->copied && !flushed ? i - 1 : i;
}

/* Wait for all parts that were posted: none arrives after the call has reported it missing. */
static int put_parts(struct stream *s, uint32_t *done)
{
	uint32_t flush = 0, index[RSM_MAX_SGIOREQS];
	int ret, end;

	s->index = index;
	ret = put_stream(s, &flush);
	if (ret)
		end = rsm_ring_drain(s->imp, 0);
	else
		end = rsm_ring_wait(s->imp, flush, flush, 0);
	*done = put_done(s, !end);
	return end ? end : ret;
}

static int get_parts(struct stream *s, uint32_t *done)
{
	uint32_t i;
	int ret;

	for (i = 0; i < s->count && !stream_stale(s); i++)
		touch_to_write(s->part[i].data, s->part[i].n);
	ret = get_stream(s);
	*done = s->copied;
	return ret;
}

/* Vouching. */

/*
 * All parts fit into the data area.  A longer transfer must be interruptible, and only the driver
 * notices signals while it copies.
 */
static int parts_fit(const struct stream *s)
{
	uint64_t left = s->imp->ring->data.size;
	uint32_t i;

	for (i = 0; i < s->count && s->part[i].n <= left; i++)
		left -= s->part[i].n;
	return i == s->count;
}

static int parts_vouched(struct stream *s, int is_put)
{
	struct rsm_ring *r = s->imp->ring;

	pthread_mutex_lock(&r->lock);
	s->generation = rsm_mem_generation(s->imp->seg.ctx);
	s->vouched = rsm_vouched_have(&r->vouched, s->generation, s->part, s->count, is_put);
	pthread_mutex_unlock(&r->lock);
	return s->vouched;
}

void rsm_ring_vouch(const struct rsm_import *imp, uint32_t generation,
		    const struct rsm_part *part, uint32_t count, int is_put)
{
	struct rsm_ring *r = imp->ring;
	uint32_t i;

	pthread_mutex_lock(&r->lock);
	if (rsm_mem_generation(imp->seg.ctx) == generation)
		for (i = 0; i < count; i++)
			rsm_vouched_add(&r->vouched, generation, &part[i], is_put);
	pthread_mutex_unlock(&r->lock);
}

int rsm_ring_parts(struct rsm_import *imp, const struct rsm_part *part, uint32_t count,
		   int is_put, uint32_t *done)
{
	struct stream s = { .imp = imp, .part = part, .count = count, .interruptible = 1 };

	*done = 0;
	if (!parts_fit(&s) || !parts_vouched(&s, is_put))
		return RSM_BY_DRIVER;
	return is_put ? put_parts(&s, done) : get_parts(&s, done);
}
