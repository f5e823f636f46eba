"""gompy/abi/cuda.py says what cuda.h says: GCC 12's own, which has a part, and a CUDA toolkit's, which has all."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from gompy.abi import cuda
from gompy.native import generate
from testsuite.gcc_suite import source


def numbers() -> dict[str, int]:
    """The table's numbers that are the interface's own."""
    return {name: value for name, value in generate.cuda_numbers().items() if name not in cuda.OWN}


def refused(header: Path, names: dict[str, int], tmp_path: Path) -> str:
    """What gcc says of a text that includes a cuda.h and asserts the numbers; empty if it takes it."""
    file = tmp_path / "check.c"
    lines = [f'_Static_assert ((long) {name} == {value}, "{name}");' for name, value in names.items()]
    file.write_text("\n".join([f'#include "{header}"', *lines, ""]))
    command = ["gcc", "-fsyntax-only", "-w", f"-I{header.parent}", str(file)]
    return subprocess.run(command, capture_output=True, text=True, check=False).stderr


def test_numbers_of_gcc(tmp_path: Path) -> None:
    """All that GCC 12's include/cuda/cuda.h names."""
    folder = source.cache_directory()
    if not (folder / ".complete").exists():
        pytest.skip(f"{source.PACKAGE} is not unpacked; `make gcc-tests` does it")
    header = folder / "include" / "cuda" / "cuda.h"
    if not header.exists():
        pytest.skip(f"{folder} was unpacked without cuda.h; remove it, and `make gcc-tests` does so again")
    named = set(re.findall(r"\bCU(?:DA)?_\w+", header.read_text(encoding="utf-8")))
    names = {name: value for name, value in numbers().items() if name in named}
    assert len(names) > 35
    assert refused(header, names, tmp_path) == ""
    assert "static assertion failed" in refused(header, {"CUDA_ERROR_NOT_FOUND": 501}, tmp_path)


def test_numbers_of_a_toolkit(tmp_path: Path) -> None:
    """All, where NVIDIA's own header is installed."""
    headers = sorted(Path("/usr/local").glob("cuda*/include/cuda.h"))
    if not headers:
        pytest.skip("no CUDA toolkit is installed below /usr/local")
    named = set(re.findall(r"\bCU(?:DA)?_\w+", headers[-1].read_text(encoding="utf-8")))
    assert set(numbers()) <= named
    assert refused(headers[-1], numbers(), tmp_path) == ""


def test_errors_that_stay_have_numbers() -> None:
    """A name that the table lacks would be no constant in C."""
    assert set(cuda.STICKY) <= set(numbers())
