/* The device's side of -foffload-check: a column of a kilobyte, or some of it, that one thread alone has used in a
   launch.

   It is kept in the kilobyte itself, as one pattern in place of a note in each cell.  Nothing is put off by that: who
   comes into the kilobyte first has it noted in the cells (device_owned.h), and the owner, when it has kept one, looks
   whether it still is the owner.  The pattern is there before its word, and never another one with a word of the same
   launch.  Included once, by device_access.h.  */
#ifndef GOMPY_DEVICE_KEPT_H
#define GOMPY_DEVICE_KEPT_H

#include <emmintrin.h>

#define MIC_KEPT_LEAST 4u /* accesses that are worth it */
/* Of a column's word, where a cell's has its bytes: only those of its accesses that bits say.  */
#define MIC_KEPT_SOME 1ull

/* Of each kilobyte those bits of its columns: one for each access.  */
struct mic_kept_some
{
  _Atomic uint64_t bits[2][MIC_BLOCK / 64];
};

static struct mic_kept_some *mic_kept_some;

/* N accesses of a kilobyte, of SIZE bytes from AT on, STEP bytes apart: 10 bits each, and the place of code.  */
#define MIC_KEPT(at, step, n, size, pc)                                                                                \
  ((uint64_t) (pc) | (uint64_t) ((at) % MIC_BLOCK) << 32 | (uint64_t) (step) << 42 | (uint64_t) ((n) - 1) << 52        \
   | (uint64_t) __builtin_ctzl (size) << 62)

/* The first N bits from AT on.  */
static inline unsigned
mic_kept_bits (uint64_t kept, unsigned at, unsigned n)
{
  return (unsigned) (kept >> at & ((1u << n) - 1));
}

/* Whether what a word is of belongs to the launch.  */
static inline int
mic_is_live (uint64_t word)
{
  return (word >> 16 & 0xffffff) > mic_word_floor;
}

/* Whether an owner's word is of later than another one of its words.  */
static inline int
mic_is_later (uint64_t word, uint64_t other)
{
  uint32_t interval = word >> 16 & 0xffffff, before = other >> 16 & 0xffffff;
  return interval > before || (interval == before && (word >> 40 & 0xfff) > (other >> 40 & 0xfff));
}

/* Keep a column of a block of the calling thread's.  0: another one is kept there already.  */
static int
mic_keep_column (struct mic_block *block, uint64_t at, uint64_t step, size_t n, size_t size, int writes, uint32_t pc)
{
  uint64_t kept = MIC_KEPT (at, step, n, size, pc);
  if (n < MIC_KEPT_LEAST
      || (mic_is_live (atomic_load_explicit (&block->kept_word[writes], memory_order_relaxed))
          && (uint32_t) (kept >> 32) != (uint32_t) (atomic_load_explicit (&block->kept[writes], memory_order_relaxed)
                                                    >> 32)))
    return 0;
  atomic_store_explicit (&block->kept[writes], kept, memory_order_relaxed);
  atomic_store_explicit (&block->kept_word[writes], mic_word, memory_order_release);
  return 1;
}

/* N bytes, each of them 0 or 1, as bits.  */
static void
mic_pack (const unsigned char *which, size_t n, uint64_t *bits)
{
  size_t i = 0;
  memset (bits, 0, (n + 63) / 64 * sizeof *bits);
  for (; i + 16 <= n; i += 16)
    {
      __m128i bytes = _mm_loadu_si128 ((const __m128i *) (which + i));
      bits[i / 64] |= (uint64_t) (unsigned) _mm_movemask_epi8 (_mm_slli_epi16 (bytes, 7)) << i % 64;
    }
  for (; i < n; i++)
    bits[i / 64] |= (uint64_t) which[i] << i % 64;
}

/* Keep those of a column whose byte in WHICH is 1, of a block of the calling thread's.  0: something else is kept there
   already.  Who comes in meanwhile may find more bits with the word of those before: so only bits of the same word, and
   of the same place of code, are added.  */
static int
mic_keep_some (struct mic_block *block, uint64_t at, uint64_t step, size_t n, size_t size, int writes,
               const unsigned char *which, uint32_t pc)
{
  uint64_t kept = MIC_KEPT (at, step, n, size, pc), mine = mic_word | MIC_KEPT_SOME, bits[MIC_BLOCK / 64];
  uint64_t word = atomic_load_explicit (&block->kept_word[writes], memory_order_relaxed);
  _Atomic uint64_t *places = mic_kept_some[block - mic_blocks].bits[writes];
  int live = mic_is_live (word);
  if (n < MIC_KEPT_LEAST
      || (live && (word != mine || kept != atomic_load_explicit (&block->kept[writes], memory_order_relaxed))))
    return 0;
  mic_pack (which, n, bits);
  for (size_t i = 0; i < (n + 63) / 64; i++)
    {
      uint64_t there = live ? atomic_load_explicit (&places[i], memory_order_relaxed) : 0;
      atomic_store_explicit (&places[i], there | bits[i], memory_order_relaxed);
    }
  atomic_store_explicit (&block->kept[writes], kept, memory_order_relaxed);
  atomic_store_explicit (&block->kept_word[writes], mine, memory_order_release);
  return 1;
}

/* Note in the cells of a block what its owner has kept.  Nobody else is in it.  */
static void
mic_note_kept (struct mic_block *block, int writes)
{
  uint64_t kept_word = atomic_load (&block->kept_word[writes]), kept = atomic_load (&block->kept[writes]);
  uint64_t word = kept_word & ~0xffull;
  const _Atomic uint64_t *bits = mic_kept_some[block - mic_blocks].bits[writes];
  uint64_t at = (uint64_t) (block - mic_blocks) * MIC_BLOCK + mic_kept_bits (kept, 32, 10);
  unsigned step = mic_kept_bits (kept, 42, 10), n = mic_kept_bits (kept, 52, 10) + 1, size = 1u << (kept >> 62);
  if (!mic_is_live (word))
    return;
  for (unsigned i = 0; i < n; i++, at += step)
    {
      _Atomic uint64_t *place = &(writes ? mic_cells.writes : mic_cells.reads)[at / 8];
      uint64_t there = atomic_load_explicit (place, memory_order_relaxed), noted;
      if ((kept_word & MIC_KEPT_SOME) && !(atomic_load_explicit (&bits[i / 64], memory_order_relaxed) >> i % 64 & 1))
        continue;
      do  /* the owner may not know yet, and note there */
        {
          noted = word | ((1u << size) - 1) << at % 8;
          if (((there ^ word) & ~0xffull) == 0)
            noted |= there;
          else if (mic_is_live (there) && mic_is_later (there, word))
            break;
          (writes ? mic_cells.write_pcs : mic_cells.read_pcs)[at / 8] = (uint32_t) kept;
        }
      while (!atomic_compare_exchange_weak (place, &there, noted));
    }
  atomic_store (&block->kept_word[writes], 0);
}

#endif
