"""Variables of the source, for gdb: what clang's PTX says of them at -O0, as metadata of LLVM's (debugging.py).

clang describes them by DWARF in `.section` directives, and keeps each in the function's `.local` memory (PTX ISA,
"Debugging Directives"; CUDA's DWARF extensions: DW_AT_address_class).  A lane's local memory lies in words of 8 bytes,
32 lanes side by side (gompy/ptx/warp.h): a variable that is larger has a piece in each of its words.
"""

from __future__ import annotations

import io
import re
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from elftools.dwarf.die import DIE
    from elftools.dwarf.dwarfinfo import DWARFInfo

SECTION = re.compile(r"^\s*\.section\s+(\.debug_\w+)\s*\{(.*?)^\s*\}", re.DOTALL | re.MULTILINE)
DATA = re.compile(r"\.b(8|16|32|64)\s+([^/\n]*)|^([$\w.]+):", re.MULTILINE)
DEPOT = "__local_depot"
"""How LLVM names the local memory of a function."""
WORD, LANES = 8, 32
MOST = 4096
"""Bytes of a variable that is shown."""
ADDRESS, PLUS = 0x03, 0x23
"""DW_OP_addr, DW_OP_plus_uconst."""
POINTERS = ("DW_TAG_pointer_type", "DW_TAG_reference_type", "DW_TAG_rvalue_reference_type", "DW_TAG_ptr_to_member_type")
ALIASES = ("DW_TAG_typedef", "DW_TAG_const_type", "DW_TAG_volatile_type", "DW_TAG_restrict_type")
RECORDS = ("DW_TAG_structure_type", "DW_TAG_class_type", "DW_TAG_union_type")


