/* `gompy run --check`: what ranges of the program's hash to, without a look at what nothing has written since.

   Most arrays that regions only read are copied to a device again and again, as they are.  When one has been the same
   twice the kernel notes which of its pages are written from then on (userfaultfd, UFFD_FEATURE_WP_ASYNC, Linux 6.7),
   and only their parts are hashed again.  To ask takes a microsecond a MiB, to hash 58.  But the first write to each
   page takes one: so a range of which much is found written is left alone, for longer each time.

   What the kernel has not noted counts as written: new memory at the same place, pages that were given back.  A file's
   pages are never there: what is mapped in the place of such memory is noted by nobody, and then the question fails.
   To ask for them as well would take six microseconds a MiB, as the kernel looks at each page itself then.
   Included once, by check_log.h.  */
#ifndef GOMPY_CHECK_UNWRITTEN_H
#define GOMPY_CHECK_UNWRITTEN_H

#include "gompy/native/mappings.h"
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#define GOMPY_NOTED 64u                 /* ranges */
#define GOMPY_NOTED_LEAST (1u << 18)    /* bytes: to ask about fewer takes as long as to hash them */
#define GOMPY_NOTED_MOST (1ull << 29)
#define GOMPY_NOTED_AFTER 2u            /* times that a range was the same */
#define GOMPY_NOTED_AFTER_MOST 1024u
#define GOMPY_NOTED_LONGER 4u           /* so many times as many, where one was found written */
#define GOMPY_NOTED_WRITTEN 4u          /* one in so many parts may be found written */
#define GOMPY_NOTED_ANSWERS 32u         /* rows of pages, of one question */
#define GOMPY_NOTED_PAGE 4096ul
/* uapi/linux/userfaultfd.h of Linux 5.11 and 6.7; uapi/linux/fs.h of 6.7, of struct gompy_page_scan.  */
#define GOMPY_UFFD_USER_MODE 1
#define GOMPY_UFFD_WP_ASYNC (1u << 15)
#define GOMPY_SCAN_NOTE 1     /* flags: note the pages again that are found */
#define GOMPY_SCAN_NOTED 2    /* fail where nothing is noted */
#define GOMPY_PAGE_WRITTEN 2u
#define GOMPY_PAGE_PRESENT 8u

struct gompy_noted
{
  uintptr_t start;
  size_t size, room;  /* of PARTS, in bytes */
  uint64_t hash, *parts;
  unsigned same, after;
  int on;             /* the kernel notes what is written */
};

static struct gompy_noted gompy_noteds[GOMPY_NOTED];
static unsigned gompy_noted_next;
static struct gompy_kept gompy_noter = { -1, 0, 0 }, gompy_noted_pages = { -1, 0, 0 };
static int gompy_noter_ready;  /* 1, or -1: the system does not have that, or does not let us */
static pthread_mutex_t gompy_noted_lock = PTHREAD_MUTEX_INITIALIZER;

static int gompy_is_cut (uintptr_t begin, uintptr_t end);

static int
gompy_open_noter (void)
{
  struct uffdio_api api = { UFFD_API, GOMPY_UFFD_WP_ASYNC, 0 };
  int fd = (int) syscall (SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | GOMPY_UFFD_USER_MODE);
  gompy_noter_ready = -1;
  if (fd < 0)
    return 0;
  gompy_keep (&gompy_noter, gompy_not_standard (fd));
  gompy_keep (&gompy_noted_pages, gompy_open ("/proc/self/pagemap", O_RDONLY | O_CLOEXEC, 0));
  if (gompy_noter.fd >= 0 && gompy_noted_pages.fd >= 0 && ioctl (gompy_noter.fd, UFFDIO_API, &api) == 0)
    gompy_noter_ready = 1;
  else
    {
      gompy_close_kept (&gompy_noter);
      gompy_close_kept (&gompy_noted_pages);
    }
  return gompy_noter_ready > 0;
}

/* The mapping at an address.  False: it is not plain memory of the program's, or it is the stack that this runs on.  */
static int
gompy_own_mapping (uintptr_t at, struct gompy_mapping_query *query)
{
  uintptr_t here = (uintptr_t) __builtin_frame_address (0);
  int known, fd = gompy_open ("/proc/self/maps", O_RDONLY | O_CLOEXEC, 0);
  if (fd < 0)
    return 0;
  known = gompy_ask_mapping (fd, at, query);
  close (fd);
  return known && (query->flags & 15) == GOMPY_MAPPING_RW_PRIVATE && query->inode == 0
         && !(query->begin <= here && here < query->end);
}

