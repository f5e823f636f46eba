/* `gompy run --check`: ranges that are followed while checks rest.

   A loop of regions ends, and the program reads an array that the last of them has written: by then checks rest, as all
   regions but the first ones were as those.  So what was followed when the rest began is watched further, as far as
   that takes little.  First all of that is, as ever, and nothing is compared before the program comes there; that may
   take a half of the checks' share.  Then those pages alone that stay closed while constructs run
   (check_watch_hold.h), until the program comes to them and nothing is wrong: that costs too little to be measured.

   What regions have written is not asked before it matters: they are counted.  Nor are devices told of what the program
   has changed.  When checks begin again both sides of what was not watched are compared with what they had.

   A range that is copied meanwhile, but a small one, is not followed further.
   Included once, by check_stale.h.  */
#ifndef GOMPY_CHECK_REST_WATCH_H
#define GOMPY_CHECK_REST_WATCH_H

#define GOMPY_REST_WATCH_PART 2u     /* of the share */
#define GOMPY_REST_WATCH_FREE 200000ull /* ns */
#define GOMPY_REST_SMALL 4096u /* bytes of a range whose contents are kept at each copy */
#define GOMPY_REST_UNIT 8u     /* bytes that the program, or a region, writes at once */

static uint64_t gompy_rest_begun, gompy_rest_taken; /* when it began, and gompy_stale_time then */
static uint64_t gompy_rest_first; /* gompy_rest_launches, when the rest began */

/* The program may come to [BEGIN, END) unseen from here on: nothing is told of ranges there before the rest ends.  Also
   in the handler of the watch, so nothing is freed.  */
static void
gompy_rest_untell (uintptr_t begin, uintptr_t end)
{
  for (unsigned i = 0; i < gompy_track_count; i++)
    if (!gompy_tracks[i]->told && gompy_overlaps (gompy_tracks[i], begin, end - begin))
      gompy_tracks[i]->told = gompy_tracks[i]->unwatched = 1;
}

/* Nothing is watched any longer.  What was left behind is lost.  */
static void
gompy_rest_go_blind (void)
{
  gompy_end_watch ();
  gompy_rest_untell (0, UINTPTR_MAX);
  for (unsigned i = gompy_track_count; i-- > 0;)
    if (gompy_tracks[i]->gone)
      gompy_drop_track (i);
  gompy_rest_watches = GOMPY_REST_BLIND;
}

static void
gompy_rest_drop_all (void)
{
  gompy_rest_go_blind ();
  while (gompy_track_count)
    gompy_drop_track (gompy_track_count - 1);
}

/* A region has ended; what it has written is asked when that matters.  */
static void
gompy_rest_launched (void)
{
  gompy_rest_launches++;
}

static void
gompy_rest_settle (void)
{
  for (unsigned i = 0; i < gompy_track_count && gompy_rests; i++)
    {
      struct gompy_tracked *t = gompy_tracks[i];
      if (t->launches == gompy_rest_launches || t->gone || t->told
          || (t->newer == NULL && (gompy_watch_handles || !gompy_make_newer (t))))
        continue;
      t->launches = gompy_rest_launches;
      if (gompy_may_be_written (t->device, t->target, t->size))
        gompy_parts_unknown (t);
    }
}

static void
gompy_rest_time_begins (void)
{
  gompy_rest_begun = gompy_now ();
  gompy_rest_taken = gompy_stale_time;
}

/* Whether what the watch has taken in this rest is too much.  */
static int
gompy_rest_watch_is_dear (void)
{
  uint64_t may;
  if (!gompy_rest_begun)  /* the construct before has begun it anew */
    gompy_rest_time_begins ();
  may = (gompy_now () - gompy_rest_begun) * gompy_rest_share / 100 / GOMPY_REST_WATCH_PART;
  if (gompy_rest_share == 0 && gompy_rest_watches == GOMPY_REST_WATCHES)
    return 1;
  return gompy_stale_time - gompy_rest_taken > GOMPY_REST_WATCH_FREE + may;
}

/* Whether a range can be followed further when checks begin to rest.  */
static int
gompy_is_for_rest (struct gompy_tracked *t)
{
  return !t->told && !t->shared && !t->global && (t->gone || gompy_can_look (t));
}

/* Checks begin to rest.  The program's changes are not told to devices for now.  */
static void
gompy_rest_keep_tracks (void)
{
  gompy_settle_all ();
  for (unsigned i = gompy_track_count; i-- > 0;)
    {
      struct gompy_tracked *t = gompy_tracks[i];
      if (t->marked && !t->gone)
        {
          memset (t->stale, 0, t->size);
          gompy_mark (t->device, t->target, t->stale, t->size);
        }
      t->marked = 0;
      t->rested = 1;
      t->launches = gompy_rest_launches;
      if (!gompy_is_for_rest (t))
        gompy_drop_track (i);
    }
  gompy_rest_first = gompy_rest_launches;
  gompy_rest_watches = gompy_has_parts () ? GOMPY_REST_WATCHES : GOMPY_REST_BLIND;
  gompy_rest_time_begins ();
  if (gompy_rest_watches == GOMPY_REST_BLIND)
    gompy_rest_go_blind ();
}

