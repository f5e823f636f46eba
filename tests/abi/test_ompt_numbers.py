"""gompy/abi/ompt.py says what LLVM's omp-tools.h says: numbers, and where each field of a record is."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from ompt_tools import HEADERS

from gompy.abi import ompt
from gompy.native import generate

OURS = {"OMPT_OPENMP_VERSION"}
"""Not of the header."""


def checks() -> list[str]:
    """A line of C for each number, and for each record and its fields."""
    lines = [
        f'_Static_assert ({name.lower()} == {value}, "{name}");'
        for name, value in generate.numbers(ompt).items()
        if name not in OURS
    ]
    for record, fields in ompt.RECORDS.items():
        lines += [f"struct our_{record} {{ {fields.replace(',', ';')}; }};"]
        lines += [f'_Static_assert (sizeof (struct our_{record}) == sizeof ({record}), "{record}");']
        for name in re.findall(r"(\w+)(?:\[\d+\])?(?:,|$)", fields):
            same = f"offsetof (struct our_{record}, {name}) == offsetof ({record}, {name})"
            lines.append(f'_Static_assert ({same}, "{record}.{name}");')
    return lines


@pytest.mark.skipif(not HEADERS, reason="not installed: libomp-16-dev, for omp-tools.h")
@pytest.mark.parametrize("header", HEADERS, ids=lambda path: path.parts[3])
def test_numbers_and_records(header: Path, tmp_path: Path) -> None:
    """As gcc sees both."""
    (tmp_path / "check.c").write_text("\n".join([f'#include "{header}"', *checks()]) + "\n")
    words = ["gcc", "-fsyntax-only", "-Wall", "-Werror", "check.c"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stderr == ""


def test_every_number_is_checked() -> None:
    """Also a wrong one would be found: its line names it."""
    assert len(checks()) >= len(generate.numbers(ompt)) + 5 * len(ompt.RECORDS)