/* Have the kernel note what is written in the mapping that a range lies in.  All of the mapping, as one of which a part
   is noted would become two, and the program may want to move it as one.  So none of one that held pages cut: what lies
   behind these would be another.  The heap is not moved.  */
static int
gompy_note_writes (uintptr_t start, size_t size)
{
  struct gompy_mapping_query query;
  struct uffdio_register mapping = { { 0, 0 }, UFFDIO_REGISTER_MODE_WP, 0 };
  if (gompy_noter_ready < 0 || (!gompy_noter_ready && !gompy_open_noter ()) || !gompy_own_mapping (start, &query)
      || query.end < start + size
      || (query.end > (uintptr_t) sbrk (0) && gompy_is_cut (query.begin, query.end)))
    return 0;
  mapping.range.start = query.begin;
  mapping.range.len = query.end - query.begin;
  return gompy_still_ours (&gompy_noter) && ioctl (gompy_noter.fd, UFFDIO_REGISTER, &mapping) == 0;
}

/* Rows of pages that have been written since this was asked last, or may have.  */
struct gompy_written_rows
{
  struct gompy_page_scan scan;
  struct { uint64_t begin, end, what; } rows[GOMPY_NOTED_ANSWERS];
};

/* Ask for those of a range; FLAGS: GOMPY_SCAN_NOTE, or 0: they are found the next time, too.  */
static void
gompy_begin_rows (struct gompy_written_rows *w, const struct gompy_noted *e, unsigned flags)
{
  unsigned all = GOMPY_PAGE_WRITTEN | GOMPY_PAGE_PRESENT;
  w->scan = (struct gompy_page_scan){ .size = sizeof w->scan, .flags = flags | GOMPY_SCAN_NOTED,
                                      .start = e->start & -GOMPY_NOTED_PAGE,
                                      .end = (e->start + e->size + GOMPY_NOTED_PAGE - 1) & -GOMPY_NOTED_PAGE,
                                      .found = (uintptr_t) w->rows, .room = GOMPY_NOTED_ANSWERS,
                                      .inverted = GOMPY_PAGE_PRESENT, .any_of = all, .told = all };
}

/* How many rows come next; 0: no more; -1: that is not known.  */
static int
gompy_next_rows (struct gompy_written_rows *w)
{
  int n = 0;
  while (n == 0 && w->scan.start < w->scan.end)
    {
      n = gompy_still_ours (&gompy_noted_pages) ? ioctl (gompy_noted_pages.fd, GOMPY_PAGE_SCAN, &w->scan) : -1;
      if (n < 0 || w->scan.walked <= w->scan.start)
        return -1;
      w->scan.start = w->scan.walked;
    }
  return n;
}

/* The first part that has bytes of a row, and the one behind the last.  */
static void
gompy_parts_of_row (const struct gompy_written_rows *w, int i, const struct gompy_noted *e, size_t *begin, size_t *end)
{
  size_t last = w->rows[i].end < e->start + e->size ? w->rows[i].end - e->start : e->size;
  *begin = w->rows[i].begin > e->start ? (w->rows[i].begin - e->start) / GOMPY_HASH_PART : 0;
  *end = gompy_count_parts (last);
}

/* Hash those parts of a range again that have been written, or may have.  How many; or -1: that is not known.  */
static int
gompy_hash_written (struct gompy_noted *e)
{
  struct gompy_written_rows w;
  size_t begin, end, next = 0;  /* the part that is to be hashed next at the earliest */
  int n, written = 0;
  gompy_begin_rows (&w, e, GOMPY_SCAN_NOTE);
  while ((n = gompy_next_rows (&w)) > 0)
    for (int i = 0; i < n; i++)
      {
        gompy_parts_of_row (&w, i, e, &begin, &end);
        for (next = begin > next ? begin : next; next < end; next++, written++)
          {
            size_t at = next * GOMPY_HASH_PART, left = e->size - at;
            e->parts[next] = gompy_hash_part ((const void *) (e->start + at),
                                              left < GOMPY_HASH_PART ? left : GOMPY_HASH_PART);
          }
      }
  return n < 0 ? -1 : written;
}

