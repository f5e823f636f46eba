/* A guess at the leaf of an index in which an address is, by the address alone.

   Among millions of ranges the way down waits for memory twice at each level that is in no cache, and only then does a
   leaf begin to come.  Here a table has, for pieces of the address space, the leaf to which the last way down into each
   came: that leaf is fetched while the way down is gone.  It may be wrong: pieces that are far apart share an entry,
   leaves are split and go.

   Where the ranges are fewer, all of the index is in a cache.  Then the leaf itself tells whether the guess is right,
   and no way down is gone (range_index.h).  Among more, looking at it would be waiting for it.  */

#ifndef GOMPY_RANGE_GUIDE_H
#define GOMPY_RANGE_GUIDE_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "slabs.h"

#ifndef GUIDE_LEAST /* a test has a small one */
#define GUIDE_LEAST 64 /* entries */
#endif
#ifndef GUIDE_FETCHED
#define GUIDE_FETCHED 8192 /* from so many on; with fewer ranges than four times that, all inner nodes are in a cache */
#endif
#define GUIDE_LINE 64
#define GUIDE_NODE_PIECES 8 /* pieces of the addresses that a full leaf has */

struct gompy_guide
{
  int32_t *leaf;  /* of each piece: how many lines from the base; 0: not known.  NULL: there is no table */
  size_t entries; /* a power of two, or 0 */
  unsigned shift; /* a piece has so many bits of an address */
  const char *base;
};

/* Have a piece of memory fetched, a line at a time.  Of a function that does nothing but __builtin_prefetch GCC leaves
   the calls out.  */
static inline void
gompy_fetch_lines (const void *memory, size_t size)
{
  for (size_t at = 0; at < size; at += GUIDE_LINE)
    __asm__ volatile ("prefetcht0 (%0)" : : "r" ((const char *) memory + at));
}

static inline int32_t *
gompy_guide_entry (const struct gompy_guide *guide, uintptr_t x)
{
  return &guide->leaf[(x - 1) >> guide->shift & (guide->entries - 1)];
}

/* What the table has for a begin.  There is a table.  */
static inline const char *
gompy_guide_last (const struct gompy_guide *guide, uintptr_t x)
{
  int32_t lines = *gompy_guide_entry (guide, x);
  return lines ? guide->base + (ptrdiff_t) lines * GUIDE_LINE : NULL;
}

/* The leaf for a begin as far as is known, to be fetched only; NULL: nothing is known, or nothing is to be fetched.  */
static inline const char *
gompy_guide_guess (const struct gompy_guide *guide, uintptr_t x)
{
  return guide->entries >= GUIDE_FETCHED ? gompy_guide_last (guide, x) : NULL;
}

/* The same to be looked at: it is a leaf, or was one.  */
static inline const void *
gompy_guide_look (const struct gompy_guide *guide, uintptr_t x)
{
  return GOMPY_SLABS && guide->entries - 1 < GUIDE_FETCHED - 1 ? gompy_guide_last (guide, x) : NULL;
}

/* The way down has come to a leaf.  */
static inline void
gompy_guide_learn (struct gompy_guide *guide, uintptr_t x, const void *leaf)
{
  ptrdiff_t lines = ((const char *) leaf - guide->base) / GUIDE_LINE;
  *gompy_guide_entry (guide, x) = lines == (int32_t) lines ? (int32_t) lines : 0;
}

static inline void
gompy_guide_end (struct gompy_guide *guide)
{
  if (guide->leaf)
    gompy_slab_memory_end (guide->leaf, guide->entries * sizeof *guide->leaf);
  guide->leaf = NULL;
  guide->entries = 0;
}

/* A table for so many ranges, if there is none or a smaller one.  A full leaf is split: its address, and how far apart
   the first and the last of its ranges are.  Without memory there is none.  */
static __attribute__ ((noinline)) void
gompy_guide_grow (struct gompy_guide *guide, size_t ranges, const void *leaf, uintptr_t width)
{
  size_t entries = guide->entries ? guide->entries : GUIDE_LEAST;
  while (entries < ranges / 4)
    entries *= 2;
  gompy_guide_end (guide);
  guide->leaf = gompy_slab_memory (entries * sizeof *guide->leaf);
  if (!guide->leaf)
    return; /* and no entries */
  memset (guide->leaf, 0, entries * sizeof *guide->leaf);
  guide->entries = entries;
  guide->base = leaf;
  guide->shift = 0;
  while (width >> guide->shift > GUIDE_NODE_PIECES)
    guide->shift++;
}

static inline void
gompy_guide_fit (struct gompy_guide *guide, size_t ranges, const void *leaf, uintptr_t width)
{
  if (__builtin_expect (ranges / 8 > guide->entries && ranges / 4 >= GUIDE_LEAST, 0))
    gompy_guide_grow (guide, ranges, leaf, width);
}

#endif
