#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Copyright (c) The dat authors
"""A server that returns each message to its sender, and its client."""
import argparse
import sys

import dat

MESSAGE = 1024


def serve(ia, port):
    """Serve one client, until it disconnects."""
    pz, evd, received = dat.PZ(ia), dat.EVD(ia), dat.EVD(ia)
    dat.PSP(ia, evd, port)
    print(f"listening at port {port}", flush=True)
    request = evd.wait(want=dat.CONNECTION_REQUEST_EVENT).cr
    ep = dat.EP(pz, evd, recv_evd=received)
    full, empty = dat.LMR(pz, bytearray(MESSAGE)), dat.LMR(pz, bytearray(MESSAGE))
    # A message that arrives before the first receive is posted would break the connection.
    ep.post_recv(full.segment())
    request.accept(ep)
    evd.wait(10, want=dat.CONNECTION_EVENT_ESTABLISHED)
    messages = 0
    while True:
        event = received.wait()
        if event.status == dat.DTO_ERR_FLUSHED:
            break
        if event.status:
            raise dat.EventError(event)
        # The next receive comes first: the client may send as soon as it has the answer.
        ep.post_recv(empty.segment())
        ep.post_send(full.segment(length=event.length))
        evd.wait(10, want=dat.DTO_COMPLETION_EVENT)
        full, empty = empty, full
        messages += 1
    evd.wait(10, want=dat.CONNECTION_EVENT_DISCONNECTED)
    print(f"{messages} messages")


def ask(ia, host, port, count):
    """Send messages, and compare what comes back."""
    pz, evd = dat.PZ(ia), dat.EVD(ia)
    ep = dat.EP(pz, evd)
    out, back = dat.LMR(pz, bytearray(MESSAGE)), dat.LMR(pz, bytearray(MESSAGE))
    ep.connect(host, port)
    evd.wait(20, want=dat.CONNECTION_EVENT_ESTABLISHED)
    for number in range(count):
        text = b"message %d" % number
        out.buffer[:len(text)] = text
        ep.post_recv(back.segment())
        ep.post_send(out.segment(length=len(text)))
        # The completions of the send and of the receive may come in any order.
        for _ in range(2):
            evd.wait(10, want=dat.DTO_COMPLETION_EVENT)
        if back.buffer[:len(text)] != text:
            raise SystemExit(f"echo.py: message {number} came back changed")
    ep.disconnect()
    evd.wait(10, want=dat.CONNECTION_EVENT_DISCONNECTED)
    print(f"{count} messages came back as they were")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("host", nargs="?", help="server to connect to; without it, be the server")
    parser.add_argument("count", nargs="?", type=int, default=100, help="messages (100)")
    parser.add_argument("-d", "--device", help="adapter (default: the first)")
    parser.add_argument("-p", "--port", type=int, default=5055, help="port (5055)")
    args = parser.parse_args()
    try:
        with dat.IA(args.device) as ia:
            if args.host:
                ask(ia, args.host, args.port, args.count)
            else:
                serve(ia, args.port)
    except (OSError, dat.DatError, dat.EventError) as error:
        sys.exit(f"echo.py: {error}")


if __name__ == "__main__":
    main()
