"""page_marks.h alone: marks of whole pages, and memory that is filled when it is used."""

from __future__ import annotations

import platform
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

PROGRAM = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include "gompy/plugins/intelmic/page_marks.h"

#define PAGES 512
static unsigned char marks[PAGES * 4096], whole[PAGES], writable[PAGES];
static _Alignas (4096) char memory[PAGES * 4096];
static uint32_t stay_open;
static struct mic_pages pages = { marks, whole, writable, memory, 1, &stay_open };

static size_t
other_than (const void *p, size_t begin, size_t end, int c)
{
  size_t n = 0;
  for (size_t i = begin; i < end; i++)
    n += ((const unsigned char *) p)[i] != c;
  return n;
}

static int
is_filled (uint64_t offset)
{
  uint64_t word;
  memcpy (&word, memory + offset, 8);
  return word == mic_filled_with (offset);
}

/* Each thread has one half of every page: it marks that, then writes there.  */
static void *
write_halves (void *half)
{
  for (uint64_t page = 0; page < sizeof memory; page += 4096)
    {
      uint64_t offset = page + (half != NULL ? 2048 : 0);
      mic_mark_range (&pages, offset, 2048, MIC_MARK_GOOD);
      memset (memory + offset, half != NULL ? 'b' : 'a', 2048);
    }
  return NULL;
}

/* Whether what new memory has is the same piece by piece, wherever the pieces begin, and as it is filled.  */
static int
is_same_in_pieces (void)
{
  unsigned char all[4096], piece[64];
  int same = 1;
  mic_fill ((char *) all, 4096, sizeof all, 1);
  for (size_t at = 0; at + 64 < sizeof all; at += 61)
    {
      mic_new_contents (piece, 4096 + at, 64 - at % 9);
      same &= memcmp (piece, all + at, 64 - at % 9) == 0;
    }
  return same;
}

/* Whether those pages are told that have been opened for writes, and no others.  */
static int
tells_writable (void)
{
  int right = !mic_may_be_written (&pages, 0, sizeof memory);
  writable[7] = 1;
  right &= mic_may_be_written (&pages, 7 * 4096 + 4095, 1) && mic_may_be_written (&pages, 6 * 4096 + 1, 4096)
           && !mic_may_be_written (&pages, 6 * 4096, 4096) && !mic_may_be_written (&pages, 8 * 4096, 4096);
  stay_open = 1;
  right &= mic_may_be_written (&pages, 0, 1);
  stay_open = writable[7] = 0;
  return right;
}

int
main (void)
{
  pthread_t other;
  if (!is_same_in_pieces () || !tells_writable ())
    return 2;
  size_t lost = 0;
  mic_mark_range (&pages, 2048, 5 * 4096, MIC_MARK_UNSET);  /* half a page, four, half a page */
  mic_fill_new (&pages, 2048, 5 * 4096);
  printf ("%d%d%d, %zu marks and %zu bytes between written out\n", is_filled (2048), is_filled (4096),
          is_filled (5 * 4096), other_than (marks, 4096, 5 * 4096, 0), other_than (memory, 4096, 5 * 4096, 0));
  mic_mark_range (&pages, 2 * 4096, 4096, MIC_MARK_GOOD);  /* is about to be copied to */
  mic_write_out_unset (&pages, 0, sizeof memory);
  printf ("%d%d%d, state %u and %zu bytes of what is good\n", is_filled (4096), is_filled (3 * 4096),
          is_filled (4 * 4096), mic_page_state (&pages, 2 * 4096), other_than (memory, 2 * 4096, 3 * 4096, 0));
  printf ("%zu marks\n", other_than (marks, 3 * 4096, 5 * 4096, MIC_MARK_UNSET));
  mic_write_out (&pages, 2 * 4096, 1);
  printf ("%zu marks of it\n", other_than (marks, 2 * 4096, 3 * 4096, MIC_MARK_GOOD));
  mic_mark_range (&pages, 4096, 4096, MIC_MARK_UNSET);
  memset (memory + 4096, 0, 4096);
  mic_forget_marks (&pages, 4096);  /* a region writes there */
  printf ("%d, state %u\n", is_filled (4096 + 8), mic_page_state (&pages, 4096));
  mic_mark_range (&pages, 4096, 4096, MIC_MARK_CLOSED);
  mic_forget_marks (&pages, 4096);
  printf ("closed: state %u\n", mic_page_state (&pages, 4096));
  for (int times = 0; times < 20; times++)
    {
      mic_mark_range (&pages, 0, sizeof memory, MIC_MARK_UNSET);
      pthread_create (&other, NULL, write_halves, &pages);
      write_halves (NULL);
      pthread_join (other, NULL);
      for (uint64_t page = 0; page < sizeof memory; page += 4096)
        lost += other_than (memory, page, page + 2048, 'a') + other_than (memory, page + 2048, page + 4096, 'b');
    }
  printf ("%zu bytes lost, %zu marks\n", lost, other_than (marks, 0, sizeof marks, MIC_MARK_GOOD));
  mic_mark_range (&pages, 0, 2 * 4096, MIC_MARK_UNSET);
  mic_pages_stay_open (&pages, sizeof memory);
  mic_mark_range (&pages, 2 * 4096, 4096, MIC_MARK_UNSET);
  mic_fill_new (&pages, 2 * 4096, 4096);
  printf ("open: %d%d%d, %zu pages\n", is_filled (0), is_filled (4096), is_filled (2 * 4096),
          other_than (whole, 0, PAGES, MIC_PAGE_BYTES));
  return 0;
}
"""

SAYS = """\
101, 0 marks and 0 bytes between written out
111, state 2 and 0 bytes of what is good
0 marks
0 marks of it
1, state 2
closed: state 1
0 bytes lost, 0 marks
open: 111, 0 pages
"""


@pytest.mark.skipif(platform.machine() != "x86_64", reason="as the plugin")
def test_whole_pages(tmp_path: Path) -> None:
    """Neither marks nor contents of new pages are written before somebody needs them, and then once."""
    (tmp_path / "pages.c").write_text(PROGRAM)
    command = ["gcc", "-O1", "-pthread", "-Wall", "-Werror", f"-I{ROOT}", "pages.c", "-o", "pages"]
    subprocess.run(command, cwd=tmp_path, check=True)
    done = subprocess.run([tmp_path / "pages"], capture_output=True, text=True, check=True)
    assert done.stdout == SAYS
