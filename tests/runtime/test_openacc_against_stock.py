"""Random OpenACC data operations under libgompy and under the stock libgomp, on the emulated GPU and the emulated MIC.

One program interprets a list of operations on parts of three arrays and of a structure, and prints after each what the
host sees and what is present. The stock libgomp with its own nvptx plugin is the judge. Another does random things in
queues, each array in a queue of its own, in several threads: there the host is the judge.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
from cuda_tools import has_driver, has_executor
from driver_tools import has_all, needs
from nvptx_tools import has_compiler, has_stock_plugin

from gompy.driver import paths

pytestmark = [
    has_all,
    needs("gcc"),
    has_compiler,
    has_driver,
    has_executor,
    pytest.mark.skipif(not has_stock_plugin(), reason="libgomp-plugin-nvptx1 is not installed"),
]
BIN = Path(sys.executable).parent

DATA = r"""
#include <openacc.h>
#include <stdio.h>
#include <stdlib.h>
static int b[3][64];
static struct { int k; int *p; int *q; } s;
static int at, number, (*todo)[4];
static void show (int id, int what)
{
  unsigned hash = 0;
  for (int i = 0; i < 192; i++)
    hash = hash * 31 + (unsigned) b[0][i];
  printf ("%d %d: %08x ", id, what, hash);
  for (int i = 0; i < 192; i += 8)
    putchar (acc_is_present (&b[0][i], 32) ? '1' : acc_is_present (&b[0][i], 4) ? '+' : '.');
  puts (acc_is_present (&s, sizeof s) ? " s" : "");
  fflush (stdout);
}
static void fill (int *p, int n, int v)
{
#pragma acc parallel loop present(p[0:n])
  for (int i = 0; i < n; i++)
    p[i] = v + i;
}
static void run (int depth, int end)
{
  while (at < number && at < end)
    {
      int id = at, what = todo[at][0], n = todo[at][3], *p = &b[todo[at][1]][todo[at][2]], sum = 0;
      size_t size = n * sizeof *p;
      at++;
      if (depth > 3 && what >= 20 && what <= 23)
        continue;
      switch (what)
        {
        case 0: acc_copyin (p, size); break;
        case 1: acc_create (p, size); fill (p, n, id); break;
        case 2: acc_copyout (p, size); break;
        case 3: acc_delete (p, size); break;
        case 4: acc_copyout_finalize (p, size); break;
        case 5: acc_delete_finalize (p, size); break;
        case 6: if (acc_is_present (p, size)) acc_update_self (p, size); break;
        case 7: if (acc_is_present (p, size)) acc_update_device (p, size); break;
        case 8: for (int i = 0; i < n; i++) p[i] = id * 100 + i; break;
        case 9: {
#pragma acc enter data copyin(p[0:n])
          break; }
        case 10: {
#pragma acc enter data create(p[0:n])
          fill (p, n, 7 * id); break; }
        case 11: {
#pragma acc exit data copyout(p[0:n])
          break; }
        case 12: {
#pragma acc exit data delete(p[0:n]) finalize
          break; }
        case 13: {
#pragma acc exit data copyout(p[0:n]) finalize
          break; }
        case 14:
#pragma acc parallel loop copy(p[0:n])
          for (int i = 0; i < n; i++) p[i] += id;
          break;
        case 15:
#pragma acc parallel loop copyin(p[0:n]) reduction(+:sum)
          for (int i = 0; i < n; i++) sum += p[i];
          printf ("%d\n", sum); break;
        case 16:
#pragma acc parallel loop copyout(p[0:n])
          for (int i = 0; i < n; i++) p[i] = id + i;
          break;
        case 17: {
#pragma acc update self(p[0:n]) if_present
          break; }
        case 18: {
#pragma acc update device(p[0:n]) if_present async(2)
#pragma acc wait(2)
          break; }
        case 19: {
#pragma acc enter data copyin(p[0:n]) async(1)
#pragma acc parallel loop present(p[0:n]) async(1)
          for (int i = 0; i < n; i++) p[i] ^= id;
#pragma acc exit data copyout(p[0:n]) async(1)
#pragma acc wait(1)
          break; }
        case 20:
#pragma acc data copy(p[0:n])
          run (depth + 1, at + 3);
          break;
        case 21:
#pragma acc data copyin(p[0:n])
          run (depth + 1, at + 3);
          break;
        case 22:
#pragma acc data create(p[0:n])
          { fill (p, n, 3 * id); run (depth + 1, at + 2); }
          break;
        case 23:
#pragma acc data no_create(p[0:n])
          run (depth + 1, at + 2);
          break;
        case 24: { void *d = acc_malloc (size);
          if (!acc_is_present (p, size)) {
            acc_map_data (p, d, size); fill (p, n, 5);
#pragma acc parallel loop copy(p[0:n])
            for (int i = 0; i < n; i++) p[i]++;
            acc_update_self (p, size); acc_unmap_data (p); }
          acc_free (d); break; }
        case 25: { s.k = n; s.p = p;
#pragma acc enter data copyin(s)
          break; }
        case 26: { s.p = p;
#pragma acc enter data copyin(s.p[0:n])
          break; }
        case 27: {
#pragma acc exit data copyout(s.p[0:n])
          break; }
        case 28: {
#pragma acc exit data delete(s)
          break; }
        case 29: acc_attach ((void **) &s.p); break;
        case 30: acc_detach ((void **) &s.p); break;
        case 31: acc_detach_finalize ((void **) &s.p); break;
        }
      show (id, what);
    }
}
int main (int argc, char **argv)
{
  number = (argc - 1) / 4;
  todo = malloc (argc * sizeof *todo);
  for (int i = 0; i < number * 4; i++)
    todo[i / 4][i % 4] = atoi (argv[i + 1]);
  for (int i = 0; i < 192; i++)
    b[0][i] = i;
  s.p = b[0];
#pragma acc parallel
  ;
  run (0, number);
  puts ("end");
}
"""
QUEUES = r"""
#include <openacc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
enum { ARRAYS = 8 };
struct job { unsigned seed; int first; unsigned long sum; };
static unsigned chance (unsigned *s) { return (*s = *s * 1103515245u + 12345u) >> 8; }
static void *work (void *argument)
{
  struct job *job = argument;
  unsigned seed = job->seed;
  int *array[ARRAYS], length[ARRAYS], there[ARRAYS];
  for (int a = 0; a < ARRAYS; a++)
    {
      length[a] = chance (&seed) % 3 ? 10 + chance (&seed) % 1000 : 20000 + chance (&seed) % 60000;
      array[a] = malloc (length[a] * sizeof (int));
      there[a] = 0;
      for (int i = 0; i < length[a]; i++)
        array[a][i] = i + a;
    }
  for (int step = 0; step < 80; step++)
    {
      int a = chance (&seed) % ARRAYS, other = chance (&seed) % ARRAYS, n = length[a], q = job->first + a % 3;
      int *x = array[a], *y = array[other], m = n < length[other] ? n : length[other], p = job->first + other % 3;
      size_t size = n * sizeof *x;
      switch (chance (&seed) % 9)
        {
        case 0: case 1: if (!there[a]) { acc_copyin_async (x, size, q); there[a] = 1; } break;
        case 2: if (there[a]) { acc_copyout_async (x, size, q); there[a] = 0; } break;
        case 3: if (!there[a]) break;
          acc_update_self_async (x, size, q); acc_delete_async (x, size, q); there[a] = 0; break;
        case 4: if (there[a]) {
#pragma acc parallel loop present(x[0:n]) async(q)
          for (int i = 0; i < n; i++) x[i] += step; }
          break;
        case 5: if (!there[a]) {
#pragma acc parallel loop copy(x[0:n]) async(q)
          for (int i = 0; i < 10; i++) x[i] ^= step; }
          break;
        case 6: {
#pragma acc wait(q) async(p)
          break; }
        case 7: acc_free (acc_malloc (1000 + chance (&seed) % 100000)); break;
        case 8: if (there[a] && there[other] && a != other) {
#pragma acc parallel loop present(x[0:n], y[0:m]) async(q) wait(p)
          for (int i = 0; i < m; i++) x[i] += y[i];
#pragma acc wait(q) async(p)
          }
          break;
        }
    }
  for (int a = 0; a < ARRAYS; a++)
    if (there[a])
      acc_copyout_async (array[a], length[a] * sizeof (int), job->first + a % 3);
  for (int q = 0; q < 3; q++)
    acc_wait (job->first + q);
  for (int a = 0; a < ARRAYS; a++)
    for (int i = 0; i < length[a]; i++)
      job->sum = job->sum * 31 + (unsigned) array[a][i];
  return NULL;
}
int main (int argc, char **argv)
{
  int threads = atoi (argv[2]);
  struct job jobs[3];
  pthread_t t[3];
  for (int i = 0; i < threads; i++)
    {
      jobs[i] = (struct job) { atoi (argv[1]) + 1000 * i, 10 * i, 0 };
      pthread_create (&t[i], NULL, work, &jobs[i]);
    }
  for (int i = 0; i < threads; i++)
    {
      pthread_join (t[i], NULL);
      printf ("%lx\n", jobs[i].sum);
    }
}
"""
PARTS = [(0, 32), (32, 32), (8, 16), (16, 8), (56, 8)]


def operations(seed: int) -> list[str]:
    """Words of a list: what, which array, first element, how many."""
    chance = random.Random(seed)
    kinds = range(32 if seed % 3 == 0 else 25)
    whole = seed % 2 == 0
    words: list[int] = []
    for _ in range(chance.randint(4, 20)):
        start, length = (0, 64) if whole or chance.random() < 0.3 else chance.choice(PARTS)
        words += [chance.choice(kinds), chance.randrange(3), start, length]
    return [str(word) for word in words]


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, dict[str, str]]]:
    """The program by way, and what its environment has."""
    folder = tmp_path_factory.mktemp("data")
    (folder / "data.c").write_text(DATA)
    stock = ["gcc", "-foffload=nvptx-none", "-foffload-options=nvptx-none=-Wa,--no-verify"]
    ways = {
        "stock": (stock, {"LD_LIBRARY_PATH": paths.CUDALIBDIR}),
        "gpu": ([BIN / "gompcc", "-foffload=nvptx-none"], {"GOMPY_CUDA": "emulated"}),
        "mic": ([BIN / "gompcc"], {}),
    }
    made: dict[str, tuple[Path, dict[str, str]]] = {}
    for name, (words, env) in ways.items():
        command = [*words, "-fopenacc", "-O1", "-w", "data.c", "-o", name]
        subprocess.run(command, cwd=folder, check=True, capture_output=True)
        made[name] = (folder / name, env)
    return made


def outcome(program: Path, env: dict[str, str], words: list[str]) -> tuple[int, str]:
    """Exit status and output."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("OFFLOAD_EMUL", "OMP_", "GOMP", "ACC_"))}
    done = subprocess.run([program, *words], env=clean | env, capture_output=True, text=True, timeout=60, check=False)
    return done.returncode, done.stdout


