"""libnvidia-ml.so.1 for the emulated GPUs: what monitors learn, by NVIDIA's own Python binding."""

from __future__ import annotations

import ctypes
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gompy.abi import cuda_status, nvml
from gompy.driver import paths
from gompy.native import generate_nvml

LIBRARY = Path(paths.CUDALIBDIR) / "libnvidia-ml.so.1"
pytestmark = pytest.mark.skipif(not LIBRARY.exists(), reason="the compiled parts are not built")
PAGE = Path(__file__).parents[2] / "docs" / "nvml-coverage.md"
CALLS = nvml.all_calls()
NOT_SUPPORTED = nvml.RESULTS["NVML_ERROR_NOT_SUPPORTED"][0]

KERNEL = (
    ".version 7.0 .target sm_70 .address_size 64 .visible .entry spin(.param .u32 n) { .reg .u32 %r<3>; .reg .pred %p0;"
    "ld.param.u32 %r0, [n]; L: add.u32 %r0, %r0, -1; mul.lo.u32 %r1, %r0, %r0; xor.b32 %r2, %r2, %r1;"
    "setp.ne.u32 %p0, %r0, 0; @%p0 bra L; setp.eq.u32 %p0, %r2, 77; @%p0 trap; ret; }"
)
USER = f"""
import ctypes, sys, time
cuda = ctypes.CDLL("libcuda.so.1")
def call(name, *words):
    r = getattr(cuda, name)(*words)
    assert r == 0, (name, r)
p, a, m, f = (ctypes.c_void_p() for _ in range(4))
call("cuInit", 0)
call("cuCtxCreate_v2", ctypes.byref(p), 0, int(sys.argv[1]))
call("cuMemAlloc_v2", ctypes.byref(a), ctypes.c_size_t(int(sys.argv[2])))
n = ctypes.c_uint(30000000)
words = (ctypes.c_void_p * 1)(ctypes.addressof(n))
if sys.argv[3] == "busy":
    call("cuModuleLoadData", ctypes.byref(m), {KERNEL.encode()!r})
    call("cuModuleGetFunction", ctypes.byref(f), m, b"spin")
print("ready", flush=True)
while sys.argv[3] == "busy":
    call("cuLaunchKernel", f, 1, 1, 1, 32, 1, 1, 0, None, words, None)
    call("cuCtxSynchronize")
time.sleep(600)
"""


def environment(**settings: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("GOMPY_C", "CUDA_"))}
    return kept | {"LD_LIBRARY_PATH": paths.CUDALIBDIR, "GOMPY_CUDA_MEMORY": "1G"} | settings


def ask(text: str, **settings: str) -> subprocess.CompletedProcess[str]:
    """Run lines of Python that have NVIDIA's binding as n, and print JSON."""
    pytest.importorskip("pynvml", reason="nvidia-ml-py is not installed")
    code = f"import json, pynvml as n\n{text}"
    return subprocess.run(
        [sys.executable, "-c", code], env=environment(**settings), capture_output=True, text=True, timeout=60
    )


def told(text: str, **settings: str) -> Any:
    done = ask(text, **settings)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture
def users() -> Iterator[list[subprocess.Popen[str]]]:
    """Processes that use a GPU; they end with the test."""
    started: list[subprocess.Popen[str]] = []
    yield started
    for process in started:
        process.kill()
        process.wait()


def start(users: list[subprocess.Popen[str]], device: int, size: int, what: str) -> int:
    process = subprocess.Popen(
        [sys.executable, "-c", USER, str(device), str(size), what],
        env=environment(GOMPY_CUDA_DEVICES="2"),
        stdout=subprocess.PIPE,
        text=True,
    )
    users.append(process)
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    return process.pid


def test_the_page_is_the_table_s() -> None:
    assert PAGE.read_text(encoding="utf-8") == generate_nvml.coverage_md()


def test_the_library_exports_the_table() -> None:
    done = subprocess.run(["nm", "-D", "--defined-only", str(LIBRARY)], capture_output=True, text=True, check=True)
    exported = {line.split()[-1] for line in done.stdout.splitlines() if " T " in line}
    assert exported - {"nvml_started", "nvml_device_or_error"} == {call.name for call in CALLS}


