"""What releases after 16 have added, seen from programs by clang 16: the library that is preloaded decides."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path

import pytest
from llvm_tools import LIBDIR, PROGRAMS, compile_clang, needs_clang, run

from gompy.abi import llvm

pytestmark = needs_clang


@pytest.mark.slow(sample=1)
@pytest.mark.parametrize("level", ["-O0", "-O2", "-Oz"])
def test_indirect_functions(tmp_path: Path, level: str) -> None:
    """Called by a pointer in a struct, which is the host's, and by one that a region captures: the device's."""
    words = ["gcc", "-shared", "-fPIC", PROGRAMS / "indirect_entries.c", "-o", "entries.so"]
    subprocess.run(words, check=True, cwd=tmp_path)
    entries = {"LD_PRELOAD": "entries.so", "LD_LIBRARY_PATH": f"{tmp_path}:{LIBDIR}"}
    program = compile_clang(tmp_path, PROGRAMS / "indirect.c", level)
    done = run(program, **entries, OMP_TARGET_OFFLOAD="mandatory")
    assert (done.rc, done.out, done.err) == (0, "1025 1049 0 1\n", "")
    shared = run(program, **entries, GOMPY_SHARED_MEMORY="1")
    assert shared.out == "25 1049 0 1\n"  # there the host's code may run


@pytest.mark.slow
def test_without_the_entry_the_call_is_told(tmp_path: Path) -> None:
    """A plain function pointer is the host's code."""
    done = run(compile_clang(tmp_path, PROGRAMS / "indirect.c", "-g"))
    assert done.rc == -signal.SIGABRT and "a call of the host's code at" in done.err, done.err


@pytest.mark.slow
def test_an_indirect_function_in_a_library(tmp_path: Path) -> None:
    """Below a library the host may have its part of the device's memory: the jumps go elsewhere."""
    words = ["gcc", "-shared", "-fPIC", PROGRAMS / "indirect_entries.c", "-o", "entries.so"]
    subprocess.run(words, check=True, cwd=tmp_path)
    entries = {"LD_PRELOAD": "entries.so", "LD_LIBRARY_PATH": f"{tmp_path}:{LIBDIR}"}
    library = compile_clang(tmp_path, PROGRAMS / "indirect.c", "-shared", "-fPIC", "-Dmain=inner", name="libinner.so")
    (tmp_path / "outer.c").write_text("int inner (void);\nint main (void) { return inner (); }\n")
    subprocess.run(["gcc", "outer.c", library, "-o", "outer", f"-Wl,-rpath,{tmp_path}"], check=True, cwd=tmp_path)
    done = run(tmp_path / "outer", **entries, OMP_TARGET_OFFLOAD="mandatory")
    assert (done.rc, done.out, done.err) == (0, "1025 1049 0 1\n", "")


@pytest.mark.slow
def test_names_of_22(tmp_path: Path) -> None:
    """use_device_ptr keeps what is not mapped; interop objects; completion callbacks; a thread's own objects."""
    program = compile_clang(tmp_path, PROGRAMS / "newer.c")
    done = run(program, LD_PRELOAD=str(LIBDIR / llvm.CLANGS[22]))
    lines = ["as it was", "1 1 0", "0 -6", "0 0", "0 1", "0 -1", "1 1 2"]
    assert (done.rc, done.out.splitlines(), done.err) == (0, lines, "")
    assert run(program).out == "NULL\n"


@pytest.mark.slow
def test_a_region_that_traps(tmp_path: Path) -> None:
    """The device's reason, then libomptarget's line with the place, then SIGABRT, as LLVM's library on a GPU."""
    program = compile_clang(tmp_path, PROGRAMS / "trap.c", "-g")
    done = run(program, GOMPY_STATS="1")
    assert done.rc == -signal.SIGABRT
    assert "signal 4 (Illegal instruction)" in done.err
    fatal = "trap.c:11:3: Libomptarget fatal error 1: failure of target construct while offloading is mandatory\n"
    assert fatal in done.err
    assert done.err.endswith("libgompy: regions: 1 on device 0 (intelmic), 0 on the host\n")


@pytest.mark.slow
def test_a_fault_in_a_helper_thread(tmp_path: Path) -> None:
    """The program ends: exit would wait, in libomp's destructor, for the thread that has called it."""
    done = run(compile_clang(tmp_path, PROGRAMS / "crash_nowait.c", "-g"))
    assert done.rc == -signal.SIGABRT
    assert done.out == "before\n"
    assert "crash_nowait.c:15): signal 11 (Segmentation fault)" in done.err
    assert done.err.endswith(
        "crash_nowait.c:14:1: Libomptarget fatal error 1: failure of target construct while offloading is mandatory\n"
    )


@pytest.mark.slow
def test_requires_that_differ(tmp_path: Path) -> None:
    done = run(compile_clang(tmp_path, PROGRAMS / "trap.c"), "x")
    assert done.rc == -signal.SIGABRT
    assert done.err == "Libomptarget fatal error 2: '#pragma omp requires reverse_offload' not used consistently!\n"


@pytest.mark.slow
def test_profile(tmp_path: Path) -> None:
    """LIBOMPTARGET_PROFILE: spans with libomptarget's names and the construct's place, and their sums."""
    program = compile_clang(tmp_path, PROGRAMS / "maps.c", "-g")
    path = tmp_path / "profile.json"
    run(program, LIBOMPTARGET_PROFILE=str(path), LIBOMPTARGET_PROFILE_GRANULARITY="0")
    written = json.loads(path.read_text())
    spans = [event for event in written["traceEvents"] if event["ph"] == "X" and not event["name"].startswith("Total ")]
    sums = {event["name"]: event for event in written["traceEvents"] if event["name"].startswith("Total ")}
    names = {event["name"] for event in spans}
    wanted = {"Runtime: target exe", "Runtime: Data Copy", "HostToDev", "DevToHost", "Kernel Target", "Init device"}
    assert wanted <= names, names
    assert sums["Total Kernel Target"]["args"]["count"] == sum(event["name"] == "Kernel Target" for event in spans)
    details = [event["args"]["detail"] for event in spans if event["name"] == "Runtime: target exe"]
    assert all(detail.startswith(";") and "maps.c;" in detail and "NumArgs=" in detail for detail in details)
    assert written["beginningOfTime"] > 0
    run(program, LIBOMPTARGET_PROFILE=str(path), LIBOMPTARGET_PROFILE_GRANULARITY="100000000")
    assert all(event["ph"] != "X" or event["ts"] == 0 for event in json.loads(path.read_text())["traceEvents"])


@pytest.mark.slow
def test_a_profile_that_cannot_be_written(tmp_path: Path) -> None:
    """One line; the program's work is done."""
    program = compile_clang(tmp_path, PROGRAMS / "release.c")
    done = run(program, LIBOMPTARGET_PROFILE=str(tmp_path / "no" / "such"))
    where = f"LIBOMPTARGET_PROFILE={tmp_path}/no/such"
    assert (done.rc, done.err) == (0, f"libgompy: {where}: cannot be written: No such file or directory\n")
