/* `gompy run --check`: large ranges whose contents are not kept, but what each part hashes to.

   Both sides had the same when the range was copied.  While one of them has that still, it stands for what both had:
   most parts are changed on one side at most, and those of arrays that are only read on none.  So a part's contents are
   kept when one side has changed it, from the other: that is looked for before the host may write unseen what a region
   may have written.  Where there was no time for that, and both have changed it, they are taken to agree from then on.
   Included once, by check_stale.h.  */
#ifndef GOMPY_CHECK_HASHED_H
#define GOMPY_CHECK_HASHED_H

/* Of the part that begins at AT.  */
static size_t
gompy_part_size (const struct gompy_tracked *t, size_t at)
{
  return gompy_part_end (at, t->size) - at;
}

static void
gompy_drop_hashes (struct gompy_tracked *t)
{
  gompy_room_put (t->hashes, gompy_part_count (t) * sizeof *t->hashes);
  t->hashes = NULL;
}

/* Keep what the sides had of a part that is GOMPY_PART_BARE, before a region has written.  Where the host may have
   written since, the sides are taken to agree.  */
static void
gompy_keep_bare (struct gompy_tracked *t, size_t at)
{
  unsigned char *part = &t->parts[at / GOMPY_PART];
  size_t n = gompy_part_size (t, at);
  int lost = *part & GOMPY_PART_UNKNOWN && !(*part & GOMPY_PART_SAME);
  *part &= ~GOMPY_PART_BARE;
  if (!gompy_read_host (t->host_had + at, t->host + at, n)
      || !(lost ? gompy_peek (t->device, t->device_had + at, t->target + at, n)
                : gompy_new_contents (t->device, t->target + at, t->device_had + at, n)))
    t->told = 1;
}

/* All of a range was copied to the device.  What its parts hash to, of the copy's bytes if those were just hashed.  */
static uint64_t
gompy_take_hashes (struct gompy_tracked *t)
{
  const struct gompy_hashed *known = gompy_find_hashed (t->host, t->size);
  int new;
  if (t->size < GOMPY_LARGE
      || (t->hashes == NULL
          && (t->hashes = gompy_room_take (gompy_part_count (t) * sizeof *t->hashes, &new)) == NULL))
    return known != NULL ? known->hash : gompy_hash ((const void *) t->host, t->size);
  if (known == NULL || known->parts == NULL)
    return gompy_hash_parts ((const void *) t->host, t->size, t->hashes);
  memcpy (t->hashes, known->parts, gompy_count_parts (t->size) * sizeof *t->hashes);
  return known->hash;
}

/* Keep no more of a range than its hashes.  They are the host's still: while no other thread is there nobody has
   written that.  False: the contents are to be kept.  */
static int
gompy_keep_hashes (struct gompy_tracked *t, uint64_t hash)
{
  if (t->hashes == NULL || (gompy_count_threads () != 1 && gompy_hash ((const void *) t->host, t->size) != hash))
    return 0;
  memset (t->parts, GOMPY_PART_SAME | GOMPY_PART_HASHED, gompy_part_count (t));
  return 1;
}

/* Whether a side's contents, which are in CONTENTS, are those that both had.  */
static int
gompy_is_hashed (const struct gompy_tracked *t, size_t at, const void *contents)
{
  return gompy_hash (contents, gompy_part_size (t, at)) == t->hashes[at / GOMPY_PART];
}

/* Whether the host has not changed since it was looked at last.  */
static int
gompy_is_same (const struct gompy_tracked *t)
{
  for (size_t i = 0; i * GOMPY_PART < t->size; i++)
    if (!(t->parts[i] & (GOMPY_PART_SAME | GOMPY_PART_BARE)))
      return 0;
  return 1;
}

/* Whether the kernel notes what is written there.  */
static int
gompy_is_noted (const struct gompy_tracked *t)
{
  const struct gompy_noted *e;
  int is;
  if (pthread_mutex_trylock (&gompy_noted_lock) != 0)
    return 0;
  e = gompy_noted_range (t->host, t->size, 0);
  is = e != NULL && e->on;
  pthread_mutex_unlock (&gompy_noted_lock);
  return is;
}

/* The host's side of a range, as far as that needs no look: parts are as they were that the kernel notes, and that
   hashed to the same when this was asked last.  A look by the kernel alone, as the memory may have been given back.  */
static void
gompy_find_unwritten (struct gompy_tracked *t)
{
  struct gompy_written_rows w;
  struct gompy_noted *e;
  size_t begin, end;
  int n = -1;
  if (t->hashes == NULL || t->size < GOMPY_NOTED_LEAST || gompy_is_same (t)
      || pthread_mutex_trylock (&gompy_noted_lock) != 0)
    return;
  if ((e = gompy_noted_range (t->host, t->size, 0)) != NULL && e->on)
    {
      for (size_t i = 0; i * GOMPY_PART < t->size; i++)
        if (t->parts[i] & GOMPY_PART_HASHED && e->parts[i] == t->hashes[i])
          t->parts[i] = (unsigned char) ((t->parts[i] & ~GOMPY_PART_STALE) | GOMPY_PART_SAME);
      gompy_begin_rows (&w, e, 0);
      while ((n = gompy_next_rows (&w)) > 0)
        for (int i = 0; i < n; i++)
          for (gompy_parts_of_row (&w, i, e, &begin, &end); begin < end; begin++)
            t->parts[begin] &= ~GOMPY_PART_SAME;
      if (n < 0)
        gompy_parts_touched (t->host, t->host + t->size);
    }
  pthread_mutex_unlock (&gompy_noted_lock);
}

