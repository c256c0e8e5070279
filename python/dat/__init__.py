# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Copyright (c) The dat authors
"""Direct Access Transport (uDAPL 1.2), by way of libdat.so.1.

    with dat.IA() as ia:
        pz, evd = dat.PZ(ia), dat.EVD(ia)
        ep, memory = dat.EP(pz, evd), dat.LMR(pz, bytearray(4096))
        ep.connect("192.0.2.1", 5055)
        evd.wait(10, want=dat.CONNECTION_EVENT_ESTABLISHED)

An object is freed by its close() or at the end of its "with".  The close of an IA first frees the
objects of the IA, the newest first.  A second close does nothing.  An IA that is not closed lives
until the process exits.  After a fork, all objects are closed in the child.

Times are in seconds; None is no limit.  A call that fails raises DatError.  Use of a closed object
raises ValueError.  Constants have the names of <dat/dat.h> without "DAT_".  Several threads may use
the same objects.
"""
from ._c import (CLOSE_ABRUPT_FLAG, CLOSE_GRACEFUL_FLAG, CompletionFlags, DatError, DatTimeout,
                 DtoStatus, EventNumber, EvdFlags, MemPriv)
from ._objects import CR, EP, EVD, IA, LMR, PSP, PZ, Event, EventError, RemoteBuffer, adapters
from ._version import __version__

for _enum in (CompletionFlags, DtoStatus, EventNumber, EvdFlags, MemPriv):
    globals().update(_enum.__members__)
