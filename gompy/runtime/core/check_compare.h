/* `gompy run --check`: both sides of a range are compared, around a region and when something is read.
   Included once, by check_stale.h.  */
#ifndef GOMPY_CHECK_COMPARE_H
#define GOMPY_CHECK_COMPARE_H

#define GOMPY_IN_PLACE (1u << 20) /* bytes */

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

/* Which bytes the device has changed, and the host has not.  Those that were copied unset are so until one has.
   Whether there are any of either.  */
static GOMPY_VECTORS int
gompy_mark_newer (unsigned char *restrict newer, const unsigned char *restrict device,
                  const unsigned char *restrict device_had, const unsigned char *restrict host,
                  const unsigned char *restrict host_had, size_t n)
{
  unsigned char any = 0;
  for (size_t i = 0; i < n; i++)
    {
      unsigned char kept = host[i] == host_had[i] ? newer[i] & GOMPY_UNSET : 0;
      unsigned char changed = (device[i] != device_had[i]) & (host[i] == host_had[i]) & (device[i] != host[i]);
      any |= newer[i] = changed ? GOMPY_NEWER : kept;
    }
  return any;
}

/* What both sides have changed is taken to agree.  Else the device's would be newer as soon as the host writes there
   what it had.  Whether there is any; CHANGE: it is noted.  */
static GOMPY_VECTORS int
gompy_join_changed (unsigned char *restrict device_had, const unsigned char *restrict device,
                    unsigned char *restrict host_had, const unsigned char *restrict host, size_t n, int change)
{
  unsigned char any = 0;
  if (!change)
    for (size_t i = 0; i < n; i++)
      any |= (device[i] != device_had[i]) & (host[i] != host_had[i]);
  else
    for (size_t i = 0; i < n; i++)
      {
        unsigned char both = (device[i] != device_had[i]) & (host[i] != host_had[i]);
        any |= both;
        device_had[i] = both ? device[i] : device_had[i];
        host_had[i] = both ? host[i] : host_had[i];
      }
  return any;
}

/* The same where the host has what both had, HAD, and nothing was copied unset.  */
static GOMPY_VECTORS int
gompy_mark_differing (unsigned char *restrict newer, const unsigned char *restrict device,
                      const unsigned char *restrict had, size_t n)
{
  unsigned char any = 0;
  for (size_t i = 0; i < n; i++)
    any |= newer[i] = device[i] != had[i] ? GOMPY_NEWER : 0;
  return any;
}

/* Whether a side's contents are those that both had; what those were is kept then if they are not.  */
static int
gompy_is_as_had (struct gompy_tracked *t, size_t at, const unsigned char *contents, size_t n)
{
  if (!(t->parts[at / GOMPY_PART] & GOMPY_PART_HASHED))
    return memcmp (contents, t->host_had + at, n) == 0;
  if (gompy_is_hashed (t, at, contents))
    return 1;
  gompy_keep_part (t, at);
  return 0;
}

/* Whether memory can be read where it is: it is the program's own, and no other thread may give it back meanwhile.  To
   ask is worth it for much of it, of which copies are read otherwise.  */
static int
gompy_can_read_in_place (uintptr_t begin, uintptr_t end)
{
  struct gompy_mapping_query query;
  uintptr_t at = begin & -GOMPY_PAGE;
  int fd, plain = 1;
  if (end - begin < GOMPY_IN_PLACE || gompy_count_threads () != 1
      || (fd = gompy_open ("/proc/self/maps", O_RDONLY | O_CLOEXEC, 0)) < 0)
    return 0;
  gompy_need_held (begin, end - begin, 0);
  for (; plain && at < end; at = query.end)
    plain = gompy_ask_mapping (fd, at, &query) && query.inode == 0
            && (query.flags & 15 & ~GOMPY_MAPPING_WRITE) == GOMPY_MAPPING_READ;  /* held ones are not to be written */
  close (fd);
  if (!plain || !gompy_has_guards (begin & -GOMPY_PAGE))
    return plain;
  if ((fd = gompy_open ("/proc/self/pagemap", O_RDONLY | O_CLOEXEC, 0)) < 0)
    return 0;
  plain = !gompy_may_be_guarded (fd, begin & -GOMPY_PAGE, (end + GOMPY_PAGE - 1) & -GOMPY_PAGE);
  close (fd);
  return plain;
}

