"""LTO and offload streams of an object: the names of their sections, its units, the ordered offload table.

What is decoded without GCC's help: section names, the ``.lto`` header, ``.opts``, ``.offload_table`` (kinds and order
of the entries), and the entries' names as far as they stand outside the tree stream: a function, or a variable with a
streamed initialiser, has a section of its own whose name carries the symbol's order number (``.symbol_nodes`` ties
that to the table); a public symbol's name is in ``.symtab``.  What remains are static variables without a section:
their names are in GCC's tree stream only, and ``name_with_gcc`` asks GCC's own reader.

Formats: GCC 12's lto-streamer.h, lto-section-in.cc, lto-section-out.cc, lto-cgraph.cc, data-streamer.h,
lto-streamer-out.cc, lto-opts.cc, lto-compress.cc.  Little-endian, LP64.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

from gompy import UserError
from gompy.abi.gcc import REQUIRES_FILE
from gompy.objects import names
from gompy.objects.bytecode import decompress
from gompy.objects.decode import (
    LtoHeader,
    OffloadTable,
    TableRef,
    decode_decl_slots,
    decode_offload_table,
    decode_symbol_nodes,
    decode_symtab,
    parse_header,
)
from gompy.objects.elf import Section, member_reference
from gompy.objects.lto import StreamError
from gompy.objects.view import Damaged, ElfView, text

FAMILY_PREFIXES: Final[dict[str, str]] = {
    "offload": names.OFFLOAD_LTO_SECTION_PREFIX,
    "lto": names.LTO_SECTION_PREFIX,
    "device-ir": names.DEVICE_IR_SECTION_PREFIX,
    "debug": names.DEBUG_LTO_SECTION_PREFIX,
}
"""``device-ir`` are host streams under gompy's prefix; ``debug`` is early debug information, not a stream."""

STREAM_NAMES: Final = frozenset(
    (
        *("decls", "function_body", "statics", "symtab", "ext_symtab", "refs", "asm", "jmpfuncs", "pureconst"),
        *("reference", "profile", "symbol_nodes", "opts", "cgraphopt", "inline", "ipcp_trans", "icf"),
        *("offload_table", "mode_table", "lto", "ipa_sra", "odr_types", "ipa_modref"),
    )
)
"""GCC 12: lto-section-in.cc, lto_section_name."""


class StreamName(NamedTuple):
    """A section name taken apart: ``stream`` for a summary, ``symbol`` and ``order`` for a body, ``id`` of the unit."""

    family: str
    stream: str
    symbol: str
    order: int
    id: str


@dataclass
class Unit:
    """The streams of one family with one id: a translation unit's."""

    family: str
    id: str
    streams: dict[str, Section] = field(default_factory=dict)
    bodies: dict[int, str] = field(default_factory=dict)
    sections: int = 0
    size: int = 0


def parse_section_name(name: str) -> StreamName | None:
    """Take a section name apart; None if it is no stream's."""
    family = next((family for family, prefix in FAMILY_PREFIXES.items() if name.startswith(prefix)), None)
    if family is None:
        return None
    rest = name[len(FAMILY_PREFIXES[family]) :]
    if rest == ".opts" or family == "debug":
        return StreamName(family, rest.lstrip("."), "", -1, "")
    head, _, unit = rest.rpartition(".")
    if not re.fullmatch("[0-9a-f]{1,16}", unit):
        return StreamName(family, rest.lstrip("."), "", -1, "")
    if head[:1] == "." and head[1:] in STREAM_NAMES:
        return StreamName(family, head[1:], "", -1, unit)
    symbol, _, order = head.rpartition(".")
    if symbol and order.isascii() and order.isdigit() and len(order) < 12:
        return StreamName(family, "function_body", symbol, int(order), unit)
    return StreamName(family, head.lstrip("."), "", -1, unit)


def units(elf: ElfView) -> list[Unit]:
    """The units in a file in section order."""
    found: dict[tuple[str, str], Unit] = {}
    for section in elf.sections:
        parsed = parse_section_name(section.name)
        if parsed is None or not parsed.id:
            continue
        unit = found.setdefault((parsed.family, parsed.id), Unit(parsed.family, parsed.id))
        unit.sections += 1
        unit.size += section.size
        if parsed.symbol:
            unit.bodies[parsed.order] = parsed.symbol
        else:
            unit.streams.setdefault(parsed.stream, section)
    return list(found.values())


