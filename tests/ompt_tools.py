"""A tool of OMPT on one program, compiled by gcc or by clang: the lines that it prints, with lines of the source."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

PROGRAMS = Path(__file__).with_name("programs")
PROGRAM = PROGRAMS / "ompt_program.c"
TOOL = PROGRAMS / "ompt_tool.c"
HEADERS = sorted(Path("/usr/lib").glob("llvm-*/lib/clang/*/include/omp-tools.h"))
"""LLVM's own, of each installed release."""

needs_header = pytest.mark.skipif(not HEADERS, reason="not installed: libomp-16-dev, for omp-tools.h")


def header_option() -> list[str]:
    """The header's folder, behind gcc's own, whose stddef.h it has one of, too."""
    return ["-idirafter", str(HEADERS[0].parent)]


def with_lines(text: str, program: Path) -> list[str]:
    """A tool's lines; `at 0x…`, an offset in the program, becomes the source line of the call before it."""
    offsets = sorted(set(re.findall(r"at (0x[0-9a-f]+)$", text, re.MULTILINE)))
    words = ["addr2line", "-e", str(program), *(hex(int(offset, 16) - 1) for offset in offsets)]
    found = subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines()
    lines = {offset: Path(place.split(" ")[0]).name for offset, place in zip(offsets, found, strict=True)}
    return re.sub(r"at (0x[0-9a-f]+)$", lambda hit: f"at {lines[hit[1]]}", text, flags=re.MULTILINE).splitlines()
