/* GOMPY_CHECK: marks of whole pages, for both sides.

   Most pages of large blocks have one mark: a byte says so for the page, in a table behind all other marks, and the
   marks of its bytes are not written out.  Nor is what new memory is filled with, as long as all of a page is
   MIC_MARK_UNSET: a copy overwrites it, or a region does.  So who uses such a page takes it first (MIC_PAGE_BUSY): two
   that filled it at once, one of them would overwrite what is written meanwhile.

   That takes pages that are closed until they are used.  The kernel may refuse to close some (vm.max_map_count): from
   then on all new memory is filled at once, as nobody sees who uses it.

   Where images tell of their accesses there is no such table: code looks at bytes' marks.  */
#ifndef GOMPY_MIC_PAGE_MARKS_H
#define GOMPY_MIC_PAGE_MARKS_H

#include "gompy/plugins/intelmic/protocol.h"
#include <string.h>
#include <unistd.h>

#define MIC_PAGE 4096ull
#define MIC_PAGE_BYTES 0u   /* the marks of its bytes say all */
#define MIC_PAGE_ALL 1u     /* and a mark: of all of them */
#define MIC_PAGE_BUSY 255u
#define MIC_PAGE_WRITTEN 1  /* of its access: regions may have written it; else it was opened for reads alone, or not */
#define MIC_PAGE_READ 2
#define MIC_PAGE_LOOKS 100u /* before who waits for another sleeps, MIC_PAGE_NAP microseconds */
#define MIC_PAGE_NAP 100u
#define MIC_PAGE_NAPS 10000u /* then that one has died */

struct mic_pages
{
  unsigned char *marks, *whole;  /* of bytes, of pages; the latter NULL: there are none */
  unsigned char *access;         /* what regions may do with pages, as they could: MIC_PAGE_WRITTEN; NULL as before */
  char *memory;                  /* where it can be written */
  int spread;
  uint32_t *stay_open;           /* of struct mic_guards */
};

/* What new memory has, anywhere.  */
static __attribute__ ((optimize ("O3"), unused)) void
mic_new_contents (unsigned char *to, uint64_t offset, size_t size)
{
  size_t i = 0;
  for (; i < size && ((offset + i) & 7) != 0; i++)
    to[i] = (unsigned char) (mic_filled_with (offset + i) >> 8 * ((offset + i) & 7));
  for (uint64_t word = mic_filled_with (offset + i); size - i >= 8; i += 8, word += MIC_SPREAD)
    memcpy (to + i, &word, 8);
  for (; i < size; i++)
    to[i] = (unsigned char) (mic_filled_with (offset + i) >> 8 * ((offset + i) & 7));
}

/* Whether regions may have written some of SIZE bytes since their block was allocated.  */
static __attribute__ ((unused)) int
mic_may_be_written (const struct mic_pages *p, uint64_t offset, uint64_t size)
{
  uint64_t first = offset / MIC_PAGE, last = (offset + size + MIC_PAGE - 1) / MIC_PAGE;
  return p->access == NULL || __atomic_load_n (p->stay_open, __ATOMIC_RELAXED)
         || memchr (p->access + first, MIC_PAGE_WRITTEN, last - first) != NULL;
}

/* Fill SIZE bytes, a multiple of 8, of a device's memory; OFFSET: theirs there, too.  */
static __attribute__ ((optimize ("O3"), unused)) void
mic_fill (char *to, uint64_t offset, size_t size, int spread)
{
  uint64_t word = mic_filled_with (offset);
  if (!spread)
    memset (to, MIC_FILL, size);
  else
    for (size_t i = 0; i < size; i += 8, word += MIC_SPREAD)
      memcpy (to + i, &word, 8);
}

/* What is so of a page: MIC_PAGE_BYTES, or MIC_PAGE_ALL and its mark, and nobody changes it just now.  */
static inline unsigned char
mic_page_state (const struct mic_pages *p, uint64_t page)
{
  const unsigned char *at = p->whole + page / MIC_PAGE;
  unsigned char state;
  if (p->whole == NULL)
    return MIC_PAGE_BYTES;
  state = __atomic_load_n (at, __ATOMIC_ACQUIRE);
  for (unsigned looks = 0; state == MIC_PAGE_BUSY && looks < MIC_PAGE_LOOKS + MIC_PAGE_NAPS; looks++)
    {
      if (looks < MIC_PAGE_LOOKS)
        sched_yield ();
      else
        usleep (MIC_PAGE_NAP);
      state = __atomic_load_n (at, __ATOMIC_ACQUIRE);
    }
  return state;
}

/* Have a page for oneself; what it was.  mic_give_page gives it back.  */
static inline unsigned char
mic_take_page (const struct mic_pages *p, uint64_t page)
{
  unsigned char state = mic_page_state (p, page);
  while (!__atomic_compare_exchange_n (p->whole + page / MIC_PAGE, &state, MIC_PAGE_BUSY, 0, __ATOMIC_ACQUIRE,
                                       __ATOMIC_RELAXED))
    state = mic_page_state (p, page);
  return state;
}

static inline void
mic_give_page (const struct mic_pages *p, uint64_t page, unsigned char state)
{
  __atomic_store_n (p->whole + page / MIC_PAGE, state, __ATOMIC_RELEASE);
}

