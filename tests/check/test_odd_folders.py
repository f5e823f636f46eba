"""`gompy run --check` of a program in a folder with an odd name: lines and names are there all the same."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BIN = ROOT / ".venv" / "bin"
PROGRAM = """
int main (void)
{
  static int a[64];
  #pragma omp target enter data map(to: a)
}
"""

IDS = ["line", "byte", "next", "quotes", "escape"]


@pytest.mark.parametrize("name", [b"a\nb", b"\xff", b"\xc2\x85", b"a b%s'\"\\", b"\\012"], ids=IDS)
def test_names_and_lines(tmp_path: Path, name: bytes) -> None:
    """The kernel's list of what is mapped has such names, and gave none of the first three."""
    folder = tmp_path / os.fsdecode(name)
    folder.mkdir()
    (folder / "a.c").write_text(PROGRAM)
    subprocess.run([BIN / "gompcc", "-g", "-fopenmp", "a.c"], cwd=folder, check=True)
    command = [BIN / "gompy", "run", "--check", "./a.out"]
    env = {**os.environ, "LC_ALL": "C"}
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)
    said = "a.c:5: error: a (256 bytes) is still mapped to device 0 when the program ends [still-mapped]"
    assert (done.returncode, done.stderr.splitlines()[0]) == (86, said)
