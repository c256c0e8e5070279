# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Copyright (c) The dat authors
"""The objects of DAT."""
import atexit
import contextlib
import os
import socket
import struct
import threading
import time
from ctypes import (POINTER, addressof, byref, c_char, c_int, c_uint32, c_uint64, c_void_p, pointer,
                    string_at)
from typing import NamedTuple, Optional

from . import _c
from ._c import DatError, DatTimeout, DtoStatus, EventNumber, EvdFlags, MemPriv, lib

# Keeps each open IA, so that registered memory cannot be collected while a peer may write there.
_open = {}


def _disown():
    """Close all objects in a child after fork, without a call: they belong to the parent."""
    for ia in _open.values():
        # A thread that the child does not have may have held the lock.
        ia._lock = threading.RLock()
        for thing in (*ia._objects.values(), ia.async_evd, ia):
            thing._closed()
        ia._objects.clear()
    _open.clear()


os.register_at_fork(after_in_child=_disown)


@atexit.register
def _close_all():
    for ia in list(_open.values()):
        ia.close()


class _Object:
    """What all objects have in common.  _free is the function that frees the object."""
    _handle = _free = None

    def _made(self, ia, handle):
        self.ia = ia
        with ia._lock:
            # Another thread may have closed the IA, and the object with it.
            _ = ia.handle
            self._handle = handle
            ia._objects[handle] = self

    @property
    def handle(self):
        if self._handle is None:
            raise ValueError(f"the {type(self).__name__} is closed")
        return self._handle

    def close(self):
        """Free the object.  After an error it is still open."""
        with self.ia._lock:
            if self._handle is not None:
                type(self)._free(self._handle)
                self._forget()

    def _forget(self):
        del self.ia._objects[self._handle]
        self._closed()

    def _closed(self):
        self._handle = None

    def __enter__(self):
        return self

    def __exit__(self, *_exception):
        self.close()


def adapters():
    """Return the names with which IA() can open an adapter."""
    room, count = 16, c_int(0)
    while True:
        infos = (_c.PROVIDER_INFO * room)()
        array = (POINTER(_c.PROVIDER_INFO) * room)(*(pointer(info) for info in infos))
        try:
            lib.dat_registry_list_providers(room, byref(count), array)
        except DatError as error:
            if not error.is_type(_c.INVALID_PARAMETER) or count.value <= room:
                raise
            room = count.value
            continue
        # An adapter has an entry for each thread safety.
        return list(dict.fromkeys(info.ia_name.decode() for info in infos[:count.value]))


class IA(_Object):
    """An open adapter.  async_evd gets errors of no single operation.

    Without a name, it is the adapter that DAT_ADAPTER in the environment names, or the first.
    """

    def __init__(self, name=None, async_qlen=16):
        # Without an adapter, dat_ia_openv() says what is wrong.
        name = name or os.environ.get("DAT_ADAPTER") or next(iter(adapters()), "lo0")
        self.name, self.ia, self._objects, self._lock = name, self, {}, threading.RLock()
        evd, handle = c_void_p(), c_void_p()
        lib.dat_ia_openv(name.encode(), async_qlen, byref(evd), byref(handle), _c.VERSION_MAJOR,
                         _c.VERSION_MINOR, _c.TRUE)
        self.async_evd = EVD.__new__(EVD)
        self.async_evd.ia, self.async_evd._handle = self, evd.value
        self._handle = handle.value
        _open[self._handle] = self

    def close(self):
        """Free the objects of the IA, the newest first, and close it; end connections."""
        with self._lock:
            if self._handle is None:
                return
            for child in reversed(list(self._objects.values())):
                # The close of the IA frees what cannot be freed alone.
                with contextlib.suppress(DatError):
                    child.close()
            lib.dat_ia_close(self._handle, _c.CLOSE_ABRUPT_FLAG)
            for child in list(self._objects.values()):
                child._forget()
            del _open[self._handle]
            self.async_evd._closed()
            self._closed()


class PZ(_Object):
    """A protection zone: an EP can use only memory of its own zone."""
    _free = lib.dat_pz_free

    def __init__(self, ia):
        handle = c_void_p()
        lib.dat_pz_create(ia.handle, byref(handle))
        self._made(ia, handle.value)


class RemoteBuffer(NamedTuple):
    """What a peer needs to read or write memory.  LMR.remote() makes it, the program sends it."""
    key: int
    address: int
    length: int


