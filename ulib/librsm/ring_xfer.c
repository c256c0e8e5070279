// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/*
 * Transfers through the ring of an import.
 *
 * A transfer consists of parts.  A part is memory of the caller, and an offset in the segment.  The
 * library splits or joins the parts into pieces, with one entry of the ring per piece.  A piece is
 * as much of a part as fits into a chunk of the data area, or several parts that are adjacent in
 * the segment.
 *
 * An access to the caller's memory may fault, take long, or raise a signal whose handler never
 * returns.  So the first access to the memory is made without the lock: a small transfer is first
 * copied to a buffer on the stack, and the memory of a larger transfer is touched before the lock
 * is taken.  If a program unmaps memory during a transfer, the transfer may still block the
 * transfers of other threads.
 */
#include <string.h>

#include "ring.h"

#define GET_PIECES	16	/* max. number of pieces of a get in flight */
#define GET_CHUNKS	3	/* max. chunks for these pieces; a data area has 4 or 8 */
#define SHOW_BYTES	16384	/* bytes of a put after which its entries are published */
#define SMALL		256	/* max. bytes that are copied through a buffer on the C stack */
#define PAGE_LEAST	4096

/*
 * struct stream - a transfer in progress
 * @imp: import, which has a ring
 * @x: transfer that says how to copy elements; NULL to copy bytes
 * @part: array of non-empty parts
 * @count: number of elements in @part
 * @index: for puts: for each copied part, the index of the entry that contains the end of the part;
 *	or NULL
 * @copied: number of parts that are copied completely
 * @interruptible: flag: a signal may end the transfer before all pieces have been posted
 * @known: flag: the memory of all parts was valid at @generation
 * @generation: generation of the address space
 * @i: index of the part in which the next piece begins
 * @at: offset of the next piece in that part
 * @unshown: number of bytes in entries that are not published yet
 */
struct stream {
	struct rsm_import	*imp;
	const struct rsm_xfer	*x;
	const struct rsm_part	*part;
	uint32_t		count;
	uint32_t		*index;
	uint32_t		copied;
	int			interruptible;
	int			known;
	uint32_t		generation;
	uint32_t		i;
	uint64_t		at;
	uint32_t		unshown;
};

/*
 * struct piece - a piece of a transfer
 * @offset: offset in the segment
 * @n: length in bytes
 * @i: index of the part in which the piece begins
 * @at: offset of the piece in part @i
 * @end: index of the part in which the next piece begins
 * @end_at: offset of the next piece in part @end
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

/* Compute the next piece.  Does not advance the stream. */
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

/* Returns whether the address space has changed, so that the memory may have become invalid. */
static int stream_stale(const struct stream *s)
{
	return s->known && rsm_mem_generation(s->imp->seg.ctx) != s->generation;
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

/* Copy between the caller's memory and the address @data in the data area. */
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

/* Read a byte of each page of memory that will be read.  The memory may be read-only. */
static void touch_to_read(const char *from, uint64_t n)
{
	uint64_t i;

	for (i = 0; i < n; i += PAGE_LEAST)
		(void)*(const volatile char *)(from + i);
	(void)*(const volatile char *)(from + n - 1);
}

/*
 * Write to each page of memory that will be written.  An atomic OR with 0 neither changes the data
 * nor overwrites a concurrent write.
 */
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

/*
 * Copy and post a piece.  The caller holds the lock.  If @flush is not NULL, a FLUSH is posted
 * after the piece, and *@flush is set to its index.
 */
static int put_locked(struct stream *s, const struct piece *p, uint32_t *flush)
{
	struct rsm_ring *r = s->imp->ring;
	int ret = rsm_ring_reserve(s->imp, p->n, s->interruptible);
	uint32_t at, index, i;

	/*
	 * Set @dirty even if the reservation fails.  A FLUSH is then posted later, fails too, and
	 * thereby reports the failed put.
	 */
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

/*
 * Post a piece.  If the unpublished pieces have SHOW_BYTES or more in total, publish them, so that
 * they are in flight while the next piece is copied.
 */
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
	/* If a FLUSH was posted, the later wait for the FLUSH kicks the driver. */
	if (show && (ret || !flush) && rsm_ring_needs_kick(r))
		rsm_ring_kick(s->imp);
	return ret;
}

/*
 * Post all pieces of a put.  If @flush is not NULL, a FLUSH is posted after the last piece, and
 * *@flush is set to its index.
 */
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
	/* In explicit mode, the next barrier reports errors, so do not wait for a FLUSH. */
	return ret || !implicit ? ret : rsm_ring_wait(x->imp, flush, flush, 0);
}

