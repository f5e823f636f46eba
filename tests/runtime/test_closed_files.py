"""A program that closes all descriptors, as daemons do, and has files of its own by their numbers then."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from gompy.replay.recording import Recording

ROOT = Path(__file__).resolve().parents[2]
BIN = ROOT / ".venv" / "bin"
PROGRAM = """
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>
int main (void)
{
  static int a[64];
  closefrom (3);
  for (int i = 0; i < 20; i++)
    open ("data", O_RDWR | O_CREAT | O_APPEND, 0600);
  for (int i = 0; i < 5; i++)
    {
      #pragma omp target map(tofrom: a)
      a[5]++;
    }
  printf ("%d %ld\\n", a[5], (long) lseek (3, 0, SEEK_END));
}
"""


@pytest.mark.parametrize("words", [["run", "--check"], ["run", "--trace", "made"], ["record", "-o", "made"]])
def test_nothing_is_written_into_the_programs_files(tmp_path: Path, words: list[str]) -> None:
    """All three were: the log, the trace and the recording were in the program's file, and not in ours."""
    (tmp_path / "a.c").write_text(PROGRAM)
    subprocess.run([BIN / "gompcc", "-g", "-fopenmp", "-w", "a.c"], cwd=tmp_path, check=True)
    done = subprocess.run(
        [BIN / "gompy", *words, "./a.out"],
        cwd=tmp_path,
        env={**os.environ, "LC_ALL": "C"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "5 0\n"), done.stderr
    assert "ends here" not in done.stderr
    if "--trace" in words:
        names = [event.get("name", "") for event in json.loads((tmp_path / "made").read_text())]
        assert sum(name.startswith("main._omp_fn.0") for name in names) >= 5
    if "record" in words:
        recording = Recording(str(tmp_path / "made"))
        assert (recording.whole, len(recording.regions)) == (True, 5)