def unit_header(elf: ElfView, unit: Unit) -> LtoHeader | None:
    """The unit's ``.lto`` header.  Raises Damaged."""
    section = unit.streams.get("lto")
    if section is None:
        return None
    try:
        return parse_header(elf.contents(section))
    except StreamError as error:
        raise elf.damaged(section, error.offset, error.cause) from None


def unit_table(elf: ElfView, unit: Unit) -> OffloadTable:
    """The unit's ``.offload_table`` in order, with the names that can be told (see above).  Raises Damaged."""
    section = unit.streams.get("offload_table")
    if section is None:
        return OffloadTable([], None)
    try:
        table = decode_offload_table(decompress(elf.contents(section)))
    except StreamError as error:
        raise elf.damaged(section, error.offset, error.cause) from None
    by_decl: dict[int, str] = {}
    for stream, naming in (("symtab", _names_from_symtab), ("symbol_nodes", _names_from_bodies)):
        section = unit.streams.get(stream)
        if section is None or not table.entries:
            continue
        try:
            by_decl.update(naming(elf, unit, section))
        except StreamError as error:
            raise elf.damaged(section, error.offset, error.cause) from None
    return table._replace(entries=[entry._replace(name=by_decl.get(entry.decl)) for entry in table.entries])


def _names_from_symtab(elf: ElfView, unit: Unit, section: Section) -> dict[int, str]:
    decls = unit.streams.get("decls")
    if decls is None:
        return {}
    by_slot = decode_symtab(elf.contents(section))
    try:
        slots = decode_decl_slots(decompress(elf.contents(decls)))
    except StreamError as error:
        raise elf.damaged(decls, error.offset, error.cause) from None
    return {index: by_slot[slot] for index, slot in enumerate(slots) if slot in by_slot}


def _names_from_bodies(elf: ElfView, unit: Unit, section: Section) -> dict[int, str]:
    header = unit_header(elf, unit)
    nodes = decode_symbol_nodes(decompress(elf.contents(section)), header.major if header is not None else 12)
    return {node.decl: unit.bodies[node.order] for node in nodes if node.order in unit.bodies}


def offload_table_names(
    path: str | Path, family: str = "offload", decode: bool = False
) -> list[tuple[str, str | None]]:
    """(kind, name) of each entry of a file's offload table streams, in order.

    ``family``: ``offload`` (``.gnu.offload_lto_``), ``lto`` (``.gnu.lto_``) or ``device-ir`` (``.gompyir_``); ``path``
    may be ``archive@0xOFFSET``.  A name that only the tree stream has is None unless ``decode`` (name_with_gcc).
    Raises Damaged, OSError, and DecodeError with ``decode``.
    """
    data, shown = read_input(str(path))
    elf = ElfView(data, shown)
    entries: list[tuple[str, str | None]] = []
    for unit in units(elf):
        if unit.family == family:
            refs = unit_table(elf, unit).entries
            if decode and any(ref.name is None for ref in refs):
                refs = name_with_gcc(elf, unit, refs)
            entries += [(ref.kind, ref.name) for ref in refs]
    return entries


def read_input(name: str) -> tuple[bytes, str]:
    """A file's bytes and its name for messages; ``archive@0xOFFSET`` is the member whose contents begin there."""
    from gompy.objects import archive

    split = member_reference(name)
    if split is None or Path(name).exists():
        if stat.S_ISCHR(os.stat(name).st_mode):
            raise OSError(errno.EINVAL, "it is a device, and no file")  # of /dev/zero's kind; a pipe has an end
        return Path(name).read_bytes(), name
    data = Path(split[0]).read_bytes()
    for member in archive.members(data, split[0]):
        if member.offset == split[1]:
            return member.data, f"{split[0]}({member.name})"
    raise Damaged(split[0], "", split[1], "no archive member begins here")


class DecodeError(UserError):
    """GCC's reader did not read the streams; the text says why."""


NVPTX_GCC: Final = "x86_64-linux-gnu-accel-nvptx-none-gcc"


