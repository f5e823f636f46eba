"""Programs by clang 16 under our libomptarget.so.16, in the emulated device's process."""

from __future__ import annotations

import re
import signal
import subprocess
from pathlib import Path

import pytest
from llvm_tools import HALVES, PROGRAMS, compile_clang, environment, needs_clang, run

pytestmark = needs_clang


@pytest.mark.slow
def test_maps_go_to_the_device_and_back(tmp_path: Path) -> None:
    """The region runs in the device's process; its own copies stay there."""
    done = run(compile_clang(tmp_path, PROGRAMS / "maps.c"), GOMPY_STATS="1")
    assert done.out == "1 1 999 2997 104 3101\n7 8 1 0\n", done.err
    assert (done.rc, done.err) == (0, "libgompy: regions: 4 on device 0 (intelmic), 0 on the host\n")


@pytest.mark.slow
def test_disabled_offloading_runs_on_the_host(tmp_path: Path) -> None:
    """OMP_TARGET_OFFLOAD=disabled: clang's host version."""
    done = run(compile_clang(tmp_path, PROGRAMS / "maps.c"), OMP_TARGET_OFFLOAD="disabled")
    assert (done.rc, done.out, done.err) == (0, "0 1 0 2997 104 3101\n8 9 1 1\n", "")


@pytest.mark.slow
def test_structs_mappers_globals_lambdas(tmp_path: Path) -> None:
    """Variables are built on the device before its first region, and destroyed before it ends."""
    done = run(compile_clang(tmp_path, PROGRAMS / "structs.cpp"))
    assert done.out.splitlines() == [
        *("built", "built", "1 8 14", "11 2 23", "8", "7", "4957"),
        *("destroyed with 42", "destroyed with 40"),
    ], done.err
    assert (done.rc, done.err) == (0, "")


@pytest.mark.slow
def test_tasks_and_a_device_that_is_not_there(tmp_path: Path) -> None:
    """libomp's helper tasks offload; a number that is no device's ends the program in LLVM's words, with the place."""
    done = run(compile_clang(tmp_path, PROGRAMS / "tasks.c", "-g"))
    assert done.out.splitlines() == ["5 10", "4950 4950"], done.err
    assert done.rc == -signal.SIGABRT
    assert done.err.splitlines() == [
        "Libomptarget error: Device 7 is not ready.",
        "Libomptarget error: Consult https://openmp.llvm.org/design/Runtimes.html for debugging options.",
        "tasks.c:22:1: Libomptarget fatal error 1: failure of target construct while offloading is mandatory",
    ]


@pytest.mark.slow
def test_gcc_and_clang_in_one_program(tmp_path: Path, bin_folder: Path) -> None:
    """One device, one table of mappings: gcc's region gets what clang's has left there."""
    subprocess.run(
        [bin_folder / "gompcc", "-fopenmp", "-shared", "-fPIC", HALVES / "half_gcc.c", "-o", "libhalf_gcc.so"],
        check=True,
        cwd=tmp_path,
    )
    options = ("-L.", "-lhalf_gcc", f"-Wl,-rpath,{tmp_path}")
    done = run(compile_clang(tmp_path, HALVES / "half_clang.c", *options), GOMPY_STATS="1")
    assert done.out == "1 2 50\n101 50\n", done.err
    assert (done.rc, done.err) == (0, "libgompy: regions: 2 on device 0 (intelmic), 0 on the host\n")


@pytest.mark.slow
def test_info_in_llvm_s_words(tmp_path: Path) -> None:
    """LIBOMPTARGET_INFO tells of arguments with their names, of new and removed mappings."""
    done = run(compile_clang(tmp_path, PROGRAMS / "maps.c", "-g"), LIBOMPTARGET_INFO="-1")
    text = re.sub(r"0x[0-9a-f]{16}", "0x", done.err).splitlines()
    assert text[0] == "Libomptarget device 0 info: Entering OpenMP kernel at maps.c:12:1 with 0 arguments:"
    assert re.fullmatch(r'"PluginInterface" device 0 info: Launching kernel __omp_offloading_\w+_main_l12 .*', text[1])
    assert text[2] == "Libomptarget device 0 info: Entering OpenMP kernel at maps.c:15:1 with 6 arguments:"
    assert "Libomptarget device 0 info: to(a)[4000] " in text
    assert "Libomptarget device 0 info: firstprivate(factor)[4] " in text
    made = "HstPtrBase=0x, HstPtrBegin=0x, TgtPtrBegin=0x, Size=4000, DynRefCount=1, HoldRefCount=0, Name=b"
    assert f"Libomptarget device 0 info: Creating new map entry with {made}" in text
    assert (
        "Libomptarget device 0 info: Removing map entry with HstPtrBegin=0x, TgtPtrBegin=0x, Size=4000, Name=c" in text
    )