@dataclass(frozen=True)
class SourceVariable:
    """A variable: where it is in the function's local memory, its type, its number among the arguments (0: none)."""

    name: str
    offset: int
    size: int
    line: int
    argument: int
    type: DIE

    def pieces(self, frame: int) -> list[tuple[int, int, int]]:
        """Of its words: first byte, bytes, and how far from the lane's begin they lie; ``frame``: of the memory."""
        found, at = [], 0
        while at < self.size:
            place = frame + self.offset + at
            size = min(WORD - place % WORD, self.size - at)
            found.append((at, size, place // WORD * WORD * LANES + place % WORD))
            at += size
        return found


def read(text: str) -> dict[str, list[SourceVariable]]:
    """The variables of each function of a PTX text, by the function's name; none where the text does not say."""
    symbols: list[str] = [""]
    sections = _sections(text, symbols)
    if not sections.get(".debug_info") or not sections.get(".debug_abbrev"):
        return {}
    if sys.flags.no_site:  # the compiler is started without packages, which it does not need else
        import site

        site.main()
    try:
        from elftools.common.exceptions import DWARFError, ELFError
        from elftools.construct import ConstructError
    except ModuleNotFoundError:
        return {}  # lines and registers are there all the same
    found: dict[str, list[SourceVariable]] = {}
    try:
        for unit in _dwarf(sections).iter_CUs():
            for die in unit.iter_DIEs():
                if die.tag == "DW_TAG_subprogram" and "DW_AT_low_pc" in die.attributes:
                    name = _text(die, "DW_AT_MIPS_linkage_name") or _text(die, "DW_AT_linkage_name")
                    found[name or _text(die, "DW_AT_name")] = list(_variables(die, symbols))
    except (DWARFError, ELFError, ConstructError, AttributeError, LookupError, TypeError, ValueError):
        return {}  # damaged, or of a kind that is not known
    return found


def _sections(text: str, symbols: list[str]) -> dict[str, bytes]:
    """Contents of the sections; a word that is a symbol's address has its number in ``symbols``."""
    made: dict[str, bytearray] = {}
    labels: dict[str, int] = {}
    open_words: list[tuple[bytearray, int, int, str]] = []
    for section in SECTION.finditer(text):
        data = made.setdefault(section[1], bytearray())
        for part in DATA.finditer(section[2]):
            if part[3]:
                labels[part[3]] = len(data)
                continue
            size = int(part[1]) // 8
            for word in part[2].split(","):
                word = word.strip()
                try:
                    number = int(word, 0)
                except ValueError:
                    number = 0
                    open_words.append((data, len(data), size, word))
                data += (number % (1 << 8 * size)).to_bytes(size, "little")
    for data, at, size, word in open_words:
        name, _, more = word.partition("+")
        if name in labels or name.startswith(".debug_"):
            number = labels.get(name, 0) + (int(more) if more.isdecimal() else 0)
        elif word not in symbols:
            number = len(symbols)
            symbols.append(word)
        else:
            number = symbols.index(word)
        data[at : at + size] = number.to_bytes(8, "little")[:size]
    return {name: bytes(data) for name, data in made.items()}


def _dwarf(sections: dict[str, bytes]) -> DWARFInfo:
    import inspect

    from elftools.dwarf.dwarfinfo import DebugSectionDescriptor, DwarfConfig, DWARFInfo

    words: dict[str, Any] = dict.fromkeys(list(inspect.signature(DWARFInfo.__init__).parameters)[1:])
    words["config"] = DwarfConfig(little_endian=True, machine_arch="x64", default_address_size=8)
    for name in ("debug_info", "debug_abbrev", "debug_str", "debug_line_str", "debug_str_offsets", "debug_addr"):
        data = sections.get(f".{name}")
        if data and f"{name}_sec" in words:
            words[f"{name}_sec"] = DebugSectionDescriptor(io.BytesIO(data), f".{name}", 0, len(data), 0)
    return DWARFInfo(**words)


def _origin(die: DIE, attribute: str) -> DIE | None:
    """The entry that has the attribute: this one, or one that it is an instance of."""
    for _ in range(8):
        if attribute in die.attributes:
            return die
        further = [name for name in ("DW_AT_specification", "DW_AT_abstract_origin") if name in die.attributes]
        if not further:
            return None
        die = die.get_DIE_from_attribute(further[0])
    return None


def _text(die: DIE, attribute: str) -> str:
    owner = _origin(die, attribute)
    return owner.attributes[attribute].value.decode("utf-8", "replace") if owner is not None else ""


def _number(die: DIE, attribute: str, default: int = 0) -> int:
    value = die.attributes[attribute].value if attribute in die.attributes else default
    if isinstance(value, list):  # DWARF 2: an expression, which adds
        value = _uleb(value[1:]) if value[:1] == [PLUS] else default
    return int(value)


def _uleb(data: list[int]) -> int:
    number = 0
    for place, byte in enumerate(data):
        number |= (byte & 127) << 7 * place
        if byte < 128:
            break
    return number


def _type(die: DIE) -> DIE | None:
    owner = _origin(die, "DW_AT_type")
    return owner.get_DIE_from_attribute("DW_AT_type") if owner is not None else None


def size_of(die: DIE | None) -> int:
    """Bytes of a type; 0: not known."""
    if die is None:
        return 0
    if "DW_AT_byte_size" in die.attributes:
        return _number(die, "DW_AT_byte_size")
    if die.tag in POINTERS:
        return 8
    if die.tag == "DW_TAG_array_type":
        size = size_of(_type(die))
        for count in lengths(die):
            size *= count
        return size
    return size_of(_type(die)) if die.tag in ALIASES else 0


def lengths(die: DIE) -> list[int]:
    """How many elements an array has in each dimension."""
    ranges = [child for child in die.iter_children() if child.tag == "DW_TAG_subrange_type"]
    return [_number(one, "DW_AT_count", _number(one, "DW_AT_upper_bound", -1) + 1) for one in ranges]


def _variables(function: DIE, symbols: list[str]) -> Iterator[SourceVariable]:
    """Those that are in local memory.  A name that an outer one has, too, gets its line."""
    seen: set[str] = set()
    arguments = 0
    for die in _inside(function):
        name, kind = _text(die, "DW_AT_name"), _type(die)
        argument = 0
        if die.tag == "DW_TAG_formal_parameter":
            arguments += 1
            argument = arguments
        place = die.attributes.get("DW_AT_location")
        words = place.value if place is not None and isinstance(place.value, list) else []
        size = size_of(kind)
        if not name or kind is None or not 0 < size <= MOST or words[:1] != [ADDRESS] or len(words) < 9:
            continue
        symbol = int.from_bytes(bytes(words[1:9]), "little")
        if symbol >= len(symbols) or not symbols[symbol].startswith(DEPOT) or words[9:10] not in ([], [PLUS]):
            continue
        owner = _origin(die, "DW_AT_decl_line")
        line = _number(owner, "DW_AT_decl_line") if owner is not None else 0
        name = re.sub(r"\W", "_", name)
        name = f"{name}__{line}" if name in seen or name in RESERVED else name
        seen.add(name)
        yield SourceVariable(name, _uleb(words[10:]), size, line, argument, kind)


RESERVED = ("warp", "active", "gompy_lane", "gompy_lanes")
"""Names of what debugging.py adds to a function."""


def _inside(die: DIE) -> Iterator[DIE]:
    """Arguments and variables of a function, the outer ones first."""
    below = []
    for child in die.iter_children():
        if child.tag in ("DW_TAG_formal_parameter", "DW_TAG_variable"):
            yield child
        elif child.tag == "DW_TAG_lexical_block":
            below.append(child)
    for block in below:
        yield from _inside(block)


class SourceTypes:
    """Types of the source as metadata, each once; ``add`` gives a text its number, ``put`` the text of a number."""

    def __init__(self, add: Callable[[str], int], put: Callable[[int, str], None]) -> None:
        self.add = add
        self.put = put
        self.known: dict[int, int] = {}

    def of(self, die: DIE | None) -> str:
        """A reference to a type's metadata; `null`: void, or one that is not known."""
        if die is None:
            return "null"
        if die.offset not in self.known:
            number = self.known[die.offset] = self.add("")
            self.put(number, self.text(die, number))
        return f"!{self.known[die.offset]}"

    def text(self, die: DIE, own: int) -> str:
        """A type's metadata; ``own``: its number."""
        name = re.sub(r'["\\]', "?", _text(die, "DW_AT_name"))
        size = 8 * size_of(die)
        if die.tag == "DW_TAG_base_type":
            return f'!DIBasicType(name: "{name}", size: {size}, encoding: {_number(die, "DW_AT_encoding")})'
        if die.tag in POINTERS or die.tag in ALIASES:
            tag = "DW_TAG_pointer_type" if die.tag == "DW_TAG_ptr_to_member_type" else die.tag
            sized = f", size: {size}" if die.tag in POINTERS else ""
            return f'!DIDerivedType(tag: {tag}, name: "{name}", baseType: {self.of(_type(die))}{sized})'
        if die.tag == "DW_TAG_array_type":
            ranges = [f"!{self.add(f'!DISubrange(count: {count})')}" for count in lengths(die)]
            return self.composite(die.tag, name, size, ranges, f"baseType: {self.of(_type(die))}, ")
        if die.tag == "DW_TAG_enumeration_type":
            values = [
                f'!{self.add(f"""!DIEnumerator(name: "{_text(one, "DW_AT_name")}", value: {value})""")}'
                for one in die.iter_children()
                if (value := _number(one, "DW_AT_const_value")) is not None and one.tag == "DW_TAG_enumerator"
            ]
            return self.composite(die.tag, name, size, values)
        if die.tag in RECORDS:
            members = [f"!{self.add(text)}" for child in die.iter_children() if (text := self.member(child, own))]
            return self.composite(die.tag, name, size, members)
        return f'!DIBasicType(tag: DW_TAG_unspecified_type, name: "{name or "?"}")'

    def composite(self, tag: str, name: str, size: int, elements: list[str], more: str = "") -> str:
        """A type that has others."""
        listed = self.add(f"!{{{', '.join(elements)}}}")
        return f'distinct !DICompositeType(tag: {tag}, name: "{name}", {more}size: {size}, elements: !{listed})'

    def member(self, die: DIE, own: int) -> str:
        """A member or a base of a record; empty for what is no part of its bytes."""
        if die.tag not in ("DW_TAG_member", "DW_TAG_inheritance") or "DW_AT_external" in die.attributes:
            return ""
        kind = _type(die)
        name = re.sub(r'["\\]', "?", _text(die, "DW_AT_name"))
        offset = 8 * _number(die, "DW_AT_data_member_location")
        size, flags = 8 * size_of(kind), ""
        if "DW_AT_bit_size" in die.attributes:
            flags = f", flags: DIFlagBitField, extraData: i64 {offset}"
            size = _number(die, "DW_AT_bit_size")
            storage = 8 * (_number(die, "DW_AT_byte_size") or size_of(kind))
            offset = _number(
                die, "DW_AT_data_bit_offset", offset + storage - _number(die, "DW_AT_bit_offset", storage - size) - size
            )
        return (
            f'!DIDerivedType(tag: {die.tag}, name: "{name}", scope: !{own}, baseType: {self.of(kind)}, size: {size}, '
            f"offset: {offset}{flags})"
        )
