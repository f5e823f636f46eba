/* `gompy run --check`: ranges whose contents are not kept yet, as the construct that has made them runs.

   The program itself does nothing until the construct ends, so what was copied to the device is what the host has.
   Most such ranges are copied back, or unmapped, by the same construct: nothing need be kept of those.  Another thread
   may write the host's side meanwhile; that changes what the contents hash to.
   Included once, by check_stale.h.  */
#ifndef GOMPY_CHECK_FRESH_H
#define GOMPY_CHECK_FRESH_H

/* Keep the contents of both sides, as they are.  SAME: what the host had hashed to when it was copied to the device; if
   it has that still, the device had the same then.  AGREE: both sides have the same now.  False: the range is not to be
   had.  */
static int
gompy_keep_contents (struct gompy_tracked *t, const uint64_t *same, int agree)
{
  int new;
  gompy_join_contents (t);
  if (t->host_had == NULL)
    t->device_had = t->host_had = gompy_room_take (t->size, &new);
  if (t->host_had == NULL)
    return 0;
  if (same != NULL && gompy_keep_hashes (t, *same))
    return 1;
  gompy_drop_hashes (t);
  if (!gompy_read_host (t->host_had, t->host, t->size))
    return 0;
  if (!agree && (same == NULL || gompy_hash (t->host_had, t->size) != *same)
      && ((t->device_had = gompy_room_take (t->size, &new)) == NULL
          || !gompy_peek (t->device, t->device_had, t->target, t->size)))
    return 0;
  memset (t->parts, GOMPY_PART_SAME, gompy_part_count (t));
  return 1;
}

/* Whether words of both sides may be the pointers that they were made with: `int *p = &x`, or a function's address.  */
static int
gompy_both_point (uint64_t here, uint64_t there)
{
  char c;
  return there != 0 && here >> 47 == 0 && gompy_read_host (&c, here, 1);
}

/* A variable of an image that no region has used yet: what the device has is what both sides had at first.  */
static void
gompy_begin_global (struct gompy_tracked *t)
{
  size_t whole = -t->host & 7;
  uint64_t here = 0, there = 0;
  if (t->device_had == t->host_had || memcmp (t->host_had, t->device_had, t->size) == 0)
    return;
  for (size_t i = 0; i < t->size;)
    {
      size_t n = i < whole ? whole - i : 8;
      n = n < t->size - i ? n : t->size - i;
      if (n == 8)
        {
          memcpy (&here, t->host_had + i, 8);
          memcpy (&there, t->device_had + i, 8);
        }
      if (n < 8 || (here != there && !gompy_both_point (here, there)))
        memcpy (t->host_had + i, t->device_had + i, n);
      i += n;
    }
  memset (t->parts, 0, gompy_part_count (t));
}

/* A range that was not copied to the device, and no region has run: nothing of it need be kept, if what its block had
   there is known.  Whether that is so.  */
static int
gompy_keep_nothing (struct gompy_tracked *t)
{
  unsigned char byte;
  int new;
  if (t->fresh != GOMPY_FRESH || t->global || t->size < GOMPY_LARGE || gompy_access.hooked
      || !gompy_new_contents (t->device, t->target, &byte, 1) || !gompy_can_look (t))
    return 0;
  gompy_join_contents (t);
  if (t->host_had == NULL)
    t->host_had = t->device_had = gompy_room_take (t->size, &new);
  if (t->host_had == NULL || (t->device_had = gompy_room_take (t->size, &new)) == NULL)
    {
      t->device_had = t->host_had;
      return 0;
    }
  gompy_drop_hashes (t);
  memset (t->parts, GOMPY_PART_BARE | GOMPY_PART_SAME, gompy_part_count (t));
  return 1;
}

/* The range's contents are needed from here on.  What a region may have written of it is unknown then.  False: they
   are not to be had, and nothing of the range is known.  */
static int
gompy_settle (struct gompy_tracked *t)
{
  int copied = t->fresh & GOMPY_FRESH_COPIED, agree = t->fresh & GOMPY_FRESH_SAME;
  int written = (copied || agree) && (t->fresh & GOMPY_FRESH_LAUNCHED);
  if (!t->fresh)
    return t->host_had != NULL && t->device_had != NULL;
  if (gompy_keep_nothing (t))
    {
      t->fresh = 0;
      return 1;
    }
  t->fresh = 0;
  if (!gompy_keep_contents (t, copied ? &t->hash : NULL, agree))
    {
      gompy_join_contents (t);
      gompy_room_put (t->host_had, t->size);
      t->device_had = t->host_had = NULL;
      t->told = 1;  /* nothing of it is looked at, and nothing told, until it ends */
      t->filled = 0;
      return 0;
    }
  if (written && t->device_had == t->host_had && gompy_has_parts () && gompy_make_newer (t))
    {
      gompy_parts_unknown (t);
      if (!gompy_can_look (t))
        gompy_find_newer (t, gompy_has_time (t->size) ? t->size : GOMPY_LARGE);
    }
  return 1;
}

/* The program goes on.  */
static void
gompy_settle_all (void)
{
  for (unsigned i = gompy_track_count; i-- > 0;)
    if (gompy_tracks[i]->fresh && !gompy_settle (gompy_tracks[i]))
      gompy_drop_track (i);
}

/* [BEGIN, END) of a range has been copied, TO_DEVICE or from it.  Whether that needs no contents.  */
static int
gompy_fresh_copied (struct gompy_tracked *t, size_t begin, size_t end, int to_device)
{
  if (!t->fresh || begin != 0 || end != t->size)
    return 0;
  t->fresh = GOMPY_FRESH | (to_device ? GOMPY_FRESH_COPIED : GOMPY_FRESH_BACK);
  if (to_device)
    t->hash = gompy_take_hashes (t);
  return 1;
}

/* The mapping ends.  Whether a region has written what the host does not have.  */
static int
gompy_fresh_differs (const struct gompy_tracked *t)
{
  size_t n, end = gompy_has_time (t->size) ? t->size : GOMPY_LARGE;
  uint64_t hash;
  if (!(t->fresh & GOMPY_FRESH_COPIED) || !(t->fresh & GOMPY_FRESH_LAUNCHED) || !t->filled || t->told || t->shared
      || !gompy_has_parts ())
    return 0;
  if (end == t->size && gompy_hash_target (t->device, t->target, t->size, &hash))
    return hash != t->hash;
  for (size_t at = 0; at < end; at += n)
    {
      n = end - at < GOMPY_PART ? end - at : GOMPY_PART;
      if (!gompy_peek (t->device, gompy_part, t->target + at, n)
          || !gompy_read_host (gompy_host_part, t->host + at, n))
        return 0;
      if (memcmp (gompy_part, gompy_host_part, n) != 0)
        return 1;
    }
  return 0;
}

#endif
