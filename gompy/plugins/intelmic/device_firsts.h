/* The device's side of -foffload-check: the first accesses of a thread behind a barrier.

   Who looks at a cell, and then notes, misses another one who does both at the same time.  Threads come from a barrier
   together, and from the first access to a page of cells, too: there that is not rare.  So the first notes of each
   interval are made by an exchange, which takes longer: the second one finds what the first has noted.  Who goes on
   from there, in a loop, races in more cells than one.  Included once, by device_access.h.  */
#ifndef GOMPY_DEVICE_FIRSTS_H
#define GOMPY_DEVICE_FIRSTS_H

#define MIC_FIRSTS 256u

/* The calling thread has come into an interval.  */
static void
mic_new_firsts (void)
{
  mic_firsts = MIC_FIRSTS;
}

/* Whether a note is one of the interval's first.  */
static inline int
mic_is_first (void)
{
  if (__builtin_expect (mic_firsts == 0, 1))
    return 0;
  mic_firsts--;
  return 1;
}

/* A note of the calling thread's has taken the place of WORD, and of its place of code.  1: that is another one's write
   that nothing can have ordered, and is told.  */
static int
mic_has_met (uint64_t offset, uint64_t word, uint32_t there, uint64_t mine, const void *pc)
{
  unsigned mask = word & mine & 0xff;
  if (((word ^ mine) & ~0xffull) == 0 || (word >> 16 & 0xffffff) <= mic_word_floor || !mic_unordered (word, mask))
    return 0;
  mic_access_found (MIC_RACE_WRITE_WRITE, gompy_access.low + offset + (unsigned) __builtin_ctz (mask), pc,
                    ((uintptr_t) pc & ~0xffffffffull) | there);
  return 1;
}

/* Exchange NOTE for what *PLACE has, which BEFORE was, and with it its place of code in *PCS, which comes back in
   *THERE.  Another one's two exchanges may come between these two.  */
static inline uint64_t
mic_exchange_note (_Atomic uint64_t *place, uint64_t before, uint64_t note, uint32_t *pcs, const void *pc,
                   uint32_t *there)
{
  uint32_t own = (uint32_t) (uintptr_t) pc;
  uint64_t word;
  *there = __atomic_exchange_n (pcs, own, __ATOMIC_RELAXED);
  word = atomic_exchange (place, note);
  if (__builtin_expect (word != before, 0) && __atomic_load_n (pcs, __ATOMIC_RELAXED) != own)
    *there = __atomic_exchange_n (pcs, own, __ATOMIC_RELAXED);
  return word;
}

/* Note in a cell what the calling thread has done, so that of two who do that at the same time the second one finds the
   first one's note, and either what is noted of the block.  1: it races, and is told.  */
static int __attribute__ ((noinline))
mic_note_first (uint64_t cell, struct mic_block *block, uint64_t mine, int writes, const void *pc)
{
  _Atomic uint64_t *place = &(writes ? mic_cells.writes : mic_cells.reads)[cell];
  _Atomic uint32_t *last = writes ? &block->last_write : &block->last_read;
  uint32_t *pcs = &(writes ? mic_cells.write_pcs : mic_cells.read_pcs)[cell], there;
  uint64_t before = atomic_load_explicit (place, memory_order_relaxed), word;
  uint32_t interval = mine >> 16 & 0xffffff;
  uint64_t whole = (uint64_t) (((before ^ mine) & ~0xffull) == 0) * (before & 0xff);
  if (!writes && mic_is_anothers (before, mine))
    mic_keep_before (cell, block, before, *pcs);
  if (atomic_load_explicit (last, memory_order_relaxed) < interval)
    atomic_store_explicit (last, interval, memory_order_relaxed);
  word = mic_exchange_note (place, before, mine | whole, pcs, pc, &there);
  if (!writes)
    {
      if (word != before && mic_is_anothers (word, mine))
        mic_keep_before (cell, block, word, there);
      return 0;
    }
  return mic_has_met (cell * 8, word, there, mine, pc)
         || mic_has_met (cell * 8, atomic_load_explicit (&block->write, memory_order_relaxed), block->write_pc, mine,
                         pc);
}

#endif
