"""``gompy bisect`` comes down to the first store whose result differs; who watches stores sees each."""

from __future__ import annotations

import ctypes
import mmap
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from driver_tools import ROOT, Tools, has_all
from nvptx_tools import has_compiler

pytestmark = [has_all, has_compiler]
SHOWN = Path(__file__).parents[2] / "docs/programs"
STORE = "  the first store that differs is to "


@pytest.fixture
def tools(bin_folder: Path, tmp_path: Path) -> Tools:
    made = Tools(bin_folder, tmp_path)
    made.env |= {"GOMPY_CUDA": "emulated", "GOMPY_CUDA_MEMORY": "256M"}
    return made


def bisect(tools: Tools, source: Path, on: str, against: str, *options: str) -> list[str]:
    """What is told of the first store."""
    shutil.copy(source, tools.work)
    tools.ok("gompcc", "-O2", "-g", "-fopenmp", "-foffload=intelmic,nvptx-none", source.name, "-o", "made")
    done = tools.run("gompy", "bisect", "--on", on, "--against", against, *options, "./made")
    assert done.returncode == 1, done.stdout + done.stderr
    return [line.removeprefix(STORE) for line in done.stdout.splitlines() if line.startswith(STORE)]


@pytest.mark.slow(sample=1)
@pytest.mark.parametrize("against", ["intelmic", "host"])
def test_a_word_that_is_stored_again_and_again(tools: Tools, against: str) -> None:
    """The 8th of 40 stores is the first to differ, and its last value is another one."""
    found = bisect(tools, SHOWN / "recur.c", "nvptx", against)
    assert found == [
        "last[2] (after 7 equal ones): nvptx 2.87420487 at recur.c:15, block (0,0,0), thread (0,0,0); "
        f"{against} 2.87420464 at recur.c:15"
    ]


@pytest.mark.slow
def test_a_tolerance_holds_for_stores(tools: Tools) -> None:
    """The difference grows: later stores are beyond what the eighth is within."""
    found = bisect(tools, SHOWN / "recur.c", "intelmic", "nvptx", "--tolerance", "1e-7")
    (match,) = [re.match(r"last\[2\] \(after (\d+) equal ones\)", line) for line in found]
    assert match and int(match[1]) > 7


@pytest.mark.slow
def test_the_element_and_thread_of_a_parallel_loop(tools: Tools) -> None:
    (line,) = bisect(tools, ROOT / "docs" / "programs" / "thirds.c", "nvptx", "intelmic")
    assert re.fullmatch(
        r"y\[\d+\]: nvptx \S+ at thirds.c:16, block \(0,0,0\), thread \(0,\d+,0\); intelmic \S+ at thirds.c:16", line
    )


def test_stores_by_a_library_and_by_threads_are_seen() -> None:
    """memset's, which go over the edge of a page, and those of two threads."""
    program = """
import ctypes, mmap, os, threading
from gompy.replay import watch
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
room = mmap.mmap(-1, 3 * 4096)
start = ctypes.addressof(ctypes.c_char.from_buffer(room))
watch.begin([(start + 4000, 200)])
ctypes.memset(start + 4090, 7, 20)
def count(at):
    for value in range(1, 101):
        ctypes.c_int.from_address(at).value = value
threads = [threading.Thread(target=count, args=(start + 4000 + 4 * i,)) for i in range(2)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
room[0:4] = b"abcd"
stores = watch.end()
seen = {(address + at, new[at]) for _, address, old, new in stores for at in range(len(new)) if old[at] != new[at]}
assert {address for address, value in seen if value == 7} >= {start + at for at in range(4090, 4110)}
for i in range(2):
    at = start + 4000 + 4 * i
    values = [new[at - address] for _, address, old, new in stores if address <= at < address + len(new)
              and new[at - address] != old[at - address]]
    assert values == list(range(1, 101)), values
room[4000:4004] = b"abcd"
"""
    subprocess.run([sys.executable, "-c", program], check=True, cwd=ROOT)


def test_what_is_no_memory_cannot_be_watched() -> None:
    from gompy.replay import watch

    with pytest.raises(OSError, match="cannot be watched"):
        watch.begin([(1 << 46, 8)])
    watch.end()
    with pytest.raises(ValueError, match="too many"):
        watch.begin([(1 << 30, 4096 * 5000)])
    room = mmap.mmap(-1, 4096)
    ctypes.memset(ctypes.addressof(ctypes.c_char.from_buffer(room)), 1, 8)
