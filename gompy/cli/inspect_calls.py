"""Which functions and variables a region's code names.

In a relocatable the relocations say it.  In linked x86-64 code, without relocations, the addresses that instructions
compute from the program counter are matched with symbols: a call's target must be a function's first byte, a
data operand must lie in a variable.  In PTX the names stand in the text.  Encodings: AMD64 psABI table 4.10, Intel
SDM volume 2, appendix A.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field
from typing import Final

from gompy.objects.elf import EM_X86_64, SHF_EXECINSTR, STT_FILE, STT_FUNC, STT_OBJECT, Section, Symbol
from gompy.objects.view import ElfView, text

_PC_RELATIVE: Final = frozenset((2, 4, 9, 41, 42))  # PC32, PLT32, GOTPCREL, GOTPCRELX, REX_GOTPCRELX
_ABSOLUTE: Final = frozenset((1, 10, 11))  # 64, 32, 32S
_IMMEDIATES: Final[dict[int, int]] = {0xC6: 1, 0xC7: 4, 0x80: 1, 0x81: 4, 0x83: 1, 0xC0: 1, 0xC1: 1, 0x6B: 1, 0x69: 4}
"""Bytes that follow a memory operand's displacement, by opcode; F6 and F7 have them only with /0 and /1."""
_IMMEDIATES_0F: Final[dict[int, int]] = {0xBA: 1, 0xA4: 1, 0xAC: 1, 0x70: 1, 0xC2: 1, 0xC4: 1, 0xC6: 1}
MAX_CODE: Final = 1 << 20
"""Bytes of one function's code that are looked at."""


@dataclass
class Uses:
    """What one function names: ``external`` are functions that another file defines."""

    calls: dict[str, None] = field(default_factory=dict)
    variables: dict[str, None] = field(default_factory=dict)
    external: dict[str, None] = field(default_factory=dict)


def immediate_size(code: bytes, at: int) -> int:
    """Bytes of the immediate after the 4-byte displacement at ``at`` of a ModRM operand."""
    if at < 2:
        return 0
    modrm, opcode = code[at - 1], code[at - 2]
    if at >= 3 and code[at - 3] == 0x0F:
        return _IMMEDIATES_0F.get(opcode, 0)
    size = _IMMEDIATES.get(opcode, 0)
    if opcode in (0xF6, 0xF7) and (modrm >> 3 & 7) < 2:
        size = 1 if opcode == 0xF6 else 4
    if size == 4 and 0x66 in code[max(at - 4, 0) : at - 2]:
        size = 2
    return size


