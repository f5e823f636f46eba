/* `gompy run --check`: what a region has written of a mapping that ends without a copy back.

   Most such memory is written anew, or never used again.  So at the end the device's contents are kept, where `newer`
   is to be, and they are compared when the program comes there.
   Included once, by check_stale.h.  */
#ifndef GOMPY_CHECK_LEFT_H
#define GOMPY_CHECK_LEFT_H

/* Where malloc writes when it gets a block back, from its ends: heads, and links of free blocks.  */
#define GOMPY_FREED_BEFORE 16u
#define GOMPY_FREED_WITHIN 32u
#define GOMPY_FREED_BEHIND 32u

/* The mapping of a range ends: keep what the device has of a part that a region may have written.  Pointers are told
   from other words by what is mapped now.  */
static void
gompy_leave_part (struct gompy_tracked *t, size_t at)
{
  unsigned char *part = &t->parts[at / GOMPY_PART];
  size_t n = gompy_part_size (t, at);
  int usual = !(*part & (GOMPY_PART_NEWER | GOMPY_PART_BARE)) && !t->unset && !t->global;
  /* Most have only been read.  That is asked where they are, as a copy has new pages each time.  */
  if (usual && gompy_is_as_hashed (t, at))
    *part &= ~GOMPY_PART_UNKNOWN;
  else if (!usual || !gompy_make_newer (t) || !gompy_peek (t->device, t->newer + at, t->target + at, n))
    gompy_compare_part (t, at, n);
  else if (!(*part & GOMPY_PART_HASHED) && memcmp (t->newer + at, t->device_had + at, n) == 0)
    *part &= ~GOMPY_PART_UNKNOWN;
  else if (gompy_may_point (t, t->newer + at, at, n))
    gompy_compare_part (t, at, n);
  else
    *part |= GOMPY_PART_LEFT;
}

/* Of the first END bytes of a range; of the rest nothing is known any more.  */
static void
gompy_leave_parts (struct gompy_tracked *t, size_t end)
{
  t->unknown = 0;
  for (size_t at = 0; at < t->size; at += GOMPY_PART)
    {
      unsigned char *part = &t->parts[at / GOMPY_PART];
      if (*part & GOMPY_PART_UNKNOWN && at < end)
        gompy_leave_part (t, at);
      if (!(*part & GOMPY_PART_LEFT))
        *part &= ~GOMPY_PART_UNKNOWN;
      t->unknown |= *part & GOMPY_PART_LEFT;
    }
}

/* Forget those that have gone and left nothing that the host does not have, as far as that is known by now.  */
static void
gompy_forget_empty (void)
{
  gompy_parts_known (0, UINTPTR_MAX);
  for (unsigned i = gompy_track_count; i-- > 0;)
    if (gompy_tracks[i]->gone && !gompy_tracks[i]->unknown
        && gompy_first_newer (gompy_tracks[i], 0, gompy_tracks[i]->size) == NULL)
      gompy_drop_track (i);
}

/* What is left of a range in [BEGIN, END) of it has no meaning any more: of parts that lie in there as a whole.  */
static void
gompy_drop_left_of (struct gompy_tracked *t, size_t begin, size_t end)
{
  for (size_t at = (begin + GOMPY_PART - 1) / GOMPY_PART * GOMPY_PART; at < end; at += GOMPY_PART)
    if (gompy_part_end (at, t->size) <= end)
      t->parts[at / GOMPY_PART] &= ~(GOMPY_PART_LEFT | GOMPY_PART_UNKNOWN | GOMPY_PART_NEWER);
}

/* A construct begins.  The runtime may get memory from malloc there that the program has given back.  */
static void
gompy_left_unseen (void)
{
  for (unsigned i = 0; i < gompy_track_count; i++)
    for (size_t at = 0; gompy_tracks[i]->gone && at < gompy_tracks[i]->size; at += GOMPY_PART)
      gompy_part_unseen (gompy_tracks[i], at);
}

/* A library writes SIZE bytes.  It may be malloc, which gets a block back: before or behind that, or its first or last
   bytes.  What is left of a range there has no meaning any more, as all may use that memory by now.  */
static void
gompy_drop_freed (uintptr_t address, size_t size)
{
  for (unsigned i = 0; i < gompy_track_count; i++)
    {
      struct gompy_tracked *t = gompy_tracks[i];
      uintptr_t end = t->host + t->size;
      if (t->gone && address < end + GOMPY_FREED_BEHIND && t->host - GOMPY_FREED_BEFORE < address + size
          && (address < t->host + GOMPY_FREED_WITHIN || address + size > end - GOMPY_FREED_WITHIN))
        {
          gompy_drop_left_of (t, 0, t->size);
          t->told = 1;
        }
    }
}

/* Pages of [BEGIN, END), addresses, are open that were not looked at: the program may write there, or free it.  */
static void
gompy_lose_left (uintptr_t begin, uintptr_t end)
{
  for (unsigned i = 0; i < gompy_track_count; i++)
    {
      struct gompy_tracked *t = gompy_tracks[i];
      size_t from, to;
      if (!t->gone || !gompy_bytes_in (t, t->host, begin, end - begin, &from, &to))
        continue;
      for (size_t part = from / GOMPY_PART; part <= (to - 1) / GOMPY_PART; part++)
        if (t->parts[part] & GOMPY_PART_LEFT)
          t->parts[part] &= ~(GOMPY_PART_LEFT | GOMPY_PART_UNKNOWN);
    }
  gompy_parts_known (begin, end);
}

/* All of [BEGIN, END), addresses, is about to be written.  */
static void
gompy_drop_left (uintptr_t begin, uintptr_t end)
{
  for (unsigned i = 0; i < gompy_track_count; i++)
    {
      struct gompy_tracked *t = gompy_tracks[i];
      size_t from, to;
      if (t->gone && gompy_bytes_in (t, t->host, begin, end - begin, &from, &to))
        gompy_drop_left_of (t, from, to);
    }
  gompy_parts_known (begin, end);
}

#endif
