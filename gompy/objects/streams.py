"""LTO and offload streams of an object: names, headers, options, the ordered offload table.

What is decoded without GCC's help: section names, the ``.lto`` header, ``.opts``, ``.offload_table`` (kinds and order
of the entries), and the entries' names as far as they stand outside the tree stream: a function, or a variable with a
streamed initialiser, has a section of its own whose name carries the symbol's order number (``.symbol_nodes`` ties
that to the table); a public symbol's name is in ``.symtab``.  What remains are static variables without a section:
their names are in GCC's tree stream only, and ``name_with_gcc`` asks GCC's own reader.

Formats: GCC 12's lto-streamer.h, lto-section-in.cc, lto-section-out.cc, lto-cgraph.cc, data-streamer.h,
lto-streamer-out.cc, lto-opts.cc, lto-compress.cc.  Little-endian, LP64.
"""

from __future__ import annotations

import re
import struct
import subprocess
import tempfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

from gompy.objects import names
from gompy.objects.view import Damaged, ElfView, Section, text

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

COMPRESSIONS: Final[dict[int, str]] = {0: "zlib", 1: "zstd"}
_ZSTD_MAGIC: Final = b"\x28\xb5\x2f\xfd"
STREAM_LIMIT: Final = 256 << 20
"""Bytes that one stream may have decompressed; a larger one is taken for damage."""

TAG_FUNCTION: Final = 1
TAG_FUNCTION_BODY: Final = 2
TAG_VARIABLE: Final = 5
"""LTO_symtab_tags of GCC 12: unavail_node, analyzed_node, variable; 0 ends the list, 3 and 4 are edges."""


class StreamError(Exception):
    """A stream that cannot be decoded: byte offset in the section (or in its decompressed contents), cause."""

    def __init__(self, offset: int, cause: str) -> None:
        super().__init__(cause)
        self.offset = offset
        self.cause = cause


class StreamName(NamedTuple):
    """A section name taken apart: ``stream`` for a summary, ``symbol`` and ``order`` for a body, ``id`` of the unit."""

    family: str
    stream: str
    symbol: str
    order: int
    id: str


class LtoHeader(NamedTuple):
    """Contents of a ``.lto`` section."""

    major: int
    minor: int
    slim: bool
    compression: str


class TableRef(NamedTuple):
    """One entry of ``.offload_table``: ``decl`` is the index in the unit's declarations."""

    kind: str
    decl: int
    name: str | None = None


class SymbolNode(NamedTuple):
    """One node of ``.symbol_nodes``."""

    tag: int
    order: int
    decl: int


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


def parse_header(data: bytes) -> LtoHeader:
    """Decode a ``.lto`` section: int16 major, int16 minor, u8 slim, u8 padding, u16 compression."""
    if len(data) < 8:
        raise StreamError(len(data), f"LTO header of {len(data)} bytes instead of 8")
    major, minor, slim, _pad, flags = struct.unpack_from("<hhBBH", data)
    if flags not in COMPRESSIONS:
        raise StreamError(6, f"unknown compression {flags}")
    return LtoHeader(major, minor, bool(slim), COMPRESSIONS[flags])


def decompress(data: bytes) -> bytes:
    """The contents of a stream: zstd, zlib, or plain (streams that WPA wrote for LTRANS are not compressed)."""
    if data.startswith(_ZSTD_MAGIC):
        import zstandard

        try:
            with zstandard.ZstdDecompressor(max_window_size=1 << 27).stream_reader(data) as reader:
                result: bytes = reader.read(STREAM_LIMIT + 1)
                whole = zstandard.get_frame_parameters(data).content_size
        except (zstandard.ZstdError, MemoryError, ValueError) as error:
            raise StreamError(0, f"zstd: {error}") from None
        if len(result) > STREAM_LIMIT:
            raise StreamError(0, f"more than {STREAM_LIMIT >> 20} MiB decompressed")
        if whole not in (len(result), zstandard.CONTENTSIZE_UNKNOWN):
            raise StreamError(0, f"zstd: {len(result)} bytes decompressed, {whole} announced")
        return result
    if data[:1] == b"\x78" and len(data) > 1 and (data[0] << 8 | data[1]) % 31 == 0:
        inflate = zlib.decompressobj()
        try:
            result = inflate.decompress(data, STREAM_LIMIT + 1)
        except zlib.error as error:
            raise StreamError(0, f"zlib: {error}") from None
        if not inflate.eof:
            raise StreamError(len(data), "zlib: the stream is not complete")
        return result
    return data


