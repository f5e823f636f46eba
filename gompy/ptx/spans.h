/* Which turns of a loop need no checks (spans.py): a span is what an access of the loop comes to, turn by turn, at a
   fixed distance.  What of device memory is all written is noted for each block of 1 << GOMPY_WHOLE_SHIFT bytes.  */
#ifndef GOMPY_PTX_SPANS_H
#define GOMPY_PTX_SPANS_H

#include <string.h>

#include "checked_rows.h"
#include "gompy/native/shadow_marks.h"
#include "warp.h"

_Static_assert (PTX_WHOLE_SHIFT == GOMPY_WHOLE_SHIFT && (int) PTX_WHOLE_WRITTEN == (int) GOMPY_WHOLE_WRITTEN,
                "executor.h and gompy/abi/ptx.py have the same");

/* What compiled code fills in: first address, distance from turn to turn, SPAN_*.  */
struct gompy_span
{
  uint64_t start;
  int64_t step;
  uint64_t what;
};

enum { GOMPY_WHOLE_BLOCK = 1 << GOMPY_WHOLE_SHIFT };
enum { GOMPY_LOOKS_MOST = 8 * GOMPY_LOOKS };
enum { GOMPY_SPAN_NEAR = 128, GOMPY_SPAN_COLUMN = 512 };  /* bytes of a short distance, turns of a long one */

/* What a host thread writes into a block's byte while it looks: nobody else writes that.  0: no number is left, and
   what the thread finds is not noted.  */
static uint8_t
gompy_looker (void)
{
  static __thread int looker = -1;
  static uint32_t lookers;
  if (looker < 0)
    {
      uint32_t number = __atomic_fetch_add (&lookers, 1, __ATOMIC_RELAXED);
      looker = number < 256 - PTX_WHOLE_LOOKER ? (int) (PTX_WHOLE_LOOKER + number) : 0;
    }
  return (uint8_t) looker;
}

/* Whether a block is all written.  Who takes that away meanwhile gives its byte another value behind that, and so does
   another thread that looks: what was found then is not noted.  */
