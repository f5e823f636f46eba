"""LLVM's own device plugins as devices of ours: for x86_64, in the program's own process, and for CUDA."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from llvm_tools import HALVES, LIBDIR, NATIVE, PROGRAMS, Run, compile_clang, environment, needs_clang, run

pytestmark = needs_clang

LLVM = Path("/usr/lib/llvm-16/lib")
NEWER = "x86_64"
CUDA = NATIVE / "cuda"
OLDER = str(LLVM / "libomptarget.rtl.x86_64.so.16")


def on_llvms(program: Path, *arguments: str, **more: str) -> Run:
    """Run with LLVM's plugin below libgompy."""
    return run(program, *arguments, **{"GOMPY_PLUGINS": "llvm", "GOMPY_STATS": "1"} | more)


def counted(done: Run, *regions: int) -> bool:
    """Whether so many regions ran on the devices, and none on the host."""
    devices = [*regions, 0, 0, 0, 0][:4]
    words = ", ".join(f"{count} on device {number} (llvm)" for number, count in enumerate(devices))
    return done.err == f"libgompy: regions: {words}, 0 on the host\n"


@pytest.mark.slow
@pytest.mark.parametrize("rtl", [NEWER, OLDER])
def test_programs_by_clang(tmp_path: Path, rtl: str) -> None:
    """Maps, structs, variables, constructors, destructors; two devices."""
    done = on_llvms(compile_clang(tmp_path, PROGRAMS / "maps.c"), GOMPY_LLVM_RTL=rtl)
    assert done.out == "1 1 999 2997 104 3101\n7 8 1 0\n", done.err
    assert counted(done, 4)
    done = on_llvms(compile_clang(tmp_path, PROGRAMS / "structs.cpp"), GOMPY_LLVM_RTL=rtl)
    assert done.out.splitlines() == [
        *("built", "built", "1 8 14", "11 2 23", "8", "7", "4957"),
        *("destroyed with 42", "destroyed with 40"),
    ], done.err
    assert counted(done, 8)
    done = on_llvms(compile_clang(tmp_path, PROGRAMS / "devices.c"), GOMPY_LLVM_RTL=rtl)
    assert (done.rc, done.out) == (0, "120 11\n"), done.err
    assert counted(done, 1, 1)


MAPPED = """
#include <stdio.h>
#include <string.h>
int main (void)
{
  char line[4096];
  int x = 0;
  #pragma omp target map(from: x)
  x = 1;
  FILE *maps = fopen ("/proc/self/maps", "r");
  while (fgets (line, sizeof line, maps))
    if (strstr (line, "/tmpfile"))
      fputs (strchr (line, '/'), stdout);
  return !x;
}
"""


@pytest.mark.slow(sample=1)
@pytest.mark.parametrize("rtl", [NEWER, OLDER])
def test_no_files_are_left(tmp_path: Path, rtl: str) -> None:
    """LLVM's plugin writes each image to a file of /tmp, and leaves it there."""
    source = tmp_path / "mapped.c"
    source.write_text(MAPPED, encoding="ascii")
    done = on_llvms(compile_clang(tmp_path, source), GOMPY_LLVM_RTL=rtl)
    assert counted(done, 1) and done.rc == 0
    names = {line.removesuffix(" (deleted)") for line in done.out.splitlines()}
    assert names and not any(Path(name).exists() for name in names)


OPENS = """
#include <dlfcn.h>
int main (int argc, char **argv)
{
  int x = 0;
  void *library = dlopen (argv[argc - 1], RTLD_NOW);
  #pragma omp target map(from: x)
  x = 1;
  return !x || !library;
}
"""


@pytest.mark.slow(sample=1)
@pytest.mark.parametrize("rtl", [NEWER, OLDER])
def test_the_programs_own_files_stay(tmp_path: Path, rtl: str) -> None:
    """A library whose name begins as those of LLVM's files do."""
    library, source = tmp_path / "tmpfile_of_ours.so", tmp_path / "opens.c"
    source.write_text(OPENS, encoding="ascii")
    subprocess.run(["gcc", "-shared", "-fPIC", "-x", "c", "/dev/null", "-o", library], check=True)
    assert on_llvms(compile_clang(tmp_path, source), str(library), GOMPY_LLVM_RTL=rtl).rc == 0
    assert library.exists()


@pytest.mark.slow
def test_gcc_and_clang_on_one_device(tmp_path: Path, bin_folder: Path) -> None:
    """An image by gcc has no kernels by name: ours calls its regions."""
    words = [bin_folder / "gompcc", "-fopenmp", "-shared", "-fPIC", HALVES / "half_gcc.c", "-o", "libhalf_gcc.so"]
    subprocess.run(words, check=True, cwd=tmp_path)
    options = ("-L.", "-lhalf_gcc", f"-Wl,-rpath,{tmp_path}")
    done = on_llvms(compile_clang(tmp_path, HALVES / "half_clang.c", *options))
    assert (done.rc, done.out) == (0, "1 2 50\n101 50\n"), done.err
    assert counted(done, 2)


