/* `gompy run --check`: checks take a share of the program's time.

   What they take is measured, as far as that can be: gompy_stale_time, and what devices say.  Beyond the share, and the
   first part of a second, constructs are not followed for a while: nothing is kept or compared, and new memory of a
   device counts as written.  What was followed is watched as far as that takes little (check_rest_watch.h).  What
   constructs say waits, and mostly is not logged (check_withheld.h).  Then it begins anew.  So a long program is
   followed for some constructs of each part of it; one that does the same again and again does it within them, too.  A
   construct that is met for the first time is followed (check_places.h), and those after it.

   Programs made with -foffload-check are followed throughout.  Included once, by check_stale.h.  */
#ifndef GOMPY_CHECK_REST_H
#define GOMPY_CHECK_REST_H

#include "check_places.h"

/* Nanoseconds for each percent: to begin with, and what is to be had before it begins anew.  */
#define GOMPY_REST_FREE 40000000ull
#define GOMPY_REST_SLICE 600000ull
#define GOMPY_REST_CONSTRUCTS 8u      /* are followed then at least */

static unsigned gompy_rest_followed;
static uint64_t gompy_rest_until;     /* it is of no use to ask before */
/* What devices have taken, by the clock; of those that measure it by the processor *RAN gets it.  */
static uint64_t (*gompy_devices_spent) (uint64_t *ran);

/* How much of TIME the calling thread has had a processor: on a busy machine others have it in the midst of checks.  */
static uint64_t
gompy_ran_of (uint64_t time)
{
  char text[64] = "";
  unsigned long long ran = 0, waited = 0;
  int fd = gompy_open ("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC, 0);
  if (fd < 0)
    return time;
  if (read (fd, text, sizeof text - 1) > 0)
    sscanf (text, "%llu %llu", &ran, &waited);
  close (fd);
  return ran ? (uint64_t) ((double) time * (double) ran / (double) (ran + waited)) : time;
}

/* How much more checks may take until now, in nanoseconds.  */
static int64_t
gompy_rest_left (void)
{
  uint64_t may = (GOMPY_REST_FREE + (gompy_now () - gompy_stale_begun) / 100) * gompy_rest_share;
  uint64_t ran, by_clock = gompy_stale_time + gompy_devices_spent (&ran);
  if (by_clock + ran > may)
    by_clock = gompy_ran_of (by_clock);
  return (int64_t) may - (int64_t) (by_clock + ran);
}

/* An outermost construct ends.  Whether the next ones are not to be followed.  */
static int
gompy_rest_is_due (void)
{
  return !gompy_rests && gompy_rest_share < 100 && !gompy_access.hooked && !gompy_flights_begun ()
         && ++gompy_rest_followed >= GOMPY_REST_CONSTRUCTS && gompy_rest_left () < 0;
}

/* Follow nothing until there is time again.  */
static void
gompy_begin_rest (void)
{
  gompy_rest_keep_tracks ();
  gompy_rests = 1;
}

/* How many were not followed so far: its process tells that again, and what it tells last counts.  */
static void
gompy_log_rests (void)
{
  gompy_log (GOMPY_EVENT_RESTED, 0, -1, NULL, NULL, gompy_constructs_rested, gompy_constructs, 0, gompy_rest_share,
             (unsigned) gompy_log_process.pid);
}

/* An outermost construct begins, whose call returns to WHERE.  Whether it is the first one to be followed again.  */
static int
gompy_rest_ends (uintptr_t where)
{
  int64_t lacks;
  int new = gompy_new_place (where);
  gompy_constructs++;
  if (new)
    gompy_rest_followed = 0;
  if (!gompy_rests)
    return 0;
  new |= gompy_access.hooked;
  if (new || (gompy_rest_share && gompy_now () >= gompy_rest_until))
    {
      lacks = new ? -1 : (int64_t) (GOMPY_REST_SLICE * gompy_rest_share) - gompy_rest_left ();
      if (lacks < 0)
        {
          gompy_rest_settle ();
          gompy_rests = 0;
          gompy_rest_followed = 0;
          return 1;
        }
      gompy_rest_until = gompy_now () + (uint64_t) lacks / gompy_rest_share * 100;
    }
  gompy_constructs_rested++;
  if ((gompy_constructs_rested & (gompy_constructs_rested - 1)) == 0)
    gompy_log_rests ();  /* the program may end without another word: a power of two, as there may be millions */
  return 0;
}

#endif
