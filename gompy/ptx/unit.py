"""The code files that the executor maps: LLVM's object is relocated here, once, so that loading is one mmap.

A code file holds position-independent text (with its constants) and a table of link words, which the executor fills in:
addresses of variables, descriptors of functions, functions of the host's libm.  Nothing else is relocated then.
"""

from __future__ import annotations

import struct

from gompy.abi import ptx as abi

from . import wanted
from .emit import Links
from .native import content, digest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet
    from dataclasses import dataclass
else:
    from gompy.records import dataclass

PAGE, MAGIC, HASHED_FROM = abi.PAGE, abi.MAGIC, abi.HASHED_FROM
SECTIONS, LINK_KINDS, KINDS = abi.SECTIONS, abi.LINK_KINDS, abi.KINDS
HEADER, SECTION = struct.Struct(abi.layout("file_head")), struct.Struct(abi.layout("file_section"))
LINK, CODE = struct.Struct(abi.layout("link_record")), struct.Struct(abi.layout("code_record"))


class LinkError(Exception):
    """LLVM's object has something that the loader does not know."""


@dataclass(slots=True)
class Section:
    """A section of LLVM's object that stays: its bytes and its place in the text."""

    data: bytearray
    align: int
    place: int = 0


@dataclass(slots=True)
class Relocation:
    """A place to be filled in; `target` is None for what is outside of the file."""

    section: Section
    offset: int
    kind: int
    name: str
    target: Section | None
    value: int
    addend: int


def subject(identity: str, leaf: str, name: str) -> bytes:
    """What a cache file is bound to: the compiler, the folder's name and its own (executor: is_whole)."""
    return digest(f"{identity} {leaf} {name}".encode("utf-8", "surrogateescape"))


def bound(data: bytes, to: bytes) -> bytes:
    """A cache file, made by `container`, for one name."""
    rest = to + data[HASHED_FROM + len(to) :]
    return data[: HASHED_FROM - 16] + content(rest) + rest


def sections(data: bytes, kind: str, to: bytes | None = None) -> dict[str, bytes]:
    """The sections of a cache file by name.

    ValueError if it is none, was damaged, or is not bound to what it should be (None: whatever it is).
    """
    if len(data) < HEADER.size + SECTION.size * len(SECTIONS):
        raise ValueError("too short")
    magic, size, check, found_subject, number, count, _, _ = HEADER.unpack_from(data)
    if (magic, size, number, count) != (MAGIC, len(data), KINDS.index(kind), len(SECTIONS)):
        raise ValueError("not a file of this kind")
    if content(data[HASHED_FROM:]) != check or (to is not None and found_subject != to):
        raise ValueError("damaged")
    found = {}
    for place, name in enumerate(SECTIONS):
        offset, length = SECTION.unpack_from(data, HEADER.size + SECTION.size * place)
        found[name] = data[offset : offset + length]
    return found


class Strings:
    """A string table."""

    def __init__(self) -> None:
        self.data = bytearray(b"\0")
        self.known: dict[str, int] = {"": 0}

    def add(self, text: str) -> int:
        """The offset of a string."""
        if text not in self.known:
            self.known[text] = len(self.data)
            self.data += text.encode("utf-8", "surrogateescape") + b"\0"
        return self.known[text]


def container(kind: str, sections: dict[str, bytes], parts: int = 0) -> bytes:
    """A cache file, to be `bound` to its name.  `text` starts on a page.

    `parts`: how many files with more of the same object there are.
    """
    head = HEADER.size + SECTION.size * len(SECTIONS)
    at = head
    table, body = [], bytearray()
    for name in SECTIONS:
        data = sections.get(name, b"")
        align = PAGE if name == "text" else 16
        pad = -at % align
        body += bytes(pad)
        at += pad
        table.append(SECTION.pack(at, len(data)))
        body += data
        at += len(data)
    rest = b"".join(table) + bytes(body)
    size = HEADER.size + len(rest)
    header = HEADER.pack(MAGIC, size, b"", b"", KINDS.index(kind), len(SECTIONS), parts, 0)
    return bound(header + rest, bytes(32))


