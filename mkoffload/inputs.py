"""The objects on mkoffload's command line: what each contributes to the image, and how the runtime will pair it.

The kinds are those of docs/internals.md, "Link".
"""

from __future__ import annotations

import os
import struct

from gompy.objects.elf import SHT_INIT_ARRAY, STT_FILE, Elf, member_name, split_member
from gompy.objects.entrynames import table_names
from gompy.objects.lto import IrSymbol, ir_prefix, ir_symbols, parse_opts, restored, stream_ids
from gompy.objects.names import (
    ACCEL_STOCK,
    ACCEL_TRUE,
    DEVICE_IR_SECTION_PREFIX,
    FUNC_ENTRY_SIZE,
    LTO_SECTION_PREFIX,
    OBJECT_KIND_HOST_ONLY,
    OBJECT_KIND_ID,
    OBJECT_KIND_LTO,
    OBJECT_KIND_STOCK,
    OBJECT_RECORD,
    OBJECT_RECORD_SECTION,
    OBJECT_RECORD_SIZE,
    OFFLOAD_FUNC_SECTION,
    OFFLOAD_LTO_SECTION_PREFIX,
    OFFLOAD_VAR_SECTION,
    VAR_ENTRY_SIZE,
)
from gompy.objects.naming import Names
from gompy.tools.process import ToolError, is_temporary, write_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


def asks_for_debug(words: list[str]) -> bool:
    """Whether the last -g option of a command asks for debug information."""
    words = [word for word in words if word.startswith("-g") and not word.startswith("-gno-")]
    return bool(words) and words[-1] != "-g0"


class Described:
    """One ``object_desc`` of the host object: id (0 if unknown), lengths of its tables, kind, name for messages."""

    __slots__ = ("id", "kind", "name", "nfuncs", "nvars")

    def __init__(self, ident: int, nfuncs: int, nvars: int, kind: int, name: str) -> None:
        self.id = ident
        self.nfuncs = nfuncs
        self.nvars = nvars
        self.kind = kind
        self.name = name


def shown(name: str, elf: Elf) -> str:
    """What messages call an object: its source file if it is a temporary file of the compiler's, its archive and
    member, else its name."""
    path, offset = split_member(name)
    if offset is not None:
        member = member_name(path, offset)
        return f"{path}({member})" if member else name
    if is_temporary(path):
        return next((s.name for s in elf.symbols() if s.type == STT_FILE and s.name), name)
    return name


