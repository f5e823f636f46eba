/* What is remembered of each word of memory when races are looked for (races.h): three accesses, its last write and its
   last two reads.  Eight words' are kept together field by field, so that neighbours are judged by vectors.  */
#ifndef GOMPY_PTX_RACE_WORDS_H
#define GOMPY_PTX_RACE_WORDS_H

#include <stddef.h>
#include <stdint.h>

enum { GOMPY_GROUP = 8, GOMPY_WRITE = 0, GOMPY_READ = 1, GOMPY_TOUCHES = 3 };

/* Eight words' epochs, or who they were; the compiler makes vectors of the processor's of it.  */
typedef int32_t gompy_words_of __attribute__ ((vector_size (4 * GOMPY_GROUP), may_alias));

struct gompy_words { struct { gompy_words_of epoch, who; } touch[GOMPY_TOUCHES]; };

/* One word: its first epoch; its other fields stand as far away as its group is wide.  */
typedef int32_t gompy_word __attribute__ ((may_alias));

static inline gompy_word *
gompy_word_at (struct gompy_words *words, uint64_t number)
{
  return (gompy_word *) (words + number / GOMPY_GROUP) + number % GOMPY_GROUP;
}

static inline gompy_word *
gompy_word_epoch (gompy_word *word, int touch)
{
  return word + 2 * GOMPY_GROUP * touch;
}

static inline gompy_word *
gompy_word_who (gompy_word *word, int touch)
{
  return word + 2 * GOMPY_GROUP * touch + GOMPY_GROUP;
}

static inline void
gompy_word_set (gompy_word *word, int touch, int32_t epoch, uint32_t who)
{
  *gompy_word_epoch (word, touch) = epoch;
  *gompy_word_who (word, touch) = (int32_t) who;
}

static inline void
gompy_word_forget (gompy_word *word)
{
  for (int touch = 0; touch < GOMPY_TOUCHES; touch++)
    *gompy_word_epoch (word, touch) = 0;
}

/* Words that lanes have touched together, a bit for each of a line's (race_lines.h).  0: none.  */
struct gompy_row { int32_t epoch; uint32_t who, words; };

enum { GOMPY_LINE = 32, GOMPY_ROWS = 4 };

/* A line of words: its rows, the oldest first.  `state`, bits 0-3: groups that are spread out, each word by itself, the
   others: the newest epoch of those.  `loose_read`, `loose_written`: the newest epochs of reads, of writes, that stand
   word by word in groups that are not.  `newest`: that of the rows, or a later one.  */
struct gompy_line
{
  uint32_t state;
  int32_t loose_read, loose_written, newest;
  struct gompy_row rows[GOMPY_ROWS];
};

static inline size_t
gompy_lines_size (uint64_t size)
{
  return (size / (4 * GOMPY_LINE) + 1) * sizeof (struct gompy_line);
}

/* The bytes that are taken for what is remembered of SIZE bytes.  */
static inline size_t
gompy_words_size (uint64_t size)
{
  return (size / (4 * GOMPY_GROUP) + 1) * sizeof (struct gompy_words);
}

#endif
