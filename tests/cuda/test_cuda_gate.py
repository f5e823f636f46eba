"""The emulated CUDA driver with GOMPY_CHECK: who may use device memory, and which memory of the host can be copied."""

from __future__ import annotations

import ctypes
import mmap
import resource
from ctypes import c_uint64
from pathlib import Path

import pytest
from cuda_tools import INVALID_VALUE, SUCCESS, Driver, has_driver

pytestmark = [has_driver, pytest.mark.usefixtures("plain")]
PAGE = 4096
SIZE = 1 << 20
NONE, READ, WRITE = 0, 1, 2
GUARD_INSTALL = 102


@pytest.fixture
def cuda(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Driver:
    monkeypatch.setenv("GOMPY_CHECK", "1")
    return Driver(tmp_path / "driver")


def access(address: int) -> str:
    """Of the page with an address, as in /proc/self/maps."""
    for line in Path("/proc/self/maps").read_text().splitlines():
        low, high = (int(word, 16) for word in line.split()[0].split("-"))
        if low <= address < high:
            return line.split()[1][:2]
    return "??"


def test_blocks_open_and_close_together(cuda: Driver) -> None:
    """Those between which others are free, freed or open for ever, too; the page behind each stays closed."""
    cuda.context()
    blocks = [cuda.put(b"x" * PAGE) for _ in range(7)]
    kept = blocks[3]
    cuda.ok("gompy_keep_open", c_uint64(kept))
    cuda.ok("cuMemFree_v2", blocks.pop(1))
    others = [block for block in blocks if block != kept]
    assert {access(block) for block in others} == {"--"} and access(kept) == "rw"
    cuda.ok("gompy_hold_gate", 1)
    cuda.get(blocks[0], 4)
    assert {access(block) for block in blocks} == {"rw"}
    assert {access(block + PAGE) for block in blocks} == {"--"}
    cuda.ok("gompy_hold_gate", 0)
    assert {access(block) for block in others} == {"--"} and access(kept) == "rw"
    assert cuda.get(blocks[-1], 4) == b"xxxx"


def test_large_blocks_keep_their_pages(cuda: Driver) -> None:
    """They rest as small ones do; new pages each time, and such of a shadow, were most of what a program took."""
    cuda.context()
    data, size = b"x" * (16 * SIZE), 16 * SIZE
    blocks, faults = [], []
    for _ in range(12):
        faults.append(resource.getrusage(resource.RUSAGE_SELF).ru_minflt)
        blocks.append(cuda.alloc(size))
        cuda.ok("cuMemcpyHtoD_v2", c_uint64(blocks[-1]), data, ctypes.c_size_t(size))
        cuda.ok("cuMemFree_v2", c_uint64(blocks[-1]))
        assert access(blocks[-1]) == "--"
    assert blocks[0] != blocks[1] != blocks[2] != blocks[0] and set(blocks[8:]) <= set(blocks[:8])
    assert faults[-1] - faults[8] < size // PAGE // 4, faults


def flags(address: int) -> list[str]:
    """Of the mapping with an address, the kernel's (VmFlags)."""
    inside = False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        words = line.split()
        if "-" in words[0]:
            low, high = (int(word, 16) for word in words[0].split("-"))
            inside = low <= address < high
        elif inside and words[0] == "VmFlags:":
            return words[1:]
    return []


def test_large_blocks_may_have_huge_pages(cuda: Driver) -> None:
    """Opening and closing goes through the entries of page tables: one for each 2 MiB, not 512."""
    cuda.context()
    if not Path("/sys/kernel/mm/transparent_hugepage").exists():
        pytest.skip("this kernel has no huge pages for such memory")
    cuda.put(b"x" * 100)
    for _ in range(3):
        block = cuda.alloc(16 * SIZE)
        assert block % (2 * SIZE) == 0 and "hg" in flags(block)


def resident() -> int:
    """Bytes of this process's memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE


def test_a_new_block_has_the_pages_of_the_last_one(cuda: Driver) -> None:
    """Caches have them; the freed block rests without."""
    cuda.context()
    data = [letter * (16 * SIZE) for letter in (b"x", b"y", b"z")]
    blocks = [cuda.put(data[0])]
    before = resident()
    for text in data[1:]:
        cuda.ok("cuMemFree_v2", c_uint64(blocks[-1]))
        blocks.append(cuda.put(text))
    assert resident() - before < 8 * SIZE and len(set(blocks)) == 3
    assert [access(block) for block in blocks[:2]] == ["--", "--"]
    assert cuda.get(blocks[2], 16 * SIZE) == data[2]


def test_pages_that_other_processes_may_have_stay_where_they_are(cuda: Driver) -> None:
    cuda.context()
    shared, handle = cuda.put(b"x" * 16 * SIZE), ctypes.create_string_buffer(64)
    cuda.ok("cuIpcGetMemHandle", handle, c_uint64(shared))
    cuda.ok("cuMemFree_v2", c_uint64(shared))
    new = cuda.put(b"y" * 16 * SIZE)
    assert "sh" in flags(shared) and "sh" not in flags(new) and new != shared


@pytest.mark.parametrize(("size", "managed"), [(10 * SIZE, False), (40 * SIZE, False), (6 * SIZE, True)])
def test_freed_blocks_have_no_more_memory(cuda: Driver, size: int, managed: bool) -> None:
    """Their shadows had: what rests has addresses of its own, so each block had another."""
    cuda.context()
    before, address = resident(), c_uint64()
    for _ in range(60):
        words = [ctypes.byref(address), ctypes.c_size_t(size), *([1] if managed else [])]
        cuda.ok("cuMemAllocManaged" if managed else "cuMemAlloc_v2", *words)
        cuda.ok("cuMemFree_v2", address)
    assert resident() - before < 200 * SIZE


def protected(area: mmap.mmap, at: int, size: int, mode: int) -> int:
    """Change the access to a part of what is mapped; the address of all."""
    address = ctypes.addressof(ctypes.c_char.from_buffer(area))
    libc = ctypes.CDLL(None)
    assert libc.mprotect(ctypes.c_void_p(address + at), ctypes.c_size_t(size), mode) == 0
    return address


@pytest.mark.parametrize(
    ("mode", "to_device", "good"),
    [(NONE, True, False), (NONE, False, False), (READ, True, True), (READ, False, False), (READ | WRITE, False, True)],
)
def test_large_copies_of_memory_that_is_partly_closed(
    cuda: Driver, capfd: pytest.CaptureFixture[str], mode: int, to_device: bool, good: bool
) -> None:
    """A mapping behind the first is looked at as well."""
    cuda.context()
    device = cuda.put(bytes(SIZE))
    area = mmap.mmap(-1, SIZE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    address = protected(area, SIZE // 2, PAGE, mode)
    status = (
        cuda.cuMemcpyHtoD_v2(c_uint64(device), ctypes.c_void_p(address), ctypes.c_size_t(SIZE))
        if to_device
        else cuda.cuMemcpyDtoH_v2(ctypes.c_void_p(address), c_uint64(device), ctypes.c_size_t(SIZE))
    )
    assert status == (SUCCESS if good else INVALID_VALUE)
    verb = "read" if to_device else "written"
    told = f"has {SIZE // 2} bytes up to the end of memory that can be {verb}, not {SIZE}"
    assert (told in capfd.readouterr().err) is not good


@pytest.mark.parametrize("at", [0, SIZE // 2, SIZE - PAGE])
def test_a_large_copy_of_memory_with_a_guard(cuda: Driver, capfd: pytest.CaptureFixture[str], at: int) -> None:
    """Linux 6.13's guards are pages of a mapping that can be read, to all that /proc/self/maps says."""
    cuda.context()
    device = cuda.put(bytes(SIZE))
    area = mmap.mmap(-1, SIZE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    address = ctypes.addressof(ctypes.c_char.from_buffer(area))
    if ctypes.CDLL(None).madvise(ctypes.c_void_p(address + at), ctypes.c_size_t(PAGE), GUARD_INSTALL):
        pytest.skip("this kernel has no guards")
    status = cuda.cuMemcpyHtoD_v2(c_uint64(device), ctypes.c_void_p(address), ctypes.c_size_t(SIZE))
    assert status == INVALID_VALUE
    assert f"has {at} bytes up to the end" in capfd.readouterr().err


def test_a_large_copy_of_a_file_that_has_become_shorter(
    cuda: Driver, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    cuda.context()
    device = cuda.put(bytes(SIZE))
    (tmp_path / "file").write_bytes(bytes(SIZE))
    with (tmp_path / "file").open("r+b") as file:
        area = mmap.mmap(file.fileno(), SIZE, mmap.MAP_PRIVATE)
        file.truncate(SIZE // 4)
        address = ctypes.addressof(ctypes.c_char.from_buffer(area))
        status = cuda.cuMemcpyHtoD_v2(c_uint64(device), ctypes.c_void_p(address), ctypes.c_size_t(SIZE))
    assert status == INVALID_VALUE
    assert f"has {SIZE // 4} bytes up to the end" in capfd.readouterr().err


@pytest.mark.parametrize("streams", [False, True])
@pytest.mark.parametrize("ordered", [False, True])
def test_races_alone_close_and_keep_nothing(
    cuda: Driver, monkeypatch: pytest.MonkeyPatch, streams: bool, ordered: bool
) -> None:
    """What is freed is given out again at once, but for what one stream has freed in its order: others may not know."""
    monkeypatch.setenv("GOMPY_CHECK", "race")
    cuda.context()
    stream = cuda.handle("cuStreamCreate", 0) if streams else None
    sizes = (PAGE, 3 << 20, 20 << 20)
    blocks = [cuda.put(b"x" * size) for size in sizes]
    assert {access(block) for block in blocks} == {"rw"}
    for block in blocks:
        if ordered:
            cuda.ok("cuMemFreeAsync", c_uint64(block), stream)
        else:
            cuda.ok("cuMemFree_v2", c_uint64(block))
    cuda.ok("cuCtxSynchronize")
    again = [cuda.alloc(size) for size in sizes]
    assert set(again) & set(blocks) == (set() if streams and ordered else set(blocks))
    assert {access(block) for block in again} == {"rw"}
