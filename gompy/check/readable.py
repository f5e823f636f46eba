"""Names of functions as the program has them: regions from their functions in PTX, C++'s without mangling."""

from __future__ import annotations

import ctypes
import re
from functools import cache

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

LIBRARY: Final = "libstdc++.so.6"
OPENING: Final = "<([{"
CLOSING: Final = ">)]}"


@cache
def _demangler() -> ctypes._NamedFuncPointer | None:
    try:
        function = ctypes.CDLL(LIBRARY).__cxa_demangle
    except (OSError, AttributeError):
        return None
    function.restype = ctypes.c_void_p
    return function


def demangled(name: str) -> str:
    """``scale<float>._omp_fn.0`` of ``_Z5scaleIfEvPT_._omp_fn.0``: without parameters and return type.

    Any other name, and each one where the system has no libstdc++, stays as it is.  What gompy/plugins/cxx_names.h
    does in the program; a test compares them.
    """
    stem, dot, suffix = name.partition(".")
    function = _demangler() if stem.startswith("_Z") else None
    if function is None:
        return name
    address = function(stem.encode(), None, None, None)
    if not address:
        return name
    plain = ctypes.string_at(address).decode("utf-8", "replace")
    ctypes.CDLL(None).free(ctypes.c_void_p(address))
    return _behind_type(_before_parameters(plain)) + dot + suffix


def _before_parameters(plain: str) -> str:
    depth = 0
    last = plain.rfind(")")
    for at in range(last, 0, -1):
        depth += (plain[at] == ")") - (plain[at] == "(")
        if depth == 0:
            rest = plain[last + 1 :]
            return plain[:at] + (rest if rest.startswith("::") else "")  # a variable of the function's
    return plain


def _behind_type(plain: str) -> str:
    """Behind a template's return type: the last blank outside of brackets, but for ``operator new`` and the like."""
    found = depth = 0
    for match in re.finditer(r"[<>()\[\]{} ]", plain):
        depth += (match[0] in OPENING) - (match[0] in CLOSING)
        if match[0] == " " and depth == 0:
            found = match.end()
    return plain if "operator" in plain else plain[found:]


def gpu_name(kernel: str) -> str:
    """A region's name from that of its kernel, or of its function in PTX, which has ``$`` for dots."""
    return demangled(kernel.removesuffix("$impl").replace("$", "."))
