/* The device's side of -foffload-check: accesses of a loop with a fixed distance, and gaps between.

   Included once, by device_ranges.h.  */
#ifndef GOMPY_DEVICE_COLUMNS_H
#define GOMPY_DEVICE_COLUMNS_H

#define MIC_COLUMN_BLOCKS 16u /* kilobytes that one fence is made for */
#define MIC_COLUMN_AHEAD 8    /* kilobytes whose words are fetched ahead */

/* How many of a column's accesses lie in the kilobyte of AT.  0: one has bytes of two cells, or may have.  */
static inline size_t
mic_in_block (uint64_t at, uint64_t step, size_t n, size_t size)
{
  uint64_t room = MIC_BLOCK - at % MIC_BLOCK;
  size_t m;
  if (size > 8 || (size & (size - 1)) != 0 || (at | step) % size != 0 || step == 0)
    return 0;
  m = (room - size) / step + 1;
  return m < n ? m : n;
}

/* Keep a column's accesses in some kilobytes from that of AT on, as far as these are the calling thread's: how many of
   N.  0: none.  WHICH: those whose byte is 1, in kilobytes where not all are; NULL: all.  All have one fence, as each
   waits until what is kept has come to the caches.  */
static size_t
mic_keep_columns (uint64_t at, uint64_t step, size_t n, size_t size, int writes, const unsigned char *which,
                  const void *pc)
{
  uint64_t begins[MIC_COLUMN_BLOCKS];
  uint32_t place = (uint32_t) (uintptr_t) pc;
  unsigned blocks = 0, i;
  if (step * (MIC_KEPT_LEAST - 1) >= MIC_BLOCK)
    return 0;
  for (size_t m, done = 0; blocks < MIC_COLUMN_BLOCKS && done < n && at < mic_access_size;
       blocks++, done += m, at += m * step)
    {
      struct mic_block *block = &mic_blocks[at / MIC_BLOCK];
      m = mic_in_block (at, step, n - done, size);
      if (m < MIC_KEPT_LEAST || (which != NULL && memchr (which + done, 0, m) == NULL))
        break;
      __builtin_prefetch (block + MIC_COLUMN_AHEAD, 1);
      if (which != NULL)
        __builtin_prefetch (mic_kept_some[block - mic_blocks + MIC_COLUMN_AHEAD].bits[writes], 1);
      if (mic_has_atomics (block) || !mic_is_good (block, at) || !mic_may_own (block, 0)
          || !(which != NULL ? mic_keep_some (block, at, step, m, size, writes, which + done, place)
                             : mic_keep_column (block, at, step, m, size, writes, place)))
        break;
      mic_note_last (block, writes);
      begins[blocks] = at;
    }
  if (blocks == 0)
    return 0;
  /* Who comes in reads what is kept once, and then never again.  */
  atomic_thread_fence (memory_order_seq_cst);
  for (i = 0; i < blocks && mic_was_alone (&mic_blocks[begins[i] / MIC_BLOCK], begins[i], writes); i++)
    ;
  return ((i < blocks ? begins[i] : at) - begins[0]) / step;
}

/* Note those of a column's accesses that lie in the kilobyte of AT and in no other, where it is the thread's: how many
   of N.  0: none.  */
static size_t
mic_note_own_column (uint64_t at, uint64_t step, size_t n, size_t size, int writes, const void *pc)
{
  struct mic_block *block = &mic_blocks[at / MIC_BLOCK];
  _Atomic uint64_t *cells = writes ? mic_cells.writes : mic_cells.reads;
  uint32_t *pcs = writes ? mic_cells.write_pcs : mic_cells.read_pcs, place = (uint32_t) (uintptr_t) pc;
  unsigned bytes = size < 8 ? (1u << size) - 1 : 0xff;
  size_t m = mic_in_block (at, step, n, size);
  if (m == 0 || mic_has_atomics (block) || !mic_is_good (block, at) || !mic_may_own (block, writes))
    return 0;
  for (size_t i = 0; i < m; i++)
    mic_note_own (&cells[(at + i * step) / 8], &pcs[(at + i * step) / 8], bytes << (at + i * step) % 8, place);
  return mic_is_still_own (block, at, m * step, writes) ? m : 0;
}

/* Bytes with gaps between.  */
static int
mic_access_column (uint64_t offset, uint64_t step, size_t n, size_t size, int kind, const void *pc)
{
  int writes = (kind & GOMPY_RANGE_WRITES) != 0;
  struct mic_noted *noted = mic_word ? mic_own_noted () : NULL;
  struct mic_column *column = NULL;
  if (noted != NULL)
    column = &noted->columns[writes][(offset / size ^ n * 31) % MIC_COLUMNS];
  if (column != NULL && column->word == mic_word && column->offset == offset && column->step == step
      && column->n == n && column->size == size)
    return 1;
  for (uint64_t at = offset, i = 0, m; i < n; i += m, at += m * step)
    {
      m = mic_word ? mic_keep_columns (at, step, n - i, size, writes, NULL, pc) : 0;
      if (m == 0 && mic_word)
        m = mic_note_own_column (at, step, n - i, size, writes, pc);
      if (m != 0)
        continue;
      m = 1;
      if (!(writes ? mic_marks_written (at, size, (kind & GOMPY_RANGE_ALONE) != 0)
                   : mic_are_good (mic_marks + at, size))
          || (mic_word && !mic_note_span (at, at + size, writes, pc)))
        return 0;
    }
  if (column != NULL)
    *column = (struct mic_column){ mic_word, offset, step, n, size };
  return 1;
}

#endif
