/* Rows: accesses of neighbouring words by neighbouring lanes, remembered as one (races.h).  A line of 32 words has four
   of them; where they are not enough, groups of eight words are spread out, word by word (race_words.h).  A group that
   is not may have loose words: accesses by lanes that go their own ways stand there.  Then no row has a write of these
   words, nor anything if the loose access is a write: but for a row's write that is newer, and comes after the loose
   access, and for a loose read that comes after a row's write.  */
#ifndef GOMPY_PTX_RACE_LINES_H
#define GOMPY_PTX_RACE_LINES_H

#include "race_order.h"

/* What is the same for all lanes of an access.  `first`: what came before this epoch is over; `settled`: it is no race
   with this access, but may be one with another stream's.  */
struct gompy_access
{
  int32_t first, run_first, ordered_before, own;
  uint32_t who, size;
  int writes, in_step, plain_reads;      /* GOMPY_IN_STEP, GOMPY_PLAIN_READS */
  int32_t settled;
  int32_t quiet_since;                  /* of a read in a quiet block: the launch; INT32_MAX: of others */
};

/* Whether what is remembered of words tells nothing more once this access of them is, as it comes before this one: who
   races with it races with this one.  */
static inline int
gompy_row_surpassed (const struct gompy_access *access, int32_t epoch, uint32_t its, uint32_t who, int write)
{
  return epoch < access->settled && (access->writes || !write) && (its | ~who) & GOMPY_WHO_STRONG;
}

/* Bits 12-15 of a row's `who`, instead of a word's bytes: how its lanes share its words.  Each lane has 1 << kind of
   the line's words, of which the row need not have all; or the kind says what the lane of all words is.  Bits 0-4 are
   the lane of the line's word 0, or that one lane.  */
enum
{
  GOMPY_ROW_MOST = 4,                   /* 16 words a lane */
  GOMPY_ROW_MANY = 5,                   /* the lane and the next read each word, maybe others do */
  GOMPY_ROW_ALL = 6,                    /* all lanes have each word */
  GOMPY_ROW_LONE = 7,                   /* one lane has all words */
  GOMPY_ROW_WRITE = 1 << 15,
  GOMPY_ROW_LANES = 7 << 12 | 31
};

static inline uint32_t gompy_row_kind (uint32_t who) { return who >> 12 & 7; }

/* Who of a row has word W of its line.  */
static inline uint32_t
gompy_row_word (uint32_t who, uint32_t w)
{
  uint32_t kind = gompy_row_kind (who), its = (who & ~(0xf000u | 63)) | 15u << 12;
  if (kind == GOMPY_ROW_ALL)
    return its | GOMPY_WHO_ALL;
  return its | ((who + (kind > GOMPY_ROW_MOST ? 0 : w >> kind)) & 31);
}

/* Whether an earlier read is one of a quiet block, as this one is: nothing in the launch races with them, and who does
   later is told of either.  */
static inline int
gompy_row_quiet (const struct gompy_row *row, int32_t since)
{
  return row->epoch >= since && !(row->who & (GOMPY_ROW_WRITE | GOMPY_WHO_STRONG));
}

/* WORDS that no such read of a line is of.  */
static inline uint32_t
gompy_line_unread (const struct gompy_line *line, int32_t since, uint32_t words)
{
  for (int i = 0; i < GOMPY_ROWS && line->rows[i].words; i++)
    words &= gompy_row_quiet (&line->rows[i], since) ? ~line->rows[i].words : ~0u;
  return words;
}

/* Words of groups, a bit a word.  */
static inline uint32_t
gompy_groups_words (uint32_t groups)
{
  return (groups & 1) * 0xffu | (groups >> 1 & 1) * 0xff00u | (groups >> 2 & 1) * 0xff0000u
         | (groups >> 3 & 1) * 0xff000000u;
}

static inline uint32_t
gompy_words_groups (uint32_t words)
{
  return (uint32_t) ((words & 0xff) != 0) | (uint32_t) ((words & 0xff00) != 0) << 1
         | (uint32_t) ((words & 0xff0000) != 0) << 2 | (uint32_t) (words >> 24 != 0) << 3;
}

/* What is remembered of the first word of a word's line, if its group is spread out.  */
static inline struct gompy_words *
gompy_line_words (const struct gompy_space *space, uint64_t number)
{
  return space->words + number / GOMPY_LINE * (GOMPY_LINE / GOMPY_GROUP);
}

/* Groups of a line that are spread out, and not over.  */
static inline uint32_t
gompy_line_spread (const struct gompy_access *access, struct gompy_line *line)
{
  if (line->state && (int32_t) (line->state >> 4) < access->first)
    line->state = 0;
  return line->state & 15;
}

