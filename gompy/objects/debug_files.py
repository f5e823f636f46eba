"""Separate debug files: what a stripped file's DWARF and symbols are in, found as gdb finds it.

Sources: gdb's manual, "Debugging Information in Separate Files".
"""

from __future__ import annotations

import os

from gompy.objects.elf import Elf

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Final

DEBUG_FOLDER: Final = "/usr/lib/debug"
NOTE_HEAD: Final = 16
"""Bytes of a note before its contents: three numbers, and "GNU"."""


def _build_id(elf: Elf) -> str:
    """The build id's digits; empty: none."""
    section = elf.find(".note.gnu.build-id")
    note = elf.contents(section) if section is not None else b""
    return note[NOTE_HEAD : NOTE_HEAD + int.from_bytes(note[4:8], "little")].hex()


def _linked(elf: Elf, path: str) -> Iterator[tuple[str, int]]:
    """Where the file that .gnu_debuglink names may be, and its checksum."""
    section = elf.find(".gnu_debuglink")
    link = elf.contents(section) if section is not None else b""
    name, folder = os.fsdecode(link.partition(b"\0")[0]), os.path.dirname(os.path.realpath(path))
    if name and "/" not in name:
        for place in (folder, f"{folder}/.debug", f"{DEBUG_FOLDER}/{folder.lstrip('/')}"):
            yield f"{place}/{name}", int.from_bytes(link[-4:], "little")


def with_dwarf(data: bytes, path: str, largest: int) -> bytes:
    """The debug file of a file's contents, if it has no DWARF itself and there is one; else the same contents."""
    elf = Elf(data, path)
    if elf.find(".debug_info") is not None or elf.find(".zdebug_info") is not None:
        return data
    digits = _build_id(elf)
    if digits:
        found = _read(f"{DEBUG_FOLDER}/.build-id/{digits[:2]}/{digits[2:]}.debug", largest)
        if found and _build_id(Elf(found, path)) == digits:
            return found
    for place, checksum in _linked(elf, path):
        found = _read(place, largest)
        if found and _checksum(found) == checksum:
            return found
    return data


def _checksum(data: bytes) -> int:
    from zlib import crc32  # a shared library; most files have no link

    return crc32(data)


def _read(path: str, largest: int) -> bytes:
    """A file's contents; empty where there is none, or a larger one."""
    try:
        with open(path, "rb") as file:
            return file.read() if os.fstat(file.fileno()).st_size <= largest else b""
    except OSError:
        return b""
