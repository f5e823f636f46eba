"""The objects on mkoffload's command line: what each contributes to the image, and how the runtime will pair it.

The kinds are those of docs/internals.md, "Link".
"""

from __future__ import annotations

import os
import struct

from gompy.objects.elf import Elf, open_object
from gompy.objects.lto import IrSymbol, ir_prefix, ir_symbols, restored, stream_ids
from gompy.objects.names import (
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

from mkoffload.process import ToolError
from mkoffload.tables import Names, table_names


class Described:
    """One ``object_desc`` of the host object: id (0 if unknown), lengths of its tables, kind, name for messages."""

    __slots__ = ("id", "kind", "name", "nfuncs", "nvars")

    def __init__(self, ident: int, nfuncs: int, nvars: int, kind: int, name: str) -> None:
        self.id = ident
        self.nfuncs = nfuncs
        self.nvars = nvars
        self.kind = kind
        self.name = name


class Input:
    """An object as given (``name`` may be ``lib.a@0xOFFSET``) with its device code, tables and description."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.elf: Elf = open_object(name)
        self.prefix = ir_prefix(self.elf)
        self.symbols: list[IrSymbol] = ir_symbols(self.elf, self.prefix) if self.prefix is not None else []
        self.device_file = name  # what lto1 reads
        sections = self.elf.sections
        self.nfuncs = sum(s.size for s in sections if s.name == OFFLOAD_FUNC_SECTION) // FUNC_ENTRY_SIZE
        self.nvars = sum(s.size for s in sections if s.name == OFFLOAD_VAR_SECTION) // VAR_ENTRY_SIZE
        self.has_tables = any(s.name in (OFFLOAD_FUNC_SECTION, OFFLOAD_VAR_SECTION) for s in sections)
        self.debug = any(s.name.startswith(".gnu.debuglto_") for s in sections)
        self._names: tuple[Names, Names] | None = None
        self.described = self._describe()

    @property
    def lto(self) -> bool:
        """Whether the linker plugin claims it: its host tables come from host LTO then."""
        return self.prefix == LTO_SECTION_PREFIX

    @property
    def has_ir(self) -> bool:
        """Whether stock lto1 can make device code of it."""
        return self.prefix is not None

    def host_names(self) -> tuple[Names, Names]:
        """Names of the entries in the object's own tables."""
        if self._names is None:
            self._names = table_names(self.elf)
        return self._names

    def _records(self) -> list[tuple[int, int, int, bytes]]:
        result: list[tuple[int, int, int, bytes]] = []
        for section in self.elf.sections:
            if section.name == OBJECT_RECORD_SECTION:
                content = self.elf.content(section)
                result += struct.iter_unpack(OBJECT_RECORD, content[: len(content) // OBJECT_RECORD_SIZE * 64])
        return result

    def _describe(self) -> list[Described]:
        records = self._records()
        if self.lto:
            return [Described(records[0][0] if records else 0, self.nfuncs, self.nvars, OBJECT_KIND_LTO, self.name)]
        if not self.has_ir:
            return [
                Described(records[0][0] if records else 0, self.nfuncs, self.nvars, OBJECT_KIND_HOST_ONLY, self.name)
            ]
        with_ir = len(stream_ids(self.elf, DEVICE_IR_SECTION_PREFIX))
        with_offload = len(stream_ids(self.elf, OFFLOAD_LTO_SECTION_PREFIX))
        if with_offload > with_ir:
            raise ToolError(
                f"{self.name}: only {with_ir} of the {with_offload} translation units joined in it have device code; "
                "compile all of them with gompcc before joining them with ld -r"
            )
        if not records:
            return [Described(0, self.nfuncs, self.nvars, OBJECT_KIND_STOCK, self.name)]
        total = (sum(r[1] for r in records), sum(r[2] for r in records))
        if total != (self.nfuncs, self.nvars):
            raise ToolError(
                f"{self.name}: its offload tables have {self.nfuncs} functions and {self.nvars} variables, its records "
                f"tell of {total[0]} and {total[1]}; compile it again"
            )
        if len(records) == 1:
            return [Described(records[0][0], records[0][1], records[0][2], OBJECT_KIND_ID, self.name)]
        return [
            Described(
                ident,
                nfuncs,
                nvars,
                OBJECT_KIND_ID,
                f"{self.name}({source.rstrip(bytes(1)).decode('utf-8', 'replace')})",
            )
            for ident, nfuncs, nvars, source in records
        ]

    def extract(self, folder: str, index: int) -> None:
        """Give lto1 a file that it can read: the object itself, or a copy with the streams under GCC's prefix."""
        if self.prefix == DEVICE_IR_SECTION_PREFIX:
            self.device_file = os.path.join(folder, f"{index}.{os.path.basename(self.name).partition('@')[0]}")
            try:
                with open(self.device_file, "wb") as file:
                    file.write(restored(self.elf))
            except OSError as error:
                raise ToolError(f"cannot write {self.device_file}: {error.strerror}") from None