/* Those that stay so behind an access of WORDS by WHO: where one writes all words of a group, and comes after all that
   is remembered of it, that tells nothing more (gompy_row_surpassed).  */
static inline uint32_t
gompy_line_join (const struct gompy_access *access, struct gompy_line *line, uint32_t words, uint32_t who)
{
  uint32_t spread = gompy_line_spread (access, line);
  if (spread && access->writes && !(who & GOMPY_WHO_STRONG) && (int32_t) (line->state >> 4) < access->settled)
    {
      spread &= gompy_words_groups (~words);
      line->state = (line->state & ~15u) | spread;
    }
  return spread;
}

/* Some of them are looked at now.  */
static inline void
gompy_line_touch (const struct gompy_access *access, struct gompy_line *line, uint32_t groups)
{
  uint32_t newest = line->state >> 4;
  if (newest < (uint32_t) access->own)
    newest = (uint32_t) access->own;
  line->state = newest << 4 | (line->state & 15) | groups;
}

/* Whether a row is surely no race with an access of WORDS by the lanes of WHO, a row's.  */
static inline int
gompy_row_safe (struct gompy_races *r, const struct gompy_access *access, const struct gompy_row *row, uint32_t words,
                uint32_t who)
{
  uint32_t differs = row->who ^ who;
  if (row->epoch < access->settled || !(row->words & words) || !((row->who | who) & GOMPY_ROW_WRITE)
      || row->who & who & GOMPY_WHO_STRONG)
    return 1;
  if (access->plain_reads && differs & GOMPY_WHO_STRONG
      && (row->who & GOMPY_WHO_STRONG ? row->who : who) & GOMPY_ROW_WRITE && !(row->who & who & GOMPY_ROW_WRITE))
    return 1; /* gompy_race_word has why */
  if (!gompy_race_own (r, row->epoch))
    return gompy_race_told (r, &(struct gompy_touch) { row->epoch, row->who }, 0);
  if (row->epoch >= access->run_first && row->epoch < access->ordered_before)
    return 1;
  if (gompy_who_warp (differs))
    return row->epoch <= r->knows[gompy_who_warp (who)].of[gompy_who_warp (row->who)];
  return access->in_step || row->epoch < access->own
         || (!(differs & GOMPY_ROW_LANES) && gompy_row_kind (who) != GOMPY_ROW_MANY)
         || gompy_all_first (gompy_row_kind (row->who) == GOMPY_ROW_ALL, gompy_row_kind (who) == GOMPY_ROW_ALL,
                             access->writes)
         || (row->who & who & GOMPY_ROW_WRITE && !gompy_who_site (differs));
}

/* Of each word the last two reads are enough.  */
static inline int
gompy_rows_thin (struct gompy_row *rows, int count)
{
  uint32_t once = 0, twice = 0;
  int left = 0;
  for (int i = count; i-- > 0;)
    if (!(rows[i].who & GOMPY_ROW_WRITE))
      {
        uint32_t words = rows[i].words &= ~twice;
        twice |= once & words;
        once |= words;
      }
  for (int i = 0; i < count; i++)
    if (rows[i].words)
      rows[left++] = rows[i];
  return left;
}

/* Remember an access in a line, its words in none of the groups that are spread out.  0 if there is no room.  */
static inline int
gompy_line_note (const struct gompy_access *access, struct gompy_line *line, uint32_t words, uint32_t who)
{
  struct gompy_row rows[GOMPY_ROWS + 1];
  int count = 0, joined = 0;
  line->newest = line->newest > access->own ? line->newest : access->own;
  if (!line->rows[0].words || (line->rows[0].epoch < access->first && !line->rows[1].words))
    {
      line->rows[0] = (struct gompy_row) { access->own, who, words };
      line->rows[1].words = 0;
      return 1;
    }
  for (int i = 0; i < GOMPY_ROWS && line->rows[i].words; i++)
    {
      struct gompy_row row = line->rows[i];
      if (row.epoch < access->first)
        continue;
      if (row.epoch == access->own && row.who == who)
        {
          row.words |= words;
          joined = 1;
        }
      else if (access->writes || gompy_row_quiet (&row, access->quiet_since)
               || gompy_row_surpassed (access, row.epoch, row.who, who, row.who & GOMPY_ROW_WRITE)
               /* What a warp has read before tells nothing more than what it reads now.  */
               || (!(row.who & GOMPY_ROW_WRITE) && row.epoch >= access->run_first
                   && !((row.who ^ who) & (GOMPY_WHO_WARP | GOMPY_WHO_STRONG))
                   && (row.epoch < access->own || access->in_step || !((row.who ^ who) & GOMPY_ROW_LANES))))
        row.words &= ~words;
      if (row.words)
        rows[count++] = row;
    }
  if (!joined)
    rows[count++] = (struct gompy_row) { access->own, who, words };
  if (count > GOMPY_ROWS && (count = gompy_rows_thin (rows, count)) > GOMPY_ROWS)
    return 0;
  memcpy (line->rows, rows, (size_t) count * sizeof *rows);
  if (count < GOMPY_ROWS)
    line->rows[count].words = 0;
  return 1;
}

