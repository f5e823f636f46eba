"""The source of a cell: its text as the body of a function whose arguments are the notebook's arrays and numbers."""

from __future__ import annotations

from typing import Any, Final

from gompy import UserError

C_TYPES: Final = {
    "int8": "signed char",
    "uint8": "unsigned char",
    "int16": "short",
    "uint16": "unsigned short",
    "int32": "int",
    "uint32": "unsigned int",
    "int64": "long",
    "uint64": "unsigned long",
    "float32": "float",
    "float64": "double",
}
FORTRAN_TYPES: Final = {
    "int8": "integer(1)",
    "int16": "integer(2)",
    "int32": "integer(4)",
    "int64": "integer(8)",
    "float32": "real(4)",
    "float64": "real(8)",
    "complex64": "complex(4)",
    "complex128": "complex(8)",
}
SUFFIXES: Final = {"c": ".c", "c++": ".cc", "fortran": ".f90"}
COMPILERS: Final = {"c": "gompcc", "c++": "gompc++", "fortran": "gompfortran"}


def element(name: str, value: Any, types: dict[str, str]) -> str:
    """The language's type of an array's elements."""
    kind = str(value.dtype)
    if kind not in types:
        raise UserError(f"{name}: no type for elements of {kind}; there are {', '.join(types)}")
    return types[kind]


def c_source(arguments: dict[str, Any], body: str, language: str) -> str:
    """A C or C++ function.  Of an array A there are ``A`` and ``A_size``, its elements."""
    parameters, maps = [], []
    for name, value in arguments.items():
        if hasattr(value, "dtype"):
            parameters += [f"{element(name, value, C_TYPES)} *{name}", f"const long {name}_size"]
            maps.append(f"{name}[:{name}_size]")
        else:
            parameters.append(f"const {'double' if isinstance(value, float) else 'long'} {name}")
    lines = ["#include <math.h>", "#include <omp.h>", "#include <stdio.h>", "#include <stdlib.h>"]
    lines += ['extern "C"' if language == "c++" else "", f"void gompy_cell ({', '.join(parameters) or 'void'})", "{"]
    lines += [f"#pragma omp target data map(tofrom: {', '.join(maps)})" if maps else "", "{", '#line 2 "cell"', body]
    return "\n".join([*lines, "}", "fflush (stdout);", "}", ""])


def fortran_source(arguments: dict[str, Any], body: str) -> str:
    """A Fortran subroutine.  Arrays have the shape that numpy shows, in Fortran's order of memory."""
    declared, maps = [], []
    for name, value in arguments.items():
        if hasattr(value, "dtype"):
            shape = ", ".join(map(str, value.shape)) or "1"
            declared.append(f"{element(name, value, FORTRAN_TYPES)} :: {name}({shape})")
            maps.append(name)
        else:
            kind = "real(8)" if isinstance(value, float) else "integer(8)"
            declared.append(f"{kind}, value :: {name}")
    lines = [f"subroutine gompy_cell ({', '.join(arguments)}) bind(c, name='gompy_cell')", "use omp_lib", *declared]
    if maps:
        body = f"!$omp target data map(tofrom: {', '.join(maps)})\n{body}\n!$omp end target data"
    return "\n".join([*lines, body, "end subroutine", ""])
