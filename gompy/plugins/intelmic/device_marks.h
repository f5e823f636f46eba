/* The device's side of marks (protocol.h): the first access to a page of the arena, or to one of an image that has a
   variable out of date, faults, and its marks say what it
   is.  Included once, by device_marks.pxi.

   A page without doubtful bytes is opened, for reads alone if that is what it is used for: the host has no need to look
   for what regions have written there.  One whose neighbours are not in use is opened for all: to look at it takes less
   than the fault of a write.  Where a thread fills memory, page by page, the next ones are opened, too.  In a page that
   has doubtful bytes a read of such a byte is noted for the host; any other access is let through alone, by a single
   step, or opens the page for good: then nothing more is known of it.  Steps are few, and only where a thread has no
   company in the region: while the page is open for a step, the others may fill it, and nobody would notice.  */
#ifndef GOMPY_DEVICE_MARKS_H
#define GOMPY_DEVICE_MARKS_H

#include "gompy/native/access_size.h"
#include "gompy/native/clock.h"
#include "gompy/plugins/intelmic/huge_pages.h"
#include "gompy/plugins/intelmic/page_marks.h"
#include <errno.h>
#include <stdatomic.h>

extern int omp_get_active_level (void), omp_get_num_teams (void);

#define MIC_STEPS 20000u      /* in the life of the process */
#define MIC_FREE_STEPS 2000u  /* of these; more only if they are few for the processor time */
#define MIC_STEP_PERIOD 1000000ull /* ns; a step takes 5 to 25 us */
#define MIC_PAGE_STEPS 600u   /* in a page, one after another */
#define MIC_WRITE_STEPS 2000u
#define MIC_STEPPED 64
#define MIC_OPEN_AT_ONCE (2ull << 20) /* a huge page, and a multiple of it: then the kernel changes one entry */
#define MIC_FILL_PAGES 64u    /* at most */
#define MIC_FILL_HUGE 4u      /* then it fills an array */
#define MIC_FILL_PART 4u      /* of what a thread has filled, where others may read what lies ahead of it */
#define MIC_TRAP_FLAG 0x100
#define MIC_VECTOR_DB 1
#define MIC_LINE 64ull /* the longest vector */

int mic_is_image_code (uintptr_t pc);

static unsigned char *mic_marks;
static struct mic_pages mic_marked_pages;
static uint64_t mic_marked_size;
static char *mic_marked_base;
static const struct mic_outer *mic_outer;
static atomic_flag mic_marks_busy = ATOMIC_FLAG_INIT;
static unsigned mic_steps, mic_write_steps, mic_page_steps;
static uint64_t mic_last_stepped;
static _Atomic uint32_t mic_regions;    /* that have begun */
static uint32_t mic_seen_region, mic_crowded_region;
static const void *mic_seen_thread;  /* by an address of its own */
static uint64_t mic_stepped[MIC_STEPPED]; /* pages that were open for a step in this region */
static unsigned mic_stepped_count;
static __thread uint64_t mic_stepping[4];
static __thread unsigned mic_stepping_count;
static __thread uint64_t mic_fill_next;  /* the page behind those that the thread has filled last */
static __thread unsigned mic_fill_pages; /* so many */

/* What regions may do with pages from here on: MIC_PAGE_WRITTEN, MIC_PAGE_READ, or 0.  */
static void
mic_note_access (uint64_t offset, uint64_t size, int access)
{
  if (mic_marked_pages.access != NULL && offset < mic_marked_size)
    memset (mic_marked_pages.access + offset / MIC_PAGE, access, (size + MIC_PAGE - 1) / MIC_PAGE);
}

static int
mic_open_pages (uint64_t offset, uint64_t size)
{
  mic_note_access (offset, size, MIC_PAGE_WRITTEN);
  if (mprotect (mic_marked_base + offset, size, PROT_READ | PROT_WRITE) == 0)
    return 1;
  /* too many mappings (vm.max_map_count): one for all needs none */
  mic_pages_stay_open (&mic_marked_pages, mic_marked_size);
  return mprotect (mic_marked_base, mic_marked_size, PROT_READ | PROT_WRITE) == 0;
}

