"""Functions in the image that only the host runs: those of `target device (ancestor: 1)` (GCC 13, reverse offload).

gcc's own compiler puts the host's code into the image.  It may call what only the host has, so its relocations are
taken out: then the linker drops what nothing else reaches.  The function keeps its address, by which the runtime finds
the host's.  Beside each GCC writes an empty one, for accelerators, whose name tells (omp-expand.cc: "nohost").
"""

from __future__ import annotations

import re
import struct
from collections import Counter

from gompy.objects.elf import SHDR, SHN_UNDEF, SHT_RELA, STT_FUNC, Elf

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gompy.objects.elf import Symbol

_TWIN = re.compile(r"(.+)\.nohost(?:\.\d+)?")
_PRIVATE = re.compile(r"\.(?:lto|gompy)_priv(?:\.\d+)?$")
_SIZE = 32
"""Of sh_size in a section's header."""


def of_host(symbols: list[Symbol]) -> list[Symbol]:
    """The functions that only the host runs.

    Of several of one name, in several units, all or none: which of them has the empty one beside it, nothing tells.
    """
    functions = [(_PRIVATE.sub("", s.name), s) for s in symbols if s.type == STT_FUNC and s.shndx != SHN_UNDEF]
    twins = Counter(match[1] for name, _ in functions if (match := _TWIN.fullmatch(name)))
    if not twins:
        return []
    known = Counter(name for name, _ in functions)
    return [symbol for name, symbol in functions if twins[name] and twins[name] == known[name]]


def without_code(data: bytes, elf: Elf) -> bytes:
    """The relocatable without what these functions refer to; ``elf``: what it was made from."""
    found = of_host(elf.symbols())
    if not found:
        return data
    ends = tuple(f".{symbol.name}" for symbol in found)
    chosen = {symbol.shndx for symbol in found}
    chosen |= {
        s.index for s in elf.sections if s.name.startswith((".text.", ".gcc_except_table.")) and s.name.endswith(ends)
    }
    patched = bytearray(data)
    for section in elf.sections:
        if section.type == SHT_RELA and section.info in chosen:
            struct.pack_into("<Q", patched, elf.shoff + section.index * SHDR.size + _SIZE, 0)
    return bytes(patched)
