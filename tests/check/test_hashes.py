"""`gompy run --check`: what contents hash to tells each change of a byte, by each of the ways to compute it."""

from __future__ import annotations

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SIZES = (0, 1, 7, 8, 63, 64, 65, 4095, 4096, 4097, 4352, 5000, 8192, 12345)

PROGRAM = """
#include "core/check_hash.h"
#include <stdio.h>
#include <stdlib.h>
static unsigned char bytes[20000];
/* Changes that are not told: of each bit, of two words that change places, of two equal words that both change.  */
static int
misses (size_t n)
{
  uint64_t whole = gompy_hash (bytes, n);
  int found = whole != gompy_hash (bytes, n);
  for (size_t i = 0; i < n; i++)
    {
      bytes[i] ^= 1 << i % 8;
      found += gompy_hash (bytes, n) == whole;
      bytes[i] ^= 1 << i % 8;
    }
  for (size_t i = 0; i + 8 <= n; i += 8)
    for (size_t step = 8; step <= 512 && i + step + 8 <= n; step *= 2)
      {
	uint64_t a, b;
	memcpy (&a, bytes + i, 8);
	memcpy (&b, bytes + i + step, 8);
	memcpy (bytes + i, &b, 8);
	memcpy (bytes + i + step, &a, 8);
	found += a != b && gompy_hash (bytes, n) == whole;
	memcpy (bytes + i, &(uint64_t){ a ^ 1 }, 8);
	memcpy (bytes + i + step, &(uint64_t){ b ^ 1 }, 8);
	found += gompy_hash (bytes, n) == whole;
	memcpy (bytes + i, &a, 8);
	memcpy (bytes + i + step, &b, 8);
      }
  return found;
}
int
main (int argc, char **argv)
{
  srand (1);
  for (size_t i = 0; i < sizeof bytes; i++)
    bytes[i] = rand () >> 8;
  for (int i = 1; i < argc; i++)
    printf ("%d ", misses (atoi (argv[i])));
  printf ("\\n");
}
"""


def test_each_change_is_told(tmp_path: Path) -> None:
    """Also where the processor's longest vectors are not used."""
    (tmp_path / "a.c").write_text(PROGRAM)
    for name, option in (("vectors", "-O2"), ("words", "-DGOMPY_HASH_LARGE=0x7fffffffu")):
        folders = ["-I", str(ROOT), "-I", str(ROOT / "gompy" / "runtime")]
        subprocess.run(["gcc", "-O2", option, *folders, "a.c", "-o", name], cwd=tmp_path, check=True)
        command = [tmp_path / name, *map(str, SIZES)]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
        assert done.stdout.split() == ["0"] * len(SIZES), name