/* MIC_PAGE_BYTES, or MIC_PAGE_ALL and the mark of all of a page.  */
static unsigned
mic_whole_page (uint64_t page)
{
  return page < mic_marked_size ? mic_page_state (&mic_marked_pages, page) : MIC_PAGE_BYTES;
}

/* The marks of a page's bytes, by its offset from the arena's begin, or NULL: it has none.  */
static unsigned char *
mic_page_marks (uint64_t page)
{
  uint64_t address = (uintptr_t) mic_marked_base + page;
  if (page < mic_marked_size)
    {
      mic_write_out (&mic_marked_pages, page, 1);
      return mic_marks + page;
    }
  for (uint32_t i = 0; i < mic_outer->count && i < MIC_OUTER_PAGES; i++)
    if (mic_outer->pages[i] == address)
      return mic_marks + mic_marked_size + i * 4096ull;
  return NULL;
}

static int
mic_page_in_use (uint64_t page)
{
  const unsigned char *m;
  unsigned whole = mic_whole_page (page);
  if (whole != MIC_PAGE_BYTES)
    return whole != MIC_PAGE_ALL + MIC_MARK_CLOSED;
  if ((m = mic_page_marks (page)) == NULL)
    return 0;
  return m[0] || memcmp (m, m + 1, 4095) != 0;
}

static int
mic_page_doubtful (uint64_t page)
{
  const unsigned char *marks;
  unsigned whole = mic_whole_page (page);
  uint64_t word, any = 0;
  if (whole != MIC_PAGE_BYTES)
    return (int) ((whole - MIC_PAGE_ALL) & 2);
  if ((marks = mic_page_marks (page)) == NULL)
    return 0;  /* its image has gone */
  for (unsigned i = 0; i < 4096; i += 8)
    {
      memcpy (&word, marks + i, 8);
      any |= word;
    }
  return (any & 0x0202020202020202ull) != 0;
}

/* Whether regions may have written a page of the arena.  */
static int
mic_page_written (uint64_t page)
{
  return mic_marked_pages.access[page / MIC_PAGE] == MIC_PAGE_WRITTEN;
}

/* Open pages; those that are only read, and that no region can write yet, for reads alone.  */
static void
mic_open_for (uint64_t page, uint64_t size, int writes)
{
  if (!writes && page < mic_marked_size && mic_marked_pages.access != NULL && !mic_page_written (page))
    {
      mic_note_access (page, size, MIC_PAGE_READ);
      if (mprotect (mic_marked_base + page, size, PROT_READ) == 0)
        return;
    }
  mic_open_pages (page, size);
}

/* Nothing more is known of pages, several of the arena or one.  */
static void
mic_forget_pages (uint64_t page, uint64_t size, int writes)
{
  if (page >= mic_marked_size)
    mic_forget_bytes (mic_page_marks (page));
  else
    for (uint64_t i = 0; i < size; i += MIC_PAGE)
      mic_forget_marks (&mic_marked_pages, page + i);
  mic_open_for (page, size, writes);
}

/* The same of one that is read.  */
static void
mic_forget_page (uint64_t page)
{
  mic_forget_pages (page, 4096, 0);
}

/* Whether nothing has written any of a page.  */
static int
mic_page_unset (uint64_t page)
{
  const unsigned char *m;
  unsigned whole = mic_whole_page (page);
  if (whole != MIC_PAGE_BYTES)
    return whole == MIC_PAGE_ALL + MIC_MARK_UNSET;
  m = mic_page_marks (page);
  return m[0] == MIC_MARK_UNSET && memcmp (m, m + 1, 4095) == 0;
}

/* Whether the calling thread is one of several, of its team or of the league's.  */
static int
mic_has_company (void)
{
  return omp_get_active_level () != 0 || omp_get_num_teams () > 1;  /* a nested team of one has company, too */
}

/* A thread fills an array from end to end, and has come to PAGE: the huge page that this is in becomes one where
   nothing has used its end yet.  Where they are slow to come, the next ones are done without, then it is tried again
   (huge_pages.pxi).  */
