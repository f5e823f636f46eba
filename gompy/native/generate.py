"""Write the .pxd and .h files that hold an interface's numbers, from their tables in gompy/abi.

The build calls this before anything is compiled: the compiled parts and the Python ones cannot disagree.
"""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

from gompy.abi import (
    check_log,
    cuda,
    cuda_status,
    gomp,
    gomp_newer,
    interop,
    llvm,
    map_kinds,
    ompt,
    ptx,
    status,
    targets,
)
from gompy.native import (
    generate_cuda_calls,
    generate_cuda_structures,
    generate_cudart,
    generate_nvml,
    generate_nvrtc,
)

HERE = Path(__file__).resolve().parent
TABLES: dict[str, ModuleType] = {
    "cuda_status": cuda_status,
    "gomp": gomp,
    "gomp_newer": gomp_newer,
    "interop": interop,
    "llvm": llvm,
    "status": status,
}
"""Name of the .pxd: the table."""


def numbers(table: ModuleType) -> dict[str, int]:
    """A table's numbers by name, in its order."""
    return {name: value for name, value in vars(table).items() if name.isupper() and type(value) is int}


def pxd(table: ModuleType) -> str:
    """The .pxd of a table: one enum, whose members are constants for Cython and for C."""
    lines = [f"# Made by gompy/native/generate.py from {table.__name__.replace('.', '/')}.py.", "", "cdef enum:"]
    lines += [f"    {name} = {value if value < 0 else hex(value)}" for name, value in numbers(table).items()]
    return "\n".join(lines) + "\n"


def kind_properties() -> dict[str, int]:
    """The properties of map kinds, each with its bit."""
    return {f"KIND_{name.upper()}": 1 << bit for bit, name in enumerate(map_kinds.PROPERTIES)}


def plain_kind(raw: int) -> int:
    """A kind without the flag of an implicit map; unordered members have one address, or rising ones."""
    if raw & gomp.GOMP_MAP_FLAG_SPECIAL_BITS == gomp.GOMP_MAP_IMPLICIT:
        return raw & ~gomp.GOMP_MAP_IMPLICIT
    return gomp.GOMP_MAP_STRUCT if raw == gomp_newer.GOMP_MAP_STRUCT_UNORD else raw


def map_kinds_h() -> str:
    """Arrays by the kind: its properties, what it is without flags, its name (NULL: there is no such kind)."""
    bits = kind_properties()
    lines = ["/* Made by gompy/native/generate.py from gompy/abi/map_kinds.py.  */"]
    lines += ["static const unsigned short gompy_kind_properties[256] = {"]
    for kind, (_, properties) in map_kinds.KINDS.items():
        lines.append(f"  [{kind:#04x}] = {sum(bits[f'KIND_{name.upper()}'] for name in properties):#06x},")
    lines += ["};", "static const unsigned char gompy_plain_kinds[256] = {"]
    plain = [plain_kind(raw) for raw in range(256)]
    lines += ["  " + "".join(f"{kind:#04x}, " for kind in plain[row : row + 16]).rstrip() for row in range(0, 256, 16)]
    lines += ["};", "static const char *const gompy_kind_names[256] = {"]
    lines += [f'  [{kind:#04x}] = "{name}",' for kind, (name, _) in map_kinds.KINDS.items()]
    return "\n".join([*lines, "};"]) + "\n"


def map_kinds_pxd() -> str:
    """The same for Cython."""
    lines = ["# Made by gompy/native/generate.py from gompy/abi/map_kinds.py.", ""]
    lines += ['cdef extern from "gompy/native/map_kinds.h" nogil:']
    lines += ['    const unsigned short kind_properties "gompy_kind_properties"[256]']
    lines += ['    const unsigned char plain_kinds "gompy_plain_kinds"[256]']
    lines += ['    const char *kind_names "gompy_kind_names"[256]', "", "cdef enum:"]
    lines += [
        f"    {name} = {bit:#x}  # {what}"
        for (name, bit), what in zip(kind_properties().items(), map_kinds.PROPERTIES.values(), strict=True)
    ]
    return "\n".join(lines) + "\n"


