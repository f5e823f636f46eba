"""The kinds of a construct's arguments, as the object has them: gcc writes them into ``.omp_data_kinds.N``."""

from __future__ import annotations

import re
import struct
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from gompy.objects.view import ElfView

MOST: Final = 1 << 20
"""Bytes of an array that is not in the file."""
_SYMBOL: Final = re.compile(r"\.omp_data_kinds\.(\d+)(?:\.\d+|\.lto_priv\.\d+)*$")


def of_object(elf: ElfView) -> dict[int, list[int]]:
    """Number of the array in the dump: its words.  Arrays that are computed at run time are not there."""
    from gompy.objects.elf import SHT_NOBITS, SHT_SYMTAB

    found: dict[int, list[int]] = {}
    by_index = {section.index: section for section in elf.sections}
    for table in elf.sections:
        if table.type != SHT_SYMTAB:
            continue
        for symbol in elf.symbols(table):
            match = _SYMBOL.search(symbol.name)
            section = by_index.get(symbol.shndx)
            if match is None or section is None:
                continue
            if section.type == SHT_NOBITS:
                data = bytes(min(symbol.size, MOST))  # all are zero: `create` of bytes
            else:
                data = elf.contents(section)[symbol.value : symbol.value + symbol.size]
            found[int(match[1])] = [word for (word,) in struct.iter_unpack("<H", data[: len(data) & ~1])]
    return found
