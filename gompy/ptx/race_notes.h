/* Notes: what a warp accesses by one address of all its lanes, as loops of OpenMP's threads do, is gathered by lines of
   memory, and remembered together (races.h).  Only a step in order, as a barrier, makes a difference between two
   accesses of a word by a warp, and only the warp itself takes such a step.  So notes end there, and where another warp
   or other lanes have an access: what warps do is judged in the order in which they did it.

   Compiled code adds to notes that are there (racing.py).  */
#ifndef GOMPY_PTX_RACE_NOTES_H
#define GOMPY_PTX_RACE_NOTES_H

#include "race_later.h"

/* Whether an access may be noted: it is in device memory, and in one half of a line.  */
static inline int
gompy_note_possible (const struct gompy_races *r, uint64_t address, uint32_t size)
{
  uint64_t offset = address - r->base;
  return offset < r->size && (offset | (GOMPY_NOTE_BYTES - 1)) < r->size
         && address % (GOMPY_NOTE_BYTES / 2) + size <= GOMPY_NOTE_BYTES / 2 && !(r->base % GOMPY_NOTE_BYTES);
}

/* How much a place's reads are each of another line: where they are, from GOMPY_ALONE on, it is asked for before it is
   noted.  Elsewhere a note has many of them.  Those that need none count it down, so that it is tried again.  */
enum { GOMPY_ALONE = 32, GOMPY_ALONE_MOST = 96, GOMPY_ALONE_ONE = 12, GOMPY_ALONE_MORE = 4 };

/* A note of WORDS, read at a place, ends.  */
static inline void
gompy_note_learn (struct gompy_race_site *site, uint32_t words)
{
  if (words & (words - 1))
    site->alone -= site->alone < GOMPY_ALONE_MORE ? site->alone : GOMPY_ALONE_MORE;
  else if (site->alone < GOMPY_ALONE_MOST)
    site->alone += GOMPY_ALONE_ONE;
}

/* Whether a plain read of SIZE bytes, aligned, tells nothing new, as an earlier block has read them and nobody has
   written them: then it needs no note (gompy_line_read, gompy_word_read_before).  */
static inline int
gompy_note_needless (const struct gompy_races *r, uint64_t address, uint32_t size)
{
  uint64_t offset = address - r->base, number = offset / 4;
  if (offset >= r->size || gompy_race_across (r))
    return 0;
  const struct gompy_line *line = r->memory.lines + number / GOMPY_LINE;
  uint32_t words = ((1u << (size + 3) / 4) - 1) << number % GOMPY_LINE, count = (size + 3) / 4;
  if ((int32_t) (line->state >> 4) >= r->launch_first && line->state >> number / GOMPY_GROUP % 4 & 1)
    {
      uint32_t bytes = size < 4 ? ((1u << size) - 1) << (address & 3) : 15;
      gompy_word *word = gompy_word_at (r->memory.words, number);
      for (uint32_t n = 0; n < count; n++)
        {
          uint32_t who = (uint32_t) *gompy_word_who (word + n, GOMPY_READ);
          int32_t epoch = *gompy_word_epoch (word + n, GOMPY_READ);
          if (epoch < r->own_first || epoch >= r->run_first || who & GOMPY_WHO_STRONG
              || bytes & ~gompy_who_bytes (who) || *gompy_word_epoch (word + n, GOMPY_WRITE) >= r->launch_first)
            return 0;
        }
      return 1;
    }
  if (line->newest < r->own_first || line->loose_written >= r->settled)
    return 0;
  for (const struct gompy_row *row = line->rows; row < line->rows + GOMPY_ROWS && row->words; row++)
    if (row->epoch < r->launch_first || !(row->words & words))
      continue;
    else if (row->who & GOMPY_ROW_WRITE)
      {
        if (row->epoch >= r->settled)
          return 0;
      }
    else if (!(words & ~row->words) && row->epoch >= r->own_first && row->epoch < r->run_first
             && !(row->who & GOMPY_WHO_STRONG))
      return 1;
  return 0;
}

