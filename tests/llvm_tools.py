"""clang's programs on libgompy: compiled by Debian's clang, run with our libomptarget in front of LLVM's."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

NATIVE = Path(__file__).resolve().parent.parent / "gompy" / "_native"
LIBDIR = NATIVE / "llvm"
PROGRAMS = Path(__file__).with_name("programs") / "llvm"
HALVES = Path(__file__).resolve().parent.parent / "docs" / "programs"
"""Where half_gcc.c and half_clang.c are, which docs/llvm.md shows."""
TARGET = "x86_64-pc-linux-gnu"


def missing() -> str:
    """What of clang 16's offloading is not installed, or ""."""
    packages = {
        "clang-16": shutil.which("clang-16"),
        "clang-tools-16": Path("/usr/lib/llvm-16/bin/clang-linker-wrapper").exists(),
        "libomp-16-dev": Path("/usr/lib/llvm-16/lib/libomptarget.so").exists(),
    }
    return " ".join(name for name, there in packages.items() if not there)


needs_clang = pytest.mark.skipif(bool(missing()), reason=f"not installed: {missing()}")


@dataclass(frozen=True)
class Run:
    """What a program did."""

    rc: int
    out: str
    err: str


def compile_clang(folder: Path, source: Path, *options: str, name: str = "") -> Path:
    """Compile a program for the emulated device."""
    program = folder / (name or source.stem)
    compiler = "clang++-16" if source.suffix == ".cpp" else "clang-16"
    subprocess.run(
        [compiler, "-O1", "-fopenmp", f"-fopenmp-targets={TARGET}", *options, str(source), "-o", str(program)],
        check=True,
        cwd=folder,
    )
    return program


def environment(**more: str) -> dict[str, str]:
    """A clean environment with our library first."""
    clean = {
        k: v
        for k, v in os.environ.items()
        if not k.startswith(("OMP_", "GOMP", "OFFLOAD_", "LD_", "LIBOMP", "KMP_")) and k != "GOMPY_STATS"
    }
    return clean | {"LD_LIBRARY_PATH": str(LIBDIR), "OMP_NUM_THREADS": "2", "KMP_BLOCKTIME": "0"} | more


def run(program: Path, *arguments: str, **more: str) -> Run:
    """Run a program with our libomptarget."""
    done = subprocess.run(
        [str(program), *arguments], env=environment(**more), capture_output=True, text=True, timeout=60
    )
    return Run(done.returncode, done.stdout, done.stderr)
