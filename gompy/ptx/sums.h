/* Atomic additions that nobody waits for (sums.py): a host thread gathers them in a table, and adds the sums to memory
   when its blocks are done, when a warp yields, and when two words want one place.  Those of words that lie together
   (the bins of a histogram) have a window of memory of their own instead.  Included by executor.pyx.  */
#ifndef GOMPY_PTX_SUMS_H
#define GOMPY_PTX_SUMS_H

#include "warp.h"

struct gompy_sum { uint64_t address, value; };

struct gompy_sums
{
  GOMPY_SUMS_FIELDS                     /* what compiled code sees: gompy/abi/ptx.py, additions.py */
};

GOMPY_CHECK_SUMS (struct gompy_sums)

_Static_assert (sizeof ((struct gompy_sums *) 0)->table == GOMPY_SUM_PLACES * sizeof (struct gompy_sum), "table");

static inline struct gompy_sum *
gompy_sum_at (struct gompy_sums *s, uint64_t place)
{
  return (struct gompy_sum *) s->table + place;
}

enum { GOMPY_WINDOW = sizeof ((struct gompy_sums *) 0)->window / sizeof (uint32_t) };  /* words */

/* Add what has been gathered to memory.  */
static void
gompy_add_sums (struct gompy_sums *s)
{
  for (int i = 0; i < GOMPY_SUM_PLACES; i++)
    {
      struct gompy_sum *place = gompy_sum_at (s, (uint64_t) i);
      if (place->address)
        gompy_atom (s->code, (char *) (uintptr_t) place->address, place->value, 0);
      place->address = 0;
    }
  if (s->windowed)
    for (int i = 0; i < GOMPY_WINDOW; i++)
      if (s->window[i])
        {
          gompy_atom (s->code, (char *) (uintptr_t) (s->low + 4 * (uint64_t) i), s->window[i], 0);
          s->window[i] = 0;
        }
  s->used = 0;
  s->windowed = 0;
}

/* Begin a window with the words of a warp's lanes, if they lie together.  */
static void
gompy_open_window (const struct gompy_warp *w, struct gompy_sums *s, uint32_t mask, const uint64_t *a)
{
  uint64_t least = UINT64_MAX, most = 0, end = w->base + w->size;
  GOMPY_EACH (mask, i)
    {
      least = a[i] < least ? a[i] : least;
      most = a[i] > most ? a[i] : most;
    }
  if (least & 3 || least < w->base || most >= end || most - least > 2 * GOMPY_WINDOW)
    return;
  /* Half of what is left on each side: others of these words are as likely below as above.  */
  uint64_t before = (4 * GOMPY_WINDOW - (most - least)) / 2 & ~3ull;
  s->low = least - w->base < before ? (w->base + 3) & ~3ull : least - before;
  s->limit = end - s->low < 4 * GOMPY_WINDOW ? end - s->low - 4 : 4 * GOMPY_WINDOW - 4;
  s->windowed = 1;
}

/* A warp's additions of words of 32 bits in the window; 0 if one is not in it.  */
static int
gompy_add_to_window (struct gompy_sums *s, uint32_t mask, const uint64_t *a, const uint64_t *b)
{
  uint64_t first = a[__builtin_ctz (mask)];
  struct gompy_addresses seen = gompy_look_at (a, b, mask, first, s->low, s->limit);
  char *base = (char *) s->window - s->low;
  if (seen.odd & 3 || seen.outside >> 63)
    return 0;
  if (!seen.differ)
    *(uint32_t *) (base + first) += (uint32_t) seen.sum;
  else if (mask == UINT32_MAX)
    for (int i = 0; i < GOMPY_LANES; i++)
      *(uint32_t *) (base + a[i]) += (uint32_t) b[i];
  else
    GOMPY_EACH (mask, i)
      *(uint32_t *) (base + a[i]) += (uint32_t) b[i];
  return 1;
}

static inline __attribute__ ((always_inline)) void
gompy_gather (struct gompy_sums *s, int code, int type, uint64_t address, uint64_t value)
{
  uint64_t bits = address >> GOMPY_SUM_NEAR ^ address >> GOMPY_SUM_FAR;
  struct gompy_sum *place = gompy_sum_at (s, bits & (GOMPY_SUM_PLACES - 1));
  if (place->address == address)
    place->value = gompy_atom_step (GOMPY_ATOM_ADD, type, place->value, value, 0);
  else
    {
      if (place->address)
        gompy_atom (code, (char *) (uintptr_t) place->address, place->value, 0);
      *place = (struct gompy_sum) { address, value };
    }
}

/* The sum of the floats of the lanes of MASK.  */
static inline __attribute__ ((always_inline)) uint64_t
gompy_float_sum (int type, uint32_t mask, const uint64_t *b)
{
  uint32_t rest = mask & (mask - 1);
  uint64_t sum = b[__builtin_ctz (mask)];
  GOMPY_EACH (rest, i)
    sum = gompy_atom_step (GOMPY_ATOM_ADD, type, sum, b[i], 0);
  return sum;
}

#define GOMPY_GATHER(TYPE, SUM)                                                                                        \
  {                                                                                                                    \
    if (!seen.differ)                                                                                                  \
      gompy_gather (s, code, TYPE, first, SUM);                                                                        \
    else if (mask == UINT32_MAX)                                                                                       \
      for (int i = 0; i < GOMPY_LANES; i++)                                                                            \
        gompy_gather (s, code, TYPE, a[i], b[i]);                                                                      \
    else                                                                                                               \
      GOMPY_EACH (mask, i)                                                                                             \
        gompy_gather (s, code, TYPE, a[i], b[i]);                                                                      \
    return 1;                                                                                                          \
  }

/* A warp's additions to device memory; 0 if they are not that, or an address is not right.  */
static int
gompy_gather_warp (const struct gompy_warp *w, struct gompy_sums *s, uint32_t mask, int code, const uint64_t *a,
                   const uint64_t *b)
{
  int type = code & 7;
  uint64_t size = type < 4 ? 4 : 8;
  if (!mask || w->size < size)
    return 0;
  if (s->used && s->code != code)
    gompy_add_sums (s);
  if (type < 2)
    {
      if (!s->windowed)
        gompy_open_window (w, s, mask, a);
      if (s->windowed && gompy_add_to_window (s, mask, a, b))
        {
          s->used = 1;
          s->code = code;
          return 1;
        }
    }
  uint64_t first = a[__builtin_ctz (mask)];
  struct gompy_addresses seen = { 0 };
  if (mask & (mask - 1))
    {
      seen = gompy_look_at (a, b, mask, first, w->base, w->size - size);
      if (seen.odd & (size - 1) || seen.outside >> 63)
        return 0;
    }
  else if (first & (size - 1) || first - w->base > w->size - size)
    return 0;
  else
    seen.sum = b[__builtin_ctz (mask)];
  s->used = 1;
  s->code = code;
  if (type == GOMPY_ATOM_TYPE_F32)
    GOMPY_GATHER (GOMPY_ATOM_TYPE_F32, gompy_float_sum (type, mask, b))
  if (type == GOMPY_ATOM_TYPE_F64)
    GOMPY_GATHER (GOMPY_ATOM_TYPE_F64, gompy_float_sum (type, mask, b))
  if (size == 4)
    GOMPY_GATHER (GOMPY_ATOM_TYPE_U32, seen.sum)
  GOMPY_GATHER (GOMPY_ATOM_TYPE_U64, seen.sum)
}

#endif
