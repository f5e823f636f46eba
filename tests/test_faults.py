"""A sample of ``make check-faults``: calls to the system fail, in one program on each emulated device."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from driver_tools import ROOT, environment, has_all, make_wrappers
from nvptx_tools import has_compiler

RUNNER = ROOT / "testsuite" / "faults" / "run.py"
SAMPLE = ("malloc", "mmap64", "memfd_create", "open64", "write", "pipe2", "posix_spawnp", "pthread_create")


@has_all
@pytest.mark.parametrize(
    ("device", "program", "more"),
    [("intelmic", 3, ()), pytest.param("nvptx", 1, ("calloc",), marks=has_compiler)],
)
def test_failing_calls(tmp_path: Path, device: str, program: int, more: tuple[str, ...]) -> None:
    """Each run ends right or with a message; nothing is left behind."""
    words = [sys.executable, RUNNER, "--device", device, "--program", str(program), "--jobs", "2"]
    for call in (*SAMPLE, *more):
        words += ["--call", call]
    for number in (1, 2, 3, 7, 20) if device == "intelmic" else (1, 2, 9, 27, 55, 96, 105, 118):
        words += ["--number", str(number)]
    words += ["--compiler", str(make_wrappers(tmp_path) / "gompcc")]
    done = subprocess.run(words, capture_output=True, text=True, env=environment(), timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert not done.stdout.startswith("0 faults"), done.stdout
