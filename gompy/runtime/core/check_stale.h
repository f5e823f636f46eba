/* `gompy run --check`: which side of a mapping has the newer contents, byte by byte.

   When a range is mapped or copied, the contents of both sides are kept.  What differs from that after a region has the
   device written (`newer`); what differs on the host before one has the program.  The device is told of the latter
   (gompy_mark_stale) and says when a region reads it; what the program reads of the former is watched
   (check_watch.h).

   A program made with -foffload-check tells of its accesses itself (access.h); what libraries read is watched beside
   that.

   A mapping that was copied to the device and ends without a copy back leaves its `newer` bytes behind until the
   program writes them, or until anything happens to them that is not seen.  Regions that run beside the program end
   all that.
   Included once, by libgompy.pyx.  */
#ifndef GOMPY_CHECK_STALE_H
#define GOMPY_CHECK_STALE_H

#include "check_flight.h"
#include "check_log.h"
#include "check_watch.h"
#include "gompy/native/access.h"
#include "gompy/native/clock.h"
#include <sys/uio.h>

#define GOMPY_TRACKED 512u
#define GOMPY_TRACKED_BYTES (1ull << 30)
#define GOMPY_LARGE 65536u       /* looked at while there is time for it */
#define GOMPY_PART 65536u
#define GOMPY_NEAR (16ull << 20)
#define GOMPY_TIME_SHARE 6       /* of the program's time, after the first part of a second */
#define GOMPY_TIME_FREE 100000000ull

struct gompy_tracked
{
  uintptr_t host, target;
  size_t size;
  int device;
  int filled;  /* it was copied to the device */
  int global;
  int gone;    /* the mapping is no more */
  int shared;  /* with another device */
  int told;    /* a read of the host's */
  int marked;  /* the device has been told of bytes */
  int logged;
  unsigned char *device_had, *host_had;
  unsigned char *newer;  /* a byte each, or NULL: none */
  unsigned char *stale;
};

typedef int (*gompy_peek_fn) (int device, void *to, uintptr_t target, size_t size);
typedef int (*gompy_mark_fn) (int device, uintptr_t target, unsigned char *stale, size_t size);

extern struct gompy_access gompy_access;

static struct gompy_tracked *gompy_tracks[GOMPY_TRACKED];
static unsigned gompy_track_count;
static uint64_t gompy_tracked_bytes, gompy_stale_begun, gompy_stale_time;
static int gompy_tracking;
static pthread_mutex_t gompy_stale_lock = PTHREAD_MUTEX_INITIALIZER;
static gompy_peek_fn gompy_peek;
static gompy_mark_fn gompy_mark, gompy_left;

/* Whether there is time for a large range: the check's share of the program's time is bounded.  */
static int
gompy_has_time (size_t size)
{
  return size <= GOMPY_LARGE || gompy_stale_time < GOMPY_TIME_FREE
         || gompy_stale_time < (gompy_now () - gompy_stale_begun) / GOMPY_TIME_SHARE;
}

static int
gompy_read_host (void *to, uintptr_t from, size_t size)
{
  struct iovec here = { to, size }, there = { (void *) from, size };
  return process_vm_readv (getpid (), &here, 1, &there, 1, 0) == (ssize_t) size;
}

static void
gompy_drop_track (unsigned i)
{
  struct gompy_tracked *t = gompy_tracks[i];
  gompy_tracked_bytes -= t->size;
  free (t->device_had);
  free (t->host_had);
  free (t->newer);
  free (t->stale);
  free (t);
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

static void
gompy_stop_tracking (void)
{
  gompy_end_watch ();
  while (gompy_track_count)
    gompy_drop_track (gompy_track_count - 1);
  gompy_stale_listen ();
  gompy_tracking = 0;
}

/* A mapping was made; FILLED: and copied.  */
static void
gompy_stale_new (int device, uintptr_t host, uintptr_t target, size_t size, int filled, int global)
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
      || !gompy_has_time (size) || (t = calloc (1, sizeof *t)) == NULL)
    return;
  t->host = host;
  t->target = target;
  t->size = size;
  t->device = device;
  t->filled = filled;
  t->global = global;
  t->shared = shared;
  t->device_had = malloc (size);
  t->host_had = malloc (size);
  gompy_tracks[gompy_track_count++] = t;
  gompy_tracked_bytes += size;
  if (t->device_had == NULL || t->host_had == NULL || !gompy_read_host (t->host_had, host, size)
      || !gompy_peek (device, t->device_had, target, size))
    gompy_drop_track (gompy_track_count - 1);
}

