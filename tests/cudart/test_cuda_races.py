"""Programs that race, and their right twins (tests/programs/races): all of the first are told, none of the others."""

from __future__ import annotations

from pathlib import Path

import pytest
from cuda_tools import has_driver
from test_cuda_cc import PROGRAMS, compiled, needs_clang, result

RACES = PROGRAMS / "races"
pytestmark = [has_driver, needs_clang]


@pytest.mark.parametrize("source", sorted(RACES.glob("*.cu")), ids=lambda path: path.stem)
def test_corpus(tmp_path: Path, source: Path) -> None:
    status, _, told = result(compiled(tmp_path, source, "-g"), GOMPY_CHECK="race")
    assert status == 0
    lines = [line for line in told.splitlines() if line.startswith("libcuda (gompy): warning: race on ")]
    assert bool(lines) == source.stem.endswith("_wrong"), told
    assert all(f"{source.name}:" in line for line in lines)
