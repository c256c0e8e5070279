// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * mpi_coll: all collective operations of MPI-3, blocking and nonblocking, against results that are
 * known.  Each process checks what it has received; process 0 prints a result for each operation.
 * mpi.sh starts it.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Numbers of elements: none, one, an eager message, and those of a rendezvous. */
static const int lengths[] = { 0, 1, 1000, 60000 };

static int rank, size;
static MPI_Comm world = MPI_COMM_WORLD;

/* Arguments of a test: elements of each process, and whether the operation is nonblocking. */
struct arg {
	int	n;
	int	nonblocking;
	int	*from;
	int	*to;
	int	*counts;	/* of process i: n + i elements */
	int	*starts;	/* the sums of the counts before */
};

/* Call MPI_@name or, nonblocking, MPI_@iname. */
#define CALL(a, name, iname, ...) do {					\
	MPI_Request request;						\
									\
	if ((a)->nonblocking) {						\
		MPI_##iname(__VA_ARGS__, &request);			\
		MPI_Wait(&request, MPI_STATUS_IGNORE);			\
	} else {							\
		MPI_##name(__VA_ARGS__);				\
	}								\
} while (0)

/* Element @i that process @r sends to process @to. */
static int item(int r, int to, int i)
{
	return r * 1000003 + to * 10007 + i;
}

static void fill(int *at, int n, int to)
{
	int i;

	for (i = 0; i < n; i++)
		at[i] = item(rank, to, i);
}

/* Returns how many of the @n elements are not those that process @r sent to @to. */
static int differ(const int *at, int n, int r, int to)
{
	int wrong = 0, i;

	for (i = 0; i < n; i++)
		wrong += at[i] != item(r, to, i);
	return wrong;
}

/* The sum of element @i of the first @n processes, for @to. */
static int sum_item(int n, int to, int i)
{
	int sum = 0, r;

	for (r = 0; r < n; r++)
		sum += item(r, to, i);
	return sum;
}

static int differ_from_sum(const int *at, int n, int processes, int to, int first)
{
	int wrong = 0, i;

	for (i = 0; i < n; i++)
		wrong += at[i] != sum_item(processes, to, first + i);
	return wrong;
}

/* ---- The operations: each returns the number of wrong elements ---- */

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* No process leaves before the last one has come.  All processes have the same clock. */
static int barrier(struct arg *a)
{
	double came, left, theirs;
	int wrong = 0, r;

	usleep((useconds_t)rank * 20000);
	came = now();
	CALL(a, Barrier, Ibarrier, world);
	left = now();
	for (r = 0; r < size; r++) {
		MPI_Sendrecv(&came, 1, MPI_DOUBLE, (rank + r) % size, 1, &theirs, 1, MPI_DOUBLE,
			     (rank + size - r) % size, 1, world, MPI_STATUS_IGNORE);
		wrong += theirs > left;
	}
	return wrong;
}

static int bcast(struct arg *a)
{
	int wrong = 0, root;

	for (root = 0; root < size; root++) {
		if (rank == root)
			fill(a->to, a->n, root);
		CALL(a, Bcast, Ibcast, a->to, a->n, MPI_INT, root, world);
		wrong += differ(a->to, a->n, root, root);
	}
	return wrong;
}

static int gather(struct arg *a)
{
	int wrong = 0, root, r;

	for (root = 0; root < size; root++) {
		fill(a->from, a->n, root);
		CALL(a, Gather, Igather, a->from, a->n, MPI_INT, a->to, a->n, MPI_INT, root, world);
		for (r = 0; rank == root && r < size; r++)
			wrong += differ(a->to + r * a->n, a->n, r, root);
	}
	return wrong;
}

static int gatherv(struct arg *a)
{
	int wrong = 0, root, r;

	for (root = 0; root < size; root++) {
		fill(a->from, a->counts[rank], root);
		CALL(a, Gatherv, Igatherv, a->from, a->counts[rank], MPI_INT, a->to, a->counts,
		     a->starts, MPI_INT, root, world);
		for (r = 0; rank == root && r < size; r++)
			wrong += differ(a->to + a->starts[r], a->counts[r], r, root);
	}
	return wrong;
}

static int scatter(struct arg *a)
{
	int wrong = 0, root, r;

	for (root = 0; root < size; root++) {
		for (r = 0; r < size; r++)
			fill(a->from + r * a->n, a->n, r);
		CALL(a, Scatter, Iscatter, a->from, a->n, MPI_INT, a->to, a->n, MPI_INT, root,
		     world);
		wrong += differ(a->to, a->n, root, rank);
	}
	return wrong;
}

