"""The index of mapped ranges, in nodes of a few entries, against a list."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from driver_tools import needs

ROOT = Path(__file__).parents[2]
INCLUDE = ROOT / "gompy" / "runtime" / "core" / "mapping"


@pytest.mark.slow(sample=1)
@needs("gcc")
@pytest.mark.parametrize("fetched", [1, 1 << 20], ids=["fetched", "looked-at"])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_index_against_list(tmp_path: Path, seed: int, fetched: int) -> None:
    """Splits, joins and the ends of nodes; empty ranges, and such that begin where another one does.

    With guesses at leaves that are only fetched, and with such that are answers where the leaf says so.
    """
    program = tmp_path / "range_index"
    source = ROOT / "tests" / "programs" / "range_index.c"
    options = ["-O1", "-fno-strict-aliasing", f"-DGUIDE_FETCHED={fetched}", "-I", INCLUDE]
    subprocess.run(["gcc", *options, source, "-o", program], check=True, timeout=120)
    done = subprocess.run([program, str(seed)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout
    assert int(done.stdout) > 200