class LMR(_Object):
    """Registered memory: a writable buffer such as a bytearray or an mmap, in the attribute buffer.

    While it is registered, the buffer cannot be resized or closed (BufferError).
    """
    _free = lib.dat_lmr_free

    def __init__(self, pz, buffer, privileges=MemPriv.MEM_PRIV_ALL_FLAG):
        length = memoryview(buffer).nbytes
        exported = (c_char * length).from_buffer(buffer)
        self.address, self.length = addressof(exported), length
        handle, context, key = c_void_p(), c_uint32(), c_uint32()
        lib.dat_lmr_create(pz.ia.handle, _c.MEM_TYPE_VIRTUAL, _c.REGION_DESCRIPTION(self.address),
                           length, pz.handle, privileges, byref(handle), byref(context), byref(key),
                           None, None)
        self.buffer, self._exported = buffer, exported
        self._context, self._key = context.value, key.value
        self._made(pz.ia, handle.value)

    def _range(self, offset, length):
        _ = self.handle
        length = self.length - offset if length is None else length
        if offset < 0 or length < 0 or offset + length > self.length:
            raise ValueError(f"{length} bytes at {offset} are not in an LMR of {self.length}")
        return self.address + offset, length

    def segment(self, offset=0, length=None):
        """Return a part of the memory, for a post."""
        return _c.LMR_TRIPLET(self._context, 0, *self._range(offset, length))

    def remote(self, offset=0, length=None):
        """Return a part of the memory, for a peer."""
        return RemoteBuffer(self._key, *self._range(offset, length))

    def _closed(self):
        super()._closed()
        self._exported = None


class Event(NamedTuple):
    """An event.  The fields after number are None where they do not belong to the kind of event."""
    number: EventNumber
    ep: Optional["EP"] = None
    cookie: Optional[int] = None
    status: Optional[DtoStatus] = None
    length: Optional[int] = None
    private_data: Optional[bytes] = None
    cr: Optional["CR"] = None
    reason: Optional[int] = None


class EventError(Exception):
    """Another event came than EVD.wait() wanted, or the operation failed.  event is the event."""

    def __init__(self, event):
        super().__init__(event.number.name + (f": {event.status.name}" if event.status else ""))
        self.event = event


class EVD(_Object):
    """An event dispatcher, a queue of events.  It has room for qlen events; the others are lost."""
    _free = lib.dat_evd_free

    def __init__(self, ia, qlen=256, flags=EvdFlags.EVD_DEFAULT_FLAG & ~EvdFlags.EVD_ASYNC_FLAG):
        handle = c_void_p()
        lib.dat_evd_create(ia.handle, qlen, None, flags, byref(handle))
        self._made(ia, handle.value)

    def close(self):
        """Free the EVD.  The async_evd of an IA closes with the IA only."""
        if self is self.ia.async_evd and self._handle is not None:
            raise ValueError("the async_evd closes with its IA")
        super().close()

    def wait(self, timeout=None, want=None):
        """Return the next event; raise DatTimeout if none comes in time.

        With want, raise EventError if the event has another number or reports a failure.
        """
        event, more = _c.EVENT(), c_int()
        end = None if timeout is None else time.monotonic() + timeout
        while True:
            left = _c.TIMEOUT_INFINITE if end is None else _microseconds(end - time.monotonic())
            try:
                lib.dat_evd_wait(self.handle, left, 1, byref(event), byref(more))
                break
            except DatTimeout:
                # A call waits for an hour at most.
                if end is not None and time.monotonic() >= end:
                    raise
            except DatError as error:
                # Handlers of signals, such as that of Ctrl-C, run before the next call.
                if not error.is_type(_c.INTERRUPTED_CALL):
                    raise
        event = self._event(event)
        if want is not None and (event.number != want or event.status):
            raise EventError(event)
        return event

    def _event(self, event):
        number, data = EventNumber(event.event_number), event.event_data
        if number == EventNumber.DTO_COMPLETION_EVENT:
            dto = data.dto_completion_event_data
            return Event(number, self.ia._objects.get(dto.ep_handle), dto.user_cookie,
                         DtoStatus(dto.status), 0 if dto.status else dto.transfered_length)
        if number == EventNumber.CONNECTION_REQUEST_EVENT:
            return Event(number, cr=CR(self.ia, data.cr_arrival_event_data.cr_handle))
        if number & 0x4000:
            conn = data.connect_event_data
            return Event(number, self.ia._objects.get(conn.ep_handle),
                         private_data=_private_data(conn))
        if number & 0x8000:
            return Event(number, reason=data.asynch_error_event_data.reason)
        return Event(number)


