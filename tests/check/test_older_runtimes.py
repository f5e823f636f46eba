"""gompcc -foffload-check: code that is newer than the runtime it runs by."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from gompy.access import HOOKS, wrap_words
from gompy.driver.paths import BDIR

ROOT = Path(__file__).resolve().parents[2]
ACCESS = Path(BDIR) / HOOKS

RUNTIME = """
#include <stdio.h>
#include <stdlib.h>
#include "gompy/native/access.h"
#define TEXT_(x) #x
#define TEXT(x) TEXT_ (x)
static void beyond (void) { puts ("beyond"); exit (1); }
static void hold (int change) { printf ("hold %d\\n", change); }
static void take (const void *lock) { printf ("take %d\\n", lock == (void *) 1); }
static void give (const void *lock) { printf ("give %d\\n", lock == (void *) 1); }
static void on_pause (void) { puts ("pause"); }
static void on_release (void) { puts ("release"); }
static int row (uint64_t kinds, uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d, const void *pc)
{
  (void) a, (void) b, (void) c, (void) d, (void) pc;
  return printf ("row %d\\n", (int) kinds) > 0;
}
static int row_at (uint64_t kinds, const uintptr_t *at, const unsigned char *site, const void *pc)
{
  (void) at, (void) pc;
  return printf ("row %d at %d\\n", (int) kinds, *site) > 0;
}
static void one (uintptr_t address, int kind, const unsigned char *site, const void *pc)
{
  (void) address, (void) pc;
  printf ("one %d at %d\\n", kind, *site);
}
static void on_read (uintptr_t address, size_t size, const void *pc)
{
  (void) address, (void) pc;
  printf ("read %d\\n", (int) size);
}
static void on_write (uintptr_t address, size_t size, const void *pc)
{
  (void) address, (void) pc;
  printf ("write %d\\n", (int) size);
}
static int gather (uintptr_t p, intptr_t scale, const struct gompy_indices *indices, int kind, const void *pc)
{
  (void) p, (void) scale, (void) indices, (void) kind, (void) pc;
  return puts ("gather") > 0;
}
#define IS_THERE(member) (offsetof (struct gompy_access, member) < BYTES)
#define OR_BEYOND(member, function) (IS_THERE (member) ? (void *) function : (void *) beyond)
/* The structure ends early, and something else is behind it.  */
__asm__ (".data\\n.balign 8\\n.globl gompy_access\\n.type gompy_access, @object\\n"
         ".size gompy_access, " TEXT (BYTES) "\\ngompy_access: .zero 256\\n.text");
extern struct gompy_access gompy_access;
__attribute__ ((constructor)) static void begin (void)
{
  gompy_access.high = -1;
  gompy_access.read = on_read;
  gompy_access.write = on_write;
  gompy_access.hold = hold;
  gompy_access.release = on_release;
  gompy_access.gather = OR_BEYOND (gather, gather);
  gompy_access.take = OR_BEYOND (take, take);
  gompy_access.give = OR_BEYOND (give, give);
  gompy_access.pause = OR_BEYOND (pause, on_pause);
  gompy_access.row = OR_BEYOND (row, row);
  gompy_access.row_at = OR_BEYOND (row_at, row_at);
  gompy_access.one = OR_BEYOND (one, one);
  gompy_access.steps = IS_THERE (steps) ? 24 : -1;
}
"""

PROGRAM = """
#include <stdio.h>
int gompy_access_row (unsigned long, void *, void *, void *, void *);
int gompy_access_row_at (unsigned long, void *, void *, void *, void *, const unsigned char *);
void gompy_access_one (void *, int, const unsigned char *);
extern long gompy_access_steps;
int gompy_access_gather (void *, long, const void *, long, unsigned long, int, int);
void __tsan_atomic_thread_fence (int);
void GOMP_critical_start (void);
void GOMP_critical_end (void);
int main (void)
{
  setbuf (stdout, NULL);
  GOMP_critical_start ();
  GOMP_critical_end ();
  __tsan_atomic_thread_fence (__ATOMIC_ACQUIRE);
  printf ("%d", gompy_access_gather (&(int) {0}, 4, &(int) {0}, 4, 1, 4, 1));
  printf ("%d\\n", gompy_access_row (8, &(int) {0}, NULL, NULL, NULL));
  static const unsigned char site = 5;
  printf ("%d\\n", gompy_access_row_at (8, &(int) {0}, NULL, NULL, NULL, &site));
  gompy_access_one (&(int) {0}, 4, &site);
  gompy_access_one (&(int) {0}, 0x104, &site);
  printf ("%ld\\n", gompy_access_steps);
  return 0;
}
"""

LOCKS = "take 1\ngive 1\n"
HELD = "hold 1\nhold -1\nrelease\n"
SINGLY = "0\nread 4\nwrite 4\n0\n"
AT_SITES = "one 4 at 5\none 260 at 5\n"


@pytest.mark.slow(sample=5)
@pytest.mark.parametrize(
    ("size", "told"),
    [
        ("120", HELD + "00\n" + SINGLY),  # before gather
        ("144", HELD + "gather\n10\n" + SINGLY),  # before take
        ("160", LOCKS + "gather\n10\n" + SINGLY),  # before pause
        ("168", LOCKS + "pause\ngather\n10\n" + SINGLY),  # before row
        ("176", LOCKS + "pause\ngather\n1row 8\n1\n" + SINGLY),  # before row_at
        ("192", LOCKS + "pause\ngather\n1row 8\n1\nrow 8 at 5\n1\n" + AT_SITES + "0\n"),  # before steps
        ("200", LOCKS + "pause\ngather\n1row 8\n1\nrow 8 at 5\n1\n" + AT_SITES + "24\n"),
    ],
)
def test_nothing_behind_the_older_structure_is_called(tmp_path: Path, size: str, told: str) -> None:
    """Each runtime's structure, with something else behind it: locks are told as that runtime understands them."""
    (tmp_path / "runtime.c").write_text(RUNTIME)
    (tmp_path / "a.c").write_text(PROGRAM)
    shared = ("gcc", f"-I{ROOT}", f"-DBYTES={size}", "-shared", "-fPIC", "runtime.c", "-o", "libruntime.so")
    words = ("gcc", "a.c", ACCESS, "-L.", "-Wl,--no-as-needed", "-lruntime", "-lgomp", "-latomic", "-Wl,-rpath,$ORIGIN")
    for command in (shared, (*words, *(f"-Wl,{word}" for word in wrap_words()), "-o", "a")):
        subprocess.run(command, cwd=tmp_path, check=True, timeout=120)
    done = subprocess.run([tmp_path / "a"], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, told, "")