/* One more read of a word: of those that are remembered and this one the last two stay.  */
static inline void
gompy_word_add_read (const struct gompy_access *access, gompy_word *word, int32_t epoch, uint32_t who)
{
  int32_t last = *gompy_word_epoch (word, GOMPY_READ);
  uint32_t its = (uint32_t) *gompy_word_who (word, GOMPY_READ);
  int again = last >= access->run_first && epoch >= access->run_first && !((its ^ who) & GOMPY_WHO_READER);
  if (epoch >= last)
    {
      if (!again)
        gompy_word_set (word, GOMPY_READ + 1, last, its);
      gompy_word_set (word, GOMPY_READ, epoch, who);
    }
  else if (!again && epoch >= *gompy_word_epoch (word, GOMPY_READ + 1))
    gompy_word_set (word, GOMPY_READ + 1, epoch, who);
}

/* Spread groups of a line out.  WORDS: what is remembered of its first word; loose accesses are there already.  */
static __attribute__ ((noinline)) void
gompy_line_widen (const struct gompy_access *access, struct gompy_line *line, struct gompy_words *words,
                  uint32_t groups)
{
  uint32_t wanted = gompy_groups_words (groups &= ~gompy_line_spread (access, line));
  struct gompy_row *rows = line->rows;
  int left = 0;
  for (int i = 0; i < GOMPY_ROWS && rows[i].words; i++)
    {
      int reads = !(rows[i].who & GOMPY_ROW_WRITE), many = gompy_row_kind (rows[i].who) == GOMPY_ROW_MANY;
      if (rows[i].epoch < access->first)
        continue;
      for (uint32_t bits = rows[i].words & wanted; bits; bits &= bits - 1)
        {
          uint32_t w = (uint32_t) __builtin_ctz (bits), who = gompy_row_word (rows[i].who, w);
          gompy_word *word = gompy_word_at (words, w);
          if (!reads)
            gompy_word_set (word, GOMPY_WRITE, rows[i].epoch, who);
          for (int n = 0; n < reads + (reads & many); n++)
            gompy_word_add_read (access, word, rows[i].epoch, (who & ~31u) | ((who + (uint32_t) n) & 31));
        }
      rows[i].words &= ~wanted;
      if (rows[i].words)
        rows[left++] = rows[i];
    }
  if (left < GOMPY_ROWS)
    rows[left].words = 0;
  gompy_line_touch (access, line, groups);
}

/* A read of WORDS where that is soon done; 0: it is to be judged and noted.  Nothing is new where these lanes have read
   the words before, or an earlier block has that nothing can order: who writes them is told of that one.  Two reads by
   others of the same words make room for this one, as those of a word would.  */
static inline int
gompy_line_read (const struct gompy_races *r, const struct gompy_access *access, struct gompy_line *line,
                 uint32_t words, uint32_t who)
{
  struct gompy_row *same[2] = { NULL, NULL };
  int count = 0;
  for (struct gompy_row *row = line->rows; row < line->rows + GOMPY_ROWS && row->words; row++)
    {
      uint32_t differs = row->who ^ who;
      if (row->epoch < access->first || !(row->words & words))
        continue;
      if (row->who & GOMPY_ROW_WRITE)
        {
          if (row->epoch >= access->ordered_before
              || (row->epoch < access->run_first && row->epoch >= access->settled))
            return 0;
          continue;
        }
      if (!(words & ~row->words)
          && ((row->epoch == access->own && !differs)
              || (row->epoch < access->run_first && row->epoch >= r->own_first && !gompy_race_across (r)
                  && !(row->who & GOMPY_WHO_STRONG))))
        return 1;
      if (!(differs & GOMPY_WHO_WARP) || row->words != words || count == 2)
        return 0;
      same[count++] = row;
    }
  if (count < 2)
    return 0;
  line->newest = line->newest > access->own ? line->newest : access->own;
  *same[0] = *same[1];
  *same[1] = (struct gompy_row) { access->own, who, words };
  return 1;
}

/* An access of WORDS of a line by the lanes of WHO.  What is left to be looked at word by word; its groups are spread
   out then.  SPREAD_OUT: what is remembered of the line's first word.  */
