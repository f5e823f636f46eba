"""GCC's streams as bytes: their compression, their numbers, and the items of an offload table.

What a link reads: nothing here is slow to import.  decode.py has the rest.  Sources: lto-compress.cc, data-streamer.h,
lto-cgraph.cc (output_offload_tables) of GCC 12 to 16.
"""

from __future__ import annotations

import struct
import sys
import zlib

from gompy.objects.lto import StreamError
from gompy.objects.names import DEVICE_IR_SECTION_PREFIX, LTO_SECTION_PREFIX, OFFLOAD_LTO_SECTION_PREFIX

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Final

    from gompy.objects.elf import Elf

_ZSTD_MAGIC: Final = b"\x28\xb5\x2f\xfd"
STREAM_LIMIT: Final = 256 << 20
"""Bytes that one stream may have decompressed; a larger one is taken for damage."""

TAG_FUNCTION: Final = 1
TAG_FUNCTION_BODY: Final = 2
TAG_EDGE: Final = 3
TAG_VARIABLE: Final = 5
TAG_INDIRECT_FUNCTION: Final = 6
"""LTO_symtab_tags: unavail_node, analyzed_node, edge, variable, indirect_function (GCC 14); 0 ends the list, 4 is
another edge."""


def _raw_frame(data: bytes) -> bytes | None:
    """The contents of a zstd frame that is one raw block, as of short streams; None: another one (RFC 8878, 3.1.1)."""
    descriptor = data[4] if len(data) > 4 else 0
    if descriptor & 3:
        return None  # a dictionary
    single = descriptor >> 5 & 1
    at = 5 + (1 - single) + (single, 2, 4, 8)[descriptor >> 6]
    header = int.from_bytes(data[at : at + 3], "little")
    at, size = at + 3, header >> 3
    checksum = 4 * (descriptor >> 2 & 1)
    return data[at : at + size] if header & 7 == 1 and len(data) == at + size + checksum else None


def decompress(data: bytes) -> bytes:
    """The contents of a stream: zstd, zlib, or plain (streams that WPA wrote for LTRANS are not compressed)."""
    if data.startswith(_ZSTD_MAGIC):
        plain = _raw_frame(data)
        if plain is not None:
            return plain
        try:
            if sys.flags.no_site:  # in a link, which seldom needs a library
                import site

                site.main()
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


class Reader:
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


def table_items(data: bytes) -> Iterator[tuple[int, int]]:
    """(tag, declaration or mask) of each item of a decompressed ``.offload_table``.  Raises StreamError.

    Per entry a tag and the index of the declaration; the edge's tag (GCC 13) is followed by the mask of ``omp
    requires``; 0 ends the list.
    """
    reader = Reader(data)
    masks = 0
    while True:
        start = reader.at
        tag = reader.unsigned()
        if tag == 0:
            if reader.at != reader.end:
                raise StreamError(reader.at, "bytes after the end of the table")
            return
        if tag == TAG_EDGE and not masks:
            masks = 1
            yield tag, reader.signed()
        elif tag in (TAG_FUNCTION, TAG_VARIABLE, TAG_INDIRECT_FUNCTION):
            yield tag, reader.unsigned()
        else:
            raise StreamError(start, f"tag {tag} is neither a function's nor a variable's")


def requires_mask(elf: Elf) -> int:
    """The mask of ``omp requires`` in an object's streams, 0 if they have none.  Raises StreamError.

    Units that disagree are the compiler's to refuse.
    """
    for prefix in (OFFLOAD_LTO_SECTION_PREFIX, DEVICE_IR_SECTION_PREFIX, LTO_SECTION_PREFIX):
        for section in elf.sections:
            if section.name.startswith(f"{prefix}.offload_table."):
                for tag, value in table_items(decompress(elf.contents(section))):
                    if tag == TAG_EDGE and value:
                        return value
    return 0
