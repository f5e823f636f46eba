"""Regions that clang has compiled are recorded and run again, on the emulated MIC, here, and on the emulated GPU."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from driver_tools import Tools, has_all
from llvm_tools import needs_clang

pytestmark = [has_all, needs_clang]
SAMPLES = Path(__file__).parent / "programs"
SHOWN = Path(__file__).parents[2] / "docs/programs"
CPU, GPU = "x86_64-pc-linux-gnu", "nvptx64-nvidia-cuda"


@pytest.fixture
def tools(bin_folder: Path, tmp_path: Path) -> Tools:
    made = Tools(bin_folder, tmp_path)
    made.env |= {"GOMPY_CUDA": "emulated", "GOMPY_CUDA_MEMORY": "256M"}
    return made


def build(tools: Tools, source: Path, targets: str, level: str = "-O2") -> None:
    """Compile a program to `made`."""
    shutil.copy(source, tools.work)
    tools.ok("gompclang", level, "-g", "-fopenmp", f"-fopenmp-targets={targets}", source.name, "-o", "made")


@pytest.mark.slow(sample=1)
@pytest.mark.parametrize("target", [CPU, GPU])
def test_a_recording_replays_as_recorded(tools: Tools, target: str) -> None:
    """Kernels with few words and many, variables of the image."""
    kind = "intelmic" if target == CPU else "nvptx"
    build(tools, SAMPLES / "globals.c", target)
    assert tools.ok("gompy", "record", "-o", "r", "./made") == "2 86.9 593\n"
    (tools.work / "made").unlink()
    for where in ("intelmic", "host") if target == CPU else ("nvptx",):
        lines = tools.ok("gompy", "replay", "--on", where, "r").splitlines()
        assert len(lines) == 4 and all(f" on {where}: as recorded" in line for line in lines), lines
    listed = tools.ok("gompy", "replay", "--list", "r").splitlines()
    assert listed[0].startswith("globals.c:11: region 0 __omp_offloading_") and listed[0].endswith(f"on {kind}")


@pytest.mark.slow
def test_what_was_changed_in_the_recording_differs(tools: Tools) -> None:
    """So the kernel has run: the memory before it is another one."""
    build(tools, SAMPLES / "globals.c", CPU)
    tools.ok("gompy", "record", "-o", "r", "./made")
    path = tools.work / "r"
    data = path.read_bytes()
    old = (3).to_bytes(4, "little")
    from gompy.replay.recording import Recording

    recording = Recording(str(path))
    (span,) = (s for s in recording.regions[0].memory if recording.contents(s) == old)
    start, _ = recording.blobs[span.blob]
    path.write_bytes(data[:start] + (4).to_bytes(4, "little") + data[start + 4 :])
    for where in ("intelmic", "host"):
        done = tools.run("gompy", "replay", "--on", where, "--region", "0", "--as", "double", "r")
        assert done.returncode == 1 and "x[1]: recorded 5, now 7" in done.stdout, done.stdout + done.stderr


@pytest.mark.slow
def test_bisect_comes_to_the_store(tools: Tools) -> None:
    # From -O1 on clang 16 drops most of the GPU's stores behind the volatile pointer: the PTX has none.
    build(tools, SHOWN / "recur.c", f"{CPU},{GPU}", "-O0")
    done = tools.run("gompy", "bisect", "--on", "nvptx", "--against", "intelmic", "./made")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "the first store that differs is to last[2] (after 7 equal ones): nvptx 2.87420487 at " in done.stdout
    assert "intelmic 2.87420464 at recur.c:15" in done.stdout


@pytest.mark.slow
def test_the_other_kind_is_not_implemented(tools: Tools) -> None:
    build(tools, SAMPLES / "globals.c", f"{CPU},{GPU}")
    tools.ok("gompy", "record", "--device", "intelmic", "-o", "r", "./made")
    done = tools.run("gompy", "replay", "--on", "nvptx", "r")
    assert done.returncode == 2
    assert "not implemented: a region by clang, recorded on intelmic, on nvptx" in done.stdout
    tools.ok("gompy", "record", "--device", "nvptx", "-o", "r", "./made")
    done = tools.run("gompy", "replay", "--on", "host", "r")
    assert done.returncode == 2
    assert "not implemented: a region by clang, recorded on nvptx, on host" in done.stdout
