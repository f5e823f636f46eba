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


class Namer:
    """Finds the symbol at a place of a relocatable."""

    def __init__(self, elf: Elf, symbols: list[Symbol]) -> None:
        self.symbols = symbols
        places: dict[tuple[int, int], tuple[bool, bool, str]] = {}
        for symbol in symbols:
            if symbol.type not in (STT_SECTION, STT_FILE) and symbol.shndx != SHN_UNDEF and symbol.name:
                key = (symbol.shndx, symbol.value)
                # Of several names (constants of equal contents) the same one in each file, whatever their order there.
                rank = (symbol.name.startswith("."), not symbol.size, symbol.name)
                places[key] = min(rank, places.get(key, rank))
        self.places = {key: rank[2] for key, rank in places.items()}

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
