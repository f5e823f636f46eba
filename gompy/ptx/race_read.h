/* Which words of each line rows have read in this launch, where it only reads (gompy_row_quiet).  Reading them again
   tells nothing more, so compiled code looks here first, and calls nothing then (racing.py).  */
#ifndef GOMPY_PTX_RACE_READ_H
#define GOMPY_PTX_RACE_READ_H

#include "races.h"

/* A line's words, a bit each, below the launch's first epoch.  Compiled code looks at a line and the next one: what is
   behind the last line stays 0, also for addresses that are none of device memory.  */
static inline uint64_t
gompy_read_last (uint64_t size)
{
  return size / (4 * GOMPY_LINE) + 1;
}

static inline size_t
gompy_read_size (uint64_t size)
{
  return (gompy_read_last (size) + 1) * sizeof (uint64_t);
}

static void
gompy_read_unmap (struct gompy_races *r)
{
  if (r->read)
    munmap (r->read, gompy_read_size (r->size));
  r->read = NULL;
}

/* 0, or -1 for lack of memory.  */
static int
gompy_read_map (struct gompy_races *r)
{
  void *lines = mmap (NULL, gompy_read_size (r->size), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  r->read = lines == MAP_FAILED ? NULL : lines;
  return r->read ? 0 : -1;
}

static void
gompy_read_forget (struct gompy_races *r)
{
  if (r->read)
    madvise (r->read, gompy_read_size (r->size), MADV_DONTNEED);
}

/* WORDS of the line of a word have been read, and that is remembered.  */
static inline void
gompy_read_note (struct gompy_races *r, uint64_t number, uint32_t words)
{
  uint64_t *line = &r->read[number / GOMPY_LINE], since = (uint64_t) (uint32_t) r->own_first << 32;
  *line = since | words | (*line >> 32 == since >> 32 ? (uint32_t) *line : 0u);
}

#endif
