/* The device's side of -foffload-check: the writes of a scatter, noted in the order of memory.

   At random places each note is a line of memory from no cache, of cells as of places of code.  So a scatter first
   marks, in a table of its thread's, which elements it writes: a bit for each, which nearer caches have than bytes.
   Then it goes through that from its begin to its end, kilobyte by kilobyte.  All its notes have one word and one
   place of code, so what is noted is the same in any order.  Included once, by device_gather.h.  */
#ifndef GOMPY_DEVICE_SCATTER_H
#define GOMPY_DEVICE_SCATTER_H

#define MIC_SCATTER_LEAST 1024u           /* accesses that are worth it */
#define MIC_SCATTER_WIDE 128u             /* bytes of memory for each of them; beyond that most of the table is empty */
#define MIC_SCATTER_ROOM (64ull << 20)    /* bytes of a table, each for a cell at least */
#define MIC_BLOCK_CELLS (MIC_BLOCK / 8)

static __thread unsigned char *mic_scattered; /* bits from the first kilobyte on; 0 between scatters */
static pthread_key_t mic_scattered_key;

static void
mic_free_scattered (void *table)
{
  munmap (table, MIC_SCATTER_ROOM);
}

static void
mic_make_scattered_key (void)
{
  pthread_key_create (&mic_scattered_key, mic_free_scattered);
}

static unsigned char *
mic_own_scattered (void)
{
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  if (mic_scattered != NULL)
    return mic_scattered;
  pthread_once (&once, mic_make_scattered_key);
  mic_scattered = mic_reserve (MIC_SCATTER_ROOM);
  pthread_setspecific (mic_scattered_key, mic_scattered);
  return mic_scattered;
}

/* Mark elements of 1 << SHIFT bytes at OFFSET + SCALE * index.  */
static inline __attribute__ ((always_inline)) void
mic_mark_scatter (unsigned char *table, uint64_t offset, intptr_t scale, const struct gompy_indices *x, unsigned bytes,
                  unsigned shift)
{
  const char *place = x->first;
  for (size_t i = 0; i < x->n; i++, place += x->step)
    {
      uint64_t element = (offset + (uint64_t) (scale * gompy_index_of (place, bytes, x->is_unsigned))) >> shift;
      table[element / 8] |= (unsigned char) (1u << element % 8);
    }
}

/* Each of 8 bits as so many as an element of 1 << SHIFT bytes has bytes.  */
static inline __attribute__ ((always_inline)) uint64_t
mic_spread (uint64_t bits, unsigned shift)
{
  static const uint64_t halves[4] = { 0, 0x0f0f, 0xf000f, 0xf0000000full };
  static const uint64_t pairs[4] = { 0, 0x3333, 0x3030303, 0x3000300030003ull };
  static const uint64_t ones[4] = { 0, 0x5555, 0x11111111, 0x101010101010101ull };
  const unsigned apart = (1u << shift) - 1;
  if (shift == 0)
    return bits;
  bits = (bits | bits << 4 * apart) & halves[shift];
  bits = (bits | bits << 2 * apart) & pairs[shift];
  bits = (bits | bits << apart) & ones[shift];
  return bits * ((1u << (1u << shift)) - 1);
}

/* What a scatter writes of a kilobyte, the bytes of each cell, from a thread's table, which is 0 then.  */
static inline __attribute__ ((always_inline)) void
mic_take_scattered (unsigned char *table, unsigned shift, uint8_t *masks)
{
  for (unsigned i = 0; i < MIC_BLOCK_CELLS >> shift; i++)
    {
      uint64_t bytes = mic_spread (table[i], shift);
      memcpy (masks + (i << shift), &bytes, 1u << shift);
    }
  memset (table, 0, MIC_BLOCK_CELLS >> shift);
}

/* Whether all bytes that are written are good; FIRST: the kilobyte's first cell.  */
static int
mic_are_cells_good (uint64_t first, const uint8_t *masks)
{
  for (unsigned i = 0; i < MIC_BLOCK_CELLS; i++)
    for (unsigned mask = masks[i]; mask != 0; mask &= mask - 1)
      if (mic_marks[(first + i) * 8 + (unsigned) __builtin_ctz (mask)] != MIC_MARK_GOOD)
        return 0;
  return 1;
}

/* Whether the writes are ordered with what others have in CELLS.  Nothing branches by which are written, here and where
   they are noted: that is not to be foreseen.  */
static int
mic_are_cells_ordered (const _Atomic uint64_t *cells, const uint8_t *masks)
{
  int others = 0;
  for (unsigned i = 0; i < MIC_BLOCK_CELLS; i++)
    others |= mic_of_others (&cells[i], mic_word, masks[i]);
  if (others)
    for (unsigned i = 0; i < MIC_BLOCK_CELLS; i++)
      if (!mic_is_ordered (&cells[i], mic_word, masks[i]))
        return 0;
  return 1;
}

