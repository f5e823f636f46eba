/* `gompy run --check`: copies, after which both sides of a range agree.  Included once, by check_stale.h.  */
#ifndef GOMPY_CHECK_AGREE_H
#define GOMPY_CHECK_AGREE_H

/* Both sides are taken to agree from here on, in [BEGIN, END) of a range; CONTENTS: the device's, or NULL.  */
static void
gompy_agree (struct gompy_tracked *t, size_t begin, size_t end, const unsigned char *contents, int to_device,
             int in_construct)
{
  int same = contents == (const unsigned char *) t->host + begin;  /* the copy has just used it */
  gompy_clear_newer (t, begin, end);
  if (t->stale != NULL)
    memset (t->stale + begin, 0, end - begin);
  if (t->gone || !gompy_settle (t))
    return;
  if (same && in_construct && !gompy_rests && begin == 0 && end == t->size && !t->global && gompy_count_threads () == 1)
    {
      t->fresh = GOMPY_FRESH | GOMPY_FRESH_SAME;  /* it may end with the construct */
      t->unknown = 0;
      if (to_device)
        gompy_fresh_copied (t, begin, end, 1);
      return;
    }
  gompy_keep_ends (t, begin, end);
  gompy_parts_agree (t, begin, end);
  if (same && t->hashes != NULL && t->device_had == t->host_had)
    {
      gompy_hash_again (t, begin, end, contents);
      return;
    }
  if (same && begin == 0 && end == t->size)
    gompy_join_contents (t);
  else if (!same && !gompy_part_contents (t))
    return;
  if (same)
    memcpy (t->host_had + begin, contents, end - begin);
  else
    gompy_read_host (t->host_had + begin, t->host + begin, end - begin);
  if (same && t->device_had == t->host_had)
    return;
  if (contents != NULL)
    memcpy (t->device_had + begin, contents, end - begin);
  else
    gompy_peek (t->device, t->device_had + begin, t->target + begin, end - begin);
}

/* [BEGIN, END) has been copied from the device.  What nothing had written there has no meaning on the host.  */
static void
gompy_note_unset (struct gompy_tracked *t, size_t begin, size_t end)
{
  if (gompy_rests || t->filled || t->gone || t->shared || gompy_find_unset == NULL || !gompy_has_time (end - begin)
      || !gompy_has_parts ())
    return;
  for (size_t n, at = begin; at < end; at += n)
    {
      n = end - at < GOMPY_PART ? end - at : GOMPY_PART;
      if (!gompy_may_be_unset (t->device, t->target + at, n))
        continue;
      if (!gompy_find_unset (t->device, t->target + at, gompy_part, n))
        return;
      if (memchr (gompy_part, 1, n) == NULL)
        continue;
      if (!gompy_settle (t) || !gompy_make_newer (t))
        return;
      t->unset = 1;
      gompy_keep_around (t, at, n);
      gompy_have_newer (t, at);
      gompy_have_newer (t, at + n - 1);
      for (size_t i = 0; i < n; i++)
        t->newer[at + i] = gompy_part[i] ? GOMPY_UNSET : 0;
    }
}

/* A copy has been made, TO_DEVICE from memory of the host, or to that; IN_CONSTRUCT: by one that tells of its end.  */
static void
gompy_stale_copied (int device, uintptr_t target, uintptr_t host, size_t size, int to_device, int in_construct)
{
  for (unsigned i = 0; i < gompy_track_count; i++)
    {
      struct gompy_tracked *t = gompy_tracks[i];
      size_t begin, end;
      if (!t->gone && t->device == device && gompy_bytes_in (t, t->target, target, size, &begin, &end)
          && (to_device || host - target == t->host - t->target))
        {
          if (!gompy_fresh_copied (t, begin, end, to_device))
            gompy_agree (t, begin, end, (unsigned char *) host + (t->target + begin - target), to_device,
                         in_construct);
          if (!to_device)
            gompy_note_unset (t, begin, end);
          t->filled |= to_device;
        }
      else if (!to_device && gompy_bytes_in (t, t->host, host, size, &begin, &end))
        gompy_agree (t, begin, end, NULL, 0, 0);
    }
}

#endif
