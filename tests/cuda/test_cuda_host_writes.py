"""The emulated CUDA driver with GOMPY_CHECK: what the program writes itself, of memory that the device has, too."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from ctypes import byref, c_size_t, c_uint64, c_void_p
from pathlib import Path

import pytest

pytest.importorskip("llvmlite")

from cuda_tools import SUCCESS, has_driver, has_executor
from test_cuda_late_marks import Program

pytestmark = [has_driver, has_executor, pytest.mark.usefixtures("plain")]
SIZE = 300000
"""More bytes than those whose marks are made at once."""


class Shared(Program):
    """A driver, a block that nothing has written, and one of the host's with a copy of it."""

    def __init__(self, folder: Path, kind: str) -> None:
        super().__init__(folder)
        self.kind = kind
        self.blank = self.cuda.alloc(SIZE)
        self.host = self.new()
        self.move(self.host, self.blank, SIZE)

    def new(self) -> int:
        """A block of the host's."""
        if self.kind == "managed":
            address = c_uint64()
            self.cuda.ok("cuMemAllocManaged", byref(address), c_size_t(SIZE), 1)
            return address.value
        to = c_void_p()
        self.cuda.ok("cuMemHostAlloc", byref(to), c_size_t(SIZE), 0)
        assert to.value is not None
        return to.value

    def drop(self) -> None:
        """Free it."""
        if self.kind == "managed":
            self.free(self.host)
        else:
            self.cuda.ok("cuMemFreeHost", c_void_p(self.host))

    def move(self, to: int, of: int, size: int) -> None:
        """A copy."""
        self.cuda.ok("cuMemcpy", c_uint64(to), c_uint64(of), c_size_t(size))

    def write(self, at: int, size: int) -> None:
        """The program's own stores, of other bytes than new memory has."""
        ctypes.memset(self.host + at, 7, size)


@pytest.fixture(params=["pinned", "managed"])
def shared(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shared:
    monkeypatch.setenv("GOMPY_CHECK", "1")
    return Shared(tmp_path / "driver", request.param)


def said(shared: Shared, capfd: pytest.CaptureFixture[str], address: int) -> str:
    """What is said when a kernel reads a byte."""
    capfd.readouterr()
    assert shared.kernel(b"read", address) == SUCCESS
    return capfd.readouterr().err


def test_what_the_host_writes_and_copies_to_the_device(shared: Shared, capfd: pytest.CaptureFixture[str]) -> None:
    to = shared.cuda.alloc(SIZE)
    shared.write(1000, 70000)
    shared.move(to, shared.host, SIZE)
    assert shared.unset(to, SIZE) == bytes([1] * 1000 + [0] * 70000 + [1] * (SIZE - 71000))
    assert said(shared, capfd, to + 1000) == said(shared, capfd, to + 70999) == ""
    assert "that was never written" in said(shared, capfd, to + 71000)


def test_what_the_host_writes_and_a_kernel_reads_there(shared: Shared, capfd: pytest.CaptureFixture[str]) -> None:
    shared.write(1000, 8)
    assert said(shared, capfd, shared.host + 1000) == said(shared, capfd, shared.host + 1007) == ""
    shared.write(2000, 8)
    assert said(shared, capfd, shared.host + 2000) == ""
    assert "that was never written" in said(shared, capfd, shared.host + 1008)


def test_a_part_that_is_copied_once_more(shared: Shared) -> None:
    shared.write(1000, 3000)
    shared.move(shared.host + 2000, shared.blank + 2000, 1000)
    assert shared.unset(shared.host, 5000) == bytes([1] * 1000 + [0] * 1000 + [1] * 1000 + [0] * 1000 + [1] * 1000)
    shared.write(2500, 100)
    assert shared.unset(shared.host + 2000, 1000) == bytes([1] * 500 + [0] * 100 + [1] * 400)


def test_copies_that_meet(shared: Shared) -> None:
    """Each byte is held against what was copied there last."""
    shared.host = shared.new()
    assert shared.unset(shared.host, SIZE) == bytes(SIZE)
    shared.move(shared.host + 100, shared.blank, 100)
    shared.write(150, 10)
    shared.move(shared.host + 180, shared.blank, 100)
    shared.write(190, 5)
    shared.move(shared.host + 50, shared.blank, 400)
    shared.write(60, 3)
    shared.write(300, 3)
    expected = bytearray([0] * 50 + [1] * 400 + [0] * 50)
    expected[60:63] = expected[300:303] = bytes(3)
    assert shared.unset(shared.host, 500) == bytes(expected)


@pytest.mark.parametrize("lines", [range(0, 40), range(39, -1, -1), [20, 3, 35, 4, 34, 0, 39]])
def test_lines_that_are_copied_one_by_one(shared: Shared, lines: Iterable[int]) -> None:
    """In any order; between them is what the host has written."""
    shared.host = shared.new()
    expected = bytearray(SIZE)
    for line in lines:
        at = line * (SIZE // 40)
        shared.move(shared.host + at, shared.blank + at, 1000)
        shared.write(at + 200, 10)
        shared.write(at + 1000, 10)
        expected[at : at + 1000] = bytes([1] * 200 + [0] * 10 + [1] * 790)
    assert shared.unset(shared.host, SIZE) == bytes(expected)
    shared.write(0, SIZE)
    assert shared.unset(shared.host, SIZE) == bytes(SIZE)


def test_a_block_that_comes_in_the_place_of_one(shared: Shared) -> None:
    shared.drop()
    for _ in range(50):
        shared.host = shared.new()
        assert shared.unset(shared.host, SIZE) == bytes(SIZE)
        shared.move(shared.host, shared.blank, 10)
        assert shared.unset(shared.host, 20) == bytes([1] * 10 + [0] * 10)
        shared.drop()
