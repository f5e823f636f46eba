"""What is made of gompy/abi/nvrtc.py: the numbers of libnvrtc, and nvrtc.h for programs."""

from __future__ import annotations

from gompy.abi import nvrtc

MADE = "Made by gompy/native/generate_nvrtc.py from gompy/abi/nvrtc.py."


def numbers() -> dict[str, int]:
    """Results, letters of records, the version."""
    letters = {f"NVRTC_RECORD_{name}": ord(letter) for name, letter in nvrtc.RECORDS.items()}
    version = {"NVRTC_MAJOR": nvrtc.VERSION[0], "NVRTC_MINOR": nvrtc.VERSION[1]}
    return nvrtc.RESULTS | letters | version | {"NVRTC_ARCHITECTURES": len(nvrtc.ARCHITECTURES)}


def nvrtc_numbers_h() -> str:
    """For the library."""
    lines = [f"/* {MADE}  */", "#ifndef GOMPY_NATIVE_NVRTC_H", "#define GOMPY_NATIVE_NVRTC_H"]
    lines += ["enum gompy_nvrtc_number", "{", *(f"  {name} = {value}," for name, value in numbers().items()), "};"]
    listed = ", ".join(str(number) for number in nvrtc.ARCHITECTURES)
    lines += [f"static const int nvrtc_architectures[] = {{ {listed} }};"]
    lines += ["static inline const char *", "nvrtc_result_name (int code)", "{", "  switch (code)", "    {"]
    lines += [f'    case {number}: return "{name}";' for name, number in nvrtc.RESULTS.items()]
    lines += ['    default: return "NVRTC_ERROR unknown";', "    }", "}"]
    lines += ["#define GOMPY_NVRTC_ABSENT(X) \\", *(f"  X ({name}) \\" for name in nvrtc.ABSENT), ""]
    return "\n".join([*lines, "#endif"]) + "\n"


def nvrtc_pxd() -> str:
    """The same for Cython."""
    lines = [f"# {MADE}", "", 'cdef extern from "gompy/native/nvrtc.h" nogil:']
    lines += ["    const char *nvrtc_result_name(int code)", "    const int nvrtc_architectures[]", "    enum:"]
    return "\n".join([*lines, *(f"        {name}" for name in numbers())]) + "\n"


def nvrtc_h() -> str:
    """nvrtc.h: the interface for C and C++."""
    lines = [f"/* {MADE}", "   CUDA C++ compiled at run time (docs/nvrtc.md).  */", "#ifndef GOMPY_NVRTC_H"]
    lines += ["#define GOMPY_NVRTC_H", "#include <stddef.h>", "#ifdef __cplusplus", 'extern "C" {', "#endif"]
    lines += ["typedef enum", "{", *(f"  {name} = {number}," for name, number in nvrtc.RESULTS.items())]
    lines += ["} nvrtcResult;", "typedef struct _nvrtcProgram *nvrtcProgram;"]
    lines += ["const char *nvrtcGetErrorString (nvrtcResult result);"]
    lines += [f"nvrtcResult {name} ({parameters});" for name, parameters in nvrtc.CALLS.items()]
    lines += ["/* Not implemented: a line on standard error, and NVRTC_ERROR_INTERNAL_ERROR.  */"]
    lines += [f"nvrtcResult {name} ({parameters});" for name, parameters in nvrtc.ABSENT.items()]
    return "\n".join([*lines, "#ifdef __cplusplus", "}", "#endif", "#endif"]) + "\n"


def page_tables() -> list[str]:
    """The rows of docs/nvrtc.md: calls that are there, and those that are not."""
    rows = (("calls", ["nvrtcGetErrorString", *nvrtc.CALLS]), ("not implemented", list(nvrtc.ABSENT)))
    return [f"| {what} | " + ", ".join(f"`{name}`" for name in names) + " |" for what, names in rows]
