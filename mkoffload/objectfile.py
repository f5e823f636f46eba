"""Relocatable ELF files for x86-64, written from their parts.

Source: System V ABI, ELF-64 object file format.
"""

from __future__ import annotations

import struct

from gompy.objects.elf import EM_X86_64, ET_REL, SHT_RELA, SHT_STRTAB, SHT_SYMTAB

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

SHF_INFO_LINK = 0x40
HEADER = 64


class Part:
    """A section: ``relocations`` are offset, number of the symbol, type, addend."""

    def __init__(
        self,
        name: str,
        kind: int,
        flags: int,
        entry: int,
        align: int,
        data: bytes | bytearray,
        relocations: Sequence[tuple[int, int, int, int]] = (),
        link: int = 0,
        info: int = 0,
    ) -> None:
        self.name, self.kind, self.flags, self.entry, self.align = name, kind, flags, entry, align
        self.data, self.relocations, self.link, self.info = data, relocations, link, info


def write(parts: Sequence[Part], symbols: Sequence[tuple[str, int, int, int, int, int]], local: int) -> bytes:
    """The file.

    ``symbols``: name, info, visibility, number of the section, value, size; the first one has number 1.  ``local``: the
    number of the first that is not local.
    """
    parts = list(parts)
    table, names = bytearray(24), bytearray(1)
    for name, info, other, shndx, value, size in symbols:
        table += struct.pack("<IBBHQQ", len(names) if name else 0, info, other, shndx, value, size)
        if name:
            names += name.encode() + b"\0"
    tables = [(number, part) for number, part in enumerate(parts, 1) if part.relocations]
    symtab = len(parts) + len(tables) + 1
    for number, part in tables:
        data = b"".join(struct.pack("<QQq", at, sym << 32 | kind, add) for at, sym, kind, add in part.relocations)
        parts.append(Part(".rela" + part.name, SHT_RELA, SHF_INFO_LINK, 24, 8, data, (), symtab, number))
    parts.append(Part(".symtab", SHT_SYMTAB, 0, 24, 8, table, (), symtab + 1, local))
    parts.append(Part(".strtab", SHT_STRTAB, 0, 0, 1, names))
    strings = bytearray(1)
    parts.append(Part(".shstrtab", SHT_STRTAB, 0, 0, 1, strings))
    out, headers = bytearray(HEADER), bytearray(64)
    starts = []
    for part in parts:
        starts.append(len(strings))
        strings += part.name.encode() + b"\0"
    for part, start in zip(parts, starts, strict=True):
        out += bytes(-len(out) % part.align)
        headers += struct.pack(
            "<IIQQQQIIQQ", start, part.kind, part.flags, 0, len(out), len(part.data), part.link, part.info, part.align,
            part.entry,
        )  # fmt: skip
        out += part.data
    out += bytes(-len(out) % 8)
    out[:HEADER] = struct.pack(
        "<16sHHIQQQIHHHHHH", b"\x7fELF\x02\x01\x01", ET_REL, EM_X86_64, 1, 0, 0, len(out), 0, HEADER, 0, 0, 64,
        len(parts) + 1, len(parts),
    )  # fmt: skip
    return bytes(out + headers)
