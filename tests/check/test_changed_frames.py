"""The program's frames in the log: of one that its thread has noted before only the words that have changed."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from gompy.abi.check_log import Op
from gompy.check.log import CHANGED, FRAME, RECORD, STACK, read_log

ROOT = Path(__file__).resolve().parents[2]
BIN = ROOT / ".venv" / "bin"
LAUNCHES = 20
PROGRAM = r"""
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
static int ready;
/* Launches regions whose frame has another number each time, and from one of them on other words of its stack.  */
static void *launch (void *number)
{
  volatile long step = 0, more[400];
  #pragma omp critical
  printf ("%p %ld\n", (void *) &step, (long) number);
  for (long i = 0; i < LAUNCHES; i++)
    {
      step = 1000 * (long) number + i;
      for (int k = 0; i == LAUNCHES / 2 && k < 400; k++)
        more[k] = i;
      #pragma omp target map(tofrom: ready)
      ready++;
    }
  return (void *) more[1];
}
int main (int argc, char **argv)
{
  long threads = atol (argv[1]);
  pthread_t all[64];
  #pragma omp target enter data map(to: ready)
  for (long i = 0; i < threads; i++)
    pthread_create (&all[i], NULL, launch, (void *) i);
  for (long i = 0; i < threads; i++)
    pthread_join (all[i], NULL);
}
"""


def logged(folder: Path, threads: int) -> tuple[bytes, str]:
    """The log of a run with so many threads that launch, and what it has printed."""
    (folder / "a.c").write_text(PROGRAM)
    words = [BIN / "gompcc", "-g", "-O1", "-w", "-fopenmp", f"-DLAUNCHES={LAUNCHES}", "a.c", "-pthread"]
    subprocess.run(words, cwd=folder, check=True, timeout=300)
    env = {**os.environ, "GOMPY_CHECK": "1", "GOMPY_CHECK_LOG": str(folder / "log")}
    command = ["./a.out", str(threads)]
    done = subprocess.run(command, cwd=folder, env=env, check=True, capture_output=True, text=True, timeout=300)
    return (folder / "log").read_bytes(), done.stdout


@pytest.mark.parametrize("threads", [1, 24])
def test_each_launch_has_the_frame_that_it_had(tmp_path: Path, threads: int) -> None:
    data, output = logged(tmp_path, threads)
    at = {int(number): int(address, 16) for address, number in (line.split() for line in output.splitlines())}
    events = [event for event in read_log(data).events if event.op == Op.LAUNCH]
    seen: dict[int, list[int | None]] = {}
    for event in events:
        frame = event.frame
        assert frame is not None
        words = [frame.word(address) for address in at.values() if frame.sp <= address < frame.cfa]
        seen.setdefault(event.thread, []).extend(words)
    expected = [[1000 * number + i for i in range(LAUNCHES)] for number in range(threads)]
    assert sorted(seen.values(), key=str) == sorted(expected, key=str)


def test_a_frame_that_is_nearly_as_it_was_takes_few_bytes(tmp_path: Path) -> None:
    data, at, sizes = logged(tmp_path, 1)[0], 0, []
    while at < len(data):
        op, kind, _, size, *_ = RECORD.unpack_from(data, at)
        at += RECORD.size + size + -size % 8
        sizes += [(kind, size)] if op == FRAME else []
    own = [size for kind, size in sizes[1:] if kind == 0]  # behind that of main
    assert len(own) == 2  # the first one, and where other words have come
    assert sum(kind for kind, _ in sizes) == LAUNCHES - 2
    assert all(size <= own[0] / 8 for kind, size in sizes if kind)


def record(process: int, op: int, kind: int, body: bytes) -> bytes:
    """One of the first thread of a process."""
    return RECORD.pack(op, kind, 0, len(body), process, 100, 0x1000, 0x1010, 0, 0, b"", 1, 0) + body


def test_processes_that_share_a_log_have_frames_of_their_own() -> None:
    """A shell's children, or an MPI program's: what one has noted before is not what another has."""
    first, second = bytes(STACK + 16), bytes(STACK) + b"\x07" * 16
    changed = CHANGED.pack(STACK + 8, 5)
    data = record(1, FRAME, 0, first) + record(2, FRAME, 0, second) + record(1, FRAME, 1, changed)
    data += record(1, Op.LAUNCH, 0, b"") + record(3, FRAME, 1, changed) + record(2, FRAME, 1, changed)
    data += record(2, Op.LAUNCH, 0, b"")
    words = [[e.frame and e.frame.word(at) for at in (0x1000, 0x1008)] for e in read_log(data).events]
    assert words == [[0, 5], [0x0707070707070707, 5]]
