"""omp_target_is_accessible: a device's own memory is accessible there, as GCC 16 has it."""

from __future__ import annotations

from pathlib import Path

import pytest
from cuda_tools import has_driver, has_executor
from driver_tools import Tools, has_all, make_wrappers, needs
from nvptx_tools import has_compiler

pytestmark = [has_all, needs("gcc")]
PROGRAM = Path(__file__).resolve().parent.parent / "programs" / "accessible.c"
NVPTX = pytest.param("nvptx-none", marks=[has_compiler, has_driver, has_executor])


@pytest.mark.parametrize("target", ["intelmic", NVPTX])
def test_a_devices_memory_is_accessible_there(tmp_path: Path, target: str) -> None:
    """To its block's end; the host's memory is not, NULL is nowhere."""
    tools = Tools(make_wrappers(tmp_path / "bin"), tmp_path)
    tools.env |= {"GOMPY_CUDA": "emulated", "OMP_TARGET_OFFLOAD": "mandatory"}
    tools.ok("gompcc", "-fopenmp", f"-foffload={target}", str(PROGRAM), "-o", "program")
    assert tools.ok("./program") == "1 1 0 1 0 0\n"
