/* `gompy run --check`: what the program reads is judged, and what it writes is noted.
   Included once, by check_stale.h.  */
#ifndef GOMPY_CHECK_READS_H
#define GOMPY_CHECK_READS_H

#define GOMPY_LARGEST_NUMBER 8ul
#define GOMPY_NUMBER 4ul  /* where nothing else is known: two beside each other may be the program's and the device's */

/* Which byte of [ADDRESS, ADDRESS + SIZE) of a range is newer on the device, or the range's size.  */
static size_t
gompy_newer_at (const struct gompy_tracked *t, uintptr_t address, size_t size)
{
  if (t->newer != NULL && gompy_overlaps (t, address, size))
    for (uintptr_t a = address; a < address + size; a++)
      if (a - t->host < t->size && t->parts[(a - t->host) / GOMPY_PART] & GOMPY_PART_NEWER && t->newer[a - t->host])
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

/* Whether all bytes of an access are of those that nothing has written.  Who copies a structure reads the bytes between
   its members as well.  */
static int
gompy_is_all_unset (const struct gompy_tracked *t, uintptr_t address, size_t size)
{
  for (uintptr_t a = address; a < address + size; a++)
    if (a - t->host >= t->size || !(t->parts[(a - t->host) / GOMPY_PART] & GOMPY_PART_NEWER)
        || t->newer[a - t->host] != GOMPY_UNSET)
      return 0;
  return 1;
}

/* An access to a part that the program may have written unseen.  Of a number that it has written some bytes are by
   chance as they were: where one has changed, all of the number is the program's.  A number is what the program reads
   by one access, or four aligned bytes where something else reads, or many are read at once.  */
static void
gompy_clear_rewritten (struct gompy_tracked *t, uintptr_t address, size_t size, int in_program)
{
  size_t other = t->gone ? GOMPY_LARGEST_NUMBER : GOMPY_NUMBER; /* malloc may have it back: the size of a block */
  size_t unit = in_program == 1 && size <= GOMPY_LARGEST_NUMBER ? size : other, begin, end, next, at;
  uintptr_t first = unit == size ? address : address & -unit;
  uintptr_t last = unit == size ? address + size : (address + size + unit - 1) & -unit;
  if (!gompy_bytes_in (t, t->host, first, last - first, &begin, &end))
    return;
  for (size_t from = begin; from < end; from = next)
    {
      int known = gompy_read_host (gompy_host_part, t->host + from, gompy_part_end (from, end) - from);
      next = gompy_part_end (from, end);
      for (size_t i = from; i < next; i = at)
        {
          at = first + ((t->host + i - first) / unit + 1) * unit - t->host;
          at = at < next ? at : next;
          if (!known || memcmp (gompy_host_part + (i - from), t->host_had + i, at - i) != 0)
            gompy_clear_newer (t, i, at);
        }
    }
}

/* IN_PROGRAM: 0: a library reads, 1: the program does, 2: the kernel, for it.  */
static int
gompy_judge_read (uintptr_t address, size_t size, int in_program, uintptr_t pc)
{
  for (unsigned i = 0; i < gompy_track_count; i++)
    {
      struct gompy_tracked *t = gompy_tracks[i];
      size_t at = gompy_newer_at (t, address, size);
      int unset;
      if (at < t->size && t->parts[at / GOMPY_PART] & GOMPY_PART_UNSEEN)
        {
          gompy_clear_rewritten (t, address, size, in_program);
          at = gompy_newer_at (t, address, size);
        }
      /* A library may read a little around what it is given, whole words of a string.  */
      unset = at < t->size && t->newer[at] == GOMPY_UNSET;
      if (at == t->size || t->told || (unset && (in_program == 2 || !gompy_is_all_unset (t, address, size)))
          || (!in_program && (at < GOMPY_LARGEST_STORE || t->size - at <= GOMPY_LARGEST_STORE)))
        continue;
      t->told = 1;
      gompy_log (GOMPY_EVENT_STALE, 1, t->device, NULL, (void *) pc, t->host, t->size, t->target, at,
                 (t->gone ? GOMPY_STALE_GONE : 0) | (unset ? GOMPY_STALE_UNSET : 0));
      return 1;
    }
  return 0;
}

/* The stack pointer is at SP: an object around it was in a frame that has been left.
   What is there is other code's.  */
static void
gompy_forget_left (uintptr_t sp)
{
  for (unsigned i = 0; i < gompy_track_count; i++)
    if (gompy_tracks[i]->host < sp && sp < gompy_tracks[i]->host + gompy_tracks[i]->size)
      gompy_tracks[i]->told = 1;
}

/* A part that meets a page, and was not compared since a region has ended; 0: there is none.  */
static int
gompy_unseen_part (uintptr_t page, uintptr_t *begin, uintptr_t *end)
{
  for (unsigned i = 0; i < gompy_track_count; i++)
    {
      const struct gompy_tracked *t = gompy_tracks[i];
      size_t low = page > t->host ? page - t->host : 0, high = page + GOMPY_PAGE - t->host;
      if (!gompy_overlaps (t, page, GOMPY_PAGE))
        continue;
      high = high < t->size ? high : t->size;
      for (size_t part = low / GOMPY_PART; part <= (high - 1) / GOMPY_PART; part++)
        if (t->parts[part] & GOMPY_PART_UNKNOWN)
          {
            *begin = t->host + part * GOMPY_PART;
            *end = t->host + (part + 1 < gompy_part_count (t) ? (part + 1) * GOMPY_PART : t->size);
            *end = *end < t->host + t->size ? *end : t->host + t->size;
            return 1;
          }
    }
  return 0;
}

/* Compare the part that begins at an address.  */
static void
gompy_look_at (uintptr_t address)
{
  for (unsigned i = 0; i < gompy_track_count; i++)
    {
      struct gompy_tracked *t = gompy_tracks[i];
      size_t at = address - t->host;
      uint64_t now = gompy_now ();
      if (at >= t->size || at % GOMPY_PART != 0 || !(t->parts[at / GOMPY_PART] & GOMPY_PART_UNKNOWN))
        continue;
      gompy_compare_part (t, at, t->size - at < GOMPY_PART ? t->size - at : GOMPY_PART);
      gompy_stale_time += gompy_now () - now;
    }
}

/* Whether nothing in [BEGIN, END) is newer on the device, or may be.  */
static int
gompy_is_harmless (uintptr_t begin, uintptr_t end)
{
  if (gompy_flight_meets (begin, end))
    return 0;
  for (unsigned i = 0; i < gompy_track_count; i++)
    {
      const struct gompy_tracked *t = gompy_tracks[i];
      uintptr_t low = begin > t->host ? begin - t->host : 0;
      uintptr_t high = end < t->host + t->size ? end - t->host : t->size;
      if (t->told || t->shared || t->host >= end || begin >= t->host + t->size)
        continue;
      if (t->parts[low / GOMPY_PART] & GOMPY_PART_UNKNOWN || t->parts[(high - 1) / GOMPY_PART] & GOMPY_PART_UNKNOWN
          || (t->newer != NULL && gompy_first_newer (t, low, high) != NULL))
        return 0;
    }
  return 1;
}

/* Nothing in [BEGIN, END) is newer on the device: it has been written, or has no meaning any more.  */
static void
gompy_note_older (uintptr_t begin, uintptr_t end)
{
  for (unsigned i = 0; i < gompy_track_count; i++)
    {
      struct gompy_tracked *t = gompy_tracks[i];
      uintptr_t low = begin > t->host ? begin - t->host : 0;
      uintptr_t high = end < t->host + t->size ? end - t->host : t->size;
      if (gompy_overlaps (t, begin, end - begin))
        gompy_clear_newer (t, low, high);
    }
  gompy_parts_touched (begin, end);
}

/* The program writes [BEGIN, END), or is about to, unseen.  What a device has there that is newer it has had before
   that: else it would be newer again after the next region, where the program writes what it had.  */
static void
gompy_note_outdated (uintptr_t begin, uintptr_t end)
{
  for (unsigned i = 0; i < gompy_track_count; i++)
    {
      struct gompy_tracked *t = gompy_tracks[i];
      size_t low, high, next;
      if (t->gone || t->newer == NULL || t->told || !gompy_bytes_in (t, t->host, begin, end - begin, &low, &high))
        continue;
      for (size_t at = low; at < high; at = next)
        {
          next = gompy_part_end (at, high);
          if (t->parts[at / GOMPY_PART] & GOMPY_PART_NEWER && memchr (t->newer + at, GOMPY_NEWER, next - at) != NULL
              && gompy_part_contents (t))
            gompy_peek (t->device, t->device_had + at, t->target + at, next - at);
        }
    }
}

static void
gompy_note_written (uintptr_t begin, uintptr_t end)
{
  gompy_note_outdated (begin, end);
  gompy_note_older (begin, end);
}

static void
gompy_note_unseen (uintptr_t begin, uintptr_t end)
{
  if (gompy_access.hooked)
    {
      gompy_parts_touched (begin, end);
      return;
    }
  gompy_lose_left (begin, end);
  gompy_note_older (begin, end);
}

/* By an instruction that is not known better.  */
static void
gompy_note_write (uintptr_t address, size_t size)
{
  if (!gompy_access.hooked)
    gompy_note_written (address, address + size);
  else
    gompy_parts_touched (address, address + size);
}

/* What was left behind may be changed, or freed, from here on.  */
static void
gompy_note_unwatched (void)
{
  for (unsigned i = 0; i < gompy_track_count && !gompy_access.hooked; i++)
    if (gompy_tracks[i]->gone)
      {
        gompy_drop_left_of (gompy_tracks[i], 0, gompy_tracks[i]->size);
        gompy_tracks[i]->unknown = 0;
      }
}

#endif
