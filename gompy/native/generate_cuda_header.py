"""cuda.h for programs: the CUDA driver interface, made of gompy/abi/cuda*.py."""

from __future__ import annotations

from gompy.abi import cuda, cuda_calls, cuda_enumerations, cuda_types
from gompy.native import generate_cuda_structures

MADE = "Made by gompy/native/generate_cuda_header.py from gompy/abi/cuda*.py."


def members(enumeration: str) -> dict[str, int]:
    """An enumeration's members with their numbers.  Raises ValueError if two tables disagree."""
    found: dict[str, int] = {}
    if enumeration == "CUresult":
        found = {name: number for name, (number, _) in cuda.RESULTS.items()}
    last = -1
    for word in cuda_enumerations.ENUMERATIONS[enumeration].split():
        name, _, number = word.partition("=")
        known = getattr(cuda, name, None)
        if known is not None and number and int(number) != known:
            raise ValueError(f"{name} is {known} in cuda.py, {number} in cuda_enumerations.py")
        last = known if isinstance(known, int) else int(number) if number else last + 1
        found[name] = last
    return found


def enumerations() -> list[str]:
    """The enumerations in C."""
    lines = []
    for name in cuda_enumerations.ENUMERATIONS:
        tag = "cudaError_enum" if name == "CUresult" else f"{name}_enum"
        lines += [f"typedef enum {tag}", "{"]
        lines += [f"  {member} = {number}," for member, number in members(name).items()]
        lines += [f"}} {name};"]
    return lines


def flags() -> list[str]:
    """The numbers that belong to no enumeration."""
    named = {member for name in cuda_enumerations.ENUMERATIONS for member in members(name)}
    rest = {name: value for name, value in vars(cuda).items() if name.startswith("CU") and isinstance(value, int)}
    return [
        f"#define {name} {value}" for name, value in rest.items() if name not in named and name not in cuda.POINTERS
    ]


def _tables() -> tuple[dict[str, str], dict[str, str]]:
    """The types by parameter, and by call and parameter."""
    usual = {name: kind for kind, names in cuda_types.TYPES.items() for name in names.split()}
    others = {place: kind for kind, places in cuda_types.EXCEPTIONS.items() for place in places.split()}
    return usual, others


def parameters(call: cuda_calls.Call) -> list[str]:
    """A call's parameters in C.  Raises KeyError for a name that has no type."""
    usual, others = _tables()
    found = []
    for name, kind in call.parameters:
        type_ = others.get(f"{call.name}.{name}") or usual[name]
        stars = type_.count("*") + (kind in "no")
        found.append(f"{type_.rstrip('*')} {'*' * stars}{name}")
    return found


def newest(version: int) -> dict[str, str]:
    """The form of each name that programs of a version get: cuCtxCreate_v2 for cuCtxCreate."""
    forms: dict[str, tuple[int, str]] = {}
    for call in cuda_calls.all_calls():
        base = cuda_calls.base_name(call.name)
        if call.here and call.since <= version and call.name not in cuda_types.BY_NAME_ONLY:
            forms[base] = max(forms.get(base, (0, "")), (call.since, call.name))
    forms |= {name: (since, form) for name, (form, since) in cuda_calls.NEWER.items() if since <= version}
    return {base: name for base, (_, name) in forms.items() if base != name}


def prototypes(version: int) -> list[str]:
    """The calls' declarations, those of later versions among them."""
    names, lines = newest(version), []
    lines += [f"#define {base} {form}" for base, form in names.items()]
    lines += ["#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM"]
    for call in cuda_calls.all_calls():
        if call.here and call.own and call.name not in names:
            lines.append(f"#define {call.name} {call.name}{cuda_calls.OWN_SUFFIX[call.own]}")
    lines += ["#endif"]
    lines += ["#ifdef __cplusplus", 'extern "C" {', "#endif"]
    for call in cuda_calls.all_calls():
        if call.here and call.name not in names:
            lines.append(f"CUresult {call.name} ({', '.join(parameters(call)) or 'void'});")
    return [*lines, "#ifdef __cplusplus", "}", "#endif"]


def version_h(version: int) -> str:
    """The version of CUDA, for cuda.h and for what the compiler includes before a program."""
    lines = [f"/* {MADE}  */", "#ifndef CUDA_VERSION", f"#define CUDA_VERSION {version}", "#endif"]
    return "\n".join(lines) + "\n"


def cuda_h(version: int) -> str:
    """cuda.h."""
    lines = [f"/* {MADE}", "   The CUDA driver's calls (docs/cuda.md).  */", "#ifndef GOMPY_CUDA_H"]
    lines += ["#define GOMPY_CUDA_H", '#include "gompy_cuda_version.h"', *enumerations(), *flags()]
    lines += ['#include "gompy_cuda_driver_types.h"', *prototypes(version), "#endif"]
    return "\n".join(lines) + "\n"


def headers(version: int) -> dict[str, str]:
    """The headers by name; cudaProfiler.h has nothing else."""
    also = f'/* {MADE}  */\n#include "cuda.h"\n'
    made = {"cuda.h": cuda_h(version), "gompy_cuda_version.h": version_h(version), "cudaProfiler.h": also}
    return made | {"gompy_cuda_structures.h": generate_cuda_structures.programs_h()}