static void
mic_make_filled_huge (uint64_t page)
{
  static unsigned slow, waits;
  static uint64_t tried = UINT64_MAX;
  const struct mic_pages *p = &mic_marked_pages;
  uint64_t begin = page & -MIC_HUGE, end = begin + MIC_HUGE, took;
  if (p->whole == NULL || end > mic_marked_size || begin == tried)
    return;
  tried = begin;
  if (!mic_page_in_use (begin + MIC_HUGE_PART - MIC_PAGE) || mic_has_page (p->memory + end - MIC_PAGE)
      || (waits && waits--))
    return;
  took = gompy_thread_time ();
  (void) *(const volatile char *) (p->memory + page);  /* of an empty page nothing can be made */
  if (madvise (p->memory + begin, MIC_HUGE, MADV_COLLAPSE) != 0)
    slow = MIC_MOST_WAITING;
  else if (gompy_thread_time () - took > MIC_HUGE_NS)
    slow = 2 * slow + 1 < MIC_MOST_WAITING ? 2 * slow + 1 : MIC_MOST_WAITING;
  else
    slow /= 2;
  waits = slow;
}

/* A write to a page that is not stepped through.  A thread that has come here from the page before fills an array: each
   time as much again is opened as it has filled so far.  Reads of these pages are not seen; of one alone few come
   before its own writes, but others may read where it has not been yet: a part of it is opened then.  */
static void
mic_forget_filled (uint64_t page)
{
  uint64_t end = page + 4096;
  unsigned ahead = page == mic_fill_next ? mic_fill_pages : 0;
  if (ahead > 1 && mic_has_company ())
    ahead /= MIC_FILL_PART;
  for (ahead = ahead < MIC_FILL_PAGES ? ahead : MIC_FILL_PAGES; ahead != 0 && end < mic_marked_size
       && mic_page_unset (end); ahead--)
    end += 4096;
  if (page == mic_fill_next && mic_fill_pages >= MIC_FILL_HUGE)
    mic_make_filled_huge (page);
  mic_fill_pages = (page == mic_fill_next ? mic_fill_pages : 0) + (unsigned) ((end - page) / 4096);
  mic_fill_next = end;
  mic_forget_pages (page, end - page, 1);
}

/* Whether all that is in use around a page lies in it: a small object, or several.  */
static int
mic_page_alone (uint64_t page)
{
  return page < mic_marked_size && (page == 0 || !mic_page_in_use (page - MIC_PAGE))
         && (page + MIC_PAGE == mic_marked_size || !mic_page_in_use (page + MIC_PAGE));
}

/* Open a page, and those that follow it as far as nothing is doubtful there; where none is written, for reads.  */
static void
mic_open_good (uint64_t page, int writes)
{
  uint64_t end = page + 4096;
  int for_reads;
  writes |= mic_page_alone (page);
  for_reads = page < mic_marked_size && !writes && mic_marked_pages.access != NULL && !mic_page_written (page);
  while (end < mic_marked_size && end % MIC_OPEN_AT_ONCE != 0 && mic_page_in_use (end) && !mic_page_doubtful (end)
         && !(for_reads && mic_page_written (end)))
    end += 4096;
  mic_open_for (page, end - page, writes);
}

/* Whether the calling thread is the only one that has been seen in the region.  */
static int
mic_alone (void)
{
  const void *thread = &mic_fill_next;
  uint32_t region = atomic_load (&mic_regions);
  if (region != mic_seen_region)
    {
      mic_seen_region = region;
      mic_seen_thread = thread;
      mic_stepped_count = 0;
    }
  else if (thread != mic_seen_thread && mic_crowded_region != region)
    {
      mic_crowded_region = region;
      for (unsigned i = 0; i < mic_stepped_count; i++)
        mic_forget_page (mic_stepped[i]);
      mic_stepped_count = 0;
    }
  return mic_crowded_region != region;
}

/* Whether steps are few as yet.  On a busy machine the process has run far less than has passed.  */
static int
mic_has_steps (void)
{
  return mic_steps < MIC_FREE_STEPS
	 || (mic_steps < MIC_STEPS && gompy_process_time () / MIC_STEP_PERIOD > mic_steps);
}

