"""Where the regions of an object stand in the source, by the line table that -g has left in it.

The link tools read a relocatable, in which every section begins at 0: what each sequence of the line table is about,
the relocation of its address tells.  Sources: DWARF 5, 6.2.4 and 6.2.5; DWARF 4, 6.2.4 (file names of versions 2 to 4).
"""

from __future__ import annotations

import struct
import zlib

from gompy.objects.elf import STT_SECTION, Elf, ElfError, Section, Symbol
from gompy.objects.names import FUNC_ENTRY_SIZE, OFFLOAD_FUNC_SECTION
from mkoffload.debuglines import uleb

FORM_STRING, FORM_UDATA, FORM_STRP, FORM_LINE_STRP = 0x08, 0x0F, 0x0E, 0x1F
FORM_SIZES = {0x0B: 1, 0x05: 2, 0x06: 4, 0x07: 8, 0x1E: 16}
LNCT_PATH, LNCT_DIRECTORY_INDEX = 1, 2
LNS_COPY, LNS_ADVANCE_PC, LNS_ADVANCE_LINE, LNS_SET_FILE, LNS_SET_COLUMN = 1, 2, 3, 4, 5
LNS_CONST_ADD_PC, LNS_FIXED_ADVANCE_PC = 8, 9
LNE_END_SEQUENCE, LNE_SET_ADDRESS = 1, 2
SHF_COMPRESSED, ELFCOMPRESS_ZLIB, CHDR = 0x800, 1, struct.Struct("<IIQQ")
STRINGS = {FORM_STRP: ".debug_str", FORM_LINE_STRP: ".debug_line_str"}

TYPE_CHECKING = False
if TYPE_CHECKING:
    Place = tuple[int, int]
    """A section's number, and an offset in it."""


def region_places(elf: Elf) -> list[str]:
    """``file:line:column`` of each function of the object's table, in order; empty where it is not known."""
    symbols = elf.symbols()
    entries = _entries(elf, symbols)
    try:
        known = _LineTables(elf, symbols, {entry for entry in entries if entry is not None}).found
    except (ElfError, LookupError, ArithmeticError, ValueError, struct.error, zlib.error):
        known = {}  # damaged, or of a form that is not known here
    return [known.get(entry, "") if entry is not None else "" for entry in entries]


def _entries(elf: Elf, symbols: list[Symbol]) -> list[Place | None]:
    found: list[Place | None] = []
    for section in elf.sections:
        if section.name == OFFLOAD_FUNC_SECTION:
            places = {at: _place(symbols, number, addend) for at, _, number, addend in elf.relocations(section)}
            found += [places.get(at) for at in range(0, section.size - FUNC_ENTRY_SIZE + 1, FUNC_ENTRY_SIZE)]
    return found


def _place(symbols: list[Symbol], number: int, addend: int) -> Place:
    symbol = symbols[number]
    return symbol.shndx, (0 if symbol.type == STT_SECTION else symbol.value) + addend


def _sleb(data: bytes, at: int) -> tuple[int, int]:
    """A signed number of DWARF's variable length, and where it ends."""
    value, end = uleb(data, at)
    return (value - (1 << 7 * (end - at)) if data[end - 1] & 0x40 else value), end


def _contents(elf: Elf, section: Section) -> bytes:
    """What is in a section, which may be compressed (-gz)."""
    data = elf.contents(section)
    if not section.flags & SHF_COMPRESSED:
        return data
    kind, _, size, _ = CHDR.unpack_from(data)
    if kind != ELFCOMPRESS_ZLIB:
        raise ValueError(kind)
    return zlib.decompress(data[CHDR.size :], bufsize=size)


