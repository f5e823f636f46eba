"""Programs by other releases of clang than 16: what their ABI has of its own, and the clangs that are there.

GOMPY_TEST_CLANGS names more clangs, with `:` between; each needs its libomp and libomptarget, or LDFLAGS for them.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from llvm_tools import LIBDIR, PROGRAMS, compile_clang, environment, needs_clang, run

from gompy.abi import llvm
from gompy.driver import clang

WORDS = {"release.c": "11 29 3\n", "release.cpp": "150 3 3 7\n"}


def clangs() -> list[str]:
    """The clangs to try."""
    found = [path for number in sorted(llvm.CLANGS) if (path := shutil.which(f"clang-{number}"))]
    found = [path for path in found if not clang.lacking(path, clang.release(path))]
    return found + [path for path in os.environ.get("GOMPY_TEST_CLANGS", "").split(":") if path]


@pytest.mark.slow(sample=1)
@pytest.mark.skipif(not clangs(), reason="not installed: clang-16 and libomp-16-dev, or another release's")
@pytest.mark.parametrize("path", clangs())
@pytest.mark.parametrize("source", WORDS)
def test_each_clang(tmp_path: Path, bin_folder: Path, path: str, source: str) -> None:
    """gompclang compiles and links with it, and the regions run on the device."""
    wrapper = "gompclang++" if source.endswith(".cpp") else "gompclang"
    command = [bin_folder / wrapper, "-O1", "-fopenmp", PROGRAMS / source, "-o", "prog"]
    env = environment(
        GOMPY_CLANG=path, GOMPY_CLANGXX=path.replace("clang-", "clang++-") if "clang-" in path else f"{path}++"
    )
    del env["LD_LIBRARY_PATH"]
    words = shlex.split(os.environ.get("LDFLAGS", ""))
    done = subprocess.run([*command, *words], cwd=tmp_path, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    ran = run(tmp_path / "prog", OMP_TARGET_OFFLOAD="mandatory")
    assert (ran.rc, ran.out, ran.err) == (0, WORDS[source], "")


@pytest.mark.slow
@needs_clang
def test_entries_of_clang_20(tmp_path: Path) -> None:
    """The form with a version and a kind: entries of another kind are not ours."""
    subprocess.run(
        ["gcc", "-shared", "-fPIC", PROGRAMS / "newer_entries.c", "-o", "newer.so"], check=True, cwd=tmp_path
    )
    program = compile_clang(tmp_path, PROGRAMS / "release.cpp")
    done = run(program, LD_PRELOAD="newer.so", LD_LIBRARY_PATH=f"{tmp_path}:{LIBDIR}", GOMPY_STATS="1")
    assert (done.rc, done.out) == (0, WORDS["release.cpp"]), done.err
    assert done.err == "6 entries\nlibgompy: regions: 4 on device 0 (intelmic), 0 on the host\n"


@pytest.mark.slow
@needs_clang
def test_older_forms(tmp_path: Path) -> None:
    """Each entry point that clang 5 to 15 called does what the newer ones do, and what it does in LLVM's library."""
    program = compile_clang(tmp_path, PROGRAMS / "older_forms.c")
    done = run(program, GOMPY_STATS="1")
    assert done.err == "libgompy: regions: 8 on device 0 (intelmic), 0 on the host\n"
    assert done.out.splitlines() == [f"{1 + 5 * i * (i + 1)} {10 * i} {i} 4" for i in range(8)] + ["40 calls"]
    assert run(program, LD_LIBRARY_PATH="/usr/lib/llvm-16/lib").out == done.out


@pytest.mark.slow
@needs_clang
def test_attach(tmp_path: Path) -> None:
    """A pointer is attached where it or what it points to is new, or `always` is said; the host's stays."""
    done = run(compile_clang(tmp_path, PROGRAMS / "attach.c"))
    assert (done.rc, done.out, done.err) == (0, "11 21 21 11\n1 0\n", "")


@pytest.mark.slow(sample=1)
@needs_clang
@pytest.mark.parametrize(("number", "word"), [(17, "Libomptarget"), (19, "omptarget"), (22, "omptarget")])
def test_words_of_messages(tmp_path: Path, number: int, word: str) -> None:
    """Since 18 messages begin with another word: the library that a program asks for decides."""
    program = compile_clang(tmp_path, PROGRAMS / "tasks.c", "-g")
    done = run(program, LD_PRELOAD=str(LIBDIR / llvm.CLANGS[number]))
    assert done.err.startswith(f"{word} error: Device 7 is not ready.\n{word} error: Consult "), done.err
    assert f"tasks.c:22:1: {word} fatal error 1: " in done.err


@pytest.mark.slow
@needs_clang
def test_a_structs_range_since_17(tmp_path: Path) -> None:
    """It begins where its first member does; before it began at a multiple of 8, which may extend what is mapped."""
    program = compile_clang(tmp_path, PROGRAMS / "low_alignment.c")
    done = run(program, LD_PRELOAD=str(LIBDIR / llvm.CLANGS[17]))
    assert (done.rc, done.out, done.err) == (0, "21 31\n", "")
