"""TLS for the server: the certificate, and what carries a client's bytes between the network and its worker."""

from __future__ import annotations

import contextlib
import select
import socket
import ssl
from typing import Final

from gompy.remote.handshake import HandshakeError

ROOM: Final = 1 << 16
SILENCE: Final = 10
"""Seconds after which a client's machine that does not answer is given up, as a worker does without TLS."""


class CertificateError(Exception):
    """The certificate or its key can't be used; one line."""


def context_of(certificate: str, key: str) -> ssl.SSLContext:
    """What a server with this certificate needs.  Raises CertificateError."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2

    def no_password() -> str:
        raise CertificateError(f"--tls-key {key}: it needs a password, which a server has nobody to ask for")

    for option, path in (("--tls-cert", certificate), ("--tls-key", key)):
        try:
            open(path, "rb").close()
        except OSError as error:
            raise CertificateError(f"{option} {path}: {error.strerror}") from None
    try:
        context.load_cert_chain(certificate, key, no_password)
    except ssl.SSLError as error:
        reason = (error.reason or "no certificate, or no key").replace("_", " ").lower()
        raise CertificateError(f"--tls-cert {certificate}, --tls-key {key}: {reason}") from None
    return context


def encrypt(connection: socket.socket, context: ssl.SSLContext, seconds: float) -> ssl.SSLSocket:
    """TLS for an accepted connection, which is closed if that fails.  Raises HandshakeError."""
    connection.settimeout(seconds)
    try:
        return context.wrap_socket(connection, server_side=True)
    except TimeoutError:
        connection.close()
        raise HandshakeError("no TLS in time") from None
    except OSError as error:  # ssl.SSLError is one
        connection.close()
        reason = getattr(error, "reason", None) or error.strerror or "the connection has ended"
        raise HandshakeError(f"no TLS: {reason.replace('_', ' ').lower()}") from None


def notice_silence(connection: socket.socket) -> None:
    """Have the kernel notice a machine that has gone."""
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (
        ("TCP_KEEPIDLE", 2),
        ("TCP_KEEPINTVL", 1),
        ("TCP_KEEPCNT", 3),
        ("TCP_USER_TIMEOUT", 1000 * SILENCE),
    ):
        connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


def carry(network: ssl.SSLSocket, worker: socket.socket) -> None:
    """Carry bytes both ways until either end has ended; both are closed then."""
    network.setblocking(False)
    worker.setblocking(False)
    up = down = b""
    with network, worker, contextlib.suppress(OSError):
        while True:
            wanted = {worker.fileno(): 0, network.fileno(): 0}
            moved = False
            if not up:
                try:
                    up = network.recv(ROOM)
                    if not up:
                        return
                except ssl.SSLWantReadError:
                    wanted[network.fileno()] |= select.POLLIN
                except ssl.SSLWantWriteError:
                    wanted[network.fileno()] |= select.POLLOUT
            if up:
                try:
                    up = up[worker.send(up) :]
                    moved = True
                except BlockingIOError:
                    wanted[worker.fileno()] |= select.POLLOUT
            if not down:
                try:
                    down = worker.recv(ROOM)
                    if not down:
                        network.setblocking(True)
                        network.settimeout(1)
                        network.unwrap()
                        return
                except BlockingIOError:
                    wanted[worker.fileno()] |= select.POLLIN
            if down:
                try:
                    down = down[network.send(down) :]
                    moved = True
                except ssl.SSLWantReadError:
                    wanted[network.fileno()] |= select.POLLIN
                except ssl.SSLWantWriteError:
                    wanted[network.fileno()] |= select.POLLOUT
            if not moved:
                poll = select.poll()
                for fd, events in wanted.items():
                    poll.register(fd, events)
                poll.poll()
