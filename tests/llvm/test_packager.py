"""clang-offload-packager of ours: the bytes of LLVM's, and gompclang where clang has come without LLVM's."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
from pathlib import Path

import pytest
from llvm_tools import PROGRAMS, run

from gompy import NATIVE
from gompy.driver import clang
from gompy.driver.errors import DriverError

OURS = Path(NATIVE) / "clang/packager/clang-offload-packager"
THEIRS = os.environ.get("GOMPY_TEST_PACKAGER") or shutil.which("clang-offload-packager-16")
TRIPLE = "x86_64-pc-linux-gnu"


def chosen() -> str:
    """The clang that gompclang takes, or nothing."""
    try:
        return clang.chosen(clang.C, True).path
    except DriverError:
        return ""


def packs(folder: Path, tool: str | Path, *words: str) -> bytes:
    """What a packager makes of those words."""
    subprocess.run([tool, "-o", "out", *words], check=True, cwd=folder)
    return (folder / "out").read_bytes()


@pytest.mark.slow
@pytest.mark.skipif(not THEIRS, reason="not installed: clang-tools-16")
def test_the_bytes_are_those_of_llvms(tmp_path: Path) -> None:
    """Of one image and of two, of each kind, by the file's extension."""
    chance = random.Random(16)
    for extension in ("o", "bc", "s", "cubin", "img"):
        name = f"image.{extension}"
        (tmp_path / name).write_bytes(chance.randbytes(chance.randrange(90)))
        kind = chance.choice(("openmp", "cuda", "hip"))
        one = f"--image=file={name},triple={TRIPLE},arch={chance.choice(('', 'sm_70'))},kind={kind}"
        for words in ([one], [one, f"--image=file={name},triple=nvptx64-nvidia-cuda,arch=sm_80,kind=openmp"]):
            assert packs(tmp_path, OURS, *words) == packs(tmp_path, str(THEIRS), *words)


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["-o", "out", "--image=file=none.o,kind=openmp"], "none.o: No such file or directory"),
        (["-o", "out", "--image=none.o"], "--image=none.o: no KEY=VALUE: none.o"),
        (["-o", "out", "--image=kind=openmp"], "--image=kind=openmp: no file="),
        (["--image=file=none.o"], "no -o FILE"),
        (["-o", "out"], "no --image=…"),
        (["-o", "out", "--such"], "unknown option --such"),
        (["out"], "out: taking images out is not implemented here; gompy images extract does it"),
    ],
)
def test_messages(tmp_path: Path, words: list[str], error: str) -> None:
    done = subprocess.run([OURS, *words], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stderr.splitlines()[0]) == (1, f"clang-offload-packager: fatal error: {error}")
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
@pytest.mark.skipif(not chosen(), reason="not installed: clang-16 and libomp-16-dev")
def test_a_clang_without_one(tmp_path: Path, bin_folder: Path) -> None:
    """Ours is the one that clang starts, and the program's regions run on the device."""
    words = ["-O1", "-fopenmp", str(PROGRAMS / "release.c"), f"-B{OURS.parent}"]
    command = [bin_folder / "gompclang", *words]
    shown = subprocess.run([*command, "-###"], capture_output=True, text=True, check=True).stderr
    assert f'"{OURS}" "-o"' in shown
    subprocess.run([*command, "-o", "prog"], cwd=tmp_path, check=True)
    ran = run(tmp_path / "prog", OMP_TARGET_OFFLOAD="mandatory")
    assert (ran.rc, ran.out, ran.err) == (0, "11 29 3\n", "")


def test_when_ours_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only where the clang has none beside it, nor PATH; clang 14 needs other tools."""
    folder = tmp_path / "llvm-16" / "bin"
    folder.mkdir(parents=True)
    monkeypatch.setenv("PATH", str(tmp_path))
    here = f"-B{OURS.parent}"
    assert here in clang.link_words(str(folder / "clang"))
    (folder / "clang-offload-packager").write_text("#!/bin/sh\n")
    (folder / "clang-offload-packager").chmod(0o755)
    assert here not in clang.link_words(str(folder / "clang"))
    assert "clang-tools-14" in clang.lacking(str(tmp_path / "llvm-14" / "bin" / "clang"), 14)