/* Whether a part of the program's hashes to what both sides had.  */
static int
gompy_host_is_hashed (const struct gompy_tracked *t, size_t at, int *in_place)
{
  if (!(t->parts[at / GOMPY_PART] & GOMPY_PART_HASHED))
    return 0;
  if (*in_place < 0)
    *in_place = gompy_can_read_in_place (t->host, t->host + t->size);
  return *in_place && gompy_is_hashed (t, at, (const void *) (t->host + at));
}

/* What the program has changed; it may have given the memory back, too.  */
static int
gompy_find_stale (struct gompy_tracked *t)
{
  int any = 0, in_place = -1;
  size_t n;
  if (!gompy_has_parts ())
    return 0;
  t->steady += t->steady < GOMPY_STEADY_LOOKS;
  gompy_find_unwritten (t);
  for (size_t at = 0; at < t->size; at += n)
    {
      unsigned char *part = &t->parts[at / GOMPY_PART];
      n = t->size - at < GOMPY_PART ? t->size - at : GOMPY_PART;
      if (*part & (GOMPY_PART_SAME | GOMPY_PART_BARE))  /* the latter: it was never copied */
        {
          any |= *part & GOMPY_PART_STALE;
          continue;
        }
      *part = (*part & ~GOMPY_PART_STALE) | GOMPY_PART_SAME;
      if (gompy_host_is_hashed (t, at, &in_place) || !gompy_read_host (gompy_host_part, t->host + at, n)
          || gompy_is_as_had (t, at, gompy_host_part, n))
        {
          if (t->stale != NULL)
            memset (t->stale + at, 0, n);
          continue;
        }
      t->steady = 0;
      if (t->stale == NULL && (t->stale = gompy_room_get (t->size)) == NULL)
        return 0;
      if (gompy_mark_changed (t->stale + at, gompy_host_part, t->host_had + at,
                              *part & GOMPY_PART_NEWER ? t->newer + at : NULL, n))
        any |= *part |= GOMPY_PART_STALE;
    }
  return any != 0;
}

