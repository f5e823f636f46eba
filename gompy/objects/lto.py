"""What the link needs to know of LTO streams: whose they are, their symbols, their options, their resolution.

An object's streams stand under one of two prefixes (names.py): GCC's own, which the linker plugin claims, or ours,
which it ignores.  Sources: GCC lto-streamer.cc (section names), lto-streamer-out.cc (symbol table), lto-opts.cc
(options), lto-common.cc and plugin-api.h (resolution file).
"""

from __future__ import annotations

import struct

from gompy import UserError
from gompy.objects.elf import SHDR, Elf, ElfError
from gompy.objects.names import DEVICE_IR_SECTION_PREFIX, LTO_SECTION_PREFIX, OFFLOAD_LTO_SECTION_PREFIX

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

KIND_DEF, KIND_WEAKDEF, KIND_UNDEF, KIND_WEAKUNDEF, KIND_COMMON = range(5)

RANKS = {KIND_DEF: 2, KIND_COMMON: 1, KIND_WEAKDEF: 0}
"""Which of a symbol's definitions is taken: the one of the highest rank."""
PREVAILS, PREEMPTED, RESOLVED, UNDEFINED = "PREVAILING_DEF_IRONLY", "PREEMPTED_IR", "RESOLVED_IR", "UNDEF"
"""Resolutions of symbols that nothing outside refers to (plugin-api.h, LDPR_)."""

Resolution = tuple[int, str, str, str]
"""(slot, stream id in hex, resolution, symbol): a line of the resolution file."""


class IrSymbol:
    """One entry of a ``.symtab`` stream."""

    __slots__ = ("comdat", "id", "kind", "name", "size", "slot", "visibility")

    def __init__(self, name: str, comdat: str, kind: int, visibility: int, size: int, slot: int, stream: str) -> None:
        self.name = name
        self.comdat = comdat
        self.kind = kind
        self.visibility = visibility
        self.size = size
        self.slot = slot
        self.id = stream

    @property
    def defined(self) -> bool:
        """Whether the object defines it (a common symbol counts)."""
        return self.kind in (KIND_DEF, KIND_WEAKDEF, KIND_COMMON)

    def __repr__(self) -> str:
        return f"IrSymbol({self.name!r}, kind={self.kind}, slot={self.slot})"


def is_id(text: str) -> bool:
    """Whether the text may be a stream id: one to sixteen hex digits."""
    return 0 < len(text) <= 16 and not set(text) - set("0123456789abcdef")


def stream_ids(elf: Elf, prefix: str) -> list[str]:
    """Ids of the translation units whose streams the file has under that prefix, in file order."""
    start = prefix + ".symtab."
    return [s.name[len(start) :] for s in elf.sections if s.name.startswith(start) and is_id(s.name[len(start) :])]


def ir_prefix(elf: Elf) -> str | None:
    """The prefix of the streams a stock lto1 can make device code from; None if there are none.

    GCC's own comes first: the linker plugin takes such a file as LTO and ignores the rest of it.
    """
    names = [s.name for s in elf.sections]
    for prefix in (LTO_SECTION_PREFIX, DEVICE_IR_SECTION_PREFIX):
        start = prefix + ".symtab."
        if any(name.startswith(start) for name in names):
            return prefix
    return None


def stream_versions(elf: Elf) -> list[int]:
    """Major versions of the file's streams, one for each unit: GCC's release (lto-streamer.h, struct lto_section)."""
    heads = tuple(f"{p}.lto." for p in (LTO_SECTION_PREFIX, DEVICE_IR_SECTION_PREFIX, OFFLOAD_LTO_SECTION_PREFIX))
    found = []
    for section in elf.sections:
        if section.name.startswith(heads):
            content = elf.contents(section)
            found += [int.from_bytes(content[:2], "little")] if len(content) >= 2 else []
    return found


def restored(elf: Elf) -> bytes:
    """The file's bytes with our stream prefix replaced by GCC's, so that lto1 reads it.

    Section names may share bytes in the name table; both prefixes are of one length and start every name that has them,
    so that a patch in place is right for all of them.
    """
    data = bytearray(elf.data)
    if not elf.sections:
        return bytes(data)
    base = elf.sections[elf.shstrndx].offset
    new = LTO_SECTION_PREFIX.encode()
    for section in elf.sections:
        if section.name.startswith(DEVICE_IR_SECTION_PREFIX):
            at = base + section.name_offset
            data[at : at + len(new)] = new
    return bytes(data)


def with_flags(data: bytes, elf: Elf, changes: dict[int, tuple[int, int]]) -> bytes:
    """The file's bytes with (type, flags) of some sections, by index, changed, and the file marked ELFOSABI_GNU."""
    patched = bytearray(data)
    patched[7] = 3
    for index, (kind, flags) in changes.items():
        struct.pack_into("<IQ", patched, elf.shoff + index * SHDR.size + 4, kind, flags)
    return bytes(patched)


class StreamError(UserError):
    """A stream that cannot be decoded: byte offset in the section (or in its decompressed contents), cause."""

    def __init__(self, offset: int, cause: str) -> None:
        super().__init__(cause)
        self.offset = offset
        self.cause = cause


SYMTAB_ENTRY = struct.Struct("<BBQI")
"""What follows the names of an entry: kind, visibility, size, slot of the tree cache."""


