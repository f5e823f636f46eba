"""What plugins say of settings that they cannot take, or of what these name; the program runs on the host then."""

from __future__ import annotations

from pathlib import Path

import pytest
from driver_tools import Tools, has_all
from nvptx_tools import has_compiler

pytestmark = has_all
ROOT = Path(__file__).resolve().parents[2]
OWN_RTL = ROOT / "gompy" / "_native" / "llvm-rtl" / "libomptarget.rtl.x86_64.so"
NULL = ROOT / "gompy" / "_native" / "lib" / "libgomp-plugin-null.so.1"
REMOTE = {"GOMPY_PLUGINS": "remote"}
LLVM = {"GOMPY_PLUGINS": "llvm"}
GPU = {"GOMPY_PLUGINS": "nvptx", "GOMPY_CUDA": "emulated", "GOMPY_CUDA_MEMORY": "256M"}
TOKEN = {**REMOTE, "GOMPY_REMOTE_TOKEN_FILE": "token"}
CASES = {
    "driver": (
        {"GOMPY_PLUGINS": "nvptx", "GOMPY_CUDA": "maybe"},
        "nvptx: GOMPY_CUDA=maybe is not one of real, emulated, auto",
    ),
    "no workers": (REMOTE, "GOMPY_REMOTE is not set: it names the workers, as host:port,host:port"),
    "no token": (
        {**REMOTE, "GOMPY_REMOTE": "h:1"},
        "GOMPY_REMOTE_TOKEN_FILE is not set: it names the file with the token of gompy device serve",
    ),
    "short token": (
        {**REMOTE, "GOMPY_REMOTE": "h:1", "GOMPY_REMOTE_TOKEN_FILE": "short"},
        "GOMPY_REMOTE_TOKEN_FILE=short: holds no token of at least 16 characters",
    ),
    "long name": ({**TOKEN, "GOMPY_REMOTE": "a" * 400}, "GOMPY_REMOTE: an entry of 400 characters"),
    "patience": (
        {**TOKEN, "GOMPY_REMOTE": "127.0.0.1:1", "GOMPY_REMOTE_TIMEOUT": "soon"},
        "GOMPY_REMOTE_TIMEOUT=soon: not a number of seconds from 0.1 to 86400; using 3\n"
        "\nlibgomp: remote device 127.0.0.1:1: cannot connect: Connection refused",
    ),
    "LLVM's of no name": (
        {**LLVM, "GOMPY_LLVM_RTL": "none"},
        "GOMPY_LLVM_RTL=none: no such plugin of LLVM 14 to 18 (/usr/lib/llvm-14/lib/libomptarget.rtl.none.so: cannot "
        "open shared object file: No such file or directory): install libomp-16-dev, or name its file",
    ),
    "LLVM's that is ours": (
        {**LLVM, "GOMPY_LLVM_RTL": str(OWN_RTL)},
        f"GOMPY_LLVM_RTL={OWN_RTL}: "
        "that is gompy's own plugin for LLVM, whose folder LD_LIBRARY_PATH names: name LLVM's file",
    ),
    "LLVM's that is none": (
        {**LLVM, "GOMPY_LLVM_RTL": str(NULL)},
        f"GOMPY_LLVM_RTL={NULL}: not a plugin of LLVM 14 to 18",
    ),
    "images": (
        {"GOMPY_PLUGINS": "intelmic", "OFFLOAD_EMUL_IMAGES": "/nonexistent"},
        "device 0 (intelmic): OFFLOAD_EMUL_IMAGES=/nonexistent: cannot write the image of omp_messages there: No such "
        "file or directory",
    ),
    "stack": (
        {**GPU, "GOMP_NVPTX_NATIVE_GPU_THREAD_STACK_SIZE": "much"},
        "GOMP_NVPTX_NATIVE_GPU_THREAD_STACK_SIZE=much: not a number of bytes up to 2147483647; using the driver's own",
    ),
    "JIT": (
        {**GPU, "GOMP_NVPTX_JIT": "-O2 fast"},
        "GOMP_NVPTX_JIT=-O2 fast: not -O0 to -O4, separated by blanks; using the driver's own level",
    ),
    "shared memory": (
        {**GPU, "GOMP_NVPTX_LOWLAT_POOL": "-1"},
        "GOMP_NVPTX_LOWLAT_POOL=-1: not a number of bytes up to 2147483647; using 8192",
    ),
}


@pytest.fixture(scope="module")
def tools(bin_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Tools:
    """A folder with a program and files of tokens."""
    made = Tools(bin_folder, tmp_path_factory.mktemp("settings"))
    made.write("token", "0123456789abcdef0123\n").chmod(0o600)
    made.write("short", "0123\n").chmod(0o600)
    program = ROOT / "tests" / "programs" / "omp_messages.c"
    made.ok("gompcc", "-fopenmp", "-w", "-foffload=intelmic", program, "-o", "omp_messages")
    return made


@pytest.fixture(scope="module")
def gpu(tools: Tools) -> Tools:
    """The same program for GPUs."""
    program = ROOT / "tests" / "programs" / "omp_messages.c"
    tools.ok("gompcc", "-fopenmp", "-w", "-foffload=nvptx-none", program, "-o", "omp_messages_gpu")
    return tools


@pytest.mark.parametrize("what", [name for name in CASES if CASES[name][0].get("GOMPY_CUDA") != "emulated"])
def test_settings(tools: Tools, what: str) -> None:
    env, text = CASES[what]
    done = tools.run("./omp_messages", "one", env=env)
    assert (done.returncode, done.stdout, done.stderr) == (0, "went on\n", f"\nlibgomp: {text}\n")


@has_compiler
@pytest.mark.parametrize("what", [name for name in CASES if CASES[name][0].get("GOMPY_CUDA") == "emulated"])
def test_settings_of_a_gpu(gpu: Tools, what: str) -> None:
    env, text = CASES[what]
    done = gpu.run("./omp_messages_gpu", "one", env=env)
    assert (done.returncode, done.stdout, done.stderr) == (0, "went on\n", f"\nlibgomp: {text}\n")
