/* `gompy run --check`: which side of a mapping has the newer contents, byte by byte.

   When a range is mapped or copied, the contents of both sides are kept.  What differs from that after a region has the
   device written (`newer`); what differs on the host before one has the program.  The device is told of the latter
   (gompy_mark_stale) and says when a region reads it; what the program reads of the former is watched
   (check_watch.h).

   A program made with -foffload-check tells of its accesses itself (access.h); what libraries read is watched beside
   that.

   What a region has written is not looked for before somebody wants to know: while the program goes on, all of a range
   is watched, and the first access to a part of it has that part compared.  What was not touched is not compared again
   either.  Only where the program cannot be watched both sides are compared around each region.

   Nor are contents kept before they are needed: of large ranges that were copied to the device their hashes are
   (check_hashed.h), and a mapping that its construct ends itself is compared then, with the host, if a region may have
   written what is not copied back (check_fresh.h).  A range that was never copied to the device has there what regions
   have written, and the rest is as new memory is: GOMPY_PART_BARE.

   What is copied from device memory that nothing has written is `newer` as well, until the program writes it.

   A mapping that was copied to the device and ends without a copy back leaves its `newer` bytes behind until the
   program writes them, or until anything happens to them that is not seen.  Regions that run beside the program end
   all that.
   Included once, by libgompy.pyx.  */
#ifndef GOMPY_CHECK_STALE_H
#define GOMPY_CHECK_STALE_H

#include "check_flight.h"
#include "check_log.h"
#include "check_watch.h"
#include "check_room.h"
#include <sys/uio.h>

#define GOMPY_TRACKED 512u
#define GOMPY_TRACKED_BYTES (1ull << 30)
#define GOMPY_LARGE 65536u       /* looked at while there is time for it */
#define GOMPY_PART GOMPY_HASH_PART
#define GOMPY_SMALL 16384u       /* compared sooner than watched: closing pages, and an access to them, cost more */
#define GOMPY_STEADY_LOOKS 6u
#define GOMPY_NEAR (16ull << 20)
#define GOMPY_TIME_SHARE 4       /* of the time, after the first part of a second; beside check_rest.h's */
#define GOMPY_TIME_FREE 400000000ull

/* What is known of GOMPY_PART bytes of a range.  */
#define GOMPY_PART_SAME 1    /* the host's contents are those that `stale` was made of */
#define GOMPY_PART_STALE 2   /* some are stale */
#define GOMPY_PART_UNKNOWN 4 /* regions may have written since it was compared */
#define GOMPY_PART_NEWER 8   /* `newer` may have some */
#define GOMPY_PART_BARE 32   /* regions alone have written the device's side, or nothing has; nothing is kept */
#define GOMPY_PART_LEFT 64   /* the mapping is gone: `newer` has what the device had */
#define GOMPY_PART_HASHED 16 /* its contents are not kept, but what they hash to; both sides had the same */
#define GOMPY_PART_UNSEEN 128 /* the host may have written what `newer` has, unseen */

/* What has happened to a range that is `fresh`.  */
#define GOMPY_FRESH 1
#define GOMPY_FRESH_COPIED 2    /* all of it was copied to the device */
#define GOMPY_FRESH_LAUNCHED 4  /* a region has run since */
#define GOMPY_FRESH_SAME 8      /* both sides have the same now */
#define GOMPY_FRESH_BACK 16     /* all of it was copied from the device, which has what regions have written */

/* What is known of a byte of the host's, if it is not fine.  */
#define GOMPY_NEWER 1  /* the device has newer contents */
#define GOMPY_UNSET 2  /* it was copied from memory of the device that nothing had written */