def symtab_entries(content: bytes) -> Iterator[tuple[bytes, bytes, int, int, int, int]]:
    """``(name, comdat, kind, visibility, size, slot)`` of the entries of a ``.symtab`` stream.

    Raises StreamError if it is cut short (lto-streamer-out.cc, write_symbol).
    """
    at, size = 0, len(content)
    while at < size:
        end = content.find(b"\0", at)
        end2 = content.find(b"\0", end + 1) if end >= 0 else -1
        if end2 < 0 or end2 + 15 > size:
            raise StreamError(at, "the stream ends within a symbol")
        kind, visibility, length, slot = SYMTAB_ENTRY.unpack_from(content, end2 + 1)
        yield content[at:end], content[end + 1 : end2], kind, visibility, length, slot
        at = end2 + 15


def parse_symtab(content: bytes, stream: str, where: str) -> list[IrSymbol]:
    """Entries of a ``.symtab`` stream.  Raises ElfError if it is cut short."""
    try:
        return [
            IrSymbol(
                name.decode("utf-8", "surrogateescape"),
                comdat.decode("utf-8", "surrogateescape"),
                kind,
                visibility,
                size,
                slot,
                stream,
            )
            for name, comdat, kind, visibility, size, slot in symtab_entries(content)
        ]
    except StreamError:
        raise ElfError(where, f"damaged LTO symbol table .symtab.{stream}") from None


def ir_symbols(elf: Elf, prefix: str) -> list[IrSymbol]:
    """Symbols of all translation units in the file, in file order."""
    start = prefix + ".symtab."
    result: list[IrSymbol] = []
    for section in elf.sections:
        if section.name.startswith(start):
            stream = section.name[len(start) :]
            if is_id(stream):
                result += parse_symtab(elf.contents(section), stream, elf.name)
    return result


def prevailing(files: list[list[IrSymbol]]) -> dict[str, IrSymbol]:
    """For each symbol the definition that the linker takes: the first strong one, else the largest common one, else
    the first weak one.

    A comdat symbol of a later file never displaces that of an earlier one: weak definitions are all alike.
    """
    chosen: dict[str, IrSymbol] = {}
    for symbols in files:
        for symbol in symbols:
            if not symbol.defined:
                continue
            old = chosen.get(symbol.name)
            if (
                old is None
                or RANKS[symbol.kind] > RANKS[old.kind]
                or (symbol.kind == old.kind == KIND_COMMON and symbol.size > old.size)
            ):
                chosen[symbol.name] = symbol
    return chosen


def resolve(files: list[list[IrSymbol]], exported: list[str] | None = None) -> list[list[Resolution]]:
    """The resolution of every symbol as a linker would give it when nothing outside of these files refers to any but
    the ``exported`` ones."""
    chosen = prevailing(files)
    result: list[list[Resolution]] = []
    for symbols in files:
        lines: list[Resolution] = []
        for symbol in symbols:
            winner = chosen.get(symbol.name)
            if winner is symbol:
                answer = "PREVAILING_DEF" if exported and symbol.name in exported else PREVAILS
            elif symbol.defined:
                answer = PREEMPTED
            else:
                answer = RESOLVED if winner is not None else UNDEFINED
            lines.append((symbol.slot, symbol.id, answer, symbol.name))
        result.append(lines)
    return result


def resolution_text(names: list[str], resolutions: list[list[Resolution]]) -> str:
    """The resolution file for lto1's ``-fresolution=``."""
    out = [f"{len(names)}\n"]
    for name, lines in zip(names, resolutions, strict=True):
        out.append(f"{name} {len(lines)}\n")
        out += [f"{slot} {stream} {answer} {symbol}\n" for slot, stream, answer, symbol in lines]
    return "".join(out)


def split_quoted(text: str, strict: bool = False) -> list[str]:
    """Words of a ``COLLECT_GCC_OPTIONS`` string: each in single quotes, a quote inside written ``'\\''``.

    A word without quotes (some drivers write ``-o`` so) is taken to the next blank; ``strict``: StreamError for it.
    """
    words, at, size = [], 0, len(text)
    while at < size:
        if text[at] == " ":
            at += 1
            continue
        word = []
        while at < size and text[at] != " ":
            if text[at] == "'":
                end = text.find("'", at + 1)
                if end < 0 and strict:
                    raise StreamError(at, "no closing quote")
                end = size if end < 0 else end
                word.append(text[at + 1 : end])
                at = end + 1
            elif text[at] == "\\" and (strict or at + 1 < size):
                word.append(text[at + 1 : at + 2])
                at += 2
            elif strict:
                raise StreamError(at, "an option is not in quotes")
            else:
                word.append(text[at])
                at += 1
        words.append("".join(word))
    return words


def parse_opts(content: bytes) -> list[list[str]]:
    """The options of each translation unit in an ``.opts`` section (several after ``ld -r``)."""
    parts = content.removesuffix(b"\0").split(b"\0")
    return [split_quoted(part.decode("utf-8", "surrogateescape")) for part in parts]


def has_offload_streams(elf: Elf) -> bool:
    """Whether the object has streams for GCC's accelerator compilers."""
    return any(s.name.startswith(OFFLOAD_LTO_SECTION_PREFIX) for s in elf.sections)
