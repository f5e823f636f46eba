"""gompy record, gompy run where a disk has no room or is read-only: the text has the cause, and the user's file."""

from __future__ import annotations

import errno
import os
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

from gompy import UserError
from gompy.cli import run
from gompy.cli.record import run_recorded

CUT = "nothing was recorded: the recording ended before a wanted region was whole"
ROOT = Path(__file__).resolve().parents[2]
BIN = ROOT / ".venv" / "bin"
PROGRAM = """
#include <sys/resource.h>
#include <unistd.h>
int x;
void wanted (void)
{
  #pragma omp target map(x)
  x++;
}
int main (int argc, char **argv)
{
  struct rlimit limit = { 500, 500 };
  #pragma omp target map(x)
  x++;
  setrlimit (RLIMIT_FSIZE, &limit);
  if (argc > 1)
    _exit (0);
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


def record(folder: Path, *words: str, arguments: tuple[str, ...] = ()) -> tuple[int, list[str]]:
    """gompy record: its status, and what it says."""
    env = {**os.environ, "LC_ALL": "C"}
    command = [BIN / "gompy", "record", *words, "./a.out", *arguments]
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)
    return done.returncode, done.stderr.splitlines()


def test_no_room_for_the_first_region(folder: Path) -> None:
    """It said that none had been launched."""
    status, told = record(folder, "-o", "made", "--only", "wanted")
    assert (status, "libgompy: the recording ends here: File too large" in told) == (2, True)
    assert told[-1] == f"gompy record: error: {CUT}"
    assert not (folder / "made").exists()


def test_a_program_that_ends_before_what_is_wanted(folder: Path) -> None:
    """By _exit, so that the recording has no end; its first region was whole, which was said not to be."""
    assert record(folder, "-o", "made", "--only", "wanted", arguments=("1",)) == (2, [f"gompy record: error: {CUT}"])


def test_no_room_for_the_first_line(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The user has not heard of the temporary file that was said to be empty."""

    def child(_: list[str], env: dict[str, str]) -> int:
        Path(env["GOMPY_RECORD_FILE"]).touch()
        return 0

    monkeypatch.setattr("gompy.tools.child.run_child", child)
    with pytest.raises(UserError, match=f"^{CUT}$"):
        run_recorded([str(folder / "a.out")], None, str(folder / "made"), {})


def test_a_folder_that_is_not_there(folder: Path) -> None:
    """The user has not heard of the temporary folder that it named."""
    assert record(folder, "-o", "none/made") == (2, ["gompy record: error: none/made: No such file or directory"])


def test_a_disk_that_is_read_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """gompy run --trace said "Permission denied"; whose files they are has nothing to do with it."""
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert run._why_not("/", os.W_OK) == (errno.EROFS if os.statvfs("/").f_flag & os.ST_RDONLY else errno.EACCES)
    monkeypatch.setattr(os, "statvfs", lambda path: SimpleNamespace(f_flag=os.ST_RDONLY))
    assert run._why_not("/", os.W_OK) == errno.EROFS
