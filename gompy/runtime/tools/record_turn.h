/* Whose turn it is while regions are recorded: one runs at a time, and its thread holds the device's lock.

   A region that waits for another one, or for a copy by another thread, would wait for ever.  So where others have
   waited for its end for some seconds a thread takes its turn away, with the lock: it is not recorded, nor is what runs
   beside it, and later launches of the same function take no turn.  The same holds where the program itself waits for
   a region in a queue, which without a recording it would not.  Included once, by libgompy.pyx.  */
#ifndef GOMPY_RECORD_TURN_H
#define GOMPY_RECORD_TURN_H

#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { GOMPY_TURN_FUNCTIONS = 64, GOMPY_TURN_NAME = 256 };
enum { GOMPY_TURN_NO_QUEUE, GOMPY_TURN_QUEUED, GOMPY_TURN_RUN };

static struct
{
  pthread_mutex_t lock;
  pthread_cond_t wake;
  uint64_t given;      /* how many launches have had the turn */
  uint64_t holder;     /* which of them has it; 0: none */
  bool ending;         /* it is at its begin or end, and keeps the turn */
  int queue;           /* whether its thread waits for its queue, or that has come to the region's end */
  int waiting;         /* launches that wait for the turn */
  int inside;          /* constructs that the host is in for the region, in its thread (ancestor) */
  int apart;           /* regions that run without the turn */
  gompy_lock_t *held;  /* the device's lock, where the holder has it */
  bool recorded;       /* whether the holder is in the file */
  const void *function;
  uint64_t region;     /* the holder's number in the file */
  char name[GOMPY_TURN_NAME];
  const void *lost[GOMPY_TURN_FUNCTIONS];  /* functions whose turn was taken away */
  int num_lost;
  struct gompy_turn_count { const void *function; uint64_t launches; } *counts;  /* of all launches */
  size_t num_counts;
  bool watched;
  double limit;        /* seconds */
} gompy_turn = { .lock = PTHREAD_MUTEX_INITIALIZER };

static __thread uint64_t gompy_turn_mine;  /* the turn of the region that this thread waits for; 0: none */

/* The file says that a region is not in it.  */
static void
gompy_record_drop_region (uint64_t region)
{
  pthread_mutex_lock (&gompy_record_lock);
  gompy_record.dropped++;
  if (!gompy_record.over)
    {
      gompy_record_put ("{\"is\": \"dropped\", \"region\": %llu", (unsigned long long) region);
      gompy_record_end_line (NULL, 0);
    }
  pthread_mutex_unlock (&gompy_record_lock);
}

static double
gompy_turn_now (void)
{
  struct timespec now;
  clock_gettime (CLOCK_MONOTONIC, &now);
  return now.tv_sec + now.tv_nsec * 1e-9;
}

/* Whether somebody waits for the holder's end.  The lock is held.  */
static bool
gompy_turn_wanted (void)
{
  if (!gompy_turn.holder || gompy_turn.ending || gompy_turn.inside)
    return false;
  if (gompy_turn.queue == GOMPY_TURN_QUEUED)
    return true;
#ifdef __SANITIZE_THREAD__
  return gompy_turn.waiting;
#else
  return gompy_turn.waiting
         || (gompy_turn.held && __atomic_load_n (&gompy_turn.held->quick.word, __ATOMIC_RELAXED) == 2);
#endif
}

/* The holder goes on without the turn.  The lock is held.  */
static void
gompy_turn_lose (void)
{
  if (gompy_turn.num_lost < GOMPY_TURN_FUNCTIONS)
    gompy_turn.lost[gompy_turn.num_lost++] = gompy_turn.function;
  gompy_turn.holder = 0;
  gompy_turn.apart++;
  if (gompy_turn.recorded)
    gompy_record_drop_region (gompy_turn.region);
  if (gompy_turn.name[0])
    gompy_note ("%sregion %s is not recorded: %s waited for its end for %g s, and it may wait for %s "
                "(gompy record --wait)", gompy_turn.recorded ? "" : "what runs beside ", gompy_turn.name,
                gompy_turn.queue ? "the program has" : "others have", gompy_turn.limit,
                gompy_turn.queue ? "what is behind it" : "them");
  if (gompy_turn.held)
    gompy_lock_release (gompy_turn.held);  /* its thread is in the region, so in no construct */
  gompy_turn.held = NULL;
  pthread_cond_broadcast (&gompy_turn.wake);
}

