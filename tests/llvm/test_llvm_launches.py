"""How clang's kernels get their words, and what the end of a large construct costs."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from llvm_tools import PROGRAMS, compile_clang, environment, needs_clang, run

pytestmark = needs_clang
RESULTS = "5 861 -15139 234861 -3365139\n4\n"


@pytest.fixture(scope="module")
def words(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Kernels of one to seven words."""
    return compile_clang(tmp_path_factory.mktemp("words"), PROGRAMS / "words.c")


@pytest.mark.slow(sample=3)
@pytest.mark.parametrize(
    "more",
    [{}, {"GOMPY_CHECK": "1"}, {"GOMPY_SHARED_MEMORY": "1"}, {"OMP_TARGET_OFFLOAD": "disabled"}],
    ids=["device", "checked", "shared", "host"],
)
def test_words_of_kernels(words: Path, more: dict[str, str]) -> None:
    """Few go with the request, more by a block of memory; the host is the reference."""
    done = run(words, **more)
    assert (done.rc, done.out) == (0, RESULTS), done.err


def test_a_recorded_launch_has_a_block(words: Path, bin_folder: Path, tmp_path: Path) -> None:
    """Hooks see the same launch as before: each kernel with the device address of its words."""
    trace = tmp_path / "trace.json"
    command = [bin_folder / "gompy", "run", "--trace", trace, words]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, check=True)
    assert done.stdout == RESULTS
    assert len(re.findall(r'"cat": ?"launch"', trace.read_text())) == 6


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("valgrind"), reason="not installed: valgrind, which counts instructions")
def test_the_end_of_many_maps(tmp_path: Path) -> None:
    """Four times as many need four times as many instructions: what goes is not looked through for each entry."""
    program = compile_clang(tmp_path, PROGRAMS / "ends.c")

    def instructions(maps: int) -> int:
        command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", program, str(maps)]
        done = subprocess.run(command, env=environment(), capture_output=True, text=True, check=True)
        assert done.stdout == f"{maps} 0\n"
        found = re.search(r"Collected : (\d+)", done.stderr)
        assert found, done.stderr
        return int(found[1])

    none = instructions(0)
    assert instructions(8000) - none < 6 * (instructions(2000) - none)
