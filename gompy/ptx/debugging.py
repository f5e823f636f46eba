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

from . import wanted
from .syntax import Function, Module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from .emit import Emitter
    from .source_variables import SourceVariable

FIRST = 100
"""The first number of our metadata."""
PLACE = re.compile(r"!dbg !\{(\d+):(\d+)\}")
DEFINITION = re.compile(r'^(define hidden void @"(\w+)".*) (#0 \{)$', re.MULTILINE)
VARIABLE = re.compile(r"!\{var:([^:}]+):(\w+):(\d+)\}")
SOURCE = re.compile(r"!\{src:(\d+)\}")
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


def variables(code: Emitter, module: Module, function: Function) -> list[str]:
    """Lines that tell gdb of variables, of the registers, of the warp, and of the lanes that are active."""
    lines = ["  %gdb_warp = alloca ptr", "  store ptr %w, ptr %gdb_warp"]
    known = source_variables(module, function)
    source = in_local_memory(code, known)
    taken = {variable.name for variable in known} if source else set()
    lines += source
    slots = code.slots if wanted.REGISTERS or not source else {}
    found = [("%gdb_warp", "warp", "warp", 1), ("%mask", "active", "b32", 1)]
    if source:
        found += [("%gdb_lane", "gompy_lane", "words", 1), ("%gdb_lanes", "gompy_lanes", "words", 1)]
    for register, slot in slots.items():
        kind, count = register.type, 32 if register in code.a.varying else 1
        if kind == "pred":
            kind, count = ("b32", 1) if count == 32 else ("b8", 1)
        name = re.sub(r"\W", "_", register.name.lstrip("%"))
        if kind[0] in KINDS and kind[1:].isdecimal() and name not in taken:
            found.append((slot, name, kind, count))
    lines += [
        f"  call void @llvm.dbg.declare(metadata ptr {slot}, metadata !{{var:{name}:{kind}:{count}}}, "
        "metadata !DIExpression()), !dbg !{0:0}"
        for slot, name, kind, count in found
    ]
    return lines


def source_variables(module: Module, function: Function) -> list[SourceVariable]:
    """Those of the source that the PTX says the places of."""
    if module.variables_of is None:
        from .source_variables import read

        module.variables_of = read(module.text)
    return module.variables_of.get(function.name, [])


def in_local_memory(code: Emitter, found: list[SourceVariable]) -> list[str]:
    """Lines that tell gdb of the source's variables, of one lane: the first that is active, until gdb selects another.

    None where there are none.  `gompy_lanes` is where the first lane's words begin, `gompy_lane` where its do.
    """
    frames = [offset for name, offset in code.local_offset.items() if name.lstrip("%").startswith("__local_depot")]
    if not found or len(frames) != 1:
        return []
    lines = [
        "  %gdb_lanes = alloca ptr",
        "  %gdb_lane = alloca ptr",
        f"  %gdb_local_at = getelementptr i8, ptr %w, i64 {abi.WARP['local']}",
        "  %gdb_local = load ptr, ptr %gdb_local_at",
        f"  %gdb_top_at = getelementptr i8, ptr %w, i64 {abi.WARP['local_top']}",
        "  %gdb_top = load i64, ptr %gdb_top_at",
        "  %gdb_rows = shl i64 %gdb_top, 5",
        "  %gdb_first = getelementptr i8, ptr %gdb_local, i64 %gdb_rows",
        "  %gdb_number = call i32 @llvm.cttz.i32(i32 %m, i1 false)",
        "  %gdb_own = getelementptr i64, ptr %gdb_first, i32 %gdb_number",
        "  store ptr %gdb_first, ptr %gdb_lanes",
        "  store ptr %gdb_own, ptr %gdb_lane",
    ]
    for number, variable in enumerate(found):
        pieces = variable.pieces(frames[0])
        for at, size, place in pieces:
            part = f", DW_OP_LLVM_fragment, {8 * at}, {8 * size}" if len(pieces) > 1 else ""
            lines.append(
                f"  call void @llvm.dbg.declare(metadata ptr %gdb_lane, metadata !{{src:{number}}}, "
                f"metadata !DIExpression(DW_OP_deref, DW_OP_plus_uconst, {place}{part})), !dbg !{{0:0}}"
            )
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
        if kind == "words":
            return f"!DIDerivedType(tag: DW_TAG_pointer_type, baseType: !{self.of('b64')}, size: 64)"
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

    def put(number: int, text: str) -> None:
        extra[number - FIRST] = text

    from .source_variables import SourceTypes

    source_types = SourceTypes(add, put)
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
        for index in dict.fromkeys(map(int, SOURCE.findall(part))):
            variable = source_variables(module, function)[index]
            argument = f"arg: {variable.argument}, " if variable.argument else ""
            number = add(
                f'!DILocalVariable(name: "{variable.name}", {argument}scope: !{scope}, file: !{file}, '
                f"line: {variable.line}, type: {source_types.of(variable.type)})"
            )
            part = part.replace(f"!{{src:{index}}}", f"!{number}")
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
