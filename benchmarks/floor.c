/* The least that many mappings ask of the memory, without a runtime.  One JSON object on standard output.

   The same objects as many.c's, entered and exited in random orders.  An enter reads the object, writes a block of 64
   bytes, a record of 96, and a word of a table by the object's address.  An exit reads the word, then the record and the
   block that it names, and writes the object.  All but the objects is on huge pages, and the table has no collision.

   floor N searched: the same as "apart", and the word names a leaf of an index by addresses, as is needed to know what
   overlaps.  Its lines are fetched at once, and the object; the object's place is searched in it, opened by an enter, closed by an exit.
   floor N ordered: the same, but where in the leaf the object is is known, and nothing else in it is read or moved.
   floor N free: an operation begins while the memory of those before is on its way.
   floor N apart: it begins when all that was read before is there, as where more instructions lie between two than a
   processor looks ahead.
   Seconds of the processor for all, new pages included; nanoseconds of one, the median and the lowest tenth of batches
   of 100, as many.c has them; bytes of a mapping.  */

#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "order.h"
#include "timing.h"

enum
{
  SIZE = 64, STEP = 2 * SIZE, RECORD = 96, BATCH = 100, HUGE = 2 << 20,
  LEAF = 24, ROOM = 34, PIECE = 4 /* objects of a leaf, places in it, objects that share a word */
};

/* Ten lines of the cache, as gompy's.  */
struct leaf
{
  size_t count, unused[2];
  const char *object[ROOM];
  uint64_t number[ROOM]; /* of its record and block */
  uint16_t place[ROOM];
};

static char *memory, *records, *blocks;
static struct leaf *leaves;
static uint32_t *order, *table;
static double *times;
static uint32_t used;
static int apart, ordered, searched;

static void *
huge_pages (size_t size)
{
  char *p = mmap (NULL, size + HUGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED)
    {
      fputs ("floor.c: no memory\n", stderr);
      exit (1);
    }
  p = (char *) (((uintptr_t) p + HUGE - 1) & ~(uintptr_t) (HUGE - 1));
  madvise (p, size, MADV_HUGEPAGE);
  return p;
}

/* An object's place in a leaf, where it is or would be.  */
static inline size_t
place_in (const struct leaf *leaf, const char *object)
{
  size_t base = 0, n = leaf->count;
  while (n > 1)
    {
      size_t half = n / 2;
      base += leaf->object[base + half - 1] < object ? half : 0;
      n -= half;
    }
  return n ? base + (leaf->object[base] < object) : base;
}

static inline struct leaf *
leaf_of (const char *object)
{
  struct leaf *leaf = &leaves[table[(size_t) (object - memory) / STEP / PIECE]];
  if (searched)
    {
      for (size_t at = 0; at < sizeof *leaf; at += 64)
	__asm__ volatile ("prefetcht0 (%0)" : : "r" ((const char *) leaf + at));
      __builtin_prefetch (object);
    }
  return leaf;
}

/* Put the number of an object's record in.  */
static inline void
put (const char *object, uint64_t number)
{
  size_t i = (size_t) (object - memory) / STEP;
  struct leaf *leaf;
  if (!ordered)
    {
      table[i] = (uint32_t) number;
      return;
    }
  leaf = leaf_of (object);
  if (!searched)
    {
      if (leaf->number[i % LEAF])
	abort ();
      leaf->number[i % LEAF] = number;
      return;
    }
  i = place_in (leaf, object);
  if (i < leaf->count && leaf->object[i] == object)
    abort ();
  memmove (leaf->object + i + 1, leaf->object + i, (leaf->count - i) * sizeof *leaf->object);
  memmove (leaf->number + i + 1, leaf->number + i, (leaf->count - i) * sizeof *leaf->number);
  memmove (leaf->place + i + 1, leaf->place + i, (leaf->count - i) * sizeof *leaf->place);
  leaf->count++;
  leaf->object[i] = object;
  leaf->number[i] = number;
  leaf->place[i] = (uint16_t) number;
}

