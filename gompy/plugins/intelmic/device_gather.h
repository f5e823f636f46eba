/* The device's side of -foffload-check: reads that are kept in a log, and gathers and scatters at once
   (gompy/accel/hooks/loops.cc).

   A read is not noted in its cell, as that would be a line of memory from no cache each time.  The thread keeps it in
   its log, one after the other, and the kilobyte has a word: who reads there so.  Who writes to a kilobyte of others
   first has what the logs say of it noted in its cells.  What is read at random is seldom written in the same region.

   The word of a kilobyte is that of the one thread and interval that has read there, or that of several, with
   MIC_READ_GOOD if all its bytes may be read.  As long as it stands nobody else has written there.  Only while one
   launch runs are reads kept.  Included once, by device_access.h.  */
#ifndef GOMPY_DEVICE_GATHER_H
#define GOMPY_DEVICE_GATHER_H

#include "gompy/native/indices.h"

#define MIC_LOG_ROOM (64ull << 20)  /* for gathers; as much for single reads */
#define MIC_LOG_WORDS 4096u
#define MIC_LOG_FILTER 1024u        /* single reads of late, a power of 2 */
#define MIC_SETTLED 16u             /* kilobytes that are looked up in a launch; then all of them are */
#define MIC_AHEAD_CELLS 12u
#define MIC_FETCHED 256u            /* accesses of a gather whose lines stay in the nearest cache until they happen */
#define MIC_ROWS_AHEAD 2u           /* gathers of as many accesses: of what then follows, the lines are fetched */
#define MIC_FOREIGN 4u              /* kilobytes of a gather that are noted cell by cell */
#define MIC_READ_GOOD 1ull
#define MIC_NOBODY 2ull             /* no kilobyte has this word */
/* The word of kilobytes that several have read: no interval, but the launch. */
#define MIC_SEVERAL(launch) ((uint64_t) (launch) >> 8 << 40 | ((uint64_t) (launch) & 0xff) << 8)
#define MIC_SEVERAL_LAUNCH(word) ((uint32_t) ((word) >> 40 << 8 | ((word) >> 8 & 0xff)))

/* A gather in a log; its indices follow.  */
struct mic_gather
{
  uint64_t word;
  uint64_t offset;
  intptr_t scale;
  size_t n;
  uint32_t pc;
  uint8_t size, bytes, is_unsigned;
};

/* One read in a log.  */
struct mic_single
{
  uint64_t place;  /* offset, size << 40, number of its word << 48 */
  uint32_t pc;
};
#define MIC_SINGLES (MIC_LOG_ROOM / sizeof (struct mic_single))

struct mic_log
{
  struct mic_log *next;
  pthread_mutex_t lock;    /* of LAUNCH, and of the contents while they are read or forgotten */
  uint32_t launch;
  int taken;               /* by a thread */
  _Atomic size_t used;     /* bytes of gathers */
  struct mic_gather *last; /* of few reads; where it does not end with USED, another one has come since */
  unsigned char *data;
  _Atomic size_t count;    /* single reads */
  struct mic_single *singles;
  uint32_t words;          /* of single reads */
  uint64_t word[MIC_LOG_WORDS];
  uint64_t filter[MIC_LOG_FILTER];
};

/* What a kilobyte must have for the calling thread to keep a read of it at once; MIC_NOBODY: that is not known.  */
struct mic_keeping
{
  uint64_t alone, several;
  uint64_t number; /* of its word, << 48 */
};

static uint64_t *mic_readers;  /* of each kilobyte */
static _Atomic uint32_t mic_live;  /* launches that run */
static _Atomic uint32_t mic_settled, mic_settled_launch, mic_settled_wholly;
static __thread struct mic_keeping mic_keeping = { MIC_NOBODY, MIC_NOBODY, 0 };
static struct mic_log *mic_logs;
static pthread_mutex_t mic_logs_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_key_t mic_log_key;
static __thread struct mic_log *mic_log;

static void
mic_give_log (void *log)
{
  pthread_mutex_lock (&mic_logs_lock);
  ((struct mic_log *) log)->taken = 0;
  pthread_mutex_unlock (&mic_logs_lock);
}

