"""What DejaGnu and GCC's .exp files are told: site.exp and libgomp-test-support.exp of a work directory.

In a GCC build configure and make write these two files (libgomp/testsuite/Makefile.am, libgomp-test-support.exp.in);
here they name installed compilers, so that the suite runs as it does for an installed GCC.
"""

from __future__ import annotations

import platform
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
GLOBAL = HERE / "global.exp"
TARGETS = {"intelmic": "x86_64-intelmicemul-linux-gnu", "nvptx": "nvptx-none", "disable": ""}
"""OFFLOAD_TARGET to what configure would have put into offload_targets."""


@dataclass(frozen=True)
class Site:
    """One configuration of the suite.

    compiler: command of the C compiler, which compiles C++ and Fortran too (as in GCC's drivers).  target: a key of
    TARGETS.  selection: file with the paths of the tests to run, None for all.  timeout: seconds, 0 for GCC's own.
    """

    srcdir: Path
    compiler: str
    target: str
    selection: Path | None = None
    timeout: int = 0
    acc_device_type: str = "intelmic"


def triplet() -> str:
    """The machine as config.guess names it."""
    return f"{platform.machine()}-pc-linux-gnu"


def quote(text: str) -> str:
    """A Tcl word in double quotes."""
    for mark in ("\\", '"', "$", "["):
        text = text.replace(mark, f"\\{mark}")
    return f'"{text}"'


def write(site: Site, work: Path) -> None:
    """Write both files into a work directory.  Raises OSError."""
    machine = triplet()
    # The emulated device is what gompcc compiles for anyway.
    options = {"intelmic": "", "disable": "-foffload=disable"}.get(site.target, f"-foffload={TARGETS[site.target]}")
    values = {
        "srcdir": str(site.srcdir),
        "objdir": str(work),
        **{f"{who}_{what}": machine for who in ("build", "host", "target") for what in ("alias", "triplet")},
        "GCC_UNDER_TEST": site.compiler,
        # The drivers only ask whether these two exist; the compiler they call is GCC_UNDER_TEST.
        "GXX_UNDER_TEST": site.compiler,
        "GFORTRAN_UNDER_TEST": site.compiler,
        "gompy_selection": str(site.selection or ""),
        "gompy_acc_device_type": site.acc_device_type,
        "gompy_timeout": str(site.timeout),
        "gompy_stats": str(work / "device-launches"),
    }
    (work / "site.exp").write_text("".join(f"set {name} {quote(value)}\n" for name, value in values.items()))
    support = {
        "cuda_driver_include": "",
        "cuda_driver_lib": "",
        "hsa_runtime_lib": "",
        "offload_plugins": "",
        "offload_targets": TARGETS[site.target],
        "offload_additional_options": options,
        "offload_additional_lib_paths": "",
    }
    text = "".join(f"set {name} {quote(value)}\n" for name, value in support.items())
    (work / "libgomp-test-support.exp").write_text(text)
