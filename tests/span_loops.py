"""Loops that call a function with several spans of bytes, which are asked about together: `product` of test_loops.py.

A product is of 16 bytes at its first argument and 8 at its second, and writes 8 at its third.
"""

from __future__ import annotations

SPANS = "int *m = calloc (4 * n, sizeof *m), *x = calloc (2 * n + 4, sizeof *x), *y = calloc (2 * n + 4, sizeof *y);"
SPANS_RIGHT = {
    "spans-together": f"""
      {SPANS}
      for (int i = 0; i < 2 * n; i++) {{ m[2 * i] = i % 10; x[i] = i % 7; }}
      #pragma omp target data map(tofrom: y[:2 * n + 4]) map(to: m[:4 * n], x[:2 * n + 4])
      for (int r = 0; r < 3; r++)
        #pragma omp target teams distribute parallel for num_teams(3)
        for (int i = 0; i < n; i++) product (m + 4 * i, x + 2 * i + r, y + 2 * i + r);
      printf ("%d %d\\n", y[7], y[2 * n - 1]);""",
    "spans-of-several-kinds": f"""
      {SPANS}
      int sum = 0;
      m[0] = m[3] = 2;
      for (int i = 0; i < 2 * n; i++) x[i] = i % 7;
      #pragma omp target teams num_teams(2) map(tofrom: y[:2 * n]) map(to: m[:4], x[:2 * n + 4]) reduction(+: sum)
      #pragma omp distribute
      for (int b = 0; b < 2; b++)
        {{
          int *half = y + n * b, own[2] = {{ 1, 2 }};
          for (int i = 0; i < n / 2; i++) product (m, x + 2 * i, half + 2 * i);      /* one matrix */
          for (int i = n / 2 - 1; i >= 0; i--) product (m, x + 2 * i, half + 2 * i); /* backwards */
          for (int i = 0; i < 900; i++) product (m, half + 2 * i, half + 2 * (i * 7 % 900));
          for (int i = 0; i < 900; i++) {{ product (m, x + i, own); sum += own[0] + own[1]; }} /* not mapped */
        }}
      printf ("%d %d %d\\n", y[7], y[2 * n - 1], sum);""",
    "spans-in-turn": f"""
      {SPANS}
      #pragma omp target map(tofrom: y[:2 * n]) map(to: m[:4 * n], x[:2 * n])
      #pragma omp parallel num_threads(3)
      for (int r = 0, me = omp_get_thread_num (); r < 6; r++)
        {{
          for (int i = 0; i < n; i++) if (i / 64 % 3 == (me + r) % 3) product (m + 4 * i, x + 2 * i, y + 2 * i);
          #pragma omp barrier
        }}
      printf ("%d\\n", y[7]);""",
}
SPANS_WRONG = {
    "spans-race": f"""
      {SPANS}
      #pragma omp target teams num_teams(2) map(tofrom: y[:2 * n]) map(to: m[:4 * n], x[:2 * n])
      #pragma omp distribute
      for (int b = 0; b < 2; b++)
        for (int i = 2400 * b; i < 2400 * b + 2401; i++) product (m + 4 * i, x + 2 * i, y + 2 * i);
      printf ("%d\\n", y[7]);""",
    "spans-race-across-kilobytes": f"""
      {SPANS}
      #pragma omp target teams num_teams(2) map(tofrom: y[:2 * n]) map(to: m[:4 * n], x[:2 * n])
      #pragma omp distribute
      for (int b = 0; b < 2; b++)
        for (int i = 2304 * b; i < 2304 * b + 2305; i++) product (m + 4 * i, x + 2 * i, y + 2 * i + 1);
      printf ("%d\\n", y[7]);""",
    "spans-race-of-a-reader": f"""
      {SPANS}
      #pragma omp target teams num_teams(2) map(tofrom: x[:2 * n]) map(to: m[:4 * n])
      #pragma omp distribute
      for (int b = 0; b < 2; b++)
        for (int i = 2400 * b; i < 2400 * b + 2400; i++) product (m + 4 * i, x + 2 * i, x + 2 * i + 2);
      printf ("%d\\n", x[7]);""",
    "spans-race-with-a-loop": f"""
      {SPANS}
      #pragma omp target teams num_teams(2) map(tofrom: m[:4 * n], y[:2 * n]) map(to: x[:2 * n])
      #pragma omp distribute
      for (int b = 0; b < 2; b++)
        if (b == 0)
          for (int i = 0; i < 2400; i++) product (m + 4 * i, x + 2 * i, y + 2 * i);
        else
          for (int i = 9599; i < 4 * n; i++) m[i] = i;
      printf ("%d\\n", y[7]);""",
    "spans-unset": f"""
      {SPANS}
      #pragma omp target data map(from: y[:2 * n]) map(to: m[:4 * n]) map(alloc: x[:2 * n])
      {{
        #pragma omp target update to(x[:4001])
        #pragma omp target
        for (int i = 0; i < n / 2; i++) product (m + 4 * i, x + 2 * i, y + 2 * i);
      }}
      printf ("%d\\n", n);""",
    "spans-past": f"""
      {SPANS}
      #pragma omp target map(from: y[:2 * n]) map(to: m[:4 * n], x[:2 * n - 1])
      for (int i = 0; i < n; i++) product (m + 4 * i, x + 2 * i, y + 2 * i);
      printf ("%d\\n", y[7]);""",
}
