"""The index of an object: what the executor needs besides code (variables, functions, lines)."""

from __future__ import annotations

import struct

from gompy.abi import ptx as abi

from . import unit
from .lower import entry_layout, frame_layout
from .operands import architecture
from .syntax import (
    TYPE_BYTES,
    Call,
    FloatImmediate,
    Function,
    Label,
    Memory,
    Module,
    Operand,
    PtxError,
    Symbol,
    Variable,
    Vector,
)

VARIABLE, FUNCTION = struct.Struct(abi.layout("variable_record")), struct.Struct(abi.layout("function_record"))
PARAM, RELOC = struct.Struct(abi.layout("param_record")), struct.Struct(abi.layout("reloc_record"))
LOC, FILE = struct.Struct(abi.layout("loc_record")), struct.Struct(abi.layout("file_record"))
REF, INFO = struct.Struct(abi.layout("ref_record")), struct.Struct(abi.layout("info_record"))
SPACES, LINKAGES = abi.SPACES, abi.LINKAGES


def initial_bytes(variable: Variable, name: str) -> tuple[bytes, list[tuple[int, Symbol]]]:
    """A variable's first bytes (the rest is zero), and the addresses in it."""
    width = TYPE_BYTES[variable.type]
    data, addresses = bytearray(), []
    for value in variable.initial or ():
        if isinstance(value, Symbol):
            if width != 8:
                raise PtxError("an address needs an element of 8 bytes", variable.line, name)
            addresses.append((len(data), value))
            data += bytes(8)
        elif isinstance(value, FloatImmediate):
            if variable.type == "f32" and value.width == 64:
                double = struct.unpack("<d", value.bits.to_bytes(8, "little"))[0]
                try:
                    data += struct.pack("<f", double)
                except OverflowError:
                    raise PtxError(f"{double} does not fit into .f32", variable.line, name) from None
            else:
                data += value.bits.to_bytes(8, "little")[:width]
        elif variable.type in ("f32", "f64"):
            data += struct.pack("<f" if variable.type == "f32" else "<d", value)
        else:
            data += (int(value) & (1 << 8 * width) - 1).to_bytes(width, "little")
    if len(data) > variable.size:
        raise PtxError(f"too many initial values for '{variable.name}'", variable.line, name)
    return bytes(data), addresses


def is_openmp(module: Module) -> bool:
    """Whether kernels of the object follow GCC's conventions for OpenMP (soft stacks): see uniform.py."""
    return "__nvptx_stacks" in module.variables or "__nvptx_uni" in module.variables


def linked_as(variable: Variable, module: Module) -> str:
    """As the linker takes it.  What LLVM declares as shared memory of some size, and nobody defines, has a place all
    the same (Taichi's `shared_array_N`); GCC's such variables are in its libraries."""
    sized = variable.space == "shared" and variable.linkage == "extern" and variable.size > 0
    return "common" if sized and not module.by_gcc else variable.linkage


def references(function: Function) -> dict[str, tuple[int, bool]]:
    """The functions and variables in memory that a function refers to, the line where it first does, and whether it
    does anything but call it."""
    own = {v.name for group in (function.locals, function.params, function.parameters, function.results) for v in group}
    found: dict[str, tuple[int, bool]] = {}
    for code in function.body or ():
        if isinstance(code, Label):
            continue
        if isinstance(code, Call):
            operands: tuple[Operand, ...] = (code.target,)
        elif code.base == "bra":
            continue
        else:
            operands = code.operands
        for operand in operands:
            for item in operand.items if isinstance(operand, Vector) else (operand,):
                base = item.base if isinstance(item, Memory) else item
                if isinstance(base, Symbol) and base.name not in own:
                    line, taken = found.get(base.name, (code.line, False))
                    found[base.name] = line, taken or not isinstance(code, Call)
    return found


def meets(function: Function) -> bool:
    """Whether a function may wait for other warps, or end its own: barriers, `exit`, and calls of what is not named.
    GCC writes `exit` behind `trap`, where no warp comes (nvptx.md, call_insn of what does not return)."""
    trapped = False
    for code in function.body or ():
        if isinstance(code, Call):
            if not isinstance(code.target, Symbol):
                return True
        elif not isinstance(code, Label):
            if code.base == "exit" and not trapped:
                return True
            if code.base in ("bar", "barrier") and code.mods[:1] != ("warp",):
                return True
        trapped = not isinstance(code, (Call, Label)) and code.base == "trap" and code.guard is None
    return False


def calls_unnamed(function: Function) -> bool:
    """Whether a function calls others by pointers."""
    return any(isinstance(code, Call) and not isinstance(code.target, Symbol) for code in function.body or ())


def index_file(module: Module) -> bytes:
    """The index of an object as a cache file."""
    strings = unit.Strings()
    variables, relocs, data = b"", b"", bytearray()
    count = 0
    everything = list(module.variables.values())
    for function in module.functions.values():
        everything += function.shared
    for variable in everything:
        place, first, here, given = 0, count, 0, 0
        if variable.initial is not None and variable.linkage != "extern":
            content, addresses = initial_bytes(variable, module.name)
            if any(content) or addresses:
                place, given = len(data) + 1, len(content)
                data += content
            for offset, symbol in addresses:
                relocs += RELOC.pack(offset, strings.add(symbol.name), 0, symbol.offset)
                count += 1
                here += 1
        variables += VARIABLE.pack(
            strings.add(variable.name), SPACES.index(variable.space), LINKAGES.index(linked_as(variable, module)),
            variable.line,
            variable.size, variable.align, place, given, first, here, int(variable.managed), 0,
        )  # fmt: skip
    functions, params, refs = b"", b"", b""
    total = 0
    for function in module.functions.values():
        offsets, size = entry_layout(function)
        named = references(function)
        last = max((s.line for s in function.body or ()), default=function.line)
        functions += FUNCTION.pack(
            strings.add(function.name), int(function.entry), LINKAGES.index(function.linkage), function.line, last,
            total, len(offsets), function.max_threads, size, frame_layout(function.locals)[1],
            len(refs) // REF.size, len(named), int(meets(function)), int(calls_unnamed(function)), 0, 0,
        )  # fmt: skip
        refs += b"".join(REF.pack(strings.add(name), line, int(taken)) for name, (line, taken) in named.items())
        for offset, variable in zip(offsets, function.parameters, strict=True):
            params += PARAM.pack(offset, variable.size)
        total += len(offsets)
    numbers = {name: number for number, name in enumerate(module.functions)}
    for second, (target, linkage, line) in module.aliases.items():
        functions += FUNCTION.pack(
            strings.add(second), 0, LINKAGES.index(linkage), line, 0, total, 0, 0, 0, 0,
            len(refs) // REF.size, 1, 0, 0, numbers[target] + 1, 0,
        )  # fmt: skip
        refs += REF.pack(strings.add(target), line, 0)
    locs = b"".join(LOC.pack(p.line, p.file, p.source_line) for p in module.locations)
    files = b"".join(FILE.pack(number, strings.add(name)) for number, name in module.files.items())
    entries = any(f.entry for f in module.functions.values())
    info = INFO.pack(
        module.version[0] * 10 + module.version[1],
        int(is_openmp(module)),
        int(entries),
        architecture(module),
        int(module.by_gcc),
        int(module.library),
    )
    return unit.container(
        "index",
        {
            "strings": bytes(strings.data), "variables": variables, "functions": functions, "params": params,
            "relocs": relocs, "data": bytes(data), "locs": locs, "files": files, "info": info,
            "refs": refs,
        },
    )  # fmt: skip