static inline uint32_t
gompy_line_access (struct gompy_races *r, const struct gompy_access *access, struct gompy_line *line,
                   struct gompy_words *spread_out, uint32_t words, uint32_t who)
{
  uint32_t left = words & gompy_groups_words (gompy_line_join (access, line, words, who));
  int safe = 1;
  words &= ~left;
  if (!words)
    return left;
  if (line->loose_written >= access->settled || (access->writes && line->loose_read >= access->settled))
    {
      gompy_line_widen (access, line, spread_out, gompy_words_groups (words));
      return left | words;
    }
  if (access->writes)
    who |= GOMPY_ROW_WRITE;
  else if (line->rows[0].words && gompy_line_read (r, access, line, words, who))
    return left;
  for (int i = 0; i < GOMPY_ROWS && line->rows[i].words; i++)
    safe &= gompy_row_safe (r, access, &line->rows[i], words, who);
  if (safe && gompy_line_note (access, line, words, who))
    return left;
  gompy_line_widen (access, line, spread_out, gompy_words_groups (words));
  return left | words;
}

/* Forget a row.  */
static inline void
gompy_line_drop (struct gompy_line *line, struct gompy_row *row)
{
  for (; row + 1 < line->rows + GOMPY_ROWS; row++)
    row[0] = row[1];
  row->words = 0;
}

/* The same where that is soon done; 0: it is not.  What is remembered of these words is over, or of the same lanes just
   now and no more than this access has, or of the same place; or this read tells nothing new (gompy_line_read).  */
static inline int
gompy_line_quick (const struct gompy_races *r, const struct gompy_access *access, struct gompy_line *line,
                  uint32_t words, uint32_t who)
{
  struct gompy_row *place = NULL, *row = line->rows;
  uint32_t all = words;
  if (access->quiet_since != INT32_MAX && !gompy_line_unread (line, access->quiet_since, words))
    return 1;
  who |= access->writes ? GOMPY_ROW_WRITE : 0u;
  if (words == ~0u && access->writes && !(who & GOMPY_WHO_STRONG) && (int32_t) (line->state >> 4) < access->settled
      && line->loose_read < access->settled && line->loose_written < access->settled
      && line->newest < access->settled)
    {
      *line = (struct gompy_line) { .newest = access->own, .rows = { { access->own, who, words } } };
      return 1;
    }
  if (line->loose_written >= access->settled || (access->writes && line->loose_read >= access->settled)
      || gompy_line_spread (access, line) & gompy_words_groups (words))
    return 0;
  for (; line->newest >= access->first && row < line->rows + GOMPY_ROWS && row->words; row++)
    {
      uint32_t differs = row->who ^ who;
      if (row->epoch < access->first)
        continue;
      if (row->epoch == access->own && !differs && !place && gompy_row_kind (who) != GOMPY_ROW_MANY)
        {
          place = row;
          all |= row->words;
          continue;
        }
      if (!(row->words & words)
          || (row->epoch < access->settled && !access->writes && row->who & GOMPY_ROW_WRITE))
        continue;
      if (!((row->who | who) & GOMPY_ROW_WRITE) && !(words & ~row->words) && !(row->who & GOMPY_WHO_STRONG)
          && (row->epoch < access->run_first ? row->epoch >= r->own_first && !gompy_race_across (r)
                                            : row->epoch == access->own && !differs))
        return 1;
      if (!(row->words & ~words)
          && (gompy_row_surpassed (access, row->epoch, row->who, who, row->who & GOMPY_ROW_WRITE)
              || gompy_row_quiet (row, access->quiet_since)))
        {
          if (place)
            gompy_line_drop (line, row--); /* whatever comes of this access */
          else
            place = row;
          continue;
        }
      if (place || row->epoch != access->own || row->words & ~words
          || differs & (GOMPY_WHO_WARP | GOMPY_WHO_STRONG | GOMPY_ROW_LANES)
          || gompy_row_kind (who) == GOMPY_ROW_MANY || row->who & ~who & GOMPY_ROW_WRITE)
        {
          if (!gompy_row_surpassed (access, row->epoch, row->who, who, row->who & GOMPY_ROW_WRITE)
              && !gompy_row_quiet (row, access->quiet_since))
            return 0;
          row->words &= ~words; /* it keeps others: those with none are above */
          continue;
        }
      place = row;
    }
  if (!place)
    {
      if (row == line->rows + GOMPY_ROWS)
        return 0;
      if (row + 1 < line->rows + GOMPY_ROWS)
        row[1].words = 0;
      place = row;
    }
  line->newest = line->newest > access->own ? line->newest : access->own;
  *place = (struct gompy_row) { access->own, who, all };
  return 1;
}

#endif