def test_names_and_numbers_are_nvidia_s() -> None:
    """The binding's text has every name that it looks for."""
    pynvml = pytest.importorskip("pynvml", reason="nvidia-ml-py is not installed")
    text = Path(pynvml.__file__).read_text(encoding="utf-8")
    wanted = set(re.findall(r'_nvmlGetFunctionPointer\("(\w+)"\)', text))
    known = {call.name for call in CALLS}
    assert len(wanted) > 350 and len(wanted - known) < len(wanted) // 10  # its newer releases know more
    for name, (number, _) in nvml.RESULTS.items():
        assert getattr(pynvml, name) == number
    assert pynvml.nvmlMemory_v2 == nvml.NVML_MEMORY_V2
    assert pynvml.nvmlProcessDetailList_v1 == nvml.NVML_PROCESS_DETAIL_LIST_V1
    arches = {"MAXWELL": 50, "PASCAL": 60, "VOLTA": 70, "TURING": 75, "AMPERE": 80, "ADA": 89, "HOPPER": 90}
    for name, arch in arches.items():
        assert getattr(pynvml, f"NVML_DEVICE_ARCH_{name}") == nvml.ARCHITECTURES[arch]


def test_a_call_before_the_start() -> None:
    code = "import ctypes; l = ctypes.CDLL('libnvidia-ml.so.1'); w = (ctypes.c_void_p * 9)()\n"
    names = [call.name for call in CALLS if call.name not in nvml.WITHOUT_START and call.here]
    code += f"print([l[name](w, w, w, w) for name in {names!r}])"
    done = subprocess.run([sys.executable, "-c", code], env=environment(), capture_output=True, text=True, check=True)
    assert set(json.loads(done.stdout)) == {1}


def test_what_devices_are() -> None:
    text = """
n.nvmlInit()
found = []
for i in range(n.nvmlDeviceGetCount()):
    d = n.nvmlDeviceGetHandleByIndex(i)
    found.append([n.nvmlDeviceGetName(d), n.nvmlDeviceGetMemoryInfo(d).total >> 20, n.nvmlDeviceGetArchitecture(d),
                  n.nvmlDeviceGetCudaComputeCapability(d), n.nvmlDeviceGetPciInfo(d).busId, n.nvmlDeviceGetUUID(d),
                  n.nvmlDeviceGetIndex(n.nvmlDeviceGetHandleByUUID(n.nvmlDeviceGetUUID(d))),
                  n.nvmlDeviceGetIndex(n.nvmlDeviceGetHandleByPciBusId(n.nvmlDeviceGetPciInfo(d).busId))])
print(json.dumps(found))
"""
    found = told(text, GOMPY_CUDA_DEVICES="sm_70:4G:2,sm_90:2G:3", CUDA_VISIBLE_DEVICES="1")
    uuid = "GPU-676f6d70-7920-656d-756c-61746564000"
    assert found == [
        ["gompy emulated GPU (sm_70)", 4096, 5, [7, 0], "00000000:00:01.0", f"{uuid}0", 0, 0],
        ["gompy emulated GPU (sm_90)", 2048, 9, [9, 0], "00000000:00:02.0", f"{uuid}1", 1, 1],
    ]


def test_versions() -> None:
    text = "n.nvmlInit(); print(json.dumps([n.nvmlSystemGetDriverVersion(), n.nvmlSystemGetCudaDriverVersion()]))"
    from gompy.cli.main import version

    assert told(text, GOMPY_CUDA_VERSION="12.4") == [version(), 12040]


def test_starts_are_counted() -> None:
    text = """
n.nvmlInit(); n.nvmlInit(); n.nvmlShutdown()
counts = [n.nvmlDeviceGetCount()]
n.nvmlShutdown()
try: n.nvmlDeviceGetCount()
except n.NVMLError_Uninitialized: counts.append(-1)
print(counts)
"""
    assert told(text) == [1, -1]


def test_no_device() -> None:
    """An error, unless the program says that it is none."""
    done = ask("n.nvmlInit()", GOMPY_CUDA_DEVICES="0")
    assert "NVMLError_GpuNotFound" in done.stderr
    text = f"n.nvmlInitWithFlags({nvml.NVML_INIT_FLAG_NO_GPUS}); print(n.nvmlDeviceGetCount())"
    assert told(text, GOMPY_CUDA_DEVICES="0") == 0


def test_a_setting_that_makes_no_sense() -> None:
    done = ask("n.nvmlInit()", GOMPY_CUDA_MEMORY="lots")
    assert "libcuda (gompy): error: GOMPY_CUDA_MEMORY='lots': not a size" in done.stderr
    assert "NVMLError_Unknown" in done.stderr


