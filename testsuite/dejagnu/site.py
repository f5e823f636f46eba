"""What DejaGnu and GCC's .exp files are told: site.exp and libgomp-test-support.exp of a work directory.

In a GCC build configure and make write these two files (libgomp/testsuite/Makefile.am, libgomp-test-support.exp.in);
here they name installed compilers, so that the suite runs as it does for an installed GCC.
"""

from __future__ import annotations

import os
import platform
import shlex
from dataclasses import dataclass
from pathlib import Path

from gcc_suite.source import openmp_50_tests

from gompy.driver import paths

HERE = Path(__file__).resolve().parent
GLOBAL = HERE / "global.exp"
TARGETS = {"intelmic": "x86_64-intelmicemul-linux-gnu", "nvptx": "nvptx-none", "disable": ""}
"""OFFLOAD_TARGET to what configure would have put into offload_targets."""
STOCK_NVPTX = ("-fno-pie", "-no-pie", "-Wl,--no-as-needed", "-foffload-options=nvptx-none=-Wa,--no-verify")
"""What Debian's gcc needs, which makes PIEs unless told otherwise: in position independent code GCC gives recursive
functions second names, which its nvptx back end refuses (PR97102), and mkoffload's host objects are position dependent,
about which ld warns (for DejaGnu a failure).  Its assembler would ask a ptxas in PATH that may not know the
architecture any more.  It links with --as-needed, so that ld drops libgomp from programs that have data for the device
but no construct: only mkoffload's object, which comes later, needs it."""
CUDA_H = """\
#include <stdlib.h>
#ifdef __cplusplus
extern "C" {
#endif
#include_next <cuda.h>
#ifdef __cplusplus
}
#endif
"""
"""GCC's own cuda.h is for C; the toolkit's, which the tests are written for, is for C++ too."""


@dataclass(frozen=True)
class Site:
    """One configuration of the suite.

    compiler: command of the C compiler, which compiles C++ and Fortran too (as in GCC's drivers).  target: a key of
    TARGETS.  selection: file with the paths of the tests to run, None for all.  timeout: seconds, 0 for GCC's own.
    levels: of the option sets only those with these -O options, empty for all.  device_only: leave out what OpenACC's
    drivers do once more for the host.
    """

    srcdir: Path
    compiler: str
    target: str
    selection: Path | None = None
    timeout: int = 0
    acc_device_type: str = "intelmic"
    levels: tuple[str, ...] = ()
    device_only: bool = False

    @property
    def stock(self) -> bool:
        """Whether the compiler is not ours."""
        return not Path(shlex.split(self.compiler)[0]).name.startswith("gomp")

    @property
    def emulated_cuda(self) -> bool:
        """Whether programs run on the emulated CUDA driver: GOMPY_CUDA=real has them take the machine's."""
        return self.target == "nvptx" and os.environ.get("GOMPY_CUDA") != "real"

    @property
    def counts_launches(self) -> bool:
        """Whether somebody counts what runs on a device: our runtime, or our driver below the stock one."""
        return self.target != "disable" and (self.emulated_cuda or not self.stock)


def options(site: Site, work: Path) -> str:
    """What configure would have put into offload_additional_options; every compilation in `work` gets it."""
    if site.target != "nvptx":
        # The emulated MIC is what gompcc compiles for anyway.
        return "-foffload=disable" if site.target == "disable" else ""
    # cuda.h is GCC's own (no toolkit is needed), by way of CUDA_H.
    words = [f"-foffload={TARGETS[site.target]}", f"-I{work / 'include'}"]
    words += [f"-I{site.srcdir.parent.parent / 'include' / 'cuda'}"]
    words += [f"-L{paths.CUDALIBDIR}"] if site.emulated_cuda else []
    return " ".join([*words, *(STOCK_NVPTX if site.stock else ())])


def environment(site: Site) -> dict[str, str]:
    """What the environment of runtest has besides: the driver, and the plugin for programs without an image."""
    if site.target != "nvptx":
        return {}
    result = {} if site.stock else {"GOMPY_PLUGINS": os.environ.get("GOMPY_PLUGINS", "nvptx")}
    if site.emulated_cuda:
        # For the stock plugin, and for programs that are linked with -lcuda.
        rest = os.environ.get("LD_LIBRARY_PATH", "")
        result |= {"GOMPY_CUDA": "emulated", "LD_LIBRARY_PATH": f"{paths.CUDALIBDIR}{rest and ':'}{rest}"}
    return result


def triplet() -> str:
    """The machine as config.guess names it."""
    return f"{platform.machine()}-pc-linux-gnu"


def quote(text: str) -> str:
    """A Tcl word in double quotes."""
    for mark in ("\\", '"', "$", "["):
        text = text.replace(mark, f"\\{mark}")
    return f'"{text}"'


def write(site: Site, work: Path) -> None:
    """Write both files and headers into a work directory.  Raises OSError."""
    if site.target == "nvptx":
        (work / "include").mkdir(exist_ok=True)
        (work / "include" / "cuda.h").write_text(CUDA_H)
    machine = triplet()
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
        # The driver also sees what programs launch past the runtime.
        "gompy_stats_variable": "GOMPY_CUDA_STATS" if site.emulated_cuda else "GOMPY_STATS",
        "gompy_levels": " ".join(site.levels),
        "gompy_openmp_50": " ".join(sorted(openmp_50_tests())),
        "gompy_device_only": str(int(site.device_only)),
    }
    (work / "site.exp").write_text("".join(f"set {name} {quote(value)}\n" for name, value in values.items()))
    support = {
        "cuda_driver_include": "",
        "cuda_driver_lib": "",
        "hsa_runtime_lib": "",
        "offload_plugins": "",
        "offload_targets": TARGETS[site.target],
        "offload_additional_options": options(site, work),
        "offload_additional_lib_paths": "",
    }
    # Of libgomp's configure one test wants to know something (libgomp.c/affinity-1.c).
    (work / "config.h").write_text("#define HAVE_PTHREAD_AFFINITY_NP 1\n")
    text = "".join(f"set {name} {quote(value)}\n" for name, value in support.items())
    (work / "libgomp-test-support.exp").write_text(text)