class _LineTables:
    """The first row of each wanted place, in all of the object's line tables."""

    def __init__(self, elf: Elf, symbols: list[Symbol], wanted: set[Place]) -> None:
        self.elf = elf
        self.wanted = wanted
        self.found: dict[Place, str] = {}
        for section in elf.sections:
            if section.name == ".debug_line" and wanted:
                self.data = _contents(elf, section)
                self.values = {at: _place(symbols, n, addend) for at, _, n, addend in elf.relocations(section)}
                self._read()

    def _read(self) -> None:
        at = 0
        while at + 4 <= len(self.data):
            (length,) = struct.unpack_from("<I", self.data, at)
            end = at + 4 + length
            self._read_unit(at + 4, end)
            at = end

    def _read_unit(self, at: int, end: int) -> None:
        (version,) = struct.unpack_from("<H", self.data, at)
        at += 2
        at += 2 * (version >= 5)  # sizes of an address and of a segment selector
        (size,) = struct.unpack_from("<I", self.data, at)
        start = at + 4 + size
        least, at = self.data[at + 4], at + 5
        at += version >= 4
        base, width, first = struct.unpack_from("<bBB", self.data, at + 1)
        counts = self.data[at + 4 : at + 3 + first]
        at += 3 + first
        if version >= 5:
            folders = [path for path, _ in self._entries_5(at)]
            files = [self._joined(folders, *entry) for entry in self._entries_5(self.after)]
        else:
            files = self._files_4(at)
        self._run(start, end, least, (base, width, first, counts), files)

    def _entries_5(self, at: int) -> list[tuple[str, int]]:
        """Paths and folders' numbers of a list of DWARF 5; ``after``: where it ends."""
        count, at = self.data[at], at + 1
        forms = []
        for _ in range(count):
            kind, at = uleb(self.data, at)
            form, at = uleb(self.data, at)
            forms.append((kind, form))
        number, at = uleb(self.data, at)
        found = []
        for _ in range(number):
            path, folder = "", 0
            for kind, form in forms:
                start = at
                if form == FORM_STRING:
                    at = self.data.index(b"\0", at) + 1
                    path = self.data[start : at - 1].decode("utf-8", "surrogateescape")
                elif form in STRINGS:
                    at += 4
                    path = self._string(STRINGS[form], start)
                elif form == FORM_UDATA:
                    value, at = uleb(self.data, at)
                    folder = value if kind == LNCT_DIRECTORY_INDEX else folder
                else:
                    at += FORM_SIZES[form]
                    if kind == LNCT_DIRECTORY_INDEX:
                        folder = int.from_bytes(self.data[start:at], "little")
            found.append((path, folder))
        self.after = at
        return found

    def _string(self, name: str, at: int) -> str:
        section = self.elf.find(name)
        if section is None:
            return ""
        data = _contents(self.elf, section)
        offset = self.values[at][1]
        return data[offset : data.index(b"\0", offset)].decode("utf-8", "surrogateescape")

    def _files_4(self, at: int) -> list[str]:
        """File names of DWARF 2 to 4, which count from 1."""
        folders, files = [""], [""]
        while self.data[at]:
            end = self.data.index(b"\0", at)
            folders.append(self.data[at:end].decode("utf-8", "surrogateescape"))
            at = end + 1
        at += 1
        while self.data[at]:
            end = self.data.index(b"\0", at)
            folder, after = uleb(self.data, end + 1)
            files.append(self._joined(folders, self.data[at:end].decode("utf-8", "surrogateescape"), folder))
            _, at = uleb(self.data, after)
            _, at = uleb(self.data, at)
        return files

    @staticmethod
    def _joined(folders: list[str], path: str, folder: int) -> str:
        """The path as a compiler shows it: from the folder in which it was started."""
        return f"{folders[folder]}/{path}" if 0 < folder < len(folders) and not path.startswith("/") else path

    def _run(self, at: int, end: int, least: int, shape: tuple[int, int, int, bytes], files: list[str]) -> None:
        """The line number program of one unit."""
        base, width, first, counts = shape
        data = self.data
        section, address, file, line, column = -1, 0, 1, 1, 0
        while at < end:
            code, at = data[at], at + 1
            row = False
            if code >= first:
                address += (code - first) // width * least
                line += base + (code - first) % width
                row = True
            elif code == 0:
                size, at = uleb(data, at)
                if data[at] == LNE_SET_ADDRESS:
                    section, address = self.values.get(at + 1, (-1, 0))
                elif data[at] == LNE_END_SEQUENCE:
                    section, address, file, line, column = -1, 0, 1, 1, 0
                at += size
            elif code == LNS_COPY:
                row = True
            elif code == LNS_ADVANCE_PC:
                step, at = uleb(data, at)
                address += step * least
            elif code == LNS_ADVANCE_LINE:
                step, at = _sleb(data, at)
                line += step
            elif code == LNS_SET_FILE:
                file, at = uleb(data, at)
            elif code == LNS_SET_COLUMN:
                column, at = uleb(data, at)
            elif code == LNS_CONST_ADD_PC:
                address += (255 - first) // width * least
            elif code == LNS_FIXED_ADVANCE_PC:
                address += int.from_bytes(data[at : at + 2], "little")
                at += 2
            else:
                for _ in range(counts[code - 1]):
                    _, at = uleb(data, at)
            if row and (section, address) in self.wanted and line and file < len(files):
                where = f"{files[file]}:{line}" + (f":{column}" if column else "")
                self.found.setdefault((section, address), where)
