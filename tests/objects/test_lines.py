"""Lines of linked files, held against binutils' addr2line at every instruction."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from driver_tools import ROOT, needs

from gompy.objects.lines import Lines
from gompy.objects.view import ElfView


@pytest.mark.parametrize("option", ["-O2", "-Wl,--emit-relocs"])
@needs("gcc", "objdump", "addr2line")
def test_the_line_of_each_instruction(tmp_path: Path, option: str) -> None:
    """At -O2 gcc gives one address several rows; the code there is of the last one's line.  Relocations that are kept
    have been applied: where they were once more no line was known.
    """
    program = tmp_path / "program"
    sources = sorted((ROOT / "examples/fruit").glob("*.c"))
    words = ["gcc", "-g", "-O2", "-fopenmp", "-foffload=disable", option, *map(str, sources), "-o", str(program)]
    subprocess.run(words, check=True)
    code = subprocess.run(["objdump", "-d", str(program)], check=True, capture_output=True, text=True).stdout
    addresses = re.findall(r"^ +([0-9a-f]+):\t", code, re.M)
    command = ["addr2line", "-s", "-e", str(program), *addresses]
    told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    places = [re.sub(r" \(.*", "", line) for line in told.splitlines()]
    lines = Lines(ElfView(program.read_bytes(), "program"))
    known = [(at, place) for at, place in zip(addresses, places, strict=True) if place[-1] not in "?0"]
    assert len(known) > 100
    assert [at for at, place in known if lines.covering(int(at, 16)) != place] == []