static int scatterv(struct arg *a)
{
	int wrong = 0, root, r;

	for (root = 0; root < size; root++) {
		for (r = 0; r < size; r++)
			fill(a->from + a->starts[r], a->counts[r], r);
		CALL(a, Scatterv, Iscatterv, a->from, a->counts, a->starts, MPI_INT, a->to,
		     a->counts[rank], MPI_INT, root, world);
		wrong += differ(a->to, a->counts[rank], root, rank);
	}
	return wrong;
}

static int allgather(struct arg *a)
{
	int wrong = 0, r;

	fill(a->from, a->n, 0);
	CALL(a, Allgather, Iallgather, a->from, a->n, MPI_INT, a->to, a->n, MPI_INT, world);
	for (r = 0; r < size; r++)
		wrong += differ(a->to + r * a->n, a->n, r, 0);
	return wrong;
}

static int allgatherv(struct arg *a)
{
	int wrong = 0, r;

	fill(a->from, a->counts[rank], 0);
	CALL(a, Allgatherv, Iallgatherv, a->from, a->counts[rank], MPI_INT, a->to, a->counts,
	     a->starts, MPI_INT, world);
	for (r = 0; r < size; r++)
		wrong += differ(a->to + a->starts[r], a->counts[r], r, 0);
	return wrong;
}

static int alltoall(struct arg *a)
{
	int wrong = 0, r;

	for (r = 0; r < size; r++)
		fill(a->from + r * a->n, a->n, r);
	CALL(a, Alltoall, Ialltoall, a->from, a->n, MPI_INT, a->to, a->n, MPI_INT, world);
	for (r = 0; r < size; r++)
		wrong += differ(a->to + r * a->n, a->n, r, rank);
	return wrong;
}

/* Process r sends n + i elements to process i, so it receives n + r from each. */
static void uneven(const struct arg *a, int *counts, int *starts)
{
	int r;

	for (r = 0; r < size; r++) {
		fill(a->from + a->starts[r], a->counts[r], r);
		counts[r] = a->counts[rank];
		starts[r] = r * a->counts[rank];
	}
}

static int differ_uneven(const struct arg *a, const int *starts)
{
	int wrong = 0, r;

	for (r = 0; r < size; r++)
		wrong += differ(a->to + starts[r], a->counts[rank], r, rank);
	return wrong;
}

static int alltoallv(struct arg *a)
{
	int counts[size], starts[size];

	uneven(a, counts, starts);
	CALL(a, Alltoallv, Ialltoallv, a->from, a->counts, a->starts, MPI_INT, a->to, counts,
	     starts, MPI_INT, world);
	return differ_uneven(a, starts);
}

static int alltoallw(struct arg *a)
{
	int counts[size], starts[size], from[size], to[size], r;
	MPI_Datatype types[size];

	uneven(a, counts, starts);
	for (r = 0; r < size; r++) {
		types[r] = MPI_INT;
		from[r] = a->starts[r] * (int)sizeof(int);
		to[r] = starts[r] * (int)sizeof(int);
	}
	CALL(a, Alltoallw, Ialltoallw, a->from, a->counts, from, types, a->to, counts, to, types,
	     world);
	return differ_uneven(a, starts);
}

static int reduce(struct arg *a)
{
	int wrong = 0, root;

	for (root = 0; root < size; root++) {
		fill(a->from, a->n, root);
		CALL(a, Reduce, Ireduce, a->from, a->to, a->n, MPI_INT, MPI_SUM, root, world);
		if (rank == root)
			wrong += differ_from_sum(a->to, a->n, size, root, 0);
	}
	return wrong;
}

static int allreduce(struct arg *a)
{
	fill(a->from, a->n, 0);
	CALL(a, Allreduce, Iallreduce, a->from, a->to, a->n, MPI_INT, MPI_SUM, world);
	return differ_from_sum(a->to, a->n, size, 0, 0);
}

/* The largest element of each place, and the process that has it. */
static int allreduce_maxloc(struct arg *a)
{
	int *pair = a->from, i, wrong = 0;

	for (i = 0; i < a->n / 2; i++) {
		pair[2 * i] = (rank + i) % size;
		pair[2 * i + 1] = rank;
	}
	CALL(a, Allreduce, Iallreduce, a->from, a->to, a->n / 2, MPI_2INT, MPI_MAXLOC, world);
	for (i = 0; i < a->n / 2; i++)
		wrong += a->to[2 * i] != size - 1 || (a->to[2 * i + 1] + i) % size != size - 1;
	return wrong;
}

/* ---- An operation that depends on the order of the processes ---- */

