/* `gompy run --check`: huge pages for large arrays that constructs map again and again.

   Their pages are closed and opened, and the kernel is asked which of them were written, each time.  That takes as long
   as each page has an entry of its own: 0.4 ms for 16 MiB to be closed and opened, and 0.01 where the kernel has made
   pages of 2 MiB of them.  To make them takes 3 to 6 ms.  So they are made once an array has cost as much, and only of
   pages that are all there, whatever else of the program's lies beside: it takes no more memory.  Contents and
   addresses stay as they are.

   In a virtual machine one may take 10 ms, where the machine itself has no memory for it yet.  Such ones are made for a
   part of the program's time at most.
   Included once, by check_stale.h.  */
#ifndef GOMPY_CHECK_HUGE_H
#define GOMPY_CHECK_HUGE_H

#include "gompy/native/huge_pages.h"

#define GOMPY_HUGE_LEAST (1u << 19)  /* bytes of a range */
#define GOMPY_HUGE_AFTER 8u       /* times that a range was mapped */
#define GOMPY_HUGE_STEP (2 * GOMPY_HUGE)  /* made at once: the call waits for all processors' lists of pages */
#define GOMPY_OFTEN 64u           /* ranges */
#define GOMPY_HUGE_NS 1000000ull  /* for one, of the thread's time: one that takes longer is slow */
#define GOMPY_HUGE_SHARE 32u      /* of the program's time, for slow ones */

struct gompy_often
{
  uintptr_t start;
  size_t size;
  unsigned times, due;  /* that it was mapped; when huge pages are made, 0: never */
};

static struct gompy_often gompy_oftens[GOMPY_OFTEN];
static unsigned gompy_often_next;
static uint64_t gompy_huge_time;  /* that slow ones have taken */

/* The huge pages' places that have bytes of [*BEGIN, *END), as far as they are in the mapping that has the first.
   False: that is not the program's own memory.  */
static int
gompy_find_huge (uintptr_t *begin, uintptr_t *end)
{
  struct gompy_mapping_query query;
  uintptr_t low, high;
  if (!gompy_own_mapping (*begin, &query) || query.page_size != GOMPY_PAGE)
    return 0;
  low = (query.begin + GOMPY_HUGE - 1) & -GOMPY_HUGE;
  high = query.end & -GOMPY_HUGE;
  *begin = (*begin & -GOMPY_HUGE) > low ? *begin & -GOMPY_HUGE : low;
  *end = ((*end + GOMPY_HUGE - 1) & -GOMPY_HUGE) < high ? (*end + GOMPY_HUGE - 1) & -GOMPY_HUGE : high;
  return *begin < *end;
}

/* How many times a range is to be mapped in all until this is worth it once more, of TIMES so far; 0: never.  */
static unsigned
gompy_make_huge (unsigned times, uintptr_t start, size_t size)
{
  uintptr_t begin = start, end = start + size;
  if (gompy_huge_time > gompy_process_time () / GOMPY_HUGE_SHARE)
    return times + GOMPY_HUGE_AFTER;
  gompy_need_held (start, size, 1);
  if (!gompy_find_huge (&begin, &end))
    return 0;
  gompy_forget_noted (begin, end);
  for (uintptr_t next; begin < end; begin = next)
    {
      uint64_t took = gompy_thread_time ();
      for (next = begin; next < end && next - begin < GOMPY_HUGE_STEP && gompy_has_small_pages ((const void *) next);
           next += GOMPY_HUGE)
        ;
      if (next == begin)
        {
          next += GOMPY_HUGE;
          continue;
        }
      if (madvise ((void *) begin, next - begin, MADV_COLLAPSE) != 0 && errno != EINVAL)
        return 2 * times;  /* EINVAL: the kernel can't, or shall not */
      took = gompy_thread_time () - took;
      if (took <= (next - begin) / GOMPY_HUGE * GOMPY_HUGE_NS)
        continue;
      gompy_huge_time += took;
      if (gompy_huge_time > gompy_process_time () / GOMPY_HUGE_SHARE)
        return times + GOMPY_HUGE_AFTER;
    }
  return 0;
}

/* A construct maps a range.  */
static void
gompy_note_mapped (uintptr_t start, size_t size)
{
  struct gompy_often *o = NULL;
  if (size < GOMPY_HUGE_LEAST)
    return;
  for (unsigned i = 0; i < GOMPY_OFTEN && o == NULL; i++)
    if (gompy_oftens[i].start == start && gompy_oftens[i].size == size)
      o = &gompy_oftens[i];
  if (o == NULL)
    {
      o = &gompy_oftens[gompy_often_next++ % GOMPY_OFTEN];
      *o = (struct gompy_often){ start, size, 0, GOMPY_HUGE_AFTER };
    }
  if (++o->times == o->due)
    o->due = gompy_make_huge (o->times, start, size);
}

#endif
