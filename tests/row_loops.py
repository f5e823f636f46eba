"""Loops over the rows of a sparse matrix: statements of a program that `n`, 5000, is known in."""

from __future__ import annotations

ROWS = """
      int *first = malloc (201 * sizeof *first), *at = malloc (n * sizeof *at);
      double *v = malloc (n * sizeof *v), *x = malloc (n * sizeof *x), *y = calloc (200, sizeof *y);
      for (int r = 0; r <= 200; r++) first[r] = 5 + r / 3 * 3 * 20;
      for (int i = 0; i < n; i++) { at[i] = i * 7919 % n; v[i] = i % 10; x[i] = i; }
"""
"""A sparse matrix of 200 rows, two of three of which are empty; its numbers begin with 5."""
PRODUCT = """
        for (int r = 0; r < 200; r++)
          {
            double s = 0;
            for (int i = first[r]; i < first[r + 1]; i++)
              s += v[i] * x[at[i]];
            y[r] = s;
          }
      printf ("%g %g\\n", y[3], y[198]);"""
ROWS_RIGHT = {
    "rows": f"""{ROWS}
      for (int k = 0; k < 3; k++)
        #pragma omp target teams distribute parallel for map(to: first[:201], at[:n], v[:n], x[:n]) map(tofrom: y[:200])
        {PRODUCT}""",
    "rows-begin-and-end-unset": f"""{ROWS}
      #pragma omp target data map(to: first[:201], x[:n]) map(tofrom: y[:200]) map(alloc: at[:n], v[:n])
      {{
        #pragma omp target update to(at[5:3960], v[5:3960])
        #pragma omp target teams distribute parallel for
        {PRODUCT}
      }}""",
    "rows-in-no-order": f"""{ROWS}
      for (int r = 0; r < 200; r += 2) {{ int f = first[r]; first[r] = first[r + 1]; first[r + 1] = f; }}
      #pragma omp target teams distribute parallel for map(to: first[:201], at[:n], v[:n], x[:n]) map(tofrom: y[:200])
      {PRODUCT}""",
    "rows-none": f"""{ROWS}
      int last = atoi ("0");
      #pragma omp target map(to: first[:1], v[:n]) map(tofrom: y[:200])
      for (int r = 0; r < last; r++)
        for (int i = first[r + 100000]; i < first[r + 100001]; i++)
          y[r] += v[i];
      printf ("%g\\n", y[3]);""",
    "rows-negative": f"""{ROWS}
      for (int r = 0; r <= 200; r++) first[r] -= 2000;
      double *m = v + 2000;
      #pragma omp target teams distribute parallel for map(to: first[:201], v[:n]) map(tofrom: y[:200])
      for (int r = 0; r < 200; r++)
        {{
          double s = 0;
          for (int i = first[r]; i < first[r + 1]; i++) s += v[2000 + i];
          y[r] = s + (m != v);
        }}
      printf ("%g\\n", y[3]);""",
    "rows-written": f"""{ROWS}
      #pragma omp target teams distribute parallel for map(to: first[:201], at[:n]) map(tofrom: v[:n], x[:n])
      for (int r = 0; r < 200; r++)
        for (int i = first[r]; i < first[r + 1]; i++)
          {{ v[i] = r; x[at[i]] = i; }}
      printf ("%g %g\\n", v[77], x[77]);""",
    "rows-some": f"""{ROWS}
      #pragma omp target teams distribute parallel for map(to: first[:201], at[:n], v[:n], x[:n]) map(tofrom: y[:200])
      for (int r = 0; r < 200; r++)
        {{
          double s = 0;
          if (r % 5)
            for (int i = first[r]; i < first[r + 1]; i++) s += v[i];
          y[r] = s;
        }}
      printf ("%g\\n", y[3]);""",
}
ROWS_WRONG = {
    "rows-unset": f"""{ROWS}
      #pragma omp target data map(to: first[:201], x[:n], at[:n]) map(tofrom: y[:200]) map(alloc: v[:n])
      {{
        #pragma omp target update to(v[5:3800])
        #pragma omp target teams distribute parallel for
        {PRODUCT}
      }}""",
    "rows-past-end": f"""{ROWS}
      #pragma omp target teams distribute parallel for map(to: first[:201], at[:n], v[:3900], x[:n]) map(from: y[:200])
      {PRODUCT}""",
    "rows-gather-past-end": f"""{ROWS}
      at[2000] = n;
      #pragma omp target teams distribute parallel for map(to: first[:201], at[:n], v[:n], x[:n]) map(tofrom: y[:200])
      {PRODUCT}""",
    "rows-run-at-least-once": f"""{ROWS}
      #pragma omp target teams distribute parallel for map(to: first[:201], v[:3965]) map(tofrom: y[:200])
      for (int r = 0; r < 200; r++)
        {{
          double s = 0;
          int i = first[r];
          do s += v[i]; while (++i < first[r + 1]);
          y[r] = s;
        }}
      printf ("%g\\n", y[3]);""",
    "rows-race": f"""{ROWS}
      #pragma omp target teams num_teams(2) map(to: first[:201], at[:n]) map(tofrom: v[:n], x[:n])
      for (int r = 0; r < 200; r++)
        for (int i = first[r]; i < first[r + 1]; i++)
          v[i] = r;
      printf ("%g\\n", v[77]);""",
    "rows-race-of-bounds": f"""{ROWS}
      #pragma omp target teams num_teams(2) map(to: at[:n], v[:n], x[:n]) map(tofrom: first[:201], y[:200])
      if (omp_get_team_num () == 0)
        first[100] = 1985;
      else
        {PRODUCT}""",
}