struct gompy_tracked
{
  uintptr_t host, target;
  size_t size;
  int device;
  int filled;  /* it was copied to the device */
  int global;
  int gone;    /* the mapping is no more */
  int shared;  /* with another device */
  int told;    /* a read of the host's; or nothing is to be told */
  int marked;  /* the device has been told of bytes */
  int logged;
  unsigned char *device_had, *host_had;  /* one block while both are the same */
  uint64_t *hashes;      /* of parts, or NULL: contents are kept; check_hashed.h */
  unsigned char *newer;  /* a byte each of parts that have some, GOMPY_NEWER or GOMPY_UNSET, or NULL: none */
  int unset;             /* there may be the latter */
  unsigned char *stale;
  unsigned char *parts;
  int unknown; /* some parts are */
  int looked;  /* whether the device's side can be looked at: 1, or -1: not; 0: not known */
  unsigned steady;  /* looks since the host has changed it */
  int rested;    /* it is kept over a rest: check_rest_watch.h */
  int unwatched; /* and the program may have come to it unseen */
  uint64_t launches; /* gompy_rest_launches, when what regions have written of it was asked */
  int fresh;   /* or GOMPY_FRESH_...: the construct runs that has made or copied it, and no contents are kept as yet */
  uint64_t hash;  /* GOMPY_FRESH_COPIED: what the host's contents hashed to */
};

typedef int (*gompy_peek_fn) (int device, void *to, uintptr_t target, size_t size);
typedef int (*gompy_mark_fn) (int device, uintptr_t target, unsigned char *stale, size_t size);

static struct gompy_tracked *gompy_tracks[GOMPY_TRACKED];
static unsigned gompy_track_count;
static uint64_t gompy_tracked_bytes;
static int gompy_tracking;
static pthread_mutex_t gompy_stale_lock = PTHREAD_MUTEX_INITIALIZER;
static gompy_peek_fn gompy_peek;
static gompy_mark_fn gompy_mark, gompy_left, gompy_find_unset;
static __thread int gompy_holds;  /* 1 + the device whose memory stays open while the thread's construct runs */
static void (*gompy_release_held) (void);  /* that memory needs not stay open any longer */
/* Whether there may be bytes that gompy_find_unset finds.  */
static int (*gompy_may_be_unset) (int device, uintptr_t target, size_t size);
/* Whether regions may have written it; what it had when it was allocated.  */
static int (*gompy_may_be_written) (int device, uintptr_t target, size_t size);
static int (*gompy_new_contents) (int device, uintptr_t target, unsigned char *to, size_t size);
static int (*gompy_hash_target) (int device, uintptr_t target, size_t size, uint64_t *hash);

/* Whether there is time for a large range: the check's share of the program's time is bounded.  */
static int
gompy_has_time (size_t size)
{
  return size <= GOMPY_LARGE || gompy_stale_time < GOMPY_TIME_FREE
         || gompy_stale_time < (gompy_now () - gompy_stale_begun) / GOMPY_TIME_SHARE;
}

/* Memory of this process.  The emulated GPU's is without access to the program (gompy/cuda/gate.pxi); the file of the
   process's memory shows it all the same.  */
static int
gompy_read_host (void *to, uintptr_t from, size_t size)
{
  static struct gompy_kept memory = { -1, 0, 0 };
  static pid_t owner;
  struct iovec here = { to, size }, there = { (void *) from, size };
  pid_t pid = gompy_is_marked (&gompy_log_process) ? gompy_log_process.pid : getpid ();
  gompy_need_held (from, size, 0);
  if (process_vm_readv (pid, &here, 1, &there, 1, 0) == (ssize_t) size)
    return 1;
  if (owner != pid)
    {
      owner = pid;
      gompy_keep (&memory, gompy_open ("/proc/self/mem", O_RDONLY | O_CLOEXEC, 0));
    }
  return gompy_still_ours (&memory) && pread (memory.fd, to, size, (off_t) from) == (ssize_t) size;
}

#include "check_parts.h"
#include "check_heap.h"
#include "check_huge.h"

/* Whether [AT, AT + SIZE) has bytes of a range, which begins at BASE on that side; those are [*BEGIN, *END) then.  */
static int
gompy_bytes_in (const struct gompy_tracked *t, uintptr_t base, uintptr_t at, size_t size, size_t *begin, size_t *end)
{
  *begin = at > base ? at - base : 0;
  *end = at + size < base + t->size ? at + size - base : t->size;
  return base < at + size && at < base + t->size;
}

