"""The plugin for -foffload-check, built by make or at its first use: loops are asked about at once, told as without.

Each program is made without the plugin, too: both must say the same.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from column_races import COLUMN_RACES, COLUMNS_APART, COLUMNS_IN_TURN
from row_loops import ROWS_RIGHT, ROWS_WRONG
from span_loops import SPANS_RIGHT, SPANS_WRONG

from gompy.abi.gcc import SUPPORTED
from gompy.accel import host, loops, packages
from gompy.accel.errors import AccelError
from gompy.driver import check_plugin
from gompy.driver import compiler as compilers
from gompy.objects.elf import SHF_EXECINSTR, open_object
from gompy.tools import accelstore as store

ROOT = Path(__file__).resolve().parents[2]
BIN = ROOT / ".venv" / "bin"
ENTRY = "gompy_access_range"
LEVELS = ["-O0", "-O1", "-O2", "-O3"]
HEAD = """#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
enum { n = 5000 };
struct four { int a, b, c, d; };
struct two { long a, b; };
#pragma omp declare target
static int __attribute__ ((noinline, noclone)) get (const int *p) { return *p; }
static void __attribute__ ((noinline, noclone)) put (int *p, int v) { *p = v; }
static void __attribute__ ((noinline, noclone)) put_two (struct two *p, struct two v) { *p = v; }
static int __attribute__ ((noinline, noclone)) row (const int *p) { return p[0] + p[1] * p[2] - p[3]; }
static void __attribute__ ((noinline, noclone)) column (struct four *p, int v)
{
  p->a = v;
  p->b = p->a + v;
  p->c = p->b * 2;
  p->d = p->c - p->a;
}
static void __attribute__ ((noinline, noclone)) product (const int *m, const int *x, int *y)
{
  y[0] = m[0] * x[0] + m[1] * x[1], y[1] = m[2] * x[0] + m[3] * x[1]; /* one line: a span has one place of code */
}
#pragma omp end declare target
"""

RIGHT = (
    {
        "triangle": """
      double (*m)[100] = malloc (100 * sizeof *m);
      for (int i = 0; i < 100; i++) for (int k = 0; k < 100; k++) m[i][k] = i * k;
      #pragma omp target teams distribute parallel for map(tofrom: m[:100])
      for (int i = 0; i < 100; i++)
        for (int k = 0; k < i; k++)
          m[k][i] = m[i][k];
      printf ("%g\\n", m[3][50]);""",
        "empty": """
      int *p = calloc (n, sizeof *p), last = atoi ("0");
      #pragma omp target map(tofrom: p[:n])
      for (int i = 0; i < last; i++)
        p[i + 100000] = 1;
      printf ("%d\\n", p[4]);""",
        "written-then-read": """
      int *p = malloc (n * sizeof *p);
      #pragma omp target map(from: p[:n])
      {
        p[0] = 1;
        for (int i = 1; i < n; i++)
          p[i] = p[i - 1] + 1;
      }
      printf ("%d\\n", p[n - 1]);""",
        "early": """
      int *p = calloc (10, sizeof *p), at = -1;
      p[7] = 3;
      #pragma omp target map(to: p[:10]) map(tofrom: at)
      for (int i = 0; i < 100; i++)
        if (p[i] == 3)
          { at = i; break; }
      printf ("%d\\n", at);""",
        "backwards": """
      int *p = calloc (n, sizeof *p);
      #pragma omp target teams distribute parallel for map(tofrom: p[:n])
      for (int b = 0; b < n / 50; b++)
        for (int i = 50; i-- > 0;)
          p[b * 50 + i] = i;
      printf ("%d\\n", p[51]);""",
        "interleaved": """
      int *p = calloc (n, sizeof *p);
      #pragma omp target map(tofrom: p[:n])
      #pragma omp parallel num_threads(4)
      for (int round = 0; round < 3; round++)
        {
          #pragma omp for schedule(static, 1)
          for (int i = 0; i < n; i++)
            p[i] += 1;
          #pragma omp for schedule(static)
          for (int i = 0; i < n; i++)
            p[i] *= 2;
        }
      printf ("%d\\n", p[51]);""",
        "host": """
      int *p = calloc (n, sizeof *p), sum = 0;
      for (int r = 0; r < 3; r++)
        {
          #pragma omp target map(tofrom: p[:n])
          for (int i = 0; i < n; i++) p[i] += i;
          for (int i = 0; i < n; i++) sum += p[i];
          for (int i = 0; i < n; i += 2) p[i] = 1;
        }
      printf ("%d\\n", sum);""",
        "gather": """
      double *in = malloc (n * sizeof *in), *out = malloc (n * sizeof *out);
      int *at = malloc (n * sizeof *at);
      for (int i = 0; i < n; i++) { in[i] = i; at[i] = (i * 7919) % n; }
      for (int r = 0; r < 3; r++)
        {
          #pragma omp target teams distribute parallel for map(to: in[:n], at[:n]) map(from: out[:n])
          for (int b = 0; b < n / 50; b++)
            for (int i = b * 50; i < b * 50 + 50; i++)
              out[i] = in[at[i]];
          in[r] = -1;
        }
      printf ("%g %g\\n", out[4], out[4711]);""",
        "kinds-of-indices": """
      int *in = calloc (n, sizeof *in);
      unsigned char small[200];
      short other[200], *there = other + 199;
      long far[200], sum = 0;
      for (int i = 0; i < n; i++) in[i] = i;
      for (int i = 0; i < 200; i++) { small[i] = 255 - i; other[i] = 100 - i; far[i] = n - 1 - i; }
      #pragma omp target map(to: in[:n], small, other, far) map(tofrom: sum)
      {
        for (int i = 0; i < 200; i++) sum += in[small[i]];
        for (int i = 199; i >= 0; i--) sum += 2 * in[other[i] + 100];
        for (int i = 0; i < 200; i += 3) sum += 3 * in[far[i]];
        for (int i = 0; i < 100; i++) sum += 5 * in[n - 1 - 4 * (int) small[2 * i]];
      }
      printf ("%ld %d\\n", sum, *there);""",
        "scatter": """
      int *out = calloc (n, sizeof *out), *at = calloc (n, sizeof *at);
      for (int i = 0; i < n; i++) at[i] = (i * 7919) % n;
      #pragma omp target teams num_teams(2) map(tofrom: out[:n], at[:n])
      #pragma omp distribute
      for (int b = 0; b < 2; b++)
        for (int i = b * (n / 2); i < (b + 1) * (n / 2); i++)
          out[at[i]] += i;
      printf ("%d %d\\n", out[3], out[4001]);""",
        "scatter-of-eight-threads": """
      enum { each = 2048, m = 8 * each };
      long *p = calloc (m, sizeof *p), *at = calloc (m, sizeof *at);
      for (int i = 0; i < m; i++) at[i] = (i * 7919L) % m;
      #pragma omp target map(tofrom: p[:m]) map(to: at[:m])
      #pragma omp parallel num_threads(8)
      for (int i = 0, first = each * omp_get_thread_num (); i < each; i++)
        p[at[first + i]] = i;
      printf ("%d\\n", p[0] == 0);""",
        "indices-that-change": """
      int *p = calloc (n, sizeof *p), *q = calloc (n, sizeof *q), sum = 0;
      for (int i = 0; i < n; i++) { p[i] = 1 + i / 2; q[i] = i; }
      #pragma omp target map(tofrom: p[:n], q[:n], sum)
      {
        for (int i = 0; i < n - 1; i++) { sum += q[p[i]]; p[i + 1] = i / 3; }
        for (int i = 0; i < n; i++) p[p[i]] = i % 50;
        for (int i = 0; i < n; i++) { sum += p[q[i]]; q[n - 1 - i] = 5; }
      }
      printf ("%d %d %d\\n", sum, p[0], p[30]);""",
        "rows-beside-writes": """
      int *p = calloc (n, sizeof *p), *at = calloc (n, sizeof *at), sum = 0;
      for (int i = 0; i < n; i++) at[i] = (i * 7919) % (n / 2) * 2;
      #pragma omp target map(tofrom: p[:n], sum) map(to: at[:n])
      #pragma omp parallel num_threads(2) reduction(+: sum)
      if (omp_get_thread_num () == 0)
        { for (int r = 0; r < n - 8; r += 3)
            for (int i = r; i < r + 3 + r % 4; i++)
              sum += p[at[i]]; }
      else
        for (int i = 0; i < n / 2; i++)
          p[2 * i + 1] = i;
      printf ("%d\\n", sum);""",
        "gather-and-write": """
      int *p = calloc (n, sizeof *p), *q = calloc (n, sizeof *q), *at = calloc (n, sizeof *at);
      for (int i = 0; i < n; i++) at[i] = (i * 7919) % n;
      #pragma omp target map(tofrom: p[:n]) map(to: at[:n]) map(alloc: q[:n])
      #pragma omp parallel num_threads(4)
      for (int r = 0; r < 6; r++)
        {
          #pragma omp for schedule(static)
          for (int b = 0; b < 50; b++)
            for (int i = b * 100; i < b * 100 + 100; i++)
              q[i] = p[at[i]] + 1;
          #pragma omp for schedule(static, 1)
          for (int b = 0; b < 50; b++)
            for (int i = b * 100; i < b * 100 + 100; i++)
              p[i] += q[i];
        }
      #pragma omp target map(tofrom: p[:n]) map(to: at[:n])
      for (int i = 0; i < n; i++)
        p[i] += p[at[i]];
      printf ("%d %d\\n", p[1], p[4000]);""",
        "columns-side-by-side": """
      char *p = calloc (n, 1); int sum = 0;
      #pragma omp target map(tofrom: p[:n], sum)
      #pragma omp parallel num_threads(2) reduction(+: sum)
      {
        int t = omp_get_thread_num ();
        for (int i = 0; i < n / 2; i++) p[2 * i + t] = i;
        #pragma omp barrier
        for (int i = 0; i < n / 4; i++) sum += p[4 * i + 1 - t];
        #pragma omp barrier
        for (int i = 0; i < n / 3; i++) if (t) p[3 * i] = 1;
      }
      printf ("%d %d\\n", p[9], sum);""",
        "sometimes": """
      int *p = calloc (n, sizeof *p), *q = malloc (n * sizeof *q), sum = 0;
      for (int i = 0; i < n; i++) p[i] = i * 7919 % 64;
      #pragma omp target map(to: p[:n]) map(alloc: q[:n]) map(tofrom: sum)
      #pragma omp parallel num_threads(2) reduction(+: sum)
      {
        int t = omp_get_thread_num ();
        for (int i = 0; i < n; i++) if (p[i] % 2 == t) q[i] = i; else if (p[i] == 40) sum += p[i / 2];
        for (int i = n - 1; i >= 0; i--) if (p[i] % 2 == t) sum += q[i];
        #pragma omp barrier
        for (int i = 0; i < n; i++) if (p[i] % 2 != t) { sum += q[i]; if (p[i] > 60) q[i] = 2; }
      }
      printf ("%d\\n", sum);""",
        "left-early": """
      int *p = calloc (n, sizeof *p), *q = malloc (n * sizeof *q), at = 0, sum = 0;
      p[4000] = 1;
      #pragma omp target map(to: p[:4500]) map(alloc: q[:n]) map(tofrom: at, sum)
      {
        while (at < n && at < 4500) { if (p[at]) break; at++; }
        for (int i = 0; i < n; i++) { q[i] = 3; if (i == at) break; q[i]++; }
        for (int i = 0; i < 4500; i++) { if (i > at || p[i] > 1) break; sum += q[i]; }
      }
      #pragma omp target teams num_teams(2) map(tofrom: p[:n])
      #pragma omp distribute
      for (int b = 0; b < 2; b++)
        for (int i = 0; i < n; i++)
          { if (b == 0 && i == 2500) break; if (b == 1 && i > 2499) break; p[2500 * b + i]++; }
      printf ("%d %d %d %d\\n", at, sum, p[2499], p[2500]);""",
        "in-a-row": """
      struct four *p = malloc (n * sizeof *p);
      int *q = calloc (n, sizeof *q), sum = 0;
      #pragma omp target teams distribute parallel for map(from: p[:n]) map(to: q[:n]) reduction(+: sum)
      for (int i = 0; i < n - 3; i++) { column (p + i, i); sum += row (q + i) + row (&p[i].a); }
      printf ("%d %d %d\\n", sum, p[7].c, p[4711].d);""",
        "walks": """
      int *p = calloc (n, sizeof *p), *q = malloc (n * sizeof *q), sum = 0;
      #pragma omp target map(tofrom: p[:n], sum) map(alloc: q[:n])
      #pragma omp parallel num_threads(4) reduction(+: sum)
      for (int r = 0; r < 4; r++)
        {
          int t = omp_get_thread_num ();
          for (int i = t * (n / 4); i < (t + 1) * (n / 4); i++) put (q + i, get (p + i) + r);
          #pragma omp barrier
          for (int i = t; i < n; i += 4) sum += get (q + i) + row (p + i / 4 * 4);
          #pragma omp barrier
          for (int i = 0; i < n; i++) if (i % 4 == (r + t) % 4) put (p + i, i);
          #pragma omp barrier
        }
      printf ("%d %d\\n", sum, p[2000]);""",
        "walks-across-kilobytes": """
      struct four *p = calloc (n, sizeof *p);
      int *q = calloc (n + 1, sizeof *q), sum = 0;
      #pragma omp target data map(tofrom: q[:n + 1], p[:n])
      for (int r = 0; r < 3; r++)
        {
          #pragma omp target teams num_teams(3) map(tofrom: sum) reduction(+: sum)
          #pragma omp distribute
          for (int b = 0; b < 3; b++)
            {
              for (int i = b * 1601; i < b * 1601 + 1601; i++) column (p + i, i + r);
              for (int i = b * 1601; i < b * 1601 + 1601; i++) sum += row (&p[i].a) + get (q + i);
            }
        }
      printf ("%d %d\\n", sum, p[1601].c);""",
        "walks-in-turn": """
      int *p = calloc (n, sizeof *p), turn = 0;
      #pragma omp target map(tofrom: p[:n]) map(to: turn)
      #pragma omp parallel num_threads(3)
      for (int i = 0, me = omp_get_thread_num (), now; i < 30; i++)
        {
          do
            {
              #pragma omp atomic read acquire
              now = turn;
            }
          while (now % 3 != me);
          for (int k = 0; k < 100; k++) put (p + k, get (p + k + 1) + me);
          #pragma omp atomic write release
          turn = now + 1;
        }
      printf ("%d %d\\n", p[0], p[99]);""",
        "walks-of-teams-after-teams": """
      int *p = calloc (n, sizeof *p);
      for (int r = 0; r < 3; r++)
        {
          #pragma omp target teams distribute map(tofrom: p[:n])
          for (int b = 0; b < 50; b++)
            for (int i = b * 100; i < b * 100 + 100; i++) put (p + i, get (p + i) + r + i);
        }
      printf ("%d\\n", p[4711]);""",
        "columns-in-turn": COLUMNS_IN_TURN,
        **COLUMNS_APART,
    }
    | ROWS_RIGHT
    | SPANS_RIGHT
)
WRONG = (
    {
        "in-a-row-unset": """
      int *q = malloc (n * sizeof *q), sum = 0;
      #pragma omp target map(alloc: q[:n]) map(tofrom: sum)
      {
        q[0] = 1; q[1] = 2; q[3] = 4;
        sum += q[0] + q[1];
        sum += q[2] + q[3];
      }
      printf ("%d\\n", sum);""",
        "in-a-row-past": """
      struct four *p = calloc (n, sizeof *p);
      #pragma omp target map(tofrom: p[:n - 1])
      {
        p[n - 2].d = 1;
        p[n - 1].a = 2;
        p[n - 1].b = 3;
      }
      printf ("%d\\n", p[n - 1].b);""",
        "in-a-row-race": """
      struct four *p = calloc (n, sizeof *p);
      #pragma omp target map(tofrom: p[:n])
      #pragma omp parallel num_threads(2)
      {
        int t = omp_get_thread_num ();
        p[t].a = 1;
        p[t].b = 1;
        p[7].d = 1;
        p[t].c = 1;
      }
      printf ("%d\\n", p[1].b);""",
        "walks-race": """
      int *p = calloc (n, sizeof *p);
      #pragma omp target teams num_teams(2) map(tofrom: p[:n])
      #pragma omp distribute
      for (int b = 0; b < 2; b++)
        for (int i = 2400 * b; i < 2400 * b + 2500; i++) put (p + i, i);
      printf ("%d\\n", p[7]);""",
        "walks-race-across-kilobytes": """
      struct two *p = calloc (n, sizeof *p);
      long *q = calloc (n + 1, sizeof *q);
      #pragma omp target teams num_teams(2) map(tofrom: q[:n + 1], p[:n])
      #pragma omp distribute
      for (int b = 0; b < 2; b++)
        for (int i = 2400 * b; i < 2400 * b + 2401; i++) put_two (p + i, (struct two) { i, q[i] });
      printf ("%ld\\n", p[7].b);""",
        "walks-race-of-a-reader": """
      int *p = calloc (n, sizeof *p), sum = 0;
      #pragma omp target teams num_teams(2) map(tofrom: p[:n], sum)
      #pragma omp distribute
      for (int b = 0; b < 2; b++)
        for (int i = 0; i < 300; i++)
          if (b) put (p + 299 + i, i); else sum += get (p + i);
      printf ("%d\\n", p[7]);""",
        "walks-race-that-a-release-does-not-order": """
      int *p = calloc (n, sizeof *p), ready = 0, seen, begun = 0, sum = 0;
      #pragma omp target map(tofrom: p[:n], sum) map(to: ready, begun)
      #pragma omp parallel num_threads(2) private(seen)
      if (omp_get_thread_num () == 0)
        {
          for (int i = 0; i < 2000000; i++)
            {
              sum += get (p + (i < 151 ? i : 150));
              if (i == 200)
                {
                  #pragma omp atomic write
                  begun = 1;
                }
            }
        }
      else
        {
          do
            {
              #pragma omp atomic read
              seen = begun;
            }
          while (!seen);
          put (p + 150, 1);
          #pragma omp atomic write release
          ready = 1;
        }
      printf ("%d\\n", p[150]);""",
        "walks-race-with-an-atomic": """
      int *p = calloc (n, sizeof *p);
      #pragma omp target map(tofrom: p[:n])
      #pragma omp parallel num_threads(2)
      for (int r = 0; r < 40; r++)
        {
          #pragma omp barrier
          for (int k = 0; k < 10000; k++)
            if (omp_get_thread_num ())
              put (p + k % 100, r);
            else
              {
                #pragma omp atomic
                p[50] += 1;
              }
        }
      printf ("%d\\n", p[7]);""",
        "walks-unset": """
      int *q = malloc (n * sizeof *q), sum = 0;
      #pragma omp target map(alloc: q[:n]) map(tofrom: sum)
      { for (int i = 0; i < n; i++) if (i != 2500) put (q + i, i);
        for (int i = 0; i < n; i++)
          sum += get (q + i); }
      printf ("%d\\n", sum);""",
        "unset": """
      int *p = malloc (n * sizeof *p), sum = 0;
      #pragma omp target map(alloc: p[:n]) map(tofrom: sum)
      { for (int i = 0; i < n - 1; i++) p[i] = i;
        for (int i = 0; i < n; i++)
          sum += p[i]; }
      printf ("%d\\n", sum);""",
        "unset-next": """
      int *p = malloc (n * sizeof *p);
      #pragma omp target map(alloc: p[:n])
      { for (int i = 0; i < n - 1; i++)
          p[i] = p[i + 1]; }""",
        "past": """
      char *p = calloc (n, 1);
      #pragma omp target map(tofrom: p[:n - 3])
      for (int i = 0; i < n - 2; i++)
        p[i] = i;""",
        "race": """
      int *p = calloc (n + 1, sizeof *p);
      #pragma omp target teams num_teams(2) map(tofrom: p[:n])
      for (int i = 0; i < n; i++)
        p[i] = i;""",
        "race-edge": """
      double *p = calloc (n + 1, sizeof *p);
      #pragma omp target map(tofrom: p[:n + 1])
      #pragma omp parallel num_threads(2)
      #pragma omp for schedule(static)
      for (int i = 0; i < n; i++)
        p[i] = p[i + 1];""",
        "stale-host": """
      int *p = calloc (n, sizeof *p), sum = 0;
      #pragma omp target enter data map(to: p[:n])
      #pragma omp target
      for (int i = 0; i < n; i++) p[i] += i;
      for (int i = 0; i < n; i++)
        sum += p[i];
      printf ("%d\\n", sum);""",
        "gather-unset": """
      int *in = malloc (n * sizeof *in), at[100], sum = 0;
      for (int i = 0; i < 100; i++) at[i] = 50 * i;
      #pragma omp target map(alloc: in[:n]) map(to: at) map(tofrom: sum)
      { for (int i = 0; i < n; i++) if (i != 2500) in[i] = i;
        for (int i = 0; i < 100; i++)
          sum += in[at[i]]; }
      printf ("%d\\n", sum);""",
        "gather-past": """
      int *in = calloc (n, sizeof *in), at[100], sum = 0;
      for (int i = 0; i < 100; i++) at[i] = 40 * i;
      #pragma omp target map(to: in[:40 * 99]) map(to: at) map(tofrom: sum)
      for (int i = 0; i < 100; i++)
        sum += in[at[i]];
      printf ("%d\\n", sum);""",
        "gather-race": """
      int *p = calloc (n, sizeof *p), *q = calloc (n, sizeof *q), *at = calloc (n, sizeof *at);
      for (int i = 0; i < n; i++) at[i] = (i * 7919) % n;
      #pragma omp target map(tofrom: p[:n]) map(to: at[:n]) map(from: q[:n])
      #pragma omp parallel num_threads(2)
      {
        #pragma omp for schedule(static) nowait
        for (int b = 0; b < 2; b++)
          for (int i = b * (n / 2); i < (b + 1) * (n / 2); i++)
            q[i] = p[at[i]];
        #pragma omp for schedule(static)
        for (int b = 0; b < 2; b++)
          for (int i = b * (n / 2); i < (b + 1) * (n / 2); i++)
            p[i] = 1;
      }
      printf ("%d\\n", q[7]);""",
        "gather-race-teams": """
      int *p = calloc (n, sizeof *p), *at = calloc (n, sizeof *at), sum = 0;
      for (int i = 0; i < n; i++) at[i] = (i * 7919) % n;
      #pragma omp target teams num_teams(2) map(tofrom: p[:n], sum) map(to: at[:n])
      #pragma omp distribute
      for (int b = 0; b < 2; b++)
        if (b == 0)
          { for (int i = 0; i < n; i++)
              sum += p[at[i]]; }
        else
          p[4711] = 1;
      printf ("%d\\n", sum);""",
        "rows-race": """
      int *p = calloc (n, sizeof *p), *at = calloc (n, sizeof *at), sum = 0;
      for (int i = 0; i < n; i++) at[i] = (i * 7919) % n;
      #pragma omp target teams num_teams(2) map(tofrom: p[:n], sum) map(to: at[:n])
      #pragma omp distribute
      for (int b = 0; b < 2; b++)
        if (b == 0)
          { for (int r = 0; r < n - 8; r += 3)
              for (int i = r; i < r + 3 + r % 4; i++)
                sum += p[at[i]]; }
        else
          p[at[n / 2]] = 1;
      printf ("%d\\n", sum);""",
        "gather-race-written-first": """
      int *p = calloc (n, sizeof *p), *at = calloc (n, sizeof *at), sum = 0;
      for (int i = 0; i < n; i++) at[i] = (i * 7919) % n;
      #pragma omp target teams num_teams(2) map(tofrom: p[:n], sum) map(to: at[:n])
      #pragma omp distribute
      for (int b = 0; b < 2; b++)
        if (b == 0)
          p[4711] = 1;
        else
          for (int i = 0; i < n; i++)
            sum += p[at[i]];
      printf ("%d\\n", sum);""",
        "scatter-race": """
      int *p = calloc (n, sizeof *p), *at = calloc (n, sizeof *at);
      for (int i = 0; i < n; i++) at[i] = (i * 7919) % n;
      #pragma omp target teams num_teams(2) map(tofrom: p[:n]) map(to: at[:n])
      for (int i = 0; i < n; i++)
        p[at[i]] = 1;
      printf ("%d\\n", p[7]);""",
        "scatter-race-of-eight-threads": """
      enum { each = 2048, m = 8 * each };
      long *p = calloc (m, sizeof *p), *at = calloc (m, sizeof *at);
      for (int i = 0; i < m; i++) at[i] = (i * 7919L) % m;
      at[7 * each + 5] = at[5];
      #pragma omp target map(tofrom: p[:m]) map(to: at[:m])
      #pragma omp parallel num_threads(8)
      for (int i = 0, first = each * omp_get_thread_num (); i < each; i++)
        p[at[first + i]] = i;
      printf ("%d\\n", p[0] == 0);""",
        "gather-stale-host": """
      int *p = calloc (n, sizeof *p), at[100], sum = 0;
      for (int i = 0; i < 100; i++) at[i] = 50 * i;
      #pragma omp target enter data map(to: p[:n])
      #pragma omp target
      p[100] = 3;
      for (int i = 0; i < 100; i++)
        sum += p[at[i]];
      printf ("%d\\n", sum);""",
        "columns-race": """
      int *p = calloc (n, sizeof *p), sum = 0;
      #pragma omp target map(tofrom: p[:n], sum)
      #pragma omp parallel num_threads(2) reduction(+: sum)
      for (int i = 0, step = omp_get_thread_num () ? 5 : 2; i < n / 5; i++)
        p[step * i] = i;
      printf ("%d\\n", sum);""",
        "columns-race-of-teams-in-turn": """
      int *p = calloc (n, sizeof *p);
      #pragma omp target teams num_teams(8) thread_limit(1) map(tofrom: p[:n])
      for (int i = 0; i < n / 3; i++)
        p[3 * i] = i;
      printf ("%d\\n", p[3]);""",
        "gather-race-at-the-end": """
      int *p = calloc (n, sizeof *p), *at = calloc (n, sizeof *at), sum = 0;
      for (int i = 0; i < n; i++) at[i] = (i * 7919) % n;
      #pragma omp target map(tofrom: p[:n], sum) map(to: at[:n])
      #pragma omp parallel num_threads(2) reduction(+: sum)
      if (omp_get_thread_num () == 0) p[n - 1] = 1; else for (int i = 0; i < n; i++) sum += p[at[i]];
      printf ("%d\\n", sum);""",
        "sometimes-unset": """
      int *p = calloc (n, sizeof *p), *q = malloc (n * sizeof *q), sum = 0;
      for (int i = 0; i < n; i++) p[i] = i % 3;
      #pragma omp target map(to: p[:n]) map(alloc: q[:n]) map(tofrom: sum)
      {
        for (int i = 0; i < n; i++) if (p[i] != 1) q[i] = i;
        for (int i = 0; i < n - 1; i++) if (p[i] == 0) sum += q[i + 1];
      }
      printf ("%d\\n", sum);""",
        "sometimes-before-it-is-set": """
      int *p = calloc (n, sizeof *p), *q = malloc (n * sizeof *q), sum = 0;
      for (int i = 0; i < n; i++) p[i] = i % 3;
      #pragma omp target map(to: p[:n]) map(alloc: q[:n]) map(tofrom: sum)
      for (int i = 0; i < n - 1; i++)
        {
          if (p[i] == 1)
            sum += q[i + 1];
          q[i] = i;
        }
      printf ("%d\\n", sum);""",
        "sometimes-race": """
      int *p = calloc (n, sizeof *p), *q = calloc (n, sizeof *q);
      for (int i = 0; i < n; i++) p[i] = i % 3;
      #pragma omp target map(to: p[:n]) map(tofrom: q[:n])
      #pragma omp parallel num_threads(2)
      for (int i = 0, t = p[0]; i < n - 1; i++)
        if (p[i] == 0) q[i + t] = i;
      printf ("%d\\n", q[7]);""",
        "left-early-past": """
      int *p = calloc (n, sizeof *p), at = 0;
      #pragma omp target map(to: p[:4000]) map(tofrom: at)
      while (at < n) { if (p[at]) break; at++; }
      printf ("%d\\n", at);""",
        "left-early-race": """
      int *p = calloc (n, sizeof *p), sum = 0;
      #pragma omp target teams num_teams(2) map(tofrom: p[:n], sum)
      for (int i = 0; i < n; i++) { if (i == 4000) break; p[i] = 1; }
      printf ("%d\\n", sum);""",
    }
    | COLUMN_RACES
    | ROWS_WRONG
    | SPANS_WRONG
)


LOOP = "void f (int *p, int n) { for (int i = 0; i < n; i++) p[i] = i; }\n"
GIVEN = """int in[1000], out[1000], at[1000];
void f (void) {
#pragma omp target teams distribute parallel for
for (int i = 0; i < 1000; i++)
"""
FIELDS = {
    "gather": ("out[i] = in[at[i]];", "gompy_access_gather"),
    "condition": ("if (in[i] > 0) out[i] = 1;", "gompy_access_some"),
}
"""Statements of a loop whose arrays are reached through fields, and what asks about it."""


MARKS_THAT_CHANGE = """
      int *p = calloc (n, sizeof *p), *q = malloc (n * sizeof *q), sum = 0;
      for (int i = 0; i < n; i++) p[i] = i * 7919 % 64;
      for (int r = 0; r < 400; r++)
        {
          #pragma omp target map(to: p[:n]) map(alloc: q[:n]) map(tofrom: sum)
          #pragma omp parallel num_threads(2) reduction(+: sum)
          {
            int t = omp_get_thread_num ();
            for (int i = 0; i < n; i++) if (p[i] % 2 == t) q[i] = i; else if (p[i] == 40) sum += p[i / 2];
            for (int i = n - 1; i >= 0; i--) if (p[i] % 2 == t) sum += q[i];
            #pragma omp barrier
            for (int i = 0; i < n; i++) if (p[i] % 2 != t) { sum += q[i]; if (p[i] > 60) q[i] = 2; }
          }
        }
      printf ("%d\\n", sum);"""
"""Two threads write every other element: a look at all marks of a kilobyte comes while the other sets some."""


def with_headers() -> str:
    """A compiler with headers for plugins that gompcc would run if it was named, the newest; "" if there is none.

    Where another gcc than the system's own is the stock one of the tests, headers may be that one's only.
    """
    paths = filter(None, (compilers.which(f"gcc-{major}") for major in reversed(SUPPORTED)))
    fit = (path for path in paths if not compilers.facts(compilers.Compiler(path, [path])).problem)
    return next((path for path in fit if packages.plugin_headers(host.examine([path], path))), "")


@pytest.fixture(scope="module", autouse=True)
def compiler() -> Iterator[None]:
    """What all of this is tried with: the gcc of the other tests if its headers are there, else one that has them."""
    with pytest.MonkeyPatch.context() as patch:
        if not packages.plugin_headers(host.choose()) and with_headers():
            patch.setenv("GOMPY_CC", with_headers())
        yield


@pytest.fixture(scope="module")
def plugin(compiler: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """There is one: make has built it for the gcc that it found; for another one it is built here."""
    if not packages.plugin_headers(host.choose()):
        pytest.skip(f"no headers for plugins of {host.choose().title}, nor of another gcc")
    if not packages.cxx():
        pytest.skip("no C++ compiler")
    with pytest.MonkeyPatch.context() as patch:
        if not store.find(host.choose().identity, store.loops_folders(), store.LOOPS):
            assert store.installed([store.BUILT_IN], store.LOOPS), "make has built none"
            folder = tmp_path_factory.mktemp("plugin")
            loops.build(host.choose(), folder / "gompy" / "accel", lambda text: None)
            patch.setenv("XDG_DATA_DIRS", str(folder))
        yield


def environment(with_plugin: bool) -> dict[str, str]:
    """Of a compiler."""
    return {**os.environ, "LC_ALL": "C", "GOMPY_ACCEL": "gcc", store.WITHOUT_LOOPS: str(int(with_plugin))}


def made(folder: Path, with_plugin: bool, text: str, level: str) -> subprocess.CompletedProcess[str]:
    """A program under the check."""
    (folder / "a.c").write_text(f"{HEAD}int main (void) {{{text}\n}}\n")
    env = environment(with_plugin)
    words = [str(BIN / "gompcc"), "-g", level, "-fopenmp", "-foffload-check", "a.c"]
    subprocess.run(words, cwd=folder, env=env, check=True, timeout=300)
    command = [str(BIN / "gompy"), "run", "--check", "./a.out"]
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=300)


def told(done: subprocess.CompletedProcess[str]) -> list[str]:
    """Place and kind of each error."""
    return re.findall(r"(a\.c:\d+): error: .*\[([a-z-]+)\]", done.stderr)


@pytest.mark.slow
def test_marks_that_change_while_they_are_looked_at(tmp_path: Path, plugin: None) -> None:
    """Marks were compared with those behind them: some as they were, some as they are, and all seemed good."""
    done = made(tmp_path, True, MARKS_THAT_CHANGE, "-O3")
    assert (done.returncode, told(done)) == (0, []), done.stderr


def test_what_was_read_before_a_barrier_is_written_without_a_call_for_each(tmp_path: Path, plugin: None) -> None:
    """That reads had to be noted first was taken for a doubt, and so that another thread had come into a kilobyte.

    The two writes that are told one by one are those of the threads' sums.
    """
    source = ROOT / "tests" / "programs" / "check_told_singly.c"
    words = [str(BIN / "gompcc"), "-g", "-O2", "-fopenmp", "-foffload-check", f"-I{ROOT}", str(source)]
    env = {**environment(True), "GOMPY_PLUGINS": "intelmic"}
    subprocess.run(words, cwd=tmp_path, env=env, check=True, timeout=300)
    command = [str(BIN / "gompy"), "run", "--check", "./a.out"]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "33550336 33558528\n2 2\n"


@pytest.mark.slow(sample=1)
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", RIGHT)
def test_a_right_loop(tmp_path: Path, plugin: None, name: str, level: str) -> None:
    done = made(tmp_path, True, RIGHT[name], level)
    assert (done.returncode, told(done)) == (0, []), done.stderr
    assert done.stdout == made(tmp_path, False, RIGHT[name], level).stdout


@pytest.mark.slow(sample=40)
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_loop_is_told_as_without(tmp_path: Path, plugin: None, name: str, level: str) -> None:
    done, without = (made(tmp_path, where, WRONG[name], level) for where in (True, False))
    assert done.returncode == without.returncode == 86, done.stderr
    assert set(told(done)) == set(told(without)) and told(done), done.stderr


def calls(folder: Path, env: dict[str, str], text: str = LOOP, level: str = "-O2", *more: str) -> Counter[str]:
    """How often an object with a loop calls each function."""
    (folder / "a.c").write_text(text)
    words = [str(BIN / "gompcc"), level, "-fopenmp", "-foffload-check", *more, "-c", "a.c"]
    subprocess.run(words, cwd=folder, env=env, check=True)
    made = open_object(str(folder / "a.o"))
    names = [symbol.name for symbol in made.symbols()]
    code = (section for section in made.sections if section.flags & SHF_EXECINSTR)
    return Counter(names[entry[2]] for section in code for entry in made.relocations(section))


def test_loops_have_no_calls_but_before(tmp_path: Path, plugin: None) -> None:
    assert ENTRY in calls(tmp_path, environment(True))
    assert ENTRY not in calls(tmp_path, environment(False))


def test_rows_are_asked_about_with_the_loop_around_them(tmp_path: Path, plugin: None) -> None:
    """Not where a store may change the bounds, where some rows are left out, or where empty ones run once."""
    loop = "void f (int n, %s *first, int *at, float *v, float *x, float *y) { for (int r = 0; r < n; r++) { %s } }\n"
    row = "for (__auto_type i = first[r]; i < first[r + 1]; i++) s += v[i] * x[at[i]];"
    once = "__auto_type i = first[r]; do s += v[i] * x[at[i]]; while (++i < first[r + 1]);"
    asked = [
        calls(tmp_path, environment(True), loop % words)["gompy_access_rows"]
        for words in (
            ("int", f"float s = 0; {row} y[r] = s;"),
            ("long", f"float s = 0; {row} y[r] = s;"),
            ("int", f"int s = 0; {row} at[r] = s;"),
            ("int", f"float s = 0; if (r % 3) {{ {row} }} y[r] = s;"),
            ("int", f"float s = 0; {once} y[r] = s;"),
            ("long", f"float s = 0; {once} y[r] = s;"),
        )
    ]
    assert asked == [1, 1, 0, 0, 0, 0]


def test_spans_of_a_row_are_asked_about_together(tmp_path: Path, plugin: None) -> None:
    """Four at most; of more, each by itself."""
    row = "void row (int *a, int *b, int *c, int *d, int *e) {{ a[0] = a[1] = b[0] = b[1] = c[0] = c[1] = {}; }}"
    for last, together in (("*d", True), ("d[0] + d[1] * e[0] + e[1]", False)):
        called = calls(tmp_path, environment(True), row.format(last))
        assert bool(called["gompy_access_row_at"]) == together and called[ENTRY], called


def test_debug_information_changes_no_calls(tmp_path: Path, plugin: None) -> None:
    """A label that nothing jumps to any more is a debug statement, and a row that is copied loses it: gcc crashed."""
    text = """static inline void put (int *p, int i, int left)
    {
      p[0] = i; p[1] = i + 1; p[2] = i + 2;
    again:
      p[3] = i + 3; p[4] = i + 4; p[5] = i + 5; p[6] = i + 6; p[7] = i + 7; p[8] = i + 8;
      p[9] = p[10] = p[11] = p[12] = p[13] = p[14] = p[15] = 1;
      if (left)
        goto again;
    }
    void use (int *p) { put (p, 3, 0); }"""
    without, with_it = (calls(tmp_path, environment(True), text, "-O2", option) for option in ("-g0", "-g"))
    assert with_it == without and with_it["gompy_access_row_at"]


@pytest.mark.parametrize("level", LEVELS)
def test_functions_have_no_calls_at_their_begin_and_end(tmp_path: Path, plugin: None, level: str) -> None:
    """That at the end has no argument, and GCC's declaration of it has one."""
    entries = {"__tsan_func_entry", "__tsan_func_exit"}
    assert not entries & set(calls(tmp_path, environment(True), level=level))
    assert entries <= set(calls(tmp_path, environment(False), level=level))


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", FIELDS)
def test_what_a_region_was_given_stays_the_same_in_a_loop(tmp_path: Path, plugin: None, name: str, level: str) -> None:
    """Each use of a variable reads it anew without optimization, under a condition, and behind a call."""
    statement, entry = FIELDS[name]
    called = calls(tmp_path, environment(True), f"{GIVEN}{statement} }}\n", level)
    assert called[entry] and called["__tsan_write4"] == 3  # two of the structure, and one where the loop is as it was


def test_the_first_use_builds_it(tmp_path: Path, plugin: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "BUILT_IN", str(tmp_path / "none"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_DATA_DIRS", str(tmp_path / "other"))
    compiler = compilers.fit(compilers.C)[0]
    words, messages = check_plugin.find(compiler, False)
    built = str(tmp_path / "data" / "gompy" / "accel" / host.choose().name / store.LOOPS)
    assert words == [f"-fplugin={built}"]
    title = host.choose().title
    text = f"built, once, a plugin for {title} by which -foffload-check costs less: {built}"
    assert messages == [("note", text)]
    assert check_plugin.find(compiler, False) == (words, [])


def test_what_to_type_where_headers_are_missing(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(packages, "plugin_headers", lambda host: None)
    command = host.choose().command
    assert loops.main(command) == 0
    compiler = host.examine(list(command), command[0])
    lacking = packages.needed_for_plugin(compiler)
    said = f"{loops.SLOW} {compiler.title}; type: "
    assert capfd.readouterr().out.startswith(said) and lacking


@pytest.mark.parametrize("home", ["", "/proc/none"])
def test_without_a_home(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], plugin: None, home: str
) -> None:
    monkeypatch.setenv("HOME", home)
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    assert loops.main(host.choose().command) == 0
    assert loops.SLOW in capfd.readouterr().out


def test_a_build_that_failed_is_not_tried_again(tmp_path: Path, plugin: None, monkeypatch: pytest.MonkeyPatch) -> None:
    tried = []

    def fails(*words: object) -> None:
        tried.append(words)
        raise AccelError("it does not compile")

    monkeypatch.setattr(loops, "build", fails)
    texts = [loops.build_at_hand(host.choose(), tmp_path) for _ in range(2)]
    assert len(tried) == 1
    assert texts[0].endswith(": it does not compile") and texts[1].endswith("'gompy accel build --check' says why")


def test_a_changed_source_is_built_anew(tmp_path: Path, plugin: None, monkeypatch: pytest.MonkeyPatch) -> None:
    assert loops.build_at_hand(host.choose(), tmp_path) != ""
    shutil.copytree(loops.SOURCE.parent, tmp_path / "hooks")
    source = tmp_path / "hooks" / loops.SOURCE.name
    monkeypatch.setattr(loops, "SOURCE", source)
    monkeypatch.setattr(store, "HOOKS", str(source.parent))
    built = next(tmp_path.glob(f"*/{store.LOOPS}"))
    os.utime(source, (built.stat().st_mtime + 1,) * 2)
    before = built.stat().st_ino
    loops.build_at_hand(host.choose(), tmp_path)
    assert next(tmp_path.glob(f"*/{store.LOOPS}")).stat().st_ino != before
