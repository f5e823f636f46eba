"""The linker wrapper on images by CUDA and HIP, and on the host's objects of LLVM IR."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from cuda_tools import has_driver
from llvm_tools import HALVES, LIBDIR, NATIVE, PROGRAMS, environment, needs_clang

pytestmark = needs_clang

WRAPPER = NATIVE / "clang" / "clang-linker-wrapper"
CUDART = NATIVE / "cudart"
CUDA = (
    *("-x", "cuda", "--offload-new-driver", "-fgpu-rdc", "-foffload-lto", "--cuda-gpu-arch=sm_70", "-nocudainc"),
    *("-nocudalib", "--cuda-path=/nonexistent", "-isystem", str(CUDART / "include"), "-include", "cuda_runtime.h"),
    *("-Xclang", "-target-sdk-version=11.5", "--cuda-feature=+ptx70", "-O2", "-c"),
)
NVPTX = (
    *("-O1", "-fopenmp", "-fopenmp-targets=nvptx64-nvidia-cuda", "-foffload-lto", "-Xopenmp-target", "-march=sm_70"),
    *("--cuda-path=/nonexistent", "-nogpulib", "-c"),
)
WANTED = "7 21, 112\n"


def good(folder: Path, *words: str | Path) -> str:
    """Run a command that must succeed; what it says on both streams."""
    env = environment() | {"GOMPY_CLANG": "clang-16", "GOMPY_CUDA": "emulated"}
    done = subprocess.run(words, cwd=folder, env=env, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def linked(folder: Path, *words: str) -> str:
    """Link to `prog`, and run it."""
    paths = f"-Wl,-rpath,{CUDART},-rpath,{LIBDIR}"
    good(folder, "clang++-16", f"-B{NATIVE / 'clang'}", "--offload-link", *words, f"-L{CUDART}", paths, "-lcudart",
         "-o", "prog")  # fmt: skip
    return good(folder, "./prog")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Objects by CUDA whose device code is linked later."""
    folder = tmp_path_factory.mktemp("kinds")
    for name, words in {"main.o": [], "called.o": ["-DCALLED"], "part.o": ["-DPART"]}.items():
        good(folder, "clang++-16", *CUDA, *words, PROGRAMS / "separate.cu", "-o", name)
    return folder


@pytest.mark.slow
@has_driver
def test_cuda_in_two_files(folder: Path) -> None:
    """A kernel calls a function of another object; a variable is found by its host address."""
    assert linked(folder, "main.o", "part.o") == WANTED


@pytest.mark.slow
@has_driver
def test_cuda_and_openmp(folder: Path) -> None:
    """One image for both languages, registered with the runtime of each."""
    good(folder, "clang-16", *NVPTX, PROGRAMS / "calls_cuda.c", "-o", "openmp.o")
    assert linked(folder, "-fopenmp", "openmp.o", "called.o", "part.o", "-lomptarget") == f"1\n{WANTED}"


def test_machine_code_by_cuda_needs_fatbinary(folder: Path) -> None:
    """It says what to do instead, or runs the tool."""
    (folder / "code.bin").write_bytes(b"\x7fELF")
    good(folder, "/usr/lib/llvm-16/bin/clang-offload-packager", "-o", "packed",
         "--image=file=code.bin,kind=cuda,triple=nvptx64-nvidia-cuda,arch=sm_70")  # fmt: skip
    shown = good(folder, WRAPPER, "--linker-path=ld", "--dry-run", "--", "packed", "-o", "out")
    assert "fatbinary -64 --create " in shown.replace('"', "")
    assert "--image=profile=sm_70,file=" in shown


def test_hip(folder: Path) -> None:
    """Its architectures go through clang-offload-bundler, and register with HIP's runtime."""
    (folder / "code.bin").write_bytes(b"\x7fELF")
    image = "--image=file=code.bin,kind=hip,triple=amdgcn-amd-amdhsa,arch="
    packager = "/usr/lib/llvm-16/bin/clang-offload-packager"
    good(folder, packager, "-o", "packed", f"{image}gfx908", f"{image}gfx90a")
    shown = good(folder, WRAPPER, "--linker-path=ld", "--dry-run", "--print-wrapped-module", "--", "packed")
    targets = "host-x86_64-unknown-linux,hipv4-amdgcn-amd-amdhsa--gfx90a,hipv4-amdgcn-amd-amdhsa--gfx908"
    assert f"-targets={targets} -input=/dev/null" in shown
    assert "call __hipRegisterFatBinary@PLT" in shown and "RegisterFatBinaryEnd" not in shown


@pytest.mark.skipif(not shutil.which("ld.lld-16"), reason="not installed: lld-16")
def test_objects_of_llvm_ir(tmp_path: Path, bin_folder: Path) -> None:
    """-flto: the images are in the host's LLVM IR, of an object and of an archive's member."""
    for name in ("half_clang", "other"):
        source = HALVES / "half_clang.c" if name == "half_clang" else tmp_path / "other.c"
        if name == "other":
            source.write_text("int half_of_gcc (int *n)\n{\n  int x = 0;\n  #pragma omp target map(tofrom: n[:4], x)\n"
                              "  { n[0] += 100; x = n[1]; }\n  return x;\n}\n")  # fmt: skip
        good(tmp_path, bin_folder / "gompclang", "-O1", "-flto", "-fopenmp", "-c", source, "-o", f"{name}.o")
        assert (tmp_path / f"{name}.o").read_bytes().startswith(b"BC")
    good(tmp_path, "llvm-ar-16", "rcs", "libother.a", "other.o")
    words = ("-flto", "-fuse-ld=lld", "-fopenmp", "half_clang.o", "-L.", "-lother", "-o", "whole")
    good(tmp_path, bin_folder / "gompclang", *words)
    done = subprocess.run(["./whole"], cwd=tmp_path, env=environment(GOMPY_STATS="1"), capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "1 2 50\n101 50\n"), done.stderr
    assert done.stderr == "libgompy: regions: 2 on device 0 (intelmic), 0 on the host\n"
