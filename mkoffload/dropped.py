"""Host functions in the image's debug information: code of theirs is not in the image, places for it are.

A target region's DWARF entry is a child of the entry of the function that it stands in.  The linker's garbage
collection drops that function, its addresses become 0, and gdb then ignores the entry with all of its children: no
variable of a region has a name (gdb dwarf2/read.c, read_func_scope).  So with -g what was dropped comes back as
uninitialised data of the same size, without relocations: it costs addresses, neither memory nor room in the file, and
ranges and line tables stay true.

With optimisation the function may have been inlined everywhere.  Then its entry has no addresses at all, and gdb
ignores it likewise: it becomes a lexical block, of which gdb takes the children (read_lexical_block_scope).
"""

from __future__ import annotations

import struct

from gompy.objects.elf import (
    RELA,
    SHDR,
    SHF_ALLOC,
    SHF_EXECINSTR,
    SHF_GNU_RETAIN,
    SHF_WRITE,
    SHT_NOBITS,
    SHT_NULL,
    SHT_RELA,
    Elf,
)
from mkoffload.debuglines import uleb

TAG_SUBPROGRAM, TAG_LEXICAL_BLOCK = 0x2E, 0x0B
AT_SIBLING, AT_ABSTRACT_ORIGIN = 0x01, 0x31
FORM_IMPLICIT_CONST = 0x21
_MESSAGE = "removing unused section '"


def removed(messages: str, name: str) -> tuple[set[str], str]:
    """Sections of that file that ld's --print-gc-sections says are dropped, and what else ld said."""
    gone: set[str] = set()
    rest = []
    for line in messages.splitlines(keepends=True):
        if _MESSAGE in line:
            section, _, file = line.partition(_MESSAGE)[2].partition("' in file '")
            if file.rstrip().rstrip("'") == name:
                gone.add(section)
        else:
            rest.append(line)
    return gone, "".join(rest)


def with_places(data: bytes, elf: Elf, gone: set[str]) -> bytes | None:
    """The relocatable ``data`` with places instead of the code sections ``gone``; None if there is none of them.

    ``elf``: what ``data`` was made from; sections, names and relocations are where they were.
    """
    bss = next((section for section in elf.sections if section.name == ".bss"), None)
    names = [section.name for section in elf.sections]
    chosen = {
        section.index
        for section in elf.sections
        if section.flags & SHF_EXECINSTR and section.name in gone and names.count(section.name) == 1
    }
    if bss is None or not chosen:
        return None
    patched = bytearray(data)
    for section in elf.sections:
        at = elf.shoff + section.index * SHDR.size
        if section.index in chosen:
            flags = SHF_ALLOC | SHF_WRITE | SHF_GNU_RETAIN
            struct.pack_into("<IIQ", patched, at, bss.name_offset, SHT_NOBITS, flags)
        elif section.type == SHT_RELA and section.info in chosen:
            struct.pack_into("<I", patched, at + 4, SHT_NULL)
            struct.pack_into("<QQ", patched, at + 24, 0, 0)
    _without_frames(patched, elf, chosen)
    return bytes(patched)


def _without_frames(data: bytearray, elf: Elf, chosen: set[int]) -> None:
    """Let the linker drop the unwind information of those sections: it would keep what that refers to.

    Relocations in it that name no symbol are those of code that is no more (bfd, _bfd_elf_discard_section_eh_frame).
    """
    inside = {symbol.number for symbol in elf.symbols() if symbol.shndx in chosen}
    for rela in elf.sections:
        if rela.type != SHT_RELA or rela.info >= len(elf.sections) or elf.sections[rela.info].name != ".eh_frame":
            continue
        for at in range(rela.offset, rela.offset + rela.size // RELA.size * RELA.size, RELA.size):
            kind, symbol = struct.unpack_from("<II", elf.data, at + 8)
            if symbol in inside:
                struct.pack_into("<II", data, at + 8, kind, 0)


def with_open_functions(data: bytearray, elf: Elf) -> None:
    """Make entries of functions that have no code lexical blocks, in ``data``, a copy of what ``elf`` was read from."""
    section = elf.find(".debug_abbrev")
    if section is None:
        return
    content = elf.contents(section)
    try:
        for at in _without_code(content):
            data[section.offset + at] = TAG_LEXICAL_BLOCK
    except IndexError:
        pass  # compressed, or damaged: of no use to a debugger, but the image is none the worse


def _without_code(abbreviations: bytes) -> list[int]:
    """Where the tags stand of functions with children that tell no more than which function they are."""
    found: list[int] = []
    at = 0
    while at < len(abbreviations):
        code, at = uleb(abbreviations, at)
        if code == 0:
            continue
        place = at
        tag, at = uleb(abbreviations, at)
        children, at = abbreviations[at], at + 1
        attributes = set()
        while True:
            attribute, at = uleb(abbreviations, at)
            form, at = uleb(abbreviations, at)
            if form == FORM_IMPLICIT_CONST:
                _, at = uleb(abbreviations, at)
            if attribute == form == 0:
                break
            attributes.add(attribute)
        if tag == TAG_SUBPROGRAM and children and AT_ABSTRACT_ORIGIN in attributes <= {AT_ABSTRACT_ORIGIN, AT_SIBLING}:
            found.append(place)
    return found