static __attribute__ ((optimize ("O3"))) int
gompy_look_whole (struct gompy_warp *w, uint64_t block)
{
  const uint8_t *shadow = w->shadow + (block << GOMPY_WHOLE_SHIFT);
  uint8_t looker = gompy_looker (), differs = 0, all = 1;
  if (looker)
    __atomic_exchange_n (&w->whole[block], looker, __ATOMIC_SEQ_CST);
  for (uint32_t i = 0; i < GOMPY_WHOLE_BLOCK; i++)
    differs |= shadow[i] ^ 3, all &= shadow[i];
  if (looker)
    __atomic_compare_exchange_n (&w->whole[block], &looker,
                                 !differs ? PTX_WHOLE_WRITTEN
                                 : all    ? PTX_WHOLE_ALLOCATED
                                          : PTX_WHOLE_UNKNOWN,
                                 0, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
  return !differs;
}

/* An access that the executor is asked about: where code has had many to blocks that were not known as written, this
   one's block is looked at.  Each look in vain, as at a stack or at an array that is being written, has the next one
   come after twice as many.  */
static inline void
gompy_look_seldom (struct gompy_warp *w, uint64_t address)
{
  uint64_t offset = address - w->base;
  if (w->looks >= 0)
    return;
  if (offset < w->size - GOMPY_WHOLE_BLOCK && gompy_look_whole (w, offset >> GOMPY_WHOLE_SHIFT))
    w->look_each = GOMPY_LOOKS;
  else if (w->look_each < GOMPY_LOOKS_MOST)
    w->look_each = w->look_each ? 2 * w->look_each : GOMPY_LOOKS;
  w->looks = w->look_each;
}

static inline int
gompy_state_of (struct gompy_warp *w, uint64_t block)
{
  return __atomic_load_n (&w->whole[block], __ATOMIC_RELAXED);
}

/* The first of some bytes that is not written, or LAST; where they are to be written, that is not allocated, and MARKS
   says whether any is not written yet.  */
static uint64_t
gompy_bad_byte (struct gompy_warp *w, uint64_t at, uint64_t last, int writes, uint32_t *marks)
{
  for (uint64_t length; at < last; at += length)
    {
      uint64_t eight = GOMPY_ALL_WRITTEN;
      length = last - at < 8 ? last - at : 8;
      memcpy (&eight, w->shadow + at, length);
      if (eight == GOMPY_ALL_WRITTEN)
        continue;
      uint64_t bad = writes ? ~eight & GOMPY_ALL_ALLOCATED : eight ^ GOMPY_ALL_WRITTEN;
      if (bad)
        return at + (uint64_t) __builtin_ctzll (bad) / 8;
      *marks = GOMPY_TURNS_MARKED;
    }
  return last;
}

/* The same, block by block: of some it is known what they are.  Offsets in device memory.  */
static uint64_t
gompy_good_until (struct gompy_warp *w, uint64_t at, uint64_t end, int writes, uint32_t *marks)
{
  while (at < end)
    {
      uint64_t block = at >> GOMPY_WHOLE_SHIFT, next = (block + 1) << GOMPY_WHOLE_SHIFT;
      uint64_t last = next < end ? next : end, bad;
      int state = gompy_state_of (w, block);
      if (writes && state == PTX_WHOLE_ALLOCATED)
        *marks = GOMPY_TURNS_MARKED;
      else if (state != PTX_WHOLE_WRITTEN && (last - at < GOMPY_WHOLE_BLOCK / 4 || !gompy_look_whole (w, block))
               && (bad = gompy_bad_byte (w, at, last, writes, marks)) != last)
        return bad;
      at = last;
    }
  return end;
}

/* How many turns of a span are good, MOST at most.  */
static uint32_t
gompy_span_turns (struct gompy_warp *w, const struct gompy_span *s, uint32_t most, uint32_t *marks)
{
  uint64_t at = s->start - w->base, bytes = s->what & (GOMPY_SPAN_WRITES - 1), until;
  uint64_t room = w->size - GOMPY_WHOLE_BLOCK - bytes;  /* the last bytes of all are left to others */
  uint64_t size = s->what >> GOMPY_SPAN_SIZE_AT;
  int writes = (s->what & GOMPY_SPAN_WRITES) != 0;
  uint32_t n = 0;
  if (at > room || (s->start | (uint64_t) s->step) & (size - 1))
    return 0;
  if (s->step == 0)
    return gompy_good_until (w, at, at + bytes, writes, marks) == at + bytes ? most : 0;
  if (s->step > 0 && s->step <= GOMPY_SPAN_NEAR)
    {
      uint64_t length = (uint64_t) s->step * (most - 1) + bytes;
      uint64_t end = length < room - at ? at + length : room;
      until = gompy_good_until (w, at, end, writes, marks) - at;
      if (until < bytes)
        return 0;
      until = (until - bytes) / (uint64_t) s->step + 1;
      return until < most ? (uint32_t) until : most;
    }
  most = most < GOMPY_SPAN_COLUMN ? most : GOMPY_SPAN_COLUMN;
  for (; n < most && at <= room; n++, at += (uint64_t) s->step)
    if ((gompy_state_of (w, at >> GOMPY_WHOLE_SHIFT) != PTX_WHOLE_WRITTEN
         || gompy_state_of (w, (at + bytes - 1) >> GOMPY_WHOLE_SHIFT) != PTX_WHOLE_WRITTEN)
        && gompy_good_until (w, at, at + bytes, writes, marks) != at + bytes)
      break;
  return n;
}

/* How many turns of a loop need no checks, MOST at most; TURNS_MARKED.  */
static uint32_t
gompy_good_turns (struct gompy_warp *w, struct gompy_span *spans, uint32_t count, uint32_t most)
{
  uint32_t marks = 0;
  for (uint32_t i = 0; i < count && most; i++)
    most = gompy_span_turns (w, &spans[i], most, &marks);
  return most ? most | marks : 0;
}

/* As many turns are done: what they have written is marked.  */
static __attribute__ ((optimize ("O3"))) void
gompy_mark_turns (struct gompy_warp *w, const struct gompy_span *spans, uint32_t count, uint32_t turns)
{
  for (uint32_t i = 0; i < count; i++)
    {
      uint64_t at = spans[i].start - w->base, bytes = spans[i].what & (GOMPY_SPAN_WRITES - 1);
      if (!(spans[i].what & GOMPY_SPAN_WRITES))
        continue;
      if ((uint64_t) spans[i].step == bytes)
        {
          uint64_t end = at + bytes * turns;
          gompy_mark_written (w->shadow + at, end - at);
          uint64_t block = (at + GOMPY_WHOLE_BLOCK - 1) >> GOMPY_WHOLE_SHIFT;
          for (; block < end >> GOMPY_WHOLE_SHIFT; block++)
            {
              uint8_t state = PTX_WHOLE_ALLOCATED;
              __atomic_compare_exchange_n (&w->whole[block], &state, PTX_WHOLE_WRITTEN, 0, __ATOMIC_SEQ_CST,
                                           __ATOMIC_RELAXED);
            }
        }
      else
        for (uint32_t n = turns; n--; at += (uint64_t) spans[i].step)
          gompy_mark_written (w->shadow + at, bytes);
    }
}

#endif
