"""Objects of the assembly text that this package makes itself (hostobject.py), without a process for each.

The text stays the only source of what is in a host object.  Here stands as much of an assembler as it needs; what it
does not know is ``Unknown``, and then binutils' as makes the object (job.py).  Sections, symbols and relocations are
those of binutils' as, so that programs are the same byte by byte.

Sources: System V ABI, ELF-64 object file format and AMD64 supplement; DWARF 5, 6.4.2; Intel's manual for encodings.
"""

from __future__ import annotations

import os
import struct

from gompy.objects.elf import (
    SHF_ALLOC,
    SHF_EXECINSTR,
    SHF_WRITE,
    SHT_FINI_ARRAY,
    SHT_INIT_ARRAY,
    SHT_PROGBITS,
    STB_GLOBAL,
    STB_LOCAL,
    STB_WEAK,
    STT_FUNC,
    STT_OBJECT,
    STT_SECTION,
)
from mkoffload.objectfile import Part, write

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

R_64, R_PC32, R_PLT32 = 1, 2, 4
FLAGS = {"a": SHF_ALLOC, "w": SHF_WRITE, "x": SHF_EXECINSTR, "M": 0x10, "S": 0x20}
TYPES = {"@progbits": SHT_PROGBITS, "@init_array": SHT_INIT_ARRAY, "@fini_array": SHT_FINI_ARRAY}
STV_HIDDEN = 2
UNITS = {".byte": (1, 0xFF), ".value": (2, 0xFFFF), ".long": (4, 0xFFFFFFFF), ".quad": (8, (1 << 64) - 1)}
INSTRUCTIONS = {
    "endbr64": b"\xf3\x0f\x1e\xfa",
    "subq $8, %rsp": b"\x48\x83\xec\x08",
    "addq $8, %rsp": b"\x48\x83\xc4\x08",
    "ret": b"\xc3",
}
PREFIXES = {
    "movl $": {"%edi": b"\xbf", "%edx": b"\xba"},
    "leaq ": {"%rsi": b"\x48\x8d\x35", "%rcx": b"\x48\x8d\x0d"},
}
CIE = bytes.fromhex("1400000000000000017a5200017810011b0c070890010000")
"""Of x86-64, as as writes it: return address in r16, CFA rsp + 8, addresses of the code relative to themselves."""


LARGEST = 1 << 20
"""Bytes of an image: from there on as is faster, and it has one copy in memory, Python four."""


class Unknown(Exception):
    """There is something that is left to a true assembler."""


class _Section:
    """A section; relocations: offset, symbol or section, type, addend."""

    def __init__(self, name: str, flags: int, kind: int, entry: int) -> None:
        self.name, self.flags, self.kind, self.entry = name, flags, kind, entry
        self.align = 1
        self.data = bytearray()
        self.relocations: list[tuple[int, str, int, int]] = []


class _Symbol:
    """What is known of a name; section: None while it is not defined."""

    def __init__(self) -> None:
        self.section: _Section | None = None
        self.value = self.size = self.type = self.visibility = 0
        self.weak = False


class _Assembly:
    """The state behind the lines that have been read."""

    def __init__(self) -> None:
        self.sections: dict[str, _Section] = {}
        self.symbols: dict[str, _Symbol] = {}
        self.here = self.section(".text", SHF_ALLOC | SHF_EXECINSTR, SHT_PROGBITS, 0)
        self.frames: list[tuple[int, int, bytes]] = []  # begin, end, rules
        self.frame: tuple[int, int, int, bytes] | None = None  # begin, where rules have come to, CFA's offset, rules

    def section(self, name: str, flags: int, kind: int, entry: int) -> _Section:
        """That section, made at its first mention."""
        found = self.sections.get(name)
        if found is None:
            found = self.sections[name] = _Section(name, flags, kind, entry)
        return found

    def symbol(self, name: str) -> _Symbol:
        """That symbol, made at its first mention."""
        if not name or not set(name) <= _NAME or name[0].isdigit():
            raise Unknown(name)
        return self.symbols.setdefault(name, _Symbol())

    def define(self, name: str) -> None:
        """A label."""
        symbol = self.symbol(name)
        if symbol.section is not None:
            raise Unknown(name)
        symbol.section, symbol.value = self.here, len(self.here.data)

    def relocate(self, name: str, kind: int, addend: int, room: int) -> None:
        """A place of ``room`` bytes for that symbol's address."""
        self.symbol(name)
        self.here.relocations.append((len(self.here.data), name, kind, addend))
        self.here.data += bytes(room)


_NAME = set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.$")


