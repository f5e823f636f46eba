"""The server's half of the handshake: a challenge, and the proof of both sides that they know the token.

The token itself is never sent.  Of somebody who does not know it, one record of fixed size is read and nothing else.
The layouts are those of gompy/plugins/remote/protocol.h.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import socket
import struct
import time
from typing import Final

MAGIC: Final = 0x31746D6579706D67
VERSION: Final = 3
NONCE: Final = 32
GREETING: Final = struct.Struct("<QII32s")
CLAIM: Final = struct.Struct("<QII32s32s")
VERDICT: Final = struct.Struct("<II32s")
ACCEPTED, WRONG_TOKEN, OTHER_VERSION, NO_WORKER = range(4)
SHORTEST: Final = 16


class HandshakeError(Exception):
    """The other end is no client that knows the token; the text says why."""


class TokenError(Exception):
    """A token's file can't be used."""


def code(token: bytes, role: bytes, server: bytes, client: bytes) -> bytes:
    """What only somebody who knows the token can say to these nonces."""
    key = token if len(token) <= hashlib.blake2b.MAX_KEY_SIZE else hashlib.blake2b(token, digest_size=32).digest()
    return hashlib.blake2b(role + server + client, digest_size=32, key=key).digest()


def read_exactly(connection: socket.socket, size: int, until: float) -> bytes:
    """So many bytes, before a time, however slowly they come."""
    found = b""
    while len(found) < size:
        left = until - time.monotonic()
        if left <= 0:
            raise HandshakeError("no answer in time")
        connection.settimeout(left)
        try:
            part = connection.recv(size - len(found))
        except TimeoutError:
            raise HandshakeError("no answer in time") from None
        except OSError as error:
            raise HandshakeError(error.strerror or "the connection has broken") from None
        if not part:
            raise HandshakeError("it closed the connection")
        found += part
    return found


def check_client(connection: socket.socket, token: bytes, seconds: float) -> bytes:
    """Challenge a client; the verdict that accepts it, not yet sent.  Who fails has been told."""
    until = time.monotonic() + seconds
    ours = secrets.token_bytes(NONCE)
    try:
        connection.settimeout(seconds)
        connection.sendall(GREETING.pack(MAGIC, VERSION, 0, ours))
    except OSError:
        raise HandshakeError("the connection has broken") from None
    magic, version, _reserved, theirs, proof = CLAIM.unpack(read_exactly(connection, CLAIM.size, until))
    if magic != MAGIC:
        raise HandshakeError("it does not speak the protocol")
    if version != VERSION:
        refuse(connection, OTHER_VERSION)
        raise HandshakeError(f"it speaks version {version} of the protocol, not {VERSION}")
    if not hmac.compare_digest(proof, code(token, b"client", ours, theirs)):
        refuse(connection, WRONG_TOKEN)
        raise HandshakeError("wrong token")
    return VERDICT.pack(ACCEPTED, 0, code(token, b"server", ours, theirs))


def refuse(connection: socket.socket, reason: int) -> None:
    """Tell a client why it gets no device, as far as it listens."""
    try:
        connection.sendall(VERDICT.pack(reason, 0, bytes(32)))
        connection.shutdown(socket.SHUT_WR)
    except OSError:
        pass


def token_of(path: str) -> bytes:
    """The token in a file, which is made if it is not there, for its owner alone."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return _make_token(path)
    except OSError as error:
        raise TokenError(f"{path}: {error.strerror}") from None
    with open(descriptor, "rb") as file:
        if os.fstat(descriptor).st_mode & 0o077:
            raise TokenError(f"{path}: others than its owner may read or write it: chmod 600 {path}")
        try:
            token = file.read(4096).rstrip()
        except OSError as error:
            raise TokenError(f"{path}: {error.strerror}") from None
    if len(token) < SHORTEST:
        raise TokenError(f"{path}: holds no token of at least {SHORTEST} characters; remove it, and one is made")
    return token


def _make_token(path: str) -> bytes:
    """Write a new one."""
    token = secrets.token_hex(32).encode()
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with open(descriptor, "wb") as file:
            file.write(token + b"\n")
    except OSError as error:
        raise TokenError(f"{path}: cannot make it: {error.strerror}") from None
    return token