COMMON = "1 100000 60, 1\n21 100000\nnone\n"
NO_ROOM = "libgompy: llvm_omp_target_alloc_host: no room at an address that host and device have\n"


@pytest.mark.slow
def test_memory_at_the_same_address(tmp_path: Path) -> None:
    """llvm_omp_target_alloc_host and _shared: device and host see each other's writes, also under GOMPY_CHECK."""
    program = compile_clang(tmp_path, PROGRAMS / "common_memory.c")
    for more in ({}, {"OFFLOAD_EMUL_NUM": "2", "OMP_DEFAULT_DEVICE": "1"}, {"GOMPY_CHECK": "1"}):
        done = run(program, **more)
        assert (done.rc, done.out, done.err) == (0, COMMON, NO_ROOM), more


@pytest.mark.slow
def test_interop_objects(tmp_path: Path) -> None:
    """They are those of gcc's `interop`; the host has none."""
    program = compile_clang(tmp_path, PROGRAMS / "interop.c", "-fopenmp-version=51")
    done = run(program)
    assert (done.rc, done.err) == (0, "")
    assert done.out.splitlines() == ["1 gompy", "0 0 0", "1 0", "fr_name", "1 1", "1"]


@pytest.mark.slow
def test_gompy_run_takes_a_program_of_plain_clang(tmp_path: Path, bin_folder: Path) -> None:
    """Without LD_LIBRARY_PATH it would use LLVM's library; `gompy run` puts ours before it."""
    program = compile_clang(tmp_path, PROGRAMS / "maps.c")
    env = environment()
    del env["LD_LIBRARY_PATH"]
    done = subprocess.run([bin_folder / "gompy", "run", program], env=env, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "1 1 999 2997 104 3101\n7 8 1 0\n", "")


@pytest.mark.slow
def test_routines_that_no_directive_calls(tmp_path: Path) -> None:
    """Info for one of two regions, locked memory, what a device is: all but the device's name as LLVM's library has it
    where the device shares the program's memory."""
    program = compile_clang(tmp_path, PROGRAMS / "routines.c", "-g")
    entering = r"Libomptarget device 0 info: Entering OpenMP kernel at .*routines\.c:\d+:\d+ with 1 arguments:\n"
    told = entering + r".*tofrom\(x\)\[16\] \n"
    shared = run(program, GOMPY_SHARED_MEMORY="1")
    stock = run(program, LD_LIBRARY_PATH="/usr/lib/llvm-16/lib")
    own = run(program)
    lines = ["3, locked", "no shared memory on the host", "told: 1"]
    for done in (shared, stock):
        assert [line for line in done.out.splitlines() if not line.startswith("    ")] == lines
        assert re.fullmatch(told, done.err), done.err
    assert own.out == "3, not locked\nno shared memory on the host\n    Device 0: intelmic of gompy\ntold: 1\n"
    assert re.match(told, own.err) and "llvm_omp_target_lock_mem: not implemented: the device has" in own.err


@pytest.mark.slow(sample=1)
@pytest.mark.parametrize("compiler", ["clang-16", "gcc"])
def test_a_library_comes_and_goes(tmp_path: Path, compiler: str) -> None:
    """Its image with it: the second time its variable is new.  The program may know nothing of OpenMP."""
    library = compile_clang(tmp_path, PROGRAMS / "module.c", "-DMODULE", "-shared", "-fPIC", name="module.so")
    subprocess.run([compiler, PROGRAMS / "module.c", "-o", "program"], check=True, cwd=tmp_path)
    done = run(tmp_path / "program", str(library))
    assert (done.rc, done.out, done.err) == (0, "6 7\n6 7\n", "")
