"""GCC's OpenACC tests that have code for the host, nvidia and radeon alone: with a line for our device they pass.

So what keeps them on the kept list (testsuite/expected/dejagnu/openacc-intelmic.txt) is that line and nothing else.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from accel_tools import COMPILER, plugin_is_built
from intelmic_driver import PLUGIN

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "testsuite"))

from gcc_suite import source  # noqa: E402

BIN = Path(sys.executable).parent
if not PLUGIN.exists() or not (BIN / "gompcc").exists():
    pytest.skip("the compiled parts are not built", allow_module_level=True)
if not (source.cache_directory() / ".complete").exists():
    pytest.skip("GCC's tests have not been unpacked (make sample)", allow_module_level=True)

COMMON = source.cache_directory() / "libgomp" / "testsuite" / "libgomp.oacc-c-c++-common"
DEVICE = (
    "# error Not ported to this ACC_DEVICE_TYPE\n#endif\n  acc_init",
    "  d = acc_device_not_host;\n#endif\n  acc_init",
)
STREAM = ("# error Not ported to this ACC_DEVICE_TYPE", "  assert (queues[i].cuda_stream == NULL);")
TRAP = ("# error Not ported to this ACC_DEVICE_TYPE", '  asm ("nop");')
API = ("assert (api_info->device_api == acc_device_api_cuda)", "assert (api_info->device_api == acc_device_api_other)")
# The only kinds that it knows how many workers there are of: one, as on the host.
WORKERS = ("if (acc_on_device (acc_device_host))", "if (! acc_on_device (acc_device_nvidia))")
PORTED: dict[str, list[tuple[str, str]]] = {
    "async_queue-1.c": [DEVICE, STREAM],
    "asyncwait-nop-1.c": [DEVICE],
    "routine-nohost-1.c": [TRAP],
    "routine-nohost-2.c": [],
    "routine-nohost-2_2.c": [TRAP],
    "parallel-dims.c": [WORKERS],
    "acc_prof-init-1.c": [API],
    "acc_prof-kernels-1.c": [API],
    "acc_prof-parallel-1.c": [API],
}
OPTIONS = {
    "routine-nohost-1.c": ["-fno-inline"],
    "routine-nohost-2.c": ["-fno-inline", "routine-nohost-2_2.c"],
    "parallel-dims.c": ["-O0", "--param=openacc-kernels=decompose"],
    # With optimization it asserts 30 gangs as well; a region runs with one, and says so.
    "acc_prof-kernels-1.c": ["-O0", "--param=openacc-kernels=decompose"],
}


@pytest.mark.slow(sample=3)
@pytest.mark.parametrize("name", [name for name in PORTED if "_2" not in name])
def test_ported(tmp_path: Path, name: str) -> None:
    """The test with its line for our device, -O2, as C."""
    if "nohost" in name and COMPILER is None:
        pytest.skip("gcc's own lto1 drops routines that are not for the host")
    if name == "parallel-dims.c" and plugin_is_built():
        pytest.skip("a region has the workers that it asks for, not one as on the host, nor 32 as on nvidia's")
    inputs = [name, *OPTIONS.get(name, [])]
    for file in inputs:
        if file not in PORTED:
            continue
        text = (COMMON / file).read_text()
        for old, new in PORTED[file]:
            assert old in text
            text = text.replace(old, new)
        (tmp_path / file).write_text(text)
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("OFFLOAD_EMUL", "OMP_", "GOMP", "ACC_"))}
    clean |= {"GOMPY_ACCEL": "true"} if "nohost" in name else {}
    words = [BIN / "gompcc", "-fopenacc", "-O2", "-DACC_DEVICE_TYPE_intelmic=1", "-DACC_MEM_SHARED=0", *inputs]
    words += [f"-I{source.cache_directory() / 'include'}", "-o", "prog"]
    subprocess.run(words, check=True, cwd=tmp_path, env=clean)
    done = subprocess.run(
        [tmp_path / "prog"], capture_output=True, text=True, env=clean | {"ACC_DEVICE_TYPE": "intelmic"}, timeout=60
    )
    assert done.returncode == 0, done.stderr
