"""Lines of the source in compiled code, for gdb (GOMPY_CUDA_DEBUG): LLVM's debug metadata, and objects that gdb reads.

Each instruction of LLVM's has the place that the last `.loc` before its PTX instruction says (PTX ISA, "Debugging
Directives"; LLVM Language Reference, "Source Level Debugging").  LLVM's object is kept with the code, its sections at
their places in the text; the executor adds where that is, and hands it to gdb's JIT interface (code.pxi).
"""

from __future__ import annotations

import os
import re
import struct
from bisect import bisect_right
from math import prod

from gompy.abi import ptx as abi

from .syntax import Function, Module, Register

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Set as AbstractSet

FIRST = 100
"""The first number of our metadata."""
PLACE = re.compile(r"!dbg !\{(\d+):(\d+)\}")
DEFINITION = re.compile(r'^(define hidden void @"(\w+)".*) (#0 \{)$', re.MULTILINE)
VARIABLE = re.compile(r"!\{var:([^:}]+):(\w+):(\d+)\}")
PASSES = ("SimplifyCFG",)
"""LLVM's: registers stay in memory, where gdb finds them."""
KINDS = {"b": "DW_ATE_unsigned", "u": "DW_ATE_unsigned", "s": "DW_ATE_signed", "f": "DW_ATE_float"}
SEEN = {
    "block": ("ctaid", 32, (3,)),
    "threads": ("ntid", 32, (3,)),
    "blocks": ("nctaid", 32, (3,)),
    "thread": ("tid", 32, (3, 32)),
    "number": ("warpid", 32, ()),
}
"""What gdb shows of a warp: its fields (abi.WARP), bits, lengths."""
ALLOCATED = 2
"""SHF_ALLOC."""


def source_place(module: Module, function: Function, line: int) -> tuple[int, int]:
    """File number and line of the source of a line of PTX; (0, 0): not known."""
    known = module.locations
    at = bisect_right([location.line for location in known], line) - 1
    if at < 0 or known[at].line < function.line or not known[at].source_line:
        return 0, 0
    return known[at].file, known[at].source_line


def marked(module: Module, function: Function, lines: list[str], marks: list[tuple[int, int]]) -> list[str]:
    """Lines of LLVM IR with places; `marks`: from which of them on they are of a line of PTX, in order."""
    found: list[str] = []
    at, place = 0, "0:0"
    for number, text in enumerate(lines):
        while at < len(marks) and marks[at][0] <= number:
            file, line = source_place(module, function, marks[at][1])
            place = f"{file}:{line}" if line else place
            at += 1
        for part in text.split("\n"):
            code = part.startswith("  ") and not part.rstrip().endswith(("[", ":"))
            found.append(f"{part}, !dbg !{{{place}}}" if code else part)
    return found


def variables(slots: dict[Register, str], varying: AbstractSet[Register]) -> list[str]:
    """Lines that tell gdb of the registers, of the warp, and of the lanes that are active."""
    lines = ["  %gdb_warp = alloca ptr", "  store ptr %w, ptr %gdb_warp"]
    found = [("%gdb_warp", "warp", "warp", 1), ("%mask", "active", "b32", 1)]
    for register, slot in slots.items():
        kind, count = register.type, 32 if register in varying else 1
        if kind == "pred":
            kind, count = ("b32", 1) if count == 32 else ("b8", 1)
        if kind[0] in KINDS and kind[1:].isdecimal():
            found.append((slot, re.sub(r"\W", "_", register.name.lstrip("%")), kind, count))
    lines += [
        f"  call void @llvm.dbg.declare(metadata ptr {slot}, metadata !{{var:{name}:{kind}:{count}}}, "
        "metadata !DIExpression()), !dbg !{0:0}"
        for slot, name, kind, count in found
    ]
    return lines


class Types:
    """The types of variables, each once."""

    def __init__(self, add: Callable[[str], int]) -> None:
        self.add = add
        self.known: dict[tuple[str, tuple[int, ...]], int] = {}

    def of(self, kind: str, counts: tuple[int, ...] = ()) -> int:
        """The number of an array of PTX's type, or of `warp`'s pointer."""
        if (kind, counts) not in self.known:
            self.known[kind, counts] = self.add(self.text(kind, counts))
        return self.known[kind, counts]

    def text(self, kind: str, counts: tuple[int, ...]) -> str:
        """Its metadata."""
        if kind == "warp":
            members = []
            for name, (field, bits, lengths) in SEEN.items():
                own, size = self.of(f"u{bits}", lengths), bits * prod(lengths)
                members.append(
                    self.add(
                        f'!DIDerivedType(tag: DW_TAG_member, name: "{name}", baseType: !{own}, size: {size}, '
                        f"offset: {8 * abi.WARP[field]})"
                    )
                )
            listed = self.add("!{" + ", ".join(f"!{member}" for member in members) + "}")
            size = 8 * (max(abi.WARP.values()) + 8)
            own = self.add(
                f'!DICompositeType(tag: DW_TAG_structure_type, name: "warp", size: {size}, elements: !{listed})'
            )
            return f"!DIDerivedType(tag: DW_TAG_pointer_type, baseType: !{own}, size: 64)"
        bits = int(kind[1:])
        if not counts:
            return f'!DIBasicType(name: "{kind}", size: {bits}, encoding: {KINDS[kind[0]]})'
        ranges = ", ".join(f"!{self.add(f'!DISubrange(count: {count})')}" for count in counts)
        listed = self.add(f"!{{{ranges}}}")
        size = bits * prod(counts)
        return (
            f"!DICompositeType(tag: DW_TAG_array_type, baseType: !{self.of(kind)}, size: {size}, elements: !{listed})"
        )