static int
mic_may_step (uint64_t page, int writes)
{
  unsigned i;
  if (page != mic_last_stepped)
    {
      mic_last_stepped = page;
      mic_page_steps = 0;
    }
  if (!mic_alone () || mic_has_company () || !mic_has_steps () || mic_page_steps >= MIC_PAGE_STEPS
      || mic_stepping_count == 4 || (writes && mic_write_steps >= MIC_WRITE_STEPS))
    return 0;
  for (i = 0; i < mic_stepped_count && mic_stepped[i] != page; i++)
    ;
  if (i == MIC_STEPPED)
    return 0;
  if (i == mic_stepped_count)
    mic_stepped[mic_stepped_count++] = page;
  mic_steps++;
  mic_page_steps++;
  mic_write_steps += writes != 0;
  return 1;
}

/* Open a page for one instruction; for reads alone, if it only reads: what regions have written is looked for.  */
static void
mic_step (uint64_t page, int writes, ucontext_t *context)
{
  mic_page_marks (page);
  mic_open_for (page, 4096, writes);
  mic_stepping[mic_stepping_count++] = page;
  context->uc_mcontext.gregs[REG_EFL] |= MIC_TRAP_FLAG;
}

/* SIZE bytes are good, as far as they are in the page.  */
static void
mic_mark_good (uint64_t offset, uint64_t page, uint64_t size)
{
  uint64_t end = offset - page + size < 4096 ? offset - page + size : 4096;
  unsigned char *marks = mic_page_marks (page);
  for (uint64_t i = offset - page; i < end; i++)
    if (marks[i] > MIC_MARK_GOOD)
      marks[i] = MIC_MARK_GOOD;
}

/* Nothing more is known of the image's variable at OFFSET, of which the page may have several.  */
static void
mic_forget_variable (uint64_t offset, uint64_t page)
{
  for (uint32_t i = 0; i < mic_outer->variable_count && i < MIC_OUTER_VARIABLES; i++)
    {
      uint64_t start = mic_outer->variables[i].start - (uintptr_t) mic_marked_base, size = mic_outer->variables[i].size;
      if (offset - start >= size)
	continue;
      if (start < page)
	size -= page - start;
      mic_mark_good (start < page ? page : start, page, size);
    }
}

/* After a step: its pages are closed again, unless all is known to be good there now.  */
static void
mic_end_step (ucontext_t *context)
{
  context->uc_mcontext.gregs[REG_EFL] &= ~(greg_t) MIC_TRAP_FLAG;
  while (mic_stepping_count)
    {
      uint64_t page = mic_stepping[--mic_stepping_count];
      if (mic_page_doubtful (page) && mic_alone ())
        mprotect (mic_marked_base + page, 4096, PROT_NONE);
    }
}

/* The mark of what an instruction reads.  */
static unsigned
mic_read_mark (uint64_t offset, uintptr_t pc)
{
  unsigned size = gompy_access_size ((const unsigned char *) pc);
  const unsigned char *marks = mic_page_marks (offset & ~4095ull);
  for (uint64_t i = offset; i != offset + size; i++)
    {
      if (i != offset && i % 4096 == 0)
	marks = mic_page_marks (i);
      if (marks == NULL)
	return 0;
      if (marks[i % 4096] > MIC_MARK_GOOD)
	return marks[i % 4096];
    }
  return 0;
}

/* The mark of a read that is to be told, or 0.  A library may read whole lines around what it is given, as strlen.  */
static unsigned
mic_read_to_tell (uint64_t offset, uintptr_t pc)
{
  const unsigned char *marks = mic_page_marks (offset & ~4095ull);
  uint64_t line = offset % 4096 & ~(MIC_LINE - 1);
  unsigned mark = mic_read_mark (offset, pc);
  if (mark == MIC_MARK_UNSET && !mic_is_image_code (pc) && memchr (marks + line, MIC_MARK_GOOD, MIC_LINE) != NULL)
    return 0;
  return mark;
}

/* Whether a signal is the end of a step.  A busy virtual machine may lose DR6.BS: then si_code is TRAP_BRKPT, and the
   vector alone tells (#DB; a breakpoint of the region's own is #BP).  */
