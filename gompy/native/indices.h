/* The indices of a gather or scatter: the smallest and the largest of them, and a copy.

   `struct gompy_indices` is access.h's.  What stands without gaps and has 4 or 8 bytes is done by vectors.  */
#ifndef GOMPY_NATIVE_INDICES_H
#define GOMPY_NATIVE_INDICES_H

#include "gompy/native/access.h"
#include "gompy/native/cpu_features.h"
#include <string.h>

static inline int64_t
gompy_index_of (const void *place, unsigned bytes, int is_unsigned)
{
  int8_t a;
  int16_t b;
  int32_t c;
  int64_t d;
  switch (bytes)
    {
    case 1:
      memcpy (&a, place, 1);
      return is_unsigned ? (uint8_t) a : a;
    case 2:
      memcpy (&b, place, 2);
      return is_unsigned ? (uint16_t) b : b;
    case 4:
      memcpy (&c, place, 4);
      return is_unsigned ? (uint32_t) c : c;
    default:
      memcpy (&d, place, 8);
      return d;
    }
}

static inline int64_t
gompy_index (const struct gompy_indices *x, size_t i)
{
  return gompy_index_of ((const char *) x->first + x->step * (intptr_t) i, x->bytes, x->is_unsigned);
}

#define GOMPY_INDEX_BLOCK 2048u /* they fit the smallest cache, with their copy */

/* The least and the greatest of N, which stand without gaps; they are copied to TO as well, if that is not NULL.  */
#define GOMPY_INDEX_EXTREMES(name, type, attribute)                                                                    \
  static __attribute__ ((noinline, optimize ("tree-vectorize", "vect-cost-model=dynamic"))) attribute void             \
  name (const void *from, void *to, size_t n, int64_t *low, int64_t *high)                                             \
  {                                                                                                                    \
    const type *x = from;                                                                                              \
    for (size_t i = 0, end; i < n; i = end)                                                                            \
      {                                                                                                                \
        type least = x[i], most = x[i];                                                                                \
        end = n - i < GOMPY_INDEX_BLOCK ? n : i + GOMPY_INDEX_BLOCK;                                                   \
        for (size_t k = i; k < end; k++)                                                                               \
          {                                                                                                            \
            least = x[k] < least ? x[k] : least;                                                                       \
            most = x[k] > most ? x[k] : most;                                                                          \
          }                                                                                                            \
        *low = (int64_t) least < *low ? (int64_t) least : *low;                                                        \
        *high = (int64_t) most > *high ? (int64_t) most : *high;                                                       \
        if (to != NULL)                                                                                                \
          memcpy ((type *) to + i, x + i, (end - i) * sizeof (type));                                                  \
      }                                                                                                                \
  }
GOMPY_INDEX_EXTREMES (gompy_extremes_int, int32_t, )
GOMPY_INDEX_EXTREMES (gompy_extremes_unsigned, uint32_t, )
GOMPY_INDEX_EXTREMES (gompy_extremes_long, int64_t, )
GOMPY_INDEX_EXTREMES (gompy_extremes_int_avx2, int32_t, __attribute__ ((target ("avx2"))))
GOMPY_INDEX_EXTREMES (gompy_extremes_unsigned_avx2, uint32_t, __attribute__ ((target ("avx2"))))
GOMPY_INDEX_EXTREMES (gompy_extremes_long_avx2, int64_t, __attribute__ ((target ("avx2"))))

/* [*LOW, *HIGH] of N > 0 indices; they are copied to TO, each in its own bytes, if that is not NULL.  */
static void
gompy_index_extremes (const struct gompy_indices *x, void *to, int64_t *low, int64_t *high)
{
  int wide = gompy_has_avx2 ();
  *low = INT64_MAX;
  *high = INT64_MIN;
  if (x->step == (intptr_t) x->bytes && x->bytes == 4 && !x->is_unsigned)
    (wide ? gompy_extremes_int_avx2 : gompy_extremes_int) (x->first, to, x->n, low, high);
  else if (x->step == (intptr_t) x->bytes && x->bytes == 4)
    (wide ? gompy_extremes_unsigned_avx2 : gompy_extremes_unsigned) (x->first, to, x->n, low, high);
  else if (x->step == (intptr_t) x->bytes && x->bytes == 8)
    (wide ? gompy_extremes_long_avx2 : gompy_extremes_long) (x->first, to, x->n, low, high);
  else
    for (size_t i = 0; i < x->n; i++)
      {
        int64_t index = gompy_index (x, i);
        *low = index < *low ? index : *low;
        *high = index > *high ? index : *high;
        if (to != NULL)
          memcpy ((char *) to + i * x->bytes, (const char *) x->first + x->step * (intptr_t) i, x->bytes);
      }
}

/* The bytes [*BEGIN, *END) among which all accesses of SIZE at ADDRESS + SCALE * index are.  0: they go round the end
   of all addresses.  */
static inline int
gompy_index_span (uintptr_t address, intptr_t scale, int64_t low, int64_t high, size_t size, uintptr_t *begin,
                  uintptr_t *end)
{
  intptr_t first, last, at = (intptr_t) address;
  if (__builtin_mul_overflow (scale < 0 ? high : low, scale, &first)
      || __builtin_mul_overflow (scale < 0 ? low : high, scale, &last) || __builtin_add_overflow (at, first, &first)
      || __builtin_add_overflow (at, last, &last) || first < 0 || __builtin_add_overflow (last, (intptr_t) size, &last))
    return 0;
  *begin = (uintptr_t) first;
  *end = (uintptr_t) last;
  return 1;
}

#endif