static void *
gompy_turn_watch (void *unused)
{
  uint64_t holder = 0;
  double since = 0;
  (void) unused;
  pthread_mutex_lock (&gompy_turn.lock);
  for (;;)
    {
      double now = gompy_turn_now ();
      if (!gompy_turn_wanted () || gompy_turn.holder != holder)
        {
          since = now;
          holder = gompy_turn.holder;
        }
      else if (now - since >= gompy_turn.limit)
        gompy_turn_lose ();
      if (!gompy_turn.holder)
        pthread_cond_wait (&gompy_turn.wake, &gompy_turn.lock);
      else
        {
          double next = now + (gompy_turn.limit < 1 ? gompy_turn.limit / 4 : 0.25) + 0.001;
          struct timespec until = { .tv_sec = (time_t) next, .tv_nsec = (next - (time_t) next) * 1e9 };
          pthread_cond_timedwait (&gompy_turn.wake, &gompy_turn.lock, &until);
        }
    }
  return NULL;
}

/* Start the thread that watches.  Without it a region keeps its turn.  The lock is held.  */
static void
gompy_turn_start (void)
{
  pthread_condattr_t kind;
  pthread_attr_t detached;
  pthread_t thread;
  sigset_t all, before;
  gompy_turn.watched = true;
  pthread_condattr_init (&kind);
  pthread_condattr_setclock (&kind, CLOCK_MONOTONIC);
  pthread_cond_init (&gompy_turn.wake, &kind);
  pthread_condattr_destroy (&kind);
  pthread_attr_init (&detached);
  pthread_attr_setdetachstate (&detached, PTHREAD_CREATE_DETACHED);
  sigfillset (&all);
  pthread_sigmask (SIG_SETMASK, &all, &before);
  pthread_create (&thread, &detached, gompy_turn_watch, NULL);
  pthread_sigmask (SIG_SETMASK, &before, NULL);
  pthread_attr_destroy (&detached);
}

static bool
gompy_turn_is_lost (const void *function)
{
  for (int i = 0; i < gompy_turn.num_lost; i++)
    if (gompy_turn.lost[i] == function)
      return true;
  return false;
}

/* How often a function has been launched before, recorded or not.  The lock is held.  */
static uint64_t
gompy_turn_count (const void *function)
{
  for (size_t i = 0; i < gompy_turn.num_counts; i++)
    if (gompy_turn.counts[i].function == function)
      return gompy_turn.counts[i].launches++;
  if (!(gompy_turn.num_counts & (gompy_turn.num_counts + 1)))  /* 0, 1, 3, 7 … are there: twice the room */
    {
      void *more = realloc (gompy_turn.counts, (2 * gompy_turn.num_counts + 1) * sizeof *gompy_turn.counts);
      if (more == NULL)
        return 0;
      gompy_turn.counts = more;
    }
  gompy_turn.counts[gompy_turn.num_counts++] = (struct gompy_turn_count) { function, 1 };
  return 0;
}

/* A launch begins: wait for the turn.  False: it runs beside others, without.  LAUNCH: how many of its function there
   were before.  */
static bool
gompy_turn_take (const void *function, uint64_t *launch)
{
  pthread_mutex_lock (&gompy_turn.lock);
  if (!gompy_turn.watched)
    gompy_turn_start ();
  gompy_turn.waiting++;
  while (gompy_turn.holder && !gompy_turn.apart)  /* also for a function that takes none: the holder is recorded */
    pthread_cond_wait (&gompy_turn.wake, &gompy_turn.lock);
  gompy_turn.waiting--;
  *launch = gompy_turn_count (function);
  bool apart = gompy_turn.apart || gompy_turn_is_lost (function);
  if (apart)
    gompy_turn.apart++;
  else
    {
      gompy_turn.holder = gompy_turn_mine = ++gompy_turn.given;
      gompy_turn.function = function;
      gompy_turn.held = NULL;
      gompy_turn.ending = true;  /* until gompy_turn_hold */
      gompy_turn.inside = 0;
      pthread_cond_broadcast (&gompy_turn.wake);  /* the watch */
    }
  pthread_mutex_unlock (&gompy_turn.lock);
  return !apart;
}

