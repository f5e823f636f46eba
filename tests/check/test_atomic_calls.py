"""gompcc -foffload-check: all calls that GCC makes for -fsanitize=thread are there, on both sides, and do as told.

The table is that of gcc/sanitizer.def of GCC 12 to 16.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from gompy import NATIVE
from gompy.accel import host, packages
from gompy.access import HOOKS
from gompy.objects.elf import open_object

BIN = Path(__file__).resolve().parents[2] / ".venv" / "bin"
SIZES = (1, 2, 4, 8, 16)
FETCHES = ("add", "sub", "and", "or", "xor", "nand")
OPERATIONS = (
    *("load", "store", "exchange", "compare_exchange_strong", "compare_exchange_weak"),
    *(f"fetch_{name}" for name in FETCHES),
)
CALLS = {
    *(f"__tsan_{kind}{size}" for kind in ("read", "write", "volatile_read", "volatile_write") for size in SIZES),
    *(f"__tsan_atomic{8 * size}_{operation}" for size in SIZES for operation in OPERATIONS),
    *("__tsan_init", "__tsan_func_entry", "__tsan_func_exit", "__tsan_vptr_update"),
    *("__tsan_read_range", "__tsan_write_range", "__tsan_atomic_thread_fence", "__tsan_atomic_signal_fence"),
}


def made(folder: Path, text: str, *words: str) -> tuple[int, str, str]:
    """The program of a source under the check: its status, what it prints, what is told."""
    (folder / "a.c").write_text(text)
    env = {**os.environ, "GOMPY_ACCEL": "gcc", "LC_ALL": "C"}
    command = [str(BIN / "gompcc"), "-g", "-fopenmp", "-foffload-check", *words, "a.c"]
    subprocess.run(command, cwd=folder, env=env, check=True, timeout=300)
    run = [str(BIN / "gompy"), "run", "--check", "--mandatory", "./a.out"]
    done = subprocess.run(run, cwd=folder, env=env, capture_output=True, text=True, timeout=300)
    return done.returncode, done.stdout, done.stderr


def test_the_hooks_have_all_of_them() -> None:
    hooks = open_object(os.path.join(NATIVE, "bdir", HOOKS))
    lacking = CALLS - {symbol.name for symbol in hooks.symbols() if symbol.shndx}
    assert not lacking


def test_the_table_is_that_of_the_compiler() -> None:
    headers = packages.plugin_headers(host.choose())
    if headers is None:
        pytest.skip("no headers for plugins of this gcc")
    assert set(re.findall(r'"(__tsan_\w+)"', (headers / "sanitizer.def").read_text())) == CALLS


def test_both_sides_are_linked_with_all_of_them(tmp_path: Path) -> None:
    lines = "\n".join(f'  asm volatile ("leaq {name}(%%rip), %0" : "=r" (p)); n += p != 0;' for name in sorted(CALLS))
    text = f"""
