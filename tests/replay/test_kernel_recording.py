"""``gompy record`` and ``gompy replay`` with kernels of CUDA: of a program that has PTX, and of CUDA C++."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest
from cuda_tools import needs_cuda_compiler
from driver_tools import ROOT, Tools, has_all

from gompy.replay.recording import Recording

pytestmark = has_all
SAMPLES = Path(__file__).parent / "programs"
GPU = {"GOMPY_CUDA": "emulated", "GOMPY_CUDA_MEMORY": "256M"}


@pytest.fixture
def tools(bin_folder: Path, tmp_path: Path) -> Tools:
    """The commands, in a folder with the program that launches kernels by the driver."""
    shutil.copy(SAMPLES / "kernels.py", tmp_path)
    made = Tools(bin_folder, tmp_path)
    made.env |= GPU
    return made


def record(tools: Tools, *words: str, options: tuple[str, ...] = ()) -> str:
    """Record kernels.py with some words; what gompy record prints on stderr."""
    program = ("gompy", "record", "--any", "-o", "r", *options, sys.executable, "kernels.py", *words)
    done = tools.run("gompy", "cuda", "run", "--", *program)
    assert done.returncode == 0, done.stderr
    return done.stderr


def test_kernels_replay_as_recorded(tools: Tools) -> None:
    """Pointers in parameters and in memory, a variable, memory of the host, dynamic shared memory."""
    said = record(tools, "all")
    assert "gompy record: r: 4 regions, " in said
    lines = tools.ok("gompy", "replay", "r").splitlines()
    names = [line.split(" on nvptx: ")[0] for line in lines]
    assert names == ["region 0 scale", "region 1 count", "region 2 follow", "region 3 turn"]
    assert all(" on nvptx: as recorded" in line for line in lines)


def test_a_kernel_is_the_work_of_its_own_memory(tools: Tools) -> None:
    """What it does on the replay is looked at: other code gives other contents."""
    record(tools, "all")
    path = tools.work / "r"
    data = path.read_bytes()
    assert data.count(b"add.s32 \t%r4") == 1
    path.write_bytes(data.replace(b"add.s32 \t%r4", b"sub.s32 \t%r4"))
    done = tools.run("gompy", "replay", "r")
    assert done.returncode == 1, done.stderr
    lines = done.stdout.splitlines()
    assert [line for line in lines if "differs" in line and line.startswith("region")] == [
        line for line in lines if line.startswith("region 1 count on nvptx: ")
    ]
    assert "  total, byte 0: recorded 0x41, now 0x3f; 1 of 4 elements of total differ" in lines


def test_memory_of_other_devices(tools: Tools) -> None:
    """That which the kernel may use is recorded, too."""
    tools.env["GOMPY_CUDA_DEVICES"] = "2"
    record(tools, "peers")
    del tools.env["GOMPY_CUDA_DEVICES"]
    lines = tools.ok("gompy", "replay", "r").splitlines()
    assert [line.split(" (")[0] for line in lines] == [
        "region 0 follow on nvptx: as recorded",
        "region 1 turn on nvptx: as recorded",
    ]


def test_kernels_are_chosen(tools: Tools) -> None:
    record(tools, "all", options=("--only", "o"))
    assert [region.function for region in Recording(str(tools.work / "r")).regions] == ["count", "follow"]
    record(tools, "all", options=("--first", "1"))
    assert [region.function for region in Recording(str(tools.work / "r")).regions] == ["scale"]
    done = tools.run("gompy", "replay", "--on", "host", "r")
    assert done.returncode == 2
    assert done.stdout == "region 0 scale on host: not run: not implemented: a kernel of CUDA on host\n"


def test_a_kernel_that_waits_for_another_is_not_recorded(tools: Tools) -> None:
    said = record(tools, "wait", options=("--wait", "0.5"))
    assert (
        "libcuda (gompy): kernel wait_for is not recorded: others have waited for its end for 0.5 s, and it may wait "
        "for them (gompy record --wait)\n" in said
    )
    recording = Recording(str(tools.work / "r"))
    assert [region.function for region in recording.kept if region.function == "wait_for"] == []
    assert tools.ok("gompy", "replay", "r").splitlines()[-1].startswith("region 1 scale on nvptx: as recorded")


def test_a_block_where_a_variable_was(tools: Tools) -> None:
    """Of a module that has been unloaded."""
    record(tools, "unload")
    assert tools.ok("gompy", "replay", "r").startswith("region 0 scale on nvptx: as recorded")


def test_nothing_waits_beside_a_kernel_that_is_not_wanted(tools: Tools) -> None:
    """Its turn is given up at once: a program that waits for a copy goes on after --wait, not after many of them."""
    done = tools.run(
        *("gompy", "cuda", "run", "--", "gompy", "record", "--any", "-o", "r", "--only", "zzz", "--wait", "0.3"),
        *(sys.executable, "kernels.py", "wait"),
    )
    assert done.returncode == 2
    assert done.stderr.endswith("no region or kernel that is wanted was launched on a device\n")


def test_a_kernel_that_fails_has_not_ended(tools: Tools) -> None:
    assert "gompy record: r: region 0 fail has not ended" in record(tools, "fail")
    done = tools.run("gompy", "replay", "r")
    failed, other = done.stdout.splitlines()
    assert failed.startswith("region 0 fail on nvptx: not run: the kernel has failed: ")
    assert other.startswith("region 1 scale on nvptx: as recorded")  # by another process


def test_a_program_that_launches_none(tools: Tools) -> None:
    done = tools.run("gompy", "record", "--any", sys.executable, "-c", "pass")
    assert done.returncode == 2
    why = "nothing was recorded: no region or kernel that is wanted was launched on a device"
    assert done.stderr == f"gompy record: error: {why}\n"


@pytest.mark.slow
@needs_cuda_compiler
def test_cuda_cpp(tools: Tools) -> None:
    """A program of gompy cuda cc needs nothing else; its lines are told."""
    shutil.copy(ROOT / "docs" / "programs" / "grid.cu", tools.work)
    tools.ok("gompy", "cuda", "cc", "-g", "-O0", "grid.cu", "-o", "grid")
    done = tools.run("gompy", "record", "-o", "g", "./grid")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "right\n" and "gompy record: g: 2 regions, " in done.stderr
    lines = tools.ok("gompy", "replay", "g").splitlines()
    assert [line.split(" on nvptx: as recorded")[0] for line in lines] == [
        "grid.cu:34: region 0 smooth",
        "grid.cu:35: region 1 sum",
    ]