class EP(_Object):
    """An endpoint.  evd gets all its events, or recv_evd and connect_evd those of their kind.

    recvs, requests: number of operations outstanding; segments: of an operation; reads: RDMA reads
    in progress, in each direction.
    """
    _free = lib.dat_ep_free

    def __init__(self, pz, evd, *, recv_evd=None, connect_evd=None, recvs=16, requests=16,
                 segments=1, reads=4):
        attr = _c.EP_ATTR(max_recv_dtos=recvs, max_request_dtos=requests, max_recv_iov=segments,
                          max_request_iov=segments, max_rdma_read_in=reads, max_rdma_read_out=reads,
                          srq_soft_hw=_c.HW_DEFAULT)
        handle = c_void_p()
        lib.dat_ep_create(pz.ia.handle, pz.handle, (recv_evd or evd).handle, evd.handle,
                          (connect_evd or evd).handle, byref(attr), byref(handle))
        self._made(pz.ia, handle.value)

    def connect(self, host, port, private_data=b"", timeout=10):
        """Ask for a connection; an event tells the result."""
        failure = None
        for family, _, _, _, address in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM):
            try:
                lib.dat_ep_connect(self.handle, _sockaddr(family, address), port,
                                   _microseconds(timeout), len(private_data), private_data,
                                   _c.QOS_BEST_EFFORT, _c.CONNECT_DEFAULT_FLAG)
                return
            except DatError as error:
                # The adapter may have no address of the family.
                if not error.is_type(_c.INVALID_ADDRESS):
                    raise
                failure = error
        raise failure

    def disconnect(self, flags=_c.CLOSE_GRACEFUL_FLAG):
        """End the connection; an event tells when it has ended."""
        lib.dat_ep_disconnect(self.handle, flags)

    def post_send(self, segments, cookie=0, flags=0):
        """Send a message.  segments is LMR.segment(), or a list of them."""
        lib.dat_ep_post_send(self.handle, *_iov(segments), cookie, flags)

    def post_recv(self, segments, cookie=0, flags=0):
        """Post memory for a message."""
        lib.dat_ep_post_recv(self.handle, *_iov(segments), cookie, flags)

    def post_rdma_write(self, segments, remote, cookie=0, flags=0):
        """Write to the RemoteBuffer remote."""
        lib.dat_ep_post_rdma_write(self.handle, *_iov(segments), cookie, _remote(remote), flags)

    def post_rdma_read(self, segments, remote, cookie=0, flags=0):
        """Read the RemoteBuffer remote."""
        lib.dat_ep_post_rdma_read(self.handle, *_iov(segments), cookie, _remote(remote), flags)


class PSP(_Object):
    """Listens at port, or at a free one, which is in the attribute port.  evd gets the requests."""
    _free = lib.dat_psp_free

    def __init__(self, ia, evd, port=None):
        handle, free = c_void_p(), c_uint64()
        if port is None:
            lib.dat_psp_create_any(ia.handle, byref(free), evd.handle, _c.PSP_CONSUMER_FLAG,
                                   byref(handle))
        else:
            lib.dat_psp_create(ia.handle, port, evd.handle, _c.PSP_CONSUMER_FLAG, byref(handle))
        self.port = free.value if port is None else port
        self._made(ia, handle.value)


class CR(_Object):
    """A request for a connection.  accept() or reject() answers it, once; close() rejects it."""
    _free = lib.dat_cr_reject

    def __init__(self, ia, handle):
        self._made(ia, handle)

    def private_data(self):
        """Return the peer's private data; the transport may append zeros."""
        param = _c.CR_PARAM()
        with self.ia._lock:
            lib.dat_cr_query(self.handle, _c.CR_FIELD_ALL, byref(param))
            return _private_data(param)

    def accept(self, ep, private_data=b""):
        """Connect ep to the peer; an event tells the result."""
        with self.ia._lock:
            lib.dat_cr_accept(self.handle, ep.handle, len(private_data), private_data)
            self._forget()

    def reject(self):
        """Refuse the connection.  In contrast to close(), the second time is an error."""
        with self.ia._lock:
            _ = self.handle
            self.close()


def _microseconds(seconds):
    if seconds is None:
        return _c.TIMEOUT_INFINITE
    return min(max(int(seconds * 1000000), 0), _c.TIMEOUT_INFINITE - 1)


def _sockaddr(family, address):
    if family == socket.AF_INET6:
        host = socket.inet_pton(family, address[0].split("%")[0])
        return struct.pack("=HHI16sI", family, 0, 0, host, address[3])
    return struct.pack("=HH4s8x", family, 0, socket.inet_aton(address[0]))


def _iov(segments):
    if isinstance(segments, _c.LMR_TRIPLET):
        segments = [segments]
    return len(segments), (_c.LMR_TRIPLET * len(segments))(*segments)


def _remote(remote):
    key, address, length = remote
    return byref(_c.RMR_TRIPLET(key, 0, address, length))


def _private_data(data):
    return string_at(data.private_data, data.private_data_size) if data.private_data else b""
