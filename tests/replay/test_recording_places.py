"""gompy record, gompy run where a disk has no room or is read-only: the text has the cause, and the user's file."""

from __future__ import annotations

import errno
import os
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

from gompy.cli import run

ROOT = Path(__file__).resolve().parents[2]
BIN = ROOT / ".venv" / "bin"
PROGRAM = """
#include <sys/resource.h>
int x;
void wanted (void)
{
  #pragma omp target map(x)
  x++;
}
int main (void)
{
  struct rlimit limit = { 500, 500 };
  #pragma omp target map(x)
  x++;
  setrlimit (RLIMIT_FSIZE, &limit);
  wanted ();
}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With the program."""
    work = tmp_path_factory.mktemp("places")
    (work / "a.c").write_text(PROGRAM)
    subprocess.run([BIN / "gompcc", "-fopenmp", "a.c"], cwd=work, check=True)
    return work


def record(folder: Path, *words: str) -> tuple[int, list[str]]:
    """gompy record: its status, and what it says."""
    env = {**os.environ, "LC_ALL": "C"}
    command = [BIN / "gompy", "record", *words, "./a.out"]
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)
    return done.returncode, done.stderr.splitlines()


def test_no_room_for_the_first_region(folder: Path) -> None:
    """It said that none had been launched."""
    status, told = record(folder, "-o", "made", "--only", "wanted")
    assert (status, "libgompy: the recording ends here: File too large" in told) == (2, True)
    why = "nothing was recorded: the recording ended before its first region was whole"
    assert told[-1] == f"gompy record: error: {why}"
    assert not (folder / "made").exists()


def test_a_folder_that_is_not_there(folder: Path) -> None:
    """The user has not heard of the temporary folder that it named."""
    assert record(folder, "-o", "none/made") == (2, ["gompy record: error: none/made: No such file or directory"])


def test_a_disk_that_is_read_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """gompy run --trace said "Permission denied"; whose files they are has nothing to do with it."""
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert run._why_not("/", os.W_OK) == (errno.EROFS if os.statvfs("/").f_flag & os.ST_RDONLY else errno.EACCES)
    monkeypatch.setattr(os, "statvfs", lambda path: SimpleNamespace(f_flag=os.ST_RDONLY))
    assert run._why_not("/", os.W_OK) == errno.EROFS
