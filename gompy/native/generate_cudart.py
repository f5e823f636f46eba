"""What is made of gompy/abi/cudart*.py: libcudart's numbers, and cuda_runtime_api.h for programs."""

from __future__ import annotations

import struct
import textwrap

from gompy.abi import cudart, cudart_calls, cudart_device
from gompy.native import generate_cuda_header, generate_curand, generate_nvrtc

MADE = "Made by gompy/native/generate_cudart.py from gompy/abi/cudart*.py."


def c_text(text: str) -> str:
    """A literal; a long one in several parts, a line each."""
    parts = textwrap.wrap(text, 90, drop_whitespace=False) or [""]
    return "\n        ".join(f'"{part}"' for part in parts)


def enumerations() -> list[str]:
    """The enumerations in C, results first."""
    lines = ["enum cudaError", "{", *(f"  {name} = {number}," for name, (number, _) in cudart.RESULTS.items()), "};"]
    for name, members in {**cudart.ENUMERATIONS, "cudaDeviceAttr": cudart_device.attributes()}.items():
        lines += [f"enum {name}", "{", *(f"  {member} = {number}," for member, number in members.items()), "};"]
    return lines


def properties() -> list[str]:
    """struct cudaDeviceProp."""
    lines = ["typedef struct CUuuid_st cudaUUID_t;", "struct cudaDeviceProp", "{"]
    return [*lines, *(f"  {kind} {member};" for kind, member, _ in cudart_device.PROPERTIES), "};"]


def flags() -> list[str]:
    """The flags as macros."""
    values = {"CUDART_VERSION": cudart.CUDART_VERSION, **cudart.FLAGS}
    return [f"#define {name} {value if value >= 0 else f'({value})'}" for name, value in values.items()]


def fills() -> list[str]:
    """The macro's rows: member, number of the element, driver's attribute."""
    lines = ["#define GOMPY_CUDART_PROPERTIES(X) \\"]
    for _, member, names in cudart_device.PROPERTIES:
        name = member.partition("[")[0]
        elements = [f"{name}[{at}]" for at in range(3)] if "[" in member else [name]
        rows = zip(elements, names.split(), strict=False)
        lines += [f"  X ({element}, CU_DEVICE_ATTRIBUTE_{attribute}) \\" for element, attribute in rows]
    return [*lines, ""]


def stubs() -> list[str]:
    """The calls that are not there, for the library: each says so."""
    names = [name for names in cudart_calls.ABSENT.values() for name in names]
    return ["#define GOMPY_CUDART_ABSENT(X) \\", *(f"  X ({name}) \\" for name in names), ""]


def passed() -> list[str]:
    """The calls that are handed to the driver: name, the driver's, parameters as words, the words."""
    lines = ["#define GOMPY_CUDART_PASSED(X) \\"]
    every = {name: parameters for calls in cudart_calls.CALLS.values() for name, parameters in calls.items()}
    for name, drivers in cudart_calls.PASSED.items():
        words = [f"a{at}" for at in range(every[name].count(",") + 1)]
        takes = ", ".join(f"uintptr_t {word}" for word in words)
        lines += [f"  X ({name}, {drivers}, \\", f"     ({takes}), \\", f"     ({', '.join(words)})) \\"]
    return [*lines, ""]


def texts_of(name: str, member: int) -> list[str]:
    """A function from the number of a result to its name (0) or its words (1)."""
    lines = ["static inline const char *", f"{name} (int code)", "{", "  switch (code)", "    {"]
    for result, (number, words) in cudart.RESULTS.items():
        lines.append(f"    case {number}:\n      return {c_text(words if member else result)};")
    return [*lines, "    default: return NULL;", "    }", "}"]


def numbers() -> dict[str, int]:
    """What Cython sees of the numbers."""
    found = {name: number for name, (number, _) in cudart.RESULTS.items()}
    for members in cudart.ENUMERATIONS.values():
        found |= members
    return found | cudart.FLAGS


def cudart_h() -> str:
    """For the library."""
    lines = [
        f"/* {MADE}  */",
        "#ifndef GOMPY_NATIVE_CUDART_H",
        "#define GOMPY_NATIVE_CUDART_H",
        "#include <stddef.h>",
        "#include <stdint.h>",
        '#include "gompy/cudart/include/gompy_cuda_uuid.h"',
    ]
    lines += [*enumerations(), *flags(), *properties(), *fills(), *stubs(), *passed()]
    lines += [*texts_of("cudart_error_name", 0), *texts_of("cudart_error_text", 1)]
    sizes = (("sizeof (struct cudaDeviceProp)", cudart_device.PROPERTIES_SIZE),)
    lines += [f'_Static_assert ({what} == {size}, "cudaDeviceProp");' for what, size in sizes]
    return "\n".join([*lines, "#endif"]) + "\n"


def cudart_pxd() -> str:
    """The same for Cython."""
    lines = [f"# {MADE}", "", 'cdef extern from "gompy/native/cudart.h" nogil:']
    lines += ["    const char *cudart_error_name(int code)", "    const char *cudart_error_text(int code)"]
    lines += ["    ctypedef struct cudaUUID_t:", "        char *bytes"]
    lines += ['    ctypedef struct cudaDeviceProp "struct cudaDeviceProp":', "        char *name", "        int major"]
    lines += ["        int minor", "        cudaUUID_t uuid", "        size_t totalGlobalMem"]
    lines += ["    enum:", "        CUDART_VERSION"]
    return "\n".join([*lines, *(f"        {name}" for name in numbers())]) + "\n"


