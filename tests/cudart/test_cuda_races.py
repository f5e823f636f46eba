"""Programs that race, and their right twins (tests/programs/races): all of the first are told, none of the others."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from cuda_tools import has_driver, needs_cuda_compiler
from test_cuda_cc import PROGRAMS, call, compiled, result

RACES = PROGRAMS / "races"
pytestmark = [has_driver, needs_cuda_compiler]


@pytest.mark.slow(sample=1)
@pytest.mark.parametrize("source", sorted(RACES.glob("*.cu")), ids=lambda path: path.stem)
def test_corpus(tmp_path: Path, source: Path) -> None:
    made = call(tmp_path, "cc", str(source), "-g", "-o", "prog")
    assert (made.returncode, made.stderr) == (0, "")
    devices = "2" if source.stem.startswith("two_devices") else "1"
    status, _, told = result(tmp_path / "prog", GOMPY_CHECK="race", GOMPY_CUDA_DEVICES=devices)
    assert status == 0
    lines = [line for line in told.splitlines() if line.startswith("libcuda (gompy): warning: race on ")]
    assert bool(lines) == source.stem.endswith("_wrong"), told
    assert all(f"{source.name}:" in line for line in lines)


@pytest.mark.slow
def test_the_text_of_races_between_streams(tmp_path: Path) -> None:
    """The thread that is told of, and which side came first, are chance; both places are not."""
    _, _, told = result(compiled(tmp_path, RACES / "stream_copy_wrong.cu", "-g"), GOMPY_CHECK="race")
    sides = (
        r"(read by a copy in stream 2 \(\S*stream_copy_wrong.cu:17\)|written (in 'fill' at "
        r"\S*stream_copy_wrong.cu:5 \(PTX:\d+\) by thread \(\d+,0,0\) of block \(0,0,0\)|by a fill) in stream 1 "
        r"\(\S*stream_copy_wrong.cu:1[56]\))"
    )
    line = re.compile(
        rf"libcuda \(gompy\): warning: race on device memory at 0x[0-9a-f]+ \([14] bytes\): {sides}, and {sides}"
        r"(, kernel 'fill')?: no event and no wait puts the streams in an order; \d+ bytes into a block of 4000 "
        r"bytes at 0x[0-9a-f]+"
    )
    assert told and all(line.fullmatch(text) for text in told.splitlines()), told


CONSTRUCTOR = """
int cudaStreamQuery (void *);
__attribute__ ((constructor)) static void begin (void)
{
  for (int i = 0; i < 2000; i++)
    cudaStreamQuery (0);
}
"""
LOADER = r"""
#include <atomic>
#include <cstdio>
#include <dlfcn.h>
#include <thread>
__global__ void count (int *a) { atomicAdd (a, 1); }
int main ()
{
  int *a;
  cudaStream_t one, two;
  std::atomic<bool> end { false };
  cudaMalloc (&a, 4);
  cudaStreamCreate (&one);
  cudaStreamCreate (&two);
  std::thread launching ([&] {
    while (!end)
      {
        count<<<1, 1, 0, one>>> (a);
        count<<<1, 1, 0, two>>> (a);
      }
  });
  for (int i = 0; i < 20; i++)
    {
      void *library = dlopen ("./constructor.so", RTLD_NOW);
      if (library == nullptr)
        return puts (dlerror ());
      dlclose (library);
    }
  end = true;
  launching.join ();
}
"""


@pytest.mark.slow
def test_a_library_whose_constructor_calls_the_driver(tmp_path: Path) -> None:
    """It holds the loader, and waits for the driver; who launches meanwhile asks the loader where it does so."""
    (tmp_path / "constructor.c").write_text(CONSTRUCTOR)
    (tmp_path / "loader.cu").write_text(LOADER)
    command = ["gcc", "-shared", "-fPIC", "constructor.c", "-o", "constructor.so"]
    subprocess.run(command, cwd=tmp_path, check=True)
    program = compiled(tmp_path, tmp_path / "loader.cu", "-ldl", "-pthread")
    assert result(program, GOMPY_CHECK="race") == (0, "", "")