class CodeReader:
    """Answers ``uses`` for the functions of one ELF file."""

    def __init__(self, elf: ElfView) -> None:
        self.elf = elf
        self.space = elf.space
        self.functions: dict[str, tuple[int, int, Section]] = {}
        self._function_at: dict[int, str] = {}
        spans: list[tuple[int, int, str]] = []
        for symbol in elf.symbols():
            address = self.space.symbol_address(symbol)
            if address is None or not symbol.name or symbol.type == STT_FILE:
                continue
            if symbol.type == STT_FUNC and symbol.shndx < len(elf.sections):
                section = elf.sections[symbol.shndx]
                if section.flags & SHF_EXECINSTR and symbol.size:
                    self.functions.setdefault(symbol.name, (address, symbol.size, section))
                    self._function_at.setdefault(address, symbol.name)
            elif symbol.type == STT_OBJECT and symbol.size:
                spans.append((address, address + symbol.size, symbol.name))
        spans.sort()
        self._spans = spans
        self._starts = [span[0] for span in spans]
        self._stubs = [s for s in elf.sections if s.name.startswith(".plt")]
        self._relocations: dict[int, list[tuple[int, int, int, int]]] = {}

    def variable_at(self, address: int) -> str | None:
        """The variable that an address lies in."""
        at = bisect_right(self._starts, address) - 1
        return self._spans[at][2] if at >= 0 and address < self._spans[at][1] else None

    def uses(self, name: str) -> Uses:
        """What a function names; nothing for one that is not in the file."""
        found = Uses()
        place = self.functions.get(name)
        if place is None or self.elf.machine != EM_X86_64:
            return found
        address, size, section = place
        size = min(size, MAX_CODE)
        if self.elf.relocatable:
            self._from_relocations(name, address - self.space.base[section.index], size, section, found)
        else:
            code = self.space.read(address, size)
            if code is not None:
                self._from_code(name, address, code, found)
        return found

    def _note(self, own: str, address: int, found: Uses) -> bool:
        function = self._function_at.get(address)
        if function is not None:
            if function != own:
                found.calls[function] = None
            return True
        variable = self.variable_at(address)
        if variable is not None:
            found.variables[variable] = None
        return variable is not None

    def _from_relocations(self, own: str, start: int, size: int, section: Section, found: Uses) -> None:
        elf = self.elf
        if section.index not in self._relocations:
            self._relocations[section.index] = sorted(elf.relocations(section))
        relocations = self._relocations[section.index]
        code = elf.contents(section)
        symbols = elf.symbols()
        for offset, kind, number, addend in relocations[bisect_right(relocations, (start, -1, 0, 0)) :]:
            if offset >= start + size:
                break
            if number >= len(symbols) or (kind not in _PC_RELATIVE and kind not in _ABSOLUTE):
                continue
            self._note_symbol(own, symbols[number], addend, offset if kind in _PC_RELATIVE else -1, code, found)

    def _note_symbol(self, own: str, symbol: Symbol, addend: int, offset: int, code: bytes, found: Uses) -> None:
        address = self.space.symbol_address(symbol)
        if address is None:
            if symbol.type in (0, STT_FUNC) and symbol.name and symbol.shndx == 0:
                found.external[symbol.name] = None
            elif symbol.type == STT_OBJECT:
                found.variables[symbol.name] = None
            return
        if offset >= 0 and offset + 4 <= len(code):
            call = offset >= 1 and code[offset - 1] in (0xE8, 0xE9)
            address += addend + 4 + (0 if call else immediate_size(code, offset))
        else:
            address += addend
        self._note(own, address, found)

    def _from_code(self, own: str, address: int, code: bytes, found: Uses) -> None:
        got = [s for s in self.elf.sections if s.name in (".got", ".got.plt")]
        for match in re.finditer(rb"[\xe8\xe9\x05\x0d\x15\x1d\x25\x2d\x35\x3d]", code):
            at = match.end()
            if at + 4 > len(code):
                break
            target = address + at + 4 + int.from_bytes(code[at : at + 4], "little", signed=True)
            if match[0] in (b"\xe8", b"\xe9"):
                self._note_call(own, target, found)
                continue
            target += immediate_size(code, at)
            if any(s.address <= target < s.address + s.size for s in got):
                words = self.space.words(target & ~7, 1)
                if not words or words[0].address is None:
                    continue
                target = words[0].address
            self._note(own, target, found)

    def _note_call(self, own: str, target: int, found: Uses) -> None:
        """A direct call: to a function, or to a stub of the procedure linkage table (``jmp *slot(%rip)``)."""
        function = self._function_at.get(target)
        if function is None and any(s.address <= target < s.address + s.size for s in self._stubs):
            stub = self.space.read(target, 16) or b""
            at = stub.find(b"\xff\x25")
            if not 0 <= at <= 10:
                return
            slot = target + at + 6 + int.from_bytes(stub[at + 2 : at + 6], "little", signed=True)
            words = self.space.words(slot, 1) if slot >= 0 else None
            if not words or words[0].symbol is None:
                return
            function = self._function_at.get(words[0].address or 0)
            if function is None:
                found.external[words[0].symbol] = None
        if function is not None and function != own:
            found.calls[function] = None


class PtxReader:
    """Answers ``uses`` for the functions of PTX text."""

    def __init__(self, files: list[bytes]) -> None:
        self.bodies: dict[str, str] = {}
        self.variables: dict[str, None] = {}
        for data in files:
            source = text_lines(data)
            heads = list(re.finditer(r"^[^\n/]*\.(?:func|entry)\b\s*(?:\([^)]*\)\s*)?([\w$.%]+)", source, re.MULTILINE))
            ends = [head.start() for head in heads[1:]] + [len(source)]
            for head, end in zip(heads, ends, strict=False):  # without heads there is one end too many
                body = source[head.end() : end].partition("\n}")[0]
                before, brace, inside = body.partition("{")
                if brace and ";" not in before:  # else a declaration
                    self.bodies.setdefault(head[1], inside)
            declared = re.finditer(r"^[^\n/;{]*\.global\b[^\n;=\[]*?([\w$]+)\s*(?:\[|=|;)", source, re.MULTILINE)
            for variable in declared:
                self.variables[variable[1]] = None

    def uses(self, name: str) -> Uses:
        """What a PTX function names."""
        found = Uses()
        for word in re.findall(r"[A-Za-z_$][\w$]*", self.bodies.get(name, "")):
            if word in self.bodies and word != name:
                found.calls[word] = None
            elif word in self.variables:
                found.variables[word] = None
        return found


def text_lines(data: bytes) -> str:
    """PTX as text, line by line."""
    return "\n".join(text(line) for line in data.replace(b"\t", b" ").split(b"\n"))