/* From here on all that is written is noted.  */
static int
gompy_note_all (const struct gompy_noted *e)
{
  struct gompy_written_rows w;
  int n;
  gompy_begin_rows (&w, e, GOMPY_SCAN_NOTE);
  while ((n = gompy_next_rows (&w)) > 0)
    ;
  return n == 0;
}

/* What is known of a range; NULL: it is too small, or another thread asks.  */
static struct gompy_noted *
gompy_noted_range (uintptr_t start, size_t size, int make)
{
  struct gompy_noted *e = NULL;
  size_t room = gompy_count_parts (size) * sizeof *e->parts;
  for (unsigned i = 0; i < GOMPY_NOTED; i++)
    if (gompy_noteds[i].start == start && gompy_noteds[i].size == size)
      return &gompy_noteds[i];
  if (!make)
    return NULL;
  e = &gompy_noteds[gompy_noted_next++ % GOMPY_NOTED];
  if (e->room < room)
    {
      if (e->parts != NULL)
        munmap (e->parts, e->room);
      memset (e, 0, sizeof *e);
      if ((e->parts = gompy_check_room (room)) == NULL)
        return NULL;
      e->room = room;
    }
  *e = (struct gompy_noted){ start, size, e->room, 0, e->parts, 0, GOMPY_NOTED_AFTER, 0 };
  return e;
}

/* The kernel is to note nothing for now of ranges that have bytes of [BEGIN, END).  The next time that one is hashed
   that begins again.  */
static void
gompy_forget_noted (uintptr_t begin, uintptr_t end)
{
  if (pthread_mutex_trylock (&gompy_noted_lock) != 0)
    return;
  for (unsigned i = 0; i < GOMPY_NOTED; i++)
    {
      struct gompy_noted *e = &gompy_noteds[i];
      uintptr_t first = e->start & -GOMPY_NOTED_PAGE;
      struct uffdio_writeprotect range = { { first, (e->start + e->size - first + GOMPY_NOTED_PAGE - 1)
                                                    & -GOMPY_NOTED_PAGE }, 0 };
      if (!e->on || e->start >= end || begin >= e->start + e->size || !gompy_still_ours (&gompy_noter))
        continue;
      e->on = 0;
      ioctl (gompy_noter.fd, UFFDIO_WRITEPROTECT, &range);
    }
  pthread_mutex_unlock (&gompy_noted_lock);
}

/* Bring what is known of a range up to date, where the kernel notes that.  False: all of it is to be hashed.  */
static int
gompy_noted_now (struct gompy_noted *e)
{
  int written = e->on ? gompy_hash_written (e) : -1;
  if (written < 0 || (size_t) written * GOMPY_NOTED_WRITTEN > e->size / GOMPY_HASH_PART)
    {
      e->after = e->on && e->after < GOMPY_NOTED_AFTER_MOST ? GOMPY_NOTED_LONGER * e->after : e->after;
      e->same = e->on ? 0 : e->same;
      e->on = 0;
    }
  if (written > 0)
    e->hash = gompy_hash_of_parts (e->size, e->parts);
  return written >= 0;
}

/* gompy_hash_parts, of memory of the program's that a construct is about to copy.  */
static uint64_t
gompy_hash_noted (uintptr_t start, size_t size, uint64_t *parts)
{
  struct gompy_noted *e;
  uint64_t hash;
  if (parts == NULL || size < GOMPY_NOTED_LEAST || size > GOMPY_NOTED_MOST || gompy_noter_ready < 0
      || pthread_mutex_trylock (&gompy_noted_lock) != 0)
    return gompy_hash_parts ((const void *) start, size, parts);
  if ((e = gompy_noted_range (start, size, 1)) == NULL)
    hash = gompy_hash_parts ((const void *) start, size, parts);
  else
    {
      if (!gompy_noted_now (e))
        {
          /* noted first, so that what another thread writes meanwhile is */
          e->on = e->same >= e->after && gompy_note_writes (start, size) && gompy_note_all (e);
          hash = gompy_hash_parts ((const void *) start, size, e->parts);
          e->same = hash == e->hash ? e->same + 1 : 0;
          e->hash = hash;
        }
      hash = e->hash;
      memcpy (parts, e->parts, gompy_count_parts (size) * sizeof *parts);
    }
  pthread_mutex_unlock (&gompy_noted_lock);
  return hash;
}

#endif
