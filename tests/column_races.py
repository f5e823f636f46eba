"""Programs for -foffload-check: a thread uses a column of a matrix, and another one an element of it.

Nothing orders them, but the second comes when the first has done its part: what the first one did is not to be put off
where the second does not see it.  Statements for `p`, of `n` integers, and `sum`, below the head of test_loops.py.
"""

from __future__ import annotations


def one_then_other(first: str, then: str) -> str:
    """Two threads, the second of which goes on when the first has done its part; nothing says so but a relaxed flag."""
    wait = """do
              {
                #pragma omp atomic read
                seen = %s;
              }
            while (!seen);"""
    tell = """
            #pragma omp atomic write
            %s = 1;"""
    return f"""
      int *p = calloc (n, sizeof *p), sum = 0, seen, begun = 0, done = 0, at[2000];
      for (int i = 0; i < 2000; i++) at[i] = i * 7 % 2000;
      #pragma omp target map(tofrom: p[:n], sum) map(to: begun, done, at)
      #pragma omp parallel num_threads(2) private(seen)
      if (omp_get_thread_num () == 0)
        {{
            {first}{tell % "begun"}
            {wait % "done"}
        }}
      else
        {{
            {wait % "begun"}
            {then}{tell % "done"}
        }}
      printf ("%d %d\\n", p[7], sum);"""


COLUMN = "for (int i = 0; i < n / 8; i++) p[8 * i + 3] = i;"
COLUMN_READ = "for (int i = 0; i < n / 8; i++) sum += p[8 * i + 3];"
COLUMN_SOMETIMES = "for (int i = 0; i < n / 8; i++) if (p[8 * i] == 0) p[8 * i + 3] = i;"
COLUMN_BY_CALLS = "for (int i = 0; i < n / 8; i++) put (p + 8 * i + 3, i);"
COLUMN_IN_PART = "for (int i = 0; i < n / 8; i++) if (i % 3 == 1) p[8 * i + 3] = i;"
SCATTER = "for (int i = 0; i < 2000; i++) p[2 * at[i] + 1] = i;"
COLUMNS = {
    "write": (COLUMN, "p[8 * 100 + 3] = 1;"),
    "read": (COLUMN_READ, "p[8 * 100 + 3] = 1;"),
    "condition": (COLUMN_SOMETIMES, "p[8 * 100 + 3] = 1;"),
    "calls": (COLUMN_BY_CALLS, "p[8 * 100 + 3] = 1;"),
    "column": (COLUMN, "for (int i = 0; i < n / 11; i++) p[11 * i + 3] = i;"),
    "gather": (COLUMN, "{ int at[4] = { 3, 11, 803, 19 }; for (int i = 0; i < 4; i++) sum += p[at[i]]; }"),
    "walk": (COLUMN, "for (int i = 700; i < 900; i++) sum += get (p + i);"),
    "span": (COLUMN, "for (int i = 0; i < n; i++) sum += p[i];"),
    "part": (COLUMN, "for (int i = 801; i < 805; i++) sum += p[i];"),
    "part-of-it": (COLUMN_IN_PART, "p[8 * 100 + 3] = 1;"),
    "part-again": (f"{COLUMN_IN_PART} {COLUMN_IN_PART.replace('% 3 == 1', '% 2')}", "p[8 * 101 + 3] = 1;"),
    "scatter": (SCATTER, "p[8 * 100 + 3] = 1;"),
    "scatter-read": (SCATTER, "sum += p[8 * 100 + 3];"),
    "scatter-column": (SCATTER, COLUMN),
    "third": ("for (int i = 0; i < n; i++) if (i % 8 / 2 != 1) p[i] = i; " + COLUMN, "p[8 * 100 + 3] = 1;"),
}
"""What a thread does with a column of a matrix, and another one with an element of it."""
ATOMIC = "\n            #pragma omp atomic\n            p[8 * 100 + 3] += 1;"
COLUMN_RACES = {
    **{f"column-race-{name}-behind": one_then_other(*both) for name, both in COLUMNS.items()},
    **{f"column-race-{name}-before": one_then_other(*reversed(both)) for name, both in COLUMNS.items()},
    **{
        f"column-race-atomic-{name}": one_then_other(COLUMNS[name][0], ATOMIC)
        for name in ("write", "read", "condition", "calls", "third", "part-of-it", "scatter")
    },
}
COLUMNS_APART = {
    f"column-{name}-{which}": one_then_other(*both[:: 1 if which == "behind" else -1])
    for name, both in {
        "part-of-it": (COLUMN_IN_PART, "p[8 * 101 + 3] = 1;"),
        "part-read": (COLUMN_IN_PART, "sum += p[8 * 99 + 3];"),
        "parts": (COLUMN_IN_PART, COLUMN_IN_PART.replace("% 3 == 1", "% 3 == 2")),
        "scatter": (SCATTER.replace("i < 2000", "i < 1999"), "p[2 * at[1999] + 1] = 1;"),
        "scatters": (SCATTER, SCATTER.replace(" + 1]", "]")),
    }.items()
    for which in ("behind", "before")
}
"""Right: what the threads use is not the same, but lies between."""
COLUMNS_IN_TURN = """
      long *p = calloc (n, sizeof *p), sum = 0;
      #pragma omp target map(tofrom: p[:n], sum)
      #pragma omp parallel num_threads(4) reduction(+: sum)
      for (int r = 0; r < 5; r++)
        {
          int t = (omp_get_thread_num () + r) % 4;
          for (int i = 0; i < n / 8; i++) p[8 * i + 2 * t] = i;
          for (int i = 0; i < n / 16; i++) sum += p[16 * i + 2 * t];
          for (int i = 0; i < n / 8; i++) if (i % 3) p[8 * i + 2 * t + 1] = i;
          #pragma omp barrier
          for (int i = 0; i < n / 8; i++) sum += p[8 * i + 6 - 2 * t];
          #pragma omp barrier
          #pragma omp atomic
          p[8 * 100 + 2 * r % 8] += 1;
          #pragma omp barrier
          if (t == r % 4) for (int i = 0; i < n / 11; i++) p[11 * i] = i;
          #pragma omp barrier
        }
      printf ("%ld %ld\\n", sum, p[802]);"""
"""Right: barriers stand between what one thread does with a column and what the next one does."""