/* Keep of what is to be watched the pages that may stay closed over constructs.  */
static void
gompy_watch_held_only (void)
{
  unsigned held = 0;
  for (unsigned i = 0; i < gompy_watch_count; i++)
    {
      struct gompy_watched w = gompy_watches[i];
      struct gompy_held h = gompy_may_hold (&w);
      if (h.begin >= h.end)
        continue;
      w.steps += (h.begin - w.begin) / GOMPY_PAGE;
      w.writes += (h.begin - w.begin) / GOMPY_PAGE;
      w.begin = h.begin;
      w.end = h.end;
      w.held = 1;
      gompy_watches[held++] = w;
    }
  gompy_watch_count = held;
}

/* The program may write parts unseen of a range that is followed, as they are not watched: keep what they have.  */
static void
gompy_keep_unwatched (struct gompy_tracked *t)
{
  for (size_t at = 0; at < t->size; at += GOMPY_PART)
    {
      unsigned char *part = &t->parts[at / GOMPY_PART];
      if (gompy_is_watched (t->host + at, t->host + gompy_part_end (at, t->size)))
        continue;
      if (gompy_is_unkept (t, at))
        gompy_compare_part (t, at, gompy_part_size (t, at));
      gompy_keep_part (t, at);
      *part = (unsigned char) ((*part & ~GOMPY_PART_SAME) | GOMPY_PART_UNSEEN);
    }
}

/* Whether all of a range is watched but the pages at its ends.  */
static int
gompy_is_held_whole (const struct gompy_tracked *t)
{
  uintptr_t begin = (t->host & -GOMPY_PAGE) + GOMPY_PAGE, end = ((t->host + t->size - 1) & -GOMPY_PAGE);
  return begin < end && gompy_is_watched (begin, end);
}

/* Go on with what costs next to nothing.  */
static void
gompy_rest_watch_less (void)
{
  struct gompy_maps maps = { -1, NULL, 0 };
  gompy_rest_settle ();
  gompy_end_watch ();
  if (!gompy_may_watch () || !(gompy_watch_single || gompy_watch_owned) || gompy_has_handlers (GOMPY_HANDLERS_ANY))
    {
      gompy_rest_go_blind ();
      return;
    }
  gompy_rest_watches = GOMPY_REST_HOLDS;
  gompy_rest_begun = 0;
  for (unsigned i = 0; i < gompy_track_count; i++)
    if (!gompy_tracks[i]->told && gompy_tracks[i]->unknown)
      gompy_watch_track (&maps, gompy_tracks[i]);
  gompy_close_maps (&maps);
  gompy_watch_held_only ();
  gompy_release_held ();
  gompy_begin_watch ();
  for (unsigned i = gompy_track_count; i-- > 0;)
    if (gompy_tracks[i]->gone)  /* that its block is freed is seen at its ends */
      gompy_drop_track (i);
    else if (gompy_watch_on && !gompy_tracks[i]->told && gompy_is_held_whole (gompy_tracks[i]))
      gompy_keep_unwatched (gompy_tracks[i]);
    else
      gompy_rest_untell (gompy_tracks[i]->host, gompy_tracks[i]->host + gompy_tracks[i]->size);
}

/* What was held while the construct ran is watched again, if no thread of the program's has begun meanwhile.  */
static void
gompy_watch_held_again (void)
{
  unsigned threads = gompy_count_threads ();
  if (threads != 1 + (gompy_watch_owned ? gompy_own_threads_here () : 0))
    {
      gompy_rest_go_blind ();
      return;
    }
  for (unsigned i = 0; i < gompy_held_count; i++)
    {
      const struct gompy_held *h = &gompy_helds[i];
      gompy_watches[i] = (struct gompy_watched){ .begin = h->begin, .end = h->end, .access = h->access, .own = h->own,
                                                 .held = 1, .steps = h->steps, .writes = h->writes };
    }
  gompy_renew_held_actions ();
  gompy_watch_count = gompy_held_count;
  gompy_held_count = 0;
  gompy_watch_on = 1;
  gompy_dispatch = 1;
}

/* The program goes on while checks rest.  */
static void
gompy_rest_watch (void)
{
  int dear;
  if (gompy_rest_watches == GOMPY_REST_BLIND)
    return;
  dear = gompy_rest_watch_is_dear ();
  if (gompy_rest_watches == GOMPY_REST_HOLDS && gompy_held_count && !dear)
    gompy_watch_held_again ();
  else if (gompy_rest_watches == GOMPY_REST_HOLDS)
    gompy_rest_go_blind ();
  else if (dear)
    gompy_rest_watch_less ();
  else
    {
      gompy_rest_settle ();
      gompy_stale_watch ();
      if (!gompy_watch_on && gompy_is_anything_newer ())
        gompy_rest_go_blind ();
    }
}

