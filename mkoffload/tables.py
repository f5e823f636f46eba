"""The offload tables of an object by name: which function or variable each entry is.

Entries are 8-byte (functions) or 16-byte (variables) relocated words; a name comes from the relocation's symbol, or
from the symbol that the symbol table has at its section and offset.  Source: GCC omp-offload.cc (omp_finish_file).
"""

from __future__ import annotations

from gompy.objects.elf import SHN_UNDEF, STT_FILE, STT_SECTION, Elf, Symbol
from gompy.objects.names import FUNC_ENTRY_SIZE, OFFLOAD_FUNC_SECTION, OFFLOAD_VAR_SECTION, VAR_ENTRY_SIZE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gompy.objects.naming import Names

UNIT = ("_Z41__static_initialization_and_destruction_0", "__tcf_")
"""Functions of initialisers and of destructors that the listed one is made of."""


class Namer:
    """Finds the symbol at a place of a relocatable."""

    def __init__(self, elf: Elf, symbols: list[Symbol]) -> None:
        self.symbols = symbols
        self.places: dict[tuple[int, int], str] = {}
        for symbol in symbols:
            if symbol.type not in (STT_SECTION, STT_FILE) and symbol.shndx != SHN_UNDEF and symbol.name:
                key = (symbol.shndx, symbol.value)
                old = self.places.get(key)
                if old is None or (not symbol.name.startswith(".") and (old.startswith(".") or symbol.size)):
                    self.places[key] = symbol.name

    def name(self, index: int, addend: int) -> str | None:
        """Name of symbol ``index`` plus ``addend``."""
        if index >= len(self.symbols):
            return None
        symbol = self.symbols[index]
        if symbol.type != STT_SECTION and symbol.name and addend == 0:
            return symbol.name
        return self.places.get((symbol.shndx, symbol.value + addend))


def table_names(elf: Elf) -> tuple[Names, Names]:
    """Names of the file's functions and variables, in table order."""
    symbols: list[Symbol] | None = None
    namer: Namer | None = None
    result: tuple[Names, Names] = ([], [])
    for names, label, entry in (
        (result[0], OFFLOAD_FUNC_SECTION, FUNC_ENTRY_SIZE),
        (result[1], OFFLOAD_VAR_SECTION, VAR_ENTRY_SIZE),
    ):
        for section in elf.sections:
            if section.name != label or not section.size:
                continue
            if namer is None:
                symbols = elf.symbols()
                namer = Namer(elf, symbols)
            places = {offset: (symbol, addend) for offset, _, symbol, addend in elf.relocations(section)}
            for offset in range(0, section.size - entry + 1, entry):
                place = places.get(offset)
                names.append(namer.name(*place) if place is not None else None)
    return result
