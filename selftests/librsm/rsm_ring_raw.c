// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* Rings of imports without the library: valid bounds, and invalid entries. */
#include "rsm_test.h"
#include "clock.h"
#include "fault.h"
#include "noise.h"
#include "stops.h"

#include <fcntl.h>
#include <pthread.h>

#include "rsm_raw.h"

#define START	"/sys/module/dat_rsm/parameters/ring_start"

/* An import and its ring. */
struct ring {
	int				fd;
	uint32_t			id;
	volatile struct dat_rsm_slot	*slot;
	uint32_t			generation;
	struct dat_rsm_ring		info;
	volatile struct dat_rsm_submit	*submit;
	volatile struct dat_rsm_status	*status;
	char				*data;
	uint32_t			tail;
};

FIXTURE(raw) {
	int				fd;
	uint32_t			ctlr;
	uint32_t			node;
	char				*mem;
	uint32_t			exp;
	uint32_t			segid;
	volatile struct dat_rsm_slot	*slots;
	struct ring			r;
};

static int raw_connect(struct _test_data_raw *self, uint32_t perm, struct ring *r)
{
	struct dat_rsm_connect arg = {
		.size = sizeof(arg), .ctlr = self->ctlr, .node = self->node,
		.segid = self->segid, .perm = perm,
	};
	int ret = CALL(self->fd, CONNECT, &arg);

	r->fd = self->fd;
	r->id = arg.id;
	r->slot = &self->slots[arg.slot];
	r->generation = arg.generation;
	return ret;
}

static void *raw_map(int fd, uint64_t offset, uint64_t size, int prot)
{
	return mmap(NULL, size, prot, MAP_SHARED, fd, (off_t)offset);
}

static int ring_open(struct ring *r)
{
	const int rw = PROT_READ | PROT_WRITE;
	int ret;

	r->info = (struct dat_rsm_ring) { .size = sizeof(r->info), .id = r->id };
	ret = CALL(r->fd, RING, &r->info);
	if (ret)
		return ret;
	r->submit = raw_map(r->fd, r->info.submit_offset, r->info.submit_size, rw);
	r->status = raw_map(r->fd, r->info.status_offset, r->info.status_size, PROT_READ);
	r->data = raw_map(r->fd, r->info.data_offset, r->info.data_size, rw);
	if (r->submit == MAP_FAILED || r->status == MAP_FAILED || r->data == MAP_FAILED)
		return -errno;
	r->tail = r->submit->tail;
	return 0;
}

static int ring_import(struct _test_data_raw *self, uint32_t perm, struct ring *r)
{
	int ret = raw_connect(self, perm, r);

	return ret ? ret : ring_open(r);
}

static int ring_free(struct ring *r)
{
	struct dat_rsm_free arg = {
		.size = sizeof(arg), .type = DAT_RSM_TYPE_IMPORT, .id = r->id,
	};

	return CALL(r->fd, FREE, &arg);
}

static void ring_unmap(struct ring *r)
{
	munmap((void *)r->submit, r->info.submit_size);
	munmap((void *)r->status, r->info.status_size);
	munmap(r->data, r->info.data_size);
}

static uint64_t in_ms(int ms)
{
	return now_ns() + (uint64_t)ms * 1000000;
}

static int ring_kick(struct ring *r, uint32_t index, uint64_t deadline)
{
	struct dat_rsm_kick arg = {
		.size = sizeof(arg), .id = r->id, .index = index, .deadline_ns = deadline,
	};

	return CALL(r->fd, KICK, &arg);
}

static struct dat_rsm_entry *ring_entry(struct ring *r, uint32_t index)
{
	size_t at = (size_t)(index & (r->info.entries - 1)) << r->info.entry_shift;

	return (struct dat_rsm_entry *)((char *)r->submit + r->info.entry_offset + at);
}

static uint32_t ring_push(struct ring *r, const struct dat_rsm_entry *e)
{
	*ring_entry(r, r->tail) = *e;
	__atomic_store_n(&r->submit->tail, ++r->tail, __ATOMIC_RELEASE);
	return r->tail - 1;
}

/* Post one entry and wait for its completion.  Returns its result. */
static int ring_do(struct ring *r, uint32_t op, uint64_t offset, uint32_t length, uint32_t data)
{
	struct dat_rsm_entry e = {
		.op = op, .offset = offset, .length = length, .data = data,
	};

	return ring_kick(r, ring_push(r, &e), in_ms(R_WAIT_MS));
}

static int ring_flush(struct ring *r)
{
	return ring_do(r, DAT_RSM_RING_FLUSH, 0, 0, 0);
}