/* A copy is about to be made, or a mapping, of [HOST, HOST + SIZE): what was known of ranges there is not any more, but
   of those of at most LEAST bytes.  */
static void
gompy_rest_changes (int device, uintptr_t target, uintptr_t host, size_t size, size_t least)
{
  for (unsigned i = gompy_track_count; i-- > 0;)
    {
      const struct gompy_tracked *t = gompy_tracks[i];
      size_t begin, end;
      if (t->size <= least && !t->gone)
        continue;
      if (gompy_overlaps (t, host, size)
          || (!t->gone && t->device == device && gompy_bytes_in (t, t->target, target, size, &begin, &end)))
        gompy_drop_track (i);
    }
}

/* An access to a page that stays closed in a rest was no error: that range is left alone until checks begin again.  */
static void
gompy_rest_leave_range (struct gompy_watched *w)
{
  if (w->held)
    gompy_open_watched (w, w->begin, w->end);
}

/* A part that the host may have changed, and a region: what the host has changed is taken to agree, as a region may
   have written there since what the device had.  So is what a region has, where the program may have written the same
   as it had: all is UNWATCHED, or the page is.  */
static void
gompy_rest_judge_part (struct gompy_tracked *t, size_t at, int unwatched)
{
  unsigned char *part = &t->parts[at / GOMPY_PART];
  size_t n = gompy_part_size (t, at), next;
  int read = gompy_read_host (gompy_host_part, t->host + at, n);
  if (gompy_is_as_hashed (t, at) && read && gompy_is_hashed (t, at, gompy_host_part))
    {
      *part &= ~GOMPY_PART_UNKNOWN;
      return;
    }
  gompy_keep_part (t, at);
  if (!read || !gompy_device_has (t, at, gompy_part, n)
      || (memcmp (gompy_part, t->device_had + at, n) == 0 && memcmp (gompy_host_part, t->host_had + at, n) == 0)
      || !gompy_part_contents (t))
    {
      *part &= ~GOMPY_PART_UNKNOWN;
      return;
    }
  for (size_t i = 0; i < n; i = next)
    {
      next = ((t->host + at + i) & -(uintptr_t) GOMPY_REST_UNIT) + GOMPY_REST_UNIT - t->host - at;
      next = next < n ? next : n;
      if (memcmp (gompy_host_part + i, t->host_had + at + i, next - i) == 0
          && (!(unwatched || gompy_watch_at (t->host + at + i) == NULL)
              || memcmp (gompy_part + i, t->device_had + at + i, next - i) == 0))
        continue;
      memcpy (t->device_had + at + i, gompy_part + i, next - i);
      memcpy (t->host_had + at + i, gompy_host_part + i, next - i);
      gompy_clear_newer (t, at + i, at + next);
    }
  if (unwatched)
    *part &= ~GOMPY_PART_UNKNOWN;
}

/* A range is followed again.  */
static void
gompy_rest_resume (struct gompy_tracked *t)
{
  int unwatched = t->unwatched, written = t->unknown || gompy_rest_first != gompy_rest_launches;
  t->told = t->unwatched = t->rested = 0;
  t->launches = gompy_rest_launches;
  for (size_t at = 0; at < t->size; at += GOMPY_PART)
    {
      unsigned char *part = &t->parts[at / GOMPY_PART];
      if (unwatched || *part & GOMPY_PART_STALE)
        *part &= ~GOMPY_PART_SAME;
      if (unwatched)
        *part &= ~(GOMPY_PART_NEWER | GOMPY_PART_UNSEEN);
      if (!(*part & GOMPY_PART_SAME) && written
          && gompy_may_be_written (t->device, t->target + at, gompy_part_size (t, at)))
        gompy_rest_judge_part (t, at, unwatched);
    }
  if (unwatched)
    t->unknown = 0;
}

/* Checks begin again: whether a mapping has been followed throughout.  */
static int
gompy_rest_follows (int device, uintptr_t host, uintptr_t target, size_t size)
{
  for (unsigned i = 0; i < gompy_track_count; i++)
    {
      struct gompy_tracked *t = gompy_tracks[i];
      if (t->device == device && t->host == host && t->target == target && t->size == size && t->rested && !t->gone
          && (!t->told || t->unwatched) && t->host_had != NULL)
        {
          gompy_rest_resume (t);
          return 1;
        }
    }
  return 0;
}

/* All that is mapped has been met: forget the others.  */
static void
gompy_rest_forget_unmet (void)
{
  for (unsigned i = gompy_track_count; i-- > 0;)
    if (gompy_tracks[i]->rested && !gompy_tracks[i]->gone)
      gompy_drop_track (i);
    else
      gompy_tracks[i]->rested = 0;
}

#endif