static int
mic_is_step (int signo, const siginfo_t *info, const ucontext_t *context)
{
  return signo == SIGTRAP && mic_stepping_count
	 && (info->si_code == TRAP_TRACE || context->uc_mcontext.gregs[REG_TRAPNO] == MIC_VECTOR_DB);
}

/* Whether a signal was only the first access to a page, or the end of a step.  A read of what is doubtful gives its
   mark in *READ.  */
static int
mic_marked_fault (int signo, siginfo_t *info, void *p, unsigned *read)
{
  ucontext_t *context = p;
  uint64_t offset = (uintptr_t) info->si_addr - (uintptr_t) mic_marked_base, page = offset & ~4095ull;
  uintptr_t pc = (uintptr_t) context->uc_mcontext.gregs[REG_RIP];
  int writes = (context->uc_mcontext.gregs[REG_ERR] & 2) != 0;
  *read = 0;
  if (mic_marks == NULL)
    return 0;
  if (mic_is_step (signo, info, context))
    {
      while (atomic_flag_test_and_set (&mic_marks_busy))
        sched_yield ();
      mic_end_step (context);
      atomic_flag_clear (&mic_marks_busy);
      return 1;
    }
  if (signo != SIGSEGV || info->si_code != SEGV_ACCERR || !mic_page_in_use (page)
      || (context->uc_mcontext.gregs[REG_ERR] & 16))
    return 0;
  while (atomic_flag_test_and_set (&mic_marks_busy))
    sched_yield ();
  mic_alone ();
  if (!mic_page_doubtful (page))
    mic_open_good (page, writes);
  else if (!writes && (*read = mic_read_to_tell (offset, pc)) != 0)
    {
      if (page < mic_marked_size || !mic_may_step (page, 0))
	mic_forget_page (page);
      else
	{
	  mic_forget_variable (offset, page);
	  mic_step (page, 0, context);
	}
    }
  else if (mic_may_step (page, writes))
    {
      if (writes)
        mic_mark_good (offset, page, gompy_write_size_at ((const unsigned char *) pc, offset));
      mic_step (page, writes, context);
    }
  else if (writes)
    mic_forget_filled (page);
  else
    mic_forget_page (page);
  atomic_flag_clear (&mic_marks_busy);
  return 1;
}

static void
mic_watch_marks (unsigned char *marks, void *base, uint64_t size, const struct mic_outer *outer)
{
  mic_outer = outer;
  mic_marks = marks;
  mic_marked_base = base;
  mic_marked_pages = (struct mic_pages){ marks, NULL, NULL, NULL, 0, NULL };
  mic_marked_size = size;
}

/* Open and close what the host has asked for since the last time.  */
static void
mic_change_guards (struct mic_guards *guards)
{
  uint32_t head, tail;
  uint64_t begin;
  if (mic_marks == NULL
      || __atomic_load_n (&guards->tail, __ATOMIC_ACQUIRE) == __atomic_load_n (&guards->head, __ATOMIC_ACQUIRE))
    return;
  begin = gompy_now ();
  while (atomic_flag_test_and_set (&mic_marks_busy))
    sched_yield ();
  tail = __atomic_load_n (&guards->tail, __ATOMIC_ACQUIRE);
  for (head = guards->head; head != tail; head++)
    {
      const struct mic_guard *change = &guards->list[head % MIC_GUARDS];
      if (change->access ? !mic_open_pages (change->offset, change->size)
	                 : mprotect (mic_marked_base + change->offset, change->size, PROT_NONE) != 0)
	{
	  __atomic_store_n (&guards->error, (uint32_t) errno, __ATOMIC_RELAXED);
	  mic_pages_stay_open (&mic_marked_pages, mic_marked_size);
	}
      else if (!change->access)
	mic_note_access (change->offset, change->size, 0);
      __atomic_store_n (&guards->head, head + 1, __ATOMIC_RELEASE);
    }
  atomic_flag_clear (&mic_marks_busy);
  __atomic_fetch_add (&guards->ns, gompy_now () - begin, __ATOMIC_RELAXED);
}

/* A region begins.  */
static void
mic_begin_marked (struct mic_guards *guards)
{
  if (mic_marks == NULL)
    return;
  mic_change_guards (guards);
  atomic_fetch_add (&mic_regions, 1);
}

#endif