/* The holder's region begins.  HELD: the device's lock, which it keeps until the end of one that is in the file.  NAME:
   "" where nothing is recorded any more.  */
static void
gompy_turn_hold (gompy_lock_t *held, uint64_t region, const char *name)
{
  if (held)
    gompy_quick_ask (&held->quick);
  pthread_mutex_lock (&gompy_turn.lock);
  gompy_turn.ending = false;
  gompy_turn.queue = GOMPY_TURN_NO_QUEUE;
  gompy_turn.held = held;
  gompy_turn.recorded = held != NULL;
  gompy_turn.region = region;
  snprintf (gompy_turn.name, sizeof gompy_turn.name, "%s", name);
  pthread_mutex_unlock (&gompy_turn.lock);
}

/* At the region's end: whether its thread has the turn still; if so it keeps that until gompy_turn_give.  */
static bool
gompy_turn_keep (void)
{
  pthread_mutex_lock (&gompy_turn.lock);
  bool mine = gompy_turn_mine && gompy_turn.holder == gompy_turn_mine;
  if (mine)
    {
      gompy_turn.ending = true;
      gompy_turn.held = NULL;
    }
  pthread_mutex_unlock (&gompy_turn.lock);
  return mine;
}

/* A region has ended, and with it the turn, or that it ran without.  */
static void
gompy_turn_give (void)
{
  pthread_mutex_lock (&gompy_turn.lock);
  if (gompy_turn_mine && gompy_turn.holder == gompy_turn_mine)
    gompy_turn.holder = 0;
  else
    gompy_turn.apart--;
  gompy_turn_mine = 0;
  pthread_cond_broadcast (&gompy_turn.wake);
  pthread_mutex_unlock (&gompy_turn.lock);
}

/* What gompy_turn_ran is told in the queue of this thread's region.  */
static void *
gompy_turn_ticket (void)
{
  return (void *) (uintptr_t) gompy_turn_mine;
}

/* In a queue: it has come to the end of a region, which has the turn, or ran without.  */
static void
gompy_turn_ran (void *ticket)
{
  pthread_mutex_lock (&gompy_turn.lock);
  if (ticket && gompy_turn.holder == (uintptr_t) ticket)
    {
      gompy_turn.queue = GOMPY_TURN_RUN;
      gompy_turn.ending = true;
    }
  else
    gompy_turn.apart--;
  pthread_cond_broadcast (&gompy_turn.wake);
  pthread_mutex_unlock (&gompy_turn.lock);
}

/* After gompy_turn_keep, for a region in a queue that calls gompy_turn_ran: wait for its end.  False: it has no turn,
   or that was taken away; the thread goes on, and the region runs beside others.  */
static bool
gompy_turn_await (void)
{
  pthread_mutex_lock (&gompy_turn.lock);
  bool mine = gompy_turn_mine && gompy_turn.holder == gompy_turn_mine;
  if (mine && gompy_turn.queue != GOMPY_TURN_RUN)
    {
      gompy_turn.queue = GOMPY_TURN_QUEUED;
      gompy_turn.ending = false;
      while ((mine = gompy_turn.holder == gompy_turn_mine) && gompy_turn.queue != GOMPY_TURN_RUN)
        pthread_cond_wait (&gompy_turn.wake, &gompy_turn.lock);
    }
  if (mine)
    gompy_turn.ending = true;
  else
    gompy_turn_mine = 0;
  pthread_mutex_unlock (&gompy_turn.lock);
  return mine;
}

/* The thread of a region enters a construct that the host is in for it, or leaves one: no other thread gives its
   device's lock back then, for it may take that again.  */
static void
gompy_turn_inside (int more)
{
  if (!gompy_turn_mine)
    return;
  pthread_mutex_lock (&gompy_turn.lock);
  if (gompy_turn.holder == gompy_turn_mine)
    gompy_turn.inside += more;
  pthread_mutex_unlock (&gompy_turn.lock);
}

#endif