def targets_h() -> str:
    """The registry of targets, in its order."""
    lines = ["/* Made by gompy/native/generate.py from gompy/abi/targets.py.  */"]
    lines += ["struct gompy_target { int type; const char *plugin, *name; };"]
    lines += ["static const struct gompy_target gompy_targets[] = {"]
    lines += [f'  {{ {target.type}, "{target.plugin}", "{target.name}" }},' for target in targets.TARGETS]
    return "\n".join([*lines, "};"]) + "\n"


def targets_pxd() -> str:
    """The same for Cython."""
    lines = ["# Made by gompy/native/generate.py from gompy/abi/targets.py.", ""]
    lines += ['cdef extern from "gompy/native/targets.h" nogil:']
    lines += ['    cdef struct target_row "gompy_target":']
    lines += ["        int type            # of its devices (GOMP_DEVICE_*)", "        const char *plugin"]
    lines += ["        const char *name    # in -foffload="]
    lines += [f'    const target_row targets "gompy_targets"[{len(targets.TARGETS)}]', "", "cdef enum:"]
    lines += [f"    TARGETS = {len(targets.TARGETS)}"]
    return "\n".join(lines) + "\n"


def cuda_numbers() -> dict[str, int]:
    """The CUDA interface's numbers, results first."""
    return {name: number for name, (number, _) in cuda.RESULTS.items()} | numbers(cuda)


def switch(name: str, argument: str, answers: dict[str, str], otherwise: str, result: str) -> list[str]:
    """A C function that answers by a number's name."""
    lines = [f"static inline {result}", f"{name} (int {argument})", "{", f"  switch ({argument})", "    {"]
    lines += [f"    case {number}:\n      return {answer};" for number, answer in answers.items()]
    return [*lines, f"    default: return {otherwise};", "    }", "}"]


def cuda_h() -> str:
    """The numbers, and the functions that know all results."""
    lines = ["/* Made by gompy/native/generate.py from gompy/abi/cuda.py.  */", "#ifndef GOMPY_NATIVE_CUDA_H"]
    lines += ["#define GOMPY_NATIVE_CUDA_H", "#include <stddef.h>", "enum gompy_cuda_number", "{"]
    lines += [f"  {name} = {value}," for name, value in cuda_numbers().items()]
    lines += ["};"]
    names = {name: f'"{name}"' for name in cuda.RESULTS}
    words = {name: generate_cudart.c_text(text) for name, (_, text) in cuda.RESULTS.items()}
    lines += switch("cuda_error_name", "code", names, "NULL", "const char *")
    lines += switch("cuda_error_text", "code", words, "NULL", "const char *")
    lines += switch("cuda_is_sticky", "code", dict.fromkeys(cuda.STICKY, "1"), "0", "int")
    return "\n".join([*lines, "#endif"]) + "\n"


def cuda_pxd() -> str:
    """The same for Cython."""
    lines = ["# Made by gompy/native/generate.py from gompy/abi/cuda.py.", ""]
    lines += ['cdef extern from "gompy/native/cuda.h" nogil:', "    const char *cuda_error_name(int code)"]
    lines += ["    const char *cuda_error_text(int code)", "    bint cuda_is_sticky(int code)", "    enum:"]
    return "\n".join([*lines, *(f"        {name}" for name in cuda_numbers())]) + "\n"


PTX_NUMBERS = (
    "SUM_PLACES",
    "SUM_NEAR",
    "SUM_FAR",
    "PAGE",
    "HASHED_FROM",
    "BARRIER_ALIGNED",
    "CLUSTER_BARRIER",
    "BARRIER_PLACE",
    "RACE_WRITES",
    "RACE_STRONG",
    "RACE_ACQUIRES",
    "RACE_GLOBAL",
    "RACE_STRAYS",
    "RACE_IN_STEP",
    "RACE_PARAMS",
    "RACE_VARIABLES",
    "RACE_MIXED",
    "RACE_ALWAYS",
    "RACE_NOTES",
    "READ_LOW",
    "READ_LAST",
    "READ_LINES",
    "READ_SINCE",
    "NOTE_SIZE",
    "NOTE_BYTES",
    "NOTE_SHIFT",
    "WHOLE_SHIFT",
    "WHOLE_WRITTEN",
    "LOOKS",
    "TURNS_MARKED",
    "SPAN_SIZE_AT",
    "SPAN_WRITES",
    "ATOM_UNUSED",
    "ATOM_LATER",
    "TEXTURE_BYTES",
    "TEXTURE_LAYERED",
    "TEXTURE_CUBE",
    "TEXTURE_LEVEL",
    "TEXTURE_GRADIENT",
    "TEXTURE_GATHER",
    "TEXTURE_COMPONENT",
    "SURFACE_FORMATTED",
    "SURFACE_LAYERED",
    "SURFACE_STORE",
    "SURFACE_MODE",
    "SURFACE_BYTES",
    "SURFACE_COUNT",
    "SURFACE_REDUCE",
    "SURFACE_SIGNED",
    "QUERY_SURFACE",
    "QUERY_LEVEL",
    "SPREAD_COLUMNS",
    "SPREAD_DEEP",
    "SPREAD_LANE",
)