FIXTURE_SETUP(raw)
{
	struct dat_rsm_open o = { .size = sizeof(o) };
	struct dat_rsm_export e = { .size = sizeof(e), .length = R_SIZE };
	struct dat_rsm_publish p = { .size = sizeof(p) };

	self->fd = open("/dev/rsm", O_RDWR | O_CLOEXEC);
	ASSERT_LE(0, self->fd);
	self->mem = r_mem(R_SIZE);
	ASSERT_EQ(0, CALL(self->fd, OPEN, &o));
	self->node = o.node;
	self->slots = raw_map(self->fd, o.slots_offset, o.slots_size, PROT_READ);
	ASSERT_NE(MAP_FAILED, (void *)self->slots);
	self->ctlr = raw_ctlr(self->fd);
	e.ctlr = self->ctlr;
	e.addr = (uintptr_t)self->mem;
	ASSERT_EQ(0, CALL(self->fd, EXPORT, &e));
	self->exp = e.id;
	p.id = e.id;
	ASSERT_EQ(0, CALL(self->fd, PUBLISH, &p));
	self->segid = p.segid;
	ASSERT_EQ(0, ring_import(self, 0600, &self->r));
}

FIXTURE_TEARDOWN(raw)
{
	ring_unmap(&self->r);
	close(self->fd);
	munmap(self->mem, R_SIZE);
}

TEST_F(raw, what_is_put_is_in_the_segment_and_can_be_got)
{
	struct ring *r = &self->r;

	strcpy(r->data, "hello");
	EXPECT_EQ(0, ring_do(r, DAT_RSM_RING_PUT, 100, 6, 0));
	EXPECT_EQ(0, ring_flush(r));
	EXPECT_STREQ("hello", self->mem + 100);
	EXPECT_TRUE(r_all(self->mem, 0, 100) && r_all(self->mem + 106, 0, R_SIZE - 106));
	EXPECT_EQ(0, ring_do(r, DAT_RSM_RING_GET, 101, 5, 4096));
	EXPECT_STREQ("ello", r->data + 4096);
	EXPECT_EQ(r->tail, r->status->done);
	EXPECT_EQ(r->generation, r->slot->generation);
}

TEST_F(raw, a_ring_is_made_once)
{
	struct dat_rsm_ring again = { .size = sizeof(again), .id = self->r.id };
	struct ring other;

	EXPECT_EQ(0, CALL(self->fd, RING, &again));
	EXPECT_EQ(0, memcmp(&again, &self->r.info, sizeof(again)));
	/* Each import has a ring of its own. */
	ASSERT_EQ(0, ring_import(self, 0600, &other));
	EXPECT_NE(again.submit_offset, other.info.submit_offset);
	ring_unmap(&other);
}

TEST_F(raw, entries_are_where_the_kernel_says)
{
	const struct dat_rsm_ring *i = &self->r.info;
	uint32_t n;

	EXPECT_LE(sizeof(struct dat_rsm_submit), i->entry_offset);
	EXPECT_LE(sizeof(struct dat_rsm_entry), 1ULL << i->entry_shift);
	EXPECT_GE(i->submit_size, i->entry_offset + ((uint64_t)i->entries << i->entry_shift));
	/* Use every entry of the ring once, and the first entry a second time. */
	for (n = 0; n <= i->entries; n++)
		ASSERT_EQ(0, ring_flush(&self->r));
}

TEST_F(raw, a_stop_and_a_continue_do_not_end_a_wait)
{
	struct ring *r = &self->r;
	uint64_t start = now_ms();
	struct stops s;
	int n;

	ASSERT_EQ(0, stops_begin(&s));
	EXPECT_EQ(DAT_RSM_TIMEOUT, ring_kick(r, r->tail, in_ms(STOPS_WAIT_MS)));
	EXPECT_LE(STOPS_WAIT_MS, now_ms() - start + 1);
	n = stops_end(&s);
	EXPECT_LT(0, n);
	EXPECT_GT(STOPS_MAX, n);
}

TEST_F(raw, loopback_has_none)
{
	struct dat_rsm_export e = {
		.size = sizeof(e), .addr = (uintptr_t)self->mem, .length = R_SIZE,
	};
	struct dat_rsm_publish p = { .size = sizeof(p) };
	struct dat_rsm_ring arg = { .size = sizeof(arg) };
	struct ring r;

	EXPECT_EQ(DAT_RSM_BAD_SEG, CALL(self->fd, RING, &arg));
	arg.id = self->exp;
	EXPECT_EQ(DAT_RSM_BAD_SEG, CALL(self->fd, RING, &arg));
	ASSERT_EQ(0, CALL(self->fd, EXPORT, &e));
	p.id = e.id;
	ASSERT_EQ(0, CALL(self->fd, PUBLISH, &p));
	self->ctlr = DAT_RSM_LOOPBACK;
	self->segid = p.segid;
	ASSERT_EQ(0, raw_connect(self, 0600, &r));
	EXPECT_EQ(DAT_RSM_BAD_CTLR, ring_open(&r));
	EXPECT_EQ(DAT_RSM_BAD_CTLR, ring_kick(&r, 0, 0));
	arg.id = self->r.id;
	arg.rsvd = 1;
	EXPECT_EQ(-EOPNOTSUPP, CALL(self->fd, RING, &arg));
}