/* A region begins: tell its device what the program has changed.  */
static void
gompy_stale_begin_region (int device)
{
  for (unsigned i = 0; i < gompy_track_count; i++)
    {
      struct gompy_tracked *t = gompy_tracks[i];
      if (t->device != device || t->gone || t->fresh || t->shared || !t->filled
          || (t->global && t->told) || !gompy_has_time (t->size) || (!gompy_find_stale (t) && !t->marked))
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

/* Between which addresses such words are.  */
static void
gompy_target_bounds (uint64_t *low, uint64_t *high)
{
  *low = UINT64_MAX;
  *high = 0;
  for (unsigned i = 0; i < gompy_track_count; i++)
    {
      const struct gompy_tracked *t = gompy_tracks[i];
      *low = t->target < *low ? t->target : *low;
      *high = t->target + t->size > *high ? t->target + t->size : *high;
    }
  *low -= GOMPY_NEAR < *low ? GOMPY_NEAR : *low;
  *high += GOMPY_NEAR;
}

/* Pointers differ on both sides, and nobody has written them.  AT: where the part begins that was looked at last.  */
static void
gompy_skip_pointers (struct gompy_tracked *t, size_t at, size_t n)
{
  uint64_t word, low, high;
  gompy_target_bounds (&low, &high);
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

/* Whether words of [AT, END) are within LOW and HIGH.  */
static inline __attribute__ ((always_inline)) int
gompy_has_between (const unsigned char *at, const unsigned char *end, uint64_t low, uint64_t high)
{
  uint64_t word;
  unsigned any = 0;
  for (size_t i = 0, n = (size_t) (end - at) / 8; i < n; i++)
    {
      memcpy (&word, at + 8 * i, 8);
      any |= word - low < high - low;
    }
  return any != 0;
}

/* The same: older vectors cannot compare such words, which takes eight times as long.  */
static GOMPY_VECTORS __attribute__ ((target ("avx512f"))) int
gompy_has_between_wide (const unsigned char *at, const unsigned char *end, uint64_t low, uint64_t high)
{
  return gompy_has_between (at, end, low, high);
}

/* Whether CONTENTS of the part that begins at AT may have any.  */
static GOMPY_VECTORS int
gompy_may_point (const struct gompy_tracked *t, const unsigned char *contents, size_t at, size_t n)
{
  const unsigned char *first = contents + (-(t->host + at) & 7), *end = contents + n;
  uint64_t low, high;
  gompy_target_bounds (&low, &high);
  if (first >= end)
    return 0;
  if (gompy_has_avx512 ())
    return gompy_has_between_wide (first, end, low, high);
  return gompy_has_between (first, end, low, high);
}

/* What both sides have changed of a part that has been compared.  */
static void
gompy_find_joined (struct gompy_tracked *t, size_t at, size_t n)
{
  unsigned char *part = &t->parts[at / GOMPY_PART];
  if (!gompy_join_changed (t->device_had + at, gompy_part, t->host_had + at, gompy_host_part, n, 0)
      || !gompy_part_contents (t))
    return;
  gompy_join_changed (t->device_had + at, gompy_part, t->host_had + at, gompy_host_part, n, 1);
  *part &= ~GOMPY_PART_SAME;  /* `stale` has been made of what the host had */
}

/* What the device has written of a part, [AT, AT + N), since both sides agreed.  */
static void
gompy_compare_part (struct gompy_tracked *t, size_t at, size_t n)
{
  unsigned char *part = &t->parts[at / GOMPY_PART];
  int as_now, has, any;
  if (*part & GOMPY_PART_BARE)
    gompy_keep_bare (t, at);
  *part &= ~GOMPY_PART_UNKNOWN;
  if (gompy_is_as_hashed (t, at))
    {
      *part &= ~GOMPY_PART_LEFT;
      gompy_clear_newer (t, at, at + n);
      return;
    }
  as_now = gompy_keep_part (t, at) && !t->unset;
  has = gompy_device_has (t, at, gompy_part, n);
  *part &= ~GOMPY_PART_LEFT;
  if (!has)
    return;
  if ((!t->unset && memcmp (gompy_part, t->device_had + at, n) == 0)
      || (!as_now && !gompy_read_host (gompy_host_part, t->host + at, n)))
    {
      gompy_clear_newer (t, at, at + n);
      return;
    }
  gompy_have_newer (t, at);
  if (as_now)
    any = gompy_mark_differing (t->newer + at, gompy_part, t->host_had + at, n);
  else
    any = gompy_mark_newer (t->newer + at, gompy_part, t->device_had + at, gompy_host_part, t->host_had + at, n);
  if (any)
    gompy_skip_pointers (t, at, n);
  else
    *part &= ~GOMPY_PART_NEWER;
  /* Of what the host may have written unseen a number is known by the bytes that have changed.  */
  if (!as_now && !(*part & GOMPY_PART_UNSEEN))
    gompy_find_joined (t, at, n);
}

/* Compare what is left of a range in [BEGIN, END) of it.  */
static void
gompy_look_at_left (struct gompy_tracked *t, size_t begin, size_t end)
{
  for (size_t at = begin / GOMPY_PART * GOMPY_PART; at < end; at += GOMPY_PART)
    if (t->parts[at / GOMPY_PART] & GOMPY_PART_LEFT)
      gompy_compare_part (t, at, gompy_part_size (t, at));
}

/* In the first END bytes.  */
static void
gompy_find_newer (struct gompy_tracked *t, size_t end)
{
  for (size_t at = 0; at < end; at += GOMPY_PART)
    if (t->parts[at / GOMPY_PART] & GOMPY_PART_UNKNOWN)
      gompy_compare_part (t, at, end - at < GOMPY_PART ? end - at : GOMPY_PART);
  t->unknown = 0;
}

/* The host is no longer watched: look at what it had when a region has ended, as that is not kept.  */
static void
gompy_look_at_unkept (void)
{
  uint64_t begin = gompy_now ();
  if (gompy_rests && gompy_rest_watches == GOMPY_REST_HOLDS)
    gompy_rest_untell (0, UINTPTR_MAX);
  for (unsigned i = 0; i < gompy_track_count; i++)
    for (size_t at = 0; gompy_tracks[i]->unknown && !gompy_tracks[i]->told && at < gompy_tracks[i]->size
         && gompy_has_time (gompy_tracks[i]->size); at += GOMPY_PART)
      if (gompy_is_unkept (gompy_tracks[i], at))
        gompy_compare_part (gompy_tracks[i], at, gompy_part_size (gompy_tracks[i], at));
  gompy_stale_time += gompy_now () - begin;
}

/* The part that begins at AT is not watched, or not all of it.  Memory whose mapping has gone may be freed there, and
   used for anything.  */
static void
gompy_lose_unwatched (struct gompy_tracked *t, size_t at)
{
  size_t end = gompy_part_end (at, t->size), next;
  if (t->parts[at / GOMPY_PART] & GOMPY_PART_UNKNOWN)
    gompy_compare_part (t, at, end - at);
  for (; at < end; at = next)
    {
      next = ((t->host + at) & -GOMPY_PAGE) + GOMPY_PAGE - t->host;
      next = next < end ? next : end;
      if (gompy_watch_at (t->host + at) == NULL)
        gompy_clear_newer (t, at, next);
    }
}

/* The watch has begun: of parts that are not watched the host may write any.  */
static void
gompy_note_unwatchable (void)
{
  for (unsigned i = 0; i < gompy_track_count; i++)
    for (size_t at = 0; at < gompy_tracks[i]->size; at += GOMPY_PART)
      {
        struct gompy_tracked *t = gompy_tracks[i];
        if (gompy_is_watched (t->host + at, t->host + gompy_part_end (at, t->size)))
          continue;
        if (gompy_is_unkept (t, at))
          gompy_compare_part (t, at, gompy_part_size (t, at));
        if (t->gone && !gompy_access.hooked)
          gompy_lose_unwatched (t, at);
        else
          gompy_part_unseen (t, at);
        t->parts[at / GOMPY_PART] &= ~GOMPY_PART_SAME;
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
        gompy_agree (t, at, end, NULL, 0, 0);
      if (end > at && t->global)
        t->told = 1;  /* both sides have changed it: each has a state of its own there */
    }
  free (left);
}

/* A region has ended.  Whether all of a small range is on the device as when both sides agreed.  */
static int
gompy_is_unwritten (struct gompy_tracked *t)
{
  return t->size <= GOMPY_SMALL && !t->unset && !gompy_has_newer (t)
         && gompy_peek (t->device, gompy_part, t->target, t->size) && memcmp (gompy_part, t->device_had, t->size) == 0;
}

/* A region has ended: what it has written.  */
static void
gompy_stale_end_region (int device)
{
  for (unsigned i = 0; i < gompy_track_count; i++)
    {
      struct gompy_tracked *t = gompy_tracks[i];
      int has_time = gompy_has_time (t->size);
      if (t->device != device || t->gone || t->shared || !gompy_may_be_written (device, t->target, t->size))
        continue;
      if (t->fresh)
        {
          t->fresh |= GOMPY_FRESH_LAUNCHED;
          continue;
        }
      if (t->host_had == NULL)
        continue;
      if (t->marked && has_time)
        gompy_find_overwritten (t);
      if (!gompy_has_parts () || !gompy_make_newer (t))
        continue;
      if (!t->unknown && gompy_can_look (t) && gompy_is_unwritten (t))
        continue;
      gompy_parts_unknown (t);
      if (t->global || !gompy_can_look (t))
        gompy_find_newer (t, has_time ? t->size : GOMPY_LARGE);
    }
}

#endif
