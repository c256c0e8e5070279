#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
# Copyright (c) The dat authors
"""Exchange and reduce arrays by mpi4py, and compare with what must come out.

Each size is exchanged around a ring in both directions: short messages that ofi_rxm copies, and
long ones that it reads from registered memory.  Objects travel pickled, with a length before them.
"""
from array import array

from mpi4py import MPI

SIZES = (0, 1, 7, 500, 4096, 200000)	# doubles: up to 1.6 MB
ROUNDS = 2
PRIME = 997

world = MPI.COMM_WORLD
rank, ranks = world.rank, world.size


def check(what, got, want):
    if got != want:
        print(f"rank {rank}: {what} is wrong: {str(got)[:80]}", flush=True)
        world.Abort(1)


def pattern(kind, size, first, step=1):
    """Numbers from @first on, which repeat: a prime is no size of a packet."""
    period = array(kind, (first + step * i for i in range(PRIME)))
    return (period * (size // PRIME + 1))[:size]


def numbers(owner, size, salt):
    """Numbers that only this rank has in this round."""
    return pattern("d", size, owner * 1e6 + salt * 1e4)


def ring(size, salt, step):
    to, source = (rank + step) % ranks, (rank - step) % ranks
    got = array("d", [-1.0]) * size
    world.Sendrecv([numbers(rank, size, salt), MPI.DOUBLE], dest=to,
                   recvbuf=[got, MPI.DOUBLE], source=source)
    check(f"array of {size} from rank {source}", got, numbers(source, size, salt))


def both_at_once(size, salt):
    """Requests of both directions are outstanding together."""
    peers = {(rank + step) % ranks for step in (1, -1)} - {rank}
    mine = numbers(rank, size, salt)
    got = {peer: array("d", [-1.0]) * size for peer in peers}
    requests = [world.Irecv([got[peer], MPI.DOUBLE], source=peer) for peer in peers]
    requests += [world.Isend([mine, MPI.DOUBLE], dest=peer) for peer in peers]
    MPI.Request.Waitall(requests)
    for peer in peers:
        check(f"array of {size} from rank {peer}", got[peer], numbers(peer, size, salt))


def reductions(size, salt):
    mine = pattern("l", size, 3 * rank + salt)
    total, largest = (array("l", [-1]) * size for _ in range(2))
    world.Reduce([mine, MPI.LONG], [total, MPI.LONG], op=MPI.SUM, root=ranks - 1)
    world.Allreduce([mine, MPI.LONG], [largest, MPI.LONG], op=MPI.MAX)
    if rank == ranks - 1:
        check(f"sum of {size}", total,
              pattern("l", size, ranks * salt + 3 * ranks * (ranks - 1) // 2, ranks))
    check(f"maximum of {size}", largest, pattern("l", size, 3 * (ranks - 1) + salt))


def objects(salt):
    table = {"salt": salt, "text": "x" * 30000, "rows": [(i, i * i) for i in range(1000)]}
    check("table", world.bcast(table if rank == 0 else None, root=0), table)
    check("gathered", world.allgather({"rank": rank}), [{"rank": i} for i in range(ranks)])
    check("mean", world.allreduce(rank + 0.5) / ranks, ranks / 2)


for turn in range(ROUNDS):
    for length in SIZES:
        ring(length, turn, 1)
        ring(length, turn, ranks - 1)
        both_at_once(length, turn)
        reductions(length, turn)
    objects(turn)
world.Barrier()
if rank == 0:
    print(f"mpi_arrays: {ranks} ranks have all their numbers")
