"""Where the code of a linked file comes from: file and line by its DWARF, else the file by its symbol table."""

from __future__ import annotations

import io
from typing import Any, Final

from gompy.objects.elf import SHT_SYMTAB, STT_FILE
from gompy.objects.view import ElfView

LARGEST_SEARCHED: Final = 1 << 28
"""Bytes of a file beyond which its DWARF is not looked into: reading it would take minutes."""


class Lines:
    """Source lines of one linked file; opened at the first question, and silent about damage.

    ``elf``: the file.  A place is ``file.c:12``, ``file.c`` where only the symbols tell, or empty.
    """

    def __init__(self, elf: ElfView) -> None:
        self.elf = elf
        self._dwarf: Any = None
        self._opened = False
        self._rows: dict[int, dict[int, tuple[str, int]]] = {}  # by compile unit: address to file and line
        self._files: dict[int, str] | None = None

    def at(self, address: int) -> str:
        """The place of the function that begins at an address."""
        file, line = self.line(address)
        return f"{file}:{line}" if line else self.file(address)

    def line(self, address: int) -> tuple[str, int]:
        """File and line of the first row of the line table for an address; ``("", 0)`` if there is none."""
        try:
            return self._line(address)
        except Exception:  # pyelftools meets damage with whatever its parsers raise
            return "", 0

    def covering(self, address: int) -> str:
        """``file.c:12`` of the code at an address, wherever in its line; empty where it is not known."""
        try:
            self._line(address)
            dwarf = self._open()
            ranges = dwarf.get_aranges() if dwarf is not None else None
            rows = self._rows.get(ranges.cu_offset_at_addr(address), {}) if ranges is not None else {}
        except Exception:  # pyelftools meets damage with whatever its parsers raise
            return ""
        below = max((start for start in rows if start <= address), default=None)
        return "{}:{}".format(*rows[below]) if below is not None else ""

    def file(self, address: int) -> str:
        """The STT_FILE symbol before the local symbol of an address: what an object without -g still has."""
        if self._files is None:
            self._files = {}
            for table in self.elf.sections:
                if table.type == SHT_SYMTAB:
                    source = ""
                    for symbol in self.elf.symbols(table):
                        if symbol.type == STT_FILE:
                            source = symbol.name
                        elif symbol.bind == 0 and symbol.shndx and source:
                            self._files.setdefault(symbol.value, source)
        return self._files.get(address, "")

    def _open(self) -> Any:
        if not self._opened:
            self._opened = True
            if len(self.elf.data) <= LARGEST_SEARCHED and ".debug_line" in self.elf.by_name:
                from elftools.elf.elffile import ELFFile

                self._dwarf = ELFFile(io.BytesIO(self.elf.data)).get_dwarf_info()
        return self._dwarf

    def _line(self, address: int) -> tuple[str, int]:
        dwarf = self._open()
        if dwarf is None:
            return "", 0
        ranges = dwarf.get_aranges()
        offset = ranges.cu_offset_at_addr(address) if ranges is not None else None
        if offset is None:
            return "", 0
        if offset not in self._rows:
            self._rows[offset] = _rows(dwarf, dwarf.get_CU_at(offset))
        return self._rows[offset].get(address, ("", 0))


def _rows(dwarf: Any, unit: Any) -> dict[int, tuple[str, int]]:
    """The first row of each address in a compile unit's line table."""
    found: dict[int, tuple[str, int]] = {}
    program = dwarf.line_program_for_CU(unit)
    if program is None:
        return found
    header = program.header
    files = header["file_entry"]
    first = 0 if header["version"] >= 5 else 1  # DWARF 5, 6.2.4.1: files are counted from 0
    for entry in program.get_entries():
        state = entry.state
        if state is None or state.end_sequence or not state.line:
            continue
        number = state.file - first
        if 0 <= number < len(files):
            found.setdefault(state.address, (files[number].name.decode("utf-8", "backslashreplace"), state.line))
    return found
