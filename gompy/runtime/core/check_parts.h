/* `gompy run --check`: the parts of a range, and what is known of each (check_stale.h, which includes this).  */
#ifndef GOMPY_CHECK_PARTS_H
#define GOMPY_CHECK_PARTS_H

static int (*gompy_is_looked_at) (int device, uintptr_t target);

static unsigned char *gompy_part, *gompy_host_part;  /* GOMPY_PART bytes each */

/* Whether the device's side of a range can be looked at any time.  For a GPU that is a call to the kernel, and stays so
   as long as the range is mapped.  */
static int
gompy_can_look (struct gompy_tracked *t)
{
  if (t->looked == 0)
    t->looked = gompy_is_looked_at (t->device, t->target) ? 1 : -1;
  return t->looked > 0;
}

/* Whether there is room to compare in.  */
static int
gompy_has_parts (void)
{
  if (gompy_part == NULL && (gompy_part = gompy_check_room (2 * GOMPY_PART)) != NULL)
    gompy_host_part = gompy_part + GOMPY_PART;
  return gompy_part != NULL;
}

static size_t
gompy_part_count (const struct gompy_tracked *t)
{
  return t->size / GOMPY_PART + 1;
}

/* Both sides had the same: that is kept once.  */
static void
gompy_join_contents (struct gompy_tracked *t)
{
  if (t->device_had != t->host_had)
    gompy_room_put (t->device_had, t->size);
  t->device_had = t->host_had;
}

/* They will not have the same from here on.  False: there is no memory for that, and nothing of the range is known.  */
static int
gompy_part_contents (struct gompy_tracked *t)
{
  unsigned char *own;
  int new;
  if (t->device_had != t->host_had)
    return 1;
  if ((own = gompy_room_take (t->size, &new)) == NULL)
    {
      t->told = 1;
      t->filled = 0;
      return 0;
    }
  t->device_had = memcpy (own, t->host_had, t->size);
  return 1;
}

/* Where the part ends that has byte AT of a range, or END.  */
static size_t
gompy_part_end (size_t at, size_t end)
{
  size_t next = (at / GOMPY_PART + 1) * GOMPY_PART;
  return next < end ? next : end;
}

/* Whether `newer` may have any.  */
static int
gompy_has_newer (const struct gompy_tracked *t)
{
  for (size_t i = 0; t->newer != NULL && i < gompy_part_count (t); i++)
    if (t->parts[i] & GOMPY_PART_NEWER)
      return 1;
  return 0;
}

/* Room for them, of parts that have some.  */
static int
gompy_make_newer (struct gompy_tracked *t)
{
  int new;
  return t->newer != NULL || (t->newer = gompy_room_take (t->size, &new)) != NULL;
}

/* The part of byte AT is about to have some.  */
static void
gompy_have_newer (struct gompy_tracked *t, size_t at)
{
  size_t begin = at / GOMPY_PART * GOMPY_PART;
  if (!(t->parts[at / GOMPY_PART] & GOMPY_PART_NEWER))
    memset (t->newer + begin, 0, gompy_part_end (begin, t->size) - begin);
  t->parts[at / GOMPY_PART] |= GOMPY_PART_NEWER;
}

/* There are none in [BEGIN, END).  */
static void
gompy_clear_newer (struct gompy_tracked *t, size_t begin, size_t end)
{
  for (size_t next, at = begin; t->newer != NULL && at < end; at = next)
    {
      next = gompy_part_end (at, end);
      if (!(t->parts[at / GOMPY_PART] & GOMPY_PART_NEWER))
        continue;
      if (at % GOMPY_PART == 0 && (next % GOMPY_PART == 0 || next == t->size))
        t->parts[at / GOMPY_PART] &= ~GOMPY_PART_NEWER;
      else
        memset (t->newer + at, 0, next - at);
    }
}

/* The first byte of [BEGIN, END) of a range that the host is not to read, or NULL.  */
static const unsigned char *
gompy_first_newer (const struct gompy_tracked *t, size_t begin, size_t end)
{
  for (size_t next, at = begin; at < end; at = next)
    {
      const unsigned char *newer, *unset = NULL;
      next = gompy_part_end (at, end);
      if (!(t->parts[at / GOMPY_PART] & GOMPY_PART_NEWER))
        continue;
      newer = memchr (t->newer + at, GOMPY_NEWER, next - at);
      if (t->unset)
        unset = memchr (t->newer + at, GOMPY_UNSET, newer != NULL ? (size_t) (newer - t->newer) - at : next - at);
      if (newer != NULL || unset != NULL)
        return unset != NULL ? unset : newer;
      if (at % GOMPY_PART == 0 && (next % GOMPY_PART == 0 || next == t->size))
        t->parts[at / GOMPY_PART] &= ~GOMPY_PART_NEWER;
    }
  return NULL;
}

