"""CUDA C++ by clang's -foffload-via-llvm: kernels that libomptarget launches, on the emulated GPU."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from llvm_tools import PROGRAMS, Run, environment, run

pytestmark = pytest.mark.skipif(
    not shutil.which("clang-22") or not Path("/usr/lib/llvm-22/bin/llvm-link").exists(),
    reason="not installed: clang-22 and llvm-22 (-foffload-via-llvm is of 20 and later)",
)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory, bin_folder: Path) -> Path:
    """Compiled and linked by gompclang++: there is no CUDA, and no libomptarget of LLVM's."""
    folder = tmp_path_factory.mktemp("cuda")
    command = [bin_folder / "gompclang++", "-O1", "-foffload-via-llvm", PROGRAMS / "launched.cu", "-o", "launched"]
    env = environment(GOMPY_CLANGXX="clang++-22")
    del env["LD_LIBRARY_PATH"]
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    return folder / "launched"


def emulated(program: Path, **more: str) -> Run:
    """Run on the emulated GPU, without LD_LIBRARY_PATH."""
    return run(program, **{"LD_LIBRARY_PATH": "", "GOMPY_CUDA": "emulated"} | more)


def test_kernels_run(program: Path) -> None:
    """Grids and blocks of three dimensions, parameters of several sizes."""
    done = emulated(program, GOMPY_STATS="1")
    assert (done.rc, done.out) == (0, "30 520 396040\n3 2 1, 8 4 2\n"), done.err
    assert done.err == "libgompy: regions: 2 on device 0 (nvptx), 0 on the host\n"


def test_without_a_device_it_says_so(program: Path) -> None:
    """There is no host version of a kernel."""
    done = emulated(program, OMP_TARGET_OFFLOAD="disabled", GOMPY_CUDA_DEVICES="0")
    assert done.err.startswith("libgompy: a CUDA kernel has not run: there is no GPU\n"), done.err


def test_an_older_clang_is_refused(bin_folder: Path, tmp_path: Path) -> None:
    older = shutil.which("clang++-16")
    if not older:
        pytest.skip("not installed: clang-16")
    command = [bin_folder / "gompclang++", "-foffload-via-llvm", PROGRAMS / "launched.cu"]
    env = environment(GOMPY_CLANGXX=older)
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True)
    assert done.returncode == 1
    assert "is clang 16: -foffload-via-llvm is of 20 and later" in done.stderr