static void
gompy_stale_removed (int device, uintptr_t host, size_t size)
{
  if (!gompy_tracking)
    return;
  pthread_mutex_lock (&gompy_stale_lock);
  for (unsigned i = gompy_track_count; i-- > 0;)
    {
      struct gompy_tracked *t = gompy_tracks[i];
      if (t->device != device || t->gone || t->host != host || t->size != size)
        continue;
      if (!t->filled || t->newer == NULL || t->told || t->shared)
        gompy_drop_track (i);
      else
        t->gone = 1;
    }
  pthread_mutex_unlock (&gompy_stale_lock);
}

/* Both sides are taken to agree from here on, in [BEGIN, END) of a range; CONTENTS: the device's, or NULL.  */
static void
gompy_agree (struct gompy_tracked *t, size_t begin, size_t end, const unsigned char *contents)
{
  if (t->newer != NULL)
    memset (t->newer + begin, 0, end - begin);
  if (t->stale != NULL)
    memset (t->stale + begin, 0, end - begin);
  if (t->gone)
    return;
  if (contents != NULL)
    memcpy (t->device_had + begin, contents, end - begin);
  else
    gompy_peek (t->device, t->device_had + begin, t->target + begin, end - begin);
  gompy_read_host (t->host_had + begin, t->host + begin, end - begin);
}

/* A copy has been made, TO_DEVICE from memory of the host, or to that.  */
static void
gompy_stale_copied (int device, uintptr_t target, uintptr_t host, size_t size, int to_device)
{
  for (unsigned i = 0; i < gompy_track_count; i++)
    {
      struct gompy_tracked *t = gompy_tracks[i];
      uintptr_t begin, end;
      if (!t->gone && t->device == device && t->target < target + size && target < t->target + t->size
          && (to_device || host - target == t->host - t->target))
        {
          begin = target > t->target ? target - t->target : 0;
          end = target + size < t->target + t->size ? target + size - t->target : t->size;
          gompy_agree (t, begin, end, (unsigned char *) host + (t->target + begin - target));
          t->filled |= to_device;
        }
      else if (!to_device && gompy_overlaps (t, host, size))
        {
          begin = host > t->host ? host - t->host : 0;
          end = host + size < t->host + t->size ? host + size - t->host : t->size;
          gompy_agree (t, begin, end, NULL);
        }
    }
}

/* --- around a region ------------------------------------------------------------------------------------------- */

static unsigned char *gompy_part, *gompy_host_part;  /* GOMPY_PART bytes each */

/* Whether there is room to compare in.  */
static int
gompy_has_parts (void)
{
  if (gompy_part == NULL && (gompy_part = gompy_check_room (2 * GOMPY_PART)) != NULL)
    gompy_host_part = gompy_part + GOMPY_PART;
  return gompy_part != NULL;
}

/* Loops over bytes that the compiler is to make vectors of, whatever the rest is compiled with.  */
#define GOMPY_VECTORS __attribute__ ((optimize ("O3"), noinline))

/* Which bytes the host has changed, less those that the device has; NEWER may be NULL.  Whether there are any.  */
static GOMPY_VECTORS int
gompy_mark_changed (unsigned char *restrict stale, const unsigned char *restrict now, const unsigned char *restrict had,
                    const unsigned char *restrict newer, size_t n)
{
  unsigned char any = 0;
  if (newer == NULL)
    for (size_t i = 0; i < n; i++)
      any |= stale[i] = now[i] != had[i];
  else
    for (size_t i = 0; i < n; i++)
      any |= stale[i] = (now[i] != had[i]) & (newer[i] == 0);
  return any;
}