TEST_F(raw, regions_are_mapped_as_they_are_meant)
{
	const struct dat_rsm_ring *i = &self->r.info;
	const int rw = PROT_READ | PROT_WRITE;
	int fd = self->fd;
	struct ring none;
	void *va;

	EXPECT_EQ(MAP_FAILED, raw_map(fd, i->status_offset, i->status_size, rw));
	EXPECT_EQ(EPERM, errno);
	EXPECT_EQ(-1, mprotect((void *)self->r.status, i->status_size, rw));
	EXPECT_EQ(MAP_FAILED, raw_map(fd, i->data_offset, i->data_size, rw | PROT_EXEC));
	EXPECT_EQ(MAP_FAILED, raw_map(fd, i->data_offset, i->data_size + R_PAGE, rw));
	EXPECT_EQ(MAP_FAILED, raw_map(fd, i->data_offset, i->data_size - R_PAGE, rw));
	EXPECT_EQ(MAP_FAILED, raw_map(fd, i->submit_offset, i->submit_size + R_PAGE, rw));
	EXPECT_EQ(MAP_FAILED, mmap(NULL, i->data_size, rw, MAP_PRIVATE, fd,
				   (off_t)i->data_offset));
	va = raw_map(fd, i->data_offset, i->data_size, rw);
	ASSERT_NE(MAP_FAILED, va);
	strcpy(self->r.data + i->data_size - 8, "same");
	EXPECT_STREQ("same", (char *)va + i->data_size - 8);
	munmap(va, i->data_size);
	/* Try the offset of an import that has no ring, and an offset that belongs to no import. */
	ASSERT_EQ(0, raw_connect(self, 0600, &none));
	EXPECT_EQ(MAP_FAILED, raw_map(fd, i->data_offset + ((none.id - self->r.id) << 8) * R_PAGE,
				      i->data_size, rw));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(MAP_FAILED, raw_map(fd, i->data_offset + (1000ULL << 8) * R_PAGE,
				      i->data_size, rw));
	EXPECT_EQ(ENOENT, errno);
}

TEST_F(raw, what_reaches_to_the_ends_fits)
{
	struct ring *r = &self->r;
	uint32_t chunk = r->info.chunk, n = chunk < R_SIZE ? chunk : (uint32_t)R_SIZE;
	uint32_t last = (uint32_t)r->info.data_size - n;

	memset(r->data + last, 'x', n);
	EXPECT_EQ(0, ring_do(r, DAT_RSM_RING_PUT, R_SIZE - n, n, last));
	EXPECT_EQ(0, ring_flush(r));
	EXPECT_TRUE(r_all(self->mem + R_SIZE - n, 'x', n));
	EXPECT_EQ(0, ring_do(r, DAT_RSM_RING_GET, R_SIZE - 1, 1, chunk - 1));
	EXPECT_EQ('x', r->data[chunk - 1]);
	EXPECT_EQ(0, r->data[chunk]);
	EXPECT_EQ(0, ring_do(r, DAT_RSM_RING_GET, 0, 1, (uint32_t)r->info.data_size - 1));
}

/*
 * Import with @perm, and process the entry @e.  If @ahead is not 0, the tail is @ahead entries
 * after @e.  Returns 0 if the import survives, DAT_RSM_CONN_ABORTED if the driver cuts the import,
 * or a negative number if something else fails.
 */
static int survives(struct _test_data_raw *self, uint32_t perm, const struct dat_rsm_entry *e,
		    uint32_t ahead)
{
	struct ring r;
	uint32_t index;
	int ret;

	if (ring_import(self, perm, &r))
		return -1;
	index = ring_push(&r, e);
	if (ahead)
		r.submit->tail = index + ahead;
	ret = ring_kick(&r, index, in_ms(R_WAIT_MS));
	if (ret == DAT_RSM_CONN_ABORTED && r.slot->generation == r.generation)
		ret = -2;
	/* After the cut the driver must not process the ring again: a second kick also fails. */
	if (ret == DAT_RSM_CONN_ABORTED && ring_kick(&r, index, 0) != ret)
		ret = -3;
	ring_unmap(&r);
	if (ring_free(&r))
		return -4;
	return ret;
}

#define PUT	DAT_RSM_RING_PUT
#define GET	DAT_RSM_RING_GET
#define FLUSH	DAT_RSM_RING_FLUSH

