"""The end of the log of `gompy run --check`, which is in memory that outlives the program."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from gompy.abi.check_log import Op
from gompy.check.log import read_log
from gompy.check.tail import HEAD, LENGTHS, NAME, ROOM, Tail

ROOT = Path(__file__).resolve().parents[2]
BIN = ROOT / ".venv" / "bin"
PROGRAM = r"""
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static int a[64];
static void launch (int times)
{
  for (int i = 0; i < times; i++)
    {
      #pragma omp target map(a)
      a[5]++;
    }
}
int main (int argc, char **argv)
{
  launch (atoi (argv[1]));
  if (argc > 3 && strcmp (argv[2], "execute") == 0)
    execv (argv[0], (char *[]) { argv[0], argv[3], argv[4], NULL });
  if (argc > 3 && strcmp (argv[2], "start") == 0)
    {
      pid_t process = fork ();
      if (process == 0)
        execv (argv[0], (char *[]) { argv[0], argv[3], argv[4], NULL });
      waitpid (process, NULL, 0);
    }
  if (strcmp (argv[argc - 1], "die") == 0)
    kill (getpid (), SIGKILL);
  if (strcmp (argv[argc - 1], "leave") == 0)
    _exit (0);
}
"""
ENDS = {
    "die": ["3", "die"],
    "leave": ["3", "leave"],
    "return": ["3", "return"],
    "many, and die": ["2000", "die"],
    "another program in the same process": ["3", "execute", "4", "die"],
    "another process": ["3", "start", "4", "die"],
}


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tail")
    (folder / "a.c").write_text(PROGRAM)
    subprocess.run([BIN / "gompcc", "-g", "-O1", "-w", "-fopenmp", "a.c"], cwd=folder, check=True, timeout=300)
    return folder / "a.out"


def run(program: Path, words: list[str], log: Path) -> None:
    env = {**os.environ, "GOMPY_CHECK": "1", "GOMPY_CHECK_LOG": str(log)}
    subprocess.run([program, *words], cwd=log.parent, env=env, timeout=60, check=False, capture_output=True)


def launches(data: bytes) -> int:
    return sum(event.op == Op.LAUNCH for event in read_log(data).events)


@pytest.mark.parametrize("words", ENDS.values(), ids=list(ENDS))
def test_all_launches_are_known_however_the_program_ends(program: Path, tmp_path: Path, words: list[str]) -> None:
    log = tmp_path / "log"
    tail = Tail(str(log))
    run(program, words, log)
    tail.append()
    tail.close()
    assert launches(log.read_bytes()) == sum(int(word) for word in words if word.isdigit())


def test_the_next_program_has_what_one_has_left(program: Path, tmp_path: Path) -> None:
    """As of a shell's children, in their order."""
    log = tmp_path / "log"
    tail = Tail(str(log))
    for times in (3, 4, 5):
        run(program, [str(times), "return" if times == 4 else "die"], log)
    assert launches(log.read_bytes()) == 3 + 4
    assert launches(tail.left()) == 5
    tail.close()


def test_a_launch_is_written_late(program: Path, tmp_path: Path) -> None:
    """Each write of a few hundred bytes took as long as all else that is logged of a launch."""
    log = tmp_path / "log"
    tail = Tail(str(log))
    run(program, ["3", "die"], log)
    assert (log.stat().st_size, launches(tail.left())) == (0, 3)
    tail.close()


@pytest.mark.parametrize("why", ["none", "another's", "too small"])
def test_without_it_each_launch_is_written(program: Path, tmp_path: Path, why: str) -> None:
    log = tmp_path / "log"
    tail = Tail(str(log))
    if why == "none":
        (tmp_path / ("log" + NAME)).unlink()
    elif why == "another's":
        os.pwrite(tail.fd, os.getpid().to_bytes(4, "little"), 0)
    else:
        os.ftruncate(tail.fd, HEAD)
    run(program, ["3", "die"], log)
    tail.close()
    assert launches(log.read_bytes()) == 3


@pytest.mark.parametrize("written", [0, 1, 50, 99, 100])
def test_what_was_being_written_stands_once(tmp_path: Path, written: int) -> None:
    """The process was killed before it could say that it had written something."""
    log = tmp_path / "log"
    tail = Tail(str(log))
    before, left = bytes(range(100, 110)), bytes(range(100))
    log.write_bytes(before + left[:written])
    os.pwrite(tail.fd, b"\1" * 8 + LENGTHS.pack(10, 110)[8:], 0)
    os.pwrite(tail.fd, left + bytes(ROOM - 100), HEAD)
    tail.append()
    tail.close()
    assert log.read_bytes() == before + left


def test_what_was_written_stands_once_with_a_part_of_what_came_next(tmp_path: Path) -> None:
    """The process was killed between its write of a full buffer, whose last record is cut, and its word of that."""
    log = tmp_path / "log"
    tail = Tail(str(log))
    before, left, part = bytes(range(100, 110)), bytes(range(100)), b"part"
    log.write_bytes(before + left + part)
    os.pwrite(tail.fd, b"\1" * 8 + LENGTHS.pack(10, 110)[8:], 0)
    os.pwrite(tail.fd, left + part + bytes(ROOM - 104), HEAD)
    tail.append()
    tail.close()
    assert log.read_bytes() == before + left + part
