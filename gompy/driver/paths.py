"""Where the compiled parts of this installation lie (docs/internals.md lists them).

Only ``os.path``: every compile imports this module.
"""

from __future__ import annotations

import os

from gompy import BDIR, NATIVE, PACKAGE
from gompy.abi.targets import TARGETS

__all__ = ("BDIR", "CUDALIBDIR", "LIBDIR", "LLVMLIBDIR", "LLVMRTLDIR", "NATIVE", "NEEDED", "PREFIX", "missing")

PREFIX: str = os.path.dirname(PACKAGE)
"""The folder that holds the package ``gompy``."""
LIBDIR: str = os.path.join(NATIVE, "lib")
"""libgompy, the device plugins, and the program that a device process runs."""
CUDALIBDIR: str = os.path.join(NATIVE, "cuda")
"""The emulated CUDA driver, libcuda.so.1: for ``LD_LIBRARY_PATH``, never on the default path."""
LLVMLIBDIR: str = os.path.join(NATIVE, "llvm")
"""libomptarget by gompy, for clang's programs: the same."""
LLVMRTLDIR: str = os.path.join(NATIVE, "llvm-rtl")
"""Our devices as a plugin of LLVM's own libomptarget: the same."""
SPECS: str = os.path.join(PACKAGE, "driver", "offload.specs")
"""Spec file that carries target-specific offload options to the compiler proper (``compile_words`` in plan.py)."""
OPENACC_SPECS: str = os.path.join(PACKAGE, "driver", "openacc.specs")
"""Spec file that has ``-fno-builtin-acc_on_device`` go to the compilers that know it, and not to Fortran's."""

CHECK_SPECS: str = os.path.join(PACKAGE, "driver", "check.specs")
"""Spec file by which the compilers proper, and not the link, know of -fsanitize=thread (gompy/access)."""
RELOCATABLE: str = os.path.join(PACKAGE, "driver", "relocatable")
"""Holds an empty libgomp.a.  ``gcc -r -fopenmp`` joins the static libgomp into its output, GOMP_target_ext included;
found first, the empty archive prevents that."""

NEEDED: tuple[str, ...] = (
    "bdir/as",
    "bdir/lto-wrapper",
    "bdir/crtoffloadbegin.o",
    "bdir/crtoffloadend.o",
    "bdir/crtoffloadtable.o",
    *(f"bdir/{target.tool}" for target in TARGETS if target.maker),
    "lib/libgompy.so",
    "lib/libgompy.so.1",
    *(f"lib/libgomp-plugin-{target.plugin}.so.1" for target in TARGETS if target.emulated),
    "lib/offload_target_main",
)
"""Files below NATIVE without which an offloading program cannot be built or run."""


def missing() -> list[str]:
    """Those of NEEDED that this installation lacks, as absolute paths."""
    paths = (os.path.join(NATIVE, name) for name in NEEDED)
    return [path for path in paths if not os.path.exists(path)]
