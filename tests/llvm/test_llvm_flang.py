"""Fortran by flang: what clang's programs get runs its programs, too."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from llvm_tools import HALVES, LIBDIR, PROGRAMS, TARGET, run

FLANG = os.environ.get("GOMPY_TEST_FLANG") or shutil.which("flang-new-19") or ""
LIBRARIES = [Path("/usr/lib/llvm-19/lib"), Path.home() / ".cache/gompy/libomp-19/usr/lib/llvm-19/lib"]
LIBOMP = next((path for path in LIBRARIES if (path / "libomptarget.so").exists()), None)


@pytest.mark.skipif(not FLANG or LIBOMP is None, reason="not installed: flang-19, libomp-19-dev")
def test_a_program(tmp_path: Path) -> None:
    """flang calls GPUs' device runtime in regions for x86_64, too: a library stands for it."""
    subprocess.run(["gcc", "-O2", "-fPIC", "-c", HALVES / "device_runtime.c"], check=True, cwd=tmp_path)
    subprocess.run(["ar", "rcs", "libdevice_runtime.a", "device_runtime.o"], check=True, cwd=tmp_path)
    words = [FLANG, "-O1", "-fopenmp", f"-fopenmp-targets={TARGET}", PROGRAMS / "scale.f90", "-o", "scale"]
    subprocess.run([*words, f"-L{LIBOMP}", "-L.", "-ldevice_runtime"], check=True, cwd=tmp_path)
    done = run(tmp_path / "scale", LD_LIBRARY_PATH=f"{LIBDIR}:{LIBOMP}", GOMPY_STATS="1")
    assert done.out.split() == ["1001000.0", "1000997.0"]
    assert done.err == "libgompy: regions: 2 on device 0 (intelmic), 0 on the host\n"