def test_an_image_by_gcc_on_an_older_plugin(tmp_path: Path, bin_folder: Path) -> None:
    """It looks for clang's entries: a line says so."""
    subprocess.run([bin_folder / "gompcc", "-fopenmp", HALVES / "hello.c", "-o", "hello"], check=True, cwd=tmp_path)
    done = on_llvms(tmp_path / "hello", GOMPY_LLVM_RTL=OLDER, LD_LIBRARY_PATH="")
    assert done.rc == 1
    said = (
        "libgomp: device 0 (llvm): an image by gcc lacks the entries that this plugin of LLVM wants; 16's nextgen and "
        "later ones take it\n"
    )
    assert said in done.err, done.err


@pytest.mark.slow
@pytest.mark.skipif(not Path("/usr/lib/llvm-16/bin/llvm-link").exists(), reason="not installed: llvm-16")
@pytest.mark.parametrize("rtl", ["cuda", str(LLVM / "libomptarget.rtl.cuda.so.16")])
def test_gpus(tmp_path: Path, bin_folder: Path, rtl: str) -> None:
    """LLVM's plugin for CUDA over the emulated driver: the image is PTX, which it takes for machine code."""
    words = ["-O1", "-fopenmp", "-fopenmp-targets=nvptx64-nvidia-cuda", str(PROGRAMS / "gpu.c"), "-o", "gpu", "-lm"]
    clang = environment(GOMPY_CLANG="clang-16")
    subprocess.run([bin_folder / "gompclang", *words], check=True, cwd=tmp_path, env=clang)
    over = {"GOMPY_LLVM_RTL": rtl, "LD_LIBRARY_PATH": f"{LIBDIR}:{CUDA}"}
    done = on_llvms(tmp_path / "gpu", **over)
    assert (done.rc, done.out) == (0, "1.186532 on the device\n7 106 128 0 0 1.186532 101\n"), done.err
    assert done.err == "libgompy: regions: 4 on device 0 (llvm), 0 on the host\n"
    told = on_llvms(tmp_path / "gpu", **over, LIBOMPTARGET_INFO="16").err
    assert "in SPMD mode" in told and ("PluginInterface" in told) == (rtl == "cuda"), told


@pytest.mark.slow
def test_gpus_without_a_driver(tmp_path: Path) -> None:
    """LLVM's plugin finds no libcuda.so: a line says where ours is."""
    done = on_llvms(compile_clang(tmp_path, PROGRAMS / "maps.c"), GOMPY_LLVM_RTL="cuda")
    if "on device 0 (llvm)" in done.err:
        pytest.skip("there is a CUDA driver")
    said = (
        "libgomp: GOMPY_LLVM_RTL: LLVM's plugin finds no GPU: the folder that gompy config --cuda-libdir prints has "
        "the emulated driver, for LD_LIBRARY_PATH\n"
    )
    assert said in done.err, done.err


def test_an_image_by_gcc_for_gpus(tmp_path: Path, bin_folder: Path) -> None:
    """Its regions want stacks: a line says what runs them."""
    words = [bin_folder / "gompcc", "-fopenmp", "-foffload=nvptx-none", HALVES / "hello.c", "-o", "hello"]
    if subprocess.run(words, cwd=tmp_path, capture_output=True).returncode:
        pytest.skip("gcc has no compiler for nvptx")
    done = on_llvms(tmp_path / "hello", GOMPY_LLVM_RTL="cuda", LD_LIBRARY_PATH=str(CUDA))
    assert done.rc == 1
    said = (
        "libgomp: device 0 (llvm): regions by gcc need stacks that LLVM's plugin does not give them; "
        "GOMPY_PLUGINS=nvptx runs them\n"
    )
    assert said in done.err, done.err


@pytest.mark.slow(sample=1)
@pytest.mark.parametrize(
    ("rtl", "why"),
    [
        ("/nonexistent.so", "no such plugin of LLVM 14 to 18 (/nonexistent.so: cannot open shared object file"),
        (str(NATIVE / "lib" / "libgomp-plugin-null.so.1"), "not a plugin of LLVM 14 to 18"),
        (str(NATIVE / "llvm-rtl" / "libomptarget.rtl.x86_64.so"), "that is gompy's own plugin for LLVM"),
        (
            str(LLVM / "libomptarget.rtl.amdgpu.so.16"),
            "libgomp: GOMPY_LLVM_RTL: devices for other images than x86_64's and NVIDIA's are not implemented\n",
        ),
    ],
)
def test_what_is_none(tmp_path: Path, rtl: str, why: str) -> None:
    """One line, and the host runs the regions."""
    done = on_llvms(compile_clang(tmp_path, PROGRAMS / "maps.c"), GOMPY_LLVM_RTL=rtl)
    assert (done.rc, done.out) == (0, "0 1 0 2997 104 3101\n8 9 1 1\n")
    assert why in done.err, done.err
    assert "on the host" in done.err
