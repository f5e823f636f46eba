/* The device's side of -foffload-check: all accesses of a loop at once (gompy/access/loops.cc).

   Only what is fine is noted here; where anything is not, the loop tells of each access.  Within an interval a thread's
   word stays the same, so what it has noted with that word need not be looked at again: the last spans, and columns of
   matrices, are remembered.  Included once, by device_access.h.  */
#ifndef GOMPY_DEVICE_RANGES_H
#define GOMPY_DEVICE_RANGES_H

#include <pthread.h>

#define MIC_SPANS 8u
#define MIC_FENCED 256u  /* bytes */
#define MIC_COLUMNS 1024u /* a power of 2 */

/* Bytes that the thread has noted, all of them, with this word.  */
struct mic_span
{
  uint64_t word, begin, end;
};

struct mic_column
{
  uint64_t word, offset, step, n, size;
};

struct mic_noted
{
  struct mic_span spans[2][MIC_SPANS];
  unsigned next[2];
  struct mic_column columns[2][MIC_COLUMNS];
};

static __thread struct mic_noted *mic_noted;
static pthread_key_t mic_noted_key;

static void
mic_make_noted_key (void)
{
  pthread_key_create (&mic_noted_key, free);
}

/* What the calling thread remembers, or NULL.  */
static struct mic_noted *
mic_own_noted (void)
{
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  if (mic_noted != NULL)
    return mic_noted;
  pthread_once (&once, mic_make_noted_key);
  mic_noted = calloc (1, sizeof *mic_noted);
  pthread_setspecific (mic_noted_key, mic_noted);
  return mic_noted;
}

/* Whether all of N bytes are good: those of whole kilobytes are not looked at again until the host changes marks.  */
static int
mic_is_span_good (uint64_t offset, uint64_t n)
{
  for (uint64_t next, end = offset + n; offset < end; offset = next)
    {
      next = (offset & -(uint64_t) MIC_BLOCK) + MIC_BLOCK;
      next = next < end ? next : end;
      if (!mic_is_good (&mic_blocks[offset / MIC_BLOCK], offset)
          && !mic_are_good (mic_marks + offset, next - offset))
        return 0;
    }
  return 1;
}

/* ALONE: the loop's reads are told of one by one, and must see what is unset until it is written.  */
static int
mic_marks_written (uint64_t offset, size_t n, int alone)
{
  if (mic_is_span_good (offset, n))
    return 1;
  if (alone || memchr (mic_marks + offset, MIC_MARK_CLOSED, n) != NULL)
    return 0;
  memset (mic_marks + offset, MIC_MARK_GOOD, n);
  return 1;
}

/* Whether an access is ordered with what others did, as a cell or block has it.  */
static inline int
mic_is_ordered (const _Atomic uint64_t *place, uint64_t mine, unsigned mask)
{
  return __builtin_expect (!mic_of_others (place, mine, mask), 1)
         || !mic_unordered (atomic_load_explicit (place, memory_order_relaxed), mask);
}

/* Whether it is with all that has been noted of a block, and of its cells: what others have written, or what they have
   read, in their logs, too.  */
static int
mic_is_block_ordered (uint64_t offset, int written)
{
  struct mic_block *block = &mic_blocks[offset / MIC_BLOCK];
  const _Atomic uint64_t *cells = written ? mic_cells.writes : mic_cells.reads;
  uint64_t first = offset / MIC_BLOCK * (MIC_BLOCK / 8), mine = mic_word | 0xff;
  if (!mic_is_ordered (written ? &block->write : &block->read, mine, 0xff)
      || (!written && !mic_is_ordered (&block->before, mine, 0xff)))
    return 0;
  if (!written)
    mic_settle (offset);
  if (!written && mic_has_cells (&block->last_before))
    for (unsigned i = 0; i < MIC_BLOCK / 8; i++)
      if (!mic_is_ordered (&mic_cells.befores[first + i], mine, 0xff))
        return 0;
  if (!mic_has_cells (written ? &block->last_write : &block->last_read))
    return 1;
  mic_come_near (block);
  for (unsigned i = 0; i < MIC_BLOCK / 8; i++)
    if (!mic_is_ordered (&cells[first + i], mine, 0xff))
      return 0;
  return 1;
}

