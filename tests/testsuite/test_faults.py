"""A sample of ``make check-faults``: calls to the system fail, in one program on each emulated device."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from driver_tools import ROOT, environment, has_all, make_wrappers
from nvptx_tools import has_compiler

RUNNER = ROOT / "testsuite" / "faults" / "run.py"
SAMPLE = ("malloc", "mmap64", "memfd_create", "open64", "write", "pipe2", "posix_spawnp", "execve", "pthread_create")


@pytest.mark.slow
@has_all
@pytest.mark.parametrize(
    ("device", "program", "calls", "numbers"),
    [
        ("intelmic", 3, SAMPLE, (1, 2, 3, 7, 20)),
        pytest.param("nvptx", 1, (*SAMPLE, "calloc"), (1, 2, 9, 27, 55, 96, 105, 118), marks=has_compiler),
        # a launch without memory for its stacks: told once, though queues, frees and the end of the program follow
        pytest.param("nvptx", 9, ("calloc", "mmap64"), (15, 16, 17, 33, 34, 35), marks=has_compiler),
    ],
)
def test_failing_calls(
    tmp_path: Path, device: str, program: int, calls: tuple[str, ...], numbers: tuple[int, ...]
) -> None:
    """Each run ends right or with a message; nothing is left behind."""
    words = [sys.executable, RUNNER, "--device", device, "--program", str(program), "--jobs", "2"]
    for call in calls:
        words += ["--call", call]
    for number in numbers:
        words += ["--number", str(number)]
    words += ["--compiler", str(make_wrappers(tmp_path) / "gompcc")]
    done = subprocess.run(words, capture_output=True, text=True, env=environment(), timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert not done.stdout.startswith("0 faults"), done.stdout
