"""``gompy config``: what another build system needs to know, in the manner of llvm-config."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable

from gompy.driver import compiler, paths, plan
from gompy.driver.errors import DriverError, report
from gompy.driver.show import include_folder
from gompy.objects.names import TARGET_INTELMIC
from gompy.tools.toolmain import one_line


def _environment() -> str:
    return shlex.join([f"{plan.AS}=rename", f"{plan.TARGET_NAMES}={TARGET_INTELMIC}"])


def _compiler(language: compiler.Language) -> str:
    return shlex.join(compiler.fit(language)[0].words)


def _version() -> str:
    from gompy.cli.main import version

    return version()


def _project_file(name: str) -> str:
    return os.path.join(paths.PREFIX, "gompy", "projects", name).rstrip("/")


ANSWERS: dict[str, tuple[str, Callable[[], str]]] = {
    "--bdir": ("the folder for gcc's -B", lambda: paths.BDIR),
    "--libdir": ("the folder of libgompy and the device plugins", lambda: paths.LIBDIR),
    "--cuda-libdir": ("the folder of the emulated CUDA driver, for LD_LIBRARY_PATH", lambda: paths.CUDALIBDIR),
    "--llvm-libdir": ("the folder of libomptarget for clang's programs, for LD_LIBRARY_PATH", lambda: paths.LLVMLIBDIR),
    "--llvm-rtldir": ("the folder of our devices as a plugin of LLVM's own libomptarget", lambda: paths.LLVMRTLDIR),
    "--incdir": ("the folder of omp.h and openacc.h (gcc's own)", lambda: include_folder(compiler.chosen(compiler.C))),
    "--virtual-incdir": ("the folder of gompy_virtual.h", lambda: os.path.join(paths.PREFIX, "gompy/virtual/include")),
    "--cflags": ("what a compile gets", lambda: shlex.join([*plan.compile_words(), "-fopenmp"])),
    "--libs": ("what a link gets, before the objects", lambda: shlex.join([*plan.library_words(), "-fopenmp"])),
    "--env": ("what both need in the environment", _environment),
    "--cc": ("the compiler that gompcc runs for offloading commands", lambda: _compiler(compiler.C)),
    "--cxx": ("the compiler of gompc++", lambda: _compiler(compiler.CXX)),
    "--fc": ("the compiler of gompfortran", lambda: _compiler(compiler.FORTRAN)),
    "--cmake": ("CMake's toolchain file, for CMAKE_TOOLCHAIN_FILE", lambda: _project_file("gompy-toolchain.cmake")),
    "--cmakedir": ("the folder for find_package (gompy): gompy_DIR", lambda: _project_file("")),
    "--meson": ("Meson's native file, for meson setup --native-file", lambda: _project_file("gompy.ini")),
    "--prof": ("the profiling library, for ACC_PROFLIB", lambda: os.path.join(paths.LIBDIR, "libgompy-prof.so.1")),
    "--prefix": ("the folder that holds the package", lambda: paths.PREFIX),
    "--version": ("gompy's version", _version),
}


def usage() -> str:
    """The help text."""
    from gompy.tools.helptext import in_terminal

    width = max(map(len, ANSWERS))
    lines = ["usage: gompy config OPTION...", "", "Prints one line for each option:", ""]
    lines += [f"  {name:<{width}}  {text}" for name, (text, _) in ANSWERS.items()]
    return in_terminal("\n".join(lines))


def main(arguments: list[str]) -> int:
    """Answer each option on a line of its own; returns 2 for a usage error, 1 if there is no compiler to ask."""
    if not arguments:
        print(usage(), file=sys.stderr)
        return 2
    if "--help" in arguments or "-h" in arguments:
        print(usage())
        return 0
    for option in arguments:
        if option not in ANSWERS:
            print(f"gompy config: error: no option '{one_line(option)}'; it knows {' '.join(ANSWERS)}", file=sys.stderr)
            return 2
    try:
        lines = [ANSWERS[option][1]() for option in arguments]
    except DriverError as error:
        report("gompy config", error)
        return 1
    print("\n".join(lines))
    return 0