/* RSM check: 68 */
TEST_F(raw, whoever_writes_nonsense_loses_the_import)
{
	uint32_t chunk = self->r.info.chunk, size = (uint32_t)self->r.info.data_size;
	const struct {
		uint32_t		perm;
		struct dat_rsm_entry	e;
	} bad[] = {
		{ 0600, { .op = 0 } },
		{ 0600, { .op = 4, .length = 1 } },
		{ 0600, { .op = ~0U, .length = 1 } },
		{ 0600, { .op = PUT, .length = 0 } },
		{ 0600, { .op = PUT, .length = 1, .rsvd = { 1 } } },
		{ 0600, { .op = PUT, .length = 1, .rsvd = { 0, 0, 1 } } },
		{ 0600, { .op = PUT, .length = 1, .offset = R_SIZE } },
		{ 0600, { .op = PUT, .length = 2, .offset = R_SIZE - 1 } },
		{ 0600, { .op = GET, .length = 2, .offset = R_SIZE - 1 } },
		{ 0600, { .op = PUT, .length = 1, .offset = ~0ULL } },
		{ 0600, { .op = GET, .length = 8, .offset = ~0ULL - 3 } },
		{ 0600, { .op = PUT, .length = 1, .data = size } },
		{ 0600, { .op = PUT, .length = 1, .data = ~0U } },
		{ 0600, { .op = GET, .length = 2, .data = size - 1 } },
		{ 0600, { .op = GET, .length = 2, .data = chunk - 1 } },
		{ 0600, { .op = PUT, .length = ~0U, .data = 1 } },
		{ 0600, { .op = PUT, .length = chunk + 1 } },
		{ 0600, { .op = FLUSH, .length = 1 } },
		{ 0600, { .op = FLUSH, .offset = 1 } },
		{ 0600, { .op = FLUSH, .data = 1 } },
		{ 0400, { .op = PUT, .length = 1 } },
		{ 0200, { .op = GET, .length = 1 } },
		{ 0, { .op = PUT, .length = 1 } },
		{ 0, { .op = GET, .length = 1 } },
	};
	const struct dat_rsm_entry good = { .op = FLUSH };
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		EXPECT_EQ(DAT_RSM_CONN_ABORTED, survives(self, bad[i].perm, &bad[i].e, 0))
			TH_LOG("entry %zu", i);
	}
	EXPECT_EQ(DAT_RSM_CONN_ABORTED, survives(self, 0600, &good, self->r.info.entries + 1));
	EXPECT_EQ(DAT_RSM_CONN_ABORTED, survives(self, 0600, &good, ~0U));
	EXPECT_EQ(DAT_RSM_CONN_ABORTED, survives(self, 0600, &good, 1U << 31));
	EXPECT_EQ(0, survives(self, 0600, &good, 0));
	/* An invalid entry affects neither the segment nor another import. */
	EXPECT_TRUE(r_all(self->mem, 0, R_SIZE));
	EXPECT_EQ(0, ring_flush(&self->r));
}

/*
 * Create the ring while the allocation @n fails.  *@reached: whether the ioctl made that many
 * allocations.
 */
static int ring_make_failing(struct ring *r, unsigned int n, int *reached)
{
	struct dat_rsm_ring arg = { .size = sizeof(arg), .id = r->id };
	int ret;

	arm(n);
	ret = CALL(r->fd, RING, &arg);
	*reached = fired();
	return ret;
}

TEST_F(raw, without_memory_there_is_no_ring_and_then_there_is)
{
	int ret = 0, reached = 1;
	struct ring r;
	unsigned int n;

	fault_setup();
	NEED_FAULTS();
	ASSERT_EQ(0, raw_connect(self, 0600, &r));
	for (n = 1; reached && n < MAX_NTH; n++) {
		ret = ring_make_failing(&r, n, &reached);
		/*
		 * Fault injection may also hit copy_from_user() or copy_to_user() of the argument:
		 * -EFAULT.
		 */
		ASSERT_TRUE(ret == 0 || ret == DAT_RSM_NO_MEM || ret == DAT_RSM_NO_RESOURCES ||
			    ret == -EFAULT) TH_LOG("%d in call %u", ret, n);
		if (ret > 0 || !reached)
			continue;
		/* The ioctl may have created the ring, so use a new import in the next round. */
		ASSERT_EQ(0, ring_free(&r));
		ASSERT_EQ(0, raw_connect(self, 0600, &r));
	}
	TH_LOG("%u allocations", n - 2);
	EXPECT_LT(20, n);
	EXPECT_EQ(0, ret);
	ASSERT_EQ(0, ring_open(&r));
	EXPECT_EQ(0, ring_flush(&r));
	ring_unmap(&r);
}

static int set_start(unsigned int start)
{
	FILE *f = fopen(START, "w");

	return !f || fprintf(f, "%u", start) < 0 || fclose(f);
}

/*
 * Post @n puts of the numbers 0 to @n - 1, and keep the ring as full as possible.  Returns 0 if the
 * segment then holds the last 1,024 numbers.
 */