def test_what_there_is_not() -> None:
    text = """
n.nvmlInit(); d = n.nvmlDeviceGetHandleByIndex(0); found = []
for ask in (lambda: n.nvmlDeviceGetTemperature(d, 0), lambda: n.nvmlDeviceGetPowerUsage(d),
            lambda: n.nvmlDeviceGetFanSpeed(d), lambda: n.nvmlDeviceGetClockInfo(d, 0),
            lambda: n.nvmlDeviceGetMigMode(d)):
    try: found.append(ask())
    except n.NVMLError as error: found.append(error.value)
found += [value.nvmlReturn for value in n.nvmlDeviceGetFieldValues(d, [1, 2])]
print(found)
"""
    assert told(text) == [NOT_SUPPORTED] * 7


def test_wrong_arguments() -> None:
    text = """
import ctypes
l = ctypes.CDLL("libnvidia-ml.so.1"); n.nvmlInit(); d = n.nvmlDeviceGetHandleByIndex(0)
l.nvmlDeviceGetName.argtypes = l.nvmlDeviceGetUUID.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint]
l.nvmlDeviceGetMemoryInfo_v2.argtypes = l.nvmlDeviceGetMemoryInfo.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
b, d = ctypes.create_string_buffer(96), ctypes.cast(d, ctypes.c_void_p)
bad = ctypes.c_void_p(d.value + 8)
print([l.nvmlDeviceGetName(d, None, 96), l.nvmlDeviceGetName(bad, b, 96), l.nvmlDeviceGetName(None, b, 96),
       l.nvmlDeviceGetName(d, b, 4), l.nvmlDeviceGetMemoryInfo(d, None), l.nvmlDeviceGetMemoryInfo_v2(d, b),
       l.nvmlDeviceGetHandleByIndex_v2(7, b), l.nvmlDeviceGetHandleByUUID(b"GPU-1", b)])
"""
    assert told(text) == [2, 2, 2, 7, 2, 25, 2, 6]


LOOK = """
n.nvmlInit(); found = []
for i in range(n.nvmlDeviceGetCount()):
    d = n.nvmlDeviceGetHandleByIndex(i)
    rates = n.nvmlDeviceGetUtilizationRates(d)
    try: shares = {s.pid: s.smUtil for s in n.nvmlDeviceGetProcessUtilization(d, 0)}
    except n.NVMLError_NotFound: shares = {}
    for _ in range(100):  # other tests' processes may come or go between the two
        try:
            kind = n.nvmlProcessDetailList_v1
            details = n.nvmlDeviceGetRunningProcessDetailList(d, kind, n.NVML_PROCESS_MODE_COMPUTE)
            users = {p.pid: p.usedGpuMemory for p in n.nvmlDeviceGetComputeRunningProcesses(d)}
        except n.NVMLError_InsufficientSize: continue  # one has come since it was asked how many
        if users == {p.pid: p.usedGpuMemory for p in details}: break
    else: raise AssertionError((users, details))
    assert n.nvmlDeviceGetGraphicsRunningProcesses(d) == []
    found.append({"users": users, "used": n.nvmlDeviceGetMemoryInfo(d).used, "gpu": rates.gpu, "shares": shares,
                  "v2": n.nvmlDeviceGetMemoryInfo(d, n.nvmlMemory_v2).used})
print(json.dumps(found))
"""


def test_who_uses_them(users: list[subprocess.Popen[str]]) -> None:
    """Two processes on one device, a third on the other; other tests may use devices, too."""
    first, second = start(users, 0, 3 << 20, "idle"), start(users, 0, 5 << 20, "idle")
    third = start(users, 1, 512, "idle")
    found = told(LOOK, GOMPY_CUDA_DEVICES="2")
    here = [{int(pid): used for pid, used in device["users"].items()} for device in found]
    assert here[0].get(first) == 3 << 20 and here[0].get(second) == 5 << 20 and here[1].get(third) == 512
    assert third not in here[0] and first not in here[1]
    assert found[0]["used"] >= 8 << 20 and found[0]["used"] >= found[0]["users"][str(first)]
    users[0].send_signal(signal.SIGKILL)
    users[0].wait()
    after = told(LOOK, GOMPY_CUDA_DEVICES="2")
    assert str(first) not in after[0]["users"] and str(second) in after[0]["users"]


