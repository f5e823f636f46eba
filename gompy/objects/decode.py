"""The contents of GCC's streams, as far as they can be read without GCC: headers, options, the offload table, symbols.

Formats: GCC 12's lto-streamer.h, lto-section-in.cc, lto-section-out.cc, lto-cgraph.cc, data-streamer.h,
lto-streamer-out.cc, lto-opts.cc, lto-compress.cc.  Little-endian, LP64.
"""

from __future__ import annotations

import struct
import zlib
from typing import Final, NamedTuple

from gompy import UserError
from gompy.objects.view import text

COMPRESSIONS: Final[dict[int, str]] = {0: "zlib", 1: "zstd"}
_ZSTD_MAGIC: Final = b"\x28\xb5\x2f\xfd"
STREAM_LIMIT: Final = 256 << 20
"""Bytes that one stream may have decompressed; a larger one is taken for damage."""

TAG_FUNCTION: Final = 1
TAG_FUNCTION_BODY: Final = 2
TAG_VARIABLE: Final = 5
"""LTO_symtab_tags of GCC 12: unavail_node, analyzed_node, variable; 0 ends the list, 3 and 4 are edges."""


class StreamError(UserError):
    """A stream that cannot be decoded: byte offset in the section (or in its decompressed contents), cause."""

    def __init__(self, offset: int, cause: str) -> None:
        super().__init__(cause)
        self.offset = offset
        self.cause = cause


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
        try:
            import zstandard
        except (ImportError, MemoryError) as error:
            cause = str(error) or "not enough memory"
            raise StreamError(0, f"zstd: cannot load the module zstandard: {cause}") from None
        try:
            with zstandard.ZstdDecompressor(max_window_size=1 << 27).stream_reader(data) as reader:
                result: bytes = reader.read(STREAM_LIMIT + 1)
                whole = zstandard.get_frame_parameters(data).content_size
        except (zstandard.ZstdError, MemoryError, ValueError) as error:
            raise StreamError(0, f"zstd: {str(error) or 'not enough memory'}") from None
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