class Input:
    """An object as given (``name`` may be ``lib.a@0xOFFSET``) with its device code, tables and description.

    ``accel``: which compiler will read it (ACCEL_STOCK, ACCEL_TRUE).  ``prefix``: of its host streams, None if it has
    none.  ``read``: of the streams that this compiler reads, None if it has none.
    """

    def __init__(self, name: str, elf: Elf, accel: int = ACCEL_STOCK) -> None:
        self.name = name
        self.accel = accel
        self.elf = elf
        self.prefix = ir_prefix(self.elf)
        self.has_offload_streams = bool(stream_ids(self.elf, OFFLOAD_LTO_SECTION_PREFIX))
        self.read = self.prefix
        if accel == ACCEL_TRUE:
            self.read = OFFLOAD_LTO_SECTION_PREFIX if self.has_offload_streams else None
        self.symbols: list[IrSymbol] = ir_symbols(self.elf, self.read) if self.read is not None else []
        self.device_file = name  # what lto1 reads
        sections = self.elf.sections
        self.nfuncs = sum(s.size for s in sections if s.name == OFFLOAD_FUNC_SECTION) // FUNC_ENTRY_SIZE
        self.nvars = sum(s.size for s in sections if s.name == OFFLOAD_VAR_SECTION) // VAR_ENTRY_SIZE
        self.has_tables = any(s.name in (OFFLOAD_FUNC_SECTION, OFFLOAD_VAR_SECTION) for s in sections)
        self.debug = any(s.name.startswith(".gnu.debuglto_") for s in sections)
        self._names: tuple[Names, Names] | None = None
        self.described = self._describe()

    def for_host(self) -> Input:
        """The same object as gcc's own compiler reads it."""
        return Input(self.name, self.elf)

    @property
    def lto(self) -> bool:
        """Whether the linker plugin claims it: its host tables come from host LTO then."""
        return self.prefix == LTO_SECTION_PREFIX

    @property
    def has_ir(self) -> bool:
        """Whether the compiler can make device code of it."""
        return self.read is not None

    @property
    def lost_debug(self) -> bool:
        """Whether its code refers to debug information of the front end's that ``strip -g`` has taken out."""
        if self.debug or self.read is None:
            return False
        options = [self.elf.contents(s) for s in self.elf.sections if s.name == f"{self.read}.opts"]
        return any(asks_for_debug(unit) for content in options for unit in parse_opts(content))

    @property
    def shown(self) -> str:
        """What messages call it."""
        return shown(self.name, self.elf)

    @property
    def has_initialisers(self) -> bool:
        """Whether it may have constructors of variables."""
        start = f"{self.prefix}_GLOBAL__sub_I_"
        return any(s.type == SHT_INIT_ARRAY or s.name.startswith(start) for s in self.elf.sections)

    @property
    def names_classes(self) -> bool:
        """Whether it may name vtables or type information of C++."""
        return b"_ZT" in self.elf.data

    def host_names(self) -> tuple[Names, Names]:
        """Names of the entries in the object's own tables."""
        if self._names is None:
            self._names = table_names(self.elf)
        return self._names

    def _records(self) -> list[tuple[int, int, int, bytes]]:
        result: list[tuple[int, int, int, bytes]] = []
        for section in self.elf.sections:
            if section.name == OBJECT_RECORD_SECTION:
                content = self.elf.contents(section)
                result += struct.iter_unpack(OBJECT_RECORD, content[: len(content) // OBJECT_RECORD_SIZE * 64])
        return result

    def _describe(self) -> list[Described]:
        records = self._records()
        if self.lto:
            return [Described(records[0][0] if records else 0, self.nfuncs, self.nvars, OBJECT_KIND_LTO, self.shown)]
        if not self.has_ir:
            return [
                Described(records[0][0] if records else 0, self.nfuncs, self.nvars, OBJECT_KIND_HOST_ONLY, self.shown)
            ]
        with_ir = len(stream_ids(self.elf, DEVICE_IR_SECTION_PREFIX))
        with_offload = len(stream_ids(self.elf, OFFLOAD_LTO_SECTION_PREFIX))
        if self.accel == ACCEL_STOCK and with_offload > with_ir:
            raise ToolError(
                f"{self.shown}: only {with_ir} of the {with_offload} translation units joined in it have device code; "
                "compile all of them with gompcc before joining them with ld -r, or build the accelerator compiler: "
                "gompy accel build"
            )
        if not records:
            return [Described(0, self.nfuncs, self.nvars, OBJECT_KIND_STOCK, self.shown)]
        total = (sum(r[1] for r in records), sum(r[2] for r in records))
        if len(records) < with_offload and total != (self.nfuncs, self.nvars):
            return self._describe_mixed(records)
        if total != (self.nfuncs, self.nvars):
            raise ToolError(
                f"{self.shown}: its offload tables have {self.nfuncs} functions and {self.nvars} variables, its "
                f"records tell of {total[0]} and {total[1]}; compile it again"
            )
        if len(records) == 1:
            return [Described(records[0][0], records[0][1], records[0][2], OBJECT_KIND_ID, self.shown)]
        return [
            Described(
                ident,
                nfuncs,
                nvars,
                OBJECT_KIND_ID,
                f"{self.shown}({_text(source)})",
            )
            for ident, nfuncs, nvars, source in records
        ]

    def _describe_mixed(self, records: list[tuple[int, int, int, bytes]]) -> list[Described]:
        """Joined by ld -r from objects of ours and of plain gcc: those with a record, and the others by their place.

        Which is which, the symbols of each unit's own tables tell.
        """
        units = self._units()
        if (sum(u[1] for u in units), sum(u[2] for u in units)) != (self.nfuncs, self.nvars):
            raise ToolError(
                f"{self.shown}: joins objects of gompcc and of gcc, and its symbols, which tell them apart, are gone; "
                "compile all of them with gompcc, or join them without stripping"
            )
        described = []
        rest = list(records)
        for source, nfuncs, nvars in units:
            name = f"{self.shown}({source})"
            if rest and (rest[0][1], rest[0][2]) == (nfuncs, nvars) and rest[0][3].startswith(source.encode()[:47]):
                described.append(Described(rest.pop(0)[0], nfuncs, nvars, OBJECT_KIND_ID, name))
            else:
                described.append(Described(0, nfuncs, nvars, OBJECT_KIND_STOCK, name))
        if rest:
            source = _text(rest[0][3])
            raise ToolError(f"{self.shown}: no offload table belongs to the record of {source}; compile it again")
        return described

    def _units(self) -> list[tuple[str, int, int]]:
        """(source, functions, variables) of each translation unit that has tables, by its local symbols.

        ToolError if their tables stand in another order: ld -r joins sections of like flags, and ours alone are
        retained ones.
        """
        units: list[tuple[str, int, int]] = []
        source, nfuncs, nvars = "", 0, 0
        places: tuple[list[tuple[int, int]], list[tuple[int, int]]] = ([], [])
        for symbol in self.elf.symbols():
            if symbol.type == STT_FILE:
                units.append((source, nfuncs, nvars))
                source, nfuncs, nvars = symbol.name, 0, 0
            elif symbol.size and symbol.name.startswith(".offload_func_table"):
                nfuncs += symbol.size // FUNC_ENTRY_SIZE
                places[0].append((symbol.shndx, symbol.value))
            elif symbol.size and symbol.name.startswith(".offload_var_table"):
                nvars += symbol.size // VAR_ENTRY_SIZE
                places[1].append((symbol.shndx, symbol.value))
        if any(table != sorted(table) for table in places):
            raise ToolError(
                f"{self.shown}: ld -r joined objects of gompcc and of gcc in turn, and put their offload tables into "
                "another order; name those of each compiler together, or make an archive of them"
            )
        units.append((source, nfuncs, nvars))
        return [unit for unit in units if unit[1] or unit[2]]

    def extract(self, folder: str, index: int, write: Callable[[str, bytes], None] = write_file) -> None:
        """Give lto1 a file that it can read: the object itself, or a copy with the streams under GCC's prefix."""
        if self.read == DEVICE_IR_SECTION_PREFIX:
            name = os.path.basename(self.name).partition("@")[0]
            plain = "".join(char if char.isprintable() or char > "\x7f" else "_" for char in name)  # no line breaks
            self.device_file = os.path.join(folder, f"{index}.{plain}")
            write(self.device_file, restored(self.elf))


def _text(name: bytes) -> str:
    """The name in a record."""
    return name.rstrip(bytes(1)).decode("utf-8", "replace")