#include "check_hashed.h"

static void
gompy_drop_track (unsigned i)
{
  struct gompy_tracked *t = gompy_tracks[i];
  gompy_tracked_bytes -= t->size;
  gompy_join_contents (t);
  gompy_room_put (t->host_had, t->size);
  gompy_room_put (t->newer, t->size);
  gompy_room_put (t->stale, t->size);
  gompy_drop_hashes (t);
  gompy_room_put (t->parts, gompy_part_count (t));
  gompy_room_put (t, sizeof *t);
  gompy_tracks[i] = gompy_tracks[--gompy_track_count];
}

static int
gompy_overlaps (const struct gompy_tracked *t, uintptr_t begin, size_t size)
{
  return t->host < begin + size && begin < t->host + t->size;
}

/* Watch no more, and forget what only the watch kept right.  */
static void
gompy_forget_gone (void)
{
  for (unsigned i = gompy_track_count; i-- > 0;)
    if (gompy_tracks[i]->gone)
      gompy_drop_track (i);
}

static void gompy_stale_listen (void);
static void gompy_rest_settle (void);

static void
gompy_stop_tracking (void)
{
  gompy_end_watch ();
  while (gompy_track_count)
    gompy_drop_track (gompy_track_count - 1);
  gompy_stale_listen ();
  gompy_tracking = 0;
}

static int gompy_keep_contents (struct gompy_tracked *t, const uint64_t *same, int agree);
static int gompy_settle (struct gompy_tracked *t);
static void gompy_begin_global (struct gompy_tracked *t);
static int gompy_fresh_copied (struct gompy_tracked *t, size_t begin, size_t end, int to_device);

/* A mapping was made; FILLED: and copied.  FRESH: by a construct that tells of its end.  */
static void
gompy_stale_new (int device, uintptr_t host, uintptr_t target, size_t size, int filled, int global, int fresh)
{
  struct gompy_tracked *t;
  int shared = 0;
  for (unsigned i = gompy_track_count; i-- > 0;)
    if (gompy_overlaps (gompy_tracks[i], host, size))
      {
        if (gompy_tracks[i]->gone || gompy_tracks[i]->device == device)
          gompy_drop_track (i);
        else
          gompy_tracks[i]->shared = shared = 1;
      }
  if (size == 0 || gompy_track_count == GOMPY_TRACKED || gompy_tracked_bytes + size > GOMPY_TRACKED_BYTES
      || !gompy_has_time (size) || (t = gompy_room_get (sizeof *t)) == NULL)
    return;
  if (fresh)
    gompy_note_mapped (host, size);
  t->host = host;
  t->target = target;
  t->size = size;
  t->device = device;
  t->filled = filled;
  t->global = global;
  t->shared = shared;
  t->fresh = fresh ? GOMPY_FRESH : 0;
  t->parts = gompy_room_get (gompy_part_count (t));
  gompy_tracks[gompy_track_count++] = t;
  gompy_tracked_bytes += size;
  if (t->parts == NULL || (!fresh && !gompy_keep_contents (t, NULL, 0)))
    gompy_drop_track (gompy_track_count - 1);
  else if (global)
    gompy_begin_global (t);
  else if (filled)
    gompy_fresh_copied (t, 0, size, 1);
}

static void gompy_find_newer (struct gompy_tracked *t, size_t end);
static void gompy_leave_parts (struct gompy_tracked *t, size_t end);
static int gompy_fresh_differs (const struct gompy_tracked *t);