/* Note them in their cells; FIRST: the kilobyte's first one.  What is not written is noted nowhere.  */
static void
mic_note_masks (uint64_t first, const uint8_t *masks, uint32_t pc)
{
  _Atomic uint64_t none[MIC_BLOCK_CELLS], *cells[2] = { none, &mic_cells.writes[first] };
  uint32_t none_pcs[MIC_BLOCK_CELLS], *pcs[2] = { none_pcs, &mic_cells.write_pcs[first] };
  for (unsigned i = 0; i < MIC_BLOCK_CELLS; i++)
    mic_note_own (&cells[masks[i] != 0][i], &pcs[masks[i] != 0][i], masks[i], pc);
}

/* Note the writes to one kilobyte.  0: not all is fine, or that is to be looked at.  */
static int
mic_note_scattered (uint64_t offset, const uint8_t *masks, uint32_t pc)
{
  struct mic_block *block = &mic_blocks[offset / MIC_BLOCK];
  uint64_t first = offset / 8;
  uint32_t interval = mic_word >> 16 & 0xffffff;
  int own;
  if (mic_has_atomics (block) || (!mic_is_good (block, offset) && !mic_are_cells_good (first, masks)))
    return 0;
  if (mic_word == 0)
    return 1;
  own = mic_may_own (block, 1);
  if (!own && (!mic_is_ordered (&block->write, mic_word, 0xff)
               || (mic_has_cells (&block->last_write) && !mic_are_cells_ordered (&mic_cells.writes[first], masks))))
    return 0;
  mic_note_masks (first, masks, pc);
  if (own && mic_is_still_own (block, offset, MIC_BLOCK, 1))
    return 1;
  if (own && (!mic_is_ordered (&block->write, mic_word, 0xff)
              || !mic_are_cells_ordered (&mic_cells.writes[first], masks)))
    return 0;  /* who has come in meanwhile may have written first */
  if (atomic_load_explicit (&block->last_write, memory_order_relaxed) < interval)
    atomic_store_explicit (&block->last_write, interval, memory_order_relaxed);
  atomic_thread_fence (memory_order_seq_cst);
  mic_settle (offset);
  return !mic_has_atomics (block) && mic_is_ordered (&block->write, mic_word, 0xff)
         && mic_is_ordered (&block->read, mic_word, 0xff) && mic_is_ordered (&block->before, mic_word, 0xff)
         && (!mic_has_cells (&block->last_read) || mic_are_cells_ordered (&mic_cells.reads[first], masks))
         && (!mic_has_cells (&block->last_before) || mic_are_cells_ordered (&mic_cells.befores[first], masks));
}

/* Whether nothing of a kilobyte is in a table.  */
static inline int
mic_is_unscattered (const unsigned char *table, unsigned shift)
{
  uint64_t word, any = 0;
  for (unsigned i = 0; i < MIC_BLOCK_CELLS >> shift; i += sizeof word)
    {
      memcpy (&word, table + i, sizeof word);
      any |= word;
    }
  return any == 0;
}

/* Note a scatter to elements of 1 << SHIFT bytes.  1: nothing is wrong; 0: not all is fine.  */
static inline __attribute__ ((always_inline)) int
mic_note_elements (unsigned char *table, uint64_t low, uint64_t end, uint64_t offset, intptr_t scale,
                   const struct gompy_indices *x, unsigned shift, uint32_t pc)
{
  int fine = 1;
  if (x->bytes == 4)
    mic_mark_scatter (table, offset - low, scale, x, 4, shift);
  else
    mic_mark_scatter (table, offset - low, scale, x, x->bytes, shift);
  for (; low < end; low += MIC_BLOCK, table += MIC_BLOCK_CELLS >> shift)
    {
      uint8_t masks[MIC_BLOCK_CELLS];
      if (mic_is_unscattered (table, shift))
        continue;
      mic_take_scattered (table, shift, masks);
      fine = fine && mic_note_scattered (low, masks, pc);
    }
  return fine;
}

/* Note a scatter among [BEGIN, END) of the arena.  1: it is noted, and nothing is wrong; 0: not all is fine; -1: it is
   to be noted access by access.  */
static int
mic_note_scatter (uint64_t begin, uint64_t end, uint64_t offset, intptr_t scale, const struct gompy_indices *x,
                  size_t size, const void *pc)
{
  uint64_t low = begin & -(uint64_t) MIC_BLOCK;
  uint32_t place = (uint32_t) (uintptr_t) pc;
  unsigned char *table;
  if (x->n < MIC_SCATTER_LEAST || (end - low) / MIC_SCATTER_WIDE > x->n || (end - low) / 8 >= MIC_SCATTER_ROOM
      || size > 8 || (size & (size - 1)) != 0 || (offset | (uint64_t) scale) % size != 0
      || (table = mic_own_scattered ()) == NULL)
    return -1;
  switch (size)
    {
    case 8:
      return mic_note_elements (table, low, end, offset, scale, x, 3, place);
    case 4:
      return mic_note_elements (table, low, end, offset, scale, x, 2, place);
    default:
      return mic_note_elements (table, low, end, offset, scale, x, (unsigned) size - 1, place);
    }
}

#endif