def assemble(text: str) -> bytes:
    """The object.  Raises Unknown."""
    state = _Assembly()
    for line in text.split("\n"):
        label, colon, rest = line.partition(":")
        if colon and not line.startswith("\t"):
            state.define(label)
            line = rest
        if line.startswith("\t"):
            word, _, operands = line[1:].partition(" ")
            directive = _DIRECTIVES.get(word)
            if directive is not None:
                directive(state, word, operands)
            else:
                _instruct(state, line[1:])
        elif line:
            raise Unknown(line)
    if state.frame is not None:
        raise Unknown(".cfi_startproc")
    _add_frames(state)
    return _written(state)


def _number(text: str) -> int:
    try:
        return int(text, 0)
    except ValueError:
        raise Unknown(text) from None


def _moved(text: str) -> tuple[str, int]:
    """``name``, ``name+8``, ``name-8``."""
    for sign in "+-":
        name, found, distance = text.partition(sign)
        if found:
            return name, _number(sign + distance)
    return text, 0


def _switch(state: _Assembly, word: str, operands: str) -> None:
    if word == ".text":
        state.here = state.sections[".text"]
        return
    name, *given = operands.split(",")
    if len(given) < 2 or given[0][:1] != '"' or not set(given[0][1:-1]) <= FLAGS.keys() or given[1] not in TYPES:
        raise Unknown(operands)
    flags = 0
    for letter in given[0][1:-1]:
        flags |= FLAGS[letter]
    kind = TYPES[given[1]]
    entry = _number(given[2]) if len(given) > 2 else 8 if kind != SHT_PROGBITS else 0
    state.here = state.section(name, flags, kind, entry)


def _align(state: _Assembly, word: str, operands: str) -> None:
    size, here = _number(operands), state.here
    if here.flags & SHF_EXECINSTR or size < 1 or size & (size - 1):
        raise Unknown(operands)
    here.align = max(here.align, size)
    here.data += bytes(-len(here.data) % size)


def _data(state: _Assembly, word: str, operands: str) -> None:
    size, mask = UNITS[word]
    for operand in operands.split(", "):
        if operand[:1].isdigit():
            state.here.data += (_number(operand) & mask).to_bytes(size, "little")
        elif size == 8:
            name, distance = _moved(operand)
            state.relocate(name, R_64, distance, 8)
        else:
            raise Unknown(operand)


def _bytes_of(literal: str) -> bytes:
    """What a string literal of hostobject.string says."""
    if not literal.isascii() or len(literal) < 2 or literal[0] != '"' or literal[-1] != '"':
        raise Unknown(literal)
    if "\\" not in literal:
        return literal[1:-1].encode("ascii")
    out, at, end = bytearray(), 1, len(literal) - 1
    while at < end:
        if literal[at] != "\\":
            out += literal[at].encode("ascii")
            at += 1
        elif literal[at + 1] in '"\\':
            out += literal[at + 1].encode("ascii")
            at += 2
        else:
            out.append(int(literal[at + 1 : at + 4], 8))
            at += 4
    return bytes(out)


def _string(state: _Assembly, word: str, operands: str) -> None:
    state.here.data += _bytes_of(operands) + b"\0"


def _include(state: _Assembly, word: str, operands: str) -> None:
    end = operands.rfind('"') + 1
    path, limits = _bytes_of(operands[:end]), operands[end:]
    begin, size = (map(_number, limits[2:].split(", "))) if limits else (0, -1)
    try:
        with open(path, "rb") as file:
            if file.seek(0, os.SEEK_END) > LARGEST:
                raise Unknown(operands)
            file.seek(begin)
            state.here.data += file.read(size)
    except OSError:
        raise Unknown(operands) from None


def _type(state: _Assembly, word: str, operands: str) -> None:
    name, _, kind = operands.partition(", ")
    if kind not in ("@function", "@object"):
        raise Unknown(kind)
    state.symbol(name).type = STT_FUNC if kind == "@function" else STT_OBJECT


def _size(state: _Assembly, word: str, operands: str) -> None:
    name, _, size = operands.partition(", ")
    symbol = state.symbol(name)
    if size == f".-{name}" and symbol.section is state.here:
        symbol.size = len(state.here.data) - symbol.value
    else:
        symbol.size = _number(size)


def _weak(state: _Assembly, word: str, operands: str) -> None:
    state.symbol(operands).weak = True


def _hide(state: _Assembly, word: str, operands: str) -> None:
    state.symbol(operands).visibility = STV_HIDDEN


