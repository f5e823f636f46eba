"""The container in which a compiler's host code carries device code: written for clang, as fatbinary would.

A head of 16 bytes (magic, version 1, its size, the size of the rest); then for each file a head of 64 bytes and its
contents.  Only PTX is written, uncompressed, with an end of text, and filled up to 8 bytes.  libcudart reads it
(images.pxi, driver_calls.h); NVIDIA's runtime was not tried.
"""

from __future__ import annotations

import struct
from typing import Final

MAGIC: Final = 0xBA55ED50
KIND_PTX: Final = 1
FILE_VERSION: Final = 0x101
FLAGS: Final = 0x11
"""64 bits, made on Linux."""
HEAD: Final = struct.Struct("<IHHQ")
FILE: Final = struct.Struct("<HHIQIIIIIIQQQ")


def pack(texts: list[tuple[int, bytes]]) -> bytes:
    """A container of PTX texts, each with its architecture (70: sm_70)."""
    body = b""
    for architecture, text in texts:
        data = text + bytes(8 - len(text) % 8)
        body += FILE.pack(KIND_PTX, FILE_VERSION, FILE.size, len(data), 0, 0, 0, architecture, 64, 0, FLAGS, 0, 0)
        body += data
    return HEAD.pack(MAGIC, 1, HEAD.size, len(body)) + body