def ptx_numbers() -> dict[str, int]:
    """The members of all enumerations, how many each has, and other numbers that fit into an int."""
    found = {name: getattr(ptx, name) for name in PTX_NUMBERS}
    for prefix, members in ptx.ENUMERATIONS.items():
        found |= {f"{prefix}_{member.upper()}": number for number, member in enumerate(members)}
        found[f"{prefix}_COUNT"] = len(members)
    return found


def ptx_h() -> str:
    """What C code of the executor needs: numbers, and the part of the warp that compiled code sees."""
    lines = ["/* Made by gompy/native/generate.py from gompy/abi/ptx.py.  */", "#ifndef GOMPY_NATIVE_PTX_H"]
    lines += ["#define GOMPY_NATIVE_PTX_H", f"#define GOMPY_SHARED_BASE {ptx.SHARED_BASE:#x}ull"]
    lines += [f"#define GOMPY_SHARED_LIMIT {ptx.SHARED_LIMIT}"]
    lines += [f"#define GOMPY_LOCAL_BASE {ptx.LOCAL_BASE:#x}ull", f'#define GOMPY_MAGIC "{ptx.MAGIC.decode()}"']
    lines += [
        f'#define GOMPY_SLOW_FILE "{ptx.SLOW_FILES[0]}"',
        f'#define GOMPY_SLOW_FILE_CHECKED "{ptx.SLOW_FILES[1]}"',
    ]
    lines += [f'#define GOMPY_SLOW_PREFIX "{ptx.SLOW_PREFIXES[0]}"']
    lines += [f'#define GOMPY_SLOW_PREFIX_CHECKED "{ptx.SLOW_PREFIXES[1]}"', "enum gompy_ptx_number", "{"]
    lines += [f"  GOMPY_{name} = {number}," for name, number in ({"LANES": ptx.LANES} | ptx_numbers()).items()]
    lines += ["};", "static const char *const gompy_builtins[] = {"]
    lines += [f'  "{name}",' for name in ptx.BUILTINS]
    lines += ["};", "static const char *const gompy_form_letters[] = {"]
    lines += [f'  "{letters}",' for letters in ptx.FORM_LETTERS]
    lines += ["};", "static const char *const gompy_code_kinds[] = {"]
    lines += [f'  "{word}",' for word in ptx.CODE_KINDS]
    lines.append("};")
    for record in ("WARP", "SUMS", "NOTE"):
        fields, places = getattr(ptx, f"{record}_FIELDS"), getattr(ptx, record)
        lines.append(f"#define GOMPY_{record}_FIELDS \\")
        for name, kind in fields:
            base, bracket, rest = kind.partition("[")
            lines.append(f"  {base}{'' if base.endswith('*') else ' '}{name}{bracket}{rest}; \\")
        lines += ["", f"#define GOMPY_CHECK_{record}(record) \\"]
        lines += [f'  _Static_assert (offsetof (record, {name}) == {at}, "{name}"); \\' for name, at in places.items()]
        lines.append("")
    return "\n".join([*lines, "#endif"]) + "\n"


C_TYPES = {"I": "uint32_t", "i": "int32_t", "Q": "uint64_t", "q": "int64_t"}


