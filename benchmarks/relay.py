"""A TCP relay that is a bad network: it delays, cuts, holds, or damages what goes through it.

Used by remote.py for delays, and by the tests of remote devices for failures.
"""

from __future__ import annotations

import queue
import socket
import struct
import threading
import time
from collections.abc import Callable
from contextlib import suppress

NO_WAIT = struct.pack("ii", 1, 0)
"""SO_LINGER: a close is a reset."""
Change = Callable[[int, bytes], bytes]
"""Given how many bytes have gone before, and bytes; what goes on instead."""


class Relay:
    """Listens at ``port`` of 127.0.0.1, and connects each client with another port there.

    delay: seconds that each byte takes, each way.  piece: most bytes at a time.  down, up: change what goes to the
    client, and from it.  cut_after: so many bytes to the client, then both connections end.
    """

    def __init__(
        self,
        to: int,
        delay: float = 0.0,
        piece: int = 1 << 16,
        down: Change | None = None,
        up: Change | None = None,
        cut_after: int | None = None,
    ) -> None:
        self.to, self.delay, self.piece, self.down, self.up, self.cut_after = to, delay, piece, down, up, cut_after
        self.open = threading.Event()
        self.open.set()
        self.pairs: list[tuple[socket.socket, socket.socket]] = []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self.listener.getsockname()[1])
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                while not self.to:  # not known yet
                    time.sleep(0.001)
                server = socket.create_connection(("127.0.0.1", self.to))
                for one in (client, server):
                    one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self.pairs.append((client, server))
                self._pump(server, client, self.down, self.cut_after)
                self._pump(client, server, self.up, None)

    def _pump(self, source: socket.socket, target: socket.socket, change: Change | None, cut: int | None) -> None:
        """Two threads: one reads and notes when, the other writes when the delay is over."""
        pieces: queue.SimpleQueue[tuple[float, bytes]] = queue.SimpleQueue()

        def read() -> None:
            while True:
                try:
                    data = source.recv(self.piece)
                except OSError:
                    data = b""
                pieces.put((time.perf_counter() + self.delay, data))
                if not data:
                    return

        def write() -> None:
            gone = 0
            while True:
                due, data = pieces.get()
                while (left := due - time.perf_counter()) > 0:
                    time.sleep(left)
                self.open.wait()
                try:
                    if not data:
                        target.shutdown(socket.SHUT_WR)
                        return
                    if cut is not None and gone + len(data) >= cut:
                        target.sendall(data[: cut - gone])
                        self.cut()
                        return
                    target.sendall(change(gone, data) if change else data)
                    gone += len(data)
                except OSError:
                    return

        for part in (read, write):
            threading.Thread(target=part, daemon=True).start()

    def hold(self) -> None:
        """From now on nothing comes through, and nobody is told."""
        self.open.clear()

    def cut(self, reset: bool = False) -> None:
        """End all connections, by a reset or in order."""
        for pair in self.pairs:
            for one in pair:
                with suppress(OSError):
                    if reset:
                        one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, NO_WAIT)
                    else:
                        one.shutdown(socket.SHUT_RDWR)
                if reset:
                    # recv in another thread holds the socket open: its end is told by the descriptor's.
                    with suppress(OSError):
                        one.shutdown(socket.SHUT_RD)
                    one.close()

    def close(self) -> None:
        """No more clients; what is held goes nowhere."""
        with suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.cut()
        self.open.set()
