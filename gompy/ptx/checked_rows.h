/* Checked accesses of a whole warp: what the shadow shows to be right for all of a row of lanes is done at once, the
   rest is left for check.pxi, lane by lane.  */
#ifndef GOMPY_PTX_CHECKED_ROWS_H
#define GOMPY_PTX_CHECKED_ROWS_H

#include <stddef.h>
#include <string.h>

#include "rows.h"
#include "warp.h"

/* Eight bytes of shadow (executor.h): written, and the bit of what is allocated.  */
#define GOMPY_ALL_WRITTEN 0x0303030303030303ull
#define GOMPY_ALL_ALLOCATED 0x0101010101010101ull

/* The memory of an aligned range in one space that is allocated, and written if it is not to be written now; NULL: to
   be looked at.  */
static inline __attribute__ ((always_inline)) char *
gompy_checked_range (struct gompy_warp *w, uint64_t address, uint32_t bytes, uint32_t size, int writes)
{
  uint64_t offset = address - w->base, differs = 0, allocated = GOMPY_ALL_ALLOCATED, eight;
  uint32_t done = 0;
  uint8_t *shadow;
  char *place;
  if (address & (size - 1))
    return NULL;
  if (bytes <= w->size && offset <= w->size - bytes)
    {
      shadow = w->shadow + offset;
      place = (char *) (uintptr_t) address;
    }
  else
    {
      offset = address - GOMPY_SHARED_BASE;
      if (w->shared_size < bytes || offset > w->shared_size - bytes)
        return NULL;
      shadow = w->shared_shadow + offset;
      place = w->shared + offset;
    }
  for (; done + 8 <= bytes; done += 8)
    {
      memcpy (&eight, shadow + done, 8);
      differs |= eight ^ GOMPY_ALL_WRITTEN;
      allocated &= eight;
    }
  for (; done < bytes; done++)
    {
      differs |= shadow[done] ^ 3;
      allocated &= shadow[done] | ~1ull;
    }
  if (!differs)
    return place;
  if (!writes || allocated != GOMPY_ALL_ALLOCATED)
    return NULL;
  memset (shadow, 3, bytes);
  return place;
}

static __attribute__ ((noinline)) char *
gompy_checked_row (struct gompy_warp *w, uint64_t address, uint32_t bytes, uint32_t size, int writes)
{
  return gompy_checked_range (w, address, bytes, size, writes);
}

/* Whether an address is in a space that has a shadow.  */
static inline int
gompy_has_shadow (const struct gompy_warp *w, uint64_t address)
{
  return address - w->base < w->size || address - GOMPY_SHARED_BASE < w->shared_size;
}

/* A load and a store of lanes; those that are left.  */
#define GOMPY_CHECKED_ROWS(BITS)                                                                                       \
  static uint32_t gompy_checked_load##BITS (struct gompy_warp *w, uint32_t mask,                                       \
          const uint64_t *a, uint##BITS##_t *out)                                                                      \
  {                                                                                                                    \
    uint32_t rest = mask, left = 0, length;                                                                            \
    if (!mask || !gompy_has_shadow (w, a[__builtin_ctz (mask)]))                                                       \
      return mask;                                                                                                     \
    struct gompy_rows rows = gompy_rows_of (a, BITS / 8);                                                              \
    while (rest)                                                                                                       \
      {                                                                                                                \
        int lane = __builtin_ctz (rest), repeats = 0;                                                                  \
        if ((length = gompy_row_length (rows.follows & mask, lane)) == 1)                                              \
          repeats = (length = gompy_row_length (rows.same & mask, lane)) > 1;                                          \
        uint32_t its = (length == 32 ? ~0u : (1u << length) - 1) << lane;                                              \
        char *place = length == 1 || repeats ? gompy_checked_range (w, a[lane], BITS / 8, BITS / 8, 0)                 \
                                             : gompy_checked_row (w, a[lane], length * (BITS / 8), BITS / 8, 0);       \
        rest &= ~its;                                                                                                  \
        if (!place)                                                                                                    \
          left |= its;                                                                                                 \
        else if (length == 1)                                                                                          \
          memcpy (out + lane, place, BITS / 8);                                                                        \
        else if (repeats)                                                                                              \
          {                                                                                                            \
            uint##BITS##_t value;                                                                                      \
            memcpy (&value, place, BITS / 8);                                                                          \
            for (uint32_t i = 0; i < length; i++)                                                                      \
              out[(uint32_t) lane + i] = value;                                                                        \
          }                                                                                                            \
        else                                                                                                           \
          memcpy (out + lane, place, length * (BITS / 8));                                                             \
      }                                                                                                                \
    return left;                                                                                                       \
  }                                                                                                                    \
  static uint32_t gompy_checked_store##BITS (struct gompy_warp *w, uint32_t mask, const uint64_t *a,                   \
          const uint##BITS##_t *v)                                                                                     \
  {                                                                                                                    \
    uint32_t rest = mask, left = 0;                                                                                    \
    if (!mask || !gompy_has_shadow (w, a[__builtin_ctz (mask)]))                                                       \
      return mask;                                                                                                     \
    struct gompy_rows rows = gompy_rows_of (a, BITS / 8);                                                              \
    while (rest)                                                                                                       \
      {                                                                                                                \
        int lane = __builtin_ctz (rest);                                                                               \
        uint32_t length = gompy_row_length (rows.follows & mask, lane);                                                \
        uint32_t its = (length == 32 ? ~0u : (1u << length) - 1) << lane;                                              \
        char *place = length == 1 ? gompy_checked_range (w, a[lane], BITS / 8, BITS / 8, 1)                            \
                                  : gompy_checked_row (w, a[lane], length * (BITS / 8), BITS / 8, 1);                  \
        rest &= ~its;                                                                                                  \
        if (!place)                                                                                                    \
          left |= its;                                                                                                 \
        else if (length == 1)                                                                                          \
          memcpy (place, v + lane, BITS / 8);                                                                          \
        else                                                                                                           \
          memcpy (place, v + lane, length * (BITS / 8));                                                               \
      }                                                                                                                \
    return left;                                                                                                       \
  }

GOMPY_CHECKED_ROWS (8)
GOMPY_CHECKED_ROWS (16)
GOMPY_CHECKED_ROWS (32)
GOMPY_CHECKED_ROWS (64)

#endif
