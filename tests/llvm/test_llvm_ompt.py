"""OMPT in a program of clang's: libomp finds the tool, libgompy tells it of the target constructs."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from llvm_tools import TARGET, needs_clang, run
from ompt_tools import PROGRAM, PROGRAMS, TOOL, needs_header, with_lines

pytestmark = [needs_clang, needs_header]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program of the test of gcc's door, compiled by clang together with the tool."""
    folder = tmp_path_factory.mktemp("ompt")
    words = ["clang-16", "-g", "-O1", "-fopenmp", f"-fopenmp-targets={TARGET}", PROGRAM, TOOL, "-o", "whole"]
    subprocess.run(words, check=True, cwd=folder)
    return folder / "whole"


@pytest.mark.slow
def test_each_event_with_its_line(program: Path) -> None:
    """The same constructs, lines and launches as of gcc's program; clang's maps are blocks of their own."""
    lines = with_lines(run(program, OMP_NUM_THREADS="4").out, program)
    assert lines == (PROGRAMS / "ompt_clang.txt").read_text().splitlines()


def test_both_streams_agree() -> None:
    """By construct: kind, device, line; launches with their teams.  gcc's end of target data has no line of its own."""

    def constructs(name: str) -> list[tuple[str, ...]]:
        lines = (PROGRAMS / name).read_text().splitlines()
        found = [tuple(line.split(", ")[::3]) for line in lines if line.startswith("target ") and " begin " in line]
        return [words[:1] if number == 4 else words for number, words in enumerate(found)]

    def teams(name: str) -> list[str]:
        lines = (PROGRAMS / name).read_text().splitlines()
        return [line.rpartition("teams ")[2] for line in lines if line.startswith("submit begin")]

    assert constructs("ompt_gcc.txt") == constructs("ompt_clang.txt")
    assert teams("ompt_gcc.txt") == teams("ompt_clang.txt") == ["1", "3"]


@pytest.mark.slow
def test_a_disabled_tool_is_told_nothing(program: Path) -> None:
    assert run(program, OMP_NUM_THREADS="4", OMP_TOOL="disabled").out == "1, on the device\n"


@pytest.mark.slow
def test_the_device_process_starts_no_tool(program: Path, tmp_path: Path) -> None:
    """libomp is there, too: it would find the host's OMP_TOOL_LIBRARIES."""
    (tmp_path / "tool.c").write_text(
        "#include <stdio.h>\n#include <unistd.h>\nvoid *ompt_start_tool (unsigned v, const char *r)\n"
        '{ FILE *f = fopen ("started", "a"); fprintf (f, "%d\\n", getpid ()); fclose (f); return 0; }\n'
    )
    subprocess.run(["gcc", "-shared", "-fPIC", "tool.c", "-o", "tool.so"], check=True, cwd=tmp_path)
    words = ["clang-16", "-fopenmp", f"-fopenmp-targets={TARGET}", PROGRAM, "-o", "alone"]
    subprocess.run(words, check=True, cwd=tmp_path)
    log = tmp_path / "started"
    code = f"cd '{tmp_path}' && exec ./alone"
    done = run(Path("/bin/sh"), "-c", code, OMP_TOOL_LIBRARIES="./tool.so", OMP_NUM_THREADS="4")
    assert done.out == "1, on the device\n"
    assert len(log.read_text().splitlines()) == 1
