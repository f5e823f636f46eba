/* The device's side of -foffload-check: gathers of few reads, as of a row of a sparse matrix.

   What a gather costs by itself is most of it here.  So a gather that goes on with what the last one of its place of
   code had is part of that one's record in the log; its indices are looked at once, and nothing is asked about their
   extremes.  Included once, by device_gather.h.  */
#ifndef GOMPY_DEVICE_GATHER_FEW_H
#define GOMPY_DEVICE_GATHER_FEW_H

/* Whether the last record of a log ends where the log does, and is of gathers like G.  */
static inline int
mic_goes_on (const struct mic_log *log, const struct mic_gather *last, size_t used, const struct mic_gather *g)
{
  return last != NULL && (const unsigned char *) last + mic_gather_bytes (last->n, last->bytes) == log->data + used
         && last->word == g->word && last->offset == g->offset && last->scale == g->scale && last->pc == g->pc
         && last->size == g->size && last->bytes == g->bytes && last->is_unsigned == g->is_unsigned;
}

/* Copy N indices to a log, and begin to fetch what they are of.  */
static inline __attribute__ ((always_inline)) void
mic_copy_few (unsigned char *to, const unsigned char *from, size_t n, uint64_t base, intptr_t scale, unsigned bytes,
              int is_unsigned)
{
  for (size_t i = 0; i < n; i++, from += bytes, to += bytes)
    {
      int64_t index = gompy_index_of (from, bytes, is_unsigned);
      memcpy (to, from, bytes);
      __builtin_prefetch ((const void *) (base + (uint64_t) (scale * index)));
    }
}

/* Whether all that N indices are of may be read, and nothing that others have written there is known.  */
static inline __attribute__ ((always_inline)) int
mic_enter_few (const unsigned char *index, size_t n, uint64_t offset, intptr_t scale, size_t size, unsigned bytes,
               int is_unsigned)
{
  const uint64_t *readers = mic_readers, alone = mic_word | MIC_READ_GOOD;
  uint64_t several = MIC_SEVERAL (mic_word_launch) | MIC_READ_GOOD, limit = mic_access_size;
  for (size_t i = 0; i < n; i++, index += bytes)
    {
      uint64_t at = offset + (uint64_t) (scale * gompy_index_of (index, bytes, is_unsigned)), there;
      if (__builtin_expect (at >= limit || at % MIC_BLOCK + size > MIC_BLOCK, 0))
        return 0;
      there = __atomic_load_n (&readers[at / MIC_BLOCK], __ATOMIC_RELAXED);
      if (__builtin_expect (there != alone && there != several, 0) && !mic_enter_block (at, at + size))
        return 0;
    }
  return 1;
}

/* Keep a gather like G, with the indices X, in the log.  0: it is not fine, or may not be, and is not in the log.  */
static inline __attribute__ ((always_inline)) int
mic_keep_few (struct mic_log *log, const struct mic_gather *g, const struct gompy_indices *x, unsigned bytes,
              int is_unsigned)
{
  size_t used = atomic_load_explicit (&log->used, memory_order_relaxed), before = 0;
  struct mic_gather *last = log->last;
  unsigned char *to;
  int goes_on = mic_goes_on (log, last, used, g);
  if (goes_on)
    before = last->n;
  else
    {
      log->last = last = (struct mic_gather *) (log->data + used);
      *last = *g;
    }
  to = (unsigned char *) (last + 1) + before * bytes;
  mic_copy_few (to, x->first, x->n, gompy_access.low + g->offset, g->scale, bytes, is_unsigned);
  __atomic_store_n (&last->n, before + x->n, __ATOMIC_RELEASE); /* before: who finds the end there finds it whole */
  atomic_store (&log->used, (size_t) ((unsigned char *) last - log->data) + mic_gather_bytes (before + x->n, bytes));
  if (__builtin_expect (mic_enter_few (to, x->n, g->offset, g->scale, g->size, bytes, is_unsigned), 1))
    {
      if (__builtin_expect (atomic_load (&mic_settled_launch) == mic_word_launch, 0))
        mic_note_gather (last, 0, mic_access_size, 0);
      return 1;
    }
  pthread_mutex_lock (&log->lock);
  last->n = before;
  atomic_store (&log->used, used);
  log->last = goes_on ? last : NULL;
  pthread_mutex_unlock (&log->lock);
  return 0;
}

/* Keep a gather of few reads at ADDRESS + SCALE * each of its indices.  0: it is to be looked at as others are.  */
static int
mic_gather_few (uintptr_t address, intptr_t scale, const struct gompy_indices *x, size_t size, const void *pc)
{
  struct mic_gather g = { .word = mic_word, .offset = address - gompy_access.low, .scale = scale, .n = x->n,
                          .pc = (uint32_t) (uintptr_t) pc, .size = (uint8_t) size, .bytes = (uint8_t) x->bytes,
                          .is_unsigned = (uint8_t) x->is_unsigned };
  struct mic_log *log;
  if (x->n > MIC_FETCHED || x->step != (intptr_t) x->bytes || x->bytes < 4
      || g.offset + (uint64_t) (scale * gompy_index (x, 0)) >= mic_access_size || (log = mic_open_log ()) == NULL
      || atomic_load_explicit (&log->used, memory_order_relaxed) + mic_gather_bytes (x->n, x->bytes) > MIC_LOG_ROOM)
    return 0;
  mic_fetch_behind (&g, x);
  if (x->bytes == 8)
    return mic_keep_few (log, &g, x, 8, 0);
  return x->is_unsigned ? mic_keep_few (log, &g, x, 4, 1) : mic_keep_few (log, &g, x, 4, 0);
}

#endif