static void
gompy_stale_removed (int device, uintptr_t host, size_t size)
{
  if (!gompy_tracking)
    return;
  pthread_mutex_lock (&gompy_stale_lock);
  gompy_rest_settle ();
  for (unsigned i = gompy_track_count; i-- > 0;)
    {
      struct gompy_tracked *t = gompy_tracks[i];
      if (t->device != device || t->gone || t->host != host || t->size != size)
        continue;
      if (gompy_rests && (gompy_rest_watches != GOMPY_REST_WATCHES || t->unwatched || size > GOMPY_LARGE))
        {
          gompy_need_held (host, size, 1);
          gompy_drop_track (i);
          continue;
        }
      if (t->fresh && (!gompy_fresh_differs (t) || !gompy_settle (t)))
        {
          gompy_drop_track (i);
          continue;
        }
      if (t->unknown && t->filled && !t->told && !t->shared)
        gompy_leave_parts (t, gompy_has_time (size) ? size : GOMPY_LARGE);
      if ((!t->filled && !t->unset) || (!t->unknown && !gompy_has_newer (t)) || t->told || t->shared)
        gompy_drop_track (i);
      else
        {
          t->gone = 1;
          t->looked = 0;  /* who has the device's memory next is not known */
        }
    }
  pthread_mutex_unlock (&gompy_stale_lock);
}

/* An image has gone, and with it a variable of its: neither side is there any more.  */
static void
gompy_stale_unloaded (int device, uintptr_t host, size_t size)
{
  pthread_mutex_lock (&gompy_stale_lock);
  if (gompy_meets_watch (host & -GOMPY_PAGE, size + GOMPY_PAGE) || gompy_held_count)
    gompy_end_watch ();
  for (unsigned i = gompy_track_count; i-- > 0;)
    if (gompy_tracks[i]->device == device && gompy_overlaps (gompy_tracks[i], host, size))
      gompy_drop_track (i);
  pthread_mutex_unlock (&gompy_stale_lock);
}

#include "check_fresh.h"

#include "check_agree.h"
#include "check_compare.h"
#include "check_left.h"
#include "check_reads.h"

/* --- programs that tell of their accesses ---------------------------------------------------------------------- */

/* Which addresses are of interest until the next construct.  */
static void
gompy_stale_listen (void)
{
  uintptr_t low = UINTPTR_MAX, high = 0;
  for (unsigned i = 0; i < gompy_track_count; i++)
    {
      const struct gompy_tracked *t = gompy_tracks[i];
      if (t->newer == NULL || t->told || t->shared || (!t->unknown && gompy_first_newer (t, 0, t->size) == NULL))
        continue;
      low = t->host < low ? t->host : low;
      high = t->host + t->size > high ? t->host + t->size : high;
    }
  gompy_flight_bounds (&low, &high);
  gompy_access.high = 0;
  gompy_access.low = low;
  gompy_access.high = high;
}

/* Compare what regions may have written of [BEGIN, END) since it was compared.  */
static void
gompy_look_around (uintptr_t begin, uintptr_t end)
{
  unsigned char dispatch = gompy_dispatch;
  uintptr_t part, part_end;
  int known = 0;
  gompy_dispatch = 0;
  for (uintptr_t page = begin & -GOMPY_PAGE; page < end; page += GOMPY_PAGE)
    {
      known |= gompy_unseen_part (page, &part, &part_end);
      if (gompy_is_closed (page))
        gompy_watch_first (page);
      while (gompy_unseen_part (page, &part, &part_end))
        gompy_look_at (part);
    }
  if (known && gompy_parts_known (begin, end))
    gompy_stale_listen ();
  gompy_dispatch = dispatch && gompy_watch_on;
}

/* The program reads.  What has another value than when both sides agreed last has been written, by a library.  */
static void
gompy_access_read (uintptr_t address, size_t size, const void *pc)
{
  pthread_mutex_lock (&gompy_stale_lock);
  gompy_look_around (address, address + size);
  for (unsigned i = 0; i < gompy_track_count; i++)
    {
      struct gompy_tracked *t = gompy_tracks[i];
      size_t at;
      while ((at = gompy_newer_at (t, address, size)) < t->size
             && ((const unsigned char *) t->host)[at] != t->host_had[at])
        t->newer[at] = 0;
    }
  gompy_flight_judge (address, size, 0, 1, (uintptr_t) pc - 1);
  if (gompy_judge_read (address, size, 1, (uintptr_t) pc - 1))
    gompy_stale_listen ();
  pthread_mutex_unlock (&gompy_stale_lock);
}

