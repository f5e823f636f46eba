"""Programs by clang 16 on the device that shares the program's memory (GOMPY_SHARED_MEMORY)."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from llvm_tools import HALVES, PROGRAMS, compile_clang, environment, needs_clang, run

pytestmark = needs_clang

REFUSED = (
    "libgompy: 1 device of plugin intelmic cannot be used: 'omp requires unified_shared_memory' is not fulfilled there;"
    " GOMPY_SHARED_MEMORY=1 gives a device that shares the program's memory\n"
)
UNCHECKED = (
    "libgompy: GOMPY_CHECK finds nothing here: the device shares the program's memory,"
    " as 'omp requires unified_shared_memory' asks\n"
)
WORDS = "1 6 6 6 11\n1 2\n2 1\n1 6 7 0\n"


@pytest.mark.slow
def test_unified_shared_memory(tmp_path: Path) -> None:
    """What is not mapped with `close` is the program's own, without asking for it; 0 has the host run the regions."""
    program = compile_clang(tmp_path, PROGRAMS / "unified.c")
    for more in ({}, {"GOMPY_SHARED_MEMORY": "1"}, {"OFFLOAD_EMUL_NUM": "3"}, {"OMP_TARGET_OFFLOAD": "mandatory"}):
        done = run(program, **more, GOMPY_STATS="1")
        assert done.out == WORDS, done.err
        assert (done.rc, done.err) == (0, "libgompy: regions: 5 on device 0 (shared), 0 on the host\n")
    done = run(program, GOMPY_SHARED_MEMORY="0")
    assert (done.rc, done.err) == (0, REFUSED)
    assert done.out.startswith("0 6 6 6 11\n")
    done = run(program, GOMPY_CHECK="1")
    assert (done.rc, done.out, done.err) == (0, WORDS, UNCHECKED)


@pytest.mark.slow
def test_it_says_what_llvm_s_library_says(tmp_path: Path) -> None:
    """LLVM's device for x86_64 is the program, too."""
    program = compile_clang(tmp_path, PROGRAMS / "unified.c")
    stock = environment() | {"LD_LIBRARY_PATH": "/usr/lib/llvm-16/lib"}
    done = subprocess.run([program], env=stock, capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == (WORDS, "")


@pytest.mark.slow(sample=1)
@pytest.mark.parametrize("name", ["maps.c", "structs.cpp"])
def test_without_requires_maps_are_copies(tmp_path: Path, name: str) -> None:
    """As with LLVM's library, where what is not copied back is not seen; variables are built and destroyed."""
    program = compile_clang(tmp_path, PROGRAMS / name)
    done = run(program, GOMPY_SHARED_MEMORY="1")
    assert (done.rc, done.err, done.out) == (0, "", run(program).out)


@pytest.mark.slow
def test_gcc_and_clang_in_one_program(tmp_path: Path, bin_folder: Path) -> None:
    """gcc's region uses the program's memory, and clang's its copy."""
    subprocess.run(
        [bin_folder / "gompcc", "-fopenmp", "-shared", "-fPIC", HALVES / "half_gcc.c", "-o", "libhalf_gcc.so"],
        check=True,
        cwd=tmp_path,
    )
    options = ("-L.", "-lhalf_gcc", f"-Wl,-rpath,{tmp_path}")
    program = compile_clang(tmp_path, HALVES / "half_clang.c", *options)
    done = run(program, GOMPY_SHARED_MEMORY="1", GOMPY_STATS="1")
    assert done.out == "101 2 2\n1 50\n", done.err
    assert (done.rc, done.err) == (0, "libgompy: regions: 2 on device 0 (shared), 0 on the host\n")