def name_with_gcc(elf: ElfView, unit: Unit, refs: list[TableRef], gcc: Sequence[str] = ()) -> list[TableRef]:
    """The entries with the missing names filled in by GCC's own reader.

    Host streams are compiled by the stock ``gcc -flto`` (``gcc``; that of the streams' release if it is not given) to
    an object whose tables are read; offload streams by the nvptx accelerator compiler, whose assembly names the entries
    (FUNC_MAP, VAR_MAP, IND_FUNC_MAP).  Raises DecodeError if that compiler is not installed, refuses the object, or
    contradicts the names already known.
    """
    from gompy.objects import tables
    from gompy.objects.naming import plain_name

    if len({u.id for u in units(elf) if u.family == unit.family}) > 1:
        raise DecodeError("the file joins several units (ld -r); only single units can be decoded")
    data = elf.data
    header = unit_header(elf, unit)
    versions = ["", f"-{header.major}"] if header is not None else [""]
    with tempfile.TemporaryDirectory(prefix="gompy-inspect-") as folder:
        source, result = Path(folder, "unit.o"), Path(folder, "result")
        if unit.family == "device-ir":
            data = data.replace(names.DEVICE_IR_SECTION_PREFIX.encode(), names.LTO_SECTION_PREFIX.encode())
        source.write_bytes(data)
        if unit.family == "offload":
            options = ["-xlto", "-m64", "-mgomp", "-foffload-abi=lp64", "-fopenmp", "-O0", "-S", "-o", str(result)]
            environment = {**os.environ, REQUIRES_FILE: str(Path(folder, "requires"))}
            _run_first([[NVPTX_GCC + v, *options, str(source)] for v in reversed(versions)], environment)
            found = [(kind, plain_name(name)) for kind, name in ptx_map(result.read_bytes())]
        else:
            options = ["-r", "-nostdlib", "-O0", "-fopenmp", "-flto", "-flto-partition=none"]
            options += ["-flinker-output=nolto-rel", "-foffload=disable", "-o", str(result), str(source)]
            _run_first([[*gcc, *options]] if gcc else [["gcc" + v, *options] for v in versions])
            emitted = tables.read_tables(ElfView(result.read_bytes(), str(result)))
            found = [("func", e.name or "") for e in emitted.funcs] + [("var", e.name or "") for e in emitted.vars]
            found += [("indirect", e.name or "") for e in emitted.indirect]
    if len(found) != len(refs):
        raise DecodeError(f"GCC emits {len(found)} entries, the stream has {len(refs)}")
    named: list[TableRef] = []
    for index, (ref, (kind, name)) in enumerate(zip(refs, found, strict=True)):
        if kind != ref.kind or plain_name(ref.name or name) != plain_name(name):
            raise DecodeError(f"entry {index}: {ref.kind} {ref.name or '?'} in the stream, GCC emits {kind} {name}")
        named.append(ref if ref.name is not None else ref._replace(name=name or None))
    return named


def _run_first(commands: list[list[str]], environment: dict[str, str] | None = None) -> None:
    """Run the first command whose program exists and that reads the file; the last one's failure is told."""
    failure = ""
    for command in commands:
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL, env=environment
            )
        except (FileNotFoundError, PermissionError):  # PATH may have folders that are not for this user
            failure = failure or f"{command[0]} is not installed"
            continue
        except subprocess.TimeoutExpired:
            raise DecodeError(f"{command[0]} does not end") from None
        if not done.returncode:
            return
        lines = [line for line in done.stderr.splitlines() if "error:" in line] or done.stderr.splitlines() or [""]
        failure = f"{command[0]}: {lines[0]}"
    raise DecodeError(failure)


def ptx_map(data: bytes) -> list[tuple[str, str]]:
    """(kind, name) of the marker comments in PTX that mkoffload reads (config/nvptx/mkoffload.cc), functions first."""
    marks = {b"FUNC": "func", b"VAR": "var", b"IND_FUNC": "indirect"}
    found = [
        (marks[match[1]], text(match[2]))
        for match in re.finditer(rb'^//:(FUNC|VAR|IND_FUNC)_MAP "([^"\n]*)"', data, re.MULTILINE)
    ]
    return [entry for kind in marks.values() for entry in found if entry[0] == kind]
