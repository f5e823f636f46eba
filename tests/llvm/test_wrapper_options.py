"""Options of the linker wrapper that change an image: each does what --help says, or is refused."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from llvm_tools import TARGET, environment, needs_clang

pytestmark = needs_clang

SOURCE = """
#include <stdio.h>
int twice (int);
int main (void)
{
  int x = 21;
#ifdef LIBRARY
  #pragma omp target map(x)
  x = twice (x);
#else
  #pragma omp target map(x)
  x += x;
#endif
  printf ("%d\\n", x);
}
int twice_on_host (int x) { return 2 * x; }
"""
LIBRARY = "int twice (int x) { return 2 * x; }\n"


def build(folder: Path, bin_folder: Path, *options: str, target: str = TARGET) -> subprocess.CompletedProcess[str]:
    """Compile to LLVM IR for the device, and link with options of the wrapper."""
    (folder / "a.c").write_text(SOURCE)
    words = [bin_folder / "gompclang", "-O1", "-fopenmp", f"-fopenmp-targets={target}", "-foffload-lto", "a.c"]
    env = environment(GOMPY_CLANG="clang-16")
    return subprocess.run([*words, *options, "-o", "a"], cwd=folder, env=env, capture_output=True, text=True)


def ran(folder: Path) -> tuple[int, str]:
    """What the program does."""
    done = subprocess.run([folder / "a"], env=environment(), capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout


@pytest.mark.slow(sample=1)
@pytest.mark.parametrize("level", ["O0", "O3"])
def test_opt_level(tmp_path: Path, bin_folder: Path, level: str) -> None:
    """The image is compiled with it."""
    done = build(tmp_path, bin_folder, f"-Wl,--opt-level={level}", "-Wl,--wrapper-verbose")
    assert done.returncode == 0, done.stderr
    image = next(line for line in done.stderr.splitlines() if ".img" in line)
    assert re.search(rf" --target={TARGET} .*-{level} ", image)
    assert ran(tmp_path) == (0, "42\n")


@pytest.mark.slow
def test_bitcode_library(tmp_path: Path, bin_folder: Path) -> None:
    """A function that only the library has; a library for another target is left out."""
    (tmp_path / "twice.c").write_text(LIBRARY)
    subprocess.run(["clang-16", "-O1", "-fPIC", "-emit-llvm", "-c", "twice.c"], check=True, cwd=tmp_path)
    host = "-Wl,--defsym=twice=twice_on_host"
    done = build(tmp_path, bin_folder, "-DLIBRARY", host, f"-Wl,--bitcode-library=openmp-{TARGET}-=twice.bc")
    assert done.returncode == 0, done.stderr
    assert ran(tmp_path) == (0, "42\n")
    done = build(tmp_path, bin_folder, "-DLIBRARY", host, "-Wl,--bitcode-library=openmp-amdgcn-amd-amdhsa-=twice.bc")
    assert done.returncode != 0 and "undefined" in done.stderr and "twice" in done.stderr
    done = build(tmp_path, bin_folder, "-Wl,--bitcode-library=twice.bc")
    assert "--bitcode-library=twice.bc: it must be KIND-TRIPLE-ARCH=PATH" in done.stderr


@pytest.mark.slow
def test_embed_bitcode(tmp_path: Path, bin_folder: Path) -> None:
    """The image is LLVM IR, which no device here takes: the host runs the region."""
    done = build(tmp_path, bin_folder, "-Wl,--embed-bitcode")
    assert done.returncode == 0, done.stderr
    listed = subprocess.run([bin_folder / "gompy", "inspect", tmp_path / "a"], capture_output=True, text=True)
    assert "llvm ir" in listed.stdout.lower(), listed.stdout
    assert ran(tmp_path) == (0, "42\n")


def test_ptxas_is_not_run(tmp_path: Path, bin_folder: Path) -> None:
    """An image of LLVM IR for a GPU is PTX: there is no ptxas to give anything to."""
    done = build(tmp_path, bin_folder, "-Wl,--ptxas-arg=-v", target="nvptx64-nvidia-cuda")
    assert done.returncode != 0
    assert "--ptxas-arg=-v: no ptxas runs for images of LLVM IR" in done.stderr
