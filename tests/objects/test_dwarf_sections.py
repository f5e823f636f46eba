"""Sections of DWARF that our own reader of ELF hands to pyelftools, and what is not loaded for them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from gompy.check.dwarf import Source
from gompy.objects.dwarf_sections import STAND_INS

PROGRAM = """#include <stdio.h>
struct pair { int n; double *v; } both;
static int table[12];
int main (int argc, char **argv) { return puts ("") + both.n + table[argc]; }
"""
ASKED = """import sys
from gompy.check.dwarf import Source
source = Source(open(sys.argv[1], "rb").read(), 0)
print(len(list(source.globals(lambda _: 0))), *sorted(sys.modules))
"""


def linked(folder: Path, *options: str) -> Path:
    (folder / "prog.c").write_text(PROGRAM)
    subprocess.run(["gcc", "-g", "-no-pie", *options, "prog.c", "-o", "prog"], check=True, cwd=folder)
    return folder / "prog"


def modules(program: Path) -> set[str]:
    """What a process has loaded that asked for a program's variables."""
    command = [sys.executable, "-c", ASKED, program]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=Path(__file__).parents[2])
    count, *found = done.stdout.split()
    assert int(count) >= 3
    return set(found)


@pytest.mark.parametrize(
    "options", [[], ["-gdwarf-4"], ["-gz"], ["-gz=zlib-gnu"], ["-Wl,--emit-relocs"]], ids=lambda words: " ".join(words)
)
def test_variables_are_found_however_sections_are_stored(tmp_path: Path, options: list[str]) -> None:
    """Of a program that keeps its relocations, or has sections of both kinds, pyelftools read none."""
    source = Source(linked(tmp_path, *options).read_bytes(), 0)
    assert {variable.name for variable in source.globals(lambda _: 0)} >= {"both", "both.v", "table"}
    main = next(begin for begin, _, name in source._functions if name == "main")
    assert source.line(main) == ("prog.c", 4)
    begin, end = source.limits
    assert begin <= main < end


def test_what_debugs_parsers_is_not_loaded(tmp_path: Path) -> None:
    """And whoever asks for it later gets it."""
    loaded = modules(linked(tmp_path))
    assert not loaded & {*STAND_INS, "elftools.elf.elffile", "pdb", "inspect", "dataclasses"}
    import pprint

    from elftools.construct.debug import Probe

    assert pprint.pformat.__module__ == "pprint" and Probe is not None


def test_a_file_without_dwarf_loads_nothing(tmp_path: Path) -> None:
    """Nor does one that has .eh_frame alone, as any that is stripped."""
    program = linked(tmp_path)
    subprocess.run(["strip", "--strip-debug", program], check=True)
    source = Source(program.read_bytes(), 0)
    assert source.dwarf is None and source.function(source._functions[0][0])