/* Whether the calling thread may note an access in the cells of a block without a look at each.  */
static int
mic_may_own (struct mic_block *block, int writes)
{
  if (writes)
    mic_make_room (block);
  if (!mic_owns (block))
    mic_come_in (block);
  return mic_owns (block);
}

/* The cells of a block have notes of the calling thread's interval.  */
static inline void
mic_note_last (struct mic_block *block, int writes)
{
  _Atomic uint32_t *last = writes ? &block->last_write : &block->last_read;
  uint32_t interval = mic_word >> 16 & 0xffffff;
  if (atomic_load_explicit (last, memory_order_relaxed) < interval)
    atomic_store_explicit (last, interval, memory_order_relaxed);
}

/* Whether the calling thread was right not to look, now that others see what it has noted: the block is still its own,
   and nothing that is noted of all of the block races.  */
static inline int
mic_was_alone (struct mic_block *block, uint64_t offset, int writes)
{
  return mic_owns (block) && mic_is_ordered (&block->write, mic_word | 0xff, 0xff)
         && (!writes || (mic_is_ordered (&block->read, mic_word | 0xff, 0xff)
                         && mic_is_ordered (&block->before, mic_word | 0xff, 0xff) && !mic_settle (offset)));
}

/* The same behind notes in its cells, of N bytes.  Few are not worth a fence, as single accesses are not.  */
static int
mic_is_still_own (struct mic_block *block, uint64_t offset, size_t n, int writes)
{
  mic_note_last (block, writes);
  if (n >= MIC_FENCED || mic_is_first ())
    atomic_thread_fence (memory_order_seq_cst);
  return mic_was_alone (block, offset, writes);
}

/* Note an access to bytes of a block that is the thread's.  0: it is not, or that is to be looked at.  */
static int
mic_note_own_part (struct mic_block *block, uint64_t offset, uint64_t end, int writes, const void *pc)
{
  _Atomic uint64_t *cells = writes ? mic_cells.writes : mic_cells.reads;
  uint32_t *pcs = writes ? mic_cells.write_pcs : mic_cells.read_pcs, place = (uint32_t) (uintptr_t) pc;
  if (!mic_may_own (block, writes))
    return 0;
  for (uint64_t at = offset & ~7ull; at < end; at += 8)
    {
      unsigned first = offset > at ? offset - at : 0, last = end - at < 8 ? end - at : 8;
      mic_note_own (&cells[at / 8], &pcs[at / 8], (1u << last) - (1u << first), place);
    }
  return mic_is_still_own (block, offset, end - offset, writes);
}

/* Whether a write to bytes of a block is ordered with what others have read there, as its cells say.  */
static int
mic_are_reads_ordered (uint64_t offset, uint64_t end)
{
  for (uint64_t at = offset & ~7ull; at < end; at += 8)
    {
      unsigned first = offset > at ? offset - at : 0, last = end - at < 8 ? end - at : 8;
      unsigned mask = (1u << last) - (1u << first);
      if (!mic_is_ordered (&mic_cells.reads[at / 8], mic_word | mask, mask)
          || !mic_is_ordered (&mic_cells.befores[at / 8], mic_word | mask, mask))
        return 0;
    }
  return 1;
}

/* Note an access to bytes of one block.  0: it races.  In these functions, too, others are looked for when they can see
   the note.  */