def ptx_pxd() -> str:
    """The numbers for Cython, and the records of cache files; these have no gaps in C, either."""
    lines = ["# Made by gompy/native/generate.py from gompy/abi/ptx.py.", ""]
    lines += ["from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t", ""]
    lines += ['cdef extern from "gompy/native/ptx.h" nogil:']
    lines += ["    uint64_t GOMPY_SHARED_BASE, GOMPY_LOCAL_BASE, GOMPY_SHARED_LIMIT"]
    lines += [
        "    const char *GOMPY_MAGIC",
        "    const char *GOMPY_SLOW_FILE",
        "    const char *GOMPY_SLOW_FILE_CHECKED",
    ]
    lines += ["    const char *GOMPY_SLOW_PREFIX", "    const char *GOMPY_SLOW_PREFIX_CHECKED"]
    lines += [f"    const char *const gompy_builtins[{len(ptx.BUILTINS)}]"]
    lines += [f"    const char *const gompy_{name}[{len(ptx.CODE_KINDS)}]" for name in ("form_letters", "code_kinds")]
    lines += ["", "cdef enum:"]
    lines += [f"    {name} = {number}" for name, number in ptx_numbers().items()]
    for record, fields in ptx.RECORDS.items():
        lines += ["", f"cdef struct {record}:"]
        for letter, name in (field.split(" ") for field in fields.split(", ")):
            lines.append(f"    uint8_t {name}[{letter[:-1]}]" if letter[:-1] else f"    {C_TYPES[letter]} {name}")
        if record == "file_head":
            lines.append(f"    file_section section[{len(ptx.SECTIONS)}]")
    return "\n".join(lines) + "\n"


def check_log_numbers() -> dict[str, int]:
    """The members of the log's enumerations."""
    kinds = check_log.ENUMERATIONS.items()
    return {f"{prefix}_{member.name}": member.value for prefix, members in kinds for member in members}


def check_log_h() -> str:
    """The enumeration for C."""
    lines = ["/* Made by gompy/native/generate.py from gompy/abi/check_log.py.  */", "enum gompy_check_log_number", "{"]
    return "\n".join([*lines, *(f"  GOMPY_{name} = {number}," for name, number in check_log_numbers().items()), "};\n"])


def check_log_pxd() -> str:
    """The same for Cython."""
    lines = ["# Made by gompy/native/generate.py from gompy/abi/check_log.py.", "", "cdef enum:"]
    return "\n".join([*lines, *(f"    {name} = {number}" for name, number in check_log_numbers().items())]) + "\n"


def ompt_pxd() -> str:
    """The numbers, and the records as C has them."""
    lines = [pxd(ompt).rstrip("\n"), "", "from libc.stdint cimport uint64_t"]
    for record, fields in ompt.RECORDS.items():
        lines += ["", f"cdef struct {record}:", *(f"    {field}" for field in fields.split(", "))]
    return "\n".join(lines) + "\n"


def texts() -> dict[str, str]:
    """All files by name, with what is to be in them."""
    return {f"{name}.pxd": pxd(table) for name, table in TABLES.items()} | {
        "check_log.h": check_log_h(),
        "check_log.pxd": check_log_pxd(),
        "cuda.h": cuda_h(),
        "cuda_calls.h": generate_cuda_calls.cuda_calls_h(),
        "cuda_names.h": generate_cuda_calls.cuda_names_h(),
        "cuda.pxd": cuda_pxd(),
        "cuda_structures.h": generate_cuda_structures.cuda_structures_h(),
        "cuda_structures.pxd": generate_cuda_structures.cuda_structures_pxd(),
        "cudart.h": generate_cudart.cudart_h(),
        "cudart.pxd": generate_cudart.cudart_pxd(),
        "nvml.h": generate_nvml.nvml_h(),
        "nvml.pxd": generate_nvml.nvml_pxd(),
        "nvml_calls.h": generate_nvml.nvml_calls_h(),
        "nvml_names.h": generate_nvml.nvml_names_h(),
        "nvml_version.h": generate_nvml.nvml_version_h(),
        "nvrtc.h": generate_nvrtc.nvrtc_numbers_h(),
        "nvrtc.pxd": generate_nvrtc.nvrtc_pxd(),
        "ompt.pxd": ompt_pxd(),
        "ptx.h": ptx_h(),
        "ptx.pxd": ptx_pxd(),
        "map_kinds.h": map_kinds_h(),
        "map_kinds.pxd": map_kinds_pxd(),
        "targets.h": targets_h(),
        "targets.pxd": targets_pxd(),
    }


def write_all() -> None:
    """Write what has changed; a file that is right keeps its time."""
    for name, text in texts().items():
        path = HERE / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