static int stream(struct ring *r, char *mem, uint32_t n)
{
	uint32_t i, first = r->tail, room = r->info.entries - 1, at;
	int ret = 0;

	for (i = 0; !ret && i < n; i++) {
		at = r->tail % r->info.entries * 8;
		if (r->tail - r->status->done >= room)
			ret = ring_kick(r, r->tail - room, in_ms(R_WAIT_MS));
		memcpy(r->data + at, &i, sizeof(i));
		ring_push(r, &(struct dat_rsm_entry) {
			.op = PUT, .offset = i % 1024 * 4, .length = 4, .data = at,
		});
		if (r->status->flags & DAT_RSM_NEED_KICK)
			ring_kick(r, 0, 0);
	}
	if (!ret)
		ret = ring_flush(r);
	for (i = n - 1024; !ret && i < n; i++)
		if (((uint32_t *)mem)[i % 1024] != i)
			ret = -1;
	if (!ret && r->status->done != first + n + 1)
		ret = -2;
	return ret;
}

TEST_F(raw, entries_are_carried_out_in_order)
{
	struct ring *r = &self->r;

	EXPECT_EQ(0, stream(r, self->mem, 5000));
}

TEST_F(raw, indices_wrap)
{
	struct ring r;

	ASSERT_EQ(0, set_start(-1000U));
	ASSERT_EQ(0, ring_import(self, 0600, &r));
	EXPECT_EQ(0, set_start(0));
	EXPECT_EQ(-1000U, r.tail);
	EXPECT_EQ(0, stream(&r, self->mem, 3000));
	EXPECT_GT(10000, r.tail);
	ring_unmap(&r);
}

static void nothing(int sig)
{
}

static void *signaller(void *arg)
{
	usleep(R_QUIET_MS * 1000);
	pthread_kill(*(pthread_t *)arg, SIGUSR1);
	return NULL;
}

TEST_F(raw, waiting_has_an_end)
{
	struct sigaction sa = { .sa_handler = nothing };
	uint64_t before = now_ms();
	pthread_t t, me = pthread_self();
	struct ring *r = &self->r;

	EXPECT_EQ(DAT_RSM_TIMEOUT, ring_kick(r, r->tail, 0));
	EXPECT_EQ(DAT_RSM_TIMEOUT, ring_kick(r, r->tail, in_ms(R_QUIET_MS)));
	EXPECT_LE(before + R_QUIET_MS, now_ms());
	sigaction(SIGUSR1, &sa, NULL);
	pthread_create(&t, NULL, signaller, &me);
	EXPECT_EQ(-EINTR, ring_kick(r, r->tail, DAT_RSM_FOREVER));
	pthread_join(t, NULL);
	/* A kick that waits for a completed entry returns 0 at once. */
	EXPECT_EQ(0, ring_flush(r));
	EXPECT_EQ(0, ring_kick(r, r->tail - 1, 0));
	EXPECT_EQ(0, ring_kick(r, r->tail - 1, DAT_RSM_FOREVER));
}

static void *freer(void *arg)
{
	usleep(R_QUIET_MS * 1000);
	return (void *)(long)ring_free(arg);
}

static void *unpublisher(void *arg)
{
	struct _test_data_raw *self = arg;
	struct dat_rsm_unpublish u = { .size = sizeof(u), .id = self->exp };

	usleep(R_QUIET_MS * 1000);
	return (void *)(long)CALL(self->fd, UNPUBLISH, &u);
}

TEST_F(raw, who_waits_is_told_of_the_end)
{
	struct ring r;
	pthread_t t;
	void *ret;
	int err;

	ASSERT_EQ(0, ring_import(self, 0600, &r));
	pthread_create(&t, NULL, freer, &r);
	err = ring_kick(&r, r.tail, DAT_RSM_FOREVER);
	/*
	 * Freeing the import first cuts the import and then removes its id, so the wait ends with
	 * one of two errors.
	 */
	EXPECT_TRUE(err == DAT_RSM_BAD_SEG || err == DAT_RSM_CONN_ABORTED) TH_LOG("%d", err);
	pthread_join(t, &ret);
	EXPECT_EQ(NULL, ret);
	EXPECT_EQ(DAT_RSM_BAD_SEG, ring_kick(&r, r.tail, 0));
	/* The pages stay mapped, but the driver no longer processes them. */
	r.data[0] = 'x';
	ring_push(&r, &(struct dat_rsm_entry) { .op = FLUSH });
	EXPECT_EQ(DAT_RSM_BAD_SEG, ring_kick(&r, r.tail - 1, 0));
	EXPECT_EQ(MAP_FAILED, raw_map(r.fd, r.info.data_offset, r.info.data_size, PROT_READ));
	ring_unmap(&r);

	pthread_create(&t, NULL, unpublisher, self);
	EXPECT_EQ(DAT_RSM_CONN_ABORTED, ring_kick(&self->r, self->r.tail, DAT_RSM_FOREVER));
	pthread_join(t, &ret);
	EXPECT_EQ(NULL, ret);
	EXPECT_EQ(DAT_RSM_CONN_ABORTED, ring_flush(&self->r));
}