static int
mic_note_part (uint64_t offset, uint64_t end, int writes, const void *pc)
{
  struct mic_block *block = &mic_blocks[offset / MIC_BLOCK];
  if (mic_has_atomics (block))
    return 0;
  if (mic_note_own_part (block, offset, end, writes, pc))
    return 1;
  for (uint64_t at = offset & ~7ull; at < end; at += 8)
    {
      unsigned first = offset > at ? offset - at : 0, last = end - at < 8 ? end - at : 8;
      unsigned mask = (1u << last) - (1u << first);
      if (writes && !mic_is_ordered (&mic_cells.writes[at / 8], mic_word | mask, mask))
        return 0;
      if (!mic_is_first ())
        mic_note (at / 8, block, mic_word | mask, writes, pc);
      else if (mic_note_first (at / 8, block, mic_word | mask, writes, pc))
        continue;
      if (!mic_is_ordered (&(writes ? mic_cells.reads : mic_cells.writes)[at / 8], mic_word | mask, mask)
          || (writes && mic_has_cells (&block->last_before)
              && !mic_is_ordered (&mic_cells.befores[at / 8], mic_word | mask, mask)))
        return 0;
    }
  return !mic_has_atomics (block) && mic_is_ordered (&block->write, mic_word | 0xff, 0xff)
         && (!writes || (mic_is_ordered (&block->read, mic_word | 0xff, 0xff)
                         && mic_is_ordered (&block->before, mic_word | 0xff, 0xff)
                         && (!mic_settle (offset) || mic_are_reads_ordered (offset, end))));
}

/* A read of all of a block is about to take the place of another thread's.  */
static void
mic_keep_block_before (struct mic_block *block)
{
  uint64_t word = atomic_load_explicit (&block->read, memory_order_relaxed);
  if (!mic_is_anothers (word, mic_word | 0xff))
    return;
  block->before_pc = block->read_pc;
  atomic_store_explicit (&block->before, word, memory_order_release);
}

/* Note an access to all of a block.  Its cells are looked at if this launch has noted anything in them.  */
static int
mic_note_block (uint64_t offset, int writes, const void *pc)
{
  struct mic_block *block = &mic_blocks[offset / MIC_BLOCK];
  _Atomic uint64_t *place = writes ? &block->write : &block->read;
  uint64_t before = atomic_load_explicit (place, memory_order_relaxed), word;
  uint32_t there;
  if (mic_has_atomics (block) || (writes && !mic_is_block_ordered (offset, 1)))
    return 0;
  if (!writes)
    mic_keep_block_before (block);
  word = mic_exchange_note (place, before, mic_word | 0xff, writes ? &block->write_pc : &block->read_pc, pc, &there);
  if (writes && mic_has_met (offset, word, there, mic_word | 0xff, pc))
    return 1;
  return !mic_has_atomics (block) && (!writes || !mic_is_first () || mic_is_block_ordered (offset, 1))
         && mic_is_block_ordered (offset, !writes);
}

static int
mic_note_span (uint64_t offset, uint64_t end, int writes, const void *pc)
{
  for (uint64_t next; offset < end; offset = next)
    {
      next = (offset & -(uint64_t) MIC_BLOCK) + MIC_BLOCK;
      next = next < end ? next : end;
      if (!(next - offset == MIC_BLOCK ? mic_note_block (offset, writes, pc)
                                       : mic_note_part (offset, next, writes, pc)))
        return 0;
    }
  return 1;
}

/* Bytes without a gap.  */
static int
mic_access_span (uint64_t offset, uint64_t end, int writes, int alone, const void *pc)
{
  struct mic_noted *noted = mic_word ? mic_own_noted () : NULL;
  struct mic_span *near = NULL;
  uint64_t begin = offset, stop = end;
  for (unsigned i = 0; noted != NULL && i < MIC_SPANS && near == NULL; i++)
    {
      struct mic_span *s = &noted->spans[writes][i];
      if (s->word == mic_word && s->begin <= end && offset <= s->end)
        near = s;
    }
  if (near != NULL && near->begin <= offset && end <= near->end)
    return 1;
  if (near != NULL && offset >= near->begin)
    begin = near->end;
  else if (near != NULL && end <= near->end)
    stop = near->begin;
  if (!(writes ? mic_marks_written (begin, stop - begin, alone) : mic_is_span_good (begin, stop - begin))
      || (mic_word && !mic_note_span (begin, stop, writes, pc)))
    return 0;
  if (noted == NULL)
    return 1;
  if (near == NULL)
    {
      near = &noted->spans[writes][noted->next[writes]++ % MIC_SPANS];
      *near = (struct mic_span){ mic_word, offset, end };
    }
  near->begin = offset < near->begin ? offset : near->begin;
  near->end = end > near->end ? end : near->end;
  return 1;
}