/* Write out what stands for a whole page: its bytes' marks, and what new memory is filled with.  */
static __attribute__ ((unused)) void
mic_write_out_page (const struct mic_pages *p, uint64_t page)
{
  unsigned char state;
  if (mic_page_state (p, page) == MIC_PAGE_BYTES)
    return;
  state = mic_take_page (p, page);
  if (state != MIC_PAGE_BYTES && state != MIC_PAGE_BUSY)
    memset (p->marks + page, state - (int) MIC_PAGE_ALL, MIC_PAGE);
  if (state == MIC_PAGE_ALL + MIC_MARK_UNSET)
    mic_fill (p->memory + page, page, MIC_PAGE, p->spread);
  mic_give_page (p, page, MIC_PAGE_BYTES);
}

static inline void
mic_write_out (const struct mic_pages *p, uint64_t offset, uint64_t n)
{
  if (p->whole != NULL)
    for (uint64_t page = offset & -MIC_PAGE; page < offset + n; page += MIC_PAGE)
      mic_write_out_page (p, page);
}

/* Write out what nothing has written of memory that is about to be read.  */
static __attribute__ ((unused)) void
mic_write_out_unset (const struct mic_pages *p, uint64_t offset, uint64_t n)
{
  uint64_t page = offset & -MIC_PAGE, end = offset + n;
  if (p->whole != NULL)
    for (; page < end; page += MIC_PAGE)
      if (mic_page_state (p, page) == MIC_PAGE_ALL + MIC_MARK_UNSET)
        mic_write_out_page (p, page);
}

/* Give bytes a mark: before they are written, where that is MIC_MARK_GOOD.  */
static __attribute__ ((unused)) void
mic_mark_range (const struct mic_pages *p, uint64_t offset, uint64_t n, int mark)
{
  uint64_t end = offset + n;
  if (p->whole == NULL)
    {
      memset (p->marks + offset, mark, n);
      return;
    }
  for (uint64_t next; offset < end; offset = next)
    {
      uint64_t page = offset & -MIC_PAGE;
      next = page + MIC_PAGE < end ? page + MIC_PAGE : end;
      if (__atomic_load_n (p->whole + page / MIC_PAGE, __ATOMIC_ACQUIRE) == MIC_PAGE_ALL + (unsigned) mark)
        continue;
      if (next - offset == MIC_PAGE)
        {
          mic_take_page (p, page);
          mic_give_page (p, page, (unsigned char) (MIC_PAGE_ALL + (unsigned) mark));
          continue;
        }
      mic_write_out_page (p, page);
      memset (p->marks + offset, mark, next - offset);
    }
}

/* Fill new memory, of which bytes' marks have been given: pages of one mark are filled when they are used.  */
static __attribute__ ((unused)) void
mic_fill_new (const struct mic_pages *p, uint64_t offset, uint64_t n)
{
  uint64_t begin = offset, end = offset + n;
  for (uint64_t next; offset < end; offset = next)
    {
      uint64_t page = offset & -MIC_PAGE;
      next = p->whole == NULL || page + MIC_PAGE >= end ? end : page + MIC_PAGE;
      if (mic_page_state (p, page) == MIC_PAGE_BYTES)
        mic_fill (p->memory + offset, offset, next - offset, p->spread);
    }
  __atomic_thread_fence (__ATOMIC_SEQ_CST);  /* after the marks: either we see that, or mic_pages_stay_open these */
  if (p->whole != NULL && __atomic_load_n (p->stay_open, __ATOMIC_RELAXED))
    mic_write_out_unset (p, begin, n);
}

/* Before pages can be used that should be closed: have all filled that nobody has used, of SIZE bytes of memory.  */
static __attribute__ ((unused)) void
mic_pages_stay_open (const struct mic_pages *p, uint64_t size)
{
  if (p->whole != NULL && __atomic_exchange_n (p->stay_open, 1, __ATOMIC_SEQ_CST) == 0)
    mic_write_out_unset (p, 0, size);
}

/* MIC_MARK_GOOD takes the place of what is doubtful.  */
static __attribute__ ((unused, optimize ("O3"))) void
mic_forget_bytes (unsigned char *marks)
{
  for (unsigned i = 0; i < MIC_PAGE; i++)
    marks[i] = marks[i] > MIC_MARK_GOOD ? MIC_MARK_GOOD : marks[i];
}

/* It takes the place of what nothing has written alone, of N bytes.  */
static __attribute__ ((unused, optimize ("O3"))) void
mic_know_bytes (unsigned char *marks, uint64_t n)
{
  for (uint64_t i = 0; i < n; i++)
    marks[i] = marks[i] == MIC_MARK_UNSET ? MIC_MARK_GOOD : marks[i];
}

/* As mic_forget_bytes of a page, which may have one mark for all.  */
static __attribute__ ((unused)) void
mic_forget_marks (const struct mic_pages *p, uint64_t page)
{
  if (mic_page_state (p, page) != MIC_PAGE_BYTES)
    {
      unsigned char state = mic_take_page (p, page);
      if (state == MIC_PAGE_ALL + MIC_MARK_UNSET)
        mic_fill (p->memory + page, page, MIC_PAGE, p->spread);
      if (state != MIC_PAGE_BYTES && state != MIC_PAGE_ALL + MIC_MARK_CLOSED)
        state = MIC_PAGE_ALL + MIC_MARK_GOOD;
      mic_give_page (p, page, state);
      if (state != MIC_PAGE_BYTES)
        return;
    }
  mic_forget_bytes (p->marks + page);
}

#endif