static void
mic_make_log_key (void)
{
  pthread_key_create (&mic_log_key, mic_give_log);
}

/* The calling thread's log, or NULL.  One that a thread has left is taken if its launch is over.  */
static struct mic_log *
mic_own_log (void)
{
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  struct mic_log *log;
  if (mic_log != NULL)
    return mic_log;
  pthread_once (&once, mic_make_log_key);
  pthread_mutex_lock (&mic_logs_lock);
  for (log = mic_logs; log != NULL && (log->taken || log->launch == mic_word_launch); log = log->next)
    ;
  if (log == NULL && (log = calloc (1, sizeof *log)) != NULL)
    {
      log->data = mic_reserve (MIC_LOG_ROOM);
      log->singles = mic_reserve (MIC_LOG_ROOM);
      pthread_mutex_init (&log->lock, NULL);
      log->next = mic_logs;
      mic_logs = log;
    }
  if (log != NULL && (log->data == NULL || log->singles == NULL))
    log = NULL;
  if (log != NULL)
    log->taken = 1;
  pthread_mutex_unlock (&mic_logs_lock);
  mic_log = log;
  pthread_setspecific (mic_log_key, log);
  return log;
}

/* Where a gather's access number I is.  */
static inline uint64_t
mic_gathered (const struct mic_gather *g, size_t i)
{
  const unsigned char *index = (const unsigned char *) (g + 1) + i * g->bytes;
  return g->offset + (uint64_t) (g->scale * gompy_index_of (index, g->bytes, g->is_unsigned));
}

#include "device_gather_among.h"

static inline size_t
mic_gather_bytes (size_t n, unsigned bytes)
{
  return sizeof (struct mic_gather) + ((n * bytes + 7) & ~(size_t) 7);
}

/* The calling thread's log for its launch, or NULL: nothing is kept.  */
static struct mic_log *
mic_open_log (void)
{
  struct mic_log *log;
  if (mic_word == 0 || atomic_load (&mic_live) != 1 || atomic_load (&mic_settled_launch) == mic_word_launch
      || (log = mic_own_log ()) == NULL)
    return NULL;
  if (log->launch != mic_word_launch)
    {
      pthread_mutex_lock (&log->lock);
      log->launch = mic_word_launch;
      atomic_store (&log->used, 0);
      atomic_store (&log->count, 0);
      log->words = 0;
      pthread_mutex_unlock (&log->lock);
      memset (log->filter, 0, sizeof log->filter);
    }
  return log;
}

/* Where the next gather may stand in the calling thread's log, or NULL.  */
static struct mic_gather *
mic_log_room (size_t n, unsigned bytes)
{
  struct mic_log *log = n < MIC_LOG_ROOM / 8 ? mic_open_log () : NULL;
  size_t used;
  if (log == NULL)
    return NULL;
  used = atomic_load (&log->used);
  return used + mic_gather_bytes (n, bytes) <= MIC_LOG_ROOM ? (struct mic_gather *) (log->data + used) : NULL;
}

/* The calling thread has got another word.  */
static void
mic_keep_anew (void)
{
  mic_keeping.alone = mic_keeping.several = MIC_NOBODY;
}

/* A launch begins, or ends.  */
static void
mic_count_launch (int change)
{
  static __thread int counted;
  if (counted + change < 0)
    return;  /* the images told of nothing yet when it began */
  counted += change;
  if (change < 0)
    atomic_fetch_sub (&mic_live, 1);
  else if (atomic_fetch_add (&mic_live, 1) == 0)
    atomic_store (&mic_settled, 0);
  else
    atomic_store (&mic_overlapped, atomic_load (&mic_last_launch));
}

/* --- what was kept is noted --------------------------------------------------------------------------------------- */