#include "device_columns.h"
#include "device_walks.h"

/* --- accesses that are told afterwards ---------------------------------------------------------------------------- */

/* Loops that may be left early are looked at ahead, as far as they may go.  Where they do not go as far by far, again
   and again, that ends: bytes that a thread may still look at, in a launch.  */
#define MIC_AHEAD_FREE 65536u
#define MIC_AHEAD_BYTES (64ll << 20)
#define MIC_AHEAD_TIMES 16

static __thread int64_t mic_ahead_left;
static __thread uint32_t mic_ahead_launch;

static int
mic_may_look_ahead (uint64_t size)
{
  if (mic_ahead_launch != mic_word_launch)
    {
      mic_ahead_launch = mic_word_launch;
      mic_ahead_left = MIC_AHEAD_BYTES;
    }
  if (size <= MIC_AHEAD_FREE)
    return 1;
  if (mic_ahead_left < (int64_t) size)
    return 0;
  mic_ahead_left -= (int64_t) size;
  return 1;
}

/* So much of it has been used.  */
static void
mic_earn (uint64_t size)
{
  mic_ahead_left += MIC_AHEAD_TIMES * (int64_t) size;
  mic_ahead_left = mic_ahead_left < MIC_AHEAD_BYTES ? mic_ahead_left : MIC_AHEAD_BYTES;
}

/* Whether any of a loop's accesses is fine as far as marks say: all between the first and the last is good, or what is
   not so is written only.  */
static int
mic_access_ahead (uintptr_t address, intptr_t step, size_t n, int kind)
{
  uint64_t offset = address - gompy_access.low, end, next;
  int writes = (kind & (GOMPY_RANGE_WRITES | GOMPY_RANGE_ALONE)) == GOMPY_RANGE_WRITES;
  if (step < 0)
    {
      offset += (uint64_t) step * (n - 1);
      step = -step;
    }
  if (offset >= mic_access_size || (n > 1 && (uint64_t) step > (mic_access_size - offset) / (n - 1)))
    return 0;
  end = offset + (uint64_t) step * (n - 1) + (kind & GOMPY_RANGE_SIZE);
  if (end > mic_access_size || ((kind & GOMPY_RANGE_EARLY) && !mic_may_look_ahead (end - offset)))
    return 0;
  for (; offset < end; offset = next)
    {
      next = (offset & -(uint64_t) MIC_BLOCK) + MIC_BLOCK;
      next = next < end ? next : end;
      if (!mic_is_good (&mic_blocks[offset / MIC_BLOCK], offset)
          && !mic_are_good (mic_marks + offset, next - offset)
          && (!writes || memchr (mic_marks + offset, MIC_MARK_CLOSED, next - offset) != NULL))
        return 0;
    }
  return 1;
}

static int __attribute__ ((noinline))
mic_new_range (uintptr_t address, intptr_t step, size_t n, int kind, const void *pc)
{
  size_t size = kind & GOMPY_RANGE_SIZE;
  uint64_t offset = address - gompy_access.low, distance;
  if (step < 0)
    {
      offset += (uint64_t) step * (n - 1);
      step = -step;
    }
  distance = (uint64_t) step;
  if (offset >= mic_access_size || (n > 1 && distance > (mic_access_size - offset) / (n - 1))
      || offset + distance * (n - 1) + size > mic_access_size)
    return 0;
  if (kind & GOMPY_RANGE_EARLY)
    mic_earn (distance * (n - 1) + size);
  if (distance <= size || n == 1)
    {
      int writes = (kind & GOMPY_RANGE_WRITES) != 0;
      size_t all = distance * (n - 1) + size;
      address = gompy_access.low + offset;
      return (kind & GOMPY_RANGE_ROW
                ? mic_span_walks (address, all, kind, pc)
                : all <= MIC_WALKED
                    && (mic_walks_on (address, all, writes, pc) || mic_walks_anew (address, all, writes, pc)))
             || mic_access_span (offset, offset + all, writes, (kind & GOMPY_RANGE_ALONE) != 0, pc);
    }
  return mic_access_column (offset, distance, n, size, kind, pc);
}