@pytest.mark.slow(sample=1)
@pytest.mark.timeout(600)  # ninety programs, of which each is given a minute
@pytest.mark.parametrize("block", range(4))
def test_data_operations(programs: dict[str, tuple[Path, dict[str, str]]], block: int) -> None:
    finished = 0
    for seed in range(30 * block, 30 * (block + 1)):
        words = operations(seed)
        status, said = outcome(*programs["stock"], words)
        for name in ("gpu", "mic"):
            ours = outcome(*programs[name], words)
            if status in (0, 1):
                assert ours == (status, said), (seed, name, words)
            else:  # the stock one has crashed: what it said until then
                assert ours[1].startswith(said), (seed, name, words)
        finished += status == 0
    assert finished > 5


@pytest.mark.slow
def test_queues(tmp_path: Path) -> None:
    """Copies, regions, waits and frees in any order, with checks (so each block goes back at once) and without."""
    (tmp_path / "queues.c").write_text(QUEUES)
    for name, options in (("mic", []), ("gpu", ["-foffload=nvptx-none"])):
        words = [BIN / "gompcc", "-fopenacc", "-O1", "-w", *options, "queues.c", "-o", name]
        subprocess.run(words, cwd=tmp_path, check=True)
    for seed in range(8):
        words = [str(seed), str(1 + seed % 3)]
        expected = outcome(tmp_path / "mic", {"ACC_DEVICE_TYPE": "host"}, words)
        assert expected[0] == 0 and expected[1]
        for check in "01":
            for name in ("mic", "gpu"):
                env = {"GOMPY_CUDA": "emulated", "GOMPY_CHECK": check}
                assert outcome(tmp_path / name, env, words) == expected, (seed, name, check)