#include <stdio.h>
#pragma omp declare target
static int all (void)
{{
  void *p; int n = 0;
{lines}
  return n;
}}
#pragma omp end declare target
int main (void)
{{
  int n = 0;
#pragma omp target map(from: n)
  n = all ();
  printf ("%d %d\\n", n, all ());
}}
"""
    assert made(tmp_path, text) == (0, f"{len(CALLS)} {len(CALLS)}\n", "")


OPERATE = """
#include <stdio.h>
#define A __ATOMIC_ACQ_REL
#define EACH(type, bits)                                                                        \\
  static int do##bits (type *p, type *failures)                                                 \\
  {                                                                                             \\
    const type high = (type) 3 << (bits - 3), start = high | 5;                                 \\
    type v = start, w, old;                                                                     \\
    int bad = 0;                                                                                \\
    __atomic_store_n (p, v, __ATOMIC_RELEASE);                                                  \\
    bad += __atomic_load_n (p, __ATOMIC_ACQUIRE) != v;                                          \\
    old = __atomic_exchange_n (p, (type) ~v, A);           bad += old != v;   v = ~v;           \\
    old = __atomic_fetch_add (p, (type) (high + 3), A);    bad += old != v;   v += high + 3;    \\
    old = __atomic_fetch_sub (p, (type) (high / 2), A);    bad += old != v;   v -= high / 2;    \\
    old = __atomic_fetch_or (p, high, A);                  bad += old != v;   v |= high;        \\
    old = __atomic_fetch_and (p, (type) ~(high / 3), A);   bad += old != v;   v &= ~(high / 3); \\
    old = __atomic_fetch_xor (p, (type) -7, A);            bad += old != v;   v ^= (type) -7;   \\
    old = __atomic_fetch_nand (p, (type) (high + 6), A);   bad += old != v;   v = ~(v & (type) (high + 6)); \\
    w = __atomic_add_fetch (p, 9, A);                      v += 9;            bad += w != v;    \\
    w = __sync_fetch_and_add (p, 9);                       bad += w != v;     v += 9;           \\
    w = v + 1;                                                                                  \\
    bad += __atomic_compare_exchange_n (p, &w, start, 0, A, __ATOMIC_RELAXED) != 0 || w != v;   \\
    bad += __atomic_compare_exchange_n (p, &w, start, 0, A, __ATOMIC_RELAXED) != 1 || *p != start; \\
    w = start;                                                                                  \\
    while (!__atomic_compare_exchange_n (p, &w, high, 1, A, __ATOMIC_RELAXED)) bad += w != start; \\
    bad += __sync_val_compare_and_swap (p, high, start) != high;                                \\
    *failures = bad;                                                                            \\
    return bad != 0 || *p != start;                                                             \\
  }
#pragma omp declare target
EACH (unsigned char, 8)
EACH (unsigned short, 16)
EACH (unsigned, 32)
EACH (unsigned long, 64)
EACH (unsigned __int128, 128)
#pragma omp end declare target
#define ALL(f) (f (unsigned char, 8) | f (unsigned short, 16) | f (unsigned, 32) | f (unsigned long, 64) \\
                | f (unsigned __int128, 128))
#define ONE(type, bits) ({ type x, bad; do##bits (&x, &bad) ? bits : 0; })
static const unsigned __int128 constant = (unsigned __int128) 7 << 80 | 3;
int main (void)
{
  unsigned __int128 sum = 1, high = (unsigned __int128) 1 << 64;
  int device = -1;
#pragma omp target map(from: device)
  device = ALL (ONE);
#pragma omp target teams num_teams(4) map(tofrom: sum)
#pragma omp parallel num_threads(4)
  for (int i = 0; i < 1000; i++)
    __atomic_fetch_add (&sum, high + 1, __ATOMIC_RELAXED);
  printf ("%d %d %lu %lu ", ALL (ONE), device, (long) (sum >> 64), (long) sum);
  printf ("%d\\n", __atomic_load_n (&constant, __ATOMIC_ACQUIRE) == constant);
}
"""


@pytest.mark.slow(sample=1)
@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_operations_of_all_sizes(tmp_path: Path, level: str) -> None:
    """Those of 16 bytes were not linked, or were of libatomic, which the program need not have."""
    assert made(tmp_path, OPERATE, level) == (0, "0 0 16000 16001 1\n", "")


RACE = """
#include <omp.h>
#include <stdio.h>
int main (void)
{
  unsigned __int128 shared = 0;
  int turn = 0; /* it is counted, and that orders nothing */
#pragma omp target parallel num_threads(2) map(tofrom: shared, turn)
  if (omp_get_thread_num () == 0)
    {
      shared = 5;
      __atomic_fetch_add (&turn, 1, __ATOMIC_RELAXED);
    }
  else
    {
      while (__atomic_fetch_add (&turn, 0, __ATOMIC_RELAXED) == 0)
        ;
      __atomic_fetch_add (&shared, 1, __ATOMIC_RELAXED);
    }
  printf ("%lu\\n", (long) shared);
}
"""


def test_a_plain_write_beside_an_atomic_one(tmp_path: Path) -> None:
    status, _, told = made(tmp_path, RACE)
    assert status == 86
    assert re.search(r"error: shared \(byte 0 of 16\) is written .* \[race\]", told), told
