"""Help for the plugins' tests: the programs that are run with different devices, built once a session and file."""

from __future__ import annotations

from pathlib import Path

from driver_tools import Tools

ROOT = Path(__file__).resolve().parent.parent
TRACER = ROOT / "examples" / "python_device" / "tracer.py"

SMALL = r"""
#include <stdio.h>
#pragma omp declare target
int v = 3;
#pragma omp end declare target
int main (void)
{
  int s = 0;
#pragma omp target map(tofrom: s)
  s = 1 + v;
  printf ("s %d\n", s);
  return 0;
}
"""
"""One region, one variable of the device."""

DEATHS = r"""
#include <pthread.h>
#include <stdlib.h>
static void *faults (void *p)
{
  for (int i = 0; i < 400; i++)
    {
#pragma omp target map(to: i)
      if (i == 300) *(volatile int *) 8 = 5;
    }
  return p;
}
static void *maps (void *p)
{
  for (;;)
    {
      int *a = malloc (4000);
#pragma omp target enter data map(to: a[:1000])
#pragma omp target exit data map(delete: a[:1000])
      free (a);
    }
  return p;
}
int main (int argc, char **argv)
{
  pthread_t t[4];
#pragma omp target
  ;
  for (int i = 0; i < 4; i++)
    pthread_create (&t[i], 0, atoi (argv[1]) || i == 0 ? faults : maps, 0);
  for (int i = 0; i < 4; i++)
    pthread_join (t[i], 0);
  return 0;
}
"""
"""A region that follows a bad pointer while other threads map ("0"), or regions of four threads that do so ("1")."""

MAPS = r"""
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define N 40000
struct list { int n; double *values; struct { short tag; int *index; } more; };
#pragma omp declare target
double factor = 2.0;
int counts[16];
static int twice (int x) { return 2 * x; }
#pragma omp end declare target
int linked[64];
#pragma omp declare target link(linked)
static int bad;
#define CHECK(c) do { if (!(c)) { printf ("line %d: %s\n", __LINE__, #c); bad = 1; } } while (0)

static void structures (void)
{
  struct list l = { N, malloc (N * sizeof (double)), { 7, calloc (N, sizeof (int)) } };
  for (int i = 0; i < N; i++) l.values[i] = i;
#pragma omp target map(tofrom: l) map(tofrom: l.values[:N], l.more.index[:N])
  { for (int i = 0; i < l.n; i++) { l.values[i] *= factor; l.more.index[i] = twice (i); } l.n++; l.more.tag = 8; }
  CHECK (l.n == N + 1 && l.more.tag == 8);
  for (int i = 0; i < N; i++) CHECK (l.values[i] == 2.0 * i && l.more.index[i] == 2 * i);
  free (l.values); free (l.more.index);
}

static void data_regions (void)
{
  int *a = malloc (N * sizeof (int)), first = 5;
  for (int i = 0; i < N; i++) a[i] = i;
#pragma omp target enter data map(to: a[0:N])
  memset (a, 0, N * sizeof (int));
#pragma omp target firstprivate(first)
  { for (int i = 0; i < N; i++) a[i] += first; first = 99; }
  CHECK (a[1] == 0 && first == 5);
#pragma omp target update from(a[10:20])
  CHECK (a[9] == 0 && a[10] == 15 && a[29] == 34 && a[30] == 0);
  a[11] = 1000;
#pragma omp target update to(a[11:1])
#pragma omp target data map(alloc: a[0:N]) use_device_ptr(a)
  {
    int *d = a;
#pragma omp target is_device_ptr(d)
    for (int i = 0; i < N; i++) d[i]++;
  }
#pragma omp target exit data map(from: a[0:N])
  CHECK (a[10] == 16 && a[11] == 1001 && a[N - 1] == N - 1 + 6);
  free (a);
}

static void globals (void)
{
  for (int i = 0; i < 64; i++) linked[i] = i;
  int sum = 0;
#pragma omp target map(tofrom: linked, sum)
  for (int i = 0; i < 64; i++) { sum += linked[i]; linked[i] = -i; counts[i % 16]++; }
  CHECK (sum == 64 * 63 / 2 && linked[63] == -63 && counts[3] == 0);
#pragma omp target update from(counts)
  for (int i = 0; i < 16; i++) CHECK (counts[i] == 4);
  factor = 3.0;
#pragma omp target update to(factor)
  double got = 0;
#pragma omp target map(from: got)
  got = factor;
  CHECK (got == 3.0);
}

static void routines (void)
{
  int host[8] = { 1, 2, 3, 4, 5, 6, 7, 8 }, back[8] = { 0 }, dev = omp_get_default_device ();
  int init = omp_get_initial_device ();
  char *p = omp_target_alloc (sizeof host, dev), *q = omp_target_alloc (sizeof host, dev);
  CHECK (p != NULL && q != NULL);
  CHECK (omp_target_memcpy (p, host, sizeof host, 0, 0, dev, init) == 0);
  CHECK (omp_target_memcpy (q, p, sizeof host, 0, 0, dev, dev) == 0);
  CHECK (omp_target_memcpy (back, q, sizeof host, 0, 0, init, dev) == 0);
  CHECK (memcmp (host, back, sizeof host) == 0);
  omp_target_free (p, dev); omp_target_free (q, dev);
}

static void parallelism (void)
{
  double *x = malloc (N * sizeof (double)), sum = 0;
  int on_host = 1;
#pragma omp target teams distribute parallel for map(from: x[:N]) num_teams(4) thread_limit(2)
  for (int i = 0; i < N; i++) x[i] = i;
#pragma omp target teams distribute parallel for map(to: x[:N]) reduction(+: sum) map(tofrom: sum)
  for (int i = 0; i < N; i++) sum += x[i];
#pragma omp target map(from: on_host)
  on_host = omp_is_initial_device ();
  CHECK (sum == (double) N * (N - 1) / 2 && on_host == 0);
  free (x);
}

static void host_threads (void)
{
  int got[8] = { 0 };
#pragma omp parallel for num_threads(4) schedule(static, 1)
  for (int i = 0; i < 8; i++)
    {
      int v = i;
#pragma omp target map(tofrom: v)
      v = twice (v) + 1;
      got[i] = v;
    }
  for (int i = 0; i < 8; i++) CHECK (got[i] == 2 * i + 1);
}

int main (void)
{
  structures (); data_regions (); globals (); routines (); parallelism (); host_threads ();
  int n = 0;
#pragma omp parallel num_threads(2)
#pragma omp single
  {
#pragma omp target map(tofrom: n) nowait depend(out: n)
    n += 1;
#pragma omp target map(tofrom: n) nowait depend(inout: n)
    n *= 10;
#pragma omp taskwait
  }
  CHECK (n == 10);
  puts (bad ? "WRONG" : "all right");
  return bad;
}
"""
"""Maps of many kinds; prints what is wrong, else that all is right."""


def build(tools: Tools, name: str, text: str, *options: str) -> Path:
    """Compile and link a C program (C++ and Fortran by suffix)."""
    compilers = {".c": "gompcc", ".cc": "gompc++", ".f90": "gompfortran"}
    source = tools.write(name, text)
    program = tools.work / source.stem
    tools.ok(compilers[source.suffix], "-O2", "-fopenmp", source, "-o", program, *options)
    return program