/* Note that WORD has read bytes of a kilobyte, where that does not hide what others than the writer have read.  */
static void
mic_note_late (uint64_t offset, uint64_t end, uint64_t word, uint32_t pc, uint64_t writer)
{
  struct mic_block *block = &mic_blocks[offset / MIC_BLOCK];
  for (uint64_t at = offset & ~7ull; at < end; at += 8)
    {
      unsigned first = offset > at ? offset - at : 0, last = end - at < 8 ? end - at : 8;
      uint64_t there = atomic_load_explicit (&mic_cells.reads[at / 8], memory_order_relaxed);
      if ((there >> 16 & 0xffffff) <= mic_word_floor || ((there ^ word) & ~0xffull) == 0
          || ((there ^ writer) & ~0xffull) == 0)
        {
          mic_share (block);
          mic_note (at / 8, block, word | ((1u << last) - (1u << first)), 0, (const void *) (uintptr_t) pc);
        }
    }
}

/* Note what a gather has read in [BEGIN, END).  */
static void
mic_note_gather (const struct mic_gather *g, uint64_t begin, uint64_t end, uint64_t writer)
{
  struct mic_among among = mic_which_among (g, begin, end);
  for (size_t i = 0, n = g->n; (i = mic_next_among (g, n, i, &among)) < n; i++)
    {
      uint64_t low = mic_gathered (g, i), high = low + g->size;
      if (low < end && high > begin)
        mic_note_late (low > begin ? low : begin, high < end ? high : end, g->word, g->pc, writer);
    }
}

/* Note what single reads have read in [BEGIN, END).  */
static void
mic_note_singles (const struct mic_log *log, size_t count, uint64_t begin, uint64_t end, uint64_t writer)
{
  for (size_t i = 0; i < count; i++)
    {
      const struct mic_single *one = &log->singles[i];
      uint64_t low = one->place & ((1ull << 40) - 1), high = low + (one->place >> 40 & 0xff);
      if (low < end && high > begin)
        mic_note_late (low > begin ? low : begin, high < end ? high : end, log->word[one->place >> 48], one->pc,
                       writer);
    }
}

/* Note what all logs of the launch have in [BEGIN, END).  */
static void
mic_note_logs (uint64_t begin, uint64_t end, uint64_t writer)
{
  pthread_mutex_lock (&mic_logs_lock);
  for (struct mic_log *log = mic_logs; log != NULL; log = log->next)
    {
      pthread_mutex_lock (&log->lock);
      if (log->launch == mic_word_launch)
        {
          mic_note_singles (log, atomic_load (&log->count), begin, end, writer);
          for (size_t at = 0, used = atomic_load (&log->used); at < used;)
            {
              const struct mic_gather *g = (const struct mic_gather *) (log->data + at);
              mic_note_gather (g, begin, end, writer);
              at += mic_gather_bytes (g->n, g->bytes);
            }
        }
      pthread_mutex_unlock (&log->lock);
    }
  pthread_mutex_unlock (&mic_logs_lock);
}

/* Whether the word of a kilobyte is of the calling thread's launch.  */
static int
mic_is_of_launch (uint64_t readers)
{
  uint32_t interval = readers >> 16 & 0xffffff;
  if (interval == 0)
    return MIC_SEVERAL_LAUNCH (readers) == mic_word_launch;
  return interval > mic_word_floor && mic_access_teams[mic_interval_team[interval]].launch == mic_word_launch;
}

/* 1: others may have read in the kilobyte, and its cells say so now.  */
static int __attribute__ ((noinline))
mic_settle_block (uint64_t offset)
{
  uint64_t begin = offset & -(uint64_t) MIC_BLOCK, *readers = &mic_readers[offset / MIC_BLOCK];
  if (!mic_is_of_launch (*readers) || atomic_load (&mic_settled_wholly) == mic_word_launch)
    return 0;
  if (atomic_fetch_add (&mic_settled, 1) < MIC_SETTLED)
    {
      __atomic_store_n (readers, 0, __ATOMIC_SEQ_CST);
      mic_note_logs (begin, begin + MIC_BLOCK, mic_word);
      return 1;
    }
  atomic_store (&mic_settled_launch, mic_word_launch);  /* no more is kept in this launch */
  mic_note_logs (0, mic_access_size, mic_word);
  atomic_store (&mic_settled_wholly, mic_word_launch);
  return 1;
}

