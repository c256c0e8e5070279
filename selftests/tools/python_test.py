# SPDX-License-Identifier: GPL-2.0-only
# Copyright (c) The dat authors
"""Tests of python/dat, run by python.sh beside an RDMA device: python_test.py HOST"""
import gc
import mmap
import os
import signal
import sys
import threading
import time
import traceback

import dat

HOST = sys.argv[1]
# As fdinfo of /dev/dat begins the lines of objects.
KINDS = tuple(kind + ":" for kind in ("ep", "evd", "lmr", "psp", "pz"))


def fails(error, call, *args, **kwargs):
    """Make the call, which must raise error; return the exception."""
    try:
        call(*args, **kwargs)
    except error as caught:
        return caught
    raise AssertionError(f"no {error.__name__}")


def objects():
    """Return the number of objects that the driver has of this process."""
    count = 0
    for fd in os.listdir("/proc/self/fdinfo"):
        try:
            with open(f"/proc/self/fdinfo/{fd}", encoding="ascii") as info:
                count += sum(line.startswith(KINDS) for line in info)
        except FileNotFoundError:
            pass
    return count


def in_child(call):
    """Make the call in a child after fork; it must return within 20 s and raise nothing."""
    pid = os.fork()
    if not pid:
        status = 1
        try:
            call()
            status = 0
        except Exception:  # pylint: disable=broad-except
            print("# " + traceback.format_exc().replace("\n", "\n# "), flush=True)
        finally:
            os._exit(status)
    end = time.monotonic() + 20
    while True:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            assert status == 0, f"the child has status {status}"
            return
        if time.monotonic() > end:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            raise AssertionError("the child does not return")
        time.sleep(0.05)


def request_of(ia):
    """Return a connection request of an EP of the same process, and the EVD of both."""
    pz, evd = dat.PZ(ia), dat.EVD(ia)
    psp, ep = dat.PSP(ia, evd), dat.EP(pz, evd)
    ep.connect(HOST, psp.port, b"from ep")
    return evd.wait(20, want=dat.CONNECTION_REQUEST_EVENT).cr, evd


class Pair:
    """Two connected EPs, a and b, each with an EVD and 8192 bytes of memory."""

    def __init__(self, ia, memory=bytearray, **attributes):
        self.pz, self.evd_a, self.evd_b = dat.PZ(ia), dat.EVD(ia), dat.EVD(ia)
        self.a, self.b = (dat.EP(self.pz, evd, **attributes) for evd in (self.evd_a, self.evd_b))
        self.mem_a, self.mem_b = (dat.LMR(self.pz, memory(8192)) for _ in range(2))
        with dat.PSP(ia, self.evd_b) as psp:
            self.a.connect(HOST, psp.port, b"from a")
            request = self.evd_b.wait(20, want=dat.CONNECTION_REQUEST_EVENT).cr
        assert request.private_data().startswith(b"from a")
        request.accept(self.b, b"from b")
        fails(ValueError, request.reject)
        event = self.evd_a.wait(20, want=dat.CONNECTION_EVENT_ESTABLISHED)
        assert event.ep is self.a and event.private_data.startswith(b"from b")
        assert self.evd_b.wait(20, want=dat.CONNECTION_EVENT_ESTABLISHED).ep is self.b


def test_adapters_are_listed_once():
    names = dat.adapters()
    assert names and len(set(names)) == len(names)
    with dat.IA() as ia:
        assert ia.name == names[0]


def test_an_error_has_the_names_of_its_code():
    error = fails(dat.DatError, dat.IA, "nix")
    assert (error.type, error.subtype) == ("DAT_PROVIDER_NOT_FOUND", "DAT_NAME_NOT_REGISTERED")
    assert str(error) == "dat_ia_openv: DAT_PROVIDER_NOT_FOUND DAT_NAME_NOT_REGISTERED"


def test_messages_arrive_in_a_bytearray_and_in_an_mmap():
    for memory in bytearray, lambda size: mmap.mmap(-1, size):
        with dat.IA() as ia:
            pair = Pair(ia, memory, segments=2)
            pair.b.post_recv([pair.mem_b.segment(100, 3), pair.mem_b.segment(200, 50)], 7)
            pair.mem_a.buffer[:5] = b"hello"
            pair.a.post_send(pair.mem_a.segment(0, 5), 1 << 63)
            event = pair.evd_a.wait(20, want=dat.DTO_COMPLETION_EVENT)
            assert (event.ep, event.cookie) == (pair.a, 1 << 63)
            event = pair.evd_b.wait(20, want=dat.DTO_COMPLETION_EVENT)
            assert (event.ep, event.cookie, event.length) == (pair.b, 7, 5)
            assert pair.mem_b.buffer[100:103] + pair.mem_b.buffer[200:202] == b"hello"


