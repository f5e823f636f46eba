/* Accesses of shared memory are put off (races.h): while no word has been touched by two threads, or nobody has written
   it, since the last barrier of all, none of them can be a race, and behind the next such barrier they are over.  The
   first access that is otherwise has all of them looked at, and what follows as far as that barrier at once.  */
#ifndef GOMPY_PTX_RACE_LATER_H
#define GOMPY_PTX_RACE_LATER_H

#include "race_rows.h"
#include "race_soon.h"

/* Room for one more; NULL: there is none.  */
static inline struct gompy_later *
gompy_later_room (struct gompy_races *r)
{
  if (!r->later && !(r->later = malloc (GOMPY_LATER * sizeof *r->later)))
    return NULL;
  if (!r->later_lanes && !(r->later_lanes = malloc (GOMPY_LATER_LANES * sizeof *r->later_lanes)))
    return NULL;
  return r->nlater < GOMPY_LATER && r->nlater_lanes < GOMPY_LATER_LANES ? r->later + r->nlater : NULL;
}

/* An access may be a race: from here on all is looked at.  */
static inline int
gompy_later_no_more (struct gompy_races *r)
{
  r->puts_off = 0;
  return r->nlater ? -1 : 0;
}

/* Whether a row of aligned words is put off, lane 0's at FIRST.  1: it is; 0: look at it; -1: look at those that were
   put off before.  */
static inline int
gompy_race_row_later (struct gompy_races *r, const struct gompy_access *access, uint32_t mask, uint64_t first,
                      uint64_t shared_size)
{
  uint32_t size = access->size, shift = (uint32_t) __builtin_ctz (size) - 2, step;
  uint32_t low = (uint32_t) __builtin_ctz (mask), high = 31 - (uint32_t) __builtin_clz (mask);
  uint64_t offset = first - GOMPY_SHARED_BASE;
  struct gompy_later *later;
  if (!r->puts_off)
    return 0;
  if (offset + low * size >= shared_size && offset + high * size >= shared_size)
    return 0;
  if (offset + low * size >= shared_size || offset + (high + 1) * size > shared_size || offset % size)
    return gompy_later_no_more (r);
  if (!(later = gompy_later_room (r)))
    return gompy_later_no_more (r);
  uint32_t mine = gompy_mark_of (r, gompy_who_warp (access->who), access->in_step, &step);
  if (!(r->by_strips && size == 4
        && gompy_strips_row (r, (int32_t) ((int64_t) offset >> 2), mask, gompy_who_warp (access->who), access->in_step,
                             access->writes)))
    {
      if (r->by_strips)
        gompy_strips_end (r);
      if (!gompy_mark_row (r, (int64_t) offset >> 2, mask, shift, mine, step, access->writes))
        return gompy_later_no_more (r);
    }
  later->access = *access;
  later->mask = mask;
  later->its = later->lanes = 0;
  later->first = first;
  later->unit = NULL;
  r->nlater++;
  return 1;
}

/* The lanes whose addresses are in shared memory, and those of them that are aligned.  */
struct gompy_inside { uint32_t some, right; };

static inline struct gompy_inside
gompy_inside_usual (const uint64_t *a, uint32_t mask, uint64_t last, uint32_t size)
{
  struct gompy_inside inside = { 0, 0 };
  for (; mask; mask &= mask - 1)
    {
      uint64_t offset = a[__builtin_ctz (mask)] - GOMPY_SHARED_BASE;
      inside.some |= offset <= last ? mask & -mask : 0;
      inside.right |= offset <= last && !(offset & (size - 1)) ? mask & -mask : 0;
    }
  return inside;
}

static __attribute__ ((noinline, target ("avx512f"))) struct gompy_inside
gompy_inside_avx512 (const uint64_t *a, uint32_t mask, uint64_t last, uint32_t size)
{
  __m512i base = _mm512_set1_epi64 ((long long) GOMPY_SHARED_BASE), low = _mm512_set1_epi64 (size - 1);
  __m512i end = _mm512_set1_epi64 ((long long) last);
  struct gompy_inside inside = { 0, 0 };
#pragma GCC unroll 4
  for (int i = 0; i < GOMPY_LANES; i += 8)
    {
      __m512i offset = _mm512_sub_epi64 (_mm512_loadu_si512 (a + i), base);
      __mmask8 in = _mm512_mask_cmple_epu64_mask ((__mmask8) (mask >> i), offset, end);
      inside.some |= (uint32_t) in << i;
      inside.right |= (uint32_t) _mm512_mask_testn_epi64_mask (in, offset, low) << i;
    }
  return inside;
}