/* The calling thread, which is followed, writes to a kilobyte.  1: others have read there, as its cells say now.  */
static inline int
mic_settle (uint64_t offset)
{
  uint64_t readers = __atomic_load_n (&mic_readers[offset / MIC_BLOCK], __ATOMIC_RELAXED);
  return __builtin_expect (readers != 0 && (readers & ~MIC_READ_GOOD) != mic_word, 0) && mic_settle_block (offset);
}

/* --- gathers ------------------------------------------------------------------------------------------------------ */

/* Whether all of [OFFSET, END), of one kilobyte, may be read, and nothing that others have written there in this launch
   is known.  The kilobyte gets its word then.  */
static int __attribute__ ((noinline))
mic_enter_block (uint64_t offset, uint64_t end)
{
  struct mic_block *block = &mic_blocks[offset / MIC_BLOCK];
  uint64_t *readers = &mic_readers[offset / MIC_BLOCK], old, mine = mic_word;
  uint64_t good = (uint64_t) mic_is_good (block, offset);
  if (!good && !mic_are_good (mic_marks + offset, end - offset))
    return 0;
  old = __atomic_load_n (readers, __ATOMIC_RELAXED);
  if ((old & ~MIC_READ_GOOD) != mic_word && old != 0 && mic_is_of_launch (old))
    mine = MIC_SEVERAL (mic_word_launch);
  if (!__atomic_compare_exchange_n (readers, &old, mine | good, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
    return 0;
  if (mic_has_cells (&block->last_write) || mic_has_atomics (block)
      || !mic_is_ordered (&block->write, mic_word | 0xff, 0xff))
    {
      mine |= good;
      __atomic_compare_exchange_n (readers, &mine, old, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
      return 0;
    }
  return 1;
}

static inline int
mic_is_entered (uint64_t offset, uint64_t end)
{
  uint64_t readers = __atomic_load_n (&mic_readers[offset / MIC_BLOCK], __ATOMIC_RELAXED);
  return __builtin_expect (readers == (mic_word | MIC_READ_GOOD)
                             || readers == (MIC_SEVERAL (mic_word_launch) | MIC_READ_GOOD), 1)
         || mic_enter_block (offset, end);
}

/* Note in their cells those of a gather's accesses that are in a kilobyte, which begins at BLOCK.  0: not all is
   fine.  */
static int
mic_note_among (const struct mic_gather *g, uint64_t block)
{
  struct mic_among among = mic_which_among (g, block, block + MIC_BLOCK);
  for (size_t i = 0; (i = mic_next_among (g, g->n, i, &among)) < g->n; i++)
    {
      uint64_t at = mic_gathered (g, i);
      if (at < block + MIC_BLOCK && at + g->size > block
          && !mic_usual (gompy_access.low + at, g->size, 0, (const void *) (uintptr_t) g->pc))
        return 0;
    }
  return 1;
}

/* Enter all kilobytes of a span.  A few may be others', as at its ends where other arrays begin.  */
static int
mic_enter_span (const struct mic_gather *g, uint64_t offset, uint64_t end)
{
  uint64_t blocks[MIC_FOREIGN];
  unsigned foreign = 0;
  for (uint64_t next; offset < end; offset = next)
    {
      next = (offset & -(uint64_t) MIC_BLOCK) + MIC_BLOCK;
      if (mic_is_entered (offset, next < end ? next : end))
        continue;
      if (foreign == MIC_FOREIGN)
        return 0;
      blocks[foreign++] = offset & -(uint64_t) MIC_BLOCK;
    }
  while (foreign != 0)
    if (!mic_note_among (g, blocks[--foreign]))
      return 0;
  return 1;
}

static inline __attribute__ ((always_inline)) void
mic_fetch_of (const struct mic_gather *g, const unsigned char *index, size_t n, unsigned bytes, int is_unsigned)
{
  for (size_t i = 0; i < n; i++, index += bytes)
    __builtin_prefetch ((const void *) (gompy_access.low + g->offset
                                        + (uint64_t) (g->scale * gompy_index_of (index, bytes, is_unsigned))));
}

/* Fetch what indices behind those of a gather are of, as many as it has.  A loop over rows comes to them soon, and what
   is called between two of its loops keeps the processor from going ahead by itself.  Those of the next row are too
   near to be there in time.  Only indices in a good kilobyte are looked at; to fetch does no harm.  */
static inline void
mic_fetch_behind (const struct mic_gather *g, const struct gompy_indices *x)
{
  const unsigned char *index = (const unsigned char *) x->first + MIC_ROWS_AHEAD * x->n * x->bytes;
  uint64_t offset = (uintptr_t) index - gompy_access.low;
  if (x->step != (intptr_t) x->bytes || offset >= mic_access_size || offset % MIC_BLOCK + x->n * x->bytes > MIC_BLOCK
      || atomic_load_explicit (&mic_blocks[offset / MIC_BLOCK].good, memory_order_relaxed) != mic_good_now (offset))
    return;
  if (x->bytes == 4 && !x->is_unsigned)
    mic_fetch_of (g, index, x->n, 4, 0);
  else
    mic_fetch_of (g, index, x->n, x->bytes, x->is_unsigned);
}

/* The same for each access.  The loop is about to read there: a few lines are fetched all at once meanwhile.  */
static int
mic_enter_each (const struct mic_gather *g)
{
  const unsigned char *index = (const unsigned char *) (g + 1);
  int few = g->n <= MIC_FETCHED;
  for (size_t i = 0; i < g->n; i++, index += g->bytes)
    {
      uint64_t at = g->offset + (uint64_t) (g->scale * gompy_index_of (index, g->bytes, g->is_unsigned));
      if (few)
        __builtin_prefetch ((const void *) (gompy_access.low + at));
      if (at % MIC_BLOCK + g->size > MIC_BLOCK || !mic_is_entered (at, at + g->size))
        return 0;
    }
  return 1;
}

/* Keep a gather among [OFFSET, END) that is G's, where the log goes on.  0: it is not fine, or may not be.  */
static int
mic_keep_gather (struct mic_gather *g, uint64_t offset, uint64_t end)
{
  size_t used = atomic_load (&mic_log->used);
  atomic_store (&mic_log->used, used + mic_gather_bytes (g->n, g->bytes));
  if ((end - offset) / MIC_BLOCK <= g->n ? mic_enter_span (g, offset, end) : mic_enter_each (g))
    {
      if (atomic_load (&mic_settled_launch) == mic_word_launch)
        mic_note_gather (g, 0, mic_access_size, 0);
      return 1;
    }
  pthread_mutex_lock (&mic_log->lock);
  atomic_store (&mic_log->used, used);
  pthread_mutex_unlock (&mic_log->lock);
  return 0;
}

#include "device_gather_few.h"
#include "device_scatter.h"

/* Note each access in its cell.  */
static int
mic_note_each (uintptr_t address, intptr_t scale, const struct gompy_indices *x, int kind, const void *pc)
{
  size_t size = kind & GOMPY_RANGE_SIZE;
  int writes = (kind & GOMPY_RANGE_WRITES) != 0;
  const _Atomic uint64_t *cells = writes ? mic_cells.writes : mic_cells.reads;
  const uint32_t *pcs = writes ? mic_cells.write_pcs : mic_cells.read_pcs;
  for (size_t i = 0; i < x->n; i++)
    {
      if (i + MIC_AHEAD_CELLS < x->n)
        {
          uint64_t next = address + (uintptr_t) (scale * gompy_index (x, i + MIC_AHEAD_CELLS)) - gompy_access.low;
          __builtin_prefetch (&cells[next / 8], 1);
          __builtin_prefetch (&pcs[next / 8], 1);
          __builtin_prefetch (&mic_blocks[next / MIC_BLOCK]);
        }
      if (!mic_usual (address + (uintptr_t) (scale * gompy_index (x, i)), size, writes, pc))
        return 0;
    }
  return 1;
}

static int
mic_access_gather (uintptr_t address, intptr_t scale, const struct gompy_indices *x, int kind, const void *pc)
{
  struct mic_gather *g;
  size_t size = kind & GOMPY_RANGE_SIZE;
  uintptr_t begin, end;
  int64_t low, high;
  if (!(kind & GOMPY_RANGE_WRITES) && mic_gather_few (address, scale, x, size, pc))
    return 1;
  g = kind & GOMPY_RANGE_WRITES ? NULL : mic_log_room (x->n, x->bytes);
  gompy_index_extremes (x, g != NULL ? g + 1 : NULL, &low, &high);
  if (!gompy_index_span (address, scale, low, high, size, &begin, &end))
    return 0;
  if (end <= gompy_access.low || begin >= gompy_access.high)
    return 1;
  if (begin < gompy_access.low || end > gompy_access.high)
    return 0;
  if (g != NULL)
    {
      *g = (struct mic_gather){ .word = mic_word, .offset = address - gompy_access.low, .scale = scale, .n = x->n,
                                .pc = (uint32_t) (uintptr_t) pc, .size = (uint8_t) size,
                                .bytes = (uint8_t) x->bytes, .is_unsigned = (uint8_t) x->is_unsigned };
      if (x->n <= MIC_FETCHED)
        mic_fetch_behind (g, x);
      if (mic_keep_gather (g, begin - gompy_access.low, end - gompy_access.low))
        return 1;
    }
  if (kind & GOMPY_RANGE_WRITES)
    {
      int noted = mic_note_scatter (begin - gompy_access.low, end - gompy_access.low, address - gompy_access.low, scale,
                                    x, size, pc);
      if (noted >= 0)
        return noted;
    }
  return mic_note_each (address, scale, x, kind, pc);
}

/* --- single reads ------------------------------------------------------------------------------------------------- */

/* Keep a read of bytes of one kilobyte.  0: the log is full.  */
static inline int
mic_log_single (uint64_t offset, size_t size, const void *pc)
{
  struct mic_log *log = mic_log;
  uint64_t place = offset | (uint64_t) size << 40 | mic_keeping.number;
  uint64_t *late = &log->filter[offset / 4 % MIC_LOG_FILTER];
  size_t count;
  if (*late == place)
    return 1;
  count = atomic_load_explicit (&log->count, memory_order_relaxed);
  if (__builtin_expect (count == MIC_SINGLES, 0))
    return 0;
  *late = place;
  log->singles[count] = (struct mic_single){ place, (uint32_t) (uintptr_t) pc };
  atomic_store_explicit (&log->count, count + 1, memory_order_release);
  return 1;
}

/* Keep a read where that is not settled yet, and no atomic operation was.  0: it is to be noted in its cell.  */
static int __attribute__ ((noinline))
mic_keep_first (uint64_t offset, size_t size, const void *pc)
{
  struct mic_block *block = &mic_blocks[offset / MIC_BLOCK];
  struct mic_log *log;
  if (mic_word == 0 || mic_has_cells (&block->last_write)
      || mic_has_atomics (block)
      || !mic_is_good (block, offset) || (log = mic_open_log ()) == NULL)
    return 0;
  if (mic_keeping.alone == MIC_NOBODY)
    {
      if (log->words == MIC_LOG_WORDS)
        return 0;
      log->word[log->words] = mic_word;
      mic_keeping.number = (uint64_t) log->words++ << 48;
      mic_keeping.alone = mic_word | MIC_READ_GOOD;
      mic_keeping.several = MIC_SEVERAL (mic_word_launch) | MIC_READ_GOOD;
    }
  return mic_log_single (offset, size, pc) && mic_is_entered (offset, offset + size);  /* in this order */
}

/* Keep a read.  0: it is to be noted in its cell.  */
static inline int
mic_keep_read (uint64_t offset, size_t size, const void *pc)
{
  uint64_t readers;
  if (__builtin_expect (offset >= mic_access_size || offset % MIC_BLOCK + size > MIC_BLOCK, 0))
    return 0;
  readers = __atomic_load_n (&mic_readers[offset / MIC_BLOCK], __ATOMIC_RELAXED);
  if (__builtin_expect ((readers == mic_keeping.alone || readers == mic_keeping.several)
                          && atomic_load_explicit (&mic_settled_launch, memory_order_relaxed) != mic_word_launch, 1))
    return mic_log_single (offset, size, pc)
           && __atomic_load_n (&mic_readers[offset / MIC_BLOCK], __ATOMIC_RELAXED) == readers;
  return mic_keep_first (offset, size, pc);
}

#endif
