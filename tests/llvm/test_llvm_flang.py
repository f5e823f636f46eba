"""Fortran by flang: what clang's programs get runs its programs, too."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from llvm_tools import HALVES, LIBDIR, NATIVE, PROGRAMS, TARGET, run

from gompy.clang_link import device

FLANG = os.environ.get("GOMPY_TEST_FLANG") or shutil.which("flang-new-19") or ""
NEWER = shutil.which("flang-22") or ""
LIBRARIES = [Path("/usr/lib/llvm-19/lib"), Path.home() / ".cache/gompy/libomp-19/usr/lib/llvm-19/lib"]
LIBOMP = next((path for path in LIBRARIES if (path / "libomptarget.so").exists()), None)
WRAPPER = f"-B{NATIVE / 'clang'}"
RUNTIME = Path(device.__file__).with_name("device_runtime.c")
needs_flang = pytest.mark.skipif(not FLANG or LIBOMP is None, reason="not installed: flang-19, libomp-19-dev")
needs_newer = pytest.mark.skipif(not NEWER or LIBOMP is None, reason="not installed: flang-22, libomp-19-dev")


def ran(program: Path) -> tuple[list[str], str]:
    """What it prints and says."""
    done = run(program, LD_LIBRARY_PATH=f"{LIBDIR}:{LIBOMP}", GOMPY_STATS="1", OMP_NUM_THREADS="3")
    assert done.rc == 0, done.err
    return done.out.split(), done.err


@needs_flang
def test_a_program(tmp_path: Path) -> None:
    """LLVM's own link: a library stands for the device runtime that flang calls in regions for x86_64, too."""
    subprocess.run(["gcc", "-O2", "-fPIC", "-c", HALVES / "device_runtime.c"], check=True, cwd=tmp_path)
    subprocess.run(["ar", "rcs", "libdevice_runtime.a", "device_runtime.o"], check=True, cwd=tmp_path)
    words = [FLANG, "-O1", "-fopenmp", f"-fopenmp-targets={TARGET}", PROGRAMS / "scale.f90", "-o", "scale"]
    subprocess.run([*words, f"-L{LIBOMP}", "-L.", "-ldevice_runtime"], check=True, cwd=tmp_path)
    out, said = ran(tmp_path / "scale")
    assert out == ["1001000.0", "1000997.0"]
    assert said == "libgompy: regions: 2 on device 0 (intelmic), 0 on the host\n"


@needs_flang
@pytest.mark.skipif(not shutil.which("clang-19"), reason="not installed: clang-19")
def test_linked_by_ours(tmp_path: Path) -> None:
    """Our wrapper has that runtime; flang 19 takes no -B, so clang links."""
    target = ("-O1", "-fopenmp", f"-fopenmp-targets={TARGET}")
    subprocess.run([FLANG, *target, "-c", PROGRAMS / "scale.f90"], check=True, cwd=tmp_path)
    libraries = (f"-L{LIBOMP}", "-L/usr/lib/llvm-19/lib", "-lFortranRuntime", "-lFortranDecimal", "-lm")
    subprocess.run(["clang-19", *target, WRAPPER, "scale.o", *libraries, "-o", "scale"], check=True, cwd=tmp_path)
    assert ran(tmp_path / "scale")[0] == ["1001000.0", "1000997.0"]


@needs_newer
def test_parallel_and_teams(tmp_path: Path) -> None:
    """flang 22: `target parallel do`, `target teams distribute`, both together with a reduction."""
    words = [NEWER, "-O1", "-fopenmp", f"-fopenmp-targets={TARGET}", WRAPPER, f"-L{LIBOMP}"]
    subprocess.run([*words, PROGRAMS / "parallel.f90", "-o", "parallel"], check=True, cwd=tmp_path)
    out, said = ran(tmp_path / "parallel")
    assert out == ["1001000.0", "1002000.0", "1002000.0"]
    assert said == "libgompy: regions: 3 on device 0 (intelmic), 0 on the host\n"


LOOPS = """
#include <stdint.h>
#include <stdio.h>
extern void __kmpc_parallel_51 (void *, int32_t, int32_t, int32_t, int32_t, void *, void *, void **, int64_t);
extern int omp_get_num_threads (void);
static int seen[1000], threads;
struct loop { int64_t count, chunk; int kind; };
#define KIND(suffix, type) \\
  extern void __kmpc_for_static_loop_##suffix (void *, void (*) (type, void *), void *, type, type, type); \\
  extern void __kmpc_distribute_static_loop_##suffix (void *, void (*) (type, void *), void *, type, type); \\
  extern void __kmpc_distribute_for_static_loop_##suffix (void *, void (*) (type, void *), void *, type, type, type, \\
                                                          type); \\
  static void body_##suffix (type i, void *p) { (void) p; __atomic_add_fetch (&seen[i], 1, __ATOMIC_RELAXED); }
KIND (4u, uint32_t)
KIND (8, int64_t)
static void part (int32_t *thread, int32_t *bound, struct loop *l)
{
  threads = omp_get_num_threads ();
  if (l->kind == 0)
    __kmpc_for_static_loop_4u (0, body_4u, l, l->count, 0, l->chunk);
  else if (l->kind == 1)
    __kmpc_distribute_for_static_loop_8 (0, body_8, l, l->count, 0, 0, l->chunk);
  else if (*thread == 0)
    __kmpc_distribute_static_loop_8 (0, body_8, l, l->count, l->chunk);
}
int main (void)
{
  for (int kind = 0; kind < 3; kind++)
    for (int count = 0; count < 40; count += 3)
      for (int chunk = 0; chunk < 9; chunk++)
        for (int asked = -1; asked < 5; asked++)
          {
            struct loop l = {count, chunk, kind};
            void *arguments[1] = {&l};
            for (int i = 0; i < 1000; i++) seen[i] = 0;
            __kmpc_parallel_51 (0, 0, asked != 0, asked, -1, part, 0, arguments, 1);
            if (asked > 0 && threads != asked) return 1;
            if (asked == 0 && threads != 1) return 2;
            for (int i = 0; i < 1000; i++)
              if (seen[i] != (i < count)) { printf ("%d %d %d %d: %d\\n", kind, count, chunk, asked, i); return 3; }
          }
  puts ("each once");
}
"""


@pytest.mark.skipif(LIBOMP is None, reason="not installed: libomp-19-dev")
def test_loops_of_the_runtime(tmp_path: Path) -> None:
    """Each iteration is done once, whatever the chunks and threads."""
    (tmp_path / "loops.c").write_text(f'#include "{RUNTIME}"\n' + LOOPS)
    subprocess.run(["gcc", "-w", "-O1", "loops.c", "-o", "loops", f"-L{LIBOMP}", "-lomp"], check=True, cwd=tmp_path)
    done = run(tmp_path / "loops", LD_LIBRARY_PATH=str(LIBOMP), OMP_DYNAMIC="false")
    assert (done.rc, done.out) == (0, "each once\n")
