"""The image's line table as tools expect it: file 0 is file 1.

lto1 names its compilation unit ``<artificial>``, and so the assembler names file 0 of the line table.  The lines
refer to
the files from 1 on and are right, but addr2line of binutils takes file 0 for file 1 where the line program never
sets the file.  GCC's tables of ordinary units have the source in both places; so has the image's after this.

Source: DWARF 5, 6.2.4 (line number program header), 7.5.6 (forms).
"""

from __future__ import annotations

import struct

from gompy.objects.elf import SHT_RELA, Elf

FORM_STRING = 0x08
FORM_UDATA = 0x0F
FIXED = {0x0B: 1, 0x05: 2, 0x06: 4, 0x07: 8, 0x0E: 4, 0x1F: 4, 0x1E: 16}
"""Sizes of data1, data2, data4, data8, strp, line_strp, data16 in 32-bit DWARF."""
FORM_LINE_STRP = 0x1F
ARTIFICIAL = b"<artificial>\0"


def uleb(data: bytes, at: int) -> tuple[int, int]:
    """An unsigned number of DWARF's variable length, and where it ends.  IndexError where the data ends before."""
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if not byte & 0x80:
            return value, at


def _formats(data: bytes, at: int) -> tuple[list[int], int]:
    """Forms of an entry format description."""
    count, at = data[at], at + 1
    forms = []
    for _ in range(count):
        _, at = uleb(data, at)
        form, at = uleb(data, at)
        forms.append(form)
    return forms, at


def _skip(data: bytes, at: int, forms: list[int]) -> int:
    """End of the entry at ``at``."""
    for form in forms:
        if form == FORM_STRING:
            at = data.index(b"\0", at) + 1
        elif form == FORM_UDATA:
            _, at = uleb(data, at)
        else:
            at += FIXED[form]
    return at


def file_entries(data: bytes) -> tuple[int, int, int] | None:
    """Where entry 0 begins, where entry 1 begins and ends, in a ``.debug_line`` section's first unit.

    None if it is not DWARF 5, has fewer than two files, or its names are not in ``.debug_line_str``.
    """
    try:
        if len(data) < 24 or struct.unpack_from("<H", data, 4)[0] != 5:
            return None
        opcode_base = data[17]
        forms, at = _formats(data, 18 + opcode_base - 1)
        count, at = uleb(data, at)
        for _ in range(count):
            at = _skip(data, at, forms)
        forms, at = _formats(data, at)
        count, at = uleb(data, at)
        if count < 2 or not forms or forms[0] != FORM_LINE_STRP:
            return None
        second = _skip(data, at, forms)
        return at, second, _skip(data, second, forms)
    except (IndexError, KeyError, ValueError, struct.error):
        return None


def with_file_zero(data: bytearray, elf: Elf) -> None:
    """Make file 0 of the first line table file 1, in ``data``, a copy of the relocatable that ``elf`` was read from."""
    line, strings = elf.find(".debug_line"), elf.find(".debug_line_str")
    if line is None or strings is None:
        return
    content = elf.contents(line)
    places = file_entries(content)
    if places is None:
        return
    first, second, end = places
    if end - second != second - first:
        return
    entries: dict[int, tuple[int, int]] = {}  # offset → place of the addend in the file, addend
    for rela in elf.sections:
        if rela.type == SHT_RELA and rela.info == line.index:
            for index in range(rela.size // 24):
                offset, _, addend = struct.unpack_from("<QQq", data, rela.offset + 24 * index)
                entries[offset] = (rela.offset + 24 * index + 16, addend)
    if first not in entries or second not in entries:
        return
    place, addend = entries[first]
    if not elf.contents(strings)[addend:].startswith(ARTIFICIAL):
        return
    data[line.offset + first : line.offset + second] = content[second:end]
    struct.pack_into("<q", data, place, entries[second][1])
