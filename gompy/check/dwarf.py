"""Variables of the program's source by DWARF: which there are at a place in the code, and where in memory each is."""

from __future__ import annotations

import bisect
import sys
from functools import cached_property

from gompy.check.dies import OP_ADDR, OP_ADDRX, Bytes, below, in_unit, leading_to, type_of
from gompy.check.log import KEPT, Frame
from gompy.objects.dwarf_sections import dwarf_of
from gompy.objects.elf import STT_FUNC, Elf
from gompy.objects.lines import code_ranges

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from dataclasses import dataclass, replace
    from typing import Any, Final

    Read = Callable[[int], int | None]
    """The word at an address of the process, None where it is not known."""
else:
    from gompy.records import dataclass, replace

POINTER: Final = 8
OP_REG0: Final = 0x50
"""DW_OP_reg0; the registers' follow it."""
SCOPES: Final = frozenset(("DW_TAG_lexical_block", "DW_TAG_inlined_subroutine", "DW_TAG_namespace", "DW_TAG_module"))
VARIABLES: Final = frozenset(("DW_TAG_variable", "DW_TAG_formal_parameter"))
QUALIFIERS: Final = frozenset(
    ("DW_TAG_typedef", "DW_TAG_const_type", "DW_TAG_volatile_type", "DW_TAG_restrict_type", "DW_TAG_atomic_type")
)
POINTERS: Final = frozenset(("DW_TAG_pointer_type", "DW_TAG_reference_type", "DW_TAG_rvalue_reference_type"))
STRUCTS: Final = frozenset(("DW_TAG_structure_type", "DW_TAG_class_type", "DW_TAG_union_type"))
LONGEST_CHAIN: Final = 32
MOST_ELEMENTS: Final = 64
"""How many elements of an array are looked at for pointers in them."""
ELEMENTS: Final = "data()"
"""What the elements of a vector are called: ``v.data()``."""
COMPLEX: Final = 3
ENCODINGS: Final = {2: "u", COMPLEX: "f", 4: "f", 5: "i", 6: "i", 7: "u", 8: "u", 16: "u"}
"""DW_ATE_*: which numbers are floating, signed, unsigned."""


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable, or member of one, in memory; ``points``: it is a pointer, reference, or Fortran descriptor."""

    name: str
    address: int
    size: int
    points: bool
    element: int = 0  # bytes of an element, of an array of one dimension or behind a pointer; 0: not C's, or not known
    scalar: str = ""  # what its elements are made of: f8, i4, u1; empty: structures, pointers, or not known
    behind: str = ""  # of a member of what a pointer points to: that pointer
    stride: int = 0  # and bytes from one structure there to the next
    endless: bool = False  # an array whose bounds only the running program knows
    value: int | None = None  # of a pointer that is in a register: it has no address

    def nth(self, number: int) -> str:
        """What the same is called in another element of what ``behind`` points to: ``q[3].w``, or ``q[3]``."""
        rest = self.name.removeprefix(self.behind)
        return f"{self.behind}[{number}]{'.' + rest[2:] if rest.startswith('->') else ''}"


Operations = tuple[tuple[str, int], ...]
"""Of a location expression: names, and their operands."""


@dataclass(frozen=True, slots=True)
class Spot:
    """A variable as the DWARF has it at one place of the code: operations that tell its address, and what it is made
    of, as if that address were 0.
    """

    operations: Operations
    parts: tuple[Variable, ...]
    behind: tuple[Variable, ...] = ()  # pointers in the structure that it points to, as if that were at address 0


def is_vector(name: str) -> bool:
    """Whether it names the elements of a vector."""
    return name.endswith(ELEMENTS)


class Unknown(Exception):
    """A place that cannot be told."""


class Source:
    """The DWARF of one linked file; ``base``: where it is loaded."""

    def __init__(self, data: bytes, base: int) -> None:
        self.base = base
        self.elf = Elf(data, "")
        self.dwarf = dwarf_of(self.elf)
        self._rows: dict[int, tuple[list[int], list[tuple[str, int]]]] = {}
        self._globals: list[Spot] | None = None
        self._spots: dict[int, list[Spot]] = {}
        self.calls: dict[tuple[int, Source, int], list[tuple[str, Variable, Operations]]] = {}  # passed.py
        self._parsers: dict[int, Any] = {}  # by unit: one is dear to make

    @cached_property
    def limits(self) -> tuple[int, int]:
        """Begin and end of the file's own addresses."""
        loaded = self.elf.loaded()
        return min((begin for begin, _ in loaded), default=0), max((end for _, end in loaded), default=0)

    @cached_property
    def _bytes(self) -> Bytes:
        return Bytes(self.dwarf, self.limits)

    @cached_property
    def _units(self) -> list[tuple[int, int, Any]]:
        """Begin and end of each compile unit's code."""
        found = []
        for unit in self.dwarf.iter_CUs() if self.dwarf else ():
            for low, high in code_ranges(self.dwarf, unit, unit.get_top_DIE()):
                found.append((low, high, unit))
        return found

    def unit_at(self, pc: int) -> Any:
        """The compile unit of an address of the file's own; None if there is none."""
        return next((unit for low, high, unit in self._units if low <= pc < high), None)

    def line(self, pc: int) -> tuple[str, int]:
        """File and line of the code at an address; ``("", 0)``: not known."""
        pc -= self.base
        unit = self.unit_at(pc)
        if unit is None:
            return "", 0
        if unit.cu_offset not in self._rows:
            self._rows[unit.cu_offset] = self._read_rows(unit)
        addresses, places = self._rows[unit.cu_offset]
        at = bisect.bisect_right(addresses, pc) - 1
        return places[at] if at >= 0 else ("", 0)

    def _read_rows(self, unit: Any) -> tuple[list[int], list[tuple[str, int]]]:
        program = self.dwarf.line_program_for_CU(unit)
        rows: dict[int, tuple[str, int]] = {}
        if program is not None:
            files = program.header["file_entry"]
            first = 0 if program.header["version"] >= 5 else 1
            for entry in program.get_entries():
                state = entry.state
                if state is None or state.end_sequence or not state.line:
                    continue
                name = files[state.file - first].name if 0 <= state.file - first < len(files) else b""
                rows[state.address] = (name.decode("utf-8", "replace").rpartition("/")[2], state.line)
        addresses = sorted(rows)
        return addresses, [rows[address] for address in addresses]

    @cached_property
    def _functions(self) -> list[tuple[int, int, str]]:
        """Functions by the file's symbols: begin, size, name."""
        found = [(s.value, s.size, s.name) for s in self.elf.symbols() if s.type == STT_FUNC]
        return sorted(found, key=lambda function: function[:2])

    def function(self, address: int) -> str:
        """The function that begins at an address of the process, by the file's symbols."""
        at = bisect.bisect_left(self._functions, (address - self.base,))
        found = self._functions[at] if at < len(self._functions) else (-1, 0, "")
        return found[2] if found[0] == address - self.base else ""

    def locals(self, frame: Frame, read: Read) -> Iterator[Variable]:
        """Variables of the function that a frame is of, innermost scopes first."""
        pc = frame.pc - 1 - self.base
        if pc not in self._spots:  # a program that launches often does so at few places
            self._spots[pc] = list(self._find_spots(pc))
        for spot in self._spots[pc]:
            yield from self._at(spot, frame, read)

    def scopes(self, pc: int) -> list[Any]:
        """The functions and blocks that an address of the file's own is in, outermost first."""
        unit = self.unit_at(pc)
        scopes: list[Any] = []
        if unit is not None:
            self._find_scopes(unit, unit.get_top_DIE(), pc, scopes, where := self._entries_of(unit, pc))
            if not scopes and where is not None:  # of a function in parts only calls and pointers have the address
                self._find_scopes(unit, unit.get_top_DIE(), pc, scopes, None)
        return scopes

    def _find_spots(self, pc: int) -> Iterator[Spot]:
        scopes = self.scopes(pc)
        for at in range(len(scopes) - 1, -1, -1):
            function = next((die for die in scopes[at::-1] if die.tag == "DW_TAG_subprogram"), None)
            for die in scopes[at].iter_children():
                if die.tag in VARIABLES:
                    yield from self.spot(die, pc, self.frame_base(function))

    def frame_base(self, function: Any) -> str:
        """What the operation is called that adds to a function's frame base: gcc's is the CFA, clang's a register."""
        base = function.attributes.get("DW_AT_frame_base") if function is not None else None
        first = base.value[0] if base is not None and isinstance(base.value, list) and base.value else 0
        return f"DW_OP_breg{first - OP_REG0}" if OP_REG0 <= first < OP_REG0 + 16 else "DW_OP_fbreg"

    def _entries_of(self, unit: Any, pc: int) -> list[int] | None:
        """Where a unit speaks of the function that an address is in; None: wherever (no symbols, or parts apart)."""
        at = bisect.bisect_right(self._functions, (pc, sys.maxsize)) - 1
        if at < 0 or pc >= sum(self._functions[at][:2]):
            return None
        return in_unit(unit, self._bytes.word(self._functions[at][0])) or None

    def _find_scopes(self, unit: Any, die: Any, pc: int, found: list[Any], where: list[int] | None) -> None:
        children = ((child, None) for child in die.iter_children()) if where is None else leading_to(die, where)
        for child, there in children:
            if child.tag == "DW_TAG_subprogram" or child.tag in SCOPES:
                inside = any(low <= pc < high for low, high in code_ranges(self.dwarf, unit, child))
                if inside:
                    found.append(child)
                # gcc's function of a parallel region is a child of the block that the directive stands in.
                if inside or (child.tag != "DW_TAG_inlined_subroutine" and child.has_children):
                    self._find_scopes(unit, child, pc, found, None if inside else there)

    def globals(self, read: Read) -> Iterator[Variable]:
        """Variables with an address of their own."""
        if self._globals is None:
            self._globals = []
            places = self._bytes.variables() if self.dwarf else []
            for unit in self.dwarf.iter_CUs() if self.dwarf else ():
                there = in_unit(unit, places)
                for die in below(unit.get_top_DIE(), there) if there else ():
                    location = die.attributes.get("DW_AT_location") if die.tag == "DW_TAG_variable" else None
                    if (
                        location is not None
                        and location.form in ("DW_FORM_exprloc", "DW_FORM_block1")
                        and location.value[:1] in ([OP_ADDR], [OP_ADDRX])
                    ):
                        self._globals += self.spot(die, None)
        for spot in self._globals:
            yield from self._at(spot, None, read)

    def _at(self, spot: Spot, frame: Frame | None, read: Read) -> Iterator[Variable]:
        """A variable and its members, where a frame has them; nothing if that is not known."""
        try:
            value = self._value(spot, frame, read)
            address = self.evaluate(spot.operations, frame, read) if value is None else 0
        except (Unknown, IndexError):
            return
        if value is not None:
            yield replace(spot.parts[0], value=value, size=0)
        else:
            for part in spot.parts:
                yield replace(part, address=address + part.address)
        there = value if value is not None else read(address) if spot.behind else None
        if not there:
            return
        for part in spot.behind:
            yield replace(part, address=there + part.address)

    def _value(self, spot: Spot, frame: Frame | None, read: Read) -> int | None:
        """A pointer's value, where that is in a register that calls keep, or is computed; None: it is in memory."""
        name = spot.operations[-1][0] if spot.operations else ""
        if frame is None or not spot.parts[0].points or not name.startswith(("DW_OP_reg", "DW_OP_stack_value")):
            return None
        if name == "DW_OP_stack_value":
            return self.evaluate(spot.operations[:-1], frame, read)
        number = int(name[9:])
        if len(spot.operations) > 1 or number not in KEPT:
            raise Unknown
        return frame.registers[number]

    def spot(self, die: Any, pc: int | None, frame_base: str = "DW_OP_fbreg") -> Iterator[Spot]:
        """A variable at an address of the file's own code, or (None) of the whole program; nothing if it has no name,
        or no place.
        """
        name = self.name(die)
        location = die.attributes.get("DW_AT_location")
        if not name or name.startswith((".", "<")) or location is None:
            return
        try:
            operations = self.operations(die, self.expression(die, location, pc), frame_base)
            kind = self._type(die)
            yield Spot(operations, tuple(self._members(name, 0, kind, 0)), tuple(self._behind(name, kind)))
        except (Unknown, KeyError, IndexError, AttributeError):
            return

    def name(self, die: Any) -> str:
        for _ in range(4):
            if "DW_AT_name" in die.attributes:
                return str(die.attributes["DW_AT_name"].value.decode("utf-8", "replace"))
            link = next((n for n in ("DW_AT_abstract_origin", "DW_AT_specification") if n in die.attributes), None)
            if link is None:
                return ""
            die = die.get_DIE_from_attribute(link)
        return ""

    def _type(self, die: Any) -> Any:
        """The type of a DIE, without qualifiers; None for void."""
        for _ in range(LONGEST_CHAIN):
            if "DW_AT_type" not in die.attributes:
                link = next((n for n in ("DW_AT_abstract_origin", "DW_AT_specification") if n in die.attributes), None)
                if link is None:
                    return None
                die = die.get_DIE_from_attribute(link)
                continue
            die = type_of(die)
            if die.tag not in QUALIFIERS:
                return die
        return None

    def size(self, kind: Any) -> int:
        """Bytes of a type; 0: not known."""
        if kind is None:
            return 0
        if "DW_AT_byte_size" in kind.attributes and kind.attributes["DW_AT_byte_size"].form != "DW_FORM_exprloc":
            return int(kind.attributes["DW_AT_byte_size"].value)
        if kind.tag in POINTERS:
            return POINTER
        if kind.tag != "DW_TAG_array_type":
            return 0
        size = self.size(self._type(kind))
        for child in kind.iter_children():
            if child.tag == "DW_TAG_subrange_type":
                size *= self._count(child)
        return size

    def _count(self, subrange: Any) -> int:
        attributes = subrange.attributes
        if "DW_AT_count" in attributes and isinstance(attributes["DW_AT_count"].value, int):
            return int(attributes["DW_AT_count"].value)
        upper = attributes.get("DW_AT_upper_bound")
        if upper is None or not isinstance(upper.value, int) or upper.form.startswith("DW_FORM_ref"):
            return 0
        lower = attributes["DW_AT_lower_bound"].value if "DW_AT_lower_bound" in attributes else self._first(subrange)
        return int(upper.value - lower + 1)

    def _first(self, die: Any) -> int:
        """The lower bound of arrays in the unit's language: 1 in Fortran."""
        language = die.cu.get_top_DIE().attributes.get("DW_AT_language")
        return 1 if language is not None and language.value in (7, 8, 14, 0x22, 0x23) else 0

    def _element(self, kind: Any) -> int:
        """Bytes of an element; 0 for what has none, and in Fortran, whose bounds are the array's own."""
        ranges = [child for child in kind.iter_children() if child.tag == "DW_TAG_subrange_type"]
        if self._first(kind) or (kind.tag == "DW_TAG_array_type" and len(ranges) != 1):
            return 0
        return self.size(self._type(kind)) if kind.tag in POINTERS or ranges else 0

    def _scalar(self, kind: Any) -> str:
        """What elements are made of: DWARF's encoding as a letter, and bytes; of a complex number its parts."""
        for _ in range(LONGEST_CHAIN):
            if kind is None or (kind.tag != "DW_TAG_array_type" and kind.tag not in POINTERS):
                break
            kind = self._type(kind)
        encoding = kind.attributes.get("DW_AT_encoding") if kind is not None else None
        if encoding is None or encoding.value not in ENCODINGS:
            return ""
        letter, size = ENCODINGS[encoding.value], self.size(kind) // (2 if encoding.value == COMPLEX else 1)
        return f"{letter}{size}" if size in ((4, 8) if letter == "f" else (1, 2, 4, 8)) else ""

    def _members(self, name: str, address: int, kind: Any, depth: int) -> Iterator[Variable]:
        if kind is None:
            return
        descriptor = kind.tag == "DW_TAG_array_type" and "DW_AT_data_location" in kind.attributes
        size = self.size(kind)
        points = descriptor or kind.tag in POINTERS
        yield Variable(
            name,
            address,
            POINTER if descriptor else size,
            points,
            self._element(kind),
            self._scalar(kind),
            endless=kind.tag == "DW_TAG_array_type" and not points and size == 0,
        )
        if kind.tag == "DW_TAG_array_type" and not descriptor and depth < 2:
            yield from self._in_elements(name, address, kind, depth)
        if kind.tag not in STRUCTS or depth >= 2:
            return
        if (data := self._vector_data(kind)) is not None:
            yield from self._members(f"{name}.{ELEMENTS}", address + data[1], data[0], depth + 1)
            return
        for child, offset in self._fields(kind):
            mark = "%" if self._first(child) else "."
            yield from self._members(f"{name}{mark}{self.name(child)}", address + offset, self._type(child), depth + 1)

    def _fields(self, kind: Any, start: int = 0) -> Iterator[tuple[Any, int]]:
        """The members of a structure with their offsets, those of C++'s base classes too."""
        for child in kind.iter_children():
            offset = child.attributes.get("DW_AT_data_member_location")
            if offset is None or not isinstance(offset.value, int):
                continue
            base = self._type(child) if child.tag == "DW_TAG_inheritance" else None
            if base is not None:
                yield from self._fields(base, start + offset.value)
            elif child.tag == "DW_TAG_member":
                yield child, start + offset.value

    def _vector_data(self, kind: Any) -> tuple[Any, int] | None:
        """Of std::vector the type of the pointer to its elements, and where that is; None for anything else.

        The members' names are libstdc++'s (bits/stl_vector.h) and libc++'s.
        """
        if kind is None or kind.tag not in STRUCTS or not self.name(kind).startswith("vector<"):
            return None
        for child, offset in self._fields(kind):
            for part, inner in self._fields(self._type(child)) if self.name(child) == "_M_impl" else [(child, 0)]:
                if self.name(part) in ("_M_start", "__begin_"):
                    return self._type(part), offset + inner
        return None

    def _in_elements(self, name: str, address: int, kind: Any, depth: int) -> Iterator[Variable]:
        """The pointers in an array of one dimension: ``tab[2]``, ``g[2].q``, Fortran's ``x(2)%a``."""
        ranges = [child for child in kind.iter_children() if child.tag == "DW_TAG_subrange_type"]
        element = self._type(kind)
        if element is None or len(ranges) != 1 or (element.tag not in POINTERS and element.tag not in STRUCTS):
            return
        stride, first = self.size(element), self._first(ranges[0])
        lower = ranges[0].attributes.get("DW_AT_lower_bound")
        if lower is not None and isinstance(lower.value, int):
            first = lower.value
        form = "{}({})" if self._first(kind) else "{}[{}]"
        for i in range(min(self._count(ranges[0]), MOST_ELEMENTS)):
            inner = list(self._members(form.format(name, first + i), address + i * stride, element, depth))
            if not any(part.points for part in inner):
                return
            yield from (replace(part, behind=name) for part in inner if part.points)

    def _behind(self, name: str, kind: Any) -> Iterator[Variable]:
        """The pointers in the structure that a pointer of C or C++ points to, or the pointer that it points to."""
        target = self._type(kind) if kind is not None and kind.tag in POINTERS else None
        if target is not None and target.tag in POINTERS:
            element, scalar = self._element(target), self._scalar(target)
            yield Variable(f"{name}[0]", 0, POINTER, True, element, scalar, behind=name, stride=POINTER)
        if target is None or target.tag not in STRUCTS or self._first(target):
            return
        plain = kind.tag == "DW_TAG_pointer_type"  # no reference, which is of one structure
        for member, inner, offset in self._pointers(target):
            name_of_it = f"{name}{'->' if plain else '.'}{member}"
            element, scalar, stride = self._element(inner), self._scalar(inner), self.size(target) if plain else 0
            yield Variable(name_of_it, offset, POINTER, True, element, scalar, behind=name, stride=stride)

    def _pointers(self, kind: Any) -> Iterator[tuple[str, Any, int]]:
        """The pointers in a structure, with types and offsets: members, and those of vectors to their elements."""
        if (data := self._vector_data(kind)) is not None:
            yield ELEMENTS, *data
            return
        for child, offset in self._fields(kind):
            inner, name = self._type(child), self.name(child)
            if (data := self._vector_data(inner)) is not None:
                yield f"{name}.{ELEMENTS}", data[0], offset + data[1]
            elif inner is not None and inner.tag in POINTERS:
                yield name, inner, offset

    def expression(self, die: Any, location: Any, pc: int | None) -> list[int]:
        if location.form in ("DW_FORM_exprloc", "DW_FORM_block1", "DW_FORM_block2", "DW_FORM_block4"):
            return list(location.value)
        lists = self.dwarf.location_lists()
        if lists is None or pc is None:
            raise Unknown
        top = die.cu.get_top_DIE().attributes.get("DW_AT_low_pc")
        base = top.value if top is not None else 0
        at_call: list[int] | None = None
        for entry in lists.get_location_list_at_offset(location.value, die):
            if hasattr(entry, "base_address"):
                base = entry.base_address
            elif hasattr(entry, "begin_offset"):
                shift = 0 if getattr(entry, "is_absolute", False) else base
                if entry.begin_offset + shift <= pc < entry.end_offset + shift:
                    return list(entry.loc_expr)
                if entry.end_offset + shift == pc:
                    at_call = list(entry.loc_expr)
        if at_call is None:
            raise Unknown
        return at_call  # what a call may change gcc ends one byte before it returns: in its last byte, which pc is

    def operations(self, die: Any, expression: list[int], frame_base: str) -> tuple[tuple[str, int], ...]:
        """A location expression's operations, with their first arguments."""
        from elftools.dwarf.dwarf_expr import DWARFExprParser

        if id(die.cu) not in self._parsers:
            self._parsers[id(die.cu)] = DWARFExprParser(die.cu.structs)
        parsed = self._parsers[id(die.cu)].parse_expr(expression)
        names, found = {"DW_OP_fbreg": frame_base}, []
        for code in parsed:
            name, argument = names.get(code.op_name, code.op_name), code.args[0] if code.args else 0
            if code.op == OP_ADDRX:
                name, argument = "DW_OP_addr", self.dwarf.get_addr(die.cu, argument)
            found.append((name, argument))
        return tuple(found)

    def evaluate(self, operations: tuple[tuple[str, int], ...], frame: Frame | None, read: Read) -> int:
        """The address that a location expression tells; Unknown where the variable is in a register, or split."""
        stack: list[int] = []
        for name, argument in operations:
            if name == "DW_OP_addr":
                stack.append(argument + self.base)
            elif name == "DW_OP_fbreg" and frame is not None and frame.cfa:
                stack.append(frame.cfa + argument)
            elif name.startswith("DW_OP_breg") and frame is not None:
                number = int(name[10:])
                if number != 7 and number not in KEPT:
                    raise Unknown
                stack.append((frame.sp if number == 7 else frame.registers[number]) + argument)
            elif name == "DW_OP_deref" and stack:
                value = read(stack.pop())
                if value is None:
                    raise Unknown
                stack.append(value)
            elif name == "DW_OP_plus_uconst" and stack:
                stack[-1] += argument
            else:
                raise Unknown
        if len(stack) != 1:
            raise Unknown
        return stack[0]