def decode_opts(data: bytes) -> list[list[str]]:
    """The option lists of ``.opts``: one per unit, NUL-terminated, options in single quotes (``'\\''`` for one)."""
    lists: list[list[str]] = []
    start = 0
    while start < len(data):
        end = data.find(b"\0", start)
        if end < 0:
            raise StreamError(len(data), "no NUL at the end of the options")
        options: list[str] = []
        at = start
        while at < end:
            if data[at : at + 1] == b" ":
                at += 1
                continue
            option = bytearray()
            while at < end and data[at : at + 1] != b" ":
                if data[at : at + 1] == b"\\":
                    option += data[at + 1 : at + 2]
                    at += 2
                    continue
                if data[at : at + 1] != b"'":
                    raise StreamError(at, "an option is not in quotes")
                close = data.find(b"'", at + 1, end)
                if close < 0:
                    raise StreamError(at, "no closing quote")
                option += data[at + 1 : close]
                at = close + 1
            options.append(text(bytes(option)))
        lists.append(options)
        start = end + 1
    return lists


class _Reader:
    """LEB128 numbers and strings of a simple stream (int32 length, then that many bytes)."""

    def __init__(self, data: bytes) -> None:
        if len(data) < 4:
            raise StreamError(len(data), "the stream ends within its header")
        (size,) = struct.unpack_from("<i", data)
        if not 0 <= size <= len(data) - 4:
            raise StreamError(0, f"length {size} in the header, {len(data) - 4} bytes follow")
        self.data = data
        self.at = 4
        self.end = 4 + size

    def unsigned(self) -> int:
        result = shift = 0
        while True:
            if self.at >= self.end:
                raise StreamError(self.at, "the stream ends within a number")
            byte = self.data[self.at]
            self.at += 1
            result |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return result
            if shift > 63:
                raise StreamError(self.at, "a number of more than 64 bits")

    def signed(self) -> int:
        start = self.at
        value = self.unsigned()
        bits = 7 * (self.at - start)
        return value - (1 << bits) if value >> (bits - 1) & 1 else value

    def string(self) -> bytes:
        end = self.data.find(b"\0", self.at, self.end)
        if end < 0:
            raise StreamError(self.at, "the stream ends within a name")
        start, self.at = self.at, end + 1
        return self.data[start:end]


def decode_offload_table(data: bytes) -> list[TableRef]:
    """The entries of a decompressed ``.offload_table`` (lto-cgraph.cc, output_offload_tables).

    Per entry a tag (1 function, 5 variable) and the index of the declaration; tag 0 ends the list.
    """
    reader = _Reader(data)
    entries: list[TableRef] = []
    while True:
        start = reader.at
        tag = reader.unsigned()
        if tag == 0:
            if reader.at != reader.end:
                raise StreamError(reader.at, "bytes after the end of the table")
            return entries
        if tag not in (TAG_FUNCTION, TAG_VARIABLE):
            raise StreamError(start, f"tag {tag} is neither a function's nor a variable's")
        entries.append(TableRef("func" if tag == TAG_FUNCTION else "var", reader.unsigned()))


def decode_symbol_nodes(data: bytes) -> list[SymbolNode]:
    """The nodes of a decompressed ``.symbol_nodes``, without the edges (lto-cgraph.cc, lto_output_node and below)."""
    reader = _Reader(data)
    reader.unsigned()  # profile: number of runs
    nodes: list[SymbolNode] = []
    while True:
        start = reader.at
        tag = reader.unsigned()
        if tag in (TAG_FUNCTION, TAG_FUNCTION_BODY):
            nodes.append(_function_node(reader, tag))
        elif tag == TAG_VARIABLE:
            nodes.append(_variable_node(reader))
        elif tag <= 4:
            return nodes  # the edges, or the end
        else:
            raise StreamError(start, f"unknown tag {tag}")


