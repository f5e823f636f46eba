"""A program that has all of its memory locked, as real-time ones do: a device's addresses are not filled with pages."""

from __future__ import annotations

import os
import resource
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BIN = ROOT / ".venv" / "bin"
PROGRAM = """
#include <stdio.h>
#include <sys/mman.h>
int main (void)
{
  char line[200];
  long most = 0;
  int x = 1;
  FILE *status;
  if (mlockall (MCL_CURRENT | MCL_FUTURE) != 0)
    return 77;
  #pragma omp target map(x)
  x++;
  status = fopen ("/proc/self/status", "r"); /* getrusage has the greatest of who started it, too */
  while (fgets (line, sizeof line, status))
    sscanf (line, "VmHWM: %ld", &most);
  printf ("%d %d\\n", x, most > 0 && most < 700 * 1024);
}
"""


@pytest.mark.parametrize("check", ["0", "1"], ids=["", "check"])
@pytest.mark.parametrize("kind", ["intelmic", "nvptx"])
def test_a_device_takes_no_memory_that_is_not_used(tmp_path: Path, kind: str, check: str) -> None:
    """Once it was 1 GiB here, 3.5 on the GPU; by default 64, or until the kernel killed something."""
    if resource.getrlimit(resource.RLIMIT_MEMLOCK)[0] != resource.RLIM_INFINITY and os.geteuid() != 0:
        pytest.skip("memory that may be locked is limited: ulimit -l")
    (tmp_path / "a.c").write_text(PROGRAM)
    target = ["-foffload=nvptx-none"] if kind == "nvptx" else []
    subprocess.run([BIN / "gompcc", "-fopenmp", *target, "a.c"], cwd=tmp_path, check=True)
    env = {**os.environ, "OFFLOAD_EMUL_MEM": "1G", "GOMPY_CUDA": "emulated", "GOMPY_CUDA_MEMORY": "1G"}
    done = subprocess.run(
        [tmp_path / "a.out"],
        env={**env, "OMP_TARGET_OFFLOAD": "mandatory", "GOMPY_CHECK": check},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode == 77:
        pytest.skip("the system lets no memory be locked")
    assert (done.returncode, done.stdout, done.stderr) == (0, "2 1\n", "")