/* It is of a place and of the line of an address from here on.  */
static inline void
gompy_note_begin (struct gompy_races *r, struct gompy_note *note, uint64_t address, uint64_t key, uint32_t site,
                  int writes)
{
  r->note_lines[address >> 13 & 63] |= 1ull << (address >> 7 & 63);
  if (!note->line)
    r->noted[r->nnoted++] = (uint16_t) (note - r->notes);
  note->line = address & ~(uint64_t) (GOMPY_NOTE_BYTES - 1);
  __builtin_prefetch (r->memory.lines + (note->line - r->base) / (4 * GOMPY_LINE), 1);
  __builtin_prefetch (&r->memory.words[(address - r->base) / (4 * GOMPY_GROUP)].touch[GOMPY_READ], 1);
  note->key = key;
  note->bytes[0] = note->bytes[1] = 0;
  note->site = site;
  note->writes = (uint32_t) writes;
  if (writes)
    memcpy (note->old, (const char *) (uintptr_t) note->line, GOMPY_NOTE_BYTES);
}

static inline void
gompy_note_bytes (struct gompy_note *note, uint64_t address, uint32_t size)
{
  note->bytes[address / 64 % 2] |= ((1ull << size) - 1) << address % 64;
}

/* The next of the notes that are to end; NULL: there is none.  */
static inline struct gompy_note *
gompy_note_ending (struct gompy_races *r)
{
  return r->nnoted ? r->notes + r->noted[--r->nnoted] : NULL;
}

static inline uint32_t
gompy_lowest_byte (uint64_t bits)
{
  return (uint32_t) __builtin_ctzll (bits);
}

/* Bits 0, 4, 8, … beside each other.  */
static inline uint32_t
gompy_every_fourth (uint64_t bits)
{
  bits = (bits | bits >> 3) & 0x0303030303030303;
  bits = (bits | bits >> 6) & 0x000f000f000f000f;
  bits = (bits | bits >> 12) & 0x000000ff000000ff;
  return (uint32_t) ((bits | bits >> 24) & 0xffff);
}

/* Its whole words, a bit for each; ODD: bytes of others.  */
static inline uint32_t
gompy_note_words (const struct gompy_note *note, uint64_t odd[2])
{
  uint32_t words = 0;
  for (int half = 0; half < 2; half++)
    {
      uint64_t its = note->bytes[half], all = its & its >> 1;
      all = all & all >> 2 & 0x1111111111111111;
      odd[half] = its & ~(15 * all);
      words |= gompy_every_fourth (all) << 16 * half;
    }
  return words;
}

/* Judge and remember words of a line that are spread out.  Those that are not surely right are given back instead.  */
static inline uint32_t
gompy_note_spread (struct gompy_races *r, const struct gompy_access *access, uint64_t first, uint32_t left,
                   uint32_t who)
{
  uint32_t doubtful = 0;
  gompy_line_touch (access, r->memory.lines + first / GOMPY_LINE, 0);
  for (; left; left &= left - 1)
    {
      gompy_word *word = gompy_word_at (r->memory.words, first + (uint32_t) __builtin_ctz (left));
      int safe = 1;
      if (!access->writes && !gompy_race_across (r) && gompy_word_read_before (r, access, word, who))
        continue;
      for (int i = 0; i < (access->writes ? GOMPY_TOUCHES : 1); i++)
        safe &= gompy_race_safe (access, *gompy_word_epoch (word, i), (uint32_t) *gompy_word_who (word, i), who);
      if (!safe)
        doubtful |= left & -left;
      else if (access->writes)
        gompy_race_write (access, word, who);
      else
        gompy_race_read (access, word, who);
    }
  return doubtful;
}

/* Judge and remember words of a line.  Those that are to be looked at one by one.  */
static inline uint32_t
gompy_note_judge (struct gompy_races *r, const struct gompy_access *access, uint64_t line, uint32_t words, uint32_t its)
{
  uint64_t first = (line - r->base) / 4;
  struct gompy_line *known = r->memory.lines + first / GOMPY_LINE;
  uint32_t who = access->who | (its & GOMPY_WHO_ALL ? GOMPY_ROW_ALL : GOMPY_ROW_LONE) << 12 | (its & 31), left = words;
  /* As a rule a line that is spread out stays so: then no row has anything to do with it. */
  if (words & ~gompy_groups_words (access->writes ? 0 : gompy_line_spread (access, known)))
    {
      if (gompy_line_quick (r, access, known, words, who))
        return 0;
      left = gompy_line_access (r, access, known, gompy_line_words (&r->memory, first), words, who);
    }
  return left ? gompy_note_spread (r, access, first, left, access->who | 15u << 12 | its) : 0;
}

/* Whether memory has what it had before a note's writes at ADDRESS.  */
static inline int
gompy_note_same (const struct gompy_note *note, uint64_t address, uint32_t size)
{
  return !memcmp (note->old + address % GOMPY_NOTE_BYTES, (const void *) (uintptr_t) address, size);
}

#endif
