"""The exact check's look for the reads of a gather that are in one kilobyte: by vectors, and none is passed over."""

from __future__ import annotations

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_each_index_of_a_kilobyte_is_found(tmp_path: Path) -> None:
    source = ROOT / "tests" / "programs" / "gather_among.c"
    subprocess.run(["gcc", "-O2", f"-I{ROOT}", str(source), "-o", "a.out"], cwd=tmp_path, check=True)
    done = subprocess.run(["./a.out"], cwd=tmp_path, capture_output=True, text=True, timeout=100)
    assert (done.returncode, done.stdout) == (0, "all found, by few looks\n")