/* The last one of the range.  */
static const unsigned char *
gompy_last_newer (const struct gompy_tracked *t)
{
  for (size_t i = gompy_part_count (t); i-- > 0;)
    {
      size_t begin = i * GOMPY_PART, size = gompy_part_end (begin, t->size) - begin;
      const unsigned char *newer, *unset;
      if (begin >= t->size || !(t->parts[i] & GOMPY_PART_NEWER))
        continue;
      newer = memrchr (t->newer + begin, GOMPY_NEWER, size);
      unset = t->unset ? memrchr (t->newer + begin, GOMPY_UNSET, size) : NULL;
      if (newer != NULL || unset != NULL)
        return newer == NULL || (unset != NULL && unset > newer) ? unset : newer;
    }
  return NULL;
}

/* Both sides agree in [BEGIN, END) of a range.  */
static void
gompy_parts_agree (struct gompy_tracked *t, size_t begin, size_t end)
{
  size_t first = (begin + GOMPY_PART - 1) / GOMPY_PART, last = end / GOMPY_PART;
  if (end == t->size)
    last = gompy_part_count (t);
  if (first < last)
    memset (t->parts + first, GOMPY_PART_SAME, last - first);
  t->unknown &= first > 0 || last < gompy_part_count (t);
}

/* Whether all ranges that meet [BEGIN, END) have been compared since a region has ended; this is noted then.  */
static int
gompy_parts_known (uintptr_t begin, uintptr_t end)
{
  int known = 1;
  for (unsigned i = 0; i < gompy_track_count; i++)
    {
      struct gompy_tracked *t = gompy_tracks[i];
      if (!t->unknown || t->host >= end || begin >= t->host + t->size)
        continue;
      t->unknown = 0;
      for (size_t part = 0; part < gompy_part_count (t) && !t->unknown; part++)
        t->unknown = (t->parts[part] & GOMPY_PART_UNKNOWN) != 0;
      known &= !t->unknown;
    }
  return known;
}

/* A region has ended that may have written some of it.  */
static void
gompy_parts_unknown (struct gompy_tracked *t)
{
  for (size_t i = 0, at = 0; at < t->size; i++, at += GOMPY_PART)
    if (gompy_may_be_written (t->device, t->target + at, gompy_part_end (at, t->size) - at))
      {
        if (!(t->parts[i] & GOMPY_PART_UNKNOWN) && t->parts[i] & GOMPY_PART_BARE)
          t->parts[i] |= GOMPY_PART_SAME;  /* what the host has now it had when the region ended */
        t->parts[i] |= GOMPY_PART_UNKNOWN;
        t->unknown = 1;
      }
}

/* Whether a part is to be looked at before the host may write there unseen: what it has is not kept.  */
static int
gompy_is_unkept (const struct gompy_tracked *t, size_t at)
{
  unsigned part = t->parts[at / GOMPY_PART];
  return part & GOMPY_PART_UNKNOWN && part & (GOMPY_PART_BARE | GOMPY_PART_HASHED);
}

/* The program may have written unseen the part that begins at AT, of which regions have, or may have.  */
static void
gompy_part_unseen (struct gompy_tracked *t, size_t at)
{
  unsigned char *part = &t->parts[at / GOMPY_PART];
  if (*part & GOMPY_PART_UNKNOWN
      || (*part & GOMPY_PART_NEWER && gompy_first_newer (t, at, gompy_part_end (at, t->size)) != NULL))
    *part |= GOMPY_PART_UNSEEN;
}

/* It was not watched.  */
static void
gompy_parts_unseen (void)
{
  for (unsigned i = 0; i < gompy_track_count; i++)
    for (size_t at = 0; at < gompy_tracks[i]->size; at += GOMPY_PART)
      gompy_part_unseen (gompy_tracks[i], at);
}

/* The host may have written [BEGIN, END), addresses.  */
static void
gompy_parts_touched (uintptr_t begin, uintptr_t end)
{
  for (unsigned i = 0; i < gompy_track_count; i++)
    {
      struct gompy_tracked *t = gompy_tracks[i];
      uintptr_t low = begin > t->host ? begin - t->host : 0;
      uintptr_t high = end < t->host + t->size ? end - t->host : t->size;
      if (t->host < end && begin < t->host + t->size)
        for (size_t part = low / GOMPY_PART; part <= (high - 1) / GOMPY_PART; part++)
          t->parts[part] &= ~GOMPY_PART_SAME;
    }
}

#endif
