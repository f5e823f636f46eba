"""Where the compiled parts of this installation lie (docs/internals.md lists them).

Only ``os.path``: every compile imports this module.
"""

from __future__ import annotations

import os

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

PREFIX: str = os.path.dirname(_PACKAGE)
"""The folder that holds the package ``gompy``."""
NATIVE: str = os.path.join(_PACKAGE, "_native")
BDIR: str = os.path.join(NATIVE, "bdir")
"""Given to gcc with ``-B``: the assembler filter, lto-wrapper, the crtoffload objects, ``accel/<target>/mkoffload``."""
LIBDIR: str = os.path.join(NATIVE, "lib")
"""libgompy, the device plugins, and the program that a device process runs."""
CUDALIBDIR: str = os.path.join(NATIVE, "cuda")
"""The emulated CUDA driver, libcuda.so.1: for ``LD_LIBRARY_PATH``, never on the default path."""
SPECS: str = os.path.join(_PACKAGE, "driver", "offload.specs")
"""Spec file that carries target-specific offload options to the compiler proper (``compile_words`` in plan.py)."""
OPENACC_SPECS: str = os.path.join(_PACKAGE, "driver", "openacc.specs")
"""Spec file that has ``-fno-builtin-acc_on_device`` go to the compilers that know it, and not to Fortran's."""

RELOCATABLE: str = os.path.join(_PACKAGE, "driver", "relocatable")
"""Holds an empty libgomp.a.  ``gcc -r -fopenmp`` joins the static libgomp into its output, GOMP_target_ext included;
found first, the empty archive prevents that."""

NEEDED: tuple[str, ...] = (
    "bdir/as",
    "bdir/lto-wrapper",
    "bdir/crtoffloadbegin.o",
    "bdir/crtoffloadend.o",
    "bdir/crtoffloadtable.o",
    "bdir/accel/x86_64-intelmicemul-linux-gnu/mkoffload",
    "bdir/accel/nvptx-none/mkoffload",
    "lib/libgompy.so",
    "lib/libgompy.so.1",
    "lib/libgomp-plugin-intelmic.so.1",
    "lib/offload_target_main",
)
"""Files below NATIVE without which an offloading program cannot be built or run."""


def missing() -> list[str]:
    """Those of NEEDED that this installation lacks, as absolute paths."""
    paths = (os.path.join(NATIVE, name) for name in NEEDED)
    return [path for path in paths if not os.path.exists(path)]