/* A function x -> ax + b: the operation is the composition. */
static void compose(void *in, void *inout, int *n, MPI_Datatype *type)
{
	unsigned int *f = in, *g = inout;
	int i;

	(void)type;
	for (i = 0; i < 2 * *n; i += 2) {
		g[i + 1] += g[i] * f[i + 1];
		g[i] *= f[i];
	}
}

static int allreduce_in_order(struct arg *a)
{
	unsigned int want[2] = { 1, 0 }, *to = (unsigned int *)a->to;
	int i, wrong = 0;
	MPI_Datatype pair;
	MPI_Op op;

	MPI_Type_contiguous(2, MPI_INT, &pair);
	MPI_Type_commit(&pair);
	MPI_Op_create(compose, 0, &op);
	for (i = 0; i < a->n / 2; i++) {
		a->from[2 * i] = rank + 2;
		a->from[2 * i + 1] = rank;
	}
	CALL(a, Allreduce, Iallreduce, a->from, a->to, a->n / 2, pair, op, world);
	for (i = 0; i < size; i++) {
		want[1] = (unsigned int)i + (unsigned int)(i + 2) * want[1];
		want[0] *= (unsigned int)(i + 2);
	}
	for (i = 0; i < a->n / 2; i++)
		wrong += to[2 * i] != want[0] || to[2 * i + 1] != want[1];
	MPI_Op_free(&op);
	MPI_Type_free(&pair);
	return wrong;
}

static int reduce_scatter(struct arg *a)
{
	fill(a->from, a->starts[size - 1] + a->counts[size - 1], 0);
	CALL(a, Reduce_scatter, Ireduce_scatter, a->from, a->to, a->counts, MPI_INT, MPI_SUM,
	     world);
	return differ_from_sum(a->to, a->counts[rank], size, 0, a->starts[rank]);
}

static int reduce_scatter_block(struct arg *a)
{
	fill(a->from, a->n * size, 0);
	CALL(a, Reduce_scatter_block, Ireduce_scatter_block, a->from, a->to, a->n, MPI_INT, MPI_SUM,
	     world);
	return differ_from_sum(a->to, a->n, size, 0, rank * a->n);
}

static int scan(struct arg *a)
{
	fill(a->from, a->n, 0);
	CALL(a, Scan, Iscan, a->from, a->to, a->n, MPI_INT, MPI_SUM, world);
	return differ_from_sum(a->to, a->n, rank + 1, 0, 0);
}

static int exscan(struct arg *a)
{
	fill(a->from, a->n, 0);
	CALL(a, Exscan, Iexscan, a->from, a->to, a->n, MPI_INT, MPI_SUM, world);
	/* The result of process 0 is undefined. */
	return rank ? differ_from_sum(a->to, a->n, rank, 0, 0) : 0;
}

/* ---- Neighbours in a ring: the one before and the one behind ---- */

static MPI_Comm ring;

#define BEFORE	((rank + size - 1) % size)
#define BEHIND	((rank + 1) % size)

static int neighbor_allgather(struct arg *a)
{
	fill(a->from, a->n, 0);
	CALL(a, Neighbor_allgather, Ineighbor_allgather, a->from, a->n, MPI_INT, a->to, a->n,
	     MPI_INT, ring);
	return differ(a->to, a->n, BEFORE, 0) + differ(a->to + a->n, a->n, BEHIND, 0);
}

static int neighbor_allgatherv(struct arg *a)
{
	int counts[] = { a->counts[BEFORE], a->counts[BEHIND] };
	int starts[] = { 0, counts[0] };

	fill(a->from, a->counts[rank], 0);
	CALL(a, Neighbor_allgatherv, Ineighbor_allgatherv, a->from, a->counts[rank], MPI_INT, a->to,
	     counts, starts, MPI_INT, ring);
	return differ(a->to, counts[0], BEFORE, 0) +
	       differ(a->to + starts[1], counts[1], BEHIND, 0);
}

/*
 * The part for the next process differs from the part for the previous one.  With two processes,
 * both neighbours are the same process, and MPI does not say which part arrives first.
 */
#define FORWARD	(size > 2)

static int differ_ring(const struct arg *a, int n, int second)
{
	return differ(a->to, n, BEFORE, FORWARD) + differ(a->to + second, n, BEHIND, 0);
}

static int neighbor_alltoall(struct arg *a)
{
	fill(a->from, a->n, 0);
	fill(a->from + a->n, a->n, FORWARD);
	CALL(a, Neighbor_alltoall, Ineighbor_alltoall, a->from, a->n, MPI_INT, a->to, a->n, MPI_INT,
	     ring);
	return differ_ring(a, a->n, a->n);
}

