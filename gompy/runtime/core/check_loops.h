/* `gompy run --check` of a program made with -foffload-check: accesses of a loop at once, before it.
   Included once, by check_stale.h.  */
#ifndef GOMPY_CHECK_LOOPS_H
#define GOMPY_CHECK_LOOPS_H

#include "gompy/native/indices.h"

/* A loop's accesses: fine if nothing of what it reads is newer on a device.  */
static int
gompy_access_range (uintptr_t address, intptr_t step, size_t n, int kind, const void *pc)
{
  size_t size = kind & GOMPY_RANGE_SIZE;
  uintptr_t begin = step < 0 ? address + (uintptr_t) step * (n - 1) : address;
  uintptr_t distance = step < 0 ? -(uintptr_t) step : (uintptr_t) step, end = begin + distance * (n - 1) + size;
  int fine = !gompy_is_in_flight ();
  (void) pc;
  pthread_mutex_lock (&gompy_stale_lock);
  gompy_look_around (begin, end);
  if (fine && !(kind & GOMPY_RANGE_WRITES))
    fine = gompy_is_harmless (begin, end);
  else if (fine && distance <= size)
    gompy_note_written (begin, end);
  else if (fine)
    for (size_t i = 0; i < n; i++)
      gompy_note_written (begin + i * distance, begin + i * distance + size);
  pthread_mutex_unlock (&gompy_stale_lock);
  return fine;
}

/* Those that have indices: the pages among which they are must not be more than they.  */
static int
gompy_access_gather (uintptr_t address, intptr_t scale, const struct gompy_indices *x, int kind, const void *pc)
{
  size_t size = kind & GOMPY_RANGE_SIZE;
  uintptr_t begin, end;
  int64_t low, high;
  int fine = !gompy_is_in_flight ();
  (void) pc;
  gompy_index_extremes (x, NULL, &low, &high);
  if (!gompy_index_span (address, scale, low, high, size, &begin, &end))
    return 0;
  if (end <= gompy_access.low || begin >= gompy_access.high)
    return 1;
  if ((end - begin) / GOMPY_PAGE > x->n)
    return 0;
  pthread_mutex_lock (&gompy_stale_lock);
  gompy_look_around (begin, end);
  if (fine && !(kind & GOMPY_RANGE_WRITES))
    fine = gompy_is_harmless (begin, end);
  else if (fine)
    for (size_t i = 0; i < x->n; i++)
      {
        uintptr_t at = address + (uintptr_t) (scale * gompy_index (x, i));
        gompy_note_written (at, at + size);
      }
  pthread_mutex_unlock (&gompy_stale_lock);
  return fine;
}

#endif