def _function_node(reader: _Reader, tag: int) -> SymbolNode:
    order = reader.signed()
    reader.signed()  # clone of
    decl = reader.unsigned()
    reader.signed()  # count and its quality, materialization scale
    reader.unsigned()
    reader.signed()
    transforms = reader.signed()
    for _ in range(min(max(transforms, 0), reader.end)):
        reader.signed()
    if tag == TAG_FUNCTION_BODY:
        reader.signed()  # inlined to
    if reader.string():  # comdat group
        reader.signed()
    reader.signed()  # first run
    flags = reader.unsigned()
    reader.string()  # section
    reader.signed()  # profile id, unit id
    reader.signed()
    # A static constructor's or destructor's priority follows; only the declaration tells, but no priority that a user
    # may choose (from 101) or that is the default (65535) looks like a tag.
    for _ in range(2):
        if reader.at < reader.end and reader.data[reader.at] > TAG_VARIABLE and not flags >> _THUNK_BIT & 1:
            reader.signed()
    if flags >> _THUNK_BIT & 1:
        for _ in range(4):
            reader.unsigned()
    return SymbolNode(tag, order, decl)


_THUNK_BIT: Final = 35
"""Bit of a function node's flags: thunk data follow (33 one-bit flags and the two bits of the frequency precede it)."""


def _variable_node(reader: _Reader) -> SymbolNode:
    order = reader.signed()
    decl = reader.unsigned()
    reader.unsigned()  # flags
    if reader.string():  # comdat group
        reader.signed()
    reader.string()  # section
    reader.unsigned()  # resolution
    return SymbolNode(TAG_VARIABLE, order, decl)


def decode_symtab(data: bytes) -> dict[int, str]:
    """Names in a ``.symtab`` stream (not compressed) by slot of the tree cache (lto-streamer-out.cc, write_symbol)."""
    slots: dict[int, str] = {}
    at = 0
    while at < len(data):
        name_end = data.find(b"\0", at)
        comdat_end = data.find(b"\0", name_end + 1) if name_end >= 0 else -1
        if comdat_end < 0 or comdat_end + 15 > len(data):
            raise StreamError(at, "the stream ends within a symbol")
        (slot,) = struct.unpack_from("<I", data, comdat_end + 11)
        slots[slot] = text(data[at:name_end])
        at = comdat_end + 15
    return slots


def decode_decl_slots(data: bytes) -> list[int]:
    """Slots of the unit's declarations, by index, of a decompressed ``.decls`` (lto_output_decl_state_refs)."""
    if len(data) < 28:
        raise StreamError(len(data), "the stream ends within its header")
    _main, _strings, state_size, _nodes, states, _function, count = struct.unpack_from("<7i", data)
    if states < 1 or not 12 <= state_size <= len(data) - 16 or not 0 <= count <= (state_size - 12) // 4:
        raise StreamError(8, f"{count} declarations in a state of {state_size} bytes")
    return list(struct.unpack_from(f"<{count}I", data, 28))


def unit_header(elf: ElfView, unit: Unit) -> LtoHeader | None:
    """The unit's ``.lto`` header.  Raises Damaged."""
    section = unit.streams.get("lto")
    if section is None:
        return None
    try:
        return parse_header(elf.contents(section))
    except StreamError as error:
        raise elf.damaged(section, error.offset, error.cause) from None


def unit_table(elf: ElfView, unit: Unit) -> list[TableRef]:
    """The unit's ``.offload_table`` in order, with the names that can be told (see above).  Raises Damaged."""
    section = unit.streams.get("offload_table")
    if section is None:
        return []
    try:
        entries = decode_offload_table(decompress(elf.contents(section)))
    except StreamError as error:
        raise elf.damaged(section, error.offset, error.cause) from None
    by_decl: dict[int, str] = {}
    for stream, naming in (("symtab", _names_from_symtab), ("symbol_nodes", _names_from_bodies)):
        section = unit.streams.get(stream)
        if section is None:
            continue
        try:
            by_decl.update(naming(elf, unit, section))
        except StreamError as error:
            raise elf.damaged(section, error.offset, error.cause) from None
    return [entry._replace(name=by_decl.get(entry.decl)) for entry in entries]


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
    nodes = decode_symbol_nodes(decompress(elf.contents(section)))
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
            refs = unit_table(elf, unit)
            if decode and any(ref.name is None for ref in refs):
                refs = name_with_gcc(elf, unit, refs)
            entries += [(ref.kind, ref.name) for ref in refs]
    return entries


