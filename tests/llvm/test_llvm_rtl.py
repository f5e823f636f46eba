"""LLVM's own libomptarget with our devices as its plugin: programs by clang 16, in the emulated device's process."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from llvm_tools import NATIVE, PROGRAMS, Run, compile_clang, needs_clang, run

pytestmark = needs_clang

RTLDIR = NATIVE / "llvm-rtl"


def below_llvm(program: Path, *arguments: str, **more: str) -> Run:
    """Run with LLVM's libomptarget, which finds our plugin first."""
    return run(program, *arguments, **{"LD_LIBRARY_PATH": str(RTLDIR)} | more)


@pytest.mark.slow(sample=1)
@pytest.mark.parametrize("newer", ["0", "1"])
def test_maps(tmp_path: Path, newer: str) -> None:
    """By either of the names that LLVM 16 looks for; without our folder LLVM's device is the program itself."""
    program = compile_clang(tmp_path, PROGRAMS / "maps.c")
    done = below_llvm(program, GOMPY_STATS="1", LIBOMPTARGET_NEXTGEN_PLUGINS=newer)
    assert done.out == "1 1 999 2997 104 3101\n7 8 1 0\n", done.err
    assert (done.rc, done.err) == (0, "libgompy: regions: 4 on device 0 (intelmic), 0 on the host\n")
    assert run(program, LD_LIBRARY_PATH="", GOMPY_STATS="1").err == ""


@pytest.mark.slow
def test_info_is_told_once(tmp_path: Path) -> None:
    """By libomptarget: libgompy, which has the same variable, is silent."""
    told = below_llvm(compile_clang(tmp_path, PROGRAMS / "maps.c"), LIBOMPTARGET_INFO="-1").err.splitlines()
    assert told
    kernels = [line for line in told if "Entering OpenMP kernel" in line]
    assert len(kernels) == 4, told


@pytest.mark.slow
def test_structs_mappers_globals_lambdas(tmp_path: Path) -> None:
    """libomptarget calls constructors and destructors: once each, destructors in the order of the constructors."""
    done = below_llvm(compile_clang(tmp_path, PROGRAMS / "structs.cpp"))
    assert done.out.splitlines() == [
        *("built", "built", "1 8 14", "11 2 23", "8", "7", "4957"),
        *("destroyed with 40", "destroyed with 42"),
    ], done.err
    assert (done.rc, done.err) == (0, "")


@pytest.mark.slow
def test_tasks(tmp_path: Path) -> None:
    """Regions with nowait, in several threads at once."""
    assert below_llvm(compile_clang(tmp_path, PROGRAMS / "tasks.c", "-DGOOD")).out.splitlines() == ["5 10", "4950 4950"]


@pytest.mark.slow
def test_two_devices(tmp_path: Path) -> None:
    """Each with memory of its own."""
    done = below_llvm(compile_clang(tmp_path, PROGRAMS / "devices.c"), OFFLOAD_EMUL_NUM="2", GOMPY_STATS="1")
    assert done.out == "120 11\n", done.err
    assert done.err == "libgompy: regions: 1 on device 0 (intelmic), 1 on device 1 (intelmic), 0 on the host\n"


@pytest.mark.slow
def test_a_library_comes_and_goes(tmp_path: Path) -> None:
    """Its image with it: the second time its variable is new."""
    library = compile_clang(tmp_path, PROGRAMS / "module.c", "-DMODULE", "-shared", "-fPIC", name="module.so")
    program = compile_clang(tmp_path, PROGRAMS / "module.c")
    done = below_llvm(program, str(library))
    assert (done.rc, done.out, done.err) == (0, "6 7\n6 7\n", "")


@pytest.mark.slow
def test_unified_shared_memory(tmp_path: Path) -> None:
    """Refused with a line that says what to do; and that helps."""
    program = compile_clang(tmp_path, PROGRAMS / "unified.c")
    done = below_llvm(program)
    assert done.rc != 0
    assert done.err.splitlines()[0] == (
        "libgompy: device 0: the program requires unified_shared_memory, and the device has memory of its own; "
        "GOMPY_SHARED_MEMORY=1 gives one that shares the program's"
    )
    good = below_llvm(program, GOMPY_SHARED_MEMORY="1", GOMPY_STATS="1")
    assert good.rc == 0, good.err
    assert "(shared), 0 on the host" in good.err


@pytest.mark.slow
def test_a_region_that_faults(tmp_path: Path) -> None:
    """The message names the region and the address."""
    done = below_llvm(compile_clang(tmp_path, PROGRAMS / "unmapped.c", "-g"))
    assert done.rc != 0
    assert re.search(r"libgomp: device 0 \(intelmic\): region .*main.*: signal 11 .* it is the host's", done.err)


@pytest.mark.slow
def test_disabled_offloading(tmp_path: Path) -> None:
    """OMP_TARGET_OFFLOAD=disabled: no device."""
    done = below_llvm(compile_clang(tmp_path, PROGRAMS / "maps.c"), OMP_TARGET_OFFLOAD="disabled")
    assert (done.rc, done.out, done.err) == (0, "0 1 0 2997 104 3101\n8 9 1 1\n", "")