def with_metadata(body: str, module: Module, functions: dict[str, Function]) -> str:
    """Functions of LLVM IR with the metadata that their places stand for; `functions`: by LLVM's name."""
    extra: list[str] = []

    def add(text: str) -> int:
        extra.append(text)
        return FIRST + len(extra) - 1

    files = {number: add(file_text(name)) for number, name in module.files.items()}
    nowhere = add(file_text(module.name))
    unit = add(
        f"distinct !DICompileUnit(language: DW_LANG_C99, file: !{next(iter(files.values()), nowhere)}, "
        'producer: "gompy", isOptimized: true, runtimeVersion: 0, emissionKind: FullDebug)'
    )
    kind = add("!DISubroutineType(types: !0)")
    types = Types(add)
    parts = []
    for part in re.split(r"^(?=define )", body, flags=re.MULTILINE):
        match = DEFINITION.search(part)
        function = functions.get(match[2]) if match is not None else None
        if match is None or function is None:
            parts.append(PLACE.sub("", part))
            continue
        places = PLACE.findall(part)
        first = next(((int(file), int(line)) for file, line in places if line != "0"), (0, 0))
        file = files.get(first[0], nowhere)
        scope = add(
            f'distinct !DISubprogram(name: "{function.name}", scope: !{file}, file: !{file}, line: {first[1]}, '
            f"type: !{kind}, scopeLine: 0, spFlags: DISPFlagDefinition, unit: !{unit})"
        )
        scopes = {first[0]: scope}
        numbers: dict[tuple[str, str], int] = {}
        for place in dict.fromkeys(places):
            number = int(place[0])
            if place[1] != "0" and number not in scopes:
                own = files.get(number, nowhere)
                scopes[number] = add(f"!DILexicalBlockFile(scope: !{scope}, file: !{own}, discriminator: 0)")
            line, within = (place[1], scopes[number]) if place[1] != "0" else ("0", scope)
            numbers[place] = add(f"!DILocation(line: {line}, scope: !{within})")
        for name, what, count in dict.fromkeys(VARIABLE.findall(part)):
            own = types.of(what, (int(count),) if count != "1" else ())
            number = add(
                f'!DILocalVariable(name: "{name}", scope: !{scope}, file: !{file}, line: {first[1]}, type: !{own})'
            )
            part = part.replace(f"!{{var:{name}:{what}:{count}}}", f"!{number}")
        part = DEFINITION.sub(rf"\1 #0 !dbg !{scope} {{", part)
        parts.append(PLACE.sub(lambda m, numbers=numbers: f"!dbg !{numbers[m[1], m[2]]}", part))  # type: ignore[misc]
    flags = [add('!{i32 2, !"Debug Info Version", i32 3}'), add('!{i32 7, !"Dwarf Version", i32 4}')]
    named = [f"!llvm.dbg.cu = !{{!{unit}}}", f"!llvm.module.flags = !{{!{flags[0]}, !{flags[1]}}}"]
    named.insert(0, "declare void @llvm.dbg.declare(metadata, metadata, metadata)")
    texts = [f"!{FIRST + number} = {text}" for number, text in enumerate(extra)]
    return "\n".join(["".join(parts), *named, *texts])


def file_text(name: str) -> str:
    """A file's metadata."""
    folder, base = os.path.split(name)
    folder, base = (re.sub(r'["\\]', "?", text) for text in (folder or os.getcwd(), base or "?"))
    return f'!DIFile(filename: "{base}", directory: "{folder}")'


def debug_objects(elves: list[bytes], places: dict[tuple[int, int], int]) -> bytes:
    """LLVM's objects, each behind its size in 8 bytes; `places`: of (object, section) that stays, in the text."""
    found = bytearray()
    for number, elf in enumerate(elves):
        data = bytearray(elf)
        table = struct.unpack_from("<Q", elf, 40)[0]
        size, count = struct.unpack_from("<2H", elf, 58)
        for index in range(count):
            at = table + index * size
            flags = struct.unpack_from("<Q", elf, at + 8)[0]
            if (number, index) in places:
                struct.pack_into("<Q", data, at + 16, places[number, index])
            elif flags & ALLOCATED:  # nobody has it in memory
                struct.pack_into("<Q", data, at + 8, flags & ~ALLOCATED)
        data += bytes(-len(data) % 8)
        found += struct.pack("<Q", len(data)) + data
    return bytes(found)
