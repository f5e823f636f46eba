"""Programs by clang for nvptx64, on the emulated GPU: nothing of NVIDIA's takes part."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from driver_tools import has_all
from llvm_tools import LIBDIR, PROGRAMS, environment, needs_clang

from gompy.abi import llvm
from gompy.objects.clang_images import read_clang
from gompy.objects.view import ElfView

TOOLS = Path("/usr/lib/llvm-16/bin")
pytestmark = [
    needs_clang,
    has_all,
    pytest.mark.skipif(not (TOOLS / "llvm-link").exists(), reason="not installed: llvm-16"),
]
TARGETS = "-fopenmp-targets=nvptx64-nvidia-cuda"


def build(folder: Path, bin_folder: Path, *words: str) -> None:
    """Compile with gompclang, which must find clang 16."""
    clang = environment(GOMPY_CLANG=str(TOOLS / "clang"))
    done = subprocess.run([bin_folder / "gompclang", "-fopenmp", *words], cwd=folder, env=clang, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()


@pytest.mark.slow
def test_regions_run_on_the_emulated_gpu(tmp_path: Path, bin_folder: Path) -> None:
    """Modes of execution, math, private objects, a variable, output; PTX first, LLVM IR for LLVM's library."""
    build(tmp_path, bin_folder, "-O1", TARGETS, str(PROGRAMS / "gpu.c"), "-o", "gpu", "-lm")
    tables = read_clang(ElfView((tmp_path / "gpu").read_bytes(), "gpu"))
    assert [image.binary.image_kind for image in tables.images] == [llvm.IMG_PTX, llvm.IMG_BITCODE]
    assert {image.binary.arch for image in tables.images} == {"sm_70"}
    env = environment(GOMPY_CUDA="emulated", GOMPY_STATS="1")
    done = subprocess.run([tmp_path / "gpu"], env=env, capture_output=True, text=True, timeout=110)
    assert done.stdout == "1.186532 on the device\n7 106 128 0 0 1.186532 101\n", done.stderr
    assert "regions: 4 on device 0 (nvptx), 0 on the host" in done.stderr


@pytest.mark.slow
def test_an_archives_member_of_llvm_ir(tmp_path: Path, bin_folder: Path) -> None:
    """It is taken for the function that the region calls; what nobody needs and is hidden is not."""
    (tmp_path / "peel.c").write_text(
        "#pragma omp declare target\nint peel (int x) { return 5 * x; }\n#pragma omp end declare target\n"
    )
    (tmp_path / "hidden.c").write_text(
        "#pragma omp declare target\nint nowhere (void);\n"
        '__attribute__ ((visibility ("hidden"))) int hidden (void) { return nowhere (); }\n'
        "#pragma omp end declare target\n"
    )
    (tmp_path / "main.c").write_text(
        "#include <stdio.h>\n#pragma omp declare target\nint peel (int x);\n#pragma omp end declare target\n"
        "int main (void)\n{\n  int x = 2;\n  #pragma omp target map(x)\n  x = peel (x);\n"
        '  printf ("%d\\n", x);\n}\n'
    )
    build(tmp_path, bin_folder, "-O1", TARGETS, "-c", "peel.c", "hidden.c", "main.c")
    subprocess.run(["ar", "rc", "libfruit.a", "hidden.o", "peel.o"], check=True, cwd=tmp_path)
    build(tmp_path, bin_folder, "-O1", TARGETS, "main.o", "libfruit.a", "-o", "prog")
    env = environment(GOMPY_CUDA="emulated", GOMPY_STATS="1")
    done = subprocess.run([tmp_path / "prog"], env=env, capture_output=True, text=True, timeout=110)
    assert done.stdout == "10\n" and "1 on device 0 (nvptx)" in done.stderr, done.stderr


