"""Random operations of many threads on several devices agree with a model (testsuite/storm), also under TSan."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from driver_tools import ROOT, Tools, has_all

SOURCE = ROOT / "testsuite/storm/storm.c"


@pytest.fixture
def tools(bin_folder: Path, tmp_path: Path) -> Tools:
    return Tools(bin_folder, tmp_path)


@pytest.mark.slow(sample=1)
@has_all
@pytest.mark.parametrize("option", ["", "-fsanitize=thread"])
def test_storm(tools: Tools, tmp_path: Path, option: str) -> None:
    """ThreadSanitizer's shadow leaves few gaps: each of eight devices has to find one for its memory.

    What it reports is left out: it does not see the locks of libraries that are built without it.
    """
    if option and (
        not shutil.which("setarch") or not Path(tools.ok("gcc", "-print-file-name=libtsan.so").strip()).is_absolute()
    ):
        pytest.skip("not installed: libtsan or setarch")
    program = tmp_path / "storm"
    tools.ok("gompcc", "-g", "-O1", "-fopenmp", *option.split(), SOURCE, "-o", program, "-lpthread")
    for seed in ("3", "4", "9"):
        command = ["setarch", "-R", program] if option else [program]
        said = tools.ok(*command, "64", "6400", seed, env={"OFFLOAD_EMUL_NUM": "8", "TSAN_OPTIONS": "report_bugs=0"})
        assert said.startswith("64 threads, 8 devices, 6400 operations: right")