def _frame(state: _Assembly, word: str, operands: str) -> None:
    """Call frame information of functions that move the stack pointer by a constant."""
    at = len(state.here.data)
    if (word == ".cfi_startproc") != (state.frame is None) or state.here.name != ".text":
        raise Unknown(word)
    if state.frame is None:
        state.frame = (at, at, 8, b"")
        return
    begin, last, offset, rules = state.frame
    if word == ".cfi_endproc":
        state.frames.append((begin, at, rules))
        state.frame = None
        return
    offset += _number(operands)
    if not (0 < at - last < 64 and 0 < offset < 128):
        raise Unknown(operands)
    state.frame = (begin, at, offset, rules + bytes((0x40 | (at - last), 0x0E, offset)))


def _instruct(state: _Assembly, line: str) -> None:
    data = state.here.data
    known = INSTRUCTIONS.get(line)
    if known is not None:
        data += known
    elif line.startswith("call ") and line.endswith("@PLT"):
        data += b"\xe8"
        state.relocate(line[5:-4], R_PLT32, -4, 4)
    else:
        for prefix, targets in PREFIXES.items():
            source, _, target = line.removeprefix(prefix).rpartition(", ")
            if not line.startswith(prefix) or target not in targets:
                continue
            if prefix == "movl $":
                data += targets[target] + (_number(source) & 0xFFFFFFFF).to_bytes(4, "little")
                return
            if source.endswith("(%rip)"):
                name, distance = _moved(source.removesuffix("(%rip)"))
                data += targets[target]
                state.relocate(name, R_PC32, distance - 4, 4)
                return
        raise Unknown(line)


_DIRECTIVES: dict[str, Callable[[_Assembly, str, str], None]] = {
    ".text": _switch,
    ".section": _switch,
    ".balign": _align,
    **dict.fromkeys(UNITS, _data),
    ".string": _string,
    ".incbin": _include,
    ".type": _type,
    ".size": _size,
    ".weak": _weak,
    ".hidden": _hide,
    **dict.fromkeys((".cfi_startproc", ".cfi_adjust_cfa_offset", ".cfi_endproc"), _frame),
}


def _add_frames(state: _Assembly) -> None:
    """The section of call frame information."""
    if not state.frames:
        return
    state.here = state.section(".eh_frame", SHF_ALLOC, SHT_PROGBITS, 0)
    state.here.align = 8
    data = state.here.data
    data += CIE
    for begin, end, rules in state.frames:
        body = 17 + len(rules)  # its length, the CIE's place, the range, no augmentation data
        data += struct.pack("<II", body + -body % 8 - 4, len(data) + 4)
        state.here.relocations.append((len(data), ".text", R_PC32, begin))
        data += struct.pack("<II", 0, end - begin) + b"\0" + rules
        data += bytes(-len(data) % 8)


def _written(state: _Assembly) -> bytes:
    """The file."""
    names = list(state.sections)
    used = {".text"} if state.frames else set()
    for section in state.sections.values():
        for _, name, kind, _ in section.relocations:
            symbol = state.symbols.get(name)
            if symbol is not None and symbol.section is not None and kind != R_PLT32:
                used.add(symbol.section.name)
    entries: list[tuple[str, int, int, int, int, int]] = []
    numbers: dict[str, int] = {}
    for name in names:
        if name in used:
            numbers[name] = len(entries) + 1
            entries.append(("", STB_LOCAL << 4 | STT_SECTION, 0, names.index(name) + 1, 0, 0))
    own = [(n, s) for n, s in state.symbols.items() if s.section is not None]
    for name, symbol in own:
        if name.startswith(".L"):
            continue
        if symbol.weak or symbol.visibility or symbol.section is None:
            raise Unknown(name)
        numbers[name] = len(entries) + 1
        entries.append((name, symbol.type, 0, names.index(symbol.section.name) + 1, symbol.value, symbol.size))
    local = len(entries) + 1
    for name, symbol in state.symbols.items():
        if symbol.section is None:
            if name.startswith(".L"):
                raise Unknown(name)
            numbers[name] = len(entries) + 1
            binding = STB_WEAK if symbol.weak else STB_GLOBAL
            entries.append((name, binding << 4, symbol.visibility, 0, 0, 0))
    parts = []
    for section in state.sections.values():
        relocations = []
        for offset, name, kind, addend in section.relocations:
            symbol = state.symbols.get(name) or _Symbol()
            if symbol.section is not None:
                name, addend = symbol.section.name, addend + symbol.value
            relocations.append((offset, numbers[name], kind, addend))
        parts.append(
            Part(section.name, section.kind, section.flags, section.entry, section.align, section.data, relocations)
        )
    return write(parts, entries, local)
