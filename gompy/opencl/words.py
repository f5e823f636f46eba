"""OpenCL C's words that C programs use otherwise, and what is to be put in their place (OpenCL C 3.0, 6.1 and 6.15)."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

PRELUDE: Final = """\
#pragma OPENCL FP_CONTRACT OFF
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
typedef char int8_t; typedef short int16_t; typedef int int32_t; typedef long int64_t;
typedef uchar uint8_t; typedef ushort uint16_t; typedef uint uint32_t; typedef ulong uint64_t;"""
_SIZES: Final = ("8", "16", "32", "64")
BUILTIN: Final = frozenset(
    (
        *(f"{sign}int{size}_t" for sign in ("", "u") for size in _SIZES),
        *(
            "size_t",
            "ptrdiff_t",
            "intptr_t",
            "uintptr_t",
            "bool",
            "true",
            "false",
            "NULL",
            "uint",
            "ulong",
            "ushort",
            "uchar",
        ),
        *("isnan", "isinf"),
    )
)
"""Types that the prelude or OpenCL has, and functions that mean the same in both."""
_ONE: Final = (
    *("sqrt", "fabs", "sin", "cos", "tan", "exp", "log", "log2", "log10", "floor", "ceil", "round", "trunc", "rint"),
    *("atan", "asin", "acos", "sinh", "cosh", "tanh", "cbrt", "exp2", "log1p", "expm1"),
)
_TWO: Final = ("pow", "fmin", "fmax", "fmod", "atan2", "hypot", "copysign")
MATH: Final = {
    **{name: f"double c_{name} (double a) {{ return {name} (a); }}" for name in _ONE},
    **{f"{name}f": f"float c_{name}f (float a) {{ return {name} (a); }}" for name in _ONE},
    **{name: f"double c_{name} (double a, double b) {{ return {name} (a, b); }}" for name in _TWO},
    **{f"{name}f": f"float c_{name}f (float a, float b) {{ return {name} (a, b); }}" for name in _TWO},
    "abs": "int c_abs (int a) { return a < 0 ? -a : a; }",
    "labs": "long c_labs (long a) { return a < 0 ? -a : a; }",
    "llabs": "long c_llabs (long a) { return a < 0 ? -a : a; }",
    "omp_is_initial_device": "int c_omp_is_initial_device (void) { return 0; }",
}
"""C's functions with C's types: OpenCL's sqrt of a float is a float, and its abs is unsigned."""
RESERVED: Final = frozenset(
    (
        *(
            "half",
            "kernel",
            "global",
            "local",
            "constant",
            "private",
            "generic",
            "pipe",
            "uniform",
            "event_t",
            "sampler_t",
        ),
        *(
            f"{kind}{width}"
            for kind in ("char", "uchar", "short", "ushort", "int", "uint", "long", "ulong", "float", "double")
            for width in ("2", "3", "4", "8", "16")
        ),
    )
)
"""Words that a C program may have for names."""


def _least(kind: str) -> str:
    return {"float": "-INFINITY", "double": "-INFINITY"}.get(kind, f"{_limit(kind)}_MIN" if kind[0] != "u" else "0")


def _greatest(kind: str) -> str:
    return {"float": "INFINITY", "double": "INFINITY"}.get(kind, f"{_limit(kind)}_MAX")


def _limit(kind: str) -> str:
    return {"int": "INT", "uint": "UINT", "long": "LONG", "ulong": "ULONG"}[kind]


IDENTITIES: Final[dict[str, Callable[[str], str]]] = {
    "+": lambda kind: "0",
    "*": lambda kind: "1",
    "|": lambda kind: "0",
    "&": lambda kind: "~0",
    "^": lambda kind: "0",
    "&&": lambda kind: "1",
    "||": lambda kind: "0",
    "min": _greatest,
    "max": _least,
}
"""What each work item's copy of a reduction's variable begins with (OpenMP 5.2, 5.5.3)."""


def kernel_name(function: str) -> str:
    """The name of a region's kernel: OpenCL C has no dots in names."""
    return re.sub(r"\W", "_", function)