static void
gompy_access_write (uintptr_t address, size_t size, const void *pc)
{
  pthread_mutex_lock (&gompy_stale_lock);
  if (pc != NULL)
    gompy_flight_judge (address, size, 1, 1, (uintptr_t) pc - 1);
  gompy_look_around (address, address + size);
  gompy_note_written (address, address + size);
  pthread_mutex_unlock (&gompy_stale_lock);
}

static void
gompy_access_atomic (uintptr_t address, size_t size, int writes, const void *pc)
{
  if (writes != 2)
    gompy_access_read (address, size, pc);
  if (writes)
    gompy_access_write (address, size, pc);
}

#include "check_loops.h"

static void
gompy_access_freed (uintptr_t address, size_t size)
{
  gompy_access_write (address, size, NULL);
}

struct gompy_access gompy_access;

/* The run is checked.  */
static void
gompy_stale_hear (void)
{
  gompy_access.read = gompy_access_read;
  gompy_access.write = gompy_access_write;
  gompy_access.atomic = gompy_access_atomic;
  gompy_access.freed = gompy_access_freed;
  gompy_access.range = gompy_access_range;
  gompy_access.gather = gompy_access_gather;
  gompy_access.low = UINTPTR_MAX;
}

/* Whether there is anything to watch.  */
static int
gompy_is_anything_newer (void)
{
  for (unsigned i = 0; i < gompy_track_count; i++)
    if (!gompy_tracks[i]->told && !gompy_tracks[i]->shared
        && (gompy_tracks[i]->unknown || gompy_has_newer (gompy_tracks[i])))
      return 1;
  return 0;
}

/* Watch a range: all of it, or from the first to the last byte that is newer.  */
static void
gompy_watch_track (struct gompy_maps *maps, struct gompy_tracked *t)
{
  const unsigned char *first, *last;
  if (t->unknown)
    {
      gompy_watch_pages (maps, t->host, t->host + t->size, PROT_NONE);
      return;
    }
  if (t->newer == NULL || (first = gompy_first_newer (t, 0, t->size)) == NULL)
    return;
  last = gompy_has_time (t->size) ? gompy_last_newer (t) : first + GOMPY_LARGE - 1;
  last = last < t->newer + t->size ? last : t->newer + t->size - 1;
  gompy_watch_pages (maps, t->host + (first - t->newer), t->host + (last - t->newer) + 1, PROT_NONE);
}

/* Whether a large range is only to be watched for what the program writes: its contents are known, and then it need not
   be hashed before the next region.  To close and open it takes as long as some ten looks where the kernel notes what
   is written, so that is done for many regions at once, or not.  */
static int
gompy_is_steady (const struct gompy_tracked *t)
{
  return !gompy_rests && t->size >= GOMPY_LARGE && !t->gone && !t->global && t->filled && !t->unknown && !t->told
         && !t->shared && !gompy_access.hooked && gompy_is_same (t)
         && ((t->steady >= GOMPY_STEADY_LOOKS && gompy_watch_holds) || !gompy_is_noted (t));
}

static int
gompy_is_anything_steady (void)
{
  for (unsigned i = 0; i < gompy_track_count; i++)
    if (gompy_is_steady (gompy_tracks[i]))
      return 1;
  return 0;
}

/* Watch what regions have mapped that run beside the program: what is copied back is not even to be read.  */
static void
gompy_watch_flights (struct gompy_maps *maps)
{
  for (int back = 1; back >= 0; back--)
    for (unsigned i = 0; i < gompy_flight_count; i++)
      {
        const struct gompy_flight *f = &gompy_flights[i];
        if (f->begun && !f->told && !f->back == !back)
          gompy_watch_pages (maps, f->host, f->host + f->size, back ? PROT_NONE : PROT_READ);
      }
  for (unsigned i = 0; i < gompy_deferred_count; i++)
    {
      const struct gompy_deferred *d = &gompy_deferreds[i];
      gompy_watch_pages (maps, d->host, d->host + d->size, d->back ? PROT_NONE : PROT_READ);
    }
}