/* Which bytes the device has changed, and the host has not.  */
static GOMPY_VECTORS void
gompy_mark_newer (unsigned char *restrict newer, const unsigned char *restrict device,
                  const unsigned char *restrict device_had, const unsigned char *restrict host,
                  const unsigned char *restrict host_had, size_t n)
{
  for (size_t i = 0; i < n; i++)
    newer[i] = (device[i] != device_had[i]) & (host[i] == host_had[i]) & (device[i] != host[i]);
}

/* What the program has changed; it may have given the memory back, too.  */
static int
gompy_find_stale (struct gompy_tracked *t)
{
  int any = 0;
  size_t n;
  if (!gompy_has_parts ())
    return 0;
  for (size_t at = 0; at < t->size; at += n)
    {
      n = t->size - at < GOMPY_PART ? t->size - at : GOMPY_PART;
      if (!gompy_read_host (gompy_host_part, t->host + at, n) || memcmp (gompy_host_part, t->host_had + at, n) == 0)
        {
          if (t->stale != NULL)
            memset (t->stale + at, 0, n);
          continue;
        }
      if (t->stale == NULL && (t->stale = calloc (1, t->size)) == NULL)
        return 0;
      any |= gompy_mark_changed (t->stale + at, gompy_host_part, t->host_had + at,
                                 t->newer != NULL ? t->newer + at : NULL, n);
    }
  return any;
}

/* A region begins: tell its device what the program has changed.  */
static void
gompy_stale_begin_region (int device)
{
  for (unsigned i = 0; i < gompy_track_count; i++)
    {
      struct gompy_tracked *t = gompy_tracks[i];
      if (t->device != device || t->gone || t->global || t->shared || !t->filled || !gompy_has_time (t->size)
          || (!gompy_find_stale (t) && !t->marked))
        continue;
      t->marked = gompy_mark (device, t->target, t->stale, t->size);
      if (t->marked && !t->logged)
        gompy_log (GOMPY_EVENT_STALE, 0, device, NULL, NULL, t->host, t->size, t->target, 0, 0);
      t->logged |= t->marked;
    }
}

/* Whether a word that a device has is an address of its memory: a pointer that the runtime has translated.  */
static int
gompy_is_target (int device, uint64_t word)
{
  for (unsigned i = 0; i < gompy_track_count; i++)
    {
      const struct gompy_tracked *t = gompy_tracks[i];
      if (t->device == device && !t->global && word - (t->target - GOMPY_NEAR) < t->size + 2 * GOMPY_NEAR)
        return 1;
    }
  return 0;
}

/* Pointers differ on both sides, and nobody has written them.  AT: where the part begins that was looked at last.  */
static void
gompy_skip_pointers (struct gompy_tracked *t, size_t at, size_t n)
{
  uint64_t word, low = UINT64_MAX, high = 0;
  for (unsigned i = 0; i < gompy_track_count; i++)
    {
      low = gompy_tracks[i]->target < low ? gompy_tracks[i]->target : low;
      high = gompy_tracks[i]->target + gompy_tracks[i]->size > high ? gompy_tracks[i]->target + gompy_tracks[i]->size
                                                                    : high;
    }
  low -= GOMPY_NEAR < low ? GOMPY_NEAR : low;
  high += GOMPY_NEAR;
  for (size_t i = -(t->host + at) & 7; i + 8 <= n; i += 8)
    {
      memcpy (&word, gompy_part + i, 8);
      if (word - low >= high - low)
        continue;
      memcpy (&word, t->newer + at + i, 8);
      if (word == 0)
        continue;
      memcpy (&word, gompy_part + i, 8);
      if (gompy_is_target (t->device, word))
        memset (t->newer + at + i, 0, 8);
    }
}

