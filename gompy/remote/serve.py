"""``gompy device serve``: accepts clients that know the token, and gives each a worker of its own."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from gompy.remote import handshake, tls

WORKER: Final = Path(__file__).resolve().parents[1] / "_native" / "lib" / "gompy-worker"
PENDING: Final = 64
"""Handshakes at a time."""
PATIENCE: Final = 5.0
"""Seconds that a handshake may take."""


class ServeError(Exception):
    """The server can't start; one line."""


@dataclass
class Server:
    """A listening socket and the workers of its clients."""

    listener: socket.socket
    token: bytes
    kind: str
    folder: str
    context: ssl.SSLContext | None = None
    workers: set[subprocess.Popen[bytes]] = field(default_factory=set)
    pending: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(PENDING))
    lock: threading.Lock = field(default_factory=threading.Lock)
    ending: bool = False

    def greet(self, connection: socket.socket, peer: str) -> None:
        """One client, in a thread: the handshake, then its worker until that ends."""
        worker = None
        ends: tuple[socket.socket, socket.socket] | None = None
        try:
            if self.context is not None:
                tls.notice_silence(connection)
                connection = tls.encrypt(connection, self.context, PATIENCE)
            verdict = handshake.check_client(connection, self.token, PATIENCE)
            ends = socket.socketpair() if self.context is not None else None
            worker = self.start_worker(ends[1] if ends else connection)
            if worker is None:
                handshake.refuse(connection, handshake.NO_WORKER)
            else:
                say(f"{peer}: worker {worker.pid} serves it")
        except (handshake.HandshakeError, OSError) as error:
            say(f"{peer}: refused: {error}")
        finally:
            self.pending.release()
        if worker is not None and worker.stdin is not None:
            connection.setblocking(True)
            with contextlib.suppress(OSError):
                connection.sendall(verdict)
                os.write(worker.stdin.fileno(), b"\n")  # the socket is the worker's now
        if ends is not None:
            ends[1].close()
            if worker is not None and isinstance(connection, ssl.SSLSocket):
                tls.carry(connection, ends[0])
            ends[0].close()
        connection.close()
        if worker is not None:
            status = worker.wait()
            with self.lock:
                self.workers.discard(worker)
            if not self.ending:
                say(f"{peer}: worker {worker.pid} has ended" + (f" ({describe(status)})" if status else ""))

    def start_worker(self, connection: socket.socket) -> subprocess.Popen[bytes] | None:
        """A process that drives a device for a client; None after a message."""
        descriptor = connection.fileno()
        connection.setblocking(True)
        words = [str(WORKER), str(descriptor), self.kind, self.folder]
        try:
            with self.lock:
                if self.ending:
                    return None
                worker = subprocess.Popen(words, stdin=subprocess.PIPE, bufsize=0, pass_fds=(descriptor,))
                self.workers.add(worker)
        except OSError as error:
            say(f"cannot start {WORKER}: {error.strerror}")
            return None
        return worker

    def run(self) -> None:
        """Accept clients until a signal ends it."""
        while True:
            connection, address = self.listener.accept()
            peer = f"{address[0]}:{address[1]}"
            if not self.pending.acquire(blocking=False):
                connection.close()
                continue
            threading.Thread(target=self.greet, args=(connection, peer), daemon=True).start()

    def end(self) -> None:
        """End all workers, and forget the images."""
        with self.lock:
            self.ending = True
            workers = list(self.workers)
        for worker in workers:
            with contextlib.suppress(OSError):
                worker.kill()
        for worker in workers:
            with contextlib.suppress(subprocess.TimeoutExpired):
                worker.wait(5)
        shutil.rmtree(self.folder, ignore_errors=True)


def describe(status: int) -> str:
    """An exit status in words."""
    return f"status {status}" if status > 0 else f"signal {-status}"


def say(text: str) -> None:
    """A line of the server's log."""
    print(f"gompy device serve: {text}", file=sys.stderr, flush=True)


def listen(bind: str, port: int) -> socket.socket:
    """A listening socket at one address."""
    try:
        found = socket.getaddrinfo(bind, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _name, address = found[0]
        listener = socket.socket(family, kind, protocol)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(PENDING)
    except OSError as error:
        raise ServeError(f"cannot listen at {bind}:{port}: {error.strerror or error}") from None
    return listener


def end_with_input() -> None:
    """A thread: end when whoever holds the other end of standard input has."""
    with contextlib.suppress(OSError):
        while os.read(0, 4096):
            pass
    os.kill(os.getpid(), signal.SIGTERM)


@dataclass
class Options:
    """What ``gompy device serve`` is asked for."""

    bind: str
    port: int
    token_file: str
    kind: str
    port_file: str | None = None
    until_eof: bool = False
    tls_cert: str | None = None
    tls_key: str | None = None


def serve(options: Options) -> int:
    """Serve until a signal, or with ``until_eof`` until standard input ends; the exit status.  Raises ServeError."""
    bind, token_file = options.bind, options.token_file
    try:
        token = handshake.token_of(token_file)
        context = tls.context_of(options.tls_cert, options.tls_key or options.tls_cert) if options.tls_cert else None
    except (handshake.TokenError, tls.CertificateError) as error:
        raise ServeError(str(error)) from None
    if not WORKER.exists():
        raise ServeError(f"{WORKER} is missing: build gompy again")
    listener = listen(bind, options.port)

    def stop(_number: int, _frame: object) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, stop)
    server = Server(listener, token, options.kind, tempfile.mkdtemp(prefix="gompy-images-"), context)
    try:
        if options.until_eof:
            threading.Thread(target=end_with_input, daemon=True).start()
        number = listener.getsockname()[1]
        how = ", TLS" if context else ""
        print(f"gompy device serve: {options.kind} at {bind}:{number}{how}, token in {token_file}", flush=True)
        if options.port_file is not None:
            part = f"{options.port_file}.{os.getpid()}"
            Path(part).write_text(f"{number}\n")
            os.replace(part, options.port_file)
        server.run()
    except KeyboardInterrupt:
        pass
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        server.end()
    return 0