def test_newer_routines_copy_and_fill(tmp_path: Path) -> None:
    """Those of LLVM 19: libomptarget.so.19.1 alone, without a clang."""
    (tmp_path / "x.c").write_text(
        """#include <stdio.h>
#include <stddef.h>
void *omp_target_alloc (size_t, int);
void *omp_target_memset (void *, int, size_t, int);
void *omp_target_memset_async (void *, int, size_t, int, int, void *);
int omp_target_memcpy_async (void *, const void *, size_t, size_t, size_t, int, int, int, void *);
int omp_target_memcpy_rect_async (void *, const void *, size_t, int, const size_t *, const size_t *, const size_t *,
                                  const size_t *, const size_t *, int, int, int, void *);
int omp_get_initial_device (void);
int main (void)
{
  int host = omp_get_initial_device ();
  char b[8] = "abcdefg", *d = omp_target_alloc (8, 0);
  size_t two[] = { 1, 2 }, one[] = { 1, 1 }, zero[] = { 0, 0 }, size[] = { 2, 4 };
  printf ("%d", omp_target_memset (d, 'x', 8, 0) == d);
  printf ("%d", omp_target_memset_async (d, 'y', 2, 0, 0, 0) == d);
  printf ("%d", omp_target_memcpy_async (b, d, 4, 0, 0, host, 0, 0, 0));
  printf ("%d %.7s\\n",
          omp_target_memcpy_rect_async (b, d, 1, 2, two, one, zero, size, size, host, 0, 0, 0), b);
}
"""
    )
    words = ["cc", "x.c", str(LIBDIR / "libomptarget.so.19.1"), f"-Wl,-rpath,{LIBDIR}", "-o", "x"]
    subprocess.run(words, check=True, cwd=tmp_path)
    done = subprocess.run(["./x"], cwd=tmp_path, env=environment(), capture_output=True, text=True, timeout=60)
    assert done.stdout == "1100 yyxxeyy\n", done.stderr


@pytest.mark.slow
def test_info_of_a_launch(tmp_path: Path, bin_folder: Path) -> None:
    """LIBOMPTARGET_INFO, bit 16: the device's limits once, and each launch, in the words of LLVM's plugin."""
    build(tmp_path, bin_folder, "-O1", TARGETS, str(PROGRAMS / "gpu.c"), "-o", "gpu", "-lm")
    env = environment(GOMPY_CUDA="emulated", LIBOMPTARGET_INFO="16")
    done = subprocess.run([tmp_path / "gpu"], env=env, capture_output=True, text=True, timeout=110)
    lines = [line for line in done.stderr.splitlines() if line.startswith("CUDA device 0 info: ")]
    assert lines[0].endswith("CUDA blocks and 1024 threads with a warp size of 32")
    assert len(lines) == 5
    launches = [re.sub(r"kernel \S+ with \d+ blocks and \d+", "kernel", line) for line in lines[1:]]
    modes = {line.removeprefix("CUDA device 0 info: Launching kernel threads in ") for line in launches}
    assert modes <= {"Generic mode", "SPMD mode", "Generic-SPMD mode"}


LIBOMP_19 = [Path("/usr/lib/llvm-19/lib"), Path.home() / ".cache/gompy/libomp-19/usr/lib/llvm-19/lib"]
THERE_19 = next((path for path in LIBOMP_19 if (path / "libomptarget-nvptx-sm_70.bc").exists()), None)


needs_19 = pytest.mark.skipif(
    THERE_19 is None or not all(Path("/usr/lib/llvm-19/bin", name).exists() for name in ("clang", "llvm-nm")),
    reason="not installed: clang-19, llvm-19, or libomp-19-dev, which check-libomptarget unpacks, too",
)


def by_clang_19(folder: Path, bin_folder: Path, program: str, level: str) -> subprocess.CompletedProcess[str]:
    """Compile and run; LIBRARY_PATH says where the device runtime is, as it does to clang."""
    env = environment(GOMPY_CLANG="/usr/lib/llvm-19/bin/clang", LIBRARY_PATH=str(THERE_19), GOMPY_CUDA="emulated")
    env |= {"GOMPY_STATS": "1", "LD_LIBRARY_PATH": f"{LIBDIR}:{THERE_19}"}
    words = [bin_folder / "gompclang", "-fopenmp", level, TARGETS, PROGRAMS / program, "-o", "program"]
    subprocess.run(words, cwd=folder, env=env, check=True)
    return subprocess.run([folder / "program"], env=env, capture_output=True, text=True, timeout=110)


@needs_19
@pytest.mark.parametrize("level", ["-O0", "-O1", "-O2"])
def test_indirect_calls_of_clang_19(tmp_path: Path, bin_folder: Path, level: str) -> None:
    """Its device runtime looks a host's pointer up.  LLVM's optimizer calls functions of it that no object has named,
    so the link keeps them."""
    done = by_clang_19(tmp_path, bin_folder, "indirect_gpu.c", level)
    assert (done.returncode, done.stdout) == (0, "20 -11 13 26\n"), done.stderr
    assert done.stderr == "libgompy: regions: 1 on device 0 (nvptx), 0 on the host\n"


@needs_19
@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_reductions_over_teams_of_clang_19(tmp_path: Path, bin_folder: Path, level: str) -> None:
    """More teams than the buffer has places, and one launch after the other."""
    done = by_clang_19(tmp_path, bin_folder, "teams_reduction.c", level)
    assert (done.returncode, done.stdout) == (0, "4999950000 99461 12497500 12502500 12507500\n"), done.stderr
    assert done.stderr == "libgompy: regions: 4 on device 0 (nvptx), 0 on the host\n"
