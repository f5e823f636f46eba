/* The device's side of -foffload-check: the writes of a scatter, noted in the order of memory.

   At random places each note is a line of memory from no cache, of cells as of places of code.  So a scatter first
   marks, in a table of its thread's, which bytes it writes: a byte for each cell, a twelfth of what a note takes.  Then
   it goes through that from its begin to its end, kilobyte by kilobyte.  All its notes have one word and one place of
   code, so what is noted is the same in any order.  Included once, by device_gather.h.  */
#ifndef GOMPY_DEVICE_SCATTER_H
#define GOMPY_DEVICE_SCATTER_H

#define MIC_SCATTER_LEAST 1024u           /* accesses that are worth it */
#define MIC_SCATTER_WIDE 128u             /* bytes of memory for each of them; beyond that most of the table is empty */
#define MIC_SCATTER_ROOM (64ull << 20)    /* cells of a table */
#define MIC_BLOCK_CELLS (MIC_BLOCK / 8)

static __thread unsigned char *mic_scattered; /* of each cell from the first kilobyte on; 0 between scatters */
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

/* Mark the cells of accesses at OFFSET + SCALE * index, none of which has bytes of two.  */
static inline __attribute__ ((always_inline)) void
mic_mark_scatter (unsigned char *table, uint64_t offset, intptr_t scale, const struct gompy_indices *x, unsigned bytes,
                  unsigned mask)
{
  const char *place = x->first;
  for (size_t i = 0; i < x->n; i++, place += x->step)
    {
      uint64_t at = offset + (uint64_t) (scale * gompy_index_of (place, bytes, x->is_unsigned));
      table[at / 8] |= mask << at % 8;
    }
}

/* What a scatter writes of a kilobyte: N cells, from its first one on, and their bytes.  */
struct mic_scattered_cells
{
  unsigned n;
  uint8_t cell[MIC_BLOCK_CELLS], mask[MIC_BLOCK_CELLS];
};

/* Take them from a thread's table, which is 0 then.  Nothing branches by what is there, here and where they are noted:
   that is not to be foreseen.  */
static void
mic_take_scattered (unsigned char *table, struct mic_scattered_cells *taken)
{
  unsigned n = 0;
  for (unsigned i = 0; i < MIC_BLOCK_CELLS; i++)
    {
      taken->cell[n] = (uint8_t) i;
      taken->mask[n] = table[i];
      n += table[i] != 0;
    }
  taken->n = n;
  memset (table, 0, MIC_BLOCK_CELLS);
}

/* Whether all bytes that are written are good; FIRST: the kilobyte's first cell.  */
static int
mic_are_cells_good (uint64_t first, const struct mic_scattered_cells *taken)
{
  for (unsigned i = 0; i < taken->n; i++)
    for (unsigned mask = taken->mask[i]; mask != 0; mask &= mask - 1)
      if (mic_marks[(first + taken->cell[i]) * 8 + (unsigned) __builtin_ctz (mask)] != MIC_MARK_GOOD)
        return 0;
  return 1;
}

/* Whether the writes are ordered with what others have in CELLS.  */
static int
mic_are_cells_ordered (const _Atomic uint64_t *cells, const struct mic_scattered_cells *taken)
{
  int others = 0;
  for (unsigned i = 0; i < taken->n; i++)
    others |= mic_of_others (&cells[taken->cell[i]], mic_word, taken->mask[i]);
  if (others)
    for (unsigned i = 0; i < taken->n; i++)
      if (!mic_is_ordered (&cells[taken->cell[i]], mic_word, taken->mask[i]))
        return 0;
  return 1;
}

/* Note the writes to one kilobyte.  0: not all is fine, or that is to be looked at.  */
static int
mic_note_scattered (uint64_t offset, const struct mic_scattered_cells *taken, uint32_t pc)
{
  struct mic_block *block = &mic_blocks[offset / MIC_BLOCK];
  uint64_t first = offset / 8;
  uint32_t interval = mic_word >> 16 & 0xffffff;
  int own;
  if (mic_has_atomics (block) || (!mic_is_good (block, offset) && !mic_are_cells_good (first, taken)))
    return 0;
  if (mic_word == 0)
    return 1;
  own = mic_may_own (block, 1);
  if (!own && (!mic_is_ordered (&block->write, mic_word, 0xff)
               || (mic_has_cells (&block->last_write) && !mic_are_cells_ordered (&mic_cells.writes[first], taken))))
    return 0;
  for (unsigned i = 0; i < taken->n; i++)
    mic_note_own (&mic_cells.writes[first + taken->cell[i]], &mic_cells.write_pcs[first + taken->cell[i]],
                  taken->mask[i], pc);
  if (own && mic_is_still_own (block, offset, MIC_BLOCK, 1))
    return 1;
  if (own && (!mic_is_ordered (&block->write, mic_word, 0xff)
              || !mic_are_cells_ordered (&mic_cells.writes[first], taken)))
    return 0;  /* who has come in meanwhile may have written first */
  if (atomic_load_explicit (&block->last_write, memory_order_relaxed) < interval)
    atomic_store_explicit (&block->last_write, interval, memory_order_relaxed);
  atomic_thread_fence (memory_order_seq_cst);
  mic_settle (offset);
  return !mic_has_atomics (block) && mic_is_ordered (&block->write, mic_word, 0xff)
         && mic_is_ordered (&block->read, mic_word, 0xff) && mic_is_ordered (&block->before, mic_word, 0xff)
         && (!mic_has_cells (&block->last_read) || mic_are_cells_ordered (&mic_cells.reads[first], taken))
         && (!mic_has_cells (&block->last_before) || mic_are_cells_ordered (&mic_cells.befores[first], taken));
}

/* Whether nothing of a kilobyte is in a table.  */
static inline int
mic_is_unscattered (const unsigned char *table)
{
  uint64_t words[MIC_BLOCK_CELLS / 8], any = 0;
  memcpy (words, table, sizeof words);
  for (unsigned i = 0; i < MIC_BLOCK_CELLS / 8; i++)
    any |= words[i];
  return any == 0;
}

/* Note a scatter among [BEGIN, END) of the arena.  1: it is noted, and nothing is wrong; 0: not all is fine; -1: it is
   to be noted access by access.  */
static int
mic_note_scatter (uint64_t begin, uint64_t end, uint64_t offset, intptr_t scale, const struct gompy_indices *x,
                  size_t size, const void *pc)
{
  uint64_t low = begin & -(uint64_t) MIC_BLOCK;
  unsigned mask = size < 8 ? (1u << size) - 1 : 0xff;
  unsigned char *table;
  int fine = 1;
  if (x->n < MIC_SCATTER_LEAST || (end - low) / MIC_SCATTER_WIDE > x->n || (end - low) / 8 >= MIC_SCATTER_ROOM
      || size > 8 || (size & (size - 1)) != 0 || (offset | (uint64_t) scale) % size != 0
      || (table = mic_own_scattered ()) == NULL)
    return -1;
  if (x->bytes == 4)
    mic_mark_scatter (table, offset - low, scale, x, 4, mask);
  else
    mic_mark_scatter (table, offset - low, scale, x, x->bytes, mask);
  for (; low < end; low += MIC_BLOCK, table += MIC_BLOCK_CELLS)
    {
      struct mic_scattered_cells taken;
      if (mic_is_unscattered (table))
        continue;
      mic_take_scattered (table, &taken);
      fine = fine && mic_note_scattered (low, &taken, (uint32_t) (uintptr_t) pc);
    }
  return fine;
}

#endif
