"""Members of ar archives: GNU and thin ones, long names, the linker plugin's name form ``archive@0xOFFSET``.

Format: binutils' include/aout/ar.h and bfd/archive.c; the name form: GCC's lto-plugin.c.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from gompy.objects.view import Damaged, text

MAGIC: Final = b"!<arch>\n"
THIN_MAGIC: Final = b"!<thin>\n"
_HEADER: Final = struct.Struct("16s12s6s6s8s10s2s")


@dataclass(frozen=True, slots=True)
class Member:
    """One member; ``offset`` is that of its contents in the archive (of its header in a thin one)."""

    name: str
    offset: int
    data: bytes


def is_archive(data: bytes) -> bool:
    """Whether the file is an archive, thin or not."""
    return data.startswith((MAGIC, THIN_MAGIC))


def _member_name(raw: str, long_names: bytes, file: str, offset: int) -> str:
    """The name that a header's name field stands for."""
    match = re.fullmatch(r"/(\d+)", raw)
    if not match:
        return raw.rstrip("/") if raw.endswith("/") else raw
    start = int(match[1])
    end = long_names.find(b"\n", start)
    if start >= len(long_names):
        raise Damaged(file, "", offset, f"member name {raw} beyond the table of long names")
    return text(long_names[start : len(long_names) if end < 0 else end].rstrip(b"/\0"))


def members(data: bytes, file: str) -> Iterator[Member]:
    """The members in order, without symbol index and name table.

    ``file``: the archive's path; members of a thin archive are read relative to it.  Raises Damaged, and OSError for a
    thin archive's missing member.
    """
    thin = data.startswith(THIN_MAGIC)
    long_names = b""
    offset = len(MAGIC)
    while offset < len(data):
        if offset + _HEADER.size > len(data):
            raise Damaged(file, "", offset, "the archive ends within a member's header")
        name_field, _date, _uid, _gid, _mode, size_field, end_mark = _HEADER.unpack_from(data, offset)
        size_text = size_field.decode("latin-1").strip()
        if end_mark != b"`\n" or not re.fullmatch("[0-9]+", size_text):
            raise Damaged(file, "", offset, "no archive member header")
        size, start = int(size_text), offset + _HEADER.size
        raw = text(name_field).rstrip()
        special = raw in ("/", "//", "/SYM64/", "__.SYMDEF", "__.SYMDEF/")
        inside = special or not thin
        if inside and start + size > len(data):
            raise Damaged(file, "", offset, f"member of {size} bytes reaches beyond the end of the archive")
        contents = data[start : start + size] if inside else b""
        if raw == "//":
            long_names = contents
        elif not special:
            name = _member_name(raw, long_names, file, offset)
            if thin:
                yield Member(name, offset, (Path(file).parent / name).read_bytes())
            else:
                yield Member(name, start, contents)
        offset = start + (size + (size & 1) if inside else 0)