struct scribbler {
	struct ring	*r;
	int		end;
};

/* Thread that writes random values over the entries of the ring. */
static void *scribble(void *arg)
{
	struct scribbler *s = arg;
	uint64_t *words = (uint64_t *)ring_entry(s->r, 0);
	uint64_t seed = 99;

	while (!__atomic_load_n(&s->end, __ATOMIC_RELAXED)) {
		seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
		words[(seed >> 33) % (s->r->info.entries * 4)] = seed >> 60 ? seed >> 40 & 0xff :
									   seed;
	}
	return NULL;
}

/* Use an import while scribble() changes its entries. */
static int life_under_fire(struct _test_data_raw *self)
{
	struct scribbler s = { .end = 0 };
	uint64_t end = now_ms() + 200;
	struct ring r;
	pthread_t t;
	int ret = 0;

	if (ring_import(self, 0600, &r))
		return -1;
	s.r = &r;
	pthread_create(&t, NULL, scribble, &s);
	while (ret != DAT_RSM_CONN_ABORTED && now_ms() < end) {
		ring_push(&r, &(struct dat_rsm_entry) {
			.op = (uint32_t)(1 + noise() % 3), .length = (uint32_t)(noise() % 2 * 64),
		});
		ret = ring_kick(&r, r.tail - 1, in_ms(10));
	}
	__atomic_store_n(&s.end, 1, __ATOMIC_RELAXED);
	pthread_join(t, NULL);
	ring_unmap(&r);
	return ring_free(&r);
}

TEST_F(raw, entries_that_change_do_no_harm)
{
	char *fence = r_mem(3 * R_PAGE);
	int i;

	/* Memory near the segment: the driver must not write to it. */
	memset(fence, 'f', 3 * R_PAGE);
	for (i = 0; i < 20; i++)
		ASSERT_EQ(0, life_under_fire(self));
	EXPECT_TRUE(r_all(fence, 'f', 3 * R_PAGE));
	EXPECT_EQ(0, ring_flush(&self->r));
}

/*
 * Thread that repeats two steps in a loop: publish an entry, and withdraw the entry as soon as the
 * driver seems to read the ring.
 */
static void *toggle(void *arg)
{
	struct scribbler *s = arg;
	uint32_t tail = s->r->tail;

	while (!__atomic_load_n(&s->end, __ATOMIC_RELAXED)) {
		s->r->submit->tail = tail + 1;
		while (s->r->status->flags && !__atomic_load_n(&s->end, __ATOMIC_RELAXED))
			;
		s->r->submit->tail = tail;
	}
	return NULL;
}

TEST_F(raw, a_tail_that_goes_to_and_fro_does_no_harm)
{
	struct scribbler s;
	uint64_t end;
	struct ring r;
	pthread_t t;
	int i, ret;

	for (i = 0; i < 20; i++) {
		ASSERT_EQ(0, ring_import(self, 0600, &r));
		ring_entry(&r, r.tail)->op = FLUSH;
		s = (struct scribbler) { .r = &r };
		pthread_create(&t, NULL, toggle, &s);
		end = now_ms() + 100;
		for (ret = 0; ret != DAT_RSM_CONN_ABORTED && now_ms() < end; )
			ret = ring_kick(&r, r.tail, 0);
		__atomic_store_n(&s.end, 1, __ATOMIC_RELAXED);
		pthread_join(t, NULL);
		ring_unmap(&r);
		ASSERT_EQ(0, ring_free(&r));
	}
	EXPECT_EQ(0, ring_flush(&self->r));
}

TEST_F(raw, an_import_that_was_cut_gets_no_ring)
{
	struct dat_rsm_unpublish u = { .size = sizeof(u), .id = self->exp };
	uint64_t end = now_ms() + R_WAIT_MS;
	struct ring r;

	ASSERT_EQ(0, raw_connect(self, 0600, &r));
	ASSERT_EQ(0, CALL(self->fd, UNPUBLISH, &u));
	while (r.slot->generation == r.generation && now_ms() < end)
		;
	EXPECT_EQ(DAT_RSM_CONN_ABORTED, ring_open(&r));
}

/* --- DAT_IOC_POLLER_SET, DAT_IOC_POLLER_RUN ---------------------------------------------- */

static int poller_set(int fd, uint32_t idle_us)
{
	struct dat_poller_set arg = { .size = sizeof(arg), .idle_us = idle_us };

	return ioctl(fd, DAT_IOC_POLLER_SET, &arg) ? -errno : 0;
}

static int poller_run(int fd)
{
	struct dat_poller_run arg = { .size = sizeof(arg) };

	return ioctl(fd, DAT_IOC_POLLER_RUN, &arg) ? -errno : 0;
}

