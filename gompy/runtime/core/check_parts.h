/* `gompy run --check`: the parts of a range, and what is known of each (check_stale.h, which includes this).  */
#ifndef GOMPY_CHECK_PARTS_H
#define GOMPY_CHECK_PARTS_H

static int (*gompy_is_looked_at) (int device, uintptr_t target);

static unsigned char *gompy_part, *gompy_host_part;  /* GOMPY_PART bytes each */

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

/* The first byte of [BEGIN, END) of a range that the host is not to read, or NULL.  */
static const unsigned char *
gompy_first_newer (const struct gompy_tracked *t, size_t begin, size_t end)
{
  const unsigned char *newer = memchr (t->newer + begin, GOMPY_NEWER, end - begin), *unset = NULL;
  if (t->unset)
    unset = memchr (t->newer + begin, GOMPY_UNSET, newer != NULL ? (size_t) (newer - t->newer) - begin : end - begin);
  return unset != NULL ? unset : newer;
}

/* The last one.  */
static const unsigned char *
gompy_last_newer (const struct gompy_tracked *t)
{
  const unsigned char *newer = memrchr (t->newer, GOMPY_NEWER, t->size);
  const unsigned char *unset = t->unset ? memrchr (t->newer, GOMPY_UNSET, t->size) : NULL;
  return newer == NULL || (unset != NULL && unset > newer) ? unset : newer;
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

/* A region has ended that may have written it.  */
static void
gompy_parts_unknown (struct gompy_tracked *t)
{
  for (size_t i = 0; i < gompy_part_count (t); i++)
    t->parts[i] |= GOMPY_PART_UNKNOWN;
  t->unknown = 1;
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