def test_rdma_writes_and_reads_the_memory_of_the_peer():
    with dat.IA() as ia:
        pair = Pair(ia)
        remote = pair.mem_b.remote(1000, 4096)
        pair.mem_a.buffer[:4096] = os.urandom(4096)
        pair.a.post_rdma_write(pair.mem_a.segment(0, 4096), remote)
        pair.evd_a.wait(20, want=dat.DTO_COMPLETION_EVENT)
        assert pair.mem_b.buffer[1000:5096] == pair.mem_a.buffer[:4096]
        pair.a.post_rdma_read(pair.mem_a.segment(4096), remote)
        pair.evd_a.wait(20, want=dat.DTO_COMPLETION_EVENT)
        assert pair.mem_a.buffer[4096:] == pair.mem_a.buffer[:4096]


def test_an_event_that_is_not_wanted_is_an_error():
    with dat.IA() as ia:
        pair = Pair(ia)
        pair.a.post_recv(pair.mem_a.segment(), 5)
        pair.b.disconnect()
        error = fails(dat.EventError, pair.evd_a.wait, 20, want=dat.DTO_COMPLETION_EVENT)
        assert (error.event.cookie, error.event.status) == (5, dat.DTO_ERR_FLUSHED)
        error = fails(dat.EventError, pair.evd_a.wait, 20, want=dat.DTO_COMPLETION_EVENT)
        assert error.event.number == dat.CONNECTION_EVENT_DISCONNECTED
        assert str(error) == "CONNECTION_EVENT_DISCONNECTED"


def test_a_request_can_be_rejected():
    for reject in dat.CR.reject, dat.CR.close:
        with dat.IA() as ia:
            request, evd = request_of(ia)
            reject(request)
            assert evd.wait(20).number == dat.CONNECTION_EVENT_PEER_REJECTED


def test_a_request_is_closed_by_its_answer_and_by_the_close_of_the_adapter():
    with dat.IA() as ia:
        pair = Pair(ia)
        answered, open_one = request_of(ia)[0], request_of(ia)[0]
        answered.reject()
    for request in answered, open_one:
        fails(ValueError, request.private_data)
        fails(ValueError, request.accept, pair.b)
        fails(ValueError, request.reject)
        request.close()


def test_one_of_two_threads_answers_a_request():
    with dat.IA() as ia:
        request, _ = request_of(ia)
        results = []

        def answer():
            try:
                results.append(request.reject())
            except ValueError as error:
                results.append(error)

        threads = [threading.Thread(target=answer) for _ in range(2)]
        with ia._lock:
            for thread in threads:
                thread.start()
            time.sleep(0.2)
            assert not results
        for thread in threads:
            thread.join()
        assert sorted(type(result).__name__ for result in results) == ["NoneType", "ValueError"]


def test_the_async_evd_closes_with_its_adapter():
    with dat.IA() as ia:
        fails(ValueError, ia.async_evd.close)
        fails(TimeoutError, ia.async_evd.wait, 0.01)
    ia.async_evd.close()


def test_a_registered_buffer_keeps_its_size_and_lives_until_the_lmr_is_closed():
    with dat.IA() as ia:
        pz = dat.PZ(ia)
        for buffer, change in ((bytearray(4096), lambda b: b.extend(b"x")),
                               (mmap.mmap(-1, 4096), mmap.mmap.close)):
            lmr = dat.LMR(pz, buffer)
            fails(BufferError, change, buffer)
            lmr.close()
            fails(ValueError, lmr.segment)
            change(buffer)
        fails(TypeError, dat.LMR, pz, b"read only")
        fails(ValueError, dat.LMR(pz, bytearray(10)).segment, 8, 3)
    # The close of the IA also ends registrations.
    ia = dat.IA()
    buffer = bytearray(4096)
    lmr = dat.LMR(dat.PZ(ia), buffer)
    fails(BufferError, buffer.clear)
    ia.close()
    buffer.clear()
    fails(ValueError, lmr.remote)