/* Take it out.  */
static inline uint64_t
take (const char *object)
{
  size_t i = (size_t) (object - memory) / STEP;
  uint64_t number;
  struct leaf *leaf;
  if (!ordered)
    return table[i]; /* and nobody asks again */
  leaf = leaf_of (object);
  if (!searched)
    {
      number = leaf->number[i % LEAF];
      leaf->number[i % LEAF] = 0;
      return number;
    }
  i = place_in (leaf, object);
  if (i == leaf->count || leaf->object[i] != object)
    abort ();
  number = leaf->number[i];
  leaf->count--;
  memmove (leaf->object + i, leaf->object + i + 1, (leaf->count - i) * sizeof *leaf->object);
  memmove (leaf->number + i, leaf->number + i + 1, (leaf->count - i) * sizeof *leaf->number);
  memmove (leaf->place + i, leaf->place + i + 1, (leaf->count - i) * sizeof *leaf->place);
  return number;
}

static inline void
enter (const char *object)
{
  char *record = records + (size_t) used * RECORD;
  put (object, used + 1);
  memcpy (blocks + (size_t) used * SIZE, object, SIZE);
  memset (record, 1, RECORD);
  used++;
}

static inline void
leave (char *object)
{
  uint64_t n = take (object) - 1;
  char *record = records + n * RECORD;
  memcpy (object, blocks + n * SIZE, SIZE);
  *(uint64_t *) record += *(uint64_t *) (record + RECORD - sizeof (uint64_t));
}

static void
each (const char *name, int leaving, uint32_t n, const char *end)
{
  size_t batches = 0;
  double all;
  shuffle (order, n);
  all = spent ();
  for (uint32_t i = 0; i < n; batches++)
    {
      double begin = now ();
      uint32_t first = i;
      for (; i < n && i < first + BATCH; i++)
	{
	  char *object = memory + (size_t) order[i] * STEP;
	  if (leaving)
	    leave (object);
	  else
	    enter (object);
	  if (apart)
	    __asm__ volatile ("lfence" : : : "memory");
	}
      times[batches] = (now () - begin) / (i - first);
    }
  all = spent () - all;
  qsort (times, batches, sizeof *times, by_size);
  printf ("\"%s\": {\"median\": %.1f, \"low\": %.1f}, \"%s-all\": %.3f%s", name, times[batches / 2],
	  times[batches / 10], name, all, end);
}

int
main (int argc, char **argv)
{
  uint32_t words, n = argc == 3 ? (uint32_t) strtoul (argv[1], NULL, 10) : 0;
  double bytes;
  if (n == 0)
    return 2;
  searched = !strcmp (argv[2], "searched");
  ordered = searched || !strcmp (argv[2], "ordered");
  apart = ordered || !strcmp (argv[2], "apart");
  memory = malloc ((size_t) n * STEP);
  memset (memory, 1, (size_t) n * STEP);
  order = malloc (n * sizeof *order);
  times = malloc ((n / BATCH + 1) * sizeof *times);
  for (uint32_t i = 0; i < n; i++)
    order[i] = i;
  memset (times, 0, (n / BATCH + 1) * sizeof *times);
  words = ordered ? n / PIECE + 1 : n;
  table = huge_pages (words * sizeof *table);
  memset (table, 0, words * sizeof *table);
  records = huge_pages ((size_t) n * RECORD);
  blocks = huge_pages ((size_t) n * SIZE);
  bytes = RECORD + SIZE + (double) words * sizeof *table / n;
  if (ordered)
    {
      uint32_t count = n / LEAF + 1;
      leaves = huge_pages ((size_t) count * sizeof *leaves);
      bytes += (double) count * sizeof *leaves / n;
      /* Neighbours by address are none in memory.  */
      for (uint32_t i = 0; i < words; i++)
	table[i] = (uint32_t) ((uint64_t) i * PIECE / LEAF * 2654435761u % count);
    }
  putchar ('{');
  each ("enter", 0, n, ", ");
  each ("exit", 1, n, ", ");
  printf ("\"bytes\": %.1f}\n", bytes);
  return 0;
}