/* Of one address: ITS has GOMPY_EVERY_LANE and the lane, or GOMPY_WHO_ALL.  */
static inline int
gompy_mark_one (struct gompy_races *r, const struct gompy_access *access, uint64_t offset, uint32_t its)
{
  uint32_t step, mine = gompy_mark_of (r, gompy_who_warp (access->who), access->in_step, &step);
  int right = 1, several = (its & GOMPY_WHO_ALL && step) || access->size < 4;
  mine += several ? GOMPY_MARK_WIDE : (its & 31) * step;
  for (uint32_t i = 0; i < (access->size + 3) / 4; i++)
    right &= gompy_mark (&r->marks[offset / 4 + i], mine, access->writes);
  return right;
}

/* The same of addresses of lanes (ITS 0), or of one address.  What is in other memory is not put off.  */
static inline int
gompy_race_later (struct gompy_races *r, const struct gompy_access *access, uint32_t mask, const uint64_t *a,
                  uint32_t its, uint64_t shared_size)
{
  uint32_t size = access->size, lanes = its ? 1 : mask, step;
  struct gompy_inside inside;
  struct gompy_later *later;
  if (!r->puts_off || shared_size < size)
    return 0;
  inside = !its && __builtin_cpu_supports ("avx512f") ? gompy_inside_avx512 (a, lanes, shared_size - size, size)
                                                      : gompy_inside_usual (a, lanes, shared_size - size, size);
  if (!inside.some)
    return 0;
  if (inside.right != lanes)
    return gompy_later_no_more (r);
  if (access->who & GOMPY_WHO_STRONG || size & (size - 1) || size > 16 || !(later = gompy_later_room (r)))
    return gompy_later_no_more (r);
  uint32_t mine = gompy_mark_of (r, gompy_who_warp (access->who), access->in_step, &step);
  if (r->by_strips)
    gompy_strips_end (r);
  if (!(its ? gompy_mark_one (r, access, *a - GOMPY_SHARED_BASE, its)
            : gompy_mark_lanes (r, a, mask, size, mine, step, access->writes)))
    return gompy_later_no_more (r);
  later->access = *access;
  later->mask = mask;
  later->its = its;
  later->lanes = 0;
  later->first = *a;
  later->unit = NULL;
  if (!its)
    {
      memcpy (r->later_lanes[r->nlater_lanes], a, sizeof *r->later_lanes);
      later->lanes = ++r->nlater_lanes;
    }
  r->nlater++;
  return 1;
}

static inline void
gompy_row_lanes (uint64_t *row, uint64_t first, uint32_t size)
{
  for (uint32_t lane = 0; lane < GOMPY_LANES; lane++)
    row[lane] = first + lane * size;
}

/* The lanes' addresses of one that was put off; ROW: room for those of a row.  */
static inline const uint64_t *
gompy_later_lanes (const struct gompy_races *r, const struct gompy_later *later, uint64_t *row)
{
  if (later->lanes)
    return r->later_lanes[later->lanes - 1];
  gompy_row_lanes (row, later->first, later->access.size);
  return row;
}

/* A row of aligned words, looked at now.  Those of its lanes that are left: all from the first on that is not surely
   right.  */
static inline uint32_t
gompy_race_row_now (struct gompy_races *r, struct gompy_access *access, uint32_t mask, uint64_t first,
                    uint64_t shared_size)
{
  uint32_t size = access->size, shift = (uint32_t) __builtin_ctz (size) - 2;
  while (mask)
    {
      int lane = __builtin_ctz (mask), lanes = (int) gompy_row_length (mask, lane);
      uint64_t number, at = first + (uint64_t) lane * size;
      uint32_t count = (uint32_t) lanes << shift;
      const struct gompy_space *space = gompy_race_place (r, access, at, shared_size, &number);
      if (lanes < 2 || at % size || !space
          || gompy_race_place (r, access, at + (uint64_t) lanes * size - 1, shared_size, &(uint64_t) { 0 }) != space)
        return mask;
      int right = (int) (gompy_race_row (r, access, space, number, count, lane, (int) shift) >> shift);
      lane += right;
      mask = lane < GOMPY_LANES ? mask >> lane << lane : 0;
      if (right < lanes)
        return mask;
    }
  return mask;
}

/* Those that were put off are taken out to be looked at.  How many.  */
static inline uint32_t
gompy_race_take_later (struct gompy_races *r)
{
  uint32_t count = r->nlater;
  r->nlater = r->nlater_lanes = 0;
  r->gain = r->gain > 4 * (int32_t) count - GOMPY_GAIN ? r->gain - 4 * (int32_t) count : -GOMPY_GAIN;
  return count;
}

#endif