/* The device's contents of the part that begins at AT, or of the first N bytes of it.  */
static int
gompy_device_has (const struct gompy_tracked *t, size_t at, void *to, size_t n)
{
  if (t->parts[at / GOMPY_PART] & GOMPY_PART_LEFT)
    {
      memcpy (to, t->newer + at, n);
      return 1;
    }
  return !t->gone && gompy_peek (t->device, to, t->target + at, n);
}

/* Keep what both sides had of the part that begins at AT.  Whether it is known that the host has that now.  */
static int
gompy_keep_part (struct gompy_tracked *t, size_t at)
{
  unsigned char *part = &t->parts[at / GOMPY_PART], *had = t->host_had + at;
  size_t n = gompy_part_size (t, at);
  int as_now;
  if (*part & GOMPY_PART_BARE)
    gompy_keep_bare (t, at);
  if (!(*part & GOMPY_PART_HASHED))
    return 0;
  *part &= ~GOMPY_PART_HASHED;
  as_now = gompy_read_host (had, t->host + at, n) && gompy_is_hashed (t, at, had);
  if (as_now || (gompy_device_has (t, at, had, n) && gompy_is_hashed (t, at, had)))
    {
      if (t->device_had != t->host_had)
        memcpy (t->device_had + at, had, n);
      return as_now;
    }
  gompy_clear_newer (t, at, at + n);
  if (!gompy_part_contents (t) || !gompy_read_host (had, t->host + at, n)
      || !gompy_device_has (t, at, t->device_had + at, n))
    t->told = 1;
  return 0;
}

/* Keep the parts of which [BEGIN, END) has some bytes, but not all.  */
static void
gompy_keep_ends (struct gompy_tracked *t, size_t begin, size_t end)
{
  size_t last = (end - 1) / GOMPY_PART * GOMPY_PART;
  if (begin >= end)
    return;
  if (begin % GOMPY_PART)
    gompy_keep_part (t, begin / GOMPY_PART * GOMPY_PART);
  if (end % GOMPY_PART && end != t->size)
    gompy_keep_part (t, last);
}

/* The device's side of a part, as far as that needs no contents: whether nothing has changed there.  */
static int
gompy_is_as_hashed (struct gompy_tracked *t, size_t at)
{
  size_t n = gompy_part_size (t, at);
  uint64_t hash;
  if (!(t->parts[at / GOMPY_PART] & GOMPY_PART_HASHED) || t->unset)
    return 0;
  if (t->parts[at / GOMPY_PART] & GOMPY_PART_LEFT)
    return gompy_is_hashed (t, at, t->newer + at);
  if (!gompy_watch_handles && gompy_hash_target (t->device, t->target + at, n, &hash))
    return hash == t->hashes[at / GOMPY_PART];
  return gompy_peek (t->device, gompy_part, t->target + at, n) && gompy_is_hashed (t, at, gompy_part);
}

/* Keep all parts of which [AT, AT + N) has bytes.  */
static void
gompy_keep_around (struct gompy_tracked *t, size_t at, size_t n)
{
  for (size_t part = at / GOMPY_PART * GOMPY_PART; part < at + n; part += GOMPY_PART)
    gompy_keep_part (t, part);
}

/* Both sides have CONTENTS in [BEGIN, END) of a range: of all of a part what they hash to is kept.  */
static void
gompy_hash_again (struct gompy_tracked *t, size_t begin, size_t end, const unsigned char *contents)
{
  for (size_t next, at = begin; at < end; contents += next - at, at = next)
    {
      next = gompy_part_end (at, end);
      if (at % GOMPY_PART == 0 && (next % GOMPY_PART == 0 || next == t->size))
        {
          t->hashes[at / GOMPY_PART] = gompy_hash (contents, next - at);
          t->parts[at / GOMPY_PART] |= GOMPY_PART_HASHED;
        }
      else
        memcpy (t->host_had + at, contents, next - at);
    }
}

static void gompy_look_at_left (struct gompy_tracked *t, size_t begin, size_t end);

/* A copy is about to be made between SIZE bytes of a device and of the host: of parts that it changes one side has what
   both had until now.  */
static void
gompy_stale_copies (int device, uintptr_t target, uintptr_t host, size_t size)
{
  for (unsigned i = 0; i < gompy_track_count; i++)
    {
      struct gompy_tracked *t = gompy_tracks[i];
      size_t begin, end;
      if (t->host_had == NULL || t->fresh)
        continue;
      if (!t->gone && t->device == device && gompy_bytes_in (t, t->target, target, size, &begin, &end))
        gompy_keep_ends (t, begin, end);
      if (gompy_bytes_in (t, t->host, host, size, &begin, &end))
        {
          if (t->gone)
            gompy_look_at_left (t, begin, end);
          gompy_keep_ends (t, begin, end);
        }
    }
}

#endif