def with_defaults(name: str, parameters: str) -> str:
    """A call's parameters; GOMPY_OR names what C++ takes for one that is left out."""
    values = cudart_calls.DEFAULTS.get(name, ())
    given = parameters.split(", ")
    first = len(given) - len(values)
    return ", ".join([*given[:first], *(f"{p} GOMPY_OR ({v})" for p, v in zip(given[first:], values, strict=True))])


def prototypes() -> list[str]:
    """The calls' declarations."""
    lines = []
    for subject, calls in cudart_calls.CALLS.items():
        lines.append(f"/* {subject}.  */")
        for name, parameters in calls.items():
            result = "const char *" if name in cudart_calls.TEXTS else "cudaError_t "
            lines.append(f"{result}{name} ({with_defaults(name, parameters)});")
    return lines


def api_h() -> str:
    """cuda_runtime_api.h: the interface for C and C++."""
    lines = [
        f"/* {MADE}",
        "   The CUDA runtime's calls (docs/cuda-runtime.md).  */",
        "#ifndef GOMPY_CUDA_RUNTIME_API_H",
    ]
    lines += ["#define GOMPY_CUDA_RUNTIME_API_H", "#include <stddef.h>", '#include "gompy_cuda_uuid.h"']
    lines += [*flags(), *enumerations()]
    lines += ["typedef enum cudaError cudaError_t;", *properties()]
    lines += ["#ifndef __cplusplus"]
    lines += [f"typedef enum {name} {name};" for name in [*cudart.ENUMERATIONS, "cudaDeviceAttr"]]
    lines += ["typedef struct cudaDeviceProp cudaDeviceProp;", "#endif", '#include "gompy_cuda_types.h"']
    newer = [name for calls in cudart_calls.CALLS.values() for name in calls if name.endswith("_v2")]
    lines += [*(f"#define {name.removesuffix('_v2')} {name}" for name in newer), "#ifdef __cplusplus"]
    lines += ["#define GOMPY_OR(value) = value", 'extern "C" {', "#else", "#define GOMPY_OR(value)", "#endif"]
    lines += [*prototypes(), "#undef GOMPY_OR", "#ifdef __cplusplus", "}", "#endif", "#endif"]
    return "\n".join(lines) + "\n"


def constants_h() -> str:
    """math_constants.h."""
    lines = [f"/* {MADE}", "   Constants of single and double precision.  */", "#ifndef GOMPY_MATH_CONSTANTS_H"]
    lines += ["#define GOMPY_MATH_CONSTANTS_H"]
    for name, value in cudart.CONSTANTS.items():
        (single,) = struct.unpack("f", struct.pack("f", value))
        lines += [f"#define CUDART_{name}_F {single!r}F", f"#define CUDART_{name} {value!r}"]
    for suffix, builtin, kind in (("_F", "f", "FLT"), ("", "", "DBL")):
        lines += [f"#define CUDART_INF{suffix} __builtin_huge_val{builtin} ()"]
        lines += [f'#define CUDART_NAN{suffix} __builtin_nan{builtin} ("")']
        lines += [f"#define CUDART_NEG_ZERO{suffix} (-0.0{'F' if suffix else ''})"]
        lines += [f"#define CUDART_MIN_DENORM{suffix} __{kind}_DENORM_MIN__"]
        lines += [f"#define CUDART_MAX_NORMAL{suffix} __{kind}_MAX__"]
    return "\n".join([*lines, "#endif"]) + "\n"


def forwarding_h(name: str, other: str) -> str:
    """A header that is a part of another one."""
    return f'/* {MADE}\n   {name}: a part of this one.  */\n#include "{other}"\n'


def standard_h(name: str) -> str:
    """cuda/std/NAME: the host's header, its names in cuda::std as well."""
    lines = [f"/* {MADE}", f"   cuda::std: what the host's {name} has.  */", f"#include <{name}>"]
    return "\n".join([*lines, "namespace cuda { namespace std { using namespace ::std; } }"]) + "\n"


def lacking_h(name: str, library: str) -> str:
    """A header of a library that is not here; whoever has it in another folder gets that."""
    lines = [f"/* {MADE}", f"   {library}.  */", f"#if __has_include_next (<{name}>)", f"#include_next <{name}>"]
    return "\n".join([*lines, "#else", f"#error {library} ({name}) is not implemented by gompy", "#endif"]) + "\n"


def headers() -> dict[str, str]:
    """The headers for programs that are made of the tables, by name."""
    forwarding = {name: forwarding_h(name, other) for other, names in cudart.FORWARDED.items() for name in names}
    standard = {f"cuda/std/{name}": standard_h(name) for name in cudart.STANDARD}
    made = {"cuda_runtime_api.h": api_h(), "math_constants.h": constants_h()}
    made["gompy_curand_jumps.h"] = generate_curand.jumps_h("Made by gompy/native/generate_curand.py.")
    made["nvrtc.h"] = generate_nvrtc.nvrtc_h()
    made |= generate_cuda_header.headers(cudart.CUDART_VERSION)
    lacking = {name: lacking_h(name, library) for library, names in cudart.LIBRARIES.items() for name in names}
    return made | forwarding | standard | lacking


def page_tables() -> list[str]:
    """The rows of docs/cuda-runtime.md: calls that are there, a compiler's, and those that are not."""
    rows = [
        f"| {subject} | " + ", ".join(f"`{name.removesuffix('_v2')}`" for name in calls) + " |"
        for subject, calls in cudart_calls.CALLS.items()
    ]
    rows += [f"| `{name}` | {what} |" for name, what in cudart_calls.COMPILER_CALLS.items()]
    absent = cudart_calls.ABSENT.items()
    return rows + [f"| {subject} | " + ", ".join(f"`{name}`" for name in names) + " |" for subject, names in absent]
