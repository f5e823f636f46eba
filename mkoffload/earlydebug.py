"""The front ends' debug information, taken out of an object for the image's link.

With -g an object has its types, variables and functions in ``.gnu.debuglto_`` sections, written before optimisation;
lto1's debug information refers to them by a hidden symbol.  GCC's lto-wrapper and its gcn mkoffload make an object of
them for the linker (simple-object-elf.c, simple_object_elf_copy_lto_debug_sections); here the object is patched: those
sections get their ordinary names, and nothing else of it is left for the linker to see.
"""

from __future__ import annotations

import struct

from gompy.objects.elf import (
    SHDR,
    SHF_EXCLUDE,
    SHF_GROUP,
    SHN_ABS,
    SHN_UNDEF,
    SHT_NULL,
    SHT_RELA,
    SHT_STRTAB,
    SHT_SYMTAB,
    SHT_SYMTAB_SHNDX,
    STB_LOCAL,
    STB_WEAK,
    STT_FILE,
    STV_HIDDEN,
    SYM,
    Elf,
    Section,
)
from gompy.objects.names import DEBUG_LTO_SECTION_PREFIX

KEPT_TYPES = (SHT_SYMTAB, SHT_STRTAB, SHT_SYMTAB_SHNDX)


def is_debug(section: Section) -> bool:
    """Whether it is one of the front end's debug sections."""
    return section.name.startswith(DEBUG_LTO_SECTION_PREFIX)


def debug_object(elf: Elf) -> bytes | None:
    """A relocatable with the early debug information of ``elf`` and nothing else; None if it has none."""
    kept = {section.index for section in elf.sections if is_debug(section)}
    if not kept:
        return None
    data = bytearray(elf.data)
    for section in elf.sections:
        at = elf.shoff + section.index * SHDR.size
        if section.index in kept:
            # The ordinary name is the end of this one.
            struct.pack_into("<I", data, at, section.name_offset + len(DEBUG_LTO_SECTION_PREFIX))
            struct.pack_into("<Q", data, at + 8, section.flags & ~(SHF_EXCLUDE | SHF_GROUP))
        elif section.type == SHT_RELA and section.info in kept:
            struct.pack_into("<Q", data, at + 8, section.flags & ~(SHF_EXCLUDE | SHF_GROUP))
        elif section.type not in KEPT_TYPES:
            # Without its size, too: what was .bss would reach beyond the end of the file.
            struct.pack_into("<I", data, at + 4, SHT_NULL)
            struct.pack_into("<QQ", data, at + 24, 0, 0)
    _hide_symbols(elf, data, kept)
    return bytes(data)


def _hide_symbols(elf: Elf, data: bytearray, kept: set[int]) -> None:
    """Symbols of other sections: locals become absolute zero, globals weak references to one of the kept symbols.

    (A reference to what is defined in the same file asks nothing of the linker, and locals must stay before globals.)
    """
    table = next((section for section in elf.sections if section.type == SHT_SYMTAB), None)
    if table is None:
        return
    symbols = elf.symbols()
    anchor = next((s for s in symbols if s.bind != STB_LOCAL and s.shndx in kept and s.name), None)
    for symbol in symbols[1:]:
        if symbol.shndx in kept:
            continue
        at = table.offset + symbol.number * SYM.size
        if symbol.bind == STB_LOCAL:
            if symbol.type != STT_FILE:
                SYM.pack_into(data, at, 0, 0, 0, SHN_ABS, 0, 0)
        elif anchor is not None:
            name = struct.unpack_from("<I", data, table.offset + anchor.number * SYM.size)[0]
            SYM.pack_into(data, at, name, STB_WEAK << 4, STV_HIDDEN, SHN_UNDEF, 0, 0)