/* The program is not watched: what its regions have written is looked for now, and all of it may change.  In a rest
   there is no time for that.  */
static void
gompy_go_unwatched (void)
{
  if (!gompy_access.hooked)
    gompy_forget_gone ();
  for (unsigned i = 0; i < gompy_track_count && !gompy_rests; i++)
    {
      struct gompy_tracked *t = gompy_tracks[i];
      if (t->unknown && !(gompy_access.hooked && !t->global && gompy_can_look (t)))
        gompy_find_newer (t, gompy_has_time (t->size) ? t->size : GOMPY_LARGE);
    }
}

_Static_assert (GOMPY_WATCHED >= GOMPY_TRACKED + GOMPY_FLIGHTS, "all ranges can be watched");
_Static_assert (GOMPY_HELD_MARGIN >= GOMPY_PART + GOMPY_PAGE, "a part that is looked at may have bytes of held pages");

/* A construct begins, or ends.  What was not watched until now may have changed.  HOLD: it may leave the pages
   alone.  */
static void
gompy_stale_construct (int begins, int hold)
{
  int seen;
  if (gompy_held_count && !gompy_watch_on)
    return;
  if (begins && !gompy_watch_on && gompy_track_count && !(gompy_rests && gompy_rest_watches == GOMPY_REST_BLIND))
    {
      gompy_parts_touched (0, UINTPTR_MAX);
      gompy_parts_unseen ();
    }
  if (begins && !gompy_access.hooked)
    gompy_left_unseen ();
  seen = begins && !gompy_watch_on ? 0 : gompy_handlers_seen;
  if (begins && hold && gompy_watch_on && !gompy_is_in_flight ())
    gompy_hold_watch ();
  else
    {
      gompy_watch_holds &= !(begins && gompy_watch_on);
      gompy_end_watch ();
    }
  gompy_handlers_seen = seen;  /* from begin to end only the runtime is at work, unless it tells of the program */
}

/* The program goes on: watch what it must not read.  */
static void
gompy_stale_watch (void)
{
  struct gompy_maps maps = { -1, NULL, 0 };
  int any;
  gompy_settle_all ();
  gompy_forget_empty ();
  any = gompy_is_anything_newer () || gompy_flights_begun () || gompy_is_anything_steady ();
  if (gompy_watch_on)
    gompy_end_watch ();
  if (gompy_access.hooked)
    gompy_stale_listen ();
  if (!any || !gompy_may_watch ())
    {
      gompy_end_watch ();
      gompy_go_unwatched ();
      return;
    }
  for (unsigned i = 0; i < gompy_track_count; i++)
    if (!gompy_tracks[i]->told && !gompy_tracks[i]->shared)
      gompy_watch_track (&maps, gompy_tracks[i]);
  gompy_watch_flights (&maps);
  for (unsigned i = 0; i < gompy_track_count; i++)
    if (gompy_is_steady (gompy_tracks[i]))
      gompy_watch_pages (&maps, gompy_tracks[i]->host, gompy_tracks[i]->host + gompy_tracks[i]->size, PROT_READ);
  gompy_close_maps (&maps);
  gompy_release_held ();  /* by system calls, which the watch ends at */
  gompy_begin_watch ();
  gompy_note_unwatchable ();
}

#include "check_rest_watch.h"
#include "check_rest.h"

/* The task that ran here has waited for the regions that it has met; they are not watched any longer.  */
static void
gompy_task_waited (uint64_t task, unsigned group)
{
  pthread_mutex_lock (&gompy_stale_lock);
  if (gompy_deferred_waited (task, group))
    {
      if (gompy_watch_on)
        {
          gompy_end_watch ();
          gompy_stale_watch ();
        }
      gompy_stale_listen ();
    }
  pthread_mutex_unlock (&gompy_stale_lock);
}

static void
gompy_task_hears (uint64_t task)
{
  pthread_mutex_lock (&gompy_stale_lock);
  gompy_deferred_heard (task);
  pthread_mutex_unlock (&gompy_stale_lock);
}

#endif
