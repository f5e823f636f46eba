"""What is told of a program's own mistakes with memory: blocks that are never freed, copies past the host's memory."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from cuda_tools import has_driver, needs_cuda_compiler
from test_cuda_cc import PROGRAMS, compiled, result

pytestmark = [has_driver, needs_cuda_compiler]


def lines(told: str) -> list[str]:
    """Without addresses and folders."""
    return re.sub("0x[0-9a-f]+", "0x…", told.replace(f"{PROGRAMS}/", "")).splitlines()


@pytest.mark.parametrize("check", ["1", "leak", "memory,leak"])
def test_memory_that_is_never_freed(tmp_path: Path, check: str) -> None:
    status, _, told = result(compiled(tmp_path, PROGRAMS / "cuda_leak.cu", "-g"), GOMPY_CHECK=check)
    assert status == 0
    assert sorted(lines(told)) == [
        "libcuda (gompy): warning: 300 bytes of device memory in 3 blocks are never freed: allocated at cuda_leak.cu:7",
        "libcuda (gompy): warning: 40 bytes of managed memory at 0x… are never freed: allocated at cuda_leak.cu:9",
        "libcuda (gompy): warning: 64 bytes of pinned host memory at 0x… are never freed: allocated at cuda_leak.cu:8",
    ]


@pytest.mark.parametrize("check", ["0", "memory"])
def test_leaks_are_told_if_asked_for(tmp_path: Path, check: str) -> None:
    assert result(compiled(tmp_path, PROGRAMS / "cuda_leak.cu", "-g"), GOMPY_CHECK=check) == (0, "", "")


@pytest.mark.parametrize("check", ["0", "1"])
def test_a_copy_past_the_hosts_memory(tmp_path: Path, check: str) -> None:
    status, out, told = result(compiled(tmp_path, PROGRAMS / "cuda_past.cu", "-g"), GOMPY_CHECK=check)
    assert (status, out) == (0, "invalid argument\ninvalid argument\nno error\n")
    assert [re.sub(r"has \d+ bytes", "has … bytes", line) for line in lines(told)] == [
        "libcuda (gompy): error: copy of 67108864 bytes from the device at cuda_past.cu:9: the destination, 0x… in the "
        "host's memory (table), has … bytes up to the end of memory that can be written, not 67108864",
        "libcuda (gompy): error: copy of 4 bytes to the device at cuda_past.cu:10: the source, 0x… in the host's "
        "memory, has … bytes up to the end of memory that can be read, not 4",
    ]
