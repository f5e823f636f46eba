"""``gompy device swap``: a program that runs is told to change its device.

A Unix socket in the abstract name space, so no file is left: ``gompy-swap-PID``.  Both ends look who the other is.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import socket
import struct
import threading
from collections.abc import Callable

from gompy import UserError

PATIENCE = 60.0
"""Seconds that one waits for the other; a swap waits for the regions that run."""
MOST = 200


def address_of(pid: int) -> str:
    """The socket of a process."""
    return f"\0gompy-swap-{pid}"


def peer_of(connection: socket.socket) -> tuple[int, int]:
    """Process and user at the other end (unix(7): SO_PEERCRED)."""
    pid, uid, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    return pid, uid


def read_line(connection: socket.socket) -> str:
    """A line, of at most MOST bytes; "" if none came."""
    data = b""
    while not data.endswith(b"\n") and len(data) < MOST:
        part = connection.recv(MOST - len(data))
        if not part:
            break
        data += part
    return data.decode("utf-8", "replace").strip()


def make_socket() -> socket.socket:
    """A stream socket whose descriptor is none of the standard three, which the program may have closed."""
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    if made.fileno() > 2:
        return made
    with made:
        return socket.socket(fileno=fcntl.fcntl(made.fileno(), fcntl.F_DUPFD_CLOEXEC, 3))


class Listener:
    """The program's end: a thread that answers one request at a time."""

    def __init__(self, swap: Callable[[str], str]) -> None:
        self.swap = swap
        self.socket: socket.socket | None = make_socket()
        try:
            self.socket.bind(address_of(os.getpid()))
            self.socket.listen(4)
        except OSError:  # the name is taken, or there are no sockets here: then nobody can ask
            self.socket.close()
            self.socket = None
            return
        # The program's signals are for its own threads.
        old = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        try:
            threading.Thread(target=self._listen, args=(self.socket,), daemon=True).start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, old)

    def _listen(self, listening: socket.socket) -> None:
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:  # closed
                return
            with connection, contextlib.suppress(OSError):
                connection.settimeout(PATIENCE)
                if peer_of(connection)[1] in (0, os.getuid()):
                    connection.sendall(f"{self._answer(read_line(connection))}\n".encode())

    def _answer(self, name: str) -> str:
        try:
            return f"done {self.swap(name)}"
        except Exception as error:  # whatever it is, the program goes on and the other end is told
            return f"error {error}"

    def close(self) -> None:
        """Nobody is listened to any more."""
        if self.socket is not None:
            with contextlib.suppress(OSError):
                self.socket.shutdown(socket.SHUT_RDWR)  # wakes the thread
            self.socket.close()


def ask_swap(pid: int, name: str) -> str:
    """Have a program change its device.

    pid: its process; name: the backend.  Returns what was done.  Raises UserError.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(PATIENCE)
        try:
            connection.connect(address_of(pid))
            found, uid = peer_of(connection)
            if found != pid or uid not in (0, os.getuid()):
                raise UserError(f"process {pid} is not the one that listens for it")
            connection.sendall(f"{name}\n".encode())
            word, _, rest = read_line(connection).partition(" ")
        except (ConnectionRefusedError, FileNotFoundError):
            raise UserError(
                f"process {pid} has no device that can be changed "
                "(GOMPY_PLUGINS=python GOMPY_PYTHON_DEVICE=gompy.virtual:Swap)"
            ) from None
        except TimeoutError:
            raise UserError(f"process {pid} does not answer; a region may be running") from None
        except OSError as error:
            raise UserError(f"process {pid}: {error.strerror}") from None
    if word != "done":
        raise UserError(rest or f"process {pid} has not answered")
    return rest