def test_how_busy_they_are(users: list[subprocess.Popen[str]]) -> None:
    busy, idle = start(users, 0, 1 << 20, "busy"), start(users, 0, 1 << 20, "idle")
    time.sleep(0.5)  # the kernel may have to be compiled
    for _ in range(50):
        found = told(LOOK, GOMPY_CUDA_DEVICES="2")[0]
        if found["shares"].get(str(busy), 0) > 50:
            break
    assert found["shares"][str(busy)] > 50 and found["gpu"] > 50
    assert str(idle) not in found["shares"]


def test_only_a_started_driver_counts(users: list[subprocess.Popen[str]]) -> None:
    """A process that has the library loaded, or has no context, is no user."""
    code = "import ctypes; c = ctypes.CDLL('libcuda.so.1'); c.cuInit(0); print('ready', flush=True); input()"
    process = subprocess.Popen(
        [sys.executable, "-c", code], env=environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    users.append(process)
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    assert str(process.pid) not in told(LOOK)[0]["users"]


def test_a_process_whose_table_makes_no_sense(users: list[subprocess.Popen[str]], tmp_path: Path) -> None:
    """A monitor trusts nothing that it reads elsewhere."""
    code = f"""
import ctypes
c = ctypes.CDLL('libcuda.so.1'); p = ctypes.c_void_p()
c.cuInit(0); c.cuCtxCreate_v2(ctypes.byref(p), 0, 0)
words = (ctypes.c_uint64 * {cuda_status.CUDA_STATUS_WORDS}).in_dll(c, "gompy_cuda_status")
for i in range(1, len(words)): words[i] = (0, 1, 2**64 - 1, 4096)[i % 4]
print('ready', flush=True); input()
"""
    process = subprocess.Popen(
        [sys.executable, "-c", code], env=environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    users.append(process)
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    assert str(process.pid) not in told(LOOK)[0]["users"]


def test_calls_are_told() -> None:
    done = ask("n.nvmlInit(); d = n.nvmlDeviceGetHandleByIndex(0); n.nvmlDeviceGetIndex(d)", GOMPY_CUDA_TRACE="1")
    lines = re.sub(r"0x[0-9a-f]+", "0x…", done.stderr).splitlines()
    assert lines[-2:] == [
        "libnvidia-ml (gompy): nvmlDeviceGetHandleByIndex_v2(index=0, device->0x…) = NVML_SUCCESS",
        "libnvidia-ml (gompy): nvmlDeviceGetIndex(device=0x…, index->0) = NVML_SUCCESS",
    ]


def test_the_structures_of_the_command() -> None:
    pynvml = pytest.importorskip("pynvml", reason="nvidia-ml-py is not installed")
    from gompy.cli import device_usage as ours

    for mine, theirs in (
        (ours.Memory, pynvml.c_nvmlMemory_t),
        (ours.Utilization, pynvml.c_nvmlUtilization_t),
        (ours.ProcessInfo, pynvml.c_nvmlProcessInfo_v2_t),
        (ours.ProcessSample, pynvml.c_nvmlProcessUtilizationSample_t),
    ):
        assert ctypes.sizeof(mine) == ctypes.sizeof(theirs)


def test_the_command(users: list[subprocess.Popen[str]]) -> None:
    """``gompy devices --usage``."""
    pid = start(users, 1, 7 << 20, "idle")
    command = [sys.executable, "-c", "from gompy.cli.main import main; raise SystemExit(main())", "devices", "--usage"]
    env = environment(GOMPY_CUDA_DEVICES="2")
    done = subprocess.run([*command, "--json"], env=env, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    second = json.loads(done.stdout)["devices"][1]
    row = next(row for row in second["processes"] if row["process"] == pid)
    assert row["memory"] == 7 << 20 and row["kernels"] == 0 and "python" in row["program"]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60)
    assert re.search(rf"^ *{pid} +1 +7 MiB +0 % +\S*python", done.stdout, re.MULTILINE)
    done = subprocess.run(command, env=env | {"GOMPY_CUDA_MEMORY": "x"}, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and done.stderr.splitlines()[-1] == "gompy devices: error: nvmlInit_v2: Unknown Error"
    done = subprocess.run(command, env=env | {"GOMPY_CUDA_DEVICES": "0"}, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (1, "no emulated GPU: GOMPY_CUDA_DEVICES is 0\n")
