"""The contents of GCC's streams, as far as they can be read without GCC: headers, options, the offload table, symbols.

Formats: GCC 12's lto-streamer.h, lto-section-in.cc, lto-section-out.cc, lto-cgraph.cc, data-streamer.h,
lto-streamer-out.cc, lto-opts.cc, lto-compress.cc.  Little-endian, LP64.
"""

from __future__ import annotations

import struct
from typing import Final, NamedTuple

from gompy.abi.gcc import release
from gompy.objects.bytecode import (
    TAG_EDGE,
    TAG_FUNCTION,
    TAG_FUNCTION_BODY,
    TAG_INDIRECT_FUNCTION,
    TAG_VARIABLE,
    Reader,
    table_items,
)
from gompy.objects.lto import StreamError, split_quoted, symtab_entries
from gompy.objects.view import text

COMPRESSIONS: Final[dict[int, str]] = {0: "zlib", 1: "zstd"}
KINDS: Final[dict[int, str]] = {TAG_FUNCTION: "func", TAG_VARIABLE: "var", TAG_INDIRECT_FUNCTION: "indirect"}


class LtoHeader(NamedTuple):
    """Contents of a ``.lto`` section."""

    major: int
    minor: int
    slim: bool
    compression: str


class TableRef(NamedTuple):
    """One entry of ``.offload_table``: ``decl`` is the index in the unit's declarations, ``kind`` one of KINDS."""

    kind: str
    decl: int
    name: str | None = None


class SymbolNode(NamedTuple):
    """One node of ``.symbol_nodes``."""

    tag: int
    order: int
    decl: int


def parse_header(data: bytes) -> LtoHeader:
    """Decode a ``.lto`` section: int16 major, int16 minor, u8 slim, u8 padding, u16 compression."""
    if len(data) < 8:
        raise StreamError(len(data), f"LTO header of {len(data)} bytes instead of 8")
    major, minor, slim, _pad, flags = struct.unpack_from("<hhBBH", data)
    if flags not in COMPRESSIONS:
        raise StreamError(6, f"unknown compression {flags}")
    return LtoHeader(major, minor, bool(slim), COMPRESSIONS[flags])


def decode_opts(data: bytes) -> list[list[str]]:
    """The option lists of ``.opts``, one per unit, each checked: NUL-terminated, all options in quotes."""
    lists: list[list[str]] = []
    start = 0
    while start < len(data):
        end = data.find(b"\0", start)
        if end < 0:
            raise StreamError(len(data), "no NUL at the end of the options")
        try:
            words = split_quoted(data[start:end].decode("latin-1"), strict=True)  # a character is a byte
        except StreamError as error:
            raise StreamError(start + error.offset, error.cause) from None
        lists.append([text(word.encode("latin-1")) for word in words])
        start = end + 1
    return lists


class OffloadTable(NamedTuple):
    """A decompressed ``.offload_table``; ``requires``: the unit's mask of ``omp requires``, None if it has none."""

    entries: list[TableRef]
    requires: int | None


def decode_offload_table(data: bytes) -> OffloadTable:
    """The table and the mask (bytecode.py, table_items).  Raises StreamError."""
    entries: list[TableRef] = []
    requires: int | None = None
    for tag, value in table_items(data):
        if tag == TAG_EDGE:
            requires = value
        else:
            entries.append(TableRef(KINDS[tag], value))
    return OffloadTable(entries, requires)


def decode_symbol_nodes(data: bytes, major: int = 12) -> list[SymbolNode]:
    """The nodes of a decompressed ``.symbol_nodes``, without the edges (lto-cgraph.cc, lto_output_node and below).

    ``major``: the release that wrote it.
    """
    thunk_bit = release(major).thunk_bit
    reader = Reader(data)
    reader.unsigned()  # profile: number of runs
    nodes: list[SymbolNode] = []
    while True:
        start = reader.at
        tag = reader.unsigned()
        if tag in (TAG_FUNCTION, TAG_FUNCTION_BODY):
            nodes.append(_function_node(reader, tag, thunk_bit))
        elif tag == TAG_VARIABLE:
            nodes.append(_variable_node(reader))
        elif tag <= 4:
            return nodes  # the edges, or the end
        else:
            raise StreamError(start, f"unknown tag {tag}")


def _function_node(reader: Reader, tag: int, thunk_bit: int) -> SymbolNode:
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
        if reader.at < reader.end and reader.data[reader.at] > TAG_VARIABLE and not flags >> thunk_bit & 1:
            reader.signed()
    if flags >> thunk_bit & 1:
        for _ in range(4):
            reader.unsigned()
    return SymbolNode(tag, order, decl)


def _variable_node(reader: Reader) -> SymbolNode:
    order = reader.signed()
    decl = reader.unsigned()
    reader.unsigned()  # flags
    if reader.string():  # comdat group
        reader.signed()
    reader.string()  # section
    reader.unsigned()  # resolution
    return SymbolNode(TAG_VARIABLE, order, decl)


def decode_symtab(data: bytes) -> dict[int, str]:
    """Names in a ``.symtab`` stream (not compressed) by slot of the tree cache."""
    return {slot: text(name) for name, _comdat, _kind, _visibility, _size, slot in symtab_entries(data)}


def decode_decl_slots(data: bytes) -> list[int]:
    """Slots of the unit's declarations, by index, of a decompressed ``.decls`` (lto_output_decl_state_refs)."""
    if len(data) < 28:
        raise StreamError(len(data), "the stream ends within its header")
    _main, _strings, state_size, _nodes, states, _function, count = struct.unpack_from("<7i", data)
    if states < 1 or not 12 <= state_size <= len(data) - 16 or not 0 <= count <= (state_size - 12) // 4:
        raise StreamError(8, f"{count} declarations in a state of {state_size} bytes")
    return list(struct.unpack_from(f"<{count}I", data, 28))
