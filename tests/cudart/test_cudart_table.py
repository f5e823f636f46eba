"""gompy/abi/cudart*.py: the numbers of a toolkit's header, libcudart's exports, and the page's tables."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from cuda_tools import has_driver
from driver_tools import needs

from gompy.abi import cuda, cudart, cudart_calls, cudart_device
from gompy.cudart import clang
from gompy.native import generate_cudart
from gompy.objects import fatbin

ROOT = Path(__file__).resolve().parents[2]
LIBRARY = Path(clang.FOLDER) / cudart.SONAME


def numbers() -> dict[str, int]:
    """All that the table gives a number."""
    return generate_cudart.numbers() | cudart_device.attributes()


def test_results_are_the_drivers() -> None:
    """A number that both have means the same."""
    words = dict(cuda.RESULTS.values())
    assert all(words.get(number, text) == text for number, text in cudart.RESULTS.values())
    assert {number for number, _ in cuda.RESULTS.values()} - {202} <= {number for number, _ in cudart.RESULTS.values()}


@needs("gcc")
def test_numbers_of_a_toolkit(tmp_path: Path) -> None:
    """All that NVIDIA's header of any version has, where it is installed."""
    headers = sorted(Path("/usr/local").glob("cuda*/include/driver_types.h"))
    if not headers:
        pytest.skip("no CUDA toolkit is installed below /usr/local")
    named = set(re.findall(r"\bcuda\w+", headers[-1].read_text(encoding="utf-8")))
    known = {name: value for name, value in numbers().items() if name in named}
    assert len(known) > 150
    file = tmp_path / "check.c"
    lines = [f'_Static_assert ((long) {name} == {value}, "{name}");' for name, value in known.items()]
    file.write_text("\n".join([f'#include "{headers[-1]}"', *lines, ""]))
    command = ["gcc", "-fsyntax-only", "-w", f"-I{headers[-1].parent}", str(file)]
    assert subprocess.run(command, capture_output=True, text=True, check=False).stderr == ""


@has_driver
@needs("nm")
def test_exports_are_the_table() -> None:
    """No call that the table lacks, none that the library lacks."""
    done = subprocess.run(["nm", "-D", "--defined-only", LIBRARY], capture_output=True, text=True, check=True)
    found = {line.split()[-1].partition("@")[0] for line in done.stdout.splitlines()}
    absent = {name for names in cudart_calls.ABSENT.values() for name in names}
    there = {name for calls in cudart_calls.CALLS.values() for name in calls}
    assert found == absent | there | set(cudart_calls.OLD_NAMES) | set(cudart_calls.COMPILER_CALLS)
    assert not absent & there


def test_page_has_the_table() -> None:
    """docs/cuda-runtime.md shows what is made of it."""
    page = (ROOT / "docs" / "cuda-runtime.md").read_text(encoding="utf-8")
    for line in generate_cudart.page_tables():
        assert line in page.splitlines()


def test_container_has_its_sizes() -> None:
    """Heads of 16 and 64 bytes, contents filled up to 8."""
    data = fatbin.pack([(70, b"1234567"), (80, b"12345678")])
    assert len(data) == 16 + 64 + 8 + 64 + 16
    assert fatbin.HEAD.unpack_from(data) == (fatbin.MAGIC, 1, 16, len(data) - 16)
    assert fatbin.FILE.unpack_from(data, 16)[:4] == (1, 0x101, 64, 8)
    assert data[16 + 64 :][:8] == b"1234567\0"