/* In the first END bytes.  */
static void
gompy_find_newer (struct gompy_tracked *t, size_t end)
{
  size_t n;
  if (!gompy_has_parts ())
    return;
  for (size_t at = 0; at < end; at += n)
    {
      n = end - at < GOMPY_PART ? end - at : GOMPY_PART;
      if (!gompy_peek (t->device, gompy_part, t->target + at, n))
        return;
      if (memcmp (gompy_part, t->device_had + at, n) == 0 || !gompy_read_host (gompy_host_part, t->host + at, n))
        {
          if (t->newer != NULL)
            memset (t->newer + at, 0, n);
          continue;
        }
      if (t->newer == NULL && (t->newer = calloc (1, t->size)) == NULL)
        return;
      gompy_mark_newer (t->newer + at, gompy_part, t->device_had + at, gompy_host_part, t->host_had + at, n);
      gompy_skip_pointers (t, at, n);
    }
}

/* What a region has overwritten of what the program had changed is no longer known to be older.  */
static void
gompy_find_overwritten (struct gompy_tracked *t)
{
  unsigned char *left = malloc (t->size);
  if (left == NULL)
    return;
  memcpy (left, t->stale, t->size);
  gompy_left (t->device, t->target, left, t->size);
  for (size_t at = 0, end; at < t->size; at = end + 1)
    {
      for (end = at; end < t->size && t->stale[end] && !left[end]; end++)
        ;
      if (end > at)
        gompy_agree (t, at, end, NULL);
    }
  free (left);
}

/* A region has ended: what it has written.  */
static void
gompy_stale_end_region (int device)
{
  for (unsigned i = 0; i < gompy_track_count; i++)
    {
      struct gompy_tracked *t = gompy_tracks[i];
      int has_time = gompy_has_time (t->size);
      if (t->device != device || t->gone || t->shared)
        continue;
      if (t->marked && has_time)
        gompy_find_overwritten (t);
      gompy_find_newer (t, has_time ? t->size : GOMPY_LARGE);  /* where most programs begin to read */
    }
}

/* --- what the program reads ------------------------------------------------------------------------------------ */

/* Which byte of [ADDRESS, ADDRESS + SIZE) of a range is newer on the device, or the range's size.  */
static size_t
gompy_newer_at (const struct gompy_tracked *t, uintptr_t address, size_t size)
{
  if (t->newer != NULL && gompy_overlaps (t, address, size))
    for (uintptr_t a = address; a < address + size; a++)
      if (a - t->host < t->size && t->newer[a - t->host])
        return a - t->host;
  return t->size;
}

static int
gompy_is_newer (uintptr_t address, size_t size)
{
  for (unsigned i = 0; i < gompy_track_count; i++)
    if (gompy_newer_at (gompy_tracks[i], address, size) < gompy_tracks[i]->size)
      return 1;
  return 0;
}

static int
gompy_judge_read (uintptr_t address, size_t size, int in_program, uintptr_t pc)
{
  for (unsigned i = 0; i < gompy_track_count; i++)
    {
      struct gompy_tracked *t = gompy_tracks[i];
      size_t at = gompy_newer_at (t, address, size);
      /* A library may read a little around what it is given, whole words of a string.  */
      if (at == t->size || t->told
          || (!in_program && (at < GOMPY_LARGEST_STORE || t->size - at <= GOMPY_LARGEST_STORE)))
        continue;
      t->told = 1;
      gompy_log (GOMPY_EVENT_STALE, 1, t->device, NULL, (void *) pc, t->host, t->size, t->target, at,
                 t->gone ? GOMPY_STALE_GONE : 0);
      return 1;
    }
  return 0;
}

/* What is in [BEGIN, END) has been written, or has no meaning any more.  */
static void
gompy_note_written (uintptr_t begin, uintptr_t end)
{
  for (unsigned i = 0; i < gompy_track_count; i++)
    {
      struct gompy_tracked *t = gompy_tracks[i];
      uintptr_t low = begin > t->host ? begin - t->host : 0;
      uintptr_t high = end < t->host + t->size ? end - t->host : t->size;
      if (t->newer != NULL && gompy_overlaps (t, begin, end - begin))
        memset (t->newer + low, 0, high - low);
    }
}

static void
gompy_note_unseen (uintptr_t begin, uintptr_t end)
{
  if (!gompy_access.hooked)
    gompy_note_written (begin, end);
}

/* By an instruction that is not known better.  */
static void
gompy_note_write (uintptr_t address, size_t size)
{
  if (!gompy_access.hooked)
    gompy_note_written (address, address + size);
}

