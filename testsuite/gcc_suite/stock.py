"""What the tests of GCC 12 can tell of the machine's own libgomp, which need not be 12's."""

from __future__ import annotations

import ctypes

from . import expected, source


def keeps_unmapped_pointers() -> bool:
    """Whether it is 14's or newer: a pointer to what is not mapped keeps its value, as OpenMP 5.1 has it."""
    try:
        return hasattr(ctypes.CDLL("libgomp.so.1"), "GOMP_target_map_indirect_ptr")
    except OSError:
        return False


def openmp_51_failures() -> dict[str, str]:
    """The failures that come of this with a runtime that has no GOMPY_UNMAPPED: result name to reason."""
    known = expected.read(source.OPENMP_50)
    return {
        f"libgomp.c*/{name} execution test": f"libgomp 14: {reason} in OpenMP 5.0" for name, reason in known.items()
    }