/* Few bytes forwards, as of a row of statements or a short loop, are a step of a walk as a rule.  */
static int
mic_access_range (uintptr_t address, intptr_t step, size_t n, int kind, const void *pc)
{
  size_t size = kind & GOMPY_RANGE_SIZE;
  if (n <= MIC_WALKED && (uint64_t) step <= size && !(kind & (GOMPY_RANGE_EARLY | GOMPY_RANGE_ROW)))
    {
      size_t all = (uint64_t) step * (n - 1) + size;
      if (all <= MIC_WALKED
          && mic_walks_on (address, all, (kind & GOMPY_RANGE_WRITES) != 0, pc))
        return 1;
    }
  return mic_new_range (address, step, n, kind, pc);
}

/* Note those of M accesses in one kilobyte of the thread's whose byte is not 0; nothing branches by that.  */
static int
mic_note_own_some (uint64_t at, uint64_t step, size_t m, size_t size, int writes, const unsigned char *which,
                   const void *pc)
{
  struct mic_block *block = &mic_blocks[at / MIC_BLOCK];
  _Atomic uint64_t *cells = writes ? mic_cells.writes : mic_cells.reads;
  uint32_t *pcs = writes ? mic_cells.write_pcs : mic_cells.read_pcs, place = (uint32_t) (uintptr_t) pc;
  unsigned bytes = size < 8 ? (1u << size) - 1 : 0xff;
  if (!mic_is_good (block, at) || !mic_may_own (block, writes))
    return 0;
  for (size_t i = 0; i < m;)
    {
      uint64_t cell = at / 8, word = atomic_load_explicit (&cells[cell], memory_order_relaxed), mask = 0, taken, mine;
      do  /* all of a cell at once: what has just been stored is not to be waited for */
        {
          mask |= bytes << at % 8 & -(unsigned) which[i];
          at += step;
        }
      while (++i < m && at / 8 == cell);
      taken = -(uint64_t) (mask != 0);
      mine = mic_word | mask | ((uint64_t) (((word ^ mic_word) & ~0xffull) == 0) * (word & 0xff));
      pcs[cell] ^= (pcs[cell] ^ place) & (uint32_t) taken;
      atomic_store_explicit (&cells[cell], word ^ ((word ^ mine) & taken), memory_order_release);
    }
  return mic_is_still_own (block, at - step, m * step, writes);
}

/* Those accesses of a loop have happened whose byte in WHICH is 1, and not 0.  */
static void
mic_access_some (uintptr_t address, intptr_t step, size_t n, int kind, const unsigned char *which, const void *pc)
{
  size_t size = kind & GOMPY_RANGE_SIZE, m;
  int writes = (kind & GOMPY_RANGE_WRITES) != 0;
  for (size_t i = 0; i < n; i += m, address += m * (uintptr_t) step)
    {
      uint64_t at = address - gompy_access.low;
      int any = mic_word != 0 && step > 0 && at < mic_access_size;
      m = any ? mic_keep_columns (at, (uint64_t) step, n - i, size, writes, which + i, pc) : 0;
      if (m != 0)
        continue;
      m = any ? mic_in_block (at, (uint64_t) step, n - i, size) : 0;
      if (m > 1 && ((memchr (which + i, 0, m) == NULL && mic_access_range (address, step, m, kind, pc))
                    || mic_note_own_some (at, (uint64_t) step, m, size, writes, which + i, pc)))
        continue;
      m = m > 1 ? m : 1;
      for (size_t k = 0; k < m; k++)
        if (which[i + k])
          (writes ? mic_access_write : mic_access_read) (address + k * (uintptr_t) step, size, pc);
    }
}

#endif