/* What was left behind may be changed, or freed, from here on.  */
static void
gompy_note_unwatched (void)
{
  for (unsigned i = 0; i < gompy_track_count && !gompy_access.hooked; i++)
    if (gompy_tracks[i]->gone && gompy_tracks[i]->newer != NULL)
      memset (gompy_tracks[i]->newer, 0, gompy_tracks[i]->size);
}

/* --- programs that tell of their accesses ---------------------------------------------------------------------- */

/* Which addresses are of interest until the next construct.  */
static void
gompy_stale_listen (void)
{
  uintptr_t low = UINTPTR_MAX, high = 0;
  for (unsigned i = 0; i < gompy_track_count; i++)
    {
      const struct gompy_tracked *t = gompy_tracks[i];
      if (t->newer == NULL || t->told || t->shared || memchr (t->newer, 1, t->size) == NULL)
        continue;
      low = t->host < low ? t->host : low;
      high = t->host + t->size > high ? t->host + t->size : high;
    }
  gompy_flight_bounds (&low, &high);
  gompy_access.high = 0;
  gompy_access.low = low;
  gompy_access.high = high;
}

/* The program reads.  What has another value than when both sides agreed last has been written, by a library.  */
static void
gompy_access_read (uintptr_t address, size_t size, const void *pc)
{
  pthread_mutex_lock (&gompy_stale_lock);
  for (unsigned i = 0; i < gompy_track_count; i++)
    {
      struct gompy_tracked *t = gompy_tracks[i];
      size_t at;
      while ((at = gompy_newer_at (t, address, size)) < t->size
             && ((const unsigned char *) t->host)[at] != t->host_had[at])
        t->newer[at] = 0;
    }
  gompy_flight_judge (address, size, 0, (uintptr_t) pc - 1);
  if (gompy_judge_read (address, size, 1, (uintptr_t) pc - 1))
    gompy_stale_listen ();
  pthread_mutex_unlock (&gompy_stale_lock);
}

static void
gompy_access_write (uintptr_t address, size_t size, const void *pc)
{
  pthread_mutex_lock (&gompy_stale_lock);
  if (pc != NULL)
    gompy_flight_judge (address, size, 1, (uintptr_t) pc - 1);
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
  gompy_access.low = UINTPTR_MAX;
}

/* The program goes on: watch what it must not read.  */
static void
gompy_stale_watch (void)
{
  enum { ROOM = 1 << 17 };
  static char *maps;
  size_t have = 0;
  ssize_t n;
  int fd = -1, any = 0;
  gompy_end_watch ();
  if (gompy_access.hooked)
    gompy_stale_listen ();
  for (unsigned i = 0; i < gompy_track_count; i++)
    any |= gompy_tracks[i]->newer != NULL && !gompy_tracks[i]->told && !gompy_tracks[i]->shared;
  if (any && maps == NULL)
    maps = gompy_check_room (ROOM);
  if (any && maps != NULL && gompy_may_watch ())
    fd = gompy_open ("/proc/self/maps", O_RDONLY, 0);
  if (fd < 0)
    {
      if (!gompy_access.hooked)
        gompy_forget_gone ();
      return;
    }
  while (have < ROOM - 1 && (n = read (fd, maps + have, ROOM - 1 - have)) > 0)
    have += (size_t) n;
  maps[have] = 0;
  close (fd);
  for (unsigned i = 0; i < gompy_track_count; i++)
    {
      struct gompy_tracked *t = gompy_tracks[i];
      unsigned char *first, *last;
      if (t->newer == NULL || t->told || t->shared || (first = memchr (t->newer, 1, t->size)) == NULL)
        continue;
      last = gompy_has_time (t->size) ? memrchr (t->newer, 1, t->size) : first + GOMPY_LARGE - 1;
      last = last < t->newer + t->size ? last : t->newer + t->size - 1;
      gompy_watch_pages (maps, t->host + (first - t->newer), t->host + (last - t->newer) + 1);
    }
  gompy_begin_watch ();
}

#endif