static void *poller_thread(void *arg)
{
	return (void *)(long)poller_run(*(int *)arg);
}

TEST_F(raw, a_file_that_is_not_one_of_RSM_has_no_poller)
{
	int fd = open("/dev/rsm", O_RDWR | O_CLOEXEC);

	EXPECT_EQ(-EINVAL, poller_set(fd, 1000));
	EXPECT_EQ(-EINVAL, poller_run(fd));
	close(fd);
}

TEST_F(raw, what_a_poller_cannot_be_is_refused)
{
	struct dat_poller_set set = { .size = sizeof(set) - 1 };
	struct dat_poller_run run = { .size = sizeof(run), .rsvd = 1 };

	EXPECT_EQ(-EINVAL, poller_set(self->fd, DAT_MAX_POLLER_IDLE_US + 1));
	EXPECT_EQ(-1, ioctl(self->fd, DAT_IOC_POLLER_SET, &set));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(-1, ioctl(self->fd, DAT_IOC_POLLER_RUN, &run));
	EXPECT_EQ(EOPNOTSUPP, errno);
	set.size = 1 << 20;
	EXPECT_EQ(-1, ioctl(self->fd, DAT_IOC_POLLER_SET, &set));
	EXPECT_EQ(E2BIG, errno);
	EXPECT_EQ(-1, ioctl(self->fd, DAT_IOC_POLLER_SET, NULL));
	EXPECT_EQ(EFAULT, errno);
}

TEST_F(raw, no_poller_runs_before_it_may)
{
	EXPECT_EQ(0, poller_run(self->fd));
}

TEST_F(raw, a_child_can_be_no_poller)
{
	int status;
	pid_t pid = fork();

	if (!pid)
		_exit(poller_set(self->fd, 1000) != -EPERM || poller_run(self->fd) != -EPERM);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
}

TEST_F(raw, there_is_one_poller_at_a_time)
{
	pthread_t t;
	void *ret;

	ASSERT_EQ(0, poller_set(self->fd, 1000));
	ASSERT_EQ(0, pthread_create(&t, NULL, poller_thread, &self->fd));
	ASSERT_TRUE(poller_is(self->fd, 0, R_WAIT_MS));
	EXPECT_EQ(-EBUSY, poller_run(self->fd));
	ASSERT_EQ(0, poller_set(self->fd, 0));
	ASSERT_EQ(0, pthread_join(t, &ret));
	EXPECT_EQ(0, (long)ret);
	EXPECT_EQ(-1, poller_awake(self->fd));
}

/*
 * Post a flush, kick only if the ring requires a kick, and poll for the completion of the flush.
 * Returns 0 or -ETIMEDOUT.
 */
static int flush_by_the_rules(struct ring *r)
{
	const struct dat_rsm_entry flush = { .op = DAT_RSM_RING_FLUSH };
	uint64_t end = now_ms() + R_WAIT_MS;
	uint32_t index = ring_push(r, &flush);

	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (r->status->flags & DAT_RSM_NEED_KICK)
		ring_kick(r, 0, 0);
	while ((int32_t)(r->status->done - index) <= 0)
		if (now_ms() > end)
			return -ETIMEDOUT;
	return 0;
}

static int ring_asks(struct ring *r, uint32_t flags)
{
	uint64_t end = now_ms() + R_WAIT_MS;

	while (r->status->flags != flags && now_ms() < end)
		usleep(1000);
	return r->status->flags == flags;
}

/*
 * Flush until the ring requires no kicks.  More than one flush may be needed: if the ring required
 * kicks before the poller started, it still requires kicks until the next entry is posted, and the
 * poller may fall asleep.  Returns 0 on timeout.
 */
static int ring_is_watched(struct ring *r)
{
	uint64_t end = now_ms() + R_WAIT_MS;

	do {
		if (flush_by_the_rules(r))
			return 0;
		usleep(1000);
	} while (r->status->flags && now_ms() < end);
	return !r->status->flags;
}

TEST_F(raw, a_ring_asks_for_kicks_while_the_poller_sleeps_and_only_then)
{
	pthread_t t;

	ASSERT_EQ(0, poller_set(self->fd, 1000000));
	ASSERT_EQ(0, pthread_create(&t, NULL, poller_thread, &self->fd));
	EXPECT_TRUE(ring_is_watched(&self->r));
	EXPECT_TRUE(ring_asks(&self->r, DAT_RSM_NEED_KICK));
	EXPECT_TRUE(poller_is(self->fd, 0, R_WAIT_MS));
	ASSERT_EQ(0, poller_set(self->fd, 0));
	ASSERT_EQ(0, pthread_join(t, NULL));
}

/*
 * The poller parks and wakes in short intervals, between entries and while entries are in flight.
 */
