"""The container in which a compiler's host code carries CUDA's device code: written for clang, and read.

A head of 16 bytes (magic, version 1, its size, the size of the rest); then for each file a head of 64 bytes and its
contents.  Only PTX is written, uncompressed, with an end of text, and filled up to 8 bytes.  libcudart reads it
(images.pxi, driver_calls.h); NVIDIA's runtime was not tried.  In objects and linked files containers lie one behind the
other in `.nv_fatbin`.
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass
from typing import Final

from gompy.objects.view import Damaged, ElfView

MAGIC: Final = 0xBA55ED50
KIND_PTX: Final = 1
KINDS: Final = {KIND_PTX: "ptx", 2: "cubin"}
SECTIONS: Final = (".nv_fatbin", "__nv_relfatbin")
"""Where they are; the second has those of `nvcc -rdc=true`."""
PACKED: Final = 0xF000
"""Flags of a file that is compressed, in one way or another."""
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


@dataclass
class CudaImage:
    """A file of a container; `kind`: ptx, cubin, `kind N`; `file`: that has it; `address`: where it is loaded, or 0."""

    kind: str
    architecture: int
    data: bytes
    packed: bool
    file: str
    address: int

    @property
    def target(self) -> str:
        """What it is for: cuda-sm_80."""
        return f"cuda-sm_{self.architecture}"

    @property
    def extension(self) -> str:
        """How files of this kind are called."""
        return self.kind if self.kind in KINDS.values() else "img"

    @property
    def size(self) -> int:
        """Bytes in the container."""
        return len(self.data)

    @property
    def about(self) -> str:
        """What it is, in words."""
        return f"{self.kind}, compressed" if self.packed else self.kind

    @property
    def files(self) -> list[bytes]:
        """Its contents; a text ends before the filling.  Raises Damaged: it is compressed."""
        if self.packed:
            raise Damaged(self.file, SECTIONS[0], 0, f"{self.target}: compressed {self.kind} is not implemented")
        return [self.data.rstrip(b"\0") if self.kind == KINDS[KIND_PTX] else self.data]

    @property
    def kernels(self) -> list[str]:
        """Names of a PTX's kernels; of what cannot be read none."""
        if self.packed or self.kind != KINDS[KIND_PTX]:
            return []
        return [name.decode("ascii", "replace") for name in re.findall(rb"\.entry\s+([\w$]+)", self.data)]


def read_fatbins(elf: ElfView) -> list[CudaImage]:
    """The files of all containers of an object or linked file, in order.  Raises Damaged."""
    found: list[CudaImage] = []
    for section in elf.sections:
        if section.name not in SECTIONS:
            continue
        data, at = elf.contents(section), 0
        while at + HEAD.size <= len(data):
            magic, _, head, size = HEAD.unpack_from(data, at)
            if magic == 0 and not any(data[at : at + 8]):
                at += 8  # between containers
                continue
            end = at + head + size
            if magic != MAGIC or head < HEAD.size or end > len(data):
                raise elf.damaged(section, at, "no container of CUDA's device code")
            at += head
            while at + FILE.size <= end:
                kind, _, head, size, _, _, _, architecture, _, _, flags, _, _ = FILE.unpack_from(data, at)
                if head < FILE.size or at + head + size > end:
                    raise elf.damaged(section, at, "a file of CUDA's device code ends beyond its container")
                name, packed = KINDS.get(kind, f"kind {kind}"), bool(flags & PACKED)
                address = section.address + at + head if section.address else 0
                body = data[at + head : at + head + size]
                found.append(CudaImage(name, architecture, body, packed, elf.file, address))
                at += head + size
            at = end
    return found