def flatten(elves: list[bytes], links: Links, sections: dict[tuple[int, int], Section]) -> tuple[bytes, dict[str, int]]:
    """Text and symbols of x86-64 ELF objects.  The link table is taken to begin on the page behind the text.

    `sections` is filled: by the numbers of object and section.
    """
    found: dict[str, tuple[Section, int]] = {}
    relocations: list[Relocation] = []
    for number, elf in enumerate(elves):
        read_object(number, elf, sections, relocations, found)
    top = 0
    for section in sections.values():
        top = -(-top // section.align) * section.align
        section.place = top
        top += len(section.data)
    # Calls of the host's functions go through a jump whose target is a link word.
    stubs: dict[str, int] = {}
    for relocation in relocations:
        name = relocation.name
        if relocation.target is None and name != "links" and name not in stubs:
            top = -(-top // 8) * 8
            stubs[name] = top
            top += 8
    table = -(-top // PAGE) * PAGE
    text = bytearray(table)
    for name, place in stubs.items():
        word = table + 8 * links.word("host", name)
        text[place : place + 6] = b"\xff\x25" + struct.pack("<i", word - place - 6)
    for relocation in relocations:
        section, offset, kind, name = relocation.section, relocation.offset, relocation.kind, relocation.name
        place = section.place + offset
        if name == "links":
            target = table
        elif relocation.target is None:
            target = table + 8 * links.word("host", name) if kind in (9, 41, 42) else stubs[name]
        else:
            target = relocation.target.place + relocation.value
        if kind in (2, 4) or (kind in (9, 41, 42) and relocation.target is None):
            struct.pack_into("<i", section.data, offset, target + relocation.addend - place)
        elif kind == 24:
            struct.pack_into("<q", section.data, offset, target + relocation.addend - place)
        else:
            raise LinkError(f"relocation type {kind} against '{name}'")
    for section in sections.values():
        text[section.place : section.place + len(section.data)] = section.data
    return bytes(text), {name: place.place + value for name, (place, value) in found.items()}


def read_object(
    number: int,
    elf: bytes,
    sections: dict[tuple[int, int], Section],
    relocations: list[Relocation],
    found: dict[str, tuple[Section, int]],
) -> None:
    """Add what an ELF object has: sections that stay, relocations in them, functions."""
    shoff = struct.unpack_from("<Q", elf, 40)[0]
    shentsize, shnum, shstrndx = struct.unpack_from("<3H", elf, 58)
    heads = [struct.unpack_from("<2I4Q2I2Q", elf, shoff + i * shentsize) for i in range(shnum)]
    own: dict[int, Section] = {}
    names_at = heads[shstrndx][4]
    for index, head in enumerate(heads):
        title = elf[names_at + head[0] : elf.index(b"\0", names_at + head[0])]
        if head[2] & 2 and head[5] and title not in (b".eh_frame", b".note.GNU-stack"):
            if head[2] & 1:
                raise LinkError(f"writable section {title.decode()}")
            own[index] = Section(bytearray(elf[head[4] : head[4] + head[5]]), max(head[8], 16))
            sections[number, index] = own[index]
    symtab = next(h for h in heads if h[1] == 2)
    strings = heads[symtab[6]]
    symbols = []
    for at in range(symtab[4], symtab[4] + symtab[5], 24):
        name_at, info, _, shndx, value, _ = struct.unpack_from("<IBBHQQ", elf, at)
        start = strings[4] + name_at
        name = elf[start : elf.index(b"\0", start)].decode()
        symbols.append((name, shndx, value))
        if shndx in own and info & 15 == 2:
            found[name] = (own[shndx], value)
    for head in heads:
        if head[1] != 4 or head[7] not in own:
            continue
        for at in range(head[4], head[4] + head[5], 24):
            offset, info, addend = struct.unpack_from("<2Qq", elf, at)
            name, shndx, value = symbols[info >> 32]
            if shndx and shndx not in own:
                raise LinkError(f"relocation against {name}")
            relocations.append(Relocation(own[head[7]], offset, info & 0xFFFFFFFF, name, own.get(shndx), value, addend))


def code_file(
    elves: list[bytes],
    links: Links,
    symbols: dict[str, tuple[str, str]],
    lines: dict[tuple[str, str], int],
    parts: int = 0,
    whole: AbstractSet[str] = frozenset(),
    aligned: AbstractSet[str] = frozenset(),
    conflicts: dict[str, tuple[int, int]] | None = None,
) -> bytes:
    """A code file: `symbols`: LLVM name → (function, version); `lines`: where a link word was first needed; `whole`:
    the symbols of those that can run all warps of a block (fission.py); `aligned`: of those that want rows of blocks to
    be multiples of 32 threads (warps.py); `conflicts`: of symbols, what conflicts.py finds."""
    sections: dict[tuple[int, int], Section] = {}
    text, places = flatten(elves, links, sections)
    strings = Strings()
    conflicts = conflicts or {}
    code = b""
    for symbol, (name, form) in symbols.items():
        version, facts = abi.VERSIONS.index(abi.FORMS[form][0]), conflicts.get(symbol, (0, 0))
        code += CODE.pack(strings.add(name), version, places[symbol], symbol in whole, symbol in aligned, *facts)
    words = b"".join(
        LINK.pack(LINK_KINDS.index(kind), strings.add(name), lines.get((kind, name), 0), 0)
        for kind, name in links.index
    )
    found = {"strings": bytes(strings.data), "links": words, "code": code, "text": text}
    if wanted.DEBUGGER:
        from . import debugging

        found["data"] = debugging.debug_objects(elves, {key: section.place for key, section in sections.items()})
    return container("code", found, parts)