static int neighbor_alltoallv(struct arg *a)
{
	int counts[] = { a->n, a->n }, starts[] = { 0, a->n + 1 };

	fill(a->from, a->n, 0);
	fill(a->from + starts[1], a->n, FORWARD);
	CALL(a, Neighbor_alltoallv, Ineighbor_alltoallv, a->from, counts, starts, MPI_INT, a->to,
	     counts, starts, MPI_INT, ring);
	return differ_ring(a, a->n, starts[1]);
}

static int neighbor_alltoallw(struct arg *a)
{
	MPI_Aint starts[] = { 0, (MPI_Aint)((a->n + 1) * sizeof(int)) };
	MPI_Datatype types[] = { MPI_INT, MPI_INT };
	int counts[] = { a->n, a->n };

	fill(a->from, a->n, 0);
	fill(a->from + a->n + 1, a->n, FORWARD);
	CALL(a, Neighbor_alltoallw, Ineighbor_alltoallw, a->from, counts, starts, types, a->to,
	     counts, starts, types, ring);
	return differ_ring(a, a->n, a->n + 1);
}

static const struct {
	const char	*name;
	int		(*run)(struct arg *a);
} tests[] = {
	{ "barrier", barrier },
	{ "bcast", bcast },
	{ "gather", gather },
	{ "gatherv", gatherv },
	{ "scatter", scatter },
	{ "scatterv", scatterv },
	{ "allgather", allgather },
	{ "allgatherv", allgatherv },
	{ "alltoall", alltoall },
	{ "alltoallv", alltoallv },
	{ "alltoallw", alltoallw },
	{ "reduce", reduce },
	{ "allreduce", allreduce },
	{ "allreduce of pairs", allreduce_maxloc },
	{ "allreduce in order", allreduce_in_order },
	{ "reduce_scatter", reduce_scatter },
	{ "reduce_scatter_block", reduce_scatter_block },
	{ "scan", scan },
	{ "exscan", exscan },
	{ "neighbor_allgather", neighbor_allgather },
	{ "neighbor_allgatherv", neighbor_allgatherv },
	{ "neighbor_alltoall", neighbor_alltoall },
	{ "neighbor_alltoallv", neighbor_alltoallv },
	{ "neighbor_alltoallw", neighbor_alltoallw },
};

#define TESTS	((int)(sizeof(tests) / sizeof(tests[0])))
#define LENGTHS	((int)(sizeof(lengths) / sizeof(lengths[0])))

static int run_lengths(struct arg *a, int (*run)(struct arg *a))
{
	int wrong = 0, i, r;

	for (i = 0; i < LENGTHS; i++) {
		a->n = lengths[i];
		for (r = 0; r < size; r++) {
			a->counts[r] = a->n + r;
			a->starts[r] = r ? a->starts[r - 1] + a->counts[r - 1] : 0;
		}
		memset(a->to, 0xff, sizeof(int) * (size_t)size * (size_t)(a->n + size));
		wrong += run(a);
	}
	return wrong;
}

/* Returns the sum over all processes in process 0, without an operation that is tested. */
static int total(int wrong)
{
	int other, r;

	if (rank) {
		MPI_Send(&wrong, 1, MPI_INT, 0, 2, world);
		return 0;
	}
	for (r = 1; r < size; r++) {
		MPI_Recv(&other, 1, MPI_INT, r, 2, world, MPI_STATUS_IGNORE);
		wrong += other;
	}
	return wrong;
}

int main(int argc, char **argv)
{
	int yes = 1, failed = 0, wrong, i;
	struct arg a;
	size_t room;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(world, &rank);
	MPI_Comm_size(world, &size);
	MPI_Cart_create(world, 1, &size, &yes, 0, &ring);
	room = sizeof(int) * (size_t)size * (size_t)(lengths[LENGTHS - 1] + size);
	a.from = malloc(room);
	a.to = malloc(room);
	a.counts = malloc(sizeof(int) * (size_t)size);
	a.starts = malloc(sizeof(int) * (size_t)size);
	for (i = 0; i < 2 * TESTS; i++) {
		a.nonblocking = i % 2;
		wrong = total(run_lengths(&a, tests[i / 2].run));
		failed += !!wrong;
		if (!rank && wrong)
			printf("%s%s: %d wrong elements\n", tests[i / 2].name,
			       i % 2 ? ", nonblocking" : "", wrong);
	}
	if (!rank)
		printf("%d of %d operations failed, %d processes\n", failed, 2 * TESTS, size);
	MPI_Finalize();
	return !!failed;
}