TEST_F_TIMEOUT(raw, nothing_is_lost_while_a_poller_parks, 120)
{
	pthread_t t;
	void *ret;
	int i;

	ASSERT_EQ(0, poller_set(self->fd, 1));
	ASSERT_EQ(0, pthread_create(&t, NULL, poller_thread, &self->fd));
	for (i = 0; i < 2000; i++) {
		ASSERT_EQ(0, flush_by_the_rules(&self->r)) TH_LOG("entry %d", i);
	}
	ASSERT_EQ(0, poller_set(self->fd, 0));
	ASSERT_EQ(0, pthread_join(t, &ret));
	EXPECT_EQ(0, (long)ret);
	EXPECT_EQ(0, ring_flush(&self->r));
}

TEST_F(raw, pages_can_be_unmapped_under_way)
{
	struct ring r;
	uint32_t i;

	ASSERT_EQ(0, ring_import(self, 0600, &r));
	for (i = 0; i < 64; i++)
		ring_push(&r, &(struct dat_rsm_entry) { .op = GET, .length = 4096 });
	EXPECT_EQ(DAT_RSM_TIMEOUT, ring_kick(&r, r.tail, 0));
	ring_unmap(&r);
	EXPECT_EQ(0, ring_kick(&r, r.tail - 1, in_ms(R_WAIT_MS)));
	EXPECT_EQ(0, ring_open(&r));
	EXPECT_EQ(0, ring_flush(&r));
	ring_unmap(&r);
	EXPECT_EQ(0, ring_free(&r));
}

/* Post entries in an endless loop, and kick when the ring requires a kick. */
static void stream_on(struct ring *r)
{
	for (;;) {
		while (r->tail - r->status->done >= r->info.entries)
			if (r->status->flags & DAT_RSM_NEED_KICK)
				ring_kick(r, 0, 0);
		ring_push(r, &(struct dat_rsm_entry) {
			.op = r->tail % 5 ? PUT : FLUSH, .length = r->tail % 5 ? 4096 : 0,
		});
		if (r->status->flags & DAT_RSM_NEED_KICK)
			ring_kick(r, 0, 0);
	}
}

static int stream_to_death(struct _test_data_raw *self, useconds_t after)
{
	struct dat_rsm_open o = { .size = sizeof(o) };
	int status;
	pid_t pid = fork();

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		self->fd = open("/dev/rsm", O_RDWR | O_CLOEXEC);
		if (CALL(self->fd, OPEN, &o))
			_exit(1);
		self->slots = raw_map(self->fd, o.slots_offset, o.slots_size, PROT_READ);
		if (ring_import(self, 0600, &self->r))
			_exit(2);
		stream_on(&self->r);
	}
	usleep(after);
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	return WIFSIGNALED(status) ? 0 : WEXITSTATUS(status);
}

TEST_F(raw, a_process_may_die_at_any_time)
{
	int i;

	for (i = 0; i < 30; i++)
		ASSERT_EQ(0, stream_to_death(self, (useconds_t)(noise() % 100000)));
	EXPECT_EQ(0, ring_flush(&self->r));
}

struct kicker {
	struct ring	*r;
	int		end;
};

static void *kick_on(void *arg)
{
	struct kicker *k = arg;

	while (!__atomic_load_n(&k->end, __ATOMIC_RELAXED))
		ring_kick(k->r, (uint32_t)noise(), in_ms((int)(noise() % 3)));
	return NULL;
}

TEST_F(raw, kicks_and_the_end_may_meet)
{
	struct dat_rsm_ring arg = { .size = sizeof(arg) };
	struct kicker k = { .end = 0 };
	struct ring r = self->r;
	pthread_t t[2];
	int i, j;

	k.r = &r;
	for (i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, kick_on, &k);
	for (i = 0; i < 30; i++) {
		ASSERT_EQ(0, raw_connect(self, 0600, &r));
		arg.id = r.id;
		/* In every second round, create a ring just before the import is freed. */
		if (i % 2)
			ASSERT_EQ(0, CALL(self->fd, RING, &arg));
		for (j = 0; j < i; j++)
			ring_kick(&r, 0, 0);
		ASSERT_EQ(0, ring_free(&r));
	}
	__atomic_store_n(&k.end, 1, __ATOMIC_RELAXED);
	for (i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
}

TEST_F(raw, a_child_has_nothing_of_it)
{
	int status;

	if (!fork()) {
		signal(SIGSEGV, SIG_DFL);
		if (ring_kick(&self->r, 0, 0) != DAT_RSM_NOT_CREATOR)
			_exit(1);
		if (raw_map(self->fd, self->r.info.data_offset, self->r.info.data_size,
			    PROT_READ) != MAP_FAILED)
			_exit(2);
		self->r.data[0] = 'x';
		_exit(3);
	}
	wait(&status);
	EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV) TH_LOG("%x", status);
}

TEST_HARNESS_MAIN
