/* `gompy run --check`: both sides of mappings are followed for a share of the program's time.

   What that takes is measured (gompy_stale_time).  Beyond its share, and the first part of a second, nothing is watched,
   kept or compared for some constructs, whatever they map; mappings themselves are logged all the same.  Then it begins
   anew: what is mapped is taken as it is.  So a long program is followed for some constructs of each part of it; one that
   does the same again and again does it within them, too.

   Programs made with -foffload-check are followed throughout.  Included once, by check_stale.h.  */
#ifndef GOMPY_CHECK_REST_H
#define GOMPY_CHECK_REST_H

#define GOMPY_REST_SHARE 1000         /* one part in so many of the program's time */
#define GOMPY_REST_FREE 0ull
#define GOMPY_REST_SLICE 10000000ull  /* what is to be had before it begins anew */
#define GOMPY_REST_CONSTRUCTS 6u    /* are followed then at least */

static int gompy_rests;             /* now */
static int gompy_rests_never;       /* GOMPY_CHECK_SHARE=100 */
static unsigned gompy_rest_followed;
static uint64_t gompy_rest_count;   /* constructs that were not followed */

/* What of the program's time may go to this until now.  */
static uint64_t
gompy_rest_may (void)
{
  return GOMPY_REST_FREE + (gompy_now () - gompy_stale_begun) / GOMPY_REST_SHARE;
}

/* An outermost construct has ended.  Whether the next ones are not to be followed.  */
static int
gompy_rest_is_due (void)
{
  return !gompy_rests && !gompy_rests_never && !gompy_access.hooked && !gompy_flights_begun ()
         && ++gompy_rest_followed >= GOMPY_REST_CONSTRUCTS && gompy_stale_time > gompy_rest_may ();
}

/* Follow nothing until there is time again.  */
static void
gompy_begin_rest (void)
{
  gompy_end_watch ();
  while (gompy_track_count)
    {
      struct gompy_tracked *t = gompy_tracks[gompy_track_count - 1];
      if (t->marked && !t->gone)
        {
          memset (t->stale, 0, t->size);
          gompy_mark (t->device, t->target, t->stale, t->size);
        }
      gompy_drop_track (gompy_track_count - 1);
    }
  gompy_rests = 1;
}

/* An outermost construct begins.  Whether it is the first one to be followed again.  */
static int
gompy_rest_ends (void)
{
  if (!gompy_rests)
    return 0;
  gompy_rest_count++;
  if (gompy_stale_time + GOMPY_REST_SLICE > gompy_rest_may ())
    return 0;
  gompy_rest_count--;
  gompy_rests = 0;
  gompy_rest_followed = 0;
  return 1;
}

#endif
