"""Where the code of a linked file comes from: file and line by its DWARF, else the file by its symbol table."""

from __future__ import annotations

from gompy.objects.dwarf_sections import dwarf_of
from gompy.objects.elf import SHT_SYMTAB, STT_FILE, Elf

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final

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
        self._rows: dict[int, dict[int, list[tuple[str, int]]]] = {}  # by compile unit: address to its files and lines
        self._files: dict[int, str] | None = None
        self._units: list[tuple[int, int, int]] | None = None  # begin and end of code, compile unit

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
        """``file.c:12`` of the code at an address, wherever in its line; empty where it is not known.

        Of several rows for one address the code has the last one's line, as addr2line says; the others have none.
        """
        try:
            self._line(address)
            unit = self._unit_at(address)
            rows = self._rows.get(unit, {}) if unit is not None else {}
        except Exception:  # pyelftools meets damage with whatever its parsers raise
            return ""
        below = max((start for start in rows if start <= address), default=None)
        return "{}:{}".format(*rows[below][-1]) if below is not None else ""

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
                self._dwarf = dwarf_of(Elf(self.elf.data, self.elf.file))
        return self._dwarf

    def _unit_at(self, address: int) -> int | None:
        """The compile unit of an address: by .debug_aranges, of which clang makes none, else by what units say."""
        dwarf = self._open()
        if dwarf is None:
            return None
        ranges = dwarf.get_aranges()
        offset = ranges.cu_offset_at_addr(address) if ranges is not None else None
        if offset is not None:
            return int(offset)
        if self._units is None:
            self._units = [
                (low, high, int(unit.cu_offset))
                for unit in dwarf.iter_CUs()
                for low, high in code_ranges(dwarf, unit, unit.get_top_DIE())
            ]
        return next((offset for low, high, offset in self._units if low <= address < high), None)

    def _line(self, address: int) -> tuple[str, int]:
        dwarf = self._open()
        if dwarf is None:
            return "", 0
        offset = self._unit_at(address)
        if offset is None:
            return "", 0
        if offset not in self._rows:
            self._rows[offset] = _rows(dwarf, dwarf.get_CU_at(offset))
        rows = self._rows[offset].get(address)
        return rows[0] if rows else ("", 0)


def code_ranges(dwarf: Any, unit: Any, die: Any) -> list[tuple[int, int]]:
    """Begins and ends of the code of a DIE of a compile unit."""
    attributes = die.attributes
    if "DW_AT_ranges" in attributes:
        lists = dwarf.range_lists()
        if lists is None:
            return []
        base = unit.get_top_DIE().attributes.get("DW_AT_low_pc")
        start = base.value if base else 0
        found = []
        for entry in lists.get_range_list_at_offset(attributes["DW_AT_ranges"].value, unit):
            if hasattr(entry, "base_address"):
                start = entry.base_address
                continue
            shift = 0 if getattr(entry, "is_absolute", False) else start
            found.append((entry.begin_offset + shift, entry.end_offset + shift))
        return found
    if "DW_AT_low_pc" not in attributes or "DW_AT_high_pc" not in attributes:
        return []
    low = attributes["DW_AT_low_pc"].value
    high = attributes["DW_AT_high_pc"]
    return [(low, high.value if high.form == "DW_FORM_addr" else low + high.value)]


def _rows(dwarf: Any, unit: Any) -> dict[int, list[tuple[str, int]]]:
    """The rows of each address in a compile unit's line table."""
    found: dict[int, list[tuple[str, int]]] = {}
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
            place = files[number].name.decode("utf-8", "backslashreplace"), state.line
            found.setdefault(state.address, []).append(place)
    return found