/* Gets. */

/*
 * struct got - the pieces of a get that are in flight, oldest first
 * @piece: array of pieces
 * @index: for each piece, the index of its entry
 * @at: for each piece, the position of its data in the data area
 * @first: number of pieces that have been retired
 * @next: number of pieces that have been posted
 * @bytes: total length of the pieces in flight
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

/* Post as many pieces as there is room for, but at least one.  The caller holds the lock. */
static int get_post(struct stream *s, struct got *g)
{
	struct rsm_ring *r = s->imp->ring;
	int ret = RSM_SUCCESS;
	struct piece p;

	while (s->i < s->count && g->next - g->first < GET_PIECES) {
		piece_next(s, &p);
		/*
		 * While pieces are in flight, do not wait for room: the caller makes room by
		 * retiring the pieces.
		 */
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

/*
 * Retire the oldest piece: wait for its entry, and copy its data.  If @ret is already an error,
 * only release the room.
 */
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

/*
 * Returns the number of parts that are known to be in the segment.  The last part is known to be
 * there only after a FLUSH.
 */
static uint32_t put_done(const struct stream *s, int flushed)
{
	uint32_t i;

	for (i = 0; i < s->copied; i++)
		if (!rsm_ring_done(s->imp->ring, s->index[i]))
			break;
	return i && i == s->copied && !flushed ? i - 1 : i;
}

/*
 * Put all parts, and wait for every part that was posted.  So no part arrives after the call has
 * reported that part as missing.
 */
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

/* Transfers of memory that is known to be valid: the library copies, without the driver. */

/*
 * Returns whether all parts together fit into the data area.  A larger transfer must be
 * interruptible, and only the driver notices signals while it copies.
 */
static int parts_fit(const struct stream *s)
{
	uint64_t left = s->imp->ring->data.size;
	uint32_t i;

	for (i = 0; i < s->count && s->part[i].n <= left; i++)
		left -= s->part[i].n;
	return i == s->count;
}

static int parts_known(struct stream *s, int is_put)
{
	struct rsm_ring *r = s->imp->ring;

	pthread_mutex_lock(&r->lock);
	s->generation = rsm_mem_generation(s->imp->seg.ctx);
	s->known = rsm_known_mem_covers(&r->known, s->generation, s->part, s->count, is_put);
	pthread_mutex_unlock(&r->lock);
	return s->known;
}

void rsm_ring_add_known(const struct rsm_import *imp, uint32_t generation,
			const struct rsm_part *part, uint32_t count, int is_put)
{
	struct rsm_ring *r = imp->ring;
	uint32_t i;

	pthread_mutex_lock(&r->lock);
	if (rsm_mem_generation(imp->seg.ctx) == generation)
		for (i = 0; i < count; i++)
			rsm_known_mem_add(&r->known, generation, &part[i], is_put);
	pthread_mutex_unlock(&r->lock);
}

int rsm_ring_parts(struct rsm_import *imp, const struct rsm_part *part, uint32_t count,
		   int is_put, uint32_t *done)
{
	struct stream s = { .imp = imp, .part = part, .count = count, .interruptible = 1 };

	*done = 0;
	if (!parts_fit(&s) || !parts_known(&s, is_put))
		return RSM_BY_DRIVER;
	return is_put ? put_parts(&s, done) : get_parts(&s, done);
}
