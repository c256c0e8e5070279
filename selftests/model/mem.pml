/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) The dat authors */
/*
 * A memory model that is weaker than the model of any CPU, with one exception.
 *
 * Every location has a history of stores, oldest first.  Every thread has a view, which is its
 * position in each history.  A relaxed load returns any store at or after the position of the view,
 * so a store may become visible late and a load may execute early.
 *
 *   release store   carries the view of its thread
 *   acquire load    adds the view that the loaded store carries to the view of its thread
 *   full barrier    joins the view of its thread and the views of all earlier full barriers
 *   lock, unlock    acquire and release of a view that belongs to the lock
 *   RMW             stores after the newest store, atomically; is no barrier by itself
 *
 * The exception: a store never executes before an earlier load of the same thread.  Where a barrier
 * prevents such a reordering, the variant without the barrier moves the load explicitly.
 *
 * To keep the state small, the model forgets stores that all readers have passed, and renumbers the
 * rest.  The including model defines NTHREAD, NLOC, NREL (only locations below NREL have release
 * stores), NLOCK, HIST, and READS(t, l) in C: whether thread t may load from location l.  Each
 * process has a local byte "me", its thread number.
 */

byte val[NLOC * HIST];		/* values in the histories */
byte mv[NREL * HIST * NLOC];	/* views that the stores carry */
byte newest[NLOC];
byte view[NTHREAD * NLOC];
byte scview[NLOC];		/* view of all full barriers */
byte lkview[NLOCK * NLOC];
bool held[NLOCK];
byte ahead;			/* within a load: distance of the store from the view */

/* Arguments and results of the C code below; not part of the state. */
hidden byte m_thread, m_loc, m_val;

#define VIEW(l)		view[me * NLOC + (l)]
#define VAL(l, k)	val[(l) * HIST + (k)]

c_code {
static void mem_join(unsigned char *to, const unsigned char *from)
{
	int i;

	for (i = 0; i < NLOC; i++)
		if (from[i] > to[i])
			to[i] = from[i];
}

static void mem_less(unsigned char *p, int n, int step, unsigned char by)
{
	for (; n--; p += step)
		*p = *p > by ? *p - by : 0;
}

/* Forget stores that no thread can load any more. */
static void mem_forget(void)
{
	int l, t, n, left;

	for (l = 0; l < NLOC; l++) {
		n = now.newest[l];
		for (t = 0; t < NTHREAD; t++)
			if (READS(t, l) && now.view[t * NLOC + l] < n)
				n = now.view[t * NLOC + l];
		if (!n)
			continue;
		left = now.newest[l] + 1 - n;
		now.newest[l] -= n;
		memmove(&now.val[l * HIST], &now.val[l * HIST + n], left);
		memset(&now.val[l * HIST + left], 0, HIST - left);
		mem_less(&now.view[l], NTHREAD, NLOC, n);
		mem_less(&now.lkview[l], NLOCK, NLOC, n);
		mem_less(&now.scview[l], 1, NLOC, n);
		mem_less(&now.mv[l], NREL * HIST, NLOC, n);
		if (l >= NREL)
			continue;
		memmove(&now.mv[l * HIST * NLOC], &now.mv[(l * HIST + n) * NLOC], left * NLOC);
		memset(&now.mv[(l * HIST + left) * NLOC], 0, (HIST - left) * NLOC);
	}
}

static unsigned char *mem_view(void)
{
	return &now.view[m_thread * NLOC];
}

/* Return the view that store @n to m_loc carries. */
static unsigned char *mem_carried(int n)
{
	return &now.mv[(m_loc * HIST + n) * NLOC];
}

static void mem_load(int acquire)
{
	unsigned char *v = mem_view();

	v[m_loc] += now.ahead;
	now.ahead = 0;
	m_val = now.val[m_loc * HIST + v[m_loc]];
	if (acquire && m_loc < NREL)
		mem_join(v, mem_carried(v[m_loc]));
	mem_forget();
}

static void mem_store(int release)
{
	unsigned char *v = mem_view();
	int n = ++now.newest[m_loc];

	now.val[m_loc * HIST + n] = m_val;
	v[m_loc] = n;
	if (release)
		mem_join(mem_carried(n), v);
	mem_forget();
}

static void mem_barrier(void)
{
	mem_join(now.scview, mem_view());
	mem_join(mem_view(), now.scview);
	mem_forget();
}

static void mem_lock(int n)
{
	mem_join(mem_view(), &now.lkview[n * NLOC]);
	mem_forget();
}

static void mem_unlock(int n)
{
	mem_join(&now.lkview[n * NLOC], mem_view());
	mem_forget();
}

static void mem_leave(void)
{
	memcpy(mem_view(), (void *)now.newest, NLOC);
	mem_forget();
}
};

/*
 * Pick any store that the view allows and that meets the condition.  Wait until the newest store
 * meets the condition.
 */
#define PICK(l, cond) \
	cond(VAL(l, newest[l])); \
	do \
	:: cond(VAL(l, VIEW(l) + ahead)) -> break \
	:: newest[l] > VIEW(l) + ahead -> ahead++ \
	od; \
	skip
#define ANY(v)		true

inline load_relaxed(l, to)
{
	atomic {
		PICK(l, ANY);
		d_step { m_thread = me; m_loc = l; c_code { mem_load(0); }; to = m_val }
	}
}

inline load_acquire(l, to)
{
	atomic {
		PICK(l, ANY);
		d_step { m_thread = me; m_loc = l; c_code { mem_load(1); }; to = m_val }
	}
}

/* Wait for a store that meets the condition, and load it with acquire semantics. */
#define LOAD_ACQUIRE_WHEN(l, cond) \
	atomic { \
		PICK(l, cond); \
		d_step { m_thread = me; m_loc = l; c_code { mem_load(1); } } \
	}

/* HIST is too small if this assertion fails. */
#define SPACE(l)	assert(newest[l] < HIST - 1)

inline store_relaxed(l, v)
{
	d_step { SPACE(l); m_thread = me; m_loc = l; m_val = v; c_code { mem_store(0); } }
}

inline store_release(l, v)
{
	d_step { SPACE(l); m_thread = me; m_loc = l; m_val = v; c_code { mem_store(1); } }
}

inline exchange_relaxed(l, v, old)
{
	d_step {
		SPACE(l);
		m_thread = me; m_loc = l; m_val = v;
		old = VAL(l, newest[l]);
		c_code { mem_store(0); }
	}
}

/* An exchange that acquires and releases. */
inline exchange(l, v, old)
{
	d_step {
		SPACE(l);
		m_thread = me; m_loc = l;
		ahead = newest[l] - VIEW(l);
		c_code { mem_load(1); };
		old = m_val;
		m_val = v;
		c_code { mem_store(1); }
	}
}

inline full_barrier()
{
	d_step { m_thread = me; c_code { mem_barrier(); } }
}

inline lock(n)
{
	atomic {
		!held[n] -> held[n] = true;
		d_step { m_thread = me; m_loc = n; c_code { mem_lock(m_loc); } }
	}
}

inline unlock(n)
{
	d_step { held[n] = false; m_thread = me; m_loc = n; c_code { mem_unlock(m_loc); } }
}

/* A thread that has ended must not prevent that old stores are forgotten. */
inline leave()
{
	d_step { m_thread = me; c_code { mem_leave(); } }
}