def test_memory_that_the_program_forgets_stays_registered():
    ia = dat.IA()
    with Pair(ia).pz as pz:
        key = dat.LMR(pz, bytearray(4096)).remote()
        gc.collect()
        assert key in [o.remote() for o in ia._objects.values() if isinstance(o, dat.LMR)]
        # The zone is still in use.
        fails(dat.DatError, pz.close)
        ia.close()
    handle = dat.IA().handle
    gc.collect()
    assert handle in dat._objects._open
    dat._objects._close_all()
    assert not dat._objects._open


def test_the_close_of_an_adapter_frees_the_newest_object_first():
    freed = []

    class Zone(dat.PZ):
        def _forget(self):
            super()._forget()
            freed.append("PZ")

    class Memory(dat.LMR):
        def _forget(self):
            super()._forget()
            freed.append("LMR")

    with dat.IA() as ia:
        pz = Zone(ia)
        Memory(pz, bytearray(10))
        Memory(Zone(ia), bytearray(10))
    # A zone with an LMR cannot be freed before it.
    assert freed == ["LMR", "PZ", "LMR", "PZ"]


def test_a_second_close_does_nothing():
    with dat.IA() as ia:
        pair = Pair(ia)
        for thing in pair.a, pair.b, pair.mem_a, pair.mem_b, pair.evd_a, pair.evd_b, pair.pz, ia:
            thing.close()
            thing.close()
            fails(ValueError, getattr, thing, "handle")
    fails(ValueError, dat.PZ, ia)


def test_an_exception_in_the_middle_frees_what_was_made():
    def work():
        with dat.IA() as ia:
            Pair(ia)
            assert objects() > 6
            dat.EP(dat.PZ(ia), dat.EVD(ia), recvs=1 << 30)
    before = objects(), len(os.listdir("/proc/self/fd"))
    assert fails(dat.DatError, work).call == "dat_ep_create"
    assert (objects(), len(os.listdir("/proc/self/fd"))) == before


def test_a_wait_ends_in_time_and_by_a_signal_and_by_the_close():
    with dat.IA() as ia:
        evd = dat.EVD(ia)
        start = time.monotonic()
        assert fails(TimeoutError, evd.wait, 0.3).type == "DAT_TIMEOUT_EXPIRED"
        assert 0.3 <= time.monotonic() - start < 5
        signal.signal(signal.SIGALRM, signal.default_int_handler)
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        fails(KeyboardInterrupt, evd.wait)
        # A handler that returns does not end the wait.
        signal.signal(signal.SIGALRM, lambda *_: None)
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        fails(TimeoutError, evd.wait, 0.5)
        threading.Timer(0.3, ia.close).start()
        assert fails(dat.DatError, evd.wait).type == "DAT_ABORT"


def test_the_objects_of_a_parent_are_closed_in_its_child():
    with dat.IA() as ia:
        pair = Pair(ia)
        request, _ = request_of(ia)

        def child():
            for thing in (pair.a, pair.mem_a, pair.evd_a, pair.pz, request, ia.async_evd, ia):
                fails(ValueError, getattr, thing, "handle")
            ia.close()
            pair.mem_a.buffer.clear()
            with dat.IA() as own:
                dat.LMR(dat.PZ(own), bytearray(10))

        in_child(child)
        # The parent's objects work as before.
        request.reject()
        pair.b.post_recv(pair.mem_b.segment())
        pair.a.post_send(pair.mem_a.segment(0, 5))
        assert pair.evd_b.wait(20, want=dat.DTO_COMPLETION_EVENT).length == 5


def test_a_child_ends_beside_a_parent_that_waits_and_one_that_closes():
    with dat.IA() as ia:
        evd, locked, done = dat.EVD(ia), threading.Event(), threading.Event()

        def hold():
            with ia._lock:
                locked.set()
                done.wait()

        waiter = threading.Thread(target=fails, args=(dat.DatError, evd.wait))
        holder = threading.Thread(target=hold)
        waiter.start()
        time.sleep(0.3)
        try:
            in_child(ia.close)
            holder.start()
            locked.wait()
            in_child(ia.close)
        finally:
            done.set()
    waiter.join()


def main():
    tests = [(name, test) for name, test in globals().items() if name.startswith("test_")]
    print(f"1..{len(tests)}")
    for number, (name, test) in enumerate(tests, 1):
        status = "ok"
        try:
            test()
        except Exception:  # pylint: disable=broad-except
            status = "not ok"
            print("# " + traceback.format_exc().replace("\n", "\n# "))
        print(f"{status} {number} python.{name[5:]}", flush=True)


main()