def read_input(name: str) -> tuple[bytes, str]:
    """A file's bytes and its name for messages; ``archive@0xOFFSET`` is the member whose contents begin there."""
    from gompy.objects import archive

    split = archive.split_member(name)
    if split is None or Path(name).exists():
        return Path(name).read_bytes(), name
    data = Path(split[0]).read_bytes()
    for member in archive.members(data, split[0]):
        if member.offset == split[1]:
            return member.data, f"{split[0]}({member.name})"
    raise Damaged(split[0], "", split[1], "no archive member begins here")


class DecodeError(Exception):
    """GCC's reader did not read the streams; the text says why."""


NVPTX_GCC: Final = ("x86_64-linux-gnu-accel-nvptx-none-gcc-12", "x86_64-linux-gnu-accel-nvptx-none-gcc")


def name_with_gcc(elf: ElfView, unit: Unit, refs: list[TableRef], gcc: Sequence[str] = ("gcc",)) -> list[TableRef]:
    """The entries with the missing names filled in by GCC's own reader.

    Host streams are compiled by the stock ``gcc -flto`` to an object whose .gnu.offload_funcs and .gnu.offload_vars are
    read; offload streams by the nvptx accelerator compiler, whose assembly names the entries (FUNC_MAP, VAR_MAP).
    Raises DecodeError if that compiler is not installed, refuses the object, or contradicts the names already known.
    """
    from gompy.objects import tables
    from gompy.objects.pairing import plain_name

    if len({u.id for u in units(elf) if u.family == unit.family}) > 1:
        raise DecodeError("the file joins several units (ld -r); only single units can be decoded")
    data = elf.data
    with tempfile.TemporaryDirectory(prefix="gompy-inspect-") as folder:
        source, result = Path(folder, "unit.o"), Path(folder, "result")
        if unit.family == "device-ir":
            data = data.replace(names.DEVICE_IR_SECTION_PREFIX.encode(), names.LTO_SECTION_PREFIX.encode())
        source.write_bytes(data)
        if unit.family == "offload":
            options = ["-xlto", "-m64", "-mgomp", "-foffload-abi=lp64", "-fopenmp", "-O0", "-S", "-o", str(result)]
            _run_first([[compiler, *options, str(source)] for compiler in NVPTX_GCC])
            found = [(kind, plain_name(name)) for kind, name in ptx_map(result.read_bytes())]
        else:
            options = ["-r", "-nostdlib", "-O0", "-fopenmp", "-flto", "-flto-partition=none"]
            options += ["-flinker-output=nolto-rel", "-foffload=disable", "-o", str(result), str(source)]
            _run_first([[*gcc, *options]])
            emitted = tables.read_tables(ElfView(result.read_bytes(), str(result)))
            found = [("func", e.name or "") for e in emitted.funcs] + [("var", e.name or "") for e in emitted.vars]
    if len(found) != len(refs):
        raise DecodeError(f"GCC emits {len(found)} entries, the stream has {len(refs)}")
    named: list[TableRef] = []
    for index, (ref, (kind, name)) in enumerate(zip(refs, found, strict=True)):
        if kind != ref.kind or plain_name(ref.name or name) != plain_name(name):
            raise DecodeError(f"entry {index}: {ref.kind} {ref.name or '?'} in the stream, GCC emits {kind} {name}")
        named.append(ref if ref.name is not None else ref._replace(name=name or None))
    return named


def _run_first(commands: list[list[str]]) -> None:
    """Run the first command whose program exists."""
    for command in commands:
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL)
        except FileNotFoundError:
            continue
        except subprocess.TimeoutExpired:
            raise DecodeError(f"{command[0]} does not end") from None
        if done.returncode:
            lines = [line for line in done.stderr.splitlines() if "error:" in line] or done.stderr.splitlines() or [""]
            raise DecodeError(f"{command[0]}: {lines[0]}")
        return
    raise DecodeError(f"{commands[0][0]} is not installed")


def ptx_map(data: bytes) -> list[tuple[str, str]]:
    """(kind, name) of the marker comments in PTX that mkoffload reads (config/nvptx/mkoffload.cc), functions first."""
    found = [
        ("func" if match[1] == b"FUNC" else "var", text(match[2]))
        for match in re.finditer(rb'^//:(FUNC|VAR)_MAP "([^"\n]*)"', data, re.MULTILINE)
    ]
    return [entry for entry in found if entry[0] == "func"] + [entry for entry in found if entry[0] == "var"]
